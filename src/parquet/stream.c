/*
 * A file as a stream of record batches. Comes in: a reader, columns, row groups. Goes out: batches; where the texts of
 * one would not fit 32-bit offsets, or its columns the memory limit, it is halved until they do.
 */
#include <errno.h>
#include <string.h>

#include "parquet/reader_internal.h"

typedef struct stream_state {
    tl_pq_reader *r;
    int32_t *tops, n_tops;
    int32_t *groups, n_groups;
    int64_t batch_rows;
    int32_t at; /* in groups */
    bool open;  /* `batcher` reads groups[at] */
    tl_pq_batcher batcher;
    tl_error error;
} stream_state;

static int error_number(tl_status status) {
    switch (status) {
    case TL_OK: return 0;
    case TL_NO_MEMORY: return ENOMEM;
    case TL_UNSUPPORTED: return ENOTSUP;
    case TL_IO: return EIO;
    default: return EINVAL;
    }
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    stream_state *s = stream->private_data;
    return error_number(tl_pq_reader_schema(s->r, s->tops, s->n_tops, out, &s->error));
}

static void close_group(stream_state *s) {
    if (s->open) {
        tl_pq_batcher_close(&s->batcher);
        s->open = false;
    }
}

/* A batcher at row `row` of the current row group. */
static tl_status open_group(stream_state *s, int64_t row, bool part) {
    close_group(s);
    TL_TRY(tl_pq_batcher_open(s->r, s->groups[s->at], s->tops, s->n_tops, part, &s->batcher, &s->error));
    s->batcher.row = row;
    s->open = true;
    return TL_OK;
}

static int64_t group_rows(const stream_state *s) {
    return s->r->meta.row_groups[s->groups[s->at]].n_rows;
}

/* Fewer rows at once where text columns are longer than a batch can hold: saves a failed attempt. */
static int64_t rows_that_fit(const stream_state *s, int64_t rows) {
    const tl_pq_reader *r = s->r;
    const tl_pq_row_group *g = &r->meta.row_groups[s->groups[s->at]];
    for (int32_t i = 0; i < s->n_tops; i++) {
        const tl_pq_node *top = &r->tops[s->tops[i]];
        for (int32_t leaf = top->first_leaf; leaf < top->first_leaf + top->n_leaves; leaf++) {
            const tl_pq_column_chunk *c = &g->columns[leaf];
            if (c->type == TL_PQ_BYTE_ARRAY && c->uncompressed_size > INT32_MAX) {
                double fit = (double)g->n_rows / (double)c->uncompressed_size * INT32_MAX;
                rows = fit < (double)rows ? (int64_t)fit : rows;
            }
        }
    }
    return rows > 0 ? rows : 1;
}

static tl_status next_batch(stream_state *s, struct ArrowArray *out) {
    int64_t row = s->open ? s->batcher.row : 0, left = group_rows(s) - row;
    int64_t rows = s->batch_rows > 0 && s->batch_rows < left ? s->batch_rows : left;
    rows = rows_that_fit(s, rows);
    if (!s->open) {
        TL_TRY(open_group(s, 0, false));
    }
    for (;;) {
        tl_pq_row_range range = {row, rows};
        s->r->budget.too_large = false;
        tl_status status = tl_pq_batcher_read(&s->batcher, &range, 1, out, &s->error);
        if (status == TL_OK || !s->r->budget.too_large || rows < 2) {
            return status;
        }
        rows /= 2;
        s->batch_rows = rows; /* the rest is probably no shorter */
        TL_TRY(open_group(s, row, true));
    }
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    stream_state *s = stream->private_data;
    memset(out, 0, sizeof *out);
    for (; s->at < s->n_groups; s->at++) {
        if (s->open ? s->batcher.row < group_rows(s) : group_rows(s) > 0) {
            tl_status status = next_batch(s, out);
            if (status != TL_OK) {
                close_group(s);
                memset(out, 0, sizeof *out);
            } else if (s->batcher.row == group_rows(s)) {
                close_group(s);
                s->at++;
            }
            return error_number(status);
        }
        close_group(s);
    }
    return 0;
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream) {
    stream_state *s = stream->private_data;
    return s->error.message;
}

static void stream_free(stream_state *s) {
    close_group(s);
    tl_free(s->tops);
    tl_free(s->groups);
    tl_free(s);
}

static void stream_release(struct ArrowArrayStream *stream) {
    stream_free(stream->private_data);
    stream->release = NULL;
}

static tl_status pick_groups(stream_state *s, const int32_t *row_groups, int32_t n, tl_error *err) {
    n = row_groups ? n : s->r->meta.n_row_groups;
    s->groups = tl_alloc_array((size_t)(n > 0 ? n : 0), sizeof *s->groups);
    if (!s->groups) {
        return tl_fail_memory(err, (size_t)n * sizeof *s->groups);
    }
    for (int32_t i = 0; i < n; i++) {
        s->groups[i] = row_groups ? row_groups[i] : i;
        TL_TRY(tl_pq_check_row_group(s->r, s->groups[i], err));
    }
    s->n_groups = n;
    return TL_OK;
}

tl_status tl_pq_reader_stream(tl_pq_reader *r, const int32_t *tops, int32_t n_tops, const int32_t *row_groups,
                              int32_t n_row_groups, int64_t batch_rows, struct ArrowArrayStream *out, tl_error *err) {
    stream_state *s = tl_calloc(1, sizeof *s);
    if (!s) {
        return tl_fail_memory(err, sizeof *s);
    }
    s->r = r;
    s->batch_rows = batch_rows;
    tl_status status = tl_pq_pick_tops(r, tops, n_tops, &s->tops, &s->n_tops, err);
    if (status == TL_OK) {
        status = pick_groups(s, row_groups, n_row_groups, err);
    }
    if (status != TL_OK) {
        stream_free(s);
        return status;
    }
    *out = (struct ArrowArrayStream){.get_schema = stream_get_schema,
                                     .get_next = stream_get_next,
                                     .get_last_error = stream_get_last_error,
                                     .release = stream_release,
                                     .private_data = s};
    return TL_OK;
}
