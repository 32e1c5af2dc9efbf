/*
 * Writing Parquet. Comes in: a schema tree, and the values of each leaf a page's worth at a time. Goes out: encoded
 * column chunks (tl_pq_chunk, made independently of each other, so that columns can be encoded in parallel), then the
 * bytes of a file through a sink.
 *
 *     tl_pq_column_writer   one leaf of one row group: values in, pages out, statistics kept
 *     tl_pq_file_writer     chunks in the order of the leaves become row groups; then indexes and footer
 */
#ifndef TL_PARQUET_WRITER_H
#define TL_PARQUET_WRITER_H

#include "base/buf.h"
#include "parquet/codec.h"
#include "parquet/format.h"

/* ---- one column of one row group ---- */

typedef struct tl_pq_column_options {
    tl_pq_type type;
    int32_t type_length; /* bytes of TL_PQ_FIXED */
    int16_t max_def, max_rep;
    bool utf8;               /* bounds are cut at code points */
    bool is_signed;          /* order of INT32/INT64 bounds; false for unsigned logical types */
    bool signed_bytes;       /* FIXED/BYTE_ARRAY decimals: big-endian two's complement order for bounds */
    bool no_bounds;          /* types without an order (INT96, interval, nested leaves where unwanted) */
    tl_pq_encoding encoding; /* PLAIN, RLE_DICTIONARY (falls back to `fallback` when the dictionary grows too large),
                                DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, RLE
                                (booleans) */
    tl_pq_encoding fallback; /* after a dictionary overflow; default PLAIN */
    int32_t dictionary_max_values; /* 0 = 131072 */
    int32_t dictionary_max_bytes;  /* 0 = 1 MiB */
    bool sort_dictionary;          /* INT32, INT64, FLOAT, DOUBLE: its values by their upper bits, which compresses
                                      better; pages then wait, at 4 bytes a value, until all values are known */
    tl_pq_codec codec;
    int32_t level;        /* INT32_MIN = default */
    int32_t page_rows;    /* a page is closed at a row boundary once it has as many rows; 0 = 20000 */
    int32_t page_bytes;   /* ... or as many bytes of values; 0 = 1 MiB */
    int32_t bounds_bytes; /* bounds longer than that are cut (exactness flags say so); 0 = 64 */
    bool page_v2;         /* data page v2; default v1 */
    bool page_crc;
} tl_pq_column_options;

/* The options that follow from the schema (type, levels, orders; no bounds where the order is not known: INT96,
 * interval, float16, INT32/64 with foreign annotations); encoding PLAIN, codec zstd at its default level, the rest 0.
 */
tl_pq_column_options tl_pq_column_options_of(const tl_pq_schema_element *element, const tl_pq_leaf *leaf);

/* A piece of a column: n_levels entries, of which n_values are present (def == max_def). With max_def 0, or `def`
 * NULL, all are present. `rep` NULL when max_rep is 0; then every entry is a row. Values are dense (nulls left out):
 *   BOOLEAN: uint8_t 0/1; INT32, INT64, FLOAT, DOUBLE: native arrays; FIXED, INT96: n_values * type_length bytes;
 *   BYTE_ARRAY: tl_bytes[n_values] (each at most INT32_MAX long).
 * Nothing is kept of it after the call, so it can be a scratch gathered for one page (20 k rows stay in the cache). */
typedef struct tl_pq_values {
    int64_t n_levels, n_values;
    const uint8_t *def, *rep;
    const void *values;
} tl_pq_values;

typedef struct tl_pq_column_writer tl_pq_column_writer;

/* Creates (or re-uses: `reset` keeps buffers, hash tables and codec contexts for the next chunk, which may be of
 * another column and type, so that one writer a thread is enough). */
tl_status tl_pq_column_writer_create(const tl_pq_column_options *options, tl_pq_column_writer **out,
                                     tl_error *err) TL_CHECKED;
tl_status tl_pq_column_writer_reset(tl_pq_column_writer *w, const tl_pq_column_options *options,
                                    tl_error *err) TL_CHECKED;
void tl_pq_column_writer_free(tl_pq_column_writer *w);
size_t tl_pq_column_writer_held(const tl_pq_column_writer *w); /* bytes of the buffers that it keeps, about */

