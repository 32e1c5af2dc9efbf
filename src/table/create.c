/* Making a table: its first metadata, by the rules of spec a.3 and f. */
#include <string.h>

#include "base/mem.h"
#include "table/policy.h"
#include "table/settings.h"
#include "table/table.h"
#include "table/table_internal.h"

typedef struct draft {
    const tl_create_options *options;
    tl_metadata m;
    int32_t time;      /* -1 = plain */
    const char *chunk; /* canonical */
    const char *time_column, *ingest_column;
    const char **series;
    int32_t n_series;
    int dedup;
} draft;

static tl_status no_memory(tl_error *err) {
    return tl_fail_memory(err, 64);
}

static const char *keep(draft *d, const char *text) {
    return tl_arena_strdup(&d->m.arena, text);
}

/* ---- options and create-only settings among the properties ---- */

static tl_status series_from_text(draft *d, const char *text, tl_error *err) {
    size_t n = 1;
    for (const char *p = text; *p; p++) {
        n += *p == ',';
    }
    d->series = tl_arena_array(&d->m.arena, n, sizeof *d->series);
    if (!d->series) {
        return no_memory(err);
    }
    for (const char *p = text; p;) {
        size_t len = strcspn(p, ",");
        char *name = tl_arena_strndup(&d->m.arena, p, len);
        if (!name) {
            return no_memory(err);
        }
        d->series[d->n_series++] = name;
        p = p[len] ? p + len + 1 : NULL;
    }
    return TL_OK;
}

/* A setting among the properties: those that shape the table go into the draft unless an option says it already. */
static tl_status take_setting(draft *d, const tl_setting *s, const char *value, tl_error *err) {
    const char *text = keep(d, value);
    if (!text) {
        return no_memory(err);
    }
    if (strcmp(s->name, "time-column") == 0) {
        d->time_column = d->time_column ? d->time_column : text;
    } else if (strcmp(s->name, "ingest-time-column") == 0) {
        d->ingest_column = d->ingest_column ? d->ingest_column : text;
    } else if (strcmp(s->name, "chunk-interval") == 0) {
        d->chunk = d->chunk ? d->chunk : text;
    } else if (strcmp(s->name, "dedup") == 0) {
        d->dedup = d->dedup >= 0 ? d->dedup : strcmp(text, "true") == 0;
    } else if (strcmp(s->name, "series-key") == 0) {
        return d->n_series ? TL_OK : series_from_text(d, text, err);
    } else {
        char *key = tl_arena_format(&d->m.arena, "timelake.%s", s->name);
        return key ? tl_metadata_set_property(&d->m, key, text, err) : no_memory(err);
    }
    return TL_OK;
}

static tl_status take_property(draft *d, const tl_property *p, tl_error *err) {
    if (!tl_setting_find(p->key) && strncmp(p->key, "timelake.", 9) != 0) {
        return *p->key ? tl_metadata_set_property(&d->m, p->key, p->value, err)
                       : tl_fail(err, TL_INVALID, "a property without a name");
    }
    const tl_setting *s;
    char *canonical;
    TL_TRY(tl_setting_check(p->key, p->value, TL_LEVEL_CREATE | TL_LEVEL_TABLE, &s, &canonical, err));
    tl_status status = take_setting(d, s, canonical, err);
    tl_free(canonical);
    return status;
}

/* A value given as an option is checked as the setting would be. */
static tl_status take_option(draft *d, const char *name, const char *value, const char **out, tl_error *err) {
    const tl_setting *s;
    char *canonical;
    TL_TRY(tl_setting_check(name, value, TL_LEVEL_CREATE, &s, &canonical, err));
    *out = keep(d, canonical);
    tl_free(canonical);
    return *out ? TL_OK : no_memory(err);
}

static tl_status take_options(draft *d, tl_error *err) {
    const tl_create_options *o = d->options;
    static const tl_property always[] = {{"write.format.default", "parquet"},
                                         {"write.parquet.compression-codec", "zstd"},
                                         {"write.metadata.previous-versions-max", "20"},
                                         {"timelake.format-version", TL_FORMAT_PLAIN}};
    for (size_t i = 0; i < TL_COUNT(always); i++) {
        TL_TRY(tl_metadata_set_property(&d->m, always[i].key, always[i].value, err));
    }
    d->time_column = o->time_column;
    d->ingest_column = o->ingest_column;
    d->dedup = o->dedup;
    d->n_series = o->n_series_key;
    d->series = tl_arena_array(&d->m.arena, (size_t)(o->n_series_key > 0 ? o->n_series_key : 0), sizeof *d->series);
    if (!d->series) {
        return no_memory(err);
    }
    for (int32_t i = 0; i < o->n_series_key; i++) {
        d->series[i] = o->series_key[i];
    }
    if (o->chunk) {
        TL_TRY(take_option(d, "chunk-interval", o->chunk, &d->chunk, err));
    }
    for (int32_t i = 0; i < o->n_properties; i++) {
        TL_TRY(take_property(d, &o->properties[i], err));
    }
    if (o->retention) {
        const char *retention;
        TL_TRY(take_option(d, "retention", o->retention, &retention, err));
        TL_TRY(tl_metadata_set_property(&d->m, "timelake.retention", retention, err));
    }
    return TL_OK;
}

