/* Results as text or Arrow; see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <nanoarrow/nanoarrow_ipc.h>
#include <string.h>
#include <unistd.h>

#include "cli/show.h"

static const char *const names[] = {"table", "csv", "json", "parquet", "arrow", "none"};

tl_status tl_output_parse(tl_cli *cli, tl_output *out, tl_error *err) {
    const char *name = tl_value(cli, "format");
    *out = TL_OUTPUT_TABLE;
    if (!name && tl_has(cli, "json")) {
        *out = TL_OUTPUT_JSON;
        return TL_OK;
    }
    for (size_t i = 0; name && i < TL_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (tl_output)i;
            return TL_OK;
        }
    }
    return name ? tl_usage(cli, err, "--format is table, csv, json, parquet, arrow or none, not \"%s\"", name) : TL_OK;
}

tl_status tl_output_check_terminal(tl_cli *cli, tl_output format, const char *path, tl_error *err) {
    if ((format == TL_OUTPUT_ARROW || format == TL_OUTPUT_PARQUET) && !path && isatty(1)) {
        return tl_usage(cli, err, "--format %s is not for a terminal: give --output FILE", names[format]);
    }
    return TL_OK;
}

tl_status tl_output_flush(FILE *to, tl_error *err) {
    return fflush(to) == 0 && !ferror(to) ? TL_OK : tl_fail(err, TL_IO, "the output: %s", strerror(errno));
}

tl_status tl_stdout_flush(tl_error *err) {
    return tl_output_flush(stdout, err);
}

static tl_status stream_failed(struct ArrowArrayStream *stream, int code, tl_error *err) {
    const char *text = stream->get_last_error(stream);
    return tl_fail(err,
                   code == ENOMEM ? TL_NO_MEMORY
                   : code == EIO  ? TL_IO
                                  : TL_INVALID,
                   "%s", text && *text ? text : "reading the rows failed");
}

/* The next batch and the view of it; without release at the end. */
tl_status tl_output_next(struct ArrowArrayStream *stream, struct ArrowArrayView *view, struct ArrowArray *batch,
                         tl_error *err) {
    *batch = (struct ArrowArray){0};
    int code = stream->get_next(stream, batch);
    if (code != 0) {
        return stream_failed(stream, code, err);
    }
    struct ArrowError why = {{0}};
    if (batch->release && ArrowArrayViewSetArray(view, batch, &why) != NANOARROW_OK) {
        batch->release(batch);
        return tl_fail(err, TL_INTERNAL, "a batch of rows is not in order: %s", why.message);
    }
    return TL_OK;
}

/* ---- CSV: RFC 4180, lines end in LF; null is nothing, an empty text is "" ---- */

static tl_status csv_text(tl_buf *out, const uint8_t *text, size_t len) {
    bool quote = len == 0;
    for (size_t i = 0; i < len && !quote; i++) {
        quote = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
    }
    if (!quote) {
        return tl_buf_add(out, text, len);
    }
    TL_TRY(tl_buf_add_byte(out, '"'));
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') {
            TL_TRY(tl_buf_add_byte(out, '"'));
        }
        TL_TRY(tl_buf_add_byte(out, text[i]));
    }
    return tl_buf_add_byte(out, '"');
}

static tl_status csv_row(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *line, tl_buf *cell,
                         tl_error *err) {
    for (int64_t i = 0; i < s->n; i++) {
        if (i) {
            TL_TRY(tl_buf_add_byte(line, ','));
        }
        if (s->children[i].type == NANOARROW_TYPE_NA || ArrowArrayViewIsNull(v->children[i], row)) {
            continue;
        }
        cell->len = 0;
        TL_TRY(tl_show(&s->children[i], v->children[i], row, TL_SHOW_PLAIN, cell, err));
        TL_TRY(csv_text(line, cell->data, cell->len));
    }
    return tl_buf_add_byte(line, '\n');
}

static tl_status csv_head(const tl_shown *s, tl_buf *line) {
    for (int64_t i = 0; i < s->n; i++) {
        if (i) {
            TL_TRY(tl_buf_add_byte(line, ','));
        }
        TL_TRY(csv_text(line, (const uint8_t *)s->children[i].name, strlen(s->children[i].name)));
    }
    return tl_buf_add_byte(line, '\n');
}

/* ---- JSON, one object a line ---- */

static tl_status json_row(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *line, tl_error *err) {
    for (int64_t i = 0; i < s->n; i++) {
        TL_TRY(tl_buf_add_byte(line, i ? ',' : '{'));
        TL_TRY(tl_show_json_text(tl_bytes_of(s->children[i].name), line));
        TL_TRY(tl_buf_add_byte(line, ':'));
        TL_TRY(tl_show(&s->children[i], v->children[i], row, TL_SHOW_JSON, line, err));
    }
    return tl_buf_add_text(line, "}\n");
}

