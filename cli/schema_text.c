/* The text of --schema; see schema_text.h. */
#include "cli/schema_text.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_FIELDS = 10000 };

typedef struct parser {
    const char *text, *at;
    tl_error *err;
} parser;

static const struct {
    const char *name;
    enum ArrowType type;
    const char *zone; /* timestamps */
} types[] = {
    {"int", NANOARROW_TYPE_INT32, NULL},          {"integer", NANOARROW_TYPE_INT32, NULL},
    {"int32", NANOARROW_TYPE_INT32, NULL},        {"bigint", NANOARROW_TYPE_INT64, NULL},
    {"long", NANOARROW_TYPE_INT64, NULL},         {"int64", NANOARROW_TYPE_INT64, NULL},
    {"double", NANOARROW_TYPE_DOUBLE, NULL},      {"float64", NANOARROW_TYPE_DOUBLE, NULL},
    {"float", NANOARROW_TYPE_FLOAT, NULL},        {"real", NANOARROW_TYPE_FLOAT, NULL},
    {"float32", NANOARROW_TYPE_FLOAT, NULL},      {"string", NANOARROW_TYPE_STRING, NULL},
    {"text", NANOARROW_TYPE_STRING, NULL},        {"varchar", NANOARROW_TYPE_STRING, NULL},
    {"utf8", NANOARROW_TYPE_STRING, NULL},        {"bool", NANOARROW_TYPE_BOOL, NULL},
    {"boolean", NANOARROW_TYPE_BOOL, NULL},       {"date", NANOARROW_TYPE_DATE32, NULL},
    {"time", NANOARROW_TYPE_TIME64, NULL},        {"timestamp", NANOARROW_TYPE_TIMESTAMP, NULL},
    {"datetime", NANOARROW_TYPE_TIMESTAMP, NULL}, {"timestamptz", NANOARROW_TYPE_TIMESTAMP, "UTC"},
    {"binary", NANOARROW_TYPE_BINARY, NULL},      {"bytes", NANOARROW_TYPE_BINARY, NULL},
    {"blob", NANOARROW_TYPE_BINARY, NULL},        {"varbinary", NANOARROW_TYPE_BINARY, NULL},
};

static tl_status bad(const parser *p, const char *what) {
    return tl_fail(p->err, TL_INVALID, "--schema: %s at character %d: \"%.40s\"", what, (int)(p->at - p->text) + 1,
                   p->at);
}

static tl_status no_memory(const parser *p) {
    return tl_fail_memory(p->err, 64);
}

static void blanks(parser *p) {
    p->at += strspn(p->at, " \t\r\n");
}

static bool accept(parser *p, char c) {
    blanks(p);
    if (*p->at == c) {
        p->at++;
        return true;
    }
    return false;
}

/* Letters, digits and '_' into `out`, in lower case. */
static void word(parser *p, char *out, size_t size) {
    size_t n = 0;
    blanks(p);
    while ((*p->at >= 'a' && *p->at <= 'z') || (*p->at >= 'A' && *p->at <= 'Z') || (*p->at >= '0' && *p->at <= '9') ||
           *p->at == '_') {
        if (n + 1 < size) {
            out[n++] = *p->at >= 'A' && *p->at <= 'Z' ? (char)(*p->at + 32) : *p->at;
        }
        p->at++;
    }
    out[n] = 0;
}

static bool number(parser *p, int32_t *out) {
    blanks(p);
    int64_t n = 0;
    const char *from = p->at;
    while (*p->at >= '0' && *p->at <= '9' && n < 1000000000) {
        n = n * 10 + (*p->at++ - '0');
    }
    *out = (int32_t)n;
    return p->at > from && n < 1000000000;
}

static tl_status parse_type(parser *p, int depth, struct ArrowSchema *out);
static tl_status parse_fields(parser *p, int depth, char end, struct ArrowSchema *out);

