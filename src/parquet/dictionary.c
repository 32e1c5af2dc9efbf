/*
 * The dictionary of a column chunk. Comes in: values. Goes out: their indices in the order of first sight, and the
 * body of the dictionary page. An open-addressing table of (hash tag, index), for numbers of indices alone, finds
 * values; readings repeat, so the value before is tried first.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "parquet/write_internal.h"

typedef struct tl_pq_slot {
    uint32_t tag;
    uint32_t index; /* + 1; 0 = free */
} tl_pq_slot;

#define FIRST_SLOTS 1024u
/* What a dictionary page can hold: its sizes are int32, and compressed ones may be a little larger. */
#define HARD_MAX_BYTES ((size_t)INT32_MAX - (1u << 24))

void tl_pq_dictionary_free(tl_pq_dictionary *d) {
    tl_buf_free(&d->values);
    tl_buf_free(&d->offsets);
    tl_free(d->slots);
    tl_free(d->cells);
    *d = (tl_pq_dictionary){0};
}

static bool is_number(const tl_pq_dictionary *d) {
    return d->width == 8 || d->width == 4;
}

tl_status tl_pq_dictionary_begin(tl_pq_dictionary *d, int32_t width, uint32_t max_values, size_t max_bytes) {
    if (d->n && is_number(d)) {
        memset(d->cells, 0, (d->cell_mask + 1) * sizeof *d->cells);
    } else if (d->n) {
        memset(d->slots, 0, (d->mask + 1) * sizeof *d->slots);
    }
    d->n = 0;
    d->values.len = d->offsets.len = 0;
    d->width = width;
    d->max_values = max_values;
    d->max_bytes = max_bytes < HARD_MAX_BYTES ? max_bytes : HARD_MAX_BYTES;
    return TL_OK;
}

tl_bytes tl_pq_dictionary_value(const tl_pq_dictionary *d, uint32_t index) {
    if (d->width) {
        return (tl_bytes){d->values.data + (size_t)index * (size_t)d->width, (size_t)d->width};
    }
    uint32_t at;
    memcpy(&at, d->offsets.data + (size_t)index * 4, 4);
    return (tl_bytes){d->values.data + at, tl_load_u32(d->values.data + at - 4)};
}

static uint64_t hash_of(tl_bytes v) {
    if (v.len == 8) {
        return tl_hash_u64(tl_load_u64(v.data));
    }
    if (v.len == 4) {
        return tl_hash_u64(tl_load_u32(v.data));
    }
    return tl_hash_bytes(v.data, v.len, 0);
}

/* Short values are the rule: two overlapping words instead of a call. */
static bool equal(tl_bytes a, tl_bytes b) {
    if (a.len != b.len) {
        return false;
    }
    if (a.len >= 8 && a.len <= 16) {
        return ((tl_load_u64(a.data) ^ tl_load_u64(b.data)) |
                (tl_load_u64(a.data + a.len - 8) ^ tl_load_u64(b.data + a.len - 8))) == 0;
    }
    if (a.len >= 4 && a.len < 8) {
        return ((tl_load_u32(a.data) ^ tl_load_u32(b.data)) |
                (tl_load_u32(a.data + a.len - 4) ^ tl_load_u32(b.data + a.len - 4))) == 0;
    }
    return a.len == 0 || memcmp(a.data, b.data, a.len) == 0;
}

static void place(tl_pq_slot *slots, size_t mask, uint64_t hash, uint32_t index) {
    size_t at = (size_t)hash & mask;
    while (slots[at].index) {
        at = (at + 1) & mask;
    }
    slots[at] = (tl_pq_slot){(uint32_t)(hash >> 32), index + 1};
}

static tl_status grow_slots(tl_pq_dictionary *d) {
    size_t n_slots = d->slots ? (d->mask + 1) * 2 : FIRST_SLOTS;
    tl_pq_slot *slots = tl_calloc(n_slots, sizeof *slots);
    if (!slots) {
        return TL_NO_MEMORY;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        place(slots, n_slots - 1, hash_of(tl_pq_dictionary_value(d, i)), i);
    }
    tl_free(d->slots);
    d->slots = slots;
    d->mask = n_slots - 1;
    return TL_OK;
}

