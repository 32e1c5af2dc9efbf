/* timelake sql: queries over the lake's tables. See session.h for how. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/split.h"
#include "cli/sql_progress.h"

/* What one call of the command writes. */
typedef struct job {
    tl_cli *cli;
    tl_session *session;
    tl_output format;
    FILE *to;
    const char *path; /* --output; NULL = stdout */
    int results;      /* statements that gave rows so far */
    bool begun;       /* a part of the statement at work was executed */
} job;

static tl_status read_stdin(tl_buf *out, tl_error *err) {
    if (isatty(0) && isatty(2)) {
        fprintf(stderr, "Statements, please; Ctrl-D ends them.\n");
    }
    for (;;) {
        if (tl_buf_reserve(out, 1 << 16) != TL_OK) {
            return tl_fail_memory(err, 1 << 16);
        }
        size_t n = fread(out->data + out->len, 1, 1 << 16, stdin);
        out->len += n;
        if (n == 0) {
            return ferror(stdin) ? tl_fail(err, TL_IO, "standard input: %s", strerror(errno)) : TL_OK;
        }
    }
}

/* Tables made by SQL would be gone at the end of the call; that is nothing to be silent about. */
static tl_status check_statement(tl_bytes statement, tl_error *err) {
    char word[5][24];
    for (int i = 0; i < 5; i++) {
        tl_sql_word(statement, i, word[i], sizeof word[i]);
    }
    int at = strcmp(word[0], "create") == 0 ? 1 : 0;
    at += at && strcmp(word[1], "or") == 0 && strcmp(word[2], "replace") == 0 ? 2 : 0;
    if (at && strcmp(word[at], "table") == 0) {
        return tl_fail(
            err, TL_UNSUPPORTED,
            "sql reads the lake: make tables with `timelake create`, or CREATE TEMP TABLE for the statements "
            "of this call");
    }
    return TL_OK;
}

/* EXPLAIN gives a drawing, which is shown as it is. */
static tl_status print_explain(job *j, duckdb_result *result, tl_error *err) {
    idx_t column = duckdb_column_count(result) - 1;
    for (duckdb_data_chunk chunk; (chunk = duckdb_fetch_chunk(*result));) {
        duckdb_string_t *texts = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column));
        for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
            (void)fwrite(duckdb_string_t_data(&texts[i]), 1, duckdb_string_t_length(texts[i]), j->to);
            (void)fputc('\n', j->to);
        }
        duckdb_destroy_data_chunk(&chunk);
    }
    const char *why = duckdb_result_error(result);
    tl_status status = why && *why ? tl_duck_fail(err, why) : tl_output_flush(j->to, err);
    duckdb_destroy_result(result);
    return status;
}

/* As DuckDB gives them: what is timed is the query alone. */
static tl_status drop_rows(duckdb_result *result, int64_t *rows, tl_error *err) {
    *rows = 0;
    for (duckdb_data_chunk chunk; (chunk = duckdb_fetch_chunk(*result));) {
        *rows += (int64_t)duckdb_data_chunk_get_size(chunk);
        duckdb_destroy_data_chunk(&chunk);
    }
    const char *why = duckdb_result_error(result);
    tl_status status = why && *why ? tl_duck_fail(err, why) : TL_OK;
    duckdb_destroy_result(result);
    return status;
}

static tl_status print_result(job *j, duckdb_result *result, bool explain, int64_t begin_us, tl_error *err) {
    bool binary = j->format == TL_OUTPUT_ARROW || j->format == TL_OUTPUT_PARQUET;
    if (++j->results > 1 && binary) {
        duckdb_destroy_result(result);
        return tl_fail(err, TL_INVALID, "more than one statement gives rows: this format holds one result");
    }
    if (j->results > 1 && (j->format == TL_OUTPUT_CSV || j->format == TL_OUTPUT_TABLE)) {
        (void)fputc('\n', j->to);
    }
    if (explain && j->format == TL_OUTPUT_TABLE) {
        return print_explain(j, result, err);
    }
    struct ArrowArrayStream stream;
    int64_t rows;
    if (j->format == TL_OUTPUT_NONE) {
        TL_TRY(drop_rows(result, &rows, err));
    } else {
        TL_TRY(tl_duck_stream(result, &stream, err));
        TL_TRY(tl_output_write(j->format, &stream, j->to, &rows, err));
    }
    if ((j->format == TL_OUTPUT_TABLE || j->format == TL_OUTPUT_NONE) && isatty(2)) {
        double seconds = (double)(tl_env_monotonic_us(tl_env_default()) - begin_us) / 1e6;
        fprintf(stderr, "%lld row%s in %.3f s\n", (long long)rows, rows == 1 ? "" : "s", seconds);
    }
    return TL_OK;
}

