/* A pipe that never ends into commits; see continuous.h. */
#include "cli/continuous.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "cli/ingest.h"
#include "cli/records.h"
#include "cli/rejects.h"
#include "cli/stop.h"
#include "commit/commit.h"
#include "table/settings.h"

enum {
    READ_BYTES = 1 << 16,
    CHUNK_ROWS = 4096,         /* lines are handed to the writer when there are so many, */
    CHUNK_BYTES = 4 << 20,     /* or so much, */
    CHUNK_MS = 200,            /* or when the first of them is so old: small batches cost memory */
    DRAIN_BYTES = 1 << 20,     /* when told to stop: at most so much of what has come by then is still read */
    ROOM_MS = 100,             /* between looks at a full buffer */
    PATIENCE_US = 10 * 1000000 /* at the end, for commits that fail */
};

typedef struct continuous {
    tl_cli *cli;
    tl_ingested total; /* changed by the writer's thread while the writer is open */
    tl_input_options options;
    int64_t every_us, bytes;
    tl_writer *writer;
    tl_records records;
    tl_rejects rejects;
    tl_buf text;          /* what is read at once: header and records */
    atomic_bool hopeless; /* a commit failed in a way that waiting does not mend */
    int64_t number;       /* of the last commit that was made; the writer's thread */
} continuous;

/* ---- the command line ---- */

bool tl_continuous_wanted(const tl_cli *cli) {
    return tl_has(cli, "commit-every") || tl_has(cli, "commit-bytes") || tl_has(cli, "rejects");
}

static tl_status read_limits(tl_cli *cli, int64_t *every_us, int64_t *bytes, tl_error *err) {
    const char *every = tl_value(cli, "commit-every"), *size = tl_value(cli, "commit-bytes");
    *every_us = *bytes = 0;
    if (every && (!tl_duration_parse(every, every_us) || *every_us <= 0)) {
        return tl_usage(cli, err, "--commit-every wants a duration such as 10s or 5m, not \"%s\"", every);
    }
    if (size && (!tl_bytes_parse(size, bytes) || *bytes <= 0 || *bytes > INT64_MAX / 8)) {
        return tl_usage(cli, err, "--commit-bytes wants a size such as 16MiB, not \"%s\"", size);
    }
    return TL_OK;
}

tl_status tl_continuous_check(tl_cli *cli, const tl_input_options *options, tl_error *err) {
    int64_t every_us, bytes;
    TL_TRY(read_limits(cli, &every_us, &bytes, err));
    if (cli->n_operands != 2 || strcmp(cli->operands[1], "-") != 0) {
        return tl_usage(cli, err,
                        "--commit-every, --commit-bytes and --rejects are for standard input: give - and no "
                        "other file");
    }
    if (options->format == TL_FORMAT_NONE || options->format == TL_FORMAT_PARQUET) {
        return tl_usage(cli, err, "commits from a pipe want --format csv, tsv, ndjson or arrow");
    }
    if (options->format == TL_FORMAT_ARROW && tl_has(cli, "rejects")) {
        return tl_usage(cli, err, "--rejects is for lines of text, not for --format arrow");
    }
    if (tl_has(cli, "rows-per-commit")) {
        return tl_usage(cli, err, "--rows-per-commit does not go with --commit-every; give --commit-bytes");
    }
    return TL_OK;
}

/* ---- commits, in the writer's thread ---- */

static void on_commit(void *ctx, tl_status status, const tl_append_result *result, const char *message) {
    continuous *c = ctx;
    if (status == TL_OK) {
        tl_ingested_add(&c->total, ++c->number, result);
    } else if (status == TL_IO || status == TL_CONFLICT || status == TL_UNKNOWN || status == TL_NO_MEMORY) {
        fprintf(stderr, "commit %lld failed, its rows are kept and tried again: %s\n", (long long)c->number + 1,
                message);
    } else {
        atomic_store(&c->hopeless, true);
        tl_stop_now(); /* the error itself comes out of closing the writer */
    }
}

