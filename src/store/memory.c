/* A store in memory: a sorted array of objects under a lock. */
#include "store/memory.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

typedef struct object {
    char *key;
    uint8_t *data;
    size_t len;
    int64_t modified_us;
} object;

/* What all handles of one name share. */
typedef struct lake {
    struct lake *next;
    char *name; /* "" = private, not in the registry */
    int handles;
    tl_lock lock;
    object *objects; /* ordered by key */
    size_t n, cap;
} lake;

typedef struct tl_memory {
    tl_store base;
    lake *lake;
} tl_memory;

#ifdef TL_NO_THREADS
static tl_lock registry_lock;
#else
static tl_lock registry_lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static lake *registry;

static void lake_free(lake *k) {
    for (size_t i = 0; i < k->n; i++) {
        tl_free(k->objects[i].key);
        tl_free(k->objects[i].data);
    }
    tl_free(k->objects);
    tl_lock_free(&k->lock);
    tl_free(k->name);
    tl_free(k);
}

/* Where the key is (true) or belongs (false). */
static bool find(const lake *k, const char *key, size_t *at) {
    size_t lo = 0, hi = k->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(k->objects[mid].key, key);
        if (c == 0) {
            *at = mid;
            return true;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *at = lo;
    return false;
}

static tl_status missing(const tl_store *s, const char *key, tl_error *err) {
    return tl_fail(err, TL_NOT_FOUND, "%s/%s: no such object", s->root_uri, key);
}

static lake *lock_lake(tl_store *self) {
    lake *k = ((tl_memory *)self)->lake;
    tl_lock_take(&k->lock);
    return k;
}

static tl_status copy_range(tl_store *self, const object *o, uint64_t offset, uint64_t len, tl_buf *out,
                            tl_error *err) {
    if (len == UINT64_MAX) {
        len = o->len - (offset < o->len ? offset : o->len);
    } else if (offset > o->len || len > o->len - offset) {
        return tl_fail(err, TL_IO, "%s/%s: cut short: %llu bytes at offset %llu were asked for, it has %zu",
                       self->root_uri, o->key, (unsigned long long)len, (unsigned long long)offset, o->len);
    }
    return tl_buf_add(out, o->data + offset, (size_t)len) == TL_OK ? TL_OK : tl_fail_memory(err, (size_t)len);
}

static tl_status memory_get(tl_store *self, const char *key, uint64_t offset, uint64_t len, tl_buf *out,
                            tl_error *err) {
    lake *k = lock_lake(self);
    size_t at;
    tl_status status =
        find(k, key, &at) ? copy_range(self, &k->objects[at], offset, len, out, err) : missing(self, key, err);
    tl_lock_give(&k->lock);
    return status;
}

static tl_status memory_size(tl_store *self, const char *key, uint64_t *size, tl_error *err) {
    lake *k = lock_lake(self);
    size_t at;
    bool there = find(k, key, &at);
    if (there) {
        *size = k->objects[at].len;
    }
    tl_lock_give(&k->lock);
    return there ? TL_OK : missing(self, key, err);
}

static tl_status insert(lake *k, size_t at, const char *key, object *o, tl_error *err) {
    object *objects = tl_grow(k->objects, &k->cap, k->n + 1, 64, sizeof *objects, err);
    if (!objects) {
        return TL_NO_MEMORY;
    }
    k->objects = objects;
    o->key = tl_strdup(key);
    if (!o->key) {
        return tl_fail_memory(err, strlen(key));
    }
    memmove(k->objects + at + 1, k->objects + at, (k->n - at) * sizeof *k->objects);
    k->objects[at] = *o;
    k->n++;
    return TL_OK;
}

/* Takes `o->data` on success. */
static tl_status store_object(tl_store *self, const char *key, object *o, bool if_absent, tl_error *err) {
    o->modified_us = tl_env_now_us(self->env);
    lake *k = lock_lake(self);
    size_t at;
    tl_status status = TL_OK;
    if (!find(k, key, &at)) {
        status = insert(k, at, key, o, err);
    } else if (if_absent) {
        status = tl_fail(err, TL_EXISTS, "%s/%s: is there already", self->root_uri, key);
    } else {
        tl_free(k->objects[at].data);
        o->key = k->objects[at].key;
        k->objects[at] = *o;
    }
    tl_lock_give(&k->lock);
    return status;
}

static tl_status memory_put(tl_store *self, const char *key, tl_bytes data, bool if_absent, tl_put_mode mode,
                            tl_error *err) {
    (void)mode;
    object o = {.data = tl_alloc(data.len), .len = data.len};
    if (!o.data) {
        return tl_fail_memory(err, data.len);
    }
    if (data.len) {
        memcpy(o.data, data.data, data.len);
    }
    tl_status status = store_object(self, key, &o, if_absent, err);
    if (status != TL_OK) {
        tl_free(o.data);
    }
    return status;
}

struct tl_object_writer {
    tl_store *store;
    char *key;
    tl_buf data;
};

static void memory_abort(tl_object_writer *w) {
    tl_buf_free(&w->data);
    tl_free(w->key);
    tl_free(w);
}

static tl_status memory_open_writer(tl_store *self, const char *key, tl_put_mode mode, tl_object_writer **out,
                                    tl_error *err) {
    (void)mode;
    tl_object_writer *w = tl_calloc(1, sizeof *w);
    if (w) {
        w->store = self;
        w->key = tl_strdup(key);
    }
    if (!w || !w->key) {
        tl_free(w);
        return tl_fail_memory(err, sizeof *w);
    }
    *out = w;
    return TL_OK;
}

static tl_status memory_write(tl_object_writer *w, tl_bytes data, tl_error *err) {
    return tl_buf_add(&w->data, data.data, data.len) == TL_OK ? TL_OK : tl_fail_memory(err, data.len);
}

static tl_status memory_finish(tl_object_writer *w, tl_error *err) {
    tl_status status = memory_put(w->store, w->key, tl_buf_bytes(&w->data), false, TL_PUT_SYNC, err);
    memory_abort(w);
    return status;
}

/* ---- listing ---- */

typedef struct listing {
    tl_object_info *items;
    size_t n, cap;
} listing;

static tl_status listing_add(listing *s, const char *key, size_t key_len, const object *o, tl_error *err) {
    tl_object_info *items = tl_grow(s->items, &s->cap, s->n + 1, 64, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    s->items = items;
    char *copy = tl_strndup(key, key_len);
    if (!copy) {
        return tl_fail_memory(err, key_len);
    }
    s->items[s->n++] = (tl_object_info){copy, o ? o->len : 0, o ? o->modified_us : 0};
    return TL_OK;
}

static tl_status gather(tl_store *self, const char *prefix, bool recursive, listing *s, tl_error *err) {
    size_t len = strlen(prefix);
    lake *k = lock_lake(self);
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < k->n; i++) {
        const char *key = k->objects[i].key;
        if (len && (strncmp(key, prefix, len) != 0 || key[len] != '/')) {
            continue;
        }
        const char *rest = key + len + (len ? 1 : 0), *slash = strchr(rest, '/');
        if (recursive || !slash) {
            status = listing_add(s, key, strlen(key), &k->objects[i], err);
            continue;
        }
        size_t folder = (size_t)(slash - key) + 1;
        const char *last = s->n ? s->items[s->n - 1].key : "";
        if (strncmp(last, key, folder) != 0 || last[folder] != '\0') {
            status = listing_add(s, key, folder, NULL, err);
        }
    }
    tl_lock_give(&k->lock);
    return status;
}

/* The visits run without the lock: they may use the store. */
static tl_status memory_list(tl_store *self, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                             tl_error *err) {
    listing s = {0};
    tl_status status = gather(self, prefix, recursive, &s, err);
    for (size_t i = 0; status == TL_OK && i < s.n; i++) {
        status = visit(ctx, &s.items[i], err);
    }
    for (size_t i = 0; i < s.n; i++) {
        tl_free((char *)(uintptr_t)s.items[i].key);
    }
    tl_free(s.items);
    return status;
}

static tl_status memory_remove(tl_store *self, const char *key, tl_error *err) {
    (void)err;
    lake *k = lock_lake(self);
    size_t at;
    if (find(k, key, &at)) {
        tl_free(k->objects[at].key);
        tl_free(k->objects[at].data);
        k->n--;
        memmove(k->objects + at, k->objects + at + 1, (k->n - at) * sizeof *k->objects);
    }
    tl_lock_give(&k->lock);
    return TL_OK;
}

static tl_status memory_sync(tl_store *self, const char *const *keys, size_t n, tl_error *err) {
    for (size_t i = 0; i < n; i++) {
        uint64_t size;
        TL_TRY(memory_size(self, keys[i], &size, err));
    }
    return TL_OK;
}

static void memory_close(tl_store *self) {
    lake *k = ((tl_memory *)self)->lake;
    tl_lock_take(&registry_lock);
    bool last = --k->handles == 0;
    if (last) {
        for (lake **p = &registry; *p; p = &(*p)->next) {
            if (*p == k) {
                *p = k->next;
                break;
            }
        }
    }
    tl_lock_give(&registry_lock);
    if (last) {
        lake_free(k);
    }
    tl_free(self->root_uri);
    tl_free(self);
}

static const tl_store_ops memory_ops = {
    .scheme = "memory",
    .get = memory_get,
    .size = memory_size,
    .put = memory_put,
    .open_writer = memory_open_writer,
    .writer_write = memory_write,
    .writer_finish = memory_finish,
    .writer_abort = memory_abort,
    .list = memory_list,
    .remove = memory_remove,
    .sync = memory_sync,
    .close = memory_close,
};

/* The registry's lake of that name, or a new one; one handle more. Call with the registry locked. */
static lake *lake_of(const char *name) {
    for (lake *k = registry; *name && k; k = k->next) {
        if (strcmp(k->name, name) == 0) {
            k->handles++;
            return k;
        }
    }
    lake *k = tl_calloc(1, sizeof *k);
    if (k && !(k->name = tl_strdup(name))) {
        tl_free(k);
        k = NULL;
    }
    if (k) {
        tl_lock_init(&k->lock);
        k->handles = 1;
        if (*name) {
            k->next = registry;
            registry = k;
        }
    }
    return k;
}

tl_status tl_memory_open(const char *name, const tl_env *env, tl_store **out, tl_error *err) {
    *out = NULL;
    size_t len = strlen(name);
    while (len && name[len - 1] == '/') {
        len--;
    }
    tl_memory *m = tl_calloc(1, sizeof *m);
    char *trimmed = tl_strndup(name, len);
    if (m && trimmed) {
        m->base = (tl_store){
            .ops = &memory_ops, .env = env, .root_uri = tl_format("memory://%s", *trimmed ? trimmed : "lake")};
        if (m->base.root_uri) {
            tl_lock_take(&registry_lock);
            m->lake = lake_of(trimmed);
            tl_lock_give(&registry_lock);
        }
    }
    tl_free(trimmed);
    if (!m || !m->lake) {
        if (m) {
            tl_free(m->base.root_uri);
        }
        tl_free(m);
        return tl_fail_memory(err, sizeof *m);
    }
    *out = &m->base;
    return TL_OK;
}
