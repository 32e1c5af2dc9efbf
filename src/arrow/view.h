/*
 * Checked views of Arrow arrays. Comes in: an array from a caller, every count, pointer and offset unchecked, and a
 * range of its rows. Goes out: pointers to exactly these rows, safe to read, or TL_INVALID with what is wrong.
 *
 * The C data interface carries no buffer lengths, so what can be checked is what the array says about itself: counts,
 * offsets that go forward, indices inside their dictionaries, views inside their buffers, children long enough.
 */
#ifndef TL_ARROW_VIEW_H
#define TL_ARROW_VIEW_H

#include "arrow/type.h"

/* Bits of a bitmap from bit `offset`; `data` NULL = all set. */
typedef struct tl_bits {
    const uint8_t *data;
    int64_t offset;
} tl_bits;

static inline bool tl_bits_at(tl_bits b, int64_t i) {
    return !b.data || tl_bit(b.data, b.offset + i);
}

typedef struct tl_view {
    const tl_arrow_type *type;
    const struct ArrowArray *array;
    int64_t first; /* place of row 0 in the array's buffers: its offset + `from` */
    int64_t length;
    tl_bits validity;   /* data NULL when none of these rows is null */
    int64_t null_count; /* of these rows, counted */
    const uint8_t
        *values; /* fixed width: at row 0; bool: see value_bits; dictionary: the indices; views: 16 bytes a row */
    tl_bits value_bits;     /* bool */
    const uint8_t *offsets; /* at row 0: string, binary, list, map: length + 1; list views: length; 4 or 8 bytes each */
    const uint8_t *sizes;   /* list views, at row 0 */
    const uint8_t *data;    /* string, binary */
} tl_view;

/* Rows [from, from + n) of `array`. Checks the array and everything these rows say; children are checked for their
 * lengths only, they are opened by the caller in turn. `live` says which rows matter (hidden rows of a null struct):
 * rows that do not, or are null, need not be sensible where the format says so. All NULL-able by data == NULL. */
tl_status tl_view_open(const tl_arrow_type *type, const struct ArrowArray *array, int64_t from, int64_t n, tl_bits live,
                       tl_view *out, tl_error *err) TL_CHECKED;

/* How many bytes an offset (or list view size) has: 4 or 8. */
static inline int tl_view_offset_width(const tl_view *v) {
    tl_arrow_id id = v->type->id;
    return id == TL_ARROW_LARGE_STRING || id == TL_ARROW_LARGE_BINARY || id == TL_ARROW_LARGE_LIST ||
                   id == TL_ARROW_LARGE_LIST_VIEW
               ? 8
               : 4;
}

/* Offset `i` (0 .. length for strings and lists). Any alignment. */
static inline int64_t tl_view_offset(const tl_view *v, int64_t i) {
    return tl_view_offset_width(v) == 8 ? tl_load_i64(v->offsets + i * 8) : tl_load_i32(v->offsets + i * 4);
}

static inline int64_t tl_view_size(const tl_view *v, int64_t i) {
    return v->type->id == TL_ARROW_LARGE_LIST_VIEW ? tl_load_i64(v->sizes + i * 8) : tl_load_i32(v->sizes + i * 4);
}

/* The bytes of row `i` of any string or binary type; not for null rows. */
tl_bytes tl_view_bytes(const tl_view *v, int64_t i);

/* Row `i` of an integer type, sign- or zero-extended. uint64 beyond int64 comes out negative. */
int64_t tl_view_int(const tl_view *v, int64_t i);

/* Dictionary: the index of row `i`, checked; not for null rows. */
int64_t tl_view_index(const tl_view *v, int64_t i);

/* Run-end encoded: walks the runs over the rows of a view. Start with tl_runs_start, then while tl_runs_next: rows
 * [row, row + count) of the view have value `run` of the values child. */
typedef struct tl_runs {
    const tl_view *view;
    int64_t row, count, run;
} tl_runs;
void tl_runs_start(const tl_view *v, tl_runs *out);
bool tl_runs_next(tl_runs *r);

/* out bit i = a bit i AND b bit i, n bits, n > 0; `out` has (n + 7) / 8 bytes, bits past n are 0. */
void tl_bits_and(tl_bits a, tl_bits b, int64_t n, uint8_t *out);

#endif