static tl_status open_writer(continuous *c, const struct ArrowSchema *schema, tl_error *err) {
    const tl_writer_options options = {
        .commit_every_us = c->every_us,
        .commit_bytes = c->bytes,
        .fail_when_full = 1,
        .batch_id = tl_value(c->cli, "batch-id"),
        .on_commit = on_commit,
        .ctx = c,
        .no_maintain = tl_has(c->cli, "no-maintain"),
    };
    return tl_writer_open(c->cli->lake, c->total.name, schema, &options, &c->writer, err);
}

/* Hands a batch (which is taken) to the writer; while its buffer is full nothing is read. */
static tl_status write_batch(continuous *c, struct ArrowArray *batch, tl_error *err) {
    tl_status status = tl_writer_write(c->writer, batch, err);
    for (int64_t waited_us = 0; status == TL_FULL; status = tl_writer_write(c->writer, batch, err)) {
        if (tl_stop_poll(-1, ROOM_MS) == TL_WAIT_STOPPED) {
            if (atomic_load(&c->hopeless) || waited_us > PATIENCE_US) {
                break;
            }
            (void)nanosleep(&(struct timespec){.tv_nsec = ROOM_MS * 1000000L}, NULL);
            waited_us += ROOM_MS * 1000;
        }
    }
    if (batch->release) {
        batch->release(batch);
    }
    return status;
}

/* ---- lines ---- */

/* The rows of the text as one batch. TL_UNSUPPORTED: they are more than a reader gives at once. */
static tl_status parse(continuous *c, tl_bytes text, struct ArrowArray *out, tl_error *err) {
    tl_input_options options = c->options;
    options.text = &text;
    tl_input *input;
    struct ArrowArray more = {0};
    *out = (struct ArrowArray){0};
    TL_TRY(tl_input_open("standard input", &options, &input, err));
    tl_status status = tl_input_next(input, 0, out, err);
    if (status == TL_OK && out->release) {
        status = tl_input_next(input, 0, &more, err);
        if (status == TL_OK && more.release) {
            more.release(&more);
            status = TL_UNSUPPORTED;
        }
        if (status != TL_OK) {
            out->release(out);
        }
    }
    tl_input_close(input);
    return status;
}

/* Reads records `from` up to `to` and writes their rows: all of them, or none. */
static tl_status write_range(continuous *c, size_t from, size_t to, tl_error *err) {
    const tl_records *r = &c->records;
    const tl_record *first = &r->items[from], *last = &r->items[to - 1];
    c->text.len = 0;
    if (tl_buf_add(&c->text, r->bytes.data, r->head) != TL_OK ||
        tl_buf_add(&c->text, r->bytes.data + first->at, last->at + last->len - first->at) != TL_OK) {
        return tl_fail_memory(err, last->at + last->len - first->at);
    }
    struct ArrowArray batch;
    TL_TRY(parse(c, tl_buf_bytes(&c->text), &batch, err));
    return batch.release ? write_batch(c, &batch, err) : TL_OK;
}

/* Writes records in order. What fails is halved until it is single lines: those are rejected. Depth: log2 of the
 * chunk. */
static tl_status send(continuous *c, size_t from, size_t to, tl_error *err) {
    const tl_records *r = &c->records;
    tl_error why = {{0}};
    tl_status status = TL_INVALID;
    bool alone = to - from == 1;
    if (alone && r->items[from].kind == TL_RECORD_TOO_LONG) {
        (void)tl_fail(&why, TL_INVALID, "the line is longer than 16 MiB");
    } else {
        bool mixed = false;
        for (size_t i = from; !alone && i < to; i++) {
            mixed = mixed || r->items[i].kind != TL_RECORD_WHOLE;
        }
        status = mixed ? TL_INVALID : write_range(c, from, to, &why);
    }
    if (status == TL_OK) {
        return TL_OK;
    }
    bool of_rows = status == TL_INVALID || status == TL_UNSUPPORTED || status == TL_CORRUPT;
    if (!of_rows) {
        return tl_fail(err, status, "%s", why.message);
    }
    if (alone) {
        return tl_rejects_add(&c->rejects, r->items[from].line, tl_record_text(r, &r->items[from]), &why, err);
    }
    size_t middle = from + (to - from) / 2;
    TL_TRY(send(c, from, middle, err));
    return send(c, middle, to, err);
}

