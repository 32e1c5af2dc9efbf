/*
 * Key columns as runs of equal values. Comes in: a flat leaf of a row group. Goes out: runs; dictionary pages give
 * theirs without a look at each row.
 */
#include <string.h>

#include "parquet/reader_internal.h"

#define BLOCK 1024
#define NO_INDEX UINT32_MAX

/* So many runs of so few rows each are not worth being made, where values stand in a dictionary. */
#define MANY_RUNS 256
#define SHORT_RUN 4

/* Collects runs; a run equal to the one before it makes that one longer. */
typedef struct run_sink {
    tl_pq_runs *out;
    int64_t cap;
    uint32_t last_index; /* dictionary index of the last run, NO_INDEX when it has none */
    size_t limit;
    tl_bytes dict; /* the dictionary's values or texts, in the runs' arena */
    bool dict_copied;
    bool few_only; /* give up when runs are short */
    bool gave_up;
    tl_error *err;
} run_sink;

static tl_status grow_runs(run_sink *s) {
    tl_pq_runs *o = s->out;
    if (s->few_only && o->n_runs >= MANY_RUNS && o->n_runs > o->n_rows / SHORT_RUN) {
        s->gave_up = true;
        return tl_fail(s->err, TL_UNSUPPORTED, "values alternate");
    }
    int64_t cap = s->cap ? s->cap * 2 : 64;
    size_t n = (size_t)cap, each = sizeof *o->starts + sizeof *o->is_null + sizeof *o->values;
    if (n > s->limit / each) {
        return tl_fail(s->err, TL_NO_MEMORY, "the runs would take more than the memory limit of %zu bytes", s->limit);
    }
    int64_t *starts = tl_realloc_array(o->starts, n + 1, sizeof *starts);
    o->starts = starts ? starts : o->starts;
    uint8_t *is_null = tl_realloc_array(o->is_null, n, sizeof *is_null);
    o->is_null = is_null ? is_null : o->is_null;
    tl_bytes *values = tl_realloc_array(o->values, n, sizeof *values);
    o->values = values ? values : o->values;
    if (!starts || !is_null || !values) {
        return tl_fail_memory(s->err, n * each);
    }
    s->cap = cap;
    return TL_OK;
}

/* `value` must live in the runs' arena already when `index` is given; else it is copied. */
static tl_status add_run(run_sink *s, int64_t rows, bool is_null, uint32_t index, tl_bytes value) {
    tl_pq_runs *o = s->out;
    if (o->n_runs > 0) {
        int64_t last = o->n_runs - 1;
        bool same = is_null ? o->is_null[last]
                            : !o->is_null[last] && (index != NO_INDEX && s->last_index != NO_INDEX
                                                        ? index == s->last_index
                                                        : tl_bytes_equal(o->values[last], value));
        if (same) {
            o->n_rows += rows;
            return TL_OK;
        }
    }
    if (o->n_runs == s->cap) {
        TL_TRY(grow_runs(s));
    }
    if (!is_null && index == NO_INDEX) {
        value.data = tl_arena_copy(&o->arena, value.data, value.len);
        if (!value.data) {
            return tl_fail_memory(s->err, value.len);
        }
    }
    o->starts[o->n_runs] = o->n_rows;
    o->is_null[o->n_runs] = is_null;
    o->values[o->n_runs] = is_null ? (tl_bytes){0} : value;
    o->n_runs++;
    o->n_rows += rows;
    s->last_index = index;
    return TL_OK;
}

/* ---- definition levels as segments of present and of null rows ---- */

typedef struct segments {
    tl_pq_rle rle;
    int64_t left; /* level entries of the page */
    const uint8_t *levels;
    int64_t n, at;
    int16_t max_def;
} segments;

static tl_status levels_scratch(tl_pq_reader *r, int64_t n, uint8_t **out, tl_error *err) {
    if ((size_t)n > r->levels_cap || !r->levels) {
        tl_free(r->levels);
        r->levels_cap = 0;
        r->levels = tl_alloc_aligned((size_t)n + TL_PQ_SLACK);
        if (!r->levels) {
            return tl_fail_memory(err, (size_t)n);
        }
        r->levels_cap = (size_t)n;
    }
    *out = r->levels;
    return TL_OK;
}

static tl_status segments_open(tl_pq_cursor *c, const tl_pq_page *page, segments *s, tl_error *err) {
    *s = (segments){.rle = {page->def.data, page->def.data + page->def.len, tl_pq_level_width(c->max_def)},
                    .left = page->n_values,
                    .max_def = c->max_def};
    if (c->max_def > 0 && page->header.def_encoding != TL_PQ_RLE) {
        uint8_t *levels = NULL;
        TL_TRY(levels_scratch(c->r, s->left, &levels, err));
        TL_TRY(tl_pq_decode_levels(page->def, page->header.def_encoding, c->max_def, s->left, levels, err));
        s->levels = levels;
        s->n = s->left;
    }
    return TL_OK;
}

