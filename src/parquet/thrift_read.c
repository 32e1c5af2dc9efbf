/*
 * Reading the thrift compact form. Comes in: bytes of a footer, a page header or an index, hostile until checked.
 * Goes out: the structures of format.h, in an arena.
 *
 * A failure sticks to the input: once `status` is not TL_OK every further read gives 0 and every loop ends, so the
 * parsers below need no check after each field. Fields of an unexpected wire type are skipped as unknown ones are.
 */
#include "parquet/thrift.h"

#include <string.h>

enum {
    WIRE_STOP = 0,
    WIRE_TRUE = 1,
    WIRE_FALSE = 2,
    WIRE_BYTE = 3,
    WIRE_I16 = 4,
    WIRE_I32 = 5,
    WIRE_I64 = 6,
    WIRE_DOUBLE = 7,
    WIRE_BINARY = 8,
    WIRE_LIST = 9,
    WIRE_SET = 10,
    WIRE_MAP = 11,
    WIRE_STRUCT = 12,
    WIRE_UUID = 13
};

#define SKIP_DEPTH 32

typedef struct thrift_in {
    const uint8_t *p, *end;
    tl_arena *arena;
    const char *what; /* for messages: "footer", "page header" */
    tl_status status;
    tl_error *err;
} thrift_in;

typedef struct thrift_field {
    int32_t id, last;
    uint8_t wire;
} thrift_field;

static void bad(thrift_in *in, const char *why) {
    if (in->status == TL_OK) {
        in->status = tl_fail(in->err, TL_CORRUPT, "%s: %s", in->what, why);
    }
}

static size_t left(const thrift_in *in) {
    return (size_t)(in->end - in->p);
}

static uint8_t read_byte(thrift_in *in) {
    if (in->status != TL_OK || in->p == in->end) {
        bad(in, "ends too early");
        return 0;
    }
    return *in->p++;
}

static uint64_t read_varint(thrift_in *in) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = read_byte(in);
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            return in->status == TL_OK ? v : 0;
        }
    }
    bad(in, "a number has too many bytes");
    return 0;
}

static int64_t read_i64(thrift_in *in) {
    uint64_t v = read_varint(in);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int32_t read_i32(thrift_in *in) {
    int64_t v = read_i64(in);
    if (v < INT32_MIN || v > INT32_MAX) {
        bad(in, "a number is too large for its field");
        return 0;
    }
    return (int32_t)v;
}

static tl_bytes read_raw(thrift_in *in) {
    uint64_t n = read_varint(in);
    if (n > left(in)) {
        bad(in, "a text is longer than the bytes there are");
        return (tl_bytes){0};
    }
    tl_bytes out = {in->p, (size_t)n};
    in->p += n;
    return out;
}

static void no_memory(thrift_in *in, size_t bytes) {
    if (in->status == TL_OK) {
        in->status = tl_fail_memory(in->err, bytes);
    }
}

/* A copy that outlives the input; never NULL data, so that "not there" and "empty" differ. */
static tl_bytes read_bytes(thrift_in *in) {
    tl_bytes raw = read_raw(in);
    if (in->status != TL_OK) {
        return (tl_bytes){0};
    }
    uint8_t *copy = tl_arena_alloc(in->arena, raw.len + 1);
    if (!copy) {
        no_memory(in, raw.len);
        return (tl_bytes){0};
    }
    if (raw.len) {
        memcpy(copy, raw.data, raw.len);
    }
    return (tl_bytes){copy, raw.len};
}

static const char *read_text(thrift_in *in) {
    tl_bytes b = read_bytes(in);
    return (const char *)b.data;
}

/* The next field of a struct; false at its end or after a failure. */
static bool next_field(thrift_in *in, thrift_field *f) {
    uint8_t b = read_byte(in);
    if (in->status != TL_OK || b == WIRE_STOP) {
        return false;
    }
    f->wire = b & 0x0f;
    if (b >> 4) {
        f->id = f->last + (b >> 4);
    } else {
        f->id = read_i32(in);
    }
    if (f->id < INT16_MIN || f->id > INT16_MAX) {
        bad(in, "a field number is out of range");
        return false;
    }
    f->last = f->id;
    return in->status == TL_OK;
}

/* The count of a list of `wire` elements, each at least `min_bytes` long: 0 and skipped when it holds something else. */
static void skip_value(thrift_in *in, uint8_t wire, int depth);

static uint32_t list_header(thrift_in *in, uint8_t *wire) {
    uint8_t b = read_byte(in);
    uint64_t n = b >> 4;
    *wire = b & 0x0f;
    if (n == 15) {
        n = read_varint(in);
    }
    if (n > left(in)) {
        bad(in, "a list is longer than the bytes there are");
        return 0;
    }
    return in->status == TL_OK ? (uint32_t)(n > UINT32_MAX ? UINT32_MAX : n) : 0;
}

static void *read_list(thrift_in *in, uint8_t want, size_t min_bytes, size_t size, int32_t *n_out) {
    uint8_t wire;
    uint32_t n = list_header(in, &wire);
    *n_out = 0;
    if (in->status != TL_OK) {
        return NULL;
    }
    bool boolean = want == WIRE_TRUE && wire == WIRE_FALSE; /* both codes stand for "bool" in lists */
    if (wire != want && !boolean) {
        for (uint32_t i = 0; i < n && in->status == TL_OK; i++) {
            skip_value(in, wire == WIRE_FALSE || wire == WIRE_TRUE ? WIRE_BYTE : wire, 0);
        }
        return NULL;
    }
    if (n > left(in) / min_bytes || n > INT32_MAX) {
        bad(in, "a list is longer than the bytes there are");
        return NULL;
    }
    void *items = tl_arena_array(in->arena, n ? n : 1, size);
    if (!items) {
        no_memory(in, n * size);
        return NULL;
    }
    *n_out = (int32_t)n;
    return items;
}

static void skip_struct(thrift_in *in, int depth) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        skip_value(in, f.wire, depth);
    }
}

