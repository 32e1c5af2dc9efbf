/*
 * tl_files(handle, from, to) and tl_columns(handle): the arguments of read_parquet in the SELECT over a version, as
 * functions that DuckDB calls when it binds the SELECT. As texts in it they would have to be parsed anew for each
 * query: that took longer than all other binding. Comes in: handles. Goes out: functions of a connection.
 */
#ifndef TL_DUCKDB_SCAN_ARGS_H
#define TL_DUCKDB_SCAN_ARGS_H

#include "duckdb/host.h"
#include "duckdb/versions.h"

/* Adds both. `versions` must outlive the connection's database. */
tl_status tl_host_add_scan_arguments(duckdb_connection connection, tl_versions *versions, tl_error *err) TL_CHECKED;

#endif
