/* Input files one behind the other, as the streams that appends read. See input.h. */
#include <errno.h>
#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/input.h"
#include "cli/stop.h"

struct tl_feed {
    const tl_paths *paths;
    const tl_input_options *options;
    size_t file;     /* index of the open one, or of the next */
    tl_input *input; /* NULL = the next is to be opened */
    bool file_ended;
    int64_t limit;             /* of the stream being read; 0 = one file */
    int64_t stream_rows;       /* of the stream being read */
    int64_t file_rows;         /* of the open file, those of the last batch not counted */
    int64_t last_batch;        /* rows of it */
    int64_t file_first;        /* row of the stream with which the open file begins (negative when it began before) */
    int64_t rows;              /* in all */
    uint64_t done, size;       /* bytes of the files behind us; of all */
    tl_error error;            /* of the stream */
    struct ArrowArray waiting; /* the first batch of the next stream */
    struct ArrowSchema schema; /* of the stream being read */
    size_t schema_file;        /* a file that is known to have it */
    bool ended;                /* the stream being read has no more */
    void (*watch)(void *ctx);
    void *watch_ctx;
};

tl_status tl_feed_create(const tl_paths *paths, const tl_input_options *options, tl_feed **out, tl_error *err) {
    tl_feed *f = *out = tl_calloc(1, sizeof *f);
    if (!f) {
        return tl_fail_memory(err, sizeof *f);
    }
    f->paths = paths;
    f->options = options;
    for (size_t i = 0; i < paths->n; i++) {
        struct stat st;
        bool known = strcmp(paths->paths[i], "-") != 0 && stat(paths->paths[i], &st) == 0 && S_ISREG(st.st_mode);
        f->size += known ? (uint64_t)st.st_size : 0;
    }
    return TL_OK;
}

static void close_input(tl_feed *f) {
    if (f->input) {
        uint64_t done, size;
        tl_input_progress(f->input, &done, &size);
        f->done += size ? size : done;
    }
    tl_input_close(f->input);
    f->input = NULL;
}

void tl_feed_free(tl_feed *f) {
    if (!f) {
        return;
    }
    if (f->waiting.release) {
        f->waiting.release(&f->waiting);
    }
    if (f->schema.release) {
        f->schema.release(&f->schema);
    }
    tl_input_close(f->input);
    tl_free(f);
}

void tl_feed_watch(tl_feed *f, void (*watch)(void *ctx), void *ctx) {
    f->watch = watch;
    f->watch_ctx = ctx;
}

void tl_feed_progress(const tl_feed *f, uint64_t *done, uint64_t *size, int64_t *rows) {
    uint64_t now = 0, all = 0;
    if (f->input) {
        tl_input_progress(f->input, &now, &all);
    }
    *done = f->done + now;
    *size = f->size;
    *rows = f->rows;
}

/* The next batch of the open file, or of the files after it that hold rows; `out` without release = all are read. */
static tl_status next_batch(tl_feed *f, struct ArrowArray *out, tl_error *err) {
    *out = (struct ArrowArray){0};
    while (!out->release && f->file < f->paths->n) {
        if (!f->input) {
            TL_TRY(tl_input_open(f->paths->paths[f->file], f->options, &f->input, err));
            f->file_rows = f->last_batch = 0;
            f->file_first = f->stream_rows;
        }
        f->file_rows += f->last_batch;
        f->last_batch = 0;
        int64_t room = f->limit ? f->limit - f->stream_rows : 0;
        TL_TRY(tl_input_next(f->input, room > 0 ? room : 0, out, err));
        if (!out->release) {
            close_input(f);
            f->file++;
            if (f->limit == 0) {
                return TL_OK;
            }
        }
    }
    f->last_batch = out->release ? out->length : 0;
    return TL_OK;
}

static int fail_code(tl_status status) {
    return status == TL_CANCELLED ? ECANCELED : status == TL_NO_MEMORY ? ENOMEM : status == TL_IO ? EIO : EINVAL;
}

static bool same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b) {
    if (strcmp(a->format, b->format) != 0 || a->n_children != b->n_children ||
        strcmp(a->name ? a->name : "", b->name ? b->name : "") != 0 || !a->dictionary != !b->dictionary) {
        return false;
    }
    for (int64_t i = 0; i < a->n_children; i++) {
        if (!same_schema(a->children[i], b->children[i])) {
            return false;
        }
    }
    return !a->dictionary || same_schema(a->dictionary, b->dictionary);
}

