/*
 * The times an append touched per partition and series bucket (setting touched-series-buckets). Comes in: sorted
 * groups. Goes out: tl_staged's touched_buckets. Given up, and the summary then says nothing of buckets, when there
 * would be more than a million.
 */
#include "append/appender_internal.h"

#include "base/mem.h"
#include "table/series_bucket.h"
#include "table/settings.h"

#define MOST ((size_t)1 << 20)

void tl_appender_plan_buckets(tl_appender *a) {
    int64_t n = a->contract->time >= 0 ? tl_setting_int(&a->table->metadata, "touched-series-buckets") : 0;
    a->n_buckets = n < 0 ? 0 : n > TL_SERIES_BUCKETS_MAX ? TL_SERIES_BUCKETS_MAX : (uint32_t)n;
}

static uint32_t bucket_of(const tl_appender *a, uint32_t series) {
    uint64_t hash = TL_SERIES_HASH_START;
    for (int32_t k = 0; k < a->contract->n_series; k++) {
        tl_bytes value;
        bool present = tl_ranker_value(a->ranker, k, series, &value);
        hash = tl_series_hash_add(hash, &a->schema->fields[a->contract->series[k]].type, present ? &value : NULL);
    }
    return tl_series_bucket(hash, a->n_buckets);
}

/* One partition of the group into `fresh`, an entry for each bucket, those not touched with min after max. */
static void note_part(const tl_appender *a, const tl_sorted *sorted, const tl_sorted_part *part,
                      tl_touched_bucket *fresh) {
    for (uint32_t b = 0; b < a->n_buckets; b++) {
        fresh[b] = (tl_touched_bucket){part->value, (int32_t)b, INT64_MAX, INT64_MIN};
    }
    for (uint32_t i = part->span_from; i < part->span_from + part->n_spans; i++) {
        const tl_span *span = &sorted->spans[i];
        if (span->n > 0) {
            tl_touched_bucket *t = &fresh[bucket_of(a, span->series)];
            int64_t first = sorted->times[span->from], last = sorted->times[span->from + span->n - 1];
            t->min_us = first < t->min_us ? first : t->min_us;
            t->max_us = last > t->max_us ? last : t->max_us;
        }
    }
}

static bool is_before(const tl_touched_bucket *a, const tl_touched_bucket *b) {
    return a->partition != b->partition ? a->partition < b->partition : a->bucket < b->bucket;
}

/* Appends to the list, or widens its last entry. */
static uint32_t put(tl_touched_bucket *list, uint32_t n, const tl_touched_bucket *t) {
    tl_touched_bucket *last = n ? &list[n - 1] : NULL;
    if (!last || last->partition != t->partition || last->bucket != t->bucket) {
        list[n] = *t;
        return n + 1;
    }
    last->min_us = t->min_us < last->min_us ? t->min_us : last->min_us;
    last->max_us = t->max_us > last->max_us ? t->max_us : last->max_us;
    return n;
}

tl_status tl_appender_note_buckets(tl_appender *a, const tl_sorted *sorted, tl_error *err) {
    size_t most = (size_t)a->n_touched_buckets + (size_t)sorted->n_parts * a->n_buckets;
    if (most > MOST) {
        a->n_buckets = a->n_touched_buckets = 0;
    }
    if (a->n_buckets == 0) {
        return TL_OK;
    }
    tl_touched_bucket fresh[TL_SERIES_BUCKETS_MAX], *list = tl_alloc_array(most, sizeof *list);
    if (!list) {
        return tl_fail_memory(err, most * sizeof *list);
    }
    uint32_t n = 0, old = 0;
    for (uint32_t p = 0; p < sorted->n_parts; p++) {
        note_part(a, sorted, &sorted->parts[p], fresh);
        for (uint32_t b = 0; b < a->n_buckets; b++) {
            for (; old < a->n_touched_buckets && !is_before(&fresh[b], &a->touched_buckets[old]); old++) {
                n = put(list, n, &a->touched_buckets[old]);
            }
            if (fresh[b].min_us <= fresh[b].max_us) {
                n = put(list, n, &fresh[b]);
            }
        }
    }
    for (; old < a->n_touched_buckets; old++) {
        n = put(list, n, &a->touched_buckets[old]);
    }
    tl_free(a->touched_buckets);
    a->touched_buckets = list;
    a->n_touched_buckets = n;
    return TL_OK;
}
