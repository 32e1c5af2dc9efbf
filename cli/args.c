/* The command line: global options anywhere, the command's own options behind its name, "--" ends the options. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const tl_flag tl_global_flags[] = {
    {"warehouse", 'w', "DIR",
     "The lake: a folder or file:// location. Default: the environment's TIMELAKE_WAREHOUSE, else "
     "./warehouse."},
    {"option", 'o', "NAME=VALUE", "An option of the lake; may be repeated. Known: threads (0 = one per core)."},
    {"help", 'h', NULL, "Shows this page and does nothing else."},
    {"version", 'V', NULL, "Shows the version and does nothing else."},
    {0},
};

static const tl_flag *find_long(const tl_flag *flags, const char *name, size_t len) {
    for (; flags && flags->name; flags++) {
        if (strlen(flags->name) == len && memcmp(flags->name, name, len) == 0) {
            return flags;
        }
    }
    return NULL;
}

static const tl_flag *find_short(const tl_flag *flags, char letter) {
    for (; flags && flags->name; flags++) {
        if (flags->letter == letter) {
            return flags;
        }
    }
    return NULL;
}

tl_status tl_usage(tl_cli *cli, tl_error *err, const char *fmt, ...) {
    char text[900];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cli->usage = true;
    if (cli->command) {
        return tl_fail(err, TL_INVALID, "%s (see `timelake %s --help`)", text, cli->command->name);
    }
    return tl_fail(err, TL_INVALID, "%s (see `timelake help`)", text);
}

/* Takes one option apart: argv[*i], and argv[*i + 1] where the value stands apart. */
static tl_status take_option(tl_cli *cli, int argc, char **argv, int *i, tl_error *err) {
    const char *arg = argv[*i], *value = NULL;
    const tl_flag *own = cli->command ? cli->command->flags : NULL, *flag;
    if (arg[1] == '-') {
        const char *name = arg + 2, *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        flag = find_long(tl_global_flags, name, len);
        flag = flag ? flag : find_long(own, name, len);
        value = equals ? equals + 1 : NULL;
        if (!flag) {
            return tl_usage(cli, err, "unknown option --%.*s", (int)len, name);
        }
        if (!flag->value && value) {
            return tl_usage(cli, err, "--%s takes no value", flag->name);
        }
    } else {
        flag = find_short(tl_global_flags, arg[1]);
        flag = flag ? flag : find_short(own, arg[1]);
        if (!flag) {
            return tl_usage(cli, err, "unknown option -%c", arg[1]);
        }
        if (!flag->value && arg[2]) {
            return tl_usage(cli, err, "-%c takes no value", arg[1]);
        }
        value = arg[2] ? arg + 2 : NULL;
    }
    if (flag->value && !value) {
        if (*i + 1 >= argc) {
            return tl_usage(cli, err, "--%s needs a value: %s", flag->name, flag->value);
        }
        value = argv[++*i];
    }
    cli->given[cli->n_given++] = (tl_given){flag, value};
    return TL_OK;
}

static tl_status lake_options(tl_cli *cli, tl_error *err) {
    cli->warehouse = tl_value(cli, "warehouse");
    if (!cli->warehouse) {
        const char *env = getenv("TIMELAKE_WAREHOUSE");
        cli->warehouse = env && *env ? env : "./warehouse";
    }
    for (int i = 0; i < cli->n_given; i++) {
        if (cli->given[i].flag->letter != 'o') {
            continue;
        }
        const char *text = cli->given[i].value, *equals = strchr(text, '=');
        if (!equals) {
            return tl_usage(cli, err, "--option wants NAME=VALUE, not \"%s\"", text);
        }
        char *end;
        unsigned long n = strtoul(equals + 1, &end, 10);
        if (strncmp(text, "threads=", 8) != 0) {
            return tl_usage(cli, err, "unknown option of the lake \"%.*s\"; known: threads", (int)(equals - text),
                            text);
        }
        if (equals[1] < '0' || equals[1] > '9' || *end || n > 4096) {
            return tl_usage(cli, err, "option threads wants a count up to 4096, not \"%s\"", equals + 1);
        }
        cli->threads = (unsigned)n;
    }
    return TL_OK;
}

tl_status tl_args_parse(tl_cli *cli, int argc, char **argv, tl_error *err) {
    cli->operands = tl_calloc((size_t)argc + 1, sizeof *cli->operands);
    cli->given = tl_calloc((size_t)argc + 1, sizeof *cli->given);
    if (!cli->operands || !cli->given) {
        return tl_fail_memory(err, (size_t)argc * sizeof *cli->given);
    }
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (options && strcmp(arg, "--") == 0) {
            options = false;
        } else if (options && arg[0] == '-' && arg[1]) {
            TL_TRY(take_option(cli, argc, argv, &i, err));
        } else if (!cli->command) {
            cli->command = tl_command_find(arg);
            if (!cli->command) {
                return tl_usage(cli, err, "unknown command \"%s\"", arg);
            }
        } else {
            cli->operands[cli->n_operands++] = arg;
        }
    }
    TL_TRY(lake_options(cli, err));
    if (tl_has(cli, "help") || tl_has(cli, "version")) {
        return TL_OK;
    }
    if (!cli->command) {
        return tl_usage(cli, err, "no command was given");
    }
    if (cli->n_operands < cli->command->least) {
        return tl_usage(cli, err, "too few arguments: timelake %s %s", cli->command->name, cli->command->operands);
    }
    if (cli->command->most >= 0 && cli->n_operands > cli->command->most) {
        return tl_usage(cli, err, "too many arguments, from \"%s\" on", cli->operands[cli->command->most]);
    }
    return TL_OK;
}

void tl_args_free(tl_cli *cli) {
    tl_free(cli->operands);
    tl_free(cli->given);
    cli->operands = NULL;
    cli->given = NULL;
}

const char *tl_value(const tl_cli *cli, const char *flag) {
    for (int i = cli->n_given - 1; i >= 0; i--) {
        if (strcmp(cli->given[i].flag->name, flag) == 0) {
            return cli->given[i].value ? cli->given[i].value : "";
        }
    }
    return NULL;
}

bool tl_has(const tl_cli *cli, const char *flag) {
    return tl_value(cli, flag) != NULL;
}

const char **tl_values(const tl_cli *cli, const char *flag, size_t *n) {
    const char **values = tl_calloc((size_t)cli->n_given + 1, sizeof *values);
    *n = 0;
    for (int i = 0; values && i < cli->n_given; i++) {
        if (strcmp(cli->given[i].flag->name, flag) == 0) {
            values[(*n)++] = cli->given[i].value;
        }
    }
    return values;
}

tl_status tl_value_count(tl_cli *cli, const char *flag, int64_t otherwise, int64_t *out, tl_error *err) {
    const char *text = tl_value(cli, flag);
    *out = otherwise;
    if (!text) {
        return TL_OK;
    }
    int64_t n = 0;
    bool good = *text != 0;
    for (const char *p = text; good && *p; p++) {
        good = *p >= '0' && *p <= '9' && tl_i64_mul(n, 10, &n) && tl_i64_add(n, *p - '0', &n);
    }
    if (!good) {
        return tl_usage(cli, err, "--%s wants a count, not \"%s\"", flag, text);
    }
    *out = n;
    return TL_OK;
}
