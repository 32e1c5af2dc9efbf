/* From a Parquet footer to a manifest's statistics. */
#include "iceberg/file_stats.h"

#include <math.h>

#include "iceberg/parquet_schema.h"
#include "iceberg/testing_internal.h"

/* A footer with the Parquet schema of `schema` and `groups` row groups whose chunks are zeroed. */
typedef struct footer {
    tl_arena arena;
    tl_pq_file_meta meta;
    int32_t n_leaves;
} footer;

static footer make_footer(const tl_schema *schema, int32_t groups) {
    footer f = {0};
    tl_pq_leaf *leaves;
    assert_int_equal(tl_iceberg_parquet_schema(schema, &f.arena, &f.meta.schema, &f.meta.n_schema, NULL), TL_OK);
    assert_int_equal(tl_pq_schema_leaves(f.meta.schema, f.meta.n_schema, &leaves, &f.n_leaves, NULL), TL_OK);
    tl_free(leaves);
    f.meta.n_row_groups = groups;
    f.meta.row_groups = tl_arena_array(&f.arena, (size_t)groups, sizeof *f.meta.row_groups);
    f.meta.column_orders = tl_arena_alloc(&f.arena, (size_t)f.n_leaves);
    f.meta.n_column_orders = f.n_leaves;
    memset(f.meta.column_orders, 1, (size_t)f.n_leaves);
    for (int32_t g = 0; g < groups; g++) {
        f.meta.row_groups[g] = (tl_pq_row_group){.n_columns = f.n_leaves, .n_rows = 10, .file_offset = 4 + 1000 * g};
        f.meta.row_groups[g].columns = tl_arena_array(&f.arena, (size_t)f.n_leaves, sizeof(tl_pq_column_chunk));
        f.meta.n_rows += 10;
    }
    return f;
}

static tl_pq_column_chunk *chunk(footer *f, int32_t group, int32_t leaf) {
    return &f->meta.row_groups[group].columns[leaf];
}

/* 10 values of which `nulls` are null, with bounds. */
static void set_chunk(tl_pq_column_chunk *c, int64_t nulls, tl_bytes min, tl_bytes max) {
    c->n_values = 10;
    c->compressed_size = 100;
    c->stats = (tl_pq_statistics){.has_null_count = true,
                                  .null_count = nulls,
                                  .min_value = min,
                                  .max_value = max,
                                  .has_min_exact = min.data,
                                  .has_max_exact = max.data,
                                  .min_exact = true,
                                  .max_exact = true};
}

static void set_nans(tl_pq_column_chunk *c, int64_t nans) {
    c->stats.has_nan_count = true;
    c->stats.nan_count = nans;
}

