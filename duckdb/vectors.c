/* Arrow arrays as DuckDB's vectors; see vectors.h. */
#include "duckdb/vectors.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* ---- types ---- */

static duckdb_logical_type type_of(const tl_type *type, int depth);

static duckdb_logical_type list_of(const tl_type *type, int depth) {
    duckdb_logical_type element = type_of(&type->fields[0].type, depth + 1), list = NULL;
    if (element) {
        list = duckdb_create_list_type(element);
        duckdb_destroy_logical_type(&element);
    }
    return list;
}

static duckdb_logical_type map_of(const tl_type *type, int depth) {
    duckdb_logical_type key = type_of(&type->fields[0].type, depth + 1), map = NULL;
    duckdb_logical_type value = type_of(&type->fields[1].type, depth + 1);
    if (key && value) {
        map = duckdb_create_map_type(key, value);
    }
    duckdb_destroy_logical_type(&key);
    duckdb_destroy_logical_type(&value);
    return map;
}

static duckdb_logical_type struct_of(const tl_type *type, int depth) {
    size_t n = (size_t)type->n_fields, made = 0;
    duckdb_logical_type *types = tl_calloc(n, sizeof *types), whole = NULL;
    const char **names = tl_calloc(n, sizeof *names);
    for (; types && names && made < n; made++) {
        names[made] = type->fields[made].name;
        types[made] = type_of(&type->fields[made].type, depth + 1);
        if (!types[made]) {
            break;
        }
    }
    if (types && names && made == n) {
        whole = duckdb_create_struct_type(types, names, n);
    }
    for (size_t i = 0; i < made; i++) {
        duckdb_destroy_logical_type(&types[i]);
    }
    tl_free((void *)types);
    tl_free((void *)names);
    return whole;
}

static duckdb_logical_type type_of(const tl_type *type, int depth) {
    if (depth > TL_TYPE_MAX_DEPTH) {
        return NULL;
    }
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
    case TL_TYPE_INT: return duckdb_create_logical_type(DUCKDB_TYPE_INTEGER);
    case TL_TYPE_LONG: return duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
    case TL_TYPE_FLOAT: return duckdb_create_logical_type(DUCKDB_TYPE_FLOAT);
    case TL_TYPE_DOUBLE: return duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
    case TL_TYPE_DECIMAL: return duckdb_create_decimal_type((uint8_t)type->precision, (uint8_t)type->scale);
    case TL_TYPE_DATE: return duckdb_create_logical_type(DUCKDB_TYPE_DATE);
    case TL_TYPE_TIME: return duckdb_create_logical_type(DUCKDB_TYPE_TIME);
    case TL_TYPE_TIMESTAMP: return duckdb_create_logical_type(DUCKDB_TYPE_TIMESTAMP);
    case TL_TYPE_TIMESTAMPTZ: return duckdb_create_logical_type(DUCKDB_TYPE_TIMESTAMP_TZ);
    case TL_TYPE_STRING: return duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    case TL_TYPE_UUID: return duckdb_create_logical_type(DUCKDB_TYPE_UUID);
    case TL_TYPE_FIXED:
    case TL_TYPE_BINARY: return duckdb_create_logical_type(DUCKDB_TYPE_BLOB);
    case TL_TYPE_LIST: return list_of(type, depth);
    case TL_TYPE_MAP: return map_of(type, depth);
    case TL_TYPE_STRUCT: return struct_of(type, depth);
    }
    return NULL;
}

duckdb_logical_type tl_vector_type(const tl_type *type) {
    return type_of(type, 0);
}

/* ---- values ---- */

static const uint8_t *bytes_at(const struct ArrowArray *a, int buffer, int64_t offset) {
    return (const uint8_t *)a->buffers[buffer] + offset;
}

static bool is_valid(const struct ArrowArray *a, int64_t row) {
    const uint8_t *validity = a->buffers[0];
    return !validity || tl_bit(validity, row);
}

static void put_nulls(const struct ArrowArray *a, int64_t row, int64_t n, duckdb_vector out) {
    uint64_t *validity = NULL;
    for (int64_t i = 0; a->null_count != 0 && a->buffers[0] && i < n; i++) {
        if (!is_valid(a, row + i)) {
            if (!validity) {
                duckdb_vector_ensure_validity_writable(out);
                validity = duckdb_vector_get_validity(out);
            }
            duckdb_validity_set_row_invalid(validity, (idx_t)i);
        }
    }
}

static void put_bools(const struct ArrowArray *a, int64_t row, int64_t n, bool *out) {
    const uint8_t *bits = a->buffers[1];
    for (int64_t i = 0; i < n; i++) {
        out[i] = tl_bit(bits, row + i);
    }
}

/* DuckDB keeps a decimal in as few bytes as its precision needs; Arrow's have 16. Bytes under nulls may not fit, and
 * are cut. */
static void put_decimals(const tl_type *type, const struct ArrowArray *a, int64_t row, int64_t n, void *out) {
    const uint8_t *from = bytes_at(a, 1, row * 16);
    if (type->precision > 18) {
        memcpy(out, from, (size_t)n * sizeof(duckdb_hugeint));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = tl_load_u64(from + i * 16);
        if (type->precision > 9) {
            ((int64_t *)out)[i] = (int64_t)low;
        } else if (type->precision > 4) {
            ((int32_t *)out)[i] = (int32_t)(uint32_t)low;
        } else {
            ((int16_t *)out)[i] = (int16_t)(uint16_t)low;
        }
    }
}

