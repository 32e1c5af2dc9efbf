/*
 * The versions of tables that queries read. Comes in: a lake, a table's name and which of its snapshots. Goes out: a
 * plan with the SELECT over it, the same one for as long as nothing was committed, under a number (handle) by which the
 * SELECT's tl_live finds the plan again.
 *
 * Plans are immutable: a commit makes a new one beside the old. They are let go when they have not been used for a
 * while: at once when there are many and a newer one took their place. What a handle stands for is known for much
 * longer: a statement that is still running then has its plan made again from the same snapshot, with the same files in
 * the same order. For many threads at once.
 */
#ifndef TL_DUCKDB_VERSIONS_H
#define TL_DUCKDB_VERSIONS_H

#include <stdatomic.h>

#include "api/lake.h"
#include "duckdb/sql_text.h"

typedef struct tl_versions tl_versions;

/* How older copies are left out. */
typedef enum tl_strategy {
    TL_STRATEGY_OF_TABLE, /* as its setting read-dedup-strategy says */
    TL_STRATEGY_KEYS,     /* auto and keys-first: DuckDB's scan, and a bit test a row */
    TL_STRATEGY_MERGE     /* files are merged (merged.h) */
} tl_strategy;
/* "auto", "keys-first", "merge", as tl_setting_check gives them; "" = the table's. */
tl_strategy tl_strategy_of(const char *name);

typedef struct tl_version_want {
    int64_t snapshot_id; /* 0 = the newest, or the one of `as_of_us` */
    bool has_as_of;      /* the snapshot that was the newest at as_of_us (microseconds since 1970) */
    int64_t as_of_us;
    int dedup; /* 1, 0; -1 = as the table's settings say */
    tl_strategy strategy;
    /* Rows that the caller does not look at may be left out, or be there with older copies: those whose time is not in
     * [from_us, to_us), and those with another value in a key column. */
    bool has_time;
    int64_t from_us, to_us;
    const tl_key_filter *keys;
    int32_t n_keys;
} tl_version_want;

/* Counted by reference. */
typedef struct tl_read_version {
    int64_t handle;
    tl_plan *plan;
    const tl_schema *schema; /* of the snapshot, in the plan's table */
    /* By merging: `merge.merge` is set, and the plan knows nothing of older copies: its hidden rows are deleted ones.
     */
    tl_plan_options merge;
    tl_arena arena; /* owns the keys of `merge` */
    tl_buf sql;     /* the SELECT, NUL-terminated (len counts the NUL) */
    tl_lake *lake;
    _Atomic uint8_t *read; /* per file of the plan: rows of it were asked for since the last noting; NULL = not kept */
    _Atomic int references;
} tl_read_version;

tl_versions *tl_versions_create(void); /* NULL when memory ends */
void tl_versions_free(tl_versions *v);

/* Lets go of what is not likely to be used again; tl_versions_get does it by itself. `now_us` by the monotonic clock.
 */
void tl_versions_sweep(tl_versions *v, int64_t now_us);

/* TL_NOT_FOUND for a table or snapshot that is not there. The lake must outlive `v`. Caller releases. */
tl_status tl_versions_get(tl_versions *v, tl_lake *lake, const char *name, const tl_version_want *want,
                          tl_read_version **out, tl_error *err) TL_CHECKED;
/* Enough of the table for its `limit` newest rows by time, without other conditions; the whole version when its
 * metadata does not show less to do. `want` has no conditions. */
tl_status tl_versions_newest(tl_versions *v, tl_lake *lake, const char *name, const tl_version_want *want,
                             int64_t limit, tl_read_version **out, tl_error *err) TL_CHECKED;
/* By handle: TL_NOT_FOUND when it was never given or is too long ago, or its snapshot has expired since. */
tl_status tl_versions_find(tl_versions *v, int64_t handle, tl_read_version **out, tl_error *err) TL_CHECKED;
void tl_version_release(tl_read_version *version);

/* Notes that rows of this file of the plan are read, for maintenance to know which partitions are (maintain/heat.h). */
static inline void tl_version_mark(tl_read_version *version, uint64_t file) {
    if (version->read && !atomic_load_explicit(&version->read[file], memory_order_relaxed)) {
        atomic_store_explicit(&version->read[file], 1, memory_order_relaxed);
    }
}

/* The snapshot that `want` asks for (NULL = the table is empty). */
tl_status tl_version_snapshot(const tl_table *table, const tl_version_want *want, const tl_snapshot **out,
                              tl_error *err) TL_CHECKED;
/* The schema that this version is read with: a snapshot's own when one was named, else the newest. */
const tl_schema *tl_version_schema(const tl_table *table, const tl_version_want *want, const tl_snapshot *snapshot);

#endif
