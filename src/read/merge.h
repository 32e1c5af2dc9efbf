/* Reading by merging (merge.c): strategy `merge` of read-dedup-strategy. For the read room. */
#ifndef TL_READ_MERGE_H
#define TL_READ_MERGE_H

#include "read/read.h"

typedef struct tl_merge tl_merge;

/* Orders files by partition; files of different specs must not be asked about. */
int tl_merge_compare_partitions(const tl_data_file *a, const tl_data_file *b);
/* Do all files of the plan have their partitions by one spec, so that partitions keep keys apart? */
bool tl_merge_one_spec(const tl_plan *plan);

/* `part` = the files to merge (NULL = all of the plan, partition by partition). `options` and `only` (key pieces, see
 * selection.h) and `part` outlive the merge; the plan is retained. `columns` as for tl_scan_open. */
tl_status tl_merge_create(tl_plan *plan, const tl_plan_options *options, const tl_bytes *only, const tl_scan_part *part,
                          const int32_t *columns, int32_t n_columns, tl_merge **out, tl_error *err) TL_CHECKED;
void tl_merge_free(tl_merge *m);

/* The next rows, as a struct array of the columns; out->release NULL at the end. TL_UNSUPPORTED for a file that is not
 * sorted and too large to be sorted in memory, or not sorted as its metadata say. */
tl_status tl_merge_next(tl_merge *m, struct ArrowArray *out, tl_error *err) TL_CHECKED;

#endif
