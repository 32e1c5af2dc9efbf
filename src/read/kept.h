/*
 * What is known about older copies, kept beside the table as metadata/timelake-older (kept.c): a cold reader then
 * begins where a writer left off. Comes in: a table. Goes out: partitions in the process's cache.
 *
 * Only a cache, never needed and never trusted: an object that is missing, cut short, damaged, of another table or of
 * another build's hash is taken for none; partitions in it are matched by their files like those found in the process,
 * so a stale one is extended or left aside.
 */
#ifndef TL_READ_KEPT_H
#define TL_READ_KEPT_H

#include "read/cache.h"

/* Puts the partitions of the table's object into the cache. */
void tl_older_load(const tl_table *table, tl_file_id id);

/* The object's form (for tests): parts of one table as bytes, and back. */
tl_status tl_older_print(tl_known_part *const *parts, int64_t n, tl_file_id table, int64_t sequence, tl_buf *out,
                         tl_error *err) TL_CHECKED;
/* Calls take(ctx, part) for each part, which takes it over; false = not such an object, or not whole: nothing was
 * called then. */
bool tl_older_parse(tl_bytes bytes, tl_file_id table, void (*take)(void *ctx, tl_known_part *part), void *ctx);

#endif
