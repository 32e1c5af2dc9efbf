/* From files to commits; see ingest.h. */
#include "cli/ingest.h"

#include <string.h>

#include "base/env.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/stop.h"

tl_status tl_ingest_options(tl_cli *cli, tl_input_options *out, tl_error *err) {
    *out = (tl_input_options){0};
    const char *format = tl_value(cli, "format"), *delimiter = tl_value(cli, "delimiter");
    if (format) {
        out->format = tl_file_format_find(format);
        if (out->format == TL_FORMAT_NONE) {
            return tl_usage(cli, err, "--format is csv, tsv, ndjson, arrow or parquet, not \"%s\"", format);
        }
    }
    if (delimiter) {
        out->delimiter = strcmp(delimiter, "\\t") == 0 ? '\t' : delimiter[0];
        bool one = strcmp(delimiter, "\\t") == 0 || (delimiter[0] && !delimiter[1]);
        if (!one || (uint8_t)out->delimiter >= 0x80 || strchr("\"\r\n", out->delimiter)) {
            return tl_usage(cli, err, "--delimiter is one character, not \"%s\"", delimiter);
        }
    }
    out->nulls = tl_values(cli, "null", &out->n_nulls);
    return out->nulls ? TL_OK : tl_fail_memory(err, 8);
}

void tl_ingest_options_free(tl_input_options *o) {
    tl_free((void *)(uintptr_t)o->nulls);
    o->nulls = NULL;
    o->n_nulls = 0;
}

/* ---- what is told ---- */

static double seconds_since(int64_t begin_us) {
    return (double)(tl_env_monotonic_us(tl_env_default()) - begin_us) / 1e6;
}

void tl_ingested_add(tl_ingested *t, int64_t number, const tl_append_result *result) {
    if (result->duplicate) {
        fprintf(stderr, "commit %lld: was there already, nothing added [%.1fs]\n", (long long)number,
                seconds_since(t->begin_us));
        t->duplicates++;
    } else if (result->snapshot_id >= 0) {
        fprintf(stderr, "commit %lld: %lld rows, %lld files, %.1f MB, commit %.0f ms [%.1fs]\n", (long long)number,
                (long long)result->rows, (long long)result->files, (double)result->bytes / 1e6,
                (double)result->commit_us / 1e3, seconds_since(t->begin_us));
        t->commits++;
    }
    t->rows += result->rows;
    t->files += result->files;
    t->bytes += result->bytes;
    t->version = result->version;
}

static tl_status print_json(const tl_ingested *t, double seconds, tl_error *err) {
    tl_buf name = {0};
    tl_status status = tl_show_json_text(tl_bytes_of(t->name), &name);
    if (status == TL_OK) {
        printf("{\"table\":%.*s,\"rows\":%lld,\"commits\":%lld,\"duplicates\":%lld,\"files\":%lld,\"bytes\":%lld,"
               "\"seconds\":%.6f,\"version\":%lld",
               (int)name.len, (const char *)name.data, (long long)t->rows, (long long)t->commits,
               (long long)t->duplicates, (long long)t->files, (long long)t->bytes, seconds, (long long)t->version);
        if (t->rejected >= 0) {
            printf(",\"rejected\":%lld", (long long)t->rejected);
        }
        printf("}\n");
    }
    tl_buf_free(&name);
    return status == TL_OK ? TL_OK : tl_fail_memory(err, strlen(t->name));
}

tl_status tl_ingested_print(const tl_ingested *t, bool json, tl_error *err) {
    double seconds = seconds_since(t->begin_us);
    double rate = seconds > 0 ? (double)t->rows / seconds : 0;
    if (json) {
        return print_json(t, seconds, err);
    }
    printf("%s: appended %lld rows in %lld commits, %.2fs (%.0f rows/s) → v%lld", t->name, (long long)t->rows,
           (long long)t->commits, seconds, rate, (long long)t->version);
    if (t->rejected > 0) {
        printf("; %lld line%s rejected", (long long)t->rejected, t->rejected == 1 ? "" : "s");
    }
    printf("\n");
    return TL_OK;
}

