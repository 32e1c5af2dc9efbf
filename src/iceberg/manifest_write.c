/*
 * Manifests out: format v2 (and v3) with the field order, names and ids of spec a.4. Comes in: entries, schema and
 * partition spec. Goes out: the bytes of an Avro file, and the manifest's entry for the list.
 */
#include <math.h>

#include "iceberg/json.h"
#include "iceberg/json_internal.h"
#include "iceberg/manifest_internal.h"

tl_status tl_partition_type(const tl_partition_field *field, const tl_schema *schema, tl_type *out, tl_error *err) {
    *out = (tl_type){.id = TL_TYPE_INT};
    switch (field->transform) {
    case TL_TRANSFORM_DAY: out->id = TL_TYPE_DATE; return TL_OK;
    case TL_TRANSFORM_YEAR:
    case TL_TRANSFORM_MONTH:
    case TL_TRANSFORM_HOUR:
    case TL_TRANSFORM_BUCKET: return TL_OK;
    case TL_TRANSFORM_UNKNOWN:
        return tl_fail(err, TL_UNSUPPORTED, "partition field \"%s\": transform %s is not written here", field->name,
                       field->text ? field->text : "?");
    default: break;
    }
    const tl_field *source = tl_schema_find(schema, field->source_id);
    if (!source && field->transform == TL_TRANSFORM_VOID) {
        return TL_OK; /* the column may be gone; every value is null */
    }
    if (!source || tl_type_is_nested(source->type.id)) {
        return tl_fail(err, TL_INVALID, "partition field \"%s\": its column %d is not in the schema or is nested",
                       field->name, field->source_id);
    }
    *out = source->type;
    return TL_OK;
}

/* ---- the Avro schema ---- */

static bool is_plain(uint8_t c, bool first) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (!first && c >= '0' && c <= '9');
}

/* Avro's names are letters, digits and '_'; other bytes become _x and two hex digits, a digit in front gets a '_'. */
static tl_status put_avro_name(tl_buf *out, const char *name, bool *changed) {
    *changed = false;
    for (const char *c = name; *c; c++) {
        uint8_t byte = (uint8_t)*c;
        if (is_plain(byte, c == name)) {
            TL_TRY(tl_buf_add_byte(out, byte));
            continue;
        }
        *changed = true;
        TL_TRY(byte >= '0' && byte <= '9' ? tl_buf_printf(out, "_%c", byte) : tl_buf_printf(out, "_x%02X", byte));
    }
    return TL_OK;
}

static tl_status put_avro_type(tl_buf *out, const tl_type *type, int32_t field_id) {
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return tl_buf_add_text(out, "\"boolean\"");
    case TL_TYPE_INT: return tl_buf_add_text(out, "\"int\"");
    case TL_TYPE_LONG: return tl_buf_add_text(out, "\"long\"");
    case TL_TYPE_FLOAT: return tl_buf_add_text(out, "\"float\"");
    case TL_TYPE_DOUBLE: return tl_buf_add_text(out, "\"double\"");
    case TL_TYPE_STRING: return tl_buf_add_text(out, "\"string\"");
    case TL_TYPE_BINARY: return tl_buf_add_text(out, "\"bytes\"");
    case TL_TYPE_DATE: return tl_buf_add_text(out, "{\"type\":\"int\",\"logicalType\":\"date\"}");
    case TL_TYPE_TIME: return tl_buf_add_text(out, "{\"type\":\"long\",\"logicalType\":\"time-micros\"}");
    case TL_TYPE_TIMESTAMP:
    case TL_TYPE_TIMESTAMPTZ:
        return tl_buf_printf(out, "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\",\"adjust-to-utc\":%s}",
                             type->id == TL_TYPE_TIMESTAMPTZ ? "true" : "false");
    case TL_TYPE_DECIMAL:
        return tl_buf_printf(out,
                             "{\"type\":\"fixed\",\"name\":\"p%d\",\"size\":%d,\"logicalType\":\"decimal\","
                             "\"precision\":%d,\"scale\":%d}",
                             field_id, tl_decimal_bytes(type->precision), type->precision, type->scale);
    case TL_TYPE_UUID:
        return tl_buf_printf(out, "{\"type\":\"fixed\",\"name\":\"p%d\",\"size\":16,\"logicalType\":\"uuid\"}",
                             field_id);
    case TL_TYPE_FIXED:
        return tl_buf_printf(out, "{\"type\":\"fixed\",\"name\":\"p%d\",\"size\":%d}", field_id, type->length);
    default: return TL_INTERNAL;
    }
}

