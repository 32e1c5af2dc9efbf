/*
 * Which metadata object is the newest.
 *
 * Versions that are cleaned away are always the oldest ones, so from any version that is still there the newest is
 * found by walking forward. The hint gives the place to start from; where it is stale the walk is longer, where it is
 * missing, garbage or points to a version that is gone, the folder is listed. The answer never depends on the hint
 * being right.
 */
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "table/table_internal.h"

enum { WALK_MAX = 256 };

static bool take_number(const char *text, size_t digits, int64_t *out) {
    return digits > 0 && tl_parse_i64((tl_bytes){(const uint8_t *)text, digits}, out) == TL_PARSE_OK;
}

tl_metadata_name tl_metadata_name_parse(const char *name, int64_t *version) {
    bool v = name[0] == 'v';
    size_t digits = strspn(name + v, "0123456789");
    if (!take_number(name + v, digits, version)) {
        return TL_NAME_NONE;
    }
    const char *rest = name + v + digits;
    if (v) {
        if (name[1] == '0' && digits > 1) {
            return TL_NAME_NONE; /* never padded */
        }
        if (strcmp(rest, ".metadata.json") == 0) {
            return TL_NAME_VERSION;
        }
        return strcmp(rest, ".gz.metadata.json") == 0 || strcmp(rest, ".metadata.json.gz") == 0 ? TL_NAME_VERSION_GZ
                                                                                                : TL_NAME_NONE;
    }
    size_t n = strlen(rest), end = strlen(".metadata.json");
    return rest[0] == '-' && n > end + 1 && strcmp(rest + n - end, ".metadata.json") == 0 ? TL_NAME_CATALOG
                                                                                          : TL_NAME_NONE;
}

/* Is the object there? An error of the store is an error: "not there" would mean an older version. */
static tl_status is_there(tl_store *store, const char *key, bool *found, tl_error *err) {
    uint64_t size;
    tl_status status = tl_store_size(store, key, &size, err);
    *found = status == TL_OK;
    return status == TL_NOT_FOUND ? TL_OK : status;
}

/* The object of exactly this version. */
static tl_status version_at(tl_store *store, const char *prefix, int64_t version, char **key, bool *found,
                            tl_error *err) {
    static const char *const ends[] = {".metadata.json", ".gz.metadata.json", ".metadata.json.gz"};
    *key = NULL;
    *found = false;
    for (size_t i = 0; i < TL_COUNT(ends); i++) {
        char *k = tl_format("%s/metadata/v%lld%s", prefix, (long long)version, ends[i]);
        if (!k) {
            return tl_fail_memory(err, strlen(prefix));
        }
        tl_status status = is_there(store, k, found, err);
        if (status == TL_OK && *found) {
            *key = k;
            return TL_OK;
        }
        tl_free(k);
        TL_TRY(status);
    }
    return TL_OK;
}

tl_status tl_version_next(tl_store *store, const char *prefix, int64_t version, char **key, bool *found,
                          tl_error *err) {
    *key = NULL;
    *found = false;
    return version < INT64_MAX ? version_at(store, prefix, version + 1, key, found, err) : TL_OK;
}

/* ---- by listing ---- */

typedef struct newest {
    size_t skip; /* length of "<prefix>/metadata/" */
    tl_metadata_name kind;
    int64_t version, modified_us;
    char *key;
} newest;

/* Numbered by path before numbered by a catalog; then the greatest number; of one number the youngest. */
static bool is_newer(const newest *best, tl_metadata_name kind, int64_t version, int64_t modified_us) {
    bool catalog = kind == TL_NAME_CATALOG, best_catalog = best->kind == TL_NAME_CATALOG;
    if (!best->key || catalog != best_catalog) {
        return !best->key || best_catalog;
    }
    return version != best->version ? version > best->version : modified_us >= best->modified_us;
}

static tl_status look_at(void *ctx, const tl_object_info *o, tl_error *err) {
    newest *best = ctx;
    int64_t version;
    tl_metadata_name kind = tl_metadata_name_parse(o->key + best->skip, &version);
    if (kind == TL_NAME_NONE || !is_newer(best, kind, version, o->modified_us)) {
        return TL_OK;
    }
    char *key = tl_strdup(o->key);
    if (!key) {
        return tl_fail_memory(err, strlen(o->key));
    }
    tl_free(best->key);
    best->key = key;
    best->kind = kind;
    best->version = version;
    best->modified_us = o->modified_us;
    return TL_OK;
}

static tl_status newest_listed(tl_store *store, const char *prefix, int64_t *version, char **key, tl_error *err) {
    char *folder = tl_format("%s/metadata", prefix);
    if (!folder) {
        return tl_fail_memory(err, strlen(prefix));
    }
    newest best = {.skip = strlen(folder) + 1};
    tl_status status = tl_store_list(store, folder, false, look_at, &best, err);
    tl_free(folder);
    if (status == TL_OK && !best.key) {
        status = tl_fail(err, TL_NOT_FOUND, "%s: no such table", prefix);
    }
    if (status != TL_OK) {
        tl_free(best.key);
        return status;
    }
    *version = best.version;
    *key = best.key;
    return TL_OK;
}

/* ---- by the hint ---- */

/* The hint's number; 0 = no use. It is never an error: it is only a hint. */
static int64_t read_hint(tl_store *store, const char *prefix) {
    tl_buf text = {0};
    int64_t n = 0;
    char *key = tl_format("%s/" TL_VERSION_HINT, prefix);
    if (key && tl_store_get(store, key, &text, NULL) == TL_OK && text.len < 64) {
        while (text.len &&
               (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\r')) {
            text.len--;
        }
        size_t digits = 0;
        while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9') {
            digits++;
        }
        if (digits != text.len || !take_number((const char *)text.data, digits, &n)) {
            n = 0;
        }
    }
    tl_buf_free(&text);
    tl_free(key);
    return n;
}

tl_status tl_version_newest(tl_store *store, const char *prefix, int64_t *version, char **key, tl_error *err) {
    *key = NULL;
    int64_t at = read_hint(store, prefix);
    bool found = false;
    if (at > 0) {
        TL_TRY(version_at(store, prefix, at, key, &found, err));
    }
    for (int step = 0; found && step < WALK_MAX; step++) {
        char *next;
        tl_status status = tl_version_next(store, prefix, at, &next, &found, err);
        if (status != TL_OK) {
            tl_free(*key);
            *key = NULL;
            return status;
        }
        if (!found) {
            *version = at;
            return TL_OK;
        }
        tl_free(*key);
        *key = next;
        at++;
    }
    tl_free(*key);
    *key = NULL;
    return newest_listed(store, prefix, version, key, err);
}
