/*
 * BYTE_STREAM_SPLIT. Comes in: values of `width` bytes. Goes out: all first bytes, then all second bytes ...: a
 * transposition, done for the common widths 16 values at a time in vector registers.
 */
#include "parquet/write_internal.h"

#ifdef __SSE2__
#include <emmintrin.h>

/* 16 values of 2, 4 or 8 bytes fill `regs` registers. Seen as one array of bytes whose index bits are (value, byte),
 * interleaving its two halves rotates the index bits by one; after four rotations they are (byte, value). */
static inline __attribute__((always_inline)) void split_16(const uint8_t *in, const int regs, size_t n, uint8_t *out) {
    __m128i a[8], b[8];
    for (int i = 0; i < regs; i++) {
        a[i] = _mm_loadu_si128((const __m128i *)(const void *)(in + 16 * i));
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < regs / 2; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + regs / 2]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + regs / 2]);
        }
        for (int i = 0; i < regs; i++) {
            a[i] = b[i];
        }
    }
    for (int i = 0; i < regs; i++) {
        _mm_storeu_si128((__m128i *)(void *)(out + (size_t)i * n), a[i]);
    }
}

/* Returns how many values were done. */
static size_t split_vector(const uint8_t *in, size_t n, size_t width, uint8_t *out) {
    size_t whole = n & ~(size_t)15;
    if (width == 8) {
        for (size_t i = 0; i < whole; i += 16) {
            split_16(in + i * 8, 8, n, out + i);
        }
        return whole;
    }
    if (width == 4) {
        for (size_t i = 0; i < whole; i += 16) {
            split_16(in + i * 4, 4, n, out + i);
        }
        return whole;
    }
    return 0;
}
#else
static size_t split_vector(const uint8_t *in, size_t n, size_t width, uint8_t *out) {
    (void)in, (void)n, (void)width, (void)out;
    return 0;
}
#endif

tl_status tl_pq_encode_split(const uint8_t *values, size_t n, size_t width, tl_buf *out) {
    size_t bytes;
    if (!tl_size_mul(n, width, &bytes)) {
        return TL_NO_MEMORY;
    }
    TL_TRY(tl_buf_reserve(out, bytes));
    uint8_t *to = out->data + out->len;
    size_t done = split_vector(values, n, width, to);
    for (size_t b = 0; b < width; b++) {
        for (size_t i = done; i < n; i++) {
            to[b * n + i] = values[i * width + b];
        }
    }
    out->len += bytes;
    return TL_OK;
}
