/*
 * Retained snapshots: can their lists and manifests be read, do the counts add up, are all files there with their
 * sizes? A snapshot that somebody expires while we look is left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "maintain/check_internal.h"

/* A manifest as a snapshot's list has it. */
typedef struct listed {
    const tl_manifest_file *file;
    const tl_snapshot *snapshot;
    const char *key; /* NULL = its path cannot be one of the lake */
} listed;

/* A data or delete file that a retained snapshot needs. */
typedef struct needed {
    const char *key;
    int64_t size; /* -1 = any: a part of a file with several deletion vectors */
    const tl_snapshot *snapshot;
} needed;

typedef struct snapshots {
    tl_checking *c;
    tl_arena arena;
    tl_buf listed, needed;
} snapshots;

bool tl_check_expired(tl_checking *c, const tl_snapshot *s) {
    tl_table *newest = NULL;
    bool gone = tl_table_refresh(c->t, &newest, NULL) == TL_OK && newest->version != c->t->version &&
                !tl_metadata_snapshot(&newest->metadata, s->snapshot_id);
    tl_table_release(newest);
    return gone;
}

static void report_missing(tl_checking *c, const tl_snapshot *s, const char *kind, const char *object) {
    if (!tl_check_expired(c, s)) {
        tl_check_report(c, false, kind, object, "is not there; snapshot %lld needs it", (long long)s->snapshot_id);
    }
}

/* ---- lists ---- */

static tl_status add_list(snapshots *x, const tl_snapshot *s, tl_error *err) {
    tl_manifest_file *files = NULL;
    int64_t n = 0;
    tl_error why = {{0}};
    tl_status status = tl_table_manifests(x->c->t, s, &x->arena, &files, &n, &why);
    if (status != TL_OK) {
        if (s == tl_metadata_current(&x->c->t->metadata)) {
            x->c->whole = false;
        }
        return tl_check_expired(x->c, s)
                   ? TL_OK
                   : tl_check_unreadable(x->c, status, "manifest-list", s->manifest_list, &why, err);
    }
    for (int64_t i = 0; i < n; i++) {
        char *key = NULL;
        status = tl_table_key(x->c->t, files[i].path, &key, NULL);
        if (status == TL_NO_MEMORY) {
            return tl_fail_memory(err, 256);
        }
        listed l = {&files[i], s, key ? tl_arena_strdup(&x->arena, key) : NULL};
        bool lost = key && !l.key;
        tl_free(key);
        if (lost || tl_buf_add(&x->listed, &l, sizeof l) != TL_OK) {
            return tl_fail_memory(err, sizeof l);
        }
    }
    return TL_OK;
}

/* By path; of one path the newest snapshot first, which is the last to expire. */
static int by_path(const void *a, const void *b) {
    const listed *x = a, *y = b;
    int order = strcmp(x->file->path, y->file->path);
    if (order != 0) {
        return order;
    }
    return (x->snapshot->sequence_number < y->snapshot->sequence_number) -
           (x->snapshot->sequence_number > y->snapshot->sequence_number);
}

/* ---- manifests ---- */

typedef struct counts {
    int64_t files[3], rows[3]; /* by tl_entry_status */
} counts;

static void check_counts(tl_checking *c, const listed *l, const counts *is) {
    const tl_manifest_file *m = l->file;
    const struct {
        const char *what;
        int64_t said, is;
    } all[] = {
        {"added files", m->added_files, is->files[TL_ENTRY_ADDED]},
        {"existing files", m->existing_files, is->files[TL_ENTRY_EXISTING]},
        {"deleted files", m->deleted_files, is->files[TL_ENTRY_DELETED]},
        {"added rows", m->added_rows, is->rows[TL_ENTRY_ADDED]},
        {"existing rows", m->existing_rows, is->rows[TL_ENTRY_EXISTING]},
        {"deleted rows", m->deleted_rows, is->rows[TL_ENTRY_DELETED]},
    };
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        if (all[i].said >= 0 && all[i].said != all[i].is) {
            tl_check_report(c, false, "manifest", l->key, "the list of snapshot %lld says %lld %s, it has %lld",
                            (long long)l->snapshot->snapshot_id, (long long)all[i].said, all[i].what,
                            (long long)all[i].is);
        }
    }
}

static tl_status take_entries(snapshots *x, const listed *l, const tl_manifest *m, tl_error *err) {
    counts is = {{0}, {0}};
    for (int64_t i = 0; i < m->n_entries; i++) {
        const tl_manifest_entry *e = &m->entries[i];
        is.files[e->status]++;
        is.rows[e->status] += e->file.record_count;
        if (e->status == TL_ENTRY_DELETED) {
            continue;
        }
        char *key = NULL;
        tl_status status = tl_table_key(x->c->t, e->file.path, &key, NULL);
        if (status == TL_NO_MEMORY) {
            return tl_fail_memory(err, 256);
        }
        if (!key) {
            tl_check_report(x->c, false, "missing-file", e->file.path, "lies outside of the lake");
            continue;
        }
        bool part = e->file.content_offset >= 0;
        needed n = {tl_arena_strdup(&x->arena, key), part ? -1 : e->file.file_size, l->snapshot};
        tl_free(key);
        if (!n.key || tl_buf_add(&x->needed, &n, sizeof n) != TL_OK) {
            return tl_fail_memory(err, sizeof n);
        }
    }
    check_counts(x->c, l, &is);
    return TL_OK;
}

