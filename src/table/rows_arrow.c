/*
 * Columns and Arrow arrays: looking at an array as a column, and copying rows out into an array of their own. Layouts
 * are those of iceberg/parquet_schema.h. See rows.h and last_values.h.
 */
#include <stdio.h>

#include "arrow/stream.h"
#include "base/mem.h"
#include "iceberg/parquet_schema.h"
#include "table/rows.h"

#define MAX_DEPTH 64

/* ---- Arrow -> column ---- */

/* Does an Arrow format string name the layout of a primitive type? */
static bool format_fits(const tl_type *t, const char *format) {
    char want[32] = "";
    switch (t->id) {
    case TL_TYPE_BOOLEAN: return strcmp(format, "b") == 0;
    case TL_TYPE_INT: return strcmp(format, "i") == 0;
    case TL_TYPE_LONG: return strcmp(format, "l") == 0;
    case TL_TYPE_FLOAT: return strcmp(format, "f") == 0;
    case TL_TYPE_DOUBLE: return strcmp(format, "g") == 0;
    case TL_TYPE_DATE: return strcmp(format, "tdD") == 0;
    case TL_TYPE_TIME: return strcmp(format, "ttu") == 0;
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return strncmp(format, "tsu:", 4) == 0;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: return strcmp(format, "u") == 0 || strcmp(format, "z") == 0;
    case TL_TYPE_DECIMAL:
        (void)snprintf(want, sizeof want, "d:%d,%d", t->precision, t->scale);
        return strcmp(format, want) == 0;
    case TL_TYPE_UUID:
    case TL_TYPE_FIXED:
        (void)snprintf(want, sizeof want, "w:%d", t->id == TL_TYPE_UUID ? 16 : t->length);
        return strcmp(format, want) == 0;
    case TL_TYPE_STRUCT: return strcmp(format, "+s") == 0;
    case TL_TYPE_LIST: return strcmp(format, "+l") == 0;
    case TL_TYPE_MAP: return strcmp(format, "+m") == 0;
    }
    return false;
}

static int32_t width_of(const tl_type *t) {
    switch (t->id) {
    case TL_TYPE_INT:
    case TL_TYPE_FLOAT:
    case TL_TYPE_DATE: return 4;
    case TL_TYPE_DECIMAL:
    case TL_TYPE_UUID: return 16;
    case TL_TYPE_FIXED: return t->length;
    default: return 8;
    }
}

static tl_status from_arrow(const tl_type *type, const struct ArrowSchema *format, const struct ArrowArray *array,
                            int depth, tl_arena *arena, tl_column *out, tl_error *err);

/* Fields of a struct, or the element of a list: one child column per field. */
static tl_status children_from_arrow(const tl_field *fields, int32_t n, const struct ArrowSchema *format,
                                     const struct ArrowArray *array, int depth, tl_arena *arena, tl_column *out,
                                     tl_error *err) {
    if (format->n_children != n || array->n_children != n) {
        return tl_fail(err, TL_CORRUPT, "%d nested fields expected, %lld found", n, (long long)format->n_children);
    }
    out->children = tl_arena_array(arena, (size_t)n, sizeof *out->children);
    if (!out->children) {
        return tl_fail_memory(err, (size_t)n * sizeof *out->children);
    }
    out->n_children = n;
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(from_arrow(&fields[i].type, format->children[i], array->children[i], depth + 1, arena, &out->children[i],
                          err));
    }
    return TL_OK;
}

static tl_status from_arrow(const tl_type *type, const struct ArrowSchema *format, const struct ArrowArray *array,
                            int depth, tl_arena *arena, tl_column *out, tl_error *err) {
    if (depth > MAX_DEPTH || !format->format || !format_fits(type, format->format)) {
        return tl_fail(err, TL_CORRUPT, "its type is not the table's (Arrow format \"%s\")",
                       format->format ? format->format : "");
    }
    bool nested = tl_type_is_nested(type->id);
    if (array->offset < 0 || array->length < 0 || (nested && array->offset != 0)) {
        return tl_fail(err, TL_CORRUPT, "an Arrow array with an offset was not expected");
    }
    *out = (tl_column){.length = array->length, .validity_offset = array->offset, .values_offset = array->offset};
    out->validity = array->null_count == 0 ? NULL : array->buffers[0];
    switch (type->id) {
    case TL_TYPE_STRUCT:
        out->kind = TL_COLUMN_STRUCT;
        return children_from_arrow(type->fields, type->n_fields, format, array, depth, arena, out, err);
    case TL_TYPE_LIST:
        out->kind = TL_COLUMN_LIST;
        out->offsets32 = array->buffers[1];
        return children_from_arrow(type->fields, 1, format, array, depth, arena, out, err);
    case TL_TYPE_MAP: {
        tl_field entries = {.type = {.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = type->fields}};
        out->kind = TL_COLUMN_LIST;
        out->offsets32 = array->buffers[1];
        return children_from_arrow(&entries, 1, format, array, depth, arena, out, err);
    }
    case TL_TYPE_BOOLEAN:
        out->kind = TL_COLUMN_BOOL;
        out->values = array->buffers[1];
        return TL_OK;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY:
        out->kind = TL_COLUMN_BYTES;
        out->offsets32 = (const int32_t *)array->buffers[1] + array->offset;
        out->data = array->buffers[2];
        return TL_OK;
    default:
        out->kind = TL_COLUMN_FIXED;
        out->width = width_of(type);
        out->values = (const uint8_t *)array->buffers[1] + array->offset * out->width;
        return TL_OK;
    }
}

