/* Encoding a column of a row group: which values, in pages, into the column writer. See encode_internal.h. */
#include "append/encode_internal.h"

#include "base/mem.h"

void tl_encode_scratch_free(tl_encode_scratch *s) {
    for (int32_t i = 0; i < s->n_writers; i++) {
        tl_pq_column_writer_free(s->writers[i]);
    }
    tl_free(s->writers);
    tl_buf_free(&s->values);
    tl_buf_free(&s->def);
    tl_buf_free(&s->picks);
    *s = (tl_encode_scratch){0};
}

/* One column of one row group in the making. */
typedef struct encoding {
    const tl_encoder *e;
    const tl_row_set *rows;
    tl_encode_scratch *scratch;
    int32_t column;     /* top-level */
    int32_t first_leaf; /* of the column */
    int32_t n_leaves;
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
        if (!more) {
            return tl_fail_memory(err, (size_t)x->n_leaves * sizeof *more);
        }
        s->writers = more;
        for (; s->n_writers < x->n_leaves; s->n_writers++) {
            s->writers[s->n_writers] = NULL;
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

static tl_status emit_leaf(void *ctx, int32_t leaf, const tl_pq_values *values, tl_error *err) {
    const encoding *x = ctx;
    return tl_pq_column_writer_add(x->scratch->writers[leaf], values, err);
}

static tl_status encode_nested(encoding *x, tl_error *err) {
    const tl_row_set *set = x->rows;
    const tl_leaves *l = x->e->leaves;
    uint32_t page = x->e->page_rows, most = page < set->n ? page : set->n;
    TL_TRY(buffer_room(&x->scratch->picks, most * sizeof(int64_t), err));
    int64_t *picks = (int64_t *)(void *)x->scratch->picks.data;
    int32_t near = 0;
    for (uint32_t at = 0; at < set->n;) {
        uint32_t row = set->rows ? set->rows[at] : set->first + at;
        near = tl_sources_find(&set->sources, row, near);
        const tl_source *source = &set->sources.list[near];
        uint32_t n = 0;
        while (n < most && at + n < set->n) {
            row = (set->rows ? set->rows[at + n] : set->first + at + n) - source->base;
            if (row >= source->n_rows) {
                break;
            }
            picks[n++] = row;
        }
        TL_TRY(tl_pq_shred(&source->columns[x->column], l->schema, l->n_schema, l->element[x->column],
                           l->converts + x->first_leaf, picks, 0, n, emit_leaf, x, err));
        at += n;
    }
    return TL_OK;
}

static tl_status encode_values(encoding *x, tl_error *err) {
    const tl_column_plan *plan = &x->e->plans[x->column];
    switch (plan->how) {
    case TL_HOW_FLAT:
        return encode_flat(x, err);
    case TL_HOW_NESTED:
        return encode_nested(x, err);
    case TL_HOW_SERIES:
        return x->rows->spans ? encode_series(x, err) : encode_flat(x, err);
    case TL_HOW_TIME:
        return x->rows->times ? encode_times(x, err) : encode_flat(x, err);
    case TL_HOW_CONSTANT:
        return add_run(x, true, (tl_bytes){plan->value, sizeof plan->value}, x->rows->n, err);
    }
    return TL_OK;
}

tl_status tl_encode_column(const tl_encoder *e, int32_t column, const tl_row_set *rows, tl_encode_scratch *scratch,
                           tl_pq_chunk *chunks, tl_error *err) {
    int32_t first = e->leaves->first_leaf[column];
    encoding x = {e, rows, scratch, column, first, e->leaves->first_leaf[column + 1] - first};
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
