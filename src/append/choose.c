/* See choose_internal.h. */
#include "append/choose_internal.h"

#include <math.h>

#include "base/hash.h"
#include "base/mem.h"

#define STRETCHES 64u
#define SAMPLE_ROWS 8192u /* of one row group, at most */
#define SAMPLE_PART 64u   /* ... and not more than this part of all rows: the choice must not cost more than it saves */
#define SAMPLE_LEAST 512u
#define SMALL_ROWS 256u /* row groups too small for a choice to matter */
#define SAMPLED_GROUPS 2u
#define SECOND_GROUP_ROWS 65536u /* a second row group is looked at only when they are large: samples take time too */
#define CANDIDATES 4
#define DICTIONARY_VALUES 131072.0 /* where the column writer falls back */
#define NEAR_ENOUGH 1.02           /* a dictionary may be that much larger: it is read fastest */
#define SORT_GAIN 0.998            /* ... and is sorted only if that saves this much: sorting takes time */

/* A way to write a leaf. */
typedef struct candidate {
    tl_pq_encoding encoding;
    bool sorted; /* the dictionary */
} candidate;

typedef struct choosing {
    tl_encoder *e;
    const tl_sources *sources;
    const tl_sorted *sorted;
    const tl_layout *layout;
    bool compact;
    tl_encode_scratch *scratch;
    uint32_t groups[SAMPLED_GROUPS];
    uint32_t n_groups;
    uint32_t *rows[SAMPLED_GROUPS]; /* the sampled row numbers */
    uint32_t n_rows[SAMPLED_GROUPS];
} choosing;

static tl_pq_encoding default_encoding(const tl_pq_column_options *o) {
    switch (o->type) {
    case TL_PQ_BOOLEAN:
    case TL_PQ_FLOAT:
    case TL_PQ_DOUBLE:
    case TL_PQ_INT96: return TL_PQ_PLAIN;
    default: return TL_PQ_RLE_DICTIONARY;
    }
}

/* The ways a leaf may be written, dictionaries first; returns how many. Numbers have a sorted dictionary second. */
static int candidates_of(const tl_pq_column_options *o, bool compact, candidate out[CANDIDATES]) {
    int n = 0;
    switch (o->type) {
    case TL_PQ_INT32:
    case TL_PQ_INT64:
        out[n++] = (candidate){TL_PQ_RLE_DICTIONARY, false};
        out[n++] = (candidate){TL_PQ_RLE_DICTIONARY, true};
        out[n++] = (candidate){TL_PQ_DELTA_BINARY_PACKED, false};
        out[n++] = (candidate){TL_PQ_PLAIN, false};
        return n;
    case TL_PQ_FLOAT:
    case TL_PQ_DOUBLE:
        out[n++] = (candidate){TL_PQ_RLE_DICTIONARY, false};
        out[n++] = (candidate){TL_PQ_RLE_DICTIONARY, true};
        if (compact) {
            out[n++] = (candidate){TL_PQ_BYTE_STREAM_SPLIT, false};
        }
        out[n++] = (candidate){TL_PQ_PLAIN, false};
        return n;
    case TL_PQ_BYTE_ARRAY:
    case TL_PQ_FIXED:
        out[n++] = (candidate){TL_PQ_RLE_DICTIONARY, false};
        out[n++] = (candidate){TL_PQ_PLAIN, false};
        return n;
    default: return 0;
    }
}

/* ---- the sample ---- */

/* Row groups to look at: the largest ones of the first and the second half. */
static void pick_groups(choosing *c) {
    uint32_t n = c->layout->n, halves = n > 1 && c->layout->groups[0].n >= SECOND_GROUP_ROWS ? SAMPLED_GROUPS : 1;
    for (uint32_t h = 0; h < halves; h++) {
        uint32_t from = n * h / halves, to = n * (h + 1) / halves, best = from;
        for (uint32_t g = from; g < to; g++) {
            best = c->layout->groups[g].n > c->layout->groups[best].n ? g : best;
        }
        c->groups[c->n_groups++] = best;
    }
}

