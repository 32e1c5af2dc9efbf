/* Keys and URIs: what a key may be, and which key a URI or path found in metadata means. */
#include <string.h>

#include "base/mem.h"
#include "store/store.h"

bool tl_store_key_valid(const char *key, bool folder) {
    if (!key) {
        return false;
    }
    size_t len = strlen(key);
    if (len == 0) {
        return folder;
    }
    if (len > 4000) {
        return false;
    }
    for (const char *part = key;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.')) {
            return false;
        }
        part += n;
        if (!*part) {
            return true;
        }
    }
}

char *tl_store_uri(const tl_store *s, const char *key) {
    return tl_format("%s/%s", s->root_uri, key);
}

static bool is_local(const tl_store *s) {
    return strncmp(s->root_uri, "file://", 7) == 0;
}

char *tl_store_local_path(const tl_store *s, const char *key) {
    /* By the back end, not the URI: a store that wraps a local one wants to see every access. */
    return strcmp(s->ops->scheme, "file") == 0 ? tl_format("%s/%s", s->root_uri + 7, key) : NULL;
}

/* The part of `uri` behind scheme and host, for a store of this kind; NULL = another kind of place. */
static const char *path_of_uri(const tl_store *s, const char *uri) {
    if (!is_local(s)) {
        size_t scheme = strcspn(s->root_uri, ":") + 1;
        return strncmp(uri, s->root_uri, scheme) == 0 ? uri + scheme : NULL;
    }
    if (uri[0] == '/') {
        return uri;
    }
    if (strncmp(uri, "file:/", 6) != 0) {
        return NULL;
    }
    uri += 5;
    if (strncmp(uri, "//localhost/", 12) == 0) {
        return uri + 11;
    }
    return uri[1] != '/' || uri[2] == '/' ? uri : NULL; /* "file://host/p" is on another machine */
}

/* Double slashes become one, "." parts go, a trailing slash goes; NULL with *bad set for "..". Caller frees. */
static char *fold(const char *path, bool *bad) {
    size_t len = strlen(path), n = 0;
    char *out = tl_alloc(len + 2); /* a first part without a slash gets one */
    *bad = false;
    if (!out) {
        return NULL;
    }
    while (*path) {
        if (*path == '/') {
            path++;
            continue;
        }
        size_t part = strcspn(path, "/");
        if (part == 2 && path[0] == '.' && path[1] == '.') {
            *bad = true;
            tl_free(out);
            return NULL;
        }
        if (!(part == 1 && path[0] == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, part);
            n += part;
        }
        path += part;
    }
    out[n] = '\0';
    return out;
}

/* The part of `path` below `root`; NULL = not below it. Both folded. */
static const char *below(const char *path, const char *root) {
    size_t n = strlen(root);
    return strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 -> A, in place. False when nothing was encoded. */
static bool percent_decode(char *text) {
    bool changed = false;
    char *to = text;
    for (const char *from = text; *from;) {
        int hi = from[0] == '%' ? hex_value(from[1]) : -1;
        int lo = hi >= 0 ? hex_value(from[2]) : -1;
        if (lo >= 0 && hi + lo > 0) {
            *to++ = (char)(hi * 16 + lo);
            from += 3;
            changed = true;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return changed;
}

/* Most writers put names into metadata as they are on the disk; some encode them as URIs. A '%' can be either: what is
 * there decides, and the name as written wins. */
static tl_status as_found(const tl_store *s, char *key, char **out, tl_error *err) {
    if (strchr(key, '%') && !tl_store_exists((tl_store *)(uintptr_t)s, key)) {
        char *decoded = tl_strdup(key);
        if (!decoded) {
            tl_free(key);
            return tl_fail_memory(err, strlen(key));
        }
        if (percent_decode(decoded) && tl_store_key_valid(decoded, false) &&
            tl_store_exists((tl_store *)(uintptr_t)s, decoded)) {
            tl_free(key);
            key = decoded;
        } else {
            tl_free(decoded);
        }
    }
    *out = key;
    return TL_OK;
}

static tl_status key_below(const char *path, const char *root_uri, const char **key, char **root, tl_error *err) {
    bool bad;
    const char *root_path = strchr(root_uri, ':');
    *root = fold(root_path ? root_path + 1 : root_uri, &bad);
    if (!*root) {
        return tl_fail_memory(err, strlen(root_uri));
    }
    *key = below(path, *root);
    return TL_OK;
}

tl_status tl_store_key(const tl_store *s, const char *uri, char **out, tl_error *err) {
    *out = NULL;
    bool bad = false;
    const char *path = path_of_uri(s, uri);
    char *folded = path ? fold(path, &bad) : NULL;
    if (path && !folded && !bad) {
        return tl_fail_memory(err, strlen(path));
    }
    const char *key = NULL;
    char *roots[2] = {NULL, NULL};
    tl_status status = folded ? key_below(folded, s->root_uri, &key, &roots[0], err) : TL_OK;
    if (status == TL_OK && folded && !key && s->root_alias) {
        status = key_below(folded, s->root_alias, &key, &roots[1], err);
    }
    if (status == TL_OK && (!key || !tl_store_key_valid(key, false))) {
        status = tl_fail(err, TL_INVALID, "%.400s: outside of the lake %.400s", uri, s->root_uri);
    }
    if (status == TL_OK) {
        char *copy = tl_strdup(key);
        status = copy ? as_found(s, copy, out, err) : tl_fail_memory(err, strlen(key));
    }
    tl_free(roots[0]);
    tl_free(roots[1]);
    tl_free(folded);
    return status;
}
