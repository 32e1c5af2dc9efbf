/* The local disk: get, put, writers, remove. See local.h for what a kill or a power loss can leave. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/local_internal.h"

tl_status tl_local_fail(const tl_local *l, const char *key, int code, tl_error *err) {
    const char *hint = code == ENOSPC || code == EDQUOT ? ": free some space and repeat" : "";
    tl_status status = code == ENOENT || code == ENOTDIR ? TL_NOT_FOUND : code == ENOMEM ? TL_NO_MEMORY : TL_IO;
    return tl_fail(err, status, "%s%s%s: %s%s", l->base.root_uri + 7, *key ? "/" : "", key, strerror(code), hint);
}

void tl_local_folder_of(const char *key, char out[TL_KEY_MAX]) {
    const char *slash = strrchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;
    n = n < TL_KEY_MAX ? n : TL_KEY_MAX - 1;
    memcpy(out, key, n);
    out[n] = '\0';
}

static int open_retry(int dir, const char *path, int flags, mode_t mode) {
    int fd;
    do {
        fd = openat(dir, path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Closes; false with errno when the file system only now says that bytes were lost. */
static bool close_checked(int fd) {
    return close(fd) == 0 || errno == EINTR; /* after EINTR the descriptor is gone on Linux, its data is not */
}

bool tl_local_flush(int fd) {
    int r;
    do {
        r = fdatasync(fd);
    } while (r != 0 && errno == EINTR);
    return r == 0 || errno == EINVAL || errno == ENOTSUP; /* places that cannot sync: nothing more can be done */
}

/* ---- reading ---- */

static tl_status open_object(tl_local *l, const char *key, int *fd, uint64_t *size, tl_error *err) {
    *fd = open_retry(l->root, key, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0); /* a fifo must not make us wait */
    struct stat st;
    if (*fd < 0) {
        return tl_local_fail(l, key, errno, err);
    }
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(*fd);
        return tl_fail(err, TL_NOT_FOUND, "%s/%s: not a file", l->base.root_uri + 7, key);
    }
    *size = (uint64_t)st.st_size;
    return TL_OK;
}

static tl_status read_range(tl_local *l, const char *key, int fd, uint64_t offset, uint64_t len, tl_buf *out,
                            tl_error *err) {
    size_t left = (size_t)len;
    while (left) {
        ssize_t n = pread(fd, out->data + out->len, left, (off_t)offset);
        if (n > 0) {
            out->len += (size_t)n;
            offset += (uint64_t)n;
            left -= (size_t)n;
        } else if (n == 0) {
            return tl_fail(err, TL_IO, "%s/%s: cut short: %zu bytes are missing at offset %llu", l->base.root_uri + 7,
                           key, left, (unsigned long long)offset);
        } else if (errno != EINTR) {
            return tl_local_fail(l, key, errno, err);
        }
    }
    return TL_OK;
}

static tl_status local_get(tl_store *self, const char *key, uint64_t offset, uint64_t len, tl_buf *out, tl_error *err) {
    tl_local *l = (tl_local *)self;
    int fd = -1;
    uint64_t size = 0;
    TL_TRY(open_object(l, key, &fd, &size, err));
    size_t before = out->len;
    tl_status status = TL_OK;
    if (len == UINT64_MAX) {
        len = size - (offset < size ? offset : size);
    } else if (offset > size || len > size - offset) {
        status = tl_fail(err, TL_IO, "%s/%s: cut short: %llu bytes at offset %llu were asked for, the file has %llu",
                         l->base.root_uri + 7, key, (unsigned long long)len, (unsigned long long)offset,
                         (unsigned long long)size);
    }
    if (status == TL_OK && tl_buf_reserve(out, (size_t)len) != TL_OK) {
        status = tl_fail_memory(err, (size_t)len);
    }
    if (status == TL_OK && len) {
        status = read_range(l, key, fd, offset, len, out, err);
    }
    (void)close(fd);
    if (status != TL_OK) {
        out->len = before;
    }
    return status;
}

