/*
 * A column in memory in its canonical layout: what alignment gives, what the Parquet core shreds and encodes.
 * A view: the buffers belong to an Arrow array, or to the arena or owner named where the column was made.
 */
#ifndef TL_ARROW_COLUMN_H
#define TL_ARROW_COLUMN_H

#include "base/buf.h"

typedef enum tl_column_kind {
    TL_COLUMN_BOOL,  /* bitmap */
    TL_COLUMN_FIXED, /* `width` bytes a value, little-endian numbers: int32, int64, float, double, decimal128, fixed[n],
                        uuid */
    TL_COLUMN_BYTES, /* string, binary */
    TL_COLUMN_STRUCT, /* children have this column's length and offset 0 */
    TL_COLUMN_LIST    /* one child; a map is a list of struct<key, value> */
} tl_column_kind;

typedef struct tl_column {
    tl_column_kind kind;
    int32_t width;           /* FIXED only */
    int64_t length;          /* rows */
    const uint8_t *validity; /* NULL = no nulls; row i is bit validity_offset + i */
    int64_t validity_offset;
    const uint8_t *values;    /* FIXED: row i at values + i * width; BOOL: row i is bit values_offset + i */
    int64_t values_offset;    /* BOOL only */
    const int32_t *offsets32; /* BYTES, LIST: row i is [o[i], o[i+1]); exactly one of the two is set when length > 0 */
    const int64_t *offsets64;
    const uint8_t *data; /* BYTES */
    int64_t n_children;
    struct tl_column *children;
} tl_column;

static inline bool tl_column_is_null(const tl_column *c, int64_t row) {
    return c->validity && !tl_bit(c->validity, c->validity_offset + row);
}

static inline bool tl_column_bool(const tl_column *c, int64_t row) {
    return tl_bit(c->values, c->values_offset + row);
}

static inline int64_t tl_column_offset(const tl_column *c, int64_t row) {
    return c->offsets32 ? c->offsets32[row] : c->offsets64[row];
}

/* The bytes of row `row` of a BYTES column; undefined for a null row. */
static inline tl_bytes tl_column_bytes(const tl_column *c, int64_t row) {
    int64_t from = tl_column_offset(c, row), to = tl_column_offset(c, row + 1);
    return (tl_bytes){c->data + from, (size_t)(to - from)};
}

#endif
