/*
 * Compaction without decoding. Files stay sorted by (series, time), which readers rely on; so row groups can be taken
 * over as they are only where those of all files of a unit, put in the order of their keys, do not interleave: one
 * series, or none, in slices of time; devices that write files of their own; the files of one large append. Files that
 * each hold all series for an hour interleave, and are decoded.
 */
#include <stdlib.h>

#include "append/copy.h"
#include "base/mem.h"
#include "maintain/compact_internal.h"
#include "read/copy_groups.h"
#include "table/settings.h"

enum { SMALLEST_PART = 4 }; /* row groups of a quarter of the usual rows are large enough */

typedef struct copying {
    tl_plan *plan;
    const tl_compact_unit *unit;
    tl_file_copier *copier;
    const tl_pq_schema_element *schema;
    int32_t n_schema;
    const tl_plan_file **files;
    tl_copy_group *groups; /* each file's from its start on */
    int64_t *starts, *counts;
    bool *can;
    int64_t n; /* groups, once they are together */
} copying;

/* Cheap signs that it cannot be: order unknown, small row groups, series that overlap by the bounds. */
static bool may_copy(const copying *c) {
    const tl_plan *plan = c->plan;
    const tl_contract *contract = &plan->table->contract;
    const tl_schema *schema = tl_metadata_schema(&plan->table->metadata);
    int32_t order = plan->table->metadata.default_sort_order_id;
    const tl_data_file *first = &plan->files.data[c->unit->files[0]].file;
    int64_t groups = 0;
    for (int64_t i = 0; i < c->unit->n; i++) {
        const tl_data_file *f = &plan->files.data[c->unit->files[i]].file;
        bool share = false;
        if (order <= 0 || f->sort_order_id != order || f->n_split_offsets < 1) {
            return false;
        }
        if (i > 0 && contract->n_series > 0 &&
            (!tl_copy_series_overlap(&schema->fields[contract->series[0]], first, f, &share) || share)) {
            return false;
        }
        groups += f->n_split_offsets;
    }
    int64_t rows = tl_setting_int(&plan->table->metadata, "row-group-rows");
    return c->unit->n >= 2 && c->unit->rows / groups >= rows / SMALLEST_PART;
}

static tl_status prepare(copying *c, tl_error *err) {
    size_t n = (size_t)c->unit->n;
    c->files = tl_calloc(n, sizeof *c->files);
    c->starts = tl_calloc(n + 1, sizeof *c->starts);
    c->counts = tl_calloc(n, sizeof *c->counts);
    c->can = tl_calloc(n, sizeof *c->can);
    if (!c->files || !c->starts || !c->counts || !c->can) {
        return tl_fail_memory(err, n * sizeof *c->files);
    }
    for (size_t i = 0; i < n; i++) {
        c->files[i] = tl_compact_plan_file(c->plan, c->unit->files[i]);
        if (!c->files[i]) {
            return tl_fail(err, TL_INTERNAL, "a file that is to be compacted is not in the plan");
        }
        c->starts[i + 1] = c->starts[i] + c->files[i]->file->file.n_split_offsets;
    }
    c->groups = tl_calloc((size_t)c->starts[n], sizeof *c->groups);
    return c->groups ? TL_OK : tl_fail_memory(err, (size_t)c->starts[n] * sizeof *c->groups);
}

static tl_status examine(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    copying *c = ctx;
    return tl_copy_groups_read(c->plan, c->files[i], c->schema, c->n_schema, c->groups + c->starts[i],
                               c->starts[i + 1] - c->starts[i], &c->counts[i], &c->can[i], err);
}

static int by_first_key(const void *a, const void *b, void *ctx) {
    return tl_copy_groups_order(ctx, a, b);
}

/* All files' row groups together, in key order; false = they cannot be copied. */
static bool put_in_order(copying *c) {
    bool can = true;
    for (int64_t i = 0; i < c->unit->n; i++) {
        can = can && c->can[i];
        for (int64_t k = 0; k < c->counts[i]; k++) {
            c->groups[c->n++] = c->groups[c->starts[i] + k];
        }
    }
    if (!can || c->n == 0) {
        return false;
    }
    qsort_r(c->groups, (size_t)c->n, sizeof *c->groups, by_first_key, c->plan);
    for (int64_t i = 1; i < c->n; i++) {
        if (tl_copy_groups_compare(c->plan, &c->groups[i - 1], &c->groups[i]) >= 0) {
            return false;
        }
    }
    return true;
}

static tl_status take(void *ctx, tl_pq_chunk *chunks, int32_t n, tl_error *err) {
    (void)n;
    return tl_file_copier_add(ctx, chunks, err);
}

static tl_status copy_groups(copying *c, bool *done, tl_staged *out, tl_error *err) {
    bool can = true;
    for (int64_t from = 0, to; from < c->n && can; from = to) {
        for (to = from + 1; to < c->n && c->groups[to].file == c->groups[from].file;) {
            to++;
        }
        TL_TRY(tl_copy_groups_chunks(c->plan, c->groups + from, to - from, take, c->copier, &can, err));
    }
    *done = can;
    return can ? tl_file_copier_finish(c->copier, out, err) : TL_OK;
}

static tl_status copy(copying *c, tl_pool *pool, bool *done, tl_staged *out, tl_error *err) {
    TL_TRY(tl_file_copier_create(c->plan->table, c->unit->partition, &c->copier, err));
    c->schema = tl_file_copier_schema(c->copier, &c->n_schema);
    TL_TRY(prepare(c, err));
    TL_TRY(tl_pool_run(pool, (size_t)c->unit->n, examine, c, err));
    return put_in_order(c) ? copy_groups(c, done, out, err) : TL_OK;
}

tl_status tl_compact_copy(tl_plan *plan, const tl_compact_unit *unit, const tl_compact_options *options, bool *done,
                          tl_staged *out, tl_error *err) {
    *done = false;
    *out = (tl_staged){0};
    copying c = {.plan = plan, .unit = unit};
    if (options->decode || plan->table->contract.time < 0 || !may_copy(&c)) {
        return TL_OK;
    }
    tl_status status = copy(&c, options->pool, done, out, err);
    if (c.n > 0) {
        tl_copy_groups_free(c.groups, c.n);
    } else {
        for (int64_t i = 0; c.groups && i < unit->n; i++) {
            tl_copy_groups_free(c.groups + c.starts[i], c.counts[i]);
        }
    }
    tl_free(c.groups);
    tl_free(c.starts);
    tl_free(c.counts);
    tl_free(c.can);
    tl_free((void *)c.files);
    tl_file_copier_free(c.copier);
    return status;
}
