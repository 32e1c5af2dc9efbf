/*
 * NDJSON: one object a line. Numbers are handed on as their text, so that no digit is lost; nested values go into
 * nested columns (with text at the leaves), or as JSON text into string columns.
 */
#include <errno.h>
#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "cli/guess.h"
#include "cli/input.h"
#include "cli/source.h"
#include "iceberg/parquet_schema.h"

enum { LINE_MAX_BYTES = 1 << 30, BATCH_ROWS = 8192, BATCH_BYTES = 32 << 20 };

/* ---- lines ---- */

typedef struct lines {
    tl_source *source;
    const uint8_t *block;
    size_t at, len;
    bool end, started;
    tl_buf carry;   /* a line that began in an earlier block */
    int64_t number; /* of the line that was read last */
} lines;

static tl_status lines_open(lines *l, const char *path, tl_error *err) {
    return tl_source_open(path, &l->source, err);
}

static void lines_close(lines *l) {
    tl_source_close(l->source);
    tl_buf_free(&l->carry);
}

/* The next line that is not blank, without its end; data NULL at the end. Valid until the next call. */
static tl_status lines_next(lines *l, tl_bytes *out, tl_error *err) {
    for (;;) {
        l->carry.len = 0;
        bool whole = false;
        *out = (tl_bytes){0};
        while (!whole) {
            if (l->at == l->len) {
                TL_TRY(tl_source_next(l->source, &l->block, &l->len, err));
                l->at = 0;
                if (!l->started && l->len >= 3 && memcmp(l->block, "\xef\xbb\xbf", 3) == 0) {
                    l->at = 3;
                }
                l->started = true;
                if (l->len == 0) {
                    l->end = true;
                    if (l->carry.len == 0) {
                        return TL_OK;
                    }
                    *out = tl_buf_bytes(&l->carry);
                    break;
                }
            }
            const uint8_t *from = l->block + l->at, *stop = memchr(from, '\n', l->len - l->at);
            size_t n = stop ? (size_t)(stop - from) : l->len - l->at;
            l->at += n + (stop != NULL);
            whole = stop != NULL;
            *out = (tl_bytes){from, n};
            if (!whole || l->carry.len) {
                if (l->carry.len + n > LINE_MAX_BYTES) {
                    return tl_fail(err, TL_INVALID, "%s, line %lld: longer than 1 GiB", tl_source_name(l->source),
                                   (long long)l->number + 1);
                }
                if (tl_buf_add(&l->carry, from, n) != TL_OK) {
                    return tl_fail_memory(err, n);
                }
                *out = tl_buf_bytes(&l->carry);
            }
        }
        l->number++;
        for (size_t i = 0; i < out->len; i++) {
            if (out->data[i] != ' ' && out->data[i] != '\t' && out->data[i] != '\r') {
                return TL_OK;
            }
        }
        if (l->end) {
            *out = (tl_bytes){0};
            return TL_OK;
        }
    }
}

/* The object in a line; caller frees the document. */
static tl_status parse_line(const lines *l, tl_bytes line, yyjson_doc **out, tl_error *err) {
    yyjson_read_err why;
    char *text = (char *)(uintptr_t)line.data; /* not written to without the in-situ flag */
    *out = yyjson_read_opts(text, line.len, YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_ALLOW_INF_AND_NAN, NULL, &why);
    const char *name = tl_source_name(l->source);
    if (!*out) {
        return tl_fail(err, TL_INVALID, "%s, line %lld: not JSON: %s at byte %zu of the line", name,
                       (long long)l->number, why.msg, why.pos + 1);
    }
    if (!yyjson_is_obj(yyjson_doc_get_root(*out))) {
        bool list = yyjson_is_arr(yyjson_doc_get_root(*out));
        yyjson_doc_free(*out);
        *out = NULL;
        return tl_fail(err, TL_INVALID, "%s, line %lld: not a JSON object%s", name, (long long)l->number,
                       list ? "; write the elements of the list one a line" : "");
    }
    return TL_OK;
}

/* ---- rows into columns ---- */

typedef struct json {
    tl_input base;
    lines lines;
    const tl_input_options *options;
    struct ArrowSchema schema;
    int64_t *last_row; /* per column: the row in which it was set last */
    int64_t rows_done; /* before this batch */
    int64_t line_of[BATCH_ROWS];
} json;