static tl_status local_size(tl_store *self, const char *key, uint64_t *size, tl_error *err) {
    tl_local *l = (tl_local *)self;
    struct stat st;
    if (fstatat(l->root, key, &st, 0) != 0) {
        return tl_local_fail(l, key, errno, err);
    }
    if (!S_ISREG(st.st_mode)) {
        return tl_fail(err, TL_NOT_FOUND, "%s/%s: not a file", l->base.root_uri + 7, key);
    }
    *size = (uint64_t)st.st_size;
    return TL_OK;
}

/* ---- temporary files ---- */

typedef struct temp_file {
    int fd;
    char path[TL_KEY_MAX + 64];
} temp_file;

bool tl_local_is_temporary(const char *name) {
    const char *hash = strchr(name, '#');
    return hash && hash[1] && hash[1 + strspn(hash + 1, "0123456789")] == '\0';
}

/* Makes the folder and those above it. */
static bool make_folders(tl_local *l, const char *folder) {
    char part[TL_KEY_MAX];
    for (size_t n = strcspn(folder, "/");; n += 1 + strcspn(folder + n + 1, "/")) {
        memcpy(part, folder, n);
        part[n] = '\0';
        if (n && mkdirat(l->root, part, 0777) == 0) {
            tl_local_folder_made(l, part);
        } else if (n && errno != EEXIST) {
            return false;
        }
        if (!folder[n]) {
            return true;
        }
    }
}

/* Opens a new temporary file beside `key`, making folders as needed. A folder can be pruned by somebody between making
 * it and opening the file, so this is tried a few times. */