static tl_data_file stats_of(const tl_schema *schema, footer *f) {
    tl_data_file out = {.path = "stays"};
    tl_error err = {{0}};
    if (tl_file_stats(schema, &f->meta, &f->arena, &out, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(out.path, "stays");
    return out;
}

static tl_bytes text(const char *t) {
    return tl_bytes_of(t);
}

#define ONE_COLUMN(the_type)                                                                                           \
    tl_field column = {.id = 7, .name = "c", .type = the_type};                                                        \
    const tl_schema schema = {.n_fields = 1, .fields = &column}

static void counts_are_summed_and_bounds_joined(void **state) {
    ONE_COLUMN({.id = TL_TYPE_INT});
    footer f = make_footer(&schema, 3);
    const int32_t low[] = {5, -3, 9}, high[] = {6, 2, 40};
    for (int32_t g = 0; g < 3; g++) {
        set_chunk(chunk(&f, g, 0), g, (tl_bytes){(const uint8_t *)&low[g], 4},
                  (tl_bytes){(const uint8_t *)&high[g], 4});
    }
    tl_data_file d = stats_of(&schema, &f);
    assert_int_equal(d.record_count, 30);
    assert_int_equal(d.n_split_offsets, 3);
    assert_int_equal(d.split_offsets[2], 2004);
    assert_int_equal(d.n_columns, 1);
    const tl_column_stats *s = &d.columns[0];
    assert_int_equal(s->field_id, 7);
    assert_int_equal(s->size, 300);
    assert_int_equal(s->values, 30);
    assert_int_equal(s->nulls, 3);
    assert_int_equal(s->nans, -1);
    assert_memory_equal(s->lower.data, &low[1], 4);
    assert_memory_equal(s->upper.data, &high[2], 4);
    tl_arena_free(&f.arena);
}

static void a_bound_missing_in_one_row_group_is_missing_in_the_file(void **state) {
    ONE_COLUMN({.id = TL_TYPE_STRING});
    footer f = make_footer(&schema, 2);
    set_chunk(chunk(&f, 0, 0), 0, text("abc"), text("abc"));
    set_chunk(chunk(&f, 1, 0), 0, (tl_bytes){0}, (tl_bytes){0}); /* "zzz..." of 70 kB */
    tl_data_file d = stats_of(&schema, &f);
    assert_null(d.columns[0].lower.data);
    assert_null(d.columns[0].upper.data);
    chunk(&f, 1, 0)->stats.null_count = 10; /* unless there is nothing in it */
    d = stats_of(&schema, &f);
    assert_true(tl_bytes_equal(d.columns[0].lower, text("abc")));
    assert_true(tl_bytes_equal(d.columns[0].upper, text("abc")));
    chunk(&f, 1, 0)->stats.has_null_count = false;
    d = stats_of(&schema, &f);
    assert_null(d.columns[0].lower.data);
    assert_int_equal(d.columns[0].nulls, -1);
    tl_arena_free(&f.arena);
}

static void bounds_that_were_cut_are_left_out(void **state) {
    ONE_COLUMN({.id = TL_TYPE_STRING});
    footer f = make_footer(&schema, 1);
    tl_pq_statistics *s = &chunk(&f, 0, 0)->stats;
    set_chunk(chunk(&f, 0, 0), 0, text("aaa"), text("zzz"));
    s->max_exact = false;
    tl_data_file d = stats_of(&schema, &f);
    assert_true(tl_bytes_equal(d.columns[0].lower, text("aaa")));
    assert_null(d.columns[0].upper.data);
    s->has_min_exact = s->has_max_exact = false; /* a writer that does not say */
    d = stats_of(&schema, &f);
    assert_null(d.columns[0].lower.data);
    assert_null(d.columns[0].upper.data);
    tl_arena_free(&f.arena);
}

static void an_empty_string_is_a_bound(void **state) {
    ONE_COLUMN({.id = TL_TYPE_STRING});
    footer f = make_footer(&schema, 1);
    set_chunk(chunk(&f, 0, 0), 0, text(""), text(""));
    tl_data_file d = stats_of(&schema, &f);
    assert_non_null(d.columns[0].lower.data);
    assert_int_equal(d.columns[0].lower.len, 0);
    tl_arena_free(&f.arena);
}

static void nan_is_counted_and_outside_the_bounds(void **state) {
    ONE_COLUMN({.id = TL_TYPE_DOUBLE});
    footer f = make_footer(&schema, 2);
    const double three = 3, nan = NAN;
    tl_bytes b = {(const uint8_t *)&three, 8}, n = {(const uint8_t *)&nan, 8};
    set_chunk(chunk(&f, 0, 0), 0, b, b);
    set_nans(chunk(&f, 0, 0), 1);
    set_chunk(chunk(&f, 1, 0), 4, (tl_bytes){0}, (tl_bytes){0}); /* nulls and NaNs alone */
    set_nans(chunk(&f, 1, 0), 6);
    tl_data_file d = stats_of(&schema, &f);
    assert_int_equal(d.columns[0].nans, 7);
    assert_memory_equal(d.columns[0].lower.data, &three, 8);
    assert_memory_equal(d.columns[0].upper.data, &three, 8);
    chunk(&f, 1, 0)->stats.has_nan_count = false; /* then nobody knows why there are no bounds */
    d = stats_of(&schema, &f);
    assert_int_equal(d.columns[0].nans, -1);
    assert_null(d.columns[0].lower.data);
    set_chunk(chunk(&f, 1, 0), 0, n, n); /* a writer that puts NaN into bounds */
    d = stats_of(&schema, &f);
    assert_null(d.columns[0].lower.data);
    assert_null(d.columns[0].upper.data);
    set_chunk(chunk(&f, 0, 0), 0, (tl_bytes){0}, (tl_bytes){0});
    set_nans(chunk(&f, 0, 0), 10);
    set_chunk(chunk(&f, 1, 0), 0, (tl_bytes){0}, (tl_bytes){0});
    set_nans(chunk(&f, 1, 0), 10);
    d = stats_of(&schema, &f); /* all NaN: no bounds */
    assert_int_equal(d.columns[0].nans, 20);
    assert_null(d.columns[0].lower.data);
    tl_arena_free(&f.arena);
}

static void zero_is_negative_below_and_positive_above(void **state) {
    ONE_COLUMN({.id = TL_TYPE_FLOAT});
    footer f = make_footer(&schema, 1);
    const float plus = 0.0f, minus = -0.0f;
    set_chunk(chunk(&f, 0, 0), 0, (tl_bytes){(const uint8_t *)&plus, 4}, (tl_bytes){(const uint8_t *)&minus, 4});
    set_nans(chunk(&f, 0, 0), 0);
    tl_data_file d = stats_of(&schema, &f);
    assert_memory_equal(d.columns[0].lower.data, &minus, 4);
    assert_memory_equal(d.columns[0].upper.data, &plus, 4);
    assert_int_equal(d.columns[0].nans, 0);
    tl_arena_free(&f.arena);
}

static void decimals_are_joined_by_value(void **state) {
    ONE_COLUMN(((tl_type){.id = TL_TYPE_DECIMAL, .precision = 38}));
    footer f = make_footer(&schema, 2);
    uint8_t minus[16], large[16] = {0};
    memset(minus, 0xff, 16); /* -1 */
    large[14] = 0x80;        /* 32768 */
    set_chunk(chunk(&f, 0, 0), 0, (tl_bytes){large, 16}, (tl_bytes){large, 16});
    set_chunk(chunk(&f, 1, 0), 0, (tl_bytes){minus, 16}, (tl_bytes){minus, 16});
    tl_data_file d = stats_of(&schema, &f);
    assert_true(tl_bytes_equal(d.columns[0].lower, (tl_bytes){(const uint8_t *)"\xff", 1}));
    assert_true(tl_bytes_equal(d.columns[0].upper, (tl_bytes){(const uint8_t *)"\x00\x80\x00", 3}));
    tl_arena_free(&f.arena);
}

static void unknown_orders_and_repeated_columns_have_no_bounds(void **state) {
    tl_field element = {.id = 3, .name = "element", .type = {.id = TL_TYPE_INT}};
    tl_field inner = {.id = 4, .name = "x", .type = {.id = TL_TYPE_INT}};
    tl_field columns[] = {{.id = 2, .name = "s", .type = {.id = TL_TYPE_STRUCT, .n_fields = 1, .fields = &inner}},
                          {.id = 1, .name = "l", .type = {.id = TL_TYPE_LIST, .n_fields = 1, .fields = &element}},
                          {.id = 5, .name = "u", .type = {.id = TL_TYPE_INT}}};
    const tl_schema schema = {.n_fields = 3, .fields = columns};
    footer f = make_footer(&schema, 1);
    const int32_t v = 1;
    for (int32_t i = 0; i < 3; i++) {
        set_chunk(chunk(&f, 0, i), 0, (tl_bytes){(const uint8_t *)&v, 4}, (tl_bytes){(const uint8_t *)&v, 4});
    }
    f.meta.column_orders[2] = 0;
    tl_data_file d = stats_of(&schema, &f);
    assert_int_equal(d.n_columns, 3); /* by ascending id: list element, struct's field, column */
    assert_int_equal(d.columns[0].field_id, 3);
    assert_null(d.columns[0].lower.data);
    assert_int_equal(d.columns[0].values, 10);
    assert_int_equal(d.columns[1].field_id, 4);
    assert_non_null(d.columns[1].lower.data);
    assert_int_equal(d.columns[2].field_id, 5);
    assert_null(d.columns[2].lower.data);
    tl_arena_free(&f.arena);
}

static void a_footer_that_does_not_add_up_is_corrupt(void **state) {
    ONE_COLUMN({.id = TL_TYPE_INT});
    footer f = make_footer(&schema, 1);
    tl_data_file d = {0};
    f.meta.row_groups[0].n_columns = 0;
    assert_int_equal(tl_file_stats(&schema, &f.meta, &f.arena, &d, NULL), TL_CORRUPT);
    f.meta.row_groups[0].n_columns = 1;
    const int64_t wide = 3;
    set_chunk(chunk(&f, 0, 0), 0, (tl_bytes){(const uint8_t *)&wide, 8}, (tl_bytes){(const uint8_t *)&wide, 8});
    assert_int_equal(tl_file_stats(&schema, &f.meta, &f.arena, &d, NULL), TL_OK);
    assert_null(d.columns[0].lower.data); /* 8 bytes are no int */
    f.meta.schema[1].field_id = 99;       /* an id that the table does not have */
    assert_int_equal(tl_file_stats(&schema, &f.meta, &f.arena, &d, NULL), TL_OK);
    assert_int_equal(d.n_columns, 0);
    tl_arena_free(&f.arena);
}

typedef struct job {
    const tl_schema *schema;
    footer *footer;
} job;

static tl_status stats_job(void *ctx, tl_error *err) {
    job *j = ctx;
    tl_arena a = {0};
    tl_data_file d = {0};
    tl_status status = tl_file_stats(j->schema, &j->footer->meta, &a, &d, err);
    tl_arena_free(&a);
    return status;
}

static void failing_allocations_leave_nothing_behind(void **state) {
    ONE_COLUMN({.id = TL_TYPE_STRING});
    footer f = make_footer(&schema, 2);
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    for (int32_t g = 0; g < 2; g++) {
        set_chunk(chunk(&f, g, 0), 0, (tl_bytes){(const uint8_t *)longer, sizeof longer},
                  (tl_bytes){(const uint8_t *)longer, sizeof longer});
    }
    job j = {&schema, &f};
    every_allocation_fails_once(stats_job, &j);
    tl_arena_free(&f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_summed_and_bounds_joined),
        cmocka_unit_test(a_bound_missing_in_one_row_group_is_missing_in_the_file),
        cmocka_unit_test(bounds_that_were_cut_are_left_out),
        cmocka_unit_test(an_empty_string_is_a_bound),
        cmocka_unit_test(nan_is_counted_and_outside_the_bounds),
        cmocka_unit_test(zero_is_negative_below_and_positive_above),
        cmocka_unit_test(decimals_are_joined_by_value),
        cmocka_unit_test(unknown_orders_and_repeated_columns_have_no_bounds),
        cmocka_unit_test(a_footer_that_does_not_add_up_is_corrupt),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
