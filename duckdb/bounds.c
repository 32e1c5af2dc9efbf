/* Time bounds; see bounds.h. */
#include "duckdb/bounds.h"

bool tl_bounds_time(const tl_schema *schema, const tl_contract *contract, const tl_live_file *f, int64_t *min,
                    int64_t *max) {
    if (contract->time < 0 || contract->time >= schema->n_fields) {
        return false;
    }
    const tl_field *field = &schema->fields[contract->time];
    for (int32_t i = 0; i < f->file.n_columns; i++) {
        const tl_column_stats *s = &f->file.columns[i];
        if (s->field_id == field->id) {
            return s->lower.data && s->upper.data && tl_value_int64(&field->type, s->lower, min) &&
                   tl_value_int64(&field->type, s->upper, max);
        }
    }
    return false;
}
