/* timelake maintain: tables kept fast and small. */
#include <string.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "table/settings.h"

typedef struct maintaining {
    const char *table;
    bool json, dry_run;
    tl_progress progress;
} maintaining;

static void show_progress(void *ctx, const char *step, int64_t done, int64_t all) {
    maintaining *m = ctx;
    char note[512];
    (void)snprintf(note, sizeof note, "%s: %s", m->table, step);
    tl_progress_show(&m->progress, all > 1 ? (double)done / (double)all : -1, note);
}

static void show_orphan(void *ctx, const char *object, int64_t bytes) {
    maintaining *m = ctx;
    if (m->dry_run && !m->json) {
        tl_progress_end(&m->progress);
        printf("%s: would remove %s (%lld bytes)\n", m->table, object, (long long)bytes);
    }
}

/* "30s", "1GB" or both, separated by a comma. */
static tl_status parse_budget(tl_cli *cli, tl_maintain_params *p, tl_error *err) {
    const char *text = tl_value(cli, "budget");
    while (text && *text) {
        char part[64];
        size_t len = strcspn(text, ",");
        bool fits = len < sizeof part;
        (void)snprintf(part, sizeof part, "%.*s", (int)len, text);
        bool good = fits && (tl_duration_parse(part, &p->budget_us)
                                 ? p->budget_us > 0
                                 : tl_bytes_parse(part, &p->budget_bytes) && p->budget_bytes > 0);
        if (!good) {
            return tl_usage(cli, err, "--budget wants a time or a size such as 30s or 1GB, not \"%s\"", text);
        }
        text += len + (text[len] == ',');
    }
    return TL_OK;
}

static void print_json(const maintaining *m, const tl_maintain_result *r) {
    printf("{\"table\":\"%s\",\"dry_run\":%s,\"partitions_compacted\":%lld,\"files_rewritten\":%lld,"
           "\"files_written\":%lld,\"rows_rewritten\":%lld,\"duplicates_removed\":%lld,\"bytes_rewritten\":%lld,"
           "\"bytes_written\":%lld,\"partitions_left\":%lld,\"partitions_dropped\":%lld,\"files_dropped\":%lld,"
           "\"rows_dropped\":%lld,\"rollups_refreshed\":0,\"rollup_rows\":0,\"snapshots_expired\":%lld,"
           "\"objects_deleted\":%lld,\"orphans\":%lld,\"orphan_bytes\":%lld,\"manifests_before\":%lld,"
           "\"manifests_after\":%lld,\"version\":%lld,\"seconds\":%.6f}\n",
           m->table, m->dry_run ? "true" : "false", (long long)r->partitions_compacted, (long long)r->files_rewritten,
           (long long)r->files_written, (long long)r->rows_rewritten, (long long)r->duplicates_removed,
           (long long)r->bytes_rewritten, (long long)r->bytes_written, (long long)r->partitions_left,
           (long long)r->partitions_dropped, (long long)r->files_dropped, (long long)r->rows_dropped,
           (long long)r->snapshots_expired, (long long)r->objects_deleted, (long long)r->orphans,
           (long long)r->orphan_bytes, (long long)r->manifests_before, (long long)r->manifests_after,
           (long long)r->version, (double)r->total_us / 1e6);
}

static void print_text(const maintaining *m, const tl_maintain_result *r) {
    if (m->dry_run) {
        printf("%s: would compact %lld partitions (%lld files, %.1f MB), drop %lld partitions (%lld files, %lld rows), "
               "expire %lld snapshots, remove %lld orphans (%.1f MB)\n",
               m->table, (long long)r->partitions_compacted, (long long)r->files_rewritten,
               (double)r->bytes_rewritten / 1e6, (long long)r->partitions_dropped, (long long)r->files_dropped,
               (long long)r->rows_dropped, (long long)r->snapshots_expired, (long long)r->orphans,
               (double)r->orphan_bytes / 1e6);
        return;
    }
    printf("%s: compacted %lld partitions (%lld → %lld files, %lld rows, %lld duplicates removed), dropped %lld "
           "partitions, refreshed 0 rollups (0 rows), expired %lld snapshots, deleted %lld objects in %.2fs → v%lld\n",
           m->table, (long long)r->partitions_compacted, (long long)r->files_rewritten, (long long)r->files_written,
           (long long)r->rows_rewritten, (long long)r->duplicates_removed, (long long)r->partitions_dropped,
           (long long)r->snapshots_expired, (long long)r->objects_deleted, (double)r->total_us / 1e6,
           (long long)r->version);
    if (r->partitions_left) {
        printf("%s: %lld partitions are left for the next time\n", m->table, (long long)r->partitions_left);
    }
}

