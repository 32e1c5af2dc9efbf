/* Single-value encoding: orders, numbers, conversion from Parquet's bounds. */
#include <math.h>

#include "iceberg/testing_internal.h"

static tl_bytes raw(const void *data, size_t len) {
    return (tl_bytes){data, len};
}

static int order_of(tl_type_id id, tl_bytes a, tl_bytes b) {
    tl_type t = {.id = id, .precision = 38, .length = 2};
    int order, back;
    assert_int_equal(tl_value_compare(&t, a, b, &order, NULL), TL_OK);
    assert_int_equal(tl_value_compare(&t, b, a, &back, NULL), TL_OK);
    assert_int_equal((order > 0) - (order < 0), -((back > 0) - (back < 0)));
    return (order > 0) - (order < 0);
}

static void doubles_are_in_key_order(void **state) {
    const double ascending[] = {-INFINITY, -1, -0.0, 0.0, 1, INFINITY, NAN};
    for (size_t i = 0; i < TL_COUNT(ascending); i++) {
        for (size_t k = 0; k < TL_COUNT(ascending); k++) {
            float f = (float)ascending[i], g = (float)ascending[k];
            int wanted = (i > k) - (i < k);
            assert_int_equal(order_of(TL_TYPE_DOUBLE, raw(&ascending[i], 8), raw(&ascending[k], 8)), wanted);
            assert_int_equal(order_of(TL_TYPE_FLOAT, raw(&f, 4), raw(&g, 4)), wanted);
            assert_int_equal(order_of(TL_TYPE_DOUBLE, raw(&f, 4), raw(&ascending[k], 8)), wanted);
        }
    }
    double nan = NAN, minus_nan = -NAN;
    assert_int_equal(order_of(TL_TYPE_DOUBLE, raw(&nan, 8), raw(&minus_nan, 8)), 0);
}

static void numbers_of_both_widths_compare(void **state) {
    const int32_t a = -5;
    const int64_t b = 3;
    int order;
    tl_type t = {.id = TL_TYPE_INT};
    assert_int_equal(order_of(TL_TYPE_LONG, raw(&a, 4), raw(&b, 8)), -1);
    assert_int_equal(order_of(TL_TYPE_INT, raw(&a, 4), raw(&a, 4)), 0);
    assert_int_equal(tl_value_compare(&t, raw(&a, 4), raw(&b, 8), &order, NULL), TL_CORRUPT);
}

static void decimals_compare_by_value_at_any_length(void **state) {
    assert_int_equal(order_of(TL_TYPE_DECIMAL, raw("\x80", 1), raw("\x7f", 1)), -1);
    assert_int_equal(order_of(TL_TYPE_DECIMAL, raw("\xff\x80", 2), raw("\x80", 1)), 0);
    assert_int_equal(order_of(TL_TYPE_DECIMAL, raw("\x00\x80", 2), raw("\x7f", 1)), 1);
    assert_int_equal(order_of(TL_TYPE_DECIMAL, raw("\x01\x00", 2), raw("\xff", 1)), 1);
    tl_type t = {.id = TL_TYPE_DECIMAL, .precision = 5};
    int order;
    assert_int_equal(tl_value_compare(&t, raw("", 0), raw("\x01", 1), &order, NULL), TL_CORRUPT);
    assert_int_equal(tl_value_compare(&t, raw("\x01", 1), raw("123456789012345678", 18), &order, NULL), TL_CORRUPT);
}

static void bytes_compare_unsigned(void **state) {
    assert_int_equal(order_of(TL_TYPE_STRING, raw("a", 1), raw("ab", 2)), -1);
    assert_int_equal(order_of(TL_TYPE_STRING, raw("\xc3\xa9", 2), raw("z", 1)), 1);
    assert_int_equal(order_of(TL_TYPE_BINARY, raw("\xff", 1), raw("\x01", 1)), 1);
    assert_int_equal(order_of(TL_TYPE_FIXED, raw("\x01\x02", 2), raw("\x01\x03", 2)), -1);
    assert_int_equal(order_of(TL_TYPE_BOOLEAN, raw("\0", 1), raw("\x01", 1)), -1);
}

static void wrong_lengths_are_corrupt_and_nested_types_have_no_order(void **state) {
    static const struct {
        tl_type_id id;
        size_t len;
    } cases[] = {{TL_TYPE_BOOLEAN, 2}, {TL_TYPE_INT, 3},    {TL_TYPE_LONG, 5},
                 {TL_TYPE_FLOAT, 8},   {TL_TYPE_DOUBLE, 7}, {TL_TYPE_DATE, 8},
                 {TL_TYPE_UUID, 15},   {TL_TYPE_FIXED, 3},  {TL_TYPE_TIMESTAMPTZ, 0}};
    uint8_t bytes[16] = {0};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_type t = {.id = cases[i].id, .length = 2};
        int order;
        tl_error err = {{0}};
        assert_int_equal(tl_value_compare(&t, raw(bytes, cases[i].len), raw(bytes, cases[i].len), &order, &err),
                         TL_CORRUPT);
        assert_true(err.message[0] != 0);
    }
    tl_type list = {.id = TL_TYPE_LIST};
    int order;
    assert_int_equal(tl_value_compare(&list, raw(bytes, 1), raw(bytes, 1), &order, NULL), TL_INVALID);
}