static tl_status sample_rows(choosing *c, uint32_t k, tl_error *err) {
    const tl_row_group_plan *g = &c->layout->groups[c->groups[k]];
    int64_t part = c->sorted->n_rows / SAMPLE_PART;
    uint32_t want = part < SAMPLE_LEAST ? SAMPLE_LEAST : part > SAMPLE_ROWS ? SAMPLE_ROWS : (uint32_t)part;
    want = want > g->n ? g->n : want;
    uint32_t stretches = want == g->n ? 1 : STRETCHES, each = want / stretches;
    uint32_t *rows = tl_alloc_array(want, sizeof *rows);
    if (!rows) {
        return tl_fail_memory(err, want * sizeof *rows);
    }
    uint32_t n = 0;
    for (uint32_t s = 0; s < stretches; s++) {
        uint32_t at = (uint32_t)((uint64_t)(g->n - each) * s / (stretches > 1 ? stretches - 1 : 1));
        for (uint32_t i = 0; i < each; i++) {
            uint32_t position = g->from + at + i;
            rows[n++] = c->sorted->rows ? c->sorted->rows[position] : position;
        }
    }
    c->rows[k] = rows;
    c->n_rows[k] = n;
    return TL_OK;
}

/* ---- how many distinct values ---- */

typedef struct counted {
    uint64_t hash;
    uint32_t count;
} counted;

typedef struct distinct {
    double seen;     /* in the sample */
    double expected; /* in the whole row group */
} distinct;

static uint64_t hash_value(const tl_pq_column_options *o, const void *values, int64_t i) {
    const uint8_t *p = values;
    switch (o->type) {
    case TL_PQ_BYTE_ARRAY: {
        tl_bytes v;
        memcpy(&v, p + (size_t)i * sizeof v, sizeof v);
        return tl_hash_bytes(v.data, v.len, 1) | 1;
    }
    case TL_PQ_INT32:
    case TL_PQ_FLOAT: return tl_hash_u64(tl_load_u32(p + i * 4)) | 1;
    case TL_PQ_INT64:
    case TL_PQ_DOUBLE: return tl_hash_u64(tl_load_u64(p + i * 8)) | 1;
    default: return tl_hash_bytes(p + i * o->type_length, (size_t)o->type_length, 1) | 1;
    }
}

/* Chao1: values not seen are as many as those seen once and twice suggest. */
static tl_status count_distinct(const tl_pq_column_options *o, const tl_pq_values *values, double rows, distinct *out,
                                tl_error *err) {
    size_t slots = 64;
    while (slots < (size_t)values->n_values * 2) {
        slots *= 2;
    }
    counted *table = tl_calloc(slots, sizeof *table);
    if (!table) {
        return tl_fail_memory(err, slots * sizeof *table);
    }
    double once = 0, twice = 0;
    out->seen = 0;
    for (int64_t i = 0; i < values->n_values; i++) {
        uint64_t h = hash_value(o, values->values, i);
        size_t at = (size_t)(h >> 7) & (slots - 1);
        while (table[at].hash && table[at].hash != h) {
            at = (at + 1) & (slots - 1);
        }
        table[at].hash = h;
        table[at].count++;
        out->seen += table[at].count == 1;
        once += table[at].count == 1 ? 1 : table[at].count == 2 ? -1 : 0;
        twice += table[at].count == 2 ? 1 : table[at].count == 3 ? -1 : 0;
    }
    tl_free(table);
    double unseen = twice > 0 ? once * once / (2 * twice) : once * (once - 1) / 2;
    out->expected = out->seen + unseen;
    double most = rows * (double)values->n_values / (double)(values->n_levels ? values->n_levels : 1);
    out->expected = out->expected > most ? most : out->expected;
    return TL_OK;
}

static double index_bits(double values) {
    return values <= 2 ? 1 : ceil(log2(values));
}

/* ---- one column ---- */

static tl_row_set sample_set(const choosing *c, uint32_t k) {
    return (tl_row_set){.sources = *c->sources, .rows = c->rows[k], .n = c->n_rows[k]};
}

