/*
 * The reader over files of the writer: failing memory, failing sources, damaged bytes, limits; row ranges and streams
 * against whole reads. Values in all types and encodings: roundtrip_test.c, and pyarrow in tests/test_parquet_read.py.
 */
#include "parquet/testing_internal.h"

#include <string.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"
#include "parquet/reader.h"
#include "parquet/thrift.h"
#include "parquet/writer.h"

#define ROWS 3000
#define GROUPS 2

/* series: text in runs, with nulls; ts: sorted; value: doubles; note: short texts; list: optional list of optional ints
 */
static const tl_pq_schema_element schema[] = {
    {.name = "schema", .n_children = 5, .field_id = -1},
    {.name = "series",
     .is_leaf = true,
     .type = TL_PQ_BYTE_ARRAY,
     .logical = TL_PQ_LOGICAL_STRING,
     .repetition = TL_PQ_OPTIONAL,
     .field_id = 1},
    {.name = "ts",
     .is_leaf = true,
     .type = TL_PQ_INT64,
     .logical = TL_PQ_LOGICAL_TIMESTAMP,
     .unit = TL_PQ_MICROS,
     .utc = true,
     .field_id = 2},
    {.name = "value", .is_leaf = true, .type = TL_PQ_DOUBLE, .repetition = TL_PQ_OPTIONAL, .field_id = 3},
    {.name = "note", .is_leaf = true, .type = TL_PQ_BYTE_ARRAY, .repetition = TL_PQ_REQUIRED, .field_id = 4},
    {.name = "list", .n_children = 1, .logical = TL_PQ_LOGICAL_LIST, .repetition = TL_PQ_OPTIONAL, .field_id = 5},
    {.name = "list", .n_children = 1, .repetition = TL_PQ_REPEATED, .field_id = -1},
    {.name = "element", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_OPTIONAL, .field_id = 6},
};

static int64_t ts_of(int64_t row) {
    return 1600000000000000 + row * 1000000 + row % 7;
}

/* ---- making the file ---- */

typedef struct maker {
    tl_bytes series[ROWS], notes[ROWS];
    char texts[ROWS][12];
    int64_t ts[ROWS];
    double values[ROWS];
    int32_t elements[ROWS * 3];
    uint8_t series_def[ROWS], value_def[ROWS], list_def[ROWS * 3], list_rep[ROWS * 3];
    tl_pq_values leaves[5];
} maker;

static void make_values(maker *m, int64_t base) {
    int64_t n_series = 0, n_values = 0, n_levels = 0, n_elements = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t row = base + i;
        m->series_def[i] = row / 400 % 5 != 3;
        if (m->series_def[i]) {
            (void)snprintf(m->texts[i], sizeof m->texts[i], "m-%03d", (int)(row / 400));
            m->series[n_series++] = tl_bytes_of(m->texts[i]);
        }
        m->ts[i] = ts_of(row);
        m->value_def[i] = row % 11 != 0;
        if (m->value_def[i]) {
            m->values[n_values++] = (double)row / 3;
        }
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
        m->notes[i] = (tl_bytes){(const uint8_t *)letters, (size_t)(row % 26)};
        int64_t count = row % 4; /* 0 null, 1 empty, 2 one element, 3 two of them, the second null */
        m->list_def[n_levels] = (uint8_t)(count == 0 ? 0 : count == 1 ? 1 : 3);
        m->list_rep[n_levels++] = 0;
        if (count == 3) {
            m->list_def[n_levels] = 2;
            m->list_rep[n_levels++] = 1;
        }
        if (count >= 2) {
            m->elements[n_elements++] = (int32_t)row;
        }
    }
    m->leaves[0] = (tl_pq_values){ROWS, n_series, m->series_def, NULL, m->series};
    m->leaves[1] = (tl_pq_values){ROWS, ROWS, NULL, NULL, m->ts};
    m->leaves[2] = (tl_pq_values){ROWS, n_values, m->value_def, NULL, m->values};
    m->leaves[3] = (tl_pq_values){ROWS, ROWS, NULL, NULL, m->notes};
    m->leaves[4] = (tl_pq_values){n_levels, n_elements, m->list_def, m->list_rep, m->elements};
}

