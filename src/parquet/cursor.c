/*
 * Cursors: one leaf of one row group, row by row. Comes in: how many rows to skip or to read. Goes out: slots and
 * levels appended to a vector. Whole pages are decoded straight into it; a page that is needed in part is decoded once
 * and handed out piece by piece.
 */
#include <string.h>

#include "parquet/reader_internal.h"

#define HINT_BYTES ((int64_t)8 << 20)

void tl_pq_cursor_vector(const tl_pq_cursor *c, tl_pq_vector *out) {
    const tl_pq_schema_element *e = &c->r->meta.schema[c->r->leaves[c->leaf].element];
    static const int32_t widths[] = {1, 4, 8, 12, 4, 8, 0, 0};
    *out = (tl_pq_vector){.type = e->type,
                          .width = e->type == TL_PQ_FIXED ? e->type_length : widths[e->type],
                          .max_def = c->max_def,
                          .max_rep = c->max_rep,
                          .anc_def = c->page.anc_def,
                          .keep_levels = c->page.keep_levels,
                          .budget = &c->r->budget};
}

int64_t tl_pq_cursor_hint(const tl_pq_cursor *c, int64_t rows) {
    int64_t width = c->page.type == TL_PQ_BYTE_ARRAY ? 4 : c->page.width ? c->page.width : 1;
    int64_t most = HINT_BYTES, more;
    if (tl_i64_mul(c->chunk->compressed_size, 32, &more) && tl_i64_add(most, more, &more)) {
        most = more;
    }
    most /= width;
    if (c->max_rep == 0 || c->n_rows == 0) {
        return rows < most ? rows : most;
    }
    double entries = (double)rows / (double)c->n_rows * (double)c->chunk->n_values;
    return entries < (double)most ? (int64_t)entries : most;
}

/* An offset index that contradicts the chunk is not used. */
static bool index_usable(const tl_pq_cursor *c, const tl_pq_offset_index *index, uint64_t start) {
    int64_t row = 0;
    uint64_t at = start;
    for (int32_t i = 0; i < index->n_pages; i++) {
        const tl_pq_page_location *p = &index->pages[i];
        if (p->offset < 0 || (uint64_t)p->offset < at || p->compressed_size <= 0 ||
            (uint64_t)p->offset + (uint64_t)p->compressed_size > c->end || p->first_row < row ||
            p->first_row > c->n_rows || (i == 0 && p->first_row != 0)) {
            return false;
        }
        row = p->first_row;
        at = (uint64_t)p->offset + (uint64_t)p->compressed_size;
    }
    return index->n_pages > 0;
}

static tl_status check_chunk(const tl_pq_cursor *c, uint64_t *start, tl_error *err) {
    const tl_pq_column_chunk *k = c->chunk;
    const tl_pq_schema_element *e = &c->r->meta.schema[c->r->leaves[c->leaf].element];
    if (k->encrypted || !k->has_meta) {
        return k->encrypted ? tl_fail(err, TL_UNSUPPORTED, "encrypted columns are not supported")
                            : tl_fail(err, TL_CORRUPT, "the column chunk has no metadata");
    }
    if (k->file_path && *k->file_path) {
        return tl_fail(err, TL_UNSUPPORTED, "column chunks in other files (file_path) are not supported");
    }
    if (k->type != e->type) {
        return tl_fail(err, TL_CORRUPT, "the column chunk has another physical type than the schema");
    }
    if (k->codec == TL_PQ_LZO) {
        return tl_fail(err, TL_UNSUPPORTED, "LZO compression is not supported");
    }
    if (k->codec < TL_PQ_UNCOMPRESSED || k->codec > TL_PQ_LZ4_RAW) {
        return tl_fail(err, TL_UNSUPPORTED, "compression codec number %d is not known", (int)k->codec);
    }
    if (k->n_values < c->n_rows || (c->max_rep == 0 && k->n_values != c->n_rows)) {
        return tl_fail(err, TL_CORRUPT, "the column chunk has %lld values for %lld rows", (long long)k->n_values,
                       (long long)c->n_rows);
    }
    int64_t from = k->data_page_offset;
    if (k->dictionary_page_offset > 0 && k->dictionary_page_offset < from) {
        from = k->dictionary_page_offset;
    }
    if (from < 0 || k->compressed_size < 0 || (uint64_t)from > c->r->source.size ||
        (uint64_t)k->compressed_size > c->r->source.size - (uint64_t)from) {
        return tl_fail(err, TL_CORRUPT, "the column chunk lies outside the file");
    }
    *start = (uint64_t)from;
    return TL_OK;
}

