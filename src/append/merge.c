/*
 * The k-way merge of sorted runs. Runs are mostly ranges of arrival, so within a series their times hardly interleave:
 * whole stretches up to the next run's time are taken at once. See merge_internal.h.
 */
#include "append/merge_internal.h"

#include "base/mem.h"

/* A block in memory and the numbers of its rows among the window's sources. */
typedef struct live_block {
    tl_spill_block block;
    size_t bytes;
    uint32_t base;
    bool needed;
} live_block;

typedef struct cursor {
    tl_spill_run *run;
    live_block *block;       /* NULL = the run has ended */
    uint32_t at;             /* next row of the block */
    uint32_t span, span_end; /* the span it is in, and the row after that */
} cursor;

/* Rows for the sink. */
typedef struct window {
    tl_sorted sorted;
    uint32_t n, cap; /* rows */
    uint32_t cap_spans, cap_parts;
} window;

typedef struct merging {
    const tl_merge_options *o;
    tl_merge_sink sink;
    void *ctx;
    cursor *cursors;
    int32_t n_cursors;
    int32_t *members; /* cursors in the bucket at hand, oldest run first */
    int32_t n_members;
    live_block **live; /* ascending bases */
    int32_t n_live, cap_live;
    size_t live_bytes, flush_bytes;
    uint32_t next_base;
    window w;
} merging;

/* ---- blocks ---- */

static tl_status load_block(merging *m, cursor *c, tl_error *err) {
    c->block = NULL;
    if (m->n_live == m->cap_live) {
        int32_t cap = m->cap_live ? m->cap_live * 2 : 64;
        live_block **more = tl_realloc_array(m->live, (size_t)cap, sizeof *more);
        if (!more) {
            return tl_fail_memory(err, (size_t)cap * sizeof *more);
        }
        m->live = more;
        m->cap_live = cap;
    }
    live_block *b = tl_calloc(1, sizeof *b);
    if (!b) {
        return tl_fail_memory(err, sizeof *b);
    }
    bool has;
    uint64_t before = c->run->read;
    tl_status status = tl_spill_run_next(c->run, m->o->schema, &b->block, &has, err);
    if (status != TL_OK || !has) {
        tl_free(b);
        return status;
    }
    b->bytes = (size_t)(c->run->read - before);
    b->base = m->next_base;
    m->next_base += b->block.n_rows;
    m->live_bytes += b->bytes;
    m->live[m->n_live++] = b;
    *c = (cursor){.run = c->run, .block = b, .span_end = b->block.spans[0].n};
    return TL_OK;
}

static tl_status advance(merging *m, cursor *c, uint32_t n, tl_error *err) {
    c->at += n;
    if (c->at < c->span_end) {
        return TL_OK;
    }
    if (++c->span < c->block->block.n_spans) {
        c->span_end += c->block->block.spans[c->span].n;
        return TL_OK;
    }
    return load_block(m, c, err);
}

static uint64_t bucket_key(const merging *m, const cursor *c) {
    const tl_spill_span *span = &c->block->block.spans[c->span];
    return ((uint64_t)((uint32_t)span->partition ^ UINT32_C(0x80000000)) << 32) | m->o->ranks[span->series];
}

static int64_t head_time(const cursor *c) {
    return c->block->block.times[c->at];
}

static int64_t head_ingest(const merging *m, const cursor *c) {
    const tl_column *column = &c->block->block.columns[m->o->ingest];
    return tl_column_is_null(column, c->at) ? INT64_MIN : tl_load_i64(column->values + (size_t)c->at * 8);
}

/* ---- the window ---- */

static tl_status grow_window(window *w, uint32_t n, tl_error *err) {
    if (w->cap - w->n < n) {
        uint32_t cap = w->n + n + w->cap / 2;
        uint32_t *rows = tl_realloc_array(w->sorted.rows, cap, sizeof *rows);
        w->sorted.rows = rows ? rows : w->sorted.rows;
        int64_t *times = tl_realloc_array(w->sorted.times, cap, sizeof *times);
        w->sorted.times = times ? times : w->sorted.times;
        if (!rows || !times) {
            return tl_fail_memory(err, cap * sizeof *times);
        }
        w->cap = cap;
    }
    if (w->sorted.n_spans == w->cap_spans) {
        uint32_t cap = w->cap_spans ? w->cap_spans * 2 : 64;
        tl_span *spans = tl_realloc_array(w->sorted.spans, cap, sizeof *spans);
        if (!spans) {
            return tl_fail_memory(err, cap * sizeof *spans);
        }
        w->sorted.spans = spans;
        w->cap_spans = cap;
    }
    if (w->sorted.n_parts == w->cap_parts) {
        uint32_t cap = w->cap_parts ? w->cap_parts * 2 : 16;
        tl_sorted_part *parts = tl_realloc_array(w->sorted.parts, cap, sizeof *parts);
        if (!parts) {
            return tl_fail_memory(err, cap * sizeof *parts);
        }
        w->sorted.parts = parts;
        w->cap_parts = cap;
    }
    return TL_OK;
}

