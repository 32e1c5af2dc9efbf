/*
 * What the next snapshot carries on of the base's manifests.
 *
 * Small manifests are merged by size classes: eight data manifests of one class become one of the next. So a table of N
 * files has about 7 x log8(N) manifests and an entry is rewritten log8(N) times in its life, where merging everything
 * into one (Timelake 0.7.0) rewrites all N entries with every eighth append. Delete manifests are carried as they are;
 * manifests without live files are left out.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"

enum { MERGE_AT = 8, CLASSES = 11 };

static const int64_t LARGE_MANIFEST = 8 << 20; /* bytes: big enough to stay as it is */

/* 0 for 1..7 live files, 1 for 8..63 ...; -1 = not to be merged. */
static int size_class(const tl_manifest_file *m) {
    if (m->content != TL_CONTENT_DATA || m->length >= LARGE_MANIFEST) {
        return -1;
    }
    if (m->added_files < 0 || m->existing_files < 0) {
        return 0; /* not known in v1 lists: counted when merged */
    }
    int64_t live = (int64_t)m->added_files + m->existing_files;
    int class = 0;
    for (; live >= 8; live /= 8) {
        class ++;
    }
    return class;
}

/* The smallest class of one partition spec that has enough manifests; false = nothing to merge. */
static bool find_class(const tl_manifest_file *list, int64_t n, int *class, int32_t *spec_id) {
    for (int c = 0; c < CLASSES; c++) {
        for (int64_t i = 0; i < n; i++) {
            if (size_class(&list[i]) != c) {
                continue;
            }
            int alike = 0;
            for (int64_t k = i; k < n; k++) {
                alike += size_class(&list[k]) == c && list[k].spec_id == list[i].spec_id;
            }
            if (alike >= MERGE_AT) {
                *class = c;
                *spec_id = list[i].spec_id;
                return true;
            }
            if (i > 1000) {
                break; /* many specs: not worth the search */
            }
        }
    }
    return false;
}

typedef struct merging {
    tl_table *base;
    tl_arena *arena;
    tl_manifest all;
    int64_t cap;
    tl_arena bytes; /* the manifests' own bytes and entries, until the merged one is written */
} merging;

static tl_status add_live(merging *m, const tl_manifest_file *listed, tl_error *err) {
    tl_buf avro = {0};
    tl_manifest one;
    tl_status status = tl_table_get(m->base, listed->path, &avro, err);
    if (status == TL_OK) {
        void *copy = tl_arena_copy(&m->bytes, avro.data, avro.len);
        status = copy ? tl_manifest_parse((tl_bytes){copy, avro.len}, listed, &m->bytes, &one, err)
                      : tl_fail_memory(err, avro.len);
    }
    tl_buf_free(&avro);
    if (status != TL_OK) {
        if (status != TL_NO_MEMORY) {
            tl_error_prefix(err, "table %s, manifest %s: ", m->base->name, listed->path);
        }
        return status == TL_NOT_FOUND ? TL_CORRUPT : status;
    }
    for (int64_t i = 0; i < one.n_entries; i++) {
        if (one.entries[i].status == TL_ENTRY_DELETED) {
            continue;
        }
        if (m->all.n_entries == m->cap) {
            int64_t cap = m->cap ? m->cap * 2 : 64;
            tl_manifest_entry *grown = tl_arena_array(&m->bytes, (size_t)cap, sizeof *grown);
            if (!grown) {
                return tl_fail_memory(err, (size_t)cap * sizeof *grown);
            }
            if (m->all.n_entries) {
                memcpy(grown, m->all.entries, (size_t)m->all.n_entries * sizeof *grown);
            }
            m->all.entries = grown;
            m->cap = cap;
        }
        m->all.entries[m->all.n_entries] = one.entries[i];
        m->all.entries[m->all.n_entries++].status = TL_ENTRY_EXISTING;
    }
    return TL_OK;
}

