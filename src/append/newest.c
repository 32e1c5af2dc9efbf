/*
 * What an append leaves for the commit beside its files: the newest row of each series, and the times touched in each
 * partition. Comes in: sorted groups, in the order of arrival. Goes out: tl_staged's newest and touched.
 */
#include "append/appender_internal.h"

#include "base/mem.h"
#include "table/rows.h"

/* ---- the newest rows ---- */

/* The last row of every series of a group, in key order. */
static tl_status newest_picks(tl_appender *a, const tl_sorted *sorted, tl_pick **out, int64_t *n, tl_error *err) {
    uint32_t n_series = tl_ranker_count(a->ranker);
    const uint32_t *ranks = NULL;
    TL_TRY(tl_ranker_ranks(a->ranker, &ranks, err));
    uint32_t *last = tl_alloc_array(n_series, sizeof *last); /* by rank: position + 1 in the sorted order */
    tl_pick *picks = tl_alloc_array(n_series, sizeof *picks);
    if (!last || !picks) {
        tl_free(last);
        tl_free(picks);
        return tl_fail_memory(err, n_series * sizeof *picks);
    }
    memset(last, 0, n_series * sizeof *last);
    for (uint32_t i = 0; i < sorted->n_spans; i++) { /* partitions ascend, so a later span of a series is newer */
        const tl_span *span = &sorted->spans[i];
        last[ranks[span->series]] = span->from + span->n;
    }
    tl_sources sources = tl_group_sources(&a->group);
    int32_t near = 0;
    *n = 0;
    for (uint32_t r = 0; r < n_series; r++) {
        if (last[r]) {
            uint32_t row = sorted->rows[last[r] - 1];
            near = tl_sources_find(&sources, row, near);
            picks[(*n)++] = (tl_pick){(uint32_t)near, row - sources.list[near].base};
        }
    }
    tl_free(last);
    *out = picks;
    return TL_OK;
}

static tl_status note_newest(tl_appender *a, const tl_sorted *sorted, tl_error *err) {
    tl_pick *picks = NULL;
    int64_t n = 0;
    const tl_column **columns = tl_alloc_array((size_t)a->group.n_batches, sizeof *columns);
    if (!columns) {
        return tl_fail_memory(err, (size_t)a->group.n_batches * sizeof *columns);
    }
    for (int32_t i = 0; i < a->group.n_batches; i++) {
        columns[i] = a->group.batches[i].columns;
    }
    tl_rows fresh = {0};
    tl_status status = newest_picks(a, sorted, &picks, &n, err);
    if (status == TL_OK) {
        status = tl_rows_pick(columns, (uint32_t)a->group.n_batches, a->schema->n_fields, picks, n, &fresh, err);
    }
    tl_free(columns);
    tl_free(picks);
    if (status != TL_OK || a->newest.n_columns == 0) {
        if (status == TL_OK) {
            a->newest = fresh;
        }
        return status;
    }
    tl_rows joined;
    status = tl_last_values_merge(a->schema, a->contract, &a->newest, &fresh, &joined, err);
    tl_rows_free(&fresh);
    if (status == TL_OK) {
        tl_rows_free(&a->newest);
        a->newest = joined;
    }
    return status;
}

/* ---- touched times ---- */

static tl_touched touched_part(const tl_sorted *sorted, const tl_sorted_part *part) {
    tl_touched t = {.partition = part->value, .min_us = INT64_MAX, .max_us = INT64_MIN};
    for (uint32_t i = part->span_from; i < part->span_from + part->n_spans; i++) {
        const tl_span *span = &sorted->spans[i];
        int64_t first = sorted->times[span->from], last = sorted->times[span->from + span->n - 1];
        t.min_us = first < t.min_us ? first : t.min_us;
        t.max_us = last > t.max_us ? last : t.max_us;
    }
    return t;
}

/* Merges a group's partitions into those of the groups before it. Rows are counted when the files are written. */
static tl_status note_touched(tl_appender *a, const tl_sorted *sorted, tl_error *err) {
    size_t most = (size_t)a->n_touched + sorted->n_parts;
    tl_touched *list = tl_alloc_array(most, sizeof *list);
    if (!list) {
        return tl_fail_memory(err, most * sizeof *list);
    }
    uint32_t n = 0, i = 0, p = 0;
    while (i < a->n_touched || p < sorted->n_parts) {
        const tl_touched *old = i < a->n_touched ? &a->touched[i] : NULL;
        if (old && (p == sorted->n_parts || old->partition < sorted->parts[p].value)) {
            list[n++] = *old;
            i++;
            continue;
        }
        tl_touched fresh = touched_part(sorted, &sorted->parts[p++]);
        if (old && old->partition == fresh.partition) {
            fresh.min_us = old->min_us < fresh.min_us ? old->min_us : fresh.min_us;
            fresh.max_us = old->max_us > fresh.max_us ? old->max_us : fresh.max_us;
            i++;
        }
        list[n++] = fresh;
    }
    tl_free(a->touched);
    a->touched = list;
    a->n_touched = n;
    return TL_OK;
}

tl_status tl_appender_note(tl_appender *a, const tl_sorted *sorted, tl_error *err) {
    TL_TRY(note_newest(a, sorted, err));
    TL_TRY(note_touched(a, sorted, err));
    return tl_appender_note_buckets(a, sorted, err);
}
