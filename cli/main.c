/* The table of commands, and the way from argv to an exit status. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"

const tl_command *const tl_commands[] = {
    &tl_command_create, &tl_command_append,   &tl_command_upsert,  &tl_command_import,  &tl_command_sql,
    &tl_command_latest, &tl_command_arrivals, &tl_command_info,    &tl_command_ls,      &tl_command_settings,
    &tl_command_alter,  &tl_command_rollback, &tl_command_drop,    &tl_command_index,   &tl_command_duckdb,
    &tl_command_check,  &tl_command_maintain, &tl_command_upgrade, &tl_command_version, &tl_command_help,
};
const size_t tl_n_commands = TL_COUNT(tl_commands);

const tl_command *tl_command_find(const char *name) {
    for (size_t i = 0; i < tl_n_commands; i++) {
        if (strcmp(tl_commands[i]->name, name) == 0) {
            return tl_commands[i];
        }
    }
    return NULL;
}

static int exit_status(const tl_cli *cli, tl_status status) {
    if (status == TL_OK) {
        return TL_EXIT_DONE;
    }
    if (cli->usage) {
        return TL_EXIT_USAGE;
    }
    return status == TL_CONFLICT ? TL_EXIT_CONFLICT : status == TL_UNKNOWN ? TL_EXIT_UNKNOWN : TL_EXIT_FAILED;
}

static tl_status run(tl_cli *cli, int argc, char **argv, tl_error *err) {
    TL_TRY(tl_args_parse(cli, argc, argv, err));
    if (tl_has(cli, "help")) {
        tl_help_print(cli->command);
    } else if (tl_has(cli, "version")) {
        printf("timelake %s\n", tl_version());
    } else {
        TL_TRY(cli->command->run(cli, err));
    }
    return tl_stdout_flush(err);
}

int main(int argc, char **argv) {
    tl_cli cli = {0};
    tl_error err = {{0}};
    tl_status status = run(&cli, argc, argv, &err);
    if (cli.lake) {
        tl_lake_close(cli.lake);
    }
    if (status != TL_OK) {
        (void)fflush(stdout);
        fprintf(stderr, "Error: %s\n", err.message[0] ? err.message : tl_status_name(status));
    }
    tl_args_free(&cli);
    return exit_status(&cli, status);
}
