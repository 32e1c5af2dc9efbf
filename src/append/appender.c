/*
 * The appender: takes batches into groups, sorts, writes and stages them. See append.h.
 */
#include "append/appender_internal.h"

#include "append/workspace_internal.h"
#include "base/mem.h"
#include "iceberg/parquet_schema.h"
#include "table/settings.h"

#define DEFAULT_MEMORY ((int64_t)1 << 30)
#define LEAST_MEMORY ((int64_t)1 << 16)

/* ---- making one ---- */

/* The partition that rows get: the table's default spec must be the one of its contract. */
static tl_status check_spec(const tl_appender *a, tl_transform *chunk, tl_error *err) {
    const tl_partition_spec *spec = tl_metadata_spec(&a->table->metadata);
    const tl_contract *c = a->contract;
    *chunk = TL_TRANSFORM_VOID;
    if (!spec || spec->n_fields == 0) {
        return TL_OK;
    }
    if (spec->n_fields == 1 && c->time >= 0 && spec->fields[0].source_id == a->schema->fields[c->time].id &&
        spec->fields[0].transform == c->chunk) {
        *chunk = c->chunk;
        return TL_OK;
    }
    return tl_fail(err, TL_UNSUPPORTED,
                   "table %s: its partition spec (field \"%s\") is another writer's; appending to it "
                   "is not supported",
                   a->table->name, spec->fields[0].name);
}

static void read_options(tl_appender *a, const tl_append_options *options) {
    const tl_metadata *m = &a->table->metadata;
    a->options = options ? *options : (tl_append_options){0};
    int64_t limit = a->options.memory_limit > 0 ? a->options.memory_limit : DEFAULT_MEMORY;
    a->memory_limit = (size_t)(limit < LEAST_MEMORY ? LEAST_MEMORY : limit);
    int64_t rows = tl_setting_int(m, "row-group-rows");
    a->layout.rows = (uint32_t)(rows < 1 ? 1 : rows > (1 << 30) ? 1 << 30 : rows);
    size_t bytes = a->memory_limit / 4;
    a->layout.bytes = bytes < ((size_t)1 << 18) ? (size_t)1 << 18 : bytes > ((size_t)1 << 28) ? (size_t)1 << 28 : bytes;
}

static tl_status make_parts(tl_appender *a, tl_error *err) {
    TL_TRY(check_spec(a, &a->chunk, err));
    tl_splitter_init(&a->splitter, a->chunk);
    tl_pq_schema_element *elements;
    int32_t n_elements;
    TL_TRY(tl_iceberg_parquet_schema(a->schema, &a->arena, &elements, &n_elements, err));
    TL_TRY(tl_leaves_make(elements, n_elements, &a->leaves, err));
    int32_t n_series = a->contract->time >= 0 ? a->contract->n_series : 0;
    TL_TRY(tl_ranker_create(a->schema, a->contract->series, n_series, &a->ranker, err));
    TL_TRY(tl_encoder_make(a->table, &a->leaves, a->ranker, &a->encoder, err));
    return tl_stager_init(&a->stager, a->table, &a->encoder, a->options.pool, a->options.workspace, err);
}

tl_status tl_appender_create(tl_table *table, const tl_append_options *options, tl_appender **out, tl_error *err) {
    *out = NULL;
    tl_appender *a = tl_calloc(1, sizeof *a);
    if (!a) {
        return tl_fail_memory(err, sizeof *a);
    }
    a->table = tl_table_retain(table);
    a->schema = tl_metadata_schema(&table->metadata);
    a->contract = &table->contract;
    read_options(a, options);
    tl_appender_plan_buckets(a);
    tl_status status = make_parts(a, err);
    if (status != TL_OK) {
        tl_appender_free(a);
        return status;
    }
    *out = a;
    return TL_OK;
}

void tl_appender_free(tl_appender *a) {
    if (!a) {
        return;
    }
    tl_stager_free(&a->stager, true); /* after a success its list is empty */
    tl_appender_drop_runs(a);
    tl_group_reset(&a->group);
    tl_splitter_reset(&a->splitter);
    tl_ranker_free(a->ranker);
    tl_encoder_free(&a->encoder);
    tl_leaves_free(&a->leaves);
    tl_rows_free(&a->newest);
    tl_free(a->touched);
    tl_free(a->touched_buckets);
    tl_arena_free(&a->arena);
    tl_table_release(a->table);
    tl_free(a);
}

/* ---- sorting and writing ---- */

tl_status tl_appender_sort(tl_appender *a, tl_sorted *out, tl_error *err) {
    const uint32_t *ranks;
    TL_TRY(tl_ranker_ranks(a->ranker, &ranks, err));
    tl_sort_options options = {.time = a->contract->time,
                               .ingest = a->ingest.varies ? a->contract->ingest : -1,
                               .keep_last = a->contract->dedup};
    return tl_sort_group(&a->group, &a->splitter, ranks, tl_ranker_count(a->ranker), &options, a->options.pool, out,
                         err);
}

