/* The search for older copies in files that may share keys (older.c). For the read room. */
#ifndef TL_READ_OLDER_H
#define TL_READ_OLDER_H

#include "read/groups.h"

typedef struct tl_older_search {
    tl_table *table;
    const tl_schema *schema;
    const tl_bytes *only; /* only series with these key pieces (see tl_keys_spans); NULL = all */
    bool has_window;      /* only copies with times in [from_us, to_us] */
    int64_t from_us, to_us;
    bool remember; /* the process remembers the key columns of files that are read whole (span_memo.h) */
    bool settled;  /* what `known` files do to each other is not asked for, and not in their `older` */
    bool deletes;  /* some file has deleted rows, which neither win nor lose */
    tl_pool *pool;
} tl_older_search;

/* Sets `older` of the groups' files: a bitmap of their own, which contains what was there. */
tl_status tl_older_find(const tl_older_search *search, const tl_groups *groups, tl_error *err) TL_CHECKED;

/* Test aid: rows of a wave and of a slab (0 = as always), so that small files make several. Not thread-safe. */
void tl_older_set_limits(int64_t wave_rows, int64_t slab_rows);

#endif
