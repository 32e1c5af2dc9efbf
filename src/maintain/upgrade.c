/* Upgrade, step by step; see upgrade.h. */
#include "maintain/upgrade.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "commit/commit.h"
#include "maintain/compact.h"
#include "maintain/compact_internal.h"
#include "maintain/maintain.h"
#include "read/rows.h"
#include "table/head.h"
#include "table/last_index.h"
#include "table/settings.h"

enum { CHUNK_ROWS = 122880, FORMAT_MINOR = 3 };

static const int64_t KEEP_US = (int64_t)7 * 86400 * 1000000;

typedef struct upgrading {
    tl_table **table;
    const tl_upgrade_params *p;
    tl_pool *pool;
    tl_upgrade_result *r;
    int32_t *rewritten; /* partitions with files that are written anew, ascending */
    int64_t n_rewritten;
} upgrading;

static void step(upgrading *u, const char *fmt, ...) TL_PRINTF(2, 3);

static void step(upgrading *u, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    u->r->steps++;
    if (u->p->step) {
        u->p->step(u->p->ctx, text);
    }
}

static void replace_table(tl_table **table, tl_table *newer) {
    if (newer) {
        tl_table_release(*table);
        *table = newer;
    }
}

/* ---- files that hold a key twice ---- */

typedef struct key_walk {
    const tl_schema *schema; /* of the projection: series columns, then time */
    tl_projection projection;
    tl_rows last, now;
} key_walk;

