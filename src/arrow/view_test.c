/* Tests of types and views: arrays that contradict themselves are refused, whole ones are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arrow/testing.h"
#include "arrow/view.h"

static tl_error err;

/* ---- whole arrays, one of each kind ---- */

typedef struct sample {
    struct ArrowSchema schema;
    struct ArrowArray array;
} sample;

static const int32_t offsets[] = {0, 2, 2, 5};
static const int64_t wide_offsets[] = {0, 2, 2, 5};
static const int32_t ints[] = {1, 2, 3, 4, 5};

static void child(sample *s, int64_t i, const char *name) {
    test_fixed(s->schema.children[i], s->array.children[i], name, "i", ints, 4, 5);
}

static void make(sample *s, const char *format) {
    memset(s, 0, sizeof *s);
    bool list = format[0] == '+' && format[1] != 's' && format[1] != 'r';
    int64_t children = list || strcmp(format, "+s") == 0 ? 1 : strcmp(format, "+r") == 0 ? 2 : 0;
    test_schema(&s->schema, format, "x", children);
    int64_t view[6] = {0};
    int32_t sizes[3] = {2, 0, 3};
    int64_t wide_sizes[3] = {2, 0, 3};
    if (strcmp(format, "u") == 0 || strcmp(format, "z") == 0) {
        test_array(&s->array, 3, 3, 0);
        test_fill(&s->array, 1, offsets, sizeof offsets);
        test_fill(&s->array, 2, "abcde", 5);
    } else if (strcmp(format, "U") == 0) {
        test_array(&s->array, 3, 3, 0);
        test_fill(&s->array, 1, wide_offsets, sizeof wide_offsets);
        test_fill(&s->array, 2, "abcde", 5);
    } else if (strcmp(format, "vu") == 0) {
        static const char text[] = "longer than twelve bytes";
        int64_t size = (int64_t)sizeof text - 1;
        int32_t len = (int32_t)size;
        memcpy(view, &len, 4); /* row 0: buffer 0, offset 0; rows 1 and 2 empty */
        test_array(&s->array, 3, 4, 0);
        test_fill(&s->array, 1, view, 48);
        test_fill(&s->array, 2, text, (size_t)size);
        test_fill(&s->array, 3, &size, 8);
    } else if (strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0) {
        test_array(&s->array, 3, 2, 1);
        bool large = format[1] == 'L';
        test_fill(&s->array, 1, large ? (const void *)wide_offsets : offsets,
                  large ? sizeof wide_offsets : sizeof offsets);
        child(s, 0, "item");
    } else if (strcmp(format, "+vl") == 0 || strcmp(format, "+vL") == 0) {
        test_array(&s->array, 3, 3, 1);
        bool large = format[2] == 'L';
        test_fill(&s->array, 1, large ? (const void *)wide_offsets : offsets, large ? 24 : 12);
        test_fill(&s->array, 2, large ? (const void *)wide_sizes : sizes, large ? 24 : 12);
        child(s, 0, "item");
    } else if (strcmp(format, "+w:1") == 0) {
        test_array(&s->array, 3, 1, 1);
        child(s, 0, "item");
    } else if (strcmp(format, "+s") == 0) {
        test_array(&s->array, 3, 1, 1);
        child(s, 0, "a");
    } else if (strcmp(format, "+r") == 0) {
        test_array(&s->array, 5, 0, 2);
        static const int32_t ends[] = {2, 3, 5};
        test_fixed(s->schema.children[0], s->array.children[0], "run_ends", "i", ends, 4, 3);
        child(s, 1, "values");
    } else if (strcmp(format, "c") == 0) { /* a dictionary */
        static const int8_t indices[] = {4, 0, 2};
        test_array(&s->array, 3, 2, 0);
        test_fill(&s->array, 1, indices, 3);
        s->schema.dictionary = test_memory(sizeof(struct ArrowSchema));
        s->array.dictionary = test_memory(sizeof(struct ArrowArray));
        test_fixed(s->schema.dictionary, s->array.dictionary, "", "i", ints, 4, 5);
    } else {
        test_array(&s->array, 3, 2, 0);
        test_fill(&s->array, 1, ints, 12);
    }
}

