/* Values as text; see show.h. */
#include "cli/show.h"

#include <math.h>
#include <string.h>

#include "base/env.h"
#include "base/num.h"
#include "cli/fast_text.h"
#include "cli/utf8.h"

enum { MAX_DEPTH = 64 };

static int64_t unit_per_second(enum ArrowTimeUnit unit) {
    return unit == NANOARROW_TIME_UNIT_SECOND  ? 1
           : unit == NANOARROW_TIME_UNIT_MILLI ? 1000
           : unit == NANOARROW_TIME_UNIT_MICRO ? 1000000
                                               : 1000000000;
}

static tl_status prepare(const struct ArrowSchema *schema, tl_arena *arena, int depth, tl_shown *out, tl_error *err) {
    struct ArrowSchemaView view;
    struct ArrowError why;
    if (depth > MAX_DEPTH) {
        return tl_fail(err, TL_UNSUPPORTED, "a column is nested more than %d deep", MAX_DEPTH);
    }
    if (ArrowSchemaViewInit(&view, schema, &why) != NANOARROW_OK) {
        return tl_fail(err, TL_UNSUPPORTED, "column \"%s\": %s", schema->name ? schema->name : "", why.message);
    }
    *out = (tl_shown){.type = schema->dictionary ? NANOARROW_TYPE_DICTIONARY : view.type, .scale = view.decimal_scale};
    out->bits = view.decimal_bitwidth;
    out->per_second = unit_per_second(view.time_unit);
    out->utc = view.type == NANOARROW_TYPE_TIMESTAMP && view.timezone && *view.timezone;
    out->uuid = view.type == NANOARROW_TYPE_FIXED_SIZE_BINARY && view.fixed_size == 16 &&
                view.extension_name.size_bytes == 10 && memcmp(view.extension_name.data, "arrow.uuid", 10) == 0;
    out->name = tl_arena_strdup(arena, schema->name ? schema->name : "");
    out->n = schema->n_children;
    out->children = tl_arena_array(arena, (size_t)out->n + 1, sizeof *out->children);
    if (!out->name || !out->children) {
        return tl_fail_memory(err, sizeof *out);
    }
    for (int64_t i = 0; i < out->n; i++) {
        TL_TRY(prepare(schema->children[i], arena, depth + 1, &out->children[i], err));
    }
    if (schema->dictionary) {
        out->dictionary = tl_arena_alloc(arena, sizeof *out->dictionary);
        if (!out->dictionary) {
            return tl_fail_memory(err, sizeof *out);
        }
        return prepare(schema->dictionary, arena, depth + 1, out->dictionary, err);
    }
    return TL_OK;
}

tl_status tl_show_prepare(const struct ArrowSchema *schema, tl_arena *arena, tl_shown *out, tl_error *err) {
    return prepare(schema, arena, 0, out, err);
}

bool tl_show_is_number(const tl_shown *s) {
    return (s->type >= NANOARROW_TYPE_UINT8 && s->type <= NANOARROW_TYPE_DOUBLE) ||
           s->type == NANOARROW_TYPE_DECIMAL128 || s->type == NANOARROW_TYPE_DECIMAL256 ||
           s->type == NANOARROW_TYPE_DECIMAL32 || s->type == NANOARROW_TYPE_DECIMAL64;
}

tl_status tl_show_json_text(tl_bytes text, tl_buf *out) {
    TL_TRY(tl_buf_add_byte(out, '"'));
    size_t run = 0;
    for (size_t i = 0; i <= text.len;) {
        uint8_t b = i < text.len ? text.data[i] : 0;
        size_t before = i;
        bool bad = false;
        if (i < text.len && b >= 0x80) {
            bad = tl_utf8_next(text.data, text.len, &i) == 0xfffd && i == before + 1;
            if (!bad) {
                continue;
            }
        } else if (i < text.len && b >= 0x20 && b != '"' && b != '\\') {
            i++;
            continue;
        } else {
            i++;
        }
        TL_TRY(tl_buf_add(out, text.data + run, before - run));
        run = i;
        if (before == text.len) {
            break;
        }
        const char *escape = b == '\n' ? "\\n" : b == '\t' ? "\\t" : b == '\r' ? "\\r" : b == '"' ? "\\\"" : "\\\\";
        if (bad) {
            TL_TRY(tl_buf_add_text(out, "\xef\xbf\xbd"));
        } else if (b >= 0x20 || b == '\n' || b == '\t' || b == '\r') {
            TL_TRY(tl_buf_add_text(out, escape));
        } else {
            TL_TRY(tl_buf_printf(out, "\\u%04x", b));
        }
    }
    return tl_buf_add_byte(out, '"');
}

