/* Delete files and delete manifests of a commit; see deletes.h. */
#include "commit/deletes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"
#include "iceberg/deletes.h"
#include "table/policy.h"

void tl_delete_set_free(tl_delete_set *set) {
    if (set->release) {
        set->release(set->owner);
    }
    *set = (tl_delete_set){0};
}

bool tl_snapshot_has_one_copy(const tl_snapshot *s) {
    const char *text = tl_snapshot_summary(s, TL_ONE_COPY_SUMMARY);
    return text && strcmp(text, "true") == 0;
}

/* ---- a commit at work ---- */

typedef struct deleting {
    tl_table *base;
    const tl_delete_set *set;
    const tl_staged *staged;
    const char *const *gone;
    int64_t n_gone;
    int64_t snapshot_id, sequence;
    tl_key_list *keys;
    tl_arena *arena;
    const char **targets; /* sorted: data files whose delete files leave */
    int64_t n_targets;
    tl_manifest_entry *added; /* one per file of the set */
    bool *leaves;             /* by live delete file */
    bool *touched;            /* by manifest */
    tl_delete_change *out;
} deleting;

/* What is needed of the data file that rows are deleted of. */
static const tl_data_file *data_file(const deleting *d, const tl_row_deletes *r, const char **key) {
    *key = r->file ? r->file->key : d->staged->keys[r->staged];
    return r->file ? &r->file->file : &d->staged->files[r->staged];
}

static tl_row_bits bits_of(const tl_row_deletes *r, const tl_data_file *f) {
    return (tl_row_bits){r->bits, f->record_count, r->n_set};
}

static void count_added(deleting *d, int64_t rows, bool vector) {
    d->out->added_files++;
    d->out->added_rows += rows;
    d->out->added_vectors += vector;
}

/* The entry of a delete file; path, size and place in it are filled in by the caller. */
static tl_manifest_entry entry_for(const deleting *d, const tl_data_file *f, const tl_row_deletes *r) {
    return (tl_manifest_entry){
        .status = TL_ENTRY_ADDED,
        .snapshot_id = d->snapshot_id,
        .sequence_number = -1,
        .file_sequence_number = -1,
        .file = {.content = TL_CONTENT_POSITION_DELETES,
                 .spec_id = f->spec_id,
                 .partition = f->partition,
                 .n_partition = f->n_partition,
                 .record_count = r->n_set,
                 .sort_order_id = -1,
                 .referenced_data_file = f->path,
                 .content_offset = -1,
                 .content_size = -1},
    };
}

/* ---- position delete files ---- */

/* Bounds of the path: equal and not cut, from which readers see which data file it is for. Deletion vectors have them
 * too: pyiceberg, and polars with it, do not look at field 143. */
static tl_status position_stats(deleting *d, const tl_data_file *f, const tl_row_deletes *r, tl_data_file *out,
                                tl_error *err) {
    int64_t first = 0, last = f->record_count - 1;
    while (!tl_bit(r->bits, first)) {
        first++;
    }
    while (!tl_bit(r->bits, last)) {
        last--;
    }
    tl_column_stats *columns = tl_arena_array(d->arena, 2, sizeof *columns);
    uint8_t *bounds = tl_arena_alloc(d->arena, 16);
    if (!columns || !bounds) {
        return tl_fail_memory(err, 2 * sizeof *columns);
    }
    tl_store_u64(bounds, (uint64_t)first);
    tl_store_u64(bounds + 8, (uint64_t)last);
    tl_bytes path = tl_bytes_of(f->path);
    columns[0] = (tl_column_stats){TL_FIELD_DELETE_POS, -1, r->n_set, 0, -1, {bounds, 8}, {bounds + 8, 8}};
    columns[1] = (tl_column_stats){TL_FIELD_DELETE_PATH, -1, r->n_set, 0, -1, path, path};
    out->columns = columns;
    out->n_columns = 2;
    return TL_OK;
}

/* Beside the data file: "<folder>/<uuid>-deletes.parquet". */
static tl_status write_positions(deleting *d, int64_t i, tl_error *err) {
    const tl_row_deletes *r = &d->set->files[i];
    const char *data_key;
    const tl_data_file *f = data_file(d, r, &data_key);
    tl_row_bits rows = bits_of(r, f);
    tl_manifest_entry *e = &d->added[i];
    *e = entry_for(d, f, r);
    e->file.format = "PARQUET";
    TL_TRY(position_stats(d, f, r, &e->file, err));
    char uuid[TL_UUID_TEXT];
    tl_uuid7(d->base->store->env, uuid);
    const char *slash = strrchr(data_key, '/');
    char *key = tl_format("%.*s%s-deletes.parquet", slash ? (int)(slash + 1 - data_key) : 0, data_key, uuid);
    if (!key) {
        return tl_fail_memory(err, strlen(data_key));
    }
    tl_buf parquet = {0};
    tl_status status = tl_position_deletes_write(f->path, &rows, &parquet, err);
    if (status == TL_OK) {
        e->file.file_size = (int64_t)parquet.len;
        status = tl_commit_put_at(d->base, key, tl_buf_bytes(&parquet), d->keys, d->arena, &e->file.path, err);
    }
    count_added(d, r->n_set, false);
    tl_buf_free(&parquet);
    tl_free(key);
    return status;
}

