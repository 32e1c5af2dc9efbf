/* Tests of the text inputs: CSV and NDJSON from files in a temporary folder. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/guess.h"
#include "cli/input.h"

static char folder[] = "/tmp/timelake-input-XXXXXX";

static char *write_file(const char *name, const void *data, size_t len) {
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* All rows of an input as "a|b\n", nulls as "-"; `batch` = most rows of a batch. */
static tl_status dump(tl_input *in, int64_t batch, char *out, size_t size, tl_error *err) {
    size_t n = 0;
    out[0] = 0;
    for (;;) {
        struct ArrowArray a;
        tl_status status = tl_input_next(in, batch, &a, err);
        if (status != TL_OK || !a.release) {
            return status;
        }
        assert_true(batch == 0 || a.length <= batch);
        for (int64_t row = 0; row < a.length; row++) {
            for (int64_t c = 0; c < a.n_children; c++) {
                const struct ArrowArray *child = a.children[c];
                const uint8_t *validity = child->buffers[0];
                const int32_t *o = child->buffers[1];
                bool null = validity && !tl_bit(validity, row);
                n += (size_t)snprintf(out + n, size - n, "%s%.*s", c ? "|" : "", null ? 1 : o[row + 1] - o[row],
                                      null ? "-" : (const char *)child->buffers[2] + o[row]);
            }
            n += (size_t)snprintf(out + n, size - n, "\n");
        }
        a.release(&a);
    }
}

static tl_status read_csv(const char *name, const void *data, size_t len, const tl_input_options *options, char *out,
                          size_t size, tl_error *err) {
    static const tl_input_options plain = {0};
    tl_input *in;
    tl_status status = tl_input_open(write_file(name, data, len), options ? options : &plain, &in, err);
    if (status == TL_OK) {
        status = dump(in, 2, out, size, err);
        tl_input_close(in);
    }
    return status;
}

static void assert_csv(const char *text, const char *expected) {
    char out[4096];
    tl_error err = {{0}};
    tl_status status = read_csv("a.csv", text, strlen(text), NULL, out, sizeof out, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, TL_OK);
    assert_string_equal(out, expected);
}

static void assert_csv_fails(const char *text, const char *expected) {
    char out[4096];
    tl_error err = {{0}};
    assert_int_not_equal(read_csv("a.csv", text, strlen(text), NULL, out, sizeof out, &err), TL_OK);
    if (!strstr(err.message, expected)) {
        fail_msg("\"%s\" is not in \"%s\"", expected, err.message);
    }
}

static void csv_fields_quotes_and_line_ends(void **state) {
    (void)state;
    assert_csv("a,b\n1,2\n3,4\n", "1|2\n3|4\n");
    assert_csv("a,b\r\n1,2\r\n3,4", "1|2\n3|4\n");
    assert_csv("a,b\r1,2\r3,4\r", "1|2\n3|4\n");
    assert_csv("a,b\r1,2\r\r3,4", "1|2\n3|4\n");
    assert_csv("a,b\r\n1,2\r\n\r\n3,\r\n", "1|2\n3|-\n");
    assert_csv("a,b\n1\r2,3\r\n\r\n4,\r5\n", "1\r2|3\n4|\r5\n");
    assert_csv("a,b\n\"1\",2\r\n3,4\r", "1|2\n3|4\n");
    assert_csv("\xef\xbb\xbf\"a\",b\n\"x,\"\"y\"\"\nz\",2\n", "x,\"y\"\nz|2\n");
    assert_csv("a,b\n\n1,2\n\n\n3,4\n\n", "1|2\n3|4\n");
    assert_csv("a,b\n,\n\"\",\"\"\n", "-|-\n-|-\n"); /* no schema: what a quoted nothing is, is not known */
    assert_csv("a\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n");
    assert_csv("a,b\n1,\n", "1|-\n");
    assert_csv("a,b\n1,x\"y\n", "1|x\"y\n");
    assert_csv("a,b\n", "");
    assert_csv("a,b", "");
}