tl_status tl_column_from_arrow(const tl_type *type, const struct ArrowSchema *format, const struct ArrowArray *array,
                               tl_arena *arena, tl_column *out, tl_error *err) {
    return from_arrow(type, format, array, 0, arena, out, err);
}

/* ---- column -> Arrow ---- */

/* What an array made here owns; its children are separate arrays with their own. */
typedef struct owned {
    const void *buffers[3];
} owned;

static void release_array(struct ArrowArray *array) {
    owned *mine = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]) {
            if (array->children[i]->release) {
                array->children[i]->release(array->children[i]);
            }
            tl_free(array->children[i]);
        }
    }
    tl_free(array->children);
    for (size_t i = 0; i < TL_COUNT(mine->buffers); i++) {
        tl_free((void *)(uintptr_t)mine->buffers[i]);
    }
    tl_free(mine);
    array->release = NULL;
}

/* An array with room for its children; on failure nothing is left to release. */
static tl_status begin_array(int64_t length, int64_t n_buffers, int64_t n_children, struct ArrowArray *out,
                             tl_error *err) {
    *out = (struct ArrowArray){.length = length, .n_buffers = n_buffers};
    owned *mine = tl_calloc(1, sizeof *mine);
    struct ArrowArray **children = n_children ? tl_calloc((size_t)n_children, sizeof(struct ArrowArray *)) : NULL;
    if (!mine || (n_children && !children)) {
        tl_free(mine);
        tl_free(children);
        return tl_fail_memory(err, sizeof *mine);
    }
    out->private_data = mine;
    out->buffers = mine->buffers;
    out->children = children;
    out->n_children = n_children;
    out->release = release_array;
    for (int64_t i = 0; i < n_children; i++) {
        children[i] = tl_calloc(1, sizeof *children[i]);
        if (!children[i]) {
            release_array(out);
            return tl_fail_memory(err, sizeof *children[i]);
        }
    }
    return TL_OK;
}

static void *buffer(struct ArrowArray *array, int i, size_t size, tl_error *err, tl_status *status) {
    owned *mine = array->private_data;
    void *p = tl_alloc_aligned(size);
    if (!p) {
        *status = tl_fail_memory(err, size);
        return NULL;
    }
    memset(p, 0, size);
    mine->buffers[i] = p;
    return p;
}

static tl_status copy_validity(const tl_column *c, struct ArrowArray *out, tl_error *err) {
    if (!c->validity) {
        return TL_OK;
    }
    tl_status status = TL_OK;
    uint8_t *bits = buffer(out, 0, (size_t)(c->length + 7) / 8, err, &status);
    if (!bits) {
        return status;
    }
    for (int64_t i = 0; i < c->length; i++) {
        if (tl_column_is_null(c, i)) {
            out->null_count++;
        } else {
            tl_bit_set(bits, i);
        }
    }
    return TL_OK;
}

/* Offsets from zero, 32 bits wide. */
static tl_status copy_offsets(const tl_column *c, struct ArrowArray *out, tl_error *err) {
    tl_status status = TL_OK;
    int32_t *offsets = buffer(out, 1, ((size_t)c->length + 1) * sizeof *offsets, err, &status);
    if (!offsets) {
        return status;
    }
    int64_t first = c->length ? tl_column_offset(c, 0) : 0;
    for (int64_t i = 0; i <= c->length && c->length; i++) {
        int64_t at = tl_column_offset(c, i) - first;
        if (at > INT32_MAX) {
            return tl_fail(err, TL_UNSUPPORTED, "more than 2 GiB in one column of one batch");
        }
        offsets[i] = (int32_t)at;
    }
    return TL_OK;
}

