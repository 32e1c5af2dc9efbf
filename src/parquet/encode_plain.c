/* PLAIN where it is not the native bytes: booleans as bits, byte arrays each behind its length. */
#include "parquet/write_internal.h"

tl_status tl_pq_encode_bits(const uint8_t *values, size_t n, tl_buf *out) {
    TL_TRY(tl_buf_reserve(out, (n + 7) / 8));
    uint8_t *to = out->data + out->len;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        /* each byte is 0 or 1: the multiplication gathers the eight low bits in the top byte */
        *to++ = (uint8_t)((tl_load_u64(values + i) * 0x0102040810204080u) >> 56);
    }
    if (i < n) {
        unsigned byte = 0;
        for (unsigned b = 0; i < n; i++, b++) {
            byte |= (unsigned)values[i] << b;
        }
        *to++ = (uint8_t)byte;
    }
    out->len = (size_t)(to - out->data);
    return TL_OK;
}

tl_status tl_pq_encode_byte_arrays(const tl_bytes *values, size_t n, tl_buf *out) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!tl_size_add(bytes, values[i].len, &bytes) || !tl_size_add(bytes, 4, &bytes)) {
            return TL_NO_MEMORY;
        }
    }
    TL_TRY(tl_buf_reserve(out, bytes));
    uint8_t *to = out->data + out->len;
    for (size_t i = 0; i < n; i++) {
        tl_store_u32(to, (uint32_t)values[i].len);
        to += 4;
        if (values[i].len) {
            memcpy(to, values[i].data, values[i].len);
            to += values[i].len;
        }
    }
    out->len += bytes;
    return TL_OK;
}
