/* The Schema message of Arrow IPC as an ArrowSchema. */
#include <inttypes.h>
#include <stdio.h>

#include "arrow/ipc_internal.h"
#include "base/mem.h"

/* In all levels together: fields of a hostile message can all point to one field, name or metadata. */
enum { MAX_FIELDS = 1000000, MAX_TEXT = 64 << 20 };

/* ---- building and releasing ---- */

static void schema_release(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i] && s->children[i]->release) {
            s->children[i]->release(s->children[i]);
        }
        tl_free(s->children[i]);
    }
    if (s->dictionary && s->dictionary->release) {
        s->dictionary->release(s->dictionary);
    }
    tl_free(s->dictionary);
    tl_free(s->children);
    tl_free((void *)(uintptr_t)s->format);
    tl_free((void *)(uintptr_t)s->name);
    tl_free((void *)(uintptr_t)s->metadata);
    s->release = NULL;
}

static tl_status set_text(const char **to, tl_bytes text, tl_error *err) {
    *to = tl_strndup((const char *)text.data, text.len);
    return *to ? TL_OK : tl_fail_memory(err, text.len + 1);
}

static tl_status add_children(struct ArrowSchema *s, int64_t n, tl_error *err) {
    s->children = tl_calloc((size_t)n, sizeof *s->children);
    if (!s->children) {
        return tl_fail_memory(err, (size_t)n * sizeof *s->children);
    }
    s->n_children = n;
    for (int64_t i = 0; i < n; i++) {
        if (!(s->children[i] = tl_calloc(1, sizeof **s->children))) {
            return tl_fail_memory(err, sizeof **s->children);
        }
    }
    return TL_OK;
}

/* ---- types ---- */

/* The union of types in Schema.fbs. */
enum {
    TYPE_NULL = 1,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BINARY,
    TYPE_UTF8,
    TYPE_BOOL,
    TYPE_DECIMAL,
    TYPE_DATE,
    TYPE_TIME,
    TYPE_TIMESTAMP,
    TYPE_INTERVAL,
    TYPE_LIST,
    TYPE_STRUCT,
    TYPE_UNION,
    TYPE_FIXED_BINARY,
    TYPE_FIXED_LIST,
    TYPE_MAP,
    TYPE_DURATION,
    TYPE_LARGE_BINARY,
    TYPE_LARGE_UTF8,
    TYPE_LARGE_LIST,
    TYPE_RUN_END,
    TYPE_BINARY_VIEW,
    TYPE_UTF8_VIEW,
    TYPE_LIST_VIEW,
    TYPE_LARGE_LIST_VIEW
};

static const char *const plain[] = {
    [TYPE_NULL] = "n",        [TYPE_BINARY] = "z",       [TYPE_UTF8] = "u",
    [TYPE_BOOL] = "b",        [TYPE_LIST] = "+l",        [TYPE_STRUCT] = "+s",
    [TYPE_MAP] = "+m",        [TYPE_LARGE_BINARY] = "Z", [TYPE_LARGE_UTF8] = "U",
    [TYPE_LARGE_LIST] = "+L", [TYPE_RUN_END] = "+r",     [TYPE_BINARY_VIEW] = "vz",
    [TYPE_UTF8_VIEW] = "vu",  [TYPE_LIST_VIEW] = "+vl",  [TYPE_LARGE_LIST_VIEW] = "+vL",
};

static char int_format(tl_flat_table type) {
    bool is_signed = tl_flat_int(type, 1, 1, 0) != 0;
    switch (tl_flat_int(type, 0, 4, 0)) {
    case 8: return is_signed ? 'c' : 'C';
    case 16: return is_signed ? 's' : 'S';
    case 32: return is_signed ? 'i' : 'I';
    case 64: return is_signed ? 'l' : 'L';
    default: return 'x'; /* unknown to the import of types */
    }
}

/* One of the letters of a unit, 'x' when it is out of range. */
static char letter(int64_t i, const char *letters) {
    return i >= 0 && i < (int64_t)strlen(letters) ? letters[i] : 'x';
}

static tl_status timestamp_format(tl_flat_table type, const char **out, tl_error *err) {
    tl_bytes zone = tl_flat_text(type, 1);
    char *text = tl_alloc(zone.len + 5);
    if (!text) {
        return tl_fail_memory(err, zone.len + 5);
    }
    memcpy(text, "ts?:", 4);
    text[2] = letter(tl_flat_int(type, 0, 2, 0), "smun");
    if (zone.len) {
        memcpy(text + 4, zone.data, zone.len);
    }
    text[4 + zone.len] = '\0';
    *out = text;
    return TL_OK;
}

