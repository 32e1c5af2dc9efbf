/* tl_append: stream -> align -> append -> commit. */
#include <string.h>

#include "api/lake.h"
#include "append/append.h"
#include "arrow/stream.h"
#include "base/mem.h"
#include "base/num.h"
#include "commit/commit.h"
#include "maintain/compact.h"
#include "maintain/expire.h"
#include "maintain/retention.h"
#include "maintain/upsert.h"
#include "read/read.h"
#include "table/last_index.h"
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

/* Gives the table a last-value index where it has none to trust: another program committed without one, or a file of
 * it was lost. Reads the key columns of the whole table, once. */
static void mend_index(tl_lake *lake, tl_table **table) {
    tl_index_layers layers = {0};
    const tl_snapshot *current = tl_metadata_current(&(*table)->metadata);
    if ((*table)->contract.time < 0 || !current ||
        tl_index_layers_find(*table, current, &layers, NULL) != TL_NOT_FOUND) {
        tl_index_layers_free(&layers);
        return;
    }
    tl_rows newest = {0};
    tl_table *newer = NULL;
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_status status = tl_latest_rows(*table, pool, &newest, NULL);
    tl_lake_pool_give(lake, pool);
    if (status == TL_OK && newest.n_rows > 0 && tl_commit_last_values(*table, &newest, &newer, NULL) == TL_OK) {
        tl_table_release(*table);
        *table = newer;
    }
    tl_rows_free(&newest);
}

enum { FILES_FEW = 512, LOOK_EVERY = 8 };

/* A table of many files is not looked at after every append: reading its manifests would cost more than the append. */
static bool is_time_to_look(const tl_table *t) {
    const tl_snapshot *s = tl_metadata_current(&t->metadata);
    const char *text = s ? tl_snapshot_summary(s, "total-data-files") : NULL;
    int64_t files;
    bool known = text && tl_parse_i64(tl_bytes_of(text), &files) == TL_PARSE_OK;
    return s && ((known && files <= FILES_FEW) || t->version % LOOK_EVERY == 0);
}

/* Merges small files and partitions that have become cold. */
static void compact(tl_lake *lake, tl_table **table) {
    if (!is_time_to_look(*table)) {
        return;
    }
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_compact_options options = {.pool = pool, .inline_only = true};
    tl_compact_result result;
    tl_table *newer = NULL;
    (void)!tl_compact(*table, &options, &result, &newer, NULL);
    tl_lake_pool_give(lake, pool);
    if (newer) {
        tl_table_release(*table);
        *table = newer;
    }
}

/* Drops partitions past the table's retention, now and then: it has to read the manifests. */
static void drop_old(tl_table **table) {
    if (!tl_metadata_property(&(*table)->metadata, "timelake.retention") || (*table)->version % LOOK_EVERY != 0) {
        return;
    }
    tl_retention_result result;
    tl_table *newer = NULL;
    if (tl_retention_apply(*table, false, &result, &newer, NULL) == TL_OK && newer) {
        tl_table_release(*table);
        *table = newer;
    } else {
        tl_table_release(newer);
    }
}

/* Small maintenance after an append. Its failure is not the append's: the next one tries again. */
static void maintain(tl_lake *lake, tl_table *table) {
    if (!tl_setting_bool(&table->metadata, "auto-maintain")) {
        return;
    }
    tl_table *now = tl_table_retain(table);
    mend_index(lake, &now);
    drop_old(&now);
    compact(lake, &now);
    if (tl_expire_is_due(now, tl_env_now_us(lake->store->env) / 1000)) {
        tl_expire_result result;
        tl_table *newer = NULL;
        if (tl_expire(now, &result, &newer, NULL) == TL_OK && newer) {
            tl_table_release(now);
            now = newer;
        } else {
            tl_table_release(newer);
        }
    }
    if (now != table) {
        tl_lake_remember(lake, now);
    }
    tl_table_release(now);
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
            maintain(lake, newer);
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
