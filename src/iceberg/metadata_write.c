/*
 * Table metadata: tl_metadata to one line of JSON, keys in the order of spec a.3 (snapshots and both logs are left out
 * while there is no snapshot). Comes in: metadata, parsed or made by hand. Goes out: text appended to a buffer.
 */
#include "base/num.h"
#include "iceberg/json.h"
#include "iceberg/json_internal.h"
#include "iceberg/metadata.h"

static tl_status put_key_text(tl_buf *out, const char *key_and_colon, const char *text, tl_error *err) {
    TL_TRY(tl_buf_add_text(out, key_and_colon));
    return tl_json_put_string(out, text, err);
}

static tl_status put_key_number(tl_buf *out, const char *key_and_colon, int64_t value) {
    char text[TL_NUM_TEXT];
    size_t n = tl_print_i64(value, text);
    TL_TRY(tl_buf_add_text(out, key_and_colon));
    return tl_buf_add(out, text, n);
}

static tl_status comma(tl_buf *out, int32_t i) {
    return i ? tl_buf_add_byte(out, ',') : TL_OK;
}

static tl_status put_texts(tl_buf *out, const tl_property *list, int32_t n, tl_error *err) {
    TL_TRY(tl_buf_add_byte(out, '{'));
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(comma(out, i));
        TL_TRY(tl_json_put_string(out, list[i].key, err));
        TL_TRY(put_key_text(out, ":", list[i].value, err));
    }
    return tl_buf_add_byte(out, '}');
}

static tl_status put_schemas(tl_buf *out, const tl_metadata *m, tl_error *err) {
    if (m->format_version == 1) {
        TL_TRY(tl_buf_add_text(out, ",\"schema\":"));
        TL_TRY(tl_schema_write_json(tl_metadata_schema(m), out, err));
    }
    TL_TRY(tl_buf_add_text(out, ",\"schemas\":["));
    for (int32_t i = 0; i < m->n_schemas; i++) {
        TL_TRY(comma(out, i));
        TL_TRY(tl_schema_write_json(&m->schemas[i], out, err));
    }
    return tl_buf_printf(out, "],\"current-schema-id\":%d", m->current_schema_id);
}

static tl_status put_specs(tl_buf *out, const tl_metadata *m, tl_error *err) {
    if (m->format_version == 1) {
        TL_TRY(tl_buf_add_text(out, ",\"partition-spec\":"));
        TL_TRY(tl_spec_fields_write_json(tl_metadata_spec(m), out, err));
    }
    TL_TRY(tl_buf_add_text(out, ",\"partition-specs\":["));
    for (int32_t i = 0; i < m->n_specs; i++) {
        TL_TRY(tl_buf_printf(out, "%s{\"spec-id\":%d,\"fields\":", i ? "," : "", m->specs[i].spec_id));
        TL_TRY(tl_spec_fields_write_json(&m->specs[i], out, err));
        TL_TRY(tl_buf_add_byte(out, '}'));
    }
    return tl_buf_printf(out, "],\"default-spec-id\":%d,\"last-partition-id\":%d", m->default_spec_id,
                         m->last_partition_id);
}

static tl_status put_sort_orders(tl_buf *out, const tl_metadata *m, tl_error *err) {
    TL_TRY(tl_buf_add_text(out, ",\"sort-orders\":["));
    for (int32_t i = 0; i < m->n_sort_orders; i++) {
        const tl_sort_order *o = &m->sort_orders[i];
        TL_TRY(tl_buf_printf(out, "%s{\"order-id\":%d,\"fields\":[", i ? "," : "", o->order_id));
        for (int32_t k = 0; k < o->n_fields; k++) {
            const tl_sort_field *f = &o->fields[k];
            TL_TRY(tl_buf_printf(out, "%s{\"source-id\":%d,\"transform\":", k ? "," : "", f->source_id));
            TL_TRY(tl_json_put_string(out, f->transform, err));
            TL_TRY(tl_buf_printf(out, ",\"direction\":\"%s\",\"null-order\":\"%s\"}", f->descending ? "desc" : "asc",
                                 f->nulls_first ? "nulls-first" : "nulls-last"));
        }
        TL_TRY(tl_buf_add_text(out, "]}"));
    }
    return tl_buf_printf(out, "],\"default-sort-order-id\":%d", m->default_sort_order_id);
}

static tl_status put_snapshot(tl_buf *out, const tl_snapshot *s, bool v1, tl_error *err) {
    TL_TRY(put_key_number(out, "{\"snapshot-id\":", s->snapshot_id));
    if (s->parent_id != -1) {
        TL_TRY(put_key_number(out, ",\"parent-snapshot-id\":", s->parent_id));
    }
    if (!v1) {
        TL_TRY(put_key_number(out, ",\"sequence-number\":", s->sequence_number));
    }
    TL_TRY(put_key_number(out, ",\"timestamp-ms\":", s->timestamp_ms));
    if (s->manifest_list) {
        TL_TRY(put_key_text(out, ",\"manifest-list\":", s->manifest_list, err));
    } else {
        TL_TRY(tl_buf_add_text(out, ",\"manifests\":["));
        for (int32_t i = 0; i < s->n_manifests; i++) {
            TL_TRY(comma(out, i));
            TL_TRY(tl_json_put_string(out, s->manifests[i], err));
        }
        TL_TRY(tl_buf_add_byte(out, ']'));
    }
    if (s->n_summary) {
        TL_TRY(tl_buf_add_text(out, ",\"summary\":"));
        TL_TRY(put_texts(out, s->summary, s->n_summary, err));
    }
    if (s->schema_id != -1) {
        TL_TRY(put_key_number(out, ",\"schema-id\":", s->schema_id));
    }
    if (s->has_rows) {
        TL_TRY(tl_buf_printf(out, ",\"first-row-id\":%lld,\"added-rows\":%lld", (long long)s->first_row_id,
                             (long long)s->added_rows));
    }
    TL_TRY(tl_json_put_extra(out, s->extra_json, err));
    return tl_buf_add_byte(out, '}');
}

