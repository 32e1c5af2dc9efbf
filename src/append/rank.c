/*
 * Ranking of series values. Each key column has a table of its distinct values; a series is a tuple of their numbers.
 * Readings repeat their order (machine 7 comes after machine 6), so each value remembers which one followed it last:
 * the guess is nearly always right and saves the hash.
 */
#include "append/rank_internal.h"

#include <string.h>

#include "base/hash.h"

#define NO_ID UINT32_MAX
#define NULL_LEN UINT32_MAX /* the entry that stands for null */
#define SPARSE_VALUES 4096  /* while there are few values the table is nearly empty: hardly ever a second look */
#define CHUNK 1024          /* rows ranked column by column at a time: the numbers stay in the cache */

typedef struct key_value {
    uint64_t first, last; /* BYTES: first and last 8 bytes; numbers: the value in `first` */
    const uint8_t *data;  /* BYTES and wider than 8: the copy in the arena */
    uint32_t len;
    uint32_t next; /* the guess */
} key_value;

typedef struct value_table {
    int32_t column;
    tl_type type;
    bool word;  /* numbers of up to 8 bytes */
    bool mixed; /* NaNs with several payloads */
    bool has_nan;
    uint64_t nan_bits; /* of the first NaN: all are this value */
    uint32_t n, cap;
    key_value *values;
    uint32_t *slots; /* value number + 1; 0 = free */
    uint32_t mask;
    uint32_t previous;
    uint32_t *ranks; /* by value number */
    tl_arena arena;
} value_table;

struct tl_ranker {
    int32_t n_keys;
    value_table *keys;
    /* tuples of value numbers, when there are several key columns */
    uint32_t n, cap;
    uint32_t *tuples; /* n * n_keys */
    uint32_t *next;   /* the guess */
    uint32_t *slots;
    uint32_t mask;
    uint32_t previous;
    uint32_t *scratch; /* CHUNK value numbers per key column */
    uint32_t *ranks;
    uint32_t ranked; /* series for which `ranks` holds */
};

static bool is_word(const tl_type *t) {
    switch (t->id) {
    case TL_TYPE_BOOLEAN:
    case TL_TYPE_INT:
    case TL_TYPE_LONG:
    case TL_TYPE_FLOAT:
    case TL_TYPE_DOUBLE:
    case TL_TYPE_DATE:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return true;
    default: return false;
    }
}

tl_status tl_ranker_create(const tl_schema *schema, const int32_t *series, int32_t n_series, tl_ranker **out,
                           tl_error *err) {
    *out = NULL;
    tl_ranker *r = tl_calloc(1, sizeof *r);
    if (!r) {
        return tl_fail_memory(err, sizeof *r);
    }
    r->n_keys = n_series;
    r->keys = tl_calloc((size_t)n_series, sizeof *r->keys);
    r->scratch = n_series > 1 ? tl_alloc_array((size_t)n_series * CHUNK, sizeof *r->scratch) : NULL;
    if (!r->keys || (n_series > 1 && !r->scratch)) {
        tl_ranker_free(r);
        return tl_fail_memory(err, (size_t)n_series * sizeof *r->keys);
    }
    for (int32_t k = 0; k < n_series; k++) {
        const tl_field *field = &schema->fields[series[k]];
        if (tl_type_is_nested(field->type.id)) {
            tl_ranker_free(r);
            return tl_fail(err, TL_INVALID, "column \"%s\" is nested and cannot be a series key", field->name);
        }
        r->keys[k].column = series[k];
        r->keys[k].type = field->type;
        r->keys[k].word = is_word(&field->type);
        r->keys[k].previous = NO_ID;
    }
    r->previous = NO_ID;
    *out = r;
    return TL_OK;
}

void tl_ranker_free(tl_ranker *r) {
    if (!r) {
        return;
    }
    for (int32_t k = 0; r->keys && k < r->n_keys; k++) {
        tl_free(r->keys[k].values);
        tl_free(r->keys[k].slots);
        tl_free(r->keys[k].ranks);
        tl_arena_free(&r->keys[k].arena);
    }
    tl_free(r->keys);
    tl_free(r->tuples);
    tl_free(r->next);
    tl_free(r->slots);
    tl_free(r->scratch);
    tl_free(r->ranks);
    tl_free(r);
}

uint32_t tl_ranker_count(const tl_ranker *r) {
    return r->n_keys == 0 ? 1 : r->n_keys == 1 ? r->keys[0].n : r->n;
}

