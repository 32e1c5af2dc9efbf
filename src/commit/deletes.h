/*
 * Deletes in a commit (policy upsert, DESIGN 6): which rows of which files, as data; who finds them is a caller's
 * matter, because it takes reading. Comes in: bitmaps of rows. Goes out: delete files and the delete manifests of the
 * next snapshot.
 *
 * One live delete file per data file, never one for several: it holds old and new positions, and the one it replaces
 * leaves the table in the same commit. A set of deletes is right only for the version it was found on (a compaction may
 * have taken a file away, another writer may have written the same keys), so it is found anew by every attempt.
 */
#ifndef TL_COMMIT_DELETES_H
#define TL_COMMIT_DELETES_H

#include "append/append.h"
#include "table/table.h"

/* Summary key of a snapshot in which no two rows have one (series, time): readers need not look for older copies. */
#define TL_ONE_COPY_SUMMARY "timelake.one-copy"

/* The deleted rows of one data file, those deleted before included. */
typedef struct tl_row_deletes {
    const tl_live_file *file; /* of the base; NULL = staged file number `staged` of the commit itself */
    int32_t staged;
    const uint8_t *bits; /* one per row */
    int64_t n_set;
} tl_row_deletes;

typedef struct tl_delete_set {
    tl_row_deletes *files; /* those whose deletes change */
    int64_t n;
    const tl_live_files *live;    /* of the base: all manifests, and the live delete files that may be of `files` */
    void (*release)(void *owner); /* frees all of this; NULL = nothing to free */
    void *owner;
} tl_delete_set;

void tl_delete_set_free(tl_delete_set *set);

/* Finds what a commit of `staged` (as sequence number `sequence`) on top of `base` deletes, in itself too. newer[i] =
 * no row of staged file i can have a copy in the base. */
typedef struct tl_delete_lookup {
    tl_status (*find)(void *ctx, tl_table *base, const tl_staged *staged, const bool *newer, int64_t sequence,
                      tl_delete_set *out, tl_error *err);
    void *ctx;
} tl_delete_lookup;

/* Is this snapshot known to hold one row per key? */
bool tl_snapshot_has_one_copy(const tl_snapshot *s);

#endif
