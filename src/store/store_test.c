/* Tests of the store room: keys and URIs, the local and the memory store alike, races, faults, a full disk. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/faulty.h"
#include "store/local.h"
#include "store/memory.h"

/* ---- set-up: every behaviour on both back ends ---- */

typedef struct world {
    tl_store *store;
    char dir[64]; /* "" = memory */
} world;

static void remove_tree(const char *dir) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static int set_up_local(void **state) {
    world *w = calloc(1, sizeof *w);
    strcpy(w->dir, "/tmp/tl-store-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(tl_store_open(w->dir, false, NULL, &w->store, NULL), TL_OK);
    *state = w;
    return 0;
}

static int set_up_memory(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_int_equal(tl_store_open("memory://", false, NULL, &w->store, NULL), TL_OK);
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    tl_store_close(w->store);
    if (w->dir[0]) {
        remove_tree(w->dir);
    }
    free(w);
    return 0;
}

static tl_bytes text(const char *t) {
    return tl_bytes_of(t);
}

static void assert_object(tl_store *s, const char *key, const char *want) {
    tl_buf b = {0};
    tl_error err = {{0}};
    tl_status status = tl_store_get(s, key, &b, &err);
    if (status != TL_OK) {
        fail_msg("%s: %s", key, err.message);
    }
    assert_int_equal(b.len, strlen(want));
    assert_memory_equal(b.data ? (const char *)b.data : "", want, b.len);
    tl_buf_free(&b);
}

static tl_status add_name(void *ctx, const tl_object_info *o, tl_error *err) {
    (void)err;
    char *out = ctx;
    size_t n = strlen(out);
    (void)snprintf(out + n, 1000 - n, "%s%s", n ? " " : "", o->key);
    return TL_OK;
}

static void assert_listing(tl_store *s, const char *prefix, bool recursive, const char *want) {
    char names[1000] = "";
    assert_int_equal(tl_store_list(s, prefix, recursive, add_name, names, NULL), TL_OK);
    assert_string_equal(names, want);
}

/* ---- behaviour ---- */

static void put_then_get_gives_the_bytes(void **state) {
    tl_store *s = ((world *)*state)->store;
    assert_int_equal(tl_store_put(s, "a/b/c", text("hello"), TL_PUT_SYNC, NULL), TL_OK);
    assert_object(s, "a/b/c", "hello");
    assert_int_equal(tl_store_put(s, "a/b/c", text("x"), TL_PUT_LATER, NULL), TL_OK);
    assert_object(s, "a/b/c", "x");
    assert_int_equal(tl_store_put(s, "empty", (tl_bytes){NULL, 0}, TL_PUT_LATER, NULL), TL_OK);
    assert_object(s, "empty", "");
    uint64_t size = 9;
    assert_int_equal(tl_store_size(s, "empty", &size, NULL), TL_OK);
    assert_int_equal(size, 0);
}

static void ranges_are_exact_or_an_error(void **state) {
    tl_store *s = ((world *)*state)->store;
    assert_int_equal(tl_store_put(s, "k", text("0123456789"), TL_PUT_LATER, NULL), TL_OK);
    tl_buf b = {0};
    tl_error err;
    assert_int_equal(tl_store_get_range(s, "k", 3, 4, &b, NULL), TL_OK);
    assert_int_equal(tl_store_get_range(s, "k", 10, 0, &b, NULL), TL_OK);
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.data, "3456", 4);
    assert_int_equal(tl_store_get_range(s, "k", 8, 3, &b, &err), TL_IO);
    assert_non_null(strstr(err.message, "cut short"));
    assert_int_equal(tl_store_get_range(s, "k", 11, 0, &b, NULL), TL_IO);
    assert_int_equal(tl_store_get_range(s, "k", UINT64_MAX, 2, &b, NULL), TL_IO);
    assert_int_equal(tl_store_get_range(s, "k", 1, UINT64_MAX - 1, &b, NULL), TL_IO);
    assert_int_equal(b.len, 4);
    tl_buf_free(&b);
}

