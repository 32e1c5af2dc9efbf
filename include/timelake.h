/*
 * timelake.h: the public C API of Timelake, a time-series lakehouse.
 *
 * Readings (series, time, values) go in as Arrow streams, are sorted into Parquet files and committed to Apache
 * Iceberg tables on a disk; they come out as Arrow streams in which each (series, time) stands once, the latest write.
 *
 * Read from top to bottom it is a manual:
 *
 *   1. Errors                what a call came to
 *   2. Arrow                 how rows are handed over
 *   3. Lakes                 open a folder of tables
 *   4. Tables                create, list, describe, change, drop
 *   5. Appending             rows in
 *   6. Reading               rows out
 *   7. Maintenance           fewer files, old rows out, is all well?
 *
 * A first program (examples/first.c is this one, whole):
 *
 *     tl_lake *lake;
 *     tl_error err;
 *     if (tl_lake_open("./lake", NULL, &lake, &err) != TL_OK) { puts(err.message); return 1; }
 *     tl_create(lake, "readings", &schema, &(tl_table_spec){.time_column = "time", .series_key = "machine"}, &err);
 *     tl_append(lake, "readings", &stream, NULL, NULL, &err);
 *     tl_scan(lake, "readings", NULL, &rows, &err);
 *     tl_lake_close(lake);
 *
 * Rules that hold for every call:
 *   - It returns a tl_status; TL_OK is 0. The text of a failure is in the tl_error that the caller owns (NULL is fine).
 *   - Option structs may be NULL (all defaults) and are zero-initialised: a field that is zero has its default. New
 *     fields come at the end; `{0}` or designated initialisers keep old programs right after a re-compile.
 *   - A lake may be used by several threads at once. An Arrow stream belongs to one thread at a time.
 *   - Arrow inputs are taken over and released, in success and failure, where the comment says "taken". Outputs are
 *     released by the caller, who may do so after the lake is closed unless the comment says otherwise.
 *   - Names of tables are "table" (in namespace "default") or "namespace.table".
 *   - Times are UTC.
 */
#ifndef TIMELAKE_H
#define TIMELAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Errors ------------------------------------------------------------------------------------------------- */

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
    TL_INTERNAL = 90 /* a fault of this library */
} tl_status;

/* The text of an error, one line: what, where, what to do. Owned by the caller; every function accepts NULL. */
typedef struct tl_error {
    char message[1024];
} tl_error;

/* A short name such as "not found". Never NULL, static. */
const char *tl_status_name(tl_status status);

/* ---- 2. Arrow: the C data and stream interfaces (a stable ABI) ----------------------------------- */

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

/* ---- 3. Lakes ------------------------------------------------------------------------------------------------ */

/* The version of this library, "0.1.0". Static. */
const char *tl_version(void);

/* A folder of tables, with what is known of them in memory. */
typedef struct tl_lake tl_lake;

typedef struct tl_lake_options {
    int must_exist;   /* 1: TL_NOT_FOUND when there is no such folder; 0: it is made */
    unsigned threads; /* for encoding and reading; 0 = one per core */
} tl_lake_options;

/* Opens a lake: a local path, "file:///path" or "memory://name" (gone when closed). Caller closes. */
tl_status tl_lake_open(const char *location, const tl_lake_options *options, tl_lake **out, tl_error *err);

/* Waits until the maintenance that goes on beside appends and writers is done. */
void tl_lake_settle(tl_lake *lake);

/* Closes it, after tl_lake_settle. Streams that were handed out stay readable: they keep what they need. */
void tl_lake_close(tl_lake *lake);

/* ---- 4. Tables ----------------------------------------------------------------------------------------------- */

/* The contract of a new table. */
typedef struct tl_table_spec {
    const char *time_column;       /* a timestamp (or text) column; NULL makes a plain table: no sorting, no dedup */
    const char *series_key;        /* comma-separated columns that name a series: "site,machine"; NULL = none */
    const char *chunk;             /* one partition per "hour", "day" (default) or "month" */
    const char *retention;         /* "730d": older partitions may be dropped; NULL = keep for ever */
    int no_dedup;                  /* 1: every row is kept, also with equal (series, time) */
    int no_ingest_time;            /* 1: no `_ingest_ts` column: the last commit wins */
    const char *const *properties; /* "name=value" texts (settings or table properties), ended by NULL; NULL = none */
} tl_table_spec;

/* Creates a table from an Arrow schema (a struct; read, not taken). `spec` NULL = a plain table.
 * TL_EXISTS when it is there; TL_INVALID names the column or setting that does not do. */
