/*
 * Vectors: the growing buffers that the decoders fill. Comes in: room to make, slots to spread or to copy. Goes out:
 * buffers that an Arrow array can take over as they are.
 */
#include <string.h>

#include "parquet/decode_internal.h"

/* A buffer of `size` bytes and the slack in place of an older one; the budget counts both. */
static tl_status regrow(tl_pq_vector *v, uint8_t **buffer, size_t keep, size_t old_size, size_t size, tl_error *err) {
    tl_pq_budget *b = v->budget;
    size_t used = b->used - (*buffer ? old_size : 0);
    if (size > b->limit || used > b->limit - size) {
        b->too_large = true;
        return tl_fail(
            err, TL_NO_MEMORY,
            "decoding would take more than the memory limit of %zu bytes; read fewer columns or rows at once",
            b->limit);
    }
    if (keep == 0) { /* nothing to copy: do not hold both */
        tl_free(*buffer);
        *buffer = NULL;
        b->used = used;
    }
    uint8_t *fresh = size <= SIZE_MAX - TL_PQ_SLACK ? tl_alloc_aligned(size + TL_PQ_SLACK) : NULL;
    if (!fresh) {
        return tl_fail_memory(err, size);
    }
    if (keep) {
        memcpy(fresh, *buffer, keep);
    }
    tl_free(*buffer);
    *buffer = fresh;
    b->used = used + size;
    return TL_OK;
}

static size_t bit_bytes(int64_t n) {
    return (size_t)(n + 7) / 8;
}

static tl_status grow_offsets(tl_pq_vector *v, int64_t cap, tl_error *err) {
    uint8_t *buffer = (uint8_t *)v->offsets;
    size_t keep = v->offsets ? ((size_t)v->n + 1) * 4 : 0;
    TL_TRY(regrow(v, &buffer, keep, ((size_t)v->cap + 1) * 4, ((size_t)cap + 1) * 4, err));
    v->offsets = (int32_t *)(void *)buffer;
    if (!keep) {
        v->offsets[0] = 0;
    }
    return TL_OK;
}

tl_status tl_pq_vector_reserve(tl_pq_vector *v, int64_t slots, tl_error *err) {
    int64_t need;
    size_t bytes;
    if (!tl_i64_add(v->n, slots, &need)) {
        return tl_fail(err, TL_CORRUPT, "too many values");
    }
    if (need <= v->cap && (v->values || v->offsets)) {
        return TL_OK;
    }
    if (v->external) {
        return tl_fail(err, TL_CORRUPT, "the pages hold more values than the row group has rows");
    }
    int64_t cap = v->cap > INT64_MAX / 2 ? need : v->cap * 2;
    cap = cap < need ? need : cap;
    cap = cap < v->hint ? v->hint : cap;
    size_t width = v->type == TL_PQ_BYTE_ARRAY ? 4 : (size_t)v->width;
    if (!tl_size_mul((size_t)cap + 1, width, &bytes)) {
        return tl_fail_memory(err, SIZE_MAX);
    }
    if (v->type == TL_PQ_BYTE_ARRAY) {
        TL_TRY(grow_offsets(v, cap, err));
    } else {
        TL_TRY(regrow(v, &v->values, (size_t)v->n * width, (size_t)v->cap * width, (size_t)cap * width, err));
    }
    if (v->validity) {
        size_t keep = v->has_validity ? bit_bytes(v->n) : 0;
        TL_TRY(regrow(v, &v->validity, keep, bit_bytes(v->cap), bit_bytes(cap), err));
    }
    v->cap = cap;
    return TL_OK;
}

tl_status tl_pq_vector_need_validity(tl_pq_vector *v, tl_error *err) {
    if (v->has_validity) {
        return TL_OK;
    }
    if (!v->validity) {
        TL_TRY(regrow(v, &v->validity, 0, 0, bit_bytes(v->cap), err));
    }
    tl_pq_bits_fill(v->validity, 0, v->n, true);
    v->has_validity = true;
    return TL_OK;
}

tl_status tl_pq_vector_reserve_data(tl_pq_vector *v, size_t bytes, tl_error *err) {
    size_t need;
    if (!tl_size_add(v->data_len, bytes, &need) || need > INT32_MAX) {
        v->budget->too_large = true;
        return tl_fail(err, TL_UNSUPPORTED, "more than 2147483647 bytes of text in one batch; read fewer rows at once");
    }
    if (need <= v->data_cap && v->data) {
        return TL_OK;
    }
    size_t cap = v->data_cap * 2;
    if (v->n > 0 && v->hint > v->n) { /* what the rest will take if it goes on like this */
        double guess = (double)v->data_len / (double)v->n * (double)v->hint * 1.05;
        cap = guess < 8.0 * (double)need && guess > (double)cap ? (size_t)guess : cap;
    }
    cap = cap < need ? need : cap;
    cap = cap > INT32_MAX ? INT32_MAX : cap;
    TL_TRY(regrow(v, &v->data, v->data_len, v->data_cap, cap, err));
    v->data_cap = cap;
    return TL_OK;
}

