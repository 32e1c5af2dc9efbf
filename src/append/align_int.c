/* Booleans and integers to everything they fit. */
#include <string.h>

#include "append/align_internal.h"

enum { BLOCK = 1024 };

tl_i128 tl_view_whole(const tl_view *v, int64_t i) {
    if (v->type->id == TL_ARROW_BOOL) {
        return tl_bits_at(v->value_bits, i);
    }
    int64_t x = tl_view_int(v, i);
    return v->type->id == TL_ARROW_UINT64 ? (tl_i128)(uint64_t)x : x;
}

#define E19 ((tl_u128)UINT64_C(10000000000000000000))
#define TEN_POWERS(by)                                                                                                 \
    by * 1u, by * 10u, by * 100u, by * 1000u, by * 10000u, by * 100000u, by * 1000000u, by * 10000000u,                \
        by * 100000000u, by * 1000000000u, by *UINT64_C(10000000000), by *UINT64_C(100000000000),                      \
        by *UINT64_C(1000000000000), by *UINT64_C(10000000000000), by *UINT64_C(100000000000000),                      \
        by *UINT64_C(1000000000000000), by *UINT64_C(10000000000000000), by *UINT64_C(100000000000000000),             \
        by *UINT64_C(1000000000000000000)

tl_u128 tl_power_of_ten(int32_t n) {
    static const tl_u128 powers[] = {TEN_POWERS((tl_u128)1), TEN_POWERS(E19), E19 * E19};
    _Static_assert(TL_COUNT(powers) == 39, "10^0 to 10^38");
    return powers[n];
}

bool tl_rescale(tl_i128 v, int32_t by, int32_t precision, tl_i128 *out) {
    tl_u128 limit = tl_power_of_ten(precision), m = v < 0 ? 0 - (tl_u128)v : (tl_u128)v;
    if (by < 0) {
        tl_u128 unit = -by <= 38 ? tl_power_of_ten(-by) : 0;
        if (unit == 0 ? m != 0 : m % unit != 0) {
            return false;
        }
        m = unit == 0 ? 0 : m / unit;
    } else if (m != 0) {
        if (by > 38 || __builtin_mul_overflow(m, tl_power_of_ten(by), &m)) {
            return false;
        }
    }
    if (m >= limit) {
        return false;
    }
    *out = v < 0 ? -(tl_i128)m : (tl_i128)m;
    return true;
}

/* ---- one value ---- */

/* Is |v| a double or float without rounding: `bits` significant bits, 53 or 24? */
static bool is_exact(tl_i128 v, int bits) {
    uint64_t m = (uint64_t)(v < 0 ? -v : v); /* |v| <= 2^64 - 1 */
    return m == 0 || 64 - __builtin_clzll(m) - __builtin_ctzll(m) <= bits;
}

/* Stores `v` as row i of a target's values; false when it does not fit. */
static bool store(tl_i128 v, const tl_type *to, uint8_t *values, int64_t i) {
    switch (to->id) {
    case TL_TYPE_BOOLEAN:
        if (v == 1) {
            tl_bit_set(values, i);
        }
        return v == 0 || v == 1;
    case TL_TYPE_INT: tl_store_u32(values + i * 4, (uint32_t)v); return v >= INT32_MIN && v <= INT32_MAX;
    case TL_TYPE_FLOAT: {
        float f = (float)v;
        memcpy(values + i * 4, &f, 4);
        return is_exact(v, 24);
    }
    case TL_TYPE_DOUBLE: {
        double d = (double)v;
        memcpy(values + i * 8, &d, 8);
        return is_exact(v, 53);
    }
    case TL_TYPE_DECIMAL: {
        tl_i128 d = 0;
        bool fits = tl_rescale(v, to->scale, to->precision, &d);
        memcpy(values + i * 16, &d, 16);
        return fits;
    }
    default: tl_store_u64(values + i * 8, (uint64_t)v); return v >= INT64_MIN && v <= INT64_MAX;
    }
}

/* ---- blocks ---- */

#define LOAD(T)                                                                                                        \
    for (int64_t k = 0; k < n; k++) {                                                                                  \
        T x;                                                                                                           \
        memcpy(&x, p + (i + k) * (int64_t)sizeof x, sizeof x);                                                         \
        out[k] = (int64_t)x;                                                                                           \
    }                                                                                                                  \
    break

