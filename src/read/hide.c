/*
 * Which rows of a plan are older copies. Comes in: the plan's files, with the rows that delete files have. Goes out:
 * `hidden` of each. What is known from earlier plans of the process is used, and extended when files were added.
 *
 * What is kept holds for the files as they were written. Deleted rows neither win nor lose, which changes nothing as
 * long as they are older copies themselves (what policy upsert deletes); where a newest row was deleted, the partition
 * is looked at again with the deletes in mind.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "commit/deletes.h"
#include "read/cache.h"
#include "read/kept.h"
#include "read/older.h"
#include "read/read_internal.h"

/* So many added files are worth being compared even for a narrow query, so that the next one finds all known. */
#define EXTEND_ALWAYS 8
/* What `cheap` plans look at: up to so many times the rows that were added, some rows always, never more than these. */
#define CHEAP_TIMES 16
#define CHEAP_ROWS_LEAST (INT64_C(1) << 18)
#define CHEAP_ROWS_MOST (INT64_C(1) << 22)

typedef struct hider {
    tl_plan *plan;
    const tl_schema *schema;
    const tl_plan_options *options;
    tl_bytes *only;
    bool narrow;
    bool remember, settled;
    tl_file_id table;
    tl_older_file *files; /* as plan->files.data */
    tl_file_id *ids;
    uint64_t *partitions;   /* of each file */
    tl_plan_file **scanned; /* of each file: its place in the scan; NULL = not wanted */
    tl_arena arena;
} hider;

/* The files of one partition, as numbers into the hider's arrays. */
typedef struct part {
    const int64_t *files;
    int64_t n, n_scanned;
    tl_known_part *known; /* what the cache has; NULL = nothing of use */
    bool store;
} part;

/* ---- partitions ---- */

static uint64_t partition_of(const tl_data_file *f) {
    uint64_t h = tl_hash_u64((uint64_t)(uint32_t)f->spec_id);
    for (int32_t i = 0; i < f->n_partition; i++) {
        tl_bytes v = f->partition[i].value;
        h = v.data ? tl_hash_bytes(v.data, v.len, h) : tl_hash_u64(h ^ 0x9e3779b97f4a7c15u);
    }
    return h;
}

static tl_status describe(hider *h, tl_error *err) {
    tl_plan *plan = h->plan;
    size_t n = (size_t)plan->files.n_data;
    h->files = tl_arena_array(&h->arena, n, sizeof *h->files);
    h->ids = tl_arena_array(&h->arena, n, sizeof *h->ids);
    h->partitions = tl_arena_array(&h->arena, n, sizeof *h->partitions);
    h->scanned = tl_arena_array(&h->arena, n, sizeof(tl_plan_file *));
    if (!h->files || !h->ids || !h->partitions || !h->scanned) {
        return tl_fail_memory(err, n * sizeof *h->files);
    }
    bool one_spec = true; /* after a change of the partition spec equal keys may stand in different partitions */
    for (size_t i = 0; i < n; i++) {
        const tl_live_file *f = &plan->files.data[i];
        h->files[i] = (tl_older_file){.live = f, .number = (int32_t)i, .rank = (int32_t)i};
        if (!tl_file_time_bounds(h->schema, &plan->table->contract, f, &h->files[i].min, &h->files[i].max)) {
            h->files[i].min = INT64_MIN;
            h->files[i].max = INT64_MAX;
        }
        h->partitions[i] = partition_of(&f->file);
        one_spec = one_spec && f->file.spec_id == plan->files.data[0].file.spec_id;
    }
    for (size_t i = 0; !one_spec && i < n; i++) {
        h->partitions[i] = 0;
    }
    for (int64_t i = 0; i < plan->n_scan; i++) {
        h->scanned[plan->scan[i].file - plan->files.data] = &plan->scan[i];
    }
    return TL_OK;
}

typedef struct placed {
    uint64_t partition;
    int64_t file;
} placed;

static int by_partition(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    return x->file < y->file ? -1 : x->file > y->file;
}

