/* Writing the head: three tables as Arrow IPC streams behind a small header. */
#include "base/mem.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "table/head_internal.h"

const tl_head_column tl_head_file_columns[] = {
    {"path", NANOARROW_TYPE_STRING, false},           {"size", NANOARROW_TYPE_UINT64, false},
    {"records", NANOARROW_TYPE_UINT64, false},        {"partition", NANOARROW_TYPE_INT32, true},
    {"sort_order_id", NANOARROW_TYPE_INT32, true},    {"split_offsets", NANOARROW_TYPE_LIST, true},
    {"added", NANOARROW_TYPE_UINT8, false},           {"snapshot_id", NANOARROW_TYPE_INT64, false},
    {"sequence_number", NANOARROW_TYPE_INT64, false}, {"file_sequence_number", NANOARROW_TYPE_INT64, false},
};
const tl_head_column tl_head_stats_columns[] = {
    {"file", NANOARROW_TYPE_UINT32, false},  {"field_id", NANOARROW_TYPE_INT32, false},
    {"lower", NANOARROW_TYPE_BINARY, true},  {"upper", NANOARROW_TYPE_BINARY, true},
    {"values", NANOARROW_TYPE_UINT64, true}, {"nulls", NANOARROW_TYPE_UINT64, true},
    {"nans", NANOARROW_TYPE_UINT64, true},   {"size", NANOARROW_TYPE_UINT64, true},
};
const tl_head_column tl_head_metadata_columns[] = {{"json", NANOARROW_TYPE_STRING, false}};

/* nanoarrow's codes: ENOMEM or a value it refuses. */
static tl_status checked(int code, tl_error *err) {
    return code == NANOARROW_OK
               ? TL_OK
               : tl_fail(err, code == ENOMEM ? TL_NO_MEMORY : TL_INTERNAL, "head: Arrow error %d", code);
}

#define NA(call) TL_TRY(checked((call), err))

static tl_status set_pair(struct ArrowSchema *schema, const char *key, const char *value, tl_error *err) {
    struct ArrowBuffer pairs;
    NA(ArrowMetadataBuilderInit(&pairs, NULL));
    int code = ArrowMetadataBuilderAppend(&pairs, ArrowCharView(key), ArrowCharView(value));
    if (code == NANOARROW_OK) {
        code = ArrowSchemaSetMetadata(schema, (const char *)pairs.data);
    }
    ArrowBufferReset(&pairs);
    return checked(code, err);
}

static tl_status make_schema(const tl_head_column *columns, int64_t n, struct ArrowSchema *schema, tl_error *err) {
    NA(ArrowSchemaSetTypeStruct(schema, n));
    for (int64_t i = 0; i < n; i++) {
        struct ArrowSchema *c = schema->children[i];
        NA(ArrowSchemaSetType(c, columns[i].type));
        NA(ArrowSchemaSetName(c, columns[i].name));
        if (columns[i].type == NANOARROW_TYPE_LIST) {
            NA(ArrowSchemaSetType(c->children[0], NANOARROW_TYPE_INT64));
            NA(ArrowSchemaSetName(c->children[0], "item"));
        }
        c->flags = columns[i].nullable ? ARROW_FLAG_NULLABLE : 0;
    }
    return TL_OK;
}

/* One IPC stream behind its length. `array` NULL = a stream without batches. */
static tl_status add_stream(const struct ArrowSchema *schema, const struct ArrowArray *array, tl_buf *out,
                            tl_error *err) {
    struct ArrowBuffer bytes;
    struct ArrowIpcOutputStream stream;
    struct ArrowIpcWriter writer;
    struct ArrowArrayView view;
    ArrowBufferInit(&bytes);
    ArrowArrayViewInitFromType(&view, NANOARROW_TYPE_UNINITIALIZED);
    int code = ArrowIpcOutputStreamInitBuffer(&stream, &bytes);
    bool writing = code == NANOARROW_OK && (code = ArrowIpcWriterInit(&writer, &stream)) == NANOARROW_OK;
    code = code ? code : ArrowIpcWriterWriteSchema(&writer, schema, NULL);
    if (array) {
        code = code ? code : ArrowArrayViewInitFromSchema(&view, schema, NULL);
        code = code ? code : ArrowArrayViewSetArray(&view, array, NULL);
        code = code ? code : ArrowIpcWriterWriteArrayView(&writer, &view, NULL);
    }
    code = code ? code : ArrowIpcWriterWriteArrayView(&writer, NULL, NULL);
    if (writing) {
        ArrowIpcWriterReset(&writer);
    }
    ArrowArrayViewReset(&view);
    tl_status status = checked(code, err);
    if (status == TL_OK) {
        uint8_t length[8];
        tl_store_u64(length, (uint64_t)bytes.size_bytes);
        status = tl_buf_add(out, length, 8);
        status = status == TL_OK ? tl_buf_add(out, bytes.data, (size_t)bytes.size_bytes) : status;
        status = status == TL_OK ? TL_OK : tl_fail_memory(err, (size_t)bytes.size_bytes);
    }
    ArrowBufferReset(&bytes);
    return status;
}