static void a_missing_object_is_not_found(void **state) {
    tl_store *s = ((world *)*state)->store;
    tl_buf b = {0};
    uint64_t size;
    assert_int_equal(tl_store_put(s, "file", text("x"), TL_PUT_LATER, NULL), TL_OK);
    assert_int_equal(tl_store_put(s, "dir/file", text("x"), TL_PUT_LATER, NULL), TL_OK);
    const char *keys[] = {"none", "none/below", "file/below", "dir"};
    for (size_t i = 0; i < TL_COUNT(keys); i++) {
        assert_int_equal(tl_store_get(s, keys[i], &b, NULL), TL_NOT_FOUND);
        assert_int_equal(tl_store_size(s, keys[i], &size, NULL), TL_NOT_FOUND);
        assert_false(tl_store_exists(s, keys[i]));
    }
    assert_int_equal(tl_store_remove(s, "none/below", NULL), TL_OK);
    assert_int_equal(tl_store_remove(s, "file/below", NULL), TL_OK);
    tl_buf_free(&b);
}

static void put_if_absent_keeps_the_first(void **state) {
    tl_store *s = ((world *)*state)->store;
    for (int mode = TL_PUT_SYNC; mode <= TL_PUT_LATER; mode++) {
        const char *key = mode == TL_PUT_SYNC ? "t/v1" : "t/v2";
        assert_int_equal(tl_store_put_if_absent(s, key, text("mine"), (tl_put_mode)mode, NULL), TL_OK);
        assert_int_equal(tl_store_put_if_absent(s, key, text("yours"), (tl_put_mode)mode, NULL), TL_EXISTS);
        assert_object(s, key, "mine");
    }
    assert_listing(s, "t", true, "t/v1 t/v2"); /* and no temporary file stays */
}

static void a_writer_is_seen_only_when_finished(void **state) {
    tl_store *s = ((world *)*state)->store;
    tl_object_writer *w;
    uint8_t *big = malloc(200000);
    memset(big, 'b', 200000);
    assert_int_equal(tl_store_open_writer(s, "d/x=1/f", TL_PUT_LATER, &w, NULL), TL_OK);
    assert_int_equal(tl_object_writer_write(s, w, text("head"), NULL), TL_OK);
    assert_int_equal(tl_object_writer_write(s, w, (tl_bytes){big, 200000}, NULL), TL_OK);
    assert_int_equal(tl_object_writer_write(s, w, (tl_bytes){NULL, 0}, NULL), TL_OK);
    for (int i = 0; i < 40000; i++) {
        assert_int_equal(tl_object_writer_write(s, w, text("abc"), NULL), TL_OK);
    }
    assert_false(tl_store_exists(s, "d/x=1/f"));
    assert_listing(s, "", true, "");
    assert_int_equal(tl_object_writer_finish(s, w, NULL), TL_OK);
    tl_buf b = {0};
    assert_int_equal(tl_store_get(s, "d/x=1/f", &b, NULL), TL_OK);
    assert_int_equal(b.len, 4 + 200000 + 120000);
    assert_memory_equal(b.data, "headb", 5);
    assert_memory_equal(b.data + 200003, "babcabc", 7);
    assert_memory_equal(b.data + b.len - 3, "abc", 3);
    tl_buf_free(&b);
    free(big);
}

static void an_aborted_writer_leaves_nothing(void **state) {
    world *place = *state;
    tl_store *s = place->store;
    tl_object_writer *w;
    assert_int_equal(tl_store_open_writer(s, "d/f", TL_PUT_SYNC, &w, NULL), TL_OK);
    assert_int_equal(tl_object_writer_write(s, w, text("head"), NULL), TL_OK);
    tl_object_writer_abort(s, w);
    tl_object_writer_abort(s, NULL);
    assert_listing(s, "", true, "");
    if (place->dir[0]) {
        char command[128];
        (void)snprintf(command, sizeof command, "test -z \"$(find %s -type f)\"", place->dir);
        assert_int_equal(system(command), 0);
    }
}

static void listing_is_sorted_and_names_folders(void **state) {
    tl_store *s = ((world *)*state)->store;
    const char *keys[] = {"t/b", "t/a/2", "t/a/1", "t/a/deep/er", "t/a-", "t2/x", "u"};
    for (size_t i = 0; i < TL_COUNT(keys); i++) {
        assert_int_equal(tl_store_put(s, keys[i], text("x"), TL_PUT_LATER, NULL), TL_OK);
    }
    assert_listing(s, "t", true, "t/a- t/a/1 t/a/2 t/a/deep/er t/b");
    assert_listing(s, "t", false, "t/a- t/a/ t/b");
    assert_listing(s, "", false, "t/ t2/ u");
    assert_listing(s, "nothing/here", true, "");
    assert_listing(s, "u", true, "");
}