/* Keeps at least half of the slots free. */
static tl_status make_room(tl_pq_dictionary *d) {
    return ((size_t)d->n + 1) * 2 <= d->mask + 1 ? TL_OK : grow_slots(d);
}

/* A new value. *full is set, and nothing entered, when it would go over the limits. */
static inline __attribute__((always_inline)) tl_status enter(tl_pq_dictionary *d, tl_bytes v, uint64_t hash,
                                                             bool beyond, bool *full) {
    size_t bytes = v.len + (d->width ? 0 : 4);
    bool over = bytes > d->max_bytes || d->values.len > d->max_bytes - bytes || d->n >= d->max_values;
    if (over && !beyond) {
        *full = true;
        return TL_OK;
    }
    if (bytes > HARD_MAX_BYTES || d->values.len > HARD_MAX_BYTES - bytes || d->n >= (1u << 30)) {
        return TL_UNSUPPORTED;
    }
    TL_TRY(make_room(d));
    TL_TRY(tl_buf_reserve(&d->values, bytes));
    if (!d->width) {
        uint32_t at = (uint32_t)d->values.len + 4, len = (uint32_t)v.len;
        TL_TRY(tl_buf_add(&d->offsets, &at, 4));
        TL_TRY(tl_buf_add(&d->values, &len, 4));
    }
    TL_TRY(tl_buf_add(&d->values, v.data, v.len));
    place(d->slots, d->mask, hash, d->n);
    d->n++;
    return TL_OK;
}

/* The index of `v`, entered if it is new. */
static inline __attribute__((always_inline)) tl_status find(tl_pq_dictionary *d, tl_bytes v, uint64_t hash, bool beyond,
                                                            uint32_t *index, bool *full) {
    uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t at = (size_t)hash & d->mask;; at = (at + 1) & d->mask) {
        tl_pq_slot slot = d->slots[at];
        if (slot.index == 0) {
            *index = d->n;
            return enter(d, v, hash, beyond, full);
        }
        if (slot.tag == tag && equal(tl_pq_dictionary_value(d, slot.index - 1), v)) {
            *index = slot.index - 1;
            return TL_OK;
        }
    }
}

/* ---- numbers of 4 or 8 bytes ---- */

/*
 * A number is compared as quickly as a tag of it, so their table has the indices alone, 4 bytes each; three quarters of
 * it stay free, so that hardly any look-up finds another's place taken. What remains is waiting for memory: the places
 * of a block of numbers are computed and asked for first, then looked at. That takes 6 ns for each of 20,000 values in
 * no order, where tags in a table half as sparse took 9. Blocks in which most values repeat the one before are left to
 * a loop that looks for changes only: 1 ns instead of 2.
 */
#define BLOCK 256u /* numbers looked for at once, and for which room is made */
#define FIRST_CELLS 1024u
#define SPARSE 4u

static void put_cell(uint32_t *cells, size_t mask, uint64_t hash, uint32_t index) {
    size_t at = (size_t)hash & mask;
    while (cells[at]) {
        at = (at + 1) & mask;
    }
    cells[at] = index + 1;
}

static tl_status grow_cells(tl_pq_dictionary *d) {
    size_t n = d->cells ? (d->cell_mask + 1) * 2 : FIRST_CELLS;
    uint32_t *cells = tl_calloc(n, sizeof *cells);
    if (!cells) {
        return TL_NO_MEMORY;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        put_cell(cells, n - 1, hash_of(tl_pq_dictionary_value(d, i)), i);
    }
    tl_free(d->cells);
    d->cells = cells;
    d->cell_mask = n - 1;
    return TL_OK;
}

/* Room for up to `n` new values of the width; *left = how many of them the limits allow. */
static tl_status make_block_room(tl_pq_dictionary *d, size_t n, size_t width, bool beyond, size_t *left) {
    while (!d->cells || ((size_t)d->n + n) * SPARSE > d->cell_mask + 1) {
        TL_TRY(grow_cells(d));
    }
    size_t max_bytes = beyond ? HARD_MAX_BYTES : d->max_bytes, max_values = beyond ? 1u << 30 : d->max_values;
    size_t bytes = max_bytes > d->values.len ? (max_bytes - d->values.len) / width : 0;
    size_t values = max_values > d->n ? max_values - d->n : 0;
    *left = bytes < values ? bytes : values;
    *left = *left < n ? *left : n;
    return tl_buf_reserve(&d->values, n * width);
}

