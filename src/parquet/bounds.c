/*
 * Least and greatest values. Comes in: dense values. Goes out: bounds that hold for readers of any language: NaN is
 * outside of them, a least zero is -0.0 and a greatest zero +0.0 (readers cannot know which zeros a column holds), long
 * strings are cut to bounds that still hold.
 */
#include "parquet/write_internal.h"

#include <math.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Fixed-length values are bounded whole (readers expect their length) up to this size, and not at all above it. */
#define FIXED_BOUND_MAX 256

tl_pq_order tl_pq_order_of(const tl_pq_column_options *o) {
    if (o->no_bounds) {
        return TL_PQ_ORDER_NONE;
    }
    switch (o->type) {
    case TL_PQ_BOOLEAN: return TL_PQ_ORDER_I64;
    case TL_PQ_INT32:
    case TL_PQ_INT64: return o->is_signed ? TL_PQ_ORDER_I64 : TL_PQ_ORDER_U64;
    case TL_PQ_FLOAT:
    case TL_PQ_DOUBLE: return TL_PQ_ORDER_FLOAT;
    case TL_PQ_FIXED:
        if (o->type_length > FIXED_BOUND_MAX) {
            return TL_PQ_ORDER_NONE;
        }
        return o->signed_bytes ? TL_PQ_ORDER_SIGNED_BYTES : TL_PQ_ORDER_BYTES;
    case TL_PQ_BYTE_ARRAY: return o->signed_bytes ? TL_PQ_ORDER_SIGNED_BYTES : TL_PQ_ORDER_BYTES;
    case TL_PQ_INT96: return TL_PQ_ORDER_NONE;
    }
    return TL_PQ_ORDER_NONE;
}

/* The byte of a two's complement number at `place` from its end, sign-extended beyond its length. */
static uint8_t extended_byte(tl_bytes v, size_t place) {
    if (place < v.len) {
        return v.data[v.len - 1 - place];
    }
    return v.len && (v.data[0] & 0x80) ? 0xff : 0;
}

