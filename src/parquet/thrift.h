/*
 * The thrift compact form of the Parquet structures. Bytes in, structures out, and back. Unknown fields are skipped;
 * depth, sizes and counts are bounded by the bytes at hand.
 */
#ifndef TL_PARQUET_THRIFT_H
#define TL_PARQUET_THRIFT_H

#include "base/buf.h"
#include "parquet/format.h"

/* reading (thrift_read.c): `used` (may be NULL) gets the bytes consumed */
tl_status tl_pq_read_file_meta(tl_bytes in, tl_pq_file_meta *out,
                               tl_error *err) TL_CHECKED; /* free with tl_pq_file_meta_free */
tl_status tl_pq_read_page_header(tl_bytes in, tl_pq_page_header *out, size_t *used, tl_error *err) TL_CHECKED;
tl_status tl_pq_read_offset_index(tl_bytes in, tl_arena *arena, tl_pq_offset_index *out, tl_error *err) TL_CHECKED;
tl_status tl_pq_read_column_index(tl_bytes in, tl_arena *arena, tl_pq_column_index *out, tl_error *err) TL_CHECKED;

/* writing (thrift_write.c) */
tl_status tl_pq_write_file_meta(const tl_pq_file_meta *meta, tl_buf *out) TL_CHECKED;
tl_status tl_pq_write_page_header(const tl_pq_page_header *header, tl_buf *out) TL_CHECKED;
tl_status tl_pq_write_offset_index(const tl_pq_offset_index *index, tl_buf *out) TL_CHECKED;
tl_status tl_pq_write_column_index(const tl_pq_column_index *index, tl_buf *out) TL_CHECKED;

#endif
