/* What the tests of maintenance share: a small table in memory and rows for it. For tests only: not part of a room. */
#ifndef TL_API_MAINTAIN_TESTING_H
#define TL_API_MAINTAIN_TESTING_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/lake.h"
#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"
#include "timelake.h"

#define OK(expr) assert_int_equal(expr, TL_OK)
#define NA(expr) assert_int_equal(expr, NANOARROW_OK)

#define DAY_US INT64_C(86400000000)

/* One row of the table `t`: sensor, site, time, v. */
typedef struct test_row {
    const char *sensor, *site; /* NULL = null */
    int64_t time_us;
    double v;
} test_row;

static inline void test_schema(struct ArrowSchema *s) {
    ArrowSchemaInit(s);
    NA(ArrowSchemaSetTypeStruct(s, 4));
    NA(ArrowSchemaSetType(s->children[0], NANOARROW_TYPE_STRING));
    NA(ArrowSchemaSetName(s->children[0], "sensor"));
    NA(ArrowSchemaSetType(s->children[1], NANOARROW_TYPE_STRING));
    NA(ArrowSchemaSetName(s->children[1], "site"));
    NA(ArrowSchemaSetTypeDateTime(s->children[2], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NA(ArrowSchemaSetName(s->children[2], "time"));
    NA(ArrowSchemaSetType(s->children[3], NANOARROW_TYPE_DOUBLE));
    NA(ArrowSchemaSetName(s->children[3], "v"));
}

static inline void test_table(tl_lake *lake, const tl_table_spec *spec) {
    struct ArrowSchema schema;
    tl_error err;
    test_schema(&schema);
    if (tl_create(lake, "t", &schema, spec, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    ArrowSchemaRelease(&schema);
}

static inline void test_stream(const test_row *rows, int n, struct ArrowArrayStream *out) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    test_schema(&schema);
    NA(ArrowArrayInitFromSchema(&batch, &schema, NULL));
    NA(ArrowArrayStartAppending(&batch));
    for (int i = 0; i < n; i++) {
        const char *texts[] = {rows[i].sensor, rows[i].site};
        for (int c = 0; c < 2; c++) {
            NA(texts[c] ? ArrowArrayAppendString(batch.children[c], ArrowCharView(texts[c]))
                        : ArrowArrayAppendNull(batch.children[c], 1));
        }
        NA(ArrowArrayAppendInt(batch.children[2], rows[i].time_us));
        NA(ArrowArrayAppendDouble(batch.children[3], rows[i].v));
        NA(ArrowArrayFinishElement(&batch));
    }
    NA(ArrowArrayFinishBuildingDefault(&batch, NULL));
    OK(tl_stream_of(&schema, &batch, 1, out, NULL));
    ArrowSchemaRelease(&schema);
}

static inline void test_append(tl_lake *lake, const test_row *rows, int n) {
    struct ArrowArrayStream stream;
    tl_error err;
    const tl_append_params params = {.no_maintain = 1};
    test_stream(rows, n, &stream);
    if (tl_append(lake, "t", &stream, &params, NULL, &err) != TL_OK) {
        fail_msg("append: %s", err.message);
    }
}

/* Rows of a stream, and the sum of column v, which must stand last but for the insertion time. */
static inline int64_t test_drain(struct ArrowArrayStream *rows) {
    struct ArrowArray batch;
    int64_t n = 0;
    int code;
    while ((code = rows->get_next(rows, &batch)) == 0 && batch.release) {
        n += batch.length;
        batch.release(&batch);
    }
    if (code) {
        fail_msg("read: %s", rows->get_last_error(rows));
    }
    rows->release(rows);
    return n;
}

static inline int64_t test_count(tl_lake *lake) {
    struct ArrowArrayStream rows;
    tl_error err;
    if (tl_scan(lake, "t", NULL, &rows, &err) != TL_OK) {
        fail_msg("scan: %s", err.message);
    }
    return test_drain(&rows);
}

static inline int64_t test_latest(tl_lake *lake) {
    struct ArrowArrayStream rows;
    tl_error err;
    if (tl_latest(lake, "t", &rows, &err) != TL_OK) {
        fail_msg("latest: %s", err.message);
    }
    return test_drain(&rows);
}

/* What a check found. */
typedef struct test_findings {
    int n, warnings;
    char kinds[16][32];
    char first[1024];
} test_findings;

static inline void test_note(void *ctx, const tl_finding *f) {
    test_findings *t = ctx;
    if (t->n == 0) {
        (void)snprintf(t->first, sizeof t->first, "%s %s: %s", f->kind, f->object ? f->object : "", f->message);
    }
    if (t->n < 16) {
        (void)snprintf(t->kinds[t->n], sizeof t->kinds[0], "%s", f->kind);
    }
    t->n++;
    t->warnings += f->warning;
}

static inline test_findings test_check(tl_lake *lake, int64_t grace_us) {
    test_findings found = {0};
    tl_check_result r;
    tl_error err;
    const tl_check_params params = {.grace_us = grace_us, .found = test_note, .ctx = &found};
    if (tl_check(lake, "t", &params, &r, &err) != TL_OK) {
        fail_msg("check: %s", err.message);
    }
    assert_int_equal(r.findings + r.warnings, found.n);
    assert_int_equal(r.warnings, found.warnings);
    return found;
}

static inline void test_is_clean(tl_lake *lake) {
    test_findings found = test_check(lake, -1);
    if (found.n) {
        fail_msg("check: %d findings, the first: %s", found.n, found.first);
    }
}

/* Exactly these kinds, in any order; `b` may be NULL. */
static inline void test_finds(tl_lake *lake, const char *a, const char *b) {
    test_findings found = test_check(lake, -1);
    int n = 1 + (b != NULL);
    bool has_a = false, has_b = b == NULL;
    for (int i = 0; i < found.n && i < 16; i++) {
        has_a = has_a || strcmp(found.kinds[i], a) == 0;
        has_b = has_b || strcmp(found.kinds[i], b) == 0;
    }
    if (found.n != n || !has_a || !has_b) {
        fail_msg("expected %s %s, found %d: %s", a, b ? b : "", found.n, found.n ? found.first : "nothing");
    }
}

#endif
