/* Fields inside of columns: DuckDB finds them by name, Iceberg by id. See sql_text.h. */
#include <string.h>

#include "duckdb/sql_text.h"

enum { MAX_DEPTH = 64 };

/* Whether a field of `now` has another name in `old`, or its name another field, at the same place. */
static bool renamed(const tl_type *now, const tl_type *old, int depth) {
    if (depth > MAX_DEPTH || now->id != old->id) {
        return false;
    }
    for (int32_t i = 0; i < now->n_fields; i++) {
        for (int32_t k = 0; k < old->n_fields; k++) {
            const tl_field *a = &now->fields[i], *b = &old->fields[k];
            bool same_id = a->id == b->id, same_name = strcmp(a->name, b->name) == 0;
            if (same_id != same_name || (same_id && renamed(&a->type, &b->type, depth + 1))) {
                return true;
            }
        }
    }
    return false;
}

tl_status tl_scan_nested_check(const tl_table *table, const tl_schema *schema, tl_error *err) {
    for (int32_t s = 0; s < table->metadata.n_schemas; s++) {
        for (int32_t i = 0; i < schema->n_fields; i++) {
            const tl_field *now = &schema->fields[i];
            const tl_field *old = tl_schema_field_by_id(&table->metadata.schemas[s], now->id);
            if (old && tl_type_is_nested(now->type.id) && renamed(&now->type, &old->type, 0)) {
                return tl_fail(
                    err, TL_UNSUPPORTED,
                    "table %s: a field inside of column \"%s\" was renamed or replaced, which sql cannot follow",
                    table->name, now->name);
            }
        }
    }
    return TL_OK;
}
