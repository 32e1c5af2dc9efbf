/*
 * The next version of a table, and the put that decides.
 *
 * Three outcomes. The put of v<N+1> says "ours", "another's" or nothing (the reply was lost). In the last case the very
 * same bytes are put again until the place is taken, and then read back: a late first put can only find its own bytes
 * or another's version there, so nothing that is decided here can be undone by it. Going on to v<N+2> before the place
 * is taken would be wrong.
 *
 * Dead places. Old versions are cleaned away; a writer that was asleep for long may put v<N+1> where v<N+1> was once
 * and is gone. Cleaning goes from the oldest up, so then v<N> is gone too: if it is there after the put, the place was
 * alive.
 */
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "commit/commit_internal.h"
#include "table/settings.h"

enum { SETTLE_ATTEMPTS = 12 };

tl_status tl_commit_next(const tl_table *base, tl_next *out, tl_error *err) {
    const tl_metadata *m = &base->metadata;
    out->metadata = (tl_metadata){0};
    int64_t now = tl_env_now_us(base->store->env) / 1000;
    out->now_ms =
        now > m->last_updated_ms ? now : m->last_updated_ms; /* readers refuse a history that goes backwards */
    const char *keep_text = tl_metadata_property(m, "write.metadata.previous-versions-max");
    int64_t keep;
    if (!keep_text || tl_parse_i64(tl_bytes_of(keep_text), &keep) != TL_PARSE_OK || keep < 1 || keep > 1000000) {
        keep = 100; /* Iceberg's default */
    }
    char *file = tl_store_uri(base->store, base->metadata_key);
    tl_status status = file ? tl_metadata_copy(m, &out->metadata, err) : tl_fail_memory(err, 256);
    if (status == TL_OK) {
        status = tl_metadata_log_previous(&out->metadata, file, m->last_updated_ms, (int32_t)keep, err);
        out->metadata.last_updated_ms = out->now_ms;
    }
    tl_free(file);
    if (status != TL_OK) {
        tl_metadata_free(&out->metadata);
    }
    return status;
}

void tl_commit_back_off(const tl_env *env, int32_t attempt, int64_t attempt_us) {
    int64_t scale = attempt_us < 1000 ? 1000 : attempt_us > 2000000 ? 2000000 : attempt_us;
    int64_t most = scale * (attempt < 10 ? attempt : 10);
    env->sleep_us(env->ctx, 500 + (int64_t)tl_env_random_below(env, (uint64_t)most));
}

int32_t tl_commit_attempts(const tl_table *t, int32_t option) {
    int64_t n = option > 0 ? option : tl_setting_int(&t->metadata, "commit-attempts");
    return n > 1000000 ? 1000000 : (int32_t)n;
}

int64_t tl_commit_new_snapshot_id(const tl_table *t) {
    int64_t id;
    do {
        id = (int64_t)(tl_env_random_u64(t->store->env) >> 1);
    } while (id == 0 || id == INT64_MAX || tl_metadata_snapshot(&t->metadata, id));
    return id;
}

/* Is `snapshot_id` in the newest version's history? Metadata of a later version that has it proves the commit. */
static tl_status look_in_history(tl_table *base, int64_t snapshot_id, bool *found, int64_t *newest, tl_error *err) {
    char ns[256], name[256];
    tl_table *now;
    *found = false;
    TL_TRY(tl_table_name_parse(base->name, "default", ns, name, err));
    TL_TRY(tl_table_load(base->store, ns, name, &now, err));
    *found = snapshot_id >= 0 && tl_metadata_snapshot(&now->metadata, snapshot_id);
    *newest = now->version;
    tl_table_release(now);
    return TL_OK;
}

/* Bytes at the place: ours (TL_OK), another's (TL_EXISTS), none (TL_NOT_FOUND), or an error. */
static tl_status compare(tl_store *store, const char *key, tl_bytes ours, tl_error *err) {
    tl_buf there = {0};
    tl_status status = tl_store_get(store, key, &there, err);
    if (status == TL_OK && !tl_bytes_equal(tl_buf_bytes(&there), ours)) {
        status = TL_EXISTS;
    }
    tl_buf_free(&there);
    return status;
}

/* After a lost reply. TL_UNKNOWN only when the store does not answer to the end; `*there` then says that the version is
 * seen, but not known to be on the disk. */
static tl_status settle(tl_table *base, const char *key, tl_bytes json, bool no_sync, bool *there, tl_error *err) {
    tl_store *store = base->store;
    tl_put_mode mode = no_sync ? TL_PUT_LATER : TL_PUT_SYNC;
    *there = false;
    for (int attempt = 1; attempt <= SETTLE_ATTEMPTS; attempt++) {
        tl_status status = compare(store, key, json, NULL);
        *there = status == TL_OK;
        if (status == TL_OK && !no_sync) {
            /* Whether the lost put got as far as the disk is not known: make sure. */
            status = tl_store_sync(store, (const char *const[]){key}, 1, NULL);
            status = status == TL_OK ? TL_OK : TL_UNKNOWN;
        } else if (status == TL_NOT_FOUND) {
            status = tl_store_exists(store, base->metadata_key) ? tl_store_put_if_absent(store, key, json, mode, NULL)
                                                                : TL_UNKNOWN;
            status = status == TL_OK ? TL_OK : TL_UNKNOWN; /* "exists" is looked into by the next turn */
        }
        if (status == TL_OK || status == TL_EXISTS) {
            return status == TL_OK ? TL_OK : tl_fail(err, TL_EXISTS, "%s: another writer's version", key);
        }
        tl_commit_back_off(store->env, attempt, 2000);
    }
    return tl_fail(err, TL_UNKNOWN,
                   "table %s: the store does not say whether version %lld was written; repeat with the same batch id",
                   base->name, (long long)base->version + 1);
}