static void removing_is_repeatable(void **state) {
    tl_store *s = ((world *)*state)->store;
    assert_int_equal(tl_store_put(s, "t/a", text("x"), TL_PUT_LATER, NULL), TL_OK);
    assert_int_equal(tl_store_remove(s, "t/a", NULL), TL_OK);
    assert_int_equal(tl_store_remove(s, "t/a", NULL), TL_OK);
    assert_false(tl_store_exists(s, "t/a"));
    assert_int_equal(tl_store_put(s, "t/a", text("y"), TL_PUT_SYNC, NULL), TL_OK);
    assert_object(s, "t/a", "y");
}

static void removing_many_keeps_the_order_and_ends_at_a_bad_one(void **state) {
    tl_store *s = ((world *)*state)->store;
    char names[300][32];
    const char *keys[300];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(names[i], sizeof names[i], "d/p=%d/%d", i % 7, i);
        keys[i] = names[i];
        if (i % 10) { /* some are missing, which is no failure */
            assert_int_equal(tl_store_put(s, keys[i], text("x"), TL_PUT_LATER, NULL), TL_OK);
        }
    }
    assert_int_equal(tl_store_remove_all(s, keys, 0), 0);
    const char *third = keys[203];
    keys[203] = "d/../e";
    assert_int_equal(tl_store_remove_all(s, keys, 300), 203);
    keys[203] = third;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(tl_store_exists(s, keys[i]), i >= 203 && i % 10);
    }
    for (int i = 0; i < 20; i++) { /* nothing stays open: the limit would show */
        assert_int_equal(tl_store_remove_all(s, keys, 300), 300);
    }
    assert_listing(s, "d", true, "");
}

static void sync_takes_many_keys_and_notices_a_missing_one(void **state) {
    tl_store *s = ((world *)*state)->store;
    char names[300][32];
    const char *keys[300];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(names[i], sizeof names[i], "d/p=%d/f", i % 70);
        keys[i] = names[i];
        assert_int_equal(tl_store_put(s, keys[i], text("x"), TL_PUT_LATER, NULL), TL_OK);
    }
    assert_int_equal(tl_store_sync(s, keys, 300, NULL), TL_OK);
    assert_int_equal(tl_store_sync(s, keys, 0, NULL), TL_OK);
    assert_int_equal(tl_store_remove(s, keys[69], NULL), TL_OK);
    assert_int_not_equal(tl_store_sync(s, keys, 300, NULL), TL_OK);
    for (int i = 0; i < 300; i++) { /* nothing stays open: the limit would show */
        assert_int_not_equal(tl_store_sync(s, keys, 300, NULL), TL_OK);
    }
}

static void a_put_after_others_waits_for_them_and_keeps_the_first(void **state) {
    const world *w = *state;
    tl_store *s = w->store;
    const char *const keys[] = {"data/a", "metadata/b"}, *const missing[] = {"data/a", "data/none"};
    assert_int_equal(tl_store_put(s, keys[0], text("a"), TL_PUT_LATER, NULL), TL_OK);
    assert_int_equal(tl_store_put(s, keys[1], text("b"), TL_PUT_LATER, NULL), TL_OK);
    /* what is named must be there: else nothing is put, for certain */
    tl_status status = tl_store_put_after(s, "metadata/v1", text("one"), missing, 2, NULL);
    assert_true(status != TL_OK && status != TL_UNKNOWN && status != TL_EXISTS);
    assert_false(tl_store_exists(s, "metadata/v1"));
    assert_int_equal(tl_store_put_after(s, "metadata/v1", text("one"), keys, 2, NULL), TL_OK);
    assert_int_equal(tl_store_put_after(s, "metadata/v1", text("two"), keys, 2, NULL), TL_EXISTS);
    assert_int_equal(tl_store_put_after(s, "metadata/v2", text("two"), NULL, 0, NULL), TL_OK);
    assert_int_equal(tl_store_put_after(s, "../v2", text("two"), NULL, 0, NULL), TL_INVALID);
    assert_object(s, "metadata/v1", "one");
    assert_object(s, "metadata/v2", "two");
    assert_listing(s, "metadata", true, "metadata/b metadata/v1 metadata/v2");
}