static tl_status open_sample(sample *s, tl_bits live) {
    tl_arena arena = {0};
    tl_arrow_type type;
    tl_view v;
    tl_status status = tl_arrow_type_import(&s->schema, &arena, &type, &err);
    if (status == TL_OK) {
        status = tl_view_open(&type, &s->array, 0, s->array.length, live, &v, &err);
    }
    tl_arena_free(&arena);
    return status;
}

static void done(sample *s) {
    s->schema.release(&s->schema);
    if (s->array.release) {
        test_array_free(&s->array);
    }
}

static const char *const kinds[] = {"i", "b", "u", "U", "z", "vu", "+l", "+L", "+vl", "+vL", "+w:1", "+s", "+r", "c"};

static void whole_arrays_are_opened(void **state) {
    for (size_t i = 0; i < TL_COUNT(kinds); i++) {
        sample s;
        make(&s, kinds[i]);
        if (open_sample(&s, (tl_bits){0}) != TL_OK) {
            fail_msg("%s: %s", kinds[i], err.message);
        }
        done(&s);
    }
}

/* ---- what may be wrong ---- */

static void i32(sample *s, int64_t buffer, int64_t at, int64_t value) {
    ((int32_t *)(uintptr_t)s->array.buffers[buffer])[at] = (int32_t)value;
}
static void i64(sample *s, int64_t buffer, int64_t at, int64_t value) {
    ((int64_t *)(uintptr_t)s->array.buffers[buffer])[at] = value;
}
static void drop(sample *s, int64_t buffer) {
    free((void *)(uintptr_t)s->array.buffers[buffer]);
    s->array.buffers[buffer] = NULL;
}

static void length_negative(sample *s) {
    s->array.length = -1;
}
static void offset_negative(sample *s) {
    s->array.offset = -1;
}
static void offset_huge(sample *s) {
    s->array.offset = INT64_MAX - 1;
}
static void length_huge(sample *s) {
    s->array.length = INT64_MAX;
}
static void nulls_below(sample *s) {
    s->array.null_count = -2;
}
static void nulls_above(sample *s) {
    s->array.null_count = s->array.length + 1;
}
static void nulls_without_bitmap(sample *s) {
    s->array.null_count = 1;
}
static void nulls_denied(sample *s) {
    test_validity(&s->array, "x.x");
    s->array.null_count = 0;
}
static void too_few_buffers(sample *s) {
    s->array.n_buffers--;
}
static void too_many_buffers(sample *s) {
    s->array.n_buffers++;
}
static void view_without_sizes(sample *s) {
    s->array.n_buffers = 2;
}
static void negative_buffers(sample *s) {
    s->array.n_buffers = -1;
}
static void no_values(sample *s) {
    drop(s, 1);
}
static void no_data(sample *s) {
    drop(s, 2);
}
static void backwards(sample *s) {
    i32(s, 1, 2, 1);
}
static void wide_backwards(sample *s) {
    i64(s, 1, 2, 1);
}
static void starts_negative(sample *s) {
    i32(s, 1, 0, -1);
}
static void beyond_child(sample *s) {
    i32(s, 1, 3, 6);
}
static void wide_beyond_child(sample *s) {
    i64(s, 1, 3, 6);
}
static void view_negative(sample *s) {
    i32(s, 1, 0, -5);
}
static void view_buffer(sample *s) {
    i32(s, 1, 2, 1);
}
static void view_buffer_negative(sample *s) {
    i32(s, 1, 2, -1);
}
static void view_offset(sample *s) {
    i32(s, 1, 3, 1);
}
static void view_offset_negative(sample *s) {
    i32(s, 1, 3, -1);
}
static void view_sizes_missing(sample *s) {
    drop(s, 3);
}
static void view_size_negative(sample *s) {
    i64(s, 3, 0, -1);
}
static void list_view_beyond(sample *s) {
    i32(s, 2, 2, 4);
}
static void list_view_negative(sample *s) {
    i32(s, 2, 0, -1);
}
static void list_view_offset_negative(sample *s) {
    i32(s, 1, 0, -1);
}
static void wide_list_view_wraps(sample *s) {
    i64(s, 2, 2, INT64_MAX);
}
static void child_short(sample *s) {
    s->array.children[0]->length = 2;
}
static void child_negative(sample *s) {
    s->array.children[0]->length = -1;
}
static void child_missing(sample *s) {
    test_array_free(s->array.children[0]);
}
static void child_count(sample *s) {
    s->array.n_children = 0;
}
static void index_beyond(sample *s) {
    ((int8_t *)(uintptr_t)s->array.buffers[1])[1] = 5;
}
static void index_negative(sample *s) {
    ((int8_t *)(uintptr_t)s->array.buffers[1])[1] = -1;
}
static void dictionary_missing(sample *s) {
    test_array_free(s->array.dictionary);
    free(s->array.dictionary);
    s->array.dictionary = NULL;
}
static void runs_short(sample *s) {
    s->array.length = 6;
}
static void runs_backwards(sample *s) {
    ((int32_t *)(uintptr_t)s->array.children[0]->buffers[1])[1] = 2;
}
static void runs_zero(sample *s) {
    ((int32_t *)(uintptr_t)s->array.children[0]->buffers[1])[0] = 0;
}
static void runs_null(sample *s) {
    s->array.children[0]->null_count = 1;
}
static void runs_without_values(sample *s) {
    s->array.children[1]->length = 2;
}
static void runs_many(sample *s) {
    s->array.children[0]->offset = INT64_MAX;
}

