/* Iceberg's schema as Parquet elements. See parquet_schema.h; the layout is that of the Iceberg spec's appendix A. */
#include "iceberg/parquet_schema.h"

typedef struct builder {
    tl_pq_schema_element *elements;
    int32_t n;
    const char *column;
    tl_error *err;
} builder;

/* How many elements the fields take; lists and maps have a repeated group in between. */
static bool count_elements(const tl_field *fields, int32_t n, int depth, size_t *total) {
    for (int32_t i = 0; i < n; i++) {
        const tl_type *t = &fields[i].type;
        *total += t->id == TL_TYPE_LIST || t->id == TL_TYPE_MAP ? 2 : 1;
        if (t->n_fields && (depth >= TL_TYPE_MAX_DEPTH || !count_elements(t->fields, t->n_fields, depth + 1, total))) {
            return false;
        }
    }
    return *total < INT32_MAX;
}

static void set_leaf(tl_pq_schema_element *e, const tl_type *t) {
    e->is_leaf = true;
    e->type = tl_iceberg_physical_type(t);
    e->unit = TL_PQ_MICROS;
    switch (t->id) {
    case TL_TYPE_DECIMAL:
        e->logical = TL_PQ_LOGICAL_DECIMAL;
        e->precision = t->precision;
        e->scale = t->scale;
        e->type_length = e->type == TL_PQ_FIXED ? tl_decimal_bytes(t->precision) : 0;
        break;
    case TL_TYPE_DATE: e->logical = TL_PQ_LOGICAL_DATE; break;
    case TL_TYPE_TIME: e->logical = TL_PQ_LOGICAL_TIME; break;
    case TL_TYPE_TIMESTAMP: e->logical = TL_PQ_LOGICAL_TIMESTAMP; break;
    case TL_TYPE_TIMESTAMPTZ:
        e->logical = TL_PQ_LOGICAL_TIMESTAMP;
        e->utc = true;
        break;
    case TL_TYPE_STRING: e->logical = TL_PQ_LOGICAL_STRING; break;
    case TL_TYPE_UUID:
        e->logical = TL_PQ_LOGICAL_UUID;
        e->type_length = 16;
        break;
    case TL_TYPE_FIXED: e->type_length = t->length; break;
    default: break;
    }
}

static tl_pq_schema_element *add(builder *b, const char *name, tl_pq_repetition repetition, int32_t n_children) {
    tl_pq_schema_element *e = &b->elements[b->n++];
    *e = (tl_pq_schema_element){.name = name, .repetition = repetition, .n_children = n_children, .field_id = -1};
    return e;
}

static tl_status add_field(builder *b, const tl_field *f, const char *name) {
    const tl_type *t = &f->type;
    tl_pq_schema_element *e = add(b, name, f->required ? TL_PQ_REQUIRED : TL_PQ_OPTIONAL, 0);
    e->field_id = f->id;
    switch (t->id) {
    case TL_TYPE_STRUCT:
        if (t->n_fields == 0) {
            return tl_fail(b->err, TL_UNSUPPORTED, "column \"%s\": Parquet cannot hold a struct without fields",
                           b->column);
        }
        e->n_children = t->n_fields;
        for (int32_t i = 0; i < t->n_fields; i++) {
            TL_TRY(add_field(b, &t->fields[i], t->fields[i].name));
        }
        return TL_OK;
    case TL_TYPE_LIST:
        e->logical = TL_PQ_LOGICAL_LIST;
        e->n_children = 1;
        add(b, "list", TL_PQ_REPEATED, 1);
        return add_field(b, &t->fields[0], "element");
    case TL_TYPE_MAP:
        e->logical = TL_PQ_LOGICAL_MAP;
        e->n_children = 1;
        add(b, "key_value", TL_PQ_REPEATED, 2);
        TL_TRY(add_field(b, &t->fields[0], "key"));
        return add_field(b, &t->fields[1], "value");
    default: set_leaf(e, t); return TL_OK;
    }
}

tl_status tl_iceberg_parquet_schema(const tl_schema *schema, tl_arena *arena, tl_pq_schema_element **out, int32_t *n,
                                    tl_error *err) {
    size_t total = 1;
    if (!count_elements(schema->fields, schema->n_fields, 1, &total)) {
        return tl_fail(err, TL_UNSUPPORTED, "the schema is nested deeper than %d or too large", TL_TYPE_MAX_DEPTH);
    }
    builder b = {.elements = tl_arena_array(arena, total, sizeof *b.elements), .err = err};
    if (!b.elements) {
        return tl_fail_memory(err, total * sizeof *b.elements);
    }
    add(&b, "table", TL_PQ_REQUIRED, schema->n_fields);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        b.column = schema->fields[i].name;
        TL_TRY(add_field(&b, &schema->fields[i], b.column));
    }
    *out = b.elements;
    *n = b.n;
    return TL_OK;
}
