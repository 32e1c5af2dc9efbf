/*
 * Physical values into Arrow's. Comes in: the vector of a leaf. Goes out: an Arrow array that owns its buffers.
 */
#include <string.h>

#include "parquet/reader_internal.h"

/* ---- arrays ---- */

typedef struct array_block {
    void *owned[3];
    const void *buffers[3];
    struct ArrowArray *children;
    struct ArrowArray **pointers;
} array_block;

static void array_release(struct ArrowArray *a) {
    array_block *block = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (block->children[i].release) {
            block->children[i].release(&block->children[i]);
        }
    }
    for (size_t i = 0; i < TL_COUNT(block->owned); i++) {
        tl_free(block->owned[i]);
    }
    tl_free(block);
    a->release = NULL;
}

tl_status tl_pq_array_make(int64_t length, int64_t null_count, int64_t n_buffers, void *const buffers[3],
                           int64_t n_children, struct ArrowArray *out, tl_error *err) {
    size_t n = (size_t)n_children, size = sizeof(array_block) + n * (sizeof(struct ArrowArray) + sizeof(void *));
    array_block *block = tl_calloc(1, size);
    if (!block) {
        return tl_fail_memory(err, size);
    }
    block->children = (struct ArrowArray *)(block + 1);
    block->pointers = (struct ArrowArray **)(block->children + n);
    for (size_t i = 0; i < n; i++) {
        block->pointers[i] = &block->children[i];
    }
    for (int64_t i = 0; i < n_buffers; i++) {
        block->owned[i] = buffers[i];
        block->buffers[i] = buffers[i];
    }
    *out = (struct ArrowArray){.length = length,
                               .null_count = null_count,
                               .n_buffers = n_buffers,
                               .n_children = n_children,
                               .buffers = block->buffers,
                               .children = n ? block->pointers : NULL,
                               .release = array_release,
                               .private_data = block};
    return TL_OK;
}

/* ---- values in place ---- */

static void pack_bits(uint8_t *values, int64_t n) {
    for (int64_t i = 0; i < n; i += 8) {
        unsigned byte = 0;
        for (int64_t k = 0; k < 8 && i + k < n; k++) {
            byte |= (unsigned)(values[i + k] & 1) << k;
        }
        values[i >> 3] = (uint8_t)byte;
    }
}

static void narrow(uint8_t *values, int64_t n, int32_t width) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t v = tl_load_u32(values + i * 4);
        if (width == 1) {
            values[i] = (uint8_t)v;
        } else {
            uint16_t half = (uint16_t)v;
            memcpy(values + i * 2, &half, 2);
        }
    }
}

/* INT96 = nanoseconds of the day (int64), Julian day (int32). */
static tl_status timestamps(const tl_pq_node *node, tl_pq_vector *v, tl_error *err) {
    const int64_t epoch = 2440588, per_day = node->int96_micros ? INT64_C(86400000000) : INT64_C(86400000000000);
    for (int64_t i = 0; i < v->n; i++) {
        int64_t nanos = tl_load_i64(v->values + i * 12), days = tl_load_i32(v->values + i * 12 + 8), value;
        if (v->has_validity && !tl_bit(v->validity, i)) {
            days = epoch;
            nanos = 0;
        }
        nanos = node->int96_micros ? tl_floor_div(nanos, 1000) : nanos;
        if (!tl_i64_mul(days - epoch, per_day, &value) || !tl_i64_add(value, nanos, &value)) {
            return tl_fail(err, TL_UNSUPPORTED, "INT96 timestamp of Julian day %lld does not fit %s; %s",
                           (long long)days, node->format,
                           node->int96_micros ? "it is not read" : "read INT96 as microseconds instead");
        }
        memcpy(v->values + i * 8, &value, 8);
    }
    return TL_OK;
}

/* ---- decimals ---- */

