/* Delete files: what is written is read back, position by position; what a Puffin file says of its blobs is so. */
#include "iceberg/deletes.h"

#include "base/mem.h"
#include "iceberg/testing_internal.h"
#include "parquet/reader.h"

#define PATH "file:///lake/default/r/data/ts_day=2026-01-01/0195-\xc3\xa4.parquet"

/* Sets of rows: none but one, the first and last, whole containers of bitmaps, dense and sparse ones. */
static tl_row_bits make_rows(int kind, int64_t n_rows) {
    uint8_t *bits = tl_calloc((size_t)n_rows / 8 + 1, 1);
    assert_non_null(bits);
    uint64_t x = 88172645463325252u;
    tl_row_bits r = {bits, n_rows, 0};
    for (int64_t i = 0; i < n_rows; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bool set = kind == 0   ? i == n_rows / 2
                   : kind == 1 ? i == 0 || i == n_rows - 1
                   : kind == 2 ? i % 70000 < 68000
                   : kind == 3 ? x % 3 == 0
                   : kind == 4 ? x % 5000 == 0 || i == 7
                               : i < 4096;
        if (set) {
            tl_bit_set(bits, i);
            r.n_set++;
        }
    }
    return r;
}

static void a_deletion_vector_is_read_back(void **state) {
    for (int kind = 0; kind < 6; kind++) {
        const int64_t sizes[] = {5000, 65536, 65537, 300001};
        for (size_t s = 0; s < TL_COUNT(sizes); s++) {
            tl_row_bits rows = make_rows(kind, sizes[s]);
            tl_buf blob = {0};
            tl_arena arena = {0};
            uint64_t *positions;
            int64_t n;
            tl_error err = {{0}};
            assert_int_equal(tl_deletion_vector_write(&rows, &blob, &err), TL_OK);
            if (tl_deletion_vector_parse(tl_buf_bytes(&blob), &arena, &positions, &n, &err) != TL_OK) {
                fail_msg("kind %d, %lld rows: %s", kind, (long long)sizes[s], err.message);
            }
            assert_int_equal(n, rows.n_set);
            for (int64_t i = 0; i < n; i++) {
                assert_true(tl_bit(rows.bits, (int64_t)positions[i]));
            }
            tl_arena_free(&arena);
            tl_buf_free(&blob);
            tl_free((void *)(uintptr_t)rows.bits);
        }
    }
}

static void position_deletes_are_read_back(void **state) {
    for (int kind = 0; kind < 6; kind++) {
        tl_row_bits rows = make_rows(kind, 90001);
        tl_buf file = {0};
        tl_error err = {{0}};
        assert_int_equal(tl_position_deletes_write(PATH, &rows, &file, &err), TL_OK);
        tl_bytes bytes = tl_buf_bytes(&file);
        tl_pq_reader *r;
        if (tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err) != TL_OK) {
            fail_msg("%s", err.message);
        }
        const tl_pq_file_meta *meta = tl_pq_reader_meta(r);
        assert_int_equal(meta->n_rows, rows.n_set);
        assert_int_equal(meta->n_row_groups, 1);
        assert_int_equal(meta->schema[1].field_id, TL_FIELD_DELETE_PATH);
        assert_int_equal(meta->schema[2].field_id, TL_FIELD_DELETE_POS);
        struct ArrowArray batch;
        assert_int_equal(tl_pq_reader_read(r, 0, NULL, 0, NULL, 0, &batch, &err), TL_OK);
        const int32_t *offsets = batch.children[0]->buffers[1];
        const char *text = batch.children[0]->buffers[2];
        const int64_t *pos = batch.children[1]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            assert_int_equal(offsets[i + 1] - offsets[i], strlen(PATH));
            assert_memory_equal(text + offsets[i], PATH, strlen(PATH));
            assert_true(tl_bit(rows.bits, pos[i]) && (i == 0 || pos[i] > pos[i - 1]));
        }
        batch.release(&batch);
        tl_pq_reader_free(r);
        tl_buf_free(&file);
        tl_free((void *)(uintptr_t)rows.bits);
    }
}

