/* Maintenance of a table, step by step; see maintain.h. */
#include "maintain/maintain.h"

#include <string.h>

#include "commit/commit.h"
#include "maintain/compact.h"
#include "maintain/compact_internal.h"
#include "maintain/expire.h"
#include "maintain/heat.h"
#include "maintain/orphans.h"
#include "maintain/retention.h"
#include "table/last_index.h"

typedef struct maintaining {
    tl_table **table;
    const tl_maintain_params *p;
    tl_pool *pool;
    tl_maintain_result *r;
    int64_t begin_us;
} maintaining;

static void replace_table(tl_table **table, tl_table *newer) {
    if (newer) {
        tl_table_release(*table);
        *table = newer;
    }
}

static void tell(const maintaining *m, const char *step, int64_t done, int64_t all) {
    if (m->p->progress) {
        m->p->progress(m->p->ctx, step, done, all);
    }
}

/* ---- retention ---- */

static tl_status drop_old(maintaining *m, tl_error *err) {
    tl_retention_result dropped;
    tl_table *newer = NULL;
    tell(m, "retention", 0, 1);
    tl_status status = tl_retention_apply(*m->table, m->p->dry_run, &dropped, &newer, err);
    replace_table(m->table, newer);
    m->r->partitions_dropped = dropped.partitions;
    m->r->files_dropped = dropped.files;
    m->r->rows_dropped = dropped.rows;
    return status;
}

/* ---- index ---- */

tl_status tl_mend_index(tl_table **table, tl_pool *pool, bool *made, tl_error *err) {
    tl_index_layers layers = {0};
    const tl_snapshot *current = tl_metadata_current(&(*table)->metadata);
    *made = false;
    if ((*table)->contract.time < 0 || (*table)->contract.foreign || !current) {
        return TL_OK;
    }
    tl_status status = tl_index_layers_find(*table, current, &layers, NULL);
    tl_rows newest = {0};
    if (status == TL_OK) { /* named: is it there? */
        status = tl_last_values_load(*table, current, &newest, NULL);
        tl_rows_free(&newest);
    }
    tl_index_layers_free(&layers);
    if (status != TL_NOT_FOUND) {
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
    }
    tl_table *newer = NULL;
    TL_TRY(tl_latest_by_scan(*table, pool, &newest, err));
    if (newest.n_rows > 0) {
        status = tl_commit_last_values(*table, &newest, &newer, err);
        *made = status == TL_OK;
        replace_table(table, newer);
    }
    tl_rows_free(&newest);
    return status == TL_CONFLICT || status == TL_NOT_FOUND ? TL_OK : status; /* the next append or run does it */
}

/* ---- compaction ---- */

static void compact_progress(void *arg, int64_t done, int64_t all) {
    tell(arg, "compact", done, all);
}

/* What compaction would do. */
static tl_status count_work(maintaining *m, const tl_compact_options *options, tl_error *err) {
    tl_plan *plan = NULL;
    tl_compact_work work = {0};
    TL_TRY(tl_plan_create(*m->table, &(tl_plan_options){.keep_copies = true, .pool = m->pool}, &plan, err));
    tl_status status = tl_compact_choose(plan, options, &work, err);
    for (int64_t i = 0; status == TL_OK && i < work.n; i++) {
        bool known = false;
        for (int64_t k = 0; k < i && !known; k++) {
            known = work.units[k].partition == work.units[i].partition;
        }
        m->r->partitions_compacted += !known;
        m->r->files_rewritten += work.units[i].n;
        m->r->bytes_rewritten += work.units[i].bytes;
    }
    tl_compact_work_free(&work);
    tl_plan_release(plan);
    return status;
}

static tl_status compact_with(maintaining *m, const tl_heat *heat, tl_error *err) {
    const tl_env *env = (*m->table)->store->env;
    tl_compact_options options = {.memory_limit = m->p->memory_limit,
                                  .pool = m->pool,
                                  .now_us = tl_env_now_us(env),
                                  .budget_us = m->p->budget_us,
                                  .budget_bytes = m->p->budget_bytes,
                                  .progress = compact_progress,
                                  .progress_arg = m,
                                  .heat = heat->n ? heat->values : NULL,
                                  .heat_partitions = heat->partitions,
                                  .n_heat = heat->n};
    if (m->p->budget_us > 0) {
        int64_t left = m->p->budget_us - (tl_env_monotonic_us(env) - m->begin_us);
        options.budget_us = left > 0 ? left : 1;
    }
    if (m->p->dry_run) {
        return count_work(m, &options, err);
    }
    tl_compact_result did = {0};
    tl_table *newer = NULL;
    tl_status status = tl_compact(*m->table, &options, &did, &newer, err);
    replace_table(m->table, newer);
    m->r->partitions_compacted = did.partitions;
    m->r->partitions_left = did.partitions_left;
    m->r->files_rewritten = did.files_in;
    m->r->files_written = did.files_out;
    m->r->rows_rewritten = did.rows_in;
    m->r->duplicates_removed = did.rows_in - did.rows_out;
    m->r->bytes_rewritten = did.bytes_in;
    m->r->bytes_written = did.bytes_out;
    return status;
}

