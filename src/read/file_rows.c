/* See file_rows.h. */
#include "read/file_rows.h"

#include "base/mem.h"
#include "read/rows.h"
#include "read/selection.h"

struct tl_file_rows {
    tl_plan *plan;
    const tl_schema *schema;
    tl_projection projection;
};

tl_status tl_file_rows_create(tl_plan *plan, tl_file_rows **out, tl_error *err) {
    *out = NULL;
    tl_file_rows *r = tl_calloc(1, sizeof *r);
    if (!r) {
        return tl_fail_memory(err, sizeof *r);
    }
    r->plan = tl_plan_retain(plan);
    r->schema = tl_metadata_schema(&plan->table->metadata);
    tl_status status = tl_projection_make(r->schema, NULL, 0, &r->projection, err);
    if (status != TL_OK) {
        tl_file_rows_free(r);
        return status;
    }
    *out = r;
    return TL_OK;
}

void tl_file_rows_free(tl_file_rows *r) {
    if (r) {
        tl_projection_free(&r->projection);
        tl_plan_release(r->plan);
        tl_free(r);
    }
}

const struct ArrowSchema *tl_file_rows_schema(const tl_file_rows *r) {
    return &r->projection.arrow;
}

/* One row group; out->release NULL = no live row. */
static tl_status read_group(const tl_file_rows *r, tl_open_file *f, const tl_plan_file *file, int32_t g, int64_t first,
                            tl_selection *selection, struct ArrowArray *out, tl_error *err) {
    static const tl_plan_options none = {0};
    int64_t rows = f->meta->row_groups[g].n_rows;
    out->release = NULL;
    if (rows == 0) {
        return TL_OK;
    }
    if (!file->hidden) {
        return tl_rows_read(f, g, NULL, 0, &r->projection, out, err);
    }
    tl_status status = tl_selection_make(r->plan->table, r->schema, f, file, g, first, &none, NULL, selection, err);
    if (status != TL_OK) {
        return tl_open_file_failed(f, status, err);
    }
    bool all = selection->rows == rows;
    return selection->rows == 0
               ? TL_OK
               : tl_rows_read(f, g, all ? NULL : selection->ranges, all ? 0 : selection->n, &r->projection, out, err);
}

tl_status tl_file_rows_read(const tl_file_rows *r, const tl_plan_file *file, int32_t from, int32_t to,
                            struct ArrowArray *out, int32_t cap, int32_t *n, tl_error *err) {
    tl_open_file f;
    tl_selection selection = {0};
    int32_t had = *n;
    TL_TRY(tl_open_file_open(r->plan->table, file->file, &f, err));
    tl_status status = TL_OK;
    int64_t first = 0;
    for (int32_t g = 0; g < f.meta->n_row_groups && g < to && status == TL_OK; g++) {
        if (g >= from) {
            status = *n < cap ? read_group(r, &f, file, g, first, &selection, &out[*n], err)
                              : tl_fail(err, TL_INTERNAL, "no room for the batches of a data file");
            *n += status == TL_OK && out[*n].release;
        }
        first += f.meta->row_groups[g].n_rows;
    }
    for (; status != TL_OK && *n > had; --*n) {
        out[*n - 1].release(&out[*n - 1]);
    }
    tl_selection_free(&selection);
    tl_open_file_close(&f);
    return status;
}

tl_status tl_file_rows_groups(const tl_file_rows *r, const tl_plan_file *file, int32_t *out, tl_error *err) {
    tl_open_file f;
    TL_TRY(tl_open_file_open(r->plan->table, file->file, &f, err));
    *out = f.meta->n_row_groups;
    tl_open_file_close(&f);
    return TL_OK;
}

tl_status tl_file_rows_may_share(const tl_plan *plan, const tl_live_file *a, const tl_live_file *b, bool *out,
                                 tl_error *err) {
    return tl_files_may_share(tl_metadata_schema(&plan->table->metadata), &plan->table->contract, a, b, out, err);
}

bool tl_file_rows_times(const tl_plan *plan, const tl_live_file *f, int64_t *least, int64_t *most) {
    return plan->table->contract.time >= 0 &&
           tl_file_time_bounds(tl_metadata_schema(&plan->table->metadata), &plan->table->contract, f, least, most);
}
