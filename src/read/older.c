/*
 * Older copies (DESIGN 6, pass 1). Comes in: the files of a scan. Goes out: the rows among them that a later write of
 * the same (series, time) has replaced, as hidden rows.
 *
 * Only files of one partition that may share keys are looked at, and of them only the key columns, as spans: rows of
 * one series that stand together, their times ascending. Spans of one series whose times overlap are merged.
 */
#include <stdlib.h>
#include <string.h>

#include "read/read_internal.h"

/* Files of one partition. */
typedef struct group {
    int32_t *files; /* numbers in plan->scan that have to be read */
    int32_t n;
} group;

typedef struct older {
    tl_plan *plan;
    const tl_schema *schema;
    const tl_bytes *only;
    group *groups;
    int32_t n_groups;
    tl_arena arena;
} older;

/* ---- merging spans ---- */

static int64_t time_at(const tl_span *s, int64_t i) { return s->times[s->order ? s->order[i] : i]; }
static int64_t row_at(const tl_span *s, int64_t i) { return s->row + (s->order ? s->order[i] : i); }
static int64_t ingest_at(const tl_span *s, int64_t i) {
    return s->ingests ? s->ingests[s->order ? s->order[i] : i] : s->ingest;
}

static bool hidden(const tl_plan_file *f, int64_t row) { return f->hidden && tl_bit(f->hidden, row); }

/* Hides the older of two rows with one key. The latest write is the greatest (insertion time, sequence number, path,
 * row); files stand in (sequence number, path) order in files.data. */
static tl_status hide_older(older *o, const tl_span *a, int64_t i, const tl_span *b, int64_t j, tl_error *err) {
    tl_plan_file *fa = &o->plan->scan[a->file], *fb = &o->plan->scan[b->file];
    int64_t row_a = row_at(a, i), row_b = row_at(b, j);
    if (hidden(fa, row_a) || hidden(fb, row_b)) {
        return TL_OK; /* gone already: it can neither win nor lose again */
    }
    int64_t ia = ingest_at(a, i), ib = ingest_at(b, j);
    bool a_wins = ia != ib ? ia > ib : fa->file != fb->file ? fa->file > fb->file : row_a > row_b;
    return a_wins ? tl_plan_hide(fb, row_b, err) : tl_plan_hide(fa, row_a, err);
}

