/*
 * Manifest lists, both ways. Comes in: an Avro file of any writer, or entries. Goes out: entries, or an Avro file in
 * format v2 with the layout of spec a.4.
 */
#include <stdio.h>

#include "iceberg/manifest_internal.h"

static const tl_avro_name names[] = {{"manifest_path", 500},
                                     {"manifest_length", 501},
                                     {"partition_spec_id", 502},
                                     {"content", 517},
                                     {"sequence_number", 515},
                                     {"min_sequence_number", 516},
                                     {"added_snapshot_id", 503},
                                     {"added_files_count", 504},
                                     {"existing_files_count", 505},
                                     {"deleted_files_count", 506},
                                     {"added_rows_count", 512},
                                     {"existing_rows_count", 513},
                                     {"deleted_rows_count", 514},
                                     {"partitions", 507},
                                     {"first_row_id", 520},
                                     {"key_metadata", 519},
                                     {"added_data_files_count", 504},
                                     {"existing_data_files_count", 505},
                                     {"deleted_data_files_count", 506}};
static const tl_avro_name summary_names[] = {
    {"contains_null", 509}, {"contains_nan", 518}, {"lower_bound", 510}, {"upper_bound", 511}};

typedef struct reader {
    tl_avro_reader avro;
    tl_avro_cursor *c;
    tl_arena *arena;
    tl_error *err;
} reader;

static tl_status corrupt(reader *r, const char *what) {
    return tl_fail(r->err, TL_CORRUPT, "manifest list: %s", what);
}

static tl_status take_number(reader *r, const tl_avro_node *node, int64_t high, int64_t *out) {
    bool there;
    int64_t v = 0;
    TL_TRY(tl_avro_take_long(r->c, node, &there, &v));
    if (there && (v < 0 || v > high)) {
        return corrupt(r, "a number is out of range");
    }
    *out = there ? v : *out;
    return TL_OK;
}

static tl_status take_int(reader *r, const tl_avro_node *node, int32_t *out) {
    int64_t v = *out;
    TL_TRY(take_number(r, node, INT32_MAX, &v));
    *out = (int32_t)v;
    return TL_OK;
}

static tl_status take_bound(reader *r, const tl_avro_node *node, tl_bytes *out) {
    bool there;
    tl_bytes raw;
    TL_TRY(tl_avro_take_bytes(r->c, node, &there, &raw));
    if (!there) {
        return TL_OK;
    }
    char *copy = tl_arena_strndup(r->arena, (const char *)raw.data, raw.len);
    *out = (tl_bytes){(const uint8_t *)copy, raw.len};
    return copy ? TL_OK : tl_fail_memory(r->err, raw.len);
}

static tl_status take_summary(reader *r, const tl_avro_node *node, tl_partition_summary *out) {
    bool there;
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (node->kind != TL_AVRO_RECORD) {
        return corrupt(r, "a partition summary is not a record");
    }
    *out = (tl_partition_summary){0};
    for (int32_t i = 0; i < node->n_parts; i++) {
        const tl_avro_node *part = node->parts[i].node;
        switch (node->parts[i].field_id) {
        case 509: TL_TRY(tl_avro_take_bool(r->c, part, &there, &out->contains_null)); break;
        case 518: TL_TRY(tl_avro_take_bool(r->c, part, &out->has_contains_nan, &out->contains_nan)); break;
        case 510: TL_TRY(take_bound(r, part, &out->lower)); break;
        case 511: TL_TRY(take_bound(r, part, &out->upper)); break;
        default: TL_TRY(tl_avro_skip(r->c, part)); break;
        }
    }
    return TL_OK;
}

static tl_status take_summaries_into(reader *r, const tl_avro_node *node, tl_buf *list) {
    tl_avro_items items;
    TL_TRY(tl_avro_items_begin(r->c, node, &items));
    for (;;) {
        bool more;
        tl_partition_summary s;
        TL_TRY(tl_avro_items_next(r->c, &items, &more));
        if (!more) {
            return TL_OK;
        }
        TL_TRY(take_summary(r, items.item, &s));
        if (tl_buf_add(list, &s, sizeof s) != TL_OK) {
            return tl_fail_memory(r->err, list->len);
        }
    }
}

static tl_status take_summaries(reader *r, const tl_avro_node *node, tl_manifest_file *f) {
    bool there;
    tl_buf list = {0};
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (!there) {
        return TL_OK;
    }
    tl_status status = take_summaries_into(r, node, &list);
    if (status == TL_OK) {
        f->n_partitions = (int32_t)(list.len / sizeof *f->partitions);
        f->partitions = tl_arena_copy(r->arena, list.data, list.len);
        status = f->partitions ? TL_OK : tl_fail_memory(r->err, list.len);
    }
    tl_buf_free(&list);
    return status;
}