static tl_status put_partition_field(tl_buf *out, const tl_partition_field *f, const tl_type *type, tl_error *err) {
    bool changed;
    TL_TRY(tl_buf_add_text(out, "{\"name\":\""));
    TL_TRY(put_avro_name(out, f->name, &changed));
    TL_TRY(tl_buf_add_text(out, "\",\"type\":[\"null\","));
    TL_TRY(put_avro_type(out, type, f->field_id));
    TL_TRY(tl_buf_printf(out, "],\"default\":null,\"field-id\":%d", f->field_id));
    if (changed) {
        TL_TRY(tl_buf_add_text(out, ",\"iceberg-field-name\":"));
        TL_TRY(tl_json_put_string(out, f->name, err));
    }
    return tl_buf_add_byte(out, '}');
}

#define OPTIONAL(name, type, id)                                                                                       \
    ",{\"name\":\"" name "\",\"type\":[\"null\"," type "],\"default\":null,\"field-id\":" #id "}"
#define STAT_MAP(name, id, key, value, type)                                                                           \
    OPTIONAL(name,                                                                                                     \
             "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"k" #key "_v" #value                        \
             "\",\"fields\":[{\"name\":\"key\",\"type\":\"int\",\"field-id\":" #key                                    \
             "},{\"name\":\"value\",\"type\":\"" type "\",\"field-id\":" #value "}]},\"logicalType\":\"map\"}",        \
             id)

static const char schema_before_partition[] =
    "{\"type\":\"record\",\"name\":\"manifest_entry\",\"fields\":[{\"name\":\"status\",\"type\":\"int\",\"field-id\":"
    "0}" OPTIONAL("snapshot_id", "\"long\"", 1) OPTIONAL("sequence_number", "\"long\"", 3)
        OPTIONAL("file_sequence_number", "\"long\"",
                 4) ",{\"name\":\"data_file\",\"type\":{\"type\":\"record\",\"name\":\"r2\",\"fields\":["
                    "{\"name\":\"content\",\"type\":\"int\",\"default\":0,\"field-id\":134},"
                    "{\"name\":\"file_path\",\"type\":\"string\",\"field-id\":100},"
                    "{\"name\":\"file_format\",\"type\":\"string\",\"field-id\":101},"
                    "{\"name\":\"partition\",\"type\":{\"type\":\"record\",\"name\":\"r102\",\"fields\":[";

static const char schema_after_partition[] =
    "]},\"field-id\":102},"
    "{\"name\":\"record_count\",\"type\":\"long\",\"field-id\":103},"
    "{\"name\":\"file_size_in_bytes\",\"type\":\"long\",\"field-id\":104}" STAT_MAP("column_sizes", 108, 117, 118,
                                                                                    "long")
        STAT_MAP("value_counts", 109, 119, 120, "long") STAT_MAP("null_value_counts", 110, 121, 122, "long")
            STAT_MAP("nan_value_counts", 137, 138, 139, "long") STAT_MAP("lower_bounds", 125, 126, 127, "bytes")
                STAT_MAP("upper_bounds", 128, 129, 130, "bytes") OPTIONAL("key_metadata", "\"bytes\"", 131)
                    OPTIONAL("split_offsets", "{\"type\":\"array\",\"items\":\"long\",\"element-id\":133}", 132)
                        OPTIONAL("equality_ids", "{\"type\":\"array\",\"items\":\"int\",\"element-id\":136}", 135)
                            OPTIONAL("sort_order_id", "\"int\"", 140) OPTIONAL("first_row_id", "\"long\"", 142)
                                OPTIONAL("referenced_data_file", "\"string\"", 143)
                                    OPTIONAL("content_offset", "\"long\"", 144)
                                        OPTIONAL("content_size_in_bytes", "\"long\"", 145) "]},\"field-id\":2}]}";

