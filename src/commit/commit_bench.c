/*
 * How long a commit takes, and whether it grows with the table: N commits of one small file each, on a local disk.
 *   commit_bench DIRECTORY COMMITS [sync] [batch]
 * Prints medians of wall and CPU time around commits 100, 1,000, 5,000, 10,000 ..., and beside them what the syncs
 * alone take: the same files and folders, as many at once, a turn after each of those commits.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pool.h"
#include "commit/commit.h"

enum { COLUMNS = 8, WINDOW = 50 };

static tl_field fields[COLUMNS];
static tl_schema schema = {.n_fields = COLUMNS, .fields = fields};
static const char *const names[COLUMNS] = {"ts", "machine", "a", "b", "c", "d", "e", "f"};

static int64_t clock_of(clockid_t id) {
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void die(const tl_error *err) {
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static void stage(tl_store *s, int64_t number, tl_staged *out) {
    static uint8_t bytes[1700];
    static int64_t bound[2], times[1], machines[1];
    static double values[1];
    static tl_column columns[COLUMNS];
    *out = (tl_staged){.n_files = 1, .rows = 10, .rows_in = 10, .bytes = sizeof bytes, .n_touched = 1};
    tl_arena *a = &out->arena;
    int32_t day = (int32_t)(number / 500);
    out->files = tl_arena_array(a, 1, sizeof *out->files);
    out->keys = tl_arena_array(a, 1, sizeof *out->keys);
    out->touched = tl_arena_array(a, 1, sizeof *out->touched);
    tl_column_stats *stats = tl_arena_array(a, COLUMNS, sizeof *stats);
    tl_partition_value *p = tl_arena_array(a, 1, sizeof *p);
    char *key = tl_arena_format(a, "default/r/data/ts_day=%d/%lld.parquet", day, (long long)number);
    char *uri = tl_store_uri(s, key);
    tl_error err;
    bound[0] = number;
    bound[1] = number + 5;
    for (int i = 0; i < COLUMNS; i++) {
        stats[i] = (tl_column_stats){.field_id = i + 1,
                                     .size = 100,
                                     .values = 10,
                                     .nulls = 0,
                                     .nans = 0,
                                     .lower = {(uint8_t *)&bound[0], 8},
                                     .upper = {(uint8_t *)&bound[1], 8}};
    }
    p->value = (tl_bytes){tl_arena_copy(a, &day, 4), 4};
    out->files[0] = (tl_data_file){.path = tl_arena_strdup(a, uri),
                                   .format = "PARQUET",
                                   .partition = p,
                                   .n_partition = 1,
                                   .record_count = 10,
                                   .file_size = sizeof bytes,
                                   .columns = stats,
                                   .n_columns = COLUMNS,
                                   .sort_order_id = 1,
                                   .content_offset = -1,
                                   .content_size = -1};
    tl_free(uri);
    out->keys[0] = key;
    out->touched[0] = (tl_touched){day, bound[0], bound[1], 10};
    times[0] = number;
    machines[0] = number % 50;
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = (tl_column){.kind = TL_COLUMN_FIXED,
                                 .width = 8,
                                 .length = 1,
                                 .values = i == 0   ? (void *)times
                                           : i == 1 ? (void *)machines
                                                    : (void *)values};
    }
    out->newest = (tl_rows){.n_rows = 1, .n_columns = COLUMNS, .columns = columns};
    if (tl_store_put(s, key, (tl_bytes){bytes, sizeof bytes}, TL_PUT_LATER, &err) != TL_OK) {
        die(&err);
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double median_ms(int64_t *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return (double)v[n / 2] / 1000;
}

/* ---- the syncs alone ---- */

enum { FILES = 5, SYNCS = FILES + 2, THREADS = 8 };

/* What a commit syncs, made anew for each turn: a data file, manifest, manifest list, index and the metadata's
 * contents; their two folders. */
typedef struct bare {
    tl_pool *pool;
    char data[4096], metadata[4096];
    int fds[SYNCS];
} bare;

static tl_status bare_sync(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    const bare *b = ctx;
    int failed = i < FILES ? fdatasync(b->fds[i]) : fsync(b->fds[i]);
    return failed ? tl_fail(err, TL_IO, "sync %zu failed", i) : TL_OK;
}

static void bare_begin(bare *b, const char *dir) {
    (void)snprintf(b->data, sizeof b->data, "%s/bare-data", dir);
    (void)snprintf(b->metadata, sizeof b->metadata, "%s/bare-metadata", dir);
    (void)mkdir(b->data, 0700);
    (void)mkdir(b->metadata, 0700);
    tl_error err;
    if (tl_pool_create(THREADS, &b->pool, &err) != TL_OK) {
        die(&err);
    }
}

/* Microseconds of the syncs of one commit: all but the last side by side as the store does, then that of metadata/ with
 * the version's name in it. Making and writing the files is not counted. */
