/* Clock, random numbers, sleep and UUIDs of the machine, and a seeded world for tests. */
#include "base/env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static int64_t clock_us(clockid_t which) {
    struct timespec t;
    (void)clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t machine_now(void *ctx) {
    (void)ctx;
    return clock_us(CLOCK_REALTIME);
}

static int64_t machine_monotonic(void *ctx) {
    (void)ctx;
    return clock_us(CLOCK_MONOTONIC);
}

static void machine_random(void *ctx, void *out, size_t len) {
    (void)ctx;
    uint8_t *p = out;
    while (len) {
        ssize_t n = getrandom(p, len > 256 ? 256 : len, 0);
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        } else if (errno != EINTR) {
            /* A kernel without getrandom: the clock is a poor but working source of distinct names. */
            for (; len; len--, p++) {
                *p = (uint8_t)(clock_us(CLOCK_MONOTONIC) * 2654435761u >> 13);
            }
        }
    }
}

static void machine_sleep(void *ctx, int64_t us) {
    (void)ctx;
    struct timespec t = {us / 1000000, (us % 1000000) * 1000};
    (void)nanosleep(&t, NULL);
}

const tl_env *tl_env_default(void) {
    static const tl_env env = {machine_now, machine_monotonic, machine_random, machine_sleep, NULL};
    return &env;
}

uint64_t tl_env_random_u64(const tl_env *env) {
    uint64_t v;
    env->random(env->ctx, &v, sizeof v);
    return v;
}

uint64_t tl_env_random_below(const tl_env *env, uint64_t n) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, v;
    do {
        v = tl_env_random_u64(env);
    } while (v >= limit);
    return v % n;
}

void tl_uuid_format(const uint8_t u[16], char out[TL_UUID_TEXT]) {
    (void)snprintf(out, TL_UUID_TEXT, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
                   u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tl_uuid_parse(tl_bytes text, uint8_t out[16]) {
    if (text.len != 36) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < 36;) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.data[i++] != '-') {
                return false;
            }
            continue;
        }
        int hi = hex_digit(text.data[i]), lo = hex_digit(text.data[i + 1]);
        if (hi < 0 || lo < 0) {
            return false;
        }
        out[n++] = (uint8_t)(hi * 16 + lo);
        i += 2;
    }
    return true;
}

static void uuid_text(uint8_t u[16], unsigned version, char out[TL_UUID_TEXT]) {
    u[6] = (uint8_t)((u[6] & 0x0f) | version << 4);
    u[8] = (uint8_t)((u[8] & 0x3f) | 0x80);
    tl_uuid_format(u, out);
}

void tl_uuid4(const tl_env *env, char out[TL_UUID_TEXT]) {
    uint8_t u[16];
    env->random(env->ctx, u, sizeof u);
    uuid_text(u, 4, out);
}

void tl_uuid7(const tl_env *env, char out[TL_UUID_TEXT]) {
    uint8_t u[16];
    env->random(env->ctx, u, sizeof u);
    uint64_t ms = (uint64_t)(tl_env_now_us(env) / 1000);
    for (int i = 0; i < 6; i++) {
        u[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    uuid_text(u, 7, out);
}

static int64_t seeded_now(void *ctx) {
    tl_env_fixed *s = ctx;
    int64_t now = s->clock_us;
    s->clock_us += s->step_us;
    return now;
}

static void seeded_random(void *ctx, void *out, size_t len) {
    tl_env_fixed *s = ctx;
    for (uint8_t *p = out; len; len--, p++) {
        *p = (uint8_t)(tl_seeded_next(&s->seed) >> 24);
    }
}

static void seeded_sleep(void *ctx, int64_t us) {
    ((tl_env_fixed *)ctx)->clock_us += us;
}

tl_env tl_env_seeded(tl_env_fixed *state) {
    return (tl_env){seeded_now, seeded_now, seeded_random, seeded_sleep, state};
}
