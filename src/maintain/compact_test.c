/*
 * Compaction against a model. Random walks: appends with late rows, resends and skewed clocks, compactions of all
 * kinds, other writers that come between, faults at any store operation; after each step the rows that are read must be
 * the model's. TL_SEED sets the seed, TL_STEPS the steps of each walk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "append/append.h"
#include "base/env.h"
#include "base/mem.h"
#include "commit/commit.h"
#include "maintain/compact_internal.h"
#include "maintain/expire.h"
#include "nanoarrow/nanoarrow.h"
#include "read/read.h"
#include "store/faulty.h"

enum { SITES = 5, TAGS = 5, SLOTS = 96, NAN_TAG = 4 };
static const double tag_values[TAGS] = {0 /* stands for null */, -0.0, 0.0, 2.5, 0 /* stands for NaN */};

typedef struct cell {
    bool set;
    int64_t v, ingest;
} cell;

typedef struct walk {
    uint64_t seed;
    bool with_ingest, dedup;
    cell cells[SITES][TAGS][SLOTS];
    int64_t rows; /* ever written, for tables without dedup */
    int64_t next_v;
    tl_env_fixed world;
    tl_env env;
    tl_store *store;
    tl_pool *pool;
    int step;
    int races; /* appends that came between, in this step */
    bool deep; /* in a race */
    tl_compact_outlook outlook;
    int64_t foreseen; /* looks that were not needed */
} walk;

static uint64_t dice(walk *w) {
    return tl_seeded_next(&w->seed);
}

static int below(walk *w, uint64_t n) {
    return (int)(dice(w) % n);
}

static int64_t time_of(int slot) {
    return ((int64_t)slot - SLOTS / 3) * 600000000 - 1; /* six to an hour; also before 1970 */
}

/* ---- a table ---- */

