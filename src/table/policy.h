/*
 * Policy `upsert` (spec 12, DESIGN 6): appends delete the rows that they replace. Comes in: a table's properties. Goes
 * out: whether they go together, and the versions of the formats that they ask for.
 *
 * A table is of Timelake's format 0.3.0 until the policy is on. From then on, and for good, it is 0.4.0, so that
 * programs that do not know deletes refuse it. Deletion vectors need Iceberg's format version 3; a table that has it
 * keeps it, and takes no new position delete files.
 */
#ifndef TL_TABLE_POLICY_H
#define TL_TABLE_POLICY_H

#include "iceberg/metadata.h"

#define TL_FORMAT_PLAIN "0.3.0"
#define TL_FORMAT_UPSERT "0.4.0"

/* Can a table with these properties have the policy that they name? TL_INVALID says what is missing. */
tl_status tl_policy_check(const tl_metadata *m, tl_error *err) TL_CHECKED;

/* The Iceberg format version that the properties ask for: 3 for deletion vectors, else the one there is (at least 2).
 */
int32_t tl_policy_iceberg_version(const tl_metadata *m);

/* Are the deletes of this table deletion vectors? */
bool tl_policy_vectors(const tl_metadata *m);

#endif
