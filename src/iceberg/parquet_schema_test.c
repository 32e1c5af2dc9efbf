/* Schemas towards Parquet and Arrow, and from Arrow to a new table. */
#include "iceberg/parquet_schema.h"

#include "iceberg/schema_from_arrow.h"
#include "iceberg/testing_internal.h"

/* ---- Parquet ---- */

static tl_schema parsed(tl_arena *a, const char *fields) {
    tl_schema s;
    tl_error err = {{0}};
    char *json = tl_format("{\"schema-id\":0,\"type\":\"struct\",\"fields\":[%s]}", fields);
    if (tl_schema_parse_json(tl_bytes_of(json), a, &s, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    tl_free(json);
    return s;
}

static void columns_have_the_types_of_the_table_format(void **state) {
    static const struct {
        const char *type;
        tl_pq_type physical;
        int32_t length;
        tl_pq_logical logical;
    } cases[] = {{"boolean", TL_PQ_BOOLEAN, 0, TL_PQ_LOGICAL_NONE},
                 {"int", TL_PQ_INT32, 0, TL_PQ_LOGICAL_NONE},
                 {"long", TL_PQ_INT64, 0, TL_PQ_LOGICAL_NONE},
                 {"float", TL_PQ_FLOAT, 0, TL_PQ_LOGICAL_NONE},
                 {"double", TL_PQ_DOUBLE, 0, TL_PQ_LOGICAL_NONE},
                 {"decimal(9, 2)", TL_PQ_INT32, 0, TL_PQ_LOGICAL_DECIMAL},
                 {"decimal(18, 2)", TL_PQ_INT64, 0, TL_PQ_LOGICAL_DECIMAL},
                 {"decimal(19, 2)", TL_PQ_FIXED, 9, TL_PQ_LOGICAL_DECIMAL},
                 {"decimal(38, 2)", TL_PQ_FIXED, 16, TL_PQ_LOGICAL_DECIMAL},
                 {"date", TL_PQ_INT32, 0, TL_PQ_LOGICAL_DATE},
                 {"time", TL_PQ_INT64, 0, TL_PQ_LOGICAL_TIME},
                 {"timestamp", TL_PQ_INT64, 0, TL_PQ_LOGICAL_TIMESTAMP},
                 {"timestamptz", TL_PQ_INT64, 0, TL_PQ_LOGICAL_TIMESTAMP},
                 {"string", TL_PQ_BYTE_ARRAY, 0, TL_PQ_LOGICAL_STRING},
                 {"binary", TL_PQ_BYTE_ARRAY, 0, TL_PQ_LOGICAL_NONE},
                 {"uuid", TL_PQ_FIXED, 16, TL_PQ_LOGICAL_UUID},
                 {"fixed[5]", TL_PQ_FIXED, 5, TL_PQ_LOGICAL_NONE}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_arena a = {0};
        tl_pq_schema_element *e;
        int32_t n;
        char *field = tl_format("{\"id\":3,\"name\":\"c\",\"required\":%s,\"type\":\"%s\"}", i % 2 ? "true" : "false",
                                cases[i].type);
        tl_schema s = parsed(&a, field);
        tl_free(field);
        assert_int_equal(tl_iceberg_parquet_schema(&s, &a, &e, &n, NULL), TL_OK);
        assert_int_equal(n, 2);
        assert_string_equal(e[0].name, "table");
        assert_int_equal(e[0].n_children, 1);
        assert_true(e[1].is_leaf);
        assert_int_equal(e[1].field_id, 3);
        assert_int_equal(e[1].repetition, i % 2 ? TL_PQ_REQUIRED : TL_PQ_OPTIONAL);
        assert_int_equal(e[1].type, cases[i].physical);
        assert_int_equal(e[1].type_length, cases[i].length);
        assert_int_equal(e[1].logical, cases[i].logical);
        assert_int_equal(e[1].utc, strcmp(cases[i].type, "timestamptz") == 0);
        if (cases[i].logical == TL_PQ_LOGICAL_TIMESTAMP || cases[i].logical == TL_PQ_LOGICAL_TIME) {
            assert_int_equal(e[1].unit, TL_PQ_MICROS);
        }
        tl_arena_free(&a);
    }
}

static void lists_and_maps_have_three_levels(void **state) {
    tl_arena a = {0};
    tl_schema s =
        parsed(&a, "{\"id\":1,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":3,"
                   "\"element-required\":true,\"element\":{\"type\":\"map\",\"key-id\":4,\"key\":\"string\","
                   "\"value-id\":5,\"value-required\":false,\"value\":{\"type\":\"struct\",\"fields\":[{\"id\":6,"
                   "\"name\":\"x\",\"required\":true,\"type\":\"int\"}]}}}},{\"id\":2,\"name\":\"z\",\"required\":true,"
                   "\"type\":\"int\"}");
    static const struct {
        const char *name;
        tl_pq_repetition repetition;
        int32_t n_children, id;
        tl_pq_logical logical;
    } wanted[] = {
        {"table", TL_PQ_REQUIRED, 2, -1, TL_PQ_LOGICAL_NONE},     {"l", TL_PQ_OPTIONAL, 1, 1, TL_PQ_LOGICAL_LIST},
        {"list", TL_PQ_REPEATED, 1, -1, TL_PQ_LOGICAL_NONE},      {"element", TL_PQ_REQUIRED, 1, 3, TL_PQ_LOGICAL_MAP},
        {"key_value", TL_PQ_REPEATED, 2, -1, TL_PQ_LOGICAL_NONE}, {"key", TL_PQ_REQUIRED, 0, 4, TL_PQ_LOGICAL_STRING},
        {"value", TL_PQ_OPTIONAL, 1, 5, TL_PQ_LOGICAL_NONE},      {"x", TL_PQ_REQUIRED, 0, 6, TL_PQ_LOGICAL_NONE},
        {"z", TL_PQ_REQUIRED, 0, 2, TL_PQ_LOGICAL_NONE}};
    tl_pq_schema_element *e;
    int32_t n, n_leaves;
    tl_pq_leaf *leaves;
    assert_int_equal(tl_iceberg_parquet_schema(&s, &a, &e, &n, NULL), TL_OK);
    assert_int_equal(n, TL_COUNT(wanted));
    for (int32_t i = 0; i < n; i++) {
        assert_string_equal(e[i].name, wanted[i].name);
        assert_int_equal(e[i].repetition, wanted[i].repetition);
        assert_int_equal(e[i].n_children, wanted[i].n_children);
        assert_int_equal(e[i].field_id, wanted[i].id);
        assert_int_equal(e[i].logical, wanted[i].logical);
        assert_int_equal(e[i].is_leaf, wanted[i].n_children == 0);
    }
    assert_int_equal(tl_pq_schema_leaves(e, n, &leaves, &n_leaves, NULL), TL_OK);
    assert_int_equal(n_leaves, 3);
    assert_int_equal(leaves[1].max_rep, 2);
    tl_free(leaves);
    tl_arena_free(&a);
}

static void a_struct_without_fields_is_refused(void **state) {
    tl_arena a = {0};
    tl_schema s =
        parsed(&a, "{\"id\":1,\"name\":\"e\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":[]}}");
    tl_pq_schema_element *e;
    int32_t n;
    tl_error err;
    assert_int_equal(tl_iceberg_parquet_schema(&s, &a, &e, &n, &err), TL_UNSUPPORTED);
    assert_string_equal(err.message, "column \"e\": Parquet cannot hold a struct without fields");
    tl_arena_free(&a);
}

/* ---- Arrow and back ---- */

static void drop_docs(tl_field *fields, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        fields[i].doc = NULL;
        drop_docs(fields[i].type.fields, fields[i].type.n_fields);
    }
}