static void create(walk *w) {
    static tl_field fields[] = {
        {.id = 1, .name = "site", .type = {.id = TL_TYPE_STRING}},
        {.id = 2, .name = "tag", .type = {.id = TL_TYPE_DOUBLE}},
        {.id = 3, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
        {.id = 4, .name = "v", .type = {.id = TL_TYPE_LONG}},
        {.id = 5, .name = "_ingest_ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    };
    static const char *const key[] = {"site", "tag"};
    static const tl_property properties[] = {{"target-file-size-bytes", "6000"},
                                             {"row-group-rows", "24"},
                                             {"compact-min-files", "3"},
                                             {"data-page-rows", "10"}};
    tl_schema schema = {.n_fields = w->with_ingest ? 5 : 4, .fields = fields};
    tl_create_options o = {.schema = &schema,
                           .time_column = "ts",
                           .series_key = key,
                           .n_series_key = 2,
                           .ingest_column = w->with_ingest ? "_ingest_ts" : NULL,
                           .chunk = "hour",
                           .dedup = w->dedup,
                           .properties = properties,
                           .n_properties = TL_COUNT(properties)};
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_create(w->store, "default", "r", &o, &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    tl_table_release(t);
}

static tl_table *load(walk *w) {
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_load(w->store, "default", "r", &t, &err) != TL_OK) {
        fail_msg("step %d: %s", w->step, err.message);
    }
    return t;
}

/* ---- appending ---- */

typedef struct row {
    int site, tag, slot;
    int64_t v, ingest;
} row;

static void note(walk *w, const row *r) {
    cell *c = &w->cells[r->site][r->tag][r->slot];
    if (!c->set || r->ingest >= c->ingest) {
        *c = (cell){true, r->v, r->ingest};
    }
}

/* Rows as a batch of the table's schema, all of it in the batch's arena. */
static void make_batch(walk *w, const row *rows, int n, tl_batch *b) {
    *b = (tl_batch){.n_rows = n, .n_columns = w->with_ingest ? 5 : 4};
    b->columns = tl_arena_array(&b->arena, 5, sizeof *b->columns);
    uint8_t *valid[2] = {tl_arena_alloc(&b->arena, 64), tl_arena_alloc(&b->arena, 64)};
    int32_t *offsets = tl_arena_array(&b->arena, (size_t)n + 1, 4);
    char *text = tl_arena_alloc(&b->arena, (size_t)n * 8);
    double *tags = tl_arena_array(&b->arena, (size_t)n, 8);
    int64_t *numbers[3];
    for (int k = 0; k < 3; k++) {
        numbers[k] = tl_arena_array(&b->arena, (size_t)n, 8);
    }
    for (int i = 0; i < n; i++) {
        const row *r = &rows[i];
        offsets[i + 1] = offsets[i];
        if (r->site) {
            offsets[i + 1] += snprintf(text + offsets[i], 8, "s%d", r->site);
            valid[0][i / 8] |= (uint8_t)(1 << i % 8);
        }
        tags[i] = tag_values[r->tag];
        if (r->tag) {
            valid[1][i / 8] |= (uint8_t)(1 << i % 8);
        }
        if (r->tag == NAN_TAG) {
            uint64_t bits = 0x7ff8000000000000u + (uint64_t)below(w, 100); /* any payload is the same key */
            memcpy(&tags[i], &bits, 8);
        }
        numbers[0][i] = time_of(r->slot);
        numbers[1][i] = r->v;
        numbers[2][i] = r->ingest;
    }
    b->columns[0] = (tl_column){.kind = TL_COLUMN_BYTES,
                                .length = n,
                                .validity = valid[0],
                                .offsets32 = offsets,
                                .data = (const uint8_t *)text};
    b->columns[1] = (tl_column){
        .kind = TL_COLUMN_FIXED, .width = 8, .length = n, .validity = valid[1], .values = (const uint8_t *)tags};
    for (int k = 0; k < 3; k++) {
        b->columns[2 + k] =
            (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .values = (const uint8_t *)numbers[k]};
    }
}

/* One append. Rows of one append that share a key count as the last of them, in a table that dedups. */
static void append_rows(walk *w, const row *rows, int n);

static void append(walk *w) {
    row rows[300];
    int n = 1 + below(w, below(w, 4) ? 30 : 300), span = below(w, 4) ? 9 : SLOTS,
        first = below(w, (uint64_t)(SLOTS - span + 1));
    for (int i = 0; i < n; i++) {
        rows[i] = (row){below(w, SITES), below(w, TAGS), first + below(w, (uint64_t)span), w->next_v++, 0};
        rows[i].ingest = w->with_ingest ? below(w, 4) : 0;
    }
    append_rows(w, rows, n);
}

static void append_rows(walk *w, const row *rows, int n) {
    tl_table *t = load(w), *out = NULL;
    tl_error err = {{0}};
    tl_appender *a;
    tl_batch b;
    tl_staged staged;
    tl_commit_result r;
    assert_int_equal(tl_appender_create(t, NULL, &a, &err), TL_OK);
    make_batch(w, rows, n, &b);
    if (tl_appender_add(a, &b, &err) != TL_OK || tl_appender_finish(a, &staged, &err) != TL_OK) {
        fail_msg("step %d: append: %s", w->step, err.message);
    }
    for (int i = 0; w->step > 0 && i < staged.n_files && below(w, 6) == 0; i++) {
        staged.files[i].sort_order_id = -1; /* as of a writer that does not know the order */
    }
    if (tl_commit_append(t, &staged, NULL, &r, &out, &err) != TL_OK) {
        fail_msg("step %d: append: %s", w->step, err.message);
    }
    for (int i = 0; i < n; i++) {
        note(w, &rows[i]);
    }
    w->rows += n;
    tl_appender_free(a);
    tl_staged_free(&staged);
    tl_table_release(out);
    tl_table_release(t);
}

/* ---- reading ---- */

static int site_of(const struct ArrowArrayView *v, int64_t i) {
    if (ArrowArrayViewIsNull(v, i)) {
        return 0;
    }
    struct ArrowStringView s = ArrowArrayViewGetStringUnsafe(v, i);
    assert_int_equal(s.size_bytes, 2);
    return s.data[1] - '0';
}

static int tag_of(const struct ArrowArrayView *v, int64_t i) {
    if (ArrowArrayViewIsNull(v, i)) {
        return 0;
    }
    double d = ArrowArrayViewGetDoubleUnsafe(v, i);
    for (int k = 1; k < NAN_TAG; k++) {
        if (memcmp(&d, &tag_values[k], 8) == 0) {
            return k;
        }
    }
    assert_true(d != d);
    return NAN_TAG;
}

typedef enum strategy { KEYS_FIRST, MERGE, PARTS, COPIES } strategy;

static int64_t read_stream(walk *w, struct ArrowArrayStream *stream, bool copies, bool seen[SITES][TAGS][SLOTS]) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayView view;
    assert_int_equal(stream->get_schema(stream, &schema), 0);
    assert_int_equal(ArrowArrayViewInitFromSchema(&view, &schema, NULL), 0);
    int64_t rows = 0;
    for (;;) {
        if (stream->get_next(stream, &batch) != 0) {
            fail_msg("step %d: read: %s", w->step, stream->get_last_error(stream));
        }
        if (!batch.release) {
            break;
        }
        assert_int_equal(ArrowArrayViewSetArray(&view, &batch, NULL), 0);
        for (int64_t i = 0; i < batch.length; i++) {
            int site = site_of(view.children[0], i), tag = tag_of(view.children[1], i);
            int slot = (int)((ArrowArrayViewGetIntUnsafe(view.children[2], i) + 1) / 600000000 + SLOTS / 3);
            int64_t v = ArrowArrayViewGetIntUnsafe(view.children[3], i);
            const cell *c = &w->cells[site][tag][slot];
            if (!c->set || (w->dedup && !copies && (c->v != v || seen[site][tag][slot]))) {
                fail_msg("step %d: site %d tag %d slot %d: %s", w->step, site, tag, slot,
                         !c->set     ? "never written"
                         : c->v != v ? "not the last write"
                                     : "read twice");
            }
            seen[site][tag][slot] = true;
        }
        rows += batch.length;
        batch.release(&batch);
    }
    ArrowArrayViewReset(&view);
    ArrowSchemaRelease(&schema);
    stream->release(stream);
    return rows;
}

/* The parts of a merge, each of them cut once more by series. */
static int64_t read_parts(walk *w, tl_plan *plan, const tl_plan_options *o, bool seen[SITES][TAGS][SLOTS]) {
    tl_error err = {{0}};
    tl_scan_parts parts;
    struct ArrowArrayStream stream;
    int64_t rows = 0;
    if (tl_scan_parts_make(plan, o, &parts, &err) != TL_OK) {
        fail_msg("step %d: parts: %s", w->step, err.message);
    }
    for (int64_t i = 0; i < parts.n; i++) {
        tl_scan_part part = parts.items[i];
        assert_int_equal(part.shares, 1);
        for (part.shares = 3, part.share = 0; part.share < part.shares; part.share++) {
            if (tl_scan_open_part(plan, o, &part, NULL, 0, &stream, &err) != TL_OK) {
                fail_msg("step %d: read: %s", w->step, err.message);
            }
            rows += read_stream(w, &stream, false, seen);
        }
    }
    tl_scan_parts_free(&parts);
    return rows;
}

static int64_t read_rows(walk *w, tl_table *t, strategy how, bool seen[SITES][TAGS][SLOTS]) {
    tl_error err = {{0}};
    tl_plan *plan;
    struct ArrowArrayStream stream;
    tl_plan_options o = {.keep_copies = how == COPIES, .merge = how == MERGE || how == PARTS};
    int64_t rows = 0;
    if (tl_plan_create(t, &o, &plan, &err) != TL_OK) {
        fail_msg("step %d: plan: %s", w->step, err.message);
    }
    if (how == PARTS && w->dedup) {
        rows = read_parts(w, plan, &o, seen);
    } else if (tl_scan_open(plan, &o, NULL, 0, &stream, &err) == TL_OK) {
        rows = read_stream(w, &stream, how == COPIES, seen);
    } else {
        fail_msg("step %d: read: %s", w->step, err.message);
    }
    tl_plan_release(plan);
    return rows;
}

static int64_t expected_rows(const walk *w) {
    int64_t n = 0;
    for (int i = 0; i < SITES * TAGS * SLOTS; i++) {
        n += (&w->cells[0][0][0])[i].set;
    }
    return n;
}

static void check(walk *w) {
    static bool seen[SITES][TAGS][SLOTS];
    tl_table *t = load(w);
    for (strategy how = KEYS_FIRST; how <= PARTS; how++) {
        memset(seen, 0, sizeof seen);
        int64_t rows = read_rows(w, t, how, seen), expected = w->dedup ? expected_rows(w) : w->rows;
        if (rows != expected) {
            fail_msg("step %d, strategy %d: %lld rows are read, %lld were written", w->step, (int)how, (long long)rows,
                     (long long)expected);
        }
    }
    tl_rows latest;
    tl_error err = {{0}};
    if (tl_latest_rows(t, NULL, &latest, &err) != TL_OK) {
        fail_msg("step %d: latest: %s", w->step, err.message);
    }
    int64_t series = 0;
    for (int i = 0; i < SITES * TAGS; i++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            if ((&w->cells[0][0][0])[i * SLOTS + slot].set) {
                series++;
                break;
            }
        }
    }
    assert_int_equal(latest.n_rows, series);
    tl_rows_free(&latest);
    tl_table_release(t);
}

/* ---- compacting ---- */

static tl_status compact(walk *w, tl_table *base, tl_compact_options o, tl_compact_result *result, tl_error *err) {
    o.pool = w->pool;
    o.memory_limit = below(w, 2) ? 0 : 1 << 17;
    tl_table *out = NULL;
    tl_status status = tl_compact(base, &o, result, &out, err);
    tl_table_release(out);
    return status;
}

/* After a full one no key stands twice, and another has nothing to do. */
static void compact_all(walk *w) {
    static bool seen[SITES][TAGS][SLOTS];
    tl_table *t = load(w);
    tl_compact_result r;
    tl_error err = {{0}};
    if (compact(w, t, (tl_compact_options){0}, &r, &err) != TL_OK) {
        fail_msg("step %d: compact: %s", w->step, err.message);
    }
    assert_int_equal(r.partitions_left, 0);
    tl_table_release(t);
    t = load(w);
    memset(seen, 0, sizeof seen);
    assert_int_equal(read_rows(w, t, COPIES, seen), w->dedup ? expected_rows(w) : w->rows);
    for (int again = 0; again < 4; again++) { /* runs that shrank may be light enough for one piece now */
        if (compact(w, t, (tl_compact_options){0}, &r, &err) != TL_OK) {
            fail_msg("step %d: compact again: %s", w->step, err.message);
        }
        if (r.commits == 0) {
            break;
        }
        assert_true(!w->dedup && again < 3);
        tl_table_release(t);
        t = load(w);
    }
    tl_table_release(t);
}

static void compact_inline(walk *w) {
    tl_table *t = load(w);
    tl_compact_result r;
    tl_error err = {{0}};
    tl_compact_outlook copy = w->outlook;
    bool foreseen = tl_compact_outlook_holds(t, tl_env_now_us(&w->env), &copy);
    if (compact(w, t, (tl_compact_options){.inline_only = true, .outlook = &w->outlook}, &r, &err) != TL_OK) {
        fail_msg("step %d: inline: %s", w->step, err.message);
    }
    if (foreseen && !w->deep) { /* nothing to do without a look: so says a look */
        w->foreseen++;
        assert_int_equal(r.commits, 0);
        if (compact(w, t, (tl_compact_options){.inline_only = true}, &r, &err) != TL_OK) {
            fail_msg("step %d: inline, looked at: %s", w->step, err.message);
        }
        assert_int_equal(r.commits, 0);
    }
    tl_table_release(t);
}

/* One fault somewhere; whatever becomes of it, the rows are the same. */
static void compact_with_a_fault(walk *w) {
    static const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_EXISTS,
                                      TL_FAULT_NO_SPACE,   TL_FAULT_IO,          TL_FAULT_NO_MEMORY};
    tl_table *t = load(w);
    tl_fault_rule rule = {.ops = TL_OP_ANY,
                          .nth = 1 + (uint64_t)below(w, 120),
                          .times = below(w, 3) ? 1 : 3,
                          .fault = faults[below(w, TL_COUNT(faults))]};
    tl_faulty_script(w->store, &rule, 1);
    tl_compact_result r;
    (void)!compact(w, t, (tl_compact_options){0}, &r, NULL);
    tl_faulty_script(w->store, NULL, 0);
    tl_faulty_deliver(w->store);
    tl_table_release(t);
}