static tl_status temp_open(tl_local *l, const char *key, temp_file *t, tl_error *err) {
    char folder[TL_KEY_MAX];
    tl_local_folder_of(key, folder);
    for (int attempt = 0; attempt < 8; attempt++) {
        (void)snprintf(t->path, sizeof t->path, "%s%stl-%016llx#1", folder, *folder ? "/" : "",
                       (unsigned long long)tl_env_random_u64(l->base.env));
        t->fd = open_retry(l->root, t->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
        if (t->fd >= 0) {
            return TL_OK;
        }
        if (errno != ENOENT && errno != EEXIST) {
            return tl_local_fail(l, key, errno, err);
        }
        if (errno == ENOENT && !make_folders(l, folder)) {
            int code = errno;
            (void)tl_local_fail(l, key, code, err);
            return TL_IO; /* also for ENOTDIR: an object stands where a folder should be */
        }
    }
    return tl_fail(err, TL_IO, "%s/%s: the folder vanishes again and again", l->base.root_uri + 7, key);
}

static void temp_drop(tl_local *l, temp_file *t) {
    if (t->fd >= 0) {
        (void)close(t->fd);
        t->fd = -1;
    }
    (void)unlinkat(l->root, t->path, 0);
}

static bool write_all(int fd, tl_bytes data) {
    while (data.len) {
        ssize_t n = write(fd, data.data, data.len > (1u << 30) ? (1u << 30) : data.len);
        if (n > 0) {
            data.data += n;
            data.len -= (size_t)n;
        } else if (n == 0) {
            errno = ENOSPC;
            return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Ends the writing: contents on the disk if asked for, file closed. On failure the temporary file is gone. */
static tl_status temp_seal(tl_local *l, const char *key, temp_file *t, tl_put_mode mode, tl_error *err) {
    bool good = mode != TL_PUT_SYNC || tl_local_flush(t->fd);
    int code = errno, fd = t->fd;
    t->fd = -1;
    if (!close_checked(fd) && good) {
        good = false;
        code = errno;
    }
    if (!good) {
        temp_drop(l, t);
        tl_status status = tl_local_fail(l, key, code, err);
        return status == TL_NOT_FOUND ? TL_IO : status;
    }
    return TL_OK;
}

/* By a second name, where the file system cannot rename without replacing. 0 or the error. */
static int link_if_absent(tl_local *l, const char *key, temp_file *t) {
    struct stat st;
    int code = linkat(l->root, t->path, l->root, key, 0) == 0 ? 0 : errno;
    /* NFS may repeat a request whose reply was lost and then say "exists" of our own link: two names tell. */
    if (code == EEXIST && fstatat(l->root, t->path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 2) {
        code = 0;
    }
    if (code == 0) {
        (void)unlinkat(l->root, t->path, 0);
    }
    return code;
}

/* Gives the temporary file its final name if that is free. */
static tl_status name_if_absent(tl_local *l, const char *key, temp_file *t, tl_error *err) {
    if (renameat2(l->root, t->path, l->root, key, RENAME_NOREPLACE) == 0) {
        return TL_OK;
    }
    int code = errno;
    if (code == EINVAL || code == ENOSYS || code == EOPNOTSUPP) {
        code = link_if_absent(l, key, t);
        if (code == EPERM || code == ENOSYS || code == EOPNOTSUPP || code == EMLINK) {
            temp_drop(l, t);
            return tl_fail(err, TL_UNSUPPORTED,
                           "%s/%s: this file system can neither link nor rename without replacing, so that commits of "
                           "two writers could overwrite each other; keep the lake on another one",
                           l->base.root_uri + 7, key);
        }
    }
    if (code == 0) {
        return TL_OK;
    }
    temp_drop(l, t);
    if (code == EEXIST) {
        return tl_fail(err, TL_EXISTS, "%s/%s: is there already", l->base.root_uri + 7, key);
    }
    tl_status status = tl_local_fail(l, key, code, err);
    return status == TL_NOT_FOUND ? TL_IO : status;
}

static tl_status name_replacing(tl_local *l, const char *key, temp_file *t, tl_error *err) {
    if (renameat(l->root, t->path, l->root, key) == 0) {
        return TL_OK;
    }
    int code = errno;
    temp_drop(l, t);
    tl_status status = tl_local_fail(l, key, code, err);
    return status == TL_NOT_FOUND ? TL_IO : status;
}

/* Under its own name at once. False: the name is taken or its folder is missing; the usual way finds out. */
static bool put_new(tl_local *l, const char *key, tl_bytes data, tl_status *status, tl_error *err) {
    int fd = open_retry(l->root, key, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return false;
    }
    temp_file t = {.fd = fd};
    (void)snprintf(t.path, sizeof t.path, "%s", key);
    if (write_all(fd, data)) {
        *status = temp_seal(l, key, &t, TL_PUT_NEW, err);
        return true;
    }
    int code = errno;
    temp_drop(l, &t);
    *status = tl_local_fail(l, key, code, err);
    return true;
}

static tl_status local_put(tl_store *self, const char *key, tl_bytes data, bool if_absent, tl_put_mode mode,
                           tl_error *err) {
    tl_local *l = (tl_local *)self;
    struct stat st;
    if (if_absent && fstatat(l->root, key, &st, AT_SYMLINK_NOFOLLOW) == 0) { /* cheap, and spares the sync */
        return tl_fail(err, TL_EXISTS, "%s/%s: is there already", l->base.root_uri + 7, key);
    }
    temp_file t;
    tl_status status;
    if (mode == TL_PUT_NEW && !if_absent && put_new(l, key, data, &status, err)) {
        return status;
    }
    TL_TRY(temp_open(l, key, &t, err));
    if (!write_all(t.fd, data)) {
        int code = errno;
        temp_drop(l, &t);
        status = tl_local_fail(l, key, code, err);
        return status == TL_NOT_FOUND ? TL_IO : status;
    }
    TL_TRY(temp_seal(l, key, &t, mode, err));
    TL_TRY(if_absent ? name_if_absent(l, key, &t, err) : name_replacing(l, key, &t, err));
    if (mode == TL_PUT_SYNC && tl_local_sync_folders(l, &key, 1, err) != TL_OK) {
        /* The name is there for all to see; whether it survives a power loss, nobody can say. */
        return if_absent ? TL_UNKNOWN : TL_IO;
    }
    return TL_OK;
}

/* The contents wait for the disk together with what must be on it before; then the name decides. */
static tl_status local_put_after(tl_store *self, const char *key, tl_bytes data, const char *const *keys, size_t n,
                                 tl_error *err) {
    tl_local *l = (tl_local *)self;
    struct stat st;
    if (fstatat(l->root, key, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return tl_fail(err, TL_EXISTS, "%s/%s: is there already", l->base.root_uri + 7, key);
    }
    temp_file t;
    TL_TRY(temp_open(l, key, &t, err));
    if (!write_all(t.fd, data)) {
        int code = errno;
        temp_drop(l, &t);
        tl_status status = tl_local_fail(l, key, code, err);
        return status == TL_NOT_FOUND ? TL_IO : status;
    }
    TL_TRY(temp_seal(l, key, &t, TL_PUT_LATER, err));
    tl_status status = tl_local_sync_with(l, keys, n, t.path, err);
    if (status != TL_OK) {
        temp_drop(l, &t);
        return status;
    }
    TL_TRY(name_if_absent(l, key, &t, err));
    return tl_local_sync_folders(l, &key, 1, err) == TL_OK ? TL_OK : TL_UNKNOWN;
}

/* ---- writers ---- */

enum { WRITER_BUFFER = 1 << 16, WRITEBACK_STEP = 1 << 23, WRITEBACK_LEAST = 1 << 18 };

struct tl_object_writer {
    tl_local *store;
    char *key;
    temp_file temp;
    tl_put_mode mode;
    uint64_t written, pushed; /* bytes in the file; of these, handed to the disk */
    size_t n;
    uint8_t buffer[WRITER_BUFFER];
};

static void writer_free(tl_object_writer *w) {
    tl_free(w->key);
    tl_free(w);
}

static tl_status local_open_writer(tl_store *self, const char *key, tl_put_mode mode, tl_object_writer **out,
                                   tl_error *err) {
    tl_object_writer *w = tl_alloc(sizeof *w);
    char *copy = w ? tl_strdup(key) : NULL;
    if (!copy) {
        tl_free(w);
        return tl_fail_memory(err, sizeof *w);
    }
    w->store = (tl_local *)self;
    w->key = copy;
    w->mode = mode;
    w->written = w->pushed = 0;
    w->n = 0;
    tl_status status = temp_open(w->store, key, &w->temp, err);
    if (status != TL_OK) {
        writer_free(w);
        return status;
    }
    *out = w;
    return TL_OK;
}

/* Lets the disk begin while we still compute, so that the sync later has little to wait for. */
static void push_to_disk(tl_object_writer *w) {
    (void)sync_file_range(w->temp.fd, (off_t)w->pushed, (off_t)(w->written - w->pushed), SYNC_FILE_RANGE_WRITE);
    w->pushed = w->written;
}

static tl_status write_out(tl_object_writer *w, tl_bytes data, tl_error *err) {
    if (!write_all(w->temp.fd, data)) {
        int code = errno;
        tl_status status = tl_local_fail(w->store, w->key, code, err);
        return status == TL_NOT_FOUND ? TL_IO : status;
    }
    w->written += data.len;
    if (w->written - w->pushed >= WRITEBACK_STEP) {
        push_to_disk(w);
    }
    return TL_OK;
}

static tl_status local_writer_write(tl_object_writer *w, tl_bytes data, tl_error *err) {
    if (w->n + data.len < WRITER_BUFFER) {
        if (data.len) {
            memcpy(w->buffer + w->n, data.data, data.len);
            w->n += data.len;
        }
        return TL_OK;
    }
    TL_TRY(write_out(w, (tl_bytes){w->buffer, w->n}, err));
    w->n = 0;
    if (data.len >= WRITER_BUFFER) {
        return write_out(w, data, err);
    }
    memcpy(w->buffer, data.data, data.len);
    w->n = data.len;
    return TL_OK;
}

static tl_status local_writer_finish(tl_object_writer *w, tl_error *err) {
    tl_local *l = w->store;
    tl_status status = write_out(w, (tl_bytes){w->buffer, w->n}, err);
    if (status != TL_OK) {
        temp_drop(l, &w->temp);
        writer_free(w);
        return status;
    }
    if (w->written - w->pushed >= WRITEBACK_LEAST) {
        push_to_disk(w);
    }
    status = temp_seal(l, w->key, &w->temp, w->mode, err);
    if (status == TL_OK) {
        status = name_replacing(l, w->key, &w->temp, err);
    }
    if (status == TL_OK && w->mode == TL_PUT_SYNC) {
        const char *key = w->key;
        status = tl_local_sync_folders(l, &key, 1, err);
    }
    writer_free(w);
    return status;
}

static void local_writer_abort(tl_object_writer *w) {
    temp_drop(w->store, &w->temp);
    writer_free(w);
}

/* ---- the rest ---- */

static tl_status local_remove(tl_store *self, const char *key, tl_error *err) {
    tl_local *l = (tl_local *)self;
    if (unlinkat(l->root, key, 0) == 0 || errno == ENOENT || errno == ENOTDIR) {
        return TL_OK;
    }
    return tl_local_fail(l, key, errno, err);
}

static void local_close(tl_store *self) {
    tl_local *l = (tl_local *)self;
    tl_pool_free(l->sync_pool);
    (void)close(l->root);
    tl_lock_free(&l->lock);
    tl_free(l->durable.slots);
    tl_free(l->base.root_uri);
    tl_free(l->base.root_alias);
    tl_free(l);
}

static const tl_store_ops local_ops = {
    .scheme = "file",
    .get = local_get,
    .size = local_size,
    .put = local_put,
    .put_after = local_put_after,
    .open_writer = local_open_writer,
    .writer_write = local_writer_write,
    .writer_finish = local_writer_finish,
    .writer_abort = local_writer_abort,
    .list = tl_local_list,
    .remove = local_remove,
    .remove_all = tl_local_remove_all,
    .sync = tl_local_sync,
    .prune = tl_local_prune,
    .close = local_close,
};

static bool sync_directory_of(const char *path) {
    char parent[TL_KEY_MAX];
    tl_local_folder_of(path, parent);
    int fd = open_retry(AT_FDCWD, *parent ? parent : path[0] == '/' ? "/" : ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return errno == EACCES; /* a directory that may be passed, not read: it cannot be synced either */
    }
    bool good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    (void)close(fd);
    return good;
}

/* Makes the root's directory and its parents; each new one durable. */
static bool make_root(const char *path) {
    char part[TL_KEY_MAX];
    size_t len = strlen(path);
    for (size_t n = 1; n <= len; n++) {
        if (path[n] != '/' && path[n] != '\0') {
            continue;
        }
        memcpy(part, path, n);
        part[n] = '\0';
        if (mkdir(part, 0777) == 0) {
            if (!sync_directory_of(part)) {
                return false;
            }
        } else if (errno != EEXIST && errno != EISDIR && (n == len || (errno != EACCES && errno != EROFS))) {
            return false;
        }
    }
    return true;
}

/* The absolute spelling of the path as it was given, for URIs of writers that do not resolve symbolic links. */
static char *absolute_spelling(const char *path) {
    if (path[0] == '/') {
        return tl_format("file://%s", path);
    }
    char here[PATH_MAX];
    return getcwd(here, sizeof here) ? tl_format("file://%s/%s", here, path) : NULL;
}

tl_status tl_local_open(const char *path, bool create, const tl_env *env, tl_store **out, tl_error *err) {
    *out = NULL;
    if (strlen(path) >= TL_KEY_MAX) {
        return tl_fail(err, TL_INVALID, "%.100s...: the path is too long", path);
    }
    if (create && !make_root(path)) {
        return tl_fail(err, TL_IO, "%s: the directory cannot be made: %s", path, strerror(errno));
    }
    char real[PATH_MAX];
    int fd = open_retry(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || !realpath(path, real)) {
        int code = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return code == ENOENT ? tl_fail(err, TL_NOT_FOUND, "%s: no such directory", path)
                              : tl_fail(err, TL_IO, "%s: %s", path, strerror(code));
    }
    tl_local *l = tl_calloc(1, sizeof *l);
    if (l) {
        l->base = (tl_store){&local_ops, env, tl_format("file://%s", strcmp(real, "/") == 0 ? "" : real),
                             absolute_spelling(path)};
    }
    if (!l || !l->base.root_uri || !l->base.root_alias) {
        if (l) {
            tl_free(l->base.root_uri);
            tl_free(l->base.root_alias);
            tl_free(l);
        }
        (void)close(fd);
        return tl_fail_memory(err, sizeof *l);
    }
    l->root = fd;
    tl_lock_init(&l->lock);
    *out = &l->base;
    return TL_OK;
}
