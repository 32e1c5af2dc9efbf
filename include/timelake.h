/*
 * timelake.h: the public C API of Timelake, a time-series lakehouse.
 *
 * Readings (series, time, values) go in as Arrow streams, are sorted into Parquet files and committed to Apache
 * Iceberg tables on a disk; they come out as Arrow streams in which each (series, time) stands once, the latest write.
 */
#ifndef TIMELAKE_H
#define TIMELAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------------------------------------------- */

/* What a call came to. The numbers are fixed; new ones may be added in the gaps. */
typedef enum tl_status {
    TL_OK = 0,
    TL_INVALID = 10,     /* the caller's data or arguments; nothing was changed */
    TL_NOT_FOUND = 20,   /* no such lake, table, snapshot, column or object */
    TL_EXISTS = 21,      /* it is there already */
    TL_CONFLICT = 30,    /* gave up after lost races; nothing was committed */
    TL_UNKNOWN = 31,     /* the commit may or may not have happened; repeat with the same batch id */
    TL_FULL = 32,        /* a bounded buffer has no room now */
    TL_IO = 40,          /* disk or network */
    TL_CORRUPT = 50,     /* bytes that cannot be what they should be */
    TL_UNSUPPORTED = 60, /* a feature of the format that is not read or written here */
    TL_NO_MEMORY = 70,
    TL_CANCELLED = 80,
    TL_INTERNAL = 90     /* a fault of this library */
} tl_status;

/* The text of an error, one line: what, where, what to do. Owned by the caller; every function accepts NULL. */
typedef struct tl_error {
    char message[1024];
} tl_error;

/* A short name such as "not found". Never NULL, static. */
const char *tl_status_name(tl_status status);

/* ---- The Arrow C data and stream interfaces (arrow.apache.org, stable ABI) ----------------------------------- */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

#ifdef __cplusplus
}
#endif

#endif /* TIMELAKE_H */
