/*
 * The lake handle behind include/timelake.h: one store, a pool of threads, and the newest known version of each table.
 * The rooms do the work; this room only drives them in order and talks to the store. Doors may use these functions too.
 */
#ifndef TL_API_LAKE_H
#define TL_API_LAKE_H

#include "api/upkeep.h"
#include "append/append.h"
#include "base/lock.h"
#include "base/pool.h"
#include "maintain/heat.h"
#include "table/table.h"

struct tl_lake {
    tl_store *store;
    tl_pool *pool; /* one run at a time: see tl_lake_pool_take */
    tl_lock lock;  /* guards `tables` */
    tl_lock pool_lock;
    tl_append_workspace *workspace; /* for who has the pool; may be NULL */
    tl_table **tables;              /* newest known versions, retained */
    size_t n_tables, cap_tables;
    tl_upkeep upkeep;
    tl_reads reads;         /* partitions that were read: for maintenance */
    _Atomic int references; /* the opener's and one for each open stream */
};

tl_lake *tl_lake_retain(tl_lake *lake);
void tl_lake_release(tl_lake *lake);

/* The newest version of a table by its name ("t" or "ns.t"); retained. One look at the store when it is known. */
tl_status tl_lake_table(tl_lake *lake, const char *name, tl_table **out, tl_error *err) TL_CHECKED;
/* Remembers a version as the newest known; retains it. A failure to remember is not an error. */
void tl_lake_remember(tl_lake *lake, tl_table *table);
void tl_lake_forget(tl_lake *lake, const char *full_name);

/* The lake's threads for one piece of work; NULL when they are busy for another caller (work then alone). */
tl_pool *tl_lake_pool_take(tl_lake *lake);
void tl_lake_pool_give(tl_lake *lake, tl_pool *pool);

#endif
