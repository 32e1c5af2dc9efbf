/* The check of a table: a sound one has no findings, and each kind of fault that is planted is found and named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/maintain_testing.h"
#include "iceberg/manifest.h"
#include "maintain/objects.h"
#include "table/head.h"

static const test_row some_rows[] = {
    {"a", "x", 0, 1.5},        {"a", "y", 1000, -0.0},    {"b", "x", 5, NAN},  {"b", NULL, 2000, 7},
    {"c", "z", DAY_US + 1, 3}, {"c", "z", DAY_US + 9, 0}, {NULL, "x", 77, -4},
};

static tl_lake *open_lake(const char *name) {
    tl_lake *lake;
    char location[64];
    (void)snprintf(location, sizeof location, "memory://check-%s", name);
    OK(tl_lake_open(location, NULL, &lake, NULL));
    return lake;
}

static tl_lake *sound_table(const char *name) {
    tl_lake *lake = open_lake(name);
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor"});
    test_append(lake, some_rows, (int)TL_COUNT(some_rows));
    test_append(lake, some_rows + 1, 3);
    return lake;
}

/* ---- planting ---- */

/* The n-th object whose key contains `part`; caller frees. */
static char *object_like(tl_lake *lake, const char *part, int nth) {
    tl_table *t;
    tl_objects all;
    char *key = NULL;
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_objects_list(t, false, &all, NULL));
    for (size_t i = 0; i < all.n && !key; i++) {
        if (strstr(all.items[i].key, part) && nth-- == 0) {
            key = tl_strdup(all.items[i].key);
        }
    }
    tl_objects_free(&all);
    tl_table_release(t);
    assert_non_null(key);
    return key;
}

static void put(tl_lake *lake, const char *key, const void *data, size_t len) {
    OK(tl_store_put(lake->store, key, (tl_bytes){data, len}, TL_PUT_SYNC, NULL));
}

/* The table's next version with changed metadata; nobody checks them. */
static void put_version(tl_lake *lake, const tl_table *t, const tl_metadata *m) {
    tl_buf json = {0};
    char *key = tl_format("%s/metadata/v%lld.metadata.json", t->prefix, (long long)t->version + 1);
    OK(tl_metadata_write(m, &json, NULL));
    put(lake, key, json.data, json.len);
    tl_buf_free(&json);
    tl_free(key);
    tl_lake_forget(lake, t->name);
}

static void set_property(tl_lake *lake, const char *name, const char *value) {
    tl_table *t;
    tl_metadata m;
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_metadata_copy(&t->metadata, &m, NULL));
    OK(tl_metadata_set_property(&m, name, value, NULL));
    put_version(lake, t, &m);
    tl_metadata_free(&m);
    tl_table_release(t);
}

/* A snapshot of the same files whose manifest says something else of the first one, and whose summary of the table. */
typedef void (*change_entry)(tl_manifest_entry *e, tl_arena *arena);