static tl_status open_checked(tl_pq_cursor *c, bool use_index, tl_error *err) {
    uint64_t start = 0;
    TL_TRY(check_chunk(c, &start, err));
    c->at = start;
    /* Old parquet-mr did not count the dictionary page's header in the size (PARQUET-816). */
    uint64_t end = start + (uint64_t)c->chunk->compressed_size;
    c->end = c->r->source.size - end > 100 ? end + 100 : c->r->source.size;
    c->want_end = c->end;
    c->values_left = c->chunk->n_values;
    if (!use_index) {
        return TL_OK;
    }
    bool has;
    tl_pq_offset_index index;
    TL_TRY(tl_pq_reader_offset_index(c->r, c->row_group, c->leaf, &index, &has, err));
    if (has && index_usable(c, &index, start)) {
        c->want_end = (uint64_t)index.pages[0].offset;
        if (c->want_end > c->at) { /* a dictionary comes first */
            uint64_t end_was = c->end;
            c->end = c->want_end;
            TL_TRY(tl_pq_page_dictionary(c, err));
            c->end = end_was;
        }
        c->index = index;
    }
    return TL_OK;
}

tl_status tl_pq_cursor_open(tl_pq_reader *r, int32_t row_group, int32_t leaf, bool use_index, tl_pq_cursor *out,
                            tl_error *err) {
    const tl_pq_leaf *l = &r->leaves[leaf];
    *out = (tl_pq_cursor){.r = r,
                          .row_group = row_group,
                          .leaf = leaf,
                          .chunk = &r->meta.row_groups[row_group].columns[leaf],
                          .max_def = l->max_def,
                          .max_rep = l->max_rep,
                          .n_rows = r->meta.row_groups[row_group].n_rows};
    const tl_pq_node *top = &r->tops[l->top];
    bool flat = top->kind == TL_PQ_NODE_LEAF;
    out->flat_optional = flat && l->max_def == 1;
    out->page.anc_def = r->leaf_anc[leaf];
    out->page.keep_levels = !flat;
    tl_pq_cursor_vector(out, &out->page);
    out->indices = out->page;
    out->indices.type = TL_PQ_INT32;
    out->indices.width = 4;
    out->indices.indices = true;
    tl_status status = open_checked(out, use_index, err);
    if (status != TL_OK) {
        tl_pq_name_column(r, row_group, leaf, err);
        tl_pq_cursor_close(out);
    }
    return status;
}

void tl_pq_cursor_close(tl_pq_cursor *c) {
    tl_pq_vector_free(&c->dict);
    tl_pq_vector_free(&c->page);
    tl_pq_vector_free(&c->indices);
    tl_free(c->owned);
    c->owned = NULL;
    c->window_len = 0;
}

/* ---- moving ---- */

static bool at_end(const tl_pq_cursor *c) {
    return c->index.n_pages ? c->page_no >= c->index.n_pages : c->values_left == 0;
}

