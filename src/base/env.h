/*
 * The outer world that is not storage: clock, random numbers, sleep. A table of functions, so that tests and the
 * simulator decide what time it is and what the dice show.
 */
#ifndef TL_BASE_ENV_H
#define TL_BASE_ENV_H

#include "base/base.h"

typedef struct tl_env {
    int64_t (*now_us)(void *ctx);                     /* microseconds since 1970-01-01 UTC */
    int64_t (*monotonic_us)(void *ctx);               /* for measuring spans */
    void (*random)(void *ctx, void *out, size_t len); /* unpredictable bytes; never fails */
    void (*sleep_us)(void *ctx, int64_t us);
    void *ctx;
} tl_env;

/* The machine's clock and random numbers. Static. */
const tl_env *tl_env_default(void);

static inline int64_t tl_env_now_us(const tl_env *env) {
    return env->now_us(env->ctx);
}
static inline int64_t tl_env_monotonic_us(const tl_env *env) {
    return env->monotonic_us(env->ctx);
}
uint64_t tl_env_random_u64(const tl_env *env);
uint64_t tl_env_random_below(const tl_env *env, uint64_t n); /* 0 <= result < n, even; n > 0 */

#define TL_UUID_TEXT 37 /* 36 characters and NUL */
void tl_uuid4(const tl_env *env, char out[TL_UUID_TEXT]);
void tl_uuid7(const tl_env *env, char out[TL_UUID_TEXT]); /* sortable by time: data files, table uuids */
bool tl_uuid_parse(tl_bytes text, uint8_t out[16]);       /* 8-4-4-4-12 hex digits, any case */
void tl_uuid_format(const uint8_t uuid[16], char out[TL_UUID_TEXT]);

/* A seeded environment for tests: the clock starts at `start_us` and each look at it moves on by `step_us`; sleeping
 * moves it too; random numbers follow from the seed. Put `out` where `ctx` storage must outlive it. */
typedef struct tl_env_fixed {
    uint64_t seed;
    int64_t clock_us, step_us;
} tl_env_fixed;
tl_env tl_env_seeded(tl_env_fixed *state);

/* The next of a row of numbers that look random and are not secret (splitmix64): all that follows from a seed, in tests
 * and in the seeded environment. */
static inline uint64_t tl_seeded_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
