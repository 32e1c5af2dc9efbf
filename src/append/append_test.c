/*
 * The append room against a plain model: random schemas, keys, nulls, NaN payloads, late rows, duplicates, batches,
 * threads and memory limits; the files must hold exactly the model's rows, in order, bit for bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append/append.h"
#include "base/env.h"
#include "base/mem.h"
#include "iceberg/manifest.h"
#include "parquet/reader.h"
#include "store/faulty.h"
#include "store/memory.h"
#include "table/rows.h"

#define MAX_COLUMNS 12

/* ---- random values ---- */

static uint64_t state;

static uint64_t next_random(void) {
    return tl_seeded_next(&state);
}

static uint64_t below(uint64_t n) {
    return next_random() % n;
}

/* A cell: null, or its bytes in native form; nested values in a form of the test's own. */
typedef struct cell {
    bool null;
    uint32_t len;
    uint8_t *data;
} cell;

typedef struct world {
    tl_field fields[MAX_COLUMNS];
    tl_field nested[MAX_COLUMNS][2];
    char names[MAX_COLUMNS][16];
    tl_schema schema;
    int32_t time, ingest;
    int32_t series[4];
    int32_t n_series;
    const char *chunk;
    bool dedup;
    uint32_t distinct; /* values a key column takes, about */
    int64_t time_from, time_range;
    size_t n_rows;
    cell *cells; /* n_rows * n_fields */
    tl_arena arena;
} world;

static cell cell_of(world *w, const void *data, size_t len) {
    cell c = {.len = (uint32_t)len, .data = tl_arena_copy(&w->arena, data, len)};
    assert_non_null(c.data);
    return c;
}

/* One of a small set of awkward values, or a random one, decided by `pick`. */
static cell random_cell(world *w, const tl_type *t, uint64_t pick) {
    static const uint64_t doubles[] = {0,
                                       0x8000000000000000u,
                                       0x7ff8000000000000u,
                                       0x7ff8000000000001u,
                                       0xfff8000000000000u,
                                       0x7ff0000000000000u,
                                       0xfff0000000000000u,
                                       1,
                                       0x3ff0000000000000u,
                                       0xbff0000000000000u};
    static const uint32_t floats[] = {0,           0x80000000u, 0x7fc00000u, 0x7fc00001u, 0xffc00000u,
                                      0x7f800000u, 0xff800000u, 1,           0x3f800000u, 0xbf800000u};
    static const char *const texts[] = {"",
                                        "a",
                                        "b",
                                        "machine-1",
                                        "machine-2",
                                        "machine-10",
                                        "\xef\xbf\xbd",
                                        "zzzzzzzzzzzzzzzz",
                                        "zzzzzzzzzzzzzzzzz",
                                        "zzzzzzzzzzzzzzzzy",
                                        "prefix-that-is-long-0001-suffix",
                                        "prefix-that-is-long-0002-suffix"};
    uint64_t v = pick * 0x9e3779b97f4a7c15u;
    int64_t i64 = pick % 5 == 0 ? INT64_MIN + (int64_t)(pick % 3) : (int64_t)(pick % 1000) - 500;
    int32_t i32 = pick % 7 == 0 ? INT32_MIN + (int32_t)(pick % 3) : (int32_t)(pick % 1000) - 500;
    uint8_t wide[16];
    switch (t->id) {
    case TL_TYPE_BOOLEAN: return cell_of(w, &(uint8_t){pick & 1}, 1);
    case TL_TYPE_INT:
    case TL_TYPE_DATE: return cell_of(w, &i32, 4);
    case TL_TYPE_LONG:
    case TL_TYPE_TIME:
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ: return cell_of(w, &i64, 8);
    case TL_TYPE_FLOAT: return cell_of(w, &floats[pick % TL_COUNT(floats)], 4);
    case TL_TYPE_DOUBLE: return cell_of(w, &doubles[pick % TL_COUNT(doubles)], 8);
    case TL_TYPE_DECIMAL: {
        int64_t low = (int64_t)(pick % 199) - 99, high = low < 0 ? -1 : 0;
        memcpy(wide, &low, 8);
        memcpy(wide + 8, &high, 8);
        return cell_of(w, wide, 16);
    }
    case TL_TYPE_UUID:
    case TL_TYPE_FIXED:
        for (int i = 0; i < 16; i++) {
            wide[i] = (uint8_t)(v >> (i % 8 * 8));
        }
        return cell_of(w, wide, t->id == TL_TYPE_UUID ? 16 : (size_t)t->length);
    default: {
        const char *text = texts[pick % TL_COUNT(texts)];
        return cell_of(w, text, strlen(text));
    }
    }
}

/* list<int>: u32 count, then per element a null flag and 4 bytes. struct<long, string>: flag + 8, flag + u32 + bytes.
 */
static cell random_nested(world *w, const tl_type *t) {
    uint8_t bytes[256] = {0};
    size_t len = 0;
    if (t->id == TL_TYPE_LIST) {
        uint32_t n = (uint32_t)below(4);
        memcpy(bytes, &n, 4);
        for (len = 4; n > 0; n--, len += 5) {
            bytes[len] = below(4) == 0;
            if (!bytes[len]) {
                uint32_t v = (uint32_t)next_random();
                memcpy(bytes + len + 1, &v, 4);
            }
        }
        return cell_of(w, bytes, len);
    }
    bytes[0] = below(4) == 0;
    if (!bytes[0]) {
        uint64_t v = next_random();
        memcpy(bytes + 1, &v, 8);
    }
    bytes[9] = below(4) == 0;
    len = 10;
    if (!bytes[9]) {
        uint32_t n = (uint32_t)below(20);
        memcpy(bytes + 10, &n, 4);
        memset(bytes + 14, 'a' + (int)below(26), n);
        len = 14 + n;
    }
    return cell_of(w, bytes, len);
}

