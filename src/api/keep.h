/* Streams that keep their lake open until they are released. */
#ifndef TL_API_KEEP_H
#define TL_API_KEEP_H

#include "api/lake.h"

/* Wraps `stream` in place. On failure it is released. */
tl_status tl_lake_keep(tl_lake *lake, struct ArrowArrayStream *stream, tl_error *err) TL_CHECKED;

#endif
