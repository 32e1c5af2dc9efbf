/* A new table's schema from an Arrow schema. See schema_from_arrow.h. */
#include "iceberg/schema_from_arrow.h"

#include <stdlib.h>

#include "arrow/type.h"
#include "base/utf8.h"

typedef struct builder {
    tl_arena *arena;
    const char *column; /* the top-level column, for messages */
    tl_error *err;
} builder;

static tl_status refuse(builder *b, const tl_arrow_type *t, const char *why) {
    char name[128];
    tl_arrow_type_print(t, name, sizeof name);
    return tl_fail(b->err, TL_INVALID, "column \"%s\": %s %s", b->column, name, why);
}

/* Dictionaries and run-ends are layouts: the type is that of their values. */
static void unwrap(const tl_arrow_type **t, const struct ArrowSchema **s) {
    while ((*t)->id == TL_ARROW_DICTIONARY || (*t)->id == TL_ARROW_RUN_END) {
        bool dictionary = (*t)->id == TL_ARROW_DICTIONARY;
        *s = dictionary ? (*s)->dictionary : (*s)->children[1];
        *t = dictionary ? &(*t)->children[0] : &(*t)->children[1];
    }
}

/* Whether the field's metadata name the extension type arrow.uuid. The counts and lengths in it are the producer's
 * word; a negative one ends the look. */
static bool is_uuid(const struct ArrowSchema *s) {
    static const char key_name[] = "ARROW:extension:name", wanted[] = "arrow.uuid";
    const char *p = s->metadata;
    if (!p) {
        return false;
    }
    int32_t n = tl_load_i32(p);
    p += 4;
    for (int32_t i = 0; i < n; i++) {
        int32_t key_len = tl_load_i32(p);
        if (key_len < 0) {
            return false;
        }
        const char *key = p + 4;
        p = key + key_len;
        int32_t value_len = tl_load_i32(p);
        if (value_len < 0) {
            return false;
        }
        const char *value = p + 4;
        p = value + value_len;
        if ((size_t)key_len == sizeof key_name - 1 && memcmp(key, key_name, sizeof key_name - 1) == 0) {
            return (size_t)value_len == sizeof wanted - 1 && memcmp(value, wanted, sizeof wanted - 1) == 0;
        }
    }
    return false;
}

static tl_status check_name(builder *b, const char *name) {
    if (!*name) {
        return tl_fail(b->err, TL_INVALID, "%s%s%s has no name", b->column ? "a field of column \"" : "a column",
                       b->column ? b->column : "", b->column ? "\"" : "");
    }
    return tl_utf8_is_valid(tl_bytes_of(name))
               ? TL_OK
               : tl_fail(b->err, TL_INVALID, "column name \"%.80s\" is not UTF-8", name);
}

/* ---- names must differ by more than ASCII case ---- */

