/*
 * Batch ids that are remembered beyond the expiry of their snapshots (spec 2, 11).
 * Comes in: metadata. Goes out: "was this batch appended?", and the property that remembers it.
 *
 * Where: the table property `timelake.batch-ids`, so that it is committed with the snapshot in one step, whoever wins a
 * race; expiry by any program keeps properties (Timelake 0.7.0 carries keys it does not know). No object of its own, so
 * nothing that a clean-up of "unknown files" could take away.
 *
 * Form: "1:<sequence>:<base64>". The base64 holds, oldest first, one entry per id: the snapshot's sequence number as
 * the difference to the entry before (unsigned LEB128), then the first 10 bytes of the id's SHA-256. Ids of all
 * snapshots up to <sequence> are in it. At the default of 10,000 ids it is about 150 kB of metadata; without batch ids
 * there is none. Two different ids of 10,000 share their 80 bits with a probability of 10^-16.
 *
 * Rollback: ids of abandoned snapshots may be used again (spec d). Sequence numbers never go back, so an abandoned
 * snapshot shows as a number between those of a snapshot and its parent, or above the current snapshot's; such entries
 * are dropped. Commits of programs that do not know the property are caught up with by walking from the current
 * snapshot back to <sequence>; where the way back misses that snapshot, somebody rolled back, and the whole retained
 * ancestry is read again.
 */
#ifndef TL_COMMIT_BATCH_IDS_H
#define TL_COMMIT_BATCH_IDS_H

#include "iceberg/metadata.h"

#define TL_BATCH_IDS_PROPERTY "timelake.batch-ids"
#define TL_BATCH_ID_SUMMARY "timelake.batch-id"
#define TL_BATCH_HASH 10

typedef struct tl_batch_entry {
    int64_t sequence;
    uint8_t hash[TL_BATCH_HASH];
} tl_batch_entry;

typedef struct tl_batch_ids {
    tl_batch_entry *entries; /* ascending sequence numbers */
    size_t n, cap;
    int64_t sequence; /* snapshots up to here are in it */
    bool stored;      /* the property is there */
} tl_batch_ids;

/* The ids remembered in the metadata, brought up to its current snapshot. A property that cannot be read counts as
 * empty: what the retained history holds is found in any case. */
tl_status tl_batch_ids_read(const tl_metadata *m, tl_batch_ids *out, tl_error *err) TL_CHECKED;
void tl_batch_ids_free(tl_batch_ids *ids);

/* Remembers one more. `batch_id` NULL only moves on. */
tl_status tl_batch_ids_add(tl_batch_ids *ids, const char *batch_id, int64_t sequence, tl_error *err) TL_CHECKED;

/* Writes the newest `keep` ids into the property; none = removes it. */
tl_status tl_batch_ids_store(const tl_batch_ids *ids, int64_t keep, tl_metadata *m, tl_error *err) TL_CHECKED;

/* Remembered, or in the retained ancestry of the current snapshot? */
tl_status tl_batch_ids_find(const tl_metadata *m, const char *batch_id, bool *found, tl_error *err) TL_CHECKED;

#endif
