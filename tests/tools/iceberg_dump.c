/*
 * For the end-to-end tests: shows what the Iceberg room reads. Comes in: a file. Goes out, on standard output: one line
 * of JSON; a failure is one line on standard error and exit status 1. With OUT the file is also written again by us.
 *
 *   iceberg_dump metadata FILE                 the metadata as we write them
 *   iceberg_dump list FILE [OUT]               the entries of a manifest list
 *   iceberg_dump manifest FILE [OUT METADATA]  the entries of a manifest; METADATA gives schema and partition spec
 *   iceberg_dump dv FILE                       the positions of a deletion vector's blob
 */
#include <stdio.h>
#include <string.h>

#include "iceberg/json.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

static tl_status no_memory(tl_status status, tl_error *err) {
    return status == TL_NO_MEMORY ? tl_fail_memory(err, 0) : status;
}

static tl_status read_file(const char *path, tl_buf *out, tl_error *err) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        return tl_fail(err, TL_IO, "%s cannot be opened", path);
    }
    tl_status status = TL_OK;
    size_t n = 1;
    while (status == TL_OK && n) {
        status = tl_buf_reserve(out, 65536);
        n = status == TL_OK ? fread(out->data + out->len, 1, 65536, f) : 0;
        out->len += n;
    }
    (void)fclose(f);
    return no_memory(status, err);
}

static tl_status write_file(const char *path, tl_bytes data, tl_error *err) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data.data, 1, data.len, f) == data.len;
    ok = f && fclose(f) == 0 && ok;
    return ok ? TL_OK : tl_fail(err, TL_IO, "%s cannot be written", path);
}

/* ---- JSON of values ---- */

static tl_status put_hex(tl_buf *out, tl_bytes v) {
    if (!v.data) {
        return tl_buf_add_text(out, "null");
    }
    TL_TRY(tl_buf_add_byte(out, '"'));
    for (size_t i = 0; i < v.len; i++) {
        TL_TRY(tl_buf_printf(out, "%02x", v.data[i]));
    }
    return tl_buf_add_byte(out, '"');
}

/* -1 is null. */
static tl_status put_number(tl_buf *out, const char *key_and_colon, int64_t v) {
    return v == -1 ? tl_buf_printf(out, "%snull", key_and_colon)
                   : tl_buf_printf(out, "%s%lld", key_and_colon, (long long)v);
}

static tl_status put_text(tl_buf *out, const char *key_and_colon, const char *v, tl_error *err) {
    TL_TRY(tl_buf_add_text(out, key_and_colon));
    return v ? tl_json_put_string(out, v, err) : tl_buf_add_text(out, "null");
}

static tl_status put_column(tl_buf *out, const tl_column_stats *c, bool first) {
    TL_TRY(tl_buf_printf(out, "%s[%d", first ? "" : ",", c->field_id));
    TL_TRY(put_number(out, ",", c->size));
    TL_TRY(put_number(out, ",", c->values));
    TL_TRY(put_number(out, ",", c->nulls));
    TL_TRY(put_number(out, ",", c->nans));
    TL_TRY(tl_buf_add_byte(out, ','));
    TL_TRY(put_hex(out, c->lower));
    TL_TRY(tl_buf_add_byte(out, ','));
    TL_TRY(put_hex(out, c->upper));
    return tl_buf_add_byte(out, ']');
}

static tl_status put_lists(tl_buf *out, const tl_data_file *f) {
    TL_TRY(tl_buf_add_text(out, ",\"partition\":["));
    for (int32_t i = 0; i < f->n_partition; i++) {
        TL_TRY(tl_buf_add_text(out, i ? "," : ""));
        TL_TRY(put_hex(out, f->partition[i].value));
    }
    TL_TRY(tl_buf_add_text(out, "],\"split_offsets\":["));
    for (int32_t i = 0; i < f->n_split_offsets; i++) {
        TL_TRY(put_number(out, i ? "," : "", f->split_offsets[i]));
    }
    TL_TRY(tl_buf_add_text(out, "],\"equality_ids\":["));
    for (int32_t i = 0; i < f->n_equality_ids; i++) {
        TL_TRY(put_number(out, i ? "," : "", f->equality_ids[i]));
    }
    TL_TRY(tl_buf_add_text(out, "],\"columns\":["));
    for (int32_t i = 0; i < f->n_columns; i++) {
        TL_TRY(put_column(out, &f->columns[i], i == 0));
    }
    return tl_buf_add_byte(out, ']');
}

