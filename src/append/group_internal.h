/*
 * A group: the batches that are sorted together. Rows have numbers 0 .. n_rows-1 over all its batches, which are never
 * concatenated. Also the view of row sources that encoding works from: the batches of a group, or the blocks of a
 * merge.
 */
#ifndef TL_APPEND_GROUP_INTERNAL_H
#define TL_APPEND_GROUP_INTERNAL_H

#include "append/align.h"

/* Rows [base, base + n_rows) are rows 0 .. n_rows-1 of `columns`. */
typedef struct tl_source {
    const tl_column *columns;
    uint32_t base, n_rows;
} tl_source;

/* Ascending bases without gaps. */
typedef struct tl_sources {
    const tl_source *list;
    int32_t n;
    uint32_t n_rows;
} tl_sources;

/* The source that holds `row`; `near` is where to look first. */
static inline int32_t tl_sources_find(const tl_sources *s, uint32_t row, int32_t near) {
    const tl_source *list = s->list;
    if (row - list[near].base < list[near].n_rows) {
        return near;
    }
    int32_t from = 0, to = s->n;
    while (to - from > 1) {
        int32_t mid = from + (to - from) / 2;
        if (list[mid].base <= row) {
            from = mid;
        } else {
            to = mid;
        }
    }
    return from;
}

#define TL_GROUP_ROWS ((int64_t)1 << 31) /* most rows of a group */

typedef struct tl_group {
    tl_batch *batches;
    uint32_t **buckets; /* per batch: bucket number of each row; NULL in a plain table */
    tl_source *sources;
    int32_t n_batches, cap;
    int64_t n_rows;
    size_t bytes; /* memory the batches and bucket numbers keep */
} tl_group;

/* Takes the batch into the group, only on success. */
tl_status tl_group_add(tl_group *g, tl_batch *batch, uint32_t *buckets, tl_error *err) TL_CHECKED;
void tl_group_reset(tl_group *g); /* frees the batches; empty and usable again */
static inline tl_sources tl_group_sources(const tl_group *g) {
    return (tl_sources){g->sources, g->n_batches, (uint32_t)g->n_rows};
}

#endif
