/* Tests of alignment: every pair of types with the value just inside and just outside; rows, columns and messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "append/align_internal.h"
#include "arrow/testing.h"

static tl_error err;

/* ---- schemas ---- */

enum { MAX_FIELDS = 8 };

typedef struct table_type {
    tl_schema schema;
    tl_field fields[MAX_FIELDS];
} table_type;

/* "int", "decimal(4, 2)", "fixed[3]" to a type. */
static tl_type type_of(const char *text) {
    static const char *const names[] = {"boolean", "int",       "long",        "float",  "double", "decimal", "date",
                                        "time",    "timestamp", "timestamptz", "string", "uuid",   "fixed",   "binary"};
    tl_type t = {0};
    size_t len = strcspn(text, "([");
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        if (strlen(names[i]) == len && strncmp(names[i], text, len) == 0) {
            t.id = (tl_type_id)(TL_TYPE_BOOLEAN + i);
        }
    }
    if (t.id == TL_TYPE_DECIMAL) {
        assert_int_equal(sscanf(text, "decimal(%d, %d)", &t.precision, &t.scale), 2);
    }
    if (t.id == TL_TYPE_FIXED) {
        assert_int_equal(sscanf(text, "fixed[%d]", &t.length), 1);
    }
    assert_int_not_equal(t.id, 0);
    return t;
}

static void add_field(table_type *t, const char *name, tl_type type, bool required) {
    t->schema.fields = t->fields;
    t->fields[t->schema.n_fields] =
        (tl_field){.id = t->schema.n_fields + 1, .required = required, .name = name, .type = type};
    t->schema.n_fields++;
}

static table_type one_column(const char *type) {
    table_type t = {0};
    t.fields[0] = (tl_field){.id = 1, .name = "x", .type = type_of(type)};
    t.schema.n_fields = 1;
    return t;
}

/* ---- running ---- */

/* Aligns and releases the schema. `t` may have been copied: its fields pointer is set here. */
static tl_status run_at(table_type *t, int32_t ingest, struct ArrowSchema *s, struct ArrowArray *a, int64_t first_row,
                        int64_t stamp, tl_batch *out) {
    t->schema.fields = t->fields;
    tl_align *plan;
    memset(out, 0, sizeof *out);
    err.message[0] = '\0';
    tl_status status = tl_align_create(&t->schema, ingest, s, &plan, &err);
    s->release(s);
    if (status != TL_OK) {
        a->release(a);
        return status;
    }
    int before = test_array_releases;
    status = tl_align_batch(plan, a, first_row, stamp, out, &err);
    assert_null(a->release);
    assert_int_equal(test_array_releases - before, status == TL_OK ? 0 : 1);
    tl_align_free(plan);
    return status;
}

static tl_status run(table_type *t, struct ArrowSchema *s, struct ArrowArray *a, tl_batch *out) {
    return run_at(t, -1, s, a, 0, 0, out);
}

static void expect_error(table_type *t, struct ArrowSchema *s, struct ArrowArray *a, const char *message) {
    tl_batch b;
    tl_status status = run(t, s, a, &b);
    if (status == TL_OK) {
        fail_msg("no error, but wanted: %s", message);
    }
    assert_string_equal(err.message, message);
    assert_int_equal(status, TL_INVALID);
}

static void finish(tl_batch *b) {
    int before = test_array_releases;
    tl_batch_free(b);
    assert_int_equal(test_array_releases - before, 1);
}

/* ---- values of one row as text ---- */

static void put_hex(const uint8_t *p, size_t n, char *out) {
    for (size_t i = 0; i < n; i++) {
        sprintf(out + 2 * i, "%02x", p[i]);
    }
    out[2 * n] = '\0';
}

static void show_value(const tl_column *c, int64_t row, const tl_type *type, char *out) {
    if (tl_column_is_null(c, row)) {
        strcpy(out, "null");
        return;
    }
    const uint8_t *p = c->kind == TL_COLUMN_FIXED ? c->values + row * c->width : NULL;
    tl_bytes b = c->kind == TL_COLUMN_BYTES ? tl_column_bytes(c, row) : (tl_bytes){0};
    float f;
    double d;
    tl_i128 w;
    switch (type->id) {
    case TL_TYPE_BOOLEAN: strcpy(out, tl_column_bool(c, row) ? "true" : "false"); break;
    case TL_TYPE_INT:
    case TL_TYPE_DATE: tl_print_i64(tl_load_i32(p), out); break;
    case TL_TYPE_FLOAT:
        memcpy(&f, p, 4);
        tl_print_float(f, out);
        break;
    case TL_TYPE_DOUBLE:
        memcpy(&d, p, 8);
        tl_print_double(d, out);
        break;
    case TL_TYPE_DECIMAL:
        memcpy(&w, p, 16);
        tl_print_decimal(w, 0, out);
        break;
    case TL_TYPE_STRING:
        memcpy(out, b.data, b.len);
        out[b.len] = '\0';
        break;
    case TL_TYPE_BINARY: put_hex(b.data, b.len, out); break;
    case TL_TYPE_UUID: put_hex(p, 16, out); break;
    case TL_TYPE_FIXED: put_hex(p, (size_t)c->width, out); break;
    default: tl_print_i64(tl_load_i64(p), out); break;
    }
}

/* ---- sources from literals ---- */

/* Rows of the rule table to formats. Decimals: "@p,s" in the literal's type, see `cases`. */
static const struct {
    const char *row, *format;
} formats[] = {{"null", "n"},
               {"bool", "b"},
               {"int8", "c"},
               {"int16", "s"},
               {"int32", "i"},
               {"int64", "l"},
               {"uint8", "C"},
               {"uint16", "S"},
               {"uint32", "I"},
               {"uint64", "L"},
               {"float16", "e"},
               {"float32", "f"},
               {"float64", "g"},
               {"decimal32", "d:9,2,32"},
               {"decimal64", "d:18,2,64"},
               {"decimal128", "d:38,2"},
               {"decimal256", "d:76,2,256"},
               {"date32", "tdD"},
               {"date64", "tdm"},
               {"time32[s]", "tts"},
               {"time32[ms]", "ttm"},
               {"time64[us]", "ttu"},
               {"time64[ns]", "ttn"},
               {"timestamp[s]", "tss:"},
               {"timestamp[ms]", "tsm:"},
               {"timestamp[us]", "tsu:"},
               {"timestamp[ns]", "tsn:"},
               {"timestamp[s, zone]", "tss:UTC"},
               {"timestamp[ms, zone]", "tsm:+02:00"},
               {"timestamp[us, zone]", "tsu:Etc/UTC"},
               {"timestamp[ns, zone]", "tsn:Europe/Berlin"},
               {"duration", "tDu"},
               {"interval", "tin"},
               {"string", "u"},
               {"large_string", "U"},
               {"string_view", "vu"},
               {"binary", "z"},
               {"large_binary", "Z"},
               {"binary_view", "vz"},
               {"fixed_size_binary", "w:3"},
               {"list", "+l"},
               {"large_list", "+L"},
               {"list_view", "+vl"},
               {"large_list_view", "+vL"},
               {"fixed_size_list", "+w:1"},
               {"struct", "+s"},
               {"map", "+m"},
               {"union", "+us:0"}};

static const char *format_of(const char *row) {
    for (size_t i = 0; i < TL_COUNT(formats); i++) {
        if (strcmp(formats[i].row, row) == 0) {
            return formats[i].format;
        }
    }
    fail_msg("no format for row %s", row);
    return "";
}

static uint16_t half_of(double v) {
    for (uint32_t h = 0; h < 65536; h++) { /* the slow but sure way */
        uint16_t bits = (uint16_t)h;
        tl_view view = {.type = &(tl_arrow_type){.id = TL_ARROW_FLOAT16}, .values = (const uint8_t *)&bits};
        double back = tl_view_real(&view, 0);
        if (memcmp(&back, &v, 8) == 0) {
            return bits;
        }
    }
    fail_msg("%g is no float16", v);
    return 0;
}

