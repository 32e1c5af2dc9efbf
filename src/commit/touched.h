/*
 * What an append touched, as text in the snapshot's summary (`timelake.touched-ranges`, DESIGN 5): readers, rollups and
 * maintenance learn from it which times changed without opening a file.
 * Comes in: ranges. Goes out: text, and back.
 *
 * Form: ranges by ascending partition, separated by ','; a range is first:last:min:max: the partition values it spans
 * and the least and greatest time in them in microseconds. Up to 200 ranges; an append with more partitions has those
 * joined that are next to each other with the least gap between their times, so that its metadata stays small.
 */
#ifndef TL_COMMIT_TOUCHED_H
#define TL_COMMIT_TOUCHED_H

#include "append/append.h"

#define TL_TOUCHED_SUMMARY "timelake.touched-ranges"
#define TL_TOUCHED_MAX 200

typedef struct tl_touched_range {
    int32_t first, last;
    int64_t min_us, max_us;
} tl_touched_range;

/* NULL when memory ends; caller frees. "" for none. */
/* The same per bucket of series (setting touched-series-buckets), in a key of its own: the number of buckets, ';', and
 * ranges by ascending bucket, then partition: bucket:first:last:min:max. About 256 ranges: a bucket's are joined like
 * those above. Buckets that are not named were not touched. */
#define TL_TOUCHED_BUCKETS_SUMMARY "timelake.touched-buckets"
#define TL_TOUCHED_BUCKETS_MAX 256

typedef struct tl_bucket_range {
    int32_t bucket;
    tl_touched_range range;
} tl_bucket_range;

char *tl_touched_print_buckets(const tl_touched_bucket *touched, int32_t n, int32_t buckets);
tl_status tl_touched_parse_buckets(const char *text, tl_arena *arena, int32_t *buckets, tl_bucket_range **out,
                                   int32_t *n, tl_error *err) TL_CHECKED;

char *tl_touched_print(const tl_touched *touched, int32_t n);

/* TL_CORRUPT when it is not such a text. Ranges live in `arena`. */
tl_status tl_touched_parse(const char *text, tl_arena *arena, tl_touched_range **out, int32_t *n,
                           tl_error *err) TL_CHECKED;

#endif
