/*
 * One counting sort brings the rows of each bucket together in arrival order. Within a bucket most rows are in time
 * order already: the ascending main run stays, the late rows go to a side list that is sorted by itself and merged
 * back.
 */
#include "append/sort_internal.h"

#include <string.h>

#define RADIX_BITS 11
#define RADIX_FROM 1024  /* fewer late rows are merge-sorted: clearing the counters would cost more */
#define TASK_ROWS 131072 /* rows a task sorts, about */

void tl_sorted_free(tl_sorted *s) {
    tl_free(s->rows);
    tl_free(s->times);
    tl_free(s->spans);
    tl_free(s->parts);
    *s = (tl_sorted){0};
}

typedef struct pair_list {
    int64_t *times;
    uint32_t *rows;
} pair_list;

/* Room for the late rows of one worker, twice: sorting goes to and fro. */
typedef struct sort_scratch {
    pair_list a, b;
    size_t cap_a, cap_b;
} sort_scratch;

/* Buckets [from, to) of the order, all of one partition. */
typedef struct sort_task {
    uint32_t from, to;
    uint32_t row_from, kept;
} sort_task;

typedef struct sorting {
    const tl_group *group;
    const tl_splitter *splitter;
    const tl_sort_options *options;
    const uint32_t *order; /* buckets in file order */
    tl_sorted *out;
    sort_task *tasks;
    size_t n_tasks;
    sort_scratch *scratch; /* per worker */
    unsigned workers;
} sorting;

static tl_status pairs_room(pair_list *p, size_t *cap, size_t n, tl_error *err) {
    if (n <= *cap) {
        return TL_OK;
    }
    tl_free(p->times);
    tl_free(p->rows);
    *cap = 0;
    p->times = tl_alloc_array(n, sizeof *p->times);
    p->rows = tl_alloc_array(n, sizeof *p->rows);
    if (!p->times || !p->rows) {
        return tl_fail_memory(err, n * (sizeof *p->times + sizeof *p->rows));
    }
    *cap = n;
    return TL_OK;
}

/* ---- sorting pairs by time, stable ---- */

static void merge_runs(const pair_list *in, pair_list *out, size_t from, size_t mid, size_t to) {
    size_t i = from, j = mid, k = from;
    while (i < mid && j < to) {
        size_t take = in->times[i] <= in->times[j] ? i++ : j++;
        out->times[k] = in->times[take];
        out->rows[k++] = in->rows[take];
    }
    for (; i < mid; i++, k++) {
        out->times[k] = in->times[i];
        out->rows[k] = in->rows[i];
    }
    for (; j < to; j++, k++) {
        out->times[k] = in->times[j];
        out->rows[k] = in->rows[j];
    }
}

/* The sorted pairs are in the list that is returned. */
static pair_list *merge_sort(pair_list *a, pair_list *b, size_t n) {
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t mid = from + width < n ? from + width : n, to = from + 2 * width < n ? from + 2 * width : n;
            merge_runs(a, b, from, mid, to);
        }
        pair_list *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

