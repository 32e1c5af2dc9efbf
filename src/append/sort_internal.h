/*
 * Sorting a group: by (partition, series, time, insertion time, arrival), keeping the last of equal (series, time) when
 * the table wants that. Comes in: the bucket of every row (split_internal.h). Goes out: row numbers and times in file
 * order. No column but time and insertion time is looked at.
 */
#ifndef TL_APPEND_SORT_INTERNAL_H
#define TL_APPEND_SORT_INTERNAL_H

#include "append/group_internal.h"
#include "append/split_internal.h"
#include "base/pool.h"

/* The rows of one series in one partition: rows [from, from + n) of the sorted order. */
typedef struct tl_span {
    uint32_t series;
    uint32_t from, n;
} tl_span;

/* The rows and spans of one partition. */
typedef struct tl_sorted_part {
    int32_t value;
    uint32_t span_from, n_spans;
    uint32_t from, n;
} tl_sorted_part;

typedef struct tl_sorted {
    uint32_t *rows; /* row numbers of the group */
    int64_t *times; /* the times of these rows */
    tl_span *spans;
    tl_sorted_part *parts; /* ascending values; their rows follow each other, perhaps with gaps between the parts */
    uint32_t n_spans, n_parts;
    int64_t n_rows; /* kept, over all parts */
} tl_sorted;
void tl_sorted_free(tl_sorted *s);

typedef struct tl_sort_options {
    int32_t time;   /* column index */
    int32_t ingest; /* column index of insertion times that differ within the group; -1 = all the same, or none */
    bool keep_last;
} tl_sort_options;

/* `ranks` are the places of the series, `n_series` their number. Frees the group's bucket numbers as it goes. */
tl_status tl_sort_group(tl_group *group, const tl_splitter *splitter, const uint32_t *ranks, uint32_t n_series,
                        const tl_sort_options *options, tl_pool *pool, tl_sorted *out, tl_error *err) TL_CHECKED;

#endif
