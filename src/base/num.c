/* Text to integers, decimals, floating-point numbers, booleans and UUIDs. */
#include "base/num.h"

#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

bool tl_text_is(tl_bytes text, const char *word) {
    if (strlen(word) != text.len) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (uint8_t)word[i]) {
            return false;
        }
    }
    return true;
}

/* ---- the one scanner of decimal numbers ---- */

/* A scanned number: value = digits[first..last] * 10^exponent; zero when first > last. */
typedef struct number {
    bool negative;
    const uint8_t *whole, *fraction; /* the digits before and after the point */
    int64_t n_whole, n_fraction;
    int64_t first, last; /* first and last digit that is not 0, counted over both parts */
    int64_t exponent;    /* of the last digit */
} number;

static inline bool is_digit(uint8_t c) {
    return (uint8_t)(c - '0') < 10;
}

static inline uint8_t digit_at(const number *n, int64_t i) {
    return (uint8_t)((i < n->n_whole ? n->whole[i] : n->fraction[i - n->n_whole]) - '0');
}

static const uint8_t *skip_digits(const uint8_t *p, const uint8_t *end) {
    while (p < end && is_digit(*p)) {
        p++;
    }
    return p;
}

/* The digits behind 'e'. Beyond a billion the exact number no longer matters. */
static bool scan_exponent(const uint8_t *p, const uint8_t *end, int64_t *out) {
    bool negative = false;
    if (p < end && (*p == '+' || *p == '-')) {
        negative = *p++ == '-';
    }
    if (p == end) {
        return false;
    }
    int64_t e = 0;
    for (; p < end; p++) {
        if (!is_digit(*p)) {
            return false;
        }
        e = e > 1000000000 ? e : e * 10 + (*p - '0');
    }
    *out = negative ? -e : e;
    return true;
}

static bool scan(tl_bytes text, number *n) {
    const uint8_t *p = text.data, *end = p + text.len;
    *n = (number){0};
    if (p < end && (*p == '+' || *p == '-')) {
        n->negative = *p++ == '-';
    }
    n->whole = p;
    p = skip_digits(p, end);
    n->n_whole = p - n->whole;
    if (p < end && *p == '.') {
        n->fraction = ++p;
        p = skip_digits(p, end);
        n->n_fraction = p - n->fraction;
    }
    int64_t exponent = 0, total = n->n_whole + n->n_fraction;
    if (total == 0) {
        return false;
    }
    if (p < end && (*p | 0x20) == 'e') {
        if (!scan_exponent(p + 1, end, &exponent)) {
            return false;
        }
        p = end;
    }
    if (p != end) {
        return false;
    }
    n->last = total - 1;
    while (n->first < total && digit_at(n, n->first) == 0) {
        n->first++;
    }
    while (n->last >= n->first && digit_at(n, n->last) == 0) {
        n->last--;
    }
    n->exponent = n->n_whole - 1 - n->last + exponent;
    return true;
}

/* The number times 10^scale as an integer; at most `digits` digits, which fit tl_u128. */
static tl_parse to_integer(const number *n, int64_t scale, int64_t digits, tl_u128 *out) {
    *out = 0;
    if (n->first > n->last) {
        return TL_PARSE_OK;
    }
    int64_t zeros = n->exponent + scale, significant = n->last - n->first + 1;
    if (significant + zeros > digits) {
        return TL_PARSE_RANGE;
    }
    if (zeros < 0) {
        return TL_PARSE_INEXACT;
    }
    tl_u128 v = 0;
    for (int64_t i = n->first; i <= n->last; i++) {
        v = v * 10 + digit_at(n, i);
    }
    for (; zeros > 0; zeros--) {
        v *= 10;
    }
    *out = v;
    return TL_PARSE_OK;
}

tl_parse tl_parse_i64(tl_bytes text, int64_t *out) {
    const uint8_t *p = text.data, *end = p + text.len;
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) {
        negative = *p++ == '-';
    }
    if (p < end && end - p <= 18) { /* the usual case: no point, no overflow possible */
        int64_t v = 0;
        while (p < end && is_digit(*p)) {
            v = v * 10 + (*p++ - '0');
        }
        if (p == end) {
            *out = negative ? -v : v;
            return TL_PARSE_OK;
        }
    }
    number n;
    if (!scan(text, &n)) {
        return TL_PARSE_SYNTAX;
    }
    tl_u128 v;
    tl_parse r = to_integer(&n, 0, 19, &v);
    if (r != TL_PARSE_OK) {
        return r;
    }
    if (v > (tl_u128)INT64_MAX + n.negative) {
        return TL_PARSE_RANGE;
    }
    *out = n.negative ? (int64_t) - (tl_i128)v : (int64_t)v;
    return TL_PARSE_OK;
}

