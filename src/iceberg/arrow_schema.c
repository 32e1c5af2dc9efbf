/*
 * Iceberg's schema as an Arrow schema (C data interface). Comes in: a tl_schema. Goes out: a tree of ArrowSchema whose
 * memory is of this library; `release` gives it back.
 */
#include <stdio.h>

#include "iceberg/parquet_schema.h"

static void release_schema(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++) {
        struct ArrowSchema *child = s->children[i];
        if (child && child->release) {
            child->release(child);
        }
        tl_free(child);
    }
    tl_free(s->children);
    tl_free((void *)(uintptr_t)s->format);
    tl_free((void *)(uintptr_t)s->name);
    tl_free((void *)(uintptr_t)s->metadata);
    memset(s, 0, sizeof *s);
}

static tl_status put_i32(tl_buf *out, size_t v) {
    int32_t n = (int32_t)v;
    return tl_buf_add(out, &n, sizeof n);
}

static tl_status put_pair(tl_buf *out, const char *key, const char *value) {
    TL_TRY(put_i32(out, strlen(key)));
    TL_TRY(tl_buf_add_text(out, key));
    TL_TRY(put_i32(out, strlen(value)));
    return tl_buf_add_text(out, value);
}

static tl_status put_metadata(tl_buf *out, int32_t field_id, bool uuid) {
    char id[16];
    (void)snprintf(id, sizeof id, "%d", field_id);
    TL_TRY(put_i32(out, uuid ? 3 : 1));
    TL_TRY(put_pair(out, "PARQUET:field_id", id));
    if (uuid) {
        TL_TRY(put_pair(out, "ARROW:extension:name", "arrow.uuid"));
        TL_TRY(put_pair(out, "ARROW:extension:metadata", ""));
    }
    return TL_OK;
}

static tl_status set_metadata(struct ArrowSchema *s, int32_t field_id, bool uuid) {
    tl_buf out = {0};
    tl_status status = put_metadata(&out, field_id, uuid);
    if (status != TL_OK) {
        tl_buf_free(&out);
        return status;
    }
    s->metadata = (const char *)out.data;
    return TL_OK;
}

static char *format_of(const tl_type *t) {
    switch (t->id) {
    case TL_TYPE_BOOLEAN: return tl_strdup("b");
    case TL_TYPE_INT: return tl_strdup("i");
    case TL_TYPE_LONG: return tl_strdup("l");
    case TL_TYPE_FLOAT: return tl_strdup("f");
    case TL_TYPE_DOUBLE: return tl_strdup("g");
    case TL_TYPE_DECIMAL: return tl_format("d:%d,%d", t->precision, t->scale);
    case TL_TYPE_DATE: return tl_strdup("tdD");
    case TL_TYPE_TIME: return tl_strdup("ttu");
    case TL_TYPE_TIMESTAMP: return tl_strdup("tsu:");
    case TL_TYPE_TIMESTAMPTZ: return tl_strdup("tsu:UTC");
    case TL_TYPE_STRING: return tl_strdup("u");
    case TL_TYPE_UUID: return tl_strdup("w:16");
    case TL_TYPE_FIXED: return tl_format("w:%d", t->length);
    case TL_TYPE_BINARY: return tl_strdup("z");
    case TL_TYPE_LIST: return tl_strdup("+l");
    case TL_TYPE_MAP: return tl_strdup("+m");
    case TL_TYPE_STRUCT: break;
    }
    return tl_strdup("+s");
}

static tl_status make_children(struct ArrowSchema *s, int64_t n) {
    s->children = tl_calloc((size_t)n, sizeof *s->children);
    if (!s->children) {
        return TL_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        s->children[i] = tl_calloc(1, sizeof **s->children);
        s->n_children = i + 1;
        if (!s->children[i]) {
            return TL_NO_MEMORY;
        }
    }
    return TL_OK;
}

static tl_status make_node(struct ArrowSchema *s, char *format, const char *name, bool nullable) {
    s->release = release_schema;
    s->format = format;
    s->name = tl_strdup(name);
    s->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    return s->format && s->name ? TL_OK : TL_NO_MEMORY;
}

static tl_status fill_field(struct ArrowSchema *s, const tl_field *f, const char *name, int depth);

static tl_status fill_children(struct ArrowSchema *s, const tl_field *fields, int32_t n, int depth) {
    TL_TRY(make_children(s, n));
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(fill_field(s->children[i], &fields[i], fields[i].name, depth + 1));
    }
    return TL_OK;
}

static tl_status fill_field(struct ArrowSchema *s, const tl_field *f, const char *name, int depth) {
    const tl_type *t = &f->type;
    if (depth > TL_TYPE_MAX_DEPTH) {
        return TL_UNSUPPORTED;
    }
    TL_TRY(make_node(s, format_of(t), name, !f->required));
    TL_TRY(set_metadata(s, f->id, t->id == TL_TYPE_UUID));
    switch (t->id) {
    case TL_TYPE_STRUCT: return fill_children(s, t->fields, t->n_fields, depth);
    case TL_TYPE_LIST:
        TL_TRY(make_children(s, 1));
        return fill_field(s->children[0], &t->fields[0], "element", depth + 1);
    case TL_TYPE_MAP:
        TL_TRY(make_children(s, 1));
        TL_TRY(make_node(s->children[0], tl_strdup("+s"), "entries", false));
        TL_TRY(make_children(s->children[0], 2));
        TL_TRY(fill_field(s->children[0]->children[0], &t->fields[0], "key", depth + 1));
        return fill_field(s->children[0]->children[1], &t->fields[1], "value", depth + 1);
    default: return TL_OK;
    }
}

/* Gives back what a failed build made, with the message of the failure. */
static tl_status give_up(struct ArrowSchema *s, tl_status status, tl_error *err) {
    if (s->release) {
        release_schema(s);
    }
    return status == TL_NO_MEMORY ? tl_fail_memory(err, sizeof *s)
                                  : tl_fail(err, status, "the schema is nested deeper than %d", TL_TYPE_MAX_DEPTH);
}

tl_status tl_iceberg_arrow_field(const tl_field *field, struct ArrowSchema *out, tl_error *err) {
    memset(out, 0, sizeof *out);
    tl_status status = fill_field(out, field, field->name, 1);
    return status == TL_OK ? TL_OK : give_up(out, status, err);
}

tl_status tl_iceberg_arrow_schema(const tl_schema *schema, struct ArrowSchema *out, tl_error *err) {
    memset(out, 0, sizeof *out);
    tl_status status = make_node(out, tl_strdup("+s"), "", false);
    status = status == TL_OK ? fill_children(out, schema->fields, schema->n_fields, 0) : status;
    return status == TL_OK ? TL_OK : give_up(out, status, err);
}
