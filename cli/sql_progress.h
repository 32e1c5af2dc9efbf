/* A progress bar on the terminal while DuckDB works for more than a second; nothing where stderr is no terminal. */
#ifndef TL_CLI_SQL_PROGRESS_H
#define TL_CLI_SQL_PROGRESS_H

#include "cli/duck.h"

typedef struct tl_sql_progress tl_sql_progress;

/* NULL = there is no bar (no terminal, no memory, no thread): also fine to stop. */
tl_sql_progress *tl_sql_progress_start(duckdb_connection connection);
void tl_sql_progress_stop(tl_sql_progress *p);

#endif