/* Decimal digits of any length to two's complement of `width` bytes. */
static void wide_of(const char *text, uint8_t *out, size_t width) {
    bool negative = *text == '-';
    memset(out, 0, width);
    for (text += negative; *text; text++) {
        unsigned carry = (unsigned)(*text - '0');
        for (size_t i = 0; i < width; i++) {
            carry += out[i] * 10u;
            out[i] = (uint8_t)carry;
            carry >>= 8;
        }
    }
    unsigned carry = 1;
    for (size_t i = 0; negative && i < width; i++) {
        carry += (uint8_t)~out[i];
        out[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

static void set_bytes(struct ArrowArray *a, const char *format, const uint8_t *data, size_t len) {
    if (format[0] == 'w') {
        test_array(a, 1, 2, 0);
        test_fill(a, 1, data, len);
    } else if (format[0] == 'v') {
        test_array(a, 1, 4, 0);
        uint8_t *view = test_buffer(a, 1, 16);
        int32_t n = (int32_t)len;
        int64_t size = n;
        memcpy(view, &n, 4);
        memcpy(view + 4, data, len < 12 ? len : 4);
        if (len == 12) {
            memcpy(view + 4, data, 12);
        }
        test_fill(a, 2, data, len);
        test_fill(a, 3, &size, 8);
    } else {
        int64_t wide[2] = {0, (int64_t)len};
        int32_t narrow[2] = {0, (int32_t)len};
        bool large = format[0] == 'U' || format[0] == 'Z';
        test_array(a, 1, 3, 0);
        test_fill(a, 1, large ? (void *)wide : (void *)narrow, large ? 16 : 8);
        test_fill(a, 2, data, len);
    }
}

/* One row of a type from its literal; bytes written "0x.." are hex. */
static void one_value(struct ArrowSchema *s, struct ArrowArray *a, const char *format, const char *literal) {
    test_schema(s, format, "x", 0);
    uint8_t raw[64] = {0};
    size_t width = 8;
    if (strchr("uUzZvw", format[0])) {
        size_t len = strlen(literal);
        memcpy(raw, literal, len < sizeof raw ? len : sizeof raw);
        if (strncmp(literal, "0x", 2) == 0) {
            len = len / 2 - 1;
            for (size_t i = 0; i < len; i++) {
                unsigned v;
                assert_int_equal(sscanf(literal + 2 + 2 * i, "%2x", &v), 1);
                raw[i] = (uint8_t)v;
            }
        }
        set_bytes(a, format, raw, len);
        return;
    }
    test_array(a, 1, 2, 0);
    if (format[0] == 'n') {
        a->n_buffers = 0;
        return;
    }
    double d = strchr("efg", format[0]) ? strtod(literal, NULL) : 0;
    if (format[0] == 'e') {
        uint16_t h = half_of(d);
        memcpy(raw, &h, width = 2);
    } else if (format[0] == 'f') {
        float f = (float)d;
        memcpy(raw, &f, width = 4);
    } else if (format[0] == 'g') {
        memcpy(raw, &d, 8);
    } else {
        bool is_decimal = format[0] == 'd';
        width = is_decimal && strstr(format, ",256")  ? 32
                : is_decimal && strstr(format, ",32") ? 4
                : is_decimal && strstr(format, ",64") ? 8
                : is_decimal                          ? 16
                : strchr("bcC", format[0])            ? 1
                : strchr("sS", format[0])             ? 2
                : strchr("iI", format[0]) || !strcmp(format, "tdD") || !strcmp(format, "tts") || !strcmp(format, "ttm")
                    ? 4
                    : 8;
        wide_of(literal, raw, width);
    }
    test_fill(a, 1, raw, width);
}

/* ---- the matrix ---- */

#define INTS "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
#define DECIMALS "decimal32 decimal64 decimal128 decimal256"
#define TEXTS "string large_string string_view"
#define BINARIES "binary large_binary binary_view"

static const struct cell_case {
    const char *rows; /* the sources, or "name:format" */
    const char *target;
    const char *in, *out;          /* the value just inside and what it becomes; NULL = none */
    const char *outside, *message; /* the value just outside and the end of the message */
} cases[] = {
    /* integers and booleans */
    {"bool", "boolean", "1", "true", NULL, NULL},
    {"bool", "boolean", "0", "false", NULL, NULL},
    {"bool", "int", "1", "1", NULL, NULL},
    {"bool", "long", "1", "1", NULL, NULL},
    {"bool", "float", "1", "1.0", NULL, NULL},
    {"bool", "double", "0", "0.0", NULL, NULL},
    {"bool", "decimal(3, 2)", "1", "100", NULL, NULL},
    {"bool", "decimal(2, 2)", "0", "0", "1", "true does not fit decimal(2, 2)"},
    {"bool", "string", "1", "true", NULL, NULL},
    {INTS, "boolean", "1", "true", "2", "2 does not fit boolean"},
    {INTS, "boolean", "0", "false", NULL, NULL},
    {"int8 int16 int32 int64", "boolean", NULL, NULL, "-1", "-1 does not fit boolean"},
    {"uint64", "boolean", NULL, NULL, "18446744073709551615", "18446744073709551615 does not fit boolean"},
    {"int8", "int", "-128", "-128", NULL, NULL},
    {"int16", "int", "-32768", "-32768", NULL, NULL},
    {"uint8", "int", "255", "255", NULL, NULL},
    {"uint16", "int", "65535", "65535", NULL, NULL},
    {"int32", "int", "-2147483648", "-2147483648", NULL, NULL},
    {"int64 uint32 uint64", "int", "2147483647", "2147483647", "2147483648", "2147483648 does not fit int"},
    {"int64", "int", "-2147483648", "-2147483648", "-2147483649", "-2147483649 does not fit int"},
    {"uint32 uint64", "int", NULL, NULL, "4294967295", "4294967295 does not fit int"},
    {"uint64", "int", NULL, NULL, "18446744073709551615", "18446744073709551615 does not fit int"},
    {"int8", "long", "-128", "-128", NULL, NULL},
    {"int16", "long", "-32768", "-32768", NULL, NULL},
    {"int32", "long", "-2147483648", "-2147483648", NULL, NULL},
    {"int64", "long", "-9223372036854775808", "-9223372036854775808", NULL, NULL},
    {"uint8", "long", "255", "255", NULL, NULL},
    {"uint16", "long", "65535", "65535", NULL, NULL},
    {"uint32", "long", "4294967295", "4294967295", NULL, NULL},
    {"uint64", "long", "9223372036854775807", "9223372036854775807", "9223372036854775808",
     "9223372036854775808 does not fit long"},
    {"int8", "float", "-128", "-128.0", NULL, NULL},
    {"int16", "float", "-32768", "-32768.0", NULL, NULL},
    {"uint8", "float", "255", "255.0", NULL, NULL},
    {"uint16", "float", "65535", "65535.0", NULL, NULL},
    {"int32 int64 uint32 uint64", "float", "16777216", "16777216.0", "16777217", "16777217 does not fit float"},
    {"int32 int64", "float", "-16777218", "-16777218.0", "-16777217", "-16777217 does not fit float"},
    {"int64", "float", "4611686018427387904", "4.611686e18", "4611686018427387905",
     "4611686018427387905 does not fit float"},
    {"uint64", "float", "18446742974197923840", "1.8446743e19", "18446744073709551615",
     "18446744073709551615 does not fit float"},
    {"int8", "double", "-128", "-128.0", NULL, NULL},
    {"int16", "double", "-32768", "-32768.0", NULL, NULL},
    {"int32", "double", "-2147483648", "-2147483648.0", NULL, NULL},
    {"uint8", "double", "255", "255.0", NULL, NULL},
    {"uint16", "double", "65535", "65535.0", NULL, NULL},
    {"uint32", "double", "4294967295", "4294967295.0", NULL, NULL},
    {"int64 uint64", "double", "9007199254740992", "9007199254740992.0", "9007199254740993",
     "9007199254740993 does not fit double"},
    {"int64", "double", "-9223372036854775808", "-9.223372036854776e18", "-9223372036854775807",
     "-9223372036854775807 does not fit double"},
    {"uint64", "double", "18446744073709549568", "1.844674407370955e19", "18446744073709551615",
     "18446744073709551615 does not fit double"},
    {INTS, "decimal(4, 2)", "99", "9900", "100", "100 does not fit decimal(4, 2)"},
    {"int8 int16 int32 int64", "decimal(4, 2)", "-99", "-9900", "-100", "-100 does not fit decimal(4, 2)"},
    {"uint64", "decimal(20, 0)", "18446744073709551615", "18446744073709551615", NULL, NULL},
    {"int64", "decimal(38, 20)", "-9223372036854775808", NULL, "-9223372036854775808",
     "-9223372036854775808 does not fit decimal(38, 20)"},
    {"int8 int16 int32 int64 uint8 uint16 uint32", "timestamp", "5", "5", NULL, NULL},
    {"int8 int16 int32 int64 uint8 uint16 uint32", "timestamptz", "5", "5", NULL, NULL},
    {"int64", "timestamptz", "-9223372036854775808", "-9223372036854775808", NULL, NULL},
    {"uint64", "timestamp", "9223372036854775807", "9223372036854775807", "9223372036854775808",
     "9223372036854775808 does not fit timestamp"},
    {"uint64", "timestamptz", "9223372036854775807", "9223372036854775807", "9223372036854775808",
     "9223372036854775808 does not fit timestamptz"},
    {INTS, "string", "5", "5", NULL, NULL},
    {"uint64", "string", "18446744073709551615", "18446744073709551615", NULL, NULL},
    {"int64", "string", "-9223372036854775808", "-9223372036854775808", NULL, NULL},
    /* floating point */
    {"float16 float32 float64", "int", "3", "3", "3.5", "3.5 does not fit int"},
    {"float16 float32 float64", "int", "0", "0", "-0.0", "-0.0 does not fit int"},
    {"float16 float32 float64", "int", "-5", "-5", "nan", "NaN does not fit int"},
    {"float16 float32 float64", "int", NULL, NULL, "inf", "inf does not fit int"},
    {"float32", "int", "2147483520", "2147483520", "2147483648", "2147483600.0 does not fit int"}, /* shortest digits */
    {"float64", "int", "2147483647", "2147483647", "2147483648", "2147483648.0 does not fit int"},
    {"float32 float64", "int", "-2147483648", "-2147483648", "1e19", "1e19 does not fit int"},
    {"float64", "int", NULL, NULL, "3.9", "3.9 does not fit int"},
    {"float16 float32 float64", "long", "-3", "-3", "-0.5", "-0.5 does not fit long"},
    {"float16 float32 float64", "long", "0", "0", "-0.0", "-0.0 does not fit long"},
    {"float32 float64", "long", "9.223371487098962e18", "9223371487098961920", "9.223372036854775808e18",
     " does not fit long"},
    {"float64", "long", "-9.223372036854775808e18", "-9223372036854775808", "-9.223372036854777856e18",
     "-9.223372036854778e18 does not fit long"},
    {"float16 float32 float64", "float", "0.5", "0.5", NULL, NULL},
    {"float16 float32 float64", "float", "nan", "NaN", NULL, NULL},
    {"float16 float32 float64", "float", "-inf", "-inf", NULL, NULL},
    {"float64", "float", "16777216", "16777216.0", "16777217", "16777217.0 does not fit float"},
    {"float64", "float", "3.4028234663852886e38", "3.4028235e38", "3.4028234663852889e38",
     "3.402823466385289e38 does not fit float"},
    {"float64", "float", "1.401298464324817e-45", "1e-45", "1e-300", "1e-300 does not fit float"},
    {"float64", "float", "-0.0", "-0.0", "0.1", "0.1 does not fit float"},
    {"float16", "double", "0.0999755859375", "0.0999755859375", NULL, NULL},
    {"float16", "double", "5.960464477539063e-8", "5.960464477539063e-8", NULL, NULL},
    {"float32", "double", "0.1", "0.10000000149011612", NULL, NULL},
    {"float64", "double", "0.1", "0.1", NULL, NULL},
    {"float16 float32 float64", "decimal(4, 2)", "99.75", "9975", "100", "100.0 does not fit decimal(4, 2)"},
    {"float16 float32 float64", "decimal(4, 2)", "-0.25", "-25", "0.125", "0.125 does not fit decimal(4, 2)"},
    {"float16 float32 float64", "decimal(4, 2)", "0", "0", "-0.0", "-0.0 does not fit decimal(4, 2)"},
    {"float32 float64", "decimal(38, 0)", "8.5070591730234616e37", "85070591730234615865843651857942052864", "1.1e38",
     "1.1e38 does not fit decimal(38, 0)"},
    {"float64", "decimal(38, 38)", "0.5", "50000000000000000000000000000000000000", "0.1",
     "0.1 does not fit decimal(38, 38)"},
    {"float16 float32 float64", "decimal(4, 2)", NULL, NULL, "nan", "NaN does not fit decimal(4, 2)"},
    {"float16 float32 float64", "string", "3", "3.0", NULL, NULL},
    {"float32 float64", "string", "0.1", "0.1", NULL, NULL},
    /* decimals: the literals are unscaled, the scale is 2 */
    {DECIMALS, "int", "300", "3", "301", "3.01 does not fit int"},
    {"decimal64 decimal128 decimal256", "int", "214748364700", "2147483647", "214748364800",
     "2147483648.00 does not fit int"},
    {"decimal32:d:9,-3,32", "int", "2147483", NULL, "2147484", "2147484000 does not fit int"},
    {DECIMALS, "long", "-300", "-3", "-1", "-0.01 does not fit long"},
    {"decimal128 decimal256", "long", "922337203685477580700", "9223372036854775807", "922337203685477580800",
     "9223372036854775808.00 does not fit long"},
    {"decimal64:d:18,-2,64", "long", "92233720368547758", "9223372036854775800", "92233720368547759",
     "9223372036854775900 does not fit long"},
    {"decimal128:d:38,0", "long", NULL, NULL, "99999999999999999999999999999999999999",
     "99999999999999999999999999999999999999 does not fit long"},
    {DECIMALS, "float", "150", "1.5", "110", "1.10 does not fit float"},
    {DECIMALS, "double", "-125", "-1.25", "110", "1.10 does not fit double"},
    {"decimal32:d:9,0,32 decimal128:d:38,0 decimal256:d:76,0,256", "float", "16777216", "16777216.0", "16777217",
     "16777217 does not fit float"},
    {"decimal64:d:18,0,64 decimal128:d:38,0 decimal256:d:76,0,256", "double", "9007199254740992", "9007199254740992.0",
     "9007199254740993", "9007199254740993 does not fit double"},
    {"decimal256:d:76,0,256", "double", "1606938044258990275541962092341162602522202993782792835301376",
     "1.6069380442589903e60", "1606938044258990275541962092341162602522202993782792835301377",
     "160693804425899027554196209234116260252220299378279283530137... does not fit double"},
    {"decimal128:d:38,-3", "double", "5", "5000.0", NULL, NULL},
    {DECIMALS, "decimal(3, 1)", "9990", "999", "9991", "99.91 does not fit decimal(3, 1)"},
    {DECIMALS, "decimal(3, 1)", "-9990", "-999", "10000", "100.00 does not fit decimal(3, 1)"},
    {DECIMALS, "decimal(9, 4)", "-150", "-15000", "10000000", "100000.00 does not fit decimal(9, 4)"},
    {"decimal128 decimal256", "decimal(38, 2)", "99999999999999999999999999999999999999",
     "99999999999999999999999999999999999999", NULL, NULL},
    {"decimal256", "decimal(38, 2)", NULL, NULL, "100000000000000000000000000000000000000",
     "1000000000000000000000000000000000000.00 does not fit decimal(38, 2)"},
    {"decimal128:d:10,2", "decimal(10, 2)", "9999999999", "9999999999", "10000000000",
     "100000000.00 does not fit decimal(10, 2)"},
    {"decimal256:d:76,40,256", "decimal(3, 1)", "12500000000000000000000000000000000000000", NULL,
     "12500000000000000000000000000000000000000",
     "1.2500000000000000000000000000000000000000 does not fit decimal(3, 1)"},
    {"decimal256:d:76,40,256", "decimal(3, 1)", "15000000000000000000000000000000000000000", "15", NULL, NULL},
    {DECIMALS, "string", "-150", "-1.50", NULL, NULL},
    {"decimal128:d:38,0", "string", "-7", "-7", NULL, NULL},
    /* dates and times */
    {"date32", "date", "-2147483648", "-2147483648", NULL, NULL},
    {"date64", "date", "86400000", "1", "86400001", "1970-01-02T00:00:00.001 does not fit date"},
    {"date64", "date", "-86400000", "-1", "-1", "1969-12-31T23:59:59.999 does not fit date"},
    {"date64", "date", "185542587100800000", "2147483647", "185542587187200000", "+5881580-07-12 does not fit date"},
    {"date32", "timestamp", "106751991", "9223372022400000000", "106751992", "+294247-01-11 does not fit timestamp"},
    {"date32", "timestamptz", "-106751991", "-9223372022400000000", "-106751992",
     "-290308-12-21 does not fit timestamptz"},
    {"date64", "timestamp", "9223372036854775", "9223372036854775000", "9223372036854776",
     "+294247-01-10T04:00:54.776 does not fit timestamp"},
    {"date64", "timestamptz", "86400000", "86400000000", "-9223372036854776",
     "-290308-12-21T19:59:05.224 does not fit timestamptz"},
    {"date32", "string", "20454", "2026-01-01", NULL, NULL},
    {"date64", "string", "86400000", "1970-01-02", NULL, NULL},
    {"time32[s]", "time", "86399", "86399000000", "86400", "86400 does not fit time"},
    {"time32[ms]", "time", "86399999", "86399999000", "-1", "-1 does not fit time"},
    {"time64[us]", "time", "86399999999", "86399999999", "86400000000", "86400000000 does not fit time"},
    {"time64[ns]", "time", "86399999999000", "86399999999", "1", "00:00:00.000000001 does not fit time"},
    {"time32[s]", "string", "37800", "10:30:00", NULL, NULL},
    {"time32[ms]", "string", "37800500", "10:30:00.500", NULL, NULL},
    {"time64[us]", "string", "5", "00:00:00.000005", NULL, NULL},
    {"time64[ns]", "string", "5", "00:00:00.000000005", NULL, NULL},
    {"timestamp[s]", "date", "86400", "1", "86401", "1970-01-02T00:00:01 does not fit date"},
    {"timestamp[ms]", "date", "-86400000", "-1", "-1", "1969-12-31T23:59:59.999 does not fit date"},
    {"timestamp[us]", "date", "86400000000", "1", "86400000001", "1970-01-02T00:00:00.000001 does not fit date"},
    {"timestamp[ns]", "date", "86400000000000", "1", "1", "1970-01-01T00:00:00.000000001 does not fit date"},
    {"timestamp[s]", "date", "185542587100800", "2147483647", "185542587187200",
     "+5881580-07-12T00:00:00 does not fit date"},
    {"timestamp[s]", "timestamp", "9223372036854", "9223372036854000000", "9223372036855",
     "+294247-01-10T04:00:55 does not fit timestamp"},
    {"timestamp[ms]", "timestamp", "9223372036854775", "9223372036854775000", "9223372036854776",
     "+294247-01-10T04:00:54.776 does not fit timestamp"},
    {"timestamp[us]", "timestamp", "-9223372036854775808", "-9223372036854775808", NULL, NULL},
    {"timestamp[ns]", "timestamp", "-1000", "-1", "-1", "1969-12-31T23:59:59.999999999 does not fit timestamp"},
    {"timestamp[ns]", "timestamp", "1735689599999999000", "1735689599999999", "1735689599999999999",
     "2024-12-31T23:59:59.999999999 does not fit timestamp"},
    {"timestamp[s]", "timestamptz", "-9223372036854", "-9223372036854000000", "-9223372036855",
     "-290308-12-21T19:59:05 does not fit timestamptz"},
    {"timestamp[ms]", "timestamptz", "-9223372036854775", "-9223372036854775000", "-9223372036854776",
     "-290308-12-21T19:59:05.224 does not fit timestamptz"},
    {"timestamp[us]", "timestamptz", "5", "5", NULL, NULL},
    {"timestamp[ns]", "timestamptz", "5000", "5", "1", "1970-01-01T00:00:00.000000001 does not fit timestamptz"},
    {"timestamp[s]", "string", "0", "1970-01-01T00:00:00", NULL, NULL},
    {"timestamp[ms]", "string", "1", "1970-01-01T00:00:00.001", NULL, NULL},
    {"timestamp[us]", "string", "1", "1970-01-01T00:00:00.000001", NULL, NULL},
    {"timestamp[ns]", "string", "1", "1970-01-01T00:00:00.000000001", NULL, NULL},
    {"timestamp[s, zone]", "timestamptz", "9223372036854", "9223372036854000000", "9223372036855",
     "+294247-01-10T04:00:55Z does not fit timestamptz"},
    {"timestamp[ms, zone]", "timestamptz", "9223372036854775", "9223372036854775000", "9223372036854776",
     "+294247-01-10T04:00:54.776Z does not fit timestamptz"},
    {"timestamp[us, zone]", "timestamptz", "9223372036854775807", "9223372036854775807", NULL, NULL},
    {"timestamp[ns, zone]", "timestamptz", "1000", "1", "1001",
     "1970-01-01T00:00:00.000001001Z does not fit timestamptz"},
    {"timestamp[s, zone]", "string", "0", "1970-01-01T00:00:00Z", NULL, NULL},
    {"timestamp[ms, zone]", "string", "0", "1970-01-01T00:00:00Z", NULL, NULL},
    {"timestamp[us, zone]", "string", "0", "1970-01-01T00:00:00Z", NULL, NULL},
    {"timestamp[ns, zone]", "string", "0", "1970-01-01T00:00:00Z", NULL, NULL},
    /* text */
    {TEXTS, "boolean", "yes", "true", "maybe", "\"maybe\" is not a boolean"},
    {TEXTS, "boolean", "FALSE", "false", "2", "\"2\" is not a boolean"},
    {TEXTS, "int", "-2147483648", "-2147483648", "3000000000", "\"3000000000\" does not fit int"},
    {TEXTS, "int", "3.0", "3", "3.5", "\"3.5\" does not fit int"},
    {TEXTS, "int", "12", "12", "12x", "\"12x\" is not an int"},
    {TEXTS, "int", NULL, NULL, "", "\"\" is not an int"},
    {TEXTS, "long", "9223372036854775807", "9223372036854775807", "9223372036854775808",
     "\"9223372036854775808\" does not fit long"},
    {TEXTS, "long", NULL, NULL, " 1", "\" 1\" is not a long"},
    {TEXTS, "float", "0.1", "0.1", "1e39", "\"1e39\" does not fit float"},
    {TEXTS, "double", "0.1", "0.1", "abc", "\"abc\" is not a double"},
    {TEXTS, "double", "nan", "NaN", "1e999", "\"1e999\" does not fit double"},
    {TEXTS, "decimal(4, 2)", "99.99", "9999", "99.995", "\"99.995\" does not fit decimal(4, 2)"},
    {TEXTS, "decimal(4, 2)", "-1e1", "-1000", "100", "\"100\" does not fit decimal(4, 2)"},
    {TEXTS, "decimal(4, 2)", NULL, NULL, "1,5", "\"1,5\" is not a decimal(4, 2)"},
    {TEXTS, "date", "2026-01-01", "20454", "2026-02-30", "\"2026-02-30\" is not a date"},
    {TEXTS, "date", "2026-01-01 00:00:00", "20454", "2026-01-01 10:00:00", "\"2026-01-01 10:00:00\" does not fit date"},
    {TEXTS, "time", "23:59:59.999999", "86399999999", "10:00:00.0000001", "\"10:00:00.0000001\" does not fit time"},
    {TEXTS, "time", "10:00", "36000000000", "24:00", "\"24:00\" is not a time"},
    {TEXTS, "timestamp", "1970-01-01T00:00:01", "1000000", "1970-01-01T00:00:01Z",
     "\"1970-01-01T00:00:01Z\" does not fit timestamp, it has a zone"},
    {TEXTS, "timestamp", "1970-01-02", "86400000000", "soon", "\"soon\" is not a timestamp"},
    {TEXTS, "timestamptz", "1970-01-01 01:00:00+01:00", "0", "1970-01-01T00:00:00.0000001",
     "\"1970-01-01T00:00:00.0000001\" does not fit timestamptz"},
    {TEXTS, "timestamptz", "1970-01-01 00:00:01", "1000000", "1970-01-01 00:00:00 Europe/Berlin",
     "\"1970-01-01 00:00:00 Europe/Berlin\" names a zone, which is not read here; write an offset such as +01:00"},
    {TEXTS, "string", "h\xc3\xbc", "h\xc3\xbc", "0x6180", "\"a\\x80\" is not valid UTF-8"},
    {TEXTS, "string", "", "", "0xeda080", "\"\\xed\\xa0\\x80\" is not valid UTF-8"},
    {TEXTS, "string", "a string longer than twelve", "a string longer than twelve", NULL, NULL},
    {TEXTS, "uuid", "00112233-4455-6677-8899-aabbccddeeff", "00112233445566778899aabbccddeeff", "0011",
     "\"0011\" is not a uuid"},
    {TEXTS, "fixed[3]", "abc", "616263", "abcd", "\"abcd\" does not fit fixed[3]"},
    {TEXTS, "binary", "0x80ff", "80ff", NULL, NULL},
    /* bytes */
    {BINARIES, "string", "abc", "abc", "0xff41", "\"\\xffA\" is not valid UTF-8"},
    {BINARIES, "uuid", "0x00112233445566778899aabbccddeeff", "00112233445566778899aabbccddeeff", "0x0011",
     "0x0011 does not fit uuid"},
    {BINARIES, "fixed[3]", "0x000102", "000102", "0x0001", "0x0001 does not fit fixed[3]"},
    {BINARIES, "binary", "0x00ff", "00ff", NULL, NULL},
    {"fixed_size_binary", "string", "abc", "abc", "0x4142c3", "\"AB\\xc3\" is not valid UTF-8"},
    {"fixed_size_binary:w:16", "uuid", "0x00112233445566778899aabbccddeeff", "00112233445566778899aabbccddeeff", NULL,
     NULL},
    {"fixed_size_binary", "fixed[3]", "0x00ff01", "00ff01", NULL, NULL},
    {"fixed_size_binary", "binary", "0x00ff01", "00ff01", NULL, NULL},
};

/* What the matrix test has seen: [row][target] bit 0 = a value inside, bit 1 = one outside. */
static uint8_t seen[64][TL_RULE_TARGETS];

static size_t row_index(const char *name, size_t len) {
    size_t n;
    const tl_rule_row *rows = tl_rule_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0) {
            return i;
        }
    }
    fail_msg("no row \"%.*s\"", (int)len, name);
    return 0;
}

static void check_inside(const struct cell_case *c, const char *format) {
    table_type t = one_column(c->target);
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 1);
    test_schema_release(s.children[0]);
    one_value(s.children[0], a.children[0], format, c->in);
    tl_batch b;
    if (run(&t, &s, &a, &b) != TL_OK) {
        fail_msg("%s %s to %s: %s", format, c->in, c->target, err.message);
    }
    char got[256];
    show_value(&b.columns[0], 0, &t.fields[0].type, got);
    if (strcmp(got, c->out) != 0) {
        fail_msg("%s %s to %s gave %s, not %s", format, c->in, c->target, got, c->out);
    }
    finish(&b);
}

