/*
 * Parts of a plan that are merged by themselves (strategy `merge` on several threads). Comes in: a plan. Goes out:
 * lists of its files, in which no key stands in two. By bounds alone, nothing is read.
 */
#include <stdlib.h>
#include <string.h>

#include "read/merge.h"
#include "read/read_internal.h"

enum { SHARE_ROWS = 2 << 20, SHARES_MAX = 16 };

/* A file's times; INT64_MIN and INT64_MAX where its bounds do not tell all. */
typedef struct span {
    const tl_plan *plan;
    int64_t file; /* in plan->scan */
    int64_t min, max;
} span;

static void find_times(const tl_plan *plan, const tl_field *time, span *s) {
    tl_bytes lower, upper;
    s->min = INT64_MIN;
    s->max = INT64_MAX;
    if (!tl_file_key_bounds(time, plan->scan[s->file].file, &lower, &upper) ||
        !tl_value_int64(&time->type, lower, &s->min) || !tl_value_int64(&time->type, upper, &s->max)) {
        s->min = INT64_MIN;
        s->max = INT64_MAX;
    }
}

/* Only where all files have one spec. */
static int compare_partitions(const span *a, const span *b) {
    const tl_data_file *x = &a->plan->scan[a->file].file->file, *y = &b->plan->scan[b->file].file->file;
    return tl_merge_compare_partitions(x, y);
}

static int by_time(const void *a, const void *b) {
    const span *x = a, *y = b;
    int order = (x->min > y->min) - (x->min < y->min);
    return order ? order : (x->file < y->file) - (x->file > y->file);
}

static int by_partition(const void *a, const void *b) {
    int order = compare_partitions(a, b);
    return order ? order : by_time(a, b);
}

static int older_first(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y); /* plan->scan has the newest first */
}

static tl_status add_part(const tl_plan *plan, const span *spans, int64_t n, bool may_share, tl_scan_parts *out,
                          tl_error *err) {
    int64_t *files = tl_arena_array(&out->arena, (size_t)n, sizeof *files), rows = 0;
    if (!files) {
        return tl_fail_memory(err, (size_t)n * sizeof *files);
    }
    for (int64_t i = 0; i < n; i++) {
        files[i] = spans[i].file;
        rows += plan->scan[files[i]].file->file.record_count;
    }
    qsort(files, (size_t)n, sizeof *files, older_first);
    int64_t shares = may_share && n > 1 ? (rows + SHARE_ROWS / 2) / SHARE_ROWS : 1;
    shares = shares < 1 ? 1 : shares > SHARES_MAX ? SHARES_MAX : shares;
    for (int64_t i = 0; i < shares; i++) {
        out->items[out->n++] = (tl_scan_part){files, n, rows / shares, (uint32_t)i, (uint32_t)shares};
    }
    return TL_OK;
}

/* The last spans come first: they are of the newest times. */
static tl_status add_parts(const tl_plan *plan, const span *spans, int64_t n, bool partitions, bool may_share,
                           tl_scan_parts *out, tl_error *err) {
    int64_t *ends = tl_arena_array(&out->arena, (size_t)n, sizeof *ends), n_ends = 0, max = INT64_MIN;
    if (!ends) {
        return tl_fail_memory(err, (size_t)n * sizeof *ends);
    }
    for (int64_t i = 0; i < n; i++) {
        bool begins = i == 0 || spans[i].min > max || (partitions && compare_partitions(&spans[i - 1], &spans[i]) != 0);
        max = begins || spans[i].max > max ? spans[i].max : max;
        n_ends += begins;
        ends[n_ends - 1] = i + 1;
    }
    size_t most = (size_t)n_ends * SHARES_MAX;
    out->items = tl_arena_array(&out->arena, most, sizeof *out->items);
    if (!out->items) {
        return tl_fail_memory(err, most * sizeof *out->items);
    }
    for (int64_t i = n_ends; i-- > 0;) {
        int64_t from = i ? ends[i - 1] : 0;
        TL_TRY(add_part(plan, spans + from, ends[i] - from, may_share, out, err));
    }
    return TL_OK;
}

tl_status tl_scan_parts_make(const tl_plan *plan, const tl_plan_options *options, tl_scan_parts *out, tl_error *err) {
    *out = (tl_scan_parts){0};
    const tl_contract *c = &plan->table->contract;
    int64_t n = plan->n_scan;
    if (n == 0) {
        return TL_OK;
    }
    const tl_schema *schema = tl_plan_schema(plan->table, options->snapshot);
    span *spans = tl_alloc_array((size_t)n, sizeof *spans);
    if (!spans) {
        return tl_fail_memory(err, (size_t)n * sizeof *spans);
    }
    for (int64_t i = 0; i < n; i++) {
        spans[i] = (span){plan, i, 0, 0};
        find_times(plan, &schema->fields[c->time], &spans[i]);
    }
    bool partitions = tl_merge_one_spec(plan), one_value = false;
    for (int32_t i = 0; i < options->n_keys; i++) {
        one_value = one_value || (c->n_series > 0 && options->keys[i].column == c->series[0]);
    }
    qsort(spans, (size_t)n, sizeof *spans, partitions ? by_partition : by_time);
    tl_status status = add_parts(plan, spans, n, partitions, c->n_series > 0 && !one_value, out, err);
    tl_free(spans);
    if (status != TL_OK) {
        tl_scan_parts_free(out);
    }
    return status;
}

void tl_scan_parts_free(tl_scan_parts *parts) {
    tl_arena_free(&parts->arena);
    *parts = (tl_scan_parts){0};
}
