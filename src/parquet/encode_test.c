/* The encoders against small decoders written from the format's text, and against bytes worked out by hand. */
#include "parquet/testing_internal.h"

#include "base/mem.h"
#include "parquet/write_internal.h"

/* ---- decoders ---- */

static uint64_t get_varint(const tl_buf *b, size_t *at) {
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(*at < b->len && shift < 64);
        uint8_t byte = b->data[(*at)++];
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return v;
        }
    }
}

static int64_t get_zigzag(const tl_buf *b, size_t *at) {
    uint64_t v = get_varint(b, at);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static uint64_t get_packed(const uint8_t *data, size_t index, unsigned width) {
    uint64_t v = 0;
    for (unsigned bit = 0; bit < width; bit++) {
        size_t at = index * width + bit;
        v |= (uint64_t)((data[at / 8] >> (at % 8)) & 1) << bit;
    }
    return v;
}

/* Values of an RLE / bit-packed stretch that must end exactly at the buffer's end. Counts the repeated runs. */
static size_t get_rle(const tl_buf *b, size_t at, unsigned width, uint32_t *out, size_t n) {
    size_t done = 0, runs = 0;
    while (done < n) {
        uint64_t header = get_varint(b, &at);
        if (header & 1) {
            size_t values = (size_t)(header >> 1) * 8;
            assert_true(at + (header >> 1) * width <= b->len);
            for (size_t i = 0; i < values && done < n; i++) {
                out[done++] = (uint32_t)get_packed(b->data + at, i, width);
            }
            at += (size_t)(header >> 1) * width;
        } else {
            uint32_t v = 0;
            assert_true(at + (width + 7) / 8 <= b->len);
            memcpy(&v, b->data + at, (width + 7) / 8);
            at += (width + 7) / 8;
            assert_true((header >> 1) > 0 && (header >> 1) <= n - done);
            for (uint64_t i = 0; i < header >> 1; i++) {
                out[done++] = v;
            }
            runs++;
        }
    }
    assert_int_equal(at, b->len);
    return runs;
}

static void get_delta(const tl_buf *b, int64_t *out, size_t n, bool narrow) {
    size_t at = 0;
    assert_int_equal(get_varint(b, &at), 128);
    assert_int_equal(get_varint(b, &at), 4);
    assert_int_equal(get_varint(b, &at), n);
    int64_t v = get_zigzag(b, &at);
    size_t done = 0;
    if (n > 0) {
        out[done++] = v;
    }
    while (done < n) {
        int64_t least = get_zigzag(b, &at);
        size_t widths = at;
        at += 4;
        for (size_t m = 0; m < 4; m++) {
            unsigned width = b->data[widths + m];
            assert_true(width <= (narrow ? 32u : 64u));
            assert_true(at + width * 4 <= b->len);
            for (size_t i = 0; i < 32 && done < n; i++) {
                v = (int64_t)((uint64_t)v + (uint64_t)least + get_packed(b->data + at, i, width));
                v = narrow ? (int32_t)(uint32_t)(uint64_t)v : v;
                out[done++] = v;
            }
            at += width * 4;
        }
    }
    assert_int_equal(at, b->len);
}

/* ---- bit packing ---- */

static void packed_values_come_back_at_every_width(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (unsigned width = 1; width <= 64; width++) {
        uint64_t in[24];
        uint32_t narrow[24];
        uint8_t out[24 * 8 + TL_PQ_PACK_SLACK], out32[24 * 4 + TL_PQ_PACK_SLACK];
        for (int i = 0; i < 24; i++) {
            in[i] = tl_dice_u64(&dice) >> (64 - width);
            narrow[i] = (uint32_t)in[i];
        }
        in[3] = UINT64_MAX >> (64 - width);
        narrow[3] = (uint32_t)in[3];
        tl_pq_pack_u64(in, 3, width, out);
        for (size_t i = 0; i < 24; i++) {
            assert_true(get_packed(out, i, width) == in[i]);
        }
        if (width <= 32) {
            tl_pq_pack_u32(narrow, 3, width, out32);
            assert_memory_equal(out, out32, 3 * width);
        }
    }
}

/* ---- runs ---- */

static void a_constant_column_of_levels_is_one_run(void **state) {
    (void)state;
    tl_buf out = {0};
    tl_pq_rle_out rle;
    uint8_t ones[1000];
    memset(ones, 1, sizeof ones);
    tl_pq_rle_begin(&rle, 1, &out);
    for (int i = 0; i < 20; i++) { /* many small pieces make one run too */
        TL_OKAY(tl_pq_rle_add_u8(&rle, ones, (size_t)(i % 3 ? 50 : 1)));
    }
    TL_OKAY(tl_pq_rle_add_run(&rle, 1, 5));
    TL_OKAY(tl_pq_rle_end(&rle));
    uint64_t count = 0;
    for (int i = 0; i < 20; i++) {
        count += i % 3 ? 50 : 1;
    }
    count += 5;
    assert_int_equal(out.len, 3);
    assert_int_equal((out.data[0] & 0x7f) | out.data[1] << 7, count << 1);
    assert_int_equal(out.data[2], 1);
    tl_buf_free(&out);
}

static void known_values_give_known_bytes(void **state) {
    (void)state;
    /* 0..7 at 3 bits: the example of the format's text */
    const uint32_t values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint8_t want[] = {0x03, 0x88, 0xc6, 0xfa};
    tl_buf out = {0};
    tl_pq_rle_out rle;
    tl_pq_rle_begin(&rle, 3, &out);
    TL_OKAY(tl_pq_rle_add(&rle, values, 8));
    TL_OKAY(tl_pq_rle_end(&rle));
    assert_int_equal(out.len, sizeof want);
    assert_memory_equal(out.data, want, sizeof want);
    tl_buf_free(&out);
}

static void runs_and_values_in_any_mixture_come_back(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (int round = 0; round < 3000; round++) {
        unsigned width = 1 + (unsigned)tl_dice_below(&dice, round % 2 ? 32 : 3);
        uint32_t want[4000], got[4000], mask = (uint32_t)(UINT64_MAX >> (64 - width));
        size_t n = 0;
        tl_buf out = {0};
        tl_pq_rle_out rle;
        tl_pq_rle_begin(&rle, width, &out);
        for (uint64_t pieces = tl_dice_below(&dice, 12); pieces > 0; pieces--) {
            size_t len = (size_t)tl_dice_below(&dice, tl_dice_one_in(&dice, 3) ? 300 : 20);
            uint32_t v = (uint32_t)tl_dice_u64(&dice) & mask;
            if (tl_dice_one_in(&dice, 2)) {
                TL_OKAY(tl_pq_rle_add_run(&rle, v, len));
                for (size_t i = 0; i < len; i++) {
                    want[n++] = v;
                }
                continue;
            }
            uint64_t change = 1 + tl_dice_below(&dice, 30);
            uint8_t bytes[300];
            for (size_t i = 0; i < len; i++) {
                v = tl_dice_one_in(&dice, change) ? (uint32_t)tl_dice_u64(&dice) & mask : v;
                v = width <= 8 ? v : v & mask;
                bytes[i] = (uint8_t)v;
                want[n + i] = v;
            }
            TL_OKAY(width <= 8 ? tl_pq_rle_add_u8(&rle, bytes, len) : tl_pq_rle_add(&rle, want + n, len));
            n += len;
        }
        TL_OKAY(tl_pq_rle_end(&rle));
        (void)get_rle(&out, 0, width, got, n);
        assert_memory_equal(want, got, n * sizeof *want);
        tl_buf_free(&out);
    }
}

static void alternating_values_cost_their_bits_and_little_more(void **state) {
    (void)state;
    uint32_t values[8000];
    for (uint32_t i = 0; i < 8000; i++) {
        values[i] = i % 2;
    }
    tl_buf out = {0};
    tl_pq_rle_out rle;
    tl_pq_rle_begin(&rle, 1, &out);
    for (size_t i = 0; i < 8000; i++) { /* one at a time is the worst way to add them */
        TL_OKAY(tl_pq_rle_add(&rle, values + i, 1));
    }
    TL_OKAY(tl_pq_rle_end(&rle));
    assert_in_range(out.len, 1000, 1000 + 1000 / 63 + 1);
    tl_buf_free(&out);
}

/* ---- differences ---- */

static void differences_of_any_numbers_come_back(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    const size_t sizes[] = {0, 1, 2, 32, 33, 127, 128, 129, 130, 257, 1000};
    for (int round = 0; round < 600; round++) {
        size_t n = sizes[tl_dice_below(&dice, TL_COUNT(sizes))];
        int64_t wide[1000], got[1000];
        int32_t narrow[1000];
        unsigned shift = (unsigned)tl_dice_below(&dice, 64);
        for (size_t i = 0; i < n; i++) {
            uint64_t r = tl_dice_u64(&dice) >> shift;
            wide[i] = round % 3 == 0   ? (int64_t)r
                      : round % 3 == 1 ? (int64_t)(i * 1000 + r % 7)
                      : i % 2          ? INT64_MIN
                                       : INT64_MAX;
            narrow[i] = round % 3 == 2 ? (i % 2 ? INT32_MIN : INT32_MAX) : (int32_t)(uint32_t)(uint64_t)wide[i];
        }
        tl_buf out = {0};
        TL_OKAY(tl_pq_encode_delta_i64(wide, n, &out));
        get_delta(&out, got, n, false);
        assert_memory_equal(wide, got, n * sizeof *wide);
        out.len = 0;
        TL_OKAY(tl_pq_encode_delta_i32(narrow, n, &out));
        get_delta(&out, got, n, true);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(narrow[i], got[i]);
        }
        tl_buf_free(&out);
    }
}

