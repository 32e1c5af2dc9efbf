/* Encoding a column of a row group: which values, in pages, into the column writer. See encode_internal.h. */
#include "append/encode_internal.h"

#include "base/mem.h"

void tl_encode_scratch_free(tl_encode_scratch *s) {
    for (int32_t i = 0; i < s->n_writers; i++) {
        tl_pq_column_writer_free(s->writers[i]);
        tl_buf_free(&s->pages[i].def);
        tl_buf_free(&s->pages[i].rep);
        tl_buf_free(&s->pages[i].values);
    }
    tl_free(s->writers);
    tl_free(s->pages);
    tl_buf_free(&s->values);
    tl_buf_free(&s->def);
    tl_buf_free(&s->picks);
    *s = (tl_encode_scratch){0};
}

size_t tl_encode_scratch_bytes(const tl_encode_scratch *s) {
    size_t n = s->values.cap + s->def.cap + s->picks.cap;
    for (int32_t i = 0; i < s->n_writers; i++) {
        n += s->pages[i].def.cap + s->pages[i].rep.cap + s->pages[i].values.cap;
        n += s->writers[i] ? tl_pq_column_writer_held(s->writers[i]) : 0;
    }
    return n;
}

/* One column of one row group in the making. */
typedef struct encoding {
    const tl_encoder *e;
    const tl_row_set *rows;
    tl_encode_scratch *scratch;
    int32_t column;     /* top-level */
    int32_t first_leaf; /* of the column */
    int32_t n_leaves;
    bool whole_page; /* nested: what is shredded is a page of its own */
} encoding;

static tl_status buffer_room(tl_buf *b, size_t bytes, tl_error *err) {
    b->len = 0;
    return tl_buf_reserve(b, bytes) == TL_OK ? TL_OK : tl_fail_memory(err, bytes);
}

/* Writers 0 .. n-1 of the worker, ready for the column's leaves. */
static tl_status ready_writers(encoding *x, tl_error *err) {
    tl_encode_scratch *s = x->scratch;
    if (x->n_leaves > s->n_writers) {
        tl_pq_column_writer **more = tl_realloc_array(s->writers, (size_t)x->n_leaves, sizeof *more);
        s->writers = more ? more : s->writers;
        tl_leaf_page *pages = tl_realloc_array(s->pages, (size_t)x->n_leaves, sizeof *pages);
        s->pages = pages ? pages : s->pages;
        if (!more || !pages) {
            return tl_fail_memory(err, (size_t)x->n_leaves * sizeof *pages);
        }
        for (; s->n_writers < x->n_leaves; s->n_writers++) {
            s->writers[s->n_writers] = NULL;
            s->pages[s->n_writers] = (tl_leaf_page){0};
        }
    }
    for (int32_t i = 0; i < x->n_leaves; i++) {
        const tl_pq_column_options *o = &x->e->options[x->first_leaf + i];
        if (s->writers[i]) {
            TL_TRY(tl_pq_column_writer_reset(s->writers[i], o, err));
        } else {
            TL_TRY(tl_pq_column_writer_create(o, &s->writers[i], err));
        }
    }
    return TL_OK;
}

static tl_status encode_flat(encoding *x, tl_error *err) {
    const tl_row_set *set = x->rows;
    tl_gather_type type = {x->e->leaves->converts[x->first_leaf], x->e->options[x->first_leaf].type_length};
    size_t width = tl_gather_width(&set->sources.list[0].columns[x->column], &type);
    uint32_t page = x->e->page_rows;
    uint32_t most = page < set->n ? page : set->n;
    TL_TRY(buffer_room(&x->scratch->values, most * width, err));
    TL_TRY(buffer_room(&x->scratch->def, most, err));
    for (uint32_t at = 0; at < set->n; at += page) {
        uint32_t n = set->n - at < page ? set->n - at : page;
        tl_pq_values values;
        tl_gather_flat(set, x->column, &type, at, n, x->scratch->values.data, x->scratch->def.data, &values);
        TL_TRY(tl_pq_column_writer_add(x->scratch->writers[0], &values, err));
    }
    return TL_OK;
}

