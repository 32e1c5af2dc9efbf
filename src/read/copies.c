/*
 * Older copies among spans of one series. Comes in: spans sorted by their least time. Goes out: the rows that a later
 * write of the same time has replaced, as bits.
 *
 * The latest write is the greatest (insertion time, sequence number, path, row). That order is total, so a row that has
 * lost once is an older copy whatever else happens, and spans can be compared in any order.
 */
#include "read/copies.h"

#include <string.h>

static int64_t time_at(const tl_span *s, int64_t i) {
    return s->times[s->order ? s->order[i] : i];
}
static int64_t row_at(const tl_span *s, int64_t i) {
    return s->row + (s->order ? s->order[i] : i);
}
static int64_t ingest_at(const tl_span *s, int64_t i) {
    return s->ingests ? s->ingests[s->order ? s->order[i] : i] : s->ingest;
}

/* Is a later than b, for rows with equal insertion times, or rows of spans that have but one? */
static bool ranks_above(const tl_copies *c, const tl_span *a, const tl_span *b) {
    return a->ingest != b->ingest ? a->ingest > b->ingest : c->files[a->file]->rank > c->files[b->file]->rank;
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

/* Rows [row, row + n) of a span: bytes within are all of this span. */
static void mark_rows(const tl_copies *c, const tl_span *s, int64_t i, int64_t n) {
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
    if (!s->order) {
        return plain_bound(s->times, from, s->n, t);
    }
    int64_t hi = s->n;
    while (from < hi) {
        int64_t mid = from + (hi - from) / 2;
        if (time_at(s, mid) < t) {
            from = mid + 1;
        } else {
            hi = mid;
        }
    }
    return from;
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

/* Any two spans. One may hold a time more than once (order set): every pair is looked at. */
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
            i = a->order ? i + 1 : plain_bound(a->times, i + 1, a->n, tb);
        } else if (tb < ta) {
            j = b->order ? j + 1 : plain_bound(b->times, j + 1, b->n, ta);
        } else {
            for (int64_t k = j; k < b->n && time_at(b, k) == ta; k++) {
                contest(c, a, i, b, k);
            }
            i++;
        }
    }
}

/* A span may be passed over once all its rows have lost: what it would beat is beaten by the one that beat it. Gives
 * that span, or NULL. */
static tl_span *compare(const tl_copies *c, tl_span *a, tl_span *b) {
    if (a->order || b->order || a->ingests || b->ingests || c->deletes || a->file == b->file) {
        compare_any(c, a, b);
        return NULL;
    }
    tl_span *winner = ranks_above(c, a, b) ? a : b, *loser = winner == a ? b : a;
    return compare_plain(c, winner, loser) == loser->n ? loser : NULL;
}

/* Copies inside of one span: only spans with an order of their own have any. */
static void compare_self(const tl_copies *c, const tl_span *s) {
    int64_t best = 0; /* the latest so far among equal times */
    for (int64_t i = 1; s->order && i < s->n; i++) {
        if (time_at(s, i) != time_at(s, best) || is_deleted(c, s, best)) {
            best = i;
        } else if (!is_deleted(c, s, i)) {
            contest(c, s, best, s, i);
            best = is_later(c, s, i, s, best) ? i : best;
        }
    }
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
        tl_span *lost = a->min == b->min && a->n == b->n && a->max == b->max ? compare(c, a, b) : NULL;
        if (lost == a) {
            spans[kept - 1] = b;
        } else if (!lost) {
            spans[kept++] = b;
        }
    }
    return kept;
}

/* Few overlapping pairs are compared one by one, many spans merged all at once. */
static tl_status mark_chain(const tl_copies *c, tl_span **spans, int64_t n, tl_error *err) {
    for (int64_t i = 0; i < n; i++) {
        compare_self(c, spans[i]);
    }
    n = drop_equal(c, spans, n);
    int64_t pairs = 0, limit = 4 * n;
    for (int64_t i = 0; i < n && pairs <= limit; i++) {
        for (int64_t j = i + 1; j < n && spans[j]->min <= spans[i]->max && pairs <= limit; j++) {
            pairs++;
        }
    }
    if (pairs > limit) {
        return merge_all(c, spans, n, err);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; spans[i] && j < n; j++) {
            if (!spans[j]) {
                continue;
            }
            if (spans[j]->min > spans[i]->max) {
                break;
            }
            tl_span *lost = compare(c, spans[i], spans[j]);
            if (lost) {
                spans[lost == spans[i] ? i : j] = NULL;
            }
        }
    }
    return TL_OK;
}

tl_status tl_copies_mark(const tl_copies *c, tl_span **spans, int64_t n, tl_error *err) {
    for (int64_t from = 0; from < n;) {
        int64_t max = spans[from]->max, to = from + 1;
        for (; to < n && spans[to]->min <= max; to++) {
            max = spans[to]->max > max ? spans[to]->max : max;
        }
        if (to - from > 1 || spans[from]->order) {
            TL_TRY(mark_chain(c, spans + from, to - from, err));
        }
        from = to;
    }
    return TL_OK;
}
