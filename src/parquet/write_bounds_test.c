/* Bounds: NaN, zeros, orders, and the cutting of long values. */
#include "parquet/testing_internal.h"

#include <math.h>

#include "base/mem.h"
#include "parquet/write_internal.h"

typedef struct bounds_case {
    tl_pq_bounds bounds;
    tl_arena arena;
    tl_pq_stored_bounds stored;
} bounds_case;

static void bound(bounds_case *c, const tl_pq_column_options *o, const void *values, size_t n) {
    tl_pq_bounds_begin(&c->bounds);
    TL_OKAY(tl_pq_bounds_add(&c->bounds, o, values, n));
    TL_OKAY(tl_pq_bounds_store(&c->bounds, o, &c->arena, &c->stored));
}

static void done(bounds_case *c) {
    tl_pq_bounds_free(&c->bounds);
    tl_arena_free(&c->arena);
}

static void is_double(tl_bytes b, double want) {
    assert_int_equal(b.len, 8);
    assert_memory_equal(b.data, &want, 8);
}

static void nan_is_outside_of_bounds_and_counted(void **state) {
    (void)state;
    bounds_case c = {0};
    tl_pq_column_options o = {.type = TL_PQ_DOUBLE};
    const double some[] = {NAN, 3.0, -NAN, 1.0, NAN, 7.0, 2.0, NAN, NAN};
    for (size_t from = 0; from < 3; from++) { /* vector and tail both see the NaN */
        bound(&c, &o, some + from, 9 - from);
        is_double(c.stored.min, 1.0);
        is_double(c.stored.max, 7.0);
        assert_int_equal(c.bounds.nan_count, from == 0 ? 5 : from == 1 ? 4 : 4);
    }
    const double none[] = {NAN, NAN, NAN, NAN, NAN};
    bound(&c, &o, none, 5);
    assert_null(c.stored.min.data);
    assert_null(c.stored.max.data);
    assert_int_equal(c.bounds.nan_count, 5);
    o.type = TL_PQ_FLOAT;
    const float floats[] = {NAN, -2.5f, 1.0f};
    bound(&c, &o, floats, 3);
    assert_int_equal(c.stored.min.len, 4);
    assert_memory_equal(c.stored.min.data, &floats[1], 4);
    assert_memory_equal(c.stored.max.data, &floats[2], 4);
    assert_int_equal(c.bounds.nan_count, 1);
    done(&c);
}

static void a_least_zero_is_negative_and_a_greatest_positive(void **state) {
    (void)state;
    bounds_case c = {0};
    tl_pq_column_options o = {.type = TL_PQ_DOUBLE};
    const double zeros[][2] = {{0.0, 0.0}, {-0.0, -0.0}, {0.0, -0.0}};
    for (int i = 0; i < 3; i++) {
        bound(&c, &o, zeros[i], 2);
        is_double(c.stored.min, -0.0);
        is_double(c.stored.max, 0.0);
    }
    const double infinite[] = {INFINITY, -INFINITY};
    bound(&c, &o, infinite, 2);
    is_double(c.stored.min, -INFINITY);
    is_double(c.stored.max, INFINITY);
    o.type = TL_PQ_FLOAT;
    const float floats[] = {0.0f}, least = -0.0f;
    bound(&c, &o, floats, 1);
    assert_memory_equal(c.stored.min.data, &least, 4);
    assert_memory_equal(c.stored.max.data, floats, 4);
    done(&c);
}

