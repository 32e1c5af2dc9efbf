/* See series_bucket.h. */
#include "table/series_bucket.h"

#include "base/buf.h"

static uint64_t add_bytes(uint64_t hash, const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t tl_series_hash_add(uint64_t hash, const tl_type *type, const tl_bytes *value) {
    uint8_t present = value != NULL;
    hash = add_bytes(hash, &present, 1);
    if (!value) {
        return hash;
    }
    uint8_t nan[8];
    tl_bytes v = *value;
    if (type->id == TL_TYPE_FLOAT && (tl_load_u32(v.data) & 0x7fffffffu) > 0x7f800000u) {
        tl_store_u32(nan, 0x7fc00000u);
        v.data = nan;
    } else if (type->id == TL_TYPE_DOUBLE && (tl_load_u64(v.data) & INT64_MAX) > UINT64_C(0x7ff0000000000000)) {
        tl_store_u64(nan, UINT64_C(0x7ff8000000000000));
        v.data = nan;
    } else if (type->id == TL_TYPE_STRING || type->id == TL_TYPE_BINARY) {
        uint8_t len[4];
        tl_store_u32(len, (uint32_t)v.len);
        hash = add_bytes(hash, len, sizeof len);
    }
    return add_bytes(hash, v.data, v.len);
}

uint32_t tl_series_bucket(uint64_t hash, uint32_t buckets) {
    return ((uint32_t)(hash >> 32) ^ (uint32_t)hash) % buckets;
}
