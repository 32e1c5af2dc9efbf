/*
 * Files made of row groups that were encoded before. Comes in: column chunks, row group by row group. Goes out: staged
 * files of one partition, with statistics, as an append leaves them.
 */
#ifndef TL_APPEND_COPY_H
#define TL_APPEND_COPY_H

#include "append/append.h"
#include "parquet/writer.h"

typedef struct tl_file_copier tl_file_copier;

/* `partition` is the value of the table's only partition field, or nothing's. `table` outlives the copier. */
tl_status tl_file_copier_create(tl_table *table, int32_t partition, tl_file_copier **out, tl_error *err) TL_CHECKED;
/* The schema that files of the table have: chunks must come from files with an equal one. */
const tl_pq_schema_element *tl_file_copier_schema(const tl_file_copier *c, int32_t *n);
/* Writes a row group; takes the chunks' bytes. Row groups come in the order of the table's keys. */
tl_status tl_file_copier_add(tl_file_copier *c, tl_pq_chunk *chunks, tl_error *err) TL_CHECKED;
/* The files, closed at the table's target size; put with TL_PUT_LATER. */
tl_status tl_file_copier_finish(tl_file_copier *c, tl_staged *out, tl_error *err) TL_CHECKED;
void tl_file_copier_free(tl_file_copier *c); /* what is not finished is deleted */

#endif
