/*
 * Spans: memory, and times in order. Comes in: times of a span as they stand in the file. Goes out: times that ascend,
 * by number or by steps.
 */
#include <string.h>

#include "read/read_internal.h"

void tl_spans_free(tl_spans *s) {
    for (int32_t i = 0; i < s->n_blocks; i++) {
        tl_free(s->blocks[i]);
    }
    tl_free(s->blocks);
    tl_free(s->items);
    tl_arena_free(&s->arena);
    *s = (tl_spans){0};
}

void tl_key_scratch_free(tl_key_scratch *s) {
    tl_pq_codec_state_free(&s->codec);
    tl_pq_steps_free(&s->steps);
    tl_free(s->times);
    tl_free(s->gathered);
    *s = (tl_key_scratch){0};
}

tl_status tl_spans_block(tl_spans *s, int64_t n, int64_t **out, tl_error *err) {
    int64_t **blocks = tl_realloc_array(s->blocks, (size_t)s->n_blocks + 1, sizeof *blocks);
    s->blocks = blocks ? blocks : s->blocks;
    *out = blocks ? tl_alloc_array((size_t)n, sizeof **out) : NULL;
    if (!*out) {
        return tl_fail_memory(err, (size_t)n * sizeof **out);
    }
    s->blocks[s->n_blocks++] = *out;
    return TL_OK;
}

tl_status tl_spans_reserve(tl_spans *s, int64_t hint, tl_error *err) {
    if (s->n < s->cap) {
        return TL_OK;
    }
    int64_t cap = s->cap ? s->cap + s->cap / 2 : 8;
    cap = cap < hint ? hint : cap;
    tl_span *items = tl_realloc_array(s->items, (size_t)cap, sizeof *items);
    if (!items) {
        return tl_fail_memory(err, (size_t)cap * sizeof *items);
    }
    s->items = items;
    s->cap = cap;
    return TL_OK;
}

/* ---- times that do not ascend ---- */

typedef struct timed {
    int64_t time;
    int32_t row;
} timed;

/* Where the ascending run that begins at `from` ends. */
static int32_t run_end(const timed *t, int32_t from, int32_t n) {
    int32_t to = from + 1;
    while (to < n && t[to - 1].time <= t[to].time) {
        to++;
    }
    return to;
}