static tl_buf make_file(bool v2, tl_pq_codec codec, int32_t page_rows) {
    static const tl_pq_encoding encodings[] = {TL_PQ_RLE_DICTIONARY, TL_PQ_DELTA_BINARY_PACKED, TL_PQ_BYTE_STREAM_SPLIT,
                                               TL_PQ_DELTA_LENGTH_BYTE_ARRAY, TL_PQ_PLAIN};
    maker *m = calloc(1, sizeof *m);
    tl_buf out = {0};
    tl_pq_file_options fo = {.schema = schema, .n_schema = TL_COUNT(schema)};
    tl_pq_file_writer *fw;
    tl_pq_leaf *leaves;
    int32_t n_leaves;
    TL_OKAY(tl_pq_schema_leaves(schema, TL_COUNT(schema), &leaves, &n_leaves, &err));
    TL_OKAY(tl_pq_file_writer_create(&fo, tl_pq_sink_buf(&out), &fw, &err));
    for (int64_t g = 0; g < GROUPS; g++) {
        tl_pq_chunk chunks[5];
        make_values(m, g * ROWS);
        for (int i = 0; i < 5; i++) {
            tl_pq_column_options o = tl_pq_column_options_of(&schema[leaves[i].element], &leaves[i]);
            o.encoding = encodings[i];
            o.codec = codec;
            o.level = INT32_MIN;
            o.page_rows = page_rows;
            o.page_v2 = v2;
            o.page_crc = true;
            tl_pq_column_writer *w;
            TL_OKAY(tl_pq_column_writer_create(&o, &w, &err));
            TL_OKAY(tl_pq_column_writer_add(w, &m->leaves[i], &err));
            TL_OKAY(tl_pq_column_writer_finish(w, &chunks[i], &err));
            tl_pq_column_writer_free(w);
        }
        TL_OKAY(tl_pq_file_writer_add_row_group(fw, chunks, 5, &err));
    }
    TL_OKAY(tl_pq_file_writer_finish(fw, NULL, &err));
    tl_pq_file_writer_free(fw);
    tl_free(leaves);
    free(m);
    return out;
}

/* ---- looking at arrays ---- */

/* Checks rows [0, n) of `batch`, which should be rows `rows[...]` of the file. */
static void check_rows(const struct ArrowArray *batch, const int64_t *rows, int64_t n) {
    assert_int_equal(batch->length, n);
    const struct ArrowArray *series = batch->children[0], *ts = batch->children[1], *value = batch->children[2];
    const struct ArrowArray *note = batch->children[3], *list = batch->children[4], *element = list->children[0];
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows[i];
        const int32_t *so = series->buffers[1], *no = note->buffers[1], *lo = list->buffers[1];
        bool valid = !series->buffers[0] || tl_bit(series->buffers[0], i);
        assert_int_equal(valid, row / 400 % 5 != 3);
        if (valid) {
            char want[16];
            (void)snprintf(want, sizeof want, "m-%03d", (int)(row / 400));
            assert_int_equal(so[i + 1] - so[i], 5);
            assert_memory_equal((const char *)series->buffers[2] + so[i], want, 5);
        }
        assert_true(((const int64_t *)ts->buffers[1])[i] == ts_of(row));
        valid = !value->buffers[0] || tl_bit(value->buffers[0], i);
        assert_int_equal(valid, row % 11 != 0);
        double number = valid ? (double)row / 3 : 0;
        assert_memory_equal((const double *)value->buffers[1] + i, &number, sizeof number);
        assert_int_equal(no[i + 1] - no[i], row % 26);
        int64_t count = row % 4;
        assert_int_equal(!list->buffers[0] || tl_bit(list->buffers[0], i), count != 0);
        assert_int_equal(lo[i + 1] - lo[i], count >= 2 ? count - 1 : 0);
        if (count >= 2) {
            assert_int_equal(((const int32_t *)element->buffers[1])[lo[i]], row);
            assert_true(!element->buffers[0] || tl_bit(element->buffers[0], lo[i]));
        }
        if (count == 3) {
            assert_false(tl_bit(element->buffers[0], lo[i] + 1));
        }
    }
}

/* ---- a source that can fail ---- */

typedef struct flaky {
    tl_bytes bytes;
    int calls, fail_at; /* 0 = never */
} flaky;

