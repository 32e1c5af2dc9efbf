/* DuckDB, embedded; see duck.h. */
#include "cli/duck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tl_status configure(duckdb_config config, unsigned threads, tl_error *err) {
    const char *folder = getenv("TMPDIR");
    char spill[512], count[16];
    (void)snprintf(spill, sizeof spill, "%s/timelake-sql-%ld", folder && *folder ? folder : "/tmp", (long)getpid());
    (void)snprintf(count, sizeof count, "%u", threads);
    const struct {
        const char *name, *value;
    } options[] = {{"autoinstall_known_extensions", "false"},
                   {"autoload_known_extensions", "false"},
                   {"allow_community_extensions", "false"},
                   {"duckdb_api", "timelake"},
                   {"temp_directory", spill},
                   {"threads", threads ? count : NULL}};
    for (size_t i = 0; i < TL_COUNT(options); i++) {
        if (options[i].value && duckdb_set_config(config, options[i].name, options[i].value) != DuckDBSuccess) {
            return tl_fail(err, TL_INTERNAL, "DuckDB does not take the option %s", options[i].name);
        }
    }
    return TL_OK;
}

tl_status tl_duck_open(unsigned threads, tl_duck *out, tl_error *err) {
    *out = (tl_duck){0};
    duckdb_config config = NULL;
    if (duckdb_create_config(&config) != DuckDBSuccess) {
        duckdb_destroy_config(&config);
        return tl_fail_memory(err, 1);
    }
    tl_status status = configure(config, threads, err);
    char *why = NULL;
    if (status == TL_OK && duckdb_open_ext(NULL, &out->db, config, &why) != DuckDBSuccess) {
        status = tl_duck_fail(err, why);
    }
    duckdb_free(why);
    duckdb_destroy_config(&config);
    if (status == TL_OK && duckdb_connect(out->db, &out->connection) != DuckDBSuccess) {
        status = tl_fail_memory(err, 1);
    }
    if (status == TL_OK) {
        /* the buffer: threads that wait for a reader of the result hold a row group each */
        status = tl_duck_run(out, "SET TimeZone='UTC'; SET streaming_buffer_size='64MB'", err);
    }
    if (status != TL_OK) {
        tl_duck_close(out);
    }
    return status;
}

void tl_duck_close(tl_duck *d) {
    if (d->connection) {
        duckdb_disconnect(&d->connection);
    }
    if (d->db) {
        duckdb_close(&d->db);
    }
}

/* Cuts off the picture of the place ("LINE 2: select ...\n   ^") and gives its line number. */
static int cut_place(char *text) {
    char *place = strstr(text, "\n\nLINE ");
    if (!place) {
        return 0;
    }
    int line = atoi(place + 7);
    *place = 0;
    return line;
}

tl_status tl_duck_fail(tl_error *err, const char *message) {
    char *text = tl_strdup(message && *message ? message : "DuckDB failed without saying why");
    if (!text) {
        return tl_fail_memory(err, 1);
    }
    int line = cut_place(text);
    size_t to = 0;
    for (size_t from = 0; text[from]; from++) { /* one line, no runs of blanks */
        char c = text[from] == '\n' || text[from] == '\t' || text[from] == '\r' ? ' ' : text[from];
        if (c != ' ' || (to > 0 && text[to - 1] != ' ')) {
            text[to++] = c;
        }
    }
    while (to > 0 && text[to - 1] == ' ') {
        to--;
    }
    text[to] = 0;
    /* what a function of ours said comes back under DuckDB's name for it, and what failed while rows were being fetched
     * under a sentence about the fetching */
    static const char *const wrappers[] = {"closed pending query result Error: ", "Invalid Input Error: timelake: "};
    const char *shown = text;
    for (size_t i = 0; i < TL_COUNT(wrappers); i++) {
        const char *at = strstr(shown, wrappers[i]);
        shown = at ? at + strlen(wrappers[i]) : shown;
    }
    tl_status status = line > 1 ? tl_fail(err, TL_INVALID, "%s (line %d of the statement)", shown, line)
                                : tl_fail(err, TL_INVALID, "%s", shown);
    tl_free(text);
    return status;
}