static tl_status format_of(int64_t kind, tl_flat_table type, const char **out, tl_error *err) {
    char text[64];
    int64_t unit;
    if (kind > 0 && kind < (int64_t)TL_COUNT(plain) && plain[kind]) {
        return set_text(out, tl_bytes_of(plain[kind]), err);
    }
    switch (kind) {
    case TYPE_INT: (void)snprintf(text, sizeof text, "%c", int_format(type)); break;
    case TYPE_FLOAT: (void)snprintf(text, sizeof text, "%c", letter(tl_flat_int(type, 0, 2, 0), "efg")); break;
    case TYPE_DECIMAL:
        (void)snprintf(text, sizeof text, "d:%" PRId64 ",%" PRId64 ",%" PRId64, tl_flat_int(type, 0, 4, 0),
                       tl_flat_int(type, 1, 4, 0), tl_flat_int(type, 2, 4, 128));
        break;
    case TYPE_DATE: (void)snprintf(text, sizeof text, "td%c", letter(tl_flat_int(type, 0, 2, 1), "Dm")); break;
    case TYPE_TIME:
        unit = tl_flat_int(type, 0, 2, 1);
        (void)snprintf(text, sizeof text, "tt%c",
                       tl_flat_int(type, 1, 4, 32) == (unit < 2 ? 32 : 64) ? letter(unit, "smun") : 'x');
        break;
    case TYPE_TIMESTAMP: return timestamp_format(type, out, err);
    case TYPE_DURATION: (void)snprintf(text, sizeof text, "tD%c", letter(tl_flat_int(type, 0, 2, 1), "smun")); break;
    case TYPE_INTERVAL: (void)snprintf(text, sizeof text, "ti%c", letter(tl_flat_int(type, 0, 2, 0), "MDn")); break;
    case TYPE_FIXED_BINARY: (void)snprintf(text, sizeof text, "w:%" PRId64, tl_flat_int(type, 0, 4, 0)); break;
    case TYPE_FIXED_LIST: (void)snprintf(text, sizeof text, "+w:%" PRId64, tl_flat_int(type, 0, 4, 0)); break;
    case TYPE_UNION: return tl_fail(err, TL_UNSUPPORTED, "Arrow unions are not read");
    default: return tl_fail(err, TL_UNSUPPORTED, "the Arrow IPC type number %" PRId64 " is not known", kind);
    }
    return set_text(out, tl_bytes_of(text), err);
}

/* Key-value metadata in the form of the C data interface: counts and lengths as int32. */
static tl_status add_metadata(struct ArrowSchema *s, tl_flat_table field, int slot, size_t *total, tl_error *err) {
    tl_flat_vector pairs = tl_flat_list(field, slot, 4);
    if (pairs.n == 0) {
        return TL_OK;
    }
    tl_buf b = {0};
    uint8_t number[4];
    tl_store_u32(number, (uint32_t)pairs.n);
    tl_status status = tl_buf_add(&b, number, 4);
    for (uint64_t i = 0; i < pairs.n && status == TL_OK; i++) {
        tl_flat_table pair = tl_flat_at(field.flat, pairs, i);
        for (int part = 0; part < 2 && status == TL_OK; part++) {
            tl_bytes text = tl_flat_text(pair, part);
            tl_store_u32(number, (uint32_t)text.len);
            status = tl_buf_add(&b, number, 4);
            status = status == TL_OK ? tl_buf_add(&b, text.data, text.len) : status;
            status = status == TL_OK && b.len > MAX_TEXT ? TL_INVALID : status;
        }
    }
    if (status != TL_OK) {
        tl_buf_free(&b);
        return status == TL_INVALID ? tl_fail(err, status, "the Arrow IPC metadata is beyond reason")
                                    : tl_fail_memory(err, b.len);
    }
    s->metadata = (const char *)b.data;
    *total += b.len;
    return TL_OK;
}

/* ---- fields ---- */

typedef struct builder {
    tl_arena *arena;
    int64_t fields;
    size_t text; /* bytes of names, formats and metadata */
    tl_error *err;
} builder;