static void skip_bytes(thrift_in *in, size_t n) {
    if (left(in) < n) {
        bad(in, "ends too early");
    } else {
        in->p += n;
    }
}

static void skip_list(thrift_in *in, int depth) {
    uint8_t wire;
    uint32_t n = list_header(in, &wire);
    bool boolean = wire == WIRE_TRUE || wire == WIRE_FALSE;
    for (uint32_t i = 0; i < n && in->status == TL_OK; i++) {
        skip_value(in, boolean ? WIRE_BYTE : wire, depth);
    }
}

static void skip_map(thrift_in *in, int depth) {
    uint64_t n = read_varint(in);
    if (n == 0 || in->status != TL_OK) {
        return;
    }
    uint8_t wires = read_byte(in);
    if (n > left(in)) {
        bad(in, "a map is longer than the bytes there are");
    }
    for (uint64_t i = 0; i < n && in->status == TL_OK; i++) {
        skip_value(in, wires >> 4, depth);
        skip_value(in, wires & 0x0f, depth);
    }
}

static void skip_value(thrift_in *in, uint8_t wire, int depth) {
    if (depth >= SKIP_DEPTH) {
        bad(in, "is nested too deep");
        return;
    }
    switch (wire) {
    case WIRE_TRUE:
    case WIRE_FALSE: break;
    case WIRE_BYTE: skip_bytes(in, 1); break;
    case WIRE_I16:
    case WIRE_I32:
    case WIRE_I64: read_varint(in); break;
    case WIRE_DOUBLE: skip_bytes(in, 8); break;
    case WIRE_BINARY: read_raw(in); break;
    case WIRE_LIST:
    case WIRE_SET: skip_list(in, depth + 1); break;
    case WIRE_MAP: skip_map(in, depth + 1); break;
    case WIRE_STRUCT: skip_struct(in, depth + 1); break;
    case WIRE_UUID: skip_bytes(in, 16); break;
    default: bad(in, "holds a value of an unknown kind");
    }
}

static void skip_field(thrift_in *in, const thrift_field *f) {
    skip_value(in, f->wire, 0);
}

/* Fields by wire type: each reads when the type is right and skips when it is not; true = read. */
static bool field_i32(thrift_in *in, const thrift_field *f, int32_t *out) {
    if (f->wire == WIRE_BYTE) {
        *out = (int8_t)read_byte(in);
    } else if (f->wire == WIRE_I32 || f->wire == WIRE_I16) {
        *out = read_i32(in);
    } else {
        skip_field(in, f);
        return false;
    }
    return in->status == TL_OK;
}