static uint64_t load_big_endian(const uint8_t *p) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

/* As signed numbers that order as the bytes do. */
static void put_uuids(const struct ArrowArray *a, int64_t row, int64_t n, duckdb_hugeint *out) {
    const uint8_t *from = bytes_at(a, 1, row * 16);
    for (int64_t i = 0; i < n; i++) {
        out[i].upper = (int64_t)(load_big_endian(from + i * 16) ^ (uint64_t)1 << 63);
        out[i].lower = load_big_endian(from + i * 16 + 8);
    }
}

static int32_t offset_at(const struct ArrowArray *a, int64_t row) {
    return tl_load_i32(bytes_at(a, 1, row * 4));
}

static void put_texts(const struct ArrowArray *a, int64_t row, int64_t n, duckdb_vector out) {
    for (int64_t i = 0; i < n; i++) {
        if (is_valid(a, row + i)) {
            int32_t from = offset_at(a, row + i), to = offset_at(a, row + i + 1);
            const char *data = to > from ? (const char *)bytes_at(a, 2, from) : "";
            duckdb_vector_assign_string_element_len(out, (idx_t)i, data, (idx_t)(to - from));
        }
    }
}

static void put_fixed(const struct ArrowArray *a, int32_t width, int64_t row, int64_t n, duckdb_vector out) {
    for (int64_t i = 0; i < n; i++) {
        if (is_valid(a, row + i)) {
            const char *data = width ? (const char *)bytes_at(a, 1, (row + i) * width) : "";
            duckdb_vector_assign_string_element_len(out, (idx_t)i, data, (idx_t)width);
        }
    }
}

static tl_status put(const tl_type *type, const struct ArrowArray *a, int64_t first, int64_t n, duckdb_vector out,
                     tl_error *err);

/* Rows of a struct's fields stand where its own do. */
static tl_status put_fields(const tl_type *type, const struct ArrowArray *a, int64_t row, int64_t n, duckdb_vector out,
                            tl_error *err) {
    for (int32_t i = 0; i < type->n_fields; i++) {
        TL_TRY(put(&type->fields[i].type, a->children[i], row, n, duckdb_struct_vector_get_child(out, (idx_t)i), err));
    }
    return TL_OK;
}

/* Lists, and maps, which are lists of (key, value). */
static tl_status put_lists(const tl_type *type, const struct ArrowArray *a, int64_t row, int64_t n, duckdb_vector out,
                           tl_error *err) {
    duckdb_list_entry *entries = duckdb_vector_get_data(out);
    int32_t from = offset_at(a, row), to = offset_at(a, row + n);
    for (int64_t i = 0; i < n; i++) {
        int32_t begin = offset_at(a, row + i);
        entries[i].offset = (uint64_t)(begin - from);
        entries[i].length = (uint64_t)(offset_at(a, row + i + 1) - begin);
    }
    idx_t size = (idx_t)(to - from);
    if (duckdb_list_vector_reserve(out, size) != DuckDBSuccess ||
        duckdb_list_vector_set_size(out, size) != DuckDBSuccess) {
        return tl_fail_memory(err, size);
    }
    if (size == 0) {
        return TL_OK;
    }
    const struct ArrowArray *elements = a->children[0];
    duckdb_vector child = duckdb_list_vector_get_child(out);
    return type->id == TL_TYPE_MAP ? put_fields(type, elements, elements->offset + from, (int64_t)size, child, err)
                                   : put(&type->fields[0].type, elements, from, (int64_t)size, child, err);
}

static tl_status put(const tl_type *type, const struct ArrowArray *a, int64_t first, int64_t n, duckdb_vector out,
                     tl_error *err) {
    int64_t row = a->offset + first;
    size_t count = (size_t)n;
    if (n == 0) {
        return TL_OK;
    }
    put_nulls(a, row, n, out);
    void *data = duckdb_vector_get_data(out);
    switch (type->id) {
    case TL_TYPE_BOOLEAN: put_bools(a, row, n, data); return TL_OK;
    case TL_TYPE_INT:
    case TL_TYPE_FLOAT:
    case TL_TYPE_DATE: memcpy(data, bytes_at(a, 1, row * 4), count * 4); return TL_OK;
    case TL_TYPE_LONG:
    case TL_TYPE_DOUBLE:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: memcpy(data, bytes_at(a, 1, row * 8), count * 8); return TL_OK;
    case TL_TYPE_DECIMAL: put_decimals(type, a, row, n, data); return TL_OK;
    case TL_TYPE_UUID: put_uuids(a, row, n, data); return TL_OK;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: put_texts(a, row, n, out); return TL_OK;
    case TL_TYPE_FIXED: put_fixed(a, type->length, row, n, out); return TL_OK;
    case TL_TYPE_LIST:
    case TL_TYPE_MAP: return put_lists(type, a, row, n, out, err);
    case TL_TYPE_STRUCT: return put_fields(type, a, row, n, out, err);
    }
    return tl_fail(err, TL_UNSUPPORTED, "a type that DuckDB does not have");
}

tl_status tl_vector_put(const tl_type *type, const struct ArrowArray *array, int64_t first, int64_t n,
                        duckdb_vector out, tl_error *err) {
    return put(type, array, first, n, out, err);
}
