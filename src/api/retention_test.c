/* Retention: what is dropped, that `latest` agrees with a scan, and that neither rows from the future nor clocks that
 * are wrong let anything else go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/maintain_testing.h"
#include "maintain/retention.h"
#include "read/read.h"
#include "store/faulty.h"

/* Ten days; "old" ends on day 2, "mid" on day 5, "new" goes to day 9. */
static void ten_days(tl_lake *lake, const char *chunk, const char *retention) {
    test_table(lake,
               &(tl_table_spec){.time_column = "time", .series_key = "sensor", .chunk = chunk, .retention = retention});
    for (int d = 0; d < 10; d++) {
        const test_row rows[] = {{"new", "x", d * DAY_US + 1, d},
                                 {"mid", "x", (d < 6 ? d : 5) * DAY_US + 2, d},
                                 {"old", "x", (d < 3 ? d : 2) * DAY_US + 3, d}};
        test_append(lake, rows, 3);
    }
}

static tl_env_fixed clock_state;
static tl_env clock_env;

static tl_lake *open_lake(const char *name, int64_t now_us) {
    tl_lake *lake;
    char location[64];
    (void)snprintf(location, sizeof location, "memory://retention-%s", name);
    OK(tl_lake_open(location, NULL, &lake, NULL));
    clock_state = (tl_env_fixed){.seed = 7, .clock_us = now_us, .step_us = 1};
    clock_env = tl_env_seeded(&clock_state);
    lake->store->env = &clock_env;
    return lake;
}

static tl_maintain_result retain(tl_lake *lake, int dry_run) {
    tl_maintain_result r;
    tl_error err;
    const tl_maintain_params params = {.no_compact = 1, .no_expire = 1, .dry_run = dry_run};
    if (tl_maintain(lake, "t", &params, &r, &err) != TL_OK) {
        fail_msg("maintain: %s", err.message);
    }
    return r;
}

/* Series by a scan of what is left. */
static int64_t count_series(tl_lake *lake) {
    tl_table *t;
    tl_rows rows;
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_latest_by_scan(t, NULL, &rows, NULL));
    int64_t n = rows.n_rows;
    tl_rows_free(&rows);
    tl_table_release(t);
    return n;
}

static void old_partitions_go_and_latest_says_what_a_scan_says(void **state) {
    (void)state;
    tl_lake *lake = open_lake("plain", 9 * DAY_US + DAY_US / 2);
    ten_days(lake, "day", "5d");
    assert_int_equal(test_count(lake), 10 + 6 + 3);
    tl_maintain_result r = retain(lake, 1);
    assert_int_equal(r.partitions_dropped, 4); /* days 0 to 3: the last row is of day 9 and one microsecond */
    assert_int_equal(test_count(lake), 10 + 6 + 3);
    r = retain(lake, 0);
    assert_int_equal(r.partitions_dropped, 4);
    assert_int_equal(test_count(lake), 6 + 2);
    assert_int_equal(count_series(lake), 2);
    assert_int_equal(test_latest(lake), 2);
    test_is_clean(lake);
    r = retain(lake, 0);
    assert_int_equal(r.partitions_dropped, 0);
    tl_lake_close(lake);
}

