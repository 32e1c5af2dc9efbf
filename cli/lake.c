/* The lake and the table names of a call. */
#include <string.h>

#include "cli/cli.h"

tl_status tl_cli_lake(tl_cli *cli, bool must_exist, tl_error *err) {
    if (cli->lake) {
        return TL_OK;
    }
    tl_lake_options options = {.must_exist = must_exist, .threads = cli->threads};
    return tl_lake_open(cli->warehouse, &options, &cli->lake, err);
}

tl_status tl_cli_full_name(const char *name, char **out, tl_error *err) {
    char ns[256], table[256];
    *out = NULL;
    TL_TRY(tl_table_name_parse(name, "default", ns, table, err));
    *out = tl_format("%s.%s", ns, table);
    return *out ? TL_OK : tl_fail_memory(err, strlen(name));
}