static void integers_are_ordered_by_their_sign(void **state) {
    (void)state;
    bounds_case c = {0};
    const int32_t narrow[] = {5, -1, 7, 3};
    const int64_t wide[] = {5, -1, INT64_MAX, INT64_MIN, 3};
    tl_pq_column_options o = {.type = TL_PQ_INT32, .is_signed = true};
    bound(&c, &o, narrow, 4);
    assert_int_equal(tl_load_i32(c.stored.min.data), -1);
    assert_int_equal(tl_load_i32(c.stored.max.data), 7);
    o.is_signed = false;
    bound(&c, &o, narrow, 4);
    assert_int_equal(tl_load_i32(c.stored.min.data), 3);
    assert_int_equal(tl_load_i32(c.stored.max.data), -1);
    o = (tl_pq_column_options){.type = TL_PQ_INT64, .is_signed = true};
    bound(&c, &o, wide, 5);
    assert_true(tl_load_i64(c.stored.min.data) == INT64_MIN && tl_load_i64(c.stored.max.data) == INT64_MAX);
    o.is_signed = false;
    bound(&c, &o, wide, 5);
    assert_true(tl_load_i64(c.stored.min.data) == 3 && tl_load_i64(c.stored.max.data) == -1);
    const uint8_t flags[] = {1, 1};
    o = (tl_pq_column_options){.type = TL_PQ_BOOLEAN};
    bound(&c, &o, flags, 2);
    assert_int_equal(c.stored.min.len, 1);
    assert_int_equal(c.stored.min.data[0], 1);
    done(&c);
}

static void random_numbers_are_within_tight_bounds(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    bounds_case c = {0};
    for (int round = 0; round < 1000; round++) {
        const tl_pq_column_options o = {.type = round % 2 ? TL_PQ_DOUBLE : TL_PQ_FLOAT};
        double values[100], least = INFINITY, greatest = -INFINITY;
        float floats[100];
        size_t n = 1 + (size_t)tl_dice_below(&dice, 100), nan = 0;
        for (size_t i = 0; i < n; i++) {
            bool odd = tl_dice_one_in(&dice, 9);
            floats[i] = odd ? NAN : (float)(int64_t)tl_dice_u64(&dice) / 7;
            values[i] = floats[i];
            nan += odd;
            least = values[i] < least ? values[i] : least;
            greatest = values[i] > greatest ? values[i] : greatest;
        }
        bound(&c, &o, round % 2 ? (const void *)values : floats, n);
        assert_int_equal(c.bounds.nan_count, nan);
        if (nan == n) {
            assert_null(c.stored.min.data);
        } else if (round % 2) {
            is_double(c.stored.min, least);
            is_double(c.stored.max, greatest);
        } else {
            const float low = (float)least, high = (float)greatest;
            assert_memory_equal(c.stored.min.data, &low, 4);
            assert_memory_equal(c.stored.max.data, &high, 4);
        }
        tl_arena_free(&c.arena);
    }
    done(&c);
}

static void decimals_are_ordered_as_numbers(void **state) {
    (void)state;
    bounds_case c = {0};
    tl_pq_column_options o = {.type = TL_PQ_FIXED, .type_length = 2, .signed_bytes = true};
    const uint8_t values[] = {0x00, 0x05, 0xff, 0xfe, 0x7f, 0xff, 0x80, 0x00, 0x00, 0x00};
    bound(&c, &o, values, 5);
    assert_memory_equal(c.stored.min.data, "\x80\x00", 2);
    assert_memory_equal(c.stored.max.data, "\x7f\xff", 2);
    o.signed_bytes = false;
    bound(&c, &o, values, 5);
    assert_memory_equal(c.stored.min.data, "\x00\x00", 2);
    assert_memory_equal(c.stored.max.data, "\xff\xfe", 2);
    /* lengths differ: -1 in one byte, -256 in two, 5 in three */
    const tl_bytes several[] = {{(const uint8_t *)"\xff", 1},
                                {(const uint8_t *)"\xff\x00", 2},
                                {(const uint8_t *)"\x00\x00\x05", 3},
                                {(const uint8_t *)"\x04", 1}};
    o = (tl_pq_column_options){.type = TL_PQ_BYTE_ARRAY, .signed_bytes = true, .bounds_bytes = 64};
    bound(&c, &o, several, 4);
    assert_memory_equal(c.stored.min.data, "\xff\x00", 2);
    assert_memory_equal(c.stored.max.data, "\x00\x00\x05", 3);
    done(&c);
}

