/* Floating point to everything it is exactly. */
#include <math.h>
#include <string.h>

#include "append/align_internal.h"

enum { BLOCK = 1024 };

static double from_half(uint16_t h) {
    int exponent = (h >> 10) & 31, mantissa = h & 1023;
    double m = exponent == 31 ? (mantissa ? NAN : HUGE_VAL)
               : exponent     ? ldexp(mantissa + 1024, exponent - 25)
                              : ldexp(mantissa, -24);
    return h & 0x8000 ? -m : m;
}

double tl_view_real(const tl_view *v, int64_t i) {
    uint16_t h;
    float f;
    double d;
    switch (v->type->id) {
    case TL_ARROW_FLOAT16: memcpy(&h, v->values + i * 2, 2); return from_half(h);
    case TL_ARROW_FLOAT32: memcpy(&f, v->values + i * 4, 4); return (double)f;
    default: memcpy(&d, v->values + i * 8, 8); return d;
    }
}

static bool is_minus_zero(double v) {
    return v == 0 && signbit(v);
}

/* v * 10^scale as a whole number below 10^precision, without any rounding. */
static bool to_decimal(double v, int32_t precision, int32_t scale, tl_i128 *out) {
    if (!isfinite(v) || is_minus_zero(v)) {
        return false;
    }
    *out = 0;
    if (v == 0) {
        return true;
    }
    int exponent;
    double fraction = frexp(fabs(v), &exponent);
    uint64_t m = (uint64_t)ldexp(fraction, 53); /* |v| = m * 2^(exponent - 53) */
    exponent -= 53;
    int zeros = __builtin_ctzll(m);
    m >>= zeros;
    exponent += zeros;
    /* m is odd: the factor 2^-exponent must come out of 10^scale = 5^scale * 2^scale. */
    if (exponent < -scale || exponent > 127) {
        return false;
    }
    tl_u128 limit = tl_power_of_ten(precision), w = m;
    for (int32_t i = 0; i < scale; i++) {
        if (__builtin_mul_overflow(w, (tl_u128)5, &w)) {
            return false;
        }
    }
    for (int shift = exponent + scale; shift > 0; shift--) {
        if (w >= limit) {
            return false;
        }
        w <<= 1;
    }
    if (w >= limit) {
        return false;
    }
    *out = v < 0 ? -(tl_i128)w : (tl_i128)w;
    return true;
}

/* The integer that `v` is; 0 and false when it is none. -0.0 is none: its sign would be lost. */
static inline bool to_whole(double v, double low, double high, int64_t *out) {
    bool in = v >= low && v < high;
    int64_t x = in ? (int64_t)v : 0;
    *out = x;
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return in && (double)x == v && bits != UINT64_C(1) << 63;
}

static inline bool to_float(double v, float *out) {
    *out = (float)v;
    return (double)*out == v || v != v;
}

static tl_status to_narrower(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, uint8_t *values,
                             tl_error *err) {
    tl_type_id to = plan->to->id;
    for (int64_t from = 0; from < v->length; from += BLOCK) {
        int64_t end = v->length - from < BLOCK ? v->length : from + BLOCK;
        bool bad = false;
        for (int64_t i = from; i < end; i++) {
            double x = tl_view_real(v, i);
            int64_t whole;
            float f;
            if (to == TL_TYPE_LONG) {
                bad |= !to_whole(x, -0x1p63, 0x1p63, &whole);
                tl_store_u64(values + i * 8, (uint64_t)whole);
            } else if (to == TL_TYPE_INT) {
                bad |= !to_whole(x, -0x1p31, 0x1p31, &whole);
                tl_store_u32(values + i * 4, (uint32_t)whole);
            } else {
                bad |= !to_float(x, &f);
                memcpy(values + i * 4, &f, 4);
            }
        }
        for (int64_t i = from; bad && i < end; i++) {
            double x = tl_view_real(v, i), limit = to == TL_TYPE_LONG ? 0x1p63 : 0x1p31;
            int64_t whole;
            float f;
            if (tl_view_valid(v, i) && !(to == TL_TYPE_FLOAT ? to_float(x, &f) : to_whole(x, -limit, limit, &whole))) {
                return tl_misfit(job, plan, v, frame, i, TL_WHY_FIT, err);
            }
        }
    }
    return TL_OK;
}

static tl_status to_decimals(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, uint8_t *values,
                             tl_error *err) {
    for (int64_t i = 0; i < v->length; i++) {
        tl_i128 d = 0;
        if (tl_view_valid(v, i) && !to_decimal(tl_view_real(v, i), plan->to->precision, plan->to->scale, &d)) {
            return tl_misfit(job, plan, v, frame, i, TL_WHY_FIT, err);
        }
        memcpy(values + i * 16, &d, 16);
    }
    return TL_OK;
}

tl_status tl_align_real(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                        tl_error *err) {
    tl_arrow_id from = v->type->id;
    tl_type_id to = plan->to->id;
    size_t width = (size_t)out->width;
    if ((from == TL_ARROW_FLOAT64 && to == TL_TYPE_DOUBLE) || (from == TL_ARROW_FLOAT32 && to == TL_TYPE_FLOAT)) {
        return tl_job_borrow(job, v->values, v->length, width, width, &out->values, err);
    }
    uint8_t *values = NULL;
    TL_TRY(tl_job_alloc(job, v->length, width, &values, err));
    out->values = values;
    if (to == TL_TYPE_DOUBLE && from == TL_ARROW_FLOAT32) {
        for (int64_t i = 0; i < v->length; i++) {
            float f;
            memcpy(&f, v->values + i * 4, 4);
            double d = (double)f;
            memcpy(values + i * 8, &d, 8);
        }
        return TL_OK;
    }
    if (to == TL_TYPE_DOUBLE) {
        for (int64_t i = 0; i < v->length; i++) {
            double d = tl_view_real(v, i);
            memcpy(values + i * 8, &d, 8);
        }
        return TL_OK;
    }
    return to == TL_TYPE_DECIMAL ? to_decimals(job, plan, v, frame, values, err)
                                 : to_narrower(job, plan, v, frame, values, err);
}
