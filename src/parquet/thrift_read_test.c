/* The thrift reader by hostile bytes: cut, nested, announced and never sent. Honest bytes are in file_writer_test.c. */
#include "parquet/testing_internal.h"

#include <string.h>

#include "base/mem.h"
#include "parquet/thrift.h"

static tl_bytes exact(const void *data, size_t len) {
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    if (len) {
        memcpy(copy, data, len);
    }
    return (tl_bytes){copy, len};
}

static void drop(tl_bytes b) {
    free((void *)(uintptr_t)b.data);
}

/* A footer of one column and one row group. */
static tl_buf small_footer(void) {
    static const char *path[] = {"value"};
    static tl_pq_encoding encodings[] = {TL_PQ_PLAIN, TL_PQ_RLE};
    tl_pq_schema_element schema[] = {
        {.name = "schema", .n_children = 1, .field_id = -1},
        {.name = "value", .is_leaf = true, .type = TL_PQ_INT64, .repetition = TL_PQ_OPTIONAL, .field_id = 3}};
    tl_pq_column_chunk chunk = {.has_meta = true,
                                .type = TL_PQ_INT64,
                                .codec = TL_PQ_ZSTD,
                                .encodings = encodings,
                                .n_encodings = 2,
                                .path = path,
                                .n_path = 1,
                                .n_values = 9,
                                .uncompressed_size = 80,
                                .compressed_size = 70,
                                .data_page_offset = 4,
                                .stats = {.has_null_count = true,
                                          .null_count = 2,
                                          .min_value = tl_bytes_of("aaaaaaaa"),
                                          .max_value = tl_bytes_of("bbbbbbbb")}};
    tl_pq_row_group group = {.columns = &chunk, .n_columns = 1, .n_rows = 9, .ordinal = -1};
    tl_pq_key_value pair = {"key", "value"};
    const tl_pq_file_meta meta = {.version = 2,
                                  .schema = schema,
                                  .n_schema = 2,
                                  .n_rows = 9,
                                  .row_groups = &group,
                                  .n_row_groups = 1,
                                  .metadata = &pair,
                                  .n_metadata = 1,
                                  .created_by = "test"};
    tl_buf out = {0};
    TL_OKAY(tl_pq_write_file_meta(&meta, &out));
    return out;
}

static void a_footer_cut_anywhere_is_refused(void **state) {
    (void)state;
    tl_buf footer = small_footer();
    tl_pq_file_meta meta;
    TL_OKAY(tl_pq_read_file_meta(tl_buf_bytes(&footer), &meta, &err));
    assert_int_equal(meta.row_groups[0].columns[0].stats.null_count, 2);
    assert_string_equal(meta.row_groups[0].columns[0].path[0], "value");
    tl_pq_file_meta_free(&meta);
    for (size_t n = 0; n < footer.len; n++) {
        tl_bytes in = exact(footer.data, n);
        tl_error err = {{0}};
        assert_int_equal(tl_pq_read_file_meta(in, &meta, &err), TL_CORRUPT);
        assert_true(strncmp(err.message, "footer: ", 8) == 0);
        drop(in);
    }
    tl_buf_free(&footer);
}

static void every_failing_allocation_of_a_footer_is_survived(void **state) {
    (void)state;
    tl_buf footer = small_footer();
    tl_pq_file_meta meta;
    tl_status status = TL_NO_MEMORY;
    for (uint64_t n = 1; status != TL_OK; n++) {
        (void)tl_mem_fail_at(n);
        status = tl_pq_read_file_meta(tl_buf_bytes(&footer), &meta, NULL);
        (void)tl_mem_fail_at(0);
        assert_true(status == TL_OK || status == TL_NO_MEMORY);
        assert_true(n < 100);
    }
    tl_pq_file_meta_free(&meta);
    tl_buf_free(&footer);
}

