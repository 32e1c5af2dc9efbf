/*
 * Objects: get, ranged get, put, put-if-absent, list, delete, below one root. Keys are relative paths with '/' between
 * parts ("default/readings/metadata/v1.metadata.json"); no empty part, no "." or "..", no leading '/'.
 * Back ends: local disk (local.h), memory (memory.h), and a faulty one that wraps another (faulty.h).
 */
#ifndef TL_STORE_STORE_H
#define TL_STORE_STORE_H

#include "base/buf.h"
#include "base/env.h"

typedef struct tl_store tl_store;
typedef struct tl_object_writer tl_object_writer;

typedef struct tl_object_info {
    const char *key; /* valid during the call-back */
    uint64_t size;
    int64_t modified_us; /* by the store's clock */
} tl_object_info;
typedef tl_status (*tl_list_visit)(void *ctx, const tl_object_info *object, tl_error *err);

/* How durable a put is. Local disk: SYNC = contents and directory entry are on the disk when the call returns. LATER =
 * the caller will ask for it by tl_store_sync (many at once), or does not need it. NEW = as LATER, of a name that
 * nobody knows yet: the object may be seen half written by who lists the folder, which spares giving it its name in a
 * step of its own. */
typedef enum tl_put_mode { TL_PUT_SYNC, TL_PUT_LATER, TL_PUT_NEW } tl_put_mode;

/* One function table per back end. `self` is the store. All functions may be called from several threads. */
typedef struct tl_store_ops {
    const char *scheme; /* "file", "memory" ... */
    tl_status (*get)(tl_store *self, const char *key, uint64_t offset, uint64_t len, tl_buf *out, tl_error *err);
    tl_status (*size)(tl_store *self, const char *key, uint64_t *size, tl_error *err);
    tl_status (*put)(tl_store *self, const char *key, tl_bytes data, bool if_absent, tl_put_mode mode, tl_error *err);
    /* tl_store_put_after; NULL = sync, then put. */
    tl_status (*put_after)(tl_store *self, const char *key, tl_bytes data, const char *const *keys, size_t n,
                           tl_error *err);
    tl_status (*open_writer)(tl_store *self, const char *key, tl_put_mode mode, tl_object_writer **out, tl_error *err);
    tl_status (*writer_write)(tl_object_writer *w, tl_bytes data, tl_error *err);
    tl_status (*writer_finish)(tl_object_writer *w, tl_error *err); /* frees w, also on failure */
    void (*writer_abort)(tl_object_writer *w);
    tl_status (*list)(tl_store *self, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                      tl_error *err);
    tl_status (*remove)(tl_store *self, const char *key, tl_error *err);     /* missing = TL_OK */
    size_t (*remove_all)(tl_store *self, const char *const *keys, size_t n); /* NULL = one by one */
    tl_status (*sync)(tl_store *self, const char *const *keys, size_t n, tl_error *err);
    /* Removes what killed writers left below `prefix` and has not been touched for `age_us`: temporary files and empty
     * folders. Best effort; NULL = nothing to do. */
    void (*prune)(tl_store *self, const char *prefix, int64_t age_us);
    void (*close)(tl_store *self);
} tl_store_ops;

struct tl_store {
    const tl_store_ops *ops;
    const tl_env *env;
    char *root_uri;   /* "file:///data/lake", "memory://lake": no trailing '/' */
    char *root_alias; /* another spelling that URIs in metadata may use (a root opened through a symbolic link); NULL =
                         none */
};

/* Opens by location: a local path, "file:/p", "file:///p", "memory://name". create: make the directory when missing.
 * TL_NOT_FOUND when it is not there and create is false; TL_UNSUPPORTED for other schemes. Caller closes. */
tl_status tl_store_open(const char *location, bool create, const tl_env *env, tl_store **out, tl_error *err) TL_CHECKED;
void tl_store_close(tl_store *s);

/* Appends the object's bytes to `out`. TL_NOT_FOUND when there is none. Range: exactly `len` bytes from `offset`
 * (TL_IO "cut short" when it has fewer). */
