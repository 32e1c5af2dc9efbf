/* What a table's metadata refers to; see references.h. */
#include "maintain/references.h"

#include <string.h>

#include "iceberg/json.h"
#include "table/last_index.h"
#include "yyjson.h"

void tl_references_free(tl_references *r) {
    tl_key_set_free(&r->lists);
    tl_key_set_free(&r->manifests);
    tl_key_set_free(&r->indexes);
    tl_key_set_free(&r->others);
    tl_free(r->outside);
    *r = (tl_references){0};
}

static bool is_inside(const tl_table *t, const char *key) {
    size_t n = strlen(t->prefix);
    return strncmp(key, t->prefix, n) == 0 && key[n] == '/';
}

static tl_status add_path(tl_table *t, const char *path, tl_key_set *out, char **outside, tl_error *err) {
    char *key = NULL;
    tl_status status = tl_table_key(t, path, &key, err);
    bool inside = status == TL_OK && is_inside(t, key);
    if (inside) {
        status = tl_key_set_add(out, key, err);
    } else if (status == TL_OK || status == TL_INVALID) {
        status = TL_OK;
        if (outside && !*outside) {
            *outside = tl_strdup(path);
            status = *outside ? TL_OK : tl_fail_memory(err, strlen(path));
        }
    }
    tl_free(key);
    return status;
}

/* Is the object gone? */
static bool is_gone(tl_table *t, const char *path) {
    char *key = NULL;
    uint64_t size;
    bool gone = tl_table_key(t, path, &key, NULL) == TL_OK && tl_store_size(t->store, key, &size, NULL) == TL_NOT_FOUND;
    tl_free(key);
    return gone;
}

static tl_status add_manifests(tl_table *t, const tl_snapshot *s, bool expired, tl_references *out, tl_error *err) {
    for (int32_t i = 0; i < s->n_manifests; i++) {
        TL_TRY(add_path(t, s->manifests[i], &out->manifests, &out->outside, err));
    }
    if (!s->manifest_list) {
        return TL_OK;
    }
    TL_TRY(add_path(t, s->manifest_list, &out->lists, &out->outside, err));
    tl_arena arena = {0};
    tl_manifest_file *files = NULL;
    int64_t n = 0;
    tl_status status = tl_table_manifests(t, s, &arena, &files, &n, err);
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        status = add_path(t, files[i].path, &out->manifests, &out->outside, err);
    }
    tl_arena_free(&arena);
    return status == TL_CORRUPT && expired && is_gone(t, s->manifest_list) ? TL_OK : status;
}

/* Both keys of the last-value index: the URI, and the layers "<name>:<rows>,...". */
static tl_status add_indexes(tl_table *t, const tl_snapshot *s, tl_references *out, tl_error *err) {
    const char *uri = tl_snapshot_summary(s, TL_INDEX_KEY), *layers = tl_snapshot_summary(s, TL_INDEX_LAYERS_KEY);
    if (uri) {
        TL_TRY(add_path(t, uri, &out->indexes, &out->outside, err));
    }
    while (layers && *layers) {
        size_t len = strcspn(layers, ":,");
        if (len == 0 || memchr(layers, '/', len)) {
            return TL_OK; /* not a list of names: nothing is deleted by it */
        }
        char *key = tl_format("%s/metadata/%.*s", t->prefix, (int)len, layers);
        tl_status status = key ? tl_key_set_add(&out->indexes, key, err) : tl_fail_memory(err, len);
        tl_free(key);
        TL_TRY(status);
        layers += strcspn(layers, ",");
        layers += *layers == ',';
    }
    return TL_OK;
}

/* Every text in the keys of the metadata that are not understood here (statistics files have their paths there) that
 * is the path of an object below the table. Depth is bounded by the parser's input: metadata that was parsed before. */
static tl_status add_extra(tl_table *t, const char *json, tl_references *out, tl_error *err) {
    if (!json) {
        return TL_OK;
    }
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, strlen(json), 0, &tl_json_alc, NULL);
    if (!doc) {
        return tl_fail_memory(err, strlen(json));
    }
    tl_status status = TL_OK;
    yyjson_val *v = yyjson_doc_get_root(doc);
    for (size_t n = yyjson_doc_get_val_count(doc); n > 0 && status == TL_OK; n--, v++) { /* values lie in a row */
        const char *text = yyjson_get_str(v);
        if (text && strchr(text, '/')) {
            status = add_path(t, text, &out->others, NULL, err);
        }
    }
    yyjson_doc_free(doc);
    return status;
}

static tl_status collect(tl_table *t, const tl_metadata *m, const tl_metadata *without, tl_references *out,
                         tl_error *err) {
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        if (without && tl_metadata_snapshot(without, m->snapshots[i].snapshot_id)) {
            continue;
        }
        TL_TRY(add_manifests(t, &m->snapshots[i], without != NULL, out, err));
        TL_TRY(add_indexes(t, &m->snapshots[i], out, err));
    }
    return without ? TL_OK : add_extra(t, m->extra_json, out, err);
}

tl_status tl_references_collect(tl_table *t, const tl_metadata *m, const tl_metadata *without, tl_references *out,
                                tl_error *err) {
    *out = (tl_references){0};
    tl_status status = collect(t, m, without, out, err);
    if (status != TL_OK) {
        tl_references_free(out);
        return status;
    }
    tl_key_set_seal(&out->lists);
    tl_key_set_seal(&out->manifests);
    tl_key_set_seal(&out->indexes);
    tl_key_set_seal(&out->others);
    return TL_OK;
}

tl_status tl_references_files(tl_table *t, const char *manifest_key, bool live_only, tl_key_set *out, char **outside,
                              tl_error *err) {
    tl_buf avro = {0};
    tl_arena arena = {0};
    tl_manifest m = {0};
    tl_status status = tl_store_get(t->store, manifest_key, &avro, err);
    if (status == TL_OK) {
        status = tl_manifest_parse(tl_buf_bytes(&avro), NULL, &arena, &m, err);
    }
    for (int64_t i = 0; status == TL_OK && i < m.n_entries; i++) {
        if (!live_only || m.entries[i].status != TL_ENTRY_DELETED) {
            status = add_path(t, m.entries[i].file.path, out, outside, err);
        }
    }
    tl_arena_free(&arena);
    tl_buf_free(&avro);
    if (status != TL_OK && status != TL_NO_MEMORY) {
        tl_error_prefix(err, "manifest %s: ", manifest_key);
    }
    return status;
}
