/*
 * What files that are about to be added to a table would hide in it, and what of them is hidden by it (policy upsert).
 * Comes in: a table, and files that are not in it yet. Goes out: a plan of these and of the table's files that may
 * share a key with one of them. Manifests of other partitions are not read.
 */
#include <stdlib.h>
#include <string.h>

#include "read/read_internal.h"

typedef struct beside {
    tl_table *table;
    const tl_schema *schema;
    const tl_live_file *added;
    int64_t n_added;
    tl_plan *plan;
} beside;

/* ---- which manifests ---- */

static bool may_hold(const tl_manifest_file *m, const tl_data_file *f) {
    if (m->spec_id != f->spec_id || m->n_partitions != f->n_partition) {
        return true; /* a change of the partition spec: equal keys may stand anywhere */
    }
    for (int32_t i = 0; i < f->n_partition; i++) {
        tl_bytes v = f->partition[i].value, low = m->partitions[i].lower, high = m->partitions[i].upper;
        if (!v.data) {
            if (!m->partitions[i].contains_null) {
                return false;
            }
        } else if (v.len == 4 && low.len == 4 && high.len == 4) {
            int32_t at = tl_load_i32(v.data);
            if (at < tl_load_i32(low.data) || at > tl_load_i32(high.data)) {
                return false;
            }
        }
    }
    return true;
}

static bool wanted_manifest(void *ctx, const tl_manifest_file *m) {
    const beside *b = ctx;
    bool wanted = false;
    for (int64_t i = 0; i < b->n_added && !wanted; i++) {
        wanted = may_hold(m, &b->added[i].file);
    }
    return wanted;
}

/* ---- which files ---- */

static bool same_partition(const tl_data_file *a, const tl_data_file *b) {
    if (a->spec_id != b->spec_id) {
        return true; /* not known */
    }
    bool same = a->n_partition == b->n_partition;
    for (int32_t i = 0; i < a->n_partition && same; i++) {
        tl_bytes x = a->partition[i].value, y = b->partition[i].value;
        same = !x.data == !y.data && (!x.data || tl_bytes_equal(x, y));
    }
    return same;
}

static tl_status may_share(const beside *b, const tl_live_file *f, bool *out, tl_error *err) {
    *out = false;
    for (int64_t i = 0; i < b->n_added && !*out; i++) {
        if (same_partition(&f->file, &b->added[i].file)) {
            TL_TRY(tl_files_may_share(b->schema, &b->table->contract, f, &b->added[i], out, err));
        }
    }
    return TL_OK;
}

static int by_sequence_and_path(const void *a, const void *b) {
    const tl_live_file *x = a, *y = b;
    if (x->sequence_number != y->sequence_number) {
        return x->sequence_number < y->sequence_number ? -1 : 1;
    }
    return strcmp(x->file.path, y->file.path);
}

/* The plan's files become those that matter, in (sequence number, path) order as everywhere. */
static tl_status choose(beside *b, tl_error *err) {
    tl_live_files *files = &b->plan->files;
    tl_live_file *list = tl_arena_array(&files->arena, (size_t)(files->n_data + b->n_added), sizeof *list);
    int64_t n = 0;
    if (!list) {
        return tl_fail_memory(err, (size_t)(files->n_data + b->n_added) * sizeof *list);
    }
    for (int64_t i = 0; i < files->n_data; i++) {
        bool share = false;
        if (files->data[i].file.record_count > 0) {
            TL_TRY(may_share(b, &files->data[i], &share, err));
        }
        if (share) {
            list[n++] = files->data[i];
        }
    }
    for (int64_t i = 0; i < b->n_added; i++) {
        list[n++] = b->added[i];
    }
    qsort(list, (size_t)n, sizeof *list, by_sequence_and_path);
    files->data = list;
    files->n_data = n;
    return TL_OK;
}

static tl_status make_scan(tl_plan *plan, tl_error *err) {
    size_t n = (size_t)plan->files.n_data;
    plan->scan = tl_arena_array(&plan->arena, n, sizeof *plan->scan);
    if (!plan->scan) {
        return tl_fail_memory(err, n * sizeof *plan->scan);
    }
    for (size_t i = n; i-- > 0;) {
        plan->scan[plan->n_scan++] = (tl_plan_file){.file = &plan->files.data[i]};
        plan->rows += plan->files.data[i].file.record_count;
    }
    return TL_OK;
}

static tl_status fill(beside *b, tl_pool *pool, tl_error *err) {
    tl_plan *plan = b->plan;
    tl_manifest_filter filter = {wanted_manifest, b, true};
    TL_TRY(tl_table_files_of(b->table, NULL, &filter, &plan->files, err));
    TL_TRY(choose(b, err));
    TL_TRY(make_scan(plan, err));
    TL_TRY(tl_plan_apply_deletes(plan, true, err));
    if (plan->n_scan > b->n_added || b->n_added > 1) {
        TL_TRY(tl_plan_hide_older_of(plan, b->schema, pool, err));
    }
    for (int64_t i = 0; i < plan->n_scan; i++) {
        plan->hidden_rows += plan->scan[i].n_hidden;
    }
    return TL_OK;
}

tl_status tl_plan_beside(tl_table *table, const tl_live_file *added, int64_t n_added, tl_pool *pool, tl_plan **out,
                         tl_error *err) {
    *out = NULL;
    tl_plan *plan = tl_calloc(1, sizeof *plan);
    if (!plan) {
        return tl_fail_memory(err, sizeof *plan);
    }
    plan->table = tl_table_retain(table);
    plan->references = 1;
    beside b = {table, tl_metadata_schema(&table->metadata), added, n_added, plan};
    tl_status status = fill(&b, pool, err);
    if (status != TL_OK) {
        tl_error_prefix(err, "table %s: ", table->name);
        tl_plan_release(plan);
        return status;
    }
    *out = plan;
    return TL_OK;
}