/* Every field's metadata begin with its id. */
static void check_ids(const struct ArrowSchema *s, const tl_field *f) {
    char wanted[64];
    int n = snprintf(wanted + 4 + 4 + 16 + 4, 16, "%d", f->id);
    const int32_t key_len = 16, value_len = n;
    memcpy(wanted + 4, &key_len, 4);
    memcpy(wanted + 8, "PARQUET:field_id", 16);
    memcpy(wanted + 24, &value_len, 4);
    assert_memory_equal(s->metadata + 4, wanted + 4, (size_t)(24 + n));
    assert_int_equal((s->flags & ARROW_FLAG_NULLABLE) != 0, !f->required);
}

static void random_schemas_survive_arrow(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 400; i++) {
        tl_arena a = {0};
        tl_schema s = random_schema(&d, &a, 0), back;
        struct ArrowSchema arrow;
        tl_error err = {{0}};
        drop_docs(s.fields, s.n_fields);
        (void)tl_schema_assign_ids(&s, 1);
        assert_int_equal(tl_iceberg_arrow_schema(&s, &arrow, NULL), TL_OK);
        assert_int_equal(arrow.n_children, s.n_fields);
        for (int32_t k = 0; k < s.n_fields; k++) {
            check_ids(arrow.children[k], &s.fields[k]);
        }
        if (tl_schema_from_arrow(&arrow, NULL, NULL, &a, &back, &err) != TL_OK) {
            fail_msg("%s", err.message);
        }
        assert_true(schemas_equal(&s, &back));
        arrow.release(&arrow);
        assert_null(arrow.release);
        tl_arena_free(&a);
    }
}

