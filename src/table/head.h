/*
 * The head: one object from which a reader has the table's metadata and live files in a single request (spec b.1).
 * Comes in: a table and its files. Goes out: the object's bytes, and back. A cache: whoever reads it must know that its
 * version is the newest; missing, stale or broken heads are harmless.
 *
 * Written in the codec "arrow" with the sections columns, files and metadata, as Timelake 0.7.0 reads it; the optional
 * sections last_values and footers are not written. Written only for tables with up to TL_HEAD_FILES live files and up
 * to TL_HEAD_BYTES, so that a commit does not grow dearer with the table; larger tables have none.
 */
#ifndef TL_TABLE_HEAD_H
#define TL_TABLE_HEAD_H

#include "table/table.h"

#define TL_HEAD_FILES 256
#define TL_HEAD_BYTES (1 << 20)

/* TL_UNSUPPORTED when the table is too large for one, or has what a head cannot say (delete files, partitions other
 * than one 32-bit value). */
tl_status tl_head_write(const tl_table *t, const tl_live_files *files, tl_buf *out, tl_error *err) TL_CHECKED;

typedef struct tl_head {
    int64_t version;     /* of the table */
    tl_bytes metadata;   /* JSON of that version */
    tl_live_file *files; /* data files; `key` is NULL */
    int64_t n_files;
    tl_arena arena;
} tl_head;

/* The version in a head's first bytes; false = not a head that is known here. */
bool tl_head_version(tl_bytes head, int64_t *version);
/* TL_CORRUPT or TL_UNSUPPORTED (another codec or layout): take it for missing. Caller frees. */
tl_status tl_head_read(tl_bytes head, tl_head *out, tl_error *err) TL_CHECKED;
void tl_head_free(tl_head *head);

#endif
