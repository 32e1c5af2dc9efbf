/*
 * Align: an Arrow batch becomes columns of the table's schema, by name, without losing a value (spec 11, DESIGN 4.1).
 * Comes in: any Arrow layout, checked. Goes out: canonical columns, or the first value that does not fit.
 */
#ifndef TL_APPEND_ALIGN_H
#define TL_APPEND_ALIGN_H

#include "arrow/column.h"
#include "iceberg/types.h"

typedef struct tl_align tl_align;

/* Plans the conversion from an Arrow schema (a struct) to a table schema. Errors (TL_INVALID): unknown column, missing
 * required column, a pair of types that never converts, duplicate names; one line naming the column.
 * `ingest` = index of the insertion-time column that may be missing or null (then the stamp is used); -1 = none.
 * `schema` is borrowed for the plan's life, the Arrow schema is not. */
tl_status tl_align_create(const tl_schema *schema, int32_t ingest, const struct ArrowSchema *input, tl_align **out,
                          tl_error *err) TL_CHECKED;
void tl_align_free(tl_align *a);

/* A batch in the table's schema. Buffers are the input's own where the layout is canonical already (no copy), else in
 * the arena. The input array is moved in and released with the batch. */
typedef struct tl_batch {
    int64_t n_rows;
    int32_t n_columns; /* fields of the table schema */
    tl_column *columns;
    struct ArrowArray input; /* release NULL = none */
    size_t bytes;            /* memory this batch keeps alive, about */
    tl_arena arena;
    void **buffers; /* large converted buffers, each freed with tl_free */
    int32_t n_buffers, cap_buffers;
} tl_batch;

/* Converts one batch. `first_row` is the number of rows of this input before it: errors count rows from 1 over the
 * whole input: `column "status", row 17: 3000000000 does not fit int`. `stamp_us` fills the insertion time where the
 * input has none. Takes `input` in any case (also on error). Required columns with a null: error naming the row. */
tl_status tl_align_batch(tl_align *a, struct ArrowArray *input, int64_t first_row, int64_t stamp_us, tl_batch *out,
                         tl_error *err) TL_CHECKED;
void tl_batch_free(tl_batch *b);

#endif
