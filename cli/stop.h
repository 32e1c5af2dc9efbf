/*
 * Being told to stop: SIGINT and SIGTERM. Comes in: signals. Goes out: a flag, and reads that give up, so that what is
 * at work ends in its own way: temporary files removed, a commit done or not done. A second signal kills.
 */
#ifndef TL_CLI_STOP_H
#define TL_CLI_STOP_H

#include <sys/types.h>

#include "cli/cli.h"

/* From now on SIGINT and SIGTERM set the flag. */
tl_status tl_stop_install(tl_error *err) TL_CHECKED;

/* Whether a signal came, or tl_stop_now was called. */
bool tl_stopped(void);
/* Stops from inside, as a signal would. Any thread. */
void tl_stop_now(void);

/* "interrupted; nothing was committed" as TL_CANCELLED. */
tl_status tl_stop_fail(tl_error *err);

typedef enum tl_stop_wait { TL_WAIT_READY, TL_WAIT_TIME, TL_WAIT_STOPPED } tl_stop_wait;
/* Waits until `fd` can be read without waiting (or is at its end), for at most `ms` (-1 = for ever). */
tl_stop_wait tl_stop_poll(int fd, int ms);

/* Whether `fd` can be read now, also when it is time to stop. */
bool tl_stop_ready(int fd);

/* read(2), repeated after EINTR; -1 with ECANCELED once it is time to stop, also when that comes while it waits. */
ssize_t tl_stop_read(int fd, void *out, size_t len);

/* The descriptor as a FILE whose reads are tl_stop_read; it is not closed with it. NULL when memory ends. */
FILE *tl_stop_file(int fd);

#endif
