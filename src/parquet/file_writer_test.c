/* Files and the thrift forms: what is written is read back field by field, and failures leave nothing half done. */
#include "parquet/testing_internal.h"

#include "base/mem.h"
#include "parquet/reader.h"
#include "parquet/thrift.h"
#include "parquet/writer.h"

/* ---- thrift ---- */

static void a_page_header_gives_known_bytes(void **state) {
    (void)state;
    const tl_pq_page_header h = {.type = TL_PQ_DATA_PAGE,
                                 .uncompressed_size = 100,
                                 .compressed_size = 50,
                                 .n_values = 10,
                                 .encoding = TL_PQ_PLAIN,
                                 .def_encoding = TL_PQ_RLE,
                                 .rep_encoding = TL_PQ_RLE};
    const uint8_t want[] = {0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x2c, 0x15,
                            0x14, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00};
    tl_buf out = {0};
    TL_OKAY(tl_pq_write_page_header(&h, &out));
    assert_int_equal(out.len, sizeof want);
    assert_memory_equal(out.data, want, sizeof want);
    tl_buf_free(&out);
}

static void page_headers_come_back(void **state) {
    (void)state;
    const tl_pq_page_header headers[] = {
        {.type = TL_PQ_DATA_PAGE,
         .uncompressed_size = INT32_MAX,
         .compressed_size = 1,
         .has_crc = true,
         .crc = -5,
         .n_values = 3,
         .encoding = TL_PQ_BYTE_STREAM_SPLIT,
         .def_encoding = TL_PQ_RLE,
         .rep_encoding = TL_PQ_RLE},
        {.type = TL_PQ_DICTIONARY_PAGE,
         .uncompressed_size = 7,
         .compressed_size = 8,
         .n_values = 2,
         .encoding = TL_PQ_PLAIN,
         .is_sorted = true},
        {.type = TL_PQ_DATA_PAGE_V2,
         .uncompressed_size = 7,
         .compressed_size = 8,
         .n_values = 200,
         .n_nulls = 5,
         .n_rows = 150,
         .encoding = TL_PQ_RLE_DICTIONARY,
         .def_length = 12,
         .rep_length = 13,
         .is_compressed = false},
    };
    for (size_t i = 0; i < TL_COUNT(headers); i++) {
        const tl_pq_page_header *h = &headers[i];
        tl_buf out = {0};
        TL_OKAY(tl_pq_write_page_header(h, &out));
        tl_pq_page_header got;
        size_t used;
        TL_OKAY(tl_pq_read_page_header(tl_buf_bytes(&out), &got, &used, &err));
        assert_int_equal(used, out.len);
        assert_int_equal(got.type, h->type);
        assert_int_equal(got.uncompressed_size, h->uncompressed_size);
        assert_int_equal(got.compressed_size, h->compressed_size);
        assert_int_equal(got.has_crc, h->has_crc);
        assert_int_equal(got.crc, h->crc);
        assert_int_equal(got.n_values, h->n_values);
        assert_int_equal(got.encoding, h->encoding);
        if (h->type == TL_PQ_DATA_PAGE_V2) {
            assert_int_equal(got.n_nulls, 5);
            assert_int_equal(got.n_rows, 150);
            assert_int_equal(got.def_length, 12);
            assert_int_equal(got.rep_length, 13);
            assert_false(got.is_compressed);
        }
        tl_buf_free(&out);
    }
}

