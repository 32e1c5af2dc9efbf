/* Orphans: found and removed; see orphans.h. */
#include "maintain/orphans.h"

#include <string.h>

#include "maintain/references.h"

enum { ATTEMPTS = 20 };

void tl_orphans_free(tl_orphans *o) {
    tl_free(o->items);
    tl_objects_free(&o->objects);
    *o = (tl_orphans){0};
}

/* The live files of every manifest that a kept snapshot names. */
static tl_status all_files(tl_table *t, const tl_references *r, tl_key_set *files, char **outside, tl_error *err) {
    for (size_t i = 0; i < r->manifests.n; i++) {
        TL_TRY(tl_references_files(t, r->manifests.items[i], true, files, outside, err));
    }
    tl_key_set_seal(files);
    return TL_OK;
}

static bool is_used(const tl_table *t, const tl_references *r, const tl_key_set *files, const char *key) {
    return tl_object_is_fixed(t, key) || tl_key_set_has(&r->lists, key) || tl_key_set_has(&r->manifests, key) ||
           tl_key_set_has(&r->indexes, key) || tl_key_set_has(&r->others, key) || tl_key_set_has(files, key);
}

static tl_status choose(tl_table *t, const tl_references *r, const tl_key_set *files, int64_t grace_us, tl_orphans *out,
                        tl_error *err) {
    out->items = tl_alloc_array(out->objects.n, sizeof *out->items);
    if (!out->items) {
        return tl_fail_memory(err, out->objects.n * sizeof *out->items);
    }
    int64_t before;
    if (!tl_i64_add(out->objects.now_us, -grace_us, &before)) {
        before = INT64_MIN;
    }
    for (size_t i = 0; i < out->objects.n; i++) {
        const tl_object *o = &out->objects.items[i];
        if (is_used(t, r, files, o->key)) {
            continue;
        }
        if (o->modified_us > before) {
            out->young++;
            continue;
        }
        out->items[out->n++] = *o;
        out->bytes += (int64_t)o->size;
    }
    return TL_OK;
}

static tl_status find(tl_table *t, int64_t grace_us, tl_orphans *out, tl_error *err) {
    tl_references r = {0};
    tl_key_set files = {0};
    char *outside = NULL;
    tl_status status = tl_references_collect(t, &t->metadata, NULL, &r, err);
    if (status == TL_OK) {
        status = all_files(t, &r, &files, &outside, err);
    }
    const char *stranger = r.outside ? r.outside : outside;
    if (status == TL_OK && stranger) {
        status = tl_fail(err, TL_UNSUPPORTED,
                         "its metadata refer to %s, which is outside of its folder %s: what is unused cannot be told",
                         stranger, t->location);
    }
    if (status == TL_OK) {
        status = choose(t, &r, &files, grace_us, out, err);
    }
    tl_free(outside);
    tl_key_set_free(&files);
    tl_references_free(&r);
    return status;
}

tl_status tl_orphans_find(tl_table **table, int64_t grace_us, bool probe, tl_orphans *out, tl_error *err) {
    *out = (tl_orphans){0};
    tl_table *newest = NULL;
    tl_status status = tl_objects_list(*table, probe, &out->objects, err);
    if (status == TL_OK) { /* after the listing: what was committed since is in use */
        status = tl_table_refresh(*table, &newest, err);
    }
    for (int n = 1; status == TL_OK; n++) {
        tl_table_release(*table);
        *table = newest;
        newest = NULL;
        status = find(*table, grace_us, out, err);
        if ((status != TL_CORRUPT && status != TL_NOT_FOUND) || n >= ATTEMPTS ||
            tl_table_refresh(*table, &newest, NULL) != TL_OK || newest->version == (*table)->version) {
            break;
        }
        tl_free(out->items); /* a snapshot was expired by somebody else meanwhile */
        out->items = NULL;
        out->n = 0;
        out->bytes = out->young = 0;
        status = TL_OK;
    }
    tl_table_release(newest);
    if (status != TL_OK) {
        tl_orphans_free(out);
        if (status != TL_NO_MEMORY) {
            tl_error_prefix(err, "table %s: orphans were not looked for: ", (*table)->name);
        }
    }
    return status;
}

tl_status tl_orphans_remove(tl_table *t, const tl_orphans *o, int64_t *removed, tl_error *err) {
    *removed = 0;
    for (size_t i = 0; i < o->n; i++) {
        tl_status status = tl_store_remove(t->store, o->items[i].key, err);
        if (status != TL_OK) {
            tl_error_prefix(err, "table %s, orphan %s: ", t->name, o->items[i].key);
            return status;
        }
        ++*removed;
    }
    return TL_OK;
}
