/* The order of single values, as spec/table-format.md e lays it down for keys. */
#include "table/last_values.h"

static int compare_u64(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}
static int compare_i64(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* Bits of a float that compare as unsigned numbers: -inf .. -0.0, 0.0 .. inf, then all NaNs as one. */
static uint64_t float_order(uint64_t bits, unsigned sign_bit, uint64_t infinity) {
    uint64_t sign = UINT64_C(1) << sign_bit, mask = sign | (sign - 1);
    if ((bits & ~sign) > infinity) {
        return mask;
    }
    return bits & sign ? ~bits & mask : bits | sign;
}

static int compare_decimals(const uint8_t *a, const uint8_t *b) {
    int high = compare_i64(tl_load_i64(a + 8), tl_load_i64(b + 8));
    return high ? high : compare_u64(tl_load_u64(a), tl_load_u64(b));
}

int tl_column_compare(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b) {
    bool null_a = tl_column_is_null(a, row_a), null_b = tl_column_is_null(b, row_b);
    if (null_a || null_b) {
        return (int)null_b - (int)null_a;
    }
    const uint8_t *x = a->values + (a->kind == TL_COLUMN_FIXED ? row_a * a->width : 0);
    const uint8_t *y = b->values + (b->kind == TL_COLUMN_FIXED ? row_b * b->width : 0);
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return (int)tl_column_bool(a, row_a) - (int)tl_column_bool(b, row_b);
    case TL_TYPE_INT:
    case TL_TYPE_DATE: return compare_i64(tl_load_i32(x), tl_load_i32(y));
    case TL_TYPE_LONG:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return compare_i64(tl_load_i64(x), tl_load_i64(y));
    case TL_TYPE_FLOAT:
        return compare_u64(float_order(tl_load_u32(x), 31, 0x7f800000u), float_order(tl_load_u32(y), 31, 0x7f800000u));
    case TL_TYPE_DOUBLE:
        return compare_u64(float_order(tl_load_u64(x), 63, UINT64_C(0x7ff0000000000000)),
                           float_order(tl_load_u64(y), 63, UINT64_C(0x7ff0000000000000)));
    case TL_TYPE_DECIMAL: return compare_decimals(x, y);
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: return tl_bytes_compare(tl_column_bytes(a, row_a), tl_column_bytes(b, row_b));
    case TL_TYPE_UUID:
    case TL_TYPE_FIXED: return tl_bytes_compare((tl_bytes){x, (size_t)a->width}, (tl_bytes){y, (size_t)b->width});
    default: return 0; /* nested: no order */
    }
}
