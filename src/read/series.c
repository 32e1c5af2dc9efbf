/*
 * Series keys as bytes and as numbers. Comes in: values of the key columns, as Parquet or as Iceberg stores them. Goes
 * out: canonical bytes (equal keys have equal bytes, whatever file they stand in), and a small number for each key.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "read/read_internal.h"

/* ---- canonical key bytes ---- */

static tl_status add_piece(tl_buf *out, const void *data, size_t len, tl_error *err) {
    uint8_t head[5] = {1};
    if (len > UINT32_MAX) {
        return tl_fail(err, TL_CORRUPT, "a key value of %zu bytes", len);
    }
    tl_store_u32(head + 1, (uint32_t)len);
    if (tl_buf_add(out, head, sizeof head) != TL_OK || tl_buf_add(out, data, len) != TL_OK) {
        return tl_fail_memory(err, len + sizeof head);
    }
    return TL_OK;
}

static tl_status add_number(tl_buf *out, double v, tl_error *err) {
    uint64_t bits = 0x7ff8000000000000u; /* every NaN is one key */
    if (!isnan(v)) {
        memcpy(&bits, &v, 8);
    }
    return add_piece(out, &bits, 8, err);
}

static tl_status add_integer(tl_buf *out, tl_bytes plain, tl_error *err) {
    int64_t v = plain.len == 4 ? tl_load_i32(plain.data) : plain.len == 8 ? tl_load_i64(plain.data) : 0;
    if (plain.len != 4 && plain.len != 8) {
        return tl_fail(err, TL_CORRUPT, "an integer key of %zu bytes", plain.len);
    }
    return add_piece(out, &v, 8, err);
}

/* Decimals as 16 big-endian bytes, whatever the width they were stored in. */
static tl_status add_decimal(tl_buf *out, tl_bytes big_endian, tl_error *err) {
    uint8_t wide[16];
    size_t n = big_endian.len;
    if (n == 0 || n > 16) {
        return tl_fail(err, TL_CORRUPT, "a decimal key of %zu bytes", n);
    }
    memset(wide, big_endian.data[0] & 0x80 ? 0xff : 0, sizeof wide);
    memcpy(wide + 16 - n, big_endian.data, n);
    return add_piece(out, wide, sizeof wide, err);
}

static tl_status add_float(tl_buf *out, tl_bytes plain, tl_error *err) {
    if (plain.len == 4) {
        float f;
        memcpy(&f, plain.data, 4);
        return add_number(out, f, err);
    }
    if (plain.len != 8) {
        return tl_fail(err, TL_CORRUPT, "a floating point key of %zu bytes", plain.len);
    }
    double d;
    memcpy(&d, plain.data, 8);
    return add_number(out, d, err);
}

tl_status tl_key_piece_of_value(const tl_type *type, tl_bytes value, tl_buf *out, tl_error *err) {
    if (!value.data) {
        return tl_buf_add(out, "\0\0\0\0\0", 5) == TL_OK ? TL_OK : tl_fail_memory(err, 5);
    }
    switch (type->id) {
    case TL_TYPE_FLOAT:
    case TL_TYPE_DOUBLE: return add_float(out, value, err);
    case TL_TYPE_INT:
    case TL_TYPE_LONG:
    case TL_TYPE_DATE:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return add_integer(out, value, err);
    case TL_TYPE_DECIMAL: return add_decimal(out, value, err);
    default: return add_piece(out, value.data, value.len, err);
    }
}

tl_status tl_key_piece(const tl_type *type, const tl_pq_schema_element *element, tl_bytes plain, tl_buf *out,
                       tl_error *err) {
    if (type->id == TL_TYPE_DECIMAL && plain.data && element->type != TL_PQ_FIXED &&
        element->type != TL_PQ_BYTE_ARRAY) {
        uint8_t big[8]; /* stored as a little-endian integer */
        for (size_t i = 0; i < plain.len && i < 8; i++) {
            big[i] = plain.data[plain.len - 1 - i];
        }
        return tl_key_piece_of_value(type, (tl_bytes){big, plain.len > 8 ? 8 : plain.len}, out, err);
    }
    return tl_key_piece_of_value(type, plain, out, err);
}

