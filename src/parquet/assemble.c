/*
 * Dremel assembly: levels become lists and structs. Comes in: the vectors of the leaves of one top-level column. Goes
 * out: one Arrow array. Every level entry of any leaf below a node tells the same about the node, so the first leaf's
 * are used, and the lengths that the others come to must agree.
 */
#include <string.h>

#include "parquet/reader_internal.h"

typedef struct assembly {
    tl_pq_vector *vectors;
    int32_t first_leaf;
    tl_error *err;
} assembly;

static tl_status build(const assembly *a, const tl_pq_node *node, struct ArrowArray *out);

static tl_status uneven(const assembly *a, const tl_pq_node *node) {
    return tl_fail(a->err, TL_CORRUPT, "\"%s\": its columns disagree on the number of values", node->name);
}

static unsigned def_at(const tl_pq_vector *v, int64_t i) {
    return v->def ? v->def[i] : 0;
}

static unsigned rep_at(const tl_pq_vector *v, int64_t i) {
    return v->rep ? v->rep[i] : 0;
}

/* A bitmap of `n` bits, zeroed. */
static tl_status make_bits(const assembly *a, int64_t n, uint8_t **out) {
    size_t bytes = (size_t)n / 8 + 1;
    *out = tl_alloc_aligned(bytes);
    if (!*out) {
        return tl_fail_memory(a->err, bytes);
    }
    memset(*out, 0, bytes);
    return TL_OK;
}

/* Makes the array and fills its children; `buffers` are taken in any case. */
static tl_status with_children(const assembly *a, const tl_pq_node *node, int64_t length, int64_t nulls,
                               int64_t n_buffers, void *const buffers[3], int64_t child_length,
                               struct ArrowArray *out) {
    tl_status status = tl_pq_array_make(length, nulls, n_buffers, buffers, node->n_children, out, a->err);
    if (status != TL_OK) {
        for (int i = 0; i < 3; i++) {
            tl_free(buffers[i]);
        }
        return status;
    }
    for (int32_t i = 0; i < node->n_children && status == TL_OK; i++) {
        status = build(a, &node->children[i], out->children[i]);
        if (status == TL_OK && out->children[i]->length != child_length) {
            status = uneven(a, node);
        }
    }
    if (status != TL_OK) {
        out->release(out);
    }
    return status;
}

/* ---- structs: a slot where no deeper repetition goes on ---- */

static bool struct_slot(const tl_pq_node *node, const tl_pq_vector *v, int64_t i) {
    return rep_at(v, i) <= (unsigned)node->rep && def_at(v, i) >= (unsigned)node->anc_def;
}

static tl_status build_struct(const assembly *a, const tl_pq_node *node, struct ArrowArray *out) {
    const tl_pq_vector *v = &a->vectors[node->first_leaf - a->first_leaf];
    int64_t length = 0, nulls = 0;
    for (int64_t i = 0; i < v->n_levels; i++) {
        bool slot = struct_slot(node, v, i);
        length += slot;
        nulls += slot && def_at(v, i) < (unsigned)node->def;
    }
    void *buffers[3] = {0};
    if (nulls > 0) {
        uint8_t *bits;
        TL_TRY(make_bits(a, length, &bits));
        for (int64_t i = 0, at = 0; i < v->n_levels; i++) {
            if (struct_slot(node, v, i)) {
                if (def_at(v, i) >= (unsigned)node->def) {
                    tl_bit_set(bits, at);
                }
                at++;
            }
        }
        buffers[0] = bits;
    }
    return with_children(a, node, length, nulls, 1, buffers, length, out);
}

/* ---- lists ---- */

typedef struct list_parts {
    int64_t length, nulls, elements;
    int32_t *offsets;
    uint8_t *bits;
} list_parts;

/* An entry with a lower repetition level begins a list, one with the list's own goes on with it, a higher one is
 * inside an element. */
