/* UTF-8; see utf8.h. */
#include "cli/utf8.h"

#include <string.h>

size_t tl_utf8_check(tl_utf8 *state, const uint8_t *data, size_t len) {
    size_t i = 0;
    while (i < len) {
        if (state->missing == 0) {
            uint64_t eight;
            while (i + 8 <= len && (memcpy(&eight, data + i, 8), (eight & 0x8080808080808080u) == 0)) {
                i += 8;
            }
            if (i == len) {
                break;
            }
        }
        uint8_t b = data[i];
        if (state->missing) {
            if (b < state->low || b > state->high) {
                return i;
            }
            state->missing--;
            state->low = 0x80;
            state->high = 0xbf;
        } else if (b >= 0x80) {
            if (b < 0xc2 || b > 0xf4) {
                return i;
            }
            state->missing = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
            state->low = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
            state->high = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
        }
        i++;
    }
    return len;
}

uint32_t tl_utf8_next(const uint8_t *text, size_t len, size_t *i) {
    uint8_t b = text[*i];
    size_t more = b < 0x80 ? 0 : b < 0xc2 ? 4 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : b < 0xf5 ? 3 : 4;
    if (more == 0) {
        ++*i;
        return b;
    }
    if (more == 4 || len - *i <= more) {
        ++*i;
        return 0xfffd;
    }
    uint32_t c = b & (0x3fu >> more);
    for (size_t k = 1; k <= more; k++) {
        if ((text[*i + k] & 0xc0) != 0x80) {
            ++*i;
            return 0xfffd;
        }
        c = c << 6 | (text[*i + k] & 0x3fu);
    }
    *i += more + 1;
    return c;
}

typedef struct range {
    uint32_t from, to;
} range;

/* The usual blocks only: exact tables would be larger than what they bring. */
static const range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},  {0x3400, 0x4dbf},
                             {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                             {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                             {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
static const range none[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
                             {0x200b, 0x200f}, {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

static bool within(const range *ranges, size_t n, uint32_t c) {
    for (size_t i = 0; i < n && ranges[i].from <= c; i++) {
        if (c <= ranges[i].to) {
            return true;
        }
    }
    return false;
}

size_t tl_utf8_width(const uint8_t *text, size_t len) {
    size_t width = 0;
    for (size_t i = 0; i < len;) {
        uint32_t c = tl_utf8_next(text, len, &i);
        if (c < 0x300) {
            width++;
        } else if (within(wide, TL_COUNT(wide), c)) {
            width += 2;
        } else if (!within(none, TL_COUNT(none), c)) {
            width++;
        }
    }
    return width;
}