/* Partitions in which the scan has files; `all` = with their other files as well. Their number in *n. */
static tl_status make_parts(hider *h, bool all, part **out, int64_t *n_out, tl_error *err) {
    size_t n = (size_t)h->plan->files.n_data;
    placed *order = tl_alloc_array(n, sizeof *order);
    int64_t *files = tl_arena_array(&h->arena, n, sizeof *files);
    *out = tl_arena_array(&h->arena, n, sizeof **out);
    if (!order || !files || !*out) {
        tl_free(order);
        return tl_fail_memory(err, n * sizeof *order);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (h->plan->files.data[i].file.record_count > 0 && (all || h->scanned[i])) {
            order[kept++] = (placed){h->partitions[i], (int64_t)i};
        }
    }
    qsort(order, kept, sizeof *order, by_partition);
    *n_out = 0;
    for (size_t from = 0; from < kept;) {
        part p = {.files = files + from};
        size_t to = from;
        for (; to < kept && order[to].partition == order[from].partition; to++) {
            files[to] = order[to].file;
            p.n++;
            p.n_scanned += h->scanned[order[to].file] != NULL;
        }
        if (p.n_scanned) {
            (*out)[(*n_out)++] = p;
        }
        from = to;
    }
    tl_free(order);
    return TL_OK;
}

/* ---- what is known ---- */

/* Takes the bitmaps of a cached partition; gives how many of its files the partition has now. */
static int64_t take_known(hider *h, const part *p, const tl_known_part *known) {
    int64_t found = 0;
    for (int64_t i = 0; i < p->n; i++) {
        tl_older_file *f = &h->files[p->files[i]];
        const tl_known_file *k = tl_known_part_find(known, h->ids[p->files[i]]);
        bool fits = k && (!k->older || k->older->n_rows == f->live->file.record_count);
        f->known = fits;
        f->older = fits ? tl_bitmap_retain(k->older) : NULL;
        found += f->known;
    }
    return found;
}

static void forget_known(hider *h, const part *p) {
    for (int64_t i = 0; i < p->n; i++) {
        tl_older_file *f = &h->files[p->files[i]];
        tl_bitmap_release(f->older);
        f->older = NULL;
        f->known = false;
    }
}

typedef enum what { NOTHING, EXTEND, NARROW } what;

/* What is to be done for a partition. */
static what consult(hider *h, part *p) {
    for (int64_t i = 0; i < p->n; i++) {
        h->ids[p->files[i]] = tl_older_file_id(h->files[p->files[i]].live);
    }
    tl_known_part *known = tl_older_cache_get(h->table, h->partitions[p->files[0]]);
    if (!known && tl_older_cache_first(h->table)) {
        tl_older_load(h->plan->table, h->table);
        known = tl_older_cache_get(h->table, h->partitions[p->files[0]]);
    }
    int64_t found = known && known->n <= p->n ? take_known(h, p, known) : 0;
    if (known && found < known->n) { /* files have gone: what hid rows may have gone with them */
        forget_known(h, p);
        found = 0;
    }
    tl_known_part_release(known);
    int64_t added = p->n - found;
    if (added == 0) {
        return NOTHING;
    }
    bool all = !h->narrow || (added <= EXTEND_ALWAYS && found > 0) ||
               (h->options->n_keys == 0 && p->n_scanned * 4 >= p->n * 3);
    if (!all) {
        forget_known(h, p);
        return NARROW;
    }
    const tl_snapshot *s = h->options->snapshot, *now = tl_metadata_current(&h->plan->table->metadata);
    p->store = !known || !s || !now || s->snapshot_id == now->snapshot_id; /* an old version is not worth its place */
    return EXTEND;
}

static void keep(const hider *h, const part *p) {
    tl_known_part *k = tl_known_part_create(h->table, h->partitions[p->files[0]], p->n);
    if (!k) {
        return;
    }
    for (int64_t i = 0; i < p->n; i++) {
        k->files[i] = (tl_known_file){h->ids[p->files[i]], tl_bitmap_retain(h->files[p->files[i]].older)};
    }
    tl_known_part_seal(k);
    tl_older_cache_put(k);
    tl_known_part_release(k);
}