static void flipped_bytes_never_take_more_than_their_share_of_memory(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    tl_buf footer = small_footer();
    for (int i = 0; i < 20000; i++) {
        tl_bytes in = exact(footer.data, footer.len);
        uint8_t *bytes = (uint8_t *)(uintptr_t)in.data;
        for (uint64_t k = 0; k <= tl_dice_below(&dice, 4); k++) {
            bytes[tl_dice_below(&dice, in.len)] = (uint8_t)tl_dice_u64(&dice);
        }
        tl_pq_file_meta meta;
        tl_status status = tl_pq_read_file_meta(in, &meta, NULL);
        assert_true(status == TL_OK || status == TL_CORRUPT || status == TL_NO_MEMORY);
        if (status == TL_OK) {
            assert_true(meta.arena.total <= in.len * 24 + (1u << 20));
            tl_pq_file_meta_free(&meta);
        }
        drop(in);
    }
    tl_buf_free(&footer);
}

static void long_lists_that_are_not_there_are_refused_before_memory_is_taken(void **state) {
    (void)state;
    /* field 2, a list of 2^28 structs */
    const uint8_t bytes[] = {0x29, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0, 0, 0, 0};
    tl_pq_file_meta meta;
    (void)tl_mem_fail_at(UINT64_MAX);
    assert_int_equal(tl_pq_read_file_meta((tl_bytes){bytes, sizeof bytes}, &meta, NULL), TL_CORRUPT);
    assert_int_equal(tl_mem_fail_at(0), 0);
}

static void unknown_fields_are_skipped_and_deep_ones_refused(void **state) {
    (void)state;
    tl_buf footer = small_footer();
    tl_pq_file_meta meta;
    for (int depth = 1; depth < 200; depth += depth < 40 ? 1 : 50) {
        tl_buf in = {0};
        /* an unknown field (long form, number 50) of structs in structs, behind the true ones */
        TL_OKAY(tl_buf_add(&in, footer.data, footer.len - 1));
        TL_OKAY(tl_buf_add(&in, (const uint8_t[]){0x0c, 100}, 2));
        for (int i = 1; i < depth; i++) {
            TL_OKAY(tl_buf_add_byte(&in, 0x1c));
        }
        for (int i = 0; i <= depth; i++) {
            TL_OKAY(tl_buf_add_byte(&in, 0));
        }
        tl_status status = tl_pq_read_file_meta(tl_buf_bytes(&in), &meta, NULL);
        assert_int_equal(status, depth <= 32 ? TL_OK : TL_CORRUPT);
        if (status == TL_OK) {
            assert_int_equal(meta.n_rows, 9);
            tl_pq_file_meta_free(&meta);
        }
        tl_buf_free(&in);
    }
    tl_buf_free(&footer);
}

static void a_list_given_twice_does_not_keep_its_old_count(void **state) {
    (void)state;
    tl_buf in = small_footer();
    tl_pq_file_meta meta;
    in.len--;
    /* schema again (long form, id 2), as a number, then the end */
    TL_OKAY(tl_buf_add(&in, (const uint8_t[]){0x05, 4, 8, 0}, 4));
    assert_int_equal(tl_pq_read_file_meta(tl_buf_bytes(&in), &meta, NULL), TL_CORRUPT);
    tl_buf_free(&in);
}

