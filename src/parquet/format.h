/*
 * The structures of the Parquet format (parquet.thrift of parquet-format 2.11) as plain C. Readers fill them from
 * bytes (thrift_read.h), writers turn them into bytes (thrift_write.h). Everything they point to lives in one arena.
 */
#ifndef TL_PARQUET_FORMAT_H
#define TL_PARQUET_FORMAT_H

#include "base/base.h"
#include "base/mem.h"

typedef enum tl_pq_type {
    TL_PQ_BOOLEAN = 0,
    TL_PQ_INT32 = 1,
    TL_PQ_INT64 = 2,
    TL_PQ_INT96 = 3,
    TL_PQ_FLOAT = 4,
    TL_PQ_DOUBLE = 5,
    TL_PQ_BYTE_ARRAY = 6,
    TL_PQ_FIXED = 7
} tl_pq_type;

typedef enum tl_pq_repetition { TL_PQ_REQUIRED = 0, TL_PQ_OPTIONAL = 1, TL_PQ_REPEATED = 2 } tl_pq_repetition;

typedef enum tl_pq_encoding {
    TL_PQ_PLAIN = 0,
    TL_PQ_PLAIN_DICTIONARY = 2,
    TL_PQ_RLE = 3,
    TL_PQ_BIT_PACKED = 4,
    TL_PQ_DELTA_BINARY_PACKED = 5,
    TL_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    TL_PQ_DELTA_BYTE_ARRAY = 7,
    TL_PQ_RLE_DICTIONARY = 8,
    TL_PQ_BYTE_STREAM_SPLIT = 9
} tl_pq_encoding;

typedef enum tl_pq_codec {
    TL_PQ_UNCOMPRESSED = 0,
    TL_PQ_SNAPPY = 1,
    TL_PQ_GZIP = 2,
    TL_PQ_LZO = 3, /* refused */
    TL_PQ_BROTLI = 4,
    TL_PQ_LZ4 = 5, /* the Hadoop framing; read only */
    TL_PQ_ZSTD = 6,
    TL_PQ_LZ4_RAW = 7
} tl_pq_codec;

typedef enum tl_pq_page_type {
    TL_PQ_DATA_PAGE = 0,
    TL_PQ_INDEX_PAGE = 1,
    TL_PQ_DICTIONARY_PAGE = 2,
    TL_PQ_DATA_PAGE_V2 = 3
} tl_pq_page_type;

/* What the bytes of a leaf, or the children of a group, mean: logical type and legacy converted type in one. */
typedef enum tl_pq_logical {
    TL_PQ_LOGICAL_NONE = 0,
    TL_PQ_LOGICAL_STRING,
    TL_PQ_LOGICAL_ENUM,
    TL_PQ_LOGICAL_JSON,
    TL_PQ_LOGICAL_BSON,
    TL_PQ_LOGICAL_UUID,
    TL_PQ_LOGICAL_DECIMAL, /* precision, scale */
    TL_PQ_LOGICAL_DATE,
    TL_PQ_LOGICAL_TIME,      /* unit, utc */
    TL_PQ_LOGICAL_TIMESTAMP, /* unit, utc */
    TL_PQ_LOGICAL_INTEGER,   /* bit_width, is_signed */
    TL_PQ_LOGICAL_FLOAT16,
    TL_PQ_LOGICAL_INTERVAL, /* converted type only */
    TL_PQ_LOGICAL_LIST,
    TL_PQ_LOGICAL_MAP,
    TL_PQ_LOGICAL_MAP_KEY_VALUE, /* converted type only */
    TL_PQ_LOGICAL_NULL,          /* "UNKNOWN": always null */
    TL_PQ_LOGICAL_OTHER /* a logical type this reader does not know (variant, geometry ...): `other` is its field id */
} tl_pq_logical;

typedef enum tl_pq_unit { TL_PQ_MILLIS = 0, TL_PQ_MICROS = 1, TL_PQ_NANOS = 2 } tl_pq_unit;

typedef struct tl_pq_schema_element {
    const char *name;
    bool is_leaf; /* `type` counts */
    tl_pq_type type;
    int32_t type_length; /* bytes of TL_PQ_FIXED */
    tl_pq_repetition repetition;
    int32_t n_children;
    int32_t field_id; /* -1 = none */
    tl_pq_logical logical;
    tl_pq_unit unit;
    bool utc; /* isAdjustedToUTC */
    int32_t precision, scale;
    int32_t bit_width;
    bool is_signed;
    int32_t other;
} tl_pq_schema_element;

