/*
 * Tests of replacing files: what is in the table afterwards, sequence numbers, counters, conflicts, rebasing over
 * appends, every fault at every store operation. Staged files are made by hand: file number i is an object of one byte,
 * data/f-<i>.parquet, said to hold one row, in the partition i / 100.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "commit/commit.h"
#include "store/faulty.h"
#include "table/last_index.h"

static tl_field fields[] = {
    {.id = 1, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    {.id = 2, .name = "series", .type = {.id = TL_TYPE_LONG}},
};
static const tl_schema schema = {.n_fields = 2, .fields = fields};
static const char *const key_columns[] = {"series"};

static tl_store *open_faulty(void) {
    static tl_env_fixed world = {.seed = 1, .clock_us = 1767225600000000, .step_us = 10};
    static tl_env env;
    env = tl_env_seeded(&world);
    tl_store *inner, *s;
    assert_int_equal(tl_store_open("memory://", false, &env, &inner, NULL), TL_OK);
    assert_int_equal(tl_faulty_open(inner, &s, NULL), TL_OK);
    return s;
}

static tl_table *create(tl_store *s) {
    tl_create_options o = {
        .schema = &schema, .time_column = "ts", .series_key = key_columns, .n_series_key = 1, .dedup = -1};
    tl_table *t;
    assert_int_equal(tl_table_create(s, "default", "r", &o, &t, NULL), TL_OK);
    return t;
}

static tl_table *load(tl_store *s) {
    tl_table *t;
    assert_int_equal(tl_table_load(s, "default", "r", &t, NULL), TL_OK);
    return t;
}

static void stage(tl_store *s, const int *numbers, int n, tl_staged *out) {
    *out = (tl_staged){.n_files = n, .rows = n, .rows_in = n, .bytes = n};
    tl_arena *a = &out->arena;
    out->files = tl_arena_array(a, (size_t)n, sizeof *out->files);
    out->keys = tl_arena_array(a, (size_t)n, sizeof *out->keys);
    assert_true(out->files && out->keys);
    for (int i = 0; i < n; i++) {
        int32_t day = numbers[i] / 100;
        out->keys[i] = tl_arena_format(a, "default/r/data/f-%d.parquet", numbers[i]);
        char *uri = tl_store_uri(s, out->keys[i]);
        tl_partition_value *p = tl_arena_array(a, 1, sizeof *p);
        assert_true(uri && p);
        p->value = (tl_bytes){tl_arena_copy(a, &day, sizeof day), sizeof day};
        assert_int_equal(tl_store_put(s, out->keys[i], tl_bytes_of("x"), TL_PUT_LATER, NULL), TL_OK);
        out->files[i] = (tl_data_file){.content = TL_CONTENT_DATA,
                                       .path = tl_arena_strdup(a, uri),
                                       .format = "PARQUET",
                                       .partition = p,
                                       .n_partition = 1,
                                       .record_count = 1,
                                       .file_size = 1,
                                       .sort_order_id = 1,
                                       .content_offset = -1,
                                       .content_size = -1};
        tl_free(uri);
    }
}

static void append(tl_table **t, int number) {
    tl_staged staged;
    tl_commit_result r;
    tl_table *newer;
    stage((*t)->store, &number, 1, &staged);
    assert_int_equal(tl_commit_append(*t, &staged, NULL, &r, &newer, NULL), TL_OK);
    tl_staged_free(&staged);
    tl_table_release(*t);
    *t = newer;
}

/* What is in the newest version, as "number:sequence " in the order of the numbers; counters are checked. */
static void contents(tl_store *s, char text[512]) {
    tl_table *t = load(s);
    tl_live_files files;
    tl_error err = {{0}};
    if (tl_table_files(t, NULL, &files, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    text[0] = '\0';
    for (int n = 0; n < 1000; n++) {
        for (int64_t i = 0; i < files.n_data; i++) {
            int number = -1;
            assert_int_equal(sscanf(files.data[i].key, "default/r/data/f-%d.parquet", &number), 1);
            if (number == n) {
                size_t len = strlen(text);
                (void)snprintf(text + len, 512 - len, "%d:%lld ", n, (long long)files.data[i].sequence_number);
                assert_true(tl_store_exists(s, files.data[i].key));
            }
        }
    }
    const tl_snapshot *now = tl_metadata_current(&t->metadata);
    const char *const keys[] = {"total-data-files", "total-records", "total-files-size"};
    for (size_t k = 0; k < TL_COUNT(keys); k++) {
        assert_int_equal(strtoll(tl_snapshot_summary(now, keys[k]), NULL, 10), files.n_data);
    }
    tl_live_files_free(&files);
    tl_table_release(t);
}

static int64_t position(const tl_live_files *files, int number) {
    char part[32];
    (void)snprintf(part, sizeof part, "/f-%d.parquet", number);
    for (int64_t i = 0; i < files->n_data; i++) {
        if (strstr(files->data[i].key, part)) {
            return i;
        }
    }
    fail_msg("no file %d", number);
    return -1;
}

/* Replaces the files `from`.. by file `to` (-1 = nothing) as planned on `base`. */
static tl_status replace(tl_table *base, const int *from, int n, int to, tl_table **out, tl_error *err) {
    tl_live_files files;
    int64_t removed[8], sequence = 0;
    assert_int_equal(tl_table_files(base, NULL, &files, err), TL_OK);
    for (int i = 0; i < n; i++) {
        removed[i] = position(&files, from[i]);
        int64_t seq = files.data[removed[i]].sequence_number;
        sequence = seq > sequence ? seq : sequence;
    }
    tl_replace_options o = {.planned = &files, .removed = removed, .n_removed = n, .sequences = &sequence};
    tl_staged staged = {0};
    if (to >= 0) {
        stage(base->store, &to, 1, &staged);
    }
    tl_commit_result r;
    tl_status status = tl_commit_replace(base, &staged, &o, &r, out, err);
    tl_staged_free(&staged);
    tl_live_files_free(&files);
    return status;
}

static const char *summary(const tl_table *t, const char *key) {
    const char *text = tl_snapshot_summary(tl_metadata_current(&t->metadata), key);
    return text ? text : "";
}

static void the_result_keeps_the_greatest_sequence_number(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s), *out = NULL;
    for (int i = 1; i <= 20; i++) {
        append(&t, i);
    }
    tl_error err = {{0}};
    assert_int_equal(replace(t, (int[]){3, 4, 5}, 3, 100, &out, &err), TL_OK);
    char text[512];
    contents(s, text);
    assert_string_equal(text, "1:1 2:2 6:6 7:7 8:8 9:9 10:10 11:11 12:12 13:13 14:14 15:15 16:16 17:17 18:18 19:19 "
                              "20:20 100:5 ");
    assert_string_equal(summary(out, "operation"), "replace");
    assert_string_equal(summary(out, "added-data-files"), "1");
    assert_string_equal(summary(out, "deleted-data-files"), "3");
    assert_string_equal(summary(out, "deleted-records"), "3");
    assert_int_equal(tl_metadata_current(&out->metadata)->sequence_number, 21);
    tl_table_release(t);
    t = out;
    for (int i = 21; i <= 40; i++) { /* appends carry and merge the manifests on */
        append(&t, i);
    }
    contents(s, text);
    assert_non_null(strstr(text, "2:2 6:6 "));
    assert_non_null(strstr(text, "40:41 100:5 "));
    tl_table_release(t);
    tl_store_close(s);
}

static void removing_without_adding_is_a_delete(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s), *out = NULL;
    append(&t, 1);
    append(&t, 200);
    assert_int_equal(replace(t, (int[]){1}, 1, -1, &out, NULL), TL_OK);
    char text[512];
    contents(s, text);
    assert_string_equal(text, "200:2 ");
    assert_string_equal(summary(out, "operation"), "delete");
    tl_table_release(t);
    t = out;
    assert_int_equal(replace(t, (int[]){200}, 1, -1, &out, NULL), TL_OK);
    contents(s, text);
    assert_string_equal(text, "");
    tl_table_release(t);
    tl_table_release(out);
    tl_store_close(s);
}