/* ---- rows ---- */

typedef tl_status (*fill_rows)(const void *source, struct ArrowArray *array, tl_error *err);

static tl_status append_count(struct ArrowArray *c, int64_t v, tl_error *err) {
    return checked(v < 0 ? ArrowArrayAppendNull(c, 1) : ArrowArrayAppendUInt(c, (uint64_t)v), err);
}

static tl_status append_bytes(struct ArrowArray *c, tl_bytes v, tl_error *err) {
    struct ArrowBufferView view = {{.data = v.data}, (int64_t)v.len};
    return checked(v.data ? ArrowArrayAppendBytes(c, view) : ArrowArrayAppendNull(c, 1), err);
}

static tl_status append_text(struct ArrowArray *c, const char *text, size_t len, tl_error *err) {
    return checked(ArrowArrayAppendString(c, (struct ArrowStringView){text, (int64_t)len}), err);
}

static tl_status fill_files(const void *source, struct ArrowArray *a, tl_error *err) {
    const tl_live_files *files = source;
    for (int64_t i = 0; i < files->n_data; i++) {
        const tl_live_file *f = &files->data[i];
        const tl_data_file *d = &f->file;
        TL_TRY(append_text(a->children[0], d->path, strlen(d->path), err));
        NA(ArrowArrayAppendUInt(a->children[1], (uint64_t)d->file_size));
        NA(ArrowArrayAppendUInt(a->children[2], (uint64_t)d->record_count));
        bool valued = d->n_partition == 1 && d->partition[0].value.data;
        NA(valued ? ArrowArrayAppendInt(a->children[3], tl_load_i32(d->partition[0].value.data))
                  : ArrowArrayAppendNull(a->children[3], 1));
        NA(d->sort_order_id >= 0 ? ArrowArrayAppendInt(a->children[4], d->sort_order_id)
                                 : ArrowArrayAppendNull(a->children[4], 1));
        for (int32_t k = 0; k < d->n_split_offsets; k++) {
            NA(ArrowArrayAppendInt(a->children[5]->children[0], d->split_offsets[k]));
        }
        NA(d->n_split_offsets ? ArrowArrayFinishElement(a->children[5]) : ArrowArrayAppendNull(a->children[5], 1));
        NA(ArrowArrayAppendUInt(a->children[6], f->status == TL_ENTRY_ADDED));
        NA(ArrowArrayAppendInt(a->children[7], f->snapshot_id));
        NA(ArrowArrayAppendInt(a->children[8], f->sequence_number));
        NA(ArrowArrayAppendInt(a->children[9], f->file_sequence_number));
        NA(ArrowArrayFinishElement(a));
    }
    return TL_OK;
}

static tl_status fill_stats(const void *source, struct ArrowArray *a, tl_error *err) {
    const tl_live_files *files = source;
    for (int64_t i = 0; i < files->n_data; i++) {
        const tl_data_file *d = &files->data[i].file;
        for (int32_t k = 0; k < d->n_columns; k++) {
            const tl_column_stats *s = &d->columns[k];
            NA(ArrowArrayAppendUInt(a->children[0], (uint64_t)i));
            NA(ArrowArrayAppendInt(a->children[1], s->field_id));
            TL_TRY(append_bytes(a->children[2], s->lower, err));
            TL_TRY(append_bytes(a->children[3], s->upper, err));
            TL_TRY(append_count(a->children[4], s->values, err));
            TL_TRY(append_count(a->children[5], s->nulls, err));
            TL_TRY(append_count(a->children[6], s->nans, err));
            TL_TRY(append_count(a->children[7], s->size, err));
            NA(ArrowArrayFinishElement(a));
        }
    }
    return TL_OK;
}

