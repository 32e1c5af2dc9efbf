/*
 * Rows of a canonical column by number: what dictionaries, runs and list views become.
 * Comes in: a column and row numbers. Goes out: a column of its own, in memory of the caller's choice.
 */
#ifndef TL_ARROW_GATHER_H
#define TL_ARROW_GATHER_H

#include "arrow/column.h"

/* Where results live: alloc gives uninitialised memory that the caller frees in its own way, or NULL. */
typedef struct tl_memory {
    void *(*alloc)(void *ctx, size_t size);
    void *ctx;
} tl_memory;

/* Row numbers; exactly one of the two is set. -1 = a null row. */
typedef struct tl_row_numbers {
    const int32_t *narrow;
    const int64_t *wide;
} tl_row_numbers;

static inline int64_t tl_row_number(tl_row_numbers x, int64_t i) {
    return x.narrow ? x.narrow[i] : x.wide[i];
}

/* out row i = row index[i] of `c`; numbers are not checked. Null rows come out as zeros, empty texts, empty lists.
 * TL_NO_MEMORY when the result does not fit. */
tl_status tl_column_gather(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                           tl_error *err) TL_CHECKED;

#endif
