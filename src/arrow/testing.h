/*
 * Arrow arrays for tests, built by hand so that every buffer has exactly its size (the sanitizer sees one byte too
 * many) and any part can be made wrong. Header-only; included by tests and fuzzers alone.
 */
#ifndef TL_ARROW_TESTING_H
#define TL_ARROW_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Top-level releases so far: each array a test makes must come to exactly one. */
static int test_array_releases __attribute__((unused));

static inline void *test_memory(size_t size) {
    void *p = malloc(size ? size : 1);
    if (!p) {
        abort();
    }
    return p;
}

static inline void test_schema_release(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release) {
            s->children[i]->release(s->children[i]);
        }
        free(s->children[i]);
    }
    if (s->dictionary) {
        s->dictionary->release(s->dictionary);
        free(s->dictionary);
    }
    free(s->children);
    free((void *)(uintptr_t)s->format);
    free((void *)(uintptr_t)s->name);
    s->release = NULL;
}

static inline char *test_text(const char *text) {
    char *p = test_memory(strlen(text) + 1);
    strcpy(p, text);
    return p;
}

static inline void test_schema(struct ArrowSchema *s, const char *format, const char *name, int64_t n_children) {
    memset(s, 0, sizeof *s);
    s->format = test_text(format);
    s->name = test_text(name);
    s->flags = ARROW_FLAG_NULLABLE;
    s->n_children = n_children;
    s->children = test_memory((size_t)n_children * sizeof *s->children);
    for (int64_t i = 0; i < n_children; i++) {
        s->children[i] = test_memory(sizeof **s->children);
        memset(s->children[i], 0, sizeof **s->children);
    }
    s->release = test_schema_release;
}

static inline void test_array_free(struct ArrowArray *a) {
    for (int64_t i = 0; i < (int64_t)(intptr_t)a->private_data; i++) {
        if (a->children[i]->release) {
            test_array_free(a->children[i]);
        }
        free(a->children[i]);
    }
    if (a->dictionary) {
        test_array_free(a->dictionary);
        free(a->dictionary);
    }
    /* The last slot counts the buffers, since tests change n_buffers. */
    int64_t n = (int64_t)(intptr_t)a->buffers[-1];
    for (int64_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)a->buffers[i]);
    }
    free((void *)(a->buffers - 1));
    free(a->children);
    a->release = NULL;
}

static inline void test_array_release(struct ArrowArray *a) {
    test_array_releases++;
    test_array_free(a);
}

static inline void test_array(struct ArrowArray *a, int64_t length, int64_t n_buffers, int64_t n_children) {
    memset(a, 0, sizeof *a);
    a->length = length;
    a->null_count = -1;
    a->n_buffers = n_buffers;
    a->n_children = n_children;
    a->buffers = (const void **)test_memory((size_t)(n_buffers + 1) * sizeof *a->buffers) + 1;
    a->buffers[-1] = (void *)(intptr_t)n_buffers;
    for (int64_t i = 0; i < n_buffers; i++) {
        a->buffers[i] = NULL;
    }
    a->children = test_memory((size_t)n_children * sizeof *a->children);
    a->private_data = (void *)(intptr_t)n_children;
    for (int64_t i = 0; i < n_children; i++) {
        a->children[i] = test_memory(sizeof **a->children);
        memset(a->children[i], 0, sizeof **a->children);
    }
    a->release = test_array_release;
}

/* Buffer `i` of `size` bytes, zeroed. */
static inline uint8_t *test_buffer(struct ArrowArray *a, int64_t i, size_t size) {
    free((void *)(uintptr_t)a->buffers[i]);
    uint8_t *p = test_memory(size);
    memset(p, 0, size);
    a->buffers[i] = p;
    return p;
}

/* A buffer with these bytes. */
static inline void test_fill(struct ArrowArray *a, int64_t i, const void *data, size_t size) {
    uint8_t *p = test_buffer(a, i, size);
    if (size) {
        memcpy(p, data, size);
    }
}

/* A validity bitmap from characters: '.' = null. */
static inline void test_validity(struct ArrowArray *a, const char *rows) {
    size_t n = strlen(rows);
    uint8_t *bits = test_buffer(a, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        if (rows[i] != '.') {
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
        }
    }
}

/* A table of one column: fill schema->children[0] and array->children[0] next. */
static inline void test_table(struct ArrowSchema *s, struct ArrowArray *a, int64_t columns, int64_t rows) {
    test_schema(s, "+s", "", columns);
    test_array(a, rows, 1, columns);
}

/* A plain fixed-width column. */
static inline void test_fixed(struct ArrowSchema *s, struct ArrowArray *a, const char *name, const char *format,
                              const void *values, size_t width, int64_t n) {
    test_schema(s, format, name, 0);
    test_array(a, n, 2, 0);
    test_fill(a, 1, values, width * (size_t)n);
}

/* A string column with 32-bit offsets; NULL entries are null. */
static inline void test_strings(struct ArrowSchema *s, struct ArrowArray *a, const char *name, const char *const *texts,
                                int64_t n) {
    test_schema(s, "u", name, 0);
    test_array(a, n, 3, 0);
    int32_t *offsets = (int32_t *)(void *)test_buffer(a, 1, (size_t)(n + 1) * 4);
    uint8_t *bits = test_buffer(a, 0, (size_t)(n + 7) / 8);
    size_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += texts[i] ? strlen(texts[i]) : 0;
    }
    uint8_t *data = test_buffer(a, 2, total);
    for (int64_t i = 0; i < n; i++) {
        size_t len = texts[i] ? strlen(texts[i]) : 0;
        if (len) {
            memcpy(data + offsets[i], texts[i], len);
        }
        offsets[i + 1] = offsets[i] + (int32_t)len;
        if (texts[i]) {
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
        }
    }
}

#endif
