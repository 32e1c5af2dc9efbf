/* Reads the format strings of the Arrow C data interface. */
#include "arrow/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

enum { MAX_CHILDREN = 1000000 }; /* a count beyond it is a broken schema, not a table */

typedef struct simple {
    const char *format;
    tl_arrow_id id;
    int32_t width;
    int64_t per_second;
} simple;

static const simple simples[] = {
    {"n", TL_ARROW_NULL, 0, 0},
    {"b", TL_ARROW_BOOL, 0, 0},
    {"c", TL_ARROW_INT8, 1, 0},
    {"C", TL_ARROW_UINT8, 1, 0},
    {"s", TL_ARROW_INT16, 2, 0},
    {"S", TL_ARROW_UINT16, 2, 0},
    {"i", TL_ARROW_INT32, 4, 0},
    {"I", TL_ARROW_UINT32, 4, 0},
    {"l", TL_ARROW_INT64, 8, 0},
    {"L", TL_ARROW_UINT64, 8, 0},
    {"e", TL_ARROW_FLOAT16, 2, 0},
    {"f", TL_ARROW_FLOAT32, 4, 0},
    {"g", TL_ARROW_FLOAT64, 8, 0},
    {"u", TL_ARROW_STRING, 0, 0},
    {"U", TL_ARROW_LARGE_STRING, 0, 0},
    {"vu", TL_ARROW_STRING_VIEW, 0, 0},
    {"z", TL_ARROW_BINARY, 0, 0},
    {"Z", TL_ARROW_LARGE_BINARY, 0, 0},
    {"vz", TL_ARROW_BINARY_VIEW, 0, 0},
    {"tdD", TL_ARROW_DATE32, 4, 0},
    {"tdm", TL_ARROW_DATE64, 8, 1000},
    {"tts", TL_ARROW_TIME32, 4, 1},
    {"ttm", TL_ARROW_TIME32, 4, 1000},
    {"ttu", TL_ARROW_TIME64, 8, 1000000},
    {"ttn", TL_ARROW_TIME64, 8, 1000000000},
    {"tDs", TL_ARROW_DURATION, 8, 1},
    {"tDm", TL_ARROW_DURATION, 8, 1000},
    {"tDu", TL_ARROW_DURATION, 8, 1000000},
    {"tDn", TL_ARROW_DURATION, 8, 1000000000},
    {"tiM", TL_ARROW_INTERVAL, 4, 0},
    {"tiD", TL_ARROW_INTERVAL, 8, 0},
    {"tin", TL_ARROW_INTERVAL, 16, 0},
    {"+l", TL_ARROW_LIST, 0, 0},
    {"+L", TL_ARROW_LARGE_LIST, 0, 0},
    {"+vl", TL_ARROW_LIST_VIEW, 0, 0},
    {"+vL", TL_ARROW_LARGE_LIST_VIEW, 0, 0},
    {"+s", TL_ARROW_STRUCT, 0, 0},
    {"+m", TL_ARROW_MAP, 0, 0},
    {"+r", TL_ARROW_RUN_END, 0, 0},
};

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* "123" or "-5" up to the end or `stop`; moves on behind it. */
static bool read_number(const char **p, char stop, int64_t *out) {
    const char *end = strchr(*p, stop);
    size_t len = end ? (size_t)(end - *p) : strlen(*p);
    if (len == 0 || len > 12 || tl_parse_i64((tl_bytes){(const uint8_t *)*p, len}, out) != TL_PARSE_OK) {
        return false;
    }
    *p += len + (end && stop ? 1 : 0);
    return true;
}

static bool read_decimal(const char *format, tl_arrow_type *t) {
    const char *p = format + 2;
    int64_t precision, scale, bits = 128;
    if (!read_number(&p, ',', &precision) || p[-1] != ',') {
        return false;
    }
    bool has_bits = strchr(p, ',') != NULL;
    if (!read_number(&p, ',', &scale) || (has_bits && !read_number(&p, '\0', &bits))) {
        return false;
    }
    static const struct {
        int64_t bits, digits;
        tl_arrow_id id;
    } kinds[] = {{32, 9, TL_ARROW_DECIMAL32},
                 {64, 18, TL_ARROW_DECIMAL64},
                 {128, 38, TL_ARROW_DECIMAL128},
                 {256, 76, TL_ARROW_DECIMAL256}};
    for (size_t i = 0; i < TL_COUNT(kinds); i++) {
        if (kinds[i].bits == bits && precision >= 1 && precision <= kinds[i].digits && scale >= -76 && scale <= 76) {
            t->id = kinds[i].id;
            t->width = (int32_t)(bits / 8);
            t->precision = (int32_t)precision;
            t->scale = (int32_t)scale;
            return true;
        }
    }
    return false;
}

