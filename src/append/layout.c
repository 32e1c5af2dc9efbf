/* See layout_internal.h. Why these sizes: engines skip by row group, and a reader of one series opens one of them. */
#include "append/layout_internal.h"

#include "base/mem.h"

typedef struct planning {
    const tl_sorted *sorted;
    const tl_sources *sources;
    int32_t n_columns;
    const tl_layout_options *o;
    bool weigh; /* rows are weighed one by one: together they pass the limit */
    int32_t near;
    tl_layout *out;
} planning;

static tl_status add_group(planning *p, tl_row_group_plan group, tl_error *err) {
    tl_layout *l = p->out;
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? l->cap * 2 : 16;
        tl_row_group_plan *more = tl_realloc_array(l->groups, cap, sizeof *more);
        if (!more) {
            return tl_fail_memory(err, cap * sizeof *more);
        }
        l->groups = more;
        l->cap = cap;
    }
    l->groups[l->n++] = group;
    return TL_OK;
}

/* Bytes of one row's values in memory, nested ones by the average of their source. */
static size_t column_weight(const tl_column *c, int64_t row, int depth) {
    switch (c->kind) {
    case TL_COLUMN_BOOL: return 1;
    case TL_COLUMN_FIXED: return (size_t)c->width;
    case TL_COLUMN_BYTES:
        return 4 + (tl_column_is_null(c, row) ? 0 : (size_t)(tl_column_offset(c, row + 1) - tl_column_offset(c, row)));
    case TL_COLUMN_STRUCT:
    case TL_COLUMN_LIST: break;
    }
    size_t sum = 4;
    if (depth > 8 || tl_column_is_null(c, row)) {
        return sum;
    }
    int64_t from = c->kind == TL_COLUMN_LIST ? tl_column_offset(c, row) : row;
    int64_t to = c->kind == TL_COLUMN_LIST ? tl_column_offset(c, row + 1) : row + 1;
    for (int64_t k = 0; k < c->n_children; k++) {
        for (int64_t i = from; i < to; i++) {
            sum += column_weight(&c->children[k], i, depth + 1);
        }
    }
    return sum;
}

static size_t row_weight(planning *p, uint32_t position) {
    uint32_t row = p->sorted->rows ? p->sorted->rows[position] : position;
    p->near = tl_sources_find(p->sources, row, p->near);
    const tl_source *source = &p->sources->list[p->near];
    size_t sum = 0;
    for (int32_t c = 0; c < p->n_columns; c++) {
        sum += column_weight(&source->columns[c], row - source->base, 0);
    }
    return sum;
}

/* Rows from `from` on that the byte limit lets into one row group; at least 1, at most `n`. */
static uint32_t rows_by_weight(planning *p, uint32_t from, uint32_t n) {
    size_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += row_weight(p, from + i);
        if (sum > p->o->bytes && i > 0) {
            return i;
        }
    }
    return n;
}

/* Where a row group that begins at `from` ends: at the first series from the wanted size on that is near enough, else
 * at the last one a little before it, else in the middle of a series. */
static uint32_t wanted_end(const planning *p, uint32_t from, uint32_t end, uint32_t span, uint32_t span_end) {
    uint32_t rows = p->o->rows, most = rows + rows / 4, least = rows - rows / 4;
    if (end - from <= most) {
        return end;
    }
    uint32_t before = 0;
    for (; span < span_end; span++) {
        uint32_t begins = p->sorted->spans[span].from;
        if (begins >= from + rows) {
            if (begins <= from + most) {
                return begins;
            }
            break;
        }
        if (begins >= from + least) {
            before = begins;
        }
    }
    return before ? before : from + rows;
}

static tl_status plan_part(planning *p, uint32_t part, tl_error *err) {
    const tl_sorted_part *sp = &p->sorted->parts[part];
    uint32_t end = sp->from + sp->n, span = sp->span_from, span_end = sp->span_from + sp->n_spans;
    for (uint32_t from = sp->from; from < end;) {
        uint32_t to = wanted_end(p, from, end, span, span_end);
        if (p->weigh) {
            to = from + rows_by_weight(p, from, to - from);
        }
        while (span < span_end && p->sorted->spans[span].from + p->sorted->spans[span].n <= from) {
            span++;
        }
        uint32_t last = span;
        while (last < span_end && p->sorted->spans[last].from < to) {
            last++;
        }
        TL_TRY(add_group(p, (tl_row_group_plan){part, from, to - from, span, last - span}, err));
        span = last > span ? last - 1 : span; /* the last one may go on in the next row group */
        from = to;
    }
    return TL_OK;
}

/* Can a row group of the most rows there may be pass the byte limit at all? A bound from the widths and the longest
 * values saves the weighing of each row in all but a few appends; nested columns are weighed always. */
static bool may_be_heavy(const planning *p) {
    size_t row = 0;
    for (int32_t c = 0; c < p->n_columns; c++) {
        size_t most = 0;
        for (int32_t i = 0; i < p->sources->n; i++) {
            const tl_column *column = &p->sources->list[i].columns[c];
            if (column->kind == TL_COLUMN_STRUCT || column->kind == TL_COLUMN_LIST) {
                return true;
            }
            most = column->kind == TL_COLUMN_FIXED && (size_t)column->width > most ? (size_t)column->width : most;
            for (int64_t r = 0; column->kind == TL_COLUMN_BYTES && r < column->length; r++) {
                size_t len = (size_t)(tl_column_offset(column, r + 1) - tl_column_offset(column, r));
                most = len > most ? len : most;
            }
        }
        row += most + 4;
    }
    return row > p->o->bytes / ((size_t)p->o->rows + p->o->rows / 4 + 1);
}

tl_status tl_layout_plan(const tl_sorted *sorted, const tl_sources *sources, int32_t n_columns, size_t source_bytes,
                         const tl_layout_options *options, tl_layout *out, tl_error *err) {
    *out = (tl_layout){0};
    planning p = {.sorted = sorted, .sources = sources, .n_columns = n_columns, .o = options, .out = out};
    p.weigh = source_bytes > options->bytes && may_be_heavy(&p);
    for (uint32_t i = 0; i < sorted->n_parts; i++) {
        tl_status status = plan_part(&p, i, err);
        if (status != TL_OK) {
            tl_free(out->groups);
            *out = (tl_layout){0};
            return status;
        }
    }
    return TL_OK;
}
