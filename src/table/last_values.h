/*
 * The last-value index: the newest row of every series (spec b.2). Parquet bytes in and out; rows as Arrow batches
 * of the table's schema, sorted by series key.
 */
#ifndef TL_TABLE_LAST_VALUES_H
#define TL_TABLE_LAST_VALUES_H

#include "arrow/column.h"
#include "table/table.h"

/* Rows of the table's schema: one canonical column per top-level field, in schema order. */
typedef struct tl_rows {
    int64_t n_rows;
    int32_t n_columns;
    tl_column *columns;
    tl_arena arena;            /* owns descriptors and copied buffers */
    struct ArrowArray *arrays; /* arrays whose buffers are looked at; released with the rows */
    int32_t n_arrays;
} tl_rows;
void tl_rows_free(tl_rows *rows);

/* Reads an index from its Parquet bytes (any field order; columns by field id). TL_CORRUPT when it is not one. */
tl_status tl_last_values_read(const tl_schema *schema, tl_bytes parquet, tl_rows *out, tl_error *err) TL_CHECKED;

/* Merges two sets of newest rows (each at most one row a series, sorted by series key): the newer by (time, insertion
 * time) stays, `b` on a tie. Either may be NULL. Nulls equal, NaN equal, -0.0 below 0.0. */
tl_status tl_last_values_merge(const tl_schema *schema, const tl_contract *contract, const tl_rows *a, const tl_rows *b,
                               tl_rows *out, tl_error *err) TL_CHECKED;

/* The Parquet form of spec b.2. */
tl_status tl_last_values_write(const tl_schema *schema, const tl_contract *contract, const tl_rows *rows, tl_buf *out,
                               tl_error *err) TL_CHECKED;

/* Copies the rows into an Arrow struct array of the table's Arrow schema (iceberg/parquet_schema.h). */
tl_status tl_rows_to_arrow(const tl_schema *schema, const tl_rows *rows, struct ArrowArray *out,
                           tl_error *err) TL_CHECKED;

/* The same as a stream of its own, of one batch, or none when there is no row. Caller releases. */
tl_status tl_rows_to_stream(const tl_schema *schema, const tl_rows *rows, struct ArrowArrayStream *out,
                            tl_error *err) TL_CHECKED;

/* A struct array of the table's canonical Arrow types as rows, without copying. `array` is taken in any case. */
tl_status tl_rows_from_arrow(const tl_schema *schema, const struct ArrowSchema *arrow, struct ArrowArray *array,
                             tl_rows *out, tl_error *err) TL_CHECKED;

/* Joins pieces (each series in one piece only) into one set of rows in the order of the series key. */
tl_status tl_last_values_join(const tl_schema *schema, const tl_contract *contract, const tl_rows *pieces, int32_t n,
                              tl_rows *out, tl_error *err) TL_CHECKED;

/* Reads the index of a snapshot: found through its summary, checked to be sound and to belong to that snapshot's rows.
 * TL_NOT_FOUND when there is none that can be trusted; then the caller scans. */
tl_status tl_last_values_load(tl_table *table, const tl_snapshot *snapshot, tl_rows *out, tl_error *err) TL_CHECKED;

/* Order of two rows' values in one column: nulls first, NaN last and equal, -0.0 < 0.0, bytes unsigned, decimals by
 * value (spec e). Primitive types only. */
int tl_column_compare(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b);

#endif
