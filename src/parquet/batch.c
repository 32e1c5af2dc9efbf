/*
 * Batches: some columns of a row group side by side. Comes in: columns and row ranges. Goes out: struct arrays.
 */
#include <string.h>

#include "parquet/reader_internal.h"

tl_status tl_pq_pick_tops(const tl_pq_reader *r, const int32_t *tops, int32_t n_tops, int32_t **out, int32_t *n_out,
                          tl_error *err) {
    int32_t n = tops ? n_tops : r->n_tops;
    *out = NULL;
    if (n < 0) {
        return tl_fail(err, TL_INVALID, "a negative number of columns");
    }
    int32_t *picked = tl_alloc_array((size_t)n, sizeof *picked);
    if (!picked) {
        return tl_fail_memory(err, (size_t)n * sizeof *picked);
    }
    for (int32_t i = 0; i < n; i++) {
        picked[i] = tops ? tops[i] : i;
        if (picked[i] < 0 || picked[i] >= r->n_tops) {
            tl_free(picked);
            return tl_fail(err, TL_INVALID, "column %d of a file with %d columns asked for", (int)tops[i], r->n_tops);
        }
    }
    *out = picked;
    *n_out = n;
    return TL_OK;
}

tl_status tl_pq_batcher_open(tl_pq_reader *r, int32_t row_group, const int32_t *tops, int32_t n_tops, bool use_index,
                             tl_pq_batcher *out, tl_error *err) {
    *out = (tl_pq_batcher){.r = r, .row_group = row_group, .tops = tops, .n_tops = n_tops};
    size_t n = 0;
    for (int32_t i = 0; i < n_tops; i++) {
        n += (size_t)r->tops[tops[i]].n_leaves;
    }
    out->cursors = tl_alloc_array(n, sizeof *out->cursors);
    if (!out->cursors) {
        return tl_fail_memory(err, n * sizeof *out->cursors);
    }
    for (int32_t i = 0; i < n_tops; i++) {
        const tl_pq_node *top = &r->tops[tops[i]];
        for (int32_t k = 0; k < top->n_leaves; k++) {
            tl_status status =
                tl_pq_cursor_open(r, row_group, top->first_leaf + k, use_index, &out->cursors[out->n_cursors], err);
            if (status != TL_OK) {
                tl_pq_batcher_close(out);
                return status;
            }
            out->n_cursors++;
        }
    }
    return TL_OK;
}

void tl_pq_batcher_close(tl_pq_batcher *b) {
    for (int32_t i = 0; i < b->n_cursors; i++) {
        tl_pq_cursor_close(&b->cursors[i]);
    }
    tl_free(b->cursors);
    b->cursors = NULL;
    b->n_cursors = 0;
}

static tl_status read_leaf(tl_pq_cursor *c, const tl_pq_row_range *ranges, int32_t n_ranges, int64_t rows,
                           tl_pq_vector *v, tl_error *err) {
    tl_pq_cursor_vector(c, v);
    v->hint = tl_pq_cursor_hint(c, rows);
    for (int32_t i = 0; i < n_ranges; i++) {
        TL_TRY(tl_pq_cursor_skip(c, ranges[i].first - c->row, err));
        TL_TRY(tl_pq_cursor_read(c, ranges[i].count, v, err));
    }
    return TL_OK;
}

/* One top-level column; its cursors begin at `cursors`. */
static tl_status read_top(tl_pq_batcher *b, const tl_pq_node *top, tl_pq_cursor *cursors, const tl_pq_row_range *ranges,
                          int32_t n_ranges, int64_t rows, struct ArrowArray *out, tl_error *err) {
    size_t n = (size_t)top->n_leaves;
    tl_pq_vector *vectors = tl_calloc(n, sizeof *vectors);
    if (!vectors) {
        return tl_fail_memory(err, n * sizeof *vectors);
    }
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        status = read_leaf(&cursors[i], ranges, n_ranges, rows, &vectors[i], err);
    }
    if (status == TL_OK) {
        status = tl_pq_assemble(top, vectors, top->first_leaf, rows, out, err);
        if (status != TL_OK) {
            tl_pq_name_column(b->r, b->row_group, top->first_leaf, err);
        }
    }
    for (size_t i = 0; i < n; i++) {
        tl_pq_vector_free(&vectors[i]);
    }
    tl_free(vectors);
    return status;
}

static tl_status read_tops(tl_pq_batcher *b, const tl_pq_row_range *ranges, int32_t n_ranges, struct ArrowArray *out,
                           tl_error *err) {
    int64_t rows = 0;
    void *const no_buffers[3] = {0};
    for (int32_t i = 0; i < n_ranges; i++) {
        rows += ranges[i].count;
    }
    TL_TRY(tl_pq_array_make(rows, 0, 1, no_buffers, b->n_tops, out, err));
    tl_pq_cursor *cursors = b->cursors;
    for (int32_t i = 0; i < b->n_tops; i++) {
        const tl_pq_node *top = &b->r->tops[b->tops[i]];
        tl_status status = read_top(b, top, cursors, ranges, n_ranges, rows, out->children[i], err);
        if (status != TL_OK) {
            out->release(out);
            return status;
        }
        cursors += top->n_leaves;
    }
    return TL_OK;
}

tl_status tl_pq_batcher_read(tl_pq_batcher *b, const tl_pq_row_range *ranges, int32_t n_ranges, struct ArrowArray *out,
                             tl_error *err) {
    tl_pq_budget *budget = &b->r->budget;
    tl_status status = read_tops(b, ranges, n_ranges, out, err);
    budget->used -= budget->handed < budget->used ? budget->handed : budget->used;
    budget->handed = 0;
    if (status == TL_OK && n_ranges > 0) {
        b->row = ranges[n_ranges - 1].first + ranges[n_ranges - 1].count;
    }
    return status;
}
