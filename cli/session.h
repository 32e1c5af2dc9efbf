/*
 * A SQL session over a lake. Comes in: statements. Goes out: rows.
 *
 * Each table is a view over query(tl_sql('ns.t')) in the schema of its namespace, in the catalog "timelake". DuckDB
 * calls tl_sql whenever it binds the view; it finds the newest version (duckdb/versions.h) and gives the SELECT over
 * its files (duckdb/sql_text.h). All references of one statement to a table see one version.
 */
#ifndef TL_CLI_SESSION_H
#define TL_CLI_SESSION_H

#include "cli/duck.h"
#include "duckdb/versions.h"

typedef struct tl_session tl_session;

/* `name_space` is where plain table names are looked for. The lake must outlive the session. */
tl_status tl_session_open(tl_lake *lake, const char *name_space, unsigned threads, tl_session **out,
                          tl_error *err) TL_CHECKED;
void tl_session_close(tl_session *s);
tl_duck *tl_session_duck(tl_session *s);

/* Which snapshot of its tables the session reads: `want->dedup` is not looked at. */
void tl_session_want(tl_session *s, const tl_version_want *want);

/* SET name = value: a setting of ours (any spelling; checked) or one of DuckDB's. */
tl_status tl_session_set(tl_session *s, const char *name, const char *value, tl_error *err) TL_CHECKED;

/* Makes the views that a statement may need. Tables that cannot be loaded are left out; what was wrong with the first
 * of them is told by tl_session_broken when the statement then fails ("" = nothing). */
tl_status tl_session_prepare(tl_session *s, tl_bytes statement, tl_error *err) TL_CHECKED;
const char *tl_session_broken(const tl_session *s);

/* After prepare: looks whether less than a whole table answers the statement (cli/shape.h), and reads no more of it
 * then. When counts alone do, `instead` gets the statement to run in its place, NUL-terminated; else it stays empty.
 * Only while nothing that the session has run could have given a table's name another meaning. */
tl_status tl_session_narrow(tl_session *s, tl_bytes statement, tl_buf *instead, tl_error *err) TL_CHECKED;

/* Lets go of the versions that the statement before has used. */
void tl_session_forget(tl_session *s);

/* ---- between the session's parts ---- */

/* The version of a table for the statement being bound: found once for each statement. Borrowed. */
tl_status tl_session_version(tl_session *s, const char *full_name, tl_read_version **out, tl_error *err) TL_CHECKED;
/* The version behind a handle, retained; NULL = none. */
tl_read_version *tl_session_version_of(tl_session *s, int64_t handle);
/* True while a view is made: its columns are wanted, not its rows. */
bool tl_session_defining(const tl_session *s);
/* The table's columns without rows; the SELECT over its files. Not NUL-terminated. */
tl_status tl_session_columns(tl_session *s, const char *full_name, tl_buf *out, tl_error *err) TL_CHECKED;
tl_status tl_session_select(tl_session *s, const char *full_name, tl_buf *out, tl_error *err) TL_CHECKED;

/* live.c: the functions that DuckDB calls. */
tl_status tl_session_add_functions(tl_session *s, tl_error *err) TL_CHECKED;

#endif
