/*
 * Batches of text: columns of strings, filled cell by cell, handed over as Arrow struct arrays of utf8 columns.
 */
#ifndef TL_CLI_TEXT_BATCH_H
#define TL_CLI_TEXT_BATCH_H

#include <string.h>

#include "cli/cli.h"

typedef struct tl_text_column {
    uint8_t *data;
    size_t len, cap;
    int32_t *offsets; /* cap_rows + 1 */
    uint8_t *validity;
    int64_t n_nulls;
} tl_text_column;

typedef struct tl_text_batch {
    tl_text_column *columns;
    int32_t n_columns;
    int64_t n_rows, cap_rows;
    size_t bytes; /* of all cells */
} tl_text_batch;

/* Room for `cap_rows` rows. The batch may be moved, and is freed by tl_text_batch_free or by taking it. */
tl_status tl_text_batch_init(tl_text_batch *b, int32_t n_columns, int64_t cap_rows, tl_error *err) TL_CHECKED;
void tl_text_batch_free(tl_text_batch *b);

/* Adds bytes to the cell of column `c` in the row being made; a cell may come in pieces. */
tl_status tl_text_column_grow(tl_text_column *c, size_t extra, tl_error *err) TL_CHECKED;
static inline TL_CHECKED tl_status tl_text_add(tl_text_column *c, const void *data, size_t len, tl_error *err) {
    if (c->cap - c->len < len) {
        TL_TRY(tl_text_column_grow(c, len, err));
    }
    if (len) {
        memcpy(c->data + c->len, data, len);
    }
    c->len += len;
    return TL_OK;
}
/* Ends the cell of row b->n_rows. */
static inline void tl_text_end_cell(tl_text_batch *b, int32_t column, bool is_null) {
    tl_text_column *c = &b->columns[column];
    if (is_null) {
        c->len = (size_t)c->offsets[b->n_rows];
        c->n_nulls++;
    } else {
        tl_bit_set(c->validity, b->n_rows);
    }
    c->offsets[b->n_rows + 1] = (int32_t)c->len;
}
/* The bytes of a cell that is ended, or being made. */
static inline tl_bytes tl_text_cell(const tl_text_batch *b, int32_t column, int64_t row) {
    const tl_text_column *c = &b->columns[column];
    return (tl_bytes){c->data + c->offsets[row], (size_t)((int32_t)c->len - c->offsets[row])};
}

/* Makes a struct array of the batch (which is empty and freed afterwards). Caller releases it. */
tl_status tl_text_batch_take(tl_text_batch *b, struct ArrowArray *out, tl_error *err) TL_CHECKED;

/* The schema of such batches: nullable utf8 columns with these names; caller releases. */
tl_status tl_text_schema(const char *const *names, int32_t n, struct ArrowSchema *out, tl_error *err) TL_CHECKED;

#endif
