/* What the files of the read room share: an opened data file, its key columns as spans, pruning by bounds. */
#ifndef TL_READ_READ_INTERNAL_H
#define TL_READ_READ_INTERNAL_H

#include "parquet/reader.h"
#include "read/read.h"
#include "store/reader.h"

/* ---- an opened data file (data_file.c) ---- */

typedef struct tl_open_file {
    const tl_live_file *live;
    tl_object_reader *object;
    tl_pq_reader *parquet;
    const tl_pq_file_meta *meta;
    const tl_pq_leaf *leaves;
    int32_t n_leaves;
    int32_t *tops;    /* schema element of each top-level column */
    int32_t *top_ids; /* field id of each: its own, or by the table's name mapping; -1 = known by its name only */
    int32_t n_tops;
    bool has_ids; /* fields carry ids */
} tl_open_file;

/* What one thread needs to read key columns, used again file after file. Zeroed = fresh. */
typedef struct tl_key_scratch {
    tl_pq_codec_state codec;
    tl_pq_steps steps;
    int64_t *times;
    int64_t cap;
    int64_t *gathered; /* times, rows behind them */
    int64_t cap_gathered;
} tl_key_scratch;
void tl_key_scratch_free(tl_key_scratch *s);

/* Checks that the file is whole (size and rows as the manifest says). Errors name it. */
tl_status tl_open_file_open(tl_table *table, const tl_live_file *live, tl_open_file *out, tl_error *err) TL_CHECKED;
/* The same with what the thread has already; `scratch` outlives the open file. */
tl_status tl_open_file_with(tl_table *table, const tl_live_file *live, tl_key_scratch *scratch, tl_open_file *out,
                            tl_error *err) TL_CHECKED;
void tl_open_file_close(tl_open_file *f);
/* The top-level column of a field; -1 = the file has none. */
int32_t tl_open_file_top(const tl_open_file *f, const tl_field *field);
/* Its leaf when it is a flat primitive column; -1 otherwise. */
int32_t tl_open_file_leaf(const tl_open_file *f, const tl_field *field);
/* Puts the file's name before the message. */
tl_status tl_open_file_failed(const tl_open_file *f, tl_status status, tl_error *err);

/* Fills `names` of the scan's files (tl_plan_options.names). Only tables of other writers, or with a name mapping, can
 * have files without field ids, so only their footers are looked at. */
tl_status tl_plan_find_names(tl_plan *plan, tl_error *err) TL_CHECKED;

/* ---- fields inside of columns (nested.c) ---- */

typedef enum tl_nested {
    TL_NESTED_SAME,        /* the same fields in the same places */
    TL_NESTED_OTHER_ORDER, /* fields of the same names mean the same, but stand elsewhere, or some are on one side only
                            */
    TL_NESTED_RENAMED      /* a name means another field id in the file than in the table */
} tl_nested;

tl_nested tl_nested_compare(const tl_type *type, const struct ArrowSchema *file);

/* ---- key columns (keys.c) ---- */

/* Times that ascend evenly: times `at` to `at + n - 1` of a span are first, first + step, ... */
typedef struct tl_step {
    int64_t first, step; /* step > 0 where n > 1 */
    int32_t at, n;
} tl_step;

/* Rows of one series in one row group of one file: rows that stand together, or all its rows where series alternate. */
typedef struct tl_span {
    const uint8_t *key; /* canonical bytes of the series, in the spans' arena */
    uint32_t key_len;
    int32_t n;      /* rows */
    int32_t series; /* number in the tl_series_set, once it has one */
    int32_t file;   /* caller's number of the file */
    int64_t row;    /* in the file; time i is that of row `row + i`, or where there are rows, of `row + rows[i]` */
    const int32_t *rows;
    const int64_t *times; /* n, ascending; NULL = `steps` */
    const tl_step *steps; /* n_steps, strictly ascending */
    int32_t n_steps;
    bool repeats;           /* some times are equal */
    const int64_t *ingests; /* of rows `row`, `row + 1`, ...; NULL = all `ingest` */
    int64_t ingest;         /* INT64_MIN = null or no such column */
    int64_t min, max;       /* of times */
} tl_span;