static pair_list *radix_sort(pair_list *a, pair_list *b, size_t n) {
    int64_t least = a->times[0], greatest = a->times[0];
    uint64_t differ = 0; /* low bits that all times share need no pass: whole seconds have six of them */
    for (size_t i = 1; i < n; i++) {
        least = a->times[i] < least ? a->times[i] : least;
        greatest = a->times[i] > greatest ? a->times[i] : greatest;
        differ |= (uint64_t)a->times[i] ^ (uint64_t)a->times[0];
    }
    uint64_t range = (uint64_t)greatest - (uint64_t)least;
    uint32_t counts[1 << RADIX_BITS];
    unsigned from = differ ? (unsigned)__builtin_ctzll(differ) : 0;
    for (unsigned shift = from; shift < 64 && range >> shift; shift += RADIX_BITS) {
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < n; i++) {
            counts[(((uint64_t)a->times[i] - (uint64_t)least) >> shift) & ((1 << RADIX_BITS) - 1)]++;
        }
        uint32_t sum = 0;
        for (size_t i = 0; i < TL_COUNT(counts); i++) {
            uint32_t c = counts[i];
            counts[i] = sum;
            sum += c;
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t to = counts[(((uint64_t)a->times[i] - (uint64_t)least) >> shift) & ((1 << RADIX_BITS) - 1)]++;
            b->times[to] = a->times[i];
            b->rows[to] = a->rows[i];
        }
        pair_list *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

static tl_status sort_pairs(sort_scratch *s, size_t n, pair_list **sorted, tl_error *err) {
    *sorted = &s->a;
    if (n < 2) {
        return TL_OK;
    }
    TL_TRY(pairs_room(&s->b, &s->cap_b, n, err));
    *sorted = n < RADIX_FROM ? merge_sort(&s->a, &s->b, n) : radix_sort(&s->a, &s->b, n);
    return TL_OK;
}

/* ---- one bucket ---- */

/* Keeps the ascending run at the front, moves the late rows to scratch a; returns how many stay. */
static size_t split_late(int64_t *times, uint32_t *rows, size_t from, size_t n, pair_list *late, size_t *n_late) {
    size_t kept = from, away = 0;
    int64_t last = times[from - 1];
    for (size_t i = from; i < n; i++) {
        int64_t t = times[i];
        uint32_t r = rows[i];
        bool behind = t < last;
        late->times[away] = t;
        late->rows[away] = r;
        times[kept] = t;
        rows[kept] = r;
        away += behind;
        kept += !behind;
        last = behind ? last : t;
    }
    *n_late = away;
    return kept;
}

/* Merges the late rows into the run before them, from the back; equal times stay in arrival order. */
static void merge_late(int64_t *times, uint32_t *rows, size_t kept, const pair_list *late, size_t n_late) {
    size_t to = kept + n_late;
    while (n_late > 0) {
        bool take_late = kept == 0 || late->times[n_late - 1] > times[kept - 1] ||
                         (late->times[n_late - 1] == times[kept - 1] && late->rows[n_late - 1] > rows[kept - 1]);
        to--;
        if (take_late) {
            n_late--;
            times[to] = late->times[n_late];
            rows[to] = late->rows[n_late];
        } else {
            kept--;
            times[to] = times[kept];
            rows[to] = rows[kept];
        }
    }
}

/* Insertion times are compared only among rows of one key; a null one is the oldest. */
static int64_t ingest_of(const sorting *s, uint32_t row) {
    tl_sources sources = tl_group_sources(s->group);
    const tl_source *source = &sources.list[tl_sources_find(&sources, row, 0)];
    const tl_column *c = &source->columns[s->options->ingest];
    int64_t at = (int64_t)(row - source->base);
    return tl_column_is_null(c, at) ? INT64_MIN : tl_load_i64(c->values + at * 8);
}

/* Leaves the last write of each time; returns how many there are. */
static size_t keep_last(const sorting *s, int64_t *times, uint32_t *rows, size_t n) {
    size_t kept = 0;
    bool ingest = s->options->ingest >= 0;
    for (size_t i = 0; i < n;) {
        int64_t t = times[i];
        uint32_t best = rows[i++];
        if (i < n && times[i] == t) {
            int64_t newest = ingest ? ingest_of(s, best) : 0;
            for (; i < n && times[i] == t; i++) {
                int64_t stamp = ingest ? ingest_of(s, rows[i]) : 0;
                if (stamp >= newest) {
                    newest = stamp;
                    best = rows[i];
                }
            }
        }
        times[kept] = t;
        rows[kept++] = best;
    }
    return kept;
}

/* Rows of equal time in the order of their insertion times. */
static tl_status order_by_ingest(const sorting *s, sort_scratch *scratch, const int64_t *times, uint32_t *rows,
                                 size_t n, tl_error *err) {
    for (size_t i = 0, to; i < n; i = to) {
        to = i + 1;
        while (to < n && times[to] == times[i]) {
            to++;
        }
        if (to - i < 2) {
            continue;
        }
        TL_TRY(pairs_room(&scratch->a, &scratch->cap_a, to - i, err));
        for (size_t k = i; k < to; k++) {
            scratch->a.times[k - i] = ingest_of(s, rows[k]);
            scratch->a.rows[k - i] = rows[k];
        }
        pair_list *sorted;
        TL_TRY(sort_pairs(scratch, to - i, &sorted, err));
        memcpy(rows + i, sorted->rows, (to - i) * sizeof *rows);
    }
    return TL_OK;
}

static tl_status sort_bucket(const sorting *s, sort_scratch *scratch, int64_t *times, uint32_t *rows, size_t n,
                             size_t *kept, tl_error *err) {
    size_t ascending = 1;
    bool equal = false;
    while (ascending < n && times[ascending] >= times[ascending - 1]) {
        equal |= times[ascending] == times[ascending - 1];
        ascending++;
    }
    *kept = n;
    if (ascending < n) {
        TL_TRY(pairs_room(&scratch->a, &scratch->cap_a, n - ascending, err));
        size_t n_late;
        size_t run = split_late(times, rows, ascending, n, &scratch->a, &n_late);
        pair_list *late;
        TL_TRY(sort_pairs(scratch, n_late, &late, err));
        merge_late(times, rows, run, late, n_late);
    } else if (!equal) {
        return TL_OK;
    }
    if (s->options->keep_last) {
        *kept = keep_last(s, times, rows, n);
    } else if (s->options->ingest >= 0) {
        TL_TRY(order_by_ingest(s, scratch, times, rows, n, err));
    }
    return TL_OK;
}

static tl_status run_task(void *ctx, size_t i, unsigned worker, tl_error *err) {
    sorting *s = ctx;
    sort_task *task = &s->tasks[i];
    tl_sorted *out = s->out;
    uint32_t to = task->row_from;
    for (uint32_t b = task->from; b < task->to; b++) {
        tl_span *span = &out->spans[b];
        int64_t *times = out->times + span->from;
        uint32_t *rows = out->rows + span->from;
        size_t kept;
        TL_TRY(sort_bucket(s, &s->scratch[worker], times, rows, span->n, &kept, err));
        if (to != span->from) {
            memmove(out->times + to, times, kept * sizeof *times);
            memmove(out->rows + to, rows, kept * sizeof *rows);
        }
        span->from = to;
        span->n = (uint32_t)kept;
        to += (uint32_t)kept;
    }
    task->kept = to - task->row_from;
    return TL_OK;
}

/* ---- the whole group ---- */

/* Counting sort: rows into their buckets. `place` has a running position per bucket number. */
static void scatter(const sorting *s, tl_group *group, uint32_t *place) {
    int64_t *times = s->out->times;
    uint32_t *rows = s->out->rows;
    for (int32_t b = 0; b < group->n_batches; b++) {
        const uint8_t *from = group->batches[b].columns[s->options->time].values;
        const uint32_t *numbers = group->buckets[b];
        uint32_t base = group->sources[b].base, n = group->sources[b].n_rows;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = place[numbers[i]]++;
            times[to] = tl_load_i64(from + (size_t)i * 8);
            rows[to] = base + i;
        }
        tl_free(group->buckets[b]);
        group->buckets[b] = NULL;
    }
}