static tl_status encode_times(encoding *x, tl_error *err) {
    const tl_row_set *set = x->rows;
    for (uint32_t at = 0; at < set->n; at += x->e->page_rows) {
        uint32_t n = set->n - at < x->e->page_rows ? set->n - at : x->e->page_rows;
        tl_pq_values values = {n, n, NULL, NULL, set->times + at};
        TL_TRY(tl_pq_column_writer_add(x->scratch->writers[0], &values, err));
    }
    return TL_OK;
}

/* A run of one value given in native form. */
static tl_status add_run(encoding *x, bool present, tl_bytes value, uint32_t n, tl_error *err) {
    tl_pq_column_writer *w = x->scratch->writers[0];
    const tl_pq_column_options *o = &x->e->options[x->first_leaf];
    tl_gather_type type = {x->e->leaves->converts[x->first_leaf], o->type_length};
    uint8_t decimal[16];
    if (!present) {
        return tl_pq_column_writer_add_run(w, NULL, n, err);
    }
    if (o->type == TL_PQ_BYTE_ARRAY) {
        return tl_pq_column_writer_add_run(w, &value, n, err);
    }
    if (type.convert != TL_PQ_CONVERT_NONE) {
        tl_gather_decimal(&type, value.data, decimal);
        return tl_pq_column_writer_add_run(w, decimal, n, err);
    }
    return tl_pq_column_writer_add_run(w, value.data, n, err);
}

static tl_status encode_series(encoding *x, tl_error *err) {
    const tl_row_set *set = x->rows;
    int32_t key = x->e->plans[x->column].key;
    uint32_t end = set->from + set->n;
    for (uint32_t i = 0; i < set->n_spans; i++) {
        const tl_span *span = &set->spans[i];
        uint32_t from = span->from > set->from ? span->from : set->from;
        uint32_t to = span->from + span->n < end ? span->from + span->n : end;
        if (from < to) {
            tl_bytes value = {0};
            bool present = tl_ranker_value(x->e->ranker, key, span->series, &value);
            TL_TRY(add_run(x, present, value, to - from, err));
        }
    }
    return TL_OK;
}

/* ---- nested columns ---- */

/* Bytes of a leaf's values as the column writer takes them. */
static size_t leaf_width(const tl_pq_column_options *o) {
    switch (o->type) {
    case TL_PQ_BOOLEAN: return 1;
    case TL_PQ_INT32:
    case TL_PQ_FLOAT: return 4;
    case TL_PQ_INT64:
    case TL_PQ_DOUBLE: return 8;
    case TL_PQ_BYTE_ARRAY: return sizeof(tl_bytes);
    default: return (size_t)o->type_length;
    }
}

/* Pages reach the writer whole, and without levels when all values are present: its bytes must not depend on which rows
 * lie in which source, or whether a source has a validity bitmap. */
static tl_status emit_leaf(void *ctx, int32_t leaf, const tl_pq_values *values, tl_error *err) {
    const encoding *x = ctx;
    if (x->whole_page) {
        tl_pq_values page = *values;
        page.def = page.n_values == page.n_levels ? NULL : page.def;
        return tl_pq_column_writer_add(x->scratch->writers[leaf], &page, err);
    }
    tl_leaf_page *page = &x->scratch->pages[leaf];
    const tl_pq_column_options *o = &x->e->options[x->first_leaf + leaf];
    size_t n = (size_t)values->n_levels;
    tl_status status = tl_buf_reserve(&page->def, n);
    if (status == TL_OK) {
        if (values->def) {
            memcpy(page->def.data + page->def.len, values->def, n);
        } else {
            memset(page->def.data + page->def.len, o->max_def, n);
        }
        page->def.len += n;
        status = values->rep ? tl_buf_add(&page->rep, values->rep, n) : TL_OK;
    }
    if (status == TL_OK) {
        status = tl_buf_add(&page->values, values->values, (size_t)values->n_values * leaf_width(o));
    }
    page->n_values += values->n_values;
    return status == TL_OK ? TL_OK : tl_fail_memory(err, n * leaf_width(o));
}

