/* Lists, maps and structs: their offsets become canonical, their children are nodes again. */
#include <string.h>

#include "append/align_internal.h"

static tl_status one_child(tl_job *job, tl_column *out, int64_t n, tl_error *err) {
    out->children = tl_arena_array(&job->batch->arena, (size_t)n, sizeof *out->children);
    out->n_children = n;
    return out->children ? TL_OK : tl_fail_memory(err, (size_t)n * sizeof *out->children);
}

static tl_status align_struct(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                              tl_error *err) {
    TL_TRY(one_child(job, out, plan->n_children, err));
    for (int64_t i = 0; i < plan->n_children; i++) {
        const tl_plan *p = &plan->children[i];
        const struct ArrowArray *child = p->source >= 0 ? v->array->children[p->source] : NULL;
        TL_TRY(tl_align_node(job, p, child, v->first, v->length, v->validity, frame, &out->children[i], err));
    }
    return TL_OK;
}

/* The range of list `i` in its child: [from, from + size). */
static inline void list_range(const tl_view *v, int64_t i, int64_t *from, int64_t *size) {
    switch (v->type->id) {
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW:
        *from = tl_view_offset(v, i);
        *size = tl_view_size(v, i);
        break;
    case TL_ARROW_FIXED_LIST:
        *size = v->type->list_size;
        *from = (v->first + i) * *size;
        break;
    default:
        *from = tl_view_offset(v, i);
        *size = tl_view_offset(v, i + 1) - *from;
        break;
    }
}

/* What the lists of a view add up to. */
typedef struct extent {
    int64_t total;     /* elements of the lists that are not null */
    int64_t low, high; /* their range in the child */
    bool in_place;     /* the lists lie one behind the other, null ones being empty or without any element between */
} extent;

static bool measure(const tl_view *v, extent *out) {
    *out = (extent){.low = 0, .high = 0, .in_place = true};
    bool any = false;
    for (int64_t i = 0; i < v->length; i++) {
        if (!tl_view_valid(v, i)) {
            continue;
        }
        int64_t from, size;
        list_range(v, i, &from, &size);
        if (size == 0) {
            continue;
        }
        if (!tl_i64_add(out->total, size, &out->total)) {
            return false;
        }
        out->in_place = out->in_place && (!any || from == out->high);
        out->low = !any || from < out->low ? from : out->low;
        out->high = !any || from + size > out->high ? from + size : out->high;
        any = true;
    }
    return true;
}

/* Offsets from 0 on; null lists are empty. */
static tl_status make_offsets(tl_job *job, const tl_view *v, int64_t total, tl_column *out, tl_error *err) {
    bool narrow = total <= INT32_MAX;
    void *memory = NULL;
    TL_TRY(tl_job_alloc(job, v->length + 1, narrow ? 4 : 8, &memory, err));
    int32_t *o32 = memory;
    int64_t *o64 = memory;
    int64_t at = 0;
    for (int64_t i = 0; i <= v->length; i++) {
        if (narrow) {
            o32[i] = (int32_t)at;
        } else {
            o64[i] = at;
        }
        if (i < v->length && tl_view_valid(v, i)) {
            int64_t from, size;
            list_range(v, i, &from, &size);
            at += size;
        }
    }
    out->offsets32 = narrow ? o32 : NULL;
    out->offsets64 = narrow ? NULL : o64;
    return TL_OK;
}

/* The offsets of the input serve as they are when they begin at 0 and null lists have no elements. */
static tl_status borrow_offsets(tl_job *job, const tl_view *v, tl_column *out, tl_error *err) {
    size_t width = (size_t)tl_view_offset_width(v);
    const void *p = NULL;
    TL_TRY(tl_job_borrow(job, v->offsets, v->length + 1, width, width, &p, err));
    out->offsets32 = width == 4 ? p : NULL;
    out->offsets64 = width == 8 ? p : NULL;
    return TL_OK;
}

/* Elements in any order, or with elements of null lists between them: picked one by one. */
static tl_status pick_elements(tl_job *job, const tl_plan *plan, const tl_view *v, const extent *e,
                               const tl_frame *frame, tl_column *child, tl_error *err) {
    bool narrow = e->high - e->low <= INT32_MAX;
    void *memory = tl_alloc_array((size_t)e->total + 1, narrow ? 4 : 8);
    if (!memory) {
        return tl_fail_memory(err, (size_t)e->total * 8);
    }
    int32_t *p32 = memory;
    int64_t *p64 = memory;
    int64_t at = 0;
    for (int64_t i = 0; i < v->length; i++) {
        int64_t from, size;
        if (!tl_view_valid(v, i)) {
            continue;
        }
        list_range(v, i, &from, &size);
        for (int64_t k = 0; k < size; k++, at++) {
            if (narrow) {
                p32[at] = (int32_t)(from + k - e->low);
            } else {
                p64[at] = from + k - e->low;
            }
        }
    }
    tl_row_numbers pick = narrow ? (tl_row_numbers){.narrow = p32} : (tl_row_numbers){.wide = p64};
    tl_status s = tl_align_picked(job, plan->children, v->array->children[0], e->low, e->high - e->low, pick, e->total,
                                  frame, child, err);
    tl_free(memory);
    return s;
}

static tl_status align_list(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                            tl_error *err) {
    extent e;
    if (!measure(v, &e)) {
        return tl_fail_memory(err, SIZE_MAX);
    }
    TL_TRY(one_child(job, out, 1, err));
    if (plan->step == TL_STEP_LIST && tl_view_offset(v, 0) == 0 && tl_view_offset(v, v->length) == e.total) {
        TL_TRY(borrow_offsets(job, v, out, err));
    } else {
        TL_TRY(make_offsets(job, v, e.total, out, err));
    }
    tl_frame inner = {.kind = TL_FRAME_LIST, .up = frame, .list = out};
    if (e.in_place) {
        return tl_align_node(job, plan->children, v->array->children[0], e.low, e.total, (tl_bits){NULL, 0}, &inner,
                             out->children, err);
    }
    return pick_elements(job, plan, v, &e, &inner, out->children, err);
}

tl_status tl_align_nested(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                          tl_error *err) {
    return plan->step == TL_STEP_STRUCT ? align_struct(job, plan, v, frame, out, err)
                                        : align_list(job, plan, v, frame, out, err);
}
