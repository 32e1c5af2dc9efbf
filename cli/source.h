/*
 * Where text comes from: a file or standard input, plain, gzip or zstd (told by the first bytes). Comes in: a path or
 * "-". Goes out: bytes in order, checked to be UTF-8 on the way, and the number of the line they stand in.
 */
#ifndef TL_CLI_SOURCE_H
#define TL_CLI_SOURCE_H

#include "cli/cli.h"

typedef struct tl_source tl_source;

/* TL_NOT_FOUND when there is no such file; a directory, or a file without a byte in it: TL_INVALID. Caller closes. */
tl_status tl_source_open(const char *path, tl_source **out, tl_error *err) TL_CHECKED;
/* Plain text in memory, which has to outlive the source. Caller closes. */
tl_status tl_source_of_text(const char *name, tl_bytes text, tl_source **out, tl_error *err) TL_CHECKED;
void tl_source_close(tl_source *s);

/* How it is called in messages: the path, or "standard input". */
const char *tl_source_name(const tl_source *s);

/* The next bytes: *len 0 at the end. The block is the source's own, until the next call. A block ends anywhere, also
 * inside of a character. Errors name the file; broken UTF-8 (TL_INVALID) also the line. TL_CANCELLED: see stop.h. */
tl_status tl_source_next(tl_source *s, const uint8_t **data, size_t *len, tl_error *err) TL_CHECKED;

/* Bytes of the file (compressed) read so far, and its size; size 0 = not known. */
void tl_source_progress(const tl_source *s, uint64_t *done, uint64_t *size);

#endif
