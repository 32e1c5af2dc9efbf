/* tl_scan and tl_latest: what the caller asks for becomes a plan, and the plan a stream. */
#include <stdlib.h>
#include <string.h>

#include "api/keep.h"
#include "api/key_text.h"
#include "api/lake.h"
#include "arrow/stream.h"
#include "base/mem.h"
#include "read/read.h"
#include "table/settings.h"

/* The parts of a request, resolved against a table. */
typedef struct request {
    tl_plan_options plan;
    int32_t *columns;
    int32_t n_columns;
    tl_arena arena;
} request;

static tl_status find_columns(const tl_table *table, const tl_schema *schema, const char *const *names, request *r,
                              tl_error *err) {
    if (!names) {
        return TL_OK;
    }
    size_t n = 0;
    while (names[n]) {
        n++;
    }
    if (n == 0) {
        return tl_fail(err, TL_INVALID, "no column was named");
    }
    r->columns = tl_arena_array(&r->arena, n, sizeof *r->columns);
    if (!r->columns) {
        return tl_fail_memory(err, n * sizeof *r->columns);
    }
    for (size_t i = 0; i < n; i++) {
        r->columns[i] = tl_schema_index(schema, names[i]);
        if (r->columns[i] < 0) {
            return tl_fail(err, TL_NOT_FOUND, "table %s has no column \"%s\"", table->name, names[i]);
        }
        for (size_t k = 0; k < i; k++) {
            if (r->columns[k] == r->columns[i]) {
                return tl_fail(err, TL_INVALID, "column \"%s\" was asked for twice", names[i]);
            }
        }
    }
    r->n_columns = (int32_t)n;
    return TL_OK;
}

/* "machine=m1" -> the value's single-value bytes, through the same parser that reads text input. */
static tl_status find_key(const tl_table *table, const tl_schema *schema, const char *text, request *r,
                          tl_key_filter *out, tl_error *err) {
    const char *equals = strchr(text, '=');
    if (!equals) {
        return tl_fail(err, TL_INVALID, "\"%s\" is not of the form column=value", text);
    }
    char *name = tl_arena_strndup(&r->arena, text, (size_t)(equals - text));
    if (!name) {
        return tl_fail_memory(err, strlen(text));
    }
    int32_t column = tl_schema_index(schema, name);
    bool is_key = false;
    for (int32_t i = 0; i < table->contract.n_series; i++) {
        is_key = is_key || table->contract.series[i] == column;
    }
    if (!is_key) {
        return tl_fail(err, TL_INVALID, "\"%s\" is not a series key column of table %s", name, table->name);
    }
    out->column = column;
    return tl_key_from_text(&schema->fields[column], equals + 1, &r->arena, &out->value, err);
}

static tl_status find_keys(const tl_table *table, const tl_schema *schema, const char *const *texts, request *r,
                           tl_error *err) {
    size_t n = 0;
    while (texts && texts[n]) {
        n++;
    }
    tl_key_filter *keys = tl_arena_array(&r->arena, n, sizeof *keys);
    if (!keys) {
        return tl_fail_memory(err, n * sizeof *keys);
    }
    for (size_t i = 0; i < n; i++) {
        TL_TRY(find_key(table, schema, texts[i], r, &keys[i], err));
    }
    r->plan.keys = keys;
    r->plan.n_keys = (int32_t)n;
    return TL_OK;
}

/* The call's strategy, else the table's. */
static tl_status find_strategy(const tl_table *table, const char *asked, request *r, tl_error *err) {
    char *canonical = NULL;
    if (asked) {
        const tl_setting *setting;
        TL_TRY(tl_setting_check("read-dedup-strategy", asked, TL_LEVEL_SESSION, &setting, &canonical, err));
    }
    const char *name = canonical ? canonical : tl_setting_text(&table->metadata, "read-dedup-strategy");
    r->plan.merge = strcmp(name, "merge") == 0;
    tl_free(canonical);
    return TL_OK;
}

static tl_status resolve(const tl_table *table, const tl_scan_params *p, request *r, tl_error *err) {
    r->plan.keep_copies = !tl_setting_bool(&table->metadata, "read-dedup");
    TL_TRY(find_strategy(table, p ? p->dedup_strategy : NULL, r, err));
    if (!p) {
        return TL_OK;
    }
    r->plan.keep_copies = r->plan.keep_copies || p->keep_copies;
    if (p->snapshot_id) {
        r->plan.snapshot = tl_metadata_snapshot(&table->metadata, p->snapshot_id);
        if (!r->plan.snapshot) {
            return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot %lld (it may have expired)", table->name,
                           (long long)p->snapshot_id);
        }
    }
    if (p->from_us || p->to_us) {
        if (table->contract.time < 0) {
            return tl_fail(err, TL_INVALID, "table %s has no time column to filter by", table->name);
        }
        r->plan.has_time = true;
        r->plan.from_us = p->from_us;
        r->plan.to_us = p->to_us;
    }
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    if (r->plan.snapshot && r->plan.snapshot->schema_id >= 0) {
        const tl_schema *older = tl_metadata_schema_by_id(&table->metadata, r->plan.snapshot->schema_id);
        schema = older ? older : schema;
    }
    TL_TRY(find_columns(table, schema, p->columns, r, err));
    return find_keys(table, schema, p->series, r, err);
}

tl_status tl_scan(tl_lake *lake, const char *name, const tl_scan_params *params, struct ArrowArrayStream *out,
                  tl_error *err) {
    out->release = NULL;
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    request r = {0};
    tl_plan *plan = NULL;
    tl_status status = resolve(table, params, &r, err);
    if (status == TL_OK) {
        r.plan.pool = tl_lake_pool_take(lake);
        status = tl_plan_create(table, &r.plan, &plan, err);
        tl_lake_pool_give(lake, r.plan.pool);
        r.plan.pool = NULL;
    }
    if (status == TL_OK) {
        tl_reads_add(&lake->reads, plan, NULL);
        status = tl_scan_open(plan, &r.plan, r.columns, r.n_columns, out, err);
    }
    tl_plan_release(plan);
    tl_arena_free(&r.arena);
    tl_table_release(table);
    return status == TL_OK ? tl_lake_keep(lake, out, err) : status; /* the stream reads through the lake's store */
}

tl_status tl_stream_of(const struct ArrowSchema *schema, struct ArrowArray *arrays, size_t n,
                       struct ArrowArrayStream *out, tl_error *err) {
    return tl_stream_of_arrays(schema, arrays, (int64_t)n, out, err);
}

tl_status tl_latest(tl_lake *lake, const char *name, struct ArrowArrayStream *out, tl_error *err) {
    out->release = NULL;
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    tl_rows rows = {0};
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_status status = tl_latest_rows(table, pool, &rows, err);
    tl_lake_pool_give(lake, pool);
    if (status == TL_OK) {
        status = tl_rows_to_stream(schema, &rows, out, err);
    }
    tl_rows_free(&rows);
    tl_table_release(table);
    return status;
}
