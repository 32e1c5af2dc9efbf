/* What is remembered: found again, kept while in use, gone when there is too much of it. */
#include "base/memo.h"

#include <cmocka.h>
#include <pthread.h>

#include "base/mem.h"

typedef struct number {
    tl_memo memo;
    uint64_t value;
} number;

static _Atomic int alive;

static void number_free(tl_memo *m) {
    alive--;
    tl_free(m);
}

static number *make(uint64_t value, size_t bytes) {
    number *n = tl_calloc(1, sizeof *n);
    assert_non_null(n);
    n->memo.references = 1;
    n->memo.bytes = bytes;
    n->memo.free = number_free;
    n->value = value;
    alive++;
    return n;
}

static void keep(uint64_t value, size_t bytes) {
    number *n = make(value, bytes);
    tl_memo_keep(&n->memo, value, ~value);
    tl_memo_release(&n->memo);
}

static void a_value_is_found_until_it_is_forgotten(void **state) {
    (void)state;
    keep(7, 100);
    keep(7 + 4096, 100); /* the same slot */
    number *n = (number *)tl_memo_find(7, ~(uint64_t)7);
    assert_non_null(n);
    assert_int_equal(n->value, 7);
    assert_null(tl_memo_find(7, 8));
    keep(7, 100); /* the one that is there stays */
    assert_int_equal(alive, 2);
    tl_memo_forget();
    assert_null(tl_memo_find(7, ~(uint64_t)7));
    assert_int_equal(n->value, 7); /* in use */
    assert_int_equal(alive, 1);
    tl_memo_release(&n->memo);
    assert_int_equal(alive, 0);
}

static void the_least_recently_used_go_first(void **state) {
    (void)state;
    enum { MANY = 100 };
    keep(0, (size_t)64 << 20); /* more than there is room for: not kept at all */
    assert_int_equal(alive, 0);
    for (uint64_t i = 1; i <= MANY; i++) {
        keep(i, 1 << 20);
        tl_memo_release(tl_memo_find(1, ~(uint64_t)1));
    }
    assert_int_equal(alive, 32);
    tl_memo *first = tl_memo_find(1, ~(uint64_t)1);
    assert_non_null(first);
    tl_memo_release(first);
    assert_null(tl_memo_find(2, ~(uint64_t)2));
    tl_memo_forget();
    assert_int_equal(alive, 0);
}

static void *use(void *arg) {
    uint64_t at = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < 3000; i++) {
        uint64_t value = (at = at * 6364136223846793005u + 1) >> 58;
        number *n = (number *)tl_memo_find(value, ~value);
        if (n) {
            assert_int_equal(n->value, value);
            tl_memo_release(&n->memo);
        } else {
            keep(value, (size_t)1 << 20);
        }
        if (i % 500 == 0) {
            tl_memo_forget();
        }
    }
    return NULL;
}

static void many_threads_may_remember_at_once(void **state) {
    (void)state;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    tl_memo_forget();
    assert_int_equal(alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_found_until_it_is_forgotten),
        cmocka_unit_test(the_least_recently_used_go_first),
        cmocka_unit_test(many_threads_may_remember_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
