/*
 * Snapshot expiry (spec d). Comes in: a table. Goes out: a version without its old snapshots, and a store without the
 * objects that only they referred to.
 */
#ifndef TL_MAINTAIN_EXPIRE_H
#define TL_MAINTAIN_EXPIRE_H

#include "table/table.h"

typedef struct tl_expire_result {
    int32_t snapshots; /* taken out of the history */
    int64_t objects;   /* deleted */
} tl_expire_result;

/* Is it time, after an append? When there are max-snapshots + 20, or min-snapshots + 20 and the oldest is past
 * snapshot-retention; so one append in twenty pays. Never before keep-snapshots-until. */
bool tl_expire_is_due(const tl_table *t, int64_t now_ms);

/* Expires the snapshots older than snapshot-retention or beyond max-snapshots; the newest min-snapshots, the current
 * one and those that a branch or tag needs stay. Then deletes what only expired ones referred to: manifest lists,
 * manifests, indexes, data files, and old versions of the metadata. Objects are deleted only when every list and
 * manifest that could refer to them has been read; a deletion that fails leaves rubbish, no fault. `*out` = the newest
 * version, retained. */
tl_status tl_expire(tl_table *base, tl_expire_result *result, tl_table **out, tl_error *err) TL_CHECKED;

/* How many snapshots tl_expire would take out now. */
tl_status tl_expire_count(tl_table *t, int64_t *n, tl_error *err) TL_CHECKED;

#endif
