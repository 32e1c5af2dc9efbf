/* The live files of a snapshot, from its manifest list and manifests. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/memo.h"
#include "table/table.h"

typedef struct reading {
    tl_table *table;
    tl_live_files *out;
    const tl_manifest_filter *filter; /* NULL = all */
    int32_t manifest;                 /* the one being read */
    int64_t cap_data, cap_deletes;
} reading;

static tl_status get_named(tl_table *t, const char *what, const char *path, tl_buf *out, tl_error *err) {
    tl_status status = tl_table_get(t, path, out, err);
    if (status != TL_OK && status != TL_NO_MEMORY) {
        tl_error_prefix(err, "table %s, %s: ", t->name, what);
        return status == TL_NOT_FOUND ? TL_CORRUPT : status; /* the table is there, a part of it is not */
    }
    return status;
}

/* Doubles in the arena: the old array stays until the arena goes, which costs as much again. */
static tl_live_file *grow(tl_arena *arena, tl_live_file *list, int64_t n, int64_t *cap, tl_error *err) {
    if (n < *cap) {
        return list;
    }
    int64_t more = *cap ? *cap * 2 : 64;
    tl_live_file *grown = tl_arena_array(arena, (size_t)more, sizeof *grown);
    if (!grown) {
        (void)tl_fail_memory(err, (size_t)more * sizeof *grown);
        return NULL;
    }
    if (n) {
        memcpy(grown, list, (size_t)n * sizeof *grown);
    }
    *cap = more;
    return grown;
}

static tl_status add_entry(reading *r, const tl_manifest_entry *e, tl_error *err) {
    tl_live_files *out = r->out;
    bool data = e->file.content == TL_CONTENT_DATA;
    tl_live_file **list = data ? &out->data : &out->deletes;
    int64_t *n = data ? &out->n_data : &out->n_deletes, *cap = data ? &r->cap_data : &r->cap_deletes;
    char *key;
    TL_TRY(tl_table_key(r->table, e->file.path, &key, err));
    char *kept = tl_arena_strdup(&out->arena, key);
    tl_free(key);
    tl_live_file *grown = kept ? grow(&out->arena, *list, *n, cap, err) : NULL;
    if (!grown) {
        return tl_fail_memory(err, 256);
    }
    *list = grown;
    grown[(*n)++] = (tl_live_file){e->file,   kept,       e->snapshot_id, e->sequence_number, e->file_sequence_number,
                                   e->status, r->manifest};
    return TL_OK;
}

/* A parsed manifest and the bytes that its entries point into. */
typedef struct parsed {
    tl_memo memo;
    tl_arena arena;
    tl_manifest manifest;
} parsed;

static void parsed_free(tl_memo *m) {
    parsed *p = (parsed *)m;
    tl_arena_free(&p->arena);
    tl_free(p);
}

static tl_status parse(reading *r, const tl_manifest_file *listed, tl_arena *arena, tl_manifest *out, size_t *bytes,
                       tl_error *err) {
    tl_buf avro = {0};
    tl_status status = get_named(r->table, "manifest", listed->path, &avro, err);
    if (status == TL_OK) {
        /* Entries may point into these bytes. */
        void *copy = tl_arena_copy(arena, avro.data, avro.len);
        status = copy ? tl_manifest_parse((tl_bytes){copy, avro.len}, listed, arena, out, err)
                      : tl_fail_memory(err, avro.len);
        if (status != TL_OK && status != TL_NO_MEMORY) {
            tl_error_prefix(err, "table %s, manifest %s: ", r->table->name, listed->path);
        }
    }
    *bytes = avro.len;
    tl_buf_free(&avro);
    return status;
}

static tl_status parse_to_remember(reading *r, const tl_manifest_file *listed, parsed **out, tl_error *err) {
    enum { PARSED_PER_BYTE = 16 /* about: entries and columns of packed bytes */ };
    parsed *p = tl_calloc(1, sizeof *p);
    if (!p) {
        return tl_fail_memory(err, sizeof *p);
    }
    p->memo.references = 1;
    p->memo.free = parsed_free;
    size_t bytes;
    tl_status status = parse(r, listed, &p->arena, &p->manifest, &bytes, err);
    if (status != TL_OK) {
        parsed_free(&p->memo);
        return status;
    }
    p->memo.bytes = sizeof *p + bytes * PARSED_PER_BYTE;
    *out = p;
    return TL_OK;
}

/* Manifests have names that are never given again; what their list says of them is of the same commit. */
static tl_status remembered(reading *r, const tl_manifest_file *listed, tl_manifest *out, tl_error *err) {
    const char *uuid = r->table->metadata.table_uuid;
    uint64_t a = tl_hash_bytes(listed->path, strlen(listed->path), 5), b;
    b = tl_hash_bytes(listed->path, strlen(listed->path), 6 ^ (uint64_t)listed->sequence_number);
    a ^= uuid ? tl_hash_bytes(uuid, strlen(uuid), 7) : 0;
    parsed *p = (parsed *)tl_memo_find(a, b);
    if (!p) {
        TL_TRY(parse_to_remember(r, listed, &p, err));
        tl_memo_keep(&p->memo, a, b);
    }
    r->out->held[r->out->n_held++] = &p->memo;
    *out = p->manifest;
    return TL_OK;
}

