/* The text of --schema: "name:type,..." as an Arrow schema. */
#ifndef TL_CLI_SCHEMA_TEXT_H
#define TL_CLI_SCHEMA_TEXT_H

#include "cli/cli.h"

/* Columns parted by commas, each name:type; a name with other characters stands in "double quotes"; "not null" behind a
 * type makes it required. Types: spec/table-format.md g.1 and synonyms, decimal(p,s), fixed[n], list<T>, map<K,V>,
 * struct<name:type,...>. TL_INVALID says where the text is wrong. Caller releases. */
tl_status tl_schema_from_text(const char *text, struct ArrowSchema *out, tl_error *err) TL_CHECKED;

#endif