static tl_status fill_metadata(const void *source, struct ArrowArray *a, tl_error *err) {
    const tl_buf *json = source;
    TL_TRY(append_text(a->children[0], (const char *)json->data, json->len, err));
    return checked(ArrowArrayFinishElement(a), err);
}

static tl_status fill_section(const struct ArrowSchema *schema, fill_rows fill, const void *source,
                              struct ArrowArray *array, tl_error *err) {
    NA(ArrowArrayInitFromSchema(array, schema, NULL));
    NA(ArrowArrayStartAppending(array));
    TL_TRY(fill(source, array, err));
    return checked(ArrowArrayFinishBuildingDefault(array, NULL), err);
}

static tl_status add_section(const char *name, const tl_head_column *columns, int64_t n, fill_rows fill,
                             const void *source, tl_buf *out, tl_error *err) {
    struct ArrowSchema schema;
    struct ArrowArray array = {.release = NULL};
    ArrowSchemaInit(&schema);
    tl_status status = make_schema(columns, n, &schema, err);
    status = status == TL_OK ? set_pair(&schema, "timelake.section", name, err) : status;
    status = status == TL_OK ? fill_section(&schema, fill, source, &array, err) : status;
    status = status == TL_OK ? add_stream(&schema, &array, out, err) : status;
    if (array.release) {
        array.release(&array);
    }
    if (schema.release) {
        schema.release(&schema);
    }
    return status;
}

static tl_status add_properties(tl_buf *out, tl_error *err) {
    struct ArrowSchema schema;
    ArrowSchemaInit(&schema);
    tl_status status = make_schema(NULL, 0, &schema, err);
    status = status == TL_OK ? set_pair(&schema, "layout", "1", err) : status;
    status = status == TL_OK ? add_stream(&schema, NULL, out, err) : status;
    if (schema.release) {
        schema.release(&schema);
    }
    return status;
}

/* ---- the whole ---- */

static bool can_say(const tl_live_files *files) {
    bool good = files->n_deletes == 0 && files->n_data <= TL_HEAD_FILES;
    for (int64_t i = 0; good && i < files->n_data; i++) {
        const tl_data_file *d = &files->data[i].file;
        good = d->n_partition == 0 ||
               (d->n_partition == 1 && (!d->partition[0].value.data || d->partition[0].value.len == 4));
        good = good && d->spec_id == files->data[0].file.spec_id;
    }
    return good;
}

static tl_status add_header(int64_t version, tl_buf *out) {
    uint8_t number[8];
    tl_store_u64(number, (uint64_t)version);
    TL_TRY(tl_buf_add(out, "TLHD\x01", 5));
    TL_TRY(tl_buf_add(out, number, 8));
    return tl_buf_add(out,
                      "\x05"
                      "arrow",
                      6);
}

tl_status tl_head_write(const tl_table *t, const tl_live_files *files, tl_buf *out, tl_error *err) {
    if (!can_say(files)) {
        return tl_fail(err, TL_UNSUPPORTED, "table %s has no head: too many files, or files of other kinds", t->name);
    }
    size_t before = out->len;
    tl_buf json = {0};
    tl_status status = tl_metadata_write(&t->metadata, &json, err);
    if (status == TL_OK && json.len > TL_HEAD_BYTES) {
        status = tl_fail(err, TL_UNSUPPORTED, "table %s has no head: its metadata is too large", t->name);
    }
    if (status == TL_OK) {
        status = add_header(t->version, out) == TL_OK ? TL_OK : tl_fail_memory(err, 32);
    }
    status = status == TL_OK ? add_properties(out, err) : status;
    status = status == TL_OK
                 ? add_section("columns", tl_head_stats_columns, TL_HEAD_STATS_COLUMNS, fill_stats, files, out, err)
                 : status;
    status = status == TL_OK
                 ? add_section("files", tl_head_file_columns, TL_HEAD_FILE_COLUMNS, fill_files, files, out, err)
                 : status;
    status =
        status == TL_OK ? add_section("metadata", tl_head_metadata_columns, 1, fill_metadata, &json, out, err) : status;
    tl_buf_free(&json);
    if (status == TL_OK && out->len - before > TL_HEAD_BYTES) {
        status = tl_fail(err, TL_UNSUPPORTED, "table %s has no head: it would be too large", t->name);
    }
    if (status != TL_OK) {
        out->len = before;
    }
    return status;
}