static void take_back(tl_table *base, const char *key, tl_bytes json) {
    if (compare(base->store, key, json, NULL) == TL_OK) {
        (void)!tl_store_remove(base->store, key, NULL);
    }
}

/* A put that is ours: was the place alive? TL_EXISTS = no, the version is not part of the table; TL_NOT_FOUND = the
 * table was dropped meanwhile. Clean-ups never take the version before the newest, so its absence means one of these.
 */
static tl_status check_alive(tl_table *base, const char *key, tl_bytes json, int64_t snapshot_id, tl_error *err) {
    uint64_t size;
    bool found;
    int64_t newest = 0;
    tl_status status = TL_IO;
    for (int attempt = 1; status != TL_OK && status != TL_NOT_FOUND && attempt <= SETTLE_ATTEMPTS; attempt++) {
        if (attempt > 1) {
            tl_commit_back_off(base->store->env, attempt, 2000);
        }
        status = tl_store_size(base->store, base->metadata_key, &size, NULL);
    }
    if (status != TL_NOT_FOUND) { /* a store that does not answer says nothing against the put */
        return TL_OK;
    }
    status = look_in_history(base, snapshot_id, &found, &newest, NULL);
    if (status == TL_OK && found && newest > base->version + 1) {
        return TL_OK;
    }
    if (status == TL_NOT_FOUND || (status == TL_OK && newest == base->version + 1)) {
        take_back(base, key, json);
        return tl_fail(err, TL_NOT_FOUND, "table %s was dropped meanwhile; nothing was committed", base->name);
    }
    if (status != TL_OK) {
        return tl_fail(
            err, TL_UNKNOWN,
            "table %s: version %lld was written, but the table cannot be read back; repeat with the same batch id",
            base->name, (long long)base->version + 1);
    }
    take_back(base, key, json);
    return tl_fail(err, TL_EXISTS, "%s: the table is at version %lld already", key, (long long)newest);
}

/* What the version names and the disk may not have yet. */
typedef struct unsynced {
    const char *const *keys;
    size_t n;
} unsynced;

static tl_status put_and_settle(tl_table *base, const char *key, tl_bytes json, int64_t snapshot_id, bool no_sync,
                                const unsynced *before, tl_error *err) {
    tl_status status = no_sync ? tl_store_put_if_absent(base->store, key, json, TL_PUT_LATER, err)
                               : tl_store_put_after(base->store, key, json, before->keys, before->n, err);
    if (status == TL_UNKNOWN) {
        bool found = false, there;
        int64_t newest;
        status = settle(base, key, json, no_sync, &there, err);
        if (status == TL_UNKNOWN && !there && snapshot_id >= 0 &&
            look_in_history(base, snapshot_id, &found, &newest, NULL) == TL_OK && found) {
            return TL_OK; /* it was there, and later versions stand on it */
        }
    }
    return status == TL_OK ? check_alive(base, key, json, snapshot_id, err) : status;
}

static tl_status put_version(tl_table *base, tl_next *next, int64_t snapshot_id, bool no_sync, const unsynced *before,
                             tl_table **out, tl_error *err) {
    *out = NULL;
    char ns[256], name[256];
    tl_buf json = {0};
    char *key = tl_format("%s/metadata/v%lld.metadata.json", base->prefix, (long long)base->version + 1);
    tl_status status = key ? tl_table_name_parse(base->name, "default", ns, name, err) : tl_fail_memory(err, 256);
    if (status == TL_OK) {
        status = tl_metadata_write(&next->metadata, &json, err);
    }
    tl_table *t = NULL;
    if (status == TL_OK) { /* made before the put: after it nothing may fail any more */
        status = tl_table_of(base->store, ns, name, base->version + 1, key, &next->metadata, &t, err);
    }
    if (status == TL_OK) {
        status = put_and_settle(base, key, tl_buf_bytes(&json), snapshot_id, no_sync, before, err);
    }
    if (status == TL_OK) {
        t->head_us = base->head_us;
        *out = t;
    } else {
        tl_table_release(t);
    }
    tl_metadata_free(&next->metadata);
    tl_buf_free(&json);
    tl_free(key);
    return status;
}

tl_status tl_commit_put_version(tl_table *base, tl_next *next, int64_t snapshot_id, bool no_sync, tl_table **out,
                                tl_error *err) {
    return put_version(base, next, snapshot_id, no_sync, &(unsynced){0}, out, err);
}

tl_status tl_commit_put_version_after(tl_table *base, tl_next *next, int64_t snapshot_id, const char *const *keys,
                                      size_t n, tl_table **out, tl_error *err) {
    return put_version(base, next, snapshot_id, false, &(unsynced){keys, n}, out, err);
}
