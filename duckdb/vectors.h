/*
 * Arrow arrays as DuckDB's vectors. Comes in: arrays as the read room hands them out (iceberg/parquet_schema.h says
 * which layout a type has). Goes out: rows in a vector of the type that tl_vector_type gives.
 */
#ifndef TL_DUCKDB_VECTORS_H
#define TL_DUCKDB_VECTORS_H

#include "duckdb/host.h"
#include "iceberg/types.h"

/* DuckDB's type of a column, the one that reading it from Parquet gives. Caller destroys; NULL = memory has ended or
 * types are nested too deep. */
duckdb_logical_type tl_vector_type(const tl_type *type);

/* Puts rows first .. first + n of the array (its own offset not counted) into rows 0 .. n of a fresh vector. */
tl_status tl_vector_put(const tl_type *type, const struct ArrowArray *array, int64_t first, int64_t n,
                        duckdb_vector out, tl_error *err) TL_CHECKED;

#endif
