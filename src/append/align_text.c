/* Text that is parsed as a whole: numbers, booleans, dates, times, timestamps, UUIDs. */
#include <string.h>

#include "append/align_internal.h"

static tl_why why_of(tl_parse p) {
    return p == TL_PARSE_SYNTAX ? TL_WHY_SYNTAX : p == TL_PARSE_ZONE_NAME ? TL_WHY_ZONE_NAME : TL_WHY_FIT;
}

/* A text as row i of the target's values. */
static tl_parse store(tl_bytes text, const tl_type *to, uint8_t *values, int64_t i, bool *zoned) {
    int64_t whole = 0;
    double real = 0;
    float single = 0;
    tl_i128 decimal = 0;
    int32_t days = 0;
    bool yes = false;
    tl_parse r;
    switch (to->id) {
    case TL_TYPE_BOOLEAN:
        r = tl_parse_bool(text, &yes);
        if (yes) {
            tl_bit_set(values, i);
        }
        return r;
    case TL_TYPE_INT:
        r = tl_parse_i64(text, &whole);
        tl_store_u32(values + i * 4, (uint32_t)whole);
        return r == TL_PARSE_OK && (whole < INT32_MIN || whole > INT32_MAX) ? TL_PARSE_RANGE : r;
    case TL_TYPE_LONG: r = tl_parse_i64(text, &whole); break;
    case TL_TYPE_TIME: r = tl_parse_time(text, &whole); break;
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: r = tl_parse_timestamp(text, &whole, zoned); break;
    case TL_TYPE_DOUBLE:
        r = tl_parse_double(text, &real);
        memcpy(values + i * 8, &real, 8);
        return r;
    case TL_TYPE_FLOAT:
        r = tl_parse_float(text, &single);
        memcpy(values + i * 4, &single, 4);
        return r;
    case TL_TYPE_DECIMAL:
        r = tl_parse_decimal(text, to->precision, to->scale, &decimal);
        memcpy(values + i * 16, &decimal, 16);
        return r;
    case TL_TYPE_DATE:
        r = tl_parse_date(text, &days);
        tl_store_u32(values + i * 4, (uint32_t)days);
        return r;
    case TL_TYPE_UUID: return tl_parse_uuid(text, values + i * 16);
    default: return TL_PARSE_SYNTAX;
    }
    tl_store_u64(values + i * 8, (uint64_t)whole);
    return r;
}

tl_status tl_align_text(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                        tl_error *err) {
    bool bits = out->kind == TL_COLUMN_BOOL;
    int64_t n = bits ? (v->length + 7) / 8 : v->length;
    size_t width = bits ? 1 : (size_t)out->width;
    uint8_t *values = NULL;
    TL_TRY(tl_job_alloc(job, n, width, &values, err));
    memset(values, 0, (size_t)n * width);
    out->values = values;
    for (int64_t i = 0; i < v->length; i++) {
        if (!tl_view_valid(v, i)) {
            continue;
        }
        bool zoned = false;
        tl_parse r = store(tl_view_bytes(v, i), plan->to, values, i, &zoned);
        if (r != TL_PARSE_OK) {
            return tl_misfit(job, plan, v, frame, i, why_of(r), err);
        }
        if (zoned && plan->to->id == TL_TYPE_TIMESTAMP) {
            return tl_misfit(job, plan, v, frame, i, TL_WHY_ZONE, err);
        }
    }
    return TL_OK;
}
