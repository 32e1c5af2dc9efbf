/*
 * Arrow schemas as types. Comes in: an ArrowSchema of a caller, format strings unchecked. Goes out: a checked tree
 * without a pointer into the schema (spec: Arrow C data interface, format strings).
 */
#ifndef TL_ARROW_TYPE_H
#define TL_ARROW_TYPE_H

#include "base/buf.h"
#include "base/mem.h"

typedef enum tl_arrow_id {
    TL_ARROW_NULL,
    TL_ARROW_BOOL,
    TL_ARROW_INT8,
    TL_ARROW_INT16,
    TL_ARROW_INT32,
    TL_ARROW_INT64,
    TL_ARROW_UINT8,
    TL_ARROW_UINT16,
    TL_ARROW_UINT32,
    TL_ARROW_UINT64,
    TL_ARROW_FLOAT16,
    TL_ARROW_FLOAT32,
    TL_ARROW_FLOAT64,
    TL_ARROW_DECIMAL32,
    TL_ARROW_DECIMAL64,
    TL_ARROW_DECIMAL128,
    TL_ARROW_DECIMAL256,
    TL_ARROW_DATE32, /* days */
    TL_ARROW_DATE64, /* milliseconds, whole days */
    TL_ARROW_TIME32, /* s, ms */
    TL_ARROW_TIME64, /* us, ns */
    TL_ARROW_TIMESTAMP,
    TL_ARROW_DURATION,
    TL_ARROW_INTERVAL,
    TL_ARROW_STRING,
    TL_ARROW_LARGE_STRING,
    TL_ARROW_STRING_VIEW,
    TL_ARROW_BINARY,
    TL_ARROW_LARGE_BINARY,
    TL_ARROW_BINARY_VIEW,
    TL_ARROW_FIXED_BINARY,
    TL_ARROW_LIST,
    TL_ARROW_LARGE_LIST,
    TL_ARROW_LIST_VIEW,
    TL_ARROW_LARGE_LIST_VIEW,
    TL_ARROW_FIXED_LIST,
    TL_ARROW_STRUCT,
    TL_ARROW_MAP,        /* children[0]: the entries, a struct of key and value */
    TL_ARROW_UNION,      /* known, never read: children are not imported */
    TL_ARROW_DICTIONARY, /* children[0]: the values; index: the type of the indices */
    TL_ARROW_RUN_END     /* children[0]: run ends, children[1]: values */
} tl_arrow_id;

enum { TL_ARROW_MAX_DEPTH = 64 };

typedef struct tl_arrow_type {
    tl_arrow_id id;
    const char *name; /* of the field; "" when the schema gave none */
    bool nullable;
    int32_t width;            /* bytes a value of fixed-width types; 0 for bool and all others */
    int32_t precision, scale; /* decimals */
    int64_t per_second;       /* time, timestamp, duration: 1, 1000, 1000000 or 1000000000 */
    const char *zone;         /* timestamp: NULL = naive; any spelling is the same instant */
    int64_t list_size;        /* FIXED_LIST */
    tl_arrow_id index;        /* DICTIONARY */
    int64_t n_children;
    struct tl_arrow_type *children;
} tl_arrow_type;

/* Imports a schema into `arena`. TL_INVALID: unknown format strings, missing children, deeper than TL_ARROW_MAX_DEPTH.
 * The schema is neither kept nor released. */
tl_status tl_arrow_type_import(const struct ArrowSchema *schema, tl_arena *arena, tl_arrow_type *out,
                               tl_error *err) TL_CHECKED;

/* "int64", "timestamp[us, UTC]", "decimal128(10, 2)", "list<string>", "dictionary<int8, string>"; cut when `size` ends.
 */
void tl_arrow_type_print(const tl_arrow_type *type, char *out, size_t size);

#endif
