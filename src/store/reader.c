/* Random reads: pread on local files, ranged gets on other stores. */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

struct tl_object_reader {
    tl_store *store;
    char *key;
    int fd; /* -1 = by ranged gets */
};

static tl_status open_local(const char *path, tl_object_reader *r, uint64_t *size, tl_error *err) {
    do {
        r->fd = open(path, O_RDONLY | O_CLOEXEC);
    } while (r->fd < 0 && errno == EINTR);
    struct stat st;
    if (r->fd < 0 || fstat(r->fd, &st) != 0) {
        int code = errno;
        return tl_fail(err, code == ENOENT || code == ENOTDIR ? TL_NOT_FOUND : TL_IO, "%s: %s", path, strerror(code));
    }
    if (!S_ISREG(st.st_mode)) {
        return tl_fail(err, TL_IO, "%s: not a file", path);
    }
    *size = (uint64_t)st.st_size;
    return TL_OK;
}

tl_status tl_object_reader_open(tl_store *s, const char *key, tl_object_reader **out, uint64_t *size, tl_error *err) {
    *out = NULL;
    tl_object_reader *r = tl_calloc(1, sizeof *r);
    if (!r || !(r->key = tl_strdup(key))) {
        tl_free(r);
        return tl_fail_memory(err, strlen(key));
    }
    r->store = s;
    r->fd = -1;
    char *path = tl_store_local_path(s, key);
    tl_status status = path ? open_local(path, r, size, err) : tl_store_size(s, key, size, err);
    tl_free(path);
    if (status != TL_OK) {
        tl_object_reader_close(r);
        return status;
    }
    *out = r;
    return TL_OK;
}

static tl_status read_local(tl_object_reader *r, uint64_t offset, size_t len, uint8_t *out, tl_error *err) {
    while (len) {
        ssize_t n = pread(r->fd, out, len, (off_t)offset);
        if (n > 0) {
            out += n;
            offset += (uint64_t)n;
            len -= (size_t)n;
        } else if (n == 0) {
            return tl_fail(err, TL_IO, "%s: cut short: %zu bytes are missing at offset %llu", r->key, len,
                           (unsigned long long)offset);
        } else if (errno != EINTR) {
            return tl_fail(err, TL_IO, "%s: %s", r->key, strerror(errno));
        }
    }
    return TL_OK;
}

tl_status tl_object_reader_read(tl_object_reader *r, uint64_t offset, size_t len, void *out, tl_error *err) {
    if (r->fd >= 0) {
        return read_local(r, offset, len, out, err);
    }
    tl_buf buf = {0};
    tl_status status = tl_store_get_range(r->store, r->key, offset, len, &buf, err);
    if (status == TL_OK && len) {
        memcpy(out, buf.data, len);
    }
    tl_buf_free(&buf);
    return status;
}

void tl_object_reader_close(tl_object_reader *r) {
    if (!r) {
        return;
    }
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    tl_free(r->key);
    tl_free(r);
}