static void every_logical_type_comes_back(void **state) {
    (void)state;
    tl_pq_schema_element schema[64] = {{.name = "root", .field_id = -1}};
    int32_t n = 1;
    const tl_pq_logical simple[] = {TL_PQ_LOGICAL_NONE, TL_PQ_LOGICAL_STRING,  TL_PQ_LOGICAL_ENUM,
                                    TL_PQ_LOGICAL_JSON, TL_PQ_LOGICAL_BSON,    TL_PQ_LOGICAL_UUID,
                                    TL_PQ_LOGICAL_DATE, TL_PQ_LOGICAL_FLOAT16, TL_PQ_LOGICAL_NULL};
    for (size_t i = 0; i < TL_COUNT(simple); i++) {
        schema[n++] = (tl_pq_schema_element){.name = "simple",
                                             .is_leaf = true,
                                             .type = TL_PQ_BYTE_ARRAY,
                                             .repetition = TL_PQ_OPTIONAL,
                                             .field_id = (int32_t)i,
                                             .logical = simple[i]};
    }
    schema[n++] = (tl_pq_schema_element){.name = "decimal",
                                         .is_leaf = true,
                                         .type = TL_PQ_FIXED,
                                         .type_length = 9,
                                         .field_id = 1000,
                                         .logical = TL_PQ_LOGICAL_DECIMAL,
                                         .precision = 20,
                                         .scale = 3};
    for (int unit = 0; unit < 3; unit++) {
        for (int utc = 0; utc < 2; utc++) {
            for (int time = 0; time < 2; time++) {
                schema[n++] = (tl_pq_schema_element){.name = "time",
                                                     .is_leaf = true,
                                                     .type = TL_PQ_INT64,
                                                     .field_id = -1,
                                                     .logical = time ? TL_PQ_LOGICAL_TIME : TL_PQ_LOGICAL_TIMESTAMP,
                                                     .unit = (tl_pq_unit)unit,
                                                     .utc = utc};
            }
        }
    }
    for (int width = 8; width <= 64; width *= 2) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            schema[n++] = (tl_pq_schema_element){.name = "integer",
                                                 .is_leaf = true,
                                                 .type = TL_PQ_INT64,
                                                 .field_id = -1,
                                                 .logical = TL_PQ_LOGICAL_INTEGER,
                                                 .bit_width = width,
                                                 .is_signed = is_signed};
        }
    }
    schema[0].n_children = n - 1;
    uint8_t orders[64];
    memset(orders, 1, sizeof orders);
    tl_pq_key_value pairs[20];
    for (size_t i = 0; i < 20; i++) {
        pairs[i] = (tl_pq_key_value){"key", i % 2 ? "value" : NULL};
    }
    const tl_pq_file_meta meta = {.version = 2,
                                  .schema = schema,
                                  .n_schema = n,
                                  .created_by = "test",
                                  .metadata = pairs,
                                  .n_metadata = 20,
                                  .column_orders = orders,
                                  .n_column_orders = n - 1};
    tl_buf out = {0};
    TL_OKAY(tl_pq_write_file_meta(&meta, &out));
    tl_pq_file_meta got;
    TL_OKAY(tl_pq_read_file_meta(tl_buf_bytes(&out), &got, &err));
    assert_int_equal(got.version, 2);
    assert_int_equal(got.n_schema, n);
    assert_string_equal(got.created_by, "test");
    assert_int_equal(got.n_metadata, 20);
    assert_null(got.metadata[0].value);
    assert_string_equal(got.metadata[19].value, "value");
    assert_int_equal(got.n_column_orders, n - 1);
    for (int32_t i = 1; i < n; i++) {
        const tl_pq_schema_element *a = &schema[i], *b = &got.schema[i];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->repetition, b->repetition);
        assert_int_equal(a->field_id, b->field_id);
        assert_int_equal(a->logical, b->logical);
        assert_int_equal(a->precision, b->precision);
        assert_int_equal(a->scale, b->scale);
        if (a->logical == TL_PQ_LOGICAL_TIME || a->logical == TL_PQ_LOGICAL_TIMESTAMP) {
            assert_int_equal(a->unit, b->unit);
            assert_int_equal(a->utc, b->utc);
        }
        if (a->logical == TL_PQ_LOGICAL_INTEGER) {
            assert_int_equal(a->bit_width, b->bit_width);
            assert_int_equal(a->is_signed, b->is_signed);
        }
    }
    tl_pq_file_meta_free(&got);
    tl_buf_free(&out);
}

