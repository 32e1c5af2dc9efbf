/* Fast printing; see fast_text.h. */
#include "cli/fast_text.h"

#include <math.h>
#include <string.h>
#include <yyjson.h>

#include "base/civil.h"
#include "base/num.h"

/* m / 10^places, which has a point and no zero at its end but "x.0". */
static size_t lay_out(bool negative, uint64_t m, int places, char *out) {
    char digits[24];
    int n = 0, at = 0;
    if (negative) {
        out[at++] = '-';
    }
    for (; m > 0 || n <= places; m /= 10) {
        digits[n++] = (char)('0' + m % 10);
    }
    while (n > places) {
        out[at++] = digits[--n];
    }
    out[at++] = '.';
    if (places == 0) {
        out[at++] = '0';
    }
    while (n > 0) {
        out[at++] = digits[--n];
    }
    return (size_t)at;
}

/* yyjson writes the shortest digits, and in this range without an exponent: just as they are wanted. */
size_t tl_fast_double(double v, char *out) {
    double size = fabs(v);
    if (!(size >= 1e-4 && size < 1e15)) {
        return 0;
    }
    char memory[512];
    yyjson_alc pool;
    yyjson_val value = {0};
    size_t len = 0;
    if (!yyjson_alc_pool_init(&pool, memory, sizeof memory) || !yyjson_set_real(&value, v)) {
        return 0;
    }
    const char *text = yyjson_val_write_opts(&value, 0, &pool, &len, NULL);
    if (!text || len >= TL_NUM_TEXT || memchr(text, 'e', len)) {
        return 0;
    }
    memcpy(out, text, len);
    return len;
}

/* A decimal m / 10^k with m and 10^k exact gives v back when their quotient, which is rounded once, is v. With k from 0
 * upwards the first is the shortest. */
size_t tl_fast_float(float v, char *out) {
    static const float powers[] = {1, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};
    float size = fabsf(v);
    if (!(size >= 1e-4F && size < 1e6F)) {
        return 0;
    }
    for (int k = 0; k < (int)TL_COUNT(powers); k++) {
        float m = nearbyintf(size * powers[k]);
        if (m >= 1e6F) {
            return 0;
        }
        if (m / powers[k] == size) {
            return lay_out(v < 0, (uint64_t)m, k, out);
        }
    }
    return 0;
}

static char *put(char *out, uint32_t v, int digits) {
    for (int i = digits - 1; i >= 0; i--, v /= 10) {
        out[i] = (char)('0' + v % 10);
    }
    return out + digits;
}

size_t tl_fast_timestamp(int64_t us, bool utc, char *out) {
    int64_t days = tl_floor_div(us, TL_US_PER_DAY);
    tl_civil c = tl_civil_from_days(days);
    if (c.year < 0 || c.year > 9999) {
        return 0;
    }
    int64_t rest = us - days * TL_US_PER_DAY;
    uint32_t seconds = (uint32_t)(rest / 1000000), fraction = (uint32_t)(rest % 1000000);
    char *p = put(out, (uint32_t)c.year, 4);
    *p++ = '-';
    p = put(p, (uint32_t)c.month, 2);
    *p++ = '-';
    p = put(p, (uint32_t)c.day, 2);
    *p++ = 'T';
    p = put(p, seconds / 3600, 2);
    *p++ = ':';
    p = put(p, seconds / 60 % 60, 2);
    *p++ = ':';
    p = put(p, seconds % 60, 2);
    if (fraction) {
        *p++ = '.';
        p = fraction % 1000 ? put(p, fraction, 6) : put(p, fraction / 1000, 3);
    }
    if (utc) {
        *p++ = 'Z';
    }
    return (size_t)(p - out);
}
