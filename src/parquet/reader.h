/*
 * Reading Parquet. Comes in: a source of bytes (hostile until checked). Goes out: metadata, Arrow arrays, or for key
 * columns runs and plain number arrays.
 */
#ifndef TL_PARQUET_READER_H
#define TL_PARQUET_READER_H

#include "base/buf.h"
#include "parquet/codec.h"
#include "parquet/format.h"

/* Where the bytes come from: fills `out` wholly or fails. */
typedef struct tl_pq_source {
    tl_status (*read_at)(void *ctx, uint64_t offset, size_t len, void *out, tl_error *err);
    void *ctx;
    uint64_t size;         /* bytes of the whole file */
    const uint8_t *mapped; /* the whole file when it is in memory already (mmap, buffer): saves the copies; else NULL */
} tl_pq_source;
tl_pq_source tl_pq_source_bytes(const tl_bytes *bytes); /* `bytes` must outlive the reader */

typedef struct tl_pq_read_options {
    size_t memory_limit; /* for one row group's decoded bytes and every single buffer; 0 = 4 GiB or 256
                            times the file, whichever is more. Sizes that the file
                            claims are believed only within what its bytes can hold. */
    bool int96_micros;   /* INT96 -> timestamp[us] instead of timestamp[ns], which ends in the year 2262 */
    bool check_crc;      /* verify page checksums where there are some; default off as in other readers */
    size_t tail;         /* bytes read at first to get at the footer; 0 = 64 KiB */
    /* A footer known already (the head keeps some): the file's last `footer_len` bytes. */
    const uint8_t *footer;
    size_t footer_len;
    /* Contexts to be used instead of the reader's own, for a thread that opens many small files one after the other:
     * making one costs more than unpacking a key column. Outlives the reader. NULL = its own. */
    tl_pq_codec_state *codec;
} tl_pq_read_options;

typedef struct tl_pq_reader tl_pq_reader;

tl_status tl_pq_reader_open(tl_pq_source source, const tl_pq_read_options *options, tl_pq_reader **out,
                            tl_error *err) TL_CHECKED;
void tl_pq_reader_free(tl_pq_reader *r);
const tl_pq_file_meta *tl_pq_reader_meta(const tl_pq_reader *r);
const tl_pq_leaf *tl_pq_reader_leaves(const tl_pq_reader *r, int32_t *n);

/* The Arrow schema of the file, or of the top-level columns named by `tops` (indices in file order; NULL = all).
 * Types as pyarrow maps them, from the Parquet types alone (ARROW:schema is not used): INT96 -> timestamp[ns],
 * unannotated BYTE_ARRAY -> binary, decimals -> decimal128 (256 above 38 digits), unsigned and small ints, float16,
 * UUID -> fixed_size_binary[16] with the arrow.uuid extension name left out, TIME/TIMESTAMP by unit (utc -> "UTC"),
 * lists in every legacy layout, maps. Fields carry PARQUET:field_id metadata where the file has ids. */
tl_status tl_pq_reader_schema(const tl_pq_reader *r, const int32_t *tops, int32_t n_tops, struct ArrowSchema *out,
                              tl_error *err) TL_CHECKED;

/* Rows [first, first + count) of a row group. */
typedef struct tl_pq_row_range {
    int64_t first, count;
} tl_pq_row_range;

/* Reads columns of one row group as a struct array. `ranges` (ascending, disjoint; NULL = all rows) picks rows: pages
 * without any of them are neither read nor decoded when the file has an offset index. Byte arrays become utf8/binary
 * with 32-bit offsets; a row group whose column holds more than 2^31-1 bytes must be read in ranges (TL_UNSUPPORTED
 * says so), tl_pq_reader_stream does that by itself. */
tl_status tl_pq_reader_read(tl_pq_reader *r, int32_t row_group, const int32_t *tops, int32_t n_tops,
                            const tl_pq_row_range *ranges, int32_t n_ranges, struct ArrowArray *out,
                            tl_error *err) TL_CHECKED;

/* All row groups (or those in `row_groups`) as a stream of record batches of at most `batch_rows` rows (0 = a row
 * group each, cut where strings would overflow). The reader must outlive the stream. */
tl_status tl_pq_reader_stream(tl_pq_reader *r, const int32_t *tops, int32_t n_tops, const int32_t *row_groups,
                              int32_t n_row_groups, int64_t batch_rows, struct ArrowArrayStream *out,
                              tl_error *err) TL_CHECKED;

/* ---- key columns, for finding older copies ---- */

/* A column as runs: run i holds rows [starts[i], starts[i+1]) of the row group and one value. Neighbouring runs may
 * hold equal values (a page boundary); values live in the struct's arena. */
typedef struct tl_pq_runs {
    int64_t n_runs, n_rows;
    int64_t *starts;  /* n_runs + 1 */
    uint8_t *is_null; /* n_runs */
    tl_bytes *values; /* n_runs; PLAIN bytes: 4/8 for numbers, 1 for booleans, raw for byte arrays */
    int32_t *places;  /* NULL, but see tl_pq_reader_runs_or_places */
    tl_arena arena;
} tl_pq_runs;
/* Flat leaves of any encoding; dictionary-encoded ones never touch each row. */
tl_status tl_pq_reader_runs(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_runs *out,
                            tl_error *err) TL_CHECKED;
/* The same; but where values alternate from row to row and come from a dictionary, `places` has for each of the n_rows
 * rows the place of its value in `values` and `is_null`, of which there are n_runs, and `starts` is NULL. */
tl_status tl_pq_reader_runs_or_places(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_runs *out,
                                      tl_error *err) TL_CHECKED;
void tl_pq_runs_free(tl_pq_runs *runs);

/* A flat INT64 (or INT32, widened) leaf decoded into out[n_rows of the group], nulls as 0; `validity` (may be NULL
 * when the leaf is required; else (n_rows + 7) / 8 bytes, caller's) gets the validity bitmap. `n_nulls` is set. */
tl_status tl_pq_reader_int64(tl_pq_reader *r, int32_t row_group, int32_t leaf, int64_t *out, uint8_t *validity,
                             int64_t *n_nulls, tl_error *err) TL_CHECKED;

/* Numbers that ascend (or descend) evenly: first, first + step, ... `n` in all. A `n` of 1 has a step of 0. */
typedef struct tl_pq_step {
    int64_t first, step, n;
} tl_pq_step;
typedef struct tl_pq_steps {
    tl_pq_step *items;
    int64_t n;
    size_t cap;
    int64_t last; /* number */
} tl_pq_steps;
void tl_pq_steps_free(tl_pq_steps *s);

/* As tl_pq_reader_int64 for an INT64 leaf without nulls; but where the numbers come to few steps (times of sensors that
 * report every so often, as deltas) `out` is left alone and *stepped set: then `steps`, whose memory is used again,
 * holds at least those of the first `rows` rows. Costs a fraction: equal deltas are not summed up one by one. */
tl_status tl_pq_reader_steps(tl_pq_reader *r, int32_t row_group, int32_t leaf, int64_t rows, tl_pq_steps *steps,
                             bool *stepped, int64_t *out, uint8_t *validity, int64_t *n_nulls,
                             tl_error *err) TL_CHECKED;

/* ---- indexes ---- */

/* The page index of a chunk, in the reader's arena; *has is false when the file has none. */
tl_status tl_pq_reader_offset_index(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_offset_index *out,
                                    bool *has, tl_error *err) TL_CHECKED;
tl_status tl_pq_reader_column_index(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_column_index *out,
                                    bool *has, tl_error *err) TL_CHECKED;

#endif
