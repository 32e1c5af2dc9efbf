/*
 * Tests of commits: races, every fault at every store operation against a model, power loss, failed allocations,
 * duplicates, rollback, properties, manifests, the last-value index, tables of other writers.
 *
 * Staged files are made by hand: file number i is an object of one byte, data/f-<i>.parquet, said to hold one row.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "commit/batch_ids.h"
#include "commit/commit.h"
#include "commit/commit_internal.h"
#include "commit/touched.h"
#include "store/faulty.h"
#include "table/last_index.h"

/* ---- a table ---- */

static tl_field fields[] = {
    {.id = 1, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    {.id = 2, .name = "series", .type = {.id = TL_TYPE_LONG}},
    {.id = 3, .name = "v", .type = {.id = TL_TYPE_DOUBLE}},
};
static const tl_schema schema = {.n_fields = 3, .fields = fields};
static const char *const key_columns[] = {"series"};

static tl_table *create(tl_store *s) {
    tl_create_options o = {
        .schema = &schema, .time_column = "ts", .series_key = key_columns, .n_series_key = 1, .dedup = -1};
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_create(s, "default", "r", &o, &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

static tl_table *load(tl_store *s) {
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_load(s, "default", "r", &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

/* Seeded, so that waiting costs no time. */
static tl_store *open_memory(void) {
    static tl_env_fixed world = {.seed = 1, .clock_us = 1767225600000000, .step_us = 10};
    static tl_env env;
    env = tl_env_seeded(&world);
    tl_store *s;
    assert_int_equal(tl_store_open("memory://", false, &env, &s, NULL), TL_OK);
    return s;
}

static tl_store *open_faulty(void) {
    tl_store *s;
    assert_int_equal(tl_faulty_open(open_memory(), &s, NULL), TL_OK);
    return s;
}

/* ---- staged files ---- */

/* False when the store or memory fails. */
static bool stage(tl_store *s, int number, tl_staged *out) {
    *out = (tl_staged){.n_files = 1, .rows = 1, .rows_in = 1, .bytes = 1, .n_touched = 1};
    tl_arena *a = &out->arena;
    char *key = tl_arena_format(a, "default/r/data/f-%d.parquet", number);
    char *uri = key ? tl_store_uri(s, key) : NULL;
    out->files = tl_arena_array(a, 1, sizeof *out->files);
    out->keys = tl_arena_array(a, 1, sizeof *out->keys);
    out->touched = tl_arena_array(a, 1, sizeof *out->touched);
    tl_partition_value *p = tl_arena_array(a, 1, sizeof *p);
    int32_t *day = tl_arena_array(a, 1, sizeof *day);
    int64_t *offsets = tl_arena_array(a, 1, sizeof *offsets);
    char *path = uri ? tl_arena_strdup(a, uri) : NULL;
    tl_free(uri);
    if (!path || !out->files || !out->keys || !out->touched || !p || !day || !offsets ||
        tl_store_put(s, key, tl_bytes_of("x"), TL_PUT_LATER, NULL) != TL_OK) {
        tl_staged_free(out);
        return false;
    }
    *day = number / 100;
    p->value = (tl_bytes){(uint8_t *)day, 4};
    offsets[0] = 4;
    out->touched[0] = (tl_touched){*day, *day * 86400000000LL, *day * 86400000000LL + number, 1};
    out->keys[0] = key;
    out->files[0] = (tl_data_file){.content = TL_CONTENT_DATA,
                                   .path = path,
                                   .format = "PARQUET",
                                   .partition = p,
                                   .n_partition = 1,
                                   .record_count = 1,
                                   .file_size = 1,
                                   .split_offsets = offsets,
                                   .n_split_offsets = 1,
                                   .sort_order_id = 1,
                                   .content_offset = -1,
                                   .content_size = -1};
    return true;
}

static tl_status commit(tl_table *base, int number, const char *batch_id, tl_commit_result *result, tl_table **out,
                        tl_error *err) {
    tl_staged staged;
    assert_true(stage(base->store, number, &staged));
    tl_commit_options o = {.batch_id = batch_id};
    tl_status status = tl_commit_append(base, &staged, &o, result, out, err);
    tl_staged_free(&staged);
    return status;
}

/* Commits and moves `*t` on. */
static void commit_well(tl_table **t, int number, const char *batch_id) {
    tl_commit_result r;
    tl_table *newer;
    tl_error err = {{0}};
    if (commit(*t, number, batch_id, &r, &newer, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_false(r.duplicate);
    assert_true(r.snapshot_id > 0);
    tl_table_release(*t);
    *t = newer;
}

/* ---- what is in the table ---- */

typedef struct contents {
    bool there[4000];
    int n;
} contents;

static int64_t total(const tl_snapshot *s, const char *key) {
    const char *text = tl_snapshot_summary(s, key);
    assert_non_null(text);
    return strtoll(text, NULL, 10);
}

/* Reads the newest version; checks that everything it names exists and that its counters are true. */
static void read_contents(tl_store *s, contents *out) {
    memset(out, 0, sizeof *out);
    tl_table *t = load(s);
    tl_live_files files;
    tl_error err = {{0}};
    if (tl_table_files(t, NULL, &files, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    for (int64_t i = 0; i < files.n_data; i++) {
        int number = -1;
        assert_int_equal(sscanf(files.data[i].key, "default/r/data/f-%d.parquet", &number), 1);
        assert_true(number >= 0 && number < 4000);
        assert_false(out->there[number]);
        out->there[number] = true;
        assert_true(tl_store_exists(s, files.data[i].key));
        out->n++;
    }
    const tl_snapshot *current = tl_metadata_current(&t->metadata);
    if (current) {
        assert_int_equal(total(current, "total-data-files"), files.n_data);
        assert_int_equal(total(current, "total-records"), files.n_data);
        assert_int_equal(total(current, "total-files-size"), files.n_data);
        assert_int_equal(total(current, "total-delete-files"), 0);
    }
    tl_live_files_free(&files);
    tl_table_release(t);
}

static tl_status count_data(void *ctx, const tl_object_info *o, tl_error *err) {
    (void)err;
    *(int *)ctx += strstr(o->key, "/data/") != NULL;
    return TL_OK;
}

static int data_objects(tl_store *s) {
    int n = 0;
    assert_int_equal(tl_store_list(s, "default/r", true, count_data, &n, NULL), TL_OK);
    return n;
}

static tl_status count_metadata(void *ctx, const tl_object_info *o, tl_error *err) {
    (void)err;
    *(int *)ctx += strstr(o->key, ".avro") || strstr(o->key, "lvi-");
    return TL_OK;
}

static int metadata_objects(tl_store *s) {
    int n = 0;
    assert_int_equal(tl_store_list(s, "default/r/metadata", false, count_metadata, &n, NULL), TL_OK);
    return n;
}

/* ---- plain commits ---- */

static void appends_add_up_and_say_what_they_did(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s);
    for (int i = 0; i < 30; i++) {
        commit_well(&t, i, NULL);
        assert_int_equal(t->version, i + 2);
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, i + 1);
        assert_true(c.there[i]);
    }
    const tl_metadata *m = &t->metadata;
    const tl_snapshot *now = tl_metadata_current(m);
    assert_int_equal(now->sequence_number, 30);
    assert_int_equal(m->last_sequence_number, 30);
    assert_int_equal(m->n_snapshots, 30);
    assert_int_equal(m->n_metadata_log, 20);
    assert_string_equal(m->metadata_log[19].file, "memory://lake/default/r/metadata/v30.metadata.json");
    assert_string_equal(tl_snapshot_summary(now, "operation"), "append");
    assert_int_equal(total(now, "added-data-files"), 1);
    assert_int_equal(total(now, "added-records"), 1);
    assert_int_equal(total(now, "added-files-size"), 1);
    assert_null(tl_snapshot_summary(now, "deleted-data-files"));
    assert_string_equal(tl_snapshot_summary(now, TL_TOUCHED_SUMMARY), "0:0:0:29");
    assert_null(tl_metadata_property(m, TL_BATCH_IDS_PROPERTY));
    tl_buf hint = {0};
    assert_int_equal(tl_store_get(s, "default/r/metadata/version-hint.text", &hint, NULL), TL_OK);
    assert_int_equal(hint.len, 2);
    assert_memory_equal(hint.data, "31", 2);
    tl_buf_free(&hint);
    /* parents form a chain, times do not go back */
    for (const tl_snapshot *p = now; p->parent_id != -1;) {
        const tl_snapshot *parent = tl_metadata_snapshot(m, p->parent_id);
        assert_non_null(parent);
        assert_true(parent->timestamp_ms <= p->timestamp_ms);
        p = parent;
    }
    tl_table_release(t);
    tl_store_close(s);
}

static void an_old_handle_commits_on_top_of_the_newest_version(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *old = tl_table_retain(t);
    commit_well(&t, 0, NULL);
    commit_well(&t, 1, NULL);
    commit_well(&old, 2, NULL);
    assert_int_equal(old->version, 4);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 3);
    tl_table_release(old);
    tl_table_release(t);
    tl_store_close(s);
}

static void nothing_staged_writes_nothing(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    tl_staged empty = {0};
    tl_commit_result r;
    assert_int_equal(tl_commit_append(t, &empty, NULL, &r, &out, NULL), TL_OK);
    assert_int_equal(r.version, 1);
    assert_int_equal(r.attempts, 0);
    assert_true(r.snapshot_id == -1);
    assert_ptr_equal(out, t);
    assert_int_equal(metadata_objects(s), 0);
    tl_table_release(out);
    tl_table_release(t);
    tl_store_close(s);
}

static void manifests_are_merged_and_stay_few(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s);
    int64_t most = 0;
    for (int i = 0; i < 150; i++) {
        commit_well(&t, i, NULL);
        tl_arena arena = {0};
        tl_manifest_file *list;
        int64_t n;
        assert_int_equal(tl_table_manifests(t, tl_metadata_current(&t->metadata), &arena, &list, &n, NULL), TL_OK);
        most = n > most ? n : most;
        if (i == 8) {
            assert_int_equal(n, 2);
        }
        tl_arena_free(&arena);
    }
    assert_true(most <= 3 * 8);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 150);
    tl_live_files files;
    assert_int_equal(tl_table_files(t, NULL, &files, NULL), TL_OK);
    for (int64_t i = 0; i < files.n_data; i++) { /* merging keeps whose commit a file is of */
        const tl_live_file *f = &files.data[i];
        const tl_snapshot *by = tl_metadata_snapshot(&t->metadata, f->snapshot_id);
        assert_non_null(by);
        assert_int_equal(f->sequence_number, by->sequence_number);
        assert_int_equal(f->file_sequence_number, by->sequence_number);
        char want[64];
        (void)snprintf(want, sizeof want, "default/r/data/f-%d.parquet", (int)f->sequence_number - 1);
        assert_string_equal(f->key, want);
    }
    tl_live_files_free(&files);
    tl_table_release(t);
    tl_store_close(s);
}

/* ---- batch ids ---- */

static void a_batch_id_counts_once(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    commit_well(&t, 0, "b1");
    commit_well(&t, 1, NULL);
    commit_well(&t, 2, "b2");
    tl_commit_result r;
    assert_int_equal(commit(t, 3, "b1", &r, &out, NULL), TL_OK);
    assert_true(r.duplicate);
    assert_true(r.snapshot_id == -1);
    assert_int_equal(r.version, 4);
    tl_table_release(out);
    bool found;
    assert_int_equal(tl_commit_find_batch(t, "b2", &found, NULL), TL_OK);
    assert_true(found);
    assert_int_equal(tl_commit_find_batch(t, "b3", &found, NULL), TL_OK);
    assert_false(found);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 3);
    assert_int_equal(data_objects(s), 3); /* the duplicate's file is gone */
    tl_table_release(t);
    tl_store_close(s);
}

/* Writes the next version with a change of the metadata, as another program would. */
static void write_version(tl_table **t, void (*change)(tl_metadata *m)) {
    tl_next next;
    tl_table *newer;
    assert_int_equal(tl_commit_next(*t, &next, NULL), TL_OK);
    change(&next.metadata);
    assert_int_equal(tl_commit_put_version(*t, &next, -1, true, &newer, NULL), TL_OK);
    tl_table_release(*t);
    *t = newer;
}

/* Keeps the newest snapshot alone, as an expiry of another program: properties stay. */
static void expire(tl_metadata *m) {
    m->snapshots[0] = m->snapshots[m->n_snapshots - 1];
    m->n_snapshots = 1;
    m->snapshot_log[0] = m->snapshot_log[m->n_snapshot_log - 1];
    m->n_snapshot_log = 1;
}

static void batch_ids_survive_the_expiry_of_their_snapshots(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    char id[32];
    bool found;
    for (int i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof id, "batch %d \xc3\xbc", i);
        commit_well(&t, i, i % 3 ? id : NULL);
        if (i % 10 == 9) {
            write_version(&t, expire);
        }
    }
    assert_int_equal(t->metadata.n_snapshots, 1);
    for (int i = 0; i < 45; i++) {
        (void)snprintf(id, sizeof id, "batch %d \xc3\xbc", i);
        assert_int_equal(tl_commit_find_batch(t, id, &found, NULL), TL_OK);
        assert_int_equal(found, i < 40 && i % 3);
    }
    tl_commit_result r;
    assert_int_equal(commit(t, 50, "batch 1 \xc3\xbc", &r, &out, NULL), TL_OK);
    assert_true(r.duplicate);
    tl_table_release(out);
    tl_table_release(t);
    tl_store_close(s);
}

static void only_the_newest_batch_ids_are_kept(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    tl_property keep = {"timelake.keep-batch-ids", "5"};
    assert_int_equal(tl_commit_properties(t, &keep, 1, &out, NULL), TL_OK);
    tl_table_release(t);
    t = out;
    char id[32];
    for (int i = 0; i < 12; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        commit_well(&t, i, id);
    }
    write_version(&t, expire);
    for (int i = 0; i < 12; i++) {
        bool found;
        (void)snprintf(id, sizeof id, "%d", i);
        assert_int_equal(tl_commit_find_batch(t, id, &found, NULL), TL_OK);
        assert_int_equal(found, i >= 7);
    }
    tl_table_release(t);
    tl_store_close(s);
}

static void batch_ids_of_abandoned_snapshots_may_be_used_again(void **state) {
    (void)state;
    for (int by_other = 0; by_other < 2; by_other++) {
        tl_store *s = open_memory();
        tl_table *t = create(s), *out;
        commit_well(&t, 0, "a");
        commit_well(&t, 1, "b");
        int64_t back_to = t->metadata.current_snapshot_id;
        commit_well(&t, 2, "c");
        commit_well(&t, 3, "d");
        if (by_other) { /* a program that does not know the property */
            tl_next next;
            assert_int_equal(tl_commit_next(t, &next, NULL), TL_OK);
            assert_int_equal(tl_metadata_set_current(&next.metadata, back_to, next.now_ms, NULL), TL_OK);
            assert_int_equal(tl_commit_put_version(t, &next, -1, true, &out, NULL), TL_OK);
        } else {
            assert_int_equal(tl_commit_rollback(t, back_to, &out, NULL), TL_OK);
        }
        tl_table_release(t);
        t = out;
        const char *ids[] = {"a", "b", "c", "d"};
        for (int i = 0; i < 4; i++) {
            bool found;
            assert_int_equal(tl_commit_find_batch(t, ids[i], &found, NULL), TL_OK);
            assert_int_equal(found, i < 2);
        }
        commit_well(&t, 4, "c");
        write_version(&t, expire);
        for (int i = 0; i < 4; i++) {
            bool found;
            assert_int_equal(tl_commit_find_batch(t, ids[i], &found, NULL), TL_OK);
            assert_int_equal(found, i < 3);
        }
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, 3);
        assert_true(c.there[4] && !c.there[2] && !c.there[3]);
        tl_table_release(t);
        tl_store_close(s);
    }
}

static void forget_property(tl_metadata *m) {
    assert_int_equal(tl_metadata_set_property(m, TL_BATCH_IDS_PROPERTY, NULL, NULL), TL_OK);
}

static void break_property(tl_metadata *m) {
    assert_int_equal(tl_metadata_set_property(m, TL_BATCH_IDS_PROPERTY, "1:2:A", NULL), TL_OK);
}

static void a_lost_or_broken_property_is_rebuilt_from_the_history(void **state) {
    (void)state;
    void (*const damages[])(tl_metadata *) = {forget_property, break_property};
    for (size_t d = 0; d < TL_COUNT(damages); d++) {
        tl_store *s = open_memory();
        tl_table *t = create(s);
        commit_well(&t, 0, "a");
        commit_well(&t, 1, "b");
        write_version(&t, damages[d]);
        bool found;
        assert_int_equal(tl_commit_find_batch(t, "a", &found, NULL), TL_OK);
        assert_true(found);
        commit_well(&t, 2, "c");
        write_version(&t, expire);
        const char *ids[] = {"a", "b", "c", "d"};
        for (int i = 0; i < 4; i++) {
            assert_int_equal(tl_commit_find_batch(t, ids[i], &found, NULL), TL_OK);
            assert_int_equal(found, i < 3);
        }
        tl_table_release(t);
        tl_store_close(s);
    }
}

static void hostile_batch_id_properties_are_harmless(void **state) {
    (void)state;
    const char *texts[] = {"",
                           "1:",
                           "1::",
                           "1:5:",
                           "2:5:AAAA",
                           "1:5:====",
                           "1:5:AAAAAAAAAAAAAAAA",
                           "1:99999999999999999999:AAAA",
                           "1:5://///////////////////",
                           "1:-7:AQAAAAAAAAAAAAA",
                           "1:1:fwAAAAAAAAAAAAA",
                           "x"};
    tl_store *s = open_memory();
    tl_table *t = create(s);
    commit_well(&t, 0, "a");
    for (size_t i = 0; i < TL_COUNT(texts); i++) {
        assert_int_equal(tl_metadata_set_property(&t->metadata, TL_BATCH_IDS_PROPERTY, texts[i], NULL), TL_OK);
        tl_batch_ids ids;
        assert_int_equal(tl_batch_ids_read(&t->metadata, &ids, NULL), TL_OK);
        tl_batch_ids_free(&ids);
        bool found;
        assert_int_equal(tl_commit_find_batch(t, "a", &found, NULL), TL_OK);
        assert_true(found);
    }
    tl_table_release(t);
    tl_store_close(s);
}

/* ---- faults ---- */

typedef struct rival {
    tl_table *t;
    int next;
    bool busy;
} rival;

/* Another writer commits at this very moment. */
static void rival_commits(void *ctx, const char *key) {
    (void)key;
    rival *r = ctx;
    if (!r->busy) {
        r->busy = true;
        commit_well(&r->t, r->next++, NULL);
        r->busy = false;
    }
}

static void a_rival_commit_at_any_moment_loses_nothing(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = open_faulty();
        tl_table *t = create(s);
        commit_well(&t, 0, NULL);
        rival r = {tl_table_retain(t), 100, false};
        tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .before = rival_commits, .ctx = &r};
        tl_faulty_script(s, &rule, 1);
        commit_well(&t, 1, "b");
        bool struck = r.next > 100;
        tl_faulty_script(s, NULL, 0);
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, struck ? 3 : 2);
        assert_true(c.there[0] && c.there[1] && c.there[100] == struck);
        tl_table_release(r.t);
        tl_table_release(t);
        tl_store_close(s);
        if (!struck) {
            assert_true(n > 10);
            break;
        }
    }
}

