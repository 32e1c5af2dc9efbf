/* tl_sql: from a table's plan to the SELECT that DuckDB runs instead of the view. See session.h. */
#include <string.h>
#include <strings.h>

#include "cli/session.h"

enum { MAX_DEPTH = 64 };

static tl_status type_name(const tl_type *type, int depth, tl_buf *out) {
    if (depth > MAX_DEPTH) {
        return TL_UNSUPPORTED;
    }
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return tl_buf_add_text(out, "BOOLEAN");
    case TL_TYPE_INT: return tl_buf_add_text(out, "INTEGER");
    case TL_TYPE_LONG: return tl_buf_add_text(out, "BIGINT");
    case TL_TYPE_FLOAT: return tl_buf_add_text(out, "FLOAT");
    case TL_TYPE_DOUBLE: return tl_buf_add_text(out, "DOUBLE");
    case TL_TYPE_DECIMAL: return tl_buf_printf(out, "DECIMAL(%d,%d)", type->precision, type->scale);
    case TL_TYPE_DATE: return tl_buf_add_text(out, "DATE");
    case TL_TYPE_TIME: return tl_buf_add_text(out, "TIME");
    case TL_TYPE_TIMESTAMP: return tl_buf_add_text(out, "TIMESTAMP");
    case TL_TYPE_TIMESTAMPTZ: return tl_buf_add_text(out, "TIMESTAMP WITH TIME ZONE");
    case TL_TYPE_STRING: return tl_buf_add_text(out, "VARCHAR");
    case TL_TYPE_UUID: return tl_buf_add_text(out, "UUID");
    case TL_TYPE_FIXED:
    case TL_TYPE_BINARY: return tl_buf_add_text(out, "BLOB");
    case TL_TYPE_LIST: TL_TRY(type_name(&type->fields[0].type, depth + 1, out)); return tl_buf_add_text(out, "[]");
    case TL_TYPE_MAP:
        TL_TRY(tl_buf_add_text(out, "MAP("));
        TL_TRY(type_name(&type->fields[0].type, depth + 1, out));
        TL_TRY(tl_buf_add_text(out, ", "));
        TL_TRY(type_name(&type->fields[1].type, depth + 1, out));
        return tl_buf_add_byte(out, ')');
    case TL_TYPE_STRUCT:
        TL_TRY(tl_buf_add_text(out, "STRUCT("));
        for (int32_t i = 0; i < type->n_fields; i++) {
            TL_TRY(i ? tl_buf_add_text(out, ", ") : TL_OK);
            TL_TRY(tl_duck_quote_name(out, type->fields[i].name));
            TL_TRY(tl_buf_add_byte(out, ' '));
            TL_TRY(type_name(&type->fields[i].type, depth + 1, out));
        }
        return tl_buf_add_byte(out, ')');
    }
    return TL_UNSUPPORTED;
}

tl_status tl_duck_type(const tl_type *type, tl_buf *out) {
    return type_name(type, 0, out);
}

/* The columns that every Parquet scan has besides the file's own: one of ours with such a name goes by its id. */
static bool hides_virtual(const tl_field *f) {
    return strcasecmp(f->name, "file_index") == 0 || strcasecmp(f->name, "file_row_number") == 0 ||
           strcasecmp(f->name, "filename") == 0;
}

static tl_status inner_name(const tl_field *f, tl_buf *out) {
    return hides_virtual(f) ? tl_buf_printf(out, "\"tl_field_%d\"", f->id) : tl_duck_quote_name(out, f->name);
}

static tl_status select_nothing(const tl_schema *schema, tl_buf *out) {
    TL_TRY(tl_buf_add_text(out, "SELECT "));
    for (int32_t i = 0; i < schema->n_fields; i++) {
        TL_TRY(tl_buf_add_text(out, i ? ", CAST(NULL AS " : "CAST(NULL AS "));
        TL_TRY(tl_duck_type(&schema->fields[i].type, out));
        TL_TRY(tl_buf_add_text(out, ") AS "));
        TL_TRY(tl_duck_quote_name(out, schema->fields[i].name));
    }
    return tl_buf_add_text(out, " WHERE false");
}

static tl_status files_of(const tl_table *table, const tl_plan *plan, int64_t from, int64_t to, tl_buf *out,
                          tl_error *err) {
    for (int64_t i = from; i < to; i++) {
        char *path = tl_store_local_path(table->store, plan->scan[i].file->key);
        if (!path) {
            return tl_fail(err, TL_UNSUPPORTED, "table %s: sql reads lakes on a disk only", table->name);
        }
        tl_status status = i > from ? tl_buf_add_byte(out, ',') : TL_OK;
        if (status == TL_OK) {
            status = tl_duck_quote_path(out, path);
        }
        tl_free(path);
        TL_TRY(status);
    }
    return TL_OK;
}

/* schema = MAP {id: {name, type, default_value}}: columns are found by field id, whatever a file calls them. */
static tl_status columns_of(const tl_schema *schema, tl_buf *out) {
    tl_buf part = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < schema->n_fields; i++) {
        const tl_field *f = &schema->fields[i];
        char own[32];
        part.len = 0;
        (void)snprintf(own, sizeof own, "tl_field_%d", f->id);
        status = tl_buf_printf(out, "%s%d: {name: ", i ? ", " : "", f->id);
        if (status == TL_OK) {
            status = tl_duck_quote_text(out, hides_virtual(f) ? own : f->name);
        }
        if (status == TL_OK) {
            status = tl_duck_type(&f->type, &part);
        }
        if (status == TL_OK) {
            status = tl_buf_add_byte(&part, 0);
        }
        if (status == TL_OK) {
            status = tl_buf_add_text(out, ", type: ");
        }
        if (status == TL_OK) {
            status = tl_duck_quote_text(out, (const char *)part.data);
        }
        if (status == TL_OK) {
            status = tl_buf_add_text(out, ", default_value: NULL}");
        }
    }
    tl_buf_free(&part);
    return status;
}