/* First index in [from, n) with a time >= t. */
static int64_t lower_bound(const tl_span *s, int64_t from, int64_t t) {
    int64_t lo = from, hi = s->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (time_at(s, mid) < t) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Copies inside one span: only spans with an order of their own have any. */
static tl_status merge_self(older *o, const tl_span *s, tl_error *err) {
    int64_t best = 0; /* the winner so far among equal times */
    for (int64_t i = 1; s->order && i < s->n; i++) {
        if (time_at(s, i) == time_at(s, best)) {
            TL_TRY(hide_older(o, s, best, s, i, err));
            best = hidden(&o->plan->scan[s->file], row_at(s, best)) ? i : best;
        } else {
            best = i;
        }
    }
    return TL_OK;
}

/* Equal times of two spans. A span may hold a time more than once (order set): every pair is looked at. */
static tl_status merge_pair(older *o, const tl_span *a, const tl_span *b, tl_error *err) {
    int64_t from = a->min > b->min ? a->min : b->min, to = a->max < b->max ? a->max : b->max;
    int64_t i = lower_bound(a, 0, from), j = lower_bound(b, 0, from);
    while (i < a->n && j < b->n) {
        int64_t ta = time_at(a, i), tb = time_at(b, j);
        if (ta > to || tb > to) {
            break;
        }
        if (ta == tb) {
            for (int64_t k = j; k < b->n && time_at(b, k) == ta; k++) {
                TL_TRY(hide_older(o, a, i, b, k, err));
            }
            i++;
        } else if (ta < tb) {
            i = a->n - i > 64 && i + 16 < a->n && time_at(a, i + 16) < tb ? lower_bound(a, i + 16, tb) : i + 1;
        } else {
            j = b->n - j > 64 && j + 16 < b->n && time_at(b, j + 16) < ta ? lower_bound(b, j + 16, ta) : j + 1;
        }
    }
    return TL_OK;
}

/* ---- many copies: one merge of all spans by a heap ---- */

typedef struct cursor {
    int64_t time;
    const tl_span *span;
    int64_t at;
} cursor;

static void sift(cursor *heap, int64_t n, int64_t i) {
    for (;;) {
        int64_t least = i, l = 2 * i + 1, r = l + 1;
        least = l < n && heap[l].time < heap[least].time ? l : least;
        least = r < n && heap[r].time < heap[least].time ? r : least;
        if (least == i) {
            return;
        }
        cursor t = heap[i];
        heap[i] = heap[least];
        heap[least] = t;
        i = least;
    }
}

static tl_status merge_many(older *o, const tl_span *spans, int64_t n_spans, tl_error *err) {
    cursor *heap = tl_alloc_array((size_t)n_spans, sizeof *heap);
    if (!heap) {
        return tl_fail_memory(err, (size_t)n_spans * sizeof *heap);
    }
    int64_t n = n_spans;
    for (int64_t i = 0; i < n; i++) {
        heap[i] = (cursor){spans[i].min, &spans[i], 0};
    }
    for (int64_t i = n / 2; i-- > 0;) {
        sift(heap, n, i);
    }
    cursor best = {0};
    tl_status status = TL_OK;
    while (n > 0 && status == TL_OK) {
        cursor c = heap[0];
        if (best.span && best.time == c.time) {
            status = hide_older(o, best.span, best.at, c.span, c.at, err);
            best = hidden(&o->plan->scan[best.span->file], row_at(best.span, best.at)) ? c : best;
        } else {
            best = c;
        }
        if (++heap[0].at < c.span->n) {
            heap[0].time = time_at(c.span, heap[0].at);
        } else {
            heap[0] = heap[--n];
        }
        sift(heap, n, 0);
    }
    tl_free(heap);
    return status;
}

/* ---- spans of one partition ---- */

static int by_series_and_time(const void *a, const void *b) {
    const tl_span *x = a, *y = b;
    if (x->series != y->series) {
        return x->series < y->series ? -1 : 1;
    }
    return x->min < y->min ? -1 : x->min > y->min;
}

/* Spans [0, n) form a chain of overlaps. Few overlapping pairs are merged one by one, many all at once. */
static tl_status merge_chain(older *o, const tl_span *spans, int64_t n, tl_error *err) {
    int64_t pairs = 0, limit = 4 * n;
    for (int64_t i = 0; i < n && pairs <= limit; i++) {
        for (int64_t j = i + 1; j < n && spans[j].min <= spans[i].max && pairs <= limit; j++) {
            pairs++;
        }
    }
    if (pairs > limit) {
        return merge_many(o, spans, n, err);
    }
    for (int64_t i = 0; i < n; i++) {
        TL_TRY(merge_self(o, &spans[i], err));
        for (int64_t j = i + 1; j < n && spans[j].min <= spans[i].max; j++) {
            TL_TRY(merge_pair(o, &spans[i], &spans[j], err));
        }
    }
    return TL_OK;
}

static tl_status merge_spans(older *o, tl_spans *s, tl_error *err) {
    if (s->n == 0) {
        return TL_OK;
    }
    qsort(s->items, (size_t)s->n, sizeof *s->items, by_series_and_time);
    for (int64_t from = 0; from < s->n;) {
        int64_t max = s->items[from].max, to = from + 1;
        while (to < s->n && s->items[to].series == s->items[from].series && s->items[to].min <= max) {
            max = s->items[to].max > max ? s->items[to].max : max;
            to++;
        }
        if (to - from > 1 || s->items[from].order) {
            TL_TRY(merge_chain(o, s->items + from, to - from, err));
        }
        from = to;
    }
    return TL_OK;
}

static tl_status do_group(void *ctx, size_t g, unsigned worker, tl_error *err) {
    (void)worker;
    older *o = ctx;
    tl_series_set set = {0};
    tl_spans spans = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < o->groups[g].n && status == TL_OK; i++) {
        int32_t file = o->groups[g].files[i];
        tl_open_file f;
        status = tl_open_file_open(o->plan->table, o->plan->scan[file].file, &f, err);
        if (status == TL_OK) {
            status = tl_keys_read(o->plan->table, o->schema, &f, file, o->only, &set, &spans, err);
            tl_open_file_close(&f);
        }
    }
    if (status == TL_OK) {
        status = merge_spans(o, &spans, err);
    }
    tl_spans_free(&spans);
    tl_series_set_free(&set);
    return status;
}

/* ---- which files ---- */

typedef struct candidate {
    int32_t file;
    const tl_live_file *live;
    bool has_times;
    int64_t min, max;
    bool needed;
} candidate;

static int compare_partitions(const tl_data_file *a, const tl_data_file *b) {
    if (a->n_partition != b->n_partition) {
        return a->n_partition < b->n_partition ? -1 : 1;
    }
    for (int32_t i = 0; i < a->n_partition; i++) {
        tl_bytes x = a->partition[i].value, y = b->partition[i].value;
        if (!x.data != !y.data) {
            return x.data ? 1 : -1;
        }
        int c = tl_bytes_compare(x, y);
        if (c != 0) {
            return c;
        }
    }
    return 0;
}

