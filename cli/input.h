/*
 * Input files as batches of rows. Comes in: paths ("-" is standard input) and how to read them. Goes out: Arrow
 * batches; text formats as text, so that values are parsed into the column's type by the append path, and nothing of
 * them is lost on the way (DESIGN 4.1).
 */
#ifndef TL_CLI_INPUT_H
#define TL_CLI_INPUT_H

#include "cli/cli.h"
#include "iceberg/types.h"

typedef enum tl_file_format {
    TL_FORMAT_NONE,
    TL_FORMAT_CSV,
    TL_FORMAT_TSV,
    TL_FORMAT_NDJSON,
    TL_FORMAT_ARROW, /* IPC, file or stream */
    TL_FORMAT_PARQUET
} tl_file_format;

typedef struct tl_input_options {
    tl_file_format format;    /* NONE = by the file's name */
    char delimiter;           /* 0 = the format's own */
    const char *const *nulls; /* texts that stand for null, besides the empty one */
    size_t n_nulls;
    const tl_schema *schema; /* of the table the rows are for; NULL = not known yet (guessing) */
    const tl_bytes *text;    /* CSV and NDJSON: the file's contents, in place of the file; NULL = read it */
} tl_input_options;

/* One open file. The functions are those of its format; use the calls below. */
typedef struct tl_input tl_input;
typedef struct tl_input_ops {
    tl_status (*schema)(tl_input *self, struct ArrowSchema *out, tl_error *err);
    tl_status (*next)(tl_input *self, int64_t max_rows, struct ArrowArray *out, tl_error *err);
    int64_t (*line)(const tl_input *self, int64_t row);
    void (*progress)(const tl_input *self, uint64_t *done, uint64_t *size);
    void (*close)(tl_input *self);
} tl_input_ops;
struct tl_input {
    const tl_input_ops *ops;
    const char *name; /* for messages */
};

/* The format that a file's name tells ("x.csv.gz", "X.PARQUET"); NONE = none of them. */
tl_file_format tl_file_format_of(const char *path);
/* By its name in --format; NONE = unknown. */
tl_file_format tl_file_format_find(const char *name);

/* Opens one file. Errors name it. Caller closes. */
tl_status tl_input_open(const char *path, const tl_input_options *options, tl_input **out, tl_error *err) TL_CHECKED;

tl_status tl_input_open_csv(const char *path, const tl_input_options *o, char delimiter, tl_input **out,
                            tl_error *err) TL_CHECKED;
tl_status tl_input_open_json(const char *path, const tl_input_options *o, tl_input **out, tl_error *err) TL_CHECKED;
tl_status tl_input_open_arrow(const char *path, tl_input **out, tl_error *err) TL_CHECKED;
tl_status tl_input_open_parquet(const char *path, tl_input **out, tl_error *err) TL_CHECKED;

static inline tl_status tl_input_schema(tl_input *in, struct ArrowSchema *out, tl_error *err) {
    return in->ops->schema(in, out, err);
}
/* The next batch, at most max_rows rows where the format can be cut (text); `out` without release = the end. */
static inline tl_status tl_input_next(tl_input *in, int64_t max_rows, struct ArrowArray *out, tl_error *err) {
    return in->ops->next(in, max_rows, out, err);
}
/* The line in which row `row` of the last batch begins, counted from 1; 0 = the format has no lines. */
static inline int64_t tl_input_line(const tl_input *in, int64_t row) {
    return in->ops->line ? in->ops->line(in, row) : 0;
}
static inline void tl_input_progress(const tl_input *in, uint64_t *done, uint64_t *size) {
    in->ops->progress(in, done, size);
}
static inline void tl_input_close(tl_input *in) {
    if (in) {
        in->ops->close(in);
    }
}

/* The files behind the operands: folders become their *.parquet files, those in x=y folders too (sorted by path, hidden
 * ones left out). Every file must be there. Caller frees with tl_paths_free. */
typedef struct tl_paths {
    char **paths;
    size_t n, cap;
} tl_paths;
tl_status tl_paths_find(const char *const *operands, size_t n, tl_paths *out, tl_error *err) TL_CHECKED;
void tl_paths_free(tl_paths *p);

/* All files one behind the other, in the order given, as streams of rows: one stream for each commit. */
typedef struct tl_feed tl_feed;
tl_status tl_feed_create(const tl_paths *paths, const tl_input_options *options, tl_feed **out,
                         tl_error *err) TL_CHECKED;
void tl_feed_free(tl_feed *f);
/* A stream of at least `rows` rows (the batch that passes them is its last), or of one file when `rows` is 0. *more
 * false = there is nothing left and no stream. The feed must outlive the stream. */
tl_status tl_feed_stream(tl_feed *f, int64_t rows, struct ArrowArrayStream *out, bool *more, tl_error *err) TL_CHECKED;
/* Reads the rest of the stream that was given last and drops it (it may be released already): the next one begins where
 * it would have. */
tl_status tl_feed_skip(tl_feed *f, tl_error *err) TL_CHECKED;
/* Rewrites the error of an append: rows are counted in their file, and file and line are named. */
void tl_feed_locate(const tl_feed *f, tl_error *err);
void tl_feed_progress(const tl_feed *f, uint64_t *done, uint64_t *size, int64_t *rows);
/* Called now and then while a stream is read (for progress); NULL = not. */
void tl_feed_watch(tl_feed *f, void (*watch)(void *ctx), void *ctx);

#endif
