/* Tests of the head: what is written is read back, whatever else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "table/head.h"

static tl_field fields[] = {{.id = 1, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
                            {.id = 2, .name = "v", .type = {.id = TL_TYPE_DOUBLE}}};
static const tl_schema schema = {.n_fields = 2, .fields = fields};

typedef struct world {
    tl_store *store;
    tl_table *table;
    tl_live_file data[3];
    tl_live_files files;
} world;

static const int32_t days[] = {-1, 20454};
static const uint8_t low[8] = {1, 2, 3}, high[9] = {9, 8, 7};

static int set_up(void **state) {
    static tl_partition_value partitions[3];
    static int64_t offsets[] = {4, 4000, 80000};
    static tl_column_stats stats[3] = {
        {.field_id = 1, .size = 10, .values = 7, .nulls = 0, .nans = -1, .lower = {low, 8}, .upper = {high, 8}},
        {.field_id = 2, .size = 11, .values = 7, .nulls = 7, .nans = 0},
        {.field_id = 2, .size = -1, .values = -1, .nulls = -1, .nans = -1, .lower = {low, 0}, .upper = {high, 9}},
    };
    world *w = calloc(1, sizeof *w);
    tl_create_options o = {.schema = &schema, .time_column = "ts", .dedup = -1};
    assert_int_equal(tl_store_open("memory://", false, NULL, &w->store, NULL), TL_OK);
    assert_int_equal(tl_table_create(w->store, "default", "r", &o, &w->table, NULL), TL_OK);
    for (int i = 0; i < 3; i++) {
        partitions[i].value = i < 2 ? (tl_bytes){(const uint8_t *)&days[i], 4} : (tl_bytes){NULL, 0};
        w->data[i] = (tl_live_file){.file = {.path = i == 1 ? "file:///a/\xc3\xbc" : "file:///a/b",
                                             .format = "PARQUET",
                                             .partition = &partitions[i],
                                             .n_partition = 1,
                                             .record_count = 7 + i,
                                             .file_size = 5000000000 + i,
                                             .sort_order_id = i == 2 ? -1 : 1,
                                             .split_offsets = offsets,
                                             .n_split_offsets = i == 1 ? 0 : 3 - i,
                                             .content_offset = -1,
                                             .content_size = -1},
                                    .snapshot_id = INT64_MAX - i,
                                    .sequence_number = 5 + i,
                                    .file_sequence_number = 6 + i,
                                    .status = i == 0 ? TL_ENTRY_ADDED : TL_ENTRY_EXISTING};
    }
    w->data[0].file.columns = stats;
    w->data[0].file.n_columns = 2;
    w->data[2].file.columns = stats + 2;
    w->data[2].file.n_columns = 1;
    w->files = (tl_live_files){.data = w->data, .n_data = 3};
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    tl_table_release(w->table);
    tl_store_close(w->store);
    free(w);
    return 0;
}

static void assert_bytes(tl_bytes a, tl_bytes b) {
    assert_int_equal(a.data == NULL, b.data == NULL);
    assert_int_equal(a.len, b.len);
    if (a.len) {
        assert_memory_equal(a.data, b.data, a.len);
    }
}

static void assert_same_file(const tl_live_file *a, const tl_live_file *b) {
    const tl_data_file *x = &a->file, *y = &b->file;
    assert_string_equal(x->path, y->path);
    assert_int_equal(x->file_size, y->file_size);
    assert_int_equal(x->record_count, y->record_count);
    assert_int_equal(x->sort_order_id, y->sort_order_id);
    assert_bytes(x->partition[0].value, y->partition[0].value);
    assert_int_equal(x->n_split_offsets, y->n_split_offsets);
    for (int32_t i = 0; i < x->n_split_offsets; i++) {
        assert_int_equal(x->split_offsets[i], y->split_offsets[i]);
    }
    assert_int_equal(a->status, b->status);
    assert_true(a->snapshot_id == b->snapshot_id);
    assert_int_equal(a->sequence_number, b->sequence_number);
    assert_int_equal(a->file_sequence_number, b->file_sequence_number);
    assert_int_equal(x->n_columns, y->n_columns);
    for (int32_t i = 0; i < x->n_columns; i++) {
        const tl_column_stats *p = &x->columns[i], *q = &y->columns[i];
        assert_int_equal(p->field_id, q->field_id);
        assert_int_equal(p->size, q->size);
        assert_int_equal(p->values, q->values);
        assert_int_equal(p->nulls, q->nulls);
        assert_int_equal(p->nans, q->nans);
        assert_bytes(p->lower, q->lower);
        assert_bytes(p->upper, q->upper);
    }
}

static void what_is_written_is_read_back(void **state) {
    world *w = *state;
    tl_buf bytes = {0}, json = {0};
    tl_error err = {{0}};
    if (tl_head_write(w->table, &w->files, &bytes, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_memory_equal(bytes.data,
                        "TLHD\x01\x01\0\0\0\0\0\0\0\x05"
                        "arrow",
                        19);
    tl_head head;
    if (tl_head_read(tl_buf_bytes(&bytes), &head, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(head.version, 1);
    assert_int_equal(head.n_files, 3);
    for (int i = 0; i < 3; i++) {
        assert_same_file(&head.files[i], &w->data[i]);
    }
    assert_int_equal(tl_metadata_write(&w->table->metadata, &json, NULL), TL_OK);
    assert_bytes(head.metadata, tl_buf_bytes(&json));
    tl_head_free(&head);
    tl_buf_free(&bytes);
    tl_buf_free(&json);
}

static void a_table_without_files_has_a_head(void **state) {
    world *w = *state;
    tl_buf bytes = {0};
    tl_head head;
    tl_live_files none = {0};
    assert_int_equal(tl_head_write(w->table, &none, &bytes, NULL), TL_OK);
    assert_int_equal(tl_head_read(tl_buf_bytes(&bytes), &head, NULL), TL_OK);
    assert_int_equal(head.n_files, 0);
    tl_head_free(&head);
    tl_buf_free(&bytes);
}

static void what_a_head_cannot_say_is_refused(void **state) {
    world *w = *state;
    tl_buf bytes = {0};
    tl_live_files files = w->files;
    files.n_deletes = 1;
    assert_int_equal(tl_head_write(w->table, &files, &bytes, NULL), TL_UNSUPPORTED);
    tl_live_file *many = calloc(TL_HEAD_FILES + 1, sizeof *many);
    for (int i = 0; i <= TL_HEAD_FILES; i++) {
        many[i] = w->data[0];
    }
    files = (tl_live_files){.data = many, .n_data = TL_HEAD_FILES + 1};
    assert_int_equal(tl_head_write(w->table, &files, &bytes, NULL), TL_UNSUPPORTED);
    files.n_data = TL_HEAD_FILES;
    assert_int_equal(tl_head_write(w->table, &files, &bytes, NULL), TL_OK);
    free(many);
    tl_buf_free(&bytes);
}

static void cut_or_changed_heads_never_crash(void **state) {
    world *w = *state;
    tl_buf bytes = {0};
    assert_int_equal(tl_head_write(w->table, &w->files, &bytes, NULL), TL_OK);
    tl_head head;
    int refused = 0;
    for (size_t len = 0; len < bytes.len; len += len < 200 ? 1 : 13) {
        uint8_t *exact = malloc(len ? len : 1); /* so that a read beyond the end is seen */
        memcpy(exact, bytes.data, len);
        tl_status status = tl_head_read((tl_bytes){exact, len}, &head, NULL);
        refused += status != TL_OK;
        if (status == TL_OK) {
            tl_head_free(&head);
        }
        free(exact);
    }
    assert_true(refused > 200);
    uint64_t seed = 42;
    for (int i = 0; i < 3000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(seed >> 33) % bytes.len;
        uint8_t old = bytes.data[at];
        bytes.data[at] = (uint8_t)(seed >> 24);
        if (tl_head_read(tl_buf_bytes(&bytes), &head, NULL) == TL_OK) {
            tl_head_free(&head);
        }
        bytes.data[at] = old;
    }
    tl_buf_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_without_files_has_a_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_head_cannot_say_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_or_changed_heads_never_crash, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("head", tests, NULL, NULL);
}
