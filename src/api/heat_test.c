/* Heat: reads are noted without getting in anybody's way, fade, and decide what maintenance does first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/maintain_testing.h"
#include "maintain/heat.h"
#include "store/faulty.h"

#define KEY "default/t/metadata/timelake-heat"

static tl_lake *two_days(const char *name) {
    tl_lake *lake;
    char location[64];
    (void)snprintf(location, sizeof location, "memory://heat-%s", name);
    OK(tl_lake_open(location, NULL, &lake, NULL));
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor"});
    for (int i = 0; i < 4; i++) {
        const test_row rows[] = {{"a", "x", i, i}, {"a", "x", DAY_US + i, i}, {"a", "x", -DAY_US + i, i}};
        test_append(lake, rows, 3);
    }
    return lake;
}

static void read_days(tl_lake *lake, int64_t from_us, int64_t to_us) {
    struct ArrowArrayStream rows;
    const tl_scan_params params = {.from_us = from_us, .to_us = to_us};
    OK(tl_scan(lake, "t", &params, &rows, NULL));
    (void)test_drain(&rows);
}

static double noted(tl_lake *lake, int32_t partition) {
    tl_heat heat;
    OK(tl_heat_load(lake->store, "default/t", 0, &heat, NULL));
    double value = tl_heat_of(&heat, partition);
    tl_heat_free(&heat);
    return value;
}

static void reads_are_noted_when_the_reader_ends(void **state) {
    (void)state;
    tl_lake *lake = two_days("noted"), *reader;
    OK(tl_lake_open("memory://heat-noted", NULL, &reader, NULL));
    read_days(reader, DAY_US, 2 * DAY_US);
    read_days(reader, DAY_US, 2 * DAY_US);
    read_days(reader, -DAY_US, 2 * DAY_US);
    assert_false(tl_store_exists(lake->store, KEY));
    tl_lake_close(reader);
    assert_true(noted(lake, 1) == 3 && noted(lake, 0) == 1 && noted(lake, -1) == 1 && noted(lake, 7) == 0);
    OK(tl_lake_open("memory://heat-noted", NULL, &reader, NULL));
    read_days(reader, 0, DAY_US);
    tl_lake_close(reader);
    assert_true(noted(lake, 1) > 2.99 && noted(lake, 0) > 1.99);
    test_is_clean(lake); /* no orphan */
    tl_lake_close(lake);
}

static void the_setting_turns_it_off(void **state) {
    (void)state;
    tl_lake *lake = two_days("off"), *reader;
    const char *const changes[] = {"note-reads=false"};
    OK(tl_alter(lake, "t", changes, 1, NULL, NULL));
    OK(tl_lake_open("memory://heat-off", NULL, &reader, NULL));
    read_days(reader, 0, DAY_US);
    tl_lake_close(reader);
    assert_false(tl_store_exists(lake->store, KEY));
    tl_lake_close(lake);
}

static void a_reader_that_may_not_write_reads_all_the_same(void **state) {
    (void)state;
    tl_lake *lake = two_days("readonly"), *reader;
    OK(tl_lake_open("memory://heat-readonly", NULL, &reader, NULL));
    OK(tl_faulty_open(reader->store, &reader->store, NULL));
    const tl_fault_rule rule = {
        .ops = TL_OP_PUT | TL_OP_PUT_IF_ABSENT | TL_OP_REMOVE | TL_OP_WRITER_OPEN, .nth = 0, .fault = TL_FAULT_IO};
    tl_faulty_script(reader->store, &rule, 1);
    assert_int_equal(test_count(reader), 12);
    tl_lake_close(reader);
    assert_false(tl_store_exists(lake->store, KEY));
    tl_lake_close(lake);
}

static void garbage_counts_as_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "timelake-heat 2\n1\n5 5\n",
        "timelake-heat 1\n",
        "timelake-heat 1\nnow\n5 5\n",
        "timelake-heat 1\n0\n5\n5 \n 5\n5 x\n99999999999 1\n5 -1\n5 nan\n5 1e99\n\n5 5", /* the last line does not end
                                                                                          */
    };
    tl_lake *lake = two_days("garbage");
    for (size_t i = 0; i < TL_COUNT(texts); i++) {
        OK(tl_store_put(lake->store, KEY, tl_bytes_of(texts[i]), TL_PUT_SYNC, NULL));
        assert_true(noted(lake, 5) == 0);
    }
    OK(tl_store_put(lake->store, KEY, tl_bytes_of("timelake-heat 1\n0\n5 2.5\n5 1\n-3 4\n"), TL_PUT_SYNC, NULL));
    assert_true(noted(lake, 5) == 3.5 && noted(lake, -3) == 4);
    tl_lake_close(lake);
}

