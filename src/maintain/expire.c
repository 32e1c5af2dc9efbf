/* Snapshot expiry: which snapshots go, and what nobody refers to afterwards. */
#include "maintain/expire.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "commit/commit.h"
#include "maintain/references.h"
#include "table/settings.h"

enum { SLACK = 20, ATTEMPTS = 20 };

/* ---- which snapshots ---- */

static int newest_first(const void *a, const void *b) {
    const tl_snapshot *const *x = a, *const *y = b;
    if ((*x)->sequence_number != (*y)->sequence_number) {
        return (*x)->sequence_number > (*y)->sequence_number ? -1 : 1;
    }
    return (*x)->timestamp_ms > (*y)->timestamp_ms ? -1 : (*x)->timestamp_ms < (*y)->timestamp_ms;
}

static int64_t oldest_ms(const tl_metadata *m) {
    int64_t oldest = INT64_MAX;
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        oldest = m->snapshots[i].timestamp_ms < oldest ? m->snapshots[i].timestamp_ms : oldest;
    }
    return oldest;
}

/* Snapshots older than this time are past their retention; INT64_MIN = none ever is. */
static int64_t retained_since(const tl_metadata *m, int64_t now_ms) {
    int64_t us = tl_setting_duration_us(m, "snapshot-retention"), since;
    return us >= 0 && tl_i64_add(now_ms, -(us / 1000), &since) ? since : INT64_MIN;
}

bool tl_expire_is_due(const tl_table *t, int64_t now_ms) {
    const tl_metadata *m = &t->metadata;
    if (now_ms < tl_setting_int(m, "keep-snapshots-until")) {
        return false;
    }
    return m->n_snapshots >= tl_setting_int(m, "max-snapshots") + SLACK ||
           (m->n_snapshots >= tl_setting_int(m, "min-snapshots") + SLACK && oldest_ms(m) < retained_since(m, now_ms));
}

/* Branches need their ancestors, tags the snapshot. The current one and `main` are counted, not walked. */
static void mark_named(const tl_metadata *m, bool *kept) {
    for (int32_t i = 0; i < m->n_refs; i++) {
        bool walk = strcmp(m->refs[i].name, "main") != 0 && strcmp(m->refs[i].type, "branch") == 0;
        const tl_snapshot *s = tl_metadata_snapshot(m, m->refs[i].snapshot_id);
        for (int32_t steps = 0; s && steps <= m->n_snapshots; steps++) {
            kept[s - m->snapshots] = true;
            s = walk && s->parent_id >= 0 ? tl_metadata_snapshot(m, s->parent_id) : NULL;
        }
    }
    const tl_snapshot *current = tl_metadata_current(m);
    if (current) {
        kept[current - m->snapshots] = true;
    }
}

static tl_status choose(const tl_metadata *m, int64_t now_ms, int64_t **ids, int32_t *n, tl_error *err) {
    size_t all = (size_t)m->n_snapshots;
    const tl_snapshot **sorted = tl_alloc_array(all, sizeof *sorted);
    bool *kept = tl_calloc(all, sizeof *kept);
    *ids = tl_alloc_array(all, sizeof **ids);
    *n = 0;
    tl_status status = sorted && kept && *ids ? TL_OK : tl_fail_memory(err, all * sizeof **ids);
    if (status == TL_OK && now_ms >= tl_setting_int(m, "keep-snapshots-until")) {
        mark_named(m, kept);
        for (size_t i = 0; i < all; i++) {
            sorted[i] = &m->snapshots[i];
        }
        qsort((void *)sorted, all, sizeof *sorted, newest_first);
        int64_t least = tl_setting_int(m, "min-snapshots"), most = tl_setting_int(m, "max-snapshots");
        int64_t since = retained_since(m, now_ms);
        for (int64_t i = least; i < (int64_t)all; i++) {
            const tl_snapshot *s = sorted[i];
            if (!kept[s - m->snapshots] && (i >= most || s->timestamp_ms < since)) {
                (*ids)[(*n)++] = s->snapshot_id;
            }
        }
    }
    tl_free((void *)sorted);
    tl_free(kept);
    return status;
}

