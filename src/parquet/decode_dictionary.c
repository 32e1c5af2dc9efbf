/*
 * Dictionary indices into values. Comes in: a bit width and the hybrid of runs and packed groups. Goes out: the
 * values the indices stand for. A run is written as a fill, packed indices are gathered a block at a time.
 */
#include <string.h>

#include "parquet/decode_internal.h"

#define BLOCK 1024

static tl_status bad_index(tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "an index points outside the dictionary");
}

/* True when all indices are below n_dict (<= 2^31). Free of branches: the top bit of (n_dict - 1 - index) | index. */
static bool indices_fit(const uint32_t *index, size_t n, uint32_t n_dict) {
    uint32_t over = 0;
    for (size_t i = 0; i < n; i++) {
        over |= (n_dict - 1 - index[i]) | index[i];
    }
    return over >> 31 == 0;
}

#define GATHER_BODY(type)                                                                                              \
    const type *values = (const type *)(const void *)dict->values;                                                     \
    type *to = (type *)(void *)v->values + at;                                                                         \
    for (size_t i = 0; i < n; i++) {                                                                                   \
        to[i] = values[index[i]];                                                                                      \
    }

static void gather4(const uint32_t *index, size_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at) {
    GATHER_BODY(uint32_t)
}

static void gather8(const uint32_t *index, size_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at) {
    GATHER_BODY(uint64_t)
}

static void gather_any(const uint32_t *index, size_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at) {
    size_t width = (size_t)v->width;
    uint8_t *to = v->values + (size_t)at * width;
    for (size_t i = 0; i < n; i++) {
        memcpy(to + i * width, dict->values + index[i] * width, width);
    }
}

#define FILL_BODY(type)                                                                                                \
    type value = ((const type *)(const void *)dict->values)[index];                                                    \
    type *to = (type *)(void *)v->values + at;                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        to[i] = value;                                                                                                 \
    }

static void fill4(uint32_t index, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at) {
    FILL_BODY(uint32_t)
}

static void fill8(uint32_t index, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at) {
    FILL_BODY(uint64_t)
}

static void fill_any(uint32_t index, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at) {
    size_t width = (size_t)v->width;
    for (int64_t i = 0; i < n; i++) {
        memcpy(v->values + (size_t)(at + i) * width, dict->values + index * width, width);
    }
}

/* ---- texts ---- */

static tl_status gather_text(const uint32_t *index, size_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at,
                             tl_error *err) {
    const int32_t *o = dict->offsets;
    int32_t *to = v->offsets + at;
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += (uint64_t)(o[index[i] + 1] - o[index[i]]);
    }
    TL_TRY(tl_pq_vector_reserve_data(v, total, err));
    uint8_t *out = v->data + v->data_len;
    int32_t end = (int32_t)v->data_len;
    for (size_t i = 0; i < n; i++) {
        int32_t from = o[index[i]], len = o[index[i] + 1] - from;
        if (len <= 16) {
            memcpy(out, dict->data + from, 16); /* both buffers have slack */
        } else {
            memcpy(out, dict->data + from, (size_t)len);
        }
        out += len;
        end += len;
        to[i + 1] = end;
    }
    v->data_len = (size_t)end;
    return TL_OK;
}

static tl_status fill_text(uint32_t index, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at,
                           tl_error *err) {
    int32_t len = dict->offsets[index + 1] - dict->offsets[index], end = (int32_t)v->data_len;
    const uint8_t *text = dict->data + dict->offsets[index];
    size_t total;
    if (!tl_size_mul((size_t)len, (size_t)n, &total)) {
        total = SIZE_MAX;
    }
    TL_TRY(tl_pq_vector_reserve_data(v, total, err));
    uint8_t *out = v->data + v->data_len;
    size_t done = total < (size_t)len * 8 ? total : (size_t)len * 8;
    for (size_t i = 0; i < done; i += (size_t)len) {
        memcpy(out + i, text, (size_t)len);
    }
    while (done < total) {
        size_t take = done < total - done ? done : total - done;
        take = take > 65536 && len <= 65536 ? 65536 - 65536 % (size_t)len : take; /* what stays in the cache */
        memcpy(out + done, out, take);
        done += take;
    }
    int32_t *to = v->offsets + at + 1;
    for (int64_t i = 0; i < n; i++) {
        to[i] = end + (int32_t)(i + 1) * len;
    }
    v->data_len += total;
    return TL_OK;
}

