/* Key values given as text, as on a command line. */
#ifndef TL_API_KEY_TEXT_H
#define TL_API_KEY_TEXT_H

#include "base/mem.h"
#include "iceberg/types.h"

/* The value that `text` stands for in a column, as Iceberg's single-value bytes in `arena`: by the rules of text input
 * (append/align.h). TL_INVALID when it does not parse. Primitive types only. */
tl_status tl_key_from_text(const tl_field *field, const char *text, tl_arena *arena, tl_bytes *out,
                           tl_error *err) TL_CHECKED;

#endif
