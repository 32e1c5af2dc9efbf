/* Versions in use; see versions.h. */
#include "duckdb/versions.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "duckdb/bounds.h"
#include "table/settings.h"

enum {
    GAPS_MAX = 32,       /* in the list of a part's files: each is a comparison a row */
    MANY = 4,            /* so many plans may lie about before the replaced ones among them are let go early */
    RECORDS_MAX = 10000, /* what handles stand for */
    SECONDS_BUSY = 10,   /* used within: never let go */
    SECONDS_REPLACED = 60,
    SECONDS_IDLE = 600
};

/* What a handle stands for, and its plan while that is kept. */
typedef struct record {
    int64_t handle;
    tl_lake *lake;
    char *name;          /* "ns.t" */
    char *uuid;          /* the table's: one of the same name made anew is another */
    int64_t snapshot_id; /* -1 = the table was empty */
    int64_t version;     /* of the table, when its newest snapshot was asked for; -1 = a snapshot was named */
    bool keep_copies;
    bool merge;
    bool narrow; /* only a part is planned; then: */
    bool has_time;
    int64_t from_us, to_us;
    tl_key_filter *keys;
    int32_t n_keys;
    tl_arena arena;        /* owns keys */
    tl_read_version *made; /* NULL = let go */
    int64_t used_us;
} record;

struct tl_versions {
    record *records; /* by handle, ascending */
    size_t n, cap;
    tl_lock lock;     /* guards `records` */
    tl_lock planning; /* one plan is made at a time: others that want the same find it then */
};

/* Handles are never given twice in a process. */
static _Atomic int64_t last_handle = 0;

static int64_t now_us(void) {
    return tl_env_monotonic_us(tl_env_default());
}

tl_versions *tl_versions_create(void) {
    tl_versions *v = tl_calloc(1, sizeof *v);
    if (v) {
        tl_lock_init(&v->lock);
        tl_lock_init(&v->planning);
    }
    return v;
}

static void record_clear(record *r) {
    tl_version_release(r->made);
    tl_free(r->name);
    tl_free(r->uuid);
    tl_arena_free(&r->arena);
}

static tl_status copy_filters(const tl_key_filter *keys, int32_t n, tl_arena *arena, tl_key_filter **out,
                              tl_error *err) {
    tl_key_filter *copy = tl_arena_array(arena, (size_t)n, sizeof *copy);
    bool good = copy || n == 0;
    for (int32_t i = 0; i < n && good; i++) {
        copy[i] = keys[i];
        if (keys[i].value.data) {
            copy[i].value.data = tl_arena_copy(arena, keys[i].value.data, keys[i].value.len);
            good = copy[i].value.data != NULL;
        }
    }
    *out = copy;
    return good ? TL_OK : tl_fail_memory(err, (size_t)n * sizeof *copy);
}

static tl_status copy_keys(const tl_key_filter *keys, int32_t n, record *out, tl_error *err) {
    out->arena = (tl_arena){0};
    out->n_keys = n;
    return copy_filters(keys, n, &out->arena, &out->keys, err);
}

static bool same_narrowing(const record *a, const record *b) {
    if (a->narrow != b->narrow || a->has_time != b->has_time || a->n_keys != b->n_keys ||
        (a->has_time && (a->from_us != b->from_us || a->to_us != b->to_us))) {
        return false;
    }
    for (int32_t i = 0; i < a->n_keys; i++) {
        if (a->keys[i].column != b->keys[i].column || !a->keys[i].value.data != !b->keys[i].value.data ||
            !tl_bytes_equal(a->keys[i].value, b->keys[i].value)) {
            return false;
        }
    }
    return true;
}

void tl_versions_free(tl_versions *v) {
    if (!v) {
        return;
    }
    for (size_t i = 0; i < v->n; i++) {
        record_clear(&v->records[i]);
    }
    tl_free(v->records);
    tl_lock_free(&v->lock);
    tl_lock_free(&v->planning);
    tl_free(v);
}

/* Hands the marks on to the lake's counts. Marks that are set meanwhile may be lost: it is a hint. */
static void note_reads(tl_read_version *version) {
    int64_t n = version->read ? version->plan->n_scan : 0;
    uint8_t *read = NULL;
    for (int64_t i = 0; i < n; i++) {
        if (!atomic_load_explicit(&version->read[i], memory_order_relaxed)) {
            continue;
        }
        read = read ? read : tl_calloc((size_t)n, 1);
        if (read) {
            read[i] = 1;
        }
        atomic_store_explicit(&version->read[i], 0, memory_order_relaxed);
    }
    if (read) {
        tl_reads_add(&version->lake->reads, version->plan, read);
    }
    tl_free(read);
}

