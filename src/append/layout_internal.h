/*
 * Layout: sorted rows become row groups of about `row-group-rows` rows that begin at a series where one is near, and
 * of bounded bytes. Comes in: the sorted order. Goes out: row groups, partition by partition.
 */
#ifndef TL_APPEND_LAYOUT_INTERNAL_H
#define TL_APPEND_LAYOUT_INTERNAL_H

#include "append/group_internal.h"
#include "append/sort_internal.h"

typedef struct tl_row_group_plan {
    uint32_t part;               /* index into the sorted parts */
    uint32_t from, n;            /* rows of the sorted order */
    uint32_t span_from, n_spans; /* spans that hold them */
} tl_row_group_plan;

typedef struct tl_layout_options {
    uint32_t rows; /* of a row group, about; up to a quarter more so that it ends with a series */
    size_t bytes;  /* of a row group's values in memory, at most (one row may be larger) */
} tl_layout_options;

typedef struct tl_layout {
    tl_row_group_plan *groups;
    uint32_t n, cap;
} tl_layout;

/* `sorted->rows` NULL means the rows stand in arrival order (plain tables); there are no spans then. Caller frees
 * out->groups. */
tl_status tl_layout_plan(const tl_sorted *sorted, const tl_sources *sources, int32_t n_columns, size_t source_bytes,
                         const tl_layout_options *options, tl_layout *out, tl_error *err) TL_CHECKED;

#endif
