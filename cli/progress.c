/* The progress bar; see progress.h. */
#include "cli/progress.h"

#include <unistd.h>

#include "base/env.h"

enum { BAR = 24, SHOW_AFTER_US = 1000000, SHOW_EVERY_US = 100000 };

void tl_progress_start(tl_progress *p) {
    *p = (tl_progress){.terminal = isatty(2) == 1, .begin_us = tl_env_monotonic_us(tl_env_default())};
}

void tl_progress_show(tl_progress *p, double part, const char *note) {
    if (!p->terminal) {
        return;
    }
    int64_t now = tl_env_monotonic_us(tl_env_default());
    if (now - p->begin_us < SHOW_AFTER_US || now - p->last_us < SHOW_EVERY_US) {
        return;
    }
    p->last_us = now;
    p->shown = true;
    char bar[BAR + 1];
    int full = part >= 0 ? (int)((part > 1 ? 1 : part) * BAR) : (int)(now / 100000 % BAR);
    for (int i = 0; i < BAR; i++) {
        bar[i] = part >= 0 ? (i < full ? '=' : i == full ? '>' : ' ') : (i == full ? '=' : ' ');
    }
    bar[BAR] = 0;
    fprintf(stderr, "\r[%s] ", bar);
    if (part >= 0) {
        fprintf(stderr, "%3d %% ", (int)((part > 1 ? 1 : part) * 100));
    }
    fprintf(stderr, "%.0f s%s%s\033[K", (double)(now - p->begin_us) / 1e6, note ? "  " : "", note ? note : "");
    (void)fflush(stderr);
}

void tl_progress_end(tl_progress *p) {
    if (p->shown) {
        fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
    }
    p->shown = false;
}