static tl_status run_prepared(job *j, duckdb_prepared_statement prepared, tl_error *err) {
    int64_t begin = tl_env_monotonic_us(tl_env_default());
    duckdb_result result;
    bool explain = duckdb_prepared_statement_type(prepared) == DUCKDB_STATEMENT_TYPE_EXPLAIN;
    tl_sql_progress *progress = tl_sql_progress_start(tl_session_duck(j->session)->connection);
    tl_status status = TL_OK;
    if (duckdb_execute_prepared_streaming(prepared, &result) != DuckDBSuccess) {
        tl_sql_progress_stop(progress);
        status = tl_duck_fail(err, duckdb_result_error(&result));
        duckdb_destroy_result(&result);
        return status;
    }
    bool rows = duckdb_result_return_type(result) == DUCKDB_RESULT_TYPE_QUERY_RESULT;
    tl_sql_progress_stop(progress);
    if (rows) {
        return print_result(j, &result, explain, begin, err);
    }
    int64_t none; /* a count, or nothing */
    return drop_rows(&result, &none, err);
}

/* DuckDB writes Parquet by itself, which takes every type of its. */
static tl_status wrap_copy(job *j, tl_bytes statement, tl_buf *sql) {
    char word[24];
    tl_sql_word(statement, 0, word, sizeof word);
    static const char *const queries[] = {"select", "from",    "with",     "values",    "table",
                                          "pivot",  "unpivot", "describe", "summarize", "show"};
    bool query = false;
    for (size_t i = 0; i < TL_COUNT(queries); i++) {
        query = query || strcmp(word, queries[i]) == 0;
    }
    if (j->format != TL_OUTPUT_PARQUET || !query) {
        TL_TRY(tl_sql_quote_default(statement, sql));
        return tl_buf_add_byte(sql, 0);
    }
    j->results++;
    TL_TRY(tl_buf_add_text(sql, "COPY ("));
    TL_TRY(tl_sql_quote_default(statement, sql));
    TL_TRY(tl_buf_add_text(sql, "\n) TO "));
    TL_TRY(tl_duck_quote_text(sql, j->path ? j->path : "/dev/stdout"));
    static const char options[] = " (FORMAT parquet, COMPRESSION zstd)";
    return tl_buf_add(sql, options, sizeof options);
}

static tl_status run_text(job *j, const char *sql, tl_error *err) {
    duckdb_connection connection = tl_session_duck(j->session)->connection;
    duckdb_extracted_statements statements = NULL;
    tl_status status = TL_OK;
    idx_t n = duckdb_extract_statements(connection, sql, &statements);
    if (n == 0) {
        const char *why = duckdb_extract_statements_error(statements);
        status = why ? tl_duck_fail(err, why) : TL_OK;
    }
    for (idx_t i = 0; status == TL_OK && i < n; i++) { /* PIVOT is several to DuckDB */
        duckdb_prepared_statement prepared = NULL;
        if (duckdb_prepare_extracted_statement(connection, statements, i, &prepared) != DuckDBSuccess) {
            status = tl_duck_fail(err, duckdb_prepare_error(prepared));
        } else {
            j->begun = true;
            status = run_prepared(j, prepared, err);
        }
        duckdb_destroy_prepare(&prepared);
    }
    duckdb_destroy_extracted(&statements);
    return status;
}

/* A table that DuckDB does not find may be one that could not be loaded, or one whose name the text does not show; and
 * when it is neither, the names of all others are wanted for "Did you mean". */
