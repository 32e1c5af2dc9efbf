/* Bitmaps of superseded rows: counted, shared between plans and the cache. */
#include <string.h>

#include "read/groups.h"

/* Readers look at whole words. */
#define SLACK 8

static size_t bytes_of(int64_t n_rows) {
    return (size_t)(n_rows + 7) / 8 + SLACK;
}

tl_bitmap *tl_bitmap_create(int64_t n_rows) {
    tl_bitmap *b = tl_calloc(1, sizeof *b + bytes_of(n_rows));
    if (b) {
        b->references = 1;
        b->n_rows = n_rows;
    }
    return b;
}

tl_bitmap *tl_bitmap_copy(const tl_bitmap *b) {
    tl_bitmap *copy = tl_bitmap_create(b->n_rows);
    if (copy) {
        copy->n_set = b->n_set;
        memcpy(copy->bits, b->bits, bytes_of(b->n_rows));
    }
    return copy;
}

tl_bitmap *tl_bitmap_retain(tl_bitmap *b) {
    if (b) {
        b->references++;
    }
    return b;
}

void tl_bitmap_release(tl_bitmap *b) {
    if (b && --b->references == 0) {
        tl_free(b);
    }
}

size_t tl_bitmap_bytes(const tl_bitmap *b) {
    return b ? sizeof *b + bytes_of(b->n_rows) : 0;
}
