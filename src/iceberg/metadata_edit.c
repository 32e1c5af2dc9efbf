/*
 * Table metadata: looking things up, deep copies, and the changes from which the next version is made. Comes in:
 * metadata. Goes out: metadata; every text put in is copied into its arena, and a failed change changes nothing.
 */
#include "iceberg/json_internal.h"
#include "iceberg/metadata.h"

const tl_schema *tl_metadata_schema_by_id(const tl_metadata *m, int32_t id) {
    for (int32_t i = 0; i < m->n_schemas; i++) {
        if (m->schemas[i].schema_id == id) {
            return &m->schemas[i];
        }
    }
    return NULL;
}

const tl_schema *tl_metadata_schema(const tl_metadata *m) {
    return tl_metadata_schema_by_id(m, m->current_schema_id);
}

const tl_partition_spec *tl_metadata_spec_by_id(const tl_metadata *m, int32_t id) {
    for (int32_t i = 0; i < m->n_specs; i++) {
        if (m->specs[i].spec_id == id) {
            return &m->specs[i];
        }
    }
    return NULL;
}

const tl_partition_spec *tl_metadata_spec(const tl_metadata *m) {
    return tl_metadata_spec_by_id(m, m->default_spec_id);
}

const tl_sort_order *tl_metadata_sort_order(const tl_metadata *m) {
    for (int32_t i = 0; i < m->n_sort_orders; i++) {
        if (m->sort_orders[i].order_id == m->default_sort_order_id) {
            return m->sort_orders[i].n_fields ? &m->sort_orders[i] : NULL;
        }
    }
    return NULL;
}

const tl_snapshot *tl_metadata_snapshot(const tl_metadata *m, int64_t id) {
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        if (m->snapshots[i].snapshot_id == id) {
            return &m->snapshots[i];
        }
    }
    return NULL;
}

const tl_snapshot *tl_metadata_current(const tl_metadata *m) {
    return m->current_snapshot_id == -1 ? NULL : tl_metadata_snapshot(m, m->current_snapshot_id);
}

static const char *find_text(const tl_property *list, int32_t n, const char *key) {
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(list[i].key, key) == 0) {
            return list[i].value;
        }
    }
    return NULL;
}

const char *tl_metadata_property(const tl_metadata *m, const char *key) {
    return find_text(m->properties, m->n_properties, key);
}

const char *tl_snapshot_summary(const tl_snapshot *s, const char *key) {
    return find_text(s->summary, s->n_summary, key);
}

/* ---- deep copies ---- */

/* What the copies below go through: the first failure stays, so that one look at `ok` at the end is enough. */
typedef struct copier {
    tl_arena *arena;
    bool ok;
} copier;

static const char *copy_text(copier *c, const char *text) {
    const char *copy = text ? tl_arena_strdup(c->arena, text) : NULL;
    c->ok = c->ok && (!text || copy);
    return copy;
}

/* The list with room for `room` more entries behind it; NULL when memory ends. */
static void *copy_list(copier *c, const void *list, int32_t n, int32_t room, size_t size) {
    void *copy = tl_arena_array(c->arena, (size_t)n + (size_t)room, size);
    if (copy && n > 0) {
        memcpy(copy, list, (size_t)n * size);
    }
    c->ok = c->ok && copy;
    return copy;
}

static tl_property *copy_texts(copier *c, const tl_property *list, int32_t n) {
    tl_property *copy = copy_list(c, list, n, 0, sizeof *list);
    for (int32_t i = 0; copy && i < n; i++) {
        copy[i].key = copy_text(c, list[i].key);
        copy[i].value = copy_text(c, list[i].value);
    }
    return copy;
}

static void copy_snapshot(copier *c, const tl_snapshot *in, tl_snapshot *out) {
    *out = *in;
    out->manifest_list = copy_text(c, in->manifest_list);
    out->extra_json = copy_text(c, in->extra_json);
    out->summary = copy_texts(c, in->summary, in->n_summary);
    out->manifests = copy_list(c, in->manifests, in->n_manifests, 0, sizeof *in->manifests);
    for (int32_t i = 0; out->manifests && i < in->n_manifests; i++) {
        out->manifests[i] = copy_text(c, in->manifests[i]);
    }
}