tl_status tl_duck_run(tl_duck *d, const char *sql, tl_error *err) {
    duckdb_result result;
    tl_status status = duckdb_query(d->connection, sql, &result) == DuckDBSuccess
                           ? TL_OK
                           : tl_duck_fail(err, duckdb_result_error(&result));
    duckdb_destroy_result(&result);
    return status;
}

tl_status tl_duck_text(tl_duck *d, const char *sql, char **out, tl_error *err) {
    duckdb_result result;
    *out = NULL;
    tl_status status = TL_OK;
    if (duckdb_query(d->connection, sql, &result) != DuckDBSuccess) {
        status = tl_duck_fail(err, duckdb_result_error(&result));
    } else if (duckdb_row_count(&result) > 0) {
        *out = duckdb_value_varchar(&result, 0, 0);
    }
    duckdb_destroy_result(&result);
    return status;
}

/* ---- results as Arrow ---- */

typedef struct duck_stream {
    duckdb_result result;
    duckdb_arrow_options options;
    tl_error error;
} duck_stream;

/* A failed call of the Arrow functions; the error is destroyed. */
static int arrow_failed(duck_stream *s, duckdb_error_data why) {
    (void)tl_duck_fail(&s->error, duckdb_error_data_message(why));
    duckdb_destroy_error_data(&why);
    return EINVAL;
}

static int stream_schema(struct ArrowArrayStream *self, struct ArrowSchema *out) {
    duck_stream *s = self->private_data;
    idx_t n = duckdb_column_count(&s->result);
    duckdb_logical_type *types = tl_calloc(n + 1, sizeof *types);
    const char **names = tl_calloc(n + 1, sizeof *names);
    int code = types && names ? 0 : ENOMEM;
    for (idx_t i = 0; code == 0 && i < n; i++) {
        types[i] = duckdb_column_logical_type(&s->result, i);
        names[i] = duckdb_column_name(&s->result, i);
    }
    if (code == 0) {
        duckdb_error_data why = duckdb_to_arrow_schema(s->options, types, names, n, out);
        code = why ? arrow_failed(s, why) : 0;
    }
    for (idx_t i = 0; types && i < n; i++) {
        duckdb_destroy_logical_type(&types[i]);
    }
    tl_free(types);
    tl_free(names);
    return code;
}

static int stream_next(struct ArrowArrayStream *self, struct ArrowArray *out) {
    duck_stream *s = self->private_data;
    *out = (struct ArrowArray){0};
    duckdb_data_chunk chunk = duckdb_fetch_chunk(s->result);
    if (!chunk) {
        const char *why = duckdb_result_error(&s->result);
        if (why && *why) {
            (void)tl_duck_fail(&s->error, why);
            return EINVAL;
        }
        return 0;
    }
    duckdb_error_data why = duckdb_data_chunk_to_arrow(s->options, chunk, out);
    duckdb_destroy_data_chunk(&chunk);
    return why ? arrow_failed(s, why) : 0;
}

static const char *stream_error(struct ArrowArrayStream *self) {
    return ((duck_stream *)self->private_data)->error.message;
}

static void stream_release(struct ArrowArrayStream *self) {
    duck_stream *s = self->private_data;
    duckdb_destroy_arrow_options(&s->options);
    duckdb_destroy_result(&s->result);
    tl_free(s);
    self->release = NULL;
}

tl_status tl_duck_stream(duckdb_result *result, struct ArrowArrayStream *out, tl_error *err) {
    duck_stream *s = tl_calloc(1, sizeof *s);
    if (!s) {
        duckdb_destroy_result(result);
        return tl_fail_memory(err, sizeof *s);
    }
    s->result = *result;
    s->options = duckdb_result_get_arrow_options(&s->result);
    *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, s};
    return TL_OK;
}
