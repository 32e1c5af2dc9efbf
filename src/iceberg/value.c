/*
 * Iceberg's single-value encoding (spec, appendix D): bounds and partition values. Comes in: encoded bytes and their
 * type. Goes out: orders, numbers, conversions from Parquet's PLAIN form. Lengths are checked before anything is read.
 */
#include <math.h>

#include "iceberg/manifest.h"
#include "iceberg/parquet_schema.h"

static tl_status wrong_length(const tl_type *type, tl_bytes v, tl_error *err) {
    tl_buf name = {0};
    bool named = tl_type_print(type, &name) == TL_OK;
    tl_status status = tl_fail(err, TL_CORRUPT, "a bound or partition value of %zu bytes cannot be of type %.*s", v.len,
                               named ? (int)name.len : 1, named ? (const char *)name.data : "?");
    tl_buf_free(&name);
    return status;
}

static bool read_int(tl_bytes v, bool is_long, int64_t *out) {
    if (v.len == 4) {
        *out = tl_load_i32(v.data);
        return true;
    }
    if (v.len == 8 && is_long) {
        *out = tl_load_i64(v.data);
        return true;
    }
    return false;
}

bool tl_value_int64(const tl_type *type, tl_bytes value, int64_t *out) {
    switch (type->id) {
    case TL_TYPE_INT:
    case TL_TYPE_DATE: return read_int(value, false, out);
    case TL_TYPE_LONG:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return read_int(value, true, out);
    default: return false;
    }
}

static bool read_float(tl_bytes v, bool is_double, double *out) {
    if (v.len == 4) {
        float f;
        memcpy(&f, v.data, 4);
        *out = (double)f;
        return true;
    }
    if (v.len == 8 && is_double) {
        memcpy(out, v.data, 8);
        return true;
    }
    return false;
}

static int compare_doubles(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return (isnan(a) != 0) - (isnan(b) != 0);
    }
    if (a == 0 && b == 0) {
        return (signbit(b) != 0) - (signbit(a) != 0);
    }
    return (a > b) - (a < b);
}

/* Two's complement of any length, as 17 bytes. */
static void widen(tl_bytes v, uint8_t out[17]) {
    memset(out, v.data[0] & 0x80 ? 0xff : 0, 17);
    memcpy(out + 17 - v.len, v.data, v.len);
}

static bool compare_decimals(tl_bytes a, tl_bytes b, int *out) {
    uint8_t x[17], y[17];
    if (a.len < 1 || a.len > 17 || b.len < 1 || b.len > 17) {
        return false;
    }
    widen(a, x);
    widen(b, y);
    x[0] ^= 0x80;
    y[0] ^= 0x80;
    *out = memcmp(x, y, sizeof x);
    return true;
}

static bool right_length(const tl_type *type, tl_bytes v) {
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return v.len == 1;
    case TL_TYPE_UUID: return v.len == 16;
    case TL_TYPE_FIXED: return v.len == (size_t)type->length;
    default: return true;
    }
}

tl_status tl_value_compare(const tl_type *type, tl_bytes a, tl_bytes b, int *out, tl_error *err) {
    int64_t x, y;
    double f, g;
    switch (type->id) {
    case TL_TYPE_INT:
    case TL_TYPE_DATE:
    case TL_TYPE_LONG:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ:
        if (!tl_value_int64(type, a, &x)) {
            return wrong_length(type, a, err);
        }
        if (!tl_value_int64(type, b, &y)) {
            return wrong_length(type, b, err);
        }
        *out = (x > y) - (x < y);
        return TL_OK;
    case TL_TYPE_FLOAT:
    case TL_TYPE_DOUBLE:
        if (!read_float(a, type->id == TL_TYPE_DOUBLE, &f)) {
            return wrong_length(type, a, err);
        }
        if (!read_float(b, type->id == TL_TYPE_DOUBLE, &g)) {
            return wrong_length(type, b, err);
        }
        *out = compare_doubles(f, g);
        return TL_OK;
    case TL_TYPE_DECIMAL:
        return compare_decimals(a, b, out) ? TL_OK : wrong_length(type, a.len < 1 || a.len > 17 ? a : b, err);
    case TL_TYPE_STRUCT:
    case TL_TYPE_LIST:
    case TL_TYPE_MAP: return tl_fail(err, TL_INVALID, "nested values have no order");
    default: break;
    }
    if (!right_length(type, a)) {
        return wrong_length(type, a, err);
    }
    if (!right_length(type, b)) {
        return wrong_length(type, b, err);
    }
    *out = tl_bytes_compare(a, b);
    return TL_OK;
}