static void a_writer_that_loses_every_race_gives_up_cleanly(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s), *out;
    rival r = {tl_table_retain(t), 100, false};
    tl_fault_rule rule = {.ops = TL_OP_PUT_IF_ABSENT, .nth = 0, .before = rival_commits, .ctx = &r};
    tl_faulty_script(s, &rule, 1);
    tl_staged staged;
    assert_true(stage(s, 1, &staged));
    tl_commit_options o = {.max_attempts = 3};
    tl_commit_result result;
    tl_error err;
    assert_int_equal(tl_commit_append(t, &staged, &o, &result, &out, &err), TL_CONFLICT);
    assert_non_null(strstr(err.message, "gave up after 3 attempts"));
    assert_null(out);
    tl_faulty_script(s, NULL, 0);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 3);
    assert_int_equal(data_objects(s), 3);
    assert_int_equal(metadata_objects(s), 3 * 2); /* a manifest and a list for each rival's commit, nothing of ours */
    tl_staged_free(&staged);
    tl_table_release(r.t);
    tl_table_release(t);
    tl_store_close(s);
}

/* What must be true after a commit of file 10 that met a fault; `file` 11 is the retry's. */
static void check_outcome(tl_store *s, tl_table *t, tl_status status, tl_fault fault, uint64_t n) {
    contents c;
    read_contents(s, &c);
    assert_true(c.there[0] && c.there[1] && c.there[2]);
    if (status == TL_OK) {
        assert_true(c.there[10]);
        return;
    }
    if (status != TL_UNKNOWN) {
        if (c.there[10]) {
            fail_msg("fault %d at %d: failed with %d, but the rows are there", fault, (int)n, status);
        }
        return;
    }
    /* Unknown: the same batch again makes it exactly one. */
    tl_commit_result r;
    tl_table *out;
    tl_error err = {{0}};
    if (commit(t, 11, "b10", &r, &out, &err) != TL_OK) {
        fail_msg("fault %d at %d: %s", fault, (int)n, err.message);
    }
    tl_table_release(out);
    assert_int_equal(r.duplicate, c.there[10]);
    read_contents(s, &c);
    assert_int_equal(c.there[10] + c.there[11], 1);
}

