/* The course of a compaction: choose, write anew, commit; again when others came between. See compact.h. */
#include "maintain/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit.h"
#include "maintain/compact_internal.h"
#include "table/settings.h"

enum { ROUNDS = 5, UNITS_MOST = 16 /* in one commit */ };

#define COMMIT_BYTES ((int64_t)1 << 30) /* ... or so many bytes read */

/* Units that are written and wait for their commit. */
typedef struct waiting {
    const tl_compact_unit *units[UNITS_MOST];
    tl_staged staged[UNITS_MOST];
    bool copied[UNITS_MOST]; /* byte for byte */
    int32_t n;
    int64_t bytes;
} waiting;

typedef struct compacting {
    const tl_compact_options *o;
    tl_table *t; /* the newest version */
    tl_plan *plan;
    tl_append_workspace *workspace; /* from one unit to the next; NULL is fine */
    tl_compact_result *result;
    int64_t begin_us;
    int64_t all_bytes, done_bytes;
    waiting w;
    int64_t lost; /* units that another writer came before */
    bool no_sync;
} compacting;

/* ---- a commit ---- */

/* The files and sequence numbers of waiting units [from, from + n) as one. */
typedef struct joined {
    tl_staged staged;
    int64_t *sequences, *removed;
    int64_t n_removed;
} joined;