static void keys_cannot_leave_the_root(void **state) {
    tl_store *s = ((world *)*state)->store;
    const char *bad[] = {"", "/etc/passwd", "../x", "a/../x", "a/..", "a//b", "a/", "./a", "a/./b", "."};
    tl_buf b = {0};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        assert_int_equal(tl_store_get(s, bad[i], &b, NULL), TL_INVALID);
        assert_int_equal(tl_store_put(s, bad[i], text("x"), TL_PUT_LATER, NULL), TL_INVALID);
        assert_int_equal(tl_store_put_if_absent(s, bad[i], text("x"), TL_PUT_LATER, NULL), TL_INVALID);
        assert_int_equal(tl_store_remove(s, bad[i], NULL), TL_INVALID);
        const char *key = bad[i];
        assert_int_equal(tl_store_sync(s, &key, 1, NULL), TL_INVALID);
    }
    assert_int_equal(tl_store_put(s, "..a/b..", text("x"), TL_PUT_LATER, NULL), TL_OK);
    char *longest = malloc(4002);
    memset(longest, 'k', 4001);
    longest[4001] = '\0';
    assert_int_equal(tl_store_put(s, longest, text("x"), TL_PUT_LATER, NULL), TL_INVALID);
    free(longest);
}

/* ---- URIs ---- */

static void assert_key(tl_store *s, const char *uri, const char *want) {
    char *key;
    tl_status status = tl_store_key(s, uri, &key, NULL);
    if (!want) {
        assert_int_equal(status, TL_INVALID);
        assert_null(key);
        return;
    }
    assert_int_equal(status, TL_OK);
    assert_string_equal(key, want);
    tl_free(key);
}

static void every_spelling_of_a_local_uri_is_one_key(void **state) {
    world *w = *state;
    char uri[256];
    const char *forms[] = {"%s/ns/t/f",           "file:%s/ns/t/f", "file://%s/ns/t/f", "file://localhost%s/ns/t/f",
                           "file:%s//ns///t/./f", "//%s/ns/t/f",    "file:///%s/ns/t/f"};
    for (size_t i = 0; i < TL_COUNT(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(uri, sizeof uri, forms[i], w->dir);
#pragma GCC diagnostic pop
        assert_key(w->store, uri, "ns/t/f");
    }
    const char *bad[] = {"%s/../x",       "%s/a/../../x", "%sx/ns/f",        "%s", "%s/",
                         "http://h%s/ns", "ns/t/f",       "file://host%s/x", "",   "s3:/%s/x"};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(uri, sizeof uri, bad[i], w->dir);
#pragma GCC diagnostic pop
        assert_key(w->store, uri, NULL);
    }
    char *made = tl_store_uri(w->store, "a/b c#d?e=ü");
    assert_key(w->store, made, "a/b c#d?e=ü");
    tl_free(made);
}

static void percent_signs_are_read_as_found_on_disk(void **state) {
    world *w = *state;
    char uri[256];
    assert_int_equal(tl_store_put(w->store, "t/a b", text("x"), TL_PUT_LATER, NULL), TL_OK);
    assert_int_equal(tl_store_put(w->store, "t/c%2Fd", text("x"), TL_PUT_LATER, NULL), TL_OK);
    (void)snprintf(uri, sizeof uri, "%s/t/a%%20b", w->store->root_uri);
    assert_key(w->store, uri, "t/a b");
    (void)snprintf(uri, sizeof uri, "%s/t/c%%2Fd", w->store->root_uri);
    assert_key(w->store, uri, "t/c%2Fd");
    (void)snprintf(uri, sizeof uri, "%s/t/%%zz%%4", w->store->root_uri);
    assert_key(w->store, uri, "t/%zz%4");
    (void)snprintf(uri, sizeof uri, "%s/t/%%2e%%2e/%%2e%%2e/%%2e%%2e/etc/passwd", w->store->root_uri);
    assert_key(w->store, uri, "t/%2e%2e/%2e%2e/%2e%2e/etc/passwd");
}

static void a_root_behind_a_link_has_both_spellings(void **state) {
    world *w = *state;
    char link[80], uri[200];
    (void)snprintf(link, sizeof link, "%s-link", w->dir);
    assert_int_equal(symlink(w->dir, link), 0);
    tl_store *s;
    assert_int_equal(tl_store_open(link, false, NULL, &s, NULL), TL_OK);
    (void)snprintf(uri, sizeof uri, "file://%s", w->dir);
    assert_string_equal(s->root_uri, uri);
    (void)snprintf(uri, sizeof uri, "file:%s/n/f", link);
    assert_key(s, uri, "n/f");
    (void)snprintf(uri, sizeof uri, "%s/n/f", w->dir);
    assert_key(s, uri, "n/f");
    tl_store_close(s);
    assert_int_equal(unlink(link), 0);
}

