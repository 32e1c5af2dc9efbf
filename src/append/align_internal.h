/*
 * Inside alignment: plans, one per pair of types; the job that converts one batch; leaves, one file per kind of source.
 *
 *   align.c         plans from a schema, batches from plans
 *   align_rules.c   which pair of types converts: the table of docs/types.md
 *   align_node.c    one column: validity, hidden rows, required; dictionaries and runs
 *   align_nested.c  lists, maps, structs
 *   align_int.c     bool and integers     align_real.c     floating point     align_decimal.c  decimals
 *   align_time.c    dates and times       align_text.c     parsed text        align_bytes.c    text and bytes as they
 * are align_error.c   values and rows in messages
 */
#ifndef TL_APPEND_ALIGN_INTERNAL_H
#define TL_APPEND_ALIGN_INTERNAL_H

#include "append/align.h"
#include "arrow/gather.h"
#include "arrow/view.h"
#include "base/mem.h"
#include "base/num.h"

enum { TL_VALUE_TEXT = 256 }; /* room for the text of any number or time */

/* ---- rules ---- */

typedef enum tl_fit {
    TL_FIT_REFUSED = '-', /* the pair never converts: refused when the plan is made */
    TL_FIT_EXACT = 'E',   /* every value converts */
    TL_FIT_VALUE = 'F'    /* values that fit convert, others are errors */
} tl_fit;

enum { TL_RULE_TARGETS = 17 }; /* the table types in the order of tl_type_id */

typedef struct tl_rule_row {
    const char *name;  /* as in docs/types.md */
    const char *cells; /* one tl_fit per target */
    tl_arrow_id id;
    int64_t per_second; /* 0 = any unit */
    bool zoned;
} tl_rule_row;

const tl_rule_row *tl_rule_rows(size_t *n);
/* The rule of a pair; dictionaries and runs count as their values. Nested pairs: only the outermost level. */
tl_fit tl_rule(const tl_arrow_type *from, const tl_type *to);

/* ---- plans ---- */

typedef enum tl_step {
    TL_STEP_MISSING, /* not in the input, or of type null: all null */
    TL_STEP_LEAF,
    TL_STEP_DICTIONARY, /* children[0]: the values, same target */
    TL_STEP_RUNS,       /* children[0]: the values, same target */
    TL_STEP_LIST,       /* and maps; children[0]: the element */
    TL_STEP_LIST_VIEW,
    TL_STEP_FIXED_LIST,
    TL_STEP_STRUCT /* children: one per field of the target */
} tl_step;

typedef struct tl_job tl_job;
typedef struct tl_plan tl_plan;
typedef struct tl_frame tl_frame;

/* Converts the rows of `v`, whose validity is final. `out` comes with kind, width, length and validity. */
typedef tl_status (*tl_leaf)(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                             tl_error *err);

struct tl_plan {
    tl_step step;
    const tl_arrow_type *from; /* NULL = not in the input */
    const tl_type *to;
    const char *path; /* "a.b" */
    bool required;
    tl_leaf leaf;
    int64_t source; /* which child of the input struct; -1 = none */
    int64_t n_children;
    tl_plan *children;
};

struct tl_align {
    const tl_schema *schema;
    int32_t ingest;
    tl_arrow_type input;
    tl_plan *plans; /* one per field of the schema */
    tl_arena arena;
};

/* ---- jobs ---- */

/* One batch on its way. */
struct tl_job {
    tl_batch *batch;
    const uint8_t *zeros; /* shared by all-null columns */
    size_t zeros_size;
    bool misfit;        /* the error is a value that does not fit (or a null where none may be) */
    int64_t misfit_row; /* in the whole input, from 1 */
};

/* How a row number inside a nested or encoded column becomes a row of the input. */
struct tl_frame {
    enum { TL_FRAME_ROOT, TL_FRAME_AT, TL_FRAME_LIST } kind;
    const tl_frame *up;
    int64_t base;          /* ROOT: rows before this batch; AT: the row */
    const tl_column *list; /* LIST: its offsets */
};

int64_t tl_frame_row(const tl_frame *frame, int64_t i); /* from 1, over the whole input */

/* Memory that lives as long as the batch; uninitialised, 64-byte aligned. */
tl_status tl_job_alloc(tl_job *job, int64_t n, size_t size, void *out_pointer, tl_error *err) TL_CHECKED;
tl_memory tl_job_memory(tl_job *job);
/* The input's own buffer, or an aligned copy when its address does not suit `align` (1, 2, 4, 8 or 16). */
tl_status tl_job_borrow(tl_job *job, const uint8_t *data, int64_t n, size_t size, size_t align, void *out_pointer,
                        tl_error *err) TL_CHECKED;