static void a_partition_that_is_not_over_keeps_all_of_its_series(void **state) {
    (void)state;
    tl_lake *lake = open_lake("month", 9 * DAY_US + DAY_US / 2);
    ten_days(lake, "month", "5d");
    assert_int_equal(retain(lake, 0).partitions_dropped, 0);
    assert_int_equal(test_latest(lake), 3);
    assert_int_equal(count_series(lake), 3);
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void a_row_from_the_future_drops_nothing_more(void **state) {
    (void)state;
    const test_row future[] = {{"lost", "x", 30000 * DAY_US, 1}};
    tl_lake *lake = open_lake("future", 9 * DAY_US + DAY_US / 2);
    ten_days(lake, "day", "5d");
    test_append(lake, future, 1);
    assert_int_equal(retain(lake, 0).partitions_dropped, 4);
    assert_int_equal(test_count(lake), 6 + 2 + 1);
    assert_int_equal(test_latest(lake), 3);
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void a_clock_that_runs_ahead_drops_nothing_more(void **state) {
    (void)state;
    tl_lake *lake = open_lake("ahead", 20000 * DAY_US);
    ten_days(lake, "day", "5d");
    assert_int_equal(retain(lake, 0).partitions_dropped, 4);
    assert_int_equal(test_count(lake), 6 + 2);
    tl_lake_close(lake);
}

static void a_table_of_the_future_alone_stays(void **state) {
    (void)state;
    tl_lake *lake = open_lake("alone", -3 * DAY_US);
    ten_days(lake, "day", "1d");
    assert_int_equal(retain(lake, 0).partitions_dropped, 0);
    assert_int_equal(test_count(lake), 10 + 6 + 3);
    tl_lake_close(lake);
}

static void without_the_setting_nothing_goes(void **state) {
    (void)state;
    tl_lake *lake = open_lake("none", 9000 * DAY_US);
    ten_days(lake, "day", NULL);
    assert_int_equal(retain(lake, 0).partitions_dropped, 0);
    assert_int_equal(test_count(lake), 10 + 6 + 3);
    tl_lake_close(lake);
}

static void appends_drop_old_partitions_by_themselves(void **state) {
    (void)state;
    tl_lake *lake = open_lake("inline", 9 * DAY_US + DAY_US / 2);
    ten_days(lake, "day", "5d");
    for (int i = 0; i < 20; i++) {
        const test_row row = {"new", "x", 9 * DAY_US + 100 + i, i};
        struct ArrowArrayStream rows;
        test_stream(&row, 1, &rows);
        OK(tl_append(lake, "t", &rows, NULL, NULL, NULL));
    }
    assert_int_equal(test_count(lake), 6 + 2 + 20);
    assert_int_equal(test_latest(lake), 2);
    test_is_clean(lake);
    tl_lake_close(lake);
}

/* ---- races ---- */

typedef struct race {
    tl_store *inner;
    int left;
} race;

/* Another writer appends to a partition that is being dropped. */
static void append_meanwhile(void *ctx, const char *key) {
    (void)key;
    race *r = ctx;
    if (r->left-- <= 0) {
        return;
    }
    tl_lake *other;
    const test_row late[] = {{"late", "x", DAY_US + 50, 1}, {"old", "x", DAY_US + 60, 2}};
    OK(tl_lake_open("memory://retention-race", NULL, &other, NULL));
    test_append(other, late, 2);
    tl_lake_close(other);
}

static void rows_that_come_meanwhile_stay_and_are_in_latest(void **state) {
    (void)state;
    tl_lake *lake = open_lake("race", 9 * DAY_US + DAY_US / 2);
    ten_days(lake, "day", "5d");
    race r = {.left = 1};
    OK(tl_faulty_open(lake->store, &lake->store, NULL));
    lake->store->env = &clock_env;
    tl_lake_forget(lake, "default.t");
    const tl_fault_rule rule = {
        .ops = TL_OP_PUT_IF_ABSENT, .fault = TL_FAULT_NONE, .before = append_meanwhile, .ctx = &r};
    tl_faulty_script(lake->store, &rule, 1);
    tl_maintain_result did = retain(lake, 0);
    tl_faulty_script(lake->store, NULL, 0);
    assert_true(r.left < 1);
    assert_int_equal(did.partitions_dropped, 4);
    assert_int_equal(test_count(lake), 6 + 2 + 2);
    assert_int_equal(count_series(lake), 4);
    assert_int_equal(test_latest(lake), 4);
    test_is_clean(lake);
    tl_lake_close(lake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_partitions_go_and_latest_says_what_a_scan_says),
        cmocka_unit_test(a_partition_that_is_not_over_keeps_all_of_its_series),
        cmocka_unit_test(a_row_from_the_future_drops_nothing_more),
        cmocka_unit_test(a_clock_that_runs_ahead_drops_nothing_more),
        cmocka_unit_test(a_table_of_the_future_alone_stays),
        cmocka_unit_test(without_the_setting_nothing_goes),
        cmocka_unit_test(appends_drop_old_partitions_by_themselves),
        cmocka_unit_test(rows_that_come_meanwhile_stay_and_are_in_latest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
