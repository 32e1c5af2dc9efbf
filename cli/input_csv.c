/*
 * CSV and TSV (RFC 4180): a header line, then records; quoted fields may hold delimiters, line breaks and doubled
 * quotes. Written by hand and not left to DuckDB's reader, because the lines of errors must be right, a pipe must
 * flow while it is written, and `""` differs from nothing at all: an empty text, where the column holds text.
 */
#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "cli/input.h"
#include "cli/source.h"
#include "cli/text_batch.h"

typedef enum state { RECORD_START, CELL_START, UNQUOTED, UNQUOTED_CR, QUOTED, QUOTE, AFTER_CR } state;

typedef struct csv {
    tl_input base;
    tl_source *source;
    char delimiter;
    const tl_input_options *options;
    const uint8_t *block;
    size_t at, len;
    bool end;
    state state;
    int64_t line;        /* being read */
    int64_t record_line; /* in which the record began */
    int64_t quote_line;  /* in which the quoted field began */
    bool quoted;         /* the field being made was quoted */
    bool header_done;
    bool header_cr; /* the header ended in a CR; what follows is not looked at yet */
    bool lone_cr;   /* the header ended in a CR alone: so do the records; else it is a part of a field */
    tl_buf name;    /* the header's field being made */
    char **names;
    int32_t n, cap, cell; /* columns; the field of the record being made */
    bool *quoted_null;    /* per column: a quoted null text is null too */
    tl_text_batch batch;
    int64_t *lines; /* of the rows of the last batch */
    int64_t cap_lines;
} csv;

static tl_status bad(const csv *c, int64_t line, tl_error *err, const char *what) {
    return tl_fail(err, TL_INVALID, "%s, line %lld: %s", c->base.name, (long long)line, what);
}

static bool is_null_text(const csv *c, tl_bytes text) {
    if (text.len == 0) {
        return true;
    }
    for (size_t i = 0; i < c->options->n_nulls; i++) {
        if (tl_bytes_equal(text, tl_bytes_of(c->options->nulls[i]))) {
            return true;
        }
    }
    return false;
}

static tl_status add_run(csv *c, const uint8_t *data, size_t len, tl_error *err) {
    if (!c->header_done) {
        return tl_buf_add(&c->name, data, len) == TL_OK ? TL_OK : tl_fail_memory(err, len);
    }
    if (c->cell >= c->n) {
        return TL_OK; /* counted when the field ends */
    }
    return tl_text_add(&c->batch.columns[c->cell], data, len, err);
}

static tl_status end_name(csv *c, tl_error *err) {
    if (c->n == c->cap) {
        int32_t cap = c->cap ? c->cap * 2 : 16;
        char **grown = tl_realloc_array(c->names, (size_t)cap, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, (size_t)cap * sizeof *grown);
        }
        c->names = grown;
        c->cap = cap;
    }
    if (memchr(c->name.data ? c->name.data : (const uint8_t *)"", 0, c->name.len)) {
        return bad(c, c->line, err, "a column name holds a NUL character");
    }
    char *name = tl_buf_take_text(&c->name);
    if (!name) {
        return tl_fail_memory(err, 1);
    }
    c->names[c->n++] = name;
    return TL_OK;
}

static tl_status end_cell(csv *c, tl_error *err) {
    if (!c->header_done) {
        return end_name(c, err);
    }
    if (c->cell < c->n) {
        bool null = is_null_text(c, tl_text_cell(&c->batch, c->cell, c->batch.n_rows));
        null = null && (!c->quoted || c->quoted_null[c->cell]);
        c->batch.bytes += tl_text_cell(&c->batch, c->cell, c->batch.n_rows).len;
        tl_text_end_cell(&c->batch, c->cell, null);
    }
    c->cell++;
    c->quoted = false;
    return TL_OK;
}

/* A header in one piece that another delimiter would cut was cut by the wrong one. */
static tl_status check_header(const csv *c, tl_error *err) {
    static const struct {
        char c;
        const char *name;
    } others[] = {{',', "comma"}, {';', "semicolon"}, {'\t', "tab"}, {'|', "bar"}};
    for (int32_t i = 0; i < c->n; i++) {
        if (!*c->names[i]) {
            return tl_fail(err, TL_INVALID, "%s, line 1: column %d has no name", c->base.name, i + 1);
        }
    }
    for (size_t i = 0; c->n == 1 && i < TL_COUNT(others); i++) {
        if (strchr(c->names[0], others[i].c)) {
            return tl_fail(err, TL_INVALID,
                           "%s, line 1: the header is one column, \"%.100s\": the delimiter seems to be a %s; give "
                           "--delimiter",
                           c->base.name, c->names[0], others[i].name);
        }
    }
    return TL_OK;
}