static void copy_structure(copier *c, const tl_metadata *in, tl_metadata *out) {
    out->schemas = copy_list(c, in->schemas, in->n_schemas, 0, sizeof *in->schemas);
    for (int32_t i = 0; c->ok && i < in->n_schemas; i++) {
        c->ok = tl_schema_copy(&in->schemas[i], c->arena, &out->schemas[i]) == TL_OK;
    }
    out->specs = copy_list(c, in->specs, in->n_specs, 0, sizeof *in->specs);
    for (int32_t i = 0; c->ok && i < in->n_specs; i++) {
        c->ok = tl_partition_spec_copy(&in->specs[i], c->arena, &out->specs[i]) == TL_OK;
    }
    out->sort_orders = copy_list(c, in->sort_orders, in->n_sort_orders, 0, sizeof *in->sort_orders);
    for (int32_t i = 0; c->ok && i < in->n_sort_orders; i++) {
        const tl_sort_order *from = &in->sort_orders[i];
        out->sort_orders[i].fields = copy_list(c, from->fields, from->n_fields, 0, sizeof *from->fields);
        for (int32_t k = 0; c->ok && k < from->n_fields; k++) {
            out->sort_orders[i].fields[k].transform = copy_text(c, from->fields[k].transform);
        }
    }
}

static void copy_history(copier *c, const tl_metadata *in, tl_metadata *out) {
    out->snapshots = copy_list(c, in->snapshots, in->n_snapshots, 0, sizeof *in->snapshots);
    for (int32_t i = 0; c->ok && i < in->n_snapshots; i++) {
        copy_snapshot(c, &in->snapshots[i], &out->snapshots[i]);
    }
    out->snapshot_log = copy_list(c, in->snapshot_log, in->n_snapshot_log, 0, sizeof *in->snapshot_log);
    out->metadata_log = copy_list(c, in->metadata_log, in->n_metadata_log, 0, sizeof *in->metadata_log);
    for (int32_t i = 0; c->ok && i < in->n_metadata_log; i++) {
        out->metadata_log[i].file = copy_text(c, in->metadata_log[i].file);
    }
    out->refs = copy_list(c, in->refs, in->n_refs, 0, sizeof *in->refs);
    for (int32_t i = 0; c->ok && i < in->n_refs; i++) {
        out->refs[i].name = copy_text(c, in->refs[i].name);
        out->refs[i].type = copy_text(c, in->refs[i].type);
        out->refs[i].extra_json = copy_text(c, in->refs[i].extra_json);
    }
}

tl_status tl_metadata_copy(const tl_metadata *in, tl_metadata *out, tl_error *err) {
    tl_metadata copy = *in;
    copy.arena = (tl_arena){0};
    copier c = {&copy.arena, true};
    copy.table_uuid = copy_text(&c, in->table_uuid);
    copy.location = copy_text(&c, in->location);
    copy.extra_json = copy_text(&c, in->extra_json);
    copy.properties = copy_texts(&c, in->properties, in->n_properties);
    copy_structure(&c, in, &copy);
    copy_history(&c, in, &copy);
    if (!c.ok) {
        tl_arena_free(&copy.arena);
        *out = (tl_metadata){0};
        return tl_fail_memory(err, in->arena.total);
    }
    *out = copy;
    return TL_OK;
}

/* ---- changes ---- */

tl_status tl_metadata_set_property(tl_metadata *m, const char *key, const char *value, tl_error *err) {
    int32_t at = 0;
    while (at < m->n_properties && strcmp(m->properties[at].key, key) != 0) {
        at++;
    }
    if (!value) {
        if (at < m->n_properties) {
            m->n_properties--;
            memmove(&m->properties[at], &m->properties[at + 1], (size_t)(m->n_properties - at) * sizeof *m->properties);
        }
        return TL_OK;
    }
    copier c = {&m->arena, true};
    const char *text = copy_text(&c, value);
    if (c.ok && at < m->n_properties) {
        m->properties[at].value = text;
        return TL_OK;
    }
    const char *name = copy_text(&c, key);
    tl_property *list = copy_list(&c, m->properties, m->n_properties, 1, sizeof *list);
    if (!c.ok) {
        return tl_fail_memory(err, strlen(value));
    }
    list[m->n_properties++] = (tl_property){name, text};
    m->properties = list;
    return TL_OK;
}

