/*
 * Older copies (DESIGN 6, pass 1). Comes in: files, and which of them may share keys. Goes out: the rows among them
 * that a later write of the same (series, time) has replaced, as a bitmap a file.
 *
 * Groups of files are taken in waves of about a million rows or some hundred files, larger ones in slabs of their keys.
 * In a wave the files' key columns are read, file by file; then spans are sorted by series and those of one series
 * compared, some series a task.
 */
#include <stdlib.h>
#include <string.h>

#include "read/older.h"

#include "read/copies.h"
#include "read/slabs.h"
#include "read/span_memo.h"

#define WAVE_ROWS (INT64_C(1) << 20)
#define WAVE_FILES 512
#define SLAB_ROWS (INT64_C(1) << 19)

static int64_t wave_rows = WAVE_ROWS, slab_rows = SLAB_ROWS;

void tl_older_set_limits(int64_t wave, int64_t slab) {
    wave_rows = wave ? wave : WAVE_ROWS;
    slab_rows = slab ? slab : SLAB_ROWS;
}

/* One file of a wave. */
typedef struct wave_file {
    tl_older_file *file;
    int64_t *times; /* room for its times, in the wave's buffer */
    tl_spans spans;
    tl_memo *memo; /* what the spans' times belong to; NULL = to the spans or the wave */
} wave_file;

typedef struct wave {
    const tl_older_search *search;
    tl_key_scratch *scratch; /* one per thread */
    int64_t *times;
    int64_t cap_times;
    wave_file *files;
    tl_older_file **by_number; /* by tl_span.file */
    int64_t n_files, n_known;  /* known ones come last */
    size_t first;              /* file of those being read */
    const tl_key_range *range; /* of a slab; NULL = all keys */
    tl_series_set set;
    tl_span **sorted; /* spans by series, then by least time */
    int64_t n_spans;
    int64_t *starts; /* of each series in `sorted`, n_series + 1 */
    int64_t *tasks;  /* first series of each task, n_tasks + 1 */
    int64_t n_series, n_tasks;
    bool shared;
} wave;

/* ---- reading ---- */

static tl_status read_file(void *ctx, size_t i, unsigned worker, tl_error *err) {
    wave *w = ctx;
    const tl_older_search *s = w->search;
    i += w->first;
    wave_file *wf = &w->files[i];
    const tl_older_file *file = wf->file;
    if (s->remember && !s->only && !w->range && file->live->file.record_count <= TL_SPAN_MEMO_ROWS) {
        return tl_span_memo_take(s->table, s->schema, file->live, file->known ? &w->set : NULL, &w->scratch[worker],
                                 (int32_t)i, &wf->spans, &wf->memo, err);
    }
    tl_key_request request = {.only = s->only,
                              .range = w->range,
                              .among = file->known ? &w->set : NULL,
                              .has_window = s->has_window || file->has_window,
                              .from_us = INT64_MIN,
                              .to_us = INT64_MAX,
                              .times = wf->times,
                              .n_times = file->live->file.record_count,
                              .steps = true,
                              .scratch = &w->scratch[worker]};
    if (file->has_window) {
        request.from_us = file->from_us;
        request.to_us = file->to_us;
    }
    if (s->has_window) {
        request.from_us = request.from_us > s->from_us ? request.from_us : s->from_us;
        request.to_us = request.to_us < s->to_us ? request.to_us : s->to_us;
    }
    tl_open_file f;
    TL_TRY(tl_open_file_with(s->table, file->live, &w->scratch[worker], &f, err));
    tl_status status = tl_keys_spans(s->table, s->schema, &request, &f, (int32_t)i, &wf->spans, err);
    tl_open_file_close(&f);
    return status;
}

/* ---- sorting spans by series ---- */

/* Groups share no keys, though perhaps series: then spans of these do not overlap. */
static tl_status number_spans(wave *w, int64_t from, int64_t to, tl_error *err) {
    for (int64_t i = from; i < to; i++) {
        tl_spans *spans = &w->files[i].spans;
        int32_t number = -1;
        for (int64_t k = 0; k < spans->n; k++) {
            tl_bytes key = {spans->items[k].key, spans->items[k].key_len};
            TL_TRY(tl_series_number_after(&w->set, number, key, &number, err));
            spans->items[k].series = number;
        }
        w->n_spans += spans->n;
    }
    w->n_series = w->set.n;
    return TL_OK;
}

