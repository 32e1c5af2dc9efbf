/*
 * A SQL session over a lake. Comes in: statements. Goes out: rows.
 *
 * Each table is a view over query(tl_sql('ns.t')) in the schema of its namespace, in the catalog "timelake". DuckDB
 * calls tl_sql whenever it binds the view; it loads the newest version, plans the scan (read/read.h) and gives
 *     SELECT columns FROM read_parquet([files], schema = columns by field id) WHERE tl_live(plan, file_index, row)
 * so that every filter, projection and join filter is pushed into DuckDB's own parallel scan, and older copies of a
 * key are left out by one bit test a row (DESIGN 6). All references of one statement to a table see one version.
 */
#ifndef TL_CLI_SESSION_H
#define TL_CLI_SESSION_H

#include "cli/duck.h"
#include "read/read.h"

typedef struct tl_session tl_session;

/* `name_space` is where plain table names are looked for. The lake must outlive the session. */
tl_status tl_session_open(tl_lake *lake, const char *name_space, unsigned threads, tl_session **out,
                          tl_error *err) TL_CHECKED;
void tl_session_close(tl_session *s);
tl_duck *tl_session_duck(tl_session *s);

/* SET name = value: a setting of ours (any spelling; checked) or one of DuckDB's. */
tl_status tl_session_set(tl_session *s, const char *name, const char *value, tl_error *err) TL_CHECKED;

/* Makes the views that a statement may need. Tables that cannot be loaded are left out; what was wrong with the first
 * of them is told by tl_session_broken when the statement then fails ("" = nothing). */
tl_status tl_session_prepare(tl_session *s, tl_bytes statement, tl_error *err) TL_CHECKED;
const char *tl_session_broken(const tl_session *s);

/* Lets go of the versions that the statement before has used. */
void tl_session_forget(tl_session *s);

/* ---- between the session's parts ---- */

/* The plan of a table for the statement being bound: made once for each statement. Borrowed. */
tl_status tl_session_plan(tl_session *s, const char *full_name, tl_plan **plan, int64_t *handle,
                          tl_error *err) TL_CHECKED;
/* The plan behind a handle, retained; NULL = none. */
tl_plan *tl_session_plan_of(tl_session *s, int64_t handle);
/* True while a view is made: its columns are wanted, not its rows. */
bool tl_session_defining(const tl_session *s);
tl_lake *tl_session_lake(tl_session *s);

/* live.c, scan_sql.c, time_functions.c: the functions that DuckDB calls. */
tl_status tl_session_add_live(tl_session *s, tl_error *err) TL_CHECKED;
tl_status tl_session_add_sql(tl_session *s, tl_error *err) TL_CHECKED;
tl_status tl_duck_add_time_functions(tl_duck *d, tl_error *err) TL_CHECKED;

/* DuckDB finds the fields inside of columns by name: TL_UNSUPPORTED when the table's history of schemas shows that such
 * a name has come to mean another field. Never a wrong value for it. */
tl_status tl_scan_nested_check(const tl_table *table, tl_error *err) TL_CHECKED;
/* The SELECT over a plan's files (handle -1 = without rows). */
tl_status tl_scan_sql(tl_table *table, const tl_plan *plan, int64_t handle, tl_buf *out, tl_error *err) TL_CHECKED;
/* DuckDB's name of a type: "TIMESTAMP WITH TIME ZONE", "DECIMAL(10,2)", "STRUCT(\"a\" INTEGER)". */
tl_status tl_duck_type(const tl_type *type, tl_buf *out) TL_CHECKED;

/* Registers a scalar function with `n` parameters of simple types; `extra` is handed to it. */
tl_status tl_duck_add_function(tl_duck *d, const char *name, const duckdb_type *types, int n, duckdb_type result,
                               duckdb_scalar_function_t function, duckdb_scalar_function_bind_t bind, void *extra,
                               tl_error *err) TL_CHECKED;

#endif
