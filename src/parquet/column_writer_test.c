/* Column chunks: where pages end, what falls back, what the indexes say, what is refused. */
#include "parquet/testing_internal.h"

#include <math.h>

#include "base/mem.h"
#include "parquet/thrift.h"
#include "parquet/write_internal.h"

#define MAX_PAGES 200

/* The page headers of a chunk, read from its bytes. */
typedef struct pages {
    int n;
    tl_pq_page_header headers[MAX_PAGES];
    size_t sizes[MAX_PAGES]; /* header included */
} pages;

static pages read_pages(const tl_pq_chunk *chunk) {
    pages p = {0};
    for (size_t at = 0; at < chunk->bytes.len; p.n++) {
        assert_true(p.n < MAX_PAGES);
        size_t used;
        tl_bytes rest = {chunk->bytes.data + at, chunk->bytes.len - at};
        TL_OKAY(tl_pq_read_page_header(rest, &p.headers[p.n], &used, &err));
        p.sizes[p.n] = used + (size_t)p.headers[p.n].compressed_size;
        at += p.sizes[p.n];
        assert_true(at <= chunk->bytes.len);
    }
    return p;
}

static tl_pq_column_options flat(tl_pq_type type, tl_pq_encoding encoding) {
    return (tl_pq_column_options){
        .type = type, .encoding = encoding, .max_def = 1, .is_signed = true, .codec = TL_PQ_ZSTD, .level = INT32_MIN};
}

static tl_pq_column_writer *writer_of(const tl_pq_column_options *o) {
    tl_pq_column_writer *w = NULL;
    TL_OKAY(tl_pq_column_writer_create(o, &w, &err));
    return w;
}

static void add(tl_pq_column_writer *w, const void *values, int64_t n) {
    const tl_pq_values v = {n, n, NULL, NULL, values};
    TL_OKAY(tl_pq_column_writer_add(w, &v, &err));
}

static tl_pq_chunk finish(tl_pq_column_writer *w) {
    tl_pq_chunk chunk;
    TL_OKAY(tl_pq_column_writer_finish(w, &chunk, &err));
    return chunk;
}

/* ---- page limits ---- */

static void pages_end_after_so_many_rows(void **state) {
    (void)state;
    static double values[45000];
    for (int i = 0; i < 45000; i++) {
        values[i] = i;
    }
    tl_pq_column_options o = flat(TL_PQ_DOUBLE, TL_PQ_BYTE_STREAM_SPLIT);
    tl_pq_column_writer *w = writer_of(&o);
    add(w, values, 45000);
    tl_pq_chunk chunk = finish(w);
    pages p = read_pages(&chunk);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.headers[0].n_values, 20000);
    assert_int_equal(p.headers[2].n_values, 5000);
    assert_int_equal(chunk.offset_index.pages[2].first_row, 40000);
    assert_int_equal(chunk.column_index.boundary_order, 1);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
}

static void pieces_make_the_same_bytes_as_one_call(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    static double values[45000];
    for (int i = 0; i < 45000; i++) {
        values[i] = (double)tl_dice_below(&dice, 1000);
    }
    const tl_pq_encoding encodings[] = {TL_PQ_PLAIN, TL_PQ_RLE_DICTIONARY, TL_PQ_BYTE_STREAM_SPLIT};
    for (size_t e = 0; e < TL_COUNT(encodings); e++) {
        tl_pq_column_options o = flat(TL_PQ_DOUBLE, encodings[e]);
        tl_pq_column_writer *w = writer_of(&o);
        add(w, values, 45000);
        tl_pq_chunk whole = finish(w);
        TL_OKAY(tl_pq_column_writer_reset(w, &o, &err));
        for (int64_t at = 0; at < 45000;) {
            int64_t n = 8 * (int64_t)tl_dice_below(&dice, 900);
            n = n < 45000 - at ? n : 45000 - at;
            add(w, values + at, n);
            at += n;
        }
        tl_pq_chunk pieces = finish(w);
        assert_int_equal(whole.bytes.len, pieces.bytes.len);
        assert_memory_equal(whole.bytes.data, pieces.bytes.data, whole.bytes.len);
        tl_pq_column_writer_free(w);
        tl_pq_chunk_free(&whole);
        tl_pq_chunk_free(&pieces);
    }
}

