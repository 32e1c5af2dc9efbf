/* Counts of delays in buckets of equal relative width. See arrivals.h. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "read/arrivals.h"

enum { SUB_BITS = 5, SUB = 1 << SUB_BITS, MIDDLE = 2048, BUCKET_BITS = 12 };

/* Of v >= 0: exact below 64, then 32 buckets to each doubling. */
static int32_t bucket_of_size(uint64_t v) {
    if (v < SUB) {
        return (int32_t)v;
    }
    int32_t exponent = 63 - __builtin_clzll(v);
    return (exponent - SUB_BITS + 1) * SUB + (int32_t)((v >> (exponent - SUB_BITS)) & (SUB - 1));
}

static int64_t least_of(int32_t bucket) {
    return bucket < SUB ? bucket : (int64_t)(SUB + bucket % SUB) << (bucket / SUB - 1);
}

int32_t tl_arrival_bucket(int64_t delay_us) {
    return delay_us >= 0 ? bucket_of_size((uint64_t)delay_us) : -1 - bucket_of_size((uint64_t) - (delay_us + 1));
}

int64_t tl_arrival_bucket_greatest(int32_t bucket) {
    if (bucket < 0) {
        return -1 - least_of(-1 - bucket);
    }
    int64_t width = bucket < SUB ? 1 : (int64_t)1 << (bucket / SUB - 1);
    return least_of(bucket) + (width - 1);
}

static uint64_t key_of(int32_t series, int measure, int32_t bucket) {
    return (uint64_t)(uint32_t)series << (BUCKET_BITS + 1) | (uint64_t)(measure != 0) << BUCKET_BITS |
           (uint64_t)(bucket + MIDDLE);
}

int32_t tl_arrival_count_bucket(const tl_arrival_count *c) {
    return (int32_t)(c->key & ((1u << BUCKET_BITS) - 1)) - MIDDLE;
}

static tl_arrival_count *place_of(tl_arrival_count *places, size_t cap, uint64_t key) {
    size_t i = (size_t)tl_hash_u64(key) & (cap - 1);
    while (places[i].n && places[i].key != key) {
        i = (i + 1) & (cap - 1);
    }
    return &places[i];
}

static tl_status grow(tl_arrival_counts *c, tl_error *err) {
    size_t cap = c->cap ? c->cap * 2 : 256;
    tl_arrival_count *places = tl_calloc(cap, sizeof *places);
    if (!places) {
        return tl_fail_memory(err, cap * sizeof *places);
    }
    for (size_t i = 0; i < c->cap; i++) {
        if (c->places[i].n) {
            *place_of(places, cap, c->places[i].key) = c->places[i];
        }
    }
    tl_free(c->places);
    c->places = places;
    c->cap = cap;
    return TL_OK;
}

tl_status tl_arrival_counts_add(tl_arrival_counts *c, int32_t series, int measure, int32_t bucket, int64_t n,
                                tl_error *err) {
    if (n == 0) {
        return TL_OK;
    }
    if (c->n >= c->cap / 2) {
        TL_TRY(grow(c, err));
    }
    tl_arrival_count *place = place_of(c->places, c->cap, key_of(series, measure, bucket));
    if (place->n == 0) {
        place->key = key_of(series, measure, bucket);
        c->n++;
    }
    place->n += n;
    return TL_OK;
}

void tl_arrival_counts_free(tl_arrival_counts *c) {
    tl_free(c->places);
    *c = (tl_arrival_counts){0};
}

static int by_key(const void *a, const void *b) {
    const tl_arrival_count *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

void tl_arrival_counts_sort(tl_arrival_counts *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->cap; i++) {
        if (c->places[i].n) {
            c->places[n++] = c->places[i];
        }
    }
    if (n) {
        qsort(c->places, n, sizeof *c->places, by_key);
    }
}

/* The first entry whose key is not below `key`. */
static size_t first_from(const tl_arrival_counts *c, uint64_t key) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->places[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const tl_arrival_count *tl_arrival_counts_of(const tl_arrival_counts *c, int32_t series, int measure, size_t *n) {
    uint64_t from = key_of(series, measure, -MIDDLE);
    size_t first = first_from(c, from), end = first_from(c, from + (1u << BUCKET_BITS));
    *n = end - first;
    return c->places ? c->places + first : NULL;
}

int64_t tl_arrival_quantile(const tl_arrival_count *counts, size_t n, double q) {
    const double rounding = 1 - 1e-12; /* 0.07 * 5000 is a little more than 350 */
    int64_t all = 0, below = 0;
    for (size_t i = 0; i < n; i++) {
        all += counts[i].n;
    }
    for (size_t i = 0; i < n; i++) {
        below += counts[i].n;
        if ((double)below >= q * (double)all * rounding) {
            return tl_arrival_bucket_greatest(tl_arrival_count_bucket(&counts[i]));
        }
    }
    return tl_arrival_bucket_greatest(tl_arrival_count_bucket(&counts[n - 1]));
}