static tl_type random_key_type(void) {
    static const tl_type types[] = {{.id = TL_TYPE_STRING},
                                    {.id = TL_TYPE_STRING},
                                    {.id = TL_TYPE_INT},
                                    {.id = TL_TYPE_LONG},
                                    {.id = TL_TYPE_BOOLEAN},
                                    {.id = TL_TYPE_FLOAT},
                                    {.id = TL_TYPE_DOUBLE},
                                    {.id = TL_TYPE_DATE},
                                    {.id = TL_TYPE_DECIMAL, .precision = 9, .scale = 2},
                                    {.id = TL_TYPE_DECIMAL, .precision = 18, .scale = 2},
                                    {.id = TL_TYPE_DECIMAL, .precision = 30, .scale = 2},
                                    {.id = TL_TYPE_UUID},
                                    {.id = TL_TYPE_FIXED, .length = 3},
                                    {.id = TL_TYPE_FIXED, .length = 12},
                                    {.id = TL_TYPE_BINARY},
                                    {.id = TL_TYPE_TIMESTAMP}};
    return types[below(TL_COUNT(types))];
}

static void add_field(world *w, const char *name, tl_type type, bool required) {
    int32_t i = w->schema.n_fields++;
    (void)snprintf(w->names[i], sizeof w->names[i], "%s", name);
    w->fields[i] = (tl_field){.required = required, .name = w->names[i], .type = type};
    if (type.id == TL_TYPE_LIST) {
        w->nested[i][0] = (tl_field){.name = "element", .type = {.id = TL_TYPE_INT}};
        w->fields[i].type.n_fields = 1;
        w->fields[i].type.fields = w->nested[i];
    } else if (type.id == TL_TYPE_STRUCT) {
        w->nested[i][0] = (tl_field){.name = "x", .type = {.id = TL_TYPE_LONG}};
        w->nested[i][1] = (tl_field){.name = "y", .type = {.id = TL_TYPE_STRING}};
        w->fields[i].type.n_fields = 2;
        w->fields[i].type.fields = w->nested[i];
    }
}

static void number_fields(world *w) {
    int32_t id = 0;
    for (int32_t i = 0; i < w->schema.n_fields; i++) {
        w->fields[i].id = ++id;
    }
    for (int32_t i = 0; i < w->schema.n_fields; i++) {
        for (int32_t k = 0; k < w->fields[i].type.n_fields; k++) {
            w->nested[i][k].id = ++id;
        }
    }
    w->schema.fields = w->fields;
}

static void make_world(world *w, uint64_t seed) {
    static const char *const chunks[] = {"hour", "day", "month"};
    static const tl_type_id values[] = {TL_TYPE_DOUBLE,  TL_TYPE_FLOAT, TL_TYPE_INT,    TL_TYPE_LONG, TL_TYPE_STRING,
                                        TL_TYPE_BOOLEAN, TL_TYPE_LIST,  TL_TYPE_STRUCT, TL_TYPE_UUID};
    *w = (world){.ingest = -1, .time = -1};
    state = seed;
    w->n_series = (int32_t)below(4);
    for (int32_t k = 0; k < w->n_series; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "k%d", k);
        w->series[k] = w->schema.n_fields;
        add_field(w, name, random_key_type(), below(3) == 0);
    }
    bool plain = below(8) == 0;
    if (plain) {
        w->n_series = 0;
    } else {
        w->time = w->schema.n_fields;
        add_field(w, "ts", (tl_type){.id = below(2) ? TL_TYPE_TIMESTAMPTZ : TL_TYPE_TIMESTAMP}, true);
    }
    for (uint64_t n = below(5); n > 0; n--) {
        char name[32];
        (void)snprintf(name, sizeof name, "v%llu", (unsigned long long)n);
        add_field(w, name, (tl_type){.id = values[below(TL_COUNT(values))]}, below(4) == 0);
    }
    if (!plain && below(2)) {
        w->ingest = w->schema.n_fields;
        add_field(w, "_ingest_ts", (tl_type){.id = TL_TYPE_TIMESTAMPTZ}, true);
    }
    if (w->schema.n_fields == 0) {
        add_field(w, "v", (tl_type){.id = TL_TYPE_INT}, false);
    }
    number_fields(w);
    w->chunk = chunks[below(3)];
    w->dedup = !plain && below(3) != 0;
    w->distinct = (uint32_t)(1 + below(below(2) ? 5 : 200));
    w->time_range = (int64_t)(1 + below(below(3) ? 500 : 40000000000));
    w->time_from = (int64_t)below(200000000000) - 100000000000;
    w->n_rows = below(3) == 0 ? below(20) : below(4000);
    w->cells = tl_arena_array(&w->arena, w->n_rows * (size_t)w->schema.n_fields, sizeof *w->cells);
    assert_non_null(w->cells);
    bool ordered = below(2);
    bool same_ingest = below(2);
    int64_t stamp = (int64_t)below(1000000);
    for (size_t r = 0; r < w->n_rows; r++) {
        for (int32_t f = 0; f < w->schema.n_fields; f++) {
            const tl_field *field = &w->fields[f];
            cell *c = &w->cells[r * (size_t)w->schema.n_fields + (size_t)f];
            if (f == w->time) {
                int64_t step = ordered && below(10) ? (int64_t)((uint64_t)w->time_range * r / w->n_rows)
                                                    : (int64_t)below((uint64_t)w->time_range);
                int64_t t = w->time_from + step * (w->time_range > 1000 ? 1 : 60000000);
                *c = cell_of(w, &t, 8);
            } else if (f == w->ingest) {
                int64_t t = same_ingest ? stamp : stamp + (int64_t)below(4);
                *c = cell_of(w, &t, 8);
            } else if (!field->required && below(6) == 0) {
                c->null = true;
            } else if (tl_type_is_nested(field->type.id)) {
                *c = random_nested(w, &field->type);
            } else {
                *c = random_cell(w, &field->type, field->name[0] == 'k' ? below(w->distinct) : next_random());
            }
        }
    }
}

/* ---- cells -> batches ---- */

typedef struct column_build {
    tl_arena *arena;
    const cell *cells; /* first cell of the column */
    size_t stride, n;
} column_build;

static uint8_t *space(tl_arena *arena, size_t n) {
    uint8_t *p = tl_arena_alloc(arena, n + 8);
    assert_non_null(p);
    return p;
}

