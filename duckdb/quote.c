/* Quoting for SQL; see sql_text.h. */
#include "duckdb/sql_text.h"

/* `mark` doubled; 0 = nothing is. */
static tl_status add_text(tl_buf *out, const char *text, char mark, bool path) {
    for (; *text; text++) {
        if (*text == mark) {
            TL_TRY(tl_buf_add_byte(out, (uint8_t)mark));
        }
        if (path && (*text == '*' || *text == '?' || *text == '[')) {
            TL_TRY(tl_buf_printf(out, "[%c]", *text));
            continue;
        }
        TL_TRY(tl_buf_add_byte(out, (uint8_t)*text));
    }
    return TL_OK;
}

static tl_status quote(tl_buf *out, const char *text, char mark, bool path) {
    TL_TRY(tl_buf_add_byte(out, (uint8_t)mark));
    TL_TRY(add_text(out, text, mark, path));
    return tl_buf_add_byte(out, (uint8_t)mark);
}

tl_status tl_duck_quote_text(tl_buf *out, const char *text) {
    return quote(out, text, '\'', false);
}
tl_status tl_duck_quote_name(tl_buf *out, const char *name) {
    return quote(out, name, '"', false);
}
tl_status tl_duck_quote_path(tl_buf *out, const char *path) {
    return quote(out, path, '\'', true);
}
tl_status tl_duck_path(tl_buf *out, const char *path) {
    return add_text(out, path, 0, true);
}
