/*
 * Row groups whose series alternate, as writers leave them who keep rows in the order they came in. Comes in: runs of
 * the key columns, most of them a row or two long. Goes out: the rows of each series, by counting.
 */
#include <string.h>

#include "base/hash.h"
#include "read/read_internal.h"

/* So many runs a series at least, else they may as well be spans. */
#define RUNS_A_SERIES 4
#define RUNS_LEAST 16

/* Small numbers for pairs of small numbers. */
typedef struct pairs {
    uint64_t *keys; /* pair + 1; 0 = free */
    int32_t *numbers;
    size_t cap; /* a power of two */
    int32_t n;
} pairs;

static tl_status grow_pairs(pairs *p, tl_error *err) {
    pairs wide = {.cap = p->cap ? p->cap * 2 : 256, .n = p->n};
    wide.keys = tl_calloc(wide.cap, sizeof *wide.keys);
    wide.numbers = tl_alloc_array(wide.cap, sizeof *wide.numbers);
    if (!wide.keys || !wide.numbers) {
        tl_free(wide.keys);
        tl_free(wide.numbers);
        return tl_fail_memory(err, wide.cap * sizeof *wide.keys);
    }
    for (size_t i = 0; i < p->cap; i++) {
        if (p->keys[i]) {
            size_t at = tl_hash_u64(p->keys[i]) & (wide.cap - 1);
            while (wide.keys[at]) {
                at = (at + 1) & (wide.cap - 1);
            }
            wide.keys[at] = p->keys[i];
            wide.numbers[at] = p->numbers[i];
        }
    }
    tl_free(p->keys);
    tl_free(p->numbers);
    *p = wide;
    return TL_OK;
}

static tl_status number_pair(pairs *p, int32_t a, int32_t b, int32_t *out, tl_error *err) {
    uint64_t key = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) + 1;
    if ((size_t)p->n * 2 >= p->cap) {
        TL_TRY(grow_pairs(p, err));
    }
    size_t at = tl_hash_u64(key) & (p->cap - 1);
    while (p->keys[at] && p->keys[at] != key) {
        at = (at + 1) & (p->cap - 1);
    }
    if (!p->keys[at]) {
        p->keys[at] = key;
        p->numbers[at] = p->n++;
    }
    *out = p->numbers[at];
    return TL_OK;
}

/* A number for the value of each run of a column: its place in the dictionary, or the order in which it came first.
 * Given up when there are more than `most` values. */
static tl_status number_runs(const tl_pq_runs *runs, int64_t most, int32_t *out, int64_t *n_values, tl_error *err) {
    if (runs->indices) {
        *n_values = runs->n_dict + 1;
        for (int64_t i = 0; i < runs->n_runs && *n_values <= most; i++) {
            out[i] = runs->is_null[i] ? (int32_t)runs->n_dict : runs->indices[i];
        }
        return TL_OK;
    }
    tl_series_set set = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < runs->n_runs && status == TL_OK && set.n < most; i++) {
        int32_t number = -1; /* null is 0 */
        if (!runs->is_null[i]) {
            status = tl_series_number(&set, runs->values[i], &number, err);
        }
        out[i] = number + 1;
    }
    *n_values = (int64_t)set.n + 1;
    tl_series_set_free(&set);
    return status;
}

static void spread(const tl_pq_runs *runs, const int32_t *values, int32_t *rows) {
    for (int64_t i = 0; i < runs->n_runs; i++) {
        for (int64_t row = runs->starts[i]; row < runs->starts[i + 1]; row++) {
            rows[row] = values[i];
        }
    }
}

/* Keys become numbers of the pair that they and the next column are. */
static tl_status join(int32_t *keys, const int32_t *column, int64_t n_rows, int64_t most, int64_t *n_keys,
                      tl_error *err) {
    pairs p = {0};
    tl_status status = TL_OK;
    int32_t before = 0;
    for (int64_t i = 0; i < n_rows && status == TL_OK && p.n <= most; i++) {
        int32_t now = keys[i];
        if (i > 0 && now == before && column[i] == column[i - 1]) {
            keys[i] = keys[i - 1];
        } else {
            status = number_pair(&p, now, column[i], &keys[i], err);
        }
        before = now;
    }
    *n_keys = p.n;
    tl_free(p.keys);
    tl_free(p.numbers);
    return status;
}