/* The page that holds `row`. */
static int32_t page_of(const tl_pq_offset_index *index, int64_t row) {
    int32_t low = 0, high = index->n_pages - 1;
    while (low < high) {
        int32_t mid = low + (high - low + 1) / 2;
        if (index->pages[mid].first_row <= row) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low;
}

/* By the index: bytes up to the page of the last row will be needed. */
static void plan_window(tl_pq_cursor *c, int64_t rows) {
    if (c->index.n_pages && rows > 0) {
        const tl_pq_page_location *p = &c->index.pages[page_of(&c->index, c->row + rows - 1)];
        c->want_end = (uint64_t)p->offset + (uint64_t)p->compressed_size;
    }
}

static tl_pq_vector *current(tl_pq_cursor *c) {
    return c->indexed ? &c->indices : &c->page;
}

/* Decodes a page that will be handed out in pieces. */
static tl_status keep_page(tl_pq_cursor *c, const tl_pq_page *page, tl_error *err) {
    c->indexed = c->page.type == TL_PQ_BYTE_ARRAY && tl_pq_page_indexed(page);
    tl_pq_vector_clear(current(c));
    c->page_slot = c->page_level = 0;
    return tl_pq_page_decode(c, page, current(c), err);
}

static void drop_page(tl_pq_cursor *c) {
    tl_pq_vector_clear(current(c));
    c->page_slot = c->page_level = 0;
}

static tl_status load_page(tl_pq_cursor *c, tl_error *err) {
    tl_pq_page page;
    drop_page(c);
    TL_TRY(tl_pq_page_next(c, &page, err));
    return keep_page(c, &page, err);
}

static tl_status check_page_rows(const tl_pq_cursor *c, int64_t rows, tl_error *err) {
    return c->page_rows_known && rows != c->page_rows
               ? tl_fail(err, TL_CORRUPT, "the offset index gives a page %lld rows, it has %lld",
                         (long long)c->page_rows, (long long)rows)
               : TL_OK;
}

/* ---- flat columns: a row is a level is a slot ---- */

static tl_status read_flat(tl_pq_cursor *c, int64_t rows, tl_pq_vector *out, tl_error *err) {
    while (rows > 0) {
        int64_t have = current(c)->n - c->page_slot;
        if (have > 0) {
            int64_t n = have < rows ? have : rows;
            TL_TRY(tl_pq_vector_append(out, current(c), &c->dict, c->page_slot, n, c->page_slot, n, err));
            c->page_slot += n;
            c->row += n;
            rows -= n;
            continue;
        }
        tl_pq_page page;
        TL_TRY(tl_pq_page_next(c, &page, err));
        TL_TRY(check_page_rows(c, page.n_values, err));
        if (page.n_values <= rows) {
            TL_TRY(tl_pq_page_decode(c, &page, out, err));
            c->row += page.n_values;
            rows -= page.n_values;
        } else {
            TL_TRY(keep_page(c, &page, err));
        }
    }
    return TL_OK;
}

/* Moves past the current page when the rows to skip reach its end; true when it did. */
static tl_status pass_page(tl_pq_cursor *c, int64_t rows, int64_t *passed, tl_error *err) {
    tl_pq_page_header h;
    size_t used;
    *passed = 0;
    if (c->index.n_pages) {
        int32_t target = page_of(&c->index, c->row + rows);
        if (target > c->page_no && c->index.pages[target].first_row > c->row) {
            *passed = c->index.pages[target].first_row - c->row;
            c->page_no = target;
            c->row += *passed;
        }
        return TL_OK;
    }
    TL_TRY(tl_pq_page_dictionary(c, err));
    TL_TRY(tl_pq_page_peek(c, &h, &used, err));
    bool known = c->max_rep == 0 || h.type == TL_PQ_DATA_PAGE_V2;
    int64_t n = c->max_rep == 0 ? h.n_values : h.n_rows;
    if (known && n > 0 && n <= rows && h.n_values <= c->values_left) {
        tl_pq_page_pass(c, &h, used);
        c->row += n;
        *passed = n;
    }
    return TL_OK;
}

static tl_status skip_flat(tl_pq_cursor *c, int64_t rows, tl_error *err) {
    while (rows > 0) {
        int64_t have = current(c)->n - c->page_slot, passed = 0;
        if (have > 0) {
            int64_t n = have < rows ? have : rows;
            c->page_slot += n;
            c->row += n;
            rows -= n;
            continue;
        }
        TL_TRY(pass_page(c, rows, &passed, err));
        rows -= passed;
        if (rows > 0 && passed == 0) {
            TL_TRY(load_page(c, err));
            TL_TRY(check_page_rows(c, current(c)->n, err));
        }
    }
    return TL_OK;
}

/* ---- repeated columns: a row begins where the repetition level is 0 ---- */

static int64_t count_rows(const uint8_t *rep, int64_t n) {
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++) {
        rows += rep[i] == 0;
    }
    return rows;
}

