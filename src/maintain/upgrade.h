/*
 * Upgrade: a table that an older Timelake wrote (0.1 to 0.7) becomes a current one (spec a.6, d). Comes in: a table.
 * Goes out: its newest version, and the steps that were taken.
 *
 * The format version is raised to 0.3.0; snapshots are kept for a while, so that there is a way back. Versions before
 * 0.5 wrote files that hold a key twice although they claim not to: such files are found by reading the keys of all
 * files of tables without an insertion time (which those versions did not have), and written anew. A last-value index
 * that is missing is made, files are merged, the head is written. Doing it again changes nothing.
 */
#ifndef TL_MAINTAIN_UPGRADE_H
#define TL_MAINTAIN_UPGRADE_H

#include "base/pool.h"
#include "table/table.h"

/* `*table` (retained by the caller) is replaced by its newest version. */
tl_status tl_upgrade_table(tl_table **table, const tl_upgrade_params *params, tl_pool *pool, tl_upgrade_result *result,
                           tl_error *err) TL_CHECKED;

#endif
