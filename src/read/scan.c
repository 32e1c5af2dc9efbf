/* The rows of a plan as an Arrow stream: one batch per row group with wanted rows. */
#include <string.h>

#include "arrow/stream.h"
#include "nanoarrow/nanoarrow.h"
#include "read/merge.h"
#include "read/rows.h"
#include "read/selection.h"

typedef struct scan {
    tl_plan *plan;
    tl_plan_options options; /* its keys live in the arena */
    const tl_schema *schema;
    tl_bytes *only;
    tl_projection projection;
    tl_merge *merge; /* NULL = hidden rows say what is left out */
    tl_selection selection;
    tl_open_file file;
    bool open;
    int64_t next_file; /* in plan->scan */
    int32_t next_group;
    int64_t first_row; /* of next_group in the file */
    tl_arena arena;
    tl_error error;
} scan;

/* The next row group with wanted rows; out->release NULL at the end. */
static tl_status next_batch(scan *s, struct ArrowArray *out, tl_error *err) {
    out->release = NULL;
    if (s->merge) {
        return tl_merge_next(s->merge, out, err);
    }
    for (;;) {
        if (!s->open) {
            if (s->next_file == s->plan->n_scan) {
                return TL_OK;
            }
            TL_TRY(tl_open_file_open(s->plan->table, s->plan->scan[s->next_file].file, &s->file, err));
            s->open = true;
            s->next_group = 0;
            s->first_row = 0;
        }
        if (s->next_group == s->file.meta->n_row_groups) {
            tl_open_file_close(&s->file);
            s->open = false;
            s->next_file++;
            continue;
        }
        int32_t g = s->next_group++;
        int64_t rows = s->file.meta->row_groups[g].n_rows, first = s->first_row;
        s->first_row += rows;
        if (rows == 0) {
            continue;
        }
        tl_status status = tl_selection_make(s->plan->table, s->schema, &s->file, &s->plan->scan[s->next_file], g,
                                             first, &s->options, s->only, &s->selection, err);
        if (status != TL_OK) {
            return tl_open_file_failed(&s->file, status, err);
        }
        if (s->selection.rows == 0) {
            continue;
        }
        bool all = s->selection.rows == rows;
        return tl_rows_read(&s->file, g, all ? NULL : s->selection.ranges, all ? 0 : s->selection.n, &s->projection,
                            out, err);
    }
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    scan *s = stream->private_data;
    return ArrowSchemaDeepCopy(&s->projection.arrow, out);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    scan *s = stream->private_data;
    tl_status status = next_batch(s, out, &s->error);
    return status == TL_OK ? 0 : tl_status_errno(status);
}

static const char *last_error(struct ArrowArrayStream *stream) {
    return ((scan *)stream->private_data)->error.message;
}

static void scan_free(scan *s) {
    if (s->open) {
        tl_open_file_close(&s->file);
    }
    tl_merge_free(s->merge);
    tl_selection_free(&s->selection);
    tl_projection_free(&s->projection);
    tl_plan_release(s->plan);
    tl_arena_free(&s->arena);
    tl_free(s);
}

static void release(struct ArrowArrayStream *stream) {
    scan_free(stream->private_data);
    stream->release = NULL;
}

/* Keeps the key filters, whose bytes belong to the caller. */
static tl_status copy_options(scan *s, const tl_plan_options *options, const tl_scan_part *part, tl_error *err) {
    if (!options) {
        return TL_OK;
    }
    s->options = *options;
    if (part) {
        s->options.share = part->share;
        s->options.shares = part->shares;
    }
    tl_key_filter *keys = tl_arena_copy(&s->arena, options->keys, (size_t)options->n_keys * sizeof *keys);
    if (!keys) {
        return tl_fail_memory(err, (size_t)options->n_keys * sizeof *keys);
    }
    for (int32_t i = 0; i < options->n_keys; i++) {
        if (keys[i].value.data) {
            keys[i].value.data = tl_arena_copy(&s->arena, options->keys[i].value.data, options->keys[i].value.len);
            if (!keys[i].value.data) {
                return tl_fail_memory(err, options->keys[i].value.len);
            }
        }
    }
    s->options.keys = keys;
    return tl_plan_only(s->plan->table, s->schema, &s->options, &s->arena, &s->only, err);
}

static tl_status open_scan(tl_plan *plan, const tl_plan_options *options, const tl_scan_part *part,
                           const int32_t *columns, int32_t n_columns, struct ArrowArrayStream *out, tl_error *err) {
    out->release = NULL;
    scan *s = tl_calloc(1, sizeof *s);
    if (!s) {
        return tl_fail_memory(err, sizeof *s);
    }
    s->plan = tl_plan_retain(plan);
    s->schema = tl_plan_schema(plan->table, options ? options->snapshot : NULL);
    tl_status status = copy_options(s, options, part, err);
    if (status == TL_OK) {
        status = tl_projection_make(s->schema, columns, n_columns, &s->projection, err);
    }
    bool merge = part || (options && options->merge && !options->keep_copies && plan->table->contract.dedup);
    if (status == TL_OK && merge) {
        status = tl_merge_create(plan, &s->options, s->only, part, columns, n_columns, &s->merge, err);
    }
    if (status != TL_OK) {
        scan_free(s);
        return status;
    }
    *out = (struct ArrowArrayStream){get_schema, get_next, last_error, release, s};
    return TL_OK;
}

tl_status tl_scan_open(tl_plan *plan, const tl_plan_options *options, const int32_t *columns, int32_t n_columns,
                       struct ArrowArrayStream *out, tl_error *err) {
    return open_scan(plan, options, NULL, columns, n_columns, out, err);
}

tl_status tl_scan_open_part(tl_plan *plan, const tl_plan_options *options, const tl_scan_part *part,
                            const int32_t *columns, int32_t n_columns, struct ArrowArrayStream *out, tl_error *err) {
    return open_scan(plan, options, part, columns, n_columns, out, err);
}
