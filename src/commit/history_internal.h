/* Walking a table's history. Comes in: metadata and a snapshot. Goes out: its parent. */
#ifndef TL_COMMIT_HISTORY_INTERNAL_H
#define TL_COMMIT_HISTORY_INTERNAL_H

#include "iceberg/metadata.h"

/* The parent if it is still kept, else NULL. Writers mostly list snapshots in order, so the neighbour is looked at
 * first: a walk over a long history stays linear. */
static inline const tl_snapshot *tl_history_parent(const tl_metadata *m, const tl_snapshot *s) {
    if (s->parent_id == -1) {
        return NULL;
    }
    if (s > m->snapshots && s[-1].snapshot_id == s->parent_id) {
        return s - 1;
    }
    return tl_metadata_snapshot(m, s->parent_id);
}

#endif
