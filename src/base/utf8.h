/* UTF-8: is it well-formed (no overlong forms, no surrogates, at most U+10FFFF)? Fast over ASCII. */
#ifndef TL_BASE_UTF8_H
#define TL_BASE_UTF8_H

#include "base/base.h"

/* The length of the longest well-formed beginning: `len` when all of it is. Also the place of the first fault. */
size_t tl_utf8_valid_prefix(const uint8_t *data, size_t len);

static inline bool tl_utf8_is_valid(tl_bytes text) {
    return tl_utf8_valid_prefix(text.data, text.len) == text.len;
}

/* How many of the leading bytes are ASCII, rounded down to the granularity of the scan but for the end. */
size_t tl_ascii_prefix(const uint8_t *data, size_t len);

/* At most `max` bytes of a well-formed text, cut at a code point. */
size_t tl_utf8_cut(const uint8_t *data, size_t len, size_t max);

#endif
