/*
 * Spans: memory, and times in order. Comes in: times of a span as they stand in the file. Goes out: times that ascend,
 * by number or by steps.
 */
#include <stdlib.h>
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

static int by_time(const void *a, const void *b) {
    const timed *x = a, *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Foreign files: times and rows of their own, in order. */
static tl_status sort_span(tl_spans *s, tl_span *span, tl_error *err) {
    timed *pairs = tl_alloc_array((size_t)span->n, sizeof *pairs);
    int64_t *block = NULL; /* times, then rows */
    tl_status status = pairs ? tl_spans_block(s, span->n + (span->n + 1) / 2, &block, err)
                             : tl_fail_memory(err, (size_t)span->n * sizeof *pairs);
    if (status != TL_OK) {
        tl_free(pairs);
        return status;
    }
    for (int32_t i = 0; i < span->n; i++) {
        pairs[i] = (timed){span->times[i], span->rows ? span->rows[i] : i};
    }
    qsort(pairs, (size_t)span->n, sizeof *pairs, by_time);
    int32_t *rows = (int32_t *)(block + span->n);
    for (int32_t i = 0; i < span->n; i++) {
        block[i] = pairs[i].time;
        rows[i] = pairs[i].row;
        span->repeats = span->repeats || (i > 0 && block[i] == block[i - 1]);
    }
    span->times = block;
    span->rows = rows;
    tl_free(pairs);
    return TL_OK;
}

/* Bit 63 of a - b without overflow: set where a < b. In plain bit operations compilers compare several at once. */
static uint64_t below(int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    return (x & ~y) | ((x | ~y) & (x - y));
}

tl_status tl_span_finish(tl_spans *s, tl_span *span, tl_error *err) {
    const int64_t *t = span->times;
    uint64_t falls = 0, rises = ~UINT64_C(0);
    for (int64_t i = 1; i < span->n; i++) {
        falls |= below(t[i], t[i - 1]);
        rises &= below(t[i - 1], t[i]);
    }
    span->repeats = span->n > 1 && !(rises >> 63);
    if (falls >> 63) {
        span->repeats = false;
        TL_TRY(sort_span(s, span, err));
    }
    span->min = span->times[0];
    span->max = span->times[span->n - 1];
    return TL_OK;
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