static tl_status to_arrow(const tl_column *c, int depth, struct ArrowArray *out, tl_error *err);

static tl_status fill_leaf(const tl_column *c, struct ArrowArray *out, tl_error *err) {
    tl_status status = TL_OK;
    size_t n = (size_t)c->length;
    if (c->kind == TL_COLUMN_BOOL) {
        uint8_t *bits = buffer(out, 1, (n + 7) / 8, err, &status);
        for (int64_t i = 0; bits && i < c->length; i++) {
            if (tl_column_bool(c, i)) {
                tl_bit_set(bits, i);
            }
        }
        return status;
    }
    if (c->kind == TL_COLUMN_FIXED) {
        size_t bytes = n * (size_t)c->width;
        uint8_t *values = buffer(out, 1, bytes, err, &status);
        if (values && bytes) {
            memcpy(values, c->values, bytes);
        }
        return status;
    }
    TL_TRY(copy_offsets(c, out, err));
    int64_t first = n ? tl_column_offset(c, 0) : 0, end = n ? tl_column_offset(c, c->length) : 0;
    uint8_t *data = buffer(out, 2, (size_t)(end - first), err, &status);
    if (data && end > first) {
        memcpy(data, c->data + first, (size_t)(end - first));
    }
    return status;
}

/* The elements of a list column, from the first row's to the last one's. */
static tl_status list_child(const tl_column *c, int depth, struct ArrowArray *out, tl_error *err) {
    int64_t first = c->length ? tl_column_offset(c, 0) : 0, end = c->length ? tl_column_offset(c, c->length) : 0;
    if (first != 0 || end != c->children[0].length) {
        return tl_fail(err, TL_INTERNAL, "list rows that do not start at their first element");
    }
    return to_arrow(&c->children[0], depth + 1, out, err);
}

static tl_status to_arrow(const tl_column *c, int depth, struct ArrowArray *out, tl_error *err) {
    if (depth > MAX_DEPTH) {
        return tl_fail(err, TL_UNSUPPORTED, "columns nested deeper than %d", MAX_DEPTH);
    }
    bool leaf = c->kind != TL_COLUMN_STRUCT && c->kind != TL_COLUMN_LIST;
    int64_t n_buffers = c->kind == TL_COLUMN_STRUCT ? 1 : c->kind == TL_COLUMN_BYTES ? 3 : 2;
    TL_TRY(begin_array(c->length, n_buffers, leaf ? 0 : c->n_children, out, err));
    tl_status status = copy_validity(c, out, err);
    if (status == TL_OK && leaf) {
        status = fill_leaf(c, out, err);
    } else if (status == TL_OK && c->kind == TL_COLUMN_LIST) {
        status = copy_offsets(c, out, err);
        if (status == TL_OK) {
            status = list_child(c, depth, out->children[0], err);
        }
    } else if (status == TL_OK) {
        for (int64_t i = 0; i < c->n_children && status == TL_OK; i++) {
            status = to_arrow(&c->children[i], depth + 1, out->children[i], err);
        }
    }
    if (status != TL_OK) {
        release_array(out);
    }
    return status;
}

tl_status tl_rows_to_arrow(const tl_schema *schema, const tl_rows *rows, struct ArrowArray *out, tl_error *err) {
    TL_TRY(begin_array(rows->n_rows, 1, rows->n_columns, out, err));
    for (int32_t c = 0; c < rows->n_columns; c++) {
        tl_status status = to_arrow(&rows->columns[c], 0, out->children[c], err);
        if (status != TL_OK) {
            tl_error_prefix(err, "column \"%s\": ", c < schema->n_fields ? schema->fields[c].name : "");
            release_array(out);
            return status;
        }
    }
    return TL_OK;
}

tl_status tl_rows_to_stream(const tl_schema *schema, const tl_rows *rows, struct ArrowArrayStream *out, tl_error *err) {
    struct ArrowSchema arrow = {0};
    struct ArrowArray array = {0};
    TL_TRY(tl_iceberg_arrow_schema(schema, &arrow, err));
    bool any = rows->n_rows > 0;
    tl_status status = any ? tl_rows_to_arrow(schema, rows, &array, err) : TL_OK;
    if (status == TL_OK) {
        status = tl_stream_of_arrays(&arrow, any ? &array : NULL, any ? 1 : 0, out, err);
    }
    arrow.release(&arrow);
    if (array.release) {
        array.release(&array);
    }
    return status;
}
