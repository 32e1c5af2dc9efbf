/* See copy_groups.h. Series columns are read as runs and times as numbers: a fiftieth of what decoding all costs. */
#include "read/copy_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/rows.h"
#include "table/rows.h"

enum { FEWEST_ROWS_A_RUN = 8, FEW_RUNS = 16 }; /* many short runs are not worth looking at one by one */

typedef struct examining {
    const tl_plan *plan;
    const tl_schema *schema;
    const tl_contract *contract;
    tl_open_file *f;
    tl_projection keys; /* the series key columns, in key order */
} examining;

void tl_copy_groups_free(tl_copy_group *groups, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        tl_rows_free(&groups[i].keys);
    }
}

static int compare_series(const tl_plan *plan, const tl_rows *a, int64_t i, const tl_rows *b, int64_t j) {
    const tl_contract *c = &plan->table->contract;
    const tl_schema *schema = tl_metadata_schema(&plan->table->metadata);
    for (int32_t k = 0; k < c->n_series; k++) {
        int order = tl_column_compare(&schema->fields[c->series[k]].type, &a->columns[k], i, &b->columns[k], j);
        if (order) {
            return order;
        }
    }
    return 0;
}

static const tl_column_stats *stats_of(const tl_field *column, const tl_data_file *f) {
    for (int32_t i = 0; i < f->n_columns; i++) {
        if (f->columns[i].field_id == column->id) {
            return f->columns[i].lower.data && f->columns[i].upper.data ? &f->columns[i] : NULL;
        }
    }
    return NULL;
}

bool tl_copy_series_overlap(const tl_field *column, const tl_data_file *a, const tl_data_file *b, bool *overlap) {
    const tl_column_stats *x = stats_of(column, a), *y = stats_of(column, b);
    int low, high;
    if (!x || !y || tl_value_compare(&column->type, x->lower, y->upper, &low, NULL) != TL_OK ||
        tl_value_compare(&column->type, y->lower, x->upper, &high, NULL) != TL_OK) {
        return false;
    }
    *overlap = low < 0 && high < 0;
    return true;
}

int tl_copy_groups_order(const tl_plan *plan, const tl_copy_group *a, const tl_copy_group *b) {
    int order = compare_series(plan, &a->keys, 0, &b->keys, 0);
    return order ? order : (a->first_us > b->first_us) - (a->first_us < b->first_us);
}

int tl_copy_groups_compare(const tl_plan *plan, const tl_copy_group *a, const tl_copy_group *b) {
    int order = compare_series(plan, &a->keys, 1, &b->keys, 0);
    return order ? order : (a->last_us > b->first_us) - (a->last_us < b->first_us);
}

/* ---- one row group ---- */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Where runs of any key column begin, each place once; *can false = too many. */
static tl_status run_starts(const examining *x, int32_t g, int64_t rows, int64_t **starts, int64_t *n, bool *can,
                            tl_error *err) {
    int64_t most = rows / FEWEST_ROWS_A_RUN + FEW_RUNS;
    *starts = tl_alloc_array((size_t)(most * (x->contract->n_series + 1)), sizeof **starts);
    if (!*starts) {
        return tl_fail_memory(err, (size_t)most * sizeof **starts);
    }
    int64_t at = 0;
    (*starts)[at++] = 0;
    for (int32_t k = 0; k < x->contract->n_series && *can; k++) {
        int32_t leaf = tl_open_file_leaf(x->f, &x->schema->fields[x->contract->series[k]]);
        tl_pq_runs runs = {0};
        TL_TRY(leaf < 0 ? tl_fail(err, TL_CORRUPT, "it has no key column") /* nans_are_known has looked */
                        : tl_pq_reader_runs(x->f->parquet, g, leaf, &runs, err));
        *can = runs.n_runs <= most;
        for (int64_t i = 0; i < runs.n_runs && *can; i++) {
            (*starts)[at++] = runs.starts[i];
        }
        tl_pq_runs_free(&runs);
    }
    qsort(*starts, (size_t)at, sizeof **starts, ascending);
    *n = 0;
    for (int64_t i = 0; i < at; i++) {
        if (*n == 0 || (*starts)[*n - 1] != (*starts)[i]) {
            (*starts)[(*n)++] = (*starts)[i];
        }
    }
    *can = *can && *n <= most;
    return TL_OK;
}

