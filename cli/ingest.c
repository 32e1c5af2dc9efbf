/* From files to commits; see ingest.h. */
#include "cli/ingest.h"

#include <string.h>

#include "base/env.h"
#include "cli/progress.h"
#include "cli/show.h"

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

/* One run of appends. */
typedef struct run {
    tl_cli *cli;
    const char *name;
    tl_feed *feed;
    tl_progress bar;
    int64_t begin_us;
    int64_t commits, duplicates, rows, files, bytes, version;
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

static double seconds_since(int64_t begin_us) {
    return (double)(tl_env_monotonic_us(tl_env_default()) - begin_us) / 1e6;
}

static void report_commit(run *r, int64_t number, const tl_append_result *result) {
    tl_progress_end(&r->bar);
    if (result->duplicate) {
        fprintf(stderr, "commit %lld: was there already, nothing added [%.1fs]\n", (long long)number,
                seconds_since(r->begin_us));
        r->duplicates++;
    } else if (result->snapshot_id >= 0) {
        fprintf(stderr, "commit %lld: %lld rows, %lld files, %.1f MB, commit %.0f ms [%.1fs]\n", (long long)number,
                (long long)result->rows, (long long)result->files, (double)result->bytes / 1e6,
                (double)result->commit_us / 1e3, seconds_since(r->begin_us));
        r->commits++;
    }
    r->rows += result->rows;
    r->files += result->files;
    r->bytes += result->bytes;
    r->version = result->version;
}

static tl_status append_all(run *r, int64_t rows_per_commit, tl_error *err) {
    const char *batch_id = tl_value(r->cli, "batch-id");
    for (int64_t number = 0;; number++) {
        struct ArrowArrayStream stream;
        bool more;
        TL_TRY(tl_feed_stream(r->feed, rows_per_commit, &stream, &more, err));
        if (!more) {
            return TL_OK;
        }
        char *id = batch_id ? tl_format("%s-%lld", batch_id, (long long)number) : NULL;
        if (batch_id && !id) {
            stream.release(&stream);
            return tl_fail_memory(err, strlen(batch_id));
        }
        tl_append_params params = {.batch_id = id, .no_maintain = tl_has(r->cli, "no-maintain")};
        tl_append_result result;
        tl_status status = tl_append(r->cli->lake, r->name, &stream, &params, &result, err);
        tl_free(id);
        if (status != TL_OK) {
            tl_progress_end(&r->bar);
            tl_feed_locate(r->feed, err);
            return status;
        }
        report_commit(r, number, &result);
        if (result.duplicate) {
            TL_TRY(tl_feed_skip(r->feed, err)); /* its rows were not read */
        }
    }
}

static tl_status report(const run *r, tl_error *err) {
    double seconds = seconds_since(r->begin_us);
    double rate = seconds > 0 ? (double)r->rows / seconds : 0;
    if (!tl_has(r->cli, "json")) {
        printf("%s: appended %lld rows in %lld commits, %.2fs (%.0f rows/s) → v%lld\n", r->name, (long long)r->rows,
               (long long)r->commits, seconds, rate, (long long)r->version);
        return TL_OK;
    }
    tl_buf name = {0};
    tl_status status = tl_show_json_text(tl_bytes_of(r->name), &name);
    if (status == TL_OK) {
        printf("{\"table\":%.*s,\"rows\":%lld,\"commits\":%lld,\"duplicates\":%lld,\"files\":%lld,\"bytes\":%lld,"
               "\"seconds\":%.6f,\"version\":%lld}\n",
               (int)name.len, (const char *)name.data, (long long)r->rows, (long long)r->commits,
               (long long)r->duplicates, (long long)r->files, (long long)r->bytes, seconds, (long long)r->version);
    }
    tl_buf_free(&name);
    return status == TL_OK ? TL_OK : tl_fail_memory(err, strlen(r->name));
}

tl_status tl_ingest(tl_cli *cli, const char *full_name, const tl_paths *paths, tl_input_options *options,
                    int64_t *committed, tl_error *err) {
    int64_t rows_per_commit;
    TL_TRY(tl_value_count(cli, "rows-per-commit", 10000000, &rows_per_commit, err));
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(cli->lake, full_name, &table, err));
    run r = {
        .cli = cli, .name = full_name, .begin_us = tl_env_monotonic_us(tl_env_default()), .version = table->version};
    options->schema = tl_metadata_schema(&table->metadata);
    tl_status status = tl_feed_create(paths, options, &r.feed, err);
    if (status == TL_OK) {
        tl_progress_start(&r.bar);
        tl_feed_watch(r.feed, watch, &r);
        status = append_all(&r, rows_per_commit, err);
        tl_progress_end(&r.bar);
        if (status != TL_OK && r.commits > 0) {
            tl_error_prefix(err, "after %lld commits (%lld rows), which stand: ", (long long)r.commits,
                            (long long)r.rows);
        }
    }
    if (status == TL_OK) {
        status = report(&r, err);
    }
    if (committed) {
        *committed = r.commits;
    }
    tl_feed_free(r.feed);
    options->schema = NULL;
    tl_table_release(table);
    return status;
}