/* The power goes at some operation: what was not synced is gone. */
static void compact_and_lose_power(walk *w) {
    tl_table *t = load(w);
    tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = 1 + (uint64_t)below(w, 150), .times = 100000, .fault = TL_FAULT_IO};
    tl_faulty_script(w->store, &rule, 1);
    tl_compact_result r;
    (void)!compact(w, t, (tl_compact_options){0}, &r, NULL);
    tl_faulty_script(w->store, NULL, 0);
    tl_faulty_power_cut(w->store);
    tl_table_release(t);
}

/* Another writer's turn, just before the put that decides. */
static void come_between(void *ctx, const char *key) {
    walk *w = ctx;
    (void)key;
    if (w->deep) {
        return;
    }
    w->deep = true;
    w->races++;
    if (below(w, 3)) {
        append(w);
    } else {
        compact_inline(w);
    }
    w->deep = false;
}

static void compact_in_a_race(walk *w) {
    tl_table *t = load(w);
    tl_fault_rule rule = {.ops = TL_OP_PUT_IF_ABSENT,
                          .key_part = ".metadata.json",
                          .nth = 1,
                          .times = 1 + (uint64_t)below(w, 3),
                          .fault = TL_FAULT_NONE,
                          .before = come_between,
                          .ctx = w};
    tl_faulty_script(w->store, &rule, 1);
    tl_compact_result r;
    tl_error err = {{0}};
    if (compact(w, t, (tl_compact_options){.inline_only = below(w, 2) == 0}, &r, &err) != TL_OK) {
        fail_msg("step %d: race: %s", w->step, err.message);
    }
    tl_faulty_script(w->store, NULL, 0);
    tl_table_release(t);
}

