/*
 * Key columns of a file as spans: rows of one series in a row group, with their times and insertion times.
 * Comes in: an opened file, and what of it matters (series, times). Goes out: spans; row groups that cannot hold any of
 * it are not read, and where only some series matter only their times are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "read/read_internal.h"

/* Steps are not worth their memory for spans of fewer rows. */
#define ROWS_A_STEP 4

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
    int64_t room;           /* rows that request->times still takes */
    const int64_t *decoded; /* the group's times in scratch, when they were needed to tell which rows matter */
    tl_buf key;
} key_reader;

static const tl_pq_schema_element *element(const key_reader *r, int32_t leaf) {
    return &r->f->meta->schema[r->f->leaves[leaf].element];
}

/* Is the value of the first key column in the wanted range? */
static tl_status in_range(const key_reader *r, tl_bytes value, bool *out, tl_error *err) {
    const tl_type *type = &r->schema->fields[r->contract->series[0]].type;
    const tl_key_range *range = r->request->range;
    int order = 0;
    if (!value.data) {
        *out = !range->from.data;
        return TL_OK;
    }
    if (range->from.data) {
        TL_TRY(tl_value_compare(type, value, range->from, &order, err));
    }
    *out = order >= 0;
    if (*out && range->to.data) {
        TL_TRY(tl_value_compare(type, value, range->to, &order, err));
        *out = order < 0;
    }
    return TL_OK;
}

/* The key of the current runs in r->key; *wanted says whether it is one that matters. */
static tl_status current_key(key_reader *r, bool *wanted, tl_error *err) {
    const tl_key_request *q = r->request;
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
        if (c == 0 && q->range) {
            TL_TRY(in_range(r, value, wanted, err));
            if (!*wanted) {
                return TL_OK;
            }
        }
        TL_TRY(r->leaves[c] >= 0 ? tl_key_piece(type, element(r, r->leaves[c]), value, &r->key, err)
                                 : tl_key_piece_of_value(type, value, &r->key, err));
        if (q->only && q->only[c].data) {
            tl_bytes piece = {r->key.data + from, r->key.len - from};
            *wanted = *wanted && tl_bytes_equal(piece, q->only[c]);
        }
    }
    *wanted = *wanted && (!q->among || tl_series_find(q->among, (tl_bytes){r->key.data, r->key.len}) >= 0);
    return TL_OK;
}

static bool same_key(const tl_span *span, const tl_buf *key) {
    return span->key_len == key->len && (key->len == 0 || memcmp(span->key, key->data, key->len) == 0);
}

/* A span with the current key. */
static tl_status add_span(key_reader *r, int64_t hint, int64_t row, int64_t n, tl_span **out, tl_error *err) {
    uint8_t *key = r->key.len <= UINT32_MAX ? tl_arena_copy(&r->out->arena, r->key.data, r->key.len) : NULL;
    if (!key) {
        return tl_fail_memory(err, r->key.len);
    }
    TL_TRY(tl_spans_reserve(r->out, hint, err));
    *out = &r->out->items[r->out->n++];
    **out = (tl_span){.key = key, .key_len = (uint32_t)r->key.len, .file = r->file, .row = row, .n = (int32_t)n};
    return TL_OK;
}

/* Is one of these rows in the window, as far as that is known? */
static bool in_window(const key_reader *r, int64_t from, int64_t to) {
    bool any = !r->decoded;
    for (int64_t i = from; i < to && !any; i++) {
        any = r->decoded[i] >= r->request->from_us && r->decoded[i] <= r->request->to_us;
    }
    return any;
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
        bool wanted = in_window(r, row, end);
        TL_TRY(wanted ? current_key(r, &wanted, err) : TL_OK);
        if (wanted && open && open->row + open->n == row && same_key(open, &r->key)) {
            open->n += (int32_t)(end - row);
        } else if (wanted) {
            TL_TRY(add_span(r, hint, row, end - row, &open, err));
        }
        row = end;
    }
    return TL_OK;
}

