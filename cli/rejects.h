/*
 * Lines that were not taken. Comes in: a line, its number, and what an error says about it. Goes out: one JSON object a
 * line, at the end of a file: {"line":7,"column":"temp","reason":"\"warm\" is not a double","text":"a,warm"}
 */
#ifndef TL_CLI_REJECTS_H
#define TL_CLI_REJECTS_H

#include "cli/cli.h"

typedef struct tl_rejects {
    const char *path;
    int fd; /* -1 = there is no such file: a bad line is an error */
    int64_t n;
} tl_rejects;

/* Opens the file for adding; `path` NULL = none. */
tl_status tl_rejects_open(const char *path, tl_rejects *out, tl_error *err) TL_CHECKED;
void tl_rejects_close(tl_rejects *r);

/* `why` is an error about this one line: a place in front of it and the row number in it are taken off. Without a file
 * it becomes the error of this call, with the right line: `standard input, line 7: column "temp": ...`. */
tl_status tl_rejects_add(tl_rejects *r, int64_t line, tl_bytes text, const tl_error *why, tl_error *err) TL_CHECKED;

#endif
