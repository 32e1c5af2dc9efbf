/*
 * Key columns of a file as spans: rows of one series that stand together, with their times and insertion times.
 * Comes in: an opened file, and what of it matters (series, times). Goes out: spans; row groups that cannot hold any of
 * it are not read, and where only some series matter only their times are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "read/read_internal.h"

void tl_spans_free(tl_spans *s) {
    for (int32_t i = 0; i < s->n_blocks; i++) {
        tl_free(s->blocks[i]);
    }
    tl_free(s->blocks);
    tl_free(s->items);
    tl_arena_free(&s->arena);
    *s = (tl_spans){0};
}

void tl_key_scratch_free(tl_key_scratch *s) {
    tl_pq_codec_state_free(&s->codec);
    tl_free(s->times);
    *s = (tl_key_scratch){0};
}

/* Numbers that live as long as the spans, not zeroed. */
static tl_status add_block(tl_spans *s, int64_t n, int64_t **out, tl_error *err) {
    int64_t **blocks = tl_realloc_array(s->blocks, (size_t)s->n_blocks + 1, sizeof *blocks);
    s->blocks = blocks ? blocks : s->blocks;
    *out = blocks ? tl_alloc_array((size_t)n, sizeof **out) : NULL;
    if (!*out) {
        return tl_fail_memory(err, (size_t)n * sizeof **out);
    }
    s->blocks[s->n_blocks++] = *out;
    return TL_OK;
}

/* Room for one more, and for `hint` in all where so many are to be expected. */
static tl_status reserve_span(tl_spans *s, int64_t hint, tl_error *err) {
    if (s->n < s->cap) {
        return TL_OK;
    }
    int64_t cap = s->cap ? s->cap + s->cap / 2 : 8;
    cap = cap < hint ? hint : cap;
    tl_span *items = tl_realloc_array(s->items, (size_t)cap, sizeof *items);
    if (!items) {
        return tl_fail_memory(err, (size_t)cap * sizeof *items);
    }
    s->items = items;
    s->cap = cap;
    return TL_OK;
}

/* ---- times that do not ascend ---- */

typedef struct timed {
    int64_t time;
    int32_t at;
} timed;

