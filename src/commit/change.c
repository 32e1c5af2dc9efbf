/* Commits that change only metadata: properties and rollback. */
#include <string.h>

#include "base/mem.h"
#include "commit/batch_ids.h"
#include "commit/commit_internal.h"
#include "table/settings.h"

/* One change on top of whatever version is the newest. */
typedef struct change {
    const tl_property *properties;
    int32_t n_properties;
    int64_t snapshot_id; /* to roll back to; -1 = no rollback */
} change;

/* Sequence number of the snapshot; it is there. */
static tl_status roll_back(const tl_table *t, int64_t snapshot_id, tl_next *next, tl_error *err) {
    tl_metadata *m = &next->metadata;
    TL_TRY(tl_metadata_set_current(m, snapshot_id, next->now_ms, err));
    if (!tl_metadata_property(m, TL_BATCH_IDS_PROPERTY)) {
        return TL_OK;
    }
    tl_batch_ids ids;
    TL_TRY(tl_batch_ids_read(&t->metadata, &ids, err));
    const tl_snapshot *s = tl_metadata_snapshot(m, snapshot_id);
    tl_batch_ids_cut(&ids, s->sequence_number);
    tl_status status = tl_batch_ids_store(&ids, tl_setting_int(m, "keep-batch-ids"), m, err);
    tl_batch_ids_free(&ids);
    return status;
}

static tl_status apply(const change *c, const tl_table *t, tl_next *next, tl_error *err) {
    if (c->snapshot_id >= 0) {
        return roll_back(t, c->snapshot_id, next, err);
    }
    for (int32_t i = 0; i < c->n_properties; i++) {
        TL_TRY(tl_metadata_set_property(&next->metadata, c->properties[i].key, c->properties[i].value, err));
    }
    return TL_OK;
}

/* Is there anything to do? */
static bool in_force(const change *c, const tl_metadata *m) {
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
        return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot %lld (any more)", newest->name, (long long)c->snapshot_id);
    }
    if (in_force(c, &newest->metadata)) {
        *out = tl_table_retain(newest);
        return TL_OK;
    }
    tl_next next;
    TL_TRY(tl_commit_next(newest, &next, err));
    tl_status status = apply(c, newest, &next, err);
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
            status = tl_fail(err, TL_CONFLICT, "table %s: gave up after %d attempts: other writers were faster each time", base->name, n);
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
    change c = {changes, n, -1};
    return commit_change(base, &c, out, err);
}

tl_status tl_commit_rollback(tl_table *base, int64_t snapshot_id, tl_table **out, tl_error *err) {
    if (snapshot_id < 0) {
        *out = NULL;
        return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot %lld", base->name, (long long)snapshot_id);
    }
    change c = {NULL, 0, snapshot_id};
    return commit_change(base, &c, out, err);
}
