/*
 * Results on stdout or into a file. Comes in: a stream of rows and a format. Goes out: table, csv, json (one object a
 * line), an Arrow IPC stream, or nothing (rows are only counted); parquet is written by DuckDB (sql.h).
 */
#ifndef TL_CLI_OUTPUT_H
#define TL_CLI_OUTPUT_H

#include "cli/cli.h"

typedef enum tl_output {
    TL_OUTPUT_TABLE,
    TL_OUTPUT_CSV,
    TL_OUTPUT_JSON,
    TL_OUTPUT_PARQUET,
    TL_OUTPUT_ARROW,
    TL_OUTPUT_NONE
} tl_output;

/* The value of --format; wrong usage when it is none of them. */
tl_status tl_output_parse(tl_cli *cli, tl_output *out, tl_error *err) TL_CHECKED;

/* Formats that are no text are not written to a terminal. */
tl_status tl_output_check_terminal(tl_cli *cli, tl_output format, const char *path, tl_error *err) TL_CHECKED;

/* Writes all rows; *rows = how many. The stream is taken. Not for PARQUET. */
tl_status tl_output_write(tl_output format, struct ArrowArrayStream *stream, FILE *to, int64_t *rows,
                          tl_error *err) TL_CHECKED;

/* The writer of an open file failed? */
tl_status tl_output_flush(FILE *to, tl_error *err) TL_CHECKED;

/* One text format: batches come with their prepared types. */
typedef struct tl_shown tl_shown;
struct ArrowArrayView;
tl_status tl_table_write(tl_arena *arena, const tl_shown *columns, struct ArrowArrayStream *stream,
                         struct ArrowArrayView *view, FILE *to, int64_t *rows, tl_error *err) TL_CHECKED;
tl_status tl_output_next(struct ArrowArrayStream *stream, struct ArrowArrayView *view, struct ArrowArray *batch,
                         tl_error *err) TL_CHECKED;

#endif
