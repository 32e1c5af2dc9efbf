/*
 * The delta encodings. Comes in: blocks of bit-packed differences. Goes out: integers, or texts whose lengths (and
 * shared prefixes) are such integers.
 */
#include <string.h>

#include "parquet/decode_internal.h"

typedef struct delta_in {
    const uint8_t *p, *end;
    uint64_t block_values, minis, mini_values, total;
    int64_t first;
} delta_in;

static tl_status delta_bad(const char *why, tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "delta-encoded values: %s", why);
}

static bool delta_varint(delta_in *d, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (d->p == d->end) {
            return false;
        }
        uint8_t b = *d->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool delta_zigzag(delta_in *d, int64_t *out) {
    uint64_t v;
    if (!delta_varint(d, &v)) {
        return false;
    }
    *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    return true;
}

static tl_status delta_open(delta_in *d, tl_bytes in, tl_error *err) {
    *d = (delta_in){.p = in.data, .end = in.data + in.len};
    if (!delta_varint(d, &d->block_values) || !delta_varint(d, &d->minis) || !delta_varint(d, &d->total) ||
        !delta_zigzag(d, &d->first)) {
        return delta_bad("the header ends too early", err);
    }
    if (d->block_values == 0 || d->block_values > INT32_MAX || d->block_values % 128 || d->minis == 0 ||
        d->block_values % d->minis || (d->block_values / d->minis) % 32) {
        return delta_bad("the block sizes make no sense", err);
    }
    d->mini_values = d->block_values / d->minis;
    return TL_OK;
}

/* One miniblock: differences unpacked in place, then summed up. 32-bit columns wrap at 32 bits as they were written. */
#define MINI_BODY(type, utype)                                                                                         \
    for (size_t at = 0; n > 0; at += 4 * (size_t)width) {                                                              \
        uint64_t some[32];                                                                                             \
        size_t take = n < 32 ? n : 32;                                                                                 \
        tl_pq_unpack64((tl_bytes){in.data + at, in.len - at}, width, some, take);                                      \
        for (size_t i = 0; i < take; i++) {                                                                            \
            value += min + some[i];                                                                                    \
            out[i] = (type)(utype)value;                                                                               \
        }                                                                                                              \
        out += take;                                                                                                   \
        n -= take;                                                                                                     \
    }                                                                                                                  \
    return value;

static uint64_t mini32(tl_bytes in, unsigned width, uint64_t min, uint64_t value, int32_t *out, size_t n) {
    MINI_BODY(int32_t, uint32_t)
}

/* 64-bit values unpack straight into their place. */
static uint64_t mini64(tl_bytes in, unsigned width, uint64_t min, uint64_t value, int64_t *out, size_t n) {
    uint64_t *o = (uint64_t *)out;
    if (width == 0) { /* equal steps: no value waits for the one before it */
        uint64_t even = value + min, odd = even + min;
        for (size_t i = 0; i + 1 < n; i += 2, even += 2 * min, odd += 2 * min) {
            o[i] = even;
            o[i + 1] = odd;
        }
        if (n % 2) {
            o[n - 1] = even;
        }
        return value + min * n;
    }
    tl_pq_unpack64(in, width, o, n);
    for (size_t i = 0; i < n; i++) {
        value += min + o[i];
        o[i] = value;
    }
    return value;
}

/* The bytes of the next miniblock, of which `take` values count; `left` values are to come in all. */
static inline tl_status delta_mini(delta_in *d, unsigned width, uint64_t take, uint64_t left, tl_bytes *in,
                                   tl_error *err) {
    uint64_t bytes = d->mini_values * width / 8, room = (uint64_t)(d->end - d->p);
    if (bytes > room) { /* the padding of the last miniblock may be missing */
        if (take < left || (take * width + 7) / 8 > room) {
            return delta_bad("a block ends too early", err);
        }
        bytes = room;
    }
    *in = (tl_bytes){d->p, (size_t)room}; /* more than needed: unpacking may load, not use, what follows */
    d->p += bytes;
    return TL_OK;
}

/* The head of the next block: its least difference, and the widths of its miniblocks. */
static inline tl_status delta_block(delta_in *d, int64_t *min, const uint8_t **widths, tl_error *err) {
    if (!delta_zigzag(d, min) || (uint64_t)(d->end - d->p) < d->minis) {
        return delta_bad("a block ends too early", err);
    }
    *widths = d->p;
    d->p += d->minis;
    return TL_OK;
}

/* The values after the first into out32 or out64 (the other is NULL). */
static tl_status delta_blocks(delta_in *d, int64_t n, int32_t *out32, int64_t *out64, tl_error *err) {
    uint64_t value = (uint64_t)d->first;
    for (uint64_t left = (uint64_t)n; left > 0;) {
        int64_t min;
        const uint8_t *widths;
        TL_TRY(delta_block(d, &min, &widths, err));
        for (uint64_t m = 0; m < d->minis && left > 0; m++) {
            unsigned width = widths[m];
            size_t take = (size_t)(left < d->mini_values ? left : d->mini_values);
            tl_bytes in;
            if (width > (out32 ? 32u : 64u)) {
                return delta_bad("a bit width is too large", err);
            }
            TL_TRY(delta_mini(d, width, take, left, &in, err));
            if (out32) {
                value = mini32(in, width, (uint64_t)min, value, out32, take);
                out32 += take;
            } else {
                value = mini64(in, width, (uint64_t)min, value, out64, take);
                out64 += take;
            }
            left -= take;
        }
    }
    return TL_OK;
}

/* n values; `used` gets the bytes read. */
static tl_status delta_ints(tl_bytes in, int64_t n, int32_t *out32, int64_t *out64, size_t *used, tl_error *err) {
    delta_in d;
    TL_TRY(delta_open(&d, in, err));
    if (d.total != (uint64_t)n) {
        return delta_bad("their number differs from the page's", err);
    }
    if (n > 0) {
        if (out32) {
            *out32++ = (int32_t)(uint32_t)(uint64_t)d.first;
        } else {
            *out64++ = d.first;
        }
        TL_TRY(delta_blocks(&d, n - 1, out32, out64, err));
    }
    *used = (size_t)(d.p - in.data);
    return TL_OK;
}

tl_status tl_pq_decode_delta(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    size_t used;
    if (v->type == TL_PQ_INT32) {
        return n ? delta_ints(in, n, (int32_t *)(void *)v->values + v->n, NULL, &used, err) : TL_OK;
    }
    if (v->type == TL_PQ_INT64) {
        return n ? delta_ints(in, n, NULL, (int64_t *)(void *)v->values + v->n, &used, err) : TL_OK;
    }
    return tl_fail(err, TL_CORRUPT, "DELTA_BINARY_PACKED is for INT32 and INT64 only");
}

/* ---- numbers as steps ---- */

/* `n` more values, each `by` more than the one before. There is room for two more steps. */
static void add_steps(tl_pq_steps *s, uint64_t by, int64_t n) {
    tl_pq_step *last = &s->items[s->n - 1];
    if (last->n > 1 && (uint64_t)last->step != by) {
        last++;
        *last = (tl_pq_step){.first = (int64_t)((uint64_t)s->last + by), .n = 1};
        s->n++;
        s->last = last->first;
        n--;
    }
    if (n > 0) {
        last->step = (int64_t)by;
        last->n += n;
        s->last = (int64_t)((uint64_t)s->last + by * (uint64_t)n);
    }
}

static tl_status need_steps(tl_pq_steps *s, tl_error *err) {
    tl_pq_step *items = tl_grow(s->items, &s->cap, (size_t)s->n + 64, 256, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    s->items = items;
    return TL_OK;
}

/* One miniblock; stops when there are more than `most` steps. */
static tl_status mini_steps(tl_bytes in, unsigned width, uint64_t min, size_t n, int64_t most, tl_pq_steps *s,
                            tl_error *err) {
    if (width == 0) {
        TL_TRY(need_steps(s, err));
        add_steps(s, min, (int64_t)n);
        return TL_OK;
    }
    for (size_t at = 0; n > 0 && s->n <= most; at += 4 * (size_t)width) {
        uint64_t some[32];
        size_t take = n < 32 ? n : 32;
        TL_TRY(need_steps(s, err));
        tl_pq_unpack64((tl_bytes){in.data + at, in.len - at}, width, some, take);
        for (size_t i = 0, from = 0; i < take; from = i) {
            for (i++; i < take && some[i] == some[from]; i++) {}
            add_steps(s, min + some[from], (int64_t)(i - from));
        }
        n -= take;
    }
    return TL_OK;
}

tl_status tl_pq_decode_delta_steps(tl_bytes bytes, int64_t n, int64_t want, int64_t most, tl_pq_steps *s,
                                   tl_error *err) {
    delta_in d;
    if (n == 0) {
        return TL_OK;
    }
    TL_TRY(delta_open(&d, bytes, err));
    if (d.total != (uint64_t)n) {
        return delta_bad("their number differs from the page's", err);
    }
    TL_TRY(need_steps(s, err));
    if (s->n == 0) {
        s->items[s->n++] = (tl_pq_step){.first = d.first, .n = 1};
        s->last = d.first;
    } else {
        add_steps(s, (uint64_t)d.first - (uint64_t)s->last, 1);
    }
    uint64_t rest = want < n ? (uint64_t)(n - want) : 0; /* behind what is wanted */
    for (uint64_t left = (uint64_t)n - 1; left > rest && s->n <= most;) {
        int64_t min;
        const uint8_t *widths;
        TL_TRY(delta_block(&d, &min, &widths, err));
        for (uint64_t m = 0; m < d.minis && left > 0; m++) {
            size_t take = (size_t)(left < d.mini_values ? left : d.mini_values);
            tl_bytes in;
            if (widths[m] > 64) {
                return delta_bad("a bit width is too large", err);
            }
            TL_TRY(delta_mini(&d, widths[m], take, left, &in, err));
            TL_TRY(mini_steps(in, widths[m], (uint64_t)min, take, most, s, err));
            left -= take;
        }
    }
    return TL_OK;
}

/* ---- texts ---- */

/* Lengths that stand at o[1..n] become offsets; false when one is negative. The sum is returned. */
static bool sum_lengths(int32_t *o, int64_t n, uint64_t *total) {
    uint64_t sum = 0;
    int32_t all = 0;
    for (int64_t i = 1; i <= n; i++) {
        all |= o[i];
        sum += (uint32_t)o[i];
    }
    *total = sum;
    return all >= 0;
}

tl_status tl_pq_decode_delta_length(tl_bytes in, int64_t n, tl_pq_vector *v, tl_error *err) {
    if (v->type != TL_PQ_BYTE_ARRAY) {
        return tl_fail(err, TL_CORRUPT, "DELTA_LENGTH_BYTE_ARRAY is for BYTE_ARRAY only");
    }
    if (n == 0) {
        return TL_OK;
    }
    size_t used;
    uint64_t total;
    int32_t *o = v->offsets + v->n;
    TL_TRY(delta_ints(in, n, o + 1, NULL, &used, err));
    if (!sum_lengths(o, n, &total) || total > in.len - used) {
        return delta_bad("the lengths do not fit the bytes", err);
    }
    TL_TRY(tl_pq_vector_reserve_data(v, total, err));
    if (total) {
        memcpy(v->data + v->data_len, in.data + used, total);
    }
    v->data_len += total;
    for (int64_t i = 1; i <= n; i++) {
        o[i] += o[i - 1];
    }
    return TL_OK;
}

static tl_status need_prefixes(tl_pq_scratch *s, int64_t n, tl_error *err) {
    if (n <= s->cap_prefix) {
        return TL_OK;
    }
    tl_free(s->prefix);
    s->cap_prefix = 0;
    s->prefix = tl_alloc_array((size_t)n, sizeof *s->prefix);
    if (!s->prefix) {
        return tl_fail_memory(err, (size_t)n * sizeof *s->prefix);
    }
    s->cap_prefix = n;
    return TL_OK;
}

void tl_pq_scratch_free(tl_pq_scratch *s) {
    tl_free(s->prefix);
    s->prefix = NULL;
    s->cap_prefix = 0;
    tl_pq_vector_free(&s->text);
}

/* Texts into `v` (BYTE_ARRAY): a prefix of the text before, then a suffix of its own. */
static tl_status delta_texts(tl_bytes in, int64_t n, tl_pq_vector *v, tl_pq_scratch *s, tl_error *err) {
    size_t used, used2;
    uint64_t prefixes = 0, suffixes;
    int32_t *o = v->offsets + v->n;
    TL_TRY(need_prefixes(s, n, err));
    TL_TRY(delta_ints(in, n, s->prefix, NULL, &used, err));
    TL_TRY(delta_ints((tl_bytes){in.data + used, in.len - used}, n, o + 1, NULL, &used2, err));
    const uint8_t *from = in.data + used + used2;
    if (!sum_lengths(o, n, &suffixes) || suffixes > (uint64_t)(in.data + in.len - from)) {
        return delta_bad("the lengths do not fit the bytes", err);
    }
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++) {
        if (s->prefix[i] < 0 || s->prefix[i] > before) {
            return delta_bad("a prefix is longer than the text before it", err);
        }
        prefixes += (uint64_t)s->prefix[i];
        before = (int64_t)s->prefix[i] + o[i + 1];
    }
    TL_TRY(tl_pq_vector_reserve_data(v, prefixes + suffixes, err));
    uint8_t *out = v->data + v->data_len;
    const uint8_t *last = out;
    for (int64_t i = 0; i < n; i++) {
        size_t prefix = (size_t)s->prefix[i], suffix = (size_t)o[i + 1];
        if (prefix) {
            memcpy(out, last, prefix);
        }
        if (suffix) {
            memcpy(out + prefix, from, suffix);
        }
        last = out;
        out += prefix + suffix;
        from += suffix;
        o[i + 1] = (int32_t)(out - v->data);
    }
    v->data_len = (size_t)(out - v->data);
    return TL_OK;
}

/* FIXED columns: as texts first, then checked and copied. */
static tl_status delta_fixed(tl_bytes in, int64_t n, tl_pq_vector *v, tl_pq_scratch *s, tl_error *err) {
    s->text.type = TL_PQ_BYTE_ARRAY;
    s->text.budget = v->budget;
    tl_pq_vector_clear(&s->text);
    TL_TRY(tl_pq_vector_reserve(&s->text, n, err));
    TL_TRY(delta_texts(in, n, &s->text, s, err));
    for (int64_t i = 0; i < n; i++) {
        if (s->text.offsets[i + 1] - s->text.offsets[i] != v->width) {
            return delta_bad("a value has not the column's length", err);
        }
    }
    if (s->text.data_len) {
        memcpy(v->values + (size_t)v->n * (size_t)v->width, s->text.data, s->text.data_len);
    }
    return TL_OK;
}

tl_status tl_pq_decode_delta_text(tl_bytes in, int64_t n, tl_pq_vector *v, tl_pq_scratch *scratch, tl_error *err) {
    if (v->type != TL_PQ_BYTE_ARRAY && v->type != TL_PQ_FIXED) {
        return tl_fail(err, TL_CORRUPT, "DELTA_BYTE_ARRAY is for BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY only");
    }
    if (n == 0) {
        return TL_OK;
    }
    return v->type == TL_PQ_FIXED ? delta_fixed(in, n, v, scratch, err) : delta_texts(in, n, v, scratch, err);
}