static inline uint64_t number_at(const uint8_t *values, size_t i, const size_t width) {
    return width == 8 ? tl_load_u64(values + i * 8) : tl_load_u32(values + i * 4);
}

/* The cell where `v` is, or would be. */
static inline size_t cell_of(const uint32_t *cells, size_t mask, const uint8_t *known, uint64_t v, size_t at,
                             const size_t width) {
    while (cells[at] && number_at(known, cells[at] - 1, width) != v) {
        at = (at + 1) & mask;
    }
    return at;
}

static bool mostly_repeats(const uint8_t *values, size_t n, const size_t width) {
    size_t same = 0;
    for (size_t i = 1; i < n; i++) {
        same += number_at(values, i, width) == number_at(values, i - 1, width);
    }
    return same * 4 > n * 3;
}

/* At most BLOCK numbers; `width` is a constant at each call. Stops at a new value when `left` new ones are entered. */
static inline __attribute__((always_inline)) size_t map_block(tl_pq_dictionary *d, const uint8_t *values, size_t n,
                                                              const size_t width, size_t left, uint32_t *indices) {
    uint8_t *known = d->values.data;
    uint32_t *cells = d->cells, count = d->n, most = d->n + (uint32_t)left, last = 0;
    const size_t mask = d->cell_mask;
    uint32_t places[BLOCK];
    bool repeats = mostly_repeats(values, n, width);
    for (size_t i = 0; i < n && !repeats; i++) {
        places[i] = (uint32_t)((size_t)tl_hash_u64(number_at(values, i, width)) & mask);
        __builtin_prefetch(&cells[places[i]]);
    }
    size_t i = 0;
    for (; i < n; i++) {
        uint64_t v = number_at(values, i, width);
        if (repeats && i > 0 && v == number_at(values, i - 1, width)) {
            indices[i] = last;
            continue;
        }
        size_t at = repeats ? (size_t)tl_hash_u64(v) & mask : places[i];
        at = cell_of(cells, mask, known, v, at, width);
        if (!cells[at]) {
            if (count == most) {
                break;
            }
            memcpy(known + (size_t)count * width, values + i * width, width);
            cells[at] = ++count;
        }
        indices[i] = last = cells[at] - 1;
    }
    d->n = count;
    d->values.len = (size_t)count * width;
    return i;
}

static inline __attribute__((always_inline)) tl_status map_numbers(tl_pq_dictionary *d, const uint8_t *values, size_t n,
                                                                   const size_t width, bool beyond, uint32_t *indices,
                                                                   size_t *mapped) {
    *mapped = 0;
    while (*mapped < n) {
        size_t block = n - *mapped < BLOCK ? n - *mapped : BLOCK, left;
        TL_TRY(make_block_room(d, block, width, beyond, &left));
        size_t done = map_block(d, values + *mapped * width, block, width, left, indices + *mapped);
        *mapped += done;
        if (done < block) { /* a new value at a limit */
            return beyond ? TL_UNSUPPORTED : TL_OK;
        }
    }
    return TL_OK;
}

tl_status tl_pq_dictionary_map(tl_pq_dictionary *d, const void *values, size_t n, bool beyond, uint32_t *indices,
                               size_t *mapped) {
    if (d->width == 8) {
        return map_numbers(d, values, n, 8, beyond, indices, mapped);
    }
    if (d->width == 4) {
        return map_numbers(d, values, n, 4, beyond, indices, mapped);
    }
    TL_TRY(d->slots ? TL_OK : grow_slots(d));
    tl_bytes before = {0};
    uint32_t index = 0;
    bool full = false;
    for (size_t i = 0; i < n; i++) {
        tl_bytes v = d->width ? (tl_bytes){(const uint8_t *)values + i * (size_t)d->width, (size_t)d->width}
                              : ((const tl_bytes *)values)[i];
        if (i == 0 || !equal(v, before)) {
            TL_TRY(find(d, v, hash_of(v), beyond, &index, &full));
            if (full) {
                *mapped = i;
                return TL_OK;
            }
            before = v;
        }
        indices[i] = index;
    }
    *mapped = n;
    return TL_OK;
}