static void every_fault_at_every_operation_has_a_true_outcome(void **state) {
    (void)state;
    const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_LATE,     TL_FAULT_EXISTS,
                               TL_FAULT_NO_SPACE,   TL_FAULT_IO,          TL_FAULT_NO_MEMORY};
    const uint64_t times[] = {1, 2, 40};
    int unknown = 0, failed = 0;
    for (size_t f = 0; f < TL_COUNT(faults); f++) {
        for (size_t k = 0; k < TL_COUNT(times); k++) {
            for (uint64_t n = 1;; n++) {
                tl_store *s = open_faulty();
                tl_table *t = create(s), *out = NULL;
                for (int i = 0; i < 3; i++) {
                    commit_well(&t, i, NULL);
                }
                tl_staged staged;
                assert_true(stage(s, 10, &staged));
                tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .times = times[k], .fault = faults[f], .late = 2};
                tl_faulty_script(s, &rule, 1);
                tl_commit_options o = {.batch_id = "b10", .max_attempts = 4};
                tl_commit_result r;
                tl_status status = tl_commit_append(t, &staged, &o, &r, &out, NULL);
                bool struck = tl_faulty_count(s) >= n;
                tl_faulty_script(s, NULL, 0);
                tl_faulty_deliver(s);
                unknown += status == TL_UNKNOWN;
                failed += status != TL_UNKNOWN && status != TL_OK;
                check_outcome(s, t, status, faults[f], n);
                tl_table *again = load(s); /* and life goes on */
                commit_well(&again, 20, NULL);
                tl_table_release(again);
                tl_staged_free(&staged);
                tl_table_release(out);
                tl_table_release(t);
                tl_store_close(s);
                if (!struck) {
                    break;
                }
            }
        }
    }
    assert_true(unknown > 0 && failed > 0);
}