static tl_status flaky_read_at(void *ctx, uint64_t offset, size_t len, void *out, tl_error *err) {
    flaky *f = ctx;
    if (++f->calls == f->fail_at) {
        return tl_fail(err, TL_IO, "the disk is gone");
    }
    assert_true(offset + len <= f->bytes.len);
    memcpy(out, f->bytes.data + offset, len);
    return TL_OK;
}

static tl_pq_source flaky_source(flaky *f) {
    return (tl_pq_source){.read_at = flaky_read_at, .ctx = f, .size = f->bytes.len};
}

/* Everything the reader can do; the first failure ends it. */
static tl_status use_all(tl_pq_source source, const tl_pq_read_options *options, tl_error *err) {
    tl_pq_reader *r;
    TL_TRY(tl_pq_reader_open(source, options, &r, err));
    struct ArrowSchema arrow;
    struct ArrowArray array;
    struct ArrowArrayStream stream;
    tl_pq_runs runs;
    int64_t *numbers = malloc(ROWS * sizeof *numbers), nulls;
    const tl_pq_row_range ranges[] = {{100, 20}, {700, 1}, {2999, 1}};
    tl_status status = tl_pq_reader_schema(r, NULL, 0, &arrow, err);
    if (status == TL_OK) {
        arrow.release(&arrow);
        status = tl_pq_reader_read(r, 0, NULL, 0, NULL, 0, &array, err);
    }
    if (status == TL_OK) {
        array.release(&array);
        status = tl_pq_reader_read(r, 1, NULL, 0, ranges, 3, &array, err);
    }
    if (status == TL_OK) {
        array.release(&array);
        status = tl_pq_reader_runs(r, 0, 0, &runs, err);
    }
    if (status == TL_OK) {
        tl_pq_runs_free(&runs);
        status = tl_pq_reader_runs(r, 0, 2, &runs, err);
    }
    if (status == TL_OK) {
        tl_pq_runs_free(&runs);
        status = tl_pq_reader_int64(r, 1, 1, numbers, NULL, &nulls, err);
    }
    if (status == TL_OK) {
        status = tl_pq_reader_stream(r, NULL, 0, NULL, 0, 1000, &stream, err);
    }
    if (status == TL_OK) {
        int code;
        while ((code = stream.get_next(&stream, &array)) == 0 && array.release) {
            array.release(&array);
        }
        status = code ? TL_IO : TL_OK;
        stream.release(&stream);
    }
    free(numbers);
    tl_pq_reader_free(r);
    return status;
}

/* ---- tests ---- */

static void whole_reads_give_every_row(void **state) {
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        tl_buf file = make_file(variant & 1, variant & 2 ? TL_PQ_ZSTD : TL_PQ_UNCOMPRESSED, variant & 1 ? 100 : 777);
        tl_bytes bytes = tl_buf_bytes(&file);
        tl_pq_reader *r;
        TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), &(tl_pq_read_options){.check_crc = true}, &r, &err));
        for (int32_t g = 0; g < GROUPS; g++) {
            struct ArrowArray batch;
            int64_t rows[ROWS];
            for (int64_t i = 0; i < ROWS; i++) {
                rows[i] = g * ROWS + i;
            }
            TL_OKAY(tl_pq_reader_read(r, g, NULL, 0, NULL, 0, &batch, &err));
            check_rows(&batch, rows, ROWS);
            batch.release(&batch);
        }
        tl_pq_reader_free(r);
        tl_buf_free(&file);
    }
}

static void ranges_give_their_rows_and_read_only_their_pages(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (int round = 0; round < 60; round++) {
        tl_buf file = make_file(round & 1, TL_PQ_UNCOMPRESSED, 50 + 100 * (round % 5));
        flaky source = {.bytes = tl_buf_bytes(&file)};
        tl_pq_reader *r;
        TL_OKAY(tl_pq_reader_open(flaky_source(&source), NULL, &r, &err));
        tl_pq_row_range ranges[20];
        int64_t rows[ROWS], n = 0, at = 0;
        int32_t n_ranges = 0;
        while (n_ranges < 20) {
            int64_t first = at + (int64_t)tl_dice_below(&dice, 400), count = (int64_t)tl_dice_below(&dice, 90);
            if (first + count > ROWS) {
                break;
            }
            ranges[n_ranges++] = (tl_pq_row_range){first, count};
            for (int64_t i = 0; i < count; i++) {
                rows[n++] = ROWS + first + i;
            }
            at = first + count;
        }
        struct ArrowArray batch;
        TL_OKAY(tl_pq_reader_read(r, 1, NULL, 0, ranges, n_ranges, &batch, &err));
        check_rows(&batch, rows, n);
        batch.release(&batch);
        tl_pq_reader_free(r);
        tl_buf_free(&file);
    }
}