static tl_status append_value(json *j, const struct ArrowSchema *type, struct ArrowArray *to, yyjson_val *v,
                              tl_error *err);

static tl_status append_text(json *j, struct ArrowArray *to, yyjson_val *v, tl_error *err) {
    const char *text = NULL;
    size_t len = 0;
    char *made = NULL;
    if (yyjson_is_raw(v)) {
        text = yyjson_get_raw(v);
        len = yyjson_get_len(v);
    } else if (yyjson_is_str(v)) {
        text = yyjson_get_str(v);
        len = yyjson_get_len(v);
        for (size_t i = 0; i < j->options->n_nulls; i++) {
            if (tl_bytes_equal(tl_bytes_of(j->options->nulls[i]), (tl_bytes){(const uint8_t *)text, len})) {
                return ArrowArrayAppendNull(to, 1) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 1);
            }
        }
    } else if (yyjson_is_bool(v)) {
        text = yyjson_get_bool(v) ? "true" : "false";
        len = strlen(text);
    } else {
        text = made = yyjson_val_write(v, YYJSON_WRITE_ALLOW_INF_AND_NAN, &len);
    }
    int code = text ? ArrowArrayAppendString(to, (struct ArrowStringView){text, (int64_t)len}) : ENOMEM;
    free(made);
    return code == NANOARROW_OK ? TL_OK : tl_fail_memory(err, len);
}

static tl_status misfit(const json *j, const struct ArrowSchema *type, const char *wanted, tl_error *err) {
    return tl_fail(err, TL_INVALID, "%s, line %lld: column \"%s\" wants %s", j->base.name, (long long)j->lines.number,
                   type->name ? type->name : "", wanted);
}

static tl_status append_list(json *j, const struct ArrowSchema *type, struct ArrowArray *to, yyjson_val *v,
                             tl_error *err) {
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v)) {
        return misfit(j, type, "a list", err);
    }
    yyjson_arr_foreach(v, i, n, item) {
        TL_TRY(append_value(j, type->children[0], to->children[0], item, err));
    }
    return ArrowArrayFinishElement(to) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 1);
}

/* A map is an object: its keys are texts. */
static tl_status append_map(json *j, const struct ArrowSchema *type, struct ArrowArray *to, yyjson_val *v,
                            tl_error *err) {
    size_t i, n;
    yyjson_val *key, *value;
    if (!yyjson_is_obj(v)) {
        return misfit(j, type, "an object", err);
    }
    struct ArrowArray *entries = to->children[0];
    yyjson_obj_foreach(v, i, n, key, value) {
        TL_TRY(append_text(j, entries->children[0], key, err));
        TL_TRY(append_value(j, type->children[0]->children[1], entries->children[1], value, err));
        if (ArrowArrayFinishElement(entries) != NANOARROW_OK) {
            return tl_fail_memory(err, 1);
        }
    }
    return ArrowArrayFinishElement(to) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 1);
}

static tl_status append_struct(json *j, const struct ArrowSchema *type, struct ArrowArray *to, yyjson_val *v,
                               tl_error *err) {
    if (!yyjson_is_obj(v)) {
        return misfit(j, type, "an object", err);
    }
    size_t known = 0;
    for (int64_t i = 0; i < type->n_children; i++) {
        yyjson_val *member = yyjson_obj_get(v, type->children[i]->name);
        known += member != NULL;
        TL_TRY(append_value(j, type->children[i], to->children[i], member, err));
    }
    if (known != yyjson_obj_size(v)) {
        return misfit(j, type, "an object with no other members than the struct's fields", err);
    }
    return ArrowArrayFinishElement(to) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 1);
}

/* Depth: that of the table's type. */
static tl_status append_value(json *j, const struct ArrowSchema *type, struct ArrowArray *to, yyjson_val *v,
                              tl_error *err) {
    if (!v || yyjson_is_null(v)) {
        return ArrowArrayAppendNull(to, 1) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 1);
    }
    if (strcmp(type->format, "u") == 0) {
        return append_text(j, to, v, err);
    }
    return strcmp(type->format, "+l") == 0   ? append_list(j, type, to, v, err)
           : strcmp(type->format, "+m") == 0 ? append_map(j, type, to, v, err)
                                             : append_struct(j, type, to, v, err);
}