/* ---- hand-made Arrow schemas ---- */

typedef struct column {
    const char *name, *format;
    bool required;
    const char *metadata;
    struct ArrowSchema *dictionary;
    struct ArrowSchema **children;
    int64_t n_children;
} column;

/* The hand-made schemas own nothing. */
static void release_nothing(struct ArrowSchema *s) {
    s->release = NULL;
}

static tl_status from_columns(const column *columns, int n, const char *time, const char *ingest, tl_arena *a,
                              tl_schema *out, tl_error *err) {
    struct ArrowSchema fields[8], *list[8],
        root = {.format = "+s", .name = "", .n_children = n, .children = list, .release = release_nothing};
    for (int i = 0; i < n; i++) {
        fields[i] = (struct ArrowSchema){.format = columns[i].format,
                                         .name = columns[i].name,
                                         .metadata = columns[i].metadata,
                                         .flags = columns[i].required ? 0 : ARROW_FLAG_NULLABLE,
                                         .dictionary = columns[i].dictionary,
                                         .children = columns[i].children,
                                         .n_children = columns[i].n_children,
                                         .release = release_nothing};
        list[i] = &fields[i];
    }
    return tl_schema_from_arrow(&root, time, ingest, a, out, err);
}

static void arrow_types_become_table_types(void **state) {
    static const char *const pairs[][2] = {{"c", "int"},
                                           {"C", "int"},
                                           {"s", "int"},
                                           {"S", "int"},
                                           {"i", "int"},
                                           {"I", "long"},
                                           {"l", "long"},
                                           {"e", "float"},
                                           {"f", "float"},
                                           {"g", "double"},
                                           {"b", "boolean"},
                                           {"u", "string"},
                                           {"U", "string"},
                                           {"vu", "string"},
                                           {"z", "binary"},
                                           {"Z", "binary"},
                                           {"vz", "binary"},
                                           {"w:7", "fixed[7]"},
                                           {"w:16", "fixed[16]"},
                                           {"tdD", "date"},
                                           {"tdm", "date"},
                                           {"tts", "time"},
                                           {"ttu", "time"},
                                           {"ttn", "time"},
                                           {"tss:", "timestamp"},
                                           {"tsn:", "timestamp"},
                                           {"tsu:UTC", "timestamptz"},
                                           {"tsm:Europe/Berlin", "timestamptz"},
                                           {"tsu:+00:00", "timestamptz"},
                                           {"d:10,2", "decimal(10, 2)"},
                                           {"d:9,0,32", "decimal(9, 0)"},
                                           {"d:38,38,256", "decimal(38, 38)"}};
    for (size_t i = 0; i < TL_COUNT(pairs); i++) {
        tl_arena a = {0};
        tl_schema s;
        tl_buf name = {0};
        column c = {.name = "x", .format = pairs[i][0], .required = i % 2};
        tl_error err = {{0}};
        if (from_columns(&c, 1, NULL, NULL, &a, &s, &err) != TL_OK) {
            fail_msg("%s: %s", pairs[i][0], err.message);
        }
        assert_int_equal(tl_type_print(&s.fields[0].type, &name), TL_OK);
        assert_true(tl_bytes_equal(tl_buf_bytes(&name), tl_bytes_of(pairs[i][1])));
        assert_int_equal(s.fields[0].required, i % 2);
        assert_int_equal(s.fields[0].id, 1);
        tl_buf_free(&name);
        tl_arena_free(&a);
    }
}

