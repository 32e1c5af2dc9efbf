/* Delays in buckets: order, bounds and quantiles, against a sorted list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "read/arrivals.h"

static uint64_t seed;

static uint64_t dice(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 11;
}

/* Of every size, both signs. */
static int64_t delay(void) {
    int64_t v = (int64_t)((dice() << 20 ^ dice()) >> 1 >> dice() % 62);
    return dice() % 4 ? v : -v;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void start(void) {
    const char *given = getenv("TL_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261130;
    print_message("seed %llu\n", (unsigned long long)seed);
}

static void buckets_ascend_and_are_narrow(void **state) {
    (void)state;
    start();
    const int64_t edges[] = {INT64_MIN + 1, -65, -64, -33, -32, -1, 0, 1, 31, 32, 33, 63, 64, 65, 1000000, INT64_MAX};
    for (size_t i = 0; i < TL_COUNT(edges); i++) {
        int64_t greatest = tl_arrival_bucket_greatest(tl_arrival_bucket(edges[i]));
        assert_true(greatest >= edges[i]);
        assert_int_equal(tl_arrival_bucket(greatest), tl_arrival_bucket(edges[i]));
        if (i) {
            assert_true(tl_arrival_bucket(edges[i]) >= tl_arrival_bucket(edges[i - 1]));
        }
    }
    for (int i = 0; i < 100000; i++) {
        int64_t v = delay(), w = delay(), greatest = tl_arrival_bucket_greatest(tl_arrival_bucket(v));
        assert_true(greatest >= v);
        assert_true((uint64_t)greatest - (uint64_t)v <= (uint64_t)llabs(v) / 32);
        assert_true((v < w) <= (tl_arrival_bucket(v) <= tl_arrival_bucket(w)));
    }
}

static void quantiles_are_those_of_the_sorted_list(void **state) {
    (void)state;
    start();
    enum { N = 5000, SERIES = 3 };
    static int64_t values[SERIES][N];
    tl_arrival_counts counts = {0};
    for (int32_t s = 0; s < SERIES; s++) {
        for (int i = 0; i < N; i++) {
            values[s][i] = delay();
            assert_int_equal(
                tl_arrival_counts_add(&counts, s, TL_ARRIVAL_DELAY, tl_arrival_bucket(values[s][i]), 1, NULL), TL_OK);
        }
        assert_int_equal(tl_arrival_counts_add(&counts, s, TL_ARRIVAL_OVERDUE, 7, N, NULL), TL_OK);
        qsort(values[s], N, sizeof(int64_t), by_value);
    }
    tl_arrival_counts_sort(&counts);
    for (int32_t s = 0; s < SERIES; s++) {
        size_t n;
        const tl_arrival_count *delays = tl_arrival_counts_of(&counts, s, TL_ARRIVAL_DELAY, &n);
        for (int p = 1; p <= 100; p++) {
            int64_t expected = values[s][(N * p + 99) / 100 - 1], got = tl_arrival_quantile(delays, n, p / 100.0);
            assert_int_equal(tl_arrival_bucket(got), tl_arrival_bucket(expected));
            assert_true(got >= expected);
        }
        const tl_arrival_count *overdues = tl_arrival_counts_of(&counts, s, TL_ARRIVAL_OVERDUE, &n);
        assert_int_equal(n, 1);
        assert_int_equal(overdues->n, N);
        assert_int_equal(tl_arrival_count_bucket(overdues), 7);
    }
    size_t none;
    (void)tl_arrival_counts_of(&counts, SERIES, TL_ARRIVAL_DELAY, &none);
    assert_int_equal(none, 0);
    tl_arrival_counts_free(&counts);
}

static void counts_fail_cleanly_when_memory_ends(void **state) {
    (void)state;
    bool done = false;
    for (uint64_t n = 1; !done && n < 100; n++) {
        tl_arrival_counts counts = {0};
        (void)tl_mem_fail_at(n);
        tl_status status = TL_OK;
        for (int32_t b = 0; b < 1000 && status == TL_OK; b++) {
            status = tl_arrival_counts_add(&counts, 0, TL_ARRIVAL_DELAY, b, 1, NULL);
        }
        (void)tl_mem_fail_at(0);
        assert_true(status == TL_OK || status == TL_NO_MEMORY);
        done = status == TL_OK;
        tl_arrival_counts_free(&counts);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_ascend_and_are_narrow),
        cmocka_unit_test(quantiles_are_those_of_the_sorted_list),
        cmocka_unit_test(counts_fail_cleanly_when_memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