static tl_status run_known(job *j, tl_bytes statement, const char *sql, tl_error *err) {
    static const char missing[] = "Catalog Error: Table ";
    tl_buf instead = {0};
    TL_TRY(tl_session_prepare(j->session, statement, err));
    j->begun = false;
    tl_status status = tl_session_narrow(j->session, statement, &instead, err);
    if (status == TL_OK) {
        status = run_text(j, instead.len && j->format != TL_OUTPUT_PARQUET ? (const char *)instead.data : sql, err);
    }
    tl_buf_free(&instead);
    if (status == TL_OK || strncmp(err->message, missing, sizeof missing - 1) != 0 || j->begun) {
        return status;
    }
    if (*tl_session_broken(j->session)) {
        return tl_fail(err, status, "%s", tl_session_broken(j->session));
    }
    TL_TRY(tl_session_prepare(j->session, tl_bytes_of("show all tables"), err));
    return run_text(j, sql, err);
}

static tl_status run_statement(job *j, tl_bytes statement, tl_error *err) {
    TL_TRY(check_statement(statement, err));
    tl_buf sql = {0};
    int before = j->results;
    tl_status status = wrap_copy(j, statement, &sql) == TL_OK ? TL_OK : tl_fail_memory(err, statement.len);
    if (status == TL_OK && j->format == TL_OUTPUT_PARQUET && j->results > 1 && j->results > before) {
        status = tl_fail(err, TL_INVALID, "more than one statement gives rows: this format holds one result");
    }
    if (status == TL_OK) {
        status = run_known(j, statement, (const char *)sql.data, err);
    }
    tl_buf_free(&sql);
    tl_session_forget(j->session);
    return status;
}

static tl_status run_all(job *j, tl_bytes text, tl_error *err) {
    size_t at = 0;
    tl_bytes statement;
    bool any = false;
    if (memchr(text.data ? text.data : (const uint8_t *)"", 0, text.len)) {
        return tl_fail(err, TL_INVALID, "the statement holds a NUL character");
    }
    while (tl_sql_next(text, &at, &statement)) {
        any = true;
        TL_TRY(run_statement(j, statement, err));
    }
    return any ? TL_OK : tl_usage(j->cli, err, "there is no statement");
}

static tl_status apply_settings(job *j, tl_error *err) {
    for (int i = 0; i < j->cli->n_given; i++) {
        if (strcmp(j->cli->given[i].flag->name, "set") != 0) {
            continue;
        }
        const char *text = j->cli->given[i].value, *equals = strchr(text, '=');
        if (!equals || equals == text) {
            return tl_usage(j->cli, err, "--set wants NAME=VALUE, not \"%s\"", text);
        }
        char *name = tl_strndup(text, (size_t)(equals - text));
        tl_status status = name ? tl_session_set(j->session, name, equals + 1, err) : tl_fail_memory(err, 1);
        tl_free(name);
        TL_TRY(status);
    }
    return TL_OK;
}

/* --snapshot, --as-of, --dedup */
static tl_status apply_version(job *j, tl_error *err) {
    const char *snapshot = tl_value(j->cli, "snapshot"), *as_of = tl_value(j->cli, "as-of");
    const char *dedup = tl_value(j->cli, "dedup");
    tl_version_want want = {.dedup = -1, .has_as_of = as_of != NULL};
    bool zoned, on;
    if (snapshot && as_of) {
        return tl_usage(j->cli, err, "give --snapshot or --as-of, not both");
    }
    if (snapshot && (tl_parse_i64(tl_bytes_of(snapshot), &want.snapshot_id) != TL_PARSE_OK || want.snapshot_id <= 0)) {
        return tl_usage(j->cli, err, "--snapshot wants the id of a snapshot, not \"%s\"", snapshot);
    }
    if (as_of && tl_parse_timestamp(tl_bytes_of(as_of), &want.as_of_us, &zoned) != TL_PARSE_OK) {
        return tl_usage(j->cli, err, "--as-of wants a time such as 2026-01-31T10:30:00Z, not \"%s\"", as_of);
    }
    if (dedup && tl_parse_bool(tl_bytes_of(dedup), &on) != TL_PARSE_OK) {
        return tl_usage(j->cli, err, "--dedup is on or off, not \"%s\"", dedup);
    }
    tl_session_want(j->session, &want);
    return dedup ? tl_session_set(j->session, "read-dedup", on ? "true" : "false", err) : TL_OK;
}