static tl_status write_merged(merging *m, int64_t snapshot_id, int64_t sequence, tl_key_list *keys,
                              tl_manifest_file *out, tl_error *err) {
    const tl_metadata *meta = &m->base->metadata;
    const tl_schema *schema = tl_metadata_schema(meta);
    const tl_partition_spec *spec = tl_metadata_spec_by_id(meta, m->all.spec_id);
    if (!spec) {
        return tl_fail(err, TL_CORRUPT, "table %s: a manifest has the partition spec %d, which is not in the metadata",
                       m->base->name, m->all.spec_id);
    }
    char uuid[TL_UUID_TEXT], name[TL_UUID_TEXT + 32];
    tl_uuid4(m->base->store->env, uuid);
    (void)snprintf(name, sizeof name, "%s-merged-m.avro", uuid);
    tl_buf avro = {0};
    const char *uri = NULL;
    tl_status status = tl_manifest_write(&m->all, schema, spec, &avro, err);
    if (status == TL_OK) {
        status = tl_commit_put_object(m->base, name, tl_buf_bytes(&avro), keys, m->arena, &uri, err);
    }
    if (status == TL_OK) {
        status = tl_manifest_describe(&m->all, schema, spec, uri, (int64_t)avro.len, snapshot_id, sequence, m->arena,
                                      out, err);
    }
    tl_buf_free(&avro);
    return status;
}

static tl_status merge_class(merging *m, tl_manifest_file *list, int64_t *n, int class, int32_t spec_id,
                             int64_t snapshot_id, int64_t sequence, tl_key_list *keys, tl_error *err) {
    m->all = (tl_manifest){.format_version = 2,
                           .content = TL_CONTENT_DATA,
                           .schema_id = m->base->metadata.current_schema_id,
                           .spec_id = spec_id};
    for (int64_t i = 0; i < *n; i++) {
        if (size_class(&list[i]) == class && list[i].spec_id == spec_id) {
            TL_TRY(add_live(m, &list[i], err));
        }
    }
    tl_manifest_file merged;
    TL_TRY(write_merged(m, snapshot_id, sequence, keys, &merged, err));
    int64_t kept = 0;
    bool placed = false;
    for (int64_t i = 0; i < *n; i++) {
        if (!(size_class(&list[i]) == class && list[i].spec_id == spec_id)) {
            list[kept++] = list[i];
        } else if (!placed) { /* where the newest of them was */
            list[kept++] = merged;
            placed = true;
        }
    }
    *n = kept;
    return TL_OK;
}

tl_status tl_commit_carry_manifests(tl_table *base, int64_t snapshot_id, int64_t sequence, tl_key_list *keys,
                                    tl_arena *arena, tl_manifest_file **out, int64_t *n, tl_error *err) {
    *out = NULL;
    *n = 0;
    const tl_snapshot *current = tl_metadata_current(&base->metadata);
    if (!current) {
        return TL_OK;
    }
    tl_manifest_file *list;
    int64_t listed;
    TL_TRY(tl_table_manifests(base, current, arena, &list, &listed, err));
    for (int64_t i = 0; i < listed; i++) {
        if (list[i].added_files != 0 || list[i].existing_files != 0) {
            list[(*n)++] = list[i];
        }
    }
    *out = list;
    int class;
    int32_t spec_id;
    if (!find_class(list, *n, &class, &spec_id)) {
        return TL_OK;
    }
    merging m = {.base = base, .arena = arena};
    tl_status status = merge_class(&m, list, n, class, spec_id, snapshot_id, sequence, keys, err);
    tl_arena_free(&m.bytes);
    return status;
}

tl_status tl_commit_put_list(tl_table *base, const tl_manifest_file *list, int64_t n, int64_t snapshot_id,
                             int64_t sequence, tl_key_list *keys, tl_arena *arena, const char **uri, tl_error *err) {
    char uuid[TL_UUID_TEXT], name[128];
    tl_uuid4(base->store->env, uuid);
    (void)snprintf(name, sizeof name, "snap-%lld-%s.avro", (long long)snapshot_id, uuid);
    tl_buf avro = {0};
    tl_status status =
        tl_manifest_list_write(list, n, snapshot_id, base->metadata.current_snapshot_id, sequence, &avro, err);
    if (status == TL_OK) {
        status = tl_commit_put_object(base, name, tl_buf_bytes(&avro), keys, arena, uri, err);
    }
    tl_buf_free(&avro);
    return status;
}
