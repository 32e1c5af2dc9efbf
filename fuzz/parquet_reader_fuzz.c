/*
 * Fuzzing of the Parquet reader. Comes in: any bytes as a file. Must hold: no crash, no hang, no memory beyond the
 * limit, and every array that is given out is valid Arrow.
 *
 * With libFuzzer (cmake -DTL_FUZZ=ON -DTL_SANITIZE=ON, CC=clang): parquet_reader_fuzz CORPUS_DIR
 * Otherwise a replay driver: parquet_reader_fuzz FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"
#include "parquet/reader.h"

#define MEMORY_LIMIT ((size_t)96 << 20)
#define MANY_ROWS 200000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what, const char *why) {
    if (!ok) {
        fprintf(stderr, "%s: %s\n", what, why);
        abort();
    }
}

/* The array is what its schema says; takes the array. */
static void check_array(const struct ArrowSchema *schema, struct ArrowArray *array) {
    struct ArrowArrayView view;
    struct ArrowError why = {0};
    must(ArrowArrayViewInitFromSchema(&view, schema, &why) == 0, "schema", why.message);
    must(ArrowArrayViewSetArray(&view, array, &why) == 0, "array", why.message);
    must(ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &why) == 0, "values", why.message);
    ArrowArrayViewReset(&view);
    array->release(array);
}

static void read_arrays(tl_pq_reader *r, const struct ArrowSchema *schema, int32_t group) {
    struct ArrowArray array;
    int64_t n = tl_pq_reader_meta(r)->row_groups[group].n_rows;
    if (tl_pq_reader_read(r, group, NULL, 0, NULL, 0, &array, NULL) == TL_OK) {
        must(array.length == n, "length", "differs from the row group's");
        check_array(schema, &array);
    }
    tl_pq_row_range ranges[2] = {{n / 5, n / 7}, {n / 2, n / 3}};
    if (tl_pq_reader_read(r, group, NULL, 0, ranges, 2, &array, NULL) == TL_OK) {
        must(array.length == n / 7 + n / 3, "length", "differs from the ranges'");
        check_array(schema, &array);
    }
}

/* The place of each row's value has that value, as runs have it. */
static void read_places(tl_pq_reader *r, int32_t group, int32_t leaf, int64_t n) {
    tl_pq_runs places, runs;
    if (tl_pq_reader_runs_or_places(r, group, leaf, &places, NULL) != TL_OK) {
        return;
    }
    must(places.n_rows == n, "places", "do not cover the rows");
    if (places.places && tl_pq_reader_runs(r, group, leaf, &runs, NULL) == TL_OK) {
        for (int64_t i = 0; i < runs.n_runs; i++) {
            for (int64_t row = runs.starts[i]; row < runs.starts[i + 1]; row++) {
                int32_t at = places.places[row];
                must(at >= 0 && at < places.n_runs, "places", "outside of the values");
                must(places.is_null[at] == runs.is_null[i], "places", "another null");
                must(runs.is_null[i] || tl_bytes_equal(places.values[at], runs.values[i]), "places", "another value");
            }
        }
        tl_pq_runs_free(&runs);
    }
    tl_pq_runs_free(&places);
}

/* Steps are the numbers, as far as they go. */
static void read_steps(tl_pq_reader *r, int32_t group, int32_t leaf, const int64_t *numbers, int64_t n,
                       uint8_t *validity) {
    tl_pq_steps steps = {0};
    bool stepped;
    int64_t nulls, *out = tl_alloc_array((size_t)n, sizeof *out);
    if (out && tl_pq_reader_steps(r, group, leaf, n, &steps, &stepped, out, validity, &nulls, NULL) == TL_OK) {
        int64_t row = 0;
        for (int64_t i = 0; stepped && i < steps.n; i++) {
            uint64_t value = (uint64_t)steps.items[i].first;
            for (int64_t k = 0; k < steps.items[i].n; k++, value += (uint64_t)steps.items[i].step) {
                must(row < n && numbers[row++] == (int64_t)value, "steps", "another number");
            }
        }
        must(stepped ? row == n : memcmp(out, numbers, (size_t)n * sizeof *out) == 0, "steps", "not the numbers");
    }
    tl_pq_steps_free(&steps);
    tl_free(out);
}

static void read_keys(tl_pq_reader *r, int32_t group, int32_t leaf) {
    tl_pq_runs runs;
    int64_t n = tl_pq_reader_meta(r)->row_groups[group].n_rows, nulls;
    if (tl_pq_reader_runs(r, group, leaf, &runs, NULL) == TL_OK) {
        must(runs.n_rows == n && runs.starts[runs.n_runs] == n, "runs", "do not cover the rows");
        for (int64_t i = 0; i < runs.n_runs; i++) {
            must(runs.starts[i] < runs.starts[i + 1], "runs", "empty");
        }
        tl_pq_runs_free(&runs);
    }
    if (n > MANY_ROWS) {
        return;
    }
    read_places(r, group, leaf, n);
    int64_t *numbers = tl_alloc_array((size_t)n, sizeof *numbers);
    uint8_t *validity = tl_alloc((size_t)n / 8 + 1);
    if (numbers && validity && tl_pq_reader_int64(r, group, leaf, numbers, validity, &nulls, NULL) == TL_OK) {
        must(tl_bits_count(validity, 0, n) == n - nulls, "numbers", "the null count is wrong");
        read_steps(r, group, leaf, numbers, n, validity);
    }
    tl_free(numbers);
    tl_free(validity);
}

static void read_stream(tl_pq_reader *r, const struct ArrowSchema *schema) {
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    if (tl_pq_reader_stream(r, NULL, 0, NULL, 0, 500, &stream, NULL) != TL_OK) {
        return;
    }
    for (int i = 0; i < 20 && stream.get_next(&stream, &array) == 0 && array.release; i++) {
        check_array(schema, &array);
    }
    stream.release(&stream);
}

static void read_group(tl_pq_reader *r, const struct ArrowSchema *schema, int32_t group) {
    int32_t n_leaves;
    (void)tl_pq_reader_leaves(r, &n_leaves);
    read_arrays(r, schema, group);
    for (int32_t leaf = 0; leaf < n_leaves && leaf < 20; leaf++) {
        tl_pq_offset_index pages;
        tl_pq_column_index bounds;
        bool has;
        read_keys(r, group, leaf);
        if (tl_pq_reader_offset_index(r, group, leaf, &pages, &has, NULL) != TL_OK ||
            tl_pq_reader_column_index(r, group, leaf, &bounds, &has, NULL) != TL_OK) {
            continue;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size); /* of its exact size, so that a read behind the end is seen */
    if (size && copy) {
        memcpy(copy, data, size);
    }
    tl_bytes bytes = {copy, copy ? size : 0};
    tl_pq_read_options options = {.memory_limit = MEMORY_LIMIT, .tail = size % 3 ? 64 : 0, .int96_micros = size & 1};
    tl_pq_source source = tl_pq_source_bytes(&bytes);
    source.mapped = size % 5 ? source.mapped : NULL;
    tl_pq_reader *r;
    if (tl_pq_reader_open(source, &options, &r, NULL) == TL_OK) {
        struct ArrowSchema schema;
        if (tl_pq_reader_schema(r, NULL, 0, &schema, NULL) == TL_OK) {
            for (int32_t g = 0; g < tl_pq_reader_meta(r)->n_row_groups && g < 3; g++) {
                read_group(r, &schema, g);
            }
            read_stream(r, &schema);
            schema.release(&schema);
        }
        tl_pq_reader_free(r);
    }
    free(copy);
    return 0;
}

#include "replay.h"
