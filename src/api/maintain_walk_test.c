/*
 * Maintenance that is interrupted at every single operation of the store: the process dies, a reply is lost, an
 * operation fails, the power goes. Afterwards every row that must be there is there once with its last value, the table
 * is sound, and the next run cleans up what was left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/maintain_testing.h"
#include "store/faulty.h"

enum { APPENDS = 4, SERIES = 3, DAYS = 3 };

/* Day 0 is past the retention of a day. Each append writes all keys again, so only the last one's values count. */
static tl_lake *worn_table(const char *location) {
    tl_lake *lake;
    const char *const properties[] = {"timelake.max-snapshots=2", "timelake.min-snapshots=1", "timelake.retention=1d",
                                      NULL};
    OK(tl_lake_open(location, &(tl_lake_options){.threads = 1}, &lake, NULL));
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor", .properties = properties});
    for (int a = 0; a < APPENDS; a++) {
        test_row rows[SERIES * DAYS];
        for (int i = 0; i < SERIES * DAYS; i++) {
            static const char *const names[SERIES] = {"a", "b", "c"};
            rows[i] = (test_row){names[i % SERIES], "x", (i / SERIES) * DAY_US + 5, 100.0 * a + i};
        }
        test_append(lake, rows, SERIES * DAYS);
    }
    OK(tl_store_put(lake->store, "default/t/data/stray.parquet", tl_bytes_of("x"), TL_PUT_SYNC, NULL));
    return lake;
}

static tl_status maintain(tl_lake *lake) {
    const tl_maintain_params params = {.orphans = 1, .grace_us = -1};
    return tl_maintain(lake, "t", &params, NULL, NULL);
}

/* All keys of the days from `first_day` on, each with the value of the last append. */
static int64_t count_right(tl_lake *lake) {
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayView view;
    tl_error err;
    int64_t n = 0;
    bool seen[SERIES * DAYS] = {false};
    if (tl_scan(lake, "t", NULL, &rows, &err) != TL_OK) {
        fail_msg("scan: %s", err.message);
    }
    NA(rows.get_schema(&rows, &schema));
    NA(ArrowArrayViewInitFromSchema(&view, &schema, NULL));
    while (rows.get_next(&rows, &batch) == 0 && batch.release) {
        NA(ArrowArrayViewSetArray(&view, &batch, NULL));
        for (int64_t i = 0; i < batch.length; i++) {
            struct ArrowStringView name = ArrowArrayViewGetStringUnsafe(view.children[0], i);
            int64_t day = ArrowArrayViewGetIntUnsafe(view.children[2], i) / DAY_US;
            double v = ArrowArrayViewGetDoubleUnsafe(view.children[3], i);
            int64_t key = day * SERIES + (name.data[0] - 'a');
            assert_in_range(key, 0, SERIES * DAYS - 1);
            assert_false(seen[key]);
            seen[key] = true;
            assert_true(v == 100.0 * (APPENDS - 1) + (double)key);
            n++;
        }
        batch.release(&batch);
    }
    for (int key = SERIES; key < SERIES * DAYS; key++) {
        assert_true(seen[key]); /* what retention must not take */
    }
    ArrowArrayViewReset(&view);
    ArrowSchemaRelease(&schema);
    rows.release(&rows);
    return n;
}

/* Errors make readers fail; rubbish that is left is only a warning. */
static void is_sound(tl_lake *lake) {
    test_findings found = test_check(lake, -1);
    if (found.n != found.warnings) {
        fail_msg("%d findings, the first: %s", found.n, found.first);
    }
}

typedef enum ending { DIES, FAILS_ONCE, REPLY_LOST, POWER_CUT } ending;

/* False when maintenance ended before operation `n`. */
static bool interrupted_at(uint64_t n, ending how) {
    char location[64];
    (void)snprintf(location, sizeof location, "memory://walk-%d-%llu", (int)how, (unsigned long long)n);
    tl_lake *keeper = worn_table(location), *lake;
    OK(tl_lake_open(location, &(tl_lake_options){.threads = 1}, &lake, NULL));
    OK(tl_faulty_open(lake->store, &lake->store, NULL));
    const tl_fault_rule rule = {.ops = TL_OP_ANY,
                                .nth = n,
                                .times = how == DIES || how == POWER_CUT ? 1000000 : 1,
                                .fault = how == REPLY_LOST ? TL_FAULT_LOST_AFTER : TL_FAULT_IO};
    tl_faulty_script(lake->store, &rule, 1);
    (void)!maintain(lake);
    bool reached = tl_faulty_count(lake->store) >= n;
    if (how == POWER_CUT) {
        tl_faulty_power_cut(lake->store);
    }
    tl_lake_close(lake);

    OK(tl_lake_open(location, &(tl_lake_options){.threads = 1}, &lake, NULL));
    int64_t rows = count_right(lake);
    assert_true(rows == SERIES * DAYS || rows == SERIES * (DAYS - 1));
    assert_int_equal(test_latest(lake), SERIES);
    is_sound(lake);
    OK(maintain(lake));
    assert_int_equal(count_right(lake), SERIES * (DAYS - 1));
    test_is_clean(lake);
    tl_lake_close(lake);
    tl_lake_close(keeper);
    return reached;
}

/* `stride` keeps the test short: a death is walked at every operation, the other endings at every third. */
static void walk(ending how, uint64_t first, uint64_t stride) {
    uint64_t n = first;
    while (interrupted_at(n, how)) {
        n += stride;
        assert_in_range(n, 1, 2000);
    }
    assert_in_range(n, 50, 2000); /* it did something */
}

static void a_process_that_dies_at_any_operation_loses_nothing(void **state) {
    (void)state;
    walk(DIES, 1, 1);
}

static void an_operation_that_fails_loses_nothing(void **state) {
    (void)state;
    walk(FAILS_ONCE, 1, 3);
}

static void a_reply_that_is_lost_loses_nothing(void **state) {
    (void)state;
    walk(REPLY_LOST, 2, 3);
}

static void a_power_cut_at_any_operation_loses_nothing(void **state) {
    (void)state;
    walk(POWER_CUT, 3, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_dies_at_any_operation_loses_nothing),
        cmocka_unit_test(an_operation_that_fails_loses_nothing),
        cmocka_unit_test(a_reply_that_is_lost_loses_nothing),
        cmocka_unit_test(a_power_cut_at_any_operation_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
