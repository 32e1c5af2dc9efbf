/* The schema as Arrow sees it: every physical and logical type, every layout of lists and maps that was ever written.
 */
#include "parquet/testing_internal.h"

#include <string.h>

#include "base/mem.h"
#include "parquet/reader.h"
#include "parquet/thrift.h"

#define GROUP(n, children, rep, log)                                                                                   \
    { .name = (n), .n_children = (children), .repetition = (rep), .logical = (log), .field_id = -1 }
#define LEAF(n, ty, rep)                                                                                               \
    { .name = (n), .is_leaf = true, .type = (ty), .repetition = (rep), .field_id = -1 }
#define REQ TL_PQ_REQUIRED
#define OPT TL_PQ_OPTIONAL
#define REP TL_PQ_REPEATED

/* A file without rows. */
static tl_status open_schema(const tl_pq_schema_element *schema, int32_t n, tl_buf *file, tl_bytes *bytes,
                             tl_pq_reader **out, tl_error *told) {
    const tl_pq_file_meta meta = {.version = 1, .schema = (tl_pq_schema_element *)(uintptr_t)schema, .n_schema = n};
    uint8_t len[4];
    TL_OKAY(tl_buf_add_text(file, "PAR1"));
    TL_OKAY(tl_pq_write_file_meta(&meta, file));
    tl_store_u32(len, (uint32_t)file->len - 4);
    TL_OKAY(tl_buf_add(file, len, 4));
    TL_OKAY(tl_buf_add_text(file, "PAR1"));
    *bytes = tl_buf_bytes(file);
    return tl_pq_reader_open(tl_pq_source_bytes(bytes), NULL, out, told);
}

/* "name:format" with ! behind what cannot be null and children in parentheses. */
static void describe(const struct ArrowSchema *s, tl_buf *out) {
    TL_OKAY(tl_buf_printf(out, "%s:%s%s", s->name, s->format, s->flags & ARROW_FLAG_NULLABLE ? "" : "!"));
    for (int64_t i = 0; i < s->n_children; i++) {
        TL_OKAY(tl_buf_add_text(out, i ? " " : "("));
        describe(s->children[i], out);
    }
    if (s->n_children) {
        TL_OKAY(tl_buf_add_text(out, ")"));
    }
}

static void expect(const tl_pq_schema_element *schema, int32_t n, const char *want) {
    tl_buf file = {0}, text = {0};
    tl_bytes bytes;
    tl_pq_reader *r;
    struct ArrowSchema arrow;
    TL_OKAY(open_schema(schema, n, &file, &bytes, &r, &err));
    TL_OKAY(tl_pq_reader_schema(r, NULL, 0, &arrow, &err));
    for (int64_t i = 0; i < arrow.n_children; i++) {
        TL_OKAY(tl_buf_add_text(&text, i ? "; " : ""));
        describe(arrow.children[i], &text);
    }
    TL_OKAY(tl_buf_add_byte(&text, 0));
    assert_string_equal((const char *)text.data, want);
    arrow.release(&arrow);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
    tl_buf_free(&text);
}

#define EXPECT(want, ...)                                                                                              \
    do {                                                                                                               \
        const tl_pq_schema_element elements_[] = {__VA_ARGS__};                                                        \
        expect(elements_, (int32_t)TL_COUNT(elements_), want);                                                         \
    } while (0)

static void expect_leaf(tl_pq_schema_element leaf, const char *format) {
    char want[64];
    (void)snprintf(want, sizeof want, "x:%s!", format);
    leaf.name = "x";
    leaf.is_leaf = true;
    leaf.field_id = -1;
    const tl_pq_schema_element schema[] = {GROUP("schema", 1, REQ, 0), leaf};
    expect(schema, 2, want);
}

static void physical_types_without_annotation(void **state) {
    (void)state;
    const char *const formats[] = {"b", "i", "l", "tsn:", "f", "g", "z", "w:3"};
    for (int type = 0; type < 8; type++) {
        expect_leaf((tl_pq_schema_element){.type = (tl_pq_type)type, .type_length = 3}, formats[type]);
    }
}

