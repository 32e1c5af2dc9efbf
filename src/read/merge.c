/*
 * Reading by merging: the files of a partition are merged in key order, and of each (series, time) the last write is
 * kept. Needs no look at the keys beforehand and no place to go back to, only files that are sorted; one row group of
 * each file of a partition is in memory. Key and time filters, and deletes, apply before the merge: they concern all
 * copies of a key alike, or a row that is not there.
 *
 * Files that are not sorted are sorted in memory first, within `memory-limit`. That a file is as sorted as it says is
 * checked row by row.
 */
#include "read/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/rows.h"
#include "read/selection.h"
#include "table/rows.h"
#include "table/settings.h"

enum { BATCH_ROWS = 65536, DECODED_PER_BYTE = 8 /* of a file's bytes, about */ };

/* A file of the partition at hand. `at` is its next row; the batch lives until all that was picked of it is out. */
typedef struct source {
    const tl_plan_file *file;
    tl_open_file open;
    bool is_open;
    int32_t group;
    int64_t first_row; /* of the next row group in the file */
    tl_rows rows;
    int64_t at;
    int64_t *run_ends;             /* of the batch's rows of one series each */
    int64_t n_runs, cap_runs, run; /* `run` holds `at` */
    bool picked;                   /* rows of this batch wait to be put out */
    bool any;                      /* a batch came before: `last` is its last row */
    tl_rows last;
    tl_selection selection;
} source;

struct tl_merge {
    tl_plan *plan;
    const tl_plan_options *options;
    const tl_bytes *only;
    const tl_schema *schema;
    tl_projection out;  /* what is asked for */
    tl_projection read; /* and, after it, the columns that the merge looks at */
    int32_t *series;    /* in `read` */
    int32_t n_series, time, ingest;
    int64_t *order; /* plan->scan by partition, then (sequence number, path); or the files of a part, all at once */
    int64_t n_order, next; /* `next` in `order` */
    bool by_partition;
    source *sources;
    int32_t n_sources, cap_sources;
    int32_t *heap; /* sources with rows; the least key first */
    int32_t n_heap;
    tl_pick *picks; /* the last one may yet be replaced by a later write of its key */
    int64_t n_picks, cap_picks;
    int64_t last_ingest; /* of the last pick */
    tl_rows held;        /* the last pick, when its batch had to go: source number n_sources */
};

/* ---- keys ---- */

static int compare_series(const tl_merge *m, const tl_rows *a, int64_t i, const tl_rows *b, int64_t j) {
    for (int32_t k = 0; k < m->n_series; k++) {
        int32_t c = m->series[k];
        int order = tl_column_compare(&m->read.schema.fields[c].type, &a->columns[c], i, &b->columns[c], j);
        if (order) {
            return order;
        }
    }
    return 0;
}

static int64_t time_at(const tl_merge *m, const tl_rows *r, int64_t i) {
    return tl_load_i64(r->columns[m->time].values + i * 8);
}

static int64_t ingest_at(const tl_merge *m, const tl_rows *r, int64_t i) {
    if (m->ingest < 0 || tl_column_is_null(&r->columns[m->ingest], i)) {
        return INT64_MIN;
    }
    return tl_load_i64(r->columns[m->ingest].values + i * 8);
}

static int compare_keys(const tl_merge *m, const tl_rows *a, int64_t i, const tl_rows *b, int64_t j) {
    int order = compare_series(m, a, i, b, j);
    int64_t x = time_at(m, a, i), y = time_at(m, b, j);
    return order ? order : (x > y) - (x < y);
}

/* The heads of two sources; later files stand behind earlier ones. */
static bool goes_before(const tl_merge *m, int32_t a, int32_t b) {
    const source *x = &m->sources[a], *y = &m->sources[b];
    int order = compare_keys(m, &x->rows, x->at, &y->rows, y->at);
    return order ? order < 0 : a < b;
}

static void sink_down(tl_merge *m, int32_t i) {
    for (;;) {
        int32_t child = 2 * i + 1, least = i;
        for (int32_t k = child; k < child + 2 && k < m->n_heap; k++) {
            least = goes_before(m, m->heap[k], m->heap[least]) ? k : least;
        }
        if (least == i) {
            return;
        }
        int32_t swap = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = swap;
        i = least;
    }
}

/* ---- batches ---- */