static void page_bytes_end_pages_within_one_call(void **state) {
    (void)state;
    static char text[1000];
    static tl_bytes values[3000];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 3000; i++) {
        values[i] = (tl_bytes){(uint8_t *)text, (size_t)(500 + i % 500)};
    }
    const tl_pq_encoding encodings[] = {TL_PQ_PLAIN, TL_PQ_DELTA_LENGTH_BYTE_ARRAY, TL_PQ_DELTA_BYTE_ARRAY};
    for (size_t e = 0; e < TL_COUNT(encodings); e++) {
        tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, encodings[e]);
        o.codec = TL_PQ_UNCOMPRESSED;
        o.page_bytes = 65536;
        tl_pq_column_writer *w = writer_of(&o);
        add(w, values, 3000);
        tl_pq_chunk chunk = finish(w);
        pages p = read_pages(&chunk);
        assert_in_range(p.n, 33, 36); /* 3000 values of 753.5 bytes on average, lengths included */
        int64_t at = 0;
        for (int i = 0; i < p.n; i++) {
            size_t bytes = 0;
            for (int32_t k = 0; k < p.headers[i].n_values; k++) {
                bytes += values[at++].len + 4;
            }
            assert_true(i == p.n - 1 || (bytes >= 65536 && bytes < 65536 + 1004));
        }
        tl_pq_column_writer_free(w);
        tl_pq_chunk_free(&chunk);
    }
}

static void a_page_of_a_dictionary_does_not_blow_up_without_end(void **state) {
    (void)state;
    char *text = tl_alloc(100000);
    memset(text, 'x', 100000);
    const tl_bytes value = {(uint8_t *)text, 100000};
    tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, TL_PQ_RLE_DICTIONARY);
    tl_pq_column_writer *w = writer_of(&o);
    TL_OKAY(tl_pq_column_writer_add_run(w, &value, 5000, &err));
    tl_pq_chunk chunk = finish(w);
    pages p = read_pages(&chunk);
    assert_int_equal(p.n, 1 + 8); /* 500 MB in pages of 64 MiB, and the dictionary */
    assert_true(chunk.bytes.len < 2000);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
    tl_free(text);
}

/* ---- runs ---- */

static void a_constant_column_takes_a_few_bytes_a_page(void **state) {
    (void)state;
    tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, TL_PQ_RLE_DICTIONARY);
    o.codec = TL_PQ_UNCOMPRESSED;
    tl_pq_column_writer *w = writer_of(&o);
    const tl_bytes value = tl_bytes_of("machine-007");
    TL_OKAY(tl_pq_column_writer_add_run(w, &value, 1000000, &err));
    TL_OKAY(tl_pq_column_writer_add_run(w, NULL, 10, &err));
    assert_int_equal(tl_pq_column_writer_rows(w), 1000010);
    tl_pq_chunk chunk = finish(w);
    assert_true(chunk.bytes.len < 51 * 50 + 60);
    assert_int_equal(chunk.meta.stats.null_count, 10);
    assert_memory_equal(chunk.meta.stats.max_value.data, "machine-007", 11);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
}

static void runs_of_any_encoding_equal_their_rows(void **state) {
    (void)state;
    static int64_t values[3000];
    const struct {
        tl_pq_type type;
        tl_pq_encoding encoding;
    } cases[] = {
        {TL_PQ_INT64, TL_PQ_PLAIN}, {TL_PQ_INT64, TL_PQ_DELTA_BINARY_PACKED}, {TL_PQ_INT64, TL_PQ_BYTE_STREAM_SPLIT}};
    for (size_t k = 0; k < TL_COUNT(cases); k++) {
        tl_pq_column_options o = flat(cases[k].type, cases[k].encoding);
        o.page_rows = 700;
        tl_pq_column_writer *w = writer_of(&o);
        for (int64_t i = 0; i < 3000; i++) {
            values[i] = i / 37;
        }
        add(w, values, 3000);
        tl_pq_chunk rows = finish(w);
        TL_OKAY(tl_pq_column_writer_reset(w, &o, &err));
        for (int64_t i = 0; i < 3000; i += 37) {
            TL_OKAY(tl_pq_column_writer_add_run(w, &values[i], 3000 - i < 37 ? 3000 - i : 37, &err));
        }
        tl_pq_chunk runs = finish(w);
        assert_int_equal(rows.bytes.len, runs.bytes.len);
        assert_memory_equal(rows.bytes.data, runs.bytes.data, rows.bytes.len);
        tl_pq_column_writer_free(w);
        tl_pq_chunk_free(&rows);
        tl_pq_chunk_free(&runs);
    }
}