static void types_without_an_order_have_no_bounds(void **state) {
    (void)state;
    bounds_case c = {0};
    const uint8_t bytes[300] = {0};
    tl_pq_column_options o = {.type = TL_PQ_INT96};
    bound(&c, &o, bytes, 2);
    assert_null(c.stored.min.data);
    o = (tl_pq_column_options){.type = TL_PQ_FIXED, .type_length = 300};
    bound(&c, &o, bytes, 1);
    assert_null(c.stored.min.data);
    o = (tl_pq_column_options){.type = TL_PQ_INT32, .no_bounds = true};
    bound(&c, &o, bytes, 2);
    assert_null(c.stored.min.data);
    done(&c);
}

/* ---- cutting ---- */

static void bound_texts(bounds_case *c, bool utf8, int32_t limit, tl_bytes value) {
    const tl_pq_column_options o = {.type = TL_PQ_BYTE_ARRAY, .utf8 = utf8, .bounds_bytes = limit};
    bound(c, &o, &value, 1);
}

static void short_texts_are_exact_and_the_empty_one_is_a_bound(void **state) {
    (void)state;
    bounds_case c = {0};
    bound_texts(&c, true, 16, tl_bytes_of("0123456789abcdef"));
    assert_true(c.stored.min_exact && c.stored.max_exact);
    assert_int_equal(c.stored.max.len, 16);
    bound_texts(&c, true, 16, tl_bytes_of(""));
    assert_non_null(c.stored.min.data);
    assert_int_equal(c.stored.min.len, 0);
    assert_true(c.stored.min_exact);
    done(&c);
}

static void is_bytes(tl_bytes got, const char *want) {
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.data, want, got.len);
}

static void long_texts_are_cut_between_characters(void **state) {
    (void)state;
    bounds_case c = {0};
    bound_texts(&c, true, 16, tl_bytes_of("0123456789abcdefg"));
    assert_false(c.stored.min_exact || c.stored.max_exact);
    is_bytes(c.stored.min, "0123456789abcdef");
    is_bytes(c.stored.max, "0123456789abcdeg");
    /* 20 x U+2019, three bytes each: 16 bytes hold five */
    bound_texts(&c, true, 16, tl_bytes_of("’’’’’’’’’’’’’’’’’’’’"));
    is_bytes(c.stored.min, "’’’’’");
    is_bytes(c.stored.max, "’’’’\xe2\x80\x9a");
    /* 16 ASCII and a character beyond them */
    bound_texts(&c, true, 16, tl_bytes_of("0123456789abcdef\xf4\x8f\xbf\xbf"));
    is_bytes(c.stored.min, "0123456789abcdef");
    is_bytes(c.stored.max, "0123456789abcdeg");
    /* the cut falls inside of the last character */
    bound_texts(&c, true, 16, tl_bytes_of("0123456789abcd\xf4\x8f\xbf\xbfz"));
    is_bytes(c.stored.min, "0123456789abcd");
    is_bytes(c.stored.max, "0123456789abce");
    done(&c);
}

static void the_successor_of_a_character_is_a_character(void **state) {
    (void)state;
    bounds_case c = {0};
    /* U+D7FF: the next is U+E000, as surrogates are no characters */
    bound_texts(&c, true, 6, tl_bytes_of("\xed\x9f\xbf\xed\x9f\xbf\xed\x9f\xbf"));
    is_bytes(c.stored.max, "\xed\x9f\xbf\xee\x80\x80");
    /* U+10FFFF has none: the one before is taken */
    bound_texts(&c, true, 5, tl_bytes_of("a\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf"));
    is_bytes(c.stored.min, "a\xf4\x8f\xbf\xbf");
    is_bytes(c.stored.max, "b");
    /* all U+10FFFF: no upper bound at all */
    bound_texts(&c, true, 8, tl_bytes_of("\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf"));
    assert_non_null(c.stored.min.data);
    assert_null(c.stored.max.data);
    /* U+7F, U+7FF, U+FFFF grow by a byte: allowed where it fits the limit, else the one before is taken */
    bound_texts(&c, true, 3, tl_bytes_of("ab\x7f\x7f"));
    is_bytes(c.stored.max, "ac");
    bound_texts(&c, true, 3,
                tl_bytes_of("\x7f\xdf\xbf"
                            "z"));
    is_bytes(c.stored.max, "\xc2\x80");
    bound_texts(&c, true, 5, tl_bytes_of("a\xef\xbf\xbf\xef\xbf\xbf"));
    is_bytes(c.stored.max, "a\xf0\x90\x80\x80");
    done(&c);
}