/* Plain tables: the rows of the group as they came, one part. */
static tl_status arrival_order(const tl_appender *a, tl_sorted *out, tl_error *err) {
    *out = (tl_sorted){.n_parts = 1, .n_rows = a->group.n_rows};
    out->parts = tl_calloc(1, sizeof *out->parts);
    if (!out->parts) {
        return tl_fail_memory(err, sizeof *out->parts);
    }
    out->parts[0].n = (uint32_t)a->group.n_rows;
    return TL_OK;
}

/* Columns whose runs would not be exact are written row by row after all. */
static void settle_plans(tl_appender *a) {
    const tl_contract *c = a->contract;
    for (int32_t k = 0; c->time >= 0 && k < c->n_series; k++) {
        if (tl_ranker_mixed(a->ranker, k)) {
            a->encoder.plans[c->series[k]].how = TL_HOW_FLAT;
        }
    }
    if (c->time >= 0 && c->ingest >= 0 && c->ingest != c->time) {
        tl_column_plan *plan = &a->encoder.plans[c->ingest];
        plan->how = a->ingest.varies || !a->ingest.any ? TL_HOW_FLAT : TL_HOW_CONSTANT;
        memcpy(plan->value, &a->ingest.value, sizeof a->ingest.value);
    }
}

/* The first rows that are written decide how columns are encoded. */
static tl_status write_layout(tl_appender *a, const tl_sources *sources, const tl_sorted *sorted,
                              const tl_layout *layout, bool more, tl_error *err) {
    if (!a->chosen) {
        settle_plans(a);
        tl_append_workspace *kept = a->options.workspace;
        bool compact = a->options.compact_profile;
        if (!tl_workspace_chosen(kept, a->table, &a->encoder, compact, sorted->n_rows)) {
            TL_TRY(tl_choose_encodings(&a->encoder, sources, sorted, layout, compact, a->options.pool,
                                       a->stager.scratch, err));
            tl_workspace_choose(kept, a->table, &a->encoder, compact, sorted->n_rows);
        }
        a->chosen = true;
    }
    return tl_stager_wave(&a->stager, sources, sorted, layout, more, err);
}

tl_status tl_appender_write(tl_appender *a, const tl_sources *sources, const tl_sorted *sorted, size_t source_bytes,
                            bool more, uint32_t *kept, tl_error *err) {
    tl_layout layout;
    *kept = 0;
    TL_TRY(tl_layout_plan(sorted, sources, a->schema->n_fields, source_bytes, &a->layout, &layout, err));
    if (more && layout.n > 0 && layout.groups[layout.n - 1].n < a->layout.rows) {
        *kept = layout.groups[--layout.n].n;
    }
    tl_status status = TL_OK;
    if (layout.n > 0) {
        status = write_layout(a, sources, sorted, &layout, more, err);
    }
    tl_free(layout.groups);
    return status;
}

static tl_status write_sorted(tl_appender *a, tl_error *err) {
    tl_sorted sorted;
    TL_TRY(tl_appender_sort(a, &sorted, err));
    tl_status status = tl_appender_note(a, &sorted, err);
    if (status == TL_OK) {
        tl_sources sources = tl_group_sources(&a->group);
        uint32_t kept;
        status = tl_appender_write(a, &sources, &sorted, a->group.bytes, false, &kept, err);
    }
    tl_sorted_free(&sorted);
    return status;
}

/* A plain table's rows go out as they came, group by group. */
static tl_status write_arrivals(tl_appender *a, bool more, tl_error *err) {
    tl_sorted sorted;
    TL_TRY(arrival_order(a, &sorted, err));
    tl_sources sources = tl_group_sources(&a->group);
    tl_layout layout = {0};
    tl_status status = tl_layout_plan(&sorted, &sources, a->schema->n_fields, a->group.bytes, &a->layout, &layout, err);
    if (status == TL_OK && layout.n > 0) {
        status = write_layout(a, &sources, &sorted, &layout, more, err);
    }
    tl_free(layout.groups);
    tl_sorted_free(&sorted);
    tl_group_reset(&a->group);
    return status;
}

/* ---- taking a batch ---- */

static tl_status check_batch(const tl_appender *a, const tl_batch *b, tl_error *err) {
    if (b->n_columns != a->schema->n_fields) {
        return tl_fail(err, TL_INTERNAL, "a batch of %d columns for a table of %d", b->n_columns, a->schema->n_fields);
    }
    if (b->n_rows > TL_GROUP_ROWS) {
        return tl_fail(err, TL_UNSUPPORTED, "a batch of %lld rows is too large; send at most 2^31 rows at a time",
                       (long long)b->n_rows);
    }
    return tl_rows_check(a->table, b, a->rows_in, err);
}

/* Do all insertion times equal? Then nothing compares them and the column is written as one run. */
static void note_ingest(tl_appender *a, const tl_batch *b) {
    tl_ingest_seen *seen = &a->ingest;
    if (a->contract->ingest < 0 || b->n_rows == 0 || seen->varies) {
        return;
    }
    const tl_column *c = &b->columns[a->contract->ingest];
    if (c->validity) {
        seen->varies = true;
        return;
    }
    int64_t first = tl_load_i64(c->values);
    uint64_t different = 0;
    for (int64_t i = 0; i < b->n_rows; i++) {
        different |= tl_load_u64(c->values + i * 8) ^ (uint64_t)first;
    }
    seen->varies = different != 0 || (seen->any && seen->value != first);
    seen->any = true;
    seen->value = first;
}

