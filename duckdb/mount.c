/*
 * timelake_mount('lake dir'[, 'name']): the statements after which `select ... from name.readings` works, as one text:
 * a database in memory with a view for each table, in the schema of its namespace (those of namespace default in "main"
 * too). timelake_macros(): the statements that make timelake(path) for one connection. The stable API lets a function
 * run no statement in its caller's database, so the caller does.
 */
#include <string.h>

#include "duckdb/extension_internal.h"

/* One lake being written down. */
typedef struct mount {
    const char *folder; /* absolute */
    const char *name;
    tl_buf *out;
} mount;

static tl_status add_view(const mount *m, const char *schema, const char *ns, const char *table) {
    char *path = tl_format("%s/%s/%s", m->folder, ns, table);
    if (!path) {
        return TL_NO_MEMORY;
    }
    tl_status status = tl_buf_add_text(m->out, "CREATE OR REPLACE VIEW ");
    status = status == TL_OK ? tl_duck_quote_name(m->out, m->name) : status;
    status = status == TL_OK ? tl_buf_add_byte(m->out, '.') : status;
    status = status == TL_OK ? tl_duck_quote_name(m->out, schema) : status;
    status = status == TL_OK ? tl_buf_add_byte(m->out, '.') : status;
    status = status == TL_OK ? tl_duck_quote_name(m->out, table) : status;
    status = status == TL_OK ? tl_buf_add_text(m->out, " AS FROM query(tl_sql(") : status;
    status = status == TL_OK ? tl_duck_quote_text(m->out, path) : status;
    status = status == TL_OK ? tl_buf_add_text(m->out, ", '', '', ''));\n") : status;
    tl_free(path);
    return status;
}

static tl_status add_table(const mount *m, const char *full_name, tl_error *err) {
    char ns[256], table[256];
    TL_TRY(tl_table_name_parse(full_name, "default", ns, table, err));
    TL_TRY(tl_buf_add_text(m->out, "CREATE SCHEMA IF NOT EXISTS "));
    TL_TRY(tl_duck_quote_name(m->out, m->name));
    TL_TRY(tl_buf_add_byte(m->out, '.'));
    TL_TRY(tl_duck_quote_name(m->out, ns));
    TL_TRY(tl_buf_add_text(m->out, ";\n"));
    TL_TRY(add_view(m, ns, ns, table));
    return strcmp(ns, "default") == 0 ? add_view(m, "main", ns, table) : TL_OK;
}

static tl_status mount_text(const char *folder, const char *name, tl_buf *out, tl_error *err) {
    tl_lake *lake = NULL;
    char **tables = NULL;
    size_t n = 0;
    char *path = tl_place_path(folder);
    tl_status status = path ? tl_place_lake(path, &lake, err) : tl_fail_memory(err, strlen(folder));
    tl_free(path);
    TL_TRY(status);
    char *local = tl_store_local_path(lake->store, ""), *root = local ? tl_place_path(local) : NULL;
    tl_free(local);
    mount m = {root, name, out};
    status = root ? tl_tables(lake, &tables, &n, err) : tl_fail_memory(err, 64);
    if (status == TL_OK) {
        status = tl_buf_add_text(out, "ATTACH IF NOT EXISTS ':memory:' AS ");
        status = status == TL_OK ? tl_duck_quote_name(out, name) : status;
        status = status == TL_OK ? tl_buf_add_text(out, ";\n") : status;
    }
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        status = add_table(&m, tables[i], err);
    }
    tl_names_free(tables, n);
    tl_free(root);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}

static void mount_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    bool named = duckdb_data_chunk_get_column_count(input) > 1;
    tl_buf text = {0};
    for (idx_t i = 0; i < duckdb_data_chunk_get_size(input); i++) {
        tl_error err = {{0}};
        text.len = 0;
        char *folder = tl_ext_text_at(duckdb_data_chunk_get_vector(input, 0), i);
        char *name = named ? tl_ext_text_at(duckdb_data_chunk_get_vector(input, 1), i) : tl_strdup("lake");
        tl_status status = folder && name ? mount_text(folder, name, &text, &err) : tl_fail_memory(&err, 64);
        tl_free(folder);
        tl_free(name);
        if (status != TL_OK) {
            tl_host_message m = tl_host_message_of(&err);
            duckdb_scalar_function_set_error(info, m.text);
            break;
        }
        duckdb_vector_assign_string_element_len(output, i, (const char *)text.data, text.len);
    }
    tl_buf_free(&text);
}

static void macros_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    (void)info;
    for (idx_t i = 0; i < duckdb_data_chunk_get_size(input); i++) {
        duckdb_vector_assign_string_element(output, i, TL_EXT_MACROS("TEMP "));
    }
}

tl_status tl_ext_add_mount(duckdb_connection connection, tl_error *err) {
    static const duckdb_type texts[] = {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR};
    duckdb_scalar_function mounts[2];
    for (int n = 1; n <= 2; n++) {
        mounts[n - 1] = tl_host_function("timelake_mount", texts, n, DUCKDB_TYPE_VARCHAR, mount_function, NULL);
        duckdb_scalar_function_set_volatile(mounts[n - 1]); /* lists the lake anew each time */
    }
    TL_TRY(tl_host_register(connection, "timelake_mount", mounts, 2, err));
    duckdb_scalar_function f = tl_host_function("timelake_macros", NULL, 0, DUCKDB_TYPE_VARCHAR, macros_function, NULL);
    return tl_host_register(connection, "timelake_macros", &f, 1, err);
}