/* PLAIN-encoded bounds (byte arrays without length). `data` NULL = not there. */
typedef struct tl_pq_statistics {
    bool has_null_count, has_distinct_count, has_nan_count;
    int64_t null_count, distinct_count, nan_count;
    tl_bytes min_value, max_value; /* by the column order; the only ones a reader may trust for all types */
    tl_bytes min, max;             /* deprecated: signed byte order */
    bool has_min_exact, has_max_exact, min_exact, max_exact;
} tl_pq_statistics;

typedef struct tl_pq_key_value {
    const char *key, *value; /* value may be NULL */
} tl_pq_key_value;

typedef struct tl_pq_page_encoding_stats {
    tl_pq_page_type page_type;
    tl_pq_encoding encoding;
    int32_t count;
} tl_pq_page_encoding_stats;

typedef struct tl_pq_column_chunk {
    /* ColumnChunk */
    const char *file_path;                            /* refused when set */
    int64_t offset_index_offset, column_index_offset; /* 0 = none */
    int32_t offset_index_length, column_index_length;
    bool encrypted;
    /* ColumnMetaData */
    bool has_meta;
    tl_pq_type type;
    tl_pq_codec codec;
    tl_pq_encoding *encodings;
    int32_t n_encodings;
    const char **path;
    int32_t n_path;
    int64_t n_values; /* nulls included */
    int64_t uncompressed_size, compressed_size;
    int64_t data_page_offset;
    int64_t dictionary_page_offset; /* 0 = none */
    int64_t bloom_filter_offset;
    int32_t bloom_filter_length;
    tl_pq_statistics stats;
    tl_pq_page_encoding_stats *encoding_stats;
    int32_t n_encoding_stats;
    tl_pq_key_value *metadata;
    int32_t n_metadata;
} tl_pq_column_chunk;

typedef struct tl_pq_sorting_column {
    int32_t column; /* leaf index */
    bool descending, nulls_first;
} tl_pq_sorting_column;

typedef struct tl_pq_row_group {
    tl_pq_column_chunk *columns;
    int32_t n_columns;
    int64_t total_byte_size, total_compressed_size;
    int64_t n_rows;
    int64_t file_offset;
    int32_t ordinal; /* -1 = none */
    tl_pq_sorting_column *sorting;
    int32_t n_sorting;
} tl_pq_row_group;

typedef struct tl_pq_file_meta {
    int32_t version;
    tl_pq_schema_element *schema; /* depth first, [0] is the root */
    int32_t n_schema;
    int64_t n_rows;
    tl_pq_row_group *row_groups;
    int32_t n_row_groups;
    tl_pq_key_value *metadata;
    int32_t n_metadata;
    const char *created_by;
    uint8_t *column_orders; /* per leaf: 1 = TypeDefinedOrder, other numbers = the union field seen, 0 = unknown */
    int32_t n_column_orders;
    bool encrypted;
    tl_arena arena; /* owns all of the above; tl_pq_file_meta_free */
} tl_pq_file_meta;

void tl_pq_file_meta_free(tl_pq_file_meta *meta);

typedef struct tl_pq_page_header {
    tl_pq_page_type type;
    int32_t uncompressed_size, compressed_size;
    bool has_crc;
    int32_t crc;
    int32_t n_values; /* nulls included */
    tl_pq_encoding encoding;
    /* data page v1 */
    tl_pq_encoding def_encoding, rep_encoding;
    /* data page v2 */
    int32_t n_nulls, n_rows;
    int32_t def_length, rep_length;
    bool is_compressed;
    /* dictionary page */
    bool is_sorted;
} tl_pq_page_header;

typedef struct tl_pq_page_location {
    int64_t offset;
    int32_t compressed_size; /* header included */
    int64_t first_row;       /* in the row group */
} tl_pq_page_location;

typedef struct tl_pq_offset_index {
    tl_pq_page_location *pages;
    int32_t n_pages;
} tl_pq_offset_index;

typedef struct tl_pq_column_index {
    bool *null_pages;
    tl_bytes *min_values, *max_values;
    int32_t n_pages;
    int32_t boundary_order; /* 0 unordered, 1 ascending, 2 descending */
    int64_t *null_counts;   /* NULL = not written */
} tl_pq_column_index;

/* Where a leaf stands in the schema. Made by tl_pq_schema_leaves. */
typedef struct tl_pq_leaf {
    int32_t element; /* index into tl_pq_file_meta.schema */
    int32_t top;     /* which top-level column it belongs to */
    int16_t max_def, max_rep;
} tl_pq_leaf;

/* The leaves in file order. Caller frees `out` with tl_free. Errors: TL_CORRUPT for a tree that does not add up or is
 * deeper than 64. */
tl_status tl_pq_schema_leaves(const tl_pq_schema_element *schema, int32_t n_schema, tl_pq_leaf **out, int32_t *n_out,
                              tl_error *err) TL_CHECKED;

#endif
