/* A hash table of values, and a list of them by last use; see memo.h. */
#include "base/memo.h"

#include "base/lock.h"

enum { SLOTS = 4096 };
#define BYTES_MOST ((size_t)32 << 20)

static tl_lock lock = TL_LOCK_READY;
static tl_memo *slots[SLOTS];
static tl_memo *newest, *oldest;
static size_t bytes_held;

static tl_memo **slot_of(uint64_t a) {
    return &slots[a % SLOTS];
}

static void unlink_use(tl_memo *m) {
    *(m->newer ? &m->newer->older : &newest) = m->older;
    *(m->older ? &m->older->newer : &oldest) = m->newer;
}

static void link_newest(tl_memo *m) {
    m->newer = NULL;
    m->older = newest;
    *(newest ? &newest->newer : &oldest) = m;
    newest = m;
}

/* The lock is held. */
static tl_memo *find(uint64_t a, uint64_t b) {
    tl_memo *m = *slot_of(a);
    while (m && (m->a != a || m->b != b)) {
        m = m->next;
    }
    return m;
}

tl_memo *tl_memo_find(uint64_t a, uint64_t b) {
    tl_lock_take(&lock);
    tl_memo *m = find(a, b);
    if (m) {
        m->references++;
        unlink_use(m);
        link_newest(m);
    }
    tl_lock_give(&lock);
    return m;
}

/* Out of slot and list, onto the list `gone`, whose values are freed without the lock. */
static void take_out(tl_memo *m, tl_memo **gone) {
    tl_memo **at = slot_of(m->a);
    while (*at != m) {
        at = &(*at)->next;
    }
    *at = m->next;
    unlink_use(m);
    bytes_held -= m->bytes;
    m->next = *gone;
    *gone = m;
}

static void release_all(tl_memo *gone) {
    while (gone) {
        tl_memo *next = gone->next;
        tl_memo_release(gone);
        gone = next;
    }
}

void tl_memo_keep(tl_memo *m, uint64_t a, uint64_t b) {
    tl_memo *gone = NULL;
    if (m->bytes > BYTES_MOST / 4) {
        return;
    }
    tl_lock_take(&lock);
    if (!find(a, b)) {
        m->a = a;
        m->b = b;
        m->references++;
        m->next = *slot_of(a);
        *slot_of(a) = m;
        link_newest(m);
        bytes_held += m->bytes;
        while (bytes_held > BYTES_MOST) {
            take_out(oldest, &gone);
        }
    }
    tl_lock_give(&lock);
    release_all(gone);
}

void tl_memo_release(tl_memo *m) {
    if (m && --m->references == 0) {
        m->free(m);
    }
}

void tl_memo_forget(void) {
    tl_memo *gone = NULL;
    tl_lock_take(&lock);
    while (oldest) {
        take_out(oldest, &gone);
    }
    tl_lock_give(&lock);
    release_all(gone);
}