/* ---- checks against the schema ---- */

static tl_status check_names(const tl_schema *s, tl_error *err) {
    if (s->n_fields == 0) {
        return tl_fail(err, TL_INVALID, "a table needs at least one column");
    }
    for (int32_t i = 0; i < s->n_fields; i++) {
        if (!*s->fields[i].name) {
            return tl_fail(err, TL_INVALID, "column %d has no name", i + 1);
        }
        if (tl_schema_index(s, s->fields[i].name) != i) {
            return tl_fail(err, TL_INVALID, "two columns are named \"%.200s\"", s->fields[i].name);
        }
    }
    return TL_OK;
}

static tl_status find_column(const tl_schema *s, const char *what, const char *name, int32_t *out, tl_error *err) {
    *out = tl_schema_index(s, name);
    return *out >= 0 ? TL_OK : tl_fail(err, TL_INVALID, "%s \"%.200s\" is not a column of the schema", what, name);
}

static tl_status check_timestamp(const tl_schema *s, const char *what, int32_t column, bool zoned, tl_error *err) {
    tl_type_id id = s->fields[column].type.id;
    if (id == TL_TYPE_TIMESTAMPTZ || (id == TL_TYPE_TIMESTAMP && !zoned)) {
        return TL_OK;
    }
    return tl_fail(err, TL_INVALID, "%s \"%.200s\" must be a %s", what, s->fields[column].name,
                   zoned ? "timestamptz" : "timestamp");
}

static tl_status check_series(const draft *d, const tl_schema *s, tl_error *err) {
    for (int32_t i = 0; i < d->n_series; i++) {
        int32_t column;
        TL_TRY(find_column(s, "series key", d->series[i], &column, err));
        if (tl_type_is_nested(s->fields[column].type.id)) {
            return tl_fail(err, TL_INVALID, "series key \"%.200s\" is nested; a key column holds plain values",
                           d->series[i]);
        }
        if (strchr(d->series[i], ',')) {
            return tl_fail(err, TL_INVALID, "series key \"%.200s\": a column with a comma in its name cannot be a key",
                           d->series[i]);
        }
        if (column == d->time) {
            return tl_fail(err, TL_INVALID, "series key \"%.200s\" is the time column", d->series[i]);
        }
        for (int32_t k = 0; k < i; k++) {
            if (strcmp(d->series[i], d->series[k]) == 0) {
                return tl_fail(err, TL_INVALID, "series key \"%.200s\" is named twice", d->series[i]);
            }
        }
    }
    return TL_OK;
}

static tl_status check_columns(draft *d, tl_error *err) {
    const tl_schema *s = d->options->schema;
    TL_TRY(check_names(s, err));
    d->time = -1;
    if (!d->time_column) {
        if (d->n_series || d->chunk || d->dedup == 1) {
            return tl_fail(err, TL_INVALID, "a series key, chunk interval or dedup needs a time column");
        }
        return TL_OK;
    }
    TL_TRY(find_column(s, "time column", d->time_column, &d->time, err));
    TL_TRY(check_timestamp(s, "time column", d->time, false, err));
    if (d->ingest_column) {
        int32_t column;
        TL_TRY(find_column(s, "insertion time column", d->ingest_column, &column, err));
        TL_TRY(check_timestamp(s, "insertion time column", column, true, err));
        if (column == d->time) {
            return tl_fail(err, TL_INVALID, "\"%.200s\" cannot be time and insertion time at once", d->time_column);
        }
    }
    return check_series(d, s, err);
}

/* ---- the metadata ---- */