static tl_status build_field(builder *b, tl_flat_table field, int depth, struct ArrowSchema *s, tl_ipc_field *out);

static tl_status build_children(builder *b, tl_flat *flat, tl_flat_vector children, int depth, struct ArrowSchema *s,
                                tl_ipc_field *out) {
    b->fields += (int64_t)children.n;
    if (depth > TL_ARROW_MAX_DEPTH || b->fields > MAX_FIELDS) {
        return tl_fail(b->err, TL_INVALID, "the Arrow IPC schema has too many fields or levels");
    }
    out->n_children = (int64_t)children.n;
    out->children = tl_arena_array(b->arena, children.n, sizeof *out->children);
    if (!out->children) {
        return tl_fail_memory(b->err, children.n * sizeof *out->children);
    }
    TL_TRY(add_children(s, (int64_t)children.n, b->err));
    for (uint64_t i = 0; i < children.n; i++) {
        TL_TRY(build_field(b, tl_flat_at(flat, children, i), depth + 1, s->children[i], &out->children[i]));
    }
    return TL_OK;
}

static tl_status build_field(builder *b, tl_flat_table field, int depth, struct ArrowSchema *s, tl_ipc_field *out) {
    if (!field.flat) {
        return tl_fail(b->err, TL_INVALID, "the Arrow IPC schema is broken");
    }
    s->release = schema_release;
    s->flags = tl_flat_int(field, 1, 1, 0) ? ARROW_FLAG_NULLABLE : 0;
    tl_bytes name = tl_flat_text(field, 0);
    TL_TRY(set_text(&s->name, name, b->err));
    TL_TRY(add_metadata(s, field, 6, &b->text, b->err));
    int64_t kind = tl_flat_int(field, 2, 1, 0);
    tl_flat_table type = tl_flat_child(field, 3), dictionary = tl_flat_child(field, 4);
    tl_flat_vector children = tl_flat_list(field, 5, 4);
    struct ArrowSchema *values = s;
    if (dictionary.flat) {
        tl_flat_table index = tl_flat_child(dictionary, 1);
        char format[2] = {index.flat ? int_format(index) : 'i', '\0'};
        TL_TRY(set_text(&s->format, tl_bytes_of(format), b->err));
        if (!(s->dictionary = tl_calloc(1, sizeof *s->dictionary))) {
            return tl_fail_memory(b->err, sizeof *s->dictionary);
        }
        out->has_dictionary = true;
        out->dictionary = tl_flat_int(dictionary, 0, 8, 0);
        values = s->dictionary;
        values->release = schema_release;
        values->flags = ARROW_FLAG_NULLABLE;
        TL_TRY(set_text(&values->name, (tl_bytes){NULL, 0}, b->err));
    }
    TL_TRY(format_of(kind, type, &values->format, b->err));
    b->text += name.len + strlen(values->format);
    if (b->text > MAX_TEXT) {
        return tl_fail(b->err, TL_INVALID, "the names and metadata of the Arrow IPC schema are beyond reason");
    }
    return build_children(b, field.flat, children, depth, values, out);
}

tl_status tl_ipc_schema(tl_flat_table schema, tl_arena *arena, struct ArrowSchema *out, tl_ipc_field *fields,
                        tl_error *err) {
    memset(out, 0, sizeof *out);
    *fields = (tl_ipc_field){0};
    if (!schema.flat) {
        return tl_fail(err, TL_INVALID, "the Arrow IPC schema is broken");
    }
    if (tl_flat_int(schema, 0, 2, 0) != 0) {
        return tl_fail(err, TL_UNSUPPORTED, "Arrow IPC data of big-endian machines is not read");
    }
    builder b = {arena, 0, 0, err};
    out->release = schema_release;
    tl_status status = set_text(&out->name, (tl_bytes){NULL, 0}, err);
    status = status == TL_OK ? set_text(&out->format, tl_bytes_of("+s"), err) : status;
    status = status == TL_OK ? add_metadata(out, schema, 2, &b.text, err) : status;
    status = status == TL_OK ? build_children(&b, schema.flat, tl_flat_list(schema, 1, 4), 0, out, fields) : status;
    if (status == TL_OK && schema.flat->bad) {
        status = tl_fail(err, TL_INVALID, "the Arrow IPC schema is broken: an offset leads out of the message");
    }
    if (status != TL_OK) {
        out->release(out);
    }
    return status;
}
