/* Inline maintenance: expiry of snapshots while appends go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/lake.h"
#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"
#include "timelake.h"

#define OK(expr) assert_int_equal(expr, TL_OK)
#define NA(expr) assert_int_equal(expr, NANOARROW_OK)

static void make_schema(struct ArrowSchema *s) {
    ArrowSchemaInit(s);
    NA(ArrowSchemaSetTypeStruct(s, 2));
    NA(ArrowSchemaSetType(s->children[0], NANOARROW_TYPE_STRING));
    NA(ArrowSchemaSetName(s->children[0], "sensor"));
    NA(ArrowSchemaSetTypeDateTime(s->children[1], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NA(ArrowSchemaSetName(s->children[1], "time"));
}

static void append_row_to(tl_lake *lake, const char *table, int i, bool beside, tl_append_result *result) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayStream rows;
    tl_error err = {{0}};
    char id[32];
    (void)snprintf(id, sizeof id, "b%d", i);
    make_schema(&schema);
    NA(ArrowArrayInitFromSchema(&batch, &schema, NULL));
    NA(ArrowArrayStartAppending(&batch));
    NA(ArrowArrayAppendString(batch.children[0], ArrowCharView(i % 3 ? "a" : "b")));
    NA(ArrowArrayAppendInt(batch.children[1], i));
    NA(ArrowArrayFinishElement(&batch));
    NA(ArrowArrayFinishBuildingDefault(&batch, NULL));
    OK(tl_stream_of(&schema, &batch, 1, &rows, &err));
    ArrowSchemaRelease(&schema);
    const tl_append_params params = {.batch_id = id, .maintain_beside = beside};
    if (tl_append(lake, table, &rows, &params, result, &err) != TL_OK) {
        fail_msg("append %d: %s", i, err.message);
    }
}

static void append_row(tl_lake *lake, int i, tl_append_result *result) {
    append_row_to(lake, "t", i, false, result);
}

static int64_t count_rows(tl_lake *lake, int64_t snapshot_id) {
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    tl_error err;
    int64_t n = 0;
    const tl_scan_params params = {.snapshot_id = snapshot_id};
    if (tl_scan(lake, "t", &params, &rows, &err) != TL_OK) {
        fail_msg("scan: %s", err.message);
    }
    while (rows.get_next(&rows, &batch) == 0 && batch.release) {
        n += batch.length;
        batch.release(&batch);
    }
    rows.release(&rows);
    return n;
}

static tl_status count_object(void *ctx, const tl_object_info *object, tl_error *err) {
    (void)object;
    (void)err;
    ++*(int64_t *)ctx;
    return TL_OK;
}

static void create_table(tl_lake *lake, const char *name, const char *const *properties) {
    tl_error err;
    struct ArrowSchema schema;
    make_schema(&schema);
    const tl_table_spec spec = {.time_column = "time", .series_key = "sensor", .properties = properties};
    if (tl_create(lake, name, &schema, &spec, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    ArrowSchemaRelease(&schema);
}

static void make_table(const char *location, const char *const *properties, tl_lake **lake) {
    OK(tl_lake_open(location, NULL, lake, NULL));
    create_table(*lake, "t", properties);
}

static void appends_expire_old_snapshots_and_lose_nothing(void **state) {
    (void)state;
    tl_lake *lake;
    tl_append_result r;
    const char *const properties[] = {"timelake.max-snapshots=10", NULL};
    make_table("memory://expiry", properties, &lake);
    int64_t most_objects = 0, before = 0;
    for (int i = 0; i < 150; i++) {
        append_row(lake, i, &r);
        assert_int_equal(r.rows, 1);
        int64_t metadata = 0;
        OK(tl_store_list(lake->store, "default/t/metadata", true, count_object, &metadata, NULL));
        if (i == 60) {
            most_objects = metadata;
        }
        before = metadata;
    }
    tl_table *t;
    OK(tl_lake_table(lake, "t", &t, NULL));
    assert_in_range(t->metadata.n_snapshots, 10, 30);
    assert_int_equal(count_rows(lake, 0), 150);
    assert_in_range(before, 1, most_objects + 40);          /* metadata does not pile up */
    for (int32_t i = 0; i < t->metadata.n_snapshots; i++) { /* every kept snapshot can be read */
        int64_t rows = count_rows(lake, t->metadata.snapshots[i].snapshot_id);
        const char *total = tl_snapshot_summary(&t->metadata.snapshots[i], "total-records");
        assert_non_null(total);
        assert_int_equal(rows, strtoll(total, NULL, 10));
    }
    tl_table_release(t);
    append_row(lake, 0, &r); /* its snapshot is long gone, its batch id is not */
    assert_int_equal(r.duplicate, 1);
    append_row(lake, 149, &r);
    assert_int_equal(r.duplicate, 1);
    assert_int_equal(count_rows(lake, 0), 150);
    tl_lake_close(lake);
}

