/* Tests of streams and of Arrow IPC in and out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "arrow/stream.h"
#include "arrow/testing.h"
#include "arrow/view.h"
#include "base/mem.h"

static tl_error err;

/* A table of an int32, a string and a list column, `rows` rows. */
static void make_table(struct ArrowSchema *s, struct ArrowArray *a, int64_t rows) {
    static const char *const words[] = {"alpha", NULL, "gamma ray", ""};
    const char **texts = test_memory((size_t)rows * sizeof *texts);
    int32_t *ints = test_memory((size_t)rows * 4), *offsets = test_memory((size_t)(rows + 1) * 4);
    for (int64_t i = 0; i < rows; i++) {
        texts[i] = words[i % 4];
        ints[i] = (int32_t)i * 7;
        offsets[i] = (int32_t)i;
    }
    offsets[rows] = (int32_t)rows;
    test_table(s, a, 3, rows);
    test_fixed(s->children[0], a->children[0], "i", "i", ints, 4, rows);
    test_strings(s->children[1], a->children[1], "s", texts, rows);
    test_schema(s->children[2], "+l", "l", 1);
    test_array(a->children[2], rows, 2, 1);
    test_fill(a->children[2], 1, offsets, (size_t)(rows + 1) * 4);
    test_fixed(s->children[2]->children[0], a->children[2]->children[0], "item", "i", ints, 4, rows);
    free(texts);
    free(ints);
    free(offsets);
}

static void make_stream(struct ArrowArrayStream *out, int batches, int64_t rows) {
    struct ArrowSchema s = {0};
    struct ArrowArray arrays[4];
    for (int i = 0; i < batches; i++) {
        if (s.release) {
            s.release(&s);
        }
        make_table(&s, &arrays[i], rows + i);
    }
    assert_int_equal(tl_stream_of_arrays(&s, arrays, batches, out, &err), TL_OK);
    s.release(&s);
}

/* Opens every column of a batch the way a consumer does; the sum of the ints. TL_INVALID when a column is broken. */
static tl_status add_up(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t *sum) {
    tl_arena arena = {0};
    tl_arrow_type type;
    tl_view v;
    tl_status status = tl_arrow_type_import(s, &arena, &type, &err);
    status = status == TL_OK ? tl_view_open(&type, a, 0, a->length, (tl_bits){0}, &v, &err) : status;
    for (int64_t i = 0; status == TL_OK && i < type.n_children; i++) {
        status = tl_view_open(&type.children[i], a->children[i], v.first, v.length, (tl_bits){0}, &v, &err);
        if (status == TL_OK && type.children[i].id == TL_ARROW_INT32) {
            for (int64_t k = 0; k < v.length; k++) {
                *sum += tl_bits_at(v.validity, k) ? tl_view_int(&v, k) : 0;
            }
        }
        if (status == TL_OK && type.children[i].id == TL_ARROW_STRING) {
            for (int64_t k = 0; k < v.length; k++) {
                tl_bytes b = tl_bits_at(v.validity, k) ? tl_view_bytes(&v, k) : (tl_bytes){0};
                for (size_t n = 0; n < b.len; n++) {
                    *sum += b.data[n] == 'g';
                }
            }
        }
    }
    tl_arena_free(&arena);
    return status;
}

static tl_status drain(struct ArrowArrayStream *stream, int64_t *rows, int64_t *sum) {
    struct ArrowSchema s;
    *rows = *sum = 0;
    tl_status status = tl_stream_schema(stream, &s, &err);
    if (status != TL_OK) {
        return status;
    }
    for (;;) {
        struct ArrowArray a;
        status = tl_stream_next(stream, &a, &err);
        if (status != TL_OK || !a.release) {
            break;
        }
        *rows += a.length;
        status = add_up(&s, &a, sum);
        a.release(&a);
        if (status != TL_OK) {
            break;
        }
    }
    s.release(&s);
    return status;
}

static void arrays_come_out_in_order_and_are_released_once(void **state) {
    struct ArrowArrayStream stream;
    int before = test_array_releases;
    make_stream(&stream, 3, 10);
    int64_t rows, sum;
    assert_int_equal(drain(&stream, &rows, &sum), TL_OK);
    assert_int_equal(rows, 33);
    assert_int_equal(test_array_releases - before, 3);
    stream.release(&stream);
    assert_int_equal(test_array_releases - before, 3);

    make_stream(&stream, 3, 10); /* released unread */
    stream.release(&stream);
    assert_int_equal(test_array_releases - before, 6);
    assert_int_equal(drain(&stream, &rows, &sum), TL_INVALID);
}

static void statuses_survive_the_stream_interface(void **state) {
    static const tl_status all[] = {TL_INVALID, TL_NOT_FOUND, TL_EXISTS,      TL_CONFLICT,  TL_UNKNOWN,   TL_FULL,
                                    TL_IO,      TL_CORRUPT,   TL_UNSUPPORTED, TL_NO_MEMORY, TL_CANCELLED, TL_INTERNAL};
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        struct ArrowArrayStream stream;
        assert_int_equal(tl_stream_of_error(all[i], "line 7: no such thing", &stream, &err), TL_OK);
        struct ArrowSchema s;
        struct ArrowArray a;
        assert_int_equal(tl_stream_schema(&stream, &s, &err), all[i]);
        assert_string_equal(err.message, "line 7: no such thing");
        assert_int_equal(tl_stream_next(&stream, &a, &err), all[i]);
        assert_null(s.release);
        assert_null(a.release);
        stream.release(&stream);
    }
}

