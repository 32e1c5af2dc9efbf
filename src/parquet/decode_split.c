/*
 * BYTE_STREAM_SPLIT: stream k holds byte k of every value. Comes in: the streams one after the other. Goes out: the
 * values. Four and eight bytes are interleaved 16 values at a time by unpacking registers, halves against each other.
 */
#include "parquet/decode_internal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static void join_any(const uint8_t *in, size_t stride, size_t from, size_t n, size_t width, uint8_t *out) {
    for (size_t i = from; i < n; i++) {
        for (size_t k = 0; k < width; k++) {
            out[i * width + k] = in[k * stride + i];
        }
    }
}

#if defined(__SSE2__)
static __m128i load16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static void store16(uint8_t *p, __m128i v) {
    _mm_storeu_si128((__m128i *)(void *)p, v);
}

static size_t join8(const uint8_t *in, size_t stride, size_t n, uint8_t *out) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16, out += 128) {
        __m128i a[8], b[8];
        for (size_t k = 0; k < 8; k++) {
            a[k] = load16(in + k * stride + i);
        }
        for (size_t k = 0; k < 4; k++) {
            b[2 * k] = _mm_unpacklo_epi8(a[k], a[k + 4]);
            b[2 * k + 1] = _mm_unpackhi_epi8(a[k], a[k + 4]);
        }
        for (size_t k = 0; k < 4; k++) {
            a[2 * k] = _mm_unpacklo_epi8(b[k], b[k + 4]);
            a[2 * k + 1] = _mm_unpackhi_epi8(b[k], b[k + 4]);
        }
        for (size_t k = 0; k < 4; k++) {
            store16(out + 32 * k, _mm_unpacklo_epi8(a[k], a[k + 4]));
            store16(out + 32 * k + 16, _mm_unpackhi_epi8(a[k], a[k + 4]));
        }
    }
    return i;
}

static size_t join4(const uint8_t *in, size_t stride, size_t n, uint8_t *out) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16, out += 64) {
        __m128i a0 = load16(in + i), a1 = load16(in + stride + i);
        __m128i a2 = load16(in + 2 * stride + i), a3 = load16(in + 3 * stride + i);
        __m128i b0 = _mm_unpacklo_epi8(a0, a2), b1 = _mm_unpackhi_epi8(a0, a2);
        __m128i b2 = _mm_unpacklo_epi8(a1, a3), b3 = _mm_unpackhi_epi8(a1, a3);
        store16(out, _mm_unpacklo_epi8(b0, b2));
        store16(out + 16, _mm_unpackhi_epi8(b0, b2));
        store16(out + 32, _mm_unpacklo_epi8(b1, b3));
        store16(out + 48, _mm_unpackhi_epi8(b1, b3));
    }
    return i;
}
#endif

tl_status tl_pq_decode_split(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    if (v->type == TL_PQ_BOOLEAN || v->type == TL_PQ_BYTE_ARRAY || v->type == TL_PQ_INT96) {
        return tl_fail(err, TL_CORRUPT, "BYTE_STREAM_SPLIT does not go with this column's physical type");
    }
    size_t width = (size_t)v->width;
    if (n == 0 || width == 0) {
        return TL_OK;
    }
    size_t stride = in.len / width; /* values in the page: nulls are not among them */
    if (stride < (size_t)n || in.len % width) {
        return tl_fail(err, TL_CORRUPT, "BYTE_STREAM_SPLIT streams are not as long as the values need");
    }
    uint8_t *out = v->values + (size_t)v->n * width;
    size_t done = 0;
#if defined(__SSE2__)
    done = width == 8   ? join8(in.data, stride, (size_t)n, out)
           : width == 4 ? join4(in.data, stride, (size_t)n, out)
                        : 0;
#endif
    join_any(in.data, stride, done, (size_t)n, width, out);
    return TL_OK;
}
