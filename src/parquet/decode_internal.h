/*
 * The decoders of the Parquet encodings. Comes in: the value bytes of one page, hostile until checked, and how many
 * values it holds. Goes out: dense values appended to a vector (nulls are spread afterwards).
 *
 * Encodings: parquet-format's Encodings.md.
 */
#ifndef TL_PARQUET_DECODE_INTERNAL_H
#define TL_PARQUET_DECODE_INTERNAL_H

#include "base/buf.h"
#include "base/mem.h"
#include "parquet/reader.h"

/* Readable and writable bytes behind every buffer of a vector, so that short copies may write whole words. */
#define TL_PQ_SLACK 64

/* What the vectors of one reader hold together; over `limit` they refuse to grow. `too_large` says that this happened,
 * or that a column came to 2^31 bytes of text or list elements: a stream then tries shorter batches. */
typedef struct tl_pq_budget {
    size_t used, limit;
    size_t handed; /* part of `used` that belongs to arrays by now; forgotten when their batch is done */
    bool too_large;
} tl_pq_budget;

/*
 * The decoded values of one leaf. A slot is a place in the leaf's Arrow array: every level entry whose definition
 * level reaches the innermost repeated ancestor (anc_def) has one. Buffers have capacity for `cap` slots.
 */
typedef struct tl_pq_vector {
    tl_pq_type type;
    int32_t width; /* bytes a value; booleans 1; 0 for BYTE_ARRAY */
    int16_t max_def, max_rep, anc_def;
    bool keep_levels; /* collect def (max_def > 0) and rep (max_rep > 0) */
    int64_t n_levels, cap_levels;
    uint8_t *def, *rep;
    int64_t n, cap; /* slots */
    int64_t n_nulls;
    bool has_validity;
    uint8_t *validity; /* counts only when has_validity */
    uint8_t *values;
    bool indices;     /* INT32: dictionary indices in place of values, see tl_pq_vector_append */
    bool external;    /* `values` is the caller's and does not grow */
    int32_t *offsets; /* BYTE_ARRAY: n + 1 */
    uint8_t *data;
    size_t data_len, data_cap;
    int64_t hint; /* slots expected in the end */
    tl_pq_budget *budget;
} tl_pq_vector;

/* Room for `slots` more slots, or for `bytes` more bytes of text. */
tl_status tl_pq_vector_reserve(tl_pq_vector *v, int64_t slots, tl_error *err) TL_CHECKED;
tl_status tl_pq_vector_reserve_data(tl_pq_vector *v, size_t bytes, tl_error *err) TL_CHECKED;
tl_status tl_pq_vector_reserve_levels(tl_pq_vector *v, int64_t levels, tl_error *err) TL_CHECKED;
void tl_pq_vector_free(tl_pq_vector *v);  /* keeps type and levels: usable again */
void tl_pq_vector_clear(tl_pq_vector *v); /* empty, buffers kept */
/* Forgets buffers that an array has taken over: validity if it counts, and values unless `keep_values`. */
void tl_pq_vector_disown(tl_pq_vector *v, bool keep_values);

/* Validity of slots [n, n + slots), which must be reserved. */
tl_status tl_pq_vector_need_validity(tl_pq_vector *v, tl_error *err) TL_CHECKED;
/* Spreads `present` dense values behind n over `slots` slots by the validity bits there; null slots become 0. */
void tl_pq_vector_spread(tl_pq_vector *v, int64_t present, int64_t slots);
/* Appends slots [from, from + n) and level entries [l_from, l_from + n_l) of `other`. When that one holds indices, `v`
 * gets the texts they stand for in `dict` (a page of a few indices may stand for gigabytes of text). */
tl_status tl_pq_vector_append(tl_pq_vector *v, const tl_pq_vector *other, const tl_pq_vector *dict, int64_t from,
                              int64_t n, int64_t l_from, int64_t n_l, tl_error *err) TL_CHECKED;