static tl_status set_contract_properties(draft *d, tl_error *err) {
    if (d->time < 0) {
        return TL_OK;
    }
    tl_buf key = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < d->n_series; i++) {
        status = tl_buf_printf(&key, "%s%s", i ? "," : "", d->series[i]);
    }
    char *series = status == TL_OK ? tl_buf_take_text(&key) : NULL;
    tl_buf_free(&key);
    if (!series) {
        return no_memory(err);
    }
    bool dedup = d->dedup < 0 ? d->n_series > 0 : d->dedup != 0;
    const tl_property list[] = {
        {"timelake.time-column", d->time_column},          {"timelake.chunk-interval", d->chunk ? d->chunk : "day"},
        {"timelake.dedup", dedup ? "true" : "false"},      {"timelake.series-key", *series ? series : NULL},
        {"timelake.ingest-time-column", d->ingest_column},
    };
    for (size_t i = 0; status == TL_OK && i < TL_COUNT(list); i++) {
        status = tl_metadata_set_property(&d->m, list[i].key, list[i].value, err);
    }
    tl_free(series);
    return status;
}

/* Deletes need readers that know them: such tables are of a newer format, and hidden from older programs. */
static tl_status set_policy(draft *d, tl_error *err) {
    tl_metadata *m = &d->m;
    if (strcmp(tl_setting_text(m, "write-policy"), "upsert") != 0) {
        return TL_OK;
    }
    TL_TRY(tl_policy_check(m, err));
    m->format_version = tl_policy_iceberg_version(m);
    return tl_metadata_set_property(m, "timelake.format-version", TL_FORMAT_UPSERT, err);
}

static int32_t greatest_id(const tl_field *fields, int32_t n, int depth) {
    int32_t id = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t below = depth < 64 ? greatest_id(fields[i].type.fields, fields[i].type.n_fields, depth + 1) : 0;
        id = fields[i].id > id ? fields[i].id : id;
        id = below > id ? below : id;
    }
    return id;
}

/* One partition field on the time, sorted by series and time; plain tables have neither. */
static tl_status set_layout(draft *d, tl_error *err) {
    tl_metadata *m = &d->m;
    m->specs = tl_arena_array(&m->arena, 1, sizeof *m->specs);
    m->sort_orders = tl_arena_array(&m->arena, 1, sizeof *m->sort_orders);
    if (!m->specs || !m->sort_orders) {
        return no_memory(err);
    }
    m->n_specs = m->n_sort_orders = 1;
    m->last_partition_id = 999;
    if (d->time < 0) {
        return TL_OK;
    }
    const tl_schema *s = &m->schemas[0];
    const char *chunk = d->chunk ? d->chunk : "day";
    tl_partition_field *p = tl_arena_array(&m->arena, 1, sizeof *p);
    tl_sort_field *sort = tl_arena_array(&m->arena, (size_t)d->n_series + 1, sizeof *sort);
    char *name = tl_arena_format(&m->arena, "%s_%s", d->time_column, chunk);
    if (!p || !sort || !name) {
        return no_memory(err);
    }
    tl_transform t = strcmp(chunk, "hour") == 0    ? TL_TRANSFORM_HOUR
                     : strcmp(chunk, "month") == 0 ? TL_TRANSFORM_MONTH
                                                   : TL_TRANSFORM_DAY;
    *p = (tl_partition_field){s->fields[d->time].id, 1000, name, t, 0, keep(d, chunk)};
    m->specs[0] = (tl_partition_spec){0, 1, p};
    m->last_partition_id = 1000;
    for (int32_t i = 0; i <= d->n_series; i++) {
        int32_t column = i < d->n_series ? tl_schema_index(s, d->series[i]) : d->time;
        sort[i] = (tl_sort_field){s->fields[column].id, "identity", false, true};
    }
    m->sort_orders[0] = (tl_sort_order){1, d->n_series + 1, sort};
    m->default_sort_order_id = 1;
    return p->text ? TL_OK : no_memory(err);
}

