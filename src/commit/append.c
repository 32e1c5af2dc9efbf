/*
 * The append: staged files become a snapshot on top of the newest version (spec a.2, DESIGN 5).
 *
 * One attempt: newest version -> manifest (written once) -> carried manifests -> last-value index -> manifest list ->
 * metadata -> one sync of all of them and of the data files -> the put that decides. A lost race begins again with the
 * newest version; only metadata is written anew. All attempts use one snapshot id.
 *
 * Syncs of a commit to a local disk, which are what it waits for: each data file and its folder, manifest, list, index,
 * the metadata's contents under a temporary name, and metadata/ once for them, all side by side; then, once the
 * metadata has its name, metadata/ again. Fewer would let the metadata be on the disk before something it names.
 *
 * Policy upsert: each attempt asks anew which rows its own replace in the version that it builds on, and writes their
 * deletes (deletes.h) with its other objects.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "commit/batch_ids.h"
#include "commit/commit_internal.h"
#include "commit/touched.h"
#include "table/settings.h"

typedef struct append {
    tl_table *base; /* as given */
    tl_table *t;    /* what this attempt builds on */
    tl_staged *staged;
    const tl_commit_options *options;
    int64_t snapshot_id;
    int64_t sequence; /* of this attempt */
    /* for all attempts */
    tl_arena kept;
    tl_key_list kept_keys; /* the manifest */
    tl_manifest added;
    const char *added_uri; /* NULL = not written yet */
    int64_t added_length;
    const char *touched, *touched_buckets;
    /* for this attempt */
    tl_arena arena;
    tl_key_list keys;
    bool *newer; /* by staged file: no copy of its rows in the base */
    tl_delete_change deletes;
} append;

/* ---- may it go on top of this version? ---- */

static tl_status check_schema(const append *a, tl_error *err) {
    const tl_metadata *was = &a->base->metadata, *is = &a->t->metadata;
    const tl_schema *old = tl_metadata_schema(was), *now = tl_metadata_schema(is);
    if (was->table_uuid && is->table_uuid && strcmp(was->table_uuid, is->table_uuid) != 0) {
        return tl_fail(err, TL_CONFLICT, "table %s was dropped and made anew meanwhile; repeat the append",
                       a->base->name);
    }
    for (int32_t i = 0; i < now->n_fields; i++) {
        const tl_field *f = &now->fields[i], *before = tl_schema_field_by_id(old, f->id);
        if (before ? !tl_type_equal(&f->type, &before->type) || (f->required && !before->required) : f->required) {
            return tl_fail(err, TL_CONFLICT, "table %s: column \"%.200s\" was changed meanwhile; repeat the append",
                           a->base->name, f->name);
        }
    }
    if (!tl_metadata_spec_by_id(is, a->staged->files[0].spec_id)) {
        return tl_fail(err, TL_CONFLICT, "table %s: its partitioning was changed meanwhile; repeat the append",
                       a->base->name);
    }
    return TL_OK;
}

/* ---- the manifest of the staged files ---- */

static tl_status write_added(append *a, tl_error *err) {
    const tl_staged *s = a->staged;
    const tl_schema *schema = tl_metadata_schema(&a->base->metadata);
    a->added = (tl_manifest){
        .format_version = a->base->metadata.format_version,
        .content = TL_CONTENT_DATA,
        .schema_id = schema->schema_id,
        .spec_id = s->files[0].spec_id,
        .entries = tl_arena_array(&a->kept, (size_t)s->n_files, sizeof *a->added.entries),
        .n_entries = s->n_files,
    };
    if (!a->added.entries) {
        return tl_fail_memory(err, (size_t)s->n_files * sizeof *a->added.entries);
    }
    for (int32_t i = 0; i < s->n_files; i++) {
        a->added.entries[i] = (tl_manifest_entry){TL_ENTRY_ADDED, a->snapshot_id, -1, -1, s->files[i]};
    }
    char uuid[TL_UUID_TEXT], name[TL_UUID_TEXT + 32];
    tl_uuid4(a->t->store->env, uuid);
    (void)snprintf(name, sizeof name, "%s-added-m.avro", uuid);
    tl_buf avro = {0};
    const tl_partition_spec *spec = tl_metadata_spec_by_id(&a->base->metadata, a->added.spec_id);
    tl_status status =
        spec ? tl_manifest_write(&a->added, schema, spec, &avro, err)
             : tl_fail(err, TL_INTERNAL, "staged files of partition spec %d, which the table does not have",
                       a->added.spec_id);
    const char *uri = NULL;
    if (status == TL_OK) {
        status = tl_commit_put_object(a->t, name, tl_buf_bytes(&avro), &a->kept_keys, &a->kept, &uri, err);
    }
    if (status == TL_OK) {
        a->added_uri = uri;
        a->added_length = (int64_t)avro.len;
    }
    tl_buf_free(&avro);
    return status;
}