static bool field_i64(thrift_in *in, const thrift_field *f, int64_t *out) {
    if (f->wire != WIRE_I64 && f->wire != WIRE_I32) {
        skip_field(in, f);
        return false;
    }
    *out = read_i64(in);
    return in->status == TL_OK;
}

static bool field_bool(thrift_in *in, const thrift_field *f, bool *out) {
    if (f->wire != WIRE_TRUE && f->wire != WIRE_FALSE) {
        skip_field(in, f);
        return false;
    }
    *out = f->wire == WIRE_TRUE;
    return true;
}

static void field_text(thrift_in *in, const thrift_field *f, const char **out) {
    if (f->wire == WIRE_BINARY) {
        *out = read_text(in);
    } else {
        skip_field(in, f);
    }
}

static void field_bytes(thrift_in *in, const thrift_field *f, tl_bytes *out) {
    if (f->wire == WIRE_BINARY) {
        *out = read_bytes(in);
    } else {
        skip_field(in, f);
    }
}

static void *field_list(thrift_in *in, const thrift_field *f, uint8_t wire, size_t min_bytes, size_t size, int32_t *n) {
    if (f->wire != WIRE_LIST) {
        skip_field(in, f);
        return NULL;
    }
    return read_list(in, wire, min_bytes, size, n);
}

/* Enumerations keep their number whatever it is: unknown encodings and codecs are refused where they are used. */
#define FIELD_ENUM(in, f, out, type)          \
    do {                                      \
        int32_t number_ = -1;                 \
        if (field_i32((in), (f), &number_)) { \
            *(out) = (type)number_;           \
        }                                     \
    } while (0)

/* ---- schema ---- */

static void read_decimal(thrift_in *in, tl_pq_schema_element *e) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_i32(in, &f, &e->scale); break;
        case 2: field_i32(in, &f, &e->precision); break;
        default: skip_field(in, &f);
        }
    }
}

static void read_unit(thrift_in *in, tl_pq_schema_element *e) {
    thrift_field f = {0};
    bool seen = false;
    while (next_field(in, &f)) {
        if (f.id >= 1 && f.id <= 3) {
            e->unit = (tl_pq_unit)(f.id - 1);
            seen = true;
        }
        skip_field(in, &f);
    }
    if (!seen) {
        bad(in, "a time unit is not known");
    }
}

static void read_time(thrift_in *in, tl_pq_schema_element *e) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        if (f.id == 1) {
            field_bool(in, &f, &e->utc);
        } else if (f.id == 2 && f.wire == WIRE_STRUCT) {
            read_unit(in, e);
        } else {
            skip_field(in, &f);
        }
    }
}

static void read_integer(thrift_in *in, tl_pq_schema_element *e) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_i32(in, &f, &e->bit_width); break;
        case 2: field_bool(in, &f, &e->is_signed); break;
        default: skip_field(in, &f);
        }
    }
}

static tl_pq_logical logical_of_field(int32_t id) {
    switch (id) {
    case 1: return TL_PQ_LOGICAL_STRING;
    case 2: return TL_PQ_LOGICAL_MAP;
    case 3: return TL_PQ_LOGICAL_LIST;
    case 4: return TL_PQ_LOGICAL_ENUM;
    case 5: return TL_PQ_LOGICAL_DECIMAL;
    case 6: return TL_PQ_LOGICAL_DATE;
    case 7: return TL_PQ_LOGICAL_TIME;
    case 8: return TL_PQ_LOGICAL_TIMESTAMP;
    case 10: return TL_PQ_LOGICAL_INTEGER;
    case 11: return TL_PQ_LOGICAL_NULL;
    case 12: return TL_PQ_LOGICAL_JSON;
    case 13: return TL_PQ_LOGICAL_BSON;
    case 14: return TL_PQ_LOGICAL_UUID;
    case 15: return TL_PQ_LOGICAL_FLOAT16;
    default: return TL_PQ_LOGICAL_OTHER;
    }
}