static const struct {
    const char *kinds;
    void (*spoil)(sample *);
    const char *message;
} faults[] = {
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", length_negative, "length or offset"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", length_huge, "length or offset"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", offset_negative, "length or offset"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", offset_huge, "length or offset"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", nulls_below, "null count"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", nulls_above, "null count"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s c", nulls_without_bitmap, "no validity bitmap"},
    {"+r", nulls_without_bitmap, "without validity"},
    {"i u U z vu +l +L +vl +vL +w:1 +s c", nulls_denied, "null count is 0"},
    {"i b u U z +l +L +vl +vL +w:1 +s c", too_few_buffers, "buffers"},
    {"vu", view_without_sizes, "buffers"},
    {"i b u U z +l +L +vl +vL +w:1 +s +r c", too_many_buffers, "buffers"},
    {"i b u U z vu +l +L +vl +vL +w:1 +s +r c", negative_buffers, "buffers"},
    {"i b c", no_values, "it has no"},
    {"u U z +l +L +vl +vL", no_values, "it has no offsets"},
    {"vu", no_values, "it has no views"},
    {"u U z", no_data, "no buffer for it"},
    {"vu", no_data, "buffer that is not there"},
    {"u z +l", backwards, "backwards"},
    {"U +L", wide_backwards, "backwards"},
    {"u z +l", starts_negative, "backwards"},
    {"+l", beyond_child, "beyond the values"},
    {"+L", wide_beyond_child, "beyond the values"},
    {"vu", view_negative, "negative length"},
    {"vu", view_buffer, "not there"},
    {"vu", view_buffer_negative, "not there"},
    {"vu", view_offset, "beyond its buffer"},
    {"vu", view_offset_negative, "beyond its buffer"},
    {"vu", view_sizes_missing, "no sizes"},
    {"vu", view_size_negative, "beyond its buffer"},
    {"+vl", list_view_beyond, "beyond the values"},
    {"+vl", list_view_negative, "beyond the values"},
    {"+vl", list_view_offset_negative, "beyond the values"},
    {"+vL", wide_list_view_wraps, "beyond the values"},
    {"+l +L", child_short, "beyond the values"},
    {"+w:1 +s", child_short, "fewer rows"},
    {"+l +L +vl +vL +w:1 +s +r", child_negative, "child"},
    {"+l +L +vl +vL +w:1 +s +r", child_missing, "child"},
    {"+l +L +vl +vL +w:1 +s +r", child_count, "number of children"},
    {"c", index_beyond, "index is out of range"},
    {"c", index_negative, "index is out of range"},
    {"c", dictionary_missing, "dictionary is missing"},
    {"+r", runs_short, "end before"},
    {"+r", runs_backwards, "do not go forward"},
    {"+r", runs_zero, "do not go forward"},
    {"+r", runs_null, "run ends are missing or null"},
    {"+r", runs_without_values, "more runs than values"},
    {"+r", runs_many, "child"},
};