static void a_lost_reply_of_the_deciding_put_is_settled(void **state) {
    (void)state;
    const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_LATE};
    for (size_t f = 0; f < TL_COUNT(faults); f++) {
        for (uint64_t late = 1; late < 8; late++) {
            tl_store *s = open_faulty();
            tl_table *t = create(s);
            tl_fault_rule rule = {.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .fault = faults[f], .late = late};
            tl_faulty_script(s, &rule, 1);
            commit_well(&t, 1, NULL); /* without a batch id: it must be told apart all the same */
            tl_faulty_deliver(s);
            contents c;
            read_contents(s, &c);
            assert_int_equal(c.n, 1);
            assert_int_equal(t->version, 2);
            assert_int_equal(t->metadata.n_snapshots, 1);
            tl_table_release(t);
            tl_store_close(s);
        }
    }
}

static void a_lost_reply_and_a_rival_that_builds_on_it(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s);
    rival r = {tl_table_retain(t), 100, false};
    /* Our put lands, its reply is lost, and two others commit on top before we look. */
    tl_fault_rule rules[] = {
        {.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .fault = TL_FAULT_LOST_AFTER},
        {.ops = TL_OP_GET, .key_part = "v2.", .nth = 1, .before = rival_commits, .ctx = &r},
    };
    tl_faulty_script(s, rules, 2);
    commit_well(&t, 1, NULL);
    tl_faulty_script(s, NULL, 0);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 2);
    assert_true(c.there[1] && c.there[100]);
    tl_table_release(r.t);
    tl_table_release(t);
    tl_store_close(s);
}

/* ---- a place that is dead ---- */

static void others_move_on(void *ctx, const char *key) {
    (void)key;
    rival *r = ctx;
    if (r->busy) {
        return;
    }
    r->busy = true;
    for (int i = 0; i < 30; i++) {
        commit_well(&r->t, r->next++, NULL);
    }
    for (int v = 1; v < 25; v++) { /* old versions are cleaned away, ours-to-be among them */
        char name[64];
        (void)snprintf(name, sizeof name, "default/r/metadata/v%d.metadata.json", v);
        assert_int_equal(tl_store_remove(r->t->store, name, NULL), TL_OK);
    }
}

static void a_writer_that_slept_does_not_commit_into_the_past(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s);
    rival r = {tl_table_retain(t), 100, false};
    tl_fault_rule rule = {.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .before = others_move_on, .ctx = &r};
    tl_faulty_script(s, &rule, 1);
    commit_well(&t, 1, NULL);
    tl_faulty_script(s, NULL, 0);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 31);
    assert_true(c.there[1]);
    assert_int_equal(t->version, 32);
    assert_false(tl_store_exists(s, "default/r/metadata/v2.metadata.json"));
    tl_table_release(r.t);
    tl_table_release(t);
    tl_store_close(s);
}

static void drop_table(void *ctx, const char *key) {
    (void)key;
    rival *r = ctx;
    if (!r->busy) {
        r->busy = true;
        assert_int_equal(tl_table_drop(r->t->store, "default", "r", NULL), TL_OK);
    }
}

static void a_table_dropped_at_any_moment_stays_dropped(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = open_faulty();
        tl_table *t = create(s), *out = NULL;
        commit_well(&t, 0, NULL);
        rival r = {t, 0, false};
        tl_staged staged;
        assert_true(stage(s, 10, &staged));
        tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .before = drop_table, .ctx = &r};
        tl_faulty_script(s, &rule, 1);
        tl_commit_result result;
        tl_status status = tl_commit_append(t, &staged, NULL, &result, &out, NULL);
        bool struck = r.busy;
        tl_faulty_script(s, NULL, 0);
        tl_table *again;
        tl_status there = tl_table_load(s, "default", "r", &again, NULL);
        if (struck && there == TL_OK) { /* dropped after the commit was decided, before its hint: still whole or gone */
            fail_msg("operation %d: the table is back", (int)n);
        }
        assert_true(struck || (status == TL_OK && there == TL_OK));
        tl_table_release(there == TL_OK ? again : NULL);
        tl_table_release(out);
        tl_staged_free(&staged);
        tl_table_release(t);
        tl_store_close(s);
        if (!struck) {
            break;
        }
    }
}

/* ---- power loss ---- */

static void what_was_acknowledged_survives_a_power_loss(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s);
    for (int i = 0; i < 20; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", i);
        commit_well(&t, i, id);
        tl_table_release(t);
        tl_faulty_power_cut(s);
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, i + 1);
        t = load(s);
        assert_int_equal(t->metadata.n_snapshots, i + 1);
    }
    tl_table_release(t);
    tl_store_close(s);
}

static void a_power_loss_at_any_operation_keeps_the_table_whole(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = open_faulty();
        tl_table *t = create(s), *out = NULL;
        commit_well(&t, 0, NULL);
        tl_staged staged;
        assert_true(stage(s, 10, &staged));
        /* From the n-th operation on nothing is done any more, also no cleaning up: the machine is off. */
        tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .times = 1000000, .fault = TL_FAULT_IO};
        tl_faulty_script(s, &rule, 1);
        tl_commit_result r;
        tl_status status = tl_commit_append(t, &staged, NULL, &r, &out, NULL);
        bool struck = tl_faulty_count(s) >= n;
        tl_faulty_script(s, NULL, 0);
        tl_faulty_power_cut(s);
        contents c;
        read_contents(s, &c);
        assert_true(c.there[0]);
        if (status == TL_OK) {
            assert_true(c.there[10]);
        }
        tl_staged_free(&staged);
        tl_table_release(out);
        tl_table_release(t);
        tl_store_close(s);
        if (!struck) {
            assert_int_equal(status, TL_OK);
            break;
        }
    }
}

/* ---- threads ---- */

enum { WRITERS = 8, COMMITS = 25 };

typedef struct writer {
    const char *location;
    int number;
    int lost_races;
    tl_status status;
    tl_error err;
} writer;