static void it_goes_on_top_of_appends_that_came_meanwhile(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s), *out = NULL;
    append(&t, 1);
    append(&t, 2);
    tl_table *old = tl_table_retain(t);
    append(&t, 3);
    append(&t, 4);
    assert_int_equal(replace(old, (int[]){1, 2}, 2, 10, &out, NULL), TL_OK);
    char text[512];
    contents(s, text);
    assert_string_equal(text, "3:3 4:4 10:2 ");
    tl_table_release(out);
    tl_table_release(old);
    tl_table_release(t);
    tl_store_close(s);
}

static void a_file_that_is_gone_is_a_conflict_and_nothing_stays(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s), *first = NULL, *second = NULL;
    append(&t, 1);
    append(&t, 2);
    append(&t, 3);
    assert_int_equal(replace(t, (int[]){1, 2}, 2, 10, &first, NULL), TL_OK);
    tl_error err = {{0}};
    assert_int_equal(replace(t, (int[]){2, 3}, 2, 11, &second, &err), TL_CONFLICT);
    assert_non_null(strstr(err.message, "f-2.parquet"));
    assert_null(second);
    assert_false(tl_store_exists(s, "default/r/data/f-11.parquet"));
    char text[512];
    contents(s, text);
    assert_string_equal(text, "3:3 10:2 ");
    tl_table_release(first);
    tl_table_release(t);
    tl_store_close(s);
}