static void arrays_that_contradict_themselves_are_refused(void **state) {
    for (size_t i = 0; i < TL_COUNT(faults); i++) {
        char list[128];
        snprintf(list, sizeof list, "%s", faults[i].kinds);
        for (char *kind = strtok(list, " "); kind; kind = strtok(NULL, " ")) {
            sample s;
            make(&s, kind);
            int64_t n_children = s.array.n_children;
            faults[i].spoil(&s);
            err.message[0] = '\0';
            tl_status status = open_sample(&s, (tl_bits){0});
            if (status != TL_INVALID || !strstr(err.message, faults[i].message)) {
                fail_msg("fault %zu of %s: status %d, \"%s\", wanted \"%s\"", i, kind, (int)status, err.message,
                         faults[i].message);
            }
            s.array.n_children = n_children;
            done(&s);
        }
    }
}

static void released_arrays_are_refused(void **state) {
    sample s;
    make(&s, "i");
    test_array_free(&s.array);
    assert_int_equal(open_sample(&s, (tl_bits){0}), TL_INVALID);
    done(&s);
}

static void rows_that_do_not_matter_may_hold_anything(void **state) {
    /* Row 1 is null, or hidden by its parent: its index, view or list may be rubbish. */
    static const struct {
        const char *kind;
        void (*spoil)(sample *);
    } hidden[] = {{"c", index_beyond}};
    for (size_t i = 0; i < TL_COUNT(hidden); i++) {
        for (int by_parent = 0; by_parent < 2; by_parent++) {
            sample s;
            make(&s, hidden[i].kind);
            hidden[i].spoil(&s);
            uint8_t live = 5;
            if (!by_parent) {
                test_validity(&s.array, "x.x");
            }
            assert_int_equal(open_sample(&s, by_parent ? (tl_bits){&live, 0} : (tl_bits){0}), TL_OK);
            done(&s);
        }
    }
}

static void empty_arrays_need_no_buffers(void **state) {
    for (size_t i = 0; i < TL_COUNT(kinds); i++) {
        sample s;
        make(&s, kinds[i]);
        s.array.length = 0;
        for (int64_t b = 0; b < s.array.n_buffers; b++) {
            if (strcmp(kinds[i], "vu") != 0 || b < 2) {
                drop(&s, b);
            }
        }
        if (open_sample(&s, (tl_bits){0}) != TL_OK) {
            fail_msg("%s: %s", kinds[i], err.message);
        }
        done(&s);
    }
}

/* ---- schemas ---- */

static tl_status import(const char *format, tl_arrow_type *out, tl_arena *arena) {
    struct ArrowSchema s;
    test_schema(&s, format, "x", 0);
    tl_status status = tl_arrow_type_import(&s, arena, out, &err);
    s.release(&s);
    return status;
}

static void formats_are_read_and_printed(void **state) {
    static const struct {
        const char *format, *printed;
    } good[] = {{"n", "null"},
                {"b", "bool"},
                {"C", "uint8"},
                {"e", "float16"},
                {"d:10,2", "decimal128(10, 2)"},
                {"d:9,-2,32", "decimal32(9, -2)"},
                {"d:76,76,256", "decimal256(76, 76)"},
                {"tdD", "date32"},
                {"ttn", "time64[ns]"},
                {"tss:", "timestamp[s]"},
                {"tsu:UTC", "timestamp[us, UTC]"},
                {"tsn:Europe/Berlin", "timestamp[ns, Europe/Berlin]"},
                {"tDm", "duration[ms]"},
                {"tin", "interval"},
                {"vu", "string_view"},
                {"w:0", "fixed_size_binary[0]"},
                {"w:16", "fixed_size_binary[16]"},
                {"+us:0,1", "union"}};
    static const char *const bad[] = {
        "",        "x",     "d:",   "d:10", "d:0,0",         "d:39,2", "d:10,2,7", "d:10,2,",
        "d:10,99", "w:",    "w:-1", "w:1x", "w:99999999999", "ts",     "tsx:",     "tsu",
        "tsuUTC",  "+w:-1", "ii",   "+q",   "d:1 ,2"};
    char text[64];
    tl_arrow_type t;
    for (size_t i = 0; i < TL_COUNT(good); i++) {
        tl_arena arena = {0};
        if (import(good[i].format, &t, &arena) != TL_OK) {
            fail_msg("%s: %s", good[i].format, err.message);
        }
        tl_arrow_type_print(&t, text, sizeof text);
        assert_string_equal(text, good[i].printed);
        tl_arena_free(&arena);
    }
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        tl_arena arena = {0};
        if (import(bad[i], &t, &arena) != TL_INVALID) {
            fail_msg("format \"%s\" was taken", bad[i]);
        }
        tl_arena_free(&arena);
    }
}

