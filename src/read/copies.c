/*
 * Older copies among spans of one series. Comes in: spans sorted by their least time. Goes out: the rows that a later
 * write of the same time has replaced, as bits.
 *
 * The latest write is the greatest (insertion time, sequence number, path, row). That order is total, so a row that has
 * lost once is an older copy whatever else happens, and spans can be compared in any order.
 */
#include "read/copies.h"

#include <string.h>

/* Pairs a span that are still compared one by one. */
#define PAIRS_OF_STEPS 32
#define PAIRS_OF_TIMES 6

static int64_t time_at(const tl_span *s, int64_t i) {
    return s->times[i];
}
static int64_t offset_at(const tl_span *s, int64_t i) {
    return s->rows ? s->rows[i] : i;
}
static int64_t row_at(const tl_span *s, int64_t i) {
    return s->row + offset_at(s, i);
}
static int64_t ingest_at(const tl_span *s, int64_t i) {
    return s->ingests ? s->ingests[offset_at(s, i)] : s->ingest;
}

/* Is all of a later than all of b? For spans that have one insertion time each, and rows that stand together where they
 * are of one file. */
static bool ranks_above(const tl_copies *c, const tl_span *a, const tl_span *b) {
    int32_t p = c->files[a->file]->rank, q = c->files[b->file]->rank;
    return a->ingest != b->ingest ? a->ingest > b->ingest : p != q ? p > q : a->row > b->row;
}

static bool is_later(const tl_copies *c, const tl_span *a, int64_t i, const tl_span *b, int64_t j) {
    int64_t x = ingest_at(a, i), y = ingest_at(b, j);
    int32_t p = c->files[a->file]->rank, q = c->files[b->file]->rank;
    return x != y ? x > y : p != q ? p > q : row_at(a, i) > row_at(b, j);
}

/* ---- marking ---- */

/* Bytes at the edge of a series may hold rows of another one, which another thread looks at. */
static void mark_bits(const tl_copies *c, uint8_t *byte, uint8_t bits) {
    if (c->shared) {
        (void)__atomic_fetch_or(byte, bits, __ATOMIC_RELAXED);
    } else {
        *byte = (uint8_t)(*byte | bits);
    }
}

static void mark_row(const tl_copies *c, const tl_span *s, int64_t i) {
    int64_t row = row_at(s, i);
    mark_bits(c, &c->files[s->file]->older->bits[row >> 3], (uint8_t)(1u << (row & 7)));
}

/* Rows of times [i, i + n) of a span. Where they stand together bytes within are all of this span. */
static void mark_rows(const tl_copies *c, const tl_span *s, int64_t i, int64_t n) {
    for (; s->rows && n > 0; n--) {
        mark_row(c, s, i++);
    }
    if (n == 0) {
        return;
    }
    uint8_t *bits = c->files[s->file]->older->bits;
    int64_t from = s->row + i, to = from + n;
    if (from >> 3 == to >> 3) {
        mark_bits(c, &bits[from >> 3], (uint8_t)(((1u << n) - 1) << (from & 7)));
        return;
    }
    if (from & 7) {
        mark_bits(c, &bits[from >> 3], (uint8_t)(0xffu << (from & 7)));
        from = (from | 7) + 1;
    }
    memset(bits + (from >> 3), 0xff, (size_t)((to >> 3) - (from >> 3)));
    if (to & 7) {
        mark_bits(c, &bits[to >> 3], (uint8_t)((1u << (to & 7)) - 1));
    }
}

static bool is_deleted(const tl_copies *c, const tl_span *s, int64_t i) {
    const uint8_t *deleted = c->deletes ? c->files[s->file]->deleted : NULL;
    return deleted && tl_bit(deleted, row_at(s, i));
}

/* Two rows of one key: marks the older one. */
static void contest(const tl_copies *c, const tl_span *a, int64_t i, const tl_span *b, int64_t j) {
    if (is_deleted(c, a, i) || is_deleted(c, b, j)) {
        return;
    }
    if (is_later(c, a, i, b, j)) {
        mark_row(c, b, j);
    } else {
        mark_row(c, a, i);
    }
}

/* ---- two spans ---- */

