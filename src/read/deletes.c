/*
 * Delete files of other writers (and of policy upsert): position deletes and deletion vectors become hidden rows.
 * Equality deletes are refused: never ignored. A position delete applies to a data file of its partition whose data
 * sequence number is not greater than its own (Iceberg v2 spec, scan planning).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memo.h"
#include "iceberg/deletes.h"
#include "read/cache.h"
#include "read/read_internal.h"

tl_status tl_plan_hide(tl_plan_file *f, int64_t row, tl_error *err) {
    if (row < 0 || row >= f->file->file.record_count) {
        return tl_fail(err, TL_CORRUPT, "row %lld of data file %s, which has %lld rows", (long long)row,
                       f->file->file.path, (long long)f->file->file.record_count);
    }
    if (!f->hidden) {
        size_t bytes = (size_t)(f->file->file.record_count + 7) / 8 + 8; /* 8 more: readers look at whole words */
        f->hidden = tl_calloc(bytes, 1);
        if (!f->hidden) {
            return tl_fail_memory(err, bytes);
        }
    }
    if (!tl_bit(f->hidden, row)) {
        tl_bit_set(f->hidden, row);
        f->n_hidden++;
    }
    return TL_OK;
}

static bool same_partition(const tl_data_file *a, const tl_data_file *b) {
    if (a->spec_id != b->spec_id || a->n_partition != b->n_partition) {
        return false;
    }
    for (int32_t i = 0; i < a->n_partition; i++) {
        bool null_a = !a->partition[i].value.data, null_b = !b->partition[i].value.data;
        if (null_a != null_b || (!null_a && !tl_bytes_equal(a->partition[i].value, b->partition[i].value))) {
            return false;
        }
    }
    return true;
}

/* Files of the scan by store key, sorted. */
static int by_key(const void *a, const void *b) {
    const tl_plan_file *const *x = a, *const *y = b;
    return strcmp((*x)->file->key, (*y)->file->key);
}

static tl_plan_file *find(tl_plan_file **sorted, size_t n, const char *key) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(sorted[mid]->file->key, key);
        if (c == 0) {
            return sorted[mid];
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

/* The rows that a delete file of one data file has, as the process remembers them. */
typedef struct deleted_rows {
    tl_memo memo;
    int64_t n;
    int64_t rows[];
} deleted_rows;

typedef struct deleter {
    tl_plan *plan;
    bool remember;
    tl_file_id table;
    tl_plan_file **sorted;
    const tl_live_file *deletes;
    tl_buf rows;        /* those of the delete file at hand that were hidden, to be remembered */
    tl_plan_file *only; /* the data file that they are all of; NULL = nothing is noted */
    /* the last path looked up: rows of one file stand together */
    tl_buf last_path;
    tl_plan_file *last;
    tl_key_scratch scratch; /* one codec for all files */
} deleter;

static tl_status target(deleter *d, tl_bytes path, tl_plan_file **out, tl_error *err) {
    if (d->last_path.len == path.len && path.len && memcmp(d->last_path.data, path.data, path.len) == 0) {
        *out = d->last;
        return TL_OK;
    }
    *out = NULL;
    char *text = tl_strndup((const char *)path.data, path.len), *key = NULL;
    if (!text) {
        return tl_fail_memory(err, path.len);
    }
    tl_status status = tl_table_key(d->plan->table, text, &key, err);
    tl_free(text);
    if (status == TL_INVALID) { /* a file outside of the lake is none of ours */
        status = TL_OK;
    } else if (status == TL_OK) {
        tl_plan_file *f = find(d->sorted, (size_t)d->plan->n_scan, key);
        if (f && f->file->sequence_number <= d->deletes->sequence_number &&
            (same_partition(&f->file->file, &d->deletes->file) || d->deletes->file.n_partition == 0)) {
            *out = f;
        }
    }
    tl_free(key);
    d->last_path.len = 0;
    if (status == TL_OK && tl_buf_add(&d->last_path, path.data, path.len) != TL_OK) {
        status = tl_fail_memory(err, path.len);
    }
    d->last = *out;
    return status;
}

static tl_status hide_row(deleter *d, tl_plan_file *f, int64_t row, tl_error *err) {
    TL_TRY(tl_plan_hide(f, row, err));
    if (d->only && (d->only != f || tl_buf_add(&d->rows, &row, sizeof row) != TL_OK)) {
        d->only = NULL;
    }
    return TL_OK;
}

static tl_status hide_rows(deleter *d, const struct ArrowArray *batch, tl_error *err) {
    const struct ArrowArray *paths = batch->children[0], *positions = batch->children[1];
    const int32_t *offsets = paths->buffers[1];
    const uint8_t *data = paths->buffers[2];
    const int64_t *pos = positions->buffers[1];
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t p = paths->offset + i;
        tl_plan_file *f;
        TL_TRY(target(d, (tl_bytes){data + offsets[p], (size_t)(offsets[p + 1] - offsets[p])}, &f, err));
        if (f) {
            TL_TRY(hide_row(d, f, pos[positions->offset + i], err));
        }
    }
    return TL_OK;
}