typedef struct tl_spans {
    tl_span *items;
    int64_t n, cap;
    tl_arena arena;   /* keys, steps */
    int64_t **blocks; /* times, ingests, rows */
    int32_t n_blocks;
} tl_spans;
void tl_spans_free(tl_spans *s);
/* Numbers that live as long as the spans, not zeroed. */
tl_status tl_spans_block(tl_spans *s, int64_t n, int64_t **out, tl_error *err) TL_CHECKED;
/* Room for one more, and for `hint` in all where so many are to be expected. */
tl_status tl_spans_reserve(tl_spans *s, int64_t hint, tl_error *err) TL_CHECKED;
/* Sets min, max and repeats of a span whose rows stand together and whose times stand as in the file: afterwards they
 * ascend, in memory of the spans where they did not. */
tl_status tl_span_finish(tl_spans *s, tl_span *span, tl_error *err) TL_CHECKED;
/* The same for a span that gets its times and rows (n each) from here, put in order into `times` and `rows`. */
tl_status tl_span_sort(tl_span *span, const int64_t *from, const int32_t *from_rows, int64_t *times, int32_t *rows,
                       tl_error *err) TL_CHECKED;
/* Gives spans [from, s->n) of a row group, whose rows ascend and do not overlap, their part of its times. */
tl_status tl_spans_take_steps(tl_spans *s, int64_t from, const tl_pq_steps *steps, tl_error *err) TL_CHECKED;
/* The times of a span with steps, into out[n]. */
void tl_span_write_times(const tl_span *span, int64_t *out);

/* ---- series that alternate (scatter.c) ---- */

/* Rows of a row group by their series. */
typedef struct tl_scatter {
    int32_t n_series;    /* some may have no row */
    const int32_t *keys; /* of each row its series */
    int32_t *counts;     /* rows of each series */
    int32_t *firsts;     /* the first row of each that has any */
    int32_t *own;        /* what `keys` is where it is not of the runs */
} tl_scatter;
/* From the runs of the key columns (no runs = null in all rows), which outlive it. *found is false when series mostly
 * do not come back: then nothing is made. */
tl_status tl_scatter_make(const tl_pq_runs *runs, int32_t n_columns, int64_t n_rows, tl_scatter *out, bool *found,
                          tl_error *err) TL_CHECKED;
void tl_scatter_free(tl_scatter *s);

/* Numbers for series keys: canonical bytes of all key columns (nulls equal, NaN equal). */
typedef struct tl_series_set {
    uint64_t *hashes; /* open addressing; entries in `slots` */
    int32_t *slots;
    size_t cap;
    tl_bytes *keys; /* canonical bytes by number */
    int32_t *next;  /* of each series the one that came after it last; -1 = none */
    int32_t n, cap_keys;
    tl_arena arena;
} tl_series_set;
void tl_series_set_free(tl_series_set *s);
tl_status tl_series_number(tl_series_set *s, tl_bytes key, int32_t *out, tl_error *err) TL_CHECKED;
/* The same for a key that came after that of series `before` (-1 = it is a file's first): files have their series in
 * much the same order. */
tl_status tl_series_number_after(tl_series_set *s, int32_t before, tl_bytes key, int32_t *out,
                                 tl_error *err) TL_CHECKED;
int32_t tl_series_find(const tl_series_set *s, tl_bytes key); /* -1 = not there */

/* Canonical bytes of one key value: a length-marked piece, so that pieces of several columns can be joined.
 * `plain` = Parquet PLAIN bytes of the leaf, data NULL = null. */
tl_status tl_key_piece(const tl_type *type, const tl_pq_schema_element *element, tl_bytes plain, tl_buf *out,
                       tl_error *err) TL_CHECKED;
/* The same from Iceberg's single-value bytes (filters). */
tl_status tl_key_piece_of_value(const tl_type *type, tl_bytes value, tl_buf *out, tl_error *err) TL_CHECKED;

/* Values of the first key column: at least `from`, below `to` (data NULL = no such end); null is below all. */
typedef struct tl_key_range {
    tl_bytes from, to;
} tl_key_range;

