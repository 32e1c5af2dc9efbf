/* timelake upsert: rows of files into a table whose appends delete what they replace. */
#include "cli/commands.h"
#include "cli/continuous.h"
#include "cli/ingest.h"

static tl_status check_policy(tl_cli *cli, const char *name, tl_error *err) {
    tl_table *table = NULL;
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_lake_table(cli->lake, name, &table, err));
    bool upsert = table->contract.upsert;
    tl_table_release(table);
    return upsert ? TL_OK
                  : tl_fail(err, TL_INVALID,
                            "table %s has write-policy append: its older copies are hidden when Timelake reads, not "
                            "from other engines; `timelake alter %s --set write-policy=upsert` changes that",
                            name, name);
}

static tl_status run_upsert(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    TL_TRY(tl_cli_full_name(cli->operands[0], &name, err));
    tl_status status = check_policy(cli, name, err);
    tl_free(name);
    return status == TL_OK ? tl_command_append.run(cli, err) : status;
}

static const tl_flag flags[] = {TL_INPUT_FLAGS, TL_APPEND_FLAGS, TL_CONTINUOUS_FLAGS, {0}};

const tl_command tl_command_upsert = {
    .name = "upsert",
    .operands = "TABLE FILE...",
    .summary = "add rows that replace those of the same series and time",
    .text =
        "For tables with write-policy upsert: a row whose series and time are in the table already replaces the one "
        "there, which is deleted in the same commit, so that every engine sees one row (DuckDB, Spark, pyiceberg, "
        "polars, ClickHouse). With an insertion time of its own a row can also be older than what is there; then it is "
        "the one that is deleted. Rows newer than the last of their series cost nothing extra. `append` does the same "
        "on such a table; this command refuses others.\n\n"
        "  timelake create readings --schema \"machine:string,time:timestamptz,temp:double\" \\\n"
        "           --time-column time --series-key machine --policy upsert\n"
        "  timelake upsert readings corrections.csv\n"
        "  timelake alter other --set write-policy=upsert\n\n"
        "Files and options are those of `timelake append`. docs/upsert.md says what the policy costs readers.",
    .flags = flags,
    .least = 2,
    .most = -1,
    .run = run_upsert,
};