static bool read_timestamp(const char *format, tl_arena *arena, tl_arrow_type *t, bool *no_memory) {
    static const char units[] = "smun";
    const char *unit = format[2] ? strchr(units, format[2]) : NULL;
    if (!unit || format[3] != ':') {
        return false;
    }
    t->id = TL_ARROW_TIMESTAMP;
    t->width = 8;
    t->per_second = 1;
    for (const char *u = units; u < unit; u++) {
        t->per_second *= 1000;
    }
    if (format[4]) {
        t->zone = tl_arena_strdup(arena, format + 4);
        *no_memory = !t->zone;
    }
    return true;
}

static bool read_format(const char *format, tl_arena *arena, tl_arrow_type *t, bool *no_memory) {
    for (size_t i = 0; i < TL_COUNT(simples); i++) {
        if (strcmp(format, simples[i].format) == 0) {
            t->id = simples[i].id;
            t->width = simples[i].width;
            t->per_second = simples[i].per_second;
            return true;
        }
    }
    if (begins(format, "d:")) {
        return read_decimal(format, t);
    }
    if (begins(format, "ts")) {
        return read_timestamp(format, arena, t, no_memory);
    }
    if (begins(format, "+ud:") || begins(format, "+us:")) {
        t->id = TL_ARROW_UNION;
        return true;
    }
    int64_t n;
    const char *p = format + (begins(format, "+w:") ? 3 : 2);
    if ((begins(format, "w:") || begins(format, "+w:")) && read_number(&p, '\0', &n) && n >= 0 && n <= INT32_MAX) {
        t->id = format[0] == 'w' ? TL_ARROW_FIXED_BINARY : TL_ARROW_FIXED_LIST;
        t->width = format[0] == 'w' ? (int32_t)n : 0;
        t->list_size = format[0] == 'w' ? 0 : n;
        return true;
    }
    return false;
}

static bool is_integer(tl_arrow_id id) {
    return id >= TL_ARROW_INT8 && id <= TL_ARROW_UINT64;
}

/* How many children a type must have; -1 = any number. */
static int64_t children_of(tl_arrow_id id) {
    switch (id) {
    case TL_ARROW_LIST:
    case TL_ARROW_LARGE_LIST:
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW:
    case TL_ARROW_FIXED_LIST:
    case TL_ARROW_MAP: return 1;
    case TL_ARROW_RUN_END: return 2;
    case TL_ARROW_STRUCT: return -1;
    default: return 0;
    }
}

static tl_status import(const struct ArrowSchema *s, int depth, tl_arena *arena, tl_arrow_type *out, tl_error *err);

static tl_status import_children(const struct ArrowSchema *s, int depth, tl_arena *arena, tl_arrow_type *out,
                                 tl_error *err) {
    int64_t want = children_of(out->id);
    if (s->n_children < 0 || s->n_children > MAX_CHILDREN || (want >= 0 && s->n_children != want) ||
        (s->n_children > 0 && !s->children)) {
        return tl_fail(err, TL_INVALID,
                       "the Arrow schema of \"%s\" has %" PRId64 " children, which format \"%s\" forbids", out->name,
                       s->n_children, s->format);
    }
    out->n_children = s->n_children;
    out->children = tl_arena_array(arena, (size_t)s->n_children, sizeof *out->children);
    if (!out->children) {
        return tl_fail_memory(err, (size_t)s->n_children * sizeof *out->children);
    }
    for (int64_t i = 0; i < s->n_children; i++) {
        TL_TRY(import(s->children[i], depth + 1, arena, &out->children[i], err));
    }
    if (out->id == TL_ARROW_MAP && (out->children[0].id != TL_ARROW_STRUCT || out->children[0].n_children != 2)) {
        return tl_fail(err, TL_INVALID, "the Arrow map \"%s\" must have a struct of key and value as its entries",
                       out->name);
    }
    if (out->id == TL_ARROW_RUN_END) {
        tl_arrow_id ends = out->children[0].id;
        if (ends != TL_ARROW_INT16 && ends != TL_ARROW_INT32 && ends != TL_ARROW_INT64) {
            return tl_fail(err, TL_INVALID, "the run ends of \"%s\" must be int16, int32 or int64", out->name);
        }
    }
    return TL_OK;
}

/* A dictionary-encoded field: `out` holds the index type so far and becomes the dictionary. */
static tl_status import_dictionary(const struct ArrowSchema *s, int depth, tl_arena *arena, tl_arrow_type *out,
                                   tl_error *err) {
    if (!is_integer(out->id)) {
        return tl_fail(err, TL_INVALID, "the dictionary indices of \"%s\" are not integers (format \"%s\")", out->name,
                       s->format);
    }
    out->index = out->id;
    out->id = TL_ARROW_DICTIONARY;
    out->n_children = 1;
    out->children = tl_arena_array(arena, 1, sizeof *out->children);
    return out->children ? import(s->dictionary, depth + 1, arena, out->children, err)
                         : tl_fail_memory(err, sizeof *out->children);
}

