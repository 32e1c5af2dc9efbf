/*
 * Nested columns become leaves. Comes in: a canonical column and its part of the schema tree. Goes out: levels and
 * dense values for the column writers (Dremel shredding).
 */
#ifndef TL_PARQUET_SHRED_H
#define TL_PARQUET_SHRED_H

#include "arrow/column.h"
#include "parquet/writer.h"

/* How the values of a leaf are turned on the way (Iceberg's Parquet types). */
typedef enum tl_pq_convert {
    TL_PQ_CONVERT_NONE,          /* same bytes */
    TL_PQ_CONVERT_DECIMAL_INT32, /* decimal128 -> int32 (precision <= 9) */
    TL_PQ_CONVERT_DECIMAL_INT64, /* decimal128 -> int64 (precision <= 18) */
    TL_PQ_CONVERT_DECIMAL_FIXED  /* decimal128 -> big-endian, type_length bytes */
} tl_pq_convert;

/* Shreds rows [from, from + n) of top-level column `column`, whose schema subtree begins at schema[element], into its
 * leaves in order: for leaf k of the column, `emit(ctx, k, values)` is called once. `rows` (may be NULL) picks rows:
 * entry i is column row rows[from + i]. `converts` has one entry per leaf of the column. */
typedef tl_status (*tl_pq_emit)(void *ctx, int32_t leaf, const tl_pq_values *values, tl_error *err);
tl_status tl_pq_shred(const tl_column *column, const tl_pq_schema_element *schema, int32_t n_schema, int32_t element,
                      const tl_pq_convert *converts, const int64_t *rows, int64_t from, int64_t n, tl_pq_emit emit,
                      void *ctx, tl_error *err) TL_CHECKED;

#endif
