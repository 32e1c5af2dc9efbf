/*
 * Choosing encodings by looking at the data. Comes in: the planned row groups. Goes out: an encoding per leaf.
 *
 * A sample of a row group, 64 stretches spread over it, is encoded in each way that may be used and the smallest result
 * wins; sizes are those after compression. Few long stretches would be wrong: they see only few series. What a
 * dictionary of the whole row group would hold is estimated by Chao1 from the values seen once and twice.
 */
#ifndef TL_APPEND_CHOOSE_INTERNAL_H
#define TL_APPEND_CHOOSE_INTERNAL_H

#include "append/encode_internal.h"
#include "append/layout_internal.h"
#include "base/pool.h"

/* Sets options[].encoding of every leaf of `e`. `compact` allows encodings that not every current engine reads:
 * BYTE_STREAM_SPLIT (Spark with Iceberg up to 1.10 fails on it). `scratch` has one per thread of the pool. */
tl_status tl_choose_encodings(tl_encoder *e, const tl_sources *sources, const tl_sorted *sorted,
                              const tl_layout *layout, bool compact, tl_pool *pool, tl_encode_scratch *scratch,
                              tl_error *err) TL_CHECKED;

#endif
