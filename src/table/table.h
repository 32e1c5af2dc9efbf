/*
 * A table at one version. Comes in: a store and a name. Goes out: its metadata, contract and live files.
 *
 * Values are immutable once loaded and counted by reference, so that a scan keeps its version while commits go on.
 */
#ifndef TL_TABLE_TABLE_H
#define TL_TABLE_TABLE_H

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "store/store.h"
#include "table/contract.h"

typedef struct tl_table {
    tl_store *store;    /* borrowed: outlives the table */
    char *name;         /* "default.readings" */
    char *prefix;       /* "default/readings": key of the table's folder in the store */
    char *location;     /* its URI */
    int64_t version;    /* N of v<N>.metadata.json */
    char *metadata_key; /* key of the metadata object that was read */
    tl_metadata metadata;
    tl_contract contract;
    int64_t head_us; /* when a head was last written on the way to this version; 0 = not known (commit room) */
    _Atomic int references;
} tl_table;

/* "readings" -> default.readings; parts are [A-Za-z0-9_-]+ (spec a.1). Texts in caller's buffers of 256. */
tl_status tl_table_name_parse(const char *name, const char *default_namespace, char ns[256], char table[256],
                              tl_error *err) TL_CHECKED;

/* Loads the newest version: listing of metadata/, the hint where that fails; also tables whose metadata objects have
 * other writers' names (00001-<uuid>.metadata.json, *.gz.metadata.json). TL_NOT_FOUND names the table.
 * Caller gives back with tl_table_release. */
tl_status tl_table_load(tl_store *store, const char *ns, const char *table, tl_table **out, tl_error *err) TL_CHECKED;
tl_table *tl_table_retain(tl_table *t);
void tl_table_release(tl_table *t);

/* The newest version if there is a newer one than `t`, else `t` retained. Cheap: looks whether v<N+1> is there. */
tl_status tl_table_refresh(tl_table *t, tl_table **out, tl_error *err) TL_CHECKED;

/* A table from metadata that is in memory already, e.g. the version that is about to be committed. Takes `metadata`
 * (also on failure). `metadata_key` is copied. */
tl_status tl_table_of(tl_store *store, const char *ns, const char *table, int64_t version, const char *metadata_key,
                      tl_metadata *metadata, tl_table **out, tl_error *err) TL_CHECKED;

/* May new versions be written by path? TL_UNSUPPORTED, with the reason, for tables of a catalog, of format versions
 * other than 2, with gzip'd metadata (another writer's next version would have another name), or with a partition spec
 * that does not fit the contract. */
tl_status tl_table_writable(const tl_table *t, tl_error *err) TL_CHECKED;

typedef struct tl_create_options {
    const tl_schema *schema; /* ids 1..n; time column and `_ingest_ts` already in it (iceberg/schema_from_arrow.h) */
    const char *time_column; /* NULL = plain table */
    const char *const *series_key;
    int32_t n_series_key;
    const char *ingest_column;     /* NULL = none */
    const char *chunk;             /* "hour", "day", "month" and spec f's other spellings; NULL = day */
    int dedup;                     /* -1 = by default: true with a series key */
    const char *retention;         /* NULL = forever */
    const tl_property *properties; /* settings (bare names accepted) and other properties */
    int32_t n_properties;
} tl_create_options;

/* Writes v1.metadata.json if absent, then hint and index. TL_EXISTS when the table is there. */
tl_status tl_table_create(tl_store *store, const char *ns, const char *table, const tl_create_options *options,
                          tl_table **out, tl_error *err) TL_CHECKED;

/* All tables of the lake as "ns.table", sorted; caller frees the array and each text with tl_free. */
tl_status tl_table_names(tl_store *store, char ***out, size_t *n, tl_error *err) TL_CHECKED;
/* Rewrites timelake-tables.json; *n = tables found. */
tl_status tl_table_index_write(tl_store *store, size_t *n, tl_error *err) TL_CHECKED;
/* Removes every object of the table, metadata last-but-hint so that a half-done drop can be repeated. */
tl_status tl_table_drop(tl_store *store, const char *ns, const char *table, tl_error *err) TL_CHECKED;

/* ---- live files ---- */

typedef struct tl_live_file {
    tl_data_file file;
    char *key; /* in the store */
    int64_t snapshot_id;
    int64_t sequence_number, file_sequence_number;
    tl_entry_status status; /* in its manifest: EXISTING or ADDED */
    int32_t manifest;       /* its manifest's number in tl_live_files.manifests; -1 = none */
} tl_live_file;

typedef struct tl_live_files {
    tl_live_file *data; /* ordered by (sequence number, path) */
    int64_t n_data;
    tl_live_file *deletes; /* position deletes, deletion vectors, equality deletes */
    int64_t n_deletes;
    tl_manifest_file *manifests; /* of the snapshot, newest first */
    int64_t n_manifests;
    struct tl_memo **held; /* remembered manifests that the files stand in, in the arena */
    int64_t n_held;
    tl_arena arena;
} tl_live_files;

/* The files of a snapshot (NULL = the current one; none = no files). A manifest or list that cannot be read is an
 * error naming it: never fewer rows. Caller frees. */
tl_status tl_table_files(tl_table *t, const tl_snapshot *snapshot, tl_live_files *out, tl_error *err) TL_CHECKED;
/* The same, of the manifests that `wanted` asks for: others are not read, so their files are left out. `remember`: the
 * process remembers manifests once read (base/memo.h), for callers that come with each commit and do not mean to find
 * out whether the objects are sound. */
typedef struct tl_manifest_filter {
    bool (*wanted)(void *ctx, const tl_manifest_file *m);
    void *ctx;
    bool remember;
} tl_manifest_filter;
tl_status tl_table_files_of(tl_table *t, const tl_snapshot *snapshot, const tl_manifest_filter *filter,
                            tl_live_files *out, tl_error *err) TL_CHECKED;
void tl_live_files_free(tl_live_files *f);

/* The manifests of a snapshot, newest first; paths and bounds live in `arena`. */
tl_status tl_table_manifests(tl_table *t, const tl_snapshot *snapshot, tl_arena *arena, tl_manifest_file **out,
                             int64_t *n, tl_error *err) TL_CHECKED;

/* The key of a path found in the table's metadata. A table whose folder was moved or copied still names its old place;
 * paths below the location in its metadata are taken to be below its folder. Caller frees. */
tl_status tl_table_key(const tl_table *t, const char *path, char **out, tl_error *err) TL_CHECKED;

/* Reads an object below the table by the path found in metadata. */
tl_status tl_table_get(tl_table *t, const char *path, tl_buf *out, tl_error *err) TL_CHECKED;

#endif
