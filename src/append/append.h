/*
 * Append: aligned batches become staged files. sort -> split -> keep last -> encode (spec 11, DESIGN 4.3-4.7).
 * Comes in: tl_batch values of one table. Goes out: Parquet files in the store and a tl_staged value for the commit.
 */
#ifndef TL_APPEND_APPEND_H
#define TL_APPEND_APPEND_H

#include "append/align.h"
#include "base/pool.h"
#include "table/last_values.h"
#include "table/table.h"

/* The times an append touched in one partition. */
typedef struct tl_touched {
    int32_t partition; /* transform value */
    int64_t min_us, max_us;
    int64_t rows;
} tl_touched;

/* The same per bucket of series (table/series_bucket.h). */
typedef struct tl_touched_bucket {
    int32_t partition, bucket;
    int64_t min_us, max_us;
} tl_touched_bucket;

/* A series in a staged file: which one, and its least time there. */
typedef struct tl_series_start {
    int64_t series; /* row of tl_staged.newest */
    int64_t first_us;
} tl_series_start;

/* What an append leaves for the commit: a plain value; the files are in the store already, not yet part of the table.
 */
typedef struct tl_staged {
    tl_data_file *files; /* path = absolute URI; partition, counts, statistics, split offsets, sort order set */
    char **keys;         /* their keys in the store */
    int32_t n_files;
    int64_t rows;    /* written, after keep-last */
    int64_t rows_in; /* before it */
    int64_t bytes;
    tl_touched *touched; /* ascending partitions; none for a plain table */
    int32_t n_touched;
    tl_touched_bucket *touched_buckets; /* by partition, then bucket; none without touched-series-buckets */
    int32_t n_touched_buckets;
    int32_t series_buckets; /* how many buckets there are; 0 = the ranges are not known */
    tl_rows newest;         /* the newest row of each series of this append, sorted by series key; n_columns 0 = none */
    tl_series_start **starts; /* per file: its series in key order; NULL for a plain table */
    int64_t *n_starts;
    tl_arena arena;
} tl_staged;
void tl_staged_free(tl_staged *s);
/* Deletes the staged files from the store, best effort: only when the commit definitely did not happen. */
void tl_staged_discard(tl_store *store, tl_staged *s);

/* newer[i] = every row of file i is later than the last row of its series in `index`, so that it cannot supersede
 * anything that the index covers. `index` has the newest rows of all series of the table before this append, sorted by
 * series key; no columns or rows = the table was empty. Costs O(series of the append * log of the index). */
tl_status tl_staged_newer(const tl_schema *schema, const tl_contract *contract, const tl_staged *s,
                          const tl_rows *index, bool *newer, tl_error *err) TL_CHECKED;

/* What one append leaves for the next: buffers, codec contexts, the encodings chosen. For one append at a time. NULL
 * when memory ends, which costs time alone. */
typedef struct tl_append_workspace tl_append_workspace;
tl_append_workspace *tl_append_workspace_create(void);
void tl_append_workspace_free(tl_append_workspace *w);

typedef struct tl_append_options {
    tl_pool *pool;                  /* NULL = the caller's thread alone */
    int64_t memory_limit;           /* bytes; 0 = 1 GiB: beyond it sorted groups spill to local temporary files */
    const char *spill_directory;    /* NULL = TMPDIR, else /tmp */
    bool compact_profile;           /* encodings = compact: BYTE_STREAM_SPLIT allowed */
    tl_append_workspace *workspace; /* borrowed; NULL = none */
} tl_append_options;

/* Would tl_appender_add take this batch? Looks at what aligning does not: times and lengths of values. TL_INVALID with
 * column, row (`first_row` = rows before the batch) and value. */
tl_status tl_append_check(const tl_table *table, const tl_batch *b, int64_t first_row, tl_error *err) TL_CHECKED;

typedef struct tl_appender tl_appender;

/* `table` is retained. */
tl_status tl_appender_create(tl_table *table, const tl_append_options *options, tl_appender **out,
                             tl_error *err) TL_CHECKED;
/* Takes the batch (also on error). Times outside what the partition can hold: TL_INVALID with column, row and value. */
tl_status tl_appender_add(tl_appender *a, tl_batch *batch, tl_error *err) TL_CHECKED;
/* Sorts, writes and stages what was added; zero rows = zero files. Files are put with TL_PUT_LATER. On failure the
 * files written so far are deleted. */
tl_status tl_appender_finish(tl_appender *a, tl_staged *out, tl_error *err) TL_CHECKED;
void tl_appender_free(tl_appender *a); /* also after a failure: leaves no temporary file */

#endif
