/*
 * Orphans: objects in a table's folder that nothing refers to, left by writers that were killed or lost their commit.
 * Comes in: a table. Goes out: which there are, and a folder without them.
 *
 * An object is removed only if it is older than the grace period by the store's clock, since a commit that is under way
 * has put objects that nothing refers to yet. The folder is listed before the references are read, so that whatever was
 * committed in between is known to be in use. If any metadata, list or manifest cannot be read, or metadata refers to a
 * place outside of the table's folder (the table may be reached by two paths, and then nothing can be told), nothing is
 * removed. Nothing outside of the table's folder is looked at.
 */
#ifndef TL_MAINTAIN_ORPHANS_H
#define TL_MAINTAIN_ORPHANS_H

#include "maintain/objects.h"

#define TL_ORPHAN_GRACE_US ((int64_t)3 * 86400 * 1000000)

typedef struct tl_orphans {
    tl_object *items; /* by key; keys live in `objects` */
    size_t n;
    int64_t bytes;
    int64_t young; /* objects that nothing refers to and that are within the grace period */
    tl_objects objects;
} tl_orphans;

/* Finds them. `*table` is replaced by its newest version. TL_UNSUPPORTED when it cannot be told. */
tl_status tl_orphans_find(tl_table **table, int64_t grace_us, bool probe, tl_orphans *out, tl_error *err) TL_CHECKED;
void tl_orphans_free(tl_orphans *o);

/* Removes them; `*removed` = how many are gone, also on failure. */
tl_status tl_orphans_remove(tl_table *t, const tl_orphans *o, int64_t *removed, tl_error *err) TL_CHECKED;

#endif
