/* Shredding: levels worked out by hand, and columns that do not fit their schema. */
#include "parquet/testing_internal.h"

#include "base/mem.h"
#include "parquet/shred.h"

/* What the leaves got, one after another. */
typedef struct caught {
    int32_t n_leaves;
    int64_t n_levels[4], n_values[4];
    uint8_t def[4][32], rep[4][32];
    uint8_t values[4][512];
    size_t width;
} caught;

static tl_status catch (void *ctx, int32_t leaf, const tl_pq_values *v, tl_error *err) {
    (void)err;
    caught *c = ctx;
    assert_int_equal(leaf, c->n_leaves);
    assert_true(leaf < 4 && v->n_levels <= 32);
    c->n_leaves++;
    c->n_levels[leaf] = v->n_levels;
    c->n_values[leaf] = v->n_values;
    if (v->def) {
        memcpy(c->def[leaf], v->def, (size_t)v->n_levels);
    }
    if (v->rep) {
        memcpy(c->rep[leaf], v->rep, (size_t)v->n_levels);
    }
    if (v->n_values) {
        memcpy(c->values[leaf], v->values, (size_t)v->n_values * c->width);
    }
    return TL_OK;
}

static void levels_are(const uint8_t *got, int64_t n, const char *want) {
    assert_int_equal(n, strlen(want));
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(got[i], want[i] - '0');
    }
}

static const tl_pq_schema_element list_of_int[] = {
    {.name = "root", .n_children = 1},
    {.name = "x", .n_children = 1, .repetition = TL_PQ_OPTIONAL, .logical = TL_PQ_LOGICAL_LIST},
    {.name = "list", .n_children = 1, .repetition = TL_PQ_REPEATED},
    {.name = "element", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_OPTIONAL},
};

static void a_list_of_optional_numbers(void **state) {
    (void)state;
    /* [1, null], null, [], [3] */
    const int32_t numbers[] = {1, 99, 3}, offsets[] = {0, 2, 2, 2, 3};
    const uint8_t list_valid[] = {0xd}, number_valid[] = {0x5};
    tl_column element = {
        .kind = TL_COLUMN_FIXED, .width = 4, .length = 3, .validity = number_valid, .values = (const uint8_t *)numbers};
    const tl_column list = {.kind = TL_COLUMN_LIST,
                            .length = 4,
                            .validity = list_valid,
                            .offsets32 = offsets,
                            .n_children = 1,
                            .children = &element};
    caught c = {.width = 4};
    TL_OKAY(tl_pq_shred(&list, list_of_int, 4, 1, NULL, NULL, 0, 4, catch, &c, &err));
    levels_are(c.def[0], c.n_levels[0], "32013");
    levels_are(c.rep[0], c.n_levels[0], "01000");
    assert_int_equal(c.n_values[0], 2);
    assert_memory_equal(c.values[0], ((int32_t[]){1, 3}), 8);
    /* rows picked in another order, one of them twice */
    const int64_t rows[] = {7, 3, 2, 1, 3};
    c = (caught){.width = 4};
    TL_OKAY(tl_pq_shred(&list, list_of_int, 4, 1, NULL, rows, 1, 4, catch, &c, &err));
    levels_are(c.def[0], c.n_levels[0], "3103");
    assert_memory_equal(c.values[0], ((int32_t[]){3, 3}), 8);
}

static void lists_in_lists_in_structs(void **state) {
    (void)state;
    const tl_pq_schema_element schema[] = {
        {.name = "root", .n_children = 1},
        {.name = "s", .n_children = 2, .repetition = TL_PQ_OPTIONAL},
        {.name = "id", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_REQUIRED},
        {.name = "x", .n_children = 1, .repetition = TL_PQ_OPTIONAL, .logical = TL_PQ_LOGICAL_LIST},
        {.name = "list", .n_children = 1, .repetition = TL_PQ_REPEATED},
        {.name = "element", .n_children = 1, .repetition = TL_PQ_OPTIONAL, .logical = TL_PQ_LOGICAL_LIST},
        {.name = "list", .n_children = 1, .repetition = TL_PQ_REPEATED},
        {.name = "element", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_REQUIRED},
    };
    /* {1, [[1, 2], [], null, [3]]}, null, {3, []}, {4, null} */
    const int32_t ids[] = {1, 2, 3, 4}, numbers[] = {1, 2, 3}, inner_offsets[] = {0, 2, 2, 2, 3},
                  outer_offsets[] = {0, 4, 4, 4, 4};
    const uint8_t inner_valid[] = {0xb}, outer_valid[] = {0x7}, struct_valid[] = {0xd};
    tl_column number = {.kind = TL_COLUMN_FIXED, .width = 4, .length = 3, .values = (const uint8_t *)numbers};
    tl_column inner = {.kind = TL_COLUMN_LIST,
                       .length = 4,
                       .validity = inner_valid,
                       .offsets32 = inner_offsets,
                       .n_children = 1,
                       .children = &number};
    tl_column fields[] = {{.kind = TL_COLUMN_FIXED, .width = 4, .length = 4, .values = (const uint8_t *)ids},
                          {.kind = TL_COLUMN_LIST,
                           .length = 4,
                           .validity = outer_valid,
                           .offsets32 = outer_offsets,
                           .n_children = 1,
                           .children = &inner}};
    const tl_column s = {
        .kind = TL_COLUMN_STRUCT, .length = 4, .validity = struct_valid, .n_children = 2, .children = fields};
    caught c = {.width = 4};
    TL_OKAY(tl_pq_shred(&s, schema, 8, 1, NULL, NULL, 0, 4, catch, &c, &err));
    assert_int_equal(c.n_leaves, 2);
    levels_are(c.def[0], c.n_levels[0], "1011");
    assert_memory_equal(c.values[0], ((int32_t[]){1, 3, 4}), 12);
    levels_are(c.def[1], c.n_levels[1], "55435021");
    levels_are(c.rep[1], c.n_levels[1], "02111000");
    assert_memory_equal(c.values[1], numbers, 12);
}

