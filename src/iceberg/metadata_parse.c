/*
 * Table metadata: JSON text to tl_metadata. Comes in: the bytes of a metadata file of format version 1, 2 or 3, gzip'd
 * or not. Goes out: the checked tree; ids that refer to something refer to something that is there.
 */
#include "iceberg/json_internal.h"
#include "iceberg/metadata.h"

static const int32_t none32 = -1, zero32 = 0;
static const int64_t none64 = -1, zero64 = 0;

typedef struct parser {
    tl_metadata *m;
    tl_arena *arena;
    tl_error *err;
} parser;

/* A list of `n` zeroed things from the arena. */
static tl_status make_list(parser *p, int32_t n, size_t size, void *out) {
    void *list = tl_arena_array(p->arena, (size_t)n, size);
    memcpy(out, &list, sizeof list);
    return list ? TL_OK : tl_fail_memory(p->err, (size_t)n * size);
}

static tl_status read_texts(parser *p, yyjson_val *obj, const char *what, tl_property **out, int32_t *n) {
    if (!yyjson_is_obj(obj)) {
        return tl_fail(p->err, TL_CORRUPT, "%s is not a JSON object", what);
    }
    if (yyjson_obj_size(obj) > INT32_MAX) {
        return tl_fail(p->err, TL_CORRUPT, "%s has too many entries", what);
    }
    TL_TRY(make_list(p, (int32_t)yyjson_obj_size(obj), sizeof **out, out));
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, max, key, val) {
        TL_TRY(tl_json_text_of(key, what, "key", p->arena, &(*out)[i].key, p->err));
        TL_TRY(tl_json_text_of(val, what, (*out)[i].key, p->arena, &(*out)[i].value, p->err));
    }
    *n = (int32_t)yyjson_obj_size(obj);
    return TL_OK;
}

/* ---- schemas, specs, sort orders ---- */

static tl_status read_schemas(parser *p, yyjson_val *root) {
    yyjson_val *list, *val;
    int32_t n;
    size_t i, max;
    tl_metadata *m = p->m;
    TL_TRY(tl_json_array(root, "metadata", "schemas", m->format_version > 1, &list, &n, p->err));
    if (!list) { /* v1: one schema */
        TL_TRY(make_list(p, 1, sizeof *m->schemas, &m->schemas));
        m->n_schemas = 1;
        TL_TRY(tl_schema_from_json(yyjson_obj_get(root, "schema"), p->arena, &m->schemas[0], p->err));
        m->current_schema_id = m->schemas[0].schema_id;
        return TL_OK;
    }
    TL_TRY(make_list(p, n, sizeof *m->schemas, &m->schemas));
    yyjson_arr_foreach(list, i, max, val) {
        TL_TRY(tl_schema_from_json(val, p->arena, &m->schemas[i], p->err));
        m->n_schemas++;
    }
    TL_TRY(tl_json_i32(root, "metadata", "current-schema-id", NULL, &m->current_schema_id, p->err));
    if (!tl_metadata_schema_by_id(m, m->current_schema_id)) {
        return tl_fail(p->err, TL_CORRUPT, "metadata: schema %d, the current one, is not listed", m->current_schema_id);
    }
    return TL_OK;
}

static tl_status read_specs(parser *p, yyjson_val *root) {
    static const char *const what = "partition spec";
    yyjson_val *list, *val;
    int32_t n;
    size_t i, max;
    tl_metadata *m = p->m;
    TL_TRY(tl_json_array(root, "metadata", "partition-specs", m->format_version > 1, &list, &n, p->err));
    if (!list) { /* v1: one spec, its fields alone */
        TL_TRY(make_list(p, 1, sizeof *m->specs, &m->specs));
        m->n_specs = 1;
        return tl_spec_fields_from_json(yyjson_obj_get(root, "partition-spec"), p->arena, &m->specs[0], p->err);
    }
    TL_TRY(make_list(p, n, sizeof *m->specs, &m->specs));
    yyjson_arr_foreach(list, i, max, val) {
        TL_TRY(tl_json_object(val, what, p->err));
        TL_TRY(tl_json_i32(val, what, "spec-id", NULL, &m->specs[i].spec_id, p->err));
        TL_TRY(tl_spec_fields_from_json(yyjson_obj_get(val, "fields"), p->arena, &m->specs[i], p->err));
        m->n_specs++;
    }
    TL_TRY(tl_json_i32(root, "metadata", "default-spec-id", NULL, &m->default_spec_id, p->err));
    if (!tl_metadata_spec_by_id(m, m->default_spec_id)) {
        return tl_fail(p->err, TL_CORRUPT, "metadata: partition spec %d, the default one, is not listed",
                       m->default_spec_id);
    }
    return TL_OK;
}

