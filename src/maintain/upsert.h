/*
 * Policy upsert (spec 12, DESIGN 6): which rows an append replaces, and the switch that hides the older copies of a
 * table. Comes in: staged files and the version they go on top of. Goes out: the rows to delete, as data for the
 * commit (commit/deletes.h).
 *
 * The last write of a key is the greatest (insertion time, data sequence number, position): it stays, in the table or
 * in the append itself. Only files of the touched partitions that may share keys by their bounds are looked at, and of
 * them only the key columns.
 */
#ifndef TL_MAINTAIN_UPSERT_H
#define TL_MAINTAIN_UPSERT_H

#include "base/pool.h"
#include "commit/commit.h"

/* What tl_commit_append asks. `pool` (may be NULL) must live as long as it is used. */
tl_delete_lookup tl_upsert_lookup(tl_pool *pool);

/* Sets properties, write-policy=upsert among them (values checked and canonical), and deletes all older copies that the
 * table holds, in one commit; a lost race begins again. TL_INVALID when the table has no keys. */
tl_status tl_upsert_switch_on(tl_table *base, const tl_property *changes, int32_t n, tl_pool *pool, tl_table **out,
                              tl_error *err) TL_CHECKED;

#endif
