/* Avro container files out: the binary encoding, header and blocks. See avro_internal.h. */
#include "base/hash.h"
#include "iceberg/avro_internal.h"

tl_status tl_avro_put_long(tl_buf *out, int64_t v) {
    uint64_t zigzag = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    uint8_t bytes[10];
    size_t n = 0;
    for (; zigzag >= 0x80; zigzag >>= 7) {
        bytes[n++] = (uint8_t)(zigzag | 0x80);
    }
    bytes[n++] = (uint8_t)zigzag;
    return tl_buf_add(out, bytes, n);
}

tl_status tl_avro_put_bytes(tl_buf *out, tl_bytes v) {
    TL_TRY(tl_avro_put_long(out, (int64_t)v.len));
    return tl_buf_add(out, v.data, v.len);
}

tl_status tl_avro_put_text(tl_buf *out, const char *v) {
    return tl_avro_put_bytes(out, tl_bytes_of(v));
}

tl_status tl_avro_put_branch(tl_buf *out, bool there) {
    return tl_buf_add_byte(out, there ? 2 : 0);
}

tl_status tl_avro_put_header(tl_buf *out, const tl_avro_header_entry *entries, size_t n, uint8_t sync[16]) {
    uint64_t a = 0x74696d656c616b65u, b = 0x6d616e6966657374u;
    TL_TRY(tl_buf_add(out, "Obj\1", 4));
    TL_TRY(tl_avro_put_long(out, (int64_t)n));
    for (size_t i = 0; i < n; i++) {
        TL_TRY(tl_avro_put_text(out, entries[i].key));
        TL_TRY(tl_avro_put_bytes(out, entries[i].value));
        a = tl_hash_bytes(entries[i].value.data, entries[i].value.len, a);
        b = tl_hash_u64(a ^ b);
    }
    TL_TRY(tl_avro_put_long(out, 0));
    tl_store_u64(sync, a);
    tl_store_u64(sync + 8, b);
    return tl_buf_add(out, sync, 16);
}

tl_status tl_avro_put_block(tl_buf *out, int64_t n_records, tl_bytes records, const uint8_t sync[16]) {
    TL_TRY(tl_avro_put_long(out, n_records));
    TL_TRY(tl_avro_put_bytes(out, records));
    return tl_buf_add(out, sync, 16);
}
