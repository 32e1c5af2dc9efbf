/* Hashes for tables in memory: fast, well mixed in every bit, not stable across versions, not for secrets. */
#ifndef TL_BASE_HASH_H
#define TL_BASE_HASH_H

#include <string.h>

#include "base/base.h"

static inline uint64_t tl_hash_mix(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide r = (wide)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

static inline uint64_t tl_hash_u64(uint64_t v) {
    return tl_hash_mix(v ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu ^ (v >> 32));
}

static inline uint64_t tl_hash_bytes(const void *data, size_t len, uint64_t seed) {
    const uint8_t *p = data;
    uint64_t h = seed ^ 0x8ebc6af09c88c6e3u ^ len, a, b;
    for (; len > 16; len -= 16, p += 16) {
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        h = tl_hash_mix(a ^ 0xa0761d6478bd642fu ^ h, b ^ 0xe7037ed1a0b428dbu);
    }
    a = b = 0;
    if (len >= 8) {
        memcpy(&a, p, 8);
        memcpy(&b, p + len - 8, 8);
    } else if (len) {
        memcpy(&a, p, len);
    }
    h = tl_hash_mix(a ^ 0x589965cc75374cc3u ^ h, b ^ 0xe7037ed1a0b428dbu);
    return tl_hash_mix(h, 0x589965cc75374cc3u);
}

#endif
