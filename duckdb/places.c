/* Lakes and tables by path; see places.h. */
#include "duckdb/places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Lakes by the real path of their folder. */
static struct {
    tl_lake **lakes;
    char **paths;
    size_t n, cap;
} open_lakes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

char *tl_place_path(const char *text) {
    const char *scheme = "file:";
    if (strncmp(text, scheme, strlen(scheme)) == 0) {
        text += strlen(scheme);
        text += strncmp(text, "//", 2) == 0 ? 2 : 0;
    }
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '/') {
        n--;
    }
    return tl_strndup(text, n);
}

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The lock is held; `path` is taken. */
static tl_status open_lake(char *path, tl_lake **out, tl_error *err) {
    if (open_lakes.n == open_lakes.cap) {
        size_t cap = open_lakes.cap ? open_lakes.cap * 2 : 8;
        tl_lake **lakes = tl_realloc_array(open_lakes.lakes, cap, sizeof *lakes);
        open_lakes.lakes = lakes ? lakes : open_lakes.lakes;
        char **paths = lakes ? tl_realloc_array(open_lakes.paths, cap, sizeof *paths) : NULL;
        open_lakes.paths = paths ? paths : open_lakes.paths;
        if (!lakes || !paths) {
            tl_free(path);
            return tl_fail_memory(err, cap * sizeof *lakes);
        }
        open_lakes.cap = cap;
    }
    tl_lake_options options = {.must_exist = 1};
    tl_status status = tl_lake_open(path, &options, out, err);
    if (status != TL_OK) {
        tl_free(path);
        return status;
    }
    open_lakes.lakes[open_lakes.n] = *out;
    open_lakes.paths[open_lakes.n++] = path;
    return TL_OK;
}

tl_status tl_place_lake(const char *folder, tl_lake **out, tl_error *err) {
    char real[PATH_MAX];
    *out = NULL;
    if (!realpath(folder, real) || !is_folder(real)) {
        return tl_fail(err, TL_NOT_FOUND, "there is no lake in \"%s\": no such folder", folder);
    }
    tl_status status = TL_OK;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < open_lakes.n && !*out; i++) {
        *out = strcmp(open_lakes.paths[i], real) == 0 ? open_lakes.lakes[i] : NULL;
    }
    if (!*out) {
        char *path = tl_strdup(real);
        status = path ? open_lake(path, out, err) : tl_fail_memory(err, strlen(real));
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

/* "a/b" -> "a" and "b"; "b" -> "." and "b". In place. */
static const char *cut(char *path, const char **folder) {
    char *slash = strrchr(path, '/');
    if (!slash) {
        *folder = ".";
        return path;
    }
    *slash = 0;
    *folder = slash == path ? "/" : path;
    return slash + 1;
}

/* The folder of a table: .../ns/t, with metadata in it. */
static bool is_table(const char *path) {
    char *metadata = tl_format("%s/metadata", path);
    bool is = metadata && is_folder(metadata);
    tl_free(metadata);
    return is;
}

static tl_status by_folder(const char *path, tl_place *out, tl_error *err) {
    char real[PATH_MAX];
    if (!realpath(path, real)) {
        return tl_fail(err, TL_NOT_FOUND, "there is no table in \"%s\"", path);
    }
    const char *ns_path, *folder;
    const char *table = cut(real, &ns_path);
    char *rest = tl_strdup(ns_path);
    if (!rest) {
        return tl_fail_memory(err, strlen(real));
    }
    const char *ns = cut(rest, &folder);
    out->name = tl_format("%s.%s", ns, table);
    tl_status status = out->name ? tl_place_lake(folder, &out->lake, err) : tl_fail_memory(err, strlen(real));
    tl_free(rest);
    return status;
}

static tl_status by_name(char *path, const char *text, tl_place *out, tl_error *err) {
    char ns[256], table[256];
    const char *folder;
    const char *name = cut(path, &folder);
    if (!is_folder(folder) || tl_table_name_parse(name, "default", ns, table, NULL) != TL_OK) {
        return tl_fail(err, TL_NOT_FOUND,
                       "there is no table in \"%s\": give a table's folder, or a lake's folder and a table's name: "
                       "'lake/readings'",
                       text);
    }
    out->name = tl_format("%s.%s", ns, table);
    return out->name ? tl_place_lake(folder, &out->lake, err) : tl_fail_memory(err, strlen(name));
}

tl_status tl_place_find(const char *text, tl_place *out, tl_error *err) {
    *out = (tl_place){0};
    char *path = tl_place_path(text);
    if (!path) {
        return tl_fail_memory(err, strlen(text));
    }
    tl_status status = strstr(path, "://")
                           ? tl_fail(err, TL_UNSUPPORTED, "\"%s\": only lakes on a disk are read here", text)
                       : is_table(path) ? by_folder(path, out, err)
                                        : by_name(path, text, out, err);
    tl_free(path);
    if (status != TL_OK) {
        tl_free(out->name);
        out->name = NULL;
    }
    return status;
}
