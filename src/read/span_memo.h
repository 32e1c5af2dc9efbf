/*
 * Key columns of small files, remembered by the process for look-ups that come with each commit (policy upsert): a
 * writer that commits again and again looks into the same files every time. For the read room.
 */
#ifndef TL_READ_SPAN_MEMO_H
#define TL_READ_SPAN_MEMO_H

#include "base/memo.h"
#include "read/read_internal.h"

enum { TL_SPAN_MEMO_ROWS = 1 << 18 }; /* larger files are read anew, in part where a part will do */

/* The key columns of `live`, as file number `file`, as tl_keys_spans gives them: of the series of `among` (NULL = all).
 * *memo is what their
 * keys and times belong to; caller releases it after the spans. */
tl_status tl_span_memo_take(tl_table *table, const tl_schema *schema, const tl_live_file *live,
                            const tl_series_set *among, tl_key_scratch *scratch, int32_t file, tl_spans *out,
                            tl_memo **memo, tl_error *err) TL_CHECKED;

#endif