int tl_pq_order_compare_bytes(tl_pq_order order, tl_bytes a, tl_bytes b) {
    if (order != TL_PQ_ORDER_SIGNED_BYTES) {
        return tl_bytes_compare(a, b);
    }
    size_t len = a.len > b.len ? a.len : b.len;
    for (size_t i = 0; i < len; i++) {
        uint8_t x = extended_byte(a, len - 1 - i), y = extended_byte(b, len - 1 - i);
        if (i == 0) { /* the top byte carries the sign */
            x ^= 0x80;
            y ^= 0x80;
        }
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

static double load_float(tl_pq_type type, const uint8_t *p) {
    double d;
    float f;
    if (type == TL_PQ_DOUBLE) {
        memcpy(&d, p, 8);
        return d;
    }
    memcpy(&f, p, 4);
    return f;
}

int tl_pq_order_compare_plain(tl_pq_order order, tl_pq_type type, tl_bytes a, tl_bytes b) {
    switch (order) {
    case TL_PQ_ORDER_NONE: return 0;
    case TL_PQ_ORDER_BYTES:
    case TL_PQ_ORDER_SIGNED_BYTES: return tl_pq_order_compare_bytes(order, a, b);
    case TL_PQ_ORDER_FLOAT: {
        double x = load_float(type, a.data), y = load_float(type, b.data);
        return x < y ? -1 : x > y;
    }
    case TL_PQ_ORDER_I64: {
        int64_t x = a.len == 1 ? a.data[0] : a.len == 4 ? tl_load_i32(a.data) : tl_load_i64(a.data);
        int64_t y = b.len == 1 ? b.data[0] : b.len == 4 ? tl_load_i32(b.data) : tl_load_i64(b.data);
        return x < y ? -1 : x > y;
    }
    case TL_PQ_ORDER_U64: {
        uint64_t x = a.len == 4 ? tl_load_u32(a.data) : tl_load_u64(a.data);
        uint64_t y = b.len == 4 ? tl_load_u32(b.data) : tl_load_u64(b.data);
        return x < y ? -1 : x > y;
    }
    }
    return 0;
}

void tl_pq_bounds_free(tl_pq_bounds *b) {
    tl_buf_free(&b->min_bytes);
    tl_buf_free(&b->max_bytes);
}

void tl_pq_bounds_begin(tl_pq_bounds *b) {
    b->any = false;
    b->nan_count = 0;
    b->min_bytes.len = b->max_bytes.len = 0;
}

/* ---- numbers ---- */

static void widen_i64(tl_pq_bounds *b, int64_t min, int64_t max) {
    b->min.i = b->any && b->min.i < min ? b->min.i : min;
    b->max.i = b->any && b->max.i > max ? b->max.i : max;
    b->any = true;
}

static void widen_u64(tl_pq_bounds *b, uint64_t min, uint64_t max) {
    b->min.u = b->any && b->min.u < min ? b->min.u : min;
    b->max.u = b->any && b->max.u > max ? b->max.u : max;
    b->any = true;
}

static void widen_double(tl_pq_bounds *b, double min, double max) {
    b->min.d = b->any && b->min.d < min ? b->min.d : min;
    b->max.d = b->any && b->max.d > max ? b->max.d : max;
    b->any = true;
}

/* Two running values a side, so that one comparison need not wait for the other. */
#define SCAN(T, n, load, min_out, max_out)                                                                             \
    do {                                                                                                               \
        T lo0_ = load(0), hi0_ = lo0_, lo1_ = lo0_, hi1_ = lo0_;                                                       \
        size_t i_ = 1;                                                                                                 \
        for (; i_ + 2 <= (n); i_ += 2) {                                                                               \
            T x_ = load(i_), y_ = load(i_ + 1);                                                                        \
            lo0_ = x_ < lo0_ ? x_ : lo0_;                                                                              \
            hi0_ = x_ > hi0_ ? x_ : hi0_;                                                                              \
            lo1_ = y_ < lo1_ ? y_ : lo1_;                                                                              \
            hi1_ = y_ > hi1_ ? y_ : hi1_;                                                                              \
        }                                                                                                              \
        if (i_ < (n)) {                                                                                                \
            T x_ = load(i_);                                                                                           \
            lo0_ = x_ < lo0_ ? x_ : lo0_;                                                                              \
            hi0_ = x_ > hi0_ ? x_ : hi0_;                                                                              \
        }                                                                                                              \
        (min_out) = lo0_ < lo1_ ? lo0_ : lo1_;                                                                         \
        (max_out) = hi0_ > hi1_ ? hi0_ : hi1_;                                                                         \
    } while (0)

static void add_integers(tl_pq_bounds *b, const tl_pq_column_options *o, const uint8_t *p, size_t n) {
#define AT_I32(i) tl_load_i32(p + (i)*4)
#define AT_U32(i) tl_load_u32(p + (i)*4)
#define AT_I64(i) tl_load_i64(p + (i)*8)
#define AT_U64(i) tl_load_u64(p + (i)*8)
#define AT_U8(i) p[i]
    if (o->type == TL_PQ_BOOLEAN) {
        uint8_t lo, hi;
        SCAN(uint8_t, n, AT_U8, lo, hi);
        widen_i64(b, lo, hi);
    } else if (o->type == TL_PQ_INT32 && o->is_signed) {
        int32_t lo, hi;
        SCAN(int32_t, n, AT_I32, lo, hi);
        widen_i64(b, lo, hi);
    } else if (o->type == TL_PQ_INT32) {
        uint32_t lo, hi;
        SCAN(uint32_t, n, AT_U32, lo, hi);
        widen_u64(b, lo, hi);
    } else if (o->is_signed) {
        int64_t lo, hi;
        SCAN(int64_t, n, AT_I64, lo, hi);
        widen_i64(b, lo, hi);
    } else {
        uint64_t lo, hi;
        SCAN(uint64_t, n, AT_U64, lo, hi);
        widen_u64(b, lo, hi);
    }
}

/* Least and greatest of those that are numbers; returns how many are not. Comparisons with NaN are false, so NaN never
 * enters lo or hi. */
static size_t scan_doubles(const uint8_t *p, size_t n, double *lo_out, double *hi_out) {
    double lo = HUGE_VAL, hi = -HUGE_VAL;
    size_t i = 0, nan = 0;
#ifdef __SSE2__
    __m128d lo0 = _mm_set1_pd(lo), lo1 = lo0, hi0 = _mm_set1_pd(hi), hi1 = hi0;
    __m128i not_numbers = _mm_setzero_si128();
    for (; i + 4 <= n; i += 4) {
        __m128d x = _mm_loadu_pd((const double *)(const void *)(p + i * 8));
        __m128d y = _mm_loadu_pd((const double *)(const void *)(p + i * 8 + 16));
        lo0 = _mm_min_pd(x, lo0); /* gives the second operand when one is NaN */
        hi0 = _mm_max_pd(x, hi0);
        lo1 = _mm_min_pd(y, lo1);
        hi1 = _mm_max_pd(y, hi1);
        not_numbers = _mm_sub_epi64(not_numbers, _mm_castpd_si128(_mm_cmpunord_pd(x, x)));
        not_numbers = _mm_sub_epi64(not_numbers, _mm_castpd_si128(_mm_cmpunord_pd(y, y)));
    }
    double both[2];
    uint64_t counts[2];
    _mm_storeu_pd(both, _mm_min_pd(lo0, lo1));
    lo = both[0] < both[1] ? both[0] : both[1];
    _mm_storeu_pd(both, _mm_max_pd(hi0, hi1));
    hi = both[0] > both[1] ? both[0] : both[1];
    _mm_storeu_si128((__m128i *)(void *)counts, not_numbers);
    nan = (size_t)(counts[0] + counts[1]);
#endif
    for (; i < n; i++) {
        double v;
        memcpy(&v, p + i * 8, 8);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        nan += v != v;
    }
    *lo_out = lo;
    *hi_out = hi;
    return nan;
}

static size_t scan_floats(const uint8_t *p, size_t n, double *lo_out, double *hi_out) {
    float lo = HUGE_VALF, hi = -HUGE_VALF;
    size_t i = 0, nan = 0;
#ifdef __SSE2__
    __m128 lo4 = _mm_set1_ps(lo), hi4 = _mm_set1_ps(hi);
    for (; i + 4 <= n; i += 4) {
        __m128 x = _mm_loadu_ps((const float *)(const void *)(p + i * 4));
        lo4 = _mm_min_ps(x, lo4);
        hi4 = _mm_max_ps(x, hi4);
        int not_numbers = _mm_movemask_ps(_mm_cmpunord_ps(x, x));
        nan += not_numbers ? (size_t)__builtin_popcount((unsigned)not_numbers) : 0;
    }
    float low[4], high[4];
    _mm_storeu_ps(low, lo4);
    _mm_storeu_ps(high, hi4);
    for (int k = 0; k < 4; k++) {
        lo = low[k] < lo ? low[k] : lo;
        hi = high[k] > hi ? high[k] : hi;
    }
#endif
    for (; i < n; i++) {
        float v;
        memcpy(&v, p + i * 4, 4);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        nan += v != v;
    }
    *lo_out = lo;
    *hi_out = hi;
    return nan;
}

/* ---- byte arrays ---- */

/* Of long values only a beginning is kept, longer than what is stored of a bound: beginnings are in the order of their
 * values, and a value of a gigabyte is not copied for its first 64 bytes. */
static tl_status set_bytes(tl_buf *to, tl_bytes v, size_t most) {
    to->len = 0;
    return tl_buf_add(to, v.data, v.len < most ? v.len : most);
}

static tl_status widen_bytes(tl_pq_bounds *b, tl_pq_order order, tl_bytes min, tl_bytes max, size_t most) {
    if (!b->any || tl_pq_order_compare_bytes(order, min, tl_buf_bytes(&b->min_bytes)) < 0) {
        TL_TRY(set_bytes(&b->min_bytes, min, most));
    }
    if (!b->any || tl_pq_order_compare_bytes(order, max, tl_buf_bytes(&b->max_bytes)) > 0) {
        TL_TRY(set_bytes(&b->max_bytes, max, most));
    }
    b->any = true;
    return TL_OK;
}

static tl_status add_bytes(tl_pq_bounds *b, const tl_pq_column_options *o, tl_pq_order order, const void *values,
                           size_t n) {
    size_t width = o->type == TL_PQ_FIXED ? (size_t)o->type_length : 0;
    tl_bytes lo = {0}, hi = {0};
    for (size_t i = 0; i < n; i++) {
        tl_bytes v = width ? (tl_bytes){(const uint8_t *)values + i * width, width} : ((const tl_bytes *)values)[i];
        if (i == 0) {
            lo = hi = v;
        } else if (tl_pq_order_compare_bytes(order, v, lo) < 0) {
            lo = v;
        } else if (tl_pq_order_compare_bytes(order, v, hi) > 0) {
            hi = v;
        }
    }
    bool cut = o->type == TL_PQ_BYTE_ARRAY && !o->signed_bytes;
    return widen_bytes(b, order, lo, hi, cut ? (size_t)o->bounds_bytes + 8 : SIZE_MAX);
}

tl_status tl_pq_bounds_add(tl_pq_bounds *b, const tl_pq_column_options *o, const void *values, size_t n) {
    tl_pq_order order = tl_pq_order_of(o);
    if (n == 0) {
        return TL_OK;
    }
    switch (order) {
    case TL_PQ_ORDER_I64:
    case TL_PQ_ORDER_U64: add_integers(b, o, values, n); break;
    case TL_PQ_ORDER_FLOAT: {
        double lo, hi;
        size_t nan = o->type == TL_PQ_DOUBLE ? scan_doubles(values, n, &lo, &hi) : scan_floats(values, n, &lo, &hi);
        b->nan_count += (int64_t)nan;
        if (nan < n) {
            widen_double(b, lo, hi);
        }
        break;
    }
    case TL_PQ_ORDER_BYTES:
    case TL_PQ_ORDER_SIGNED_BYTES: return add_bytes(b, o, order, values, n);
    case TL_PQ_ORDER_NONE: break;
    }
    return TL_OK;
}

bool tl_pq_bounds_is_nan(tl_pq_type type, const void *value) {
    double v = load_float(type, value);
    return v != v;
}

tl_status tl_pq_bounds_merge(tl_pq_bounds *b, tl_pq_order order, const tl_pq_bounds *other) {
    b->nan_count += other->nan_count;
    if (!other->any) {
        return TL_OK;
    }
    switch (order) {
    case TL_PQ_ORDER_I64: widen_i64(b, other->min.i, other->max.i); break;
    case TL_PQ_ORDER_U64: widen_u64(b, other->min.u, other->max.u); break;
    case TL_PQ_ORDER_FLOAT: widen_double(b, other->min.d, other->max.d); break;
    case TL_PQ_ORDER_BYTES:
    case TL_PQ_ORDER_SIGNED_BYTES:
        return widen_bytes(b, order, tl_buf_bytes(&other->min_bytes), tl_buf_bytes(&other->max_bytes), SIZE_MAX);
    case TL_PQ_ORDER_NONE: break;
    }
    return TL_OK;
}

/* ---- the stored form ---- */

/* Where the character before `end` begins; false when the bytes there are not UTF-8. */
static bool char_before(const uint8_t *data, size_t end, size_t *begin, uint32_t *code) {
    size_t len = 1;
    while (len <= 4 && len <= end && (data[end - len] & 0xc0) == 0x80) {
        len++;
    }
    if (len > 4 || len > end) {
        return false;
    }
    const uint8_t *p = data + end - len;
    static const uint8_t lead_mask[5] = {0, 0x80, 0xe0, 0xf0, 0xf8}, lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    if ((p[0] & lead_mask[len]) != lead[len]) {
        return false;
    }
    uint32_t c = p[0] & (uint8_t)~lead_mask[len];
    for (size_t i = 1; i < len; i++) {
        c = c << 6 | (p[i] & 0x3fu);
    }
    *begin = end - len;
    *code = c;
    return true;
}

static size_t put_char(uint32_t c, uint8_t out[4]) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; c >>= 6) {
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    }
    out[0] = (uint8_t)(lead[len] | c);
    return len;
}

