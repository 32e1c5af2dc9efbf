/*
 * Splitting rows into (partition, series) buckets. Partitions are found by comparing with the last one's time span,
 * buckets by a table per partition; when that table would grow large (many partitions times many series) by a hash.
 */
#include "append/split_internal.h"

#include <string.h>

#include "base/hash.h"

#define TABLE_CELLS ((size_t)1 << 22) /* 16 MiB of bucket tables, then the hash */

void tl_splitter_init(tl_splitter *s, tl_transform chunk) {
    *s = (tl_splitter){.chunk = chunk};
}

static void drop_tables(tl_splitter *s) {
    for (uint32_t i = 0; i < s->n_partitions; i++) {
        tl_free(s->partitions[i].buckets);
        s->partitions[i].buckets = NULL;
        s->partitions[i].cap = 0;
    }
}

void tl_splitter_reset(tl_splitter *s) {
    drop_tables(s);
    tl_free(s->partitions);
    tl_free(s->partition_slots);
    tl_free(s->buckets);
    tl_free(s->slots);
    tl_splitter_init(s, s->chunk);
}

size_t tl_splitter_bytes(const tl_splitter *s) {
    return (size_t)s->cap_buckets * (sizeof *s->buckets + 2 * sizeof *s->slots) + s->cells * sizeof(uint32_t) +
           (size_t)s->cap_partitions * (sizeof *s->partitions + 2 * sizeof *s->partition_slots);
}

/* ---- partitions ---- */

static tl_status grow_partitions(tl_splitter *s, tl_error *err) {
    uint32_t cap = s->cap_partitions ? s->cap_partitions * 2 : 16;
    tl_partition_span *list = tl_realloc_array(s->partitions, cap, sizeof *list);
    s->partitions = list ? list : s->partitions;
    uint32_t *slots = tl_calloc((size_t)cap * 2, sizeof *slots);
    if (!list || !slots) {
        tl_free(slots);
        return tl_fail_memory(err, cap * sizeof *list);
    }
    tl_free(s->partition_slots);
    s->partition_slots = slots;
    s->partition_mask = cap * 2 - 1;
    s->cap_partitions = cap;
    for (uint32_t i = 0; i < s->n_partitions; i++) {
        uint32_t at = (uint32_t)tl_hash_u64((uint32_t)list[i].value) & s->partition_mask;
        while (slots[at]) {
            at = (at + 1) & s->partition_mask;
        }
        slots[at] = i + 1;
    }
    return TL_OK;
}

/* The last microsecond before the next partition value. */
static int64_t span_end(tl_transform chunk, int32_t value) {
    int64_t next;
    return value == INT32_MAX || !tl_transform_time_start(chunk, value + 1, &next) ? INT64_MAX : next - 1;
}

static tl_status find_partition(tl_splitter *s, int64_t us, bool *held, tl_error *err) {
    int32_t value = 0;
    *held = s->chunk == TL_TRANSFORM_VOID || tl_transform_time(s->chunk, us, &value);
    if (!*held) {
        return TL_OK;
    }
    if (s->n_partitions == s->cap_partitions) {
        TL_TRY(grow_partitions(s, err));
    }
    uint32_t at = (uint32_t)tl_hash_u64((uint32_t)value) & s->partition_mask;
    for (; s->partition_slots[at]; at = (at + 1) & s->partition_mask) {
        if (s->partitions[s->partition_slots[at] - 1].value == value) {
            s->last = s->partition_slots[at] - 1;
            return TL_OK;
        }
    }
    tl_partition_span span = {.value = value, .first_us = INT64_MIN, .last_us = INT64_MAX};
    if (s->chunk != TL_TRANSFORM_VOID) {
        if (!tl_transform_time_start(s->chunk, value, &span.first_us)) {
            span.first_us = INT64_MIN; /* the partition begins before the first microsecond that int64 counts */
        }
        span.last_us = span_end(s->chunk, value);
    }
    s->partitions[s->n_partitions] = span;
    s->partition_slots[at] = s->n_partitions + 1;
    s->last = s->n_partitions++;
    return TL_OK;
}

