/*
 * An Avro schema's JSON as a tree. Comes in: the writer's schema out of a file's header. Goes out: nodes in an arena;
 * names that are used again point to the node of their definition. A type cannot contain itself: its name is known
 * only after its definition, so recursive schemas are refused and the tree has a bounded depth.
 */
#include "iceberg/avro_internal.h"
#include "iceberg/json_internal.h"

#define MAX_NAMED 256

typedef struct parser {
    const char *what;
    tl_arena *arena;
    tl_error *err;
    struct {
        const char *name;
        tl_avro_node *node;
    } named[MAX_NAMED];
    size_t n_named;
} parser;

static tl_status parse_node(parser *p, yyjson_val *val, int depth, tl_avro_node **out);

static tl_status bad(parser *p, const char *why) {
    return tl_fail(p->err, TL_CORRUPT, "%s: the Avro schema %s", p->what, why);
}

static tl_status new_node(parser *p, tl_avro_kind kind, tl_avro_node **out) {
    *out = tl_arena_alloc(p->arena, sizeof **out);
    if (!*out) {
        return tl_fail_memory(p->err, sizeof **out);
    }
    (*out)->kind = kind;
    return TL_OK;
}

static tl_status new_parts(parser *p, tl_avro_node *node, size_t n) {
    if (n > 100000) {
        return bad(p, "has too many fields");
    }
    node->parts = tl_arena_array(p->arena, n, sizeof *node->parts);
    node->n_parts = (int32_t)n;
    for (size_t i = 0; node->parts && i < n; i++) {
        node->parts[i].field_id = -1;
    }
    return node->parts ? TL_OK : tl_fail_memory(p->err, n * sizeof *node->parts);
}

/* The part after the last dot: namespaces are not looked at. */
static const char *short_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static tl_status remember(parser *p, yyjson_val *obj, tl_avro_node *node) {
    const char *name;
    TL_TRY(tl_json_text(obj, p->what, "name", true, p->arena, &name, p->err));
    if (p->n_named == MAX_NAMED) {
        return bad(p, "names too many types");
    }
    p->named[p->n_named].name = short_name(name);
    p->named[p->n_named++].node = node;
    return TL_OK;
}

static tl_status parse_name(parser *p, const char *name, tl_avro_node **out) {
    static const struct {
        const char *name;
        tl_avro_kind kind;
    } primitives[] = {{"null", TL_AVRO_NULL},   {"boolean", TL_AVRO_BOOLEAN}, {"int", TL_AVRO_INT},
                      {"long", TL_AVRO_LONG},   {"float", TL_AVRO_FLOAT},     {"double", TL_AVRO_DOUBLE},
                      {"bytes", TL_AVRO_BYTES}, {"string", TL_AVRO_STRING}};
    for (size_t i = 0; i < TL_COUNT(primitives); i++) {
        if (strcmp(name, primitives[i].name) == 0) {
            return new_node(p, primitives[i].kind, out);
        }
    }
    for (size_t i = p->n_named; i-- > 0;) {
        if (strcmp(short_name(name), p->named[i].name) == 0) {
            *out = p->named[i].node;
            return TL_OK;
        }
    }
    return tl_fail(p->err, TL_CORRUPT, "%s: the Avro schema uses an unknown type \"%.60s\"", p->what, name);
}

static tl_status parse_record(parser *p, yyjson_val *obj, int depth, tl_avro_node *node) {
    yyjson_val *fields, *val;
    int32_t n;
    size_t i, max;
    static const int32_t none = -1;
    TL_TRY(tl_json_array(obj, p->what, "fields", true, &fields, &n, p->err));
    TL_TRY(new_parts(p, node, (size_t)n));
    yyjson_arr_foreach(fields, i, max, val) {
        tl_avro_part *part = &node->parts[i];
        TL_TRY(tl_json_object(val, p->what, p->err));
        TL_TRY(tl_json_text(val, p->what, "name", true, p->arena, &part->name, p->err));
        TL_TRY(tl_json_i32(val, p->what, "field-id", &none, &part->field_id, p->err));
        TL_TRY(parse_node(p, yyjson_obj_get(val, "type"), depth + 1, &part->node));
    }
    return remember(p, obj, node);
}

