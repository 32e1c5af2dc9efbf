/* From shapes to what is read; see narrow.h. */
#include "cli/narrow.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"

void tl_narrow_clear(tl_narrow *n) {
    tl_arena_free(&n->arena);
    *n = (tl_narrow){0};
}

/* DuckDB's names are without case: -1 when none or several columns are called so. */
static int32_t column_of(const tl_schema *schema, const char *name) {
    int32_t found = -1;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (strcasecmp(schema->fields[i].name, name) == 0) {
            if (found >= 0) {
                return -1;
            }
            found = i;
        }
    }
    return found;
}

static bool is_renamed(const tl_shape *shape, const char *column) {
    for (int i = 0; i < shape->n_renamed; i++) {
        if (strcasecmp(shape->renamed[i].text, column) == 0) {
            return true;
        }
    }
    return false;
}

/* Required, so that no null sorts before or behind everything. */
static bool is_time(const tl_table *table, const char *name) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    int32_t column = column_of(schema, name);
    return column >= 0 && column == table->contract.time && schema->fields[column].required;
}

/* The names are the series key, in any order. */
static bool is_series_key(const tl_table *table, const tl_shape *shape) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    const tl_contract *c = &table->contract;
    if (shape->n_keys != c->n_series) {
        return false;
    }
    for (int32_t k = 0; k < c->n_series; k++) {
        int same = 0;
        for (int i = 0; i < shape->n_keys; i++) {
            same += column_of(schema, shape->keys[i].text) == c->series[k];
        }
        if (same != 1) {
            return false;
        }
    }
    return true;
}

/* Spellings that mean the same here and to DuckDB in a UTC session: YYYY-MM-DD[ hh:mm[:ss[.ffffff]][Z|+hh[:mm]]]. */
static bool parse_time(const char *text, int64_t *us) {
    static const char day[] = "dddd-dd-dd";
    size_t len = strlen(text), digits = 0;
    for (size_t i = 0; i < sizeof day - 1; i++) {
        if (day[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != day[i]) {
            return false;
        }
    }
    const char *point = strchr(text, '.');
    digits = point ? strspn(point + 1, "0123456789") : 0;
    bool zoned;
    return (len == 10 || (len >= 16 && (text[10] == ' ' || text[10] == 'T') && text[13] == ':')) && digits <= 6 &&
           tl_parse_timestamp(tl_bytes_of(text), us, &zoned) == TL_PARSE_OK;
}

static void add_time(const tl_shape_term *term, tl_narrow *out) {
    int64_t us;
    if (!parse_time(term->value.text, &us) || us <= INT64_MIN + 1 || us >= INT64_MAX - 1) {
        return;
    }
    int64_t from = term->op[0] == '<' ? INT64_MIN : us, to = term->op[0] == '>' ? INT64_MAX : us + 1;
    out->from_us = out->has_time && out->from_us > from ? out->from_us : from;
    out->to_us = out->has_time && out->to_us < to ? out->to_us : to;
    out->has_time = true;
}

static tl_status add_key(const tl_shape_term *term, int32_t column, tl_narrow *out, tl_error *err) {
    for (int32_t i = 0; i < out->n_keys; i++) {
        if (out->keys[i].column == column) {
            return TL_OK;
        }
    }
    size_t len = strlen(term->value.text);
    const void *value = tl_arena_copy(&out->arena, term->value.text, len ? len : 1);
    out->keys[out->n_keys++] = (tl_key_filter){column, {value, len}};
    return value ? TL_OK : tl_fail_memory(err, len);
}

static tl_status where(const tl_shape *shape, const tl_table *table, tl_narrow *out, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    out->keys = tl_arena_array(&out->arena, TL_SHAPE_TERMS, sizeof *out->keys);
    if (!out->keys) {
        return tl_fail_memory(err, TL_SHAPE_TERMS * sizeof *out->keys);
    }
    for (int i = 0; i < shape->n_terms; i++) {
        const tl_shape_term *term = &shape->terms[i];
        int32_t column = column_of(schema, term->column.text);
        if (column < 0 || is_renamed(shape, term->column.text)) {
            continue;
        }
        if (column == table->contract.time) {
            add_time(term, out);
        }
        for (int32_t k = 0; k < table->contract.n_series; k++) {
            if (table->contract.series[k] == column && schema->fields[column].type.id == TL_TYPE_STRING &&
                strcmp(term->op, "=") == 0) {
                TL_TRY(add_key(term, column, out, err));
            }
        }
    }
    out->kind = out->has_time || out->n_keys ? TL_SHAPE_WHERE : TL_SHAPE_OTHER;
    return TL_OK;
}

tl_status tl_narrow_of(const tl_shape *shape, const tl_table *table, tl_narrow *out, tl_error *err) {
    *out = (tl_narrow){0};
    bool fits = false;
    tl_status status = TL_OK;
    switch (shape->kind) {
    case TL_SHAPE_COUNT: fits = true; break;
    case TL_SHAPE_LATEST: fits = is_time(table, shape->order.text) && is_series_key(table, shape); break;
    case TL_SHAPE_NEWEST: fits = is_time(table, shape->order.text); break;
    case TL_SHAPE_WHERE: status = where(shape, table, out, err); break;
    case TL_SHAPE_OTHER: break;
    }
    out->kind = fits ? shape->kind : out->kind;
    out->limit = shape->limit;
    out->table = tl_arena_strdup(&out->arena, table->name);
    if (status == TL_OK && !out->table) {
        status = tl_fail_memory(err, strlen(table->name));
    }
    if (status != TL_OK) {
        tl_narrow_clear(out);
    }
    return status;
}
