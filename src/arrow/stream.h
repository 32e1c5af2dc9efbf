/*
 * Streams of record batches. Comes in: arrays in memory, an Arrow IPC file or pipe, a failure. Goes out: an Arrow C
 * stream; or an IPC stream or file written from one.
 */
#ifndef TL_ARROW_STREAM_H
#define TL_ARROW_STREAM_H

#include <stdio.h>

#include "base/base.h"

/* A stream over `n` struct arrays of one schema, in order. The schema is copied; the arrays are moved in, on failure
 * they are released. `arrays` itself stays the caller's. Errors: TL_NO_MEMORY. */
tl_status tl_stream_of_arrays(const struct ArrowSchema *schema, struct ArrowArray *arrays, int64_t n,
                              struct ArrowArrayStream *out, tl_error *err) TL_CHECKED;

/* A stream whose every call fails with this status and message: for producers that fail before the first batch but
 * have promised a stream. Errors: TL_NO_MEMORY. */
tl_status tl_stream_of_error(tl_status status, const char *message, struct ArrowArrayStream *out,
                             tl_error *err) TL_CHECKED;

/* The schema (released by the caller), and the next batch (release NULL = the end; else released by the caller) of any
 * stream, with the stream's own message on failure. The status is what the stream's errno says: see tl_status_errno. */
tl_status tl_stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out, tl_error *err) TL_CHECKED;
tl_status tl_stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out, tl_error *err) TL_CHECKED;

/* Statuses through the stream interface, which only carries errno values; there and back is the same status. */
int tl_status_errno(tl_status status);
tl_status tl_status_of_errno(int code);

/* Arrow IPC, the stream format or the file format, which begins with "ARROW1", told apart by the first bytes. A stream
 * is read forward only from where `file` is, one message at a time; a pipe is fine. A file that can be searched is read
 * as its footer says; one from a pipe as its messages come. All types but unions; buffers compressed with zstd or lz4;
 * dictionaries, also replaced ones and, of plain types, deltas. The file is closed on release when `close` is set (also
 * on failure here). Errors while reading come from the stream's calls: TL_INVALID for what is no Arrow IPC, contradicts
 * itself or is cut short, TL_UNSUPPORTED, TL_IO. Arrays come checked as far as their message goes (buffers long
 * enough); whether offsets and indices make sense is for tl_view_open to see. */
tl_status tl_ipc_read(FILE *file, bool close, struct ArrowArrayStream *out, tl_error *err) TL_CHECKED;

/* Writes a whole stream to `file`, which stays open, as IPC stream or file format (`as_file`), not compressed. Arrays
 * must have offset 0 and no dictionaries, views or runs; TL_UNSUPPORTED otherwise. The stream is not released. */
tl_status tl_ipc_write(struct ArrowArrayStream *stream, FILE *file, bool as_file, tl_error *err) TL_CHECKED;

#endif