static void read_logical(thrift_in *in, tl_pq_schema_element *e) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        if (f.wire != WIRE_STRUCT) {
            skip_field(in, &f);
            continue;
        }
        e->logical = logical_of_field(f.id);
        switch (e->logical) {
        case TL_PQ_LOGICAL_DECIMAL: read_decimal(in, e); break;
        case TL_PQ_LOGICAL_TIME:
        case TL_PQ_LOGICAL_TIMESTAMP: read_time(in, e); break;
        case TL_PQ_LOGICAL_INTEGER: read_integer(in, e); break;
        case TL_PQ_LOGICAL_OTHER: e->other = f.id; skip_field(in, &f); break;
        default: skip_field(in, &f);
        }
    }
}

/* The legacy converted type says what a logical type would; times of it are instants (LogicalTypes.md of the format). */
static void apply_converted(tl_pq_schema_element *e, int32_t converted) {
    static const tl_pq_logical plain[] = {TL_PQ_LOGICAL_STRING, TL_PQ_LOGICAL_MAP,     TL_PQ_LOGICAL_MAP_KEY_VALUE,
                                          TL_PQ_LOGICAL_LIST,   TL_PQ_LOGICAL_ENUM,    TL_PQ_LOGICAL_DECIMAL,
                                          TL_PQ_LOGICAL_DATE,   TL_PQ_LOGICAL_TIME,    TL_PQ_LOGICAL_TIME,
                                          TL_PQ_LOGICAL_TIMESTAMP, TL_PQ_LOGICAL_TIMESTAMP};
    if (converted < 0 || converted > 21) {
        return;
    }
    if (converted <= 10) {
        e->logical = plain[converted];
        e->utc = converted >= 7;
        e->unit = converted == 7 || converted == 9 ? TL_PQ_MILLIS : TL_PQ_MICROS;
    } else if (converted <= 18) {
        e->logical = TL_PQ_LOGICAL_INTEGER;
        e->is_signed = converted >= 15;
        e->bit_width = 8 << ((converted - 11) & 3);
    } else {
        e->logical = converted == 19   ? TL_PQ_LOGICAL_JSON
                     : converted == 20 ? TL_PQ_LOGICAL_BSON
                                       : TL_PQ_LOGICAL_INTERVAL;
    }
}

static void read_schema_element(thrift_in *in, tl_pq_schema_element *e) {
    thrift_field f = {0};
    int32_t converted = -1, number = 0;
    e->field_id = -1;
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1:
            if (field_i32(in, &f, &number)) {
                e->type = (tl_pq_type)number;
                e->is_leaf = true;
                if (number < TL_PQ_BOOLEAN || number > TL_PQ_FIXED) {
                    bad(in, "a column has an unknown physical type");
                }
            }
            break;
        case 2: field_i32(in, &f, &e->type_length); break;
        case 3:
            if (field_i32(in, &f, &number)) {
                e->repetition = (tl_pq_repetition)number;
                if (number < TL_PQ_REQUIRED || number > TL_PQ_REPEATED) {
                    bad(in, "a column has an unknown repetition");
                }
            }
            break;
        case 4: field_text(in, &f, &e->name); break;
        case 5: field_i32(in, &f, &e->n_children); break;
        case 6: field_i32(in, &f, &converted); break;
        case 7: field_i32(in, &f, &e->scale); break;
        case 8: field_i32(in, &f, &e->precision); break;
        case 9: field_i32(in, &f, &e->field_id); break;
        case 10:
            if (f.wire == WIRE_STRUCT) {
                read_logical(in, e);
                break;
            }
            skip_field(in, &f);
            break;
        default: skip_field(in, &f);
        }
    }
    if (e->logical == TL_PQ_LOGICAL_NONE) {
        apply_converted(e, converted);
    }
    if (in->status == TL_OK && !e->name) {
        bad(in, "a schema element has no name");
    }
}

/* ---- column chunks ---- */