static void plant(tl_lake *lake, change_entry change, const char *summary_key, const char *summary_value) {
    tl_table *t;
    tl_live_files files;
    tl_arena arena = {0};
    tl_buf avro = {0};
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_table_files(t, NULL, &files, NULL));
    const tl_metadata *m = &t->metadata;
    tl_manifest manifest = {.format_version = 2, .schema_id = m->current_schema_id, .spec_id = m->default_spec_id};
    manifest.entries = tl_arena_array(&arena, (size_t)files.n_data, sizeof *manifest.entries);
    manifest.n_entries = files.n_data;
    for (int64_t i = 0; i < files.n_data; i++) {
        const tl_live_file *f = &files.data[i];
        manifest.entries[i] = (tl_manifest_entry){TL_ENTRY_EXISTING, f->snapshot_id, f->sequence_number,
                                                  f->file_sequence_number, f->file};
    }
    if (change) {
        change(&manifest.entries[0], &arena);
    }
    int64_t sequence = m->last_sequence_number + 1, id = 4711 + t->version;
    const tl_partition_spec *spec = tl_metadata_spec(m);
    tl_manifest_file listed;
    char *key = tl_format("%s/metadata/planted-%lld-m.avro", t->prefix, (long long)t->version);
    char *list_key = tl_format("%s/metadata/snap-planted-%lld.avro", t->prefix, (long long)t->version);
    char *uri = tl_store_uri(lake->store, key), *list_uri = tl_store_uri(lake->store, list_key);
    OK(tl_manifest_write(&manifest, tl_metadata_schema(m), spec, &avro, NULL));
    put(lake, key, avro.data, avro.len);
    OK(tl_manifest_describe(&manifest, tl_metadata_schema(m), spec, uri, (int64_t)avro.len, id, sequence, &arena,
                            &listed, NULL));
    avro.len = 0;
    OK(tl_manifest_list_write(&listed, 1, id, m->current_snapshot_id, sequence, &avro, NULL));
    put(lake, list_key, avro.data, avro.len);
    const tl_snapshot *current = tl_metadata_current(m);
    tl_snapshot s = *current;
    s.parent_id = current->snapshot_id;
    s.snapshot_id = id;
    s.sequence_number = sequence;
    s.manifest_list = list_uri;
    s.summary = tl_arena_copy(&arena, current->summary, (size_t)current->n_summary * sizeof *s.summary);
    for (int32_t i = 0; i < s.n_summary; i++) {
        if (strcmp(s.summary[i].key, "operation") == 0) {
            s.summary[i].value = "replace"; /* so that the index is believed */
        }
        if (summary_key && strcmp(s.summary[i].key, summary_key) == 0) {
            s.summary[i].value = summary_value;
        }
    }
    tl_metadata next;
    OK(tl_metadata_copy(m, &next, NULL));
    OK(tl_metadata_add_snapshot(&next, &s, NULL));
    put_version(lake, t, &next);
    tl_metadata_free(&next);
    tl_free(key);
    tl_free(uri);
    tl_free(list_key);
    tl_free(list_uri);
    tl_buf_free(&avro);
    tl_arena_free(&arena);
    tl_live_files_free(&files);
    tl_table_release(t);
}

static tl_column_stats *column(tl_manifest_entry *e, tl_arena *arena, int32_t id) {
    tl_column_stats *all = tl_arena_copy(arena, e->file.columns, (size_t)e->file.n_columns * sizeof *e->file.columns);
    e->file.columns = all;
    for (int32_t i = 0; i < e->file.n_columns; i++) {
        if (all[i].field_id == id) {
            return &all[i];
        }
    }
    fail_msg("no column %d", id);
    return NULL;
}

/* ---- sound ---- */

static void a_sound_table_has_no_findings(void **state) {
    (void)state;
    tl_lake *lake = sound_table("sound");
    test_is_clean(lake);
    plant(lake, NULL, NULL, NULL); /* the hand that plants does no harm by itself */
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void tables_without_rows_or_time_are_sound(void **state) {
    (void)state;
    tl_lake *lake = open_lake("empty");
    test_table(lake, &(tl_table_spec){.time_column = "time"});
    test_is_clean(lake);
    tl_lake_close(lake);
    lake = open_lake("plain");
    test_table(lake, NULL);
    test_append(lake, some_rows, (int)TL_COUNT(some_rows));
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void what_can_be_read_again_is_found_after_a_rollback(void **state) {
    (void)state;
    tl_lake *lake = sound_table("rollback");
    tl_table *t;
    OK(tl_lake_table(lake, "t", &t, NULL));
    int64_t first = tl_metadata_current(&t->metadata)->parent_id;
    tl_table_release(t);
    OK(tl_rollback(lake, "t", first, NULL, NULL));
    test_is_clean(lake);
    tl_lake_close(lake);
}

/* ---- files ---- */

static void a_missing_data_file_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("missing");
    char *key = object_like(lake, "/data/", 0);
    OK(tl_store_remove(lake->store, key, NULL));
    test_finds(lake, "missing-file", NULL);
    tl_free(key);
    tl_lake_close(lake);
}

static void a_data_file_that_was_cut_short_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("cut");
    char *key = object_like(lake, "/data/", 1);
    tl_buf bytes = {0};
    OK(tl_store_get(lake->store, key, &bytes, NULL));
    put(lake, key, bytes.data, bytes.len - 1);
    test_finds(lake, "file-size", NULL);
    tl_buf_free(&bytes);
    tl_free(key);
    tl_lake_close(lake);
}