/* By partition, then files without known times first, then by least time. */
static int by_partition_and_time(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int c = compare_partitions(&x->live->file, &y->live->file);
    if (c != 0) {
        return c;
    }
    if (x->has_times != y->has_times) {
        return x->has_times ? 1 : -1;
    }
    if (x->has_times && x->min != y->min) {
        return x->min < y->min ? -1 : 1;
    }
    return x->file < y->file ? -1 : x->file > y->file;
}

/* May the file hold a key twice by itself? Timelake's files are free of that from 0.5 on (spec a.7); tables without an
 * insertion-time column may hold older ones. */
static bool may_repeat_itself(const tl_table *table, const tl_live_file *f) {
    return table->contract.ingest < 0 || f->file.sort_order_id < 0 ||
           f->file.sort_order_id != table->metadata.default_sort_order_id;
}

static tl_status mark_needed(older *o, candidate *c, int64_t n, tl_error *err) {
    const tl_contract *contract = &o->plan->table->contract;
    for (int64_t i = 0; i < n; i++) {
        c[i].needed = c[i].needed || may_repeat_itself(o->plan->table, c[i].live);
        for (int64_t j = i + 1; j < n; j++) {
            if (c[i].has_times && c[j].has_times && c[j].min > c[i].max) {
                break; /* and so are all behind it */
            }
            if (c[i].needed && c[j].needed) {
                continue;
            }
            bool share;
            TL_TRY(tl_files_may_share(o->schema, contract, c[i].live, c[j].live, &share, err));
            c[i].needed = c[i].needed || share;
            c[j].needed = c[j].needed || share;
        }
    }
    return TL_OK;
}

static tl_status add_group(older *o, const candidate *c, int64_t n, tl_error *err) {
    int32_t needed = 0;
    for (int64_t i = 0; i < n; i++) {
        needed += c[i].needed;
    }
    if (needed == 0) {
        return TL_OK;
    }
    group *g = &o->groups[o->n_groups];
    g->files = tl_arena_array(&o->arena, (size_t)needed, sizeof *g->files);
    if (!g->files) {
        return tl_fail_memory(err, (size_t)needed * sizeof *g->files);
    }
    for (int64_t i = 0; i < n; i++) {
        if (c[i].needed) {
            g->files[g->n++] = c[i].file;
        }
    }
    o->n_groups++;
    return TL_OK;
}

static tl_status make_groups(older *o, tl_error *err) {
    tl_plan *plan = o->plan;
    size_t n = (size_t)plan->n_scan;
    candidate *c = tl_arena_array(&o->arena, n, sizeof *c);
    o->groups = tl_arena_array(&o->arena, n, sizeof *o->groups);
    if (!c || !o->groups) {
        return tl_fail_memory(err, n * (sizeof *c + sizeof *o->groups));
    }
    bool one_spec = true; /* after a change of the partition spec equal keys may stand in different partitions */
    for (size_t i = 0; i < n; i++) {
        c[i] = (candidate){.file = (int32_t)i, .live = plan->scan[i].file};
        c[i].has_times = tl_file_time_bounds(o->schema, &plan->table->contract, c[i].live, &c[i].min, &c[i].max);
        one_spec = one_spec && c[i].live->file.spec_id == c[0].live->file.spec_id;
    }
    if (!one_spec) {
        for (size_t i = 0; i < n; i++) {
            c[i].needed = true;
        }
        return add_group(o, c, (int64_t)n, err);
    }
    qsort(c, n, sizeof *c, by_partition_and_time);
    for (size_t from = 0; from < n;) {
        size_t to = from + 1;
        while (to < n && compare_partitions(&c[from].live->file, &c[to].live->file) == 0) {
            to++;
        }
        TL_TRY(mark_needed(o, c + from, (int64_t)(to - from), err));
        TL_TRY(add_group(o, c + from, (int64_t)(to - from), err));
        from = to;
    }
    return TL_OK;
}

tl_status tl_plan_hide_older(tl_plan *plan, const tl_schema *schema, const tl_plan_options *options, tl_error *err) {
    if (plan->n_scan == 0 || plan->table->contract.time < 0) {
        return TL_OK;
    }
    older o = {.plan = plan, .schema = schema};
    tl_bytes *only = NULL;
    tl_status status = tl_plan_only(plan->table, schema, options, &o.arena, &only, err);
    o.only = only;
    if (status == TL_OK) {
        status = make_groups(&o, err);
    }
    if (status == TL_OK) {
        status = tl_pool_run(options->pool, (size_t)o.n_groups, do_group, &o, err);
    }
    tl_arena_free(&o.arena);
    return status;
}
