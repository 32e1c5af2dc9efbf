/*
 * Random walks over the public API against a plain model: appends with late rows, resends, skewed clocks, null and NaN
 * keys, several files, batch ids twice; after each step the rows read, filtered reads and the latest rows must be the
 * model's. TL_SEED sets the seed, TL_STEPS the steps of each walk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/env.h"
#include "nanoarrow/nanoarrow.h"
#include "timelake.h"

enum { SITES = 5, TAGS = 5, TIMES = 120, TAG_NAN = 4 };
static const char *const site_names[SITES] = {NULL, "", "a", "a\xc3\xa9", "plant-7"};
static const double tag_values[TAGS] = {0 /* stands for null */, -0.0, 0.0, 2.5, 0 /* stands for NaN */};

typedef struct cell {
    bool set, v_null;
    uint64_t v_bits;
    int64_t ingest; /* INT64_MAX = stamped by the writer */
    int step;
} cell;

typedef struct walk {
    uint64_t seed;
    bool with_tag, ingest_column;
    int64_t spacing_us; /* between time slots */
    cell cells[SITES][TAGS][TIMES];
    tl_lake *lake;
    int step;
} walk;

static uint64_t dice(walk *w) {
    return tl_seeded_next(&w->seed);
}

static uint64_t below(walk *w, uint64_t n) {
    return dice(w) % n;
}

static int64_t time_of(const walk *w, int slot) {
    return (slot - TIMES / 3) * w->spacing_us - 1;
} /* also before 1970 */

#define NA(expr) assert_int_equal(expr, NANOARROW_OK)

