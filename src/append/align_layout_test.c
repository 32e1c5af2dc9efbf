/*
 * Property test: the same values in any Arrow layout give the same column. Random types and values are laid out at
 * random (slices at every level, validity with offsets, dictionaries, runs, views, list views, rubbish under nulls and
 * around slices), aligned, and compared with the values themselves. The seed is printed; TL_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "append/align_internal.h"
#include "arrow/testing.h"
#include "base/env.h"

/* ---- dice ---- */

static uint64_t state;

static uint64_t dice(void) {
    return tl_seeded_next(&state);
}

static int64_t below(int64_t n) {
    return (int64_t)(dice() % (uint64_t)n);
}
static bool chance(int64_t one_in) {
    return below(one_in) == 0;
}

/* ---- values ---- */

typedef struct value {
    bool null;
    tl_i128 number; /* integers, decimals, times, bool; the bits of float and double */
    uint8_t bytes[48];
    int64_t n;           /* bytes, or children */
    struct value **kids; /* struct: one per field; list: elements; map: key, value, key, value ... */
} value;

static tl_arena arena;

static void *make(size_t n, size_t size) {
    void *p = tl_arena_array(&arena, n ? n : 1, size);
    assert_non_null(p);
    return p;
}

static tl_type random_type(int depth);

static tl_field random_field(const char *name, int depth) {
    return (tl_field){.name = name, .required = chance(4), .type = random_type(depth)};
}

static tl_type random_type(int depth) {
    static const char *const names[] = {"a", "b", "c", "d"};
    tl_type t = {.id = (tl_type_id)(TL_TYPE_BOOLEAN + below(depth > 0 && !chance(3) ? 17 : 14))};
    t.precision = 1 + (int32_t)below(18);
    t.scale = (int32_t)below(t.precision + 1);
    t.length = (int32_t)below(9);
    if (depth > 0 && chance(2)) {
        t.id = (tl_type_id)(TL_TYPE_STRUCT + below(3));
    }
    t.n_fields = t.id == TL_TYPE_STRUCT ? 1 + (int32_t)below(4)
                 : t.id == TL_TYPE_LIST ? 1
                 : t.id == TL_TYPE_MAP  ? 2
                                        : 0;
    t.fields = make((size_t)t.n_fields, sizeof *t.fields);
    for (int32_t i = 0; i < t.n_fields; i++) {
        t.fields[i] = random_field(t.id == TL_TYPE_STRUCT ? names[i]
                                   : t.id == TL_TYPE_LIST ? "element"
                                   : i                    ? "value"
                                                          : "key",
                                   depth - 1);
        t.fields[i].required |= t.id == TL_TYPE_MAP && i == 0;
    }
    return t;
}