static tl_status put_avro_schema(tl_buf *out, const tl_partition_spec *spec, const tl_type *types, tl_error *err) {
    TL_TRY(tl_buf_add_text(out, schema_before_partition));
    for (int32_t i = 0; i < spec->n_fields; i++) {
        if (i) {
            TL_TRY(tl_buf_add_byte(out, ','));
        }
        TL_TRY(put_partition_field(out, &spec->fields[i], &types[i], err));
    }
    return tl_buf_add_text(out, schema_after_partition);
}

/* ---- entries ---- */

static tl_status put_optional(tl_buf *out, int64_t v, bool there) {
    TL_TRY(tl_avro_put_branch(out, there));
    return there ? tl_avro_put_long(out, v) : TL_OK;
}

static tl_status put_decimal(tl_buf *out, tl_bytes v, int32_t size) {
    if (v.len == 0 || v.len > (size_t)size) {
        return TL_INVALID;
    }
    for (size_t i = v.len; i < (size_t)size; i++) {
        TL_TRY(tl_buf_add_byte(out, v.data[0] & 0x80 ? 0xff : 0));
    }
    return tl_buf_add(out, v.data, v.len);
}

static tl_status put_partition_value(tl_buf *out, const tl_type *type, tl_bytes v) {
    int64_t number;
    TL_TRY(tl_avro_put_branch(out, v.data != NULL));
    if (!v.data) {
        return TL_OK;
    }
    if (tl_value_int64(type, v, &number)) {
        return tl_avro_put_long(out, number);
    }
    switch (type->id) {
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: return tl_avro_put_bytes(out, v);
    case TL_TYPE_DECIMAL: return put_decimal(out, v, tl_decimal_bytes(type->precision));
    case TL_TYPE_BOOLEAN: return v.len == 1 ? tl_buf_add(out, v.data, 1) : TL_INVALID;
    case TL_TYPE_FLOAT: return v.len == 4 ? tl_buf_add(out, v.data, 4) : TL_INVALID;
    case TL_TYPE_DOUBLE: return v.len == 8 ? tl_buf_add(out, v.data, 8) : TL_INVALID;
    case TL_TYPE_UUID: return v.len == 16 ? tl_buf_add(out, v.data, 16) : TL_INVALID;
    case TL_TYPE_FIXED: return v.len == (size_t)type->length ? tl_buf_add(out, v.data, v.len) : TL_INVALID;
    default: return TL_INVALID; /* a number of the wrong length */
    }
}

typedef enum stat_kind { SIZES, VALUES, NULLS, NANS, LOWER, UPPER, STAT_KINDS } stat_kind;

static bool get_stat(const tl_column_stats *c, stat_kind kind, int64_t *number, tl_bytes *bound) {
    switch (kind) {
    case SIZES: *number = c->size; break;
    case VALUES: *number = c->values; break;
    case NULLS: *number = c->nulls; break;
    case NANS: *number = c->nans; break;
    case LOWER: *bound = c->lower; return bound->data != NULL;
    default: *bound = c->upper; return bound->data != NULL;
    }
    return *number >= 0;
}

static tl_status put_stats(tl_buf *out, const tl_data_file *f, stat_kind kind) {
    int64_t n = 0, number = 0;
    tl_bytes bound = {0};
    for (int32_t i = 0; i < f->n_columns; i++) {
        n += get_stat(&f->columns[i], kind, &number, &bound);
    }
    TL_TRY(tl_avro_put_branch(out, n > 0));
    if (n == 0) {
        return TL_OK;
    }
    TL_TRY(tl_avro_put_long(out, n));
    for (int32_t i = 0; i < f->n_columns; i++) {
        if (get_stat(&f->columns[i], kind, &number, &bound)) {
            TL_TRY(tl_avro_put_long(out, f->columns[i].field_id));
            TL_TRY(kind >= LOWER ? tl_avro_put_bytes(out, bound) : tl_avro_put_long(out, number));
        }
    }
    return tl_avro_put_long(out, 0);
}

