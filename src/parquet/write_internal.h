/*
 * Private to the writing half of the Parquet core: bit packing, encoders, the dictionary, bounds, the values of the
 * page in the making, and the chunk that pages are added to.
 *
 *     column_writer.c   cuts what comes in into pages
 *       stage.c         holds one page's values and encodes them (encode_*.c, dictionary.c)
 *       bounds.c        least and greatest value of a page and of the chunk
 *       held_pages.c    pages that wait for a dictionary to be sorted
 *       chunk.c         levels + values -> compressed page in the chunk, page index, chunk metadata
 */
#ifndef TL_PARQUET_WRITE_INTERNAL_H
#define TL_PARQUET_WRITE_INTERNAL_H

#include "base/buf.h"
#include "parquet/writer.h"

static inline uint64_t tl_pq_zigzag(int64_t v) {
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline TL_CHECKED tl_status tl_pq_put_varint(tl_buf *out, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) {
        bytes[n++] = (uint8_t)(v | 0x80);
    }
    bytes[n++] = (uint8_t)v;
    return tl_buf_add(out, bytes, n);
}

/* Bits needed for `v`; 0 for 0. */
static inline unsigned tl_pq_bits(uint64_t v) {
    return v ? 64u - (unsigned)__builtin_clzll(v) : 0u;
}

/* ---- bit packing (pack.c) ---- */

/* Packs `groups` groups of 8 values of `width` bits (u32: 1-32, u64: 1-64), least significant bits first; each group
 * gives `width` bytes. Values must fit the width. `out` needs TL_PQ_PACK_SLACK bytes more than the result. */
#define TL_PQ_PACK_SLACK 8
void tl_pq_pack_u32(const uint32_t *in, size_t groups, unsigned width, uint8_t *out);
void tl_pq_pack_u64(const uint64_t *in, size_t groups, unsigned width, uint8_t *out);

/* ---- the RLE / bit-packing hybrid (encode_rle.c) ---- */

/* Takes runs and values in any mixture and appends the encoding to `out`. All state is here; zeroing it forgets. */
typedef struct tl_pq_rle_out {
    tl_buf *out;
    unsigned width; /* bits, 1-32 */
    uint32_t pending[8];
    unsigned n_pending; /* values before the run, not enough for a group of 8 */
    uint32_t run_value;
    uint64_t run_count;   /* a run that may grow yet */
    size_t group_header;  /* where the open bit-packed run's one-byte header stands */
    unsigned open_groups; /* 0 = none is open */
} tl_pq_rle_out;

void tl_pq_rle_begin(tl_pq_rle_out *e, unsigned width, tl_buf *out);
tl_status tl_pq_rle_add_run(tl_pq_rle_out *e, uint32_t value, uint64_t count) TL_CHECKED;
tl_status tl_pq_rle_add(tl_pq_rle_out *e, const uint32_t *values, size_t n) TL_CHECKED;
tl_status tl_pq_rle_add_u8(tl_pq_rle_out *e, const uint8_t *values, size_t n) TL_CHECKED; /* levels, booleans */
tl_status tl_pq_rle_end(tl_pq_rle_out *e) TL_CHECKED;

/* ---- encoders of whole pages: append to `out` ---- */

/* Numbers may stand at any address: Arrow buffers need not be aligned. */
tl_status tl_pq_encode_delta_i32(const void *values, size_t n, tl_buf *out) TL_CHECKED; /* encode_delta.c */
tl_status tl_pq_encode_delta_i64(const void *values, size_t n, tl_buf *out) TL_CHECKED;
tl_status tl_pq_encode_split(const uint8_t *values, size_t n, size_t width,
                             tl_buf *out) TL_CHECKED;                                 /* encode_split.c */
tl_status tl_pq_encode_bits(const uint8_t *values, size_t n, tl_buf *out) TL_CHECKED; /* encode_plain.c: booleans */
tl_status tl_pq_encode_byte_arrays(const tl_bytes *values, size_t n, tl_buf *out) TL_CHECKED; /* each with its length */

/* ---- the dictionary (dictionary.c) ---- */

/* Distinct values in the order they came. Values are told apart by their bits: -0.0 and 0.0 are two. */
typedef struct tl_pq_dictionary {
    int32_t width; /* bytes of a value; 0 = byte arrays */
    uint32_t n;
    uint32_t max_values;
    size_t max_bytes;
    tl_buf values;            /* the page's body: PLAIN */
    tl_buf offsets;           /* byte arrays: uint32_t per value, where its bytes begin in `values` */
    struct tl_pq_slot *slots; /* of values that are not numbers of 4 or 8 bytes; NULL = none yet */
    size_t mask;              /* slots - 1 */
    uint32_t *cells;          /* of those that are: index + 1; 0 = free */
    size_t cell_mask;
} tl_pq_dictionary;

