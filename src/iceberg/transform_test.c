/* Time transforms, their labels, their names. */
#include "iceberg/testing_internal.h"

static int32_t value_of(tl_transform t, int64_t us) {
    int32_t v = 12345;
    assert_true(tl_transform_time(t, us, &v));
    return v;
}

static void times_before_1970_round_down(void **state) {
    const int64_t us[] = {-1, -3600000000LL, -86400000000LL, -86400000001LL};
    const int32_t hours[] = {-1, -1, -24, -25}, days[] = {-1, -1, -1, -2};
    for (size_t i = 0; i < TL_COUNT(us); i++) {
        assert_int_equal(value_of(TL_TRANSFORM_HOUR, us[i]), hours[i]);
        assert_int_equal(value_of(TL_TRANSFORM_DAY, us[i]), days[i]);
        assert_int_equal(value_of(TL_TRANSFORM_MONTH, us[i]), -1);
        assert_int_equal(value_of(TL_TRANSFORM_YEAR, us[i]), -1);
    }
    const int64_t january_1969 = -365 * 86400000000LL;
    assert_int_equal(value_of(TL_TRANSFORM_MONTH, january_1969), -12);
    assert_int_equal(value_of(TL_TRANSFORM_YEAR, january_1969), -1);
    assert_int_equal(value_of(TL_TRANSFORM_MONTH, january_1969 - 1), -13);
    assert_int_equal(value_of(TL_TRANSFORM_YEAR, january_1969 - 1), -2);
}

static void partitions_are_utc_whatever_the_zone_of_the_process(void **state) {
    static const char *const zones[] = {"Asia/Kolkata", "America/New_York", "UTC"};
    const int64_t berlin = 1743291000000000LL;                               /* 2025-03-29T23:30:00Z */
    const int64_t first = 1762061400000000LL, second = first + 3600000000LL; /* 2025-11-02T05:30Z and 06:30Z */
    for (size_t i = 0; i < TL_COUNT(zones); i++) {
        setenv("TZ", zones[i], 1);
        assert_int_equal(value_of(TL_TRANSFORM_DAY, berlin), 20176);
        assert_int_equal(value_of(TL_TRANSFORM_HOUR, berlin), 484247);
        assert_int_equal(value_of(TL_TRANSFORM_HOUR, first), 489461);
        assert_int_equal(value_of(TL_TRANSFORM_HOUR, second), 489462);
    }
    unsetenv("TZ");
}

static void values_outside_32_bits_are_refused(void **state) {
    int32_t v;
    int64_t us;
    assert_false(tl_transform_time(TL_TRANSFORM_HOUR, INT64_MAX, &v));
    assert_false(tl_transform_time(TL_TRANSFORM_HOUR, INT64_MIN, &v));
    assert_int_equal(value_of(TL_TRANSFORM_DAY, INT64_MAX), 106751991);
    assert_int_equal(value_of(TL_TRANSFORM_DAY, INT64_MIN), -106751992);
    assert_int_equal(value_of(TL_TRANSFORM_YEAR, INT64_MAX), 294247 - 1970);
    assert_int_equal(value_of(TL_TRANSFORM_YEAR, INT64_MIN), -290308 - 1970);
    assert_false(tl_transform_time_start(TL_TRANSFORM_DAY, 106751992, &us));
    assert_false(tl_transform_time_start(TL_TRANSFORM_MONTH, INT32_MAX, &us));
    assert_false(tl_transform_time_start(TL_TRANSFORM_YEAR, INT32_MIN, &us));
    assert_true(tl_transform_time_start(TL_TRANSFORM_HOUR, INT32_MAX, &us));
    assert_false(tl_transform_time(TL_TRANSFORM_BUCKET, 0, &v));
    assert_false(tl_transform_time(TL_TRANSFORM_IDENTITY, 0, &v));
}

