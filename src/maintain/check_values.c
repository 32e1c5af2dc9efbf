/* Values for the check: bounds as columns, comparisons; see check_internal.h. */
#include <math.h>
#include <string.h>

#include "maintain/check_internal.h"

/* Bytes of a fixed-width type in memory; 0 = not of fixed width. */
static int32_t width_of(const tl_type *type) {
    switch (type->id) {
    case TL_TYPE_INT:
    case TL_TYPE_DATE:
    case TL_TYPE_FLOAT: return 4;
    case TL_TYPE_LONG:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ:
    case TL_TYPE_DOUBLE: return 8;
    case TL_TYPE_DECIMAL:
    case TL_TYPE_UUID: return 16;
    case TL_TYPE_FIXED: return type->length;
    default: return 0;
    }
}

/* Big-endian two's complement of up to 16 bytes to a little-endian decimal128. */
static bool decimal_value(tl_bytes v, uint8_t out[16]) {
    if (v.len == 0 || v.len > 16) {
        return false;
    }
    memset(out, v.data[0] & 0x80 ? 0xff : 0, 16);
    for (size_t i = 0; i < v.len; i++) {
        out[i] = v.data[v.len - 1 - i];
    }
    return true;
}

/* Also bounds of before the column became long or double. */
static bool fixed_value(const tl_type *type, int32_t width, tl_bytes v, uint8_t *out) {
    if (type->id == TL_TYPE_DECIMAL) {
        return decimal_value(v, out);
    }
    if (v.len == (size_t)width) {
        memcpy(out, v.data, v.len);
        return true;
    }
    if (v.len == 4 && type->id == TL_TYPE_LONG) {
        tl_store_u64(out, (uint64_t)(int64_t)tl_load_i32(v.data));
        return true;
    }
    if (v.len == 4 && type->id == TL_TYPE_DOUBLE) {
        float narrow;
        memcpy(&narrow, v.data, 4);
        double wide = (double)narrow;
        memcpy(out, &wide, 8);
        return true;
    }
    return false;
}

tl_status tl_check_value_column(const tl_type *type, tl_bytes value, tl_arena *arena, tl_column *out, bool *fits,
                                tl_error *err) {
    *out = (tl_column){.length = 1};
    *fits = true;
    int32_t width = width_of(type);
    uint8_t *bytes = tl_arena_alloc(arena, (size_t)width + value.len + 16);
    int32_t *offsets = tl_arena_array(arena, 2, sizeof *offsets);
    if (!bytes || !offsets || value.len > INT32_MAX) {
        return tl_fail_memory(err, value.len);
    }
    if (type->id == TL_TYPE_STRING || type->id == TL_TYPE_BINARY) {
        if (value.len) {
            memcpy(bytes, value.data, value.len);
        }
        offsets[1] = (int32_t)value.len;
        out->kind = TL_COLUMN_BYTES;
        out->offsets32 = offsets;
        out->data = bytes;
        return TL_OK;
    }
    out->values = bytes;
    if (type->id == TL_TYPE_BOOLEAN) {
        out->kind = TL_COLUMN_BOOL;
        *fits = value.len == 1;
        bytes[0] = value.len == 1 && value.data[0] ? 1 : 0;
        return TL_OK;
    }
    out->kind = TL_COLUMN_FIXED;
    out->width = width;
    *fits = width > 0 && fixed_value(type, width, value, bytes);
    return TL_OK;
}

static double float_at(const tl_type *type, const tl_column *c, int64_t row) {
    double d;
    float f;
    if (type->id == TL_TYPE_DOUBLE) {
        memcpy(&d, c->values + row * 8, 8);
        return d;
    }
    memcpy(&f, c->values + row * 4, 4);
    return (double)f;
}

static bool is_float(const tl_type *type) {
    return type->id == TL_TYPE_FLOAT || type->id == TL_TYPE_DOUBLE;
}

bool tl_check_is_nan(const tl_type *type, const tl_column *c, int64_t row) {
    return is_float(type) && isnan(float_at(type, c, row));
}

int tl_check_compare(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b) {
    if (is_float(type)) {
        double x = float_at(type, a, row_a), y = float_at(type, b, row_b);
        return (x > y) - (x < y);
    }
    return tl_column_compare(type, a, row_a, b, row_b);
}

static bool list_equal(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b) {
    int64_t from_a = tl_column_offset(a, row_a), n = tl_column_offset(a, row_a + 1) - from_a;
    int64_t from_b = tl_column_offset(b, row_b);
    if (tl_column_offset(b, row_b + 1) - from_b != n) {
        return false;
    }
    /* a map is a list of struct<key, value> */
    tl_type entry = {.id = TL_TYPE_STRUCT, .n_fields = type->n_fields, .fields = type->fields};
    const tl_type *element = type->id == TL_TYPE_MAP ? &entry : &type->fields[0].type;
    for (int64_t i = 0; i < n; i++) {
        if (!tl_check_equal(element, &a->children[0], from_a + i, &b->children[0], from_b + i)) {
            return false;
        }
    }
    return true;
}

/* As deep as the type, which is bounded (TL_TYPE_MAX_DEPTH). */
bool tl_check_equal(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b) {
    bool null_a = tl_column_is_null(a, row_a), null_b = tl_column_is_null(b, row_b);
    if (null_a || null_b) {
        return null_a && null_b;
    }
    if (type->id == TL_TYPE_STRUCT) {
        for (int32_t i = 0; i < type->n_fields; i++) {
            if (!tl_check_equal(&type->fields[i].type, &a->children[i], row_a, &b->children[i], row_b)) {
                return false;
            }
        }
        return true;
    }
    if (type->id == TL_TYPE_LIST || type->id == TL_TYPE_MAP) {
        return list_equal(type, a, row_a, b, row_b);
    }
    return tl_column_compare(type, a, row_a, b, row_b) == 0;
}
