/*
 * What planning a read costs: loading the table, its live files, finding older copies.
 *     older_bench LAKE [TABLE [RUNS [COPIES [LINE]]]]
 * Comes in: a lake that is there (bench/read.py makes them). Goes out: a line a figure: milliseconds (median and
 * least), bytes read, peak memory. The figures of one line are of one process and a warm page cache.
 * LINE: only figures whose name holds it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "read/cache.h"
#include "read/read_internal.h"

static double now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + 1e-6 * (double)t.tv_nsec;
}

static double cpu_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + 1e-6 * (double)t.tv_nsec;
}

static void check(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        (void)fprintf(stderr, "%s: %s\n", tl_status_name(status), err->message);
        exit(1);
    }
}

/* Bytes this process asked the system for by read and pread; 0 where that is not known. */
static long long bytes_read(void) {
    FILE *f = fopen("/proc/self/io", "r");
    long long n = 0;
    if (f) {
        n = fscanf(f, "rchar: %lld", &n) == 1 ? n : 0;
        (void)fclose(f);
    }
    return n;
}

/* Peak memory of this program alone: getrusage counts that of the process it was started from as well. */
static long peak_kb(void) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kb = 0;
    while (f && kb == 0 && fgets(line, sizeof line, f)) {
        (void)sscanf(line, "VmHWM: %ld", &kb);
    }
    if (f) {
        (void)fclose(f);
    }
    return kb;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_times(const char *name, double *ms, int n, double cpu_begin, const char *rest) {
    double cpu = (cpu_ms() - cpu_begin) / n;
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    printf("%-30s %8.2f ms  least %8.2f  cpu %8.2f%s%s\n", name, ms[n / 2], ms[0], cpu, *rest ? "  " : "", rest);
    (void)fflush(stdout);
}

typedef struct bench {
    tl_store *store;
    tl_table *table;
    char ns[256], name[256];
    int runs;
    double *ms;
    const char *line; /* of figures, a part of their names; "" = all */
} bench;

static bool wanted(const bench *b, const char *name) {
    return strstr(name, b->line) != NULL;
}

static void time_load(bench *b) {
    tl_error err = {{0}};
    double cpu = cpu_ms();
    for (int i = 0; i < b->runs; i++) {
        double begin = now_ms();
        tl_table *t;
        check(tl_table_load(b->store, b->ns, b->name, &t, &err), &err);
        b->ms[i] = now_ms() - begin;
        tl_table_release(t);
    }
    print_times("load the table", b->ms, b->runs, cpu, "");
}

static void time_files(bench *b) {
    tl_error err = {{0}};
    char rest[128] = "";
    double cpu = cpu_ms();
    for (int i = 0; i < b->runs; i++) {
        double begin = now_ms();
        tl_live_files files;
        check(tl_table_files(b->table, NULL, &files, &err), &err);
        b->ms[i] = now_ms() - begin;
        (void)snprintf(rest, sizeof rest, "%lld files in %lld manifests", (long long)files.n_data,
                       (long long)files.n_manifests);
        tl_live_files_free(&files);
    }
    print_times("live files", b->ms, b->runs, cpu, rest);
}

typedef enum known { NOTHING, BESIDE, ONE_COMMIT_LESS, ALL } known;

/* What a run may know. */
static void prepare(bench *b, known what) {
    tl_error err = {{0}};
    const tl_metadata *m = &b->table->metadata;
    if (what == ALL) {
        return;
    }
    tl_read_forget();
    if (what != BESIDE) { /* as if the object had been looked for */
        (void)tl_older_cache_first(tl_older_table_id(b->table, tl_metadata_schema(m)));
    }
    if (what == ONE_COMMIT_LESS && m->n_snapshots > 1) {
        tl_plan *plan;
        const tl_plan_options before = {.snapshot = &m->snapshots[m->n_snapshots - 2]};
        check(tl_plan_create(b->table, &before, &plan, &err), &err);
        tl_plan_release(plan);
    }
}

static void time_plan(bench *b, const char *name, const tl_plan_options *options, known what) {
    if (!wanted(b, name)) {
        return;
    }
    tl_error err = {{0}};
    char rest[256] = "";
    double cpu = cpu_ms(), preparing = 0;
    for (int i = 0; i < b->runs; i++) {
        double cpu_before = cpu_ms();
        prepare(b, what);
        preparing += cpu_ms() - cpu_before;
        long long read_before = bytes_read();
        double begin = now_ms();
        tl_plan *plan;
        check(tl_plan_create(b->table, options, &plan, &err), &err);
        b->ms[i] = now_ms() - begin;
        long long bytes = 0;
        for (int64_t f = 0; f < plan->n_scan; f++) {
            bytes += plan->scan[f].file->file.file_size;
        }
        (void)snprintf(rest, sizeof rest, "%lld files, %lld rows, %lld hidden; read %.2f of %.1f MB; peak %ld MB",
                       (long long)plan->n_scan, (long long)plan->rows, (long long)plan->hidden_rows,
                       (double)(bytes_read() - read_before) / 1e6, (double)bytes / 1e6, peak_kb() / 1024);
        tl_plan_release(plan);
    }
    print_times(name, b->ms, b->runs, cpu + preparing, rest);
}