static tl_status write_lines(tl_output format, const tl_shown *s, struct ArrowArrayStream *stream,
                             struct ArrowArrayView *view, FILE *to, int64_t *rows, tl_error *err) {
    enum { FLUSH = 1 << 16 };
    tl_buf line = {0}, cell = {0};
    tl_status status = format == TL_OUTPUT_CSV ? csv_head(s, &line) : TL_OK;
    while (status == TL_OK) {
        struct ArrowArray batch;
        status = tl_output_next(stream, view, &batch, err);
        if (status != TL_OK || !batch.release) {
            break;
        }
        for (int64_t row = 0; status == TL_OK && row < batch.length; row++) {
            int64_t at = batch.offset + row;
            status = format == TL_OUTPUT_CSV    ? csv_row(s, view, at, &line, &cell, err)
                     : format == TL_OUTPUT_JSON ? json_row(s, view, at, &line, err)
                                                : TL_OK;
            if (line.len >= FLUSH) {
                if (fwrite(line.data, 1, line.len, to) != line.len) {
                    status = tl_output_flush(to, err);
                }
                line.len = 0;
            }
        }
        *rows += batch.length;
        batch.release(&batch);
    }
    if (status == TL_OK && line.len && fwrite(line.data, 1, line.len, to) != line.len) {
        status = tl_output_flush(to, err);
    }
    tl_buf_free(&line);
    tl_buf_free(&cell);
    return status;
}

static tl_status write_text(tl_output format, struct ArrowArrayStream *stream, FILE *to, int64_t *rows, tl_error *err) {
    struct ArrowSchema schema = {0};
    int code = stream->get_schema(stream, &schema);
    if (code != 0) {
        return stream_failed(stream, code, err);
    }
    tl_arena arena = {0};
    tl_shown shown;
    struct ArrowArrayView view = {0};
    struct ArrowError why = {{0}};
    tl_status status = tl_show_prepare(&schema, &arena, &shown, err);
    if (status == TL_OK && ArrowArrayViewInitFromSchema(&view, &schema, &why) != NANOARROW_OK) {
        status = tl_fail(err, TL_UNSUPPORTED, "the result cannot be shown: %s", why.message);
    }
    if (status == TL_OK) {
        status = format == TL_OUTPUT_TABLE ? tl_table_write(&arena, &shown, stream, &view, to, rows, err)
                                           : write_lines(format, &shown, stream, &view, to, rows, err);
    }
    ArrowArrayViewReset(&view);
    tl_arena_free(&arena);
    schema.release(&schema);
    return status;
}

/* ---- Arrow ---- */

static tl_status write_arrow_with(struct ArrowIpcWriter *writer, const struct ArrowSchema *schema,
                                  struct ArrowArrayStream *stream, int64_t *rows, tl_error *err) {
    struct ArrowError why = {{0}};
    struct ArrowArrayView view = {0};
    if (ArrowIpcWriterWriteSchema(writer, schema, &why) != NANOARROW_OK ||
        ArrowArrayViewInitFromSchema(&view, schema, &why) != NANOARROW_OK) {
        ArrowArrayViewReset(&view);
        return tl_fail(err, TL_UNSUPPORTED, "the result cannot be written as Arrow: %s", why.message);
    }
    tl_status status = TL_OK;
    while (status == TL_OK) {
        struct ArrowArray batch;
        status = tl_output_next(stream, &view, &batch, err);
        if (status != TL_OK || !batch.release) {
            break;
        }
        if (ArrowIpcWriterWriteArrayView(writer, &view, &why) != NANOARROW_OK) {
            status = tl_fail(err, TL_IO, "the output: %s", why.message[0] ? why.message : strerror(errno));
        }
        *rows += batch.length;
        batch.release(&batch);
    }
    if (status == TL_OK && ArrowIpcWriterWriteArrayView(writer, NULL, &why) != NANOARROW_OK) { /* the end mark */
        status = tl_fail(err, TL_IO, "the output: %s", why.message[0] ? why.message : strerror(errno));
    }
    ArrowArrayViewReset(&view);
    return status;
}

static tl_status write_arrow(struct ArrowArrayStream *stream, FILE *to, int64_t *rows, tl_error *err) {
    struct ArrowSchema schema = {0};
    int code = stream->get_schema(stream, &schema);
    if (code != 0) {
        return stream_failed(stream, code, err);
    }
    struct ArrowIpcOutputStream out = {0};
    struct ArrowIpcWriter writer = {0};
    tl_status status = TL_OK;
    if (ArrowIpcOutputStreamInitFile(&out, to, 0) != NANOARROW_OK ||
        ArrowIpcWriterInit(&writer, &out) != NANOARROW_OK) {
        if (out.release) {
            out.release(&out);
        }
        status = tl_fail_memory(err, sizeof writer);
    } else {
        status = write_arrow_with(&writer, &schema, stream, rows, err);
        ArrowIpcWriterReset(&writer);
    }
    schema.release(&schema);
    return status;
}

tl_status tl_output_write(tl_output format, struct ArrowArrayStream *stream, FILE *to, int64_t *rows, tl_error *err) {
    *rows = 0;
    tl_status status =
        format == TL_OUTPUT_ARROW ? write_arrow(stream, to, rows, err) : write_text(format, stream, to, rows, err);
    if (stream->release) {
        stream->release(stream);
    }
    return status == TL_OK ? tl_output_flush(to, err) : status;
}