static void a_data_file_with_flipped_bytes_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("flipped");
    char *key = object_like(lake, "/data/", 0);
    tl_buf bytes = {0};
    OK(tl_store_get(lake->store, key, &bytes, NULL));
    memset(bytes.data + 4, 0xff, 64);
    put(lake, key, bytes.data, bytes.len);
    test_finds(lake, "unreadable-file", NULL);
    tl_buf_free(&bytes);
    tl_free(key);
    tl_lake_close(lake);
}

static void a_file_of_an_older_snapshot_that_is_missing_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("older");
    tl_table *t;
    OK(tl_lake_table(lake, "t", &t, NULL));
    const tl_snapshot *now = tl_metadata_current(&t->metadata);
    char *key = NULL;
    OK(tl_table_key(t, tl_metadata_snapshot(&t->metadata, now->parent_id)->manifest_list, &key, NULL));
    OK(tl_store_remove(lake->store, key, NULL));
    test_finds(lake, "manifest-list", NULL);
    tl_free(key);
    tl_table_release(t);
    tl_lake_close(lake);
}

static void a_missing_and_a_garbled_manifest_are_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("manifest");
    char *key = object_like(lake, "-added-m.avro", 0);
    put(lake, key, "Objnonsense", 11);
    test_findings found = test_check(lake, -1);
    assert_true(found.n >= 1);
    assert_string_equal(found.kinds[0], "manifest");
    OK(tl_store_remove(lake->store, key, NULL));
    test_finds(lake, "missing-manifest", NULL);
    tl_free(key);
    tl_lake_close(lake);
}

static void metadata_that_cannot_be_read_are_a_finding(void **state) {
    (void)state;
    tl_lake *lake = sound_table("metadata");
    put(lake, "default/t/metadata/v4.metadata.json", "{\"format-version\":2", 19);
    tl_lake_forget(lake, "default.t");
    test_finds(lake, "metadata", NULL);
    tl_lake_close(lake);
}

/* ---- what manifests say ---- */

static void wrong_rows(tl_manifest_entry *e, tl_arena *arena) {
    (void)arena;
    e->file.record_count += 1;
}
static void wrong_nulls(tl_manifest_entry *e, tl_arena *arena) {
    column(e, arena, 2)->nulls += 1;
}
static void wrong_nans(tl_manifest_entry *e, tl_arena *arena) {
    column(e, arena, 4)->nans += 1;
}
static void wrong_values(tl_manifest_entry *e, tl_arena *arena) {
    column(e, arena, 4)->values -= 1;
}
static void low_upper(tl_manifest_entry *e, tl_arena *arena) {
    static const double low = -100;
    column(e, arena, 4)->lower = (tl_bytes){NULL, 0};
    column(e, arena, 4)->upper = (tl_bytes){(const uint8_t *)&low, 8};
}
static void high_lower(tl_manifest_entry *e, tl_arena *arena) {
    tl_column_stats *s = column(e, arena, 2);
    s->lower = tl_bytes_of("zzz");
    s->upper = (tl_bytes){NULL, 0};
}
static void wide_bounds(tl_manifest_entry *e, tl_arena *arena) {
    tl_column_stats *s = column(e, arena, 2);
    s->lower = tl_bytes_of("");
    s->upper = tl_bytes_of("zzz");
}
static void wrong_partition(tl_manifest_entry *e, tl_arena *arena) {
    static const int32_t other = 5;
    e->file.partition = tl_arena_alloc(arena, sizeof *e->file.partition);
    e->file.partition->value = (tl_bytes){(const uint8_t *)&other, 4};
}
static void wrong_sequence(tl_manifest_entry *e, tl_arena *arena) {
    (void)arena;
    e->sequence_number = 1000;
}

