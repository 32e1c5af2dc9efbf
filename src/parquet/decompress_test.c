/* Decompression: what the compressor makes comes back, foreign framings are understood, wrong lengths are refused. */
#include "parquet/testing_internal.h"

#include <lz4.h>
#include <lz4frame.h>
#include <string.h>

#include "base/mem.h"
#include "parquet/codec.h"

static const tl_pq_codec codecs[] = {TL_PQ_UNCOMPRESSED, TL_PQ_SNAPPY, TL_PQ_GZIP,
                                     TL_PQ_BROTLI,       TL_PQ_ZSTD,   TL_PQ_LZ4_RAW};

static void fill(uint8_t *data, size_t n, tl_dice *dice) {
    for (size_t i = 0; i < n; i++) {
        data[i] = (uint8_t)(tl_dice_one_in(dice, 4) ? tl_dice_u64(dice) : i / 50);
    }
}

static void every_codec_gives_back_exactly_what_went_in(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    tl_pq_codec_state s = {0};
    static uint8_t data[70000], out[70001];
    const size_t sizes[] = {1, 2, 100, 4096, 70000};
    fill(data, sizeof data, &dice);
    for (size_t c = 0; c < TL_COUNT(codecs); c++) {
        for (size_t k = 0; k < TL_COUNT(sizes); k++) {
            tl_buf packed = {0};
            TL_OKAY(tl_pq_compress(&s, codecs[c], INT32_MIN, (tl_bytes){data, sizes[k]}, &packed, &err));
            TL_OKAY(tl_pq_decompress(&s, codecs[c], tl_buf_bytes(&packed), out, sizes[k], &err));
            assert_memory_equal(out, data, sizes[k]);
            assert_int_equal(tl_pq_decompress(&s, codecs[c], tl_buf_bytes(&packed), out, sizes[k] + 1, NULL),
                             TL_CORRUPT);
            assert_int_equal(tl_pq_decompress(&s, codecs[c], tl_buf_bytes(&packed), out, sizes[k] - 1, NULL),
                             TL_CORRUPT);
            if (packed.len > 1) {
                tl_bytes cut = {packed.data, packed.len / 2};
                assert_int_equal(tl_pq_decompress(&s, codecs[c], cut, out, sizes[k], NULL), TL_CORRUPT);
            }
            tl_buf_free(&packed);
        }
    }
    tl_pq_codec_state_free(&s);
}

static void damaged_bytes_are_refused_or_give_the_length(void **state) {
    (void)state;
    tl_dice dice = tl_dice_new();
    tl_pq_codec_state s = {0};
    static uint8_t data[3000];
    uint8_t *out = malloc(sizeof data);
    fill(data, sizeof data, &dice);
    for (size_t c = 1; c < TL_COUNT(codecs); c++) {
        tl_buf packed = {0};
        TL_OKAY(tl_pq_compress(&s, codecs[c], INT32_MIN, (tl_bytes){data, sizeof data}, &packed, &err));
        for (int i = 0; i < 500; i++) {
            size_t at = tl_dice_below(&dice, packed.len);
            uint8_t was = packed.data[at];
            packed.data[at] = (uint8_t)tl_dice_u64(&dice);
            tl_status status = tl_pq_decompress(&s, codecs[c], tl_buf_bytes(&packed), out, sizeof data, NULL);
            assert_true(status == TL_OK || status == TL_CORRUPT);
            packed.data[at] = was;
        }
        tl_buf_free(&packed);
    }
    free(out);
    tl_pq_codec_state_free(&s);
}

static void gzip_members_one_after_the_other_are_one_stream(void **state) {
    (void)state;
    tl_pq_codec_state s = {0};
    tl_buf packed = {0};
    uint8_t out[16];
    TL_OKAY(tl_pq_compress(&s, TL_PQ_GZIP, INT32_MIN, tl_bytes_of("hello "), &packed, &err));
    TL_OKAY(tl_pq_compress(&s, TL_PQ_GZIP, INT32_MIN, tl_bytes_of("parquet"), &packed, &err));
    TL_OKAY(tl_pq_decompress(&s, TL_PQ_GZIP, tl_buf_bytes(&packed), out, 13, &err));
    assert_memory_equal(out, "hello parquet", 13);
    assert_int_equal(tl_pq_decompress(&s, TL_PQ_GZIP, tl_buf_bytes(&packed), out, 14, NULL), TL_CORRUPT);
    tl_buf_free(&packed);
    tl_pq_codec_state_free(&s);
}