/* ---- policy upsert ---- */

static tl_status find_newer(append *a, bool base_empty, tl_error *err) {
    a->newer = tl_arena_array(&a->arena, (size_t)a->staged->n_files, sizeof *a->newer);
    if (!a->newer) {
        return tl_fail_memory(err, (size_t)a->staged->n_files);
    }
    return tl_commit_newer(a->t, a->staged, base_empty, a->newer, err);
}

/* Rows in order cost nothing: with all files newer than the base there is nothing to look for. */
static tl_status write_deletes(append *a, tl_error *err) {
    if (!a->options->lookup) {
        return tl_fail(err, TL_INTERNAL, "table %s has write-policy upsert, which this caller does not know",
                       a->t->name);
    }
    TL_TRY(find_newer(a, false, err));
    bool any = false;
    for (int32_t i = 0; i < a->staged->n_files; i++) {
        any = any || !a->newer[i];
    }
    if (!any) {
        return TL_OK;
    }
    tl_delete_set set = {0};
    const tl_delete_lookup *look = a->options->lookup;
    tl_status status = look->find(look->ctx, a->t, a->staged, a->newer, a->sequence, &set, err);
    if (status == TL_OK) {
        status = tl_commit_write_deletes(a->t, &set, a->staged, NULL, 0, a->snapshot_id, a->sequence, &a->keys,
                                         &a->arena, &a->deletes, err);
    }
    tl_delete_set_free(&set);
    return status;
}

/* This commit's manifests before the carried ones. */
static tl_status gather_manifests(append *a, tl_manifest_file **out, int64_t *n_own, int64_t *n, tl_error *err) {
    tl_manifest_file *carried;
    int64_t n_carried;
    const tl_delete_change *d = &a->deletes;
    TL_TRY(tl_commit_carry_without(a->t, d->replaced, d->n_replaced, a->snapshot_id, a->sequence, &a->keys, &a->arena,
                                   &carried, &n_carried, err));
    *n_own = 1 + d->n_manifests;
    tl_manifest_file *list = tl_arena_array(&a->arena, (size_t)(n_carried + *n_own), sizeof *list);
    if (!list) {
        return tl_fail_memory(err, (size_t)n_carried * sizeof *list);
    }
    const tl_metadata *m = &a->base->metadata;
    TL_TRY(tl_manifest_describe(&a->added, tl_metadata_schema(m), tl_metadata_spec_by_id(m, a->added.spec_id),
                                a->added_uri, a->added_length, a->snapshot_id, a->sequence, &a->arena, &list[0], err));
    for (int32_t i = 0; i < d->n_manifests; i++) {
        list[1 + i] = d->manifests[i];
    }
    if (n_carried) {
        memcpy(list + *n_own, carried, (size_t)n_carried * sizeof *list);
    }
    *out = list;
    *n = n_carried + *n_own;
    return TL_OK;
}

/* ---- the snapshot ---- */

static tl_status make_summary(append *a, const tl_manifest_file *carried, int64_t n_carried, tl_snapshot *out,
                              tl_error *err) {
    const tl_commit_options *o = a->options;
    tl_property *extra = tl_arena_array(&a->arena, (size_t)o->n_summary + 6, sizeof *extra);
    if (!extra) {
        return tl_fail_memory(err, 256);
    }
    extra[0] = (tl_property){TL_BATCH_ID_SUMMARY, o->batch_id};
    extra[1] = (tl_property){TL_TOUCHED_SUMMARY, a->touched && *a->touched ? a->touched : NULL};
    TL_TRY(tl_commit_extend_index(a->t, &a->staged->newest, a->snapshot_id, n_carried == 0, &a->keys, &a->arena,
                                  &extra[2], err));
    extra[4].key = TL_NEWER_SUMMARY;
    TL_TRY(tl_commit_newer_files(a->staged, a->newer, &a->arena, &extra[4].value, err));
    extra[5] = (tl_property){TL_TOUCHED_BUCKETS_SUMMARY, a->touched_buckets};
    if (o->n_summary) {
        memcpy(extra + 6, o->summary, (size_t)o->n_summary * sizeof *extra);
    }
    const tl_delete_change *d = &a->deletes;
    const tl_snapshot *current = tl_metadata_current(&a->t->metadata);
    tl_commit_change change = {
        .operation = d->added_files ? "overwrite" : "append",
        .added_files = a->staged->n_files,
        .added_delete_files = d->added_files,
        .added_position_deletes = d->added_rows,
        .added_vectors = d->added_vectors,
        .removed_delete_files = d->removed_files,
        .removed_position_deletes = d->removed_rows,
        .removed_vectors = d->removed_vectors,
        .one_copy = a->t->contract.upsert && (!current || tl_snapshot_has_one_copy(current)),
        .extra = extra,
        .n_extra = o->n_summary + 6,
    };
    for (int32_t i = 0; i < a->staged->n_files; i++) {
        change.added_rows += a->staged->files[i].record_count;
        change.added_bytes += a->staged->files[i].file_size;
    }
    return tl_commit_summary(a->t, &change, carried, n_carried, &a->arena, &out->summary, &out->n_summary, err);
}