static int64_t bare_turn(bare *b, size_t metadata_bytes) {
    static uint8_t bytes[1 << 20];
    const size_t sizes[FILES] = {1700, 4000, 4000, 4500, metadata_bytes < sizeof bytes ? metadata_bytes : sizeof bytes};
    char path[FILES][4200], name[4200];
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/%d", i == 0 ? b->data : b->metadata, i);
        b->fds[i] = open(path[i], O_CREAT | O_WRONLY, 0600);
        (void)!write(b->fds[i], bytes, sizes[i]);
    }
    b->fds[FILES] = open(b->data, O_RDONLY | O_DIRECTORY);
    b->fds[FILES + 1] = open(b->metadata, O_RDONLY | O_DIRECTORY);
    (void)snprintf(name, sizeof name, "%s/version", b->metadata);
    tl_error err;
    int64_t begin = clock_of(CLOCK_MONOTONIC);
    tl_status status = tl_pool_run(b->pool, SYNCS, bare_sync, b, &err);
    (void)!link(path[FILES - 1], name);
    (void)fsync(b->fds[FILES + 1]);
    int64_t took = clock_of(CLOCK_MONOTONIC) - begin;
    if (status != TL_OK) {
        die(&err);
    }
    for (int i = 0; i < SYNCS; i++) {
        (void)close(b->fds[i]);
    }
    for (int i = 0; i < FILES; i++) {
        (void)unlink(path[i]);
    }
    (void)unlink(name);
    return took;
}

/* As inline maintenance does: at 120 snapshots the oldest 20 go. */
static void expire(tl_table **t) {
    int64_t ids[20];
    tl_table *newer;
    tl_error err;
    if ((*t)->metadata.n_snapshots < 120) {
        return;
    }
    for (int i = 0; i < 20; i++) {
        ids[i] = (*t)->metadata.snapshots[i].snapshot_id;
    }
    if (tl_commit_expire(*t, ids, 20, &newer, &err) != TL_OK) {
        die(&err);
    }
    tl_table_release(*t);
    *t = newer;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s DIRECTORY COMMITS [sync] [batch]\n", argv[0]);
        return 2;
    }
    bool sync = false, batch = false;
    for (int i = 3; i < argc; i++) {
        sync = sync || strcmp(argv[i], "sync") == 0;
        batch = batch || strcmp(argv[i], "batch") == 0;
    }
    int64_t commits = strtoll(argv[2], NULL, 10), wall[WINDOW], cpu[WINDOW], syncs[WINDOW];
    for (int i = 0; i < COLUMNS; i++) {
        fields[i] = (tl_field){.id = i + 1,
                               .name = names[i],
                               .required = i == 0,
                               .type = {.id = i == 0   ? TL_TYPE_TIMESTAMPTZ
                                              : i == 1 ? TL_TYPE_LONG
                                                       : TL_TYPE_DOUBLE}};
    }
    static const char *const key[] = {"machine"};
    tl_create_options o = {.schema = &schema, .time_column = "ts", .series_key = key, .n_series_key = 1, .dedup = -1};
    tl_store *s;
    tl_table *t;
    tl_error err;
    if (tl_store_open(argv[1], true, NULL, &s, &err) != TL_OK ||
        tl_table_create(s, "default", "r", &o, &t, &err) != TL_OK) {
        die(&err);
    }
    bare b;
    bare_begin(&b, argv[1]);
    int64_t mark = 100;
    for (int64_t i = 0; i < commits; i++) {
        tl_staged staged;
        tl_commit_result r;
        tl_table *newer;
        char id[32];
        (void)snprintf(id, sizeof id, "batch-%lld", (long long)i);
        stage(s, i, &staged);
        tl_commit_options options = {.no_sync = !sync, .batch_id = batch ? id : NULL};
        int64_t w = clock_of(CLOCK_MONOTONIC), c = clock_of(CLOCK_PROCESS_CPUTIME_ID);
        if (tl_commit_append(t, &staged, &options, &r, &newer, &err) != TL_OK) {
            die(&err);
        }
        wall[i % WINDOW] = clock_of(CLOCK_MONOTONIC) - w;
        cpu[i % WINDOW] = clock_of(CLOCK_PROCESS_CPUTIME_ID) - c;
        uint64_t metadata_bytes = 0;
        syncs[i % WINDOW] = 0;
        if (sync && i + WINDOW >= mark && tl_store_size(s, newer->metadata_key, &metadata_bytes, NULL) == TL_OK) {
            syncs[i % WINDOW] = bare_turn(&b, (size_t)metadata_bytes);
        }
        staged.newest = (tl_rows){0};
        tl_staged_free(&staged);
        tl_table_release(t);
        t = newer;
        expire(&t);
        if (i + 1 == mark) {
            printf("commit %6lld: wall %.2f ms, CPU %.2f ms, its %d syncs alone %.2f ms\n", (long long)mark,
                   median_ms(wall, WINDOW), median_ms(cpu, WINDOW), SYNCS + 1, median_ms(syncs, WINDOW));
            fflush(stdout);
            mark = mark == 100 ? 1000 : mark == 1000 ? 5000 : mark * 2;
        }
    }
    tl_pool_free(b.pool);
    tl_table_release(t);
    tl_store_close(s);
    return 0;
}