static int32_t main_ref(const tl_metadata *m) {
    for (int32_t i = 0; i < m->n_refs; i++) {
        if (strcmp(m->refs[i].name, "main") == 0) {
            return i;
        }
    }
    return -1;
}

/* Makes `id` current: branch main, snapshot log, clock. Everything is allocated before anything is changed. */
static tl_status make_current(tl_metadata *m, int64_t id, int64_t now_ms, tl_error *err) {
    copier c = {&m->arena, true};
    int32_t at = main_ref(m);
    tl_log_entry *log = copy_list(&c, m->snapshot_log, m->n_snapshot_log, 1, sizeof *log);
    tl_ref *refs = at < 0 ? copy_list(&c, m->refs, m->n_refs, 1, sizeof *refs) : m->refs;
    if (!c.ok) {
        return tl_fail_memory(err, 0);
    }
    if (at < 0) {
        at = m->n_refs++;
        refs[at] = (tl_ref){"main", "branch", id, NULL};
    }
    refs[at].snapshot_id = id;
    m->refs = refs;
    log[m->n_snapshot_log++] = (tl_log_entry){now_ms, id, NULL};
    m->snapshot_log = log;
    m->current_snapshot_id = id;
    m->last_updated_ms = now_ms;
    return TL_OK;
}

tl_status tl_metadata_add_snapshot(tl_metadata *m, const tl_snapshot *s, tl_error *err) {
    bool numbered = m->format_version == 3;
    if (m->format_version != 2 && !numbered) {
        return tl_fail(err, TL_UNSUPPORTED, "table of format version %d: only tables of version 2 and 3 are written",
                       m->format_version);
    }
    int64_t next_row_id = m->next_row_id;
    if (numbered && (!s->has_rows || s->first_row_id != next_row_id || s->added_rows < 0 ||
                     !tl_i64_add(next_row_id, s->added_rows, &next_row_id))) {
        return tl_fail(err, TL_INTERNAL, "snapshot %lld: its rows are not numbered from %lld on",
                       (long long)s->snapshot_id, (long long)m->next_row_id);
    }
    if (s->snapshot_id < 0 || !s->manifest_list || tl_metadata_snapshot(m, s->snapshot_id)) {
        return tl_fail(err, TL_INVALID, "snapshot %lld has no manifest list, or its id is negative or taken",
                       (long long)s->snapshot_id);
    }
    if (s->sequence_number <= m->last_sequence_number) {
        return tl_fail(err, TL_INVALID, "snapshot %lld: sequence number %lld is not above the table's, %lld",
                       (long long)s->snapshot_id, (long long)s->sequence_number, (long long)m->last_sequence_number);
    }
    copier c = {&m->arena, true};
    tl_snapshot *list = copy_list(&c, m->snapshots, m->n_snapshots, 1, sizeof *list);
    if (c.ok) {
        copy_snapshot(&c, s, &list[m->n_snapshots]);
    }
    if (!c.ok) {
        return tl_fail_memory(err, 0);
    }
    TL_TRY(make_current(m, s->snapshot_id, s->timestamp_ms, err));
    m->snapshots = list;
    m->n_snapshots++;
    m->last_sequence_number = s->sequence_number;
    m->next_row_id = next_row_id;
    return TL_OK;
}

tl_status tl_metadata_upgrade(tl_metadata *m, int32_t format_version, tl_error *err) {
    if (m->format_version != 2 || format_version != 3) {
        return tl_fail(err, TL_UNSUPPORTED, "a table of Iceberg format version %d cannot be made version %d",
                       m->format_version, format_version);
    }
    m->format_version = format_version;
    m->next_row_id = 0; /* rows that are there are numbered by the next commit */
    return TL_OK;
}