/* Pieces may end inside a row of a nested column; the first must begin with one. Errors: TL_INVALID for a value over
 * 2^31-1 bytes, TL_UNSUPPORTED for a row that no page can hold; after an error the writer needs a reset. */
tl_status tl_pq_column_writer_add(tl_pq_column_writer *w, const tl_pq_values *values, tl_error *err) TL_CHECKED;

/* One value (or null: `value` NULL, definition level max_def - 1) repeated for `count` rows of a flat column: sorted
 * series columns and constant columns are written from their runs. `value` points to the native value, or to a tl_bytes
 * for BYTE_ARRAY. */
tl_status tl_pq_column_writer_add_run(tl_pq_column_writer *w, const void *value, int64_t count,
                                      tl_error *err) TL_CHECKED;

/* Rows and estimated encoded bytes so far: for closing row groups by rows and bytes. */
int64_t tl_pq_column_writer_rows(const tl_pq_column_writer *w);
size_t tl_pq_column_writer_bytes(const tl_pq_column_writer *w);

/* A finished chunk: bytes to place in the file, and its metadata with offsets relative to the chunk's first byte. */
typedef struct tl_pq_chunk {
    tl_buf bytes;            /* [dictionary page] data pages */
    tl_pq_column_chunk meta; /* offsets relative; path empty */
    tl_pq_column_index column_index;
    tl_pq_offset_index offset_index; /* offsets relative */
    bool has_column_index;           /* false when a page's bounds could not be given */
    int64_t n_rows;
    int64_t nan_count; /* FLOAT, DOUBLE: values that are NaN; else 0 */
    tl_arena arena;    /* owns what meta and the indexes point to */
} tl_pq_chunk;

/* Ends the column chunk; the writer then needs a reset before more values. Caller frees the chunk. */
tl_status tl_pq_column_writer_finish(tl_pq_column_writer *w, tl_pq_chunk *out, tl_error *err) TL_CHECKED;
void tl_pq_chunk_free(tl_pq_chunk *chunk);

/* ---- a file ---- */

/* Where the bytes go, in order. */
typedef struct tl_pq_sink {
    tl_status (*write)(void *ctx, const void *data, size_t len, tl_error *err);
    void *ctx;
} tl_pq_sink;
tl_pq_sink tl_pq_sink_buf(tl_buf *buf);

typedef struct tl_pq_file_options {
    const tl_pq_schema_element *schema; /* depth first, [0] the root; copied */
    int32_t n_schema;
    const tl_pq_sorting_column *sorting; /* for every row group; copied */
    int32_t n_sorting;
    const tl_pq_key_value *metadata; /* copied */
    int32_t n_metadata;
    const char *created_by; /* NULL = "timelake version <version>", the form that parquet-java can parse */
    bool no_page_index;
} tl_pq_file_options;

typedef struct tl_pq_file_writer tl_pq_file_writer;

tl_status tl_pq_file_writer_create(const tl_pq_file_options *options, tl_pq_sink sink, tl_pq_file_writer **out,
                                   tl_error *err) TL_CHECKED;
void tl_pq_file_writer_free(tl_pq_file_writer *w);

/* Writes one row group; chunks in leaf order, all with the same number of rows. The chunks' bytes are freed as they
 * are written; the rest of each chunk is taken over (the caller may tl_pq_chunk_free them afterwards, it is a no-op).
 * A group without rows is not written. After a failure the writer can only be freed. */
tl_status tl_pq_file_writer_add_row_group(tl_pq_file_writer *w, tl_pq_chunk *chunks, int32_t n_chunks,
                                          tl_error *err) TL_CHECKED;
int64_t tl_pq_file_writer_bytes(const tl_pq_file_writer *w); /* written so far */
int64_t tl_pq_file_writer_rows(const tl_pq_file_writer *w);

/* Indexes, footer, end. `out` (may be NULL) gets the footer's metadata with absolute offsets; caller frees it. */
tl_status tl_pq_file_writer_finish(tl_pq_file_writer *w, tl_pq_file_meta *out, tl_error *err) TL_CHECKED;

#endif
