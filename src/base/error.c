/* Error texts: written once, in the caller's buffer, always one line. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

static void one_line(char *text) {
    for (; *text; text++) {
        if (*text == '\n' || *text == '\r') {
            *text = ' ';
        }
    }
}

tl_status tl_fail(tl_error *err, tl_status status, const char *fmt, ...) {
    if (err) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(err->message, sizeof err->message, fmt, args);
        va_end(args);
        one_line(err->message);
    }
    return status;
}

void tl_error_prefix(tl_error *err, const char *fmt, ...) {
    if (!err) {
        return;
    }
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    old[sizeof old - 1] = '\0';
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof err->message) {
        (void)snprintf(err->message + n, sizeof err->message - (size_t)n, "%s", old);
    }
    one_line(err->message);
}

tl_status tl_fail_memory(tl_error *err, size_t bytes) {
    return tl_fail(err, TL_NO_MEMORY, "out of memory: %zu bytes could not be had", bytes);
}

const char *tl_status_name(tl_status status) {
    switch (status) {
    case TL_OK: return "ok";
    case TL_INVALID: return "invalid";
    case TL_NOT_FOUND: return "not found";
    case TL_EXISTS: return "exists";
    case TL_CONFLICT: return "conflict";
    case TL_UNKNOWN: return "unknown";
    case TL_FULL: return "full";
    case TL_IO: return "input/output";
    case TL_CORRUPT: return "corrupt";
    case TL_UNSUPPORTED: return "unsupported";
    case TL_NO_MEMORY: return "out of memory";
    case TL_CANCELLED: return "cancelled";
    case TL_INTERNAL: return "internal";
    }
    return "unknown status";
}

tl_bytes tl_bytes_of(const char *text) {
    return (tl_bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

bool tl_bytes_equal(tl_bytes a, tl_bytes b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

int tl_bytes_compare(tl_bytes a, tl_bytes b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.data, b.data, n);
    if (c != 0) {
        return c;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}
