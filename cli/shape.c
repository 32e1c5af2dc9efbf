/* Shapes of statements; see shape.h. A reader of tokens that gives up at the first thing it does not know. */
#include "cli/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

typedef enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_QUOTED,
    TOKEN_TEXT,
    TOKEN_NUMBER,
    TOKEN_MARK,
    TOKEN_BAD
} token_kind;

typedef struct token {
    token_kind kind;
    tl_bytes text; /* without quotes, doubled quotes still doubled */
} token;

enum { MAX_TOKENS = 512 };

typedef struct reader {
    token tokens[MAX_TOKENS + 1]; /* TOKEN_END at the end */
    int n, at;
} reader;

/* ---- tokens ---- */

static bool is_word_byte(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

/* Behind blanks and comments; SIZE_MAX = a comment without end. */
static size_t skip_blanks(tl_bytes s, size_t at) {
    for (;;) {
        if (at < s.len && strchr(" \t\r\n\f\v", s.data[at]) && s.data[at]) {
            at++;
        } else if (at + 1 < s.len && s.data[at] == '-' && s.data[at + 1] == '-') {
            while (at < s.len && s.data[at] != '\n') {
                at++;
            }
        } else if (at + 1 < s.len && s.data[at] == '/' && s.data[at + 1] == '*') {
            return SIZE_MAX; /* may be nested: not looked into */
        } else {
            return at;
        }
    }
}

/* A text in quotes: *end behind the closing one. */
static bool quoted(tl_bytes s, size_t at, size_t *end) {
    uint8_t mark = s.data[at];
    for (size_t i = at + 1; i < s.len; i++) {
        if (s.data[i] == mark && i + 1 < s.len && s.data[i + 1] == mark) {
            i++;
        } else if (s.data[i] == mark) {
            *end = i + 1;
            return true;
        }
    }
    return false;
}

static token next_token(tl_bytes s, size_t *at) {
    size_t from = *at = skip_blanks(s, *at), end;
    if (from == SIZE_MAX) {
        return (token){TOKEN_BAD, {NULL, 0}};
    }
    if (from >= s.len || (s.data[from] == ';' && skip_blanks(s, from + 1) >= s.len)) {
        return (token){TOKEN_END, {NULL, 0}};
    }
    uint8_t c = s.data[from];
    if (c == '\'' || c == '"') {
        if (!quoted(s, from, &end)) {
            return (token){TOKEN_BAD, {NULL, 0}};
        }
        *at = end;
        return (token){c == '"' ? TOKEN_QUOTED : TOKEN_TEXT, {s.data + from + 1, end - from - 2}};
    }
    end = from + 1;
    token_kind kind = is_digit(c) ? TOKEN_NUMBER : is_word_byte(c) ? TOKEN_WORD : TOKEN_MARK;
    while (end < s.len && kind != TOKEN_MARK && is_word_byte(s.data[end])) {
        end++;
    }
    if (kind == TOKEN_WORD && end < s.len && s.data[end] == '\'') {
        kind = TOKEN_BAD; /* e'...' and its like */
    } else if (kind == TOKEN_MARK && end < s.len && strchr("<>!=:", c) && strchr("=>:", s.data[end])) {
        end++;
    } else if (kind == TOKEN_MARK && !strchr("(),.*=<>+-/%|:;", c)) {
        kind = TOKEN_BAD;
    }
    *at = end;
    return (token){kind, {s.data + from, end - from}};
}

static bool read_tokens(tl_bytes s, reader *r) {
    size_t at = 0;
    for (r->n = 0, r->at = 0; r->n < MAX_TOKENS; r->n++) {
        r->tokens[r->n] = next_token(s, &at);
        if (r->tokens[r->n].kind == TOKEN_END) {
            return true;
        }
        if (r->tokens[r->n].kind == TOKEN_BAD) {
            return false;
        }
    }
    return false;
}

/* ---- reading ---- */

static const token *peek(const reader *r) {
    return &r->tokens[r->at];
}

static bool is_word(const token *t, const char *word) {
    return t->kind == TOKEN_WORD && tl_text_is(t->text, word);
}

static bool is_mark(const token *t, const char *mark) {
    return t->kind == TOKEN_MARK && t->text.len == strlen(mark) && memcmp(t->text.data, mark, t->text.len) == 0;
}

static bool take_word(reader *r, const char *word) {
    bool is = is_word(peek(r), word);
    r->at += is;
    return is;
}

static bool take_mark(reader *r, const char *mark) {
    bool is = is_mark(peek(r), mark);
    r->at += is;
    return is;
}

/* Words of these texts one after the other; punctuation is a word of its own. */
static bool take_all(reader *r, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!take_word(r, words[i]) && !take_mark(r, words[i])) {
            return false;
        }
    }
    return true;
}

