/*
 * The RLE / bit-packing hybrid of levels, dictionary indices and booleans. Comes in: runs and values in any mixture.
 * Goes out: repeated runs for 8 and more equal values, bit-packed groups of 8 for the rest. A bit-packed run may only
 * end in the middle of a group at the end of a page, so values that do not fill a group wait, and a run that follows
 * them gives them its first values.
 */
#include "parquet/write_internal.h"

/* Bit-packed runs that grow group by group keep a header of one byte: 63 groups at most. */
#define MAX_OPEN_GROUPS 63

void tl_pq_rle_begin(tl_pq_rle_out *e, unsigned width, tl_buf *out) {
    *e = (tl_pq_rle_out){.out = out, .width = width};
}

static tl_status put_groups(tl_pq_rle_out *e, const uint32_t *values, size_t groups) {
    if (groups == 0) {
        return TL_OK;
    }
    size_t bytes = groups * e->width;
    TL_TRY(tl_buf_reserve(e->out, bytes + 10 + TL_PQ_PACK_SLACK));
    if (e->open_groups && e->open_groups + groups <= MAX_OPEN_GROUPS) {
        e->open_groups += (unsigned)groups;
        e->out->data[e->group_header] = (uint8_t)(e->open_groups << 1 | 1);
    } else {
        e->group_header = e->out->len;
        e->open_groups = groups <= MAX_OPEN_GROUPS ? (unsigned)groups : 0;
        TL_TRY(tl_pq_put_varint(e->out, (uint64_t)groups << 1 | 1));
    }
    tl_pq_pack_u32(values, groups, e->width, e->out->data + e->out->len);
    e->out->len += bytes;
    return TL_OK;
}

static tl_status put_run(tl_pq_rle_out *e, uint32_t value, uint64_t count) {
    e->open_groups = 0;
    TL_TRY(tl_pq_put_varint(e->out, count << 1));
    return tl_buf_add(e->out, &value, (e->width + 7) / 8);
}

static bool all_equal(const uint32_t *v) {
    uint64_t pair = (uint64_t)v[0] << 32 | v[0];
    return ((tl_load_u64(v) ^ pair) | (tl_load_u64(v + 2) ^ pair) | (tl_load_u64(v + 4) ^ pair) |
            (tl_load_u64(v + 6) ^ pair)) == 0;
}

/* One value behind the pending ones. Eight equal ones become a run that may grow; only called when no run is open,
 * or from settle_run, which takes that into account. */
static tl_status push_pending(tl_pq_rle_out *e, uint32_t value, bool *became_run) {
    e->pending[e->n_pending++] = value;
    *became_run = false;
    if (e->n_pending < 8) {
        return TL_OK;
    }
    e->n_pending = 0;
    if (all_equal(e->pending)) {
        *became_run = true;
        return TL_OK;
    }
    return put_groups(e, e->pending, 1);
}

/* Ends the open run: it is written, or its values join the pending ones. */
static tl_status settle_run(tl_pq_rle_out *e) {
    while (e->run_count && e->n_pending) {
        bool became_run;
        TL_TRY(push_pending(e, e->run_value, &became_run));
        e->run_count--;
        if (became_run) {
            e->run_count += 8; /* the values before were equal to this run's */
        }
    }
    if (e->run_count >= 8) {
        TL_TRY(put_run(e, e->run_value, e->run_count));
    } else {
        for (; e->run_count; e->run_count--) {
            e->pending[e->n_pending++] = e->run_value;
        }
    }
    e->run_count = 0;
    return TL_OK;
}

tl_status tl_pq_rle_add_run(tl_pq_rle_out *e, uint32_t value, uint64_t count) {
    if (e->run_count && e->run_value != value) {
        TL_TRY(settle_run(e));
    }
    e->run_value = value;
    e->run_count += count;
    return TL_OK;
}

/* How many of values[0..n) equal `value` before the first that does not. */
static size_t run_length(const uint32_t *values, size_t n, uint32_t value) {
    uint64_t pair = (uint64_t)value << 32 | value;
    size_t i = 0;
    while (i + 8 <= n && values[i] == value && all_equal(values + i)) {
        i += 8;
    }
    while (i + 2 <= n && tl_load_u64(values + i) == pair) {
        i += 2;
    }
    while (i < n && values[i] == value) {
        i++;
    }
    return i;
}

tl_status tl_pq_rle_add(tl_pq_rle_out *e, const uint32_t *values, size_t n) {
    size_t i = 0;
    while (i < n) {
        if (e->run_count) {
            size_t more = run_length(values + i, n - i, e->run_value);
            e->run_count += more;
            i += more;
            if (i == n) {
                break;
            }
            TL_TRY(settle_run(e));
        }
        if (e->n_pending || n - i < 8) {
            bool became_run;
            TL_TRY(push_pending(e, values[i], &became_run));
            if (became_run) {
                e->run_value = values[i];
                e->run_count = 8;
            }
            i++;
            continue;
        }
        size_t from = i;
        while (i + 8 <= n && !all_equal(values + i)) {
            i += 8;
        }
        TL_TRY(put_groups(e, values + from, (i - from) / 8));
        if (i + 8 <= n) { /* eight equal ones: a run begins */
            e->run_value = values[i];
            e->run_count = 8;
            i += 8;
        }
    }
    return TL_OK;
}

tl_status tl_pq_rle_add_u8(tl_pq_rle_out *e, const uint8_t *values, size_t n) {
    uint32_t wide[512];
    size_t i = 0;
    while (i < n) {
        uint64_t word = values[i] * 0x0101010101010101u;
        size_t run = i; /* levels are mostly one value: find the end of such a stretch by words */
        while (run + 8 <= n && tl_load_u64(values + run) == word) {
            run += 8;
        }
        if (run - i >= 64) {
            TL_TRY(tl_pq_rle_add_run(e, values[i], run - i));
            i = run;
            continue;
        }
        size_t take = n - i < TL_COUNT(wide) ? n - i : TL_COUNT(wide);
        for (size_t k = 0; k < take; k++) {
            wide[k] = values[i + k];
        }
        TL_TRY(tl_pq_rle_add(e, wide, take));
        i += take;
    }
    return TL_OK;
}

tl_status tl_pq_rle_end(tl_pq_rle_out *e) {
    if (e->run_count && e->n_pending == 0) {
        uint64_t count = e->run_count;
        e->run_count = 0;
        return put_run(e, e->run_value, count); /* at the end a run of any length is the shortest form */
    }
    TL_TRY(settle_run(e));
    if (e->n_pending) {
        memset(e->pending + e->n_pending, 0, (8 - e->n_pending) * sizeof *e->pending);
        e->n_pending = 0;
        return put_groups(e, e->pending, 1);
    }
    return TL_OK;
}
