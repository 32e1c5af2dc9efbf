/*
 * The hybrid of runs and bit-packed groups, and the levels that are written with it. Comes in: bytes of a page. Goes
 * out: runs, level arrays, validity bits, booleans.
 */
#include "parquet/decode_internal.h"

#include <string.h>

void tl_pq_bits_fill(uint8_t *bits, int64_t from, int64_t n, bool value) {
    int64_t i = from, end = from + n;
    for (; i < end && (i & 7); i++) {
        value ? tl_bit_set(bits, i) : tl_bit_clear(bits, i);
    }
    if (i < end) {
        memset(bits + (i >> 3), value ? 0xff : 0, (size_t)((end - i) >> 3));
        i += (end - i) & ~(int64_t)7;
    }
    for (; i < end; i++) {
        value ? tl_bit_set(bits, i) : tl_bit_clear(bits, i);
    }
}

void tl_pq_bits_copy(uint8_t *to, int64_t to_bit, const uint8_t *from, int64_t from_bit, int64_t n) {
    for (; n > 0 && (to_bit & 7); n--, to_bit++, from_bit++) {
        tl_bit(from, from_bit) ? tl_bit_set(to, to_bit) : tl_bit_clear(to, to_bit);
    }
    if (n >= 8) {
        uint8_t *t = to + (to_bit >> 3);
        const uint8_t *f = from + (from_bit >> 3);
        unsigned shift = (unsigned)(from_bit & 7);
        int64_t bytes = n >> 3;
        if (shift == 0) {
            memcpy(t, f, (size_t)bytes);
        } else {
            for (int64_t i = 0; i < bytes; i++) {
                t[i] = (uint8_t)(f[i] >> shift | f[i + 1] << (8 - shift));
            }
        }
        to_bit += bytes * 8;
        from_bit += bytes * 8;
        n &= 7;
    }
    for (; n > 0; n--, to_bit++, from_bit++) {
        tl_bit(from, from_bit) ? tl_bit_set(to, to_bit) : tl_bit_clear(to, to_bit);
    }
}

unsigned tl_pq_level_width(int16_t max_level) {
    unsigned width = 0;
    while (max_level >> width) {
        width++;
    }
    return width;
}

static bool run_header(tl_pq_rle *rle, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (rle->p == rle->end) {
            return false;
        }
        uint8_t b = *rle->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool packed_run(tl_pq_rle *rle, uint64_t groups, int64_t want, tl_pq_run *run) {
    uint64_t room = (uint64_t)(rle->end - rle->p), bytes = groups * rle->width, count = groups * 8;
    if (bytes > room) { /* some writers cut the last group where the values end */
        bytes = room;
        count = room * 8 / rle->width;
    }
    run->packed = true;
    run->count = count < (uint64_t)want ? (int64_t)count : want;
    run->data = (tl_bytes){rle->p, (size_t)bytes};
    rle->p += bytes;
    return count > 0;
}

bool tl_pq_rle_next(tl_pq_rle *rle, int64_t want, tl_pq_run *run) {
    uint64_t header;
    do {
        if (!run_header(rle, &header)) {
            return false;
        }
        if (header & 1) {
            if (rle->width > 0) {
                return packed_run(rle, header >> 1, want, run);
            }
            header = header >> 1 << 4; /* groups of eight values without bits: a run of zeros */
        }
        size_t bytes = (rle->width + 7) / 8;
        if ((size_t)(rle->end - rle->p) < bytes) {
            return false;
        }
        uint32_t value = 0;
        for (size_t i = 0; i < bytes; i++) {
            value |= (uint32_t)rle->p[i] << (8 * i);
        }
        rle->p += bytes;
        run->value = value;
    } while (header == 0); /* an empty run */
    uint64_t count = header >> 1;
    run->packed = false;
    run->count = count < (uint64_t)want ? (int64_t)count : want;
    return true;
}

/* ---- levels ---- */

static tl_status level_too_high(unsigned level, int16_t max, tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "a level of %u where the schema allows %d", level, max);
}

static tl_status narrow_levels(tl_bytes in, unsigned width, int16_t max, int64_t n, uint8_t *out, tl_error *err) {
    uint32_t some[256];
    for (int64_t done = 0; done < n;) {
        size_t take = (size_t)(n - done < 256 ? n - done : 256), at = (size_t)done * width / 8;
        tl_pq_unpack32((tl_bytes){in.data + at, in.len - at}, width, some, take);
        uint32_t all = 0;
        for (size_t i = 0; i < take; i++) {
            all |= ((uint32_t)max - some[i]) >> 31 ? some[i] | 0x80000000u : 0;
            out[done + (int64_t)i] = (uint8_t)some[i];
        }
        if (all) {
            return level_too_high(all & 0x7fffffffu, max, err);
        }
        done += (int64_t)take;
    }
    return TL_OK;
}