void tl_pq_dictionary_free(tl_pq_dictionary *d);
/* Empties it, keeping its memory. */
tl_status tl_pq_dictionary_begin(tl_pq_dictionary *d, int32_t width, uint32_t max_values, size_t max_bytes) TL_CHECKED;
/* The indices of `n` values (tl_bytes[] for byte arrays, else packed values), new ones entered. Stops before a value
 * that would take the dictionary over its limits; *mapped says how many were mapped. `beyond` lifts the limits (up to
 * what a page can hold, TL_UNSUPPORTED after that). */
tl_status tl_pq_dictionary_map(tl_pq_dictionary *d, const void *values, size_t n, bool beyond, uint32_t *indices,
                               size_t *mapped) TL_CHECKED;
tl_bytes tl_pq_dictionary_value(const tl_pq_dictionary *d, uint32_t index);

/* ---- bounds (bounds.c) ---- */

typedef enum tl_pq_order {
    TL_PQ_ORDER_NONE,        /* no bounds are kept */
    TL_PQ_ORDER_I64,         /* BOOLEAN, INT32, INT64 */
    TL_PQ_ORDER_U64,         /* unsigned INT32, INT64 */
    TL_PQ_ORDER_FLOAT,       /* FLOAT, DOUBLE */
    TL_PQ_ORDER_BYTES,       /* unsigned, bytewise */
    TL_PQ_ORDER_SIGNED_BYTES /* big-endian two's complement of any length */
} tl_pq_order;

tl_pq_order tl_pq_order_of(const tl_pq_column_options *options);
/* Two's complement or unsigned byte order by `order` (one of the BYTES orders). */
int tl_pq_order_compare_bytes(tl_pq_order order, tl_bytes a, tl_bytes b);
/* Compares two bounds in their stored (PLAIN) form. */
int tl_pq_order_compare_plain(tl_pq_order order, tl_pq_type type, tl_bytes a, tl_bytes b);

typedef struct tl_pq_bounds {
    bool any;          /* at least one value that has a place in the order */
    int64_t nan_count; /* values that have none */
    union {
        int64_t i;
        uint64_t u;
        double d;
    } min, max;
    tl_buf min_bytes, max_bytes;
} tl_pq_bounds;

void tl_pq_bounds_free(tl_pq_bounds *b);
void tl_pq_bounds_begin(tl_pq_bounds *b);
/* Takes `n` dense values of the column's type into account (layout as in tl_pq_values). */
tl_status tl_pq_bounds_add(tl_pq_bounds *b, const tl_pq_column_options *o, const void *values, size_t n) TL_CHECKED;
bool tl_pq_bounds_is_nan(tl_pq_type type, const void *value); /* FLOAT, DOUBLE */
tl_status tl_pq_bounds_merge(tl_pq_bounds *b, tl_pq_order order, const tl_pq_bounds *other) TL_CHECKED;

/* Bounds as they are stored, in an arena. `min`/`max` .data NULL = could not be given. */
typedef struct tl_pq_stored_bounds {
    tl_bytes min, max;
    bool min_exact, max_exact;
} tl_pq_stored_bounds;
tl_status tl_pq_bounds_store(const tl_pq_bounds *b, const tl_pq_column_options *o, tl_arena *arena,
                             tl_pq_stored_bounds *out) TL_CHECKED;

/* Cuts `value`, which is longer than `limit`, to a lower/upper bound of at most `limit` bytes; false when there is
 * none. `out` needs `limit` bytes. */
bool tl_pq_cut_lower(tl_bytes value, size_t limit, bool utf8, uint8_t *out, size_t *len);
bool tl_pq_cut_upper(tl_bytes value, size_t limit, bool utf8, uint8_t *out, size_t *len);

/* ---- the values of the page in the making (stage.c) ---- */

typedef struct tl_pq_index_run {
    size_t at; /* how many single indices stand before it */
    uint32_t index;
    uint64_t count;
} tl_pq_index_run;

typedef struct tl_pq_stage {
    tl_pq_type type;
    int32_t width;           /* bytes of a native value; 0 = byte arrays */
    tl_pq_encoding encoding; /* of this page */
    int64_t n_values;
    size_t bytes;             /* of the values in PLAIN form: what page_bytes limits */
    const void *direct;       /* a whole page of the caller's values, not copied; NULL = they are in the buffers */
    tl_buf raw;               /* native values; for byte arrays PLAIN form or, for the delta encodings, bare bytes */
    tl_buf lengths, prefixes; /* int32_t each */
    tl_buf previous;          /* DELTA_BYTE_ARRAY: the value before */
    tl_buf indices;           /* uint32_t each */
    tl_buf runs;              /* tl_pq_index_run each */
} tl_pq_stage;

