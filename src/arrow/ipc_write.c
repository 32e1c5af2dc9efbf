/* Arrow IPC written with nanoarrow: here are the bytes and the errors. */
#include <errno.h>
#include <string.h>

#include "arrow/stream.h"
#include "nanoarrow/nanoarrow_ipc.h"

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