static const tl_pq_schema_element map_schema[] = {
    {.name = "root", .n_children = 1},
    {.name = "m", .n_children = 1, .repetition = TL_PQ_OPTIONAL, .logical = TL_PQ_LOGICAL_MAP},
    {.name = "key_value", .n_children = 2, .repetition = TL_PQ_REPEATED},
    {.name = "key", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_REQUIRED},
    {.name = "value", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_OPTIONAL},
};

static void maps_and_their_refusals(void **state) {
    (void)state;
    const int32_t keys[] = {1, 2, 3}, values[] = {10, 20, 30}, offsets[] = {0, 2, 2, 3};
    const uint8_t value_valid[] = {0x6}, one_null[] = {0x5};
    tl_column fields[] = {
        {.kind = TL_COLUMN_FIXED, .width = 4, .length = 3, .values = (const uint8_t *)keys},
        {.kind = TL_COLUMN_FIXED, .width = 4, .length = 3, .validity = value_valid, .values = (const uint8_t *)values}};
    tl_column entry = {.kind = TL_COLUMN_STRUCT, .length = 3, .n_children = 2, .children = fields};
    const tl_column map = {
        .kind = TL_COLUMN_LIST, .length = 3, .offsets32 = offsets, .n_children = 1, .children = &entry};
    caught c = {.width = 4};
    TL_OKAY(tl_pq_shred(&map, map_schema, 5, 1, NULL, NULL, 0, 3, catch, &c, &err));
    levels_are(c.def[0], c.n_levels[0], "2212");
    levels_are(c.def[1], c.n_levels[1], "2313");
    levels_are(c.rep[1], c.n_levels[1], "0100");
    assert_memory_equal(c.values[1], ((int32_t[]){20, 30}), 8);
    tl_error why;
    fields[0].validity = one_null; /* a null key */
    assert_int_equal(tl_pq_shred(&map, map_schema, 5, 1, NULL, NULL, 0, 3, catch, &c, &why), TL_INVALID);
    assert_non_null(strstr(why.message, "\"key\""));
    fields[0].validity = NULL;
    entry.validity = one_null;
    assert_int_equal(tl_pq_shred(&map, map_schema, 5, 1, NULL, NULL, 0, 3, catch, &c, &why), TL_INVALID);
}

static void flat_columns_are_not_copied(void **state) {
    (void)state;
    const tl_pq_schema_element schema[] = {
        {.name = "root", .n_children = 1},
        {.name = "x", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_OPTIONAL}};
    const int32_t numbers[] = {1, 2, 3, 4};
    const uint8_t valid[] = {0x7};
    const tl_column column = {
        .kind = TL_COLUMN_FIXED, .width = 4, .length = 4, .validity = valid, .values = (const uint8_t *)numbers};
    caught c = {.width = 4};
    (void)tl_mem_fail_at(1); /* nothing may be allocated: rows 1 and 2 are there as they lie */
    tl_status status = tl_pq_shred(&column, schema, 2, 1, NULL, NULL, 1, 2, catch, &c, NULL);
    (void)tl_mem_fail_at(0);
    assert_int_equal(status, TL_OK);
    assert_memory_equal(c.values[0], &numbers[1], 8);
    TL_OKAY(tl_pq_shred(&column, schema, 2, 1, NULL, NULL, 2, 2, catch, &(caught){.width = 4}, &err));
    (void)tl_mem_fail_at(1); /* row 3 is null: memory is needed, and its lack is told */
    status = tl_pq_shred(&column, schema, 2, 1, NULL, NULL, 2, 2, catch, &c, NULL);
    (void)tl_mem_fail_at(0);
    assert_int_equal(status, TL_NO_MEMORY);
}