static void runs_of_nan_are_counted(void **state) {
    (void)state;
    const tl_pq_encoding encodings[] = {TL_PQ_PLAIN, TL_PQ_RLE_DICTIONARY};
    for (size_t e = 0; e < 2; e++) {
        tl_pq_column_options o = flat(TL_PQ_DOUBLE, encodings[e]);
        tl_pq_column_writer *w = writer_of(&o);
        const double nan = NAN, one = 1;
        TL_OKAY(tl_pq_column_writer_add_run(w, &nan, 25000, &err));
        TL_OKAY(tl_pq_column_writer_add_run(w, &one, 3, &err));
        tl_pq_chunk chunk = finish(w);
        assert_int_equal(chunk.nan_count, 25000);
        assert_memory_equal(chunk.meta.stats.min_value.data, &one, 8);
        assert_false(chunk.has_column_index); /* the first page is all NaN */
        tl_pq_column_writer_free(w);
        tl_pq_chunk_free(&chunk);
    }
}

/* ---- the dictionary ---- */

static void an_overflowing_dictionary_falls_back_at_a_page_boundary(void **state) {
    (void)state;
    static int64_t values[50000];
    for (int64_t i = 0; i < 50000; i++) {
        values[i] = i < 30000 ? i % 100 : i;
    }
    tl_pq_column_options o = flat(TL_PQ_INT64, TL_PQ_RLE_DICTIONARY);
    o.dictionary_max_values = 1000;
    o.fallback = TL_PQ_DELTA_BINARY_PACKED;
    tl_pq_column_writer *w = writer_of(&o);
    add(w, values, 50000);
    tl_pq_chunk chunk = finish(w);
    pages p = read_pages(&chunk);
    const struct {
        tl_pq_page_type type;
        tl_pq_encoding encoding;
        int32_t n;
    } want[] = {{TL_PQ_DICTIONARY_PAGE, TL_PQ_PLAIN, 1000},
                {TL_PQ_DATA_PAGE, TL_PQ_RLE_DICTIONARY, 20000},
                {TL_PQ_DATA_PAGE, TL_PQ_RLE_DICTIONARY, 10900},
                {TL_PQ_DATA_PAGE, TL_PQ_DELTA_BINARY_PACKED, 19100}};
    assert_int_equal(p.n, TL_COUNT(want));
    for (size_t i = 0; i < TL_COUNT(want); i++) {
        assert_int_equal(p.headers[i].type, want[i].type);
        assert_int_equal(p.headers[i].encoding, want[i].encoding);
        assert_int_equal(p.headers[i].n_values, want[i].n);
    }
    assert_int_equal(chunk.meta.n_encodings, 4); /* PLAIN, RLE, DELTA_BINARY_PACKED, RLE_DICTIONARY */
    assert_int_equal(chunk.meta.n_encoding_stats, 3);
    assert_int_equal(chunk.meta.encoding_stats[0].page_type, TL_PQ_DICTIONARY_PAGE);
    assert_int_equal(chunk.meta.data_page_offset, p.sizes[0]);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
}

static void a_first_value_too_large_leaves_no_dictionary(void **state) {
    (void)state;
    char text[200];
    memset(text, 'x', sizeof text);
    const tl_bytes value = {(uint8_t *)text, sizeof text};
    tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, TL_PQ_RLE_DICTIONARY);
    o.dictionary_max_bytes = 100;
    tl_pq_column_writer *w = writer_of(&o);
    add(w, &value, 1);
    TL_OKAY(tl_pq_column_writer_add_run(w, &value, 5, &err));
    tl_pq_chunk chunk = finish(w);
    pages p = read_pages(&chunk);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.headers[0].encoding, TL_PQ_PLAIN);
    assert_int_equal(p.headers[0].n_values, 6);
    assert_int_equal(chunk.meta.data_page_offset, 0);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
}

