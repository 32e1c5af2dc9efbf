/* The decoders by hand-made bytes: every bit width against a slow unpacker, runs, levels, deltas, and bytes that lie.
 */
#include "parquet/testing_internal.h"

#include <string.h>

#include "parquet/decode_internal.h"

static tl_pq_budget budget = {.limit = (size_t)1 << 30};

static tl_pq_vector vector_of(tl_pq_type type, int32_t width) {
    return (tl_pq_vector){.type = type, .width = width, .budget = &budget};
}

/* A copy of its exact size, so that the sanitizer sees a read behind the end. */
static tl_bytes exact(const void *data, size_t len) {
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    if (len) {
        memcpy(copy, data, len);
    }
    return (tl_bytes){copy, len};
}

static void drop(tl_bytes b) {
    free((void *)(uintptr_t)b.data);
}

static uint64_t bits_at(const uint8_t *data, size_t bit, unsigned width) {
    uint64_t v = 0;
    for (unsigned k = 0; k < width; k++) {
        v |= (uint64_t)(data[(bit + k) >> 3] >> ((bit + k) & 7) & 1) << k;
    }
    return v;
}

static void unpacking_any_width_and_count_reads_nothing_behind_the_end(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    uint8_t data[8 * 131];
    uint64_t out64[131];
    uint32_t out32[131];
    for (unsigned width = 0; width <= 64; width++) {
        for (size_t n = 0; n <= 131; n += 1 + n / 40 * 7) {
            size_t len = (n * width + 7) / 8;
            for (size_t i = 0; i < len; i++) {
                data[i] = (uint8_t)tl_dice_u64(&dice);
            }
            tl_bytes in = exact(data, len);
            tl_pq_unpack64(in, width, out64, n);
            for (size_t i = 0; i < n; i++) {
                assert_true(out64[i] == bits_at(data, i * width, width));
            }
            if (width <= 32) {
                tl_pq_unpack32(in, width, out32, n);
                for (size_t i = 0; i < n; i++) {
                    assert_int_equal(out32[i], out64[i]);
                }
            }
            drop(in);
        }
    }
}

static void bits_are_copied_and_filled_at_any_offset(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    for (int round = 0; round < 2000; round++) {
        uint8_t from[32], to[32], before[32];
        for (int i = 0; i < 32; i++) {
            from[i] = (uint8_t)tl_dice_u64(&dice);
            before[i] = to[i] = (uint8_t)tl_dice_u64(&dice);
        }
        int64_t n = (int64_t)tl_dice_below(&dice, 120), at = (int64_t)tl_dice_below(&dice, 120);
        int64_t source = (int64_t)tl_dice_below(&dice, 120);
        bool fill = tl_dice_one_in(&dice, 2), value = tl_dice_one_in(&dice, 2);
        fill ? tl_pq_bits_fill(to, at, n, value) : tl_pq_bits_copy(to, at, from, source, n);
        for (int64_t i = 0; i < 256; i++) {
            bool want = i < at || i >= at + n ? tl_bit(before, i) : fill ? value : tl_bit(from, source + i - at);
            assert_int_equal(tl_bit(to, i), want);
        }
    }
}

/* ---- runs and levels ---- */

