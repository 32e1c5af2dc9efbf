/* Dates, times of the day and timestamps: units change only where no digit is lost. */
#include <string.h>

#include "append/align_internal.h"
#include "base/civil.h"

enum { BLOCK = 1024 };

/* How a source unit becomes the target's: out = in * multiply, or in / divide where that leaves no rest; low <= out <=
 * high. One of the two factors is 1. */
typedef struct scale {
    int64_t multiply, divide;
    int64_t low, high;       /* bounds of the result */
    int64_t in_low, in_high; /* bounds of the source, so that the product does not wrap */
} scale;

static scale scale_of(const tl_arrow_type *from, const tl_type *to) {
    bool days = from->id == TL_ARROW_DATE32;
    int64_t source = days ? 1 : from->per_second; /* counts a second, or a day */
    scale s = {1, 1, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX};
    if (to->id == TL_TYPE_DATE) {
        s.divide = days ? 1 : source * 86400;
        s.low = INT32_MIN;
        s.high = INT32_MAX;
    } else if (days) {
        s.multiply = TL_US_PER_DAY;
    } else if (source <= TL_US_PER_SECOND) {
        s.multiply = TL_US_PER_SECOND / source;
    } else {
        s.divide = source / TL_US_PER_SECOND;
    }
    if (to->id == TL_TYPE_TIME) {
        s.low = 0;
        s.high = TL_US_PER_DAY - 1;
    }
    if (s.multiply > 1) {
        s.in_low = INT64_MIN / s.multiply;
        s.in_high = INT64_MAX / s.multiply;
    }
    return s;
}

static inline bool convert(const scale *s, int64_t in, int64_t *out) {
    if (in < s->in_low || in > s->in_high || (s->divide > 1 && in % s->divide != 0)) {
        *out = 0;
        return false;
    }
    int64_t v = s->divide > 1 ? in / s->divide : in * s->multiply;
    *out = v;
    return v >= s->low && v <= s->high;
}

static inline int64_t load(const tl_view *v, int64_t i) {
    return v->type->width == 4 ? tl_load_i32(v->values + i * 4) : tl_load_i64(v->values + i * 8);
}

/* A block of timestamps whose unit only grows finer; true when all are sure to fit. */
static bool multiply_block(const tl_view *v, const scale *s, int64_t from, int64_t n, int64_t *out) {
    bool bad = false;
    const uint8_t *p = v->values + from * 8;
    uint64_t by = (uint64_t)s->multiply;
    for (int64_t k = 0; k < n; k++) {
        int64_t x = tl_load_i64(p + k * 8);
        bad |= x < s->in_low || x > s->in_high;
        out[k] = (int64_t)((uint64_t)x * by);
    }
    return !bad;
}

static bool is_same_layout(const tl_arrow_type *from, const tl_type *to) {
    return (from->id == TL_ARROW_DATE32 && to->id == TL_TYPE_DATE) ||
           (from->id == TL_ARROW_TIMESTAMP && from->per_second == TL_US_PER_SECOND && to->id != TL_TYPE_DATE);
}

tl_status tl_align_time(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                        tl_error *err) {
    size_t width = (size_t)out->width;
    if (is_same_layout(v->type, plan->to)) {
        return tl_job_borrow(job, v->values, v->length, width, width, &out->values, err);
    }
    uint8_t *values = NULL;
    TL_TRY(tl_job_alloc(job, v->length, width, &values, err));
    out->values = values;
    scale s = scale_of(v->type, plan->to);
    bool finer = v->type->id == TL_ARROW_TIMESTAMP && s.divide == 1 && width == 8;
    for (int64_t from = 0; from < v->length; from += BLOCK) {
        int64_t n = v->length - from < BLOCK ? v->length - from : BLOCK;
        if (finer && multiply_block(v, &s, from, n, (int64_t *)(void *)values + from)) {
            continue;
        }
        for (int64_t i = from; i < from + n; i++) {
            int64_t x;
            if (!convert(&s, load(v, i), &x) && tl_view_valid(v, i)) {
                return tl_misfit(job, plan, v, frame, i, TL_WHY_FIT, err);
            }
            if (width == 4) {
                tl_store_u32(values + i * 4, (uint32_t)x);
            } else {
                tl_store_u64(values + i * 8, (uint64_t)x);
            }
        }
    }
    return TL_OK;
}