static tl_status put_offsets(tl_buf *out, const tl_data_file *f) {
    TL_TRY(tl_avro_put_branch(out, f->n_split_offsets > 0));
    if (f->n_split_offsets == 0) {
        return TL_OK;
    }
    TL_TRY(tl_avro_put_long(out, f->n_split_offsets));
    for (int32_t i = 0; i < f->n_split_offsets; i++) {
        TL_TRY(tl_avro_put_long(out, f->split_offsets[i]));
    }
    return tl_avro_put_long(out, 0);
}

static tl_status put_equality_ids(tl_buf *out, const tl_data_file *f) {
    TL_TRY(tl_avro_put_branch(out, f->n_equality_ids > 0));
    if (f->n_equality_ids == 0) {
        return TL_OK;
    }
    TL_TRY(tl_avro_put_long(out, f->n_equality_ids));
    for (int32_t i = 0; i < f->n_equality_ids; i++) {
        TL_TRY(tl_avro_put_long(out, f->equality_ids[i]));
    }
    return tl_avro_put_long(out, 0);
}

static tl_status put_file(tl_buf *out, const tl_data_file *f, const tl_partition_spec *spec, const tl_type *types) {
    TL_TRY(tl_avro_put_long(out, f->content));
    TL_TRY(tl_avro_put_text(out, f->path));
    TL_TRY(tl_avro_put_text(out, f->format));
    for (int32_t i = 0; i < spec->n_fields; i++) {
        TL_TRY(put_partition_value(out, &types[i], f->partition[i].value));
    }
    TL_TRY(tl_avro_put_long(out, f->record_count));
    TL_TRY(tl_avro_put_long(out, f->file_size));
    for (int kind = 0; kind < STAT_KINDS; kind++) {
        TL_TRY(put_stats(out, f, (stat_kind)kind));
    }
    TL_TRY(tl_avro_put_branch(out, false)); /* key_metadata */
    TL_TRY(put_offsets(out, f));
    TL_TRY(put_equality_ids(out, f));
    TL_TRY(put_optional(out, f->sort_order_id, f->sort_order_id != -1));
    TL_TRY(put_optional(out, f->first_row_id, f->has_first_row_id));
    TL_TRY(tl_avro_put_branch(out, f->referenced_data_file != NULL));
    if (f->referenced_data_file) {
        TL_TRY(tl_avro_put_text(out, f->referenced_data_file));
    }
    TL_TRY(put_optional(out, f->content_offset, f->content_offset != -1));
    return put_optional(out, f->content_size, f->content_size != -1);
}

static tl_status check_entry(const tl_manifest *m, const tl_manifest_entry *e, const tl_partition_spec *spec,
                             tl_error *err) {
    const tl_data_file *f = &e->file;
    if (!f->path || !f->format || f->record_count < 0 || f->file_size < 0) {
        return tl_fail(err, TL_INVALID, "manifest entry without path, format, row count or size");
    }
    if (f->n_partition != spec->n_fields) {
        return tl_fail(err, TL_INVALID, "manifest entry %s has %d partition values, the partition spec %d fields",
                       f->path, f->n_partition, spec->n_fields);
    }
    if ((f->content == TL_CONTENT_DATA) != (m->content == TL_CONTENT_DATA)) {
        return tl_fail(err, TL_INVALID, "manifest entry %s: data files and delete files need manifests of their own",
                       f->path);
    }
    if (e->status != TL_ENTRY_ADDED && (e->snapshot_id == -1 || e->sequence_number == -1)) {
        return tl_fail(err, TL_INVALID, "manifest entry %s is not new and needs its snapshot and sequence number",
                       f->path);
    }
    return TL_OK;
}

