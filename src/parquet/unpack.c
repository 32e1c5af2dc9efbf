/*
 * Bit-unpacking. Comes in: values of a few bits each, least significant bit first. Goes out: 32- or 64-bit numbers.
 * One straight-line kernel for 32 values per width: the shifts are constants and the loads do not depend on each other.
 */
#include "parquet/decode_internal.h"

#include <string.h>

#define REPEAT32(X)                                                                                                    \
    X(0)                                                                                                               \
    X(1)                                                                                                               \
    X(2)                                                                                                               \
    X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22)   \
        X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

#define WIDTHS_TO_32(X)                                                                                                \
    X(1)                                                                                                               \
    X(2)                                                                                                               \
    X(3)                                                                                                               \
    X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)  \
        X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)

#define WIDTHS_33_TO_57(X)                                                                                             \
    X(33)                                                                                                              \
    X(34)                                                                                                              \
    X(35)                                                                                                              \
    X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) X(50) X(51) X(52) X(53) X(54)  \
        X(55) X(56) X(57)

#define WIDTHS_58_TO_64(X) X(58) X(59) X(60) X(61) X(62) X(63) X(64)

/* A kernel reads up to 8 bytes behind its 4 * width. */
#define OVERREAD 8

typedef void (*kernel32)(const uint8_t *in, uint32_t *out);
typedef void (*kernel64)(const uint8_t *in, uint64_t *out);

#define MASK(W) (~UINT64_C(0) >> (64 - (W)))
#define ONE(W, i) (tl_load_u64(in + ((i) * (W) >> 3)) >> ((i) * (W)&7) & MASK(W))
/* Wider than 57 bits a value may reach into a ninth byte. */
#define WIDE(W, i)                                                                                                     \
    ((tl_load_u64(in + ((i) * (W) >> 3)) >> ((i) * (W)&7) | (uint64_t)in[((i) * (W) >> 3) + 8]                         \
                                                                << 1 << (63 - ((i) * (W)&7))) &                        \
     MASK(W))

#define K32(W)                                                                                                         \
    static void unpack32_##W(const uint8_t *in, uint32_t *out) {                                                       \
        enum { width = W };                                                                                            \
        REPEAT32(PUT32)                                                                                                \
    }
#define PUT32(i) out[i] = (uint32_t)ONE(width, i);
WIDTHS_TO_32(K32)

#define K64(W)                                                                                                         \
    static void unpack64_##W(const uint8_t *in, uint64_t *out) {                                                       \
        enum { width = W };                                                                                            \
        REPEAT32(PUT64)                                                                                                \
    }
#define PUT64(i) out[i] = ONE(width, i);
WIDTHS_TO_32(K64)
WIDTHS_33_TO_57(K64)

#define K64_WIDE(W)                                                                                                    \
    static void unpack64_##W(const uint8_t *in, uint64_t *out) {                                                       \
        enum { width = W };                                                                                            \
        REPEAT32(PUT64_WIDE)                                                                                           \
    }
#define PUT64_WIDE(i) out[i] = WIDE(width, i);
WIDTHS_58_TO_64(K64_WIDE)

static void unpack32_0(const uint8_t *in, uint32_t *out) {
    (void)in;
    memset(out, 0, 32 * sizeof *out);
}

static void unpack64_0(const uint8_t *in, uint64_t *out) {
    (void)in;
    memset(out, 0, 32 * sizeof *out);
}

#define NAME32(W) unpack32_##W,
#define NAME64(W) unpack64_##W,
static const kernel32 kernels32[33] = {unpack32_0, WIDTHS_TO_32(NAME32)};
static const kernel64 kernels64[65] = {unpack64_0,
                                       WIDTHS_TO_32(NAME64) WIDTHS_33_TO_57(NAME64) WIDTHS_58_TO_64(NAME64)};

/* The last values of a buffer are unpacked from a copy, so that no kernel reads behind the bytes there are. */
#define UNPACK_BODY(type, kernels)                                                                                     \
    size_t step = 4 * (size_t)width, at = 0;                                                                           \
    for (; n >= 32 && in.len - at >= step + OVERREAD; n -= 32, out += 32) {                                            \
        kernels[width](in.data + at, out);                                                                             \
        at += step;                                                                                                    \
    }                                                                                                                  \
    while (n) {                                                                                                        \
        uint8_t copy[4 * 64 + OVERREAD + 1] = {0};                                                                     \
        type values[32];                                                                                               \
        size_t have = in.len - at < step ? in.len - at : step, take = n < 32 ? n : 32;                                 \
        if (have) {                                                                                                    \
            memcpy(copy, in.data + at, have);                                                                          \
        }                                                                                                              \
        kernels[width](copy, values);                                                                                  \
        memcpy(out, values, take * sizeof *out);                                                                       \
        out += take;                                                                                                   \
        n -= take;                                                                                                     \
        at += have;                                                                                                    \
    }

void tl_pq_unpack32(tl_bytes in, unsigned width, uint32_t *out, size_t n) {
    UNPACK_BODY(uint32_t, kernels32)
}

void tl_pq_unpack64(tl_bytes in, unsigned width, uint64_t *out, size_t n) {
    UNPACK_BODY(uint64_t, kernels64)
}