size_t tl_ranker_bytes(const tl_ranker *r) {
    size_t total = (size_t)r->cap * ((size_t)r->n_keys + 2) * sizeof(uint32_t);
    for (int32_t k = 0; k < r->n_keys; k++) {
        const value_table *t = &r->keys[k];
        total += (size_t)t->cap * (sizeof *t->values + 3 * sizeof(uint32_t)) + t->arena.total;
    }
    return total;
}

/* ---- one key column ---- */

static uint64_t value_hash(const key_value *v) {
    uint64_t h = v->len > 16 && v->len != NULL_LEN
                     ? tl_hash_bytes(v->data, v->len, 0)
                     : tl_hash_mix(v->first ^ 0xa0761d6478bd642fu, v->last ^ 0xe7037ed1a0b428dbu);
    return tl_hash_u64(h ^ v->len);
}

static inline bool value_equal(const key_value *a, const key_value *b) {
    return a->first == b->first && a->last == b->last && a->len == b->len &&
           (a->len <= 16 || a->len == NULL_LEN || memcmp(a->data, b->data, a->len) == 0);
}

static tl_status value_table_grow(value_table *t, tl_error *err) {
    uint32_t cap = t->cap ? t->cap * 2 : 64;
    if (t->cap >= UINT32_C(1) << 30) {
        return tl_fail(err, TL_UNSUPPORTED, "more than 2^30 distinct values in a series key column");
    }
    key_value *values = tl_realloc_array(t->values, cap, sizeof *values);
    if (!values) {
        return tl_fail_memory(err, cap * sizeof *values);
    }
    t->values = values;
    uint32_t n_slots = cap <= SPARSE_VALUES ? cap * 8 : cap * 2;
    uint32_t *slots = tl_calloc(n_slots, sizeof *slots);
    if (!slots) {
        return tl_fail_memory(err, n_slots * sizeof *slots);
    }
    tl_free(t->slots);
    t->slots = slots;
    t->mask = n_slots - 1;
    t->cap = cap;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = (uint32_t)value_hash(&t->values[i]) & t->mask;
        while (slots[at]) {
            at = (at + 1) & t->mask;
        }
        slots[at] = i + 1;
    }
    return TL_OK;
}

/* The slow path: the value is not the guessed one. */
static tl_status value_find(value_table *t, const key_value *v, uint32_t *id, tl_error *err) {
    if (t->n == t->cap) {
        TL_TRY(value_table_grow(t, err));
    }
    uint32_t at = (uint32_t)value_hash(v) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        if (value_equal(&t->values[t->slots[at] - 1], v)) {
            *id = t->slots[at] - 1;
            return TL_OK;
        }
    }
    key_value fresh = *v;
    fresh.next = t->n;
    if (!t->word && v->len != NULL_LEN) {
        fresh.data = tl_arena_copy(&t->arena, v->len ? (const void *)v->data : "", v->len);
        if (!fresh.data) {
            return tl_fail_memory(err, v->len);
        }
    }
    t->values[t->n] = fresh;
    t->slots[at] = t->n + 1;
    *id = t->n++;
    return TL_OK;
}

static inline tl_status value_number(value_table *t, const key_value *v, uint32_t *id, tl_error *err) {
    if (t->previous != NO_ID) {
        uint32_t guess = t->values[t->previous].next;
        if (value_equal(&t->values[guess], v)) {
            *id = t->previous = guess;
            return TL_OK;
        }
    }
    TL_TRY(value_find(t, v, id, err));
    if (t->previous != NO_ID) {
        t->values[t->previous].next = *id;
    }
    t->previous = *id;
    return TL_OK;
}

static inline void bytes_value(const uint8_t *p, size_t len, key_value *out) {
    out->data = p;
    out->len = (uint32_t)len;
    out->last = 0;
    if (len >= 8) {
        memcpy(&out->first, p, 8);
        memcpy(&out->last, p + len - 8, 8);
    } else if (len >= 4) {
        out->first = tl_load_u32(p) | (uint64_t)tl_load_u32(p + len - 4) << 32;
    } else {
        out->first = len ? (uint64_t)p[0] | (uint64_t)p[len / 2] << 8 | (uint64_t)p[len - 1] << 16 : 0;
    }
}

/* All NaNs are one value; the first one's bits stand for it. */
static uint64_t canonical_nan(value_table *t, uint64_t bits) {
    if (!t->has_nan) {
        t->has_nan = true;
        t->nan_bits = bits;
    }
    t->mixed |= bits != t->nan_bits;
    return t->nan_bits;
}

