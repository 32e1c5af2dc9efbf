/* Compression of pages. Comes in: bytes of a page. Goes out: its compressed form appended to a buffer. */
#include <brotli/encode.h>
#include <lz4.h>
#include <snappy-c.h>
#include <stdatomic.h>
#include <zlib.h>
#include <zstd.h>

#include "parquet/codec.h"

/* Contexts that wait for the next user. Making one asks the processor what it is, which takes 10 us and more in a
 * virtual machine, and a commit writes an index with a few hundred bytes in each column. */
enum { SPARES = 16, SPARE_MOST = 1 << 20 /* bytes of one; larger ones are given back */ };
static _Atomic(void *) spare_compress[SPARES], spare_decompress[SPARES];

static void *take_spare(_Atomic(void *) *spares) {
    for (int i = 0; i < SPARES; i++) {
        void *c = atomic_load_explicit(&spares[i], memory_order_relaxed) ? atomic_exchange(&spares[i], NULL) : NULL;
        if (c) {
            return c;
        }
    }
    return NULL;
}

/* False: there is no room for it. */
static bool keep_spare(_Atomic(void *) *spares, void *c) {
    for (int i = 0; i < SPARES; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&spares[i], &none, c)) {
            return true;
        }
    }
    return false;
}

static void *take_compress(void) {
    void *c = take_spare(spare_compress);
    return c ? c : ZSTD_createCCtx();
}

void *tl_pq_take_decompress(void) {
    void *c = take_spare(spare_decompress);
    return c ? c : ZSTD_createDCtx();
}

void tl_pq_codec_state_free(tl_pq_codec_state *state) {
    ZSTD_CCtx *c = state->zstd_compress;
    if (c && (ZSTD_sizeof_CCtx(c) > SPARE_MOST || !keep_spare(spare_compress, c))) {
        ZSTD_freeCCtx(c);
    }
    ZSTD_DCtx *d = state->zstd_decompress;
    if (d && (ZSTD_sizeof_DCtx(d) > SPARE_MOST || ZSTD_isError(ZSTD_DCtx_reset(d, ZSTD_reset_session_and_parameters)) ||
              !keep_spare(spare_decompress, d))) {
        ZSTD_freeDCtx(d);
    }
    *state = (tl_pq_codec_state){0};
}

size_t tl_pq_codec_state_held(const tl_pq_codec_state *state) {
    return ZSTD_sizeof_CCtx(state->zstd_compress) + ZSTD_sizeof_DCtx(state->zstd_decompress);
}

const char *tl_pq_codec_name(tl_pq_codec codec) {
    switch (codec) {
    case TL_PQ_UNCOMPRESSED: return "uncompressed";
    case TL_PQ_SNAPPY: return "snappy";
    case TL_PQ_GZIP: return "gzip";
    case TL_PQ_LZO: return "lzo";
    case TL_PQ_BROTLI: return "brotli";
    case TL_PQ_LZ4: return "lz4";
    case TL_PQ_ZSTD: return "zstd";
    case TL_PQ_LZ4_RAW: return "lz4_raw";
    }
    return "unknown";
}

static tl_status failed(tl_pq_codec codec, tl_bytes in, const char *why, tl_error *err) {
    return tl_fail(err, TL_INTERNAL, "%s could not compress a page of %zu bytes: %s", tl_pq_codec_name(codec), in.len,
                   why);
}

/* Room at the end of `out` for what the codec may need at most. */
static tl_status reserve(tl_buf *out, size_t bound, tl_error *err) {
    return tl_buf_reserve(out, bound) == TL_OK ? TL_OK : tl_fail_memory(err, bound);
}

/* At level 3 and page sizes zstd looks for matches of 4 bytes. Among numbers those are chance: they cost 5 times the
 * CPU (d2 of the benchmark: 0.39 s against 0.07 s) and save 0.5 % of the bytes. In dictionaries of
 * numbers and in bit-packed differences and indices the one-table search gives pages that are as small as those of the
 * two-table one (1 % more to 2 % less) in 50-75 % of the time. Other levels are the caller's own choice. */