static void check_outside(const struct cell_case *c, const char *format) {
    table_type t = one_column(c->target);
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 1);
    test_schema_release(s.children[0]);
    one_value(s.children[0], a.children[0], format, c->outside);
    tl_batch b;
    if (run_at(&t, -1, &s, &a, 16, 0, &b) == TL_OK) {
        fail_msg("%s %s to %s was taken", format, c->outside, c->target);
    }
    static const char start[] = "column \"x\", row 17: ";
    size_t len = strlen(err.message), tail = strlen(c->message);
    bool starts = strncmp(err.message, start, strlen(start)) == 0;
    bool whole = c->message[0] == ' ' || len == strlen(start) + tail;
    if (!starts || !whole || len < tail || strcmp(err.message + len - tail, c->message) != 0) {
        fail_msg("%s %s to %s said: %s", format, c->outside, c->target, err.message);
    }
}

static void every_cell_takes_what_fits_and_refuses_what_does_not(void **state) {
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        const struct cell_case *c = &cases[i];
        for (const char *p = c->rows; *p;) {
            /* a row name may hold blanks inside brackets */
            size_t len = 0;
            int depth = 0;
            for (; p[len] && (p[len] != ' ' || depth); len++) {
                depth += p[len] == '[' ? 1 : p[len] == ']' ? -1 : 0;
            }
            char item[64];
            snprintf(item, sizeof item, "%.*s", (int)len, p);
            char *colon = strchr(item, ':');
            size_t row = row_index(item, colon ? (size_t)(colon - item) : len);
            const char *format = colon ? colon + 1 : format_of(item);
            size_t target = (size_t)type_of(c->target).id - TL_TYPE_BOOLEAN;
            if (c->in && c->out) {
                check_inside(c, format);
                seen[row][target] |= 1;
            }
            if (c->outside) {
                check_outside(c, format);
                seen[row][target] |= 2;
            }
            p += len + (p[len] == ' ');
        }
    }
}

