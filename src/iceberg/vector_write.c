/*
 * Deletion vectors out: a 64-bit Roaring bitmap in the portable format (array and bitset containers; its form is in
 * deletion_vector.c, which reads it) with length, magic number and checksum around it; and the Puffin file of them.
 */
#include <zlib.h>

#include "iceberg/deletes.h"
#include "iceberg/json.h"

enum { COOKIE_WITHOUT_RUNS = 12346, CONTAINER_ROWS = 65536, ARRAY_MAX = 4096 };

static tl_status put_u16(tl_buf *out, uint32_t v) {
    const uint8_t bytes[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
    return tl_buf_add(out, bytes, 2);
}

static tl_status put_u32(tl_buf *out, uint32_t v) {
    uint8_t bytes[4];
    tl_store_u32(bytes, v);
    return tl_buf_add(out, bytes, 4);
}

static void store_big_u32(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

/* Rows of container `c` of all rows; `from` is a whole number of bytes. */
static uint32_t count_container(const tl_row_bits *rows, int64_t c) {
    int64_t from = c * CONTAINER_ROWS, to = from + CONTAINER_ROWS < rows->n_rows ? from + CONTAINER_ROWS : rows->n_rows;
    uint32_t n = 0;
    for (int64_t row = from; row < to; row++) {
        if (rows->bits[row / 8] == 0) {
            row |= 7;
        } else {
            n += tl_bit(rows->bits, row);
        }
    }
    return n;
}

static tl_status put_container(const tl_row_bits *rows, int64_t c, uint32_t cardinality, tl_buf *out) {
    int64_t from = c * CONTAINER_ROWS, to = from + CONTAINER_ROWS < rows->n_rows ? from + CONTAINER_ROWS : rows->n_rows;
    if (cardinality <= ARRAY_MAX) {
        for (int64_t row = from; row < to; row++) {
            if (rows->bits[row / 8] == 0) {
                row |= 7;
            } else if (tl_bit(rows->bits, row)) {
                TL_TRY(put_u16(out, (uint32_t)(row - from)));
            }
        }
        return TL_OK;
    }
    uint8_t set[CONTAINER_ROWS / 8] = {0};
    for (int64_t row = from; row < to; row++) {
        if (tl_bit(rows->bits, row)) {
            tl_bit_set(set, row - from);
        }
    }
    return tl_buf_add(out, set, sizeof set);
}

/* Containers [first, end) share their upper 32 bits: one 32-bit bitmap. Nothing when they are empty. */
static tl_status put_bitmap(const tl_row_bits *rows, int64_t first, int64_t end, const uint32_t *counts, uint32_t high,
                            tl_buf *out) {
    uint32_t n = 0, offset;
    for (int64_t c = first; c < end; c++) {
        n += counts[c] > 0;
    }
    TL_TRY(put_u32(out, high));
    TL_TRY(put_u32(out, COOKIE_WITHOUT_RUNS));
    TL_TRY(put_u32(out, n));
    for (int64_t c = first; c < end; c++) {
        if (counts[c]) {
            TL_TRY(put_u16(out, (uint32_t)(c - first)));
            TL_TRY(put_u16(out, counts[c] - 1));
        }
    }
    offset = 8 + n * 8;
    for (int64_t c = first; c < end; c++) {
        if (counts[c]) {
            TL_TRY(put_u32(out, offset));
            offset += counts[c] <= ARRAY_MAX ? counts[c] * 2 : CONTAINER_ROWS / 8;
        }
    }
    for (int64_t c = first; c < end; c++) {
        if (counts[c]) {
            TL_TRY(put_container(rows, c, counts[c], out));
        }
    }
    return TL_OK;
}

static tl_status put_bitmaps(const tl_row_bits *rows, const uint32_t *counts, int64_t n, tl_buf *out) {
    uint8_t head[8];
    uint64_t bitmaps = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            tl_store_u64(head, bitmaps);
            TL_TRY(tl_buf_add(out, head, sizeof head));
        }
        for (int64_t first = 0; first < n; first += 65536) {
            int64_t end = first + 65536 < n ? first + 65536 : n;
            bool any = false;
            for (int64_t c = first; c < end && !any; c++) {
                any = counts[c] > 0;
            }
            bitmaps += any && pass == 0;
            if (any && pass == 1) {
                TL_TRY(put_bitmap(rows, first, end, counts, (uint32_t)(first / 65536), out));
            }
        }
    }
    return TL_OK;
}

