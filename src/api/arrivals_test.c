/* tl_arrivals: figures of a table in memory, and that it leaves nothing behind when memory ends anywhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"
#include "timelake.h"

#define OK(expr) assert_int_equal(expr, TL_OK)
#define NA(expr) assert_int_equal(expr, NANOARROW_OK)
#define MINUTE INT64_C(60000000)

enum { SENSORS = 100 };

static void make_schema(struct ArrowSchema *s) {
    ArrowSchemaInit(s);
    NA(ArrowSchemaSetTypeStruct(s, 3));
    NA(ArrowSchemaSetType(s->children[0], NANOARROW_TYPE_DOUBLE));
    NA(ArrowSchemaSetName(s->children[0], "sensor"));
    NA(ArrowSchemaSetTypeDateTime(s->children[1], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NA(ArrowSchemaSetName(s->children[1], "time"));
    NA(ArrowSchemaSetTypeDateTime(s->children[2], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NA(ArrowSchemaSetName(s->children[2], "_ingest_ts"));
}

/* One row of each sensor at `time`, that of sensor i i minutes late. Sensor 0 has no number, sensor 1 is NaN. */
static void append_rows(tl_lake *lake, int64_t time) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayStream rows;
    tl_error err = {{0}};
    make_schema(&schema);
    NA(ArrowArrayInitFromSchema(&batch, &schema, NULL));
    NA(ArrowArrayStartAppending(&batch));
    for (int i = 0; i < SENSORS; i++) {
        if (i == 0) {
            NA(ArrowArrayAppendNull(batch.children[0], 1));
        } else {
            NA(ArrowArrayAppendDouble(batch.children[0], i == 1 ? (double)NAN : i));
        }
        NA(ArrowArrayAppendInt(batch.children[1], time));
        NA(ArrowArrayAppendInt(batch.children[2], time + i * MINUTE));
        NA(ArrowArrayFinishElement(&batch));
    }
    NA(ArrowArrayFinishBuildingDefault(&batch, NULL));
    OK(tl_stream_of(&schema, &batch, 1, &rows, &err));
    ArrowSchemaRelease(&schema);
    if (tl_append(lake, "t", &rows, NULL, NULL, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
}

static tl_lake *make_lake(const char *location) {
    static const tl_table_spec spec = {.time_column = "time", .series_key = "sensor", .chunk = "hour"};
    tl_lake *lake;
    tl_error err;
    struct ArrowSchema schema, own;
    OK(tl_lake_open(location, NULL, &lake, &err));
    make_schema(&schema);
    ArrowSchemaInit(&own); /* _ingest_ts is the table's own column */
    NA(ArrowSchemaSetTypeStruct(&own, 2));
    NA(ArrowSchemaDeepCopy(schema.children[0], own.children[0]));
    NA(ArrowSchemaDeepCopy(schema.children[1], own.children[1]));
    OK(tl_create(lake, "t", &own, &spec, &err));
    ArrowSchemaRelease(&schema);
    ArrowSchemaRelease(&own);
    append_rows(lake, 0);
    append_rows(lake, 90 * MINUTE);
    return lake;
}

static bool near(int64_t got, int64_t exact) {
    return got >= exact && got <= exact + exact / 32;
}

static void figures_overall_and_of_each_series(void **state) {
    (void)state;
    tl_lake *lake = make_lake("memory://arrivals");
    tl_arrivals_result r;
    tl_error err;
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    OK(tl_arrivals(lake, "t", NULL, &r, &rows, &err));
    tl_lake_close(lake);
    assert_int_equal(r.rows, 2 * SENSORS);
    assert_int_equal(r.n_series, SENSORS);
    assert_int_equal(r.slot_us, 60 * MINUTE);
    assert_int_equal(r.least_us, 0);
    assert_int_equal(r.greatest_us, 99 * MINUTE);
    assert_true(near(r.p50_us, 49 * MINUTE) && near(r.p90_us, 89 * MINUTE) && near(r.p99_us, 98 * MINUTE));
    assert_int_equal(r.late_rows, 2 * 39);     /* more than an hour: 61 to 99 minutes */
    assert_true(near(r.open_us, 67 * MINUTE)); /* of 1:30, 97 minutes late, 67 behind 2:00 */
    NA(rows.get_next(&rows, &batch));
    assert_int_equal(batch.length, SENSORS);
    assert_int_equal(batch.n_children, 9);
    const double *sensor = batch.children[0]->buffers[1];
    const int64_t *n = batch.children[1]->buffers[1], *greatest = batch.children[6]->buffers[1];
    for (int i = 0; i < SENSORS; i++) { /* the latest first */
        assert_int_equal(n[i], 2);
        assert_int_equal(greatest[i], (SENSORS - 1 - i) * MINUTE);
        if (i < SENSORS - 2) {
            assert_int_equal(sensor[i], SENSORS - 1 - i);
        }
    }
    assert_int_equal(batch.children[0]->null_count, 1);
    batch.release(&batch);
    rows.release(&rows);
}

static void memory_that_ends_anywhere_is_a_clean_failure(void **state) {
    (void)state;
    tl_lake *lake = make_lake("memory://arrivals-memory");
    bool done = false;
    for (uint64_t n = 1; !done && n < 100000; n += 1 + n / 50) {
        struct ArrowArrayStream rows = {0};
        tl_error err = {{0}};
        (void)tl_mem_fail_at(n);
        tl_status status = tl_arrivals(lake, "t", NULL, NULL, &rows, &err);
        (void)tl_mem_fail_at(0);
        done = status == TL_OK;
        if (done) {
            rows.release(&rows);
        } else {
            assert_int_equal(status, TL_NO_MEMORY);
            assert_null(rows.release);
        }
    }
    assert_true(done);
    tl_lake_close(lake);
}

static void shares_and_slots_are_checked(void **state) {
    (void)state;
    tl_lake *lake = make_lake("memory://arrivals-checks");
    const tl_arrivals_params bad[] = {{.slot_us = -1}, {.cover = 1.5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tl_arrivals(lake, "t", &bad[i], NULL, NULL, NULL), TL_INVALID);
    }
    tl_lake_close(lake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_overall_and_of_each_series),
        cmocka_unit_test(memory_that_ends_anywhere_is_a_clean_failure),
        cmocka_unit_test(shares_and_slots_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