/* All rows that are left, page by page straight into `out`. */
static tl_status read_rest(tl_pq_cursor *c, int64_t rows, tl_pq_vector *out, tl_error *err) {
    int64_t from = out->n_levels;
    while (!at_end(c)) {
        tl_pq_page page;
        TL_TRY(tl_pq_page_next(c, &page, err));
        TL_TRY(tl_pq_page_decode(c, &page, out, err));
    }
    int64_t found = count_rows(out->rep + from, out->n_levels - from);
    if (out->n_levels > from && out->rep[from] != 0) {
        return tl_fail(err, TL_CORRUPT, "the first row begins in the middle: its repetition level is not 0");
    }
    if (found != rows) {
        return tl_fail(err, TL_CORRUPT, "the levels make %lld rows where %lld should be", (long long)found,
                       (long long)rows);
    }
    c->row += rows;
    return TL_OK;
}

/* Level entries of the current page up to the beginning of the row after `*done` has come to `rows`. */
static int64_t scan_rows(tl_pq_cursor *c, int64_t rows, int64_t *done, int64_t *slots) {
    const tl_pq_vector *p = current(c);
    int64_t i = c->page_level;
    *slots = 0;
    for (; i < p->n_levels; i++) {
        if (p->rep[i] == 0) {
            if (*done == rows) {
                break;
            }
            ++*done;
        }
        *slots += p->def[i] >= p->anc_def;
    }
    return i - c->page_level;
}

/* `out` NULL skips. */
static tl_status move_repeated(tl_pq_cursor *c, int64_t rows, tl_pq_vector *out, tl_error *err) {
    int64_t done = 0;
    bool whole = false; /* the page read last ends with a row */
    for (;;) {
        int64_t slots, before = done;
        const tl_pq_vector *p = current(c);
        if (done == 0 && c->page_level < p->n_levels && p->rep[c->page_level] != 0) {
            return tl_fail(err, TL_CORRUPT, "a row begins in the middle: its repetition level is not 0");
        }
        int64_t levels = scan_rows(c, rows, &done, &slots);
        if (out) {
            TL_TRY(tl_pq_vector_append(out, p, &c->dict, c->page_slot, slots, c->page_level, levels, err));
        }
        c->page_slot += slots;
        c->page_level += levels;
        c->row += done - before;
        if (c->page_level < p->n_levels || (done == rows && (whole || at_end(c)))) {
            return TL_OK;
        }
        if (at_end(c)) {
            return tl_fail(err, TL_CORRUPT, "the pages end before the rows do");
        }
        if (!out && done < rows) {
            int64_t passed;
            TL_TRY(pass_page(c, rows - done, &passed, err));
            done += passed;
            if (passed > 0) {
                whole = true;
                continue;
            }
        }
        TL_TRY(load_page(c, err));
        TL_TRY(check_page_rows(c, count_rows(current(c)->rep, current(c)->n_levels), err));
        whole = c->page_rows_known;
    }
}

tl_status tl_pq_cursor_skip(tl_pq_cursor *c, int64_t rows, tl_error *err) {
    if (rows <= 0) {
        return TL_OK;
    }
    if (rows > c->n_rows - c->row) {
        return tl_fail(err, TL_INTERNAL, "rows beyond the row group asked for");
    }
    tl_status status = c->max_rep == 0 ? skip_flat(c, rows, err) : move_repeated(c, rows, NULL, err);
    if (status != TL_OK) {
        tl_pq_name_column(c->r, c->row_group, c->leaf, err);
    }
    return status;
}

tl_status tl_pq_cursor_read(tl_pq_cursor *c, int64_t rows, tl_pq_vector *out, tl_error *err) {
    if (rows <= 0) {
        return TL_OK;
    }
    if (rows > c->n_rows - c->row) {
        return tl_fail(err, TL_INTERNAL, "rows beyond the row group asked for");
    }
    plan_window(c, rows);
    tl_status status;
    if (c->max_rep == 0) {
        status = read_flat(c, rows, out, err);
    } else if (rows == c->n_rows - c->row && c->page_level == current(c)->n_levels) {
        status = read_rest(c, rows, out, err);
    } else {
        status = move_repeated(c, rows, out, err);
    }
    if (status != TL_OK) {
        tl_pq_name_column(c->r, c->row_group, c->leaf, err);
    }
    return status;
}
