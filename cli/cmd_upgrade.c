/* timelake upgrade: tables that older versions wrote. */
#include <string.h>

#include "cli/commands.h"
#include "cli/show.h"

typedef struct upgrading {
    const char *table;
    bool json, dry_run;
    int n;
    tl_buf steps; /* JSON list */
    bool failed;
} upgrading;

static tl_status add_step(upgrading *u, const char *text) {
    TL_TRY(tl_buf_add_text(&u->steps, u->n ? "," : ""));
    return tl_show_json_text(tl_bytes_of(text), &u->steps);
}

static void show_step(void *ctx, const char *text) {
    upgrading *u = ctx;
    u->failed = add_step(u, text) != TL_OK || u->failed;
    if (!u->json) {
        if (u->n == 0) {
            printf("%s: %s:\n", u->table, u->dry_run ? "would" : "did");
        }
        printf("  %s\n", text);
    }
    u->n++;
}

static void print_result(const upgrading *u, const tl_upgrade_result *r) {
    if (u->json) {
        printf("{\"table\":\"%s\",\"dry_run\":%s,\"steps\":[%.*s],\"version_before\":%lld,\"version\":%lld,"
               "\"snapshot_before\":",
               u->table, u->dry_run ? "true" : "false", (int)u->steps.len,
               u->steps.data ? (const char *)u->steps.data : "", (long long)r->version_before, (long long)r->version);
        if (r->snapshot_before >= 0) {
            printf("\"%lld\"", (long long)r->snapshot_before);
        } else {
            printf("null");
        }
        if (r->keep_snapshots_until_ms) {
            printf(",\"keep_snapshots_until_ms\":%lld}\n", (long long)r->keep_snapshots_until_ms);
        } else {
            printf(",\"keep_snapshots_until_ms\":null}\n");
        }
    } else if (r->steps == 0) {
        printf("%s: already current (v%lld)\n", u->table, (long long)r->version);
    } else if (!u->dry_run) {
        printf("%s: v%lld → v%lld", u->table, (long long)r->version_before, (long long)r->version);
        if (r->snapshot_before >= 0) {
            printf("; undo: timelake rollback %s %lld", u->table, (long long)r->snapshot_before);
        }
        printf("\n");
    }
}

static tl_status upgrade_one(tl_cli *cli, const char *table, tl_upgrade_params *params, tl_error *err) {
    upgrading u = {.table = table, .json = tl_has(cli, "json"), .dry_run = params->dry_run};
    tl_upgrade_result result;
    params->step = show_step;
    params->ctx = &u;
    tl_status status = tl_upgrade(cli->lake, table, params, &result, err);
    if (status == TL_OK) {
        print_result(&u, &result);
        status = u.failed ? tl_fail_memory(err, 256) : TL_OK;
    }
    tl_buf_free(&u.steps);
    return status;
}

static tl_status run_upgrade(tl_cli *cli, tl_error *err) {
    char **names = NULL;
    size_t n = 0;
    tl_upgrade_params params = {.dry_run = tl_has(cli, "dry-run"), .no_compact = tl_has(cli, "no-compact")};
    TL_TRY(tl_cli_duration(cli, "keep-snapshots", &params.keep_snapshots_us, err));
    if (params.keep_snapshots_us < 0) {
        params.keep_snapshots_us = 1;
    }
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_cli_tables(cli, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        status = upgrade_one(cli, names[i], &params, err);
        if (status == TL_UNSUPPORTED && cli->n_operands == 0) { /* other programs' tables in the lake */
            fprintf(stderr, "%s: left alone: %s\n", names[i], err->message);
            status = TL_OK;
        }
    }
    tl_names_free(names, n);
    return status;
}

static const tl_flag flags[] = {
    {"dry-run", 0, NULL, "Changes nothing; says what would be done."},
    {"no-compact", 0, NULL, "Merges no files. Files that hold a key twice are written anew all the same."},
    {"keep-snapshots", 0, "DURATION",
     "How long no snapshot expires when the format version is raised, so that there is a way back. Default: 7d."},
    {"json", 0, NULL, "One JSON object a table: steps, version_before, version, snapshot_before..."},
    {0},
};

const tl_command tl_command_upgrade = {
    .name = "upgrade",
    .operands = "[TABLE...]",
    .summary = "bring tables of older versions to the current format",
    .text =
        "For tables that Timelake 0.1 to 0.7 wrote: raises the format version, writes files anew that hold a key twice "
        "(versions before 0.5 wrote such), builds a missing last-value index, merges files, writes the head. "
        "Without TABLE all tables of the lake. Repeating it changes nothing.\n\n"
        "  timelake upgrade --dry-run",
    .flags = flags,
    .most = -1,
    .run = run_upgrade,
};
