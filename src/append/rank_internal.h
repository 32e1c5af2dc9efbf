/*
 * Ranking: the distinct values of the series key get numbers, so that sorting compares integers, not strings.
 * Comes in: key columns batch by batch. Goes out: a series number per row (first come, first numbered), and for each
 * number its place in the order of spec/table-format.md e. Values are copied: batches may be freed.
 */
#ifndef TL_APPEND_RANK_INTERNAL_H
#define TL_APPEND_RANK_INTERNAL_H

#include "arrow/column.h"
#include "base/mem.h"
#include "iceberg/types.h"

typedef struct tl_ranker tl_ranker;

/* `schema` is borrowed. Without series columns every row is series 0. TL_INVALID for a nested key column. */
tl_status tl_ranker_create(const tl_schema *schema, const int32_t *series, int32_t n_series, tl_ranker **out,
                           tl_error *err) TL_CHECKED;
void tl_ranker_free(tl_ranker *r);

/* out[i] = the series number of row i. `columns` are the batch's columns in schema order. Byte values must be shorter
 * than 2^31. TL_UNSUPPORTED beyond 2^32 - 2 series. */
tl_status tl_ranker_add(tl_ranker *r, const tl_column *columns, int64_t n_rows, uint32_t *out,
                        tl_error *err) TL_CHECKED;

uint32_t tl_ranker_count(const tl_ranker *r); /* series so far */
size_t tl_ranker_bytes(const tl_ranker *r);   /* memory held, about */

/* ranks[series number] = place in key order, 0 .. count-1; valid until the next add. */
tl_status tl_ranker_ranks(tl_ranker *r, const uint32_t **ranks, tl_error *err) TL_CHECKED;

/* The value of key column `k` (position in the key) in a series: the native little-endian bytes of a number (8-byte
 * aligned), else the raw bytes. False = null. Valid until the next add. */
bool tl_ranker_value(const tl_ranker *r, int32_t k, uint32_t series, tl_bytes *out);

/* True when rows of one series may differ in the bits of key column `k`: NaNs of several payloads were seen. */
bool tl_ranker_mixed(const tl_ranker *r, int32_t k);

#endif
