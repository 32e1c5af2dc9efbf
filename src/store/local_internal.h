/* What the files of the local store share. */
#ifndef TL_STORE_LOCAL_INTERNAL_H
#define TL_STORE_LOCAL_INTERNAL_H

#include "base/lock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "store/local.h"

/* Hashes of folders whose own entry, and those of all folders above, are known to be on the disk. */
typedef struct tl_folder_set {
    uint64_t *slots; /* 0 = free */
    size_t n, cap;
} tl_folder_set;

typedef struct tl_local {
    tl_store base;
    int root;     /* the root directory; all access is relative to it */
    tl_lock lock; /* over `durable` */
    tl_folder_set durable;
    tl_pool *sync_pool; /* NULL = not made yet; used by who has `syncing`: for syncs and removals */
    _Atomic bool syncing;
} tl_local;

#define TL_KEY_MAX 4096

/* "%s/%s: why" with the errno text; ENOSPC and EDQUOT say what to do. */
tl_status tl_local_fail(const tl_local *l, const char *key, int code, tl_error *err);

/* The folder part of a key: "" for a key at the root. */
void tl_local_folder_of(const char *key, char out[TL_KEY_MAX]);

/* A temporary file's name: hidden from listings. */
bool tl_local_is_temporary(const char *name);

/* Forgets that the folder is durable: it was made anew. */
void tl_local_folder_made(tl_local *l, const char *folder);

/* Makes the entries of the keys durable: their folders, and what is not known of the chain above. */
tl_status tl_local_sync_folders(tl_local *l, const char *const *keys, size_t n, tl_error *err);
tl_status tl_local_sync(tl_store *self, const char *const *keys, size_t n, tl_error *err);

/* The same for the contents of the file `path` and for keys with their entries, side by side. `path` gets its name
 * later: its entry is not asked for. */
tl_status tl_local_sync_with(tl_local *l, const char *const *keys, size_t n, const char *path, tl_error *err);

/* The store's own threads, for work that waits for the disk; NULL when somebody else has them. Give them back (NULL is
 * fine). */
tl_pool *tl_local_take_pool(tl_local *l);
void tl_local_give_pool(tl_local *l, tl_pool *pool);

/* As tl_store_remove_all. */
size_t tl_local_remove_all(tl_store *self, const char *const *keys, size_t n);

/* Data and size of an open file to the disk. False with errno. */
bool tl_local_flush(int fd);

tl_status tl_local_list(tl_store *self, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                        tl_error *err);
void tl_local_prune(tl_store *self, const char *prefix, int64_t age_us);

#endif
