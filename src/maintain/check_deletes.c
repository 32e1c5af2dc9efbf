/*
 * Delete files: can they be read, do they say as many rows as their manifest does, in order and each once, and are the
 * rows there? Position deletes and deletion vectors; equality deletes are only told of.
 */
#include <stdlib.h>
#include <string.h>

#include "maintain/check_internal.h"

enum { FIELD_FILE_PATH = 2147483546, FIELD_POS = 2147483545 };

typedef struct deletes_check {
    tl_checking *c;
    const tl_live_file **data; /* by key */
    size_t n_data;
    uint8_t *covered; /* per data file: how many delete files concern it, 0, 1 or more */
    const tl_live_file *file;
    tl_buf path; /* of the last row */
    int64_t position;
    const tl_live_file *target;
    int64_t rows;
    bool order_told, range_told;
} deletes_check;

static int by_key(const void *a, const void *b) {
    const tl_live_file *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static tl_status find_target(deletes_check *d, const char *path, tl_error *err) {
    char *key = NULL;
    d->target = NULL;
    tl_status status = tl_table_key(d->c->t, path, &key, NULL);
    if (status == TL_NO_MEMORY) {
        return tl_fail_memory(err, strlen(path));
    }
    if (key) {
        const tl_live_file wanted = {.key = key}, *w = &wanted;
        const tl_live_file **at =
            d->n_data ? bsearch(&w, (const void *)d->data, d->n_data, sizeof *d->data, by_key) : NULL;
        d->target = at ? *at : NULL;
        if (at) {
            uint8_t *covered = &d->covered[at - d->data];
            *covered = (uint8_t)(*covered + (*covered < 2));
        }
    }
    tl_free(key);
    if (!d->target) {
        tl_check_report(d->c, true, "dangling-deletes", d->file->key,
                        "deletes rows of %.300s, which is not in the table", path);
    } else if (d->target->sequence_number > d->file->sequence_number) {
        tl_check_report(d->c, true, "dangling-deletes", d->file->key,
                        "is older than %.300s, of which it deletes rows, and has no effect on it", path);
    }
    return TL_OK;
}

static tl_status next_row(deletes_check *d, tl_bytes path, int64_t position, tl_error *err) {
    int order = d->rows == 0 ? 1 : tl_bytes_compare(path, tl_buf_bytes(&d->path));
    if (!d->order_told && (order < 0 || (order == 0 && position <= d->position))) {
        d->order_told = true;
        tl_check_report(d->c, false, "deletes", d->file->key,
                        "rows are not in order of file and position, or repeated");
    }
    if (order != 0) {
        d->path.len = 0;
        if (tl_buf_add(&d->path, path.data, path.len) != TL_OK) {
            return tl_fail_memory(err, path.len);
        }
        char *text = tl_strndup((const char *)path.data, path.len);
        tl_status status = text ? find_target(d, text, err) : tl_fail_memory(err, path.len);
        tl_free(text);
        TL_TRY(status);
    }
    if (!d->range_told && (position < 0 || (d->target && position >= d->target->file.record_count))) {
        d->range_told = true;
        tl_check_report(d->c, false, "deletes", d->file->key, "deletes row %lld of a file that has %lld",
                        (long long)position, (long long)(d->target ? d->target->file.record_count : 0));
    }
    d->position = position;
    d->rows++;
    return TL_OK;
}

/* ---- position deletes ---- */

static tl_status read_group(deletes_check *d, tl_open_file *f, int32_t group, int32_t path_top, int32_t pos_top,
                            tl_error *err) {
    bool swapped = path_top > pos_top;
    int32_t tops[2] = {swapped ? pos_top : path_top, swapped ? path_top : pos_top};
    struct ArrowArray batch = {0};
    TL_TRY(tl_pq_reader_read(f->parquet, group, tops, 2, NULL, 0, &batch, err));
    const struct ArrowArray *paths = batch.children[swapped], *positions = batch.children[!swapped];
    tl_status status = TL_OK;
    if (paths->null_count || positions->null_count) {
        status = tl_fail(err, TL_CORRUPT, "it holds null paths or positions");
    }
    const int32_t *offsets = paths->buffers[1];
    const uint8_t *data = paths->buffers[2];
    const int64_t *pos = positions->buffers[1];
    for (int64_t i = 0; status == TL_OK && i < batch.length; i++) {
        int64_t p = paths->offset + i;
        tl_bytes path = {data + offsets[p], (size_t)(offsets[p + 1] - offsets[p])};
        status = next_row(d, path, pos[positions->offset + i], err);
    }
    batch.release(&batch);
    return status;
}

static tl_status read_positions(deletes_check *d, tl_error *err) {
    tl_open_file f;
    TL_TRY(tl_open_file_open(d->c->t, d->file, &f, err));
    const tl_field path = {.id = FIELD_FILE_PATH, .name = "file_path"}, pos = {.id = FIELD_POS, .name = "pos"};
    int32_t leaves[2] = {tl_open_file_leaf(&f, &path), tl_open_file_leaf(&f, &pos)};
    tl_status status = TL_OK;
    if (leaves[0] < 0 || leaves[1] < 0 || f.meta->schema[f.leaves[leaves[0]].element].type != TL_PQ_BYTE_ARRAY ||
        f.meta->schema[f.leaves[leaves[1]].element].type != TL_PQ_INT64) {
        status = tl_fail(err, TL_CORRUPT, "it is no position delete file: file_path and pos are missing");
    }
    for (int32_t g = 0; status == TL_OK && g < f.meta->n_row_groups; g++) {
        status = read_group(d, &f, g, tl_open_file_top(&f, &path), tl_open_file_top(&f, &pos), err);
    }
    tl_open_file_close(&f);
    return status;
}

/* ---- deletion vectors ---- */

static tl_status read_vector(deletes_check *d, tl_error *err) {
    const tl_data_file *v = &d->file->file;
    if (!v->referenced_data_file || v->content_offset < 0 || v->content_size <= 0) {
        return tl_fail(err, TL_CORRUPT, "no data file, offset or size");
    }
    tl_buf blob = {0};
    tl_arena arena = {0};
    uint64_t *positions = NULL;
    int64_t n = 0;
    tl_status status = tl_store_get_range(d->c->t->store, d->file->key, (uint64_t)v->content_offset,
                                          (uint64_t)v->content_size, &blob, err);
    if (status == TL_OK) {
        status = tl_deletion_vector_parse(tl_buf_bytes(&blob), &arena, &positions, &n, err);
    }
    for (int64_t i = 0; status == TL_OK && i < n; i++) {
        int64_t position = positions[i] > INT64_MAX ? -1 : (int64_t)positions[i];
        status = next_row(d, tl_bytes_of(v->referenced_data_file), position, err);
    }
    tl_arena_free(&arena);
    tl_buf_free(&blob);
    return status;
}

/* ---- all of them ---- */

static tl_status check_one(deletes_check *d, tl_error *err) {
    const tl_data_file *file = &d->file->file;
    if (file->content == TL_CONTENT_EQUALITY_DELETES) {
        tl_check_report(d->c, true, "deletes", d->file->key, "holds equality deletes, which are not read here");
        return TL_OK;
    }
    tl_error why = {{0}};
    d->path.len = 0;
    d->rows = 0;
    d->target = NULL;
    d->order_told = d->range_told = false;
    bool vector = strcmp(file->format, "PUFFIN") == 0 || strcmp(file->format, "puffin") == 0;
    tl_status status = vector ? read_vector(d, &why) : read_positions(d, &why);
    if (status != TL_OK) {
        return tl_check_unreadable(d->c, status, status == TL_NOT_FOUND ? NULL : "deletes", d->file->key, &why, err);
    }
    if (d->rows != file->record_count) {
        tl_check_report(d->c, false, "row-count", d->file->key, "deletes %lld rows, its manifest says %lld",
                        (long long)d->rows, (long long)file->record_count);
    }
    return TL_OK;
}

tl_status tl_check_deletes(tl_checking *c, tl_error *err) {
    if (c->files.n_deletes == 0) {
        return TL_OK;
    }
    size_t n = (size_t)c->files.n_data;
    deletes_check d = {.c = c, .n_data = n, .data = tl_alloc_array(n, sizeof *d.data), .covered = tl_calloc(n, 1)};
    tl_status status = d.data && d.covered ? TL_OK : tl_fail_memory(err, n * sizeof *d.data);
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        d.data[i] = &c->files.data[i];
    }
    if (status == TL_OK && n) {
        qsort((void *)d.data, n, sizeof *d.data, by_key);
    }
    for (int64_t i = 0; status == TL_OK && i < c->files.n_deletes; i++) {
        d.file = &c->files.deletes[i];
        status = check_one(&d, err);
    }
    for (size_t i = 0; status == TL_OK && c->t->metadata.format_version >= 3 && i < n; i++) {
        if (d.covered[i] > 1) {
            tl_check_report(c, false, "deletes", d.data[i]->key, "has more than one deletion vector");
        }
    }
    tl_free((void *)d.data);
    tl_free(d.covered);
    tl_buf_free(&d.path);
    return status;
}
