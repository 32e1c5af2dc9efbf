/* tl_files and tl_columns; see scan_args.h. */
#include "duckdb/scan_args.h"

static int64_t number_at(duckdb_data_chunk input, idx_t column, idx_t row) {
    return ((const int64_t *)duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, column)))[row];
}

/* Room for `n` elements more in a vector of lists (or maps), for the list of `row`. */
static tl_status begin_list(duckdb_vector lists, idx_t row, idx_t n, idx_t *first, tl_error *err) {
    *first = duckdb_list_vector_get_size(lists);
    if (duckdb_list_vector_reserve(lists, *first + n) != DuckDBSuccess ||
        duckdb_list_vector_set_size(lists, *first + n) != DuckDBSuccess) {
        return tl_fail_memory(err, (size_t)n * sizeof(duckdb_string_t));
    }
    ((duckdb_list_entry *)duckdb_vector_get_data(lists))[row] = (duckdb_list_entry){*first, n};
    return TL_OK;
}

/* The value of one row; its version is argument 0. */
typedef tl_status (*put_row)(const tl_read_version *version, duckdb_data_chunk input, idx_t row, duckdb_vector out,
                             tl_error *err);

static void put_rows(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output, put_row put) {
    tl_versions *versions = duckdb_scalar_function_get_extra_info(info);
    for (idx_t i = 0; i < duckdb_data_chunk_get_size(input); i++) {
        tl_error err = {{0}};
        tl_read_version *version = NULL;
        tl_status status = tl_versions_find(versions, number_at(input, 0, i), &version, &err);
        if (status == TL_OK) {
            status = put(version, input, i, output, &err);
        }
        tl_version_release(version);
        if (status != TL_OK) {
            tl_host_message m = tl_host_message_of(&err);
            duckdb_scalar_function_set_error(info, m.text);
            return;
        }
    }
}

/* ---- tl_files ---- */

static tl_status put_files(const tl_read_version *version, duckdb_data_chunk input, idx_t row, duckdb_vector out,
                           tl_error *err) {
    const tl_plan *plan = version->plan;
    int64_t from = number_at(input, 1, row), to = number_at(input, 2, row);
    idx_t first;
    if (from < 0 || to < from || to > plan->n_scan) {
        return tl_fail(err, TL_INVALID, "tl_files is for the statements that tl_sql makes");
    }
    TL_TRY(begin_list(out, row, (idx_t)(to - from), &first, err));
    duckdb_vector texts = duckdb_list_vector_get_child(out);
    tl_buf path = {0};
    tl_status status = TL_OK;
    for (int64_t i = from; status == TL_OK && i < to; i++) {
        path.len = 0;
        status = tl_scan_path(plan->table, plan->scan[i].file->key, &path, err);
        if (status == TL_OK) {
            duckdb_vector_assign_string_element_len(texts, first + (idx_t)(i - from), (const char *)path.data,
                                                    path.len);
        }
    }
    tl_buf_free(&path);
    return status;
}

static void files_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    put_rows(info, input, output, put_files);
}

/* ---- tl_columns: MAP {field id: {name, type, default_value}} ---- */

static tl_status put_columns(const tl_read_version *version, duckdb_data_chunk input, idx_t row, duckdb_vector out,
                             tl_error *err) {
    (void)input;
    const tl_schema *schema = version->schema;
    idx_t first;
    TL_TRY(begin_list(out, row, (idx_t)schema->n_fields, &first, err));
    duckdb_vector entries = duckdb_list_vector_get_child(out);
    int32_t *ids = duckdb_vector_get_data(duckdb_struct_vector_get_child(entries, 0));
    duckdb_vector columns = duckdb_struct_vector_get_child(entries, 1);
    duckdb_vector names = duckdb_struct_vector_get_child(columns, 0);
    duckdb_vector types = duckdb_struct_vector_get_child(columns, 1);
    duckdb_vector defaults = duckdb_struct_vector_get_child(columns, 2);
    duckdb_vector_ensure_validity_writable(defaults);
    uint64_t *given = duckdb_vector_get_validity(defaults);
    tl_buf text = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < schema->n_fields; i++) {
        const tl_field *f = &schema->fields[i];
        idx_t at = first + (idx_t)i;
        text.len = 0;
        status = tl_scan_column_name(f, &text);
        if (status == TL_OK) {
            duckdb_vector_assign_string_element_len(names, at, (const char *)text.data, text.len);
            text.len = 0;
            status = tl_duck_type(&f->type, &text);
        }
        if (status == TL_OK) {
            duckdb_vector_assign_string_element_len(types, at, (const char *)text.data, text.len);
            ids[at] = f->id;
            duckdb_validity_set_row_invalid(given, at);
        }
    }
    tl_buf_free(&text);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, 64) : status;
}

static void columns_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    put_rows(info, input, output, put_columns);
}

/* ---- their types ---- */

static duckdb_logical_type list_of_texts(void) {
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_logical_type list = duckdb_create_list_type(text);
    duckdb_destroy_logical_type(&text);
    return list;
}

static duckdb_logical_type map_of_columns(void) {
    static const char *names[] = {"name", "type", "default_value"};
    duckdb_logical_type id = duckdb_create_logical_type(DUCKDB_TYPE_INTEGER);
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_logical_type members[] = {text, text, text};
    duckdb_logical_type column = duckdb_create_struct_type(members, names, 3);
    duckdb_logical_type map = duckdb_create_map_type(id, column);
    duckdb_destroy_logical_type(&column);
    duckdb_destroy_logical_type(&text);
    duckdb_destroy_logical_type(&id);
    return map;
}

static tl_status add(duckdb_connection connection, const char *name, int n_arguments, duckdb_logical_type result,
                     duckdb_scalar_function_t function, tl_versions *versions, tl_error *err) {
    static const duckdb_type numbers[] = {DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_BIGINT};
    duckdb_scalar_function f = tl_host_function(name, numbers, n_arguments, DUCKDB_TYPE_VARCHAR, function, versions);
    duckdb_scalar_function_set_return_type(f, result);
    duckdb_destroy_logical_type(&result);
    return tl_host_register(connection, name, &f, 1, err);
}

tl_status tl_host_add_scan_arguments(duckdb_connection connection, tl_versions *versions, tl_error *err) {
    TL_TRY(add(connection, "tl_files", 3, list_of_texts(), files_function, versions, err));
    return add(connection, "tl_columns", 1, map_of_columns(), columns_function, versions, err);
}