static tl_status not_sorted(const source *s, tl_error *err) {
    return tl_fail(err, TL_UNSUPPORTED,
                   "data file %s is not sorted as its metadata say; read with read-dedup-strategy keys-first",
                   s->file->file->file.path);
}

/* One row group's wanted rows; no rows = none, or the file has ended (then `*ended`). */
static tl_status read_group(tl_merge *m, source *s, tl_rows *out, bool *ended, tl_error *err) {
    *out = (tl_rows){0};
    *ended = s->group == s->open.meta->n_row_groups;
    if (*ended) {
        return TL_OK;
    }
    int32_t g = s->group++;
    int64_t rows = s->open.meta->row_groups[g].n_rows, first = s->first_row;
    s->first_row += rows;
    if (rows == 0) {
        return TL_OK;
    }
    tl_status status = tl_selection_make(m->plan->table, m->schema, &s->open, s->file, g, first, m->options, m->only,
                                         &s->selection, err);
    if (status != TL_OK) {
        return tl_open_file_failed(&s->open, status, err);
    }
    if (s->selection.rows == 0) {
        return TL_OK;
    }
    bool all = s->selection.rows == rows;
    struct ArrowArray array;
    TL_TRY(
        tl_rows_read(&s->open, g, all ? NULL : s->selection.ranges, all ? 0 : s->selection.n, &m->read, &array, err));
    return tl_rows_from_arrow(&m->read.schema, &m->read.arrow, &array, out, err);
}

static tl_status add_run(source *s, int64_t end, tl_error *err) {
    if (s->n_runs == s->cap_runs) {
        int64_t cap = s->cap_runs ? s->cap_runs * 2 : 64;
        int64_t *ends = tl_realloc_array(s->run_ends, (size_t)cap, sizeof *ends);
        if (!ends) {
            return tl_fail_memory(err, (size_t)cap * sizeof *ends);
        }
        s->run_ends = ends;
        s->cap_runs = cap;
    }
    s->run_ends[s->n_runs++] = end;
    return TL_OK;
}

/* The order of a batch's rows is checked here, within it and against the last row before it, and the runs of one series
 * are noted. Equal keys are fine: they are copies too. */
static tl_status look_over(const tl_merge *m, source *s, tl_error *err) {
    const tl_rows *r = &s->rows;
    s->n_runs = s->run = 0;
    if (s->any && compare_keys(m, &s->last, 0, r, 0) > 0) {
        return not_sorted(s, err);
    }
    for (int64_t i = 1; i < r->n_rows; i++) {
        int order = compare_series(m, r, i - 1, r, i);
        if (order > 0 || (order == 0 && time_at(m, r, i - 1) > time_at(m, r, i))) {
            return not_sorted(s, err);
        }
        if (order) {
            TL_TRY(add_run(s, i, err));
        }
    }
    return add_run(s, r->n_rows, err);
}

/* Keeps the last row of the batch at hand, then reads the next one. */
static tl_status next_rows(tl_merge *m, source *s, tl_error *err) {
    if (s->rows.n_rows > 0) {
        tl_pick last = {0, (uint32_t)(s->rows.n_rows - 1)};
        const tl_column *const columns[1] = {s->rows.columns};
        tl_rows_free(&s->last);
        TL_TRY(tl_rows_pick(columns, 1, s->rows.n_columns, &last, 1, &s->last, err));
        s->any = true;
    }
    tl_rows_free(&s->rows);
    s->at = 0;
    s->picked = false;
    bool ended = !s->is_open;
    while (!ended && s->rows.n_rows == 0) {
        tl_rows_free(&s->rows);
        TL_TRY(read_group(m, s, &s->rows, &ended, err));
    }
    return s->rows.n_rows > 0 ? look_over(m, s, err) : TL_OK;
}

/* ---- files that are not sorted ---- */

typedef struct sorting {
    const tl_merge *m;
    const tl_rows *parts;
} sorting;

static int compare_picks(const sorting *s, const tl_pick *a, const tl_pick *b) {
    const tl_rows *x = &s->parts[a->source], *y = &s->parts[b->source];
    int order = compare_keys(s->m, x, a->row, y, b->row);
    if (order == 0) {
        int64_t i = ingest_at(s->m, x, a->row), j = ingest_at(s->m, y, b->row);
        order = (i > j) - (i < j);
    }
    return order; /* else as they stand: the sort is stable */
}

