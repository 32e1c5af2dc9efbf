/*
 * What the next snapshot carries on of the base's manifests.
 *
 * Small manifests are merged by size classes: eight data manifests of one class become one of the next. So a table of N
 * files has about 7 x log8(N) manifests and an entry is rewritten log8(N) times in its life, where merging everything
 * into one (Timelake 0.7.0) rewrites all N entries with every eighth append. Delete manifests are merged in the same
 * way, never with data manifests; manifests without live files are left out.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"

enum { MERGE_AT = 8, CLASSES = 11 };

static const int64_t LARGE_MANIFEST = 8 << 20; /* bytes: big enough to stay as it is */

/* 0 for 1..7 live files, 1 for 8..63 ...; -1 = not to be merged. */
static int size_class(const tl_manifest_file *m) {
    if (m->length >= LARGE_MANIFEST) {
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

/* Manifests that can become one: of one content, partition spec and size class. */
typedef struct kind {
    tl_content content;
    int32_t spec_id;
    int class;
} kind;

static bool is_of(const tl_manifest_file *m, const kind *k) {
    return m->content == k->content && m->spec_id == k->spec_id && size_class(m) == k->class;
}

/* The kind of the smallest class that has enough manifests; false = nothing to merge. */
static bool find_kind(const tl_manifest_file *list, int64_t n, kind *out) {
    for (int c = 0; c < CLASSES; c++) {
        for (int64_t i = 0; i < n; i++) {
            if (size_class(&list[i]) != c) {
                continue;
            }
            int alike = 0;
            kind wanted = {list[i].content, list[i].spec_id, c};
            for (int64_t k = i; k < n; k++) {
                alike += is_of(&list[k], &wanted);
            }
            if (alike >= MERGE_AT) {
                *out = wanted;
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

tl_status tl_commit_put_manifest(tl_table *t, const tl_manifest *m, const char *what, int64_t snapshot_id,
                                 int64_t sequence, tl_key_list *keys, tl_arena *arena, tl_manifest_file *out,
                                 tl_error *err) {
    const tl_metadata *meta = &t->metadata;
    const tl_schema *schema = tl_metadata_schema(meta);
    const tl_partition_spec *spec = tl_metadata_spec_by_id(meta, m->spec_id);
    if (!spec) {
        return tl_fail(err, TL_CORRUPT, "table %s: a manifest has the partition spec %d, which is not in the metadata",
                       t->name, m->spec_id);
    }
    char uuid[TL_UUID_TEXT], name[TL_UUID_TEXT + 32];
    tl_uuid4(t->store->env, uuid);
    (void)snprintf(name, sizeof name, "%s-%s.avro", uuid, what);
    tl_buf avro = {0};
    const char *uri = NULL;
    tl_status status = tl_manifest_write(m, schema, spec, &avro, err);
    if (status == TL_OK) {
        status = tl_commit_put_object(t, name, tl_buf_bytes(&avro), keys, arena, &uri, err);
    }
    if (status == TL_OK) {
        status = tl_manifest_describe(m, schema, spec, uri, (int64_t)avro.len, snapshot_id, sequence, arena, out, err);
    }
    tl_buf_free(&avro);
    return status;
}

static tl_status merge_kind(merging *m, tl_manifest_file *list, int64_t *n, const kind *k, int64_t snapshot_id,
                            int64_t sequence, tl_key_list *keys, tl_error *err) {
    m->all = (tl_manifest){.format_version = m->base->metadata.format_version,
                           .content = k->content,
                           .schema_id = m->base->metadata.current_schema_id,
                           .spec_id = k->spec_id};
    for (int64_t i = 0; i < *n; i++) {
        if (is_of(&list[i], k)) {
            TL_TRY(add_live(m, &list[i], err));
        }
    }
    tl_manifest_file merged;
    TL_TRY(tl_commit_put_manifest(m->base, &m->all, "merged-m", snapshot_id, sequence, keys, m->arena, &merged, err));
    int64_t kept = 0;
    bool placed = false;
    for (int64_t i = 0; i < *n; i++) {
        if (!is_of(&list[i], k)) {
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
    return tl_commit_carry_without(base, NULL, 0, snapshot_id, sequence, keys, arena, out, n, err);
}

static bool is_among(const char *path, const char *const *list, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(list[i], path) == 0) {
            return true;
        }
    }
    return false;
}

tl_status tl_commit_carry_without(tl_table *base, const char *const *without, int64_t n_without, int64_t snapshot_id,
                                  int64_t sequence, tl_key_list *keys, tl_arena *arena, tl_manifest_file **out,
                                  int64_t *n, tl_error *err) {
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
        bool live = list[i].added_files != 0 || list[i].existing_files != 0;
        if (live && !is_among(list[i].path, without, n_without)) {
            list[(*n)++] = list[i];
        }
    }
    *out = list;
    kind k;
    if (!find_kind(list, *n, &k)) {
        return TL_OK;
    }
    merging m = {.base = base, .arena = arena};
    tl_status status = merge_kind(&m, list, n, &k, snapshot_id, sequence, keys, err);
    tl_arena_free(&m.bytes);
    return status;
}

/* v3: rows of manifests that have no ids yet are numbered on from the table's last. */
static tl_status number_rows(const tl_table *base, tl_manifest_file *list, int64_t n, tl_snapshot *s, tl_error *err) {
    int64_t next = base->metadata.next_row_id;
    for (int64_t i = 0; i < n; i++) {
        tl_manifest_file *m = &list[i];
        if (m->content != TL_CONTENT_DATA || m->has_first_row_id) {
            continue;
        }
        m->has_first_row_id = true;
        m->first_row_id = next;
        if (m->added_rows < 0 || m->existing_rows < 0 || !tl_i64_add(next, m->added_rows, &next) ||
            !tl_i64_add(next, m->existing_rows, &next)) {
            return tl_fail(err, TL_UNSUPPORTED, "table %s, manifest %s: its rows cannot be numbered", base->name,
                           m->path);
        }
    }
    s->has_rows = true;
    s->first_row_id = base->metadata.next_row_id;
    s->added_rows = next - s->first_row_id;
    return TL_OK;
}

static tl_status put_list(tl_table *base, int32_t version, const tl_manifest_file *list, int64_t n, int64_t snapshot_id,
                          int64_t sequence, tl_key_list *keys, tl_arena *arena, const char **uri, tl_error *err);

tl_status tl_commit_put_snapshot_list(tl_table *base, tl_manifest_file *list, int64_t n, tl_snapshot *s,
                                      tl_key_list *keys, tl_arena *arena, tl_error *err) {
    int32_t version = base->metadata.format_version;
    if (version >= 3) {
        TL_TRY(number_rows(base, list, n, s, err));
    }
    return put_list(base, version, list, n, s->snapshot_id, s->sequence_number, keys, arena, &s->manifest_list, err);
}

tl_status tl_commit_put_list(tl_table *base, const tl_manifest_file *list, int64_t n, int64_t snapshot_id,
                             int64_t sequence, tl_key_list *keys, tl_arena *arena, const char **uri, tl_error *err) {
    return put_list(base, 2, list, n, snapshot_id, sequence, keys, arena, uri, err);
}

static tl_status put_list(tl_table *base, int32_t version, const tl_manifest_file *list, int64_t n, int64_t snapshot_id,
                          int64_t sequence, tl_key_list *keys, tl_arena *arena, const char **uri, tl_error *err) {
    char uuid[TL_UUID_TEXT], name[128];
    tl_uuid4(base->store->env, uuid);
    (void)snprintf(name, sizeof name, "snap-%lld-%s.avro", (long long)snapshot_id, uuid);
    tl_buf avro = {0};
    tl_status status = tl_manifest_list_write_as(version, list, n, snapshot_id, base->metadata.current_snapshot_id,
                                                 sequence, &avro, err);
    if (status == TL_OK) {
        status = tl_commit_put_object(base, name, tl_buf_bytes(&avro), keys, arena, uri, err);
    }
    tl_buf_free(&avro);
    return status;
}
