/*
 * JSON text out. Comes in: C strings. Goes out: escaped JSON in a buffer. (Reading is yyjson's work; see
 * json_internal.h.)
 */
#ifndef TL_ICEBERG_JSON_H
#define TL_ICEBERG_JSON_H

#include "base/buf.h"

/* A quoted and escaped string. TL_INVALID when it is not UTF-8. */
tl_status tl_json_put_string(tl_buf *out, const char *text, tl_error *err) TL_CHECKED;

/* The members of `object_json` ("{...}" as kept in extra_json; NULL = none), each with a comma in front. */
tl_status tl_json_put_extra(tl_buf *out, const char *object_json, tl_error *err) TL_CHECKED;

/* yyjson's allocator over base/mem.h. */
extern const struct yyjson_alc tl_json_alc;

#endif
