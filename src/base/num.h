/*
 * Numbers, dates and times from and to text, without locale and without loss.
 * Comes in: a whole text (no blanks around it are taken). Goes out: the value, or why it is none.
 */
#ifndef TL_BASE_NUM_H
#define TL_BASE_NUM_H

#include "base/base.h"

__extension__ typedef __int128 tl_i128;
__extension__ typedef unsigned __int128 tl_u128;

typedef enum tl_parse {
    TL_PARSE_OK,
    TL_PARSE_SYNTAX,   /* not such a text at all: "abc", "12x", "2026-02-30", "" */
    TL_PARSE_RANGE,    /* one, but beyond what the target holds: "3000000000" for 32 bits */
    TL_PARSE_INEXACT,  /* one, but digits would be lost: "1.5" for an integer, a nanosecond for microseconds */
    TL_PARSE_ZONE_NAME /* a timestamp with a zone by name, which cannot be resolved without a zone database */
} tl_parse;

/* Integers: an optional sign, digits; also exact decimal forms of integers: "3.0", "1e3". "-0" is 0. */
tl_parse tl_parse_i64(tl_bytes text, int64_t *out);

/* Decimals as `unscaled` with |unscaled| < 10^precision, value = unscaled / 10^scale; exact or INEXACT.
 * precision 1..38, scale 0..precision; the exponent form is read too. */
tl_parse tl_parse_decimal(tl_bytes text, int32_t precision, int32_t scale, tl_i128 *out);

/* The nearest double or float (ties to even) of a decimal text of any length; "inf", "infinity", "nan" in any case,
 * with sign. Texts beyond the largest finite value are RANGE; those below the smallest round to it or to zero. */
tl_parse tl_parse_double(tl_bytes text, double *out);
tl_parse tl_parse_float(tl_bytes text, float *out);

/* true/false, t/f, yes/no, y/n, on/off, 1/0; any case. */
tl_parse tl_parse_bool(tl_bytes text, bool *out);

/* Days since 1970: "2026-01-31", "20260131", years beyond 0..9999 with a sign ("+12026-01-31"); also a timestamp
 * without zone that is exactly midnight. */
tl_parse tl_parse_date(tl_bytes text, int32_t *out_days);

/* Microseconds of the day: "hh:mm", "hh:mm:ss", "hh:mm:ss.f" with any number of digits, those below 1 us being 0. */
tl_parse tl_parse_time(tl_bytes text, int64_t *out_us);

/* Microseconds since 1970: a date; or a date, 'T' or a blank, a time, and an optional zone: Z, UTC, GMT, +hh, +hhmm,
 * +hh:mm, with or without a blank before it. `zoned` says whether there was one; the value is then UTC. */
tl_parse tl_parse_timestamp(tl_bytes text, int64_t *out_us, bool *zoned);

/* 8-4-4-4-12 hex digits, or 32 without dashes; any case. */
tl_parse tl_parse_uuid(tl_bytes text, uint8_t out[16]);

/* Is it this word (given in lower case), whatever case its ASCII letters have? Without the locale's idea of case. */
bool tl_text_is(tl_bytes text, const char *word);

/* ---- values to text: NUL-terminated, the length is returned ---- */

#define TL_NUM_TEXT 144 /* every `out` below has room for this much */

size_t tl_print_i64(int64_t v, char *out);
size_t tl_print_u64(uint64_t v, char *out);
/* The shortest digits that give the value back: "3.9", "3.0", "1e20", "-0.0", "NaN", "inf". */
size_t tl_print_double(double v, char *out);
size_t tl_print_float(float v, char *out);
/* unscaled / 10^scale with all digits of the scale: "1.20"; scale -76..76, negative scales append zeros. */
size_t tl_print_decimal(tl_i128 unscaled, int32_t scale, char *out);
size_t tl_print_date(int64_t days, char *out); /* "2026-01-31" */
/* "10:30:00", with 3, 6 or 9 digits of fraction when they are not 0. `value` counts 1/per_second; per_second is 1,
 * 1000, 1000000 or 1000000000. Values outside of a day are printed as the plain number. */
size_t tl_print_time(int64_t value, int64_t per_second, char *out);
/* "2026-01-31T10:30:00.5" with fraction as above and "Z" when `utc`; any int64. */
size_t tl_print_timestamp(int64_t value, int64_t per_second, bool utc, char *out);

#endif