static void segment_of_levels(segments *s, bool *present, int64_t *count) {
    int64_t from = s->at;
    *present = s->levels[from] == s->max_def;
    while (s->at < s->n && (s->levels[s->at] == s->max_def) == *present) {
        s->at++;
    }
    *count = s->at - from;
    s->left -= *count;
}

/* The next segment; only while s->left > 0. */
static tl_status segments_next(tl_pq_cursor *c, segments *s, bool *present, int64_t *count, tl_error *err) {
    if (s->max_def == 0) {
        *present = true;
        *count = s->left;
        s->left = 0;
        return TL_OK;
    }
    if (s->at < s->n) {
        segment_of_levels(s, present, count);
        return TL_OK;
    }
    tl_pq_run run;
    if (!tl_pq_rle_next(&s->rle, s->left, &run)) {
        return tl_fail(err, TL_CORRUPT, "levels end too early");
    }
    if (!run.packed) {
        if (run.value > (uint32_t)s->max_def) {
            return tl_fail(err, TL_CORRUPT, "a level is higher than the schema allows");
        }
        *present = run.value == (uint32_t)s->max_def;
        *count = run.count;
        s->left -= run.count;
        return TL_OK;
    }
    uint8_t *levels = NULL;
    uint32_t some[BLOCK];
    TL_TRY(levels_scratch(c->r, run.count, &levels, err));
    for (int64_t done = 0; done < run.count; done += BLOCK) {
        size_t n = (size_t)(run.count - done < BLOCK ? run.count - done : BLOCK);
        size_t byte = (size_t)done * s->rle.width / 8;
        tl_pq_unpack32((tl_bytes){run.data.data + byte, run.data.len - byte}, s->rle.width, some, n);
        for (size_t i = 0; i < n; i++) {
            levels[(size_t)done + i] = (uint8_t)some[i];
        }
    }
    s->levels = levels;
    s->n = run.count;
    s->at = 0;
    segment_of_levels(s, present, count);
    return TL_OK;
}

/* ---- dictionary pages ---- */

typedef struct index_runs {
    tl_pq_rle rle;
    tl_pq_run run;
    int64_t run_at;
    int64_t left; /* no more indices than that can follow */
} index_runs;

static tl_status copy_dictionary(const tl_pq_cursor *c, run_sink *s) {
    const tl_pq_vector *d = &c->dict;
    bool text = d->type == TL_PQ_BYTE_ARRAY;
    s->dict.len = text ? d->data_len : (size_t)d->n * (size_t)d->width;
    s->dict.data = tl_arena_copy(&s->out->arena, text ? d->data : d->values, s->dict.len);
    if (!s->dict.data) {
        return tl_fail_memory(s->err, s->dict.len);
    }
    s->dict_copied = true;
    return TL_OK;
}

static tl_bytes dictionary_value(const tl_pq_cursor *c, const run_sink *s, int64_t index) {
    const tl_pq_vector *d = &c->dict;
    size_t width = (size_t)d->width, from = (size_t)index * width;
    if (d->type == TL_PQ_BYTE_ARRAY) {
        from = (size_t)d->offsets[index];
        width = (size_t)d->offsets[index + 1] - from;
    }
    return (tl_bytes){s->dict.data + from, width};
}

static tl_status add_index(const tl_pq_cursor *c, run_sink *s, uint32_t index, int64_t rows) {
    if (index >= (uint64_t)c->dict.n) {
        return tl_fail(s->err, TL_CORRUPT, "an index points outside the dictionary");
    }
    return add_run(s, rows, false, index, dictionary_value(c, s, index));
}

/* Bit-packed indices: equal neighbours become one run. */
static tl_status add_packed(const tl_pq_cursor *c, run_sink *s, const index_runs *x, int64_t n) {
    uint32_t some[BLOCK + 8];
    unsigned width = x->rle.width;
    for (int64_t done = 0; done < n;) {
        int64_t at = x->run_at + done, lead = at & 7; /* packed values begin at whole bytes in groups of 8 */
        size_t byte = (size_t)(at >> 3) * width;
        int64_t take = n - done < BLOCK - lead ? n - done : BLOCK - lead;
        tl_pq_unpack32((tl_bytes){x->run.data.data + byte, x->run.data.len - byte}, width, some, (size_t)(take + lead));
        for (int64_t i = lead; i < take + lead;) {
            int64_t from = i;
            while (i < take + lead && some[i] == some[from]) {
                i++;
            }
            TL_TRY(add_index(c, s, some[from], i - from));
        }
        done += take;
    }
    return TL_OK;
}

