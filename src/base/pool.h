/*
 * A pool of threads of our own. Comes in: a number of tasks and a function. Goes out: all tasks done.
 * Built with TL_NO_THREADS (WebAssembly), or with one thread, tasks run in the caller.
 */
#ifndef TL_BASE_POOL_H
#define TL_BASE_POOL_H

#include "base/base.h"

typedef struct tl_pool tl_pool;

/* `threads` in all, the caller's among them; 0 = one per core. Caller frees. */
tl_status tl_pool_create(unsigned threads, tl_pool **out, tl_error *err) TL_CHECKED;
void tl_pool_free(tl_pool *pool);
unsigned tl_pool_threads(const tl_pool *pool); /* 1 for NULL */

/* Runs task(ctx, i, worker) for i = 0 .. n-1 and returns when all are done; the caller works too. `worker` is below
 * tl_pool_threads, for per-thread scratch. The first failure (by task number) is returned with its message; later
 * tasks are skipped once one has failed. `pool` NULL runs in the caller. Not re-entrant: one run at a time. */
typedef tl_status (*tl_task)(void *ctx, size_t i, unsigned worker, tl_error *err);
tl_status tl_pool_run(tl_pool *pool, size_t n, tl_task task, void *ctx, tl_error *err) TL_CHECKED;

unsigned tl_core_count(void);

#endif
