/* Quoting for SQL; see sql_text.h. */
#include "duckdb/sql_text.h"

static tl_status quote(tl_buf *out, const char *text, char mark, bool path) {
    TL_TRY(tl_buf_add_byte(out, (uint8_t)mark));
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