static void a_file_of_few_positions_is_small(void **state) {
    tl_row_bits rows = make_rows(4, 90001);
    tl_buf file = {0};
    assert_int_equal(tl_position_deletes_write(PATH, &rows, &file, NULL), TL_OK);
    assert_true(file.len < 700);
    tl_buf_free(&file);
    tl_free((void *)(uintptr_t)rows.bits);
}

static void a_puffin_file_names_its_vectors(void **state) {
    tl_row_bits a = make_rows(1, 1000), b = make_rows(3, 70000);
    tl_puffin_vector v[2];
    tl_buf file = {0};
    assert_int_equal(tl_puffin_begin(&file, NULL), TL_OK);
    assert_int_equal(tl_puffin_add("file:///a\"b", &a, &file, &v[0], NULL), TL_OK);
    assert_int_equal(tl_puffin_add("file:///c", &b, &file, &v[1], NULL), TL_OK);
    assert_int_equal(tl_puffin_end(v, 2, &file, NULL), TL_OK);
    assert_memory_equal(file.data, "PFA1", 4);
    assert_memory_equal(file.data + file.len - 4, "PFA1", 4);
    assert_int_equal(v[0].offset, 4);
    assert_int_equal(v[1].offset, 4 + v[0].length);
    assert_int_equal(v[1].cardinality, b.n_set);
    uint32_t footer = tl_load_u32(file.data + file.len - 12);
    const uint8_t *json = file.data + file.len - 12 - footer;
    assert_memory_equal(json - 4, "PFA1", 4);
    assert_int_equal(json - 4 - file.data, v[1].offset + v[1].length);
    char *text = tl_strndup((const char *)json, footer);
    assert_non_null(strstr(text, "\"referenced-data-file\":\"file:///a\\\"b\",\"cardinality\":\"2\"}}"));
    assert_non_null(strstr(text, "\"fields\":[2147483645],\"snapshot-id\":-1,\"sequence-number\":-1,\"offset\":4,"));
    for (int i = 0; i < 2; i++) {
        tl_arena arena = {0};
        uint64_t *positions;
        int64_t n;
        tl_bytes blob = {file.data + v[i].offset, (size_t)v[i].length};
        assert_int_equal(tl_deletion_vector_parse(blob, &arena, &positions, &n, NULL), TL_OK);
        assert_int_equal(n, v[i].cardinality);
        tl_arena_free(&arena);
    }
    tl_free(text);
    tl_buf_free(&file);
    tl_free((void *)(uintptr_t)a.bits);
    tl_free((void *)(uintptr_t)b.bits);
}

static void the_data_file_is_told_by_field_or_by_equal_bounds(void **state) {
    tl_arena arena = {0};
    const char *target;
    tl_column_stats stats = {.field_id = TL_FIELD_DELETE_PATH, .lower = tl_bytes_of("x"), .upper = tl_bytes_of("x")};
    tl_data_file f = {.content = TL_CONTENT_POSITION_DELETES, .columns = &stats, .n_columns = 1};
    assert_int_equal(tl_delete_target(&f, &arena, &target, NULL), TL_OK);
    assert_string_equal(target, "x");
    stats.upper = tl_bytes_of("y");
    assert_int_equal(tl_delete_target(&f, &arena, &target, NULL), TL_OK);
    assert_null(target);
    f.referenced_data_file = "z";
    assert_int_equal(tl_delete_target(&f, &arena, &target, NULL), TL_OK);
    assert_string_equal(target, "z");
    tl_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deletion_vector_is_read_back),
        cmocka_unit_test(position_deletes_are_read_back),
        cmocka_unit_test(a_file_of_few_positions_is_small),
        cmocka_unit_test(a_puffin_file_names_its_vectors),
        cmocka_unit_test(the_data_file_is_told_by_field_or_by_equal_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
