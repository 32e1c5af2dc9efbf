/*
 * Number columns for those who look for keys. Comes in: a flat INT64 or INT32 leaf of a row group. Goes out: its
 * numbers in the caller's memory, or as few steps where they come evenly.
 */
#include "parquet/reader_internal.h"

/* Numbers are taken as steps when there is at most one for so many of them. */
#define NUMBERS_A_STEP 8
#define STEPS_ALWAYS 64

static void put_validity(const tl_pq_vector *v, uint8_t *validity) {
    if (v->n == 0) {
        return;
    }
    validity[(v->n - 1) / 8] = 0; /* bits behind the last row */
    if (v->has_validity) {
        tl_pq_bits_copy(validity, 0, v->validity, 0, v->n);
    } else {
        tl_pq_bits_fill(validity, 0, v->n, true);
    }
}

/* Numbers that go straight into `out`. */
static void vector_over(const tl_pq_cursor *c, int64_t *out, tl_pq_vector *v) {
    tl_pq_cursor_vector(c, v);
    v->values = (uint8_t *)out;
    v->external = true;
    v->cap = c->n_rows;
}

static void finish(const tl_pq_vector *v, uint8_t *validity, int64_t *n_nulls) {
    *n_nulls = v->n_nulls;
    if (validity) {
        put_validity(v, validity);
    }
}

static tl_status read_narrow(tl_pq_cursor *c, int64_t *out, tl_pq_vector *v, tl_error *err) {
    tl_pq_cursor_vector(c, v);
    v->hint = tl_pq_cursor_hint(c, c->n_rows);
    TL_TRY(tl_pq_cursor_read(c, c->n_rows, v, err));
    for (int64_t i = 0; i < v->n; i++) {
        out[i] = tl_load_i32(v->values + i * 4);
    }
    return TL_OK;
}

tl_status tl_pq_reader_int64(tl_pq_reader *r, int32_t row_group, int32_t leaf, int64_t *out, uint8_t *validity,
                             int64_t *n_nulls, tl_error *err) {
    *n_nulls = 0;
    TL_TRY(tl_pq_check_flat(r, row_group, leaf, err));
    tl_pq_cursor c;
    TL_TRY(tl_pq_cursor_open(r, row_group, leaf, false, &c, err));
    tl_pq_vector v = {0};
    tl_status status;
    if (c.page.type == TL_PQ_INT64) {
        vector_over(&c, out, &v);
        status = tl_pq_cursor_read(&c, c.n_rows, &v, err);
    } else if (c.page.type == TL_PQ_INT32) {
        status = read_narrow(&c, out, &v, err);
    } else {
        status = tl_fail(err, TL_INVALID, "column %d is neither INT64 nor INT32", leaf);
    }
    if (status == TL_OK) {
        finish(&v, validity, n_nulls);
    }
    tl_pq_vector_free(&v);
    tl_pq_cursor_close(&c);
    return status;
}

/* ---- steps ---- */

void tl_pq_steps_free(tl_pq_steps *s) {
    tl_free(s->items);
    *s = (tl_pq_steps){0};
}

/* Does the page hold a number for each row? Unsaid where that takes more than a look. */
static bool all_present(const tl_pq_cursor *c, const tl_pq_page *page) {
    if (c->max_def == 0) {
        return true;
    }
    tl_pq_rle rle = {page->def.data, page->def.data + page->def.len, tl_pq_level_width(c->max_def)};
    tl_pq_run run;
    return page->header.def_encoding == TL_PQ_RLE && page->n_values > 0 && tl_pq_rle_next(&rle, page->n_values, &run) &&
           !run.packed && run.count == page->n_values && run.value == (uint32_t)c->max_def;
}

/* The first `n` numbers of steps that turned out to be too many. */
static void write_out(const tl_pq_steps *s, int64_t n, int64_t *out) {
    for (int64_t i = 0, at = 0; i < s->n && at < n; i++) {
        uint64_t value = (uint64_t)s->items[i].first;
        for (int64_t k = 0; k < s->items[i].n && at < n; k++, value += (uint64_t)s->items[i].step) {
            out[at++] = (int64_t)value;
        }
    }
}

/* Page by page, as long as few steps do. *page is the one that did not fit. */
static tl_status collect(tl_pq_cursor *c, int64_t rows, tl_pq_steps *s, tl_pq_page *page, bool *fits, tl_error *err) {
    int64_t most = c->n_rows / NUMBERS_A_STEP + STEPS_ALWAYS;
    *fits = true;
    while (c->row < rows) {
        TL_TRY(tl_pq_page_next(c, page, err));
        *fits = page->header.encoding == TL_PQ_DELTA_BINARY_PACKED && all_present(c, page);
        if (*fits) {
            TL_TRY(tl_pq_decode_delta_steps(page->values, page->n_values, rows - c->row, most, s, err));
            *fits = s->n <= most;
        }
        if (!*fits) {
            return TL_OK;
        }
        c->row += page->n_values;
    }
    return TL_OK;
}

/* Steps, or the numbers up to the end of the page that did not fit. */
static tl_status begin(tl_pq_cursor *c, int64_t rows, tl_pq_steps *steps, bool *stepped, int64_t *out, tl_pq_vector *v,
                       tl_error *err) {
    tl_pq_page page;
    TL_TRY(collect(c, rows, steps, &page, stepped, err));
    if (*stepped) {
        return TL_OK;
    }
    vector_over(c, out, v);
    write_out(steps, c->row, out);
    v->n = c->row;
    TL_TRY(tl_pq_page_decode(c, &page, v, err));
    c->row += page.n_values;
    return TL_OK;
}

static tl_status steps_or_numbers(tl_pq_cursor *c, int64_t rows, tl_pq_steps *steps, bool *stepped, int64_t *out,
                                  tl_pq_vector *v, tl_error *err) {
    tl_status status = c->page.type == TL_PQ_INT64 ? begin(c, rows, steps, stepped, out, v, err)
                                                   : tl_fail(err, TL_INVALID, "it is not an INT64 column");
    if (status != TL_OK) {
        tl_pq_name_column(c->r, c->row_group, c->leaf, err);
        return status;
    }
    return *stepped ? TL_OK : tl_pq_cursor_read(c, c->n_rows - c->row, v, err);
}

tl_status tl_pq_reader_steps(tl_pq_reader *r, int32_t row_group, int32_t leaf, int64_t rows, tl_pq_steps *steps,
                             bool *stepped, int64_t *out, uint8_t *validity, int64_t *n_nulls, tl_error *err) {
    *n_nulls = 0;
    *stepped = false;
    steps->n = 0;
    TL_TRY(tl_pq_check_flat(r, row_group, leaf, err));
    tl_pq_cursor c;
    TL_TRY(tl_pq_cursor_open(r, row_group, leaf, false, &c, err));
    tl_pq_vector v = {0};
    tl_status status = steps_or_numbers(&c, rows < c.n_rows ? rows : c.n_rows, steps, stepped, out, &v, err);
    if (status == TL_OK && !*stepped) {
        finish(&v, validity, n_nulls);
    }
    tl_pq_vector_free(&v);
    tl_pq_cursor_close(&c);
    return status;
}
