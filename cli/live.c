/*
 * tl_sql and tl_live as functions of the session's DuckDB. tl_live(handle, file_index, file_row_number): whether a row
 * is the newest of its key. DuckDB calls it from all of its threads, on what is left after its own filters.
 */
#include "duckdb/live.h"

#include <string.h>

#include "cli/session.h"

static void *version_copy(void *version) {
    ((tl_read_version *)version)->references++;
    return version;
}
static void version_release(void *version) {
    tl_version_release(version);
}

/* Finds the version when the statement is bound, and keeps it for as long as the bound expression lives. */
static void live_bind(duckdb_bind_info info) {
    tl_session *s = duckdb_scalar_function_bind_get_extra_info(info);
    duckdb_expression argument = duckdb_scalar_function_bind_get_argument(info, 0);
    duckdb_client_context context = NULL;
    duckdb_scalar_function_get_client_context(info, &context);
    duckdb_value value = NULL;
    tl_read_version *version = NULL;
    duckdb_error_data why = duckdb_expression_is_foldable(argument)
                                ? duckdb_expression_fold(context, argument, &value)
                                : duckdb_create_error_data(DUCKDB_ERROR_BINDER, "not constant");
    if (!why) {
        version = tl_session_version_of(s, duckdb_get_int64(value));
    }
    if (version) {
        duckdb_scalar_function_set_bind_data(info, version, version_release);
        duckdb_scalar_function_set_bind_data_copy(info, version_copy);
    } else {
        duckdb_scalar_function_bind_set_error(info, "tl_live is for the statements that tl_sql makes");
    }
    duckdb_destroy_error_data(&why);
    duckdb_destroy_value(&value);
    duckdb_destroy_client_context(&context);
    duckdb_destroy_expression(&argument);
}

static void live_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    tl_read_version *version = duckdb_scalar_function_get_bind_data(info);
    const uint64_t *files = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 1));
    const int64_t *rows = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 2));
    idx_t n = duckdb_data_chunk_get_size(input);
    if (!tl_live_rows(version->plan, files, rows, n, duckdb_vector_get_data(output))) {
        duckdb_scalar_function_set_error(info, TL_LIVE_MISFIT);
    } else if (n) {
        tl_version_mark(version, files[0]);
        tl_version_mark(version, files[n - 1]);
    }
}

/* The text for the table named by the function's argument. */
static tl_status text_for(tl_session *s, const char *name, tl_buf *out, tl_error *err) {
    out->len = 0;
    if (tl_session_defining(s)) {
        return tl_session_columns(s, name, out, err);
    }
    return tl_session_select(s, name, out, err);
}

static void sql_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    tl_session *s = duckdb_scalar_function_get_extra_info(info);
    const duckdb_string_t *names = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
    idx_t n = duckdb_data_chunk_get_size(input);
    tl_buf text = {0};
    for (idx_t i = 0; i < n; i++) {
        tl_error err = {{0}};
        duckdb_string_t value = names[i];
        char *name = tl_strndup(duckdb_string_t_data(&value), duckdb_string_t_length(value));
        tl_status status = name ? text_for(s, name, &text, &err) : tl_fail_memory(&err, 1);
        tl_free(name);
        if (status != TL_OK) {
            char *message = tl_format("timelake: %s", err.message);
            duckdb_scalar_function_set_error(info, message ? message : "out of memory");
            tl_free(message);
            break;
        }
        duckdb_vector_assign_string_element_len(output, i, (const char *)text.data, text.len);
    }
    tl_buf_free(&text);
}

tl_status tl_session_add_functions(tl_session *s, tl_error *err) {
    static const duckdb_type live[] = {DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_UBIGINT, DUCKDB_TYPE_BIGINT};
    static const duckdb_type text[] = {DUCKDB_TYPE_VARCHAR};
    duckdb_connection connection = tl_session_duck(s)->connection;
    duckdb_scalar_function f = tl_host_function("tl_sql", text, 1, DUCKDB_TYPE_VARCHAR, sql_function, s);
    TL_TRY(tl_host_register(connection, "tl_sql", &f, 1, err));
    f = tl_host_function("tl_live", live, 3, DUCKDB_TYPE_BOOLEAN, live_function, s);
    duckdb_scalar_function_set_bind(f, live_bind);
    return tl_host_register(connection, "tl_live", &f, 1, err);
}
