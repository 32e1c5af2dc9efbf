/* Objects that an attempt puts: noted before they are put, so that nothing is left behind when it fails. */
#include "base/mem.h"
#include "commit/commit_internal.h"

tl_status tl_key_list_add(tl_key_list *list, const char *key, tl_error *err) {
    char **items = tl_grow(list->items, &list->cap, list->n + 1, 8, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    list->items = items;
    char *copy = tl_strdup(key);
    if (!copy) {
        return tl_fail_memory(err, strlen(key));
    }
    list->items[list->n++] = copy;
    return TL_OK;
}

void tl_key_list_free(tl_key_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        tl_free(list->items[i]);
    }
    tl_free(list->items);
    *list = (tl_key_list){0};
}

void tl_key_list_remove_objects(tl_store *store, tl_key_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        (void)!tl_store_remove(store, list->items[i], NULL);
    }
    tl_key_list_free(list);
}

tl_status tl_commit_put_object(tl_table *t, const char *name, tl_bytes data, tl_key_list *keys, tl_arena *arena,
                               const char **uri, tl_error *err) {
    char *key = tl_format("%s/metadata/%s", t->prefix, name);
    tl_status status = key ? tl_commit_put_at(t, key, data, keys, arena, uri, err) : tl_fail_memory(err, 256);
    tl_free(key);
    return status;
}

tl_status tl_commit_put_at(tl_table *t, const char *key, tl_bytes data, tl_key_list *keys, tl_arena *arena,
                           const char **uri, tl_error *err) {
    char *full = tl_store_uri(t->store, key);
    *uri = full ? tl_arena_strdup(arena, full) : NULL;
    tl_status status = *uri ? tl_key_list_add(keys, key, err) : tl_fail_memory(err, 256);
    if (status == TL_OK) {
        status = tl_store_put(t->store, key, data, TL_PUT_NEW, err);
        if (status != TL_OK) { /* the commit may go on without it */
            (void)!tl_store_remove(t->store, key, NULL);
            tl_free(keys->items[--keys->n]);
        }
    }
    tl_free(full);
    return status;
}
