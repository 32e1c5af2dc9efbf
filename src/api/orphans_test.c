/* Orphans: found by the store's clock, removed only when everything that could refer to them was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/maintain_testing.h"
#include "maintain/objects.h"
#include "store/faulty.h"

#define HOUR_US INT64_C(3600000000)

static const test_row some_rows[] = {{"a", "x", 0, 1}, {"b", "y", DAY_US, 2}, {"b", "y", 3 * DAY_US, 3}};

static tl_env_fixed clock_state;
static tl_env clock_env;

/* The clock is the store's: memory stores take the time from their environment. */
static tl_lake *sound_table(const char *name) {
    tl_lake *lake;
    char location[64];
    (void)snprintf(location, sizeof location, "memory://orphans-%s", name);
    OK(tl_lake_open(location, NULL, &lake, NULL));
    clock_state = (tl_env_fixed){.seed = 3, .clock_us = 1000 * DAY_US, .step_us = 1};
    clock_env = tl_env_seeded(&clock_state);
    lake->store->env = &clock_env;
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor"});
    for (int i = 0; i < 3; i++) {
        test_append(lake, some_rows, 3);
    }
    return lake;
}

static void put(tl_lake *lake, const char *key) {
    OK(tl_store_put(lake->store, key, tl_bytes_of("rubbish"), TL_PUT_SYNC, NULL));
}

typedef struct listed {
    int n;
    char last[256];
} listed;

static void note(void *ctx, const char *object, int64_t bytes) {
    listed *l = ctx;
    assert_int_equal(bytes, 7);
    l->n++;
    (void)snprintf(l->last, sizeof l->last, "%s", object);
}

static tl_status clean(tl_lake *lake, int64_t grace_us, int dry_run, tl_maintain_result *r, listed *l, tl_error *err) {
    *l = (listed){0};
    const tl_maintain_params params = {.no_compact = 1,
                                       .no_expire = 1,
                                       .no_retention = 1,
                                       .orphans = 1,
                                       .grace_us = grace_us,
                                       .dry_run = dry_run,
                                       .orphan = note,
                                       .ctx = l};
    return tl_maintain(lake, "t", &params, r, err);
}

static void old_rubbish_goes_and_young_stays(void **state) {
    (void)state;
    tl_lake *lake = sound_table("grace");
    tl_maintain_result r;
    listed l;
    put(lake, "default/t/data/time_day=1970-01-01/stray.parquet");
    put(lake, "default/t/metadata/stray-m.avro");
    put(lake, "default/t/deep/er/stray");
    clock_state.clock_us += 25 * HOUR_US;
    put(lake, "default/t/data/pending.parquet"); /* of a commit that is under way */
    put(lake, "default/other/data/not-ours.parquet");
    put(lake, "default/t2/not-ours");
    OK(clean(lake, 24 * HOUR_US, 1, &r, &l, NULL));
    assert_int_equal(r.orphans, 3);
    assert_int_equal(l.n, 3);
    assert_int_equal(r.objects_deleted, 0);
    assert_true(tl_store_exists(lake->store, "default/t/deep/er/stray"));
    OK(clean(lake, 0, 0, &r, &l, NULL)); /* three days */
    assert_int_equal(r.orphans, 0);
    OK(clean(lake, 24 * HOUR_US, 0, &r, &l, NULL));
    assert_int_equal(r.objects_deleted, 3);
    assert_false(tl_store_exists(lake->store, "default/t/deep/er/stray"));
    assert_true(tl_store_exists(lake->store, "default/t/data/pending.parquet"));
    assert_true(tl_store_exists(lake->store, "default/other/data/not-ours.parquet"));
    assert_true(tl_store_exists(lake->store, "default/t2/not-ours"));
    OK(clean(lake, 24 * HOUR_US, 0, &r, &l, NULL));
    assert_int_equal(r.orphans, 0);
    OK(clean(lake, -1, 0, &r, &l, NULL));
    assert_int_equal(r.objects_deleted, 1);
    test_is_clean(lake);
    assert_int_equal(test_count(lake), 3);
    tl_lake_close(lake);
}

static void nothing_that_a_snapshot_or_a_statistic_refers_to_goes(void **state) {
    (void)state;
    tl_lake *lake = sound_table("used");
    tl_maintain_result r;
    listed l;
    tl_table *t;
    tl_metadata m;
    tl_buf json = {0};
    put(lake, "default/t/metadata/stats.puffin");
    put(lake, "default/t/metadata/more.puffin");
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_metadata_copy(&t->metadata, &m, NULL));
    /* spelled with a double slash, as another engine may */
    m.extra_json =
        "{\"statistics\":[{\"snapshot-id\":1,\"statistics-path\":\"memory://orphans-used/default//t/metadata/"
        "stats.puffin\"}],"
        "\"partition-statistics\":[{\"statistics-path\":\"memory://orphans-used/default/t/metadata/more.puffin\"}]}";
    OK(tl_metadata_write(&m, &json, NULL));
    OK(tl_store_put(lake->store, "default/t/metadata/v5.metadata.json", tl_buf_bytes(&json), TL_PUT_SYNC, NULL));
    tl_lake_forget(lake, "default.t");
    OK(clean(lake, -1, 0, &r, &l, NULL));
    assert_int_equal(r.orphans, 0);
    assert_true(tl_store_exists(lake->store, "default/t/metadata/stats.puffin"));
    assert_int_equal(test_count(lake), 3);
    tl_buf_free(&json);
    m.extra_json = NULL;
    tl_metadata_free(&m);
    tl_table_release(t);
    tl_lake_close(lake);
}

