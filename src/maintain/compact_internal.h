/* What the files of compaction share: the work that is to be done, and doing a piece of it. */
#ifndef TL_MAINTAIN_COMPACT_INTERNAL_H
#define TL_MAINTAIN_COMPACT_INTERNAL_H

#include "append/append.h"
#include "maintain/compact.h"
#include "read/read.h"

/* Files of one partition that become one sorted set of files; next to each other in commit order. */
typedef struct tl_compact_unit {
    int32_t partition; /* 0 in a table without one */
    int64_t *files;    /* ascending indices into plan->files.data */
    int64_t n;
    int64_t rows, bytes;
    double worth; /* what is done first */
} tl_compact_unit;

typedef struct tl_compact_work {
    tl_compact_unit *units; /* the most worth first */
    int64_t n;
    tl_arena arena;
} tl_compact_work;

/* What is worth doing in the table of the plan, which keeps copies (compact_plan.c). */
tl_status tl_compact_choose(const tl_plan *plan, const tl_compact_options *options, tl_compact_work *out,
                            tl_error *err) TL_CHECKED;
void tl_compact_work_free(tl_compact_work *work);

/* Does the table, one append later, have nothing to compact? Then the outlook is of this version; else it is zeroed. */
bool tl_compact_outlook_holds(const tl_table *t, int64_t now_us, tl_compact_outlook *o);
/* Makes `seen`, found when a look found nothing, the outlook of this version. */
void tl_compact_outlook_note(const tl_table *t, const tl_compact_outlook *seen, tl_compact_outlook *o);

/* Writes the rows of a unit anew (compact_rows.c): staged files, not yet part of the table. `workspace` may be NULL. */
tl_status tl_compact_rows(tl_plan *plan, const tl_compact_unit *unit, const tl_compact_options *options,
                          tl_append_workspace *workspace, tl_staged *out, tl_error *err) TL_CHECKED;

/* The same for a unit whose row groups do not interleave in key order: they are put one behind the other, byte for byte
 * (compact_copy.c). *done is false, and nothing is left, when that cannot be or would leave row groups too small. */
tl_status tl_compact_copy(tl_plan *plan, const tl_compact_unit *unit, const tl_compact_options *options, bool *done,
                          tl_staged *out, tl_error *err) TL_CHECKED;

/* The plan's file of plan->files.data[index]. NULL = it is not scanned. */
const tl_plan_file *tl_compact_plan_file(const tl_plan *plan, int64_t index);

#endif
