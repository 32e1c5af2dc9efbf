/*
 * The objects of a table as its store lists them. Comes in: a table. Goes out: every object in its folder with size and
 * age, by the store's own clock, which is not the machine's.
 */
#ifndef TL_MAINTAIN_OBJECTS_H
#define TL_MAINTAIN_OBJECTS_H

#include "table/table.h"

typedef struct tl_object {
    const char *key; /* in the arena */
    uint64_t size;
    int64_t modified_us;
} tl_object;

typedef struct tl_objects {
    tl_object *items; /* by key */
    size_t n, cap;
    int64_t now_us; /* the store's time of the listing or a little before */
    tl_arena arena;
} tl_objects;

/* Lists the folder. The store's time is that of an object put for the purpose and removed again; where that cannot be
 * (`probe` false, a store that cannot be written) it is the youngest object's, which is earlier, so that nothing looks
 * older than it is. */
tl_status tl_objects_list(tl_table *t, bool probe, tl_objects *out, tl_error *err) TL_CHECKED;
void tl_objects_free(tl_objects *o);

const tl_object *tl_objects_find(const tl_objects *o, const char *key); /* NULL = not there */

/* Objects that are part of every table whatever its metadata says: versions, hint, head, the readers' notes. They are
 * never unused. */
bool tl_object_is_fixed(const tl_table *t, const char *key);

#endif