/* Room for the validity of an optional leaf; NULL for a required one. */
static tl_status make_validity(const key_reader *r, int32_t leaf, int64_t n_rows, uint8_t **out, tl_error *err) {
    bool optional = r->f->leaves[leaf].max_def > 0;
    *out = optional ? tl_alloc_array((size_t)(n_rows + 7) / 8, 1) : NULL;
    return optional && !*out ? tl_fail_memory(err, (size_t)n_rows / 8) : TL_OK;
}

/* The times of the group, into `out`, or those of the first `steps` rows as steps in the scratch. */
static tl_status decode_times(key_reader *r, int64_t n_rows, int64_t *out, int64_t steps, bool *stepped,
                              tl_error *err) {
    const tl_field *field = &r->schema->fields[r->contract->time];
    int32_t leaf = tl_open_file_leaf(r->f, field);
    *stepped = false;
    if (leaf < 0) {
        return tl_fail(err, TL_CORRUPT, "it has no time column \"%s\"", field->name);
    }
    const tl_pq_schema_element *e = element(r, leaf);
    if (e->type != TL_PQ_INT64 || (e->logical == TL_PQ_LOGICAL_TIMESTAMP && e->unit != TL_PQ_MICROS)) {
        return tl_fail(err, TL_UNSUPPORTED, "its time column \"%s\" is not a timestamp in microseconds", field->name);
    }
    int64_t n_nulls = 0;
    uint8_t *validity = NULL;
    TL_TRY(make_validity(r, leaf, n_rows, &validity, err));
    tl_status status = steps ? tl_pq_reader_steps(r->f->parquet, r->group, leaf, steps, &r->request->scratch->steps,
                                                  stepped, out, validity, &n_nulls, err)
                             : tl_pq_reader_int64(r->f->parquet, r->group, leaf, out, validity, &n_nulls, err);
    tl_free(validity);
    if (status == TL_OK && n_nulls) {
        status = tl_fail(err, TL_CORRUPT, "its time column \"%s\" holds %lld nulls", field->name, (long long)n_nulls);
    }
    return status;
}

static tl_status grow_scratch(int64_t **buffer, int64_t *cap, int64_t n, tl_error *err) {
    if (n > *cap) {
        tl_free(*buffer);
        *cap = 0;
        *buffer = tl_alloc_array((size_t)n, sizeof **buffer);
        if (!*buffer) {
            return tl_fail_memory(err, (size_t)n * sizeof **buffer);
        }
        *cap = n;
    }
    return TL_OK;
}

/* Where times are kept: in the caller's buffer, or a block. */
static tl_status keep_times(key_reader *r, int64_t n, int64_t **out, tl_error *err) {
    if (!r->request->times) {
        return tl_spans_block(r->out, n, out, err);
    }
    if (n > r->room) {
        return tl_fail(err, TL_CORRUPT, "its row groups have more rows than the file");
    }
    *out = r->request->times + (r->request->n_times - r->room);
    r->room -= n;
    return TL_OK;
}

/* Where the times of a whole group are decoded: the caller's buffer, scratch (*kept false), or a block of the spans. */
static tl_status place_times(key_reader *r, int64_t n_rows, bool whole, int64_t **out, bool *kept, tl_error *err) {
    if (whole && r->request->times) {
        *kept = true;
        *out = r->request->times + (r->request->n_times - r->room);
        return n_rows <= r->room ? TL_OK : tl_fail(err, TL_CORRUPT, "its row groups have more rows than the file");
    }
    tl_key_scratch *scratch = r->request->scratch;
    *kept = !scratch;
    if (*kept) {
        return tl_spans_block(r->out, n_rows, out, err);
    }
    TL_TRY(grow_scratch(&scratch->times, &scratch->cap, n_rows, err));
    *out = scratch->times;
    return TL_OK;
}

