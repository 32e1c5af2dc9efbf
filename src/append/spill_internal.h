/*
 * Spilling: a sorted group goes to a local temporary file as blocks of gathered rows, and comes back block by block
 * when the groups are merged. The files have no name (they are unlinked at once), so nothing is left after a crash or a
 * kill.
 */
#ifndef TL_APPEND_SPILL_INTERNAL_H
#define TL_APPEND_SPILL_INTERNAL_H

#include "append/sort_internal.h"

/* One sorted run on disk. */
typedef struct tl_spill_run {
    int fd;        /* -1 = none */
    uint64_t size; /* bytes written */
    uint64_t read; /* bytes read */
    int64_t n_rows;
} tl_spill_run;

/* Consecutive rows of one (partition, series) in a block. */
typedef struct tl_spill_span {
    int32_t partition;
    uint32_t series;
    uint32_t n;
} tl_spill_span;

/* A block in memory: views into `bytes`. */
typedef struct tl_spill_block {
    uint8_t *bytes;
    uint32_t n_rows, n_spans;
    const tl_spill_span *spans;
    const int64_t *times;
    tl_column *columns;
    tl_arena arena; /* the descriptors */
} tl_spill_block;

/* `directory` NULL = TMPDIR, else /tmp. */
tl_status tl_spill_run_create(const char *directory, tl_spill_run *out, tl_error *err) TL_CHECKED;
void tl_spill_run_close(tl_spill_run *run);

/* Appends sorted rows to a run; may be called several times with what follows. Blocks hold about `block_rows` rows and
 * are made in parallel on `pool`. */
tl_status tl_spill_run_write(tl_spill_run *run, const tl_sources *sources, int32_t n_columns, const tl_sorted *sorted,
                             uint32_t block_rows, tl_pool *pool, tl_error *err) TL_CHECKED;

/* The next block; *has is false at the end.  */
tl_status tl_spill_run_next(tl_spill_run *run, const tl_schema *schema, tl_spill_block *out, bool *has,
                            tl_error *err) TL_CHECKED;
void tl_spill_block_free(tl_spill_block *block);

#endif