/* The key columns of the rows at `starts`. */
static tl_status key_rows(const examining *x, int32_t g, const int64_t *starts, int64_t n, tl_rows *out,
                          tl_error *err) {
    *out = (tl_rows){0};
    if (x->contract->n_series == 0) {
        return TL_OK;
    }
    tl_pq_row_range *ranges = tl_alloc_array((size_t)n, sizeof *ranges);
    if (!ranges) {
        return tl_fail_memory(err, (size_t)n * sizeof *ranges);
    }
    for (int64_t i = 0; i < n; i++) {
        ranges[i] = (tl_pq_row_range){starts[i], 1};
    }
    struct ArrowArray array;
    tl_status status = tl_rows_read(x->f, g, ranges, (int32_t)n, &x->keys, &array, err);
    tl_free(ranges);
    return status == TL_OK ? tl_rows_from_arrow(&x->keys.schema, &x->keys.arrow, &array, out, err) : status;
}

/* Strictly ascending keys? */
static bool in_order(const examining *x, const tl_rows *keys, const int64_t *starts, int64_t n, const int64_t *times,
                     int64_t rows) {
    for (int64_t r = 0; r < n; r++) {
        int64_t from = starts[r], to = r + 1 < n ? starts[r + 1] : rows, wrong = 0;
        for (int64_t i = from + 1; i < to; i++) {
            wrong |= times[i - 1] >= times[i];
        }
        int order = r > 0 ? compare_series(x->plan, keys, r - 1, keys, r) : -1;
        if (wrong || order > 0 || (order == 0 && times[from - 1] >= times[from])) {
            return false;
        }
    }
    return true;
}

static tl_status keep_ends(const examining *x, const tl_rows *keys, int64_t n, tl_copy_group *out, tl_error *err) {
    if (x->contract->n_series == 0) {
        return TL_OK;
    }
    const tl_pick ends[2] = {{0, 0}, {0, (uint32_t)(n - 1)}};
    const tl_column *const columns[1] = {keys->columns};
    return tl_rows_pick(columns, 1, keys->n_columns, ends, 2, &out->keys, err);
}

static tl_status examine(const examining *x, int32_t g, tl_copy_group *out, bool *can, tl_error *err) {
    int64_t rows = x->f->meta->row_groups[g].n_rows, n = 0, n_nulls = 0, *starts = NULL;
    int32_t leaf = tl_open_file_leaf(x->f, &x->schema->fields[x->contract->time]);
    int64_t *times = tl_alloc_array((size_t)rows + 1, sizeof *times);
    uint8_t *validity = tl_calloc((size_t)(rows + 7) / 8 + 1, 1);
    tl_rows keys = {0};
    *can = leaf >= 0 && rows > 0;
    tl_status status = times && validity ? TL_OK : tl_fail_memory(err, (size_t)rows * sizeof *times);
    if (status == TL_OK && *can) {
        status = tl_pq_reader_int64(x->f->parquet, g, leaf, times, validity, &n_nulls, err);
        *can = n_nulls == 0;
    }
    if (status == TL_OK && *can) {
        status = run_starts(x, g, rows, &starts, &n, can, err);
    }
    if (status == TL_OK && *can) {
        status = key_rows(x, g, starts, n, &keys, err);
    }
    if (status == TL_OK && *can) {
        *can = in_order(x, &keys, starts, n, times, rows);
        out->first_us = times[0];
        out->last_us = times[rows - 1];
        out->n_rows = rows;
        status = *can ? keep_ends(x, &keys, n, out, err) : TL_OK;
    }
    tl_rows_free(&keys);
    tl_free(times);
    tl_free(validity);
    tl_free(starts);
    return status;
}

/* ---- a file ---- */

