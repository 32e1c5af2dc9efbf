/*
 * What is written is read back: random trees of columns in all types, encodings, codecs, page versions, page sizes and
 * null patterns, written through the shredder and read through the reader, whole and in ranges; and the page index
 * tells the truth about each page.
 */
#include "parquet/testing_internal.h"

#include <math.h>

#include "arrow/column.h"
#include "base/mem.h"
#include "parquet/reader.h"
#include "parquet/shred.h"
#include "parquet/write_internal.h"

#define MAX_ELEMENTS 64
#define MAX_LEAVES 32
#define MAX_TOPS 4

/* One random file: its schema and the columns that go into it. */
typedef struct trip {
    tl_dice dice;
    tl_pq_schema_element schema[MAX_ELEMENTS];
    int32_t n_schema;
    tl_pq_convert converts[MAX_LEAVES]; /* by leaf of the file */
    int32_t n_leaves;
    tl_column tops[MAX_TOPS];
    int32_t top_elements[MAX_TOPS], top_leaves[MAX_TOPS];
    int32_t n_tops;
    int64_t n_rows;
    tl_arena arena; /* schema names and column data */
} trip;

static uint64_t below(trip *t, uint64_t n) {
    return tl_dice_below(&t->dice, n);
}
static bool one_in(trip *t, uint64_t n) {
    return tl_dice_one_in(&t->dice, n);
}

static void *arena_bytes(trip *t, size_t n) {
    void *p = tl_arena_alloc(&t->arena, n ? n : 1);
    assert_non_null(p);
    return p;
}

/* ---- columns ---- */

/* Nulls: none, all, single ones, or stretches. */
static const uint8_t *random_validity(trip *t, int64_t n, int64_t *offset) {
    uint64_t kind = below(t, 5);
    *offset = (int64_t)below(t, 11);
    if (kind == 0) {
        return NULL;
    }
    uint8_t *bits = arena_bytes(t, (size_t)(n + *offset) / 8 + 9);
    bool valid = one_in(t, 2);
    for (int64_t i = 0; i < n; i++) {
        if (kind == 2 || (kind == 3 && one_in(t, 40))) {
            valid = kind == 2 ? !one_in(t, 3) : !valid;
        }
        if (kind == 4 || (kind != 1 && valid)) {
            tl_bit_set(bits, *offset + i);
        }
    }
    return bits;
}

static uint64_t random_number(trip *t, uint64_t kind, uint64_t i) {
    static const uint64_t edges[] = {0,           1,          UINT64_MAX, (uint64_t)INT64_MAX, (uint64_t)INT64_MIN,
                                     0x80000000u, 0x7fffffffu};
    switch (kind) {
    case 0: return 42;
    case 1: return below(t, 5);
    case 2: return i * 1000 + below(t, 3);
    case 3: return edges[below(t, TL_COUNT(edges))];
    default: return tl_dice_u64(&t->dice);
    }
}

static double random_real(trip *t, uint64_t kind, uint64_t i) {
    static const uint64_t nan_with_payload = 0xfff8000000000123u;
    double odd[] = {NAN, -0.0, 0.0, INFINITY, -INFINITY, 0, 5e-324};
    memcpy(&odd[5], &nan_with_payload, 8);
    switch (kind) {
    case 0: return 1.5;
    case 1: return (double)below(t, 5) / 10;
    case 2: return (double)i * 0.25;
    case 3: return odd[below(t, TL_COUNT(odd))];
    default: return (double)(int64_t)tl_dice_u64(&t->dice) / 1024;
    }
}

