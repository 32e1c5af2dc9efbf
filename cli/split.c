/* SQL text; see split.h. The lexical rules are PostgreSQL's, which DuckDB's parser follows. */
#include "cli/split.h"

#include <string.h>

static bool is_word(uint8_t b) {
    return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_' || b >= 0x80;
}

static uint8_t lower(uint8_t b) {
    return b >= 'A' && b <= 'Z' ? (uint8_t)(b + 32) : b;
}

/* Behind a quoted piece that begins at `i`; a doubled mark stays inside. `escapes`: a backslash guards the next byte.
 */
static size_t skip_quoted(tl_bytes t, size_t i, bool escapes) {
    uint8_t mark = t.data[i++];
    while (i < t.len) {
        if (escapes && t.data[i] == '\\') {
            i += i + 1 < t.len ? 2 : 1;
        } else if (t.data[i] != mark) {
            i++;
        } else if (i + 1 < t.len && t.data[i + 1] == mark) {
            i += 2;
        } else {
            return i + 1;
        }
    }
    return t.len;
}

static size_t skip_comment(tl_bytes t, size_t i) {
    if (t.data[i] == '-') {
        const uint8_t *end = memchr(t.data + i, '\n', t.len - i);
        return end ? (size_t)(end - t.data) + 1 : t.len;
    }
    int depth = 0;
    while (i + 1 < t.len) {
        if (t.data[i] == '/' && t.data[i + 1] == '*') {
            depth++;
            i += 2;
        } else if (t.data[i] == '*' && t.data[i + 1] == '/') {
            i += 2;
            if (--depth == 0) {
                return i;
            }
        } else {
            i++;
        }
    }
    return t.len;
}

/* Behind $tag$ ... $tag$, or i + 1 when no dollar quote begins here. */
static size_t skip_dollar(tl_bytes t, size_t i) {
    size_t tag = i + 1;
    while (tag < t.len && is_word(t.data[tag])) {
        tag++;
    }
    if (tag >= t.len || t.data[tag] != '$' || (tag > i + 1 && t.data[i + 1] >= '0' && t.data[i + 1] <= '9')) {
        return i + 1;
    }
    size_t len = tag + 1 - i;
    for (size_t k = tag + 1; k + len <= t.len; k++) {
        if (memcmp(t.data + k, t.data + i, len) == 0) {
            return k + len;
        }
    }
    return t.len;
}

typedef enum token { TOKEN_BLANK, TOKEN_COMMENT, TOKEN_TEXT, TOKEN_NAME, TOKEN_WORD, TOKEN_END, TOKEN_OTHER } token;

/* The token at *i, which moves behind it. */
static token next_token(tl_bytes t, size_t *i) {
    uint8_t b = t.data[*i], c = *i + 1 < t.len ? t.data[*i + 1] : 0;
    if (b == ' ' || b == '\n' || b == '\t' || b == '\r' || b == '\f' || b == '\v') {
        ++*i;
        return TOKEN_BLANK;
    }
    if ((b == '-' && c == '-') || (b == '/' && c == '*')) {
        *i = skip_comment(t, *i);
        return TOKEN_COMMENT;
    }
    if (b == '\'' || b == '"') {
        *i = skip_quoted(t, *i, false);
        return b == '"' ? TOKEN_NAME : TOKEN_TEXT;
    }
    if ((b == 'e' || b == 'E') && c == '\'') {
        *i = skip_quoted(t, *i + 1, true);
        return TOKEN_TEXT;
    }
    if (b == '$') {
        size_t end = skip_dollar(t, *i);
        token kind = end == *i + 1 ? TOKEN_OTHER : TOKEN_TEXT;
        *i = end;
        return kind;
    }
    if (is_word(b)) {
        while (*i < t.len && (is_word(t.data[*i]) || t.data[*i] == '$')) {
            ++*i;
        }
        return TOKEN_WORD;
    }
    ++*i;
    return b == ';' ? TOKEN_END : TOKEN_OTHER;
}

bool tl_sql_next(tl_bytes text, size_t *at, tl_bytes *statement) {
    while (*at < text.len) {
        size_t from = *at, end = *at;
        bool something = false;
        for (;;) {
            if (*at >= text.len) {
                end = text.len;
                break;
            }
            size_t before = *at;
            token kind = next_token(text, at);
            if (kind == TOKEN_END) {
                end = before;
                break;
            }
            something = something || (kind != TOKEN_BLANK && kind != TOKEN_COMMENT);
        }
        if (something) {
            *statement = (tl_bytes){text.data + from, end - from};
            return true;
        }
    }
    return false;
}

bool tl_sql_has_word(tl_bytes statement, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; len > 0 && i + len <= statement.len; i++) {
        size_t k = 0;
        while (k < len && lower(statement.data[i + k]) == lower((uint8_t)word[k])) {
            k++;
        }
        if (k == len && (i == 0 || !is_word(statement.data[i - 1])) &&
            (i + len == statement.len || !is_word(statement.data[i + len]))) {
            return true;
        }
    }
    return false;
}

tl_status tl_sql_quote_default(tl_bytes statement, tl_buf *out) {
    uint8_t before = 0; /* the byte in front of the token */
    for (size_t i = 0; i < statement.len;) {
        size_t from = i;
        token kind = next_token(statement, &i);
        tl_bytes part = {statement.data + from, i - from};
        bool name = kind == TOKEN_WORD && before != '.' && i < statement.len && statement.data[i] == '.' &&
                    part.len == 7 && tl_sql_has_word(part, "default");
        TL_TRY(name ? tl_buf_add_byte(out, '"') : TL_OK);
        TL_TRY(tl_buf_add(out, part.data, part.len));
        TL_TRY(name ? tl_buf_add_byte(out, '"') : TL_OK);
        before = statement.data[i - 1];
    }
    return TL_OK;
}

void tl_sql_word(tl_bytes statement, int n, char *out, size_t size) {
    out[0] = 0;
    for (size_t i = 0; i < statement.len;) {
        size_t from = i, len = 0;
        if (next_token(statement, &i) != TOKEN_WORD || n-- > 0) {
            continue;
        }
        for (; from < i && len + 1 < size; from++) {
            out[len++] = (char)lower(statement.data[from]);
        }
        out[len] = 0;
        return;
    }
}