/* ---- numbers of series ---- */

void tl_series_set_free(tl_series_set *s) {
    tl_free(s->hashes);
    tl_free(s->slots);
    tl_free(s->keys);
    tl_free(s->next);
    tl_arena_free(&s->arena);
    *s = (tl_series_set){0};
}

static tl_status series_grow(tl_series_set *s, tl_error *err) {
    size_t cap = s->cap ? s->cap * 2 : 256;
    uint64_t *hashes = tl_calloc(cap, sizeof *hashes);
    int32_t *slots = tl_alloc_array(cap, sizeof *slots);
    if (!hashes || !slots) {
        tl_free(hashes);
        tl_free(slots);
        return tl_fail_memory(err, cap * 12);
    }
    for (size_t i = 0; i < cap; i++) {
        slots[i] = -1;
    }
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i] >= 0) {
            size_t at = s->hashes[i] & (cap - 1);
            while (slots[at] >= 0) {
                at = (at + 1) & (cap - 1);
            }
            hashes[at] = s->hashes[i];
            slots[at] = s->slots[i];
        }
    }
    tl_free(s->hashes);
    tl_free(s->slots);
    s->hashes = hashes;
    s->slots = slots;
    s->cap = cap;
    return TL_OK;
}

int32_t tl_series_find(const tl_series_set *s, tl_bytes key) {
    if (s->n == 0) {
        return -1;
    }
    uint64_t hash = tl_hash_bytes(key.data, key.len, 0);
    size_t at = hash & (s->cap - 1);
    for (; s->slots[at] >= 0; at = (at + 1) & (s->cap - 1)) {
        if (s->hashes[at] == hash && tl_bytes_equal(s->keys[s->slots[at]], key)) {
            return s->slots[at];
        }
    }
    return -1;
}

tl_status tl_series_number(tl_series_set *s, tl_bytes key, int32_t *out, tl_error *err) {
    if ((size_t)s->n * 2 >= s->cap) {
        TL_TRY(series_grow(s, err));
    }
    uint64_t hash = tl_hash_bytes(key.data, key.len, 0);
    size_t at = hash & (s->cap - 1);
    for (; s->slots[at] >= 0; at = (at + 1) & (s->cap - 1)) {
        if (s->hashes[at] == hash && tl_bytes_equal(s->keys[s->slots[at]], key)) {
            *out = s->slots[at];
            return TL_OK;
        }
    }
    if (s->n == s->cap_keys) {
        int32_t cap = s->cap_keys ? s->cap_keys * 2 : 256;
        tl_bytes *keys = cap > s->cap_keys ? tl_realloc_array(s->keys, (size_t)cap, sizeof *keys) : NULL;
        if (!keys) {
            return tl_fail_memory(err, (size_t)s->cap_keys * 2 * sizeof *keys);
        }
        s->keys = keys;
        int32_t *next = tl_realloc_array(s->next, (size_t)cap, sizeof *next);
        if (!next) {
            return tl_fail_memory(err, (size_t)cap * sizeof *next);
        }
        s->next = next;
        s->cap_keys = cap;
    }
    uint8_t *copy = tl_arena_copy(&s->arena, key.data, key.len);
    if (!copy) {
        return tl_fail_memory(err, key.len);
    }
    s->keys[s->n] = (tl_bytes){copy, key.len};
    s->hashes[at] = hash;
    s->slots[at] = s->n;
    s->next[s->n] = -1;
    *out = s->n++;
    return TL_OK;
}

tl_status tl_series_number_after(tl_series_set *s, int32_t before, tl_bytes key, int32_t *out, tl_error *err) {
    int32_t guess = before >= 0 ? s->next[before] : -1;
    if (guess >= 0 && tl_bytes_equal(s->keys[guess], key)) {
        *out = guess;
        return TL_OK;
    }
    TL_TRY(tl_series_number(s, key, out, err));
    if (before >= 0) {
        s->next[before] = *out;
    }
    return TL_OK;
}