/* Times of the spans from `from` on. When they are a small part of the group's rows only theirs are kept. */
static tl_status read_times(key_reader *r, int64_t from, int64_t n_rows, tl_error *err) {
    int64_t wanted = 0, *all, *own = NULL;
    bool kept, stepped = false;
    for (int64_t i = from; i < r->out->n; i++) {
        wanted += r->out->items[i].n;
    }
    bool long_spans = (r->out->n - from) * ROWS_A_STEP <= wanted;
    TL_TRY(place_times(r, n_rows, wanted == n_rows && !r->decoded, &all, &kept, err));
    if (!r->decoded) {
        const tl_span *last = &r->out->items[r->out->n - 1];
        int64_t steps = r->request->steps && r->request->scratch && long_spans ? last->row + last->n : 0;
        TL_TRY(decode_times(r, n_rows, all, steps, &stepped, err));
    }
    if (stepped) {
        return tl_spans_take_steps(r->out, from, &r->request->scratch->steps, err);
    }
    if (kept && r->request->times) {
        r->room -= n_rows;
    }
    TL_TRY(kept ? TL_OK : keep_times(r, wanted, &own, err));
    for (int64_t i = from; i < r->out->n; i++) {
        tl_span *span = &r->out->items[i];
        span->times = all + span->row;
        if (!kept) {
            memcpy(own, all + span->row, (size_t)span->n * sizeof *own);
            span->times = own;
            own += span->n;
        }
        TL_TRY(tl_span_finish(r->out, span, err));
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
    TL_TRY(tl_spans_block(r->out, n_rows, &r->ingests, err));
    TL_TRY(make_validity(r, leaf, n_rows, &validity, err));
    tl_status status = tl_pq_reader_int64(r->f->parquet, r->group, leaf, r->ingests, validity, &n_nulls, err);
    for (int64_t i = 0; status == TL_OK && n_nulls && i < n_rows; i++) {
        if (!tl_bit(validity, i)) {
            r->ingests[i] = INT64_MIN;
        }
    }
    tl_free(validity);
    return status;
}

/* ---- series that alternate ---- */

static void move_to_row(key_reader *r, int64_t row) {
    for (int32_t c = 0; c < r->contract->n_series; c++) {
        if (r->runs[c].places) {
            r->at[c] = r->runs[c].places[row];
            continue;
        }
        int64_t lo = 0, hi = r->runs[c].n_runs - 1;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo + 1) / 2;
            if (r->runs[c].starts[mid] <= row) {
                lo = mid;
            } else {
                hi = mid - 1;
            }
        }
        r->at[c] = lo;
    }
}

/* Spans of the wanted series, and where the rows of each series begin among those of the wanted ones (-1 = not one of
 * them), n_series + 1. */
static tl_status scattered_spans(key_reader *r, const tl_scatter *s, int32_t *begins, tl_error *err) {
    int32_t at = 0;
    for (int32_t i = 0; i < s->n_series; i++) {
        bool wanted;
        tl_span *span;
        begins[i] = -1;
        if (s->counts[i] == 0) {
            continue;
        }
        move_to_row(r, s->firsts[i]);
        TL_TRY(current_key(r, &wanted, err));
        if (wanted) {
            TL_TRY(add_span(r, r->out->n + (r->request->only ? 1 : s->n_series), 0, s->counts[i], &span, err));
            begins[i] = at;
            at += s->counts[i];
        }
    }
    begins[s->n_series] = at;
    return TL_OK;
}

/* Times and rows of the spans from `from` on, in `begins` order, put in order. They are written here and there, so in
 * memory that is used again and again and thus near; what is kept is copied. */