static tl_status add_manifest(reading *r, const tl_manifest_file *listed, tl_error *err) {
    if (listed->added_files == 0 && listed->existing_files == 0) {
        return TL_OK; /* only deleted entries */
    }
    tl_manifest manifest;
    size_t bytes;
    TL_TRY(r->out->held ? remembered(r, listed, &manifest, err)
                        : parse(r, listed, &r->out->arena, &manifest, &bytes, err));
    for (int64_t i = 0; i < manifest.n_entries; i++) {
        if (manifest.entries[i].status != TL_ENTRY_DELETED) {
            TL_TRY(add_entry(r, &manifest.entries[i], err));
        }
    }
    return TL_OK;
}

/* Old v1 snapshots name their manifests in the metadata itself. */
static tl_status list_of_v1(const tl_snapshot *s, tl_live_files *out, tl_error *err) {
    out->manifests = tl_arena_array(&out->arena, (size_t)s->n_manifests, sizeof *out->manifests);
    if (!out->manifests) {
        return tl_fail_memory(err, (size_t)s->n_manifests);
    }
    for (int32_t i = 0; i < s->n_manifests; i++) {
        out->manifests[i] = (tl_manifest_file){
            .path = tl_arena_strdup(&out->arena, s->manifests[i]),
            .added_snapshot_id = s->snapshot_id,
            .added_files = -1,
            .existing_files = -1,
            .deleted_files = -1,
            .added_rows = -1,
            .existing_rows = -1,
            .deleted_rows = -1,
        };
        if (!out->manifests[i].path) {
            return tl_fail_memory(err, strlen(s->manifests[i]));
        }
    }
    out->n_manifests = s->n_manifests;
    return TL_OK;
}

tl_status tl_table_manifests(tl_table *t, const tl_snapshot *s, tl_arena *arena, tl_manifest_file **out, int64_t *n,
                             tl_error *err) {
    *out = NULL;
    *n = 0;
    if (!s->manifest_list) {
        tl_live_files v1 = {.arena = *arena};
        tl_status status = list_of_v1(s, &v1, err);
        *arena = v1.arena;
        *out = v1.manifests;
        *n = v1.n_manifests;
        return status;
    }
    tl_buf avro = {0};
    tl_status status = get_named(t, "manifest list", s->manifest_list, &avro, err);
    if (status == TL_OK) {
        void *bytes = tl_arena_copy(arena, avro.data, avro.len);
        status = bytes ? tl_manifest_list_parse((tl_bytes){bytes, avro.len}, arena, out, n, err)
                       : tl_fail_memory(err, avro.len);
        if (status != TL_OK && status != TL_NO_MEMORY) {
            tl_error_prefix(err, "table %s, manifest list %s: ", t->name, s->manifest_list);
        }
    }
    tl_buf_free(&avro);
    return status;
}

static int by_sequence_and_path(const void *a, const void *b) {
    const tl_live_file *x = a, *y = b;
    if (x->sequence_number != y->sequence_number) {
        return x->sequence_number < y->sequence_number ? -1 : 1;
    }
    return strcmp(x->file.path, y->file.path);
}

static tl_status read_files(reading *r, const tl_snapshot *s, tl_error *err) {
    tl_live_files *out = r->out;
    TL_TRY(tl_table_manifests(r->table, s, &out->arena, &out->manifests, &out->n_manifests, err));
    if (r->filter && r->filter->remember && s->manifest_list) {
        out->held = tl_arena_array(&out->arena, (size_t)out->n_manifests, sizeof(tl_memo *));
        if (!out->held) {
            return tl_fail_memory(err, (size_t)out->n_manifests * sizeof(tl_memo *));
        }
    }
    for (int64_t i = 0; i < out->n_manifests; i++) {
        if (!r->filter || r->filter->wanted(r->filter->ctx, &out->manifests[i])) {
            r->manifest = (int32_t)i;
            TL_TRY(add_manifest(r, &out->manifests[i], err));
        }
    }
    if (out->n_data) {
        qsort(out->data, (size_t)out->n_data, sizeof *out->data, by_sequence_and_path);
    }
    if (out->n_deletes) {
        qsort(out->deletes, (size_t)out->n_deletes, sizeof *out->deletes, by_sequence_and_path);
    }
    return TL_OK;
}

tl_status tl_table_files(tl_table *t, const tl_snapshot *snapshot, tl_live_files *out, tl_error *err) {
    return tl_table_files_of(t, snapshot, NULL, out, err);
}

tl_status tl_table_files_of(tl_table *t, const tl_snapshot *snapshot, const tl_manifest_filter *filter,
                            tl_live_files *out, tl_error *err) {
    *out = (tl_live_files){0};
    const tl_snapshot *s = snapshot ? snapshot : tl_metadata_current(&t->metadata);
    reading r = {.table = t, .out = out, .filter = filter};
    tl_status status = s ? read_files(&r, s, err) : TL_OK;
    if (status != TL_OK) {
        tl_live_files_free(out);
    }
    return status;
}

void tl_live_files_free(tl_live_files *f) {
    for (int64_t i = 0; i < f->n_held; i++) {
        tl_memo_release(f->held[i]);
    }
    tl_arena_free(&f->arena);
    *f = (tl_live_files){0};
}