static tl_status show_float(double v, bool narrow, tl_show_style style, tl_buf *out) {
    char text[TL_NUM_TEXT];
    if (!isfinite(v)) {
        const char *name = isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
        return style == TL_SHOW_JSON ? tl_buf_printf(out, "\"%s\"", name) : tl_buf_add_text(out, name);
    }
    size_t n = narrow ? tl_fast_float((float)v, text) : tl_fast_double(v, text);
    if (n == 0) {
        n = narrow ? tl_print_float((float)v, text) : tl_print_double(v, text);
    }
    return tl_buf_add(out, text, n);
}

static tl_status show_binary(const tl_shown *s, tl_bytes bytes, tl_buf *out) {
    static const char digits[] = "0123456789abcdef";
    if (s->uuid && bytes.len == 16) {
        char text[TL_UUID_TEXT];
        tl_uuid_format(bytes.data, text);
        return tl_buf_add_text(out, text);
    }
    TL_TRY(tl_buf_reserve(out, bytes.len * 2));
    for (size_t i = 0; i < bytes.len; i++) {
        out->data[out->len++] = (uint8_t)digits[bytes.data[i] >> 4];
        out->data[out->len++] = (uint8_t)digits[bytes.data[i] & 15];
    }
    return TL_OK;
}

static tl_status show_decimal(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *out) {
    struct ArrowDecimal d;
    ArrowDecimalInit(&d, s->bits, 38, s->scale);
    ArrowArrayViewGetDecimalUnsafe(v, row, &d);
    if (s->bits <= 64) {
        char text[TL_NUM_TEXT];
        return tl_buf_add(out, text, tl_print_decimal(ArrowDecimalGetIntUnsafe(&d), s->scale, text));
    }
    if (s->bits == 128) {
        tl_i128 n;
        char text[TL_NUM_TEXT];
        memcpy(&n, d.words, sizeof n);
        return tl_buf_add(out, text, tl_print_decimal(n, s->scale, text));
    }
    struct ArrowBuffer text;
    ArrowBufferInit(&text);
    tl_status status = ArrowDecimalAppendStringToBuffer(&d, &text) == NANOARROW_OK
                           ? tl_buf_add(out, text.data, (size_t)text.size_bytes)
                           : TL_NO_MEMORY;
    ArrowBufferReset(&text);
    return status;
}

static tl_status show_interval(const struct ArrowArrayView *v, int64_t row, tl_buf *out) {
    struct ArrowInterval i;
    ArrowIntervalInit(&i, v->storage_type);
    ArrowArrayViewGetIntervalUnsafe(v, row, &i);
    int64_t ns = i.ns + (int64_t)i.ms * 1000000, seconds = tl_floor_div(ns, 1000000000);
    int years = i.months / 12, months = i.months % 12;
    const char *blank = "";
    if (years) {
        TL_TRY(tl_buf_printf(out, "%d year%s", years, years == 1 ? "" : "s"));
        blank = " ";
    }
    if (months) {
        TL_TRY(tl_buf_printf(out, "%s%d month%s", blank, months, months == 1 ? "" : "s"));
        blank = " ";
    }
    if (i.days) {
        TL_TRY(tl_buf_printf(out, "%s%d day%s", blank, i.days, i.days == 1 ? "" : "s"));
        blank = " ";
    }
    if (ns || !*blank) {
        int64_t fraction = (ns - seconds * 1000000000) / 1000;
        bool minus = ns < 0;
        if (minus) { /* told from zero away, as people write it */
            seconds = -ns / 1000000000;
            fraction = (-ns % 1000000000) / 1000;
        }
        TL_TRY(tl_buf_printf(out, "%s%s%02lld:%02d:%02d", blank, minus ? "-" : "", (long long)(seconds / 3600),
                             (int)(seconds / 60 % 60), (int)(seconds % 60)));
        if (fraction) {
            TL_TRY(tl_buf_printf(out, ".%06d", (int)fraction));
        }
    }
    return TL_OK;
}

