/* A table at one version: load, refresh, share, give back. */
#include "table/table.h"

#include <string.h>

#include "base/mem.h"
#include "table/table_internal.h"

enum { LOAD_ATTEMPTS = 5 };

static void table_free(tl_table *t) {
    tl_contract_free(&t->contract);
    tl_metadata_free(&t->metadata);
    tl_free(t->name);
    tl_free(t->prefix);
    tl_free(t->location);
    tl_free(t->metadata_key);
    tl_free(t);
}

tl_status tl_table_of(tl_store *store, const char *ns, const char *table, int64_t version, const char *metadata_key,
                      tl_metadata *metadata, tl_table **out, tl_error *err) {
    *out = NULL;
    tl_table *t = tl_calloc(1, sizeof *t);
    if (!t) {
        tl_metadata_free(metadata);
        return tl_fail_memory(err, sizeof *t);
    }
    t->metadata = *metadata;
    *metadata = (tl_metadata){0};
    t->store = store;
    t->version = version;
    t->references = 1;
    t->name = tl_format("%s.%s", ns, table);
    t->prefix = tl_format("%s/%s", ns, table);
    t->location = t->prefix ? tl_store_uri(store, t->prefix) : NULL;
    t->metadata_key = tl_strdup(metadata_key);
    tl_status status = t->name && t->location && t->metadata_key ? tl_contract_read(&t->metadata, &t->contract, err)
                                                                 : tl_fail_memory(err, strlen(metadata_key));
    if (status != TL_OK) {
        table_free(t);
        return status;
    }
    *out = t;
    return TL_OK;
}

static tl_status load_object(tl_store *store, const char *ns, const char *table, int64_t version, const char *key,
                             tl_table **out, tl_error *err) {
    tl_buf json = {0};
    tl_metadata m = {0};
    tl_status status = tl_store_get(store, key, &json, err);
    if (status == TL_OK) {
        status = tl_metadata_parse(tl_buf_bytes(&json), &m, err);
        if (status != TL_OK && status != TL_NO_MEMORY) {
            tl_error_prefix(err, "%s: ", key);
        }
    }
    tl_buf_free(&json);
    return status == TL_OK ? tl_table_of(store, ns, table, version, key, &m, out, err) : status;
}

tl_status tl_table_load(tl_store *store, const char *ns, const char *table, tl_table **out, tl_error *err) {
    *out = NULL;
    char *prefix = tl_format("%s/%s", ns, table);
    if (!prefix) {
        return tl_fail_memory(err, 512);
    }
    tl_status status = TL_OK;
    bool found = true;
    /* The newest version can be superseded and cleaned away between finding and reading it. */
    for (int attempt = 0; attempt < LOAD_ATTEMPTS && !*out; attempt++) {
        int64_t version;
        char *key = NULL;
        status = tl_version_newest(store, prefix, &version, &key, err);
        found = status != TL_NOT_FOUND;
        if (status == TL_OK) {
            status = load_object(store, ns, table, version, key, out, err);
        }
        tl_free(key);
        if (!found || (status != TL_NOT_FOUND && status != TL_OK)) {
            break;
        }
    }
    tl_free(prefix);
    if (!found) {
        return tl_fail(err, TL_NOT_FOUND, "no table %s.%s in %s", ns, table, store->root_uri);
    }
    if (status != TL_OK && status != TL_NO_MEMORY) {
        tl_error_prefix(err, "table %s.%s: ", ns, table);
    }
    return status;
}

tl_table *tl_table_retain(tl_table *t) {
    if (t) {
        t->references++;
    }
    return t;
}

void tl_table_release(tl_table *t) {
    if (t && --t->references == 0) {
        table_free(t);
    }
}

