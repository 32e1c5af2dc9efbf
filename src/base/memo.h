/*
 * What the process remembers of objects that never change: the one place for it, with one limit of memory. Comes in: a
 * value under the identity of what it was made of (128 bits of a hash). Goes out: the same value, to whoever asks next;
 * or nothing, when it had to go. The least recently used go first. For many threads at once; values are immutable.
 */
#ifndef TL_BASE_MEMO_H
#define TL_BASE_MEMO_H

#include <stdatomic.h>

#include "base/base.h"

/* The first member of what is remembered. */
typedef struct tl_memo {
    _Atomic int references;
    uint64_t a, b; /* who it is; both from one hash function with different seeds */
    size_t bytes;  /* of memory, about */
    void (*free)(struct tl_memo *m);
    struct tl_memo *next, *newer, *older; /* of the store */
} tl_memo;

/* Retained; NULL = not there. */
tl_memo *tl_memo_find(uint64_t a, uint64_t b);
/* Keeps a reference of its own to `m`, whose references, bytes and free are set; gives it its identity. A value that is
 * there already under it stays. */
void tl_memo_keep(tl_memo *m, uint64_t a, uint64_t b);
void tl_memo_release(tl_memo *m); /* NULL is fine */
/* Lets go of everything; what is in use stays until it is released. */
void tl_memo_forget(void);

#endif
