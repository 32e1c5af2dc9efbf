/*
 * Splitting: rows fall into buckets, one per (time partition, series). Comes in: times and series numbers batch by
 * batch. Goes out: a bucket number per row (first come, first numbered), the rows in each, and the buckets in the
 * order of the files: partition, then series.
 */
#ifndef TL_APPEND_SPLIT_INTERNAL_H
#define TL_APPEND_SPLIT_INTERNAL_H

#include "base/buf.h"
#include "base/mem.h"
#include "iceberg/types.h"

typedef struct tl_partition_span {
    int32_t value;             /* of the transform */
    int64_t first_us, last_us; /* both within */
    uint32_t *buckets;         /* by series number: bucket number + 1; 0 = none. NULL in hashed mode */
    uint32_t cap;
} tl_partition_span;

typedef struct tl_bucket {
    uint32_t partition; /* index into partitions */
    uint32_t series;
    uint32_t rows;
} tl_bucket;

typedef struct tl_splitter {
    tl_transform chunk; /* HOUR, DAY, MONTH; VOID = everything in one partition */
    tl_partition_span *partitions;
    uint32_t n_partitions, cap_partitions;
    uint32_t *partition_slots; /* hash of partition values: index + 1 */
    uint32_t partition_mask;
    tl_bucket *buckets;
    uint32_t n_buckets, cap_buckets;
    size_t cells;    /* of all partitions' `buckets` */
    uint32_t *slots; /* hashed mode: bucket number + 1 */
    uint32_t mask;
    uint32_t last;     /* partition of the row before */
    uint32_t near[64]; /* by time, roughly: the partition last seen there */
} tl_splitter;

void tl_splitter_init(tl_splitter *s, tl_transform chunk);
/* Empty and usable again. */
void tl_splitter_reset(tl_splitter *s);
size_t tl_splitter_bytes(const tl_splitter *s);

/* `times` are int64 values at any address; numbers[i] is the series number of row i and becomes its bucket number. On
 * TL_INVALID *bad is the first row whose time no partition can hold (the caller words the error); otherwise -1. */
tl_status tl_splitter_add(tl_splitter *s, const uint8_t *times, int64_t n_rows, uint32_t *numbers, int64_t *bad,
                          tl_error *err) TL_CHECKED;

/* Bucket numbers in file order into out[n_buckets]; `ranks` are the places of the series (rank_internal.h). */
tl_status tl_splitter_order(const tl_splitter *s, const uint32_t *ranks, uint32_t n_series, uint32_t *out,
                            tl_error *err) TL_CHECKED;

#endif
