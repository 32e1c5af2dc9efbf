/*
 * Measures the Parquet writer on one thread. Comes in: an Arrow IPC file of flat columns (made by
 * ../shared/bench/parquet_rows.py). Goes out: CPU seconds (median of 5 runs) and bytes; with --columns also per column.
 *
 *     write_bench rows.arrow [out.parquet] [--runs N] [--columns] [--codec zstd|none] [--page-rows N]
 *                 [--doubles split|plain|dictionary]
 *
 * Encodings as "tuned" there: strings, int32 and "_ingest_ts" as dictionary, other int64 as delta, doubles split.
 * A record batch becomes a row group.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "nanoarrow/nanoarrow.h"
#include "nanoarrow/nanoarrow_ipc.h"

#include "base/mem.h"
#include "parquet/shred.h"
#include "parquet/writer.h"

#define MAX_COLUMNS 64
#define IPC_MAGIC 8 /* bytes before the stream in an IPC file */

typedef struct bench {
    struct ArrowSchema schema;
    struct ArrowArray batches[1024];
    int n_batches, n_columns;
    tl_pq_schema_element elements[MAX_COLUMNS + 1];
    tl_pq_column_options options[MAX_COLUMNS];
    double column_seconds[MAX_COLUMNS];
    int64_t column_bytes[MAX_COLUMNS];
    tl_pq_codec codec;
    tl_pq_encoding doubles;
    int32_t page_rows;
} bench;

static double cpu_seconds(void) {
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int fail(const char *what) {
    (void)fprintf(stderr, "write_bench: %s\n", what);
    return 1;
}

static int read_file(const char *path, struct ArrowBuffer *out) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        return fail("cannot read the input file");
    }
    long size = ftell(f);
    rewind(f);
    ArrowBufferInit(out);
    if (size <= IPC_MAGIC || ArrowBufferResize(out, size - IPC_MAGIC, 0) != NANOARROW_OK ||
        fseek(f, IPC_MAGIC, SEEK_SET) != 0 || fread(out->data, (size_t)out->size_bytes, 1, f) != 1) {
        (void)fclose(f);
        return fail("cannot read the input file");
    }
    (void)fclose(f);
    return 0;
}

static int read_batches(bench *b, const char *path) {
    struct ArrowBuffer bytes;
    struct ArrowIpcInputStream input;
    struct ArrowArrayStream stream;
    struct ArrowError error;
    if (read_file(path, &bytes)) {
        return 1;
    }
    if (ArrowIpcInputStreamInitBuffer(&input, &bytes) != NANOARROW_OK ||
        ArrowIpcArrayStreamReaderInit(&stream, &input, NULL) != NANOARROW_OK ||
        ArrowArrayStreamGetSchema(&stream, &b->schema, &error) != NANOARROW_OK) {
        return fail("the input is no Arrow IPC file");
    }
    while (b->n_batches < (int)TL_COUNT(b->batches)) {
        if (ArrowArrayStreamGetNext(&stream, &b->batches[b->n_batches], &error) != NANOARROW_OK) {
            return fail(error.message);
        }
        if (!b->batches[b->n_batches].release) {
            break;
        }
        b->n_batches++;
    }
    ArrowArrayStreamRelease(&stream);
    return 0;
}

static int set_column(bench *b, int i) {
    const struct ArrowSchema *field = b->schema.children[i];
    tl_pq_schema_element e = {.name = field->name, .is_leaf = true, .repetition = TL_PQ_OPTIONAL, .field_id = i + 1};
    tl_pq_encoding encoding = TL_PQ_RLE_DICTIONARY;
    if (strcmp(field->format, "u") == 0) {
        e.type = TL_PQ_BYTE_ARRAY;
        e.logical = TL_PQ_LOGICAL_STRING;
    } else if (strncmp(field->format, "tsu:", 4) == 0) {
        e.type = TL_PQ_INT64;
        e.logical = TL_PQ_LOGICAL_TIMESTAMP;
        e.unit = TL_PQ_MICROS;
        e.utc = field->format[4] != '\0';
        encoding = strcmp(field->name, "_ingest_ts") == 0 ? encoding : TL_PQ_DELTA_BINARY_PACKED;
    } else if (strcmp(field->format, "g") == 0) {
        e.type = TL_PQ_DOUBLE;
        encoding = b->doubles;
    } else if (strcmp(field->format, "i") == 0) {
        e.type = TL_PQ_INT32;
    } else {
        return fail("a column type that this bench does not know");
    }
    b->elements[i + 1] = e;
    tl_pq_leaf leaf = {.element = i + 1, .top = i, .max_def = 1};
    b->options[i] = tl_pq_column_options_of(&e, &leaf);
    b->options[i].encoding = encoding;
    b->options[i].codec = b->codec;
    b->options[i].page_rows = b->page_rows;
    return 0;
}

static tl_column view(const struct ArrowArray *a, const tl_pq_schema_element *e) {
    tl_column c = {.length = a->length, .validity = a->null_count ? a->buffers[0] : NULL};
    if (e->type == TL_PQ_BYTE_ARRAY) {
        c.kind = TL_COLUMN_BYTES;
        c.offsets32 = a->buffers[1];
        c.data = a->buffers[2];
    } else {
        c.kind = TL_COLUMN_FIXED;
        c.width = e->type == TL_PQ_INT32 ? 4 : 8;
        c.values = a->buffers[1];
    }
    return c;
}

