/* Touched ranges to text and back. */
#include "commit/touched.h"

#include <string.h>

#include "base/num.h"
#include "table/series_bucket.h"

/* How much time lies between two neighbours; joined ranges lose that much precision. */
static uint64_t gap(const tl_touched_range *a, const tl_touched_range *b) {
    return b->min_us > a->max_us ? (uint64_t)b->min_us - (uint64_t)a->max_us : 0;
}

/* The k-th smallest gap (k from 0) is the limit up to which neighbours are joined: found by halving. */
static uint64_t gap_limit(const tl_touched_range *r, int32_t n, int32_t joins) {
    uint64_t lo = 0, hi = UINT64_MAX;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        int32_t within = 0;
        for (int32_t i = 1; i < n; i++) {
            within += gap(&r[i - 1], &r[i]) <= mid;
        }
        if (within >= joins) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/* Joins the closest neighbours until `most` are left; gives how many there are. */
static int32_t join_closest(tl_touched_range *r, int32_t n, int32_t most) {
    int32_t joins = n - most;
    if (joins <= 0) {
        return n;
    }
    uint64_t limit = gap_limit(r, n, joins);
    int32_t below = 0;
    for (int32_t i = 1; i < n; i++) {
        below += gap(&r[i - 1], &r[i]) < limit;
    }
    int32_t at_limit = joins - below, kept = 0; /* of the gaps that equal the limit, only as many as needed */
    int64_t last_max = r[0].max_us;
    for (int32_t i = 1; i < n; i++) {
        uint64_t g = r[i].min_us > last_max ? (uint64_t)r[i].min_us - (uint64_t)last_max : 0;
        last_max = r[i].max_us;
        bool join = g < limit || (g == limit && at_limit-- > 0);
        if (!join) {
            r[++kept] = r[i];
            continue;
        }
        r[kept].last = r[i].last;
        r[kept].min_us = r[i].min_us < r[kept].min_us ? r[i].min_us : r[kept].min_us;
        r[kept].max_us = r[i].max_us > r[kept].max_us ? r[i].max_us : r[kept].max_us;
    }
    return kept + 1;
}

char *tl_touched_print(const tl_touched *touched, int32_t n) {
    tl_touched_range *r = tl_alloc_array((size_t)n, sizeof *r);
    if (!r) {
        return NULL;
    }
    for (int32_t i = 0; i < n; i++) {
        r[i] = (tl_touched_range){touched[i].partition, touched[i].partition, touched[i].min_us, touched[i].max_us};
    }
    n = join_closest(r, n, TL_TOUCHED_MAX);
    tl_buf text = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < n; i++) {
        status = tl_buf_printf(&text, "%s%d:%d:%lld:%lld", i ? "," : "", r[i].first, r[i].last, (long long)r[i].min_us,
                               (long long)r[i].max_us);
    }
    tl_free(r);
    char *out = status == TL_OK ? tl_buf_take_text(&text) : NULL;
    tl_buf_free(&text);
    return out;
}

/* Sorts by bucket; within one the order of partitions stays. ends[b] = where bucket b ends in `out`. */
static int32_t sort_by_bucket(const tl_touched_bucket *touched, int32_t n, tl_touched_range *out,
                              int32_t ends[TL_SERIES_BUCKETS_MAX]) {
    int32_t used = 0, sum = 0;
    memset(ends, 0, TL_SERIES_BUCKETS_MAX * sizeof *ends);
    for (int32_t i = 0; i < n; i++) {
        used += ends[touched[i].bucket]++ == 0;
    }
    for (int32_t b = 0; b < TL_SERIES_BUCKETS_MAX; b++) {
        int32_t count = ends[b];
        ends[b] = sum;
        sum += count;
    }
    for (int32_t i = 0; i < n; i++) {
        const tl_touched_bucket *t = &touched[i];
        out[ends[t->bucket]++] = (tl_touched_range){t->partition, t->partition, t->min_us, t->max_us};
    }
    return used;
}