/* Bytes that row group `k`'s values would take, by what the sample's chunk takes. */
static double projected(const tl_pq_chunk *chunk, double scale, const distinct *d) {
    double dictionary = (double)chunk->meta.data_page_offset; /* relative to the chunk: what stands before the pages */
    double pages = (double)chunk->bytes.len - dictionary;
    if (!d) { /* nothing is known of nested values: the dictionary grows with the rows */
        return (pages + dictionary) * scale;
    }
    if (dictionary == 0) {
        return pages * scale;
    }
    if (d->expected > DICTIONARY_VALUES) {
        return HUGE_VAL;
    }
    double grown = d->seen > 0 ? d->expected / d->seen : 1;
    return dictionary * grown + pages * scale * index_bits(d->expected) / index_bits(d->seen);
}

/* Distinct values of a flat column in the sample. */
static tl_status sample_distinct(choosing *c, int32_t column, uint32_t k, tl_encode_scratch *scratch, distinct *out,
                                 tl_error *err) {
    int32_t leaf = c->e->leaves->first_leaf[column];
    tl_row_set set = sample_set(c, k);
    tl_gather_type type = {c->e->leaves->converts[leaf], c->e->options[leaf].type_length};
    size_t width = tl_gather_width(&c->sources->list[0].columns[column], &type);
    scratch->values.len = scratch->def.len = 0;
    if (tl_buf_reserve(&scratch->values, set.n * width) != TL_OK || tl_buf_reserve(&scratch->def, set.n) != TL_OK) {
        return tl_fail_memory(err, set.n * width);
    }
    tl_pq_values values;
    tl_gather_flat(&set, column, &type, 0, set.n, scratch->values.data, scratch->def.data, &values);
    return count_distinct(&c->e->options[leaf], &values, c->layout->groups[c->groups[k]].n, out, err);
}

/* Encodes the sample of row group `k` with candidate `i` of every leaf of the column, and adds up what that gives. */
static tl_status try_candidate(choosing *c, int32_t column, uint32_t k, int i, const distinct *d,
                               tl_encode_scratch *scratch, double *sizes, tl_error *err) {
    const tl_leaves *l = c->e->leaves;
    int32_t first = l->first_leaf[column], n_leaves = l->first_leaf[column + 1] - first;
    for (int32_t leaf = 0; leaf < n_leaves; leaf++) {
        candidate list[CANDIDATES];
        int n = candidates_of(&c->e->options[first + leaf], c->compact, list);
        if (i < n) {
            c->e->options[first + leaf].encoding = list[i].encoding;
            c->e->options[first + leaf].sort_dictionary = list[i].sorted;
        }
    }
    tl_pq_chunk *chunks = tl_calloc((size_t)n_leaves, sizeof *chunks);
    if (!chunks) {
        return tl_fail_memory(err, (size_t)n_leaves * sizeof *chunks);
    }
    tl_row_set set = sample_set(c, k);
    tl_status status = tl_encode_column(c->e, column, &set, scratch, chunks, err);
    double scale = (double)c->layout->groups[c->groups[k]].n / (double)set.n;
    for (int32_t leaf = 0; status == TL_OK && leaf < n_leaves; leaf++) {
        sizes[leaf * CANDIDATES + i] += projected(&chunks[leaf], scale, d);
        tl_pq_chunk_free(&chunks[leaf]);
    }
    tl_free(chunks);
    return status;
}

/* The smallest of the candidates from `from` on. */
static int smallest(const double *sizes, int from, int n) {
    int best = from;
    for (int i = from + 1; i < n; i++) {
        best = sizes[i] < sizes[best] ? i : best;
    }
    return best;
}

static void decide(const choosing *c, int32_t leaf, const double *sizes) {
    tl_pq_column_options *o = &c->e->options[leaf];
    candidate list[CANDIDATES];
    int n = candidates_of(o, c->compact, list);
    if (n == 0) {
        o->encoding = default_encoding(o);
        return;
    }
    int dictionary = list[1].sorted && sizes[1] < sizes[0] * SORT_GAIN ? 1 : 0;
    int others = list[1].sorted ? 2 : 1, other = smallest(sizes, others, n);
    double slack = 0; /* a fiftieth of a byte a row is nothing: columns that are nearly constant */
    for (uint32_t k = 0; k < c->n_groups; k++) {
        slack += c->layout->groups[c->groups[k]].n / 50.0;
    }
    int best = sizes[dictionary] <= sizes[other] * NEAR_ENOUGH + slack ? dictionary : other;
    o->encoding = list[best].encoding;
    o->sort_dictionary = list[best].sorted;
    /* what follows when the dictionary overflows after all */
    o->fallback = best == dictionary ? list[other].encoding : TL_PQ_PLAIN;
}