static inline uint64_t word_at(value_table *t, const tl_column *c, int64_t row) {
    if (t->type.id == TL_TYPE_BOOLEAN) {
        return tl_column_bool(c, row);
    }
    if (c->width == 4) {
        uint32_t v = tl_load_u32(c->values + row * 4);
        if (t->type.id == TL_TYPE_FLOAT && (v & 0x7fffffffu) > 0x7f800000u) {
            return canonical_nan(t, v);
        }
        return v;
    }
    uint64_t v = tl_load_u64(c->values + row * 8);
    if (t->type.id == TL_TYPE_DOUBLE && (v & INT64_MAX) > UINT64_C(0x7ff0000000000000)) {
        return canonical_nan(t, v);
    }
    return v;
}

static tl_status column_numbers(value_table *t, const tl_column *c, int64_t from, int64_t n, uint32_t *out,
                                tl_error *err) {
    const key_value null_value = {.len = NULL_LEN};
    key_value v = {0};
    v.len = t->word ? (uint32_t)(t->type.id == TL_TYPE_BOOLEAN ? 1 : c->width) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = from + i;
        const key_value *use = &v;
        if (tl_column_is_null(c, row)) {
            use = &null_value;
        } else if (t->word) {
            v.first = word_at(t, c, row);
        } else if (c->kind == TL_COLUMN_BYTES) {
            tl_bytes b = tl_column_bytes(c, row);
            bytes_value(b.data, b.len, &v);
        } else {
            bytes_value(c->values + row * c->width, (size_t)c->width, &v);
        }
        TL_TRY(value_number(t, use, &out[i], err));
    }
    return TL_OK;
}

/* ---- tuples ---- */

static uint64_t tuple_hash(const uint32_t *tuple, int32_t n) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int32_t k = 0; k < n; k++) {
        h = tl_hash_mix(h ^ tuple[k], 0xe7037ed1a0b428dbu);
    }
    return tl_hash_u64(h);
}

static tl_status tuples_grow(tl_ranker *r, tl_error *err) {
    if (r->cap >= UINT32_C(1) << 30) {
        return tl_fail(err, TL_UNSUPPORTED, "more than 2^30 series in one append");
    }
    uint32_t cap = r->cap ? r->cap * 2 : 64;
    uint32_t *tuples = tl_realloc_array(r->tuples, (size_t)cap * (size_t)r->n_keys, sizeof *tuples);
    r->tuples = tuples ? tuples : r->tuples;
    uint32_t *next = tl_realloc_array(r->next, cap, sizeof *next);
    r->next = next ? next : r->next;
    uint32_t *slots = tl_calloc((size_t)cap * 2, sizeof *slots);
    if (!tuples || !next || !slots) {
        tl_free(slots);
        return tl_fail_memory(err, (size_t)cap * ((size_t)r->n_keys + 3) * sizeof *tuples);
    }
    tl_free(r->slots);
    r->slots = slots;
    r->mask = cap * 2 - 1;
    r->cap = cap;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t at = (uint32_t)tuple_hash(&tuples[(size_t)i * (size_t)r->n_keys], r->n_keys) & r->mask;
        while (slots[at]) {
            at = (at + 1) & r->mask;
        }
        slots[at] = i + 1;
    }
    return TL_OK;
}

static tl_status tuple_find(tl_ranker *r, const uint32_t *tuple, uint32_t *id, tl_error *err) {
    if (r->n == r->cap) {
        TL_TRY(tuples_grow(r, err));
    }
    size_t width = (size_t)r->n_keys;
    uint32_t at = (uint32_t)tuple_hash(tuple, r->n_keys) & r->mask;
    for (; r->slots[at]; at = (at + 1) & r->mask) {
        if (memcmp(&r->tuples[(r->slots[at] - 1) * width], tuple, width * sizeof *tuple) == 0) {
            *id = r->slots[at] - 1;
            return TL_OK;
        }
    }
    memcpy(&r->tuples[r->n * width], tuple, width * sizeof *tuple);
    r->next[r->n] = r->n;
    r->slots[at] = r->n + 1;
    *id = r->n++;
    return TL_OK;
}

