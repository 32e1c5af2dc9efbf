/* The progress bar of queries; see sql_progress.h. */
#include "cli/sql_progress.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"

struct tl_sql_progress {
    duckdb_connection connection;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

static void *watch(void *arg) {
    tl_sql_progress *p = arg;
    tl_progress bar;
    tl_progress_start(&bar);
    (void)pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct timespec at;
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_nsec += 200000000;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&p->wake, &p->lock, &at) == ETIMEDOUT && !p->stop) {
            duckdb_query_progress_type now = duckdb_query_progress(p->connection);
            tl_progress_show(&bar, now.percentage >= 0 ? now.percentage / 100 : -1, NULL);
        }
    }
    (void)pthread_mutex_unlock(&p->lock);
    tl_progress_end(&bar);
    return NULL;
}

tl_sql_progress *tl_sql_progress_start(duckdb_connection connection) {
    if (!isatty(2)) {
        return NULL;
    }
    tl_sql_progress *p = tl_calloc(1, sizeof *p);
    pthread_condattr_t attributes;
    if (!p || pthread_condattr_init(&attributes) != 0) {
        tl_free(p);
        return NULL;
    }
    p->connection = connection;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (pthread_create(&p->thread, NULL, watch, p) != 0) {
        (void)pthread_cond_destroy(&p->wake);
        (void)pthread_mutex_destroy(&p->lock);
        tl_free(p);
        return NULL;
    }
    return p;
}

void tl_sql_progress_stop(tl_sql_progress *p) {
    if (!p) {
        return;
    }
    (void)pthread_mutex_lock(&p->lock);
    p->stop = true;
    (void)pthread_cond_signal(&p->wake);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    (void)pthread_cond_destroy(&p->wake);
    (void)pthread_mutex_destroy(&p->lock);
    tl_free(p);
}