static void assert_converted(tl_type t, tl_pq_type physical, tl_bytes plain, tl_bytes wanted) {
    tl_arena a = {0};
    tl_bytes out;
    assert_int_equal(tl_value_from_parquet_as(&t, physical, plain, &a, &out, NULL), TL_OK);
    assert_true(tl_bytes_equal(out, wanted));
    assert_non_null(out.data);
    tl_arena_free(&a);
}

static void decimals_from_parquet_become_minimal_big_endian(void **state) {
    tl_type small = {.id = TL_TYPE_DECIMAL, .precision = 9}, middle = {.id = TL_TYPE_DECIMAL, .precision = 18};
    tl_type large = {.id = TL_TYPE_DECIMAL, .precision = 38};
    const int32_t ints[] = {0, 127, 128, -128, -129, 32768, -500};
    const char *const wanted[] = {"\x00", "\x7f", "\x00\x80", "\x80", "\xff\x7f", "\x00\x80\x00", "\xfe\x0c"};
    const size_t lengths[] = {1, 1, 2, 1, 2, 3, 2};
    for (size_t i = 0; i < TL_COUNT(ints); i++) {
        int64_t wide = ints[i];
        uint8_t big[16];
        for (int k = 0; k < 16; k++) {
            big[15 - k] = (uint8_t)(k < 8 ? (uint64_t)wide >> (8 * k) : wide < 0 ? 0xff : 0);
        }
        tl_bytes w = raw(wanted[i], lengths[i]);
        assert_converted(small, TL_PQ_INT32, raw(&ints[i], 4), w);
        assert_converted(middle, TL_PQ_INT64, raw(&wide, 8), w);
        assert_converted(large, TL_PQ_FIXED, raw(big, 16), w);
        assert_converted(small, TL_PQ_FIXED, raw(big + 12, 4), w); /* as Spark may write it */
        assert_converted(large, TL_PQ_BYTE_ARRAY, raw(big + 8, 8), w);
    }
    tl_arena a = {0};
    tl_bytes out;
    const int64_t v = 32768;
    assert_int_equal(tl_value_from_parquet(&middle, raw(&v, 8), &a, &out, NULL), TL_OK);
    assert_true(tl_bytes_equal(out, raw("\x00\x80\x00", 3)));
    assert_int_equal(tl_value_from_parquet(&middle, raw(&v, 4), &a, &out, NULL), TL_CORRUPT);
    assert_int_equal(tl_value_from_parquet(&large, raw(&v, 0), &a, &out, NULL), TL_CORRUPT);
    tl_arena_free(&a);
}

static void other_types_keep_their_bytes_and_promoted_ones_widen(void **state) {
    const int32_t i = -7;
    const int64_t l = -7;
    const float f = 1.5f;
    const double g = 1.5;
    assert_converted((tl_type){.id = TL_TYPE_INT}, TL_PQ_INT32, raw(&i, 4), raw(&i, 4));
    assert_converted((tl_type){.id = TL_TYPE_LONG}, TL_PQ_INT32, raw(&i, 4), raw(&l, 8));
    assert_converted((tl_type){.id = TL_TYPE_TIMESTAMPTZ}, TL_PQ_INT64, raw(&l, 8), raw(&l, 8));
    assert_converted((tl_type){.id = TL_TYPE_DOUBLE}, TL_PQ_FLOAT, raw(&f, 4), raw(&g, 8));
    assert_converted((tl_type){.id = TL_TYPE_STRING}, TL_PQ_BYTE_ARRAY, raw("", 0), raw("", 0));
    assert_converted((tl_type){.id = TL_TYPE_BOOLEAN}, TL_PQ_BOOLEAN, raw("\x01", 1), raw("\x01", 1));
}

static tl_status convert_one(void *ctx, tl_error *err) {
    tl_arena a = {0};
    tl_bytes out;
    tl_type t = {.id = TL_TYPE_STRING};
    tl_status status = tl_value_from_parquet(&t, raw("abc", 3), &a, &out, err);
    tl_arena_free(&a);
    return status;
}

static void failing_allocations_are_reported(void **state) {
    every_allocation_fails_once(convert_one, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_in_key_order),
        cmocka_unit_test(numbers_of_both_widths_compare),
        cmocka_unit_test(decimals_compare_by_value_at_any_length),
        cmocka_unit_test(bytes_compare_unsigned),
        cmocka_unit_test(wrong_lengths_are_corrupt_and_nested_types_have_no_order),
        cmocka_unit_test(decimals_from_parquet_become_minimal_big_endian),
        cmocka_unit_test(other_types_keep_their_bytes_and_promoted_ones_widen),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