static tl_status take_path(reader *r, const tl_avro_node *node, tl_manifest_file *f) {
    tl_bytes path = {0};
    TL_TRY(take_bound(r, node, &path));
    if (path.len && memchr(path.data, 0, path.len)) {
        return corrupt(r, "a path holds a NUL character");
    }
    f->path = (const char *)path.data;
    return TL_OK;
}

static tl_status take_key(reader *r, const tl_avro_node *node) {
    bool there;
    tl_bytes key;
    TL_TRY(tl_avro_take_bytes(r->c, node, &there, &key));
    return there ? tl_fail(r->err, TL_UNSUPPORTED, "manifest list: a manifest is encrypted; such tables are not read")
                 : TL_OK;
}

static tl_status take_first_row(reader *r, const tl_avro_node *node, tl_manifest_file *f) {
    int64_t v = -1;
    TL_TRY(take_number(r, node, INT64_MAX, &v));
    f->has_first_row_id = v >= 0;
    f->first_row_id = v >= 0 ? v : 0;
    return TL_OK;
}

static tl_status take_field(reader *r, int32_t field_id, const tl_avro_node *node, tl_manifest_file *f) {
    int64_t content = 0;
    switch (field_id) {
    case 500: return take_path(r, node, f);
    case 501: return take_number(r, node, INT64_MAX, &f->length);
    case 502: return take_int(r, node, &f->spec_id);
    case 517:
        TL_TRY(take_number(r, node, 1, &content));
        f->content = content ? TL_CONTENT_POSITION_DELETES : TL_CONTENT_DATA;
        return TL_OK;
    case 515: return take_number(r, node, INT64_MAX, &f->sequence_number);
    case 516: return take_number(r, node, INT64_MAX, &f->min_sequence_number);
    case 503: return take_number(r, node, INT64_MAX, &f->added_snapshot_id);
    case 504: return take_int(r, node, &f->added_files);
    case 505: return take_int(r, node, &f->existing_files);
    case 506: return take_int(r, node, &f->deleted_files);
    case 512: return take_number(r, node, INT64_MAX, &f->added_rows);
    case 513: return take_number(r, node, INT64_MAX, &f->existing_rows);
    case 514: return take_number(r, node, INT64_MAX, &f->deleted_rows);
    case 507: return take_summaries(r, node, f);
    case 519: return take_key(r, node);
    case 520: return take_first_row(r, node, f);
    default: return tl_avro_skip(r->c, node);
    }
}

static tl_status take_entry(reader *r, tl_manifest_file *f) {
    const tl_avro_node *node = r->avro.schema;
    *f = (tl_manifest_file){.length = -1,
                            .added_files = -1,
                            .existing_files = -1,
                            .deleted_files = -1,
                            .added_rows = -1,
                            .existing_rows = -1,
                            .deleted_rows = -1,
                            .added_snapshot_id = -1};
    for (int32_t i = 0; i < node->n_parts; i++) {
        TL_TRY(take_field(r, node->parts[i].field_id, node->parts[i].node, f));
    }
    return f->path && f->length >= 0 ? TL_OK : corrupt(r, "an entry has no path or no length");
}

static tl_status take_entries(reader *r, tl_buf *list) {
    for (;;) {
        bool more;
        tl_manifest_file f;
        TL_TRY(tl_avro_next(&r->avro, &more, r->err));
        if (!more) {
            return TL_OK;
        }
        TL_TRY(take_entry(r, &f));
        if (tl_buf_add(list, &f, sizeof f) != TL_OK) {
            return tl_fail_memory(r->err, list->len);
        }
    }
}

static tl_status read_schema(reader *r) {
    TL_TRY(tl_avro_give_ids(r->avro.schema, names, TL_COUNT(names), "manifest list", r->err));
    tl_avro_node *partitions = tl_avro_field(r->avro.schema, 507);
    if (!partitions) {
        return TL_OK;
    }
    if (partitions->kind != TL_AVRO_ARRAY) {
        return corrupt(r, "the partition summaries are not a list");
    }
    return tl_avro_give_ids(tl_avro_not_null(partitions->parts[0].node), summary_names, TL_COUNT(summary_names),
                            "manifest list", r->err);
}