static void levels_of_runs_and_packed_groups(void **state) {
    (void)state;
    /* five 2s, eight packed (0 1 2 3 repeated), three 1s */
    const uint8_t bytes[] = {5 << 1, 2, 1 << 1 | 1, 0xe4, 0xe4, 3 << 1, 1};
    const uint8_t want[] = {2, 2, 2, 2, 2, 0, 1, 2, 3, 0, 1, 2, 3, 1, 1, 1};
    uint8_t out[16];
    tl_bytes in = exact(bytes, sizeof bytes);
    TL_OKAY(tl_pq_decode_levels(in, TL_PQ_RLE, 3, 16, out, &err));
    assert_memory_equal(out, want, 16);
    assert_int_equal(tl_pq_decode_levels(in, TL_PQ_RLE, 3, 17, out, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_levels(in, TL_PQ_RLE, 2, 16, out, NULL), TL_CORRUPT); /* a 3 where 2 is the most */
    drop(in);
}

static void a_last_group_cut_short_is_read_as_far_as_its_bytes_go(void **state) {
    (void)state;
    const uint8_t bytes[] = {2 << 1 | 1, 0xff}; /* two groups of one bit announced, one byte there */
    uint8_t out[9];
    tl_bytes in = exact(bytes, sizeof bytes);
    TL_OKAY(tl_pq_decode_levels(in, TL_PQ_RLE, 1, 8, out, &err));
    assert_int_equal(tl_pq_decode_levels(in, TL_PQ_RLE, 1, 9, out, NULL), TL_CORRUPT);
    drop(in);
}

static void legacy_bit_packed_levels_have_the_high_bit_first(void **state) {
    (void)state;
    const uint8_t bytes[] = {0x1b, 0x80}; /* 00 01 10 11 | 10 */
    const uint8_t want[] = {0, 1, 2, 3, 2};
    uint8_t out[5];
    tl_bytes in = exact(bytes, sizeof bytes);
    TL_OKAY(tl_pq_decode_levels(in, TL_PQ_BIT_PACKED, 3, 5, out, &err));
    assert_memory_equal(out, want, 5);
    assert_int_equal(tl_pq_decode_levels(in, TL_PQ_BIT_PACKED, 2, 5, out, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_levels((tl_bytes){in.data, 1}, TL_PQ_BIT_PACKED, 3, 5, out, NULL), TL_CORRUPT);
    drop(in);
}

static void groups_without_bits_are_one_run_of_zeros(void **state) {
    (void)state;
    const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0x0f};
    tl_pq_rle rle = {bytes, bytes + sizeof bytes, 0};
    tl_pq_run run;
    assert_true(tl_pq_rle_next(&rle, INT64_C(1) << 40, &run));
    assert_false(run.packed);
    assert_int_equal(run.value, 0);
    assert_true(run.count == ((INT64_C(1) << 32) - 1) / 2 * 8);
    assert_false(tl_pq_rle_next(&rle, 1, &run));
}

static void validity_goes_straight_into_bits(void **state) {
    (void)state;
    tl_pq_vector v = vector_of(TL_PQ_INT32, 4);
    const uint8_t ones[] = {11 << 1, 1}, mixed[] = {3 << 1, 1, 1 << 1 | 1, 0x05, 2 << 1, 0};
    int64_t present;
    TL_OKAY(tl_pq_vector_reserve(&v, 40, &err));
    TL_OKAY(tl_pq_decode_validity((tl_bytes){ones, sizeof ones}, 11, &v, &present, &err));
    assert_int_equal(present, 11);
    assert_false(v.has_validity);
    v.n = 11;
    TL_OKAY(tl_pq_decode_validity((tl_bytes){mixed, sizeof mixed}, 13, &v, &present, &err));
    assert_int_equal(present, 5);
    assert_true(v.has_validity);
    const char *want = "11111111111"
                       "111"
                       "10100000"
                       "00";
    for (int i = 0; i < 24; i++) {
        assert_int_equal(tl_bit(v.validity, i), want[i] == '1');
    }
    const uint8_t two[] = {3 << 1, 2};
    assert_int_equal(tl_pq_decode_validity((tl_bytes){two, sizeof two}, 3, &v, &present, NULL), TL_CORRUPT);
    tl_pq_vector_free(&v);
}

static void nulls_spread_dense_values_of_any_width(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    const int32_t widths[] = {1, 4, 8, 12, 5};
    for (int round = 0; round < 500; round++) {
        int32_t width = widths[round % 5];
        tl_pq_vector v = vector_of(TL_PQ_FIXED, width);
        int64_t slots = (int64_t)tl_dice_below(&dice, 60), present = 0, skip = (int64_t)tl_dice_below(&dice, 9);
        TL_OKAY(tl_pq_vector_reserve(&v, slots + skip, &err));
        v.n = skip;
        TL_OKAY(tl_pq_vector_need_validity(&v, &err));
        for (int64_t i = 0; i < slots; i++) {
            bool valid = tl_dice_below(&dice, 4) > 0;
            valid ? tl_bit_set(v.validity, skip + i) : tl_bit_clear(v.validity, skip + i);
            present += valid;
        }
        for (int64_t i = 0; i < present * width; i++) {
            v.values[skip * width + i] = (uint8_t)(1 + i / width);
        }
        tl_pq_vector_spread(&v, present, slots);
        for (int64_t i = 0, k = 0; i < slots; i++) {
            k += tl_bit(v.validity, skip + i);
            for (int32_t b = 0; b < width; b++) {
                assert_int_equal(v.values[(skip + i) * width + b], tl_bit(v.validity, skip + i) ? (uint8_t)k : 0);
            }
        }
        tl_pq_vector_free(&v);
    }
}

/* ---- values ---- */

static void dictionary_indices_are_checked(void **state) {
    (void)state;
    tl_pq_vector dict = vector_of(TL_PQ_INT32, 4), v = vector_of(TL_PQ_INT32, 4);
    const int32_t values[] = {10, 20, 30};
    TL_OKAY(tl_pq_vector_reserve(&dict, 3, &err));
    TL_OKAY(tl_pq_decode_plain((tl_bytes){(const uint8_t *)values, sizeof values}, 3, &dict, &err));
    dict.n = 3;
    TL_OKAY(tl_pq_vector_reserve(&v, 16, &err));
    const uint8_t good[] = {2, 2 << 1, 1, 1 << 1 | 1, 0x24, 0x09}; /* 20 20, then 0 1 2 0 1 2 0 0 */
    const uint8_t run_over[] = {2, 2 << 1, 3}, packed_over[] = {2, 3, 0xff, 0xff}, wide[] = {33, 2, 0},
                  short_[] = {2, 4};
    TL_OKAY(tl_pq_decode_dictionary((tl_bytes){good, sizeof good}, 10, &dict, &v, &err));
    const int32_t want[] = {20, 20, 10, 20, 30, 10, 20, 30, 10, 10};
    assert_memory_equal(v.values, want, sizeof want);
    assert_int_equal(tl_pq_decode_dictionary((tl_bytes){run_over, 3}, 2, &dict, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_dictionary((tl_bytes){packed_over, 4}, 8, &dict, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_dictionary((tl_bytes){wide, 3}, 1, &dict, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_dictionary((tl_bytes){short_, 2}, 2, &dict, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_dictionary((tl_bytes){good, 0}, 1, &dict, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_values(TL_PQ_RLE_DICTIONARY, (tl_bytes){good, 6}, 2, NULL, &v, NULL, NULL),
                     TL_CORRUPT);
    const uint8_t huge[] = {32, 2, 0xff, 0xff, 0xff, 0xff, 3, 0xff, 0xff, 0xff, 0xff};
    assert_int_equal(tl_pq_decode_dictionary((tl_bytes){huge, 6}, 1, &dict, &v, NULL), TL_CORRUPT);
    tl_pq_vector_free(&dict);
    tl_pq_vector_free(&v);
}

static void plain_texts_that_reach_behind_the_page_are_refused(void **state) {
    (void)state;
    tl_pq_vector v = vector_of(TL_PQ_BYTE_ARRAY, 0);
    TL_OKAY(tl_pq_vector_reserve(&v, 4, &err));
    const uint8_t good[] = {3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0}, over[] = {4, 0, 0, 0, 'a', 'b', 'c'};
    const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 'a'};
    tl_bytes in = exact(good, sizeof good);
    TL_OKAY(tl_pq_decode_plain(in, 2, &v, &err));
    assert_int_equal(v.offsets[1], 3);
    assert_int_equal(v.offsets[2], 3);
    assert_memory_equal(v.data, "abc", 3);
    assert_int_equal(tl_pq_decode_plain(in, 3, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_plain((tl_bytes){over, sizeof over}, 1, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_plain((tl_bytes){huge, sizeof huge}, 1, &v, NULL), TL_CORRUPT);
    /* one text that takes the bytes of those that should follow it: must not overrun what was reserved for all */
    uint8_t greedy[4 * 500] = {0};
    tl_pq_vector many = vector_of(TL_PQ_BYTE_ARRAY, 0);
    tl_store_u32(greedy, sizeof greedy - 4);
    TL_OKAY(tl_pq_vector_reserve(&many, 500, &err));
    assert_int_equal(tl_pq_decode_plain((tl_bytes){greedy, sizeof greedy}, 500, &many, NULL), TL_CORRUPT);
    tl_pq_vector_free(&many);
    drop(in);
    tl_pq_vector_free(&v);
}

static void delta_headers_that_make_no_sense_are_refused(void **state) {
    (void)state;
    tl_pq_vector v = vector_of(TL_PQ_INT64, 8), narrow = vector_of(TL_PQ_INT32, 4);
    TL_OKAY(tl_pq_vector_reserve(&v, 300, &err));
    TL_OKAY(tl_pq_vector_reserve(&narrow, 300, &err));
    const uint8_t one[] = {0x80, 1, 4, 1, 13};                    /* block 128, 4 miniblocks, 1 value: -7 */
    const uint8_t constant[] = {0x80, 1, 4, 5, 2, 4, 0, 0, 0, 0}; /* 1, then four steps of 2 in no bits at all */
    const uint8_t no_minis[] = {0x80, 1, 0, 1, 2}, odd_block[] = {0x81, 1, 4, 1, 2}, zero[] = {0, 4, 1, 2};
    const uint8_t short_[] = {0x80, 1, 4, 2, 2, 0, 1, 0, 0, 0}, wide[] = {0x80, 1, 4, 2, 2, 0, 65, 0, 0, 0, 9, 9, 9, 9};
    const uint8_t wide32[] = {0x80, 1, 4, 2, 2, 0, 33, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9};
    TL_OKAY(tl_pq_decode_delta((tl_bytes){one, sizeof one}, 1, &v, &err));
    assert_int_equal(tl_load_i64(v.values), -7);
    TL_OKAY(tl_pq_decode_delta((tl_bytes){constant, sizeof constant}, 5, &v, &err));
    assert_int_equal(tl_load_i64(v.values + 32), 9);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){constant, sizeof constant}, 6, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){constant, sizeof constant}, 4, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){no_minis, sizeof no_minis}, 1, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){odd_block, sizeof odd_block}, 1, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){zero, sizeof zero}, 1, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){short_, sizeof short_}, 2, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){wide, sizeof wide}, 2, &v, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta((tl_bytes){wide32, sizeof wide32}, 2, &narrow, NULL), TL_CORRUPT);
    for (size_t n = 0; n < sizeof constant; n++) {
        assert_int_equal(tl_pq_decode_delta((tl_bytes){constant, n}, 5, &v, NULL), TL_CORRUPT);
    }
    tl_pq_vector_free(&v);
    tl_pq_vector_free(&narrow);
}