static void indexes_of_many_pages_come_back(void **state) {
    (void)state;
    enum { N = 40 };
    bool null_pages[N] = {false, true};
    tl_bytes min[N], max[N];
    int64_t nulls[N];
    tl_pq_page_location pages[N];
    for (int i = 0; i < N; i++) {
        min[i] = i == 1 ? (tl_bytes){0} : tl_bytes_of("least");
        max[i] = i == 1 ? (tl_bytes){0} : tl_bytes_of("");
        nulls[i] = i * 1000000000000;
        pages[i] = (tl_pq_page_location){4 + i * 5000000000, i + 1, i * 20000};
    }
    const tl_pq_column_index columns = {null_pages, min, max, N, 2, nulls};
    const tl_pq_offset_index offsets = {pages, N};
    tl_buf out = {0};
    tl_arena arena = {0};
    TL_OKAY(tl_pq_write_column_index(&columns, &out));
    tl_pq_column_index c;
    TL_OKAY(tl_pq_read_column_index(tl_buf_bytes(&out), &arena, &c, &err));
    assert_int_equal(c.n_pages, N);
    assert_int_equal(c.boundary_order, 2);
    assert_true(c.null_pages[1] && !c.null_pages[2]);
    assert_true(tl_bytes_equal(c.min_values[39], min[39]));
    assert_int_equal(c.max_values[39].len, 0);
    assert_int_equal(c.null_counts[39], nulls[39]);
    out.len = 0;
    TL_OKAY(tl_pq_write_offset_index(&offsets, &out));
    tl_pq_offset_index o;
    TL_OKAY(tl_pq_read_offset_index(tl_buf_bytes(&out), &arena, &o, &err));
    assert_int_equal(o.n_pages, N);
    assert_int_equal(o.pages[39].offset, pages[39].offset);
    assert_int_equal(o.pages[39].compressed_size, 40);
    assert_int_equal(o.pages[39].first_row, 39 * 20000);
    tl_arena_free(&arena);
    tl_buf_free(&out);
}

/* ---- files ---- */

static const tl_pq_schema_element two_columns[] = {
    {.name = "schema", .n_children = 2, .field_id = -1},
    {.name = "series",
     .is_leaf = true,
     .type = TL_PQ_BYTE_ARRAY,
     .logical = TL_PQ_LOGICAL_STRING,
     .repetition = TL_PQ_OPTIONAL,
     .field_id = 1},
    {.name = "value", .is_leaf = true, .type = TL_PQ_DOUBLE, .repetition = TL_PQ_REQUIRED, .field_id = 7},
};

static tl_status make_chunks(tl_pq_chunk chunks[2], int64_t rows) {
    const tl_pq_leaf leaves[2] = {{.element = 1, .top = 0, .max_def = 1}, {.element = 2, .top = 1}};
    const tl_bytes series = tl_bytes_of("s");
    const double value = 1.5;
    chunks[0] = chunks[1] = (tl_pq_chunk){0};
    for (int i = 0; i < 2; i++) {
        tl_pq_column_options o = tl_pq_column_options_of(&two_columns[i + 1], &leaves[i]);
        o.encoding = i ? TL_PQ_PLAIN : TL_PQ_RLE_DICTIONARY;
        tl_pq_column_writer *w;
        tl_status status = tl_pq_column_writer_create(&o, &w, NULL);
        if (status == TL_OK) {
            status = tl_pq_column_writer_add_run(w, i ? (const void *)&value : &series, rows, NULL);
            status = status == TL_OK ? tl_pq_column_writer_finish(w, &chunks[i], NULL) : status;
            tl_pq_column_writer_free(w);
        }
        if (status != TL_OK) {
            tl_pq_chunk_free(&chunks[0]);
            return status;
        }
    }
    return TL_OK;
}

static tl_pq_file_options file_options(void) {
    static const tl_pq_sorting_column sorting[] = {{.column = 0, .nulls_first = true}};
    static const tl_pq_key_value pairs[] = {{"a", "b"}, {"empty", NULL}};
    return (tl_pq_file_options){
        .schema = two_columns, .n_schema = 3, .sorting = sorting, .n_sorting = 1, .metadata = pairs, .n_metadata = 2};
}

