/* How fast alignment is: CPU nanoseconds a value for the pairs that appends are made of. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "append/align_internal.h"
#include "arrow/testing.h"

enum { ROWS = 1 << 20, ROUNDS = 5 };

static double cpu(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A text in which every '%' becomes three digits. */
static int write_text(char *out, const char *form, uint64_t r) {
    int n = 0;
    for (; *form; form++) {
        if (*form == '%') {
            n += snprintf(out + n, 8, "%03u", (unsigned)(r >> 40) % 1000);
            r = r * 6364136223846793005u + 1;
        } else {
            out[n++] = *form;
        }
    }
    return n;
}

static void texts(struct ArrowSchema *s, struct ArrowArray *a, const char *form, int64_t n, bool unicode) {
    test_schema(s, "u", "x", 0);
    test_array(a, n, 3, 0);
    int32_t *offsets = (int32_t *)(void *)test_buffer(a, 1, (size_t)(n + 1) * 4);
    char *data = (char *)test_buffer(a, 2, (size_t)n * 40);
    for (int64_t i = 0; i < n; i++) {
        int len = write_text(data + offsets[i], form, (uint64_t)i * 0x9e3779b97f4a7c15u);
        if (unicode) {
            data[offsets[i]] = (char)0xc3;
            data[offsets[i] + 1] = (char)0xbc;
        }
        offsets[i + 1] = offsets[i] + len;
    }
}

typedef struct bench {
    const char *name, *source;
    tl_type target;
} bench;

static void fill(const bench *b, struct ArrowSchema *s, struct ArrowArray *a) {
    if (strchr(b->source, '%')) {
        texts(s, a, b->source, ROWS, strstr(b->name, "accents") != NULL);
        return;
    }
    if (strcmp(b->source, "dictionary") == 0) {
        test_schema(s, "i", "x", 0);
        test_array(a, ROWS, 2, 0);
        int32_t *p = (int32_t *)(void *)test_buffer(a, 1, (size_t)ROWS * 4);
        for (int64_t i = 0; i < ROWS; i++) {
            p[i] = (int32_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> 40) % 1000;
        }
        s->dictionary = test_memory(sizeof *s->dictionary);
        a->dictionary = test_memory(sizeof *a->dictionary);
        texts(s->dictionary, a->dictionary, "sensor-%-%", 1000, false);
        return;
    }
    size_t width = strchr("if", b->source[0]) ? 4 : 8;
    test_schema(s, b->source, "x", 0);
    test_array(a, ROWS, 2, 0);
    uint8_t *p = test_buffer(a, 1, (size_t)ROWS * width);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t whole = b->source[0] == 't' ? i * 1000000000 : i % 1000;
        double real = (double)whole;
        float single = (float)whole;
        memcpy(p + (size_t)i * width,
               b->source[0] == 'g'   ? (void *)&real
               : b->source[0] == 'f' ? (void *)&single
                                     : (void *)&whole,
               width);
    }
}

static double once(const bench *b) {
    struct ArrowSchema s;
    struct ArrowArray a;
    test_table(&s, &a, 1, ROWS);
    fill(b, s.children[0], a.children[0]);
    tl_field field = {.name = "x", .type = b->target};
    tl_schema schema = {.n_fields = 1, .fields = &field};
    tl_align *plan;
    tl_batch batch;
    tl_error err;
    if (tl_align_create(&schema, -1, &s, &plan, &err) != TL_OK) {
        fprintf(stderr, "%s: %s\n", b->name, err.message);
        exit(1);
    }
    double start = cpu();
    if (tl_align_batch(plan, &a, 0, 0, &batch, &err) != TL_OK) {
        fprintf(stderr, "%s: %s\n", b->name, err.message);
        exit(1);
    }
    double spent = cpu() - start;
    tl_batch_free(&batch);
    tl_align_free(plan);
    s.release(&s);
    return spent;
}

int main(void) {
    static const bench all[] = {
        {"int64 -> long", "l", {.id = TL_TYPE_LONG}},
        {"int64 -> int", "l", {.id = TL_TYPE_INT}},
        {"int32 -> long", "i", {.id = TL_TYPE_LONG}},
        {"int64 -> double", "l", {.id = TL_TYPE_DOUBLE}},
        {"float64 -> double", "g", {.id = TL_TYPE_DOUBLE}},
        {"float32 -> double", "f", {.id = TL_TYPE_DOUBLE}},
        {"float64 -> float", "g", {.id = TL_TYPE_FLOAT}},
        {"float64 -> long", "g", {.id = TL_TYPE_LONG}},
        {"int64 -> decimal(18, 2)", "l", {.id = TL_TYPE_DECIMAL, .precision = 18, .scale = 2}},
        {"timestamp[ms] -> timestamptz", "tsm:UTC", {.id = TL_TYPE_TIMESTAMPTZ}},
        {"timestamp[ns] -> timestamptz", "tsn:UTC", {.id = TL_TYPE_TIMESTAMPTZ}},
        {"string, ASCII", "sensor-%-%", {.id = TL_TYPE_STRING}},
        {"string, accents", "sensor-%-%", {.id = TL_TYPE_STRING}},
        {"dictionary -> string", "dictionary", {.id = TL_TYPE_STRING}},
        {"text -> long", "1%%", {.id = TL_TYPE_LONG}},
        {"text -> double, 6 digits", "1%.%", {.id = TL_TYPE_DOUBLE}},
        {"text -> double, 17 digits", "1%.%67890123%1", {.id = TL_TYPE_DOUBLE}},
        {"text -> decimal(18, 3)", "1%.%", {.id = TL_TYPE_DECIMAL, .precision = 18, .scale = 3}},
        {"text -> timestamptz", "2%-01-02T03:04:05.%Z", {.id = TL_TYPE_TIMESTAMPTZ}},
        {"int64 -> string", "l", {.id = TL_TYPE_STRING}},
        {"float64 -> string", "g", {.id = TL_TYPE_STRING}},
    };
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        double best = 1e9;
        for (int k = 0; k < ROUNDS; k++) {
            double spent = once(&all[i]);
            best = spent < best ? spent : best;
        }
        printf("%-32s %8.2f ns a value\n", all[i].name, best * 1e9 / ROWS);
    }
    return 0;
}