static value *random_value(const tl_type *t, bool required) {
    value *v = make(1, sizeof *v);
    v->null = !required && chance(4);
    if (v->null) {
        return v;
    }
    float f = (float)below(1000) / 8;
    double d = (double)below(100000) / 64;
    switch (t->id) {
    case TL_TYPE_BOOLEAN: v->number = below(2); break;
    case TL_TYPE_INT:
    case TL_TYPE_DATE: v->number = chance(3) ? (int32_t)dice() : below(100); break;
    case TL_TYPE_FLOAT: memcpy(&v->number, &f, 4); break;
    case TL_TYPE_DOUBLE: memcpy(&v->number, &d, 8); break;
    case TL_TYPE_TIME: v->number = below(86400) * 1000000; break;
    case TL_TYPE_DECIMAL: {
        int64_t limit = 1;
        for (int i = 0; i < t->precision; i++) {
            limit *= 10;
        }
        v->number = (int64_t)(dice() % (uint64_t)(2 * limit - 1)) - (limit - 1);
        break;
    }
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: {
        static const char *const pieces[] = {"x", "seven b", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80", ""};
        for (int64_t k = below(6); k > 0; k--) {
            const char *p = pieces[below((int64_t)TL_COUNT(pieces))];
            memcpy(v->bytes + v->n, p, strlen(p));
            v->n += (int64_t)strlen(p);
        }
        break;
    }
    case TL_TYPE_UUID:
    case TL_TYPE_FIXED:
        v->n = t->id == TL_TYPE_UUID ? 16 : t->length;
        for (int64_t i = 0; i < v->n; i++) {
            v->bytes[i] = (uint8_t)dice();
        }
        break;
    case TL_TYPE_STRUCT:
        v->n = t->n_fields;
        v->kids = make((size_t)v->n, sizeof *v->kids);
        for (int64_t i = 0; i < v->n; i++) {
            v->kids[i] = random_value(&t->fields[i].type, t->fields[i].required);
        }
        break;
    case TL_TYPE_LIST:
    case TL_TYPE_MAP:
        v->n = below(4) * t->n_fields;
        v->kids = make((size_t)v->n, sizeof *v->kids);
        for (int64_t i = 0; i < v->n; i++) {
            const tl_field *field = &t->fields[i % t->n_fields];
            v->kids[i] = random_value(&field->type, field->required);
        }
        break;
    default: v->number = chance(3) ? (int64_t)dice() / 1000 * 1000 : below(1000000) * 1000000; break;
    }
    return v;
}

static bool same(const value *a, const value *b) {
    if (a->null || b->null) {
        return a->null && b->null;
    }
    if (a->number != b->number || a->n != b->n || memcmp(a->bytes, b->bytes, sizeof a->bytes) != 0) {
        return false;
    }
    for (int64_t i = 0; a->kids && i < a->n; i++) {
        if (!same(a->kids[i], b->kids[i])) {
            return false;
        }
    }
    return true;
}

/* ---- is the column what the values say? ---- */

static void check(const tl_type *t, const value *v, const tl_column *c, int64_t row) {
    assert_true(row >= 0 && row < c->length);
    if (tl_column_is_null(c, row) != v->null) {
        fail_msg("row %lld is %s", (long long)row, v->null ? "not null" : "null");
    }
    if (v->null) {
        return;
    }
    tl_column shape = {0};
    tl_column_shape(t, &shape);
    assert_int_equal(c->kind, shape.kind);
    assert_int_equal(c->width, shape.width);
    int64_t from, to;
    switch (c->kind) {
    case TL_COLUMN_BOOL: assert_int_equal(tl_column_bool(c, row), (int)v->number); break;
    case TL_COLUMN_FIXED:
        if (t->id == TL_TYPE_UUID || t->id == TL_TYPE_FIXED) {
            assert_memory_equal(c->values + row * c->width, v->bytes, (size_t)c->width);
        } else {
            assert_memory_equal(c->values + row * c->width, &v->number, (size_t)c->width);
        }
        assert_int_equal((uintptr_t)c->values % (uintptr_t)(c->width == 4 || c->width == 8 ? c->width : 1), 0);
        break;
    case TL_COLUMN_BYTES:
        assert_int_equal(tl_column_bytes(c, row).len, v->n);
        assert_memory_equal(tl_column_bytes(c, row).data, v->bytes, (size_t)v->n);
        break;
    case TL_COLUMN_STRUCT:
        assert_int_equal(c->n_children, t->n_fields);
        for (int32_t i = 0; i < t->n_fields; i++) {
            assert_int_equal(c->children[i].length, c->length);
            check(&t->fields[i].type, v->kids[i], &c->children[i], row);
        }
        break;
    case TL_COLUMN_LIST:
        from = tl_column_offset(c, row);
        to = tl_column_offset(c, row + 1);
        assert_int_equal((to - from) * t->n_fields, v->n);
        for (int64_t i = 0; i < v->n; i++) {
            const tl_column *child = t->id == TL_TYPE_MAP ? &c->children->children[i % 2] : c->children;
            check(&t->fields[i % t->n_fields].type, v->kids[i], child, from + i / t->n_fields);
        }
        break;
    }
}

/* ---- layouts ---- */

/* Rows to lay out: NULL = rubbish, a row that nobody may look at (around a slice, or hidden by a null parent). */
static void lay_out(const tl_type *t, value **rows, int64_t n, const char *name, int wraps, struct ArrowSchema *s,
                    struct ArrowArray *a);

static bool bit_of(const value *v) {
    return v ? !v->null : chance(2);
}

/* Validity of all rows, slices included; sometimes none when no row is null. */
static void lay_validity(struct ArrowArray *a, value **rows, int64_t n) {
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        any |= rows[i] && rows[i]->null;
    }
    if (!any && chance(2)) {
        a->null_count = chance(2) ? 0 : -1;
        return;
    }
    uint8_t *bits = test_buffer(a, 0, (size_t)(n + 7) / 8);
    for (int64_t i = 0; i < n; i++) {
        if (bit_of(rows[i])) {
            tl_bit_set(bits, i);
        }
    }
    if (chance(2)) {
        a->null_count = a->length - tl_bits_count(bits, a->offset, a->length);
    }
}

