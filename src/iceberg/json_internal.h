/*
 * Reading JSON with yyjson inside this room: documents whose memory comes from base/mem.h, and typed look-ups whose
 * errors name what was looked at ("snapshot has no "timestamp-ms""). A key whose value is null counts as absent.
 */
#ifndef TL_ICEBERG_JSON_INTERNAL_H
#define TL_ICEBERG_JSON_INTERNAL_H

#include <yyjson.h>

#include "base/mem.h"
#include "iceberg/types.h"

extern const yyjson_alc tl_json_alc;

/* Caller frees with yyjson_doc_free. `text` is not changed. */
tl_status tl_json_read(tl_bytes text, const char *what, yyjson_doc **out, tl_error *err) TL_CHECKED;

tl_status tl_json_object(yyjson_val *val, const char *what, tl_error *err) TL_CHECKED;
yyjson_val *tl_json_get(yyjson_val *obj, const char *key);
/* `otherwise` NULL: the key must be there. */
tl_status tl_json_i64(yyjson_val *obj, const char *what, const char *key, const int64_t *otherwise, int64_t *out,
                      tl_error *err) TL_CHECKED;
tl_status tl_json_i32(yyjson_val *obj, const char *what, const char *key, const int32_t *otherwise, int32_t *out,
                      tl_error *err) TL_CHECKED;
/* A copy in the arena, NULL when absent and not required. NUL characters inside are refused. */
tl_status tl_json_text(yyjson_val *obj, const char *what, const char *key, bool required, tl_arena *arena,
                       const char **out, tl_error *err) TL_CHECKED;
tl_status tl_json_text_of(yyjson_val *val, const char *what, const char *key, tl_arena *arena, const char **out,
                          tl_error *err) TL_CHECKED;
tl_status tl_json_array(yyjson_val *obj, const char *what, const char *key, bool required, yyjson_val **out, int32_t *n,
                        tl_error *err) TL_CHECKED;

/* The members of `obj` whose keys are not in `known`, as the text of an object; NULL when there are none. */
tl_status tl_json_extra(yyjson_val *obj, const char *const *known, size_t n_known, tl_arena *arena, const char **out,
                        tl_error *err) TL_CHECKED;

/* ---- schemas and specs in JSON (schema_json.c) ---- */
tl_status tl_schema_from_json(yyjson_val *val, tl_arena *arena, tl_schema *out, tl_error *err) TL_CHECKED;
/* `fields` is the list of partition fields; v1 lists without field ids get 1000, 1001 ... */
tl_status tl_spec_fields_from_json(yyjson_val *fields, tl_arena *arena, tl_partition_spec *out,
                                   tl_error *err) TL_CHECKED;
tl_status tl_spec_fields_write_json(const tl_partition_spec *spec, tl_buf *out, tl_error *err) TL_CHECKED;

/* ---- inflating (inflate.c) ---- */
typedef enum tl_inflate_format { TL_INFLATE_GZIP, TL_INFLATE_RAW } tl_inflate_format;
/* Appends at most `max` bytes to `out`; more is TL_UNSUPPORTED, damaged input TL_CORRUPT. Several gzip members are one
 * text. */
tl_status tl_inflate(tl_inflate_format format, tl_bytes in, size_t max, const char *what, tl_buf *out,
                     tl_error *err) TL_CHECKED;

#endif