tl_status tl_manifest_list_parse(tl_bytes avro, tl_arena *arena, tl_manifest_file **out, int64_t *n_out,
                                 tl_error *err) {
    reader r = {.arena = arena, .err = err};
    tl_buf list = {0};
    *out = NULL;
    *n_out = 0;
    TL_TRY(tl_avro_open(avro, "manifest list", &r.avro, err));
    r.c = &r.avro.cursor;
    tl_status status = read_schema(&r);
    status = status == TL_OK ? take_entries(&r, &list) : status;
    if (status == TL_OK) {
        *out = tl_arena_copy(arena, list.data, list.len);
        *n_out = *out ? (int64_t)(list.len / sizeof **out) : 0;
        status = *out ? TL_OK : tl_fail_memory(err, list.len);
    }
    tl_buf_free(&list);
    tl_avro_close(&r.avro);
    return status;
}

/* ---- writing ---- */

static const char list_schema[] =
    "{\"type\":\"record\",\"name\":\"manifest_file\",\"fields\":["
    "{\"name\":\"manifest_path\",\"type\":\"string\",\"field-id\":500},"
    "{\"name\":\"manifest_length\",\"type\":\"long\",\"field-id\":501},"
    "{\"name\":\"partition_spec_id\",\"type\":\"int\",\"field-id\":502},"
    "{\"name\":\"content\",\"type\":\"int\",\"field-id\":517},"
    "{\"name\":\"sequence_number\",\"type\":\"long\",\"field-id\":515},"
    "{\"name\":\"min_sequence_number\",\"type\":\"long\",\"field-id\":516},"
    "{\"name\":\"added_snapshot_id\",\"type\":\"long\",\"field-id\":503},"
    "{\"name\":\"added_files_count\",\"type\":\"int\",\"field-id\":504},"
    "{\"name\":\"existing_files_count\",\"type\":\"int\",\"field-id\":505},"
    "{\"name\":\"deleted_files_count\",\"type\":\"int\",\"field-id\":506},"
    "{\"name\":\"added_rows_count\",\"type\":\"long\",\"field-id\":512},"
    "{\"name\":\"existing_rows_count\",\"type\":\"long\",\"field-id\":513},"
    "{\"name\":\"deleted_rows_count\",\"type\":\"long\",\"field-id\":514},"
    "{\"name\":\"partitions\",\"type\":[\"null\",{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"r508\","
    "\"fields\":[{\"name\":\"contains_null\",\"type\":\"boolean\",\"field-id\":509},"
    "{\"name\":\"contains_nan\",\"type\":[\"null\",\"boolean\"],\"default\":null,\"field-id\":518},"
    "{\"name\":\"lower_bound\",\"type\":[\"null\",\"bytes\"],\"default\":null,\"field-id\":510},"
    "{\"name\":\"upper_bound\",\"type\":[\"null\",\"bytes\"],\"default\":null,\"field-id\":511}]},"
    "\"element-id\":508}],\"default\":null,\"field-id\":507},"
    "{\"name\":\"key_metadata\",\"type\":[\"null\",\"bytes\"],\"default\":null,\"field-id\":519}]}";

static tl_status put_bound(tl_buf *out, tl_bytes bound) {
    TL_TRY(tl_avro_put_branch(out, bound.data != NULL));
    return bound.data ? tl_avro_put_bytes(out, bound) : TL_OK;
}

static tl_status put_summaries(tl_buf *out, const tl_manifest_file *f) {
    TL_TRY(tl_avro_put_branch(out, true));
    if (f->n_partitions) {
        TL_TRY(tl_avro_put_long(out, f->n_partitions));
    }
    for (int32_t i = 0; i < f->n_partitions; i++) {
        const tl_partition_summary *s = &f->partitions[i];
        TL_TRY(tl_buf_add_byte(out, s->contains_null));
        TL_TRY(tl_avro_put_branch(out, s->has_contains_nan));
        if (s->has_contains_nan) {
            TL_TRY(tl_buf_add_byte(out, s->contains_nan));
        }
        TL_TRY(put_bound(out, s->lower));
        TL_TRY(put_bound(out, s->upper));
    }
    return tl_avro_put_long(out, 0);
}