/* ---- searching ---- */

/* Adds the groups of a partition: all its files, or those of the scan. */
static tl_status add_groups(hider *h, const part *p, bool scan_only, tl_groups *groups, tl_error *err) {
    tl_older_file **files = tl_alloc_array((size_t)p->n, sizeof(tl_older_file *));
    if (!files) {
        return tl_fail_memory(err, (size_t)p->n * sizeof(tl_older_file *));
    }
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (!scan_only || h->scanned[p->files[i]]) {
            files[n++] = &h->files[p->files[i]];
        }
    }
    tl_status status = tl_groups_add(h->plan->table, h->schema, files, n, groups, err);
    tl_free(files);
    return status;
}

static tl_status search(hider *h, const tl_groups *groups, bool narrow, bool deletes, tl_error *err) {
    const tl_plan_options *o = h->options;
    tl_older_search s = {.table = h->plan->table,
                         .schema = h->schema,
                         .deletes = deletes,
                         .remember = h->remember,
                         .settled = h->settled,
                         .pool = o->pool};
    if (narrow) {
        s.only = h->only;
        s.has_window = o->has_time && o->from_us < o->to_us;
        s.from_us = o->from_us;
        s.to_us = o->to_us - 1;
    }
    return tl_older_find(&s, groups, err);
}

/* Files whose deleted rows are not all older copies: the newest row of some key may be among them. */
static bool deletes_matter(const hider *h, const part *p) {
    for (int64_t i = 0; i < p->n; i++) {
        const tl_plan_file *s = h->scanned[p->files[i]];
        const tl_bitmap *older = h->files[p->files[i]].older;
        if (!s || !s->n_hidden) {
            continue;
        }
        size_t bytes = (size_t)(s->file->file.record_count + 7) / 8;
        for (size_t b = 0; b < bytes; b++) {
            if (s->hidden[b] & (older ? (uint8_t)~older->bits[b] : 0xff)) {
                return true;
            }
        }
    }
    return false;
}

/* The partitions that deletes matter for, again from nothing. */
static tl_status search_with_deletes(hider *h, part *parts, int64_t n, tl_error *err) {
    tl_groups groups = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        if (!deletes_matter(h, &parts[i])) {
            continue;
        }
        forget_known(h, &parts[i]);
        for (int64_t k = 0; k < parts[i].n; k++) {
            const tl_plan_file *s = h->scanned[parts[i].files[k]];
            h->files[parts[i].files[k]].deleted = s ? s->hidden : NULL;
        }
        status = add_groups(h, &parts[i], true, &groups, err);
    }
    if (status == TL_OK && groups.n) {
        status = search(h, &groups, h->narrow, true, err);
    }
    tl_groups_free(&groups);
    return status;
}

/* ---- into the plan ---- */

static tl_status hide_in(tl_plan_file *s, tl_bitmap *older, tl_error *err) {
    if (!older || older->n_set == 0) {
        return TL_OK;
    }
    if (!s->hidden) {
        s->shared = tl_bitmap_retain(older);
        s->hidden = older->bits;
        s->n_hidden = older->n_set;
        return TL_OK;
    }
    (void)err;
    for (size_t b = 0; b < (size_t)(older->n_rows + 7) / 8; b++) {
        s->hidden[b] |= older->bits[b];
    }
    s->n_hidden = tl_bits_count(s->hidden, 0, older->n_rows);
    return TL_OK;
}

/* A commit must not cost what the table holds (tl_plan_options.cheap). */
static tl_status check_effort(const hider *h, const part *parts, int64_t n, const tl_groups *groups, tl_error *err) {
    int64_t rows = 0, added = 0;
    for (int64_t g = 0; g < groups->n; g++) {
        rows += groups->items[g].rows;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < parts[i].n; k++) {
            const tl_older_file *f = &h->files[parts[i].files[k]];
            added += f->known ? 0 : f->live->file.record_count;
        }
    }
    bool cheap = rows <= CHEAP_ROWS_MOST && rows / CHEAP_TIMES <= added + CHEAP_ROWS_LEAST / CHEAP_TIMES;
    return cheap ? TL_OK
                 : tl_fail(err, TL_UNSUPPORTED, "older copies would be looked for in %lld rows", (long long)rows);
}

