/* The growing byte buffer. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the loads and stores here assume a little-endian machine");

tl_status tl_buf_grow(tl_buf *b, size_t extra) {
    size_t need, cap;
    if (!tl_size_add(b->len, extra, &need)) {
        return TL_NO_MEMORY;
    }
    if (!tl_size_add(b->cap, b->cap / 2, &cap) || cap < need) {
        cap = need;
    }
    cap = cap < 64 ? 64 : cap;
    uint8_t *data = tl_realloc(b->data, cap);
    if (!data) {
        return TL_NO_MEMORY;
    }
    b->data = data;
    b->cap = cap;
    return TL_OK;
}

void tl_buf_free(tl_buf *b) {
    tl_free(b->data);
    *b = (tl_buf){0};
}

char *tl_buf_take_text(tl_buf *b) {
    if (tl_buf_add_byte(b, 0) != TL_OK) {
        return NULL;
    }
    char *text = (char *)b->data;
    *b = (tl_buf){0};
    return text;
}

tl_status tl_buf_printf(tl_buf *b, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    tl_status status = n < 0 ? TL_INTERNAL : tl_buf_reserve(b, (size_t)n + 1);
    if (status == TL_OK) {
        (void)vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return status;
}

int64_t tl_bits_count(const uint8_t *bits, int64_t from, int64_t n) {
    int64_t count = 0, i = from, end = from + n;
    for (; i < end && (i & 7); i++) {
        count += tl_bit(bits, i);
    }
    for (; i + 64 <= end; i += 64) {
        count += __builtin_popcountll(tl_load_u64(bits + (i >> 3)));
    }
    for (; i < end; i++) {
        count += tl_bit(bits, i);
    }
    return count;
}
