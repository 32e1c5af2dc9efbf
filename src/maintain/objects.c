/* The objects of a table as its store lists them; see objects.h. */
#include "maintain/objects.h"

#include <stdlib.h>
#include <string.h>

#include "maintain/heat.h"
#include "read/read.h"

void tl_objects_free(tl_objects *o) {
    tl_free(o->items);
    tl_arena_free(&o->arena);
    *o = (tl_objects){0};
}

static tl_status note(void *ctx, const tl_object_info *object, tl_error *err) {
    tl_objects *o = ctx;
    tl_object *items = tl_grow(o->items, &o->cap, o->n + 1, 256, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    o->items = items;
    const char *key = tl_arena_strdup(&o->arena, object->key);
    if (!key) {
        return tl_fail_memory(err, strlen(object->key));
    }
    o->items[o->n++] = (tl_object){key, object->size, object->modified_us};
    return TL_OK;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const tl_object *)a)->key, ((const tl_object *)b)->key);
}

static char *put_probe(tl_table *t) {
    char uuid[TL_UUID_TEXT];
    tl_uuid4(t->store->env, uuid);
    char *key = tl_format("%s/metadata/timelake-probe-%s", t->prefix, uuid);
    if (key && tl_store_put(t->store, key, tl_bytes_of("the time"), TL_PUT_LATER, NULL) != TL_OK) {
        (void)!tl_store_remove(t->store, key, NULL);
        tl_free(key);
        return NULL;
    }
    return key;
}

/* Takes the probe out of the list and its time with it. */
static void take_time(tl_objects *o, const char *probe) {
    size_t n = 0;
    o->now_us = INT64_MIN;
    for (size_t i = 0; i < o->n; i++) {
        if (probe && strcmp(o->items[i].key, probe) == 0) {
            o->now_us = o->items[i].modified_us;
        } else {
            o->items[n++] = o->items[i];
        }
    }
    o->n = n;
    for (size_t i = 0; i < n && o->now_us == INT64_MIN; i++) { /* without a probe */
        for (size_t k = 0; k < n; k++) {
            o->now_us = o->items[k].modified_us > o->now_us ? o->items[k].modified_us : o->now_us;
        }
    }
}

tl_status tl_objects_list(tl_table *t, bool probe, tl_objects *out, tl_error *err) {
    *out = (tl_objects){0};
    char *key = probe ? put_probe(t) : NULL;
    tl_status status = tl_store_list(t->store, t->prefix, true, note, out, err);
    if (key) {
        (void)!tl_store_remove(t->store, key, NULL);
    }
    if (status == TL_OK) {
        take_time(out, key);
        if (out->n) {
            qsort(out->items, out->n, sizeof *out->items, by_key);
        }
    } else {
        tl_objects_free(out);
    }
    tl_free(key);
    return status;
}

const tl_object *tl_objects_find(const tl_objects *o, const char *key) {
    tl_object wanted = {.key = key};
    return o->n ? bsearch(&wanted, o->items, o->n, sizeof *o->items, by_key) : NULL;
}

bool tl_object_is_fixed(const tl_table *t, const char *key) {
    size_t n = strlen(t->prefix);
    if (strncmp(key, t->prefix, n) != 0 || strncmp(key + n, "/metadata/", 10) != 0) {
        return false;
    }
    const char *name = key + n + 10;
    size_t len = strlen(name);
    const char *end = ".metadata.json", *zipped = ".metadata.json.gz";
    return strcmp(name, "version-hint.text") == 0 || strcmp(name, "timelake-head") == 0 ||
           strcmp(name, TL_OLDER_NAME) == 0 || strcmp(name, TL_HEAT_NAME) == 0 ||
           (len > strlen(end) && strcmp(name + len - strlen(end), end) == 0) ||
           (len > strlen(zipped) && strcmp(name + len - strlen(zipped), zipped) == 0);
}
