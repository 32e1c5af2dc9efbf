/*
 * For the end-to-end tests: writes what the Parquet writer writes. Comes in: an Arrow IPC stream (or "-" for standard
 * input) and options. Goes out: a Parquet file. A record batch becomes one or more row groups. A failure is one line on
 * standard error and exit status 1.
 *
 *   parquet_make IN OUT [--encoding NAME] [--fallback NAME] [--codec NAME] [--level N] [--v2] [--crc] [--no-index]
 *                       [--page-rows N] [--page-bytes N] [--group-rows N] [--dictionary-values N] [--bounds N]
 *                       [--listed] [--runs] [--sorting LEAF] [--meta KEY=VALUE]
 *
 * Encodings are used where they fit the column's type; other columns are PLAIN. "split" and "delta_text" spare the
 * types for which other readers do not know them (split: all but float and double; delta_text: fixed); "split_all" and
 * "delta_text_all" do not. --listed writes through lists of row numbers, --runs writes flat columns as runs of equal
 * values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "parquet/shred.h"
#include "parquet/writer.h"

#define MANY 512

typedef struct maker {
    tl_pq_schema_element schema[MANY];
    tl_pq_convert converts[MANY];
    int32_t n_schema, n_leaves;
    int32_t top_elements[MANY], top_leaves[MANY], n_tops;
    tl_pq_leaf *leaves;
    tl_pq_column_writer *writers[MANY];
    tl_pq_column_options wanted; /* what the command line asks for */
    bool listed, runs, no_index;
    bool all_types; /* the _all encodings */
    int64_t group_rows;
    tl_pq_sorting_column sorting;
    int32_t n_sorting;
    tl_pq_key_value meta;
    int32_t n_meta;
    const char *in, *out;
    FILE *file;
} maker;

static maker m = {.group_rows = 1 << 20};

static void die(const char *what, const char *more) {
    (void)fprintf(stderr, "parquet_make: %s%s\n", what, more);
    exit(1);
}

static void must(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        die(tl_status_name(status), status == TL_NO_MEMORY ? "" : err->message);
    }
}

/* ---- options ---- */

static tl_pq_encoding encoding_named(const char *name) {
    static const struct {
        const char *name;
        tl_pq_encoding encoding;
    } names[] = {{"plain", TL_PQ_PLAIN},
                 {"rle", TL_PQ_RLE},
                 {"dictionary", TL_PQ_RLE_DICTIONARY},
                 {"delta", TL_PQ_DELTA_BINARY_PACKED},
                 {"delta_length", TL_PQ_DELTA_LENGTH_BYTE_ARRAY},
                 {"delta_text", TL_PQ_DELTA_BYTE_ARRAY},
                 {"delta_text_all", TL_PQ_DELTA_BYTE_ARRAY},
                 {"split", TL_PQ_BYTE_STREAM_SPLIT},
                 {"split_all", TL_PQ_BYTE_STREAM_SPLIT}};
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        if (strcmp(names[i].name, name) == 0) {
            m.all_types = m.all_types || strstr(name, "_all");
            return names[i].encoding;
        }
    }
    die("no such encoding: ", name);
    return TL_PQ_PLAIN;
}

static tl_pq_codec codec_named(const char *name) {
    for (int c = 0; c <= TL_PQ_LZ4_RAW; c++) {
        if (strcmp(tl_pq_codec_name((tl_pq_codec)c), name) == 0) {
            return (tl_pq_codec)c;
        }
    }
    die("no such codec: ", name);
    return TL_PQ_UNCOMPRESSED;
}

/* Options with a value; false when `name` is none. */
static bool option(const char *name, char *value) {
    int32_t number = (int32_t)strtol(value, NULL, 10);
    if (strcmp(name, "--encoding") == 0) {
        m.wanted.encoding = encoding_named(value);
    } else if (strcmp(name, "--fallback") == 0) {
        m.wanted.fallback = encoding_named(value);
    } else if (strcmp(name, "--codec") == 0) {
        m.wanted.codec = codec_named(value);
    } else if (strcmp(name, "--level") == 0) {
        m.wanted.level = number;
    } else if (strcmp(name, "--page-rows") == 0) {
        m.wanted.page_rows = number;
    } else if (strcmp(name, "--page-bytes") == 0) {
        m.wanted.page_bytes = number;
    } else if (strcmp(name, "--group-rows") == 0) {
        m.group_rows = number;
    } else if (strcmp(name, "--dictionary-values") == 0) {
        m.wanted.dictionary_max_values = number;
    } else if (strcmp(name, "--bounds") == 0) {
        m.wanted.bounds_bytes = number;
    } else if (strcmp(name, "--sorting") == 0) {
        m.sorting = (tl_pq_sorting_column){.column = number, .nulls_first = true};
        m.n_sorting = 1;
    } else if (strcmp(name, "--meta") == 0 && strchr(value, '=')) {
        *strchr(value, '=') = '\0';
        m.meta = (tl_pq_key_value){value, value + strlen(value) + 1};
        m.n_meta = 1;
    } else {
        return false;
    }
    return true;
}