static int64_t find_column(const json *j, const char *name, size_t len, int64_t hint) {
    int64_t n = j->schema.n_children;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = (hint + k) % n;
        const char *other = j->schema.children[i]->name;
        if (strlen(other) == len && memcmp(other, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

static tl_status append_row(json *j, struct ArrowArray *batch, yyjson_val *row, tl_error *err) {
    int64_t number = j->rows_done + batch->length, hint = 0;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(row, i, n, key, value) {
        const char *name = yyjson_get_str(key);
        int64_t c = find_column(j, name, yyjson_get_len(key), hint);
        if (c < 0) {
            return tl_fail(err, TL_INVALID, "%s, line %lld: column \"%s\" is not in the table", j->base.name,
                           (long long)j->lines.number, name);
        }
        if (j->last_row[c] == number) {
            return tl_fail(err, TL_INVALID, "%s, line %lld: column \"%s\" stands twice", j->base.name,
                           (long long)j->lines.number, name);
        }
        j->last_row[c] = number;
        TL_TRY(append_value(j, j->schema.children[c], batch->children[c], value, err));
        hint = c + 1;
    }
    for (int64_t c = 0; c < j->schema.n_children; c++) {
        if (j->last_row[c] != number && ArrowArrayAppendNull(batch->children[c], 1) != NANOARROW_OK) {
            return tl_fail_memory(err, 1);
        }
    }
    return ArrowArrayFinishElement(batch) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, 1);
}

static tl_status json_next(tl_input *self, int64_t max_rows, struct ArrowArray *out, tl_error *err) {
    json *j = (json *)self;
    *out = (struct ArrowArray){0};
    struct ArrowArray batch = {0};
    int64_t rows = max_rows > 0 && max_rows < BATCH_ROWS ? max_rows : BATCH_ROWS;
    if (ArrowArrayInitFromSchema(&batch, &j->schema, NULL) != NANOARROW_OK ||
        ArrowArrayStartAppending(&batch) != NANOARROW_OK) {
        if (batch.release) {
            batch.release(&batch);
        }
        return tl_fail_memory(err, sizeof batch);
    }
    tl_status status = TL_OK;
    size_t bytes = 0;
    while (status == TL_OK && batch.length < rows && bytes < BATCH_BYTES) {
        tl_bytes line;
        status = lines_next(&j->lines, &line, err);
        if (status != TL_OK || !line.data) {
            break;
        }
        bytes += line.len;
        yyjson_doc *doc = NULL;
        status = parse_line(&j->lines, line, &doc, err);
        if (status == TL_OK) {
            j->line_of[batch.length] = j->lines.number;
            status = append_row(j, &batch, yyjson_doc_get_root(doc), err);
        }
        yyjson_doc_free(doc);
    }
    if (status == TL_OK && ArrowArrayFinishBuildingDefault(&batch, NULL) != NANOARROW_OK) {
        status = tl_fail(err, TL_INTERNAL, "%s: a batch could not be made", j->base.name);
    }
    if (status != TL_OK || batch.length == 0) {
        batch.release(&batch);
        return status;
    }
    j->rows_done += batch.length;
    *out = batch;
    return TL_OK;
}

/* Makes every leaf of a type text. Entries and keys of maps stay as they are, never null. Depth: that of the table's
 * type, bounded where it was read. */
static int leaves_to_text(struct ArrowSchema *s, bool nullable) {
    s->flags = nullable ? s->flags | ARROW_FLAG_NULLABLE : s->flags & ~(int64_t)ARROW_FLAG_NULLABLE;
    bool map = strcmp(s->format, "+m") == 0;
    if (s->format[0] != '+') {
        int code = ArrowSchemaSetMetadata(s, NULL);
        return code == NANOARROW_OK ? ArrowSchemaSetFormat(s, "u") : code;
    }
    int code = ArrowSchemaSetMetadata(s, NULL);
    for (int64_t i = 0; code == NANOARROW_OK && i < s->n_children; i++) {
        code = leaves_to_text(s->children[i], !map);
    }
    if (code == NANOARROW_OK && map && s->n_children == 1 && s->children[0]->n_children == 2) {
        s->children[0]->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    }
    return code;
}

static tl_status json_schema(tl_input *self, struct ArrowSchema *out, tl_error *err) {
    *out = (struct ArrowSchema){0};
    return ArrowSchemaDeepCopy(&((json *)self)->schema, out) == NANOARROW_OK ? TL_OK : tl_fail_memory(err, sizeof *out);
}

static int64_t json_line(const tl_input *self, int64_t row) {
    return row >= 0 && row < BATCH_ROWS ? ((const json *)self)->line_of[row] : 0;
}

static void json_progress(const tl_input *self, uint64_t *done, uint64_t *size) {
    tl_source_progress(((const json *)self)->lines.source, done, size);
}

static void json_close(tl_input *self) {
    json *j = (json *)self;
    lines_close(&j->lines);
    if (j->schema.release) {
        j->schema.release(&j->schema);
    }
    tl_free(j->last_row);
    tl_free(j);
}

static const tl_input_ops json_ops = {json_schema, json_next, json_line, json_progress, json_close};

tl_status tl_input_open_json(const char *path, const tl_input_options *o, tl_input **out, tl_error *err) {
    *out = NULL;
    json *j = tl_calloc(1, sizeof *j);
    if (!j) {
        return tl_fail_memory(err, sizeof *j);
    }
    j->base.ops = &json_ops;
    j->options = o;
    tl_status status =
        o->text ? tl_source_of_text(path, *o->text, &j->lines.source, err) : lines_open(&j->lines, path, err);
    if (status == TL_OK) {
        j->base.name = tl_source_name(j->lines.source);
        struct ArrowSchema canonical = {0};
        status = tl_iceberg_arrow_schema(o->schema, &canonical, err);
        /* a copy of nanoarrow's own making, whose parts may be changed */
        if (status == TL_OK && (ArrowSchemaDeepCopy(&canonical, &j->schema) != NANOARROW_OK ||
                                leaves_to_text(&j->schema, false) != NANOARROW_OK)) {
            status = tl_fail_memory(err, sizeof canonical);
        }
        if (canonical.release) {
            canonical.release(&canonical);
        }
    }
    if (status == TL_OK && !(j->last_row = tl_alloc_array((size_t)j->schema.n_children + 1, sizeof *j->last_row))) {
        status = tl_fail_memory(err, (size_t)j->schema.n_children);
    }
    for (int64_t i = 0; status == TL_OK && i < j->schema.n_children; i++) {
        j->last_row[i] = -1;
    }
    if (status != TL_OK) {
        json_close(&j->base);
        return status;
    }
    *out = &j->base;
    return TL_OK;
}

/* ---- guessing ---- */

static tl_status guess_row(tl_guess *g, yyjson_val *row, tl_error *err) {
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(row, i, n, key, value) {
        tl_bytes name = {(const uint8_t *)yyjson_get_str(key), yyjson_get_len(key)};
        tl_guess_column *c = tl_guess_find(g, name, (int32_t)i);
        if (!c) {
            return tl_fail_memory(err, sizeof *c);
        }
        if (yyjson_is_null(value)) {
            continue;
        }
        c->seen = true;
        if (yyjson_is_raw(value)) {
            tl_bytes text = {(const uint8_t *)yyjson_get_raw(value), yyjson_get_len(value)};
            c->possible = tl_guess_text(text, c->possible & (TL_GUESS_LONG | TL_GUESS_DOUBLE));
        } else if (yyjson_is_str(value)) {
            tl_bytes text = {(const uint8_t *)yyjson_get_str(value), yyjson_get_len(value)};
            unsigned texts = TL_GUESS_TIME | TL_GUESS_DATE | TL_GUESS_TIMESTAMP | TL_GUESS_TIMESTAMPTZ;
            c->possible = tl_guess_text(text, c->possible & texts);
        } else {
            c->possible &= yyjson_is_bool(value) ? TL_GUESS_BOOL : 0u;
        }
    }
    return TL_OK;
}

tl_status tl_guess_json(const char *path, tl_guess *g, tl_error *err) {
    lines l = {0};
    tl_status status = lines_open(&l, path, err);
    while (status == TL_OK) {
        tl_bytes line;
        status = lines_next(&l, &line, err);
        if (status != TL_OK || !line.data) {
            break;
        }
        yyjson_doc *doc = NULL;
        status = parse_line(&l, line, &doc, err);
        if (status == TL_OK) {
            status = guess_row(g, yyjson_doc_get_root(doc), err);
        }
        yyjson_doc_free(doc);
    }
    lines_close(&l);
    return status;
}
