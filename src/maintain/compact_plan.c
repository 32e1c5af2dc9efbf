/*
 * What is compacted (spec 12, d). Sizes: a file is small below three quarters of the target size; small files fall into
 * tiers, each four times the one before.
 *
 * Inline, after an append: runs of neighbours of one tier, once there are `compact-min-files` of them, or four times as
 * many where they are not tiny: a file costs a reader about the same whatever its size, merging it costs by its size,
 * and the partition will be merged whole when it is cold. And cold partitions, those that ended `compact-cold-after`
 * before the newest row. A cold partition is merged whole the first time. What comes late to it then waits in its own
 * small files, which the tiers keep few, until they are `compact-late-percent` of the partition: so a byte that waits
 * there is rewritten a few times, not with every append.
 *
 * By `maintain`: every partition with two small files, with files that may share keys, that are not sorted, or that
 * have deletes. Whole, whatever its size, if it may hold older copies; else only runs of small neighbours.
 *
 * A run never ends between files of one sequence number: the result has the greatest number it replaces, and must not
 * tie with a file outside.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "maintain/compact_internal.h"
#include "read/file_rows.h"
#include "table/settings.h"

enum {
    PAIRS_MOST = 200, /* of files; beyond it they are taken to share keys */
    LARGER_TIERS = 4  /* files of more than 256 KiB wait for so many times more of them */
};

/* A file and its partition. */
typedef struct placed {
    int32_t partition;
    int64_t index; /* in plan->files.data */
} placed;

typedef struct choosing {
    const tl_plan *plan;
    const tl_compact_options *o;
    const tl_contract *contract;
    const tl_schema *schema;
    int64_t target, min_files, late_percent, max_deletes;
    bool cold_on;
    int64_t cold_before_us; /* partitions that end until then are cold */
    int32_t sort_order;     /* sorted files have it; 0 = not to be told */
    tl_compact_work *work;
    int64_t cap;
    tl_compact_outlook outlook; /* what this look tells of the next appends */
    bool outlook_known;
} choosing;

/* Of one partition. */
typedef struct census {
    const placed *files; /* in commit order */
    int64_t n;
    int64_t small, fresh, unsorted, deletes, bytes;
    int64_t late_bytes; /* of all files but the largest and those written with it */
} census;

static const tl_live_file *file_at(const choosing *c, const placed *p) {
    return &c->plan->files.data[p->index];
}

static bool is_small(const choosing *c, const tl_live_file *f) {
    return f->file.file_size < c->target / 4 * 3;
}

/* <256 KiB, <1 MiB, <4 MiB ... */
static int tier(const tl_live_file *f) {
    int t = 0;
    for (uint64_t size = (uint64_t)f->file.file_size >> 16; size >= 4; size /= 4) {
        t++;
    }
    return t;
}

/* A result of compaction keeps the sequence number of what it replaced. */
static bool is_fresh(const tl_live_file *f) {
    return f->file_sequence_number == f->sequence_number;
}

/* ---- units ---- */

static double heat_of(const choosing *c, int32_t partition) {
    for (int64_t i = 0; c->o->heat && i < c->o->n_heat; i++) {
        if (c->o->heat_partitions[i] == partition) {
            return c->o->heat[i] > 0 ? c->o->heat[i] : 0;
        }
    }
    return 0;
}

static tl_status add_unit(choosing *c, const placed *files, int64_t n, double worth, tl_error *err) {
    tl_compact_work *w = c->work;
    if (w->n == c->cap) {
        int64_t cap = c->cap ? c->cap * 2 : 16;
        tl_compact_unit *grown = tl_arena_array(&w->arena, (size_t)cap, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, (size_t)cap * sizeof *grown);
        }
        if (w->n) {
            memcpy(grown, w->units, (size_t)w->n * sizeof *grown);
        }
        w->units = grown;
        c->cap = cap;
    }
    tl_compact_unit *u = &w->units[w->n];
    *u = (tl_compact_unit){.partition = files[0].partition, .n = n};
    u->files = tl_arena_array(&w->arena, (size_t)n, sizeof *u->files);
    if (!u->files) {
        return tl_fail_memory(err, (size_t)n * sizeof *u->files);
    }
    for (int64_t i = 0; i < n; i++) {
        const tl_live_file *f = file_at(c, &files[i]);
        u->files[i] = files[i].index;
        u->rows += f->file.record_count;
        u->bytes += f->file.file_size;
    }
    u->worth = worth * (1 + heat_of(c, u->partition));
    w->n++;
    return TL_OK;
}

