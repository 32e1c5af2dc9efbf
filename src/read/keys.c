/* Key columns of a file as spans: runs of the series columns, times and insertion times within a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "read/read_internal.h"

void tl_spans_free(tl_spans *s) {
    tl_free(s->items);
    tl_arena_free(&s->arena);
    *s = (tl_spans){0};
}

/* ---- canonical key bytes ---- */

static tl_status add_piece(tl_buf *out, const void *data, size_t len, tl_error *err) {
    uint8_t head[5] = {1};
    if (len > UINT32_MAX) {
        return tl_fail(err, TL_CORRUPT, "a key value of %zu bytes", len);
    }
    tl_store_u32(head + 1, (uint32_t)len);
    if (tl_buf_add(out, head, sizeof head) != TL_OK || tl_buf_add(out, data, len) != TL_OK) {
        return tl_fail_memory(err, len + sizeof head);
    }
    return TL_OK;
}

static tl_status add_number(tl_buf *out, double v, tl_error *err) {
    uint64_t bits = 0x7ff8000000000000u; /* every NaN is one key */
    if (!isnan(v)) {
        memcpy(&bits, &v, 8);
    }
    return add_piece(out, &bits, 8, err);
}

static tl_status add_integer(tl_buf *out, tl_bytes plain, tl_error *err) {
    int64_t v = plain.len == 4 ? tl_load_i32(plain.data) : plain.len == 8 ? tl_load_i64(plain.data) : 0;
    if (plain.len != 4 && plain.len != 8) {
        return tl_fail(err, TL_CORRUPT, "an integer key of %zu bytes", plain.len);
    }
    return add_piece(out, &v, 8, err);
}

/* Decimals as 16 big-endian bytes, whatever the width they were stored in. */
static tl_status add_decimal(tl_buf *out, tl_bytes big_endian, tl_error *err) {
    uint8_t wide[16];
    size_t n = big_endian.len;
    if (n == 0 || n > 16) {
        return tl_fail(err, TL_CORRUPT, "a decimal key of %zu bytes", n);
    }
    memset(wide, big_endian.data[0] & 0x80 ? 0xff : 0, sizeof wide);
    memcpy(wide + 16 - n, big_endian.data, n);
    return add_piece(out, wide, sizeof wide, err);
}

static tl_status add_float(tl_buf *out, tl_bytes plain, tl_error *err) {
    if (plain.len == 4) {
        float f;
        memcpy(&f, plain.data, 4);
        return add_number(out, f, err);
    }
    if (plain.len != 8) {
        return tl_fail(err, TL_CORRUPT, "a floating point key of %zu bytes", plain.len);
    }
    double d;
    memcpy(&d, plain.data, 8);
    return add_number(out, d, err);
}

tl_status tl_key_piece_of_value(const tl_type *type, tl_bytes value, tl_buf *out, tl_error *err) {
    if (!value.data) {
        return tl_buf_add(out, "\0\0\0\0\0", 5) == TL_OK ? TL_OK : tl_fail_memory(err, 5);
    }
    switch (type->id) {
    case TL_TYPE_FLOAT:
    case TL_TYPE_DOUBLE: return add_float(out, value, err);
    case TL_TYPE_INT:
    case TL_TYPE_LONG:
    case TL_TYPE_DATE:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return add_integer(out, value, err);
    case TL_TYPE_DECIMAL: return add_decimal(out, value, err);
    default: return add_piece(out, value.data, value.len, err);
    }
}

tl_status tl_key_piece(const tl_type *type, const tl_pq_schema_element *element, tl_bytes plain, tl_buf *out,
                       tl_error *err) {
    if (type->id == TL_TYPE_DECIMAL && plain.data && element->type != TL_PQ_FIXED &&
        element->type != TL_PQ_BYTE_ARRAY) {
        uint8_t big[8]; /* stored as a little-endian integer */
        for (size_t i = 0; i < plain.len && i < 8; i++) {
            big[i] = plain.data[plain.len - 1 - i];
        }
        return tl_key_piece_of_value(type, (tl_bytes){big, plain.len > 8 ? 8 : plain.len}, out, err);
    }
    return tl_key_piece_of_value(type, plain, out, err);
}