static bool copy_name(const token *t, tl_shape_name *out) {
    size_t n = 0;
    char mark = t->kind == TOKEN_QUOTED ? '"' : t->kind == TOKEN_TEXT ? '\'' : 0;
    for (size_t i = 0; i < t->text.len; i++) {
        if (n + 1 >= sizeof out->text) {
            return false;
        }
        out->text[n++] = (char)t->text.data[i];
        i += mark && t->text.data[i] == (uint8_t)mark; /* doubled */
    }
    out->text[n] = 0;
    return true;
}

/* Words that end a part of a statement are no names unless quoted. */
static bool is_keyword(const token *t) {
    static const char *const words[] = {
        "where", "group",   "order",       "having",     "qualify", "limit", "offset",  "window",
        "using", "select",  "from",        "and",        "or",      "not",   "as",      "on",
        "join",  "inner",   "left",        "right",      "full",    "cross", "natural", "asof",
        "union", "except",  "intersect",   "desc",       "asc",     "nulls", "between", "in",
        "is",    "like",    "tablesample", "positional", "semi",    "anti",  "fetch",   "for",
        "pivot", "unpivot", "at",          "distinct",   "all",     "case",  "when",    "end"};
    for (size_t i = 0; i < TL_COUNT(words); i++) {
        if (is_word(t, words[i])) {
            return true;
        }
    }
    return false;
}

static bool take_name(reader *r, tl_shape_name *out) {
    const token *t = peek(r);
    if (t->kind != TOKEN_QUOTED && (t->kind != TOKEN_WORD || is_keyword(t))) {
        return false;
    }
    r->at++;
    return copy_name(t, out);
}

/* [catalog.][schema.]table [[as] alias] */
static bool take_table(reader *r, tl_shape *out) {
    tl_shape_name alias;
    do {
        if (out->n_table == TL_SHAPE_NAMES || !take_name(r, &out->table[out->n_table++])) {
            return false;
        }
    } while (take_mark(r, "."));
    if (take_word(r, "as")) {
        return take_name(r, &alias);
    }
    (void)take_name(r, &alias);
    return true;
}

/* name or alias.name: the last part. */
static bool take_column(reader *r, tl_shape_name *out) {
    if (!take_name(r, out)) {
        return false;
    }
    return !take_mark(r, ".") || take_name(r, out);
}

/* `*`, or columns as they are, without new names. */
static bool take_plain_list(reader *r) {
    tl_shape_name column;
    if (take_mark(r, "*")) {
        return true;
    }
    do {
        if (!take_column(r, &column)) {
            return false;
        }
    } while (take_mark(r, ","));
    return true;
}

static bool at_end(const reader *r) {
    return peek(r)->kind == TOKEN_END;
}

