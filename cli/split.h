/* SQL text, as far as the command must understand it. Pure. */
#ifndef TL_CLI_SPLIT_H
#define TL_CLI_SPLIT_H

#include "base/buf.h"

/* The next statement of a text that ends in semicolons: *at moves behind it. Quotes, dollar quotes and comments are
 * understood. False when only blanks and comments are left. */
bool tl_sql_next(tl_bytes text, size_t *at, tl_bytes *statement);

/* Whether the statement holds the word, also inside of texts and comments (which may be SQL for somebody); letters of
 * any case. A word is a run of letters, digits, '_' and bytes beyond ASCII, and need not be one itself ("my-table"). */
bool tl_sql_has_word(tl_bytes statement, const char *word);

/* Appends the statement with default.x as "default".x: the namespace's name is a keyword to DuckDB. */
tl_status tl_sql_quote_default(tl_bytes statement, tl_buf *out) TL_CHECKED;

/* Word number `n` (0 = the first) of the statement, comments left out, in lower case; cut at the buffer's end. */
void tl_sql_word(tl_bytes statement, int n, char *out, size_t size);

#endif
