/* The distribution of delays: one pass over the key, time and insertion-time columns. See arrivals.h. */
#include "read/arrivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/stream.h"
#include "base/civil.h"
#include "base/mem.h"
#include "read/read_internal.h"
#include "table/rows.h"

typedef struct counting {
    const tl_contract *contract;
    const tl_schema *schema;
    const tl_arrival_options *options;
    tl_arrival_report *out;
    tl_arrival_counts counts;
    tl_series_set set;
    tl_buf key;
    tl_arrival_sum *sums; /* by series number */
    size_t cap_sums;
    tl_rows *pieces; /* key columns of series in the order of their numbers */
    int64_t n_pieces;
    size_t cap_pieces;
    /* the slot of the row before */
    int64_t slot_start, slot_end;
} counting;

/* ---- slots ---- */

/* [slot_start, slot_end) around t; false when it cannot be said in 64 bits. */
static bool find_slot(counting *c, int64_t t) {
    if (t >= c->slot_start && t < c->slot_end) {
        return true;
    }
    int64_t slot = c->options->slot_us;
    if (slot > 0) {
        return tl_i64_mul(tl_floor_div(t, slot), slot, &c->slot_start) && tl_i64_add(c->slot_start, slot, &c->slot_end);
    }
    int32_t part;
    return tl_transform_time(c->contract->chunk, t, &part) && part < INT32_MAX &&
           tl_transform_time_start(c->contract->chunk, part, &c->slot_start) &&
           tl_transform_time_start(c->contract->chunk, part + 1, &c->slot_end);
}

static int64_t slot_length(const tl_contract *contract, int64_t slot_us) {
    if (slot_us > 0) {
        return slot_us;
    }
    return contract->chunk == TL_TRANSFORM_HOUR  ? 3600000000LL
           : contract->chunk == TL_TRANSFORM_DAY ? TL_US_PER_DAY
                                                 : 0;
}

/* ---- series ---- */

static bool same_value(const tl_column *c, int64_t a, int64_t b) {
    bool null_a = tl_column_is_null(c, a), null_b = tl_column_is_null(c, b);
    if (null_a || null_b) {
        return null_a == null_b;
    }
    if (c->kind == TL_COLUMN_BYTES) {
        tl_bytes x = tl_column_bytes(c, a), y = tl_column_bytes(c, b);
        return x.len == y.len && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
    }
    if (c->kind == TL_COLUMN_BOOL) {
        return tl_column_bool(c, a) == tl_column_bool(c, b);
    }
    return memcmp(c->values + a * c->width, c->values + b * c->width, (size_t)c->width) == 0;
}