static const char *file_name(const char *key) {
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

/* True when a newer version may be there, or this one is gone (dropped, perhaps made anew). */
static tl_status is_superseded(tl_table *t, bool *out, tl_error *err) {
    int64_t version;
    char *next = NULL;
    uint64_t size;
    *out = true;
    if (tl_metadata_name_parse(file_name(t->metadata_key), &version) == TL_NAME_CATALOG) {
        return TL_OK;
    }
    TL_TRY(tl_version_next(t->store, t->prefix, t->version, &next, out, err));
    tl_free(next);
    if (*out) {
        return TL_OK;
    }
    tl_status status = tl_store_size(t->store, t->metadata_key, &size, err);
    *out = status == TL_NOT_FOUND;
    return status == TL_NOT_FOUND ? TL_OK : status;
}

tl_status tl_table_refresh(tl_table *t, tl_table **out, tl_error *err) {
    *out = NULL;
    bool superseded;
    TL_TRY(is_superseded(t, &superseded, err));
    if (!superseded) {
        *out = tl_table_retain(t);
        return TL_OK;
    }
    char ns[256], table[256];
    TL_TRY(tl_table_name_parse(t->name, "default", ns, table, err));
    /* Walk on from the known version: the hint may be older than it, and listing costs more. */
    int64_t version = t->version;
    char *key = NULL;
    for (int step = 0; step < 64; step++) {
        char *next;
        bool found;
        tl_status status = tl_version_next(t->store, t->prefix, version, &next, &found, err);
        if (status != TL_OK || !found) {
            if (status == TL_OK && key) {
                status = load_object(t->store, ns, table, version, key, out, err);
            }
            tl_free(key);
            return status == TL_OK && *out                     ? TL_OK
                   : status == TL_OK || status == TL_NOT_FOUND ? tl_table_load(t->store, ns, table, out, err)
                                                               : status;
        }
        tl_free(key);
        key = next;
        version++;
    }
    tl_free(key);
    return tl_table_load(t->store, ns, table, out, err);
}

/* ---- paths in metadata ---- */

/* "file:///a//b/" and "/a/b" compare equal by this part; -1 = differs, else where the rest begins. */
static const char *rest_below(const char *path, const char *location) {
    const char *p = path, *q = location;
    const char *schemes[] = {"file://", "file:"};
    for (size_t i = 0; i < TL_COUNT(schemes); i++) {
        size_t n = strlen(schemes[i]);
        p = strncmp(p, schemes[i], n) == 0 ? p + n : p;
        q = strncmp(q, schemes[i], n) == 0 ? q + n : q;
    }
    for (;;) {
        while (p[0] == '/' && p[1] == '/') {
            p++;
        }
        while (q[0] == '/' && (q[1] == '/' || q[1] == '\0')) {
            q++;
        }
        if (*q == '\0') {
            return *p == '/' ? p + 1 : NULL;
        }
        if (*p != *q) {
            return NULL;
        }
        p++;
        q++;
    }
}

tl_status tl_table_key(const tl_table *t, const char *path, char **out, tl_error *err) {
    *out = NULL;
    const char *old = t->metadata.location;
    const char *rest = old && strcmp(old, t->location) != 0 ? rest_below(path, old) : NULL;
    char *here = rest ? tl_format("%s/%s", t->location, rest) : NULL;
    if (rest && !here) {
        return tl_fail_memory(err, strlen(path));
    }
    tl_status status = tl_store_key(t->store, here ? here : path, out, err);
    tl_free(here);
    return status;
}

tl_status tl_table_get(tl_table *t, const char *path, tl_buf *out, tl_error *err) {
    char *key;
    TL_TRY(tl_table_key(t, path, &key, err));
    tl_status status = tl_store_get(t->store, key, out, err);
    tl_free(key);
    return status;
}

/* ---- may it be written? ---- */

tl_status tl_table_writable(const tl_table *t, tl_error *err) {
    int64_t version;
    const tl_metadata *m = &t->metadata;
    const tl_partition_spec *spec = tl_metadata_spec(m);
    tl_metadata_name kind = tl_metadata_name_parse(file_name(t->metadata_key), &version);
    if (kind == TL_NAME_CATALOG) {
        return tl_fail(err, TL_UNSUPPORTED,
                       "table %s belongs to a catalog (its metadata is %s), which alone can change it", t->name,
                       file_name(t->metadata_key));
    }
    const char *codec = tl_metadata_property(m, "write.metadata.compression-codec");
    if (kind != TL_NAME_VERSION || (codec && strcasecmp(codec, "gzip") == 0)) {
        return tl_fail(err, TL_UNSUPPORTED,
                       "table %s has compressed metadata: its writers would not see our versions; set "
                       "write.metadata.compression-codec to none with the engine that writes it",
                       t->name);
    }
    bool ours = t->contract.format_major > 0 || t->contract.format_minor >= 4;
    if (m->format_version != 2 && !(m->format_version == 3 && ours)) {
        return tl_fail(err, TL_UNSUPPORTED,
                       "table %s has Iceberg format version %d; only version 2 is written, and 3 for deletion vectors",
                       t->name, m->format_version);
    }
    bool partitioned = spec && spec->n_fields > 0;
    if (partitioned && t->contract.chunk == TL_TRANSFORM_VOID) {
        return tl_fail(
            err, TL_UNSUPPORTED,
            "table %s is not partitioned by the hour, day or month of a time column (timelake.time-column), so that "
            "it can be read, not written",
            t->name);
    }
    return TL_OK;
}
