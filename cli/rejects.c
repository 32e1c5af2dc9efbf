/* Lines that were not taken; see rejects.h. */
#include "cli/rejects.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/show.h"

tl_status tl_rejects_open(const char *path, tl_rejects *out, tl_error *err) {
    *out = (tl_rejects){.path = path, .fd = -1};
    if (path) {
        out->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (out->fd < 0) {
            return tl_fail(err, TL_IO, "--rejects %s: %s", path, strerror(errno));
        }
    }
    return TL_OK;
}

void tl_rejects_close(tl_rejects *r) {
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    r->fd = -1;
}

/* `standard input, line 1: column "temp", row 7: "warm" is not a double` -> temp, "warm" is not a double. Without a
 * column: data NULL. */
static void dissect(const char *message, tl_bytes *column, const char **reason) {
    static const char place[] = "standard input, line ";
    const char *text = message, *colon = strstr(message, ": ");
    if (strncmp(text, place, sizeof place - 1) == 0 && colon) {
        text = colon + 2;
    }
    *column = (tl_bytes){0};
    *reason = text;
    static const char mark[] = "column \"";
    if (strncmp(text, mark, sizeof mark - 1) != 0) {
        return;
    }
    const char *name = text + sizeof mark - 1, *row = strstr(name, "\", row "), *end = strchr(name, '"');
    const char *behind = row ? strstr(row, ": ") : NULL;
    if (behind) { /* the writer's: its count of rows says nothing about lines */
        *column = (tl_bytes){(const uint8_t *)name, (size_t)(row - name)};
        *reason = behind + 2;
    } else if (end) { /* the reader's, a sentence about the column */
        *column = (tl_bytes){(const uint8_t *)name, (size_t)(end - name)};
    }
}

static tl_status write_line(const tl_rejects *r, const tl_buf *line, tl_error *err) {
    for (size_t at = 0; at < line->len;) { /* in one piece, as a rule: other programs may add too */
        ssize_t n = write(r->fd, line->data + at, line->len - at);
        if (n < 0 && errno != EINTR) {
            return tl_fail(err, TL_IO, "--rejects %s: %s", r->path, strerror(errno));
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return TL_OK;
}

static tl_status make_line(int64_t number, tl_bytes text, tl_bytes column, const char *reason, tl_buf *out) {
    TL_TRY(tl_buf_printf(out, "{\"line\":%lld,\"column\":", (long long)number));
    TL_TRY(column.data ? tl_show_json_text(column, out) : tl_buf_add_text(out, "null"));
    TL_TRY(tl_buf_add_text(out, ",\"reason\":"));
    TL_TRY(tl_show_json_text(tl_bytes_of(reason), out));
    TL_TRY(tl_buf_add_text(out, ",\"text\":"));
    TL_TRY(tl_show_json_text(text, out));
    return tl_buf_add_text(out, "}\n");
}

tl_status tl_rejects_add(tl_rejects *r, int64_t line, tl_bytes text, const tl_error *why, tl_error *err) {
    tl_bytes column;
    const char *reason;
    dissect(why->message, &column, &reason);
    if (r->fd < 0) {
        bool apart = column.data && (const uint8_t *)reason > column.data; /* the reason does not name the column */
        return apart ? tl_fail(err, TL_INVALID, "standard input, line %lld: column \"%.*s\": %s", (long long)line,
                               (int)column.len, (const char *)column.data, reason)
                     : tl_fail(err, TL_INVALID, "standard input, line %lld: %s", (long long)line, reason);
    }
    tl_buf out = {0};
    tl_status status = make_line(line, text, column, reason, &out);
    status = status == TL_OK ? write_line(r, &out, err) : tl_fail_memory(err, text.len);
    tl_buf_free(&out);
    r->n += status == TL_OK;
    return status;
}