static int32_t max_partition_id(const tl_metadata *m) {
    int32_t most = 999;
    for (int32_t i = 0; i < m->n_specs; i++) {
        for (int32_t k = 0; k < m->specs[i].n_fields; k++) {
            most = m->specs[i].fields[k].field_id > most ? m->specs[i].fields[k].field_id : most;
        }
    }
    return most;
}

/* One of two words of JSON. */
static tl_status read_choice(parser *p, yyjson_val *obj, const char *key, const char *no, const char *yes, bool *out) {
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (yyjson_equals_str(val, yes)) {
        *out = true;
    } else if (yyjson_equals_str(val, no)) {
        *out = false;
    } else {
        return tl_fail(p->err, TL_CORRUPT, "sort order: \"%s\" is neither %s nor %s", key, no, yes);
    }
    return TL_OK;
}

static tl_status read_sort_field(parser *p, yyjson_val *val, tl_sort_field *out) {
    static const char *const what = "sort order";
    TL_TRY(tl_json_object(val, what, p->err));
    TL_TRY(tl_json_text(val, what, "transform", true, p->arena, &out->transform, p->err));
    TL_TRY(read_choice(p, val, "direction", "asc", "desc", &out->descending));
    TL_TRY(read_choice(p, val, "null-order", "nulls-last", "nulls-first", &out->nulls_first));
    if (tl_json_get(val, "source-id")) {
        return tl_json_i32(val, what, "source-id", NULL, &out->source_id, p->err);
    }
    yyjson_val *sources; /* v3 */
    int32_t n;
    TL_TRY(tl_json_array(val, what, "source-ids", true, &sources, &n, p->err));
    if (n != 1 || !yyjson_is_int(yyjson_arr_get_first(sources))) {
        return tl_fail(p->err, TL_UNSUPPORTED, "sort order: a sort field of several columns is not read here");
    }
    out->source_id = (int32_t)yyjson_get_sint(yyjson_arr_get_first(sources));
    return TL_OK;
}

static tl_status read_sort_orders(parser *p, yyjson_val *root) {
    yyjson_val *list, *val, *fields;
    int32_t n;
    size_t i, max, k, k_max;
    tl_metadata *m = p->m;
    TL_TRY(tl_json_array(root, "metadata", "sort-orders", m->format_version > 1, &list, &n, p->err));
    TL_TRY(make_list(p, n, sizeof *m->sort_orders, &m->sort_orders));
    yyjson_arr_foreach(list, i, max, val) {
        tl_sort_order *o = &m->sort_orders[i];
        TL_TRY(tl_json_object(val, "sort order", p->err));
        TL_TRY(tl_json_i32(val, "sort order", "order-id", NULL, &o->order_id, p->err));
        TL_TRY(tl_json_array(val, "sort order", "fields", true, &fields, &o->n_fields, p->err));
        TL_TRY(make_list(p, o->n_fields, sizeof *o->fields, &o->fields));
        yyjson_val *field;
        yyjson_arr_foreach(fields, k, k_max, field) {
            TL_TRY(read_sort_field(p, field, &o->fields[k]));
        }
        m->n_sort_orders++;
    }
    return tl_json_i32(root, "metadata", "default-sort-order-id", m->format_version > 1 ? NULL : &zero32,
                       &m->default_sort_order_id, p->err);
}