static void old_reads_fade(void **state) {
    (void)state;
    tl_lake *lake = two_days("fade");
    tl_heat heat;
    OK(tl_store_put(lake->store, KEY, tl_bytes_of("timelake-heat 1\n1000\n5 8\n"), TL_PUT_SYNC, NULL));
    OK(tl_heat_load(lake->store, "default/t", 1000 + 2 * TL_HEAT_HALF_LIFE_US, &heat, NULL));
    assert_true(fabs(tl_heat_of(&heat, 5) - 2) < 1e-9);
    tl_heat_free(&heat);
    OK(tl_heat_load(lake->store, "default/t", 1000 + 200 * TL_HEAT_HALF_LIFE_US, &heat, NULL));
    assert_int_equal(heat.n, 0);
    tl_heat_free(&heat);
    OK(tl_heat_load(lake->store, "default/t", INT64_MIN, &heat, NULL)); /* a clock that goes back fades nothing */
    assert_true(tl_heat_of(&heat, 5) == 8);
    tl_heat_free(&heat);
    tl_lake_close(lake);
}

static void only_the_hottest_partitions_are_kept(void **state) {
    (void)state;
    tl_lake *lake = two_days("many");
    tl_buf text = {0};
    OK(tl_buf_add_text(&text, "timelake-heat 1\n0\n"));
    for (int i = 0; i < TL_HEAT_PARTITIONS + 100; i++) {
        OK(tl_buf_printf(&text, "%d %d\n", i, 1 + i));
    }
    OK(tl_store_put(lake->store, KEY, tl_buf_bytes(&text), TL_PUT_SYNC, NULL));
    int32_t partition = 5;
    double value = 1e6;
    tl_heat_store(lake->store, "default/t", 0, &(tl_heat){&partition, &value, 1, 1});
    assert_true(noted(lake, 5) > 1e6 - 1 && noted(lake, 6) == 0 && noted(lake, TL_HEAT_PARTITIONS + 99) > 0);
    tl_buf_free(&text);
    tl_lake_close(lake);
}

static int64_t files_of(tl_lake *lake, int32_t partition) {
    tl_table *t;
    tl_live_files files;
    int64_t n = 0;
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_table_files(t, NULL, &files, NULL));
    for (int64_t i = 0; i < files.n_data; i++) {
        n += tl_load_i32(files.data[i].file.partition[0].value.data) == partition;
    }
    tl_live_files_free(&files);
    tl_table_release(t);
    return n;
}

static void with_a_budget_the_partition_that_is_read_most_comes_first(void **state) {
    (void)state;
    for (int32_t hot = -1; hot <= 1; hot++) {
        char name[64];
        (void)snprintf(name, sizeof name, "first%d", hot + 1);
        tl_lake *lake = two_days(name), *reader;
        (void)snprintf(name, sizeof name, "memory://heat-first%d", hot + 1);
        OK(tl_lake_open(name, NULL, &reader, NULL));
        read_days(reader, hot * DAY_US, (hot + 1) * DAY_US);
        tl_lake_close(reader);
        tl_maintain_result r;
        const tl_maintain_params params = {.budget_bytes = 1};
        OK(tl_maintain(lake, "t", &params, &r, NULL));
        assert_int_equal(r.partitions_compacted, 1);
        assert_int_equal(r.partitions_left, 2);
        assert_int_equal(files_of(lake, hot), 1);
        OK(tl_maintain(lake, "t", NULL, &r, NULL));
        assert_int_equal(r.partitions_compacted, 2);
        assert_int_equal(r.partitions_left, 0);
        test_is_clean(lake);
        tl_lake_close(lake);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_noted_when_the_reader_ends),
        cmocka_unit_test(the_setting_turns_it_off),
        cmocka_unit_test(a_reader_that_may_not_write_reads_all_the_same),
        cmocka_unit_test(garbage_counts_as_nothing),
        cmocka_unit_test(old_reads_fade),
        cmocka_unit_test(only_the_hottest_partitions_are_kept),
        cmocka_unit_test(with_a_budget_the_partition_that_is_read_most_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
