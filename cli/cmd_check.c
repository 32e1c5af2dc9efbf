/* timelake check: is a table what it says it is? */
#include <string.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/show.h"

typedef struct checking {
    const char *table;
    bool json;
    tl_progress progress;
    tl_buf line; /* of JSON */
    bool failed; /* memory ended */
} checking;

static void show_progress(void *ctx, int64_t done, int64_t all) {
    checking *c = ctx;
    tl_progress_show(&c->progress, all > 0 ? (double)done / (double)all : -1, c->table);
}

static tl_status add_text(tl_buf *out, const char *name, const char *text) {
    TL_TRY(tl_buf_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name));
    return text ? tl_show_json_text(tl_bytes_of(text), out) : tl_buf_add_text(out, "null");
}

static tl_status finding_json(const checking *c, const tl_finding *f, tl_buf *out) {
    TL_TRY(tl_buf_add_byte(out, '{'));
    TL_TRY(add_text(out, "table", c->table));
    TL_TRY(add_text(out, "level", f->warning ? "warning" : "error"));
    TL_TRY(add_text(out, "kind", f->kind));
    TL_TRY(add_text(out, "object", f->object));
    TL_TRY(add_text(out, "message", f->message));
    return tl_buf_add_text(out, "}\n");
}

static void show_finding(void *ctx, const tl_finding *f) {
    checking *c = ctx;
    tl_progress_end(&c->progress);
    if (c->json) {
        c->line.len = 0;
        c->failed = finding_json(c, f, &c->line) != TL_OK || c->failed;
        (void)fwrite(c->line.data, 1, c->line.len, stdout);
    } else {
        printf("%s: %s %s%s%s: %s\n", c->table, f->warning ? "warning" : "error", f->kind, f->object ? " " : "",
               f->object ? f->object : "", f->message);
    }
}

static void print_summary(const checking *c, const tl_check_result *r) {
    if (c->json) {
        printf("{\"table\":\"%s\",\"version\":%lld,\"findings\":%lld,\"warnings\":%lld,\"snapshots\":%lld,"
               "\"manifests\":%lld,\"files\":%lld,\"delete_files\":%lld,\"rows\":%lld,\"bytes\":%lld,\"objects\":%lld,"
               "\"orphans\":%lld}\n",
               c->table, (long long)r->version, (long long)r->findings, (long long)r->warnings, (long long)r->snapshots,
               (long long)r->manifests, (long long)r->files, (long long)r->delete_files, (long long)r->rows,
               (long long)r->bytes, (long long)r->objects, (long long)r->orphans);
        return;
    }
    printf("%s: checked %lld files, %lld rows, %.1f MB, %lld snapshots at v%lld: ", c->table, (long long)r->files,
           (long long)r->rows, (double)r->bytes / 1e6, (long long)r->snapshots, (long long)r->version);
    if (r->findings == 0 && r->warnings == 0) {
        printf("all well\n");
    } else {
        printf("%lld errors, %lld warnings\n", (long long)r->findings, (long long)r->warnings);
    }
}

/* `*bad` grows by what was found. */
static tl_status check_one(tl_cli *cli, const char *table, int64_t grace_us, int64_t *bad, tl_error *err) {
    checking c = {.table = table, .json = tl_has(cli, "json")};
    tl_check_result result;
    tl_progress_start(&c.progress);
    const tl_check_params params = {.no_data = tl_has(cli, "quick"),
                                    .grace_us = grace_us,
                                    .found = show_finding,
                                    .progress = show_progress,
                                    .ctx = &c};
    tl_status status = tl_check(cli->lake, table, &params, &result, err);
    tl_progress_end(&c.progress);
    if (status == TL_OK) {
        print_summary(&c, &result);
        *bad += result.findings + result.warnings;
        status = c.failed ? tl_fail_memory(err, 256) : TL_OK;
    }
    tl_buf_free(&c.line);
    return status;
}

static tl_status run_check(tl_cli *cli, tl_error *err) {
    char **names = NULL;
    size_t n = 0;
    int64_t bad = 0, grace_us = 0;
    TL_TRY(tl_cli_duration(cli, "grace", &grace_us, err));
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_cli_tables(cli, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        status = check_one(cli, names[i], grace_us, &bad, err);
    }
    tl_names_free(names, n);
    if (status == TL_OK && bad) {
        status = tl_fail(err, TL_CORRUPT, "%lld findings", (long long)bad);
    }
    return status;
}

static const tl_flag flags[] = {
    {"json", 0, NULL,
     "One JSON object a finding (table, level, kind, object, message), then one that sums up (findings, files, "
     "rows...)."},
    {"quick", 0, NULL, "Looks whether files are there and as large as they should be, but does not read their rows."},
    {"grace", 0, "DURATION", "Objects that nothing refers to are told once they are so old. Default: 3d."},
    {0},
};

const tl_command tl_command_check = {
    .name = "check",
    .operands = "[TABLE...]",
    .summary = "verify that a table is what it says it is",
    .text = "Reads everything of the current snapshot, and looks for the files of the older ones: metadata and "
            "manifests can "
            "be read, files are there, whole, sorted, inside their partition, without a key twice; counts and bounds "
            "are true; delete files fit; the last-value index gives what a scan gives; nothing lies about that nobody "
            "refers to. Changes nothing. Without TABLE all tables of the lake.\n\n"
            "Errors make readers fail or see wrong rows. Warnings do not: `timelake maintain` mends them.\n\n"
            "Exit status: 0 when all is well, 1 when there are findings.",
    .flags = flags,
    .most = -1,
    .run = run_check,
};