tl_status tl_pq_vector_reserve_levels(tl_pq_vector *v, int64_t levels, tl_error *err) {
    int64_t need;
    if (!tl_i64_add(v->n_levels, levels, &need)) {
        return tl_fail(err, TL_CORRUPT, "too many levels");
    }
    if (need <= v->cap_levels && (v->def || v->max_def == 0)) {
        return TL_OK;
    }
    int64_t cap = v->cap_levels > INT64_MAX / 2 ? need : v->cap_levels * 2;
    cap = cap < need ? need : cap;
    cap = cap < v->hint ? v->hint : cap;
    if (v->max_def > 0) {
        TL_TRY(regrow(v, &v->def, (size_t)v->n_levels, v->def ? (size_t)v->cap_levels : 0, (size_t)cap, err));
    }
    if (v->max_rep > 0) {
        TL_TRY(regrow(v, &v->rep, (size_t)v->n_levels, v->rep ? (size_t)v->cap_levels : 0, (size_t)cap, err));
    }
    v->cap_levels = cap;
    return TL_OK;
}

void tl_pq_vector_clear(tl_pq_vector *v) {
    v->n_levels = v->n = v->n_nulls = 0;
    v->has_validity = false;
    v->data_len = 0;
    if (v->offsets) {
        v->offsets[0] = 0;
    }
}

static size_t value_bytes(const tl_pq_vector *v) {
    size_t used = v->values && !v->external ? (size_t)v->cap * (size_t)v->width : 0;
    used += v->offsets ? ((size_t)v->cap + 1) * 4 : 0;
    return used + (v->data ? v->data_cap : 0);
}

void tl_pq_vector_disown(tl_pq_vector *v, bool keep_values) {
    if (v->has_validity) {
        v->budget->handed += bit_bytes(v->cap);
        v->validity = NULL;
    }
    if (!keep_values) {
        v->budget->handed += value_bytes(v);
        v->values = v->data = NULL;
        v->offsets = NULL;
    }
}

void tl_pq_vector_free(tl_pq_vector *v) {
    size_t used = value_bytes(v) + (v->validity ? bit_bytes(v->cap) : 0);
    used += v->def ? (size_t)v->cap_levels : 0;
    used += v->rep ? (size_t)v->cap_levels : 0;
    if (v->budget) {
        v->budget->used -= used < v->budget->used ? used : v->budget->used;
    }
    tl_free(v->def);
    tl_free(v->rep);
    tl_free(v->validity);
    tl_free(v->external ? NULL : v->values);
    tl_free(v->offsets);
    tl_free(v->data);
    v->def = v->rep = v->validity = v->values = v->data = NULL;
    v->offsets = NULL;
    v->cap = v->cap_levels = 0;
    v->data_cap = 0;
    v->external = false;
    tl_pq_vector_clear(v);
}

/* ---- spreading ---- */

/* Backwards, so that a value is moved before its place is taken. Once as many values as slots are left they are where
 * they belong; once none is left the rest is nulls. */
#define SPREAD_BODY(type)                                                                                              \
    type *out = (type *)(void *)v->values + v->n;                                                                      \
    int64_t j = present, i = slots;                                                                                    \
    while (i > j && j > 0) {                                                                                           \
        i--;                                                                                                           \
        bool valid = tl_bit(v->validity, v->n + i);                                                                    \
        type value = out[j - 1];                                                                                       \
        out[i] = valid ? value : 0;                                                                                    \
        j -= valid;                                                                                                    \
    }                                                                                                                  \
    if (j == 0) {                                                                                                      \
        memset(out, 0, (size_t)i * sizeof *out);                                                                       \
    }

static void spread1(tl_pq_vector *v, int64_t present, int64_t slots) {
    SPREAD_BODY(uint8_t)
}

static void spread4(tl_pq_vector *v, int64_t present, int64_t slots) {
    SPREAD_BODY(uint32_t)
}

static void spread8(tl_pq_vector *v, int64_t present, int64_t slots) {
    SPREAD_BODY(uint64_t)
}

static void spread_any(tl_pq_vector *v, int64_t present, int64_t slots) {
    size_t width = (size_t)v->width;
    uint8_t *out = v->values + (size_t)v->n * width;
    int64_t j = present;
    for (int64_t i = slots - 1; i >= j; i--) {
        if (tl_bit(v->validity, v->n + i)) {
            j--;
            memmove(out + (size_t)i * width, out + (size_t)j * width, width);
        } else {
            memset(out + (size_t)i * width, 0, width);
        }
    }
}