/* Runs of neighbours that are small and, with `tiers`, of one tier; at least `least` of them. */
static tl_status add_runs(choosing *c, const census *p, bool tiers, int64_t least, tl_error *err) {
    for (int64_t from = 0, to; from < p->n; from = to) {
        const tl_live_file *first = file_at(c, &p->files[from]);
        to = from + 1;
        if (!is_small(c, first)) {
            continue;
        }
        while (to < p->n) {
            const tl_live_file *f = file_at(c, &p->files[to]);
            if (!is_small(c, f) || (tiers && tier(f) != tier(first))) {
                break;
            }
            to++;
        }
        int64_t begin = from, end = to;
        while (begin < end && begin > 0 &&
               file_at(c, &p->files[begin])->sequence_number == file_at(c, &p->files[begin - 1])->sequence_number) {
            begin++;
        }
        while (end > begin && end < p->n &&
               file_at(c, &p->files[end])->sequence_number == file_at(c, &p->files[end - 1])->sequence_number) {
            end--;
        }
        if (end - begin >= (tiers && tier(first) > 0 ? least * LARGER_TIERS : least)) {
            TL_TRY(add_unit(c, p->files + begin, end - begin, (double)(end - begin), err));
        }
    }
    return TL_OK;
}

/* ---- one partition ---- */

static bool same_commit(const tl_live_file *a, const tl_live_file *b) {
    return a->snapshot_id == b->snapshot_id && a->file_sequence_number == b->file_sequence_number &&
           a->sequence_number == b->sequence_number;
}

/* Files of one commit share no key. */
static tl_status may_share(const choosing *c, const census *p, bool *out, tl_error *err) {
    *out = p->n > PAIRS_MOST;
    for (int64_t i = 0; i < p->n && !*out; i++) {
        for (int64_t k = i + 1; k < p->n && !*out; k++) {
            const tl_live_file *a = file_at(c, &p->files[i]), *b = file_at(c, &p->files[k]);
            if (!same_commit(a, b)) {
                TL_TRY(tl_file_rows_may_share(c->plan, a, b, out, err));
            }
        }
    }
    return TL_OK;
}

static bool is_cold(const choosing *c, int32_t partition) {
    int64_t end;
    return c->cold_on && partition < INT32_MAX && c->contract->chunk != TL_TRANSFORM_VOID &&
           tl_transform_time_start(c->contract->chunk, partition + 1, &end) && end <= c->cold_before_us;
}

/* How many files must come to the partition at least before it has a run that is long enough. An append to a cold one
 * is looked at anyway. */
static void note_tail(choosing *c, const census *p) {
    if (c->outlook.cold_on && p->files[0].partition < c->outlook.hot_from) {
        return;
    }
    const tl_live_file *last = file_at(c, &p->files[p->n - 1]);
    int64_t run = 0, least = tier(last) > 0 ? c->min_files * LARGER_TIERS : c->min_files;
    while (run < p->n && is_small(c, file_at(c, &p->files[p->n - 1 - run])) &&
           tier(file_at(c, &p->files[p->n - 1 - run])) == tier(last)) {
        run++;
    }
    int64_t left = least - run;
    c->outlook.files_left = left < c->outlook.files_left ? left : c->outlook.files_left;
}