tl_parse tl_parse_decimal(tl_bytes text, int32_t precision, int32_t scale, tl_i128 *out) {
    number n;
    if (!scan(text, &n)) {
        return TL_PARSE_SYNTAX;
    }
    tl_u128 v;
    tl_parse r = to_integer(&n, scale, precision, &v);
    if (r == TL_PARSE_OK) {
        *out = n.negative ? -(tl_i128)v : (tl_i128)v;
    }
    return r;
}

/* ---- floating point ---- */

static locale_t c_locale(void) {
    static _Atomic(locale_t) made;
    locale_t have = atomic_load(&made);
    if (!have) {
        locale_t fresh = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (!fresh) {
            return (locale_t)0;
        }
        if (atomic_compare_exchange_strong(&made, &have, fresh)) {
            have = fresh;
        } else {
            freelocale(fresh);
        }
    }
    return have;
}

enum { MAX_DIGITS = 800 }; /* a double's halfway points have at most 767 significant digits */

/* The number as "d...de<exponent>" with at most MAX_DIGITS digits; cut digits that are not all 0 leave a 1 behind,
 * which keeps the value on its side of every halfway point. */
static void plain_text(const number *n, char *out) {
    int64_t count = n->last - n->first + 1, exponent = n->exponent;
    int64_t take = count > MAX_DIGITS ? MAX_DIGITS : count;
    char *p = out;
    if (n->negative) {
        *p++ = '-';
    }
    for (int64_t i = 0; i < take; i++) {
        *p++ = (char)('0' + digit_at(n, n->first + i));
    }
    exponent += count - take;
    if (count > take) {
        *p++ = '1';
        exponent--;
    }
    *p++ = 'e';
    (void)tl_print_i64(exponent, p);
}

/* "inf", "infinity", "nan" with a sign; 0 = none of them, 1 = infinite, 2 = NaN. */
static int special(tl_bytes text, bool *negative) {
    *negative = false;
    if (text.len && (*text.data == '+' || *text.data == '-')) {
        *negative = *text.data == '-';
        text.data++;
        text.len--;
    }
    return tl_text_is(text, "inf") || tl_text_is(text, "infinity") ? 1 : tl_text_is(text, "nan") ? 2 : 0;
}

/* Up to 19 significant digits as an integer; false when there are more. */
static bool small_mantissa(const number *n, uint64_t *out) {
    if (n->last - n->first >= 19) {
        return false;
    }
    uint64_t v = 0;
    for (int64_t i = n->first; i <= n->last; i++) {
        v = v * 10 + digit_at(n, i);
    }
    *out = v;
    return true;
}

static const uint64_t tens[] = {UINT64_C(1),
                                UINT64_C(10),
                                UINT64_C(100),
                                UINT64_C(1000),
                                UINT64_C(10000),
                                UINT64_C(100000),
                                UINT64_C(1000000),
                                UINT64_C(10000000),
                                UINT64_C(100000000),
                                UINT64_C(1000000000),
                                UINT64_C(10000000000),
                                UINT64_C(100000000000),
                                UINT64_C(1000000000000),
                                UINT64_C(10000000000000),
                                UINT64_C(100000000000000),
                                UINT64_C(1000000000000000),
                                UINT64_C(10000000000000000),
                                UINT64_C(100000000000000000),
                                UINT64_C(1000000000000000000),
                                UINT64_C(10000000000000000000)};

/* m * 10^exponent as wide * 2^shift, where wide has 64 bits or more of the value and its last bit says whether anything
 * was cut: whoever rounds it to 53 or 24 bits rounds the true value. For up to 19 digits behind or zeros after m. */
static bool to_binary(uint64_t m, int64_t exponent, tl_u128 *wide, int *shift) {
    if (m == 0 || exponent < -19 || exponent > 19) {
        return false;
    }
    if (exponent >= 0) {
        *wide = (tl_u128)m * tens[exponent];
        *shift = 0;
        return true;
    }
    int up = __builtin_clzll(m);
    tl_u128 numerator = (tl_u128)(m << up) << 64, by = tens[-exponent];
    *wide = numerator / by;
    *wide |= numerator % by != 0; /* never the last of the bits that are kept: the quotient has at least 63 */
    *shift = -64 - up;
    return true;
}