static tl_status parse_union(parser *p, yyjson_val *list, int depth, tl_avro_node **out) {
    size_t i, max;
    yyjson_val *val;
    TL_TRY(new_node(p, TL_AVRO_UNION, out));
    TL_TRY(new_parts(p, *out, yyjson_arr_size(list)));
    yyjson_arr_foreach(list, i, max, val) {
        TL_TRY(parse_node(p, val, depth + 1, &(*out)->parts[i].node));
        if ((*out)->parts[i].node->kind == TL_AVRO_UNION) {
            return bad(p, "has a union in a union");
        }
    }
    return TL_OK;
}

static tl_status parse_object(parser *p, yyjson_val *obj, int depth, tl_avro_node **out) {
    yyjson_val *type = yyjson_obj_get(obj, "type");
    if (!yyjson_is_str(type)) {
        return parse_node(p, type, depth + 1, out); /* {"type": {...}} */
    }
    bool is_array = yyjson_equals_str(type, "array"), is_map = yyjson_equals_str(type, "map");
    if (yyjson_equals_str(type, "record")) {
        TL_TRY(new_node(p, TL_AVRO_RECORD, out));
        return parse_record(p, obj, depth, *out);
    }
    if (is_array || is_map) {
        TL_TRY(new_node(p, is_map ? TL_AVRO_MAP : TL_AVRO_ARRAY, out));
        TL_TRY(new_parts(p, *out, 1));
        return parse_node(p, yyjson_obj_get(obj, is_map ? "values" : "items"), depth + 1, &(*out)->parts[0].node);
    }
    yyjson_val *logical = yyjson_obj_get(obj, "logicalType");
    if (yyjson_equals_str(type, "fixed")) {
        TL_TRY(new_node(p, TL_AVRO_FIXED, out));
        TL_TRY(tl_json_i32(obj, p->what, "size", NULL, &(*out)->size, p->err));
        if ((*out)->size < 0) {
            return bad(p, "has a fixed type of negative size");
        }
        (*out)->is_decimal = yyjson_equals_str(logical, "decimal");
        return remember(p, obj, *out);
    }
    if (yyjson_equals_str(type, "enum")) {
        TL_TRY(new_node(p, TL_AVRO_ENUM, out));
        return remember(p, obj, *out);
    }
    TL_TRY(parse_name(p, yyjson_get_str(type), out));
    if ((*out)->kind == TL_AVRO_BYTES) {
        (*out)->is_decimal = yyjson_equals_str(logical, "decimal");
    } else if ((*out)->kind == TL_AVRO_STRING) {
        (*out)->is_uuid_text = yyjson_equals_str(logical, "uuid");
    }
    return TL_OK;
}

static tl_status parse_node(parser *p, yyjson_val *val, int depth, tl_avro_node **out) {
    if (depth > TL_AVRO_MAX_DEPTH) {
        return bad(p, "is nested too deep");
    }
    if (yyjson_is_str(val)) {
        return parse_name(p, yyjson_get_str(val), out);
    }
    if (yyjson_is_arr(val)) {
        return parse_union(p, val, depth, out);
    }
    if (yyjson_is_obj(val)) {
        return parse_object(p, val, depth, out);
    }
    return bad(p, "has a field without a type");
}

tl_status tl_avro_schema_parse(tl_bytes json, const char *what, tl_arena *arena, tl_avro_node **out, tl_error *err) {
    yyjson_doc *doc;
    TL_TRY(tl_json_read(json, what, &doc, err));
    parser *p = tl_calloc(1, sizeof *p);
    tl_status status = TL_NO_MEMORY;
    if (p) {
        *p = (parser){.what = what, .arena = arena, .err = err};
        status = parse_node(p, yyjson_doc_get_root(doc), 1, out);
    } else {
        status = tl_fail_memory(err, sizeof *p);
    }
    tl_free(p);
    yyjson_doc_free(doc);
    return status;
}
