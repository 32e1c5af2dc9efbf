/*
 * Decompression of pages. Comes in: compressed bytes, hostile until checked, and the exact length they must give.
 * Goes out: that many bytes, or TL_CORRUPT.
 */
#include <brotli/decode.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "parquet/codec.h"

static tl_status bad_data(tl_pq_codec codec, tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "%s data is damaged or not of the length it should have", tl_pq_codec_name(codec));
}

/* How much `in_len` compressed bytes can hold at the very most, so that a claimed size is not believed beyond it.
 * Per codec the densest element: snappy 64 bytes by a 3-byte copy, LZ4 255 by one byte of length, deflate 1032 by a
 * byte, zstd a block of 128 KiB by 4 bytes. */
static bool plausible(tl_pq_codec codec, size_t in_len, size_t out_len) {
    uint64_t in = in_len;
    switch (codec) {
    case TL_PQ_SNAPPY: return out_len <= in * 32 + 64;
    case TL_PQ_LZ4:
    case TL_PQ_LZ4_RAW: return out_len <= in * 256 + 64;
    case TL_PQ_GZIP: return out_len <= in * 1040 + 64;
    case TL_PQ_ZSTD: return out_len <= (in / 4 + 1) * (UINT64_C(1) << 17);
    default: return true;
    }
}

static tl_status zstd_decompress(tl_pq_codec_state *state, tl_bytes in, uint8_t *out, size_t out_len, tl_error *err) {
    if (!state->zstd_decompress && !(state->zstd_decompress = tl_pq_take_decompress())) {
        return tl_fail_memory(err, 1u << 17);
    }
    unsigned long long content = ZSTD_getFrameContentSize(in.data, in.len);
    if (content == ZSTD_CONTENTSIZE_ERROR || (content != ZSTD_CONTENTSIZE_UNKNOWN && content > out_len)) {
        return bad_data(TL_PQ_ZSTD, err);
    }
    size_t n = ZSTD_decompressDCtx(state->zstd_decompress, out, out_len, in.data, in.len);
    return ZSTD_isError(n) || n != out_len ? bad_data(TL_PQ_ZSTD, err) : TL_OK;
}

static tl_status snappy_decompress(tl_bytes in, uint8_t *out, size_t out_len, tl_error *err) {
    size_t n;
    if (snappy_uncompressed_length((const char *)in.data, in.len, &n) != SNAPPY_OK || n != out_len ||
        snappy_uncompress((const char *)in.data, in.len, (char *)out, &n) != SNAPPY_OK || n != out_len) {
        return bad_data(TL_PQ_SNAPPY, err);
    }
    return TL_OK;
}

static tl_status brotli_decompress(tl_bytes in, uint8_t *out, size_t out_len, tl_error *err) {
    size_t n = out_len;
    if (BrotliDecoderDecompress(in.len, in.data, &n, out) != BROTLI_DECODER_RESULT_SUCCESS || n != out_len) {
        return bad_data(TL_PQ_BROTLI, err);
    }
    return TL_OK;
}

/* One member after the other until the output is full; zlib takes at most UINT_MAX bytes a call. */
static bool inflate_members(z_stream *z, tl_bytes in, uint8_t *out, size_t out_len) {
    size_t in_at = 0, out_at = 0;
    for (;;) {
        size_t in_now = in.len - in_at < UINT32_MAX ? in.len - in_at : UINT32_MAX;
        size_t out_now = out_len - out_at < UINT32_MAX ? out_len - out_at : UINT32_MAX;
        uint8_t spare;
        z->next_in = (uint8_t *)(uintptr_t)(in.data + in_at); /* zlib does not write there */
        z->avail_in = (uInt)in_now;
        z->next_out = out_now ? out + out_at : &spare;
        z->avail_out = out_now ? (uInt)out_now : 1;
        int rc = inflate(z, Z_NO_FLUSH);
        size_t consumed = in_now - z->avail_in, produced = (out_now ? out_now : 1) - z->avail_out;
        in_at += consumed;
        if (!out_now && produced) {
            return false; /* longer than it should be */
        }
        out_at += out_now ? produced : 0;
        if (rc == Z_STREAM_END) {
            if (in_at == in.len || out_at == out_len) {
                return out_at == out_len;
            }
            if (inflateReset(z) != Z_OK) {
                return false;
            }
        } else if (rc != Z_OK || (consumed == 0 && produced == 0)) {
            return false;
        }
    }
}

