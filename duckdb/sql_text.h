/*
 * From a table's plan to SQL that any DuckDB from 1.3 on runs. Comes in: tables, plans, names. Goes out: text. Pure.
 *
 *     SELECT columns FROM read_parquet(tl_files(handle, from, to), schema = tl_columns(handle))
 *     WHERE tl_live(handle, file_index, row)
 *
 * so that every filter, projection, top-N and join filter is pushed into DuckDB's own parallel scan, and rows that are
 * not to be seen are left out by one bit test a row (DESIGN 6). Without hidden rows there is no WHERE at all.
 */
#ifndef TL_DUCKDB_SQL_TEXT_H
#define TL_DUCKDB_SQL_TEXT_H

#include "base/buf.h"
#include "read/read.h"

/* 'text' with quotes doubled; "name" likewise. */
tl_status tl_duck_quote_text(tl_buf *out, const char *text) TL_CHECKED;
tl_status tl_duck_quote_name(tl_buf *out, const char *name) TL_CHECKED;
/* A path for read_parquet and its like, quoted, in which glob characters stand for themselves. */
tl_status tl_duck_quote_path(tl_buf *out, const char *path) TL_CHECKED;
/* The same as a value, without quotes. */
tl_status tl_duck_path(tl_buf *out, const char *path) TL_CHECKED;

/* DuckDB's name of a type: "TIMESTAMP WITH TIME ZONE", "DECIMAL(10,2)", "STRUCT(\"a\" INTEGER)". */
tl_status tl_duck_type(const tl_type *type, tl_buf *out) TL_CHECKED;

/* DuckDB finds the fields inside of columns by name: TL_UNSUPPORTED when the table's history of schemas shows that such
 * a name has come to mean another field of `schema`. Never a wrong value for it. */
tl_status tl_scan_nested_check(const tl_table *table, const tl_schema *schema, tl_error *err) TL_CHECKED;

/* A data file's path, as read_parquet wants it; without quotes. TL_UNSUPPORTED when it is not on a disk. */
tl_status tl_scan_path(const tl_table *table, const char *key, tl_buf *out, tl_error *err) TL_CHECKED;
/* What a column is called below the SELECT; without quotes. */
tl_status tl_scan_column_name(const tl_field *f, tl_buf *out) TL_CHECKED;

/* The columns of a table without any row. */
tl_status tl_nothing_sql(const tl_schema *schema, tl_buf *out, tl_error *err) TL_CHECKED;

/* The SELECT over a plan's files; `schema` is the one that the plan was made with, `handle` what tl_live is called
 * with. */
tl_status tl_scan_sql(const tl_plan *plan, const tl_schema *schema, int64_t handle, tl_buf *out,
                      tl_error *err) TL_CHECKED;

/* The same over some of the plan's files: those of `wanted` (n_scan flags; NULL = all). */
tl_status tl_scan_some_sql(const tl_plan *plan, const tl_schema *schema, int64_t handle, const bool *wanted,
                           tl_buf *out, tl_error *err) TL_CHECKED;

/* The newest row of every series of the current snapshot: from the layers of its last-value index; TL_NOT_FOUND when
 * there is no index that can be trusted, or it is not on a disk. */
tl_status tl_latest_index_sql(tl_table *table, tl_buf *out, tl_error *err) TL_CHECKED;
/* The same from a SELECT over live rows: appended around `rows`. */
tl_status tl_latest_rows_sql(const tl_table *table, const char *rows, tl_buf *out, tl_error *err) TL_CHECKED;

#endif