static void put_wide(uint8_t *to, tl_i128 number, size_t width, bool rubbish) {
    uint8_t raw[32];
    memset(raw, number < 0 ? 0xff : 0, sizeof raw);
    memcpy(raw, &number, 16);
    for (size_t i = 0; rubbish && i < width; i++) {
        raw[i] = (uint8_t)dice();
    }
    memcpy(to, raw, width);
}

/* A fixed-width layout: format, width, and a factor on the number. */
typedef struct fixed {
    char format[32];
    size_t width;
    tl_i128 multiply, divide;
} fixed;

static bool fits_width(value **rows, int64_t n, size_t width, bool is_signed) {
    for (int64_t i = 0; i < n; i++) {
        tl_i128 x = rows[i] && !rows[i]->null ? rows[i]->number : 0;
        tl_i128 top = (tl_i128)1 << (8 * width - (is_signed ? 1 : 0));
        if (x >= top || x < (is_signed ? -top : 0)) {
            return false;
        }
    }
    return true;
}

static bool divides(value **rows, int64_t n, int64_t by) {
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] && !rows[i]->null && rows[i]->number % by != 0) {
            return false;
        }
    }
    return true;
}

static fixed fixed_layout(const tl_type *t, value **rows, int64_t n) {
    static const char signs[] = "csil", plain[] = "CSIL";
    fixed f = {.width = 4, .multiply = 1, .divide = 1};
    const char *zone = t->id == TL_TYPE_TIMESTAMPTZ && chance(2) ? "Etc/UTC" : "";
    int64_t k = below(4), unit = below(3);
    bool is_signed = chance(2);
    switch (t->id) {
    case TL_TYPE_INT:
    case TL_TYPE_LONG:
        for (; !fits_width(rows, n, (size_t)1 << k, is_signed); k = below(4), is_signed = chance(2)) {}
        f.format[0] = is_signed ? signs[k] : plain[k];
        f.width = (size_t)1 << k;
        break;
    case TL_TYPE_FLOAT: strcpy(f.format, "f"); break;
    case TL_TYPE_DOUBLE:
        strcpy(f.format, "g");
        f.width = 8;
        break;
    case TL_TYPE_DATE:
        strcpy(f.format, chance(2) ? "tdD" : "tdm");
        if (f.format[2] == 'm') {
            f.width = 8;
            f.multiply = 86400000;
        }
        break;
    case TL_TYPE_TIME:
        strcpy(f.format, unit == 0 ? "tts" : unit == 1 ? "ttu" : "ttn");
        f.width = unit == 0 ? 4 : 8;
        f.divide = unit == 0 ? 1000000 : 1;
        f.multiply = unit == 2 ? 1000 : 1;
        break;
    case TL_TYPE_DECIMAL: {
        int32_t more = (int32_t)below(3);
        f.width = t->precision + more > 18 ? 16 : t->precision + more > 9 ? 8 : 4;
        f.width = chance(2) ? f.width : 2 * f.width;
        for (int32_t i = 0; i < more; i++) {
            f.multiply *= 10;
        }
        int digits = f.width == 4 ? 9 : f.width == 8 ? 18 : f.width == 16 ? 38 : 76;
        snprintf(f.format, sizeof f.format, "d:%d,%d,%d", digits, t->scale + more, (int)f.width * 8);
        break;
    }
    case TL_TYPE_UUID:
    case TL_TYPE_FIXED:
        f.width = t->id == TL_TYPE_UUID ? 16 : (size_t)t->length;
        snprintf(f.format, sizeof f.format, "w:%d", (int)f.width);
        break;
    default: /* timestamps */
        f.width = 8;
        unit = unit == 0 && divides(rows, n, 1000000) ? 0 : unit == 2 && fits_width(rows, n, 6, true) ? 2 : 1;
        f.divide = unit == 0 ? 1000000 : 1;
        f.multiply = unit == 2 ? 1000 : 1;
        snprintf(f.format, sizeof f.format, "ts%c:%s", "sun"[unit], zone);
        break;
    }
    return f;
}

