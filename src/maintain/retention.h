/*
 * Retention (spec d): partitions that lie wholly before the retained span are dropped. Comes in: a table with the
 * setting `retention`. Goes out: a `delete` commit without their files; nothing is read or written anew.
 *
 * The retained span ends at the newest reading that is not in the future: the least of the clock and the newest row
 * among the partitions that have begun. So rows from the future, a clock that runs ahead, or a table that gets no more
 * rows never let the rest be dropped. Timelake 0.7.0 goes by the clock alone.
 *
 * Only whole partitions go, never a file out of one that stays: it may hold the last writes of keys whose older copies
 * stay. The last-value index loses exactly the series whose last row was dropped, so that it says what a scan says.
 */
#ifndef TL_MAINTAIN_RETENTION_H
#define TL_MAINTAIN_RETENTION_H

#include "table/table.h"

typedef struct tl_retention_result {
    int64_t partitions, files, rows, bytes; /* dropped, or to be dropped */
} tl_retention_result;

/* `out` = the newest version, retained. dry_run: only counts. Races are planned anew; TL_CONFLICT when they go on. */
tl_status tl_retention_apply(tl_table *base, bool dry_run, tl_retention_result *result, tl_table **out,
                             tl_error *err) TL_CHECKED;

/* The end of what is dropped, in microseconds, among these files at this time; INT64_MIN = nothing. Pure. */
int64_t tl_retention_cut(const tl_table *t, const tl_live_files *files, int64_t retention_us, int64_t now_us);

#endif
