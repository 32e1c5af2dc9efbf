/* Files read at any place; see spool.h. */
#include "cli/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/stop.h"

static tl_status write_all(int fd, const char *data, size_t len, tl_error *err) {
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR) {
            return tl_fail(err, TL_IO, "the temporary copy of standard input: %s", strerror(errno));
        }
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return TL_OK;
}

static tl_status copy_stdin(int fd, uint64_t *size, tl_error *err) {
    enum { BLOCK = 1 << 18 };
    char *block = tl_alloc(BLOCK);
    if (!block) {
        return tl_fail_memory(err, BLOCK);
    }
    tl_status status = TL_OK;
    *size = 0;
    while (status == TL_OK) {
        ssize_t n = tl_stop_read(0, block, BLOCK);
        if (n == 0) {
            break;
        }
        if (n < 0) {
            status =
                errno == ECANCELED ? tl_stop_fail(err) : tl_fail(err, TL_IO, "standard input: %s", strerror(errno));
            break;
        }
        *size += (uint64_t)n;
        status = write_all(fd, block, (size_t)n, err);
    }
    tl_free(block);
    return status;
}

tl_status tl_spool_stdin(int *fd, uint64_t *size, tl_error *err) {
    const char *folder = getenv("TMPDIR");
    char *name = tl_format("%s/timelake-stdin-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!name) {
        return tl_fail_memory(err, 64);
    }
    *fd = mkstemp(name);
    tl_status status = TL_OK;
    if (*fd < 0) {
        status = tl_fail(err, TL_IO, "%s: %s", name, strerror(errno));
    } else {
        (void)unlink(name);
        status = copy_stdin(*fd, size, err);
        if (status == TL_OK && lseek(*fd, 0, SEEK_SET) != 0) {
            status = tl_fail(err, TL_IO, "the temporary copy of standard input: %s", strerror(errno));
        }
        if (status != TL_OK) {
            (void)close(*fd);
            *fd = -1;
        }
    }
    tl_free(name);
    return status;
}

tl_status tl_spool_open(const char *path, tl_spool *out, tl_error *err) {
    *out = (tl_spool){.fd = -1};
    if (strcmp(path, "-") == 0) {
        TL_TRY(tl_spool_stdin(&out->fd, &out->size, err));
    } else {
        struct stat st;
        out->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (out->fd < 0) {
            return errno == ENOENT ? tl_fail(err, TL_NOT_FOUND, "%s: no such file", path)
                                   : tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
        }
        if (fstat(out->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
            tl_spool_close(out);
            return tl_fail(err, TL_INVALID, "%s: this is not a file", path);
        }
        out->size = (uint64_t)st.st_size;
    }
    if (out->size == 0) {
        tl_spool_close(out);
        return tl_fail(err, TL_INVALID, "%s: the file is empty", strcmp(path, "-") == 0 ? "standard input" : path);
    }
    return TL_OK;
}

tl_status tl_spool_read(const tl_spool *s, uint64_t offset, size_t len, void *out, tl_error *err) {
    char *to = out;
    while (len > 0) {
        ssize_t n = offset > (uint64_t)INT64_MAX ? 0 : pread(s->fd, to, len, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return tl_fail(err, TL_IO, "%s", n < 0 ? strerror(errno) : "the file ends too early");
        }
        to += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return TL_OK;
}

void tl_spool_close(tl_spool *s) {
    if (s->fd >= 0) {
        (void)close(s->fd);
    }
    s->fd = -1;
}