/* The first index from `from` on with a time >= t; near ones are found fast. */
static int64_t plain_bound(const int64_t *times, int64_t from, int64_t n, int64_t t) {
    int64_t step = 1, lo = from;
    while (lo < n && times[lo] < t) {
        from = lo + 1;
        lo += step;
        step *= 2;
    }
    int64_t hi = lo < n ? lo : n;
    while (from < hi) {
        int64_t mid = from + (hi - from) / 2;
        if (times[mid] < t) {
            from = mid + 1;
        } else {
            hi = mid;
        }
    }
    return from;
}

static int64_t lower_bound(const tl_span *s, int64_t from, int64_t t) {
    return plain_bound(s->times, from, s->n, t);
}

static void range_of(const tl_copies *c, const tl_span *a, const tl_span *b, int64_t *from, int64_t *to) {
    *from = a->min > b->min ? a->min : b->min;
    *to = a->max < b->max ? a->max : b->max;
    *from = *from > c->from_us ? *from : c->from_us;
    *to = *to < c->to_us ? *to : c->to_us;
}

/* Ascending times and one insertion time each: one of the two loses wherever they meet. Gives the rows lost. */
static int64_t compare_plain(const tl_copies *c, const tl_span *winner, const tl_span *loser) {
    int64_t from, to, lost = 0;
    range_of(c, winner, loser, &from, &to);
    const int64_t *w = winner->times, *l = loser->times;
    int64_t i = plain_bound(w, 0, winner->n, from), j = plain_bound(l, 0, loser->n, from);
    while (i < winner->n && j < loser->n) {
        if (w[i] > to || l[j] > to) {
            break;
        }
        if (w[i] < l[j]) {
            i = plain_bound(w, i + 1, winner->n, l[j]);
        } else if (w[i] > l[j]) {
            j = plain_bound(l, j + 1, loser->n, w[i]);
        } else {
            int64_t most = winner->n - i < loser->n - j ? winner->n - i : loser->n - j, k = 1;
            while (k < most && w[i + k] == l[j + k]) {
                k++;
            }
            mark_rows(c, loser, j, k);
            lost += k;
            i += k;
            j += k;
        }
    }
    return lost;
}

/* Any two spans. One may hold a time more than once: every pair is looked at. */
static void compare_any(const tl_copies *c, const tl_span *a, const tl_span *b) {
    int64_t from, to;
    range_of(c, a, b, &from, &to);
    int64_t i = lower_bound(a, 0, from), j = lower_bound(b, 0, from);
    while (i < a->n && j < b->n) {
        int64_t ta = time_at(a, i), tb = time_at(b, j);
        if (ta > to || tb > to) {
            break;
        }
        if (ta < tb) {
            i = plain_bound(a->times, i + 1, a->n, tb);
        } else if (tb < ta) {
            j = plain_bound(b->times, j + 1, b->n, ta);
        } else {
            for (int64_t k = j; k < b->n && time_at(b, k) == ta; k++) {
                contest(c, a, i, b, k);
            }
            i++;
        }
    }
}

/* ---- two spans with steps ---- */

typedef struct place {
    const tl_step *step, *end;
    int64_t at; /* within the step */
    int64_t time;
} place;

/* The first time from this place on that is >= t. */
static bool seek(place *p, int64_t t) {
    for (; p->step < p->end; p->step++, p->at = 0) {
        const tl_step *s = p->step;
        p->time = s->first + s->step * p->at;
        if (p->time >= t) {
            return true;
        }
        if (s->first + s->step * (s->n - 1) >= t) { /* so n > 1, and t lies behind `first` */
            uint64_t step = (uint64_t)s->step;
            p->at = (int64_t)(((uint64_t)t - (uint64_t)s->first + step - 1) / step);
            p->time = s->first + s->step * p->at;
            return true;
        }
    }
    return false;
}