static void counts_that_are_not_true_are_found(void **state) {
    (void)state;
    const struct {
        change_entry change;
        const char *kind, *other;
    } cases[] = {
        {wrong_rows, "unreadable-file", "summary"}, {wrong_nulls, "null-count", NULL},  {wrong_nans, "nan-count", NULL},
        {wrong_values, "value-count", NULL},        {low_upper, "bounds", NULL},        {high_lower, "bounds", NULL},
        {wrong_partition, "partition", NULL},       {wrong_sequence, "sequence", NULL},
    };
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "count-%zu", i);
        tl_lake *lake = sound_table(name);
        plant(lake, cases[i].change, NULL, NULL);
        test_finds(lake, cases[i].kind, cases[i].other);
        tl_lake_close(lake);
    }
}

static void bounds_that_are_wider_than_the_values_are_true(void **state) {
    (void)state;
    tl_lake *lake = sound_table("wide");
    plant(lake, wide_bounds, NULL, NULL);
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void a_summary_that_does_not_add_up_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("summary");
    plant(lake, NULL, "total-records", "3");
    test_finds(lake, "summary", NULL);
    tl_lake_close(lake);
}

/* ---- order and keys ---- */

static void files_that_are_not_sorted_as_they_claim_are_found(void **state) {
    (void)state;
    const test_row rows[] = {{"a", "z", 1, 1}, {"b", "y", 2, 2}, {"c", "x", 3, 3}};
    tl_lake *lake = open_lake("unsorted");
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor"});
    test_append(lake, rows, 3);
    test_is_clean(lake);
    set_property(lake, "timelake.series-key", "site");
    test_findings found = test_check(lake, -1);
    assert_true(found.n >= 1);
    assert_string_equal(found.kinds[0], "unsorted");
    tl_lake_close(lake);
}

static void keys_that_stand_twice_in_a_file_are_found(void **state) {
    (void)state;
    const test_row rows[] = {{"a", "x", 1, 1}, {"a", "x", 1, 2}, {"b", "x", 1, 3}};
    tl_lake *lake = open_lake("repeated");
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor", .no_dedup = 1});
    test_append(lake, rows, 3);
    test_is_clean(lake);
    set_property(lake, "timelake.dedup", "true");
    test_finds(lake, "duplicate-keys", NULL);
    tl_lake_close(lake);
}

/* ---- beside the data ---- */

static void an_index_that_says_other_than_a_scan_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("index");
    char *first = object_like(lake, "/lvi-", 0), *second = object_like(lake, "/lvi-", 1);
    const test_row more[] = {{"d", "x", 5, 1}};
    tl_buf bytes = {0};
    test_append(lake, more, 1); /* a fourth series, which the older indexes do not have */
    tl_table *t;
    OK(tl_lake_table(lake, "t", &t, NULL));
    char *now = NULL;
    OK(tl_table_key(t, tl_snapshot_summary(tl_metadata_current(&t->metadata), "timelake.last-value-index"), &now,
                    NULL));
    OK(tl_store_get(lake->store, strcmp(now, first) == 0 ? second : first, &bytes, NULL));
    put(lake, now, bytes.data, bytes.len);
    test_findings found = test_check(lake, -1);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.kinds[0], "last-value-index");
    OK(tl_store_remove(lake->store, now, NULL));
    found = test_check(lake, -1);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.kinds[0], "last-value-index");
    tl_table_release(t);
    tl_buf_free(&bytes);
    tl_free(now);
    tl_free(first);
    tl_free(second);
    tl_lake_close(lake);
}

static void a_head_of_something_else_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("head");
    tl_table *t;
    tl_live_files files;
    tl_buf head = {0};
    OK(tl_lake_table(lake, "t", &t, NULL));
    OK(tl_table_files(t, NULL, &files, NULL));
    files.n_data--;
    OK(tl_head_write(t, &files, &head, NULL));
    put(lake, "default/t/metadata/timelake-head", head.data, head.len);
    test_finds(lake, "head", NULL);
    t->version += 5;
    head.len = 0;
    files.n_data++;
    OK(tl_head_write(t, &files, &head, NULL));
    put(lake, "default/t/metadata/timelake-head", head.data, head.len);
    t->version -= 5;
    test_finds(lake, "head", NULL);
    put(lake, "default/t/metadata/timelake-head", "TLHD", 4);
    test_findings found = test_check(lake, -1);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.warnings, 1);
    tl_buf_free(&head);
    tl_live_files_free(&files);
    tl_table_release(t);
    tl_lake_close(lake);
}

