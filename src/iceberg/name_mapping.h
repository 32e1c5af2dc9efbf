/*
 * Field ids for data files that carry none, as when files of another origin were added to a table: the table property
 * `schema.name-mapping.default` (Iceberg's rules of column projection). Comes in: names of a file's top-level columns.
 * Goes out: their field ids.
 */
#ifndef TL_ICEBERG_NAME_MAPPING_H
#define TL_ICEBERG_NAME_MAPPING_H

#include "iceberg/metadata.h"

#define TL_NAME_MAPPING "schema.name-mapping.default"

/* ids[i] of names[i]; -1 = the mapping does not know it, or there is none. TL_CORRUPT when the property is no mapping.
 */
tl_status tl_name_mapping_ids(const tl_metadata *m, const char *const *names, int32_t n, int32_t *ids,
                              tl_error *err) TL_CHECKED;

#endif