static int by_time(const void *a, const void *b) {
    const timed *x = a, *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Foreign files, and copies inside of a file: an order of their own. */
static tl_status order_span(tl_spans *s, tl_span *span, tl_error *err) {
    timed *pairs = tl_alloc_array((size_t)span->n, sizeof *pairs);
    int32_t *order = tl_arena_array(&s->arena, (size_t)span->n, sizeof *order);
    if (!pairs || !order) {
        tl_free(pairs);
        return tl_fail_memory(err, (size_t)span->n * sizeof *pairs);
    }
    for (int64_t i = 0; i < span->n; i++) {
        pairs[i] = (timed){span->times[i], (int32_t)i};
    }
    qsort(pairs, (size_t)span->n, sizeof *pairs, by_time);
    for (int64_t i = 0; i < span->n; i++) {
        order[i] = pairs[i].at;
    }
    span->min = pairs[0].time;
    span->max = pairs[span->n - 1].time;
    span->order = order;
    tl_free(pairs);
    return TL_OK;
}

static tl_status finish_span(tl_spans *s, tl_span *span, tl_error *err) {
    const int64_t *t = span->times;
    int64_t wrong = 0;
    for (int64_t i = 1; i < span->n; i++) {
        wrong += t[i] <= t[i - 1];
    }
    span->min = t[0];
    span->max = t[span->n - 1];
    return wrong ? order_span(s, span, err) : TL_OK;
}

/* ---- the columns of a row group ---- */

typedef struct key_reader {
    tl_open_file *f;
    const tl_key_request *request;
    const tl_schema *schema;
    const tl_contract *contract;
    int32_t file;
    tl_spans *out;
    int32_t group;
    int64_t first_row; /* of the row group in the file */
    int32_t *leaves;   /* of the key columns; -1 = the file lacks it: null in all rows */
    tl_pq_runs *runs;  /* of the key columns */
    int64_t *at;       /* current run of each */
    int64_t *times, *ingests;
    int64_t ingest;
    int64_t room; /* rows that request->times still takes */
    tl_buf key;
} key_reader;

static const tl_pq_schema_element *element(const key_reader *r, int32_t leaf) {
    return &r->f->meta->schema[r->f->leaves[leaf].element];
}

/* The key of the current runs in r->key; *wanted says whether it passes `only`. */
static tl_status current_key(key_reader *r, bool *wanted, tl_error *err) {
    r->key.len = 0;
    *wanted = true;
    for (int32_t c = 0; c < r->contract->n_series; c++) {
        const tl_type *type = &r->schema->fields[r->contract->series[c]].type;
        size_t from = r->key.len;
        const tl_pq_runs *runs = &r->runs[c];
        tl_bytes value = {NULL, 0};
        if (runs->n_runs && !runs->is_null[r->at[c]]) {
            value = runs->values[r->at[c]];
            value.data = value.data ? value.data : (const uint8_t *)"";
        }
        TL_TRY(r->leaves[c] >= 0 ? tl_key_piece(type, element(r, r->leaves[c]), value, &r->key, err)
                                 : tl_key_piece_of_value(type, value, &r->key, err));
        if (r->request->only && r->request->only[c].data) {
            tl_bytes piece = {r->key.data + from, r->key.len - from};
            *wanted = *wanted && tl_bytes_equal(piece, r->request->only[c]);
        }
    }
    return TL_OK;
}

static bool same_key(const tl_span *span, const tl_buf *key) {
    return span->key_len == key->len && (key->len == 0 || memcmp(span->key, key->data, key->len) == 0);
}

/* The spans of a row group, without times yet. */
static tl_status group_spans(key_reader *r, int64_t n_rows, tl_error *err) {
    tl_span *open = NULL; /* the last span, while it may still grow */
    int64_t hint = 0;     /* spans in all, unless keys have several columns or only some are wanted */
    for (int32_t c = 0; c < r->contract->n_series && !r->request->only; c++) {
        hint = r->runs[c].n_runs > hint ? r->runs[c].n_runs : hint;
    }
    hint += r->out->n;
    for (int64_t row = 0; row < n_rows;) {
        int64_t end = n_rows;
        for (int32_t c = 0; c < r->contract->n_series; c++) {
            const tl_pq_runs *runs = &r->runs[c];
            while (runs->n_runs && runs->starts[r->at[c] + 1] <= row) {
                r->at[c]++;
            }
            if (runs->n_runs && runs->starts[r->at[c] + 1] < end) {
                end = runs->starts[r->at[c] + 1];
            }
        }
        bool wanted;
        TL_TRY(current_key(r, &wanted, err));
        if (wanted && open && open->row + open->n == row && same_key(open, &r->key)) {
            open->n += (int32_t)(end - row);
        } else if (wanted) {
            uint8_t *key = r->key.len <= UINT32_MAX ? tl_arena_copy(&r->out->arena, r->key.data, r->key.len) : NULL;
            if (!key) {
                return tl_fail_memory(err, r->key.len);
            }
            TL_TRY(reserve_span(r->out, hint, err));
            open = &r->out->items[r->out->n++];
            *open = (tl_span){
                .key = key, .key_len = (uint32_t)r->key.len, .file = r->file, .row = row, .n = (int32_t)(end - row)};
        }
        row = end;
    }
    return TL_OK;
}

static tl_status read_i64(key_reader *r, int32_t leaf, int64_t n_rows, int64_t *n_nulls, uint8_t **validity,
                          int64_t *out, tl_error *err) {
    bool optional = r->f->leaves[leaf].max_def > 0;
    *validity = optional ? tl_alloc_array((size_t)(n_rows + 7) / 8, 1) : NULL;
    if (optional && !*validity) {
        return tl_fail_memory(err, (size_t)n_rows / 8);
    }
    return tl_pq_reader_int64(r->f->parquet, r->group, leaf, out, *validity, n_nulls, err);
}

/* Where the times of the group go: the caller's buffer, or a block of their own. */
static tl_status take_times(key_reader *r, int64_t n, int64_t **out, tl_error *err) {
    if (!r->request->times) {
        return add_block(r->out, n, out, err);
    }
    if (n > r->room) {
        return tl_fail(err, TL_CORRUPT, "its row groups have more rows than the file");
    }
    *out = r->request->times + (r->request->n_times - r->room);
    r->room -= n;
    return TL_OK;
}

static tl_status decode_times(key_reader *r, int64_t n_rows, int64_t *out, tl_error *err) {
    const tl_field *field = &r->schema->fields[r->contract->time];
    int32_t leaf = tl_open_file_leaf(r->f, field);
    if (leaf < 0) {
        return tl_fail(err, TL_CORRUPT, "it has no time column \"%s\"", field->name);
    }
    const tl_pq_schema_element *e = element(r, leaf);
    if (e->type != TL_PQ_INT64 || (e->logical == TL_PQ_LOGICAL_TIMESTAMP && e->unit != TL_PQ_MICROS)) {
        return tl_fail(err, TL_UNSUPPORTED, "its time column \"%s\" is not a timestamp in microseconds", field->name);
    }
    int64_t n_nulls = 0;
    uint8_t *validity = NULL;
    tl_status status = read_i64(r, leaf, n_rows, &n_nulls, &validity, out, err);
    tl_free(validity);
    if (status == TL_OK && n_nulls) {
        status = tl_fail(err, TL_CORRUPT, "its time column \"%s\" holds %lld nulls", field->name, (long long)n_nulls);
    }
    return status;
}

static tl_status scratch_times(tl_key_scratch *s, int64_t n, int64_t **out, tl_error *err) {
    if (n > s->cap) {
        tl_free(s->times);
        s->cap = 0;
        s->times = tl_alloc_array((size_t)n, sizeof *s->times);
        if (!s->times) {
            return tl_fail_memory(err, (size_t)n * sizeof *s->times);
        }
        s->cap = n;
    }
    *out = s->times;
    return TL_OK;
}

/* Times of the spans from `from` on. When they are a small part of the group's rows only theirs are kept. */
static tl_status read_times(key_reader *r, int64_t from, int64_t n_rows, tl_error *err) {
    int64_t wanted = 0, *all, *kept;
    for (int64_t i = from; i < r->out->n; i++) {
        wanted += r->out->items[i].n;
    }
    bool part = r->request->scratch && wanted < n_rows;
    TL_TRY(take_times(r, part ? wanted : n_rows, &kept, err));
    if (part) {
        TL_TRY(scratch_times(r->request->scratch, n_rows, &all, err));
    } else {
        all = kept;
    }
    TL_TRY(decode_times(r, n_rows, all, err));
    for (int64_t i = from; i < r->out->n; i++) {
        tl_span *span = &r->out->items[i];
        span->times = all + span->row;
        if (part) {
            memcpy(kept, all + span->row, (size_t)span->n * sizeof *kept);
            span->times = kept;
            kept += span->n;
        }
    }
    return TL_OK;
}

/* Insertion times: one number when the chunk's bounds say so, else one per row. */
static tl_status read_ingests(key_reader *r, int64_t n_rows, tl_error *err) {
    r->ingests = NULL;
    r->ingest = INT64_MIN;
    if (r->contract->ingest < 0) {
        return TL_OK;
    }
    int32_t leaf = tl_open_file_leaf(r->f, &r->schema->fields[r->contract->ingest]);
    if (leaf < 0) {
        return TL_OK;
    }
    const tl_pq_statistics *s = &r->f->meta->row_groups[r->group].columns[leaf].stats;
    if (s->has_null_count && s->null_count == 0 && s->min_value.len == 8 && s->max_value.len == 8 &&
        memcmp(s->min_value.data, s->max_value.data, 8) == 0) {
        r->ingest = tl_load_i64(s->min_value.data);
        return TL_OK;
    }
    int64_t n_nulls = 0;
    uint8_t *validity = NULL;
    TL_TRY(add_block(r->out, n_rows, &r->ingests, err));
    tl_status status = read_i64(r, leaf, n_rows, &n_nulls, &validity, r->ingests, err);
    for (int64_t i = 0; status == TL_OK && n_nulls && i < n_rows; i++) {
        if (!tl_bit(validity, i)) {
            r->ingests[i] = INT64_MIN;
        }
    }
    tl_free(validity);
    return status;
}

static tl_status read_group(key_reader *r, int64_t n_rows, tl_error *err) {
    tl_status status = TL_OK;
    int32_t n = r->contract->n_series;
    int64_t from = r->out->n;
    for (int32_t c = 0; c < n && status == TL_OK; c++) {
        r->runs[c] = (tl_pq_runs){0};
        r->at[c] = 0;
        if (r->leaves[c] >= 0) {
            status = tl_pq_reader_runs(r->f->parquet, r->group, r->leaves[c], &r->runs[c], err);
        }
    }
    status = status == TL_OK ? group_spans(r, n_rows, err) : status;
    for (int32_t c = 0; c < n; c++) {
        tl_pq_runs_free(&r->runs[c]);
    }
    if (status != TL_OK || r->out->n == from) {
        return status;
    }
    TL_TRY(read_times(r, from, n_rows, err));
    TL_TRY(read_ingests(r, n_rows, err));
    for (int64_t i = from; i < r->out->n; i++) {
        tl_span *span = &r->out->items[i];
        span->ingests = r->ingests ? r->ingests + span->row : NULL;
        span->ingest = r->ingest;
        span->row += r->first_row;
        TL_TRY(finish_span(r->out, span, err));
    }
    return TL_OK;
}

/* ---- row groups that cannot matter ---- */

static const tl_pq_statistics *stats_of(const key_reader *r, int32_t leaf) {
    const tl_pq_column_chunk *c = &r->f->meta->row_groups[r->group].columns[leaf];
    return c->has_meta ? &c->stats : NULL;
}

static bool outside_times(const key_reader *r) {
    int32_t leaf = tl_open_file_leaf(r->f, &r->schema->fields[r->contract->time]);
    const tl_pq_statistics *s = leaf >= 0 ? stats_of(r, leaf) : NULL;
    if (!r->request->has_window || !s || s->min_value.len != 8 || s->max_value.len != 8 ||
        element(r, leaf)->type != TL_PQ_INT64) {
        return false;
    }
    return tl_load_i64(s->max_value.data) < r->request->from_us || tl_load_i64(s->min_value.data) > r->request->to_us;
}

/* A text or binary key outside of the group's bounds; other types are not looked at. */
static bool outside_keys(const key_reader *r) {
    for (int32_t c = 0; r->request->only && c < r->contract->n_series; c++) {
        tl_bytes piece = r->request->only[c];
        tl_type_id id = r->schema->fields[r->contract->series[c]].type.id;
        const tl_pq_statistics *s = r->leaves[c] >= 0 ? stats_of(r, r->leaves[c]) : NULL;
        if (!piece.data || piece.len < 5 || !piece.data[0] || !s || !s->min_value.data || !s->max_value.data ||
            (id != TL_TYPE_STRING && id != TL_TYPE_BINARY)) {
            continue;
        }
        tl_bytes value = {piece.data + 5, piece.len - 5};
        if (tl_bytes_compare(value, s->min_value) < 0 || tl_bytes_compare(s->max_value, value) < 0) {
            return true;
        }
    }
    return false;
}

static tl_status read_groups(key_reader *r, tl_error *err) {
    tl_status status = TL_OK;
    for (int32_t g = 0; g < r->f->meta->n_row_groups && status == TL_OK; g++) {
        r->group = g;
        int64_t rows = r->f->meta->row_groups[g].n_rows;
        if (rows > INT32_MAX) {
            status = tl_fail(err, TL_UNSUPPORTED, "a row group of %lld rows", (long long)rows);
        } else if (rows > 0 && !outside_times(r) && !outside_keys(r)) {
            status = read_group(r, rows, err);
        }
        r->first_row += rows;
    }
    return status;
}

tl_status tl_keys_spans(tl_table *table, const tl_schema *schema, const tl_key_request *request, tl_open_file *f,
                        int32_t file, tl_spans *out, tl_error *err) {
    key_reader r = {.f = f,
                    .request = request,
                    .schema = schema,
                    .contract = &table->contract,
                    .file = file,
                    .out = out,
                    .room = request->n_times};
    size_t n = (size_t)r.contract->n_series;
    r.runs = tl_calloc(n, sizeof *r.runs);
    r.at = tl_calloc(n, sizeof *r.at);
    r.leaves = tl_alloc_array(n, sizeof *r.leaves);
    tl_status status = r.runs && r.at && r.leaves ? TL_OK : tl_fail_memory(err, n * sizeof *r.runs);
    for (size_t c = 0; c < n && status == TL_OK; c++) {
        r.leaves[c] = tl_open_file_leaf(f, &schema->fields[r.contract->series[c]]);
    }
    if (status == TL_OK) {
        status = read_groups(&r, err);
    }
    tl_free(r.runs);
    tl_free(r.at);
    tl_free(r.leaves);
    tl_buf_free(&r.key);
    return status == TL_OK ? TL_OK : tl_open_file_failed(f, status, err);
}

tl_status tl_keys_read(tl_table *table, const tl_schema *schema, tl_open_file *f, int32_t file, const tl_bytes *only,
                       tl_series_set *set, tl_spans *out, tl_error *err) {
    int64_t from = out->n;
    TL_TRY(tl_keys_spans(table, schema, &(tl_key_request){.only = only}, f, file, out, err));
    for (int64_t i = from; i < out->n; i++) {
        TL_TRY(tl_series_number(set, (tl_bytes){out->items[i].key, out->items[i].key_len}, &out->items[i].series, err));
    }
    return TL_OK;
}
