/*
 * PLAIN, and the switch over all encodings. Comes in: value bytes of a page. Goes out: dense values in a vector.
 */
#include <string.h>

#include "parquet/decode_internal.h"

static tl_status too_short(tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "PLAIN values end too early");
}

/* Each bit of a byte in a byte of its own. */
static void spread_bits(const uint8_t *bits, int64_t n, uint8_t *out) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        unsigned b = bits[i >> 3];
        for (int k = 0; k < 8; k++) {
            out[i + k] = (uint8_t)(b >> k & 1);
        }
    }
    for (; i < n; i++) {
        out[i] = tl_bit(bits, i);
    }
}

static tl_status plain_booleans(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    if ((uint64_t)n > (uint64_t)in.len * 8) {
        return too_short(err);
    }
    spread_bits(in.data, n, v->values + v->n);
    return TL_OK;
}

/* Copies short texts as one 16-byte block where both sides have room for it. What all texts together may take follows
 * from the page's length, so one comparison keeps both the reading and the writing in bounds. */
static tl_status plain_texts(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    if ((uint64_t)n > in.len / 4) {
        return too_short(err);
    }
    size_t room = in.len - (size_t)n * 4;
    TL_TRY(tl_pq_vector_reserve_data(v, room, err));
    const uint8_t *p = in.data, *end = in.data + in.len;
    uint8_t *out = v->data + v->data_len;
    int32_t *offsets = v->offsets + v->n;
    int32_t at = (int32_t)v->data_len;
    for (int64_t i = 0; i < n; i++) {
        uint32_t len = tl_load_u32(p);
        if (len > room) {
            return too_short(err);
        }
        room -= len;
        p += 4;
        if (len <= 16 && end - p >= 16) {
            memcpy(out, p, 16);
        } else if (len) {
            memcpy(out, p, len);
        }
        out += len;
        p += len;
        at += (int32_t)len;
        offsets[i + 1] = at;
    }
    v->data_len = (size_t)at;
    return TL_OK;
}

tl_status tl_pq_decode_plain(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    if (v->type == TL_PQ_BOOLEAN) {
        return plain_booleans(in, n, v, err);
    }
    if (v->type == TL_PQ_BYTE_ARRAY) {
        return plain_texts(in, n, v, err);
    }
    size_t bytes;
    if (!tl_size_mul((size_t)n, (size_t)v->width, &bytes) || bytes > in.len) {
        return too_short(err);
    }
    if (bytes) {
        memcpy(v->values + (size_t)v->n * (size_t)v->width, in.data, bytes);
    }
    return TL_OK;
}

tl_status tl_pq_decode_values(tl_pq_encoding encoding, tl_bytes in, int64_t n, const tl_pq_vector *dict,
                              tl_pq_vector *v, tl_pq_scratch *scratch, tl_error *err) {
    switch (encoding) {
    case TL_PQ_PLAIN: return tl_pq_decode_plain(in, n, v, err);
    case TL_PQ_PLAIN_DICTIONARY:
    case TL_PQ_RLE_DICTIONARY:
        if (!dict && n > 0) {
            return tl_fail(err, TL_CORRUPT, "a page refers to a dictionary that is not there");
        }
        if (n == 0) {
            return TL_OK;
        }
        return v->indices ? tl_pq_decode_indices(in, n, dict->n, v, err) : tl_pq_decode_dictionary(in, n, dict, v, err);
    case TL_PQ_RLE: return tl_pq_decode_boolean_rle(in, n, v, err);
    case TL_PQ_DELTA_BINARY_PACKED: return tl_pq_decode_delta(in, n, v, err);
    case TL_PQ_DELTA_LENGTH_BYTE_ARRAY: return tl_pq_decode_delta_length(in, n, v, err);
    case TL_PQ_DELTA_BYTE_ARRAY: return tl_pq_decode_delta_text(in, n, v, scratch, err);
    case TL_PQ_BYTE_STREAM_SPLIT: return tl_pq_decode_split(in, n, v, err);
    case TL_PQ_BIT_PACKED:
        return tl_fail(err, TL_UNSUPPORTED, "values in the deprecated BIT_PACKED encoding are not read");
    }
    return tl_fail(err, TL_UNSUPPORTED, "encoding number %d is not known", (int)encoding);
}