static tl_status add_indices(const tl_pq_cursor *c, run_sink *s, index_runs *x, int64_t n) {
    while (n > 0) {
        if (x->run_at == x->run.count) {
            if (x->left <= 0 || !tl_pq_rle_next(&x->rle, x->left, &x->run)) {
                return tl_fail(s->err, TL_CORRUPT, "dictionary indices end too early");
            }
            x->run_at = 0;
            x->left -= x->run.count;
        }
        int64_t have = x->run.count - x->run_at, take = have < n ? have : n;
        TL_TRY(x->run.packed ? add_packed(c, s, x, take) : add_index(c, s, x->run.value, take));
        x->run_at += take;
        n -= take;
    }
    return TL_OK;
}

static tl_status runs_of_indices(tl_pq_cursor *c, const tl_pq_page *page, run_sink *s) {
    segments segs;
    TL_TRY(segments_open(c, page, &segs, s->err));
    tl_bytes in = page->values;
    index_runs x = {.left = page->n_values};
    if (in.len > 0) {
        x.rle = (tl_pq_rle){in.data + 1, in.data + in.len, in.data[0]};
    }
    if (x.rle.width > 32) {
        return tl_fail(s->err, TL_CORRUPT, "dictionary indices have no sensible bit width");
    }
    if (!s->dict_copied && c->has_dict) {
        TL_TRY(copy_dictionary(c, s));
    }
    while (segs.left > 0) {
        bool present = false;
        int64_t count = 0;
        TL_TRY(segments_next(c, &segs, &present, &count, s->err));
        if (!present) {
            TL_TRY(add_run(s, count, true, NO_INDEX, (tl_bytes){0}));
        } else if (!c->has_dict) {
            return tl_fail(s->err, TL_CORRUPT, "a page refers to a dictionary that is not there");
        } else {
            TL_TRY(add_indices(c, s, &x, count));
        }
    }
    return TL_OK;
}

/* ---- pages of other encodings: decoded, then compared ---- */

static tl_bytes slot_bytes(const tl_pq_vector *v, int64_t i) {
    if (v->type == TL_PQ_BYTE_ARRAY) {
        return (tl_bytes){v->data + v->offsets[i], (size_t)(v->offsets[i + 1] - v->offsets[i])};
    }
    return (tl_bytes){v->values + (size_t)i * (size_t)v->width, (size_t)v->width};
}

static bool slot_valid(const tl_pq_vector *v, int64_t i) {
    return !v->has_validity || tl_bit(v->validity, i);
}

static tl_status runs_of_values(tl_pq_cursor *c, const tl_pq_page *page, run_sink *s) {
    tl_pq_vector *v = &c->page;
    tl_pq_vector_clear(v);
    TL_TRY(tl_pq_page_decode(c, page, v, s->err));
    for (int64_t i = 0; i < v->n;) {
        int64_t from = i++;
        bool valid = slot_valid(v, from);
        tl_bytes value = valid ? slot_bytes(v, from) : (tl_bytes){0};
        while (i < v->n && slot_valid(v, i) == valid && (!valid || tl_bytes_equal(slot_bytes(v, i), value))) {
            i++;
        }
        TL_TRY(add_run(s, i - from, !valid, NO_INDEX, value));
    }
    return TL_OK;
}

/* A dictionary that is much smaller than the rows are many. */
static bool few_values(const tl_pq_cursor *c) {
    return c->has_dict && c->dict.n <= c->n_rows / SHORT_RUN;
}

static tl_status collect(tl_pq_cursor *c, run_sink *s) {
    while (s->out->n_rows < c->n_rows) {
        tl_pq_page page;
        TL_TRY(tl_pq_page_next(c, &page, s->err));
        s->few_only = s->few_only && few_values(c);
        TL_TRY(tl_pq_page_indexed(&page) ? runs_of_indices(c, &page, s) : runs_of_values(c, &page, s));
    }
    if (!s->out->starts) {
        TL_TRY(grow_runs(s));
    }
    s->out->starts[s->out->n_runs] = s->out->n_rows;
    return TL_OK;
}

tl_status tl_pq_check_flat(const tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_error *err) {
    TL_TRY(tl_pq_check_row_group(r, row_group, err));
    if (leaf < 0 || leaf >= r->n_leaves) {
        return tl_fail(err, TL_INVALID, "column %d of a file with %d asked for", leaf, r->n_leaves);
    }
    return r->leaves[leaf].max_rep == 0
               ? TL_OK
               : tl_fail(err, TL_INVALID, "column %d repeats inside a row; only flat columns are read as keys", leaf);
}