static void make_schema(const walk *w, bool with_ingest, struct ArrowSchema *s) {
    int64_t n = 3 + w->with_tag + with_ingest, at = 0;
    ArrowSchemaInit(s);
    NA(ArrowSchemaSetTypeStruct(s, n));
    NA(ArrowSchemaSetType(s->children[at], NANOARROW_TYPE_STRING));
    NA(ArrowSchemaSetName(s->children[at++], "site"));
    if (w->with_tag) {
        NA(ArrowSchemaSetType(s->children[at], NANOARROW_TYPE_DOUBLE));
        NA(ArrowSchemaSetName(s->children[at++], "tag"));
    }
    NA(ArrowSchemaSetTypeDateTime(s->children[at], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
    NA(ArrowSchemaSetName(s->children[at++], "time"));
    NA(ArrowSchemaSetType(s->children[at], NANOARROW_TYPE_DOUBLE));
    NA(ArrowSchemaSetName(s->children[at++], "v"));
    if (with_ingest) {
        NA(ArrowSchemaSetTypeDateTime(s->children[at], NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, "UTC"));
        NA(ArrowSchemaSetName(s->children[at++], "_ingest_ts"));
    }
}

static void append_tag(walk *w, struct ArrowArray *a, int tag) {
    if (tag == 0) {
        NA(ArrowArrayAppendNull(a, 1));
        return;
    }
    double v = tag_values[tag];
    if (tag == TAG_NAN) {
        uint64_t bits = 0x7ff8000000000000u | (below(w, 3) << 63) | below(w, 1000); /* any payload is the same key */
        memcpy(&v, &bits, 8);
    }
    NA(ArrowArrayAppendDouble(a, v));
}

/* One random row, into the arrays and, where it wins, into the model. */
static void add_row(walk *w, struct ArrowArray *batch, bool with_ingest, int64_t first_slot, int64_t slots) {
    int site = (int)below(w, SITES), tag = w->with_tag ? (int)below(w, TAGS) : 0, at = 0;
    int slot = (int)(first_slot + (int64_t)below(w, (uint64_t)slots));
    if (site == 0) {
        NA(ArrowArrayAppendNull(batch->children[at++], 1));
    } else {
        NA(ArrowArrayAppendString(batch->children[at++], ArrowCharView(site_names[site])));
    }
    if (w->with_tag) {
        append_tag(w, batch->children[at++], tag);
    }
    NA(ArrowArrayAppendInt(batch->children[at++], time_of(w, slot)));
    double v = (double)(int64_t)below(w, 1000) / 8;
    bool v_null = below(w, 10) == 0;
    if (v_null) {
        NA(ArrowArrayAppendNull(batch->children[at++], 1));
    } else {
        NA(ArrowArrayAppendDouble(batch->children[at++], v));
    }
    int64_t ingest = INT64_MAX;
    if (with_ingest) {
        if (below(w, 4) == 0) {
            NA(ArrowArrayAppendNull(batch->children[at++], 1)); /* gets the stamp */
        } else {
            ingest = (int64_t)below(w, 6); /* old, and often equal: commit order and row order decide */
            NA(ArrowArrayAppendInt(batch->children[at++], ingest));
        }
    }
    NA(ArrowArrayFinishElement(batch));
    cell *c = &w->cells[site][tag][slot];
    if (!w->ingest_column) {
        ingest = INT64_MAX;
    }
    if (!c->set || ingest >= c->ingest) {
        *c = (cell){.set = true, .v_null = v_null, .ingest = ingest, .step = w->step};
        memcpy(&c->v_bits, &v, 8);
    }
}

static void append_step(walk *w) {
    bool with_ingest = w->ingest_column && below(w, 2);
    struct ArrowSchema schema;
    struct ArrowArray batches[3];
    make_schema(w, with_ingest, &schema);
    size_t n = 1 + below(w, 3);
    int64_t slots = below(w, 4) == 0 ? TIMES : 10;
    int64_t first = (int64_t)below(w, (uint64_t)(TIMES - slots + 1));
    for (size_t i = 0; i < n; i++) {
        NA(ArrowArrayInitFromSchema(&batches[i], &schema, NULL));
        NA(ArrowArrayStartAppending(&batches[i]));
        for (uint64_t k = below(w, 40); k > 0; k--) {
            add_row(w, &batches[i], with_ingest, first, slots);
        }
        NA(ArrowArrayFinishBuildingDefault(&batches[i], NULL));
    }
    struct ArrowArrayStream rows;
    tl_error err = {{0}};
    char id[32];
    (void)snprintf(id, sizeof id, "batch-%d", w->step);
    tl_append_params params = {.batch_id = below(w, 2) ? id : NULL, .memory_limit = below(w, 3) ? 0 : 4096};
    tl_append_result result;
    assert_int_equal(tl_stream_of(&schema, batches, n, &rows, &err), TL_OK);
    if (tl_append(w->lake, "walk", &rows, &params, &result, &err) != TL_OK) {
        fail_msg("step %d: append: %s", w->step, err.message);
    }
    assert_int_equal(result.duplicate, 0);
    if (params.batch_id && result.snapshot_id >= 0) { /* the same id again: nothing is added */
        struct ArrowArray none;
        NA(ArrowArrayInitFromSchema(&none, &schema, NULL));
        NA(ArrowArrayStartAppending(&none));
        cell before[SITES][TAGS]; /* the model must not take the row that is not added */
        for (int s = 0; s < SITES * TAGS; s++) {
            before[s / TAGS][s % TAGS] = w->cells[s / TAGS][s % TAGS][0];
        }
        add_row(w, &none, with_ingest, 0, 1);
        for (int s = 0; s < SITES * TAGS; s++) {
            w->cells[s / TAGS][s % TAGS][0] = before[s / TAGS][s % TAGS];
        }
        NA(ArrowArrayFinishBuildingDefault(&none, NULL));
        assert_int_equal(tl_stream_of(&schema, &none, 1, &rows, &err), TL_OK);
        assert_int_equal(tl_append(w->lake, "walk", &rows, &params, &result, &err), TL_OK);
        assert_int_equal(result.duplicate, 1);
        assert_int_equal(result.rows, 0);
    }
    ArrowSchemaRelease(&schema);
}

/* ---- reading back ---- */

typedef struct reading {
    int site, tag, slot;
    bool v_null;
    uint64_t v_bits;
} reading;

static int find_site(struct ArrowArrayView *v, int64_t i) {
    if (ArrowArrayViewIsNull(v, i)) {
        return 0;
    }
    struct ArrowStringView s = ArrowArrayViewGetStringUnsafe(v, i);
    for (int k = 1; k < SITES; k++) {
        if ((size_t)s.size_bytes == strlen(site_names[k]) &&
            memcmp(s.data, site_names[k], strlen(site_names[k])) == 0) {
            return k;
        }
    }
    fail_msg("a site that was never written");
    return -1;
}

static int find_tag(struct ArrowArrayView *v, int64_t i) {
    if (ArrowArrayViewIsNull(v, i)) {
        return 0;
    }
    double d = ArrowArrayViewGetDoubleUnsafe(v, i);
    if (d != d) {
        return TAG_NAN;
    }
    for (int k = 1; k < TAG_NAN; k++) {
        if (memcmp(&d, &tag_values[k], 8) == 0) {
            return k;
        }
    }
    fail_msg("a tag that was never written");
    return -1;
}

typedef void (*visit)(walk *w, const reading *r, void *ctx);

/* Calls `see` for each row of a stream with the table's columns. */
static void each_row(walk *w, struct ArrowArrayStream *rows, visit see, void *ctx) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayView view;
    assert_int_equal(rows->get_schema(rows, &schema), 0);
    NA(ArrowArrayViewInitFromSchema(&view, &schema, NULL));
    for (;;) {
        if (rows->get_next(rows, &batch) != 0) {
            fail_msg("step %d: read: %s", w->step, rows->get_last_error(rows));
        }
        if (!batch.release) {
            break;
        }
        NA(ArrowArrayViewSetArray(&view, &batch, NULL));
        for (int64_t i = 0; i < batch.length; i++) {
            int at = 1;
            reading r = {.site = find_site(view.children[0], i)};
            r.tag = w->with_tag ? find_tag(view.children[at++], i) : 0;
            int64_t time = ArrowArrayViewGetIntUnsafe(view.children[at++], i);
            r.slot = (int)((time + 1) / w->spacing_us + TIMES / 3);
            assert_int_equal(time, time_of(w, r.slot));
            r.v_null = ArrowArrayViewIsNull(view.children[at], i);
            double v = r.v_null ? 0 : ArrowArrayViewGetDoubleUnsafe(view.children[at], i);
            memcpy(&r.v_bits, &v, 8);
            see(w, &r, ctx);
        }
        batch.release(&batch);
    }
    ArrowArrayViewReset(&view);
    ArrowSchemaRelease(&schema);
    rows->release(rows);
}

typedef struct seen {
    bool cells[SITES][TAGS][TIMES];
    int64_t rows;
} seen;

static void see_live(walk *w, const reading *r, void *ctx) {
    seen *s = ctx;
    const cell *c = &w->cells[r->site][r->tag][r->slot];
    if (!c->set || s->cells[r->site][r->tag][r->slot] || c->v_null != r->v_null ||
        (!c->v_null && c->v_bits != r->v_bits)) {
        fail_msg("step %d: site %d tag %d slot %d: %s", w->step, r->site, r->tag, r->slot,
                 !c->set                              ? "never written"
                 : s->cells[r->site][r->tag][r->slot] ? "read twice"
                                                      : "not the latest value");
    }
    s->cells[r->site][r->tag][r->slot] = true;
    s->rows++;
}

static void check_all(walk *w, const tl_scan_params *params, int only_site, int from, int to) {
    struct ArrowArrayStream rows;
    tl_error err = {{0}};
    if (tl_scan(w->lake, "walk", params, &rows, &err) != TL_OK) {
        fail_msg("step %d: scan: %s", w->step, err.message);
    }
    seen *s = calloc(1, sizeof *s);
    assert_non_null(s);
    each_row(w, &rows, see_live, s);
    int64_t expected = 0;
    for (int site = 0; site < SITES; site++) {
        for (int tag = 0; tag < TAGS; tag++) {
            for (int slot = from; slot < to; slot++) {
                expected += w->cells[site][tag][slot].set && (only_site < 0 || only_site == site);
            }
        }
    }
    if (s->rows != expected) {
        fail_msg("step %d: %lld rows read, %lld expected", w->step, (long long)s->rows, (long long)expected);
    }
    free(s);
}

static void see_latest(walk *w, const reading *r, void *ctx) {
    int64_t *rows = ctx;
    for (int slot = r->slot + 1; slot < TIMES; slot++) {
        if (w->cells[r->site][r->tag][slot].set) {
            fail_msg("step %d: site %d tag %d: slot %d is not the newest", w->step, r->site, r->tag, r->slot);
        }
    }
    const cell *c = &w->cells[r->site][r->tag][r->slot];
    assert_true(c->set);
    assert_int_equal(c->v_null, r->v_null);
    assert_true(c->v_null || c->v_bits == r->v_bits);
    ++*rows;
}

static void check_latest(walk *w) {
    struct ArrowArrayStream rows;
    tl_error err = {{0}};
    if (tl_latest(w->lake, "walk", &rows, &err) != TL_OK) {
        fail_msg("step %d: latest: %s", w->step, err.message);
    }
    int64_t n = 0, expected = 0;
    each_row(w, &rows, see_latest, &n);
    for (int site = 0; site < SITES; site++) {
        for (int tag = 0; tag < TAGS; tag++) {
            bool any = false;
            for (int slot = 0; slot < TIMES; slot++) {
                any = any || w->cells[site][tag][slot].set;
            }
            expected += any;
        }
    }
    assert_int_equal(n, expected);
}

static void check(walk *w) {
    check_all(w, NULL, -1, 0, TIMES);
    int from = (int)below(w, TIMES), to = from + 1 + (int)below(w, (uint64_t)(TIMES - from));
    int site = 1 + (int)below(w, SITES - 1);
    char key[64];
    (void)snprintf(key, sizeof key, "site=%s", site_names[site]);
    const char *const series[] = {key, NULL};
    check_all(w, &(tl_scan_params){.series = series}, site, 0, TIMES);
    check_all(w, &(tl_scan_params){.from_us = time_of(w, from), .to_us = time_of(w, to)}, -1, from, to);
    check_all(w, &(tl_scan_params){.from_us = time_of(w, from), .to_us = time_of(w, to), .series = series}, site, from,
              to);
    check_latest(w);
}

static void run(uint64_t seed, const char *location) {
    walk *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = seed;
    w->with_tag = below(w, 3) > 0;
    w->ingest_column = below(w, 3) > 0;
    w->spacing_us = (int64_t[]){1, 3600000000, 50000000000}[below(w, 3)];
    tl_error err = {{0}};
    assert_int_equal(tl_lake_open(location, &(tl_lake_options){.threads = 1 + (unsigned)below(w, 3)}, &w->lake, &err),
                     TL_OK);
    struct ArrowSchema schema;
    make_schema(w, false, &schema);
    const tl_table_spec spec = {.time_column = "time",
                                .series_key = w->with_tag ? "site,tag" : "site",
                                .chunk = below(w, 2) ? "day" : "hour",
                                .no_ingest_time = !w->ingest_column};
    if (tl_create(w->lake, "walk", &schema, &spec, &err) != TL_OK) {
        fail_msg("create: %s", err.message);
    }
    ArrowSchemaRelease(&schema);
    const char *steps = getenv("TL_STEPS");
    int n = steps ? atoi(steps) : 25;
    for (w->step = 1; w->step <= n; w->step++) {
        append_step(w);
        check(w);
    }
    tl_lake_close(w->lake);
    free(w);
}

static void rows_read_are_the_latest_writes_of_a_random_walk(void **state) {
    (void)state;
    const char *text = getenv("TL_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 20261129;
    for (uint64_t i = 0; i < (text ? 1 : 12); i++) {
        print_message("seed %llu\n", (unsigned long long)(seed + i));
        run(seed + i, "memory://walk");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_read_are_the_latest_writes_of_a_random_walk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
