/* The store's front: opens by location, checks keys, calls the back end. */
#include "store/store.h"

#include <string.h>

#include "base/mem.h"
#include "store/local.h"
#include "store/memory.h"

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* "file:/p", "file:///p", "file://localhost/p" -> "/p"; a plain path stays. NULL = another host. */
static const char *local_path_of(const char *location) {
    if (!starts_with(location, "file:")) {
        return location;
    }
    const char *p = location + strlen("file:");
    if (starts_with(p, "//localhost/")) {
        return p + strlen("//localhost");
    }
    if (starts_with(p, "//") && p[2] != '/') {
        return NULL;
    }
    while (p[0] == '/' && p[1] == '/') {
        p++;
    }
    return p;
}

/* Length of the scheme of "abc://..." or "abc:/..."; 0 = none. A single letter is no scheme. */
static size_t scheme_length(const char *location) {
    size_t n = strspn(location, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return n > 1 && location[n] == ':' && location[n + 1] == '/' ? n : 0;
}

tl_status tl_store_open(const char *location, bool create, const tl_env *env, tl_store **out, tl_error *err) {
    *out = NULL;
    env = env ? env : tl_env_default();
    if (!location || !*location) {
        return tl_fail(err, TL_INVALID, "no location of a lake given");
    }
    if (starts_with(location, "memory://")) {
        return tl_memory_open(location + strlen("memory://"), env, out, err);
    }
    size_t scheme = scheme_length(location);
    if (scheme && !starts_with(location, "file:/")) {
        return tl_fail(err, TL_UNSUPPORTED, "%s: %.*s:// is not supported; a local path, file:// or memory:// is",
                       location, (int)scheme, location);
    }
    const char *path = local_path_of(location);
    if (!path || !*path) {
        return tl_fail(err, TL_INVALID, "%s: not a path on this machine", location);
    }
    return tl_local_open(path, create, env, out, err);
}

void tl_store_close(tl_store *s) {
    if (s) {
        s->ops->close(s);
    }
}

static tl_status check_key(const char *key, tl_error *err) {
    return tl_store_key_valid(key, false) ? TL_OK
                                          : tl_fail(err, TL_INVALID, "\"%.200s\" cannot be the key of an object", key);
}

tl_status tl_store_get(tl_store *s, const char *key, tl_buf *out, tl_error *err) {
    TL_TRY(check_key(key, err));
    return s->ops->get(s, key, 0, UINT64_MAX, out, err);
}

tl_status tl_store_get_range(tl_store *s, const char *key, uint64_t offset, uint64_t len, tl_buf *out, tl_error *err) {
    TL_TRY(check_key(key, err));
    if (len == UINT64_MAX) {
        return tl_fail(err, TL_INVALID, "%s: a range of 2^64-1 bytes", key);
    }
    return s->ops->get(s, key, offset, len, out, err);
}

tl_status tl_store_size(tl_store *s, const char *key, uint64_t *size, tl_error *err) {
    TL_TRY(check_key(key, err));
    return s->ops->size(s, key, size, err);
}

bool tl_store_exists(tl_store *s, const char *key) {
    uint64_t size;
    return tl_store_size(s, key, &size, NULL) == TL_OK;
}

tl_status tl_store_put(tl_store *s, const char *key, tl_bytes data, tl_put_mode mode, tl_error *err) {
    TL_TRY(check_key(key, err));
    return s->ops->put(s, key, data, false, mode, err);
}

tl_status tl_store_put_if_absent(tl_store *s, const char *key, tl_bytes data, tl_put_mode mode, tl_error *err) {
    TL_TRY(check_key(key, err));
    return s->ops->put(s, key, data, true, mode, err);
}

tl_status tl_store_put_after(tl_store *s, const char *key, tl_bytes data, const char *const *keys, size_t n,
                             tl_error *err) {
    TL_TRY(check_key(key, err));
    for (size_t i = 0; i < n; i++) {
        TL_TRY(check_key(keys[i], err));
    }
    if (s->ops->put_after) {
        return s->ops->put_after(s, key, data, keys, n, err);
    }
    if (n) {
        tl_status synced = s->ops->sync(s, keys, n, err);
        if (synced != TL_OK) {
            return synced == TL_UNKNOWN || synced == TL_EXISTS ? TL_IO : synced;
        }
    }
    return s->ops->put(s, key, data, true, TL_PUT_SYNC, err);
}

tl_status tl_store_open_writer(tl_store *s, const char *key, tl_put_mode mode, tl_object_writer **out, tl_error *err) {
    *out = NULL;
    TL_TRY(check_key(key, err));
    return s->ops->open_writer(s, key, mode, out, err);
}

tl_status tl_object_writer_write(tl_store *s, tl_object_writer *w, tl_bytes data, tl_error *err) {
    return s->ops->writer_write(w, data, err);
}

tl_status tl_object_writer_finish(tl_store *s, tl_object_writer *w, tl_error *err) {
    return s->ops->writer_finish(w, err);
}

void tl_object_writer_abort(tl_store *s, tl_object_writer *w) {
    if (w) {
        s->ops->writer_abort(w);
    }
}

static tl_status check_folder(const char *prefix, tl_error *err) {
    return tl_store_key_valid(prefix, true) ? TL_OK : tl_fail(err, TL_INVALID, "\"%.200s\" cannot be a folder", prefix);
}

tl_status tl_store_list(tl_store *s, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                        tl_error *err) {
    TL_TRY(check_folder(prefix, err));
    return s->ops->list(s, prefix, recursive, visit, ctx, err);
}

tl_status tl_store_remove(tl_store *s, const char *key, tl_error *err) {
    TL_TRY(check_key(key, err));
    return s->ops->remove(s, key, err);
}

size_t tl_store_remove_all(tl_store *s, const char *const *keys, size_t n) {
    size_t good = 0;
    while (good < n && tl_store_key_valid(keys[good], false)) {
        good++;
    }
    if (s->ops->remove_all) {
        return s->ops->remove_all(s, keys, good);
    }
    size_t gone = 0;
    while (gone < good && s->ops->remove(s, keys[gone], NULL) == TL_OK) {
        gone++;
    }
    return gone;
}

void tl_store_prune(tl_store *s, const char *prefix, int64_t age_us) {
    if (s->ops->prune && tl_store_key_valid(prefix, true)) {
        s->ops->prune(s, prefix, age_us);
    }
}

tl_status tl_store_sync(tl_store *s, const char *const *keys, size_t n, tl_error *err) {
    for (size_t i = 0; i < n; i++) {
        TL_TRY(check_key(keys[i], err));
    }
    return n ? s->ops->sync(s, keys, n, err) : TL_OK;
}
