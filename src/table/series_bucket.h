/*
 * The bucket of a series: a number below N that anybody can compute from its key, the same in every version of the
 * program and on every machine (docs/format.md). Comes in: the values of the series key. Goes out: a hash.
 */
#ifndef TL_TABLE_SERIES_BUCKET_H
#define TL_TABLE_SERIES_BUCKET_H

#include "iceberg/types.h"

#define TL_SERIES_BUCKETS_MAX 256

/* FNV-1a (64 bit) over the key columns in order; begin with TL_SERIES_HASH_START. A value is one byte 1 and its bytes,
 * a null one byte 0. Bytes: fixed-width types little-endian, decimals as 16 bytes; text and binary after their length
 * as 4 bytes little-endian. Every NaN is the canonical one. */
#define TL_SERIES_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t tl_series_hash_add(uint64_t hash, const tl_type *type, const tl_bytes *value); /* value NULL = null */

/* The upper half folded onto the lower one, modulo `buckets` (at least 1). */
uint32_t tl_series_bucket(uint64_t hash, uint32_t buckets);

#endif
