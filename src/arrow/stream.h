/*
 * Streams of record batches. Comes in: arrays in memory. Goes out: an Arrow C stream over them.
 */
#ifndef TL_ARROW_STREAM_H
#define TL_ARROW_STREAM_H

#include "base/base.h"

/* A stream over `n` struct arrays of one schema, in order. The schema is copied; the arrays are moved in, on failure
 * they are released. `arrays` itself stays the caller's. Errors: TL_NO_MEMORY. */
tl_status tl_stream_of_arrays(const struct ArrowSchema *schema, struct ArrowArray *arrays, int64_t n,
                              struct ArrowArrayStream *out, tl_error *err) TL_CHECKED;

#endif
