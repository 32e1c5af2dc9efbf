/*
 * Fuzzing of the decoders alone: where random bytes in a file seldom pass the footer, here all of them are page bytes.
 * Comes in: ten bytes that choose type, encoding, counts and levels, then the bytes of a page. Must hold: no crash, and
 * whatever is read lies within what was written.
 *
 * Built and run as parquet_reader_fuzz.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/codec.h"
#include "parquet/decode_internal.h"

#define HEAD 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static tl_pq_vector make_vector(tl_pq_type type, int32_t fixed, tl_pq_budget *budget) {
    static const int32_t widths[] = {1, 4, 8, 12, 4, 8, 0, 0};
    return (tl_pq_vector){.type = type, .width = type == TL_PQ_FIXED ? fixed : widths[type], .budget = budget};
}

static void check_texts(const tl_pq_vector *v, int64_t from, int64_t n) {
    for (int64_t i = from; i < from + n; i++) {
        must(v->offsets[i] <= v->offsets[i + 1], "offsets go back");
    }
    must(n == 0 || (size_t)v->offsets[from + n] == v->data_len, "offsets do not end with the data");
}

static void decode(const uint8_t *head, tl_bytes in) {
    tl_pq_budget budget = {.limit = (size_t)32 << 20};
    tl_pq_scratch scratch = {0};
    tl_pq_type type = (tl_pq_type)(head[0] & 7);
    tl_pq_vector v = make_vector(type, 1 + (head[1] & 31), &budget), dict = make_vector(type, v.width, &budget);
    int64_t n = head[2] | (head[3] & 15) << 8, lead = head[4] & 63;
    tl_pq_encoding encoding = (tl_pq_encoding)(head[5] % 11);
    static const uint8_t texts[] = {1,   0,   0,   0,   'a', 0,   0,   0,   0,   20,  0,   0,   0,   'a', 'b', 'c', 'd',
                                    'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't'};
    static const uint8_t numbers[3 * 32] = {1, 2, 3};
    tl_bytes dict_bytes =
        type == TL_PQ_BYTE_ARRAY ? (tl_bytes){texts, sizeof texts} : (tl_bytes){numbers, sizeof numbers};
    bool ready = tl_pq_vector_reserve(&v, n + lead, NULL) == TL_OK && tl_pq_vector_reserve(&dict, 3, NULL) == TL_OK &&
                 tl_pq_decode_plain(dict_bytes, 3, &dict, NULL) == TL_OK;
    dict.n = 3;
    if (type == TL_PQ_BYTE_ARRAY) {
        for (int64_t i = 0; ready && i <= lead; i++) {
            v.offsets[i] = 0;
        }
    }
    v.n = lead;
    v.indices = type == TL_PQ_INT32 && head[6] & 1;
    int64_t present = n;
    if (ready && head[6] & 2) { /* the first half of the bytes are definition levels */
        tl_bytes levels = {in.data, in.len / 2};
        in = (tl_bytes){in.data + in.len / 2, in.len - in.len / 2};
        ready = tl_pq_decode_validity(levels, n, &v, &present, NULL) == TL_OK;
        must(!ready || (present >= 0 && present <= n), "more values than slots");
        must(!ready || !v.has_validity || tl_bits_count(v.validity, lead, n) == present, "bits and count differ");
    }
    if (ready && tl_pq_decode_values(encoding, in, present, head[7] & 1 ? &dict : NULL, &v, &scratch, NULL) == TL_OK) {
        if (type == TL_PQ_BYTE_ARRAY) {
            check_texts(&v, lead, present);
        }
        if (v.has_validity || present == n) {
            tl_pq_vector_spread(&v, present, n);
            if (type == TL_PQ_BYTE_ARRAY) {
                check_texts(&v, lead, n);
            }
        }
    }
    tl_pq_vector_free(&v);
    tl_pq_vector_free(&dict);
    tl_pq_scratch_free(&scratch);
    must(budget.used == 0, "the budget does not add up");
}

static void decode_levels(const uint8_t *head, tl_bytes in) {
    uint8_t out[4096];
    int16_t max = (int16_t)(1 + (head[1] & 63));
    int64_t n = head[2] | (head[3] & 15) << 8;
    tl_pq_encoding encoding = head[4] & 1 ? TL_PQ_RLE : TL_PQ_BIT_PACKED;
    if (tl_pq_decode_levels(in, encoding, max, n, out, NULL) == TL_OK) {
        for (int64_t i = 0; i < n; i++) {
            must(out[i] <= max, "a level too high");
        }
    }
}

static void decompress(const uint8_t *head, tl_bytes in) {
    tl_pq_codec_state state = {0};
    size_t len = (size_t)head[2] | (size_t)head[3] << 8;
    uint8_t *out = malloc(len ? len : 1);
    tl_error why = {{0}};
    if (out && tl_pq_decompress(&state, (tl_pq_codec)(head[1] & 7), in, out, len, &why) != TL_OK) {
        must(why.message[0] != 0, "a failure without a message");
    }
    free(out);
    tl_pq_codec_state_free(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEAD) {
        return 0;
    }
    size_t n = size - HEAD;
    uint8_t *copy = malloc(n ? n : 1); /* of its exact size, so that a read behind the end is seen */
    must(copy != NULL, "no memory");
    if (n) {
        memcpy(copy, data + HEAD, n);
    }
    tl_bytes in = {copy, n};
    switch (data[9] % 8) {
    case 0: decode_levels(data, in); break;
    case 1: decompress(data, in); break;
    default: decode(data, in);
    }
    free(copy);
    return 0;
}

#include "replay.h"
