/* One column of a batch: opened, its hidden rows taken out, converted by its step, checked for nulls where none may be.
 */
#include <string.h>

#include "append/align_internal.h"

/* ---- memory of the batch ---- */

tl_status tl_job_alloc(tl_job *job, int64_t n, size_t size, void *out_pointer, tl_error *err) {
    tl_batch *b = job->batch;
    size_t bytes;
    if (n < 0 || !tl_size_mul((size_t)n, size, &bytes)) {
        return tl_fail_memory(err, SIZE_MAX);
    }
    if (b->n_buffers == b->cap_buffers) {
        int32_t cap = b->cap_buffers ? b->cap_buffers * 2 : 16;
        void **grown = cap > 0 ? tl_realloc_array(b->buffers, (size_t)cap, sizeof *grown) : NULL;
        if (!grown) {
            return tl_fail_memory(err, (size_t)b->n_buffers * 2 * sizeof *grown);
        }
        b->buffers = grown;
        b->cap_buffers = cap;
    }
    void *p = tl_alloc_aligned(bytes ? bytes : 1);
    if (!p) {
        return tl_fail_memory(err, bytes);
    }
    b->buffers[b->n_buffers++] = p;
    memcpy(out_pointer, &p, sizeof p);
    return TL_OK;
}

static void *memory_alloc(void *ctx, size_t size) {
    void *p = NULL;
    return tl_job_alloc(ctx, 1, size, &p, NULL) == TL_OK ? p : NULL;
}

tl_memory tl_job_memory(tl_job *job) {
    return (tl_memory){memory_alloc, job};
}

void tl_job_release(tl_job *job, int32_t mark) {
    tl_batch *b = job->batch;
    while (b->n_buffers > mark) {
        void *p = b->buffers[--b->n_buffers];
        if (p == job->zeros) {
            job->zeros = NULL;
            job->zeros_size = 0;
        }
        tl_free(p);
    }
}

tl_status tl_job_borrow(tl_job *job, const uint8_t *data, int64_t n, size_t size, size_t align, void *out_pointer,
                        tl_error *err) {
    if (n == 0 || size == 0 || ((uintptr_t)data & (align - 1)) == 0) {
        memcpy(out_pointer, &data, sizeof data);
        return TL_OK;
    }
    uint8_t *copy = NULL;
    TL_TRY(tl_job_alloc(job, n, size, &copy, err));
    memcpy(copy, data, (size_t)n * size);
    memcpy(out_pointer, &copy, sizeof copy);
    return TL_OK;
}

tl_status tl_job_zeros(tl_job *job, int64_t n, size_t size, const uint8_t **out, tl_error *err) {
    size_t bytes;
    if (!tl_size_mul((size_t)n, size, &bytes)) {
        return tl_fail_memory(err, SIZE_MAX);
    }
    bytes = bytes ? bytes : 1;
    if (bytes > job->zeros_size) {
        /* calloc takes big blocks from fresh pages: never touched, they cost no memory. A slot is reserved first. */
        void *slot = NULL;
        TL_TRY(tl_job_alloc(job, 1, 1, &slot, err));
        void *p = tl_calloc(bytes, 1);
        if (!p) {
            return tl_fail_memory(err, bytes);
        }
        tl_free(slot);
        job->batch->buffers[job->batch->n_buffers - 1] = p;
        job->zeros = p;
        job->zeros_size = bytes;
    }
    *out = job->zeros;
    return TL_OK;
}

/* ---- shapes and nulls ---- */

void tl_column_shape(const tl_type *type, tl_column *out) {
    out->kind = TL_COLUMN_FIXED;
    out->width = 0;
    switch (type->id) {
    case TL_TYPE_BOOLEAN: out->kind = TL_COLUMN_BOOL; break;
    case TL_TYPE_INT:
    case TL_TYPE_FLOAT:
    case TL_TYPE_DATE: out->width = 4; break;
    case TL_TYPE_LONG:
    case TL_TYPE_DOUBLE:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: out->width = 8; break;
    case TL_TYPE_DECIMAL:
    case TL_TYPE_UUID: out->width = 16; break;
    case TL_TYPE_FIXED: out->width = type->length; break;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: out->kind = TL_COLUMN_BYTES; break;
    case TL_TYPE_STRUCT: out->kind = TL_COLUMN_STRUCT; break;
    case TL_TYPE_LIST:
    case TL_TYPE_MAP: out->kind = TL_COLUMN_LIST; break;
    }
}

static tl_status null_children(tl_job *job, const tl_type *type, int64_t n, tl_column *out, tl_error *err) {
    bool is_map = type->id == TL_TYPE_MAP;
    int32_t count = is_map ? 1 : type->n_fields;
    tl_column *children = tl_arena_array(&job->batch->arena, (size_t)count, sizeof *children);
    if (!children) {
        return tl_fail_memory(err, (size_t)count * sizeof *children);
    }
    out->n_children = count;
    out->children = children;
    if (is_map) { /* the child is the struct of key and value */
        children[0].kind = TL_COLUMN_STRUCT;
        return null_children(job, &(tl_type){.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = type->fields}, 0, children,
                             err);
    }
    for (int32_t i = 0; i < count; i++) {
        TL_TRY(tl_align_nulls(job, &type->fields[i].type, type->id == TL_TYPE_LIST ? 0 : n, &children[i], err));
    }
    return TL_OK;
}

