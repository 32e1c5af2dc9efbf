/* timelake append: rows of files into a table that is there. */
#include "cli/commands.h"
#include "cli/continuous.h"
#include "cli/ingest.h"
#include "cli/stop.h"

static tl_status run_append(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    tl_input_options options = {0};
    tl_paths paths = {0};
    int64_t rows;
    TL_TRY(tl_value_count(cli, "rows-per-commit", 0, &rows, err)); /* wrong usage is told first */
    TL_TRY(tl_ingest_options(cli, &options, err));
    bool continuous = tl_continuous_wanted(cli);
    tl_status status = continuous ? tl_continuous_check(cli, &options, err) : TL_OK;
    if (status == TL_OK) {
        status = tl_cli_full_name(cli->operands[0], &name, err);
    }
    if (status == TL_OK) {
        status = tl_stop_install(err);
    }
    if (status == TL_OK) {
        status = tl_cli_lake(cli, true, err);
    }
    if (status == TL_OK && continuous) {
        status = tl_continuous(cli, name, &options, err);
    }
    if (status == TL_OK && !continuous) {
        status = tl_paths_find(cli->operands + 1, (size_t)cli->n_operands - 1, &paths, err);
    }
    if (status == TL_OK && !continuous) {
        status = tl_ingest(cli, name, &paths, &options, NULL, err);
    }
    tl_paths_free(&paths);
    tl_ingest_options_free(&options);
    tl_free(name);
    return status;
}

static const tl_flag flags[] = {TL_INPUT_FLAGS, TL_APPEND_FLAGS, TL_CONTINUOUS_FLAGS, {0}};

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
        "  unzip -p day.zip | timelake append readings - --format csv\n\n"
        "SIGINT and SIGTERM end an append between two batches: commits that were made stand, the one at work is not "
        "made, "
        "exit status 1. A second signal kills.\n\n"
        "With --commit-every, --commit-bytes or --rejects standard input is a pipe that need not end: rows are "
        "committed "
        "every so often, memory stays bounded (a writer that is too fast has to wait), a commit that fails for want of "
        "disk or luck keeps its rows and is tried again. SIGINT, SIGTERM and the end of the input commit what has come "
        "by "
        "then, exit status 0. A line that does not fit stops it, exit status 1: rows before the line are committed; "
        "with "
        "--rejects it goes on. --batch-id marks commits ID-1, ID-2, ... and has to be a new one for each run.\n\n"
        "  mosquitto_sub -t 'plant/#' | timelake append readings - --format ndjson \\\n"
        "           --commit-every 10s --rejects bad-lines.ndjson",
    .flags = flags,
    .least = 2,
    .most = -1,
    .run = run_append,
};
