/* Tests of base/num and base/civil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/civil.h"
#include "base/env.h"
#include "base/num.h"

static uint64_t seed;

static uint64_t dice(void) {
    return tl_seeded_next(&seed);
}

static void start_dice(void) {
    const char *given = getenv("TL_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("TL_SEED=%llu\n", (unsigned long long)seed);
}

static tl_bytes text_of(const char *s) {
    return tl_bytes_of(s);
}

/* ---- integers and decimals ---- */

static void integers_are_read_whole_or_refused(void **state) {
    static const struct {
        const char *text;
        tl_parse result;
        int64_t value;
    } cases[] = {{"0", TL_PARSE_OK, 0},
                 {"-0", TL_PARSE_OK, 0},
                 {"+7", TL_PARSE_OK, 7},
                 {"007", TL_PARSE_OK, 7},
                 {"-17", TL_PARSE_OK, -17},
                 {"3.0", TL_PARSE_OK, 3},
                 {"3.", TL_PARSE_OK, 3},
                 {".0", TL_PARSE_OK, 0},
                 {"1e3", TL_PARSE_OK, 1000},
                 {"1.5e1", TL_PARSE_OK, 15},
                 {"1200e-2", TL_PARSE_OK, 12},
                 {"0e999999999999", TL_PARSE_OK, 0},
                 {"9223372036854775807", TL_PARSE_OK, INT64_MAX},
                 {"9223372036854775808", TL_PARSE_RANGE, 0},
                 {"-9223372036854775808", TL_PARSE_OK, INT64_MIN},
                 {"-9223372036854775809", TL_PARSE_RANGE, 0},
                 {"99999999999999999999", TL_PARSE_RANGE, 0},
                 {"1e19", TL_PARSE_RANGE, 0},
                 {"1e999999999999", TL_PARSE_RANGE, 0},
                 {"000000000000000000000000000001", TL_PARSE_OK, 1},
                 {"1.5", TL_PARSE_INEXACT, 0},
                 {"1e-1", TL_PARSE_INEXACT, 0},
                 {"", TL_PARSE_SYNTAX, 0},
                 {"-", TL_PARSE_SYNTAX, 0},
                 {".", TL_PARSE_SYNTAX, 0},
                 {"e1", TL_PARSE_SYNTAX, 0},
                 {"1e", TL_PARSE_SYNTAX, 0},
                 {"1e+", TL_PARSE_SYNTAX, 0},
                 {" 1", TL_PARSE_SYNTAX, 0},
                 {"1 ", TL_PARSE_SYNTAX, 0},
                 {"0x10", TL_PARSE_SYNTAX, 0},
                 {"1,000", TL_PARSE_SYNTAX, 0},
                 {"12x", TL_PARSE_SYNTAX, 0},
                 {"--1", TL_PARSE_SYNTAX, 0}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        int64_t v = 0;
        tl_parse r = tl_parse_i64(text_of(cases[i].text), &v);
        if (r != cases[i].result || (r == TL_PARSE_OK && v != cases[i].value)) {
            fail_msg("\"%s\": result %d, value %lld", cases[i].text, (int)r, (long long)v);
        }
    }
}