/* ---- data files ---- */

/* Only appends in one line of history: then every file of an expired snapshot is live in the kept ones, and no manifest
 * has to be opened. That is what keeps the expiry of an append-only table cheap. */
static bool only_appends(const tl_metadata *m) {
    const tl_snapshot *s = tl_metadata_current(m);
    int32_t line = 0;
    for (int32_t steps = 0; s && steps <= m->n_snapshots; steps++, line++) {
        s = s->parent_id >= 0 ? tl_metadata_snapshot(m, s->parent_id) : NULL;
    }
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        const char *operation = tl_snapshot_summary(&m->snapshots[i], "operation");
        const char *removed = tl_snapshot_summary(&m->snapshots[i], "deleted-data-files");
        if (!operation || strcmp(operation, "append") != 0 || removed) {
            return false;
        }
    }
    return line == m->n_snapshots;
}

static tl_status dead_files(tl_table *t, const tl_references *expired, const tl_references *kept, tl_key_set *out,
                            tl_error *err) {
    tl_key_set live = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < expired->manifests.n && status == TL_OK; i++) {
        if (!tl_key_set_has(&kept->manifests, expired->manifests.items[i])) {
            status = tl_references_files(t, expired->manifests.items[i], false, out, NULL, err);
            status = status == TL_NOT_FOUND ? TL_OK : status; /* another expiry was faster */
        }
    }
    for (size_t i = 0; i < kept->manifests.n && out->n && status == TL_OK; i++) {
        status = tl_references_files(t, kept->manifests.items[i], true, &live, NULL, err);
    }
    tl_key_set_seal(out);
    tl_key_set_seal(&live);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        if (!tl_key_set_has(&live, out->items[i])) {
            out->items[n++] = out->items[i];
        }
    }
    out->n = n;
    tl_key_set_free(&live);
    return status;
}

/* ---- deleting ---- */

/* Keys of objects that go. Best effort: what does not find room here becomes an orphan. */
typedef struct doomed {
    const char **keys;
    size_t n, cap;
} doomed;

static void doom(doomed *d, const char *key) {
    if (d->n == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 256;
        const char **keys = tl_realloc_array((void *)d->keys, cap, sizeof *keys);
        if (!keys) {
            return;
        }
        d->keys = keys;
        d->cap = cap;
    }
    d->keys[d->n++] = key;
}

static void doom_all(doomed *d, const tl_key_set *keys, const tl_key_set *but) {
    for (size_t i = 0; i < keys->n; i++) {
        if (!but || !tl_key_set_has(but, keys->items[i])) {
            doom(d, keys->items[i]);
        }
    }
}

/* What cannot be removed is passed over. */
static void remove_doomed(tl_table *t, doomed *d, int64_t *removed) {
    for (size_t from = 0; from < d->n;) {
        size_t gone = tl_store_remove_all(t->store, d->keys + from, d->n - from);
        *removed += (int64_t)gone;
        from += gone + 1;
    }
    tl_free((void *)d->keys);
    *d = (doomed){0};
}

typedef struct versions {
    int64_t below;
    int64_t *items;
    size_t n, cap;
} versions;