static void build_bytes(const column_build *b, size_t bytes, tl_column *out) {
    out->kind = TL_COLUMN_BYTES;
    uint8_t *data = space(b->arena, bytes + 5);
    bool wide = below(2);
    int64_t *o64 = tl_arena_array(b->arena, b->n + 1, 8);
    int32_t *o32 = tl_arena_array(b->arena, b->n + 1, 4);
    assert_non_null(o64);
    assert_non_null(o32);
    size_t at = below(5);
    o64[0] = (int64_t)at;
    o32[0] = (int32_t)at;
    for (size_t i = 0; i < b->n; i++) {
        const cell *c = &b->cells[i * b->stride];
        if (c->null) { /* bytes under a null */
            memset(data + at, 'a' + (int)below(26), 3);
            at += 3;
        } else {
            memcpy(data + at, c->data, c->len);
            at += c->len;
        }
        o64[i + 1] = (int64_t)at;
        o32[i + 1] = (int32_t)at;
    }
    out->data = data;
    out->offsets64 = wide ? o64 : NULL;
    out->offsets32 = wide ? NULL : o32;
}

static void build_column(const column_build *b, const tl_field *field, tl_column *out);

static void build_list(const column_build *b, const tl_type *t, size_t elements, tl_column *out) {
    out->kind = TL_COLUMN_LIST;
    cell *items = tl_arena_array(b->arena, elements + 1, sizeof *items);
    int32_t *o32 = tl_arena_array(b->arena, b->n + 1, 4);
    assert_non_null(items);
    assert_non_null(o32);
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        const cell *c = &b->cells[i * b->stride];
        uint32_t n = c->null ? 0 : tl_load_u32(c->data);
        for (uint32_t k = 0; k < n; k++) {
            items[at++] = (cell){c->data[4 + k * 5] != 0, 4, c->data + 5 + k * 5};
        }
        o32[i + 1] = (int32_t)at;
    }
    out->offsets32 = o32;
    out->n_children = 1;
    out->children = tl_arena_array(b->arena, 1, sizeof *out->children);
    assert_non_null(out->children);
    column_build child = {b->arena, items, 1, elements};
    build_column(&child, &t->fields[0], &out->children[0]);
}

static void build_column(const column_build *b, const tl_field *field, tl_column *out) {
    const tl_type *t = &field->type;
    *out = (tl_column){.length = (int64_t)b->n};
    int shift = (int)below(8); /* bitmaps that do not begin at a byte */
    uint8_t *validity = space(b->arena, (b->n + 15) / 8), *bits = space(b->arena, (b->n + 15) / 8);
    bool any_null = false;
    size_t bytes = 0, elements = 0;
    for (size_t i = 0; i < b->n; i++) {
        const cell *c = &b->cells[i * b->stride];
        any_null |= c->null;
        bytes += c->null ? 3 : c->len;
        elements += !c->null && t->id == TL_TYPE_LIST ? tl_load_u32(c->data) : 0;
        if (!c->null) {
            tl_bit_set(validity, shift + (int64_t)i);
        }
    }
    if (any_null || (!field->required && below(2))) {
        out->validity = validity;
        out->validity_offset = shift;
    }
    if (t->id == TL_TYPE_BOOLEAN) {
        out->kind = TL_COLUMN_BOOL;
        out->values = bits;
        out->values_offset = shift;
        for (size_t i = 0; i < b->n; i++) {
            const cell *c = &b->cells[i * b->stride];
            if (c->null ? below(2) : c->data[0]) {
                tl_bit_set(bits, shift + (int64_t)i);
            }
        }
    } else if (t->id == TL_TYPE_STRING || t->id == TL_TYPE_BINARY) {
        build_bytes(b, bytes, out);
    } else if (t->id == TL_TYPE_LIST) {
        build_list(b, t, elements, out);
    } else if (t->id == TL_TYPE_STRUCT) {
        out->kind = TL_COLUMN_STRUCT;
        cell *x = tl_arena_array(b->arena, b->n * 2 + 1, sizeof *x), *y = x + b->n;
        assert_non_null(x);
        for (size_t i = 0; i < b->n; i++) {
            const cell *c = &b->cells[i * b->stride];
            x[i] = c->null ? (cell){.null = true} : (cell){c->data[0] != 0, 8, c->data + 1};
            y[i] =
                c->null || c->data[9] ? (cell){.null = true} : (cell){false, tl_load_u32(c->data + 10), c->data + 14};
        }
        out->n_children = 2;
        out->children = tl_arena_array(b->arena, 2, sizeof *out->children);
        assert_non_null(out->children);
        build_column(&(column_build){b->arena, x, 1, b->n}, &t->fields[0], &out->children[0]);
        build_column(&(column_build){b->arena, y, 1, b->n}, &t->fields[1], &out->children[1]);
    } else {
        out->kind = TL_COLUMN_FIXED;
        out->width = t->id == TL_TYPE_DECIMAL || t->id == TL_TYPE_UUID                         ? 16
                     : t->id == TL_TYPE_FIXED                                                  ? t->length
                     : t->id == TL_TYPE_INT || t->id == TL_TYPE_FLOAT || t->id == TL_TYPE_DATE ? 4
                                                                                               : 8;
        size_t width = (size_t)out->width;
        uint8_t *values = space(b->arena, b->n * width);
        for (size_t i = 0; i < b->n; i++) {
            const cell *c = &b->cells[i * b->stride];
            for (size_t k = 0; c->null && k < width; k++) {
                values[i * width + k] = (uint8_t)next_random();
            }
            if (!c->null) {
                memcpy(values + i * width, c->data, width);
            }
        }
        out->values = values;
    }
}

static tl_batch make_batch(const world *w, size_t from, size_t n) {
    tl_batch b = {.n_rows = (int64_t)n, .n_columns = w->schema.n_fields};
    b.columns = tl_arena_array(&b.arena, (size_t)b.n_columns, sizeof *b.columns);
    assert_non_null(b.columns);
    for (int32_t f = 0; f < b.n_columns; f++) {
        size_t fields = (size_t)w->schema.n_fields;
        column_build build = {&b.arena, w->cells + from * fields + (size_t)f, fields, n};
        build_column(&build, &w->fields[f], &b.columns[f]);
    }
    b.bytes = b.arena.total;
    return b;
}

/* ---- the model ---- */

