/* What the parts of the check share: where findings go, and what is known of the table so far. */
#ifndef TL_MAINTAIN_CHECK_INTERNAL_H
#define TL_MAINTAIN_CHECK_INTERNAL_H

#include "base/lock.h"
#include "maintain/check.h"
#include "maintain/objects.h"
#include "read/rows.h"

typedef struct tl_checking {
    tl_table *t;
    const tl_schema *schema;
    const tl_check_options *options;
    tl_check_result *result;
    tl_objects objects;
    tl_live_files files; /* of the current snapshot */
    bool whole;          /* all of the current snapshot's manifests could be read */
    int64_t all_bytes, done_bytes;
    tl_lock lock; /* result, done_bytes and the calls */
} tl_checking;

/* One finding. `object` = the key or path it is about; NULL = the table. */
void tl_check_report(tl_checking *c, bool warning, const char *kind, const char *object, const char *fmt, ...)
    TL_PRINTF(5, 6);

/* A failed read as a finding; statuses that end the check come back. */
tl_status tl_check_unreadable(tl_checking *c, tl_status status, const char *kind, const char *object,
                              const tl_error *why, tl_error *err) TL_CHECKED;

/* Has the snapshot been expired meanwhile, so that nothing of it need be there? */
bool tl_check_expired(tl_checking *c, const tl_snapshot *s);

void tl_check_progress(tl_checking *c, int64_t bytes);

/* ---- the parts ---- */

/* Retained snapshots: lists, manifests, counts, files that are there; fills c->files (check_manifests.c). */
tl_status tl_check_snapshots(tl_checking *c, tl_error *err) TL_CHECKED;
/* One data file against what its manifest says (check_data.c). */
tl_status tl_check_data_file(tl_checking *c, const tl_live_file *live, tl_error *err) TL_CHECKED;
/* All delete files (check_deletes.c). */
tl_status tl_check_deletes(tl_checking *c, tl_error *err) TL_CHECKED;
/* Last-value index against a scan; head and hint against the metadata (check_index.c). */
tl_status tl_check_index(tl_checking *c, tl_error *err) TL_CHECKED;
tl_status tl_check_head(tl_checking *c, tl_error *err) TL_CHECKED;

/* ---- values (check_values.c) ---- */

/* An Iceberg single value as a column of one row; false when it cannot be of the type. Memory in `arena`. */
tl_status tl_check_value_column(const tl_type *type, tl_bytes value, tl_arena *arena, tl_column *out, bool *fits,
                                tl_error *err) TL_CHECKED;
/* As tl_column_compare, but the two zeros of floats are equal. For bounds. Neither may be null. */
int tl_check_compare(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b);
bool tl_check_is_nan(const tl_type *type, const tl_column *c, int64_t row);
/* Equal to the last bit, at any depth; NaN equals NaN. */
bool tl_check_equal(const tl_type *type, const tl_column *a, int64_t row_a, const tl_column *b, int64_t row_b);

#endif