/* A delete file of one data file that is not among those of the scan need not be opened. */
static tl_status may_apply(deleter *d, bool *out, tl_error *err) {
    tl_arena arena = {0};
    tl_plan_file *f = NULL;
    const char *path;
    *out = true;
    tl_status status = tl_delete_target(&d->deletes->file, &arena, &path, err);
    if (status == TL_OK && path) {
        status = target(d, tl_bytes_of(path), &f, err);
        *out = f != NULL;
    }
    tl_arena_free(&arena);
    return status;
}

static tl_status apply_position_file(deleter *d, tl_error *err) {
    tl_open_file f;
    bool any;
    TL_TRY(may_apply(d, &any, err));
    if (!any) {
        return TL_OK;
    }
    TL_TRY(tl_open_file_with(d->plan->table, d->deletes, &d->scratch, &f, err));
    const tl_field path = {.id = TL_FIELD_DELETE_PATH, .name = "file_path"},
                   pos = {.id = TL_FIELD_DELETE_POS, .name = "pos"};
    int32_t tops[2] = {tl_open_file_top(&f, &path), tl_open_file_top(&f, &pos)};
    int32_t leaves[2] = {tl_open_file_leaf(&f, &path), tl_open_file_leaf(&f, &pos)};
    tl_status status = TL_OK;
    if (leaves[0] < 0 || leaves[1] < 0 || f.meta->schema[f.tops[tops[0]]].type != TL_PQ_BYTE_ARRAY ||
        f.meta->schema[f.tops[tops[1]]].type != TL_PQ_INT64) {
        status = tl_fail(err, TL_CORRUPT, "it is no position delete file: file_path and pos are missing");
    }
    bool swapped = status == TL_OK && tops[0] > tops[1];
    int32_t in_order[2] = {swapped ? tops[1] : tops[0], swapped ? tops[0] : tops[1]};
    for (int32_t g = 0; status == TL_OK && g < f.meta->n_row_groups; g++) {
        struct ArrowArray batch = {0};
        status = tl_pq_reader_read(f.parquet, g, in_order, 2, NULL, 0, &batch, err);
        if (status == TL_OK && (batch.children[0]->null_count || batch.children[1]->null_count)) {
            status = tl_fail(err, TL_CORRUPT, "it holds null paths or positions");
        }
        if (status == TL_OK) {
            if (swapped) {
                struct ArrowArray *first = batch.children[0];
                batch.children[0] = batch.children[1];
                batch.children[1] = first;
            }
            status = hide_rows(d, &batch, err);
        }
        if (batch.release) {
            batch.release(&batch);
        }
    }
    if (status != TL_OK) {
        (void)tl_open_file_failed(&f, status, err);
    }
    tl_open_file_close(&f);
    return status;
}

static tl_status apply_vector(deleter *d, tl_error *err) {
    const tl_data_file *v = &d->deletes->file;
    tl_plan_file *f = NULL;
    if (!v->referenced_data_file || v->content_offset < 0 || v->content_size <= 0) {
        return tl_fail(err, TL_CORRUPT, "deletion vector %s: no data file, offset or size", v->path);
    }
    TL_TRY(target(d, tl_bytes_of(v->referenced_data_file), &f, err));
    if (!f) {
        return TL_OK;
    }
    tl_buf blob = {0};
    tl_arena arena = {0};
    uint64_t *positions = NULL;
    int64_t n = 0;
    tl_status status = tl_store_get_range(d->plan->table->store, d->deletes->key, (uint64_t)v->content_offset,
                                          (uint64_t)v->content_size, &blob, err);
    if (status == TL_OK) {
        status = tl_deletion_vector_parse(tl_buf_bytes(&blob), &arena, &positions, &n, err);
    }
    for (int64_t i = 0; i < n && status == TL_OK; i++) {
        status = positions[i] > INT64_MAX ? tl_fail(err, TL_CORRUPT, "a position beyond 2^63")
                                          : hide_row(d, f, (int64_t)positions[i], err);
    }
    if (status != TL_OK) {
        tl_error_prefix(err, "deletion vector %s: ", v->path);
    }
    tl_arena_free(&arena);
    tl_buf_free(&blob);
    return status;
}

