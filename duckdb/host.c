/* Scalar functions, made and registered; see host.h. */
#include "duckdb/host.h"

#include <stdio.h>

duckdb_scalar_function tl_host_function(const char *name, const duckdb_type *types, int n, duckdb_type result,
                                        duckdb_scalar_function_t function, void *extra) {
    duckdb_scalar_function f = duckdb_create_scalar_function();
    duckdb_scalar_function_set_name(f, name);
    for (int i = 0; i < n; i++) {
        duckdb_logical_type type = duckdb_create_logical_type(types[i]);
        duckdb_scalar_function_add_parameter(f, type);
        duckdb_destroy_logical_type(&type);
    }
    duckdb_logical_type type = duckdb_create_logical_type(result);
    duckdb_scalar_function_set_return_type(f, type);
    duckdb_destroy_logical_type(&type);
    duckdb_scalar_function_set_function(f, function);
    duckdb_scalar_function_set_extra_info(f, extra, NULL);
    return f;
}

/* As one set: DuckDB 1.3 and 1.4 take a name only once. */
tl_status tl_host_register(duckdb_connection connection, const char *name, duckdb_scalar_function *functions, size_t n,
                           tl_error *err) {
    duckdb_scalar_function_set set = duckdb_create_scalar_function_set(name);
    bool good = set != NULL;
    for (size_t i = 0; i < n; i++) {
        good = good && duckdb_add_scalar_function_to_set(set, functions[i]) == DuckDBSuccess;
    }
    good = good && duckdb_register_scalar_function_set(connection, set) == DuckDBSuccess;
    for (size_t i = 0; i < n; i++) {
        duckdb_destroy_scalar_function(&functions[i]);
    }
    duckdb_destroy_scalar_function_set(&set);
    return good ? TL_OK : tl_fail(err, TL_INTERNAL, "DuckDB does not take the function %s", name);
}

tl_host_message tl_host_message_of(const tl_error *err) {
    tl_host_message m;
    (void)snprintf(m.text, sizeof m.text, "timelake: %s", err->message);
    return m;
}
