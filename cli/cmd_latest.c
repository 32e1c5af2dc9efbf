/* timelake latest: the newest row of every series. */
#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/duck.h"
#include "cli/output.h"

/* DuckDB's reader of streams does not release the schemas it asks for. It is given views of one that is kept here. */
typedef struct kept_stream {
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
} kept_stream;

static void no_release(struct ArrowSchema *schema) {
    schema->release = NULL;
}

static int kept_schema(struct ArrowArrayStream *self, struct ArrowSchema *out) {
    *out = ((kept_stream *)self->private_data)->schema;
    out->release = no_release;
    return 0;
}

static int kept_next(struct ArrowArrayStream *self, struct ArrowArray *out) {
    kept_stream *k = self->private_data;
    return k->rows.get_next(&k->rows, out);
}

static const char *kept_error(struct ArrowArrayStream *self) {
    kept_stream *k = self->private_data;
    return k->rows.get_last_error(&k->rows);
}

static void kept_release(struct ArrowArrayStream *self) {
    self->release = NULL;
}

/* DuckDB writes the Parquet file: it reads our stream as a view. */
static tl_status copy_rows(tl_duck *duck, kept_stream *k, const char *path, tl_error *err) {
    static const char options[] = " (FORMAT parquet, COMPRESSION zstd)";
    struct ArrowArrayStream view = {kept_schema, kept_next, kept_error, kept_release, k};
    if (duckdb_arrow_scan(duck->connection, "latest", (duckdb_arrow_stream)(void *)&view) != DuckDBSuccess) {
        return tl_fail(err, TL_INTERNAL, "DuckDB does not take the rows");
    }
    tl_buf sql = {0};
    tl_status status = tl_buf_add_text(&sql, "COPY (FROM latest) TO ");
    if (status == TL_OK) {
        status = tl_duck_quote_text(&sql, path ? path : "/dev/stdout");
    }
    if (status == TL_OK) {
        status = tl_buf_add(&sql, options, sizeof options);
    }
    status = status == TL_OK ? tl_duck_run(duck, (const char *)sql.data, err) : tl_fail_memory(err, sizeof options);
    tl_buf_free(&sql);
    return status;
}

/* Takes the rows. */
static tl_status write_parquet(tl_cli *cli, struct ArrowArrayStream *rows, const char *path, tl_error *err) {
    kept_stream k = {.rows = *rows};
    tl_duck duck = {0};
    tl_status status = k.rows.get_schema(&k.rows, &k.schema) == 0 ? TL_OK : tl_fail_memory(err, sizeof k.schema);
    if (status == TL_OK) {
        status = tl_duck_open(cli->threads, &duck, err);
    }
    if (status == TL_OK) {
        status = copy_rows(&duck, &k, path, err);
    }
    tl_duck_close(&duck);
    if (k.schema.release) {
        k.schema.release(&k.schema);
    }
    k.rows.release(&k.rows);
    return status;
}

static tl_status run_latest(tl_cli *cli, tl_error *err) {
    tl_output format;
    const char *path = tl_value(cli, "output");
    TL_TRY(tl_output_parse(cli, &format, err));
    TL_TRY(tl_output_check_terminal(cli, format, path, err));
    TL_TRY(tl_cli_lake(cli, true, err));
    struct ArrowArrayStream rows = {0};
    TL_TRY(tl_latest(cli->lake, cli->operands[0], &rows, err));
    if (format == TL_OUTPUT_PARQUET) {
        return write_parquet(cli, &rows, path, err);
    }
    FILE *to = path ? fopen(path, "w") : stdout;
    if (!to) {
        rows.release(&rows);
        return tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
    }
    int64_t n;
    tl_status status = tl_output_write(format, &rows, to, &n, err);
    if (path && fclose(to) != 0 && status == TL_OK) {
        status = tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
    }
    return status;
}

static const tl_flag flags[] = {
    {"format", 0, "FORMAT", "table (default), csv, json (one object a line), parquet, arrow (an IPC stream) or none."},
    {"json", 0, NULL, "The same as --format json."},
    {"output", 0, "FILE", "Writes there instead of to standard output."},
    {0},
};

const tl_command tl_command_latest = {
    .name = "latest",
    .operands = "TABLE",
    .summary = "show the newest row of every series",
    .text =
        "Ordered by series key. Read from the table's last-value index, so that it costs the same however many rows "
        "there are; by a scan when there is no sound index.",
    .flags = flags,
    .least = 1,
    .most = 1,
    .run = run_latest,
};