static tl_status choose_inline(choosing *c, const census *p, tl_error *err) {
    bool light = p->bytes <= 2 * c->target;
    double worth = (double)p->small + (double)p->deletes;
    if (light && p->deletes > c->max_deletes) {
        return add_unit(c, p->files, p->n, worth, err);
    }
    if (light && p->n >= 2 && p->small >= 2 && is_cold(c, p->files[0].partition)) {
        bool first = p->fresh == p->n;
        bool due = (double)p->late_bytes * 100 >= (double)p->bytes * (double)c->late_percent;
        if (first || due) {
            return add_unit(c, p->files, p->n, worth, err);
        }
    }
    note_tail(c, p);
    return add_runs(c, p, true, c->min_files, err);
}

static tl_status choose_all(choosing *c, const census *p, tl_error *err) {
    bool copies = c->contract->time >= 0 && c->contract->dedup, share = false;
    if (c->o->rewrite) {
        return add_unit(c, p->files, p->n, (double)p->n, err);
    }
    if (copies && p->n >= 2 && p->small < 2 && !p->unsorted && !p->deletes) {
        TL_TRY(may_share(c, p, &share, err));
    }
    if (p->small < 2 && !share && !p->unsorted && !p->deletes) {
        return TL_OK;
    }
    double worth = (double)p->small + (double)p->deletes + (double)p->unsorted + (share ? 1 : 0);
    if (copies || p->unsorted || p->deletes || p->bytes <= 2 * c->target) {
        return add_unit(c, p->files, p->n, worth, err);
    }
    return add_runs(c, p, false, 2, err);
}

/* ---- the table ---- */

static int by_partition(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* False: a file of another spec, whose rows may be anywhere. */
static bool place(const choosing *c, const tl_data_file *f, int32_t *out) {
    const tl_metadata *m = &c->plan->table->metadata;
    const tl_partition_spec *spec = tl_metadata_spec(m);
    int32_t n = spec ? spec->n_fields : 0;
    *out = 0;
    if (f->spec_id != m->default_spec_id || n > 1 || f->n_partition != n) {
        return false;
    }
    if (n == 0) {
        return true;
    }
    bool ours = c->contract->time >= 0 && spec->fields[0].transform == c->contract->chunk &&
                spec->fields[0].source_id == c->schema->fields[c->contract->time].id;
    if (!ours || f->partition[0].value.len != sizeof *out || !f->partition[0].value.data) {
        return false;
    }
    *out = tl_load_i32(f->partition[0].value.data);
    return true;
}

static bool is_wanted(const choosing *c, int32_t partition) {
    bool wanted = !c->o->only_partitions;
    for (int64_t i = 0; !wanted && i < c->o->n_only; i++) {
        wanted = c->o->only_partitions[i] == partition;
    }
    return wanted;
}

static census count(const choosing *c, const placed *files, int64_t n) {
    census p = {.files = files, .n = n};
    const tl_live_file *largest = file_at(c, &files[0]);
    for (int64_t i = 0; i < n; i++) {
        const tl_live_file *f = file_at(c, &files[i]);
        p.small += is_small(c, f);
        p.fresh += is_fresh(f);
        largest = f->file.file_size > largest->file.file_size ? f : largest;
        p.unsorted += c->sort_order > 0 && f->file.sort_order_id != c->sort_order;
        p.bytes += f->file.file_size;
    }
    for (int64_t i = 0; i < n; i++) {
        const tl_live_file *f = file_at(c, &files[i]);
        p.late_bytes += same_commit(f, largest) ? 0 : f->file.file_size;
    }
    for (int64_t i = 0; i < c->plan->files.n_deletes; i++) {
        int32_t partition;
        p.deletes += place(c, &c->plan->files.deletes[i].file, &partition) && partition == files[0].partition;
    }
    return p;
}

static tl_status choose_partitions(choosing *c, const placed *files, int64_t n, tl_error *err) {
    for (int64_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && files[to].partition == files[from].partition;) {
            to++;
        }
        if (!is_wanted(c, files[from].partition)) {
            continue;
        }
        census p = count(c, files + from, to - from);
        TL_TRY(c->o->inline_only ? choose_inline(c, &p, err) : choose_all(c, &p, err));
    }
    return TL_OK;
}