static tl_status check_manifest(snapshots *x, const listed *l, tl_error *err) {
    tl_checking *c = x->c;
    c->result->manifests++;
    tl_buf avro = {0};
    tl_arena arena = {0};
    tl_manifest m = {0};
    tl_error why = {{0}};
    const char *name = l->key ? l->key : l->file->path;
    tl_status status = tl_table_get(c->t, l->file->path, &avro, &why);
    if (status == TL_NOT_FOUND) {
        report_missing(c, l->snapshot, "missing-manifest", name);
    } else if (status != TL_OK) {
        status = tl_check_unreadable(c, status, "manifest", name, &why, err);
    } else if ((int64_t)avro.len != l->file->length) {
        tl_check_report(c, false, "manifest", name, "has %lld bytes, its list says %lld", (long long)avro.len,
                        (long long)l->file->length);
    }
    if (status == TL_OK && avro.len) {
        status = tl_manifest_parse(tl_buf_bytes(&avro), l->file, &arena, &m, &why);
        status =
            status == TL_OK ? take_entries(x, l, &m, err) : tl_check_unreadable(c, status, "manifest", name, &why, err);
    }
    tl_arena_free(&arena);
    tl_buf_free(&avro);
    return status == TL_NOT_FOUND ? TL_OK : status;
}

static tl_status check_all_manifests(snapshots *x, tl_error *err) {
    listed *l = (listed *)(void *)x->listed.data;
    size_t n = x->listed.len / sizeof *l;
    if (n) {
        qsort(l, n, sizeof *l, by_path);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(l[i].file->path, l[i - 1].file->path) != 0) {
            TL_TRY(check_manifest(x, &l[i], err));
        }
    }
    return TL_OK;
}

/* ---- files ---- */

static int by_key(const void *a, const void *b) {
    const needed *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order != 0) {
        return order;
    }
    return (x->snapshot->sequence_number < y->snapshot->sequence_number) -
           (x->snapshot->sequence_number > y->snapshot->sequence_number);
}

static void check_needed(tl_checking *c, const needed *n) {
    const tl_object *o = tl_objects_find(&c->objects, n->key);
    uint64_t size = o ? o->size : 0;
    tl_status status = o ? TL_OK : tl_store_size(c->t->store, n->key, &size, NULL);
    if (status == TL_NOT_FOUND) {
        report_missing(c, n->snapshot, "missing-file", n->key);
    } else if (status == TL_OK && n->size >= 0 && (int64_t)size != n->size) {
        tl_check_report(c, false, "file-size", n->key, "has %lld bytes, its manifest says %lld: cut short or changed",
                        (long long)size, (long long)n->size);
    }
}

static void check_all_needed(snapshots *x) {
    needed *n = (needed *)(void *)x->needed.data;
    size_t count = x->needed.len / sizeof *n;
    if (count) {
        qsort(n, count, sizeof *n, by_key);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(n[i].key, n[i - 1].key) != 0) {
            check_needed(x->c, &n[i]);
        }
    }
}

/* ---- the current snapshot ---- */

/* `or_else`: another way to count it, that other writers have. */
static void check_total(tl_checking *c, const tl_snapshot *s, const char *name, int64_t is, int64_t or_else) {
    const char *text = tl_snapshot_summary(s, name);
    int64_t said;
    if (text && (tl_parse_i64(tl_bytes_of(text), &said) != TL_PARSE_OK || (said != is && said != or_else))) {
        tl_check_report(c, false, "summary", NULL, "the summary of snapshot %lld says %s = %.40s, it is %lld",
                        (long long)s->snapshot_id, name, text, (long long)is);
    }
}

