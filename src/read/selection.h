/* Which rows of a row group are wanted: hidden rows, time and key filters become row ranges (selection.c). */
#ifndef TL_READ_SELECTION_H
#define TL_READ_SELECTION_H

#include "read/read_internal.h"

typedef struct tl_selection {
    tl_pq_row_range *ranges; /* ascending, disjoint, in the row group */
    int32_t n, cap;
    int64_t rows;  /* in all ranges */
    uint8_t *bits; /* scratch */
    size_t cap_bits;
} tl_selection;
void tl_selection_free(tl_selection *s);

/* `first_row` = the row group's first row in the file; `only` as for tl_keys_read. */
tl_status tl_selection_make(tl_table *table, const tl_schema *schema, tl_open_file *f, const tl_plan_file *plan_file,
                            int32_t row_group, int64_t first_row, const tl_plan_options *options, const tl_bytes *only,
                            tl_selection *out, tl_error *err) TL_CHECKED;

#endif