static tl_status import(const struct ArrowSchema *s, int depth, tl_arena *arena, tl_arrow_type *out, tl_error *err) {
    *out = (tl_arrow_type){0};
    if (depth > TL_ARROW_MAX_DEPTH) {
        return tl_fail(err, TL_INVALID, "the Arrow schema is nested deeper than %d levels", TL_ARROW_MAX_DEPTH);
    }
    if (!s || !s->release || !s->format) {
        return tl_fail(err, TL_INVALID, "the Arrow schema has a field that is missing, released or without a format");
    }
    const char *name = s->name ? s->name : "";
    out->name = tl_arena_strdup(arena, name);
    if (!out->name) {
        return tl_fail_memory(err, strlen(name) + 1);
    }
    out->nullable = (s->flags & ARROW_FLAG_NULLABLE) != 0;
    bool no_memory = false;
    if (!read_format(s->format, arena, out, &no_memory)) {
        return tl_fail(err, TL_INVALID, "the Arrow format \"%.40s\" of \"%s\" is not known", s->format, out->name);
    }
    if (no_memory) {
        return tl_fail_memory(err, strlen(s->format));
    }
    if (s->dictionary) {
        return import_dictionary(s, depth, arena, out, err);
    }
    return out->id == TL_ARROW_UNION ? TL_OK : import_children(s, depth, arena, out, err);
}

tl_status tl_arrow_type_import(const struct ArrowSchema *schema, tl_arena *arena, tl_arrow_type *out, tl_error *err) {
    return import(schema, 0, arena, out, err);
}

/* ---- printing ---- */

typedef struct text {
    char *p;
    size_t left;
} text;

static void add(text *t, const char *s) {
    size_t n = strlen(s);
    n = n < t->left ? n : t->left;
    memcpy(t->p, s, n);
    t->p += n;
    t->left -= n;
}

static const char *const names[] = {"null",
                                    "bool",
                                    "int8",
                                    "int16",
                                    "int32",
                                    "int64",
                                    "uint8",
                                    "uint16",
                                    "uint32",
                                    "uint64",
                                    "float16",
                                    "float32",
                                    "float64",
                                    "decimal32",
                                    "decimal64",
                                    "decimal128",
                                    "decimal256",
                                    "date32",
                                    "date64",
                                    "time32",
                                    "time64",
                                    "timestamp",
                                    "duration",
                                    "interval",
                                    "string",
                                    "large_string",
                                    "string_view",
                                    "binary",
                                    "large_binary",
                                    "binary_view",
                                    "fixed_size_binary",
                                    "list",
                                    "large_list",
                                    "list_view",
                                    "large_list_view",
                                    "fixed_size_list",
                                    "struct",
                                    "map",
                                    "union",
                                    "dictionary",
                                    "run_end_encoded"};

static void print(const tl_arrow_type *t, text *out) {
    add(out, names[t->id]);
    char number[64];
    if (t->id >= TL_ARROW_DECIMAL32 && t->id <= TL_ARROW_DECIMAL256) {
        (void)snprintf(number, sizeof number, "(%d, %d)", t->precision, t->scale);
        add(out, number);
    } else if (t->id == TL_ARROW_FIXED_BINARY) {
        (void)snprintf(number, sizeof number, "[%d]", t->width);
        add(out, number);
    } else if (t->id >= TL_ARROW_TIME32 && t->id <= TL_ARROW_DURATION) {
        add(out, t->per_second == 1 ? "[s" : t->per_second == 1000 ? "[ms" : t->per_second == 1000000 ? "[us" : "[ns");
        if (t->zone) {
            add(out, ", ");
            add(out, t->zone);
        }
        add(out, "]");
    } else if (t->id == TL_ARROW_DICTIONARY) {
        add(out, "<");
        add(out, names[t->index]);
        add(out, ", ");
        print(t->children, out);
        add(out, ">");
    } else if (t->id == TL_ARROW_RUN_END) {
        add(out, "<");
        print(&t->children[1], out);
        add(out, ">");
    } else if (t->id == TL_ARROW_STRUCT || (t->n_children == 1 && t->id != TL_ARROW_MAP)) {
        add(out, "<");
        for (int64_t i = 0; i < t->n_children && out->left; i++) {
            add(out, i ? ", " : "");
            if (t->id == TL_ARROW_STRUCT) {
                add(out, t->children[i].name);
                add(out, ": ");
            }
            print(&t->children[i], out);
        }
        add(out, ">");
    } else if (t->id == TL_ARROW_MAP) {
        add(out, "<");
        print(&t->children[0].children[0], out);
        add(out, ", ");
        print(&t->children[0].children[1], out);
        add(out, ">");
    }
}

void tl_arrow_type_print(const tl_arrow_type *type, char *out, size_t size) {
    if (size == 0) {
        return;
    }
    text t = {out, size - 1};
    print(type, &t);
    *t.p = '\0';
}
