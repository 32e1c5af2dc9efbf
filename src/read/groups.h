/* Files in which older copies are looked for, and those of them that may share keys (groups.c). For the read room. */
#ifndef TL_READ_GROUPS_H
#define TL_READ_GROUPS_H

#include "read/read.h"

/* Summary key that names files whose rows are all newer than what was there (commit/newer.c). */
#define TL_NEWER_FILES "timelake.newer-files"

/* Which rows of a file have a later copy. Bits over the file's rows; bytes behind them so that whole words can be
 * read. Not changed any more once other threads may know it. */
typedef struct tl_bitmap {
    _Atomic int references;
    int64_t n_rows, n_set;
    uint8_t bits[];
} tl_bitmap;
tl_bitmap *tl_bitmap_create(int64_t n_rows); /* all 0; NULL when memory ends */
tl_bitmap *tl_bitmap_copy(const tl_bitmap *b);
tl_bitmap *tl_bitmap_retain(tl_bitmap *b);  /* NULL is fine */
void tl_bitmap_release(tl_bitmap *b);       /* NULL is fine */
size_t tl_bitmap_bytes(const tl_bitmap *b); /* of memory; 0 for NULL */

typedef struct tl_older_file {
    const tl_live_file *live;
    int32_t number;         /* in the caller's list; ties are decided by (sequence number, path), as `rank` stands */
    int32_t rank;           /* place in the (sequence number, path) order */
    const uint8_t *deleted; /* rows that delete files have: they neither win nor lose; NULL = none */
    tl_bitmap *older;       /* the result, NULL = none has a later copy; a reference of its own */
    bool known;             /* `older` holds already what the other known files do to this one */
    int64_t min, max;       /* times, by the manifest's bounds; INT64_MIN and INT64_MAX where there are none */
    /* what grouping finds out */
    bool newer, needed;
    bool has_window; /* only rows with times in [from_us, to_us] can matter */
    int64_t from_us, to_us;
} tl_older_file;

typedef struct tl_group {
    tl_older_file **files;
    int64_t n, rows;
} tl_group;

typedef struct tl_groups {
    tl_group *items;
    int64_t n, cap;
    tl_arena arena;
} tl_groups;

/* Adds the groups among `n` files of one partition, which are put into another order. Pairs of known files are taken to
 * be done. */
tl_status tl_groups_add(const tl_table *table, const tl_schema *schema, tl_older_file **files, int64_t n,
                        tl_groups *out, tl_error *err) TL_CHECKED;
void tl_groups_free(tl_groups *g);

#endif
