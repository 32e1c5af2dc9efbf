/* timelake append: rows of files into a table that is there. */
#include "cli/commands.h"
#include "cli/ingest.h"

static tl_status run_append(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    tl_input_options options = {0};
    tl_paths paths = {0};
    int64_t rows;
    TL_TRY(tl_value_count(cli, "rows-per-commit", 0, &rows, err)); /* wrong usage is told first */
    TL_TRY(tl_ingest_options(cli, &options, err));
    tl_status status = tl_cli_full_name(cli->operands[0], &name, err);
    if (status == TL_OK) {
        status = tl_cli_lake(cli, true, err);
    }
    if (status == TL_OK) {
        status = tl_paths_find(cli->operands + 1, (size_t)cli->n_operands - 1, &paths, err);
    }
    if (status == TL_OK) {
        status = tl_ingest(cli, name, &paths, &options, NULL, err);
    }
    tl_paths_free(&paths);
    tl_ingest_options_free(&options);
    tl_free(name);
    return status;
}

static const tl_flag flags[] = {TL_INPUT_FLAGS, TL_APPEND_FLAGS, {0}};

const tl_command tl_command_append = {
    .name = "append",
    .operands = "TABLE FILE...",
    .summary = "add the rows of files to a table",
    .text =
        "FILE is CSV or TSV with a header line, NDJSON (one object a line), Arrow IPC or Parquet; text may be gzip or "
        "zstd. A folder stands for the Parquet files in it, `-` for standard input (with --format).\n\n"
        "Columns are matched by name. A value is converted only where nothing of it is lost; a text must be a whole "
        "number, time and so on. Otherwise the append fails with file, line or row, column and value, and the commit "
        "at work is not made. Missing columns are null.\n\n"
        "In CSV an empty field is null, and `\"\"` an empty text.\n\n"
        "  timelake append readings batch-*.parquet --rows-per-commit 0\n"
        "  sensor | timelake append readings - --format ndjson --rows-per-commit 1000",
    .flags = flags,
    .least = 2,
    .most = -1,
    .run = run_append,
};