static void read_statistics(thrift_in *in, tl_pq_statistics *s) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_bytes(in, &f, &s->max); break;
        case 2: field_bytes(in, &f, &s->min); break;
        case 3: s->has_null_count |= field_i64(in, &f, &s->null_count); break;
        case 4: s->has_distinct_count |= field_i64(in, &f, &s->distinct_count); break;
        case 5: field_bytes(in, &f, &s->max_value); break;
        case 6: field_bytes(in, &f, &s->min_value); break;
        case 7: s->has_max_exact |= field_bool(in, &f, &s->max_exact); break;
        case 8: s->has_min_exact |= field_bool(in, &f, &s->min_exact); break;
        case 9: s->has_nan_count |= field_i64(in, &f, &s->nan_count); break;
        default: skip_field(in, &f);
        }
    }
}

static void read_key_value(thrift_in *in, tl_pq_key_value *kv) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_text(in, &f, &kv->key); break;
        case 2: field_text(in, &f, &kv->value); break;
        default: skip_field(in, &f);
        }
    }
    if (!kv->key) {
        kv->key = "";
    }
}

static tl_pq_key_value *read_key_values(thrift_in *in, const thrift_field *f, int32_t *n) {
    tl_pq_key_value *kv = field_list(in, f, WIRE_STRUCT, 3, sizeof *kv, n);
    for (int32_t i = 0; i < *n && in->status == TL_OK; i++) {
        read_key_value(in, &kv[i]);
    }
    return kv;
}

static void read_encoding_stats(thrift_in *in, const thrift_field *field, tl_pq_column_chunk *c) {
    c->encoding_stats =
        field_list(in, field, WIRE_STRUCT, 7, sizeof *c->encoding_stats, &c->n_encoding_stats);
    for (int32_t i = 0; i < c->n_encoding_stats && in->status == TL_OK; i++) {
        tl_pq_page_encoding_stats *s = &c->encoding_stats[i];
        thrift_field f = {0};
        while (next_field(in, &f)) {
            switch (f.id) {
            case 1: FIELD_ENUM(in, &f, &s->page_type, tl_pq_page_type); break;
            case 2: FIELD_ENUM(in, &f, &s->encoding, tl_pq_encoding); break;
            case 3: field_i32(in, &f, &s->count); break;
            default: skip_field(in, &f);
            }
        }
    }
}

static void read_path_and_encodings(thrift_in *in, const thrift_field *f, tl_pq_column_chunk *c) {
    if (f->id == 2) {
        c->encodings = field_list(in, f, WIRE_I32, 1, sizeof *c->encodings, &c->n_encodings);
        for (int32_t i = 0; i < c->n_encodings && in->status == TL_OK; i++) {
            c->encodings[i] = (tl_pq_encoding)read_i32(in);
        }
    } else {
        c->path = field_list(in, f, WIRE_BINARY, 1, sizeof *c->path, &c->n_path);
        for (int32_t i = 0; i < c->n_path && in->status == TL_OK; i++) {
            c->path[i] = read_text(in);
        }
    }
}

static void read_column_meta(thrift_in *in, tl_pq_column_chunk *c) {
    thrift_field f = {0};
    uint32_t seen = 0;
    c->has_meta = true;
    while (next_field(in, &f)) {
        seen |= f.id >= 1 && f.id <= 31 ? 1u << f.id : 0;
        switch (f.id) {
        case 1: FIELD_ENUM(in, &f, &c->type, tl_pq_type); break;
        case 2:
        case 3: read_path_and_encodings(in, &f, c); break;
        case 4: FIELD_ENUM(in, &f, &c->codec, tl_pq_codec); break;
        case 5: field_i64(in, &f, &c->n_values); break;
        case 6: field_i64(in, &f, &c->uncompressed_size); break;
        case 7: field_i64(in, &f, &c->compressed_size); break;
        case 8: c->metadata = read_key_values(in, &f, &c->n_metadata); break;
        case 9: field_i64(in, &f, &c->data_page_offset); break;
        case 11: field_i64(in, &f, &c->dictionary_page_offset); break;
        case 12:
            if (f.wire == WIRE_STRUCT) {
                read_statistics(in, &c->stats);
                break;
            }
            skip_field(in, &f);
            break;
        case 13: read_encoding_stats(in, &f, c); break;
        case 14: field_i64(in, &f, &c->bloom_filter_offset); break;
        case 15: field_i32(in, &f, &c->bloom_filter_length); break;
        default: skip_field(in, &f);
        }
    }
    const uint32_t need = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 9;
    if (in->status == TL_OK && (seen & need) != need) {
        bad(in, "a column chunk lacks its type, codec, count, size or offset");
    }
}