static void csv_errors_name_the_line(void **state) {
    (void)state;
    assert_csv_fails("a,b\n1,2\n3\n", "a.csv, line 3: 1 field where the header has 2");
    assert_csv_fails("a,b\n1,2,3\n", "line 2: 3 fields where the header has 2");
    assert_csv_fails("a,b\n\"x\ny\",2\n1,2,3\n", "line 4: 3 fields");
    assert_csv_fails("a,b\n1,\"x\n\n\n", "line 2: a quoted field begins here and does not end");
    assert_csv_fails("a,b\n\"x\"y,2\n", "line 2: text behind a closing quote");
    assert_csv_fails("a;b\n1;2\n", "line 1: the header is one column, \"a;b\": the delimiter seems to be a semicolon");
    assert_csv_fails("a,,b\n", "line 1: column 2 has no name");
    assert_csv_fails("a,b\n1,2\n3,\xff\n", "line 3: the text is not UTF-8");
    assert_csv_fails("a,b\n1,\xc3", "line 2: the text is not UTF-8");
    assert_csv_fails("", "the file is empty");
    assert_csv_fails("\n\n", "there is no header line");
    assert_csv_fails("\xff\xfe"
                     "a",
                     "UTF-16");
}

static void csv_null_texts_and_quoted_ones_by_type(void **state) {
    (void)state;
    tl_field fields[] = {{.id = 1, .name = "s", .type = {.id = TL_TYPE_STRING}},
                         {.id = 2, .name = "n", .type = {.id = TL_TYPE_INT}}};
    tl_schema schema = {.n_fields = 2, .fields = fields};
    const char *nulls[] = {"NA"};
    tl_input_options o = {.schema = &schema, .nulls = nulls, .n_nulls = 1};
    const char *in = "s,n\nNA,NA\n\"NA\",\"NA\"\n,\n\"\",\"\"\n";
    char out[256];
    tl_error err;
    assert_int_equal(read_csv("a.csv", in, strlen(in), &o, out, sizeof out, &err), TL_OK);
    assert_string_equal(out, "-|-\nNA|-\n-|-\n|-\n");
}

static void compressed_text_reads_as_plain_text(void **state) {
    (void)state;
    const char *in = "a,b\n1,2\n3,4\n";
    uint8_t packed[512];
    char out[256];
    tl_error err = {{0}};
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)strlen(in);
    z.next_out = packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = sizeof packed - z.avail_out;
    (void)deflateEnd(&z);
    assert_int_equal(read_csv("a.csv.gz", packed, n, NULL, out, sizeof out, &err), TL_OK);
    assert_string_equal(out, "1|2\n3|4\n");
    assert_int_equal(read_csv("a.csv.gz", packed, n - 3, NULL, out, sizeof out, &err), TL_CORRUPT);
    assert_non_null(strstr(err.message, "cut short"));

    n = ZSTD_compress(packed, sizeof packed, in, strlen(in), 3);
    assert_false(ZSTD_isError(n));
    assert_int_equal(read_csv("a.csv.zst", packed, n, NULL, out, sizeof out, &err), TL_OK);
    assert_string_equal(out, "1|2\n3|4\n");
    assert_int_equal(read_csv("a.csv.zst", packed, n - 3, NULL, out, sizeof out, &err), TL_CORRUPT);
    packed[6] |= 6; /* the reserved type of block */
    assert_int_equal(read_csv("a.csv.zst", packed, n, NULL, out, sizeof out, &err), TL_CORRUPT);
}

static void long_fields_and_blocks_cut_anywhere(void **state) {
    (void)state;
    size_t len = 3 << 20;
    char *in = malloc(len + 64), *out = malloc(2 * len + 64);
    assert_non_null(in);
    assert_non_null(out);
    size_t n = (size_t)sprintf(in, "a,b\n\"");
    for (size_t i = 0; i < len; i++) {
        in[n++] = (char)('a' + i % 26);
    }
    n += (size_t)sprintf(in + n, "\",x\n1,2\n");
    tl_error err;
    assert_int_equal(read_csv("a.csv", in, n, NULL, out, 2 * len, &err), TL_OK);
    assert_int_equal(strlen(out), len + strlen("|x\n1|2\n"));
    assert_memory_equal(out, in + 5, len);
    free(in);
    free(out);
}

/* ---- NDJSON ---- */

static tl_field json_fields[] = {{.id = 1, .name = "a", .type = {.id = TL_TYPE_LONG}},
                                 {.id = 2, .name = "b", .type = {.id = TL_TYPE_STRING}}};
static const tl_schema json_schema = {.n_fields = 2, .fields = json_fields};

static tl_status read_json(const char *text, char *out, size_t size, tl_error *err) {
    const char *nulls[] = {"NA"};
    tl_input_options o = {.schema = &json_schema, .nulls = nulls, .n_nulls = 1};
    return read_csv("a.ndjson", text, strlen(text), &o, out, size, err);
}