static void logical_types(void **state) {
    (void)state;
#define IS(ty, log, ...) ((tl_pq_schema_element){.type = (ty), .logical = (log), __VA_ARGS__})
    expect_leaf(IS(TL_PQ_BYTE_ARRAY, TL_PQ_LOGICAL_STRING, .scale = 0), "u");
    expect_leaf(IS(TL_PQ_BYTE_ARRAY, TL_PQ_LOGICAL_JSON, .scale = 0), "u");
    expect_leaf(IS(TL_PQ_BYTE_ARRAY, TL_PQ_LOGICAL_ENUM, .scale = 0), "z");
    expect_leaf(IS(TL_PQ_BYTE_ARRAY, TL_PQ_LOGICAL_BSON, .scale = 0), "z");
    expect_leaf(IS(TL_PQ_FIXED, TL_PQ_LOGICAL_UUID, .type_length = 16), "w:16");
    expect_leaf(IS(TL_PQ_FIXED, TL_PQ_LOGICAL_FLOAT16, .type_length = 2), "e");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_DATE, .scale = 0), "tdD");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_TIME, .unit = TL_PQ_MILLIS), "ttm");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_TIME, .unit = TL_PQ_MICROS), "ttu");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_TIME, .unit = TL_PQ_NANOS), "ttn");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_TIMESTAMP, .unit = TL_PQ_MILLIS, .utc = true), "tsm:UTC");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_TIMESTAMP, .unit = TL_PQ_MICROS), "tsu:");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_TIMESTAMP, .unit = TL_PQ_NANOS, .utc = true), "tsn:UTC");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_INTEGER, .bit_width = 8, .is_signed = true), "c");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_INTEGER, .bit_width = 16), "S");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_INTEGER, .bit_width = 32), "I");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_INTEGER, .bit_width = 64), "L");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_DECIMAL, .precision = 9, .scale = 2), "d:9,2");
    expect_leaf(IS(TL_PQ_INT64, TL_PQ_LOGICAL_DECIMAL, .precision = 18, .scale = 18), "d:18,18");
    expect_leaf(IS(TL_PQ_FIXED, TL_PQ_LOGICAL_DECIMAL, .precision = 38, .type_length = 16), "d:38,0");
    expect_leaf(IS(TL_PQ_BYTE_ARRAY, TL_PQ_LOGICAL_DECIMAL, .precision = 76, .scale = 1), "d:76,1,256");
    expect_leaf(IS(TL_PQ_INT32, TL_PQ_LOGICAL_NULL, .scale = 0), "n");
    expect_leaf(IS(TL_PQ_DOUBLE, TL_PQ_LOGICAL_STRING, .scale = 0), "g"); /* an annotation that does not fit */
}

static void lists_of_three_levels(void **state) {
    (void)state;
    EXPECT("l:+l(element:i)", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           GROUP("list", 1, REP, 0), LEAF("element", TL_PQ_INT32, OPT));
    EXPECT("l:+l!(item:+l(element:i!))", GROUP("schema", 1, REQ, 0), GROUP("l", 1, REQ, TL_PQ_LOGICAL_LIST),
           GROUP("bag", 1, REP, 0), GROUP("item", 1, OPT, TL_PQ_LOGICAL_LIST), GROUP("list", 1, REP, 0),
           LEAF("element", TL_PQ_INT32, REQ));
}

static void lists_of_two_levels(void **state) {
    (void)state;
    /* the repeated field is the element: not a group, or several fields, or named array or <list>_tuple */
    EXPECT("l:+l(element:i!)", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           LEAF("element", TL_PQ_INT32, REP));
    EXPECT("l:+l(element:+s!(a:z! b:i))", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           GROUP("element", 2, REP, 0), LEAF("a", TL_PQ_BYTE_ARRAY, REQ), LEAF("b", TL_PQ_INT32, OPT));
    EXPECT("l:+l(array:+s!(a:i))", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           GROUP("array", 1, REP, 0), LEAF("a", TL_PQ_INT32, OPT));
    EXPECT("l:+l(l_tuple:+s!(a:i))", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           GROUP("l_tuple", 1, REP, 0), LEAF("a", TL_PQ_INT32, OPT));
    EXPECT("l:+l(a:i)", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST), GROUP("x_tuple", 1, REP, 0),
           LEAF("a", TL_PQ_INT32, OPT));
    EXPECT("l:+l(array:+l!(array:i!))", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           GROUP("array", 1, REP, TL_PQ_LOGICAL_LIST), LEAF("array", TL_PQ_INT32, REP));
    /* a repeated field whose only child repeats */
    EXPECT("l:+l(el:+s!(x:+l!(x:i!)))", GROUP("schema", 1, REQ, 0), GROUP("l", 1, OPT, TL_PQ_LOGICAL_LIST),
           GROUP("el", 1, REP, 0), LEAF("x", TL_PQ_INT32, REP));
}