/* A merge sort: stable, and its comparisons need a context. */
static void sort_picks(const sorting *s, tl_pick *picks, tl_pick *scratch, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t mid = from + width < n ? from + width : n, end = from + 2 * width < n ? from + 2 * width : n;
            for (int64_t a = from, b = mid, to = from; to < end; to++) {
                bool left = b == end || (a < mid && compare_picks(s, &picks[a], &picks[b]) <= 0);
                scratch[to] = left ? picks[a++] : picks[b++];
            }
        }
        memcpy(picks, scratch, (size_t)n * sizeof *picks);
    }
}

static tl_status sort_parts(tl_merge *m, source *s, const tl_rows *parts, uint32_t n_parts, int64_t n, tl_error *err) {
    tl_pick *picks = tl_alloc_array((size_t)n, sizeof *picks), *scratch = tl_alloc_array((size_t)n, sizeof *scratch);
    const tl_column **columns = tl_alloc_array(n_parts, sizeof *columns);
    tl_status status = picks && scratch && columns ? TL_OK : tl_fail_memory(err, (size_t)n * 2 * sizeof *picks);
    int64_t at = 0;
    for (uint32_t p = 0; status == TL_OK && p < n_parts; p++) {
        columns[p] = parts[p].columns;
        for (int64_t i = 0; i < parts[p].n_rows; i++) {
            picks[at++] = (tl_pick){p, (uint32_t)i};
        }
    }
    if (status == TL_OK && n > 0) {
        sort_picks(&(sorting){m, parts}, picks, scratch, n);
        status = tl_rows_pick(columns, n_parts, m->read.schema.n_fields, picks, n, &s->rows, err);
    }
    tl_free(picks);
    tl_free(scratch);
    tl_free((void *)columns);
    return status;
}

/* The whole file in memory, sorted; the file is closed. */
static tl_status read_unsorted(tl_merge *m, source *s, tl_error *err) {
    int64_t limit = tl_setting_int(&m->plan->table->metadata, "memory-limit");
    const tl_data_file *f = &s->file->file->file;
    if (f->file_size > limit / DECODED_PER_BYTE || f->record_count > INT32_MAX) {
        return tl_fail(err, TL_UNSUPPORTED,
                       "data file %s is not sorted, and too large to be sorted within memory-limit; read with "
                       "read-dedup-strategy keys-first",
                       f->path);
    }
    uint32_t n_parts = 0;
    int64_t n = 0;
    tl_rows *parts = tl_calloc((size_t)s->open.meta->n_row_groups, sizeof *parts);
    tl_status status = parts ? TL_OK : tl_fail_memory(err, sizeof *parts);
    for (bool ended = false; status == TL_OK && !ended && s->group < s->open.meta->n_row_groups;) {
        status = read_group(m, s, &parts[n_parts], &ended, err);
        n += status == TL_OK ? parts[n_parts].n_rows : 0;
        n_parts += status == TL_OK && parts[n_parts].n_rows > 0;
    }
    if (status == TL_OK) {
        status = sort_parts(m, s, parts, n_parts, n, err);
    }
    for (uint32_t p = 0; parts && p < n_parts; p++) {
        tl_rows_free(&parts[p]);
    }
    tl_free(parts);
    tl_open_file_close(&s->open);
    s->is_open = false;
    return status == TL_OK && s->rows.n_rows > 0 ? look_over(m, s, err) : status;
}

/* ---- partitions ---- */

static void close_sources(tl_merge *m) {
    for (int32_t i = 0; i < m->n_sources; i++) {
        source *s = &m->sources[i];
        tl_rows_free(&s->rows);
        tl_rows_free(&s->last);
        tl_selection_free(&s->selection);
        tl_free(s->run_ends);
        if (s->is_open) {
            tl_open_file_close(&s->open);
        }
    }
    m->n_sources = m->n_heap = 0;
}