static void decimals_keep_every_digit(void **state) {
    static const struct {
        const char *text;
        int32_t precision, scale;
        tl_parse result;
        const char *printed;
    } cases[] = {
        {"1.2", 10, 2, TL_PARSE_OK, "1.20"},
        {"-0.05", 10, 2, TL_PARSE_OK, "-0.05"},
        {"12345678.90", 10, 2, TL_PARSE_OK, "12345678.90"},
        {"99999999.99", 10, 2, TL_PARSE_OK, "99999999.99"},
        {"100000000", 10, 2, TL_PARSE_RANGE, NULL},
        {"99999999.995", 10, 2, TL_PARSE_INEXACT, NULL},
        {"1.235", 10, 2, TL_PARSE_INEXACT, NULL},
        {"1.230", 10, 2, TL_PARSE_OK, "1.23"},
        {"1e2", 10, 2, TL_PARSE_OK, "100.00"},
        {"1e-2", 10, 2, TL_PARSE_OK, "0.01"},
        {"0.000", 2, 2, TL_PARSE_OK, "0.00"},
        {"99999999999999999999999999999999999999", 38, 0, TL_PARSE_OK, "99999999999999999999999999999999999999"},
        {"100000000000000000000000000000000000000", 38, 0, TL_PARSE_RANGE, NULL},
        {"-0.99999999999999999999999999999999999999", 38, 38, TL_PARSE_OK, "-0.99999999999999999999999999999999999999"},
        {"abc", 10, 2, TL_PARSE_SYNTAX, NULL},
        {"", 10, 2, TL_PARSE_SYNTAX, NULL}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_i128 v = 0;
        tl_parse r = tl_parse_decimal(text_of(cases[i].text), cases[i].precision, cases[i].scale, &v);
        assert_int_equal(r, cases[i].result);
        if (r == TL_PARSE_OK) {
            char out[TL_NUM_TEXT];
            tl_print_decimal(v, cases[i].scale, out);
            assert_string_equal(out, cases[i].printed);
        }
    }
    char out[TL_NUM_TEXT];
    tl_print_decimal(12, -3, out);
    assert_string_equal(out, "12000");
    tl_print_decimal(0, -3, out);
    assert_string_equal(out, "0");
    tl_print_decimal(-5, 0, out);
    assert_string_equal(out, "-5");
}

/* ---- floating point ---- */

static void doubles_are_the_nearest(void **state) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0.1", 0.1},
                 {"-0", -0.0},
                 {"1e22", 1e22},
                 {"1e23", 1e23},
                 {"9007199254740993", 9007199254740992.0},
                 {"9007199254740993.00000000000000000000000000000000000000000001", 9007199254740994.0},
                 {"2.2250738585072011e-308", 2.2250738585072011e-308},
                 {"4.9406564584124654e-324", DBL_TRUE_MIN},
                 {"2.4703282292062327208e-324", 0.0},
                 {"1e-400", 0.0},
                 {"1.7976931348623157e308", DBL_MAX},
                 {"1.7976931348623158e308", DBL_MAX},
                 {"123456789012345678901234567890", 123456789012345678901234567890.0},
                 {"0.000000000000000000000000000001", 1e-30},
                 {"inf", INFINITY},
                 {"-Infinity", -INFINITY}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        double v = 1;
        assert_int_equal(tl_parse_double(text_of(cases[i].text), &v), TL_PARSE_OK);
        if (memcmp(&v, &cases[i].value, 8) != 0) {
            fail_msg("\"%s\" gave %.17g", cases[i].text, v);
        }
    }
    double v;
    assert_int_equal(tl_parse_double(text_of("NaN"), &v), TL_PARSE_OK);
    assert_true(isnan(v));
    static const char *const bad[] = {"", "abc", "1.2.3", "1e", "0x1p3", "nan(1)", "in", " 1", "1 ", "1,5", "-", "+-1"};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        assert_int_equal(tl_parse_double(text_of(bad[i]), &v), TL_PARSE_SYNTAX);
    }
    assert_int_equal(tl_parse_double(text_of("1e309"), &v), TL_PARSE_RANGE);
    assert_int_equal(tl_parse_double(text_of("-1.7976931348623159e308"), &v), TL_PARSE_RANGE);
    float f;
    assert_int_equal(tl_parse_float(text_of("3.5e38"), &f), TL_PARSE_RANGE);
    /* Rounding over double first would give the wrong neighbour here. */
    assert_int_equal(tl_parse_float(text_of("1.00000017881393432617187499"), &f), TL_PARSE_OK);
    assert_true(f == 0x1.000002p0f);
    assert_int_equal(tl_parse_float(text_of("0.1"), &f), TL_PARSE_OK);
    assert_true(f == 0.1f);
}

static void long_texts_round_as_their_last_digit_says(void **state) {
    /* 1 + 2^-53 is halfway between two doubles; a digit far behind decides. */
    char text[3000] = "1.00000000000000011102230246251565404236316680908203125";
    size_t n = strlen(text);
    double v;
    assert_int_equal(tl_parse_double(text_of(text), &v), TL_PARSE_OK);
    assert_true(v == 1.0);
    memset(text + n, '0', 2000);
    text[n + 2000] = '\0';
    assert_int_equal(tl_parse_double(text_of(text), &v), TL_PARSE_OK);
    assert_true(v == 1.0);
    text[n + 1999] = '1';
    assert_int_equal(tl_parse_double(text_of(text), &v), TL_PARSE_OK);
    assert_true(v == 1.0 + DBL_EPSILON);
    /* A number of 2,000 digits before the point, made small by its exponent. */
    memset(text, '9', 2000);
    strcpy(text + 2000, "e-2000");
    assert_int_equal(tl_parse_double(text_of(text), &v), TL_PARSE_OK);
    assert_true(v == 1.0);
}

