/* Decimals of any width to decimals, integers and floating point, where no digit is lost. */
#include <math.h>
#include <string.h>

#include "append/align_internal.h"

tl_wide tl_view_wide(const tl_view *v, int64_t i) {
    int32_t width = v->type->width;
    uint64_t limb[4];
    const uint8_t *p = v->values + i * width;
    bool negative = p[width - 1] & 0x80;
    memset(limb, negative ? 0xff : 0, sizeof limb);
    memcpy(limb, p, (size_t)width);
    if (negative) { /* two's complement to magnitude */
        unsigned carry = 1;
        for (int k = 0; k < 4; k++) {
            limb[k] = ~limb[k] + carry;
            carry = carry && limb[k] == 0;
        }
    }
    return (tl_wide){negative, {limb[0], limb[1], limb[2], limb[3]}};
}

/* Divides by a small number and gives the remainder. */
static uint32_t divide(tl_wide *w, uint32_t by) {
    tl_u128 rest = 0;
    for (int k = 3; k >= 0; k--) {
        rest = rest << 64 | w->limb[k];
        w->limb[k] = (uint64_t)(rest / by);
        rest %= by;
    }
    return (uint32_t)rest;
}

/* False when the product does not fit 256 bits. */
static bool multiply(tl_wide *w, uint32_t by) {
    tl_u128 carry = 0;
    for (int k = 0; k < 4; k++) {
        carry += (tl_u128)w->limb[k] * by;
        w->limb[k] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

static bool is_zero(const tl_wide *w) {
    return !(w->limb[0] | w->limb[1] | w->limb[2] | w->limb[3]);
}

size_t tl_print_wide(tl_wide w, int32_t scale, char out[TL_VALUE_TEXT]) {
    char back[96];
    int32_t n = 0;
    bool zero = is_zero(&w);
    do {
        back[n++] = (char)('0' + divide(&w, 10));
    } while (!is_zero(&w));
    char *p = out;
    if (w.negative) {
        *p++ = '-';
    }
    int32_t places = scale > 0 ? scale : 0;
    for (int32_t i = (n > places ? n : places + 1) - 1; i >= 0; i--) {
        *p++ = i < n ? back[i] : '0';
        if (i == places && places > 0) {
            *p++ = '.';
        }
    }
    for (int32_t i = scale; i < 0 && !zero; i++) {
        *p++ = '0';
    }
    *p = '\0';
    return (size_t)(p - out);
}

/* w * 10^by as a decimal of `precision` digits. */
static bool to_decimal(tl_wide w, int32_t by, int32_t precision, tl_i128 *out) {
    *out = 0;
    if (is_zero(&w)) {
        return true;
    }
    for (; by < 0; by++) {
        if (divide(&w, 10) != 0) {
            return false;
        }
    }
    for (; by > 0; by--) {
        if (!multiply(&w, 10)) {
            return false;
        }
    }
    tl_u128 m = (tl_u128)w.limb[1] << 64 | w.limb[0];
    if (w.limb[2] || w.limb[3] || m >= tl_power_of_ten(precision)) {
        return false;
    }
    *out = w.negative ? -(tl_i128)m : (tl_i128)m;
    return true;
}

/* w / 10^scale as a double, without rounding. */
static bool to_double(tl_wide w, int32_t scale, double *out) {
    *out = 0;
    if (is_zero(&w)) {
        return true;
    }
    int twos = 0;
    while (!(w.limb[0] & 1)) {
        (void)divide(&w, 2);
        twos++;
    }
    /* What is left of 10^scale is 5^scale, which must divide the odd rest (or be multiplied with it). */
    for (int32_t i = 0; i < scale; i++) {
        if (divide(&w, 5) != 0) {
            return false;
        }
    }
    for (int32_t i = scale; i < 0; i++) {
        if (!multiply(&w, 5)) {
            return false;
        }
    }
    if (w.limb[1] || w.limb[2] || w.limb[3] || w.limb[0] >> 53) {
        return false;
    }
    double v = ldexp((double)w.limb[0], twos - scale);
    *out = w.negative ? -v : v;
    return true;
}

/* ---- the usual widths, without the detour over 256 bits ---- */

static tl_i128 load_narrow(const tl_view *v, int64_t i) {
    tl_i128 x;
    switch (v->type->width) {
    case 4: return tl_load_i32(v->values + i * 4);
    case 8: return tl_load_i64(v->values + i * 8);
    default: memcpy(&x, v->values + i * 16, 16); return x;
    }
}

/* A decimal as row i of the target's values; false when it does not fit. */
static bool store(const tl_view *v, int64_t i, const tl_type *to, uint8_t *values) {
    int32_t scale = v->type->scale;
    tl_i128 d = 0;
    double real = 0;
    bool fits;
    switch (to->id) {
    case TL_TYPE_DECIMAL:
        fits = v->type->width <= 16 ? tl_rescale(load_narrow(v, i), to->scale - scale, to->precision, &d)
                                    : to_decimal(tl_view_wide(v, i), to->scale - scale, to->precision, &d);
        memcpy(values + i * 16, &d, 16);
        return fits;
    case TL_TYPE_INT:
    case TL_TYPE_LONG:
        fits = v->type->width <= 16 ? tl_rescale(load_narrow(v, i), -scale, 19, &d)
                                    : to_decimal(tl_view_wide(v, i), -scale, 19, &d);
        if (to->id == TL_TYPE_INT) {
            tl_store_u32(values + i * 4, (uint32_t)d);
            return fits && d >= INT32_MIN && d <= INT32_MAX;
        }
        tl_store_u64(values + i * 8, (uint64_t)d);
        return fits && d >= INT64_MIN && d <= INT64_MAX;
    case TL_TYPE_FLOAT: {
        fits = to_double(tl_view_wide(v, i), scale, &real);
        float f = (float)real;
        memcpy(values + i * 4, &f, 4);
        return fits && (double)f == real;
    }
    default:
        fits = to_double(tl_view_wide(v, i), scale, &real);
        memcpy(values + i * 8, &real, 8);
        return fits;
    }
}

/* Is every value that matters below 10^precision? Gives the first row that is not, or -1. */
static int64_t first_too_long(const tl_view *v, int32_t precision) {
    tl_i128 limit = (tl_i128)tl_power_of_ten(precision);
    for (int64_t i = 0; i < v->length; i++) {
        tl_i128 x = load_narrow(v, i);
        if ((x >= limit || x <= -limit) && tl_view_valid(v, i)) {
            return i;
        }
    }
    return -1;
}

tl_status tl_align_decimal(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                           tl_error *err) {
    if (v->type->id == TL_ARROW_DECIMAL128 && plan->to->id == TL_TYPE_DECIMAL && v->type->scale == plan->to->scale) {
        int64_t row = first_too_long(v, plan->to->precision);
        return row >= 0 ? tl_misfit(job, plan, v, frame, row, TL_WHY_FIT, err)
                        : tl_job_borrow(job, v->values, v->length, 16, 16, &out->values, err);
    }
    uint8_t *values = NULL;
    TL_TRY(tl_job_alloc(job, v->length, (size_t)out->width, &values, err));
    out->values = values;
    memset(values, 0, (size_t)v->length * (size_t)out->width);
    for (int64_t i = 0; i < v->length; i++) {
        if (tl_view_valid(v, i) && !store(v, i, plan->to, values)) {
            return tl_misfit(job, plan, v, frame, i, TL_WHY_FIT, err);
        }
    }
    return TL_OK;
}
