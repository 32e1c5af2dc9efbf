/* Versions in use; see versions.h. */
#include "duckdb/versions.h"

#include <string.h>

#include "base/num.h"
#include "table/settings.h"

enum {
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

void tl_version_release(tl_read_version *version) {
    if (version && --version->references == 0) {
        tl_plan_release(version->plan);
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

/* ---- making ---- */

static tl_status make(tl_lake *lake, tl_table *table, const tl_snapshot *snapshot, const record *r,
                      tl_read_version **out, tl_error *err) {
    tl_read_version *made = tl_calloc(1, sizeof *made);
    if (!made) {
        return tl_fail_memory(err, sizeof *made);
    }
    made->references = 1;
    made->handle = r->handle;
    bool pinned = r->version < 0 && snapshot;
    made->schema = schema_of(table, pinned, snapshot);
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_plan_options options = {
        .snapshot = pinned ? snapshot : NULL, .keep_copies = r->keep_copies, .names = true, .pool = pool};
    tl_status status = tl_plan_create(table, &options, &made->plan, err);
    tl_lake_pool_give(lake, pool);
    if (status == TL_OK) {
        status = tl_scan_sql(made->plan, made->schema, made->handle, &made->sql, err);
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
            replaced = newer->made && newer->lake == r->lake && newer->version >= 0 && r->version >= 0 &&
                       newer->keep_copies == r->keep_copies && strcmp(newer->name, r->name) == 0;
        }
        int64_t seconds = (now - r->used_us) / 1000000;
        kept++;
        if (seconds >= (replaced ? SECONDS_REPLACED : SECONDS_IDLE) ||
            (kept > MANY && seconds >= SECONDS_BUSY && (replaced || r->version < 0))) {
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
            r->keep_copies == want->keep_copies && strcmp(r->name, want->name) == 0 && same_text(r->uuid, want->uuid)) {
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
    tl_status status = r.name && r.uuid ? make(r.lake, table, snapshot, &r, &r.made, err) : tl_fail_memory(err, 64);
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

static tl_status get(tl_versions *v, tl_lake *lake, tl_table *table, const tl_version_want *want, tl_read_version **out,
                     tl_error *err) {
    const tl_snapshot *snapshot;
    TL_TRY(tl_version_snapshot(table, want, &snapshot, err));
    bool pinned = want->snapshot_id || want->has_as_of;
    record r = {.lake = lake,
                .name = table->name,
                .uuid = (char *)(uintptr_t)table->metadata.table_uuid,
                .snapshot_id = snapshot ? snapshot->snapshot_id : -1,
                .version = pinned ? -1 : table->version,
                .keep_copies = keeps_copies(table, want->dedup)};
    *out = known(v, &r);
    if (*out) {
        return TL_OK;
    }
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
        if (!copy->name || !copy->uuid) {
            record_clear(copy);
            *copy = (record){0};
            status = tl_fail_memory(err, 64);
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