/* ---- buckets ---- */

static tl_status grow_buckets(tl_splitter *s, tl_error *err) {
    uint32_t cap = s->cap_buckets ? s->cap_buckets * 2 : 64;
    if (s->cap_buckets >= UINT32_C(1) << 30) {
        return tl_fail(err, TL_UNSUPPORTED, "more than 2^30 (partition, series) pairs at once; lower memory-limit");
    }
    tl_bucket *list = tl_realloc_array(s->buckets, cap, sizeof *list);
    if (!list) {
        return tl_fail_memory(err, cap * sizeof *list);
    }
    s->buckets = list;
    s->cap_buckets = cap;
    return TL_OK;
}

static tl_status new_bucket(tl_splitter *s, uint32_t series, uint32_t *out, tl_error *err) {
    if (s->n_buckets == s->cap_buckets) {
        TL_TRY(grow_buckets(s, err));
    }
    s->buckets[s->n_buckets] = (tl_bucket){s->last, series, 0};
    *out = s->n_buckets++;
    return TL_OK;
}

static uint64_t bucket_hash(uint32_t partition, uint32_t series) {
    return tl_hash_u64((uint64_t)partition << 32 | series);
}

static tl_status grow_slots(tl_splitter *s, tl_error *err) {
    size_t n = 1024;
    while (n < (size_t)s->n_buckets * 4) {
        n *= 2;
    }
    uint32_t *slots = tl_calloc(n, sizeof *slots);
    if (!slots) {
        return tl_fail_memory(err, n * sizeof *slots);
    }
    tl_free(s->slots);
    s->slots = slots;
    s->mask = (uint32_t)(n - 1);
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        uint32_t at = (uint32_t)bucket_hash(s->buckets[i].partition, s->buckets[i].series) & s->mask;
        while (slots[at]) {
            at = (at + 1) & s->mask;
        }
        slots[at] = i + 1;
    }
    return TL_OK;
}

static tl_status hashed_bucket(tl_splitter *s, uint32_t series, uint32_t *out, tl_error *err) {
    if ((size_t)s->n_buckets * 2 >= s->mask) {
        TL_TRY(grow_slots(s, err));
    }
    uint32_t at = (uint32_t)bucket_hash(s->last, series) & s->mask;
    for (; s->slots[at]; at = (at + 1) & s->mask) {
        const tl_bucket *b = &s->buckets[s->slots[at] - 1];
        if (b->partition == s->last && b->series == series) {
            *out = s->slots[at] - 1;
            return TL_OK;
        }
    }
    TL_TRY(new_bucket(s, series, out, err));
    s->slots[at] = *out + 1;
    return TL_OK;
}

/* A bucket that the partition's table does not have yet. */
static tl_status tabled_bucket(tl_splitter *s, uint32_t series, uint32_t *out, tl_error *err) {
    tl_partition_span *p = &s->partitions[s->last];
    if (series >= p->cap) {
        size_t cap = p->cap ? (size_t)p->cap * 2 : 64;
        cap = cap <= series ? (size_t)series + 1 : cap;
        if (s->cells - p->cap + cap > TABLE_CELLS) {
            drop_tables(s);
            s->cells = 0;
            TL_TRY(grow_slots(s, err));
            return hashed_bucket(s, series, out, err);
        }
        uint32_t *table = tl_realloc_array(p->buckets, cap, sizeof *table);
        if (!table) {
            return tl_fail_memory(err, cap * sizeof *table);
        }
        memset(table + p->cap, 0, (cap - p->cap) * sizeof *table);
        s->cells += cap - p->cap;
        p->buckets = table;
        p->cap = (uint32_t)cap;
    }
    if (p->buckets[series]) {
        *out = p->buckets[series] - 1;
        return TL_OK;
    }
    TL_TRY(new_bucket(s, series, out, err));
    p->buckets[series] = *out + 1;
    return TL_OK;
}

