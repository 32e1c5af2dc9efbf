/* Live rows by bitmap; see live.h. */
#include "duckdb/live.h"

#include <string.h>

#include "base/buf.h"

/* A byte for each bit of `bits`, the lowest first: 1 where the bit is 0. */
static uint64_t bytes_of_zeros(uint8_t bits) {
    uint64_t spread = (bits * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
    /* 127 more sets the top bit of each byte that is not zero, and goes into no other byte */
    return (~(spread + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7) & UINT64_C(0x0101010101010101);
}

/* Rows of one file that follow each other: whole words of the bitmap that are zero are passed over. */
static void test_run(const uint8_t *hidden, int64_t first, size_t n, bool *out) {
    size_t i = 0;
    memset(out, 1, n);
    while (i < n) {
        int64_t row = first + (int64_t)i;
        if ((row & 7) != 0 || n - i < 8) {
            out[i++] = !tl_bit(hidden, row);
        } else if (n - i >= 64 && tl_load_u64(hidden + (row >> 3)) == 0) {
            i += 64;
        } else {
            if (hidden[row >> 3]) {
                tl_store_u64((uint8_t *)(out + i), bytes_of_zeros(hidden[row >> 3]));
            }
            i += 8;
        }
    }
}

/* Every element is looked at: a filter below may have taken rows out of the middle, a join may have moved them. */
static bool follow_each_other(const int64_t *rows, size_t n) {
    int64_t breaks = 0;
    for (size_t i = 1; i < n; i++) {
        breaks |= rows[i] ^ (int64_t)((uint64_t)rows[0] + i);
    }
    return breaks == 0;
}

bool tl_live_all_equal(const void *values, size_t n) {
    const uint8_t *bytes = values;
    return n < 2 || memcmp(bytes, bytes + 8, (n - 1) * 8) == 0;
}

/* Rows in any order, all of one file: the greatest and least first, so that the loop has no test of its own. */
static bool test_scattered(const tl_plan_file *f, const int64_t *rows, size_t n, bool *out) {
    uint64_t greatest = 0;
    for (size_t i = 0; i < n; i++) {
        greatest = (uint64_t)rows[i] > greatest ? (uint64_t)rows[i] : greatest;
    }
    if (greatest >= (uint64_t)f->file->file.record_count) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = !tl_bit(f->hidden, rows[i]);
    }
    return true;
}

bool tl_live_rows(const tl_plan *plan, const uint64_t *files, const int64_t *rows, size_t n, bool *out) {
    if (n == 0) {
        return true;
    }
    if (tl_live_all_equal(files, n)) {
        if (files[0] >= (uint64_t)plan->n_scan) {
            return false;
        }
        const tl_plan_file *f = &plan->scan[files[0]];
        if (!f->hidden) {
            memset(out, 1, n);
            return true;
        }
        int64_t count = f->file->file.record_count;
        if (rows[0] >= 0 && rows[0] <= count - (int64_t)n && rows[n - 1] == rows[0] + (int64_t)(n - 1) &&
            follow_each_other(rows, n)) {
            test_run(f->hidden, rows[0], n, out);
            return true;
        }
        return test_scattered(f, rows, n, out);
    }
    for (size_t i = 0; i < n; i++) {
        if (files[i] >= (uint64_t)plan->n_scan) {
            return false;
        }
        const tl_plan_file *f = &plan->scan[files[i]];
        if (rows[i] < 0 || rows[i] >= f->file->file.record_count) {
            return false;
        }
        out[i] = !f->hidden || !tl_bit(f->hidden, rows[i]);
    }
    return true;
}
