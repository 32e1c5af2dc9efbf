/*
 * The appender's parts, shared by appender.c (rows in, one group in memory), runs.c (groups that are spilled and
 * merged), newest.c (what the commit wants to know) and plan.c (how columns are written).
 */
#ifndef TL_APPEND_APPENDER_INTERNAL_H
#define TL_APPEND_APPENDER_INTERNAL_H

#include "append/append.h"
#include "append/choose_internal.h"
#include "append/encode_internal.h"
#include "append/files_internal.h"
#include "append/layout_internal.h"
#include "append/rank_internal.h"
#include "append/rows_check_internal.h"
#include "append/sort_internal.h"
#include "append/spill_internal.h"
#include "append/split_internal.h"

/* Insertion times seen so far: while they are all the same nothing needs to compare them. */
typedef struct tl_ingest_seen {
    bool any, varies;
    int64_t value;
} tl_ingest_seen;

struct tl_appender {
    tl_table *table;
    const tl_schema *schema;
    const tl_contract *contract;
    tl_append_options options;
    tl_transform chunk; /* VOID = one partition */
    size_t memory_limit;
    tl_layout_options layout;
    tl_arena arena; /* schema elements */
    tl_leaves leaves;
    tl_encoder encoder; /* plans and options are its own arrays */
    tl_ranker *ranker;
    tl_splitter splitter;
    tl_group group;
    tl_ingest_seen ingest;
    int64_t rows_in;
    tl_stager stager;
    bool staging;       /* the stager is set up */
    bool chosen;        /* encodings are chosen */
    tl_spill_run *runs; /* sorted groups on disk, oldest first */
    int32_t n_runs, cap_runs;
    tl_rows newest;      /* n_columns 0 = none yet */
    tl_touched *touched; /* ascending partitions */
    uint32_t n_touched;
    tl_touched_bucket *touched_buckets; /* ascending partitions, then buckets */
    uint32_t n_touched_buckets;
    uint32_t n_buckets; /* 0 = not noted */
};

/* Plans, options and codec of the table's columns (plan.c). */
tl_status tl_encoder_make(const tl_table *table, const tl_leaves *leaves, const tl_ranker *ranker, tl_encoder *out,
                          tl_error *err) TL_CHECKED;
void tl_encoder_free(tl_encoder *e);

/* Sorts the group in memory. */
tl_status tl_appender_sort(tl_appender *a, tl_sorted *out, tl_error *err) TL_CHECKED;
/* Notes what a sorted group touched, and its newest rows (newest.c). */
tl_status tl_appender_note(tl_appender *a, const tl_sorted *sorted, tl_error *err) TL_CHECKED;
/* Lays out, chooses encodings at the first call, writes. With `more` the last row group is left out when it is not
 * full: its *kept rows are to be given again with what follows (never all of them when there is more than a row group).
 */
tl_status tl_appender_write(tl_appender *a, const tl_sources *sources, const tl_sorted *sorted, size_t source_bytes,
                            bool more, uint32_t *kept, tl_error *err) TL_CHECKED;

/* How many buckets of series are noted (buckets.c); then their times in a sorted group. */
void tl_appender_plan_buckets(tl_appender *a);
tl_status tl_appender_note_buckets(tl_appender *a, const tl_sorted *sorted, tl_error *err) TL_CHECKED;

/* Is the group too large to go on in memory? */
bool tl_appender_is_full(const tl_appender *a);
/* Sorts the group and moves it to disk (runs.c). */
tl_status tl_appender_spill(tl_appender *a, tl_error *err) TL_CHECKED;
/* Merges all runs into the final files. */
tl_status tl_appender_merge(tl_appender *a, tl_error *err) TL_CHECKED;
void tl_appender_drop_runs(tl_appender *a);

#endif