static tl_status put_entry(tl_buf *out, const tl_manifest_entry *e, tl_error *err) {
    const tl_data_file *f = &e->file;
    TL_TRY(tl_buf_printf(out, "{\"status\":%d", e->status));
    TL_TRY(put_number(out, ",\"snapshot_id\":", e->snapshot_id));
    TL_TRY(put_number(out, ",\"sequence_number\":", e->sequence_number));
    TL_TRY(put_number(out, ",\"file_sequence_number\":", e->file_sequence_number));
    TL_TRY(tl_buf_printf(out, ",\"content\":%d", f->content));
    TL_TRY(put_text(out, ",\"file_path\":", f->path, err));
    TL_TRY(put_text(out, ",\"file_format\":", f->format, err));
    TL_TRY(put_number(out, ",\"record_count\":", f->record_count));
    TL_TRY(put_number(out, ",\"file_size_in_bytes\":", f->file_size));
    TL_TRY(put_number(out, ",\"sort_order_id\":", f->sort_order_id));
    TL_TRY(put_text(out, ",\"referenced_data_file\":", f->referenced_data_file, err));
    TL_TRY(put_number(out, ",\"content_offset\":", f->content_offset));
    TL_TRY(put_number(out, ",\"content_size_in_bytes\":", f->content_size));
    TL_TRY(put_lists(out, f));
    return tl_buf_add_byte(out, '}');
}

static tl_status put_manifest(tl_buf *out, const tl_manifest *m, tl_error *err) {
    TL_TRY(tl_buf_printf(out, "{\"format_version\":%d,\"content\":%d,\"schema_id\":%d,\"spec_id\":%d,\"entries\":[",
                         m->format_version, m->content, m->schema_id, m->spec_id));
    for (int64_t i = 0; i < m->n_entries; i++) {
        TL_TRY(tl_buf_add_text(out, i ? "," : ""));
        TL_TRY(put_entry(out, &m->entries[i], err));
    }
    return tl_buf_add_text(out, "]}");
}

static tl_status put_summary(tl_buf *out, const tl_partition_summary *s, bool first) {
    const char *nan = !s->has_contains_nan ? "null" : s->contains_nan ? "true" : "false";
    TL_TRY(tl_buf_printf(out, "%s[%s,%s,", first ? "" : ",", s->contains_null ? "true" : "false", nan));
    TL_TRY(put_hex(out, s->lower));
    TL_TRY(tl_buf_add_byte(out, ','));
    TL_TRY(put_hex(out, s->upper));
    return tl_buf_add_byte(out, ']');
}

static tl_status put_listed(tl_buf *out, const tl_manifest_file *f, tl_error *err) {
    TL_TRY(put_text(out, "{\"manifest_path\":", f->path, err));
    TL_TRY(put_number(out, ",\"manifest_length\":", f->length));
    TL_TRY(put_number(out, ",\"partition_spec_id\":", f->spec_id));
    TL_TRY(put_number(out, ",\"content\":", f->content));
    TL_TRY(put_number(out, ",\"sequence_number\":", f->sequence_number));
    TL_TRY(put_number(out, ",\"min_sequence_number\":", f->min_sequence_number));
    TL_TRY(put_number(out, ",\"added_snapshot_id\":", f->added_snapshot_id));
    TL_TRY(put_number(out, ",\"files\":[", f->added_files));
    TL_TRY(put_number(out, ",", f->existing_files));
    TL_TRY(put_number(out, ",", f->deleted_files));
    TL_TRY(put_number(out, "],\"rows\":[", f->added_rows));
    TL_TRY(put_number(out, ",", f->existing_rows));
    TL_TRY(put_number(out, ",", f->deleted_rows));
    TL_TRY(tl_buf_add_text(out, "],\"partitions\":["));
    for (int32_t i = 0; i < f->n_partitions; i++) {
        TL_TRY(put_summary(out, &f->partitions[i], i == 0));
    }
    return tl_buf_add_text(out, "]}");
}

/* ---- the three kinds of files ---- */

static tl_status dump_metadata(tl_bytes file, tl_buf *out, tl_error *err) {
    tl_metadata m;
    TL_TRY(tl_metadata_parse(file, &m, err));
    tl_status status = tl_metadata_write(&m, out, err);
    tl_metadata_free(&m);
    return status;
}

