/* Errors, memory, arena, buffers, hashes, UUIDs and the pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"

static void error_texts_are_one_line_and_cut_at_the_end(void **state) {
    (void)state;
    tl_error err;
    assert_int_equal(tl_fail(&err, TL_IO, "line %d\nline %d", 1, 2), TL_IO);
    assert_string_equal(err.message, "line 1 line 2");
    tl_error_prefix(&err, "file %s: ", "x");
    assert_string_equal(err.message, "file x: line 1 line 2");
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)tl_fail(&err, TL_IO, "%s", longer);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_int_equal(tl_fail(NULL, TL_CORRUPT, "nobody listens"), TL_CORRUPT);
}

static void every_status_has_a_name(void **state) {
    (void)state;
    const tl_status all[] = {TL_OK, TL_INVALID, TL_NOT_FOUND,   TL_EXISTS,    TL_CONFLICT,  TL_UNKNOWN, TL_FULL,
                             TL_IO, TL_CORRUPT, TL_UNSUPPORTED, TL_NO_MEMORY, TL_CANCELLED, TL_INTERNAL};
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        assert_string_not_equal(tl_status_name(all[i]), "unknown status");
    }
}

static void floor_division_rounds_down_below_zero(void **state) {
    (void)state;
    assert_int_equal(tl_floor_div(-1, 3600), -1);
    assert_int_equal(tl_floor_div(-3600, 3600), -1);
    assert_int_equal(tl_floor_div(-3601, 3600), -2);
    assert_int_equal(tl_floor_div(3599, 3600), 0);
    assert_int_equal(tl_floor_div(INT64_MIN, 1), INT64_MIN);
}

static void sizes_that_wrap_are_refused(void **state) {
    (void)state;
    assert_null(tl_alloc_array(SIZE_MAX / 2, 3));
    assert_null(tl_calloc(SIZE_MAX, SIZE_MAX));
    tl_arena arena = {0};
    assert_null(tl_arena_array(&arena, SIZE_MAX / 2, 3));
    tl_arena_free(&arena);
    tl_buf b = {0};
    assert_int_equal(tl_buf_add(&b, "x", 1), TL_OK);
    assert_int_equal(tl_buf_reserve(&b, SIZE_MAX), TL_NO_MEMORY);
    assert_int_equal(b.len, 1);
    tl_buf_free(&b);
}

static void allocations_fail_from_the_nth_on(void **state) {
    (void)state;
    (void)tl_mem_fail_at(3);
    void *a = tl_alloc(1), *b = tl_alloc(1), *c = tl_alloc(1), *d = tl_calloc(1, 1);
    assert_int_equal(tl_mem_fail_at(0), 4);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(c);
    assert_null(d);
    tl_free(a);
    tl_free(b);
}

static void an_array_that_grows_keeps_what_is_in_it_and_fails_in_one_piece(void **state) {
    (void)state;
    tl_error err;
    size_t cap = 0;
    uint32_t *items = NULL;
    for (uint32_t i = 0; i < 1000; i++) {
        items = tl_grow(items, &cap, i + 1, 16, sizeof *items, &err);
        assert_non_null(items);
        items[i] = i;
    }
    assert_true(cap >= 1000 && cap < 2048);
    assert_int_equal(items[0], 0);
    assert_int_equal(items[999], 999);
    size_t before = cap;
    assert_null(tl_grow(items, &cap, SIZE_MAX / 2, 16, sizeof *items, &err)); /* the size wraps */
    assert_int_equal(cap, before);
    tl_mem_fail_at(1);
    assert_null(tl_grow(items, &cap, cap + 1, 16, sizeof *items, &err));
    tl_mem_fail_at(0);
    assert_int_equal(cap, before);
    assert_int_equal(items[999], 999);
    tl_free(items);
}

static void an_arena_gives_aligned_zeroed_pieces_and_obeys_its_limit(void **state) {
    (void)state;
    tl_arena arena = {.limit = 100000};
    for (size_t i = 0; i < 1000; i++) {
        uint8_t *p = tl_arena_alloc(&arena, 1 + i % 70);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < 1 + i % 70; k++) {
            assert_int_equal(p[k], 0);
            p[k] = 0xff;
        }
    }
    assert_string_equal(tl_arena_format(&arena, "%s-%d", "a", 7), "a-7");
    assert_null(tl_arena_alloc(&arena, 100000));
    tl_arena_free(&arena);
    assert_non_null(tl_arena_alloc(&arena, 10)); /* usable again */
    tl_arena_free(&arena);
}

static void a_buffer_keeps_what_was_added(void **state) {
    (void)state;
    tl_buf b = {0};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(tl_buf_printf(&b, "%d,", i), TL_OK);
    }
    assert_memory_equal(b.data, "0,1,2,", 6);
    assert_memory_equal(b.data + b.len - 8, "998,999,", 8);
    char *text = tl_buf_take_text(&b);
    assert_non_null(text);
    assert_int_equal(strlen(text), 3890);
    assert_int_equal(b.len, 0);
    tl_free(text);
}