static size_t set_zstd(ZSTD_CCtx *c, int32_t level, tl_pq_content content) {
    size_t code = ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
    if (!ZSTD_isError(code)) {
        code = ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    }
    if (!ZSTD_isError(code) && level == 3 && content == TL_PQ_CONTENT_NUMBERS) {
        code = ZSTD_CCtx_setParameter(c, ZSTD_c_minMatch, 5);
    }
    if (!ZSTD_isError(code) && level == 3 && content == TL_PQ_CONTENT_PACKED) {
        code = ZSTD_CCtx_setParameter(c, ZSTD_c_strategy, ZSTD_fast);
    }
    return code;
}

static tl_status compress_zstd(tl_pq_codec_state *state, int32_t level, tl_bytes in, tl_buf *out, tl_error *err) {
    if (!state->zstd_compress && !(state->zstd_compress = take_compress())) {
        return tl_fail_memory(err, 0);
    }
    TL_TRY(reserve(out, ZSTD_compressBound(in.len), err));
    size_t n = set_zstd(state->zstd_compress, level == INT32_MIN ? 3 : level, state->content);
    if (!ZSTD_isError(n)) {
        n = ZSTD_compress2(state->zstd_compress, out->data + out->len, out->cap - out->len, in.data, in.len);
    }
    if (ZSTD_isError(n)) {
        return failed(TL_PQ_ZSTD, in, ZSTD_getErrorName(n), err);
    }
    out->len += n;
    return TL_OK;
}

/* As a stream: bytes of the same content, if not the same as in one go. */
static tl_status compress_zstd_joined(tl_pq_codec_state *state, int32_t level, tl_bytes head, tl_bytes in, tl_buf *out,
                                      tl_error *err) {
    if (!state->zstd_compress && !(state->zstd_compress = take_compress())) {
        return tl_fail_memory(err, 0);
    }
    ZSTD_CCtx *c = state->zstd_compress;
    size_t all = head.len + in.len;
    TL_TRY(reserve(out, ZSTD_compressBound(all), err));
    size_t left = set_zstd(c, level == INT32_MIN ? 3 : level, state->content);
    left = ZSTD_isError(left) ? left : ZSTD_CCtx_setPledgedSrcSize(c, all);
    ZSTD_outBuffer to = {out->data + out->len, out->cap - out->len, 0};
    ZSTD_inBuffer from[2] = {{head.data, head.len, 0}, {in.data, in.len, 0}};
    for (int i = 0; i < 2 && !ZSTD_isError(left); i++) {
        do {
            left = ZSTD_compressStream2(c, &to, &from[i], i == 0 ? ZSTD_e_continue : ZSTD_e_end);
        } while (!ZSTD_isError(left) && (i == 0 ? from[i].pos < from[i].size : left > 0) && to.pos < to.size);
    }
    if (ZSTD_isError(left) || left > 0) {
        return failed(TL_PQ_ZSTD, in, ZSTD_isError(left) ? ZSTD_getErrorName(left) : "it did not come to an end", err);
    }
    out->len += to.pos;
    return TL_OK;
}

