/*
 * Making objects of the local disk durable, many at once.
 *
 * What is needed: one sync a file and one a folder that got a name, in any order. Each is a wait for the disk to flush
 * its cache, but waits of several threads are served by one flush and one turn of the file system's journal: 728 syncs
 * took 2.3 s one after the other and 0.05 s in 4 or more threads (ext4). So writing is started on all files, and then
 * all syncs wait side by side; every folder is synced once however many names it got.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/pool.h"
#include "store/local_internal.h"

enum { THREADS = 8, FOLDERS_MAX = 1 << 16 };

/* ---- folders known to be durable ---- */

static uint64_t folder_hash(const char *folder) {
    uint64_t h = tl_hash_bytes(folder, strlen(folder), 0x746c);
    return h ? h : 1;
}

static bool set_has(const tl_folder_set *set, uint64_t h) {
    if (!set->cap) {
        return false;
    }
    for (size_t i = (size_t)h & (set->cap - 1);; i = (i + 1) & (set->cap - 1)) {
        if (set->slots[i] == h || set->slots[i] == 0) {
            return set->slots[i] == h;
        }
    }
}

static void set_clear(tl_folder_set *set) {
    if (set->slots) {
        memset(set->slots, 0, set->cap * sizeof *set->slots);
    }
    set->n = 0;
}

/* Best effort: a folder that is not remembered is synced again. */
static void set_add(tl_folder_set *set, uint64_t h) {
    if (set_has(set, h)) {
        return;
    }
    if (set->n >= FOLDERS_MAX) {
        set_clear(set);
    }
    if (set->n * 2 >= set->cap) {
        size_t cap = set->cap ? set->cap * 2 : 64;
        uint64_t *slots = tl_calloc(cap, sizeof *slots);
        if (!slots) {
            return;
        }
        tl_folder_set grown = {slots, 0, cap};
        for (size_t i = 0; i < set->cap; i++) {
            if (set->slots[i]) {
                set_add(&grown, set->slots[i]);
            }
        }
        tl_free(set->slots);
        *set = grown;
    }
    size_t i = (size_t)h & (set->cap - 1);
    while (set->slots[i]) {
        i = (i + 1) & (set->cap - 1);
    }
    set->slots[i] = h;
    set->n++;
}

static bool is_durable(tl_local *l, const char *folder) {
    tl_lock_take(&l->lock);
    bool has = set_has(&l->durable, folder_hash(folder));
    tl_lock_give(&l->lock);
    return has;
}

void tl_local_folder_made(tl_local *l, const char *folder) {
    tl_lock_take(&l->lock);
    if (set_has(&l->durable, folder_hash(folder))) {
        set_clear(&l->durable); /* it was removed and made anew, which is rare: forget all */
    }
    tl_lock_give(&l->lock);
}

/* ---- folders ---- */

typedef struct text_list {
    char **items;
    size_t n, cap;
} text_list;

static void list_free(text_list *t) {
    for (size_t i = 0; i < t->n; i++) {
        tl_free(t->items[i]);
    }
    tl_free(t->items);
    *t = (text_list){0};
}

static bool list_add(text_list *t, const char *text) {
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        char **items = tl_realloc_array(t->items, cap, sizeof *items);
        if (!items) {
            return false;
        }
        t->items = items;
        t->cap = cap;
    }
    char *copy = tl_strdup(text);
    if (copy) {
        t->items[t->n++] = copy;
    }
    return copy != NULL;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_sort_unique(text_list *t) {
    if (t->n == 0) {
        return;
    }
    qsort(t->items, t->n, sizeof *t->items, by_text);
    size_t kept = 1;
    for (size_t i = 1; i < t->n; i++) {
        if (strcmp(t->items[i], t->items[kept - 1]) == 0) {
            tl_free(t->items[i]);
        } else {
            t->items[kept++] = t->items[i];
        }
    }
    t->n = kept;
}

