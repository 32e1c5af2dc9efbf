/*
 * Replacing: whole data files leave the table, staged ones take their place, in one snapshot (spec a.2, d; DESIGN 6).
 *
 * Only the manifests that hold removed files are written anew: what stays of them goes to one manifest, what goes to
 * another, which later lists leave out. Added files carry an explicit data sequence number: that of the newest file
 * they stand for, so that rows committed meanwhile, and delete files, keep their place before or after them.
 *
 * A lost race begins again with the newest version. Appends never disturb; another replacement of the same files, and
 * deletes of their rows, do: what was staged no longer says what the table says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"

enum { MANIFEST_ENTRIES = 16384, FILE_PATH_FIELD = 2147483546 };

/* Entries of rewritten manifests. */
typedef struct entry_list {
    tl_manifest_entry *items;
    int64_t n, cap;
} entry_list;

typedef struct replacing {
    tl_table *t; /* what this attempt builds on */
    const char *name;
    tl_staged *added; /* NULL = none */
    const tl_replace_options *o;
    int64_t snapshot_id;
    int64_t sequence; /* of this attempt */
    /* for all attempts */
    tl_arena kept;
    tl_key_list kept_keys; /* the manifest of the added files */
    const char **removed;  /* paths, sorted */
    const char **known;    /* paths of all planned data files, sorted */
    const char **deletes;  /* paths of all planned delete files, sorted */
    tl_manifest manifest;  /* of the added files */
    const char *added_uri; /* NULL = not written yet */
    int64_t added_length;
    bool synced;
    /* for this attempt */
    tl_arena arena;
    tl_key_list keys;
    bool *found;     /* parallel to `removed` */
    bool cut_unsure; /* a file that was not planned for may have rows before the cut */
    entry_list stay, go, stay_deletes, go_deletes;
    tl_manifest_file *list; /* of the new snapshot */
    int64_t n_list;
} replacing;

/* ---- sets of paths ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* -1 = not there. */
static int64_t find_path(const char *const *sorted, int64_t n, const char *path) {
    int64_t from = 0, to = n;
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        int order = strcmp(sorted[mid], path);
        if (order == 0) {
            return mid;
        }
        if (order < 0) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return -1;
}

static tl_status sorted_paths(tl_arena *arena, const tl_live_file *files, const int64_t *which, int64_t n,
                              const char ***out, tl_error *err) {
    *out = tl_arena_array(arena, (size_t)n + 1, sizeof **out);
    if (!*out) {
        return tl_fail_memory(err, (size_t)n * sizeof **out);
    }
    for (int64_t i = 0; i < n; i++) {
        (*out)[i] = files[which ? which[i] : i].file.path;
    }
    if (n) {
        qsort((void *)*out, (size_t)n, sizeof **out, by_text);
    }
    return TL_OK;
}