static void regular_times_take_a_byte_or_two_a_block(void **state) {
    (void)state;
    int64_t times[20001];
    for (int64_t i = 0; i < 20001; i++) {
        times[i] = 1764547200000000 + i * 1000000;
    }
    tl_buf out = {0};
    TL_OKAY(tl_pq_encode_delta_i64(times, 20001, &out));
    assert_true(out.len <= 20 + 157 * 7);
    tl_buf_free(&out);
}

/* ---- the rest ---- */

static void split_bytes_stand_in_streams(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    const size_t widths[] = {1, 2, 3, 4, 5, 8, 16, 17};
    for (int round = 0; round < 400; round++) {
        size_t width = widths[tl_dice_below(&dice, TL_COUNT(widths))], n = (size_t)tl_dice_below(&dice, 100);
        uint8_t values[100 * 17];
        for (size_t i = 0; i < n * width; i++) {
            values[i] = (uint8_t)tl_dice_u64(&dice);
        }
        tl_buf out = {0};
        TL_OKAY(tl_buf_add(&out, "x", 1));
        TL_OKAY(tl_pq_encode_split(values, n, width, &out));
        assert_int_equal(out.len, 1 + n * width);
        for (size_t i = 0; i < n; i++) {
            for (size_t b = 0; b < width; b++) {
                assert_int_equal(out.data[1 + b * n + i], values[i * width + b]);
            }
        }
        tl_buf_free(&out);
    }
}

