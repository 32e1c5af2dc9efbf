/* timelake arrivals: how long after their time rows come, and how long a slot of time has to stay open for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "table/settings.h"

/* "3d 4h", "1h 2m", "55s", "250ms": the two greatest units, cut. */
static const char *duration_text(int64_t us, char out[48]) {
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {{"d", 86400000000}, {"h", 3600000000}, {"m", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}};
    const char *sign = us < 0 ? "-" : "";
    uint64_t left = us < 0 ? -(uint64_t)us : (uint64_t)us;
    size_t i = 0;
    while (i + 1 < TL_COUNT(units) && left < (uint64_t)units[i].us) {
        i++;
    }
    uint64_t unit = (uint64_t)units[i].us, first = left / unit, second = 0;
    if (i + 1 < TL_COUNT(units)) {
        second = left % unit / (uint64_t)units[i + 1].us;
    }
    if (second) {
        (void)snprintf(out, 48, "%s%llu%s %llu%s", sign, (unsigned long long)first, units[i].name,
                       (unsigned long long)second, units[i + 1].name);
    } else {
        (void)snprintf(out, 48, "%s%llu%s", sign, (unsigned long long)first, units[i].name);
    }
    return out;
}

static void print_text(const char *name, const tl_arrivals_result *r, double cover) {
    char a[48], b[48], c[48], d[48], e[48];
    const char *slot = r->slot_us ? duration_text(r->slot_us, a) : "month";
    printf("%s: %lld rows of %lld series", name, (long long)r->rows, (long long)r->n_series);
    if (r->unknown_rows) {
        printf(", %lld more without time or insertion time", (long long)r->unknown_rows);
    }
    printf("\n");
    if (r->rows == 0) {
        return;
    }
    char p90[48];
    printf("%-8s least %s, p50 %s, p90 %s, p99 %s, greatest %s\n", "delay", duration_text(r->least_us, b),
           duration_text(r->p50_us, c), duration_text(r->p90_us, p90), duration_text(r->p99_us, d),
           duration_text(r->greatest_us, e));
    printf("%-8s %lld rows (%.2f %%) came more than a slot (%s) after their time\n", "late", (long long)r->late_rows,
           100.0 * (double)r->late_rows / (double)r->rows, slot);
    if (r->open_us) {
        printf("%-8s keep a slot open for %s after its end: %g %% of the rows are in by then\n", "open",
               duration_text(r->open_us, b), 100 * cover);
    } else {
        printf("%-8s a slot can close at its end: %g %% of the rows are in by then\n", "open", 100 * cover);
    }
}

static void print_json(const char *name, const tl_arrivals_result *r, double cover) {
    printf("{\"table\":\"%s\",\"rows\":%lld,\"unknown_rows\":%lld,\"series\":%lld,\"slot_us\":%lld,\"least_us\":%lld,"
           "\"p50_us\":%lld,\"p90_us\":%lld,\"p99_us\":%lld,\"greatest_us\":%lld,\"late_rows\":%lld,\"cover\":%g,"
           "\"open_us\":%lld}\n",
           name, (long long)r->rows, (long long)r->unknown_rows, (long long)r->n_series, (long long)r->slot_us,
           (long long)r->least_us, (long long)r->p50_us, (long long)r->p90_us, (long long)r->p99_us,
           (long long)r->greatest_us, (long long)r->late_rows, cover, (long long)r->open_us);
}

static tl_status time_of(tl_cli *cli, const char *flag, int64_t *out, tl_error *err) {
    const char *text = tl_value(cli, flag);
    bool zoned;
    if (text && tl_parse_timestamp((tl_bytes){(const uint8_t *)text, strlen(text)}, out, &zoned) != TL_PARSE_OK) {
        return tl_usage(cli, err, "--%s: \"%s\" is not a time like 2026-01-31T12:00:00Z", flag, text);
    }
    return TL_OK;
}