static void *write_many(void *arg) {
    writer *w = arg;
    tl_store *s;
    tl_table *t;
    w->status = tl_store_open(w->location, false, NULL, &s, &w->err);
    if (w->status != TL_OK) {
        return NULL;
    }
    w->status = tl_table_load(s, "default", "r", &t, &w->err);
    for (int i = 0; w->status == TL_OK && i < COMMITS; i++) {
        tl_staged staged;
        tl_commit_result r;
        tl_table *newer;
        if (!stage(s, w->number * 100 + i, &staged)) {
            w->status = TL_INTERNAL;
            break;
        }
        tl_commit_options o = {.no_sync = i % 5 != 0};
        w->status = tl_commit_append(t, &staged, &o, &r, &newer, &w->err);
        w->lost_races += r.attempts - 1;
        tl_staged_free(&staged);
        if (w->status == TL_OK) {
            tl_table_release(t);
            t = newer;
        }
    }
    tl_table_release(t);
    tl_store_close(s);
    return NULL;
}

static void race(const char *location) {
    tl_store *s;
    assert_int_equal(tl_store_open(location, true, NULL, &s, NULL), TL_OK);
    tl_table_release(create(s));
    writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.location = location, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
    }
    int lost = 0;
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (writers[i].status != TL_OK) {
            fail_msg("writer %d: %s", i, writers[i].err.message);
        }
        lost += writers[i].lost_races;
    }
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, WRITERS * COMMITS);
    assert_int_equal(data_objects(s), WRITERS * COMMITS);
    tl_table *t = load(s);
    assert_int_equal(t->version, 1 + WRITERS * COMMITS);
    assert_int_equal(t->metadata.last_sequence_number, WRITERS * COMMITS);
    print_message("%s: %d races lost\n", location, lost);
    tl_table_release(t);
    tl_store_close(s);
}

static void writers_race_in_memory_and_lose_nothing(void **state) {
    (void)state;
    race("memory://race");
}

static void writers_race_on_disk_and_lose_nothing(void **state) {
    (void)state;
    char dir[] = "/tmp/tl-commit-XXXXXX", command[64];
    assert_non_null(mkdtemp(dir));
    race(dir);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* ---- memory that ends ---- */

static void no_failed_allocation_leaks_or_loses(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = open_memory();
        tl_table *t = create(s), *out = NULL;
        for (int i = 0; i < 8; i++) { /* so that the next one merges manifests */
            commit_well(&t, i, NULL);
        }
        tl_staged staged;
        assert_true(stage(s, 10, &staged));
        tl_commit_options o = {.batch_id = "b"};
        tl_commit_result r;
        (void)tl_mem_fail_at(n);
        tl_status status = tl_commit_append(t, &staged, &o, &r, &out, NULL);
        uint64_t made = tl_mem_fail_at(0);
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, status == TL_OK ? 9 : 8);
        assert_true(status == TL_OK || status == TL_NO_MEMORY);
        tl_staged_free(&staged);
        tl_table_release(out);
        tl_table_release(t);
        tl_store_close(s);
        if (made < n) {
            assert_int_equal(status, TL_OK);
            break;
        }
    }
}

/* ---- properties and rollback ---- */

static void properties_change_and_race(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s), *out;
    rival r = {tl_table_retain(t), 100, false};
    tl_fault_rule rule = {.ops = TL_OP_PUT_IF_ABSENT, .nth = 1, .times = 3, .before = rival_commits, .ctx = &r};
    tl_faulty_script(s, &rule, 1);
    tl_property changes[] = {{"timelake.retention", "7d"}, {"owner", "me"}, {"timelake.row-group-rows", NULL}};
    assert_int_equal(tl_commit_properties(t, changes, 3, &out, NULL), TL_OK);
    assert_int_equal(out->version, 5 - 1); /* the rival's second put met its own turn and was not disturbed again */
    assert_string_equal(tl_metadata_property(&out->metadata, "timelake.retention"), "7d");
    assert_string_equal(tl_metadata_property(&out->metadata, "owner"), "me");
    assert_null(tl_metadata_property(&out->metadata, "timelake.row-group-rows"));
    tl_faulty_script(s, NULL, 0);
    contents c;
    read_contents(s, &c);
    assert_true(c.n > 0);
    tl_table *same;
    assert_int_equal(tl_commit_properties(out, changes, 3, &same, NULL), TL_OK);
    assert_int_equal(same->version, out->version); /* nothing to change, nothing written */
    tl_table_release(same);
    tl_table_release(out);
    tl_table_release(r.t);
    tl_table_release(t);
    tl_store_close(s);
}

static void rollback_makes_an_older_snapshot_current(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    commit_well(&t, 0, NULL);
    int64_t first = t->metadata.current_snapshot_id;
    commit_well(&t, 1, NULL);
    assert_int_equal(tl_commit_rollback(t, first, &out, NULL), TL_OK);
    assert_int_equal(out->version, 4);
    assert_true(out->metadata.current_snapshot_id == first);
    assert_int_equal(out->metadata.n_snapshots, 2);
    assert_int_equal(out->metadata.n_snapshot_log, 3);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 1);
    tl_table_release(t);
    t = out;
    commit_well(&t, 2, NULL);
    read_contents(s, &c);
    assert_int_equal(c.n, 2);
    assert_true(c.there[0] && c.there[2]);
    assert_int_equal(tl_metadata_current(&t->metadata)->sequence_number, 3);
    tl_error err;
    assert_int_equal(tl_commit_rollback(t, 12345, &out, &err), TL_NOT_FOUND);
    assert_non_null(strstr(err.message, "12345"));
    assert_int_equal(tl_commit_rollback(t, -1, &out, NULL), TL_NOT_FOUND);
    tl_table_release(t);
    tl_store_close(s);
}

/* ---- tables that others changed ---- */

static void make_newer(tl_metadata *m) {
    assert_int_equal(tl_metadata_set_property(m, "timelake.format-version", "0.3.1", NULL), TL_OK);
}

static void require_a_column(tl_metadata *m) {
    m->schemas[0].fields[2].required = true;
}

static void a_column_changed_meanwhile_is_a_conflict(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *old = tl_table_retain(t), *out;
    write_version(&t, make_newer);
    commit_well(&old, 0, NULL); /* a patch version is no obstacle */
    tl_table_release(t);
    t = tl_table_retain(old);
    write_version(&t, require_a_column);
    tl_commit_result r;
    tl_error err;
    assert_int_equal(commit(old, 1, NULL, &r, &out, &err), TL_CONFLICT);
    assert_non_null(strstr(err.message, "\"v\" was changed"));
    assert_int_equal(data_objects(s), 1);
    tl_table_release(old);
    tl_table_release(t);
    tl_store_close(s);
}

static void a_table_made_anew_meanwhile_is_a_conflict(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    commit_well(&t, 0, NULL);
    assert_int_equal(tl_table_drop(s, "default", "r", NULL), TL_OK);
    tl_table *anew = create(s);
    tl_commit_result r;
    assert_int_equal(commit(t, 1, NULL, &r, &out, NULL), TL_CONFLICT);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 0);
    tl_table_release(anew);
    tl_table_release(t);
    tl_store_close(s);
}

static void drop_totals(tl_metadata *m) {
    tl_snapshot *s = &m->snapshots[m->n_snapshots - 1];
    s->n_summary = 1; /* the operation alone */
}

static void false_totals(tl_metadata *m) {
    tl_snapshot *s = &m->snapshots[m->n_snapshots - 1];
    for (int32_t i = 0; i < s->n_summary; i++) {
        if (strcmp(s->summary[i].key, "total-records") == 0) {
            s->summary[i].value = "77";
        }
    }
}

