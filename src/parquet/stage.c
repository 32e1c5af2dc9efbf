/*
 * The values of the page in the making. Comes in: values, runs, dictionary indices. Goes out: the encoded body of the
 * page. Byte arrays are brought towards their encoding at once, since the caller's bytes are gone after the call;
 * numbers wait in their native form, or are not copied at all when they make a whole page.
 */
#include "parquet/write_internal.h"

/* What one page can hold: its sizes are int32; room is left for levels and for what a codec may add. */
#define PAGE_MAX_BYTES ((size_t)INT32_MAX - (1u << 24))

void tl_pq_stage_free(tl_pq_stage *s) {
    tl_buf_free(&s->raw);
    tl_buf_free(&s->lengths);
    tl_buf_free(&s->prefixes);
    tl_buf_free(&s->previous);
    tl_buf_free(&s->indices);
    tl_buf_free(&s->runs);
}

void tl_pq_stage_begin(tl_pq_stage *s, tl_pq_encoding encoding) {
    s->encoding = encoding;
    s->n_values = 0;
    s->bytes = 0;
    s->direct = NULL;
    s->raw.len = s->lengths.len = s->prefixes.len = s->previous.len = s->indices.len = s->runs.len = 0;
}

size_t tl_pq_stage_measure(const tl_pq_stage *s, const void *values, size_t n) {
    if (s->width) {
        return n * (size_t)s->width;
    }
    const tl_bytes *v = values;
    size_t sum = n * 4;
    for (size_t i = 0; i < n; i++) {
        sum += v[i].len;
    }
    return sum;
}

static bool fits(const tl_pq_stage *s, size_t bytes) {
    return bytes <= PAGE_MAX_BYTES && s->bytes <= PAGE_MAX_BYTES - bytes;
}

static tl_status add_lengths_and_bytes(tl_pq_stage *s, const tl_bytes *v, size_t n) {
    TL_TRY(tl_buf_reserve(&s->lengths, n * 4));
    for (size_t i = 0; i < n; i++) {
        int32_t len = (int32_t)v[i].len;
        TL_TRY(tl_buf_add(&s->lengths, &len, 4));
        TL_TRY(tl_buf_add(&s->raw, v[i].data, v[i].len));
    }
    return TL_OK;
}

/* Splits a value into what it shares with the one before and the rest. */
static tl_status add_suffix(tl_pq_stage *s, tl_bytes v) {
    size_t most = v.len < s->previous.len ? v.len : s->previous.len, shared = 0;
    while (shared < most && v.data[shared] == s->previous.data[shared]) {
        shared++;
    }
    int32_t prefix = (int32_t)shared, rest = (int32_t)(v.len - shared);
    TL_TRY(tl_buf_add(&s->prefixes, &prefix, 4));
    TL_TRY(tl_buf_add(&s->lengths, &rest, 4));
    if (rest) {
        TL_TRY(tl_buf_add(&s->raw, v.data + shared, (size_t)rest));
    }
    s->previous.len = shared;
    return rest ? tl_buf_add(&s->previous, v.data + shared, (size_t)rest) : TL_OK;
}

static tl_status add_suffixes(tl_pq_stage *s, const void *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tl_bytes v = s->width ? (tl_bytes){(const uint8_t *)values + i * (size_t)s->width, (size_t)s->width}
                              : ((const tl_bytes *)values)[i];
        TL_TRY(add_suffix(s, v));
    }
    return TL_OK;
}

tl_status tl_pq_stage_add(tl_pq_stage *s, const void *values, size_t n) {
    if (n == 0) {
        return TL_OK;
    }
    size_t bytes = tl_pq_stage_measure(s, values, n);
    if (!fits(s, bytes)) {
        return TL_UNSUPPORTED;
    }
    if (s->encoding == TL_PQ_DELTA_BYTE_ARRAY) {
        TL_TRY(add_suffixes(s, values, n));
    } else if (s->width) {
        TL_TRY(tl_buf_add(&s->raw, values, bytes));
    } else if (s->encoding == TL_PQ_DELTA_LENGTH_BYTE_ARRAY) {
        TL_TRY(add_lengths_and_bytes(s, values, n));
    } else {
        TL_TRY(tl_pq_encode_byte_arrays(values, n, &s->raw));
    }
    s->bytes += bytes;
    s->n_values += (int64_t)n;
    return TL_OK;
}

tl_status tl_pq_stage_add_repeated(tl_pq_stage *s, const void *value, size_t n) {
    if (s->width == 0 || s->encoding == TL_PQ_DELTA_BYTE_ARRAY) {
        for (size_t i = 0; i < n; i++) {
            TL_TRY(tl_pq_stage_add(s, value, 1));
        }
        return TL_OK;
    }
    size_t width = (size_t)s->width, bytes = n * width;
    if (!fits(s, bytes)) {
        return TL_UNSUPPORTED;
    }
    TL_TRY(tl_buf_reserve(&s->raw, bytes));
    uint8_t *to = s->raw.data + s->raw.len;
    for (size_t done = 0; done < bytes;) { /* doubling copies */
        size_t step = done ? (done < bytes - done ? done : bytes - done) : width;
        memcpy(to + done, done ? to : value, step);
        done += step;
    }
    s->raw.len += bytes;
    s->bytes += bytes;
    s->n_values += (int64_t)n;
    return TL_OK;
}

