/* Arrow IPC from and to a FILE, with nanoarrow doing the format: here are the bytes, the file format's ends, the
 * errors. */
#include <errno.h>
#include <string.h>

#include "arrow/stream.h"
#include "base/buf.h"
#include "base/mem.h"
#include "nanoarrow/nanoarrow_ipc.h"

/* ---- reading ---- */

enum { MAGIC_LEN = 6, TAIL_LEN = 10 /* footer length and magic */ };
static const char MAGIC[] = "ARROW1";

typedef struct source {
    FILE *file;
    bool close;
    uint8_t ahead[8]; /* read to tell the formats apart */
    int64_t n_ahead;
    int64_t left; /* bytes before the footer; INT64_MAX = unknown, to the end of the file */
} source;

static void source_close(source *s) {
    if (s->close && s->file) {
        (void)fclose(s->file);
    }
    tl_free(s);
}

static ArrowErrorCode source_read(struct ArrowIpcInputStream *stream, uint8_t *buf, int64_t want, int64_t *got,
                                  struct ArrowError *error) {
    source *s = stream->private_data;
    *got = 0;
    want = want < s->left ? want : s->left;
    int64_t first = want < s->n_ahead ? want : s->n_ahead;
    if (first > 0) {
        memcpy(buf, s->ahead, (size_t)first);
        memmove(s->ahead, s->ahead + first, sizeof s->ahead - (size_t)first);
        s->n_ahead -= first;
    }
    size_t n = want > first ? fread(buf + first, 1, (size_t)(want - first), s->file) : 0;
    *got = first + (int64_t)n;
    s->left -= s->left == INT64_MAX ? 0 : *got;
    if (*got < want && ferror(s->file)) {
        ArrowErrorSet(error, "reading the Arrow input failed: %s", strerror(errno));
        return EIO;
    }
    return NANOARROW_OK;
}

static void source_release(struct ArrowIpcInputStream *stream) {
    source_close(stream->private_data);
    stream->release = NULL;
}

/* The file format ends with a footer, its length and the magic; messages end before it. Only a file that can be
 * searched tells; a pipe must carry the end-of-stream mark, which all writers put there. */
static tl_status find_footer(source *s, tl_error *err) {
    off_t here = ftello(s->file);
    uint8_t tail[TAIL_LEN];
    if (here < 0 || fseeko(s->file, 0, SEEK_END) != 0) {
        return TL_OK;
    }
    off_t end = ftello(s->file);
    bool whole = end >= here + TAIL_LEN && fseeko(s->file, end - TAIL_LEN, SEEK_SET) == 0 &&
                 fread(tail, 1, TAIL_LEN, s->file) == TAIL_LEN && memcmp(tail + 4, MAGIC, MAGIC_LEN) == 0;
    int64_t footer = whole ? tl_load_i32(tail) : -1;
    if (footer < 0 || footer > end - here - TAIL_LEN) {
        return tl_fail(err, TL_INVALID, "the Arrow file is cut short: it has no footer");
    }
    s->left = end - here - TAIL_LEN - footer;
    if (fseeko(s->file, here, SEEK_SET) != 0) {
        return tl_fail(err, TL_IO, "going back in the Arrow file failed: %s", strerror(errno));
    }
    return TL_OK;
}

static tl_status source_start(source *s, tl_error *err) {
    s->n_ahead = (int64_t)fread(s->ahead, 1, sizeof s->ahead, s->file);
    if (s->n_ahead < (int64_t)sizeof s->ahead && ferror(s->file)) {
        return tl_fail(err, TL_IO, "reading the Arrow input failed: %s", strerror(errno));
    }
    if (s->n_ahead == 0) {
        return tl_fail(err, TL_INVALID, "the Arrow input is empty");
    }
    if (s->n_ahead == (int64_t)sizeof s->ahead && memcmp(s->ahead, MAGIC, MAGIC_LEN) == 0) {
        s->n_ahead = 0;
        return find_footer(s, err);
    }
    /* A stream begins with a continuation mark, or in old versions with a small length. */
    uint32_t first = tl_load_u32(s->ahead);
    if (s->n_ahead < 4 || (first != UINT32_MAX && first > (1u << 28))) {
        return tl_fail(err, TL_INVALID, "the input is no Arrow IPC stream or file");
    }
    return TL_OK;
}

