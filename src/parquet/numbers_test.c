/*
 * Numbers as steps, and values by their places, against what was written: any regularity, pages and row groups of any
 * length, optional columns with and without nulls, dictionaries that are too large.
 */
#include "parquet/testing_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parquet/reader.h"
#include "parquet/writer.h"

#define ROWS_MOST 5000

static tl_dice seeded;

static uint64_t dice(uint64_t n) {
    return tl_dice_below(&seeded, n);
}

typedef struct column {
    int64_t n, n_nulls;
    uint8_t def[ROWS_MOST];      /* 0 = null */
    int64_t numbers[ROWS_MOST];  /* of the rows that are not null, one after the other */
    tl_bytes texts[ROWS_MOST];   /* the same, for a column of texts */
    char letters[ROWS_MOST][16]; /* what these point at */
} column;

/* A file of one column, in memory. */
static tl_buf write_column(const column *c, bool text, bool optional, tl_pq_encoding encoding, int32_t page_rows) {
    tl_pq_schema_element schema[] = {{.name = "schema", .n_children = 1, .field_id = -1},
                                     {.name = "x",
                                      .is_leaf = true,
                                      .type = text ? TL_PQ_BYTE_ARRAY : TL_PQ_INT64,
                                      .repetition = optional ? TL_PQ_OPTIONAL : TL_PQ_REQUIRED,
                                      .field_id = 1}};
    const tl_pq_values values = {c->n, c->n - c->n_nulls, optional ? c->def : NULL, NULL,
                                 text ? (const void *)c->texts : (const void *)c->numbers};
    tl_buf out = {0};
    tl_pq_file_writer *fw;
    tl_pq_column_writer *w;
    tl_pq_leaf *leaves;
    tl_pq_chunk chunk;
    int32_t n_leaves;
    TL_OKAY(tl_pq_schema_leaves(schema, 2, &leaves, &n_leaves, &err));
    TL_OKAY(tl_pq_file_writer_create(&(tl_pq_file_options){.schema = schema, .n_schema = 2}, tl_pq_sink_buf(&out), &fw,
                                     &err));
    tl_pq_column_options o = tl_pq_column_options_of(&schema[1], &leaves[0]);
    o.encoding = encoding;
    o.page_rows = page_rows;
    o.page_v2 = dice(2);
    TL_OKAY(tl_pq_column_writer_create(&o, &w, &err));
    TL_OKAY(tl_pq_column_writer_add(w, &values, &err));
    TL_OKAY(tl_pq_column_writer_finish(w, &chunk, &err));
    tl_pq_column_writer_free(w);
    TL_OKAY(tl_pq_file_writer_add_row_group(fw, &chunk, 1, &err));
    TL_OKAY(tl_pq_file_writer_finish(fw, NULL, &err));
    tl_pq_file_writer_free(fw);
    tl_free(leaves);
    return out;
}

/* One number in `odd` breaks the step; now and then the greatest there are. */
static void make_numbers(column *c, bool nulls, uint64_t odd) {
    int64_t value = (int64_t)dice(UINT64_MAX), step = (int64_t)dice(100) - 20;
    c->n = 1 + (int64_t)dice(ROWS_MOST);
    c->n_nulls = 0;
    for (int64_t i = 0, at = 0; i < c->n; i++) {
        c->def[i] = !nulls || dice(50) > 0;
        c->n_nulls += !c->def[i];
        value = dice(odd) ? (int64_t)((uint64_t)value + (uint64_t)step) : (int64_t)dice(UINT64_MAX);
        if (c->def[i]) {
            c->numbers[at++] = value;
        }
    }
}

static void check_steps(const column *c, tl_pq_reader *r, bool *was_stepped) {
    tl_pq_steps steps = {0};
    bool stepped;
    int64_t rows = 1 + (int64_t)dice((uint64_t)c->n), n_nulls, row = 0;
    int64_t *out = calloc((size_t)c->n, sizeof *out);
    uint8_t *validity = calloc((size_t)c->n / 8 + 1, 1);
    TL_OKAY(tl_pq_reader_steps(r, 0, 0, rows, &steps, &stepped, out, validity, &n_nulls, &err));
    for (int64_t i = 0; stepped && i < steps.n; i++) {
        uint64_t value = (uint64_t)steps.items[i].first;
        for (int64_t k = 0; k < steps.items[i].n; k++, value += (uint64_t)steps.items[i].step) {
            assert_true(row < c->n);
            assert_int_equal(c->numbers[row++], (int64_t)value);
        }
    }
    assert_true(!stepped || row >= rows);
    for (int64_t i = 0, at = 0; !stepped && i < c->n; i++) {
        assert_int_equal(out[i], c->def[i] ? c->numbers[at++] : 0);
    }
    assert_true(stepped || n_nulls == c->n_nulls);
    *was_stepped = stepped;
    tl_pq_steps_free(&steps);
    free(out);
    free(validity);
}

