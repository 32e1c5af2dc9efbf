/* Rows looked at through Arrow, and pieces of newest rows joined in the order of the series key. See last_values.h. */
#include <stdlib.h>

#include "table/rows.h"

tl_status tl_rows_from_arrow(const tl_schema *schema, const struct ArrowSchema *arrow, struct ArrowArray *array,
                             tl_rows *out, tl_error *err) {
    *out = (tl_rows){.n_rows = array->length, .n_columns = schema->n_fields};
    tl_status status = TL_OK;
    out->arrays = tl_alloc(sizeof *out->arrays);
    if (!out->arrays) {
        array->release(array);
        return tl_fail_memory(err, sizeof *out->arrays);
    }
    out->arrays[0] = *array;
    out->n_arrays = 1;
    array->release = NULL;
    out->columns = tl_arena_array(&out->arena, (size_t)schema->n_fields, sizeof *out->columns);
    if (!out->columns) {
        status = tl_fail_memory(err, (size_t)schema->n_fields * sizeof *out->columns);
    } else if (arrow->n_children != schema->n_fields || out->arrays[0].n_children != schema->n_fields) {
        status = tl_fail(err, TL_CORRUPT, "%d columns expected, %lld found", schema->n_fields,
                         (long long)out->arrays[0].n_children);
    }
    for (int32_t f = 0; f < schema->n_fields && status == TL_OK; f++) {
        status = tl_column_from_arrow(&schema->fields[f].type, arrow->children[f], out->arrays[0].children[f],
                                      &out->arena, &out->columns[f], err);
    }
    if (status != TL_OK) {
        tl_rows_free(out);
    }
    return status;
}

typedef struct joining {
    const tl_schema *schema;
    const tl_contract *contract;
    const tl_rows *pieces;
} joining;

static int by_series(const void *a, const void *b, void *ctx) {
    const tl_pick *x = a, *y = b;
    const joining *j = ctx;
    const tl_rows *p = &j->pieces[x->source], *q = &j->pieces[y->source];
    for (int32_t k = 0; k < j->contract->n_series; k++) {
        int32_t f = j->contract->series[k];
        int order = tl_column_compare(&j->schema->fields[f].type, &p->columns[f], x->row, &q->columns[f], y->row);
        if (order) {
            return order;
        }
    }
    return 0;
}

tl_status tl_last_values_join(const tl_schema *schema, const tl_contract *contract, const tl_rows *pieces, int32_t n,
                              tl_rows *out, tl_error *err) {
    *out = (tl_rows){0};
    int64_t total = 0;
    for (int32_t i = 0; i < n; i++) {
        total += pieces[i].n_rows;
    }
    if (total == 0) {
        return TL_OK;
    }
    if (total > UINT32_MAX) {
        return tl_fail(err, TL_UNSUPPORTED, "newest rows: more than 2^32 series");
    }
    const tl_column **sources = tl_alloc_array((size_t)n, sizeof *sources);
    tl_pick *picks = tl_alloc_array((size_t)total, sizeof *picks);
    tl_status status = sources && picks ? TL_OK : tl_fail_memory(err, (size_t)total * sizeof *picks);
    int64_t at = 0;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        sources[i] = pieces[i].columns;
        for (int64_t row = 0; row < pieces[i].n_rows; row++) {
            picks[at++] = (tl_pick){(uint32_t)i, (uint32_t)row};
        }
    }
    if (status == TL_OK) {
        joining j = {schema, contract, pieces};
        qsort_r(picks, (size_t)total, sizeof *picks, by_series, &j);
        status = tl_rows_pick(sources, (uint32_t)n, schema->n_fields, picks, total, out, err);
    }
    tl_free((void *)sources);
    tl_free(picks);
    return status;
}