/* ---- deletion vectors: one Puffin file per commit ---- */

static tl_status put_vectors(deleting *d, tl_buf *puffin, const tl_puffin_vector *vectors, tl_error *err) {
    char uuid[TL_UUID_TEXT];
    tl_uuid7(d->base->store->env, uuid);
    char *key = tl_format("%s/data/%s-deletes.puffin", d->base->prefix, uuid);
    const char *uri = NULL;
    if (!key) {
        return tl_fail_memory(err, strlen(d->base->prefix));
    }
    tl_status status = tl_puffin_end(vectors, d->set->n, puffin, err);
    if (status == TL_OK) {
        status = tl_commit_put_at(d->base, key, tl_buf_bytes(puffin), d->keys, d->arena, &uri, err);
    }
    for (int64_t i = 0; i < d->set->n && status == TL_OK; i++) {
        d->added[i].file.path = uri;
        d->added[i].file.file_size = (int64_t)puffin->len;
    }
    tl_free(key);
    return status;
}

static tl_status write_vectors(deleting *d, tl_error *err) {
    tl_puffin_vector *vectors = tl_arena_array(d->arena, (size_t)d->set->n, sizeof *vectors);
    tl_buf puffin = {0};
    tl_status status = vectors ? tl_puffin_begin(&puffin, err) : tl_fail_memory(err, (size_t)d->set->n);
    for (int64_t i = 0; i < d->set->n && status == TL_OK; i++) {
        const tl_row_deletes *r = &d->set->files[i];
        const char *key;
        const tl_data_file *f = data_file(d, r, &key);
        tl_row_bits rows = bits_of(r, f);
        status = tl_puffin_add(f->path, &rows, &puffin, &vectors[i], err);
        if (status == TL_OK) {
            d->added[i] = entry_for(d, f, r);
            d->added[i].file.format = "PUFFIN";
            d->added[i].file.content_offset = vectors[i].offset;
            d->added[i].file.content_size = vectors[i].length;
            status = position_stats(d, f, r, &d->added[i].file, err);
            count_added(d, r->n_set, true);
        }
    }
    if (status == TL_OK) {
        status = put_vectors(d, &puffin, vectors, err);
    }
    tl_buf_free(&puffin);
    return status;
}

static tl_status write_files(deleting *d, tl_error *err) {
    d->added = tl_arena_array(d->arena, (size_t)d->set->n, sizeof *d->added);
    if (!d->added) {
        return tl_fail_memory(err, (size_t)d->set->n * sizeof *d->added);
    }
    if (d->set->n == 0) {
        return TL_OK;
    }
    if (tl_policy_vectors(&d->base->metadata)) {
        return write_vectors(d, err);
    }
    for (int64_t i = 0; i < d->set->n; i++) {
        TL_TRY(write_positions(d, i, err));
    }
    return TL_OK;
}

/* ---- delete files that leave ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tl_status gather_targets(deleting *d, tl_error *err) {
    size_t most = (size_t)(d->set->n + d->n_gone);
    d->targets = tl_arena_array(d->arena, most, sizeof *d->targets);
    if (!d->targets) {
        return tl_fail_memory(err, most * sizeof *d->targets);
    }
    for (int64_t i = 0; i < d->set->n; i++) {
        if (d->set->files[i].file) {
            d->targets[d->n_targets++] = d->set->files[i].file->file.path;
        }
    }
    for (int64_t i = 0; i < d->n_gone; i++) {
        d->targets[d->n_targets++] = d->gone[i];
    }
    if (d->n_targets) {
        qsort((void *)(uintptr_t)d->targets, (size_t)d->n_targets, sizeof *d->targets, by_text);
    }
    return TL_OK;
}

static tl_status find_leaving(deleting *d, tl_error *err) {
    const tl_live_files *live = d->set->live;
    d->leaves = tl_arena_array(d->arena, (size_t)live->n_deletes, sizeof *d->leaves);
    d->touched = tl_arena_array(d->arena, (size_t)live->n_manifests, sizeof *d->touched);
    if (!d->leaves || !d->touched) {
        return tl_fail_memory(err, (size_t)(live->n_deletes + live->n_manifests));
    }
    for (int64_t i = 0; i < live->n_manifests; i++) {
        d->touched[i] = false;
    }
    for (int64_t i = 0; i < live->n_deletes; i++) {
        const tl_live_file *f = &live->deletes[i];
        const char *target;
        TL_TRY(tl_delete_target(&f->file, d->arena, &target, err));
        d->leaves[i] =
            target && d->n_targets &&
            bsearch(&target, (const void *)d->targets, (size_t)d->n_targets, sizeof *d->targets, by_text) != NULL;
        if (d->leaves[i]) {
            bool vector = f->file.content_offset >= 0;
            d->touched[f->manifest] = true;
            d->out->removed_files++;
            d->out->removed_rows += f->file.record_count;
            d->out->removed_vectors += vector;
        }
    }
    return TL_OK;
}

/* ---- manifests ---- */

