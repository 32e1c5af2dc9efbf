/* Batches of text; see text_batch.h. */
#include "cli/text_batch.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

tl_status tl_text_batch_init(tl_text_batch *b, int32_t n_columns, int64_t cap_rows, tl_error *err) {
    *b = (tl_text_batch){.n_columns = n_columns, .cap_rows = cap_rows};
    b->columns = tl_calloc((size_t)n_columns + 1, sizeof *b->columns);
    if (!b->columns) {
        return tl_fail_memory(err, (size_t)n_columns * sizeof *b->columns);
    }
    for (int32_t i = 0; i < n_columns; i++) {
        tl_text_column *c = &b->columns[i];
        c->offsets = tl_alloc_array((size_t)cap_rows + 1, sizeof *c->offsets);
        c->validity = tl_calloc((size_t)(cap_rows + 7) / 8, 1);
        if (!c->offsets || !c->validity) {
            tl_text_batch_free(b);
            return tl_fail_memory(err, (size_t)cap_rows * sizeof *c->offsets);
        }
        c->offsets[0] = 0;
    }
    return TL_OK;
}

void tl_text_batch_free(tl_text_batch *b) {
    for (int32_t i = 0; b->columns && i < b->n_columns; i++) {
        tl_free(b->columns[i].data);
        tl_free(b->columns[i].offsets);
        tl_free(b->columns[i].validity);
    }
    tl_free(b->columns);
    *b = (tl_text_batch){0};
}

tl_status tl_text_column_grow(tl_text_column *c, size_t extra, tl_error *err) {
    size_t need;
    if (!tl_size_add(c->len, extra, &need) || need > INT32_MAX) {
        return tl_fail(err, TL_INVALID, "a value is longer than 2 GiB");
    }
    size_t cap = c->cap ? c->cap : 4096;
    while (cap < need) {
        cap *= 2;
    }
    uint8_t *data = tl_realloc(c->data, cap);
    if (!data) {
        return tl_fail_memory(err, cap);
    }
    c->data = data;
    c->cap = cap;
    return TL_OK;
}

/* ---- as Arrow ---- */

/* Children may be moved out and released alone: each owns its three buffers. */
static void release_column(struct ArrowArray *a) {
    tl_text_column *c = a->private_data;
    tl_free(c->data);
    tl_free(c->offsets);
    tl_free(c->validity);
    tl_free(c);
    tl_free(a->buffers);
    a->release = NULL;
}

static void release_struct(struct ArrowArray *a) {
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i] && a->children[i]->release) {
            a->children[i]->release(a->children[i]);
        }
        tl_free(a->children[i]);
    }
    tl_free(a->children);
    tl_free(a->buffers);
    a->release = NULL;
}

static tl_status column_to_arrow(tl_text_column *from, int64_t rows, struct ArrowArray *out, tl_error *err) {
    tl_text_column *c = tl_alloc(sizeof *c);
    const void **buffers = tl_calloc(3, sizeof *buffers);
    uint8_t *data = from->data ? from->data : tl_alloc(1);
    if (!c || !buffers || !data) {
        if (!from->data) {
            tl_free(data);
        }
        tl_free(c);
        tl_free(buffers);
        return tl_fail_memory(err, sizeof *c);
    }
    *c = *from;
    c->data = data;
    *from = (tl_text_column){0};
    buffers[0] = c->n_nulls ? c->validity : NULL;
    buffers[1] = c->offsets;
    buffers[2] = c->data;
    *out = (struct ArrowArray){.length = rows,
                               .null_count = c->n_nulls,
                               .n_buffers = 3,
                               .buffers = buffers,
                               .release = release_column,
                               .private_data = c};
    return TL_OK;
}

tl_status tl_text_batch_take(tl_text_batch *b, struct ArrowArray *out, tl_error *err) {
    *out = (struct ArrowArray){.length = b->n_rows, .n_buffers = 1, .release = release_struct};
    out->buffers = tl_calloc(1, sizeof *out->buffers);
    out->children = tl_calloc((size_t)b->n_columns + 1, sizeof *out->children);
    tl_status status = out->buffers && out->children ? TL_OK : tl_fail_memory(err, 8);
    for (int32_t i = 0; status == TL_OK && i < b->n_columns; i++) {
        struct ArrowArray *child = tl_calloc(1, sizeof *child);
        if (!child) {
            status = tl_fail_memory(err, sizeof *child);
            break;
        }
        out->children[out->n_children++] = child;
        status = column_to_arrow(&b->columns[i], b->n_rows, child, err);
    }
    if (status != TL_OK) {
        out->release(out);
    }
    tl_text_batch_free(b);
    return status;
}

tl_status tl_text_schema(const char *const *names, int32_t n, struct ArrowSchema *out, tl_error *err) {
    ArrowSchemaInit(out);
    int code = ArrowSchemaSetTypeStruct(out, n);
    for (int32_t i = 0; code == NANOARROW_OK && i < n; i++) {
        code = ArrowSchemaSetType(out->children[i], NANOARROW_TYPE_STRING);
        if (code == NANOARROW_OK) {
            code = ArrowSchemaSetName(out->children[i], names[i]);
        }
    }
    if (code != NANOARROW_OK) {
        if (out->release) {
            out->release(out);
        }
        return tl_fail_memory(err, (size_t)n * sizeof *out);
    }
    return TL_OK;
}