static void fill_fixed(trip *t, tl_column *c, const tl_pq_schema_element *e, tl_pq_convert convert, int64_t n) {
    uint64_t kind = below(t, 5);
    uint8_t *values = arena_bytes(t, (size_t)(n * c->width) + 1);
    c->values = values;
    for (int64_t i = 0; i < n; i++) {
        uint8_t *to = values + i * c->width;
        if (convert != TL_PQ_CONVERT_NONE) {
            int64_t limit = convert == TL_PQ_CONVERT_DECIMAL_INT32 ? 999999999 : 999999999999999999;
            int64_t v =
                (int64_t)(random_number(t, kind, (uint64_t)i) % (uint64_t)limit) - (one_in(t, 2) ? limit - 1 : 0);
            int64_t high = v < 0 ? -1 : 0;
            memcpy(to, &v, 8);
            memcpy(to + 8, &high, 8);
        } else if (e->type == TL_PQ_DOUBLE) {
            double v = random_real(t, kind, (uint64_t)i);
            memcpy(to, &v, 8);
        } else if (e->type == TL_PQ_FLOAT) {
            float v = (float)random_real(t, kind, (uint64_t)i);
            memcpy(to, &v, 4);
        } else {
            for (int32_t b = 0; b < c->width; b += 8) {
                uint64_t v = random_number(t, kind, (uint64_t)i);
                memcpy(to + b, &v, (size_t)(c->width - b < 8 ? c->width - b : 8));
            }
        }
    }
}

static void fill_bytes(trip *t, tl_column *c, int64_t n) {
    uint64_t kind = below(t, 4), longest = one_in(t, 8) ? 900 : 20;
    tl_buf data = {0};
    bool wide = one_in(t, 2);
    int32_t *o32 = arena_bytes(t, (size_t)(n + 1) * 4);
    int64_t *o64 = arena_bytes(t, (size_t)(n + 1) * 8);
    for (int64_t i = 0; i < n; i++) {
        char text[32];
        size_t len = 0;
        if (kind == 1) {
            len = (size_t)snprintf(text, sizeof text, "machine-%03d", (int)(i / 50));
        } else if (kind == 2) {
            len = (size_t)snprintf(text, sizeof text, "%d", (int)below(t, 4));
        } else if (kind == 3) {
            for (uint64_t more = below(t, longest); more > 0; more--) {
                TL_OKAY(tl_buf_add_byte(&data, (uint8_t)('a' + below(t, 26))));
            }
        }
        TL_OKAY(tl_buf_add(&data, text, len));
        o32[i + 1] = (int32_t)data.len;
        o64[i + 1] = (int64_t)data.len;
    }
    uint8_t *copy = arena_bytes(t, data.len);
    if (data.len) {
        memcpy(copy, data.data, data.len);
    }
    tl_buf_free(&data);
    c->data = copy;
    c->offsets32 = wide ? NULL : o32;
    c->offsets64 = wide ? o64 : NULL;
}

/* ---- schema and columns together ---- */

static tl_pq_schema_element *add_element(trip *t, const char *name, tl_pq_repetition repetition) {
    assert_true(t->n_schema < MAX_ELEMENTS);
    tl_pq_schema_element *e = &t->schema[t->n_schema];
    *e = (tl_pq_schema_element){.name = name, .repetition = repetition, .field_id = t->n_schema};
    t->n_schema++;
    return e;
}