static void merge(const timed *a, const timed *a_end, const timed *b, const timed *b_end, timed *out) {
    while (a < a_end && b < b_end) {
        *out++ = b->time < a->time ? *b++ : *a++;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Runs that are there are merged, two by two. Equal times keep their order. The result is in `t` or in `other`. */
static timed *sort_runs(timed *t, timed *other, int32_t n) {
    for (bool sorted = n < 2; !sorted;) {
        sorted = true;
        for (int32_t from = 0; from < n;) {
            int32_t mid = run_end(t, from, n), to = mid < n ? run_end(t, mid, n) : n;
            merge(t + from, t + mid, t + mid, t + to, other + from);
            sorted = sorted && from == 0 && to == n;
            from = to;
        }
        timed *swap = t;
        t = other;
        other = swap;
    }
    return t;
}

/* Times mostly ascend, with late ones between: those are taken out, sorted, and merged in again. `from_rows` NULL =
 * 0, 1, ... Late ones get room of their own, which the caller frees. */
static tl_status sort_late(const int64_t *from, const int32_t *from_rows, int64_t *times, int32_t *rows, int32_t n,
                           timed **room, tl_error *err) {
    int32_t kept = 0, late = 0;
    int64_t last = INT64_MIN;
    for (int32_t i = 0; i < n; i++) {
        int64_t t = from[i];
        int32_t row = from_rows ? from_rows[i] : i;
        if (t >= last) {
            last = times[kept] = t;
            rows[kept++] = row;
            continue;
        }
        if (!*room && !(*room = tl_alloc_array((size_t)n * 2, sizeof **room))) {
            return tl_fail_memory(err, (size_t)n * sizeof **room);
        }
        (*room)[late++] = (timed){t, row};
    }
    const timed *sorted = late ? sort_runs(*room, *room + late, late) : NULL;
    for (int32_t to = n; late > 0;) {
        to--;
        if (kept > 0 && times[kept - 1] > sorted[late - 1].time) {
            times[to] = times[--kept];
            rows[to] = rows[kept];
        } else {
            times[to] = sorted[--late].time;
            rows[to] = sorted[late].row;
        }
    }
    return TL_OK;
}

/* Bit 63 of a - b without overflow: set where a < b. In plain bit operations compilers compare several at once. */
static uint64_t below(int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    return (x & ~y) | ((x | ~y) & (x - y));
}

static bool falls(const int64_t *t, int32_t n) {
    uint64_t any = 0;
    for (int32_t i = 1; i < n; i++) {
        any |= below(t[i], t[i - 1]);
    }
    return any >> 63;
}

static void set_bounds(tl_span *span) {
    uint64_t rises = ~UINT64_C(0);
    for (int32_t i = 1; i < span->n; i++) {
        rises &= below(span->times[i - 1], span->times[i]);
    }
    span->repeats = !(rises >> 63);
    span->min = span->times[0];
    span->max = span->times[span->n - 1];
}

tl_status tl_span_sort(tl_span *span, const int64_t *from, const int32_t *from_rows, int64_t *times, int32_t *rows,
                       tl_error *err) {
    timed *room = NULL;
    tl_status status = sort_late(from, from_rows, times, rows, span->n, &room, err);
    tl_free(room);
    span->times = times;
    span->rows = rows;
    if (status == TL_OK) {
        set_bounds(span);
    }
    return status;
}

tl_status tl_span_finish(tl_spans *s, tl_span *span, tl_error *err) {
    int64_t *times;
    if (!falls(span->times, span->n)) {
        set_bounds(span);
        return TL_OK;
    }
    TL_TRY(tl_spans_block(s, span->n + (span->n + 1) / 2, &times, err));
    return tl_span_sort(span, span->times, NULL, times, (int32_t *)(times + span->n), err);
}

/* ---- steps ---- */

/* The last time; false when it is not to be had by steps that ascend. */
static bool step_end(const tl_step *s, int64_t *out) {
    int64_t all;
    return (s->n == 1 || s->step > 0) && tl_i64_mul(s->step, s->n - 1, &all) && tl_i64_add(s->first, all, out);
}

static bool steps_ascend(tl_span *span) {
    for (int32_t i = 0; i < span->n_steps; i++) {
        int64_t end;
        if (!step_end(&span->steps[i], &end) || (i > 0 && span->steps[i].first <= span->max)) {
            return false;
        }
        span->max = end;
    }
    span->min = span->steps[0].first;
    return true;
}

void tl_span_write_times(const tl_span *span, int64_t *out) {
    for (int32_t i = 0; i < span->n_steps; i++) {
        uint64_t value = (uint64_t)span->steps[i].first, step = (uint64_t)span->steps[i].step;
        for (int32_t k = 0; k < span->steps[i].n; k++, value += step) {
            *out++ = (int64_t)value;
        }
    }
}

static tl_status steps_to_times(tl_spans *s, tl_span *span, tl_error *err) {
    int64_t *times;
    TL_TRY(tl_spans_block(s, span->n, &times, err));
    tl_span_write_times(span, times);
    span->times = times;
    span->steps = NULL;
    span->n_steps = 0;
    return tl_span_finish(s, span, err);
}

tl_status tl_spans_take_steps(tl_spans *s, int64_t from, const tl_pq_steps *steps, tl_error *err) {
    tl_step *room = tl_arena_array(&s->arena, (size_t)(steps->n + s->n - from), sizeof *room);
    if (!room) {
        return tl_fail_memory(err, (size_t)steps->n * sizeof *room);
    }
    int64_t i = 0, begin = 0; /* the step to look at, and its first row */
    for (int64_t k = from; k < s->n; k++) {
        tl_span *span = &s->items[k];
        span->steps = room;
        for (int64_t row = span->row, end = span->row + span->n; row < end;) {
            const tl_pq_step *step = &steps->items[i];
            if (begin + step->n <= row) {
                begin += step->n;
                i++;
                continue;
            }
            int64_t to = begin + step->n < end ? begin + step->n : end;
            *room++ =
                (tl_step){.first = (int64_t)((uint64_t)step->first + (uint64_t)step->step * (uint64_t)(row - begin)),
                          .step = step->step,
                          .at = (int32_t)(row - span->row),
                          .n = (int32_t)(to - row)};
            row = to;
        }
        span->n_steps = (int32_t)(room - span->steps);
        TL_TRY(steps_ascend(span) ? TL_OK : steps_to_times(s, span, err));
    }
    return TL_OK;
}
