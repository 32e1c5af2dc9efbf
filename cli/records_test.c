/* Records: the same whatever the pieces are, and what becomes of quotes that do not end and of lines without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/records.h"

#define OK(expr) assert_int_equal(expr, TL_OK)

/* "1:a|2:b" : lines and texts; the kind is shown as ! (open) or ~ (too long). */
static void show(const tl_records *r, tl_buf *out) {
    for (size_t i = 0; i < r->n; i++) {
        const tl_record *one = &r->items[i];
        tl_bytes text = tl_record_text(r, one);
        const char *kind = one->kind == TL_RECORD_OPEN ? "!" : one->kind == TL_RECORD_TOO_LONG ? "~" : "";
        OK(tl_buf_printf(out, "%lld%s:%.*s|", (long long)one->line, kind, (int)text.len, (const char *)text.data));
    }
}

/* Cuts `text` into pieces of `piece` bytes; with `clear` the records are taken after each. */
static void assert_cut(bool csv, const char *text, size_t piece, bool clear, const char *expected) {
    tl_records r = {.csv = csv, .delimiter = ','};
    tl_buf got = {0};
    tl_error err;
    for (size_t at = 0, len = strlen(text); at < len; at += piece) {
        OK(tl_records_add(&r, text + at, piece < len - at ? piece : len - at, &err));
        if (clear) {
            show(&r, &got);
            tl_records_clear(&r);
        }
    }
    OK(tl_records_end(&r, true, &err));
    show(&r, &got);
    char *shown = tl_buf_take_text(&got);
    assert_string_equal(shown, expected);
    tl_free(shown);
    tl_records_free(&r);
}

static void assert_all(bool csv, const char *text, const char *expected) {
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        assert_cut(csv, text, piece, false, expected);
        assert_cut(csv, text, piece, true, expected);
    }
}

static void lines_are_the_same_in_any_pieces(void **state) {
    (void)state;
    assert_all(false, "a\nb\n", "1:a|2:b|");
    assert_all(false, "a\n\n  \n\"b\r\nc", "1:a|4:\"b|5:c|");
}

static void csv_records_are_the_same_in_any_pieces(void **state) {
    (void)state;
    assert_all(true, "h,i\n1,2\n\n3,4", "2:1,2|4:3,4|");
    assert_all(true, "\r\nh\r\n\"a\nb\"\r\n\"c\"\"\n\",d\ne\n", "3:\"a\nb\"|5:\"c\"\"\n\",d|7:e|");
    assert_all(true, "h\nx\"y\n\"z\"w\n,\"\n\",\n", "2:x\"y|3:\"z\"w|4:,\"\n\",|");
}

static void a_quote_that_does_not_end_costs_its_line_alone(void **state) {
    (void)state;
    assert_all(true, "h\n1\n\"open\n2\n3", "2:1|3!:\"open|4:2|5:3|");
    assert_all(true, "h\n\"open", "2!:\"open|");
    assert_all(true, "h\n\"a\n\"b\n\"c\n1\n", "2:\"a\n\"b|4!:\"c|5:1|");
}

static void a_quote_that_does_not_end_is_noticed_before_the_input_ends(void **state) {
    (void)state;
    tl_records r = {.csv = true, .delimiter = ','};
    tl_error err;
    OK(tl_records_add(&r, "h\n\"open,1\n", 10, &err));
    for (int i = 0; i < (1 << 18) + 10; i++) {
        OK(tl_records_add(&r, "1,2\n", 4, &err));
    }
    assert_in_range(r.n, 1 << 18, (1 << 18) + 11);
    assert_int_equal(r.items[0].kind, TL_RECORD_OPEN);
    assert_int_equal(r.items[0].line, 2);
    assert_int_equal(r.items[1].line, 3);
    assert_int_equal(r.items[r.n - 1].line, r.n + 1);
    tl_records_free(&r);
}

static void a_line_without_end_costs_no_memory(void **state) {
    (void)state;
    char *block = malloc(1 << 20);
    assert_non_null(block);
    memset(block, 'x', 1 << 20);
    for (int csv = 0; csv < 2; csv++) {
        tl_records r = {.csv = csv, .delimiter = ','};
        tl_error err;
        OK(tl_records_add(&r, "h\n", 2, &err));
        tl_records_clear(&r);
        for (int i = 0; i < 100; i++) {
            OK(tl_records_add(&r, block, 1 << 20, &err));
        }
        OK(tl_records_add(&r, "\nlast\n", 6, &err));
        assert_int_equal(r.n, 2);
        assert_int_equal(r.items[0].kind, TL_RECORD_TOO_LONG);
        assert_int_equal(r.items[0].line, 2);
        assert_int_equal(tl_record_text(&r, &r.items[0]).len, 1000);
        assert_int_equal(r.items[1].line, 3);
        assert_int_equal(tl_record_text(&r, &r.items[1]).len, 4);
        assert_in_range(r.bytes.cap, 1, 40 << 20);
        tl_records_free(&r);
    }
    free(block);
}

static void what_has_begun_is_kept_when_records_are_taken(void **state) {
    (void)state;
    tl_records r = {.csv = true, .delimiter = ','};
    tl_error err;
    OK(tl_records_add(&r, "h\n1\n2", 5, &err));
    tl_records_clear(&r);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.head, 2);
    assert_int_equal(tl_records_begun(&r).len, 1);
    OK(tl_records_end(&r, false, &err)); /* stopped: not a whole line */
    assert_int_equal(r.n, 0);
    OK(tl_records_add(&r, "\n", 1, &err));
    assert_int_equal(r.n, 1);
    assert_int_equal(r.items[0].line, 3);
    tl_records_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_in_any_pieces),
        cmocka_unit_test(csv_records_are_the_same_in_any_pieces),
        cmocka_unit_test(a_quote_that_does_not_end_costs_its_line_alone),
        cmocka_unit_test(a_quote_that_does_not_end_is_noticed_before_the_input_ends),
        cmocka_unit_test(a_line_without_end_costs_no_memory),
        cmocka_unit_test(what_has_begun_is_kept_when_records_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