static void a_table_that_names_places_outside_of_its_folder_is_left_alone(void **state) {
    (void)state;
    tl_lake *lake = sound_table("outside");
    tl_maintain_result r;
    listed l;
    tl_table *t;
    tl_metadata m;
    tl_buf json = {0};
    tl_error err;
    put(lake, "default/t/data/stray.parquet");
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_metadata_copy(&t->metadata, &m, NULL));
    const tl_snapshot *current = tl_metadata_current(&m);
    for (int32_t i = 0; i < current->n_summary; i++) {
        if (strcmp(current->summary[i].key, "timelake.last-value-index") == 0) {
            current->summary[i].value = "memory://elsewhere/default/t/metadata/lvi-1-x.parquet";
        }
    }
    OK(tl_metadata_write(&m, &json, NULL));
    OK(tl_store_put(lake->store, "default/t/metadata/v5.metadata.json", tl_buf_bytes(&json), TL_PUT_SYNC, NULL));
    tl_lake_forget(lake, "default.t");
    assert_int_equal(clean(lake, -1, 0, &r, &l, &err), TL_UNSUPPORTED);
    assert_non_null(strstr(err.message, "outside"));
    assert_true(tl_store_exists(lake->store, "default/t/data/stray.parquet"));
    tl_buf_free(&json);
    tl_metadata_free(&m);
    tl_table_release(t);
    tl_lake_close(lake);
}

static void nothing_goes_when_something_could_not_be_read(void **state) {
    (void)state;
    tl_lake *lake = sound_table("unread");
    const char *const parts[] = {"snap-", "-m.avro"};
    tl_maintain_result r;
    listed l;
    put(lake, "default/t/data/stray.parquet");
    OK(tl_faulty_open(lake->store, &lake->store, NULL));
    lake->store->env = &clock_env;
    tl_lake_forget(lake, "default.t");
    for (size_t i = 0; i < TL_COUNT(parts); i++) {
        for (uint64_t nth = 1; nth <= 3; nth++) {
            const tl_fault_rule rule = {.ops = TL_OP_GET, .key_part = parts[i], .nth = nth, .fault = TL_FAULT_IO};
            tl_faulty_script(lake->store, &rule, 1);
            assert_int_not_equal(clean(lake, -1, 0, &r, &l, NULL), TL_OK);
            tl_faulty_script(lake->store, NULL, 0);
            assert_int_equal(r.objects_deleted, 0);
            assert_true(tl_store_exists(lake->store, "default/t/data/stray.parquet"));
        }
    }
    const tl_fault_rule torn = {.ops = TL_OP_GET, .key_part = "-m.avro", .nth = 2, .fault = TL_FAULT_TORN};
    tl_faulty_script(lake->store, &torn, 1);
    assert_int_not_equal(clean(lake, -1, 0, &r, &l, NULL), TL_OK);
    const tl_fault_rule listing = {.ops = TL_OP_LIST, .nth = 1, .fault = TL_FAULT_IO};
    tl_faulty_script(lake->store, &listing, 1);
    assert_int_not_equal(clean(lake, -1, 0, &r, &l, NULL), TL_OK);
    tl_faulty_script(lake->store, NULL, 0);
    assert_true(tl_store_exists(lake->store, "default/t/data/stray.parquet"));
    assert_int_equal(test_count(lake), 3);
    OK(clean(lake, -1, 0, &r, &l, NULL));
    assert_int_equal(r.objects_deleted, 1);
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void a_store_that_takes_no_probe_has_the_time_of_its_youngest_object(void **state) {
    (void)state;
    tl_lake *lake = sound_table("probe");
    tl_maintain_result r;
    listed l;
    put(lake, "default/t/data/stray.parquet");
    clock_state.clock_us += 10 * DAY_US; /* our clock has gone on, the store shows nothing of it */
    OK(tl_faulty_open(lake->store, &lake->store, NULL));
    lake->store->env = &clock_env;
    tl_lake_forget(lake, "default.t");
    const tl_fault_rule rule = {.ops = TL_OP_PUT, .key_part = "timelake-probe", .nth = 0, .fault = TL_FAULT_IO};
    tl_faulty_script(lake->store, &rule, 1);
    OK(clean(lake, HOUR_US, 1, &r, &l, NULL));
    assert_int_equal(r.orphans, 0);
    tl_faulty_script(lake->store, NULL, 0);
    OK(clean(lake, HOUR_US, 1, &r, &l, NULL));
    assert_int_equal(r.orphans, 1);
    tl_lake_close(lake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_rubbish_goes_and_young_stays),
        cmocka_unit_test(nothing_that_a_snapshot_or_a_statistic_refers_to_goes),
        cmocka_unit_test(a_table_that_names_places_outside_of_its_folder_is_left_alone),
        cmocka_unit_test(nothing_goes_when_something_could_not_be_read),
        cmocka_unit_test(a_store_that_takes_no_probe_has_the_time_of_its_youngest_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
