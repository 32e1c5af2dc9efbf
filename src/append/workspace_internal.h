/*
 * What appends leave for the next one: buffers, hash tables and codec contexts of the encoders (making them anew costs
 * a small append more than sorting its rows), and the encodings chosen for the last table. Nothing in it changes what
 * rows are written; a choice is made anew after 16 appends, or when the rows are many more or fewer.
 */
#ifndef TL_APPEND_WORKSPACE_INTERNAL_H
#define TL_APPEND_WORKSPACE_INTERNAL_H

#include "append/append.h"
#include "append/encode_internal.h"

/* Scratch for `workers`, fresh or used; NULL when memory ends. `w` may be NULL. Goes back by give, which drops what is
 * too large to be kept. */
tl_encode_scratch *tl_workspace_take(tl_append_workspace *w, unsigned workers);
void tl_workspace_give(tl_append_workspace *w, tl_encode_scratch *scratch, unsigned workers);

/* Fills in the encodings chosen for earlier rows of this table, if they were for the same columns, plans and codec. */
bool tl_workspace_chosen(tl_append_workspace *w, const tl_table *table, tl_encoder *e, bool compact, int64_t rows);
/* Remembers a choice made by looking at `rows` rows. */
void tl_workspace_choose(tl_append_workspace *w, const tl_table *table, const tl_encoder *e, bool compact,
                         int64_t rows);

#endif
