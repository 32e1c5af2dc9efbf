/*
 * tl_merged(handle): a table function over the files of a version that is read by merging (read-dedup-strategy
 * `merge`). Comes in: a handle of versions.h. Goes out: the last write of each key, for DuckDB to filter. Only the
 * columns that a query looks at are read; parts of the merge are spread over DuckDB's threads.
 */
#ifndef TL_DUCKDB_MERGED_H
#define TL_DUCKDB_MERGED_H

#include "duckdb/host.h"
#include "duckdb/versions.h"

/* Adds the function. `versions` must outlive the connection's database. */
tl_status tl_merged_add(duckdb_connection connection, tl_versions *versions, tl_error *err) TL_CHECKED;

#endif