/* ---- snapshots, refs, logs ---- */

static tl_status read_manifests(parser *p, yyjson_val *val, tl_snapshot *s) {
    yyjson_val *list, *item;
    size_t i, max;
    TL_TRY(tl_json_text(val, "snapshot", "manifest-list", false, p->arena, &s->manifest_list, p->err));
    TL_TRY(tl_json_array(val, "snapshot", "manifests", false, &list, &s->n_manifests, p->err));
    if (!s->manifest_list && !list) {
        return tl_fail(p->err, TL_CORRUPT, "snapshot %lld has no \"manifest-list\"", (long long)s->snapshot_id);
    }
    if (s->n_manifests) {
        TL_TRY(make_list(p, s->n_manifests, sizeof *s->manifests, &s->manifests));
    }
    yyjson_arr_foreach(list, i, max, item) {
        TL_TRY(tl_json_text_of(item, "snapshot", "manifests", p->arena, &s->manifests[i], p->err));
    }
    return TL_OK;
}

static tl_status read_snapshot(parser *p, yyjson_val *val, tl_snapshot *s) {
    static const char *const known[] = {"snapshot-id",   "parent-snapshot-id", "sequence-number", "timestamp-ms",
                                        "manifest-list", "manifests",          "schema-id",       "summary",
                                        "first-row-id",  "added-rows"};
    bool v1 = p->m->format_version == 1;
    TL_TRY(tl_json_object(val, "snapshot", p->err));
    TL_TRY(tl_json_i64(val, "snapshot", "snapshot-id", NULL, &s->snapshot_id, p->err));
    TL_TRY(tl_json_i64(val, "snapshot", "parent-snapshot-id", &none64, &s->parent_id, p->err));
    /* A table that was upgraded from v1 keeps snapshots without a number; it is 0. */
    TL_TRY(tl_json_i64(val, "snapshot", "sequence-number", &zero64, &s->sequence_number, p->err));
    TL_TRY(tl_json_i64(val, "snapshot", "timestamp-ms", NULL, &s->timestamp_ms, p->err));
    TL_TRY(tl_json_i32(val, "snapshot", "schema-id", &none32, &s->schema_id, p->err));
    TL_TRY(read_manifests(p, val, s));
    TL_TRY(tl_json_i64(val, "snapshot", "first-row-id", &none64, &s->first_row_id, p->err));
    TL_TRY(tl_json_i64(val, "snapshot", "added-rows", &zero64, &s->added_rows, p->err));
    s->has_rows = s->first_row_id >= 0;
    s->first_row_id = s->has_rows ? s->first_row_id : 0;
    yyjson_val *summary = tl_json_get(val, "summary");
    if (summary) {
        TL_TRY(read_texts(p, summary, "snapshot summary", &s->summary, &s->n_summary));
    } else if (!v1 && s->sequence_number > 0) {
        return tl_fail(p->err, TL_CORRUPT, "snapshot %lld has no \"summary\"", (long long)s->snapshot_id);
    }
    return tl_json_extra(val, known, TL_COUNT(known), p->arena, &s->extra_json, p->err);
}

static tl_status read_snapshots(parser *p, yyjson_val *root) {
    yyjson_val *list, *val;
    int32_t n;
    size_t i, max;
    tl_metadata *m = p->m;
    TL_TRY(tl_json_array(root, "metadata", "snapshots", false, &list, &n, p->err));
    TL_TRY(make_list(p, n, sizeof *m->snapshots, &m->snapshots));
    yyjson_arr_foreach(list, i, max, val) {
        TL_TRY(read_snapshot(p, val, &m->snapshots[i]));
        m->n_snapshots++;
    }
    return TL_OK;
}

