/*
 * Fuzzes alignment: the bytes describe a schema, a table type and arrays whose counts, offsets and pointers are wrong
 * at random, with buffers of exactly the size a truthful array of that length would have. Nothing may be read outside
 * of them; every array is released once.
 *
 *   clang -fsanitize=fuzzer,address,undefined ... fuzz/append_align_fuzz.c <rooms base, arrow, iceberg,
 * append/align*.c>
 *
 * What no reader can check stays truthful: buffer sizes, which the C data interface does not carry.
 */
#include <stdint.h>

#include "append/align.h"
#include "arrow/testing.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *p, *end;
} bytes;

static uint64_t take(bytes *b, uint64_t below) {
    uint64_t v = b->p < b->end ? *b->p++ : 0;
    return below ? v % below : v;
}

/* Mostly the true value, else anything. */
static int64_t twisted(bytes *b, int64_t value) {
    static const int64_t odd[] = {0, 1, -1, 2, 7, 64, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_C(1) << 40};
    uint64_t how = take(b, 24);
    return how < 12 ? value : how == 12 ? value + 1 : how == 13 ? value - 1 : odd[(how - 14 + take(b, 11)) % 11];
}

enum { MOST_ROWS = 24, PAD = 40 };

static const char *const leaves[] = {"n",   "b",   "c",   "C",        "s",         "I",      "l",          "L",
                                     "e",   "f",   "g",   "d:9,2,32", "d:18,4,64", "d:38,2", "d:76,3,256", "tdD",
                                     "tdm", "tts", "ttn", "tsn:",     "tsu:UTC",   "w:3",    "w:16",       "u",
                                     "U",   "vu",  "z",   "Z",        "vz",        "tDu",    "tin",        "+us:0"};

static size_t width_of(const char *f) {
    if (f[0] == 'd') {
        return strstr(f, ",32") ? 4 : strstr(f, ",64") ? 8 : strstr(f, ",256") ? 32 : 16;
    }
    if (f[0] == 'w') {
        return (size_t)atoi(f + 2);
    }
    if (f[0] == 't') {
        return f[1] == 'i' ? 16 : strcmp(f, "tdD") == 0 || strcmp(f, "tts") == 0 ? 4 : 8;
    }
    return strchr("cC", f[0]) ? 1 : strchr("sSe", f[0]) ? 2 : strchr("iIf", f[0]) ? 4 : 8;
}

static void rubbish(bytes *b, uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)(take(b, 0) + (b->p == b->end ? i * 7 : 0));
    }
}

/* Offsets over `rows` rows and at most `most` in all; mostly ascending. */
static void offsets(bytes *b, struct ArrowArray *a, int64_t buffer, int64_t rows, int64_t most, size_t width) {
    uint8_t *p = test_buffer(a, buffer, (size_t)(rows + 1) * width);
    int64_t at = 0;
    for (int64_t i = 0; i <= rows; i++) {
        /* No reader can know how long a text buffer is, so the last offset of text is never beyond it. */
        int64_t v = most >= 0 ? twisted(b, at) : at;
        memcpy(p + (size_t)i * width, &v, width);
        at += at < (most < 0 ? -most : most) ? (int64_t)take(b, 3) : 0;
    }
}

static void array(bytes *b, struct ArrowSchema *s, struct ArrowArray *a, const char *name, int depth);

static void leaf(bytes *b, struct ArrowSchema *s, struct ArrowArray *a, const char *name, int64_t rows, int64_t total) {
    const char *f = leaves[take(b, TL_COUNT(leaves))];
    bool view = f[0] == 'v', text = !view && strchr("uUzZ", f[0]) != NULL;
    test_schema(s, f, name, 0);
    test_array(a, rows, f[0] == 'n' ? 0 : view ? 4 : text ? 3 : 2, 0);
    if (f[0] == 'n' || f[0] == '+') {
        return;
    }
    if (text) {
        offsets(b, a, 1, total, -PAD, f[0] == 'U' || f[0] == 'Z' ? 8 : 4);
        rubbish(b, test_buffer(a, 2, PAD + 4), PAD + 4);
    } else if (view) {
        uint8_t *p = test_buffer(a, 1, (size_t)total * 16);
        for (int64_t i = 0; i < total; i++) {
            int32_t v[4] = {(int32_t)twisted(b, (int64_t)take(b, 20)), 0, (int32_t)twisted(b, 0),
                            (int32_t)twisted(b, 3)};
            memcpy(p + i * 16, v, 16);
        }
        int64_t have = PAD, say = twisted(b, PAD);
        say = say > have ? have : say;
        rubbish(b, test_buffer(a, 2, PAD), PAD);
        test_fill(a, 3, &say, 8);
    } else {
        size_t n = f[0] == 'b' ? (size_t)(total + 7) / 8 : (size_t)total * width_of(f);
        rubbish(b, test_buffer(a, 1, n), n);
    }
}

