/*
 * Fuzzing of manifests, manifest lists and deletion vectors. Comes in: any bytes as each of the three. Must hold: no
 * crash, no hang, no memory beyond the limit; a list that is accepted can be written and read again.
 *
 * With libFuzzer (cmake -DTL_FUZZ=ON -DTL_SANITIZE=ON, CC=clang): manifest_fuzz CORPUS_DIR
 * Otherwise a replay driver: manifest_fuzz FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iceberg/manifest.h"

/* Entries take more memory than file: an entry of 60 bytes becomes 350, a statistic of 2 bytes 80. */
#define MEMORY_FLOOR ((size_t)1 << 20)
#define MEMORY_FACTOR 1200 /* a block compressed 10 : 1 and more */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static bool is_writable(const tl_manifest_file *f) {
    return f->added_snapshot_id >= 0 && f->added_files >= 0 && f->existing_files >= 0 && f->deleted_files >= 0 &&
           f->added_rows >= 0 && f->existing_rows >= 0 && f->deleted_rows >= 0;
}

static void read_list(tl_bytes bytes) {
    tl_arena arena = {0};
    tl_manifest_file *list, *back;
    int64_t n, n_back;
    if (tl_manifest_list_parse(bytes, &arena, &list, &n, NULL) == TL_OK) {
        bool all = true;
        for (int64_t i = 0; i < n; i++) {
            all = all && is_writable(&list[i]);
        }
        tl_buf out = {0};
        if (all) {
            must(tl_manifest_list_write(list, n, 1, -1, 2, &out, NULL) == TL_OK, "a list is read but not written");
            must(tl_manifest_list_parse(tl_buf_bytes(&out), &arena, &back, &n_back, NULL) == TL_OK, "nor read again");
            must(n == n_back, "a list is read again with another length");
        }
        tl_buf_free(&out);
    }
    tl_arena_free(&arena);
}

static void read_manifest(tl_bytes bytes) {
    static const tl_manifest_file listed = {
        .path = "listed", .spec_id = 1, .sequence_number = 3, .added_snapshot_id = 7};
    for (int with_list = 0; with_list < 2; with_list++) {
        tl_arena arena = {0};
        tl_manifest m;
        if (tl_manifest_parse(bytes, with_list ? &listed : NULL, &arena, &m, NULL) == TL_OK) {
            for (int64_t i = 0; i < m.n_entries; i++) {
                const tl_data_file *f = &m.entries[i].file;
                must(f->path && f->format && f->record_count >= 0 && f->file_size >= 0, "an entry is not whole");
                must(!with_list || m.entries[i].sequence_number >= 0 || m.entries[i].sequence_number < -1,
                     "an entry has no sequence number");
            }
        }
        must(arena.total <= MEMORY_FLOOR + MEMORY_FACTOR * bytes.len, "a manifest takes too much memory");
        tl_arena_free(&arena);
    }
}

static void read_deletion_vector(tl_bytes bytes) {
    tl_arena arena = {0};
    uint64_t *positions;
    int64_t n;
    if (tl_deletion_vector_parse(bytes, &arena, &positions, &n, NULL) == TL_OK) {
        for (int64_t i = 1; i < n; i++) {
            must(positions[i - 1] < positions[i], "positions are not ascending");
        }
    }
    tl_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that a read behind the end is seen */
    if (!copy) {
        return 0;
    }
    if (size) {
        memcpy(copy, data, size);
    }
    tl_bytes bytes = {copy, size};
    read_manifest(bytes);
    read_list(bytes);
    read_deletion_vector(bytes);
    free(copy);
    return 0;
}

#include "replay.h"