static void streams_of_any_batch_size_give_every_row(void **state) {
    (void)state;
    const int64_t sizes[] = {0, 1, 7, 100, 999, ROWS, 10 * ROWS};
    tl_buf file = make_file(false, TL_PQ_SNAPPY, 300);
    tl_bytes bytes = tl_buf_bytes(&file);
    for (size_t k = 0; k < TL_COUNT(sizes); k++) {
        tl_pq_reader *r;
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        int64_t row = 0;
        TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err));
        TL_OKAY(tl_pq_reader_stream(r, NULL, 0, NULL, 0, sizes[k], &stream, &err));
        while (stream.get_next(&stream, &batch) == 0 && batch.release) {
            int64_t rows[ROWS];
            for (int64_t i = 0; i < batch.length; i++) {
                rows[i] = row++;
            }
            assert_true(sizes[k] == 0 || batch.length <= sizes[k]);
            check_rows(&batch, rows, batch.length);
            batch.release(&batch);
        }
        assert_int_equal(row, ROWS * GROUPS);
        stream.release(&stream);
        tl_pq_reader_free(r);
    }
    tl_buf_free(&file);
}

static void runs_of_a_series_are_as_many_as_its_values(void **state) {
    (void)state;
    tl_buf file = make_file(false, TL_PQ_ZSTD, 250);
    tl_bytes bytes = tl_buf_bytes(&file);
    tl_pq_reader *r;
    tl_pq_runs runs;
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err));
    TL_OKAY(tl_pq_reader_runs(r, 0, 0, &runs, &err));
    assert_int_equal(runs.n_rows, ROWS);
    assert_int_equal(runs.n_runs, 8);
    for (int64_t i = 0; i < 8; i++) {
        assert_int_equal(runs.starts[i], i * 400);
        assert_int_equal(runs.is_null[i], i % 5 == 3);
    }
    assert_int_equal(runs.starts[8], ROWS);
    assert_memory_equal(runs.values[7].data, "m-007", 5);
    tl_pq_runs_free(&runs);
    assert_int_equal(tl_pq_reader_runs(r, 0, 4, &runs, NULL), TL_INVALID); /* repeats */
    assert_int_equal(tl_pq_reader_runs(r, 9, 0, &runs, NULL), TL_INVALID);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
}

static void every_failing_allocation_is_survived_without_a_leak(void **state) {
    (void)state;
    for (int v2 = 0; v2 < 2; v2++) {
        tl_buf file = make_file(v2, TL_PQ_SNAPPY, 1000);
        tl_bytes bytes = tl_buf_bytes(&file);
        tl_status status = TL_NO_MEMORY;
        uint64_t n = 1;
        for (; status != TL_OK; n++) {
            (void)tl_mem_fail_at(n);
            status = use_all(v2 ? tl_pq_source_bytes(&bytes) : flaky_source(&(flaky){.bytes = bytes}), NULL, NULL);
            (void)tl_mem_fail_at(0);
            assert_true(status == TL_OK || status == TL_NO_MEMORY || status == TL_IO);
            assert_true(n < 5000);
        }
        assert_true(n > 50);
        tl_buf_free(&file);
    }
}

static void every_failing_read_is_told_without_a_leak(void **state) {
    (void)state;
    tl_buf file = make_file(true, TL_PQ_ZSTD, 500);
    tl_status status = TL_IO;
    for (int n = 1; status != TL_OK; n++) {
        flaky f = {.bytes = tl_buf_bytes(&file), .fail_at = n};
        tl_error err = {{0}};
        status = use_all(flaky_source(&f), &(tl_pq_read_options){.tail = 100}, &err);
        assert_true(status == TL_OK || status == TL_IO);
        assert_true(n < 1000);
    }
    tl_buf_free(&file);
}