static void pick_leaf_type(trip *t, tl_pq_schema_element *e, tl_column *c, tl_pq_convert *convert) {
    static const struct {
        tl_pq_type type;
        int32_t width, length;
        tl_pq_logical logical;
        int32_t precision;
        tl_pq_convert convert;
    } types[] = {
        {TL_PQ_BOOLEAN, 0, 0, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT32, 4, 0, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT32, 4, 0, TL_PQ_LOGICAL_DATE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT64, 8, 0, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT64, 8, 0, TL_PQ_LOGICAL_TIMESTAMP, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT64, 8, 0, TL_PQ_LOGICAL_TIME, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT64, 8, 0, TL_PQ_LOGICAL_INTEGER, 0, TL_PQ_CONVERT_NONE}, /* unsigned */
        {TL_PQ_FLOAT, 4, 0, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_DOUBLE, 8, 0, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_BYTE_ARRAY, 0, 0, TL_PQ_LOGICAL_STRING, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_BYTE_ARRAY, 0, 0, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_FIXED, 5, 5, TL_PQ_LOGICAL_NONE, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_FIXED, 16, 16, TL_PQ_LOGICAL_UUID, 0, TL_PQ_CONVERT_NONE},
        {TL_PQ_INT32, 16, 0, TL_PQ_LOGICAL_DECIMAL, 9, TL_PQ_CONVERT_DECIMAL_INT32},
        {TL_PQ_INT64, 16, 0, TL_PQ_LOGICAL_DECIMAL, 18, TL_PQ_CONVERT_DECIMAL_INT64},
        {TL_PQ_FIXED, 16, 9, TL_PQ_LOGICAL_DECIMAL, 20, TL_PQ_CONVERT_DECIMAL_FIXED},
        {TL_PQ_FIXED, 16, 16, TL_PQ_LOGICAL_DECIMAL, 38, TL_PQ_CONVERT_DECIMAL_FIXED},
    };
    size_t i = below(t, TL_COUNT(types));
    e->is_leaf = true;
    e->type = types[i].type;
    e->type_length = types[i].length;
    e->logical = types[i].logical;
    e->precision = types[i].precision;
    e->scale = types[i].precision / 3;
    e->unit = TL_PQ_MICROS;
    e->utc = one_in(t, 2);
    e->bit_width = 64;
    *convert = types[i].convert;
    c->kind = e->type == TL_PQ_BOOLEAN      ? TL_COLUMN_BOOL
              : e->type == TL_PQ_BYTE_ARRAY ? TL_COLUMN_BYTES
                                            : TL_COLUMN_FIXED;
    c->width = types[i].width;
}

static void grow_leaf(trip *t, tl_column *c, int32_t element, int64_t n) {
    assert_true(t->n_leaves < MAX_LEAVES);
    tl_pq_schema_element *e = &t->schema[element];
    tl_pq_convert *convert = &t->converts[t->n_leaves++];
    pick_leaf_type(t, e, c, convert);
    if (c->kind == TL_COLUMN_BYTES) {
        fill_bytes(t, c, n);
    } else if (c->kind == TL_COLUMN_FIXED) {
        fill_fixed(t, c, e, *convert, n);
    } else {
        int64_t offset;
        uint8_t *bits = (uint8_t *)(uintptr_t)random_validity(t, n, &offset);
        c->values = bits ? bits : arena_bytes(t, (size_t)(n + offset) / 8 + 9);
        c->values_offset = offset;
    }
}

static void grow(trip *t, tl_column *c, const char *name, tl_pq_repetition repetition, int64_t n, int depth);

static void grow_struct(trip *t, tl_column *c, int32_t element, int64_t n, int depth) {
    static const char *const names[] = {"a", "b", "c"};
    c->kind = TL_COLUMN_STRUCT;
    c->n_children = 1 + (int64_t)below(t, 3);
    c->children = arena_bytes(t, (size_t)c->n_children * sizeof *c->children);
    t->schema[element].n_children = (int32_t)c->n_children;
    for (int64_t i = 0; i < c->n_children; i++) {
        grow(t, &c->children[i], names[i], one_in(t, 3) ? TL_PQ_REQUIRED : TL_PQ_OPTIONAL, n, depth + 1);
    }
}

static void grow_list(trip *t, tl_column *c, int32_t element, int64_t n, int depth) {
    bool map = one_in(t, 3);
    c->kind = TL_COLUMN_LIST;
    c->n_children = 1;
    c->children = arena_bytes(t, sizeof *c->children);
    int32_t *offsets = arena_bytes(t, (size_t)(n + 1) * 4);
    uint64_t longest = 1 + below(t, depth > 1 ? 3 : 6);
    for (int64_t i = 0; i < n; i++) { /* null lists may have elements too, which do not count */
        offsets[i + 1] = offsets[i] + (int32_t)(one_in(t, 3) ? 0 : below(t, longest));
    }
    c->offsets32 = offsets;
    int64_t n_inner = offsets[n];
    t->schema[element].n_children = 1;
    t->schema[element].logical = map ? TL_PQ_LOGICAL_MAP : TL_PQ_LOGICAL_LIST;
    tl_pq_schema_element *repeated = add_element(t, map ? "key_value" : "list", TL_PQ_REPEATED);
    repeated->n_children = map ? 2 : 1;
    tl_column *child = c->children;
    if (!map) {
        grow(t, child, "element", one_in(t, 2) ? TL_PQ_REQUIRED : TL_PQ_OPTIONAL, n_inner, depth + 1);
        return;
    }
    *child = (tl_column){.kind = TL_COLUMN_STRUCT, .length = n_inner, .n_children = 2};
    child->children = arena_bytes(t, 2 * sizeof *child->children);
    grow(t, &child->children[0], "key", TL_PQ_REQUIRED, n_inner, 99);
    grow(t, &child->children[1], "value", TL_PQ_OPTIONAL, n_inner, depth + 1);
}