static void parse(int argc, char **argv) {
    m.wanted.level = INT32_MIN;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--v2") == 0) {
            m.wanted.page_v2 = true;
        } else if (strcmp(argv[i], "--crc") == 0) {
            m.wanted.page_crc = true;
        } else if (strcmp(argv[i], "--no-index") == 0) {
            m.no_index = true;
        } else if (strcmp(argv[i], "--listed") == 0) {
            m.listed = true;
        } else if (strcmp(argv[i], "--runs") == 0) {
            m.runs = true;
        } else if (strncmp(argv[i], "--", 2) == 0) {
            if (!has_value || !option(argv[i], argv[i + 1])) {
                die("unknown option ", argv[i]);
            }
            i++;
        } else if (!m.in) {
            m.in = argv[i];
        } else {
            m.out = argv[i];
        }
    }
    if (!m.in || !m.out) {
        die("usage: parquet_make IN OUT [options]", "");
    }
}

/* ---- schema ---- */

static tl_pq_schema_element *add_element(const char *name, tl_pq_repetition repetition) {
    if (m.n_schema == MANY) {
        die("too many columns", "");
    }
    tl_pq_schema_element *e = &m.schema[m.n_schema];
    *e = (tl_pq_schema_element){.name = name, .repetition = repetition, .field_id = m.n_schema};
    m.n_schema++;
    return e;
}

static void time_leaf(tl_pq_schema_element *e, const char *format, bool stamp) {
    e->type = TL_PQ_INT64;
    e->logical = stamp ? TL_PQ_LOGICAL_TIMESTAMP : TL_PQ_LOGICAL_TIME;
    e->unit = format[2] == 'm' ? TL_PQ_MILLIS : format[2] == 'u' ? TL_PQ_MICROS : TL_PQ_NANOS;
    if (!stamp && e->unit == TL_PQ_MILLIS) {
        e->type = TL_PQ_INT32;
    }
    e->utc = stamp && format[3] == ':' && format[4];
}