static void printed_numbers_come_back_and_are_short(void **state) {
    start_dice();
    char out[TL_NUM_TEXT];
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = dice();
        double v, back;
        memcpy(&v, &bits, 8);
        if (i % 3 == 0) {
            v = (double)(int64_t)(bits % 2000000) / 1000 - 1000;
        }
        tl_print_double(v, out);
        if (isnan(v)) {
            assert_string_equal(out, "NaN");
            continue;
        }
        assert_int_equal(tl_parse_double(text_of(out), &back), TL_PARSE_OK);
        assert_memory_equal(&v, &back, 8);
        assert_true(back == strtod(out, NULL));
        assert_true(strlen(out) <= 26);
        uint32_t small = (uint32_t)bits;
        float f, fback;
        memcpy(&f, &small, 4);
        if (isfinite(f)) {
            tl_print_float(f, out);
            assert_int_equal(tl_parse_float(text_of(out), &fback), TL_PARSE_OK);
            assert_memory_equal(&f, &fback, 4);
        }
    }
    static const struct {
        double v;
        const char *text;
    } cases[] = {{3.9, "3.9"},
                 {3, "3.0"},
                 {-0.0, "-0.0"},
                 {1e20, "1e20"},
                 {1e15, "1000000000000000.0"},
                 {1e16, "1e16"},
                 {0.00123, "0.00123"},
                 {3e-7, "3e-7"},
                 {1.5e300, "1.5e300"},
                 {5e-324, "5e-324"},
                 {0x1p-24, "5.960464477539063e-8"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {123456.75, "123456.75"}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_print_double(cases[i].v, out);
        assert_string_equal(out, cases[i].text);
    }
    tl_print_float(0.1f, out);
    assert_string_equal(out, "0.1");
    tl_print_float(16777216.0f, out);
    assert_string_equal(out, "16777216.0");
}

static void random_decimal_texts_equal_strtod(void **state) {
    start_dice();
    for (int i = 0; i < 200000; i++) {
        char text[128];
        int n = 0, digits = 1 + (int)(dice() % 30), point = (int)(dice() % 31);
        for (int k = 0; k < digits; k++) {
            if (k == point) {
                text[n++] = '.';
            }
            text[n++] = (char)('0' + dice() % 10);
        }
        int spread = i % 2 ? 40 : 660; /* near 1 another way leads to the same value */
        n += snprintf(text + n, 20, "e%d", (int)(dice() % (uint64_t)spread) - spread / 2);
        double want = strtod(text, NULL), got = 0;
        tl_parse r = tl_parse_double(text_of(text), &got);
        if (isinf(want) ? r != TL_PARSE_RANGE : (r != TL_PARSE_OK || memcmp(&want, &got, 8) != 0)) {
            fail_msg("%s: %.17g, not %.17g", text, got, want);
        }
        float wantf = strtof(text, NULL), gotf = 0;
        r = tl_parse_float(text_of(text), &gotf);
        if (isinf(wantf) ? r != TL_PARSE_RANGE : (r != TL_PARSE_OK || memcmp(&wantf, &gotf, 4) != 0)) {
            fail_msg("%s: %.9g, not %.9g", text, (double)gotf, (double)wantf);
        }
    }
}

static void locale_changes_nothing(void **state) {
    /* Any locale with a decimal comma will do; on a machine without one the check of the point is all there is. */
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8", "ru_RU.UTF-8"};
    for (size_t i = 0; i < TL_COUNT(names) && !setlocale(LC_NUMERIC, names[i]); i++) {}
    double v;
    char out[TL_NUM_TEXT];
    assert_int_equal(tl_parse_double(text_of("3.14159265358979312345"), &v), TL_PARSE_OK);
    assert_true(v == 3.14159265358979312345);
    tl_print_double(v, out);
    assert_string_equal(out, "3.141592653589793");
    setlocale(LC_NUMERIC, "C");
}

