/* Spans of one series compared with each other (copies.c). For the read room. */
#ifndef TL_READ_COPIES_H
#define TL_READ_COPIES_H

#include "read/groups.h"
#include "read/read_internal.h"

typedef struct tl_copies {
    tl_older_file *const *files; /* by tl_span.file; `older` there is set and private to this computation */
    bool shared;                 /* other threads mark rows of the same files at the same time */
    bool deletes;                /* some file has deleted rows */
    bool settled;                /* pairs of `known` files are not looked at again */
    int64_t from_us, to_us;      /* only copies with times in [from_us, to_us] are asked for */
} tl_copies;

/* Marks the rows of which there is a later copy: spans of one series, sorted by least time. The order of the array
 * may change. */
tl_status tl_copies_mark(const tl_copies *c, tl_span **spans, int64_t n, tl_error *err) TL_CHECKED;

#endif