static void repeated_fields_without_annotation(void **state) {
    (void)state;
    EXPECT("a:+l!(a:i!)", GROUP("schema", 1, REQ, 0), LEAF("a", TL_PQ_INT32, REP));
    EXPECT("s:+s(p:+l!(p:+s!(n:l! k:z)))", GROUP("schema", 1, REQ, 0), GROUP("s", 1, OPT, 0), GROUP("p", 2, REP, 0),
           LEAF("n", TL_PQ_INT64, REQ), LEAF("k", TL_PQ_BYTE_ARRAY, OPT));
}

static void maps(void **state) {
    (void)state;
    EXPECT("m:+m(key_value:+s!(key:z! value:i))", GROUP("schema", 1, REQ, 0), GROUP("m", 1, OPT, TL_PQ_LOGICAL_MAP),
           GROUP("key_value", 2, REP, 0), LEAF("key", TL_PQ_BYTE_ARRAY, REQ), LEAF("value", TL_PQ_INT32, OPT));
    /* the annotation of old files, and a key that claims to be optional */
    EXPECT("m:+m!(map:+s!(key:z! value:i!))", GROUP("schema", 1, REQ, 0),
           GROUP("m", 1, REQ, TL_PQ_LOGICAL_MAP_KEY_VALUE), GROUP("map", 2, REP, TL_PQ_LOGICAL_MAP_KEY_VALUE),
           LEAF("key", TL_PQ_BYTE_ARRAY, OPT), LEAF("value", TL_PQ_INT32, REQ));
    /* keys alone: a set, which Arrow has as a list */
    EXPECT("m:+l(key:z!)", GROUP("schema", 1, REQ, 0), GROUP("m", 1, OPT, TL_PQ_LOGICAL_MAP),
           GROUP("key_value", 1, REP, 0), LEAF("key", TL_PQ_BYTE_ARRAY, REQ));
}

static void refuse(const tl_pq_schema_element *schema, int32_t n, tl_status want, const char *text) {
    tl_buf file = {0};
    tl_bytes bytes;
    tl_pq_reader *r;
    tl_error told = {{0}};
    assert_int_equal(open_schema(schema, n, &file, &bytes, &r, &told), want);
    assert_non_null(strstr(told.message, text));
    tl_buf_free(&file);
}

static void what_arrow_cannot_say_is_refused_by_name(void **state) {
    (void)state;
    const tl_pq_schema_element two_children[] = {GROUP("schema", 1, REQ, 0), GROUP("odd", 2, OPT, TL_PQ_LOGICAL_LIST),
                                                 LEAF("a", TL_PQ_INT32, REP), LEAF("b", TL_PQ_INT32, REP)};
    refuse(two_children, 4, TL_UNSUPPORTED, "\"odd\"");
    const tl_pq_schema_element not_repeated[] = {GROUP("schema", 1, REQ, 0), GROUP("odd", 1, OPT, TL_PQ_LOGICAL_LIST),
                                                 LEAF("a", TL_PQ_INT32, OPT)};
    refuse(not_repeated, 3, TL_UNSUPPORTED, "\"odd\"");
    const tl_pq_schema_element no_group[] = {GROUP("schema", 1, REQ, 0), GROUP("odd", 1, OPT, TL_PQ_LOGICAL_MAP),
                                             LEAF("a", TL_PQ_INT32, REP)};
    refuse(no_group, 3, TL_UNSUPPORTED, "\"odd\"");
    tl_pq_schema_element decimal[] = {GROUP("schema", 1, REQ, 0), LEAF("odd", TL_PQ_INT32, OPT)};
    decimal[1].logical = TL_PQ_LOGICAL_DECIMAL;
    decimal[1].precision = 77;
    refuse(decimal, 2, TL_UNSUPPORTED, "decimal(77,0)");
    decimal[1].precision = 5;
    decimal[1].scale = -1;
    refuse(decimal, 2, TL_UNSUPPORTED, "decimal(5,-1)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physical_types_without_annotation),
        cmocka_unit_test(logical_types),
        cmocka_unit_test(lists_of_three_levels),
        cmocka_unit_test(lists_of_two_levels),
        cmocka_unit_test(repeated_fields_without_annotation),
        cmocka_unit_test(maps),
        cmocka_unit_test(what_arrow_cannot_say_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
