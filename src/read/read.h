/*
 * Reading: plan (prune, overlap) -> older copies -> scan; latest (DESIGN 6).
 * Comes in: a table version and what is wanted of it. Goes out: the files to read, each with the rows that are not to
 * be seen, or the rows themselves as an Arrow stream.
 */
#ifndef TL_READ_READ_H
#define TL_READ_READ_H

#include "base/pool.h"
#include "table/last_values.h"
#include "table/table.h"

/* Key columns that must equal a value, given as its Iceberg single-value bytes (data NULL = must be null). */
typedef struct tl_key_filter {
    int32_t column; /* index in the table's schema */
    tl_bytes value;
} tl_key_filter;

typedef struct tl_plan_options {
    const tl_snapshot *snapshot; /* NULL = current */
    bool keep_copies;            /* no dedup */
    bool merge;                  /* strategy `merge`: older copies are not looked for here, tl_scan_open merges */
    bool names;                  /* fill tl_plan_file.names */
    bool has_time;               /* time in [from_us, to_us) */
    int64_t from_us, to_us;
    const tl_key_filter *keys;
    int32_t n_keys;
    uint32_t share, shares; /* only series of this share, told by a hash of the first key column; shares < 2 = all. For
                               rows only, not for files: see tl_scan_parts_make */
    bool cheap; /* TL_UNSUPPORTED when older copies would have to be looked for in much more than what was added since
                   they were looked for last, or in millions of rows */
    tl_pool *pool; /* NULL = the caller's thread */
} tl_plan_options;

/* One data file of a scan. */
typedef struct tl_plan_file {
    tl_live_file *file; /* in the plan's `files` */
    uint8_t *hidden;    /* bitmap over the file's rows (position in file): 1 = not to be seen: an older copy
                           or deleted by a delete file; NULL = all are live */
    int64_t n_hidden;
    struct tl_bitmap *shared; /* what `hidden` is a part of when other plans share it; else NULL */
    int64_t n_deleted;        /* of them, those deleted by delete files */
    const char *const *names; /* asked for, and the file carries no field ids: what it calls each field of the
                                 table's schema; NULL = it has no such column */
} tl_plan_file;

/* Immutable once made; counted by reference. */
typedef struct tl_plan {
    tl_table *table; /* retained */
    tl_live_files files;
    tl_plan_file *scan; /* files that can hold wanted rows, newest partitions first */
    int64_t n_scan;
    int64_t rows; /* of `scan`, hidden ones included */
    int64_t hidden_rows;
    tl_arena arena;
    _Atomic int references;
} tl_plan;

/* Finds the files and their hidden rows. Older copies: the greatest (insertion time, data sequence number, position) of
 * a (series, time) is kept (spec 12; ties by file path as the last resort). Files that cannot share keys (bounds, with
 * nulls and NaN in mind) are not read. Delete files: position deletes and deletion vectors are honoured, equality
 * deletes refused (TL_UNSUPPORTED). A file that cannot be read is an error naming it. */
tl_status tl_plan_create(tl_table *table, const tl_plan_options *options, tl_plan **out, tl_error *err) TL_CHECKED;
/* For files that are about to be committed on top of `table` (n_added > 0; `added` outlives the plan; their sequence
 * number is that of the commit to be): a plan of them and of the table's files that may share a key with one of them.
 * Hidden are rows that a delete file has, and rows of which another of these files has a later copy. */
tl_status tl_plan_beside(tl_table *table, const tl_live_file *added, int64_t n_added, tl_pool *pool, tl_plan **out,
                         tl_error *err) TL_CHECKED;
/* What a writer does after a commit so that readers which know nothing yet need not look for all older copies: from
 * time to time what is known is kept beside the table, as metadata/timelake-older. Best effort; only a cache. */
#define TL_OLDER_NAME "timelake-older"
void tl_older_publish(tl_table *t, tl_pool *pool);
/* Gives back the memory in which the process keeps what it knows about older copies (at most 64 MB); plans that are
 * there keep theirs. */
void tl_read_forget(void);
tl_plan *tl_plan_retain(tl_plan *p);
void tl_plan_release(tl_plan *p);

/* The rows of a plan as record batches: `columns` are indices into the table's schema, in this order (NULL = all).
 * Columns are matched by field id, missing ones are null. Key and time filters of `options` are applied to the rows.
 * The stream retains the plan. */
tl_status tl_scan_open(tl_plan *plan, const tl_plan_options *options, const int32_t *columns, int32_t n_columns,
                       struct ArrowArrayStream *out, tl_error *err) TL_CHECKED;

/* Strategy `merge` for several threads: parts of a plan, each of which is merged by itself, because no key is in two of
 * them. Files of one partition whose times overlap belong together; where that makes a part large, it is several, by
 * series. The parts depend on the plan alone. */
typedef struct tl_scan_part {
    const int64_t *files;  /* in plan->scan, older ones first */
    int64_t n_files, rows; /* `rows` about */
    uint32_t share, shares;
} tl_scan_part;
typedef struct tl_scan_parts {
    tl_scan_part *items; /* the newest times first */
    int64_t n;
    tl_arena arena;
} tl_scan_parts;
/* `plan` and `options` as for tl_scan_open, of a table with dedup, without keep_copies. */
tl_status tl_scan_parts_make(const tl_plan *plan, const tl_plan_options *options, tl_scan_parts *out,
                             tl_error *err) TL_CHECKED;
void tl_scan_parts_free(tl_scan_parts *parts);
/* The last writes of one part's keys, in key order. The part outlives the stream. */
tl_status tl_scan_open_part(tl_plan *plan, const tl_plan_options *options, const tl_scan_part *part,
                            const int32_t *columns, int32_t n_columns, struct ArrowArrayStream *out,
                            tl_error *err) TL_CHECKED;

/* The newest row of each series: from the last-value index when the snapshot has a sound one, else by a scan. */
tl_status tl_latest_rows(tl_table *table, tl_pool *pool, tl_rows *out, tl_error *err) TL_CHECKED;
/* The same by a scan, whatever the index says. */
tl_status tl_latest_by_scan(tl_table *table, tl_pool *pool, tl_rows *out, tl_error *err) TL_CHECKED;

#endif