static void check_totals(tl_checking *c, const tl_snapshot *s) {
    const tl_live_files *f = &c->files;
    int64_t rows = 0, bytes = 0, positions = 0, equalities = 0, delete_bytes = 0;
    for (int64_t i = 0; i < f->n_data; i++) {
        rows += f->data[i].file.record_count;
        bytes += f->data[i].file.file_size;
    }
    for (int64_t i = 0; i < f->n_deletes; i++) {
        const tl_data_file *d = &f->deletes[i].file;
        *(d->content == TL_CONTENT_EQUALITY_DELETES ? &equalities : &positions) += d->record_count;
        delete_bytes += d->content_size >= 0 ? d->content_size : d->file_size;
    }
    check_total(c, s, "total-data-files", f->n_data, f->n_data);
    check_total(c, s, "total-records", rows, rows);
    check_total(c, s, "total-files-size", bytes, bytes + delete_bytes);
    check_total(c, s, "total-delete-files", f->n_deletes, f->n_deletes);
    check_total(c, s, "total-position-deletes", positions, positions);
    check_total(c, s, "total-equality-deletes", equalities, equalities);
    c->result->rows = rows;
    c->result->bytes = bytes;
    c->result->files = f->n_data;
    c->result->delete_files = f->n_deletes;
    c->all_bytes = bytes;
}

static int by_live_key(const void *a, const void *b) {
    const tl_live_file *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static tl_status check_repeats(tl_checking *c, tl_error *err) {
    size_t n = (size_t)c->files.n_data;
    const tl_live_file **sorted = tl_alloc_array(n, sizeof *sorted);
    if (!sorted) {
        return tl_fail_memory(err, n * sizeof *sorted);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &c->files.data[i];
    }
    if (n) {
        qsort((void *)sorted, n, sizeof *sorted, by_live_key);
    }
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i]->key, sorted[i - 1]->key) == 0) {
            tl_check_report(c, false, "duplicate-file", sorted[i]->key, "stands twice in the current snapshot");
        }
    }
    for (size_t i = 0; i < n; i++) {
        const tl_live_file *f = sorted[i];
        if (f->sequence_number > c->t->metadata.last_sequence_number ||
            (f->file_sequence_number >= 0 && f->sequence_number > f->file_sequence_number)) {
            tl_check_report(c, false, "sequence", f->key, "data sequence number %lld, file %lld, table %lld",
                            (long long)f->sequence_number, (long long)f->file_sequence_number,
                            (long long)c->t->metadata.last_sequence_number);
        }
    }
    tl_free((void *)sorted);
    return TL_OK;
}

static tl_status check_current(tl_checking *c, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&c->t->metadata);
    tl_error why = {{0}};
    if (!current || !c->whole) {
        return TL_OK;
    }
    tl_status status = tl_table_files(c->t, current, &c->files, &why);
    if (status != TL_OK) { /* what it is was told with the manifests */
        c->whole = false;
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
    }
    check_totals(c, current);
    return check_repeats(c, err);
}

/* ---- the history ---- */

static void check_history(tl_checking *c) {
    const tl_metadata *m = &c->t->metadata;
    for (int32_t i = 0; i < m->n_refs; i++) {
        if (!tl_metadata_snapshot(m, m->refs[i].snapshot_id)) {
            tl_check_report(c, false, "metadata", NULL, "%s \"%.100s\" names snapshot %lld, which is not there",
                            m->refs[i].type, m->refs[i].name, (long long)m->refs[i].snapshot_id);
        }
    }
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        const tl_snapshot *s = &m->snapshots[i];
        const char *id = tl_snapshot_summary(s, "timelake.batch-id");
        if (m->format_version > 1 && s->sequence_number > m->last_sequence_number) {
            tl_check_report(
                c, false, "sequence", NULL, "snapshot %lld has the sequence number %lld, the table only %lld",
                (long long)s->snapshot_id, (long long)s->sequence_number, (long long)m->last_sequence_number);
        }
        /* along the line of the snapshot: after a rollback an id may be used again on another line */
        const tl_snapshot *p = s->parent_id >= 0 ? tl_metadata_snapshot(m, s->parent_id) : NULL;
        for (int32_t steps = 0; id && p && steps < m->n_snapshots; steps++) {
            const char *other = tl_snapshot_summary(p, "timelake.batch-id");
            if (other && strcmp(other, id) == 0) {
                tl_check_report(c, false, "batch-id", NULL,
                                "batch id \"%.200s\" was committed twice, by snapshots %lld and %lld", id,
                                (long long)p->snapshot_id, (long long)s->snapshot_id);
                break;
            }
            p = p->parent_id >= 0 ? tl_metadata_snapshot(m, p->parent_id) : NULL;
        }
    }
}

tl_status tl_check_snapshots(tl_checking *c, tl_error *err) {
    const tl_metadata *m = &c->t->metadata;
    snapshots x = {.c = c};
    tl_status status = TL_OK;
    c->whole = true;
    c->result->snapshots = m->n_snapshots;
    check_history(c);
    for (int32_t i = 0; i < m->n_snapshots && status == TL_OK; i++) {
        status = add_list(&x, &m->snapshots[i], err);
    }
    if (status == TL_OK) {
        status = check_all_manifests(&x, err);
    }
    if (status == TL_OK) {
        check_all_needed(&x);
        status = check_current(c, err);
    }
    tl_buf_free(&x.listed);
    tl_buf_free(&x.needed);
    tl_arena_free(&x.arena);
    return status;
}
