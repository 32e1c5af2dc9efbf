/* UTF-8: a check that runs over pieces of a text, and the width of characters on a terminal. Pure. */
#ifndef TL_CLI_UTF8_H
#define TL_CLI_UTF8_H

#include "base/base.h"

/* The state between pieces. Zeroed = at the beginning. */
typedef struct tl_utf8 {
    uint8_t missing;   /* continuation bytes still to come */
    uint8_t low, high; /* what the next one must lie in */
} tl_utf8;

/* How many bytes of the piece are good: `len`, or the place of the first byte that cannot stand there. Surrogates,
 * over-long forms and code points above U+10FFFF are bad. */
size_t tl_utf8_check(tl_utf8 *state, const uint8_t *data, size_t len);
static inline bool tl_utf8_complete(const tl_utf8 *state) {
    return state->missing == 0;
}

/* The next code point of a text; *i moves on. A bad byte counts as one character, U+FFFD. */
uint32_t tl_utf8_next(const uint8_t *text, size_t len, size_t *i);

/* Columns that a text takes on a terminal: wide East Asian characters and emoji two, combining marks none. */
size_t tl_utf8_width(const uint8_t *text, size_t len);

#endif