/* ---- booleans and uuids ---- */

static void booleans_and_uuids(void **state) {
    bool b = false;
    assert_int_equal(tl_parse_bool(text_of("TRUE"), &b), TL_PARSE_OK);
    assert_true(b);
    assert_int_equal(tl_parse_bool(text_of("off"), &b), TL_PARSE_OK);
    assert_false(b);
    assert_int_equal(tl_parse_bool(text_of("1"), &b), TL_PARSE_OK);
    assert_true(b);
    assert_int_equal(tl_parse_bool(text_of("2"), &b), TL_PARSE_SYNTAX);
    assert_int_equal(tl_parse_bool(text_of(""), &b), TL_PARSE_SYNTAX);
    assert_int_equal(tl_parse_bool((tl_bytes){NULL, 0}, &b), TL_PARSE_SYNTAX);
    uint8_t u[16], w[16];
    assert_int_equal(tl_parse_uuid(text_of("01234567-89ab-cdef-0123-456789ABCDEF"), u), TL_PARSE_OK);
    assert_int_equal(tl_parse_uuid(text_of("0123456789abcdef0123456789abcdef"), w), TL_PARSE_OK);
    assert_memory_equal(u, w, 16);
    assert_int_equal(u[15], 0xef);
    assert_int_equal(tl_parse_uuid(text_of("0123456789abcdef0123456789abcdeg"), w), TL_PARSE_SYNTAX);
    assert_int_equal(tl_parse_uuid(text_of("01234567-89ab-cdef-0123-456789abcde"), w), TL_PARSE_SYNTAX);
}

/* ---- dates and times ---- */

static void every_day_comes_back(void **state) {
    for (int64_t day = -1000000; day <= 3000000; day++) {
        tl_civil c = tl_civil_from_days(day);
        int64_t back;
        assert_true(tl_civil_to_days(c.year, c.month, c.day, &back));
        assert_int_equal(back, day);
    }
    start_dice();
    for (int i = 0; i < 200000; i++) {
        int64_t day = (int64_t)dice() >> (dice() % 40), back;
        tl_civil c = tl_civil_from_days(day);
        assert_true(tl_civil_to_days(c.year, c.month, c.day, &back));
        assert_int_equal(back, day);
    }
    static const int64_t edges[] = {
        INT64_MIN, INT64_MIN + 1, INT64_MIN + 800000, INT64_MAX, INT64_MAX - 1, INT64_MAX - 800000, 0, -1,
        -719468,   -719469};
    for (size_t i = 0; i < TL_COUNT(edges); i++) {
        int64_t back;
        tl_civil c = tl_civil_from_days(edges[i]);
        assert_true(tl_civil_to_days(c.year, c.month, c.day, &back));
        assert_int_equal(back, edges[i]);
    }
    int64_t out;
    assert_false(tl_civil_to_days(INT64_MAX, 1, 1, &out));
    assert_false(tl_civil_to_days(INT64_MIN, 1, 1, &out));
    assert_false(tl_civil_to_days(2026, 2, 29, &out));
    assert_true(tl_civil_to_days(2024, 2, 29, &out));
    assert_false(tl_civil_to_days(2026, 13, 1, &out));
    assert_false(tl_civil_to_days(2026, 0, 1, &out));
    assert_true(tl_civil_to_days(1970, 1, 1, &out) && out == 0);
    assert_true(tl_civil_to_days(1969, 12, 31, &out) && out == -1);
}

