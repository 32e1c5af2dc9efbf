/*
 * How the leaves of a table's Parquet schema are written: types, levels, order of bounds, conversion of decimals. Comes
 * in: the schema elements (iceberg/parquet_schema.h). Goes out: one description per leaf, and where each top-level
 * column's leaves are.
 */
#ifndef TL_TABLE_LEAVES_H
#define TL_TABLE_LEAVES_H

#include "parquet/shred.h"

typedef struct tl_leaves {
    const tl_pq_schema_element *schema; /* borrowed */
    int32_t n_schema;
    int32_t n_leaves, n_tops;
    tl_pq_leaf *leaves;
    tl_pq_column_options *options; /* per leaf; encoding PLAIN, codec uncompressed: the caller sets what it wants */
    tl_pq_convert *converts;       /* per leaf */
    int32_t *first_leaf;           /* per top-level column, n_tops + 1 */
    int32_t *element;              /* per top-level column: its schema element */
} tl_leaves;

/* `schema` is borrowed for the life of the value. */
tl_status tl_leaves_make(const tl_pq_schema_element *schema, int32_t n_schema, tl_leaves *out,
                         tl_error *err) TL_CHECKED;
void tl_leaves_free(tl_leaves *l);

#endif