static tl_status end_header(csv *c, tl_error *err) {
    TL_TRY(check_header(c, err));
    c->quoted_null = tl_calloc((size_t)c->n, sizeof *c->quoted_null);
    if (!c->quoted_null) {
        return tl_fail_memory(err, (size_t)c->n);
    }
    const tl_schema *schema = c->options->schema;
    for (int32_t i = 0; i < c->n; i++) {
        const tl_field *f = schema ? tl_schema_field(schema, c->names[i]) : NULL;
        c->quoted_null[i] = !f || (f->type.id != TL_TYPE_STRING && f->type.id != TL_TYPE_BINARY);
    }
    c->header_done = true;
    return TL_OK;
}

static tl_status end_record(csv *c, tl_error *err) {
    TL_TRY(end_cell(c, err));
    if (!c->header_done) {
        return end_header(c, err);
    }
    if (c->cell != c->n) {
        return tl_fail(err, TL_INVALID, "%s, line %lld: %d field%s where the header has %d", c->base.name,
                       (long long)c->record_line, c->cell, c->cell == 1 ? "" : "s", c->n);
    }
    c->lines[c->batch.n_rows++] = c->record_line;
    return TL_OK;
}

/* Ends a field or a record at byte `b`, which is behind it. */
static tl_status end_at(csv *c, char b, tl_error *err) {
    if (b == c->delimiter) {
        c->state = CELL_START;
        return end_cell(c, err);
    }
    c->state = b == '\r' ? AFTER_CR : RECORD_START;
    c->header_cr = b == '\r' && !c->header_done;
    tl_status status = end_record(c, err);
    c->line++;
    return status;
}

static tl_status in_unquoted(csv *c, tl_error *err) {
    const uint8_t *p = c->block + c->at, *end = c->block + c->len, *from = p;
    const uint8_t delimiter = (uint8_t)c->delimiter;
    while (p < end && *p != delimiter && *p != '\n' && *p != '\r') {
        p++;
    }
    c->at = (size_t)(p - c->block);
    TL_TRY(add_run(c, from, (size_t)(p - from), err));
    if (p == end) {
        return TL_OK;
    }
    c->at++;
    if (*p == '\r' && c->header_done && !c->lone_cr) {
        c->state = UNQUOTED_CR;
        return TL_OK;
    }
    return end_at(c, (char)*p, err);
}

/* Nothing but a line break so far. */
static bool is_blank_record(const csv *c) {
    return c->cell == 0 && !c->quoted && tl_text_cell(&c->batch, 0, c->batch.n_rows).len == 0;
}

/* Behind a CR in a field without quotes: a line break with an LF, else it belongs to the field. */
static tl_status after_field_cr(csv *c, char b, tl_error *err) {
    if (b != '\n') {
        c->state = UNQUOTED;
        return add_run(c, (const uint8_t *)"\r", 1, err);
    }
    c->at++;
    if (is_blank_record(c)) {
        c->state = RECORD_START;
        c->line++;
        return TL_OK;
    }
    return end_at(c, '\n', err);
}

static tl_status in_quoted(csv *c, tl_error *err) {
    const uint8_t *from = c->block + c->at;
    const uint8_t *quote = memchr(from, '"', c->len - c->at);
    size_t run = quote ? (size_t)(quote - from) : c->len - c->at;
    for (size_t i = 0; i < run; i++) {
        c->line += from[i] == '\n';
    }
    c->at += run + (quote != NULL);
    c->state = quote ? QUOTE : QUOTED;
    return add_run(c, from, run, err);
}

static tl_status after_quote(csv *c, tl_error *err) {
    char b = (char)c->block[c->at];
    if (b == '"') {
        c->at++;
        c->state = QUOTED;
        return add_run(c, (const uint8_t *)"\"", 1, err);
    }
    if (b == c->delimiter || b == '\n' || b == '\r') {
        c->at++;
        return end_at(c, b, err);
    }
    return bad(c, c->line, err, "text behind a closing quote; a quote inside of a quoted field is written twice");
}

/* One step; the block is not at its end. */
static tl_status step(csv *c, tl_error *err) {
    char b = (char)c->block[c->at];
    switch (c->state) {
    case AFTER_CR:
        c->lone_cr = c->lone_cr || (c->header_cr && b != '\n');
        c->header_cr = false;
        c->at += b == '\n';
        c->state = RECORD_START;
        return TL_OK;
    case RECORD_START:
        if (b == '\n' || (b == '\r' && (c->lone_cr || !c->header_done))) { /* an empty line */
            c->at++;
            c->line++;
            c->state = b == '\r' ? AFTER_CR : RECORD_START;
            return TL_OK;
        }
        c->record_line = c->line;
        c->cell = 0;
        c->quoted = false;
        c->state = CELL_START;
        return TL_OK;
    case CELL_START:
        if (b == '"') {
            c->at++;
            c->quoted = true;
            c->quote_line = c->line;
            c->state = QUOTED;
            return TL_OK;
        }
        c->state = UNQUOTED;
        return TL_OK;
    case UNQUOTED: return in_unquoted(c, err);
    case UNQUOTED_CR: return after_field_cr(c, b, err);
    case QUOTED: return in_quoted(c, err);
    default: return after_quote(c, err);
    }
}