static tl_status maintain_one(tl_cli *cli, const char *table, tl_maintain_params *params, tl_error *err) {
    maintaining m = {.table = table, .json = tl_has(cli, "json"), .dry_run = params->dry_run};
    tl_maintain_result result;
    tl_progress_start(&m.progress);
    params->progress = show_progress;
    params->orphan = show_orphan;
    params->ctx = &m;
    tl_status status = tl_maintain(cli->lake, table, params, &result, err);
    tl_progress_end(&m.progress);
    if (status == TL_OK) {
        if (m.json) {
            print_json(&m, &result);
        } else {
            print_text(&m, &result);
        }
    }
    return status;
}

/* Budgets are for all tables of the call: each takes from what those before it left. */
static void spend(tl_maintain_params *p, int64_t us) {
    if (p->budget_us > 0) {
        p->budget_us = p->budget_us > us ? p->budget_us - us : 1;
    }
}

static tl_status run_maintain(tl_cli *cli, tl_error *err) {
    char **names = NULL;
    size_t n = 0;
    tl_maintain_params params = {
        .no_compact = tl_has(cli, "no-compact"),
        .no_retention = tl_has(cli, "no-retention"),
        .no_expire = tl_has(cli, "no-expire"),
        .orphans = tl_has(cli, "orphans"),
        .dry_run = tl_has(cli, "dry-run"),
    };
    TL_TRY(tl_cli_duration(cli, "grace", &params.grace_us, err));
    TL_TRY(parse_budget(cli, &params, err));
    if (tl_has(cli, "grace") && !params.orphans) {
        return tl_usage(cli, err, "--grace is for --orphans");
    }
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_cli_tables(cli, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        int64_t begin = tl_env_monotonic_us(tl_env_default());
        status = maintain_one(cli, names[i], &params, err);
        if (status == TL_UNSUPPORTED && cli->n_operands == 0) { /* another program's table in the lake */
            fprintf(stderr, "%s: left alone: %s\n", names[i], err->message);
            status = TL_OK;
        }
        spend(&params, tl_env_monotonic_us(tl_env_default()) - begin);
    }
    tl_names_free(names, n);
    return status;
}

static const tl_flag flags[] = {
    {"no-compact", 0, NULL, "Merges no files."},
    {"no-retention", 0, NULL, "Drops no partitions, whatever the setting retention says."},
    {"no-expire", 0, NULL, "Lets no snapshots expire."},
    {"no-rollups", 0, NULL, "Taken for Timelake 0.7.0's sake: rollups are not kept here."},
    {"budget", 0, "30s|1GB",
     "Begins no more merging after so long, or after reading so many bytes; \"30s,1GB\" is both. The partitions whose "
     "readers gain the most come first; what is left is said."},
    {"orphans", 0, NULL, "Also removes objects that nothing refers to: what writers that were killed have left."},
    {"grace", 0, "DURATION",
     "With --orphans: only objects that are older than this by the store's clock. A commit that takes longer than "
     "this would lose its files. Default: 3d."},
    {"dry-run", 0, NULL, "Changes nothing; says what would be done, and lists the orphans."},
    {"json", 0, NULL, "One JSON object a table, with the keys of Timelake 0.7.0's maintain() and more."},
    {0},
};

const tl_command tl_command_maintain = {
    .name = "maintain",
    .operands = "[TABLE...]",
    .summary = "merge small files, drop old partitions, let old snapshots expire",
    .text = "Without TABLE all tables of the lake, one after the other. Each step is a commit of its own: it can be "
            "stopped or killed at any time, and the next run goes on. Appends and queries go on meanwhile.\n\n"
            "  1. retention: partitions older than the setting are dropped\n"
            "  2. compaction: small and overlapping files become few sorted ones without older copies\n"
            "  3. a last-value index where there is none\n"
            "  4. expiry: old snapshots, and the files that only they needed\n"
            "  5. with --orphans: what nobody refers to\n\n"
            "Appends do the most needed of it by themselves (setting auto-maintain).\n\n"
            "  timelake maintain --budget 30s\n"
            "  timelake maintain readings --orphans --dry-run",
    .flags = flags,
    .most = -1,
    .run = run_maintain,
};