static void the_footer_given_is_the_footer_written(void **state) {
    (void)state;
    const tl_pq_file_options options = file_options();
    tl_buf file = {0};
    tl_pq_file_writer *w;
    tl_pq_chunk chunks[2];
    TL_OKAY(tl_pq_file_writer_create(&options, tl_pq_sink_buf(&file), &w, &err));
    for (int g = 0; g < 2; g++) {
        TL_OKAY(make_chunks(chunks, 1000));
        TL_OKAY(tl_pq_file_writer_add_row_group(w, chunks, 2, &err));
        tl_pq_chunk_free(&chunks[0]); /* taken over: nothing happens */
    }
    assert_int_equal(tl_pq_file_writer_rows(w), 2000);
    tl_pq_file_meta meta;
    TL_OKAY(tl_pq_file_writer_finish(w, &meta, &err));
    tl_pq_file_writer_free(w);
    assert_memory_equal(file.data, "PAR1", 4);
    assert_memory_equal(file.data + file.len - 4, "PAR1", 4);
    uint32_t footer_len = tl_load_u32(file.data + file.len - 8);
    tl_pq_file_meta got;
    TL_OKAY(tl_pq_read_file_meta((tl_bytes){file.data + file.len - 8 - footer_len, footer_len}, &got, &err));
    assert_int_equal(got.n_rows, 2000);
    assert_int_equal(got.n_row_groups, 2);
    assert_true(strncmp(got.created_by, "timelake version ", 17) == 0);
    for (int32_t g = 0; g < 2; g++) {
        const tl_pq_row_group *a = &meta.row_groups[g], *b = &got.row_groups[g];
        assert_int_equal(b->ordinal, g);
        assert_int_equal(b->n_sorting, 1);
        assert_true(b->sorting[0].nulls_first && !b->sorting[0].descending);
        assert_int_equal(a->file_offset, b->file_offset);
        assert_int_equal(b->total_compressed_size, b->columns[0].compressed_size + b->columns[1].compressed_size);
        for (int32_t c = 0; c < 2; c++) {
            assert_int_equal(a->columns[c].data_page_offset, b->columns[c].data_page_offset);
            assert_int_equal(a->columns[c].dictionary_page_offset, b->columns[c].dictionary_page_offset);
            assert_int_equal(a->columns[c].column_index_offset, b->columns[c].column_index_offset);
            assert_int_equal(a->columns[c].offset_index_offset, b->columns[c].offset_index_offset);
            assert_true(b->columns[c].column_index_offset > 0);
            assert_string_equal(b->columns[c].path[0], c ? "value" : "series");
            assert_true(tl_bytes_equal(a->columns[c].stats.min_value, b->columns[c].stats.min_value));
        }
        assert_true(b->columns[0].dictionary_page_offset > 0);
        assert_int_equal(b->columns[1].dictionary_page_offset, 0);
    }
    tl_pq_file_meta_free(&got);
    tl_pq_file_meta_free(&meta);
    tl_buf_free(&file);
}

static void a_file_without_rows_can_be_read(void **state) {
    (void)state;
    const tl_pq_file_options options = file_options();
    tl_buf file = {0};
    tl_pq_file_writer *w;
    tl_pq_chunk chunks[2];
    TL_OKAY(tl_pq_file_writer_create(&options, tl_pq_sink_buf(&file), &w, &err));
    TL_OKAY(make_chunks(chunks, 0));
    TL_OKAY(tl_pq_file_writer_add_row_group(w, chunks, 2, &err)); /* not written */
    TL_OKAY(tl_pq_file_writer_finish(w, NULL, &err));
    tl_pq_file_writer_free(w);
    tl_bytes bytes = tl_buf_bytes(&file);
    tl_pq_reader *r;
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err));
    assert_int_equal(tl_pq_reader_meta(r)->n_rows, 0);
    assert_int_equal(tl_pq_reader_meta(r)->n_row_groups, 0);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
}

static void without_a_page_index_there_is_none(void **state) {
    (void)state;
    tl_pq_file_options options = file_options();
    options.no_page_index = true;
    tl_buf file = {0};
    tl_pq_file_writer *w;
    tl_pq_chunk chunks[2];
    tl_pq_file_meta meta;
    TL_OKAY(tl_pq_file_writer_create(&options, tl_pq_sink_buf(&file), &w, &err));
    TL_OKAY(make_chunks(chunks, 10));
    TL_OKAY(tl_pq_file_writer_add_row_group(w, chunks, 2, &err));
    TL_OKAY(tl_pq_file_writer_finish(w, &meta, &err));
    assert_int_equal(meta.row_groups[0].columns[0].column_index_offset, 0);
    assert_int_equal(meta.row_groups[0].columns[0].offset_index_offset, 0);
    tl_pq_file_meta_free(&meta);
    tl_pq_file_writer_free(w);
    tl_buf_free(&file);
}

