/*
 * Parquet files, read by our own reader, so that every type arrives as it stands in the file (decimals, nanoseconds).
 */
#include <errno.h>
#include <fcntl.h>
#include <nanoarrow/nanoarrow.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/spool.h"
#include "parquet/reader.h"

enum { BATCH_ROWS = 65536 };

typedef struct parquet {
    tl_input base;
    char *name;
    tl_spool file;
    tl_pq_reader *reader;
    struct ArrowArrayStream stream;
    int64_t rows_done, rows;
} parquet;

static tl_status read_at(void *ctx, uint64_t offset, size_t len, void *out, tl_error *err) {
    return tl_spool_read(&((parquet *)ctx)->file, offset, len, out, err);
}

static tl_status failed(parquet *p, int code, tl_error *err) {
    const char *text = p->stream.get_last_error(&p->stream);
    return tl_fail(err,
                   code == EIO      ? TL_IO
                   : code == ENOMEM ? TL_NO_MEMORY
                                    : TL_CORRUPT,
                   "%s: %s", p->name, text && *text ? text : "the Parquet file cannot be read");
}

/* Behind the element at `i` and all below it. */
static int32_t skip_element(const tl_pq_file_meta *m, int32_t i) {
    for (int64_t left = 1; left > 0 && i < m->n_schema; i++, left--) {
        left += m->schema[i].is_leaf ? 0 : m->schema[i].n_children;
    }
    return i;
}

/* Gives a field Arrow's name for uuids, which the reader leaves out. */
static tl_status mark_uuid(struct ArrowSchema *field, tl_error *err) {
    struct ArrowBuffer metadata;
    int code = ArrowMetadataBuilderInit(&metadata, field->metadata);
    if (code == NANOARROW_OK) {
        code =
            ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:name"), ArrowCharView("arrow.uuid"));
        code = code == NANOARROW_OK ? ArrowSchemaSetMetadata(field, (const char *)metadata.data) : code;
        ArrowBufferReset(&metadata);
    }
    return code == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 64);
}

static tl_status mark_uuids(const parquet *p, struct ArrowSchema *schema, tl_error *err) {
    const tl_pq_file_meta *m = tl_pq_reader_meta(p->reader);
    int32_t at = 1;
    for (int64_t i = 0; i < schema->n_children && at < m->n_schema; i++, at = skip_element(m, at)) {
        if (m->schema[at].logical == TL_PQ_LOGICAL_UUID && strcmp(schema->children[i]->format, "w:16") == 0) {
            TL_TRY(mark_uuid(schema->children[i], err));
        }
    }
    return TL_OK;
}

static tl_status parquet_schema(tl_input *self, struct ArrowSchema *out, tl_error *err) {
    parquet *p = (parquet *)self;
    struct ArrowSchema found = {0};
    int code = p->stream.get_schema(&p->stream, &found);
    if (code != 0) {
        return failed(p, code, err);
    }
    code = ArrowSchemaDeepCopy(&found, out); /* of nanoarrow's making, so that it may be changed */
    found.release(&found);
    tl_status status = code == NANOARROW_OK ? mark_uuids(p, out, err) : tl_fail_memory(err, sizeof found);
    if (status != TL_OK && code == NANOARROW_OK) {
        out->release(out);
    }
    return status;
}

static tl_status parquet_next(tl_input *self, int64_t max_rows, struct ArrowArray *out, tl_error *err) {
    parquet *p = (parquet *)self;
    (void)max_rows;
    *out = (struct ArrowArray){0};
    int code = p->stream.get_next(&p->stream, out);
    if (code != 0) {
        return failed(p, code, err);
    }
    p->rows_done += out->release ? out->length : 0;
    return TL_OK;
}

static void parquet_progress(const tl_input *self, uint64_t *done, uint64_t *size) {
    const parquet *p = (const parquet *)self;
    *size = p->file.size;
    *done = p->rows > 0 ? (uint64_t)((double)p->file.size * (double)p->rows_done / (double)p->rows) : p->file.size;
}

static void parquet_close(tl_input *self) {
    parquet *p = (parquet *)self;
    if (p->stream.release) {
        p->stream.release(&p->stream);
    }
    tl_pq_reader_free(p->reader);
    tl_spool_close(&p->file);
    tl_free(p->name);
    tl_free(p);
}

static const tl_input_ops parquet_ops = {parquet_schema, parquet_next, NULL, parquet_progress, parquet_close};

tl_status tl_input_open_parquet(const char *path, tl_input **out, tl_error *err) {
    *out = NULL;
    parquet *p = tl_calloc(1, sizeof *p);
    if (!p) {
        return tl_fail_memory(err, sizeof *p);
    }
    p->base.ops = &parquet_ops;
    p->file.fd = -1;
    p->name = tl_strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    p->base.name = p->name;
    tl_status status = p->name ? tl_spool_open(path, &p->file, err) : tl_fail_memory(err, strlen(path));
    if (status == TL_OK) {
        tl_pq_source source = {.read_at = read_at, .ctx = p, .size = p->file.size};
        status = tl_pq_reader_open(source, NULL, &p->reader, err);
        if (status == TL_OK) {
            p->rows = tl_pq_reader_meta(p->reader)->n_rows;
            status = tl_pq_reader_stream(p->reader, NULL, 0, NULL, 0, BATCH_ROWS, &p->stream, err);
        }
        if (status != TL_OK) {
            tl_error_prefix(err, "%s: ", p->name);
        }
    }
    if (status != TL_OK) {
        parquet_close(&p->base);
        return status;
    }
    *out = &p->base;
    return TL_OK;
}
