/* timelake settings, alter and rollback. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/show.h"
#include "table/settings.h"

static void levels_text(unsigned levels, char out[64]) {
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{TL_LEVEL_CREATE, "create"},
                 {TL_LEVEL_TABLE, "table"},
                 {TL_LEVEL_SESSION, "session"},
                 {TL_LEVEL_CALL, "call"},
                 {TL_LEVEL_MANAGED, "managed"}};
    out[0] = 0;
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        if (levels & names[i].bit) {
            size_t n = strlen(out);
            (void)snprintf(out + n, 64 - n, "%s%s", n ? ", " : "", names[i].name);
        }
    }
}

/* The text of a setting in a table (or its default), and whether the table sets it. */
static const char *value_in(const tl_table *table, const tl_setting *s, bool *own) {
    char key[128];
    (void)snprintf(key, sizeof key, "timelake.%s", s->name);
    const char *value = table ? tl_metadata_property(&table->metadata, key) : NULL;
    *own = value != NULL;
    return value ? value : s->default_value;
}

static tl_status add_member(tl_buf *out, const char *name, const char *text) {
    TL_TRY(tl_buf_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name));
    return text ? tl_show_json_text(tl_bytes_of(text), out) : tl_buf_add_text(out, "null");
}

static tl_status print_json(const tl_table *table, const tl_setting *s, tl_buf *out) {
    char levels[64];
    bool own;
    const char *value = value_in(table, s, &own);
    levels_text(s->levels, levels);
    out->len = 0;
    TL_TRY(tl_buf_add_byte(out, '{'));
    TL_TRY(add_member(out, "setting", s->name));
    TL_TRY(add_member(out, "default", s->default_value));
    if (table) {
        TL_TRY(add_member(out, "value", value));
        TL_TRY(tl_buf_printf(out, ",\"set\":%s", own ? "true" : "false"));
    }
    TL_TRY(add_member(out, "levels", levels));
    TL_TRY(add_member(out, "description", s->description));
    TL_TRY(tl_buf_add_text(out, "}\n"));
    (void)fwrite(out->data, 1, out->len, stdout);
    return TL_OK;
}

static tl_status print_settings(tl_cli *cli, const tl_table *table, tl_error *err) {
    size_t n;
    const tl_setting *all = tl_settings_all(&n);
    if (tl_has(cli, "json")) {
        tl_buf out = {0};
        tl_status status = TL_OK;
        for (size_t i = 0; status == TL_OK && i < n; i++) {
            status = print_json(table, &all[i], &out);
        }
        tl_buf_free(&out);
        return status == TL_OK ? TL_OK : tl_fail_memory(err, 64);
    }
    int width = (int)strlen("DEFAULT");
    bool own;
    for (size_t i = 0; i < n; i++) {
        const char *value = value_in(table, &all[i], &own);
        int len = value ? (int)strlen(value) : 1;
        width = len > width ? len : width;
    }
    width = width > 40 ? 40 : width;
    printf("%-24s %-*s %-22s %s\n", "SETTING", width, table ? "VALUE" : "DEFAULT", "LEVELS", "DESCRIPTION");
    for (size_t i = 0; i < n; i++) {
        char levels[64];
        const char *value = value_in(table, &all[i], &own);
        levels_text(all[i].levels, levels);
        printf("%-24s %-*s %-22s %s\n", all[i].name, width, value ? value : "-", levels, all[i].description);
    }
    return TL_OK;
}

static tl_status run_settings(tl_cli *cli, tl_error *err) {
    if (cli->n_operands == 0) {
        return print_settings(cli, NULL, err);
    }
    tl_table *table = NULL;
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_lake_table(cli->lake, cli->operands[0], &table, err));
    tl_status status = print_settings(cli, table, err);
    tl_table_release(table);
    return status;
}

static const tl_flag settings_flags[] = {{"json", 0, NULL, "One JSON object a line."}, {0}};