static void row_groups_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const tl_pq_file_options options = file_options();
    tl_buf file = {0};
    tl_pq_file_writer *w;
    tl_pq_chunk chunks[2], other[2];
    TL_OKAY(tl_pq_file_writer_create(&options, tl_pq_sink_buf(&file), &w, &err));
    TL_OKAY(make_chunks(chunks, 10));
    TL_OKAY(make_chunks(other, 11));
    assert_int_equal(tl_pq_file_writer_add_row_group(w, chunks, 1, NULL), TL_INTERNAL);
    const tl_pq_chunk rows_differ[2] = {chunks[0], other[1]}, types_differ[2] = {chunks[1], chunks[0]};
    assert_int_equal(tl_pq_file_writer_add_row_group(w, (tl_pq_chunk *)(uintptr_t)rows_differ, 2, NULL), TL_INTERNAL);
    assert_int_equal(tl_pq_file_writer_add_row_group(w, (tl_pq_chunk *)(uintptr_t)types_differ, 2, NULL), TL_INTERNAL);
    assert_int_equal(file.len, 0);
    for (int i = 0; i < 2; i++) {
        tl_pq_chunk_free(&chunks[i]);
        tl_pq_chunk_free(&other[i]);
    }
    tl_pq_file_writer_free(w);
    tl_pq_file_options wrong = options;
    const tl_pq_sorting_column outside = {.column = 2};
    wrong.sorting = &outside;
    assert_int_equal(tl_pq_file_writer_create(&wrong, tl_pq_sink_buf(&file), &w, NULL), TL_INTERNAL);
    tl_buf_free(&file);
}

/* A sink that fails once `left` bytes are through. */
static tl_status full_sink(void *ctx, const void *data, size_t len, tl_error *err) {
    size_t *left = ctx;
    (void)data;
    if (len > *left) {
        return tl_fail(err, TL_IO, "disk full");
    }
    *left -= len;
    return TL_OK;
}

static tl_status write_small_file(tl_pq_sink sink, tl_error *err) {
    const tl_pq_file_options options = file_options();
    tl_pq_file_writer *w;
    tl_pq_chunk chunks[2];
    TL_TRY(tl_pq_file_writer_create(&options, sink, &w, err));
    tl_status status = make_chunks(chunks, 100);
    if (status == TL_OK) {
        status = tl_pq_file_writer_add_row_group(w, chunks, 2, err);
        tl_pq_chunk_free(&chunks[0]);
        tl_pq_chunk_free(&chunks[1]);
    }
    status = status == TL_OK ? tl_pq_file_writer_finish(w, NULL, err) : status;
    tl_pq_file_writer_free(w);
    return status;
}

static void a_failing_sink_is_reported_wherever_it_fails(void **state) {
    (void)state;
    tl_buf whole = {0};
    TL_OKAY(write_small_file(tl_pq_sink_buf(&whole), &err));
    for (size_t room = 0; room < whole.len; room++) {
        size_t left = room;
        tl_error why;
        assert_int_equal(write_small_file((tl_pq_sink){full_sink, &left}, &why), TL_IO);
        assert_string_equal(why.message, "disk full");
    }
    tl_buf_free(&whole);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        assert_true(n < 1000);
        tl_buf file = {0};
        (void)tl_mem_fail_at(n);
        tl_status status = write_small_file(tl_pq_sink_buf(&file), NULL);
        (void)tl_mem_fail_at(0);
        tl_buf_free(&file);
        if (status == TL_OK) {
            assert_true(n > 20);
            return;
        }
        assert_int_equal(status, TL_NO_MEMORY);
    }
}

static void codecs_that_are_not_written_are_refused(void **state) {
    (void)state;
    const tl_pq_codec codecs[] = {TL_PQ_LZ4, TL_PQ_LZO, (tl_pq_codec)77};
    for (size_t i = 0; i < TL_COUNT(codecs); i++) {
        const tl_pq_column_options o = {.type = TL_PQ_INT32, .codec = codecs[i]};
        const int32_t value = 1;
        tl_pq_column_writer *w;
        tl_pq_chunk chunk;
        TL_OKAY(tl_pq_column_writer_create(&o, &w, &err));
        TL_OKAY(tl_pq_column_writer_add_run(w, &value, 5, &err));
        assert_int_equal(tl_pq_column_writer_finish(w, &chunk, NULL), TL_UNSUPPORTED);
        tl_pq_column_writer_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_header_gives_known_bytes),
        cmocka_unit_test(page_headers_come_back),
        cmocka_unit_test(every_logical_type_comes_back),
        cmocka_unit_test(indexes_of_many_pages_come_back),
        cmocka_unit_test(the_footer_given_is_the_footer_written),
        cmocka_unit_test(a_file_without_rows_can_be_read),
        cmocka_unit_test(without_a_page_index_there_is_none),
        cmocka_unit_test(row_groups_that_do_not_fit_are_refused),
        cmocka_unit_test(a_failing_sink_is_reported_wherever_it_fails),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(codecs_that_are_not_written_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