/* `gave_up` (may be NULL): values alternate and may come from a dictionary, nothing was made. */
static tl_status read_runs(tl_pq_reader *r, int32_t row_group, int32_t leaf, bool *gave_up, tl_pq_runs *out,
                           tl_error *err) {
    *out = (tl_pq_runs){.arena = {.limit = r->budget.limit}};
    TL_TRY(tl_pq_check_flat(r, row_group, leaf, err));
    tl_pq_cursor c;
    TL_TRY(tl_pq_cursor_open(r, row_group, leaf, false, &c, err));
    run_sink s = {
        .out = out, .last_index = NO_INDEX, .limit = r->budget.limit, .few_only = gave_up != NULL, .err = err};
    tl_status status = collect(&c, &s);
    if (status != TL_OK) {
        tl_pq_name_column(r, row_group, leaf, err);
        tl_pq_runs_free(out);
    }
    if (gave_up) {
        *gave_up = s.gave_up;
    }
    tl_pq_cursor_close(&c);
    return status;
}

tl_status tl_pq_reader_runs(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_runs *out, tl_error *err) {
    return read_runs(r, row_group, leaf, NULL, out, err);
}

/* ---- values that alternate ---- */

/* The dictionary's values, and null behind them. */
static tl_status place_values(const tl_pq_cursor *c, run_sink *s) {
    tl_pq_runs *o = s->out;
    int64_t n = c->dict.n;
    o->values = tl_alloc_array((size_t)n + 1, sizeof *o->values);
    o->is_null = tl_calloc((size_t)n + 1, 1);
    if (!o->values || !o->is_null) {
        return tl_fail_memory(s->err, (size_t)n * sizeof *o->values);
    }
    TL_TRY(copy_dictionary(c, s));
    for (int64_t i = 0; i < n; i++) {
        o->values[i] = dictionary_value(c, s, i);
    }
    o->values[n] = (tl_bytes){0};
    o->is_null[n] = 1;
    o->n_runs = n + 1;
    return TL_OK;
}

/* *fits is false when some values are not from the dictionary. */
static tl_status collect_places(tl_pq_cursor *c, run_sink *s, bool *fits) {
    tl_pq_vector *v = &c->indices;
    TL_TRY(tl_pq_page_dictionary(c, s->err));
    *fits = few_values(c) && (uint64_t)c->n_rows <= s->limit / sizeof *s->out->places;
    if (!*fits) {
        return TL_OK;
    }
    TL_TRY(place_values(c, s));
    s->out->places = tl_alloc_array((size_t)c->n_rows, sizeof *s->out->places);
    if (!s->out->places) {
        return tl_fail_memory(s->err, (size_t)c->n_rows * sizeof *s->out->places);
    }
    while (s->out->n_rows < c->n_rows) {
        tl_pq_page page;
        TL_TRY(tl_pq_page_next(c, &page, s->err));
        *fits = tl_pq_page_indexed(&page);
        if (!*fits) {
            return TL_OK;
        }
        tl_pq_vector_clear(v);
        TL_TRY(tl_pq_page_decode(c, &page, v, s->err));
        int32_t *places = s->out->places + s->out->n_rows;
        memcpy(places, v->values, (size_t)v->n * sizeof *places);
        for (int64_t i = 0; v->has_validity && i < v->n; i++) {
            places[i] = tl_bit(v->validity, i) ? places[i] : (int32_t)(s->out->n_runs - 1);
        }
        s->out->n_rows += v->n;
    }
    return TL_OK;
}

static tl_status read_places(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_runs *out, bool *fits,
                             tl_error *err) {
    *out = (tl_pq_runs){.arena = {.limit = r->budget.limit}};
    tl_pq_cursor c;
    TL_TRY(tl_pq_cursor_open(r, row_group, leaf, false, &c, err));
    run_sink s = {.out = out, .limit = r->budget.limit, .err = err};
    tl_status status = collect_places(&c, &s, fits);
    if (status != TL_OK) {
        tl_pq_name_column(r, row_group, leaf, err);
    }
    if (status != TL_OK || !*fits) {
        tl_pq_runs_free(out);
    }
    tl_pq_cursor_close(&c);
    return status;
}

tl_status tl_pq_reader_runs_or_places(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_runs *out,
                                      tl_error *err) {
    bool gave_up = false, fits = false;
    tl_status status = read_runs(r, row_group, leaf, &gave_up, out, err);
    if (!gave_up) {
        return status;
    }
    TL_TRY(read_places(r, row_group, leaf, out, &fits, err));
    return fits ? TL_OK : read_runs(r, row_group, leaf, NULL, out, err);
}

void tl_pq_runs_free(tl_pq_runs *runs) {
    tl_free(runs->starts);
    tl_free(runs->is_null);
    tl_free(runs->values);
    tl_free(runs->places);
    tl_arena_free(&runs->arena);
    *runs = (tl_pq_runs){0};
}
