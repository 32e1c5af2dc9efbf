/* The last-value index: order of values, merging, the Parquet form and back, rows as Arrow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "iceberg/parquet_schema.h"
#include "table/last_values.h"
#include "table/rows.h"

/* ---- a table: key double, ts, note string, tags list<int>, _ingest_ts ---- */

static tl_field element[] = {{.id = 6, .name = "element", .type = {.id = TL_TYPE_INT}}};
static tl_field fields[] = {
    {.id = 1, .name = "key", .type = {.id = TL_TYPE_DOUBLE}},
    {.id = 2, .required = true, .name = "ts", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    {.id = 3, .name = "note", .type = {.id = TL_TYPE_STRING}},
    {.id = 4, .name = "tags", .type = {.id = TL_TYPE_LIST, .n_fields = 1, .fields = element}},
    {.id = 5, .required = true, .name = "_ingest_ts", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
};
static const tl_schema schema = {.n_fields = 5, .fields = fields};
static int32_t series[] = {0};
static const tl_contract contract = {.time = 1, .ingest = 4, .series = series, .n_series = 1, .dedup = true};

typedef struct row {
    bool null_key;
    uint64_t key; /* bits of the double */
    int64_t ts;
    const char *note; /* NULL = null */
    int tags;         /* elements 0 .. tags-1; -1 = null */
    int64_t ingest;
} row;

static const uint64_t nan_a = 0x7ff8000000000000u, nan_b = 0xfff8000000000123u;
static const uint64_t minus_zero = 0x8000000000000000u, minus_one = 0xbff0000000000000u, one = 0x3ff0000000000000u;

static tl_rows make_rows(const row *list, int64_t n) {
    tl_rows r = {.n_rows = n, .n_columns = 5};
    r.columns = tl_arena_array(&r.arena, 5, sizeof *r.columns);
    size_t bits = (size_t)(n + 7) / 8, words = (size_t)n + 1;
    uint8_t *valid[3] = {tl_arena_alloc(&r.arena, bits), tl_arena_alloc(&r.arena, bits),
                         tl_arena_alloc(&r.arena, bits)};
    uint64_t *key = tl_arena_array(&r.arena, words, 8);
    int64_t *ts = tl_arena_array(&r.arena, words, 8), *ingest = tl_arena_array(&r.arena, words, 8);
    int32_t *note_at = tl_arena_array(&r.arena, words, 4), *tag_at = tl_arena_array(&r.arena, words, 4);
    uint8_t *notes = tl_arena_alloc(&r.arena, words * 32);
    int32_t *tags = tl_arena_array(&r.arena, words * 4, 4);
    tl_column *items = tl_arena_array(&r.arena, 1, sizeof *items);
    assert_true(r.columns && valid[0] && valid[1] && valid[2] && key && ts && ingest && note_at && tag_at && notes &&
                tags && items);
    for (int64_t i = 0; i < n; i++) {
        key[i] = list[i].null_key ? 0xdeadbeefu + (uint64_t)i : list[i].key; /* bytes under a null */
        ts[i] = list[i].ts;
        ingest[i] = list[i].ingest;
        size_t len = list[i].note ? strlen(list[i].note) : 0;
        memcpy(notes + note_at[i], list[i].note ? list[i].note : "", len);
        note_at[i + 1] = note_at[i] + (int32_t)len;
        tag_at[i + 1] = tag_at[i] + (list[i].tags > 0 ? list[i].tags : 0);
        for (int k = 0; k < list[i].tags; k++) {
            tags[tag_at[i] + k] = k;
        }
        if (!list[i].null_key) {
            tl_bit_set(valid[0], i);
        }
        if (list[i].note) {
            tl_bit_set(valid[1], i);
        }
        if (list[i].tags >= 0) {
            tl_bit_set(valid[2], i);
        }
    }
    *items = (tl_column){.kind = TL_COLUMN_FIXED, .width = 4, .length = tag_at[n], .values = (uint8_t *)tags};
    r.columns[0] =
        (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .validity = valid[0], .values = (uint8_t *)key};
    r.columns[1] = (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .values = (uint8_t *)ts};
    r.columns[2] =
        (tl_column){.kind = TL_COLUMN_BYTES, .length = n, .validity = valid[1], .offsets32 = note_at, .data = notes};
    r.columns[3] = (tl_column){.kind = TL_COLUMN_LIST,
                               .length = n,
                               .validity = valid[2],
                               .offsets32 = tag_at,
                               .n_children = 1,
                               .children = items};
    r.columns[4] = (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .values = (uint8_t *)ingest};
    return r;
}

static void check_rows(const tl_rows *r, const row *want, int64_t n) {
    assert_int_equal(r->n_rows, n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(tl_column_is_null(&r->columns[0], i), want[i].null_key);
        if (!want[i].null_key) {
            assert_true(tl_load_u64(r->columns[0].values + i * 8) == want[i].key);
        }
        assert_int_equal(tl_load_i64(r->columns[1].values + i * 8), want[i].ts);
        assert_int_equal(tl_column_is_null(&r->columns[2], i), !want[i].note);
        if (want[i].note) {
            assert_true(tl_bytes_equal(tl_column_bytes(&r->columns[2], i), tl_bytes_of(want[i].note)));
        }
        assert_int_equal(tl_column_is_null(&r->columns[3], i), want[i].tags < 0);
        if (want[i].tags >= 0) {
            int64_t from = tl_column_offset(&r->columns[3], i);
            assert_int_equal(tl_column_offset(&r->columns[3], i + 1) - from, want[i].tags);
            for (int k = 0; k < want[i].tags; k++) {
                assert_int_equal(tl_load_i32(r->columns[3].children[0].values + (from + k) * 4), k);
            }
        }
        assert_int_equal(tl_load_i64(r->columns[4].values + i * 8), want[i].ingest);
    }
}

static const row sample[] = {
    {.null_key = true, .ts = 5, .note = "null is a series", .tags = 2, .ingest = 1},
    {.key = minus_one, .ts = 7, .tags = -1, .ingest = 1},
    {.key = minus_zero, .ts = -9, .note = "", .tags = 0, .ingest = 1},
    {.key = 0, .ts = INT64_MAX, .note = "zero", .tags = 3, .ingest = 1},
    {.key = one, .ts = 7, .note = "one", .tags = 1, .ingest = INT64_MIN},
    {.key = nan_b, .ts = INT64_MIN, .note = "not a number", .tags = -1, .ingest = 1},
};

/* ---- order ---- */

static void values_are_ordered_nulls_first_negative_zero_below_zero_and_nans_equal_last(void **unused) {
    (void)unused;
    tl_rows r = make_rows(sample, 6);
    const tl_type *t = &fields[0].type;
    for (int64_t i = 0; i < 6; i++) {
        for (int64_t k = 0; k < 6; k++) {
            int order = tl_column_compare(t, &r.columns[0], i, &r.columns[0], k);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
    row nans[] = {{.key = nan_a}, {.key = nan_b}};
    tl_rows n = make_rows(nans, 2);
    assert_int_equal(tl_column_compare(t, &n.columns[0], 0, &n.columns[0], 1), 0);
    tl_rows_free(&n);
    tl_rows_free(&r);
}

static void decimals_are_ordered_by_value_and_bytes_unsigned(void **unused) {
    (void)unused;
    const int64_t halves[][2] = {{0, INT64_MIN}, {5, -1}, {6, -1}, {-1, -1}, {0, 0}, {1, 0}, {-1, 0}, {0, 1}};
    tl_column d = {.kind = TL_COLUMN_FIXED, .width = 16, .length = 8, .values = (const uint8_t *)halves};
    const uint8_t data[] = {0x00, 0x7f, 0x80, 0xff, 'a'};
    const int32_t at[] = {0, 0, 1, 2, 3, 4};
    tl_column b = {.kind = TL_COLUMN_BYTES, .length = 5, .offsets32 = at, .data = data};
    for (int64_t i = 0; i < 8; i++) {
        for (int64_t k = 0; k < 8; k++) {
            int order = tl_column_compare(&(tl_type){.id = TL_TYPE_DECIMAL, .precision = 38}, &d, i, &d, k);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t k = 0; k < 5; k++) {
            int order = tl_column_compare(&(tl_type){.id = TL_TYPE_BINARY}, &b, i, &b, k);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
}

/* ---- merging ---- */

static void the_newer_row_of_a_series_stays_and_the_second_set_wins_ties(void **unused) {
    (void)unused;
    const row a[] = {{.null_key = true, .ts = 5, .note = "a", .tags = -1, .ingest = 9},
                     {.key = minus_zero, .ts = 5, .note = "a", .tags = 1, .ingest = 1},
                     {.key = 0, .ts = 6, .note = "a", .tags = 1, .ingest = 1},
                     {.key = one, .ts = 5, .note = "a", .tags = 1, .ingest = 3},
                     {.key = nan_a, .ts = 5, .note = "a", .tags = 1, .ingest = 3}};
    const row b[] = {{.null_key = true, .ts = 5, .note = "b", .tags = -1, .ingest = 9},
                     {.key = 0, .ts = 5, .note = "b", .tags = 2, .ingest = 9},
                     {.key = one, .ts = 5, .note = "b", .tags = 2, .ingest = 2},
                     {.key = nan_b, .ts = 6, .note = "b", .tags = 2, .ingest = 1}};
    const row want[] = {b[0], a[1], a[2], a[3], b[3]};
    tl_rows x = make_rows(a, 5), y = make_rows(b, 4), out;
    tl_error err;
    assert_int_equal(tl_last_values_merge(&schema, &contract, &x, &y, &out, &err), TL_OK);
    check_rows(&out, want, 5);
    tl_rows_free(&out);
    assert_int_equal(tl_last_values_merge(&schema, &contract, NULL, &y, &out, &err), TL_OK);
    check_rows(&out, b, 4);
    tl_rows_free(&out);
    assert_int_equal(tl_last_values_merge(&schema, &contract, &x, NULL, &out, &err), TL_OK);
    check_rows(&out, a, 5);
    tl_rows_free(&out);
    tl_rows_free(&x);
    tl_rows_free(&y);
}

static void rows_out_of_order_are_refused(void **unused) {
    (void)unused;
    const row wrong[] = {sample[1], sample[0]}, twice[] = {sample[1], sample[1]};
    tl_rows x = make_rows(wrong, 2), y = make_rows(twice, 2), out;
    tl_error err;
    assert_int_equal(tl_last_values_merge(&schema, &contract, &x, NULL, &out, &err), TL_CORRUPT);
    assert_int_equal(tl_last_values_merge(&schema, &contract, NULL, &y, &out, &err), TL_CORRUPT);
    tl_rows_free(&x);
    tl_rows_free(&y);
}

/* ---- Parquet ---- */

static void an_index_comes_back_from_its_parquet_bit_for_bit(void **unused) {
    (void)unused;
    tl_rows r = make_rows(sample, 6), back;
    tl_buf file = {0};
    tl_error err = {{0}};
    assert_int_equal(tl_last_values_write(&schema, &contract, &r, &file, &err), TL_OK);
    assert_int_equal(tl_last_values_read(&schema, tl_buf_bytes(&file), &back, &err), TL_OK);
    check_rows(&back, sample, 6);
    tl_rows_free(&back);
    tl_rows none = make_rows(sample, 0);
    file.len = 0;
    assert_int_equal(tl_last_values_write(&schema, &contract, &none, &file, &err), TL_OK);
    assert_int_equal(tl_last_values_read(&schema, tl_buf_bytes(&file), &back, &err), TL_OK);
    check_rows(&back, sample, 0);
    tl_rows_free(&back);
    tl_rows_free(&none);
    tl_rows_free(&r);
    tl_buf_free(&file);
}

static void an_index_of_several_row_groups_is_joined(void **unused) {
    (void)unused;
    enum { N = (1 << 20) + 3 };
    row *many = tl_calloc(N, sizeof *many);
    assert_non_null(many);
    for (int64_t i = 0; i < N; i++) {
        double key = (double)i;
        memcpy(&many[i].key, &key, 8);
        many[i].ts = i * 3;
        many[i].note = i % 3 ? "x" : NULL;
        many[i].tags = (int)(i % 4) - 1;
    }
    tl_rows r = make_rows(many, N), back;
    tl_buf file = {0};
    tl_error err = {{0}};
    assert_int_equal(tl_last_values_write(&schema, &contract, &r, &file, &err), TL_OK);
    assert_int_equal(tl_last_values_read(&schema, tl_buf_bytes(&file), &back, &err), TL_OK);
    check_rows(&back, many, N);
    tl_rows_free(&back);
    tl_rows_free(&r);
    tl_buf_free(&file);
    tl_free(many);
}

static void columns_added_later_are_null_and_required_ones_are_missed(void **unused) {
    (void)unused;
    tl_field more[6];
    memcpy(more, fields, sizeof fields);
    more[5] = (tl_field){.id = 9, .name = "new", .type = {.id = TL_TYPE_STRING}};
    const tl_schema later = {.n_fields = 6, .fields = more};
    tl_rows r = make_rows(sample, 6), back;
    tl_buf file = {0};
    tl_error err = {{0}};
    assert_int_equal(tl_last_values_write(&schema, &contract, &r, &file, &err), TL_OK);
    assert_int_equal(tl_last_values_read(&later, tl_buf_bytes(&file), &back, &err), TL_OK);
    check_rows(&back, sample, 6);
    for (int64_t i = 0; i < 6; i++) {
        assert_true(tl_column_is_null(&back.columns[5], i));
    }
    tl_rows_free(&back);
    more[5].required = true;
    assert_int_equal(tl_last_values_read(&later, tl_buf_bytes(&file), &back, &err), TL_CORRUPT);
    more[5] = (tl_field){.id = 9, .name = "new", .type = {.id = TL_TYPE_STRING}};
    more[0].type.id = TL_TYPE_LONG; /* another type than the file's */
    assert_int_equal(tl_last_values_read(&later, tl_buf_bytes(&file), &back, &err), TL_CORRUPT);
    tl_rows_free(&r);
    tl_buf_free(&file);
}

static void damaged_bytes_are_refused(void **unused) {
    (void)unused;
    tl_rows r = make_rows(sample, 6), back;
    tl_buf file = {0};
    tl_error err = {{0}};
    assert_int_equal(tl_last_values_write(&schema, &contract, &r, &file, &err), TL_OK);
    for (size_t n = 0; n < file.len; n += 7) {
        assert_int_not_equal(tl_last_values_read(&schema, (tl_bytes){file.data, n}, &back, &err), TL_OK);
    }
    for (size_t i = 4; i < file.len; i++) { /* any answer but a crash */
        file.data[i] ^= 0x55;
        if (tl_last_values_read(&schema, tl_buf_bytes(&file), &back, &err) == TL_OK) {
            tl_rows_free(&back);
        }
        file.data[i] ^= 0x55;
    }
    tl_rows_free(&r);
    tl_buf_free(&file);
}

/* ---- Arrow ---- */

static void rows_go_out_as_arrow_and_look_the_same_there(void **unused) {
    (void)unused;
    tl_rows r = make_rows(sample, 6);
    tl_pick picks[] = {{0, 5}, {0, 0}, {0, 3}, {0, 3}};
    const tl_column *sources[] = {r.columns};
    const row want[] = {sample[5], sample[0], sample[3], sample[3]};
    tl_rows picked, view = {.n_rows = 4, .n_columns = 5};
    tl_error err = {{0}};
    assert_int_equal(tl_rows_pick(sources, 1, 5, picks, 4, &picked, &err), TL_OK);
    struct ArrowArray array;
    struct ArrowSchema format;
    assert_int_equal(tl_rows_to_arrow(&schema, &picked, &array, &err), TL_OK);
    tl_rows_free(&picked);
    assert_int_equal(tl_iceberg_arrow_schema(&schema, &format, &err), TL_OK);
    view.columns = tl_arena_array(&view.arena, 5, sizeof *view.columns);
    assert_non_null(view.columns);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tl_column_from_arrow(&fields[i].type, format.children[i], array.children[i], &view.arena,
                                              &view.columns[i], &err),
                         TL_OK);
    }
    assert_int_equal(array.length, 4);
    check_rows(&view, want, 4);
    tl_rows_free(&view);
    format.release(&format);
    array.release(&array);
    tl_rows_free(&r);
}

static void nothing_leaks_when_memory_ends(void **unused) {
    (void)unused;
    tl_rows r = make_rows(sample, 6);
    tl_error err;
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        tl_rows merged = {0}, back = {0};
        tl_buf file = {0};
        struct ArrowArray array = {0};
        (void)tl_mem_fail_at(n);
        tl_status status = tl_last_values_merge(&schema, &contract, &r, &r, &merged, &err);
        status = status == TL_OK ? tl_last_values_write(&schema, &contract, &merged, &file, &err) : status;
        status = status == TL_OK ? tl_last_values_read(&schema, tl_buf_bytes(&file), &back, &err) : status;
        status = status == TL_OK ? tl_rows_to_arrow(&schema, &back, &array, &err) : status;
        (void)tl_mem_fail_at(0);
        done = status == TL_OK;
        assert_true(done || status == TL_NO_MEMORY);
        if (array.release) {
            array.release(&array);
        }
        tl_rows_free(&back);
        tl_rows_free(&merged);
        tl_buf_free(&file);
    }
    tl_rows_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_ordered_nulls_first_negative_zero_below_zero_and_nans_equal_last),
        cmocka_unit_test(decimals_are_ordered_by_value_and_bytes_unsigned),
        cmocka_unit_test(the_newer_row_of_a_series_stays_and_the_second_set_wins_ties),
        cmocka_unit_test(rows_out_of_order_are_refused),
        cmocka_unit_test(an_index_comes_back_from_its_parquet_bit_for_bit),
        cmocka_unit_test(an_index_of_several_row_groups_is_joined),
        cmocka_unit_test(columns_added_later_are_null_and_required_ones_are_missed),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(rows_go_out_as_arrow_and_look_the_same_there),
        cmocka_unit_test(nothing_leaks_when_memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
