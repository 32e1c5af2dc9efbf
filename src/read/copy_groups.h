/*
 * Row groups that can be taken over byte for byte (compaction). Comes in: files of a plan. Goes out: for each row group
 * its first and its last key, proof that its rows stand in key order, and its column chunks.
 */
#ifndef TL_READ_COPY_GROUPS_H
#define TL_READ_COPY_GROUPS_H

#include "parquet/copy.h"
#include "read/read.h"

typedef struct tl_copy_group {
    const tl_plan_file *file;
    int32_t row_group;
    int64_t n_rows;
    tl_rows keys; /* the series key columns, of the first and the last row; no columns without a key */
    int64_t first_us, last_us;
} tl_copy_group;
void tl_copy_groups_free(tl_copy_group *groups, int64_t n);

/* The row groups of a file, for a table with a time column; appended to out[0 .. *n), at most `cap`. *can is false when
 * the file cannot be copied: its schema is not `schema`, rows of it are hidden, keys repeat or are not in order, or
 * there is no telling cheaply. What was appended then is still the caller's to free. */
tl_status tl_copy_groups_read(const tl_plan *plan, const tl_plan_file *file, const tl_pq_schema_element *schema,
                              int32_t n_schema, tl_copy_group *out, int64_t cap, int64_t *n, bool *can,
                              tl_error *err) TL_CHECKED;

/* Do the bounds of a series column say that values of two files lie between each other's? False = they do not tell. */
bool tl_copy_series_overlap(const tl_field *column, const tl_data_file *a, const tl_data_file *b, bool *overlap);

/* Order of their first keys. */
int tl_copy_groups_order(const tl_plan *plan, const tl_copy_group *a, const tl_copy_group *b);
/* Order of the last key of `a` and the first key of `b`. */
int tl_copy_groups_compare(const tl_plan *plan, const tl_copy_group *a, const tl_copy_group *b);

/* Reads the chunks of row groups of one file, ascending, and hands each row group's to `take`. *can is false when one
 * cannot be copied after all. */
typedef tl_status (*tl_copy_take)(void *ctx, tl_pq_chunk *chunks, int32_t n, tl_error *err);
tl_status tl_copy_groups_chunks(const tl_plan *plan, const tl_copy_group *groups, int64_t n, tl_copy_take take,
                                void *ctx, bool *can, tl_error *err) TL_CHECKED;

#endif
