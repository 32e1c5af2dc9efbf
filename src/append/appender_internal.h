/*
 * The appender's parts, shared by appender.c (rows in), finish.c (one group in memory) and merge.c (groups that were
 * spilled).
 */
#ifndef TL_APPEND_APPENDER_INTERNAL_H
#define TL_APPEND_APPENDER_INTERNAL_H

#include "append/append.h"
#include "append/choose_internal.h"
#include "append/encode_internal.h"
#include "append/files_internal.h"
#include "append/layout_internal.h"
#include "append/rank_internal.h"
#include "append/sort_internal.h"
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
    tl_transform chunk;       /* VOID = one partition */
    size_t memory_limit;
    tl_layout_options layout;
    tl_arena arena;           /* schema elements */
    tl_leaves leaves;
    tl_encoder encoder;       /* plans and options are its own arrays */
    tl_ranker *ranker;
    tl_splitter splitter;
    tl_group group;
    tl_ingest_seen ingest;
    int64_t rows_in;
    tl_stager stager;
    bool staging;             /* the stager is set up */
    bool chosen;              /* encodings are chosen */
    tl_rows newest;           /* n_columns 0 = none yet */
    tl_touched *touched;      /* ascending partitions */
    uint32_t n_touched;
};

/* Plans, options and codec of the table's columns (plan.c). */
tl_status tl_encoder_make(const tl_table *table, const tl_leaves *leaves, const tl_ranker *ranker, tl_encoder *out,
                          tl_error *err) TL_CHECKED;
void tl_encoder_free(tl_encoder *e);

/* Sorts the group in memory. */
tl_status tl_appender_sort(tl_appender *a, tl_sorted *out, tl_error *err) TL_CHECKED;
/* Notes what a sorted group touched, and its newest rows (newest.c). */
tl_status tl_appender_note(tl_appender *a, const tl_sorted *sorted, tl_error *err) TL_CHECKED;
/* Lays out, chooses encodings at the first call, writes. */
tl_status tl_appender_write(tl_appender *a, const tl_sources *sources, const tl_sorted *sorted, size_t source_bytes,
                            bool more, tl_error *err) TL_CHECKED;

#endif
