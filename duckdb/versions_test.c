/* Versions: shared while nothing is committed, replaced by commits, let go and made again; parts of them. */
#include "duckdb/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nanoarrow/nanoarrow.h"

#define NA(expr) assert_int_equal(expr, NANOARROW_OK)

typedef struct fixture {
    char folder[64];
    tl_lake *lake;
    tl_versions *versions;
} fixture;

static void ok(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        fail_msg("%s", err->message);
    }
}

/* sensor string, time, value bigint */
static void make_schema(struct ArrowSchema *s) {
    ArrowSchemaInit(s);
    NA(ArrowSchemaSetTypeStruct(s, 3));
    NA(ArrowSchemaSetType(s->children[0], NANOARROW_TYPE_STRING));
    NA(ArrowSchemaSetName(s->children[0], "sensor"));
    NA(ArrowSchemaSetTypeDateTime(s->children[1], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NA(ArrowSchemaSetName(s->children[1], "time"));
    NA(ArrowSchemaSetType(s->children[2], NANOARROW_TYPE_INT64));
    NA(ArrowSchemaSetName(s->children[2], "value"));
}

/* Times first, first + 1, ... seconds. */
static void append(fixture *f, int64_t first, int64_t n) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayStream stream;
    tl_error err;
    make_schema(&schema);
    NA(ArrowArrayInitFromSchema(&batch, &schema, NULL));
    NA(ArrowArrayStartAppending(&batch));
    for (int64_t i = first; i < first + n; i++) {
        NA(ArrowArrayAppendString(batch.children[0], ArrowCharView("s1")));
        NA(ArrowArrayAppendInt(batch.children[1], i * 1000000));
        NA(ArrowArrayAppendInt(batch.children[2], i));
        NA(ArrowArrayFinishElement(&batch));
    }
    NA(ArrowArrayFinishBuildingDefault(&batch, NULL));
    ok(tl_stream_of(&schema, &batch, 1, &stream, &err), &err);
    ok(tl_append(f->lake, "t", &stream, &(tl_append_params){.no_maintain = 1}, NULL, &err), &err);
    ArrowSchemaRelease(&schema);
}

static int set_up(void **state) {
    static fixture f;
    struct ArrowSchema schema;
    tl_error err;
    (void)snprintf(f.folder, sizeof f.folder, "/tmp/tl-versions-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    ok(tl_lake_open(f.folder, NULL, &f.lake, &err), &err);
    make_schema(&schema);
    const tl_table_spec spec = {.time_column = "time", .series_key = "sensor"};
    ok(tl_create(f.lake, "t", &schema, &spec, &err), &err);
    ArrowSchemaRelease(&schema);
    f.versions = tl_versions_create();
    assert_non_null(f.versions);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    char command[128];
    tl_versions_free(f->versions);
    tl_lake_close(f->lake);
    (void)snprintf(command, sizeof command, "rm -r %s", f->folder);
    return system(command);
}

static tl_read_version *get(fixture *f, const tl_version_want *want) {
    tl_read_version *v;
    tl_error err;
    static const tl_version_want any = {.dedup = -1};
    ok(tl_versions_get(f->versions, f->lake, "t", want ? want : &any, &v, &err), &err);
    return v;
}

static int64_t live_rows(const tl_read_version *v) {
    return v->plan->rows - v->plan->hidden_rows;
}

static void shared_until_a_commit_comes(void **state) {
    fixture *f = *state;
    tl_read_version *empty = get(f, NULL);
    assert_int_equal(live_rows(empty), 0);
    assert_non_null(strstr((const char *)empty->sql.data, "WHERE false"));
    append(f, 0, 10);
    tl_read_version *a = get(f, NULL), *b = get(f, NULL);
    assert_ptr_equal(a, b);
    assert_null(strstr((const char *)a->sql.data, "tl_live")); /* nothing is hidden */
    append(f, 5, 10);
    tl_read_version *c = get(f, NULL), *raw = get(f, &(tl_version_want){.dedup = 0});
    assert_ptr_not_equal(a, c);
    assert_int_equal(live_rows(a), 10);
    assert_int_equal(live_rows(c), 15);
    assert_int_equal(live_rows(raw), 20);
    assert_non_null(strstr((const char *)c->sql.data, "tl_live"));
    tl_read_version *all[] = {empty, a, b, c, raw};
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        tl_version_release(all[i]);
    }
}

static void named_snapshots_and_times(void **state) {
    fixture *f = *state;
    append(f, 0, 10);
    tl_read_version *a = get(f, NULL);
    const tl_snapshot *first = tl_metadata_current(&a->plan->table->metadata);
    int64_t id = first->snapshot_id, ms = first->timestamp_ms;
    (void)usleep(3000);
    append(f, 10, 10);
    tl_read_version *by_id = get(f, &(tl_version_want){.snapshot_id = id, .dedup = -1});
    tl_read_version *by_time = get(f, &(tl_version_want){.has_as_of = true, .as_of_us = ms * 1000, .dedup = -1});
    assert_ptr_equal(by_id, by_time);
    assert_int_equal(live_rows(by_id), 10);
    tl_read_version *none;
    tl_error err;
    assert_int_equal(tl_versions_get(f->versions, f->lake, "t", &(tl_version_want){.snapshot_id = 7}, &none, &err),
                     TL_NOT_FOUND);
    assert_int_equal(
        tl_versions_get(f->versions, f->lake, "t", &(tl_version_want){.has_as_of = true, .as_of_us = 5}, &none, &err),
        TL_NOT_FOUND);
    assert_int_equal(tl_versions_get(f->versions, f->lake, "nothere", &(tl_version_want){0}, &none, &err),
                     TL_NOT_FOUND);
    tl_version_release(a);
    tl_version_release(by_id);
    tl_version_release(by_time);
}

static void what_was_let_go_is_made_again_alike(void **state) {
    fixture *f = *state;
    append(f, 0, 10);
    append(f, 5, 10);
    tl_read_version *a = get(f, NULL), *found;
    int64_t handle = a->handle, n = a->plan->n_scan;
    tl_error err;
    append(f, 7, 10);
    tl_version_release(get(f, NULL));
    tl_versions_sweep(f->versions, INT64_MAX);
    ok(tl_versions_find(f->versions, handle, &found, &err), &err);
    assert_ptr_not_equal(a, found);
    assert_int_equal(found->plan->n_scan, n);
    assert_int_equal(live_rows(found), 15);
    for (int64_t i = 0; i < n; i++) {
        assert_string_equal(found->plan->scan[i].file->key, a->plan->scan[i].file->key);
        assert_int_equal(found->plan->scan[i].n_hidden, a->plan->scan[i].n_hidden);
    }
    tl_version_release(found);
    tl_version_release(a);
    assert_int_equal(tl_versions_find(f->versions, handle + 1000, &found, &err), TL_NOT_FOUND);
}

static void a_part_by_time_with_and_without_the_whole(void **state) {
    fixture *f = *state;
    enum { DAY = 86400 };
    append(f, 0, 10);
    append(f, 5, 10);
    append(f, DAY, 10);
    tl_version_want want = {.dedup = -1, .has_time = true, .from_us = INT64_C(1000000) * DAY, .to_us = INT64_MAX};
    tl_read_version *alone = get(f, &want);
    assert_int_equal(alone->plan->n_scan, 1);
    tl_read_version *whole = get(f, NULL), *part = get(f, &want);
    assert_ptr_equal(part->plan, whole->plan);
    assert_true(part->sql.len < whole->sql.len);
    assert_null(strstr((const char *)part->sql.data, "tl_live"));
    want.from_us = 0;
    want.to_us = 1000000;
    tl_read_version *first = get(f, &want);
    assert_non_null(strstr((const char *)first->sql.data, "tl_live"));
    tl_read_version *newest, *all[] = {alone, whole, part, first};
    tl_error err;
    ok(tl_versions_newest(f->versions, f->lake, "t", &(tl_version_want){.dedup = -1}, 10, &newest, &err), &err);
    assert_int_equal(newest->sql.len, part->sql.len);
    tl_version_release(newest);
    ok(tl_versions_newest(f->versions, f->lake, "t", &(tl_version_want){.dedup = -1}, 11, &newest, &err), &err);
    assert_true(newest->sql.len > part->sql.len);
    tl_version_release(newest);
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        tl_version_release(all[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_until_a_commit_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(named_snapshots_and_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_let_go_is_made_again_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_part_by_time_with_and_without_the_whole, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