tl_status tl_align_nulls(tl_job *job, const tl_type *type, int64_t n, tl_column *out, tl_error *err) {
    *out = (tl_column){.length = n};
    tl_column_shape(type, out);
    size_t widest = out->width > 4 ? (size_t)out->width : 4;
    const uint8_t *zeros = NULL;
    TL_TRY(tl_job_zeros(job, n + 1, widest, &zeros, err));
    out->validity = n > 0 ? zeros : NULL;
    out->values = zeros;
    if (out->kind == TL_COLUMN_BYTES || out->kind == TL_COLUMN_LIST) {
        out->offsets32 = (const int32_t *)(const void *)zeros;
        out->data = zeros;
    }
    return out->kind == TL_COLUMN_STRUCT || out->kind == TL_COLUMN_LIST ? null_children(job, type, n, out, err) : TL_OK;
}

/* ---- validity ---- */

/* Rows that are null or do not matter become one validity. */
static tl_status merge_validity(tl_job *job, tl_view *v, tl_bits live, tl_error *err) {
    if (!live.data || v->length == 0) {
        return TL_OK;
    }
    if (v->validity.data) {
        uint8_t *both = NULL;
        TL_TRY(tl_job_alloc(job, (v->length + 7) / 8, 1, &both, err));
        tl_bits_and(v->validity, live, v->length, both);
        v->validity = (tl_bits){both, 0};
    } else {
        v->validity = live;
    }
    v->null_count = v->length - tl_bits_count(v->validity.data, v->validity.offset, v->length);
    if (v->null_count == 0) {
        v->validity = (tl_bits){NULL, 0};
    }
    return TL_OK;
}

/* The first row that matters and is null; -1 = none. */
static int64_t first_null(tl_bits validity, tl_bits live, int64_t n) {
    for (int64_t i = 0; validity.data && i < n; i++) {
        if (!tl_bits_at(validity, i) && tl_bits_at(live, i)) {
            return i;
        }
    }
    return -1;
}

/* ---- picked values: dictionaries, runs, list views ---- */

/* Finds the first of the n rows whose value does not convert, by converting them one by one in row order; leaves its
 * error. The values of a dictionary have no order of their own. */
static tl_status first_misfit(tl_job *job, const tl_plan *plan, const struct ArrowArray *array, int64_t from,
                              int64_t count, tl_row_numbers pick, int64_t n, const tl_frame *frame, tl_error *err) {
    uint8_t *tried = tl_calloc((size_t)(count + 7) / 8, 1);
    if (!tried) {
        return tl_fail_memory(err, (size_t)(count + 7) / 8);
    }
    tl_status s = TL_OK;
    for (int64_t i = 0; i < n && s == TL_OK; i++) {
        int64_t value = tl_row_number(pick, i);
        if (value < 0 || tl_bit(tried, value)) {
            continue;
        }
        tl_bit_set(tried, value);
        int32_t mark = job->batch->n_buffers;
        tl_frame at = {.kind = TL_FRAME_AT, .base = tl_frame_row(frame, i)};
        tl_column one;
        s = tl_align_node(job, plan, array, from + value, 1, (tl_bits){NULL, 0}, &at, &one, err);
        tl_job_release(job, mark);
    }
    tl_free(tried);
    return s;
}

tl_status tl_align_picked(tl_job *job, const tl_plan *plan, const struct ArrowArray *array, int64_t from, int64_t count,
                          tl_row_numbers pick, int64_t n, const tl_frame *frame, tl_column *out, tl_error *err) {
    uint8_t *used = tl_calloc((size_t)(count + 7) / 8, 1);
    if (!used) {
        return tl_fail_memory(err, (size_t)(count + 7) / 8);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t value = tl_row_number(pick, i);
        if (value >= 0) {
            tl_bit_set(used, value);
        }
    }
    tl_column values;
    int32_t mark = job->batch->n_buffers;
    tl_frame anywhere = {.kind = TL_FRAME_AT};
    tl_status s = tl_align_node(job, plan, array, from, count, (tl_bits){used, 0}, &anywhere, &values, err);
    if (s == TL_INVALID && job->misfit) {
        tl_error ignored = {0};
        job->misfit = false;
        tl_job_release(job, mark);
        tl_status exact = first_misfit(job, plan, array, from, count, pick, n, frame, err ? err : &ignored);
        s = exact != TL_OK ? exact : s;
    }
    if (s == TL_OK) {
        s = tl_column_gather(&values, pick, n, tl_job_memory(job), out, err);
    }
    tl_free(used);
    return s;
}

