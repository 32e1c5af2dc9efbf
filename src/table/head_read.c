/* Reading the head. Its bytes may be anything: every table is checked against what it must look like. */
#include <string.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "table/head_internal.h"

enum { HEADER = 14, SECTIONS_MAX = 16 };

bool tl_head_version(tl_bytes head, int64_t *version) {
    if (head.len < HEADER || memcmp(head.data, "TLHD\x01", 5) != 0) {
        return false;
    }
    uint64_t v = tl_load_u64(head.data + 5);
    *version = v <= INT64_MAX ? (int64_t)v : -1;
    return v <= INT64_MAX && v > 0;
}

static tl_status corrupt(tl_error *err, const char *what) {
    return tl_fail(err, TL_CORRUPT, "head: %s", what);
}

/* One decoded section. */
typedef struct section {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayView view;
} section;

static void section_free(section *s) {
    ArrowArrayViewReset(&s->view);
    if (s->array.release) {
        s->array.release(&s->array);
    }
    if (s->schema.release) {
        s->schema.release(&s->schema);
    }
}

/* Are all messages of the stream as long as they say? The reader behind would make room for what they claim first.
 * The bytes must be aligned, as a copy is. */
static bool lengths_hold(tl_bytes bytes) {
    struct ArrowIpcDecoder decoder;
    if (ArrowIpcDecoderInit(&decoder) != NANOARROW_OK) {
        return false;
    }
    bool good = true;
    while (good && bytes.len) {
        struct ArrowBufferView view = {{.data = bytes.data}, (int64_t)bytes.len};
        int code = ArrowIpcDecoderVerifyHeader(&decoder, view, NULL);
        if (code == ENODATA) {
            break; /* the end mark */
        }
        uint64_t header = (uint64_t)decoder.header_size_bytes, body = (uint64_t)decoder.body_size_bytes;
        good = code == NANOARROW_OK && header > 0 && header <= bytes.len && body <= bytes.len - header;
        if (good) {
            bytes.data += header + body;
            bytes.len -= (size_t)(header + body);
        }
    }
    ArrowIpcDecoderReset(&decoder);
    return good;
}

static tl_status open_stream(tl_bytes bytes, struct ArrowArrayStream *out, tl_error *err) {
    struct ArrowBuffer copy;
    struct ArrowIpcInputStream input;
    ArrowBufferInit(&copy);
    out->release = NULL;
    int code = ArrowBufferAppend(&copy, bytes.data, (int64_t)bytes.len);
    if (code == NANOARROW_OK && !lengths_hold((tl_bytes){copy.data, bytes.len})) {
        ArrowBufferReset(&copy);
        return corrupt(err, "a section is no Arrow stream");
    }
    code = code ? code : ArrowIpcInputStreamInitBuffer(&input, &copy);
    if (code != NANOARROW_OK) {
        ArrowBufferReset(&copy);
        return tl_fail_memory(err, bytes.len);
    }
    if (ArrowIpcArrayStreamReaderInit(out, &input, NULL) != NANOARROW_OK) {
        input.release(&input);
        return tl_fail_memory(err, bytes.len);
    }
    return TL_OK;
}

/* A stream may place its buffers anywhere; values are then loaded as they lie. */
static bool is_aligned(const struct ArrowArrayView *view, int depth) {
    for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; i++) {
        uintptr_t size = (uintptr_t)view->layout.element_size_bits[i] / 8;
        if (size > 1 && size <= 8 && (uintptr_t)view->buffer_views[i].data.data % size != 0) {
            return false;
        }
    }
    for (int64_t i = 0; i < view->n_children; i++) {
        if (depth == 0 || !is_aligned(view->children[i], depth - 1)) {
            return false;
        }
    }
    return view->dictionary == NULL;
}

/* Schema and at most one batch (none = array.release NULL). */
static tl_status read_stream(tl_bytes bytes, section *out, tl_error *err) {
    struct ArrowArrayStream stream;
    *out = (section){.schema.release = NULL};
    ArrowArrayViewInitFromType(&out->view, NANOARROW_TYPE_UNINITIALIZED);
    TL_TRY(open_stream(bytes, &stream, err));
    int code = stream.get_schema(&stream, &out->schema);
    code = code ? code : stream.get_next(&stream, &out->array);
    stream.release(&stream);
    if (code == NANOARROW_OK && out->array.release) {
        code = ArrowArrayViewInitFromSchema(&out->view, &out->schema, NULL);
        code = code ? code : ArrowArrayViewSetArray(&out->view, &out->array, NULL);
        code = code ? code : is_aligned(&out->view, 3) ? NANOARROW_OK : EINVAL;
        code = code ? code : ArrowArrayViewValidate(&out->view, NANOARROW_VALIDATION_LEVEL_FULL, NULL);
    }
    return code == NANOARROW_OK ? TL_OK
           : code == ENOMEM     ? tl_fail_memory(err, bytes.len)
                                : corrupt(err, "a section is no Arrow stream");
}

