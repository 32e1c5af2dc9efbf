/*
 * DELTA_BINARY_PACKED. Comes in: int32 or int64 values. Goes out: the first value, then blocks of 128 differences in 4
 * miniblocks of 32, each less the block's least difference and packed as narrow as it gets. All arithmetic wraps
 * around, so any values will do.
 */
#include "parquet/write_internal.h"

#define BLOCK 128
#define MINIBLOCKS 4
#define MINIBLOCK (BLOCK / MINIBLOCKS)

/* One block of `n` differences (1..BLOCK); the array has BLOCK entries. */
static tl_status put_block(int64_t *deltas, size_t n, tl_buf *out) {
    int64_t least = deltas[0];
    for (size_t i = 1; i < n; i++) {
        least = deltas[i] < least ? deltas[i] : least;
    }
    for (size_t i = n; i < BLOCK; i++) {
        deltas[i] = least; /* filler packs to zero bits */
    }
    uint64_t above[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        above[i] = (uint64_t)deltas[i] - (uint64_t)least;
    }
    TL_TRY(tl_buf_reserve(out, 10 + MINIBLOCKS + BLOCK * 8 + TL_PQ_PACK_SLACK));
    TL_TRY(tl_pq_put_varint(out, tl_pq_zigzag(least)));
    uint8_t *widths = out->data + out->len;
    uint8_t *at = widths + MINIBLOCKS;
    for (size_t m = 0; m < MINIBLOCKS; m++) {
        const uint64_t *values = above + m * MINIBLOCK;
        uint64_t bits = 0;
        for (size_t i = 0; i < MINIBLOCK; i++) {
            bits |= values[i];
        }
        unsigned width = tl_pq_bits(bits);
        widths[m] = (uint8_t)width;
        tl_pq_pack_u64(values, MINIBLOCK / 8, width, at);
        at += width * (MINIBLOCK / 8);
    }
    out->len = (size_t)(at - out->data);
    return TL_OK;
}

static tl_status put_header(size_t n, int64_t first, tl_buf *out) {
    TL_TRY(tl_pq_put_varint(out, BLOCK));
    TL_TRY(tl_pq_put_varint(out, MINIBLOCKS));
    TL_TRY(tl_pq_put_varint(out, n));
    return tl_pq_put_varint(out, tl_pq_zigzag(first));
}

tl_status tl_pq_encode_delta_i64(const void *values, size_t n, tl_buf *out) {
    TL_TRY(put_header(n, n ? tl_load_i64(values) : 0, out));
    int64_t deltas[BLOCK];
    for (size_t from = 1; from < n; from += BLOCK) {
        size_t count = n - from < BLOCK ? n - from : BLOCK;
        const uint8_t *v = (const uint8_t *)values + from * 8;
        for (size_t i = 0; i < count; i++) {
            deltas[i] = (int64_t)(tl_load_u64(v + i * 8) - tl_load_u64(v + i * 8 - 8));
        }
        TL_TRY(put_block(deltas, count, out));
    }
    return TL_OK;
}

/* Differences wrap at 32 bits here: readers of INT32 keep no wider ones. */
tl_status tl_pq_encode_delta_i32(const void *values, size_t n, tl_buf *out) {
    TL_TRY(put_header(n, n ? tl_load_i32(values) : 0, out));
    int64_t deltas[BLOCK];
    for (size_t from = 1; from < n; from += BLOCK) {
        size_t count = n - from < BLOCK ? n - from : BLOCK;
        const uint8_t *v = (const uint8_t *)values + from * 4;
        for (size_t i = 0; i < count; i++) {
            deltas[i] = (int32_t)(tl_load_u32(v + i * 4) - tl_load_u32(v + i * 4 - 4));
        }
        TL_TRY(put_block(deltas, count, out));
    }
    return TL_OK;
}
