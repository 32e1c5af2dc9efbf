/* What is kept beside a table about older copies: it is used when it holds, and left aside when it does not. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "append/append.h"
#include "base/mem.h"
#include "commit/commit.h"
#include "read/kept.h"
#include "read/read.h"
#include "store/memory.h"

static void okay(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        fail_msg("%s: %s", tl_status_name(status), err->message);
    }
}

/* ---- the object's form ---- */

static const tl_file_id table_id = {17, 18};

static tl_known_part *make_part(uint64_t partition, int64_t n) {
    tl_known_part *p = tl_known_part_create(table_id, partition, n);
    for (int64_t i = 0; i < n; i++) {
        tl_bitmap *b = i % 3 == 0 ? NULL : tl_bitmap_create(1000 + i * 37);
        for (int64_t r = 0; b && r < b->n_rows; r += i % 3 == 1 ? 97 : 2) {
            tl_bit_set(b->bits, r);
            b->n_set++;
        }
        p->files[i] = (tl_known_file){{(uint64_t)i * 7, partition}, b};
    }
    tl_known_part_seal(p);
    return p;
}

typedef struct taken {
    tl_known_part *items[8];
    int n;
} taken;

static void take(void *ctx, tl_known_part *p) {
    taken *t = ctx;
    assert_true(t->n < 8);
    t->items[t->n++] = p;
}

static void release_all(taken *t) {
    for (int i = 0; i < t->n; i++) {
        tl_known_part_release(t->items[i]);
    }
    t->n = 0;
}

static void print_parts(tl_buf *out) {
    tl_error err = {{0}};
    tl_known_part *parts[] = {make_part(5, 10), make_part(9, 0), make_part(6, 1)};
    okay(tl_older_print(parts, 3, table_id, 100, out, &err), &err);
    for (int i = 0; i < 3; i++) {
        tl_known_part_release(parts[i]);
    }
}

static void what_is_printed_is_read_again(void **state) {
    (void)state;
    tl_buf bytes = {0};
    taken t = {0};
    print_parts(&bytes);
    assert_true(tl_older_parse(tl_buf_bytes(&bytes), table_id, take, &t));
    assert_int_equal(t.n, 3);
    tl_known_part *expected = make_part(5, 10);
    assert_int_equal(t.items[0]->n, 10);
    assert_true(t.items[0]->sum.a == expected->sum.a && t.items[0]->sum.b == expected->sum.b);
    for (int64_t i = 0; i < 10; i++) {
        const tl_bitmap *a = expected->files[i].older, *b = t.items[0]->files[i].older;
        assert_true(!a == !b);
        if (a) {
            assert_int_equal(a->n_rows, b->n_rows);
            assert_int_equal(a->n_set, b->n_set);
            assert_memory_equal(a->bits, b->bits, (size_t)(a->n_rows + 7) / 8);
        }
    }
    tl_known_part_release(expected);
    release_all(&t);
    tl_buf_free(&bytes);
}

static void damaged_short_and_foreign_objects_are_none(void **state) {
    (void)state;
    tl_buf bytes = {0};
    taken t = {0};
    print_parts(&bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.data[i] ^= 0x10;
        assert_false(tl_older_parse(tl_buf_bytes(&bytes), table_id, take, &t));
        bytes.data[i] ^= 0x10;
        assert_false(tl_older_parse((tl_bytes){bytes.data, i}, table_id, take, &t));
    }
    assert_false(tl_older_parse(tl_buf_bytes(&bytes), (tl_file_id){17, 19}, take, &t));
    assert_int_equal(t.n, 0);
    tl_buf_free(&bytes);
}

/* ---- beside a table ---- */