static bool is_planned_manifest(const replacing *r, const char *path) {
    const tl_live_files *p = r->o->planned;
    for (int64_t i = 0; i < p->n_manifests; i++) {
        if (strcmp(p->manifests[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- entries ---- */

static tl_status push(replacing *r, entry_list *l, const tl_manifest_entry *e, tl_entry_status status, tl_error *err) {
    if (l->n == l->cap) {
        int64_t cap = l->cap ? l->cap * 2 : 64;
        tl_manifest_entry *grown = tl_arena_array(&r->arena, (size_t)cap, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, (size_t)cap * sizeof *grown);
        }
        if (l->n) {
            memcpy(grown, l->items, (size_t)l->n * sizeof *grown);
        }
        l->items = grown;
        l->cap = cap;
    }
    tl_manifest_entry *to = &l->items[l->n++];
    *to = *e;
    to->status = status;
    if (status == TL_ENTRY_DELETED) {
        to->snapshot_id = r->snapshot_id; /* the one that deleted it */
    }
    return TL_OK;
}

/* The data file that a delete file is about; NULL = it may be about several. */
static const char *delete_target(replacing *r, const tl_data_file *f, tl_error *err, tl_status *status) {
    *status = TL_OK;
    if (f->referenced_data_file || f->content == TL_CONTENT_EQUALITY_DELETES) {
        return f->referenced_data_file;
    }
    for (int32_t i = 0; i < f->n_columns; i++) {
        const tl_column_stats *c = &f->columns[i];
        if (c->field_id == FILE_PATH_FIELD && c->lower.data && c->upper.data && tl_bytes_equal(c->lower, c->upper)) {
            const char *path = tl_arena_strndup(&r->arena, (const char *)c->lower.data, c->lower.len);
            *status = path ? TL_OK : tl_fail_memory(err, c->lower.len);
            return path;
        }
    }
    return NULL;
}

static tl_status got_deletes(const replacing *r, tl_error *err) {
    return tl_fail(err, TL_CONFLICT, "table %s: rows of a file that is being replaced were deleted meanwhile", r->name);
}

/* Delete files of removed data files go with them; new ones are a conflict. */
static tl_status take_delete(replacing *r, const tl_manifest_entry *e, bool *goes, tl_error *err) {
    tl_status status;
    const char *target = delete_target(r, &e->file, err, &status);
    TL_TRY(status);
    bool planned = find_path(r->deletes, r->o->planned->n_deletes, e->file.path) >= 0;
    *goes = target && find_path(r->removed, r->o->n_removed, target) >= 0;
    /* An older snapshot's equality deletes and partition-wide position deletes were honoured when the plan was made. */
    return !planned && r->o->n_removed > 0 && (*goes || !target) ? got_deletes(r, err) : TL_OK;
}

/* May a file that nobody planned for have rows before the cut? */
static bool older_than_cut(const replacing *r, const tl_data_file *f) {
    const tl_schema *schema = tl_metadata_schema(&r->t->metadata);
    const tl_field *time = &schema->fields[r->t->contract.time];
    for (int32_t i = 0; i < f->n_columns; i++) {
        int64_t least;
        if (f->columns[i].field_id == time->id && f->columns[i].lower.data &&
            tl_value_int64(&time->type, f->columns[i].lower, &least)) {
            return least < r->o->cut_us;
        }
    }
    return true;
}

static tl_status take_entry(replacing *r, const tl_manifest_entry *e, bool known, bool *goes, tl_error *err) {
    if (e->file.content != TL_CONTENT_DATA) {
        return take_delete(r, e, goes, err);
    }
    int64_t at = find_path(r->removed, r->o->n_removed, e->file.path);
    *goes = at >= 0;
    if (*goes) {
        r->found[at] = true;
    } else if (r->o->cut && !known && r->t->contract.time >= 0 &&
               find_path(r->known, r->o->planned->n_data, e->file.path) < 0) {
        r->cut_unsure = r->cut_unsure || older_than_cut(r, &e->file);
    }
    return TL_OK;
}

/* One manifest of the base: carried as it is, or taken apart. */
static tl_status take_manifest(replacing *r, const tl_manifest_file *listed, tl_error *err) {
    tl_buf avro = {0};
    tl_manifest m;
    tl_status status = tl_table_get(r->t, listed->path, &avro, err);
    if (status == TL_OK) {
        void *copy = tl_arena_copy(&r->arena, avro.data, avro.len);
        status = copy ? tl_manifest_parse((tl_bytes){copy, avro.len}, listed, &r->arena, &m, err)
                      : tl_fail_memory(err, avro.len);
    }
    tl_buf_free(&avro);
    if (status != TL_OK) {
        if (status != TL_NO_MEMORY) {
            tl_error_prefix(err, "table %s, manifest %s: ", r->name, listed->path);
        }
        return status == TL_NOT_FOUND ? TL_CORRUPT : status;
    }
    bool any = false, known = is_planned_manifest(r, listed->path);
    bool *goes = tl_arena_array(&r->arena, (size_t)m.n_entries + 1, sizeof *goes);
    if (!goes) {
        return tl_fail_memory(err, (size_t)m.n_entries);
    }
    for (int64_t i = 0; i < m.n_entries; i++) {
        goes[i] = false;
        if (m.entries[i].status != TL_ENTRY_DELETED) {
            TL_TRY(take_entry(r, &m.entries[i], known, &goes[i], err));
            any = any || goes[i];
        }
    }
    if (!any) {
        r->list[r->n_list++] = *listed;
        return TL_OK;
    }
    bool data = listed->content == TL_CONTENT_DATA;
    for (int64_t i = 0; i < m.n_entries; i++) {
        if (m.entries[i].status != TL_ENTRY_DELETED) {
            entry_list *to = goes[i] ? data ? &r->go : &r->go_deletes : data ? &r->stay : &r->stay_deletes;
            TL_TRY(push(r, to, &m.entries[i], goes[i] ? TL_ENTRY_DELETED : TL_ENTRY_EXISTING, err));
        }
    }
    return TL_OK;
}

/* ---- manifests that are written ---- */

static tl_status put_manifest(replacing *r, const tl_manifest *m, const char *what, tl_key_list *keys, tl_arena *arena,
                              const char **uri, int64_t *length, tl_error *err) {
    const tl_metadata *meta = &r->t->metadata;
    const tl_partition_spec *spec = tl_metadata_spec_by_id(meta, m->spec_id);
    if (!spec) {
        return tl_fail(err, TL_CORRUPT, "table %s: a manifest has the partition spec %d, which is not in the metadata",
                       r->name, m->spec_id);
    }
    char uuid[TL_UUID_TEXT], name[TL_UUID_TEXT + 32];
    tl_uuid4(r->t->store->env, uuid);
    (void)snprintf(name, sizeof name, "%s-%s-m.avro", uuid, what);
    tl_buf avro = {0};
    tl_status status = tl_manifest_write(m, tl_metadata_schema(meta), spec, &avro, err);
    if (status == TL_OK) {
        status = tl_commit_put_object(r->t, name, tl_buf_bytes(&avro), keys, arena, uri, err);
    }
    *length = (int64_t)avro.len;
    tl_buf_free(&avro);
    return status;
}

static tl_status describe(replacing *r, const tl_manifest *m, const char *uri, int64_t length, tl_manifest_file *out,
                          tl_error *err) {
    const tl_metadata *meta = &r->t->metadata;
    return tl_manifest_describe(m, tl_metadata_schema(meta), tl_metadata_spec_by_id(meta, m->spec_id), uri, length,
                                r->snapshot_id, r->sequence, &r->arena, out, err);
}

static tl_status add_to_list(replacing *r, tl_manifest_file **list, int64_t *n, int64_t *cap, const tl_manifest *m,
                             const char *what, tl_error *err) {
    const char *uri = NULL;
    int64_t length = 0;
    TL_TRY(put_manifest(r, m, what, &r->keys, &r->arena, &uri, &length, err));
    if (*n == *cap) {
        int64_t more = *cap ? *cap * 2 : 8;
        tl_manifest_file *grown = tl_arena_array(&r->arena, (size_t)more, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, (size_t)more * sizeof *grown);
        }
        if (*n) {
            memcpy(grown, *list, (size_t)*n * sizeof *grown);
        }
        *list = grown;
        *cap = more;
    }
    return describe(r, m, uri, length, &(*list)[(*n)++], err);
}

static int by_spec(const void *a, const void *b) {
    const tl_manifest_entry *x = a, *y = b;
    return (x->file.spec_id > y->file.spec_id) - (x->file.spec_id < y->file.spec_id);
}

/* Entries of one kind become manifests, one or more per partition spec. */
static tl_status write_entries(replacing *r, entry_list *l, tl_content content, const char *what,
                               tl_manifest_file **list, int64_t *n, int64_t *cap, tl_error *err) {
    if (l->n) {
        qsort(l->items, (size_t)l->n, sizeof *l->items, by_spec);
    }
    for (int64_t from = 0, to; from < l->n; from = to) {
        for (to = from + 1;
             to < l->n && to - from < MANIFEST_ENTRIES && l->items[to].file.spec_id == l->items[from].file.spec_id;) {
            to++;
        }
        tl_manifest m = {.format_version = r->t->metadata.format_version,
                         .content = content,
                         .schema_id = r->t->metadata.current_schema_id,
                         .spec_id = l->items[from].file.spec_id,
                         .entries = l->items + from,
                         .n_entries = to - from};
        TL_TRY(add_to_list(r, list, n, cap, &m, what, err));
    }
    return TL_OK;
}

static tl_status write_added(replacing *r, tl_error *err) {
    const tl_staged *s = r->added;
    r->manifest = (tl_manifest){
        .format_version = r->t->metadata.format_version,
        .content = TL_CONTENT_DATA,
        .schema_id = r->t->metadata.current_schema_id,
        .spec_id = s->files[0].spec_id,
        .entries = tl_arena_array(&r->kept, (size_t)s->n_files, sizeof *r->manifest.entries),
        .n_entries = s->n_files,
    };
    if (!r->manifest.entries) {
        return tl_fail_memory(err, (size_t)s->n_files * sizeof *r->manifest.entries);
    }
    for (int32_t i = 0; i < s->n_files; i++) {
        r->manifest.entries[i] =
            (tl_manifest_entry){TL_ENTRY_ADDED, r->snapshot_id, r->o->sequences[i], -1, s->files[i]};
    }
    const char *uri = NULL;
    TL_TRY(put_manifest(r, &r->manifest, "added", &r->kept_keys, &r->kept, &uri, &r->added_length, err));
    r->added_uri = uri;
    return TL_OK;
}

/* ---- the snapshot ---- */

static tl_status take_base(replacing *r, tl_manifest_file **base, int64_t *n_base, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&r->t->metadata);
    *n_base = 0;
    if (current) {
        TL_TRY(tl_table_manifests(r->t, current, &r->arena, base, n_base, err));
    }
    r->list = tl_arena_array(&r->arena, (size_t)*n_base + 1, sizeof *r->list);
    r->found = tl_arena_array(&r->arena, (size_t)r->o->n_removed + 1, sizeof *r->found);
    if (!r->list || !r->found) {
        return tl_fail_memory(err, (size_t)*n_base * sizeof *r->list);
    }
    memset(r->found, 0, (size_t)r->o->n_removed * sizeof *r->found);
    for (int64_t i = 0; i < *n_base; i++) {
        if ((*base)[i].added_files != 0 || (*base)[i].existing_files != 0) {
            TL_TRY(take_manifest(r, &(*base)[i], err));
        }
    }
    for (int64_t i = 0; i < r->o->n_removed; i++) {
        if (!r->found[i]) {
            return tl_fail(err, TL_CONFLICT, "table %s: another writer replaced %s meanwhile", r->name, r->removed[i]);
        }
    }
    return TL_OK;
}

/* This commit's manifests before the carried ones (spec a.4): added, what stays, what goes. */
static tl_status make_list(replacing *r, tl_error *err) {
    tl_manifest_file *list = NULL;
    int64_t n = 0, cap = 0;
    if (r->added) {
        if (!r->added_uri) {
            TL_TRY(write_added(r, err));
        }
        cap = 8;
        list = tl_arena_array(&r->arena, (size_t)cap, sizeof *list);
        if (!list) {
            return tl_fail_memory(err, 8 * sizeof *list);
        }
        TL_TRY(describe(r, &r->manifest, r->added_uri, r->added_length, &list[n++], err));
    }
    TL_TRY(write_entries(r, &r->stay, TL_CONTENT_DATA, "merged", &list, &n, &cap, err));
    TL_TRY(write_entries(r, &r->go, TL_CONTENT_DATA, "deleted", &list, &n, &cap, err));
    TL_TRY(write_entries(r, &r->stay_deletes, TL_CONTENT_POSITION_DELETES, "merged", &list, &n, &cap, err));
    TL_TRY(write_entries(r, &r->go_deletes, TL_CONTENT_POSITION_DELETES, "deleted", &list, &n, &cap, err));
    tl_manifest_file *all = tl_arena_array(&r->arena, (size_t)(n + r->n_list) + 1, sizeof *all);
    if (!all) {
        return tl_fail_memory(err, (size_t)(n + r->n_list) * sizeof *all);
    }
    if (n) {
        memcpy(all, list, (size_t)n * sizeof *all);
    }
    if (r->n_list) {
        memcpy(all + n, r->list, (size_t)r->n_list * sizeof *all);
    }
    r->list = all;
    r->n_list += n;
    return TL_OK;
}

static tl_status make_summary(replacing *r, const tl_manifest_file *base, int64_t n_base, tl_snapshot *out,
                              tl_error *err) {
    tl_property *extra = tl_arena_array(&r->arena, (size_t)r->o->n_summary + 2, sizeof *extra);
    if (!extra) {
        return tl_fail_memory(err, 256);
    }
    if (r->o->cut && r->cut_unsure) {
        extra[0] = extra[1] = (tl_property){"", NULL}; /* none: the next append makes it anew */
    } else if (r->o->cut) {
        TL_TRY(tl_commit_cut_index(r->t, r->o->cut_us, r->snapshot_id, &r->keys, &r->arena, extra, err));
    } else if (r->added || r->o->same_rows) {
        TL_TRY(tl_commit_carry_index(r->t, r->snapshot_id, &r->keys, &r->arena, extra, err));
    } else {
        extra[0] = extra[1] = (tl_property){"", NULL};
    }
    if (r->o->n_summary) {
        memcpy(extra + 2, r->o->summary, (size_t)r->o->n_summary * sizeof *extra);
    }
    tl_commit_change change = {.operation = r->added || r->o->same_rows ? "replace" : "delete",
                               .added_files = r->added ? r->added->n_files : 0,
                               .deleted_files = r->go.n,
                               .removed_delete_files = r->go_deletes.n,
                               .extra = extra,
                               .n_extra = r->o->n_summary + 2};
    for (int64_t i = 0; i < change.added_files; i++) {
        change.added_rows += r->added->files[i].record_count;
        change.added_bytes += r->added->files[i].file_size;
    }
    for (int64_t i = 0; i < r->go.n; i++) {
        change.deleted_rows += r->go.items[i].file.record_count;
        change.deleted_bytes += r->go.items[i].file.file_size;
    }
    for (int64_t i = 0; i < r->go_deletes.n; i++) {
        change.removed_position_deletes += r->go_deletes.items[i].file.record_count;
        change.removed_vectors += r->go_deletes.items[i].file.content_offset >= 0;
    }
    return tl_commit_summary(r->t, &change, base, n_base, &r->arena, &out->summary, &out->n_summary, err);
}

static tl_status sync_all(replacing *r, tl_error *err) {
    size_t files = r->added && !r->synced ? (size_t)r->added->n_files : 0, made = r->synced ? 0 : r->kept_keys.n;
    size_t n = 0;
    const char **keys = tl_arena_array(&r->arena, files + made + r->keys.n + 1, sizeof *keys);
    if (!keys) {
        return tl_fail_memory(err, (files + r->keys.n) * sizeof *keys);
    }
    for (size_t i = 0; i < files; i++) {
        keys[n++] = r->added->keys[i];
    }
    for (size_t i = 0; i < made; i++) {
        keys[n++] = r->kept_keys.items[i];
    }
    for (size_t i = 0; i < r->keys.n; i++) {
        keys[n++] = r->keys.items[i];
    }
    TL_TRY(tl_store_sync(r->t->store, keys, n, err));
    r->synced = true;
    return TL_OK;
}

/* Everything up to the put that decides; `next` is then ready. */
static tl_status prepare(replacing *r, tl_next *next, tl_error *err) {
    tl_manifest_file *base = NULL;
    int64_t n_base = 0;
    r->sequence = r->t->metadata.last_sequence_number + 1;
    TL_TRY(take_base(r, &base, &n_base, err));
    TL_TRY(make_list(r, err));
    tl_snapshot s = {.snapshot_id = r->snapshot_id,
                     .parent_id = r->t->metadata.current_snapshot_id,
                     .sequence_number = r->sequence,
                     .schema_id = r->t->metadata.current_schema_id};
    TL_TRY(make_summary(r, base, n_base, &s, err));
    TL_TRY(tl_commit_put_snapshot_list(r->t, r->list, r->n_list, &s, &r->keys, &r->arena, err));
    TL_TRY(tl_commit_next(r->t, next, err));
    s.timestamp_ms = next->now_ms;
    tl_status status = tl_metadata_add_snapshot(&next->metadata, &s, err);
    if (status == TL_OK && !r->o->no_sync) {
        status = sync_all(r, err);
    }
    if (status != TL_OK) {
        tl_metadata_free(&next->metadata);
    }
    return status;
}

/* ---- attempts ---- */

static bool same_table(const tl_table *a, const tl_table *b) {
    const char *x = a->metadata.table_uuid, *y = b->metadata.table_uuid;
    return !x || !y || strcmp(x, y) == 0;
}

/* TL_EXISTS = lost a race. */
static tl_status attempt(replacing *r, tl_table **out, tl_error *err) {
    tl_table *newest;
    TL_TRY(tl_table_refresh(r->t, &newest, err));
    if (newest != r->t) {
        newest->head_us = r->t->head_us;
    }
    bool same = same_table(r->t, newest) && newest->metadata.current_schema_id == r->t->metadata.current_schema_id;
    tl_table_release(r->t);
    r->t = newest;
    if (!same) {
        return tl_fail(err, TL_CONFLICT, "table %s was made anew or got another schema meanwhile", r->name);
    }
    TL_TRY(tl_table_writable(newest, err));
    tl_next next;
    TL_TRY(prepare(r, &next, err));
    return tl_commit_put_version(newest, &next, r->snapshot_id, r->o->no_sync, out, err);
}

static void forget_attempt(replacing *r) {
    tl_arena_free(&r->arena);
    r->stay = r->go = r->stay_deletes = r->go_deletes = (entry_list){0};
    r->list = NULL;
    r->n_list = 0;
    r->cut_unsure = false;
}

static tl_status run_attempts(replacing *r, tl_commit_result *result, tl_table **out, tl_error *err) {
    const tl_env *env = r->t->store->env;
    int32_t most = tl_commit_attempts(r->t, r->o->max_attempts);
    for (;;) {
        int64_t begin = tl_env_monotonic_us(env);
        result->attempts++;
        tl_status status = attempt(r, out, err);
        if (status != TL_EXISTS) {
            return status;
        }
        tl_key_list_remove_objects(r->t->store, &r->keys);
        forget_attempt(r);
        if (result->attempts >= most) {
            return tl_fail(err, TL_CONFLICT,
                           "table %s: gave up after %d attempts: other writers were faster each time; nothing was "
                           "committed",
                           r->name, result->attempts);
        }
        tl_commit_back_off(env, result->attempts, tl_env_monotonic_us(env) - begin);
    }
}

static tl_status replace(replacing *r, tl_commit_result *result, tl_table **out, tl_error *err) {
    const tl_live_files *p = r->o->planned;
    tl_status status = sorted_paths(&r->kept, p->data, r->o->removed, r->o->n_removed, &r->removed, err);
    if (status == TL_OK) {
        status = sorted_paths(&r->kept, p->data, NULL, p->n_data, &r->known, err);
    }
    if (status == TL_OK) {
        status = sorted_paths(&r->kept, p->deletes, NULL, p->n_deletes, &r->deletes, err);
    }
    if (status == TL_OK) {
        status = run_attempts(r, result, out, err);
    }
    tl_store *store = r->t->store;
    if (status == TL_OK) {
        result->snapshot_id = r->snapshot_id;
    } else if (status != TL_UNKNOWN) { /* definitely not in the table: nothing of it stays */
        tl_key_list_remove_objects(store, &r->keys);
        tl_key_list_remove_objects(store, &r->kept_keys);
        if (r->added) {
            tl_staged_discard(store, r->added);
        }
    }
    tl_key_list_free(&r->keys);
    tl_key_list_free(&r->kept_keys);
    forget_attempt(r);
    tl_arena_free(&r->kept);
    return status;
}

tl_status tl_commit_replace(tl_table *base, tl_staged *added, const tl_replace_options *options,
                            tl_commit_result *result, tl_table **out, tl_error *err) {
    const tl_env *env = base->store->env;
    int64_t begin = tl_env_monotonic_us(env);
    *out = NULL;
    *result = (tl_commit_result){.version = base->version, .snapshot_id = -1};
    if (added && added->n_files == 0) {
        added = NULL;
    }
    if (options->n_removed == 0 && !added) {
        *out = tl_table_retain(base);
        return TL_OK;
    }
    replacing r = {.t = tl_table_retain(base),
                   .name = base->name,
                   .added = added,
                   .o = options,
                   .snapshot_id = tl_commit_new_snapshot_id(base)};
    tl_status status = replace(&r, result, out, err);
    tl_table_release(r.t);
    if (status == TL_OK) {
        result->version = (*out)->version;
        tl_commit_publish(*out);
    }
    result->commit_us = tl_env_monotonic_us(env) - begin;
    return status;
}