static void a_column_of_nulls_has_no_dictionary_and_null_pages(void **state) {
    (void)state;
    tl_pq_column_options o = flat(TL_PQ_INT32, TL_PQ_RLE_DICTIONARY);
    tl_pq_column_writer *w = writer_of(&o);
    TL_OKAY(tl_pq_column_writer_add_run(w, NULL, 30000, &err));
    tl_pq_chunk chunk = finish(w);
    pages p = read_pages(&chunk);
    assert_int_equal(p.n, 2);
    assert_int_equal(p.headers[0].encoding, TL_PQ_PLAIN);
    assert_true(chunk.has_column_index);
    assert_true(chunk.column_index.null_pages[0] && chunk.column_index.null_pages[1]);
    assert_int_equal(chunk.column_index.null_counts[1], 10000);
    assert_int_equal(chunk.meta.stats.null_count, 30000);
    assert_null(chunk.meta.stats.min_value.data);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
}

/* ---- nested ---- */

/* Rows of `length` present elements. */
static void add_lists(tl_pq_column_writer *w, int64_t n_rows, int64_t length, int64_t first) {
    int64_t n = n_rows * length;
    int64_t *values = tl_alloc_array((size_t)n, sizeof *values);
    uint8_t *rep = tl_calloc((size_t)n, 1), *def = tl_calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        values[i] = first + i;
        rep[i] = i % length != 0;
        def[i] = 2;
    }
    for (int64_t at = 0; at < n; at += 70) { /* pieces end inside of rows */
        int64_t piece = n - at < 70 ? n - at : 70;
        const tl_pq_values v = {piece, piece, def + at, rep + at, values + at};
        TL_OKAY(tl_pq_column_writer_add(w, &v, &err));
    }
    tl_free(values);
    tl_free(rep);
    tl_free(def);
}

static void rows_are_never_split_over_pages(void **state) {
    (void)state;
    const tl_pq_encoding encodings[] = {TL_PQ_PLAIN, TL_PQ_RLE_DICTIONARY, TL_PQ_DELTA_BINARY_PACKED};
    for (size_t e = 0; e < TL_COUNT(encodings); e++) {
        tl_pq_column_options o = flat(TL_PQ_INT64, encodings[e]);
        o.max_def = 2;
        o.max_rep = 1;
        o.page_bytes = 400; /* 50 of a row's 100 elements */
        o.page_v2 = true;
        o.dictionary_max_values = 250; /* ends in the middle of the third row */
        tl_pq_column_writer *w = writer_of(&o);
        add_lists(w, 10, 100, 0);
        tl_pq_chunk chunk = finish(w);
        pages p = read_pages(&chunk);
        int from = e == 1, rows = 0;
        assert_int_equal(chunk.n_rows, 10);
        for (int i = from; i < p.n; i++) {
            assert_int_equal(p.headers[i].n_values, 100 * p.headers[i].n_rows);
            rows += p.headers[i].n_rows;
        }
        assert_int_equal(rows, 10);
        if (e == 1) { /* the third row had begun with values of the dictionary: it ends with them */
            assert_int_equal(p.headers[1].encoding, TL_PQ_RLE_DICTIONARY);
            assert_in_range(p.headers[1].n_rows, 2, 3);
            assert_int_equal(p.headers[2].encoding, TL_PQ_PLAIN);
        } else {
            assert_int_equal(p.n, 10);
        }
        tl_pq_column_writer_free(w);
        tl_pq_chunk_free(&chunk);
    }
}

static void a_chunk_that_begins_inside_a_row_is_refused(void **state) {
    (void)state;
    tl_pq_column_options o = flat(TL_PQ_INT32, TL_PQ_PLAIN);
    o.max_def = o.max_rep = 1;
    tl_pq_column_writer *w = writer_of(&o);
    const uint8_t rep[] = {1}, def[] = {1};
    const int32_t value = 5;
    const tl_pq_values v = {1, 1, def, rep, &value};
    assert_int_equal(tl_pq_column_writer_add(w, &v, NULL), TL_INTERNAL);
    const tl_pq_values two = {1, 0, def, (const uint8_t[]){0}, &value};
    assert_int_equal(tl_pq_column_writer_add(w, &two, NULL), TL_INTERNAL); /* the levels say one value */
    tl_pq_column_writer_free(w);
}