static void nulls_in_required_columns_are_refused(void **state) {
    (void)state;
    const tl_pq_schema_element schema[] = {
        {.name = "root", .n_children = 1},
        {.name = "x", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_REQUIRED}};
    const int32_t numbers[] = {1, 2};
    const uint8_t valid[] = {0x1};
    const tl_column column = {
        .kind = TL_COLUMN_FIXED, .width = 4, .length = 2, .validity = valid, .values = (const uint8_t *)numbers};
    tl_error why;
    caught c = {.width = 4};
    assert_int_equal(tl_pq_shred(&column, schema, 2, 1, NULL, NULL, 0, 2, catch, &c, &why), TL_INVALID);
    assert_non_null(strstr(why.message, "\"x\""));
    TL_OKAY(tl_pq_shred(&column, schema, 2, 1, NULL, NULL, 0, 1, catch, &c, &err)); /* row 0 is no null */
}

static void decimals_become_their_narrowest_form(void **state) {
    (void)state;
    const tl_pq_schema_element schema[] = {{.name = "root", .n_children = 1},
                                           {.name = "d",
                                            .is_leaf = true,
                                            .type = TL_PQ_FIXED,
                                            .type_length = 3,
                                            .logical = TL_PQ_LOGICAL_DECIMAL,
                                            .precision = 6}};
    uint8_t values[3][16] = {{0x05}, {0xfe, 0xff, 0xff}, {0xff, 0xff, 0x7f}}; /* 5, -2, the greatest of 3 bytes */
    memset(values[1] + 3, 0xff, 13);
    tl_column column = {.kind = TL_COLUMN_FIXED, .width = 16, .length = 3, .values = values[0]};
    const tl_pq_convert fixed = TL_PQ_CONVERT_DECIMAL_FIXED;
    caught c = {.width = 3};
    TL_OKAY(tl_pq_shred(&column, schema, 2, 1, &fixed, NULL, 0, 3, catch, &c, &err));
    assert_memory_equal(c.values[0], "\0\0\5\xff\xff\xfe\x7f\xff\xff", 9);
    values[2][2] = 0x80; /* 2^23 needs a fourth byte */
    tl_error why;
    assert_int_equal(tl_pq_shred(&column, schema, 2, 1, &fixed, NULL, 0, 3, catch, &c, &why), TL_INVALID);
    const tl_pq_schema_element narrow[] = {{.name = "root", .n_children = 1},
                                           {.name = "d", .is_leaf = true, .type = TL_PQ_INT32}};
    const tl_pq_convert int32 = TL_PQ_CONVERT_DECIMAL_INT32;
    c = (caught){.width = 4};
    TL_OKAY(tl_pq_shred(&column, narrow, 2, 1, &int32, NULL, 0, 2, catch, &c, &err));
    assert_memory_equal(c.values[0], ((int32_t[]){5, -2}), 8);
}

static void columns_of_another_shape_are_refused(void **state) {
    (void)state;
    const int32_t numbers[] = {1}, offsets[] = {0, 1};
    tl_column number = {.kind = TL_COLUMN_FIXED, .width = 8, .length = 1, .values = (const uint8_t *)numbers};
    tl_column list = {.kind = TL_COLUMN_LIST, .length = 1, .offsets32 = offsets, .n_children = 1, .children = &number};
    caught c = {.width = 4};
    /* int64 elements for an int32 leaf; a number for a list; a list for a map */
    assert_int_equal(tl_pq_shred(&list, list_of_int, 4, 1, NULL, NULL, 0, 1, catch, &c, NULL), TL_INTERNAL);
    assert_int_equal(tl_pq_shred(&number, list_of_int, 4, 1, NULL, NULL, 0, 1, catch, &c, NULL), TL_INTERNAL);
    assert_int_equal(tl_pq_shred(&list, map_schema, 5, 1, NULL, NULL, 0, 1, catch, &c, NULL), TL_INTERNAL);
    const int32_t falling[] = {1, 0};
    number.width = 4;
    list.offsets32 = falling;
    assert_int_equal(tl_pq_shred(&list, list_of_int, 4, 1, NULL, NULL, 0, 1, catch, &c, NULL), TL_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_optional_numbers),
        cmocka_unit_test(lists_in_lists_in_structs),
        cmocka_unit_test(maps_and_their_refusals),
        cmocka_unit_test(flat_columns_are_not_copied),
        cmocka_unit_test(nulls_in_required_columns_are_refused),
        cmocka_unit_test(decimals_become_their_narrowest_form),
        cmocka_unit_test(columns_of_another_shape_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