static tl_status keep(const void *data, size_t len, tl_arena *arena, tl_bytes *out, tl_error *err) {
    /* One byte more, so that an empty value is told from none. */
    uint8_t *copy = tl_arena_alloc(arena, len + 1);
    if (!copy) {
        return tl_fail_memory(err, len);
    }
    if (len) {
        memcpy(copy, data, len);
    }
    *out = (tl_bytes){copy, len};
    return TL_OK;
}

tl_status tl_value_decimal(tl_bytes big_endian, tl_arena *arena, tl_bytes *out, tl_error *err) {
    if (big_endian.len < 1) {
        return tl_fail(err, TL_CORRUPT, "a decimal of no bytes");
    }
    const uint8_t *p = big_endian.data;
    size_t n = big_endian.len;
    while (n > 1 && ((p[0] == 0 && !(p[1] & 0x80)) || (p[0] == 0xff && (p[1] & 0x80)))) {
        p++;
        n--;
    }
    return n > 17 ? tl_fail(err, TL_CORRUPT, "a decimal of %zu bytes", n) : keep(p, n, arena, out, err);
}

static tl_status decimal_from_parquet(const tl_type *type, tl_pq_type physical, tl_bytes plain, tl_arena *arena,
                                      tl_bytes *out, tl_error *err) {
    if (physical == TL_PQ_FIXED || physical == TL_PQ_BYTE_ARRAY) {
        return tl_value_decimal(plain, arena, out, err);
    }
    if ((physical != TL_PQ_INT32 || plain.len != 4) && (physical != TL_PQ_INT64 || plain.len != 8)) {
        return wrong_length(type, plain, err);
    }
    uint8_t swapped[8];
    for (size_t i = 0; i < plain.len; i++) {
        swapped[i] = plain.data[plain.len - 1 - i];
    }
    return tl_value_decimal((tl_bytes){swapped, plain.len}, arena, out, err);
}

tl_status tl_value_from_parquet_as(const tl_type *type, tl_pq_type physical, tl_bytes plain, tl_arena *arena,
                                   tl_bytes *out, tl_error *err) {
    int64_t v;
    double f;
    switch (type->id) {
    case TL_TYPE_DECIMAL: return decimal_from_parquet(type, physical, plain, arena, out, err);
    case TL_TYPE_INT:
    case TL_TYPE_DATE:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ:
    case TL_TYPE_LONG: {
        /* A file from before int became long holds 32 bits. */
        bool wide = type->id != TL_TYPE_INT && type->id != TL_TYPE_DATE;
        if (!tl_value_int64(type, plain, &v) || plain.len != (physical == TL_PQ_INT32 ? 4u : 8u)) {
            return wrong_length(type, plain, err);
        }
        return keep(&v, wide ? 8 : 4, arena, out, err);
    }
    case TL_TYPE_DOUBLE:
        if (!read_float(plain, true, &f)) {
            return wrong_length(type, plain, err);
        }
        return keep(&f, 8, arena, out, err);
    case TL_TYPE_FLOAT:
        if (plain.len != 4) {
            return wrong_length(type, plain, err);
        }
        break;
    case TL_TYPE_STRUCT:
    case TL_TYPE_LIST:
    case TL_TYPE_MAP: return tl_fail(err, TL_INVALID, "nested values have no bounds");
    default:
        if (!right_length(type, plain)) {
            return wrong_length(type, plain, err);
        }
        break;
    }
    return keep(plain.data, plain.len, arena, out, err);
}

tl_pq_type tl_iceberg_physical_type(const tl_type *type) {
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return TL_PQ_BOOLEAN;
    case TL_TYPE_INT:
    case TL_TYPE_DATE: return TL_PQ_INT32;
    case TL_TYPE_FLOAT: return TL_PQ_FLOAT;
    case TL_TYPE_DOUBLE: return TL_PQ_DOUBLE;
    case TL_TYPE_DECIMAL: return type->precision <= 9 ? TL_PQ_INT32 : type->precision <= 18 ? TL_PQ_INT64 : TL_PQ_FIXED;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: return TL_PQ_BYTE_ARRAY;
    case TL_TYPE_UUID:
    case TL_TYPE_FIXED: return TL_PQ_FIXED;
    default: return TL_PQ_INT64;
    }
}

tl_status tl_value_from_parquet(const tl_type *type, tl_bytes plain, tl_arena *arena, tl_bytes *out, tl_error *err) {
    return tl_value_from_parquet_as(type, tl_iceberg_physical_type(type), plain, arena, out, err);
}