static void lay_fixed(const tl_type *t, value **rows, int64_t n, const char *name, struct ArrowSchema *s,
                      struct ArrowArray *a) {
    fixed f = fixed_layout(t, rows, n);
    test_schema(s, f.format, name, 0);
    uint8_t *p = test_buffer(a, 1, f.width * (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        bool rubbish = !rows[i] || rows[i]->null;
        if (!rubbish && f.format[0] == 'w') {
            memcpy(p + (size_t)i * f.width, rows[i]->bytes, f.width);
        } else {
            put_wide(p + (size_t)i * f.width, rubbish ? 0 : rows[i]->number * f.multiply / f.divide, f.width, rubbish);
        }
    }
}

static void lay_bool(value **rows, int64_t n, const char *name, struct ArrowSchema *s, struct ArrowArray *a) {
    test_schema(s, "b", name, 0);
    uint8_t *bits = test_buffer(a, 1, (size_t)(n + 7) / 8);
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] && !rows[i]->null ? rows[i]->number != 0 : chance(2)) {
            tl_bit_set(bits, i);
        }
    }
}

/* Text or bytes with offsets; rubbish rows have bytes as well, broken ones. */
static void lay_bytes(const tl_type *t, value **rows, int64_t n, const char *name, struct ArrowSchema *s,
                      struct ArrowArray *a) {
    bool text = t->id == TL_TYPE_STRING && !chance(4), large = chance(2);
    test_schema(s, text ? (large ? "U" : "u") : large ? "Z" : "z", name, 0);
    uint8_t *data = make((size_t)n * 48 + 8, 1);
    int64_t at = below(5);
    uint8_t *offsets = test_buffer(a, 1, (size_t)(n + 1) * (large ? 8 : 4));
    for (int64_t i = 0; i <= n; i++) {
        int32_t narrow = (int32_t)at;
        memcpy(offsets + (size_t)i * (large ? 8 : 4), large ? (void *)&at : (void *)&narrow, large ? 8 : 4);
        if (i < n && rows[i] && !rows[i]->null) {
            memcpy(data + at, rows[i]->bytes, (size_t)rows[i]->n);
            at += rows[i]->n;
        } else if (i < n) {
            for (int64_t k = below(4); k > 0; k--) {
                data[at++] = (uint8_t)dice();
            }
        }
    }
    test_fill(a, 2, data, (size_t)at);
}

static void lay_views(const tl_type *t, value **rows, int64_t n, const char *name, struct ArrowSchema *s,
                      struct ArrowArray *a) {
    test_schema(s, t->id == TL_TYPE_STRING && !chance(4) ? "vu" : "vz", name, 0);
    uint8_t *views = test_buffer(a, 1, (size_t)n * 16);
    uint8_t *data[2] = {make((size_t)n * 48 + 1, 1), make((size_t)n * 48 + 1, 1)};
    int64_t sizes[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        uint8_t *view = views + i * 16;
        if (!rows[i] || rows[i]->null) {
            put_wide(view, 0, 16, true);
            continue;
        }
        int32_t len = (int32_t)rows[i]->n, which = (int32_t)below(2);
        memcpy(view, &len, 4);
        if (len <= 12) {
            memcpy(view + 4, rows[i]->bytes, (size_t)len);
            continue;
        }
        int32_t offset = (int32_t)sizes[which];
        memcpy(view + 4, rows[i]->bytes, 4);
        memcpy(view + 8, &which, 4);
        memcpy(view + 12, &offset, 4);
        memcpy(data[which] + offset, rows[i]->bytes, (size_t)len);
        sizes[which] += len;
    }
    test_fill(a, 2, data[0], (size_t)sizes[0]);
    test_fill(a, 3, data[1], (size_t)sizes[1]);
    test_fill(a, 4, sizes, sizeof sizes);
}