char *tl_touched_print_buckets(const tl_touched_bucket *touched, int32_t n, int32_t buckets) {
    int32_t ends[TL_SERIES_BUCKETS_MAX];
    tl_touched_range *ranges = tl_alloc_array((size_t)n, sizeof *ranges), *r = ranges;
    if (!ranges) {
        return NULL;
    }
    int32_t used = sort_by_bucket(touched, n, ranges, ends), each = TL_TOUCHED_BUCKETS_MAX / (used ? used : 1);
    tl_buf text = {0};
    tl_status status = tl_buf_printf(&text, "%d;", buckets);
    for (int32_t b = 0; b < buckets; b++) {
        int32_t count = (int32_t)(ranges + ends[b] - r);
        count = count ? join_closest(r, count, each > 1 ? each : 1) : 0;
        for (int32_t i = 0; status == TL_OK && i < count; i++) {
            status = tl_buf_printf(&text, "%s%d:%d:%d:%lld:%lld", r == ranges && i == 0 ? "" : ",", b, r[i].first,
                                   r[i].last, (long long)r[i].min_us, (long long)r[i].max_us);
        }
        r = ranges + ends[b];
    }
    tl_free(ranges);
    char *out = status == TL_OK ? tl_buf_take_text(&text) : NULL;
    tl_buf_free(&text);
    return out;
}

static bool take_number(const char **p, char end, int64_t *out) {
    const char *stop = strchr(*p, end);
    size_t len = stop ? (size_t)(stop - *p) : strlen(*p);
    size_t sign = **p == '-';
    if (len == sign || strspn(*p + sign, "0123456789") < len - sign || (!stop && end == ':') ||
        tl_parse_i64((tl_bytes){(const uint8_t *)*p, len}, out) != TL_PARSE_OK) {
        return false;
    }
    *p += len + (stop ? 1 : 0);
    return true;
}

/* Ranges in `text`, at least 1 unless it is empty. */
static size_t count_ranges(const char *text) {
    size_t count = *text ? 1 : 0;
    for (const char *p = text; *p; p++) {
        count += *p == ',';
    }
    return count;
}

/* first:last:min:max and the ',' behind it. */
static bool take_range(const char **p, tl_touched_range *out) {
    int64_t v[4];
    bool good = take_number(p, ':', &v[0]) && take_number(p, ':', &v[1]) && take_number(p, ':', &v[2]) &&
                take_number(p, ',', &v[3]);
    if (!good || v[0] < INT32_MIN || v[1] > INT32_MAX || v[0] > v[1] || v[2] > v[3]) {
        return false;
    }
    *out = (tl_touched_range){(int32_t)v[0], (int32_t)v[1], v[2], v[3]};
    return true;
}

tl_status tl_touched_parse_buckets(const char *text, tl_arena *arena, int32_t *buckets, tl_bucket_range **out,
                                   int32_t *n, tl_error *err) {
    const char *p = text;
    int64_t number = 0;
    *n = 0;
    *buckets = 0;
    if (!strchr(text, ';') || !take_number(&p, ';', &number) || number < 1 || number > TL_SERIES_BUCKETS_MAX) {
        return tl_fail(err, TL_CORRUPT, TL_TOUCHED_BUCKETS_SUMMARY ": the number of buckets cannot be read");
    }
    size_t count = count_ranges(p);
    *out = tl_arena_array(arena, count, sizeof **out);
    if (!*out || count > INT32_MAX) {
        return tl_fail_memory(err, count);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t bucket;
        tl_bucket_range *r = &(*out)[i];
        if (!take_number(&p, ':', &bucket) || bucket < 0 || bucket >= number || !take_range(&p, &r->range)) {
            *n = 0;
            return tl_fail(err, TL_CORRUPT, TL_TOUCHED_BUCKETS_SUMMARY ": range %zu cannot be read", i + 1);
        }
        r->bucket = (int32_t)bucket;
        (*n)++;
    }
    *buckets = (int32_t)number;
    return TL_OK;
}

tl_status tl_touched_parse(const char *text, tl_arena *arena, tl_touched_range **out, int32_t *n, tl_error *err) {
    size_t count = count_ranges(text);
    *n = 0;
    *out = tl_arena_array(arena, count, sizeof **out);
    if (!*out || count > INT32_MAX) {
        return tl_fail_memory(err, count);
    }
    const char *p = text;
    for (size_t i = 0; i < count; i++) {
        if (!take_range(&p, &(*out)[i])) {
            *n = 0;
            return tl_fail(err, TL_CORRUPT, TL_TOUCHED_SUMMARY ": range %zu cannot be read", i + 1);
        }
        (*n)++;
    }
    return TL_OK;
}
