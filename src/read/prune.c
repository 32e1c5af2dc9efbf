/* Which files can matter: by bounds, counts of nulls and NaN, and partition values. Unknown means "it can". */
#include <string.h>

#include "read/read_internal.h"

static const tl_column_stats *stats_of(const tl_live_file *f, int32_t field_id) {
    for (int32_t i = 0; i < f->file.n_columns; i++) {
        if (f->file.columns[i].field_id == field_id) {
            return &f->file.columns[i];
        }
    }
    return NULL;
}

static bool is_float(const tl_type *type) {
    return type->id == TL_TYPE_FLOAT || type->id == TL_TYPE_DOUBLE;
}

static bool may_hold_null(const tl_column_stats *s) {
    return !s || s->nulls != 0;
}
static bool may_hold_nan(const tl_type *type, const tl_column_stats *s) {
    return is_float(type) && (!s || s->nans != 0);
}

/* A zero of a float column is stored as -0.0 in lower and may be 0.0 in upper bounds, whatever the file holds. */
static bool is_nan(tl_bytes v) {
    if (v.len == 4) {
        float f;
        memcpy(&f, v.data, 4);
        return f != f;
    }
    double d = 0;
    if (v.len == 8) {
        memcpy(&d, v.data, 8);
    }
    return d != d;
}

static tl_status below(const tl_type *type, tl_bytes a, tl_bytes b, bool *out, tl_error *err) {
    int order = 0;
    TL_TRY(tl_value_compare(type, a, b, &order, err));
    *out = order < 0;
    return TL_OK;
}

bool tl_file_time_bounds(const tl_schema *schema, const tl_contract *contract, const tl_live_file *f, int64_t *min,
                         int64_t *max) {
    if (contract->time < 0) {
        return false;
    }
    const tl_field *field = &schema->fields[contract->time];
    const tl_column_stats *s = stats_of(f, field->id);
    return s && s->lower.data && s->upper.data && tl_value_int64(&field->type, s->lower, min) &&
           tl_value_int64(&field->type, s->upper, max);
}

/* The span of times that the file's partition value stands for. */
static bool partition_times(const tl_table *table, const tl_live_file *f, int64_t *from, int64_t *to) {
    const tl_partition_spec *spec = tl_metadata_spec_by_id(&table->metadata, f->file.spec_id);
    const tl_contract *c = &table->contract;
    if (!spec || spec->n_fields != 1 || f->file.n_partition != 1 || c->time < 0 || !f->file.partition[0].value.data ||
        f->file.partition[0].value.len != 4 ||
        spec->fields[0].source_id != tl_metadata_schema(&table->metadata)->fields[c->time].id) {
        return false;
    }
    int32_t v = tl_load_i32(f->file.partition[0].value.data);
    return v < INT32_MAX && tl_transform_time_start(spec->fields[0].transform, v, from) &&
           tl_transform_time_start(spec->fields[0].transform, v + 1, to);
}

static tl_status key_may_match(const tl_schema *schema, const tl_live_file *f, const tl_key_filter *filter, bool *out,
                               tl_error *err) {
    const tl_field *field = &schema->fields[filter->column];
    const tl_column_stats *s = stats_of(f, field->id);
    *out = true;
    if (!s) {
        return TL_OK;
    }
    if (!filter->value.data) {
        *out = may_hold_null(s);
        return TL_OK;
    }
    if (is_float(&field->type)) {
        if (is_nan(filter->value)) {
            *out = may_hold_nan(&field->type, s);
            return TL_OK;
        }
    }
    bool outside = false;
    if (s->lower.data) {
        TL_TRY(below(&field->type, filter->value, s->lower, &outside, err));
    }
    if (!outside && s->upper.data) {
        TL_TRY(below(&field->type, s->upper, filter->value, &outside, err));
    }
    *out = !outside;
    return TL_OK;
}

tl_status tl_file_may_match(const tl_table *table, const tl_schema *schema, const tl_live_file *f,
                            const tl_plan_options *options, bool *out, tl_error *err) {
    *out = f->file.record_count > 0;
    int64_t min, max, from, to;
    if (options->has_time && *out) {
        if (tl_file_time_bounds(schema, &table->contract, f, &min, &max)) {
            *out = max >= options->from_us && min < options->to_us;
        }
        if (*out && partition_times(table, f, &from, &to)) {
            *out = to > options->from_us && from < options->to_us;
        }
    }
    for (int32_t i = 0; i < options->n_keys && *out; i++) {
        TL_TRY(key_may_match(schema, f, &options->keys[i], out, err));
    }
    return TL_OK;
}

static tl_status column_may_share(const tl_field *field, const tl_live_file *a, const tl_live_file *b, bool *out,
                                  tl_error *err) {
    const tl_column_stats *x = stats_of(a, field->id), *y = stats_of(b, field->id);
    *out = true;
    if (!x || !y || (may_hold_null(x) && may_hold_null(y)) ||
        (may_hold_nan(&field->type, x) && may_hold_nan(&field->type, y)) || !x->lower.data || !x->upper.data ||
        !y->lower.data || !y->upper.data) {
        return TL_OK;
    }
    bool apart = false;
    TL_TRY(below(&field->type, x->upper, y->lower, &apart, err));
    if (!apart) {
        TL_TRY(below(&field->type, y->upper, x->lower, &apart, err));
    }
    *out = !apart;
    return TL_OK;
}

tl_status tl_files_may_share(const tl_schema *schema, const tl_contract *contract, const tl_live_file *a,
                             const tl_live_file *b, bool *out, tl_error *err) {
    *out = true;
    if (contract->time >= 0) {
        TL_TRY(column_may_share(&schema->fields[contract->time], a, b, out, err));
    }
    for (int32_t c = 0; c < contract->n_series && *out; c++) {
        TL_TRY(column_may_share(&schema->fields[contract->series[c]], a, b, out, err));
    }
    return TL_OK;
}

bool tl_file_key_bounds(const tl_field *field, const tl_live_file *f, tl_bytes *lower, tl_bytes *upper) {
    const tl_column_stats *s = stats_of(f, field->id);
    if (!s || may_hold_null(s) || may_hold_nan(&field->type, s) || !s->lower.data || !s->upper.data) {
        return false;
    }
    *lower = s->lower;
    *upper = s->upper;
    return true;
}