/* start(value(t)) <= t < start(value(t) + 1), and one microsecond before the start is another partition. */
static void a_partition_holds_the_times_from_its_start_to_the_next(void **state) {
    static const tl_transform all[] = {TL_TRANSFORM_HOUR, TL_TRANSFORM_DAY, TL_TRANSFORM_MONTH, TL_TRANSFORM_YEAR};
    dice d = dice_make(__func__);
    for (int i = 0; i < 20000; i++) {
        tl_transform t = all[below(&d, 4)];
        int64_t us = (int64_t)(roll(&d) >> below(&d, 40)) * (chance(&d, 50) ? 1 : -1) / 2, start, next;
        int32_t v, before;
        if (!tl_transform_time(t, us, &v) || !tl_transform_time_start(t, v, &start)) {
            continue;
        }
        assert_true(start <= us);
        if (tl_transform_time_start(t, v + 1, &next)) {
            assert_true(us < next);
        }
        assert_int_equal(value_of(t, start), v);
        if (start > INT64_MIN && tl_transform_time(t, start - 1, &before)) {
            assert_int_equal(before, v - 1);
        }
    }
}

static void labels_are_dates_within_four_digit_years(void **state) {
    static const struct {
        tl_transform t;
        int32_t v;
        const char *label;
    } cases[] = {{TL_TRANSFORM_HOUR, 490919, "2026-01-01-23"},
                 {TL_TRANSFORM_HOUR, -1, "1969-12-31-23"},
                 {TL_TRANSFORM_HOUR, 0, "1970-01-01-00"},
                 {TL_TRANSFORM_DAY, 20454, "2026-01-01"},
                 {TL_TRANSFORM_DAY, -1, "1969-12-31"},
                 {TL_TRANSFORM_DAY, 11016, "2000-02-29"},
                 {TL_TRANSFORM_MONTH, -1, "1969-12"},
                 {TL_TRANSFORM_MONTH, 672, "2026-01"},
                 {TL_TRANSFORM_YEAR, 56, "2026"},
                 {TL_TRANSFORM_YEAR, -1970, "0000"},
                 {TL_TRANSFORM_YEAR, -1971, "-1971"},
                 {TL_TRANSFORM_YEAR, 8029, "9999"},
                 {TL_TRANSFORM_YEAR, 8030, "8030"},
                 {TL_TRANSFORM_DAY, 2932896, "9999-12-31"},
                 {TL_TRANSFORM_DAY, 2932897, "2932897"},
                 {TL_TRANSFORM_DAY, -719528, "0000-01-01"},
                 {TL_TRANSFORM_DAY, -719529, "-719529"},
                 {TL_TRANSFORM_HOUR, INT32_MIN, "-2147483648"},
                 {TL_TRANSFORM_MONTH, INT32_MAX, "2147483647"}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        char label[32];
        tl_transform_time_label(cases[i].t, cases[i].v, label);
        assert_string_equal(label, cases[i].label);
    }
}

static void names_are_read_and_written(void **state) {
    static const char *const texts[] = {"identity", "year",       "month",       "day",
                                        "hour",     "bucket[16]", "truncate[3]", "void"};
    for (size_t i = 0; i < TL_COUNT(texts); i++) {
        int32_t param;
        tl_buf out = {0};
        tl_transform t = tl_transform_parse(tl_bytes_of(texts[i]), &param);
        assert_int_equal(t, (int)i);
        assert_int_equal(tl_transform_print(t, param, &out), TL_OK);
        assert_true(tl_bytes_equal(tl_buf_bytes(&out), tl_bytes_of(texts[i])));
        tl_buf_free(&out);
    }
    static const char *const strange[] = {"",          "days",     "bucket",     "bucket[]",
                                          "bucket[0]", "bucket[1", "bucket[-1]", "bucket[1234567890]",
                                          "hour[1]",   "Day",      "zorder"};
    for (size_t i = 0; i < TL_COUNT(strange); i++) {
        int32_t param;
        assert_int_equal(tl_transform_parse(tl_bytes_of(strange[i]), &param), TL_TRANSFORM_UNKNOWN);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_before_1970_round_down),
        cmocka_unit_test(partitions_are_utc_whatever_the_zone_of_the_process),
        cmocka_unit_test(values_outside_32_bits_are_refused),
        cmocka_unit_test(a_partition_holds_the_times_from_its_start_to_the_next),
        cmocka_unit_test(labels_are_dates_within_four_digit_years),
        cmocka_unit_test(names_are_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
