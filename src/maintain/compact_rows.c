/*
 * The rows of a unit, written anew. The appender does the work: it is given the rows file by file in commit order, so
 * that what it keeps of equal keys is the last write, and it bounds the memory. Row groups are read in parallel, ahead
 * of it.
 */
#include <string.h>

#include "base/mem.h"
#include "maintain/compact_internal.h"
#include "read/file_rows.h"
#include "table/settings.h"

enum { BATCHES_MOST = 64, AHEAD = 2 /* pieces read ahead, for each thread */ };

#define PIECE_BYTES ((int64_t)4 << 20) /* of files that are read in one go, about */

/* Row groups [from, to) of a file. */
typedef struct piece {
    const tl_plan_file *file;
    int32_t from, to;
    struct ArrowArray batches[BATCHES_MOST];
    int32_t n;
} piece;

typedef struct rewriting {
    tl_plan *plan;
    const tl_compact_options *o;
    tl_append_workspace *workspace;
    tl_file_rows *rows;
    tl_align *align;
    tl_appender *appender;
    piece *pieces; /* those at hand */
    size_t n_pieces, cap_pieces;
    int64_t given; /* rows */
} rewriting;

static tl_status read_piece(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    rewriting *w = ctx;
    piece *p = &w->pieces[i];
    return tl_file_rows_read(w->rows, p->file, p->from, p->to, p->batches, BATCHES_MOST, &p->n, err);
}

static void drop_pieces(rewriting *w) {
    for (size_t i = 0; i < w->n_pieces; i++) {
        for (int32_t k = 0; k < w->pieces[i].n; k++) {
            if (w->pieces[i].batches[k].release) {
                w->pieces[i].batches[k].release(&w->pieces[i].batches[k]);
            }
        }
    }
    w->n_pieces = 0;
}

static tl_status give_rows(rewriting *w, tl_error *err) {
    for (size_t i = 0; i < w->n_pieces; i++) {
        piece *p = &w->pieces[i];
        for (int32_t k = 0; k < p->n; k++) {
            tl_batch batch = {0};
            struct ArrowArray array = p->batches[k];
            p->batches[k].release = NULL;
            tl_status status = tl_align_batch(w->align, &array, w->given, 0, &batch, err);
            if (status == TL_OK) {
                w->given += batch.n_rows;
                status = tl_appender_add(w->appender, &batch, err);
            }
            if (status != TL_OK) {
                tl_error_prefix(err, "data file %s: ", p->file->file->file.path);
                return status;
            }
        }
    }
    return TL_OK;
}

/* Reads the pieces at hand and gives their rows to the appender, in order. */
static tl_status run_pieces(rewriting *w, tl_error *err) {
    tl_status status = tl_pool_run(w->o->pool, w->n_pieces, read_piece, w, err);
    if (status == TL_OK) {
        status = give_rows(w, err);
    }
    drop_pieces(w);
    return status;
}

static tl_status add_piece(rewriting *w, const tl_plan_file *file, int32_t from, int32_t to, tl_error *err) {
    piece *p = &w->pieces[w->n_pieces++];
    p->file = file;
    p->from = from;
    p->to = to;
    p->n = 0;
    return w->n_pieces == w->cap_pieces ? run_pieces(w, err) : TL_OK;
}

/* Small files are one piece, large ones a row group or a few at a time. */
static tl_status add_file(rewriting *w, const tl_plan_file *file, tl_error *err) {
    int32_t groups = BATCHES_MOST + 1;
    if (file->file->file.file_size <= PIECE_BYTES && file->file->file.n_split_offsets <= BATCHES_MOST) {
        groups = file->file->file.n_split_offsets;
    }
    if (groups < 1 || groups > BATCHES_MOST) {
        TL_TRY(tl_file_rows_groups(w->rows, file, &groups, err));
    } else {
        return add_piece(w, file, 0, groups, err);
    }
    int64_t each = groups > 0 ? file->file->file.file_size / groups : 1;
    int32_t step = each > 0 && PIECE_BYTES / each < BATCHES_MOST ? (int32_t)(PIECE_BYTES / each) : BATCHES_MOST;
    step = step < 1 ? 1 : step;
    for (int32_t g = 0; g < groups; g += step) {
        TL_TRY(add_piece(w, file, g, groups - g < step ? groups : g + step, err));
    }
    return TL_OK;
}

/* The plan's file of a live file: plan->scan is the reverse of plan->files.data. */
const tl_plan_file *tl_compact_plan_file(const tl_plan *plan, int64_t index) {
    const tl_live_file *wanted = &plan->files.data[index];
    int64_t guess = plan->n_scan - 1 - index;
    if (guess >= 0 && guess < plan->n_scan && plan->scan[guess].file == wanted) {
        return &plan->scan[guess];
    }
    for (int64_t i = 0; i < plan->n_scan; i++) {
        if (plan->scan[i].file == wanted) {
            return &plan->scan[i];
        }
    }
    return NULL;
}

static tl_status rewrite(rewriting *w, const tl_compact_unit *unit, tl_staged *out, tl_error *err) {
    const tl_metadata *m = &w->plan->table->metadata;
    tl_append_options options = {
        .pool = w->o->pool,
        .workspace = w->workspace,
        .memory_limit = w->o->memory_limit > 0 ? w->o->memory_limit : (int64_t)256 << 20,
        .compact_profile = strcmp(tl_setting_text(m, "encodings"), "compact") == 0,
    };
    TL_TRY(tl_file_rows_create(w->plan, &w->rows, err));
    TL_TRY(tl_align_create(tl_metadata_schema(m), -1, tl_file_rows_schema(w->rows), &w->align, err));
    TL_TRY(tl_appender_create(w->plan->table, &options, &w->appender, err));
    w->cap_pieces = (size_t)tl_pool_threads(w->o->pool) * AHEAD;
    w->pieces = tl_calloc(w->cap_pieces, sizeof *w->pieces);
    if (!w->pieces) {
        return tl_fail_memory(err, w->cap_pieces * sizeof *w->pieces);
    }
    for (int64_t i = 0; i < unit->n; i++) {
        const tl_plan_file *file = tl_compact_plan_file(w->plan, unit->files[i]);
        if (!file) {
            return tl_fail(err, TL_INTERNAL, "a file that is to be compacted is not in the plan");
        }
        TL_TRY(add_file(w, file, err));
    }
    TL_TRY(run_pieces(w, err));
    return tl_appender_finish(w->appender, out, err);
}

tl_status tl_compact_rows(tl_plan *plan, const tl_compact_unit *unit, const tl_compact_options *options,
                          tl_append_workspace *workspace, tl_staged *out, tl_error *err) {
    *out = (tl_staged){0};
    rewriting w = {.plan = plan, .o = options, .workspace = workspace};
    tl_status status = rewrite(&w, unit, out, err);
    drop_pieces(&w);
    tl_free(w.pieces);
    tl_appender_free(w.appender);
    tl_align_free(w.align);
    tl_file_rows_free(w.rows);
    return status;
}
