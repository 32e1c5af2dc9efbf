/* Arrow IPC written with nanoarrow: here are the bytes and the errors. */
#include <errno.h>
#include <string.h>

#include "arrow/stream.h"
#include "arrow/type.h"
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

/* nanoarrow writes null counts as they are, but the format has none that is unknown: it is counted here. Types without
 * a validity bitmap have nothing to count. */
static void settle_null_counts(const tl_arrow_type *t, struct ArrowArray *a) {
    bool bitmap = t->id != TL_ARROW_NULL && t->id != TL_ARROW_RUN_END && t->id != TL_ARROW_UNION && a->n_buffers > 0;
    if (a->null_count < 0 && bitmap) {
        const uint8_t *bits = a->buffers[0];
        a->null_count = bits && a->length > 0 ? a->length - tl_bits_count(bits, a->offset, a->length) : 0;
    }
    for (int64_t i = 0; t->id != TL_ARROW_DICTIONARY && i < a->n_children && i < t->n_children; i++) {
        settle_null_counts(&t->children[i], a->children[i]);
    }
}

static tl_status write_batches(struct ArrowIpcWriter *writer, struct ArrowArrayStream *stream,
                               struct ArrowArrayView *view, const tl_arrow_type *type, tl_error *err) {
    struct ArrowError error = {{0}};
    for (;;) {
        struct ArrowArray array;
        TL_TRY(tl_stream_next(stream, &array, err));
        if (!array.release) {
            return TL_OK;
        }
        settle_null_counts(type, &array);
        int code = ArrowArrayViewSetArray(view, &array, &error);
        code = code == NANOARROW_OK ? ArrowIpcWriterWriteArrayView(writer, view, &error) : code;
        array.release(&array);
        if (code != NANOARROW_OK) {
            return failed(code, &error, err);
        }
    }
}

static tl_status write_all(struct ArrowIpcWriter *writer, struct ArrowArrayStream *stream,
                           const struct ArrowSchema *schema, const tl_arrow_type *type, bool as_file, tl_error *err) {
    struct ArrowError error = {{0}};
    struct ArrowArrayView view;
    int code = ArrowArrayViewInitFromSchema(&view, schema, &error);
    if (code != NANOARROW_OK) {
        return failed(code, &error, err);
    }
    code = as_file ? ArrowIpcWriterStartFile(writer, &error) : NANOARROW_OK;
    code = code == NANOARROW_OK ? ArrowIpcWriterWriteSchema(writer, schema, &error) : code;
    tl_status status =
        code == NANOARROW_OK ? write_batches(writer, stream, &view, type, err) : failed(code, &error, err);
    ArrowArrayViewReset(&view);
    if (status != TL_OK) {
        return status;
    }
    code = ArrowIpcWriterWriteArrayView(writer, NULL,
                                        &error); /* the end-of-stream mark, in files for those who pipe them */
    code = code == NANOARROW_OK && as_file ? ArrowIpcWriterFinalizeFile(writer, &error) : code;
    return code == NANOARROW_OK ? TL_OK : failed(code, &error, err);
}

tl_status tl_ipc_write(struct ArrowArrayStream *stream, FILE *file, bool as_file, tl_error *err) {
    struct ArrowSchema schema;
    TL_TRY(tl_stream_schema(stream, &schema, err));
    struct ArrowIpcOutputStream sink = {.write = sink_write, .release = sink_release, .private_data = file};
    struct ArrowIpcWriter writer;
    tl_arrow_type type;
    tl_arena arena = {0};
    tl_status status = tl_arrow_type_import(&schema, &arena, &type, err);
    if (status == TL_OK && ArrowIpcWriterInit(&writer, &sink) != NANOARROW_OK) {
        status = tl_fail_memory(err, sizeof writer);
    } else if (status == TL_OK) {
        status = write_all(&writer, stream, &schema, &type, as_file, err);
        ArrowIpcWriterReset(&writer);
    }
    tl_arena_free(&arena);
    schema.release(&schema);
    if (status == TL_OK && fflush(file) != 0) {
        status = tl_fail(err, TL_IO, "writing Arrow output failed: %s", strerror(errno));
    }
    return status;
}
