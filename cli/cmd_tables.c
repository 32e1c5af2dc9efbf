/* timelake ls, drop and index: the list of tables. */
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/show.h"

/* "text" as JSON on stdout. */
static tl_status print_json_text(const char *text, tl_error *err) {
    tl_buf out = {0};
    tl_status status = tl_show_json_text(tl_bytes_of(text), &out);
    if (status == TL_OK) {
        (void)fwrite(out.data, 1, out.len, stdout);
    }
    tl_buf_free(&out);
    return status == TL_OK ? TL_OK : tl_fail_memory(err, strlen(text));
}

static tl_status run_ls(tl_cli *cli, tl_error *err) {
    char **names;
    size_t n;
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_tables(cli->lake, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (tl_has(cli, "json")) {
            printf("{\"name\":");
            status = print_json_text(names[i], err);
            printf("}\n");
        } else {
            printf("%s\n", names[i]);
        }
    }
    tl_names_free(names, n);
    return status;
}

static const tl_flag ls_flags[] = {{"json", 0, NULL, "One JSON object a line: {\"name\": \"namespace.table\"}."}, {0}};

const tl_command tl_command_ls = {
    .name = "ls",
    .operands = "",
    .summary = "list the tables",
    .text = "Prints the full name of each table, one a line, sorted.",
    .flags = ls_flags,
    .run = run_ls,
};

static tl_status confirm(tl_cli *cli, const char *name, tl_error *err) {
    if (tl_has(cli, "yes")) {
        return TL_OK;
    }
    if (!isatty(0) || !isatty(2)) {
        return tl_fail(err, TL_INVALID, "drop removes %s and all of its files for good: give --yes", name);
    }
    char answer[64] = {0};
    fprintf(stderr, "Remove %s and all of its files for good? [y/N] ", name);
    if (!fgets(answer, sizeof answer, stdin)) {
        answer[0] = 0;
    }
    answer[strcspn(answer, "\r\n")] = 0;
    if (strcmp(answer, "y") != 0 && strcmp(answer, "Y") != 0 && strcmp(answer, "yes") != 0) {
        return tl_fail(err, TL_CANCELLED, "%s was not dropped", name);
    }
    return TL_OK;
}

static tl_status run_drop(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    TL_TRY(tl_cli_full_name(cli->operands[0], &name, err));
    tl_table *table = NULL;
    tl_status status = tl_cli_lake(cli, true, err);
    /* A table that cannot be read can still be dropped; one that is not there cannot. */
    if (status == TL_OK && tl_lake_table(cli->lake, name, &table, err) == TL_NOT_FOUND) {
        status = TL_NOT_FOUND;
    }
    tl_table_release(table);
    if (status == TL_OK) {
        status = confirm(cli, name, err);
    }
    if (status == TL_OK) {
        status = tl_drop(cli->lake, name, err);
    }
    if (status == TL_OK) {
        printf("dropped %s\n", name);
    }
    tl_free(name);
    return status;
}

static const tl_flag drop_flags[] = {{"yes", 'y', NULL, "Does not ask."}, {0}};

const tl_command tl_command_drop = {
    .name = "drop",
    .operands = "TABLE",
    .summary = "remove a table and all of its files",
    .text = "Asks first. Without a terminal to ask on, it refuses unless --yes is given. There is no way back.",
    .flags = drop_flags,
    .least = 1,
    .most = 1,
    .run = run_drop,
};

static tl_status run_index(tl_cli *cli, tl_error *err) {
    char **names;
    size_t n;
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_index(cli->lake, &n, err));
    TL_TRY(tl_tables(cli->lake, &names, &n, err));
    printf("indexed %zu tables:", n);
    for (size_t i = 0; i < n; i++) {
        printf("%s%s", i ? ", " : " ", names[i]);
    }
    printf("\n");
    tl_names_free(names, n);
    return TL_OK;
}

static const tl_flag index_flags[] = {{0}};

const tl_command tl_command_index = {
    .name = "index",
    .operands = "",
    .summary = "rewrite the lake's list of tables",
    .text = "Writes timelake-tables.json anew: what readers use on stores that cannot list (plain HTTP). create and "
            "drop do "
            "that themselves.",
    .flags = index_flags,
    .run = run_index,
};
