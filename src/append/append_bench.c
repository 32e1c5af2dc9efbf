/*
 * Times align + append of Arrow or Parquet input that is in memory already, phase by phase.
 *
 *     append_bench [--threads N] [--compact] [--memory BYTES] [--time COLUMN] [--series A,B] [--chunk day] [--repeat N]
 *                  [--no-dedup] [--no-ingest] [--property KEY=VALUE]... [--times N] STORE FILE...
 *
 * STORE is a location such as /tmp/lake or memory://bench; FILEs are .parquet or Arrow IPC streams. Prints one line a
 * repetition (with --times each appends the input N times over, moved on in time, as a stream): CPU and wall seconds
 * per phase, rows, bytes, files, and the process's peak memory above the input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "append/appender_internal.h"
#include "base/mem.h"
#include "iceberg/schema_from_arrow.h"
#include "nanoarrow/nanoarrow.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "parquet/reader.h"
#include "store/store.h"

typedef struct options {
    unsigned threads;
    bool compact, no_dedup, no_ingest;
    int64_t memory;
    const char *time, *series, *chunk, *store;
    int repeat, times;
    tl_property properties[16];
    int32_t n_properties;
} options;

typedef struct input {
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    size_t n, cap;
    int64_t rows;
} input;

static void die(const char *what, const tl_error *err) {
    (void)fprintf(stderr, "%s: %s\n", what, err ? err->message : "failed");
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static tl_bytes read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    tl_buf b = {0};
    if (!f) {
        die(path, NULL);
    }
    for (size_t n = 1; n > 0; b.len += n) {
        if (tl_buf_reserve(&b, 1 << 20) != TL_OK) {
            die(path, NULL);
        }
        n = fread(b.data + b.len, 1, b.cap - b.len, f);
    }
    (void)fclose(f);
    return tl_buf_bytes(&b);
}

static void take_stream(input *in, struct ArrowArrayStream *stream, const char *path) {
    struct ArrowSchema schema;
    if (stream->get_schema(stream, &schema) != 0) {
        die(path, NULL);
    }
    if (in->schema.release) {
        schema.release(&schema);
    } else {
        in->schema = schema;
    }
    for (;;) {
        struct ArrowArray array = {0};
        if (stream->get_next(stream, &array) != 0) {
            die(path, NULL);
        }
        if (!array.release) {
            return;
        }
        if (in->n == in->cap) {
            in->cap = in->cap ? in->cap * 2 : 64;
            in->batches = realloc(in->batches, in->cap * sizeof *in->batches);
            if (!in->batches) {
                die(path, NULL);
            }
        }
        in->rows += array.length;
        in->batches[in->n++] = array;
    }
}

/* Reads one file; its batches stay in memory. */
static void load(input *in, const char *path) {
    tl_error err;
    tl_bytes bytes = read_file(path);
    size_t len = strlen(path);
    struct ArrowArrayStream stream = {0};
    if (len > 8 && strcmp(path + len - 8, ".parquet") == 0) {
        tl_pq_reader *reader;
        if (tl_pq_reader_open(tl_pq_source_bytes(&bytes), NULL, &reader, &err) != TL_OK ||
            tl_pq_reader_stream(reader, NULL, 0, NULL, 0, 0, &stream, &err) != TL_OK) {
            die(path, &err);
        }
        take_stream(in, &stream, path);
        stream.release(&stream);
        tl_pq_reader_free(reader);
        tl_free((void *)(uintptr_t)bytes.data);
        return;
    }
    struct ArrowBuffer buffer;
    ArrowBufferInit(&buffer);
    struct ArrowIpcInputStream source;
    if (ArrowBufferAppend(&buffer, bytes.data, (int64_t)bytes.len) != NANOARROW_OK ||
        ArrowIpcInputStreamInitBuffer(&source, &buffer) != NANOARROW_OK ||
        ArrowIpcArrayStreamReaderInit(&stream, &source, NULL) != NANOARROW_OK) {
        die(path, NULL);
    }
    tl_free((void *)(uintptr_t)bytes.data);
    take_stream(in, &stream, path);
    stream.release(&stream);
}

/* A second owner of a batch: its release does nothing, so that the batch can be appended again. */
static void release_nothing(struct ArrowArray *array) {
    array->release = NULL;
}

/* A batch whose times are moved on; everything else is looked at. */
typedef struct moved_batch {
    struct ArrowArray time;
    const void *buffers[2];
    struct ArrowArray *children[64];
} moved_batch;

static void release_moved(struct ArrowArray *array) {
    moved_batch *m = array->private_data;
    free((void *)(uintptr_t)m->buffers[1]);
    free(m);
    array->release = NULL;
}

