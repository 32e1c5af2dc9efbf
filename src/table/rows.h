/*
 * Picking rows out of columns. Comes in: the same column from several sources and a list of picks. Goes out: one column
 * with the picked rows, copied; null rows hold zeroes whatever bytes lay under them.
 */
#ifndef TL_TABLE_ROWS_H
#define TL_TABLE_ROWS_H

#include "arrow/column.h"
#include "base/mem.h"
#include "table/last_values.h"

/* Row `row` of source `source`. */
typedef struct tl_pick {
    uint32_t source, row;
} tl_pick;

/* Copies the picked rows of column `column` of each source (sources[i] = the columns of source i, alike in kind and
 * width) into `arena`. */
tl_status tl_column_pick(const tl_column *const *sources, uint32_t n_sources, int32_t column, const tl_pick *picks,
                         int64_t n, tl_arena *arena, tl_column *out, tl_error *err) TL_CHECKED;

/* The same for all `n_columns` columns. Caller frees `out`; it is empty on failure. */
tl_status tl_rows_pick(const tl_column *const *sources, uint32_t n_sources, int32_t n_columns, const tl_pick *picks,
                       int64_t n, tl_rows *out, tl_error *err) TL_CHECKED;

/* Looks at an Arrow array as columns of a schema, without copying; TL_CORRUPT when its layout is not the one that the
 * schema's types have in Arrow. Descriptors go into `arena`. `format` is the Arrow schema of `array`. */
tl_status tl_column_from_arrow(const tl_type *type, const struct ArrowSchema *format, const struct ArrowArray *array,
                               tl_arena *arena, tl_column *out, tl_error *err) TL_CHECKED;

#endif
