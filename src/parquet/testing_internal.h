/*
 * For the tests of this room: seeded random numbers and the statuses that must be TL_OK. TL_SEED sets the seed; it is
 * printed, so that a failure can be run again.
 */
#ifndef TL_PARQUET_TESTING_INTERNAL_H
#define TL_PARQUET_TESTING_INTERNAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/env.h"

typedef struct tl_dice {
    uint64_t state;
} tl_dice;

static inline tl_dice tl_dice_new(void) {
    const char *text = getenv("TL_SEED");
    tl_dice d = {text ? strtoull(text, NULL, 10) : 20261129};
    print_message("seed %llu\n", (unsigned long long)d.state);
    return d;
}

/* splitmix64 */
static inline uint64_t tl_dice_u64(tl_dice *d) {
    return tl_seeded_next(&d->state);
}

static inline uint64_t tl_dice_below(tl_dice *d, uint64_t n) {
    return tl_dice_u64(d) % n;
}
static inline bool tl_dice_one_in(tl_dice *d, uint64_t n) {
    return tl_dice_below(d, n) == 0;
}

/* The status must be TL_OK; the message says why it is not. */
#define TL_OKAY(call)                                                                                                  \
    do {                                                                                                               \
        tl_error err = {{0}};                                                                                          \
        tl_status status_ = (call);                                                                                    \
        if (status_ != TL_OK) {                                                                                        \
            fail_msg("%s: %s %s", #call, tl_status_name(status_), err.message);                                        \
        }                                                                                                              \
    } while (0)

#endif
