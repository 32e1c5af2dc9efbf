/*
 * Schemas and partition specs as JSON, both ways. Comes in: JSON of metadata and manifest headers (v1, v2, v3). Goes
 * out: checked trees: depth bounded, field ids and sibling names unique, primitive types known.
 */
#include <stdlib.h>

#include "iceberg/json.h"
#include "iceberg/json_internal.h"

typedef struct parser {
    tl_arena *arena;
    const char *column; /* the top-level column, for messages */
    tl_error *err;
} parser;

static tl_status read_type(parser *p, yyjson_val *val, int depth, tl_type *out);

static bool is_newer_type(tl_bytes name) {
    static const char *const newer[] = {"timestamp_ns", "timestamptz_ns", "variant",
                                        "unknown",      "geometry",       "geography"};
    for (size_t i = 0; i < TL_COUNT(newer); i++) {
        size_t n = strlen(newer[i]);
        if (name.len >= n && memcmp(name.data, newer[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static tl_status read_primitive(parser *p, yyjson_val *val, tl_type *out) {
    tl_bytes name = {(const uint8_t *)yyjson_get_str(val), yyjson_get_len(val)};
    if (tl_type_parse(name, out)) {
        return TL_OK;
    }
    int shown = name.len > 60 ? 60 : (int)name.len;
    return tl_fail(p->err, is_newer_type(name) ? TL_UNSUPPORTED : TL_CORRUPT, "column \"%s\": type %.*s is not %s",
                   p->column, shown, (const char *)name.data,
                   is_newer_type(name) ? "read here" : "a type of the table format");
}

static tl_status read_bool(parser *p, yyjson_val *obj, const char *key, bool *out) {
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (!yyjson_is_bool(val)) {
        return tl_fail(p->err, TL_CORRUPT, "column \"%s\": \"%s\" is missing or not true or false", p->column, key);
    }
    *out = yyjson_get_bool(val);
    return TL_OK;
}

/* The element of a list, or the key or value of a map. */
static tl_status read_part(parser *p, yyjson_val *obj, const char *part, bool always_there, int depth, tl_field *out) {
    char key[32];
    (void)snprintf(key, sizeof key, "%s-id", part);
    TL_TRY(tl_json_i32(obj, p->column, key, NULL, &out->id, p->err));
    out->required = true;
    if (!always_there) {
        (void)snprintf(key, sizeof key, "%s-required", part);
        TL_TRY(read_bool(p, obj, key, &out->required));
    }
    out->name = part;
    return read_type(p, yyjson_obj_get(obj, part), depth, &out->type);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tl_status check_names(parser *p, const tl_field *fields, int32_t n) {
    const char **names = tl_alloc_array((size_t)n, sizeof *names);
    if (!names) {
        return tl_fail_memory(p->err, 0);
    }
    for (int32_t i = 0; i < n; i++) {
        names[i] = fields[i].name;
    }
    if (n > 1) {
        qsort(names, (size_t)n, sizeof *names, compare_names);
    }
    tl_status status = TL_OK;
    for (int32_t i = 1; status == TL_OK && i < n; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            status = tl_fail(p->err, TL_CORRUPT, "schema: two fields are named \"%s\"", names[i]);
        }
    }
    tl_free(names);
    return status;
}

static tl_status read_field(parser *p, yyjson_val *val, int depth, tl_field *out) {
    static const char *const known[] = {"id", "name", "required", "type", "doc"};
    TL_TRY(tl_json_object(val, "a field of the schema", p->err));
    TL_TRY(tl_json_text(val, "a field of the schema", "name", true, p->arena, &out->name, p->err));
    if (depth == 1) {
        p->column = out->name;
    }
    TL_TRY(tl_json_i32(val, out->name, "id", NULL, &out->id, p->err));
    TL_TRY(read_bool(p, val, "required", &out->required));
    TL_TRY(tl_json_text(val, out->name, "doc", false, p->arena, &out->doc, p->err));
    if (tl_json_get(val, "initial-default")) {
        return tl_fail(p->err, TL_UNSUPPORTED, "column \"%s\": initial defaults are not read here", p->column);
    }
    TL_TRY(tl_json_extra(val, known, TL_COUNT(known), p->arena, &out->extra_json, p->err));
    return read_type(p, yyjson_obj_get(val, "type"), depth, &out->type);
}

static tl_status read_fields(parser *p, yyjson_val *obj, int depth, tl_field **out, int32_t *n_out) {
    yyjson_val *list;
    int32_t n;
    TL_TRY(tl_json_array(obj, "a struct of the schema", "fields", true, &list, &n, p->err));
    tl_field *fields = tl_arena_array(p->arena, (size_t)n, sizeof *fields);
    if (!fields) {
        return tl_fail_memory(p->err, 0);
    }
    size_t i, max;
    yyjson_val *val;
    yyjson_arr_foreach(list, i, max, val) {
        TL_TRY(read_field(p, val, depth, &fields[i]));
    }
    TL_TRY(check_names(p, fields, n));
    *out = fields;
    *n_out = n;
    return TL_OK;
}

static tl_status read_type(parser *p, yyjson_val *val, int depth, tl_type *out) {
    if (yyjson_is_str(val)) {
        return read_primitive(p, val, out);
    }
    if (!yyjson_is_obj(val)) {
        return tl_fail(p->err, TL_CORRUPT, "column \"%s\" has no type", p->column);
    }
    if (depth >= TL_TYPE_MAX_DEPTH) {
        return tl_fail(p->err, TL_UNSUPPORTED, "column \"%s\": types nested deeper than %d are not read here",
                       p->column, TL_TYPE_MAX_DEPTH);
    }
    yyjson_val *kind = yyjson_obj_get(val, "type");
    if (yyjson_equals_str(kind, "struct")) {
        out->id = TL_TYPE_STRUCT;
        return read_fields(p, val, depth + 1, &out->fields, &out->n_fields);
    }
    bool is_map = yyjson_equals_str(kind, "map");
    if (!is_map && !yyjson_equals_str(kind, "list")) {
        return tl_fail(p->err, TL_CORRUPT, "column \"%s\": a nested type is neither struct nor list nor map",
                       p->column);
    }
    out->id = is_map ? TL_TYPE_MAP : TL_TYPE_LIST;
    out->fields = tl_arena_array(p->arena, is_map ? 2 : 1, sizeof *out->fields);
    if (!out->fields) {
        return tl_fail_memory(p->err, 0);
    }
    out->n_fields = is_map ? 2 : 1;
    if (is_map) {
        TL_TRY(read_part(p, val, "key", true, depth + 1, &out->fields[0]));
        return read_part(p, val, "value", false, depth + 1, &out->fields[1]);
    }
    return read_part(p, val, "element", false, depth + 1, &out->fields[0]);
}

/* ---- field ids must be unique over the whole tree ---- */

static tl_status collect_ids(const tl_field *fields, int32_t n, tl_buf *ids) {
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(tl_buf_add(ids, &fields[i].id, sizeof fields[i].id));
        TL_TRY(collect_ids(fields[i].type.fields, fields[i].type.n_fields, ids));
    }
    return TL_OK;
}

static int compare_ids(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static tl_status check_ids(const tl_schema *schema, tl_error *err) {
    tl_buf buf = {0};
    tl_status status = collect_ids(schema->fields, schema->n_fields, &buf);
    if (status != TL_OK) {
        tl_buf_free(&buf);
        return tl_fail_memory(err, 0);
    }
    int32_t *ids = (int32_t *)(void *)buf.data;
    size_t n = buf.len / sizeof *ids;
    if (n > 1) {
        qsort(ids, n, sizeof *ids, compare_ids);
    }
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (ids[i] < 0 || (i && ids[i - 1] == ids[i])) {
            status =
                tl_fail(err, TL_CORRUPT, "schema: field id %d is %s", ids[i], ids[i] < 0 ? "negative" : "used twice");
        }
    }
    tl_buf_free(&buf);
    return status;
}

tl_status tl_schema_from_json(yyjson_val *val, tl_arena *arena, tl_schema *out, tl_error *err) {
    static const char *const known[] = {"schema-id", "type", "fields"};
    static const int32_t zero = 0; /* v1 schemas may have no id */
    parser p = {arena, "schema", err};
    *out = (tl_schema){0};
    TL_TRY(tl_json_object(val, "schema", err));
    TL_TRY(tl_json_i32(val, "schema", "schema-id", &zero, &out->schema_id, err));
    TL_TRY(read_fields(&p, val, 1, &out->fields, &out->n_fields));
    TL_TRY(tl_json_extra(val, known, TL_COUNT(known), arena, &out->extra_json, err));
    return check_ids(out, err);
}

tl_status tl_schema_parse_json(tl_bytes json, tl_arena *arena, tl_schema *out, tl_error *err) {
    yyjson_doc *doc;
    TL_TRY(tl_json_read(json, "schema", &doc, err));
    tl_status status = tl_schema_from_json(yyjson_doc_get_root(doc), arena, out, err);
    yyjson_doc_free(doc);
    return status;
}

/* ---- partition specs ---- */

/* v3 may name several sources; one is read as such, more make a transform that is not known here. */
static tl_status read_sources(yyjson_val *val, tl_partition_field *f, tl_error *err) {
    yyjson_val *sources;
    int32_t n;
    if (tl_json_get(val, "source-id")) {
        return tl_json_i32(val, "partition field", "source-id", NULL, &f->source_id, err);
    }
    TL_TRY(tl_json_array(val, "partition field", "source-ids", true, &sources, &n, err));
    yyjson_val *first = yyjson_arr_get_first(sources);
    if (!yyjson_is_int(first) || yyjson_get_sint(first) < 0 || yyjson_get_sint(first) > INT32_MAX) {
        return tl_fail(err, TL_CORRUPT, "partition field: \"source-ids\" is not a list of field ids");
    }
    f->source_id = (int32_t)yyjson_get_sint(first);
    if (n > 1) {
        f->transform = TL_TRANSFORM_UNKNOWN;
    }
    return TL_OK;
}

tl_status tl_spec_fields_from_json(yyjson_val *fields, tl_arena *arena, tl_partition_spec *out, tl_error *err) {
    if (!yyjson_is_arr(fields) || yyjson_arr_size(fields) > INT16_MAX) {
        return tl_fail(err, TL_CORRUPT, "partition spec: the fields are not a list");
    }
    int32_t n = (int32_t)yyjson_arr_size(fields);
    out->fields = tl_arena_array(arena, (size_t)n, sizeof *out->fields);
    if (!out->fields) {
        return tl_fail_memory(err, 0);
    }
    out->n_fields = n;
    size_t i, max;
    yyjson_val *val;
    yyjson_arr_foreach(fields, i, max, val) {
        tl_partition_field *f = &out->fields[i];
        int32_t id = 1000 + (int32_t)i;
        TL_TRY(tl_json_object(val, "partition field", err));
        TL_TRY(tl_json_text(val, "partition field", "name", true, arena, &f->name, err));
        TL_TRY(tl_json_text(val, "partition field", "transform", true, arena, &f->text, err));
        TL_TRY(tl_json_i32(val, "partition field", "field-id", &id, &f->field_id, err));
        f->transform = tl_transform_parse(tl_bytes_of(f->text), &f->param);
        TL_TRY(read_sources(val, f, err));
    }
    return TL_OK;
}

static tl_status write_spec_field(const tl_partition_field *f, tl_buf *out, tl_error *err) {
    TL_TRY(tl_buf_printf(out, "{\"source-id\":%d,\"field-id\":%d,\"name\":", f->source_id, f->field_id));
    TL_TRY(tl_json_put_string(out, f->name, err));
    TL_TRY(tl_buf_add_text(out, ",\"transform\":"));
    if (f->text) {
        TL_TRY(tl_json_put_string(out, f->text, err));
    } else {
        TL_TRY(tl_buf_add_byte(out, '"'));
        TL_TRY(tl_transform_print(f->transform, f->param, out));
        TL_TRY(tl_buf_add_byte(out, '"'));
    }
    return tl_buf_add_byte(out, '}');
}

tl_status tl_spec_fields_write_json(const tl_partition_spec *spec, tl_buf *out, tl_error *err) {
    TL_TRY(tl_buf_add_byte(out, '['));
    for (int32_t i = 0; i < spec->n_fields; i++) {
        if (i) {
            TL_TRY(tl_buf_add_byte(out, ','));
        }
        TL_TRY(write_spec_field(&spec->fields[i], out, err));
    }
    return tl_buf_add_byte(out, ']');
}

/* ---- schemas out ---- */

static tl_status write_fields(const tl_field *fields, int32_t n, int depth, tl_buf *out, tl_error *err);

static const char *bool_text(bool v) {
    return v ? "true" : "false";
}

static tl_status write_type(const tl_type *type, int depth, tl_buf *out, tl_error *err) {
    if (depth > TL_TYPE_MAX_DEPTH) {
        return tl_fail(err, TL_INVALID, "types nested deeper than %d are not written", TL_TYPE_MAX_DEPTH);
    }
    const tl_field *f = type->fields;
    switch (type->id) {
    case TL_TYPE_STRUCT:
        TL_TRY(tl_buf_add_text(out, "{\"type\":\"struct\",\"fields\":"));
        TL_TRY(write_fields(f, type->n_fields, depth + 1, out, err));
        return tl_buf_add_byte(out, '}');
    case TL_TYPE_LIST:
        TL_TRY(tl_buf_printf(out, "{\"type\":\"list\",\"element-id\":%d,\"element-required\":%s,\"element\":", f[0].id,
                             bool_text(f[0].required)));
        TL_TRY(write_type(&f[0].type, depth + 1, out, err));
        return tl_buf_add_byte(out, '}');
    case TL_TYPE_MAP:
        TL_TRY(tl_buf_printf(out, "{\"type\":\"map\",\"key-id\":%d,\"key\":", f[0].id));
        TL_TRY(write_type(&f[0].type, depth + 1, out, err));
        TL_TRY(
            tl_buf_printf(out, ",\"value-id\":%d,\"value-required\":%s,\"value\":", f[1].id, bool_text(f[1].required)));
        TL_TRY(write_type(&f[1].type, depth + 1, out, err));
        return tl_buf_add_byte(out, '}');
    default:
        TL_TRY(tl_buf_add_byte(out, '"'));
        TL_TRY(tl_type_print(type, out));
        return tl_buf_add_byte(out, '"');
    }
}

static tl_status write_fields(const tl_field *fields, int32_t n, int depth, tl_buf *out, tl_error *err) {
    TL_TRY(tl_buf_add_byte(out, '['));
    for (int32_t i = 0; i < n; i++) {
        const tl_field *f = &fields[i];
        TL_TRY(tl_buf_printf(out, "%s{\"id\":%d,\"name\":", i ? "," : "", f->id));
        TL_TRY(tl_json_put_string(out, f->name, err));
        TL_TRY(tl_buf_printf(out, ",\"required\":%s,\"type\":", bool_text(f->required)));
        TL_TRY(write_type(&f->type, depth, out, err));
        if (f->doc) {
            TL_TRY(tl_buf_add_text(out, ",\"doc\":"));
            TL_TRY(tl_json_put_string(out, f->doc, err));
        }
        TL_TRY(tl_json_put_extra(out, f->extra_json, err));
        TL_TRY(tl_buf_add_byte(out, '}'));
    }
    return tl_buf_add_byte(out, ']');
}

tl_status tl_schema_write_json(const tl_schema *schema, tl_buf *out, tl_error *err) {
    TL_TRY(tl_buf_printf(out, "{\"schema-id\":%d,\"type\":\"struct\",\"fields\":", schema->schema_id));
    TL_TRY(write_fields(schema->fields, schema->n_fields, 1, out, err));
    TL_TRY(tl_json_put_extra(out, schema->extra_json, err));
    return tl_buf_add_byte(out, '}');
}
