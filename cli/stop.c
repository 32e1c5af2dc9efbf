/* Being told to stop; see stop.h. */
#include "cli/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stopped;
static int wake[2] = {-1, -1}; /* a pipe that is readable once it is time to stop: poll sees what a flag cannot tell */

void tl_stop_now(void) {
    if (!atomic_exchange(&stopped, true) && wake[1] >= 0) {
        ssize_t n = write(wake[1], "", 1);
        (void)n; /* the pipe is empty, and the flag is set in any case */
    }
}

static void on_signal(int number) {
    int before = errno;
    if (atomic_load(&stopped)) { /* not the first: whoever sends two does not want to wait */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
    tl_stop_now();
    errno = before;
}

tl_status tl_stop_install(tl_error *err) {
    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        return tl_fail(err, TL_IO, "no pipe could be made: %s", strerror(errno));
    }
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}; /* the store sees no EINTR */
    (void)sigemptyset(&action.sa_mask);
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < TL_COUNT(signals); i++) {
        struct sigaction old;
        /* what a parent told us to ignore (nohup, a shell's background job) stays ignored */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN &&
            sigaction(signals[i], &action, NULL) != 0) {
            return tl_fail(err, TL_IO, "signals cannot be handled: %s", strerror(errno));
        }
    }
    return TL_OK;
}

bool tl_stopped(void) {
    return atomic_load(&stopped);
}

tl_status tl_stop_fail(tl_error *err) {
    return tl_fail(err, TL_CANCELLED, "interrupted; nothing was committed");
}

tl_stop_wait tl_stop_poll(int fd, int ms) {
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = wake[0], .events = POLLIN}}; /* -1 is left out */
    for (;;) {
        if (tl_stopped()) {
            return TL_WAIT_STOPPED;
        }
        int n = poll(fds, 2, ms);
        if (n == 0) {
            return TL_WAIT_TIME;
        }
        if (n > 0 && fds[0].revents) {
            return tl_stopped() ? TL_WAIT_STOPPED : TL_WAIT_READY;
        }
        if (n < 0 && errno != EINTR) {
            return TL_WAIT_READY; /* the read will tell */
        }
    }
}

bool tl_stop_ready(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

ssize_t tl_stop_read(int fd, void *out, size_t len) {
    for (;;) {
        if (tl_stop_poll(fd, -1) == TL_WAIT_STOPPED) {
            errno = ECANCELED;
            return -1;
        }
        ssize_t n = read(fd, out, len);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN)) {
            return n;
        }
    }
}

static ssize_t cookie_read(void *cookie, char *out, size_t len) {
    return tl_stop_read(*(int *)cookie, out, len);
}

static int cookie_close(void *cookie) {
    tl_free(cookie);
    return 0;
}

FILE *tl_stop_file(int fd) {
    int *cookie = tl_alloc(sizeof *cookie);
    if (!cookie) {
        return NULL;
    }
    *cookie = fd;
    FILE *file = fopencookie(cookie, "rb", (cookie_io_functions_t){.read = cookie_read, .close = cookie_close});
    if (!file) {
        tl_free(cookie);
    }
    return file;
}