/* One value into the bytes that stand for the key: NaNs are one value, as everywhere (spec e). */
static tl_status add_value(const tl_type *type, const tl_column *c, int64_t row, tl_buf *out) {
    if (tl_column_is_null(c, row)) {
        return tl_buf_add_byte(out, 0);
    }
    uint8_t bit;
    tl_bytes value;
    static const uint8_t nan[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    if (c->kind == TL_COLUMN_BYTES) {
        value = tl_column_bytes(c, row);
    } else if (c->kind == TL_COLUMN_BOOL) {
        bit = tl_column_bool(c, row);
        value = (tl_bytes){&bit, 1};
    } else {
        value = (tl_bytes){c->values + row * c->width, (size_t)c->width};
        float f;
        double d;
        if (type->id == TL_TYPE_FLOAT) {
            memcpy(&f, value.data, sizeof f);
            value.data = isnan(f) ? nan : value.data;
        } else if (type->id == TL_TYPE_DOUBLE) {
            memcpy(&d, value.data, sizeof d);
            value.data = isnan(d) ? nan : value.data;
        }
    }
    uint64_t len = value.len;
    TL_TRY(tl_buf_add_byte(out, 1));
    TL_TRY(tl_buf_add(out, &len, sizeof len));
    return tl_buf_add(out, value.data, value.len);
}

static tl_status number_of(counting *c, const tl_column *keys, int64_t row, int32_t *out, tl_error *err) {
    c->key.len = 0;
    for (int32_t k = 0; k < c->contract->n_series; k++) {
        if (add_value(&c->out->key_schema.fields[k].type, &keys[k], row, &c->key) != TL_OK) {
            return tl_fail_memory(err, c->key.len);
        }
    }
    return tl_series_number(&c->set, tl_buf_bytes(&c->key), out, err);
}

static tl_status new_series(counting *c, tl_error *err) {
    tl_arrival_sum *sums = tl_grow(c->sums, &c->cap_sums, (size_t)c->out->n_series + 1, 64, sizeof *sums, err);
    if (!sums) {
        return TL_NO_MEMORY;
    }
    c->sums = sums;
    c->sums[c->out->n_series++] = (tl_arrival_sum){.least_us = INT64_MAX, .greatest_us = INT64_MIN};
    return TL_OK;
}

/* Keeps the key columns of the series that a batch was the first to bring. */
static tl_status keep_keys(counting *c, const tl_column *keys, const tl_pick *picks, int64_t n, tl_error *err) {
    if (n == 0 || c->contract->n_series == 0) {
        return TL_OK;
    }
    tl_rows *pieces = tl_grow(c->pieces, &c->cap_pieces, (size_t)c->n_pieces + 1, 16, sizeof *pieces, err);
    if (!pieces) {
        return TL_NO_MEMORY;
    }
    c->pieces = pieces;
    TL_TRY(tl_rows_pick(&keys, 1, c->contract->n_series, picks, n, &c->pieces[c->n_pieces], err));
    c->n_pieces++;
    return TL_OK;
}

/* ---- rows ---- */

/* Counts that wait to be added, while rows that follow each other fall into one bucket. */
typedef struct waiting {
    int32_t bucket;
    int64_t n;
} waiting;

static tl_status count_one(counting *c, int32_t series, int measure, int32_t bucket, waiting *w, tl_error *err) {
    if (bucket != w->bucket) {
        TL_TRY(tl_arrival_counts_add(&c->counts, series, measure, w->bucket, w->n, err));
        *w = (waiting){bucket, 0};
    }
    w->n++;
    return TL_OK;
}

static int64_t difference(int64_t a, int64_t b) {
    int64_t d;
    if (__builtin_sub_overflow(a, b, &d)) {
        return a < b ? INT64_MIN + 1 : INT64_MAX;
    }
    return d;
}

/* Rows [from, to) of one series. */
static tl_status count_rows(counting *c, int32_t series, const tl_column *time, const tl_column *ingest, int64_t from,
                            int64_t to, tl_error *err) {
    waiting delays = {0}, overdues = {0};
    tl_arrival_sum *sum = &c->sums[series];
    for (int64_t row = from; row < to; row++) {
        int64_t t, arrived;
        if (tl_column_is_null(time, row) || tl_column_is_null(ingest, row)) {
            c->out->unknown_rows++;
            continue;
        }
        memcpy(&t, time->values + row * 8, 8);
        memcpy(&arrived, ingest->values + row * 8, 8);
        if (!find_slot(c, t)) {
            c->slot_start = c->slot_end = 0;
            c->out->unknown_rows++;
            continue;
        }
        int64_t delay = difference(arrived, t), overdue = difference(arrived, c->slot_end);
        sum->rows++;
        sum->least_us = delay < sum->least_us ? delay : sum->least_us;
        sum->greatest_us = delay > sum->greatest_us ? delay : sum->greatest_us;
        sum->late_rows += delay > c->slot_end - c->slot_start;
        TL_TRY(count_one(c, series, TL_ARRIVAL_DELAY, tl_arrival_bucket(delay), &delays, err));
        TL_TRY(count_one(c, series, TL_ARRIVAL_OVERDUE, tl_arrival_bucket(overdue > 0 ? overdue : 0), &overdues, err));
    }
    TL_TRY(tl_arrival_counts_add(&c->counts, series, TL_ARRIVAL_DELAY, delays.bucket, delays.n, err));
    return tl_arrival_counts_add(&c->counts, series, TL_ARRIVAL_OVERDUE, overdues.bucket, overdues.n, err);
}

/* A batch: key columns, time, insertion time. */
static tl_status count_columns(counting *c, const tl_column *columns, int64_t n_rows, tl_error *err) {
    int32_t n_keys = c->contract->n_series;
    tl_pick *picks = NULL;
    int64_t n_picks = 0, cap_picks = 0;
    tl_status status = TL_OK;
    for (int64_t from = 0, to; from < n_rows && status == TL_OK; from = to) {
        bool same = true;
        for (to = from + 1; to < n_rows && same; to += same) {
            for (int32_t k = 0; k < n_keys && same; k++) {
                same = same_value(&columns[k], from, to);
            }
        }
        int32_t series;
        status = number_of(c, columns, from, &series, err);
        if (status == TL_OK && series == c->out->n_series) {
            status = new_series(c, err);
            if (status == TL_OK && n_picks == cap_picks) {
                cap_picks = cap_picks ? cap_picks * 2 : 64;
                tl_pick *grown = tl_realloc_array(picks, (size_t)cap_picks, sizeof *picks);
                status = grown ? TL_OK : tl_fail_memory(err, (size_t)cap_picks * sizeof *picks);
                picks = grown ? grown : picks;
            }
            if (status == TL_OK) {
                picks[n_picks++] = (tl_pick){0, (uint32_t)from};
            }
        }
        if (status == TL_OK) {
            status = count_rows(c, series, &columns[n_keys], &columns[n_keys + 1], from, to, err);
        }
    }
    if (status == TL_OK) {
        status = keep_keys(c, columns, picks, n_picks, err);
    }
    tl_free(picks);
    return status;
}

static tl_status count_batch(counting *c, const struct ArrowSchema *arrow, const tl_schema *schema,
                             struct ArrowArray *batch, tl_error *err) {
    tl_rows rows = {0};
    TL_TRY(tl_rows_from_arrow(schema, arrow, batch, &rows, err));
    tl_status status = count_columns(c, rows.columns, rows.n_rows, err);
    tl_rows_free(&rows);
    return status;
}

static tl_status count_stream(counting *c, const tl_schema *schema, struct ArrowArrayStream *stream, tl_error *err) {
    struct ArrowSchema arrow;
    struct ArrowArray batch;
    TL_TRY(tl_stream_schema(stream, &arrow, err));
    tl_status status;
    while ((status = tl_stream_next(stream, &batch, err)) == TL_OK && batch.release) {
        status = count_batch(c, &arrow, schema, &batch, err);
        if (status != TL_OK) {
            break;
        }
    }
    arrow.release(&arrow);
    return status;
}

/* ---- the sums ---- */

static int64_t at_most(int64_t v, int64_t most) {
    return v < most ? v : most;
}

static void quantiles(const tl_arrival_count *delays, size_t n, const tl_arrival_count *overdues, size_t m,
                      double cover, tl_arrival_sum *sum) {
    if (n == 0 || m == 0) {
        sum->least_us = sum->greatest_us = 0;
        return;
    }
    sum->p50_us = at_most(tl_arrival_quantile(delays, n, 0.5), sum->greatest_us);
    sum->p90_us = at_most(tl_arrival_quantile(delays, n, 0.9), sum->greatest_us);
    sum->p99_us = at_most(tl_arrival_quantile(delays, n, 0.99), sum->greatest_us);
    /* No row comes later behind its slot's end than behind its own time. */
    sum->open_us = at_most(tl_arrival_quantile(overdues, m, cover), sum->greatest_us > 0 ? sum->greatest_us : 0);
}

/* All series as if they were one. */
static tl_status sum_all(counting *c, tl_error *err) {
    tl_arrival_counts all = {0};
    tl_arrival_sum *sum = &c->out->all;
    *sum = (tl_arrival_sum){.least_us = INT64_MAX, .greatest_us = INT64_MIN};
    tl_status status = TL_OK;
    for (int64_t s = 0; s < c->out->n_series && status == TL_OK; s++) {
        sum->rows += c->sums[s].rows;
        sum->late_rows += c->sums[s].late_rows;
        sum->least_us = at_most(c->sums[s].least_us, sum->least_us);
        sum->greatest_us = c->sums[s].greatest_us > sum->greatest_us ? c->sums[s].greatest_us : sum->greatest_us;
        for (int measure = 0; measure < 2; measure++) {
            size_t n;
            const tl_arrival_count *counts = tl_arrival_counts_of(&c->counts, (int32_t)s, measure, &n);
            for (size_t i = 0; i < n && status == TL_OK; i++) {
                status = tl_arrival_counts_add(&all, 0, measure, tl_arrival_count_bucket(&counts[i]), counts[i].n, err);
            }
        }
    }
    if (status == TL_OK) {
        size_t n, m;
        tl_arrival_counts_sort(&all);
        const tl_arrival_count *delays = tl_arrival_counts_of(&all, 0, TL_ARRIVAL_DELAY, &n);
        const tl_arrival_count *overdues = tl_arrival_counts_of(&all, 0, TL_ARRIVAL_OVERDUE, &m);
        quantiles(delays, n, overdues, m, c->options->cover, sum);
    }
    tl_arrival_counts_free(&all);
    return status;
}

typedef struct ranked {
    const counting *counting;
    tl_pick pick;
    int64_t series;
} ranked;

static int by_lateness(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    const counting *c = x->counting;
    int64_t p = c->sums[x->series].p99_us, q = c->sums[y->series].p99_us;
    if (p != q) {
        return p > q ? -1 : 1;
    }
    for (int32_t k = 0; k < c->contract->n_series; k++) {
        int order = tl_column_compare(&c->out->key_schema.fields[k].type, &c->pieces[x->pick.source].columns[k],
                                      x->pick.row, &c->pieces[y->pick.source].columns[k], y->pick.row);
        if (order) {
            return order;
        }
    }
    return 0;
}

/* Puts sums and keys in the order they are handed out in. */
static tl_status order_series(counting *c, ranked *order, tl_pick *picks, const tl_column **sources, tl_error *err) {
    int64_t n = c->out->n_series, at = 0;
    for (int64_t p = 0; p < c->n_pieces; p++) {
        sources[p] = c->pieces[p].columns;
        for (int64_t row = 0; row < c->pieces[p].n_rows; row++, at++) {
            order[at] = (ranked){c, {(uint32_t)p, (uint32_t)row}, at};
        }
    }
    if (c->contract->n_series == 0) { /* the whole table is one series */
        order[0] = (ranked){c, {0, 0}, 0};
    }
    qsort(order, (size_t)n, sizeof *order, by_lateness);
    for (int64_t i = 0; i < n; i++) {
        c->out->series[i] = c->sums[order[i].series];
        picks[i] = order[i].pick;
    }
    if (c->contract->n_series == 0) {
        c->out->keys.n_rows = n;
        return TL_OK;
    }
    return tl_rows_pick(sources, (uint32_t)c->n_pieces, c->contract->n_series, picks, n, &c->out->keys, err);
}

static tl_status finish(counting *c, tl_error *err) {
    tl_arrival_counts_sort(&c->counts);
    TL_TRY(sum_all(c, err));
    size_t n = (size_t)c->out->n_series;
    for (size_t s = 0; s < n; s++) {
        size_t d, o;
        const tl_arrival_count *delays = tl_arrival_counts_of(&c->counts, (int32_t)s, TL_ARRIVAL_DELAY, &d);
        const tl_arrival_count *overdues = tl_arrival_counts_of(&c->counts, (int32_t)s, TL_ARRIVAL_OVERDUE, &o);
        quantiles(delays, d, overdues, o, c->options->cover, &c->sums[s]);
    }
    if (n == 0) {
        return TL_OK;
    }
    ranked *order = tl_alloc_array(n, sizeof *order);
    tl_pick *picks = tl_alloc_array(n, sizeof *picks);
    const tl_column **sources = tl_alloc_array((size_t)c->n_pieces + 1, sizeof *sources);
    c->out->series = tl_alloc_array(n, sizeof *c->out->series);
    tl_status status = order && picks && sources && c->out->series ? order_series(c, order, picks, sources, err)
                                                                   : tl_fail_memory(err, n * sizeof *order);
    tl_free(order);
    tl_free(picks);
    tl_free((void *)sources);
    return status;
}

/* ---- the whole ---- */

static tl_status scan(counting *c, tl_table *table, tl_error *err) {
    int32_t n = c->contract->n_series + 2;
    tl_arena arena = {0};
    tl_plan_options options = c->options->plan;
    options.keep_copies = true;
    tl_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    int32_t *columns = tl_arena_array(&arena, (size_t)n, sizeof *columns);
    tl_field *fields = tl_arena_array(&arena, (size_t)n, sizeof *fields);
    tl_status status = columns && fields ? TL_OK : tl_fail_memory(err, (size_t)n * sizeof *fields);
    if (status == TL_OK) {
        for (int32_t k = 0; k < c->contract->n_series; k++) {
            columns[k] = c->contract->series[k];
        }
        columns[n - 2] = c->contract->time;
        columns[n - 1] = c->contract->ingest;
        for (int32_t i = 0; i < n; i++) {
            fields[i] = c->schema->fields[columns[i]];
        }
        status = tl_plan_create(table, &options, &plan, err);
    }
    if (status == TL_OK) {
        status = tl_scan_open(plan, &options, columns, n, &stream, err);
    }
    if (status == TL_OK) {
        tl_schema read = {.n_fields = n, .fields = fields};
        status = count_stream(c, &read, &stream, err);
        stream.release(&stream);
    }
    tl_plan_release(plan);
    tl_arena_free(&arena);
    return status;
}

/* The fields of the key columns, copied, so that the result outlives the table. */
static tl_status copy_key_schema(const tl_contract *contract, const tl_schema *schema, tl_arena *arena, tl_schema *out,
                                 tl_error *err) {
    tl_field *fields = tl_arena_array(arena, (size_t)contract->n_series, sizeof *fields);
    if (!fields) {
        return tl_fail_memory(err, (size_t)contract->n_series * sizeof *fields);
    }
    for (int32_t k = 0; k < contract->n_series; k++) {
        fields[k] = schema->fields[contract->series[k]];
    }
    tl_schema keys = {.n_fields = contract->n_series, .fields = fields};
    return tl_schema_copy(&keys, arena, out) == TL_OK ? TL_OK : tl_fail_memory(err, 0);
}

static tl_status check(const tl_table *table, const tl_schema *schema, const tl_arrival_options *o, tl_error *err) {
    const tl_contract *c = &table->contract;
    if (c->time < 0) {
        return tl_fail(err, TL_INVALID, "table %s has no time column: there is nothing to measure", table->name);
    }
    if (c->ingest < 0) {
        return tl_fail(err, TL_INVALID,
                       "table %s does not keep when rows came (it was created without insertion time): delays are not "
                       "known",
                       table->name);
    }
    tl_type_id time = schema->fields[c->time].type.id, ingest = schema->fields[c->ingest].type.id;
    if ((time != TL_TYPE_TIMESTAMPTZ && time != TL_TYPE_TIMESTAMP) ||
        (ingest != TL_TYPE_TIMESTAMPTZ && ingest != TL_TYPE_TIMESTAMP)) {
        return tl_fail(err, TL_UNSUPPORTED, "table %s: delays are measured between timestamp columns only",
                       table->name);
    }
    if (o->slot_us < 0 || !(o->cover > 0 && o->cover <= 1)) {
        return tl_fail(err, TL_INVALID, "a slot has a positive length, and the share to cover is in (0, 1]");
    }
    if (o->slot_us == 0 && c->chunk == TL_TRANSFORM_VOID) {
        return tl_fail(err, TL_INVALID, "table %s has no partitions by time: say how long a slot is", table->name);
    }
    return TL_OK;
}

tl_status tl_arrival_report_read(tl_table *table, const tl_arrival_options *options, tl_arrival_report *out,
                                 tl_error *err) {
    *out = (tl_arrival_report){0};
    const tl_schema *schema = tl_plan_schema(table, options->plan.snapshot);
    TL_TRY(check(table, schema, options, err));
    counting c = {.contract = &table->contract, .schema = schema, .options = options, .out = out};
    out->slot_us = slot_length(c.contract, options->slot_us);
    tl_arena arena = {0};
    tl_status status = copy_key_schema(c.contract, schema, &arena, &out->key_schema, err);
    if (status == TL_OK) {
        status = scan(&c, table, err);
    }
    if (status == TL_OK) {
        status = finish(&c, err);
    }
    for (int64_t p = 0; p < c.n_pieces; p++) {
        tl_rows_free(&c.pieces[p]);
    }
    tl_free(c.pieces);
    tl_free(c.sums);
    tl_buf_free(&c.key);
    tl_series_set_free(&c.set);
    tl_arrival_counts_free(&c.counts);
    out->key_arena = arena;
    if (status != TL_OK) {
        tl_arrival_report_free(out);
    }
    return status;
}

void tl_arrival_report_free(tl_arrival_report *a) {
    tl_free(a->series);
    tl_rows_free(&a->keys);
    tl_arena_free(&a->key_arena);
    *a = (tl_arrival_report){0};
}