/* ---- bits ---- */

void tl_pq_bits_fill(uint8_t *bits, int64_t from, int64_t n, bool value);
void tl_pq_bits_copy(uint8_t *to, int64_t to_bit, const uint8_t *from, int64_t from_bit, int64_t n);

/* Unpacks `n` values of `width` bits, least significant bit first; reads no byte outside `in`, whose length must be
 * at least the (n * width + 7) / 8 bytes needed. */
void tl_pq_unpack32(tl_bytes in, unsigned width, uint32_t *out, size_t n); /* width 0..32 */
void tl_pq_unpack64(tl_bytes in, unsigned width, uint64_t *out, size_t n); /* width 0..64 */

/* ---- the hybrid of runs and bit-packed groups ---- */

typedef struct tl_pq_rle {
    const uint8_t *p, *end;
    unsigned width;
} tl_pq_rle;

typedef struct tl_pq_run {
    int64_t count;
    bool packed;
    uint32_t value; /* of a run */
    tl_bytes data;  /* bit-packed */
} tl_pq_run;

/* The next run, cut to `want` values (> 0). False when the bytes end or make no sense. A cut run is lost: ask for
 * what is left of the page. */
bool tl_pq_rle_next(tl_pq_rle *rle, int64_t want, tl_pq_run *run);

unsigned tl_pq_level_width(int16_t max_level);
/* n levels into out[n]; TL_CORRUPT for a level over `max` or too few bytes. */
tl_status tl_pq_decode_levels(tl_bytes in, tl_pq_encoding encoding, int16_t max, int64_t n, uint8_t *out,
                              tl_error *err) TL_CHECKED;
/* Definition levels of a flat optional column (max 1, RLE) straight into the validity bits behind v->n. */
tl_status tl_pq_decode_validity(tl_bytes in, int64_t n, tl_pq_vector *v, int64_t *present, tl_error *err) TL_CHECKED;

/* ---- values: `n` of them behind v->n, which must have room; v->n itself is left to the caller ---- */

typedef struct tl_pq_scratch {
    tl_pq_vector text; /* decoded strings of FIXED columns in DELTA_BYTE_ARRAY */
    int32_t *prefix;
    int64_t cap_prefix;
} tl_pq_scratch;
void tl_pq_scratch_free(tl_pq_scratch *s);

tl_status tl_pq_decode_plain(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) TL_CHECKED;
tl_status tl_pq_decode_dictionary(tl_bytes in, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v,
                                  tl_error *err) TL_CHECKED;
/* Indices below n_dict themselves, as INT32. */
tl_status tl_pq_decode_indices(tl_bytes in, int64_t n, int64_t n_dict, tl_pq_vector *v, tl_error *err) TL_CHECKED;
tl_status tl_pq_decode_boolean_rle(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) TL_CHECKED;
tl_status tl_pq_decode_split(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) TL_CHECKED;
tl_status tl_pq_decode_delta(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) TL_CHECKED;
/* `n` numbers behind those of `s` (INT64), or the first `want` of them and some more; given up, with more than `most`
 * steps in `s`, when they need so many. */
tl_status tl_pq_decode_delta_steps(tl_bytes in, int64_t n, int64_t want, int64_t most, tl_pq_steps *s,
                                   tl_error *err) TL_CHECKED;
tl_status tl_pq_decode_delta_length(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) TL_CHECKED;
tl_status tl_pq_decode_delta_text(tl_bytes in, int64_t n, tl_pq_vector *v, tl_pq_scratch *scratch,
                                  tl_error *err) TL_CHECKED;

/* Any encoding of a data page. `dict` NULL = the chunk has had no dictionary page. */
tl_status tl_pq_decode_values(tl_pq_encoding encoding, tl_bytes in, int64_t n, const tl_pq_vector *dict,
                              tl_pq_vector *v, tl_pq_scratch *scratch, tl_error *err) TL_CHECKED;

#endif