/* Remembers the batch id beyond the snapshot's life. Tables without batch ids are left alone. */
static tl_status remember_batch(const append *a, tl_metadata *next, tl_error *err) {
    const tl_metadata *m = &a->t->metadata;
    int64_t keep = tl_setting_int(m, "keep-batch-ids");
    if (!a->options->batch_id && !tl_metadata_property(m, TL_BATCH_IDS_PROPERTY)) {
        return TL_OK;
    }
    tl_batch_ids ids;
    TL_TRY(tl_batch_ids_read(m, &ids, err));
    tl_status status = tl_batch_ids_add(&ids, a->options->batch_id, a->sequence, err);
    if (status == TL_OK) {
        status = tl_batch_ids_store(&ids, keep, next, err);
    }
    tl_batch_ids_free(&ids);
    return status;
}

/* Puts the version after all that it names: what the disk does not have yet is synced beside its contents. */
static tl_status put_version(append *a, tl_next *next, tl_table **out, tl_error *err) {
    const tl_staged *s = a->staged;
    size_t n = 0;
    const char **keys = tl_alloc_array((size_t)s->n_files + a->kept_keys.n + a->keys.n, sizeof *keys);
    if (!keys) {
        tl_metadata_free(&next->metadata);
        return tl_fail_memory(err, ((size_t)s->n_files + a->kept_keys.n + a->keys.n) * sizeof *keys);
    }
    for (size_t i = 0; i < (size_t)s->n_files; i++) {
        keys[n++] = s->keys[i];
    }
    for (size_t i = 0; i < a->kept_keys.n; i++) {
        keys[n++] = a->kept_keys.items[i];
    }
    for (size_t i = 0; i < a->keys.n; i++) {
        keys[n++] = a->keys.items[i];
    }
    tl_status status = tl_commit_put_version_after(a->t, next, a->snapshot_id, keys, n, out, err);
    tl_free(keys);
    return status;
}

/* Everything up to the put that decides; `next` is then ready. */
static tl_status prepare(append *a, tl_next *next, tl_error *err) {
    a->sequence = a->t->metadata.last_sequence_number + 1;
    if (!a->added_uri) {
        TL_TRY(write_added(a, err));
    }
    tl_manifest_file *list = NULL;
    int64_t n_own = 0, n = 0;
    bool deletes = a->t->contract.upsert && tl_metadata_current(&a->t->metadata);
    a->deletes = (tl_delete_change){0};
    TL_TRY(deletes ? write_deletes(a, err) : TL_OK);
    TL_TRY(gather_manifests(a, &list, &n_own, &n, err));
    TL_TRY(deletes ? TL_OK : find_newer(a, n == n_own, err));
    tl_snapshot s = {.snapshot_id = a->snapshot_id,
                     .parent_id = a->t->metadata.current_snapshot_id,
                     .sequence_number = a->sequence,
                     .schema_id = a->t->metadata.current_schema_id};
    TL_TRY(make_summary(a, list + n_own, n - n_own, &s, err));
    TL_TRY(tl_commit_put_snapshot_list(a->t, list, n, &s, &a->keys, &a->arena, err));
    TL_TRY(tl_commit_next(a->t, next, err));
    s.timestamp_ms = next->now_ms;
    tl_status status = tl_metadata_add_snapshot(&next->metadata, &s, err);
    if (status == TL_OK) {
        status = remember_batch(a, &next->metadata, err);
    }
    if (status != TL_OK) {
        tl_metadata_free(&next->metadata);
    }
    return status;
}

/* ---- attempts ---- */