/* Rows from `at` on that lie in one source, as row numbers within it; at most `most`. */
static uint32_t pick_stretch(const tl_row_set *set, uint32_t at, uint32_t most, int32_t *near, int64_t *picks) {
    uint32_t row = set->rows ? set->rows[at] : set->first + at, n = 0;
    *near = tl_sources_find(&set->sources, row, *near);
    const tl_source *source = &set->sources.list[*near];
    while (n < most) {
        row = (set->rows ? set->rows[at + n] : set->first + at + n) - source->base;
        if (row >= source->n_rows) {
            break;
        }
        picks[n++] = row;
    }
    return n;
}

/* A page that was put together goes to the writers. */
static tl_status flush_pages(encoding *x, tl_error *err) {
    for (int32_t i = 0; i < x->n_leaves; i++) {
        tl_leaf_page *page = &x->scratch->pages[i];
        bool all = page->n_values == (int64_t)page->def.len;
        tl_pq_values values = {(int64_t)page->def.len, page->n_values, all ? NULL : page->def.data,
                               page->rep.len ? page->rep.data : NULL, page->values.data};
        TL_TRY(tl_pq_column_writer_add(x->scratch->writers[i], &values, err));
        page->def.len = page->rep.len = page->values.len = 0;
        page->n_values = 0;
    }
    return TL_OK;
}

static tl_status encode_nested(encoding *x, tl_error *err) {
    const tl_row_set *set = x->rows;
    const tl_leaves *l = x->e->leaves;
    uint32_t page = x->e->page_rows, most = page < set->n ? page : set->n;
    TL_TRY(buffer_room(&x->scratch->picks, most * sizeof(int64_t), err));
    int64_t *picks = (int64_t *)(void *)x->scratch->picks.data;
    for (int32_t i = 0; i < x->n_leaves; i++) { /* a failed column may have left some */
        tl_leaf_page *p = &x->scratch->pages[i];
        p->def.len = p->rep.len = p->values.len = 0;
        p->n_values = 0;
    }
    int32_t near = 0;
    for (uint32_t at = 0; at < set->n; at += most) {
        uint32_t rows = set->n - at < most ? set->n - at : most, n;
        for (uint32_t done = 0; done < rows; done += n) {
            n = pick_stretch(set, at + done, rows - done, &near, picks);
            x->whole_page = n == rows;
            TL_TRY(tl_pq_shred(&set->sources.list[near].columns[x->column], l->schema, l->n_schema,
                               l->element[x->column], l->converts + x->first_leaf, picks, 0, n, emit_leaf, x, err));
        }
        if (!x->whole_page) {
            TL_TRY(flush_pages(x, err));
        }
    }
    return TL_OK;
}

static tl_status encode_values(encoding *x, tl_error *err) {
    const tl_column_plan *plan = &x->e->plans[x->column];
    switch (plan->how) {
    case TL_HOW_FLAT: return encode_flat(x, err);
    case TL_HOW_NESTED: return encode_nested(x, err);
    case TL_HOW_SERIES: return x->rows->spans ? encode_series(x, err) : encode_flat(x, err);
    case TL_HOW_TIME: return x->rows->times ? encode_times(x, err) : encode_flat(x, err);
    case TL_HOW_CONSTANT: return add_run(x, true, (tl_bytes){plan->value, sizeof plan->value}, x->rows->n, err);
    }
    return TL_OK;
}

tl_status tl_encode_column(const tl_encoder *e, int32_t column, const tl_row_set *rows, tl_encode_scratch *scratch,
                           tl_pq_chunk *chunks, tl_error *err) {
    int32_t first = e->leaves->first_leaf[column];
    encoding x = {.e = e,
                  .rows = rows,
                  .scratch = scratch,
                  .column = column,
                  .first_leaf = first,
                  .n_leaves = e->leaves->first_leaf[column + 1] - first};
    TL_TRY(ready_writers(&x, err));
    TL_TRY(encode_values(&x, err));
    for (int32_t i = 0; i < x.n_leaves; i++) {
        tl_status status = tl_pq_column_writer_finish(scratch->writers[i], &chunks[i], err);
        if (status != TL_OK) {
            for (int32_t k = 0; k < i; k++) {
                tl_pq_chunk_free(&chunks[k]);
            }
            return status;
        }
    }
    return TL_OK;
}
