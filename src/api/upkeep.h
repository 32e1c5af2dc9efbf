/*
 * The small maintenance that appends do by themselves. Comes in: a table after a commit. Goes out: small files merged,
 * partitions past their retention dropped, old snapshots gone; or nothing, since its failure is never the append's.
 */
#ifndef TL_API_UPKEEP_H
#define TL_API_UPKEEP_H

#include "base/lock.h"
#include "maintain/compact.h"
#include "table/table.h"
#include "timelake.h"

/* The thread that does it beside the appends: one job at a time, and one that waits. Part of a lake. */
typedef struct tl_upkeep {
    tl_lock lock;
#ifndef TL_NO_THREADS
    pthread_cond_t idle;
    pthread_t thread;
    bool started; /* `thread` is to be joined */
#endif
    bool busy;
    struct tl_append_workspace *workspace; /* the thread's; NULL = none yet */
    tl_compact_outlook outlook;
    tl_table *waiting; /* the next job; of the table at hand the newest version alone counts */
} tl_upkeep;

void tl_upkeep_init(tl_upkeep *u);
void tl_upkeep_free(tl_upkeep *u); /* waits */

/* Maintains the table, in this thread or, with `beside`, in the lake's own while the caller goes on. The table is
 * retained. */
void tl_upkeep_run(tl_lake *lake, tl_table *table, bool beside);

/* Waits until nothing is maintained. */
void tl_upkeep_wait(tl_upkeep *u);

#endif
