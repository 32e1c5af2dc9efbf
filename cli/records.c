/* Text cut into records; see records.h. The states are those of input_csv.c. */
#include "cli/records.h"

#include <string.h>

enum { CELL_START, UNQUOTED, QUOTED, QUOTE };
enum { TOO_LONG_SHOWN = 1000 };

void tl_records_free(tl_records *r) {
    tl_buf_free(&r->bytes);
    tl_free(r->items);
    *r = (tl_records){.csv = r->csv, .delimiter = r->delimiter};
}

tl_bytes tl_record_text(const tl_records *r, const tl_record *record) {
    tl_bytes text = {r->bytes.data + record->at, record->len};
    while (text.len > 0 && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r')) {
        text.len--;
    }
    return text;
}

tl_bytes tl_records_begun(const tl_records *r) {
    return (tl_bytes){r->bytes.data + r->begin, r->bytes.len - r->begin};
}

void tl_records_clear(tl_records *r) {
    size_t left = r->bytes.len - r->begin;
    if (left > 0 && r->begin != r->head) {
        memmove(r->bytes.data + r->head, r->bytes.data + r->begin, left);
    }
    r->scanned -= r->begin - r->head;
    r->begin = r->head;
    r->bytes.len = r->head + left;
    r->n = 0;
}

static bool is_blank(const tl_records *r, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        uint8_t b = r->bytes.data[i];
        if (b != '\n' && b != '\r' && (r->csv || (b != ' ' && b != '\t'))) {
            return false;
        }
    }
    return true;
}

/* Makes a record of what lies before `to`. Blank lines are none; the first of CSV is the header. */
static tl_status cut(tl_records *r, size_t to, tl_record_kind kind, tl_error *err) {
    if (is_blank(r, r->begin, to)) {
        /* stays in front of the next one; readers skip it */
    } else if (r->csv && r->head == 0) {
        r->head = to;
    } else {
        tl_record *grown = tl_grow(r->items, &r->cap, r->n + 1, 256, sizeof *grown, err);
        if (!grown) {
            return TL_NO_MEMORY;
        }
        r->items = grown;
        r->items[r->n++] = (tl_record){r->begin, to - r->begin, r->line, kind};
    }
    r->begin = to;
    r->line = r->at_line + 1;
    r->state = CELL_START;
    return TL_OK;
}

/* Follows the quotes of CSV up to the next line break that ends a record, from `i`; `end` when there is none. */
static size_t find_csv_end(tl_records *r, size_t i, size_t end) {
    for (; i < end; i++) {
        char b = (char)r->bytes.data[i];
        switch (r->state) {
        case QUOTED:
            if (b == '"') {
                r->state = QUOTE;
            }
            r->at_line += b == '\n';
            break;
        case QUOTE: /* a doubled one goes on; anything else but an end is an error, which the reader tells */
            r->state = b == '"' ? QUOTED : b == r->delimiter ? CELL_START : UNQUOTED;
            break;
        case CELL_START:
            if (b != r->delimiter) {
                r->state = b == '"' ? QUOTED : UNQUOTED;
            }
            break;
        default: r->state = b == r->delimiter ? CELL_START : UNQUOTED; break;
        }
        if (b == '\n' && r->state != QUOTED) {
            return i;
        }
    }
    return end;
}

static size_t find_end(tl_records *r, size_t from, size_t end) {
    if (r->csv && !r->skipping) {
        return find_csv_end(r, from, end);
    }
    const uint8_t *stop = memchr(r->bytes.data + from, '\n', end - from);
    return stop ? (size_t)(stop - r->bytes.data) : end;
}

/* The first line of what has begun becomes a record of its own, and what follows is looked at anew. False: it is one
 * line. */
static tl_status give_up_quote(tl_records *r, bool *cut_one, tl_error *err) {
    const uint8_t *from = r->bytes.data + r->begin;
    const uint8_t *stop = r->state == QUOTED ? memchr(from, '\n', r->bytes.len - r->begin) : NULL;
    *cut_one = stop != NULL;
    if (stop) {
        r->scanned = (size_t)(stop - r->bytes.data) + 1;
        r->at_line = r->line;
        TL_TRY(cut(r, r->scanned, TL_RECORD_OPEN, err));
        r->at_line = r->line;
    }
    return TL_OK;
}

/* Shows the beginning of a line and forgets the rest of it, as far as it is there. */
static tl_status give_up_line(tl_records *r, tl_error *err) {
    size_t shown = r->begin + TOO_LONG_SHOWN;
    int64_t line = r->line;
    if (r->csv && r->head == 0) {
        return tl_fail(err, TL_INVALID, "standard input, line %lld: a header line of more than 16 MiB",
                       (long long)line);
    }
    TL_TRY(cut(r, shown, TL_RECORD_TOO_LONG, err));
    r->bytes.len = r->scanned = shown;
    r->line = r->at_line = line;
    r->skipping = true;
    return TL_OK;
}

static tl_status scan(tl_records *r, tl_error *err) {
    while (r->scanned < r->bytes.len) {
        size_t end = find_end(r, r->scanned, r->bytes.len);
        r->scanned = end;
        if (end < r->bytes.len) {
            r->scanned++;
            if (r->skipping) { /* the line is told of already */
                r->skipping = false;
                r->begin = r->scanned;
                r->line = r->at_line + 1;
                r->state = CELL_START;
            } else {
                TL_TRY(cut(r, r->scanned, TL_RECORD_WHOLE, err));
            }
            r->at_line = r->line;
        } else if (r->skipping) {
            r->bytes.len = r->scanned = r->begin;
        } else {
            size_t begun = r->bytes.len - r->begin;
            bool cut_one = false;
            TL_TRY(begun > TL_QUOTED_MOST ? give_up_quote(r, &cut_one, err) : TL_OK);
            TL_TRY(!cut_one && begun > TL_LINE_MOST ? give_up_line(r, err) : TL_OK);
        }
    }
    return TL_OK;
}

tl_status tl_records_add(tl_records *r, const void *data, size_t len, tl_error *err) {
    if (r->line == 0) {
        r->line = r->at_line = 1;
    }
    if (tl_buf_add(&r->bytes, data, len) != TL_OK) {
        return tl_fail_memory(err, len);
    }
    return scan(r, err);
}

tl_status tl_records_end(tl_records *r, bool whole, tl_error *err) {
    bool cut_one = true;
    while (cut_one && r->bytes.len > r->begin && !r->skipping) {
        TL_TRY(give_up_quote(r, &cut_one, err));
        TL_TRY(cut_one ? scan(r, err) : TL_OK);
    }
    if (whole && r->bytes.len > r->begin && !r->skipping) {
        tl_record_kind kind = r->state == QUOTED ? TL_RECORD_OPEN : TL_RECORD_WHOLE;
        TL_TRY(cut(r, r->bytes.len, kind, err));
        r->scanned = r->bytes.len;
    }
    return TL_OK;
}