static void decimal_leaf(tl_pq_schema_element *e, const char *format) {
    char *comma;
    e->logical = TL_PQ_LOGICAL_DECIMAL;
    e->precision = (int32_t)strtol(format + 2, &comma, 10);
    e->scale = (int32_t)strtol(comma + 1, NULL, 10);
    tl_pq_convert convert = TL_PQ_CONVERT_DECIMAL_FIXED;
    if (e->precision <= 9) {
        e->type = TL_PQ_INT32;
        convert = TL_PQ_CONVERT_DECIMAL_INT32;
    } else if (e->precision <= 18) {
        e->type = TL_PQ_INT64;
        convert = TL_PQ_CONVERT_DECIMAL_INT64;
    } else {
        e->type = TL_PQ_FIXED;
        /* the bytes that hold so many digits and a sign: 19 digits in 9, 38 in 16 */
        static const int8_t bytes[] = {9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
        e->type_length = bytes[e->precision - 19];
    }
    m.converts[m.n_leaves] = convert;
}

static bool is_uuid(const struct ArrowSchema *s) {
    struct ArrowStringView value = ArrowCharView("");
    return s->metadata &&
           ArrowMetadataGetValue(s->metadata, ArrowCharView("ARROW:extension:name"), &value) == NANOARROW_OK &&
           value.size_bytes == 10 && memcmp(value.data, "arrow.uuid", 10) == 0;
}

static void integer_leaf(tl_pq_schema_element *e, int32_t width) {
    e->type = width == 32 ? TL_PQ_INT32 : TL_PQ_INT64;
    e->logical = TL_PQ_LOGICAL_INTEGER;
    e->bit_width = width;
}

static void leaf(tl_pq_schema_element *e, const struct ArrowSchema *s) {
    const char *f = s->format;
    e->is_leaf = true;
    switch (f[0]) {
    case 'b': e->type = TL_PQ_BOOLEAN; break;
    case 'i': e->type = TL_PQ_INT32; break;
    case 'l': e->type = TL_PQ_INT64; break;
    case 'I': integer_leaf(e, 32); break;
    case 'L': integer_leaf(e, 64); break;
    case 'f': e->type = TL_PQ_FLOAT; break;
    case 'g': e->type = TL_PQ_DOUBLE; break;
    case 'e':
        e->type = TL_PQ_FIXED;
        e->type_length = 2;
        e->logical = TL_PQ_LOGICAL_FLOAT16;
        break;
    case 'u':
    case 'U':
        e->type = TL_PQ_BYTE_ARRAY;
        e->logical = TL_PQ_LOGICAL_STRING;
        break;
    case 'z':
    case 'Z': e->type = TL_PQ_BYTE_ARRAY; break;
    case 'w':
        e->type = TL_PQ_FIXED;
        e->type_length = (int32_t)strtol(f + 2, NULL, 10);
        e->logical = is_uuid(s) ? TL_PQ_LOGICAL_UUID : TL_PQ_LOGICAL_NONE;
        break;
    case 'd': decimal_leaf(e, f); break;
    case 't':
        if (f[1] == 'd') {
            e->type = TL_PQ_INT32;
            e->logical = TL_PQ_LOGICAL_DATE;
        } else {
            time_leaf(e, f, f[1] == 's');
        }
        break;
    default: die("no Parquet type here for the Arrow type ", f);
    }
    m.n_leaves++;
}

static void grow(const struct ArrowSchema *s, const char *name, bool optional) {
    tl_pq_schema_element *e = add_element(name, optional ? TL_PQ_OPTIONAL : TL_PQ_REQUIRED);
    if (s->format[0] != '+') {
        leaf(e, s);
        return;
    }
    if (s->format[1] == 's') {
        e->n_children = (int32_t)s->n_children;
        for (int64_t i = 0; i < s->n_children; i++) {
            grow(s->children[i], s->children[i]->name, s->children[i]->flags & ARROW_FLAG_NULLABLE);
        }
        return;
    }
    bool map = s->format[1] == 'm';
    e->n_children = 1;
    e->logical = map ? TL_PQ_LOGICAL_MAP : TL_PQ_LOGICAL_LIST;
    e = add_element(map ? "key_value" : "list", TL_PQ_REPEATED);
    e->n_children = map ? 2 : 1;
    const struct ArrowSchema *child = s->children[0];
    if (!map) {
        grow(child, "element", child->flags & ARROW_FLAG_NULLABLE);
        return;
    }
    grow(child->children[0], "key", false);
    grow(child->children[1], "value", child->children[1]->flags & ARROW_FLAG_NULLABLE);
}

/* ---- columns ---- */

/* The arrays come from an IPC stream: no offsets at any level. */
static void view(const struct ArrowSchema *s, const struct ArrowArray *a, tl_column *c) {
    *c = (tl_column){.length = a->length, .validity = a->null_count ? a->buffers[0] : NULL};
    switch (s->format[0]) {
    case 'b':
        c->kind = TL_COLUMN_BOOL;
        c->values = a->buffers[1];
        return;
    case 'u':
    case 'U':
    case 'z':
    case 'Z':
        c->kind = TL_COLUMN_BYTES;
        c->offsets32 = s->format[0] >= 'a' ? a->buffers[1] : NULL;
        c->offsets64 = s->format[0] >= 'a' ? NULL : a->buffers[1];
        c->data = a->buffers[2];
        return;
    case '+': break;
    default: {
        struct ArrowSchemaView type;
        if (ArrowSchemaViewInit(&type, s, NULL) != NANOARROW_OK) {
            die("bad Arrow type ", s->format);
        }
        c->kind = TL_COLUMN_FIXED;
        c->width = type.layout.element_size_bits[1] ? (int32_t)type.layout.element_size_bits[1] / 8 : type.fixed_size;
        c->values = a->buffers[1];
        return;
    }
    }
    c->kind = s->format[1] == 's' ? TL_COLUMN_STRUCT : TL_COLUMN_LIST;
    if (c->kind == TL_COLUMN_LIST) {
        c->offsets32 = s->format[1] == 'L' ? NULL : a->buffers[1];
        c->offsets64 = s->format[1] == 'L' ? a->buffers[1] : NULL;
    }
    c->n_children = a->n_children;
    c->children = tl_calloc((size_t)a->n_children, sizeof *c->children);
    for (int64_t i = 0; c->children && i < a->n_children; i++) {
        view(s->children[i], a->children[i], &c->children[i]);
    }
}

static void drop(tl_column *c) {
    for (int64_t i = 0; i < c->n_children; i++) {
        drop(&c->children[i]);
    }
    tl_free(c->children);
}

/* ---- writing ---- */

static tl_status emit(void *ctx, int32_t k, const tl_pq_values *values, tl_error *err) {
    return tl_pq_column_writer_add(m.writers[*(int32_t *)ctx + k], values, err);
}

static bool same_value(const tl_column *c, int64_t a, int64_t b) {
    if (tl_column_is_null(c, a) || tl_column_is_null(c, b)) {
        return tl_column_is_null(c, a) && tl_column_is_null(c, b);
    }
    if (c->kind == TL_COLUMN_BOOL) {
        return tl_column_bool(c, a) == tl_column_bool(c, b);
    }
    if (c->kind == TL_COLUMN_BYTES) {
        return tl_bytes_equal(tl_column_bytes(c, a), tl_column_bytes(c, b));
    }
    return memcmp(c->values + a * c->width, c->values + b * c->width, (size_t)c->width) == 0;
}

static void write_runs(const tl_column *c, tl_pq_column_writer *w, int64_t from, int64_t n) {
    tl_error err;
    for (int64_t i = from, end; i < from + n; i = end) {
        for (end = i + 1; end < from + n && same_value(c, i, end);) {
            end++;
        }
        tl_bytes bytes = {0};
        uint8_t flag;
        const void *value = NULL;
        if (!tl_column_is_null(c, i)) {
            if (c->kind == TL_COLUMN_BYTES) {
                bytes = tl_column_bytes(c, i);
                value = &bytes;
            } else if (c->kind == TL_COLUMN_BOOL) {
                flag = tl_column_bool(c, i);
                value = &flag;
            } else {
                value = c->values + i * c->width;
            }
        }
        must(tl_pq_column_writer_add_run(w, value, end - i, &err), &err);
    }
}

static void write_column(const tl_column *c, int32_t top, int64_t from, int64_t n) {
    tl_error err;
    int32_t first = m.top_leaves[top];
    bool flat = c->kind != TL_COLUMN_STRUCT && c->kind != TL_COLUMN_LIST;
    if (m.runs && flat && m.converts[first] == TL_PQ_CONVERT_NONE) {
        write_runs(c, m.writers[first], from, n);
        return;
    }
    int64_t *rows = NULL;
    if (m.listed) {
        rows = tl_alloc_array((size_t)n, sizeof *rows);
        for (int64_t i = 0; rows && i < n; i++) {
            rows[i] = from + i;
        }
    }
    must(tl_pq_shred(c, m.schema, m.n_schema, m.top_elements[top], m.converts + first, rows, rows ? 0 : from, n, emit,
                     &first, &err),
         &err);
    tl_free(rows);
}

/* The options asked for, as far as they fit the column. */
static void begin_leaf(int32_t i) {
    tl_pq_column_options o = tl_pq_column_options_of(&m.schema[m.leaves[i].element], &m.leaves[i]), base = o;
    o = m.wanted;
    o.type = base.type;
    o.type_length = base.type_length;
    o.max_def = base.max_def;
    o.max_rep = base.max_rep;
    o.utf8 = base.utf8;
    o.is_signed = base.is_signed;
    o.signed_bytes = base.signed_bytes;
    o.no_bounds = base.no_bounds;
    bool number = o.type == TL_PQ_FLOAT || o.type == TL_PQ_DOUBLE;
    if (!m.all_types && ((o.encoding == TL_PQ_BYTE_STREAM_SPLIT && !number) ||
                         (o.encoding == TL_PQ_DELTA_BYTE_ARRAY && o.type == TL_PQ_FIXED))) {
        o.encoding = TL_PQ_PLAIN;
    }
    for (int attempt = 0; attempt < 3; attempt++) {
        tl_status status = m.writers[i] ? tl_pq_column_writer_reset(m.writers[i], &o, NULL)
                                        : tl_pq_column_writer_create(&o, &m.writers[i], NULL);
        if (status == TL_OK) {
            return;
        }
        *(attempt ? &o.encoding : &o.fallback) = TL_PQ_PLAIN;
    }
    die("cannot make a writer of column ", m.schema[m.leaves[i].element].name);
}

static void write_batch(tl_pq_file_writer *file, const struct ArrowSchema *s, const struct ArrowArray *a) {
    static tl_pq_chunk chunks[MANY];
    tl_error err;
    for (int64_t from = 0; from < a->length; from += m.group_rows) {
        int64_t n = a->length - from < m.group_rows ? a->length - from : m.group_rows;
        for (int32_t i = 0; i < m.n_leaves; i++) {
            begin_leaf(i);
        }
        for (int32_t top = 0; top < m.n_tops; top++) {
            tl_column c;
            view(s->children[top], a->children[top], &c);
            write_column(&c, top, from, n);
            drop(&c);
        }
        for (int32_t i = 0; i < m.n_leaves; i++) {
            must(tl_pq_column_writer_finish(m.writers[i], &chunks[i], &err), &err);
        }
        must(tl_pq_file_writer_add_row_group(file, chunks, m.n_leaves, &err), &err);
    }
}

static tl_status sink(void *ctx, const void *data, size_t len, tl_error *err) {
    (void)ctx;
    return len == 0 || fwrite(data, len, 1, m.file) == 1 ? TL_OK : tl_fail(err, TL_IO, "cannot write %s", m.out);
}

static void open_stream(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
    struct ArrowIpcInputStream input;
    struct ArrowError error = {{0}};
    FILE *file = strcmp(m.in, "-") == 0 ? stdin : fopen(m.in, "rb");
    if (!file || ArrowIpcInputStreamInitFile(&input, file, 1) != NANOARROW_OK ||
        ArrowIpcArrayStreamReaderInit(stream, &input, NULL) != NANOARROW_OK ||
        ArrowArrayStreamGetSchema(stream, schema, &error) != NANOARROW_OK) {
        die("cannot read the Arrow stream: ", error.message);
    }
}

static void set_schema(const struct ArrowSchema *schema) {
    tl_error err;
    int32_t n;
    add_element("table", TL_PQ_REQUIRED)->n_children = (int32_t)schema->n_children;
    m.schema[0].field_id = -1;
    for (int64_t i = 0; i < schema->n_children; i++) {
        m.top_elements[m.n_tops] = m.n_schema;
        m.top_leaves[m.n_tops++] = m.n_leaves;
        grow(schema->children[i], schema->children[i]->name, schema->children[i]->flags & ARROW_FLAG_NULLABLE);
    }
    must(tl_pq_schema_leaves(m.schema, m.n_schema, &m.leaves, &n, &err), &err);
}

int main(int argc, char **argv) {
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    tl_pq_file_writer *file;
    tl_error err;
    parse(argc, argv);
    open_stream(&stream, &schema);
    set_schema(&schema);
    m.file = fopen(m.out, "wb");
    if (!m.file) {
        die("cannot write ", m.out);
    }
    const tl_pq_file_options options = {.schema = m.schema,
                                        .n_schema = m.n_schema,
                                        .sorting = &m.sorting,
                                        .n_sorting = m.n_sorting,
                                        .metadata = &m.meta,
                                        .n_metadata = m.n_meta,
                                        .no_page_index = m.no_index};
    must(tl_pq_file_writer_create(&options, (tl_pq_sink){sink, NULL}, &file, &err), &err);
    for (;;) {
        struct ArrowError error = {{0}};
        if (ArrowArrayStreamGetNext(&stream, &batch, &error) != NANOARROW_OK) {
            die("cannot read the Arrow stream: ", error.message);
        }
        if (!batch.release) {
            break;
        }
        write_batch(file, &schema, &batch);
        ArrowArrayRelease(&batch);
    }
    must(tl_pq_file_writer_finish(file, NULL, &err), &err);
    tl_pq_file_writer_free(file);
    for (int32_t i = 0; i < m.n_leaves; i++) {
        tl_pq_column_writer_free(m.writers[i]);
    }
    tl_free(m.leaves);
    ArrowSchemaRelease(&schema);
    ArrowArrayStreamRelease(&stream);
    return fclose(m.file) == 0 ? 0 : 1;
}
