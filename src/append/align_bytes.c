/* Text and bytes as they are: strings, binary, fixed, UUIDs; and the canonical text of everything else. */
#include <string.h>

#include "append/align_internal.h"
#include "base/utf8.h"

/* ---- checks ---- */

static bool begins_inside(uint8_t c) {
    return (c & 0xc0) == 0x80;
}

/* Are the values well-formed as one text, and does each begin at a code point? Then each is well-formed by itself. */
static bool all_valid_at_once(const tl_view *v) {
    int64_t from = tl_view_offset(v, 0), to = tl_view_offset(v, v->length);
    if (from == to) {
        return true;
    }
    size_t len = (size_t)(to - from), ascii = tl_ascii_prefix(v->data + from, len);
    if (ascii == len) {
        return true;
    }
    if (tl_utf8_valid_prefix(v->data + from + ascii, len - ascii) != len - ascii) {
        return false;
    }
    bool inside = false;
    for (int64_t i = 1; i < v->length; i++) {
        int64_t at = tl_view_offset(v, i);
        inside |= at < to && begins_inside(v->data[at]);
    }
    return !inside;
}

/* The first row that matters and is not UTF-8; -1 = none. Bytes under nulls may be anything. */
static int64_t first_not_utf8(const tl_view *v) {
    for (int64_t i = 0; i < v->length; i++) {
        if (tl_view_valid(v, i) && !tl_utf8_is_valid(tl_view_bytes(v, i))) {
            return i;
        }
    }
    return -1;
}

/* Values of 2 GiB and more: no Parquet file can hold them. */
static int64_t first_too_long(const tl_view *v) {
    for (int64_t i = 0; i < v->length; i++) {
        if (tl_view_offset(v, i + 1) - tl_view_offset(v, i) > INT32_MAX && tl_view_valid(v, i)) {
            return i;
        }
    }
    return -1;
}

/* ---- to string and binary ---- */

/* One buffer with offsets: taken as it is. */
static tl_status borrow(tl_job *job, const tl_view *v, tl_column *out, tl_error *err) {
    size_t width = (size_t)tl_view_offset_width(v);
    const void *p = NULL;
    TL_TRY(tl_job_borrow(job, v->offsets, v->length + 1, width, width, &p, err));
    out->offsets32 = width == 4 ? p : NULL;
    out->offsets64 = width == 8 ? p : NULL;
    out->data = v->data;
    return TL_OK;
}

/* Offsets for `total` bytes; sizes come from the rows that are not null. */
static tl_status make_offsets(tl_job *job, const tl_view *v, tl_column *out, int64_t *total, tl_error *err) {
    int64_t sum = 0, at = 0;
    for (int64_t i = 0; i < v->length; i++) {
        if (tl_view_valid(v, i) && !tl_i64_add(sum, (int64_t)tl_view_bytes(v, i).len, &sum)) {
            return tl_fail_memory(err, SIZE_MAX);
        }
    }
    bool narrow = sum <= INT32_MAX;
    void *memory = NULL;
    TL_TRY(tl_job_alloc(job, v->length + 1, narrow ? 4 : 8, &memory, err));
    int32_t *o32 = memory;
    int64_t *o64 = memory;
    for (int64_t i = 0; i <= v->length; i++) {
        if (narrow) {
            o32[i] = (int32_t)at;
        } else {
            o64[i] = at;
        }
        at += i < v->length && tl_view_valid(v, i) ? (int64_t)tl_view_bytes(v, i).len : 0;
    }
    out->offsets32 = narrow ? o32 : NULL;
    out->offsets64 = narrow ? NULL : o64;
    *total = sum;
    return TL_OK;
}

/* Views and fixed-size values: copied one behind the other. */
static tl_status copy(tl_job *job, const tl_view *v, tl_column *out, tl_error *err) {
    int64_t total = 0;
    uint8_t *data = NULL;
    TL_TRY(make_offsets(job, v, out, &total, err));
    TL_TRY(tl_job_alloc(job, total, 1, &data, err));
    out->data = data;
    for (int64_t i = 0; i < v->length; i++) {
        if (tl_view_valid(v, i)) {
            tl_bytes b = tl_view_bytes(v, i);
            if (b.len) {
                memcpy(data, b.data, b.len);
                data += b.len;
            }
        }
    }
    return TL_OK;
}

static tl_status to_bytes(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                          tl_error *err) {
    tl_arrow_id id = v->type->id;
    bool with_offsets =
        id == TL_ARROW_STRING || id == TL_ARROW_LARGE_STRING || id == TL_ARROW_BINARY || id == TL_ARROW_LARGE_BINARY;
    if (with_offsets && tl_view_offset_width(v) == 8) {
        int64_t row = first_too_long(v);
        if (row >= 0) {
            return tl_misfit(job, plan, v, frame, row, TL_WHY_TOO_LONG, err);
        }
    }
    if (plan->to->id == TL_TYPE_STRING && !(with_offsets && all_valid_at_once(v))) {
        int64_t row = first_not_utf8(v);
        if (row >= 0) {
            return tl_misfit(job, plan, v, frame, row, TL_WHY_UTF8, err);
        }
    }
    return with_offsets ? borrow(job, v, out, err) : copy(job, v, out, err);
}

/* ---- to fixed and uuid ---- */

static tl_status to_fixed(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                          tl_error *err) {
    size_t width = (size_t)out->width;
    if (v->type->id == TL_ARROW_FIXED_BINARY) { /* of the same length, or there would be no plan */
        out->values = v->values;
        return TL_OK;
    }
    uint8_t *values = NULL;
    TL_TRY(tl_job_alloc(job, v->length, width, &values, err));
    memset(values, 0, (size_t)v->length * width);
    out->values = values;
    for (int64_t i = 0; i < v->length; i++) {
        if (!tl_view_valid(v, i)) {
            continue;
        }
        tl_bytes b = tl_view_bytes(v, i);
        if (b.len != width) {
            return tl_misfit(job, plan, v, frame, i, TL_WHY_FIT, err);
        }
        if (width) {
            memcpy(values + (size_t)i * width, b.data, width);
        }
    }
    return TL_OK;
}

tl_status tl_align_bytes(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                         tl_error *err) {
    return plan->to->id == TL_TYPE_FIXED || plan->to->id == TL_TYPE_UUID ? to_fixed(job, plan, v, frame, out, err)
                                                                         : to_bytes(job, plan, v, frame, out, err);
}

/* ---- the text of numbers and times ---- */

tl_status tl_align_print(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                         tl_error *err) {
    (void)plan;
    (void)frame;
    int64_t *offsets = NULL;
    uint8_t *data = NULL;
    tl_buf text = {0};
    TL_TRY(tl_job_alloc(job, v->length + 1, 8, &offsets, err));
    for (int64_t i = 0; i < v->length; i++) {
        offsets[i] = (int64_t)text.len;
        char one[TL_VALUE_TEXT];
        size_t n = tl_view_valid(v, i) ? tl_value_print(v, i, one) : 0;
        if (tl_buf_add(&text, one, n) != TL_OK) {
            size_t wanted = text.len + n;
            tl_buf_free(&text);
            return tl_fail_memory(err, wanted);
        }
    }
    offsets[v->length] = (int64_t)text.len;
    out->offsets64 = offsets;
    tl_status s = tl_job_alloc(job, (int64_t)text.len, 1, &data, err);
    if (s == TL_OK && text.len) {
        memcpy(data, text.data, text.len);
    }
    out->data = s == TL_OK ? data : NULL;
    tl_buf_free(&text);
    return s;
}
