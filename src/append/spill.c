/* See spill_internal.h. */
#include "append/spill_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "table/rows.h"

#define WAVE_BLOCKS 4 /* blocks made per thread before they are written */
#define MAX_DEPTH 64

/* What stands before a block in the file. */
typedef struct block_head {
    uint64_t bytes; /* that follow */
    uint32_t n_rows, n_spans;
} block_head;

/* ---- the file ---- */

tl_status tl_spill_run_create(const char *directory, tl_spill_run *out, tl_error *err) {
    *out = (tl_spill_run){.fd = -1};
    const char *dir = directory ? directory : getenv("TMPDIR");
    dir = dir && *dir ? dir : "/tmp";
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
        char *path = tl_format("%s/timelake-spill-XXXXXX", dir);
        if (!path) {
            return tl_fail_memory(err, strlen(dir) + 32);
        }
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) {
            (void)unlink(path); /* the descriptor keeps it */
        }
        tl_free(path);
    }
    if (fd < 0) {
        return tl_fail(err, TL_IO, "cannot make a temporary file in %s: %s", dir, strerror(errno));
    }
    out->fd = fd;
    return TL_OK;
}

void tl_spill_run_close(tl_spill_run *run) {
    if (run->fd >= 0) {
        (void)close(run->fd);
    }
    *run = (tl_spill_run){.fd = -1};
}

static tl_status write_all(tl_spill_run *run, const uint8_t *data, size_t len, tl_error *err) {
    while (len > 0) {
        ssize_t n = pwrite(run->fd, data, len, (off_t)run->size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return tl_fail(err, TL_IO,
                           "writing sorted rows to a temporary file: %s; free space in TMPDIR or raise "
                           "memory-limit",
                           n < 0 ? strerror(errno) : "nothing was written");
        }
        data += n;
        len -= (size_t)n;
        run->size += (uint64_t)n;
    }
    return TL_OK;
}

static tl_status read_all(tl_spill_run *run, uint8_t *data, size_t len, tl_error *err) {
    while (len > 0) {
        ssize_t n = pread(run->fd, data, len, (off_t)run->read);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return tl_fail(err, TL_IO, "reading sorted rows from a temporary file: %s",
                           n < 0 ? strerror(errno) : "it is cut short");
        }
        data += n;
        len -= (size_t)n;
        run->read += (uint64_t)n;
    }
    return TL_OK;
}

/* ---- blocks out ---- */

/* Every buffer begins at a multiple of 8, so that it can be used where it stands. */
static tl_status put(tl_buf *out, const void *data, size_t len) {
    static const uint8_t zeroes[8];
    TL_TRY(tl_buf_add(out, data, len));
    return tl_buf_add(out, zeroes, (8 - len % 8) % 8);
}

/* A gathered column: validity, then what its kind has. Depth is that of the schema, which gathering has bounded. */
static tl_status put_column(tl_buf *out, const tl_column *c) {
    size_t bits = (size_t)(c->length + 7) / 8, n = (size_t)c->length;
    uint64_t head[2] = {n, c->validity ? 1 : 0};
    TL_TRY(put(out, head, sizeof head));
    if (c->validity) {
        TL_TRY(put(out, c->validity, bits));
    }
    switch (c->kind) {
    case TL_COLUMN_BOOL: return put(out, c->values, bits);
    case TL_COLUMN_FIXED: return put(out, c->values, n * (size_t)c->width);
    case TL_COLUMN_BYTES:
        TL_TRY(put(out, c->offsets64, (n + 1) * sizeof *c->offsets64));
        return put(out, c->data, (size_t)c->offsets64[n]);
    case TL_COLUMN_LIST: TL_TRY(put(out, c->offsets64, (n + 1) * sizeof *c->offsets64)); break;
    case TL_COLUMN_STRUCT: break;
    }
    for (int64_t i = 0; i < c->n_children; i++) {
        TL_TRY(put_column(out, &c->children[i]));
    }
    return TL_OK;
}