/* The window's last partition and series are those of the rows to come. */
static void open_span(window *w, int32_t partition, uint32_t series) {
    tl_sorted *s = &w->sorted;
    bool same_part = s->n_parts > 0 && s->parts[s->n_parts - 1].value == partition;
    if (!same_part) {
        s->parts[s->n_parts++] = (tl_sorted_part){.value = partition, .span_from = s->n_spans, .from = w->n};
    }
    if (!same_part || s->spans[s->n_spans - 1].series != series) {
        s->spans[s->n_spans++] = (tl_span){series, w->n, 0};
        s->parts[s->n_parts - 1].n_spans++;
    }
}

/* Shortens the window to its last `kept` rows, which are of one partition. */
static void keep_rows(window *w, uint32_t kept) {
    tl_sorted *s = &w->sorted;
    uint32_t from = w->n - kept;
    memmove(s->rows, s->rows + from, kept * sizeof *s->rows);
    memmove(s->times, s->times + from, kept * sizeof *s->times);
    uint32_t first = s->n_spans;
    while (first > 0 && s->spans[first - 1].from + s->spans[first - 1].n > from) {
        first--;
    }
    uint32_t n_spans = s->n_spans - first;
    memmove(s->spans, s->spans + first, n_spans * sizeof *s->spans);
    for (uint32_t i = 0; i < n_spans; i++) {
        uint32_t skip = s->spans[i].from < from ? from - s->spans[i].from : 0;
        s->spans[i].n -= skip;
        s->spans[i].from = s->spans[i].from + skip - from;
    }
    s->n_spans = n_spans;
    if (kept) {
        s->parts[0] = (tl_sorted_part){.value = s->parts[s->n_parts - 1].value, .n_spans = n_spans, .n = kept};
    }
    s->n_parts = kept ? 1 : 0;
    w->n = kept;
    s->n_rows = kept;
}

static tl_sources live_sources(const merging *m, tl_source *list) {
    for (int32_t i = 0; i < m->n_live; i++) {
        list[i] = (tl_source){m->live[i]->block.columns, m->live[i]->base, m->live[i]->block.n_rows};
    }
    return (tl_sources){list, m->n_live, m->next_base};
}

/* Frees the blocks that neither a cursor nor a kept row needs, and numbers the rest from 0 again. */
static void drop_blocks(merging *m, const tl_sources *sources) {
    window *w = &m->w;
    for (int32_t i = 0; i < m->n_cursors; i++) {
        if (m->cursors[i].block) {
            m->cursors[i].block->needed = true;
        }
    }
    int32_t near = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        near = tl_sources_find(sources, w->sorted.rows[i], near);
        m->live[near]->needed = true;
    }
    uint32_t base = 0;
    for (int32_t i = 0; i < m->n_live; i++) { /* old bases stay in `sources` for the rows below */
        if (m->live[i]->needed) {
            m->live[i]->base = base;
            base += m->live[i]->block.n_rows;
        }
    }
    near = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t row = w->sorted.rows[i];
        near = tl_sources_find(sources, row, near);
        w->sorted.rows[i] = row - sources->list[near].base + m->live[near]->base;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < m->n_live; i++) {
        live_block *b = m->live[i];
        if (b->needed) {
            b->needed = false;
            m->live[n++] = b;
        } else {
            m->live_bytes -= b->bytes;
            tl_spill_block_free(&b->block);
            tl_free(b);
        }
    }
    m->n_live = n;
    m->next_base = base;
}

static tl_status flush(merging *m, bool more, tl_error *err) {
    window *w = &m->w;
    w->sorted.n_rows = w->n;
    tl_source *list = tl_alloc_array((size_t)m->n_live, sizeof *list);
    if (!list) {
        return tl_fail_memory(err, (size_t)m->n_live * sizeof *list);
    }
    tl_sources sources = live_sources(m, list);
    uint32_t kept = 0;
    tl_status status = m->sink(m->ctx, &sources, &w->sorted, m->live_bytes, more, &kept, err);
    if (status == TL_OK) {
        keep_rows(w, kept);
        drop_blocks(m, &sources);
        m->flush_bytes = m->live_bytes + m->o->window_bytes;
    }
    tl_free(list);
    return status;
}

/* Moves the next `n` rows of a cursor's span into the window. */
static tl_status emit(merging *m, cursor *c, uint32_t n, tl_error *err) {
    window *w = &m->w;
    TL_TRY(grow_window(w, n, err));
    const tl_spill_span *span = &c->block->block.spans[c->span];
    open_span(w, span->partition, span->series);
    for (uint32_t i = 0; i < n; i++) {
        w->sorted.rows[w->n + i] = c->block->base + c->at + i;
    }
    memcpy(w->sorted.times + w->n, c->block->block.times + c->at, n * sizeof *w->sorted.times);
    w->n += n;
    w->sorted.spans[w->sorted.n_spans - 1].n += n;
    w->sorted.parts[w->sorted.n_parts - 1].n += n;
    TL_TRY(advance(m, c, n, err));
    if (w->n >= m->o->window_rows || m->live_bytes >= m->flush_bytes) {
        return flush(m, true, err);
    }
    return TL_OK;
}