static tl_status finish(csv *c, tl_error *err) {
    if (c->state == QUOTED) {
        return bad(c, c->quote_line, err, "a quoted field begins here and does not end");
    }
    if (c->state == UNQUOTED_CR && is_blank_record(c)) {
        c->state = RECORD_START;
        return TL_OK;
    }
    if (c->state == CELL_START || c->state == UNQUOTED || c->state == UNQUOTED_CR || c->state == QUOTE) {
        c->state = RECORD_START;
        return end_record(c, err);
    }
    return TL_OK;
}

/* Reads until the header is there, or `rows` rows are, or enough bytes, or the end. */
static tl_status read_on(csv *c, int64_t rows, tl_error *err) {
    bool header = !c->header_done;
    while (!c->end && (header ? !c->header_done : c->batch.n_rows < rows && c->batch.bytes < (32u << 20))) {
        if (c->at == c->len) {
            TL_TRY(tl_source_next(c->source, &c->block, &c->len, err));
            c->at = 0;
            if (c->len == 0) {
                c->end = true;
                return finish(c, err);
            }
        }
        TL_TRY(step(c, err));
    }
    return TL_OK;
}

static tl_status csv_schema(tl_input *self, struct ArrowSchema *out, tl_error *err) {
    csv *c = (csv *)self;
    return tl_text_schema((const char *const *)c->names, c->n, out, err);
}

static tl_status csv_next(tl_input *self, int64_t max_rows, struct ArrowArray *out, tl_error *err) {
    csv *c = (csv *)self;
    *out = (struct ArrowArray){0};
    int64_t rows = (4 << 20) / (c->n + 1); /* wide tables get smaller batches */
    rows = rows > 16384 ? 16384 : rows < 64 ? 64 : rows;
    rows = max_rows > 0 && max_rows < rows ? max_rows : rows;
    if (c->cap_lines < rows) {
        int64_t *grown = tl_realloc_array(c->lines, (size_t)rows, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, (size_t)rows * sizeof *grown);
        }
        c->lines = grown;
        c->cap_lines = rows;
    }
    TL_TRY(tl_text_batch_init(&c->batch, c->n, rows, err));
    tl_status status = read_on(c, rows, err);
    if (status == TL_OK && c->batch.n_rows > 0) {
        return tl_text_batch_take(&c->batch, out, err);
    }
    tl_text_batch_free(&c->batch);
    return status;
}

static int64_t csv_line(const tl_input *self, int64_t row) {
    const csv *c = (const csv *)self;
    return row >= 0 && row < c->cap_lines ? c->lines[row] : 0;
}

static void csv_progress(const tl_input *self, uint64_t *done, uint64_t *size) {
    tl_source_progress(((const csv *)self)->source, done, size);
}

static void csv_close(tl_input *self) {
    csv *c = (csv *)self;
    tl_source_close(c->source);
    tl_buf_free(&c->name);
    for (int32_t i = 0; i < c->n; i++) {
        tl_free(c->names[i]);
    }
    tl_free(c->names);
    tl_free(c->quoted_null);
    tl_text_batch_free(&c->batch);
    tl_free(c->lines);
    tl_free(c);
}

static const tl_input_ops csv_ops = {csv_schema, csv_next, csv_line, csv_progress, csv_close};

tl_status tl_input_open_csv(const char *path, const tl_input_options *o, char delimiter, tl_input **out,
                            tl_error *err) {
    *out = NULL;
    csv *c = tl_calloc(1, sizeof *c);
    if (!c) {
        return tl_fail_memory(err, sizeof *c);
    }
    c->base.ops = &csv_ops;
    c->delimiter = delimiter;
    c->options = o;
    c->line = 1;
    tl_status status =
        o->text ? tl_source_of_text(path, *o->text, &c->source, err) : tl_source_open(path, &c->source, err);
    if (status == TL_OK) {
        c->base.name = tl_source_name(c->source);
        status = tl_source_next(c->source, &c->block, &c->len, err);
    }
    if (status == TL_OK && c->len >= 3 && memcmp(c->block, "\xef\xbb\xbf", 3) == 0) {
        c->at = 3; /* a byte order mark, as spreadsheets write it */
    }
    if (status == TL_OK) {
        status = read_on(c, 0, err);
    }
    if (status == TL_OK && !c->header_done) {
        status = tl_fail(err, TL_INVALID, "%s: there is no header line", c->base.name);
    }
    if (status != TL_OK) {
        csv_close(&c->base);
        return status;
    }
    *out = &c->base;
    return TL_OK;
}