typedef struct spilling {
    const tl_sources *sources;
    const tl_column **columns; /* per source */
    int32_t n_columns;
    const tl_sorted *sorted;
    const struct block_plan *blocks;
    tl_buf *out; /* per block of the wave */
} spilling;

/* Rows [from, from + n) of the sorted order, within part `part`, spans from `span` on. */
typedef struct block_plan {
    uint32_t part, from, n, span;
} block_plan;

static tl_status put_spans(const spilling *s, const block_plan *b, tl_buf *out, uint32_t *n_spans) {
    *n_spans = 0;
    uint32_t end = b->from + b->n;
    for (uint32_t i = b->span; i < s->sorted->n_spans && s->sorted->spans[i].from < end; i++) {
        const tl_span *span = &s->sorted->spans[i];
        uint32_t from = span->from > b->from ? span->from : b->from;
        uint32_t to = span->from + span->n < end ? span->from + span->n : end;
        tl_spill_span entry = {s->sorted->parts[b->part].value, span->series, to - from};
        TL_TRY(tl_buf_add(out, &entry, sizeof entry));
        (*n_spans)++;
    }
    static const uint8_t zeroes[8];
    return tl_buf_add(out, zeroes, (8 - *n_spans * sizeof(tl_spill_span) % 8) % 8);
}

static tl_status fill_block(const spilling *s, const block_plan *b, tl_buf *out, tl_error *err) {
    tl_pick *picks = tl_alloc_array(b->n, sizeof *picks);
    if (!picks) {
        return tl_fail_memory(err, b->n * sizeof *picks);
    }
    int32_t near = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t row = s->sorted->rows[b->from + i];
        near = tl_sources_find(s->sources, row, near);
        picks[i] = (tl_pick){(uint32_t)near, row - s->sources->list[near].base};
    }
    tl_rows rows = {0};
    tl_status status = tl_rows_pick(s->columns, (uint32_t)s->sources->n, s->n_columns, picks, b->n, &rows, err);
    tl_free(picks);
    TL_TRY(status);
    block_head head = {.n_rows = b->n};
    status = put(out, &head, sizeof head);
    status = status == TL_OK ? put_spans(s, b, out, &head.n_spans) : status;
    status = status == TL_OK ? put(out, s->sorted->times + b->from, b->n * sizeof *s->sorted->times) : status;
    for (int32_t c = 0; c < s->n_columns && status == TL_OK; c++) {
        status = put_column(out, &rows.columns[c]);
    }
    tl_rows_free(&rows);
    if (status != TL_OK) {
        return tl_fail_memory(err, out->len);
    }
    head.bytes = out->len - sizeof head;
    memcpy(out->data, &head, sizeof head);
    return TL_OK;
}

static tl_status block_task(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    spilling *s = ctx;
    s->out[i].len = 0;
    return fill_block(s, &s->blocks[i], &s->out[i], err);
}

/* The blocks of the whole order; `out` NULL only counts. */
static size_t plan_blocks(const tl_sorted *sorted, uint32_t block_rows, block_plan *out) {
    size_t n = 0;
    for (uint32_t p = 0; p < sorted->n_parts; p++) {
        const tl_sorted_part *part = &sorted->parts[p];
        uint32_t span = part->span_from, end = part->from + part->n;
        for (uint32_t from = part->from; from < end; from += block_rows) {
            while (sorted->spans[span].from + sorted->spans[span].n <= from) {
                span++;
            }
            if (out) {
                out[n] = (block_plan){p, from, end - from < block_rows ? end - from : block_rows, span};
            }
            n++;
        }
    }
    return n;
}