static bool begin_at(const tl_span *s, int64_t t, place *p) {
    int32_t lo = 0, hi = s->n_steps - 1;
    while (lo < hi) { /* the last step that begins at t or before */
        int32_t mid = lo + (hi - lo + 1) / 2;
        if (s->steps[mid].first <= t) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    *p = (place){.step = s->steps + lo, .end = s->steps + s->n_steps};
    return seek(p, t);
}

static bool move_on(place *p, int64_t n) {
    p->at += n;
    if (p->at == p->step->n) {
        p->step++;
        p->at = 0;
    }
    return seek(p, INT64_MIN);
}

/* As compare_plain. */
static int64_t compare_steps(const tl_copies *c, const tl_span *winner, const tl_span *loser) {
    int64_t from, to, lost = 0;
    range_of(c, winner, loser, &from, &to);
    place w, l;
    bool more = begin_at(winner, from, &w) && begin_at(loser, from, &l);
    while (more && w.time <= to && l.time <= to) {
        if (w.time < l.time) {
            more = seek(&w, l.time);
        } else if (w.time > l.time) {
            more = seek(&l, w.time);
        } else {
            int64_t n = w.step->n - w.at < l.step->n - l.at ? w.step->n - w.at : l.step->n - l.at;
            n = w.step->step == l.step->step ? n : 1;
            mark_rows(c, loser, l.step->at + l.at, n);
            lost += n;
            more = move_on(&w, n) && move_on(&l, n);
        }
    }
    return lost;
}

/* ---- any two ---- */

static bool is_settled(const tl_copies *c, const tl_span *a, const tl_span *b) {
    return c->settled && c->files[a->file]->known && c->files[b->file]->known;
}

/* A span may be passed over once all its rows have lost: what it would beat is beaten by the one that beat it. Gives
 * that span, or NULL. */
static tl_span *compare(const tl_copies *c, tl_span *a, tl_span *b) {
    if (a->repeats || b->repeats || a->ingests || b->ingests || c->deletes ||
        (a->file == b->file && (a->rows || b->rows))) {
        compare_any(c, a, b);
        return NULL;
    }
    tl_span *winner = ranks_above(c, a, b) ? a : b, *loser = winner == a ? b : a;
    int64_t lost = a->steps ? compare_steps(c, winner, loser) : compare_plain(c, winner, loser);
    return lost == loser->n ? loser : NULL;
}

/* Copies inside of one span. */
static void compare_self(const tl_copies *c, const tl_span *s) {
    int64_t best = 0; /* the latest so far among equal times */
    for (int64_t i = 1; s->repeats && i < s->n; i++) {
        if (time_at(s, i) != time_at(s, best) || is_deleted(c, s, best)) {
            best = i;
        } else if (!is_deleted(c, s, i)) {
            contest(c, s, best, s, i);
            best = is_later(c, s, i, s, best) ? i : best;
        }
    }
}

/* ---- steps as times ---- */

static bool have_steps(tl_span *const *spans, int64_t n) {
    bool all = true;
    for (int64_t i = 0; i < n && all; i++) {
        all = spans[i]->steps && !spans[i]->ingests;
    }
    return all;
}

/* All spans get times; caller frees what they stand in. */
static tl_status write_times(tl_span **spans, int64_t n, int64_t **out, tl_error *err) {
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++) {
        rows += spans[i]->steps ? spans[i]->n : 0;
    }
    int64_t *times = *out = rows ? tl_alloc_array((size_t)rows, sizeof *times) : NULL;
    if (rows && !times) {
        return tl_fail_memory(err, (size_t)rows * sizeof *times);
    }
    for (int64_t i = 0; i < n; i++) {
        if (spans[i]->steps) {
            tl_span_write_times(spans[i], times);
            spans[i]->times = times;
            spans[i]->steps = NULL;
            times += spans[i]->n;
        }
    }
    return TL_OK;
}

/* ---- many spans at once: a heap ---- */

typedef struct cursor {
    int64_t time;
    const tl_span *span;
    int64_t at;
} cursor;

static void sift(cursor *heap, int64_t n, int64_t i) {
    cursor t = heap[i];
    for (;;) {
        int64_t least = 2 * i + 1;
        if (least >= n) {
            break;
        }
        least += least + 1 < n && heap[least + 1].time < heap[least].time;
        if (heap[least].time >= t.time) {
            break;
        }
        heap[i] = heap[least];
        i = least;
    }
    heap[i] = t;
}