static void types_that_cannot_be_stored_are_refused_by_name(void **state) {
    static const char *const cases[][2] = {
        {"L", "column \"x\": uint64 may hold values beyond long: cast it to int64 or decimal(20, 0)"},
        {"n", "column \"x\": null is no type for a table: give the column one"},
        {"tDs", "column \"x\": duration[s] is not a type that a table can have: cast it"},
        {"tiM", NULL},
        {"d:39,2,256", NULL},
        {"d:5,-2", NULL},
        {"w:0", NULL},
        {"+s", NULL},
        {"?", NULL}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_arena a = {0};
        tl_schema s;
        tl_error err = {{0}};
        column c = {.name = "x", .format = cases[i][0]};
        assert_int_equal(from_columns(&c, 1, NULL, NULL, &a, &s, &err), TL_INVALID);
        if (cases[i][1]) {
            assert_string_equal(err.message, cases[i][1]);
        }
        assert_non_null(strstr(err.message, "x\""));
        tl_arena_free(&a);
    }
}

static void the_time_column_is_required_and_insertion_time_is_appended(void **state) {
    tl_arena a = {0};
    tl_schema s;
    column c[] = {{.name = "s", .format = "u"}, {.name = "t", .format = "tsn:Asia/Tokyo"}};
    assert_int_equal(from_columns(c, 2, "t", "_ingest_ts", &a, &s, NULL), TL_OK);
    assert_int_equal(s.n_fields, 3);
    assert_false(s.fields[0].required);
    assert_true(s.fields[1].required);
    assert_string_equal(s.fields[2].name, "_ingest_ts");
    assert_int_equal(s.fields[2].type.id, TL_TYPE_TIMESTAMPTZ);
    assert_true(s.fields[2].required);
    assert_int_equal(s.fields[2].id, 3);
    c[1].format = "u"; /* text becomes timestamptz */
    assert_int_equal(from_columns(c, 2, "t", NULL, &a, &s, NULL), TL_OK);
    assert_int_equal(s.n_fields, 2);
    assert_int_equal(s.fields[1].type.id, TL_TYPE_TIMESTAMPTZ);
    c[1].format = "tsu:"; /* a naive one stays naive */
    assert_int_equal(from_columns(c, 2, "t", NULL, &a, &s, NULL), TL_OK);
    assert_int_equal(s.fields[1].type.id, TL_TYPE_TIMESTAMP);
    tl_arena_free(&a);
}

static void an_insertion_time_of_the_input_stays_in_place(void **state) {
    tl_arena a = {0};
    tl_schema s;
    tl_error err;
    column c[] = {{.name = "_ingest_ts", .format = "tsm:"}, {.name = "t", .format = "tsu:UTC"}};
    assert_int_equal(from_columns(c, 2, "t", "_ingest_ts", &a, &s, NULL), TL_OK);
    assert_int_equal(s.n_fields, 2);
    assert_int_equal(s.fields[0].type.id, TL_TYPE_TIMESTAMPTZ);
    assert_true(s.fields[0].required);
    c[0].format = "l";
    assert_int_equal(from_columns(c, 2, "t", "_ingest_ts", &a, &s, &err), TL_INVALID);
    assert_string_equal(err.message, "column \"_ingest_ts\" is kept for the insertion time and must be a timestamp");
    tl_arena_free(&a);
}

static void bad_names_and_time_columns_are_refused(void **state) {
    tl_arena a = {0};
    tl_schema s;
    tl_error err;
    column c[] = {{.name = "t", .format = "l"}, {.name = "T", .format = "i"}};
    assert_int_equal(from_columns(c, 2, NULL, NULL, &a, &s, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "differ only in case"));
    assert_int_equal(from_columns(c, 1, "t", NULL, &a, &s, &err), TL_INVALID);
    assert_string_equal(err.message, "time column \"t\" must be a timestamp, but is long");
    assert_int_equal(from_columns(c, 1, "u", NULL, &a, &s, &err), TL_INVALID);
    assert_string_equal(err.message, "time column \"u\" is not among the columns");
    c[1].name = "t";
    assert_int_equal(from_columns(c, 2, NULL, NULL, &a, &s, &err), TL_INVALID);
    assert_string_equal(err.message, "column \"t\" is there twice");
    c[1].name = "";
    assert_int_equal(from_columns(c, 2, NULL, NULL, &a, &s, &err), TL_INVALID);
    assert_string_equal(err.message, "a column has no name");
    c[1].name = "\xe9t\xe9";
    assert_int_equal(from_columns(c, 2, NULL, NULL, &a, &s, &err), TL_INVALID);
    assert_int_equal(from_columns(c, 0, NULL, NULL, &a, &s, &err), TL_INVALID);
    tl_arena_free(&a);
}

