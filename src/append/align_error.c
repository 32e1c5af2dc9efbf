/* Rows and values in messages: `column "status", row 17: 3000000000 does not fit int`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "append/align_internal.h"
#include "base/utf8.h"

enum { CUT = 60 }; /* characters of a value that are shown */

int64_t tl_frame_row(const tl_frame *f, int64_t i) {
    for (;; f = f->up) {
        switch (f->kind) {
        case TL_FRAME_ROOT: return f->base + i + 1;
        case TL_FRAME_AT: return f->base;
        case TL_FRAME_LIST: {
            /* The last list that begins at or before the element and is not empty: the one before the first that
             * begins behind it. */
            int64_t low = 0, high = f->list->length;
            while (low < high) {
                int64_t middle = low + (high - low) / 2;
                if (tl_column_offset(f->list, middle) <= i) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            i = low - 1;
            break;
        }
        }
    }
}

/* ---- values ---- */

size_t tl_value_print(const tl_view *v, int64_t i, char out[TL_VALUE_TEXT]) {
    const tl_arrow_type *t = v->type;
    switch (t->id) {
    case TL_ARROW_BOOL:
        return (size_t)snprintf(out, TL_VALUE_TEXT, "%s", tl_bits_at(v->value_bits, i) ? "true" : "false");
    case TL_ARROW_UINT64: return tl_print_u64((uint64_t)tl_view_int(v, i), out);
    case TL_ARROW_INT8:
    case TL_ARROW_INT16:
    case TL_ARROW_INT32:
    case TL_ARROW_INT64:
    case TL_ARROW_UINT8:
    case TL_ARROW_UINT16:
    case TL_ARROW_UINT32: return tl_print_i64(tl_view_int(v, i), out);
    case TL_ARROW_FLOAT16:
    case TL_ARROW_FLOAT32: return tl_print_float((float)tl_view_real(v, i), out);
    case TL_ARROW_FLOAT64: return tl_print_double(tl_view_real(v, i), out);
    case TL_ARROW_DATE32: return tl_print_date(tl_load_i32(v->values + i * 4), out);
    case TL_ARROW_DATE64: {
        int64_t ms = tl_load_i64(v->values + i * 8);
        return ms % 86400000 ? tl_print_timestamp(ms, 1000, false, out) : tl_print_date(ms / 86400000, out);
    }
    case TL_ARROW_TIME32: return tl_print_time(tl_load_i32(v->values + i * 4), t->per_second, out);
    case TL_ARROW_TIME64: return tl_print_time(tl_load_i64(v->values + i * 8), t->per_second, out);
    case TL_ARROW_TIMESTAMP:
        return tl_print_timestamp(tl_load_i64(v->values + i * 8), t->per_second, t->zone != NULL, out);
    default: break;
    }
    if (t->id >= TL_ARROW_DECIMAL32 && t->id <= TL_ARROW_DECIMAL256) {
        return tl_print_wide(tl_view_wide(v, i), t->scale, out);
    }
    out[0] = '\0';
    return 0;
}

/* Text in quotes, with control characters and broken bytes as \xNN. */
static void quote(tl_bytes b, char *out, size_t size) {
    size_t at = 0, shown = 0, i = 0;
    out[at++] = '"';
    while (i < b.len && shown < CUT && at + 16 < size) {
        size_t left = b.len - i, n = left < 4 ? left : 4;
        size_t good = tl_utf8_valid_prefix(b.data + i, n);
        uint8_t c = b.data[i];
        if (c >= 0x20 && c != 0x7f && good > 0) {
            size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
            memcpy(out + at, b.data + i, len);
            at += len;
            i += len;
            shown++;
        } else {
            (void)snprintf(out + at, 5, "\\x%02x", c);
            at += 4;
            i++;
            shown += 4;
        }
    }
    (void)snprintf(out + at, size - at, "%s", i < b.len ? "...\"" : "\"");
}

static void hex(tl_bytes b, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, "0x"), i = 0;
    for (; i < b.len && i < CUT / 2; i++) {
        at += (size_t)snprintf(out + at, size - at, "%02x", b.data[i]);
    }
    (void)snprintf(out + at, size - at, "%s", i < b.len ? "..." : "");
}

static bool is_text(tl_arrow_id id) {
    return id >= TL_ARROW_STRING && id <= TL_ARROW_STRING_VIEW;
}

static void show(const tl_view *v, int64_t i, tl_why why, char *out, size_t size) {
    tl_arrow_id id = v->type->id;
    if (is_text(id) || (why == TL_WHY_UTF8 && id <= TL_ARROW_FIXED_BINARY)) {
        quote(tl_view_bytes(v, i), out, size);
    } else if (id >= TL_ARROW_BINARY && id <= TL_ARROW_FIXED_BINARY) {
        hex(tl_view_bytes(v, i), out, size);
    } else {
        char text[TL_VALUE_TEXT];
        size_t n = tl_value_print(v, i, text);
        (void)snprintf(out, size, "%.*s%s", CUT, text, n > CUT ? "..." : "");
    }
}

/* "int" is the only type name that is spoken with a vowel first. */
static const char *article(const char *noun) {
    return noun[0] == 'i' ? "an" : "a";
}

tl_status tl_misfit(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, int64_t i, tl_why why,
                    tl_error *err) {
    int64_t row = tl_frame_row(frame, i);
    job->misfit = true;
    job->misfit_row = row;
    if (why == TL_WHY_NULL) {
        return tl_fail(err, TL_INVALID, "column \"%s\", row %" PRId64 ": null in a required column", plan->path, row);
    }
    char value[512], type[256];
    tl_buf name = {0};
    if (tl_type_print(plan->to, &name) == TL_OK) {
        (void)snprintf(type, sizeof type, "%.*s", (int)(name.len > 200 ? 200 : name.len), (const char *)name.data);
    } else {
        (void)snprintf(type, sizeof type, "its type");
    }
    tl_buf_free(&name);
    if (why == TL_WHY_TOO_LONG) {
        return tl_fail(err, TL_INVALID,
                       "column \"%s\", row %" PRId64 ": a value of %zu bytes does not fit %s (at most %d)", plan->path,
                       row, tl_view_bytes(v, i).len, type, INT32_MAX);
    }
    show(v, i, why, value, sizeof value);
    switch (why) {
    case TL_WHY_SYNTAX:
        return tl_fail(err, TL_INVALID, "column \"%s\", row %" PRId64 ": %s is not %s %s", plan->path, row, value,
                       article(type), type);
    case TL_WHY_ZONE:
        return tl_fail(err, TL_INVALID, "column \"%s\", row %" PRId64 ": %s does not fit %s, it has a zone", plan->path,
                       row, value, type);
    case TL_WHY_ZONE_NAME:
        return tl_fail(err, TL_INVALID,
                       "column \"%s\", row %" PRId64
                       ": %s names a zone, which is not read here; write an offset such as +01:00",
                       plan->path, row, value);
    case TL_WHY_UTF8:
        return tl_fail(err, TL_INVALID, "column \"%s\", row %" PRId64 ": %s is not valid UTF-8", plan->path, row,
                       value);
    default:
        return tl_fail(err, TL_INVALID, "column \"%s\", row %" PRId64 ": %s does not fit %s", plan->path, row, value,
                       type);
    }
}