int tl_merge_compare_partitions(const tl_data_file *a, const tl_data_file *b) {
    if (a->spec_id != b->spec_id || a->n_partition != b->n_partition) {
        return a->spec_id != b->spec_id ? (a->spec_id < b->spec_id ? -1 : 1) : a->n_partition - b->n_partition;
    }
    for (int32_t i = 0; i < a->n_partition; i++) {
        tl_bytes x = a->partition[i].value, y = b->partition[i].value;
        size_t n = x.len < y.len ? x.len : y.len;
        int order = n ? memcmp(x.data, y.data, n) : 0;
        if (order || x.len != y.len) {
            return order ? order : x.len < y.len ? -1 : 1;
        }
    }
    return 0;
}

/* plan->scan is in the order of (sequence number, path), newest first. */
static int by_partition(const void *a, const void *b, void *ctx) {
    const tl_plan *plan = ctx;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    int order = tl_merge_compare_partitions(&plan->scan[i].file->file, &plan->scan[k].file->file);
    return order ? order : (i < k) - (i > k);
}

/* Partition values keep keys apart only where all files have them by one spec. */
bool tl_merge_one_spec(const tl_plan *plan) {
    for (int64_t i = 1; i < plan->n_scan; i++) {
        if (plan->scan[i].file->file.spec_id != plan->scan[0].file->file.spec_id) {
            return false;
        }
    }
    return true;
}

static tl_status order_files(tl_merge *m, const tl_scan_part *part, tl_error *err) {
    int64_t n = part ? part->n_files : m->plan->n_scan;
    m->order = tl_alloc_array((size_t)n + 1, sizeof *m->order);
    if (!m->order) {
        return tl_fail_memory(err, (size_t)n * sizeof *m->order);
    }
    m->n_order = n;
    for (int64_t i = 0; i < n; i++) {
        m->order[i] = part ? part->files[i] : n - 1 - i;
    }
    m->by_partition = !part && tl_merge_one_spec(m->plan);
    if (n && m->by_partition) {
        qsort_r(m->order, (size_t)n, sizeof *m->order, by_partition, m->plan);
    }
    return TL_OK;
}

static bool is_sorted(const tl_merge *m, const tl_data_file *f) {
    int32_t id = m->plan->table->metadata.default_sort_order_id;
    return id > 0 && f->sort_order_id == id;
}

static tl_status open_source(tl_merge *m, const tl_plan_file *file, tl_error *err) {
    source *s = &m->sources[m->n_sources++];
    *s = (source){.file = file};
    TL_TRY(tl_open_file_open(m->plan->table, file->file, &s->open, err));
    s->is_open = true;
    TL_TRY(is_sorted(m, &file->file->file) ? next_rows(m, s, err) : read_unsorted(m, s, err));
    if (s->rows.n_rows > 0) {
        m->heap[m->n_heap++] = m->n_sources - 1;
    }
    return TL_OK;
}

/* Opens the files of the next partition; none left = n_heap stays 0. */
static tl_status next_partition(tl_merge *m, tl_error *err) {
    while (m->n_heap == 0 && m->next < m->n_order) {
        close_sources(m);
        int64_t from = m->next, to = from + 1;
        while (to < m->n_order &&
               (!m->by_partition || tl_merge_compare_partitions(&m->plan->scan[m->order[to]].file->file,
                                                                &m->plan->scan[m->order[from]].file->file) == 0)) {
            to++;
        }
        if (to - from > m->cap_sources) {
            source *sources = tl_realloc_array(m->sources, (size_t)(to - from), sizeof *sources);
            m->sources = sources ? sources : m->sources;
            int32_t *heap = tl_realloc_array(m->heap, (size_t)(to - from), sizeof *heap);
            m->heap = heap ? heap : m->heap;
            if (!sources || !heap) {
                return tl_fail_memory(err, (size_t)(to - from) * sizeof *sources);
            }
            m->cap_sources = (int32_t)(to - from);
        }
        for (m->next = from; m->next < to; m->next++) {
            TL_TRY(open_source(m, &m->plan->scan[m->order[m->next]], err));
        }
        for (int32_t i = m->n_heap / 2; i-- > 0;) {
            sink_down(m, i);
        }
    }
    return TL_OK;
}

/* ---- the merge ---- */

static const tl_rows *rows_of(const tl_merge *m, tl_pick p) {
    return p.source == (uint32_t)m->n_sources ? &m->held : &m->sources[p.source].rows;
}

