/*
 * Iceberg's types, schemas, partition specs and sort orders (v2 spec), as plain C. Everything lives in the arena of
 * the metadata it belongs to, or in one given by the caller.
 */
#ifndef TL_ICEBERG_TYPES_H
#define TL_ICEBERG_TYPES_H

#include "base/buf.h"
#include "base/mem.h"

typedef enum tl_type_id {
    TL_TYPE_BOOLEAN = 1,
    TL_TYPE_INT,
    TL_TYPE_LONG,
    TL_TYPE_FLOAT,
    TL_TYPE_DOUBLE,
    TL_TYPE_DECIMAL, /* precision 1..38, scale 0..precision */
    TL_TYPE_DATE,
    TL_TYPE_TIME,        /* microseconds of the day */
    TL_TYPE_TIMESTAMP,   /* microseconds, no zone */
    TL_TYPE_TIMESTAMPTZ, /* microseconds since 1970 UTC */
    TL_TYPE_STRING,
    TL_TYPE_UUID,
    TL_TYPE_FIXED, /* length */
    TL_TYPE_BINARY,
    TL_TYPE_STRUCT, /* fields */
    TL_TYPE_LIST,   /* fields[0] the element */
    TL_TYPE_MAP     /* fields[0] key, fields[1] value */
} tl_type_id;

typedef struct tl_field tl_field;

typedef struct tl_type {
    tl_type_id id;
    int32_t precision, scale; /* DECIMAL */
    int32_t length;           /* FIXED */
    int32_t n_fields;         /* STRUCT, LIST, MAP */
    tl_field *fields;
} tl_type;

struct tl_field {
    int32_t id;
    bool required;
    const char *name; /* "element", "key", "value" in lists and maps */
    const char *doc;  /* NULL = none */
    tl_type type;
    const char *extra_json; /* other JSON keys of the field, an object; NULL = none */
};

typedef struct tl_schema {
    int32_t schema_id;
    int32_t n_fields;
    tl_field *fields;
    const char *extra_json; /* other JSON keys (identifier-field-ids ...), an object; NULL = none */
} tl_schema;

typedef enum tl_transform {
    TL_TRANSFORM_IDENTITY,
    TL_TRANSFORM_YEAR,
    TL_TRANSFORM_MONTH,
    TL_TRANSFORM_DAY,
    TL_TRANSFORM_HOUR,
    TL_TRANSFORM_BUCKET,   /* param */
    TL_TRANSFORM_TRUNCATE, /* param */
    TL_TRANSFORM_VOID,
    TL_TRANSFORM_UNKNOWN /* read, not written: `text` */
} tl_transform;

typedef struct tl_partition_field {
    int32_t source_id, field_id;
    const char *name;
    tl_transform transform;
    int32_t param;
    const char *text; /* as written, e.g. "bucket[16]"; NULL: made from transform and param */
} tl_partition_field;

typedef struct tl_partition_spec {
    int32_t spec_id;
    int32_t n_fields;
    tl_partition_field *fields;
} tl_partition_spec;

typedef struct tl_sort_field {
    int32_t source_id;
    const char *transform; /* "identity" ... */
    bool descending, nulls_first;
} tl_sort_field;

typedef struct tl_sort_order {
    int32_t order_id;
    int32_t n_fields;
    tl_sort_field *fields;
} tl_sort_order;

/* Types nest at most so deep: a struct in a list in a column is 3. Deeper ones are refused wherever schemas come in. */
#define TL_TYPE_MAX_DEPTH 24

/* A top-level field by name or id; NULL when there is none. Names are case-sensitive. */
const tl_field *tl_schema_field(const tl_schema *schema, const char *name);
const tl_field *tl_schema_field_by_id(const tl_schema *schema, int32_t id);
int32_t tl_schema_index(const tl_schema *schema, const char *name); /* -1 = none */

/* The field of that id at any depth, elements, keys and values included; NULL when there is none. */
const tl_field *tl_schema_find(const tl_schema *schema, int32_t id);
int32_t tl_schema_max_id(const tl_schema *schema); /* 0 when there is no field */

bool tl_type_is_nested(tl_type_id id);
bool tl_type_equal(const tl_type *a, const tl_type *b); /* ids and names of nested fields included */

/* Iceberg's name of a type: "timestamptz", "decimal(10, 2)", "fixed[16]", "list<int>", "map<string, int>",
 * "struct<...>". */
tl_status tl_type_print(const tl_type *type, tl_buf *out) TL_CHECKED;

/* The inverse for primitive types ("decimal(10,2)" too); false for anything else. */
bool tl_type_parse(tl_bytes text, tl_type *out);

/* Bytes that a decimal of `precision` digits needs as two's complement: 1..16. */
int32_t tl_decimal_bytes(int32_t precision);

/* "day", "bucket[16]" ... and back; unknown names give TL_TRANSFORM_UNKNOWN. */
tl_status tl_transform_print(tl_transform transform, int32_t param, tl_buf *out) TL_CHECKED;
tl_transform tl_transform_parse(tl_bytes text, int32_t *param);

/* Deep copies into an arena; NULL/TL_NO_MEMORY when memory ends. */
tl_status tl_schema_copy(const tl_schema *in, tl_arena *arena, tl_schema *out) TL_CHECKED;
tl_status tl_partition_spec_copy(const tl_partition_spec *in, tl_arena *arena, tl_partition_spec *out) TL_CHECKED;

/* One line of JSON as in metadata and manifest headers: {"schema-id":0,"type":"struct","fields":[...]}.
 * Errors: TL_INVALID for names that are not UTF-8, TL_CORRUPT and TL_UNSUPPORTED (naming the column) when reading. */
tl_status tl_schema_write_json(const tl_schema *schema, tl_buf *out, tl_error *err) TL_CHECKED;
tl_status tl_schema_parse_json(tl_bytes json, tl_arena *arena, tl_schema *out, tl_error *err) TL_CHECKED;

/* Values of the time transforms: floor division, so -1 us is day -1 (spec a.3). False when it does not fit int32. */
bool tl_transform_time(tl_transform transform, int64_t us, int32_t *out);
/* The first microsecond of partition value `v`; false when it does not fit int64. */
bool tl_transform_time_start(tl_transform transform, int32_t v, int64_t *out_us);
/* "2026-01-01-23", "2026-01-01", "2026-01", "2026"; outside years 0-9999 the plain integer (spec a.1). */
void tl_transform_time_label(tl_transform transform, int32_t v, char out[32]);

#endif