static tl_type any_type(tl_type_id id, tl_field *fields) {
    tl_type t = {.id = id, .precision = 10, .scale = 2, .length = 3, .fields = fields};
    fields[0] = (tl_field){.id = 10, .name = id == TL_TYPE_LIST ? "element" : "key", .type = {.id = TL_TYPE_INT}};
    fields[1] = (tl_field){.id = 11, .name = "value", .type = {.id = TL_TYPE_INT}};
    t.n_fields = id == TL_TYPE_LIST ? 1 : id == TL_TYPE_MAP || id == TL_TYPE_STRUCT ? 2 : 0;
    return t;
}

/* A schema of one column of a rule row; nested ones with int32 inside. */
static void any_schema(struct ArrowSchema *s, const char *row) {
    test_schema(s, "+s", "", 1);
    struct ArrowSchema *c = s->children[0];
    const char *format = format_of(row);
    bool map = strcmp(format, "+m") == 0, structure = strcmp(format, "+s") == 0;
    bool list = format[0] == '+' && !map && !structure && strcmp(format, "+us:0") != 0;
    test_schema(c, format, "x", map || list ? 1 : structure ? 2 : 0);
    if (list) {
        test_schema(c->children[0], "i", "item", 0);
    } else if (structure) {
        test_schema(c->children[0], "i", "key", 0);
        test_schema(c->children[1], "i", "value", 0);
    } else if (map) {
        test_schema(c->children[0], "+s", "entries", 2);
        test_schema(c->children[0]->children[0], "i", "k", 0);
        test_schema(c->children[0]->children[1], "i", "v", 0);
    }
}