static tl_status sync_folder(tl_local *l, const char *folder, tl_error *err) {
    int fd;
    do {
        fd = openat(l->root, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        tl_status status = tl_local_fail(l, folder, errno, err);
        return status == TL_NOT_FOUND ? TL_IO : status;
    }
    int r, code;
    do {
        r = fsync(fd);
        code = errno;
    } while (r != 0 && code == EINTR);
    (void)close(fd);
    if (r != 0 && code != EINVAL && code != ENOTSUP) {
        return tl_local_fail(l, folder, code, err);
    }
    return TL_OK;
}

/* `folders` = folders to sync; `chain` = those whose entries become durable by that. */
static bool gather(tl_local *l, const char *const *keys, size_t n, text_list *folders, text_list *chain) {
    char folder[TL_KEY_MAX], above[TL_KEY_MAX];
    for (size_t i = 0; i < n; i++) {
        tl_local_folder_of(keys[i], folder);
        if (folders->n && strcmp(folders->items[folders->n - 1], folder) == 0) {
            continue; /* neighbours mostly share their folder */
        }
        if (!list_add(folders, folder)) {
            return false;
        }
        while (*folder && !is_durable(l, folder)) {
            tl_local_folder_of(folder, above);
            if (!list_add(chain, folder) || !list_add(folders, above)) {
                return false;
            }
            memcpy(folder, above, sizeof folder);
        }
    }
    list_sort_unique(folders);
    return true;
}

/* ---- all at once ---- */

/* A file that was written through another descriptor: the kernel keeps a write error of such a file until somebody has
 * seen it, so that this sync reports it. */
static tl_status sync_file(tl_local *l, const char *key, tl_error *err) {
    int fd;
    do {
        fd = openat(l->root, key, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    bool good = fd >= 0 && tl_local_flush(fd);
    int code = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!good) {
        tl_status status = tl_local_fail(l, key, code, err);
        return status == TL_NOT_FOUND ? TL_IO : status;
    }
    return TL_OK;
}

typedef struct syncing {
    tl_local *store;
    const char *const *files;
    size_t n_files;
    const text_list *folders;
} syncing;

static tl_status sync_one(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    const syncing *s = ctx;
    return i < s->n_files ? sync_file(s->store, s->files[i], err)
                          : sync_folder(s->store, s->folders->items[i - s->n_files], err);
}

/* With a thread for each file that is of no use. */
static void start_writing(tl_local *l, const char *const *files, size_t n) {
    for (size_t i = 0; i < n && n > THREADS; i++) {
        int fd = openat(l->root, files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0) {
            (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
            (void)close(fd);
        }
    }
}

/* The store's threads, made at their first use; NULL when another sync has them. Making threads anew for each commit
 * costs about as much as a sync. */
tl_pool *tl_local_take_pool(tl_local *l) {
    if (atomic_exchange(&l->syncing, true)) {
        return NULL;
    }
    if (!l->sync_pool && tl_pool_create(THREADS, &l->sync_pool, NULL) != TL_OK) {
        l->sync_pool = NULL;
        atomic_store(&l->syncing, false);
    }
    return l->sync_pool;
}

void tl_local_give_pool(tl_local *l, tl_pool *pool) {
    if (pool) {
        atomic_store(&l->syncing, false);
    }
}

static tl_status sync_side_by_side(syncing *s, tl_error *err) {
    size_t n = s->n_files + s->folders->n;
    if (n < 2) {
        return tl_pool_run(NULL, n, sync_one, s, err);
    }
    tl_pool *mine = tl_local_take_pool(s->store), *pool = mine;
    if (!mine && tl_pool_create(n < THREADS ? (unsigned)n : THREADS, &pool, NULL) != TL_OK) {
        pool = NULL; /* then one after the other */
    }
    tl_status status = tl_pool_run(pool, n, sync_one, s, err);
    if (mine) {
        tl_local_give_pool(s->store, mine);
    } else {
        tl_pool_free(pool);
    }
    return status;
}

/* The files, and the folders of `keys`. */
static tl_status sync_all(tl_local *l, const char *const *files, size_t n_files, const char *const *keys, size_t n,
                          tl_error *err) {
    text_list folders = {0}, chain = {0};
    tl_status status = gather(l, keys, n, &folders, &chain) ? TL_OK : tl_fail_memory(err, TL_KEY_MAX);
    if (status == TL_OK) {
        start_writing(l, files, n_files);
        syncing s = {l, files, n_files, &folders};
        status = sync_side_by_side(&s, err);
    }
    if (status == TL_OK) {
        tl_lock_take(&l->lock);
        for (size_t i = 0; i < chain.n; i++) {
            set_add(&l->durable, folder_hash(chain.items[i]));
        }
        tl_lock_give(&l->lock);
    }
    list_free(&folders);
    list_free(&chain);
    return status;
}

tl_status tl_local_sync_with(tl_local *l, const char *const *keys, size_t n, const char *path, tl_error *err) {
    const char **files = tl_alloc_array(n + 1, sizeof *files);
    if (!files) {
        return tl_fail_memory(err, (n + 1) * sizeof *files);
    }
    if (n) {
        memcpy(files, keys, n * sizeof *files);
    }
    files[n] = path;
    tl_status status = sync_all(l, files, n + 1, keys, n, err);
    tl_free(files);
    return status;
}

tl_status tl_local_sync_folders(tl_local *l, const char *const *keys, size_t n, tl_error *err) {
    return sync_all(l, NULL, 0, keys, n, err);
}

tl_status tl_local_sync(tl_store *self, const char *const *keys, size_t n, tl_error *err) {
    return sync_all((tl_local *)self, keys, n, keys, n, err);
}
