/* Staged files: what the commit asks of them, freeing the value, deleting the files when their commit did not happen.
 */
#include "append/files_internal.h"
#include "base/mem.h"

void tl_staged_free(tl_staged *s) {
    tl_rows_free(&s->newest);
    tl_arena_free(&s->arena);
    *s = (tl_staged){0};
}

void tl_staged_discard(tl_store *store, tl_staged *s) {
    for (int32_t i = 0; i < s->n_files; i++) {
        tl_remove_quietly(store, s->keys[i]);
    }
    s->n_files = 0;
}

/* ---- newer than the index? ---- */

static int compare_series(const tl_schema *schema, const tl_contract *c, const tl_rows *a, int64_t i, const tl_rows *b,
                          int64_t j) {
    for (int32_t k = 0; k < c->n_series; k++) {
        int32_t f = c->series[k];
        int order = tl_column_compare(&schema->fields[f].type, &a->columns[f], i, &b->columns[f], j);
        if (order) {
            return order;
        }
    }
    return 0;
}

/* The row of `index` with the series of row `row` of `rows`; -1 = it has none. */
static int64_t find_series(const tl_schema *schema, const tl_contract *c, const tl_rows *rows, int64_t row,
                           const tl_rows *index) {
    int64_t from = 0, to = index->n_rows;
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        int order = compare_series(schema, c, index, mid, rows, row);
        if (order == 0) {
            return mid;
        }
        if (order < 0) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return -1;
}

/* last[i] = time of the index's row of series i of the append; has[i] false = the series is new. */
static void last_times(const tl_schema *schema, const tl_contract *c, const tl_staged *s, const tl_rows *index,
                       int64_t *last, bool *has) {
    const tl_column *time = &index->columns[c->time];
    for (int64_t i = 0; i < s->newest.n_rows; i++) {
        int64_t at = find_series(schema, c, &s->newest, i, index);
        has[i] = at >= 0;
        last[i] = at >= 0 ? tl_load_i64(time->values + at * 8) : 0;
    }
}

tl_status tl_staged_newer(const tl_schema *schema, const tl_contract *contract, const tl_staged *s,
                          const tl_rows *index, bool *newer, tl_error *err) {
    bool known = contract->time >= 0 && s->starts;
    for (int32_t i = 0; i < s->n_files; i++) {
        newer[i] = known;
    }
    if (!known || index->n_columns == 0 || index->n_rows == 0) {
        return TL_OK;
    }
    size_t n = (size_t)s->newest.n_rows;
    int64_t *last = tl_alloc_array(n, sizeof *last);
    bool *has = tl_alloc_array(n, sizeof *has);
    if (!last || !has) {
        tl_free(last);
        tl_free(has);
        return tl_fail_memory(err, n * (sizeof *last + sizeof *has));
    }
    last_times(schema, contract, s, index, last, has);
    for (int32_t i = 0; i < s->n_files; i++) {
        for (int64_t k = 0; k < s->n_starts[i] && newer[i]; k++) {
            const tl_series_start *start = &s->starts[i][k];
            newer[i] = !has[start->series] || start->first_us > last[start->series];
        }
    }
    tl_free(last);
    tl_free(has);
    return TL_OK;
}
