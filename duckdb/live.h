/*
 * Whether rows of a scan are to be seen: one bit test a row. Comes in: a plan, and for each row its file's place in the
 * plan and its number in the file. Goes out: a flag for each row. Pure; for many threads at once.
 */
#ifndef TL_DUCKDB_LIVE_H
#define TL_DUCKDB_LIVE_H

#include "read/read.h"

/* False when a row is not in the file as the table knows it (`out` is then not to be used). */
bool tl_live_rows(const tl_plan *plan, const uint64_t *files, const int64_t *rows, size_t n, bool *out);

/* Whether `n` values of 8 bytes are one value. The C library compares with the widest registers there are. */
bool tl_live_all_equal(const void *values, size_t n);

/* The error for that. */
#define TL_LIVE_MISFIT "timelake: a data file has other rows than the table's metadata says"

#endif