static void load(const tl_view *v, int64_t i, int64_t n, int64_t *out) {
    const uint8_t *p = v->values;
    switch (v->type->id) {
    case TL_ARROW_INT8: LOAD(int8_t);
    case TL_ARROW_INT16: LOAD(int16_t);
    case TL_ARROW_INT32: LOAD(int32_t);
    case TL_ARROW_UINT8: LOAD(uint8_t);
    case TL_ARROW_UINT16: LOAD(uint16_t);
    case TL_ARROW_UINT32: LOAD(uint32_t);
    case TL_ARROW_BOOL:
        for (int64_t k = 0; k < n; k++) {
            out[k] = tl_bits_at(v->value_bits, i + k);
        }
        break;
    default: LOAD(int64_t); /* int64; uint64 beyond it becomes negative */
    }
}

/* Stores a block at once. True when every value is sure to fit; false = look at each. */
static bool store_block(const int64_t *in, int64_t n, const tl_type *to, uint8_t *values, int64_t i) {
    bool bad = false;
    switch (to->id) {
    case TL_TYPE_INT: {
        int32_t *out = (int32_t *)(void *)values + i;
        for (int64_t k = 0; k < n; k++) {
            out[k] = (int32_t)in[k];
            bad |= out[k] != in[k];
        }
        return !bad;
    }
    case TL_TYPE_FLOAT: {
        float *out = (float *)(void *)values + i;
        for (int64_t k = 0; k < n; k++) {
            out[k] = (float)in[k];
            bad |= in[k] > (1 << 24) || in[k] < -(1 << 24);
        }
        return !bad;
    }
    case TL_TYPE_DOUBLE: {
        double *out = (double *)(void *)values + i;
        for (int64_t k = 0; k < n; k++) {
            out[k] = (double)in[k];
            bad |= in[k] > (INT64_C(1) << 53) || in[k] < -(INT64_C(1) << 53);
        }
        return !bad;
    }
    case TL_TYPE_BOOLEAN:
    case TL_TYPE_DECIMAL: return false;
    default: memcpy(values + i * 8, in, (size_t)n * 8); return true;
    }
}

static bool is_same_layout(tl_arrow_id from, tl_type_id to) {
    return (from == TL_ARROW_INT32 && to == TL_TYPE_INT) ||
           (from == TL_ARROW_INT64 && (to == TL_TYPE_LONG || to == TL_TYPE_TIMESTAMP || to == TL_TYPE_TIMESTAMPTZ));
}

static tl_status convert(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, uint8_t *values,
                         tl_error *err) {
    int64_t block[BLOCK];
    for (int64_t i = 0; i < v->length; i += BLOCK) {
        int64_t n = v->length - i < BLOCK ? v->length - i : BLOCK;
        load(v, i, n, block);
        bool sure = store_block(block, n, plan->to, values, i);
        if (sure && v->type->id != TL_ARROW_UINT64) {
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            if (sure && block[k] >= 0) {
                continue; /* uint64 within int64 */
            }
            if (tl_view_valid(v, i + k) && !store(tl_view_whole(v, i + k), plan->to, values, i + k)) {
                return tl_misfit(job, plan, v, frame, i + k, TL_WHY_FIT, err);
            }
        }
    }
    return TL_OK;
}

tl_status tl_align_int(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                       tl_error *err) {
    if (v->type->id == TL_ARROW_BOOL && plan->to->id == TL_TYPE_BOOLEAN) {
        out->values = v->value_bits.data;
        out->values_offset = v->value_bits.offset;
        return TL_OK;
    }
    if (is_same_layout(v->type->id, plan->to->id)) {
        size_t width = (size_t)out->width;
        return tl_job_borrow(job, v->values, v->length, width, width, &out->values, err);
    }
    uint8_t *values = NULL;
    if (out->kind == TL_COLUMN_BOOL) {
        TL_TRY(tl_job_alloc(job, (v->length + 7) / 8, 1, &values, err));
        memset(values, 0, (size_t)(v->length + 7) / 8);
    } else {
        TL_TRY(tl_job_alloc(job, v->length, (size_t)out->width, &values, err));
        if (out->width == 16) {
            memset(values, 0, (size_t)v->length * 16); /* rows that are null are not stored one by one */
        }
    }
    out->values = values;
    return convert(job, plan, v, frame, values, err);
}