static tl_status put_entries(const tl_manifest *m, const tl_partition_spec *spec, const tl_type *types, tl_buf *out,
                             tl_error *err) {
    for (int64_t i = 0; i < m->n_entries; i++) {
        const tl_manifest_entry *e = &m->entries[i];
        TL_TRY(check_entry(m, e, spec, err));
        TL_TRY(tl_avro_put_long(out, e->status));
        TL_TRY(put_optional(out, e->snapshot_id, e->snapshot_id != -1));
        TL_TRY(put_optional(out, e->sequence_number, e->sequence_number != -1));
        TL_TRY(put_optional(out, e->file_sequence_number, e->file_sequence_number != -1));
        tl_status status = put_file(out, &e->file, spec, types);
        if (status == TL_INVALID) {
            return tl_fail(err, TL_INVALID, "manifest entry %s: a partition value is not of its field's type",
                           e->file.path);
        }
        TL_TRY(status);
    }
    return TL_OK;
}

/* ---- the file ---- */

/* Texts of the header, in one buffer each. */
typedef struct texts {
    tl_buf schema, spec, avro, records;
    tl_type *types;
} texts;

static tl_status make_texts(texts *t, const tl_manifest *m, const tl_schema *schema, const tl_partition_spec *spec,
                            tl_error *err) {
    t->types = tl_alloc_array((size_t)spec->n_fields, sizeof *t->types);
    if (!t->types) {
        return TL_NO_MEMORY;
    }
    for (int32_t i = 0; i < spec->n_fields; i++) {
        TL_TRY(tl_partition_type(&spec->fields[i], schema, &t->types[i], err));
    }
    TL_TRY(tl_schema_write_json(schema, &t->schema, err));
    TL_TRY(tl_spec_fields_write_json(spec, &t->spec, err));
    TL_TRY(put_avro_schema(&t->avro, spec, t->types, err));
    return put_entries(m, spec, t->types, &t->records, err);
}

static tl_status put_manifest(const texts *t, const tl_manifest *m, const tl_schema *schema,
                              const tl_partition_spec *spec, tl_buf *out) {
    char schema_id[16], spec_id[16];
    uint8_t sync[16];
    (void)snprintf(schema_id, sizeof schema_id, "%d", schema->schema_id);
    (void)snprintf(spec_id, sizeof spec_id, "%d", spec->spec_id);
    const tl_avro_header_entry header[] = {
        {"content", tl_bytes_of(m->content == TL_CONTENT_DATA ? "data" : "deletes")},
        {"schema", tl_buf_bytes(&t->schema)},
        {"schema-id", tl_bytes_of(schema_id)},
        {"partition-spec", tl_buf_bytes(&t->spec)},
        {"partition-spec-id", tl_bytes_of(spec_id)},
        {"format-version", tl_bytes_of(m->format_version >= 3 ? "3" : "2")},
        {"avro.schema", tl_buf_bytes(&t->avro)},
        {"avro.codec", tl_bytes_of("null")},
    };
    TL_TRY(tl_avro_put_header(out, header, TL_COUNT(header), sync));
    return m->n_entries ? tl_avro_put_block(out, m->n_entries, tl_buf_bytes(&t->records), sync) : TL_OK;
}

tl_status tl_manifest_write(const tl_manifest *m, const tl_schema *schema, const tl_partition_spec *spec, tl_buf *out,
                            tl_error *err) {
    texts t = {0};
    size_t before = out->len;
    tl_status status = make_texts(&t, m, schema, spec, err);
    status = status == TL_OK ? put_manifest(&t, m, schema, spec, out) : status;
    tl_buf_free(&t.schema);
    tl_buf_free(&t.spec);
    tl_buf_free(&t.avro);
    tl_buf_free(&t.records);
    tl_free(t.types);
    if (status != TL_OK) {
        out->len = before;
    }
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}

/* ---- the entry of the list ---- */

static bool is_nan_value(const tl_type *type, tl_bytes v) {
    float f;
    double d;
    if (type->id == TL_TYPE_FLOAT && v.len == 4) {
        memcpy(&f, v.data, 4);
        return isnan(f) != 0;
    }
    if (type->id == TL_TYPE_DOUBLE && v.len == 8) {
        memcpy(&d, v.data, 8);
        return isnan(d) != 0;
    }
    return false;
}

