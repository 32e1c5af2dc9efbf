/* tl_append: stream -> align -> append -> commit. */
#include <string.h>

#include "api/lake.h"
#include "api/upkeep.h"
#include "append/append.h"
#include "arrow/stream.h"
#include "base/mem.h"
#include "commit/commit.h"
#include "maintain/upsert.h"
#include "read/read.h"
#include "table/settings.h"

/* Reads the stream to its end into the appender. */
static tl_status take_rows(tl_table *table, struct ArrowArrayStream *rows, tl_appender *appender, int64_t stamp_us,
                           int64_t *rows_read, tl_error *err) {
    struct ArrowSchema input;
    TL_TRY(tl_stream_schema(rows, &input, err));
    tl_align *align = NULL;
    tl_status status =
        tl_align_create(tl_metadata_schema(&table->metadata), table->contract.ingest, &input, &align, err);
    if (input.release) {
        input.release(&input);
    }
    while (status == TL_OK) {
        struct ArrowArray array;
        status = tl_stream_next(rows, &array, err);
        if (status != TL_OK || !array.release) {
            break;
        }
        tl_batch batch = {0};
        status = tl_align_batch(align, &array, *rows_read, stamp_us, &batch, err);
        if (status != TL_OK) {
            break;
        }
        *rows_read += batch.n_rows;
        if (batch.n_rows == 0) {
            tl_batch_free(&batch);
            continue;
        }
        status = tl_appender_add(appender, &batch, err);
    }
    tl_align_free(align);
    return status;
}

static tl_status stage(tl_lake *lake, tl_table *table, struct ArrowArrayStream *rows, const tl_append_params *params,
                       int64_t stamp_us, int64_t *rows_read, tl_staged *staged, tl_error *err) {
    const tl_metadata *m = &table->metadata;
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_append_options options = {
        .pool = pool,
        .memory_limit = params && params->memory_limit > 0 ? params->memory_limit : tl_setting_int(m, "memory-limit"),
        .workspace = pool ? lake->workspace : NULL, /* who has the threads has it too */
        .compact_profile = strcmp(tl_setting_text(m, "encodings"), "compact") == 0,
    };
    tl_appender *appender = NULL;
    tl_status status = tl_appender_create(table, &options, &appender, err);
    if (status == TL_OK) {
        status = take_rows(table, rows, appender, stamp_us, rows_read, err);
    }
    if (status == TL_OK) {
        status = tl_appender_finish(appender, staged, err);
    }
    tl_appender_free(appender);
    tl_lake_pool_give(lake, pool);
    return status;
}

/* From time to time, what readers would have to find out about older copies. */
static void publish_older(tl_lake *lake, const char *name) {
    tl_table *now = NULL;
    if (tl_lake_table(lake, name, &now, NULL) == TL_OK) {
        tl_pool *pool = tl_lake_pool_take(lake);
        tl_older_publish(now, pool);
        tl_lake_pool_give(lake, pool);
    }
    tl_table_release(now);
}

static tl_status append(tl_lake *lake, const char *name, struct ArrowArrayStream *rows, const tl_append_params *params,
                        tl_append_result *result, tl_error *err) {
    const tl_env *env = lake->store->env;
    int64_t begin = tl_env_monotonic_us(env);
    int64_t stamp_us = tl_env_now_us(env); /* one insertion time for the whole append: when it started */
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    const char *batch_id = params && params->batch_id && *params->batch_id ? params->batch_id : NULL;
    bool duplicate = false;
    tl_status status = batch_id ? tl_commit_find_batch(table, batch_id, &duplicate, err) : TL_OK;
    tl_staged staged = {0};
    tl_commit_result committed = {.version = table->version, .snapshot_id = -1, .duplicate = duplicate};
    tl_table *newer = NULL;
    if (status == TL_OK && !duplicate) {
        status = stage(lake, table, rows, params, stamp_us, &result->rows_read, &staged, err);
        if (status == TL_OK && staged.n_files > 0) {
            tl_pool *pool = tl_lake_pool_take(lake);
            tl_delete_lookup lookup = tl_upsert_lookup(pool);
            tl_commit_options options = {
                .batch_id = batch_id,
                .no_sync = strcmp(tl_setting_text(&table->metadata, "durability"), "none") == 0,
                .lookup = &lookup,
            };
            status = tl_commit_append(table, &staged, &options, &committed, &newer, err);
            tl_lake_pool_give(lake, pool);
        }
    }
    if (newer) {
        tl_lake_remember(lake, newer);
        if (status == TL_OK && committed.snapshot_id >= 0 && !(params && params->no_maintain)) {
            tl_upkeep_run(lake, newer, params && params->maintain_beside);
        }
        if (status == TL_OK && committed.snapshot_id >= 0) {
            publish_older(lake, name);
        }
        tl_table_release(newer);
    }
    if (status == TL_OK) {
        bool wrote = committed.snapshot_id >= 0;
        result->rows = wrote ? staged.rows : 0;
        result->files = wrote ? staged.n_files : 0;
        result->bytes = wrote ? staged.bytes : 0;
        result->version = committed.version;
        result->snapshot_id = committed.snapshot_id;
        result->commit_us = committed.commit_us;
        result->attempts = committed.attempts;
        result->duplicate = committed.duplicate;
        result->total_us = tl_env_monotonic_us(env) - begin;
    }
    tl_staged_free(&staged);
    tl_table_release(table);
    return status;
}

tl_status tl_append(tl_lake *lake, const char *table, struct ArrowArrayStream *rows, const tl_append_params *params,
                    tl_append_result *result, tl_error *err) {
    tl_append_result mine;
    result = result ? result : &mine;
    *result = (tl_append_result){.snapshot_id = -1};
    tl_status status = append(lake, table, rows, params, result, err);
    if (rows->release) {
        rows->release(rows);
    }
    return status;
}
