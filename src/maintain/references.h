/*
 * What a table's metadata refers to, as store keys. Comes in: metadata. Goes out: manifest lists, manifests, indexes,
 * and the files of manifests. Whatever cannot be read is an error: half an answer would make live files look unused.
 *
 * Paths are compared as keys below the lake's root, so that other spellings of one place (double slashes, another
 * scheme, a folder that was moved) are the same. A path that lies outside of the table's folder is none of ours: it is
 * left out, and `outside` keeps the first such path.
 */
#ifndef TL_MAINTAIN_REFERENCES_H
#define TL_MAINTAIN_REFERENCES_H

#include "maintain/key_set.h"
#include "table/table.h"

typedef struct tl_references {
    tl_key_set lists, manifests, indexes; /* sealed */
    tl_key_set others;                    /* statistics files and the like; sealed */
    char *outside;                        /* NULL = nothing lies outside */
} tl_references;

/* Of the snapshots of `m`, without those that `without` has too (NULL = of all). The others have expired then, and a
 * list of theirs that is not there any more is left out: somebody else was faster. */
tl_status tl_references_collect(tl_table *t, const tl_metadata *m, const tl_metadata *without, tl_references *out,
                                tl_error *err) TL_CHECKED;
void tl_references_free(tl_references *r);

/* Adds the files of a manifest (data and delete files) to `out`, not sealed: all of them, or the live ones. `outside`
 * (may be NULL) is set, if it is not yet, to a path outside of the table's folder; caller frees. */
tl_status tl_references_files(tl_table *t, const char *manifest_key, bool live_only, tl_key_set *out, char **outside,
                              tl_error *err) TL_CHECKED;

#endif
