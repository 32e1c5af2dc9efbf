/* Arrow IPC, files and streams. A file is a stream behind eight bytes of magic, with an index at its end. */
#include <errno.h>
#include <fcntl.h>
#include <nanoarrow/nanoarrow_ipc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"

enum { MAGIC = 8 }; /* "ARROW1" and two zeros */

typedef struct arrow {
    tl_input base;
    char *name;
    int fd;
    uint64_t read, size;
    uint8_t head[MAGIC]; /* read to see which kind it is, and not yet handed on */
    size_t head_at, head_len;
    struct ArrowArrayStream stream;
} arrow;

/* Bytes for the IPC reader: whole blocks, less only at the end. */
static ArrowErrorCode give(struct ArrowIpcInputStream *self, uint8_t *to, int64_t want, int64_t *given,
                           struct ArrowError *error) {
    arrow *a = self->private_data;
    *given = 0;
    while (*given < want && a->head_at < a->head_len) {
        to[(*given)++] = a->head[a->head_at++];
    }
    while (*given < want) {
        ssize_t n = read(a->fd, to + *given, (size_t)(want - *given));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            ArrowErrorSet(error, "%s", strerror(errno));
            return EIO;
        }
        if (n == 0) {
            break;
        }
        *given += n;
        a->read += (uint64_t)n;
    }
    return NANOARROW_OK;
}

static void give_release(struct ArrowIpcInputStream *self) { self->release = NULL; }

static tl_status failed(arrow *a, int code, tl_error *err) {
    const char *text = a->stream.get_last_error(&a->stream);
    return tl_fail(err, code == EIO ? TL_IO : code == ENOMEM ? TL_NO_MEMORY : TL_CORRUPT, "%s: %s", a->name,
                   text && *text ? text : "this is no Arrow IPC");
}

static tl_status arrow_schema(tl_input *self, struct ArrowSchema *out, tl_error *err) {
    arrow *a = (arrow *)self;
    int code = a->stream.get_schema(&a->stream, out);
    return code == 0 ? TL_OK : failed(a, code, err);
}

static tl_status arrow_next(tl_input *self, int64_t max_rows, struct ArrowArray *out, tl_error *err) {
    arrow *a = (arrow *)self;
    (void)max_rows;
    do { /* batches without rows are nothing to the append path */
        *out = (struct ArrowArray){0};
        int code = a->stream.get_next(&a->stream, out);
        if (code != 0) {
            return failed(a, code, err);
        }
        if (out->release && out->length == 0) {
            out->release(out);
            continue;
        }
        return TL_OK;
    } while (true);
}

static void arrow_progress(const tl_input *self, uint64_t *done, uint64_t *size) {
    *done = ((const arrow *)self)->read;
    *size = ((const arrow *)self)->size;
}

static void arrow_close(tl_input *self) {
    arrow *a = (arrow *)self;
    if (a->stream.release) {
        a->stream.release(&a->stream);
    }
    if (a->fd > 0) {
        (void)close(a->fd);
    }
    tl_free(a->name);
    tl_free(a);
}

static const tl_input_ops arrow_ops = {arrow_schema, arrow_next, NULL, arrow_progress, arrow_close};

static tl_status open_stream(arrow *a, tl_error *err) {
    struct ArrowIpcInputStream bytes = {give, give_release, a};
    struct ArrowError why = {{0}};
    int64_t n;
    if (give(&bytes, a->head, MAGIC, &n, &why) != NANOARROW_OK) {
        return tl_fail(err, TL_IO, "%s: %s", a->name, why.message);
    }
    if (n == 0) {
        return tl_fail(err, TL_INVALID, "%s: the file is empty", a->name);
    }
    a->head_len = (size_t)n;
    if (n == MAGIC && memcmp(a->head, "ARROW1\0\0", MAGIC) == 0) {
        a->head_len = 0;
    } else if (n < 4 || memcmp(a->head, "\xff\xff\xff\xff", 4) != 0) {
        return tl_fail(err, TL_INVALID, "%s: this is neither an Arrow IPC file nor an IPC stream", a->name);
    }
    if (ArrowIpcArrayStreamReaderInit(&a->stream, &bytes, NULL) != NANOARROW_OK) {
        return tl_fail_memory(err, sizeof a->stream);
    }
    struct ArrowSchema schema = {0};
    TL_TRY(arrow_schema(&a->base, &schema, err));
    schema.release(&schema);
    return TL_OK;
}

tl_status tl_input_open_arrow(const char *path, tl_input **out, tl_error *err) {
    *out = NULL;
    arrow *a = tl_calloc(1, sizeof *a);
    if (!a) {
        return tl_fail_memory(err, sizeof *a);
    }
    bool standard = strcmp(path, "-") == 0;
    a->base.ops = &arrow_ops;
    a->fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC);
    a->name = tl_strdup(standard ? "standard input" : path);
    a->base.name = a->name;
    struct stat st;
    tl_status status = TL_OK;
    if (!a->name) {
        status = tl_fail_memory(err, strlen(path));
    } else if (a->fd < 0) {
        status = errno == ENOENT ? tl_fail(err, TL_NOT_FOUND, "%s: no such file", path)
                                 : tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
    } else {
        a->size = fstat(a->fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
        status = open_stream(a, err);
    }
    if (status != TL_OK) {
        arrow_close(&a->base);
        return status;
    }
    *out = &a->base;
    return TL_OK;
}
