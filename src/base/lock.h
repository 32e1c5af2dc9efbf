/* A mutex that costs nothing where there are no threads (TL_NO_THREADS). */
#ifndef TL_BASE_LOCK_H
#define TL_BASE_LOCK_H

#ifdef TL_NO_THREADS
typedef int tl_lock;
#define TL_LOCK_READY 0 /* of a static one */
static inline void tl_lock_init(tl_lock *l) {
    *l = 0;
}
static inline void tl_lock_take(tl_lock *l) {
    *l = 1;
}
static inline void tl_lock_give(tl_lock *l) {
    *l = 0;
}
static inline void tl_lock_free(tl_lock *l) {
    *l = 0;
}
#else
#include <pthread.h>
typedef pthread_mutex_t tl_lock;
#define TL_LOCK_READY PTHREAD_MUTEX_INITIALIZER
static inline void tl_lock_init(tl_lock *l) {
    (void)pthread_mutex_init(l, 0);
}
static inline void tl_lock_take(tl_lock *l) {
    (void)pthread_mutex_lock(l);
}
static inline void tl_lock_give(tl_lock *l) {
    (void)pthread_mutex_unlock(l);
}
static inline void tl_lock_free(tl_lock *l) {
    (void)pthread_mutex_destroy(l);
}
#endif

#endif