/* ---- indexes and statistics ---- */

static void pages_without_bounds_mean_no_column_index(void **state) {
    (void)state;
    uint8_t bytes[80];
    memset(bytes, 0xff, sizeof bytes);
    const tl_bytes values[] = {tl_bytes_of("abc"), {bytes, sizeof bytes}};
    tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, TL_PQ_PLAIN);
    o.page_rows = 1;
    tl_pq_column_writer *w = writer_of(&o);
    add(w, values, 2);
    tl_pq_chunk chunk = finish(w);
    assert_false(chunk.has_column_index);
    assert_int_equal(chunk.offset_index.n_pages, 2);
    assert_memory_equal(chunk.meta.stats.min_value.data, "abc", 3);
    assert_null(chunk.meta.stats.max_value.data);
    assert_true(chunk.meta.stats.has_min_exact && chunk.meta.stats.min_exact && !chunk.meta.stats.has_max_exact);
    tl_pq_column_writer_free(w);
    tl_pq_chunk_free(&chunk);
}

static void page_bounds_tell_their_order(void **state) {
    (void)state;
    const struct {
        int32_t values[4];
        int32_t order;
    } cases[] = {{{1, 2, 2, 3}, 1}, {{3, 2, 2, 1}, 2}, {{1, 3, 2, 4}, 0}, {{5, 5, 5, 5}, 1}, {{-1, 1, 2, 3}, 1}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_pq_column_options o = flat(TL_PQ_INT32, i % 2 ? TL_PQ_RLE_DICTIONARY : TL_PQ_PLAIN);
        o.page_rows = 1;
        tl_pq_column_writer *w = writer_of(&o);
        add(w, cases[i].values, 2);
        TL_OKAY(tl_pq_column_writer_add_run(w, NULL, 1, &err)); /* does not disturb the order */
        add(w, cases[i].values + 2, 2);
        tl_pq_chunk chunk = finish(w);
        assert_int_equal(chunk.column_index.boundary_order, cases[i].order);
        assert_true(chunk.column_index.null_pages[2]);
        tl_pq_column_writer_free(w);
        tl_pq_chunk_free(&chunk);
    }
}

/* ---- refusals ---- */

static void wrong_options_are_refused(void **state) {
    (void)state;
    const tl_pq_column_options wrong[] = {
        {.type = TL_PQ_BOOLEAN, .encoding = TL_PQ_RLE_DICTIONARY},
        {.type = TL_PQ_DOUBLE, .encoding = TL_PQ_DELTA_BINARY_PACKED},
        {.type = TL_PQ_INT32, .encoding = TL_PQ_RLE_DICTIONARY, .fallback = TL_PQ_RLE_DICTIONARY},
        {.type = TL_PQ_INT32, .encoding = TL_PQ_BIT_PACKED},
        {.type = TL_PQ_FIXED},
        {.type = TL_PQ_INT32, .max_rep = 1},
        {.type = TL_PQ_INT32, .page_rows = -1},
    };
    for (size_t i = 0; i < TL_COUNT(wrong); i++) {
        tl_pq_column_writer *w;
        tl_error err;
        assert_int_equal(tl_pq_column_writer_create(&wrong[i], &w, &err), TL_INVALID);
    }
}

static void values_over_two_gib_are_refused_by_number(void **state) {
    (void)state;
    const tl_pq_encoding encodings[] = {TL_PQ_PLAIN, TL_PQ_RLE_DICTIONARY, TL_PQ_DELTA_BYTE_ARRAY};
    for (size_t e = 0; e < TL_COUNT(encodings); e++) {
        tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, encodings[e]);
        tl_pq_column_writer *w = writer_of(&o);
        const tl_bytes values[] = {tl_bytes_of("a"), {(const uint8_t *)"never looked at", (size_t)INT32_MAX + 1}};
        const tl_pq_values v = {2, 2, NULL, NULL, values};
        tl_error why;
        assert_int_equal(tl_pq_column_writer_add(w, &v, &why), TL_INVALID);
        assert_non_null(strstr(why.message, "value 1 "));
        TL_OKAY(tl_pq_column_writer_reset(w, &o, &err));
        assert_int_equal(tl_pq_column_writer_add_run(w, &values[1], 1, NULL), TL_INVALID);
        tl_pq_column_writer_free(w);
    }
}