static tl_status gzip_decompress(tl_bytes in, uint8_t *out, size_t out_len, tl_error *err) {
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 32) != Z_OK) { /* + 32: gzip or zlib header */
        return tl_fail_memory(err, 1u << 15);
    }
    bool ok = inflate_members(&z, in, out, out_len);
    inflateEnd(&z);
    return ok ? TL_OK : bad_data(TL_PQ_GZIP, err);
}

static bool lz4_block(tl_bytes in, uint8_t *out, size_t out_len) {
    if (in.len > INT32_MAX || out_len > INT32_MAX) {
        return false;
    }
    int n = LZ4_decompress_safe((const char *)in.data, (char *)out, (int)in.len, (int)out_len);
    return n >= 0 && (size_t)n == out_len;
}

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Hadoop's framing: [length of the frame's content] then blocks of [compressed length][bytes] until it is filled. */
static bool lz4_hadoop(tl_bytes in, uint8_t *out, size_t out_len) {
    size_t at = 0, done = 0;
    while (at < in.len) {
        if (in.len - at < 8) {
            return false;
        }
        size_t content = big_endian(in.data + at), end = done + content;
        at += 4;
        if (content > out_len - done) {
            return false;
        }
        while (done < end) {
            if (in.len - at < 4) {
                return false;
            }
            size_t block = big_endian(in.data + at);
            at += 4;
            if (block == 0 || block > in.len - at) {
                return false;
            }
            int n = LZ4_decompress_safe((const char *)in.data + at, (char *)out + done, (int)block, (int)(end - done));
            if (n <= 0) {
                return false;
            }
            at += block;
            done += (size_t)n;
        }
    }
    return done == out_len;
}

static bool lz4_frame(tl_bytes in, uint8_t *out, size_t out_len) {
    LZ4F_dctx *ctx = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION))) {
        return false;
    }
    size_t in_at = 0, out_at = 0, rc = 1;
    while (rc != 0 && in_at < in.len) {
        size_t in_now = in.len - in_at, out_now = out_len - out_at;
        rc = LZ4F_decompress(ctx, out + out_at, &out_now, in.data + in_at, &in_now, NULL);
        if (LZ4F_isError(rc) || (in_now == 0 && out_now == 0)) {
            break;
        }
        in_at += in_now;
        out_at += out_now;
    }
    LZ4F_freeDecompressionContext(ctx);
    return rc == 0 && out_at == out_len;
}

tl_status tl_pq_decompress(tl_pq_codec_state *state, tl_pq_codec codec, tl_bytes in, uint8_t *out, size_t out_len,
                           tl_error *err) {
    if (!plausible(codec, in.len, out_len)) {
        return bad_data(codec, err);
    }
    switch (codec) {
    case TL_PQ_UNCOMPRESSED:
        if (in.len != out_len) {
            return tl_fail(err, TL_CORRUPT, "an uncompressed page has two different lengths");
        }
        if (out_len) {
            memcpy(out, in.data, out_len);
        }
        return TL_OK;
    case TL_PQ_SNAPPY: return snappy_decompress(in, out, out_len, err);
    case TL_PQ_GZIP: return gzip_decompress(in, out, out_len, err);
    case TL_PQ_BROTLI: return brotli_decompress(in, out, out_len, err);
    case TL_PQ_ZSTD: return zstd_decompress(state, in, out, out_len, err);
    case TL_PQ_LZ4_RAW: return lz4_block(in, out, out_len) ? TL_OK : bad_data(codec, err);
    case TL_PQ_LZ4:
        return lz4_hadoop(in, out, out_len) || lz4_block(in, out, out_len) || lz4_frame(in, out, out_len)
                   ? TL_OK
                   : bad_data(codec, err);
    case TL_PQ_LZO: return tl_fail(err, TL_UNSUPPORTED, "LZO compression is not supported");
    }
    return tl_fail(err, TL_UNSUPPORTED, "compression codec number %d is not known", (int)codec);
}