/* ---- the pages ---- */

static tl_status put_run(uint32_t index, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at,
                         tl_error *err) {
    if (v->type == TL_PQ_BYTE_ARRAY) {
        return fill_text(index, n, dict, v, at, err);
    }
    switch (v->width) {
    case 4: fill4(index, n, dict, v, at); break;
    case 8: fill8(index, n, dict, v, at); break;
    default: fill_any(index, n, dict, v, at);
    }
    return TL_OK;
}

static tl_status put_packed(const tl_pq_run *run, unsigned width, const tl_pq_vector *dict, tl_pq_vector *v, int64_t at,
                            tl_error *err) {
    uint32_t index[BLOCK];
    for (int64_t done = 0; done < run->count;) {
        size_t n = (size_t)(run->count - done < BLOCK ? run->count - done : BLOCK), byte = (size_t)done * width / 8;
        tl_pq_unpack32((tl_bytes){run->data.data + byte, run->data.len - byte}, width, index, n);
        if (!indices_fit(index, n, (uint32_t)dict->n)) {
            return bad_index(err);
        }
        if (v->type == TL_PQ_BYTE_ARRAY) {
            TL_TRY(gather_text(index, n, dict, v, at + done, err));
        } else if (v->width == 4) {
            gather4(index, n, dict, v, at + done);
        } else if (v->width == 8) {
            gather8(index, n, dict, v, at + done);
        } else {
            gather_any(index, n, dict, v, at + done);
        }
        done += (int64_t)n;
    }
    return TL_OK;
}

static tl_status open_indices(tl_bytes in, int64_t n_dict, tl_pq_rle *out, tl_error *err) {
    if (in.len < 1 || in.data[0] > 32) {
        return tl_fail(err, TL_CORRUPT, "dictionary indices have no sensible bit width");
    }
    *out = (tl_pq_rle){in.data + 1, in.data + in.len, in.data[0]};
    return n_dict > 0 ? TL_OK : bad_index(err);
}

tl_status tl_pq_decode_dictionary(tl_bytes in, int64_t n, const tl_pq_vector *dict, tl_pq_vector *v, tl_error *err) {
    tl_pq_rle rle = {0};
    tl_pq_run run;
    TL_TRY(open_indices(in, dict->n, &rle, err));
    for (int64_t done = 0; done < n; done += run.count) {
        if (!tl_pq_rle_next(&rle, n - done, &run)) {
            return tl_fail(err, TL_CORRUPT, "dictionary indices end too early");
        }
        if (run.packed) {
            TL_TRY(put_packed(&run, rle.width, dict, v, v->n + done, err));
        } else if (run.value >= (uint64_t)dict->n) {
            return bad_index(err);
        } else {
            TL_TRY(put_run(run.value, run.count, dict, v, v->n + done, err));
        }
    }
    return TL_OK;
}

tl_status tl_pq_decode_indices(tl_bytes in, int64_t n, int64_t n_dict, tl_pq_vector *v, tl_error *err) {
    tl_pq_rle rle = {0};
    tl_pq_run run;
    uint32_t *out = (uint32_t *)(void *)v->values + v->n;
    TL_TRY(open_indices(in, n_dict, &rle, err));
    for (int64_t done = 0; done < n; done += run.count) {
        if (!tl_pq_rle_next(&rle, n - done, &run)) {
            return tl_fail(err, TL_CORRUPT, "dictionary indices end too early");
        }
        if (run.packed) {
            tl_pq_unpack32(run.data, rle.width, out + done, (size_t)run.count);
        }
        for (int64_t i = 0; i < run.count && !run.packed; i++) {
            out[done + i] = run.value;
        }
    }
    return indices_fit(out, (size_t)n, (uint32_t)n_dict) ? TL_OK : bad_index(err);
}