static void ndjson_keeps_every_digit_and_missing_members_are_null(void **state) {
    (void)state;
    char out[1024];
    tl_error err = {{0}};
    tl_status status =
        read_json("{\"a\":12345678901234567890.10,\"b\":\"x\"}\n\n{\"b\":null}\r\n{\"b\":true,\"a\":1e400}\n"
                  "{\"b\":[1,{\"c\":2.50}]}\n{\"b\":\"NA\"}",
                  out, sizeof out, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, TL_OK);
    assert_string_equal(out, "12345678901234567890.10|x\n-|-\n1e400|true\n-|[1,{\"c\":2.50}]\n-|-\n");
}

static void ndjson_errors_name_the_line(void **state) {
    (void)state;
    char out[256];
    tl_error err;
    assert_int_equal(read_json("{\"a\":1}\n\n{\"a\":", out, sizeof out, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "a.ndjson, line 3: not JSON"));
    assert_int_equal(read_json("{\"a\":1}\n{\"z\":1}\n", out, sizeof out, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "line 2: column \"z\" is not in the table"));
    assert_int_equal(read_json("{\"a\":1,\"a\":2}\n", out, sizeof out, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "line 1: column \"a\" stands twice"));
    assert_int_equal(read_json("[1]\n", out, sizeof out, &err), TL_INVALID);
    assert_non_null(strstr(err.message, "not a JSON object"));
}

static void when_memory_ends_the_error_says_so_and_nothing_leaks(void **state) {
    (void)state;
    const char *nulls[] = {"NA"};
    const tl_input_options options = {.schema = &json_schema, .nulls = nulls, .n_nulls = 1};
    static const char *const files[][2] = {{"a.csv", "a,b\n1,\"x\n\"\"y\"\n2,z\n3,NA\n"},
                                           {"a.ndjson", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n{\"b\":[1]}\n"}};
    for (size_t f = 0; f < TL_COUNT(files); f++) {
        char *path = write_file(files[f][0], files[f][1], strlen(files[f][1])), out[256];
        tl_status status = TL_NO_MEMORY;
        for (uint64_t n = 1; status != TL_OK; n++) {
            assert_true(n < 1000);
            tl_error err = {{0}};
            tl_input *in = NULL;
            (void)tl_mem_fail_at(n);
            status = tl_input_open(path, &options, &in, &err);
            if (status == TL_OK) {
                status = dump(in, 0, out, sizeof out, &err);
                tl_input_close(in);
            }
            (void)tl_mem_fail_at(0);
            if (status != TL_OK) {
                assert_int_equal(status, TL_NO_MEMORY);
                assert_non_null(strstr(err.message, "memory"));
            }
        }
    }
}

static void formats_are_told_by_names(void **state) {
    (void)state;
    assert_int_equal(tl_file_format_of("x.csv"), TL_FORMAT_CSV);
    assert_int_equal(tl_file_format_of("x.CSV.gz"), TL_FORMAT_CSV);
    assert_int_equal(tl_file_format_of("d.csv/x.tsv.zst"), TL_FORMAT_TSV);
    assert_int_equal(tl_file_format_of("x.ndjson"), TL_FORMAT_NDJSON);
    assert_int_equal(tl_file_format_of("x.jsonl"), TL_FORMAT_NDJSON);
    assert_int_equal(tl_file_format_of("x.parquet"), TL_FORMAT_PARQUET);
    assert_int_equal(tl_file_format_of("x.arrow"), TL_FORMAT_ARROW);
    assert_int_equal(tl_file_format_of("csv"), TL_FORMAT_NONE);
    assert_int_equal(tl_file_format_of(".csv"), TL_FORMAT_NONE);
    assert_int_equal(tl_file_format_of("x.gz"), TL_FORMAT_NONE);
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    static const char *const names[] = {"a.csv", "a.csv.gz", "a.csv.zst", "a.ndjson"};
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_fields_quotes_and_line_ends),
        cmocka_unit_test(csv_errors_name_the_line),
        cmocka_unit_test(csv_null_texts_and_quoted_ones_by_type),
        cmocka_unit_test(compressed_text_reads_as_plain_text),
        cmocka_unit_test(long_fields_and_blocks_cut_anywhere),
        cmocka_unit_test(ndjson_keeps_every_digit_and_missing_members_are_null),
        cmocka_unit_test(ndjson_errors_name_the_line),
        cmocka_unit_test(when_memory_ends_the_error_says_so_and_nothing_leaks),
        cmocka_unit_test(formats_are_told_by_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