static tl_pq_reader *open_reader(const tl_bytes *bytes) {
    tl_pq_reader *r;
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(bytes), NULL, &r, &err));
    return r;
}

static void steps_are_the_numbers(void **state) {
    (void)state;
    column *c = calloc(1, sizeof *c);
    int stepped_files = 0, others = 0;
    seeded = tl_dice_new();
    for (int k = 0; k < 300; k++) {
        bool optional = dice(2), nulls = optional && dice(2), stepped;
        make_numbers(c, nulls, dice(2) ? 100 : 1 + dice(20));
        tl_pq_encoding encoding = dice(6) ? TL_PQ_DELTA_BINARY_PACKED : TL_PQ_PLAIN;
        tl_buf file = write_column(c, false, optional, encoding, dice(2) ? 100000 : 1 + (int32_t)dice(900));
        const tl_bytes bytes = {file.data, file.len};
        tl_pq_reader *r = open_reader(&bytes);
        check_steps(c, r, &stepped);
        assert_false(stepped && (encoding == TL_PQ_PLAIN || c->n_nulls));
        stepped_files += stepped;
        others += !stepped;
        tl_pq_reader_free(r);
        tl_buf_free(&file);
    }
    assert_true(stepped_files > 30 && others > 30);
    free(c);
}

static void make_texts(column *c, bool nulls, uint64_t n_values, uint64_t run) {
    c->n = 1 + (int64_t)dice(ROWS_MOST);
    c->n_nulls = 0;
    uint64_t value = 0;
    for (int64_t i = 0, at = 0; i < c->n; i++) {
        c->def[i] = !nulls || dice(9) > 0;
        c->n_nulls += !c->def[i];
        value = dice(run) ? value : dice(n_values);
        if (c->def[i]) {
            (void)snprintf(c->letters[at], sizeof c->letters[at], "%.*s%llu", (int)(value % 3), "ab",
                           (unsigned long long)value);
            c->texts[at] = tl_bytes_of(c->letters[at]);
            at++;
        }
    }
}

static bool check_places(const column *c, tl_pq_reader *r) {
    tl_pq_runs runs;
    TL_OKAY(tl_pq_reader_runs_or_places(r, 0, 0, &runs, &err));
    assert_int_equal(runs.n_rows, c->n);
    int64_t run = 0;
    for (int64_t i = 0, at = 0; i < c->n; i++) {
        while (!runs.places && runs.starts[run + 1] <= i) {
            run++;
        }
        int64_t place = runs.places ? runs.places[i] : run;
        assert_true(place >= 0 && place < runs.n_runs);
        assert_int_equal(runs.is_null[place], !c->def[i]);
        if (c->def[i]) {
            assert_true(tl_bytes_equal(runs.values[place], c->texts[at]));
            at++;
        }
    }
    bool places = runs.places != NULL;
    tl_pq_runs_free(&runs);
    return places;
}

static void places_are_the_values(void **state) {
    (void)state;
    column *c = calloc(1, sizeof *c);
    int by_places = 0, by_runs = 0;
    seeded = tl_dice_new();
    for (int k = 0; k < 200; k++) {
        bool optional = dice(2);
        make_texts(c, optional && dice(2), dice(4) ? 1 + dice(60) : 1000000, dice(2) ? 1 : 1 + dice(30));
        tl_pq_encoding encoding = dice(6) ? TL_PQ_RLE_DICTIONARY : TL_PQ_PLAIN;
        tl_buf file = write_column(c, true, optional, encoding, dice(2) ? 100000 : 1 + (int32_t)dice(900));
        const tl_bytes bytes = {file.data, file.len};
        tl_pq_reader *r = open_reader(&bytes);
        bool places = check_places(c, r);
        by_places += places;
        by_runs += !places;
        tl_pq_reader_free(r);
        tl_buf_free(&file);
    }
    assert_true(by_places > 20 && by_runs > 20);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_numbers),
        cmocka_unit_test(places_are_the_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
