/*
 * Commit: staged files, or a change of metadata, become a new version of the table (spec a.2, DESIGN 5).
 * Three outcomes: TL_OK = committed; TL_UNKNOWN = it may be (repeat with the same batch id); anything else = not
 * committed, definitely.
 */
#ifndef TL_COMMIT_COMMIT_H
#define TL_COMMIT_COMMIT_H

#include "append/append.h"
#include "commit/deletes.h"
#include "table/table.h"

typedef struct tl_commit_options {
    const char *batch_id;       /* NULL = none */
    const tl_property *summary; /* extra summary keys */
    int32_t n_summary;
    int32_t max_attempts;           /* 0 = 100 */
    bool no_sync;                   /* durability=none */
    const tl_delete_lookup *lookup; /* finds what the rows replace; asked by each attempt on a table of policy upsert */
} tl_commit_options;

typedef struct tl_commit_result {
    int64_t version;     /* of the table after the call */
    int64_t snapshot_id; /* -1 = nothing was committed (zero rows, duplicate) */
    int32_t attempts;
    int64_t commit_us; /* how long the commit took */
    bool duplicate;    /* the batch id was there: nothing written, staged files discarded */
} tl_commit_result;

/* Appends staged files on top of the newest version: rebases on lost races (metadata only), keeps the batch id
 * findable, extends the last-value index, writes touched ranges and counters into the summary. `out` gets the new
 * version, retained. Staged files are deleted when (and only when) the commit definitely failed or was a duplicate. */
tl_status tl_commit_append(tl_table *base, tl_staged *staged, const tl_commit_options *options,
                           tl_commit_result *result, tl_table **out, tl_error *err) TL_CHECKED;

/* Is this batch id in the retained history, or among the remembered ids? */
tl_status tl_commit_find_batch(tl_table *t, const char *batch_id, bool *found, tl_error *err) TL_CHECKED;

/* Settings and other properties: value NULL removes. Values are checked and canonical already. */
tl_status tl_commit_properties(tl_table *base, const tl_property *changes, int32_t n, tl_table **out,
                               tl_error *err) TL_CHECKED;

/* Settings as above, write-policy=upsert among them, and the deletes of a set, in one commit on exactly `base`:
 * TL_CONFLICT when the table has moved on, then look for the deletes again. A table with rows gets a snapshot that says
 * that it holds one copy of each key, which the set must bring about. */
tl_status tl_commit_deletes(tl_table *base, const tl_delete_set *set, const tl_property *changes, int32_t n,
                            tl_table **out, tl_error *err) TL_CHECKED;

/* Makes an older snapshot current again (no new snapshot). TL_NOT_FOUND when it is not kept any more. */
tl_status tl_commit_rollback(tl_table *base, int64_t snapshot_id, tl_table **out, tl_error *err) TL_CHECKED;

/* Gives the current snapshot a last-value index that it lacks (another program committed, a file was lost): a `replace`
 * snapshot with the same files. `newest` = the newest row of each series of exactly `base`'s current snapshot, sorted
 * by series key (tl_latest_rows). TL_CONFLICT when the table has moved on meanwhile; TL_INVALID for a plain or empty
 * table. */
tl_status tl_commit_last_values(tl_table *base, const tl_rows *newest, tl_table **out, tl_error *err) TL_CHECKED;

/* What tl_commit_replace takes out of the table and how. */
typedef struct tl_replace_options {
    const tl_live_files *planned; /* the files of the snapshot that was planned on; its delete files are known */
    const int64_t *removed;       /* ascending indices into planned->data */
    int64_t n_removed;
    const int64_t *sequences; /* data sequence number of each added file: the greatest of those it stands for */
    bool cut;                 /* nothing is added: series whose last row is before `cut_us` leave the last-value index.
                                 The caller warrants that every planned file with older rows is among the removed */
    int64_t cut_us;
    bool same_rows;             /* nothing is added, and yet readers see the same rows: all that goes was hidden */
    const tl_property *summary; /* extra summary keys */
    int32_t n_summary;
    int32_t max_attempts; /* 0 = the table's setting */
    bool no_sync;
} tl_replace_options;

/* Takes whole data files out of the table and puts staged ones in their place: operation `replace` (compaction: the
 * rows that readers see must be the same), or `delete` when nothing is added (`added` NULL or without files). Goes on
 * top of whatever was appended meanwhile. Delete files that concern only removed files go too. TL_CONFLICT, and nothing
 * is committed: a removed file is not in the table any more, or got deletes that were not planned for; plan again.
 * Staged files are deleted when the commit definitely failed. */
tl_status tl_commit_replace(tl_table *base, tl_staged *added, const tl_replace_options *options,
                            tl_commit_result *result, tl_table **out, tl_error *err) TL_CHECKED;

/* Takes snapshots out of the history, those of `ids` that are still there and that no branch or tag names. Their
 * objects stay (maintain/expire.h removes them). `out` may be the version that was there already. */
tl_status tl_commit_expire(tl_table *base, const int64_t *ids, int32_t n, tl_table **out, tl_error *err) TL_CHECKED;

/* Waits before the next attempt: random, longer with each, on the scale of what an attempt takes. */
void tl_commit_back_off(const tl_env *env, int32_t attempt, int64_t attempt_us);

/* After a commit, best effort: version hint and head. */
void tl_commit_publish(tl_table *t);

#endif