static struct ArrowArray move_on(const struct ArrowArray *batch, int64_t column, int64_t by_us) {
    struct ArrowArray out = *batch;
    moved_batch *m = calloc(1, sizeof *m);
    const struct ArrowArray *time = batch->children[column];
    size_t n = (size_t)(time->length + time->offset);
    int64_t *times = malloc(n * sizeof *times + 8);
    if (!m || !times || batch->n_children > 64) {
        die("memory", NULL);
    }
    for (size_t i = 0; i < n; i++) {
        times[i] = ((const int64_t *)time->buffers[1])[i] + by_us;
    }
    for (int64_t i = 0; i < batch->n_children; i++) {
        m->children[i] = batch->children[i];
    }
    m->time = *time;
    m->buffers[0] = time->buffers[0];
    m->buffers[1] = times;
    m->time.buffers = m->buffers;
    m->time.release = release_nothing;
    m->children[column] = &m->time;
    out.children = m->children;
    out.private_data = m;
    out.release = release_moved;
    return out;
}

static tl_table *make_table(const options *o, tl_store *store, const input *in, int run) {
    tl_error err;
    tl_arena arena = {0};
    tl_schema schema;
    const char *ingest = o->no_ingest || !o->time ? NULL : "_ingest_ts";
    if (tl_schema_from_arrow(&in->schema, o->time, ingest, &arena, &schema, &err) != TL_OK) {
        die("schema", &err);
    }
    char *series = o->series && *o->series ? strdup(o->series) : NULL;
    const char *keys[16];
    int32_t n_keys = 0;
    for (char *k = series ? strtok(series, ",") : NULL; k && n_keys < 16; k = strtok(NULL, ",")) {
        keys[n_keys++] = k;
    }
    char name[32];
    (void)snprintf(name, sizeof name, "run_%d", run);
    tl_create_options create = {.schema = &schema,
                                .time_column = o->time,
                                .series_key = keys,
                                .n_series_key = n_keys,
                                .ingest_column = ingest,
                                .chunk = o->chunk,
                                .dedup = o->no_dedup ? 0 : -1,
                                .properties = o->properties,
                                .n_properties = o->n_properties};
    tl_table *table = NULL;
    tl_status dropped = tl_table_drop(store, "default", name, &err); /* of a run before this one */
    (void)dropped;
    if (tl_table_create(store, "default", name, &create, &table, &err) != TL_OK) {
        die("create", &err);
    }
    free(series);
    tl_arena_free(&arena);
    return table;
}

enum { ALIGN, ADD, SORT, NOTE, WRITE, TAKE, PHASES };
static const char *const names[PHASES] = {"align", "rank", "sort", "newest", "encode", "take"};

typedef struct lap_times {
    double cpu[PHASES], wall[PHASES], cpu_at, wall_at;
} lap_times;

static void lap(lap_times *t, int phase) {
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    if (phase >= 0) {
        t->cpu[phase] += cpu - t->cpu_at;
        t->wall[phase] += wall - t->wall_at;
    }
    t->cpu_at = cpu;
    t->wall_at = wall;
}

static int64_t add_all(const options *o, const input *in, tl_table *table, tl_appender *a, lap_times *t) {
    tl_error err;
    tl_align *align;
    if (tl_align_create(a->schema, a->contract->ingest, &in->schema, &align, &err) != TL_OK) {
        die("align", &err);
    }
    int64_t rows = 0, stamp = tl_env_now_us(table->store->env);
    int64_t day = 86400000000;
    for (size_t k = 0; k < in->n * (size_t)o->times; k++) {
        size_t i = k % in->n;
        struct ArrowArray array = in->batches[i];
        array.release = release_nothing;
        if (k >= in->n && a->contract->time >= 0) {
            array = move_on(&in->batches[i], a->contract->time, (int64_t)(k / in->n) * day);
        }
        int64_t n = array.length;
        tl_batch batch = {0};
        if (tl_align_batch(align, &array, rows, stamp, &batch, &err) != TL_OK) {
            die("align", &err);
        }
        lap(t, ALIGN);
        if (tl_appender_add(a, &batch, &err) != TL_OK) {
            die("add", &err);
        }
        lap(t, ADD);
        rows += n;
    }
    tl_align_free(align);
    return rows;
}

/* tl_appender_finish in its phases, for the case that everything is in memory. */
static void finish_in_phases(tl_appender *a, lap_times *t, tl_staged *out) {
    tl_error err;
    tl_sorted sorted;
    if (tl_appender_sort(a, &sorted, &err) != TL_OK) {
        die("sort", &err);
    }
    lap(t, SORT);
    if (tl_appender_note(a, &sorted, &err) != TL_OK) {
        die("newest", &err);
    }
    lap(t, NOTE);
    tl_sources sources = tl_group_sources(&a->group);
    uint32_t kept;
    if (tl_appender_write(a, &sources, &sorted, a->group.bytes, false, &kept, &err) != TL_OK) {
        die("write", &err);
    }
    lap(t, WRITE);
    tl_sorted_free(&sorted);
    if (tl_stager_take(&a->stager, NULL, out, &err) != TL_OK) {
        die("take", &err);
    }
    lap(t, TAKE);
}

