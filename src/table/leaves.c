/* See leaves.h. */
#include "table/leaves.h"

void tl_leaves_free(tl_leaves *l) {
    tl_free(l->leaves);
    tl_free(l->options);
    tl_free(l->converts);
    tl_free(l->first_leaf);
    tl_free(l->element);
    *l = (tl_leaves){0};
}

static tl_pq_convert convert_of(const tl_pq_schema_element *e) {
    if (e->logical != TL_PQ_LOGICAL_DECIMAL) {
        return TL_PQ_CONVERT_NONE;
    }
    return e->type == TL_PQ_INT32   ? TL_PQ_CONVERT_DECIMAL_INT32
           : e->type == TL_PQ_INT64 ? TL_PQ_CONVERT_DECIMAL_INT64
                                    : TL_PQ_CONVERT_DECIMAL_FIXED;
}

tl_status tl_leaves_make(const tl_pq_schema_element *schema, int32_t n_schema, tl_leaves *out, tl_error *err) {
    *out = (tl_leaves){.schema = schema, .n_schema = n_schema};
    TL_TRY(tl_pq_schema_leaves(schema, n_schema, &out->leaves, &out->n_leaves, err));
    out->n_tops = schema[0].n_children;
    out->options = tl_calloc((size_t)out->n_leaves, sizeof *out->options);
    out->converts = tl_calloc((size_t)out->n_leaves, sizeof *out->converts);
    out->first_leaf = tl_calloc((size_t)out->n_tops + 1, sizeof *out->first_leaf);
    out->element = tl_calloc((size_t)out->n_tops, sizeof *out->element);
    if (!out->options || !out->converts || !out->first_leaf || !out->element) {
        tl_leaves_free(out);
        return tl_fail_memory(err, (size_t)n_schema * sizeof *out->options);
    }
    for (int32_t i = 0; i < out->n_leaves; i++) {
        const tl_pq_leaf *leaf = &out->leaves[i];
        const tl_pq_schema_element *e = &schema[leaf->element];
        out->options[i] = (tl_pq_column_options){
            .type = e->type,
            .type_length = e->type_length,
            .max_def = leaf->max_def,
            .max_rep = leaf->max_rep,
            .utf8 = e->logical == TL_PQ_LOGICAL_STRING,
            .is_signed = true,
            .signed_bytes = e->logical == TL_PQ_LOGICAL_DECIMAL,
            .level = INT32_MIN,
        };
        out->converts[i] = convert_of(e);
        out->first_leaf[leaf->top + 1] = i + 1;
    }
    int32_t top = 0;
    for (int32_t at = 1; at < n_schema && top < out->n_tops; top++) {
        out->element[top] = at;
        for (int32_t open = 1; open > 0 && at < n_schema; at++) { /* past the subtree: it is depth first */
            open += schema[at].n_children - 1;
        }
    }
    return TL_OK;
}