/* ---- numbers of series ---- */

void tl_series_set_free(tl_series_set *s) {
    tl_free(s->hashes);
    tl_free(s->slots);
    tl_free(s->keys);
    tl_arena_free(&s->arena);
    *s = (tl_series_set){0};
}

static tl_status series_grow(tl_series_set *s, tl_error *err) {
    size_t cap = s->cap ? s->cap * 2 : 256;
    uint64_t *hashes = tl_calloc(cap, sizeof *hashes);
    int32_t *slots = tl_alloc_array(cap, sizeof *slots);
    if (!hashes || !slots) {
        tl_free(hashes);
        tl_free(slots);
        return tl_fail_memory(err, cap * 12);
    }
    for (size_t i = 0; i < cap; i++) {
        slots[i] = -1;
    }
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i] >= 0) {
            size_t at = s->hashes[i] & (cap - 1);
            while (slots[at] >= 0) {
                at = (at + 1) & (cap - 1);
            }
            hashes[at] = s->hashes[i];
            slots[at] = s->slots[i];
        }
    }
    tl_free(s->hashes);
    tl_free(s->slots);
    s->hashes = hashes;
    s->slots = slots;
    s->cap = cap;
    return TL_OK;
}

tl_status tl_series_number(tl_series_set *s, tl_bytes key, int32_t *out, tl_error *err) {
    if ((size_t)s->n * 2 >= s->cap) {
        TL_TRY(series_grow(s, err));
    }
    uint64_t hash = tl_hash_bytes(key.data, key.len, 0);
    size_t at = hash & (s->cap - 1);
    for (; s->slots[at] >= 0; at = (at + 1) & (s->cap - 1)) {
        if (s->hashes[at] == hash && tl_bytes_equal(s->keys[s->slots[at]], key)) {
            *out = s->slots[at];
            return TL_OK;
        }
    }
    if (s->n == s->cap_keys) {
        int32_t cap = s->cap_keys ? s->cap_keys * 2 : 256;
        tl_bytes *keys = cap > s->cap_keys ? tl_realloc_array(s->keys, (size_t)cap, sizeof *keys) : NULL;
        if (!keys) {
            return tl_fail_memory(err, (size_t)s->cap_keys * 2 * sizeof *keys);
        }
        s->keys = keys;
        s->cap_keys = cap;
    }
    uint8_t *copy = tl_arena_copy(&s->arena, key.data, key.len);
    if (!copy) {
        return tl_fail_memory(err, key.len);
    }
    s->keys[s->n] = (tl_bytes){copy, key.len};
    s->hashes[at] = hash;
    s->slots[at] = s->n;
    *out = s->n++;
    return TL_OK;
}

/* ---- spans ---- */

typedef struct key_reader {
    tl_open_file *f;
    const tl_schema *schema;
    const tl_contract *contract;
    int32_t file;
    const tl_bytes *only;
    tl_series_set *set;
    tl_spans *out;
    int32_t group;
    int64_t first_row;    /* of the row group in the file */
    tl_pq_runs *runs;     /* one per key column; n_runs 0 = the file lacks the column: all null */
    int64_t *at;          /* current run of each key column */
    int64_t *times, *ingests;
    int64_t ingest;
    tl_buf key;
} key_reader;

static tl_status reserve_span(tl_spans *s, tl_error *err) {
    if (s->n < s->cap) {
        return TL_OK;
    }
    int64_t cap = s->cap ? s->cap * 2 : 64;
    tl_span *items = tl_realloc_array(s->items, (size_t)cap, sizeof *items);
    if (!items) {
        return tl_fail_memory(err, (size_t)cap * sizeof *items);
    }
    s->items = items;
    s->cap = cap;
    return TL_OK;
}

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