static tl_status show_nested(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *out,
                             tl_error *err);

/* Values that JSON writes without quotes. */
static bool is_bare(const tl_shown *s) {
    return tl_show_is_number(s) || s->type == NANOARROW_TYPE_BOOL || s->type == NANOARROW_TYPE_HALF_FLOAT || s->n > 0 ||
           s->type == NANOARROW_TYPE_DICTIONARY;
}

static tl_status show_number(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_show_style style,
                             tl_buf *out) {
    char text[TL_NUM_TEXT];
    switch (s->type) {
    case NANOARROW_TYPE_BOOL: return tl_buf_add_text(out, ArrowArrayViewGetIntUnsafe(v, row) ? "true" : "false");
    case NANOARROW_TYPE_UINT64: return tl_buf_add(out, text, tl_print_u64(ArrowArrayViewGetUIntUnsafe(v, row), text));
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT: return show_float(ArrowArrayViewGetDoubleUnsafe(v, row), true, style, out);
    case NANOARROW_TYPE_DOUBLE: return show_float(ArrowArrayViewGetDoubleUnsafe(v, row), false, style, out);
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256: return show_decimal(s, v, row, out);
    default: return tl_buf_add(out, text, tl_print_i64(ArrowArrayViewGetIntUnsafe(v, row), text));
    }
}

/* Times, texts and bytes, without quotes. */
static tl_status show_text(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *out, tl_error *err) {
    char text[TL_NUM_TEXT];
    switch (s->type) {
    case NANOARROW_TYPE_DATE32: return tl_buf_add(out, text, tl_print_date(ArrowArrayViewGetIntUnsafe(v, row), text));
    case NANOARROW_TYPE_DATE64:
        return tl_buf_add(out, text, tl_print_date(tl_floor_div(ArrowArrayViewGetIntUnsafe(v, row), 86400000), text));
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        return tl_buf_add(out, text, tl_print_time(ArrowArrayViewGetIntUnsafe(v, row), s->per_second, text));
    case NANOARROW_TYPE_TIMESTAMP: {
        int64_t value = ArrowArrayViewGetIntUnsafe(v, row);
        size_t n = s->per_second == 1000000 ? tl_fast_timestamp(value, s->utc, text) : 0;
        return tl_buf_add(out, text, n ? n : tl_print_timestamp(value, s->per_second, s->utc, text));
    }
    case NANOARROW_TYPE_DURATION: return tl_buf_add(out, text, tl_print_i64(ArrowArrayViewGetIntUnsafe(v, row), text));
    case NANOARROW_TYPE_INTERVAL_MONTHS:
    case NANOARROW_TYPE_INTERVAL_DAY_TIME:
    case NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO: return show_interval(v, row, out);
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_BINARY_VIEW:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY: {
        struct ArrowBufferView b = ArrowArrayViewGetBytesUnsafe(v, row);
        return show_binary(s, (tl_bytes){b.data.as_uint8, (size_t)b.size_bytes}, out);
    }
    default:
        return tl_fail(err, TL_UNSUPPORTED, "column \"%s\" has a type that cannot be shown; cast it to varchar",
                       s->name);
    }
}