static tl_status parse_name(parser *p, char **out) {
    tl_buf name = {0};
    blanks(p);
    bool quoted = *p->at == '"';
    p->at += quoted;
    while (*p->at && (quoted ? *p->at != '"' || p->at[1] == '"' : *p->at != ':' && *p->at != ',')) {
        if (tl_buf_add_byte(&name, (uint8_t)*p->at) != TL_OK) {
            tl_buf_free(&name);
            return no_memory(p);
        }
        p->at += quoted && *p->at == '"' ? 2 : 1;
    }
    while (!quoted && name.len && (name.data[name.len - 1] == ' ' || name.data[name.len - 1] == '\t')) {
        name.len--;
    }
    bool ended = !quoted || accept(p, '"');
    if (!ended || name.len == 0) {
        tl_buf_free(&name);
        return bad(p, ended ? "a column name is missing" : "a quoted name does not end");
    }
    *out = tl_buf_take_text(&name);
    return *out ? TL_OK : no_memory(p);
}

static tl_status parse_decimal(parser *p, struct ArrowSchema *out) {
    int32_t precision = 38, scale = 0;
    if (accept(p, '(')) {
        if (!number(p, &precision) || (accept(p, ',') && !number(p, &scale)) || !accept(p, ')')) {
            return bad(p, "decimal wants (precision, scale)");
        }
    }
    if (precision < 1 || precision > 38 || scale > precision) {
        return bad(p, "a decimal has 1 to 38 digits, and no more of them behind the point");
    }
    return ArrowSchemaSetTypeDecimal(out, NANOARROW_TYPE_DECIMAL128, precision, scale) == NANOARROW_OK ? TL_OK
                                                                                                       : no_memory(p);
}

static tl_status parse_fixed(parser *p, struct ArrowSchema *out) {
    int32_t size;
    bool square = accept(p, '[');
    if ((!square && !accept(p, '(')) || !number(p, &size) || size < 1 || !accept(p, square ? ']' : ')')) {
        return bad(p, "fixed wants [bytes]");
    }
    return ArrowSchemaSetTypeFixedSize(out, NANOARROW_TYPE_FIXED_SIZE_BINARY, size) == NANOARROW_OK ? TL_OK
                                                                                                    : no_memory(p);
}

static tl_status parse_uuid(parser *p, struct ArrowSchema *out) {
    struct ArrowBuffer metadata;
    if (ArrowSchemaSetTypeFixedSize(out, NANOARROW_TYPE_FIXED_SIZE_BINARY, 16) != NANOARROW_OK ||
        ArrowMetadataBuilderInit(&metadata, NULL) != NANOARROW_OK) {
        return no_memory(p);
    }
    int code =
        ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:name"), ArrowCharView("arrow.uuid"));
    if (code == NANOARROW_OK) {
        code = ArrowSchemaSetMetadata(out, (const char *)metadata.data);
    }
    ArrowBufferReset(&metadata);
    return code == NANOARROW_OK ? TL_OK : no_memory(p);
}

static tl_status parse_list(parser *p, int depth, struct ArrowSchema *out) {
    if (!accept(p, '<')) {
        return bad(p, "list wants <type>");
    }
    if (ArrowSchemaSetType(out, NANOARROW_TYPE_LIST) != NANOARROW_OK) {
        return no_memory(p);
    }
    TL_TRY(parse_type(p, depth + 1, out->children[0]));
    if (ArrowSchemaSetName(out->children[0], "element") != NANOARROW_OK) {
        return no_memory(p);
    }
    return accept(p, '>') ? TL_OK : bad(p, "'>' is missing");
}

static tl_status parse_map(parser *p, int depth, struct ArrowSchema *out) {
    if (!accept(p, '<')) {
        return bad(p, "map wants <key type, value type>");
    }
    if (ArrowSchemaSetType(out, NANOARROW_TYPE_MAP) != NANOARROW_OK) {
        return no_memory(p);
    }
    struct ArrowSchema *entry = out->children[0];
    TL_TRY(parse_type(p, depth + 1, entry->children[0]));
    entry->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    if (!accept(p, ',')) {
        return bad(p, "map wants <key type, value type>");
    }
    TL_TRY(parse_type(p, depth + 1, entry->children[1]));
    if (ArrowSchemaSetName(entry->children[0], "key") != NANOARROW_OK ||
        ArrowSchemaSetName(entry->children[1], "value") != NANOARROW_OK) {
        return no_memory(p);
    }
    return accept(p, '>') ? TL_OK : bad(p, "'>' is missing");
}

