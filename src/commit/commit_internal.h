/* What the files of the commit room share: objects of an attempt, the manifest list, the summary, the put that decides.
 */
#ifndef TL_COMMIT_INTERNAL_H
#define TL_COMMIT_INTERNAL_H

#include "commit/commit.h"
#include "commit/deletes.h"

/* ---- objects of an attempt (objects.c) ---- */

/* Keys of objects that were put, or perhaps were: synced together, removed when the attempt is lost. */
typedef struct tl_key_list {
    char **items;
    size_t n, cap;
} tl_key_list;

tl_status tl_key_list_add(tl_key_list *list, const char *key, tl_error *err) TL_CHECKED;
void tl_key_list_free(tl_key_list *list);
void tl_key_list_remove_objects(tl_store *store, tl_key_list *list); /* best effort; the list is empty after */

/* Puts metadata/<name> (TL_PUT_NEW) and notes its key first; `*uri` in the arena. */
tl_status tl_commit_put_object(tl_table *t, const char *name, tl_bytes data, tl_key_list *keys, tl_arena *arena,
                               const char **uri, tl_error *err) TL_CHECKED;

/* The same for an object anywhere in the table, by its key. */
tl_status tl_commit_put_at(tl_table *t, const char *key, tl_bytes data, tl_key_list *keys, tl_arena *arena,
                           const char **uri, tl_error *err) TL_CHECKED;

/* ---- manifests (manifests.c) ---- */

/* The list entries of the next snapshot, below those it adds itself: what the base carries on, with small data
 * manifests merged when there are many. Merged manifests are put. */
tl_status tl_commit_carry_manifests(tl_table *base, int64_t snapshot_id, int64_t sequence, tl_key_list *keys,
                                    tl_arena *arena, tl_manifest_file **out, int64_t *n, tl_error *err) TL_CHECKED;

/* The same without the manifests of the given paths, whose entries the caller lists anew. */
tl_status tl_commit_carry_without(tl_table *base, const char *const *without, int64_t n_without, int64_t snapshot_id,
                                  int64_t sequence, tl_key_list *keys, tl_arena *arena, tl_manifest_file **out,
                                  int64_t *n, tl_error *err) TL_CHECKED;

/* Puts a manifest as metadata/<uuid>-<what>.avro; its entry for the list in the arena. */
tl_status tl_commit_put_manifest(tl_table *t, const tl_manifest *m, const char *what, int64_t snapshot_id,
                                 int64_t sequence, tl_key_list *keys, tl_arena *arena, tl_manifest_file *out,
                                 tl_error *err) TL_CHECKED;

/* Puts the manifest list of a snapshot on top of the base's current one. */
tl_status tl_commit_put_list(tl_table *base, const tl_manifest_file *list, int64_t n, int64_t snapshot_id,
                             int64_t sequence, tl_key_list *keys, tl_arena *arena, const char **uri,
                             tl_error *err) TL_CHECKED;

/* The same for any format version: takes ids and sequence number of `s`, and sets its manifest list and, in v3, the ids
 * that its rows get; data manifests without row ids in `list` get theirs. */
tl_status tl_commit_put_snapshot_list(tl_table *base, tl_manifest_file *list, int64_t n, tl_snapshot *s,
                                      tl_key_list *keys, tl_arena *arena, tl_error *err) TL_CHECKED;

/* ---- last-value index (last_index.c); the rules are in table/last_index.h ---- */

/* Summary keys of the next snapshot's index: the base's, extended by `newest`. Values NULL = no index: the base has
 * rows
 * (`base_empty` false) and none that can be trusted, or it cannot be read. Fails only when memory ends. */
tl_status tl_commit_extend_index(tl_table *base, const tl_rows *newest, int64_t snapshot_id, bool base_empty,
                                 tl_key_list *keys, tl_arena *arena, tl_property out[2], tl_error *err) TL_CHECKED;

/* The same for a snapshot with the same rows in other files, or with fewer (carry_index.c): the base's index, if it has
 * one to be trusted, so named that it is believed; without the series whose last row is before `cut_us`. */
