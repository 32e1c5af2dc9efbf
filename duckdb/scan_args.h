/*
 * tl_files(handle, from, to) and tl_columns(handle): the arguments of read_parquet in the SELECT over a version, as
 * functions that DuckDB calls when it binds the SELECT. As texts in it they would have to be parsed anew for each
 * query: that took longer than all other binding. Comes in: handles. Goes out: functions of a connection.
 */
#ifndef TL_DUCKDB_SCAN_ARGS_H
#define TL_DUCKDB_SCAN_ARGS_H

#include "duckdb/host.h"
#include "duckdb/versions.h"

/* Where versions are found by handle. `find` as tl_versions_find; must outlive the connection. */
typedef struct tl_version_source {
    tl_status (*find)(void *owner, int64_t handle, tl_read_version **out, tl_error *err);
    void *owner;
} tl_version_source;

tl_status tl_host_add_scan_arguments(duckdb_connection connection, const tl_version_source *source,
                                     tl_error *err) TL_CHECKED;

#endif