static tl_status gather_times(key_reader *r, const tl_scatter *s, int64_t from, int64_t n_rows, int32_t *begins,
                              tl_error *err) {
    tl_key_scratch own = {0}, *scratch = r->request->scratch ? r->request->scratch : &own;
    int64_t *all, *times, *block, wanted = begins[s->n_series];
    bool kept, stepped;
    TL_TRY(place_times(r, n_rows, false, &all, &kept, err));
    TL_TRY(r->decoded ? TL_OK : decode_times(r, n_rows, all, 0, &stepped, err));
    TL_TRY(keep_times(r, wanted, &times, err));
    TL_TRY(tl_spans_block(r->out, wanted / 2 + 1, &block, err));
    TL_TRY(grow_scratch(&scratch->gathered, &scratch->cap_gathered, wanted + wanted / 2 + 1, err));
    int64_t *some = scratch->gathered;
    int32_t *rows = (int32_t *)block, *some_rows = (int32_t *)(some + wanted);
    for (int32_t i = 0; i < (int32_t)n_rows; i++) {
        int32_t at = begins[s->keys[i]];
        if (at >= 0) {
            some[at] = all[i];
            some_rows[at] = i;
            begins[s->keys[i]] = at + 1;
        }
    }
    tl_status status = TL_OK;
    for (int64_t i = from; i < r->out->n && status == TL_OK; i++) {
        tl_span *span = &r->out->items[i];
        status = tl_span_sort(span, some, some_rows, times, rows, err);
        times += span->n;
        rows += span->n;
        some += span->n;
        some_rows += span->n;
    }
    tl_free(own.gathered);
    return status;
}

static tl_status scattered(key_reader *r, const tl_scatter *s, int64_t n_rows, tl_error *err) {
    int64_t from = r->out->n;
    int32_t *begins = tl_alloc_array((size_t)s->n_series + 1, sizeof *begins);
    tl_status status = begins ? scattered_spans(r, s, begins, err) : tl_fail_memory(err, (size_t)s->n_series * 4);
    if (status == TL_OK && r->out->n > from) {
        status = gather_times(r, s, from, n_rows, begins, err);
    }
    tl_free(begins);
    return status;
}

/* ---- row groups that cannot matter ---- */

void tl_group_key_bounds(const tl_open_file *f, int32_t group, int32_t leaf, tl_key_range *out) {
    *out = (tl_key_range){0};
    const tl_pq_column_chunk *c = leaf >= 0 ? &f->meta->row_groups[group].columns[leaf] : NULL;
    if (!c || !c->has_meta) {
        return;
    }
    if (c->stats.has_null_count && c->stats.null_count == 0) {
        out->from = c->stats.min_value;
    }
    out->to = c->stats.max_value;
}

static const tl_pq_statistics *stats_of(const key_reader *r, int32_t leaf) {
    const tl_pq_column_chunk *c = &r->f->meta->row_groups[r->group].columns[leaf];
    return c->has_meta ? &c->stats : NULL;
}

/* Bounds of the group's times; false when there are none. */
static bool time_bounds(const key_reader *r, int64_t *min, int64_t *max) {
    int32_t leaf = tl_open_file_leaf(r->f, &r->schema->fields[r->contract->time]);
    const tl_pq_statistics *s = leaf >= 0 ? stats_of(r, leaf) : NULL;
    if (!s || s->min_value.len != 8 || s->max_value.len != 8 || element(r, leaf)->type != TL_PQ_INT64) {
        return false;
    }
    *min = tl_load_i64(s->min_value.data);
    *max = tl_load_i64(s->max_value.data);
    return true;
}

static bool outside_times(const key_reader *r) {
    int64_t min, max;
    return r->request->has_window && time_bounds(r, &min, &max) &&
           (max < r->request->from_us || min > r->request->to_us);
}

/* Some of the group's rows may lie outside of the window. */
static bool partly_outside(const key_reader *r) {
    int64_t min, max;
    return r->request->has_window && time_bounds(r, &min, &max) &&
           (min < r->request->from_us || max > r->request->to_us);
}