static void prefixes_longer_than_the_text_before_are_refused(void **state) {
    (void)state;
    tl_pq_scratch scratch = {0};
    tl_pq_vector v = vector_of(TL_PQ_BYTE_ARRAY, 0);
    TL_OKAY(tl_pq_vector_reserve(&v, 4, &err));
    /* prefixes 0, 2; suffixes "abc", "d" */
    const uint8_t good[] = {0x80, 1, 4, 2, 0, 4, 0, 0, 0, 0, 0x80, 1, 4, 2, 6, 3, 0, 0, 0, 0, 'a', 'b', 'c', 'd'};
    uint8_t over[sizeof good];
    TL_OKAY(tl_pq_decode_delta_text((tl_bytes){good, sizeof good}, 2, &v, &scratch, &err));
    assert_int_equal(v.offsets[2], 6);
    assert_memory_equal(v.data, "abcabd", 6);
    memcpy(over, good, sizeof good);
    over[5] = 8; /* a prefix of 4 after "abc" */
    assert_int_equal(tl_pq_decode_delta_text((tl_bytes){over, sizeof over}, 2, &v, &scratch, NULL), TL_CORRUPT);
    over[5] = 1; /* a prefix of -1 */
    assert_int_equal(tl_pq_decode_delta_text((tl_bytes){over, sizeof over}, 2, &v, &scratch, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decode_delta_text((tl_bytes){good, sizeof good - 1}, 2, &v, &scratch, NULL), TL_CORRUPT);
    tl_pq_scratch_free(&scratch);
    tl_pq_vector_free(&v);
}

static void streams_join_for_any_width_and_count(void **state) {
    (void)state;
    const int32_t widths[] = {4, 8, 2, 16, 3};
    for (size_t w = 0; w < TL_COUNT(widths); w++) {
        size_t width = (size_t)widths[w];
        for (size_t n = 0; n < 70; n++) {
            uint8_t streams[70 * 16];
            for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < width; k++) {
                    streams[k * n + i] = (uint8_t)(i * 7 + k * 31);
                }
            }
            tl_pq_vector v = vector_of(TL_PQ_FIXED, widths[w]);
            TL_OKAY(tl_pq_vector_reserve(&v, (int64_t)n, &err));
            tl_bytes in = exact(streams, n * width);
            TL_OKAY(tl_pq_decode_split(in, (int64_t)n, &v, &err));
            for (size_t i = 0; i < n * width; i++) {
                assert_int_equal(v.values[i], (uint8_t)(i / width * 7 + i % width * 31));
            }
            assert_int_equal(tl_pq_decode_split(in, (int64_t)n + 1, &v, NULL), TL_CORRUPT);
            drop(in);
            tl_pq_vector_free(&v);
        }
    }
}