/* Bounds must tell of NaN keys (they are left out of manifests then), so files must count them. */
static bool nans_are_known(const examining *x) {
    for (int32_t k = 0; k < x->contract->n_series; k++) {
        const tl_field *field = &x->schema->fields[x->contract->series[k]];
        int32_t leaf = tl_open_file_leaf(x->f, field);
        if (leaf < 0) {
            return false;
        }
        for (int32_t g = 0; g < x->f->meta->n_row_groups; g++) {
            const tl_pq_statistics *s = &x->f->meta->row_groups[g].columns[leaf].stats;
            if ((field->type.id == TL_TYPE_FLOAT || field->type.id == TL_TYPE_DOUBLE) && !s->has_nan_count) {
                return false;
            }
        }
    }
    return true;
}

static tl_status examine_file(const examining *x, const tl_plan_file *file, tl_copy_group *out, int64_t cap, int64_t *n,
                              bool *can, tl_error *err) {
    for (int32_t g = 0; g < x->f->meta->n_row_groups && *can; g++) {
        if (x->f->meta->row_groups[g].n_rows == 0) {
            continue;
        }
        if (*n == cap) {
            *can = false;
            return TL_OK;
        }
        out[*n] = (tl_copy_group){.file = file, .row_group = g};
        tl_status status = examine(x, g, &out[*n], can, err);
        if (status != TL_OK) {
            return tl_open_file_failed(x->f, status, err);
        }
        *n += *can;
    }
    return TL_OK;
}

tl_status tl_copy_groups_read(const tl_plan *plan, const tl_plan_file *file, const tl_pq_schema_element *schema,
                              int32_t n_schema, tl_copy_group *out, int64_t cap, int64_t *n, bool *can, tl_error *err) {
    *can = !file->hidden;
    if (!*can) {
        return TL_OK;
    }
    tl_open_file f;
    examining x = {.plan = plan,
                   .schema = tl_metadata_schema(&plan->table->metadata),
                   .contract = &plan->table->contract,
                   .f = &f};
    TL_TRY(tl_open_file_open(plan->table, file->file, &f, err));
    *can = tl_pq_schema_equal(f.meta->schema, f.meta->n_schema, schema, n_schema) && nans_are_known(&x);
    tl_status status = TL_OK;
    if (*can && x.contract->n_series > 0) {
        status = tl_projection_make(x.schema, x.contract->series, x.contract->n_series, &x.keys, err);
    }
    if (status == TL_OK && *can) {
        status = examine_file(&x, file, out, cap, n, can, err);
    }
    tl_projection_free(&x.keys);
    tl_open_file_close(&f);
    return status;
}

/* ---- their bytes ---- */

static tl_status hand_over(tl_open_file *f, int32_t g, tl_pq_chunk *chunks, tl_copy_take take, void *ctx, bool *can,
                           tl_error *err) {
    int32_t n = 0;
    tl_status status = TL_OK;
    for (; n < f->n_leaves && status == TL_OK && *can; n += status == TL_OK && *can) {
        status = tl_pq_reader_chunk(f->parquet, g, n, &chunks[n], can, err);
    }
    status = status == TL_OK ? TL_OK : tl_open_file_failed(f, status, err);
    if (status == TL_OK && *can) {
        status = take(ctx, chunks, n, err);
    }
    for (int32_t i = 0; i < n; i++) {
        tl_pq_chunk_free(&chunks[i]);
    }
    return status;
}

tl_status tl_copy_groups_chunks(const tl_plan *plan, const tl_copy_group *groups, int64_t n, tl_copy_take take,
                                void *ctx, bool *can, tl_error *err) {
    tl_open_file f;
    *can = true;
    TL_TRY(tl_open_file_open(plan->table, groups[0].file->file, &f, err));
    tl_pq_chunk *chunks = tl_calloc((size_t)f.n_leaves, sizeof *chunks);
    tl_status status = chunks ? TL_OK : tl_fail_memory(err, (size_t)f.n_leaves * sizeof *chunks);
    for (int64_t i = 0; i < n && status == TL_OK && *can; i++) {
        status = hand_over(&f, groups[i].row_group, chunks, take, ctx, can, err);
    }
    tl_free(chunks);
    tl_open_file_close(&f);
    return status;
}