static void bits_are_counted_at_any_offset(void **state) {
    (void)state;
    uint8_t bits[40] = {0};
    for (int64_t i = 0; i < 300; i += 3) {
        tl_bit_set(bits, i);
    }
    for (int64_t from = 0; from < 80; from++) {
        for (int64_t n = 0; from + n <= 300; n += 7) {
            int64_t expected = 0;
            for (int64_t i = from; i < from + n; i++) {
                expected += i % 3 == 0;
            }
            assert_int_equal(tl_bits_count(bits, from, n), expected);
        }
    }
}

static void hashes_mix_every_byte_into_the_low_bits(void **state) {
    (void)state;
    int hits[256] = {0}; /* names that differ in one high byte must spread over 256 slots */
    for (int i = 0; i < 2560; i++) {
        char name[32];
        int n = snprintf(name, sizeof name, "machine-%04d-temperature", i);
        hits[tl_hash_bytes(name, (size_t)n, 0) & 255]++;
    }
    for (int i = 0; i < 256; i++) {
        assert_in_range(hits[i], 0, 40);
    }
    assert_true(tl_hash_bytes("ab", 2, 0) != tl_hash_bytes("ab\0", 3, 0));
}

static void uuids_have_their_form_and_version(void **state) {
    (void)state;
    tl_env_fixed fixed = {.seed = 1, .clock_us = 1764547200000000, .step_us = 1000};
    tl_env env = tl_env_seeded(&fixed);
    char four[TL_UUID_TEXT], seven[TL_UUID_TEXT], later[TL_UUID_TEXT], again[TL_UUID_TEXT];
    tl_uuid4(&env, four);
    tl_uuid7(&env, seven);
    tl_uuid7(&env, later);
    assert_int_equal(four[14], '4');
    assert_int_equal(seven[14], '7');
    assert_true(strncmp(seven, later, 13) < 0);
    uint8_t raw[16];
    assert_true(tl_uuid_parse(tl_bytes_of(four), raw));
    tl_uuid_format(raw, again);
    assert_string_equal(four, again);
    assert_false(tl_uuid_parse(tl_bytes_of("0123"), raw));
    assert_false(tl_uuid_parse(tl_bytes_of("g1234567-0000-0000-0000-000000000000"), raw));
}

static void random_numbers_below_n_reach_every_value(void **state) {
    (void)state;
    bool seen[7] = {0};
    for (int i = 0; i < 500; i++) {
        uint64_t v = tl_env_random_below(tl_env_default(), 7);
        assert_in_range(v, 0, 6);
        seen[v] = true;
    }
    for (int i = 0; i < 7; i++) {
        assert_true(seen[i]);
    }
}

static tl_status count_task(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)err;
    _Atomic int *done = ctx;
    assert_in_range(worker, 0, 3);
    done[i]++;
    return TL_OK;
}

static void a_pool_runs_every_task_once(void **state) {
    (void)state;
    tl_pool *pool;
    assert_int_equal(tl_pool_create(4, &pool, NULL), TL_OK);
    for (int round = 0; round < 200; round++) {
        _Atomic int done[37] = {0};
        assert_int_equal(tl_pool_run(pool, TL_COUNT(done), count_task, done, NULL), TL_OK);
        for (size_t i = 0; i < TL_COUNT(done); i++) {
            assert_int_equal(done[i], 1);
        }
    }
    tl_pool_free(pool);
}

static tl_status failing_task(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)ctx;
    (void)worker;
    return i % 10 == 3 ? tl_fail(err, TL_INVALID, "task %zu", i) : TL_OK;
}

static void the_first_failure_of_a_pool_is_the_one_reported(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        tl_pool *pool;
        tl_error err;
        assert_int_equal(tl_pool_create(threads, &pool, NULL), TL_OK);
        assert_int_equal(tl_pool_run(pool, 100, failing_task, NULL, &err), TL_INVALID);
        assert_string_equal(err.message, "task 3");
        tl_pool_free(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_texts_are_one_line_and_cut_at_the_end),
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(floor_division_rounds_down_below_zero),
        cmocka_unit_test(sizes_that_wrap_are_refused),
        cmocka_unit_test(allocations_fail_from_the_nth_on),
        cmocka_unit_test(an_arena_gives_aligned_zeroed_pieces_and_obeys_its_limit),
        cmocka_unit_test(a_buffer_keeps_what_was_added),
        cmocka_unit_test(bits_are_counted_at_any_offset),
        cmocka_unit_test(an_array_that_grows_keeps_what_is_in_it_and_fails_in_one_piece),
        cmocka_unit_test(hashes_mix_every_byte_into_the_low_bits),
        cmocka_unit_test(uuids_have_their_form_and_version),
        cmocka_unit_test(random_numbers_below_n_reach_every_value),
        cmocka_unit_test(a_pool_runs_every_task_once),
        cmocka_unit_test(the_first_failure_of_a_pool_is_the_one_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