/* Has the section exactly these columns? */
static bool has_columns(const section *s, const tl_head_column *columns, int64_t n) {
    if (s->view.storage_type != NANOARROW_TYPE_STRUCT || s->view.n_children != n || s->array.offset != 0) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        const struct ArrowArrayView *c = s->view.children[i];
        if (strcmp(s->schema.children[i]->name, columns[i].name) != 0 || c->storage_type != columns[i].type ||
            (!columns[i].nullable && ArrowArrayViewComputeNullCount(c) != 0) ||
            (columns[i].type == NANOARROW_TYPE_LIST && c->children[0]->storage_type != NANOARROW_TYPE_INT64)) {
            return false;
        }
    }
    return true;
}

static tl_bytes bytes_at(const struct ArrowArrayView *c, int64_t row, tl_arena *arena, bool *ok) {
    if (ArrowArrayViewIsNull(c, row)) {
        return (tl_bytes){NULL, 0};
    }
    struct ArrowBufferView v = ArrowArrayViewGetBytesUnsafe(c, row);
    char *copy = tl_arena_strndup(arena, v.data.as_char, (size_t)v.size_bytes);
    *ok = *ok && copy;
    return (tl_bytes){(const uint8_t *)copy, (size_t)v.size_bytes};
}

static int64_t count_at(const struct ArrowArrayView *c, int64_t row) {
    uint64_t v = ArrowArrayViewIsNull(c, row) ? UINT64_MAX : ArrowArrayViewGetUIntUnsafe(c, row);
    return v <= INT64_MAX ? (int64_t)v : -1;
}

static tl_status read_partition(const struct ArrowArrayView *c, int64_t row, tl_arena *arena, tl_data_file *out,
                                tl_error *err) {
    out->partition = tl_arena_array(arena, 1, sizeof *out->partition);
    int32_t *value = tl_arena_alloc(arena, sizeof *value);
    if (!out->partition || !value) {
        return tl_fail_memory(err, 8);
    }
    out->n_partition = 1;
    if (!ArrowArrayViewIsNull(c, row)) {
        *value = (int32_t)ArrowArrayViewGetIntUnsafe(c, row);
        out->partition[0].value = (tl_bytes){(const uint8_t *)value, sizeof *value};
    }
    return TL_OK;
}

static tl_status read_offsets(const struct ArrowArrayView *c, int64_t row, tl_arena *arena, tl_data_file *out,
                              tl_error *err) {
    if (ArrowArrayViewIsNull(c, row)) {
        return TL_OK;
    }
    int64_t from = ArrowArrayViewListChildOffset(c, row), to = ArrowArrayViewListChildOffset(c, row + 1);
    if (from < 0 || to < from || to > c->children[0]->length || to - from > INT32_MAX) {
        return corrupt(err, "row group offsets out of range");
    }
    out->split_offsets = tl_arena_array(arena, (size_t)(to - from), sizeof *out->split_offsets);
    if (!out->split_offsets) {
        return tl_fail_memory(err, (size_t)(to - from) * 8);
    }
    for (int64_t i = from; i < to; i++) {
        out->split_offsets[out->n_split_offsets++] = ArrowArrayViewGetIntUnsafe(c->children[0], i);
    }
    return TL_OK;
}

static tl_status read_file(const section *s, int64_t row, tl_head *out, tl_error *err) {
    struct ArrowArrayView **c = s->view.children;
    tl_live_file *f = &out->files[row];
    bool ok = true;
    f->file = (tl_data_file){
        .content = TL_CONTENT_DATA,
        .format = "PARQUET",
        .path = (const char *)bytes_at(c[0], row, &out->arena, &ok).data,
        .file_size = count_at(c[1], row),
        .record_count = count_at(c[2], row),
        .sort_order_id = ArrowArrayViewIsNull(c[4], row) ? -1 : (int32_t)ArrowArrayViewGetIntUnsafe(c[4], row),
        .content_offset = -1,
        .content_size = -1,
    };
    f->status = ArrowArrayViewGetUIntUnsafe(c[6], row) == 1 ? TL_ENTRY_ADDED : TL_ENTRY_EXISTING;
    f->snapshot_id = ArrowArrayViewGetIntUnsafe(c[7], row);
    f->sequence_number = ArrowArrayViewGetIntUnsafe(c[8], row);
    f->file_sequence_number = ArrowArrayViewGetIntUnsafe(c[9], row);
    if (!ok) {
        return tl_fail_memory(err, 256);
    }
    if (f->file.file_size < 0 || f->file.record_count < 0) {
        return corrupt(err, "a file's size is out of range");
    }
    TL_TRY(read_partition(c[3], row, &out->arena, &f->file, err));
    return read_offsets(c[5], row, &out->arena, &f->file, err);
}

static tl_status read_files(const section *s, tl_head *out, tl_error *err) {
    if (!has_columns(s, tl_head_file_columns, TL_HEAD_FILE_COLUMNS) || out->files) {
        return corrupt(err, "its table of files has other columns");
    }
    out->files = tl_arena_array(&out->arena, (size_t)s->array.length, sizeof *out->files);
    if (!out->files) {
        return tl_fail_memory(err, (size_t)s->array.length * sizeof *out->files);
    }
    out->n_files = s->array.length;
    for (int64_t i = 0; i < out->n_files; i++) {
        TL_TRY(read_file(s, i, out, err));
    }
    return TL_OK;
}

