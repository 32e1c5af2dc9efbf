/*
 * DuckDB, embedded: opening, errors in one line, results as Arrow streams.
 */
#ifndef TL_CLI_DUCK_H
#define TL_CLI_DUCK_H

#include "cli/cli.h"
#include "duckdb/host.h"
#include "duckdb/sql_text.h"

typedef struct tl_duck {
    duckdb_database db;
    duckdb_connection connection;
} tl_duck;

/* A database in memory that fetches nothing: no extension is installed or loaded by itself. Times are UTC. It spills
 * below TMPDIR, else /tmp. Caller closes. */
tl_status tl_duck_open(unsigned threads, tl_duck *out, tl_error *err) TL_CHECKED;
void tl_duck_close(tl_duck *d);

/* DuckDB's message as one line: its own text, and where in the statement. */
tl_status tl_duck_fail(tl_error *err, const char *message);

/* Runs a statement whose result is not wanted. */
tl_status tl_duck_run(tl_duck *d, const char *sql, tl_error *err) TL_CHECKED;

/* A result as an Arrow stream; the result is taken (also on failure). */
tl_status tl_duck_stream(duckdb_result *result, struct ArrowArrayStream *out, tl_error *err) TL_CHECKED;

/* A value for a person: "SELECT ..." gives one text of one row; NULL result = no row. Caller frees with duckdb_free. */
tl_status tl_duck_text(tl_duck *d, const char *sql, char **out, tl_error *err) TL_CHECKED;

#endif
