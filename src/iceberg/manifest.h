/*
 * Manifests and manifest lists (Avro). Bytes in, entries out, and back. Written: the v2 schemas of spec a.4 with all
 * optional fields, and what v3 adds to them; read: any writer's schema (v1, v2, v3), fields found by field id, codecs
 * null, deflate, snappy and zstd.
 */
#ifndef TL_ICEBERG_MANIFEST_H
#define TL_ICEBERG_MANIFEST_H

#include "iceberg/types.h"
#include "parquet/format.h"

typedef enum tl_content {
    TL_CONTENT_DATA = 0,
    TL_CONTENT_POSITION_DELETES = 1,
    TL_CONTENT_EQUALITY_DELETES = 2
} tl_content;
typedef enum tl_entry_status { TL_ENTRY_EXISTING = 0, TL_ENTRY_ADDED = 1, TL_ENTRY_DELETED = 2 } tl_entry_status;

/* Statistics of one column of one file; counts are -1 when not known, bounds (single-value encoding) NULL. */
typedef struct tl_column_stats {
    int32_t field_id;
    int64_t size, values, nulls, nans;
    tl_bytes lower, upper;
} tl_column_stats;

/* A partition value of any transform, as Iceberg's single-value bytes; `data` NULL = null. */
typedef struct tl_partition_value {
    tl_bytes value;
} tl_partition_value;

typedef struct tl_data_file {
    tl_content content;
    const char *path;              /* as written, usually an absolute URI */
    const char *format;            /* "PARQUET" ... */
    int32_t spec_id;               /* of the manifest it came from */
    tl_partition_value *partition; /* one per field of the spec */
    int32_t n_partition;
    int64_t record_count, file_size;
    tl_column_stats *columns; /* ascending field ids; only those with any statistic */
    int32_t n_columns;
    int64_t *split_offsets;
    int32_t n_split_offsets;
    int32_t *equality_ids;
    int32_t n_equality_ids;
    int32_t sort_order_id;                /* -1 = null */
    const char *referenced_data_file;     /* field 143; NULL = null */
    int64_t content_offset, content_size; /* fields 144, 145; -1 = null (deletion vectors) */
    bool has_first_row_id;                /* v3: the id of its first row is known (field 142, inherited or own) */
    int64_t first_row_id;
} tl_data_file;

typedef struct tl_manifest_entry {
    tl_entry_status status;
    int64_t snapshot_id;          /* -1 = null: inherit */
    int64_t sequence_number;      /* data sequence number; -1 = null: inherit */
    int64_t file_sequence_number; /* -1 = null: inherit */
    tl_data_file file;
} tl_manifest_entry;

typedef struct tl_manifest {
    int32_t format_version;
    tl_content content; /* data or "deletes" (then TL_CONTENT_POSITION_DELETES stands for both kinds) */
    int32_t schema_id, spec_id;
    tl_manifest_entry *entries;
    int64_t n_entries;
} tl_manifest;

typedef struct tl_partition_summary {
    bool contains_null, has_contains_nan, contains_nan;
    tl_bytes lower, upper; /* data NULL = none */
} tl_partition_summary;

typedef struct tl_manifest_file {
    const char *path;
    int64_t length;
    int32_t spec_id;
    tl_content content; /* DATA, or POSITION_DELETES for a delete manifest */
    int64_t sequence_number, min_sequence_number;
    int64_t added_snapshot_id;
    int32_t added_files, existing_files, deleted_files; /* -1 = unknown (v1) */
    int64_t added_rows, existing_rows, deleted_rows;
    tl_partition_summary *partitions;
    int32_t n_partitions;
    bool has_first_row_id; /* v3, data manifests: where the ids of its rows begin (field 520) */
    int64_t first_row_id;
} tl_manifest_file;

/* Parses a manifest into `arena`. Inheritance (spec: null snapshot id and sequence numbers come from the list's entry)
 * is applied when `listed` is given. Hostile bytes: TL_CORRUPT. */
tl_status tl_manifest_parse(tl_bytes avro, const tl_manifest_file *listed, tl_arena *arena, tl_manifest *out,
                            tl_error *err) TL_CHECKED;

/* `schema` and `spec` go into the file's header; partition values are typed by spec and schema. */
tl_status tl_manifest_write(const tl_manifest *m, const tl_schema *schema, const tl_partition_spec *spec, tl_buf *out,
                            tl_error *err) TL_CHECKED;

/* The list entry for a written manifest: counts, minimum sequence number (entries without one count as
 * `sequence_number`), partition summaries. `path` is kept by reference. */
tl_status tl_manifest_describe(const tl_manifest *m, const tl_schema *schema, const tl_partition_spec *spec,
                               const char *path, int64_t length, int64_t snapshot_id, int64_t sequence_number,
                               tl_arena *arena, tl_manifest_file *out, tl_error *err) TL_CHECKED;

tl_status tl_manifest_list_parse(tl_bytes avro, tl_arena *arena, tl_manifest_file **out, int64_t *n_out,
                                 tl_error *err) TL_CHECKED;
/* The same in a format version, 2 or 3. */
tl_status tl_manifest_list_write_as(int32_t format_version, const tl_manifest_file *files, int64_t n,
                                    int64_t snapshot_id, int64_t parent_id, int64_t sequence_number, tl_buf *out,
                                    tl_error *err) TL_CHECKED;
tl_status tl_manifest_list_write(const tl_manifest_file *files, int64_t n, int64_t snapshot_id, int64_t parent_id,
                                 int64_t sequence_number, tl_buf *out, tl_error *err) TL_CHECKED;

/* ---- single-value encoding of bounds and partition values (Iceberg spec, appendix D) ---- */

/* Order of two encoded values of a primitive type; floats in IEEE total order of Timelake's keys (-0.0 < 0.0, NaN
 * last). Lengths are checked: TL_CORRUPT when one cannot be of the type (int bounds widened to long are accepted). */
tl_status tl_value_compare(const tl_type *type, tl_bytes a, tl_bytes b, int *out, tl_error *err) TL_CHECKED;
/* Reads an encoded int, long, date, time or timestamp. */
bool tl_value_int64(const tl_type *type, tl_bytes value, int64_t *out);
/* From Parquet's PLAIN bounds to Iceberg's encoding: decimals become minimal big-endian, the rest is the same bytes. */
tl_status tl_value_from_parquet(const tl_type *type, tl_bytes plain, tl_arena *arena, tl_bytes *out,
                                tl_error *err) TL_CHECKED;

/* The same for files of other writers, whose physical type may differ (decimals, int before it became long). */
tl_status tl_value_from_parquet_as(const tl_type *type, tl_pq_type physical, tl_bytes plain, tl_arena *arena,
                                   tl_bytes *out, tl_error *err) TL_CHECKED;
/* Big-endian two's complement of any length to the minimal form of bounds. */
tl_status tl_value_decimal(tl_bytes big_endian, tl_arena *arena, tl_bytes *out, tl_error *err) TL_CHECKED;

/* ---- delete files ---- */
/* Position deletes are Parquet files (file_path, pos); reading them is the read room's work. A deletion vector blob
 * (Puffin "deletion-vector-v1", spec v3) gives its positions here: */
tl_status tl_deletion_vector_parse(tl_bytes blob, tl_arena *arena, uint64_t **positions, int64_t *n,
                                   tl_error *err) TL_CHECKED;

#endif