/* Slot i of the dense offsets is [o[i], o[i + 1]); a null slot is empty where the next value begins. */
static void spread_offsets(tl_pq_vector *v, int64_t present, int64_t slots) {
    int32_t *o = v->offsets + v->n;
    int64_t j = present;
    for (int64_t i = slots - 1; i >= j && i >= 0; i--) {
        o[i + 1] = o[j];
        j -= tl_bit(v->validity, v->n + i);
    }
}

void tl_pq_vector_spread(tl_pq_vector *v, int64_t present, int64_t slots) {
    if (present == slots) {
        return;
    }
    if (v->type == TL_PQ_BYTE_ARRAY) {
        spread_offsets(v, present, slots);
        return;
    }
    switch (v->width) {
    case 1: spread1(v, present, slots); break;
    case 4: spread4(v, present, slots); break;
    case 8: spread8(v, present, slots); break;
    default: spread_any(v, present, slots);
    }
}

/* ---- copying ---- */

static tl_status append_text(tl_pq_vector *v, const tl_pq_vector *other, int64_t from, int64_t n, tl_error *err) {
    int32_t begin = other->offsets[from], end = other->offsets[from + n];
    TL_TRY(tl_pq_vector_reserve_data(v, (size_t)(end - begin), err));
    if (end > begin) {
        memcpy(v->data + v->data_len, other->data + begin, (size_t)(end - begin));
    }
    int32_t shift = (int32_t)v->data_len - begin;
    for (int64_t i = 1; i <= n; i++) {
        v->offsets[v->n + i] = other->offsets[from + i] + shift;
    }
    v->data_len += (size_t)(end - begin);
    return TL_OK;
}

/* The texts that indices [from, from + n) stand for; null slots, whose index is 0, become empty. */
static tl_status append_indexed(tl_pq_vector *v, const tl_pq_vector *other, const tl_pq_vector *dict, int64_t from,
                                int64_t n, tl_error *err) {
    const uint32_t *index = (const uint32_t *)(const void *)other->values + from;
    for (int64_t i = 0; i < n; i++) {
        size_t len = 0;
        if (!other->has_validity || tl_bit(other->validity, from + i)) {
            int32_t at = dict->offsets[index[i]];
            len = (size_t)(dict->offsets[index[i] + 1] - at);
            TL_TRY(tl_pq_vector_reserve_data(v, len, err));
            if (len) {
                memcpy(v->data + v->data_len, dict->data + at, len);
            }
        }
        v->data_len += len;
        v->offsets[v->n + i + 1] = (int32_t)v->data_len;
    }
    return TL_OK;
}

static tl_status append_levels(tl_pq_vector *v, const tl_pq_vector *other, int64_t from, int64_t n, tl_error *err) {
    TL_TRY(tl_pq_vector_reserve_levels(v, n, err));
    if (n && v->max_def > 0) {
        memcpy(v->def + v->n_levels, other->def + from, (size_t)n);
    }
    if (n && v->max_rep > 0) {
        memcpy(v->rep + v->n_levels, other->rep + from, (size_t)n);
    }
    v->n_levels += n;
    return TL_OK;
}

tl_status tl_pq_vector_append(tl_pq_vector *v, const tl_pq_vector *other, const tl_pq_vector *dict, int64_t from,
                              int64_t n, int64_t l_from, int64_t n_l, tl_error *err) {
    TL_TRY(tl_pq_vector_reserve(v, n, err));
    if (v->keep_levels) {
        TL_TRY(append_levels(v, other, l_from, n_l, err));
    }
    if (n == 0) { /* `other` may have no buffers yet */
        return TL_OK;
    }
    if (other->has_validity) {
        TL_TRY(tl_pq_vector_need_validity(v, err));
        tl_pq_bits_copy(v->validity, v->n, other->validity, from, n);
        v->n_nulls += n - tl_bits_count(other->validity, from, n);
    } else if (v->has_validity) {
        tl_pq_bits_fill(v->validity, v->n, n, true);
    }
    if (other->indices) {
        TL_TRY(append_indexed(v, other, dict, from, n, err));
    } else if (v->type == TL_PQ_BYTE_ARRAY) {
        TL_TRY(append_text(v, other, from, n, err));
    } else if (v->width) {
        size_t w = (size_t)v->width;
        memcpy(v->values + (size_t)v->n * w, other->values + (size_t)from * w, (size_t)n * w);
    }
    v->n += n;
    return TL_OK;
}