static void grow(trip *t, tl_column *c, const char *name, tl_pq_repetition repetition, int64_t n, int depth) {
    int32_t element = t->n_schema;
    (void)add_element(t, name, repetition);
    *c = (tl_column){.length = n};
    if (repetition == TL_PQ_OPTIONAL) {
        c->validity = random_validity(t, n, &c->validity_offset);
    }
    uint64_t kind = depth >= 3 || t->n_schema > 30 || t->n_leaves > 15 ? 0 : below(t, 6);
    if (kind == 5) {
        grow_struct(t, c, element, n, depth);
    } else if (kind == 4) {
        grow_list(t, c, element, n, depth);
    } else {
        grow_leaf(t, c, element, n);
    }
}

static void grow_file(trip *t) {
    t->n_rows = (int64_t)below(t, one_in(t, 3) ? 3000 : 150);
    t->n_tops = 1 + (int32_t)below(t, MAX_TOPS);
    tl_pq_schema_element *root = add_element(t, "schema", TL_PQ_REQUIRED);
    root->n_children = t->n_tops;
    for (int32_t i = 0; i < t->n_tops; i++) {
        static const char *const names[MAX_TOPS] = {"w", "x", "y", "z"};
        t->top_elements[i] = t->n_schema;
        t->top_leaves[i] = t->n_leaves;
        grow(t, &t->tops[i], names[i], one_in(t, 4) ? TL_PQ_REQUIRED : TL_PQ_OPTIONAL, t->n_rows, 0);
    }
}

/* ---- writing ---- */

static tl_pq_encoding random_encoding(trip *t, tl_pq_type type, bool may_be_dictionary) {
    static const tl_pq_encoding all[] = {TL_PQ_RLE_DICTIONARY,
                                         TL_PQ_PLAIN,
                                         TL_PQ_RLE,
                                         TL_PQ_DELTA_BINARY_PACKED,
                                         TL_PQ_DELTA_LENGTH_BYTE_ARRAY,
                                         TL_PQ_DELTA_BYTE_ARRAY,
                                         TL_PQ_BYTE_STREAM_SPLIT};
    for (;;) {
        tl_pq_column_options o = {.type = type, .type_length = 1, .encoding = all[below(t, TL_COUNT(all))]};
        tl_pq_column_writer *w;
        if (!may_be_dictionary && o.encoding == TL_PQ_RLE_DICTIONARY) {
            continue;
        }
        if (tl_pq_column_writer_create(&o, &w, NULL) == TL_OK) { /* the writer knows which fit */
            tl_pq_column_writer_free(w);
            return o.encoding;
        }
    }
}

