/*
 * How fast the Parquet reader is. Comes in: a file (bench/parquet_rows.py makes tuned.parquet), columns by number.
 * Goes out: CPU seconds, medians of five runs and the first one: all columns as Arrow arrays kept to the end; the key
 * columns as runs (the first) and int64 arrays (the others).
 *
 * Freed memory stays with the process, as it does with the allocator of Arrow C++, which this is compared with: the
 * median shows the reader, the first run shows the page faults of fresh memory too.
 *
 *   read_bench FILE [KEY_RUNS_LEAF KEY_INT64_LEAF...]     default 0 1
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "parquet/reader.h"

#define REPEATS 5

typedef struct input {
    tl_pq_source source;
    int32_t runs_leaf;
    int32_t int_leaves[16];
    int n_int_leaves;
} input;

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail_on(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        fprintf(stderr, "%s: %s\n", tl_status_name(status), err->message);
        exit(1);
    }
}

/* Reads everything and keeps it, as a table would be kept. */
static int64_t read_all(const input *in) {
    tl_error err;
    tl_pq_reader *r;
    fail_on(tl_pq_reader_open(in->source, NULL, &r, &err), &err);
    int32_t groups = tl_pq_reader_meta(r)->n_row_groups;
    struct ArrowArray *batches = tl_calloc((size_t)groups, sizeof *batches);
    int64_t rows = 0;
    for (int32_t g = 0; g < groups; g++) {
        fail_on(tl_pq_reader_read(r, g, NULL, 0, NULL, 0, &batches[g], &err), &err);
        rows += batches[g].length;
    }
    for (int32_t g = 0; g < groups; g++) {
        batches[g].release(&batches[g]);
    }
    tl_free(batches);
    tl_pq_reader_free(r);
    return rows;
}

static int64_t read_keys(const input *in) {
    tl_error err;
    tl_pq_reader *r;
    fail_on(tl_pq_reader_open(in->source, NULL, &r, &err), &err);
    const tl_pq_file_meta *m = tl_pq_reader_meta(r);
    int64_t found = 0, *numbers = tl_alloc_array((size_t)m->n_rows, sizeof *numbers), row = 0, nulls;
    for (int32_t g = 0; g < m->n_row_groups; g++) {
        tl_pq_runs runs;
        fail_on(tl_pq_reader_runs(r, g, in->runs_leaf, &runs, &err), &err);
        found += runs.n_runs;
        tl_pq_runs_free(&runs);
        for (int k = 0; k < in->n_int_leaves; k++) {
            fail_on(tl_pq_reader_int64(r, g, in->int_leaves[k], numbers + row, NULL, &nulls, &err), &err);
        }
        row += m->row_groups[g].n_rows;
    }
    tl_free(numbers);
    tl_pq_reader_free(r);
    return found;
}

static int compare_doubles(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static double median_cpu(int64_t (*work)(const input *), const input *in, int64_t *result, double *first) {
    double took[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        double begin = cpu_now();
        *result = work(in);
        took[i] = cpu_now() - begin;
    }
    *first = took[0];
    qsort(took, REPEATS, sizeof *took, compare_doubles);
    return took[REPEATS / 2];
}

int main(int argc, char **argv) {
    struct stat st;
    int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "usage: read_bench FILE [KEY_RUNS_LEAF KEY_INT64_LEAF...]\n");
        return 2;
    }
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    tl_bytes bytes = {map, (size_t)st.st_size};
    input in = {.source = tl_pq_source_bytes(&bytes), .int_leaves = {1}, .n_int_leaves = 1};
    if (argc > 2) {
        in.runs_leaf = (int32_t)strtol(argv[2], NULL, 10);
        in.n_int_leaves = 0;
    }
    for (int i = 3; i < argc && in.n_int_leaves < 16; i++) {
        in.int_leaves[in.n_int_leaves++] = (int32_t)strtol(argv[i], NULL, 10);
    }
    int64_t rows, runs;
    double first_all, first_keys;
    double all = median_cpu(read_all, &in, &rows, &first_all), keys = median_cpu(read_keys, &in, &runs, &first_keys);
    printf("all columns: %.3f CPU s, first %.3f (%lld rows)   keys: %.3f CPU s, first %.3f (%lld runs)\n", all,
           first_all, (long long)rows, keys, first_keys, (long long)runs);
    munmap(map, (size_t)st.st_size);
    close(fd);
    return 0;
}