static uint32_t count_tasks(sorting *s, bool write) {
    const tl_bucket *buckets = s->splitter->buckets;
    uint32_t n = 0, rows = 0, from = 0, row_from = 0;
    for (uint32_t i = 0; i < s->splitter->n_buckets; i++) {
        const tl_bucket *b = &buckets[s->order[i]];
        rows += b->rows;
        bool last = i + 1 == s->splitter->n_buckets || buckets[s->order[i + 1]].partition != b->partition;
        if (last || rows - row_from >= TASK_ROWS) {
            if (write) {
                s->tasks[n] = (sort_task){from, i + 1, row_from, 0};
            }
            n++;
            from = i + 1;
            row_from = rows;
        }
    }
    return n;
}

/* Pushes the tasks' rows of each partition together, drops what keep-last removed, and lists the partitions. */
static void join_tasks(sorting *s) {
    tl_sorted *out = s->out;
    const tl_splitter *sp = s->splitter;
    sort_task *task = s->tasks;
    for (uint32_t p = 0, span = 0; p < out->n_parts; p++) {
        uint32_t partition = sp->buckets[s->order[span]].partition;
        tl_sorted_part *part = &out->parts[p];
        *part = (tl_sorted_part){.value = sp->partitions[partition].value, .span_from = span, .from = task->row_from};
        for (; task < s->tasks + s->n_tasks && sp->buckets[s->order[task->from]].partition == partition; task++) {
            uint32_t to = part->from + part->n;
            if (to != task->row_from) {
                memmove(out->times + to, out->times + task->row_from, task->kept * sizeof *out->times);
                memmove(out->rows + to, out->rows + task->row_from, task->kept * sizeof *out->rows);
                for (uint32_t i = task->from; i < task->to; i++) {
                    out->spans[i].from -= task->row_from - to;
                }
            }
            part->n += task->kept;
            span = task->to;
        }
        part->n_spans = span - part->span_from;
        out->n_rows += part->n;
    }
}