static void nested(bytes *b, struct ArrowSchema *s, struct ArrowArray *a, const char *name, int depth, int64_t rows,
                   int64_t total, uint64_t kind) {
    static const char *const formats[] = {"+l", "+L", "+vl", "+vL", "+w:2", "+s", "+m", "+r", "c"};
    static const int64_t buffers[] = {2, 2, 3, 3, 1, 1, 2, 0, 2};
    int64_t children = kind == 8 ? 0 : kind == 5 || kind == 7 ? 2 : 1;
    test_schema(s, formats[kind], name, children);
    test_array(a, rows, buffers[kind], children);
    size_t w = kind == 1 || kind == 3 ? 8 : 4;
    if (kind < 4 || kind == 6) {
        offsets(b, a, 1, total, MOST_ROWS, w);
    }
    if (kind == 2 || kind == 3) {
        offsets(b, a, 2, total, 2, w);
    }
    if (kind == 7) {
        int32_t ends[MOST_ROWS * 2 + 2];
        int32_t at = 0;
        for (int64_t i = 0; i < total; i++) {
            at += 1 + (int32_t)take(b, 3);
            ends[i] = (int32_t)twisted(b, at);
        }
        test_fixed(s->children[0], a->children[0], "run_ends", "i", ends, 4, total);
        array(b, s->children[1], a->children[1], "values", depth - 1);
    } else if (kind == 8) {
        rubbish(b, test_buffer(a, 1, (size_t)total), (size_t)total);
        for (int64_t i = 0; i < total; i++) {
            uint8_t *p = (uint8_t *)(uintptr_t)a->buffers[1] + i;
            *p = *p % 5 ? *p % 4 : *p;
        }
        s->dictionary = test_memory(sizeof *s->dictionary);
        a->dictionary = test_memory(sizeof *a->dictionary);
        array(b, s->dictionary, a->dictionary, "", depth - 1);
    } else if (kind == 6) {
        test_schema(s->children[0], "+s", "entries", 2);
        test_array(a->children[0], MOST_ROWS, 1, 2);
        array(b, s->children[0]->children[0], a->children[0]->children[0], "k", depth - 1);
        array(b, s->children[0]->children[1], a->children[0]->children[1], "v", depth - 1);
    } else {
        for (int64_t i = 0; i < children; i++) {
            array(b, s->children[i], a->children[i], i ? "b" : "a", depth - 1);
        }
    }
}

static void array(bytes *b, struct ArrowSchema *s, struct ArrowArray *a, const char *name, int depth) {
    int64_t rows = (int64_t)take(b, MOST_ROWS + 1), offset = (int64_t)take(b, 4) == 3 ? (int64_t)take(b, 9) : 0;
    int64_t total = rows + offset;
    uint64_t kind = take(b, 20);
    if (depth > 0 && kind < 9) {
        nested(b, s, a, name, depth, rows, total, kind);
    } else {
        leaf(b, s, a, name, rows, total);
    }
    a->offset = offset;
    if (a->n_buffers > 0 && take(b, 2)) {
        size_t n = (size_t)(total + 7) / 8;
        rubbish(b, test_buffer(a, 0, n), n);
    }
    a->null_count = take(b, 3) ? -1 : twisted(b, 0);
    if (take(b, 8) == 7) { /* shorter arrays are truthful; longer ones would lie about their buffers */
        a->length = twisted(b, rows) < rows ? twisted(b, rows) : rows;
        a->length = a->length > rows ? rows : a->length;
        a->n_children = twisted(b, a->n_children) ? a->n_children : 0;
    }
    if (take(b, 32) == 31 && a->n_buffers > 1) {
        free((void *)(uintptr_t)a->buffers[1]);
        a->buffers[1] = NULL;
    }
}