static void read_column_chunk(thrift_in *in, tl_pq_column_chunk *c) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_text(in, &f, &c->file_path); break;
        case 3:
            if (f.wire == WIRE_STRUCT) {
                read_column_meta(in, c);
                break;
            }
            skip_field(in, &f);
            break;
        case 4: field_i64(in, &f, &c->offset_index_offset); break;
        case 5: field_i32(in, &f, &c->offset_index_length); break;
        case 6: field_i64(in, &f, &c->column_index_offset); break;
        case 7: field_i32(in, &f, &c->column_index_length); break;
        case 8:
        case 9:
            c->encrypted = true;
            skip_field(in, &f);
            break;
        default: skip_field(in, &f);
        }
    }
}

static void read_sorting(thrift_in *in, const thrift_field *field, tl_pq_row_group *g) {
    g->sorting = field_list(in, field, WIRE_STRUCT, 3, sizeof *g->sorting, &g->n_sorting);
    for (int32_t i = 0; i < g->n_sorting && in->status == TL_OK; i++) {
        thrift_field f = {0};
        while (next_field(in, &f)) {
            switch (f.id) {
            case 1: field_i32(in, &f, &g->sorting[i].column); break;
            case 2: field_bool(in, &f, &g->sorting[i].descending); break;
            case 3: field_bool(in, &f, &g->sorting[i].nulls_first); break;
            default: skip_field(in, &f);
            }
        }
    }
}

static void read_row_group(thrift_in *in, tl_pq_row_group *g) {
    thrift_field f = {0};
    g->ordinal = -1;
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1:
            g->columns = field_list(in, &f, WIRE_STRUCT, 3, sizeof *g->columns, &g->n_columns);
            for (int32_t i = 0; i < g->n_columns && in->status == TL_OK; i++) {
                read_column_chunk(in, &g->columns[i]);
            }
            break;
        case 2: field_i64(in, &f, &g->total_byte_size); break;
        case 3: field_i64(in, &f, &g->n_rows); break;
        case 4: read_sorting(in, &f, g); break;
        case 5: field_i64(in, &f, &g->file_offset); break;
        case 6: field_i64(in, &f, &g->total_compressed_size); break;
        case 7: field_i32(in, &f, &g->ordinal); break;
        default: skip_field(in, &f);
        }
    }
    if (in->status == TL_OK && g->n_rows < 0) {
        bad(in, "a row group has a negative number of rows");
    }
}

/* ---- the footer ---- */

static void read_column_orders(thrift_in *in, const thrift_field *field, tl_pq_file_meta *m) {
    m->column_orders = field_list(in, field, WIRE_STRUCT, 1, sizeof *m->column_orders, &m->n_column_orders);
    for (int32_t i = 0; i < m->n_column_orders && in->status == TL_OK; i++) {
        thrift_field f = {0};
        while (next_field(in, &f)) {
            m->column_orders[i] = f.id > 0 && f.id < 256 ? (uint8_t)f.id : 0;
            skip_field(in, &f);
        }
    }
}

static void read_footer_field(thrift_in *in, const thrift_field *f, tl_pq_file_meta *m) {
    switch (f->id) {
    case 1: field_i32(in, f, &m->version); break;
    case 2:
        m->schema = field_list(in, f, WIRE_STRUCT, 3, sizeof *m->schema, &m->n_schema);
        for (int32_t i = 0; i < m->n_schema && in->status == TL_OK; i++) {
            read_schema_element(in, &m->schema[i]);
        }
        break;
    case 3: field_i64(in, f, &m->n_rows); break;
    case 4:
        m->row_groups = field_list(in, f, WIRE_STRUCT, 3, sizeof *m->row_groups, &m->n_row_groups);
        for (int32_t i = 0; i < m->n_row_groups && in->status == TL_OK; i++) {
            read_row_group(in, &m->row_groups[i]);
        }
        break;
    case 5: m->metadata = read_key_values(in, f, &m->n_metadata); break;
    case 6: field_text(in, f, &m->created_by); break;
    case 7: read_column_orders(in, f, m); break;
    case 8:
        m->encrypted = true;
        skip_field(in, f);
        break;
    default: skip_field(in, f);
    }
}