/* Files `from` to `to` of the plan, whose columns carry field ids. */
static tl_status select_by_id(tl_table *table, const tl_plan *plan, int64_t from, int64_t to, int64_t handle,
                              tl_buf *out, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    TL_TRY(tl_buf_add_text(out, "SELECT "));
    for (int32_t i = 0; i < schema->n_fields; i++) {
        TL_TRY(i ? tl_buf_add_text(out, ", ") : TL_OK);
        TL_TRY(inner_name(&schema->fields[i], out));
        if (hides_virtual(&schema->fields[i])) {
            TL_TRY(tl_buf_add_text(out, " AS "));
            TL_TRY(tl_duck_quote_name(out, schema->fields[i].name));
        }
    }
    TL_TRY(tl_buf_add_text(out, " FROM read_parquet(["));
    TL_TRY(files_of(table, plan, from, to, out, err));
    TL_TRY(tl_buf_add_text(out, "], hive_partitioning=false, schema=MAP{"));
    TL_TRY(columns_of(schema, out));
    TL_TRY(tl_buf_add_text(out, "})"));
    if (plan->hidden_rows > 0 && from == 0) {
        return tl_buf_printf(out, " WHERE tl_live(%lld, file_index, file_row_number)", (long long)handle);
    }
    if (plan->hidden_rows > 0) {
        return tl_buf_printf(out, " WHERE tl_live(%lld, CAST(file_index + %lld AS UBIGINT), file_row_number)",
                             (long long)handle, (long long)from);
    }
    return TL_OK;
}

/* One file without field ids: by the names that the plan found for it. */
static tl_status select_by_name(tl_table *table, const tl_plan *plan, int64_t file, int64_t handle, tl_buf *out,
                                tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    TL_TRY(tl_buf_add_text(out, "SELECT "));
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const char *name = plan->scan[file].names[i];
        TL_TRY(tl_buf_add_text(out, i ? ", CAST(" : "CAST("));
        TL_TRY(name ? tl_duck_quote_name(out, name) : tl_buf_add_text(out, "NULL"));
        TL_TRY(tl_buf_add_text(out, " AS "));
        TL_TRY(tl_duck_type(&schema->fields[i].type, out));
        TL_TRY(tl_buf_add_text(out, ") AS "));
        TL_TRY(tl_duck_quote_name(out, schema->fields[i].name));
    }
    TL_TRY(tl_buf_add_text(out, " FROM read_parquet(["));
    TL_TRY(files_of(table, plan, file, file + 1, out, err));
    TL_TRY(tl_buf_add_text(out, "], hive_partitioning=false)"));
    return plan->hidden_rows > 0 ? tl_buf_printf(out, " WHERE tl_live(%lld, CAST(%lld AS UBIGINT), file_row_number)",
                                                 (long long)handle, (long long)file)
                                 : TL_OK;
}

/* Runs of files of one kind, usually a single one. */
static tl_status select_files(tl_table *table, const tl_plan *plan, int64_t handle, tl_buf *out, tl_error *err) {
    TL_TRY(tl_scan_nested_check(table, err));
    for (int64_t from = 0, to; from < plan->n_scan; from = to) {
        TL_TRY(from ? tl_buf_add_text(out, " UNION ALL ") : TL_OK);
        to = from + 1;
        if (plan->scan[from].names) {
            TL_TRY(select_by_name(table, plan, from, handle, out, err));
            continue;
        }
        while (to < plan->n_scan && !plan->scan[to].names) {
            to++;
        }
        TL_TRY(select_by_id(table, plan, from, to, handle, out, err));
    }
    return TL_OK;
}

tl_status tl_scan_sql(tl_table *table, const tl_plan *plan, int64_t handle, tl_buf *out, tl_error *err) {
    tl_status status = plan && plan->n_scan > 0 ? select_files(table, plan, handle, out, err)
                                                : select_nothing(tl_metadata_schema(&table->metadata), out);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}

/* The text for the table named by the function's argument. */
static tl_status text_for(tl_session *s, const char *name, tl_buf *out, tl_error *err) {
    if (tl_session_defining(s)) {
        tl_table *table = NULL;
        TL_TRY(tl_lake_table(tl_session_lake(s), name, &table, err));
        tl_status status = tl_scan_sql(table, NULL, -1, out, err);
        tl_table_release(table);
        return status;
    }
    tl_plan *plan;
    int64_t handle;
    TL_TRY(tl_session_plan(s, name, &plan, &handle, err));
    return tl_scan_sql(plan->table, plan, handle, out, err);
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
        text.len = 0;
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

tl_status tl_session_add_sql(tl_session *s, tl_error *err) {
    static const duckdb_type types[] = {DUCKDB_TYPE_VARCHAR};
    return tl_duck_add_function(tl_session_duck(s), "tl_sql", types, 1, DUCKDB_TYPE_VARCHAR, sql_function, NULL, s,
                                err);
}