tl_status tl_create(tl_lake *lake, const char *table, const struct ArrowSchema *schema, const tl_table_spec *spec,
                    tl_error *err);

/* The table's Arrow schema; caller releases. */
tl_status tl_schema_of(tl_lake *lake, const char *table, struct ArrowSchema *out, tl_error *err);

/* The names of all tables, "namespace.table", sorted, `*n` of them; give back with tl_names_free. */
tl_status tl_tables(tl_lake *lake, char ***names, size_t *n, tl_error *err);
void tl_names_free(char **names, size_t n);

/* What there is to know about a table, as one JSON object (keys: docs/format.md); give back with tl_text_free. */
tl_status tl_info(tl_lake *lake, const char *table, char **json, tl_error *err);
void tl_text_free(char *text);

/* Changes settings: "name=value" sets, "name" alone removes. `*version` (may be NULL) = the table's version after. */
tl_status tl_alter(tl_lake *lake, const char *table, const char *const *changes, size_t n, int64_t *version,
                   tl_error *err);

/* Makes an older snapshot current again. Its id is in tl_info. TL_NOT_FOUND when it has expired. */
tl_status tl_rollback(tl_lake *lake, const char *table, int64_t snapshot_id, int64_t *version, tl_error *err);

/* Removes a table and all its files. There is no way back. */
tl_status tl_drop(tl_lake *lake, const char *table, tl_error *err);

/* Rewrites the list of tables that stores without listing need; `*n` (may be NULL) = how many there are. */
tl_status tl_index(tl_lake *lake, size_t *n, tl_error *err);

/* ---- 5. Appending -------------------------------------------------------------------------------------------- */

typedef struct tl_append_params {
    const char *batch_id; /* makes a retry safe: rows of an id that was committed before are not added again */
    int64_t memory_limit; /* bytes; 0 = the table's setting (1 GiB): beyond it the append sorts on the disk */
    int no_maintain;      /* 1: no inline maintenance after this append */
    int maintain_beside;  /* 1: tl_append does not wait for it: a thread of the lake does it meanwhile, for programs
                             that append again and again. tl_lake_settle and tl_lake_close wait for it. */
} tl_append_params;

typedef struct tl_append_result {
    int64_t rows;      /* committed: without older copies inside this append; 0 for a duplicate */
    int64_t rows_read; /* taken from the stream */
    int64_t files, bytes;
    int64_t version;     /* of the table, after */
    int64_t snapshot_id; /* -1 when nothing was committed (no rows, or a duplicate) */
    int64_t commit_us, total_us;
    int32_t attempts;
    int32_t duplicate; /* 1: the batch id had been committed before */
} tl_append_result;

/* Appends all rows of a stream in one commit. The stream is taken. Columns are matched by name; a value is converted
 * only where nothing of it is lost, else the whole append fails with column, row, value and type, and nothing changes.
 * TL_OK: committed and on the disk. TL_UNKNOWN: repeat with the same batch id. Anything else: not committed.
 * `params` and `result` may be NULL. */
tl_status tl_append(tl_lake *lake, const char *table, struct ArrowArrayStream *rows, const tl_append_params *params,
                    tl_append_result *result, tl_error *err);

/* ---- continuous writing ---- */

/* Takes batches as they come and commits them together, every so often or when there are enough: one commit is under
 * way while the next buffer fills. For several threads at once. */
typedef struct tl_writer tl_writer;

/* What became of the rows of a writer. Rows are counted in the order in which they were written. */
typedef struct tl_writer_state {
    int64_t rows_taken;   /* accepted by tl_writer_write */
    int64_t rows_durable; /* the first so many of them are committed and on the disk */
    int64_t commits;
    int64_t failures;      /* failed tries since the last success; the rows are kept and tried again */
    tl_status last_status; /* of the last try */
    tl_error last_error;
} tl_writer_state;

typedef struct tl_writer_options {
    int64_t commit_every_us; /* the longest a row waits for its commit; 0 = 60 s */
    int64_t commit_bytes;    /* commit as soon as so much is buffered; 0 = 128 MB */
    int64_t buffer_bytes;    /* the most that is kept in memory, the commit under way included; 0 = 4 * commit_bytes */
    int fail_when_full;      /* 1: tl_writer_write says TL_FULL at once; 0: it waits for room */
    const char *batch_id;    /* commits get the ids "<batch_id>-1", "-2" ...; NULL = a random one */
    /* Called after each try of a commit, from another thread, with no lock held; may be NULL. */
    void (*on_commit)(void *ctx, tl_status status, const tl_append_result *result, const char *message);
    void *ctx;
    int no_maintain; /* 1: no inline maintenance after the commits; 0: it goes on beside them */
} tl_writer_options;

