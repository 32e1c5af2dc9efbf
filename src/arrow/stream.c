/* Streams over arrays in memory, streams that fail, and the way from errno values to statuses. */
#include "arrow/stream.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"

typedef struct array_stream {
    struct ArrowSchema schema;
    int64_t next, n;
    struct ArrowArray arrays[];
} array_stream;

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    return ArrowSchemaDeepCopy(&((array_stream *)s->private_data)->schema, out);
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    array_stream *a = s->private_data;
    if (a->next == a->n) {
        out->release = NULL;
    } else {
        *out = a->arrays[a->next];
        a->arrays[a->next++].release = NULL;
    }
    return NANOARROW_OK;
}

static const char *last_error(struct ArrowArrayStream *s) {
    (void)s;
    return NULL;
}

static void release_arrays(struct ArrowArray *arrays, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (arrays[i].release) {
            arrays[i].release(&arrays[i]);
        }
    }
}

static void release(struct ArrowArrayStream *s) {
    array_stream *a = s->private_data;
    release_arrays(a->arrays, a->n);
    ArrowSchemaRelease(&a->schema);
    tl_free(a);
    s->release = NULL;
}

tl_status tl_stream_of_arrays(const struct ArrowSchema *schema, struct ArrowArray *arrays, int64_t n,
                              struct ArrowArrayStream *out, tl_error *err) {
    out->release = NULL;
    size_t bytes = 0;
    bool fits = tl_size_mul((size_t)n, sizeof *arrays, &bytes) && tl_size_add(bytes, sizeof(array_stream), &bytes);
    array_stream *a = fits ? tl_alloc(bytes) : NULL;
    if (!a || ArrowSchemaDeepCopy(schema, &a->schema) != NANOARROW_OK) {
        tl_free(a);
        release_arrays(arrays, n);
        return tl_fail_memory(err, bytes);
    }
    a->next = 0;
    a->n = n;
    for (int64_t i = 0; i < n; i++) {
        a->arrays[i] = arrays[i];
        arrays[i].release = NULL;
    }
    *out = (struct ArrowArrayStream){get_schema, get_next, last_error, release, a};
    return TL_OK;
}

/* ---- statuses ---- */

static const struct {
    tl_status status;
    int code;
} codes[] = {
    {TL_OK, 0},           {TL_INVALID, EINVAL},      {TL_NOT_FOUND, ENOENT}, {TL_EXISTS, EEXIST},
    {TL_CONFLICT, EBUSY}, {TL_UNKNOWN, EINPROGRESS}, {TL_FULL, EAGAIN},      {TL_IO, EIO},
    {TL_CORRUPT, EILSEQ}, {TL_UNSUPPORTED, ENOTSUP}, {TL_NO_MEMORY, ENOMEM}, {TL_CANCELLED, ECANCELED},
};

int tl_status_errno(tl_status status) {
    for (size_t i = 0; i < TL_COUNT(codes); i++) {
        if (codes[i].status == status) {
            return codes[i].code;
        }
    }
    return EFAULT;
}

tl_status tl_status_of_errno(int code) {
    for (size_t i = 0; i < TL_COUNT(codes); i++) {
        if (codes[i].code == code) {
            return codes[i].status;
        }
    }
    /* Streams of other libraries: a pipe that broke or a disk that failed is I/O, everything else their data. */
    return code == EFAULT ? TL_INTERNAL : code == EPIPE || code == ENOSPC || code == EACCES ? TL_IO : TL_INVALID;
}

static tl_status failure(struct ArrowArrayStream *stream, int code, tl_error *err) {
    const char *message = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    tl_status status = tl_status_of_errno(code);
    if (!message || !*message) {
        message = status == TL_NO_MEMORY ? "out of memory" : "the input stream failed without saying why";
    }
    return tl_fail(err, status, "%s", message);
}

tl_status tl_stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out, tl_error *err) {
    out->release = NULL;
    if (!stream || !stream->release) {
        return tl_fail(err, TL_INVALID, "the input stream was released already");
    }
    int code = stream->get_schema(stream, out);
    return code == 0 ? TL_OK : failure(stream, code, err);
}

tl_status tl_stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out, tl_error *err) {
    out->release = NULL;
    if (!stream || !stream->release) {
        return tl_fail(err, TL_INVALID, "the input stream was released already");
    }
    int code = stream->get_next(stream, out);
    return code == 0 ? TL_OK : failure(stream, code, err);
}

/* ---- failing streams ---- */

typedef struct error_stream {
    int code;
    char message[];
} error_stream;

static int fail_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    out->release = NULL;
    return ((error_stream *)s->private_data)->code;
}

static int fail_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    out->release = NULL;
    return ((error_stream *)s->private_data)->code;
}

static const char *fail_message(struct ArrowArrayStream *s) {
    return ((error_stream *)s->private_data)->message;
}

static void fail_release(struct ArrowArrayStream *s) {
    tl_free(s->private_data);
    s->release = NULL;
}

tl_status tl_stream_of_error(tl_status status, const char *message, struct ArrowArrayStream *out, tl_error *err) {
    size_t len = strlen(message);
    error_stream *e = tl_alloc(sizeof *e + len + 1);
    out->release = NULL;
    if (!e) {
        return tl_fail_memory(err, sizeof *e + len + 1);
    }
    e->code = tl_status_errno(status == TL_OK ? TL_INTERNAL : status);
    memcpy(e->message, message, len + 1);
    *out = (struct ArrowArrayStream){fail_schema, fail_next, fail_message, fail_release, e};
    return TL_OK;
}