static void locations_are_opened_or_refused_with_a_reason(void **state) {
    world *w = *state;
    tl_store *s;
    tl_error err;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/new/lake/", w->dir);
    assert_int_equal(tl_store_open(path, false, NULL, &s, &err), TL_NOT_FOUND);
    assert_int_equal(tl_store_open(path, true, NULL, &s, &err), TL_OK);
    assert_int_equal(tl_store_put(s, "k", text("x"), TL_PUT_SYNC, NULL), TL_OK);
    char *local = tl_store_local_path(s, "k");
    assert_int_equal(access(local, R_OK), 0);
    tl_free(local);
    tl_store_close(s);
    (void)snprintf(path, sizeof path, "file:%s/new/lake", w->dir);
    assert_int_equal(tl_store_open(path, false, NULL, &s, &err), TL_OK);
    assert_object(s, "k", "x");
    tl_store_close(s);
    (void)snprintf(path, sizeof path, "%s/new/lake/k", w->dir);
    assert_int_equal(tl_store_open(path, true, NULL, &s, &err), TL_IO);
    assert_int_equal(tl_store_open("s3://bucket/lake", true, NULL, &s, &err), TL_UNSUPPORTED);
    assert_non_null(strstr(err.message, "s3://"));
    assert_int_equal(tl_store_open("file://server/lake", true, NULL, &s, &err), TL_INVALID);
    assert_int_equal(tl_store_open("", true, NULL, &s, &err), TL_INVALID);
    assert_int_equal(tl_store_open("file:", true, NULL, &s, &err), TL_INVALID);
}

/* ---- races ---- */

enum { RACERS = 8, ROUNDS = 200 };

typedef struct racer {
    tl_store *store;
    int number;
    int won[ROUNDS];
    pthread_barrier_t *barrier;
} racer;

static void *race(void *arg) {
    racer *r = arg;
    char key[32], mine[32];
    (void)snprintf(mine, sizeof mine, "racer %d", r->number);
    for (int i = 0; i < ROUNDS; i++) {
        (void)snprintf(key, sizeof key, "race/r%d/v%d", i / 10, i);
        (void)pthread_barrier_wait(r->barrier);
        tl_status status = tl_store_put_if_absent(r->store, key, text(mine), i % 50 ? TL_PUT_LATER : TL_PUT_SYNC, NULL);
        r->won[i] = status == TL_OK ? 1 : status == TL_EXISTS ? 0 : -1000;
    }
    return NULL;
}

static void eight_threads_race_and_one_wins_each_time(void **state) {
    tl_store *s = ((world *)*state)->store;
    racer racers[RACERS];
    pthread_t threads[RACERS];
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){.store = s, .number = i, .barrier = &barrier};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    (void)pthread_barrier_destroy(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        char key[32], want[32] = "";
        int winners = 0;
        for (int r = 0; r < RACERS; r++) {
            winners += racers[r].won[i];
            if (racers[r].won[i]) {
                (void)snprintf(want, sizeof want, "racer %d", r);
            }
        }
        assert_int_equal(winners, 1);
        (void)snprintf(key, sizeof key, "race/r%d/v%d", i / 10, i);
        assert_object(s, key, want);
    }
}

/* ---- local disk only ---- */