static tl_status tuple_numbers(tl_ranker *r, int64_t n, uint32_t *out, tl_error *err) {
    uint32_t tuple[32];
    size_t width = (size_t)r->n_keys;
    uint32_t *wide = width > TL_COUNT(tuple) ? tl_alloc_array(width, sizeof *wide) : tuple;
    if (!wide) {
        return tl_fail_memory(err, width * sizeof *wide);
    }
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        for (size_t k = 0; k < width; k++) {
            wide[k] = r->scratch[k * CHUNK + (size_t)i];
        }
        uint32_t guess = r->previous != NO_ID ? r->next[r->previous] : NO_ID;
        if (guess != NO_ID && memcmp(&r->tuples[guess * width], wide, width * sizeof *wide) == 0) {
            out[i] = r->previous = guess;
            continue;
        }
        status = tuple_find(r, wide, &out[i], err);
        if (status == TL_OK && r->previous != NO_ID) {
            r->next[r->previous] = out[i];
        }
        r->previous = out[i];
    }
    if (wide != tuple) {
        tl_free(wide);
    }
    return status;
}

tl_status tl_ranker_add(tl_ranker *r, const tl_column *columns, int64_t n_rows, uint32_t *out, tl_error *err) {
    if (r->n_keys == 0) {
        memset(out, 0, (size_t)n_rows * sizeof *out);
        return TL_OK;
    }
    if (r->n_keys == 1) {
        return column_numbers(&r->keys[0], &columns[r->keys[0].column], 0, n_rows, out, err);
    }
    for (int64_t from = 0; from < n_rows; from += CHUNK) {
        int64_t n = n_rows - from < CHUNK ? n_rows - from : CHUNK;
        for (int32_t k = 0; k < r->n_keys; k++) {
            TL_TRY(
                column_numbers(&r->keys[k], &columns[r->keys[k].column], from, n, r->scratch + (size_t)k * CHUNK, err));
        }
        TL_TRY(tuple_numbers(r, n, out + from, err));
    }
    return TL_OK;
}

/* ---- order ---- */

typedef struct ordered {
    uint64_t prefix; /* compares as the value does, as far as it goes */
    uint32_t id;
} ordered;

static uint64_t big_endian(uint64_t v) {
    return __builtin_bswap64(v);
}

/* Bits of a float that compare as unsigned numbers in the order -inf .. -0.0, 0.0 .. inf, NaN. */
static uint64_t float_order(uint64_t bits, int width) {
    uint64_t sign = UINT64_C(1) << (width * 8 - 1);
    uint64_t mask = sign | (sign - 1);
    bool nan = width == 4 ? (bits & 0x7fffffffu) > 0x7f800000u : (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return nan ? mask : bits & sign ? ~bits & mask : bits | sign;
}

static uint64_t value_prefix(const value_table *t, const key_value *v) {
    switch (t->type.id) {
    case TL_TYPE_BOOLEAN: return v->first;
    case TL_TYPE_INT:
    case TL_TYPE_DATE: return (uint64_t)(int64_t)(int32_t)(uint32_t)v->first ^ UINT64_C(1) << 63;
    case TL_TYPE_LONG:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return v->first ^ UINT64_C(1) << 63;
    case TL_TYPE_FLOAT: return float_order(v->first, 4);
    case TL_TYPE_DOUBLE: return float_order(v->first, 8);
    case TL_TYPE_DECIMAL: return v->last ^ UINT64_C(1) << 63; /* the high half */
    default: {
        uint64_t head = 0;
        memcpy(&head, v->data, v->len < 8 ? v->len : 8);
        return big_endian(head);
    }
    }
}

static bool not_after(const value_table *t, const ordered *a, const ordered *b) {
    if (a->prefix != b->prefix) {
        return a->prefix < b->prefix;
    }
    if (t->word) {
        return true;
    }
    const key_value *x = &t->values[a->id], *y = &t->values[b->id];
    if (t->type.id == TL_TYPE_DECIMAL) {
        return x->first <= y->first; /* the low half, unsigned */
    }
    return tl_bytes_compare((tl_bytes){x->data, x->len}, (tl_bytes){y->data, y->len}) <= 0;
}

/* Stable bottom-up merge sort; the sorted array is returned (one of the two). */
static ordered *merge_sort(const value_table *t, ordered *a, ordered *spare, size_t n) {
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) {
        sorted = not_after(t, &a[i - 1], &a[i]);
    }
    for (size_t width = 1; width < n && !sorted; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t mid = from + width < n ? from + width : n, to = from + 2 * width < n ? from + 2 * width : n;
            size_t i = from, j = mid, k = from;
            while (i < mid && j < to) {
                spare[k++] = not_after(t, &a[i], &a[j]) ? a[i++] : a[j++];
            }
            memcpy(&spare[k], &a[i], (mid - i) * sizeof *a);
            memcpy(&spare[k + (mid - i)], &a[j], (to - j) * sizeof *a);
        }
        ordered *swap = a;
        a = spare;
        spare = swap;
    }
    return a;
}