static tl_status sort_all(sorting *s, tl_group *group, uint32_t *order, uint32_t *place, tl_pool *pool, tl_error *err) {
    const tl_splitter *sp = s->splitter;
    tl_sorted *out = s->out;
    uint32_t at = 0;
    for (uint32_t i = 0; i < sp->n_buckets; i++) {
        const tl_bucket *b = &sp->buckets[order[i]];
        out->spans[i] = (tl_span){b->series, at, b->rows};
        place[order[i]] = at;
        at += b->rows;
    }
    out->n_spans = sp->n_buckets;
    out->n_parts = sp->n_partitions;
    scatter(s, group, place);
    s->n_tasks = count_tasks(s, false);
    s->workers = tl_pool_threads(pool);
    s->tasks = tl_alloc_array(s->n_tasks, sizeof *s->tasks);
    s->scratch = tl_calloc(s->workers, sizeof *s->scratch);
    if (!s->tasks || !s->scratch) {
        return tl_fail_memory(err, s->n_tasks * sizeof *s->tasks);
    }
    (void)count_tasks(s, true);
    TL_TRY(tl_pool_run(pool, s->n_tasks, run_task, s, err));
    join_tasks(s);
    return TL_OK;
}

tl_status tl_sort_group(tl_group *group, const tl_splitter *splitter, const uint32_t *ranks, uint32_t n_series,
                        const tl_sort_options *options, tl_pool *pool, tl_sorted *out, tl_error *err) {
    *out = (tl_sorted){0};
    sorting s = {.group = group, .splitter = splitter, .options = options, .out = out};
    size_t n_rows = (size_t)group->n_rows, n_buckets = splitter->n_buckets;
    out->rows = tl_alloc_array(n_rows, sizeof *out->rows);
    out->times = tl_alloc_array(n_rows, sizeof *out->times);
    out->spans = tl_alloc_array(n_buckets, sizeof *out->spans);
    out->parts = tl_alloc_array(splitter->n_partitions, sizeof *out->parts);
    uint32_t *order = tl_alloc_array(n_buckets, 2 * sizeof *order);
    s.order = order;
    tl_status status;
    if (!out->rows || !out->times || !out->spans || !out->parts || !order) {
        status = tl_fail_memory(err, n_rows * (sizeof *out->rows + sizeof *out->times));
    } else {
        status = tl_splitter_order(splitter, ranks, n_series, order, err);
        if (status == TL_OK) {
            status = sort_all(&s, group, order, order + n_buckets, pool, err);
        }
    }
    for (unsigned w = 0; s.scratch && w < s.workers; w++) {
        tl_free(s.scratch[w].a.times);
        tl_free(s.scratch[w].a.rows);
        tl_free(s.scratch[w].b.times);
        tl_free(s.scratch[w].b.rows);
    }
    tl_free(s.scratch);
    tl_free(s.tasks);
    tl_free(order);
    if (status != TL_OK) {
        tl_sorted_free(out);
    }
    return status;
}
