/* Name mappings: which file column gets which field id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iceberg/name_mapping.h"

static const char *const columns[] = {"v", "id", "w", "value"};

static tl_status ids_of(const char *mapping, int32_t ids[4]) {
    tl_metadata m = {0};
    tl_error err = {{0}};
    if (mapping) {
        assert_int_equal(tl_metadata_set_property(&m, TL_NAME_MAPPING, mapping, &err), TL_OK);
    }
    tl_status status = tl_name_mapping_ids(&m, columns, 4, ids, &err);
    assert_int_equal(status == TL_OK, err.message[0] == 0);
    tl_metadata_free(&m);
    return status;
}

static void every_name_of_an_entry_gets_its_id(void **state) {
    (void)state;
    int32_t ids[4];
    assert_int_equal(ids_of("[{\"names\":[\"id\"],\"field-id\":1},{\"field-id\":4,\"names\":[\"value\",\"v\"]}]", ids),
                     TL_OK);
    assert_int_equal(ids[0], 4);
    assert_int_equal(ids[1], 1);
    assert_int_equal(ids[2], -1);
    assert_int_equal(ids[3], 4);
}

static void without_a_mapping_nothing_has_an_id(void **state) {
    (void)state;
    int32_t ids[4] = {7, 7, 7, 7};
    assert_int_equal(ids_of(NULL, ids), TL_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ids[i], -1);
    }
}

static void entries_without_id_or_names_map_nothing(void **state) {
    (void)state;
    int32_t ids[4];
    assert_int_equal(
        ids_of("[{\"names\":[\"v\"]},{\"field-id\":3},{\"names\":[],\"field-id\":2},{\"names\":[5],\"field-id\":2}]",
               ids),
        TL_OK);
    assert_int_equal(ids[0], -1);
    assert_int_equal(ids[1], -1);
}

static void what_is_no_mapping_is_an_error(void **state) {
    (void)state;
    static const char *const bad[] = {"",  "{}",   "[1]",   "[{\"names\":[\"v\"],\"field-id\":\"x\"}]",
                                      "[", "null", "[null]"};
    int32_t ids[4];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(ids_of(bad[i], ids), TL_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_of_an_entry_gets_its_id),
        cmocka_unit_test(without_a_mapping_nothing_has_an_id),
        cmocka_unit_test(entries_without_id_or_names_map_nothing),
        cmocka_unit_test(what_is_no_mapping_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