static tl_status merge_all(const tl_copies *c, tl_span **spans, int64_t n_spans, tl_error *err) {
    cursor *heap = tl_alloc_array((size_t)n_spans, sizeof *heap);
    if (!heap) {
        return tl_fail_memory(err, (size_t)n_spans * sizeof *heap);
    }
    int64_t n = 0;
    for (int64_t i = 0; i < n_spans; i++) {
        int64_t at = lower_bound(spans[i], 0, c->from_us);
        if (at < spans[i]->n) {
            heap[n++] = (cursor){time_at(spans[i], at), spans[i], at};
        }
    }
    for (int64_t i = n / 2; i-- > 0;) {
        sift(heap, n, i);
    }
    cursor best = {0};
    while (n > 0 && heap[0].time <= c->to_us) {
        cursor now = heap[0];
        if (!best.span || best.time != now.time || is_deleted(c, best.span, best.at)) {
            best = now;
        } else if (!is_deleted(c, now.span, now.at)) {
            contest(c, best.span, best.at, now.span, now.at);
            best = is_later(c, now.span, now.at, best.span, best.at) ? now : best;
        }
        if (++heap[0].at < now.span->n) {
            heap[0].time = time_at(now.span, heap[0].at);
        } else {
            heap[0] = heap[--n];
        }
        if (n > 0) {
            sift(heap, n, 0);
        }
    }
    tl_free(heap);
    return TL_OK;
}

/* ---- a chain: spans linked by overlaps ---- */

/* Whole copies of each other, as a batch that was sent again is, stand side by side: all but the latest go. */
static int64_t drop_equal(const tl_copies *c, tl_span **spans, int64_t n) {
    int64_t kept = 1;
    for (int64_t i = 1; i < n; i++) {
        tl_span *a = spans[kept - 1], *b = spans[i];
        bool equal = a->min == b->min && a->n == b->n && a->max == b->max && !is_settled(c, a, b);
        tl_span *lost = equal ? compare(c, a, b) : NULL;
        if (lost == a) {
            spans[kept - 1] = b;
        } else if (!lost) {
            spans[kept++] = b;
        }
    }
    return kept;
}

/* Are there so few overlapping pairs that they are better compared one by one? That costs each span as often as it has
 * rows, or by steps next to nothing. Settled pairs are only passed over. */
static bool few_pairs(const tl_copies *c, tl_span *const *spans, int64_t n) {
    enum { PASSED = 1, COMPARED = 16 };
    int64_t cost = 0, limit = (have_steps(spans, n) ? PAIRS_OF_STEPS : PAIRS_OF_TIMES) * n * COMPARED;
    for (int64_t i = 0; i < n && cost <= limit; i++) {
        for (int64_t j = i + 1; j < n && spans[j]->min <= spans[i]->max && cost <= limit; j++) {
            cost += is_settled(c, spans[i], spans[j]) ? PASSED : COMPARED;
        }
    }
    return cost <= limit;
}

static void compare_pairs(const tl_copies *c, tl_span **spans, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; spans[i] && j < n; j++) {
            if (!spans[j]) {
                continue;
            }
            if (spans[j]->min > spans[i]->max) {
                break;
            }
            tl_span *lost = is_settled(c, spans[i], spans[j]) ? NULL : compare(c, spans[i], spans[j]);
            if (lost) {
                spans[lost == spans[i] ? i : j] = NULL;
            }
        }
    }
}

/* Spans all with steps, or all with times. */
static tl_status mark_chain(const tl_copies *c, tl_span **spans, int64_t n, tl_error *err) {
    int64_t *times = NULL, *rest = NULL;
    tl_status status = c->deletes || !have_steps(spans, n) ? write_times(spans, n, &times, err) : TL_OK;
    if (status == TL_OK) {
        for (int64_t i = 0; i < n; i++) {
            compare_self(c, spans[i]);
        }
        n = drop_equal(c, spans, n);
        if (few_pairs(c, spans, n)) {
            compare_pairs(c, spans, n);
        } else {
            status = write_times(spans, n, &rest, err);
            status = status == TL_OK ? merge_all(c, spans, n, err) : status;
        }
    }
    tl_free(times);
    tl_free(rest);
    return status;
}

tl_status tl_copies_mark(const tl_copies *c, tl_span **spans, int64_t n, tl_error *err) {
    for (int64_t from = 0; from < n;) {
        int64_t max = spans[from]->max, to = from + 1;
        for (; to < n && spans[to]->min <= max; to++) {
            max = spans[to]->max > max ? spans[to]->max : max;
        }
        if (to - from > 1 || spans[from]->repeats) {
            TL_TRY(mark_chain(c, spans + from, to - from, err));
        }
        from = to;
    }
    return TL_OK;
}
