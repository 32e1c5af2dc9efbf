/* The parts of tl_append_check that the appender calls by themselves. */
#ifndef TL_APPEND_ROWS_CHECK_INTERNAL_H
#define TL_APPEND_ROWS_CHECK_INTERNAL_H

#include "append/append.h"

/* Lengths of values, and that every row has a time. `first_row` = rows before the batch, for the message. */
tl_status tl_rows_check(const tl_table *table, const tl_batch *b, int64_t first_row, tl_error *err) TL_CHECKED;

/* Says that the time of row `row` of the batch fits no partition: TL_INVALID with column, row and value. */
tl_status tl_rows_fail_time(const tl_table *table, const tl_batch *b, int64_t row, int64_t first_row, tl_error *err);

#endif