static void ids_of_nested_fields_come_level_by_level_within_their_column(void **state) {
    /* ts, x list<struct<a, m map>>, y struct<p>: as 0.7.0 numbers them (spec a.3) */
    tl_arena a = {0};
    tl_schema s = parsed(
        &a, "{\"id\":101,\"name\":\"ts\",\"required\":true,\"type\":\"timestamptz\"},{\"id\":102,\"name\":\"x\","
            "\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":103,\"element-required\":false,"
            "\"element\":{\"type\":\"struct\",\"fields\":[{\"id\":104,\"name\":\"a\",\"required\":false,\"type\":"
            "\"int\"},{\"id\":105,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":106,"
            "\"key\":\"string\",\"value-id\":107,\"value-required\":false,\"value\":\"double\"}}]}}},"
            "{\"id\":108,\"name\":\"y\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":[{\"id\":109,"
            "\"name\":\"p\",\"required\":false,\"type\":\"string\"}]}},{\"id\":110,\"name\":\"_ingest_ts\","
            "\"required\":true,\"type\":\"timestamptz\"}");
    assert_int_equal(tl_schema_assign_ids(&s, 1), 11);
    assert_int_equal(s.fields[3].id, 4);
    const tl_field *element = s.fields[1].type.fields;
    assert_int_equal(element->id, 5);
    assert_int_equal(element->type.fields[0].id, 6);
    assert_int_equal(element->type.fields[1].id, 7);
    assert_int_equal(element->type.fields[1].type.fields[0].id, 8);
    assert_int_equal(element->type.fields[1].type.fields[1].id, 9);
    assert_int_equal(s.fields[2].type.fields[0].id, 10);
    tl_arena_free(&a);
}

static void dictionaries_and_run_ends_are_as_their_values(void **state) {
    tl_arena a = {0};
    tl_schema s;
    struct ArrowSchema text = {.format = "u", .name = "", .release = release_nothing},
                       ends = {.format = "i", .name = "run_ends", .release = release_nothing},
                       values = {.format = "g",
                                 .name = "values",
                                 .flags = ARROW_FLAG_NULLABLE,
                                 .release = release_nothing},
                       *children[] = {&ends, &values};
    column c[] = {{.name = "d", .format = "c", .dictionary = &text},
                  {.name = "r", .format = "+r", .children = children, .n_children = 2}};
    assert_int_equal(from_columns(c, 2, NULL, NULL, &a, &s, NULL), TL_OK);
    assert_int_equal(s.fields[0].type.id, TL_TYPE_STRING);
    assert_false(s.fields[0].required);
    assert_int_equal(s.fields[1].type.id, TL_TYPE_DOUBLE);
    tl_arena_free(&a);
}

static tl_status there_and_back(void *ctx, tl_error *err) {
    tl_arena a = {0};
    tl_schema back;
    struct ArrowSchema arrow;
    tl_pq_schema_element *e;
    int32_t n;
    tl_status status = tl_iceberg_arrow_schema(ctx, &arrow, err);
    if (status == TL_OK) {
        status = tl_schema_from_arrow(&arrow, NULL, "_ingest_ts", &a, &back, err);
        arrow.release(&arrow);
    }
    status = status == TL_OK ? tl_iceberg_parquet_schema(&back, &a, &e, &n, err) : status;
    tl_arena_free(&a);
    return status;
}

static void failing_allocations_leave_nothing_behind(void **state) {
    dice d = dice_make(__func__);
    tl_arena a = {0};
    tl_schema s = random_schema(&d, &a, 0);
    every_allocation_fails_once(there_and_back, &s);
    tl_arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_the_types_of_the_table_format),
        cmocka_unit_test(lists_and_maps_have_three_levels),
        cmocka_unit_test(a_struct_without_fields_is_refused),
        cmocka_unit_test(random_schemas_survive_arrow),
        cmocka_unit_test(arrow_types_become_table_types),
        cmocka_unit_test(types_that_cannot_be_stored_are_refused_by_name),
        cmocka_unit_test(the_time_column_is_required_and_insertion_time_is_appended),
        cmocka_unit_test(an_insertion_time_of_the_input_stays_in_place),
        cmocka_unit_test(bad_names_and_time_columns_are_refused),
        cmocka_unit_test(ids_of_nested_fields_come_level_by_level_within_their_column),
        cmocka_unit_test(dictionaries_and_run_ends_are_as_their_values),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
