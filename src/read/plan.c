/* Plans: which files, in which order, and which of their rows are not to be seen. */
#include <string.h>

#include "commit/deletes.h"
#include "read/groups.h"
#include "read/read_internal.h"
#include "table/settings.h"

const tl_schema *tl_plan_schema(const tl_table *table, const tl_snapshot *snapshot) {
    const tl_schema *s =
        snapshot && snapshot->schema_id >= 0 ? tl_metadata_schema_by_id(&table->metadata, snapshot->schema_id) : NULL;
    return s ? s : tl_metadata_schema(&table->metadata);
}

tl_status tl_plan_only(const tl_table *table, const tl_schema *schema, const tl_plan_options *options, tl_arena *arena,
                       tl_bytes **out, tl_error *err) {
    const tl_contract *c = &table->contract;
    *out = NULL;
    if (options->n_keys == 0 || c->n_series == 0) {
        return TL_OK;
    }
    tl_bytes *only = tl_arena_array(arena, (size_t)c->n_series, sizeof *only);
    if (!only) {
        return tl_fail_memory(err, (size_t)c->n_series * sizeof *only);
    }
    tl_buf piece = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < options->n_keys && status == TL_OK; i++) {
        for (int32_t k = 0; k < c->n_series && status == TL_OK; k++) {
            if (c->series[k] != options->keys[i].column) {
                continue;
            }
            piece.len = 0;
            status = tl_key_piece_of_value(&schema->fields[c->series[k]].type, options->keys[i].value, &piece, err);
            if (status == TL_OK) {
                only[k] = (tl_bytes){tl_arena_copy(arena, piece.data, piece.len), piece.len};
                status = only[k].data ? TL_OK : tl_fail_memory(err, piece.len);
            }
        }
    }
    tl_buf_free(&piece);
    *out = only;
    return status;
}

/* Files are ordered by (sequence number, path); the newest come first in a scan, which top-N and latest queries like.
 */
static tl_status choose_files(tl_plan *plan, const tl_schema *schema, const tl_plan_options *options, tl_error *err) {
    size_t n = (size_t)plan->files.n_data;
    plan->scan = tl_arena_array(&plan->arena, n, sizeof *plan->scan);
    if (!plan->scan) {
        return tl_fail_memory(err, n * sizeof *plan->scan);
    }
    for (size_t i = n; i-- > 0;) {
        tl_live_file *f = &plan->files.data[i];
        bool wanted;
        tl_status status = tl_file_may_match(plan->table, schema, f, options, &wanted, err);
        if (status != TL_OK) {
            tl_error_prefix(err, "data file %s: its bounds: ", f->file.path);
            return status;
        }
        if (wanted) {
            plan->scan[plan->n_scan++] = (tl_plan_file){.file = f};
            plan->rows += f->file.record_count;
        }
    }
    return TL_OK;
}

static tl_status fill(tl_plan *plan, const tl_plan_options *options, tl_error *err) {
    const tl_snapshot *snapshot = options->snapshot ? options->snapshot : tl_metadata_current(&plan->table->metadata);
    const tl_schema *schema = tl_plan_schema(plan->table, options->snapshot);
    TL_TRY(tl_table_files(plan->table, snapshot, &plan->files, err));
    TL_TRY(choose_files(plan, schema, options, err));
    TL_TRY(options->names ? tl_plan_find_names(plan, err) : TL_OK);
    TL_TRY(tl_plan_apply_deletes(plan, false, err));
    bool copies = !snapshot || !tl_snapshot_has_one_copy(snapshot); /* policy upsert has deleted them */
    if (plan->table->contract.dedup && copies && !options->keep_copies && !options->merge) {
        TL_TRY(tl_plan_hide_older(plan, schema, options, err));
    }
    for (int64_t i = 0; i < plan->n_scan; i++) {
        plan->hidden_rows += plan->scan[i].n_hidden;
    }
    return TL_OK;
}

tl_status tl_plan_create(tl_table *table, const tl_plan_options *options, tl_plan **out, tl_error *err) {
    static const tl_plan_options none = {0};
    *out = NULL;
    tl_plan *plan = tl_calloc(1, sizeof *plan);
    if (!plan) {
        return tl_fail_memory(err, sizeof *plan);
    }
    plan->table = tl_table_retain(table);
    plan->references = 1;
    tl_status status = fill(plan, options ? options : &none, err);
    if (status != TL_OK) {
        tl_error_prefix(err, "table %s: ", table->name);
        tl_plan_release(plan);
        return status;
    }
    *out = plan;
    return TL_OK;
}

tl_plan *tl_plan_retain(tl_plan *p) {
    p->references++;
    return p;
}

void tl_plan_release(tl_plan *p) {
    if (!p || --p->references > 0) {
        return;
    }
    for (int64_t i = 0; i < p->n_scan; i++) {
        if (p->scan[i].shared) {
            tl_bitmap_release(p->scan[i].shared);
        } else {
            tl_free(p->scan[i].hidden);
        }
    }
    tl_live_files_free(&p->files);
    tl_table_release(p->table);
    tl_arena_free(&p->arena);
    tl_free(p);
}