static void booleans_become_bits(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (size_t n = 0; n < 70; n++) {
        uint8_t values[70];
        for (size_t i = 0; i < n; i++) {
            values[i] = (uint8_t)tl_dice_below(&dice, 2);
        }
        tl_buf out = {0};
        TL_OKAY(tl_pq_encode_bits(values, n, &out));
        assert_int_equal(out.len, (n + 7) / 8);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(tl_bit(out.data, (int64_t)i), values[i]);
        }
        tl_buf_free(&out);
    }
}

/* ---- the dictionary ---- */

static void a_dictionary_keeps_first_sight_order_and_tells_bits_apart(void **state) {
    (void)state;
    const double values[] = {1.5, -0.0, 0.0, 1.5, -0.0, 2.5};
    uint32_t indices[6];
    size_t mapped;
    tl_pq_dictionary d = {0};
    TL_OKAY(tl_pq_dictionary_begin(&d, 8, 100, 1000));
    TL_OKAY(tl_pq_dictionary_map(&d, values, 6, false, indices, &mapped));
    const uint32_t want[] = {0, 1, 2, 0, 1, 3};
    assert_int_equal(mapped, 6);
    assert_memory_equal(indices, want, sizeof want);
    tl_pq_dictionary_free(&d);
}

static void a_dictionary_stops_at_its_limits(void **state) {
    (void)state;
    int32_t numbers[100];
    for (int32_t i = 0; i < 100; i++) {
        numbers[i] = i / 2;
    }
    uint32_t indices[100];
    size_t mapped;
    tl_pq_dictionary d = {0};
    TL_OKAY(tl_pq_dictionary_begin(&d, 4, 10, 1000));
    TL_OKAY(tl_pq_dictionary_map(&d, numbers, 100, false, indices, &mapped));
    assert_int_equal(mapped, 20);
    assert_int_equal(d.n, 10);
    TL_OKAY(tl_pq_dictionary_map(&d, numbers + 20, 80, true, indices, &mapped));
    assert_int_equal(mapped, 80);
    assert_int_equal(d.n, 50);
    TL_OKAY(tl_pq_dictionary_begin(&d, 0, 1000, 4 + 3 + 4 + 3));
    const tl_bytes texts[] = {tl_bytes_of("abc"), tl_bytes_of("abc"), tl_bytes_of("abd"), tl_bytes_of("")};
    TL_OKAY(tl_pq_dictionary_map(&d, texts, 4, false, indices, &mapped));
    assert_int_equal(mapped, 3);
    assert_int_equal(d.n, 2);
    tl_pq_dictionary_free(&d);
}