static tl_field fields[] = {
    {.id = 1, .name = "machine", .type = {.id = TL_TYPE_LONG}},
    {.id = 2, .required = true, .name = "ts", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
};
static const tl_schema schema = {.n_fields = 2, .fields = fields};
#define APPENDS 20
#define ROWS 50

/* Every append sends the last ten rows of the one before again. */
static tl_table *append(tl_table *t, int64_t first) {
    tl_error err = {{0}};
    tl_batch b = {.n_rows = ROWS, .n_columns = 2};
    b.columns = tl_arena_array(&b.arena, 2, sizeof *b.columns);
    int64_t *columns = tl_arena_array(&b.arena, ROWS * 2, sizeof *columns);
    for (int64_t i = 0; i < ROWS; i++) {
        columns[i] = 7;
        columns[ROWS + i] = (first + i) * 1000;
    }
    for (int c = 0; c < 2; c++) {
        b.columns[c] =
            (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = ROWS, .values = (uint8_t *)(columns + c * ROWS)};
    }
    tl_appender *a;
    tl_staged staged;
    tl_commit_result result;
    tl_table *next = NULL;
    okay(tl_appender_create(t, NULL, &a, &err), &err);
    okay(tl_appender_add(a, &b, &err), &err);
    okay(tl_appender_finish(a, &staged, &err), &err);
    tl_appender_free(a);
    okay(tl_commit_append(t, &staged, &(tl_commit_options){0}, &result, &next, &err), &err);
    tl_staged_free(&staged);
    tl_table_release(t);
    return next;
}

static tl_table *make_table(tl_store **store) {
    static int tables;
    tl_error err = {{0}};
    char name[40];
    (void)snprintf(name, sizeof name, "memory://kept-%d", tables++);
    okay(tl_store_open(name, true, tl_env_default(), store, &err), &err);
    const char *key[] = {"machine"};
    const tl_create_options o = {
        .schema = &schema, .time_column = "ts", .series_key = key, .n_series_key = 1, .chunk = "day", .dedup = 1};
    tl_table *t = NULL;
    okay(tl_table_create(*store, "default", "t", &o, &t, &err), &err);
    tl_read_forget();
    for (int64_t i = 0; i < APPENDS; i++) {
        t = append(t, i * (ROWS - 10));
        tl_older_publish(t, NULL);
    }
    tl_read_forget();
    return t;
}

static tl_status remove_data(void *ctx, const tl_object_info *o, tl_error *err) {
    return tl_store_remove(ctx, o->key, err);
}

/* Hidden rows of a plan; -1 = it failed because it wanted to read data files, all of which are gone. */
static int64_t hidden_rows(tl_table *t) {
    tl_error err = {{0}};
    tl_plan *plan = NULL;
    tl_status status = tl_plan_create(t, NULL, &plan, &err);
    int64_t n = status == TL_OK ? plan->hidden_rows : -1;
    assert_true(status == TL_OK || status == TL_NOT_FOUND);
    tl_plan_release(plan);
    return n;
}

static void a_cold_reader_uses_what_is_kept_and_reads_only_what_came_since(void **state) {
    (void)state;
    tl_error err = {{0}};
    tl_store *store = NULL;
    tl_table *t = make_table(&store);
    tl_buf object = {0};
    okay(tl_store_get(store, "default/t/metadata/" TL_OLDER_NAME, &object, &err), &err);
    assert_int_equal(tl_load_i64(object.data + 32), 16); /* written at the 16th commit: not at each */
    assert_int_equal(hidden_rows(t), (APPENDS - 1) * 10);
    tl_plan *plan = NULL;
    tl_read_forget();
    okay(tl_store_list(store, "default/t/data", true, remove_data, store, &err), &err);
    assert_int_equal(hidden_rows(t), -1); /* files since then */
    tl_read_forget();
    const tl_snapshot *then = &t->metadata.snapshots[15];
    okay(tl_plan_create(t, &(tl_plan_options){.snapshot = then}, &plan, &err), &err);
    assert_int_equal(plan->hidden_rows, 15 * 10);
    tl_plan_release(plan);
    tl_buf_free(&object);
    tl_table_release(t);
    tl_store_close(store);
    tl_read_forget();
}

static void a_damaged_object_costs_time_and_nothing_else(void **state) {
    (void)state;
    tl_error err = {{0}};
    tl_store *store = NULL;
    tl_table *t = make_table(&store);
    const char *key = "default/t/metadata/" TL_OLDER_NAME;
    tl_buf object = {0};
    okay(tl_store_get(store, key, &object, &err), &err);
    object.data[object.len / 2] ^= 1;
    okay(tl_store_put(store, key, tl_buf_bytes(&object), TL_PUT_LATER, &err), &err);
    assert_int_equal(hidden_rows(t), (APPENDS - 1) * 10);
    tl_read_forget();
    okay(tl_store_remove(store, key, &err), &err);
    assert_int_equal(hidden_rows(t), (APPENDS - 1) * 10);
    tl_buf_free(&object);
    tl_table_release(t);
    tl_store_close(store);
    tl_read_forget();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_read_again),
        cmocka_unit_test(damaged_short_and_foreign_objects_are_none),
        cmocka_unit_test(a_cold_reader_uses_what_is_kept_and_reads_only_what_came_since),
        cmocka_unit_test(a_damaged_object_costs_time_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