/* `schema` is that of the batches to come (a struct; read, not taken). The lake stays open until the writer is closed.
 */
tl_status tl_writer_open(tl_lake *lake, const char *table, const struct ArrowSchema *schema,
                         const tl_writer_options *options, tl_writer **out, tl_error *err);

/* Takes one batch (also on failure). A value that does not fit fails this batch alone, at once: nothing of it is
 * written. TL_FULL: no room, nothing was taken in; write it again later (only with fail_when_full, and then the batch
 * is still the caller's). */
tl_status tl_writer_write(tl_writer *writer, struct ArrowArray *batch, tl_error *err);

/* Commits all rows written before the call and waits for it; tries again as long as it may help, `patience_us` at the
 * most (0 = once). TL_OK: rows_durable of `state` (may be NULL) covers them. */
tl_status tl_writer_flush(tl_writer *writer, int64_t patience_us, tl_writer_state *state, tl_error *err);

/* Flushes, and frees the writer in any case. On failure `state` says how many rows are durable; the rest is lost with
 * the writer: write it again with the same batch_id order, or from the source. */
tl_status tl_writer_close(tl_writer *writer, int64_t patience_us, tl_writer_state *state, tl_error *err);

/* A stream over record batches in memory: `n` struct arrays of one schema. The schema is copied, the arrays are taken
 * (also on failure). For programs that build their batches themselves. */
tl_status tl_stream_of(const struct ArrowSchema *schema, struct ArrowArray *arrays, size_t n,
                       struct ArrowArrayStream *out, tl_error *err);

/* ---- 6. Reading ---------------------------------------------------------------------------------------------- */

typedef struct tl_scan_params {
    const char *const *columns; /* names, ended by NULL, in this order; NULL = all */
    int64_t from_us, to_us;     /* time column in [from_us, to_us), microseconds since 1970; both 0 = all times */
    const char *const *series;  /* "column=value" texts ended by NULL: rows whose key columns print so; NULL = all */
    int64_t snapshot_id;        /* an older snapshot; 0 = the newest */
    int keep_copies;            /* 1: older copies of a (series, time) are not left out */
    const char *dedup_strategy; /* "auto", "keys-first", "merge"; NULL = the table's read-dedup-strategy */
} tl_scan_params;

/* Reads a table as a stream of batches; each (series, time) stands once, with its latest write. The stream keeps its
 * snapshot while commits go on. Caller releases it. No order among batches is promised. */
tl_status tl_scan(tl_lake *lake, const char *table, const tl_scan_params *params, struct ArrowArrayStream *out,
                  tl_error *err);

/* The newest row of every series, ordered by series key. Caller releases. */
tl_status tl_latest(tl_lake *lake, const char *table, struct ArrowArrayStream *out, tl_error *err);

/* ---- how late rows come ---- */

typedef struct tl_arrivals_params {
    int64_t slot_us;        /* length of a slot of time; 0 = the table's partition (hour, day or month) */
    double cover;           /* share of rows that `open_us` waits for; 0 = 0.99 */
    int64_t from_us, to_us; /* rows with a time in [from_us, to_us); both 0 = all */
} tl_arrivals_params;

/* Delays are insertion time less time, in microseconds; negative where a clock is ahead. Quantiles are never below the
 * true ones and at most 1/32 above; least and greatest are exact. */
typedef struct tl_arrivals_result {
    int64_t rows;         /* measured: copies of a row are counted too, each one arrived */
    int64_t unknown_rows; /* time or insertion time is null */
    int64_t n_series;
    int64_t slot_us; /* 0 = a calendar month */
    int64_t least_us, p50_us, p90_us, p99_us, greatest_us;
    int64_t late_rows; /* came more than a slot's length after their time */
    int64_t open_us;   /* how long after its end a slot stays open until `cover` of its rows are in */
} tl_arrivals_result;

/* Measures the delays of a table's rows. `series` (may be NULL) gets a row for each series, the latest first: its key
 * columns and rows, least_us, p50_us, p90_us, p99_us, greatest_us, late_rows, open_us; caller releases. TL_INVALID for
 * a table without time or insertion time. */
tl_status tl_arrivals(tl_lake *lake, const char *table, const tl_arrivals_params *params, tl_arrivals_result *result,
                      struct ArrowArrayStream *series, tl_error *err);

/* ---- 7. Maintenance ------------------------------------------------------------------------------------------- */