void tl_ingested_prefix(const tl_ingested *t, tl_status status, tl_error *err) {
    if (status == TL_CANCELLED) {
        if (t->commits > 0) {
            (void)tl_fail(err, status, "interrupted; %lld commits (%lld rows) are in, the rest is not",
                          (long long)t->commits, (long long)t->rows);
        } else {
            (void)tl_fail(err, status, "interrupted; nothing was committed");
        }
    } else if (t->commits > 0) {
        tl_error_prefix(err, "after %lld commits (%lld rows), which stand: ", (long long)t->commits,
                        (long long)t->rows);
    }
}

/* ---- one run of appends ---- */

typedef struct run {
    tl_cli *cli;
    tl_feed *feed;
    tl_progress bar;
    tl_ingested total;
} run;

static void watch(void *ctx) {
    run *r = ctx;
    uint64_t done, size;
    int64_t rows;
    char note[64];
    tl_feed_progress(r->feed, &done, &size, &rows);
    (void)snprintf(note, sizeof note, "%lld rows", (long long)rows);
    tl_progress_show(&r->bar, size ? (double)done / (double)size : -1, note);
}

static tl_status append_all(run *r, int64_t rows_per_commit, tl_error *err) {
    const char *batch_id = tl_value(r->cli, "batch-id");
    for (int64_t number = 0;; number++) {
        struct ArrowArrayStream stream;
        bool more;
        tl_status begun = tl_feed_stream(r->feed, rows_per_commit, &stream, &more, err);
        if (begun != TL_OK) { /* a read that was given up is told by each format in its own way */
            return tl_stopped() ? tl_stop_fail(err) : begun;
        }
        if (!more) {
            tl_lake_settle(r->cli->lake);
            return TL_OK;
        }
        char *id = batch_id ? tl_format("%s-%lld", batch_id, (long long)number) : NULL;
        if (batch_id && !id) {
            stream.release(&stream);
            return tl_fail_memory(err, strlen(batch_id));
        }
        tl_append_params params = {.batch_id = id, .no_maintain = tl_has(r->cli, "no-maintain"), .maintain_beside = 1};
        tl_append_result result;
        tl_status status = tl_append(r->cli->lake, r->total.name, &stream, &params, &result, err);
        tl_free(id);
        if (status != TL_OK) {
            tl_progress_end(&r->bar);
            if (status != TL_CANCELLED) {
                tl_feed_locate(r->feed, err);
            }
            return status;
        }
        tl_progress_end(&r->bar);
        tl_ingested_add(&r->total, number, &result);
        if (result.duplicate) {
            TL_TRY(tl_feed_skip(r->feed, err)); /* its rows were not read */
        }
    }
}

tl_status tl_ingest(tl_cli *cli, const char *full_name, const tl_paths *paths, tl_input_options *options,
                    int64_t *committed, tl_error *err) {
    int64_t rows_per_commit;
    TL_TRY(tl_value_count(cli, "rows-per-commit", 10000000, &rows_per_commit, err));
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(cli->lake, full_name, &table, err));
    run r = {.cli = cli,
             .total = {.name = full_name,
                       .begin_us = tl_env_monotonic_us(tl_env_default()),
                       .version = table->version,
                       .rejected = -1}};
    options->schema = tl_metadata_schema(&table->metadata);
    tl_status status = tl_feed_create(paths, options, &r.feed, err);
    if (status == TL_OK) {
        tl_progress_start(&r.bar);
        tl_feed_watch(r.feed, watch, &r);
        status = append_all(&r, rows_per_commit, err);
        tl_progress_end(&r.bar);
        if (status != TL_OK) {
            tl_ingested_prefix(&r.total, status, err);
        }
    }
    if (status == TL_OK) {
        status = tl_ingested_print(&r.total, tl_has(cli, "json"), err);
    }
    if (committed) {
        *committed = r.total.commits;
    }
    tl_feed_free(r.feed);
    options->schema = NULL;
    tl_table_release(table);
    return status;
}