static void print_encodings(const tl_appender *a) {
    static const char *const encodings[] = {[TL_PQ_PLAIN] = "plain",
                                            [TL_PQ_RLE] = "rle",
                                            [TL_PQ_DELTA_BINARY_PACKED] = "delta",
                                            [TL_PQ_RLE_DICTIONARY] = "dictionary",
                                            [TL_PQ_BYTE_STREAM_SPLIT] = "split"};
    for (int32_t i = 0; i < a->leaves.n_leaves; i++) {
        tl_pq_encoding e = a->encoder.options[i].encoding;
        (void)printf(" %s=%s%s", a->leaves.schema[a->leaves.leaves[i].element].name,
                     a->encoder.options[i].sort_dictionary ? "sorted-" : "",
                     e < TL_COUNT(encodings) && encodings[e] ? encodings[e] : "?");
    }
    (void)printf("\n");
}

static long peak_kb(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void run_once(const options *o, tl_store *store, const input *in, int run, long before_kb) {
    tl_error err;
    tl_table *table = make_table(o, store, in, run);
    tl_pool *pool = NULL;
    if (tl_pool_create(o->threads, &pool, &err) != TL_OK) {
        die("pool", &err);
    }
    tl_append_options append = {.pool = pool, .memory_limit = o->memory, .compact_profile = o->compact};
    tl_appender *a;
    if (tl_appender_create(table, &append, &a, &err) != TL_OK) {
        die("appender", &err);
    }
    lap_times t = {0};
    lap(&t, -1);
    double cpu = t.cpu_at, wall = t.wall_at;
    int64_t rows = add_all(o, in, table, a, &t);
    tl_staged staged;
    if (a->contract->time >= 0 && a->n_runs == 0) {
        finish_in_phases(a, &t, &staged);
    } else if (tl_appender_finish(a, &staged, &err) != TL_OK) {
        die("finish", &err);
    } else {
        lap(&t, WRITE);
    }
    cpu = t.cpu_at - cpu;
    wall = t.wall_at - wall;
    (void)printf("cpu %.3f wall %.3f rows/s %.2fM | ", cpu, wall, (double)rows / wall * 1e-6);
    for (int i = 0; i < PHASES; i++) {
        (void)printf("%s %.3f/%.3f ", names[i], t.cpu[i], t.wall[i]);
    }
    (void)printf("| %lld rows %.2f MB %d files, +%ld MB\n", (long long)staged.rows, (double)staged.bytes * 1e-6,
                 staged.n_files, (peak_kb() - before_kb) / 1024);
    if (run == 0) {
        print_encodings(a);
    }
    tl_appender_free(a);
    tl_staged_free(&staged);
    tl_pool_free(pool);
    tl_table_release(table);
}

int main(int argc, char **argv) {
    options o = {.threads = 1, .time = "time", .series = "machine", .chunk = "day", .repeat = 3, .times = 1};
    input in = {0};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";
        int used = 1;
        if (strcmp(arg, "--threads") == 0) {
            o.threads = (unsigned)strtoul(next, NULL, 10);
        } else if (strcmp(arg, "--memory") == 0) {
            o.memory = strtoll(next, NULL, 10);
        } else if (strcmp(arg, "--time") == 0) {
            o.time = *next ? next : NULL;
        } else if (strcmp(arg, "--series") == 0) {
            o.series = next;
        } else if (strcmp(arg, "--chunk") == 0) {
            o.chunk = next;
        } else if (strcmp(arg, "--repeat") == 0) {
            o.repeat = (int)strtol(next, NULL, 10);
        } else if (strcmp(arg, "--times") == 0) {
            o.times = (int)strtol(next, NULL, 10);
        } else if (strcmp(arg, "--property") == 0 && strchr(next, '=') && o.n_properties < 16) {
            char *text = argv[i + 1];
            char *value = strchr(text, '=');
            *value = '\0';
            o.properties[o.n_properties++] = (tl_property){text, value + 1};
        } else {
            used = 0;
            if (strcmp(arg, "--compact") == 0) {
                o.compact = true;
            } else if (strcmp(arg, "--no-dedup") == 0) {
                o.no_dedup = true;
            } else if (strcmp(arg, "--no-ingest") == 0) {
                o.no_ingest = true;
            } else if (!o.store) {
                o.store = arg;
            } else {
                load(&in, arg);
            }
        }
        i += used;
    }
    if (!o.store || !in.n) {
        (void)fprintf(stderr, "usage: append_bench [options] STORE FILE...\n");
        return 2;
    }
    tl_error err;
    tl_store *store;
    if (tl_store_open(o.store, true, NULL, &store, &err) != TL_OK) {
        die(o.store, &err);
    }
    (void)printf("%lld rows in %zu batches\n", (long long)in.rows, in.n);
    long before = peak_kb();
    for (int run = 0; run < o.repeat; run++) {
        run_once(&o, store, &in, run, before);
    }
    tl_store_close(store);
    return 0;
}
