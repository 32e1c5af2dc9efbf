/* Large groups of files cut by their keys, so that a part at a time is in memory (slabs.c). For the read room. */
#ifndef TL_READ_SLABS_H
#define TL_READ_SLABS_H

#include "read/groups.h"
#include "read/read_internal.h"

typedef struct tl_slabs {
    tl_key_range *items; /* ranges of the first key column, together all of it */
    int64_t n;
    tl_arena arena;
} tl_slabs;

/* Cuts a group into slabs of about `rows` rows, where its files' row groups say what keys they hold. One slab of all
 * where that does not help: files that are not sorted, too few rows. Opens the files. */
tl_status tl_slabs_cut(tl_table *table, const tl_schema *schema, const tl_group *group, int64_t rows,
                       tl_key_scratch *scratch, tl_slabs *out, tl_error *err) TL_CHECKED;
void tl_slabs_free(tl_slabs *s);

#endif
