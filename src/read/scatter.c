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

/* A number for the value of each run of a column: the order in which it came first. Given up when there are more than
 * `most` values. */
static tl_status number_runs(const tl_pq_runs *runs, int64_t most, int32_t *out, int64_t *n_values, tl_error *err) {
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

/* Numbers of the values of all rows, from runs. */
static tl_status number_rows(const tl_pq_runs *runs, int64_t most, int32_t *rows, int64_t *n_values, tl_error *err) {
    int32_t *values = tl_alloc_array((size_t)runs->n_runs, sizeof *values);
    if (!values) {
        return tl_fail_memory(err, (size_t)runs->n_runs * sizeof *values);
    }
    tl_status status = number_runs(runs, most, values, n_values, err);
    for (int64_t i = 0; i < runs->n_runs && status == TL_OK && *n_values <= most; i++) {
        for (int64_t row = runs->starts[i]; row < runs->starts[i + 1]; row++) {
            rows[row] = values[i];
        }
    }
    tl_free(values);
    return status;
}

/* Numbers of the pairs that keys and the next column are, in `out`, which may be either of them. */
static tl_status join(const int32_t *keys, const int32_t *column, int64_t n_rows, int64_t most, int32_t *out,
                      int64_t *n_keys, tl_error *err) {
    pairs p = {0};
    tl_status status = TL_OK;
    int32_t last_key = -1, last_value = -1, number = 0;
    for (int64_t i = 0; i < n_rows && status == TL_OK && p.n <= most; i++) {
        if (keys[i] != last_key || column[i] != last_value) {
            last_key = keys[i];
            last_value = column[i];
            status = number_pair(&p, last_key, last_value, &number, err);
        }
        out[i] = number;
    }
    *n_keys = p.n;
    tl_free(p.keys);
    tl_free(p.numbers);
    return status;
}

/* One more column; `own` and `column` have room for a number a row. */
static tl_status add_column(const tl_pq_runs *runs, int64_t n_rows, int64_t most, bool first, int32_t *column,
                            tl_scatter *out, int64_t *n_keys, tl_error *err) {
    int64_t n_values = runs->n_runs;
    const int32_t *values = runs->places;
    if (!values) {
        values = first ? out->own : column;
        TL_TRY(number_rows(runs, most, first ? out->own : column, &n_values, err));
    }
    if (first || n_values > most) {
        out->keys = values;
        *n_keys = n_values;
        return TL_OK;
    }
    TL_TRY(join(out->keys, values, n_rows, most, out->own, n_keys, err));
    out->keys = out->own;
    return TL_OK;
}

/* Numbers of the rows' keys, column by column; given up when there are more than `most`. */
static tl_status number_keys(const tl_pq_runs *runs, int32_t n_columns, int64_t n_rows, int64_t most, tl_scatter *out,
                             int64_t *n_keys, tl_error *err) {
    int32_t *column = n_columns > 1 ? tl_alloc_array((size_t)n_rows, sizeof *column) : NULL;
    tl_status status = column || n_columns == 1 ? TL_OK : tl_fail_memory(err, (size_t)n_rows * sizeof *column);
    for (int32_t c = 0; c < n_columns && status == TL_OK && *n_keys <= most; c++) {
        if (runs[c].n_runs > 0) {
            status = add_column(&runs[c], n_rows, most, !out->keys, column, out, n_keys, err);
        }
    }
    tl_free(column);
    return status;
}

static tl_status count_out(int64_t n_rows, int64_t n_keys, tl_scatter *out, tl_error *err) {
    out->counts = tl_calloc((size_t)n_keys, sizeof *out->counts);
    out->firsts = tl_alloc_array((size_t)n_keys, sizeof *out->firsts);
    if (!out->counts || !out->firsts) {
        return tl_fail_memory(err, (size_t)n_keys * sizeof *out->counts);
    }
    for (int64_t i = 0; i < n_rows; i++) {
        int32_t k = out->keys[i];
        if (out->counts[k]++ == 0) {
            out->firsts[k] = (int32_t)i;
        }
    }
    out->n_series = (int32_t)n_keys;
    return TL_OK;
}

/* Runs of the column that has most. */
static int64_t most_runs(const tl_pq_runs *runs, int32_t n_columns) {
    int64_t n = 0;
    for (int32_t c = 0; c < n_columns; c++) {
        int64_t of_column = runs[c].places ? runs[c].n_rows : runs[c].n_runs;
        n = of_column > n ? of_column : n;
    }
    return n;
}

tl_status tl_scatter_make(const tl_pq_runs *runs, int32_t n_columns, int64_t n_rows, tl_scatter *out, bool *found,
                          tl_error *err) {
    *out = (tl_scatter){0};
    *found = false;
    int64_t n_runs = most_runs(runs, n_columns), most = n_runs / RUNS_A_SERIES, n_keys = 0;
    if (n_rows > INT32_MAX || n_runs < n_rows / RUNS_A_SERIES || n_runs < RUNS_LEAST) {
        return TL_OK; /* series stand together already */
    }
    bool own = n_columns > 1 || !runs[0].places;
    out->own = own ? tl_alloc_array((size_t)n_rows, sizeof *out->own) : NULL;
    tl_status status = out->own || !own ? TL_OK : tl_fail_memory(err, (size_t)n_rows * sizeof *out->own);
    if (status == TL_OK) {
        status = number_keys(runs, n_columns, n_rows, most, out, &n_keys, err);
    }
    *found = status == TL_OK && n_keys <= most;
    if (*found) {
        status = count_out(n_rows, n_keys, out, err);
    }
    if (!*found || status != TL_OK) {
        tl_scatter_free(out);
    }
    return status;
}

void tl_scatter_free(tl_scatter *s) {
    tl_free(s->counts);
    tl_free(s->firsts);
    tl_free(s->own);
    *s = (tl_scatter){0};
}
