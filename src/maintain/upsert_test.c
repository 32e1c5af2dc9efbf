/*
 * Policy upsert against a model: what an engine sees that knows deletes but no dedup is one row per key, the last
 * write, after every commit. Random walks with late rows, resends, skewed clocks, null and NaN keys, both forms of
 * deletes, compactions, settings and rival writers; every fault at every store operation; failed allocations. TL_SEED
 * sets the seed, TL_STEPS the steps of each walk.
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
#include "maintain/compact.h"
#include "maintain/upsert.h"
#include "read/read.h"
#include "store/faulty.h"

enum { KEYS = 6, SLOTS = 48, MOST_ROWS = 60, NULL_KEY = 0, NAN_KEY = 1 };
static const double key_values[KEYS] = {0, 0 /* NaN */, -0.0, 0.0, 1.5, 7};

typedef struct cell {
    bool set;
    int64_t v, ingest;
} cell;

typedef struct world {
    uint64_t seed;
    tl_env_fixed clock;
    tl_env env;
    tl_store *store;
    cell cells[KEYS][SLOTS];
    int64_t next_v;
    bool with_ingest;
    int step;
} world;

typedef struct row {
    int key, slot;
    int64_t ingest;
} row;

static uint64_t dice(world *w, uint64_t n) {
    return tl_seeded_next(&w->seed) % n;
}

static int64_t time_of(int slot) {
    return ((int64_t)slot - SLOTS / 3) * 7200000000 - 1; /* twelve to a day; also before 1970 */
}

/* ---- tables ---- */