/* The longest beginning of at most `limit` bytes that ends between two characters; false when it is not UTF-8 there. */
static bool cut_between_chars(tl_bytes value, size_t limit, size_t *len) {
    size_t end = limit;
    while (end > 0 && limit - end < 4 && (value.data[end] & 0xc0) == 0x80) {
        end--;
    }
    if ((value.data[end] & 0xc0) == 0x80) {
        return false;
    }
    *len = end;
    return true;
}

bool tl_pq_cut_lower(tl_bytes value, size_t limit, bool utf8, uint8_t *out, size_t *len) {
    *len = limit;
    if (utf8 && !cut_between_chars(value, limit, len)) {
        return false;
    }
    if (*len) {
        memcpy(out, value.data, *len);
    }
    return true;
}

/* The last character that has a successor is replaced by it, and what follows is left out. */
static bool cut_upper_utf8(tl_bytes value, size_t limit, uint8_t *out, size_t *len) {
    size_t end, begin;
    if (!cut_between_chars(value, limit, &end)) {
        return false;
    }
    for (; end > 0; end = begin) {
        uint32_t code;
        if (!char_before(value.data, end, &begin, &code)) {
            return false;
        }
        code = code == 0xd7ff ? 0xe000 : code + 1; /* over the surrogates, which UTF-8 cannot hold */
        uint8_t next[4];
        size_t n = code <= 0x10ffff ? put_char(code, next) : 0;
        if (n && begin + n <= limit) {
            memcpy(out, value.data, begin);
            memcpy(out + begin, next, n);
            *len = begin + n;
            return true;
        }
    }
    return false;
}

