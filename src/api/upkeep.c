/*
 * What is maintained after an append, and the thread that does it beside the next ones. See upkeep.h.
 *
 * Appends spend much of their time waiting for the disk, and a merge of a day's files takes as long as ten of them. So
 * who appends again and again has maintenance done meanwhile: to the appends it is another writer, whose commits never
 * disturb them. While it is busy what becomes due waits and is done in one go, so it can never fall behind by more than
 * what one look at the table finds.
 */
#include "api/upkeep.h"

#include <string.h>

#include "api/lake.h"
#include "base/num.h"
#include "commit/commit.h"
#include "maintain/compact.h"
#include "maintain/expire.h"
#include "maintain/retention.h"
#include "read/read.h"
#include "table/last_index.h"
#include "table/settings.h"

enum { FILES_FEW = 512, LOOK_EVERY = 8 };

/* ---- what there is to do ---- */

/* Gives the table a last-value index where it has none to trust: another program committed without one, or a file of
 * it was lost. Reads the key columns of the whole table, once. */
static void mend_index(tl_pool *pool, tl_table **table) {
    tl_index_layers layers = {0};
    const tl_snapshot *current = tl_metadata_current(&(*table)->metadata);
    if ((*table)->contract.time < 0 || !current ||
        tl_index_layers_find(*table, current, &layers, NULL) != TL_NOT_FOUND) {
        tl_index_layers_free(&layers);
        return;
    }
    tl_rows newest = {0};
    tl_table *newer = NULL;
    tl_status status = tl_latest_rows(*table, pool, &newest, NULL);
    if (status == TL_OK && newest.n_rows > 0 && tl_commit_last_values(*table, &newest, &newer, NULL) == TL_OK) {
        tl_table_release(*table);
        *table = newer;
    }
    tl_rows_free(&newest);
}

/* A table of many files is not looked at after every append: reading its manifests would cost more than the append. */
static bool is_time_to_look(const tl_table *t) {
    const tl_snapshot *s = tl_metadata_current(&t->metadata);
    const char *text = s ? tl_snapshot_summary(s, "total-data-files") : NULL;
    int64_t files;
    bool known = text && tl_parse_i64(tl_bytes_of(text), &files) == TL_PARSE_OK;
    return s && ((known && files <= FILES_FEW) || t->version % LOOK_EVERY == 0);
}

/* Merges small files and partitions that have become cold. */
static void compact(tl_lake *lake, tl_pool *pool, tl_append_workspace *workspace, tl_table **table) {
    if (!is_time_to_look(*table)) {
        return;
    }
    tl_upkeep *u = &lake->upkeep;
    tl_lock_take(&u->lock);
    tl_compact_outlook outlook = u->outlook;
    tl_lock_give(&u->lock);
    tl_compact_options options = {.pool = pool, .workspace = workspace, .inline_only = true, .outlook = &outlook};
    tl_compact_result result;
    tl_table *newer = NULL;
    (void)!tl_compact(*table, &options, &result, &newer, NULL);
    tl_lock_take(&u->lock);
    u->outlook = outlook; /* another thread's may be lost, which costs a look */
    tl_lock_give(&u->lock);
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
static void maintain(tl_lake *lake, tl_pool *pool, tl_append_workspace *workspace, tl_table *table) {
    tl_table *now = tl_table_retain(table);
    mend_index(pool, &now);
    drop_old(&now);
    compact(lake, pool, workspace, &now);
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

/* ---- in which thread ---- */

static void maintain_here(tl_lake *lake, tl_table *table) {
    tl_pool *pool = tl_lake_pool_take(lake);
    maintain(lake, pool, NULL, table);
    tl_lake_pool_give(lake, pool);
}

#ifdef TL_NO_THREADS

void tl_upkeep_init(tl_upkeep *u) {
    tl_lock_init(&u->lock);
}

void tl_upkeep_free(tl_upkeep *u) {
    tl_lock_free(&u->lock);
}

void tl_upkeep_wait(tl_upkeep *u) {
    (void)u;
}

static bool maintain_beside(tl_lake *lake, tl_table *table) {
    (void)lake;
    (void)table;
    return false;
}

#else

void tl_upkeep_init(tl_upkeep *u) {
    tl_lock_init(&u->lock);
    (void)pthread_cond_init(&u->idle, NULL);
}

void tl_upkeep_free(tl_upkeep *u) {
    tl_upkeep_wait(u);
    tl_append_workspace_free(u->workspace);
    (void)pthread_cond_destroy(&u->idle);
    tl_lock_free(&u->lock);
}

/* The thread that ended its work; the lock is held. */
static void join(tl_upkeep *u) {
    if (u->started) {
        (void)pthread_join(u->thread, NULL);
        u->started = false;
    }
}

void tl_upkeep_wait(tl_upkeep *u) {
    tl_lock_take(&u->lock);
    while (u->busy) {
        (void)pthread_cond_wait(&u->idle, &u->lock);
    }
    join(u);
    tl_lock_give(&u->lock);
}

/* The lake's threads are left to the appends: this is a thread more. */
static void *thread_main(void *arg) {
    tl_lake *lake = arg;
    tl_upkeep *u = &lake->upkeep;
    tl_lock_take(&u->lock);
    while (u->waiting) {
        tl_table *table = u->waiting;
        u->waiting = NULL;
        tl_lock_give(&u->lock);
        u->workspace = u->workspace ? u->workspace : tl_append_workspace_create();
        maintain(lake, NULL, u->workspace, table);
        tl_table_release(table);
        tl_lock_take(&u->lock);
    }
    u->busy = false;
    (void)pthread_cond_broadcast(&u->idle);
    tl_lock_give(&u->lock);
    return NULL;
}

/* False: no thread could be had, or it has a job of another table waiting. */
static bool maintain_beside(tl_lake *lake, tl_table *table) {
    tl_upkeep *u = &lake->upkeep;
    tl_table *old = NULL;
    tl_lock_take(&u->lock);
    bool taken = !u->waiting || strcmp(u->waiting->name, table->name) == 0;
    if (taken) {
        old = u->waiting;
        u->waiting = tl_table_retain(table);
    }
    if (taken && !u->busy) {
        join(u);
        u->busy = u->started = pthread_create(&u->thread, NULL, thread_main, lake) == 0;
        if (!u->busy) {
            old = u->waiting;
            u->waiting = NULL;
            taken = false;
        }
    }
    tl_lock_give(&u->lock);
    tl_table_release(old);
    return taken;
}

#endif

void tl_upkeep_run(tl_lake *lake, tl_table *table, bool beside) {
    if (tl_setting_bool(&table->metadata, "auto-maintain") && !(beside && maintain_beside(lake, table))) {
        maintain_here(lake, table);
    }
}
