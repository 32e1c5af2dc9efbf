/* The snapshot summary says which files of an append are newer than everything before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"
#include "store/memory.h"

static tl_field fields[] = {
    {.id = 1, .name = "machine", .type = {.id = TL_TYPE_LONG}},
    {.id = 2, .required = true, .name = "ts", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
};
static const tl_schema schema = {.n_fields = 2, .fields = fields};

#define DAY INT64_C(86400000000)

typedef struct reading {
    int64_t machine, ts;
} reading;

static tl_table *create(tl_store *store) {
    tl_error err = {{0}};
    const char *key[] = {"machine"};
    tl_create_options o = {
        .schema = &schema, .time_column = "ts", .series_key = key, .n_series_key = 1, .chunk = "day", .dedup = -1};
    tl_table *t = NULL;
    if (tl_table_create(store, "default", "t", &o, &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

/* Appends and commits; gives the summary's text and the number of files. */
static tl_table *append(tl_table *t, const reading *list, int64_t n, const char **text, int32_t *files) {
    tl_error err = {{0}};
    tl_batch b = {.n_rows = n, .n_columns = 2};
    b.columns = tl_arena_array(&b.arena, 2, sizeof *b.columns);
    int64_t *columns = tl_arena_array(&b.arena, (size_t)n * 2, sizeof *columns);
    assert_true(b.columns && columns);
    for (int64_t i = 0; i < n; i++) {
        columns[i] = list[i].machine;
        columns[n + i] = list[i].ts;
    }
    for (int c = 0; c < 2; c++) {
        b.columns[c] =
            (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .values = (uint8_t *)(columns + c * n)};
    }
    tl_appender *a;
    tl_staged staged;
    assert_int_equal(tl_appender_create(t, NULL, &a, &err), TL_OK);
    assert_int_equal(tl_appender_add(a, &b, &err), TL_OK);
    assert_int_equal(tl_appender_finish(a, &staged, &err), TL_OK);
    tl_appender_free(a);
    *files = staged.n_files;
    tl_commit_result result;
    tl_table *next = NULL;
    if (tl_commit_append(t, &staged, &(tl_commit_options){0}, &result, &next, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    tl_staged_free(&staged);
    tl_table_release(t);
    *text = tl_snapshot_summary(tl_metadata_current(&next->metadata), TL_NEWER_SUMMARY);
    return next;
}

static void files_are_named_when_their_rows_come_after_all_before(void **unused) {
    (void)unused;
    tl_error err;
    tl_store *store = NULL;
    assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
    tl_table *t = create(store);
    const char *text;
    int32_t n;
    t = append(t, (reading[]){{1, 100}, {2, 200}}, 2, &text, &n); /* the first rows of a table */
    assert_string_equal(text, "all");
    t = append(t, (reading[]){{1, 101}, {2, DAY}, {3, 5}}, 3, &text, &n); /* a new series is newer too */
    assert_int_equal(n, 2);
    assert_string_equal(text, "all");
    t = append(t, (reading[]){{1, 101}}, 1, &text, &n); /* sent again */
    assert_null(text);
    t = append(t, (reading[]){{1, 50}, {1, DAY + 1}, {2, DAY + 1}}, 3, &text, &n); /* late in the first day */
    assert_int_equal(n, 2);
    assert_non_null(text);
    assert_null(strchr(text, ','));
    assert_non_null(strstr(text, ".parquet"));
    assert_null(strchr(text, '/'));
    t = append(t, (reading[]){{1, DAY + 1}, {1, DAY + 2}}, 2, &text, &n); /* one row of the file is not newer */
    assert_null(text);
    tl_table_release(t);
    tl_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_are_named_when_their_rows_come_after_all_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