bool tl_pq_cut_upper(tl_bytes value, size_t limit, bool utf8, uint8_t *out, size_t *len) {
    if (utf8) {
        return cut_upper_utf8(value, limit, out, len);
    }
    size_t n = limit;
    while (n > 0 && value.data[n - 1] == 0xff) {
        n--;
    }
    if (n == 0) {
        return false;
    }
    memcpy(out, value.data, n);
    out[n - 1]++;
    *len = n;
    return true;
}

static tl_status keep(tl_arena *arena, const void *data, size_t len, tl_bytes *out) {
    void *copy = tl_arena_copy(arena, data, len);
    if (!copy) {
        return TL_NO_MEMORY;
    }
    *out = (tl_bytes){copy, len};
    return TL_OK;
}

static tl_status store_byte_arrays(const tl_pq_bounds *b, const tl_pq_column_options *o, tl_arena *arena,
                                   tl_pq_stored_bounds *out) {
    size_t limit = (size_t)o->bounds_bytes;
    bool cut = o->type == TL_PQ_BYTE_ARRAY && !o->signed_bytes;
    tl_bytes min = tl_buf_bytes(&b->min_bytes), max = tl_buf_bytes(&b->max_bytes);
    out->min_exact = !cut || min.len <= limit;
    out->max_exact = !cut || max.len <= limit;
    size_t len;
    if (out->min_exact) {
        TL_TRY(keep(arena, min.data, min.len, &out->min));
    } else {
        uint8_t *copy = tl_arena_alloc(arena, limit);
        if (!copy) {
            return TL_NO_MEMORY;
        }
        if (tl_pq_cut_lower(min, limit, o->utf8, copy, &len)) {
            out->min = (tl_bytes){copy, len};
        }
    }
    if (out->max_exact) {
        TL_TRY(keep(arena, max.data, max.len, &out->max));
    } else {
        uint8_t *copy = tl_arena_alloc(arena, limit);
        if (!copy) {
            return TL_NO_MEMORY;
        }
        if (tl_pq_cut_upper(max, limit, o->utf8, copy, &len)) {
            out->max = (tl_bytes){copy, len};
        }
    }
    return TL_OK;
}

