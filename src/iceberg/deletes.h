/*
 * Delete files of one data file each, as bytes (Iceberg v2 and v3 specs). Comes in: a data file's path, and a bitmap of
 * its rows. Goes out: a position delete file (Parquet), or a deletion vector and the Puffin file around it. Reading
 * them: manifest.h (deletion vectors) and the read room (position deletes are ordinary Parquet files).
 */
#ifndef TL_ICEBERG_DELETES_H
#define TL_ICEBERG_DELETES_H

#include "iceberg/manifest.h"

/* Field ids that the Iceberg spec reserves for position deletes. */
enum { TL_FIELD_DELETE_PATH = 2147483546, TL_FIELD_DELETE_POS = 2147483545, TL_FIELD_ROW_POSITION = 2147483645 };

/* The data file that a delete file is for; NULL = it is for several, or does not say. In `arena` or the file's. Fails
 * only when memory ends. */
tl_status tl_delete_target(const tl_data_file *deletes, tl_arena *arena, const char **out, tl_error *err) TL_CHECKED;

/* A set of rows: bit i of `bits` = row i; `bits` has `n_rows` bits. */
typedef struct tl_row_bits {
    const uint8_t *bits;
    int64_t n_rows;
    int64_t n_set;
} tl_row_bits;

/* A position delete file: columns file_path (always `path`) and pos (ascending). Appends to `out`. */
tl_status tl_position_deletes_write(const char *path, const tl_row_bits *rows, tl_buf *out, tl_error *err) TL_CHECKED;

/* A blob "deletion-vector-v1". Appends to `out`. */
tl_status tl_deletion_vector_write(const tl_row_bits *rows, tl_buf *out, tl_error *err) TL_CHECKED;

/* A blob of a Puffin file: its place there, and what it says. */
typedef struct tl_puffin_vector {
    const char *path; /* the data file */
    int64_t offset, length, cardinality;
} tl_puffin_vector;

/* A Puffin file of deletion vectors is begun (empty `out`), gets vectors, and is ended with their descriptions. */
tl_status tl_puffin_begin(tl_buf *out, tl_error *err) TL_CHECKED;
tl_status tl_puffin_add(const char *path, const tl_row_bits *rows, tl_buf *out, tl_puffin_vector *vector,
                        tl_error *err) TL_CHECKED;
tl_status tl_puffin_end(const tl_puffin_vector *vectors, int64_t n, tl_buf *out, tl_error *err) TL_CHECKED;

#endif
