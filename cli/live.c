/*
 * tl_live(plan, file_index, file_row_number): whether a row is the newest of its key. One bit test a row; DuckDB calls
 * it from all of its threads, on what is left after its own filters.
 */
#include <string.h>

#include "cli/session.h"

static void *plan_copy(void *plan) {
    return tl_plan_retain(plan);
}
static void plan_release(void *plan) {
    tl_plan_release(plan);
}

/* Finds the plan when the statement is bound, and keeps it for as long as the bound expression lives. */
static void live_bind(duckdb_bind_info info) {
    tl_session *s = duckdb_scalar_function_bind_get_extra_info(info);
    duckdb_expression argument = duckdb_scalar_function_bind_get_argument(info, 0);
    duckdb_client_context context = NULL;
    duckdb_scalar_function_get_client_context(info, &context);
    duckdb_value value = NULL;
    tl_plan *plan = NULL;
    duckdb_error_data why = duckdb_expression_is_foldable(argument)
                                ? duckdb_expression_fold(context, argument, &value)
                                : duckdb_create_error_data(DUCKDB_ERROR_BINDER, "not constant");
    if (!why) {
        plan = tl_session_plan_of(s, duckdb_get_int64(value));
    }
    if (plan) {
        duckdb_scalar_function_set_bind_data(info, plan, plan_release);
        duckdb_scalar_function_set_bind_data_copy(info, plan_copy);
    } else {
        duckdb_scalar_function_bind_set_error(info, "tl_live is for the statements that tl_sql makes");
    }
    duckdb_destroy_error_data(&why);
    duckdb_destroy_value(&value);
    duckdb_destroy_client_context(&context);
    duckdb_destroy_expression(&argument);
}

/* Rows of one file that follow each other: whole words of the bitmap that are zero are passed over. */
static void test_run(const uint8_t *hidden, int64_t first, idx_t n, bool *out) {
    idx_t i = 0;
    while (i < n) {
        int64_t row = first + (int64_t)i;
        if ((row & 7) == 0 && i + 8 <= n && hidden[row >> 3] == 0) {
            memset(out + i, 1, 8);
            i += 8;
        } else {
            out[i++] = !tl_bit(hidden, row);
        }
    }
}

static bool follow_each_other(const int64_t *rows, idx_t n) {
    int64_t breaks = 0;
    for (idx_t i = 1; i < n; i++) {
        breaks += rows[i] != rows[i - 1] + 1;
    }
    return breaks == 0;
}

static bool one_file(const uint64_t *files, idx_t n) {
    uint64_t differ = 0;
    for (idx_t i = 1; i < n; i++) {
        differ |= files[i] ^ files[0];
    }
    return differ == 0;
}

/* False when a row is not in the file as the table knows it. */
static bool test_rows(const tl_plan *plan, const uint64_t *files, const int64_t *rows, idx_t n, bool *out) {
    if (n == 0) {
        return true;
    }
    if (one_file(files, n) && files[0] < (uint64_t)plan->n_scan) {
        const tl_plan_file *f = &plan->scan[files[0]];
        if (!f->hidden) {
            memset(out, 1, n);
            return true;
        }
        int64_t count = f->file->file.record_count;
        if (rows[0] >= 0 && rows[0] <= count - (int64_t)n && follow_each_other(rows, n)) {
            test_run(f->hidden, rows[0], n, out);
            return true;
        }
    }
    for (idx_t i = 0; i < n; i++) {
        if (files[i] >= (uint64_t)plan->n_scan) {
            return false;
        }
        const tl_plan_file *f = &plan->scan[files[i]];
        if (rows[i] < 0 || rows[i] >= f->file->file.record_count) {
            return false;
        }
        out[i] = !f->hidden || !tl_bit(f->hidden, rows[i]);
    }
    return true;
}

static void live_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    const tl_plan *plan = duckdb_scalar_function_get_bind_data(info);
    const uint64_t *files = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 1));
    const int64_t *rows = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 2));
    if (!test_rows(plan, files, rows, duckdb_data_chunk_get_size(input), duckdb_vector_get_data(output))) {
        duckdb_scalar_function_set_error(info, "timelake: a data file has other rows than the table's metadata says");
    }
}

tl_status tl_session_add_live(tl_session *s, tl_error *err) {
    static const duckdb_type types[] = {DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_UBIGINT, DUCKDB_TYPE_BIGINT};
    return tl_duck_add_function(tl_session_duck(s), "tl_live", types, 3, DUCKDB_TYPE_BOOLEAN, live_function, live_bind,
                                s, err);
}
