/* The thrift compact form, field by field. Comes in: bytes, hostile until checked. Goes out: numbers, texts, list
 * sizes. */
#include "parquet/thrift_in_internal.h"

#include <string.h>

#define SKIP_DEPTH 32

void tl_thrift_bad(tl_thrift_in *in, const char *why) {
    if (in->status == TL_OK) {
        in->status = tl_fail(in->err, TL_CORRUPT, "%s: %s", in->what, why);
    }
}

static size_t left(const tl_thrift_in *in) {
    return (size_t)(in->end - in->p);
}

uint8_t tl_thrift_read_byte(tl_thrift_in *in) {
    if (in->status != TL_OK || in->p == in->end) {
        tl_thrift_bad(in, "ends too early");
        return 0;
    }
    return *in->p++;
}

static uint64_t read_varint(tl_thrift_in *in) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = tl_thrift_read_byte(in);
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            return in->status == TL_OK ? v : 0;
        }
    }
    tl_thrift_bad(in, "a number has too many bytes");
    return 0;
}

int64_t tl_thrift_read_i64(tl_thrift_in *in) {
    uint64_t v = read_varint(in);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

int32_t tl_thrift_read_i32(tl_thrift_in *in) {
    int64_t v = tl_thrift_read_i64(in);
    if (v < INT32_MIN || v > INT32_MAX) {
        tl_thrift_bad(in, "a number is too large for its field");
        return 0;
    }
    return (int32_t)v;
}

static tl_bytes read_raw(tl_thrift_in *in) {
    uint64_t n = read_varint(in);
    if (n > left(in)) {
        tl_thrift_bad(in, "a text is longer than the bytes there are");
        return (tl_bytes){0};
    }
    tl_bytes out = {in->p, (size_t)n};
    in->p += n;
    return out;
}

static void no_memory(tl_thrift_in *in, size_t bytes) {
    if (in->status == TL_OK) {
        in->status = tl_fail_memory(in->err, bytes);
    }
}

/* A copy that outlives the input; never NULL data, so that "not there" and "empty" differ. */
tl_bytes tl_thrift_read_bytes(tl_thrift_in *in) {
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

const char *tl_thrift_read_text(tl_thrift_in *in) {
    tl_bytes b = tl_thrift_read_bytes(in);
    return (const char *)b.data;
}

/* The next field of a struct; false at its end or after a failure. */
bool tl_thrift_next_field(tl_thrift_in *in, tl_thrift_field *f) {
    uint8_t b = tl_thrift_read_byte(in);
    if (in->status != TL_OK || b == TL_WIRE_STOP) {
        return false;
    }
    f->wire = b & 0x0f;
    if (b >> 4) {
        f->id = f->last + (b >> 4);
    } else {
        f->id = tl_thrift_read_i32(in);
    }
    if (f->id < INT16_MIN || f->id > INT16_MAX) {
        tl_thrift_bad(in, "a field number is out of range");
        return false;
    }
    f->last = f->id;
    return in->status == TL_OK;
}

/* The count of a list of `wire` elements, each at least `min_bytes` long: 0 and skipped when it holds something else.
 */
static void skip_value(tl_thrift_in *in, uint8_t wire, int depth);

static uint32_t list_header(tl_thrift_in *in, uint8_t *wire) {
    uint8_t b = tl_thrift_read_byte(in);
    uint64_t n = b >> 4;
    *wire = b & 0x0f;
    if (n == 15) {
        n = read_varint(in);
    }
    if (n > left(in)) {
        tl_thrift_bad(in, "a list is longer than the bytes there are");
        return 0;
    }
    return in->status == TL_OK ? (uint32_t)(n > UINT32_MAX ? UINT32_MAX : n) : 0;
}

static void *read_list(tl_thrift_in *in, uint8_t want, size_t min_bytes, size_t size, int32_t *n_out) {
    uint8_t wire;
    uint32_t n = list_header(in, &wire);
    *n_out = 0;
    if (in->status != TL_OK) {
        return NULL;
    }
    bool boolean = want == TL_WIRE_TRUE && wire == TL_WIRE_FALSE; /* both codes stand for "bool" in lists */
    if (wire != want && !boolean) {
        for (uint32_t i = 0; i < n && in->status == TL_OK; i++) {
            skip_value(in, wire == TL_WIRE_FALSE || wire == TL_WIRE_TRUE ? TL_WIRE_BYTE : wire, 0);
        }
        return NULL;
    }
    if (n > left(in) / min_bytes || n > INT32_MAX) {
        tl_thrift_bad(in, "a list is longer than the bytes there are");
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

static void skip_struct(tl_thrift_in *in, int depth) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        skip_value(in, f.wire, depth);
    }
}

static void skip_bytes(tl_thrift_in *in, size_t n) {
    if (left(in) < n) {
        tl_thrift_bad(in, "ends too early");
    } else {
        in->p += n;
    }
}

static void skip_list(tl_thrift_in *in, int depth) {
    uint8_t wire;
    uint32_t n = list_header(in, &wire);
    bool boolean = wire == TL_WIRE_TRUE || wire == TL_WIRE_FALSE;
    for (uint32_t i = 0; i < n && in->status == TL_OK; i++) {
        skip_value(in, boolean ? TL_WIRE_BYTE : wire, depth);
    }
}

static void skip_map(tl_thrift_in *in, int depth) {
    uint64_t n = read_varint(in);
    if (n == 0 || in->status != TL_OK) {
        return;
    }
    uint8_t wires = tl_thrift_read_byte(in);
    if (n > left(in)) {
        tl_thrift_bad(in, "a map is longer than the bytes there are");
    }
    for (uint64_t i = 0; i < n && in->status == TL_OK; i++) {
        skip_value(in, wires >> 4, depth);
        skip_value(in, wires & 0x0f, depth);
    }
}

static void skip_value(tl_thrift_in *in, uint8_t wire, int depth) {
    if (depth >= SKIP_DEPTH) {
        tl_thrift_bad(in, "is nested too deep");
        return;
    }
    switch (wire) {
    case TL_WIRE_TRUE:
    case TL_WIRE_FALSE: break;
    case TL_WIRE_BYTE: skip_bytes(in, 1); break;
    case TL_WIRE_I16:
    case TL_WIRE_I32:
    case TL_WIRE_I64: read_varint(in); break;
    case TL_WIRE_DOUBLE: skip_bytes(in, 8); break;
    case TL_WIRE_BINARY: read_raw(in); break;
    case TL_WIRE_LIST:
    case TL_WIRE_SET: skip_list(in, depth + 1); break;
    case TL_WIRE_MAP: skip_map(in, depth + 1); break;
    case TL_WIRE_STRUCT: skip_struct(in, depth + 1); break;
    case TL_WIRE_UUID: skip_bytes(in, 16); break;
    default: tl_thrift_bad(in, "holds a value of an unknown kind");
    }
}

void tl_thrift_skip_field(tl_thrift_in *in, const tl_thrift_field *f) {
    skip_value(in, f->wire, 0);
}

/* Fields by wire type: each reads when the type is right and skips when it is not; true = read. */
bool tl_thrift_field_i32(tl_thrift_in *in, const tl_thrift_field *f, int32_t *out) {
    if (f->wire == TL_WIRE_BYTE) {
        *out = (int8_t)tl_thrift_read_byte(in);
    } else if (f->wire == TL_WIRE_I32 || f->wire == TL_WIRE_I16) {
        *out = tl_thrift_read_i32(in);
    } else {
        tl_thrift_skip_field(in, f);
        return false;
    }
    return in->status == TL_OK;
}

bool tl_thrift_field_i64(tl_thrift_in *in, const tl_thrift_field *f, int64_t *out) {
    if (f->wire != TL_WIRE_I64 && f->wire != TL_WIRE_I32) {
        tl_thrift_skip_field(in, f);
        return false;
    }
    *out = tl_thrift_read_i64(in);
    return in->status == TL_OK;
}

bool tl_thrift_field_bool(tl_thrift_in *in, const tl_thrift_field *f, bool *out) {
    if (f->wire != TL_WIRE_TRUE && f->wire != TL_WIRE_FALSE) {
        tl_thrift_skip_field(in, f);
        return false;
    }
    *out = f->wire == TL_WIRE_TRUE;
    return true;
}

void tl_thrift_field_text(tl_thrift_in *in, const tl_thrift_field *f, const char **out) {
    if (f->wire == TL_WIRE_BINARY) {
        *out = tl_thrift_read_text(in);
    } else {
        tl_thrift_skip_field(in, f);
    }
}

void tl_thrift_field_bytes(tl_thrift_in *in, const tl_thrift_field *f, tl_bytes *out) {
    if (f->wire == TL_WIRE_BINARY) {
        *out = tl_thrift_read_bytes(in);
    } else {
        tl_thrift_skip_field(in, f);
    }
}

void *tl_thrift_field_list(tl_thrift_in *in, const tl_thrift_field *f, uint8_t wire, size_t min_bytes, size_t size,
                           int32_t *n) {
    *n = 0; /* a field that is given twice must not keep the count of the first */
    if (f->wire != TL_WIRE_LIST) {
        tl_thrift_skip_field(in, f);
        return NULL;
    }
    return read_list(in, wire, min_bytes, size, n);
}