/* Where the partition last seen around a time is noted: steps of about half a partition. */
static uint32_t *near_place(tl_splitter *s, int64_t us) {
    unsigned shift = s->chunk == TL_TRANSFORM_HOUR ? 31 : s->chunk == TL_TRANSFORM_DAY ? 35 : 40;
    return &s->near[((uint64_t)us >> shift) & (TL_COUNT(s->near) - 1)];
}

static bool holds(const tl_partition_span *p, int64_t us) {
    return us >= p->first_us && us <= p->last_us;
}

tl_status tl_splitter_add(tl_splitter *s, const uint8_t *times, int64_t n_rows, uint32_t *numbers, int64_t *bad,
                          tl_error *err) {
    *bad = -1;
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t us = tl_load_i64(times + i * 8);
        if (s->n_partitions == 0 || !holds(&s->partitions[s->last], us)) {
            uint32_t *near = near_place(s, us);
            if (s->n_partitions > 0 && holds(&s->partitions[*near], us)) {
                s->last = *near;
            } else {
                bool held;
                TL_TRY(find_partition(s, us, &held, err));
                if (!held) {
                    *bad = i;
                    return TL_INVALID;
                }
                *near = s->last;
            }
        }
        const tl_partition_span *p = &s->partitions[s->last];
        uint32_t series = numbers[i];
        if (series < p->cap && p->buckets[series]) {
            numbers[i] = p->buckets[series] - 1;
        } else if (s->slots) {
            TL_TRY(hashed_bucket(s, series, &numbers[i], err));
        } else {
            TL_TRY(tabled_bucket(s, series, &numbers[i], err));
        }
        s->buckets[numbers[i]].rows++;
    }
    return TL_OK;
}

/* ---- order ---- */

static void partition_places(const tl_splitter *s, uint32_t *place, uint32_t *order) {
    /* few, or nearly ascending already: insertion would be quadratic for thousands of shuffled ones, so a heap sort */
    uint32_t n = s->n_partitions;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (uint32_t end = n, root = n / 2; end > 1;) {
        uint32_t top;
        if (root > 0) {
            top = order[--root];
        } else {
            top = order[--end];
            order[end] = order[0];
        }
        uint32_t hole = root;
        for (uint32_t child; (child = 2 * hole + 1) < end; hole = child) {
            if (child + 1 < end && s->partitions[order[child + 1]].value > s->partitions[order[child]].value) {
                child++;
            }
            if (s->partitions[order[child]].value <= s->partitions[top].value) {
                break;
            }
            order[hole] = order[child];
        }
        order[hole] = top;
    }
    for (uint32_t i = 0; i < n; i++) {
        place[order[i]] = i;
    }
}

tl_status tl_splitter_order(const tl_splitter *s, const uint32_t *ranks, uint32_t n_series, uint32_t *out,
                            tl_error *err) {
    uint32_t most = n_series > s->n_partitions ? n_series : s->n_partitions;
    size_t words = (size_t)s->n_buckets + most + 1 + 2 * (size_t)s->n_partitions;
    uint32_t *work = tl_alloc_array(words, sizeof *work);
    if (!work) {
        return tl_fail_memory(err, words * sizeof *work);
    }
    uint32_t *by_series = work, *counts = by_series + s->n_buckets, *place = counts + most + 1;
    partition_places(s, place, place + s->n_partitions);
    memset(counts, 0, ((size_t)n_series + 1) * sizeof *counts);
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        counts[ranks[s->buckets[i].series] + 1]++;
    }
    for (uint32_t i = 0; i < n_series; i++) {
        counts[i + 1] += counts[i];
    }
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        by_series[counts[ranks[s->buckets[i].series]]++] = i;
    }
    memset(counts, 0, ((size_t)s->n_partitions + 1) * sizeof *counts);
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        counts[place[s->buckets[i].partition] + 1]++;
    }
    for (uint32_t i = 0; i < s->n_partitions; i++) {
        counts[i + 1] += counts[i];
    }
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        out[counts[place[s->buckets[by_series[i]].partition]]++] = by_series[i];
    }
    tl_free(work);
    return TL_OK;
}