/* Row numbers as 32 bits where they fit. */
static tl_status alloc_numbers(int64_t n, int64_t most, void **memory, tl_row_numbers *out, tl_error *err) {
    bool narrow = most <= INT32_MAX;
    *memory = tl_alloc_array((size_t)n + 1, narrow ? 4 : 8);
    if (!*memory) {
        return tl_fail_memory(err, (size_t)n * 8);
    }
    *out = narrow ? (tl_row_numbers){.narrow = *memory} : (tl_row_numbers){.wide = *memory};
    return TL_OK;
}

static inline void set_number(void *memory, tl_row_numbers x, int64_t i, int64_t value) {
    if (x.narrow) {
        ((int32_t *)memory)[i] = (int32_t)value;
    } else {
        ((int64_t *)memory)[i] = value;
    }
}

static tl_status align_dictionary(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame,
                                  tl_column *out, tl_error *err) {
    const struct ArrowArray *dictionary = v->array->dictionary;
    void *memory = NULL;
    tl_row_numbers pick;
    TL_TRY(alloc_numbers(v->length, dictionary->length, &memory, &pick, err));
    int64_t low = INT64_MAX, high = -1;
    for (int64_t i = 0; i < v->length; i++) {
        int64_t index = tl_view_valid(v, i) ? tl_view_index(v, i) : -1;
        low = index >= 0 && index < low ? index : low;
        high = index > high ? index : high;
        set_number(memory, pick, i, index);
    }
    low = high < 0 ? 0 : low;
    /* Only the stretch of values in use: a batch that is a slice may bring the dictionary of all of them. */
    for (int64_t i = 0; low > 0 && i < v->length; i++) {
        int64_t index = tl_row_number(pick, i);
        set_number(memory, pick, i, index < 0 ? -1 : index - low);
    }
    tl_status s =
        tl_align_picked(job, plan->children, dictionary, low, high + 1 - low, pick, v->length, frame, out, err);
    tl_free(memory);
    return s;
}

static tl_status align_runs(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                            tl_error *err) {
    const struct ArrowArray *values = v->array->children[1];
    void *memory = NULL;
    tl_row_numbers pick;
    TL_TRY(alloc_numbers(v->length, values->length, &memory, &pick, err));
    tl_runs runs;
    int64_t first = -1, last = -1;
    tl_runs_start(v, &runs);
    while (tl_runs_next(&runs)) {
        first = first < 0 ? runs.run : first;
        last = runs.run;
        for (int64_t i = runs.row; i < runs.row + runs.count; i++) {
            set_number(memory, pick, i, tl_view_valid(v, i) ? runs.run - first : -1);
        }
    }
    first = first < 0 ? 0 : first;
    tl_status s = tl_align_picked(job, plan->children, values, first, last < 0 ? 0 : last + 1 - first, pick, v->length,
                                  frame, out, err);
    tl_free(memory);
    return s;
}

/* ---- the node ---- */

static tl_status convert(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                         tl_error *err) {
    if (v->length == 0 || plan->step == TL_STEP_MISSING) {
        return tl_align_nulls(job, plan->to, v->length, out, err);
    }
    *out = (tl_column){.length = v->length, .validity = v->validity.data, .validity_offset = v->validity.offset};
    tl_column_shape(plan->to, out);
    switch (plan->step) {
    case TL_STEP_LEAF: return plan->leaf(job, plan, v, frame, out, err);
    case TL_STEP_DICTIONARY: return align_dictionary(job, plan, v, frame, out, err);
    case TL_STEP_RUNS: return align_runs(job, plan, v, frame, out, err);
    default: return tl_align_nested(job, plan, v, frame, out, err);
    }
}

tl_status tl_align_node(tl_job *job, const tl_plan *plan, const struct ArrowArray *array, int64_t from, int64_t n,
                        tl_bits live, const tl_frame *frame, tl_column *out, tl_error *err) {
    tl_view v = {.length = n};
    if (plan->from) {
        tl_status s = tl_view_open(plan->from, array, from, n, live, &v, err);
        if (s == TL_OK) {
            s = merge_validity(job, &v, live, err);
        }
        if (s != TL_OK) {
            tl_error_prefix(err, "column \"%s\": ", plan->path);
            return s;
        }
    }
    tl_status s = convert(job, plan, &v, frame, out, err);
    if (!plan->required || (s != TL_OK && !job->misfit)) {
        return s;
    }
    tl_bits validity = s == TL_OK ? (tl_bits){out->validity, out->validity_offset} : v.validity;
    int64_t row = first_null(validity, live, n);
    if (row >= 0 && (s == TL_OK || tl_frame_row(frame, row) < job->misfit_row)) {
        return tl_misfit(job, plan, NULL, frame, row, TL_WHY_NULL, err);
    }
    if (s == TL_OK) {
        out->validity = NULL; /* what is left are rows that do not matter */
        out->validity_offset = 0;
    }
    return s;
}