static int most_worth_first(const void *a, const void *b) {
    const tl_compact_unit *x = a, *y = b;
    if (x->worth != y->worth) {
        return x->worth > y->worth ? -1 : 1;
    }
    return x->files[0] < y->files[0] ? -1 : x->files[0] > y->files[0];
}

/* The newest time of the table by the files' bounds; false when none tells. */
static bool newest_time(const choosing *c, int64_t *out) {
    bool any = false;
    for (int64_t i = 0; i < c->plan->files.n_data; i++) {
        int64_t least, most;
        if (tl_file_rows_times(c->plan, &c->plan->files.data[i], &least, &most) && (!any || most > *out)) {
            *out = most;
            any = true;
        }
    }
    return any;
}

/* The partition that is cold next, and when. */
static void note_cold(choosing *c, int64_t newest, int64_t after) {
    tl_compact_outlook *o = &c->outlook;
    tl_transform chunk = c->contract->chunk;
    int64_t end;
    bool wanted = c->contract->time >= 0 && after >= 0 && chunk != TL_TRANSFORM_VOID;
    *o = (tl_compact_outlook){.files_left = c->min_files, .cold_on = wanted, .newest_us = newest};
    c->outlook_known = !wanted || (c->cold_on && tl_transform_time(chunk, c->cold_before_us, &o->hot_from) &&
                                   o->hot_from < INT32_MAX && tl_transform_time_start(chunk, o->hot_from + 1, &end) &&
                                   tl_i64_add(end, after, &o->cold_us));
}

static void read_settings(choosing *c) {
    const tl_metadata *m = &c->plan->table->metadata;
    c->target = tl_setting_int(m, "target-file-size-bytes");
    c->min_files = tl_setting_int(m, "compact-min-files");
    c->min_files = c->min_files < 2 ? 2 : c->min_files;
    c->late_percent = tl_setting_int(m, "compact-late-percent");
    c->max_deletes = tl_setting_int(m, "max-delete-files");
    c->sort_order = c->contract->time >= 0 ? m->default_sort_order_id : 0;
    int64_t after = tl_setting_duration_us(m, "compact-cold-after"), newest = 0;
    bool known = c->contract->time >= 0 && after >= 0 && newest_time(c, &newest);
    if (c->o->now_us > 0 && newest > c->o->now_us) {
        newest = c->o->now_us; /* a row from the future makes nothing cold */
    }
    c->cold_on = known && tl_i64_add(newest, -after, &c->cold_before_us);
    note_cold(c, newest, after);
}

tl_status tl_compact_choose(const tl_plan *plan, const tl_compact_options *options, tl_compact_work *out,
                            tl_error *err) {
    choosing c = {.plan = plan,
                  .o = options,
                  .contract = &plan->table->contract,
                  .schema = tl_metadata_schema(&plan->table->metadata),
                  .work = out};
    *out = (tl_compact_work){0};
    int64_t n = plan->files.n_data;
    read_settings(&c);
    placed *files = tl_alloc_array((size_t)n + 1, sizeof *files);
    if (!files) {
        return tl_fail_memory(err, (size_t)n * sizeof *files);
    }
    bool all = true;
    for (int64_t i = 0; i < n && all; i++) {
        files[i].index = i;
        all = place(&c, &plan->files.data[i].file, &files[i].partition);
    }
    tl_status status = TL_OK;
    if (all && n > 0) { /* else another writer's partitions are among them: their order is not known */
        qsort(files, (size_t)n, sizeof *files, by_partition);
        status = choose_partitions(&c, files, n, err);
    }
    tl_free(files);
    if (status != TL_OK) {
        tl_compact_work_free(out);
    } else if (options->outlook && out->n == 0 && all && c.outlook_known) {
        tl_compact_outlook_note(plan->table, &c.outlook, options->outlook);
    } else if (out->n) {
        qsort(out->units, (size_t)out->n, sizeof *out->units, most_worth_first);
    }
    return status;
}

void tl_compact_work_free(tl_compact_work *work) {
    tl_arena_free(&work->arena);
    *work = (tl_compact_work){0};
}
