/*
 * Table metadata JSON (v<N>.metadata.json). Text in, tl_metadata out, and back. Keys that are not understood are
 * carried over when a new version is written.
 */
#ifndef TL_ICEBERG_METADATA_H
#define TL_ICEBERG_METADATA_H

#include "iceberg/types.h"

typedef struct tl_property {
    const char *key, *value;
} tl_property;

typedef struct tl_snapshot {
    int64_t snapshot_id;
    int64_t parent_id;       /* -1 = none */
    int64_t sequence_number; /* 0 in v1 tables */
    int64_t timestamp_ms;
    const char *manifest_list; /* NULL in old v1 snapshots, which list `manifests` */
    const char **manifests;
    int32_t n_manifests;
    int32_t schema_id;    /* -1 = not given */
    tl_property *summary; /* "operation" among them */
    int32_t n_summary;
    bool has_rows; /* v3: its rows are numbered */
    int64_t first_row_id, added_rows;
    const char *extra_json; /* other JSON keys, an object; NULL = none */
} tl_snapshot;

typedef struct tl_log_entry {
    int64_t timestamp_ms;
    int64_t snapshot_id; /* snapshot-log */
    const char *file;    /* metadata-log */
} tl_log_entry;

typedef struct tl_ref {
    const char *name; /* "main" ... */
    const char *type; /* "branch", "tag" */
    int64_t snapshot_id;
    const char *extra_json; /* other JSON keys (retention of the ref), an object; NULL = none */
} tl_ref;

typedef struct tl_metadata {
    int32_t format_version;
    const char *table_uuid; /* NULL allowed in v1 */
    const char *location;
    int64_t last_sequence_number;
    int64_t last_updated_ms;
    int32_t last_column_id;
    tl_schema *schemas;
    int32_t n_schemas;
    int32_t current_schema_id;
    tl_partition_spec *specs;
    int32_t n_specs;
    int32_t default_spec_id;
    int32_t last_partition_id;
    tl_sort_order *sort_orders;
    int32_t n_sort_orders;
    int32_t default_sort_order_id;
    tl_property *properties;
    int32_t n_properties;
    int64_t current_snapshot_id; /* -1 = none */
    tl_snapshot *snapshots;
    int32_t n_snapshots;
    tl_log_entry *snapshot_log;
    int32_t n_snapshot_log;
    tl_log_entry *metadata_log;
    int32_t n_metadata_log;
    tl_ref *refs;
    int32_t n_refs;
    int64_t next_row_id;    /* v3: the id of the next row to be added */
    const char *extra_json; /* a JSON object of the other top-level keys (statistics ...); NULL = none */
    tl_arena arena;         /* owns everything here */
} tl_metadata;

/* Metadata longer than that, plain or after gunzip, is refused (TL_UNSUPPORTED): a table with 100 snapshots has 82 KB.
 */
#define TL_METADATA_MAX_BYTES ((size_t)128 << 20)

/* Parses v1, v2 and v3 metadata (v1's schema and partition-spec forms are turned into the v2 form). `json` may be
 * gzip'd (Iceberg's `.gz.metadata.json`). Errors: TL_CORRUPT naming the key; TL_UNSUPPORTED for format versions above 3
 * and for v3 column types that are not read here (naming column and type). */
tl_status tl_metadata_parse(tl_bytes json, tl_metadata *out, tl_error *err) TL_CHECKED;
void tl_metadata_free(tl_metadata *m);

/* Writes one line of JSON in the key order and shapes of spec a.3; v1 metadata gets v1's own keys as well.
 * Errors: TL_INVALID for text that is not UTF-8. */
tl_status tl_metadata_write(const tl_metadata *m, tl_buf *out, tl_error *err) TL_CHECKED;

/* A deep copy with an arena of its own: the base of the next version. */
tl_status tl_metadata_copy(const tl_metadata *in, tl_metadata *out, tl_error *err) TL_CHECKED;

const tl_schema *tl_metadata_schema(const tl_metadata *m); /* the current one; never NULL after parse */
const tl_schema *tl_metadata_schema_by_id(const tl_metadata *m, int32_t id); /* NULL = none */
const tl_partition_spec *tl_metadata_spec(const tl_metadata *m);             /* the default one */
const tl_partition_spec *tl_metadata_spec_by_id(const tl_metadata *m, int32_t id);
const tl_sort_order *tl_metadata_sort_order(const tl_metadata *m);         /* the default one; NULL = unsorted */
const tl_snapshot *tl_metadata_snapshot(const tl_metadata *m, int64_t id); /* NULL = none */
const tl_snapshot *tl_metadata_current(const tl_metadata *m);              /* NULL = empty table */
const char *tl_metadata_property(const tl_metadata *m, const char *key);   /* NULL = not set */
const char *tl_snapshot_summary(const tl_snapshot *s, const char *key);    /* NULL = not there */

/* Changes on a copy; text is copied into its arena. After an error the copy is as it was. */
tl_status tl_metadata_set_property(tl_metadata *m, const char *key, const char *value,
                                   tl_error *err) TL_CHECKED; /* value NULL removes */
tl_status tl_metadata_add_snapshot(tl_metadata *m, const tl_snapshot *s, tl_error *err)
    TL_CHECKED; /* becomes current: refs.main, snapshot-log, last-sequence-number, last-updated-ms, next-row-id */
tl_status tl_metadata_set_current(tl_metadata *m, int64_t snapshot_id, int64_t now_ms,
                                  tl_error *err) TL_CHECKED; /* rollback */
/* Raises the format version, from 2 to 3. TL_UNSUPPORTED for others. */
tl_status tl_metadata_upgrade(tl_metadata *m, int32_t format_version, tl_error *err) TL_CHECKED;
/* Forgets snapshots (expiry). Refused (TL_INVALID) for one that a branch or tag names. Refs to it go, the snapshot log
 * is cut after its last entry of a removed snapshot, statistics files of removed snapshots leave extra_json. Unknown
 * ids are ignored. */
tl_status tl_metadata_remove_snapshots(tl_metadata *m, const int64_t *ids, int32_t n, tl_error *err) TL_CHECKED;
/* An entry of the metadata log for the version that this one replaces; only the newest `keep` entries stay. */
tl_status tl_metadata_log_previous(tl_metadata *m, const char *file, int64_t timestamp_ms, int32_t keep,
                                   tl_error *err) TL_CHECKED;

#endif
