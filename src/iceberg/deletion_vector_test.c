/* Deletion vectors: blobs made by hand, damaged ones, large ones. */
#include <zlib.h>

#include "iceberg/testing_internal.h"

static void put_u16(tl_buf *b, uint32_t v) {
    uint8_t p[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
    assert_int_equal(tl_buf_add(b, p, 2), TL_OK);
}

static void put_u32(tl_buf *b, uint32_t v) {
    assert_int_equal(tl_buf_add(b, &v, 4), TL_OK);
}

static void put_big(tl_buf *b, uint32_t v) {
    uint8_t p[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    assert_int_equal(tl_buf_add(b, p, 4), TL_OK);
}

/* Frame around a 64-bit bitmap. Caller frees. */
static tl_buf frame(const tl_buf *bitmap) {
    tl_buf out = {0};
    put_big(&out, (uint32_t)bitmap->len + 4);
    assert_int_equal(tl_buf_add(&out, "\xd1\xd3\x39\x64", 4), TL_OK);
    assert_int_equal(tl_buf_add(&out, bitmap->data, bitmap->len), TL_OK);
    put_big(&out, (uint32_t)crc32(0, out.data + 4, (uInt)(out.len - 4)));
    return out;
}

static void put_bitmaps(tl_buf *b, uint64_t n) {
    assert_int_equal(tl_buf_add(b, &n, 8), TL_OK);
}

/* One 32-bit bitmap of the upper half `high` with an array container under `key`. */
static void put_array(tl_buf *b, uint32_t high, uint32_t key, const uint32_t *values, uint32_t n) {
    put_u32(b, high);
    put_u32(b, 12346);
    put_u32(b, 1);
    put_u16(b, key);
    put_u16(b, n - 1);
    put_u32(b, 16); /* offset */
    for (uint32_t i = 0; i < n; i++) {
        put_u16(b, values[i]);
    }
}

static tl_status parse(const tl_buf *blob, tl_arena *a, uint64_t **positions, int64_t *n, tl_error *err) {
    /* In memory of its own size, so that the sanitizer sees a read past the end. */
    uint8_t *copy = tl_alloc(blob->len);
    memcpy(copy, blob->data, blob->len);
    tl_status status = tl_deletion_vector_parse((tl_bytes){copy, blob->len}, a, positions, n, err);
    tl_free(copy);
    return status;
}

static void arrays_in_two_halves_are_read(void **state) {
    tl_buf b = {0};
    const uint32_t low[] = {0, 5, 65535}, high[] = {7};
    put_bitmaps(&b, 2);
    put_array(&b, 0, 1, low, 3);
    put_array(&b, 2, 0, high, 1);
    tl_buf blob = frame(&b);
    tl_arena a = {0};
    uint64_t *p;
    int64_t n;
    assert_int_equal(parse(&blob, &a, &p, &n, NULL), TL_OK);
    const uint64_t wanted[] = {65536, 65541, 131071, 2ULL << 32 | 7};
    assert_int_equal(n, 4);
    assert_memory_equal(p, wanted, sizeof wanted);
    tl_buf_free(&b);
    tl_buf_free(&blob);
    tl_arena_free(&a);
}

/* Four containers with runs (then there are offsets): a run, an array, a bitset, a full run. */
static tl_buf mixed(void) {
    tl_buf b = {0};
    put_bitmaps(&b, 1);
    put_u32(&b, 0);
    put_u32(&b, 12347 | 3u << 16);
    assert_int_equal(tl_buf_add_byte(&b, 0x09), TL_OK); /* containers 0 and 3 are runs */
    const uint32_t cards[] = {12, 2, 5000, 65536};
    for (uint32_t i = 0; i < 4; i++) {
        put_u16(&b, i * 2);
        put_u16(&b, cards[i] - 1);
    }
    for (uint32_t i = 0; i < 4; i++) {
        put_u32(&b, 0);
    }
    put_u16(&b, 2); /* 10..19, 100..101 */
    put_u16(&b, 10);
    put_u16(&b, 9);
    put_u16(&b, 100);
    put_u16(&b, 1);
    put_u16(&b, 1);
    put_u16(&b, 65535);
    uint8_t bits[8192] = {0};
    for (int64_t i = 0; i < 5000; i++) {
        tl_bit_set(bits, i * 13);
    }
    assert_int_equal(tl_buf_add(&b, bits, sizeof bits), TL_OK);
    put_u16(&b, 1);
    put_u16(&b, 0);
    put_u16(&b, 65535);
    tl_buf blob = frame(&b);
    tl_buf_free(&b);
    return blob;
}

static void runs_arrays_and_bitsets_mix(void **state) {
    tl_buf blob = mixed();
    tl_arena a = {0};
    uint64_t *p;
    int64_t n;
    assert_int_equal(parse(&blob, &a, &p, &n, NULL), TL_OK);
    assert_int_equal(n, 12 + 2 + 5000 + 65536);
    assert_int_equal(p[9], 19);
    assert_int_equal(p[11], 101);
    assert_int_equal(p[12], 2 * 65536 + 1);
    assert_int_equal(p[14], 4 * 65536);
    assert_int_equal(p[14 + 4999], 4 * 65536 + 13 * 4999);
    assert_int_equal(p[14 + 5000], 6 * 65536);
    assert_int_equal(p[n - 1], 6 * 65536 + 65535);
    tl_buf_free(&blob);
    tl_arena_free(&a);
}

static void an_empty_vector_is_fine(void **state) {
    tl_buf b = {0};
    put_bitmaps(&b, 0);
    tl_buf blob = frame(&b);
    tl_arena a = {0};
    uint64_t *p;
    int64_t n;
    assert_int_equal(parse(&blob, &a, &p, &n, NULL), TL_OK);
    assert_int_equal(n, 0);
    tl_buf_free(&b);
    tl_buf_free(&blob);
    tl_arena_free(&a);
}

static void assert_refused(const tl_buf *bitmap, tl_status wanted, const char *message) {
    tl_buf blob = frame(bitmap);
    tl_arena a = {0};
    uint64_t *p;
    int64_t n;
    tl_error err = {{0}};
    assert_int_equal(parse(&blob, &a, &p, &n, &err), wanted);
    assert_string_equal(err.message, message);
    tl_buf_free(&blob);
    tl_arena_free(&a);
}

static void faults_are_named(void **state) {
    tl_buf b = {0};
    const uint32_t unsorted[] = {5, 4}, one[] = {1};
    put_bitmaps(&b, 1);
    put_array(&b, 0, 0, unsorted, 2);
    assert_refused(&b, TL_CORRUPT, "deletion vector: positions are not ascending");
    b.len = 0;
    put_bitmaps(&b, 2);
    put_array(&b, 1, 0, one, 1);
    put_array(&b, 0, 0, one, 1);
    assert_refused(&b, TL_CORRUPT, "deletion vector: positions are not ascending");
    b.len = 0;
    put_bitmaps(&b, 1);
    put_array(&b, 0x80000000u, 0, one, 1);
    assert_refused(&b, TL_CORRUPT, "deletion vector: a position is beyond 63 bits");
    b.len = 0;
    put_bitmaps(&b, UINT64_MAX);
    assert_refused(&b, TL_CORRUPT, "deletion vector: it claims more bitmaps than its bytes can hold");
    b.len = 0;
    put_bitmaps(&b, 1);
    put_u32(&b, 0);
    put_u32(&b, 999);
    assert_refused(&b, TL_CORRUPT, "deletion vector: it is not a Roaring bitmap");
    b.len = 0;
    put_bitmaps(&b, 1);
    put_u32(&b, 0);
    put_u32(&b, 12347); /* one container, a run that leaves it */
    assert_int_equal(tl_buf_add_byte(&b, 1), TL_OK);
    put_u16(&b, 0);
    put_u16(&b, 9);
    put_u16(&b, 1);
    put_u16(&b, 65530);
    put_u16(&b, 9);
    assert_refused(&b, TL_CORRUPT, "deletion vector: a run leaves its container");
    b.len = 0;
    put_bitmaps(&b, 1);
    put_array(&b, 0, 0, one, 1);
    put_u16(&b, 0);
    assert_refused(&b, TL_CORRUPT, "deletion vector: bytes follow the bitmap");
    tl_buf_free(&b);
}

static void the_frame_is_checked(void **state) {
    tl_buf blob = mixed();
    tl_arena a = {0};
    uint64_t *p;
    int64_t n;
    for (size_t len = 0; len < blob.len; len += len < 64 ? 1 : 97) {
        tl_buf cut = {.data = blob.data, .len = len, .cap = len};
        assert_int_equal(parse(&cut, &a, &p, &n, NULL), TL_CORRUPT);
    }
    for (size_t at = 0; at < 64; at++) {
        blob.data[at] ^= 0x10;
        assert_int_equal(parse(&blob, &a, &p, &n, NULL), TL_CORRUPT);
        blob.data[at] ^= 0x10;
    }
    tl_buf_free(&blob);
    tl_arena_free(&a);
}

/* With a right checksum over damaged bytes the walk itself must hold. */
static void damaged_bitmaps_never_crash(void **state) {
    dice d = dice_make(__func__);
    tl_buf good = mixed();
    for (int i = 0; i < 1500; i++) {
        tl_bytes bad = damage(&d, (tl_bytes){good.data + 8, good.len - 12});
        tl_buf bitmap = {0};
        assert_int_equal(tl_buf_add(&bitmap, bad.data, bad.len), TL_OK);
        tl_buf blob = frame(&bitmap);
        tl_arena a = {0};
        uint64_t *p;
        int64_t n;
        tl_status status = parse(&blob, &a, &p, &n, NULL);
        assert_true(status == TL_OK || status == TL_CORRUPT);
        tl_free((void *)(uintptr_t)bad.data);
        tl_buf_free(&bitmap);
        tl_buf_free(&blob);
        tl_arena_free(&a);
    }
    tl_buf_free(&good);
}

static void more_positions_than_fit_are_refused_before_memory_is_taken(void **state) {
    /* 2,100 full containers in 30 kB stand for 137 million positions. */
    tl_buf b = {0};
    const uint32_t containers = 2100;
    put_bitmaps(&b, 1);
    put_u32(&b, 0);
    put_u32(&b, 12347 | (containers - 1) << 16);
    for (uint32_t i = 0; i < (containers + 7) / 8; i++) {
        assert_int_equal(tl_buf_add_byte(&b, 0xff), TL_OK);
    }
    for (uint32_t i = 0; i < containers; i++) {
        put_u16(&b, i);
        put_u16(&b, 65535);
    }
    for (uint32_t i = 0; i < containers; i++) {
        put_u32(&b, 0);
    }
    for (uint32_t i = 0; i < containers; i++) {
        put_u16(&b, 1);
        put_u16(&b, 0);
        put_u16(&b, 65535);
    }
    assert_refused(&b, TL_UNSUPPORTED, "deletion vector of more than 134217728 positions");
    tl_buf_free(&b);
}

static tl_status read_mixed(void *ctx, tl_error *err) {
    tl_buf *blob = ctx;
    tl_arena a = {0};
    uint64_t *p;
    int64_t n;
    tl_status status = tl_deletion_vector_parse(tl_buf_bytes(blob), &a, &p, &n, err);
    tl_arena_free(&a);
    return status;
}

static void failing_allocations_are_reported(void **state) {
    tl_buf blob = mixed();
    every_allocation_fails_once(read_mixed, &blob);
    tl_buf_free(&blob);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_in_two_halves_are_read),
        cmocka_unit_test(runs_arrays_and_bitsets_mix),
        cmocka_unit_test(an_empty_vector_is_fine),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(the_frame_is_checked),
        cmocka_unit_test(damaged_bitmaps_never_crash),
        cmocka_unit_test(more_positions_than_fit_are_refused_before_memory_is_taken),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