/* Random values of each width against a linear search; one dictionary for all, as a writer re-uses it. */
static void a_dictionary_finds_every_value_again(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    const int32_t widths[] = {4, 8, 0, 12, 3, 16, 1};
    tl_pq_dictionary d = {0};
    for (int round = 0; round < 60; round++) {
        int32_t width = widths[round % (int)TL_COUNT(widths)];
        uint64_t distinct = 1 + tl_dice_below(&dice, 3000);
        TL_OKAY(tl_pq_dictionary_begin(&d, width, UINT32_MAX, SIZE_MAX));
        static uint8_t data[5000][40];
        static tl_bytes values[5000];
        static uint8_t packed[5000 * 16];
        static uint32_t indices[5000];
        for (int i = 0; i < 5000; i++) {
            tl_dice one = {tl_dice_below(&dice, distinct) * 7919};
            size_t len = width ? (size_t)width : (size_t)tl_dice_below(&one, 40);
            for (size_t k = 0; k < len; k++) {
                data[i][k] = (uint8_t)tl_dice_u64(&one);
            }
            values[i] = (tl_bytes){data[i], len};
            if (width) {
                memcpy(packed + (size_t)i * len, data[i], len);
            }
        }
        size_t mapped;
        TL_OKAY(tl_pq_dictionary_map(&d, width ? (void *)packed : (void *)values, 5000, false, indices, &mapped));
        assert_int_equal(mapped, 5000);
        uint32_t seen = 0;
        for (int i = 0; i < 5000; i++) {
            assert_true(indices[i] <= seen);
            seen += indices[i] == seen;
            assert_true(tl_bytes_equal(tl_pq_dictionary_value(&d, indices[i]), values[i]));
        }
        assert_int_equal(seen, d.n);
        for (uint32_t i = 0; i < d.n && i < 60; i++) {
            for (uint32_t k = 0; k < i; k++) {
                assert_false(tl_bytes_equal(tl_pq_dictionary_value(&d, i), tl_pq_dictionary_value(&d, k)));
            }
        }
    }
    tl_pq_dictionary_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_values_come_back_at_every_width),
        cmocka_unit_test(a_constant_column_of_levels_is_one_run),
        cmocka_unit_test(known_values_give_known_bytes),
        cmocka_unit_test(runs_and_values_in_any_mixture_come_back),
        cmocka_unit_test(alternating_values_cost_their_bits_and_little_more),
        cmocka_unit_test(differences_of_any_numbers_come_back),
        cmocka_unit_test(regular_times_take_a_byte_or_two_a_block),
        cmocka_unit_test(split_bytes_stand_in_streams),
        cmocka_unit_test(booleans_become_bits),
        cmocka_unit_test(a_dictionary_keeps_first_sight_order_and_tells_bits_apart),
        cmocka_unit_test(a_dictionary_stops_at_its_limits),
        cmocka_unit_test(a_dictionary_finds_every_value_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