/* What of a file's key columns is wanted, and where times go. */
typedef struct tl_key_request {
    const tl_bytes *only;       /* for each key column the piece it must equal (data NULL = any); NULL = all rows */
    const tl_key_range *range;  /* only keys in it; NULL = all */
    const tl_series_set *among; /* only series in it; NULL = all */
    bool has_window;            /* only times in [from_us, to_us] matter: what lies outside is passed over where
                                   that is cheap */
    int64_t from_us, to_us;
    int64_t *times; /* room for n_times = the rows of the file; NULL = blocks of the spans */
    int64_t n_times;
    bool steps;              /* spans may have steps in place of times; with scratch only */
    tl_key_scratch *scratch; /* NULL = none */
} tl_key_request;
/* What a row group's statistics say of a key column: `from` no value is below (no data: there may be nulls, or it is
 * not known), `to` none above (as well, or not known). Bytes are the file's. */
void tl_group_key_bounds(const tl_open_file *f, int32_t group, int32_t leaf, tl_key_range *out);
/* Reads the key columns of a file as spans, without numbers. */
tl_status tl_keys_spans(tl_table *table, const tl_schema *schema, const tl_key_request *request, tl_open_file *f,
                        int32_t file, tl_spans *out, tl_error *err) TL_CHECKED;

/* Reads the key columns of a file as spans, numbering series in `set`. `only` (may be NULL): for each key column the
 * piece it must equal (data NULL = any); rows of other series give no span. */
tl_status tl_keys_read(tl_table *table, const tl_schema *schema, tl_open_file *f, int32_t file, const tl_bytes *only,
                       tl_series_set *set, tl_spans *out, tl_error *err) TL_CHECKED;

/* ---- pruning (prune.c) ---- */

/* Can the file hold rows that pass the filters? */
tl_status tl_file_may_match(const tl_table *table, const tl_schema *schema, const tl_live_file *f,
                            const tl_plan_options *options, bool *out, tl_error *err) TL_CHECKED;
/* Can two files hold the same (series, time)? */
tl_status tl_files_may_share(const tl_schema *schema, const tl_contract *contract, const tl_live_file *a,
                             const tl_live_file *b, bool *out, tl_error *err) TL_CHECKED;
/* Least and greatest value of a key column in a file; false when they do not say everything (nulls, NaN, no bounds). */
bool tl_file_key_bounds(const tl_field *field, const tl_live_file *f, tl_bytes *lower, tl_bytes *upper);
/* Time bounds of a file in microseconds; false when they are not known. */
bool tl_file_time_bounds(const tl_schema *schema, const tl_contract *contract, const tl_live_file *f, int64_t *min,
                         int64_t *max);

/* ---- hidden rows ---- */

/* Marks row `row` of plan file `f` as deleted (making its bitmap first): before older copies are looked for. */
tl_status tl_plan_hide(tl_plan_file *f, int64_t row, tl_error *err) TL_CHECKED;

/* Rows deleted by delete files (deletes.c). `remember`: the process remembers what they say, for the next call. */
tl_status tl_plan_apply_deletes(tl_plan *plan, bool remember, tl_error *err) TL_CHECKED;
/* Older copies in plan->scan (hide.c), with what is known from earlier plans of the same files. plan->files are the
 * table's live files, all of them in every partition that the scan has files of. */
tl_status tl_plan_hide_older(tl_plan *plan, const tl_schema *schema, const tl_plan_options *options,
                             tl_error *err) TL_CHECKED;
/* Older copies among the files of plan->scan, whatever they are. plan->files.data are ordered by (sequence number,
 * path) and hold the files of the scan. */
tl_status tl_plan_hide_older_of(tl_plan *plan, const tl_schema *schema, tl_pool *pool, tl_error *err) TL_CHECKED;

/* The schema a plan reads with: that of its snapshot, else the current one. */
const tl_schema *tl_plan_schema(const tl_table *table, const tl_snapshot *snapshot);

/* Pieces of the key filters in series-key order, in `arena`: what tl_keys_read takes as `only`; NULL = no filter. */
tl_status tl_plan_only(const tl_table *table, const tl_schema *schema, const tl_plan_options *options, tl_arena *arena,
                       tl_bytes **out, tl_error *err) TL_CHECKED;

#endif
