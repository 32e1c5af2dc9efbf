/* Numbers, dates and times to text. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/civil.h"
#include "base/num.h"

/* Only integers are formatted with printf here: their digits are the same in every locale. */

size_t tl_print_u64(uint64_t v, char *out) {
    char back[24];
    size_t n = 0;
    do {
        back[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    for (size_t i = 0; i < n; i++) {
        out[i] = back[n - 1 - i];
    }
    out[n] = '\0';
    return n;
}

size_t tl_print_i64(int64_t v, char *out) {
    if (v >= 0) {
        return tl_print_u64((uint64_t)v, out);
    }
    out[0] = '-';
    return 1 + tl_print_u64(0 - (uint64_t)v, out + 1);
}

/* The digits of a finite positive number, without the point of the locale, and the place of the point: 0.ddd *
 * 10^place. Zeros at the end are dropped. */
static int digits_of(double v, int precision, char digits[32], int *place) {
    char text[64];
    (void)snprintf(text, sizeof text, "%.*e", precision - 1, v);
    int n = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9') {
            digits[n++] = *p;
        }
    }
    bool negative = p[0] == 'e' && p[1] == '-';
    int exponent = 0;
    for (; *p; p++) {
        if (*p >= '0' && *p <= '9') {
            exponent = exponent * 10 + (*p - '0');
        }
    }
    *place = (negative ? -exponent : exponent) + 1;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    return n;
}

/* Lays out 0.digits * 10^place: plain near 1, with an exponent elsewhere. */
static size_t lay_out(bool negative, const char *digits, int n, int place, char *out) {
    char *p = out;
    if (negative) {
        *p++ = '-';
    }
    if (place > 0 && place <= 16) {
        for (int i = 0; i < (n > place ? n : place); i++) {
            if (i == place) {
                *p++ = '.';
            }
            *p++ = i < n ? digits[i] : '0';
        }
        if (n <= place) {
            *p++ = '.';
            *p++ = '0';
        }
    } else if (place > -5 && place <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = place; i < 0; i++) {
            *p++ = '0';
        }
        memcpy(p, digits, (size_t)n);
        p += n;
    } else {
        *p++ = digits[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, digits + 1, (size_t)n - 1);
            p += n - 1;
        }
        *p++ = 'e';
        p += tl_print_i64(place - 1, p);
    }
    *p = '\0';
    return (size_t)(p - out);
}

static size_t print_special(double v, char *out) {
    const char *text = isnan(v) ? "NaN" : isinf(v) ? (v < 0 ? "-inf" : "inf") : signbit(v) ? "-0.0" : "0.0";
    size_t n = strlen(text);
    memcpy(out, text, n + 1);
    return n;
}

/* "mantissa" "e" exponent, for the parsers. */
static tl_bytes as_text(uint64_t mantissa, int exponent, char *buffer) {
    size_t n = tl_print_u64(mantissa, buffer);
    buffer[n] = 'e';
    return (tl_bytes){(const uint8_t *)buffer, n + 1 + tl_print_i64(exponent, buffer + n + 1)};
}

static bool gives_double(uint64_t mantissa, int exponent, double v) {
    char text[2 * TL_NUM_TEXT];
    double back;
    return tl_parse_double(as_text(mantissa, exponent, text), &back) == TL_PARSE_OK && back == v;
}

static bool gives_float(uint64_t mantissa, int exponent, float v) {
    char text[2 * TL_NUM_TEXT];
    float back;
    return tl_parse_float(as_text(mantissa, exponent, text), &back) == TL_PARSE_OK && back == v;
}

/* The fewest digits, from `least` on, that give `v` back as a double or float. At powers of two the neighbours lie
 * unevenly, and the digits next to the rounded ones may be the ones that come back. */