tl_parse tl_parse_double(tl_bytes text, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    number n;
    if (!scan(text, &n)) {
        bool negative;
        int which = special(text, &negative);
        double v = which == 1 ? HUGE_VAL : NAN;
        *out = negative ? -v : v;
        return which ? TL_PARSE_OK : TL_PARSE_SYNTAX;
    }
    if (n.first > n.last) {
        *out = n.negative ? -0.0 : 0.0;
        return TL_PARSE_OK;
    }
    uint64_t m;
    /* Both factors are exact doubles, so the one rounding of the product or quotient is the right one. */
    if (n.exponent >= -22 && n.exponent <= 22 && small_mantissa(&n, &m) && m <= UINT64_C(1) << 53) {
        double v = n.exponent < 0 ? (double)m / powers[-n.exponent] : (double)m * powers[n.exponent];
        *out = n.negative ? -v : v;
        return TL_PARSE_OK;
    }
    tl_u128 wide;
    int shift;
    if (small_mantissa(&n, &m) && to_binary(m, n.exponent, &wide, &shift)) {
        double v = ldexp((double)wide, shift);
        *out = n.negative ? -v : v;
        return TL_PARSE_OK;
    }
    char plain[MAX_DIGITS + 32 + TL_NUM_TEXT];
    plain_text(&n, plain);
    double v = strtod_l(plain, NULL, c_locale());
    if (isinf(v)) {
        return TL_PARSE_RANGE;
    }
    *out = v;
    return TL_PARSE_OK;
}

tl_parse tl_parse_float(tl_bytes text, float *out) {
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    number n;
    if (!scan(text, &n)) {
        bool negative;
        int which = special(text, &negative);
        float v = which == 1 ? HUGE_VALF : NAN;
        *out = negative ? -v : v;
        return which ? TL_PARSE_OK : TL_PARSE_SYNTAX;
    }
    if (n.first > n.last) {
        *out = n.negative ? -0.0f : 0.0f;
        return TL_PARSE_OK;
    }
    uint64_t m;
    if (n.exponent >= -10 && n.exponent <= 10 && small_mantissa(&n, &m) && m <= UINT64_C(1) << 24) {
        float v = n.exponent < 0 ? (float)m / powers[-n.exponent] : (float)m * powers[n.exponent];
        *out = n.negative ? -v : v;
        return TL_PARSE_OK;
    }
    tl_u128 wide;
    int shift;
    if (small_mantissa(&n, &m) && to_binary(m, n.exponent, &wide, &shift)) {
        float v = ldexpf((float)wide, shift);
        *out = n.negative ? -v : v;
        return TL_PARSE_OK;
    }
    char plain[MAX_DIGITS + 32 + TL_NUM_TEXT];
    plain_text(&n, plain);
    float v = strtof_l(plain, NULL, c_locale());
    if (isinf(v)) {
        return TL_PARSE_RANGE;
    }
    *out = v;
    return TL_PARSE_OK;
}

/* ---- the rest ---- */

tl_parse tl_parse_bool(tl_bytes text, bool *out) {
    static const char *const words[2][6] = {{"false", "f", "no", "n", "off", "0"},
                                            {"true", "t", "yes", "y", "on", "1"}};
    for (int v = 0; v < 2; v++) {
        for (size_t i = 0; i < TL_COUNT(words[v]); i++) {
            if (tl_text_is(text, words[v][i])) {
                *out = v;
                return TL_PARSE_OK;
            }
        }
    }
    return TL_PARSE_SYNTAX;
}

tl_parse tl_parse_uuid(tl_bytes text, uint8_t out[16]) {
    if (text.len == 32) {
        static const uint8_t starts[] = {0, 8, 12, 16, 20, 32};
        uint8_t dashed[36], *p = dashed;
        for (int i = 0; i < 5; i++) {
            size_t len = (size_t)(starts[i + 1] - starts[i]);
            memcpy(p, text.data + starts[i], len);
            p += len;
            if (i < 4) {
                *p++ = '-';
            }
        }
        return tl_uuid_parse((tl_bytes){dashed, 36}, out) ? TL_PARSE_OK : TL_PARSE_SYNTAX;
    }
    return tl_uuid_parse(text, out) ? TL_PARSE_OK : TL_PARSE_SYNTAX;
}
