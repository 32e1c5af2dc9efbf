/*
 * timelake.duckdb_extension: LOAD it, and DuckDB reads Timelake's tables with each (series, time) once.
 *
 *     FROM timelake('/data/lake/readings')          a macro, made at LOAD when the database is in memory
 *     FROM 'timelake:/data/lake/readings'           everywhere
 *
 * One binary for DuckDB 1.3 to 2.0: it takes DuckDB's functions from the table of the stable C API v1.2.0 that the host
 * hands over, and exports nothing but its entry. Errors go to DuckDB as texts.
 */
#include "duckdb/extension_internal.h"

#include <pthread.h>
#include <string.h>

static tl_versions *versions;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_versions(void) {
    versions = tl_versions_create();
}

tl_versions *tl_ext_versions(void) {
    return versions;
}

static tl_status run(duckdb_connection connection, const char *sql, tl_error *err) {
    duckdb_result result;
    tl_status status = TL_OK;
    if (duckdb_query(connection, sql, &result) != DuckDBSuccess) {
        const char *why = duckdb_result_error(&result);
        status = tl_fail(err, TL_INTERNAL, "%s", why ? why : "DuckDB failed without saying why");
    }
    duckdb_destroy_result(&result);
    return status;
}

/* A database file is left as it was: what is made there would stay when the extension is gone. */
static bool in_memory(duckdb_connection connection) {
    duckdb_result result;
    bool is = duckdb_query(connection,
                           "SELECT 1 FROM duckdb_databases() WHERE database_name = current_database() AND path IS NULL "
                           "AND NOT readonly",
                           &result) == DuckDBSuccess &&
              duckdb_row_count(&result) == 1;
    duckdb_destroy_result(&result);
    return is;
}

static tl_status add_macros(duckdb_connection connection, tl_error *err) {
    return in_memory(connection) ? run(connection, TL_EXT_MACROS(""), err) : TL_OK;
}

static tl_status add_all(duckdb_connection connection, duckdb_database database, tl_error *err) {
    (void)pthread_once(&once, make_versions);
    if (!versions) {
        return tl_fail_memory(err, 64);
    }
    TL_TRY(tl_ext_add_select(connection, err));
    TL_TRY(tl_ext_add_listings(connection, err));
    TL_TRY(tl_ext_add_mount(connection, err));
    TL_TRY(tl_host_add_time_functions(connection, "tl_", err));
    tl_ext_add_replacement(database);
    return add_macros(connection, err);
}

/* The symbol that DuckDB looks for; the macro below defines it. */
bool timelake_init_c_api(duckdb_extension_info info, struct duckdb_extension_access *access);

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access *access) {
    tl_error err = {{0}};
    if (add_all(connection, *access->get_database(info), &err) == TL_OK) {
        return true;
    }
    tl_host_message m = tl_host_message_of(&err);
    access->set_error(info, m.text);
    return false;
}