static tl_status store_floats(const tl_pq_bounds *b, tl_pq_type type, tl_arena *arena, tl_pq_stored_bounds *out) {
    double min = b->min.d == 0 ? -0.0 : b->min.d, max = b->max.d == 0 ? 0.0 : b->max.d;
    if (type == TL_PQ_DOUBLE) {
        TL_TRY(keep(arena, &min, 8, &out->min));
        return keep(arena, &max, 8, &out->max);
    }
    float lo = (float)min, hi = (float)max;
    TL_TRY(keep(arena, &lo, 4, &out->min));
    return keep(arena, &hi, 4, &out->max);
}

tl_status tl_pq_bounds_store(const tl_pq_bounds *b, const tl_pq_column_options *o, tl_arena *arena,
                             tl_pq_stored_bounds *out) {
    *out = (tl_pq_stored_bounds){.min_exact = true, .max_exact = true};
    tl_pq_order order = tl_pq_order_of(o);
    if (!b->any || order == TL_PQ_ORDER_NONE) {
        return TL_OK;
    }
    if (order == TL_PQ_ORDER_FLOAT) {
        return store_floats(b, o->type, arena, out);
    }
    if (order == TL_PQ_ORDER_BYTES || order == TL_PQ_ORDER_SIGNED_BYTES) {
        return store_byte_arrays(b, o, arena, out);
    }
    /* the low bytes of the 64-bit number are the narrow number's bytes */
    size_t width = o->type == TL_PQ_BOOLEAN ? 1 : o->type == TL_PQ_INT32 ? 4 : 8;
    TL_TRY(keep(arena, &b->min.u, width, &out->min));
    return keep(arena, &b->max.u, width, &out->max);
}