static int compare_keys(const key_walk *w, const tl_rows *a, int64_t i, const tl_rows *b, int64_t k) {
    for (int32_t c = 0; c < w->projection.schema.n_fields; c++) {
        int order = tl_column_compare(&w->projection.schema.fields[c].type, &a->columns[c], i, &b->columns[c], k);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

/* Keys that do not ascend strictly. */
static tl_status walk_keys(key_walk *w, tl_open_file *f, bool *repeats, tl_error *err) {
    for (int32_t g = 0; g < f->meta->n_row_groups && !*repeats; g++) {
        int64_t rows = f->meta->row_groups[g].n_rows;
        for (int64_t at = 0; at < rows && !*repeats; at += CHUNK_ROWS) {
            struct ArrowArray array = {0};
            tl_pq_row_range range = {at, rows - at < CHUNK_ROWS ? rows - at : CHUNK_ROWS};
            TL_TRY(tl_rows_read(f, g, &range, 1, &w->projection, &array, err));
            TL_TRY(tl_rows_from_arrow(&w->projection.schema, &w->projection.arrow, &array, &w->now, err));
            for (int64_t i = 0; i < w->now.n_rows && !*repeats; i++) {
                const tl_rows *before = i ? &w->now : &w->last;
                *repeats =
                    before->n_rows > 0 && compare_keys(w, before, i ? i - 1 : before->n_rows - 1, &w->now, i) >= 0;
            }
            tl_rows_free(&w->last);
            w->last = w->now;
            w->now = (tl_rows){0};
        }
    }
    return TL_OK;
}

static tl_status file_repeats(tl_table *t, const tl_live_file *live, bool *repeats, tl_error *err) {
    const tl_contract *c = &t->contract;
    *repeats = false;
    int32_t *columns = tl_alloc_array((size_t)c->n_series + 1, sizeof *columns);
    if (!columns) {
        return tl_fail_memory(err, ((size_t)c->n_series + 1) * sizeof *columns);
    }
    for (int32_t i = 0; i < c->n_series; i++) {
        columns[i] = c->series[i];
    }
    columns[c->n_series] = c->time;
    key_walk w = {.schema = tl_metadata_schema(&t->metadata)};
    tl_open_file f;
    tl_status status = tl_projection_make(w.schema, columns, c->n_series + 1, &w.projection, err);
    if (status == TL_OK) {
        status = tl_open_file_open(t, live, &f, err);
        if (status == TL_OK) {
            status = walk_keys(&w, &f, repeats, err);
            tl_open_file_close(&f);
        }
        tl_projection_free(&w.projection);
    }
    tl_rows_free(&w.last);
    tl_rows_free(&w.now);
    tl_free(columns);
    return status;
}

typedef struct old_files {
    tl_table *t;
    tl_live_files files;
    uint8_t *repeats; /* per file */
} old_files;

static tl_status look_at(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    old_files *o = ctx;
    bool repeats;
    TL_TRY(file_repeats(o->t, &o->files.data[i], &repeats, err));
    o->repeats[i] = repeats;
    return TL_OK;
}

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The partitions with such files, ascending; *n_files = how many there are. */
static tl_status find_repeats(upgrading *u, int32_t **partitions, int64_t *n, int64_t *n_files, tl_error *err) {
    old_files o = {.t = *u->table};
    const tl_snapshot *current = tl_metadata_current(&o.t->metadata);
    *partitions = NULL;
    *n = *n_files = 0;
    if (!current || o.t->contract.time < 0 || !o.t->contract.dedup || o.t->contract.ingest >= 0) {
        return TL_OK;
    }
    TL_TRY(tl_table_files(o.t, current, &o.files, err));
    size_t all = (size_t)o.files.n_data;
    o.repeats = tl_calloc(all, 1);
    *partitions = tl_alloc_array(all, sizeof **partitions);
    tl_status status = o.repeats && *partitions ? tl_pool_run(u->pool, all, look_at, &o, err)
                                                : tl_fail_memory(err, all * sizeof **partitions);
    for (size_t i = 0; status == TL_OK && i < all; i++) {
        const tl_data_file *f = &o.files.data[i].file;
        if (o.repeats[i]) {
            ++*n_files;
            bool has = f->n_partition == 1 && f->partition[0].value.data && f->partition[0].value.len == 4;
            (*partitions)[(*n)++] = has ? tl_load_i32(f->partition[0].value.data) : 0;
        }
    }
    if (*n) {
        qsort(*partitions, (size_t)*n, sizeof **partitions, ascending);
        int64_t kept = 1;
        for (int64_t i = 1; i < *n; i++) {
            if ((*partitions)[i] != (*partitions)[kept - 1]) {
                (*partitions)[kept++] = (*partitions)[i];
            }
        }
        *n = kept;
    }
    tl_free(o.repeats);
    tl_live_files_free(&o.files);
    return status;
}

static tl_status rewrite_repeats(upgrading *u, tl_error *err) {
    int64_t files;
    tl_status status = find_repeats(u, &u->rewritten, &u->n_rewritten, &files, err);
    if (status == TL_OK && files) {
        step(u, "write %lld files anew that hold a key twice", (long long)files);
        if (!u->p->dry_run) {
            const tl_compact_options options = {
                .pool = u->pool, .rewrite = true, .only_partitions = u->rewritten, .n_only = u->n_rewritten};
            tl_compact_result did;
            tl_table *newer = NULL;
            status = tl_compact(*u->table, &options, &did, &newer, err);
            replace_table(u->table, newer);
        }
    }
    return status;
}

/* ---- properties ---- */

static tl_status raise_format(upgrading *u, tl_error *err) {
    const tl_contract *c = &(*u->table)->contract;
    if (c->format_major > 0 || c->format_minor >= FORMAT_MINOR) {
        return TL_OK;
    }
    step(u, "set the format version from %d.%d.0 to 0.%d.0", c->format_major, c->format_minor, FORMAT_MINOR);
    int64_t keep = u->p->keep_snapshots_us > 0 ? u->p->keep_snapshots_us : KEEP_US;
    u->r->keep_snapshots_until_ms = (tl_env_now_us((*u->table)->store->env) + keep) / 1000;
    char until[TL_NUM_TEXT], version[16];
    (void)tl_print_i64(u->r->keep_snapshots_until_ms, until);
    (void)snprintf(version, sizeof version, "0.%d.0", FORMAT_MINOR);
    if (u->p->dry_run) {
        return TL_OK;
    }
    const tl_property changes[] = {{"timelake.format-version", version}, {"timelake.keep-snapshots-until", until}};
    tl_table *newer = NULL;
    tl_status status = tl_commit_properties(*u->table, changes, (int32_t)TL_COUNT(changes), &newer, err);
    replace_table(u->table, newer);
    return status;
}

/* ---- index, compaction, head ---- */

static tl_status make_index(upgrading *u, tl_error *err) {
    tl_table *t = *u->table;
    const tl_snapshot *current = tl_metadata_current(&t->metadata);
    const char *rows = current ? tl_snapshot_summary(current, "total-records") : NULL;
    if (t->contract.time < 0 || !current || (rows && strcmp(rows, "0") == 0)) {
        return TL_OK;
    }
    tl_rows newest = {0};
    tl_status status = tl_last_values_load(t, current, &newest, NULL);
    tl_rows_free(&newest);
    if (status != TL_NOT_FOUND) {
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
    }
    step(u, "build the last-value index");
    bool made;
    return u->p->dry_run ? TL_OK : tl_mend_index(u->table, u->pool, &made, err);
}

static tl_status compact(upgrading *u, tl_error *err) {
    tl_plan *plan = NULL;
    tl_compact_work work = {0};
    tl_compact_options options = {.pool = u->pool};
    if (u->p->no_compact) {
        return TL_OK;
    }
    TL_TRY(tl_plan_create(*u->table, &(tl_plan_options){.keep_copies = true, .pool = u->pool}, &plan, err));
    tl_status status = tl_compact_choose(plan, &options, &work, err);
    int64_t files = 0, n = 0;
    for (int64_t i = 0; status == TL_OK && i < work.n; i++) {
        bool done = false; /* in a dry run: by the step before */
        for (int64_t k = 0; k < u->n_rewritten && !done; k++) {
            done = u->p->dry_run && u->rewritten[k] == work.units[i].partition;
        }
        n += !done;
        files += done ? 0 : work.units[i].n;
    }
    tl_compact_work_free(&work);
    tl_plan_release(plan);
    if (status == TL_OK && n) {
        step(u, "compact %lld runs of %lld files", (long long)n, (long long)files);
        if (!u->p->dry_run) {
            tl_compact_result did;
            tl_table *newer = NULL;
            status = tl_compact(*u->table, &options, &did, &newer, err);
            replace_table(u->table, newer);
        }
    }
    return status;
}

/* Tables of many files have none. */
static tl_status write_head(upgrading *u, tl_error *err) {
    tl_table *t = *u->table;
    const char *format = tl_metadata_property(&t->metadata, "timelake.head-format");
    const tl_snapshot *current = tl_metadata_current(&t->metadata);
    const char *text = current ? tl_snapshot_summary(current, "total-data-files") : "0";
    int64_t files, version = 0;
    if ((format && strcmp(format, "arrow") != 0) || !text || tl_parse_i64(tl_bytes_of(text), &files) != TL_PARSE_OK ||
        files > TL_HEAD_FILES || t->contract.format_minor > FORMAT_MINOR) {
        return TL_OK;
    }
    char *key = tl_format("%s/metadata/timelake-head", t->prefix);
    tl_buf first = {0};
    if (!key) {
        return tl_fail_memory(err, 256);
    }
    bool there = tl_store_get_range(t->store, key, 0, 14, &first, NULL) == TL_OK &&
                 tl_head_version(tl_buf_bytes(&first), &version) && version >= t->version;
    tl_buf_free(&first);
    tl_free(key);
    if (!there) {
        if (u->r->steps == 0) { /* else a part of each commit */
            step(u, "write the head object");
        }
        if (!u->p->dry_run) {
            t->head_us = 0;
            tl_commit_publish(t);
        }
    }
    return TL_OK;
}

static tl_status all_steps(upgrading *u, tl_error *err) {
    tl_table *t = *u->table;
    if (t->contract.foreign) {
        return tl_fail(err, TL_UNSUPPORTED, "table %s is another program's: there is nothing to upgrade", t->name);
    }
    TL_TRY(tl_table_writable(t, err));
    TL_TRY(raise_format(u, err));
    TL_TRY(rewrite_repeats(u, err));
    TL_TRY(make_index(u, err));
    TL_TRY(compact(u, err));
    return write_head(u, err);
}

tl_status tl_upgrade_table(tl_table **table, const tl_upgrade_params *params, tl_pool *pool, tl_upgrade_result *result,
                           tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&(*table)->metadata);
    *result = (tl_upgrade_result){.version_before = (*table)->version,
                                  .snapshot_before = current ? current->snapshot_id : -1};
    upgrading u = {.table = table, .p = params, .pool = pool, .r = result};
    tl_status status = all_steps(&u, err);
    tl_free(u.rewritten);
    result->version = (*table)->version;
    return status;
}