static const world *sorting_world;

static uint64_t ordered_bits(const tl_type *t, const cell *c) {
    uint64_t v = 0;
    memcpy(&v, c->data, c->len < 8 ? c->len : 8);
    if (t->id == TL_TYPE_DOUBLE || t->id == TL_TYPE_FLOAT) {
        double d;
        float f;
        memcpy(&d, &v, 8);
        memcpy(&f, &v, 4);
        d = t->id == TL_TYPE_FLOAT ? (double)f : d;
        if (d != d) {
            return UINT64_MAX;
        }
        memcpy(&v, &d, 8);
        return v >> 63 ? ~v : v | (UINT64_C(1) << 63);
    }
    int64_t i = c->len == 4 ? (int32_t)(uint32_t)v : (int64_t)v;
    return t->id == TL_TYPE_BOOLEAN ? v : (uint64_t)i ^ (UINT64_C(1) << 63);
}

static int compare_cells(const tl_type *t, const cell *a, const cell *b) {
    if (a->null || b->null) {
        return (int)b->null - (int)a->null;
    }
    if (t->id == TL_TYPE_STRING || t->id == TL_TYPE_BINARY || t->id == TL_TYPE_UUID || t->id == TL_TYPE_FIXED) {
        int order = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
        return order ? order : (a->len > b->len) - (a->len < b->len);
    }
    if (t->id == TL_TYPE_DECIMAL) { /* the test's decimals fit the low half */
        int64_t x = tl_load_i64(a->data), y = tl_load_i64(b->data);
        return (x > y) - (x < y);
    }
    uint64_t x = ordered_bits(t, a), y = ordered_bits(t, b);
    return (x > y) - (x < y);
}

static const cell *cell_at(const world *w, size_t row, int32_t field) {
    return &w->cells[row * (size_t)w->schema.n_fields + (size_t)field];
}

static int32_t partition_of(const world *w, size_t row) {
    int32_t value = 0;
    tl_transform chunk = strcmp(w->chunk, "hour") == 0  ? TL_TRANSFORM_HOUR
                         : strcmp(w->chunk, "day") == 0 ? TL_TRANSFORM_DAY
                                                        : TL_TRANSFORM_MONTH;
    assert_true(tl_transform_time(chunk, tl_load_i64(cell_at(w, row, w->time)->data), &value));
    return value;
}

static int compare_keys(const world *w, size_t a, size_t b) {
    int32_t x = partition_of(w, a), y = partition_of(w, b);
    if (x != y) {
        return x < y ? -1 : 1;
    }
    for (int32_t k = 0; k < w->n_series; k++) {
        int order =
            compare_cells(&w->fields[w->series[k]].type, cell_at(w, a, w->series[k]), cell_at(w, b, w->series[k]));
        if (order) {
            return order;
        }
    }
    return compare_cells(&w->fields[w->time].type, cell_at(w, a, w->time), cell_at(w, b, w->time));
}

static int compare_rows(const void *p, const void *q) {
    const world *w = sorting_world;
    size_t a = *(const size_t *)p, b = *(const size_t *)q;
    int order = compare_keys(w, a, b);
    if (!order && w->ingest >= 0) {
        order = compare_cells(&w->fields[w->ingest].type, cell_at(w, a, w->ingest), cell_at(w, b, w->ingest));
    }
    return order ? order : (a > b) - (a < b);
}

/* Rows the files must hold, in order. */
static size_t model_rows(const world *w, size_t *out) {
    for (size_t i = 0; i < w->n_rows; i++) {
        out[i] = i;
    }
    if (w->time < 0) {
        return w->n_rows;
    }
    sorting_world = w;
    qsort(out, w->n_rows, sizeof *out, compare_rows);
    if (!w->dedup) {
        return w->n_rows;
    }
    size_t n = 0;
    for (size_t i = 0; i < w->n_rows; i++) {
        if (i + 1 == w->n_rows || compare_keys(w, out[i], out[i + 1]) != 0) {
            out[n++] = out[i];
        }
    }
    return n;
}

/* ---- reading back ---- */

static void check_cell(const tl_type *t, const tl_column *c, int64_t row, const cell *want) {
    assert_int_equal(tl_column_is_null(c, row), want->null);
    if (want->null) {
        return;
    }
    if (c->kind == TL_COLUMN_BOOL) {
        assert_int_equal(tl_column_bool(c, row), want->data[0]);
    } else if (c->kind == TL_COLUMN_BYTES) {
        tl_bytes b = tl_column_bytes(c, row);
        assert_int_equal(b.len, want->len);
        assert_true(b.len == 0 || memcmp(b.data, want->data, b.len) == 0);
    } else if (c->kind == TL_COLUMN_LIST) {
        int64_t from = tl_column_offset(c, row), n = tl_column_offset(c, row + 1) - from;
        assert_int_equal(n, tl_load_u32(want->data));
        for (int64_t k = 0; k < n; k++) {
            cell item = {want->data[4 + k * 5] != 0, 4, want->data + 5 + k * 5};
            check_cell(&t->fields[0].type, &c->children[0], from + k, &item);
        }
    } else if (c->kind == TL_COLUMN_STRUCT) {
        cell x = {want->data[0] != 0, 8, want->data + 1};
        check_cell(&t->fields[0].type, &c->children[0], row, &x);
        cell y = {.null = true};
        if (!want->data[9]) {
            y = (cell){false, tl_load_u32(want->data + 10), want->data + 14};
        }
        check_cell(&t->fields[1].type, &c->children[1], row, &y);
    } else {
        assert_int_equal(c->width, want->len);
        assert_memory_equal(c->values + row * c->width, want->data, want->len);
    }
}

