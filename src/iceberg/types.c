/*
 * Types and schemas: look-up, equality, names, copies. Comes in: trees built by a parser or by hand. Goes out: answers
 * about them, and copies in other arenas. Depth is bounded by TL_TYPE_MAX_DEPTH wherever a schema enters the library;
 * the walks here stop there too.
 */
#include "iceberg/types.h"

#include <stdio.h>

const tl_field *tl_schema_field(const tl_schema *schema, const char *name) {
    int32_t i = tl_schema_index(schema, name);
    return i < 0 ? NULL : &schema->fields[i];
}

const tl_field *tl_schema_field_by_id(const tl_schema *schema, int32_t id) {
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (schema->fields[i].id == id) {
            return &schema->fields[i];
        }
    }
    return NULL;
}

int32_t tl_schema_index(const tl_schema *schema, const char *name) {
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (strcmp(schema->fields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static const tl_field *find_field(const tl_field *fields, int32_t n, int32_t id, int depth) {
    for (int32_t i = 0; i < n; i++) {
        const tl_field *found = &fields[i];
        if (found->id != id) {
            found = depth < TL_TYPE_MAX_DEPTH
                        ? find_field(fields[i].type.fields, fields[i].type.n_fields, id, depth + 1)
                        : NULL;
        }
        if (found) {
            return found;
        }
    }
    return NULL;
}

const tl_field *tl_schema_find(const tl_schema *schema, int32_t id) {
    return find_field(schema->fields, schema->n_fields, id, 1);
}

static int32_t max_id(const tl_field *fields, int32_t n, int depth) {
    int32_t most = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t inner =
            depth < TL_TYPE_MAX_DEPTH ? max_id(fields[i].type.fields, fields[i].type.n_fields, depth + 1) : 0;
        most = fields[i].id > most ? fields[i].id : most;
        most = inner > most ? inner : most;
    }
    return most;
}

int32_t tl_schema_max_id(const tl_schema *schema) {
    return max_id(schema->fields, schema->n_fields, 1);
}

bool tl_type_is_nested(tl_type_id id) {
    return id == TL_TYPE_STRUCT || id == TL_TYPE_LIST || id == TL_TYPE_MAP;
}

static bool type_equal(const tl_type *a, const tl_type *b, int depth) {
    if (a->id != b->id || depth > TL_TYPE_MAX_DEPTH) {
        return false;
    }
    if (a->id == TL_TYPE_DECIMAL) {
        return a->precision == b->precision && a->scale == b->scale;
    }
    if (a->id == TL_TYPE_FIXED) {
        return a->length == b->length;
    }
    if (!tl_type_is_nested(a->id)) {
        return true;
    }
    if (a->n_fields != b->n_fields) {
        return false;
    }
    for (int32_t i = 0; i < a->n_fields; i++) {
        const tl_field *x = &a->fields[i], *y = &b->fields[i];
        if (x->id != y->id || x->required != y->required || strcmp(x->name, y->name) != 0 ||
            !type_equal(&x->type, &y->type, depth + 1)) {
            return false;
        }
    }
    return true;
}

bool tl_type_equal(const tl_type *a, const tl_type *b) {
    return type_equal(a, b, 1);
}

static const struct {
    tl_type_id id;
    const char *name;
} primitives[] = {
    {TL_TYPE_BOOLEAN, "boolean"},
    {TL_TYPE_INT, "int"},
    {TL_TYPE_LONG, "long"},
    {TL_TYPE_FLOAT, "float"},
    {TL_TYPE_DOUBLE, "double"},
    {TL_TYPE_DATE, "date"},
    {TL_TYPE_TIME, "time"},
    {TL_TYPE_TIMESTAMP, "timestamp"},
    {TL_TYPE_TIMESTAMPTZ, "timestamptz"},
    {TL_TYPE_STRING, "string"},
    {TL_TYPE_UUID, "uuid"},
    {TL_TYPE_BINARY, "binary"},
};

static tl_status type_print(const tl_type *type, tl_buf *out, int depth) {
    if (depth > TL_TYPE_MAX_DEPTH) {
        return tl_buf_add_text(out, "...");
    }
    switch (type->id) {
    case TL_TYPE_DECIMAL: return tl_buf_printf(out, "decimal(%d, %d)", type->precision, type->scale);
    case TL_TYPE_FIXED: return tl_buf_printf(out, "fixed[%d]", type->length);
    case TL_TYPE_LIST:
        TL_TRY(tl_buf_add_text(out, "list<"));
        TL_TRY(type_print(&type->fields[0].type, out, depth + 1));
        return tl_buf_add_text(out, ">");
    case TL_TYPE_MAP:
        TL_TRY(tl_buf_add_text(out, "map<"));
        TL_TRY(type_print(&type->fields[0].type, out, depth + 1));
        TL_TRY(tl_buf_add_text(out, ", "));
        TL_TRY(type_print(&type->fields[1].type, out, depth + 1));
        return tl_buf_add_text(out, ">");
    case TL_TYPE_STRUCT:
        TL_TRY(tl_buf_add_text(out, "struct<"));
        for (int32_t i = 0; i < type->n_fields; i++) {
            TL_TRY(tl_buf_printf(out, "%s%s: ", i ? ", " : "", type->fields[i].name));
            TL_TRY(type_print(&type->fields[i].type, out, depth + 1));
        }
        return tl_buf_add_text(out, ">");
    default: break;
    }
    for (size_t i = 0; i < TL_COUNT(primitives); i++) {
        if (primitives[i].id == type->id) {
            return tl_buf_add_text(out, primitives[i].name);
        }
    }
    return TL_INTERNAL;
}

tl_status tl_type_print(const tl_type *type, tl_buf *out) {
    return type_print(type, out, 1);
}

/* A decimal number without sign of at most 9 digits; moves `*at`. */
static bool read_number(tl_bytes text, size_t *at, int32_t *out) {
    size_t from = *at;
    int32_t v = 0;
    while (*at < text.len && *at - from < 9 && text.data[*at] >= '0' && text.data[*at] <= '9') {
        v = v * 10 + (text.data[(*at)++] - '0');
    }
    *out = v;
    return *at > from;
}

static void skip_blanks(tl_bytes text, size_t *at) {
    while (*at < text.len && text.data[*at] == ' ') {
        (*at)++;
    }
}

static bool read_char(tl_bytes text, size_t *at, char c) {
    skip_blanks(text, at);
    if (*at >= text.len || text.data[*at] != (uint8_t)c) {
        return false;
    }
    (*at)++;
    skip_blanks(text, at);
    return true;
}

static bool starts_with(tl_bytes text, const char *start) {
    size_t n = strlen(start);
    return text.len >= n && memcmp(text.data, start, n) == 0;
}

bool tl_type_parse(tl_bytes text, tl_type *out) {
    *out = (tl_type){0};
    for (size_t i = 0; i < TL_COUNT(primitives); i++) {
        if (tl_bytes_equal(text, tl_bytes_of(primitives[i].name))) {
            out->id = primitives[i].id;
            return true;
        }
    }
    size_t at;
    if (starts_with(text, "decimal")) {
        at = strlen("decimal");
        out->id = TL_TYPE_DECIMAL;
        return read_char(text, &at, '(') && read_number(text, &at, &out->precision) && read_char(text, &at, ',') &&
               read_number(text, &at, &out->scale) && read_char(text, &at, ')') && at == text.len &&
               out->precision >= 1 && out->precision <= 38 && out->scale <= out->precision;
    }
    if (starts_with(text, "fixed")) {
        at = strlen("fixed");
        out->id = TL_TYPE_FIXED;
        return read_char(text, &at, '[') && read_number(text, &at, &out->length) && read_char(text, &at, ']') &&
               at == text.len && out->length >= 1;
    }
    return false;
}

int32_t tl_decimal_bytes(int32_t precision) {
    static const int8_t bytes[39] = {1, 1, 1,  2,  2,  3,  3,  4,  4,  4,  5,  5,  6,  6,  6,  7,  7,  8,  8, 9,
                                     9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
    return precision < 1 ? 1 : precision > 38 ? 16 : bytes[precision];
}

static const char *copy_text(tl_arena *arena, const char *text, bool *ok) {
    const char *copy = text ? tl_arena_strdup(arena, text) : NULL;
    *ok = *ok && (!text || copy);
    return copy;
}

static tl_status copy_fields(const tl_field *in, int32_t n, tl_arena *arena, tl_field **out, int depth) {
    if (depth > TL_TYPE_MAX_DEPTH) {
        return TL_INVALID;
    }
    tl_field *fields = tl_arena_array(arena, (size_t)n, sizeof *fields);
    if (!fields) {
        return TL_NO_MEMORY;
    }
    for (int32_t i = 0; i < n; i++) {
        bool ok = true;
        fields[i] = in[i];
        fields[i].name = copy_text(arena, in[i].name, &ok);
        fields[i].doc = copy_text(arena, in[i].doc, &ok);
        fields[i].extra_json = copy_text(arena, in[i].extra_json, &ok);
        if (!ok) {
            return TL_NO_MEMORY;
        }
        if (in[i].type.n_fields) {
            TL_TRY(copy_fields(in[i].type.fields, in[i].type.n_fields, arena, &fields[i].type.fields, depth + 1));
        }
    }
    *out = fields;
    return TL_OK;
}

tl_status tl_schema_copy(const tl_schema *in, tl_arena *arena, tl_schema *out) {
    bool ok = true;
    tl_schema copy = *in;
    copy.extra_json = copy_text(arena, in->extra_json, &ok);
    if (!ok) {
        return TL_NO_MEMORY;
    }
    TL_TRY(copy_fields(in->fields, in->n_fields, arena, &copy.fields, 1));
    *out = copy;
    return TL_OK;
}

tl_status tl_partition_spec_copy(const tl_partition_spec *in, tl_arena *arena, tl_partition_spec *out) {
    tl_partition_spec copy = *in;
    copy.fields = tl_arena_array(arena, (size_t)in->n_fields, sizeof *copy.fields);
    bool ok = copy.fields != NULL;
    for (int32_t i = 0; ok && i < in->n_fields; i++) {
        copy.fields[i] = in->fields[i];
        copy.fields[i].name = copy_text(arena, in->fields[i].name, &ok);
        copy.fields[i].text = copy_text(arena, in->fields[i].text, &ok);
    }
    if (!ok) {
        return TL_NO_MEMORY;
    }
    *out = copy;
    return TL_OK;
}
