/* Copies rows by number, one column kind at a time. */
#include "arrow/gather.h"

#include "base/mem.h"

static tl_status get(tl_memory memory, int64_t n, size_t size, void *out, tl_error *err) {
    size_t bytes;
    void *p = n >= 0 && tl_size_mul((size_t)n, size, &bytes) ? memory.alloc(memory.ctx, bytes ? bytes : 1) : NULL;
    memcpy(out, &p, sizeof p);
    return p ? TL_OK : tl_fail_memory(err, n >= 0 ? (size_t)n * size : SIZE_MAX);
}

/* The row a result row comes from; -1 = null. */
static inline int64_t source_row(const tl_column *c, tl_row_numbers index, int64_t i) {
    int64_t row = tl_row_number(index, i);
    return row >= 0 && !tl_column_is_null(c, row) ? row : -1;
}

static tl_status gather_validity(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                                 tl_error *err) {
    bool any = false;
    for (int64_t i = 0; i < n && !any; i++) {
        any = source_row(c, index, i) < 0;
    }
    if (!any) {
        return TL_OK;
    }
    uint8_t *bits = NULL;
    TL_TRY(get(memory, (n + 7) / 8, 1, &bits, err));
    memset(bits, 0, (size_t)(n + 7) / 8);
    for (int64_t i = 0; i < n; i++) {
        if (source_row(c, index, i) >= 0) {
            tl_bit_set(bits, i);
        }
    }
    out->validity = bits;
    return TL_OK;
}

static tl_status gather_bool(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                             tl_error *err) {
    uint8_t *bits = NULL;
    TL_TRY(get(memory, (n + 7) / 8, 1, &bits, err));
    memset(bits, 0, (size_t)(n + 7) / 8);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = source_row(c, index, i);
        if (row >= 0 && tl_column_bool(c, row)) {
            tl_bit_set(bits, i);
        }
    }
    out->values = bits;
    return TL_OK;
}

static tl_status gather_fixed(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                              tl_error *err) {
    uint8_t *values = NULL;
    size_t w = (size_t)c->width;
    TL_TRY(get(memory, n, w, &values, err));
    out->values = values;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = source_row(c, index, i);
        uint8_t *to = values + (size_t)i * w;
        if (row < 0) {
            memset(to, 0, w);
        } else if (w == 8) {
            memcpy(to, c->values + (size_t)row * 8, 8);
        } else if (w == 4) {
            memcpy(to, c->values + (size_t)row * 4, 4);
        } else if (w) {
            memcpy(to, c->values + (size_t)row * w, w);
        }
    }
    return TL_OK;
}

/* Can n values of `c` be no more than INT32_MAX bytes or elements, whichever they are? */
static bool is_surely_narrow(const tl_column *c, int64_t n) {
    int64_t longest = 0, total;
    for (int64_t i = 0; i < c->length; i++) {
        int64_t size = tl_column_offset(c, i + 1) - tl_column_offset(c, i);
        longest = size > longest ? size : longest;
    }
    return tl_i64_mul(longest, n, &total) && total <= INT32_MAX;
}

/* The offsets of the result for BYTES and LIST: 32 bits where they are sure to fit. */
static tl_status gather_offsets(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                                int64_t *total, tl_error *err) {
    bool narrow = is_surely_narrow(c, n);
    void *offsets = NULL;
    TL_TRY(get(memory, n + 1, narrow ? 4 : 8, &offsets, err));
    int32_t *o32 = narrow ? offsets : NULL;
    int64_t *o64 = narrow ? NULL : offsets;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = source_row(c, index, i);
        if (narrow) {
            o32[i] = (int32_t)at;
        } else {
            o64[i] = at;
        }
        if (row >= 0 && !tl_i64_add(at, tl_column_offset(c, row + 1) - tl_column_offset(c, row), &at)) {
            return tl_fail_memory(err, SIZE_MAX);
        }
    }
    if (narrow) {
        o32[n] = (int32_t)at;
    } else {
        o64[n] = at;
    }
    out->offsets32 = o32;
    out->offsets64 = o64;
    *total = at;
    return TL_OK;
}

/* Copies values one behind the other. Short ones go as 32 bytes at once where the source has as many: a fixed length is
 * a register move, a variable one a call. `p` has room for 32 bytes more than the values have. */
static void copy_bytes(const tl_column *c, tl_row_numbers index, int64_t n, uint8_t *p) {
    const uint8_t *end = c->data + (c->length > 0 ? tl_column_offset(c, c->length) : 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = source_row(c, index, i);
        if (row < 0) {
            continue;
        }
        tl_bytes b = tl_column_bytes(c, row);
        if (b.len <= 32 && end - b.data >= 32) {
            memcpy(p, b.data, 16);
            memcpy(p + 16, b.data + 16, 16);
        } else if (b.len) {
            memcpy(p, b.data, b.len);
        }
        p += b.len;
    }
}

static tl_status gather_bytes(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                              tl_error *err) {
    int64_t total = 0;
    uint8_t *data = NULL;
    TL_TRY(gather_offsets(c, index, n, memory, out, &total, err));
    TL_TRY(get(memory, total + 32, 1, &data, err));
    copy_bytes(c, index, n, data);
    out->data = data;
    return TL_OK;
}

static tl_status gather_struct(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                               tl_error *err) {
    tl_column *children = NULL;
    TL_TRY(get(memory, c->n_children, sizeof *children, &children, err));
    for (int64_t k = 0; k < c->n_children; k++) {
        TL_TRY(tl_column_gather(&c->children[k], index, n, memory, &children[k], err));
    }
    out->n_children = c->n_children;
    out->children = children;
    return TL_OK;
}

static tl_status gather_list(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                             tl_error *err) {
    int64_t total = 0, at = 0;
    tl_column *child = NULL;
    TL_TRY(gather_offsets(c, index, n, memory, out, &total, err));
    TL_TRY(get(memory, 1, sizeof *child, &child, err));
    int64_t *elements = tl_alloc_array((size_t)total, 8);
    if (!elements) {
        return tl_fail_memory(err, (size_t)total * 8);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = source_row(c, index, i);
        for (int64_t e = row >= 0 ? tl_column_offset(c, row) : 0, to = row >= 0 ? tl_column_offset(c, row + 1) : 0;
             e < to; e++) {
            elements[at++] = e;
        }
    }
    tl_status s = tl_column_gather(c->children, (tl_row_numbers){.wide = elements}, total, memory, child, err);
    tl_free(elements);
    out->n_children = 1;
    out->children = child;
    return s;
}

tl_status tl_column_gather(const tl_column *c, tl_row_numbers index, int64_t n, tl_memory memory, tl_column *out,
                           tl_error *err) {
    *out = (tl_column){.kind = c->kind, .width = c->width, .length = n};
    TL_TRY(gather_validity(c, index, n, memory, out, err));
    switch (c->kind) {
    case TL_COLUMN_BOOL: return gather_bool(c, index, n, memory, out, err);
    case TL_COLUMN_FIXED: return gather_fixed(c, index, n, memory, out, err);
    case TL_COLUMN_BYTES: return gather_bytes(c, index, n, memory, out, err);
    case TL_COLUMN_STRUCT: return gather_struct(c, index, n, memory, out, err);
    case TL_COLUMN_LIST: return gather_list(c, index, n, memory, out, err);
    }
    return tl_fail(err, TL_INTERNAL, "a column of no known kind");
}