static tl_pq_column_options random_options(trip *t, const tl_pq_leaf *leaf) {
    static const tl_pq_codec codecs[] = {TL_PQ_UNCOMPRESSED, TL_PQ_SNAPPY, TL_PQ_GZIP,
                                         TL_PQ_BROTLI,       TL_PQ_ZSTD,   TL_PQ_LZ4_RAW};
    const tl_pq_schema_element *e = &t->schema[leaf->element];
    tl_pq_column_options o = tl_pq_column_options_of(e, leaf);
    o.encoding = random_encoding(t, e->type, true);
    o.fallback = random_encoding(t, e->type, false);
    o.codec = codecs[below(t, TL_COUNT(codecs))];
    o.dictionary_max_values = one_in(t, 2) ? (int32_t)below(t, 60) : 0;
    o.dictionary_max_bytes = one_in(t, 4) ? 1 + (int32_t)below(t, 300) : 0;
    o.sort_dictionary = one_in(t, 2);
    o.page_rows = one_in(t, 4) ? 0 : 1 + (int32_t)below(t, one_in(t, 3) ? 5 : 400);
    o.page_bytes = one_in(t, 2) ? 0 : 1 + (int32_t)below(t, 2000);
    o.bounds_bytes = one_in(t, 3) ? 0 : 1 + (int32_t)below(t, 12);
    o.page_v2 = one_in(t, 2);
    o.page_crc = one_in(t, 2);
    return o;
}

typedef struct writers {
    tl_pq_column_writer *all[MAX_LEAVES];
    int32_t first; /* leaf of the column being shredded */
} writers;

static tl_status emit(void *ctx, int32_t leaf, const tl_pq_values *values, tl_error *err) {
    writers *w = ctx;
    return tl_pq_column_writer_add(w->all[w->first + leaf], values, err);
}

/* A flat column as runs of equal values (equal by bits), at times cut short. */
static void write_runs(trip *t, tl_pq_column_writer *w, const tl_column *c, int64_t from, int64_t n) {
    for (int64_t row = from, end; row < from + n; row = end) {
        tl_bytes bytes = {0};
        uint8_t flag = 0;
        const void *value = NULL;
        if (!tl_column_is_null(c, row) && c->kind == TL_COLUMN_BYTES) {
            bytes = tl_column_bytes(c, row);
            value = &bytes;
        } else if (!tl_column_is_null(c, row) && c->kind == TL_COLUMN_BOOL) {
            flag = tl_column_bool(c, row);
            value = &flag;
        } else if (!tl_column_is_null(c, row)) {
            value = c->values + row * c->width;
        }
        for (end = row + 1; end < from + n && !one_in(t, 50); end++) {
            if (tl_column_is_null(c, end) != (value == NULL)) {
                break;
            }
            if (value && (c->kind == TL_COLUMN_BYTES  ? !tl_bytes_equal(bytes, tl_column_bytes(c, end))
                          : c->kind == TL_COLUMN_BOOL ? flag != tl_column_bool(c, end)
                                                      : memcmp(value, c->values + end * c->width, (size_t)c->width))) {
                break;
            }
        }
        TL_OKAY(tl_pq_column_writer_add_run(w, value, end - row, &err));
    }
}

/* Rows [from, from + n) of a top-level column, in random pieces, directly or through a list of row numbers. */
static void write_rows(trip *t, writers *w, int32_t top, int64_t from, int64_t n) {
    w->first = t->top_leaves[top];
    int64_t *rows = tl_alloc_array((size_t)n, sizeof *rows);
    for (int64_t i = 0; i < n; i++) {
        rows[i] = from + i;
    }
    for (int64_t done = 0; done < n;) {
        int64_t piece = 1 + (int64_t)below(t, (uint64_t)(one_in(t, 3) ? n : 30));
        piece = piece < n - done ? piece : n - done;
        bool listed = one_in(t, 2), nested = t->tops[top].n_children > 0;
        if (!nested && t->converts[w->first] == TL_PQ_CONVERT_NONE && one_in(t, 3)) {
            write_runs(t, w->all[w->first], &t->tops[top], from + done, piece);
            done += piece;
            continue;
        }
        TL_OKAY(tl_pq_shred(&t->tops[top], t->schema, t->n_schema, t->top_elements[top],
                            t->converts + t->top_leaves[top], listed ? rows : NULL, listed ? done : from + done, piece,
                            emit, w, &err));
        done += piece;
    }
    tl_free(rows);
}