typedef struct tl_maintain_params {
    int no_compact, no_retention, no_expire; /* 1: leave that out */
    int orphans;          /* 1: remove objects that nothing refers to, once they are older than `grace_us` */
    int64_t grace_us;     /* by the store's clock; 0 = 3 days, -1 = none: only while nobody writes */
    int dry_run;          /* 1: change nothing, count what would be done */
    int64_t budget_us;    /* begin no more compaction after so long; 0 = no limit */
    int64_t budget_bytes; /* ... or after so many bytes read; 0 = no limit */
    int64_t memory_limit; /* bytes; 0 = 256 MiB */
    /* Called now and then, from the calling thread: what is done and how far it is, 0..all; may be NULL. */
    void (*progress)(void *ctx, const char *step, int64_t done, int64_t all);
    void (*orphan)(void *ctx, const char *object, int64_t bytes); /* each orphan found; may be NULL */
    void *ctx;
} tl_maintain_params;

typedef struct tl_maintain_result {
    int64_t partitions_compacted;
    int64_t files_rewritten, files_written;
    int64_t rows_rewritten;     /* read from the files that were replaced */
    int64_t duplicates_removed; /* older copies and deleted rows that went with the files they stood in */
    int64_t bytes_rewritten, bytes_written;
    int64_t partitions_left; /* wanting compaction still: the budget ended, or another writer was faster */
    int64_t partitions_dropped, files_dropped, rows_dropped; /* by retention */
    int64_t snapshots_expired;
    int64_t objects_deleted;       /* by expiry and as orphans */
    int64_t orphans, orphan_bytes; /* of them, or in a dry run, orphans */
    int64_t manifests_before, manifests_after;
    int64_t version; /* of the table, after */
    int64_t total_us;
} tl_maintain_result;

/* Keeps a table fast and small: drops partitions past `retention`, compacts (most valuable first), lets old snapshots
 * expire, and on demand removes orphans. Each step is a commit of its own and can be repeated; readers and appends go
 * on meanwhile. On failure `result` says what was done until then. */
tl_status tl_maintain(tl_lake *lake, const char *table, const tl_maintain_params *params, tl_maintain_result *result,
                      tl_error *err);

typedef struct tl_finding {
    const char *kind;   /* "missing-file", "bounds", ...: docs/maintenance.md lists them */
    int warning;        /* 1: harmless to readers, such as an orphan */
    const char *object; /* the object's key in the lake; NULL = the table as a whole */
    const char *message;
} tl_finding;

typedef struct tl_check_params {
    int no_data;      /* 1: files are looked for, not read */
    int64_t grace_us; /* age from which objects that nothing refers to are told; 0 = 3 days, -1 = at once */
    /* Calls come one at a time, perhaps from other threads; may be NULL. */
    void (*found)(void *ctx, const tl_finding *finding);
    void (*progress)(void *ctx, int64_t done_bytes, int64_t all_bytes);
    void *ctx;
} tl_check_params;

typedef struct tl_check_result {
    int64_t findings, warnings;
    int64_t version, snapshots, manifests, files, delete_files, rows, bytes; /* looked at */
    int64_t objects, orphans;                                                /* in the table's folder */
} tl_check_result;

/* Is the table what it says it is? Every file there, whole, sorted, inside its partition, without repeated keys, counts
 * and bounds true, last-value index equal to a scan, nothing orphaned. Changes nothing. TL_OK also with findings. */
tl_status tl_check(tl_lake *lake, const char *table, const tl_check_params *params, tl_check_result *result,
                   tl_error *err);

typedef struct tl_upgrade_params {
    int dry_run;               /* 1: only say what would be done */
    int no_compact;            /* 1: files are not merged, except those that must be written anew */
    int64_t keep_snapshots_us; /* snapshots do not expire for so long, so that there is a way back; 0 = 7 days */
    /* Called with each step, in order; may be NULL. */
    void (*step)(void *ctx, const char *text);
    void *ctx;
} tl_upgrade_params;

typedef struct tl_upgrade_result {
    int64_t steps; /* 0 = the table is current already */
    int64_t version_before, version;
    int64_t snapshot_before; /* for tl_rollback; -1 = there was none */
    int64_t keep_snapshots_until_ms;
} tl_upgrade_result;

/* Brings a table that an older Timelake wrote (0.1 to 0.7) to the current format. Repeating it changes nothing. */
tl_status tl_upgrade(tl_lake *lake, const char *table, const tl_upgrade_params *params, tl_upgrade_result *result,
                     tl_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TIMELAKE_H */