static void the_table_of_rules_has_no_untested_cell(void **state) {
    size_t n;
    const tl_rule_row *rows = tl_rule_rows(&n);
    for (size_t r = 0; r < n; r++) {
        assert_int_equal(strlen(rows[r].cells), TL_RULE_TARGETS);
        for (size_t k = 0; k < TL_RULE_TARGETS; k++) {
            tl_field fields[2];
            table_type t = {0};
            add_field(&t, "x", any_type((tl_type_id)(TL_TYPE_BOOLEAN + k), fields), false);
            struct ArrowSchema s;
            any_schema(&s, rows[r].name);
            tl_align *plan = NULL;
            tl_status status = tl_align_create(&t.schema, -1, &s, &plan, &err);
            tl_align_free(plan);
            s.release(&s);
            char cell = rows[r].cells[k];
            bool uuid_of_3 = rows[r].id == TL_ARROW_FIXED_BINARY && k == TL_TYPE_UUID - TL_TYPE_BOOLEAN;
            if ((status == TL_OK) != (cell != '-') && !uuid_of_3) {
                fail_msg("%s to target %zu: cell %c but status %d (%s)", rows[r].name, k, cell, (int)status,
                         err.message);
            }
            bool nested = k >= TL_TYPE_STRUCT - TL_TYPE_BOOLEAN, null = rows[r].id == TL_ARROW_NULL;
            if (cell != '-' && !nested && !null && !(seen[r][k] & 1)) {
                fail_msg("%s to target %zu: no value inside was tested", rows[r].name, k);
            }
            if (cell == 'F' && !(seen[r][k] & 2)) {
                fail_msg("%s to target %zu: no value outside was tested", rows[r].name, k);
            }
            if (cell == 'E' && (seen[r][k] & 2) && k != TL_TYPE_STRING - TL_TYPE_BOOLEAN) {
                fail_msg("%s to target %zu: said to be exact but refuses a value", rows[r].name, k);
            }
        }
    }
}

/* ---- the page in the docs ---- */

static const char *mark_of(char cell) {
    return cell == 'E' ? "exact" : cell == 'F' ? "fits" : "–";
}