/* Puts the picks out. With `hold` the last one stays, copied: its batch goes, and a later write of its key may come. */
static tl_status put_out(tl_merge *m, bool hold, struct ArrowArray *out, tl_error *err) {
    const tl_column **columns = tl_alloc_array((size_t)m->n_sources + 1, sizeof *columns);
    if (!columns) {
        return tl_fail_memory(err, (size_t)m->n_sources * sizeof *columns);
    }
    const tl_column *some = rows_of(m, m->picks[0])->columns; /* also where a source has ended: kinds are looked at */
    for (int32_t i = 0; i < m->n_sources; i++) {
        columns[i] = m->sources[i].rows.n_rows > 0 ? m->sources[i].rows.columns : some;
        m->sources[i].picked = false;
    }
    columns[m->n_sources] = m->held.columns;
    uint32_t n = (uint32_t)m->n_sources + (m->held.n_rows > 0);
    int64_t n_out = m->n_picks - hold;
    tl_rows rows = {0}, held = {0};
    tl_status status = TL_OK;
    if (n_out > 0) {
        status = tl_rows_pick(columns, n, m->out.schema.n_fields, m->picks, n_out, &rows, err);
    }
    if (status == TL_OK && hold) {
        status = tl_rows_pick(columns, n, m->read.schema.n_fields, &m->picks[n_out], 1, &held, err);
    }
    if (status == TL_OK && n_out > 0) {
        status = tl_rows_to_arrow(&m->out.schema, &rows, out, err);
    }
    tl_free((void *)columns);
    tl_rows_free(&rows);
    tl_rows_free(&m->held);
    m->held = held;
    m->n_picks = 0;
    if (hold) {
        m->picks[m->n_picks++] = (tl_pick){(uint32_t)m->n_sources, 0};
    }
    return status;
}

static bool has_last_key(const tl_merge *m, const source *s, int64_t row) {
    if (m->n_picks == 0) {
        return false;
    }
    tl_pick last = m->picks[m->n_picks - 1];
    const tl_rows *rows = rows_of(m, last);
    return time_at(m, rows, last.row) == time_at(m, &s->rows, row) &&
           compare_series(m, rows, last.row, &s->rows, row) == 0;
}

/* The next row in key order, older files first. */
static tl_status take_row(tl_merge *m, int32_t at, int64_t row, tl_error *err) {
    source *s = &m->sources[at];
    int64_t ingest = ingest_at(m, &s->rows, row);
    tl_pick p = {(uint32_t)at, (uint32_t)row};
    if (has_last_key(m, s, row)) {
        if (ingest >= m->last_ingest) {
            m->picks[m->n_picks - 1] = p;
            m->last_ingest = ingest;
            s->picked = true;
        }
        return TL_OK;
    }
    if (m->n_picks == m->cap_picks) {
        int64_t cap = m->cap_picks ? m->cap_picks * 2 : 4096;
        tl_pick *picks = tl_realloc_array(m->picks, (size_t)cap, sizeof *picks);
        if (!picks) {
            return tl_fail_memory(err, (size_t)cap * sizeof *picks);
        }
        m->picks = picks;
        m->cap_picks = cap;
    }
    m->picks[m->n_picks++] = p;
    m->last_ingest = ingest;
    s->picked = true;
    return TL_OK;
}

/* The least head of the others. NULL = there are none. */
static const source *next_source(const tl_merge *m) {
    if (m->n_heap < 2) {
        return NULL;
    }
    int32_t k = m->n_heap > 2 && goes_before(m, m->heap[2], m->heap[1]) ? 2 : 1;
    return &m->sources[m->heap[k]];
}

/* Rows of the root up to the next source's head; at least one. */
static tl_status take_stretch(tl_merge *m, tl_error *err) {
    int32_t at = m->heap[0];
    source *s = &m->sources[at];
    const source *bound = next_source(m);
    bool first = true;
    while (s->at < s->rows.n_rows && m->n_picks < BATCH_ROWS) {
        int64_t end = s->run_ends[s->run];
        int order = bound ? compare_series(m, &s->rows, s->at, &bound->rows, bound->at) : -1;
        int64_t limit = order < 0 ? INT64_MAX : order > 0 ? INT64_MIN : time_at(m, &bound->rows, bound->at);
        while (s->at < end && (first || order < 0 || time_at(m, &s->rows, s->at) < limit) && m->n_picks < BATCH_ROWS) {
            TL_TRY(take_row(m, at, s->at++, err));
            first = false;
        }
        if (s->at < end) {
            break;
        }
        s->run++;
    }
    return TL_OK;
}

