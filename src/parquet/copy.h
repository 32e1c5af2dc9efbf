/*
 * Column chunks from one file to another as they stand, neither decompressed nor decoded.
 * Comes in: an open file. Goes out: a chunk for tl_pq_file_writer_add_row_group of a file with an equal schema.
 */
#ifndef TL_PARQUET_COPY_H
#define TL_PARQUET_COPY_H

#include "parquet/reader.h"
#include "parquet/writer.h"

/* Equal to the last leaf: types, annotations, repetitions, names, field ids. The root's name does not count. */
bool tl_pq_schema_equal(const tl_pq_schema_element *a, int32_t n_a, const tl_pq_schema_element *b, int32_t n_b);

/* Reads a chunk. *has is false for one that cannot go on as it is: it has no offset index, or lies in the file in no
 * known way. Caller frees `out`; what it points to lives as long as the reader. */
tl_status tl_pq_reader_chunk(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_chunk *out, bool *has,
                             tl_error *err) TL_CHECKED;

#endif