tl_status tl_pq_read_file_meta(tl_bytes in, tl_pq_file_meta *out, tl_error *err) {
    *out = (tl_pq_file_meta){0};
    if (in.len == 0) {
        return tl_fail(err, TL_CORRUPT, "footer: is empty");
    }
    /* The structures are larger than their bytes, in honest footers up to about eight times. */
    size_t limit;
    if (!tl_size_mul(in.len, 24, &limit) || !tl_size_add(limit, 1u << 20, &limit)) {
        return tl_fail(err, TL_CORRUPT, "footer: is too large");
    }
    out->arena.limit = limit;
    thrift_in t = {.p = in.data, .end = in.data + in.len, .arena = &out->arena, .what = "footer", .err = err};
    thrift_field f = {0};
    while (next_field(&t, &f)) {
        read_footer_field(&t, &f, out);
    }
    if (t.status == TL_OK && out->n_schema < 1) {
        bad(&t, "has no schema");
    }
    if (t.status != TL_OK) {
        tl_pq_file_meta_free(out);
    }
    return t.status;
}

/* ---- page headers ---- */

static void read_data_page(thrift_in *in, tl_pq_page_header *h) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_i32(in, &f, &h->n_values); break;
        case 2: FIELD_ENUM(in, &f, &h->encoding, tl_pq_encoding); break;
        case 3: FIELD_ENUM(in, &f, &h->def_encoding, tl_pq_encoding); break;
        case 4: FIELD_ENUM(in, &f, &h->rep_encoding, tl_pq_encoding); break;
        default: skip_field(in, &f);
        }
    }
}

static void read_data_page_v2(thrift_in *in, tl_pq_page_header *h) {
    thrift_field f = {0};
    h->is_compressed = true;
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_i32(in, &f, &h->n_values); break;
        case 2: field_i32(in, &f, &h->n_nulls); break;
        case 3: field_i32(in, &f, &h->n_rows); break;
        case 4: FIELD_ENUM(in, &f, &h->encoding, tl_pq_encoding); break;
        case 5: field_i32(in, &f, &h->def_length); break;
        case 6: field_i32(in, &f, &h->rep_length); break;
        case 7: field_bool(in, &f, &h->is_compressed); break;
        default: skip_field(in, &f);
        }
    }
}

static void read_dictionary_page(thrift_in *in, tl_pq_page_header *h) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_i32(in, &f, &h->n_values); break;
        case 2: FIELD_ENUM(in, &f, &h->encoding, tl_pq_encoding); break;
        case 3: field_bool(in, &f, &h->is_sorted); break;
        default: skip_field(in, &f);
        }
    }
}

/* Which of the three sub-headers stands for the page's type; an index page needs none. */
static bool header_complete(const tl_pq_page_header *h, uint32_t seen) {
    const uint32_t sizes = 1u << 1 | 1u << 2 | 1u << 3;
    uint32_t sub = h->type == TL_PQ_DATA_PAGE         ? 1u << 5
                   : h->type == TL_PQ_DICTIONARY_PAGE ? 1u << 7
                   : h->type == TL_PQ_DATA_PAGE_V2    ? 1u << 8
                                                      : 0;
    return (seen & sizes) == sizes && (seen & sub) == sub;
}

