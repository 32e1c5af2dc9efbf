/* tl_arrivals: the report of the read room as a struct and an Arrow stream. */
#include <string.h>

#include "api/lake.h"
#include "base/mem.h"
#include "read/arrivals.h"

/* The figures of each series, behind its key columns. */
static const char *const figures[] = {"rows",   "least_us",    "p50_us",    "p90_us",
                                      "p99_us", "greatest_us", "late_rows", "open_us"};

static int64_t figure(const tl_arrival_sum *s, size_t i) {
    const int64_t all[] = {s->rows,   s->least_us,    s->p50_us,    s->p90_us,
                           s->p99_us, s->greatest_us, s->late_rows, s->open_us};
    return all[i];
}

/* Adds the figures to the report's key columns; everything new lives in the rows' own arena. */
static tl_status add_figures(tl_arrival_report *r, tl_schema *schema, tl_error *err) {
    int32_t keys = r->key_schema.n_fields, n = keys + (int32_t)TL_COUNT(figures);
    tl_arena *arena = &r->keys.arena;
    tl_field *fields = tl_arena_array(arena, (size_t)n, sizeof *fields);
    tl_column *columns = tl_arena_array(arena, (size_t)n, sizeof *columns);
    if (!fields || !columns) {
        return tl_fail_memory(err, (size_t)n * sizeof *columns);
    }
    for (int32_t k = 0; k < keys; k++) {
        fields[k] = r->key_schema.fields[k];
        columns[k] = r->n_series > 0 ? r->keys.columns[k] : (tl_column){0};
    }
    for (size_t i = 0; i < TL_COUNT(figures); i++) {
        int64_t *values = tl_arena_array(arena, (size_t)r->n_series, sizeof *values);
        if (!values) {
            return tl_fail_memory(err, (size_t)r->n_series * sizeof *values);
        }
        for (int64_t s = 0; s < r->n_series; s++) {
            values[s] = figure(&r->series[s], i);
        }
        int32_t at = keys + (int32_t)i;
        fields[at] = (tl_field){.id = 1000000 + at, .required = true, .name = figures[i], .type = {.id = TL_TYPE_LONG}};
        columns[at] =
            (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = r->n_series, .values = (const uint8_t *)values};
    }
    r->keys.columns = columns;
    r->keys.n_columns = n;
    *schema = (tl_schema){.n_fields = n, .fields = fields};
    return TL_OK;
}

static tl_status series_stream(tl_arrival_report *r, struct ArrowArrayStream *out, tl_error *err) {
    tl_schema schema;
    TL_TRY(add_figures(r, &schema, err));
    return tl_rows_to_stream(&schema, &r->keys, out, err);
}

static void tell(const tl_arrival_report *r, tl_arrivals_result *out) {
    const tl_arrival_sum *s = &r->all;
    *out = (tl_arrivals_result){.rows = s->rows,
                                .unknown_rows = r->unknown_rows,
                                .n_series = r->n_series,
                                .slot_us = r->slot_us,
                                .least_us = s->least_us,
                                .p50_us = s->p50_us,
                                .p90_us = s->p90_us,
                                .p99_us = s->p99_us,
                                .greatest_us = s->greatest_us,
                                .late_rows = s->late_rows,
                                .open_us = s->open_us};
}

tl_status tl_arrivals(tl_lake *lake, const char *name, const tl_arrivals_params *params, tl_arrivals_result *result,
                      struct ArrowArrayStream *series, tl_error *err) {
    tl_arrival_options options = {.cover = 0.99};
    if (params) {
        options.slot_us = params->slot_us;
        options.cover = params->cover > 0 ? params->cover : options.cover;
        options.plan.has_time = params->from_us || params->to_us;
        options.plan.from_us = params->from_us;
        options.plan.to_us = params->to_us;
    }
    if (series) {
        series->release = NULL;
    }
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    options.plan.pool = tl_lake_pool_take(lake);
    tl_arrival_report report = {0};
    tl_status status = tl_arrival_report_read(table, &options, &report, err);
    tl_lake_pool_give(lake, options.plan.pool);
    if (status == TL_OK && result) {
        tell(&report, result);
    }
    if (status == TL_OK && series) {
        status = series_stream(&report, series, err);
    }
    tl_arrival_report_free(&report);
    tl_table_release(table);
    return status;
}