/* Bucket numbers of the batch's rows; NULL in plain tables. */
static tl_status number_rows(tl_appender *a, const tl_batch *b, uint32_t **out, tl_error *err) {
    *out = NULL;
    if (a->contract->time < 0) {
        return TL_OK;
    }
    uint32_t *numbers = tl_alloc_array((size_t)b->n_rows, sizeof *numbers);
    if (!numbers) {
        return tl_fail_memory(err, (size_t)b->n_rows * sizeof *numbers);
    }
    int64_t bad = -1;
    tl_status status = tl_ranker_add(a->ranker, b->columns, b->n_rows, numbers, err);
    if (status == TL_OK) {
        const uint8_t *times = b->columns[a->contract->time].values;
        status = tl_splitter_add(&a->splitter, times, b->n_rows, numbers, &bad, err);
    }
    if (status != TL_OK) {
        tl_free(numbers);
        return bad >= 0 ? tl_rows_fail_time(a->table, b, bad, a->rows_in, err) : status;
    }
    *out = numbers;
    return TL_OK;
}

/* Room for the batch in the group: a full group is spilled, or written when its order is that of arrival. */
static tl_status make_room(tl_appender *a, int64_t n_rows, tl_error *err) {
    if (a->group.n_rows == 0 || (!tl_appender_is_full(a) && a->group.n_rows + n_rows <= TL_GROUP_ROWS)) {
        return TL_OK;
    }
    return a->contract->time < 0 ? write_arrivals(a, true, err) : tl_appender_spill(a, err);
}

tl_status tl_appender_add(tl_appender *a, tl_batch *batch, tl_error *err) {
    tl_status status = check_batch(a, batch, err);
    uint32_t *numbers = NULL;
    if (status == TL_OK && batch->n_rows > 0) {
        int64_t n = batch->n_rows;
        status = make_room(a, n, err);
        if (status == TL_OK) {
            status = number_rows(a, batch, &numbers, err);
        }
        if (status == TL_OK) {
            note_ingest(a, batch);
            status = tl_group_add(&a->group, batch, numbers, err);
        }
        if (status == TL_OK) {
            a->rows_in += n;
            return TL_OK;
        }
        tl_free(numbers);
    }
    tl_batch_free(batch);
    return status;
}

/* ---- the end ---- */

/* Rows written per touched partition, from the files. */
static void count_touched(tl_appender *a, tl_staged *out) {
    int32_t f = 0;
    for (uint32_t i = 0; i < a->n_touched; i++) {
        a->touched[i].rows = 0;
        for (; f < out->n_files; f++) { /* files come in the order of partitions too */
            int32_t value = out->files[f].n_partition ? tl_load_i32(out->files[f].partition[0].value.data)
                                                      : a->touched[i].partition;
            if (value != a->touched[i].partition) {
                break;
            }
            a->touched[i].rows += out->files[f].record_count;
        }
    }
}

static tl_status write_all(tl_appender *a, tl_error *err) {
    if (a->contract->time < 0) {
        return write_arrivals(a, false, err);
    }
    if (a->n_runs == 0) {
        return write_sorted(a, err);
    }
    if (a->group.n_rows > 0) {
        TL_TRY(tl_appender_spill(a, err));
    }
    return tl_appender_merge(a, err);
}

tl_status tl_appender_finish(tl_appender *a, tl_staged *out, tl_error *err) {
    *out = (tl_staged){0};
    if (a->rows_in == 0) {
        return TL_OK;
    }
    tl_status status = write_all(a, err);
    const uint32_t *ranks = NULL;
    if (status == TL_OK && a->contract->time >= 0) {
        status = tl_ranker_ranks(a->ranker, &ranks, err);
    }
    if (status == TL_OK) {
        status = tl_stager_take(&a->stager, ranks, out, err);
    }
    if (status == TL_OK) {
        count_touched(a, out);
        size_t n_buckets = a->n_touched_buckets;
        out->touched = tl_arena_copy(&out->arena, a->touched, a->n_touched * sizeof *out->touched);
        out->touched_buckets = tl_arena_copy(&out->arena, a->touched_buckets, n_buckets * sizeof *out->touched_buckets);
        if (!out->touched || !out->touched_buckets) {
            tl_staged_discard(a->table->store, out);
            tl_staged_free(out);
            status = tl_fail_memory(err, n_buckets * sizeof *out->touched_buckets);
        }
    }
    if (status != TL_OK) {
        tl_stager_free(&a->stager, true);
        return status;
    }
    out->n_touched = (int32_t)a->n_touched;
    out->n_touched_buckets = (int32_t)a->n_touched_buckets;
    out->series_buckets = (int32_t)a->n_buckets;
    out->rows_in = a->rows_in;
    out->newest = a->newest;
    a->newest = (tl_rows){0};
    return TL_OK;
}