/* Entries of one partition spec: the new ones, and those of manifests that hold a leaving one. */
static tl_status gather_entries(const deleting *d, int32_t spec_id, tl_manifest *m, tl_error *err) {
    const tl_live_files *live = d->set->live;
    size_t most = (size_t)(d->set->n + live->n_deletes);
    m->entries = tl_arena_array(d->arena, most, sizeof *m->entries);
    if (!m->entries) {
        return tl_fail_memory(err, most * sizeof *m->entries);
    }
    for (int64_t i = 0; i < d->set->n; i++) {
        if (d->added[i].file.spec_id == spec_id) {
            m->entries[m->n_entries++] = d->added[i];
        }
    }
    for (int64_t i = 0; i < live->n_deletes; i++) {
        const tl_live_file *f = &live->deletes[i];
        if (d->touched[f->manifest] && f->file.spec_id == spec_id) {
            m->entries[m->n_entries++] = (tl_manifest_entry){
                .status = d->leaves[i] ? TL_ENTRY_DELETED : TL_ENTRY_EXISTING,
                .snapshot_id = d->leaves[i] ? d->snapshot_id : f->snapshot_id,
                .sequence_number = f->sequence_number,
                .file_sequence_number = f->file_sequence_number,
                .file = f->file,
            };
        }
    }
    return TL_OK;
}

static tl_status put_manifest(deleting *d, int32_t spec_id, tl_error *err) {
    const tl_metadata *meta = &d->base->metadata;
    tl_manifest m = {.format_version = meta->format_version,
                     .content = TL_CONTENT_POSITION_DELETES,
                     .schema_id = meta->current_schema_id,
                     .spec_id = spec_id};
    TL_TRY(gather_entries(d, spec_id, &m, err));
    if (m.n_entries == 0) {
        return TL_OK;
    }
    tl_manifest_file *listed = &d->out->manifests[d->out->n_manifests];
    TL_TRY(
        tl_commit_put_manifest(d->base, &m, "deletes-m", d->snapshot_id, d->sequence, d->keys, d->arena, listed, err));
    d->out->n_manifests++;
    return TL_OK;
}

static tl_status put_manifests(deleting *d, tl_error *err) {
    const tl_metadata *meta = &d->base->metadata;
    const tl_live_files *live = d->set->live;
    d->out->manifests = tl_arena_array(d->arena, (size_t)meta->n_specs, sizeof *d->out->manifests);
    d->out->replaced = tl_arena_array(d->arena, (size_t)live->n_manifests, sizeof *d->out->replaced);
    if (!d->out->manifests || !d->out->replaced) {
        return tl_fail_memory(err, (size_t)live->n_manifests * sizeof *d->out->replaced);
    }
    for (int64_t i = 0; i < live->n_manifests; i++) {
        if (d->touched[i]) {
            d->out->replaced[d->out->n_replaced++] = tl_arena_strdup(d->arena, live->manifests[i].path);
            if (!d->out->replaced[d->out->n_replaced - 1]) {
                return tl_fail_memory(err, strlen(live->manifests[i].path));
            }
        }
    }
    for (int32_t i = 0; i < meta->n_specs; i++) {
        TL_TRY(put_manifest(d, meta->specs[i].spec_id, err));
    }
    return TL_OK;
}

tl_status tl_commit_write_deletes(tl_table *base, const tl_delete_set *set, const tl_staged *staged,
                                  const char *const *gone, int64_t n_gone, int64_t snapshot_id, int64_t sequence,
                                  tl_key_list *keys, tl_arena *arena, tl_delete_change *out, tl_error *err) {
    *out = (tl_delete_change){0};
    if (set->n == 0 && n_gone == 0) {
        return TL_OK;
    }
    deleting d = {.base = base,
                  .set = set,
                  .staged = staged,
                  .gone = gone,
                  .n_gone = n_gone,
                  .snapshot_id = snapshot_id,
                  .sequence = sequence,
                  .keys = keys,
                  .arena = arena,
                  .out = out};
    TL_TRY(write_files(&d, err));
    TL_TRY(gather_targets(&d, err));
    TL_TRY(find_leaving(&d, err));
    return put_manifests(&d, err);
}