tl_status tl_commit_carry_index(tl_table *base, int64_t snapshot_id, tl_key_list *keys, tl_arena *arena,
                                tl_property out[2], tl_error *err) TL_CHECKED;
tl_status tl_commit_cut_index(tl_table *base, int64_t cut_us, int64_t snapshot_id, tl_key_list *keys, tl_arena *arena,
                              tl_property out[2], tl_error *err) TL_CHECKED;

/* ---- deletes (deletes.c) ---- */

/* What a commit does to delete files. */
typedef struct tl_delete_change {
    tl_manifest_file *manifests; /* new delete manifests */
    int32_t n_manifests;
    const char **replaced; /* paths of manifests whose entries are in these */
    int64_t n_replaced;
    int64_t added_files, added_rows, added_vectors; /* of delete files; rows = positions */
    int64_t removed_files, removed_rows, removed_vectors;
} tl_delete_change;

/* Writes the delete files of a set, and the delete manifests that name them. The delete files that they replace leave
 * the table, and those of the data files `gone` (paths). */
tl_status tl_commit_write_deletes(tl_table *base, const tl_delete_set *set, const tl_staged *staged,
                                  const char *const *gone, int64_t n_gone, int64_t snapshot_id, int64_t sequence,
                                  tl_key_list *keys, tl_arena *arena, tl_delete_change *out, tl_error *err) TL_CHECKED;

/* ---- files newer than all before (newer.c) ---- */

/* newer[i] = no row of staged file i can have a copy in the base, as far as that is known cheaply. Fails only when
 * memory ends. */
tl_status tl_commit_newer(tl_table *base, const tl_staged *staged, bool base_empty, bool *newer,
                          tl_error *err) TL_CHECKED;

#define TL_NEWER_SUMMARY "timelake.newer-files"
/* The summary's text, in `arena` or static; NULL = no file is, or that is not known cheaply. Fails only when memory
 * ends. */
tl_status tl_commit_newer_files(const tl_staged *staged, const bool *newer, tl_arena *arena, const char **out,
                                tl_error *err) TL_CHECKED;

/* ---- summary (summary.c) ---- */

/* What a commit changes, for the counters of spec a.5. */
typedef struct tl_commit_change {
    const char *operation;
    int64_t added_files, added_rows, added_bytes;
    int64_t deleted_files, deleted_rows, deleted_bytes;
    int64_t added_delete_files, added_position_deletes;
    int64_t removed_delete_files, removed_position_deletes;
    int64_t added_vectors, removed_vectors; /* of the delete files, those that are deletion vectors */
    bool one_copy;                          /* the snapshot holds one row per key (policy upsert) */
    const tl_property *extra;               /* values NULL are left out */
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

/* Sets properties, and the versions of the formats that the write policy asks for. TL_INVALID when the policy does not
 * go with the table. */
tl_status tl_commit_set_properties(tl_metadata *m, const tl_property *changes, int32_t n, tl_error *err) TL_CHECKED;

int64_t tl_commit_new_snapshot_id(const tl_table *t);

/* Puts the next version, if absent. `next->metadata` is taken in any case. `snapshot_id` = the snapshot that is new in
 * it, -1 = none. TL_OK: it is the table's version now, `*out` the table at it. TL_EXISTS: another's version took the
 * place, or the place was dead; this one is not in the table and never will be. TL_UNKNOWN: cannot be told. Others:
 * definitely not put. */
tl_status tl_commit_put_version(tl_table *base, tl_next *next, int64_t snapshot_id, bool no_sync, tl_table **out,
                                tl_error *err) TL_CHECKED;

/* The same, durable, after the objects `keys` (put with TL_PUT_NEW or TL_PUT_LATER) are; one wait less than syncing
 * them before. */
tl_status tl_commit_put_version_after(tl_table *base, tl_next *next, int64_t snapshot_id, const char *const *keys,
                                      size_t n, tl_table **out, tl_error *err) TL_CHECKED;

/* How often a commit is attempted: the option, else the table's setting. */
int32_t tl_commit_attempts(const tl_table *t, int32_t option);

#endif