/* Rows of one file stand together. Run after the files are read. */
static tl_status read_stats(const section *s, tl_head *out, tl_error *err) {
    if (!has_columns(s, tl_head_stats_columns, TL_HEAD_STATS_COLUMNS)) {
        return corrupt(err, "its table of statistics has other columns");
    }
    struct ArrowArrayView **c = s->view.children;
    tl_column_stats *all = tl_arena_array(&out->arena, (size_t)s->array.length, sizeof *all);
    bool ok = all != NULL;
    int64_t file = -1;
    for (int64_t i = 0; ok && i < s->array.length; i++) {
        int64_t of = (int64_t)ArrowArrayViewGetUIntUnsafe(c[0], i);
        if (of < file || of >= out->n_files || (of > file && out->files[of].file.n_columns)) {
            return corrupt(err, "statistics of a file that is not there");
        }
        tl_data_file *f = &out->files[of].file;
        if (of > file) {
            f->columns = &all[i];
            file = of;
        }
        f->n_columns++;
        all[i] = (tl_column_stats){
            .field_id = (int32_t)ArrowArrayViewGetIntUnsafe(c[1], i),
            .lower = bytes_at(c[2], i, &out->arena, &ok),
            .upper = bytes_at(c[3], i, &out->arena, &ok),
            .values = count_at(c[4], i),
            .nulls = count_at(c[5], i),
            .nans = count_at(c[6], i),
            .size = count_at(c[7], i),
        };
    }
    return ok ? TL_OK : tl_fail_memory(err, (size_t)s->array.length * sizeof *all);
}

static tl_status read_metadata(const section *s, tl_head *out, tl_error *err) {
    if (!has_columns(s, tl_head_metadata_columns, 1) || s->array.length != 1) {
        return corrupt(err, "its metadata is not one text");
    }
    bool ok = true;
    out->metadata = bytes_at(s->view.children[0], 0, &out->arena, &ok);
    return ok ? TL_OK : tl_fail_memory(err, 256);
}

static bool has_name(const section *s, const char *key, const char *want) {
    struct ArrowStringView value = {NULL, 0};
    return s->schema.metadata &&
           ArrowMetadataGetValue(s->schema.metadata, ArrowCharView(key), &value) == NANOARROW_OK && value.data &&
           (size_t)value.size_bytes == strlen(want) && memcmp(value.data, want, strlen(want)) == 0;
}

static tl_status take_sections(const section *list, int n, tl_head *out, tl_error *err) {
    const section *files = NULL, *stats = NULL, *metadata = NULL;
    if (n == 0 || !has_name(&list[0], "layout", "1")) {
        return tl_fail(err, TL_UNSUPPORTED, "head: another layout");
    }
    for (int i = 1; i < n; i++) {
        if (list[i].array.release) {
            files = has_name(&list[i], "timelake.section", "files") ? &list[i] : files;
            stats = has_name(&list[i], "timelake.section", "columns") ? &list[i] : stats;
            metadata = has_name(&list[i], "timelake.section", "metadata") ? &list[i] : metadata;
        }
    }
    if (!metadata) {
        return corrupt(err, "it has no metadata");
    }
    TL_TRY(read_metadata(metadata, out, err));
    if (files) {
        TL_TRY(read_files(files, out, err));
    }
    return files && stats ? read_stats(stats, out, err) : TL_OK;
}

static tl_status read_sections(tl_bytes body, tl_head *out, tl_error *err) {
    section list[SECTIONS_MAX];
    int n = 0;
    tl_status status = TL_OK;
    while (status == TL_OK && body.len) {
        uint64_t len = body.len >= 8 ? tl_load_u64(body.data) : UINT64_MAX;
        if (len > body.len - (body.len >= 8 ? 8 : 0) || n == SECTIONS_MAX) {
            status = corrupt(err, "a section is longer than the head");
            break;
        }
        status = read_stream((tl_bytes){body.data + 8, (size_t)len}, &list[n++], err);
        body.data += 8 + len;
        body.len -= 8 + (size_t)len;
    }
    if (status == TL_OK) {
        status = take_sections(list, n, out, err);
    }
    for (int i = 0; i < n; i++) {
        section_free(&list[i]);
    }
    return status;
}

tl_status tl_head_read(tl_bytes head, tl_head *out, tl_error *err) {
    *out = (tl_head){0};
    if (!tl_head_version(head, &out->version)) {
        return corrupt(err, "not a head");
    }
    size_t codec = head.data[13];
    if (head.len < HEADER + codec || codec != 5 || memcmp(head.data + HEADER, "arrow", 5) != 0) {
        return tl_fail(err, TL_UNSUPPORTED, "head: a codec that is not known here");
    }
    tl_status status = read_sections((tl_bytes){head.data + HEADER + codec, head.len - HEADER - codec}, out, err);
    if (status != TL_OK) {
        tl_head_free(out);
    }
    return status;
}

void tl_head_free(tl_head *head) {
    tl_arena_free(&head->arena);
    *head = (tl_head){0};
}