static tl_status rank_values(value_table *t, tl_error *err) {
    size_t n = 0;
    ordered *list = tl_alloc_array((size_t)t->n * 2, sizeof *list);
    uint32_t *ranks = tl_realloc_array(t->ranks, t->n, sizeof *ranks);
    t->ranks = ranks ? ranks : t->ranks;
    if (!list || !ranks) {
        tl_free(list);
        return tl_fail_memory(err, (size_t)t->n * 2 * sizeof *list);
    }
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->values[i].len == NULL_LEN) {
            ranks[i] = rank++; /* nulls first */
        } else {
            list[n++] = (ordered){value_prefix(t, &t->values[i]), i};
        }
    }
    ordered *sorted = merge_sort(t, list, list + n, n);
    for (size_t i = 0; i < n; i++) {
        ranks[sorted[i].id] = rank++;
    }
    tl_free(list);
    return TL_OK;
}

/* Orders the tuples by counting sorts over the key columns' ranks, last column first. */
static void rank_tuples(tl_ranker *r, uint32_t *order, uint32_t *spare, uint32_t *counts) {
    for (uint32_t i = 0; i < r->n; i++) {
        order[i] = i;
    }
    for (int32_t k = r->n_keys - 1; k >= 0; k--) {
        const value_table *t = &r->keys[k];
        memset(counts, 0, ((size_t)t->n + 1) * sizeof *counts);
        for (uint32_t i = 0; i < r->n; i++) {
            counts[t->ranks[r->tuples[(size_t)i * (size_t)r->n_keys + (size_t)k]] + 1]++;
        }
        for (uint32_t i = 0; i < t->n; i++) {
            counts[i + 1] += counts[i];
        }
        for (uint32_t i = 0; i < r->n; i++) {
            uint32_t id = order[i];
            spare[counts[t->ranks[r->tuples[(size_t)id * (size_t)r->n_keys + (size_t)k]]]++] = id;
        }
        memcpy(order, spare, r->n * sizeof *order);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        r->ranks[order[i]] = i;
    }
}

tl_status tl_ranker_ranks(tl_ranker *r, const uint32_t **ranks, tl_error *err) {
    uint32_t n = tl_ranker_count(r);
    if (r->ranks && r->ranked == n) {
        *ranks = r->ranks;
        return TL_OK;
    }
    uint32_t *mine = tl_realloc_array(r->ranks, n, sizeof *mine);
    if (!mine) {
        return tl_fail_memory(err, n * sizeof *mine);
    }
    r->ranks = mine;
    r->ranked = 0;
    size_t most = 0;
    for (int32_t k = 0; k < r->n_keys; k++) {
        TL_TRY(rank_values(&r->keys[k], err));
        most = r->keys[k].n > most ? r->keys[k].n : most;
    }
    if (r->n_keys <= 1) {
        if (r->n_keys == 0) {
            mine[0] = 0;
        } else {
            memcpy(mine, r->keys[0].ranks, n * sizeof *mine);
        }
    } else {
        uint32_t *work = tl_alloc_array((size_t)n * 2 + most + 1, sizeof *work);
        if (!work) {
            return tl_fail_memory(err, ((size_t)n * 2 + most + 1) * sizeof *work);
        }
        rank_tuples(r, work, work + n, work + (size_t)n * 2);
        tl_free(work);
    }
    r->ranked = n;
    *ranks = mine;
    return TL_OK;
}

bool tl_ranker_value(const tl_ranker *r, int32_t k, uint32_t series, tl_bytes *out) {
    const value_table *t = &r->keys[k];
    uint32_t id = r->n_keys == 1 ? series : r->tuples[(size_t)series * (size_t)r->n_keys + (size_t)k];
    const key_value *v = &t->values[id];
    if (v->len == NULL_LEN) {
        return false;
    }
    *out = t->word ? (tl_bytes){(const uint8_t *)&v->first, v->len} : (tl_bytes){v->data, v->len};
    return true;
}

bool tl_ranker_mixed(const tl_ranker *r, int32_t k) {
    return r->keys[k].mixed;
}