static tl_table *create(world *w, const char *policy, const char *deletes) {
    static tl_field fields[] = {
        {.id = 1, .name = "key", .type = {.id = TL_TYPE_DOUBLE}},
        {.id = 2, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
        {.id = 3, .name = "v", .type = {.id = TL_TYPE_LONG}},
        {.id = 4, .name = "_ingest_ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    };
    const tl_schema schema = {.n_fields = w->with_ingest ? 4 : 3, .fields = fields};
    const char *key[] = {"key"};
    const tl_property properties[] = {{"write-policy", policy}, {"delete-format", deletes}};
    tl_create_options o = {.schema = &schema,
                           .time_column = "ts",
                           .series_key = key,
                           .n_series_key = 1,
                           .ingest_column = w->with_ingest ? "_ingest_ts" : NULL,
                           .dedup = -1,
                           .properties = properties,
                           .n_properties = 2};
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_create(w->store, "default", "r", &o, &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

static tl_table *load(world *w) {
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_load(w->store, "default", "r", &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

/* Names repeat from world to world, so nothing may be remembered of the one before. */
static void open_world(world *w) {
    tl_read_forget();
    w->clock = (tl_env_fixed){.seed = 1, .clock_us = 1767225600000000, .step_us = 10};
    w->env = tl_env_seeded(&w->clock);
    tl_store *inner;
    assert_int_equal(tl_store_open("memory://", false, &w->env, &inner, NULL), TL_OK);
    assert_int_equal(tl_faulty_open(inner, &w->store, NULL), TL_OK);
}

/* ---- writing ---- */

/* Values count up from w->next_v on; the model is not touched. False when memory ends. */
static bool make_batch(world *w, const row *rows, int64_t n, tl_batch *b) {
    int columns = w->with_ingest ? 4 : 3;
    *b = (tl_batch){.n_rows = n, .n_columns = columns};
    b->columns = tl_arena_array(&b->arena, 4, sizeof *b->columns);
    int64_t *values = tl_arena_array(&b->arena, (size_t)n * 4, sizeof *values);
    uint8_t *valid = tl_arena_alloc(&b->arena, (size_t)n / 8 + 1);
    if (!b->columns || !values || !valid) {
        tl_batch_free(b);
        return false;
    }
    memset(valid, 0, (size_t)n / 8 + 1);
    for (int64_t i = 0; i < n; i++) {
        uint64_t nan = 0x7ff8000000000000u | (uint64_t)i; /* any payload is the same key */
        memcpy(&values[i], rows[i].key == NAN_KEY ? (const void *)&nan : (const void *)&key_values[rows[i].key], 8);
        if (rows[i].key != NULL_KEY) {
            tl_bit_set(valid, i);
        }
        values[n + i] = time_of(rows[i].slot);
        values[2 * n + i] = w->next_v + i;
        values[3 * n + i] = rows[i].ingest;
    }
    for (int c = 0; c < columns; c++) {
        b->columns[c] =
            (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .values = (uint8_t *)(values + c * n)};
    }
    b->columns[0].validity = valid;
    return true;
}

static tl_status stage(world *w, tl_table *t, const row *rows, int64_t n, tl_staged *out) {
    tl_batch b;
    tl_appender *a = NULL;
    *out = (tl_staged){0};
    if (!make_batch(w, rows, n, &b)) {
        return TL_NO_MEMORY;
    }
    tl_status status = tl_appender_create(t, NULL, &a, NULL);
    if (status == TL_OK) {
        status = tl_appender_add(a, &b, NULL);
    } else {
        tl_batch_free(&b);
    }
    status = status == TL_OK ? tl_appender_finish(a, out, NULL) : status;
    tl_appender_free(a);
    return status;
}

static void into_model(world *w, const row *rows, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        cell *c = &w->cells[rows[i].key][rows[i].slot];
        int64_t ingest = w->with_ingest ? rows[i].ingest : 0;
        if (!c->set || ingest >= c->ingest) {
            *c = (cell){true, w->next_v + i, ingest};
        }
    }
    w->next_v += n;
}

/* Appends on whatever version `t` is at. */
static tl_status append(world *w, tl_table *t, const row *rows, int64_t n, const char *batch_id, tl_error *err) {
    tl_staged staged;
    tl_table *out = NULL;
    tl_commit_result result;
    tl_delete_lookup lookup = tl_upsert_lookup(NULL);
    tl_commit_options o = {.lookup = &lookup, .batch_id = batch_id};
    tl_status status = stage(w, t, rows, n, &staged);
    if (status == TL_OK) {
        status = tl_commit_append(t, &staged, &o, &result, &out, err);
        if (status == TL_OK) {
            assert_false(result.duplicate);
        }
    }
    tl_staged_free(&staged);
    tl_table_release(out);
    return status;
}

static void append_well(world *w, const row *rows, int64_t n) {
    tl_table *t = load(w);
    tl_error err = {{0}};
    if (append(w, t, rows, n, NULL, &err) != TL_OK) {
        fail_msg("step %d: %s", w->step, err.message);
    }
    into_model(w, rows, n);
    tl_table_release(t);
}

/* ---- reading ---- */

static int key_of(const struct ArrowArray *a, int64_t i) {
    if (a->buffers[0] && a->null_count && !tl_bit(a->buffers[0], a->offset + i)) {
        return NULL_KEY;
    }
    double v = ((const double *)a->buffers[1])[a->offset + i];
    for (int k = NAN_KEY + 1; k < KEYS && v == v; k++) {
        if (memcmp(&v, &key_values[k], 8) == 0) {
            return k;
        }
    }
    return NAN_KEY;
}

/* Rows as an engine without dedup sees them, into `seen` (values); counts them. Fails on a key seen twice. */
static int read_rows(world *w, bool keep_copies, int64_t seen[KEYS][SLOTS]) {
    tl_table *t = load(w);
    tl_plan *plan;
    tl_error err = {{0}};
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    tl_plan_options o = {.keep_copies = keep_copies};
    if (tl_plan_create(t, &o, &plan, &err) != TL_OK || tl_scan_open(plan, &o, NULL, 0, &rows, &err) != TL_OK) {
        fail_msg("step %d: %s", w->step, err.message);
    }
    for (int i = 0; i < KEYS * SLOTS; i++) {
        seen[i / SLOTS][i % SLOTS] = -1;
    }
    int n = 0;
    for (;;) {
        if (rows.get_next(&rows, &batch) != 0) {
            fail_msg("step %d: %s", w->step, rows.get_last_error(&rows));
        }
        if (!batch.release) {
            break;
        }
        for (int64_t i = 0; i < batch.length; i++) {
            const struct ArrowArray *ts = batch.children[1], *v = batch.children[2];
            int key = key_of(batch.children[0], i);
            int64_t time = ((const int64_t *)ts->buffers[1])[ts->offset + i];
            int slot = (int)((time + 1) / 7200000000) + SLOTS / 3;
            if (seen[key][slot] != -1) {
                fail_msg("step %d: key %d slot %d is there twice", w->step, key, slot);
            }
            seen[key][slot] = ((const int64_t *)v->buffers[1])[v->offset + i];
            n++;
        }
        batch.release(&batch);
    }
    rows.release(&rows);
    tl_plan_release(plan);
    tl_table_release(t);
    return n;
}

/* At most one live delete file per data file; each is there. */
static void check_deletes(world *w) {
    tl_table *t = load(w);
    tl_live_files files;
    assert_int_equal(tl_table_files(t, NULL, &files, NULL), TL_OK);
    for (int64_t i = 0; i < files.n_deletes; i++) {
        const tl_data_file *f = &files.deletes[i].file;
        assert_non_null(f->referenced_data_file);
        assert_true(tl_store_exists(w->store, files.deletes[i].key));
        bool found = false;
        for (int64_t k = 0; k < i; k++) {
            assert_string_not_equal(f->referenced_data_file, files.deletes[k].file.referenced_data_file);
        }
        for (int64_t k = 0; k < files.n_data && !found; k++) {
            found = strcmp(files.data[k].file.path, f->referenced_data_file) == 0;
        }
        assert_true(found);
    }
    const char *total = tl_snapshot_summary(tl_metadata_current(&t->metadata), "total-delete-files");
    assert_int_equal(atoll(total), files.n_deletes);
    tl_live_files_free(&files);
    tl_table_release(t);
}

static void check(world *w) {
    static int64_t seen[KEYS][SLOTS];
    for (int pass = 0; pass < 2; pass++) {
        int n = read_rows(w, pass == 0, seen), want = 0;
        for (int i = 0; i < KEYS * SLOTS; i++) {
            const cell *c = &w->cells[i / SLOTS][i % SLOTS];
            want += c->set;
            if (c->set && seen[i / SLOTS][i % SLOTS] != c->v) {
                fail_msg("step %d: key %d slot %d: value %lld, the last write was %lld", w->step, i / SLOTS, i % SLOTS,
                         (long long)seen[i / SLOTS][i % SLOTS], (long long)c->v);
            }
        }
        assert_int_equal(n, want);
    }
    check_deletes(w);
}

/* ---- by hand ---- */

static const char *summary_of(world *w, const char *key, char out[64]) {
    tl_table *t = load(w);
    const char *text = tl_snapshot_summary(tl_metadata_current(&t->metadata), key);
    (void)snprintf(out, 64, "%s", text ? text : "none");
    tl_table_release(t);
    return out;
}

static void rows_in_order_write_no_deletes_and_late_ones_delete_what_they_replace(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        world w = {.with_ingest = true};
        char text[64];
        open_world(&w);
        tl_table_release(create(&w, "upsert", form ? "dv" : "position"));
        append_well(&w, (row[]){{4, 10, 1}, {4, 11, 1}, {5, 10, 1}}, 3);
        append_well(&w, (row[]){{4, 12, 2}, {5, 11, 2}}, 2);
        assert_string_equal(summary_of(&w, "operation", text), "append");
        assert_string_equal(summary_of(&w, "total-delete-files", text), "0");
        append_well(&w, (row[]){{4, 10, 3}, {4, 13, 3}}, 2); /* replaces a row of the first file */
        assert_string_equal(summary_of(&w, "operation", text), "overwrite");
        assert_string_equal(summary_of(&w, "added-delete-files", text), "1");
        assert_string_equal(summary_of(&w, form ? "added-dvs" : "added-position-delete-files", text), "1");
        assert_string_equal(summary_of(&w, "total-position-deletes", text), "1");
        assert_string_equal(summary_of(&w, TL_ONE_COPY_SUMMARY, text), "true");
        append_well(&w, (row[]){{5, 10, 4}}, 1); /* one more of the same file: the delete file is replaced */
        assert_string_equal(summary_of(&w, "removed-delete-files", text), "1");
        assert_string_equal(summary_of(&w, "total-delete-files", text), "1");
        assert_string_equal(summary_of(&w, "total-position-deletes", text), "2");
        append_well(&w, (row[]){{4, 11, 0}, {4, 14, 5}}, 2); /* older by its insertion time: deleted where it comes */
        assert_string_equal(summary_of(&w, "added-position-deletes", text), "1");
        check(&w);
        tl_store_close(w.store);
    }
}

static void a_caller_that_does_not_look_for_copies_is_refused(void **state) {
    (void)state;
    world w = {.with_ingest = true};
    open_world(&w);
    tl_table *t = create(&w, "upsert", "position"), *out;
    append_well(&w, (row[]){{4, 10, 1}}, 1);
    tl_staged staged;
    tl_commit_result result;
    tl_error err = {{0}};
    assert_int_equal(stage(&w, t, (row[]){{4, 10, 2}}, 1, &staged), TL_OK);
    assert_int_equal(tl_commit_append(t, &staged, NULL, &result, &out, &err), TL_INTERNAL);
    tl_staged_free(&staged);
    tl_table_release(t);
    check(&w);
    tl_store_close(w.store);
}

/* Sets a policy as `alter` does. */
static tl_status set_policy(world *w, const char *policy, const char *deletes, tl_error *err) {
    tl_table *t = load(w), *out = NULL;
    const tl_property changes[] = {{"timelake.write-policy", policy}, {"timelake.delete-format", deletes}};
    int32_t n = deletes ? 2 : 1;
    tl_status status = strcmp(policy, "upsert") == 0 ? tl_upsert_switch_on(t, changes, n, NULL, &out, err)
                                                     : tl_commit_properties(t, changes, n, &out, err);
    tl_table_release(out);
    tl_table_release(t);
    return status;
}

static void switching_on_hides_the_copies_that_are_there(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        world w = {.with_ingest = true};
        char text[64];
        open_world(&w);
        tl_table_release(create(&w, "append", "position"));
        append_well(&w, (row[]){{4, 10, 1}, {NULL_KEY, 3, 1}, {NAN_KEY, 3, 1}}, 3);
        append_well(&w, (row[]){{4, 10, 2}, {NULL_KEY, 3, 0}, {NAN_KEY, 3, 1}}, 3);
        assert_int_equal(set_policy(&w, "upsert", form ? "dv" : NULL, NULL), TL_OK);
        check(&w);
        tl_table *t = load(&w);
        assert_string_equal(tl_metadata_property(&t->metadata, "timelake.format-version"), "0.4.0");
        assert_int_equal(t->metadata.format_version, form ? 3 : 2);
        assert_true(t->contract.upsert);
        tl_rows newest = {0};
        assert_int_equal(tl_last_values_load(t, tl_metadata_current(&t->metadata), &newest, NULL), TL_OK);
        assert_int_equal(newest.n_rows, 3); /* the index goes on */
        tl_rows_free(&newest);
        int64_t version = t->version;
        tl_table_release(t);
        assert_string_equal(summary_of(&w, "operation", text), "delete");
        append_well(&w, (row[]){{4, 10, 3}, {NAN_KEY, 3, 3}}, 2);
        check(&w);
        assert_int_equal(set_policy(&w, "upsert", NULL, NULL), TL_OK); /* again: nothing to clean */
        t = load(&w);
        assert_int_equal(t->version, version + 2);
        tl_table_release(t);
        assert_int_equal(set_policy(&w, "append", NULL, NULL), TL_OK); /* back: copies appear again */
        append_well(&w, (row[]){{4, 10, 4}}, 1);
        assert_string_equal(summary_of(&w, TL_ONE_COPY_SUMMARY, text), "none");
        assert_int_equal(set_policy(&w, "upsert", NULL, NULL), TL_OK);
        check(&w);
        tl_store_close(w.store);
    }
}

static void a_table_without_keys_cannot_have_the_policy_nor_v3_go_back(void **state) {
    (void)state;
    world w = {.with_ingest = false};
    open_world(&w);
    static tl_field fields[] = {{.id = 1, .name = "v", .type = {.id = TL_TYPE_LONG}}};
    const tl_schema schema = {.n_fields = 1, .fields = fields};
    const tl_property policy = {"write-policy", "upsert"};
    tl_create_options o = {.schema = &schema, .dedup = -1, .properties = &policy, .n_properties = 1};
    tl_table *t;
    tl_error err = {{0}};
    assert_int_equal(tl_table_create(w.store, "default", "plain", &o, &t, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "needs keys"));
    tl_table_release(create(&w, "upsert", "dv"));
    assert_int_equal(set_policy(&w, "upsert", "position", &err), TL_INVALID);
    assert_non_null(strstr(err.message, "cannot go back"));
    tl_store_close(w.store);
}

/* ---- rivals ---- */

typedef struct rival {
    world *w;
    const row *rows;
    int64_t n;
    bool compacts, done;
} rival;

static void rival_comes(void *ctx, const char *key) {
    (void)key;
    rival *r = ctx;
    if (r->done) {
        return;
    }
    r->done = true;
    if (r->compacts) {
        tl_table *t = load(r->w), *out = NULL;
        tl_compact_result result;
        tl_compact_options o = {.rewrite = true};
        assert_int_equal(tl_compact(t, &o, &result, &out, NULL), TL_OK);
        assert_true(result.commits > 0);
        tl_table_release(out);
        tl_table_release(t);
        return;
    }
    append_well(r->w, r->rows, r->n);
}

/* The rival commits just before the deciding put of `rows`. */
static void race(world *w, rival *r, const row *rows, int64_t n) {
    tl_fault_rule rule = {.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .before = rival_comes, .ctx = r};
    tl_table *t = load(w);
    tl_error err = {{0}};
    tl_faulty_script(w->store, &rule, 1);
    int64_t first = w->next_v; /* staged before the rival's, so its values come first */
    tl_staged staged;
    tl_table *out = NULL;
    tl_commit_result result;
    tl_delete_lookup lookup = tl_upsert_lookup(NULL);
    tl_commit_options o = {.lookup = &lookup};
    assert_int_equal(stage(w, t, rows, n, &staged), TL_OK);
    w->next_v += n;
    if (tl_commit_append(t, &staged, &o, &result, &out, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(r->done);
    assert_int_equal(result.attempts, 2);
    tl_faulty_script(w->store, NULL, 0);
    int64_t next = w->next_v;
    w->next_v = first;
    into_model(w, rows, n); /* last in commit order */
    w->next_v = next;
    tl_staged_free(&staged);
    tl_table_release(out);
    tl_table_release(t);
}

static void racing_writers_of_one_key_leave_one_row(void **state) {
    (void)state;
    const int64_t ingests[] = {1, 2, 3}; /* the rival's is 2: before, equal, after */
    for (int form = 0; form < 2; form++) {
        for (size_t i = 0; i < TL_COUNT(ingests); i++) {
            world w = {.with_ingest = true};
            open_world(&w);
            tl_table_release(create(&w, "upsert", form ? "dv" : "position"));
            append_well(&w, (row[]){{4, 10, 1}, {4, 11, 1}, {NULL_KEY, 11, 1}}, 3);
            const row theirs[] = {{4, 10, 2}, {NULL_KEY, 11, 2}}, ours[] = {{4, 10, ingests[i]}, {5, 2, 1}};
            rival r = {.w = &w, .rows = theirs, .n = 2};
            race(&w, &r, ours, 2);
            check(&w);
            tl_store_close(w.store);
        }
    }
}

static void a_compaction_that_takes_the_target_away_is_looked_past(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        world w = {.with_ingest = true};
        open_world(&w);
        tl_table_release(create(&w, "upsert", form ? "dv" : "position"));
        append_well(&w, (row[]){{4, 10, 1}, {4, 11, 1}}, 2);
        append_well(&w, (row[]){{4, 10, 2}, {5, 11, 2}}, 2);
        rival r = {.w = &w, .compacts = true};
        race(&w, &r, (row[]){{4, 10, 3}, {4, 11, 0}}, 2);
        check(&w);
        tl_store_close(w.store);
    }
}

/* The append comes between planning and committing a replacement of the files it deletes from. */
static void a_replacement_of_files_that_got_deletes_conflicts(void **state) {
    (void)state;
    world w = {.with_ingest = true};
    open_world(&w);
    tl_table *t = create(&w, "upsert", "position"), *out = NULL;
    append_well(&w, (row[]){{4, 10, 1}, {4, 11, 1}}, 2);
    tl_table_release(t);
    t = load(&w);
    tl_live_files planned;
    assert_int_equal(tl_table_files(t, NULL, &planned, NULL), TL_OK);
    append_well(&w, (row[]){{4, 10, 2}}, 1);
    const int64_t removed[] = {0};
    tl_replace_options o = {.planned = &planned, .removed = removed, .n_removed = 1};
    tl_commit_result result;
    assert_int_equal(tl_commit_replace(t, NULL, &o, &result, &out, NULL), TL_CONFLICT);
    check(&w);
    tl_live_files_free(&planned);
    tl_table_release(t);
    tl_store_close(w.store);
}

/* ---- faults ---- */

/* Delete files in the store that no live file list names, now or in any kept snapshot. */
static tl_status count_delete_objects(void *ctx, const tl_object_info *o, tl_error *err) {
    (void)err;
    *(int *)ctx += strstr(o->key, "-deletes.") != NULL;
    return TL_OK;
}

static int delete_objects(world *w) {
    int n = 0;
    assert_int_equal(tl_store_list(w->store, "default/r", true, count_delete_objects, &n, NULL), TL_OK);
    return n;
}

static void fill_world(world *w, const char *form) {
    *w = (world){.with_ingest = true};
    open_world(w);
    tl_table_release(create(w, "upsert", form));
    append_well(w, (row[]){{4, 10, 1}, {4, 11, 1}, {NAN_KEY, 3, 1}}, 3);
    append_well(w, (row[]){{4, 10, 2}, {5, 11, 2}}, 2);
}

static void every_fault_at_every_operation_leaves_one_row_per_key(void **state) {
    (void)state;
    const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_LATE,     TL_FAULT_EXISTS,
                               TL_FAULT_NO_SPACE,   TL_FAULT_IO,          TL_FAULT_NO_MEMORY};
    const row rows[] = {{4, 10, 3}, {4, 11, 3}, {NAN_KEY, 3, 0}, {5, 12, 3}};
    int unknown = 0, failed = 0;
    for (size_t f = 0; f < 4 * TL_COUNT(faults); f++) {
        for (uint64_t n = 1;; n++) {
            world w;
            fill_world(&w, f % 2 ? "dv" : "position");
            int before = delete_objects(&w);
            tl_table *t = load(&w), *out = NULL;
            tl_staged staged;
            assert_int_equal(stage(&w, t, rows, TL_COUNT(rows), &staged), TL_OK);
            tl_fault_rule rule = {
                .ops = TL_OP_ANY, .nth = n, .times = f % 4 < 2 ? 1 : 40, .fault = faults[f / 4], .late = 2};
            tl_faulty_script(w.store, &rule, 1);
            tl_delete_lookup lookup = tl_upsert_lookup(NULL);
            tl_commit_options o = {.lookup = &lookup, .batch_id = "b", .max_attempts = 4};
            tl_commit_result result;
            tl_status status = tl_commit_append(t, &staged, &o, &result, &out, NULL);
            bool struck = tl_faulty_count(w.store) >= n;
            tl_faulty_script(w.store, NULL, 0);
            tl_faulty_deliver(w.store);
            unknown += status == TL_UNKNOWN;
            failed += status != TL_OK && status != TL_UNKNOWN;
            if (status == TL_UNKNOWN) { /* the same batch again makes it certain */
                tl_staged again;
                tl_table_release(out);
                out = NULL;
                assert_int_equal(stage(&w, t, rows, TL_COUNT(rows), &again), TL_OK);
                assert_int_equal(tl_commit_append(t, &again, &o, &result, &out, NULL), TL_OK);
                tl_staged_free(&again);
                status = TL_OK;
            }
            if (status == TL_OK) {
                into_model(&w, rows, TL_COUNT(rows));
            } else if (rule.times == 1 && faults[f / 4] != TL_FAULT_LATE) {
                assert_int_equal(delete_objects(&w), before); /* what was staged is gone */
            }
            check(&w);
            append_well(&w, (row[]){{4, 10, 4}, {4, 13, 4}}, 2); /* and life goes on */
            check(&w);
            tl_staged_free(&staged);
            tl_table_release(out);
            tl_table_release(t);
            tl_store_close(w.store);
            if (!struck) {
                break;
            }
        }
    }
    assert_true(unknown > 0 && failed > 0);
}

static void no_failed_allocation_leaks_or_loses(void **state) {
    (void)state;
    const row rows[] = {{4, 10, 3}, {NAN_KEY, 3, 0}, {5, 12, 3}};
    for (int form = 0; form < 2; form++) {
        for (uint64_t n = 1;; n += 1 + n / 64) {
            world w;
            fill_world(&w, form ? "dv" : "position");
            int before = delete_objects(&w);
            tl_table *t = load(&w), *out = NULL;
            tl_staged staged;
            assert_int_equal(stage(&w, t, rows, TL_COUNT(rows), &staged), TL_OK);
            tl_delete_lookup lookup = tl_upsert_lookup(NULL);
            tl_commit_options o = {.lookup = &lookup};
            tl_commit_result result;
            (void)tl_mem_fail_at(n);
            tl_status status = tl_commit_append(t, &staged, &o, &result, &out, NULL);
            uint64_t made = tl_mem_fail_at(0);
            assert_true(status == TL_OK || status == TL_NO_MEMORY);
            if (status == TL_OK) {
                into_model(&w, rows, TL_COUNT(rows));
            } else {
                assert_int_equal(delete_objects(&w), before);
            }
            check(&w);
            tl_staged_free(&staged);
            tl_table_release(out);
            tl_table_release(t);
            tl_store_close(w.store);
            if (made < n) {
                assert_int_equal(status, TL_OK);
                break;
            }
        }
    }
}

/* ---- random walks ---- */

static int64_t random_rows(world *w, row *rows) {
    int64_t n = 1 + (int64_t)dice(w, MOST_ROWS);
    uint64_t wide = dice(w, 3) ? 6 : SLOTS, first = dice(w, SLOTS - wide + 1);
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (row){(int)dice(w, KEYS), (int)(first + dice(w, wide)), (int64_t)dice(w, 5)};
    }
    return n;
}

static void walk_step(world *w) {
    row rows[MOST_ROWS], theirs[MOST_ROWS];
    int64_t n = random_rows(w, rows);
    uint64_t kind = dice(w, 12);
    if (kind < 8) {
        append_well(w, rows, n);
    } else if (kind < 10) {
        int64_t n_theirs = random_rows(w, theirs);
        rival r = {.w = w, .rows = theirs, .n = n_theirs};
        race(w, &r, rows, n);
    } else if (kind == 10) {
        tl_table *t = load(w), *out = NULL;
        tl_compact_result result;
        tl_compact_options o = {.rewrite = dice(w, 2)};
        assert_int_equal(tl_compact(t, &o, &result, &out, NULL), TL_OK);
        tl_table_release(out);
        tl_table_release(t);
    } else { /* some appends without the policy, then on again */
        assert_int_equal(set_policy(w, "append", NULL, NULL), TL_OK);
        append_well(w, rows, n);
        append_well(w, theirs, random_rows(w, theirs));
        bool vectors = dice(w, 3) == 0;
        assert_int_equal(set_policy(w, "upsert", vectors ? "dv" : NULL, NULL), TL_OK);
    }
}

static void walk(uint64_t seed) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = seed;
    w->with_ingest = dice(w, 3) > 0;
    open_world(w);
    tl_table_release(create(w, "upsert", dice(w, 2) ? "dv" : "position"));
    append_well(w, (row[]){{4, 10, 1}}, 1);
    const char *steps = getenv("TL_STEPS");
    int n = steps ? atoi(steps) : 40;
    for (w->step = 1; w->step <= n; w->step++) {
        walk_step(w);
        check(w);
    }
    tl_store_close(w->store);
    free(w);
}

static void engines_see_the_last_write_of_each_key_all_along_a_random_walk(void **state) {
    (void)state;
    const char *text = getenv("TL_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 20261130;
    for (uint64_t i = 0; i < (text ? 1 : 12); i++) {
        print_message("TL_SEED=%llu\n", (unsigned long long)(seed + i));
        walk(seed + i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_order_write_no_deletes_and_late_ones_delete_what_they_replace),
        cmocka_unit_test(a_caller_that_does_not_look_for_copies_is_refused),
        cmocka_unit_test(switching_on_hides_the_copies_that_are_there),
        cmocka_unit_test(a_table_without_keys_cannot_have_the_policy_nor_v3_go_back),
        cmocka_unit_test(racing_writers_of_one_key_leave_one_row),
        cmocka_unit_test(a_compaction_that_takes_the_target_away_is_looked_past),
        cmocka_unit_test(a_replacement_of_files_that_got_deletes_conflicts),
        cmocka_unit_test(every_fault_at_every_operation_leaves_one_row_per_key),
        cmocka_unit_test(no_failed_allocation_leaks_or_loses),
        cmocka_unit_test(engines_see_the_last_write_of_each_key_all_along_a_random_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