static void a_vector_refuses_to_grow_over_its_budget(void **state) {
    (void)state;
    tl_pq_budget small = {.limit = 1000};
    tl_pq_vector v = {.type = TL_PQ_INT64, .width = 8, .budget = &small};
    TL_OKAY(tl_pq_vector_reserve(&v, 100, &err));
    v.n = 100;
    assert_int_equal(tl_pq_vector_reserve(&v, 100, NULL), TL_NO_MEMORY);
    assert_int_equal(tl_pq_vector_reserve(&v, INT64_MAX, NULL), TL_CORRUPT);
    tl_pq_vector_free(&v);
    assert_int_equal(small.used, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_any_width_and_count_reads_nothing_behind_the_end),
        cmocka_unit_test(bits_are_copied_and_filled_at_any_offset),
        cmocka_unit_test(levels_of_runs_and_packed_groups),
        cmocka_unit_test(a_last_group_cut_short_is_read_as_far_as_its_bytes_go),
        cmocka_unit_test(legacy_bit_packed_levels_have_the_high_bit_first),
        cmocka_unit_test(groups_without_bits_are_one_run_of_zeros),
        cmocka_unit_test(validity_goes_straight_into_bits),
        cmocka_unit_test(nulls_spread_dense_values_of_any_width),
        cmocka_unit_test(dictionary_indices_are_checked),
        cmocka_unit_test(plain_texts_that_reach_behind_the_page_are_refused),
        cmocka_unit_test(delta_headers_that_make_no_sense_are_refused),
        cmocka_unit_test(prefixes_longer_than_the_text_before_are_refused),
        cmocka_unit_test(streams_join_for_any_width_and_count),
        cmocka_unit_test(a_vector_refuses_to_grow_over_its_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
