/* Rows of data files in the table's own types (rows.c): what scan and latest share. */
#ifndef TL_READ_ROWS_H
#define TL_READ_ROWS_H

#include "read/read_internal.h"

/* A choice of a schema's top-level columns, in the order wanted. */
typedef struct tl_projection {
    tl_schema schema;         /* its fields, by reference to the table's schema */
    struct ArrowSchema arrow; /* as handed out */
} tl_projection;
tl_status tl_projection_make(const tl_schema *schema, const int32_t *columns, int32_t n_columns, tl_projection *out,
                             tl_error *err) TL_CHECKED;
void tl_projection_free(tl_projection *p);

/* Reads ranges of a row group as a struct array of the projection: columns by field id, missing ones null, narrower
 * types of older schemas widened. */
tl_status tl_rows_read(tl_open_file *f, int32_t row_group, const tl_pq_row_range *ranges, int32_t n_ranges,
                       const tl_projection *projection, struct ArrowArray *out, tl_error *err) TL_CHECKED;

#endif