/* A table type that may fit: nested ones follow the array's schema. */
static tl_type type_for(bytes *b, const struct ArrowSchema *s, tl_arena *arena, int depth) {
    tl_type t = {.id = (tl_type_id)(TL_TYPE_BOOLEAN + take(b, 14)), .precision = 1 + (int32_t)take(b, 38), .length = 3};
    t.scale = (int32_t)take(b, (uint64_t)t.precision + 1);
    while (s->dictionary || strcmp(s->format, "+r") == 0) {
        s = s->dictionary ? s->dictionary : s->children[1];
    }
    if (depth == 0 || s->format[0] != '+' || s->format[1] == 'u') {
        return t;
    }
    bool map = s->format[1] == 'm', structure = s->format[1] == 's';
    const struct ArrowSchema *from = map ? s->children[0] : s;
    t.id = map ? TL_TYPE_MAP : structure ? TL_TYPE_STRUCT : TL_TYPE_LIST;
    t.n_fields = (int32_t)from->n_children;
    t.fields = tl_arena_array(arena, (size_t)t.n_fields, sizeof *t.fields);
    for (int32_t i = 0; i < t.n_fields; i++) {
        t.fields[i].name = structure ? (i ? "b" : "a") : map ? (i ? "value" : "key") : "element";
        t.fields[i].required = take(b, 4) == 0;
        t.fields[i].type = type_for(b, from->children[i], arena, depth - 1);
    }
    return t;
}

static void look(const tl_column *c, volatile uint64_t *sum);

static void look_at_row(const tl_column *c, int64_t i, volatile uint64_t *sum) {
    if (tl_column_is_null(c, i)) {
        return;
    }
    if (c->kind == TL_COLUMN_BOOL) {
        *sum += tl_column_bool(c, i);
    } else if (c->kind == TL_COLUMN_FIXED) {
        for (int32_t k = 0; k < c->width; k++) {
            *sum += c->values[i * c->width + k];
        }
    } else if (c->kind == TL_COLUMN_BYTES) {
        tl_bytes v = tl_column_bytes(c, i);
        for (size_t k = 0; k < v.len; k++) {
            *sum += v.data[k];
        }
    } else if (c->kind == TL_COLUMN_LIST &&
               (tl_column_offset(c, i) > tl_column_offset(c, i + 1) || tl_column_offset(c, i) < 0 ||
                tl_column_offset(c, i + 1) > c->children[0].length)) {
        abort();
    }
}

/* Reads all of a column, as the writer would. */
static void look(const tl_column *c, volatile uint64_t *sum) {
    for (int64_t i = 0; i < c->length; i++) {
        look_at_row(c, i, sum);
    }
    for (int64_t k = 0; k < c->n_children; k++) {
        if (c->kind == TL_COLUMN_STRUCT && c->children[k].length != c->length) {
            abort();
        }
        look(&c->children[k], sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = {data, data + size};
    struct ArrowSchema s;
    struct ArrowArray a;
    tl_arena arena = {0};
    test_table(&s, &a, 1, (int64_t)take(&b, MOST_ROWS));
    array(&b, s.children[0], a.children[0], "x", 4);
    tl_field field = {.name = "x", .required = take(&b, 4) == 0, .type = type_for(&b, s.children[0], &arena, 5)};
    tl_schema schema = {.n_fields = 1, .fields = &field};
    tl_error err;
    tl_align *plan;
    int before = test_array_releases;
    if (tl_align_create(&schema, -1, &s, &plan, &err) == TL_OK) {
        tl_batch batch;
        volatile uint64_t sum = 0;
        if (tl_align_batch(plan, &a, 0, 0, &batch, &err) == TL_OK) {
            look(&batch.columns[0], &sum);
            tl_batch_free(&batch);
        }
        tl_align_free(plan);
    } else {
        a.release(&a);
    }
    if (test_array_releases != before + 1) {
        abort();
    }
    s.release(&s);
    tl_arena_free(&arena);
    return 0;
}

#include "replay.h"
