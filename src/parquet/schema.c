/*
 * The schema tree as flat lists. Comes in: schema elements depth first, hostile until checked. Goes out: the leaves
 * with their levels, in file order.
 */
#include "parquet/format.h"

#include "base/mem.h"

#define MAX_DEPTH 64

void tl_pq_file_meta_free(tl_pq_file_meta *meta) {
    tl_arena_free(&meta->arena);
    *meta = (tl_pq_file_meta){0};
}

/* An open group on the way down. */
typedef struct level {
    int32_t children_left;
    int16_t def, rep;
} level;

static tl_status check_element(const tl_pq_schema_element *e, tl_error *err) {
    if (e->is_leaf) {
        if (e->n_children > 0) {
            return tl_fail(err, TL_CORRUPT, "schema: column \"%s\" has a type and children", e->name);
        }
        if (e->type == TL_PQ_FIXED && e->type_length <= 0) {
            return tl_fail(err, TL_CORRUPT, "schema: column \"%s\" has values of %d bytes", e->name, e->type_length);
        }
    } else if (e->n_children <= 0) {
        return tl_fail(err, TL_CORRUPT, "schema: group \"%s\" has no children", e->name);
    }
    return TL_OK;
}

/* Walks the tree with a stack of its own; `leaves` has room for n_schema. */
static tl_status walk(const tl_pq_schema_element *schema, int32_t n_schema, tl_pq_leaf *leaves, int32_t *n_out,
                      tl_error *err) {
    level stack[MAX_DEPTH];
    int depth = 0;
    int32_t top = -1, n = 0, i = 1;
    stack[0] = (level){.children_left = schema[0].n_children};
    for (; i < n_schema; i++) {
        while (depth >= 0 && stack[depth].children_left == 0) {
            depth--;
        }
        if (depth < 0) {
            return tl_fail(err, TL_CORRUPT, "schema: more elements than the groups have children");
        }
        const tl_pq_schema_element *e = &schema[i];
        TL_TRY(check_element(e, err));
        stack[depth].children_left--;
        top += depth == 0;
        int16_t def = (int16_t)(stack[depth].def + (e->repetition != TL_PQ_REQUIRED));
        int16_t rep = (int16_t)(stack[depth].rep + (e->repetition == TL_PQ_REPEATED));
        if (e->is_leaf) {
            leaves[n++] = (tl_pq_leaf){.element = i, .top = top, .max_def = def, .max_rep = rep};
            continue;
        }
        if (++depth == MAX_DEPTH) {
            return tl_fail(err, TL_UNSUPPORTED, "schema: groups are nested deeper than %d", MAX_DEPTH - 1);
        }
        stack[depth] = (level){.children_left = e->n_children, .def = def, .rep = rep};
    }
    for (; depth >= 0; depth--) {
        if (stack[depth].children_left != 0) {
            return tl_fail(err, TL_CORRUPT, "schema: fewer elements than the groups have children");
        }
    }
    *n_out = n;
    return TL_OK;
}

tl_status tl_pq_schema_leaves(const tl_pq_schema_element *schema, int32_t n_schema, tl_pq_leaf **out, int32_t *n_out,
                              tl_error *err) {
    *out = NULL;
    *n_out = 0;
    if (n_schema < 1 || schema[0].is_leaf || schema[0].n_children < 0) {
        return tl_fail(err, TL_CORRUPT, "schema: the root is not a group");
    }
    tl_pq_leaf *leaves = tl_alloc_array((size_t)n_schema, sizeof *leaves);
    if (!leaves) {
        return tl_fail_memory(err, (size_t)n_schema * sizeof *leaves);
    }
    tl_status status = walk(schema, n_schema, leaves, n_out, err);
    if (status != TL_OK) {
        tl_free(leaves);
        return status;
    }
    *out = leaves;
    return TL_OK;
}