/* Frees what was allocated after `mark` = batch->n_buffers of then. */
void tl_job_release(tl_job *job, int32_t mark);
/* `size` zero bytes. */
tl_status tl_job_zeros(tl_job *job, int64_t n, size_t size, const uint8_t **out, tl_error *err) TL_CHECKED;

/* kind and width of a canonical column of this type. */
void tl_column_shape(const tl_type *type, tl_column *out);

/* ---- nodes ---- */

/* Rows [from, from + n) of `array` as a column. `live`: rows that matter; the others come out as nulls. */
tl_status tl_align_node(tl_job *job, const tl_plan *plan, const struct ArrowArray *array, int64_t from, int64_t n,
                        tl_bits live, const tl_frame *frame, tl_column *out, tl_error *err) TL_CHECKED;
/* n nulls. */
tl_status tl_align_nulls(tl_job *job, const tl_type *type, int64_t n, tl_column *out, tl_error *err) TL_CHECKED;
/* Values [from, from + count) of `array`, converted, then picked by number (-1 = null) into n rows. `frame` belongs to
 * the n rows. Values nobody picks cannot fail. */
tl_status tl_align_picked(tl_job *job, const tl_plan *plan, const struct ArrowArray *array, int64_t from, int64_t count,
                          tl_row_numbers pick, int64_t n, const tl_frame *frame, tl_column *out,
                          tl_error *err) TL_CHECKED;
/* LIST, LIST_VIEW, FIXED_LIST and STRUCT steps. */
tl_status tl_align_nested(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                          tl_error *err) TL_CHECKED;

/* ---- leaves ---- */

tl_status tl_align_int(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                       tl_error *err) TL_CHECKED;
tl_status tl_align_real(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                        tl_error *err) TL_CHECKED;
tl_status tl_align_decimal(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                           tl_error *err) TL_CHECKED;
tl_status tl_align_time(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                        tl_error *err) TL_CHECKED;
tl_status tl_align_text(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                        tl_error *err) TL_CHECKED;
tl_status tl_align_bytes(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                         tl_error *err) TL_CHECKED;
/* Any number, bool or time to its canonical text. */
tl_status tl_align_print(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, tl_column *out,
                         tl_error *err) TL_CHECKED;

static inline bool tl_view_valid(const tl_view *v, int64_t i) {
    return tl_bits_at(v->validity, i);
}

/* Values of a source as wide numbers. */
double tl_view_real(const tl_view *v, int64_t i);   /* float16, float32, float64 */
tl_i128 tl_view_whole(const tl_view *v, int64_t i); /* bool, int8 .. uint64 */

/* A 256-bit magnitude with a sign: any Arrow decimal. */
typedef struct tl_wide {
    bool negative;
    uint64_t limb[4]; /* least first */
} tl_wide;
tl_wide tl_view_wide(const tl_view *v, int64_t i);
size_t tl_print_wide(tl_wide w, int32_t scale, char out[TL_VALUE_TEXT]);
tl_u128 tl_power_of_ten(int32_t n); /* 0 .. 38 */
/* v * 10^by; false when it does not fit `precision` digits (by >= 0) or is not whole (by < 0). */
bool tl_rescale(tl_i128 v, int32_t by, int32_t precision, tl_i128 *out);

/* ---- messages ---- */

typedef enum tl_why {
    TL_WHY_FIT,       /* 3000000000 does not fit int */
    TL_WHY_SYNTAX,    /* "abc" is not a double */
    TL_WHY_ZONE,      /* a zone where none may be */
    TL_WHY_ZONE_NAME, /* a zone by name */
    TL_WHY_UTF8,
    TL_WHY_TOO_LONG,
    TL_WHY_NULL
} tl_why;

/* TL_INVALID with column, row and value of row `i` of the view (`v` may be NULL for nulls). */
tl_status tl_misfit(tl_job *job, const tl_plan *plan, const tl_view *v, const tl_frame *frame, int64_t i, tl_why why,
                    tl_error *err);

/* A source value as canonical text (no quotes): what a string column gets. Leaf types but text and bytes. */
size_t tl_value_print(const tl_view *v, int64_t i, char out[TL_VALUE_TEXT]);

#endif
