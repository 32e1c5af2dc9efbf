/*
 * Aids of this room's unit tests: a seeded generator, random schemas and specs, loops over failing allocations and over
 * damaged bytes. Included by *_test.c alone.
 */
#ifndef TL_ICEBERG_TESTING_INTERNAL_H
#define TL_ICEBERG_TESTING_INTERNAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

typedef struct dice {
    uint64_t state;
} dice;

/* The seed of this run: TL_SEED, else a fixed one; printed so that a failure can be repeated. */
static inline dice dice_make(const char *test) {
    const char *text = getenv("TL_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 20260101;
    print_message("%s: TL_SEED=%llu\n", test, (unsigned long long)seed);
    return (dice){seed};
}

static inline uint64_t roll(dice *d) {
    d->state += 0x9e3779b97f4a7c15u;
    return tl_hash_u64(d->state);
}

static inline int32_t below(dice *d, int32_t n) {
    return (int32_t)(roll(d) % (uint64_t)n);
}

static inline bool chance(dice *d, int32_t percent) {
    return below(d, 100) < percent;
}

/* Text of 1 to 8 characters, some of them awkward. */
static inline const char *random_text(dice *d, tl_arena *a) {
    static const char *const pieces[] = {"a",  "Z",    "_",    "9", ".",  " ", "\"",  "\\", "/", "\n",
                                         "\t", "\x01", "\x7f", "é", "日", "🜁", "%2F", "=",  "#", ","};
    char out[64] = {0};
    for (int32_t i = 0, n = 1 + below(d, 8); i < n; i++) {
        const char *p = pieces[below(d, TL_COUNT(pieces))];
        memcpy(out + strlen(out), p, strlen(p) + 1);
    }
    return tl_arena_strdup(a, out);
}

static inline tl_type random_type(dice *d, tl_arena *a, int depth, int32_t *next_id);

static inline tl_field random_field(dice *d, tl_arena *a, const char *name, int depth, int32_t *next_id) {
    tl_field f = {.id = (*next_id)++, .required = chance(d, 40), .name = name};
    f.doc = chance(d, 10) ? random_text(d, a) : NULL;
    f.type = random_type(d, a, depth, next_id);
    return f;
}

static inline tl_type random_primitive(dice *d) {
    tl_type t = {.id = (tl_type_id)(1 + below(d, TL_TYPE_BINARY))};
    if (t.id == TL_TYPE_DECIMAL) {
        t.precision = 1 + below(d, 38);
        t.scale = below(d, t.precision + 1);
    }
    if (t.id == TL_TYPE_FIXED) {
        t.length = 1 + below(d, 20);
    }
    return t;
}

static inline tl_type random_type(dice *d, tl_arena *a, int depth, int32_t *next_id) {
    if (depth > 3 || chance(d, 75)) {
        return random_primitive(d);
    }
    tl_type t = {.id = (tl_type_id)(TL_TYPE_STRUCT + below(d, 3))};
    t.n_fields = t.id == TL_TYPE_STRUCT ? 1 + below(d, 3) : t.id == TL_TYPE_LIST ? 1 : 2;
    t.fields = tl_arena_array(a, (size_t)t.n_fields, sizeof *t.fields);
    for (int32_t i = 0; i < t.n_fields; i++) {
        const char *name = t.id == TL_TYPE_STRUCT ? tl_arena_format(a, "f%d", i)
                           : t.id == TL_TYPE_LIST ? "element"
                           : i == 0               ? "key"
                                                  : "value";
        t.fields[i] = random_field(d, a, name, depth + 1, next_id);
        if (t.id != TL_TYPE_STRUCT) {
            t.fields[i].doc = NULL; /* there is no place for it */
        }
    }
    if (t.id == TL_TYPE_MAP) {
        t.fields[0].required = true;
    }
    return t;
}

static inline tl_schema random_schema(dice *d, tl_arena *a, int32_t schema_id) {
    int32_t next_id = 1;
    tl_schema s = {.schema_id = schema_id, .n_fields = 1 + below(d, 12)};
    s.fields = tl_arena_array(a, (size_t)s.n_fields, sizeof *s.fields);
    for (int32_t i = 0; i < s.n_fields; i++) {
        s.fields[i] = random_field(d, a, tl_arena_format(a, "%d%s", i, random_text(d, a)), 1, &next_id);
    }
    return s;
}

static inline bool fields_equal(const tl_field *x, const tl_field *y, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        bool docs = (x[i].doc == NULL) == (y[i].doc == NULL) && (!x[i].doc || strcmp(x[i].doc, y[i].doc) == 0);
        bool extra = (x[i].extra_json == NULL) == (y[i].extra_json == NULL) &&
                     (!x[i].extra_json || strcmp(x[i].extra_json, y[i].extra_json) == 0);
        if (x[i].id != y[i].id || x[i].required != y[i].required || strcmp(x[i].name, y[i].name) != 0 || !docs ||
            !extra || !tl_type_equal(&x[i].type, &y[i].type)) {
            return false;
        }
    }
    return true;
}

static inline bool schemas_equal(const tl_schema *x, const tl_schema *y) {
    return x->schema_id == y->schema_id && x->n_fields == y->n_fields &&
           fields_equal(x->fields, y->fields, x->n_fields);
}

/* Runs `work` with its first, second ... allocation failing until it succeeds; each failure must be TL_NO_MEMORY. */
typedef tl_status (*fallible)(void *ctx, tl_error *err);
static inline void every_allocation_fails_once(fallible work, void *ctx) {
    for (uint64_t n = 1; n < 100000; n++) {
        tl_error err = {{0}};
        (void)tl_mem_fail_at(n);
        tl_status status = work(ctx, &err);
        (void)tl_mem_fail_at(0);
        if (status == TL_OK) {
            assert_true(n > 1);
            return;
        }
        assert_int_equal(status, TL_NO_MEMORY);
        assert_true(err.message[0] != 0);
    }
    fail_msg("the work never succeeds");
}

/* Damages a copy of `bytes` in one of several ways. Caller frees with tl_free. */
static inline tl_bytes damage(dice *d, tl_bytes bytes) {
    uint8_t *copy = tl_alloc(bytes.len + 16);
    size_t len = bytes.len;
    memcpy(copy, bytes.data, len);
    for (int32_t i = 0, n = 1 + below(d, 4); i < n && len; i++) {
        size_t at = (size_t)(roll(d) % len);
        switch (below(d, 6)) {
        case 0: copy[at] = (uint8_t)roll(d); break;
        case 1: copy[at] = (uint8_t)(copy[at] ^ (1u << below(d, 8))); break;
        case 2: len = at; break;
        case 3: /* a piece moves over another */
            memmove(copy + at, copy + (size_t)(roll(d) % len) / 2, (len - at) / 2);
            break;
        case 4: copy[at] = 0xff; break;
        default: copy[at] = '0'; break;
        }
    }
    return (tl_bytes){copy, len};
}

#endif