static void lay_struct(const tl_type *t, value **rows, int64_t n, const char *name, int wraps, struct ArrowSchema *s,
                       struct ArrowArray *a) {
    test_schema(s, "+s", name, t->n_fields);
    int32_t *order = make((size_t)t->n_fields, sizeof *order);
    for (int32_t i = 0; i < t->n_fields; i++) { /* fields in any order */
        int64_t at = below(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int32_t i = 0; i < t->n_fields; i++) {
        value **kids = make((size_t)n, sizeof *kids);
        for (int64_t r = 0; r < n; r++) {
            kids[r] = rows[r] && !rows[r]->null ? rows[r]->kids[order[i]] : NULL;
        }
        lay_out(&t->fields[order[i]].type, kids, n, t->fields[order[i]].name, wraps, s->children[i], a->children[i]);
    }
}

/* Elements of lists, with rubbish between and under them, as a child array: the entries struct for a map. */
static void lay_elements(const tl_type *t, value **rows, int64_t n, int wraps, struct ArrowSchema *s,
                         struct ArrowArray *a) {
    if (t->id == TL_TYPE_LIST) {
        lay_out(&t->fields[0].type, rows, n, "item", wraps, s, a);
        return;
    }
    int64_t pad = below(3); /* pairs of key and value, one behind the other */
    test_schema(s, "+s", "entries", 2);
    test_array(a, n / 2, 1, 2);
    a->offset = pad;
    for (int32_t k = 0; k < 2; k++) {
        value **kids = make((size_t)(n / 2 + pad), sizeof *kids);
        for (int64_t i = 0; i < n / 2; i++) {
            kids[pad + i] = rows[2 * i + k];
        }
        lay_out(&t->fields[k].type, kids, n / 2 + pad, k ? "v" : "k", wraps, s->children[k], a->children[k]);
    }
}

static void lay_list(const tl_type *t, value **rows, int64_t n, const char *name, int wraps, struct ArrowSchema *s,
                     struct ArrowArray *a, int64_t kind) {
    /* 0 list or map, 1 large, 2 view, 3 large view, 4 fixed size */
    static const char *const formats[] = {"+l", "+L", "+vl", "+vL"};
    int64_t f = t->n_fields, size = 0, cap = 16, used = 0;
    for (int64_t i = 0; i < n; i++) {
        size = rows[i] && !rows[i]->null ? rows[i]->n / f : size;
        cap += (rows[i] ? rows[i]->n : 0) + 8 * f;
    }
    cap += n * size * f;
    char format[24];
    snprintf(format, sizeof format, "+w:%lld", (long long)size);
    test_schema(s, t->id == TL_TYPE_MAP ? "+m" : kind == 4 ? format : formats[kind], name, 1);
    value **elements = make((size_t)cap, sizeof *elements);
    size_t w = kind == 1 || kind == 3 ? 8 : 4;
    bool view = kind == 2 || kind == 3;
    uint8_t *offsets = kind < 4 ? test_buffer(a, 1, (size_t)(n + (view ? 0 : 1)) * w) : NULL;
    uint8_t *sizes = view ? test_buffer(a, 2, (size_t)n * w) : NULL;
    used = kind < 4 ? below(3) * f : 0;
    bool backwards = view && chance(2); /* list views may come in any order */
    for (int64_t k = 0; k < n; k++) {
        int64_t i = backwards ? n - 1 - k : k, here = used / f, count;
        bool rubbish = !rows[i] || rows[i]->null;
        used += view && chance(3) ? f : 0; /* gaps */
        here = used / f;
        count = kind == 4 ? size : rubbish ? (view ? 0 : below(3)) : rows[i]->n / f;
        if (kind < 4) {
            put_wide(offsets + (size_t)i * w, view && rubbish ? (tl_i128)dice() : here, w, view && rubbish);
        }
        if (view) {
            put_wide(sizes + (size_t)i * w, count, w, rubbish);
        }
        for (int64_t e = 0; e < count * f; e++) {
            elements[used++] = rubbish ? NULL : rows[i]->kids[e];
        }
    }
    if (kind < 2) {
        put_wide(offsets + (size_t)n * w, used / f, w, false);
    }
    used += kind < 4 ? below(2) * f : 0;
    assert_true(used <= cap);
    lay_elements(t, elements, used, wraps, s->children[0], a->children[0]);
}

/* Do all lists have one size? Then fixed_size_list can hold them. */
static bool one_size(value **rows, int64_t n) {
    int64_t size = -1;
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] && !rows[i]->null) {
            if (size >= 0 && rows[i]->n != size) {
                return false;
            }
            size = rows[i]->n;
        }
    }
    return true;
}