static tl_status dump_list(tl_bytes file, const char *rewrite, tl_arena *arena, tl_buf *out, tl_error *err) {
    tl_manifest_file *list;
    int64_t n;
    TL_TRY(tl_manifest_list_parse(file, arena, &list, &n, err));
    TL_TRY(tl_buf_add_byte(out, '['));
    for (int64_t i = 0; i < n; i++) {
        TL_TRY(tl_buf_add_text(out, i ? "," : ""));
        TL_TRY(put_listed(out, &list[i], err));
    }
    TL_TRY(tl_buf_add_byte(out, ']'));
    if (!rewrite) {
        return TL_OK;
    }
    tl_buf again = {0};
    tl_status status = tl_manifest_list_write(list, n, n ? list[0].added_snapshot_id : 1, -1,
                                              n ? list[0].sequence_number : 1, &again, err);
    status = status == TL_OK ? write_file(rewrite, tl_buf_bytes(&again), err) : status;
    tl_buf_free(&again);
    return status;
}

static tl_status rewrite_manifest(const tl_manifest *m, const char *rewrite, const char *metadata, tl_error *err) {
    tl_buf json = {0}, again = {0};
    tl_metadata table = {0};
    tl_status status = read_file(metadata, &json, err);
    status = status == TL_OK ? tl_metadata_parse(tl_buf_bytes(&json), &table, err) : status;
    if (status == TL_OK) {
        const tl_schema *schema = tl_metadata_schema_by_id(&table, m->schema_id);
        const tl_partition_spec *spec = tl_metadata_spec_by_id(&table, m->spec_id);
        schema = schema ? schema : tl_metadata_schema(&table);
        status = spec ? tl_manifest_write(m, schema, spec, &again, err) : tl_fail(err, TL_CORRUPT, "no such spec");
    }
    status = status == TL_OK ? write_file(rewrite, tl_buf_bytes(&again), err) : status;
    tl_metadata_free(&table);
    tl_buf_free(&json);
    tl_buf_free(&again);
    return status;
}

static tl_status dump_manifest(tl_bytes file, const char *rewrite, const char *metadata, tl_arena *arena, tl_buf *out,
                               tl_error *err) {
    tl_manifest m;
    TL_TRY(tl_manifest_parse(file, NULL, arena, &m, err));
    TL_TRY(put_manifest(out, &m, err));
    return rewrite && metadata ? rewrite_manifest(&m, rewrite, metadata, err) : TL_OK;
}

static tl_status dump_deletion_vector(tl_bytes file, tl_arena *arena, tl_buf *out, tl_error *err) {
    uint64_t *positions;
    int64_t n;
    TL_TRY(tl_deletion_vector_parse(file, arena, &positions, &n, err));
    for (int64_t i = 0; i < n; i++) {
        TL_TRY(tl_buf_printf(out, "%s%llu", i ? "," : "[", (unsigned long long)positions[i]));
    }
    return tl_buf_add_text(out, n ? "]" : "[]");
}

static tl_status run(int argc, char **argv, tl_buf *out, tl_error *err) {
    tl_buf file = {0};
    tl_arena arena = {0};
    const char *rewrite = argc > 3 ? argv[3] : NULL;
    tl_status status = read_file(argv[2], &file, err);
    if (status == TL_OK && strcmp(argv[1], "metadata") == 0) {
        status = dump_metadata(tl_buf_bytes(&file), out, err);
    } else if (status == TL_OK && strcmp(argv[1], "list") == 0) {
        status = no_memory(dump_list(tl_buf_bytes(&file), rewrite, &arena, out, err), err);
    } else if (status == TL_OK && strcmp(argv[1], "manifest") == 0) {
        const char *metadata = argc > 4 ? argv[4] : NULL;
        status = no_memory(dump_manifest(tl_buf_bytes(&file), rewrite, metadata, &arena, out, err), err);
    } else if (status == TL_OK && strcmp(argv[1], "dv") == 0) {
        status = no_memory(dump_deletion_vector(tl_buf_bytes(&file), &arena, out, err), err);
    } else if (status == TL_OK) {
        status = tl_fail(err, TL_INVALID, "%s is not metadata, list, manifest or dv", argv[1]);
    }
    tl_arena_free(&arena);
    tl_buf_free(&file);
    return status;
}

int main(int argc, char **argv) {
    tl_buf out = {0};
    tl_error err = {{0}};
    if (argc < 3 || argc > 5) {
        (void)fprintf(stderr, "usage: iceberg_dump metadata|list|manifest|dv FILE [OUT [METADATA]]\n");
        return 2;
    }
    tl_status status = run(argc, argv, &out, &err);
    if (status == TL_OK) {
        printf("%.*s\n", (int)out.len, (const char *)out.data);
    } else {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    tl_buf_free(&out);
    return status == TL_OK ? 0 : 1;
}