/* A stream as IPC bytes. */
static uint8_t *as_bytes(bool as_file, size_t *len) {
    struct ArrowArrayStream stream;
    make_stream(&stream, 2, 20);
    FILE *f = tmpfile();
    assert_non_null(f);
    if (tl_ipc_write(&stream, f, as_file, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    stream.release(&stream);
    *len = (size_t)ftell(f);
    uint8_t *bytes = test_memory(*len);
    rewind(f);
    assert_int_equal(fread(bytes, 1, *len, f), *len);
    fclose(f);
    return bytes;
}

static tl_status read_bytes(const uint8_t *bytes, size_t len, int64_t *rows, int64_t *sum) {
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    rewind(f);
    struct ArrowArrayStream stream;
    tl_status status = tl_ipc_read(f, true, &stream, &err);
    if (status == TL_OK) {
        status = drain(&stream, rows, sum);
        stream.release(&stream);
        assert_null(stream.release);
    }
    return status;
}

static void ipc_written_is_ipc_read(void **state) {
    for (int as_file = 0; as_file < 2; as_file++) {
        size_t len;
        uint8_t *bytes = as_bytes(as_file, &len);
        assert_int_equal(memcmp(bytes, "ARROW1", 6) == 0, as_file);
        int64_t rows, sum;
        if (read_bytes(bytes, len, &rows, &sum) != TL_OK) {
            fail_msg("%s", err.message);
        }
        assert_int_equal(rows, 41);
        /* 7 * (0 + .. + 19) + 7 * (0 + .. + 20), and a 'g' in every fourth text */
        assert_int_equal(sum, 7 * 190 + 7 * 210 + 10);
        free(bytes);
    }
}

static void files_through_a_pipe_are_read_forward(void **state) {
    size_t len;
    uint8_t *bytes = as_bytes(true, &len);
    int ends[2]; /* a pipe holds 64 KiB without a reader, more than this file has */
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, len), (ssize_t)len);
    close(ends[1]);
    struct ArrowArrayStream stream;
    int64_t rows, sum;
    assert_int_equal(tl_ipc_read(fdopen(ends[0], "rb"), true, &stream, &err), TL_OK);
    assert_int_equal(drain(&stream, &rows, &sum), TL_OK);
    assert_int_equal(rows, 41);
    stream.release(&stream);
    free(bytes);
}

static void input_cut_anywhere_is_an_error_or_an_early_end(void **state) {
    for (int as_file = 0; as_file < 2; as_file++) {
        size_t len;
        uint8_t *bytes = as_bytes(as_file, &len);
        for (size_t cut = 0; cut < len; cut += cut % 64 < 9 ? 1 : 11) {
            int64_t rows = 0, sum;
            tl_status status = read_bytes(bytes, cut, &rows, &sum);
            if (as_file || cut < 8) {
                assert_int_equal(status, TL_INVALID);
            } else if (status == TL_OK) { /* a stream may end between two messages */
                assert_true(rows == 0 || rows == 20 || rows == 41);
                assert_int_equal(cut % 8, 0);
            } else {
                assert_int_equal(status, TL_INVALID);
            }
        }
        free(bytes);
    }
}

static void changed_bytes_never_lead_out_of_the_message(void **state) {
    uint64_t dice = 99;
    for (int round = 0; round < 3000; round++) {
        static uint8_t *bytes[2];
        static size_t len[2];
        int as_file = round & 1;
        if (!bytes[as_file]) {
            bytes[as_file] = as_bytes(as_file, &len[as_file]);
        }
        uint8_t *copy = test_memory(len[as_file]);
        memcpy(copy, bytes[as_file], len[as_file]);
        for (int k = 0; k < 1 + round % 4; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 4, 0x10};
            copy[(dice >> 20) % len[as_file]] = values[(dice >> 50) % TL_COUNT(values)];
        }
        int64_t rows, sum;
        tl_status status = read_bytes(copy, len[as_file], &rows, &sum);
        assert_true(status == TL_OK || status == TL_INVALID || status == TL_UNSUPPORTED || status == TL_NO_MEMORY);
        free(copy);
        if (round >= 2998) {
            free(bytes[as_file]);
            bytes[as_file] = NULL;
        }
    }
}

static void inputs_that_are_no_arrow_are_named_so(void **state) {
    static const struct {
        const char *bytes, *message;
    } cases[] = {{"", "the Arrow input is empty"},
                 {"time,value\n1,2\n", "the input is no Arrow IPC stream or file"},
                 {"PAR1....PAR1", "the input is no Arrow IPC stream or file"},
                 {"ARROW1\1\1 and then nothing of use", "the Arrow file is cut short: it has no footer"}};
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        int64_t rows, sum;
        assert_int_equal(read_bytes((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes), &rows, &sum), TL_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void failed_allocations_leak_nothing(void **state) {
    size_t len;
    uint8_t *bytes = as_bytes(false, &len);
    int failures = 0;
    for (uint64_t n = 1;; n++) {
        int64_t rows, sum;
        tl_mem_fail_at(n);
        tl_status status = read_bytes(bytes, len, &rows, &sum);
        tl_mem_fail_at(0);
        if (status == TL_OK) {
            break;
        }
        assert_int_equal(status, TL_NO_MEMORY);
        failures++;
        assert_true(n < 2000);
    }
    assert_true(failures > 20);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_come_out_in_order_and_are_released_once),
        cmocka_unit_test(statuses_survive_the_stream_interface),
        cmocka_unit_test(ipc_written_is_ipc_read),
        cmocka_unit_test(files_through_a_pipe_are_read_forward),
        cmocka_unit_test(input_cut_anywhere_is_an_error_or_an_early_end),
        cmocka_unit_test(changed_bytes_never_lead_out_of_the_message),
        cmocka_unit_test(inputs_that_are_no_arrow_are_named_so),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