/* Nothing there that could name a table once more. */
static bool rest_is_harmless(const reader *r, int from) {
    static const char *const words[] = {"select",    "from",  "join",        "table", "union",   "except",
                                        "intersect", "pivot", "unpivot",     "into",  "lateral", "describe",
                                        "summarize", "query", "query_table", "exists"};
    for (int i = from; i < r->n; i++) {
        for (size_t k = 0; k < TL_COUNT(words); k++) {
            if (is_word(&r->tokens[i], words[k])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the shapes, from behind `select` ---- */

static bool read_count(reader *r, tl_shape *out) {
    static const char *const call[] = {"count", "(", "*", ")"};
    if (!take_all(r, call, TL_COUNT(call))) {
        return false;
    }
    if (take_word(r, "as")) {
        if (!take_name(r, &out->alias)) {
            return false;
        }
    } else {
        (void)take_name(r, &out->alias);
    }
    return take_word(r, "from") && take_table(r, out) && at_end(r);
}

static bool read_latest(reader *r, tl_shape *out) {
    static const char *const call[] = {"qualify", "row_number", "(", ")", "over", "(", "partition", "by"};
    static const char *const end[] = {")", "="};
    if (!take_plain_list(r) || !take_word(r, "from") || !take_table(r, out) || !take_all(r, call, TL_COUNT(call))) {
        return false;
    }
    do {
        if (out->n_keys == TL_SHAPE_KEYS || !take_column(r, &out->keys[out->n_keys++])) {
            return false;
        }
    } while (take_mark(r, ","));
    if (!take_word(r, "order") || !take_word(r, "by") || !take_column(r, &out->order) || !take_word(r, "desc") ||
        !take_all(r, end, TL_COUNT(end))) {
        return false;
    }
    const token *one = peek(r);
    if (one->kind != TOKEN_NUMBER || !tl_text_is(one->text, "1")) {
        return false;
    }
    r->at++;
    return at_end(r) || (is_word(peek(r), "order") && rest_is_harmless(r, r->at));
}

static bool read_newest(reader *r, tl_shape *out) {
    if (!take_plain_list(r) || !take_word(r, "from") || !take_table(r, out) || !take_word(r, "order") ||
        !take_word(r, "by") || !take_column(r, &out->order) || !take_word(r, "desc") || !take_word(r, "limit")) {
        return false;
    }
    const token *count = peek(r);
    if (count->kind != TOKEN_NUMBER || tl_parse_i64(count->text, &out->limit) != TL_PARSE_OK || out->limit <= 0) {
        return false;
    }
    r->at++;
    return at_end(r);
}

/* Names given in the select list, with `as` or without: a name behind a value. */
static bool read_renamed(const reader *r, int from, int to, tl_shape *out) {
    for (int i = from + 1; i < to; i++) {
        const token *t = &r->tokens[i], *before = &r->tokens[i - 1];
        bool value = before->kind == TOKEN_QUOTED || before->kind == TOKEN_TEXT || before->kind == TOKEN_NUMBER ||
                     is_mark(before, ")") || is_word(before, "as") || is_word(before, "end") ||
                     (before->kind == TOKEN_WORD && !is_keyword(before));
        if (value && (t->kind == TOKEN_QUOTED || (t->kind == TOKEN_WORD && !is_keyword(t)))) {
            if (out->n_renamed == TL_SHAPE_KEYS || !copy_name(t, &out->renamed[out->n_renamed++])) {
                return false;
            }
        } else if (is_mark(t, ":")) { /* DuckDB's name: value */
            return false;
        }
    }
    return true;
}

static bool ends_where(const token *t) {
    static const char *const words[] = {"group", "order",  "having", "qualify", "window",
                                        "limit", "offset", "using",  "fetch",   "for"};
    for (size_t i = 0; i < TL_COUNT(words); i++) {
        if (is_word(t, words[i])) {
            return true;
        }
    }
    return t->kind == TOKEN_END;
}

/* Where the condition that begins here ends: at AND, or at what follows `where`. -1 = not understood. */
static int term_end(const reader *r, int from) {
    int depth = 0, betweens = 0;
    for (int i = from; i <= r->n; i++) {
        const token *t = &r->tokens[i];
        depth += is_mark(t, "(") ? 1 : is_mark(t, ")") ? -1 : 0;
        if (depth < 0 || (depth > 0 && t->kind == TOKEN_END)) {
            return -1;
        }
        if (depth > 0) {
            continue;
        }
        if (is_word(t, "or") || is_word(t, "not") || is_word(t, "case")) {
            return -1;
        }
        betweens += is_word(t, "between");
        if (is_word(t, "and") && betweens > 0) {
            betweens--;
        } else if (is_word(t, "and") || ends_where(t)) {
            return i;
        }
    }
    return -1;
}

/* No OR joins the conditions from here on: they all must hold. */
static bool all_must_hold(const reader *r, int from) {
    for (int end = from;; from = end + 1) {
        end = term_end(r, from);
        if (end < 0) {
            return false;
        }
        if (!is_word(&r->tokens[end], "and")) {
            return true;
        }
    }
}

/* [timestamp [with time zone] | timestamptz | date] 'text' [:: one of these] */
static bool take_literal(reader *r, tl_shape_name *out) {
    static const char *const zone[] = {"with", "time", "zone"};
    bool typed = take_word(r, "timestamptz") || take_word(r, "date");
    if (!typed && take_word(r, "timestamp") && is_word(peek(r), "with") && !take_all(r, zone, TL_COUNT(zone))) {
        return false;
    }
    const token *t = peek(r);
    if (t->kind != TOKEN_TEXT || !copy_name(t, out)) {
        return false;
    }
    r->at++;
    if (take_mark(r, "::") && !take_word(r, "timestamptz") && !take_word(r, "date")) {
        return take_word(r, "timestamp") && (!is_word(peek(r), "with") || take_all(r, zone, TL_COUNT(zone)));
    }
    return true;
}

static void add_term(tl_shape *out, const tl_shape_name *column, const char *op, const tl_shape_name *value) {
    if (out->n_terms < TL_SHAPE_TERMS) {
        tl_shape_term *term = &out->terms[out->n_terms++];
        term->column = *column;
        (void)snprintf(term->op, sizeof term->op, "%s", op);
        term->value = *value;
    }
}

/* Keeps the condition when it is column <op> literal, or column between two; others only make the result smaller. */
static void read_term(reader *r, int end, tl_shape *out) {
    static const char *const ops[] = {"=", "<=", ">=", "<", ">"};
    tl_shape_name column, value, other;
    if (!take_column(r, &column)) {
        return;
    }
    if (take_word(r, "between")) {
        if (take_literal(r, &value) && take_word(r, "and") && take_literal(r, &other) && r->at == end) {
            add_term(out, &column, ">=", &value);
            add_term(out, &column, "<=", &other);
        }
        return;
    }
    for (size_t i = 0; i < TL_COUNT(ops); i++) {
        if (take_mark(r, ops[i])) {
            if (take_literal(r, &value) && r->at == end) {
                add_term(out, &column, ops[i], &value);
            }
            return;
        }
    }
}

static bool read_where(reader *r, tl_shape *out) {
    int from = r->at;
    while (!is_word(peek(r), "from")) {
        if (at_end(r)) {
            return false;
        }
        r->at++;
    }
    if (!read_renamed(r, from, r->at, out) || !rest_is_harmless(r, r->at + 1)) {
        return false;
    }
    for (int i = from; i < r->at; i++) {
        if (is_word(&r->tokens[i], "select") || is_word(&r->tokens[i], "table")) {
            return false;
        }
    }
    r->at++;
    if (!take_table(r, out) || !take_word(r, "where") || !all_must_hold(r, r->at)) {
        return false;
    }
    for (;;) {
        int end = term_end(r, r->at);
        read_term(r, end, out);
        r->at = end;
        if (!take_word(r, "and")) {
            return out->n_terms > 0;
        }
    }
}

void tl_shape_of(tl_bytes statement, tl_shape *out) {
    static const struct {
        bool (*read)(reader *, tl_shape *);
        tl_shape_kind kind;
    } shapes[] = {{read_count, TL_SHAPE_COUNT},
                  {read_latest, TL_SHAPE_LATEST},
                  {read_newest, TL_SHAPE_NEWEST},
                  {read_where, TL_SHAPE_WHERE}};
    reader r;
    memset(out, 0, sizeof *out);
    if (!read_tokens(statement, &r)) {
        return;
    }
    bool explain = take_word(&r, "explain");
    (void)(explain && take_word(&r, "analyze"));
    if (!take_word(&r, "select")) {
        return;
    }
    int begin = r.at;
    for (size_t i = explain; i < TL_COUNT(shapes); i++) { /* an explained count stays one */
        r.at = begin;
        if (shapes[i].read(&r, out)) {
            out->kind = shapes[i].kind;
            return;
        }
        memset(out, 0, sizeof *out);
    }
}
