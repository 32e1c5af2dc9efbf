/*
 * A random walk over commits against a model: appends with and without batch ids, from fresh and stale handles,
 * repeats, rollbacks, settings, expiry by another program, lost replies, failing stores, power losses. After every step
 * what is in the table is what the model says: acknowledged rows are there once, others are not. commit_walk_test [SEED
 * [STEPS]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "commit/commit.h"
#include "commit/commit_internal.h"
#include "store/faulty.h"

enum { FILES = 4000, SNAPSHOTS = 4000, HANDLES = 3 };

static uint64_t seed = 20261129;
static int steps = 400;

static uint64_t dice(uint64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* What a snapshot holds: files are numbered, file i belongs to batch batch_of[i] (0 = none). */
typedef struct model_snapshot {
    int64_t id;
    int n;
    int files[FILES];
} model_snapshot;

typedef struct world {
    tl_env_fixed clock;
    tl_env env;
    tl_store *store;
    tl_table *handles[HANDLES];
    model_snapshot *current; /* NULL = empty */
    model_snapshot *kept[SNAPSHOTS];
    int n_kept;
    int next_file, next_batch;
    int batch_of[FILES];
} world;

static tl_field fields[] = {{.id = 1, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
                            {.id = 2, .name = "v", .type = {.id = TL_TYPE_DOUBLE}}};
static const tl_schema schema = {.n_fields = 2, .fields = fields};

static void stage(tl_store *s, int number, tl_staged *out) {
    *out = (tl_staged){.n_files = 1, .rows = 1, .rows_in = 1, .bytes = 1};
    tl_arena *a = &out->arena;
    char *key = tl_arena_format(a, "default/r/data/f-%d.parquet", number), *uri = tl_store_uri(s, key);
    int32_t *day = tl_arena_array(a, 1, sizeof *day);
    tl_partition_value *p = tl_arena_array(a, 1, sizeof *p);
    out->files = tl_arena_array(a, 1, sizeof *out->files);
    out->keys = tl_arena_array(a, 1, sizeof *out->keys);
    p->value = (tl_bytes){(uint8_t *)day, 4};
    out->keys[0] = key;
    out->files[0] = (tl_data_file){.path = tl_arena_strdup(a, uri),
                                   .format = "PARQUET",
                                   .partition = p,
                                   .n_partition = 1,
                                   .record_count = 1,
                                   .file_size = 1,
                                   .sort_order_id = 1,
                                   .content_offset = -1,
                                   .content_size = -1};
    tl_free(uri);
    assert_int_equal(tl_store_put(s, key, tl_bytes_of("x"), TL_PUT_LATER, NULL), TL_OK);
}

static bool model_has_batch(const world *w, int batch) {
    for (int i = 0; w->current && i < w->current->n; i++) {
        if (w->batch_of[w->current->files[i]] == batch) {
            return true;
        }
    }
    return false;
}

static void model_add(world *w, int64_t id, int file) {
    model_snapshot *s = malloc(sizeof *s);
    assert_non_null(s);
    if (w->current) {
        memcpy(s, w->current, sizeof *s);
    } else {
        s->n = 0;
    }
    s->id = id;
    s->files[s->n++] = file;
    assert_true(w->n_kept < SNAPSHOTS);
    w->kept[w->n_kept++] = s;
    w->current = s;
}

static void check(world *w) {
    tl_table *t;
    tl_live_files files;
    tl_error err = {{0}};
    static bool there[FILES];
    if (tl_table_load(w->store, "default", "r", &t, &err) != TL_OK || tl_table_files(t, NULL, &files, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    memset(there, 0, sizeof there);
    for (int64_t i = 0; i < files.n_data; i++) {
        int number = -1;
        assert_int_equal(sscanf(files.data[i].key, "default/r/data/f-%d.parquet", &number), 1);
        assert_false(there[number]);
        there[number] = true;
        if (!tl_store_exists(w->store, files.data[i].key)) {
            fail_msg("file %d is named, but gone", number);
        }
    }
    int want = w->current ? w->current->n : 0;
    for (int i = 0; i < want; i++) {
        if (!there[w->current->files[i]]) {
            fail_msg("acknowledged file %d is not in the table", w->current->files[i]);
        }
    }
    assert_int_equal(files.n_data, want);
    if (w->current) {
        assert_true(t->metadata.current_snapshot_id == w->current->id);
    }
    tl_live_files_free(&files);
    tl_table_release(t);
}

/* Random trouble for the next operations. */
static void make_trouble(world *w) {
    static const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_LATE,     TL_FAULT_EXISTS,
                                      TL_FAULT_NO_SPACE,   TL_FAULT_IO,          TL_FAULT_NO_MEMORY};
    tl_fault_rule rules[3];
    size_t n = (size_t)dice(4);
    for (size_t i = 0; i < n && i < 3; i++) {
        rules[i] = (tl_fault_rule){.ops = dice(3) ? TL_OP_ANY : TL_OP_PUT_IF_ABSENT,
                                   .nth = 1 + dice(30),
                                   .times = 1 + dice(3),
                                   .fault = faults[dice(TL_COUNT(faults))],
                                   .late = 1 + dice(5)};
    }
    tl_faulty_script(w->store, rules, n < 3 ? n : 3);
}

static void take_handle(world *w, int h, tl_table *t) {
    tl_table_release(w->handles[h]);
    w->handles[h] = t;
}

static void append(world *w) {
    int h = (int)dice(HANDLES), file = w->next_file++, batch = 0;
    if (dice(2)) {
        batch = w->next_batch > 1 && dice(4) == 0 ? 1 + (int)dice((uint64_t)w->next_batch - 1) : w->next_batch++;
    }
    w->batch_of[file] = batch;
    char id[32];
    (void)snprintf(id, sizeof id, "batch %d", batch);
    bool expected_duplicate = batch && model_has_batch(w, batch);
    for (int turn = 0;; turn++) {
        tl_staged staged;
        tl_commit_result r;
        tl_table *out = NULL;
        tl_error err = {{0}};
        stage(w->store, file, &staged);
        if (turn == 0) {
            make_trouble(w);
        }
        tl_commit_options o = {.batch_id = batch ? id : NULL, .max_attempts = 5};
        tl_status status = tl_commit_append(w->handles[h], &staged, &o, &r, &out, &err);
        tl_faulty_script(w->store, NULL, 0);
        tl_faulty_deliver(w->store);
        tl_staged_free(&staged);
        if (status == TL_OK) {
            assert_int_equal(r.duplicate, expected_duplicate);
            if (!r.duplicate) {
                model_add(w, r.snapshot_id, file);
            }
            take_handle(w, h, out);
            return;
        }
        if (status != TL_UNKNOWN) {
            return; /* definitely not there: `check` sees to it */
        }
        /* Not known: look which it was, as a person would, and repeat if it was not. */
        tl_table *t;
        tl_live_files files;
        assert_int_equal(tl_table_load(w->store, "default", "r", &t, NULL), TL_OK);
        assert_int_equal(tl_table_files(t, NULL, &files, NULL), TL_OK);
        bool landed = files.n_data > (w->current ? w->current->n : 0);
        tl_live_files_free(&files);
        if (landed) {
            model_add(w, t->metadata.current_snapshot_id, file);
        }
        tl_table_release(t);
        if (landed) {
            return;
        }
        assert_int_equal(turn, 0);
        file = w->next_file++;
        w->batch_of[file] = batch;
    }
}

static void roll_back(world *w) {
    if (w->n_kept == 0) {
        return;
    }
    model_snapshot *to = w->kept[dice((uint64_t)w->n_kept)];
    int h = (int)dice(HANDLES);
    tl_table *out;
    tl_error err = {{0}};
    if (tl_commit_rollback(w->handles[h], to->id, &out, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    w->current = to;
    take_handle(w, h, out);
}

static void set_property(world *w) {
    char text[32];
    int h = (int)dice(HANDLES);
    tl_table *out;
    (void)snprintf(text, sizeof text, "%d", (int)dice(3));
    tl_property p = {"owner", dice(3) ? text : NULL};
    assert_int_equal(tl_commit_properties(w->handles[h], &p, 1, &out, NULL), TL_OK);
    take_handle(w, h, out);
}

/* Another program forgets all snapshots but the current one; batch ids must not be forgotten with them. */
static void expire(world *w) {
    tl_table *t, *out;
    tl_next next;
    if (!w->current) {
        return;
    }
    assert_int_equal(tl_table_load(w->store, "default", "r", &t, NULL), TL_OK);
    assert_int_equal(tl_commit_next(t, &next, NULL), TL_OK);
    tl_metadata *m = &next.metadata;
    const tl_snapshot current = *tl_metadata_current(m);
    m->snapshots[0] = current;
    m->n_snapshots = 1;
    m->snapshot_log[0] = m->snapshot_log[m->n_snapshot_log - 1];
    m->n_snapshot_log = 1;
    assert_int_equal(tl_commit_put_version(t, &next, -1, false, &out, NULL), TL_OK);
    tl_table_release(out);
    tl_table_release(t);
    w->kept[0] = w->current;
    w->n_kept = 1;
}

static void lose_power(world *w) {
    tl_faulty_power_cut(w->store);
    for (int h = 0; h < HANDLES; h++) {
        tl_table *t;
        assert_int_equal(tl_table_load(w->store, "default", "r", &t, NULL), TL_OK);
        take_handle(w, h, t);
    }
}

static void break_hint(world *w) {
    static const char *const texts[] = {"", "1", "99999", "x", "-3"};
    assert_int_equal(
        tl_store_put(w->store, "default/r/metadata/version-hint.text", tl_bytes_of(texts[dice(5)]), TL_PUT_LATER, NULL),
        TL_OK);
}

static void a_random_walk_keeps_what_was_acknowledged(void **state) {
    (void)state;
    print_message("seed %llu, %d steps\n", (unsigned long long)seed, steps);
    static world w;
    static model_snapshot *all[SNAPSHOTS];
    int n_all = 0;
    w.clock = (tl_env_fixed){.seed = seed, .clock_us = 1767225600000000, .step_us = 100};
    w.env = tl_env_seeded(&w.clock);
    w.next_batch = 1;
    tl_store *memory;
    assert_int_equal(tl_store_open("memory://", false, &w.env, &memory, NULL), TL_OK);
    assert_int_equal(tl_faulty_open(memory, &w.store, NULL), TL_OK);
    tl_create_options o = {.schema = &schema, .time_column = "ts", .dedup = -1};
    assert_int_equal(tl_table_create(w.store, "default", "r", &o, &w.handles[0], NULL), TL_OK);
    for (int h = 1; h < HANDLES; h++) {
        w.handles[h] = tl_table_retain(w.handles[0]);
    }
    for (int i = 0; i < steps; i++) {
        model_snapshot *before = w.current;
        switch (dice(20)) {
        case 0: roll_back(&w); break;
        case 1: set_property(&w); break;
        case 2: lose_power(&w); break;
        case 3: break_hint(&w); break;
        case 4:
            if (dice(4) == 0) {
                expire(&w);
            }
            break;
        default: append(&w); break;
        }
        if (w.current != before && w.current && w.n_kept && w.kept[w.n_kept - 1] == w.current) {
            bool known = false;
            for (int k = 0; k < n_all; k++) {
                known = known || all[k] == w.current;
            }
            if (!known) {
                all[n_all++] = w.current;
            }
        }
        check(&w);
    }
    for (int h = 0; h < HANDLES; h++) {
        tl_table_release(w.handles[h]);
    }
    tl_store_close(w.store);
    for (int k = 0; k < n_all; k++) {
        free(all[k]);
    }
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : steps;
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_random_walk_keeps_what_was_acknowledged)};
    return cmocka_run_group_tests_name("commit walk", tests, NULL, NULL);
}