static tl_status choose_by_sample(choosing *c, int32_t column, tl_encode_scratch *scratch, tl_error *err) {
    const tl_leaves *l = c->e->leaves;
    int32_t first = l->first_leaf[column], n_leaves = l->first_leaf[column + 1] - first;
    double *sizes = tl_calloc((size_t)n_leaves * CANDIDATES, sizeof *sizes);
    if (!sizes) {
        return tl_fail_memory(err, (size_t)n_leaves * CANDIDATES * sizeof *sizes);
    }
    bool flat = c->e->plans[column].how != TL_HOW_NESTED;
    tl_status status = TL_OK;
    int tries = 1;
    for (int32_t leaf = 0; leaf < n_leaves; leaf++) {
        candidate list[CANDIDATES];
        int n = candidates_of(&c->e->options[first + leaf], c->compact, list);
        tries = n > tries ? n : tries;
    }
    for (uint32_t k = 0; k < c->n_groups && status == TL_OK; k++) {
        distinct d = {0};
        if (flat) {
            status = sample_distinct(c, column, k, scratch, &d, err);
        }
        for (int i = 0; i < tries && status == TL_OK; i++) {
            status = try_candidate(c, column, k, i, flat ? &d : NULL, scratch, sizes, err);
        }
    }
    for (int32_t leaf = 0; status == TL_OK && leaf < n_leaves; leaf++) {
        decide(c, first + leaf, sizes + leaf * CANDIDATES);
    }
    tl_free(sizes);
    return status;
}

static tl_status choose_column(void *ctx, size_t i, unsigned worker, tl_error *err) {
    choosing *c = ctx;
    int32_t column = (int32_t)i;
    const tl_leaves *l = c->e->leaves;
    tl_column_how how = c->e->plans[column].how;
    for (int32_t leaf = l->first_leaf[column]; leaf < l->first_leaf[column + 1]; leaf++) {
        tl_pq_column_options *o = &c->e->options[leaf];
        o->encoding = how == TL_HOW_TIME ? TL_PQ_DELTA_BINARY_PACKED : default_encoding(o);
        o->fallback = TL_PQ_PLAIN;
        o->sort_dictionary = false;
        if ((how == TL_HOW_CONSTANT || how == TL_HOW_SERIES) && o->type != TL_PQ_BOOLEAN) {
            o->encoding = TL_PQ_RLE_DICTIONARY;
        }
    }
    bool boolean = l->first_leaf[column + 1] - l->first_leaf[column] == 1 &&
                   c->e->options[l->first_leaf[column]].type == TL_PQ_BOOLEAN;
    if (c->n_groups == 0 || boolean || (how != TL_HOW_FLAT && how != TL_HOW_NESTED)) {
        return TL_OK;
    }
    return choose_by_sample(c, column, &c->scratch[worker], err);
}

tl_status tl_choose_encodings(tl_encoder *e, const tl_sources *sources, const tl_sorted *sorted,
                              const tl_layout *layout, bool compact, tl_pool *pool, tl_encode_scratch *scratch,
                              tl_error *err) {
    choosing c = {
        .e = e, .sources = sources, .sorted = sorted, .layout = layout, .compact = compact, .scratch = scratch};
    if (layout->n > 0) {
        pick_groups(&c);
        if (layout->groups[c.groups[0]].n < SMALL_ROWS) {
            c.n_groups = 0;
        }
    }
    tl_status status = TL_OK;
    for (uint32_t k = 0; k < c.n_groups && status == TL_OK; k++) {
        status = sample_rows(&c, k, err);
    }
    if (status == TL_OK) {
        status = tl_pool_run(pool, (size_t)e->leaves->n_tops, choose_column, &c, err);
    }
    for (uint32_t k = 0; k < SAMPLED_GROUPS; k++) {
        tl_free(c.rows[k]);
    }
    return status;
}
