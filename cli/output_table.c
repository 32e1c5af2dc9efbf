/*
 * Results as a table for people. Column widths come from the first rows, which are kept for that; what follows is
 * printed as it comes, so that memory stays bounded.
 */
#include <string.h>

#include "cli/output.h"
#include "cli/show.h"
#include "cli/utf8.h"

enum { LOOK_AHEAD = 1000 };

typedef struct table {
    const tl_shown *s;
    size_t *widths;
    bool *right;
    tl_buf cells; /* of the rows kept, one behind the other */
    size_t *ends; /* of each cell in `cells` */
    size_t n_cells;
    bool flowing; /* widths are settled, the head is printed */
    tl_buf line;
} table;

/* Characters that would break the table's lines are shown as escapes. */
static tl_status add_cell_text(tl_buf *out, const uint8_t *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        uint8_t b = text[i];
        if (b >= 0x20 && b != 0x7f) {
            TL_TRY(tl_buf_add_byte(out, b));
        } else if (b == '\n' || b == '\t' || b == '\r') {
            TL_TRY(tl_buf_add_text(out, b == '\n' ? "\\n" : b == '\t' ? "\\t" : "\\r"));
        } else {
            TL_TRY(tl_buf_printf(out, "\\x%02x", b));
        }
    }
    return TL_OK;
}

static tl_status pad(tl_buf *out, size_t n, char c) {
    TL_TRY(tl_buf_reserve(out, n));
    memset(out->data + out->len, c, n);
    out->len += n;
    return TL_OK;
}

static tl_status rule(const table *t, tl_buf *out) {
    for (int64_t i = 0; i < t->s->n; i++) {
        TL_TRY(tl_buf_add_byte(out, '+'));
        TL_TRY(pad(out, t->widths[i] + 2, '-'));
    }
    return tl_buf_add_text(out, "+\n");
}

static tl_status put_cell(const table *t, int64_t column, tl_bytes text, bool right, tl_buf *out) {
    size_t width = tl_utf8_width(text.data, text.len);
    size_t space = width < t->widths[column] ? t->widths[column] - width : 0;
    TL_TRY(tl_buf_add_text(out, column ? " | " : "| "));
    TL_TRY(right ? pad(out, space, ' ') : TL_OK);
    TL_TRY(tl_buf_add(out, text.data, text.len));
    TL_TRY(right ? TL_OK : pad(out, space, ' '));
    return column + 1 == t->s->n ? tl_buf_add_text(out, " |\n") : TL_OK;
}

static tl_status settle(table *t, tl_buf *out) {
    size_t from = 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t width = tl_utf8_width(t->cells.data + from, t->ends[i] - from);
        size_t column = i % (size_t)t->s->n;
        t->widths[column] = width > t->widths[column] ? width : t->widths[column];
        from = t->ends[i];
    }
    TL_TRY(rule(t, out));
    for (int64_t i = 0; i < t->s->n; i++) {
        TL_TRY(put_cell(t, i, tl_bytes_of(t->s->children[i].name), false, out));
    }
    TL_TRY(rule(t, out));
    from = 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        int64_t column = (int64_t)(i % (size_t)t->s->n);
        TL_TRY(put_cell(t, column, (tl_bytes){t->cells.data + from, t->ends[i] - from}, t->right[column], out));
        from = t->ends[i];
    }
    t->flowing = true;
    return TL_OK;
}

static tl_status cell(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *scratch, tl_buf *out,
                      tl_error *err) {
    if (s->type == NANOARROW_TYPE_NA || ArrowArrayViewIsNull(v, row)) {
        return tl_buf_add_text(out, "NULL");
    }
    scratch->len = 0;
    TL_TRY(tl_show(s, v, row, TL_SHOW_PLAIN, scratch, err));
    return add_cell_text(out, scratch->data, scratch->len);
}

static tl_status add_row(table *t, const struct ArrowArrayView *v, int64_t row, tl_buf *scratch, tl_buf *out,
                         tl_error *err) {
    for (int64_t i = 0; i < t->s->n; i++) {
        if (!t->flowing) {
            TL_TRY(cell(&t->s->children[i], v->children[i], row, scratch, &t->cells, err));
            t->ends[t->n_cells++] = t->cells.len;
        } else {
            t->line.len = 0;
            TL_TRY(cell(&t->s->children[i], v->children[i], row, scratch, &t->line, err));
            TL_TRY(put_cell(t, i, tl_buf_bytes(&t->line), t->right[i], out));
        }
    }
    return !t->flowing && t->n_cells >= (size_t)(LOOK_AHEAD * t->s->n) ? settle(t, out) : TL_OK;
}

static tl_status flush(tl_buf *out, FILE *to, tl_error *err) {
    size_t n = out->len ? fwrite(out->data, 1, out->len, to) : 0;
    bool whole = n == out->len;
    out->len = 0;
    return whole ? TL_OK : tl_output_flush(to, err);
}

static tl_status write_rows(table *t, struct ArrowArrayStream *stream, struct ArrowArrayView *view, FILE *to,
                            int64_t *rows, tl_buf *out, tl_buf *scratch, tl_error *err) {
    for (;;) {
        struct ArrowArray batch;
        TL_TRY(tl_output_next(stream, view, &batch, err));
        if (!batch.release) {
            break;
        }
        tl_status status = TL_OK;
        for (int64_t row = 0; status == TL_OK && row < batch.length; row++) {
            status = add_row(t, view, batch.offset + row, scratch, out, err);
            if (status == TL_OK && out->len > (1 << 16)) {
                status = flush(out, to, err);
            }
        }
        *rows += batch.length;
        batch.release(&batch);
        TL_TRY(status);
    }
    TL_TRY(t->flowing ? TL_OK : settle(t, out));
    TL_TRY(rule(t, out));
    return flush(out, to, err);
}

tl_status tl_table_write(tl_arena *arena, const tl_shown *columns, struct ArrowArrayStream *stream,
                         struct ArrowArrayView *view, FILE *to, int64_t *rows, tl_error *err) {
    size_t n = (size_t)columns->n;
    table t = {.s = columns};
    t.widths = tl_arena_array(arena, n + 1, sizeof *t.widths);
    t.right = tl_arena_array(arena, n + 1, sizeof *t.right);
    t.ends = tl_arena_array(arena, n * LOOK_AHEAD + 1, sizeof *t.ends);
    if (!t.widths || !t.right || !t.ends) {
        return tl_fail_memory(err, n * LOOK_AHEAD * sizeof *t.ends);
    }
    for (size_t i = 0; i < n; i++) {
        t.right[i] = tl_show_is_number(&columns->children[i]);
        t.widths[i] = tl_utf8_width((const uint8_t *)columns->children[i].name, strlen(columns->children[i].name));
    }
    tl_buf out = {0}, scratch = {0};
    tl_status status = write_rows(&t, stream, view, to, rows, &out, &scratch, err);
    tl_buf_free(&out);
    tl_buf_free(&scratch);
    tl_buf_free(&t.cells);
    tl_buf_free(&t.line);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, n) : status;
}