/* TL_EXISTS = lost a race. */
static tl_status attempt(append *a, tl_commit_result *result, tl_table **out, tl_error *err) {
    tl_table *newest;
    TL_TRY(tl_table_refresh(a->t, &newest, err));
    if (newest != a->t) {
        newest->head_us = a->t->head_us;
    }
    tl_table_release(a->t);
    a->t = newest;
    TL_TRY(tl_table_writable(a->t, err));
    TL_TRY(check_schema(a, err));
    if (a->options->batch_id) {
        TL_TRY(tl_batch_ids_find(&a->t->metadata, a->options->batch_id, &result->duplicate, err));
    }
    if (result->duplicate) {
        *out = tl_table_retain(a->t);
        return TL_OK;
    }
    tl_next next;
    TL_TRY(prepare(a, &next, err));
    return a->options->no_sync ? tl_commit_put_version(a->t, &next, a->snapshot_id, true, out, err)
                               : put_version(a, &next, out, err);
}

static tl_status gave_up(const append *a, int32_t attempts, tl_error *err) {
    return tl_fail(
        err, TL_CONFLICT,
        "table %s: gave up after %d attempts: other writers were faster each time; the last built on snapshot %lld at "
        "version %lld and found version %lld taken; nothing was committed",
        a->base->name, attempts, (long long)a->t->metadata.current_snapshot_id, (long long)a->t->version,
        (long long)a->t->version + 1);
}

static tl_status run_attempts(append *a, tl_commit_result *result, tl_table **out, tl_error *err) {
    const tl_env *env = a->base->store->env;
    int32_t most = tl_commit_attempts(a->base, a->options->max_attempts);
    for (;;) {
        int64_t begin = tl_env_monotonic_us(env);
        result->attempts++;
        tl_status status = attempt(a, result, out, err);
        if (status != TL_EXISTS) {
            return status;
        }
        tl_key_list_remove_objects(a->t->store, &a->keys);
        tl_arena_free(&a->arena);
        if (result->attempts >= most) {
            return gave_up(a, result->attempts, err);
        }
        tl_commit_back_off(env, result->attempts, tl_env_monotonic_us(env) - begin);
    }
}

/* Texts of what was touched; the caller frees both. */
static tl_status print_touched(const tl_staged *s, char **touched, char **buckets, tl_error *err) {
    bool by_bucket = s->series_buckets > 0 && s->n_touched_buckets > 0;
    *touched = s->n_touched > 0 ? tl_touched_print(s->touched, s->n_touched) : NULL;
    *buckets = by_bucket ? tl_touched_print_buckets(s->touched_buckets, s->n_touched_buckets, s->series_buckets) : NULL;
    return (s->n_touched > 0 && !*touched) || (by_bucket && !*buckets) ? tl_fail_memory(err, 256) : TL_OK;
}

static tl_status commit_files(append *a, tl_commit_result *result, tl_table **out, tl_error *err) {
    char *touched, *buckets;
    tl_status status = print_touched(a->staged, &touched, &buckets, err);
    a->touched = touched;
    a->touched_buckets = buckets;
    a->snapshot_id = tl_commit_new_snapshot_id(a->base);
    if (status == TL_OK) {
        status = run_attempts(a, result, out, err);
    }
    tl_store *store = a->base->store;
    if (status == TL_OK && !result->duplicate) {
        result->snapshot_id = a->snapshot_id;
    } else if (status != TL_UNKNOWN) { /* definitely not in the table: nothing of it stays */
        tl_key_list_remove_objects(store, &a->keys);
        tl_key_list_remove_objects(store, &a->kept_keys);
        tl_staged_discard(store, a->staged);
    }
    tl_free(touched);
    tl_free(buckets);
    tl_key_list_free(&a->keys);
    tl_key_list_free(&a->kept_keys);
    tl_arena_free(&a->arena);
    tl_arena_free(&a->kept);
    return status;
}

tl_status tl_commit_append(tl_table *base, tl_staged *staged, const tl_commit_options *options,
                           tl_commit_result *result, tl_table **out, tl_error *err) {
    static const tl_commit_options none = {0};
    const tl_env *env = base->store->env;
    int64_t begin = tl_env_monotonic_us(env);
    *out = NULL;
    *result = (tl_commit_result){.version = base->version, .snapshot_id = -1};
    if (staged->n_files == 0) {
        *out = tl_table_retain(base);
        return TL_OK;
    }
    append a = {.base = base, .t = tl_table_retain(base), .staged = staged, .options = options ? options : &none};
    tl_status status = commit_files(&a, result, out, err);
    tl_table_release(a.t);
    if (status == TL_OK) {
        result->version = (*out)->version;
        if (!result->duplicate) {
            tl_commit_publish(*out);
        }
    }
    result->commit_us = tl_env_monotonic_us(env) - begin;
    return status;
}

tl_status tl_commit_find_batch(tl_table *t, const char *batch_id, bool *found, tl_error *err) {
    return tl_batch_ids_find(&t->metadata, batch_id, found, err);
}
