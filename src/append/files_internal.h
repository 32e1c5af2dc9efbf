/*
 * Files: encoded row groups go to Parquet files in the store, one open file per partition. Comes in: waves of planned
 * row groups. Goes out: the staged files with their statistics. Columns of row groups are encoded in parallel; whoever
 * completes a row group writes what is ready of its partition, in order, so that bytes do not depend on threads.
 */
#ifndef TL_APPEND_FILES_INTERNAL_H
#define TL_APPEND_FILES_INTERNAL_H

#include "append/append.h"
#include "append/encode_internal.h"
#include "append/layout_internal.h"
#include "base/lock.h"

typedef struct tl_staged_list {
    tl_data_file *files;      /* texts and statistics in the stager's arena */
    char **keys;              /* in the arena too */
    uint64_t *order;          /* partition number in the append << 32 | number within it */
    tl_series_start **starts; /* series numbers of the ranker, until the files are taken */
    int64_t *n_starts;
    int32_t n, cap;
} tl_staged_list;

struct tl_open_file;

/* Deletes an object, best effort. */
static inline void tl_remove_quietly(tl_store *store, const char *key) {
    tl_status ignored = tl_store_remove(store, key, NULL);
    (void)ignored;
}

typedef struct tl_stager {
    tl_table *table; /* borrowed */
    const tl_encoder *encoder;
    tl_pool *pool;
    tl_pq_sorting_column *sorting;
    int32_t n_sorting;
    int64_t target_bytes; /* a file is closed once it has as many */
    bool sorted;          /* files carry the table's sort order */
    tl_lock lock;         /* of the list, the arena and the environment's random numbers */
    tl_staged_list list;
    tl_arena arena;
    int64_t rows, bytes;
    uint32_t parts_done;          /* partitions of earlier waves */
    struct tl_open_file *carried; /* the last partition's file, when the next wave may go on with it */
    tl_encode_scratch *scratch;   /* per worker; goes back to the workspace */
    tl_append_workspace *workspace;
    unsigned workers;
} tl_stager;

/* `encoder` may be filled later, before the first wave. */
tl_status tl_stager_init(tl_stager *s, tl_table *table, const tl_encoder *encoder, tl_pool *pool,
                         tl_append_workspace *workspace, tl_error *err) TL_CHECKED;
/* Drops what is unfinished; with `remove` also deletes the finished files from the store. */
void tl_stager_free(tl_stager *s, bool remove);

/* Encodes and writes one wave. `more`: the last partition may go on in the next wave, whose first part it then is. */
tl_status tl_stager_wave(tl_stager *s, const tl_sources *sources, const tl_sorted *sorted, const tl_layout *layout,
                         bool more, tl_error *err) TL_CHECKED;

/* Writes a row group that is encoded already into the file at hand; all such row groups are of one partition. */
tl_status tl_stager_add_group(tl_stager *s, int32_t value, tl_pq_chunk *chunks, tl_error *err) TL_CHECKED;

/* Moves the files, in partition order, into `out` (files, keys, starts, rows, bytes, arena). No wave may follow.
 * `ranks` turns series numbers into places in the key order, which are the rows of the newest; NULL for a plain table.
 */
tl_status tl_stager_take(tl_stager *s, const uint32_t *ranks, tl_staged *out, tl_error *err) TL_CHECKED;

#endif