/* Big-endian two's complement of any length into `width` little-endian bytes; false when it does not fit. */
static bool decimal_from_bytes(const uint8_t *from, size_t len, size_t width, uint8_t *to) {
    uint8_t sign = len && from[0] & 0x80 ? 0xff : 0;
    for (; len > width; len--, from++) {
        if (from[0] != sign || (from[1] & 0x80) != (sign & 0x80)) {
            return false;
        }
    }
    memset(to, sign, width);
    for (size_t i = 0; i < len; i++) {
        to[i] = from[len - 1 - i];
    }
    return true;
}

static void decimal_from_int(int64_t value, size_t width, uint8_t *to) {
    memset(to, value < 0 ? 0xff : 0, width);
    memcpy(to, &value, 8);
}

static tl_status decimals(const tl_pq_node *node, tl_pq_vector *v, uint8_t **out, tl_error *err) {
    size_t width = (size_t)node->out_width, bytes, from_width = (size_t)v->width;
    if (!tl_size_mul((size_t)v->n, width, &bytes) || bytes > v->budget->limit) {
        return tl_fail_memory(err, bytes);
    }
    uint8_t *to = tl_alloc_aligned(bytes);
    if (!to) {
        return tl_fail_memory(err, bytes);
    }
    for (int64_t i = 0; i < v->n; i++) {
        uint8_t *at = to + (size_t)i * width;
        if (v->type == TL_PQ_INT32) {
            decimal_from_int(tl_load_i32(v->values + i * 4), width, at);
            continue;
        }
        if (v->type == TL_PQ_INT64) {
            decimal_from_int(tl_load_i64(v->values + i * 8), width, at);
            continue;
        }
        bool text = v->type == TL_PQ_BYTE_ARRAY;
        size_t len = text ? (size_t)(v->offsets[i + 1] - v->offsets[i]) : from_width;
        const uint8_t *from = !text ? v->values + (size_t)i * len : len ? v->data + v->offsets[i] : NULL;
        if (!decimal_from_bytes(from, len, width, at)) {
            tl_free(to);
            return tl_fail(err, TL_CORRUPT, "a decimal of %zu bytes does not fit %s", len, node->format);
        }
    }
    *out = to;
    return TL_OK;
}

/* ---- leaves ---- */

static tl_status hand_over(const tl_pq_node *node, tl_pq_vector *v, uint8_t *decimal, struct ArrowArray *out,
                           tl_error *err) {
    bool text = v->type == TL_PQ_BYTE_ARRAY && !decimal;
    void *buffers[3] = {v->has_validity ? v->validity : NULL,
                        decimal ? decimal
                        : text  ? (void *)v->offsets
                                : v->values,
                        text ? v->data : NULL};
    int64_t nulls = v->has_validity ? v->n_nulls : 0;
    if (node->out == TL_PQ_OUT_NULL) {
        return tl_pq_array_make(v->n, v->n, 0, buffers, 0, out, err);
    }
    TL_TRY(tl_pq_array_make(v->n, nulls, text ? 3 : 2, buffers, 0, out, err));
    tl_pq_vector_disown(v, decimal != NULL);
    return TL_OK;
}

tl_status tl_pq_convert_leaf(const tl_pq_node *node, tl_pq_vector *v, struct ArrowArray *out, tl_error *err) {
    uint8_t *decimal = NULL;
    TL_TRY(tl_pq_vector_reserve(v, 0, err)); /* so that an array without rows has its buffers too */
    switch (node->out) {
    case TL_PQ_OUT_SAME:
    case TL_PQ_OUT_NULL: break;
    case TL_PQ_OUT_BITS: pack_bits(v->values, v->n); break;
    case TL_PQ_OUT_NARROW: narrow(v->values, v->n, node->out_width); break;
    case TL_PQ_OUT_TIMESTAMP: TL_TRY(timestamps(node, v, err)); break;
    case TL_PQ_OUT_DECIMAL: TL_TRY(decimals(node, v, &decimal, err)); break;
    }
    tl_status status = hand_over(node, v, decimal, out, err);
    if (status != TL_OK) {
        tl_free(decimal);
    }
    return status;
}