static tl_status note_version(void *ctx, const tl_object_info *object, tl_error *err) {
    versions *v = ctx;
    const char *name = strrchr(object->key, '/');
    name = name ? name + 1 : object->key;
    size_t digits = name[0] == 'v' ? strspn(name + 1, "0123456789") : 0;
    int64_t version;
    if (digits == 0 || strcmp(name + 1 + digits, ".metadata.json") != 0 ||
        tl_parse_i64((tl_bytes){(const uint8_t *)name + 1, digits}, &version) != TL_PARSE_OK || version >= v->below) {
        return TL_OK;
    }
    int64_t *items = tl_grow(v->items, &v->cap, v->n + 1, 64, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    v->items = items;
    v->items[v->n++] = version;
    return TL_OK;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Versions that the metadata log has forgotten, the oldest first: a writer that was asleep finds v<N> gone when v<N+1>
 * is (commit/version.c). */
static void remove_versions(tl_table *t, int64_t *removed) {
    versions v = {.below = t->version - (t->metadata.n_metadata_log + 1)};
    char *prefix = tl_format("%s/metadata", t->prefix);
    if (prefix && tl_store_list(t->store, prefix, false, note_version, &v, NULL) == TL_OK && v.n) {
        qsort(v.items, v.n, sizeof *v.items, ascending);
        char **keys = tl_calloc(v.n, sizeof *keys);
        size_t n = 0;
        while (keys && n < v.n && (keys[n] = tl_format("%s/v%lld.metadata.json", prefix, (long long)v.items[n]))) {
            n++;
        }
        *removed += (int64_t)tl_store_remove_all(t->store, (const char *const *)keys, n); /* keeps the order */
        for (size_t i = 0; i < n; i++) {
            tl_free(keys[i]);
        }
        tl_free((void *)keys);
    }
    tl_free(prefix);
    tl_free(v.items);
}

static tl_status remove_once(tl_table *before, tl_table *after, int64_t *removed, tl_error *err) {
    tl_references expired = {0}, kept = {0};
    tl_key_set dead = {0};
    tl_status status = tl_references_collect(before, &before->metadata, &after->metadata, &expired, err);
    if (status == TL_OK) {
        status = tl_references_collect(after, &after->metadata, NULL, &kept, err);
    }
    if (status == TL_OK && !only_appends(&before->metadata)) {
        status = dead_files(after, &expired, &kept, &dead, err);
    }
    if (status == TL_OK) {
        doomed d = {0};
        doom_all(&d, &dead, NULL);
        doom_all(&d, &expired.manifests, &kept.manifests);
        doom_all(&d, &expired.lists, &kept.lists);
        doom_all(&d, &expired.indexes, &kept.indexes);
        remove_doomed(after, &d, removed);
        remove_versions(after, removed);
    }
    tl_key_set_free(&dead);
    tl_references_free(&expired);
    tl_references_free(&kept);
    return status;
}

/* A kept snapshot can be expired by somebody else while its manifests are read; then the newest version says what is
 * kept. */
static tl_status remove_objects(tl_table *before, tl_table *after, int64_t *removed, tl_error *err) {
    tl_table *kept = tl_table_retain(after);
    tl_status status;
    for (int n = 1;; n++) {
        tl_error why = {{0}};
        tl_table *newest = NULL;
        status = remove_once(before, kept, removed, &why);
        if ((status != TL_CORRUPT && status != TL_NOT_FOUND) || n >= ATTEMPTS ||
            tl_table_refresh(kept, &newest, NULL) != TL_OK || newest->version == kept->version) {
            tl_table_release(newest);
            status = status == TL_OK ? TL_OK : tl_fail(err, status, "%s", why.message);
            break;
        }
        tl_table_release(kept);
        kept = newest;
    }
    tl_table_release(kept);
    return status;
}

tl_status tl_expire(tl_table *base, tl_expire_result *result, tl_table **out, tl_error *err) {
    *result = (tl_expire_result){0};
    *out = NULL;
    int64_t *ids = NULL;
    int32_t n = 0;
    tl_table *newest = NULL;
    TL_TRY(tl_table_refresh(base, &newest, err));
    tl_status status = choose(&newest->metadata, tl_env_now_us(newest->store->env) / 1000, &ids, &n, err);
    if (status == TL_OK) {
        status = tl_commit_expire(newest, ids, n, out, err);
    }
    if (status == TL_OK && n) {
        int32_t was = newest->metadata.n_snapshots;
        for (int32_t i = 0; i < was; i++) {
            result->snapshots += !tl_metadata_snapshot(&(*out)->metadata, newest->metadata.snapshots[i].snapshot_id);
        }
        status = remove_objects(newest, *out, &result->objects, err);
    }
    tl_free(ids);
    tl_table_release(newest);
    return status;
}

tl_status tl_expire_count(tl_table *t, int64_t *n, tl_error *err) {
    int64_t *ids = NULL;
    int32_t found = 0;
    tl_status status = choose(&t->metadata, tl_env_now_us(t->store->env) / 1000, &ids, &found, err);
    tl_free(ids);
    *n = found;
    return status;
}
