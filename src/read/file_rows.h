/*
 * Rows of single data files, for compaction: row groups of files of a plan, each by itself, so that several threads can
 * read them in any order. Comes in: a plan and a piece of one of its files. Goes out: its live rows as Arrow batches of
 * the table's current schema, in file order.
 */
#ifndef TL_READ_FILE_ROWS_H
#define TL_READ_FILE_ROWS_H

#include "read/read.h"

/* What the pieces of one plan share. Immutable once made. */
typedef struct tl_file_rows tl_file_rows;
tl_status tl_file_rows_create(tl_plan *plan, tl_file_rows **out, tl_error *err) TL_CHECKED; /* retains the plan */
void tl_file_rows_free(tl_file_rows *r);
const struct ArrowSchema *tl_file_rows_schema(const tl_file_rows *r); /* of the batches */

/* Row groups [from, to) of a file; those beyond its end are none. Rows that the plan hides are left out. The batches
 * are appended to out[0 .. *n); at most `cap`, else TL_INTERNAL. On failure none is left. May be called by several
 * threads at once. */
tl_status tl_file_rows_read(const tl_file_rows *r, const tl_plan_file *file, int32_t from, int32_t to,
                            struct ArrowArray *out, int32_t cap, int32_t *n, tl_error *err) TL_CHECKED;

/* Row groups of a file, from its footer. */
tl_status tl_file_rows_groups(const tl_file_rows *r, const tl_plan_file *file, int32_t *out, tl_error *err) TL_CHECKED;

/* Can two files hold the same (series, time), as far as their bounds tell? */
tl_status tl_file_rows_may_share(const tl_plan *plan, const tl_live_file *a, const tl_live_file *b, bool *out,
                                 tl_error *err) TL_CHECKED;

/* The least and the greatest time in a file in microseconds; false when its bounds do not tell. */
bool tl_file_rows_times(const tl_plan *plan, const tl_live_file *f, int64_t *least, int64_t *most);

#endif
