/*
 * A growing byte buffer. Comes in: bytes, numbers, text. Goes out: one block of memory.
 * Zeroed = empty. A failed append leaves the contents as they were and returns TL_NO_MEMORY.
 */
#ifndef TL_BASE_BUF_H
#define TL_BASE_BUF_H

#include <string.h>

#include "base/base.h"

typedef struct tl_buf {
    uint8_t *data;
    size_t len, cap;
} tl_buf;

tl_status tl_buf_grow(tl_buf *b, size_t extra) TL_CHECKED; /* the slow path of reserve */
void tl_buf_free(tl_buf *b);                               /* empty and usable again */
char *tl_buf_take_text(tl_buf *b); /* NUL-terminated, caller frees; NULL when memory ends; b is empty after */
tl_status tl_buf_printf(tl_buf *b, const char *fmt, ...) TL_CHECKED TL_PRINTF(2, 3);

/* Room for `extra` more bytes behind len. */
static inline TL_CHECKED tl_status tl_buf_reserve(tl_buf *b, size_t extra) {
    return b->cap - b->len >= extra ? TL_OK : tl_buf_grow(b, extra);
}

static inline TL_CHECKED tl_status tl_buf_add(tl_buf *b, const void *data, size_t len) {
    if (b->cap - b->len < len) {
        TL_TRY(tl_buf_grow(b, len));
    }
    if (len) {
        memcpy(b->data + b->len, data, len);
    }
    b->len += len;
    return TL_OK;
}

static inline TL_CHECKED tl_status tl_buf_add_byte(tl_buf *b, uint8_t byte) {
    return tl_buf_add(b, &byte, 1);
}
static inline TL_CHECKED tl_status tl_buf_add_text(tl_buf *b, const char *text) {
    return tl_buf_add(b, text, strlen(text));
}
static inline tl_bytes tl_buf_bytes(const tl_buf *b) {
    return (tl_bytes){b->data, b->len};
}

/* Little-endian loads and stores at any address. */
static inline uint32_t tl_load_u32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t tl_load_u64(const void *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline int32_t tl_load_i32(const void *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline int64_t tl_load_i64(const void *p) {
    int64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void tl_store_u32(void *p, uint32_t v) {
    memcpy(p, &v, 4);
}
static inline void tl_store_u64(void *p, uint64_t v) {
    memcpy(p, &v, 8);
}

/* The bit at `i` of a little-endian bitmap (Arrow validity). */
static inline bool tl_bit(const uint8_t *bits, int64_t i) {
    return (bits[i >> 3] >> (i & 7)) & 1;
}
static inline void tl_bit_set(uint8_t *bits, int64_t i) {
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | (1u << (i & 7)));
}
static inline void tl_bit_clear(uint8_t *bits, int64_t i) {
    bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
}
/* How many of `n` bits from bit `from` are set. */
int64_t tl_bits_count(const uint8_t *bits, int64_t from, int64_t n);

#endif
