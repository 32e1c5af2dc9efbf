/* The thread pool: workers wait for a run, take task numbers from one counter, and report when it is used up. */
#include "base/pool.h"

#include <unistd.h>

#include "base/mem.h"

unsigned tl_core_count(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 256 ? 256 : (unsigned)n;
}

#ifndef TL_NO_THREADS
#include <pthread.h>
#include <stdatomic.h>

struct tl_pool {
    unsigned threads; /* with the caller's */
    unsigned started; /* workers that run */
    pthread_t *workers;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    uint64_t round; /* counts the runs */
    unsigned busy;  /* workers still in this run */
    bool stop;
    size_t n;
    tl_task task;
    void *ctx;
    _Atomic size_t next;
    _Atomic size_t failed; /* number of the first failed task; SIZE_MAX = none */
    tl_status status;
    tl_error error;
};

static void work_off(tl_pool *p, unsigned worker) {
    for (;;) {
        size_t i = atomic_fetch_add(&p->next, 1);
        if (i >= p->n || i > atomic_load(&p->failed)) {
            return;
        }
        tl_error err = {{0}};
        tl_status s = p->task(p->ctx, i, worker, &err);
        if (s != TL_OK) {
            pthread_mutex_lock(&p->lock);
            if (i < atomic_load(&p->failed)) {
                atomic_store(&p->failed, i);
                p->status = s;
                p->error = err;
            }
            pthread_mutex_unlock(&p->lock);
        }
    }
}

typedef struct worker_start {
    tl_pool *pool;
    unsigned number;
} worker_start;

static void *worker_main(void *arg) {
    worker_start *start = arg;
    tl_pool *p = start->pool;
    unsigned number = start->number;
    tl_free(start);
    uint64_t seen = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->stop && p->round == seen) {
            pthread_cond_wait(&p->work, &p->lock);
        }
        if (p->stop) {
            break;
        }
        seen = p->round;
        pthread_mutex_unlock(&p->lock);
        work_off(p, number);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0) {
            pthread_cond_signal(&p->done);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

tl_status tl_pool_create(unsigned threads, tl_pool **out, tl_error *err) {
    *out = NULL;
    threads = threads ? threads : tl_core_count();
    threads = threads > 256 ? 256 : threads;
    tl_pool *p = tl_calloc(1, sizeof *p);
    pthread_t *workers = tl_calloc(threads, sizeof *workers);
    if (!p || !workers) {
        tl_free(p);
        tl_free(workers);
        return tl_fail_memory(err, sizeof *p + threads * sizeof *workers);
    }
    p->threads = threads;
    p->workers = workers;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    for (unsigned i = 1; i < threads; i++) {
        worker_start *start = tl_alloc(sizeof *start);
        if (start) {
            *start = (worker_start){p, i};
        }
        if (!start || pthread_create(&p->workers[p->started], NULL, worker_main, start) != 0) {
            tl_free(start);
            break; /* fewer threads is slower, not wrong */
        }
        p->started++;
    }
    *out = p;
    return TL_OK;
}

void tl_pool_free(tl_pool *p) {
    if (!p) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++) {
        pthread_join(p->workers[i], NULL);
    }
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    tl_free(p->workers);
    tl_free(p);
}

unsigned tl_pool_threads(const tl_pool *p) {
    return p ? p->threads : 1;
}

tl_status tl_pool_run(tl_pool *p, size_t n, tl_task task, void *ctx, tl_error *err) {
    if (!p || p->started == 0 || n < 2) {
        for (size_t i = 0; i < n; i++) {
            TL_TRY(task(ctx, i, 0, err));
        }
        return TL_OK;
    }
    pthread_mutex_lock(&p->lock);
    p->n = n;
    p->task = task;
    p->ctx = ctx;
    p->status = TL_OK;
    atomic_store(&p->next, 0);
    atomic_store(&p->failed, SIZE_MAX);
    p->busy = p->started;
    p->round++;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    work_off(p, 0);
    pthread_mutex_lock(&p->lock);
    while (p->busy) {
        pthread_cond_wait(&p->done, &p->lock);
    }
    tl_status status = p->status;
    if (status != TL_OK && err) {
        *err = p->error;
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

#else

struct tl_pool {
    unsigned threads;
};

tl_status tl_pool_create(unsigned threads, tl_pool **out, tl_error *err) {
    (void)threads;
    *out = tl_calloc(1, sizeof **out);
    if (!*out) {
        return tl_fail_memory(err, sizeof **out);
    }
    (*out)->threads = 1;
    return TL_OK;
}

void tl_pool_free(tl_pool *p) {
    tl_free(p);
}

unsigned tl_pool_threads(const tl_pool *p) {
    (void)p;
    return 1;
}

tl_status tl_pool_run(tl_pool *p, size_t n, tl_task task, void *ctx, tl_error *err) {
    (void)p;
    for (size_t i = 0; i < n; i++) {
        TL_TRY(task(ctx, i, 0, err));
    }
    return TL_OK;
}

#endif
