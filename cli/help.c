/* Help pages, made from the table of commands. */
#include <string.h>

#include "cli/cli.h"

enum { HELP_WIDTH = 80 };

/* Prints text with line breaks at blanks, each line `indent` deep. */
static void wrap(const char *text, int indent) {
    int column = 0;
    while (*text) {
        while (*text == ' ') {
            text++;
        }
        int len = (int)strcspn(text, " ");
        if (!len) {
            break;
        }
        if (column && column + 1 + len > HELP_WIDTH - indent) {
            putchar('\n');
            column = 0;
        }
        if (!column) {
            printf("%*s", indent, "");
        } else {
            putchar(' ');
            column++;
        }
        printf("%.*s", len, text);
        column += len;
        text += len;
    }
    putchar('\n');
}

/* Paragraphs of a description; lines that begin with two blanks stay lines. */
static void paragraphs(const char *text) {
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t len = end ? (size_t)(end - text) : strlen(text);
        if (!len) {
            putchar('\n');
        } else if (text[0] == ' ' && text[1] == ' ') {
            printf("       %.*s\n", (int)len, text);
        } else {
            char *line = tl_strndup(text, len);
            if (line) {
                wrap(line, 7);
            }
            tl_free(line);
        }
        text += len + (end != NULL);
    }
}

static void flags_print(const tl_flag *flags) {
    for (; flags && flags->name; flags++) {
        if (flags->letter) {
            printf("       -%c, ", flags->letter);
        } else {
            printf("       ");
        }
        printf("--%s%s%s\n", flags->name, flags->value ? " " : "", flags->value ? flags->value : "");
        wrap(flags->help, 14);
        putchar('\n');
    }
}

static const char exit_text[] = "  0  done\n"
                                "  1  failed; nothing was changed by the step that failed\n"
                                "  2  wrong usage\n"
                                "  3  gave up after conflicts with other writers; nothing was committed\n"
                                "  4  the outcome of a commit is not known: repeat it with the same batch id\n";

static void overview(void) {
    puts("NAME\n       timelake - append readings to Iceberg tables and read them back with SQL\n");
    puts("SYNOPSIS\n       timelake [-w DIR] COMMAND [OPTION...] [ARGUMENT...]\n");
    puts("COMMANDS");
    for (size_t i = 0; i < tl_n_commands; i++) {
        printf("       %-10s %s\n", tl_commands[i]->name, tl_commands[i]->summary);
    }
    puts("\n       `timelake help COMMAND` and `timelake COMMAND --help` show a command's page.\n");
    puts("DESCRIPTION");
    paragraphs(
        "A lake is a folder of tables: <lake>/<namespace>/<table>. A table is named \"table\" (in the namespace "
        "default) or \"namespace.table\". Its rows are readings: a time, the columns that name a series, and values. "
        "They are kept as sorted Parquet files under Apache Iceberg metadata, so that DuckDB, pyiceberg, Spark and "
        "others read the same tables.\n\n"
        "A first session:\n\n"
        "  timelake import weather weather.csv --time-column time_hour \\\n"
        "           --series-key origin --null NA\n"
        "  timelake sql \"select origin, count(*), avg(temp) from weather group by 1\"\n"
        "  timelake latest weather\n");
    puts("\nOPTIONS");
    flags_print(tl_global_flags);
    printf("EXIT STATUS\n");
    paragraphs(exit_text);
}

void tl_help_print(const tl_command *command) {
    if (!command) {
        overview();
        return;
    }
    printf("NAME\n       timelake %s - %s\n\n", command->name, command->summary);
    printf("SYNOPSIS\n       timelake [-w DIR] %s [OPTION...]%s%s\n\n", command->name, *command->operands ? " " : "",
           command->operands);
    puts("DESCRIPTION");
    paragraphs(command->text);
    puts("\nOPTIONS");
    flags_print(command->flags);
    flags_print(tl_global_flags);
    puts("EXIT STATUS");
    paragraphs(exit_text);
}