/* `depth` lists around an int. */
static void deep(struct ArrowSchema *s, int depth) {
    if (depth == 0) {
        test_schema(s, "i", "leaf", 0);
        return;
    }
    test_schema(s, "+l", "item", 1);
    deep(s->children[0], depth - 1);
}

static void schemas_nested_too_deep_are_refused(void **state) {
    for (int over = 0; over < 2; over++) {
        struct ArrowSchema s;
        tl_arena arena = {0};
        tl_arrow_type t;
        deep(&s, TL_ARROW_MAX_DEPTH + over);
        assert_int_equal(tl_arrow_type_import(&s, &arena, &t, &err), over ? TL_INVALID : TL_OK);
        char text[32];
        if (!over) {
            tl_arrow_type_print(&t, text, sizeof text);
            assert_string_equal(text, "list<list<list<list<list<list<l");
        }
        tl_arena_free(&arena);
        s.release(&s);
    }
}

static void schemas_with_wrong_children_are_refused(void **state) {
    static const struct {
        const char *format;
        int64_t children;
    } cases[] = {{"i", 1}, {"+l", 0}, {"+l", 2}, {"+m", 0}, {"+m", 1}, {"+r", 1}, {"+r", 2}, {"u", 1}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        struct ArrowSchema s;
        tl_arena arena = {0};
        tl_arrow_type t;
        test_schema(&s, cases[i].format, "x", cases[i].children);
        for (int64_t k = 0; k < cases[i].children; k++) {
            test_schema(s.children[k], "g", "c", 0); /* a double is neither map entries nor run ends */
        }
        if (tl_arrow_type_import(&s, &arena, &t, &err) != TL_INVALID) {
            fail_msg("%s with %lld children was taken", cases[i].format, (long long)cases[i].children);
        }
        tl_arena_free(&arena);
        s.release(&s);
    }
    struct ArrowSchema s;
    tl_arena arena = {0};
    tl_arrow_type t;
    test_schema(&s, "+s", "x", 1);
    assert_int_equal(tl_arrow_type_import(&s, &arena, &t, &err), TL_INVALID); /* a child never filled in */
    s.n_children = -5;
    assert_int_equal(tl_arrow_type_import(&s, &arena, &t, &err), TL_INVALID);
    s.n_children = INT64_MAX;
    assert_int_equal(tl_arrow_type_import(&s, &arena, &t, &err), TL_INVALID);
    s.n_children = 1;
    tl_arena_free(&arena);
    s.release(&s);
}

static void bits_are_combined_at_any_offset(void **state) {
    uint64_t dice = 12345;
    for (int round = 0; round < 3000; round++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        int64_t n = 1 + (int64_t)(dice >> 33) % 70, ao = (int64_t)(dice >> 20) % 17, bo = (int64_t)(dice >> 10) % 17;
        uint8_t *a = test_memory((size_t)(ao + n + 7) / 8), *b = test_memory((size_t)(bo + n + 7) / 8);
        for (int64_t i = 0; i < (ao + n + 7) / 8; i++) {
            a[i] = (uint8_t)((dice >> 40) + (uint64_t)i * 77);
        }
        for (int64_t i = 0; i < (bo + n + 7) / 8; i++) {
            b[i] = (uint8_t)((dice >> 48) + (uint64_t)i * 41);
        }
        uint8_t out[16];
        tl_bits_and((tl_bits){a, ao}, (tl_bits){b, bo}, n, out);
        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(tl_bit(out, i), tl_bit(a, ao + i) && tl_bit(b, bo + i));
        }
        for (int64_t i = n; i < (n + 7) / 8 * 8; i++) {
            assert_int_equal(tl_bit(out, i), 0);
        }
        free(a);
        free(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_arrays_are_opened),
        cmocka_unit_test(arrays_that_contradict_themselves_are_refused),
        cmocka_unit_test(released_arrays_are_refused),
        cmocka_unit_test(rows_that_do_not_matter_may_hold_anything),
        cmocka_unit_test(empty_arrays_need_no_buffers),
        cmocka_unit_test(formats_are_read_and_printed),
        cmocka_unit_test(schemas_nested_too_deep_are_refused),
        cmocka_unit_test(schemas_with_wrong_children_are_refused),
        cmocka_unit_test(bits_are_combined_at_any_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