static tl_status write_blocks(spilling *s, tl_spill_run *run, block_plan *blocks, size_t n_blocks, tl_pool *pool,
                              tl_error *err) {
    size_t wave = (size_t)tl_pool_threads(pool) * WAVE_BLOCKS;
    s->out = tl_calloc(wave, sizeof *s->out);
    if (!s->out) {
        return tl_fail_memory(err, wave * sizeof *s->out);
    }
    tl_status status = TL_OK;
    for (size_t from = 0; from < n_blocks && status == TL_OK; from += wave) {
        size_t n = n_blocks - from < wave ? n_blocks - from : wave;
        s->blocks = blocks + from;
        status = tl_pool_run(pool, n, block_task, s, err);
        for (size_t i = 0; i < n && status == TL_OK; i++) {
            status = write_all(run, s->out[i].data, s->out[i].len, err);
        }
    }
    for (size_t i = 0; i < wave; i++) {
        tl_buf_free(&s->out[i]);
    }
    tl_free(s->out);
    return status;
}

tl_status tl_spill_run_write(tl_spill_run *run, const tl_sources *sources, int32_t n_columns, const tl_sorted *sorted,
                             uint32_t block_rows, tl_pool *pool, tl_error *err) {
    size_t n_blocks = plan_blocks(sorted, block_rows, NULL);
    block_plan *blocks = tl_alloc_array(n_blocks, sizeof *blocks);
    const tl_column **columns = tl_alloc_array((size_t)sources->n, sizeof *columns);
    if (!blocks || !columns) {
        tl_free(blocks);
        tl_free(columns);
        return tl_fail_memory(err, n_blocks * sizeof *blocks);
    }
    (void)plan_blocks(sorted, block_rows, blocks);
    for (int32_t i = 0; i < sources->n; i++) {
        columns[i] = sources->list[i].columns;
    }
    spilling s = {.sources = sources, .columns = columns, .n_columns = n_columns, .sorted = sorted};
    tl_status status = write_blocks(&s, run, blocks, n_blocks, pool, err);
    tl_free(columns);
    tl_free(blocks);
    run->n_rows += sorted->n_rows;
    return status;
}

/* ---- blocks in ---- */

typedef struct block_reading {
    const uint8_t *at, *end;
    tl_arena *arena;
    tl_error *err;
} block_reading;

static tl_status take(block_reading *r, size_t len, const void **out) {
    size_t padded;
    if (!tl_size_add(len, (8 - len % 8) % 8, &padded) || padded > (size_t)(r->end - r->at)) {
        return tl_fail(r->err, TL_CORRUPT, "a temporary file of sorted rows is damaged");
    }
    *out = r->at;
    r->at += padded;
    return TL_OK;
}

static tl_status take_array(block_reading *r, size_t n, size_t width, const void **out) {
    size_t len;
    if (!tl_size_mul(n, width, &len)) {
        return tl_fail(r->err, TL_CORRUPT, "a temporary file of sorted rows is damaged");
    }
    return take(r, len, out);
}

static int32_t fixed_width(const tl_type *t) {
    switch (t->id) {
    case TL_TYPE_INT:
    case TL_TYPE_FLOAT:
    case TL_TYPE_DATE: return 4;
    case TL_TYPE_DECIMAL:
    case TL_TYPE_UUID: return 16;
    case TL_TYPE_FIXED: return t->length;
    default: return 8;
    }
}

static tl_status take_column(block_reading *r, const tl_type *type, int depth, tl_column *out);

static tl_status take_children(block_reading *r, const tl_field *fields, int32_t n, int depth, tl_column *out) {
    out->children = tl_arena_array(r->arena, (size_t)n, sizeof *out->children);
    if (!out->children) {
        return tl_fail_memory(r->err, (size_t)n * sizeof *out->children);
    }
    out->n_children = n;
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(take_column(r, &fields[i].type, depth + 1, &out->children[i]));
    }
    return TL_OK;
}

static tl_status take_offsets(block_reading *r, tl_column *out, const void **p) {
    TL_TRY(take_array(r, (size_t)out->length + 1, sizeof *out->offsets64, p));
    out->offsets64 = *p;
    return TL_OK;
}

