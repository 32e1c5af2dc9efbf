/* gzip and raw deflate through zlib, with a bound on what comes out. */
#include <zlib.h>

#include "iceberg/json_internal.h"

static voidpf z_alloc(voidpf ctx, uInt n, uInt size) {
    (void)ctx;
    return tl_alloc_array(n, size);
}

static void z_free(voidpf ctx, voidpf p) {
    (void)ctx;
    tl_free(p);
}

/* One call of inflate into the free room of `out`, which grows as needed. */
static tl_status inflate_some(z_stream *z, size_t max, size_t start, const char *what, tl_buf *out, int *code,
                              tl_error *err) {
    size_t done = out->len - start, room = out->cap - out->len;
    if (room == 0) {
        size_t step = done < 65536 ? 65536 : done;
        if (tl_buf_reserve(out, step) != TL_OK) {
            return tl_fail_memory(err, step);
        }
        room = out->cap - out->len;
    }
    room = room > (1u << 30) ? (1u << 30) : room;
    z->next_out = out->data + out->len;
    z->avail_out = (uInt)room;
    *code = inflate(z, Z_NO_FLUSH);
    out->len += room - z->avail_out;
    if (out->len - start > max) {
        return tl_fail(err, TL_UNSUPPORTED, "%s is larger than %zu bytes after decompression", what, max);
    }
    if (*code == Z_MEM_ERROR) {
        return tl_fail_memory(err, 0);
    }
    /* Z_BUF_ERROR: no progress was possible, with room to write: the input ended early. */
    if (*code != Z_OK && *code != Z_STREAM_END) {
        return tl_fail(err, TL_CORRUPT, "%s is damaged: %s", what, z->msg ? z->msg : "compressed data end early");
    }
    return TL_OK;
}

tl_status tl_inflate(tl_inflate_format format, tl_bytes in, size_t max, const char *what, tl_buf *out, tl_error *err) {
    if (in.len > UINT32_MAX) {
        return tl_fail(err, TL_UNSUPPORTED, "%s: %zu compressed bytes are too many", what, in.len);
    }
    z_stream z = {0};
    z.zalloc = z_alloc;
    z.zfree = z_free;
    z.next_in = (Bytef *)(uintptr_t)in.data;
    z.avail_in = (uInt)in.len;
    if (inflateInit2(&z, format == TL_INFLATE_GZIP ? 15 + 16 : -15) != Z_OK) {
        return tl_fail_memory(err, 0);
    }
    size_t start = out->len;
    tl_status status = TL_OK;
    int code = Z_OK;
    while (status == TL_OK) {
        status = inflate_some(&z, max, start, what, out, &code, err);
        if (status == TL_OK && code == Z_STREAM_END) {
            /* Avro blocks of some writers carry the rest of a zlib trailer: their length is stated, so it is skipped.
             */
            if (z.avail_in == 0 || format == TL_INFLATE_RAW) {
                break;
            }
            (void)inflateReset(&z);
        }
    }
    (void)inflateEnd(&z);
    return status;
}
