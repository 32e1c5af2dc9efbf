/* Commits that change only metadata: properties, rollback, expiry. */
#include <string.h>

#include "base/mem.h"
#include "commit/batch_ids.h"
#include "commit/commit_internal.h"
#include "table/policy.h"
#include "table/settings.h"

/* One change on top of whatever version is the newest. */
typedef struct change {
    const tl_property *properties;
    int32_t n_properties;
    int64_t snapshot_id; /* to roll back to; -1 = no rollback */
    const int64_t *expired;
    int32_t n_expired;
} change;

/* Batch ids of snapshots that are abandoned by this may be used again. */
static tl_status roll_back(int64_t snapshot_id, tl_next *next, tl_error *err) {
    tl_metadata *m = &next->metadata;
    TL_TRY(tl_metadata_set_current(m, snapshot_id, next->now_ms, err));
    if (!tl_metadata_property(m, TL_BATCH_IDS_PROPERTY)) {
        return TL_OK;
    }
    tl_batch_ids ids;
    TL_TRY(tl_batch_ids_read(m, &ids, err));
    tl_status status = tl_batch_ids_store(&ids, tl_setting_int(m, "keep-batch-ids"), m, err);
    tl_batch_ids_free(&ids);
    return status;
}

/* Current, or named by a branch or tag: such a snapshot stays. */
static bool is_named(const tl_metadata *m, int64_t id) {
    bool named = m->current_snapshot_id == id;
    for (int32_t i = 0; i < m->n_refs && !named; i++) {
        named = m->refs[i].snapshot_id == id;
    }
    return named;
}

/* Batch ids go into the property first: those of programs that do not write it are only in their snapshots so far. */
static tl_status keep_batch_ids(tl_metadata *m, tl_error *err) {
    tl_batch_ids ids;
    TL_TRY(tl_batch_ids_read(m, &ids, err));
    tl_status status = tl_batch_ids_store(&ids, tl_setting_int(m, "keep-batch-ids"), m, err);
    tl_batch_ids_free(&ids);
    return status;
}

static tl_status expire(const change *c, tl_metadata *m, tl_error *err) {
    int64_t *ids = tl_alloc_array((size_t)c->n_expired, sizeof *ids);
    if (!ids) {
        return tl_fail_memory(err, (size_t)c->n_expired * sizeof *ids);
    }
    int32_t n = 0;
    for (int32_t i = 0; i < c->n_expired; i++) {
        if (tl_metadata_snapshot(m, c->expired[i]) && !is_named(m, c->expired[i])) {
            ids[n++] = c->expired[i];
        }
    }
    tl_status status = keep_batch_ids(m, err);
    status = status == TL_OK ? tl_metadata_remove_snapshots(m, ids, n, err) : status;
    tl_free(ids);
    return status;
}

tl_status tl_commit_set_properties(tl_metadata *m, const tl_property *changes, int32_t n, tl_error *err) {
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(tl_metadata_set_property(m, changes[i].key, changes[i].value, err));
    }
    TL_TRY(tl_policy_check(m, err));
    int32_t version = tl_policy_iceberg_version(m);
    if (version > m->format_version) {
        TL_TRY(tl_metadata_upgrade(m, version, err));
    }
    bool upsert = strcmp(tl_setting_text(m, "write-policy"), "upsert") == 0;
    return upsert ? tl_metadata_set_property(m, "timelake.format-version", TL_FORMAT_UPSERT, err) : TL_OK;
}

static tl_status apply(const change *c, tl_next *next, tl_error *err) {
    if (c->n_expired) {
        return expire(c, &next->metadata, err);
    }
    if (c->snapshot_id >= 0) {
        return roll_back(c->snapshot_id, next, err);
    }
    return tl_commit_set_properties(&next->metadata, c->properties, c->n_properties, err);
}

/* Is there anything to do? */
static bool in_force(const change *c, const tl_metadata *m) {
    if (c->n_expired) {
        bool any = false;
        for (int32_t i = 0; i < c->n_expired && !any; i++) {
            any = tl_metadata_snapshot(m, c->expired[i]) && !is_named(m, c->expired[i]);
        }
        return !any;
    }
    if (c->snapshot_id >= 0) {
        return m->current_snapshot_id == c->snapshot_id;
    }
    for (int32_t i = 0; i < c->n_properties; i++) {
        const char *is = tl_metadata_property(m, c->properties[i].key), *want = c->properties[i].value;
        if ((is == NULL) != (want == NULL) || (is && strcmp(is, want) != 0)) {
            return false;
        }
    }
    return true;
}

/* TL_EXISTS = lost a race. */
static tl_status attempt(const change *c, tl_table **t, tl_table **out, tl_error *err) {
    tl_table *newest;
    TL_TRY(tl_table_refresh(*t, &newest, err));
    if (newest != *t) {
        newest->head_us = (*t)->head_us;
    }
    tl_table_release(*t);
    *t = newest;
    TL_TRY(tl_table_writable(newest, err));
    if (c->snapshot_id >= 0 && !tl_metadata_snapshot(&newest->metadata, c->snapshot_id)) {
        return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot %lld (any more)", newest->name,
                       (long long)c->snapshot_id);
    }
    if (in_force(c, &newest->metadata)) {
        *out = tl_table_retain(newest);
        return TL_OK;
    }
    tl_next next;
    TL_TRY(tl_commit_next(newest, &next, err));
    tl_status status = apply(c, &next, err);
    if (status != TL_OK) {
        tl_metadata_free(&next.metadata);
        return status;
    }
    return tl_commit_put_version(newest, &next, -1, false, out, err);
}

/* Until it wins: a change of settings is small and rare, and never conflicts with anything (spec a.2). */
static tl_status commit_change(tl_table *base, const change *c, tl_table **out, tl_error *err) {
    const tl_env *env = base->store->env;
    tl_table *t = tl_table_retain(base);
    tl_status status;
    *out = NULL;
    for (int32_t n = 1;; n++) {
        int64_t begin = tl_env_monotonic_us(env);
        status = attempt(c, &t, out, err);
        if (status != TL_EXISTS) {
            break;
        }
        if (n >= 1000) {
            status = tl_fail(err, TL_CONFLICT,
                             "table %s: gave up after %d attempts: other writers were faster each time", base->name, n);
            break;
        }
        tl_commit_back_off(env, n, tl_env_monotonic_us(env) - begin);
    }
    tl_table_release(t);
    if (status == TL_OK) {
        tl_commit_publish(*out);
    }
    return status;
}

tl_status tl_commit_properties(tl_table *base, const tl_property *changes, int32_t n, tl_table **out, tl_error *err) {
    change c = {.properties = changes, .n_properties = n, .snapshot_id = -1};
    return commit_change(base, &c, out, err);
}

tl_status tl_commit_rollback(tl_table *base, int64_t snapshot_id, tl_table **out, tl_error *err) {
    if (snapshot_id < 0) {
        *out = NULL;
        return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot %lld", base->name, (long long)snapshot_id);
    }
    change c = {.snapshot_id = snapshot_id};
    return commit_change(base, &c, out, err);
}

tl_status tl_commit_expire(tl_table *base, const int64_t *ids, int32_t n, tl_table **out, tl_error *err) {
    if (n == 0) {
        *out = tl_table_retain(base);
        return TL_OK;
    }
    change c = {.snapshot_id = -1, .expired = ids, .n_expired = n};
    return commit_change(base, &c, out, err);
}