static int shortest(double v, bool single, int least, int most, char digits[32], int *place) {
    for (int precision = least; precision <= most; precision++) {
        int n = digits_of(v, precision, digits, place), exponent = *place - n;
        uint64_t m = 0;
        for (int i = 0; i < n; i++) {
            m = m * 10 + (uint64_t)(digits[i] - '0');
        }
        for (; n < precision; n++, exponent--) {
            m *= 10;
        }
        for (int step = 0; step < 3; step++) {
            uint64_t near = step == 0 ? m : step == 1 ? m + 1 : m - 1;
            if (near == 0 || !(single ? gives_float(near, exponent, (float)v) : gives_double(near, exponent, v))) {
                continue;
            }
            char text[TL_NUM_TEXT];
            int len = (int)tl_print_u64(near, text);
            *place = exponent + len;
            while (len > 1 && text[len - 1] == '0') {
                len--;
            }
            memcpy(digits, text, (size_t)len);
            return len;
        }
    }
    return digits_of(v, most, digits, place);
}

size_t tl_print_double(double v, char *out) {
    if (!isfinite(v) || v == 0) {
        return print_special(v, out);
    }
    char digits[32];
    int place, least = fabs(v) < DBL_MIN ? 1 : 15; /* 15 digits come back from every normal number */
    int n = shortest(fabs(v), false, least, 17, digits, &place);
    return lay_out(v < 0, digits, n, place, out);
}

size_t tl_print_float(float v, char *out) {
    if (!isfinite(v) || v == 0) {
        return print_special((double)v, out);
    }
    char digits[32];
    int place, least = fabsf(v) < FLT_MIN ? 1 : 6;
    int n = shortest(fabs((double)v), true, least, 9, digits, &place);
    return lay_out(v < 0, digits, n, place, out);
}

size_t tl_print_decimal(tl_i128 unscaled, int32_t scale, char *out) {
    tl_u128 v = unscaled < 0 ? 0 - (tl_u128)unscaled : (tl_u128)unscaled;
    char back[48];
    int32_t n = 0;
    do {
        back[n++] = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v);
    char *p = out;
    if (unscaled < 0) {
        *p++ = '-';
    }
    int32_t places = scale > 0 ? scale : 0;
    for (int32_t i = (n > places ? n : places + 1) - 1; i >= 0; i--) {
        *p++ = i < n ? back[i] : '0';
        if (i == places && places > 0) {
            *p++ = '.';
        }
    }
    for (int32_t i = scale; i < 0 && !(n == 1 && back[0] == '0'); i++) {
        *p++ = '0';
    }
    *p = '\0';
    return (size_t)(p - out);
}

size_t tl_print_date(int64_t days, char *out) {
    tl_civil c = tl_civil_from_days(days);
    const char *sign = c.year < 0 ? "-" : c.year > 9999 ? "+" : "";
    int n =
        snprintf(out, TL_NUM_TEXT, "%s%04" PRId64 "-%02d-%02d", sign, c.year < 0 ? -c.year : c.year, c.month, c.day);
    return n > 0 ? (size_t)n : 0;
}

/* ".5" as 3, 6 or 9 digits, the fewest that hold the fraction; nothing for 0. */
static size_t print_fraction(int64_t fraction, int64_t per_second, char *out) {
    if (fraction == 0) {
        out[0] = '\0';
        return 0;
    }
    int digits = per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;
    while (digits > 3 && fraction % 1000 == 0) {
        fraction /= 1000;
        digits -= 3;
    }
    int n = snprintf(out, 16, ".%0*" PRId64, digits, fraction);
    return n > 0 ? (size_t)n : 0;
}

static size_t print_clock(int64_t value, int64_t per_second, char *out) {
    int64_t s = value / per_second;
    int n = snprintf(out, 16, "%02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    size_t at = n > 0 ? (size_t)n : 0;
    return at + print_fraction(value % per_second, per_second, out + at);
}

size_t tl_print_time(int64_t value, int64_t per_second, char *out) {
    if (value < 0 || value >= per_second * 86400) {
        return tl_print_i64(value, out);
    }
    return print_clock(value, per_second, out);
}

size_t tl_print_timestamp(int64_t value, int64_t per_second, bool utc, char *out) {
    int64_t per_day = per_second * 86400, days = tl_floor_div(value, per_day);
    size_t n = tl_print_date(days, out);
    out[n++] = 'T';
    int64_t rest = value % per_day; /* not by days * per_day, which may wrap */
    n += print_clock(rest < 0 ? rest + per_day : rest, per_second, out + n);
    if (utc) {
        out[n++] = 'Z';
        out[n] = '\0';
    }
    return n;
}