static void a_finished_writer_wants_a_reset(void **state) {
    (void)state;
    tl_pq_column_options o = flat(TL_PQ_INT32, TL_PQ_PLAIN);
    tl_pq_column_writer *w = writer_of(&o);
    const int32_t one = 1;
    add(w, &one, 1);
    tl_pq_chunk chunk = finish(w), again;
    const tl_pq_values v = {1, 1, NULL, NULL, &one};
    assert_int_equal(tl_pq_column_writer_add(w, &v, NULL), TL_INTERNAL);
    assert_int_equal(tl_pq_column_writer_add_run(w, &one, 1, NULL), TL_INTERNAL);
    assert_int_equal(tl_pq_column_writer_finish(w, &again, NULL), TL_INTERNAL);
    tl_pq_chunk_free(&chunk);
    o = flat(TL_PQ_BYTE_ARRAY, TL_PQ_DELTA_BYTE_ARRAY); /* of another type */
    TL_OKAY(tl_pq_column_writer_reset(w, &o, &err));
    const tl_bytes text = tl_bytes_of("text");
    add(w, &text, 1);
    chunk = finish(w);
    assert_int_equal(chunk.meta.n_values, 1);
    tl_pq_chunk_free(&chunk);
    tl_pq_column_writer_free(w);
}

/* ---- memory ---- */

static tl_status write_something(tl_pq_chunk *out) {
    static const char text[] =
        "some text that is long enough to be cut when it becomes a bound of its page, and longer";
    tl_pq_column_options o = flat(TL_PQ_BYTE_ARRAY, TL_PQ_RLE_DICTIONARY);
    o.page_rows = 50;
    o.dictionary_max_values = 300;
    o.fallback = TL_PQ_DELTA_BYTE_ARRAY;
    tl_pq_column_writer *w;
    TL_TRY(tl_pq_column_writer_create(&o, &w, NULL));
    tl_bytes values[600];
    for (size_t i = 0; i < 600; i++) {
        values[i] = (tl_bytes){(const uint8_t *)text + i % 7, sizeof text - 7 - i % 80};
    }
    const tl_pq_values v = {600, 600, NULL, NULL, values};
    tl_status status = tl_pq_column_writer_add(w, &v, NULL);
    if (status == TL_OK) {
        status = tl_pq_column_writer_add_run(w, NULL, 100, NULL);
    }
    if (status == TL_OK) {
        status = tl_pq_column_writer_finish(w, out, NULL);
    }
    tl_pq_column_writer_free(w);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        assert_true(n < 5000);
        tl_pq_chunk chunk = {0};
        (void)tl_mem_fail_at(n);
        tl_status status = write_something(&chunk);
        (void)tl_mem_fail_at(0);
        if (status == TL_OK) {
            assert_true(n > 20);
            tl_pq_chunk_free(&chunk);
            return;
        }
        assert_int_equal(status, TL_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_end_after_so_many_rows),
        cmocka_unit_test(pieces_make_the_same_bytes_as_one_call),
        cmocka_unit_test(page_bytes_end_pages_within_one_call),
        cmocka_unit_test(a_page_of_a_dictionary_does_not_blow_up_without_end),
        cmocka_unit_test(a_constant_column_takes_a_few_bytes_a_page),
        cmocka_unit_test(runs_of_any_encoding_equal_their_rows),
        cmocka_unit_test(runs_of_nan_are_counted),
        cmocka_unit_test(an_overflowing_dictionary_falls_back_at_a_page_boundary),
        cmocka_unit_test(a_first_value_too_large_leaves_no_dictionary),
        cmocka_unit_test(a_column_of_nulls_has_no_dictionary_and_null_pages),
        cmocka_unit_test(rows_are_never_split_over_pages),
        cmocka_unit_test(a_chunk_that_begins_inside_a_row_is_refused),
        cmocka_unit_test(pages_without_bounds_mean_no_column_index),
        cmocka_unit_test(page_bounds_tell_their_order),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(values_over_two_gib_are_refused_by_number),
        cmocka_unit_test(a_finished_writer_wants_a_reset),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