static void timestamps_are_read_in_their_usual_forms(void **state) {
    static const struct {
        const char *text;
        tl_parse result;
        int64_t us;
        bool zoned;
    } cases[] = {{"1970-01-01", TL_PARSE_OK, 0, false},
                 {"1970-01-01T00:00:01", TL_PARSE_OK, 1000000, false},
                 {"1970-01-01 00:00:01", TL_PARSE_OK, 1000000, false},
                 {"1970-01-01 00:01", TL_PARSE_OK, 60000000, false},
                 {"1970-01-01T00:00:00.5", TL_PARSE_OK, 500000, false},
                 {"1970-01-01T00:00:00.000001", TL_PARSE_OK, 1, false},
                 {"1970-01-01T00:00:00.000001000", TL_PARSE_OK, 1, false},
                 {"1970-01-01T00:00:00.0000010000000000", TL_PARSE_OK, 1, false},
                 {"1970-01-01T00:00:00.000001001", TL_PARSE_INEXACT, 0, false},
                 {"1970-01-01T00:00:00.0000010000000001", TL_PARSE_INEXACT, 0, false},
                 {"1969-12-31T23:59:59.999999", TL_PARSE_OK, -1, false},
                 {"1970-01-01T00:00:00Z", TL_PARSE_OK, 0, true},
                 {"1970-01-01t00:00:00z", TL_PARSE_OK, 0, true},
                 {"1970-01-01T00:00:00 UTC", TL_PARSE_OK, 0, true},
                 {"1970-01-01T00:00:00GMT", TL_PARSE_OK, 0, true},
                 {"1970-01-01T01:00:00+01:00", TL_PARSE_OK, 0, true},
                 {"1970-01-01T01:00:00+0100", TL_PARSE_OK, 0, true},
                 {"1970-01-01T01:00:00+01", TL_PARSE_OK, 0, true},
                 {"1970-01-01 01:00:00 +01:00", TL_PARSE_OK, 0, true},
                 {"1969-12-31T18:30:00-05:30", TL_PARSE_OK, 0, true},
                 {"2025-03-29T23:30:00Z", TL_PARSE_OK, 1743291000000000, true},
                 {"1970-01-01T00:00:00 Europe/Berlin", TL_PARSE_ZONE_NAME, 0, true},
                 {"1970-01-01T00:00:00 EST", TL_PARSE_ZONE_NAME, 0, true},
                 {"1970-01-01T00:00:00[Europe/Berlin]", TL_PARSE_ZONE_NAME, 0, true},
                 {"9999-12-31T23:59:59.999999", TL_PARSE_OK, 253402300799999999, false},
                 {"+10000-01-01", TL_PARSE_OK, 253402300800000000, false},
                 {"0001-01-01", TL_PARSE_OK, -62135596800000000, false},
                 {"-0001-01-01", TL_PARSE_OK, -62198755200000000, false},
                 {"+294247-01-10T04:00:54.775807", TL_PARSE_OK, INT64_MAX, false},
                 {"+294247-01-10T04:00:54.775808", TL_PARSE_RANGE, 0, false},
                 {"-290308-12-21T19:59:05.224192", TL_PARSE_OK, INT64_MIN, false},
                 {"-290308-12-21T19:59:05.224191", TL_PARSE_RANGE, 0, false},
                 {"+999999999999-01-01", TL_PARSE_RANGE, 0, false},
                 {"10000-01-01", TL_PARSE_SYNTAX, 0, false},
                 {"26-01-01", TL_PARSE_SYNTAX, 0, false},
                 {"2026-1-1", TL_PARSE_SYNTAX, 0, false},
                 {"2026-02-30", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T24:00:00", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T23:60:00", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T23:59:60", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T00:00:00.", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T00:00:00+24:00", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T00:00:00+1", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T00:00:00 ", TL_PARSE_SYNTAX, 0, false},
                 {"2026-01-01T00:00:00Zx!", TL_PARSE_SYNTAX, 0, false},
                 {"1735689600000000", TL_PARSE_SYNTAX, 0, false},
                 {"", TL_PARSE_SYNTAX, 0, false},
                 {" 2026-01-01", TL_PARSE_SYNTAX, 0, false}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        int64_t us = 0;
        bool zoned;
        tl_parse r = tl_parse_timestamp(text_of(cases[i].text), &us, &zoned);
        if (r != cases[i].result || (r == TL_PARSE_OK && (us != cases[i].us || zoned != cases[i].zoned))) {
            fail_msg("\"%s\": result %d, %lld, zoned %d", cases[i].text, (int)r, (long long)us, zoned);
        }
    }
}

static void dates_and_times_of_the_day(void **state) {
    int32_t d;
    int64_t us;
    assert_int_equal(tl_parse_date(text_of("2026-01-01"), &d), TL_PARSE_OK);
    assert_int_equal(d, 20454);
    assert_int_equal(tl_parse_date(text_of("20260101"), &d), TL_PARSE_OK);
    assert_int_equal(d, 20454);
    assert_int_equal(tl_parse_date(text_of("2026-01-01T00:00:00"), &d), TL_PARSE_OK);
    assert_int_equal(d, 20454);
    assert_int_equal(tl_parse_date(text_of("2026-01-01T00:00:01"), &d), TL_PARSE_INEXACT);
    assert_int_equal(tl_parse_date(text_of("2026-01-01T00:00:00Z"), &d), TL_PARSE_SYNTAX);
    assert_int_equal(tl_parse_date(text_of("20260132"), &d), TL_PARSE_SYNTAX);
    assert_int_equal(tl_parse_date(text_of("+5881580-07-11"), &d), TL_PARSE_OK);
    assert_int_equal(d, INT32_MAX);
    assert_int_equal(tl_parse_date(text_of("+5881580-07-12"), &d), TL_PARSE_RANGE);
    assert_int_equal(tl_parse_date(text_of("-5877641-06-23"), &d), TL_PARSE_OK);
    assert_int_equal(d, INT32_MIN);
    assert_int_equal(tl_parse_date(text_of("-5877641-06-22"), &d), TL_PARSE_RANGE);
    assert_int_equal(tl_parse_time(text_of("23:59:59.999999"), &us), TL_PARSE_OK);
    assert_true(us == 86399999999);
    assert_int_equal(tl_parse_time(text_of("10:30"), &us), TL_PARSE_OK);
    assert_true(us == 37800000000);
    assert_int_equal(tl_parse_time(text_of("10:30:00.0000001"), &us), TL_PARSE_INEXACT);
    assert_int_equal(tl_parse_time(text_of("24:00:00"), &us), TL_PARSE_SYNTAX);
    assert_int_equal(tl_parse_time(text_of("10:30Z"), &us), TL_PARSE_SYNTAX);
}

static void times_are_printed_in_iso_form(void **state) {
    static const struct {
        int64_t value, per_second;
        bool utc;
        const char *text;
    } cases[] = {{0, 1, false, "1970-01-01T00:00:00"},
                 {-1, 1000000, true, "1969-12-31T23:59:59.999999Z"},
                 {1, 1000000000, false, "1970-01-01T00:00:00.000000001"},
                 {500, 1000, true, "1970-01-01T00:00:00.500Z"},
                 {500000, 1000000, true, "1970-01-01T00:00:00.500Z"},
                 {INT64_MAX, 1000000, false, "+294247-01-10T04:00:54.775807"},
                 {INT64_MIN, 1000000, false, "-290308-12-21T19:59:05.224192"},
                 {INT64_MIN, 1000000000, true, "1677-09-21T00:12:43.145224192Z"}};
    char out[TL_NUM_TEXT];
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_print_timestamp(cases[i].value, cases[i].per_second, cases[i].utc, out);
        assert_string_equal(out, cases[i].text);
    }
    tl_print_timestamp(INT64_MAX, 1, false, out);
    assert_string_equal(out, "+292277026596-12-04T15:30:07");
    tl_print_time(86399999999, 1000000, out);
    assert_string_equal(out, "23:59:59.999999");
    tl_print_time(-5, 1000, out);
    assert_string_equal(out, "-5");
    tl_print_date(-719528, out);
    assert_string_equal(out, "0000-01-01");
    start_dice();
    for (int i = 0; i < 20000; i++) {
        int64_t us = (int64_t)dice() >> (dice() % 30), back;
        bool zoned;
        size_t n = tl_print_timestamp(us, 1000000, i & 1, out);
        assert_int_equal(tl_parse_timestamp((tl_bytes){(uint8_t *)out, n}, &back, &zoned), TL_PARSE_OK);
        assert_int_equal(back, us);
        assert_int_equal(zoned, i & 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_whole_or_refused),
        cmocka_unit_test(decimals_keep_every_digit),
        cmocka_unit_test(doubles_are_the_nearest),
        cmocka_unit_test(long_texts_round_as_their_last_digit_says),
        cmocka_unit_test(printed_numbers_come_back_and_are_short),
        cmocka_unit_test(random_decimal_texts_equal_strtod),
        cmocka_unit_test(locale_changes_nothing),
        cmocka_unit_test(booleans_and_uuids),
        cmocka_unit_test(every_day_comes_back),
        cmocka_unit_test(timestamps_are_read_in_their_usual_forms),
        cmocka_unit_test(dates_and_times_of_the_day),
        cmocka_unit_test(times_are_printed_in_iso_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