static tl_status read_refs(parser *p, yyjson_val *root) {
    static const char *const known[] = {"snapshot-id", "type"};
    yyjson_val *refs = tl_json_get(root, "refs"), *key, *val;
    size_t i, max;
    tl_metadata *m = p->m;
    if (refs) {
        TL_TRY(tl_json_object(refs, "\"refs\"", p->err));
    }
    /* One more, for the branch that older writers left out. */
    TL_TRY(make_list(p, (int32_t)yyjson_obj_size(refs) + 1, sizeof *m->refs, &m->refs));
    if (!refs) {
        return TL_OK;
    }
    yyjson_obj_foreach(refs, i, max, key, val) {
        tl_ref *r = &m->refs[i];
        TL_TRY(tl_json_object(val, "ref", p->err));
        TL_TRY(tl_json_text_of(key, "refs", "key", p->arena, &r->name, p->err));
        TL_TRY(tl_json_text(val, "ref", "type", true, p->arena, &r->type, p->err));
        TL_TRY(tl_json_i64(val, "ref", "snapshot-id", NULL, &r->snapshot_id, p->err));
        TL_TRY(tl_json_extra(val, known, TL_COUNT(known), p->arena, &r->extra_json, p->err));
        m->n_refs++;
    }
    return TL_OK;
}

/* Branch main and the current snapshot are one thing written twice; either alone will do. */
static tl_status settle_current(parser *p) {
    tl_metadata *m = p->m;
    tl_ref *main_ref = NULL;
    for (int32_t i = 0; i < m->n_refs; i++) {
        main_ref = strcmp(m->refs[i].name, "main") == 0 ? &m->refs[i] : main_ref;
    }
    if (main_ref && m->current_snapshot_id == -1) {
        m->current_snapshot_id = main_ref->snapshot_id;
    } else if (!main_ref && m->current_snapshot_id != -1) {
        m->refs[m->n_refs++] = (tl_ref){"main", "branch", m->current_snapshot_id, NULL};
    } else if (main_ref && main_ref->snapshot_id != m->current_snapshot_id) {
        return tl_fail(p->err, TL_CORRUPT, "metadata: the current snapshot %lld is not that of branch main, %lld",
                       (long long)m->current_snapshot_id, (long long)main_ref->snapshot_id);
    }
    if (m->current_snapshot_id != -1 && !tl_metadata_current(m)) {
        return tl_fail(p->err, TL_CORRUPT, "metadata: snapshot %lld, the current one, is not listed",
                       (long long)m->current_snapshot_id);
    }
    return TL_OK;
}

static tl_status read_log(parser *p, yyjson_val *root, const char *name, bool of_snapshots, tl_log_entry **out,
                          int32_t *n_out) {
    yyjson_val *list, *val;
    int32_t n;
    size_t i, max;
    TL_TRY(tl_json_array(root, "metadata", name, false, &list, &n, p->err));
    TL_TRY(make_list(p, n, sizeof **out, out));
    yyjson_arr_foreach(list, i, max, val) {
        tl_log_entry *e = &(*out)[i];
        TL_TRY(tl_json_object(val, name, p->err));
        TL_TRY(tl_json_i64(val, name, "timestamp-ms", NULL, &e->timestamp_ms, p->err));
        if (of_snapshots) {
            TL_TRY(tl_json_i64(val, name, "snapshot-id", NULL, &e->snapshot_id, p->err));
        } else {
            TL_TRY(tl_json_text(val, name, "metadata-file", true, p->arena, &e->file, p->err));
        }
    }
    *n_out = n;
    return TL_OK;
}

/* ---- the whole ---- */

