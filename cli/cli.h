/*
 * The command `timelake`: what its parts share. Comes in: argv. Goes out: result lines on stdout, one line of error on
 * stderr and an exit status (DESIGN 8, spec/table-format.md g.1).
 */
#ifndef TL_CLI_CLI_H
#define TL_CLI_CLI_H

#include <stdio.h>

#include "api/lake.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"

/* Exit statuses are part of the interface. */
enum { TL_EXIT_DONE = 0, TL_EXIT_FAILED = 1, TL_EXIT_USAGE = 2, TL_EXIT_CONFLICT = 3, TL_EXIT_UNKNOWN = 4 };

/* One option of the command line. */
typedef struct tl_flag {
    const char *name;  /* "warehouse": --warehouse */
    char letter;       /* 'w': -w; 0 = none */
    const char *value; /* what its value is called in the help; NULL = a switch */
    const char *help;  /* for the help page; lines are broken there */
} tl_flag;

typedef struct tl_cli tl_cli;

/* A command: its row in the table of main.c. */
typedef struct tl_command {
    const char *name;
    const char *operands; /* "TABLE FILE..." */
    const char *summary;  /* one line */
    const char *text;     /* the page's description: paragraphs parted by empty lines; a line that begins with two
                             blanks is kept as it is */
    const tl_flag *flags; /* ended by name NULL */
    int least, most;      /* operands; most -1 = any number */
    tl_status (*run)(tl_cli *cli, tl_error *err);
} tl_command;

typedef struct tl_given {
    const tl_flag *flag;
    const char *value; /* NULL for a switch */
} tl_given;

/* Everything a command gets. */
struct tl_cli {
    const tl_command *command;
    const char **operands;
    int n_operands;
    tl_given *given; /* in the order of the command line */
    int n_given;
    const char *warehouse;
    unsigned threads;
    bool usage;    /* the failure is wrong usage: exit status 2 */
    tl_lake *lake; /* opened by tl_cli_lake, closed by main */
};

extern const tl_flag tl_global_flags[]; /* ended by name NULL */
extern const tl_command *const tl_commands[];
extern const size_t tl_n_commands;
const tl_command *tl_command_find(const char *name); /* NULL = none */

/* Parses the command line; texts are argv's own. Wrong usage sets cli->usage. A command line that asks for help or the
 * version leaves cli->command as far as it is known; see the flags. */
tl_status tl_args_parse(tl_cli *cli, int argc, char **argv, tl_error *err) TL_CHECKED;
void tl_args_free(tl_cli *cli);

bool tl_has(const tl_cli *cli, const char *flag);
const char *tl_value(const tl_cli *cli, const char *flag); /* the last one given; NULL = none */
/* All values of a repeatable option, ended by NULL; caller frees the array with tl_free; NULL when memory ends. */
const char **tl_values(const tl_cli *cli, const char *flag, size_t *n);
/* A count >= 0 given as the value of an option, or `otherwise`. */
tl_status tl_value_count(tl_cli *cli, const char *flag, int64_t otherwise, int64_t *out, tl_error *err) TL_CHECKED;

/* A failure that is wrong usage. */
tl_status tl_usage(tl_cli *cli, tl_error *err, const char *fmt, ...) TL_PRINTF(3, 4);

/* Opens the lake of this call once. must_exist false makes the folder. */
tl_status tl_cli_lake(tl_cli *cli, bool must_exist, tl_error *err) TL_CHECKED;

/* The full name "ns.t" of the first operand, checked; caller frees. */
tl_status tl_cli_full_name(const char *name, char **out, tl_error *err) TL_CHECKED;

/* The full names of the operands, or of all tables when there are none; give back with tl_names_free. The lake is open.
 */
tl_status tl_cli_tables(tl_cli *cli, char ***names, size_t *n, tl_error *err) TL_CHECKED;

/* A duration given as the value of an option, in microseconds: 0 = not given, -1 = given as none at all. */
tl_status tl_cli_duration(tl_cli *cli, const char *flag, int64_t *us, tl_error *err) TL_CHECKED;

/* Help pages, on stdout. `command` NULL = the overview. */
void tl_help_print(const tl_command *command);

/* Writes to stdout what a report gives; a failed write (disk full, closed pipe) is an error. */
tl_status tl_stdout_flush(tl_error *err) TL_CHECKED;

#endif
