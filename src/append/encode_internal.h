/*
 * Encoding one column of one row group. Comes in: row sources and which rows, in file order. Goes out: finished column
 * chunks. No gathered table ever exists: a page's worth of values is gathered, encoded and compressed while it is in
 * the cache.
 */
#ifndef TL_APPEND_ENCODE_INTERNAL_H
#define TL_APPEND_ENCODE_INTERNAL_H

#include "append/group_internal.h"
#include "append/rank_internal.h"
#include "append/sort_internal.h"
#include "table/leaves.h"

/* The rows of a row group. */
typedef struct tl_row_set {
    tl_sources sources;
    const uint32_t *rows; /* row numbers in the sources, in file order; NULL = rows first .. first + n - 1 */
    uint32_t first;
    const int64_t *times; /* the time column's values in file order; NULL = taken from the sources */
    uint32_t n;
    const tl_span *spans; /* those that hold these rows; NULL = series columns are gathered like others */
    uint32_t n_spans;
    uint32_t from; /* where the rows begin in the numbering of the spans */
} tl_row_set;

/* How a top-level column is written. */
typedef enum tl_column_how {
    TL_HOW_FLAT,    /* gathered row by row */
    TL_HOW_NESTED,  /* shredded */
    TL_HOW_SERIES,  /* from the spans: one run per series */
    TL_HOW_TIME,    /* from the sorted times */
    TL_HOW_CONSTANT /* one value in all rows */
} tl_column_how;

typedef struct tl_column_plan {
    tl_column_how how;
    int32_t key;       /* SERIES: position in the series key */
    uint8_t value[16]; /* CONSTANT: the native value; fixed-width types only */
} tl_column_plan;

typedef struct tl_encoder {
    const tl_leaves *leaves;
    const tl_ranker *ranker;
    tl_column_plan *plans;         /* per top-level column */
    tl_pq_column_options *options; /* per leaf, encodings chosen */
    uint32_t page_rows;            /* rows gathered at a time: a page, within reason */
} tl_encoder;

/* A page of a nested leaf that is put together from several sources. */
typedef struct tl_leaf_page {
    tl_buf def, rep, values;
    int64_t n_values;
} tl_leaf_page;

/* Buffers and writers of one worker. Zeroed = fresh. */
typedef struct tl_encode_scratch {
    tl_pq_column_writer **writers;
    tl_leaf_page *pages; /* one per writer */
    int32_t n_writers;
    tl_buf values, def, picks;
} tl_encode_scratch;
void tl_encode_scratch_free(tl_encode_scratch *s);
size_t tl_encode_scratch_bytes(const tl_encode_scratch *s); /* memory it holds, about */

/* Encodes top-level column `column` into chunks[0 .. leaves of it - 1]; on failure none is left. */
tl_status tl_encode_column(const tl_encoder *e, int32_t column, const tl_row_set *rows, tl_encode_scratch *scratch,
                           tl_pq_chunk *chunks, tl_error *err) TL_CHECKED;

/* ---- gathering (gather.c) ---- */

/* What a flat leaf's values look like to the column writer. */
typedef struct tl_gather_type {
    tl_pq_convert convert;
    int32_t type_length; /* bytes of a converted FIXED decimal */
} tl_gather_type;

/* Bytes a gathered value takes: native width, 1 for booleans, sizeof(tl_bytes) for byte arrays. */
size_t tl_gather_width(const tl_column *column, const tl_gather_type *type);

/* Gathers rows [at, at + n) of the set: `values` has room for n dense values, `def` for n levels. out->values may point
 * into the sources instead when the rows stand there as they are wanted. */
void tl_gather_flat(const tl_row_set *set, int32_t column, const tl_gather_type *type, uint32_t at, uint32_t n,
                    uint8_t *values, uint8_t *def, tl_pq_values *out);

/* The value of a decimal128 in the form a leaf wants. */
void tl_gather_decimal(const tl_gather_type *type, const uint8_t *in, uint8_t *out);

#endif
