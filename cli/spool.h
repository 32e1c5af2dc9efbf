/*
 * Files that are read at any place. Comes in: a path, or "-": then standard input is kept in a temporary file without
 * a name. Goes out: bytes.
 */
#ifndef TL_CLI_SPOOL_H
#define TL_CLI_SPOOL_H

#include "cli/cli.h"

typedef struct tl_spool {
    int fd; /* -1 = not open */
    uint64_t size;
} tl_spool;

/* Missing, a directory or empty: errors as tl_source_open gives them. */
tl_status tl_spool_open(const char *path, tl_spool *out, tl_error *err) TL_CHECKED;
tl_status tl_spool_read(const tl_spool *s, uint64_t offset, size_t len, void *out, tl_error *err) TL_CHECKED;
void tl_spool_close(tl_spool *s);

/* Keeps standard input in a temporary file; *fd is at its beginning. */
tl_status tl_spool_stdin(int *fd, uint64_t *size, tl_error *err) TL_CHECKED;

#endif
