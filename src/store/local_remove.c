/*
 * Deleting many files of the local disk. Comes in: keys. Goes out: their names are gone, one after the other in the
 * order given, so that who looks meanwhile, or after a crash of the process, finds the last ones.
 *
 * A name goes at once; giving the file's blocks back is what takes time: where the file system tells the disk which
 * blocks are free (mount option discard), 1 to 3 ms each, and nearly all of it is waiting. So the files are held open
 * while their names go, and let go of side by side.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/local_internal.h"

enum { HELD = 128 /* files at a time */ };

#ifdef O_PATH
#define HOLD_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#else
#define HOLD_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
#endif

static tl_status let_go(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    (void)err;
    const int *held = ctx;
    if (held[i] >= 0) {
        (void)close(held[i]);
    }
    return TL_OK;
}

/* At most HELD keys. */
static size_t remove_some(tl_local *l, const char *const *keys, size_t n) {
    int held[HELD];
    for (size_t i = 0; i < n; i++) {
        held[i] = n > 1 ? openat(l->root, keys[i], HOLD_FLAGS) : -1; /* a failure costs time alone */
    }
    size_t gone = 0;
    while (gone < n && (unlinkat(l->root, keys[gone], 0) == 0 || errno == ENOENT || errno == ENOTDIR)) {
        gone++;
    }
    tl_pool *pool = n > 1 ? tl_local_take_pool(l) : NULL;
    (void)!tl_pool_run(pool, n, let_go, held, NULL);
    tl_local_give_pool(l, pool);
    return gone;
}

size_t tl_local_remove_all(tl_store *self, const char *const *keys, size_t n) {
    tl_local *l = (tl_local *)self;
    size_t done = 0;
    while (done < n) {
        size_t some = n - done < HELD ? n - done : HELD;
        size_t gone = remove_some(l, keys + done, some);
        done += gone;
        if (gone < some) {
            break;
        }
    }
    return done;
}
