/* Which format a file has; folders; files one behind the other as streams for the append path. See input.h. */
#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const struct {
    const char *name, *endings; /* endings parted by blanks */
    tl_file_format format;
} formats[] = {
    {"csv", ".csv .txt", TL_FORMAT_CSV},
    {"tsv", ".tsv .tab", TL_FORMAT_TSV},
    {"ndjson", ".ndjson .jsonl .json", TL_FORMAT_NDJSON},
    {"arrow", ".arrow .arrows .ipc .feather", TL_FORMAT_ARROW},
    {"parquet", ".parquet .pq", TL_FORMAT_PARQUET},
};

static bool ends_with(const char *text, size_t len, const char *ending, size_t ending_len) {
    return len > ending_len && strncasecmp(text + len - ending_len, ending, ending_len) == 0;
}

tl_file_format tl_file_format_of(const char *path) {
    size_t len = strlen(path);
    if (ends_with(path, len, ".gz", 3)) {
        len -= 3;
    } else if (ends_with(path, len, ".zst", 4)) {
        len -= 4;
    } else if (ends_with(path, len, ".zstd", 5)) {
        len -= 5;
    }
    for (size_t i = 0; i < TL_COUNT(formats); i++) {
        for (const char *e = formats[i].endings; *e; e += strcspn(e, " "), e += strspn(e, " ")) {
            if (ends_with(path, len, e, strcspn(e, " "))) {
                return formats[i].format;
            }
        }
    }
    return TL_FORMAT_NONE;
}

tl_file_format tl_file_format_find(const char *name) {
    for (size_t i = 0; i < TL_COUNT(formats); i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return formats[i].format;
        }
    }
    return strcmp(name, "json") == 0 || strcmp(name, "jsonl") == 0 ? TL_FORMAT_NDJSON : TL_FORMAT_NONE;
}

tl_status tl_input_open(const char *path, const tl_input_options *options, tl_input **out, tl_error *err) {
    *out = NULL;
    tl_file_format format = options->format ? options->format : tl_file_format_of(path);
    char delimiter = options->delimiter ? options->delimiter : format == TL_FORMAT_TSV ? '\t' : ',';
    switch (format) {
    case TL_FORMAT_CSV:
    case TL_FORMAT_TSV: return tl_input_open_csv(path, options, delimiter, out, err);
    case TL_FORMAT_NDJSON: return tl_input_open_json(path, options, out, err);
    case TL_FORMAT_ARROW: return tl_input_open_arrow(path, out, err);
    case TL_FORMAT_PARQUET: return tl_input_open_parquet(path, out, err);
    default:
        return tl_fail(err, TL_INVALID,
                       "%s: its name tells no format; give --format csv, tsv, ndjson, arrow or parquet",
                       strcmp(path, "-") == 0 ? "standard input" : path);
    }
}

/* ---- paths ---- */

void tl_paths_free(tl_paths *p) {
    for (size_t i = 0; i < p->n; i++) {
        tl_free(p->paths[i]);
    }
    tl_free(p->paths);
    *p = (tl_paths){0};
}

static tl_status add_path(tl_paths *p, const char *path, tl_error *err) {
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        char **grown = tl_realloc_array(p->paths, cap, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, cap * sizeof *grown);
        }
        p->paths = grown;
        p->cap = cap;
    }
    char *copy = tl_strdup(path);
    if (!copy) {
        return tl_fail_memory(err, strlen(path));
    }
    p->paths[p->n++] = copy;
    return TL_OK;
}

enum { MAX_FOLDER_DEPTH = 16 };

static tl_status add_folder(tl_paths *p, const char *folder, int depth, tl_error *err) {
    DIR *dir = opendir(folder);
    if (!dir) {
        return tl_fail(err, TL_IO, "%s: %s", folder, strerror(errno));
    }
    tl_status status = TL_OK;
    for (struct dirent *e; status == TL_OK && (e = readdir(dir));) {
        if (e->d_name[0] == '.' || e->d_name[0] == '_') {
            continue; /* hidden, and what Spark leaves beside its files */
        }
        char *path = tl_format("%s/%s", folder, e->d_name);
        struct stat st;
        if (!path) {
            status = tl_fail_memory(err, strlen(folder));
        } else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            /* only the folders that partitions make: anything else below is another matter */
            status = !strchr(e->d_name, '=')    ? TL_OK
                     : depth < MAX_FOLDER_DEPTH ? add_folder(p, path, depth + 1, err)
                                                : tl_fail(err, TL_INVALID, "%s: folders nested too deep", path);
        } else if (tl_file_format_of(path) == TL_FORMAT_PARQUET) {
            status = add_path(p, path, err);
        }
        tl_free(path);
    }
    (void)closedir(dir);
    return status;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tl_status tl_paths_find(const char *const *operands, size_t n, tl_paths *out, tl_error *err) {
    *out = (tl_paths){0};
    tl_status status = TL_OK;
    bool standard = false;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        struct stat st;
        if (strcmp(operands[i], "-") == 0) {
            status = standard ? tl_fail(err, TL_INVALID, "standard input can be given once") : add_path(out, "-", err);
            standard = true;
        } else if (stat(operands[i], &st) != 0) {
            status = errno == ENOENT || errno == ENOTDIR ? tl_fail(err, TL_NOT_FOUND, "%s: no such file", operands[i])
                                                         : tl_fail(err, TL_IO, "%s: %s", operands[i], strerror(errno));
        } else if (S_ISDIR(st.st_mode)) {
            size_t before = out->n;
            status = add_folder(out, operands[i], 0, err);
            if (status == TL_OK && out->n == before) {
                status = tl_fail(err, TL_INVALID, "%s: this is a directory without a .parquet file", operands[i]);
            } else if (status == TL_OK) {
                qsort(out->paths + before, out->n - before, sizeof *out->paths, compare_paths);
            }
        } else {
            status = add_path(out, operands[i], err);
        }
    }
    if (status != TL_OK) {
        tl_paths_free(out);
    }
    return status;
}