/* One stream has one schema: whether the file that a batch came from has it too. */
static tl_status fits(tl_feed *f, bool *same, tl_error *err) {
    *same = true;
    if (f->file == f->schema_file) {
        return TL_OK;
    }
    struct ArrowSchema schema = {0};
    TL_TRY(tl_input_schema(f->input, &schema, err));
    *same = same_schema(&schema, &f->schema);
    schema.release(&schema);
    if (*same) {
        f->schema_file = f->file;
    }
    return TL_OK;
}

/* The next batch of the stream being read; a file with another schema ends it before that file. */
static tl_status advance(tl_feed *f, struct ArrowArray *out, tl_error *err) {
    *out = f->waiting;
    f->waiting = (struct ArrowArray){0};
    if (!out->release && !f->ended && (f->limit == 0 || f->stream_rows < f->limit)) {
        bool same = true;
        TL_TRY(next_batch(f, out, err));
        tl_status status = out->release ? fits(f, &same, err) : TL_OK;
        if (status != TL_OK) {
            out->release(out);
            return status;
        }
        f->ended = !out->release;
        if (!same) {
            f->waiting = *out;
            *out = (struct ArrowArray){0};
            f->ended = true;
            return TL_OK;
        }
    }
    if (out->release) {
        f->stream_rows += out->length;
        f->rows += out->length;
    }
    return TL_OK;
}

static int stream_schema(struct ArrowArrayStream *self, struct ArrowSchema *out) {
    return ArrowSchemaDeepCopy(&((tl_feed *)self->private_data)->schema, out);
}

static int stream_next(struct ArrowArrayStream *self, struct ArrowArray *out) {
    tl_feed *f = self->private_data;
    if (f->watch) {
        f->watch(f->watch_ctx);
    }
    tl_status status = advance(f, out, &f->error);
    if (tl_stopped()) { /* between two batches, or the reason why there is none */
        if (out->release) {
            out->release(out);
        }
        status = tl_stop_fail(&f->error);
    }
    return status == TL_OK ? 0 : fail_code(status);
}

static const char *stream_error(struct ArrowArrayStream *self) {
    return ((tl_feed *)self->private_data)->error.message;
}

static void stream_release(struct ArrowArrayStream *self) {
    self->release = NULL;
}

tl_status tl_feed_stream(tl_feed *f, int64_t rows, struct ArrowArrayStream *out, bool *more, tl_error *err) {
    *more = false;
    f->limit = rows;
    f->stream_rows = 0;
    f->ended = false;
    f->file_first = f->waiting.release ? 0 : -(f->file_rows + f->last_batch);
    while (!f->waiting.release) {
        size_t file = f->file;
        TL_TRY(next_batch(f, &f->waiting, err));
        if (!f->waiting.release && (f->file == file || f->file >= f->paths->n)) {
            return TL_OK;
        }
    }
    if (f->schema.release) {
        f->schema.release(&f->schema);
    }
    TL_TRY(tl_input_schema(f->input, &f->schema, err));
    f->schema_file = f->file;
    *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, f};
    *more = true;
    return TL_OK;
}

tl_status tl_feed_skip(tl_feed *f, tl_error *err) {
    for (;;) {
        struct ArrowArray batch;
        if (f->ended) {
            return TL_OK;
        }
        TL_TRY(tl_stopped() ? tl_stop_fail(err) : TL_OK);
        TL_TRY(advance(f, &batch, err));
        if (!batch.release) {
            return TL_OK;
        }
        batch.release(&batch);
    }
}

void tl_feed_locate(const tl_feed *f, tl_error *err) {
    if (!f->input) {
        return;
    }
    const char *name = f->input->name;
    if (strncmp(err->message, name, strlen(name)) == 0) {
        return; /* it is told already */
    }
    char *at = strstr(err->message, "row ");
    while (at && (at[4] < '0' || at[4] > '9')) {
        at = strstr(at + 4, "row ");
    }
    if (!at) {
        tl_error_prefix(err, "%s: ", name);
        return;
    }
    char *rest;
    int64_t row = strtoll(at + 4, &rest, 10) - f->file_first; /* from 1, in the file */
    if (row < 1) {
        return; /* of an earlier file */
    }
    int64_t line = tl_input_line(f->input, row - 1 - f->file_rows);
    char *text = tl_format("%.*srow %lld%s", (int)(at - err->message), err->message, (long long)row, rest);
    if (!text) {
        return;
    }
    if (line > 0) {
        (void)tl_fail(err, TL_INVALID, "%s, line %lld: %s", name, (long long)line, text);
    } else {
        (void)tl_fail(err, TL_INVALID, "%s: %s", name, text);
    }
    tl_free(text);
}
