/* The tables of a lake: their names, the index object, dropping one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "table/table.h"
#include "table/table_internal.h"

typedef struct names {
    tl_store *store;
    char **items;
    size_t n, cap;
    const char *ns; /* while its folder is listed */
} names;

static void names_free(names *list) {
    for (size_t i = 0; i < list->n; i++) {
        tl_free(list->items[i]);
    }
    tl_free(list->items);
    *list = (names){0};
}

static tl_status names_add(names *list, char *name, tl_error *err) {
    if (name && list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        char **items = tl_realloc_array(list->items, cap, sizeof *items);
        if (!items) {
            tl_free(name);
            name = NULL;
        } else {
            list->items = items;
            list->cap = cap;
        }
    }
    if (!name) {
        return tl_fail_memory(err, 64);
    }
    list->items[list->n++] = name;
    return TL_OK;
}

/* "a/b/" -> "b", when it can be part of a table's name. */
static bool folder_name(const char *key, char out[256]) {
    size_t len = strlen(key);
    if (len < 2 || key[len - 1] != '/') {
        return false;
    }
    size_t from = len - 1;
    while (from > 0 && key[from - 1] != '/') {
        from--;
    }
    char part[256], ignored[256];
    if (len - 1 - from >= sizeof part) {
        return false;
    }
    memcpy(part, key + from, len - 1 - from);
    part[len - 1 - from] = '\0';
    if (strchr(part, '.') || tl_table_name_parse(part, "default", ignored, out, NULL) != TL_OK) {
        return false;
    }
    return true;
}

/* A table has metadata. A hint alone does not make one: a commit that met a drop may have left it. */
static tl_status is_table(tl_store *store, const char *ns, const char *name, bool *out, tl_error *err) {
    char *prefix = tl_format("%s/%s", ns, name), *key = NULL;
    int64_t version;
    *out = false;
    if (!prefix) {
        return tl_fail_memory(err, 512);
    }
    tl_status status = tl_version_newest(store, prefix, &version, &key, err);
    tl_free(prefix);
    tl_free(key);
    *out = status == TL_OK;
    return status == TL_NOT_FOUND ? TL_OK : status;
}

static tl_status visit_table(void *ctx, const tl_object_info *o, tl_error *err) {
    names *list = ctx;
    char name[256];
    bool table;
    if (!folder_name(o->key, name)) {
        return TL_OK;
    }
    TL_TRY(is_table(list->store, list->ns, name, &table, err));
    return table ? names_add(list, tl_format("%s.%s", list->ns, name), err) : TL_OK;
}

static tl_status visit_namespace(void *ctx, const tl_object_info *o, tl_error *err) {
    char name[256];
    names *list = ctx;
    if (!folder_name(o->key, name)) {
        return TL_OK;
    }
    list->ns = name;
    return tl_store_list(list->store, name, false, visit_table, list, err);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tl_status tl_table_names(tl_store *store, char ***out, size_t *n, tl_error *err) {
    *out = NULL;
    *n = 0;
    names list = {.store = store};
    tl_status status = tl_store_list(store, "", false, visit_namespace, &list, err);
    if (status != TL_OK) {
        names_free(&list);
        return status;
    }
    if (list.n) {
        qsort(list.items, list.n, sizeof *list.items, by_text);
    }
    *out = list.items;
    *n = list.n;
    return TL_OK;
}

/* Names hold no character that JSON would escape. */
tl_status tl_table_index_write(tl_store *store, size_t *n, tl_error *err) {
    char **items;
    TL_TRY(tl_table_names(store, &items, n, err));
    tl_buf json = {0};
    tl_status status = tl_buf_add_text(&json, *n ? "[\n" : "[");
    for (size_t i = 0; status == TL_OK && i < *n; i++) {
        status = tl_buf_printf(&json, "  \"%s\"%s\n", items[i], i + 1 < *n ? "," : "");
    }
    status = status == TL_OK ? tl_buf_add_text(&json, "]") : status;
    status = status == TL_OK ? tl_store_put(store, "timelake-tables.json", tl_buf_bytes(&json), TL_PUT_SYNC, err)
                             : tl_fail_memory(err, json.len);
    for (size_t i = 0; i < *n; i++) {
        tl_free(items[i]);
    }
    tl_free(items);
    tl_buf_free(&json);
    return status;
}

/* ---- drop ---- */

typedef struct drop {
    tl_store *store;
    size_t prefix;
    int turn;
    int64_t seen;
} drop;

/* Data first, then metadata, the hint last: until the end the table is listed, and a drop that stopped can be repeated.
 */
static int turn_of(const char *below) {
    if (strcmp(below, TL_VERSION_HINT) == 0) {
        return 3;
    }
    size_t n = strlen(below), end = strlen(".metadata.json");
    if (strncmp(below, "metadata/", 9) != 0) {
        return 0;
    }
    return n > end && strcmp(below + n - end, ".metadata.json") == 0 ? 2 : 1;
}

static tl_status visit_drop(void *ctx, const tl_object_info *o, tl_error *err) {
    drop *d = ctx;
    d->seen++;
    return turn_of(o->key + d->prefix) == d->turn ? tl_store_remove(d->store, o->key, err) : TL_OK;
}

tl_status tl_table_drop(tl_store *store, const char *ns, const char *table, tl_error *err) {
    char *prefix = tl_format("%s/%s", ns, table);
    if (!prefix) {
        return tl_fail_memory(err, 512);
    }
    drop d = {store, strlen(prefix) + 1, 0, 1};
    tl_status status = TL_OK;
    /* Again until nothing is left: a writer may have been busy meanwhile. */
    for (int pass = 0; status == TL_OK && d.seen && pass < 3; pass++) {
        for (d.turn = 0; status == TL_OK && d.turn < 4; d.turn++) {
            d.seen = 0;
            status = tl_store_list(store, prefix, true, visit_drop, &d, err);
        }
    }
    if (status == TL_OK) {
        size_t n;
        for (int depth = 0; depth < 4; depth++) {
            tl_store_prune(store, prefix, -3600 * (int64_t)1000000); /* whatever its age, and a clock that is behind */
        }
        (void)!tl_table_index_write(store, &n, NULL);
    }
    tl_free(prefix);
    return status;
}
