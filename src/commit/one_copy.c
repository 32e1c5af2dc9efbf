/*
 * The commit that switches policy upsert on: settings, and deletes of all older copies, in one step. Comes in: a
 * version and the deletes that were found in it. Goes out: the next version, in which every engine sees one row per
 * key.
 */
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"
#include "table/last_index.h"

typedef struct switching {
    tl_table *base;
    const tl_delete_set *set;
    const tl_property *changes;
    int32_t n;
    int64_t snapshot_id; /* -1 = no snapshot is needed */
    int64_t sequence;
    tl_key_list keys;
    tl_arena arena;
} switching;

static tl_status make_summary(switching *s, const tl_delete_change *d, const tl_manifest_file *carried, int64_t n,
                              tl_snapshot *out, tl_error *err) {
    tl_property extra[2];
    TL_TRY(tl_commit_cut_index(s->base, INT64_MIN, s->snapshot_id, &s->keys, &s->arena, extra, err));
    tl_commit_change change = {
        .operation = d->added_files ? "delete" : "replace",
        .added_delete_files = d->added_files,
        .added_position_deletes = d->added_rows,
        .added_vectors = d->added_vectors,
        .removed_delete_files = d->removed_files,
        .removed_position_deletes = d->removed_rows,
        .removed_vectors = d->removed_vectors,
        .one_copy = true,
        .extra = extra,
        .n_extra = 2,
    };
    return tl_commit_summary(s->base, &change, carried, n, &s->arena, &out->summary, &out->n_summary, err);
}

static tl_status add_snapshot(switching *s, tl_next *next, tl_error *err) {
    const tl_metadata *m = &s->base->metadata;
    tl_table now = *s->base; /* borrowed: the base in the format version that it gets */
    now.metadata.format_version = next->metadata.format_version;
    now.metadata.next_row_id = next->metadata.next_row_id;
    tl_delete_change d;
    tl_manifest_file *carried, *list;
    int64_t n;
    s->sequence = m->last_sequence_number + 1;
    TL_TRY(tl_commit_write_deletes(&now, s->set, NULL, NULL, 0, s->snapshot_id, s->sequence, &s->keys, &s->arena, &d,
                                   err));
    TL_TRY(tl_commit_carry_without(s->base, d.replaced, d.n_replaced, s->snapshot_id, s->sequence, &s->keys, &s->arena,
                                   &carried, &n, err));
    list = tl_arena_array(&s->arena, (size_t)(n + d.n_manifests), sizeof *list);
    if (!list) {
        return tl_fail_memory(err, (size_t)n * sizeof *list);
    }
    for (int32_t i = 0; i < d.n_manifests; i++) {
        list[i] = d.manifests[i];
    }
    if (n) {
        memcpy(list + d.n_manifests, carried, (size_t)n * sizeof *list);
    }
    tl_snapshot snapshot = {.snapshot_id = s->snapshot_id,
                            .parent_id = m->current_snapshot_id,
                            .sequence_number = s->sequence,
                            .timestamp_ms = next->now_ms,
                            .schema_id = m->current_schema_id};
    TL_TRY(make_summary(s, &d, carried, n, &snapshot, err));
    TL_TRY(tl_commit_put_snapshot_list(&now, list, n + d.n_manifests, &snapshot, &s->keys, &s->arena, err));
    TL_TRY(tl_metadata_add_snapshot(&next->metadata, &snapshot, err));
    return tl_store_sync(s->base->store, (const char *const *)s->keys.items, s->keys.n, err);
}

static tl_status moved_on(const tl_table *base, tl_error *err) {
    return tl_fail(err, TL_CONFLICT, "table %s: another commit came first; its settings were not changed", base->name);
}

static tl_status run(switching *s, tl_table **out, tl_error *err) {
    tl_table *newest;
    TL_TRY(tl_table_refresh(s->base, &newest, err));
    bool same = newest->version == s->base->version;
    tl_table_release(newest);
    if (!same) {
        return moved_on(s->base, err);
    }
    TL_TRY(tl_table_writable(s->base, err));
    tl_next next;
    TL_TRY(tl_commit_next(s->base, &next, err));
    tl_status status = tl_commit_set_properties(&next.metadata, s->changes, s->n, err);
    if (status == TL_OK && s->snapshot_id >= 0) {
        status = add_snapshot(s, &next, err);
    }
    if (status != TL_OK) {
        tl_metadata_free(&next.metadata);
        return status;
    }
    status = tl_commit_put_version(s->base, &next, s->snapshot_id, false, out, err);
    return status == TL_EXISTS ? moved_on(s->base, err) : status;
}

tl_status tl_commit_deletes(tl_table *base, const tl_delete_set *set, const tl_property *changes, int32_t n,
                            tl_table **out, tl_error *err) {
    *out = NULL;
    const tl_snapshot *current = tl_metadata_current(&base->metadata);
    bool needed = current && (set->n > 0 || !tl_snapshot_has_one_copy(current));
    switching s = {.base = base, .set = set, .changes = changes, .n = n};
    s.snapshot_id = needed ? tl_commit_new_snapshot_id(base) : -1;
    tl_status status = run(&s, out, err);
    if (status == TL_OK) {
        tl_commit_publish(*out);
    } else if (status != TL_UNKNOWN) {
        tl_key_list_remove_objects(base->store, &s.keys);
    }
    tl_key_list_free(&s.keys);
    tl_arena_free(&s.arena);
    return status;
}