/* Numbers of the rows' keys, column by column; given up when there are more than `most`. */
static tl_status number_keys(const tl_pq_runs *runs, int32_t n_columns, int64_t n_rows, int64_t most, int32_t *values,
                             int32_t *column, int32_t *keys, int64_t *n_keys, tl_error *err) {
    bool any = false;
    for (int32_t c = 0; c < n_columns && (!any || *n_keys <= most); c++) {
        int64_t n_values = 0;
        if (runs[c].n_runs == 0) {
            continue;
        }
        TL_TRY(number_runs(&runs[c], most, values, &n_values, err));
        if (n_values > most) {
            *n_keys = n_values;
            return TL_OK;
        }
        spread(&runs[c], values, any ? column : keys);
        *n_keys = n_values;
        TL_TRY(any ? join(keys, column, n_rows, most, n_keys, err) : TL_OK);
        any = true;
    }
    return TL_OK;
}

/* Rows by key, those of a key in their order. */
static void count_out(const int32_t *keys, int64_t n_rows, int64_t n_keys, tl_scatter *out) {
    int32_t *starts = out->starts; /* n_keys + 2 */
    memset(starts, 0, (size_t)(n_keys + 2) * sizeof *starts);
    for (int64_t i = 0; i < n_rows; i++) {
        starts[keys[i] + 2]++;
    }
    for (int64_t k = 2; k < n_keys + 2; k++) {
        starts[k] += starts[k - 1];
    }
    for (int64_t i = 0; i < n_rows; i++) { /* starts[k + 1] moves from the begin of k to its end */
        out->rows[starts[keys[i] + 1]++] = (int32_t)i;
    }
    int32_t n = 0;
    for (int64_t k = 0; k < n_keys; k++) { /* without keys that have no rows */
        if (starts[k] < starts[k + 1]) {
            starts[n++] = starts[k];
        }
    }
    starts[n] = (int32_t)n_rows;
    out->n_series = n;
}

tl_status tl_scatter_make(const tl_pq_runs *runs, int32_t n_columns, int64_t n_rows, tl_scatter *out, bool *found,
                          tl_error *err) {
    *out = (tl_scatter){0};
    *found = false;
    int64_t n_runs = 0, n_keys = 0, most;
    for (int32_t c = 0; c < n_columns; c++) {
        n_runs = runs[c].n_runs > n_runs ? runs[c].n_runs : n_runs;
    }
    if (n_rows > INT32_MAX || n_runs < n_rows / RUNS_A_SERIES || n_runs < RUNS_LEAST) {
        return TL_OK; /* series stand together already */
    }
    most = n_runs / RUNS_A_SERIES;
    int32_t *values = tl_alloc_array((size_t)n_runs, sizeof *values),
            *keys = tl_alloc_array((size_t)n_rows, sizeof *keys);
    int32_t *column = n_columns > 1 ? tl_alloc_array((size_t)n_rows, sizeof *column) : NULL;
    tl_status status = values && keys && (column || n_columns == 1) ? TL_OK : tl_fail_memory(err, (size_t)n_rows * 12);
    if (status == TL_OK) {
        status = number_keys(runs, n_columns, n_rows, most, values, column, keys, &n_keys, err);
    }
    *found = status == TL_OK && n_keys <= most;
    if (*found) {
        out->starts = tl_alloc_array((size_t)n_keys + 2, sizeof *out->starts);
        out->rows = tl_alloc_array((size_t)n_rows, sizeof *out->rows);
        status = out->starts && out->rows ? TL_OK : tl_fail_memory(err, (size_t)(n_rows + n_keys) * sizeof *out->rows);
    }
    if (*found && status == TL_OK) {
        count_out(keys, n_rows, n_keys, out);
    }
    tl_free(values);
    tl_free(keys);
    tl_free(column);
    return status;
}

void tl_scatter_free(tl_scatter *s) {
    tl_free(s->starts);
    tl_free(s->rows);
    *s = (tl_scatter){0};
}