/* The schema of the rows: of CSV once the header is there. */
static tl_status begin_lines(continuous *c, tl_error *err) {
    tl_bytes head = {c->records.bytes.data, c->records.head};
    tl_input_options options = c->options;
    options.text = &head;
    tl_input *input;
    struct ArrowSchema schema = {0};
    TL_TRY(tl_input_open("standard input", &options, &input, err));
    tl_status status = tl_input_schema(input, &schema, err);
    if (status == TL_OK) {
        status = open_writer(c, &schema, err);
    }
    if (status == TL_INVALID) {
        tl_error_prefix(err, "standard input: ");
    }
    tl_input_close(input);
    if (schema.release) {
        schema.release(&schema);
    }
    return status;
}

/* Hands over the records that are there. */
static tl_status send_all(continuous *c, tl_error *err) {
    if (!c->writer && (!c->records.csv || c->records.head > 0)) {
        TL_TRY(begin_lines(c, err));
    }
    for (size_t from = 0; from < c->records.n;) {
        size_t to = from, bytes = 0;
        while (to < c->records.n && to - from < CHUNK_ROWS && bytes < CHUNK_BYTES) {
            bytes += c->records.items[to++].len;
        }
        TL_TRY(send(c, from, to, err));
        from = to;
    }
    tl_records_clear(&c->records);
    return TL_OK;
}

/* Reads once. *more false: the end. */
static tl_status read_once(continuous *c, bool *more, tl_error *err) {
    uint8_t block[READ_BYTES];
    ssize_t n = read(0, block, sizeof block);
    *more = true;
    if (n < 0) {
        return errno == EINTR || errno == EAGAIN ? TL_OK : tl_fail(err, TL_IO, "standard input: %s", strerror(errno));
    }
    *more = n > 0;
    if (c->records.line == 0 && n >= 2 &&
        ((block[0] == 0x1f && block[1] == 0x8b) || memcmp(block, "\x28\xb5", 2) == 0)) {
        return tl_fail(err, TL_INVALID,
                       "standard input: commits from a pipe want plain text, and this is compressed; "
                       "unpack it in the pipe");
    }
    return tl_records_add(&c->records, block, (size_t)n, err);
}

/* Told to stop: what has come by now is read, not what comes later. *more false: it was the end. */
static tl_status drain(continuous *c, bool *more, tl_error *err) {
    for (int i = 0; *more && i < DRAIN_BYTES / READ_BYTES && tl_stop_ready(0); i++) {
        TL_TRY(read_once(c, more, err));
    }
    return TL_OK;
}

static tl_status run_lines(continuous *c, tl_error *err) {
    const tl_env *env = tl_env_default();
    int64_t due_us = 0; /* when the records that wait have to go; 0 = none wait */
    bool more = true;
    while (more && !tl_stopped()) {
        int64_t now = tl_env_monotonic_us(env);
        bool full = c->records.n >= CHUNK_ROWS || c->records.bytes.len >= CHUNK_BYTES;
        if (c->records.n > 0 && (full || now >= due_us)) {
            TL_TRY(send_all(c, err));
            due_us = 0;
        }
        int wait = due_us ? (int)((due_us - now) / 1000) + 1 : -1;
        if (tl_stop_poll(0, wait) == TL_WAIT_READY) {
            TL_TRY(read_once(c, &more, err));
        }
        if (due_us == 0 && c->records.n > 0) {
            due_us = tl_env_monotonic_us(env) + CHUNK_MS * 1000;
        }
    }
    if (atomic_load(&c->hopeless)) {
        return TL_OK;
    }
    TL_TRY(drain(c, &more, err));
    TL_TRY(tl_records_end(&c->records, !more, err));
    TL_TRY(send_all(c, err));
    size_t left = tl_records_begun(&c->records).len;
    if (left > 0) {
        fprintf(stderr, "stopped inside of a line: its %zu bytes are left out\n", left);
    }
    return TL_OK;
}