/* Every file `copies` times, as if all batches had been sent again so often. */
static void time_copies(bench *b, int copies, tl_pool *pool) {
    tl_error err = {{0}};
    char rest[128] = "", name[64];
    double cpu = cpu_ms();
    (void)snprintf(name, sizeof name, "older copies: %d full copies", copies);
    if (!wanted(b, name)) {
        return;
    }
    for (int i = 0; i < b->runs; i++) {
        tl_plan *p;
        check(tl_plan_create(b->table, &(tl_plan_options){.keep_copies = true}, &p, &err), &err);
        int64_t n = p->files.n_data, all = n * copies, hidden = 0, rows = 0;
        tl_live_file *files = tl_arena_array(&p->arena, (size_t)all, sizeof *files);
        tl_plan_file *scan = tl_arena_array(&p->arena, (size_t)all, sizeof *scan);
        for (int64_t f = 0; files && scan && f < all; f++) {
            files[f] = p->files.data[f % n];
            files[f].sequence_number += f / n * 1000000;
            scan[f] = (tl_plan_file){.file = &files[f]};
            rows += files[f].file.record_count;
        }
        p->files.data = files;
        p->files.n_data = all;
        p->scan = scan;
        p->n_scan = all;
        double begin = now_ms();
        check(tl_plan_hide_older_of(p, tl_metadata_schema(&b->table->metadata), pool, &err), &err);
        b->ms[i] = now_ms() - begin;
        for (int64_t f = 0; f < all; f++) {
            hidden += scan[f].n_hidden;
        }
        (void)snprintf(rest, sizeof rest, "%lld rows, %lld hidden; peak %ld MB", (long long)rows, (long long)hidden,
                       peak_kb() / 1024);
        tl_plan_release(p);
    }
    print_times(name, b->ms, b->runs, cpu, rest);
}

static const tl_column_stats *stats(const tl_live_file *f, int32_t field_id) {
    for (int32_t i = 0; i < f->file.n_columns; i++) {
        if (f->file.columns[i].field_id == field_id) {
            return &f->file.columns[i];
        }
    }
    return NULL;
}

static void time_narrow(bench *b) {
    tl_error err = {{0}};
    tl_live_files files;
    check(tl_table_files(b->table, NULL, &files, &err), &err);
    const tl_contract *c = &b->table->contract;
    const tl_schema *schema = tl_metadata_schema(&b->table->metadata);
    const tl_live_file *f = files.n_data ? &files.data[files.n_data / 2] : NULL;
    const tl_column_stats *time = f && c->time >= 0 ? stats(f, schema->fields[c->time].id) : NULL;
    int64_t max = 0;
    if (time && tl_value_int64(&schema->fields[c->time].type, time->upper, &max)) {
        int64_t hour = INT64_C(3600000000), from = max / hour * hour - hour;
        time_plan(b, "plan: one hour", &(tl_plan_options){.has_time = true, .from_us = from, .to_us = from + hour},
                  false);
    }
    const tl_column_stats *key = f && c->n_series ? stats(f, schema->fields[c->series[0]].id) : NULL;
    if (key && key->lower.data) {
        const tl_key_filter filter = {c->series[0], key->lower};
        time_plan(b, "plan: one series", &(tl_plan_options){.keys = &filter, .n_keys = 1}, NOTHING);
    }
    tl_live_files_free(&files);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        (void)fprintf(stderr, "usage: older_bench LAKE [TABLE [RUNS [COPIES [LINE]]]]\n");
        return 2;
    }
    bench b = {.runs = argc > 3 ? atoi(argv[3]) : 11, .line = argc > 5 ? argv[5] : ""};
    b.ms = calloc((size_t)b.runs, sizeof *b.ms);
    tl_error err = {{0}};
    tl_pool *two = NULL;
    check(tl_table_name_parse(argc > 2 ? argv[2] : "readings", "default", b.ns, b.name, &err), &err);
    check(tl_store_open(argv[1], false, tl_env_default(), &b.store, &err), &err);
    check(tl_pool_create(2, &two, &err), &err);
    time_load(&b);
    check(tl_table_load(b.store, b.ns, b.name, &b.table, &err), &err);
    time_files(&b);
    time_plan(&b, "plan: copies kept", &(tl_plan_options){.keep_copies = true}, NOTHING);
    time_narrow(&b);
    time_plan(&b, "plan: all, one thread", &(tl_plan_options){0}, NOTHING);
    time_plan(&b, "plan: all, two threads", &(tl_plan_options){.pool = two}, NOTHING);
    time_plan(&b, "plan: all, kept beside", &(tl_plan_options){.pool = two}, BESIDE);
    time_plan(&b, "plan: all, one commit more", &(tl_plan_options){.pool = two}, ONE_COMMIT_LESS);
    time_plan(&b, "plan: all, known", &(tl_plan_options){.pool = two}, ALL);
    for (int copies = 1; copies <= (argc > 4 ? atoi(argv[4]) : 0); copies *= 2) {
        time_copies(&b, copies, NULL);
    }
    tl_table_release(b.table);
    tl_store_close(b.store);
    tl_pool_free(two);
    free(b.ms);
    return 0;
}
