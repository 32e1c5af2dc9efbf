/* Tests of the command's pure parts: SQL text, UTF-8, guessing types. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "base/num.h"
#include "cli/fast_text.h"
#include "cli/guess.h"
#include "cli/split.h"
#include "cli/utf8.h"

static tl_bytes text(const char *t) {
    return tl_bytes_of(t);
}

/* ---- SQL text ---- */

static void assert_statements(const char *sql, const char *const *expected, size_t n) {
    size_t at = 0, found = 0;
    tl_bytes s;
    while (tl_sql_next(text(sql), &at, &s)) {
        assert_true(found < n);
        assert_int_equal(s.len, strlen(expected[found]));
        assert_memory_equal(s.data, expected[found], s.len);
        found++;
    }
    assert_int_equal(found, n);
}

static void statements_are_parted_at_semicolons_outside_of_quotes(void **state) {
    (void)state;
    assert_statements("select 1;select 2", (const char *const[]){"select 1", "select 2"}, 2);
    assert_statements("select ';' , \";\" ; ;; -- a; b\n", (const char *const[]){"select ';' , \";\" "}, 1);
    assert_statements("select 'it''s;'; x", (const char *const[]){"select 'it''s;'", " x"}, 2);
    assert_statements("select e'\\';'; x", (const char *const[]){"select e'\\';'", " x"}, 2);
    assert_statements("select $$;$$ ; select $a$;$$;$a$", (const char *const[]){"select $$;$$ ", " select $a$;$$;$a$"},
                      2);
    assert_statements("select /* ; /* ; */ ; */ 1; x", (const char *const[]){"select /* ; /* ; */ ; */ 1", " x"}, 2);
    assert_statements("select $1; x", (const char *const[]){"select $1", " x"}, 2);
    assert_statements("", NULL, 0);
    assert_statements(" ;\n-- nothing", NULL, 0);
    assert_statements("select 'open", (const char *const[]){"select 'open"}, 1);
    assert_statements("select e'\\", (const char *const[]){"select e'\\"}, 1);
}

static void a_table_is_named_by_a_whole_word_in_any_case(void **state) {
    (void)state;
    assert_true(tl_sql_has_word(text("select * from Readings"), "readings"));
    assert_true(tl_sql_has_word(text("select * from iot.readings r"), "readings"));
    assert_true(tl_sql_has_word(text("select * from \"my-table\""), "my-table"));
    assert_true(tl_sql_has_word(text("from query('from readings')"), "readings"));
    assert_false(tl_sql_has_word(text("select * from readings2"), "readings"));
    assert_false(tl_sql_has_word(text("select * from all_readings"), "readings"));
    assert_false(tl_sql_has_word(text("select \xc3\xa4readings"), "readings"));
    assert_false(tl_sql_has_word(text(""), "readings"));
}

static void assert_quoted(const char *sql, const char *expected) {
    tl_buf out = {0};
    assert_int_equal(tl_sql_quote_default(text(sql), &out), TL_OK);
    assert_int_equal(out.len, strlen(expected));
    assert_memory_equal(out.data, expected, out.len);
    tl_buf_free(&out);
}

static void the_namespace_default_is_quoted_and_nothing_else(void **state) {
    (void)state;
    assert_quoted("from default.t", "from \"default\".t");
    assert_quoted("from Default.t join x.default.t", "from \"Default\".t join x.default.t");
    assert_quoted("select 'default.t', \"default\".x -- default.y", "select 'default.t', \"default\".x -- default.y");
    assert_quoted("set x = default", "set x = default");
}

static void words_of_a_statement_skip_comments(void **state) {
    (void)state;
    char word[16];
    tl_sql_word(text("/* a */ CREATE -- x\n OR replace"), 0, word, sizeof word);
    assert_string_equal(word, "create");
    tl_sql_word(text("/* a */ CREATE -- x\n OR replace"), 2, word, sizeof word);
    assert_string_equal(word, "replace");
    tl_sql_word(text("select"), 1, word, sizeof word);
    assert_string_equal(word, "");
}

/* ---- UTF-8 ---- */

/* Where the check stops, with the text cut in two at every place. */
static void assert_utf8(const char *bytes, size_t len, bool good) {
    for (size_t cut = 0; cut <= len; cut++) {
        tl_utf8 s = {0};
        bool passed = tl_utf8_check(&s, (const uint8_t *)bytes, cut) == cut &&
                      tl_utf8_check(&s, (const uint8_t *)bytes + cut, len - cut) == len - cut && tl_utf8_complete(&s);
        assert_int_equal(passed, good);
    }
}