/* The deprecated BIT_PACKED: no header, most significant bit first. */
static tl_status legacy_levels(tl_bytes in, unsigned width, int16_t max, int64_t n, uint8_t *out, tl_error *err) {
    if ((uint64_t)in.len * 8 < (uint64_t)n * width) {
        return tl_fail(err, TL_CORRUPT, "levels end too early");
    }
    for (int64_t i = 0, bit = 0; i < n; i++) {
        unsigned level = 0;
        for (unsigned k = 0; k < width; k++, bit++) {
            level = level << 1 | (unsigned)(in.data[bit >> 3] >> (7 - (bit & 7)) & 1);
        }
        if (level > (unsigned)max) {
            return level_too_high(level, max, err);
        }
        out[i] = (uint8_t)level;
    }
    return TL_OK;
}

tl_status tl_pq_decode_levels(tl_bytes in, tl_pq_encoding encoding, int16_t max, int64_t n, uint8_t *out,
                              tl_error *err) {
    unsigned width = tl_pq_level_width(max);
    if (encoding == TL_PQ_BIT_PACKED) {
        return legacy_levels(in, width, max, n, out, err);
    }
    tl_pq_rle rle = {in.data, in.data + in.len, width};
    tl_pq_run run;
    for (int64_t done = 0; done < n; done += run.count) {
        if (!tl_pq_rle_next(&rle, n - done, &run)) {
            return tl_fail(err, TL_CORRUPT, "levels end too early");
        }
        if (run.packed) {
            TL_TRY(narrow_levels(run.data, width, max, run.count, out + done, err));
        } else if (run.value > (uint32_t)max) {
            return level_too_high(run.value, max, err);
        } else {
            memset(out + done, (int)run.value, (size_t)run.count);
        }
    }
    return TL_OK;
}

static bool all_ones(const uint8_t *bits, int64_t n) {
    int64_t whole = n >> 3;
    uint8_t all = 0xff;
    for (int64_t i = 0; i < whole; i++) {
        all &= bits[i];
    }
    return all == 0xff && tl_bits_count(bits, whole * 8, n & 7) == (n & 7);
}

tl_status tl_pq_decode_validity(tl_bytes in, int64_t n, tl_pq_vector *v, int64_t *present, tl_error *err) {
    tl_pq_rle rle = {in.data, in.data + in.len, 1};
    tl_pq_run run;
    *present = 0;
    for (int64_t done = 0; done < n; done += run.count) {
        if (!tl_pq_rle_next(&rle, n - done, &run)) {
            return tl_fail(err, TL_CORRUPT, "levels end too early");
        }
        if (!run.packed && run.value > 1) {
            return level_too_high(run.value, 1, err);
        }
        int64_t at = v->n + done;
        bool ones = run.packed ? all_ones(run.data.data, run.count) : run.value;
        if (ones) {
            *present += run.count;
            if (v->has_validity) {
                tl_pq_bits_fill(v->validity, at, run.count, true);
            }
            continue;
        }
        if (!v->has_validity) {
            TL_TRY(tl_pq_vector_need_validity(v, err));
            tl_pq_bits_fill(v->validity, v->n, done, true);
        }
        if (run.packed) {
            tl_pq_bits_copy(v->validity, at, run.data.data, 0, run.count);
            *present += tl_bits_count(run.data.data, 0, run.count);
        } else {
            tl_pq_bits_fill(v->validity, at, run.count, false);
        }
    }
    return TL_OK;
}

tl_status tl_pq_decode_boolean_rle(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    if (v->type != TL_PQ_BOOLEAN) {
        return tl_fail(err, TL_CORRUPT, "RLE values are for booleans only");
    }
    if (n == 0) {
        return TL_OK;
    }
    if (in.len < 4 || tl_load_u32(in.data) > in.len - 4) {
        return tl_fail(err, TL_CORRUPT, "RLE booleans end too early");
    }
    tl_bytes body = {in.data + 4, tl_load_u32(in.data)};
    return tl_pq_decode_levels(body, TL_PQ_RLE, 1, n, v->values + v->n, err);
}