static void a_footer_known_already_is_not_read_again(void **state) {
    (void)state;
    tl_buf file = make_file(false, TL_PQ_ZSTD, 500);
    flaky f = {.bytes = tl_buf_bytes(&file)};
    tl_pq_reader *r;
    uint32_t footer = tl_load_u32(file.data + file.len - 8);
    tl_pq_read_options options = {.footer = file.data + file.len - 8 - footer, .footer_len = footer + 8};
    TL_OKAY(tl_pq_reader_open(flaky_source(&f), &options, &r, &err));
    assert_int_equal(f.calls, 0);
    tl_pq_reader_free(r);
    options.footer += footer - 92; /* only its end: the rest is read */
    options.footer_len = 100;
    TL_OKAY(tl_pq_reader_open(flaky_source(&f), &options, &r, &err));
    assert_int_equal(f.calls, 1);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
}

static void the_memory_limit_is_kept_and_named(void **state) {
    (void)state;
    tl_buf file = make_file(false, TL_PQ_ZSTD, 500);
    tl_bytes bytes = tl_buf_bytes(&file);
    tl_error told = {{0}};
    assert_int_equal(use_all(tl_pq_source_bytes(&bytes), &(tl_pq_read_options){.memory_limit = 50000}, &told),
                     TL_NO_MEMORY);
    assert_non_null(strstr(told.message, "limit of 50000 bytes"));
    TL_OKAY(use_all(tl_pq_source_bytes(&bytes), &(tl_pq_read_options){.memory_limit = 1000000}, &err));
    tl_buf_free(&file);
}

/* A file of a hundred bytes that is honest about two billion equal rows. */
static tl_buf bomb(void) {
    static const char *path[] = {"x"};
    const int32_t value = 77;
    const uint8_t run[] = {0, 0xfe, 0xff, 0xff, 0xff, 0x0f}; /* no bits; 2^31 - 1 times index 0 */
    tl_buf out = {0};
    TL_OKAY(tl_buf_add_text(&out, "PAR1"));
    const tl_pq_page_header dict = {
        .type = TL_PQ_DICTIONARY_PAGE, .uncompressed_size = 4, .compressed_size = 4, .n_values = 1};
    const tl_pq_page_header page = {.type = TL_PQ_DATA_PAGE,
                                    .uncompressed_size = sizeof run,
                                    .compressed_size = sizeof run,
                                    .n_values = INT32_MAX,
                                    .encoding = TL_PQ_RLE_DICTIONARY,
                                    .def_encoding = TL_PQ_RLE,
                                    .rep_encoding = TL_PQ_RLE};
    TL_OKAY(tl_pq_write_page_header(&dict, &out));
    TL_OKAY(tl_buf_add(&out, &value, 4));
    int64_t data_at = (int64_t)out.len;
    TL_OKAY(tl_pq_write_page_header(&page, &out));
    TL_OKAY(tl_buf_add(&out, run, sizeof run));
    tl_pq_schema_element elements[] = {
        {.name = "schema", .n_children = 1, .field_id = -1},
        {.name = "x", .is_leaf = true, .type = TL_PQ_INT32, .repetition = TL_PQ_REQUIRED, .field_id = -1}};
    tl_pq_column_chunk chunk = {.has_meta = true,
                                .type = TL_PQ_INT32,
                                .path = path,
                                .n_path = 1,
                                .n_values = INT32_MAX,
                                .compressed_size = (int64_t)out.len - 4,
                                .uncompressed_size = (int64_t)out.len - 4,
                                .dictionary_page_offset = 4,
                                .data_page_offset = data_at};
    tl_pq_row_group group = {.columns = &chunk, .n_columns = 1, .n_rows = INT32_MAX, .ordinal = -1};
    const tl_pq_file_meta meta = {
        .version = 1, .schema = elements, .n_schema = 2, .n_rows = INT32_MAX, .row_groups = &group, .n_row_groups = 1};
    size_t before = out.len;
    TL_OKAY(tl_pq_write_file_meta(&meta, &out));
    uint8_t len[4];
    tl_store_u32(len, (uint32_t)(out.len - before));
    TL_OKAY(tl_buf_add(&out, len, 4));
    TL_OKAY(tl_buf_add_text(&out, "PAR1"));
    return out;
}