static void free_joined(joined *j) {
    tl_free(j->staged.files);
    tl_free(j->staged.keys);
    tl_free(j->sequences);
    tl_free(j->removed);
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static tl_status join(const compacting *c, int32_t from, int32_t n, joined *j, tl_error *err) {
    *j = (joined){0};
    int64_t files = 0, removed = 0;
    for (int32_t i = from; i < from + n; i++) {
        files += c->w.staged[i].n_files;
        removed += c->w.units[i]->n;
    }
    j->staged.files = tl_alloc_array((size_t)files + 1, sizeof *j->staged.files);
    j->staged.keys = tl_alloc_array((size_t)files + 1, sizeof *j->staged.keys);
    j->sequences = tl_alloc_array((size_t)files + 1, sizeof *j->sequences);
    j->removed = tl_alloc_array((size_t)removed + 1, sizeof *j->removed);
    if (!j->staged.files || !j->staged.keys || !j->sequences || !j->removed) {
        free_joined(j);
        return tl_fail_memory(err, (size_t)(files + removed) * sizeof *j->staged.files);
    }
    for (int32_t i = from; i < from + n; i++) {
        const tl_compact_unit *u = c->w.units[i];
        const tl_staged *s = &c->w.staged[i];
        int64_t sequence = 0;
        for (int64_t k = 0; k < u->n; k++) {
            int64_t one = c->plan->files.data[u->files[k]].sequence_number;
            sequence = one > sequence ? one : sequence;
            j->removed[j->n_removed++] = u->files[k];
        }
        for (int32_t k = 0; k < s->n_files; k++) {
            j->staged.files[j->staged.n_files] = s->files[k];
            j->staged.keys[j->staged.n_files] = s->keys[k];
            j->sequences[j->staged.n_files++] = sequence;
        }
    }
    qsort(j->removed, (size_t)j->n_removed, sizeof *j->removed, ascending);
    return TL_OK;
}

static void count(compacting *c, int32_t from, int32_t n) {
    tl_compact_result *r = c->result;
    for (int32_t i = from; i < from + n; i++) {
        const tl_compact_unit *u = c->w.units[i];
        r->files_in += u->n;
        r->rows_in += u->rows;
        r->bytes_in += u->bytes;
        r->files_out += c->w.staged[i].n_files;
        r->rows_out += c->w.staged[i].rows;
        r->bytes_out += c->w.staged[i].bytes;
        r->copied_bytes += c->w.copied[i] ? c->w.staged[i].bytes : 0;
        r->partitions++;
    }
    r->commits++;
}

/* Nothing of what failed for sure stays in the store. */
static tl_status commit_units(compacting *c, int32_t from, int32_t n, tl_error *err) {
    joined j;
    tl_status status = join(c, from, n, &j, err);
    if (status == TL_OK) {
        tl_replace_options options = {.planned = &c->plan->files,
                                      .removed = j.removed,
                                      .n_removed = j.n_removed,
                                      .sequences = j.sequences,
                                      .same_rows = true,
                                      .no_sync = c->no_sync};
        tl_commit_result committed;
        tl_table *newer = NULL;
        tl_staged all = j.staged; /* a failed commit forgets the files it deleted */
        status = tl_commit_replace(c->t, &all, &options, &committed, &newer, err);
        if (newer) {
            tl_table_release(c->t);
            c->t = newer;
        }
        free_joined(&j);
    } else {
        for (int32_t i = from; i < from + n; i++) {
            tl_staged_discard(c->t->store, &c->w.staged[i]);
        }
    }
    if (status == TL_OK) {
        count(c, from, n);
    }
    return status;
}

static void forget_waiting(compacting *c) {
    for (int32_t i = 0; i < c->w.n; i++) {
        tl_staged_free(&c->w.staged[i]);
    }
    c->w.n = 0;
    c->w.bytes = 0;
}

/* A conflict concerns one unit at least; its staged files are gone with the others', so all are done again. */
static tl_status commit_waiting(compacting *c, tl_error *err) {
    if (c->w.n == 0) {
        return TL_OK;
    }
    tl_status status = commit_units(c, 0, c->w.n, err);
    if (status == TL_CONFLICT) {
        c->lost += c->w.n;
        status = TL_OK;
    }
    forget_waiting(c);
    return status;
}

/* ---- a round ---- */

static bool budget_is_spent(const compacting *c) {
    const tl_env *env = c->t->store->env;
    return (c->o->budget_us > 0 && tl_env_monotonic_us(env) - c->begin_us >= c->o->budget_us) ||
           (c->o->budget_bytes > 0 && c->done_bytes >= c->o->budget_bytes);
}

static void report(const compacting *c) {
    if (c->o->progress) {
        c->o->progress(c->o->progress_arg, c->done_bytes, c->all_bytes);
    }
}

static tl_status do_unit(compacting *c, const tl_compact_unit *u, tl_error *err) {
    tl_staged *staged = &c->w.staged[c->w.n];
    bool copied;
    TL_TRY(tl_compact_copy(c->plan, u, c->o, &copied, staged, err));
    if (!copied) {
        TL_TRY(tl_compact_rows(c->plan, u, c->o, c->workspace, staged, err));
    }
    c->w.copied[c->w.n] = copied;
    c->w.units[c->w.n++] = u;
    c->w.bytes += u->bytes;
    c->done_bytes += u->bytes;
    report(c);
    return c->w.n == UNITS_MOST || c->w.bytes >= COMMIT_BYTES ? commit_waiting(c, err) : TL_OK;
}

static tl_status do_units(compacting *c, const tl_compact_work *work, tl_error *err) {
    c->all_bytes = c->done_bytes;
    for (int64_t i = 0; i < work->n; i++) {
        c->all_bytes += work->units[i].bytes;
    }
    report(c);
    int64_t done = 0;
    tl_status status = TL_OK;
    for (; done < work->n && status == TL_OK && !budget_is_spent(c); done++) {
        status = do_unit(c, &work->units[done], err);
    }
    c->result->partitions_left = (int32_t)(work->n - done);
    tl_status committed = commit_waiting(c, status == TL_OK ? err : NULL); /* worth keeping after a failure too */
    return status == TL_OK ? committed : status;
}

/* Has the table a file less than a look at it said? A file that cannot be found is no fault then. */
static bool moved_on(compacting *c) {
    tl_table *newest = NULL;
    if (tl_table_refresh(c->t, &newest, NULL) != TL_OK) {
        return false;
    }
    bool moved = newest->version != c->plan->table->version;
    tl_table_release(c->t);
    c->t = newest;
    return moved;
}

/* Is there anything to do? Looks at the manifests alone: after an append there mostly is not. */
static tl_status look(compacting *c, bool *any, tl_error *err) {
    tl_plan plan = {.table = c->t};
    tl_compact_work work = {0};
    TL_TRY(tl_table_files(c->t, NULL, &plan.files, err));
    tl_status status = tl_compact_choose(&plan, c->o, &work, err);
    *any = work.n > 0;
    tl_compact_work_free(&work);
    tl_live_files_free(&plan.files);
    return status;
}

static tl_status round_of(compacting *c, tl_error *err) {
    tl_table *newest;
    TL_TRY(tl_table_refresh(c->t, &newest, err));
    tl_table_release(c->t);
    c->t = newest;
    TL_TRY(tl_table_writable(c->t, err));
    bool any = false;
    if (c->o->inline_only && c->o->outlook && tl_compact_outlook_holds(c->t, c->o->now_us, c->o->outlook)) {
        return TL_OK;
    }
    TL_TRY(look(c, &any, err));
    if (!any) {
        return TL_OK;
    }
    TL_TRY(tl_plan_create(c->t, &(tl_plan_options){.keep_copies = true, .pool = c->o->pool}, &c->plan, err));
    tl_compact_work work;
    tl_status status = tl_compact_choose(c->plan, c->o, &work, err);
    if (status == TL_OK) {
        status = do_units(c, &work, err);
    }
    tl_compact_work_free(&work);
    return status;
}

static tl_status run_rounds(compacting *c, tl_error *err) {
    for (int round = 1;; round++) {
        c->lost = 0;
        tl_status status = round_of(c, err);
        int most = c->o->inline_only ? 1 : ROUNDS; /* the next append comes soon */
        bool again = status == TL_OK && c->lost > 0 && !budget_is_spent(c);
        if (status != TL_OK && status != TL_NO_MEMORY && status != TL_UNKNOWN && c->plan && round < most) {
            again = moved_on(c); /* another compactor and an expiry took the files away while they were read */
        }
        tl_plan_release(c->plan);
        c->plan = NULL;
        if (!again || round >= most) {
            c->result->partitions_left += (int32_t)c->lost;
            return status;
        }
        tl_commit_back_off(c->t->store->env, round, 20000);
    }
}

tl_status tl_compact(tl_table *base, const tl_compact_options *options, tl_compact_result *result, tl_table **out,
                     tl_error *err) {
    *out = NULL;
    *result = (tl_compact_result){0};
    const tl_env *env = base->store->env;
    tl_compact_options o = *options;
    o.now_us = o.now_us > 0 ? o.now_us : tl_env_now_us(env);
    compacting c = {.o = &o,
                    .t = tl_table_retain(base),
                    .workspace = o.workspace ? o.workspace : tl_append_workspace_create(),
                    .result = result,
                    .begin_us = tl_env_monotonic_us(env),
                    .no_sync = strcmp(tl_setting_text(&base->metadata, "durability"), "none") == 0};
    tl_status status = run_rounds(&c, err);
    if (!o.workspace) {
        tl_append_workspace_free(c.workspace);
    }
    if (status == TL_OK || result->commits > 0) {
        *out = c.t;
    } else {
        tl_table_release(c.t);
    }
    return status;
}