tl_status tl_store_get(tl_store *s, const char *key, tl_buf *out, tl_error *err) TL_CHECKED;
tl_status tl_store_get_range(tl_store *s, const char *key, uint64_t offset, uint64_t len, tl_buf *out,
                             tl_error *err) TL_CHECKED;
tl_status tl_store_size(tl_store *s, const char *key, uint64_t *size, tl_error *err) TL_CHECKED;
bool tl_store_exists(tl_store *s, const char *key);

tl_status tl_store_put(tl_store *s, const char *key, tl_bytes data, tl_put_mode mode, tl_error *err) TL_CHECKED;
/* The commit: TL_OK = it is ours; TL_EXISTS = another's was there first; TL_UNKNOWN = cannot say (the reply was lost);
 * others: definitely not written. A reader never sees a part of it. */
tl_status tl_store_put_if_absent(tl_store *s, const char *key, tl_bytes data, tl_put_mode mode,
                                 tl_error *err) TL_CHECKED;

/* The same, durable, after the named keys, put with TL_PUT_LATER, are durable as by tl_store_sync; where that failed
 * nothing is put, and the status is not TL_UNKNOWN. Local disk: the object's contents are synced beside them, so that
 * two waits follow each other where sync and put would have three. */
tl_status tl_store_put_after(tl_store *s, const char *key, tl_bytes data, const char *const *keys, size_t n,
                             tl_error *err) TL_CHECKED;

/* A large object, piece by piece; visible only after finish. */
tl_status tl_store_open_writer(tl_store *s, const char *key, tl_put_mode mode, tl_object_writer **out,
                               tl_error *err) TL_CHECKED;
tl_status tl_object_writer_write(tl_store *s, tl_object_writer *w, tl_bytes data, tl_error *err) TL_CHECKED;
tl_status tl_object_writer_finish(tl_store *s, tl_object_writer *w, tl_error *err) TL_CHECKED;
void tl_object_writer_abort(tl_store *s, tl_object_writer *w);

/* Objects whose key starts with `prefix` + '/', sorted by key. Not recursive: sub-folders come as keys ending in '/'.
 */
tl_status tl_store_list(tl_store *s, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                        tl_error *err) TL_CHECKED;
tl_status tl_store_remove(tl_store *s, const char *key, tl_error *err) TL_CHECKED;
/* Removes the keys in their order and ends at the first that cannot be removed; returns how many are gone. Local disk:
 * waits for many at once. */
size_t tl_store_remove_all(tl_store *s, const char *const *keys, size_t n);
/* Local disk: temporary files that killed writers left below the prefix and empty folders, if older than `age_us`. */
void tl_store_prune(tl_store *s, const char *prefix, int64_t age_us);

/* Makes the named objects, put with TL_PUT_LATER, and their directory entries durable; overlaps the waiting. */
tl_status tl_store_sync(tl_store *s, const char *const *keys, size_t n, tl_error *err) TL_CHECKED;

/* Relative, parts between single '/', none empty, "." or ".."; at most 4,000 bytes. `folder`: "" is allowed as well. */
bool tl_store_key_valid(const char *key, bool folder);

/* ---- URIs in metadata ---- */
/* The absolute URI of a key: root_uri + "/" + key. NULL when memory ends; caller frees. */
char *tl_store_uri(const tl_store *s, const char *key);
/* The key of a URI or plain path found in metadata: "file:///r/k", "file:/r/k", "/r/k" all become "k" when they lie
 * below the root (double slashes folded, percent-encoding as found on disk, ".." refused). TL_INVALID when outside. */
tl_status tl_store_key(const tl_store *s, const char *uri, char **out, tl_error *err) TL_CHECKED;

/* The local path of a key ("/data/lake/k"), for engines that open files by themselves; NULL for other back ends or when
 * memory ends. Caller frees. */
char *tl_store_local_path(const tl_store *s, const char *key);

#endif