void tl_version_release(tl_read_version *version) {
    if (version && --version->references == 0) {
        note_reads(version);
        tl_free((void *)version->read);
        tl_plan_release(version->plan);
        tl_arena_free(&version->arena);
        tl_buf_free(&version->sql);
        tl_free(version);
    }
}

/* ---- which snapshot ---- */

static tl_status snapshot_at(const tl_table *table, int64_t us, const tl_snapshot **out, tl_error *err) {
    const tl_metadata *m = &table->metadata;
    char asked[TL_NUM_TEXT], oldest[TL_NUM_TEXT];
    int64_t ms = tl_floor_div(us, 1000);
    for (int32_t i = m->n_snapshot_log; i-- > 0;) {
        const tl_log_entry *e = &m->snapshot_log[i];
        if (e->timestamp_ms <= ms) {
            *out = tl_metadata_snapshot(m, e->snapshot_id);
            return *out ? TL_OK
                        : tl_fail(err, TL_NOT_FOUND, "table %s: the snapshot of that time (%lld) has expired",
                                  table->name, (long long)e->snapshot_id);
        }
    }
    (void)tl_print_timestamp(us, 1000000, true, asked);
    if (m->n_snapshot_log == 0) {
        return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot as of %s", table->name, asked);
    }
    (void)tl_print_timestamp(m->snapshot_log[0].timestamp_ms, 1000, true, oldest);
    return tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot as of %s: its oldest is of %s", table->name, asked,
                   oldest);
}

tl_status tl_version_snapshot(const tl_table *table, const tl_version_want *want, const tl_snapshot **out,
                              tl_error *err) {
    if (want->has_as_of) {
        return snapshot_at(table, want->as_of_us, out, err);
    }
    if (!want->snapshot_id) {
        *out = tl_metadata_current(&table->metadata);
        return TL_OK;
    }
    *out = tl_metadata_snapshot(&table->metadata, want->snapshot_id);
    return *out ? TL_OK
                : tl_fail(err, TL_NOT_FOUND, "table %s has no snapshot %lld (it may have expired)", table->name,
                          (long long)want->snapshot_id);
}

static const tl_schema *schema_of(const tl_table *table, bool named, const tl_snapshot *snapshot) {
    const tl_schema *own = named && snapshot && snapshot->schema_id >= 0
                               ? tl_metadata_schema_by_id(&table->metadata, snapshot->schema_id)
                               : NULL;
    return own ? own : tl_metadata_schema(&table->metadata);
}

const tl_schema *tl_version_schema(const tl_table *table, const tl_version_want *want, const tl_snapshot *snapshot) {
    return schema_of(table, want->snapshot_id || want->has_as_of, snapshot);
}

static bool keeps_copies(const tl_table *table, int dedup) {
    const tl_metadata *m = &table->metadata;
    bool wanted = dedup >= 0                                       ? dedup
                  : tl_metadata_property(m, "timelake.read-dedup") ? tl_setting_bool(m, "read-dedup")
                                                                   : table->contract.dedup;
    return !(wanted && table->contract.dedup);
}

tl_strategy tl_strategy_of(const char *name) {
    return !*name ? TL_STRATEGY_OF_TABLE : strcmp(name, "merge") == 0 ? TL_STRATEGY_MERGE : TL_STRATEGY_KEYS;
}

static bool merges(const tl_table *table, tl_strategy strategy) {
    return strategy == TL_STRATEGY_OF_TABLE
               ? tl_strategy_of(tl_setting_text(&table->metadata, "read-dedup-strategy")) == TL_STRATEGY_MERGE
               : strategy == TL_STRATEGY_MERGE;
}

/* ---- making ---- */

/* What the merge is to do, which is asked for again by each run of it. */
static tl_status keep_options(const tl_plan_options *options, tl_read_version *made, tl_error *err) {
    tl_key_filter *keys;
    TL_TRY(copy_filters(options->keys, options->n_keys, &made->arena, &keys, err));
    made->merge = *options; /* its snapshot is of the table that the plan retains */
    made->merge.pool = NULL;
    made->merge.keys = keys;
    return TL_OK;
}