static void nothing_expires_before_keep_snapshots_until(void **state) {
    (void)state;
    tl_lake *lake;
    tl_append_result r;
    const char *const properties[] = {"timelake.max-snapshots=5", "timelake.keep-snapshots-until=99999999999999", NULL};
    make_table("memory://kept", properties, &lake);
    for (int i = 0; i < 40; i++) {
        append_row(lake, i, &r);
    }
    tl_table *t;
    OK(tl_lake_table(lake, "t", &t, NULL));
    assert_in_range(t->metadata.n_snapshots, 40, 60); /* those of merges among them */
    tl_table_release(t);
    tl_lake_close(lake);
}

static void rows_of_abandoned_snapshots_leave_the_store_with_them(void **state) {
    (void)state;
    tl_lake *lake;
    tl_append_result r;
    const char *const properties[] = {"timelake.max-snapshots=5", "timelake.min-snapshots=1",
                                      "timelake.compact-min-files=1000", "timelake.compact-cold-after=off", NULL};
    make_table("memory://abandoned", properties, &lake);
    append_row(lake, 0, &r);
    int64_t first = r.snapshot_id, files = 0;
    for (int i = 1; i < 4; i++) {
        append_row(lake, i, &r);
    }
    OK(tl_rollback(lake, "t", first, NULL, NULL));
    for (int i = 10; i < 50; i++) {
        append_row(lake, i, &r);
    }
    assert_int_equal(count_rows(lake, 0), 41);
    OK(tl_store_list(lake->store, "default/t/data", true, count_object, &files, NULL));
    assert_int_equal(files, 41); /* the three files that were rolled back are gone */
    tl_lake_close(lake);
}

static tl_status remove_index(void *ctx, const tl_object_info *object, tl_error *err) {
    (void)err;
    if (strstr(object->key, "/lvi-")) {
        OK(tl_store_remove(((tl_lake *)ctx)->store, object->key, NULL));
    }
    return TL_OK;
}

static int64_t count_latest(tl_lake *lake) {
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    tl_error err;
    int64_t n = 0;
    OK(tl_latest(lake, "t", &rows, &err));
    while (rows.get_next(&rows, &batch) == 0 && batch.release) {
        n += batch.length;
        batch.release(&batch);
    }
    rows.release(&rows);
    return n;
}

static bool has_index(tl_lake *lake) {
    tl_table *t;
    OK(tl_lake_table(lake, "t", &t, NULL));
    bool has = tl_snapshot_summary(tl_metadata_current(&t->metadata), "timelake.last-value-index") != NULL;
    tl_table_release(t);
    return has;
}

static void a_lost_index_is_made_anew_by_the_next_append(void **state) {
    (void)state;
    tl_lake *lake;
    tl_append_result r;
    make_table("memory://index", NULL, &lake);
    append_row(lake, 0, &r);
    append_row(lake, 1, &r);
    assert_true(has_index(lake));
    OK(tl_store_list(lake->store, "default/t/metadata", true, remove_index, lake, NULL));
    assert_int_equal(count_latest(lake), 2); /* by a scan */
    append_row(lake, 2, &r);
    assert_int_equal(r.rows, 1);
    assert_true(has_index(lake));
    assert_int_equal(count_latest(lake), 2);
    assert_int_equal(count_rows(lake, 0), 3);
    append_row(lake, 2, &r);
    assert_int_equal(r.duplicate, 1);
    tl_lake_close(lake);
}

/* Two tables in turn: the one whose job finds the thread taken is maintained by its append. */
static void maintenance_beside_appends_is_done_when_the_lake_has_settled(void **state) {
    (void)state;
    enum { ROWS = 120 };
    tl_lake *lake;
    tl_append_result r;
    const char *const properties[] = {"timelake.max-snapshots=10", NULL};
    make_table("memory://beside", properties, &lake);
    create_table(lake, "u", properties);
    tl_lake_settle(lake); /* nothing is going on */
    for (int i = 0; i < ROWS; i++) {
        append_row_to(lake, "t", i, true, &r);
        assert_int_equal(r.rows, 1);
        append_row_to(lake, "u", i, true, &r);
        assert_int_equal(r.rows, 1);
    }
    tl_lake_settle(lake);
    for (int k = 0; k < 2; k++) {
        tl_table *t;
        tl_live_files files;
        OK(tl_lake_table(lake, k ? "u" : "t", &t, NULL));
        OK(tl_table_files(t, NULL, &files, NULL));
        assert_in_range(files.n_data, 1, 40); /* 8 of a size become one: without maintenance it would be 120 */
        assert_in_range(t->metadata.n_snapshots, 1, 40);
        tl_live_files_free(&files);
        tl_table_release(t);
    }
    assert_int_equal(count_rows(lake, 0), ROWS);
    append_row_to(lake, "t", ROWS, true, &r);
    tl_lake_close(lake); /* waits as well */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_expire_old_snapshots_and_lose_nothing),
        cmocka_unit_test(nothing_expires_before_keep_snapshots_until),
        cmocka_unit_test(a_lost_index_is_made_anew_by_the_next_append),
        cmocka_unit_test(rows_of_abandoned_snapshots_leave_the_store_with_them),
        cmocka_unit_test(maintenance_beside_appends_is_done_when_the_lake_has_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
