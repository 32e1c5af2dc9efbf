/* Time bounds of data files, as their metadata tells them. Pure. */
#ifndef TL_DUCKDB_BOUNDS_H
#define TL_DUCKDB_BOUNDS_H

#include "read/read.h"

/* The least and the greatest time of a file's rows, microseconds since 1970; false = not known. */
bool tl_bounds_time(const tl_schema *schema, const tl_contract *contract, const tl_live_file *f, int64_t *min,
                    int64_t *max);

#endif
