/*
 * What is known about older copies, kept in the process (cache.c). Comes in: partitions, each a set of files and which
 * of their rows have a later copy among them. Goes out: the same, to whoever has a set that begins with these files.
 *
 * Parquet files never change, so what was found for a set of files holds for ever: a partition is known by its files
 * (path, size, rows, sequence number), not by a snapshot, and cannot be stale. Thread-safe; what is handed out is
 * immutable. The least recently used go when the cache is full.
 */
#ifndef TL_READ_CACHE_H
#define TL_READ_CACHE_H

#include "read/groups.h"

/* A file, or a set of files: sums of these do not depend on an order. */
typedef struct tl_file_id {
    uint64_t a, b;
} tl_file_id;

/* Which table, by its uuid and key columns. */
tl_file_id tl_older_table_id(const tl_table *table, const tl_schema *schema);
tl_file_id tl_older_file_id(const tl_live_file *f);

typedef struct tl_known_file {
    tl_file_id id;
    tl_bitmap *older; /* NULL = no row has a later copy */
} tl_known_file;

typedef struct tl_known_part {
    _Atomic int references;
    tl_file_id table;
    uint64_t partition;
    tl_file_id sum; /* of the files' ids */
    int64_t n;
    size_t bytes;
    tl_known_file files[]; /* by id */
} tl_known_part;

/* Room for n files, not filled yet; NULL when memory ends. */
tl_known_part *tl_known_part_create(tl_file_id table, uint64_t partition, int64_t n);
void tl_known_part_seal(tl_known_part *p); /* sorts, sums up: before it is given away */
tl_known_part *tl_known_part_retain(tl_known_part *p);
void tl_known_part_release(tl_known_part *p);                                   /* NULL is fine */
const tl_known_file *tl_known_part_find(const tl_known_part *p, tl_file_id id); /* NULL = not among its files */

/* The partition as it was put last, retained; NULL = not there. */
tl_known_part *tl_older_cache_get(tl_file_id table, uint64_t partition);
/* All partitions of a table that are there, each retained; caller frees the array. */
tl_status tl_older_cache_list(tl_file_id table, tl_known_part ***out, int64_t *n);
/* True the first time it is asked about a table (since tl_read_forget, or since the table fell out of the cache). */
bool tl_older_cache_first(tl_file_id table);
/* Retains `p`. Does nothing when memory ends: it is only a cache. */
void tl_older_cache_put(tl_known_part *p);

#endif