/* A handle that knows nothing of the last steps. */
static void compact_from_a_stale_base(walk *w) {
    tl_table *t = load(w);
    append(w);
    compact_inline(w);
    tl_compact_result r;
    tl_error err = {{0}};
    if (compact(w, t, (tl_compact_options){0}, &r, &err) != TL_OK) {
        fail_msg("step %d: stale: %s", w->step, err.message);
    }
    tl_table_release(t);
}

static void expire(walk *w) {
    w->world.clock_us += 3 * 3600000000LL;
    tl_table *t = load(w), *out = NULL;
    tl_expire_result r;
    tl_error err = {{0}};
    if (tl_expire(t, &r, &out, &err) != TL_OK) {
        fail_msg("step %d: expire: %s", w->step, err.message);
    }
    tl_table_release(out);
    tl_table_release(t);
}

static void step(walk *w) {
    switch (below(w, 12)) {
    case 0: compact_all(w); break;
    case 1: compact_inline(w); break;
    case 2: compact_with_a_fault(w); break;
    case 3: compact_in_a_race(w); break;
    case 4: compact_from_a_stale_base(w); break;
    case 5: expire(w); break;
    case 6: compact_and_lose_power(w); break;
    default: append(w); break;
    }
    check(w);
}

static uint64_t number_from(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void begin(walk *w, bool with_ingest, bool dedup) {
    uint64_t seed = number_from("TL_SEED", 20261130);
    *w = (walk){.seed = seed, .with_ingest = with_ingest, .dedup = dedup};
    w->world = (tl_env_fixed){.seed = seed, .clock_us = 1767225600000000, .step_us = 10};
    w->env = tl_env_seeded(&w->world);
    tl_store *inner;
    assert_int_equal(tl_store_open("memory://", false, &w->env, &inner, NULL), TL_OK);
    assert_int_equal(tl_faulty_open(inner, &w->store, NULL), TL_OK);
    assert_int_equal(tl_pool_create(2, &w->pool, NULL), TL_OK);
    printf("seed %llu\n", (unsigned long long)seed);
    create(w);
}

static void end(walk *w) {
    tl_pool_free(w->pool);
    tl_store_close(w->store);
}

static void run_walk(bool with_ingest, bool dedup, int steps) {
    static walk w;
    begin(&w, with_ingest, dedup);
    steps = (int)number_from("TL_STEPS", (uint64_t)steps);
    for (w.step = 1; w.step <= steps; w.step++) {
        step(&w);
    }
    compact_all(&w);
    check(&w);
    end(&w);
}

/* All tags of one site in one hour, each time once. */
static void append_site(walk *w, int site, int first_slot) {
    row rows[24];
    for (int i = 0; i < 24; i++) {
        rows[i] = (row){site, 1 + i % 4, first_slot + i / 4, w->next_v++, 0};
    }
    append_rows(w, rows, 24);
}

/* Appends of one hour after the other, as they come from machines, now and then others; compaction after each. */
static void no_work_is_overlooked_between_looks(void **state) {
    (void)state;
    static walk w;
    begin(&w, true, true);
    for (int site = 1; site < 3; site++) {
        append_site(&w, site, 3);
        compact_inline(&w);
    }
    assert_int_equal(w.foreseen, 1); /* the first was looked at: two more are one too many */
    for (int hour = 0; hour < 15; hour++) {
        for (int n = 1 + below(&w, 8); n > 0; n--, w.step++) {
            if (below(&w, 6)) {
                append_site(&w, 1 + below(&w, 4), 3 + 6 * hour);
            } else {
                append(&w);
            }
            compact_inline(&w);
        }
        check(&w);
    }
    end(&w);
}

static int64_t copied_bytes(walk *w) {
    tl_table *t = load(w), *out = NULL;
    tl_compact_result r;
    tl_error err = {{0}};
    if (tl_compact(t, &(tl_compact_options){.pool = w->pool}, &r, &out, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(r.commits, 1);
    assert_true(r.copied_bytes == 0 || r.copied_bytes == r.bytes_out);
    tl_table_release(out);
    tl_table_release(t);
    return r.copied_bytes;
}

static void row_groups_that_do_not_interleave_are_copied(void **state) {
    (void)state;
    static walk w;
    begin(&w, true, true);
    for (int site = 4; site > 0; site--) { /* not in the order of the keys */
        append_site(&w, site, 33);
    }
    assert_true(copied_bytes(&w) > 0);
    check(&w);
    append_site(&w, 2, 33); /* in the middle */
    assert_int_equal(copied_bytes(&w), 0);
    check(&w);
    end(&w);
}

static void keys_that_stand_twice_are_not_copied(void **state) {
    (void)state;
    static walk w;
    begin(&w, true, true);
    append_site(&w, 1, 33);
    append_site(&w, 1, 33);
    assert_int_equal(copied_bytes(&w), 0);
    check(&w);
    end(&w);
}

static void rows_stay_the_same_whatever_is_compacted_when(void **state) {
    (void)state;
    run_walk(true, true, 150);
}

static void without_insertion_times_commits_decide(void **state) {
    (void)state;
    run_walk(false, true, 150);
}

static void without_dedup_every_row_stays(void **state) {
    (void)state;
    run_walk(true, false, 80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay_the_same_whatever_is_compacted_when),
        cmocka_unit_test(without_insertion_times_commits_decide),
        cmocka_unit_test(without_dedup_every_row_stays),
        cmocka_unit_test(no_work_is_overlooked_between_looks),
        cmocka_unit_test(row_groups_that_do_not_interleave_are_copied),
        cmocka_unit_test(keys_that_stand_twice_are_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