static tl_status run_in_session(job *j, tl_error *err) {
    const char *name_space = tl_value(j->cli, "namespace");
    char ns[256], table[256];
    name_space = name_space ? name_space : "default";
    char *probe = tl_format("%s.t", name_space);
    if (!probe) {
        return tl_fail_memory(err, strlen(name_space));
    }
    tl_status status = strchr(name_space, '.') ? tl_fail(err, TL_INVALID, "\"%s\" is no namespace", name_space)
                                               : tl_table_name_parse(probe, "default", ns, table, err);
    tl_free(probe);
    TL_TRY(status);
    TL_TRY(tl_session_open(j->cli->lake, ns, j->cli->threads, &j->session, err));
    TL_TRY(apply_settings(j, err));
    TL_TRY(apply_version(j, err));
    if (j->cli->n_operands > 0 && strcmp(j->cli->operands[0], "-") != 0) {
        return run_all(j, tl_bytes_of(j->cli->operands[0]), err);
    }
    tl_buf text = {0};
    status = read_stdin(&text, err);
    if (status == TL_OK) {
        status = run_all(j, tl_buf_bytes(&text), err);
    }
    tl_buf_free(&text);
    return status;
}

static tl_status run_sql(tl_cli *cli, tl_error *err) {
    job j = {.cli = cli, .to = stdout, .path = tl_value(cli, "output")};
    TL_TRY(tl_output_parse(cli, &j.format, err));
    TL_TRY(tl_output_check_terminal(cli, j.format, j.path, err));
    TL_TRY(tl_cli_lake(cli, true, err));
    if (j.path && j.format != TL_OUTPUT_PARQUET) {
        j.to = fopen(j.path, "w");
        if (!j.to) {
            return tl_fail(err, TL_IO, "%s: %s", j.path, strerror(errno));
        }
    }
    tl_status status = run_in_session(&j, err);
    tl_session_close(j.session);
    if (j.to != stdout && fclose(j.to) != 0 && status == TL_OK) {
        status = tl_fail(err, TL_IO, "%s: %s", j.path, strerror(errno));
    }
    return status;
}

static const tl_flag flags[] = {
    {"format", 0, "FORMAT",
     "table (default), csv, json (one object a line), parquet, arrow (an IPC stream) or none (rows "
     "are read and dropped: for timing)."},
    {"json", 0, NULL, "The same as --format json."},
    {"output", 0, "FILE", "Writes there instead of to standard output."},
    {"namespace", 0, "NAME", "Where tables without a namespace are looked for. Default: default."},
    {"dedup", 0, "on|off", "Whether only the last write of each (series, time) is seen. Default: as the table says."},
    {"snapshot", 0, "ID", "Reads this snapshot of the table instead of the newest (timelake info lists them)."},
    {"as-of", 0, "TIME", "Reads the tables as they were at this time (UTC unless it has an offset)."},
    {"set", 0, "NAME=VALUE",
     "A setting for this call, of Timelake's (read-dedup=false) or of DuckDB's (threads=2). May be "
     "repeated."},
    {0},
};

const tl_command tl_command_sql = {
    .name = "sql",
    .operands = "[QUERY]",
    .summary = "answer a query over the tables, with DuckDB",
    .text =
        "Runs the statements of QUERY, or of standard input, in order; each sees the newest commit. The dialect is "
        "DuckDB's. Tables are named `readings`, `namespace.readings` or `timelake.namespace.readings`; SHOW TABLES and "
        "information_schema list them. Of each (series, time) the last write is seen; with `SET timelake.read_dedup = "
        "false` all rows are.\n\n"
        "Times are UTC. time_bucket(width, time[, origin]) counts its buckets from 1970-01-01, or from origin. "
        "Results come as they are found; memory stays bounded.\n\n"
        "  timelake sql \"select time_bucket('1 hour', time) as hour, avg(temp)\n"
        "                from readings group by 1 order by 1\"\n"
        "  timelake sql --format csv < queries.sql",
    .flags = flags,
    .least = 0,
    .most = 1,
    .run = run_sql,
};
