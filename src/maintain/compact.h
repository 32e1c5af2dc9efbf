/*
 * Compaction (spec 12, DESIGN 6): small and overlapping files become few sorted ones without older copies.
 * Comes in: a table and a budget. Goes out: `replace` commits, each for a partition or a part of one.
 *
 * What is merged: files of one partition that stand next to each other in commit order, so that the result can keep the
 * greatest data sequence number it replaces and no older copy ever passes a newer one that is left outside. Rows keep
 * their insertion times. Rows deleted by delete files are left out, and the delete files go.
 */
#ifndef TL_MAINTAIN_COMPACT_H
#define TL_MAINTAIN_COMPACT_H

#include "base/pool.h"
#include "table/table.h"

/* What a look at the table tells of the next appends (compact_outlook.c). Zeroed = nothing; one is of one table. */
typedef struct tl_compact_outlook {
    char table[40]; /* its uuid */
    int64_t version, snapshot_id;
    int64_t files_left; /* with so many more there may be something to do */
    bool cold_on;
    int32_t hot_from;           /* partitions below are cold */
    int64_t newest_us, cold_us; /* once the newest row is of that time a partition more is cold */
} tl_compact_outlook;

typedef struct tl_compact_options {
    int64_t memory_limit;                  /* bytes, about; 0 = 256 MiB */
    tl_pool *pool;                         /* NULL = the caller's thread */
    struct tl_append_workspace *workspace; /* from one compaction to the next; borrowed; NULL = none is kept */
    int64_t now_us;                        /* wall clock; 0 = the store's environment says it */
    int64_t budget_us;                     /* no new commit is begun after so long; 0 = no limit */
    int64_t budget_bytes;                  /* ... or after so many bytes read; 0 = no limit */
    bool rewrite;                /* every partition, also where nothing asks for it (files with copies inside them) */
    bool decode;                 /* row groups are never taken over byte for byte */
    bool inline_only;            /* what an append does by itself: size tiers and cold partitions, nothing large */
    tl_compact_outlook *outlook; /* with inline_only: from one append to the next; NULL = none */
    void (*progress)(void *arg, int64_t done_bytes, int64_t all_bytes); /* NULL = none; called from this thread */
    void *progress_arg;
    const int32_t *only_partitions; /* ascending partition values; NULL = all */
    int64_t n_only;
    const double *heat; /* how often partitions are read, parallel to `heat_partitions`; NULL = not known */
    const int32_t *heat_partitions;
    int64_t n_heat;
} tl_compact_options;

typedef struct tl_compact_result {
    int64_t files_in, files_out, rows_in, rows_out, bytes_in, bytes_out;
    int64_t copied_bytes; /* of bytes_out: taken over as they were, not decoded */
    int32_t commits;
    int32_t partitions;      /* compacted */
    int32_t partitions_left; /* wanting it still when the budget ended, or lost to another compactor */
} tl_compact_result;

/* `out` = the newest version, retained; the base's own when there was nothing to do. Races are planned anew; what is
 * lost to another writer again and again is left for the next time and counted. An error of reading or writing ends it;
 * what was committed until then stays, and `result` and `out` (NULL = nothing was) say so. */
tl_status tl_compact(tl_table *base, const tl_compact_options *options, tl_compact_result *result, tl_table **out,
                     tl_error *err) TL_CHECKED;

#endif
