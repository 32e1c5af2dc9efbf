/*
 * Merging sorted runs from temporary files. Comes in: runs in the order of their age. Goes out: windows of rows in file
 * order, keeping the last of equal keys when the table wants that, to a sink: the final files, or one longer run.
 */
#ifndef TL_APPEND_MERGE_INTERNAL_H
#define TL_APPEND_MERGE_INTERNAL_H

#include "append/sort_internal.h"
#include "append/spill_internal.h"

typedef struct tl_merge_options {
    const tl_schema *schema;
    const uint32_t *ranks; /* places of the series */
    int32_t ingest;        /* column of insertion times that differ; -1 = none */
    bool keep_last;
    uint32_t window_rows; /* rows handed to the sink at a time, about */
    size_t window_bytes;  /* ... or as many bytes of blocks */
} tl_merge_options;

/* Takes rows in file order; `more` is false at the last call. Sets *kept to the number of rows at the end that it wants
 * to see again, with what follows them, in the next call; they are of one partition. 0 when `more` is false. */
typedef tl_status (*tl_merge_sink)(void *ctx, const tl_sources *sources, const tl_sorted *sorted, size_t source_bytes,
                                   bool more, uint32_t *kept, tl_error *err);

tl_status tl_merge_runs(tl_spill_run *runs, int32_t n_runs, const tl_merge_options *options, tl_merge_sink sink,
                        void *ctx, tl_error *err) TL_CHECKED;

#endif