static tl_status find_known(hider *h, part *parts, int64_t n, tl_error *err) {
    tl_groups whole = {0}, some = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        what todo = consult(h, &parts[i]);
        if (todo != NOTHING) {
            status = add_groups(h, &parts[i], todo == NARROW, todo == NARROW ? &some : &whole, err);
        }
    }
    if (status == TL_OK && h->options->cheap) {
        status = check_effort(h, parts, n, &whole, err);
    }
    if (status == TL_OK) {
        status = search(h, &whole, false, false, err);
    }
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        if (parts[i].store) {
            keep(h, &parts[i]);
        }
    }
    if (status == TL_OK) {
        status = search(h, &some, true, false, err);
    }
    tl_groups_free(&whole);
    tl_groups_free(&some);
    return status;
}

/* What is not in the table yet, against what is. Files of a snapshot that has one copy of each key have nothing to do
 * with each other, and of a key whose rows were deleted there it has a later one: deleted rows change nothing. */
static tl_status find_beside(hider *h, part *parts, int64_t n, tl_error *err) {
    const tl_snapshot *now = tl_metadata_current(&h->plan->table->metadata);
    h->settled = now && tl_snapshot_has_one_copy(now);
    for (int64_t i = 0; i < h->plan->files.n_data; i++) {
        h->files[i].known = h->settled && h->files[i].live->manifest >= 0;
    }
    tl_groups groups = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        status = add_groups(h, &parts[i], true, &groups, err);
    }
    status = status == TL_OK ? search(h, &groups, h->narrow, false, err) : status;
    tl_groups_free(&groups);
    TL_TRY(status);
    return h->settled ? TL_OK : search_with_deletes(h, parts, n, err);
}

static tl_status hide(hider *h, bool cached, tl_error *err) {
    part *parts = NULL;
    int64_t n = 0;
    TL_TRY(tl_plan_only(h->plan->table, h->schema, h->options, &h->arena, &h->only, err));
    TL_TRY(describe(h, err));
    TL_TRY(make_parts(h, cached, &parts, &n, err));
    if (cached) {
        h->table = tl_older_table_id(h->plan->table, h->schema);
        TL_TRY(find_known(h, parts, n, err));
        TL_TRY(search_with_deletes(h, parts, n, err));
    } else {
        TL_TRY(find_beside(h, parts, n, err));
    }
    for (int64_t i = 0; i < h->plan->files.n_data; i++) {
        if (h->scanned[i]) {
            TL_TRY(hide_in(h->scanned[i], h->files[i].older, err));
        }
    }
    return TL_OK;
}

static tl_status run(tl_plan *plan, const tl_schema *schema, const tl_plan_options *options, bool cached,
                     tl_error *err) {
    if (plan->n_scan == 0 || plan->table->contract.time < 0) {
        return TL_OK;
    }
    hider h = {.plan = plan,
               .schema = schema,
               .options = options,
               .remember = !cached,
               .narrow = options->has_time || (options->n_keys > 0 && plan->table->contract.n_series > 0)};
    tl_status status = hide(&h, cached, err);
    for (int64_t i = 0; h.files && i < plan->files.n_data; i++) {
        tl_bitmap_release(h.files[i].older);
    }
    tl_arena_free(&h.arena);
    return status;
}

tl_status tl_plan_hide_older(tl_plan *plan, const tl_schema *schema, const tl_plan_options *options, tl_error *err) {
    return run(plan, schema, options, true, err);
}

tl_status tl_plan_hide_older_of(tl_plan *plan, const tl_schema *schema, tl_pool *pool, tl_error *err) {
    return run(plan, schema, &(tl_plan_options){.pool = pool}, false, err);
}