/* Compares one file with rows model[*at] .. of the model, moving *at on. */
static void check_file(const world *w, tl_store *store, const char *key, const size_t *model, size_t n, size_t *at) {
    tl_error err = {{0}};
    tl_buf bytes = {0};
    assert_int_equal(tl_store_get(store, key, &bytes, &err), TL_OK);
    tl_bytes view = tl_buf_bytes(&bytes);
    tl_pq_reader *reader = NULL;
    if (tl_pq_reader_open(tl_pq_source_bytes(&view), NULL, &reader, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    struct ArrowSchema format;
    assert_int_equal(tl_pq_reader_schema(reader, NULL, 0, &format, &err), TL_OK);
    const tl_pq_file_meta *meta = tl_pq_reader_meta(reader);
    for (int32_t g = 0; g < meta->n_row_groups; g++) {
        struct ArrowArray array;
        if (tl_pq_reader_read(reader, g, NULL, 0, NULL, 0, &array, &err) != TL_OK) {
            fail_msg("%s", err.message);
        }
        tl_arena arena = {0};
        for (int32_t f = 0; f < w->schema.n_fields; f++) {
            tl_column column;
            if (tl_column_from_arrow(&w->fields[f].type, format.children[f], array.children[f], &arena, &column,
                                     &err) != TL_OK) {
                fail_msg("%s: %s", w->fields[f].name, err.message);
            }
            for (int64_t i = 0; i < array.length; i++) {
                assert_true(*at + (size_t)i < n);
                check_cell(&w->fields[f].type, &column, i, cell_at(w, model[*at + (size_t)i], f));
            }
        }
        *at += (size_t)array.length;
        tl_arena_free(&arena);
        array.release(&array);
    }
    format.release(&format);
    tl_pq_reader_free(reader);
    tl_buf_free(&bytes);
}

static void check_partitions(const world *w, const tl_staged *s, const size_t *model) {
    size_t at = 0;
    int32_t t = -1;
    for (int32_t i = 0; i < s->n_files; i++) {
        const tl_data_file *file = &s->files[i];
        assert_int_equal(file->n_partition, w->time >= 0 ? 1 : 0);
        assert_int_equal(file->sort_order_id, w->time >= 0 ? 1 : -1);
        for (int64_t r = 0; r < file->record_count && w->time >= 0; r++) {
            int32_t value = tl_load_i32(file->partition[0].value.data);
            assert_int_equal(partition_of(w, model[at + (size_t)r]), value);
            if (t < 0 || s->touched[t].partition != value) {
                t++;
            }
            int64_t us = tl_load_i64(cell_at(w, model[at + (size_t)r], w->time)->data);
            assert_true(t < s->n_touched && s->touched[t].partition == value);
            assert_true(us >= s->touched[t].min_us && us <= s->touched[t].max_us);
        }
        at += (size_t)file->record_count;
    }
    int64_t rows = 0;
    for (int32_t i = 0; i < s->n_touched; i++) {
        rows += s->touched[i].rows;
    }
    assert_int_equal(rows, w->time >= 0 ? (int64_t)at : 0);
}

/* Bounds of key columns must not hide null or NaN keys. */
static void check_key_bounds(const world *w, const tl_staged *s) {
    for (int32_t i = 0; i < s->n_files; i++) {
        for (int32_t c = 0; c < s->files[i].n_columns; c++) {
            const tl_column_stats *stats = &s->files[i].columns[c];
            for (int32_t k = 0; k < w->n_series; k++) {
                if (w->fields[w->series[k]].id == stats->field_id && (stats->nulls > 0 || stats->nans > 0)) {
                    assert_null(stats->lower.data);
                    assert_null(stats->upper.data);
                }
            }
        }
    }
}

static void check_newest(const world *w, const tl_staged *s, const size_t *model, size_t n) {
    if (w->time < 0) {
        assert_int_equal(s->newest.n_columns, 0);
        return;
    }
    /* the newest of a series: greatest (time, insertion time, arrival) over all partitions */
    size_t *best = tl_alloc_array(n + 1, sizeof *best);
    assert_non_null(best);
    size_t n_best = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        for (; k < n_best; k++) {
            bool same = true;
            for (int32_t f = 0; f < w->n_series; f++) {
                same &= compare_cells(&w->fields[w->series[f]].type, cell_at(w, best[k], w->series[f]),
                                      cell_at(w, model[i], w->series[f])) == 0;
            }
            if (same) {
                break;
            }
        }
        if (k == n_best) {
            best[n_best++] = model[i];
        } else if (tl_load_i64(cell_at(w, model[i], w->time)->data) >=
                   tl_load_i64(cell_at(w, best[k], w->time)->data)) {
            best[k] = model[i]; /* the model is in the order of insertion within a time */
        }
    }
    assert_int_equal(s->newest.n_rows, n_best);
    for (int64_t r = 0; r < s->newest.n_rows; r++) {
        bool found = false;
        for (size_t k = 0; k < n_best && !found; k++) {
            found = true;
            for (int32_t f = 0; f < w->n_series && found; f++) {
                const cell *c = cell_at(w, best[k], w->series[f]);
                tl_arena arena = {0};
                tl_column one;
                column_build b = {&arena, c, 1, 1};
                uint64_t keep = state;
                tl_field optional = w->fields[w->series[f]];
                build_column(&b, &optional, &one);
                state = keep;
                found = tl_column_compare(&optional.type, &one, 0, &s->newest.columns[w->series[f]], r) == 0;
                tl_arena_free(&arena);
            }
            if (found) {
                for (int32_t f = 0; f < w->schema.n_fields; f++) {
                    check_cell(&w->fields[f].type, &s->newest.columns[f], r, cell_at(w, best[k], f));
                }
            }
        }
        assert_true(found);
        if (r > 0) { /* in the order of the key */
            int order = 0;
            for (int32_t f = 0; f < w->n_series && !order; f++) {
                const tl_column *c = &s->newest.columns[w->series[f]];
                order = tl_column_compare(&w->fields[w->series[f]].type, c, r - 1, c, r);
            }
            assert_true(order < 0);
        }
    }
    tl_free(best);
}

/* ---- appending ---- */

typedef struct run_options {
    unsigned threads;
    int64_t memory;
    size_t batch; /* rows; 0 = random */
    const char *group_rows, *page_rows, *target;
    bool compact;
} run_options;

static tl_table *make_table(const world *w, tl_store *store, const run_options *o) {
    tl_error err = {{0}};
    const char *keys[4];
    for (int32_t k = 0; k < w->n_series; k++) {
        keys[k] = w->fields[w->series[k]].name;
    }
    tl_property properties[] = {{"row-group-rows", o->group_rows ? o->group_rows : "100"},
                                {"data-page-rows", o->page_rows ? o->page_rows : "30"},
                                {"target-file-size-bytes", o->target ? o->target : "268435456"}};
    tl_create_options create = {.schema = &w->schema,
                                .time_column = w->time >= 0 ? "ts" : NULL,
                                .series_key = keys,
                                .n_series_key = w->n_series,
                                .ingest_column = w->ingest >= 0 ? "_ingest_ts" : NULL,
                                .chunk = w->time >= 0 ? w->chunk : NULL,
                                .dedup = w->time >= 0 ? w->dedup : -1,
                                .properties = properties,
                                .n_properties = 3};
    tl_table *table = NULL;
    if (tl_table_create(store, "default", "t", &create, &table, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return table;
}

static tl_status append_world(const world *w, tl_table *table, const run_options *o, tl_staged *out, tl_error *err) {
    tl_pool *pool = NULL;
    *out = (tl_staged){0};
    if (o->threads > 1) {
        TL_TRY(tl_pool_create(o->threads, &pool, err));
    }
    tl_append_options options = {.pool = pool, .memory_limit = o->memory, .compact_profile = o->compact};
    tl_appender *a = NULL;
    tl_status status = tl_appender_create(table, &options, &a, err);
    for (size_t from = 0; from < w->n_rows && status == TL_OK;) {
        size_t n = o->batch ? o->batch : 1 + below(below(2) ? 50 : 2000);
        n = n > w->n_rows - from ? w->n_rows - from : n;
        uint64_t at = tl_mem_fail_at(0); /* building the input is not on trial */
        (void)at;
        tl_batch batch = make_batch(w, from, n);
        status = tl_appender_add(a, &batch, err);
        from += n;
    }
    if (status == TL_OK) {
        status = tl_appender_finish(a, out, err);
    }
    tl_appender_free(a);
    tl_pool_free(pool);
    return status;
}

static tl_status count_object(void *ctx, const tl_object_info *object, tl_error *err) {
    (void)object;
    (void)err;
    ++*(int *)ctx;
    return TL_OK;
}

static int data_objects(tl_store *store) {
    int n = 0;
    tl_error err;
    assert_int_equal(tl_store_list(store, "default/t/data", true, count_object, &n, &err), TL_OK);
    return n;
}

static void check_run(const world *w, const run_options *o) {
    tl_error err = {{0}};
    tl_store *store = NULL;
    assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
    tl_table *table = make_table(w, store, o);
    tl_staged staged;
    if (append_world(w, table, o, &staged, &err) != TL_OK) {
        fail_msg("append: %s", err.message);
    }
    size_t *model = tl_alloc_array(w->n_rows + 1, sizeof *model);
    assert_non_null(model);
    size_t n = model_rows(w, model), at = 0;
    assert_int_equal(staged.rows, n);
    assert_int_equal(staged.rows_in, w->n_rows);
    for (int32_t i = 0; i < staged.n_files; i++) {
        check_file(w, store, staged.keys[i], model, n, &at);
    }
    assert_int_equal(at, n);
    assert_int_equal(data_objects(store), staged.n_files);
    check_partitions(w, &staged, model);
    check_key_bounds(w, &staged);
    check_newest(w, &staged, model, n);
    tl_staged_discard(store, &staged);
    assert_int_equal(data_objects(store), 0);
    tl_staged_free(&staged);
    tl_free(model);
    tl_table_release(table);
    tl_store_close(store);
}

/* ---- tests ---- */

static uint64_t first_seed(void) {
    const char *text = getenv("TL_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

static void files_hold_exactly_the_models_rows_in_order(void **unused) {
    (void)unused;
    uint64_t from = first_seed();
    for (uint64_t seed = from; seed < from + 120; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        world w;
        make_world(&w, seed);
        run_options o = {.threads = 1 + (unsigned)below(4), .compact = below(2), .target = below(4) ? NULL : "4000"};
        if (below(2)) {
            o.memory = 1; /* the least there is */
        }
        check_run(&w, &o);
        tl_arena_free(&w.arena);
    }
}

/* Few columns and many rows, so that a small memory limit is passed many times. */
static void lean_world(world *w, uint64_t seed, size_t rows) {
    state = seed;
    *w = (world){.ingest = -1, .time = 1, .n_series = 1, .chunk = "hour", .distinct = 40, .n_rows = rows};
    add_field(w, "k0", random_key_type(), false);
    add_field(w, "ts", (tl_type){.id = TL_TYPE_TIMESTAMPTZ}, true);
    add_field(w, "v1", (tl_type){.id = TL_TYPE_STRING}, false);
    if (below(2)) {
        w->ingest = 3;
        add_field(w, "_ingest_ts", (tl_type){.id = TL_TYPE_TIMESTAMPTZ}, true);
    }
    number_fields(w);
    w->dedup = below(3) != 0;
    w->cells = tl_arena_array(&w->arena, rows * (size_t)w->schema.n_fields, sizeof *w->cells);
    assert_non_null(w->cells);
    for (size_t r = 0; r < rows; r++) {
        cell *row = &w->cells[r * (size_t)w->schema.n_fields];
        int64_t t = (int64_t)(r / 10) * 1000000 - (below(10) ? 0 : (int64_t)below(1000000000));
        row[0] = below(20) ? random_cell(w, &w->fields[0].type, below(w->distinct)) : (cell){.null = true};
        row[1] = cell_of(w, &t, 8);
        row[2] = random_cell(w, &w->fields[2].type, next_random());
        if (w->ingest >= 0) {
            int64_t stamp = (int64_t)below(3);
            row[3] = cell_of(w, &stamp, 8);
        }
    }
}

static void tiny_memory_gives_the_same_rows_through_many_runs(void **unused) {
    (void)unused;
    for (uint64_t seed = 1000; seed < 1012; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        world w;
        lean_world(&w, seed, 60000);
        run_options o = {.threads = 1 + (unsigned)(seed % 3),
                         .memory = seed % 2 ? 1 : 1 << 20, /* the least there is: runs are merged into runs as well */
                         .group_rows = "3000",
                         .batch = 500};
        check_run(&w, &o);
        tl_arena_free(&w.arena);
    }
}

static tl_status spill_in(const world *w, tl_store *store, const char *directory, uint64_t fail_at, tl_error *err) {
    run_options o = {.threads = 1, .group_rows = "3000"};
    tl_table *table = make_table(w, store, &o);
    tl_append_options options = {.memory_limit = 1, .spill_directory = directory};
    tl_appender *a = NULL;
    tl_staged staged = {0};
    tl_status status = tl_appender_create(table, &options, &a, err);
    assert_int_equal(status, TL_OK);
    (void)tl_mem_fail_at(0);
    for (size_t from = 0; from < w->n_rows && status == TL_OK; from += 500) {
        tl_batch batch = make_batch(w, from, 500);
        if (fail_at) {
            (void)tl_mem_fail_at(fail_at);
        }
        status = tl_appender_add(a, &batch, err);
        uint64_t made = tl_mem_fail_at(0);
        fail_at = fail_at > made ? fail_at - made : fail_at ? 1 : 0;
    }
    if (status == TL_OK) {
        (void)tl_mem_fail_at(fail_at);
        status = tl_appender_finish(a, &staged, err);
        (void)tl_mem_fail_at(0);
    }
    tl_appender_free(a);
    if (status == TL_OK) {
        tl_staged_discard(store, &staged);
    }
    tl_staged_free(&staged);
    tl_table_release(table);
    assert_int_equal(tl_table_drop(store, "default", "t", err), TL_OK);
    return status;
}

static void a_failure_while_spilling_leaves_nothing(void **unused) {
    (void)unused;
    world w;
    lean_world(&w, 31, 6000);
    tl_error err = {{0}};
    tl_store *store = NULL;
    assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
    assert_int_equal(spill_in(&w, store, "/there/is/no/such/directory", 0, &err), TL_IO);
    assert_non_null(strstr(err.message, "/there/is/no/such/directory"));
    bool done = false;
    for (uint64_t n = 1; !done; n += 1 + n / 8) {
        tl_status status = spill_in(&w, store, NULL, n, &err);
        done = status == TL_OK;
        assert_true(done || status == TL_NO_MEMORY);
    }
    tl_store_close(store);
    tl_arena_free(&w.arena);
}

/* Is every row of model[at .. at + n) of `w` later than all rows of its series in `before`? */
static bool all_newer(const world *w, const size_t *model, size_t at, size_t n, const world *before) {
    for (size_t i = at; i < at + n; i++) {
        for (size_t r = 0; r < before->n_rows; r++) {
            bool same = true;
            for (int32_t k = 0; k < w->n_series && same; k++) {
                int32_t f = w->series[k];
                same = compare_cells(&w->fields[f].type, cell_at(w, model[i], f), cell_at(before, r, f)) == 0;
            }
            if (same &&
                tl_load_i64(cell_at(w, model[i], w->time)->data) <= tl_load_i64(cell_at(before, r, w->time)->data)) {
                return false;
            }
        }
    }
    return true;
}

static tl_staged append_alone(const world *w, const run_options *o) {
    tl_error err = {{0}};
    tl_store *store = NULL;
    assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
    tl_table *table = make_table(w, store, o);
    tl_staged staged;
    if (append_world(w, table, o, &staged, &err) != TL_OK) {
        fail_msg("append: %s", err.message);
    }
    tl_table_release(table);
    tl_store_close(store);
    return staged;
}

static void a_file_is_newer_when_all_its_rows_are_after_their_series_last(void **unused) {
    (void)unused;
    int counts[2] = {0, 0};
    for (uint64_t seed = 7000; seed < 7060; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        world whole = {0};
        make_world(&whole, seed);
        if (whole.time < 0) {
            tl_arena_free(&whole.arena);
            continue;
        }
        whole.n_rows = whole.n_rows > 600 ? 600 : whole.n_rows;
        world first = whole, second = whole;
        size_t cut = below(2) ? whole.n_rows / 2 : whole.n_rows > 3 ? whole.n_rows - 3 : 0;
        first.n_rows = cut;
        second.n_rows = whole.n_rows - cut;
        second.cells = whole.cells + cut * (size_t)whole.schema.n_fields;
        run_options o = {.threads = 1 + (unsigned)below(3)};
        tl_staged a = append_alone(&first, &o), b = append_alone(&second, &o);
        size_t *model = tl_alloc_array(second.n_rows + 1, sizeof *model);
        bool *newer = tl_alloc_array((size_t)b.n_files + 1, sizeof *newer);
        assert_non_null(model);
        assert_non_null(newer);
        (void)model_rows(&second, model);
        tl_error err;
        tl_contract contract = {.time = whole.time, .series = whole.series, .n_series = whole.n_series};
        assert_int_equal(tl_staged_newer(&whole.schema, &contract, &b, &a.newest, newer, &err), TL_OK);
        size_t at = 0;
        for (int32_t i = 0; i < b.n_files; i++) {
            size_t n = (size_t)b.files[i].record_count;
            assert_int_equal(newer[i], all_newer(&second, model, at, n, &first));
            counts[newer[i]]++;
            at += n;
        }
        tl_free(model);
        tl_free(newer);
        tl_staged_free(&a);
        tl_staged_free(&b);
        tl_arena_free(&whole.arena);
    }
    assert_true(counts[0] > 10 && counts[1] > 10); /* both answers were put to the test */
}

/* All data bytes of an append, files in order. */
static void collect_bytes(const world *w, const run_options *o, tl_buf *out) {
    tl_error err = {{0}};
    tl_store *store = NULL;
    assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
    tl_table *table = make_table(w, store, o);
    tl_staged staged;
    if (append_world(w, table, o, &staged, &err) != TL_OK) {
        fail_msg("append: %s", err.message);
    }
    for (int32_t i = 0; i < staged.n_files; i++) {
        assert_int_equal(tl_store_get(store, staged.keys[i], out, &err), TL_OK);
    }
    tl_staged_free(&staged);
    tl_table_release(table);
    tl_store_close(store);
}

static void bytes_do_not_depend_on_threads_or_on_how_rows_are_batched(void **unused) {
    (void)unused;
    for (uint64_t seed = 5000; seed < 5015; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        world w;
        make_world(&w, seed);
        tl_buf first = {0};
        collect_bytes(&w, &(run_options){.threads = 1, .batch = w.n_rows ? w.n_rows : 1}, &first);
        for (unsigned i = 2; i <= 4; i++) {
            tl_buf other = {0};
            collect_bytes(&w, &(run_options){.threads = i, .batch = i == 4 ? 0 : 37 * i}, &other);
            assert_int_equal(first.len, other.len);
            assert_true(first.len == 0 || memcmp(first.data, other.data, first.len) == 0);
            tl_buf_free(&other);
        }
        tl_buf_free(&first);
        tl_arena_free(&w.arena);
    }
}

static void small_world(world *w, uint64_t seed) {
    do {
        tl_arena_free(&w->arena);
        make_world(w, seed);
        seed += 7919;
    } while (w->n_rows < 30 || w->time < 0 || w->n_series == 0);
    w->n_rows = 30;
}

static void nothing_is_left_when_an_allocation_fails(void **unused) {
    (void)unused;
    for (uint64_t seed = 9000; seed < 9003; seed++) {
        world w = {0};
        small_world(&w, seed);
        tl_error err = {{0}};
        tl_store *store = NULL;
        assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
        run_options o = {.threads = 1, .batch = 30, .group_rows = "10"};
        tl_table *table = make_table(&w, store, &o);
        bool done = false;
        for (uint64_t n = 1; !done; n += 1 + n / 50) {
            tl_append_options options = {0};
            tl_appender *a = NULL;
            tl_staged staged = {0};
            tl_batch batch = make_batch(&w, 0, w.n_rows);
            (void)tl_mem_fail_at(n);
            tl_status status = tl_appender_create(table, &options, &a, &err);
            if (status == TL_OK) {
                status = tl_appender_add(a, &batch, &err);
            } else {
                tl_batch_free(&batch);
            }
            if (status == TL_OK) {
                status = tl_appender_finish(a, &staged, &err);
            }
            tl_appender_free(a);
            (void)tl_mem_fail_at(0);
            done = status == TL_OK;
            if (done) {
                tl_staged_discard(store, &staged);
            } else {
                assert_int_equal(status, TL_NO_MEMORY);
            }
            assert_int_equal(data_objects(store), 0);
            tl_staged_free(&staged);
        }
        tl_table_release(table);
        tl_store_close(store);
        tl_arena_free(&w.arena);
    }
}

static void nothing_is_left_when_the_store_fails(void **unused) {
    (void)unused;
    world w = {0};
    small_world(&w, 77);
    w.chunk = "hour";
    for (unsigned threads = 1; threads <= 2; threads++) {
        bool done = false;
        for (uint64_t n = 1; !done; n++) {
            tl_error err = {{0}};
            tl_store *inner = NULL, *store = NULL;
            assert_int_equal(tl_memory_open("", tl_env_default(), &inner, &err), TL_OK);
            assert_int_equal(tl_faulty_open(inner, &store, &err), TL_OK);
            run_options o = {.threads = threads, .batch = 30, .group_rows = "10", .target = "1000"};
            tl_table *table = make_table(&w, store, &o);
            tl_fault_rule rule = {.ops = TL_OP_WRITER_OPEN | TL_OP_WRITER_WRITE | TL_OP_WRITER_FINISH | TL_OP_PUT,
                                  .nth = n,
                                  .fault = TL_FAULT_NO_SPACE};
            tl_faulty_script(store, &rule, 1);
            tl_staged staged;
            tl_status status = append_world(&w, table, &o, &staged, &err);
            done = status == TL_OK;
            if (done) {
                tl_staged_discard(store, &staged);
            } else {
                assert_int_equal(status, TL_IO);
            }
            assert_int_equal(data_objects(store), 0);
            tl_staged_free(&staged);
            tl_table_release(table);
            tl_store_close(store);
        }
    }
    tl_arena_free(&w.arena);
}

static void a_time_that_no_partition_holds_is_named_with_its_row(void **unused) {
    (void)unused;
    world w = {.ingest = -1, .chunk = "hour", .time = 0, .n_rows = 3};
    add_field(&w, "ts", (tl_type){.id = TL_TYPE_TIMESTAMPTZ}, true);
    number_fields(&w);
    w.cells = tl_arena_array(&w.arena, 3, sizeof *w.cells);
    assert_non_null(w.cells);
    int64_t times[] = {0, 5, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        w.cells[i] = cell_of(&w, &times[i], 8);
    }
    tl_error err = {{0}};
    tl_store *store = NULL;
    assert_int_equal(tl_memory_open("", tl_env_default(), &store, &err), TL_OK);
    run_options o = {.threads = 1, .batch = 2};
    tl_table *table = make_table(&w, store, &o);
    tl_staged staged;
    assert_int_equal(append_world(&w, table, &o, &staged, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "column \"ts\", row 3"));
    assert_non_null(strstr(err.message, "9223372036854775807"));
    assert_int_equal(data_objects(store), 0);
    tl_staged_free(&staged);
    tl_table_release(table);
    tl_store_close(store);
    tl_arena_free(&w.arena);
}

static void no_rows_make_no_files(void **unused) {
    (void)unused;
    world w = {.ingest = -1, .chunk = "day", .time = 0};
    add_field(&w, "ts", (tl_type){.id = TL_TYPE_TIMESTAMPTZ}, true);
    number_fields(&w);
    check_run(&w, &(run_options){.threads = 2});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rows_make_no_files),
        cmocka_unit_test(files_hold_exactly_the_models_rows_in_order),
        cmocka_unit_test(tiny_memory_gives_the_same_rows_through_many_runs),
        cmocka_unit_test(bytes_do_not_depend_on_threads_or_on_how_rows_are_batched),
        cmocka_unit_test(a_file_is_newer_when_all_its_rows_are_after_their_series_last),
        cmocka_unit_test(nothing_is_left_when_an_allocation_fails),
        cmocka_unit_test(nothing_is_left_when_the_store_fails),
        cmocka_unit_test(a_failure_while_spilling_leaves_nothing),
        cmocka_unit_test(a_time_that_no_partition_holds_is_named_with_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