static tl_status extend_summary(tl_partition_summary *s, const tl_type *type, tl_bytes v, tl_error *err) {
    int order;
    if (!v.data) {
        s->contains_null = true;
        return TL_OK;
    }
    if (is_nan_value(type, v)) {
        s->contains_nan = true;
        return TL_OK;
    }
    TL_TRY(tl_value_compare(type, v, s->lower.data ? s->lower : v, &order, err));
    s->lower = !s->lower.data || order < 0 ? v : s->lower;
    TL_TRY(tl_value_compare(type, v, s->upper.data ? s->upper : v, &order, err));
    s->upper = !s->upper.data || order > 0 ? v : s->upper;
    return TL_OK;
}

static tl_status keep_bound(tl_arena *arena, tl_bytes *bound, tl_error *err) {
    if (bound->data) {
        bound->data = (const uint8_t *)tl_arena_strndup(arena, (const char *)bound->data, bound->len);
        return bound->data ? TL_OK : tl_fail_memory(err, bound->len);
    }
    return TL_OK;
}

static tl_status summarize(const tl_manifest *m, const tl_schema *schema, const tl_partition_spec *spec,
                           tl_arena *arena, tl_manifest_file *out, tl_error *err) {
    out->n_partitions = spec->n_fields;
    out->partitions = tl_arena_array(arena, (size_t)spec->n_fields, sizeof *out->partitions);
    if (!out->partitions) {
        return tl_fail_memory(err, 0);
    }
    for (int32_t i = 0; i < spec->n_fields; i++) {
        tl_partition_summary *s = &out->partitions[i];
        tl_type type;
        TL_TRY(tl_partition_type(&spec->fields[i], schema, &type, err));
        s->has_contains_nan = true;
        for (int64_t k = 0; k < m->n_entries; k++) {
            TL_TRY(extend_summary(s, &type, m->entries[k].file.partition[i].value, err));
        }
        TL_TRY(keep_bound(arena, &s->lower, err));
        TL_TRY(keep_bound(arena, &s->upper, err));
    }
    return TL_OK;
}

tl_status tl_manifest_describe(const tl_manifest *m, const tl_schema *schema, const tl_partition_spec *spec,
                               const char *path, int64_t length, int64_t snapshot_id, int64_t sequence_number,
                               tl_arena *arena, tl_manifest_file *out, tl_error *err) {
    *out = (tl_manifest_file){.path = path,
                              .length = length,
                              .spec_id = spec->spec_id,
                              .content = m->content == TL_CONTENT_DATA ? TL_CONTENT_DATA : TL_CONTENT_POSITION_DELETES,
                              .sequence_number = sequence_number,
                              .min_sequence_number = sequence_number,
                              .added_snapshot_id = snapshot_id};
    for (int64_t i = 0; i < m->n_entries; i++) {
        const tl_manifest_entry *e = &m->entries[i];
        TL_TRY(check_entry(m, e, spec, err));
        int32_t *files = e->status == TL_ENTRY_ADDED      ? &out->added_files
                         : e->status == TL_ENTRY_EXISTING ? &out->existing_files
                                                          : &out->deleted_files;
        int64_t *rows = e->status == TL_ENTRY_ADDED      ? &out->added_rows
                        : e->status == TL_ENTRY_EXISTING ? &out->existing_rows
                                                         : &out->deleted_rows;
        if (*files == INT32_MAX || !tl_i64_add(*rows, e->file.record_count, rows)) {
            return tl_fail(err, TL_INVALID, "manifest %s has too many files or rows", path);
        }
        (*files)++;
        if (e->status != TL_ENTRY_DELETED && e->sequence_number != -1 &&
            e->sequence_number < out->min_sequence_number) {
            out->min_sequence_number = e->sequence_number;
        }
    }
    return summarize(m, schema, spec, arena, out, err);
}
