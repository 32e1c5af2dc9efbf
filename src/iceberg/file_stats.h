/*
 * What a manifest says about a data file, from the file's Parquet footer. Comes in: the footer's metadata and the
 * table's schema. Goes out: row count, split offsets and the statistics per column.
 */
#ifndef TL_ICEBERG_FILE_STATS_H
#define TL_ICEBERG_FILE_STATS_H

#include "iceberg/manifest.h"
#include "parquet/format.h"

/* Sets record_count, columns and split_offsets of `out`, in `arena`; the rest of `out` stays. Rules (spec a.4):
 *   counts   compressed size, values (nulls included), nulls; NaNs of float and double columns; -1 where a row group
 *            does not tell
 *   bounds   of columns that are not inside a list or map; left out when any row group with values has none, when one
 * was cut to fit, when the order is not the type's, or when it is NaN. A zero is -0.0 below and 0.0 above. Columns are
 * matched by field id; leaves without an id, or whose id is not in the schema, are left out. Errors: TL_CORRUPT when
 * the footer does not add up. */
tl_status tl_file_stats(const tl_schema *schema, const tl_pq_file_meta *meta, tl_arena *arena, tl_data_file *out,
                        tl_error *err) TL_CHECKED;

#endif