static void a_hint_into_the_void_is_found(void **state) {
    (void)state;
    tl_lake *lake = sound_table("hint");
    put(lake, "default/t/metadata/version-hint.text", "99", 2);
    test_finds(lake, "version-hint", NULL);
    put(lake, "default/t/metadata/version-hint.text", "2", 1); /* stale is fine */
    test_is_clean(lake);
    tl_lake_close(lake);
}

static void what_nobody_refers_to_is_told_after_its_grace(void **state) {
    (void)state;
    tl_lake *lake = sound_table("orphan");
    put(lake, "default/t/data/stray.parquet", "x", 1);
    put(lake, "default/t/metadata/stray-m.avro", "x", 1);
    put(lake, "default/t/metadata/timelake-heat", "timelake-heat 1\n", 16); /* the readers' notes are no stray */
    assert_int_equal(test_check(lake, 0).n, 0);
    test_findings found = test_check(lake, -1);
    assert_int_equal(found.n, 2);
    assert_int_equal(found.warnings, 2);
    assert_string_equal(found.kinds[0], "orphan");
    tl_lake_close(lake);
}

static void a_batch_id_that_was_committed_twice_is_found(void **state) {
    (void)state;
    tl_lake *lake = open_lake("batch");
    struct ArrowArrayStream rows;
    test_table(lake, &(tl_table_spec){.time_column = "time", .series_key = "sensor"});
    const tl_append_params params = {.batch_id = "b1", .no_maintain = 1};
    test_stream(some_rows, 3, &rows);
    OK(tl_append(lake, "t", &rows, &params, NULL, NULL));
    test_is_clean(lake);
    plant(lake, NULL, NULL, NULL); /* copies the summary, batch id and all */
    test_finds(lake, "batch-id", NULL);
    tl_lake_close(lake);
}

static void a_check_that_runs_out_of_memory_says_so(void **state) {
    (void)state;
    tl_lake *lake = sound_table("memory");
    tl_error err;
    bool failed = false, done = false;
    for (uint64_t n = 1; n < 20000 && !done; n += 1 + n / 16) {
        tl_check_result r;
        (void)tl_mem_fail_at(n);
        tl_status status = tl_check(lake, "t", NULL, &r, &err);
        (void)tl_mem_fail_at(0);
        failed = failed || status == TL_NO_MEMORY;
        done = status == TL_OK;
        if (done) {
            assert_int_equal(r.findings, 0);
        } else {
            assert_int_equal(status, TL_NO_MEMORY);
        }
    }
    assert_true(failed && done);
    tl_lake_close(lake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_table_has_no_findings),
        cmocka_unit_test(tables_without_rows_or_time_are_sound),
        cmocka_unit_test(what_can_be_read_again_is_found_after_a_rollback),
        cmocka_unit_test(a_missing_data_file_is_found),
        cmocka_unit_test(a_data_file_that_was_cut_short_is_found),
        cmocka_unit_test(a_data_file_with_flipped_bytes_is_found),
        cmocka_unit_test(a_file_of_an_older_snapshot_that_is_missing_is_found),
        cmocka_unit_test(a_missing_and_a_garbled_manifest_are_found),
        cmocka_unit_test(metadata_that_cannot_be_read_are_a_finding),
        cmocka_unit_test(counts_that_are_not_true_are_found),
        cmocka_unit_test(bounds_that_are_wider_than_the_values_are_true),
        cmocka_unit_test(a_summary_that_does_not_add_up_is_found),
        cmocka_unit_test(files_that_are_not_sorted_as_they_claim_are_found),
        cmocka_unit_test(keys_that_stand_twice_in_a_file_are_found),
        cmocka_unit_test(an_index_that_says_other_than_a_scan_is_found),
        cmocka_unit_test(a_head_of_something_else_is_found),
        cmocka_unit_test(a_hint_into_the_void_is_found),
        cmocka_unit_test(what_nobody_refers_to_is_told_after_its_grace),
        cmocka_unit_test(a_batch_id_that_was_committed_twice_is_found),
        cmocka_unit_test(a_check_that_runs_out_of_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