static void broken_utf8_is_found_wherever_the_text_is_cut(void **state) {
    (void)state;
    assert_utf8("plain ascii text, long enough for words", 39, true);
    assert_utf8("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, true);
    assert_utf8("\xed\x9f\xbf\xee\x80\x80", 6, true);
    assert_utf8("a\xff", 2, false);
    assert_utf8("a\xc3", 2, false);
    assert_utf8("\xc0\x80", 2, false);
    assert_utf8("\xe0\x80\x80", 3, false);
    assert_utf8("\xed\xa0\x80", 3, false);
    assert_utf8("\xf4\x90\x80\x80", 4, false);
    assert_utf8("\x80", 1, false);
    assert_utf8("\xe2\x82x", 3, false);
}

static void widths_count_wide_and_combining_characters(void **state) {
    (void)state;
    assert_int_equal(tl_utf8_width((const uint8_t *)"abc", 3), 3);
    assert_int_equal(tl_utf8_width((const uint8_t *)"\xe6\x97\xa5\xe6\x9c\xac", 6), 4);
    assert_int_equal(tl_utf8_width((const uint8_t *)"e\xcc\x81", 3), 1);
    assert_int_equal(tl_utf8_width((const uint8_t *)"\xff\xc3", 2), 2);
}

/* ---- guessing ---- */

/* The first of LONG, DOUBLE, ... that all values may be; 0 = text. */
static unsigned guess(const char *const *values, size_t n) {
    unsigned possible = TL_GUESS_ALL;
    for (size_t i = 0; i < n; i++) {
        possible = tl_guess_text(text(values[i]), possible);
    }
    return possible & (~possible + 1);
}
#define GUESS(...)                                                                                                     \
    guess((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void guesses_the_narrowest_type_that_every_value_is_plainly_written_as(void **state) {
    (void)state;
    assert_int_equal(GUESS("1", "-2", "0"), TL_GUESS_LONG);
    assert_int_equal(GUESS("1", "2.5"), TL_GUESS_DOUBLE);
    assert_int_equal(GUESS("1.0"), TL_GUESS_DOUBLE);
    assert_int_equal(GUESS("1e5", "NaN"), TL_GUESS_DOUBLE);
    assert_int_equal(GUESS("true", "FALSE"), TL_GUESS_BOOL);
    assert_int_equal(GUESS("2025-01-02"), TL_GUESS_DATE);
    assert_int_equal(GUESS("2025-01-02", "2025-01-02 03:04"), TL_GUESS_TIMESTAMP);
    assert_int_equal(GUESS("2025-01-02T03:04:05Z", "2025-01-02T03:04:05+02:00"), TL_GUESS_TIMESTAMPTZ);
    assert_int_equal(GUESS("10:20:30"), TL_GUESS_TIME);
}

static void what_would_lose_something_stays_text(void **state) {
    (void)state;
    assert_int_equal(GUESS("007"), 0);
    assert_int_equal(GUESS("-01.5"), 0);
    assert_int_equal(GUESS("12345678901234567890123"), 0);
    assert_int_equal(GUESS("1", "x"), 0);
    assert_int_equal(GUESS("1", "true"), 0);
    assert_int_equal(GUESS("1", "2025-01-01"), 0);
    assert_int_equal(GUESS("yes"), 0);
    assert_int_equal(GUESS("2025-01-02T03:04:05.1234567Z"), 0);
    assert_int_equal(GUESS(""), 0);
    assert_int_equal(GUESS("-"), 0);
    assert_int_equal(GUESS("+"), 0);
}

/* ---- printing ---- */

static uint64_t seed;

static uint64_t dice(void) {
    return tl_seeded_next(&seed);
}

static void assert_same_text(size_t n, const char *fast, size_t m, const char *general) {
    if (n != 0 && (n != m || memcmp(fast, general, n) != 0)) {
        fail_msg("seed: \"%.*s\" instead of \"%.*s\"", (int)n, fast, (int)m, general);
    }
}

static void fast_printing_is_general_printing(void **state) {
    (void)state;
    const char *given = getenv("TL_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("TL_SEED=%llu\n", (unsigned long long)seed);
    char fast[TL_NUM_TEXT], general[TL_NUM_TEXT];
    size_t handled = 0;
    for (int i = 0; i < 200000; i++) {
        double d;
        float f;
        uint64_t bits = dice();
        uint32_t narrow = (uint32_t)dice();
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &narrow, sizeof f);
        if (i % 4 == 1) { /* all digits, of usual size */
            d = (double)(int64_t)dice() / 9007199254740992.0 / (double)(1 + dice() % 1000);
            f = (float)d;
        } else if (i % 4) { /* what people measure: few digits */
            double scale[] = {1, 10, 100, 1000, 1e6, 1e9};
            d = (double)(int64_t)(dice() % 2000000000 - 1000000000) / scale[dice() % 6];
            f = (float)d;
        }
        size_t n = tl_fast_double(d, fast);
        handled += n > 0;
        assert_same_text(n, fast, tl_print_double(d, general), general);
        assert_same_text(tl_fast_float(f, fast), fast, tl_print_float(f, general), general);
        int64_t us = (int64_t)(dice() % 400000000000000000) - 100000000000000000;
        us = i % 3 == 0 ? us / 1000 * 1000 : i % 3 == 1 ? us / 1000000 * 1000000 : us;
        assert_same_text(tl_fast_timestamp(us, i % 2, fast), fast, tl_print_timestamp(us, 1000000, i % 2, general),
                         general);
    }
    assert_true(handled > 100000);
    assert_int_equal(tl_fast_double(0.0, fast), 0); /* signs of zero are the general one's business */
    assert_int_equal(tl_fast_timestamp(INT64_MIN, true, fast), 0);
    assert_int_equal(tl_fast_timestamp(INT64_MAX, true, fast), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_parted_at_semicolons_outside_of_quotes),
        cmocka_unit_test(a_table_is_named_by_a_whole_word_in_any_case),
        cmocka_unit_test(the_namespace_default_is_quoted_and_nothing_else),
        cmocka_unit_test(words_of_a_statement_skip_comments),
        cmocka_unit_test(broken_utf8_is_found_wherever_the_text_is_cut),
        cmocka_unit_test(widths_count_wide_and_combining_characters),
        cmocka_unit_test(guesses_the_narrowest_type_that_every_value_is_plainly_written_as),
        cmocka_unit_test(what_would_lose_something_stays_text),
        cmocka_unit_test(fast_printing_is_general_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