tl_status tl_deletion_vector_write(const tl_row_bits *rows, tl_buf *out, tl_error *err) {
    static const uint8_t magic[4] = {0xd1, 0xd3, 0x39, 0x64};
    int64_t n = (rows->n_rows + CONTAINER_ROWS - 1) / CONTAINER_ROWS;
    uint32_t *counts = tl_alloc_array((size_t)n, sizeof *counts);
    if (!counts) {
        return tl_fail_memory(err, (size_t)n * sizeof *counts);
    }
    for (int64_t c = 0; c < n; c++) {
        counts[c] = count_container(rows, c);
    }
    size_t at = out->len;
    tl_status status = put_u32(out, 0); /* the length, known later */
    status = status == TL_OK ? tl_buf_add(out, magic, sizeof magic) : status;
    status = status == TL_OK ? put_bitmaps(rows, counts, n, out) : status;
    tl_free(counts);
    size_t length = out->len - at - 4;
    if (status == TL_OK && length > UINT32_MAX) {
        out->len = at;
        return tl_fail(err, TL_UNSUPPORTED, "a deletion vector of %zu bytes", length);
    }
    uint8_t crc[4];
    if (status == TL_OK) {
        store_big_u32(out->data + at, (uint32_t)length);
        store_big_u32(crc, (uint32_t)crc32(0, out->data + at + 4, (uInt)length));
        status = tl_buf_add(out, crc, sizeof crc);
    }
    if (status != TL_OK) {
        out->len = at;
        return tl_fail_memory(err, length);
    }
    return TL_OK;
}

/* ---- Puffin ---- */

static const uint8_t puffin_magic[4] = {'P', 'F', 'A', '1'};

tl_status tl_puffin_begin(tl_buf *out, tl_error *err) {
    return tl_buf_add(out, puffin_magic, sizeof puffin_magic) == TL_OK ? TL_OK : tl_fail_memory(err, 4);
}

tl_status tl_puffin_add(const char *path, const tl_row_bits *rows, tl_buf *out, tl_puffin_vector *vector,
                        tl_error *err) {
    *vector = (tl_puffin_vector){path, (int64_t)out->len, 0, rows->n_set};
    TL_TRY(tl_deletion_vector_write(rows, out, err));
    vector->length = (int64_t)out->len - vector->offset;
    return TL_OK;
}

/* Snapshot and sequence number are -1: they follow from the manifest that names the file. */
static tl_status put_blob(tl_buf *out, const tl_puffin_vector *v, bool first, tl_error *err) {
    tl_status status = tl_buf_printf(
        out,
        "%s{\"type\":\"deletion-vector-v1\",\"fields\":[%d],\"snapshot-id\":-1,\"sequence-number\":-1,\"offset\":%lld,"
        "\"length\":%lld,\"properties\":{\"referenced-data-file\":",
        first ? "" : ",", TL_FIELD_ROW_POSITION, (long long)v->offset, (long long)v->length);
    status = status == TL_OK ? tl_json_put_string(out, v->path, err) : status;
    return status == TL_OK ? tl_buf_printf(out, ",\"cardinality\":\"%lld\"}}", (long long)v->cardinality) : status;
}

static tl_status put_footer(const tl_puffin_vector *vectors, int64_t n, tl_buf *out, tl_error *err) {
    TL_TRY(tl_buf_add(out, puffin_magic, sizeof puffin_magic));
    size_t at = out->len;
    TL_TRY(tl_buf_add_text(out, "{\"blobs\":["));
    for (int64_t i = 0; i < n; i++) {
        TL_TRY(put_blob(out, &vectors[i], i == 0, err));
    }
    TL_TRY(tl_buf_add_text(out, "],\"properties\":{\"created-by\":\"timelake\"}}"));
    TL_TRY(put_u32(out, (uint32_t)(out->len - at)));
    TL_TRY(put_u32(out, 0)); /* no flags: the footer is not compressed */
    return tl_buf_add(out, puffin_magic, sizeof puffin_magic);
}

tl_status tl_puffin_end(const tl_puffin_vector *vectors, int64_t n, tl_buf *out, tl_error *err) {
    tl_status status = put_footer(vectors, n, out, err);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}
