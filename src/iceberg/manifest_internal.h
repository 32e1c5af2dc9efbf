/* What the writers of manifests and manifest lists share inside this room. */
#ifndef TL_ICEBERG_MANIFEST_INTERNAL_H
#define TL_ICEBERG_MANIFEST_INTERNAL_H

#include "iceberg/avro_internal.h"
#include "iceberg/manifest.h"

/* The type of a partition field's values: the source column's for identity, truncate and void, date for day, else int.
 * TL_UNSUPPORTED for transforms not known here, TL_INVALID when the source column is not in the schema. */
tl_status tl_partition_type(const tl_partition_field *field, const tl_schema *schema, tl_type *out,
                            tl_error *err) TL_CHECKED;

#endif
