/* Live rows by bitmap: the same flags as one bit at a time gives, however the rows come. */
#include "duckdb/live.h"

#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FILES = 3, ROWS = 5000, MOST = 2048 };

typedef struct table {
    tl_live_file files[FILES];
    tl_plan_file scan[FILES];
    tl_plan plan;
    uint8_t bits[FILES][(ROWS + 7) / 8 + 8];
} table;

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Bits in clusters, as copies come; the last file has none. */
static void make(table *t, uint64_t *state) {
    *t = (table){0};
    for (int f = 0; f < FILES; f++) {
        t->files[f].file.record_count = ROWS;
        t->scan[f].file = &t->files[f];
        t->scan[f].hidden = f + 1 < FILES ? t->bits[f] : NULL;
        for (int64_t i = 0; f + 1 < FILES && i < ROWS; i++) {
            bool dense = i % 700 < 100;
            if (next(state) % (dense ? 2 : 300) == 0) {
                t->bits[f][i >> 3] |= (uint8_t)(1U << (i & 7));
            }
        }
    }
    t->plan.scan = t->scan;
    t->plan.n_scan = FILES;
}

static void check(const table *t, const uint64_t *files, const int64_t *rows, size_t n) {
    bool out[MOST];
    memset(out, 2, sizeof out);
    assert_true(tl_live_rows(&t->plan, files, rows, n, out));
    for (size_t i = 0; i < n; i++) {
        const uint8_t *hidden = t->scan[files[i]].hidden;
        assert_int_equal(out[i], !(hidden && (hidden[rows[i] >> 3] >> (rows[i] & 7) & 1)));
    }
}

static void all_ways_give_the_bits(void **unused) {
    (void)unused;
    uint64_t seed = (uint64_t)(getenv("TL_SEED") ? strtoull(getenv("TL_SEED"), NULL, 10) : 1), state = seed;
    static table t;
    uint64_t files[MOST];
    int64_t rows[MOST];
    printf("TL_SEED=%llu\n", (unsigned long long)seed);
    for (int round = 0; round < 300; round++) {
        make(&t, &state);
        size_t n = 1 + next(&state) % MOST;
        uint64_t way = next(&state) % 4, file = next(&state) % FILES;
        int64_t first = (int64_t)(next(&state) % (ROWS - n + 1));
        for (size_t i = 0; i < n; i++) {
            files[i] = way == 3 ? next(&state) % FILES : file;
            rows[i] = way < 2 ? first + (int64_t)i : (int64_t)(next(&state) % ROWS);
        }
        if (way == 1) { /* in one run but for two that changed places */
            size_t a = next(&state) % n, b = next(&state) % n;
            int64_t row = rows[a];
            rows[a] = rows[b];
            rows[b] = row;
        }
        check(&t, files, rows, n);
    }
}

static void rows_that_are_not_there_are_refused(void **unused) {
    (void)unused;
    static table t;
    uint64_t state = 1, files[] = {0, 0}, none[] = {FILES, FILES}, mixed[] = {1, FILES};
    int64_t rows[] = {1, 2}, below[] = {-1, 0}, beyond[] = {ROWS - 1, ROWS}, far[] = {5, ROWS};
    bool out[2];
    make(&t, &state);
    assert_true(tl_live_rows(&t.plan, files, rows, 2, out));
    assert_true(tl_live_rows(&t.plan, files, rows, 0, out));
    assert_false(tl_live_rows(&t.plan, none, rows, 2, out));
    assert_false(tl_live_rows(&t.plan, mixed, rows, 2, out));
    assert_false(tl_live_rows(&t.plan, files, below, 2, out));
    assert_false(tl_live_rows(&t.plan, files, beyond, 2, out));
    assert_false(tl_live_rows(&t.plan, files, far, 2, out));
}

static void equal_means_all_of_them(void **unused) {
    (void)unused;
    uint64_t values[100] = {0};
    assert_true(tl_live_all_equal(values, 0));
    assert_true(tl_live_all_equal(values, 1));
    assert_true(tl_live_all_equal(values, 100));
    for (size_t i = 0; i < 100; i++) {
        values[i] = UINT64_C(1) << 63;
        assert_false(tl_live_all_equal(values, 100));
        values[i] = 0;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ways_give_the_bits),
                                       cmocka_unit_test(rows_that_are_not_there_are_refused),
                                       cmocka_unit_test(equal_means_all_of_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
