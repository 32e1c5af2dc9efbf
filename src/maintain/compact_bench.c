/* Compacts a table of a local lake and says how long it took: compact_bench LAKE TABLE [threads [memory
 * [inline|decode]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/env.h"
#include "maintain/compact.h"
#include "store/store.h"

static int failed(const char *what, const tl_error *err) {
    fprintf(stderr, "%s: %s\n", what, err->message);
    return 1;
}

static void print(const tl_compact_result *r, int64_t us) {
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    double cpu =
        (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    printf("{\"seconds\": %.3f, \"cpu_seconds\": %.3f, \"peak_mb\": %.0f, \"commits\": %d, \"partitions\": %d, "
           "\"left\": %d, "
           "\"files_in\": %lld, \"files_out\": %lld, \"rows_in\": %lld, \"rows_out\": %lld, \"bytes_in\": %lld, "
           "\"bytes_out\": %lld, \"copied_bytes\": %lld}\n",
           (double)us / 1e6, cpu, (double)u.ru_maxrss / 1024, r->commits, r->partitions, r->partitions_left,
           (long long)r->files_in, (long long)r->files_out, (long long)r->rows_in, (long long)r->rows_out,
           (long long)r->bytes_in, (long long)r->bytes_out, (long long)r->copied_bytes);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: compact_bench LAKE TABLE [threads [memory [inline|decode]]]\n");
        return 2;
    }
    tl_error err = {{0}};
    tl_store *store;
    tl_table *t, *out = NULL;
    tl_pool *pool;
    const tl_env *env = tl_env_default();
    if (tl_store_open(argv[1], false, env, &store, &err) != TL_OK ||
        tl_table_load(store, "default", argv[2], &t, &err) != TL_OK ||
        tl_pool_create(argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0, &pool, &err) != TL_OK) {
        return failed(argv[1], &err);
    }
    tl_compact_options o = {.pool = pool,
                            .memory_limit = argc > 4 ? strtoll(argv[4], NULL, 10) : 0,
                            .inline_only = argc > 5 && strcmp(argv[5], "inline") == 0,
                            .decode = argc > 5 && strcmp(argv[5], "decode") == 0};
    tl_compact_result r;
    int64_t begin = tl_env_monotonic_us(env);
    tl_status status = tl_compact(t, &o, &r, &out, &err);
    print(&r, tl_env_monotonic_us(env) - begin);
    tl_table_release(out);
    tl_table_release(t);
    tl_pool_free(pool);
    tl_store_close(store);
    return status == TL_OK ? 0 : failed(argv[2], &err);
}
