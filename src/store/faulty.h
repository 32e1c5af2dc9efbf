/*
 * A store that wraps another and fails by a script: for tests and simulation. Comes in: a store and rules. Goes out: a
 * store that does what the inner one does, except where a rule says otherwise, and that can lose its power.
 */
#ifndef TL_STORE_FAULTY_H
#define TL_STORE_FAULTY_H

#include "store/store.h"

typedef enum tl_fault_op {
    TL_OP_GET = 1,
    TL_OP_SIZE = 2,
    TL_OP_PUT = 4,
    TL_OP_PUT_IF_ABSENT = 8,
    TL_OP_WRITER_OPEN = 16,
    TL_OP_WRITER_WRITE = 32,
    TL_OP_WRITER_FINISH = 64,
    TL_OP_LIST = 128,
    TL_OP_REMOVE = 256,
    TL_OP_SYNC = 512,
    TL_OP_ANY = 1023
} tl_fault_op;

typedef enum tl_fault {
    TL_FAULT_NONE,        /* only counts, and calls `before` */
    TL_FAULT_LOST_AFTER,  /* done, but the reply is lost: TL_UNKNOWN for put-if-absent, TL_IO for others */
    TL_FAULT_LOST_BEFORE, /* not done, and the reply is lost: the same statuses */
    TL_FAULT_LATE,        /* as LOST_BEFORE, but the put happens after `late` more operations (puts only) */
    TL_FAULT_EXISTS,      /* put-if-absent: TL_EXISTS though nothing is there; others: TL_IO */
    TL_FAULT_NO_SPACE,    /* not done, definitely: TL_IO "no space left" */
    TL_FAULT_IO,          /* not done, definitely: TL_IO */
    TL_FAULT_TORN,        /* half of the bytes are there, TL_IO (put-if-absent: TL_UNKNOWN); reads give half, TL_OK */
    TL_FAULT_NO_MEMORY    /* not done: TL_NO_MEMORY */
} tl_fault;

typedef struct tl_fault_rule {
    unsigned ops;         /* tl_fault_op bits */
    const char *key_part; /* only keys that contain this; NULL = all. Borrowed */
    uint64_t nth;         /* the n-th matching operation, from 1; 0 = every one */
    uint64_t times;       /* how many from there on; 0 = 1 */
    tl_fault fault;
    uint64_t late;
    void (*before)(void *ctx, const char *key); /* called without locks when the rule strikes: another writer's turn */
    void *ctx;
    uint64_t seen; /* matching operations so far */
} tl_fault_rule;

/* Takes `inner` (closed with the wrapper). The script is empty at first. */
tl_status tl_faulty_open(tl_store *inner, tl_store **out, tl_error *err) TL_CHECKED;

/* Replaces the script. The rules are copied, their counts start at 0. At most 16. */
void tl_faulty_script(tl_store *faulty, const tl_fault_rule *rules, size_t n);
/* Operations so far. */
uint64_t tl_faulty_count(const tl_store *faulty);
/* The power goes: what was put and not synced is gone from the inner store, puts that were to come late never come. */
void tl_faulty_power_cut(tl_store *faulty);
/* Puts that were to come late come now. */
void tl_faulty_deliver(tl_store *faulty);

#endif