/* Dictionary: every value of its own or shared, rubbish values nobody uses, null as index or as value. */
static void lay_dictionary(const tl_type *t, value **rows, int64_t n, const char *name, int wraps,
                           struct ArrowSchema *s, struct ArrowArray *a, int64_t total_rows) {
    static const char formats[] = "csilCSIL";
    int64_t which = below(8), width = (int64_t)1 << (which % 4), count = 0;
    value **values = make((size_t)(2 * n + 3), sizeof *values);
    int64_t *indices = make((size_t)n, sizeof *indices);
    for (int64_t i = 0; i < n; i++) {
        if (chance(5)) {
            values[count++] = NULL;
        }
        indices[i] = -1;
        for (int64_t k = 0; rows[i] && k < count && indices[i] < 0; k++) {
            indices[i] = values[k] && same(values[k], rows[i]) && !chance(4) ? k : -1;
        }
        if (rows[i] && indices[i] < 0 && (!rows[i]->null || chance(2))) {
            values[count] = rows[i];
            indices[i] = count++;
        }
    }
    if (count > 120 && width == 1) {
        which = which / 4 * 4 + 1;
        width = 2;
    }
    char format[2] = {formats[which], 0};
    test_schema(s, format, name, 0);
    uint8_t *p = test_buffer(a, 1, (size_t)(n * width));
    value **validity = make((size_t)n, sizeof *validity);
    static value null_value = {.null = true}, some_value;
    for (int64_t i = 0; i < n; i++) {
        bool rubbish = indices[i] < 0;
        put_wide(p + i * width, rubbish ? 0 : indices[i], (size_t)width, rubbish);
        validity[i] = !rows[i] ? NULL : rubbish ? &null_value : &some_value;
    }
    a->length = total_rows;
    lay_validity(a, validity, n);
    s->dictionary = test_memory(sizeof *s->dictionary);
    a->dictionary = test_memory(sizeof *a->dictionary);
    lay_out(t, values, count, "", wraps - 1, s->dictionary, a->dictionary);
}

static void lay_runs(const tl_type *t, value **rows, int64_t n, const char *name, int wraps, struct ArrowSchema *s,
                     struct ArrowArray *a) {
    static const char formats[] = "sil";
    int64_t which = below(3), width = (int64_t)2 << which, count = 0, pad = below(3);
    test_schema(s, "+r", name, 2);
    value **values = make((size_t)n, sizeof *values);
    int64_t *ends = make((size_t)(n + pad), sizeof *ends);
    for (int64_t i = 0; i < n; i++) {
        bool goes_on =
            count > 0 &&
            ((!rows[i] && chance(2)) || (rows[i] && values[count - 1] && same(rows[i], values[count - 1]))) &&
            !chance(4);
        if (!goes_on) {
            values[count++] = rows[i];
        }
        ends[pad + count - 1] = i + 1;
    }
    char format[2] = {formats[which], 0};
    test_schema(s->children[0], format, "run_ends", 0);
    s->children[0]->flags = 0;
    test_array(a->children[0], count, 2, 0);
    a->children[0]->offset = pad;
    a->children[0]->null_count = 0;
    uint8_t *p = test_buffer(a->children[0], 1, (size_t)((count + pad) * width));
    for (int64_t i = 0; i < count + pad; i++) {
        put_wide(p + i * width, ends[i], (size_t)width, i < pad);
    }
    lay_out(t, values, count, "values", wraps - 1, s->children[1], a->children[1]);
}