static void big_endian(uint8_t *p, size_t v) {
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(v >> (24 - 8 * i));
    }
}

/* A block as Hadoop frames it; returns its length. */
static size_t hadoop_block(const char *text, bool with_content_length, size_t content, uint8_t *to) {
    size_t at = 0;
    if (with_content_length) {
        big_endian(to, content);
        at = 4;
    }
    int n = LZ4_compress_default(text, (char *)to + at + 4, (int)strlen(text), 200);
    assert_true(n > 0);
    big_endian(to + at, (size_t)n);
    return at + 4 + (size_t)n;
}

static void lz4_is_read_in_all_three_framings(void **state) {
    (void)state;
    tl_pq_codec_state s = {0};
    uint8_t in[600], out[64];
    /* two Hadoop frames, the first of two blocks */
    size_t n = hadoop_block("one and ", true, 16, in);
    n += hadoop_block("two and ", false, 0, in + n);
    n += hadoop_block("three", true, 5, in + n);
    TL_OKAY(tl_pq_decompress(&s, TL_PQ_LZ4, (tl_bytes){in, n}, out, 21, &err));
    assert_memory_equal(out, "one and two and three", 21);
    assert_int_equal(tl_pq_decompress(&s, TL_PQ_LZ4, (tl_bytes){in, n}, out, 20, NULL), TL_CORRUPT);
    assert_int_equal(tl_pq_decompress(&s, TL_PQ_LZ4, (tl_bytes){in, n - 1}, out, 21, NULL), TL_CORRUPT);
    int raw = LZ4_compress_default("a raw block", (char *)in, 11, sizeof in);
    TL_OKAY(tl_pq_decompress(&s, TL_PQ_LZ4, (tl_bytes){in, (size_t)raw}, out, 11, &err));
    assert_memory_equal(out, "a raw block", 11);
    size_t frame = LZ4F_compressFrame(in, sizeof in, "a whole frame", 13, NULL);
    TL_OKAY(tl_pq_decompress(&s, TL_PQ_LZ4, (tl_bytes){in, frame}, out, 13, &err));
    assert_memory_equal(out, "a whole frame", 13);
}

static void unknown_codecs_are_named(void **state) {
    (void)state;
    tl_pq_codec_state s = {0};
    tl_error err = {{0}};
    uint8_t out[8];
    assert_int_equal(tl_pq_decompress(&s, TL_PQ_LZO, tl_bytes_of("x"), out, 8, &err), TL_UNSUPPORTED);
    assert_non_null(strstr(err.message, "LZO"));
    assert_int_equal(tl_pq_decompress(&s, (tl_pq_codec)99, tl_bytes_of("x"), out, 8, &err), TL_UNSUPPORTED);
    assert_non_null(strstr(err.message, "99"));
}

static void sizes_no_codec_could_reach_are_not_believed(void **state) {
    (void)state;
    tl_pq_codec_state s = {0};
    uint8_t out[1];
    for (size_t c = 1; c < TL_COUNT(codecs); c++) {
        if (codecs[c] != TL_PQ_BROTLI) {
            assert_int_equal(tl_pq_decompress(&s, codecs[c], tl_bytes_of("x"), out, INT32_MAX, NULL), TL_CORRUPT);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_gives_back_exactly_what_went_in),
        cmocka_unit_test(damaged_bytes_are_refused_or_give_the_length),
        cmocka_unit_test(gzip_members_one_after_the_other_are_one_stream),
        cmocka_unit_test(lz4_is_read_in_all_three_framings),
        cmocka_unit_test(unknown_codecs_are_named),
        cmocka_unit_test(sizes_no_codec_could_reach_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