static void docs_show_the_table_of_the_code(void **state) {
    size_t n;
    const tl_rule_row *rows = tl_rule_rows(&n);
    tl_buf want = {0};
    for (size_t r = 0; r < n; r++) {
        assert_int_equal(tl_buf_printf(&want, "| `%s` |", rows[r].name), TL_OK);
        for (size_t k = 0; k < TL_RULE_TARGETS; k++) {
            assert_int_equal(tl_buf_printf(&want, " %s |", mark_of(rows[r].cells[k])), TL_OK);
        }
        assert_int_equal(tl_buf_add_text(&want, "\n"), TL_OK);
    }
    const char *root = getenv("TL_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/types.md", root ? root : ".");
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    tl_buf page = {0};
    char block[4096];
    for (size_t got; (got = fread(block, 1, sizeof block, f)) > 0;) {
        assert_int_equal(tl_buf_add(&page, block, got), TL_OK);
    }
    fclose(f);
    assert_int_equal(tl_buf_add_byte(&page, 0), TL_OK);
    assert_int_equal(tl_buf_add_byte(&want, 0), TL_OK);
    bool there = strstr((char *)page.data, (char *)want.data) != NULL;
    if (!there) {
        print_error("docs/types.md does not hold the table of align_rules.c, which is:\n%s", (char *)want.data);
    }
    tl_buf_free(&page);
    tl_buf_free(&want);
    assert_true(there);
}

/* ---- names, rows, nulls ---- */

static void columns_are_matched_by_name_and_faults_named(void **state) {
    struct ArrowSchema s;
    struct ArrowArray a;
    int64_t longs[3] = {1, 2, 3};
    table_type t = {0};
    add_field(&t, "time", type_of("timestamptz"), true);
    add_field(&t, "v", type_of("long"), false);

    test_table(&s, &a, 2, 3);
    test_fixed(s.children[0], a.children[0], "v", "l", longs, 8, 3);
    test_fixed(s.children[1], a.children[1], "time", "tsu:UTC", longs, 8, 3);
    tl_batch b;
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_int_equal(b.n_columns, 2);
    assert_int_equal(b.n_rows, 3);
    assert_ptr_equal(b.columns[0].values, b.input.children[1]->buffers[1]); /* no copy */
    finish(&b);

    test_table(&s, &a, 1, 3);
    test_fixed(s.children[0], a.children[0], "time", "tsu:UTC", longs, 8, 3);
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_true(tl_column_is_null(&b.columns[1], 0) && tl_column_is_null(&b.columns[1], 2));
    finish(&b);

    test_table(&s, &a, 1, 3);
    test_fixed(s.children[0], a.children[0], "v", "l", longs, 8, 3);
    expect_error(&t, &s, &a, "required column \"time\" is missing");

    test_table(&s, &a, 2, 3);
    test_fixed(s.children[0], a.children[0], "time", "tsu:UTC", longs, 8, 3);
    test_fixed(s.children[1], a.children[1], "V", "l", longs, 8, 3);
    expect_error(&t, &s, &a, "column \"V\" is not in the table schema");

    test_table(&s, &a, 2, 3);
    test_fixed(s.children[0], a.children[0], "time", "tsu:UTC", longs, 8, 3);
    test_fixed(s.children[1], a.children[1], "time", "tsu:UTC", longs, 8, 3);
    expect_error(&t, &s, &a, "column \"time\" is in the input twice");

    test_table(&s, &a, 2, 3);
    test_fixed(s.children[0], a.children[0], "time", "tsu:UTC", longs, 8, 3);
    test_fixed(s.children[1], a.children[1], "v", "tDu", longs, 8, 3);
    expect_error(&t, &s, &a, "column \"v\": duration[us] does not convert to long");

    table_type naive = {0};
    add_field(&naive, "time", type_of("timestamp"), true);
    test_table(&s, &a, 1, 3);
    test_fixed(s.children[0], a.children[0], "time", "tsu:+05:30", longs, 8, 3);
    expect_error(&naive, &s, &a, "column \"time\": timestamp[us, +05:30] does not convert to timestamp");

    test_fixed(&s, &a, "v", "l", longs, 8, 3);
    expect_error(&naive, &s, &a, "the input is not a table: its Arrow schema is not a struct of columns");
}