static tl_status write_sql(tl_read_version *made, tl_error *err) {
    if (!made->merge.merge) {
        return tl_scan_sql(made->plan, made->schema, made->handle, &made->sql, err);
    }
    return tl_buf_printf(&made->sql, "SELECT * FROM tl_merged(%lld)", (long long)made->handle) == TL_OK
               ? TL_OK
               : tl_fail_memory(err, 64);
}

static tl_status make(tl_lake *lake, tl_table *table, const tl_snapshot *snapshot, const record *r,
                      tl_read_version **out, tl_error *err) {
    tl_read_version *made = tl_calloc(1, sizeof *made);
    if (!made) {
        return tl_fail_memory(err, sizeof *made);
    }
    made->references = 1;
    made->handle = r->handle;
    made->lake = lake;
    bool pinned = r->version < 0 && snapshot;
    made->schema = schema_of(table, pinned, snapshot);
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_plan_options options = {.snapshot = pinned ? snapshot : NULL,
                               .keep_copies = r->keep_copies,
                               .merge = r->merge,
                               .names = !r->merge,
                               .has_time = r->has_time,
                               .from_us = r->from_us,
                               .to_us = r->to_us,
                               .keys = r->keys,
                               .n_keys = r->n_keys,
                               .pool = pool};
    tl_status status = tl_plan_create(table, &options, &made->plan, err);
    tl_lake_pool_give(lake, pool);
    if (status == TL_OK) {
        made->read = tl_calloc((size_t)made->plan->n_scan, sizeof *made->read); /* without it reads are not noted */
        status = r->merge ? keep_options(&options, made, err) : TL_OK;
    }
    if (status == TL_OK) {
        status = write_sql(made, err);
    }
    if (status == TL_OK && tl_buf_add_byte(&made->sql, 0) != TL_OK) {
        status = tl_fail_memory(err, made->sql.len);
    }
    if (status != TL_OK) {
        tl_version_release(made);
        return status;
    }
    *out = made;
    return TL_OK;
}

/* Lets go of what nobody is likely to use again. The lock is held. */
static void sweep(tl_versions *v, int64_t now) {
    size_t kept = 0;
    for (size_t i = v->n; i-- > 0;) { /* the newest first */
        record *r = &v->records[i];
        if (!r->made) {
            continue;
        }
        bool replaced = false;
        for (size_t k = i + 1; k < v->n && !replaced; k++) {
            const record *newer = &v->records[k];
            replaced = newer->made && !newer->narrow && newer->lake == r->lake && newer->version >= 0 &&
                       r->version >= 0 && newer->keep_copies == r->keep_copies && newer->merge == r->merge &&
                       strcmp(newer->name, r->name) == 0;
        }
        int64_t seconds = (now - r->used_us) / 1000000;
        kept++;
        if (seconds >= (replaced ? SECONDS_REPLACED : SECONDS_IDLE) ||
            (kept > MANY && seconds >= SECONDS_BUSY && (replaced || r->version < 0 || r->narrow))) {
            tl_version_release(r->made);
            r->made = NULL;
            kept--;
        }
    }
    if (v->n > RECORDS_MAX) {
        size_t drop = v->n / 4, to = 0;
        for (size_t i = 0; i < v->n; i++) {
            if (drop > 0 && !v->records[i].made) {
                record_clear(&v->records[i]);
                drop--;
            } else {
                v->records[to++] = v->records[i];
            }
        }
        v->n = to;
    }
}

void tl_versions_sweep(tl_versions *v, int64_t now) {
    tl_lock_take(&v->lock);
    sweep(v, now);
    tl_lock_give(&v->lock);
}

/* ---- finding ---- */