static tl_status put_entry(tl_buf *out, const tl_manifest_file *f) {
    const int64_t before[] = {f->length,
                              f->spec_id,
                              f->content == TL_CONTENT_DATA ? 0 : 1,
                              f->sequence_number,
                              f->min_sequence_number,
                              f->added_snapshot_id,
                              f->added_files,
                              f->existing_files,
                              f->deleted_files,
                              f->added_rows,
                              f->existing_rows,
                              f->deleted_rows};
    TL_TRY(tl_avro_put_text(out, f->path));
    for (size_t i = 0; i < TL_COUNT(before); i++) {
        TL_TRY(tl_avro_put_long(out, before[i]));
    }
    TL_TRY(put_summaries(out, f));
    return tl_avro_put_branch(out, false); /* key_metadata */
}

static tl_status put_first_row(tl_buf *out, const tl_manifest_file *f) {
    TL_TRY(tl_avro_put_branch(out, f->has_first_row_id));
    return f->has_first_row_id ? tl_avro_put_long(out, f->first_row_id) : TL_OK;
}

static tl_status put_entries(int32_t version, const tl_manifest_file *files, int64_t n, tl_buf *out, tl_error *err) {
    for (int64_t i = 0; i < n; i++) {
        const tl_manifest_file *f = &files[i];
        if (!f->path || f->length < 0 || f->added_snapshot_id < 0) {
            return tl_fail(err, TL_INVALID, "manifest list entry without path, length or snapshot");
        }
        if (f->added_files < 0 || f->existing_files < 0 || f->deleted_files < 0 || f->added_rows < 0 ||
            f->existing_rows < 0 || f->deleted_rows < 0) {
            return tl_fail(err, TL_UNSUPPORTED, "manifest %s: its counts are not in the list that it comes from",
                           f->path);
        }
        TL_TRY(put_entry(out, f));
        if (version >= 3) {
            TL_TRY(put_first_row(out, f));
        }
    }
    return TL_OK;
}

/* v3: one more field behind those of v2. */
static tl_status put_schema(int32_t version, tl_buf *out) {
    size_t open = sizeof list_schema - 1 - 2; /* up to "]}" */
    TL_TRY(tl_buf_add(out, list_schema, version >= 3 ? open : sizeof list_schema - 1));
    return version >= 3 ? tl_buf_add_text(out, ",{\"name\":\"first_row_id\",\"type\":[\"null\",\"long\"],"
                                               "\"default\":null,\"field-id\":520}]}")
                        : TL_OK;
}

static tl_status put_list(int32_t version, tl_buf *out, tl_bytes schema, tl_bytes records, int64_t n,
                          int64_t snapshot_id, int64_t parent_id, int64_t sequence_number) {
    char snapshot[24], parent[24], sequence[24];
    uint8_t sync[16];
    (void)snprintf(snapshot, sizeof snapshot, "%lld", (long long)snapshot_id);
    (void)snprintf(parent, sizeof parent, "%lld", (long long)parent_id);
    (void)snprintf(sequence, sizeof sequence, "%lld", (long long)sequence_number);
    const tl_avro_header_entry header[] = {
        {"snapshot-id", tl_bytes_of(snapshot)},
        {"parent-snapshot-id", tl_bytes_of(parent_id == -1 ? "null" : parent)},
        {"sequence-number", tl_bytes_of(sequence)},
        {"format-version", tl_bytes_of(version >= 3 ? "3" : "2")},
        {"avro.schema", schema},
        {"avro.codec", tl_bytes_of("null")},
    };
    TL_TRY(tl_avro_put_header(out, header, TL_COUNT(header), sync));
    return n ? tl_avro_put_block(out, n, records, sync) : TL_OK;
}

tl_status tl_manifest_list_write(const tl_manifest_file *files, int64_t n, int64_t snapshot_id, int64_t parent_id,
                                 int64_t sequence_number, tl_buf *out, tl_error *err) {
    return tl_manifest_list_write_as(2, files, n, snapshot_id, parent_id, sequence_number, out, err);
}

tl_status tl_manifest_list_write_as(int32_t format_version, const tl_manifest_file *files, int64_t n,
                                    int64_t snapshot_id, int64_t parent_id, int64_t sequence_number, tl_buf *out,
                                    tl_error *err) {
    tl_buf schema = {0}, records = {0};
    size_t before = out->len;
    tl_status status = put_entries(format_version, files, n, &records, err);
    if (status == TL_OK) {
        status = put_schema(format_version, &schema);
    }
    if (status == TL_OK) {
        status = put_list(format_version, out, tl_buf_bytes(&schema), tl_buf_bytes(&records), n, snapshot_id, parent_id,
                          sequence_number);
    }
    tl_buf_free(&schema);
    tl_buf_free(&records);
    if (status != TL_OK) {
        out->len = before;
    }
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}
