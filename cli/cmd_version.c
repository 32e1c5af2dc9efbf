/* timelake version and help. */
#include <string.h>

#include "cli/commands.h"
#include "cli/duck.h"

static tl_status run_version(tl_cli *cli, tl_error *err) {
    (void)err;
    if (tl_has(cli, "json")) {
        printf("{\"timelake\":\"%s\",\"format\":\"0.3.0\",\"duckdb\":\"%s\"}\n", tl_version(),
               duckdb_library_version());
    } else {
        printf("timelake %s (table format 0.3.0, DuckDB %s)\n", tl_version(), duckdb_library_version());
    }
    return TL_OK;
}

static const tl_flag version_flags[] = {{"json", 0, NULL, "One JSON object."}, {0}};

const tl_command tl_command_version = {
    .name = "version",
    .operands = "",
    .summary = "show the versions of timelake, its table format and DuckDB",
    .text = "Prints one line.",
    .flags = version_flags,
    .run = run_version,
};

static tl_status run_help(tl_cli *cli, tl_error *err) {
    const tl_command *command = cli->n_operands ? tl_command_find(cli->operands[0]) : NULL;
    if (cli->n_operands && !command) {
        return tl_usage(cli, err, "unknown command \"%s\"", cli->operands[0]);
    }
    tl_help_print(command);
    return TL_OK;
}

static const tl_flag help_flags[] = {{0}};

const tl_command tl_command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "show this page, or the page of a command",
    .text = "Without COMMAND: what there is.",
    .flags = help_flags,
    .most = 1,
    .run = run_help,
};