static void missing_or_false_totals_of_others_are_counted_anew(void **state) {
    (void)state;
    void (*const damages[])(tl_metadata *) = {drop_totals, false_totals};
    for (size_t d = 0; d < TL_COUNT(damages); d++) {
        tl_store *s = open_memory();
        tl_table *t = create(s);
        commit_well(&t, 0, NULL);
        commit_well(&t, 1, NULL);
        write_version(&t, damages[d]);
        commit_well(&t, 2, NULL);
        contents c;
        read_contents(s, &c); /* checks the totals */
        assert_int_equal(c.n, 3);
        tl_table_release(t);
        tl_store_close(s);
    }
}

static void foreign_paths_are_read_and_committed_onto(void **state) {
    (void)state;
    char dir[] = "/tmp/tl-commit-XXXXXX", command[512];
    assert_non_null(mkdtemp(dir));
    const char *forms[] = {"file:", "", "file://"};
    for (size_t i = 0; i < TL_COUNT(forms); i++) {
        tl_store *s;
        assert_int_equal(tl_store_open(dir, false, NULL, &s, NULL), TL_OK);
        tl_table *t = create(s);
        commit_well(&t, 0, NULL);
        tl_table_release(t);
        /* as Spark or pyiceberg spell it; only in the JSON, whose length may change */
        (void)snprintf(command, sizeof command, "sed -i 's#file://%s#%s%s#g' %s/default/r/metadata/v2.metadata.json",
                       dir, forms[i], dir, dir);
        assert_int_equal(system(command), 0);
        t = load(s);
        commit_well(&t, 1, NULL);
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, 2);
        tl_table_release(t);
        assert_int_equal(tl_table_drop(s, "default", "r", NULL), TL_OK);
        tl_store_close(s);
    }
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void a_moved_lake_is_read_and_committed_onto(void **state) {
    (void)state;
    char dir[] = "/tmp/tl-commit-XXXXXX", moved[64], command[200];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(moved, sizeof moved, "%s-moved", dir);
    tl_store *s;
    assert_int_equal(tl_store_open(dir, false, NULL, &s, NULL), TL_OK);
    tl_table *t = create(s);
    for (int i = 0; i < 10; i++) {
        commit_well(&t, i, NULL);
    }
    tl_table_release(t);
    tl_store_close(s);
    assert_int_equal(rename(dir, moved), 0);
    assert_int_equal(tl_store_open(moved, false, NULL, &s, NULL), TL_OK);
    t = load(s);
    for (int i = 10; i < 20; i++) {
        commit_well(&t, i, NULL);
    }
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 20);
    tl_table_release(t);
    tl_store_close(s);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", moved);
    assert_int_equal(system(command), 0);
}

/* ---- last-value index ---- */

typedef struct index_rows {
    int64_t times[64], series[64];
    double values[64];
    tl_column columns[3];
} index_rows;

/* Rows (first + i, series i) as the newest of an append. */
static void set_newest(tl_staged *s, index_rows *r, int64_t first_series, int64_t n, int64_t time, double value) {
    for (int64_t i = 0; i < n; i++) {
        r->times[i] = time;
        r->series[i] = first_series + i;
        r->values[i] = value;
    }
    const void *values[] = {r->times, r->series, r->values};
    for (int i = 0; i < 3; i++) {
        r->columns[i] = (tl_column){.kind = TL_COLUMN_FIXED, .width = 8, .length = n, .values = values[i]};
    }
    s->newest = (tl_rows){.n_rows = n, .n_columns = 3, .columns = r->columns};
}

static void append_rows(tl_table **t, int number, int64_t first_series, int64_t n, int64_t time, double value) {
    tl_staged staged;
    index_rows rows;
    tl_commit_result r;
    tl_table *newer;
    tl_error err = {{0}};
    assert_true(stage((*t)->store, number, &staged));
    set_newest(&staged, &rows, first_series, n, time, value);
    if (tl_commit_append(*t, &staged, NULL, &r, &newer, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    staged.newest = (tl_rows){0};
    tl_staged_free(&staged);
    tl_table_release(*t);
    *t = newer;
}

/* Row count and sum of values of the current snapshot's index; -1 = none. */
static int64_t index_of(tl_table *t, double *sum) {
    tl_rows rows;
    *sum = 0;
    if (tl_last_values_load(t, tl_metadata_current(&t->metadata), &rows, NULL) != TL_OK) {
        return -1;
    }
    for (int64_t i = 0; i < rows.n_rows; i++) {
        double v;
        memcpy(&v, rows.columns[2].values + i * 8, 8);
        *sum += v;
    }
    int64_t n = rows.n_rows;
    tl_rows_free(&rows);
    return n;
}

static const char *summary_of(const tl_table *t, const char *key) {
    return tl_snapshot_summary(tl_metadata_current(&t->metadata), key);
}

static void the_index_follows_the_newest_rows(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s);
    double sum;
    append_rows(&t, 0, 0, 10, 1000, 1.0);
    assert_int_equal(index_of(t, &sum), 10);
    assert_true(sum == 10.0);
    assert_non_null(summary_of(t, TL_INDEX_KEY));
    append_rows(&t, 1, 5, 10, 900, 2.0); /* five late, five new series */
    assert_int_equal(index_of(t, &sum), 15);
    assert_true(sum == 10.0 + 5 * 2.0);
    append_rows(&t, 2, 0, 2, 1000, 3.0); /* same time: the later commit */
    assert_int_equal(index_of(t, &sum), 15);
    assert_true(sum == 8.0 + 5 * 2.0 + 2 * 3.0);
    tl_table_release(t);
    tl_store_close(s);
}

static void large_layers_are_left_alone(void **state) {
    (void)state;
    tl_index_layer items[3] = {{.rows = 1000000}, {.rows = 50000}, {.rows = 10}};
    tl_index_layers layers = {.items = items, .n = 3};
    assert_int_equal(tl_index_layers_keep(&layers, 1, 8), 2);      /* only the small one is rewritten */
    assert_int_equal(tl_index_layers_keep(&layers, 20000, 8), 1);  /* enough to take the middle one in */
    assert_int_equal(tl_index_layers_keep(&layers, 300000, 8), 0); /* a quarter of all: one layer again */
    assert_int_equal(tl_index_layers_keep(&layers, 1, 100000), 3); /* wide rows count for more */
    items[2].rows = -1;
    assert_int_equal(tl_index_layers_keep(&layers, 1, 8), 2);
    layers.n = 0;
    assert_int_equal(tl_index_layers_keep(&layers, 5, 8), 0);
}

/* Splits the current single layer off as a big one below, by saying so in the summary. */
static void pretend_large(tl_metadata *m) {
    tl_snapshot *s = &m->snapshots[m->n_snapshots - 1];
    for (int32_t i = 0; i < s->n_summary; i++) {
        if (strcmp(s->summary[i].key, TL_INDEX_LAYERS_KEY) == 0) {
            char *text =
                tl_arena_format(&m->arena, "%.*s:9000000", (int)strcspn(s->summary[i].value, ":"), s->summary[i].value);
            assert_non_null(text);
            s->summary[i].value = text;
        }
    }
}

static void rows_that_do_not_match_the_layer_make_the_index_useless_not_wrong(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s);
    double sum;
    append_rows(&t, 0, 0, 10, 1000, 1.0);
    write_version(&t, pretend_large);
    assert_int_equal(index_of(t, &sum), -1);
    append_rows(&t, 1, 3, 2, 2000, 5.0); /* goes on top without reading the layer */
    assert_null(summary_of(t, TL_INDEX_KEY));
    assert_non_null(strchr(summary_of(t, TL_INDEX_LAYERS_KEY), ','));
    assert_int_equal(index_of(t, &sum), -1);
    tl_table_release(t);
    tl_store_close(s);
}