static tl_status emit(void *ctx, int32_t leaf, const tl_pq_values *values, tl_error *err) {
    (void)leaf;
    return tl_pq_column_writer_add(ctx, values, err);
}

static tl_status write_column(bench *b, int batch, int i, tl_pq_column_writer *w, tl_pq_chunk *out, tl_error *err) {
    double start = cpu_seconds();
    tl_column column = view(b->batches[batch].children[i], &b->elements[i + 1]);
    TL_TRY(tl_pq_column_writer_reset(w, &b->options[i], err));
    for (int64_t from = 0; from < column.length; from += b->page_rows) {
        int64_t n = column.length - from < b->page_rows ? column.length - from : b->page_rows;
        TL_TRY(tl_pq_shred(&column, b->elements, b->n_columns + 1, i + 1, NULL, NULL, from, n, emit, w, err));
    }
    TL_TRY(tl_pq_column_writer_finish(w, out, err));
    b->column_seconds[i] += cpu_seconds() - start;
    b->column_bytes[i] += (int64_t)out->bytes.len;
    return TL_OK;
}

static tl_status sink_file(void *ctx, const void *data, size_t len, tl_error *err) {
    return len == 0 || fwrite(data, len, 1, ctx) == 1 ? TL_OK : tl_fail(err, TL_IO, "cannot write the output file");
}

static tl_status write_all(bench *b, FILE *file, int64_t *bytes, tl_error *err) {
    tl_pq_column_writer *writer;
    tl_pq_file_writer *out;
    tl_pq_chunk chunks[MAX_COLUMNS];
    const tl_pq_file_options options = {.schema = b->elements, .n_schema = b->n_columns + 1};
    TL_TRY(tl_pq_column_writer_create(&b->options[0], &writer, err));
    TL_TRY(tl_pq_file_writer_create(&options, (tl_pq_sink){sink_file, file}, &out, err));
    for (int batch = 0; batch < b->n_batches; batch++) {
        for (int i = 0; i < b->n_columns; i++) {
            TL_TRY(write_column(b, batch, i, writer, &chunks[i], err));
        }
        TL_TRY(tl_pq_file_writer_add_row_group(out, chunks, b->n_columns, err));
    }
    TL_TRY(tl_pq_file_writer_finish(out, NULL, err));
    *bytes = tl_pq_file_writer_bytes(out);
    tl_pq_file_writer_free(out);
    tl_pq_column_writer_free(writer);
    return TL_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int run(bench *b, const char *out_path, int runs, bool per_column) {
    double took[64];
    int64_t bytes = 0;
    for (int r = 0; r < runs; r++) {
        tl_error err;
        FILE *file = fopen(out_path, "wb");
        double start = cpu_seconds();
        if (!file || write_all(b, file, &bytes, &err) != TL_OK || fclose(file) != 0) {
            return fail(file ? err.message : "cannot write the output file");
        }
        took[r] = cpu_seconds() - start;
    }
    qsort(took, (size_t)runs, sizeof *took, by_value);
    printf("timelake write %.3f CPU s (least %.3f), %lld bytes\n", took[runs / 2], took[0], (long long)bytes);
    for (int i = 0; per_column && i < b->n_columns; i++) {
        printf("  %-12s %.3f CPU s, %lld bytes\n", b->elements[i + 1].name, b->column_seconds[i] / runs,
               (long long)b->column_bytes[i] / runs);
    }
    return 0;
}

int main(int argc, char **argv) {
    static bench b = {.codec = TL_PQ_ZSTD, .doubles = TL_PQ_BYTE_STREAM_SPLIT, .page_rows = 20000};
    const char *in = NULL, *out = "/dev/null";
    int runs = 5;
    bool per_column = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--columns") == 0) {
            per_column = true;
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            runs = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--page-rows") == 0 && i + 1 < argc) {
            b.page_rows = (int32_t)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--codec") == 0 && i + 1 < argc) {
            b.codec = strcmp(argv[++i], "none") == 0 ? TL_PQ_UNCOMPRESSED : TL_PQ_ZSTD;
        } else if (strcmp(argv[i], "--doubles") == 0 && i + 1 < argc) {
            i++;
            b.doubles = argv[i][0] == 'p'   ? TL_PQ_PLAIN
                        : argv[i][0] == 'd' ? TL_PQ_RLE_DICTIONARY
                                            : TL_PQ_BYTE_STREAM_SPLIT;
        } else if (in) {
            out = argv[i];
        } else {
            in = argv[i];
        }
    }
    if (!in || runs < 1 || runs > 64 || b.page_rows < 1) {
        return fail("usage: write_bench rows.arrow [out.parquet] [--runs N] [--columns] [--codec zstd|none] "
                    "[--page-rows N] [--doubles split|plain|dictionary]");
    }
    if (read_batches(&b, in)) {
        return 1;
    }
    b.n_columns = (int)b.schema.n_children;
    if (b.n_columns < 1 || b.n_columns > MAX_COLUMNS) {
        return fail("1 to 64 columns, please");
    }
    b.elements[0] = (tl_pq_schema_element){.name = "schema", .n_children = b.n_columns, .field_id = -1};
    for (int i = 0; i < b.n_columns; i++) {
        if (set_column(&b, i)) {
            return 1;
        }
    }
    int status = run(&b, out, runs, per_column);
    for (int i = 0; i < b.n_batches; i++) {
        ArrowArrayRelease(&b.batches[i]);
    }
    ArrowSchemaRelease(&b.schema);
    return status;
}
