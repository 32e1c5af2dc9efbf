/*
 * Groups that do not fit into the memory limit: each is sorted and moved to disk as a run, and in the end the runs are
 * merged into the final files. See appender_internal.h.
 */
#include "append/appender_internal.h"
#include "append/merge_internal.h"
#include "base/mem.h"

#define SORT_BYTES 12 /* per row: its number and its time in file order */
#define RUNS_MOST 64  /* more are merged into one: open files and blocks in memory stay bounded */
#define BLOCK_BYTES_MOST ((size_t)1 << 20)
#define BLOCK_BYTES_LEAST ((size_t)1 << 16)
#define BLOCK_ROWS_MOST 32768
#define WINDOW_ROW_GROUPS 4

bool tl_appender_is_full(const tl_appender *a) {
    size_t sorting = (size_t)a->group.n_rows * SORT_BYTES;
    return a->group.bytes + sorting + tl_splitter_bytes(&a->splitter) >= a->memory_limit / 4 * 3;
}

/* Rows per block, so that the blocks of all runs together take a quarter of the memory limit at most. */
static uint32_t block_rows(const tl_appender *a, size_t bytes, int64_t rows) {
    size_t block = a->memory_limit / 4 / RUNS_MOST;
    block = block > BLOCK_BYTES_MOST ? BLOCK_BYTES_MOST : block < BLOCK_BYTES_LEAST ? BLOCK_BYTES_LEAST : block;
    size_t row = bytes / (size_t)(rows ? rows : 1) + 1, n = block / row;
    return n < 1 ? 1 : n > BLOCK_ROWS_MOST ? BLOCK_ROWS_MOST : (uint32_t)n;
}

void tl_appender_drop_runs(tl_appender *a) {
    for (int32_t i = 0; i < a->n_runs; i++) {
        tl_spill_run_close(&a->runs[i]);
    }
    tl_free(a->runs);
    a->runs = NULL;
    a->n_runs = a->cap_runs = 0;
}

static tl_merge_options merge_options(const tl_appender *a, const uint32_t *ranks) {
    uint64_t rows = (uint64_t)a->layout.rows * WINDOW_ROW_GROUPS;
    return (tl_merge_options){.schema = a->schema,
                              .ranks = ranks,
                              .ingest = a->ingest.varies ? a->contract->ingest : -1,
                              .keep_last = a->contract->dedup,
                              .window_rows = rows > (1u << 30) ? 1u << 30 : (uint32_t)rows,
                              .window_bytes = a->layout.bytes};
}

/* ---- many runs become one ---- */

typedef struct joining {
    tl_appender *a;
    tl_spill_run run;
    uint32_t block_rows;
} joining;

static tl_status join_sink(void *ctx, const tl_sources *sources, const tl_sorted *sorted, size_t source_bytes,
                           bool more, uint32_t *kept, tl_error *err) {
    (void)more;
    joining *j = ctx;
    *kept = 0;
    if (j->block_rows == 0) {
        j->block_rows = block_rows(j->a, source_bytes, sources->n_rows);
    }
    return sorted->n_rows == 0 ? TL_OK
                               : tl_spill_run_write(&j->run, sources, j->a->schema->n_fields, sorted, j->block_rows,
                                                    j->a->options.pool, err);
}

static tl_status join_runs(tl_appender *a, tl_error *err) {
    const uint32_t *ranks;
    TL_TRY(tl_ranker_ranks(a->ranker, &ranks, err));
    tl_merge_options options = merge_options(a, ranks);
    joining j = {.a = a};
    TL_TRY(tl_spill_run_create(a->options.spill_directory, &j.run, err));
    tl_status status = tl_merge_runs(a->runs, a->n_runs, &options, join_sink, &j, err);
    if (status != TL_OK) {
        tl_spill_run_close(&j.run);
        return status;
    }
    for (int32_t i = 0; i < a->n_runs; i++) {
        tl_spill_run_close(&a->runs[i]);
    }
    a->runs[0] = j.run;
    a->n_runs = 1;
    return TL_OK;
}

/* ---- a group becomes a run ---- */

static tl_status add_run(tl_appender *a, const tl_sorted *sorted, tl_error *err) {
    if (a->n_runs == a->cap_runs) {
        int32_t cap = a->cap_runs ? a->cap_runs * 2 : 8;
        tl_spill_run *more = tl_realloc_array(a->runs, (size_t)cap, sizeof *more);
        if (!more) {
            return tl_fail_memory(err, (size_t)cap * sizeof *more);
        }
        a->runs = more;
        a->cap_runs = cap;
    }
    tl_spill_run *run = &a->runs[a->n_runs];
    TL_TRY(tl_spill_run_create(a->options.spill_directory, run, err));
    a->n_runs++;
    tl_sources sources = tl_group_sources(&a->group);
    uint32_t rows = block_rows(a, a->group.bytes, a->group.n_rows);
    return tl_spill_run_write(run, &sources, a->schema->n_fields, sorted, rows, a->options.pool, err);
}

tl_status tl_appender_spill(tl_appender *a, tl_error *err) {
    tl_sorted sorted;
    TL_TRY(tl_appender_sort(a, &sorted, err));
    tl_status status = tl_appender_note(a, &sorted, err);
    if (status == TL_OK) {
        status = add_run(a, &sorted, err);
    }
    tl_sorted_free(&sorted);
    tl_group_reset(&a->group);
    tl_splitter_reset(&a->splitter);
    return status == TL_OK && a->n_runs >= RUNS_MOST ? join_runs(a, err) : status;
}

/* ---- the final merge ---- */

static tl_status write_sink(void *ctx, const tl_sources *sources, const tl_sorted *sorted, size_t source_bytes,
                            bool more, uint32_t *kept, tl_error *err) {
    return tl_appender_write(ctx, sources, sorted, source_bytes, more, kept, err);
}

tl_status tl_appender_merge(tl_appender *a, tl_error *err) {
    const uint32_t *ranks;
    TL_TRY(tl_ranker_ranks(a->ranker, &ranks, err));
    tl_merge_options options = merge_options(a, ranks);
    return tl_merge_runs(a->runs, a->n_runs, &options, write_sink, a, err);
}