static void missing_or_corrupt_index_files_never_fail_a_commit(void **state) {
    (void)state;
    for (int damage = 0; damage < 3; damage++) {
        tl_store *s = open_memory();
        tl_table *t = create(s);
        double sum;
        append_rows(&t, 0, 0, 10, 1000, 1.0);
        char *key;
        assert_int_equal(tl_store_key(s, summary_of(t, TL_INDEX_KEY), &key, NULL), TL_OK);
        if (damage == 0) {
            assert_int_equal(tl_store_remove(s, key, NULL), TL_OK);
        } else {
            tl_buf b = {0};
            assert_int_equal(tl_store_get(s, key, &b, NULL), TL_OK);
            b.len = damage == 1 ? b.len / 2 : 3;
            assert_int_equal(tl_store_put(s, key, tl_buf_bytes(&b), TL_PUT_LATER, NULL), TL_OK);
            tl_buf_free(&b);
        }
        tl_free(key);
        assert_int_equal(index_of(t, &sum), -1);
        append_rows(&t, 1, 0, 3, 2000, 1.0);
        assert_null(summary_of(t, TL_INDEX_KEY));
        assert_null(summary_of(t, TL_INDEX_LAYERS_KEY));
        assert_int_equal(index_of(t, &sum), -1);
        contents c;
        read_contents(s, &c);
        assert_int_equal(c.n, 2);
        tl_table_release(t);
        tl_store_close(s);
    }
}

/* The keys as Timelake 0.7.0 writes them: only the URI. */
static void as_of_0_7_0(tl_metadata *m) {
    tl_snapshot *s = &m->snapshots[m->n_snapshots - 1];
    for (int32_t i = 0; i < s->n_summary; i++) {
        if (strcmp(s->summary[i].key, TL_INDEX_LAYERS_KEY) == 0) {
            s->summary[i].key = "other";
        }
    }
}

static void an_index_of_another_program_goes_on(void **state) {
    (void)state;
    for (int retention = 0; retention < 2; retention++) {
        tl_store *s = open_memory();
        tl_table *t = create(s), *out;
        double sum;
        if (retention) {
            tl_property p = {"timelake.retention", "7d"};
            assert_int_equal(tl_commit_properties(t, &p, 1, &out, NULL), TL_OK);
            tl_table_release(t);
            t = out;
        }
        append_rows(&t, 0, 0, 10, 1000, 1.0);
        write_version(&t, as_of_0_7_0);
        assert_int_equal(index_of(t, &sum), retention ? -1 : 10);
        append_rows(&t, 1, 8, 4, 2000, 2.0);
        assert_int_equal(index_of(t, &sum), retention ? -1 : 12);
        append_rows(&t, 2, 8, 4, 3000, 3.0);
        assert_int_equal(index_of(t, &sum), retention ? -1 : 12);
        tl_table_release(t);
        tl_store_close(s);
    }
}

static void an_index_that_cannot_be_written_does_not_fail_the_commit(void **state) {
    (void)state;
    tl_store *s = open_faulty();
    tl_table *t = create(s);
    double sum;
    append_rows(&t, 0, 0, 10, 1000, 1.0);
    tl_fault_rule rule = {.ops = TL_OP_PUT, .key_part = "/lvi-", .fault = TL_FAULT_IO};
    tl_faulty_script(s, &rule, 1);
    append_rows(&t, 1, 0, 3, 2000, 1.0);
    tl_faulty_script(s, NULL, 0);
    assert_null(summary_of(t, TL_INDEX_LAYERS_KEY));
    assert_int_equal(index_of(t, &sum), -1);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 2);
    tl_table_release(t);
    tl_store_close(s);
}

static const char *copied[2];

static void copy_index_keys(tl_metadata *m) {
    tl_snapshot *s = &m->snapshots[m->n_snapshots - 1];
    tl_property *list = tl_arena_array(&m->arena, (size_t)s->n_summary + 2, sizeof *list);
    assert_non_null(list);
    memcpy(list, s->summary, (size_t)s->n_summary * sizeof *list);
    list[s->n_summary] = (tl_property){TL_INDEX_LAYERS_KEY, tl_arena_strdup(&m->arena, copied[0])};
    list[s->n_summary + 1] = (tl_property){TL_INDEX_KEY, tl_arena_strdup(&m->arena, copied[1])};
    s->summary = list;
    s->n_summary += 2;
}

static void call_it_replace(tl_metadata *m) {
    copy_index_keys(m);
    m->snapshots[m->n_snapshots - 1].summary[0].value = "replace";
}

static void a_copied_index_key_is_believed_only_for_the_same_rows(void **state) {
    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        tl_store *s = open_memory();
        tl_table *t = create(s);
        double sum;
        append_rows(&t, 0, 0, 10, 1000, 1.0);
        char *layers = tl_strdup(summary_of(t, TL_INDEX_LAYERS_KEY)), *uri = tl_strdup(summary_of(t, TL_INDEX_KEY));
        copied[0] = layers;
        copied[1] = uri;
        commit_well(&t, 1, NULL); /* without newest rows: as by a program that knows no index */
        assert_int_equal(index_of(t, &sum), -1);
        write_version(&t, replace ? call_it_replace : copy_index_keys);
        assert_int_equal(index_of(t, &sum), replace ? 10 : -1);
        append_rows(&t, 2, 0, 1, 2000, 7.0);
        assert_int_equal(index_of(t, &sum), replace ? 10 : -1);
        tl_free(layers);
        tl_free(uri);
        tl_table_release(t);
        tl_store_close(s);
    }
}

static void an_index_is_given_anew(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_table *t = create(s), *out;
    double sum;
    append_rows(&t, 0, 0, 10, 1000, 1.0);
    commit_well(&t, 1, "b"); /* by a program that knows no index */
    assert_int_equal(index_of(t, &sum), -1);
    tl_staged dummy = {0};
    index_rows rows;
    set_newest(&dummy, &rows, 0, 12, 2000, 2.0);
    assert_int_equal(tl_commit_last_values(t, &dummy.newest, &out, NULL), TL_OK);
    assert_string_equal(summary_of(out, "operation"), "replace");
    assert_int_equal(index_of(out, &sum), 12);
    assert_non_null(summary_of(out, TL_INDEX_KEY));
    tl_table *stale;
    assert_int_equal(tl_commit_last_values(t, &dummy.newest, &stale, NULL), TL_CONFLICT);
    tl_table_release(t);
    t = out;
    bool found;
    assert_int_equal(tl_commit_find_batch(t, "b", &found, NULL), TL_OK);
    assert_true(found);
    append_rows(&t, 2, 0, 1, 3000, 7.0);
    assert_int_equal(index_of(t, &sum), 12);
    assert_true(sum == 11 * 2.0 + 7.0);
    contents c;
    read_contents(s, &c);
    assert_int_equal(c.n, 3);
    tl_table_release(t);
    tl_store_close(s);
}

/* ---- touched ranges ---- */