static void page_headers_without_their_fields_are_refused(void **state) {
    (void)state;
    const uint8_t no_sub[] = {0x15, 0, 0x15, 2, 0x15, 2, 0};           /* a data page without its header */
    const uint8_t negative[] = {0x15, 2, 0x15, 1, 0x15, 2, 0};         /* an index page of -1 bytes */
    const uint8_t good[] = {0x15, 2, 0x15, 2, 0x15, 2, 0, 0xff, 0xff}; /* an index page, and what follows it */
    const uint8_t too_large[] = {0x15, 2, 0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0x15, 2, 0};
    tl_pq_page_header h;
    size_t used;
    assert_int_equal(tl_pq_read_page_header((tl_bytes){no_sub, sizeof no_sub}, &h, &used, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_read_page_header((tl_bytes){negative, sizeof negative}, &h, &used, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_read_page_header((tl_bytes){too_large, sizeof too_large}, &h, &used, NULL), TL_CORRUPT);
    TL_OKAY(tl_pq_read_page_header((tl_bytes){good, sizeof good}, &h, &used, &err));
    assert_int_equal(used, 7);
    assert_int_equal(h.type, TL_PQ_INDEX_PAGE);
    for (size_t n = 0; n < 7; n++) {
        tl_bytes in = exact(good, n);
        assert_int_equal(tl_pq_read_page_header(in, &h, &used, NULL), TL_CORRUPT);
        drop(in);
    }
}

/* ---- the schema tree ---- */

static tl_status leaves_of(const tl_pq_schema_element *schema, int32_t n) {
    tl_pq_leaf *leaves;
    int32_t n_leaves;
    tl_status status = tl_pq_schema_leaves(schema, n, &leaves, &n_leaves, NULL);
    tl_free(leaves);
    return status;
}

static void trees_that_do_not_add_up_are_refused(void **state) {
    (void)state;
    const tl_pq_schema_element root = {.name = "r", .n_children = 2}, leaf = {.name = "l", .is_leaf = true};
    const tl_pq_schema_element group = {.name = "g", .n_children = 1}, many = {.name = "m", .n_children = INT32_MAX};
    const tl_pq_schema_element empty = {.name = "e"}, both = {.name = "b", .is_leaf = true, .n_children = 1};
    const tl_pq_schema_element good[] = {root, group, leaf, leaf};
    TL_OKAY(leaves_of(good, 4));
    assert_int_equal(leaves_of(good, 3), TL_CORRUPT);
    assert_int_equal(leaves_of(good + 1, 1), TL_CORRUPT);
    assert_int_equal(leaves_of(good + 1, 3), TL_CORRUPT);
    assert_int_equal(leaves_of(&leaf, 1), TL_CORRUPT);
    assert_int_equal(leaves_of((const tl_pq_schema_element[]){many, leaf}, 2), TL_CORRUPT);
    assert_int_equal(leaves_of((const tl_pq_schema_element[]){root, empty, leaf}, 3), TL_CORRUPT);
    assert_int_equal(leaves_of((const tl_pq_schema_element[]){root, both, leaf}, 3), TL_CORRUPT);
    assert_int_equal(leaves_of(NULL, 0), TL_CORRUPT);
}

static void trees_deeper_than_the_limit_are_refused(void **state) {
    (void)state;
    tl_pq_schema_element schema[80];
    for (int32_t depth = 1; depth < 79; depth++) {
        for (int32_t i = 0; i < depth; i++) {
            schema[i] = (tl_pq_schema_element){.name = "g", .n_children = 1, .repetition = i ? TL_PQ_REPEATED : 0};
        }
        schema[depth] = (tl_pq_schema_element){.name = "l", .is_leaf = true, .repetition = TL_PQ_OPTIONAL};
        assert_int_equal(leaves_of(schema, depth + 1), depth <= 64 ? TL_OK : TL_UNSUPPORTED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_footer_cut_anywhere_is_refused),
        cmocka_unit_test(every_failing_allocation_of_a_footer_is_survived),
        cmocka_unit_test(flipped_bytes_never_take_more_than_their_share_of_memory),
        cmocka_unit_test(long_lists_that_are_not_there_are_refused_before_memory_is_taken),
        cmocka_unit_test(unknown_fields_are_skipped_and_deep_ones_refused),
        cmocka_unit_test(a_list_given_twice_does_not_keep_its_old_count),
        cmocka_unit_test(page_headers_without_their_fields_are_refused),
        cmocka_unit_test(trees_that_do_not_add_up_are_refused),
        cmocka_unit_test(trees_deeper_than_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