static uint8_t lower(char c) {
    return (uint8_t)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int compare_folded(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    while (*x && lower(*x) == lower(*y)) {
        x++;
        y++;
    }
    return lower(*x) - lower(*y);
}

static tl_status check_unique(builder *b, const tl_field *fields, int32_t n) {
    const char **names = tl_alloc_array((size_t)n, sizeof *names);
    if (!names) {
        return tl_fail_memory(b->err, (size_t)n * sizeof *names);
    }
    for (int32_t i = 0; i < n; i++) {
        names[i] = fields[i].name;
    }
    if (n > 1) {
        qsort(names, (size_t)n, sizeof *names, compare_folded);
    }
    tl_status status = TL_OK;
    for (int32_t i = 1; status == TL_OK && i < n; i++) {
        if (compare_folded(&names[i - 1], &names[i]) != 0) {
            continue;
        }
        if (strcmp(names[i - 1], names[i]) == 0) {
            status = tl_fail(b->err, TL_INVALID, "column \"%s\" is there twice", names[i]);
        } else {
            status = tl_fail(b->err, TL_INVALID,
                             "columns \"%s\" and \"%s\" differ only in case: SQL cannot tell them apart, rename one",
                             names[i - 1], names[i]);
        }
    }
    tl_free(names);
    return status;
}

/* ---- types ---- */

static tl_status convert(builder *b, const tl_arrow_type *t, const struct ArrowSchema *s, int depth, tl_type *out);

static tl_status convert_part(builder *b, const tl_arrow_type *t, const struct ArrowSchema *s, const char *name,
                              int depth, tl_field *out) {
    out->name = name;
    out->required = !t->nullable;
    return convert(b, t, s, depth + 1, &out->type);
}

static tl_status convert_struct(builder *b, const tl_arrow_type *t, const struct ArrowSchema *s, int depth,
                                tl_type *out) {
    if (t->n_children == 0) {
        return refuse(b, t, "has no fields: such a column cannot be stored");
    }
    for (int64_t i = 0; i < t->n_children; i++) {
        const tl_arrow_type *child = &t->children[i];
        TL_TRY(check_name(b, child->name));
        const char *name = tl_arena_strdup(b->arena, child->name);
        if (!name) {
            return tl_fail_memory(b->err, strlen(child->name));
        }
        TL_TRY(convert_part(b, child, s->children[i], name, depth, &out->fields[i]));
    }
    return check_unique(b, out->fields, out->n_fields);
}

static tl_status convert_map(builder *b, const tl_arrow_type *t, const struct ArrowSchema *s, int depth, tl_type *out) {
    const tl_arrow_type *entries = &t->children[0];
    if (entries->id != TL_ARROW_STRUCT || entries->n_children != 2) {
        return refuse(b, t, "is not a map of keys and values");
    }
    const struct ArrowSchema *parts = s->children[0];
    TL_TRY(convert_part(b, &entries->children[0], parts->children[0], "key", depth, &out->fields[0]));
    out->fields[0].required = true;
    return convert_part(b, &entries->children[1], parts->children[1], "value", depth, &out->fields[1]);
}

static tl_status convert_nested(builder *b, const tl_arrow_type *t, const struct ArrowSchema *s, int depth,
                                tl_type *out) {
    if (depth >= TL_TYPE_MAX_DEPTH) {
        return tl_fail(b->err, TL_INVALID, "column \"%s\" is nested deeper than %d", b->column, TL_TYPE_MAX_DEPTH);
    }
    out->id = t->id == TL_ARROW_STRUCT ? TL_TYPE_STRUCT : t->id == TL_ARROW_MAP ? TL_TYPE_MAP : TL_TYPE_LIST;
    out->n_fields = t->id == TL_ARROW_STRUCT ? (int32_t)t->n_children : t->id == TL_ARROW_MAP ? 2 : 1;
    out->fields = tl_arena_array(b->arena, (size_t)out->n_fields, sizeof *out->fields);
    if (!out->fields) {
        return tl_fail_memory(b->err, (size_t)out->n_fields * sizeof *out->fields);
    }
    if (t->id == TL_ARROW_STRUCT) {
        return convert_struct(b, t, s, depth, out);
    }
    if (t->id == TL_ARROW_MAP) {
        return convert_map(b, t, s, depth, out);
    }
    return convert_part(b, &t->children[0], s->children[0], "element", depth, &out->fields[0]);
}

static tl_status convert_decimal(builder *b, const tl_arrow_type *t, tl_type *out) {
    if (t->precision < 1 || t->precision > 38) {
        return refuse(b, t, "has more than 38 digits; cast it to a smaller decimal or to double");
    }
    if (t->scale < 0 || t->scale > t->precision) {
        return refuse(b, t, "has a scale outside 0 to its number of digits; cast it");
    }
    *out = (tl_type){.id = TL_TYPE_DECIMAL, .precision = t->precision, .scale = t->scale};
    return TL_OK;
}

static tl_status convert(builder *b, const tl_arrow_type *t, const struct ArrowSchema *s, int depth, tl_type *out) {
    unwrap(&t, &s);
    *out = (tl_type){0};
    switch (t->id) {
    case TL_ARROW_BOOL: out->id = TL_TYPE_BOOLEAN; return TL_OK;
    case TL_ARROW_INT8:
    case TL_ARROW_INT16:
    case TL_ARROW_INT32:
    case TL_ARROW_UINT8:
    case TL_ARROW_UINT16: out->id = TL_TYPE_INT; return TL_OK;
    case TL_ARROW_UINT32:
    case TL_ARROW_INT64: out->id = TL_TYPE_LONG; return TL_OK;
    case TL_ARROW_UINT64: return refuse(b, t, "may hold values beyond long: cast it to int64 or decimal(20, 0)");
    case TL_ARROW_FLOAT16:
    case TL_ARROW_FLOAT32: out->id = TL_TYPE_FLOAT; return TL_OK;
    case TL_ARROW_FLOAT64: out->id = TL_TYPE_DOUBLE; return TL_OK;
    case TL_ARROW_DECIMAL32:
    case TL_ARROW_DECIMAL64:
    case TL_ARROW_DECIMAL128:
    case TL_ARROW_DECIMAL256: return convert_decimal(b, t, out);
    case TL_ARROW_DATE32:
    case TL_ARROW_DATE64: out->id = TL_TYPE_DATE; return TL_OK;
    case TL_ARROW_TIME32:
    case TL_ARROW_TIME64: out->id = TL_TYPE_TIME; return TL_OK;
    case TL_ARROW_TIMESTAMP: out->id = t->zone ? TL_TYPE_TIMESTAMPTZ : TL_TYPE_TIMESTAMP; return TL_OK;
    case TL_ARROW_STRING:
    case TL_ARROW_LARGE_STRING:
    case TL_ARROW_STRING_VIEW: out->id = TL_TYPE_STRING; return TL_OK;
    case TL_ARROW_BINARY:
    case TL_ARROW_LARGE_BINARY:
    case TL_ARROW_BINARY_VIEW: out->id = TL_TYPE_BINARY; return TL_OK;
    case TL_ARROW_FIXED_BINARY:
        if (t->width < 1) {
            return refuse(b, t, "has no bytes");
        }
        out->id = t->width == 16 && is_uuid(s) ? TL_TYPE_UUID : TL_TYPE_FIXED;
        out->length = out->id == TL_TYPE_FIXED ? t->width : 0;
        return TL_OK;
    case TL_ARROW_LIST:
    case TL_ARROW_LARGE_LIST:
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW:
    case TL_ARROW_FIXED_LIST:
    case TL_ARROW_STRUCT:
    case TL_ARROW_MAP: return convert_nested(b, t, s, depth, out);
    case TL_ARROW_NULL: return refuse(b, t, "is no type for a table: give the column one");
    default: return refuse(b, t, "is not a type that a table can have: cast it");
    }
}

/* ---- the special columns ---- */

static bool is_text(tl_type_id id) {
    return id == TL_TYPE_STRING;
}

static bool is_timestamp(tl_type_id id) {
    return id == TL_TYPE_TIMESTAMP || id == TL_TYPE_TIMESTAMPTZ;
}

static tl_status settle_time(builder *b, tl_schema *schema, const char *name) {
    int32_t i = tl_schema_index(schema, name);
    if (i < 0) {
        return tl_fail(b->err, TL_INVALID, "time column \"%s\" is not among the columns", name);
    }
    tl_type *type = &schema->fields[i].type;
    if (!is_timestamp(type->id) && !is_text(type->id)) {
        tl_buf shown = {0};
        bool printed = tl_type_print(type, &shown) == TL_OK;
        tl_status status = tl_fail(b->err, TL_INVALID, "time column \"%s\" must be a timestamp, but is %.*s", name,
                                   printed ? (int)shown.len : 1, printed ? (const char *)shown.data : "?");
        tl_buf_free(&shown);
        return status;
    }
    type->id = is_text(type->id) ? TL_TYPE_TIMESTAMPTZ : type->id;
    schema->fields[i].required = true;
    return TL_OK;
}

/* `fields` has room for one more. */
static tl_status settle_ingest(builder *b, tl_schema *schema, const char *name) {
    int32_t i = tl_schema_index(schema, name);
    if (i >= 0 && !is_timestamp(schema->fields[i].type.id)) {
        return tl_fail(b->err, TL_INVALID, "column \"%s\" is kept for the insertion time and must be a timestamp",
                       name);
    }
    tl_field *f = &schema->fields[i >= 0 ? i : schema->n_fields];
    if (i < 0) {
        f->name = tl_arena_strdup(b->arena, name);
        if (!f->name) {
            return tl_fail_memory(b->err, strlen(name));
        }
        schema->n_fields++;
    }
    f->required = true;
    f->type.id = TL_TYPE_TIMESTAMPTZ;
    return TL_OK;
}

static void assign_ids(tl_field *fields, int32_t n, int32_t *next) {
    for (int32_t i = 0; i < n; i++) {
        fields[i].id = (*next)++;
    }
    for (int32_t i = 0; i < n; i++) {
        assign_ids(fields[i].type.fields, fields[i].type.n_fields, next);
    }
}

int32_t tl_schema_assign_ids(tl_schema *schema, int32_t first) {
    assign_ids(schema->fields, schema->n_fields, &first);
    return first;
}

static tl_status convert_columns(builder *b, const tl_arrow_type *root, const struct ArrowSchema *arrow,
                                 tl_schema *out) {
    if (root->id != TL_ARROW_STRUCT || root->n_children < 1 || root->n_children > 1000000) {
        return tl_fail(b->err, TL_INVALID, "a table needs columns: the Arrow schema is not a struct with fields");
    }
    out->fields = tl_arena_array(b->arena, (size_t)root->n_children + 1, sizeof *out->fields);
    if (!out->fields) {
        return tl_fail_memory(b->err, (size_t)root->n_children * sizeof *out->fields);
    }
    out->n_fields = (int32_t)root->n_children;
    for (int32_t i = 0; i < out->n_fields; i++) {
        b->column = NULL;
        TL_TRY(check_name(b, root->children[i].name));
        const char *name = tl_arena_strdup(b->arena, root->children[i].name);
        if (!name) {
            return tl_fail_memory(b->err, strlen(root->children[i].name));
        }
        b->column = name;
        TL_TRY(convert_part(b, &root->children[i], arrow->children[i], name, 0, &out->fields[i]));
    }
    return TL_OK;
}

tl_status tl_schema_from_arrow(const struct ArrowSchema *arrow, const char *time_column, const char *ingest_column,
                               tl_arena *arena, tl_schema *out, tl_error *err) {
    builder b = {.arena = arena, .err = err};
    tl_arrow_type root;
    *out = (tl_schema){0};
    TL_TRY(tl_arrow_type_import(arrow, arena, &root, err));
    TL_TRY(convert_columns(&b, &root, arrow, out));
    if (time_column) {
        TL_TRY(settle_time(&b, out, time_column));
    }
    if (ingest_column) {
        TL_TRY(settle_ingest(&b, out, ingest_column));
    }
    TL_TRY(check_unique(&b, out->fields, out->n_fields));
    (void)tl_schema_assign_ids(out, 1);
    return TL_OK;
}
