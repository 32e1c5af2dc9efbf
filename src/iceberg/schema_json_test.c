/* Types, schemas and their JSON. */
#include "iceberg/testing_internal.h"

static void type_names_are_read_and_written(void **state) {
    static const char *const names[] = {
        "boolean",     "int",    "long", "float",  "double",          "date",          "time",     "timestamp",
        "timestamptz", "string", "uuid", "binary", "decimal(38, 38)", "decimal(1, 0)", "fixed[16]"};
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        tl_type t;
        tl_buf out = {0};
        assert_true(tl_type_parse(tl_bytes_of(names[i]), &t));
        assert_int_equal(tl_type_print(&t, &out), TL_OK);
        assert_true(tl_bytes_equal(tl_buf_bytes(&out), tl_bytes_of(names[i])));
        tl_buf_free(&out);
    }
    tl_type t;
    assert_true(tl_type_parse(tl_bytes_of("decimal(9,2)"), &t));
    assert_int_equal(t.precision, 9);
    assert_int_equal(t.scale, 2);
    static const char *const bad[] = {
        "",           "Int",           "decimal",  "decimal(0,0)", "decimal(39,0)", "decimal(3,4)", "decimal(3,-1)",
        "decimal(3)", "decimal(3,1)x", "fixed[0]", "fixed[]",      "fixed[-1]",     "fixed[1",      "struct"};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        assert_false(tl_type_parse(tl_bytes_of(bad[i]), &t));
    }
}

static void decimals_take_the_least_bytes_that_hold_their_digits(void **state) {
    __extension__ typedef __int128 wide;
    wide limit = 1;
    for (int32_t p = 1; p <= 38; p++) {
        limit *= 10;
        int32_t n = tl_decimal_bytes(p);
        assert_true(n <= 16 && (n == 16 || limit - 1 < (wide)1 << (8 * n - 1)));
        assert_true(n == 1 || limit - 1 >= (wide)1 << (8 * (n - 1) - 1));
    }
}

static void random_schemas_survive_json_and_copies(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 500; i++) {
        tl_arena a = {0};
        tl_buf text = {0}, again = {0};
        tl_schema s = random_schema(&d, &a, below(&d, 5)), back, copy;
        assert_int_equal(tl_schema_write_json(&s, &text, NULL), TL_OK);
        assert_int_equal(tl_schema_parse_json(tl_buf_bytes(&text), &a, &back, NULL), TL_OK);
        assert_true(schemas_equal(&s, &back));
        assert_int_equal(tl_schema_copy(&back, &a, &copy), TL_OK);
        assert_int_equal(tl_schema_write_json(&copy, &again, NULL), TL_OK);
        assert_true(tl_bytes_equal(tl_buf_bytes(&text), tl_buf_bytes(&again)));
        int32_t most = tl_schema_max_id(&s);
        assert_non_null(tl_schema_find(&s, most));
        assert_null(tl_schema_find(&s, most + 1));
        tl_buf_free(&text);
        tl_buf_free(&again);
        tl_arena_free(&a);
    }
}

static void keys_that_are_not_known_are_kept(void **state) {
    const char *json = "{\"schema-id\":7,\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true,"
                       "\"type\":\"int\",\"write-default\":34}],\"identifier-field-ids\":[1]}";
    tl_arena a = {0};
    tl_schema s;
    tl_buf out = {0};
    assert_int_equal(tl_schema_parse_json(tl_bytes_of(json), &a, &s, NULL), TL_OK);
    assert_string_equal(s.extra_json, "{\"identifier-field-ids\":[1]}");
    assert_int_equal(tl_schema_write_json(&s, &out, NULL), TL_OK);
    assert_true(tl_bytes_equal(tl_buf_bytes(&out), tl_bytes_of(json)));
    tl_buf_free(&out);
    tl_arena_free(&a);
}

/* A schema with one column "c" of that type. */
static tl_status parse_column(const char *type, tl_error *err) {
    tl_arena a = {0};
    tl_schema s;
    char *json =
        tl_format("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"c\",\"required\":false,\"type\":%s}]}", type);
    tl_status status = tl_schema_parse_json(tl_bytes_of(json), &a, &s, err);
    tl_free(json);
    tl_arena_free(&a);
    return status;
}