static tl_status compress_gzip(int32_t level, tl_bytes in, tl_buf *out, tl_error *err) {
    if (in.len > INT32_MAX) {
        return failed(TL_PQ_GZIP, in, "larger than 2 GiB", err);
    }
    z_stream z = {0};
    if (deflateInit2(&z, level == INT32_MIN ? 6 : level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return failed(TL_PQ_GZIP, in, z.msg ? z.msg : "wrong level or out of memory", err);
    }
    size_t bound = deflateBound(&z, (uLong)in.len);
    tl_status status = reserve(out, bound, err);
    if (status == TL_OK) {
        z.next_in = (z_const Bytef *)(uintptr_t)in.data;
        z.avail_in = (uInt)in.len;
        z.next_out = out->data + out->len;
        z.avail_out = (uInt)bound;
        if (deflate(&z, Z_FINISH) == Z_STREAM_END) {
            out->len += z.total_out;
        } else {
            status = failed(TL_PQ_GZIP, in, z.msg ? z.msg : "unknown", err);
        }
    }
    (void)deflateEnd(&z);
    return status;
}

static tl_status compress_snappy(tl_bytes in, tl_buf *out, tl_error *err) {
    size_t n = snappy_max_compressed_length(in.len);
    TL_TRY(reserve(out, n, err));
    if (snappy_compress((const char *)in.data, in.len, (char *)out->data + out->len, &n) != SNAPPY_OK) {
        return failed(TL_PQ_SNAPPY, in, "unknown", err);
    }
    out->len += n;
    return TL_OK;
}

static tl_status compress_brotli(int32_t level, tl_bytes in, tl_buf *out, tl_error *err) {
    size_t n = BrotliEncoderMaxCompressedSize(in.len);
    if (n == 0) {
        return failed(TL_PQ_BROTLI, in, "too large", err);
    }
    TL_TRY(reserve(out, n, err));
    if (!BrotliEncoderCompress(level == INT32_MIN ? 1 : level, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, in.len,
                               in.data, &n, out->data + out->len)) {
        return failed(TL_PQ_BROTLI, in, "wrong level or out of memory", err);
    }
    out->len += n;
    return TL_OK;
}

static tl_status compress_lz4(tl_bytes in, tl_buf *out, tl_error *err) {
    if (in.len > LZ4_MAX_INPUT_SIZE) {
        return failed(TL_PQ_LZ4_RAW, in, "too large", err);
    }
    int bound = LZ4_compressBound((int)in.len);
    TL_TRY(reserve(out, (size_t)bound, err));
    int n = LZ4_compress_default((const char *)in.data, (char *)out->data + out->len, (int)in.len, bound);
    if (n <= 0) {
        return failed(TL_PQ_LZ4_RAW, in, "unknown", err);
    }
    out->len += (size_t)n;
    return TL_OK;
}

tl_status tl_pq_compress(tl_pq_codec_state *state, tl_pq_codec codec, int32_t level, tl_bytes in, tl_buf *out,
                         tl_error *err) {
    static const uint8_t nothing;
    if (!in.data) {
        in.data = &nothing; /* the codecs may look at the pointer even when there are no bytes */
    }
    switch (codec) {
    case TL_PQ_UNCOMPRESSED: return tl_buf_add(out, in.data, in.len) == TL_OK ? TL_OK : tl_fail_memory(err, in.len);
    case TL_PQ_ZSTD: return compress_zstd(state, level, in, out, err);
    case TL_PQ_GZIP: return compress_gzip(level, in, out, err);
    case TL_PQ_SNAPPY: return compress_snappy(in, out, err);
    case TL_PQ_BROTLI: return compress_brotli(level, in, out, err);
    case TL_PQ_LZ4_RAW: return compress_lz4(in, out, err);
    case TL_PQ_LZ4:
    case TL_PQ_LZO: break;
    }
    return tl_fail(err, TL_UNSUPPORTED, "codec %s (%d) is not written here; use zstd, lz4_raw, snappy, gzip, brotli",
                   tl_pq_codec_name(codec), (int)codec);
}

tl_status tl_pq_compress_joined(tl_pq_codec_state *state, tl_pq_codec codec, int32_t level, tl_bytes head, tl_bytes in,
                                tl_buf *out, tl_error *err) {
    if (head.len == 0) {
        return tl_pq_compress(state, codec, level, in, out, err);
    }
    if (codec == TL_PQ_ZSTD) {
        return compress_zstd_joined(state, level, head, in, out, err);
    }
    tl_buf all = {0};
    tl_status status = tl_buf_reserve(&all, head.len + in.len);
    status = status == TL_OK ? tl_buf_add(&all, head.data, head.len) : status;
    status = status == TL_OK ? tl_buf_add(&all, in.data, in.len) : status;
    status = status == TL_OK ? tl_pq_compress(state, codec, level, tl_buf_bytes(&all), out, err)
                             : tl_fail_memory(err, head.len + in.len);
    tl_buf_free(&all);
    return status;
}