static void write_file(trip *t, tl_buf *out, const tl_pq_leaf *leaves, int64_t *group_ends, int32_t *n_groups) {
    writers w = {0};
    tl_pq_chunk chunks[MAX_LEAVES];
    tl_pq_file_writer *file;
    const tl_pq_sorting_column sorting = {.column = 0, .nulls_first = true};
    const tl_pq_key_value pair = {"key", "value"};
    const tl_pq_file_options options = {.schema = t->schema,
                                        .n_schema = t->n_schema,
                                        .sorting = &sorting,
                                        .n_sorting = 1,
                                        .metadata = &pair,
                                        .n_metadata = 1};
    TL_OKAY(tl_pq_file_writer_create(&options, tl_pq_sink_buf(out), &file, &err));
    *n_groups = 0;
    for (int64_t from = 0; from < t->n_rows;) {
        int64_t n = *n_groups == 2 ? t->n_rows - from : 1 + (int64_t)below(t, (uint64_t)(t->n_rows - from));
        for (int32_t i = 0; i < t->n_leaves; i++) {
            tl_pq_column_options o = random_options(t, &leaves[i]);
            if (w.all[i]) {
                TL_OKAY(tl_pq_column_writer_reset(w.all[i], &o, &err));
            } else {
                TL_OKAY(tl_pq_column_writer_create(&o, &w.all[i], &err));
            }
        }
        for (int32_t i = 0; i < t->n_tops; i++) {
            write_rows(t, &w, i, from, n);
        }
        for (int32_t i = 0; i < t->n_leaves; i++) {
            assert_int_equal(tl_pq_column_writer_rows(w.all[i]), n);
            TL_OKAY(tl_pq_column_writer_finish(w.all[i], &chunks[i], &err));
        }
        TL_OKAY(tl_pq_file_writer_add_row_group(file, chunks, t->n_leaves, &err));
        from += n;
        group_ends[(*n_groups)++] = from;
    }
    for (int32_t i = 0; i < t->n_leaves; i++) {
        tl_pq_column_writer_free(w.all[i]);
    }
    TL_OKAY(tl_pq_file_writer_finish(file, NULL, &err));
    assert_int_equal(tl_pq_file_writer_bytes(file), out->len);
    tl_pq_file_writer_free(file);
}

/* ---- comparing ---- */

static bool array_is_null(const struct ArrowArray *a, int64_t i) {
    return a->null_count != 0 && a->buffers[0] && !tl_bit(a->buffers[0], a->offset + i);
}

