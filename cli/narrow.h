/*
 * Less than the whole table, where a statement's text shows that less gives the same answer. Comes in: a statement and
 * the table that it names. Goes out: what to read of it instead, or the answer.
 */
#ifndef TL_CLI_NARROW_H
#define TL_CLI_NARROW_H

#include "cli/shape.h"
#include "duckdb/versions.h"

typedef struct tl_narrow {
    tl_shape_kind kind; /* TL_SHAPE_OTHER = the whole table */
    char *table;        /* "ns.t" */
    int64_t limit;
    bool has_time;
    int64_t from_us, to_us;
    tl_key_filter *keys;
    int32_t n_keys;
    tl_arena arena;
} tl_narrow;

void tl_narrow_clear(tl_narrow *n);

/* Checks the shape's columns against the table; kind OTHER when they do not fit. `table` is named by the shape. */
tl_status tl_narrow_of(const tl_shape *shape, const tl_table *table, tl_narrow *out, tl_error *err) TL_CHECKED;

#endif
