/* Continuous writing: what is durable when, what a failed commit keeps, what a full buffer does. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/lake.h"
#include "nanoarrow/nanoarrow.h"
#include "store/faulty.h"
#include "timelake.h"

#define OK(expr) assert_int_equal(expr, TL_OK)
#define NA(expr) assert_int_equal(expr, NANOARROW_OK)

/* sensor string (text of a number fits too), time, value int */
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

static void make_batch(const struct ArrowSchema *schema, int64_t first, int64_t n, int64_t value,
                       struct ArrowArray *out) {
    NA(ArrowArrayInitFromSchema(out, schema, NULL));
    NA(ArrowArrayStartAppending(out));
    for (int64_t i = first; i < first + n; i++) {
        NA(ArrowArrayAppendString(out->children[0], ArrowCharView("s1")));
        NA(ArrowArrayAppendInt(out->children[1], i * 1000));
        NA(ArrowArrayAppendInt(out->children[2], value));
        NA(ArrowArrayFinishElement(out));
    }
    NA(ArrowArrayFinishBuildingDefault(out, NULL));
}

typedef struct fixture {
    tl_lake *lake;
    struct ArrowSchema schema;
} fixture;

static int set_up(void **state) {
    static fixture f;
    tl_error err;
    OK(tl_lake_open("memory://writer", NULL, &f.lake, &err));
    tl_store *faulty;
    OK(tl_faulty_open(f.lake->store, &faulty, &err));
    f.lake->store = faulty;
    make_schema(&f.schema);
    struct ArrowSchema table;
    make_schema(&table);
    NA(ArrowSchemaSetType(table.children[2], NANOARROW_TYPE_INT32)); /* an int64 fits only if it is small */
    NA(ArrowSchemaSetName(table.children[2], "value"));
    const tl_table_spec spec = {.time_column = "time", .series_key = "sensor"};
    if (tl_create(f.lake, "t", &table, &spec, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    ArrowSchemaRelease(&table);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ArrowSchemaRelease(&f->schema);
    tl_lake_close(f->lake);
    return 0;
}

static int64_t count_rows(tl_lake *lake) {
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    tl_error err;
    int64_t n = 0;
    OK(tl_scan(lake, "t", NULL, &rows, &err));
    while (rows.get_next(&rows, &batch) == 0 && batch.release) {
        n += batch.length;
        batch.release(&batch);
    }
    rows.release(&rows);
    return n;
}

static void flush_makes_all_rows_before_it_durable(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    for (int i = 0; i < 5; i++) {
        struct ArrowArray batch;
        make_batch(&f->schema, i * 10, 10, i, &batch);
        OK(tl_writer_write(w, &batch, &err));
        assert_null(batch.release);
    }
    OK(tl_writer_flush(w, 0, &s, &err));
    assert_int_equal(s.rows_taken, 50);
    assert_int_equal(s.rows_durable, 50);
    assert_int_equal(count_rows(f->lake), 50);
    OK(tl_writer_close(w, 0, &s, &err));
    assert_in_range(s.commits, 1, 5);
}

static void enough_bytes_commit_without_a_flush(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    const tl_writer_options options = {.commit_bytes = 1, .commit_every_us = INT64_C(3600000000)};
    OK(tl_writer_open(f->lake, "t", &f->schema, &options, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 10, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    for (int i = 0; i < 1000 && count_rows(f->lake) == 0; i++) {
        tl_env_default()->sleep_us(NULL, 5000);
    }
    assert_int_equal(count_rows(f->lake), 10);
    OK(tl_writer_close(w, 0, NULL, &err));
}

static void waiting_rows_are_committed_when_their_time_is_up(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    const tl_writer_options options = {.commit_every_us = 20000};
    OK(tl_writer_open(f->lake, "t", &f->schema, &options, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 3, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    for (int i = 0; i < 1000 && count_rows(f->lake) == 0; i++) {
        tl_env_default()->sleep_us(NULL, 5000);
    }
    assert_int_equal(count_rows(f->lake), 3);
    OK(tl_writer_close(w, 0, NULL, &err));
}

static void a_bad_value_fails_its_batch_alone(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 4, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    make_batch(&f->schema, 100, 2, INT64_C(3000000000), &batch);
    assert_int_equal(tl_writer_write(w, &batch, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "column \"value\", row 5: 3000000000 does not fit int"));
    OK(tl_writer_close(w, 0, &s, &err));
    assert_int_equal(s.rows_taken, 4);
    assert_int_equal(count_rows(f->lake), 4);
}

static void a_time_that_no_partition_holds_fails_its_batch_alone(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    const tl_table_spec spec = {.time_column = "time", .series_key = "sensor", .chunk = "hour"};
    OK(tl_create(f->lake, "hourly", &f->schema, &spec, &err));
    OK(tl_writer_open(f->lake, "hourly", &f->schema, NULL, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, INT64_MAX / 1000 - 5, 2, 1, &batch);
    assert_int_equal(tl_writer_write(w, &batch, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "column \"time\", row 1: "));
    assert_non_null(strstr(err.message, "is outside what hour partitions can hold"));
    make_batch(&f->schema, 0, 2, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    tl_writer_state s;
    OK(tl_writer_close(w, 0, &s, &err));
    assert_int_equal(s.rows_durable, 2);
}

static void what_waiting_does_not_mend_is_told_at_once(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 4, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    OK(tl_drop(f->lake, "t", &err));
    const tl_env *env = tl_env_default();
    int64_t begin = tl_env_monotonic_us(env);
    assert_int_equal(tl_writer_close(w, INT64_C(3600000000), &s, &err), TL_NOT_FOUND);
    assert_true(tl_env_monotonic_us(env) - begin < 60000000);
    assert_int_equal(s.rows_durable, 0);
}

static void small_batches_count_what_they_cost(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    const tl_writer_options options = {.commit_every_us = INT64_C(3600000000), .commit_bytes = 100000};
    OK(tl_writer_open(f->lake, "t", &f->schema, &options, &w, &err));
    for (int i = 0; i < 100; i++) { /* 100 rows of 20 bytes, but 400 arrays */
        struct ArrowArray batch;
        make_batch(&f->schema, i, 1, 1, &batch);
        OK(tl_writer_write(w, &batch, &err));
    }
    for (int i = 0; i < 1000 && count_rows(f->lake) == 0; i++) {
        tl_env_default()->sleep_us(NULL, 5000);
    }
    assert_true(count_rows(f->lake) > 0);
    OK(tl_writer_close(w, 0, NULL, &err));
    assert_int_equal(count_rows(f->lake), 100);
}

static void a_failed_commit_keeps_the_rows_and_tries_again(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    const tl_fault_rule full = {.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .fault = TL_FAULT_NO_SPACE};
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 7, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    tl_faulty_script(f->lake->store, &full, 1);
    assert_int_not_equal(tl_writer_flush(w, 0, &s, &err), TL_OK);
    assert_int_equal(s.rows_durable, 0);
    assert_int_equal(s.failures, 1);
    OK(tl_writer_flush(w, 10000000, &s, &err));
    assert_int_equal(s.rows_durable, 7);
    OK(tl_writer_close(w, 0, NULL, &err));
    assert_int_equal(count_rows(f->lake), 7);
}

static void a_lost_reply_does_not_double_rows(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    const tl_fault_rule lost[] = {{.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .fault = TL_FAULT_LOST_AFTER},
                                  {.ops = TL_OP_GET | TL_OP_LIST, .nth = 1, .times = 3, .fault = TL_FAULT_IO}};
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 7, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    tl_faulty_script(f->lake->store, lost, 2);
    OK(tl_writer_flush(w, 20000000, &s, &err));
    assert_int_equal(s.rows_durable, 7);
    tl_faulty_script(f->lake->store, NULL, 0);
    OK(tl_writer_close(w, 0, NULL, &err));
    char *json;
    OK(tl_info(f->lake, "t", &json, &err));
    assert_non_null(strstr(json, "\"rows\":7,")); /* also among raw rows: one copy */
    tl_text_free(json);
}

static void a_full_buffer_says_so_and_takes_nothing(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    const tl_writer_options options = {.buffer_bytes = 1, .fail_when_full = 1};
    OK(tl_writer_open(f->lake, "t", &f->schema, &options, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 5, 1, &batch);
    OK(tl_writer_write(w, &batch, &err)); /* one batch is always taken */
    make_batch(&f->schema, 5, 5, 1, &batch);
    assert_int_equal(tl_writer_write(w, &batch, &err), TL_FULL);
    assert_non_null(batch.release);
    OK(tl_writer_flush(w, 0, &s, &err));
    OK(tl_writer_write(w, &batch, &err));
    OK(tl_writer_close(w, 0, &s, &err));
    assert_int_equal(s.rows_durable, 10);
    assert_int_equal(count_rows(f->lake), 10);
}

static void a_full_buffer_makes_the_caller_wait(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    const tl_writer_options options = {.buffer_bytes = 1};
    OK(tl_writer_open(f->lake, "t", &f->schema, &options, &w, &err));
    for (int i = 0; i < 6; i++) {
        struct ArrowArray batch;
        make_batch(&f->schema, i * 5, 5, 1, &batch);
        OK(tl_writer_write(w, &batch, &err));
    }
    OK(tl_writer_close(w, 0, &s, &err));
    assert_int_equal(s.rows_durable, 30);
    assert_in_range(s.commits, 5, 6);
}

typedef struct feeder {
    tl_writer *writer;
    const struct ArrowSchema *schema;
    int64_t first;
} feeder;

static void *feed(void *arg) {
    feeder *f = arg;
    for (int64_t i = 0; i < 20; i++) {
        struct ArrowArray batch;
        tl_error err;
        make_batch(f->schema, f->first + i * 3, 3, 1, &batch);
        OK(tl_writer_write(f->writer, &batch, &err));
        if (i % 7 == 0) {
            OK(tl_writer_flush(f->writer, 0, NULL, &err));
        }
    }
    return NULL;
}

static void several_threads_may_write_at_once(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    pthread_t threads[4];
    feeder feeders[4];
    for (int64_t i = 0; i < 4; i++) {
        feeders[i] = (feeder){w, &f->schema, i * 1000};
        assert_int_equal(pthread_create(&threads[i], NULL, feed, &feeders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    OK(tl_writer_close(w, 0, &s, &err));
    assert_int_equal(s.rows_durable, 240);
    assert_int_equal(count_rows(f->lake), 240);
}

static void closing_an_unlucky_writer_says_what_is_durable(void **state) {
    fixture *f = *state;
    tl_writer *w;
    tl_error err;
    tl_writer_state s;
    OK(tl_writer_open(f->lake, "t", &f->schema, NULL, &w, &err));
    struct ArrowArray batch;
    make_batch(&f->schema, 0, 7, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    OK(tl_writer_flush(w, 0, NULL, &err));
    const tl_fault_rule full = {.ops = TL_OP_PUT_IF_ABSENT, .fault = TL_FAULT_NO_SPACE};
    tl_faulty_script(f->lake->store, &full, 1);
    make_batch(&f->schema, 7, 3, 1, &batch);
    OK(tl_writer_write(w, &batch, &err));
    assert_int_not_equal(tl_writer_close(w, 0, &s, &err), TL_OK);
    assert_int_equal(s.rows_taken, 10);
    assert_int_equal(s.rows_durable, 7);
    tl_faulty_script(f->lake->store, NULL, 0);
    assert_int_equal(count_rows(f->lake), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flush_makes_all_rows_before_it_durable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(enough_bytes_commit_without_a_flush, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_rows_are_committed_when_their_time_is_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_value_fails_its_batch_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_time_that_no_partition_holds_fails_its_batch_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_waiting_does_not_mend_is_told_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_batches_count_what_they_cost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_commit_keeps_the_rows_and_tries_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_reply_does_not_double_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_buffer_says_so_and_takes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_buffer_makes_the_caller_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_threads_may_write_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_an_unlucky_writer_says_what_is_durable, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