static tl_status take_column(block_reading *r, const tl_type *type, int depth, tl_column *out) {
    const void *p = NULL;
    TL_TRY(take(r, 2 * sizeof(uint64_t), &p));
    uint64_t n = tl_load_u64(p), has_validity = tl_load_u64((const uint8_t *)p + 8);
    if (n > INT64_MAX / 16 || depth > MAX_DEPTH) {
        return tl_fail(r->err, TL_CORRUPT, "a temporary file of sorted rows is damaged");
    }
    *out = (tl_column){.length = (int64_t)n};
    size_t bits = ((size_t)n + 7) / 8;
    if (has_validity) {
        TL_TRY(take(r, bits, &p));
        out->validity = p;
    }
    switch (type->id) {
    case TL_TYPE_BOOLEAN:
        out->kind = TL_COLUMN_BOOL;
        TL_TRY(take(r, bits, &p));
        out->values = p;
        return TL_OK;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY:
        out->kind = TL_COLUMN_BYTES;
        TL_TRY(take_offsets(r, out, &p));
        TL_TRY(take(r, (size_t)out->offsets64[n], &p));
        out->data = p;
        return TL_OK;
    case TL_TYPE_STRUCT:
        out->kind = TL_COLUMN_STRUCT;
        return take_children(r, type->fields, type->n_fields, depth, out);
    case TL_TYPE_LIST:
        out->kind = TL_COLUMN_LIST;
        TL_TRY(take_offsets(r, out, &p));
        return take_children(r, type->fields, 1, depth, out);
    case TL_TYPE_MAP: {
        tl_field entries = {.type = {.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = type->fields}};
        out->kind = TL_COLUMN_LIST;
        TL_TRY(take_offsets(r, out, &p));
        return take_children(r, &entries, 1, depth, out);
    }
    default:
        out->kind = TL_COLUMN_FIXED;
        out->width = fixed_width(type);
        TL_TRY(take_array(r, (size_t)n, (size_t)out->width, &p));
        out->values = p;
        return TL_OK;
    }
}

void tl_spill_block_free(tl_spill_block *block) {
    tl_free(block->bytes);
    tl_arena_free(&block->arena);
    *block = (tl_spill_block){0};
}

static tl_status parse_block(tl_spill_block *b, const block_head *head, const tl_schema *schema, tl_error *err) {
    block_reading r = {b->bytes, b->bytes + head->bytes, &b->arena, err};
    const void *p = NULL;
    TL_TRY(take_array(&r, head->n_spans, sizeof(tl_spill_span), &p));
    b->spans = p;
    TL_TRY(take_array(&r, head->n_rows, sizeof(int64_t), &p));
    b->times = p;
    b->n_rows = head->n_rows;
    b->n_spans = head->n_spans;
    b->columns = tl_arena_array(&b->arena, (size_t)schema->n_fields, sizeof *b->columns);
    if (!b->columns) {
        return tl_fail_memory(err, (size_t)schema->n_fields * sizeof *b->columns);
    }
    for (int32_t c = 0; c < schema->n_fields; c++) {
        TL_TRY(take_column(&r, &schema->fields[c].type, 0, &b->columns[c]));
    }
    return TL_OK;
}

tl_status tl_spill_run_next(tl_spill_run *run, const tl_schema *schema, tl_spill_block *out, bool *has, tl_error *err) {
    *out = (tl_spill_block){0};
    *has = run->read < run->size;
    if (!*has) {
        return TL_OK;
    }
    block_head head;
    TL_TRY(read_all(run, (uint8_t *)&head, sizeof head, err));
    if (head.bytes > run->size - run->read) {
        return tl_fail(err, TL_CORRUPT, "a temporary file of sorted rows is damaged");
    }
    out->bytes = tl_alloc_aligned(head.bytes);
    if (!out->bytes) {
        return tl_fail_memory(err, head.bytes);
    }
    tl_status status = read_all(run, out->bytes, head.bytes, err);
    if (status == TL_OK) {
        status = parse_block(out, &head, schema, err);
    }
    if (status != TL_OK) {
        tl_spill_block_free(out);
    }
    return status;
}
