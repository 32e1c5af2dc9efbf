/*
 * One append of a long stream of distinct readings through the C API, with a memory limit: what it takes, and the most
 * memory that the process ever had.
 *     stream_bench LAKE ROWS MEMORY-LIMIT
 * Readings of 5,000 machines, one each ten seconds, two in a hundred up to an hour late; batches are made one at a time
 * when they are asked for (about 63 bytes a row) and freed by who takes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "nanoarrow/nanoarrow.h"

#include "base/hash.h"
#include "base/mem.h"
#include "timelake.h"

enum { MACHINES = 5000, BATCH_ROWS = 65536, COLUMNS = 7 };

typedef struct source {
    int64_t rows, at;
} source;

static void check(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        (void)fprintf(stderr, "%s: %s\n", tl_status_name(status), err->message);
        exit(1);
    }
}

static int make_schema(struct ArrowSchema *out) {
    static const char *const names[COLUMNS] = {"time",     "machine", "temperature", "vibration",
                                               "pressure", "current", "status"};
    ArrowSchemaInit(out);
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetTypeStruct(out, COLUMNS));
    NANOARROW_RETURN_NOT_OK(
        ArrowSchemaSetTypeDateTime(out->children[0], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetType(out->children[1], NANOARROW_TYPE_STRING));
    for (int i = 2; i < 6; i++) {
        NANOARROW_RETURN_NOT_OK(ArrowSchemaSetType(out->children[i], NANOARROW_TYPE_DOUBLE));
    }
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetType(out->children[6], NANOARROW_TYPE_INT64));
    for (int i = 0; i < COLUMNS; i++) {
        NANOARROW_RETURN_NOT_OK(ArrowSchemaSetName(out->children[i], names[i]));
    }
    return NANOARROW_OK;
}

/* A value with `scale` steps to the unit that wanders with time around the machine's own level. */
static double reading(uint64_t machine, int64_t turn, uint64_t noise, double scale) {
    double level = 20 + (double)(machine % 97) / 4 + (double)(turn % 8640) / 900;
    double value = level + (double)(noise % 2001) / 1000;
    return scale > 0 ? (double)(int64_t)(value * scale) / scale : value + (double)(noise >> 40) * 1e-9;
}

static int add_row(struct ArrowArray *a, int64_t row) {
    int64_t turn = row / MACHINES, us = 1764547200000000 + turn * 10000000;
    uint64_t machine = (uint64_t)(row % MACHINES), noise = tl_hash_u64((uint64_t)row);
    if (noise % 50 == 0) {
        us -= (int64_t)(noise / 50 % 360) * 10000000 + 5000000;
    }
    char name[32];
    int n = snprintf(name, sizeof name, "machine-%04u", (unsigned)machine);
    NANOARROW_RETURN_NOT_OK(ArrowArrayAppendInt(a->children[0], us));
    NANOARROW_RETURN_NOT_OK(ArrowArrayAppendString(a->children[1], (struct ArrowStringView){name, n}));
    static const double scales[4] = {100, 10000, 0, 1000};
    for (int i = 0; i < 4; i++) {
        double value = reading(machine, turn, tl_hash_mix(noise, (uint64_t)i + 3), scales[i]);
        NANOARROW_RETURN_NOT_OK(ArrowArrayAppendDouble(a->children[2 + i], value));
    }
    NANOARROW_RETURN_NOT_OK(ArrowArrayAppendInt(a->children[6], noise % 1000 == 1));
    return ArrowArrayFinishElement(a);
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    (void)s;
    return make_schema(out);
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    source *src = s->private_data;
    out->release = NULL;
    if (src->at == src->rows) {
        return 0;
    }
    struct ArrowSchema schema;
    NANOARROW_RETURN_NOT_OK(make_schema(&schema));
    int code = ArrowArrayInitFromSchema(out, &schema, NULL);
    ArrowSchemaRelease(&schema);
    NANOARROW_RETURN_NOT_OK(code);
    NANOARROW_RETURN_NOT_OK(ArrowArrayStartAppending(out));
    for (int i = 0; i < BATCH_ROWS && src->at < src->rows; i++) {
        NANOARROW_RETURN_NOT_OK(add_row(out, src->at++));
    }
    return ArrowArrayFinishBuildingDefault(out, NULL);
}

static const char *last_error(struct ArrowArrayStream *s) {
    (void)s;
    return NULL;
}

static void release(struct ArrowArrayStream *s) {
    s->release = NULL;
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        (void)fprintf(stderr, "usage: stream_bench LAKE ROWS MEMORY-LIMIT-IN-BYTES\n");
        return 2;
    }
    source src = {.rows = strtoll(argv[2], NULL, 10)};
    struct ArrowArrayStream stream = {get_schema, get_next, last_error, release, &src};
    struct ArrowSchema schema;
    tl_lake *lake;
    tl_error err = {{0}};
    check(tl_lake_open(argv[1], NULL, &lake, &err), &err);
    if (make_schema(&schema) != NANOARROW_OK) {
        return 1;
    }
    const tl_table_spec spec = {.time_column = "time", .series_key = "machine"};
    check(tl_create(lake, "readings", &schema, &spec, &err), &err);
    ArrowSchemaRelease(&schema);
    const tl_append_params params = {.memory_limit = strtoll(argv[3], NULL, 10), .no_maintain = 1};
    tl_append_result result;
    struct timespec begin, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    check(tl_append(lake, "readings", &stream, &params, &result, &err), &err);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    printf("stream: %lld rows in, %lld written, %lld files, %.1f MB, cpu %.1f wall %.1f, peak RSS %.0f MB\n",
           (long long)result.rows_read, (long long)result.rows, (long long)result.files, (double)result.bytes / 1e6,
           seconds(u.ru_utime) + seconds(u.ru_stime),
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec),
           (double)u.ru_maxrss / 1024);
    tl_lake_close(lake);
    return 0;
}