void tl_pq_stage_free(tl_pq_stage *s);
/* The page's body without a copy, where it is the values as they stand; until the stage is changed. */
bool tl_pq_stage_plain(const tl_pq_stage *s, tl_bytes *out);
void tl_pq_stage_begin(tl_pq_stage *s, tl_pq_encoding encoding);
/* Bytes of `n` values in PLAIN form. They are in memory, and lengths are below 2^31: nothing wraps. */
size_t tl_pq_stage_measure(const tl_pq_stage *s, const void *values, size_t n);
/* Values of an encoding other than RLE_DICTIONARY. */
tl_status tl_pq_stage_add(tl_pq_stage *s, const void *values, size_t n) TL_CHECKED;
tl_status tl_pq_stage_add_repeated(tl_pq_stage *s, const void *value, size_t n) TL_CHECKED;
tl_status tl_pq_stage_add_index_run(tl_pq_stage *s, uint32_t index, uint64_t count) TL_CHECKED;
/* Appends the encoded values. `dictionary_size` sets the width of indices. */
tl_status tl_pq_stage_encode(tl_pq_stage *s, uint32_t dictionary_size, tl_buf *out) TL_CHECKED;
size_t tl_pq_stage_estimate(const tl_pq_stage *s, uint32_t dictionary_size);

/* ---- the chunk in the making (chunk.c) ---- */

/* What is known of a page beside its values. */
typedef struct tl_pq_page_facts {
    int64_t n_levels, n_values, n_rows;
    tl_bytes rep, def; /* encoded levels, without length */
    tl_bytes body;     /* encoded values */
    tl_pq_encoding encoding;
    const tl_pq_bounds *bounds;
} tl_pq_page_facts;

typedef struct tl_pq_page_record {
    size_t offset;
    int32_t size; /* header included */
    int64_t first_row, n_nulls;
    bool is_null;
    tl_bytes min, max; /* data NULL = could not be given */
} tl_pq_page_record;

typedef struct tl_pq_chunk_build {
    const tl_pq_column_options *o;
    tl_pq_codec_state codec;
    tl_buf pages;         /* headers and compressed bodies */
    tl_buf records;       /* tl_pq_page_record each */
    tl_buf plain, header; /* scratch: a page before compression, an encoded header */
    tl_pq_bounds bounds;  /* of the chunk */
    tl_arena arena;       /* page bounds; goes into the tl_pq_chunk */
    int64_t n_levels, n_rows, n_nulls;
    int64_t uncompressed_size; /* headers included */
    int32_t pages_by_encoding[TL_PQ_BYTE_STREAM_SPLIT + 1];
} tl_pq_chunk_build;

void tl_pq_chunk_build_free(tl_pq_chunk_build *c);
void tl_pq_chunk_build_begin(tl_pq_chunk_build *c, const tl_pq_column_options *o);
tl_status tl_pq_chunk_build_page(tl_pq_chunk_build *c, const tl_pq_page_facts *page, tl_error *err) TL_CHECKED;
/* `dictionary` (NULL = none) is written when a page points into it. */
tl_status tl_pq_chunk_build_finish(tl_pq_chunk_build *c, const tl_pq_dictionary *dictionary, tl_pq_chunk *out,
                                   tl_error *err) TL_CHECKED;

/* ---- pages that wait for a sorted dictionary (held_pages.c) ---- */

typedef struct tl_pq_held {
    tl_buf pages, levels, indices, runs;
    int64_t n_rows;
} tl_pq_held;

void tl_pq_held_free(tl_pq_held *h);
void tl_pq_held_begin(tl_pq_held *h); /* forgets pages, keeps memory */
/* Keeps the page that `stage` holds as indices; `facts` without body. */
tl_status tl_pq_held_add(tl_pq_held *h, const tl_pq_stage *stage, const tl_pq_page_facts *facts) TL_CHECKED;
/* Sorts the dictionary (numbers of 4 or 8 bytes) and writes the pages to the chunk. No value can be mapped after that.
 * `body` is scratch. */
tl_status tl_pq_held_release(tl_pq_held *h, tl_pq_dictionary *d, tl_buf *body, tl_pq_chunk_build *chunk,
                             tl_error *err) TL_CHECKED;

/* The message of a failed allocation goes to `err`; other statuses pass through. */
static inline tl_status tl_pq_said(tl_status status, tl_error *err) {
    return status == TL_NO_MEMORY ? tl_fail_memory(err, 0) : status;
}

#endif
