/* What the files of the commit room share: objects of an attempt, the manifest list, the summary, the put that decides.
 */
#ifndef TL_COMMIT_INTERNAL_H
#define TL_COMMIT_INTERNAL_H

#include "commit/commit.h"

/* ---- objects of an attempt (objects.c) ---- */

/* Keys of objects that were put, or perhaps were: synced together, removed when the attempt is lost. */
typedef struct tl_key_list {
    char **items;
    size_t n, cap;
} tl_key_list;

tl_status tl_key_list_add(tl_key_list *list, const char *key, tl_error *err) TL_CHECKED;
void tl_key_list_free(tl_key_list *list);
void tl_key_list_remove_objects(tl_store *store, tl_key_list *list); /* best effort; the list is empty after */

/* Puts metadata/<name> (TL_PUT_LATER) and notes its key first; `*uri` in the arena. */
tl_status tl_commit_put_object(tl_table *t, const char *name, tl_bytes data, tl_key_list *keys, tl_arena *arena,
                               const char **uri, tl_error *err) TL_CHECKED;

/* ---- manifests (manifests.c) ---- */

/* The list entries of the next snapshot, below those it adds itself: what the base carries on, with small data
 * manifests merged when there are many. Merged manifests are put. */
tl_status tl_commit_carry_manifests(tl_table *base, int64_t snapshot_id, int64_t sequence, tl_key_list *keys,
                                    tl_arena *arena, tl_manifest_file **out, int64_t *n, tl_error *err) TL_CHECKED;

/* Puts the manifest list of a snapshot on top of the base's current one. */
tl_status tl_commit_put_list(tl_table *base, const tl_manifest_file *list, int64_t n, int64_t snapshot_id,
                             int64_t sequence, tl_key_list *keys, tl_arena *arena, const char **uri,
                             tl_error *err) TL_CHECKED;

/* ---- last-value index (last_index.c); the rules are in table/last_index.h ---- */

/* Summary keys of the next snapshot's index: the base's, extended by `newest`. Values NULL = no index: the base has
 * rows
 * (`base_empty` false) and none that can be trusted, or it cannot be read. Fails only when memory ends. */
tl_status tl_commit_extend_index(tl_table *base, const tl_rows *newest, int64_t snapshot_id, bool base_empty,
                                 tl_key_list *keys, tl_arena *arena, tl_property out[2], tl_error *err) TL_CHECKED;

/* ---- files newer than all before (newer.c) ---- */

#define TL_NEWER_SUMMARY "timelake.newer-files"
/* The summary's text, in `arena` or static; NULL = no file is, or that is not known cheaply. Fails only when memory
 * ends. */
tl_status tl_commit_newer_files(tl_table *base, const tl_staged *staged, bool base_empty, tl_arena *arena,
                                const char **out, tl_error *err) TL_CHECKED;

/* ---- summary (summary.c) ---- */

/* What a commit changes, for the counters of spec a.5. */
typedef struct tl_commit_change {
    const char *operation;
    int64_t added_files, added_rows, added_bytes;
    int64_t deleted_files, deleted_rows, deleted_bytes;
    const tl_property *extra; /* values NULL are left out */
    int32_t n_extra;
} tl_commit_change;

/* Summary of the snapshot that follows the base's current one; totals are the base's plus the change. `carried` are the
 * base's manifests, from which totals are counted that the base does not tell. */
tl_status tl_commit_summary(tl_table *base, const tl_commit_change *change, const tl_manifest_file *carried,
                            int64_t n_carried, tl_arena *arena, tl_property **out, int32_t *n,
                            tl_error *err) TL_CHECKED;

/* ---- the next version (version.c) ---- */

/* A version about to be put. */
typedef struct tl_next {
    tl_metadata metadata; /* base's, copied; metadata log and clock moved on */
    int64_t now_ms;       /* never before the base's last change */
} tl_next;

tl_status tl_commit_next(const tl_table *base, tl_next *out, tl_error *err) TL_CHECKED;

int64_t tl_commit_new_snapshot_id(const tl_table *t);

/* Puts the next version, if absent. `next->metadata` is taken in any case. `snapshot_id` = the snapshot that is new in
 * it, -1 = none. TL_OK: it is the table's version now, `*out` the table at it. TL_EXISTS: another's version took the
 * place, or the place was dead; this one is not in the table and never will be. TL_UNKNOWN: cannot be told. Others:
 * definitely not put. */
tl_status tl_commit_put_version(tl_table *base, tl_next *next, int64_t snapshot_id, bool no_sync, tl_table **out,
                                tl_error *err) TL_CHECKED;

/* Waits before the next attempt: random, longer with each, on the scale of what an attempt takes. */
void tl_commit_back_off(const tl_env *env, int32_t attempt, int64_t attempt_us);

/* How often a commit is attempted: the option, else the table's setting. */
int32_t tl_commit_attempts(const tl_table *t, int32_t option);

#endif