tl_status tl_pq_stage_add_index_run(tl_pq_stage *s, uint32_t index, uint64_t count) {
    tl_pq_index_run run = {s->indices.len / 4, index, count};
    return tl_buf_add(&s->runs, &run, sizeof run);
}

static unsigned index_width(uint32_t dictionary_size) {
    unsigned width = tl_pq_bits(dictionary_size ? dictionary_size - 1 : 0);
    return width ? width : 1; /* old readers do not know width 0 */
}

static tl_status encode_indices(tl_pq_stage *s, uint32_t dictionary_size, tl_buf *out) {
    unsigned width = index_width(dictionary_size);
    TL_TRY(tl_buf_add_byte(out, (uint8_t)width));
    tl_pq_rle_out rle;
    tl_pq_rle_begin(&rle, width, out);
    const uint32_t *single = (const uint32_t *)(const void *)s->indices.data;
    size_t done = 0, n_single = s->indices.len / 4;
    for (size_t at = 0; at < s->runs.len; at += sizeof(tl_pq_index_run)) {
        tl_pq_index_run run;
        memcpy(&run, s->runs.data + at, sizeof run);
        if (run.at > done) {
            TL_TRY(tl_pq_rle_add(&rle, single + done, run.at - done));
            done = run.at;
        }
        TL_TRY(tl_pq_rle_add_run(&rle, run.index, run.count));
    }
    if (n_single > done) {
        TL_TRY(tl_pq_rle_add(&rle, single + done, n_single - done));
    }
    return tl_pq_rle_end(&rle);
}

/* Booleans: the runs stand behind their length. */
static tl_status encode_boolean_runs(const uint8_t *values, size_t n, tl_buf *out) {
    size_t at = out->len;
    TL_TRY(tl_buf_add(out, &(uint32_t){0}, 4));
    tl_pq_rle_out rle;
    tl_pq_rle_begin(&rle, 1, out);
    TL_TRY(tl_pq_rle_add_u8(&rle, values, n));
    TL_TRY(tl_pq_rle_end(&rle));
    tl_store_u32(out->data + at, (uint32_t)(out->len - at - 4));
    return TL_OK;
}

bool tl_pq_stage_plain(const tl_pq_stage *s, tl_bytes *out) {
    if (s->encoding != TL_PQ_PLAIN || s->type == TL_PQ_BOOLEAN) {
        return false;
    }
    out->data = s->direct ? s->direct : s->raw.data;
    out->len = s->width ? (size_t)s->n_values * (size_t)s->width : s->raw.len;
    return true;
}

tl_status tl_pq_stage_encode(tl_pq_stage *s, uint32_t dictionary_size, tl_buf *out) {
    size_t n = (size_t)s->n_values;
    const uint8_t *values = s->direct ? s->direct : s->raw.data;
    switch (s->encoding) {
    case TL_PQ_RLE_DICTIONARY: return encode_indices(s, dictionary_size, out);
    case TL_PQ_RLE: return encode_boolean_runs(values, n, out);
    case TL_PQ_DELTA_BINARY_PACKED:
        return s->type == TL_PQ_INT32 ? tl_pq_encode_delta_i32(values, n, out) : tl_pq_encode_delta_i64(values, n, out);
    case TL_PQ_BYTE_STREAM_SPLIT: return tl_pq_encode_split(values, n, (size_t)s->width, out);
    case TL_PQ_DELTA_LENGTH_BYTE_ARRAY:
        TL_TRY(tl_pq_encode_delta_i32(s->lengths.data, n, out));
        return tl_buf_add(out, s->raw.data, s->raw.len);
    case TL_PQ_DELTA_BYTE_ARRAY:
        TL_TRY(tl_pq_encode_delta_i32(s->prefixes.data, n, out));
        TL_TRY(tl_pq_encode_delta_i32(s->lengths.data, n, out));
        return tl_buf_add(out, s->raw.data, s->raw.len);
    default: break;
    }
    if (s->type == TL_PQ_BOOLEAN) {
        return tl_pq_encode_bits(values, n, out);
    }
    return tl_buf_add(out, values, s->width ? n * (size_t)s->width : s->raw.len);
}

size_t tl_pq_stage_estimate(const tl_pq_stage *s, uint32_t dictionary_size) {
    if (s->encoding == TL_PQ_RLE_DICTIONARY) {
        return s->indices.len / 4 * index_width(dictionary_size) / 8 + s->runs.len / sizeof(tl_pq_index_run) * 6;
    }
    return s->type == TL_PQ_BOOLEAN ? s->bytes / 8 : s->bytes;
}