tl_status tl_metadata_set_current(tl_metadata *m, int64_t snapshot_id, int64_t now_ms, tl_error *err) {
    if (!tl_metadata_snapshot(m, snapshot_id)) {
        return tl_fail(err, TL_NOT_FOUND, "snapshot %lld is not in the table's history", (long long)snapshot_id);
    }
    return make_current(m, snapshot_id, now_ms, err);
}

tl_status tl_metadata_log_previous(tl_metadata *m, const char *file, int64_t timestamp_ms, int32_t keep,
                                   tl_error *err) {
    copier c = {&m->arena, true};
    const char *name = copy_text(&c, file);
    tl_log_entry *log = copy_list(&c, m->metadata_log, m->n_metadata_log, 1, sizeof *log);
    if (!c.ok) {
        return tl_fail_memory(err, 0);
    }
    int32_t n = m->n_metadata_log;
    log[n++] = (tl_log_entry){timestamp_ms, 0, name};
    keep = keep < 0 ? 0 : keep;
    m->metadata_log = n > keep ? log + (n - keep) : log;
    m->n_metadata_log = n > keep ? keep : n;
    return TL_OK;
}

/* ---- expiry ---- */

static bool is_among(int64_t id, const int64_t *ids, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* The list under `key` without entries of the removed snapshots. */
static void prune_statistics(yyjson_mut_val *root, const char *key, const int64_t *ids, int32_t n) {
    yyjson_mut_val *list = yyjson_mut_obj_get(root, key), *entry;
    yyjson_mut_arr_iter iter;
    if (!yyjson_mut_arr_iter_init(list, &iter)) {
        return;
    }
    while ((entry = yyjson_mut_arr_iter_next(&iter))) {
        yyjson_mut_val *id = yyjson_mut_obj_get(entry, "snapshot-id");
        if (yyjson_mut_is_int(id) && is_among(yyjson_mut_get_sint(id), ids, n)) {
            (void)yyjson_mut_arr_iter_remove(&iter);
        }
    }
}

static tl_status prune_extra(tl_metadata *m, const int64_t *ids, int32_t n, tl_error *err) {
    yyjson_doc *doc = NULL;
    if (!m->extra_json || !strstr(m->extra_json, "statistics")) {
        return TL_OK;
    }
    TL_TRY(tl_json_read(tl_bytes_of(m->extra_json), "metadata", &doc, err));
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, &tl_json_alc);
    yyjson_doc_free(doc);
    char *text = NULL;
    if (copy) {
        prune_statistics(yyjson_mut_doc_get_root(copy), "statistics", ids, n);
        prune_statistics(yyjson_mut_doc_get_root(copy), "partition-statistics", ids, n);
        text = yyjson_mut_write_opts(copy, YYJSON_WRITE_NOFLAG, &tl_json_alc, NULL, NULL);
    }
    const char *kept = text ? tl_arena_strdup(&m->arena, text) : NULL;
    tl_free(text);
    yyjson_mut_doc_free(copy);
    if (!kept) {
        return tl_fail_memory(err, 0);
    }
    m->extra_json = kept;
    return TL_OK;
}

tl_status tl_metadata_remove_snapshots(tl_metadata *m, const int64_t *ids, int32_t n, tl_error *err) {
    for (int32_t i = 0; i < m->n_refs; i++) {
        if (is_among(m->refs[i].snapshot_id, ids, n)) {
            return tl_fail(err, TL_INVALID, "snapshot %lld cannot be forgotten: %s \"%s\" names it",
                           (long long)m->refs[i].snapshot_id, m->refs[i].type, m->refs[i].name);
        }
    }
    TL_TRY(prune_extra(m, ids, n, err));
    int32_t kept = 0;
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        if (!is_among(m->snapshots[i].snapshot_id, ids, n)) {
            m->snapshots[kept++] = m->snapshots[i];
        }
    }
    m->n_snapshots = kept;
    int32_t from = 0;
    for (int32_t i = 0; i < m->n_snapshot_log; i++) {
        from = is_among(m->snapshot_log[i].snapshot_id, ids, n) ? i + 1 : from;
    }
    m->snapshot_log = from ? m->snapshot_log + from : m->snapshot_log;
    m->n_snapshot_log -= from;
    return TL_OK;
}