/* The root's batch has ended: the next one, or none. */
static tl_status next_batch(tl_merge *m, tl_error *err) {
    source *s = &m->sources[m->heap[0]];
    TL_TRY(next_rows(m, s, err));
    if (s->rows.n_rows == 0) {
        m->heap[0] = m->heap[--m->n_heap];
    }
    return TL_OK;
}

tl_status tl_merge_next(tl_merge *m, struct ArrowArray *out, tl_error *err) {
    out->release = NULL;
    while (!out->release) {
        if (m->n_heap == 0) { /* no key goes on in another partition */
            if (m->n_picks > 0) {
                return put_out(m, false, out, err);
            }
            TL_TRY(next_partition(m, err));
            if (m->n_heap == 0) {
                return TL_OK;
            }
        }
        source *s = &m->sources[m->heap[0]];
        bool ended = s->at == s->rows.n_rows;
        if (m->n_picks >= BATCH_ROWS || (ended && s->picked)) {
            TL_TRY(put_out(m, true, out, err));
        } else {
            TL_TRY(ended ? next_batch(m, err) : take_stretch(m, err));
            if (ended || s->at < s->rows.n_rows) { /* a root without rows stays where it is until it has some */
                sink_down(m, 0);
            }
        }
    }
    return TL_OK;
}

/* ---- making one ---- */

/* Finds a column in `read`, adding it behind the others when it is not there; columns[0 .. *n) are those so far. */
static int32_t place_column(int32_t *columns, int32_t *n, int32_t column) {
    for (int32_t i = 0; i < *n; i++) {
        if (columns[i] == column) {
            return i;
        }
    }
    columns[*n] = column;
    return (*n)++;
}

static tl_status choose_columns(tl_merge *m, const int32_t *columns, int32_t n_columns, tl_error *err) {
    const tl_contract *c = &m->plan->table->contract;
    int32_t n = columns ? n_columns : m->schema->n_fields;
    size_t most = (size_t)n + (size_t)c->n_series + 2;
    int32_t *all = tl_alloc_array(most, sizeof *all);
    m->series = tl_alloc_array((size_t)c->n_series + 1, sizeof *m->series);
    tl_status status = all && m->series ? TL_OK : tl_fail_memory(err, most * sizeof *all);
    for (int32_t i = 0; status == TL_OK && i < n; i++) {
        all[i] = columns ? columns[i] : i;
    }
    if (status == TL_OK) {
        status = tl_projection_make(m->schema, columns, n_columns, &m->out, err);
    }
    if (status == TL_OK) {
        m->n_series = c->n_series;
        for (int32_t k = 0; k < c->n_series; k++) {
            m->series[k] = place_column(all, &n, c->series[k]);
        }
        m->time = place_column(all, &n, c->time);
        m->ingest = c->ingest >= 0 ? place_column(all, &n, c->ingest) : -1;
        status = tl_projection_make(m->schema, all, n, &m->read, err);
    }
    tl_free(all);
    return status;
}

tl_status tl_merge_create(tl_plan *plan, const tl_plan_options *options, const tl_bytes *only, const tl_scan_part *part,
                          const int32_t *columns, int32_t n_columns, tl_merge **out, tl_error *err) {
    *out = NULL;
    tl_merge *m = tl_calloc(1, sizeof *m);
    if (!m) {
        return tl_fail_memory(err, sizeof *m);
    }
    m->plan = tl_plan_retain(plan);
    m->options = options;
    m->only = only;
    m->schema = tl_plan_schema(plan->table, options->snapshot);
    tl_status status = choose_columns(m, columns, n_columns, err);
    if (status == TL_OK) {
        status = order_files(m, part, err);
    }
    if (status != TL_OK) {
        tl_merge_free(m);
        return status;
    }
    *out = m;
    return TL_OK;
}

void tl_merge_free(tl_merge *m) {
    if (!m) {
        return;
    }
    close_sources(m);
    tl_rows_free(&m->held);
    tl_free(m->sources);
    tl_free(m->heap);
    tl_free(m->picks);
    tl_free(m->order);
    tl_free(m->series);
    tl_projection_free(&m->out);
    tl_projection_free(&m->read);
    tl_plan_release(m->plan);
    tl_free(m);
}