static void broken_texts_are_cut_nowhere(void **state) {
    (void)state;
    bounds_case c = {0};
    bound_texts(&c, true, 8, tl_bytes_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"));
    assert_null(c.stored.min.data);
    assert_null(c.stored.max.data);
    bound_texts(&c, true, 4, tl_bytes_of("\xff\xff\xff\xff\xff\xff"));
    assert_null(c.stored.max.data);
    done(&c);
}

static void binary_is_cut_and_incremented_by_bytes(void **state) {
    (void)state;
    bounds_case c = {0};
    bound_texts(&c, false, 4, (tl_bytes){(const uint8_t *)"\x01\x02\xff\xff\xff", 5});
    assert_int_equal(c.stored.min.len, 4);
    assert_memory_equal(c.stored.min.data, "\x01\x02\xff\xff", 4);
    assert_int_equal(c.stored.max.len, 2);
    assert_memory_equal(c.stored.max.data, "\x01\x03", 2);
    uint8_t all[40];
    memset(all, 0xff, sizeof all);
    bound_texts(&c, false, 16, (tl_bytes){all, 40});
    assert_int_equal(c.stored.min.len, 16);
    assert_null(c.stored.max.data);
    bound_texts(&c, false, 64, (tl_bytes){all, 40});
    assert_true(c.stored.max_exact && c.stored.max.len == 40);
    done(&c);
}

static size_t random_char(tl_dice *dice, uint8_t *out) {
    static const char *const edges[] = {"a",
                                        "\x7f",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf"};
    const char *c = edges[tl_dice_below(dice, TL_COUNT(edges))];
    memcpy(out, c, strlen(c));
    return strlen(c);
}

static void cut_bounds_hold_and_are_short(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (int round = 0; round < 20000; round++) {
        uint8_t text[100], out[100];
        size_t len = 0, limit = 1 + (size_t)tl_dice_below(&dice, 20), cut;
        while (len <= limit) {
            len += random_char(&dice, text + len);
        }
        tl_bytes value = {text, len};
        bool utf8 = round % 2;
        assert_true(tl_pq_cut_lower(value, limit, utf8, out, &cut));
        assert_true(cut <= limit && tl_bytes_compare((tl_bytes){out, cut}, value) <= 0);
        if (tl_pq_cut_upper(value, limit, utf8, out, &cut)) {
            assert_true(cut <= limit && tl_bytes_compare((tl_bytes){out, cut}, value) > 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_is_outside_of_bounds_and_counted),
        cmocka_unit_test(a_least_zero_is_negative_and_a_greatest_positive),
        cmocka_unit_test(integers_are_ordered_by_their_sign),
        cmocka_unit_test(random_numbers_are_within_tight_bounds),
        cmocka_unit_test(decimals_are_ordered_as_numbers),
        cmocka_unit_test(types_without_an_order_have_no_bounds),
        cmocka_unit_test(short_texts_are_exact_and_the_empty_one_is_a_bound),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(the_successor_of_a_character_is_a_character),
        cmocka_unit_test(broken_texts_are_cut_nowhere),
        cmocka_unit_test(binary_is_cut_and_incremented_by_bytes),
        cmocka_unit_test(cut_bounds_hold_and_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
