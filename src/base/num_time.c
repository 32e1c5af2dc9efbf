/* Text to dates, times of the day and timestamps. */

#include "base/civil.h"
#include "base/num.h"

typedef struct cursor {
    const uint8_t *p, *end;
} cursor;

static inline bool is_digit(uint8_t c) {
    return (uint8_t)(c - '0') < 10;
}

static bool eat(cursor *c, uint8_t what) {
    if (c->p < c->end && *c->p == what) {
        c->p++;
        return true;
    }
    return false;
}

/* Exactly two digits. */
static bool two(cursor *c, int32_t *out) {
    if (c->end - c->p < 2 || !is_digit(c->p[0]) || !is_digit(c->p[1])) {
        return false;
    }
    *out = (c->p[0] - '0') * 10 + (c->p[1] - '0');
    c->p += 2;
    return true;
}

/* Four digits, or a sign and 4 to 12. */
static bool year(cursor *c, int64_t *out) {
    bool negative = false, sign = false;
    if (c->p < c->end && (*c->p == '+' || *c->p == '-')) {
        negative = *c->p++ == '-';
        sign = true;
    }
    int64_t v = 0;
    int n = 0;
    for (; c->p < c->end && is_digit(*c->p) && n < 12; c->p++, n++) {
        v = v * 10 + (*c->p - '0');
    }
    *out = negative ? -v : v;
    return sign ? n >= 4 : n == 4;
}

static bool date(cursor *c, int64_t *days) {
    int64_t y;
    int32_t m, d;
    return year(c, &y) && eat(c, '-') && two(c, &m) && eat(c, '-') && two(c, &d) && tl_civil_to_days(y, m, d, days);
}

/* A time of the day; digits below a microsecond that are not 0 make `inexact`. */
static bool time_of_day(cursor *c, int64_t *us, bool *inexact) {
    int32_t h, m, s = 0;
    int64_t fraction = 0;
    *inexact = false;
    if (!two(c, &h) || !eat(c, ':') || !two(c, &m)) {
        return false;
    }
    if (eat(c, ':')) {
        if (!two(c, &s)) {
            return false;
        }
        if (eat(c, '.')) {
            int n = 0;
            for (; c->p < c->end && is_digit(*c->p); c->p++, n += n < 7) {
                if (n < 6) {
                    fraction = fraction * 10 + (*c->p - '0');
                } else {
                    *inexact |= *c->p != '0';
                }
            }
            if (n == 0) {
                return false;
            }
            for (; n < 6; n++) {
                fraction *= 10;
            }
        }
    }
    if (h > 23 || m > 59 || s > 59) {
        return false;
    }
    *us = ((int64_t)h * 3600 + m * 60 + s) * TL_US_PER_SECOND + fraction;
    return true;
}

static bool looks_like_name(const cursor *c) {
    const uint8_t *p = c->p;
    if (p < c->end && *p == '[') {
        return true;
    }
    for (; p < c->end; p++) {
        uint8_t l = *p | 0x20;
        if (!((l >= 'a' && l <= 'z') || is_digit(*p) || *p == '/' || *p == '_' || *p == '+' || *p == '-')) {
            return false;
        }
    }
    return c->p < c->end && ((*c->p | 0x20) >= 'a' && (*c->p | 0x20) <= 'z');
}

/* What follows the time: nothing, or a zone, whose distance from UTC comes out. */
static tl_parse zone(cursor *c, int64_t *offset_us, bool *zoned) {
    *offset_us = 0;
    *zoned = false;
    if (c->p == c->end) {
        return TL_PARSE_OK;
    }
    if (*c->p == ' ') {
        c->p++;
    }
    *zoned = true;
    tl_bytes rest = {c->p, (size_t)(c->end - c->p)};
    if (tl_text_is(rest, "z") || tl_text_is(rest, "utc") || tl_text_is(rest, "gmt")) {
        return TL_PARSE_OK;
    }
    bool negative = rest.len && *c->p == '-';
    if (!eat(c, '+') && !eat(c, '-')) {
        return looks_like_name(c) ? TL_PARSE_ZONE_NAME : TL_PARSE_SYNTAX;
    }
    int32_t h, m = 0;
    if (!two(c, &h)) {
        return TL_PARSE_SYNTAX;
    }
    if (c->p < c->end) {
        (void)eat(c, ':');
        if (!two(c, &m) || c->p != c->end) {
            return TL_PARSE_SYNTAX;
        }
    }
    if (h > 23 || m > 59) {
        return TL_PARSE_SYNTAX;
    }
    int64_t us = ((int64_t)h * 60 + m) * 60 * TL_US_PER_SECOND;
    *offset_us = negative ? -us : us;
    return TL_PARSE_OK;
}

tl_parse tl_parse_timestamp(tl_bytes text, int64_t *out_us, bool *zoned) {
    cursor c = {text.data, text.data + text.len};
    int64_t days, us = 0, offset = 0;
    bool inexact = false;
    *zoned = false;
    if (!date(&c, &days)) {
        return TL_PARSE_SYNTAX;
    }
    if (c.p < c.end) {
        if ((*c.p | 0x20) != 't' && *c.p != ' ') {
            return TL_PARSE_SYNTAX;
        }
        c.p++;
        if (!time_of_day(&c, &us, &inexact)) {
            return TL_PARSE_SYNTAX;
        }
        tl_parse r = zone(&c, &offset, zoned);
        if (r != TL_PARSE_OK) {
            return r;
        }
    }
    if (inexact) {
        return TL_PARSE_INEXACT;
    }
    /* Wide, since the first day that fits begins before the first microsecond that does. */
    tl_i128 v = (tl_i128)days * TL_US_PER_DAY + us - offset;
    if (v < INT64_MIN || v > INT64_MAX) {
        return TL_PARSE_RANGE;
    }
    *out_us = (int64_t)v;
    return TL_PARSE_OK;
}

tl_parse tl_parse_date(tl_bytes text, int32_t *out_days) {
    cursor c = {text.data, text.data + text.len};
    int64_t days;
    if (text.len == 8 && is_digit(text.data[4])) { /* 20260131 */
        int32_t a, b, m, d;
        if (!two(&c, &a) || !two(&c, &b) || !two(&c, &m) || !two(&c, &d) ||
            !tl_civil_to_days((int64_t)a * 100 + b, m, d, &days)) {
            return TL_PARSE_SYNTAX;
        }
        *out_days = (int32_t)days;
        return TL_PARSE_OK;
    }
    if (!date(&c, &days)) {
        return TL_PARSE_SYNTAX;
    }
    if (c.p < c.end) {
        int64_t us;
        bool zoned;
        tl_parse r = tl_parse_timestamp(text, &us, &zoned);
        if (r == TL_PARSE_OK) {
            r = zoned ? TL_PARSE_SYNTAX : us % TL_US_PER_DAY ? TL_PARSE_INEXACT : TL_PARSE_OK;
        }
        if (r != TL_PARSE_OK) {
            return r;
        }
    }
    if (days < INT32_MIN || days > INT32_MAX) {
        return TL_PARSE_RANGE;
    }
    *out_days = (int32_t)days;
    return TL_PARSE_OK;
}

tl_parse tl_parse_time(tl_bytes text, int64_t *out_us) {
    cursor c = {text.data, text.data + text.len};
    bool inexact;
    int64_t us;
    if (!time_of_day(&c, &us, &inexact) || c.p != c.end) {
        return TL_PARSE_SYNTAX;
    }
    if (inexact) {
        return TL_PARSE_INEXACT;
    }
    *out_us = us;
    return TL_PARSE_OK;
}