static tl_status put_logs(tl_buf *out, const tl_metadata *m, tl_error *err) {
    if (m->n_snapshot_log) {
        TL_TRY(tl_buf_add_text(out, ",\"snapshot-log\":["));
        for (int32_t i = 0; i < m->n_snapshot_log; i++) {
            const tl_log_entry *e = &m->snapshot_log[i];
            TL_TRY(put_key_number(out, i ? ",{\"snapshot-id\":" : "{\"snapshot-id\":", e->snapshot_id));
            TL_TRY(put_key_number(out, ",\"timestamp-ms\":", e->timestamp_ms));
            TL_TRY(tl_buf_add_byte(out, '}'));
        }
        TL_TRY(tl_buf_add_byte(out, ']'));
    }
    if (m->n_metadata_log) {
        TL_TRY(tl_buf_add_text(out, ",\"metadata-log\":["));
        for (int32_t i = 0; i < m->n_metadata_log; i++) {
            const tl_log_entry *e = &m->metadata_log[i];
            TL_TRY(put_key_text(out, i ? ",{\"metadata-file\":" : "{\"metadata-file\":", e->file, err));
            TL_TRY(put_key_number(out, ",\"timestamp-ms\":", e->timestamp_ms));
            TL_TRY(tl_buf_add_byte(out, '}'));
        }
        TL_TRY(tl_buf_add_byte(out, ']'));
    }
    return TL_OK;
}

static tl_status put_refs(tl_buf *out, const tl_metadata *m, tl_error *err) {
    TL_TRY(tl_buf_add_text(out, ",\"refs\":{"));
    for (int32_t i = 0; i < m->n_refs; i++) {
        const tl_ref *r = &m->refs[i];
        TL_TRY(comma(out, i));
        TL_TRY(tl_json_put_string(out, r->name, err));
        TL_TRY(tl_buf_printf(out, ":{\"snapshot-id\":%lld", (long long)r->snapshot_id));
        TL_TRY(put_key_text(out, ",\"type\":", r->type, err));
        TL_TRY(tl_json_put_extra(out, r->extra_json, err));
        TL_TRY(tl_buf_add_byte(out, '}'));
    }
    return tl_buf_add_byte(out, '}');
}

static tl_status put_snapshots(tl_buf *out, const tl_metadata *m, tl_error *err) {
    if (m->n_snapshots == 0) {
        return TL_OK;
    }
    TL_TRY(tl_buf_add_text(out, ",\"snapshots\":["));
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        TL_TRY(comma(out, i));
        TL_TRY(put_snapshot(out, &m->snapshots[i], m->format_version == 1, err));
    }
    return tl_buf_add_byte(out, ']');
}

static tl_status put_head(tl_buf *out, const tl_metadata *m, tl_error *err) {
    TL_TRY(tl_buf_printf(out, "{\"format-version\":%d", m->format_version));
    if (m->table_uuid) {
        TL_TRY(put_key_text(out, ",\"table-uuid\":", m->table_uuid, err));
    }
    TL_TRY(put_key_text(out, ",\"location\":", m->location, err));
    if (m->format_version > 1) {
        TL_TRY(tl_buf_printf(out, ",\"last-sequence-number\":%lld", (long long)m->last_sequence_number));
    }
    return tl_buf_printf(out, ",\"last-updated-ms\":%lld,\"last-column-id\":%d", (long long)m->last_updated_ms,
                         m->last_column_id);
}

static tl_status put_all(tl_buf *out, const tl_metadata *m, tl_error *err) {
    TL_TRY(put_head(out, m, err));
    TL_TRY(put_schemas(out, m, err));
    TL_TRY(put_specs(out, m, err));
    TL_TRY(tl_buf_add_text(out, ",\"properties\":"));
    TL_TRY(put_texts(out, m->properties, m->n_properties, err));
    if (m->current_snapshot_id != -1) {
        TL_TRY(tl_buf_printf(out, ",\"current-snapshot-id\":%lld", (long long)m->current_snapshot_id));
    }
    TL_TRY(put_logs(out, m, err));
    TL_TRY(put_sort_orders(out, m, err));
    TL_TRY(put_refs(out, m, err));
    TL_TRY(put_snapshots(out, m, err));
    if (m->format_version > 2) {
        TL_TRY(tl_buf_printf(out, ",\"next-row-id\":%lld", (long long)m->next_row_id));
    }
    TL_TRY(tl_json_put_extra(out, m->extra_json, err));
    return tl_buf_add_byte(out, '}');
}

tl_status tl_metadata_write(const tl_metadata *m, tl_buf *out, tl_error *err) {
    size_t before = out->len;
    if (m->format_version < 1 || m->format_version > 3) {
        return tl_fail(err, TL_INVALID, "metadata of format version %d is not written", m->format_version);
    }
    if (!tl_metadata_schema_by_id(m, m->current_schema_id) || !tl_metadata_spec_by_id(m, m->default_spec_id)) {
        return tl_fail(err, TL_INTERNAL, "metadata without its current schema or default partition spec");
    }
    tl_status status = put_all(out, m, err);
    if (status != TL_OK) {
        out->len = before;
    }
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}