static void two_billion_rows_in_a_hundred_bytes_take_no_memory(void **state) {
    (void)state;
    tl_buf file = bomb();
    tl_bytes bytes = tl_buf_bytes(&file);
    tl_pq_reader *r;
    tl_pq_runs runs;
    struct ArrowArray array;
    const tl_pq_row_range few = {INT32_MAX - 5, 3};
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err));
    assert_int_equal(tl_pq_reader_read(r, 0, NULL, 0, NULL, 0, &array, NULL), TL_NO_MEMORY);
    assert_int_equal(tl_pq_reader_read(r, 0, NULL, 0, &few, 1, &array, NULL), TL_NO_MEMORY); /* it is one page */
    TL_OKAY(tl_pq_reader_runs(r, 0, 0, &runs, &err));
    assert_int_equal(runs.n_runs, 1);
    assert_int_equal(runs.n_rows, INT32_MAX);
    assert_int_equal(tl_load_i32(runs.values[0].data), 77);
    tl_pq_runs_free(&runs);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
}

static void a_stream_keeps_the_limit_by_shorter_batches(void **state) {
    (void)state;
    tl_buf file = make_file(false, TL_PQ_ZSTD, 500);
    tl_bytes bytes = tl_buf_bytes(&file);
    tl_pq_read_options options = {.memory_limit = 150000};
    tl_pq_reader *r;
    struct ArrowArray batch;
    struct ArrowArrayStream stream;
    int64_t row = 0;
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), &options, &r, &err));
    assert_int_equal(tl_pq_reader_read(r, 0, NULL, 0, NULL, 0, &batch, NULL), TL_NO_MEMORY);
    TL_OKAY(tl_pq_reader_stream(r, NULL, 0, NULL, 0, 0, &stream, &err));
    while (stream.get_next(&stream, &batch) == 0 && batch.release) {
        int64_t rows[ROWS];
        for (int64_t i = 0; i < batch.length; i++) {
            rows[i] = row++;
        }
        assert_true(batch.length < ROWS);
        check_rows(&batch, rows, batch.length);
        batch.release(&batch);
    }
    assert_int_equal(row, ROWS * GROUPS);
    stream.release(&stream);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
}

static void wrong_requests_are_refused(void **state) {
    (void)state;
    tl_buf file = make_file(false, TL_PQ_ZSTD, 500);
    tl_bytes bytes = tl_buf_bytes(&file);
    tl_pq_reader *r;
    struct ArrowArray out;
    const int32_t bad_column[] = {5};
    const tl_pq_row_range bad_ranges[][2] = {
        {{10, 5}, {12, 1}}, {{0, ROWS}, {ROWS, 1}}, {{-1, 3}, {10, 1}}, {{5, -1}, {10, 1}}, {{INT64_MAX, 1}, {0, 0}}};
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err));
    assert_int_equal(tl_pq_reader_read(r, 2, NULL, 0, NULL, 0, &out, NULL), TL_INVALID);
    assert_int_equal(tl_pq_reader_read(r, -1, NULL, 0, NULL, 0, &out, NULL), TL_INVALID);
    assert_int_equal(tl_pq_reader_read(r, 0, bad_column, 1, NULL, 0, &out, NULL), TL_INVALID);
    for (size_t i = 0; i < TL_COUNT(bad_ranges); i++) {
        assert_int_equal(tl_pq_reader_read(r, 0, NULL, 0, bad_ranges[i], 2, &out, NULL), TL_INVALID);
    }
    int64_t numbers[1], nulls;
    assert_int_equal(tl_pq_reader_int64(r, 0, 2, numbers, NULL, &nulls, NULL), TL_INVALID); /* doubles */
    TL_OKAY(tl_pq_reader_read(r, 0, NULL, 0, bad_ranges[0], 0, &out, &err));                /* no range: no rows */
    assert_int_equal(out.length, 0);
    out.release(&out);
    tl_pq_reader_free(r);
    tl_buf_free(&file);
}

static void files_that_are_not_parquet_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "PAR1",
                                        "PAR1PAR1",
                                        "PAR1aaaaPAR1",
                                        "PAR1\xff\xff\xff\xffPAR1",
                                        "PAR1....\x04\x00PAR1",
                                        "1234567890abcdefPARE",
                                        "a CSV file, not Parquet"};
    for (size_t i = 0; i < TL_COUNT(texts); i++) {
        tl_bytes bytes = tl_bytes_of(texts[i]);
        tl_pq_reader *r;
        tl_error err = {{0}};
        tl_status status = tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &r, &err);
        assert_int_equal(status, strstr(texts[i], "PARE") ? TL_UNSUPPORTED : TL_CORRUPT);
        assert_true(strlen(err.message) > 10);
        assert_null(r);
    }
}

