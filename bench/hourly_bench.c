/*
 * Times many small appends through the C API: one commit a file, input in memory.
 *     hourly_bench LAKE TIME SERIES FILE.parquet...
 * Prints CPU and wall seconds of all appends together, durable as they are by default, and the share of the kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/mem.h"
#include "parquet/reader.h"
#include "timelake.h"

static double wall_now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

typedef struct usage {
    double cpu, system;
    long faults;
} usage;

static usage usage_now(void) {
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (usage){seconds(u.ru_utime) + seconds(u.ru_stime), seconds(u.ru_stime), u.ru_minflt};
}

static void check(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        (void)fprintf(stderr, "%s: %s\n", tl_status_name(status), err->message);
        exit(1);
    }
}

/* The whole file as one batch. */
static void load(const char *path, struct ArrowSchema *schema, struct ArrowArrayStream *out, int64_t *rows) {
    tl_error err = {{0}};
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = tl_alloc(size);
    if (!data || fread(data, 1, size, f) != size) {
        perror(path);
        exit(1);
    }
    (void)fclose(f);
    tl_bytes bytes = {data, size};
    tl_pq_reader *reader;
    check(tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &reader, &err), &err);
    int32_t n = tl_pq_reader_meta(reader)->n_row_groups;
    struct ArrowArray *arrays = tl_calloc((size_t)n, sizeof *arrays);
    for (int32_t g = 0; g < n && arrays; g++) {
        check(tl_pq_reader_read(reader, g, NULL, 0, NULL, 0, &arrays[g], &err), &err);
        *rows += arrays[g].length;
    }
    check(tl_pq_reader_schema(reader, NULL, 0, schema, &err), &err);
    check(tl_stream_of(schema, arrays, (size_t)n, out, &err), &err);
    tl_free(arrays);
    tl_pq_reader_free(reader);
    tl_free(data);
}

int main(int argc, char **argv) {
    if (argc < 5) {
        (void)fprintf(stderr, "usage: hourly_bench LAKE TIME SERIES FILE.parquet...\n");
        return 2;
    }
    int n = argc - 4;
    struct ArrowSchema *schemas = tl_calloc((size_t)n, sizeof *schemas);
    struct ArrowArrayStream *inputs = tl_calloc((size_t)n, sizeof *inputs);
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        load(argv[4 + i], &schemas[i], &inputs[i], &rows);
    }
    tl_lake *lake;
    tl_error err = {{0}};
    check(tl_lake_open(argv[1], NULL, &lake, &err), &err);
    const tl_table_spec spec = {.time_column = argv[2], .series_key = argv[3]};
    check(tl_create(lake, "readings", &schemas[0], &spec, &err), &err);
    usage before = usage_now();
    double wall = wall_now();
    for (int i = 0; i < n; i++) {
        const tl_append_params params = {.batch_id = argv[4 + i], .no_maintain = 1};
        check(tl_append(lake, "readings", &inputs[i], &params, NULL, &err), &err);
    }
    wall = wall_now() - wall;
    usage after = usage_now();
    printf("hourly: %lld rows, %d commits, cpu %.3f wall %.3f (system %.3f, page faults %ld)\n", (long long)rows, n,
           after.cpu - before.cpu, wall, after.system - before.system, after.faults - before.faults);
    tl_lake_close(lake);
    for (int i = 0; i < n; i++) {
        schemas[i].release(&schemas[i]);
    }
    tl_free(schemas);
    tl_free(inputs);
    return 0;
}