static tl_status count_lists(const assembly *a, const tl_pq_node *node, const tl_pq_vector *v, list_parts *p) {
    for (int64_t i = 0; i < v->n_levels; i++) {
        unsigned rep = rep_at(v, i), def = def_at(v, i);
        if (rep > (unsigned)node->rep || def < (unsigned)node->anc_def) {
            continue;
        }
        bool begins = rep < (unsigned)node->rep, element = def >= (unsigned)node->elem_def;
        if (!begins && (!element || p->length == 0)) {
            return tl_fail(a->err, TL_CORRUPT, "\"%s\": a list goes on where there is none", node->name);
        }
        p->length += begins;
        p->nulls += begins && def < (unsigned)node->def;
        p->elements += element;
    }
    if (p->elements > INT32_MAX) {
        v->budget->too_large = true;
        return tl_fail(a->err, TL_UNSUPPORTED,
                       "more than 2147483647 list elements in one batch; read fewer rows at once");
    }
    return TL_OK;
}

static void fill_lists(const tl_pq_node *node, const tl_pq_vector *v, list_parts *p) {
    int64_t at = 0;
    int32_t end = 0;
    for (int64_t i = 0; i < v->n_levels; i++) {
        unsigned rep = rep_at(v, i), def = def_at(v, i);
        if (rep > (unsigned)node->rep || def < (unsigned)node->anc_def) {
            continue;
        }
        if (rep < (unsigned)node->rep) {
            p->offsets[at] = end;
            if (p->bits && def >= (unsigned)node->def) {
                tl_bit_set(p->bits, at);
            }
            at++;
        }
        end += def >= (unsigned)node->elem_def;
    }
    p->offsets[at] = end;
}

static tl_status build_list(const assembly *a, const tl_pq_node *node, struct ArrowArray *out) {
    const tl_pq_vector *v = &a->vectors[node->first_leaf - a->first_leaf];
    list_parts p = {0};
    size_t bytes;
    TL_TRY(count_lists(a, node, v, &p));
    if (!tl_size_mul((size_t)p.length + 1, sizeof *p.offsets, &bytes) || !(p.offsets = tl_alloc_aligned(bytes))) {
        return tl_fail_memory(a->err, (size_t)p.length * sizeof *p.offsets);
    }
    tl_status status = p.nulls > 0 ? make_bits(a, p.length, &p.bits) : TL_OK;
    if (status != TL_OK) {
        tl_free(p.offsets);
        return status;
    }
    fill_lists(node, v, &p);
    void *buffers[3] = {p.bits, p.offsets, NULL};
    TL_TRY(with_children(a, node, p.length, p.nulls, 2, buffers, p.elements, out));
    if (node->kind == TL_PQ_NODE_MAP && out->children[0]->children[0]->null_count > 0) {
        out->release(out);
        return tl_fail(a->err, TL_CORRUPT, "\"%s\": a map's key is null", node->name);
    }
    return TL_OK;
}

static tl_status build(const assembly *a, const tl_pq_node *node, struct ArrowArray *out) {
    switch (node->kind) {
    case TL_PQ_NODE_LEAF: return tl_pq_convert_leaf(node, &a->vectors[node->first_leaf - a->first_leaf], out, a->err);
    case TL_PQ_NODE_STRUCT: return build_struct(a, node, out);
    case TL_PQ_NODE_LIST:
    case TL_PQ_NODE_MAP: return build_list(a, node, out);
    }
    return tl_fail(a->err, TL_INTERNAL, "unknown kind of schema node");
}

tl_status tl_pq_assemble(const tl_pq_node *node, tl_pq_vector *vectors, int32_t first_leaf, int64_t rows,
                         struct ArrowArray *out, tl_error *err) {
    assembly a = {vectors, first_leaf, err};
    TL_TRY(build(&a, node, out));
    if (out->length != rows) {
        out->release(out);
        return uneven(&a, node);
    }
    return TL_OK;
}