static void what_killed_writers_left_is_hidden_and_pruned(void **state) {
    world *w = *state;
    char path[128];
    assert_int_equal(tl_store_put(w->store, "t/data/x/f", text("x"), TL_PUT_LATER, NULL), TL_OK);
    assert_int_equal(tl_store_put(w->store, "t/data/name#no", text("x"), TL_PUT_LATER, NULL), TL_OK);
    (void)snprintf(path, sizeof path, "%s/t/data/x/tl-00ff#1", w->dir);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    (void)close(fd);
    (void)snprintf(path, sizeof path, "%s/t/data/gone/deeper", w->dir);
    char command[200];
    (void)snprintf(command, sizeof command, "mkdir -p %s", path);
    assert_int_equal(system(command), 0);
    assert_listing(w->store, "t", true, "t/data/name#no t/data/x/f");
    tl_store_prune(w->store, "t", 3600 * 1000000LL);
    assert_int_equal(access(path, F_OK), 0); /* too young */
    (void)usleep(20000);
    tl_store_prune(w->store, "t", 1000);
    (void)usleep(20000);
    tl_store_prune(w->store, "t", 1000); /* a folder emptied by the first turn is young again */
    assert_int_not_equal(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/t/data/x/tl-00ff#1", w->dir);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_listing(w->store, "t", true, "t/data/name#no t/data/x/f");
}

static void a_removed_folder_is_made_again(void **state) {
    world *w = *state;
    assert_int_equal(tl_store_put(w->store, "t/data/f", text("x"), TL_PUT_SYNC, NULL), TL_OK);
    assert_int_equal(tl_store_remove(w->store, "t/data/f", NULL), TL_OK);
    tl_store_prune(w->store, "t", -1000000);
    tl_store_prune(w->store, "t", -1000000);
    assert_listing(w->store, "", false, "");
    assert_int_equal(tl_store_put(w->store, "t/data/f", text("y"), TL_PUT_SYNC, NULL), TL_OK);
    assert_object(w->store, "t/data/f", "y");
}

static void a_file_size_limit_is_an_error_and_leaves_nothing(void **state) {
    world *w = *state;
    struct rlimit old, small = {1000, RLIM_INFINITY};
    uint8_t *data = calloc(1, 300000);
    tl_error err;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tl_status put = tl_store_put(w->store, "a", (tl_bytes){data, 5000}, TL_PUT_SYNC, &err);
    tl_status put_if = tl_store_put_if_absent(w->store, "b", (tl_bytes){data, 5000}, TL_PUT_SYNC, &err);
    tl_object_writer *wr;
    assert_int_equal(tl_store_open_writer(w->store, "c", TL_PUT_LATER, &wr, NULL), TL_OK);
    assert_int_equal(tl_object_writer_write(w->store, wr, (tl_bytes){data, 5000}, NULL),
                     TL_OK); /* still in the buffer */
    tl_status finish = tl_object_writer_finish(w->store, wr, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(put, TL_IO);
    assert_int_equal(put_if, TL_IO);
    assert_int_equal(finish, TL_IO);
    assert_non_null(strstr(err.message, "/c: "));
    char command[128];
    (void)snprintf(command, sizeof command, "test -z \"$(find %s -type f)\"", w->dir);
    assert_int_equal(system(command), 0);
    free(data);
}

static void a_full_disk_says_so_and_leaves_nothing(void **state) {
    world *w = *state;
    char where[80];
    (void)snprintf(where, sizeof where, "%s/small", w->dir);
    assert_int_equal(mkdir(where, 0700), 0);
    if (mount("none", where, "tmpfs", 0, "size=64k") != 0) {
        print_message("no right to mount a small tmpfs here: skipped\n");
        skip();
    }
    tl_store *s;
    tl_error err = {{0}};
    uint8_t *data = calloc(1, 300000);
    assert_int_equal(tl_store_open(where, false, NULL, &s, NULL), TL_OK);
    tl_status put = tl_store_put_if_absent(s, "t/a", (tl_bytes){data, 300000}, TL_PUT_SYNC, &err);
    tl_status small = tl_store_put(s, "t/b", (tl_bytes){data, 30000}, TL_PUT_SYNC, NULL);
    char names[1000] = "";
    tl_status listed = tl_store_list(s, "", true, add_name, names, NULL);
    tl_store_close(s);
    assert_int_equal(umount(where), 0);
    free(data);
    assert_int_equal(put, TL_IO);
    assert_non_null(strstr(err.message, "No space left"));
    assert_int_equal(small, TL_OK); /* the failed one gave its space back */
    assert_int_equal(listed, TL_OK);
    assert_string_equal(names, "t/b");
}

static void a_read_only_folder_is_an_error(void **state) {
    world *w = *state;
    bool root = geteuid() == 0; /* who may write everywhere, but not on a read-only mount */
    char where[80];
    (void)snprintf(where, sizeof where, "%s/fixed", w->dir);
    assert_int_equal(mkdir(where, 0500), 0);
    if (root && mount("none", where, "tmpfs", MS_RDONLY, "size=64k") != 0) {
        print_message("no right to mount a tmpfs here: skipped\n");
        skip();
    }
    tl_store *s;
    tl_object_writer *wr;
    tl_error err = {{0}};
    assert_int_equal(tl_store_open(where, true, NULL, &s, NULL), TL_OK);
    tl_status put = tl_store_put(s, "t/a", text("x"), TL_PUT_SYNC, &err);
    tl_status put_if = tl_store_put_if_absent(s, "a", text("x"), TL_PUT_SYNC, NULL);
    tl_status opened = tl_store_open_writer(s, "t/a", TL_PUT_LATER, &wr, NULL);
    tl_store_close(s);
    if (root) {
        assert_int_equal(umount(where), 0);
    }
    assert_int_equal(put, TL_IO);
    assert_non_null(strstr(err.message, root ? "Read-only" : "Permission denied"));
    assert_int_equal(put_if, TL_IO);
    assert_int_equal(opened, TL_IO);
}

static void a_fifo_or_folder_is_not_an_object(void **state) {
    world *w = *state;
    char path[80];
    (void)snprintf(path, sizeof path, "%s/pipe", w->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    tl_buf b = {0};
    assert_int_equal(tl_store_get(w->store, "pipe", &b, NULL), TL_NOT_FOUND);
    tl_buf_free(&b);
}

/* ---- memory only ---- */

static void stores_of_one_name_share_objects(void **state) {
    (void)state;
    tl_store *a, *b, *c;
    assert_int_equal(tl_store_open("memory://shared/", false, NULL, &a, NULL), TL_OK);
    assert_int_equal(tl_store_open("memory://shared", false, NULL, &b, NULL), TL_OK);
    assert_int_equal(tl_store_open("memory://other", false, NULL, &c, NULL), TL_OK);
    assert_int_equal(tl_store_put(a, "k", text("x"), TL_PUT_LATER, NULL), TL_OK);
    assert_object(b, "k", "x");
    assert_false(tl_store_exists(c, "k"));
    assert_key(a, "memory://shared/n/t", "n/t");
    assert_key(a, "memory://other/n/t", NULL);
    assert_key(a, "file:///shared/n/t", NULL);
    tl_store_close(a);
    assert_object(b, "k", "x");
    tl_store_close(b);
    tl_store_close(c);
    assert_int_equal(tl_store_open("memory://shared", false, NULL, &a, NULL), TL_OK);
    assert_false(tl_store_exists(a, "k"));
    tl_store_close(a);
}

/* ---- faulty ---- */

static void faults_strike_where_the_script_says(void **state) {
    world *w = *state;
    tl_store *f;
    assert_int_equal(tl_faulty_open(w->store, &f, NULL), TL_OK);
    tl_fault_rule rules[] = {
        {.ops = TL_OP_PUT_IF_ABSENT, .key_part = "v1", .nth = 1, .fault = TL_FAULT_LOST_AFTER},
        {.ops = TL_OP_PUT_IF_ABSENT, .key_part = "v2", .nth = 1, .fault = TL_FAULT_LOST_BEFORE},
        {.ops = TL_OP_PUT_IF_ABSENT, .key_part = "v3", .nth = 1, .fault = TL_FAULT_LATE, .late = 3},
        {.ops = TL_OP_PUT, .nth = 2, .times = 2, .fault = TL_FAULT_NO_SPACE},
        {.ops = TL_OP_GET, .key_part = "torn", .fault = TL_FAULT_TORN},
    };
    tl_faulty_script(f, rules, TL_COUNT(rules));
    assert_int_equal(tl_store_put_if_absent(f, "v1", text("x"), TL_PUT_SYNC, NULL), TL_UNKNOWN);
    assert_object(w->store, "v1", "x");
    assert_int_equal(tl_store_put_if_absent(f, "v2", text("x"), TL_PUT_SYNC, NULL), TL_UNKNOWN);
    assert_false(tl_store_exists(w->store, "v2"));
    assert_int_equal(tl_store_put_if_absent(f, "v3", text("x"), TL_PUT_SYNC, NULL), TL_UNKNOWN);
    assert_false(tl_store_exists(f, "v3"));
    assert_false(tl_store_exists(f, "v3"));
    assert_true(tl_store_exists(f, "v3"));
    assert_int_equal(tl_store_put(f, "torn", text("0123456789"), TL_PUT_SYNC, NULL), TL_OK);
    assert_int_equal(tl_store_put(f, "a", text("x"), TL_PUT_SYNC, NULL), TL_IO);
    assert_int_equal(tl_store_put(f, "a", text("x"), TL_PUT_SYNC, NULL), TL_IO);
    assert_int_equal(tl_store_put(f, "a", text("x"), TL_PUT_SYNC, NULL), TL_OK);
    assert_object(f, "torn", "01234");
    assert_int_equal(tl_faulty_count(f), 11);
    tl_faulty_script(f, NULL, 0);
    tl_object_writer *wr;
    assert_int_equal(tl_store_open_writer(f, "later", TL_PUT_LATER, &wr, NULL), TL_OK);
    assert_int_equal(tl_object_writer_finish(f, wr, NULL), TL_OK);
    assert_int_equal(tl_store_put(f, "synced", text("x"), TL_PUT_LATER, NULL), TL_OK);
    const char *key = "synced";
    assert_int_equal(tl_store_sync(f, &key, 1, NULL), TL_OK);
    tl_faulty_power_cut(f);
    assert_false(tl_store_exists(f, "later"));
    assert_true(tl_store_exists(f, "synced"));
    tl_store_close(f);
    w->store = NULL;
    assert_int_equal(tl_store_open("memory://", false, NULL, &w->store, NULL), TL_OK);
}

/* ---- memory that ends ---- */

static void use_everything(tl_store *s) {
    tl_buf b = {0};
    tl_object_writer *w;
    char names[1000] = "", *key;
    const char *keys[] = {"o/a/b", "o/a/w"};
    (void)!tl_store_put(s, keys[0], text("x"), TL_PUT_LATER, NULL);
    if (tl_store_open_writer(s, keys[1], TL_PUT_LATER, &w, NULL) == TL_OK) {
        if (tl_object_writer_write(s, w, text("abc"), NULL) == TL_OK) {
            (void)!tl_object_writer_finish(s, w, NULL);
        } else {
            tl_object_writer_abort(s, w);
        }
    }
    (void)!tl_store_sync(s, keys, 2, NULL);
    (void)!tl_store_put_after(s, "after", text("x"), keys, 2, NULL);
    (void)!tl_store_get(s, keys[0], &b, NULL);
    (void)!tl_store_list(s, "", true, add_name, names, NULL);
    if (tl_store_key(s, "file:///tmp/x%20y", &key, NULL) == TL_OK) {
        tl_free(key);
    }
    key = tl_store_uri(s, "k");
    tl_free(key);
    tl_store_prune(s, "o", 0);
    tl_buf_free(&b);
}

static void no_failed_allocation_leaks_or_crashes(void **state) {
    world *w = *state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = NULL;
        (void)tl_mem_fail_at(n);
        tl_status status = tl_store_open(w->dir[0] ? w->dir : "memory://n", true, NULL, &s, NULL);
        if (status == TL_OK) {
            use_everything(s);
        }
        uint64_t made = tl_mem_fail_at(0);
        tl_store_close(s);
        if (made < n) {
            assert_int_equal(status, TL_OK);
            break;
        }
    }
}

#define BOTH(f)                                                                                                        \
    {"local: " #f, f, set_up_local, tear_down, NULL}, {                                                                \
        "memory: " #f, f, set_up_memory, tear_down, NULL                                                               \
    }
#define LOCAL(f)                                                                                                       \
    { "local: " #f, f, set_up_local, tear_down, NULL }

int main(void) {
    const struct CMUnitTest tests[] = {
        BOTH(put_then_get_gives_the_bytes),
        BOTH(ranges_are_exact_or_an_error),
        BOTH(a_missing_object_is_not_found),
        BOTH(put_if_absent_keeps_the_first),
        BOTH(a_writer_is_seen_only_when_finished),
        BOTH(an_aborted_writer_leaves_nothing),
        BOTH(listing_is_sorted_and_names_folders),
        BOTH(removing_is_repeatable),
        BOTH(removing_many_keeps_the_order_and_ends_at_a_bad_one),
        BOTH(sync_takes_many_keys_and_notices_a_missing_one),
        BOTH(a_put_after_others_waits_for_them_and_keeps_the_first),
        BOTH(keys_cannot_leave_the_root),
        BOTH(eight_threads_race_and_one_wins_each_time),
        BOTH(no_failed_allocation_leaks_or_crashes),
        LOCAL(every_spelling_of_a_local_uri_is_one_key),
        LOCAL(percent_signs_are_read_as_found_on_disk),
        LOCAL(a_root_behind_a_link_has_both_spellings),
        LOCAL(locations_are_opened_or_refused_with_a_reason),
        LOCAL(what_killed_writers_left_is_hidden_and_pruned),
        LOCAL(a_removed_folder_is_made_again),
        LOCAL(a_file_size_limit_is_an_error_and_leaves_nothing),
        LOCAL(a_full_disk_says_so_and_leaves_nothing),
        LOCAL(a_read_only_folder_is_an_error),
        LOCAL(a_fifo_or_folder_is_not_an_object),
        cmocka_unit_test(stores_of_one_name_share_objects),
        cmocka_unit_test_setup_teardown(faults_strike_where_the_script_says, set_up_memory, tear_down),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