const tl_command tl_command_settings = {
    .name = "settings",
    .operands = "[TABLE]",
    .summary = "show all settings, or their values in a table",
    .text =
        "Levels say where a setting can be given: at create (--prop), for a table (alter), for a session (sql --set, "
        "SET timelake.name = value in SQL) or for a call.",
    .flags = settings_flags,
    .most = 1,
    .run = run_settings,
};

/* ---- alter ---- */

static tl_status run_alter(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    int64_t version = 0;
    size_t n = 0;
    const char **changes = tl_calloc((size_t)cli->n_given + 1, sizeof *changes);
    if (!changes) {
        return tl_fail_memory(err, sizeof *changes);
    }
    tl_status status = TL_OK;
    for (int i = 0; status == TL_OK && i < cli->n_given; i++) {
        bool set = strcmp(cli->given[i].flag->name, "set") == 0, unset = strcmp(cli->given[i].flag->name, "unset") == 0;
        const char *text = cli->given[i].value;
        if ((set && (!strchr(text, '=') || *text == '=')) || (unset && (strchr(text, '=') || !*text))) {
            status = tl_usage(cli, err, "--%s wants %s, not \"%s\"", set ? "set" : "unset", set ? "NAME=VALUE" : "NAME",
                              text);
        } else if (set || unset) {
            changes[n++] = text;
        }
    }
    if (status == TL_OK && n == 0) {
        status = tl_usage(cli, err, "give --set NAME=VALUE or --unset NAME");
    }
    if (status == TL_OK) {
        status = tl_cli_full_name(cli->operands[0], &name, err);
    }
    if (status == TL_OK) {
        status = tl_cli_lake(cli, true, err);
    }
    if (status == TL_OK) {
        status = tl_alter(cli->lake, name, changes, n, &version, err);
    }
    if (status == TL_OK) {
        printf("%s: settings changed → v%lld\n", name, (long long)version);
    }
    tl_free(name);
    tl_free((void *)(uintptr_t)changes);
    return status;
}

static const tl_flag alter_flags[] = {
    {"set", 0, "NAME=VALUE", "Sets a setting or a table property; may be repeated."},
    {"unset", 0, "NAME", "Takes it away, so that the default holds; may be repeated."},
    {0},
};

const tl_command tl_command_alter = {
    .name = "alter",
    .operands = "TABLE",
    .summary = "change a table's settings",
    .text = "All changes of one call are one commit. `timelake settings` lists what there is.\n\n"
            "  timelake alter readings --set retention=90d --unset compact-min-files",
    .flags = alter_flags,
    .least = 1,
    .most = 1,
    .run = run_alter,
};

/* ---- rollback ---- */

static tl_status run_rollback(tl_cli *cli, tl_error *err) {
    char *end, *name = NULL;
    const char *text = cli->operands[1];
    long long id = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end) {
        return tl_usage(cli, err, "a snapshot id is a number, not \"%s\"; `timelake info` lists them", text);
    }
    int64_t version = 0;
    TL_TRY(tl_cli_full_name(cli->operands[0], &name, err));
    tl_status status = tl_cli_lake(cli, true, err);
    if (status == TL_OK) {
        status = tl_rollback(cli->lake, name, id, &version, err);
    }
    if (status == TL_OK) {
        printf("%s: snapshot %lld is current again → v%lld\n", name, id, (long long)version);
    }
    tl_free(name);
    return status;
}

static const tl_flag rollback_flags[] = {{0}};

const tl_command tl_command_rollback = {
    .name = "rollback",
    .operands = "TABLE SNAPSHOT",
    .summary = "make an older snapshot current again",
    .text = "Rows of later snapshots are no longer seen. The ids of the snapshots that are still kept are in `timelake "
            "info`.",
    .flags = rollback_flags,
    .least = 2,
    .most = 2,
    .run = run_rollback,
};