/* ---- damage ---- */

static void check_valid(const struct ArrowSchema *arrow, struct ArrowArray *array) {
    struct ArrowArrayView view;
    struct ArrowError why = {0};
    assert_int_equal(ArrowArrayViewInitFromSchema(&view, arrow, &why), 0);
    assert_int_equal(ArrowArrayViewSetArray(&view, array, &why), 0);
    if (ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &why) != 0) {
        fail_msg("an array that is not valid: %s", why.message);
    }
    ArrowArrayViewReset(&view);
    array->release(array);
}

static void read_damaged(tl_bytes bytes, bool mapped) {
    flaky f = {.bytes = bytes};
    tl_pq_reader *r;
    tl_pq_read_options options = {.memory_limit = 64u << 20};
    struct ArrowSchema arrow;
    struct ArrowArray array;
    if (tl_pq_reader_open(mapped ? tl_pq_source_bytes(&bytes) : flaky_source(&f), &options, &r, NULL) != TL_OK) {
        return;
    }
    const tl_pq_row_range ranges[] = {{3, 4}, {500, 1000}};
    TL_OKAY(tl_pq_reader_schema(r, NULL, 0, &arrow, &err));
    for (int32_t g = 0; g < tl_pq_reader_meta(r)->n_row_groups; g++) {
        tl_pq_runs runs;
        if (tl_pq_reader_read(r, g, NULL, 0, NULL, 0, &array, NULL) == TL_OK) {
            check_valid(&arrow, &array);
        }
        if (tl_pq_reader_read(r, g, NULL, 0, ranges, 2, &array, NULL) == TL_OK) {
            check_valid(&arrow, &array);
        }
        if (tl_pq_reader_runs(r, g, 0, &runs, NULL) == TL_OK) {
            assert_int_equal(runs.starts[runs.n_runs], tl_pq_reader_meta(r)->row_groups[g].n_rows);
            tl_pq_runs_free(&runs);
        }
    }
    arrow.release(&arrow);
    tl_pq_reader_free(r);
}

static void damaged_files_are_read_as_valid_arrays_or_refused(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (int variant = 0; variant < 4; variant++) {
        tl_buf file = make_file(variant & 1, variant & 2 ? TL_PQ_UNCOMPRESSED : TL_PQ_SNAPPY, 400);
        for (int i = 0; i < 400; i++) {
            size_t len = tl_dice_one_in(&dice, 10) ? (size_t)tl_dice_below(&dice, file.len) : file.len;
            uint8_t *copy = malloc(len ? len : 1);
            memcpy(copy, file.data, len);
            for (uint64_t k = 0; len && k <= tl_dice_below(&dice, 6); k++) {
                size_t footer = len > 3000 ? 3000 : len; /* half of the damage where the structures are */
                size_t at = tl_dice_one_in(&dice, 2) ? len - 1 - (size_t)tl_dice_below(&dice, footer)
                                                     : (size_t)tl_dice_below(&dice, len);
                copy[at] = (uint8_t)(tl_dice_one_in(&dice, 3) ? copy[at] ^ (1u << tl_dice_below(&dice, 8))
                                                              : tl_dice_u64(&dice));
            }
            read_damaged((tl_bytes){copy, len}, tl_dice_one_in(&dice, 2));
            free(copy);
        }
        tl_buf_free(&file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_reads_give_every_row),
        cmocka_unit_test(ranges_give_their_rows_and_read_only_their_pages),
        cmocka_unit_test(streams_of_any_batch_size_give_every_row),
        cmocka_unit_test(runs_of_a_series_are_as_many_as_its_values),
        cmocka_unit_test(every_failing_allocation_is_survived_without_a_leak),
        cmocka_unit_test(every_failing_read_is_told_without_a_leak),
        cmocka_unit_test(a_footer_known_already_is_not_read_again),
        cmocka_unit_test(the_memory_limit_is_kept_and_named),
        cmocka_unit_test(a_stream_keeps_the_limit_by_shorter_batches),
        cmocka_unit_test(two_billion_rows_in_a_hundred_bytes_take_no_memory),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(files_that_are_not_parquet_are_refused),
        cmocka_unit_test(damaged_files_are_read_as_valid_arrays_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