static void touched_ranges_are_joined_where_they_are_closest(void **state) {
    (void)state;
    enum { N = 1000 };
    tl_touched touched[N];
    for (int i = 0; i < N; i++) { /* groups of ten days, a year between groups */
        int day = i / 10 * 365 + i % 10;
        touched[i] = (tl_touched){day, day * 86400000000LL + 5, day * 86400000000LL + 86399999000LL, 1};
    }
    char *text = tl_touched_print(touched, N);
    tl_arena arena = {0};
    tl_touched_range *r;
    int32_t n;
    assert_int_equal(tl_touched_parse(text, &arena, &r, &n, NULL), TL_OK);
    assert_int_equal(n, TL_TOUCHED_MAX);
    int at = 0;
    for (int i = 0; i < N; i++) { /* every partition is in exactly one range, with its times */
        while (at < n && r[at].last < touched[i].partition) {
            at++;
        }
        assert_true(at < n && r[at].first <= touched[i].partition);
        assert_true(r[at].min_us <= touched[i].min_us && r[at].max_us >= touched[i].max_us);
        assert_true(r[at].last - r[at].first < 10);
    }
    tl_free(text);
    text = tl_touched_print(touched, 2);
    assert_string_equal(text, "0:0:5:86399999000,1:1:86400000005:172799999000");
    tl_free(text);
    const char *bad[] = {"1",        "1:2:3",   "1:2:3:",    "2:1:3:4",           "1:1:4:3",
                         "1:1:1:1,", "a:b:c:d", "1:1:1:1:1", "99999999999:1:1:1", "1:1:1:1,,1:1:1:1"};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        if (tl_touched_parse(bad[i], &arena, &r, &n, NULL) != TL_CORRUPT) {
            fail_msg("%s", bad[i]);
        }
    }
    assert_int_equal(tl_touched_parse("-3:-3:-5:-4", &arena, &r, &n, NULL), TL_OK);
    assert_int_equal(r[0].first, -3);
    assert_int_equal(tl_touched_parse("", &arena, &r, &n, NULL), TL_OK);
    assert_int_equal(n, 0);
    tl_arena_free(&arena);
}

static void touched_buckets_are_told_and_read_back(void **state) {
    (void)state;
    tl_arena arena = {0};
    tl_bucket_range *r;
    int32_t n, buckets;
    const tl_touched_bucket two[] = {{5, 3, 10, 20}, {6, 0, 30, 40}, {6, 3, 50, 60}};
    char *text = tl_touched_print_buckets(two, 3, 8);
    assert_string_equal(text, "8;0:6:6:30:40,3:5:5:10:20,3:6:6:50:60");
    tl_free(text);
    enum { DAYS = 500, BUCKETS = 64 };
    tl_touched_bucket *many = test_calloc(DAYS * BUCKETS, sizeof *many);
    for (int i = 0; i < DAYS * BUCKETS; i++) {
        int day = i / BUCKETS;
        many[i] = (tl_touched_bucket){day, i % BUCKETS, day * 86400000000LL, day * 86400000000LL + i % BUCKETS};
    }
    text = tl_touched_print_buckets(many, DAYS * BUCKETS, BUCKETS);
    assert_int_equal(tl_touched_parse_buckets(text, &arena, &buckets, &r, &n, NULL), TL_OK);
    assert_int_equal(buckets, BUCKETS);
    assert_int_equal(n, TL_TOUCHED_BUCKETS_MAX);
    for (int i = 0; i < DAYS * BUCKETS; i++) { /* each is within exactly one range of its bucket */
        int within = 0;
        for (int k = 0; k < n; k++) {
            within += r[k].bucket == many[i].bucket && r[k].range.first <= many[i].partition &&
                      r[k].range.last >= many[i].partition && r[k].range.min_us <= many[i].min_us &&
                      r[k].range.max_us >= many[i].max_us;
        }
        assert_int_equal(within, 1);
    }
    tl_free(text);
    test_free(many);
    const char *bad[] = {"",           "8", "0;", "257;", "8;8:1:1:1:1", "8;-1:1:1:1:1", "8;1:1:1:1", "8;1:1:1:1:1,",
                         "x;1:1:1:1:1"};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        if (tl_touched_parse_buckets(bad[i], &arena, &buckets, &r, &n, NULL) != TL_CORRUPT) {
            fail_msg("%s", bad[i]);
        }
    }
    assert_int_equal(tl_touched_parse_buckets("8;", &arena, &buckets, &r, &n, NULL), TL_OK);
    assert_int_equal(n, 0);
    tl_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_add_up_and_say_what_they_did),
        cmocka_unit_test(an_old_handle_commits_on_top_of_the_newest_version),
        cmocka_unit_test(nothing_staged_writes_nothing),
        cmocka_unit_test(manifests_are_merged_and_stay_few),
        cmocka_unit_test(a_batch_id_counts_once),
        cmocka_unit_test(batch_ids_survive_the_expiry_of_their_snapshots),
        cmocka_unit_test(only_the_newest_batch_ids_are_kept),
        cmocka_unit_test(batch_ids_of_abandoned_snapshots_may_be_used_again),
        cmocka_unit_test(a_lost_or_broken_property_is_rebuilt_from_the_history),
        cmocka_unit_test(hostile_batch_id_properties_are_harmless),
        cmocka_unit_test(a_rival_commit_at_any_moment_loses_nothing),
        cmocka_unit_test(a_writer_that_loses_every_race_gives_up_cleanly),
        cmocka_unit_test(every_fault_at_every_operation_has_a_true_outcome),
        cmocka_unit_test(a_lost_reply_of_the_deciding_put_is_settled),
        cmocka_unit_test(a_lost_reply_and_a_rival_that_builds_on_it),
        cmocka_unit_test(a_writer_that_slept_does_not_commit_into_the_past),
        cmocka_unit_test(a_table_dropped_at_any_moment_stays_dropped),
        cmocka_unit_test(what_was_acknowledged_survives_a_power_loss),
        cmocka_unit_test(a_power_loss_at_any_operation_keeps_the_table_whole),
        cmocka_unit_test(writers_race_in_memory_and_lose_nothing),
        cmocka_unit_test(writers_race_on_disk_and_lose_nothing),
        cmocka_unit_test(no_failed_allocation_leaks_or_loses),
        cmocka_unit_test(properties_change_and_race),
        cmocka_unit_test(rollback_makes_an_older_snapshot_current),
        cmocka_unit_test(a_column_changed_meanwhile_is_a_conflict),
        cmocka_unit_test(a_table_made_anew_meanwhile_is_a_conflict),
        cmocka_unit_test(missing_or_false_totals_of_others_are_counted_anew),
        cmocka_unit_test(foreign_paths_are_read_and_committed_onto),
        cmocka_unit_test(a_moved_lake_is_read_and_committed_onto),
        cmocka_unit_test(the_index_follows_the_newest_rows),
        cmocka_unit_test(large_layers_are_left_alone),
        cmocka_unit_test(rows_that_do_not_match_the_layer_make_the_index_useless_not_wrong),
        cmocka_unit_test(missing_or_corrupt_index_files_never_fail_a_commit),
        cmocka_unit_test(an_index_of_another_program_goes_on),
        cmocka_unit_test(an_index_that_cannot_be_written_does_not_fail_the_commit),
        cmocka_unit_test(a_copied_index_key_is_believed_only_for_the_same_rows),
        cmocka_unit_test(an_index_is_given_anew),
        cmocka_unit_test(touched_ranges_are_joined_where_they_are_closest),
        cmocka_unit_test(touched_buckets_are_told_and_read_back),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