static tl_status parse(tl_cli *cli, tl_arrivals_params *p, tl_error *err) {
    const char *slot = tl_value(cli, "slot"), *cover = tl_value(cli, "cover");
    *p = (tl_arrivals_params){.cover = 0.99};
    if (slot && (!tl_duration_parse(slot, &p->slot_us) || p->slot_us <= 0)) {
        return tl_usage(cli, err, "--slot: \"%s\" is not a length of time like 15m, 1h or 1d", slot);
    }
    if (cover) {
        double percent;
        if (tl_parse_double((tl_bytes){(const uint8_t *)cover, strlen(cover)}, &percent) != TL_PARSE_OK ||
            !(percent > 0 && percent <= 100)) {
            return tl_usage(cli, err, "--cover: \"%s\" is not a share in percent, above 0 and at most 100", cover);
        }
        p->cover = percent / 100;
    }
    if (tl_has(cli, "from") || tl_has(cli, "to")) {
        p->from_us = INT64_MIN;
        p->to_us = INT64_MAX;
    }
    TL_TRY(time_of(cli, "from", &p->from_us, err));
    return time_of(cli, "to", &p->to_us, err);
}

static tl_status run_arrivals(tl_cli *cli, tl_error *err) {
    tl_arrivals_params params;
    tl_arrivals_result result;
    tl_output format = TL_OUTPUT_TABLE;
    bool by_series = tl_has(cli, "series");
    TL_TRY(parse(cli, &params, err));
    if (by_series) {
        TL_TRY(tl_output_parse(cli, &format, err));
        TL_TRY(tl_output_check_terminal(cli, format, NULL, err));
        if (format == TL_OUTPUT_PARQUET) {
            return tl_usage(cli, err, "--format: parquet is not written here; arrow is");
        }
    } else if (tl_has(cli, "format")) {
        return tl_usage(cli, err, "--format is for --series");
    }
    char *name = NULL;
    TL_TRY(tl_cli_full_name(cli->operands[0], &name, err));
    tl_status status = tl_cli_lake(cli, true, err);
    struct ArrowArrayStream series = {0};
    if (status == TL_OK) {
        status = tl_arrivals(cli->lake, name, &params, &result, by_series ? &series : NULL, err);
    }
    if (status == TL_OK && by_series) {
        int64_t rows;
        status = tl_output_write(format, &series, stdout, &rows, err);
    } else if (status == TL_OK && tl_has(cli, "json")) {
        print_json(name, &result, params.cover);
    } else if (status == TL_OK) {
        print_text(name, &result, params.cover);
    }
    tl_free(name);
    return status;
}

static const tl_flag flags[] = {
    {"slot", 0, "DURATION", "Length of a slot of time, like 15m or 1h. Default: the table's partition."},
    {"cover", 0, "PERCENT", "Share of the rows that an open slot waits for. Default: 99."},
    {"from", 0, "TIME", "Only rows with a time from then on."},
    {"to", 0, "TIME", "Only rows with a time before then."},
    {"series", 0, NULL, "A row for each series, the latest first, in microseconds."},
    {"format", 0, "FORMAT", "With --series: table (default), csv, json (one object a line), arrow or none."},
    {"json", 0, NULL, "One JSON object; with --series the same as --format json."},
    {0},
};

const tl_command tl_command_arrivals = {
    .name = "arrivals",
    .operands = "TABLE",
    .summary = "measure how late rows come",
    .text = "The delay of a row is its insertion time less its time. Shown are the least and greatest delay and those "
            "that 50, 90 and 99 % of the rows do not exceed; how many rows came more than a slot of time after their "
            "own; and for how long after its end a slot has to stay open until the wanted share of its rows is in.\n\n"
            "Every row that is in the table's files counts, copies of a key too: each one arrived. Copies that "
            "compaction has removed are no longer known. Quantiles are at most 3 % too high.",
    .flags = flags,
    .least = 1,
    .most = 1,
    .run = run_arrivals,
};
