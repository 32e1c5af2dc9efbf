/*
 * Heat: how often each partition is read, so that maintenance takes those first whose readers gain the most.
 * Comes in: the plans of reads. Goes out: a number per partition.
 *
 * Readers count in memory and add their counts to one small object, metadata/timelake-heat, now and then and when they
 * end. It is no part of the table: no version names it, commits and readers never wait for it, it is missing where
 * nobody may write, and when two readers write it at once the counts of one are lost. Old reads count half after a
 * week. Text: "timelake-heat 1", a line with the time of writing in microseconds, then a line "<partition> <heat>" for
 * each of the hottest partitions.
 */
#ifndef TL_MAINTAIN_HEAT_H
#define TL_MAINTAIN_HEAT_H

#include "base/lock.h"
#include "read/read.h"

#define TL_HEAT_NAME "timelake-heat"
#define TL_HEAT_PARTITIONS 4096
#define TL_HEAT_HALF_LIFE_US ((int64_t)7 * 86400 * 1000000)

/* Heat of partitions, ascending by partition. Zeroed = none. */
typedef struct tl_heat {
    int32_t *partitions;
    double *values;
    int64_t n, cap;
} tl_heat;
void tl_heat_free(tl_heat *h);
double tl_heat_of(const tl_heat *h, int32_t partition); /* 0 = not read */

/* The partitions that a plan reads, each once, added to `h` with 1; those of its files whose flag in `read` is set (one
 * a file; NULL = all). Tables without a time partition have none. */
tl_status tl_heat_add_plan(tl_heat *h, const tl_plan *plan, const uint8_t *read, tl_error *err) TL_CHECKED;

/* What is noted of a table, as of `now_us`. Missing or garbage: none. Fails only when memory ends. */
tl_status tl_heat_load(tl_store *store, const char *prefix, int64_t now_us, tl_heat *out, tl_error *err) TL_CHECKED;

/* Adds counts to what is noted. Best effort. */
void tl_heat_store(tl_store *store, const char *prefix, int64_t now_us, const tl_heat *counts);

/* ---- what one process has read and not yet noted ---- */

typedef struct tl_reads {
    tl_lock lock;
    struct tl_table_reads *tables;
    size_t n, cap;
    int64_t noted_us; /* monotonic: when counts were last noted */
} tl_reads;
void tl_reads_init(tl_reads *r);
/* Counts a plan as tl_heat_add_plan does; notes all counts when the last time is long ago. Best effort, from any
 * thread. */
void tl_reads_add(tl_reads *r, const tl_plan *plan, const uint8_t *read);
/* Notes what is not noted yet, and frees. */
void tl_reads_end(tl_reads *r, tl_store *store);

#endif