/* The lock is held. */
static tl_read_version *use(record *r) {
    r->used_us = now_us();
    r->made->references++;
    return r->made;
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static tl_read_version *known(tl_versions *v, const record *want) {
    tl_read_version *found = NULL;
    tl_lock_take(&v->lock);
    for (size_t i = v->n; i-- > 0 && !found;) {
        record *r = &v->records[i];
        if (r->made && r->lake == want->lake && r->version == want->version && r->snapshot_id == want->snapshot_id &&
            r->keep_copies == want->keep_copies && r->merge == want->merge && strcmp(r->name, want->name) == 0 &&
            same_text(r->uuid, want->uuid) && same_narrowing(r, want)) {
            found = use(r);
        }
    }
    tl_lock_give(&v->lock);
    return found;
}

/* Takes the record's texts and `made` on success. */
static tl_status remember(tl_versions *v, const record *r, tl_error *err) {
    tl_status status = TL_OK;
    tl_lock_take(&v->lock);
    sweep(v, now_us());
    if (v->n == v->cap) {
        size_t cap = v->cap ? v->cap * 2 : 16;
        record *grown = tl_realloc_array(v->records, cap, sizeof *grown);
        if (grown) {
            v->records = grown;
            v->cap = cap;
        } else {
            status = tl_fail_memory(err, cap * sizeof *grown);
        }
    }
    if (status == TL_OK) {
        v->records[v->n++] = *r;
    }
    tl_lock_give(&v->lock);
    return status;
}

/* The planning lock is held, so that handles come in ascending order. */
static tl_status make_new(tl_versions *v, tl_table *table, const tl_snapshot *snapshot, const record *want,
                          tl_read_version **out, tl_error *err) {
    record r = *want;
    r.name = tl_strdup(want->name);
    r.uuid = tl_strdup(want->uuid ? want->uuid : "");
    r.handle = ++last_handle;
    tl_status status = r.name && r.uuid ? copy_keys(want->keys, want->n_keys, &r, err) : tl_fail_memory(err, 64);
    status = status == TL_OK ? make(r.lake, table, snapshot, &r, &r.made, err) : status;
    if (status == TL_OK) {
        r.used_us = now_us();
        r.made->references++;
        *out = r.made;
        status = remember(v, &r, err);
        if (status == TL_OK) {
            return TL_OK;
        }
        tl_version_release(*out);
    }
    record_clear(&r);
    return status;
}

/* A part of a version that is planned already, under its handle: files that cannot have wanted rows are not listed. */
static tl_status part_of(const tl_read_version *whole, const bool *wanted, tl_read_version **out, tl_error *err) {
    tl_read_version *part = tl_calloc(1, sizeof *part);
    if (!part) {
        return tl_fail_memory(err, sizeof *part);
    }
    part->references = 1;
    part->handle = whole->handle;
    part->lake = whole->lake;
    part->plan = tl_plan_retain(whole->plan);
    part->read = tl_calloc((size_t)part->plan->n_scan, sizeof *part->read);
    part->schema = whole->schema;
    tl_status status = tl_scan_some_sql(part->plan, part->schema, part->handle, wanted, &part->sql, err);
    if (status == TL_OK && tl_buf_add_byte(&part->sql, 0) != TL_OK) {
        status = tl_fail_memory(err, part->sql.len);
    }
    if (status != TL_OK) {
        tl_version_release(part);
        part = NULL;
    }
    *out = part;
    return status;
}

/* The files of [from_us, to_us) among those of `whole`, which is given back. */
static tl_status part_of_times(tl_read_version *whole, int64_t from_us, int64_t to_us, tl_read_version **out,
                               tl_error *err) {
    const tl_plan *plan = whole->plan;
    bool *wanted = tl_alloc_array((size_t)plan->n_scan, sizeof *wanted);
    tl_status status = wanted ? TL_OK : tl_fail_memory(err, (size_t)plan->n_scan);
    for (int64_t i = 0; status == TL_OK && i < plan->n_scan; i++) {
        int64_t min, max;
        wanted[i] = !tl_bounds_time(whole->schema, &plan->table->contract, plan->scan[i].file, &min, &max) ||
                    (max >= from_us && min < to_us);
    }
    int64_t gaps = 0;
    for (int64_t i = 1; status == TL_OK && i < plan->n_scan; i++) {
        gaps += wanted[i - 1] && !wanted[i];
    }
    if (status == TL_OK) {
        status = part_of(whole, gaps > GAPS_MAX ? NULL : wanted, out, err);
    }
    tl_free(wanted);
    tl_version_release(whole);
    return status;
}

static record record_of(tl_lake *lake, const tl_table *table, const tl_snapshot *snapshot,
                        const tl_version_want *want) {
    bool named = want->snapshot_id || want->has_as_of, keep_copies = keeps_copies(table, want->dedup);
    return (record){.lake = lake,
                    .name = table->name,
                    .uuid = (char *)(uintptr_t)table->metadata.table_uuid,
                    .snapshot_id = snapshot ? snapshot->snapshot_id : -1,
                    .version = named ? -1 : table->version,
                    .keep_copies = keep_copies,
                    .merge = !keep_copies && merges(table, want->strategy)};
}

static tl_status get(tl_versions *v, tl_lake *lake, tl_table *table, const tl_version_want *want, tl_read_version **out,
                     tl_error *err) {
    const tl_snapshot *snapshot;
    TL_TRY(tl_version_snapshot(table, want, &snapshot, err));
    record r = record_of(lake, table, snapshot, want);
    r.narrow = want->has_time || want->n_keys > 0;
    record whole = r;
    whole.narrow = false;
    *out = r.merge && r.narrow ? NULL : known(v, &whole); /* a merge leaves out rows before it looks at them */
    if (*out && want->has_time) {
        return part_of_times(*out, want->from_us, want->to_us, out, err);
    }
    if (*out) {
        return TL_OK;
    }
    r.has_time = want->has_time;
    r.from_us = want->from_us;
    r.to_us = want->to_us;
    r.keys = (tl_key_filter *)(uintptr_t)want->keys;
    r.n_keys = want->n_keys;
    tl_lock_take(&v->planning);
    *out = known(v, &r);
    tl_status status = *out ? TL_OK : make_new(v, table, snapshot, &r, out, err);
    tl_lock_give(&v->planning);
    return status;
}

tl_status tl_versions_get(tl_versions *v, tl_lake *lake, const char *name, const tl_version_want *want,
                          tl_read_version **out, tl_error *err) {
    tl_table *table = NULL;
    *out = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    tl_status status = get(v, lake, table, want, out, err);
    tl_table_release(table);
    return status;
}

/* ---- the newest rows ---- */

/* A file's least time and rows, for finding a time that enough rows are not older than. */
typedef struct file_begin {
    int64_t min, rows;
} file_begin;

static int latest_begin_first(const void *a, const void *b) {
    const file_begin *x = a, *y = b;
    return x->min > y->min ? -1 : x->min < y->min;
}

/* The greatest time that `limit` rows of whole files are not older than; hidden rows do not count. False = there is
 * none, or bounds are missing. */
static bool newest_begin(const tl_read_version *version, int64_t limit, int64_t *from_us, tl_status *status) {
    const tl_plan *plan = version->plan;
    file_begin *begins = tl_alloc_array((size_t)plan->n_scan, sizeof *begins);
    *status = begins ? TL_OK : TL_NO_MEMORY;
    bool found = false;
    int64_t max, rows = 0;
    for (int64_t i = 0; begins && i < plan->n_scan; i++) {
        if (!tl_bounds_time(version->schema, &plan->table->contract, plan->scan[i].file, &begins[i].min, &max) ||
            max == INT64_MAX) { /* infinity is no bound of a span */
            tl_free(begins);
            return false;
        }
        begins[i].rows = plan->scan[i].file->file.record_count - plan->scan[i].n_hidden;
    }
    if (begins) {
        qsort(begins, (size_t)plan->n_scan, sizeof *begins, latest_begin_first);
    }
    for (int64_t i = 0; begins && i < plan->n_scan && !found; i++) {
        rows += begins[i].rows;
        *from_us = begins[i].min;
        found = rows >= limit;
    }
    tl_free(begins);
    return found;
}

/* A time is guessed from counts that know nothing of older copies, then checked by a plan of what is not older: its
 * hidden rows are known, and older rows cannot be among the newest `limit` when so many newer ones are seen. */
static tl_status newest_by_guess(tl_versions *v, tl_lake *lake, const char *name, const tl_version_want *want,
                                 int64_t limit, tl_read_version **out, tl_error *err) {
    tl_version_want all = *want, part = *want;
    tl_read_version *bare = NULL, *some = NULL;
    tl_status status;
    all.dedup = 0;
    TL_TRY(tl_versions_get(v, lake, name, &all, &bare, err));
    int64_t guess = limit < INT64_MAX / 4 ? limit * 2 : limit, from, proof;
    part.has_time = newest_begin(bare, guess, &from, &status);
    tl_version_release(bare);
    *out = NULL;
    if (status != TL_OK) {
        return tl_fail_memory(err, 1);
    }
    if (part.has_time) {
        part.from_us = from;
        part.to_us = INT64_MAX;
        TL_TRY(tl_versions_get(v, lake, name, &part, &some, err));
        if (newest_begin(some, limit, &proof, &status) && proof >= from) {
            *out = some;
            return TL_OK;
        }
        tl_version_release(some);
    }
    return status == TL_OK ? tl_versions_get(v, lake, name, want, out, err) : tl_fail_memory(err, 1);
}

tl_status tl_versions_newest(tl_versions *v, tl_lake *lake, const char *name, const tl_version_want *want,
                             int64_t limit, tl_read_version **out, tl_error *err) {
    tl_table *table = NULL;
    const tl_snapshot *snapshot;
    *out = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    tl_status status = tl_version_snapshot(table, want, &snapshot, err), bounds = TL_OK;
    record r = {0};
    if (status == TL_OK) {
        r = record_of(lake, table, snapshot, want);
        *out = known(v, &r);
    }
    bool merge = r.merge; /* by its counts nothing can be proved */
    tl_table_release(table);
    TL_TRY(status);
    if (merge) {
        return *out ? TL_OK : tl_versions_get(v, lake, name, want, out, err);
    }
    if (!*out) {
        return newest_by_guess(v, lake, name, want, limit, out, err);
    }
    int64_t from;
    if (newest_begin(*out, limit, &from, &bounds)) {
        return part_of_times(*out, from, INT64_MAX, out, err);
    }
    return bounds == TL_OK ? TL_OK : tl_fail_memory(err, 1);
}

/* ---- by handle ---- */

/* The lock is held. */
static record *by_handle(tl_versions *v, int64_t handle) {
    size_t low = 0, high = v->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->records[middle].handle < handle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < v->n && v->records[low].handle == handle ? &v->records[low] : NULL;
}

/* A copy of the record without its plan; its texts are the caller's to clear. */
static tl_status look_up(tl_versions *v, int64_t handle, record *copy, tl_read_version **out, tl_error *err) {
    tl_status status = TL_OK;
    *out = NULL;
    tl_lock_take(&v->lock);
    record *r = by_handle(v, handle);
    if (!r) {
        status =
            tl_fail(err, TL_NOT_FOUND, "this statement reads a version that is not known (any more): run it again");
    } else if (r->made) {
        *out = use(r);
    } else {
        *copy = *r;
        copy->name = tl_strdup(r->name);
        copy->uuid = tl_strdup(r->uuid);
        status = copy->name && copy->uuid ? copy_keys(r->keys, r->n_keys, copy, err) : tl_fail_memory(err, 64);
        if (status != TL_OK) {
            copy->arena = copy->name && copy->uuid ? copy->arena : (tl_arena){0};
            record_clear(copy);
            *copy = (record){0};
        }
    }
    tl_lock_give(&v->lock);
    return status;
}

/* The plan that was let go, once more. The planning lock is held. */
static tl_status make_again(tl_versions *v, const record *r, tl_read_version **out, tl_error *err) {
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(r->lake, r->name, &table, err));
    const tl_snapshot *snapshot = r->snapshot_id >= 0 ? tl_metadata_snapshot(&table->metadata, r->snapshot_id) : NULL;
    tl_status status = TL_OK;
    if (!same_text(table->metadata.table_uuid, r->uuid) || !snapshot) {
        status = tl_fail(err, TL_NOT_FOUND, "table %s: snapshot %lld has expired while a statement was reading it",
                         r->name, (long long)r->snapshot_id);
    }
    record as_pinned = *r; /* the same snapshot, whatever is the newest now */
    as_pinned.version = -1;
    if (status == TL_OK) {
        status = make(r->lake, table, snapshot, &as_pinned, out, err);
    }
    tl_table_release(table);
    if (status == TL_OK) {
        tl_lock_take(&v->lock);
        record *mine = by_handle(v, r->handle);
        if (mine && !mine->made) {
            mine->made = *out;
            mine->version = -1; /* its SELECT has the snapshot's columns, not the newest ones */
            (void)use(mine);
        }
        tl_lock_give(&v->lock);
    }
    return status;
}

tl_status tl_versions_find(tl_versions *v, int64_t handle, tl_read_version **out, tl_error *err) {
    record r = {0};
    TL_TRY(look_up(v, handle, &r, out, err));
    if (*out) {
        return TL_OK;
    }
    record_clear(&r);
    r = (record){0};
    tl_lock_take(&v->planning);
    tl_status status = look_up(v, handle, &r, out, err);
    if (status == TL_OK && !*out) {
        status = make_again(v, &r, out, err);
    }
    tl_lock_give(&v->planning);
    record_clear(&r);
    return status;
}
