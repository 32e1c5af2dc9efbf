/* What an append replaces, and switching the policy on; see upsert.h. */
#include "maintain/upsert.h"

#include <string.h>

#include "base/mem.h"
#include "read/read.h"
#include "table/policy.h"

/* A set of deletes and the plan that holds its bitmaps. */
typedef struct found {
    tl_plan *plan;
    tl_live_file *added; /* the staged files as live ones: the plan refers to them */
    int32_t *staged;     /* by `added`: number of the staged file */
    tl_row_deletes *files;
} found;

static void found_release(void *owner) {
    found *f = owner;
    tl_plan_release(f->plan);
    tl_free(f->added);
    tl_free(f->staged);
    tl_free(f->files);
    tl_free(f);
}

/* ---- the rows that an append replaces ---- */

/* The staged files that may have copies in the base, as they would be in the table. */
static int64_t make_live(const tl_staged *s, const bool *newer, int64_t sequence, found *f) {
    int64_t n = 0;
    for (int32_t i = 0; i < s->n_files; i++) {
        if (!newer[i]) {
            f->staged[n] = i;
            f->added[n++] = (tl_live_file){.file = s->files[i],
                                           .key = s->keys[i],
                                           .snapshot_id = -1,
                                           .sequence_number = sequence,
                                           .file_sequence_number = sequence,
                                           .status = TL_ENTRY_ADDED,
                                           .manifest = -1};
        }
    }
    return n;
}

/* The number of the staged file that the plan's file is; -1 = it is the base's. */
static int32_t staged_number(const found *f, int64_t n_added, const tl_live_file *file) {
    for (int64_t i = 0; i < n_added && file->manifest == -1; i++) {
        if (f->added[i].key == file->key) {
            return f->staged[i];
        }
    }
    return -1;
}

/* Files of which more rows are hidden than their delete files say. */
static tl_status gather(found *f, int64_t n_added, tl_delete_set *out, tl_error *err) {
    f->files = tl_alloc_array((size_t)f->plan->n_scan, sizeof *f->files);
    if (!f->files) {
        return tl_fail_memory(err, (size_t)f->plan->n_scan * sizeof *f->files);
    }
    int64_t n = 0;
    for (int64_t i = 0; i < f->plan->n_scan; i++) {
        const tl_plan_file *p = &f->plan->scan[i];
        if (p->n_hidden > p->n_deleted) {
            int32_t staged = staged_number(f, n_added, p->file);
            f->files[n++] = (tl_row_deletes){staged < 0 ? p->file : NULL, staged, p->hidden, p->n_hidden};
        }
    }
    *out = (tl_delete_set){f->files, n, &f->plan->files, found_release, f};
    return TL_OK;
}

static tl_status find_replaced(void *ctx, tl_table *base, const tl_staged *staged, const bool *newer, int64_t sequence,
                               tl_delete_set *out, tl_error *err) {
    size_t n_files = (size_t)staged->n_files;
    found *f = tl_calloc(1, sizeof *f);
    if (!f) {
        return tl_fail_memory(err, sizeof *f);
    }
    f->added = tl_alloc_array(n_files, sizeof *f->added);
    f->staged = tl_alloc_array(n_files, sizeof *f->staged);
    int64_t n = 0;
    tl_status status = f->added && f->staged ? TL_OK : tl_fail_memory(err, n_files * sizeof *f->added);
    if (status == TL_OK) {
        n = make_live(staged, newer, sequence, f);
        status = tl_plan_beside(base, f->added, n, ctx, &f->plan, err);
    }
    if (status == TL_OK) {
        status = gather(f, n, out, err);
    }
    if (status != TL_OK) {
        found_release(f);
    }
    return status;
}

tl_delete_lookup tl_upsert_lookup(tl_pool *pool) {
    return (tl_delete_lookup){find_replaced, pool};
}

/* ---- switching on ---- */

/* All older copies of the table. */
static tl_status find_copies(tl_table *t, tl_pool *pool, tl_delete_set *out, tl_error *err) {
    found *f = tl_calloc(1, sizeof *f);
    if (!f) {
        return tl_fail_memory(err, sizeof *f);
    }
    tl_plan_options options = {.pool = pool};
    tl_status status = tl_plan_create(t, &options, &f->plan, err);
    if (status == TL_OK) {
        status = gather(f, 0, out, err);
    }
    if (status != TL_OK) {
        found_release(f);
    }
    return status;
}

/* One attempt on the newest version. TL_CONFLICT = lost a race. */
static tl_status switch_on(tl_table *t, const tl_property *changes, int32_t n, tl_pool *pool, tl_table **out,
                           tl_error *err) {
    const tl_snapshot *s = tl_metadata_current(&t->metadata);
    tl_delete_set set = {0};
    if (s && !tl_snapshot_has_one_copy(s) && t->contract.dedup) {
        TL_TRY(find_copies(t, pool, &set, err));
    }
    tl_status status = tl_commit_deletes(t, &set, changes, n, out, err);
    tl_delete_set_free(&set);
    return status;
}

tl_status tl_upsert_switch_on(tl_table *base, const tl_property *changes, int32_t n, tl_pool *pool, tl_table **out,
                              tl_error *err) {
    enum { ATTEMPTS = 100 };
    tl_table *t = tl_table_retain(base);
    tl_status status = TL_CONFLICT;
    *out = NULL;
    for (int32_t i = 0; i < ATTEMPTS && status == TL_CONFLICT; i++) {
        tl_table *newest;
        status = tl_table_refresh(t, &newest, err);
        if (status == TL_OK) {
            tl_table_release(t);
            t = newest;
            status = switch_on(t, changes, n, pool, out, err);
        }
    }
    tl_table_release(t);
    return status;
}
