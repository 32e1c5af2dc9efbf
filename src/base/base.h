/*
 * The ground of every room: statuses, error texts, small helpers.
 * Comes in: nothing. Goes out: tl_status values and one-line messages in a caller-owned tl_error.
 */
#ifndef TL_BASE_BASE_H
#define TL_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timelake.h"

/* A status that must be looked at. */
#define TL_CHECKED __attribute__((warn_unused_result))
#define TL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Return early with a status that is not TL_OK. */
#define TL_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        tl_status tl_try_status_ = (expr);                                                                             \
        if (tl_try_status_ != TL_OK) {                                                                                 \
            return tl_try_status_;                                                                                     \
        }                                                                                                              \
    } while (0)

/* Writes the message (cut at the buffer's end, line breaks become blanks) and returns `status`. `err` may be NULL. */
tl_status tl_fail(tl_error *err, tl_status status, const char *fmt, ...) TL_PRINTF(3, 4);

/* Puts text before a message that is there already: "table a.b: <old message>". `err` may be NULL. */
void tl_error_prefix(tl_error *err, const char *fmt, ...) TL_PRINTF(2, 3);

/* The message of a failed allocation of `bytes`; returns TL_NO_MEMORY. Allocates nothing. */
tl_status tl_fail_memory(tl_error *err, size_t bytes);

/* Bytes that belong to somebody else. `data` may be NULL when `len` is 0. */
typedef struct tl_bytes {
    const uint8_t *data;
    size_t len;
} tl_bytes;

tl_bytes tl_bytes_of(const char *text); /* the text without its NUL */
bool tl_bytes_equal(tl_bytes a, tl_bytes b);
int tl_bytes_compare(tl_bytes a, tl_bytes b); /* unsigned byte order, then length */

/* Sizes whose sum or product must not wrap: false when it does. */
static inline bool tl_size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool tl_size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool tl_i64_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool tl_i64_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

/* Division that rounds towards minus infinity; `by` > 0. Times before 1970 need it (spec/table-format.md a.3). */
static inline int64_t tl_floor_div(int64_t a, int64_t by) {
    int64_t q = a / by;
    return (a % by < 0) ? q - 1 : q;
}

#define TL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