/* Times that do not ascend strictly get an order of their own (foreign files, in-file duplicates). */
static tl_status finish_span(tl_spans *s, tl_span *span, tl_error *err) {
    const int64_t *t = span->times;
    int64_t wrong = 0;
    for (int64_t i = 1; i < span->n; i++) {
        wrong += t[i] <= t[i - 1];
    }
    span->min = t[0];
    span->max = t[span->n - 1];
    if (!wrong) {
        return TL_OK;
    }
    timed *pairs = tl_alloc_array((size_t)span->n, sizeof *pairs);
    int32_t *order = tl_arena_array(&s->arena, (size_t)span->n, sizeof *order);
    if (!pairs || !order) {
        tl_free(pairs);
        return tl_fail_memory(err, (size_t)span->n * sizeof *pairs);
    }
    for (int64_t i = 0; i < span->n; i++) {
        pairs[i] = (timed){t[i], (int32_t)i};
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

/* The key of the current runs in r->key; *wanted says whether it passes `only`. */
static tl_status current_key(key_reader *r, bool *wanted, tl_error *err) {
    r->key.len = 0;
    *wanted = true;
    for (int32_t c = 0; c < r->contract->n_series; c++) {
        const tl_field *field = &r->schema->fields[r->contract->series[c]];
        size_t from = r->key.len;
        const tl_pq_runs *runs = &r->runs[c];
        int32_t leaf = tl_open_file_leaf(r->f, field);
        tl_bytes value = {NULL, 0};
        if (runs->n_runs && !runs->is_null[r->at[c]]) {
            value = runs->values[r->at[c]];
            value.data = value.data ? value.data : (const uint8_t *)"";
        }
        const tl_pq_schema_element *e = leaf >= 0 ? &r->f->meta->schema[r->f->leaves[leaf].element] : NULL;
        tl_status status =
            e ? tl_key_piece(&field->type, e, value, &r->key, err) : tl_key_piece_of_value(&field->type, value, &r->key, err);
        TL_TRY(status);
        if (r->only && r->only[c].data) {
            tl_bytes piece = {r->key.data + from, r->key.len - from};
            *wanted = *wanted && tl_bytes_equal(piece, r->only[c]);
        }
    }
    return TL_OK;
}

/* Walks the runs of all key columns at once; every piece with one key becomes a span. */
static tl_status group_spans(key_reader *r, int64_t n_rows, tl_error *err) {
    tl_span *open = NULL; /* the last span, while it may still grow */
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
        if (wanted) {
            int32_t series;
            TL_TRY(tl_series_number(r->set, tl_buf_bytes(&r->key), &series, err));
            if (open && open->series == series && open->row + open->n == r->first_row + row) {
                open->n += end - row;
            } else {
                if (open) {
                    TL_TRY(finish_span(r->out, open, err));
                }
                TL_TRY(reserve_span(r->out, err));
                open = &r->out->items[r->out->n++];
                *open = (tl_span){.series = series,
                                  .file = r->file,
                                  .row = r->first_row + row,
                                  .n = end - row,
                                  .times = r->times + row,
                                  .ingests = r->ingests ? r->ingests + row : NULL,
                                  .ingest = r->ingest};
            }
        }
        row = end;
    }
    return open ? finish_span(r->out, open, err) : TL_OK;
}

static tl_status read_i64(key_reader *r, int32_t leaf, int64_t n_rows, int64_t *n_nulls, uint8_t **validity,
                          int64_t **out, tl_error *err) {
    bool optional = r->f->leaves[leaf].max_def > 0;
    *out = tl_arena_array(&r->out->arena, (size_t)n_rows, sizeof **out);
    *validity = optional ? tl_arena_alloc(&r->out->arena, (size_t)(n_rows + 7) / 8) : NULL;
    if (!*out || (optional && !*validity)) {
        return tl_fail_memory(err, (size_t)n_rows * sizeof **out);
    }
    return tl_pq_reader_int64(r->f->parquet, r->group, leaf, *out, *validity, n_nulls, err);
}

static tl_status read_times(key_reader *r, int64_t n_rows, tl_error *err) {
    const tl_field *field = &r->schema->fields[r->contract->time];
    int32_t leaf = tl_open_file_leaf(r->f, field);
    if (leaf < 0) {
        return tl_fail(err, TL_CORRUPT, "it has no time column \"%s\"", field->name);
    }
    const tl_pq_schema_element *e = &r->f->meta->schema[r->f->leaves[leaf].element];
    if (e->type != TL_PQ_INT64 || (e->logical == TL_PQ_LOGICAL_TIMESTAMP && e->unit != TL_PQ_MICROS)) {
        return tl_fail(err, TL_UNSUPPORTED, "its time column \"%s\" is not a timestamp in microseconds", field->name);
    }
    int64_t n_nulls = 0;
    uint8_t *validity;
    TL_TRY(read_i64(r, leaf, n_rows, &n_nulls, &validity, &r->times, err));
    if (n_nulls) {
        return tl_fail(err, TL_CORRUPT, "its time column \"%s\" holds %lld nulls", field->name, (long long)n_nulls);
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
    uint8_t *validity;
    TL_TRY(read_i64(r, leaf, n_rows, &n_nulls, &validity, &r->ingests, err));
    for (int64_t i = 0; n_nulls && i < n_rows; i++) {
        if (!tl_bit(validity, i)) {
            r->ingests[i] = INT64_MIN;
        }
    }
    return TL_OK;
}

static tl_status read_group(key_reader *r, int64_t n_rows, tl_error *err) {
    tl_status status = TL_OK;
    int32_t n = r->contract->n_series;
    for (int32_t c = 0; c < n && status == TL_OK; c++) {
        r->runs[c] = (tl_pq_runs){0};
        r->at[c] = 0;
        int32_t leaf = tl_open_file_leaf(r->f, &r->schema->fields[r->contract->series[c]]);
        if (leaf >= 0) {
            status = tl_pq_reader_runs(r->f->parquet, r->group, leaf, &r->runs[c], err);
        }
    }
    if (status == TL_OK && (status = read_times(r, n_rows, err)) == TL_OK &&
        (status = read_ingests(r, n_rows, err)) == TL_OK) {
        status = group_spans(r, n_rows, err);
    }
    for (int32_t c = 0; c < n; c++) {
        tl_pq_runs_free(&r->runs[c]);
    }
    return status;
}

tl_status tl_keys_read(tl_table *table, const tl_schema *schema, tl_open_file *f, int32_t file, const tl_bytes *only,
                       tl_series_set *set, tl_spans *out, tl_error *err) {
    key_reader r = {.f = f, .schema = schema, .contract = &table->contract, .file = file, .only = only, .set = set, .out = out};
    size_t n = (size_t)r.contract->n_series;
    r.runs = tl_calloc(n, sizeof *r.runs);
    r.at = tl_calloc(n, sizeof *r.at);
    tl_status status = r.runs && r.at ? TL_OK : tl_fail_memory(err, n * sizeof *r.runs);
    for (int32_t g = 0; g < f->meta->n_row_groups && status == TL_OK; g++) {
        r.group = g;
        int64_t rows = f->meta->row_groups[g].n_rows;
        if (rows > INT32_MAX) {
            status = tl_fail(err, TL_UNSUPPORTED, "a row group of %lld rows", (long long)rows);
        } else if (rows > 0) {
            status = read_group(&r, rows, err);
        }
        r.first_row += rows;
    }
    tl_free(r.runs);
    tl_free(r.at);
    tl_buf_free(&r.key);
    return status == TL_OK ? TL_OK : tl_open_file_failed(f, status, err);
}