static void lay_out(const tl_type *t, value **rows, int64_t n, const char *name, int wraps, struct ArrowSchema *s,
                    struct ArrowArray *a) {
    int64_t before = chance(2) ? below(12) : 0, behind = chance(3) ? below(4) : 0, total = before + n + behind;
    value **all = make((size_t)total, sizeof *all);
    memcpy(all + before, rows, (size_t)n * sizeof *rows);
    int64_t kind = below(5);
    if (wraps > 0 && chance(4)) {
        test_array(a, n, 2, 0);
        a->offset = before;
        lay_dictionary(t, all, total, name, wraps, s, a, n);
        return;
    }
    if (wraps > 0 && chance(5) && total < 30000) {
        test_array(a, n, 0, 2);
        a->offset = before;
        a->null_count = 0;
        lay_runs(t, all, total, name, wraps, s, a);
        return;
    }
    bool bytes = t->id == TL_TYPE_STRING || t->id == TL_TYPE_BINARY, view = bytes && kind < 2;
    kind = t->id == TL_TYPE_MAP ? 0 : kind == 4 && !one_size(all, total) ? below(4) : kind;
    bool list = t->id == TL_TYPE_LIST || t->id == TL_TYPE_MAP, list_view = list && (kind == 2 || kind == 3);
    int64_t buffers = view ? 5 : bytes || list_view ? 3 : t->id == TL_TYPE_STRUCT || (list && kind == 4) ? 1 : 2;
    test_array(a, n, buffers, t->id == TL_TYPE_STRUCT ? t->n_fields : list ? 1 : 0);
    a->offset = before;
    lay_validity(a, all, total);
    if (t->id == TL_TYPE_BOOLEAN) {
        lay_bool(all, total, name, s, a);
    } else if (bytes) {
        (view ? lay_views : lay_bytes)(t, all, total, name, s, a);
    } else if (t->id == TL_TYPE_STRUCT) {
        lay_struct(t, all, total, name, wraps, s, a);
    } else if (list) {
        lay_list(t, all, total, name, wraps, s, a, kind);
    } else {
        lay_fixed(t, all, total, name, s, a);
    }
}

/* ---- the property ---- */

static void align_and_check(const tl_field *fields, int32_t n_fields, value ***columns, int64_t n) {
    struct ArrowSchema s;
    struct ArrowArray a;
    int64_t pad = chance(2) ? below(9) : 0;
    test_table(&s, &a, n_fields, n);
    a.offset = pad;
    for (int32_t i = 0; i < n_fields; i++) {
        value **rows = make((size_t)(n + pad), sizeof *rows);
        memcpy(rows + pad, columns[i], (size_t)n * sizeof *rows);
        lay_out(&fields[i].type, rows, n + pad, fields[i].name, 2, s.children[i], a.children[i]);
    }
    tl_schema schema = {.n_fields = n_fields, .fields = make((size_t)n_fields, sizeof *fields)};
    memcpy(schema.fields, fields, (size_t)n_fields * sizeof *fields);
    tl_error err = {{0}};
    tl_align *plan;
    if (tl_align_create(&schema, -1, &s, &plan, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    s.release(&s);
    tl_batch b;
    int before = test_array_releases;
    if (tl_align_batch(plan, &a, 0, 0, &b, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    tl_align_free(plan);
    assert_int_equal(b.n_rows, n);
    for (int32_t i = 0; i < n_fields; i++) {
        assert_int_equal(b.columns[i].length, n);
        for (int64_t r = 0; r < n; r++) {
            check(&fields[i].type, columns[i][r], &b.columns[i], r);
        }
    }
    tl_batch_free(&b);
    assert_int_equal(test_array_releases, before + 1);
}

static void any_layout_of_the_same_values_gives_the_same_columns(void **unused) {
    (void)unused;
    static const char *const names[] = {"x", "y", "z"};
    const char *given = getenv("TL_SEED"), *rounds_given = getenv("TL_ROUNDS");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000;
    int rounds = rounds_given ? atoi(rounds_given) : 600;
    for (int round = 0; round < rounds; round++) {
        state = seed + (uint64_t)round;
        if (round == 0) {
            print_message("TL_SEED=%llu\n", (unsigned long long)state);
        }
        int32_t n_fields = 1 + (int32_t)below(3);
        int64_t n = chance(10) ? 0 : chance(10) ? 1100 + below(2000) : below(60);
        tl_field fields[3];
        value **columns[3];
        for (int32_t i = 0; i < n_fields; i++) {
            fields[i] = random_field(names[i], n > 1000 ? 1 : 3);
            columns[i] = make((size_t)n, sizeof **columns);
            for (int64_t r = 0; r < n; r++) { /* rows repeat, so that dictionaries and runs have work to do */
                columns[i][r] =
                    r && chance(3) ? columns[i][below(r)] : random_value(&fields[i].type, fields[i].required);
            }
        }
        /* A failure below names no round: the state of the dice is printed before each in a slow, verbose run. */
        if (getenv("TL_VERBOSE")) {
            print_message("round %d TL_SEED=%llu\n", round, (unsigned long long)(seed + (uint64_t)round));
        }
        for (int layout = 0; layout < 4; layout++) {
            align_and_check(fields, n_fields, columns, n);
        }
        tl_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_layout_of_the_same_values_gives_the_same_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
