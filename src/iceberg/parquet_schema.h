/*
 * From Iceberg's schema to the schemas of the files and streams around it. Comes in: a tl_schema. Goes out: Parquet
 * schema elements with field ids, or an Arrow schema.
 */
#ifndef TL_ICEBERG_PARQUET_SCHEMA_H
#define TL_ICEBERG_PARQUET_SCHEMA_H

#include "iceberg/types.h"
#include "parquet/format.h"

/* Parquet elements, depth first, [0] the root "table"; in `arena`, names by reference to the schema. Lists and maps in
 * the three-level form (list.element, key_value.key/value), ids on column, element, key and value; decimals of up to 9
 * digits INT32, up to 18 INT64, else FIXED of the least length; times and timestamps in microseconds, isAdjustedToUTC
 * true for timestamptz alone; uuid FIXED[16]. TL_UNSUPPORTED: a struct without fields, which Parquet cannot hold. */
tl_status tl_iceberg_parquet_schema(const tl_schema *schema, tl_arena *arena, tl_pq_schema_element **out, int32_t *n,
                                    tl_error *err) TL_CHECKED;

/* The physical type that a primitive type has in those files. */
tl_pq_type tl_iceberg_physical_type(const tl_type *type);

/* The canonical Arrow schema: a struct with a child per column; each field carries its id as metadata
 * PARQUET:field_id. int "i", long "l", decimal "d:p,s" (128 bits), date "tdD", time "ttu", timestamp "tsu:",
 * timestamptz "tsu:UTC", string "u", binary "z", uuid "w:16" with the extension name arrow.uuid, fixed "w:n", list "+l"
 * (child "element"), map "+m" (child "entries"), struct "+s". Caller calls out->release. */
tl_status tl_iceberg_arrow_schema(const tl_schema *schema, struct ArrowSchema *out, tl_error *err) TL_CHECKED;
/* The same for one column. */
tl_status tl_iceberg_arrow_field(const tl_field *field, struct ArrowSchema *out, tl_error *err) TL_CHECKED;

#endif
