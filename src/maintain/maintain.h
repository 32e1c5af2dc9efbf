/*
 * Maintenance of a table, all of it in order (spec d, g.1): retention, the last-value index where it is missing,
 * compaction, manifests, expiry, orphans. Comes in: a table and what is wanted. Goes out: its newest version, and what
 * was done. Each step is a commit of its own, so that it can be stopped anywhere and begun again.
 */
#ifndef TL_MAINTAIN_MAINTAIN_H
#define TL_MAINTAIN_MAINTAIN_H

#include "base/pool.h"
#include "table/table.h"

/* `*table` (retained by the caller) is replaced by its newest version after each step. On failure `result` says what
 * was done until then. */
tl_status tl_maintain_table(tl_table **table, const tl_maintain_params *params, tl_pool *pool,
                            tl_maintain_result *result, tl_error *err) TL_CHECKED;

/* Gives the table a last-value index where it has none to trust: another program committed without one, or a file of it
 * was lost. Reads the key columns of the whole table, once. `*made` says whether there is a new one. */
tl_status tl_mend_index(tl_table **table, tl_pool *pool, bool *made, tl_error *err) TL_CHECKED;

#endif
