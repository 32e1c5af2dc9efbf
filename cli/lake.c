/* The lake and the table names of a call. */
#include <string.h>

#include "cli/cli.h"
#include "table/settings.h"

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

tl_status tl_cli_tables(tl_cli *cli, char ***names, size_t *n, tl_error *err) {
    *n = 0;
    if (cli->n_operands == 0) {
        return tl_tables(cli->lake, names, n, err);
    }
    *names = tl_calloc((size_t)cli->n_operands, sizeof **names);
    tl_status status = *names ? TL_OK : tl_fail_memory(err, (size_t)cli->n_operands * sizeof **names);
    for (int i = 0; status == TL_OK && i < cli->n_operands; i++) {
        status = tl_cli_full_name(cli->operands[i], &(*names)[i], err);
        *n += status == TL_OK;
    }
    if (status != TL_OK) {
        tl_names_free(*names, *n);
        *names = NULL;
        *n = 0;
    }
    return status;
}

tl_status tl_cli_duration(tl_cli *cli, const char *flag, int64_t *us, tl_error *err) {
    const char *text = tl_value(cli, flag);
    if (!text) {
        *us = 0;
        return TL_OK;
    }
    if (!tl_duration_parse(text, us)) {
        return tl_usage(cli, err, "--%s wants a duration such as 30s, 90m or 3d, not \"%s\"", flag, text);
    }
    *us = *us ? *us : -1;
    return TL_OK;
}