static tl_status apply_read(deleter *d, tl_error *err) {
    const char *format = d->deletes->file.format;
    return strcmp(format, "PUFFIN") == 0 || strcmp(format, "puffin") == 0 ? apply_vector(d, err)
                                                                          : apply_position_file(d, err);
}

/* ---- remembering ---- */

static void rows_free(tl_memo *m) {
    tl_free(m);
}

/* Best effort. */
static void keep_rows(deleter *d, tl_file_id id) {
    deleted_rows *p = tl_alloc(sizeof *p + d->rows.len);
    if (p) {
        *p = (deleted_rows){.memo = {.references = 1, .bytes = sizeof *p + d->rows.len, .free = rows_free},
                            .n = (int64_t)(d->rows.len / sizeof *p->rows)};
        if (d->rows.len) {
            memcpy(p->rows, d->rows.data, d->rows.len);
        }
        tl_memo_keep(&p->memo, id.a, id.b);
        tl_memo_release(&p->memo);
    }
}

/* A delete file of the data file `f` alone. */
static tl_status apply_to(deleter *d, tl_plan_file *f, tl_error *err) {
    tl_file_id file = tl_older_file_id(d->deletes), data = tl_older_file_id(f->file);
    tl_file_id id = {tl_hash_mix(file.a ^ d->table.a, data.a ^ (uint64_t)d->deletes->file.content_offset),
                     tl_hash_mix(file.b ^ d->table.b, data.b)};
    deleted_rows *p = (deleted_rows *)tl_memo_find(id.a, id.b);
    tl_status status = TL_OK;
    if (!p) {
        d->only = f;
        d->rows.len = 0;
        status = apply_read(d, err);
        if (status == TL_OK && d->only) {
            keep_rows(d, id);
        }
        d->only = NULL;
        return status;
    }
    for (int64_t i = 0; i < p->n && status == TL_OK; i++) {
        status = tl_plan_hide(f, p->rows[i], err);
    }
    tl_memo_release(&p->memo);
    return status;
}

static tl_status apply_one(deleter *d, tl_error *err) {
    const tl_data_file *file = &d->deletes->file;
    if (file->content == TL_CONTENT_EQUALITY_DELETES) {
        return tl_fail(err, TL_UNSUPPORTED,
                       "the table has equality deletes (%s), which are not read here: rewrite its data files with the "
                       "engine that wrote them",
                       file->path);
    }
    tl_arena arena = {0};
    tl_plan_file *f = NULL;
    const char *path = NULL;
    tl_status status = d->remember ? tl_delete_target(file, &arena, &path, err) : TL_OK;
    if (status == TL_OK && path) {
        status = target(d, tl_bytes_of(path), &f, err);
    }
    if (status == TL_OK && (f || !path)) {
        status = f ? apply_to(d, f, err) : apply_read(d, err);
    }
    tl_arena_free(&arena);
    return status;
}

tl_status tl_plan_apply_deletes(tl_plan *plan, bool remember, tl_error *err) {
    if (plan->files.n_deletes == 0) {
        return TL_OK;
    }
    size_t n = (size_t)plan->n_scan;
    deleter d = {.plan = plan,
                 .remember = remember && plan->table->contract.time >= 0,
                 .sorted = tl_alloc_array(n, sizeof(tl_plan_file *))};
    if (!d.sorted) {
        return tl_fail_memory(err, n * sizeof(tl_plan_file *));
    }
    for (size_t i = 0; i < n; i++) {
        d.sorted[i] = &plan->scan[i];
    }
    qsort(d.sorted, n, sizeof(tl_plan_file *), by_key);
    if (d.remember) {
        d.table = tl_older_table_id(plan->table, tl_metadata_schema(&plan->table->metadata));
    }
    tl_status status = TL_OK;
    for (int64_t i = 0; i < plan->files.n_deletes && status == TL_OK; i++) {
        d.deletes = &plan->files.deletes[i];
        d.last_path.len = 0; /* what applies depends on the delete file */
        status = apply_one(&d, err);
    }
    for (int64_t i = 0; i < plan->n_scan; i++) {
        plan->scan[i].n_deleted = plan->scan[i].n_hidden;
    }
    tl_free(d.sorted);
    tl_key_scratch_free(&d.scratch);
    tl_buf_free(&d.last_path);
    tl_buf_free(&d.rows);
    return status;
}