static tl_status show_value(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_show_style style,
                            tl_buf *out, tl_error *err) {
    if (s->type == NANOARROW_TYPE_NA || ArrowArrayViewIsNull(v, row)) {
        return style == TL_SHOW_JSON ? tl_buf_add_text(out, "null") : TL_OK;
    }
    if (s->type == NANOARROW_TYPE_DICTIONARY) {
        return show_value(s->dictionary, v->dictionary, ArrowArrayViewGetIntUnsafe(v, row), style, out, err);
    }
    if (s->type == NANOARROW_TYPE_STRING || s->type == NANOARROW_TYPE_LARGE_STRING ||
        s->type == NANOARROW_TYPE_STRING_VIEW) {
        struct ArrowStringView t = ArrowArrayViewGetStringUnsafe(v, row);
        return style == TL_SHOW_JSON ? tl_show_json_text((tl_bytes){(const uint8_t *)t.data, (size_t)t.size_bytes}, out)
                                     : tl_buf_add(out, t.data, (size_t)t.size_bytes);
    }
    if (s->n > 0 || s->type == NANOARROW_TYPE_STRUCT) {
        return show_nested(s, v, row, out, err);
    }
    if (is_bare(s)) {
        return show_number(s, v, row, style, out);
    }
    if (style == TL_SHOW_JSON) {
        TL_TRY(tl_buf_add_byte(out, '"'));
    }
    TL_TRY(show_text(s, v, row, out, err));
    return style == TL_SHOW_JSON ? tl_buf_add_byte(out, '"') : TL_OK;
}

static tl_status show_list(const tl_shown *item, const struct ArrowArrayView *items, int64_t from, int64_t to,
                           tl_buf *out, tl_error *err) {
    TL_TRY(tl_buf_add_byte(out, '['));
    for (int64_t i = from; i < to; i++) {
        if (i > from) {
            TL_TRY(tl_buf_add_byte(out, ','));
        }
        TL_TRY(show_value(item, items, i, TL_SHOW_JSON, out, err));
    }
    return tl_buf_add_byte(out, ']');
}

/* A map whose keys are texts is an object, with other keys their text is the name. */
static tl_status show_map(const tl_shown *s, const struct ArrowArrayView *v, int64_t from, int64_t to, tl_buf *out,
                          tl_error *err) {
    const tl_shown *entry = &s->children[0];
    const struct ArrowArrayView *entries = v->children[0];
    TL_TRY(tl_buf_add_byte(out, '{'));
    for (int64_t i = from; i < to; i++) {
        int64_t at = entries->offset + i;
        tl_buf key = {0};
        tl_status status = i > from ? tl_buf_add_byte(out, ',') : TL_OK;
        if (status == TL_OK) {
            status = show_value(&entry->children[0], entries->children[0], at, TL_SHOW_PLAIN, &key, err);
        }
        if (status == TL_OK) {
            status = tl_show_json_text(tl_buf_bytes(&key), out);
        }
        tl_buf_free(&key);
        TL_TRY(status);
        TL_TRY(tl_buf_add_byte(out, ':'));
        TL_TRY(show_value(&entry->children[1], entries->children[1], at, TL_SHOW_JSON, out, err));
    }
    return tl_buf_add_byte(out, '}');
}

/* Depth: MAX_DEPTH, checked when it was prepared. */
static tl_status show_nested(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_buf *out,
                             tl_error *err) {
    int64_t at = v->offset + row;
    switch (s->type) {
    case NANOARROW_TYPE_STRUCT:
        TL_TRY(tl_buf_add_byte(out, '{'));
        for (int64_t i = 0; i < s->n; i++) {
            if (i) {
                TL_TRY(tl_buf_add_byte(out, ','));
            }
            TL_TRY(tl_show_json_text(tl_bytes_of(s->children[i].name), out));
            TL_TRY(tl_buf_add_byte(out, ':'));
            TL_TRY(show_value(&s->children[i], v->children[i], at, TL_SHOW_JSON, out, err));
        }
        return tl_buf_add_byte(out, '}');
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return show_list(&s->children[0], v->children[0], at * v->layout.child_size_elements,
                         (at + 1) * v->layout.child_size_elements, out, err);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_MAP: {
        int64_t from = ArrowArrayViewListChildOffset(v, at), to = ArrowArrayViewListChildOffset(v, at + 1);
        return s->type == NANOARROW_TYPE_MAP ? show_map(s, v, from, to, out, err)
                                             : show_list(&s->children[0], v->children[0], from, to, out, err);
    }
    default:
        return tl_fail(err, TL_UNSUPPORTED, "column \"%s\" has a type that cannot be shown; cast it to varchar",
                       s->name);
    }
}

tl_status tl_show(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_show_style style, tl_buf *out,
                  tl_error *err) {
    tl_status status = show_value(s, v, row, style, out, err);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}