static void errors_name_the_column_and_the_type(void **state) {
    tl_error err;
    assert_int_equal(parse_column("\"timestamp_ns\"", &err), TL_UNSUPPORTED);
    assert_string_equal(err.message, "column \"c\": type timestamp_ns is not read here");
    assert_int_equal(parse_column("\"geometry(srid:4326)\"", &err), TL_UNSUPPORTED);
    assert_int_equal(parse_column("\"variant\"", &err), TL_UNSUPPORTED);
    assert_int_equal(parse_column("\"integer\"", &err), TL_CORRUPT);
    assert_string_equal(err.message, "column \"c\": type integer is not a type of the table format");
    assert_int_equal(parse_column("{\"type\":\"set\"}", &err), TL_CORRUPT);
    assert_int_equal(parse_column("3", &err), TL_CORRUPT);
    assert_int_equal(
        parse_column("{\"type\":\"list\",\"element-id\":1,\"element-required\":true,\"element\":\"int\"}", &err),
        TL_CORRUPT);
    assert_string_equal(err.message, "schema: field id 1 is used twice");
    assert_int_equal(parse_column("{\"type\":\"list\",\"element-id\":2,\"element\":\"int\"}", &err), TL_CORRUPT);
    assert_int_equal(
        parse_column("{\"type\":\"struct\",\"fields\":[{\"id\":2,\"name\":\"x\",\"required\":true,\"type\":\"int\"},"
                     "{\"id\":3,\"name\":\"x\",\"required\":true,\"type\":\"int\"}]}",
                     &err),
        TL_CORRUPT);
    assert_string_equal(err.message, "schema: two fields are named \"x\"");
    assert_int_equal(parse_column("\"int\",\"initial-default\":5", &err), TL_UNSUPPORTED);
}

static void deep_types_are_refused_and_not_followed(void **state) {
    tl_error err;
    tl_buf text = {0};
    int depths[] = {TL_TYPE_MAX_DEPTH - 1, TL_TYPE_MAX_DEPTH, 100000};
    tl_status wanted[] = {TL_OK, TL_UNSUPPORTED, TL_UNSUPPORTED};
    for (size_t k = 0; k < TL_COUNT(depths); k++) {
        text.len = 0;
        for (int i = 0; i < depths[k]; i++) {
            assert_int_equal(
                tl_buf_printf(&text,
                              "{\"type\":\"list\",\"element-id\":%d,\"element-required\":true,\"element\":", i + 2),
                TL_OK);
        }
        assert_int_equal(tl_buf_add_text(&text, "\"int\""), TL_OK);
        for (int i = 0; i < depths[k]; i++) {
            assert_int_equal(tl_buf_add_byte(&text, '}'), TL_OK);
        }
        assert_int_equal(tl_buf_add_byte(&text, 0), TL_OK);
        assert_int_equal(parse_column((const char *)text.data, &err), wanted[k]);
    }
    tl_buf_free(&text);
}

static void names_that_are_not_utf8_are_not_written(void **state) {
    tl_field f = {.id = 1, .name = "a\xff", .type = {.id = TL_TYPE_INT}};
    tl_schema s = {.n_fields = 1, .fields = &f};
    tl_buf out = {0};
    assert_int_equal(tl_schema_write_json(&s, &out, NULL), TL_INVALID);
    tl_buf_free(&out);
}

static tl_status write_read_copy(void *ctx, tl_error *err) {
    tl_arena a = {0};
    tl_buf text = {0};
    tl_schema back, copy;
    tl_status status = tl_schema_write_json(ctx, &text, err);
    if (status == TL_NO_MEMORY) {
        (void)tl_fail_memory(err, 0); /* the message is the caller's work in this one */
    }
    status = status == TL_OK ? tl_schema_parse_json(tl_buf_bytes(&text), &a, &back, err) : status;
    if (status == TL_OK) {
        status = tl_schema_copy(&back, &a, &copy);
        status = status == TL_OK ? TL_OK : tl_fail_memory(err, 0);
    }
    tl_buf_free(&text);
    tl_arena_free(&a);
    return status;
}

static void failing_allocations_leave_nothing_behind(void **state) {
    dice d = dice_make(__func__);
    tl_arena a = {0};
    tl_schema s = random_schema(&d, &a, 1);
    every_allocation_fails_once(write_read_copy, &s);
    tl_arena_free(&a);
}

static void damaged_json_never_crashes(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 3000; i++) {
        tl_arena a = {0};
        tl_buf text = {0};
        tl_schema s = random_schema(&d, &a, 1), back;
        assert_int_equal(tl_schema_write_json(&s, &text, NULL), TL_OK);
        tl_bytes bad = damage(&d, tl_buf_bytes(&text));
        tl_status status = tl_schema_parse_json(bad, &a, &back, NULL);
        assert_true(status == TL_OK || status == TL_CORRUPT || status == TL_UNSUPPORTED);
        tl_free((void *)(uintptr_t)bad.data);
        tl_buf_free(&text);
        tl_arena_free(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(type_names_are_read_and_written),
        cmocka_unit_test(decimals_take_the_least_bytes_that_hold_their_digits),
        cmocka_unit_test(random_schemas_survive_json_and_copies),
        cmocka_unit_test(keys_that_are_not_known_are_kept),
        cmocka_unit_test(errors_name_the_column_and_the_type),
        cmocka_unit_test(deep_types_are_refused_and_not_followed),
        cmocka_unit_test(names_that_are_not_utf8_are_not_written),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(damaged_json_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
