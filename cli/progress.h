/* A progress bar on stderr for work over a second; nothing where stderr is no terminal. */
#ifndef TL_CLI_PROGRESS_H
#define TL_CLI_PROGRESS_H

#include "cli/cli.h"

typedef struct tl_progress {
    bool terminal, shown;
    int64_t begin_us, last_us;
} tl_progress;

void tl_progress_start(tl_progress *p);
/* `part` 0..1, below 0 = not known; `note` is shown behind the bar (NULL = none). Cheap: call it often. */
void tl_progress_show(tl_progress *p, double part, const char *note);
/* Wipes the bar away, so that a line can be printed. */
void tl_progress_end(tl_progress *p);

#endif