/* ---- Arrow ---- */

static tl_status run_batches(continuous *c, tl_error *err) {
    tl_input *input;
    struct ArrowSchema schema = {0};
    TL_TRY(tl_input_open("-", &c->options, &input, err));
    tl_status status = tl_input_schema(input, &schema, err);
    if (status == TL_OK) {
        status = open_writer(c, &schema, err);
    }
    while (status == TL_OK && !tl_stopped()) {
        struct ArrowArray batch = {0};
        status = tl_input_next(input, 0, &batch, err);
        if (status != TL_OK || !batch.release) {
            break;
        }
        status = write_batch(c, &batch, err);
        if (status == TL_INVALID) {
            tl_error_prefix(err, "standard input: ");
        }
    }
    tl_input_close(input);
    if (schema.release) {
        schema.release(&schema);
    }
    return status;
}

/* ---- the whole ---- */

/* Ids count from 1 in each run: one that is there is another run's, and its rows would be taken for ours. */
static tl_status check_batch_id(continuous *c, tl_table *table, tl_error *err) {
    const char *id = tl_value(c->cli, "batch-id");
    if (!id) {
        return TL_OK;
    }
    char *first = tl_format("%s-1", id);
    bool found = false;
    tl_status status = first ? tl_commit_find_batch(table, first, &found, err) : tl_fail_memory(err, strlen(id));
    if (status == TL_OK && found) {
        status = tl_fail(err, TL_EXISTS,
                         "--batch-id %s: the batch %s is in %s already; a continuous append wants an id "
                         "of its own, or none",
                         id, first, c->total.name);
    }
    tl_free(first);
    return status;
}

/* Commits what the writer has. An error that came before it stays the one that is told. */
static tl_status finish(continuous *c, tl_status status, tl_error *err) {
    tl_writer_state state;
    tl_error why = {{0}};
    tl_status closed = tl_writer_close(c->writer, PATIENCE_US, &state, &why);
    c->total.rejected = c->rejects.n;
    if (status == TL_OK && closed == TL_OK) {
        return tl_ingested_print(&c->total, tl_has(c->cli, "json"), err);
    }
    if (closed != TL_OK) {
        tl_error_prefix(&why, "the last %lld rows are not in: ", (long long)(state.rows_taken - state.rows_durable));
        if (status == TL_OK || status == TL_FULL) {
            *err = why;
            status = closed;
        } else {
            fprintf(stderr, "Error: %s\n", why.message);
        }
    }
    tl_ingested_prefix(&c->total, status, err);
    return status;
}

tl_status tl_continuous(tl_cli *cli, const char *full_name, tl_input_options *options, tl_error *err) {
    continuous c = {.cli = cli, .options = *options};
    tl_table *table = NULL;
    TL_TRY(read_limits(cli, &c.every_us, &c.bytes, err));
    TL_TRY(tl_lake_table(cli->lake, full_name, &table, err));
    c.total =
        (tl_ingested){.name = full_name, .begin_us = tl_env_monotonic_us(tl_env_default()), .version = table->version};
    c.options.schema = tl_metadata_schema(&table->metadata);
    c.records.csv = options->format != TL_FORMAT_NDJSON;
    c.records.delimiter = options->delimiter ? options->delimiter : options->format == TL_FORMAT_TSV ? '\t' : ',';
    tl_status status = check_batch_id(&c, table, err);
    if (status == TL_OK) {
        status = tl_rejects_open(tl_value(cli, "rejects"), &c.rejects, err);
    }
    if (status == TL_OK) {
        status = options->format == TL_FORMAT_ARROW ? run_batches(&c, err) : run_lines(&c, err);
        if (status != TL_OK && status != TL_UNKNOWN && tl_stopped() && options->format == TL_FORMAT_ARROW) {
            status = TL_OK; /* a read that was given up */
        }
        status = finish(&c, status, err);
        tl_rejects_close(&c.rejects);
    }
    tl_records_free(&c.records);
    tl_buf_free(&c.text);
    tl_table_release(table);
    return status;
}