/* ---- one bucket ---- */

/* Rows of the cursor's span before time `limit`, at least the one at hand. */
static uint32_t rows_before(const cursor *c, int64_t limit) {
    const int64_t *times = c->block->block.times;
    uint32_t from = c->at, step = 1; /* times[from] < limit holds */
    while (from + step < c->span_end && times[from + step] < limit) {
        from += step;
        step *= 2;
    }
    uint32_t to = c->span_end - from < step ? c->span_end : from + step;
    while (to - from > 1) {
        uint32_t mid = from + (to - from) / 2;
        if (times[mid] < limit) {
            from = mid;
        } else {
            to = mid;
        }
    }
    return from + 1 - c->at;
}

/* Rows of one time in several runs: the last write alone, or all of them in the order of insertion. */
static tl_status merge_equal(merging *m, uint64_t key, int64_t time, tl_error *err) {
    for (;;) {
        cursor *best = NULL;
        int64_t best_ingest = 0;
        for (int32_t i = 0; i < m->n_members; i++) {
            cursor *c = &m->cursors[m->members[i]];
            if (!c->block || bucket_key(m, c) != key || head_time(c) != time) {
                continue;
            }
            int64_t ingest = m->o->ingest >= 0 ? head_ingest(m, c) : 0;
            if (!best || (m->o->keep_last ? ingest >= best_ingest : ingest < best_ingest)) {
                best = c;
                best_ingest = ingest;
            }
        }
        if (!best) {
            return TL_OK;
        }
        if (m->o->keep_last) {
            for (int32_t i = 0; i < m->n_members; i++) {
                cursor *c = &m->cursors[m->members[i]];
                if (c != best && c->block && bucket_key(m, c) == key && head_time(c) == time) {
                    TL_TRY(advance(m, c, 1, err));
                }
            }
            return emit(m, best, 1, err); /* a run holds a key once */
        }
        TL_TRY(emit(m, best, 1, err));
    }
}

static tl_status merge_bucket(merging *m, uint64_t key, tl_error *err) {
    for (;;) {
        cursor *first = NULL;
        int64_t next = INT64_MAX; /* least time of the other runs */
        bool others = false, equal = false;
        int32_t n = 0;
        for (int32_t i = 0; i < m->n_members; i++) {
            cursor *c = &m->cursors[m->members[i]];
            if (!c->block || bucket_key(m, c) != key) {
                continue;
            }
            m->members[n++] = m->members[i];
            int64_t t = head_time(c);
            if (!first || t < head_time(first)) {
                next = first ? head_time(first) : next;
                others |= first != NULL;
                equal = false;
                first = c;
            } else {
                next = !others || t < next ? t : next;
                others = true;
                equal |= t == head_time(first);
            }
        }
        m->n_members = n;
        if (!first) {
            return TL_OK;
        }
        if (equal) {
            TL_TRY(merge_equal(m, key, head_time(first), err));
        } else {
            TL_TRY(emit(m, first, others ? rows_before(first, next) : first->span_end - first->at, err));
        }
    }
}

/* The least (partition, series) among the runs, and which of them are there. False = all runs have ended. */
static bool next_bucket(merging *m, uint64_t *key) {
    bool any = false;
    for (int32_t i = 0; i < m->n_cursors; i++) {
        cursor *c = &m->cursors[i];
        if (!c->block) {
            continue;
        }
        uint64_t k = bucket_key(m, c);
        if (!any || k < *key) {
            *key = k;
            m->n_members = 0;
            any = true;
        }
        if (k == *key) {
            m->members[m->n_members++] = i;
        }
    }
    return any;
}

static tl_status merge_all(merging *m, tl_error *err) {
    for (int32_t i = 0; i < m->n_cursors; i++) {
        TL_TRY(load_block(m, &m->cursors[i], err));
    }
    m->flush_bytes = m->live_bytes + m->o->window_bytes;
    uint64_t key = 0;
    while (next_bucket(m, &key)) {
        TL_TRY(merge_bucket(m, key, err));
    }
    return flush(m, false, err);
}

tl_status tl_merge_runs(tl_spill_run *runs, int32_t n_runs, const tl_merge_options *options, tl_merge_sink sink,
                        void *ctx, tl_error *err) {
    merging m = {.o = options, .sink = sink, .ctx = ctx, .n_cursors = n_runs};
    m.cursors = tl_calloc((size_t)n_runs, sizeof *m.cursors);
    m.members = tl_calloc((size_t)n_runs, sizeof *m.members);
    tl_status status = TL_OK;
    if (!m.cursors || !m.members) {
        status = tl_fail_memory(err, (size_t)n_runs * sizeof *m.cursors);
    } else {
        for (int32_t i = 0; i < n_runs; i++) {
            m.cursors[i].run = &runs[i];
        }
        status = merge_all(&m, err);
    }
    for (int32_t i = 0; i < m.n_live; i++) {
        tl_spill_block_free(&m.live[i]->block);
        tl_free(m.live[i]);
    }
    tl_free(m.live);
    tl_free(m.cursors);
    tl_free(m.members);
    tl_sorted_free(&m.w.sorted);
    return status;
}