tl_status tl_ipc_read(FILE *file, bool close, struct ArrowArrayStream *out, tl_error *err) {
    out->release = NULL;
    source *s = tl_calloc(1, sizeof *s);
    if (!s) {
        if (close) {
            (void)fclose(file);
        }
        return tl_fail_memory(err, sizeof *s);
    }
    *s = (source){.file = file, .close = close, .left = INT64_MAX};
    tl_status status = source_start(s, err);
    if (status != TL_OK) {
        source_close(s);
        return status;
    }
    struct ArrowIpcInputStream input = {.read = source_read, .release = source_release, .private_data = s};
    struct ArrowIpcArrayStreamReaderOptions options = {.field_index = -1,
                                                       .use_shared_buffers = ArrowIpcSharedBufferIsThreadSafe()};
    if (ArrowIpcArrayStreamReaderInit(out, &input, &options) != NANOARROW_OK) {
        out->release = NULL;
        if (input.release) {
            input.release(&input);
        }
        return tl_fail_memory(err, sizeof options);
    }
    return TL_OK;
}

/* ---- writing ---- */

static ArrowErrorCode sink_write(struct ArrowIpcOutputStream *stream, const void *buf, int64_t size, int64_t *written,
                                 struct ArrowError *error) {
    size_t n = fwrite(buf, 1, (size_t)size, stream->private_data);
    *written = (int64_t)n;
    if (n != (size_t)size) {
        ArrowErrorSet(error, "writing Arrow output failed: %s", strerror(errno));
        return EIO;
    }
    return NANOARROW_OK;
}

static void sink_release(struct ArrowIpcOutputStream *stream) {
    stream->release = NULL;
}

static tl_status failed(int code, const struct ArrowError *error, tl_error *err) {
    tl_status status = tl_status_of_errno(code);
    return tl_fail(err, status == TL_INVALID ? TL_UNSUPPORTED : status, "%s",
                   error->message[0] ? error->message : "writing Arrow output failed");
}

static tl_status write_batches(struct ArrowIpcWriter *writer, struct ArrowArrayStream *stream,
                               struct ArrowArrayView *view, tl_error *err) {
    struct ArrowError error = {{0}};
    for (;;) {
        struct ArrowArray array;
        TL_TRY(tl_stream_next(stream, &array, err));
        if (!array.release) {
            return TL_OK;
        }
        int code = ArrowArrayViewSetArray(view, &array, &error);
        code = code == NANOARROW_OK ? ArrowIpcWriterWriteArrayView(writer, view, &error) : code;
        array.release(&array);
        if (code != NANOARROW_OK) {
            return failed(code, &error, err);
        }
    }
}

static tl_status write_all(struct ArrowIpcWriter *writer, struct ArrowArrayStream *stream,
                           const struct ArrowSchema *schema, bool as_file, tl_error *err) {
    struct ArrowError error = {{0}};
    struct ArrowArrayView view;
    int code = ArrowArrayViewInitFromSchema(&view, schema, &error);
    if (code != NANOARROW_OK) {
        return failed(code, &error, err);
    }
    code = as_file ? ArrowIpcWriterStartFile(writer, &error) : NANOARROW_OK;
    code = code == NANOARROW_OK ? ArrowIpcWriterWriteSchema(writer, schema, &error) : code;
    tl_status status = code == NANOARROW_OK ? write_batches(writer, stream, &view, err) : failed(code, &error, err);
    ArrowArrayViewReset(&view);
    if (status != TL_OK) {
        return status;
    }
    code = as_file ? ArrowIpcWriterFinalizeFile(writer, &error) : ArrowIpcWriterWriteArrayView(writer, NULL, &error);
    return code == NANOARROW_OK ? TL_OK : failed(code, &error, err);
}

tl_status tl_ipc_write(struct ArrowArrayStream *stream, FILE *file, bool as_file, tl_error *err) {
    struct ArrowSchema schema;
    TL_TRY(tl_stream_schema(stream, &schema, err));
    struct ArrowIpcOutputStream sink = {.write = sink_write, .release = sink_release, .private_data = file};
    struct ArrowIpcWriter writer;
    tl_status status;
    if (ArrowIpcWriterInit(&writer, &sink) != NANOARROW_OK) {
        status = tl_fail_memory(err, sizeof writer);
    } else {
        status = write_all(&writer, stream, &schema, as_file, err);
        ArrowIpcWriterReset(&writer);
    }
    schema.release(&schema);
    if (status == TL_OK && fflush(file) != 0) {
        status = tl_fail(err, TL_IO, "writing Arrow output failed: %s", strerror(errno));
    }
    return status;
}