static tl_status build(draft *d, tl_store *store, const char *location, tl_error *err) {
    tl_metadata *m = &d->m;
    m->format_version = 2;
    m->current_snapshot_id = -1;
    TL_TRY(take_options(d, err));
    TL_TRY(check_columns(d, err));
    TL_TRY(set_contract_properties(d, err));
    TL_TRY(set_policy(d, err));
    if (!tl_metadata_property(m, "timelake.row-group-rows")) { /* written down, so that other programs keep to it */
        TL_TRY(tl_metadata_set_property(m, "timelake.row-group-rows", tl_setting_text(NULL, "row-group-rows"), err));
    }
    char uuid[TL_UUID_TEXT];
    tl_uuid7(store->env, uuid);
    m->table_uuid = keep(d, uuid);
    m->location = keep(d, location);
    m->schemas = tl_arena_array(&m->arena, 1, sizeof *m->schemas);
    if (!m->table_uuid || !m->location || !m->schemas ||
        tl_schema_copy(d->options->schema, &m->arena, &m->schemas[0]) != TL_OK) {
        return no_memory(err);
    }
    m->n_schemas = 1;
    m->schemas[0].schema_id = 0;
    if (d->time >= 0) {
        m->schemas[0].fields[d->time].required = true;
        int32_t ingest = d->ingest_column ? tl_schema_index(&m->schemas[0], d->ingest_column) : -1;
        if (ingest >= 0) {
            m->schemas[0].fields[ingest].required = true;
        }
    }
    m->last_column_id = greatest_id(m->schemas[0].fields, m->schemas[0].n_fields, 0);
    m->last_updated_ms = tl_env_now_us(store->env) / 1000;
    return set_layout(d, err);
}

/* ---- writing it ---- */

static tl_status check_absent(tl_store *store, const char *prefix, const char *ns, const char *table, tl_error *err) {
    int64_t version;
    char *key = NULL;
    tl_status status = tl_version_newest(store, prefix, &version, &key, err);
    tl_free(key);
    if (status == TL_OK) {
        return tl_fail(err, TL_EXISTS, "table %s.%s is there already", ns, table);
    }
    return status == TL_NOT_FOUND ? TL_OK : status;
}

/* The put whose reply was lost: ours, if these very bytes are there (the table's uuid is in them). */
static tl_status settle(tl_store *store, const char *key, tl_bytes json, tl_error *err) {
    tl_status status = TL_UNKNOWN;
    for (int attempt = 0; status == TL_UNKNOWN && attempt < 5; attempt++) {
        tl_buf there = {0};
        tl_status got = tl_store_get(store, key, &there, NULL);
        if (got == TL_OK) {
            status = tl_bytes_equal(tl_buf_bytes(&there), json) ? TL_OK : TL_EXISTS;
        } else if (got == TL_NOT_FOUND) {
            status = tl_store_put_if_absent(store, key, json, TL_PUT_SYNC, err);
            status = status == TL_EXISTS ? TL_UNKNOWN : status;
        }
        tl_buf_free(&there);
    }
    return status;
}

static tl_status put_first(tl_store *store, const char *key, const tl_metadata *m, const char *ns, const char *table,
                           tl_error *err) {
    tl_buf json = {0};
    tl_status status = tl_metadata_write(m, &json, err);
    if (status == TL_OK) {
        status = tl_store_put_if_absent(store, key, tl_buf_bytes(&json), TL_PUT_SYNC, err);
        if (status == TL_UNKNOWN) {
            status = settle(store, key, tl_buf_bytes(&json), err);
        }
    }
    tl_buf_free(&json);
    return status == TL_EXISTS ? tl_fail(err, TL_EXISTS, "table %s.%s is there already", ns, table) : status;
}

static tl_status create(tl_store *store, const char *ns, const char *table, const char *prefix, draft *d,
                        tl_table **out, tl_error *err) {
    TL_TRY(check_absent(store, prefix, ns, table, err));
    char *location = tl_store_uri(store, prefix);
    char *key = tl_format("%s/metadata/v1.metadata.json", prefix);
    char *hint = tl_format("%s/" TL_VERSION_HINT, prefix);
    tl_status status = location && key && hint ? build(d, store, location, err) : no_memory(err);
    tl_table *t = NULL;
    if (status == TL_OK) {
        status = tl_table_of(store, ns, table, 1, key, &d->m, &t, err);
    }
    if (status == TL_OK) {
        status = put_first(store, key, &t->metadata, ns, table, err);
    }
    if (status == TL_OK) {
        size_t n;
        (void)!tl_store_put(store, hint, tl_bytes_of("1"), TL_PUT_SYNC, NULL);
        (void)!tl_table_index_write(store, &n, NULL);
        *out = t;
    } else {
        tl_table_release(t);
    }
    tl_free(location);
    tl_free(key);
    tl_free(hint);
    return status;
}

tl_status tl_table_create(tl_store *store, const char *ns, const char *table, const tl_create_options *options,
                          tl_table **out, tl_error *err) {
    *out = NULL;
    char *prefix = tl_format("%s/%s", ns, table);
    if (!prefix) {
        return no_memory(err);
    }
    draft d = {.options = options};
    tl_status status = create(store, ns, table, prefix, &d, out, err);
    tl_metadata_free(&d.m);
    tl_free(prefix);
    return status;
}
