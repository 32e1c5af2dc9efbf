/*
 * The newest row of each series: by (time, insertion time, sequence number, position). From the last-value index when
 * the snapshot has one that can be read; else from the key columns of all files, then the rows themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "append/align.h"
#include "read/rows.h"

/* The newest row of a series found so far. */
typedef struct newest {
    bool found;
    int64_t time, ingest;
    int32_t file; /* in plan->scan; plan->scan[file].file orders by (sequence number, path) */
    int64_t row;
} newest;

static bool is_newer(const tl_plan *plan, const newest *a, const newest *b) {
    if (!b->found) {
        return true;
    }
    if (a->time != b->time) {
        return a->time > b->time;
    }
    if (a->ingest != b->ingest) {
        return a->ingest > b->ingest;
    }
    if (a->file != b->file) {
        return plan->scan[a->file].file > plan->scan[b->file].file;
    }
    return a->row > b->row;
}

/* The last live row of a span, offered to its series. */
static void offer_span(const tl_plan *plan, const tl_span *s, newest *best) {
    const uint8_t *hidden = plan->scan[s->file].hidden;
    int64_t newest_time = 0;
    bool any = false;
    for (int64_t i = s->n; i-- > 0;) {
        int64_t at = s->rows ? s->rows[i] : i;
        if (hidden && tl_bit(hidden, s->row + at)) {
            continue;
        }
        if (any && s->times[i] < newest_time) {
            break; /* the rest is older */
        }
        newest n = {true, s->times[i], s->ingests ? s->ingests[at] : s->ingest, s->file, s->row + at};
        if (is_newer(plan, &n, &best[s->series])) {
            best[s->series] = n;
        }
        any = true;
        newest_time = s->times[i];
    }
}

static tl_status find_newest(tl_plan *plan, const tl_schema *schema, tl_series_set *set, newest **out, tl_error *err) {
    newest *best = NULL;
    int32_t known = 0;
    tl_status status = TL_OK;
    for (int64_t i = 0; i < plan->n_scan && status == TL_OK; i++) {
        tl_open_file f;
        tl_spans spans = {0};
        status = tl_open_file_open(plan->table, plan->scan[i].file, &f, err);
        if (status != TL_OK) {
            break;
        }
        status = tl_keys_read(plan->table, schema, &f, (int32_t)i, NULL, set, &spans, err);
        tl_open_file_close(&f);
        if (status == TL_OK && set->n > known) {
            newest *grown = tl_realloc_array(best, (size_t)set->n, sizeof *best);
            if (grown) {
                memset(grown + known, 0, (size_t)(set->n - known) * sizeof *grown);
                best = grown;
                known = set->n;
            } else {
                status = tl_fail_memory(err, (size_t)set->n * sizeof *best);
            }
        }
        for (int64_t s = 0; s < spans.n && status == TL_OK; s++) {
            offer_span(plan, &spans.items[s], best);
        }
        tl_spans_free(&spans);
    }
    *out = best;
    return status;
}

static int by_place(const void *a, const void *b) {
    const newest *x = a, *y = b;
    if (x->file != y->file) {
        return x->file < y->file ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Rows from many files. */
typedef struct pieces {
    tl_rows *items;
    int32_t n, cap;
} pieces;

static tl_status add_piece(pieces *p, struct ArrowArray *array, const tl_projection *projection, tl_error *err) {
    if (p->n == p->cap) {
        int32_t cap = p->cap ? p->cap * 2 : 16;
        tl_rows *items = tl_realloc_array(p->items, (size_t)cap, sizeof *items);
        if (!items) {
            array->release(array);
            return tl_fail_memory(err, (size_t)cap * sizeof *items);
        }
        p->items = items;
        p->cap = cap;
    }
    TL_TRY(tl_rows_from_arrow(&projection->schema, &projection->arrow, array, &p->items[p->n], err));
    p->n++;
    return TL_OK;
}

/* Reads the rows best[from, to), all of one file. */
static tl_status read_rows(tl_plan *plan, const newest *best, int64_t n, const tl_projection *projection, pieces *out,
                           tl_error *err) {
    tl_open_file f;
    TL_TRY(tl_open_file_open(plan->table, plan->scan[best[0].file].file, &f, err));
    tl_pq_row_range *ranges = tl_alloc_array((size_t)n, sizeof *ranges);
    tl_status status = ranges ? TL_OK : tl_fail_memory(err, (size_t)n * sizeof *ranges);
    int64_t first = 0, at = 0;
    for (int32_t g = 0; g < f.meta->n_row_groups && status == TL_OK && at < n; g++) {
        int64_t rows = f.meta->row_groups[g].n_rows;
        int32_t n_ranges = 0;
        for (; at < n && best[at].row < first + rows; at++) {
            ranges[n_ranges++] = (tl_pq_row_range){best[at].row - first, 1};
        }
        first += rows;
        if (n_ranges) {
            struct ArrowArray array = {0};
            status = tl_rows_read(&f, g, ranges, n_ranges, projection, &array, err);
            if (status == TL_OK) {
                status = add_piece(out, &array, projection, err);
            }
        }
    }
    tl_free(ranges);
    tl_open_file_close(&f);
    return status;
}

tl_status tl_latest_by_scan(tl_table *table, tl_pool *pool, tl_rows *out, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    tl_plan *plan = NULL;
    TL_TRY(tl_plan_create(table, &(tl_plan_options){.keep_copies = true, .pool = pool}, &plan, err));
    tl_series_set set = {0};
    newest *best = NULL;
    tl_projection projection = {0};
    pieces found = {0};
    tl_status status = find_newest(plan, schema, &set, &best, err);
    if (status == TL_OK) {
        status = tl_projection_make(schema, NULL, 0, &projection, err);
    }
    int64_t n = 0; /* a series whose rows are all deleted has none */
    for (int32_t i = 0; best && i < set.n; i++) {
        if (best[i].found) {
            best[n++] = best[i];
        }
    }
    if (status == TL_OK && n) {
        qsort(best, (size_t)n, sizeof *best, by_place);
    }
    for (int64_t from = 0, to; from < n && status == TL_OK; from = to) {
        for (to = from + 1; to < n && best[to].file == best[from].file; to++) {}
        status = read_rows(plan, best + from, to - from, &projection, &found, err);
    }
    if (status == TL_OK) {
        status = tl_last_values_join(schema, &table->contract, found.items, found.n, out, err);
    }
    for (int32_t i = 0; i < found.n; i++) {
        tl_rows_free(&found.items[i]);
    }
    tl_free(found.items);
    tl_projection_free(&projection);
    tl_free(best);
    tl_series_set_free(&set);
    tl_plan_release(plan);
    return status;
}

tl_status tl_latest_rows(tl_table *table, tl_pool *pool, tl_rows *out, tl_error *err) {
    *out = (tl_rows){0};
    if (table->contract.time < 0) {
        return tl_fail(err, TL_INVALID, "table %s has no time column, so it has no newest rows", table->name);
    }
    const tl_snapshot *current = tl_metadata_current(&table->metadata);
    if (!current) {
        return TL_OK;
    }
    if (tl_last_values_load(table, current, out, NULL) == TL_OK) {
        return TL_OK;
    }
    return tl_latest_by_scan(table, pool, out, err);
}