static tl_status compact(maintaining *m, tl_error *err) {
    tl_heat heat;
    tl_table *t = *m->table;
    tell(m, "compact", 0, 1);
    TL_TRY(tl_heat_load(t->store, t->prefix, tl_env_now_us(t->store->env), &heat, err));
    tl_status status = compact_with(m, &heat, err);
    tl_heat_free(&heat);
    return status;
}

/* ---- expiry, orphans ---- */

static tl_status expire(maintaining *m, tl_error *err) {
    tell(m, "expire", 0, 1);
    if (m->p->dry_run) {
        return tl_expire_count(*m->table, &m->r->snapshots_expired, err);
    }
    tl_expire_result did;
    tl_table *newer = NULL;
    tl_status status = tl_expire(*m->table, &did, &newer, err);
    replace_table(m->table, newer);
    m->r->snapshots_expired = did.snapshots;
    m->r->objects_deleted += did.objects;
    return status;
}

static tl_status remove_orphans(maintaining *m, tl_error *err) {
    tl_orphans orphans;
    int64_t grace = m->p->grace_us == 0 ? TL_ORPHAN_GRACE_US : m->p->grace_us < 0 ? 0 : m->p->grace_us, removed = 0;
    tell(m, "orphans", 0, 1);
    TL_TRY(tl_orphans_find(m->table, grace, true, &orphans, err));
    m->r->orphans = (int64_t)orphans.n;
    m->r->orphan_bytes = orphans.bytes;
    for (size_t i = 0; i < orphans.n && m->p->orphan; i++) {
        m->p->orphan(m->p->ctx, orphans.items[i].key, (int64_t)orphans.items[i].size);
    }
    tl_status status = TL_OK;
    if (!m->p->dry_run) {
        status = tl_orphans_remove(*m->table, &orphans, &removed, err);
        m->r->objects_deleted += removed;
        tl_store_prune((*m->table)->store, (*m->table)->prefix, grace);
    }
    tl_orphans_free(&orphans);
    return status;
}

/* ---- manifests ---- */

/* Of the current snapshot. */
static tl_status count_manifests(const maintaining *m, int64_t *n, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&(*m->table)->metadata);
    tl_arena arena = {0};
    tl_manifest_file *files;
    *n = 0;
    tl_status status = current ? tl_table_manifests(*m->table, current, &arena, &files, n, err) : TL_OK;
    tl_arena_free(&arena);
    return status;
}

/* ---- all ---- */

/* A table that we may not write is still looked at in a dry run. */
static tl_status steps(maintaining *m, tl_error *err) {
    const tl_maintain_params *p = m->p;
    bool made;
    if (!p->dry_run) {
        TL_TRY(tl_table_writable(*m->table, err));
    }
    TL_TRY(count_manifests(m, &m->r->manifests_before, err));
    if (!p->no_retention) {
        TL_TRY(drop_old(m, err));
    }
    if (!p->no_compact) {
        TL_TRY(compact(m, err));
    }
    if (!p->dry_run) {
        tell(m, "index", 0, 1);
        TL_TRY(tl_mend_index(m->table, m->pool, &made, err));
    }
    if (!p->no_expire) {
        TL_TRY(expire(m, err));
    }
    TL_TRY(count_manifests(m, &m->r->manifests_after, err));
    return p->orphans ? remove_orphans(m, err) : TL_OK;
}

tl_status tl_maintain_table(tl_table **table, const tl_maintain_params *params, tl_pool *pool,
                            tl_maintain_result *result, tl_error *err) {
    const tl_env *env = (*table)->store->env;
    *result = (tl_maintain_result){0};
    maintaining m = {table, params, pool, result, tl_env_monotonic_us(env)};
    tl_status status = steps(&m, err);
    result->version = (*table)->version;
    result->total_us = tl_env_monotonic_us(env) - m.begin_us;
    return status;
}