/* Failed for sure = nothing changed; done = changed; unknown = either. */
static void every_fault_at_every_operation_has_a_true_outcome(void **state) {
    (void)state;
    const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_LATE,     TL_FAULT_EXISTS,
                               TL_FAULT_NO_SPACE,   TL_FAULT_IO,          TL_FAULT_NO_MEMORY};
    const uint64_t times[] = {1, 40};
    for (size_t f = 0; f < TL_COUNT(faults); f++) {
        for (size_t k = 0; k < TL_COUNT(times); k++) {
            bool struck = true;
            for (uint64_t n = 1; struck; n++) {
                tl_store *s = open_faulty();
                tl_table *t = create(s), *out = NULL;
                append(&t, 1);
                append(&t, 2);
                append(&t, 3);
                tl_live_files files;
                assert_int_equal(tl_table_files(t, NULL, &files, NULL), TL_OK);
                int64_t removed[2] = {0, 1}, sequence = 2;
                tl_staged staged;
                stage(s, (int[]){10}, 1, &staged);
                tl_replace_options o = {
                    .planned = &files, .removed = removed, .n_removed = 2, .sequences = &sequence, .max_attempts = 3};
                tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .times = times[k], .fault = faults[f], .late = 2};
                tl_faulty_script(s, &rule, 1);
                tl_commit_result r;
                tl_status status = tl_commit_replace(t, &staged, &o, &r, &out, NULL);
                struck = tl_faulty_count(s) >= n;
                tl_faulty_script(s, NULL, 0);
                tl_faulty_deliver(s);
                char text[512];
                contents(s, text);
                bool done = strcmp(text, "3:3 10:2 ") == 0;
                if (!(done || strcmp(text, "1:1 2:2 3:3 ") == 0) ||
                    (status != TL_UNKNOWN && done != (status == TL_OK))) {
                    fail_msg("fault %d at %d: status %d, the table holds %s", (int)faults[f], (int)n, status, text);
                }
                tl_table *again = load(s);
                append(&again, 20);
                tl_table_release(again);
                tl_staged_free(&staged);
                tl_live_files_free(&files);
                tl_table_release(out);
                tl_table_release(t);
                tl_store_close(s);
            }
        }
    }
}

static void failed_allocations_leave_nothing_behind(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = open_faulty();
        tl_table *t = create(s), *out = NULL;
        append(&t, 1);
        append(&t, 2);
        tl_live_files files;
        assert_int_equal(tl_table_files(t, NULL, &files, NULL), TL_OK);
        int64_t removed[2] = {0, 1}, sequence = 2;
        tl_staged staged;
        stage(s, (int[]){10}, 1, &staged);
        tl_replace_options o = {.planned = &files, .removed = removed, .n_removed = 2, .sequences = &sequence};
        tl_commit_result r;
        (void)tl_mem_fail_at(n);
        tl_status status = tl_commit_replace(t, &staged, &o, &r, &out, NULL);
        (void)tl_mem_fail_at(0);
        char text[512];
        contents(s, text);
        assert_true(status == TL_OK || status == TL_NO_MEMORY || status == TL_UNKNOWN);
        if (status != TL_UNKNOWN) {
            assert_string_equal(text, status == TL_OK ? "10:2 " : "1:1 2:2 ");
        }
        tl_staged_free(&staged);
        tl_live_files_free(&files);
        tl_table_release(out);
        tl_table_release(t);
        tl_store_close(s);
        if (status == TL_OK && n > 400) {
            break;
        }
        assert_true(n < 4000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_result_keeps_the_greatest_sequence_number),
        cmocka_unit_test(removing_without_adding_is_a_delete),
        cmocka_unit_test(it_goes_on_top_of_appends_that_came_meanwhile),
        cmocka_unit_test(a_file_that_is_gone_is_a_conflict_and_nothing_stays),
        cmocka_unit_test(every_fault_at_every_operation_has_a_true_outcome),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