/* Row `row` of the column and row `i` of the array, all the way down. */
static void same(const tl_column *c, int64_t row, const struct ArrowArray *a, int64_t i) {
    if (tl_column_is_null(c, row)) {
        assert_true(array_is_null(a, i));
        return;
    }
    assert_false(array_is_null(a, i));
    i += a->offset;
    const int32_t *offsets = a->n_buffers > 1 ? a->buffers[1] : NULL;
    switch (c->kind) {
    case TL_COLUMN_BOOL: assert_int_equal(tl_column_bool(c, row), tl_bit(a->buffers[1], i)); break;
    case TL_COLUMN_FIXED:
        assert_memory_equal(c->values + row * c->width, (const uint8_t *)a->buffers[1] + i * c->width,
                            (size_t)c->width);
        break;
    case TL_COLUMN_BYTES: {
        tl_bytes want = tl_column_bytes(c, row);
        tl_bytes got = {(const uint8_t *)a->buffers[2] + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
        assert_true(tl_bytes_equal(want, got));
        break;
    }
    case TL_COLUMN_STRUCT:
        assert_int_equal(c->n_children, a->n_children);
        for (int64_t k = 0; k < c->n_children; k++) {
            same(&c->children[k], row, a->children[k], i);
        }
        break;
    case TL_COLUMN_LIST: {
        int64_t from = tl_column_offset(c, row), n = tl_column_offset(c, row + 1) - from;
        assert_int_equal(n, offsets[i + 1] - offsets[i]);
        for (int64_t k = 0; k < n; k++) {
            same(c->children, from + k, a->children[0], offsets[i] + k);
        }
        break;
    }
    }
}

static void compare_group(trip *t, tl_pq_reader *r, int32_t group, int64_t from, int64_t n) {
    struct ArrowArray all, some;
    TL_OKAY(tl_pq_reader_read(r, group, NULL, 0, NULL, 0, &all, &err));
    assert_int_equal(all.length, n);
    for (int32_t top = 0; top < t->n_tops; top++) {
        for (int64_t i = 0; i < n; i++) {
            same(&t->tops[top], from + i, all.children[top], i);
        }
    }
    all.release(&all);
    tl_pq_row_range ranges[2];
    ranges[0].first = (int64_t)below(t, (uint64_t)n);
    ranges[0].count = 1 + (int64_t)below(t, (uint64_t)(n - ranges[0].first));
    int64_t used = ranges[0].first + ranges[0].count;
    int32_t n_ranges = 1;
    if (used < n) {
        ranges[1].first = used + (int64_t)below(t, (uint64_t)(n - used));
        ranges[1].count = 1 + (int64_t)below(t, (uint64_t)(n - ranges[1].first));
        n_ranges = 2;
    }
    TL_OKAY(tl_pq_reader_read(r, group, NULL, 0, ranges, n_ranges, &some, &err));
    for (int32_t top = 0; top < t->n_tops; top++) {
        int64_t at = 0;
        for (int32_t k = 0; k < n_ranges; k++) {
            for (int64_t i = 0; i < ranges[k].count; i++) {
                same(&t->tops[top], from + ranges[k].first + i, some.children[top], at++);
            }
        }
        assert_int_equal(at, some.length);
    }
    some.release(&some);
}

/* ---- the page index ---- */

static tl_bytes plain_value(const tl_column *c, const tl_pq_schema_element *e, int64_t row, uint8_t scratch[16]) {
    if (c->kind == TL_COLUMN_BYTES) {
        return tl_column_bytes(c, row);
    }
    if (c->kind == TL_COLUMN_BOOL) {
        scratch[0] = tl_column_bool(c, row);
        return (tl_bytes){scratch, 1};
    }
    const uint8_t *value = c->values + row * c->width;
    if (e->logical != TL_PQ_LOGICAL_DECIMAL) {
        return (tl_bytes){value, (size_t)c->width};
    }
    if (e->type != TL_PQ_FIXED) {
        return (tl_bytes){value, e->type == TL_PQ_INT32 ? 4 : 8};
    }
    for (int32_t i = 0; i < e->type_length; i++) {
        scratch[i] = value[e->type_length - 1 - i];
    }
    return (tl_bytes){scratch, (size_t)e->type_length};
}

static bool value_is_nan(const tl_pq_schema_element *e, tl_bytes v) {
    return (e->type == TL_PQ_DOUBLE || e->type == TL_PQ_FLOAT) && tl_pq_bounds_is_nan(e->type, v.data);
}

/* Each value of rows [from, to) lies within the bounds; returns the nulls. */
static int64_t check_bounds(const tl_column *c, const tl_pq_schema_element *e, const tl_pq_leaf *leaf, int64_t from,
                            int64_t to, tl_bytes min, tl_bytes max) {
    tl_pq_column_options o = tl_pq_column_options_of(e, leaf);
    tl_pq_order order = tl_pq_order_of(&o);
    int64_t nulls = 0;
    for (int64_t row = from; row < to; row++) {
        uint8_t scratch[16];
        if (tl_column_is_null(c, row)) {
            nulls++;
            continue;
        }
        tl_bytes v = plain_value(c, e, row, scratch);
        if (!value_is_nan(e, v)) {
            assert_true(!min.data || tl_pq_order_compare_plain(order, e->type, min, v) <= 0);
            assert_true(!max.data || tl_pq_order_compare_plain(order, e->type, max, v) >= 0);
        }
    }
    return nulls;
}

static void check_index(trip *t, tl_pq_reader *r, const tl_pq_leaf *leaves, int32_t group, int32_t leaf, int64_t from,
                        int64_t n) {
    const tl_pq_column_chunk *chunk = &tl_pq_reader_meta(r)->row_groups[group].columns[leaf];
    tl_pq_offset_index offsets;
    tl_pq_column_index columns;
    bool has;
    TL_OKAY(tl_pq_reader_offset_index(r, group, leaf, &offsets, &has, &err));
    assert_true(has && offsets.n_pages > 0 && offsets.pages[0].first_row == 0);
    int64_t at = chunk->data_page_offset;
    for (int32_t p = 0; p < offsets.n_pages; p++) {
        assert_int_equal(offsets.pages[p].offset, at);
        at += offsets.pages[p].compressed_size;
        assert_true(p == 0 || offsets.pages[p].first_row > offsets.pages[p - 1].first_row);
    }
    int64_t begin = chunk->dictionary_page_offset ? chunk->dictionary_page_offset : chunk->data_page_offset;
    assert_int_equal(at, begin + chunk->compressed_size);
    const tl_column *c = &t->tops[leaves[leaf].top];
    const tl_pq_schema_element *e = &t->schema[leaves[leaf].element];
    TL_OKAY(tl_pq_reader_column_index(r, group, leaf, &columns, &has, &err));
    assert_true(chunk->stats.has_null_count);
    if (c->kind == TL_COLUMN_STRUCT || c->kind == TL_COLUMN_LIST) {
        return;
    }
    assert_int_equal(check_bounds(c, e, &leaves[leaf], from, from + n, chunk->stats.min_value, chunk->stats.max_value),
                     chunk->stats.null_count);
    for (int32_t p = 0; has && p < columns.n_pages; p++) {
        int64_t first = offsets.pages[p].first_row;
        int64_t last = p + 1 < offsets.n_pages ? offsets.pages[p + 1].first_row : n;
        tl_bytes min = columns.min_values[p], max = columns.max_values[p];
        static const uint8_t empty;
        min.data = columns.null_pages[p] || min.data ? min.data : &empty;
        int64_t nulls = check_bounds(c, e, &leaves[leaf], from + first, from + last, min, max);
        assert_int_equal(nulls, columns.null_counts[p]);
        assert_int_equal(nulls == last - first, columns.null_pages[p]);
    }
}

static void one_trip(uint64_t seed) {
    trip *t = tl_calloc(1, sizeof *t);
    t->dice.state = seed;
    grow_file(t);
    tl_pq_leaf *leaves;
    int32_t n_leaves, n_groups;
    int64_t group_ends[3];
    TL_OKAY(tl_pq_schema_leaves(t->schema, t->n_schema, &leaves, &n_leaves, &err));
    assert_int_equal(n_leaves, t->n_leaves);
    tl_buf file = {0};
    write_file(t, &file, leaves, group_ends, &n_groups);
    tl_bytes bytes = tl_buf_bytes(&file);
    const tl_pq_read_options options = {.check_crc = true};
    tl_pq_reader *r;
    TL_OKAY(tl_pq_reader_open(tl_pq_source_bytes(&bytes), &options, &r, &err));
    const tl_pq_file_meta *meta = tl_pq_reader_meta(r);
    assert_int_equal(meta->n_rows, t->n_rows);
    assert_int_equal(meta->n_row_groups, n_groups);
    for (int32_t g = 0; g < n_groups; g++) {
        int64_t from = g ? group_ends[g - 1] : 0;
        compare_group(t, r, g, from, group_ends[g] - from);
        for (int32_t leaf = 0; leaf < n_leaves; leaf++) {
            check_index(t, r, leaves, g, leaf, from, group_ends[g] - from);
        }
    }
    tl_pq_reader_free(r);
    tl_buf_free(&file);
    tl_free(leaves);
    tl_arena_free(&t->arena);
    tl_free(t);
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    const char *rounds = getenv("TL_ROUNDS");
    for (uint64_t i = 0, n = rounds ? strtoull(rounds, NULL, 10) : 400; i < n; i++) {
        uint64_t seed = getenv("TL_ONE") ? strtoull(getenv("TL_ONE"), NULL, 10) : tl_dice_u64(&dice);
        if (getenv("TL_LOUD")) {
            print_message("TL_ONE=%llu\n", (unsigned long long)seed);
        }
        one_trip(seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
