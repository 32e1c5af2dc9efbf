/* Compression of pages, by the system's zstd, lz4, snappy, brotli and zlib. Bytes in, bytes out. */
#ifndef TL_PARQUET_CODEC_H
#define TL_PARQUET_CODEC_H

#include "base/buf.h"
#include "parquet/format.h"

/* What kind of bytes come: zstd's own choices of parameters (by size alone) are far off for some. */
typedef enum tl_pq_content {
    TL_PQ_CONTENT_ANY = 0, /* zstd decides */
    TL_PQ_CONTENT_NUMBERS, /* numbers of 4 bytes and more, PLAIN or split: short matches are chance */
    TL_PQ_CONTENT_PACKED   /* bit-packed differences and indices, dictionaries of numbers: hardly a match at all */
} tl_pq_content;

/* Contexts that are reused between pages; one per thread. Zeroed = fresh. */
typedef struct tl_pq_codec_state {
    void *zstd_compress, *zstd_decompress;
    tl_pq_content content; /* of the next page to be compressed */
} tl_pq_codec_state;
void tl_pq_codec_state_free(tl_pq_codec_state *state);
void *tl_pq_take_decompress(void); /* a zstd context for state->zstd_decompress; NULL when memory ends */
size_t tl_pq_codec_state_held(const tl_pq_codec_state *state); /* bytes of the contexts */

/* Appends the compressed form of `in` to `out`. level: the codec's own scale; INT32_MIN = its default here (zstd 3,
 * gzip 6, brotli 1). TL_UNSUPPORTED for LZO and LZ4 (Hadoop framing is only read). */
tl_status tl_pq_compress(tl_pq_codec_state *state, tl_pq_codec codec, int32_t level, tl_bytes in, tl_buf *out,
                         tl_error *err) TL_CHECKED;

/* The same of `head` and `in` one behind the other; zstd does that without putting them together in memory. */
tl_status tl_pq_compress_joined(tl_pq_codec_state *state, tl_pq_codec codec, int32_t level, tl_bytes head, tl_bytes in,
                                tl_buf *out, tl_error *err) TL_CHECKED;

/* Fills exactly `out_len` bytes at `out`; TL_CORRUPT when `in` gives more or fewer. TL_PQ_LZ4 tries the Hadoop framing
 * first, then a raw block, then the frame format, as other readers do. Concatenated gzip members are one stream. */
tl_status tl_pq_decompress(tl_pq_codec_state *state, tl_pq_codec codec, tl_bytes in, uint8_t *out, size_t out_len,
                           tl_error *err) TL_CHECKED;

const char *tl_pq_codec_name(tl_pq_codec codec); /* "zstd" ...; for unknown numbers "unknown" */

#endif
