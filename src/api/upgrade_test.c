/* Upgrade of tables that older versions wrote: what is done, that it is done once, and that a failure on the way leaves
 * a sound table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/maintain_testing.h"
#include "store/faulty.h"

/* As Timelake 0.4 left it: format 0.2.0, no insertion time, a key twice in one file. */
static tl_lake *old_table(const char *location) {
    tl_lake *lake;
    const test_row rows[] = {{"a", "x", 1, 1}, {"a", "x", 1, 2}, {"b", "y", 1, 3}, {"b", "y", DAY_US, 4}};
    OK(tl_lake_open(location, &(tl_lake_options){.threads = 1}, &lake, NULL));
    const tl_table_spec spec = {.time_column = "time", .series_key = "sensor", .no_dedup = 1, .no_ingest_time = 1};
    test_table(lake, &spec);
    test_append(lake, rows, 4);
    tl_table *t;
    tl_metadata m;
    tl_buf json = {0};
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_metadata_copy(&t->metadata, &m, NULL));
    OK(tl_metadata_set_property(&m, "timelake.dedup", "true", NULL));
    OK(tl_metadata_set_property(&m, "timelake.format-version", "2", NULL));
    OK(tl_metadata_write(&m, &json, NULL));
    OK(tl_store_put(lake->store, "default/t/metadata/v3.metadata.json", tl_buf_bytes(&json), TL_PUT_SYNC, NULL));
    tl_lake_forget(lake, "default.t");
    tl_buf_free(&json);
    tl_metadata_free(&m);
    tl_table_release(t);
    return lake;
}

static void count_step(void *ctx, const char *text) {
    assert_true(*text);
    ++*(int *)ctx;
}

static void copies_inside_of_files_go_and_a_second_time_nothing_happens(void **state) {
    (void)state;
    tl_lake *lake = old_table("memory://upgrade");
    tl_upgrade_result r;
    int steps = 0;
    tl_upgrade_params params = {.dry_run = 1, .step = count_step, .ctx = &steps};
    test_finds(lake, "duplicate-keys", NULL);
    OK(tl_upgrade(lake, "t", &params, &r, NULL));
    assert_int_equal(r.version, r.version_before);
    assert_int_equal(r.steps, 2);
    assert_int_equal(steps, 2);
    params.dry_run = 0;
    OK(tl_upgrade(lake, "t", &params, &r, NULL));
    assert_true(r.steps >= 2 && r.version > r.version_before && r.keep_snapshots_until_ms > 0);
    test_is_clean(lake);
    assert_int_equal(test_count(lake), 3);
    assert_int_equal(test_latest(lake), 2);
    int64_t before = r.snapshot_before;
    OK(tl_upgrade(lake, "t", &params, &r, NULL));
    assert_int_equal(r.steps, 0);
    OK(tl_rollback(lake, "t", before, NULL, NULL)); /* the way back */
    test_finds(lake, "duplicate-keys", NULL);
    tl_lake_close(lake);
}

static void a_current_table_is_left_as_it_is(void **state) {
    (void)state;
    tl_lake *lake;
    const test_row rows[] = {{"a", "x", 1, 1}, {"b", "y", 1, 3}};
    tl_upgrade_result r;
    OK(tl_lake_open("memory://upgrade-current", NULL, &lake, NULL));
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor"});
    test_append(lake, rows, 2);
    OK(tl_upgrade(lake, "t", NULL, &r, NULL));
    assert_int_equal(r.steps, 0);
    assert_int_equal(r.version, 2);
    tl_lake_close(lake);
}

static void an_upgrade_that_dies_anywhere_can_be_repeated(void **state) {
    (void)state;
    bool reached = true;
    for (uint64_t n = 1; reached; n += 2) {
        char location[64];
        tl_lake *keeper, *lake;
        (void)snprintf(location, sizeof location, "memory://upgrade-%llu", (unsigned long long)n);
        keeper = old_table(location);
        OK(tl_lake_open(location, &(tl_lake_options){.threads = 1}, &lake, NULL));
        OK(tl_faulty_open(lake->store, &lake->store, NULL));
        const tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .times = 1000000, .fault = TL_FAULT_IO};
        tl_faulty_script(lake->store, &rule, 1);
        (void)!tl_upgrade(lake, "t", NULL, NULL, NULL);
        reached = tl_faulty_count(lake->store) >= n;
        tl_lake_close(lake);
        OK(tl_lake_open(location, &(tl_lake_options){.threads = 1}, &lake, NULL));
        assert_int_equal(test_count(lake), 3);
        OK(tl_upgrade(lake, "t", NULL, NULL, NULL));
        OK(tl_maintain(lake, "t", &(tl_maintain_params){.orphans = 1, .grace_us = -1}, NULL, NULL));
        test_is_clean(lake);
        assert_int_equal(test_count(lake), 3);
        tl_lake_close(lake);
        tl_lake_close(keeper);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_inside_of_files_go_and_a_second_time_nothing_happens),
        cmocka_unit_test(a_current_table_is_left_as_it_is),
        cmocka_unit_test(an_upgrade_that_dies_anywhere_can_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