static tl_status parse_type(parser *p, int depth, struct ArrowSchema *out) {
    if (depth > MAX_DEPTH) {
        return bad(p, "types are nested too deep");
    }
    const char *from = p->at;
    char name[32];
    word(p, name, sizeof name);
    if (strcmp(name, "decimal") == 0 || strcmp(name, "numeric") == 0) {
        return parse_decimal(p, out);
    }
    if (strcmp(name, "fixed") == 0) {
        return parse_fixed(p, out);
    }
    if (strcmp(name, "uuid") == 0) {
        return parse_uuid(p, out);
    }
    if (strcmp(name, "list") == 0) {
        return parse_list(p, depth, out);
    }
    if (strcmp(name, "map") == 0) {
        return parse_map(p, depth, out);
    }
    if (strcmp(name, "struct") == 0) {
        return accept(p, '<') ? parse_fields(p, depth + 1, '>', out) : bad(p, "struct wants <name:type, ...>");
    }
    for (size_t i = 0; i < TL_COUNT(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            int code = types[i].type == NANOARROW_TYPE_TIMESTAMP || types[i].type == NANOARROW_TYPE_TIME64
                           ? ArrowSchemaSetTypeDateTime(out, types[i].type, NANOARROW_TIME_UNIT_MICRO, types[i].zone)
                           : ArrowSchemaSetType(out, types[i].type);
            return code == NANOARROW_OK ? TL_OK : no_memory(p);
        }
    }
    p->at = from;
    return bad(p, "unknown type");
}

/* name:type [not null] */
static tl_status parse_field(parser *p, int depth, struct ArrowSchema *out) {
    char *name = NULL, next[32];
    TL_TRY(parse_name(p, &name));
    int code = ArrowSchemaSetName(out, name);
    tl_free(name);
    if (code != NANOARROW_OK) {
        return no_memory(p);
    }
    if (!accept(p, ':')) {
        return bad(p, "':' and a type are missing");
    }
    TL_TRY(parse_type(p, depth, out));
    const char *from = p->at;
    word(p, next, sizeof next);
    if (strcmp(next, "not") == 0) {
        word(p, next, sizeof next);
        if (strcmp(next, "null") == 0) {
            out->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
            return TL_OK;
        }
    }
    p->at = from;
    return TL_OK;
}

static tl_status parse_fields(parser *p, int depth, char end, struct ArrowSchema *out) {
    if (ArrowSchemaSetTypeStruct(out, 0) != NANOARROW_OK) {
        return no_memory(p);
    }
    do {
        if (out->n_children >= MAX_FIELDS) {
            return bad(p, "too many columns");
        }
        int64_t n = out->n_children;
        struct ArrowSchema **children = ArrowRealloc(out->children, (n + 1) * (int64_t)sizeof *children);
        if (!children) {
            return no_memory(p);
        }
        out->children = children;
        out->children[n] = ArrowMalloc(sizeof *out->children[n]);
        if (!out->children[n]) {
            return no_memory(p);
        }
        ArrowSchemaInit(out->children[n]);
        out->n_children++;
        TL_TRY(parse_field(p, depth, out->children[n]));
    } while (accept(p, ','));
    blanks(p);
    if (end ? !accept(p, end) : *p->at) {
        return bad(p, end ? "'>' is missing" : "',' is missing");
    }
    return TL_OK;
}

tl_status tl_schema_from_text(const char *text, struct ArrowSchema *out, tl_error *err) {
    parser p = {text, text, err};
    ArrowSchemaInit(out);
    tl_status status = parse_fields(&p, 0, 0, out);
    if (status != TL_OK && out->release) {
        out->release(out);
    }
    return status;
}