static void rows_count_over_the_whole_input(void **state) {
    int64_t values[20] = {0};
    values[6] = 3000000000;
    table_type t = {0};
    add_field(&t, "status", type_of("int"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 20);
    test_fixed(s.children[0], a.children[0], "status", "l", values, 8, 20);
    tl_batch b;
    assert_int_equal(run_at(&t, -1, &s, &a, 10, 0, &b), TL_INVALID);
    assert_string_equal(err.message, "column \"status\", row 17: 3000000000 does not fit int");

    /* The same through two offsets: row 6 of the buffer is row 2 of the slice. */
    test_table(&s, &a, 1, 10);
    test_fixed(s.children[0], a.children[0], "status", "l", values, 8, 20);
    a.offset = 3;
    a.children[0]->offset = 2;
    a.children[0]->length = 18;
    expect_error(&t, &s, &a, "column \"status\", row 2: 3000000000 does not fit int");
}

static void hidden_bytes_under_nulls_never_matter(void **state) {
    int64_t values[4] = {1, 3000000000, 5, 1};
    table_type t = {0};
    add_field(&t, "x", type_of("int"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 4);
    test_fixed(s.children[0], a.children[0], "x", "l", values, 8, 4);
    test_validity(a.children[0], "x.xx");
    tl_batch b;
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_true(tl_column_is_null(&b.columns[0], 1));
    assert_int_equal(tl_load_i32(b.columns[0].values + 8), 5);
    finish(&b);

    table_type text = {0};
    add_field(&text, "x", type_of("string"), false);
    static const char *const texts[] = {"ok", "b\xff z", "h\xc3\xbc", "fine"};
    test_table(&s, &a, 1, 4);
    test_strings(s.children[0], a.children[0], "x", texts, 4);
    test_validity(a.children[0], "x.xx");
    assert_int_equal(run(&text, &s, &a, &b), TL_OK);
    assert_ptr_equal(b.columns[0].data, b.input.children[0]->buffers[2]);
    finish(&b);
}

static void code_points_split_between_rows_are_not_utf8(void **state) {
    table_type t = {0};
    add_field(&t, "x", type_of("string"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    static const char *const texts[] = {"plain text of more than one vector width, all of it ASCII", "\xc3", "\xbc",
                                        "z"};
    test_table(&s, &a, 1, 4);
    test_strings(s.children[0], a.children[0], "x", texts, 4);
    expect_error(&t, &s, &a, "column \"x\", row 2: \"\\xc3\" is not valid UTF-8");
}

static void required_columns_take_no_null(void **state) {
    int64_t values[4] = {1, 2, 3, 4};
    table_type t = {0};
    add_field(&t, "time", type_of("timestamptz"), true);
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 4);
    test_fixed(s.children[0], a.children[0], "time", "tsu:", values, 8, 4);
    test_validity(a.children[0], "xx.x");
    expect_error(&t, &s, &a, "column \"time\", row 3: null in a required column");

    /* The first fault of a column is reported, whichever kind it is. */
    int64_t nanos[4] = {1000, 1, 3000, 4000};
    test_table(&s, &a, 1, 4);
    test_fixed(s.children[0], a.children[0], "time", "tsn:", nanos, 8, 4);
    test_validity(a.children[0], "xx.x");
    expect_error(&t, &s, &a, "column \"time\", row 2: 1970-01-01T00:00:00.000000001 does not fit timestamptz");
    test_table(&s, &a, 1, 4);
    test_fixed(s.children[0], a.children[0], "time", "tsn:", nanos, 8, 4);
    test_validity(a.children[0], ".xxx");
    expect_error(&t, &s, &a, "column \"time\", row 1: null in a required column");

    test_table(&s, &a, 1, 4);
    test_schema(s.children[0], "n", "time", 0);
    test_array(a.children[0], 4, 0, 0);
    expect_error(&t, &s, &a, "column \"time\", row 1: null in a required column");

    /* All bits set: the validity is dropped. */
    test_table(&s, &a, 1, 4);
    test_fixed(s.children[0], a.children[0], "time", "tsu:", values, 8, 4);
    test_validity(a.children[0], "xxxx");
    tl_batch b;
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_null(b.columns[0].validity);
    finish(&b);
}

static void insertion_time_is_stamped_where_the_input_has_none(void **state) {
    int64_t values[3] = {7, 8, 9};
    table_type t = {0};
    add_field(&t, "v", type_of("long"), false);
    add_field(&t, "_ingest_ts", type_of("timestamptz"), true);
    struct ArrowSchema s;
    struct ArrowArray a;
    tl_batch b;
    test_table(&s, &a, 1, 3);
    test_fixed(s.children[0], a.children[0], "v", "l", values, 8, 3);
    assert_int_equal(run_at(&t, 1, &s, &a, 0, 1234, &b), TL_OK);
    assert_null(b.columns[1].validity);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tl_load_i64(b.columns[1].values + 8 * i), 1234);
    }
    finish(&b);
    test_table(&s, &a, 2, 3);
    test_fixed(s.children[0], a.children[0], "v", "l", values, 8, 3);
    test_fixed(s.children[1], a.children[1], "_ingest_ts", "tsu:UTC", values, 8, 3);
    test_validity(a.children[1], "x.x");
    assert_int_equal(run_at(&t, 1, &s, &a, 0, 1234, &b), TL_OK);
    assert_null(b.columns[1].validity);
    assert_int_equal(tl_load_i64(b.columns[1].values), 7);
    assert_int_equal(tl_load_i64(b.columns[1].values + 8), 1234);
    assert_int_equal(tl_load_i64(b.columns[1].values + 16), 9);
    finish(&b);
}

static void long_values_are_cut_in_messages(void **state) {
    char text[300];
    memset(text, 'a', 299);
    text[299] = '\0';
    text[1] = '\n';
    const char *one = text;
    table_type t = {0};
    add_field(&t, "x", type_of("double"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 1);
    test_strings(s.children[0], a.children[0], "x", &one, 1);
    tl_batch b;
    assert_int_equal(run(&t, &s, &a, &b), TL_INVALID);
    assert_true(strlen(err.message) < 110);
    assert_non_null(strstr(err.message, "\"a\\x0aaaaa"));
    assert_non_null(strstr(err.message, "...\" is not a double"));
}

static void dictionaries_report_the_first_row_not_the_first_value(void **state) {
    static const char *const words[] = {"unused rubbish", "bad one", "1.5", "bad two"};
    int8_t indices[6] = {2, 99, 3, 1, 2, 1};
    table_type t = {0};
    add_field(&t, "x", type_of("double"), false);
    for (int good = 0; good < 2; good++) {
        struct ArrowSchema s;
        struct ArrowArray a;
        test_table(&s, &a, 1, 6);
        test_fixed(s.children[0], a.children[0], "x", "c", indices, 1, 6);
        test_validity(a.children[0], good ? "x...x." : "x.xxxx");
        s.children[0]->dictionary = test_memory(sizeof(struct ArrowSchema));
        a.children[0]->dictionary = test_memory(sizeof(struct ArrowArray));
        test_strings(s.children[0]->dictionary, a.children[0]->dictionary, "", words, 4);
        if (good) { /* values that no row uses may be anything */
            tl_batch b;
            assert_int_equal(run(&t, &s, &a, &b), TL_OK);
            double v;
            memcpy(&v, b.columns[0].values + 32, 8);
            assert_true(v == 1.5);
            assert_true(tl_column_is_null(&b.columns[0], 1));
            finish(&b);
        } else {
            expect_error(&t, &s, &a, "column \"x\", row 3: \"bad two\" is not a double");
        }
    }
}

static void long_dictionary_values_get_wide_offsets(void **state) {
    enum { ROWS = 40000, LONG = 60000 };
    char *text = test_memory(LONG + 1);
    memset(text, 'w', LONG);
    text[LONG] = '\0';
    const char *words[] = {"short", text};
    uint8_t *indices = test_memory(ROWS);
    memset(indices, 0, ROWS);
    indices[7] = 1;
    indices[ROWS - 1] = 1;
    table_type t = {0};
    add_field(&t, "x", type_of("string"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    tl_batch b;
    test_table(&s, &a, 1, ROWS);
    test_fixed(s.children[0], a.children[0], "x", "C", indices, 1, ROWS);
    s.children[0]->dictionary = test_memory(sizeof(struct ArrowSchema));
    a.children[0]->dictionary = test_memory(sizeof(struct ArrowArray));
    test_strings(s.children[0]->dictionary, a.children[0]->dictionary, "", words, 2);
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_non_null(b.columns[0].offsets64); /* 40,000 times the longest would not fit 32 bits */
    for (int64_t i = 0; i < ROWS; i++) {
        tl_bytes v = tl_column_bytes(&b.columns[0], i);
        const char *want = words[indices[i]];
        assert_int_equal(v.len, strlen(want));
        assert_memory_equal(v.data, want, v.len);
    }
    finish(&b);
    free(indices);
    free(text);
}

/* ---- nested ---- */

static void nested_faults_name_their_path_and_row(void **state) {
    tl_field inner[2] = {{.id = 2, .name = "b", .required = true, .type = {.id = TL_TYPE_INT}},
                         {.id = 3, .name = "c", .type = {.id = TL_TYPE_INT}}};
    table_type t = {0};
    add_field(&t, "a", (tl_type){.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = inner}, false);
    int64_t values[4] = {1, 2, INT64_C(1) << 40, 4};
    for (int round = 0; round < 5; round++) {
        struct ArrowSchema s;
        struct ArrowArray a;
        test_table(&s, &a, 1, 4);
        test_schema(s.children[0], "+s", "a", 1);
        test_array(a.children[0], 4, 1, 1);
        test_fixed(s.children[0]->children[0], a.children[0]->children[0],
                   round == 3   ? "c"
                   : round == 4 ? "d"
                                : "b",
                   "l", values, 8, 4);
        tl_batch b;
        switch (round) {
        case 0: expect_error(&t, &s, &a, "column \"a.b\", row 3: 1099511627776 does not fit int"); break;
        case 1: /* hidden by the null struct */
            test_validity(a.children[0], "xx.x");
            assert_int_equal(run(&t, &s, &a, &b), TL_OK);
            assert_true(tl_column_is_null(&b.columns[0], 2));
            assert_false(tl_column_is_null(&b.columns[0], 3));
            finish(&b);
            break;
        case 2: /* a null in the required field is hidden by the null struct in row 3, not in row 2 */
            test_validity(a.children[0], "xx.x");
            test_validity(a.children[0]->children[0], "x..x");
            expect_error(&t, &s, &a, "column \"a.b\", row 2: null in a required column");
            break;
        case 3: expect_error(&t, &s, &a, "required column \"a.b\" is missing"); break;
        default: expect_error(&t, &s, &a, "required column \"a.b\" is missing"); break;
        }
    }
}

static void list_faults_give_the_row_of_the_list(void **state) {
    tl_field element = {.id = 2, .name = "element", .type = {.id = TL_TYPE_INT}};
    table_type t = {0};
    add_field(&t, "l", (tl_type){.id = TL_TYPE_LIST, .n_fields = 1, .fields = &element}, false);
    int64_t values[6] = {1, 2, 3, INT64_C(1) << 40, 5, 6};
    int32_t offsets[6] = {0, 2, 2, 3, 5, 6};
    struct ArrowSchema s;
    struct ArrowArray a;
    for (int round = 0; round < 2; round++) {
        test_table(&s, &a, 1, 5);
        test_schema(s.children[0], "+l", "l", 1);
        test_array(a.children[0], 5, 2, 1);
        test_fill(a.children[0], 1, offsets, sizeof offsets);
        test_fixed(s.children[0]->children[0], a.children[0]->children[0], "item", "l", values, 8, 6);
        if (round == 0) {
            expect_error(&t, &s, &a, "column \"l.element\", row 4: 1099511627776 does not fit int");
            continue;
        }
        test_validity(a.children[0], "xxx.x"); /* elements of a null list matter as little */
        tl_batch b;
        assert_int_equal(run(&t, &s, &a, &b), TL_OK);
        const tl_column *l = &b.columns[0];
        assert_int_equal(tl_column_offset(l, 3), tl_column_offset(l, 4));
        assert_int_equal(tl_column_offset(l, 5), 4);
        assert_int_equal(l->children[0].length, 4);
        assert_int_equal(tl_load_i32(l->children[0].values + 12), 6);
        finish(&b);
    }
}

static void list_views_report_the_first_row_whatever_their_order(void **state) {
    tl_field element = {.id = 2, .name = "element", .type = {.id = TL_TYPE_INT}};
    table_type t = {0};
    add_field(&t, "l", (tl_type){.id = TL_TYPE_LIST, .n_fields = 1, .fields = &element}, false);
    int64_t values[4] = {INT64_C(1) << 40, 2, 3, INT64_C(1) << 50};
    int32_t offsets[3] = {1, 2, 0}, sizes[3] = {2, 2, 1};
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 3);
    test_schema(s.children[0], "+vl", "l", 1);
    test_array(a.children[0], 3, 3, 1);
    test_fill(a.children[0], 1, offsets, sizeof offsets);
    test_fill(a.children[0], 2, sizes, sizeof sizes);
    test_fixed(s.children[0]->children[0], a.children[0]->children[0], "item", "l", values, 8, 4);
    expect_error(&t, &s, &a, "column \"l.element\", row 2: 1125899906842624 does not fit int");
}

static void map_keys_are_never_null(void **state) {
    tl_field kv[2] = {{.id = 2, .name = "key", .required = true, .type = {.id = TL_TYPE_STRING}},
                      {.id = 3, .name = "value", .type = {.id = TL_TYPE_INT}}};
    table_type t = {0};
    add_field(&t, "m", (tl_type){.id = TL_TYPE_MAP, .n_fields = 2, .fields = kv}, false);
    static const char *const keys[] = {"a", NULL};
    int32_t values[2] = {1, 2}, offsets[3] = {0, 1, 2};
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 2);
    test_schema(s.children[0], "+m", "m", 1);
    test_array(a.children[0], 2, 2, 1);
    test_fill(a.children[0], 1, offsets, sizeof offsets);
    test_schema(s.children[0]->children[0], "+s", "entries", 2);
    test_array(a.children[0]->children[0], 2, 1, 2);
    struct ArrowSchema *es = s.children[0]->children[0];
    struct ArrowArray *ea = a.children[0]->children[0];
    test_strings(es->children[0], ea->children[0], "keys", keys, 2);
    test_fixed(es->children[1], ea->children[1], "values", "i", values, 4, 2);
    expect_error(&t, &s, &a, "column \"m.key\", row 2: null in a required column");
}

/* ---- size and odd inputs ---- */

static void empty_batches_and_batches_without_columns(void **state) {
    table_type t = {0};
    add_field(&t, "x", type_of("string"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    tl_batch b;
    test_table(&s, &a, 1, 0);
    test_schema(s.children[0], "u", "x", 0);
    test_array(a.children[0], 0, 3, 0); /* no buffer at all */
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_int_equal(b.n_rows, 0);
    finish(&b);
    test_table(&s, &a, 0, 5);
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_int_equal(b.n_rows, 5);
    assert_true(tl_column_is_null(&b.columns[0], 4));
    finish(&b);
}

static void rows_that_are_null_as_a_whole_are_refused(void **state) {
    table_type t = {0};
    add_field(&t, "x", type_of("long"), false);
    int64_t values[2] = {1, 2};
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, 2);
    test_fixed(s.children[0], a.children[0], "x", "l", values, 8, 2);
    test_validity(&a, "x.");
    expect_error(&t, &s, &a, "the input has rows that are null as a whole");
}

static void misaligned_buffers_are_copied(void **state) {
    table_type t = {0};
    add_field(&t, "x", type_of("long"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    tl_batch b;
    uint8_t odd[8 * 3 + 1];
    for (int i = 0; i < 3; i++) {
        tl_store_u64(odd + 1 + 8 * i, (uint64_t)i * 11);
    }
    test_table(&s, &a, 1, 3);
    test_fixed(s.children[0], a.children[0], "x", "l", odd, 8, 3);
    const void *own = a.children[0]->buffers[1];
    a.children[0]->buffers[1] = odd + 1;
    assert_int_equal(run(&t, &s, &a, &b), TL_OK);
    assert_int_equal((uintptr_t)b.columns[0].values % 8, 0);
    assert_int_equal(tl_load_i64(b.columns[0].values + 16), 22);
    b.input.children[0]->buffers[1] = own;
    finish(&b);
}

static void a_value_beyond_two_gigabytes_is_refused_with_its_row(void **state) {
    table_type t = {0};
    add_field(&t, "x", type_of("binary"), false);
    struct ArrowSchema s;
    struct ArrowArray a;
    tl_batch b;
    for (int over = 0; over < 2; over++) {
        /* The bytes themselves are never looked at on the way to binary. */
        int64_t offsets[4] = {0, 1, 1 + (int64_t)INT32_MAX + over, 5 + (int64_t)INT32_MAX};
        test_table(&s, &a, 1, 3);
        test_schema(s.children[0], "Z", "x", 0);
        test_array(a.children[0], 3, 3, 0);
        test_fill(a.children[0], 1, offsets, sizeof offsets);
        test_fill(a.children[0], 2, "", 1);
        if (over) {
            expect_error(&t, &s, &a,
                         "column \"x\", row 2: a value of 2147483648 bytes does not fit binary (at most 2147483647)");
        } else {
            assert_int_equal(run(&t, &s, &a, &b), TL_OK);
            finish(&b);
        }
    }
}

/* ---- memory ---- */

static tl_status mixed_batch(tl_batch *b) {
    static const char *const words[] = {"1.5", "2.5", NULL};
    tl_field inner[2] = {{.id = 10, .name = "b", .type = {.id = TL_TYPE_LONG}},
                         {.id = 11, .name = "c", .type = {.id = TL_TYPE_STRING}}};
    table_type t = {0};
    add_field(&t, "s", (tl_type){.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = inner}, false);
    add_field(&t, "d", type_of("double"), false);
    add_field(&t, "n", type_of("string"), false);
    add_field(&t, "missing", type_of("decimal(10, 2)"), false);
    int32_t ints[3] = {1, 2, 3};
    int8_t indices[3] = {1, 0, 2};
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 3, 3);
    test_schema(s.children[0], "+s", "s", 1);
    test_array(a.children[0], 3, 1, 1);
    test_validity(a.children[0], "x.x");
    test_fixed(s.children[0]->children[0], a.children[0]->children[0], "b", "i", ints, 4, 3);
    test_validity(a.children[0]->children[0], "xx.");
    test_fixed(s.children[1], a.children[1], "d", "c", indices, 1, 3);
    s.children[1]->dictionary = test_memory(sizeof(struct ArrowSchema));
    a.children[1]->dictionary = test_memory(sizeof(struct ArrowArray));
    test_strings(s.children[1]->dictionary, a.children[1]->dictionary, "", words, 3);
    test_fixed(s.children[2], a.children[2], "n", "i", ints, 4, 3);
    tl_schema schema = t.schema;
    schema.fields = t.fields;
    tl_align *plan;
    int before = test_array_releases;
    tl_status status = tl_align_create(&schema, -1, &s, &plan, &err);
    s.release(&s);
    if (status != TL_OK) {
        a.release(&a);
        return status;
    }
    status = tl_align_batch(plan, &a, 0, 0, b, &err);
    assert_int_equal(test_array_releases - before, status == TL_OK ? 0 : 1);
    tl_align_free(plan);
    return status;
}

static void every_failed_allocation_is_an_error_without_a_leak(void **state) {
    tl_batch b;
    int failures = 0;
    for (uint64_t n = 1;; n++) {
        tl_mem_fail_at(n);
        tl_status status = mixed_batch(&b);
        tl_mem_fail_at(0);
        if (status == TL_OK) {
            finish(&b);
            break;
        }
        assert_int_equal(status, TL_NO_MEMORY);
        failures++;
        assert_true(n < 1000);
    }
    assert_true(failures > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_takes_what_fits_and_refuses_what_does_not),
        cmocka_unit_test(the_table_of_rules_has_no_untested_cell),
        cmocka_unit_test(docs_show_the_table_of_the_code),
        cmocka_unit_test(columns_are_matched_by_name_and_faults_named),
        cmocka_unit_test(rows_count_over_the_whole_input),
        cmocka_unit_test(hidden_bytes_under_nulls_never_matter),
        cmocka_unit_test(code_points_split_between_rows_are_not_utf8),
        cmocka_unit_test(required_columns_take_no_null),
        cmocka_unit_test(insertion_time_is_stamped_where_the_input_has_none),
        cmocka_unit_test(long_values_are_cut_in_messages),
        cmocka_unit_test(dictionaries_report_the_first_row_not_the_first_value),
        cmocka_unit_test(long_dictionary_values_get_wide_offsets),
        cmocka_unit_test(nested_faults_name_their_path_and_row),
        cmocka_unit_test(list_faults_give_the_row_of_the_list),
        cmocka_unit_test(list_views_report_the_first_row_whatever_their_order),
        cmocka_unit_test(map_keys_are_never_null),
        cmocka_unit_test(empty_batches_and_batches_without_columns),
        cmocka_unit_test(rows_that_are_null_as_a_whole_are_refused),
        cmocka_unit_test(misaligned_buffers_are_copied),
        cmocka_unit_test(a_value_beyond_two_gigabytes_is_refused_with_its_row),
        cmocka_unit_test(every_failed_allocation_is_an_error_without_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