/* Its least or greatest value of the first key column lies outside of the range. */
static tl_status outside_range(const key_reader *r, bool *out, tl_error *err) {
    *out = false;
    tl_key_range bounds;
    const tl_key_range *range = r->request->range;
    if (!range) {
        return TL_OK;
    }
    tl_group_key_bounds(r->f, r->group, r->leaves[0], &bounds);
    const tl_type *type = &r->schema->fields[r->contract->series[0]].type;
    int order = -1;
    if (bounds.from.data && range->to.data) {
        TL_TRY(tl_value_compare(type, bounds.from, range->to, &order, err));
        *out = order >= 0;
    }
    if (!*out && bounds.to.data && range->from.data) {
        TL_TRY(tl_value_compare(type, bounds.to, range->from, &order, err));
        *out = order < 0;
    }
    return TL_OK;
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

/* ---- a row group ---- */

static tl_status read_runs(key_reader *r, tl_error *err) {
    for (int32_t c = 0; c < r->contract->n_series; c++) {
        r->at[c] = 0;
        if (r->leaves[c] >= 0) {
            TL_TRY(tl_pq_reader_runs_or_places(r->f->parquet, r->group, r->leaves[c], &r->runs[c], err));
        }
    }
    return TL_OK;
}

/* Series that do not come back in spite of values that do: columns whose values alternate as runs after all. */
static tl_status only_runs(key_reader *r, tl_error *err) {
    for (int32_t c = 0; c < r->contract->n_series; c++) {
        if (r->runs[c].places) {
            tl_pq_runs_free(&r->runs[c]);
            TL_TRY(tl_pq_reader_runs(r->f->parquet, r->group, r->leaves[c], &r->runs[c], err));
        }
        r->at[c] = 0;
    }
    return TL_OK;
}

static tl_status spans_with_times(key_reader *r, int64_t n_rows, tl_error *err) {
    int64_t from = r->out->n;
    bool found = false;
    tl_scatter scatter = {0};
    tl_status status = tl_scatter_make(r->runs, r->contract->n_series, n_rows, &scatter, &found, err);
    if (status == TL_OK && found) {
        status = scattered(r, &scatter, n_rows, err);
    } else if (status == TL_OK) {
        status = only_runs(r, err);
        status = status == TL_OK ? group_spans(r, n_rows, err) : status;
        status = status == TL_OK && r->out->n > from ? read_times(r, from, n_rows, err) : status;
    }
    tl_scatter_free(&scatter);
    return status;
}

/* Times first, where they tell that rows do not matter: their keys are not looked at then. */
static tl_status look_at_times(key_reader *r, int64_t n_rows, tl_error *err) {
    tl_key_scratch *scratch = r->request->scratch;
    bool stepped;
    r->decoded = NULL;
    if (!scratch || !partly_outside(r)) {
        return TL_OK;
    }
    TL_TRY(grow_scratch(&scratch->times, &scratch->cap, n_rows, err));
    TL_TRY(decode_times(r, n_rows, scratch->times, 0, &stepped, err));
    r->decoded = scratch->times;
    return TL_OK;
}

static tl_status read_group(key_reader *r, int64_t n_rows, tl_error *err) {
    int64_t from = r->out->n;
    tl_status status = look_at_times(r, n_rows, err);
    status = status == TL_OK ? read_runs(r, err) : status;
    status = status == TL_OK ? spans_with_times(r, n_rows, err) : status;
    for (int32_t c = 0; c < r->contract->n_series; c++) {
        tl_pq_runs_free(&r->runs[c]);
    }
    if (status != TL_OK || r->out->n == from) {
        return status;
    }
    TL_TRY(read_ingests(r, n_rows, err));
    for (int64_t i = from; i < r->out->n; i++) {
        tl_span *span = &r->out->items[i];
        span->ingests = r->ingests ? r->ingests + span->row : NULL;
        span->ingest = r->ingest;
        span->row += r->first_row;
    }
    return TL_OK;
}

static tl_status read_groups(key_reader *r, tl_error *err) {
    tl_status status = TL_OK;
    for (int32_t g = 0; g < r->f->meta->n_row_groups && status == TL_OK; g++) {
        r->group = g;
        int64_t rows = r->f->meta->row_groups[g].n_rows;
        if (rows > INT32_MAX) {
            status = tl_fail(err, TL_UNSUPPORTED, "a row group of %lld rows", (long long)rows);
        } else if (rows > 0 && !outside_times(r) && !outside_keys(r)) {
            bool outside = false;
            status = outside_range(r, &outside, err);
            status = status == TL_OK && !outside ? read_group(r, rows, err) : status;
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