static tl_status read_head(parser *p, yyjson_val *root) {
    static const char *const what = "metadata";
    tl_metadata *m = p->m;
    TL_TRY(tl_json_object(root, what, p->err));
    TL_TRY(tl_json_i32(root, what, "format-version", NULL, &m->format_version, p->err));
    if (m->format_version < 1 || m->format_version > 3) {
        return tl_fail(p->err, m->format_version > 3 ? TL_UNSUPPORTED : TL_CORRUPT,
                       "metadata: format version %d is not one of 1, 2, 3", m->format_version);
    }
    bool v2 = m->format_version > 1;
    TL_TRY(tl_json_text(root, what, "table-uuid", v2, p->arena, &m->table_uuid, p->err));
    TL_TRY(tl_json_text(root, what, "location", true, p->arena, &m->location, p->err));
    TL_TRY(tl_json_i64(root, what, "last-sequence-number", v2 ? NULL : &zero64, &m->last_sequence_number, p->err));
    TL_TRY(tl_json_i64(root, what, "last-updated-ms", NULL, &m->last_updated_ms, p->err));
    TL_TRY(tl_json_i32(root, what, "last-column-id", NULL, &m->last_column_id, p->err));
    return tl_json_i64(root, what, "current-snapshot-id", &none64, &m->current_snapshot_id, p->err);
}

static tl_status read_all(parser *p, yyjson_val *root) {
    static const char *const known[] = {"format-version",
                                        "table-uuid",
                                        "location",
                                        "last-sequence-number",
                                        "last-updated-ms",
                                        "last-column-id",
                                        "schemas",
                                        "schema",
                                        "current-schema-id",
                                        "partition-specs",
                                        "partition-spec",
                                        "default-spec-id",
                                        "last-partition-id",
                                        "properties",
                                        "current-snapshot-id",
                                        "snapshot-log",
                                        "metadata-log",
                                        "sort-orders",
                                        "default-sort-order-id",
                                        "refs",
                                        "snapshots",
                                        "next-row-id"};
    tl_metadata *m = p->m;
    TL_TRY(read_head(p, root));
    TL_TRY(tl_json_i64(root, "metadata", "next-row-id", &zero64, &m->next_row_id, p->err));
    TL_TRY(read_schemas(p, root));
    TL_TRY(read_specs(p, root));
    int32_t most = max_partition_id(m);
    TL_TRY(tl_json_i32(root, "metadata", "last-partition-id", &most, &m->last_partition_id, p->err));
    TL_TRY(read_sort_orders(p, root));
    yyjson_val *properties = tl_json_get(root, "properties");
    if (properties) {
        TL_TRY(read_texts(p, properties, "\"properties\"", &m->properties, &m->n_properties));
    }
    TL_TRY(read_snapshots(p, root));
    TL_TRY(read_refs(p, root));
    TL_TRY(settle_current(p));
    TL_TRY(read_log(p, root, "snapshot-log", true, &m->snapshot_log, &m->n_snapshot_log));
    TL_TRY(read_log(p, root, "metadata-log", false, &m->metadata_log, &m->n_metadata_log));
    return tl_json_extra(root, known, TL_COUNT(known), p->arena, &m->extra_json, p->err);
}

static tl_status parse_text(tl_bytes json, tl_metadata *m, tl_error *err) {
    if (json.len > TL_METADATA_MAX_BYTES) {
        return tl_fail(err, TL_UNSUPPORTED, "metadata of %zu bytes is larger than the %zu that are read here", json.len,
                       TL_METADATA_MAX_BYTES);
    }
    yyjson_doc *doc;
    TL_TRY(tl_json_read(json, "metadata", &doc, err));
    parser p = {m, &m->arena, err};
    tl_status status = read_all(&p, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return status;
}

tl_status tl_metadata_parse(tl_bytes json, tl_metadata *out, tl_error *err) {
    *out = (tl_metadata){0};
    out->current_snapshot_id = -1;
    tl_buf plain = {0};
    tl_status status = TL_OK;
    if (json.len >= 2 && json.data[0] == 0x1f && json.data[1] == 0x8b) {
        status = tl_inflate(TL_INFLATE_GZIP, json, TL_METADATA_MAX_BYTES, "metadata", &plain, err);
        json = tl_buf_bytes(&plain);
    }
    status = status == TL_OK ? parse_text(json, out, err) : status;
    tl_buf_free(&plain);
    if (status != TL_OK) {
        tl_metadata_free(out);
    }
    return status;
}

void tl_metadata_free(tl_metadata *m) {
    tl_arena_free(&m->arena);
    *m = (tl_metadata){0};
}