static int by_least_time(const void *a, const void *b) {
    const tl_span *x = *(const tl_span *const *)a, *y = *(const tl_span *const *)b;
    if (x->min != y->min) {
        return x->min < y->min ? -1 : 1;
    }
    if (x->n != y->n) {
        return x->n < y->n ? -1 : 1;
    }
    if (x->file != y->file) {
        return x->file < y->file ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Files are read by ascending time, so spans stand in order but for a few. */
static void sort_series(tl_span **spans, int64_t n) {
    int64_t moves = 0;
    for (int64_t i = 1; i < n && moves < 16 * n; i++) {
        tl_span *span = spans[i];
        int64_t at = i;
        for (; at > 0 && by_least_time(&spans[at - 1], &span) > 0; at--, moves++) {
            spans[at] = spans[at - 1];
        }
        spans[at] = span;
    }
    if (moves >= 16 * n) {
        qsort(spans, (size_t)n, sizeof *spans, by_least_time);
    }
}

static tl_status sort_spans(wave *w, tl_error *err) {
    size_t n = (size_t)w->n_spans, n_series = (size_t)w->n_series;
    w->sorted = tl_alloc_array(n, sizeof(tl_span *));
    w->starts = tl_calloc(n_series + 2, sizeof *w->starts);
    if (!w->sorted || !w->starts) {
        return tl_fail_memory(err, n * sizeof(tl_span *) + n_series * sizeof *w->starts);
    }
    for (int64_t i = 0; i < w->n_files; i++) {
        for (int64_t k = 0; k < w->files[i].spans.n; k++) {
            w->starts[w->files[i].spans.items[k].series + 2]++;
        }
    }
    for (size_t s = 1; s < n_series + 2; s++) {
        w->starts[s] += w->starts[s - 1];
    }
    for (int64_t i = 0; i < w->n_files; i++) { /* starts[s + 1] moves from the begin of s to its end */
        for (int64_t k = 0; k < w->files[i].spans.n; k++) {
            tl_span *span = &w->files[i].spans.items[k];
            w->sorted[w->starts[span->series + 1]++] = span;
        }
    }
    return TL_OK;
}

/* ---- comparing ---- */

static tl_status mark_task(void *ctx, size_t t, unsigned worker, tl_error *err) {
    (void)worker;
    const wave *w = ctx;
    const tl_older_search *s = w->search;
    const tl_copies copies = {.files = w->by_number,
                              .shared = w->shared,
                              .deletes = s->deletes,
                              .settled = s->settled,
                              .from_us = s->has_window ? s->from_us : INT64_MIN,
                              .to_us = s->has_window ? s->to_us : INT64_MAX};
    for (int64_t i = w->tasks[t]; i < w->tasks[t + 1]; i++) {
        int64_t from = w->starts[i], n = w->starts[i + 1] - from;
        if (n > 1 || (n == 1 && w->sorted[from]->repeats)) {
            sort_series(w->sorted + from, n);
            TL_TRY(tl_copies_mark(&copies, w->sorted + from, n, err));
        }
    }
    return TL_OK;
}

/* Some series a task: about as many spans in each. */
static tl_status cut_tasks(wave *w, tl_error *err) {
    int64_t most = tl_pool_threads(w->search->pool) > 1 ? (int64_t)tl_pool_threads(w->search->pool) * 8 : 1;
    w->tasks = tl_alloc_array((size_t)most + 1, sizeof *w->tasks);
    if (!w->tasks) {
        return tl_fail_memory(err, (size_t)most * sizeof *w->tasks);
    }
    int64_t each = w->n_spans / most + 1;
    w->n_tasks = 0;
    w->tasks[0] = 0;
    for (int64_t s = 0; s < w->n_series; s++) {
        if (w->n_tasks + 1 < most && w->starts[s] - w->starts[w->tasks[w->n_tasks]] >= each) {
            w->tasks[++w->n_tasks] = s;
        }
    }
    w->tasks[++w->n_tasks] = w->n_series;
    w->shared = w->n_tasks > 1;
    return TL_OK;
}

/* Each file gets a bitmap that no one else knows; those in which nothing is found go again. */
static tl_status open_bitmaps(const wave *w, tl_error *err) {
    for (int64_t i = 0; i < w->n_files; i++) {
        tl_older_file *f = w->files[i].file;
        tl_bitmap *own = f->older ? tl_bitmap_copy(f->older) : tl_bitmap_create(f->live->file.record_count);
        if (!own) {
            return tl_fail_memory(err, (size_t)f->live->file.record_count / 8);
        }
        tl_bitmap_release(f->older);
        f->older = own;
    }
    return TL_OK;
}

static void close_bitmaps(const wave *w) {
    for (int64_t i = 0; i < w->n_files; i++) {
        tl_older_file *f = w->files[i].file;
        f->older->n_set = tl_bits_count(f->older->bits, 0, f->older->n_rows);
        if (f->older->n_set == 0) {
            tl_bitmap_release(f->older);
            f->older = NULL;
        }
    }
}

/* ---- waves ---- */

static tl_status make_room(wave *w, int64_t rows, tl_error *err) {
    if (rows <= w->cap_times) {
        return TL_OK;
    }
    tl_free(w->times);
    w->cap_times = 0;
    w->times = tl_alloc_array((size_t)rows, sizeof *w->times);
    if (!w->times) {
        return tl_fail_memory(err, (size_t)rows * sizeof *w->times);
    }
    w->cap_times = rows;
    return TL_OK;
}

/* Files that are known come last: of them only series matter that the others have. */
static void place_files(wave *w, const tl_group *groups, int64_t n, int64_t *times) {
    w->n_files = w->n_known = 0;
    for (int known = 0; known < 2; known++) {
        for (int64_t g = 0; g < n; g++) {
            for (int64_t i = 0; i < groups[g].n; i++) {
                tl_older_file *f = groups[g].files[i];
                if (f->known != (known == 1)) {
                    continue;
                }
                w->by_number[w->n_files] = f;
                w->files[w->n_files++] = (wave_file){.file = f, .times = times};
                w->n_known += known;
                times = times ? times + f->live->file.record_count : NULL;
            }
        }
    }
}

static tl_status fill_wave(wave *w, const tl_group *groups, int64_t n, tl_error *err) {
    int64_t rows = 0, files = 0;
    for (int64_t g = 0; g < n; g++) {
        files += groups[g].n;
        rows += groups[g].rows;
    }
    bool narrow = w->search->only || w->search->has_window; /* only a part of the rows: blocks as they come */
    TL_TRY(narrow ? TL_OK : make_room(w, rows, err));
    w->files = tl_calloc((size_t)files, sizeof *w->files);
    w->by_number = tl_alloc_array((size_t)files, sizeof(tl_older_file *));
    if (!w->files || !w->by_number) {
        return tl_fail_memory(err, (size_t)files * sizeof *w->files);
    }
    place_files(w, groups, n, narrow ? NULL : w->times);
    return TL_OK;
}

static void empty_wave(wave *w) {
    for (int64_t i = 0; i < w->n_files; i++) {
        tl_spans_free(&w->files[i].spans);
        tl_memo_release(w->files[i].memo);
    }
    tl_free(w->files);
    tl_free(w->by_number);
    tl_free(w->sorted);
    tl_free(w->starts);
    tl_free(w->tasks);
    tl_series_set_free(&w->set);
    w->files = NULL;
    w->by_number = NULL;
    w->sorted = NULL;
    w->starts = NULL;
    w->tasks = NULL;
    w->n_files = w->n_spans = 0;
}

static tl_status read_files(wave *w, int64_t from, int64_t to, tl_error *err) {
    w->first = (size_t)from;
    TL_TRY(tl_pool_run(w->search->pool, (size_t)(to - from), read_file, w, err));
    return number_spans(w, from, to, err);
}

static tl_status fill_and_compare(wave *w, const tl_group *groups, int64_t n, tl_error *err) {
    TL_TRY(fill_wave(w, groups, n, err));
    TL_TRY(read_files(w, 0, w->n_files - w->n_known, err));
    TL_TRY(read_files(w, w->n_files - w->n_known, w->n_files, err));
    TL_TRY(sort_spans(w, err));
    TL_TRY(cut_tasks(w, err));
    TL_TRY(open_bitmaps(w, err));
    tl_status status = tl_pool_run(w->search->pool, (size_t)w->n_tasks, mark_task, w, err);
    close_bitmaps(w);
    return status;
}

static tl_status run_wave(wave *w, const tl_group *groups, int64_t n, const tl_key_range *range, tl_error *err) {
    w->range = range;
    tl_status status = fill_and_compare(w, groups, n, err);
    empty_wave(w);
    return status;
}

/* A group that is too large for a wave: slab by slab. */
static tl_status run_slabs(wave *w, const tl_group *group, tl_error *err) {
    tl_slabs slabs;
    TL_TRY(tl_slabs_cut(w->search->table, w->search->schema, group, slab_rows, &w->scratch[0], &slabs, err));
    tl_status status = TL_OK;
    for (int64_t i = 0; i < slabs.n && status == TL_OK; i++) {
        status = run_wave(w, group, 1, slabs.n > 1 ? &slabs.items[i] : NULL, err);
    }
    tl_slabs_free(&slabs);
    return status;
}

/* Where the wave that begins with group `from` ends. */
static int64_t wave_end(const tl_groups *groups, int64_t from) {
    int64_t to = from, rows = 0, files = 0;
    do {
        rows += groups->items[to].rows;
        files += groups->items[to++].n;
    } while (to < groups->n && rows + groups->items[to].rows <= wave_rows && files + groups->items[to].n <= WAVE_FILES);
    return to;
}

tl_status tl_older_find(const tl_older_search *search, const tl_groups *groups, tl_error *err) {
    unsigned threads = tl_pool_threads(search->pool);
    wave w = {.search = search, .scratch = tl_calloc(threads, sizeof *w.scratch)};
    tl_status status = w.scratch ? TL_OK : tl_fail_memory(err, threads * sizeof *w.scratch);
    for (int64_t from = 0; from < groups->n && status == TL_OK;) {
        int64_t to = wave_end(groups, from);
        bool large = groups->items[from].rows > wave_rows && !search->only;
        status =
            large ? run_slabs(&w, &groups->items[from], err) : run_wave(&w, groups->items + from, to - from, NULL, err);
        from = to;
    }
    for (unsigned t = 0; w.scratch && t < threads; t++) {
        tl_key_scratch_free(&w.scratch[t]);
    }
    tl_free(w.scratch);
    tl_free(w.times);
    return status;
}