tl_status tl_pq_read_page_header(tl_bytes in, tl_pq_page_header *out, size_t *used, tl_error *err) {
    *out = (tl_pq_page_header){0};
    if (in.len == 0) {
        return tl_fail(err, TL_CORRUPT, "page header: is missing");
    }
    thrift_in t = {.p = in.data, .end = in.data + in.len, .what = "page header", .err = err};
    thrift_field f = {0};
    uint32_t seen = 0;
    while (next_field(&t, &f)) {
        bool sub = f.wire == WIRE_STRUCT;
        seen |= f.id >= 1 && f.id <= 31 ? 1u << f.id : 0;
        switch (f.id) {
        case 1: FIELD_ENUM(&t, &f, &out->type, tl_pq_page_type); break;
        case 2: field_i32(&t, &f, &out->uncompressed_size); break;
        case 3: field_i32(&t, &f, &out->compressed_size); break;
        case 4: out->has_crc = field_i32(&t, &f, &out->crc); break;
        default:
            if (f.id == 5 && sub) {
                read_data_page(&t, out);
            } else if (f.id == 7 && sub) {
                read_dictionary_page(&t, out);
            } else if (f.id == 8 && sub) {
                read_data_page_v2(&t, out);
            } else {
                skip_field(&t, &f);
            }
        }
    }
    if (t.status == TL_OK && !header_complete(out, seen)) {
        bad(&t, "lacks a field that its page type needs");
    }
    if (t.status == TL_OK && (out->uncompressed_size < 0 || out->compressed_size < 0 || out->n_values < 0 ||
                              out->def_length < 0 || out->rep_length < 0 || out->n_nulls < 0 || out->n_rows < 0)) {
        bad(&t, "holds a negative size or count");
    }
    if (used) {
        *used = (size_t)(t.p - in.data);
    }
    return t.status;
}

/* ---- page indexes ---- */

static void read_page_location(thrift_in *in, tl_pq_page_location *p) {
    thrift_field f = {0};
    while (next_field(in, &f)) {
        switch (f.id) {
        case 1: field_i64(in, &f, &p->offset); break;
        case 2: field_i32(in, &f, &p->compressed_size); break;
        case 3: field_i64(in, &f, &p->first_row); break;
        default: skip_field(in, &f);
        }
    }
}

tl_status tl_pq_read_offset_index(tl_bytes in, tl_arena *arena, tl_pq_offset_index *out, tl_error *err) {
    *out = (tl_pq_offset_index){0};
    thrift_in t = {.p = in.data, .end = in.data + in.len, .arena = arena, .what = "offset index", .err = err};
    thrift_field f = {0};
    while (next_field(&t, &f)) {
        if (f.id == 1) {
            out->pages = field_list(&t, &f, WIRE_STRUCT, 3, sizeof *out->pages, &out->n_pages);
            for (int32_t i = 0; i < out->n_pages && t.status == TL_OK; i++) {
                read_page_location(&t, &out->pages[i]);
            }
        } else {
            skip_field(&t, &f);
        }
    }
    return t.status;
}

static void read_bounds(thrift_in *in, const thrift_field *f, tl_bytes **out, int32_t *n) {
    *out = field_list(in, f, WIRE_BINARY, 1, sizeof **out, n);
    for (int32_t i = 0; i < *n && in->status == TL_OK; i++) {
        (*out)[i] = read_bytes(in);
    }
}

tl_status tl_pq_read_column_index(tl_bytes in, tl_arena *arena, tl_pq_column_index *out, tl_error *err) {
    *out = (tl_pq_column_index){0};
    thrift_in t = {.p = in.data, .end = in.data + in.len, .arena = arena, .what = "column index", .err = err};
    thrift_field f = {0};
    int32_t n_min = 0, n_max = 0, n_nulls = -1;
    while (next_field(&t, &f)) {
        switch (f.id) {
        case 1:
            out->null_pages = field_list(&t, &f, WIRE_TRUE, 1, sizeof *out->null_pages, &out->n_pages);
            for (int32_t i = 0; i < out->n_pages && t.status == TL_OK; i++) {
                out->null_pages[i] = read_byte(&t) == WIRE_TRUE;
            }
            break;
        case 2: read_bounds(&t, &f, &out->min_values, &n_min); break;
        case 3: read_bounds(&t, &f, &out->max_values, &n_max); break;
        case 4: field_i32(&t, &f, &out->boundary_order); break;
        case 5:
            out->null_counts = field_list(&t, &f, WIRE_I64, 1, sizeof *out->null_counts, &n_nulls);
            for (int32_t i = 0; i < n_nulls && t.status == TL_OK; i++) {
                out->null_counts[i] = read_i64(&t);
            }
            break;
        default: skip_field(&t, &f);
        }
    }
    if (t.status == TL_OK && (n_min != out->n_pages || n_max != out->n_pages ||
                              (out->null_counts && n_nulls != out->n_pages))) {
        bad(&t, "its lists differ in length");
    }
    return t.status;
}
