/* UTF-8 checks. */
#include "base/utf8.h"

#include "base/buf.h"

static const uint64_t HIGH_BITS = UINT64_C(0x8080808080808080);

size_t tl_ascii_prefix(const uint8_t *data, size_t len) {
    size_t i = 0;
    /* Four words a step: compilers turn the ORs into vector instructions. */
    for (; i + 32 <= len; i += 32) {
        uint64_t all =
            tl_load_u64(data + i) | tl_load_u64(data + i + 8) | tl_load_u64(data + i + 16) | tl_load_u64(data + i + 24);
        if (all & HIGH_BITS) {
            break;
        }
    }
    for (; i + 8 <= len && !(tl_load_u64(data + i) & HIGH_BITS); i += 8) {}
    while (i < len && data[i] < 0x80) {
        i++;
    }
    return i;
}

static inline bool is_continuation(uint8_t c) {
    return (c & 0xc0) == 0x80;
}

/* The length of the sequence at `p`, which does not begin with ASCII; 0 = not well-formed. */
static size_t sequence(const uint8_t *p, size_t len) {
    uint8_t c = p[0];
    if (c >= 0xc2 && c <= 0xdf) {
        return len >= 2 && is_continuation(p[1]) ? 2 : 0;
    }
    if (c >= 0xe0 && c <= 0xef) {
        uint8_t least = c == 0xe0 ? 0xa0 : 0x80, most = c == 0xed ? 0x9f : 0xbf; /* no overlong forms, no surrogates */
        return len >= 3 && p[1] >= least && p[1] <= most && is_continuation(p[2]) ? 3 : 0;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        uint8_t least = c == 0xf0 ? 0x90 : 0x80, most = c == 0xf4 ? 0x8f : 0xbf; /* U+10000 to U+10FFFF */
        return len >= 4 && p[1] >= least && p[1] <= most && is_continuation(p[2]) && is_continuation(p[3]) ? 4 : 0;
    }
    return 0;
}

size_t tl_utf8_valid_prefix(const uint8_t *data, size_t len) {
    size_t i = 0;
    while (i < len) {
        if (data[i] < 0x80) {
            i += len - i >= 8 ? tl_ascii_prefix(data + i, len - i) : 1;
            continue;
        }
        size_t n = sequence(data + i, len - i);
        if (n == 0) {
            return i;
        }
        i += n;
    }
    return i;
}

size_t tl_utf8_cut(const uint8_t *data, size_t len, size_t max) {
    if (len <= max) {
        return len;
    }
    size_t n = max;
    while (n > 0 && is_continuation(data[n])) {
        n--;
    }
    return n;
}
