/* Tables as a whole: create, list, schema, settings, rollback, drop, index. */
#include <string.h>

#include "api/lake.h"
#include "base/mem.h"
#include "commit/commit.h"
#include "iceberg/parquet_schema.h"
#include "iceberg/schema_from_arrow.h"
#include "maintain/upsert.h"
#include "table/settings.h"

/* ---- create ---- */

static size_t count_texts(const char *const *texts) {
    size_t n = 0;
    while (texts && texts[n]) {
        n++;
    }
    return n;
}

/* "a, b" -> texts in the arena. */
static tl_status split_key(const char *text, tl_arena *arena, const char ***out, int32_t *n_out, tl_error *err) {
    size_t n = 1;
    for (const char *p = text; *p; p++) {
        n += *p == ',';
    }
    const char **parts = tl_arena_array(arena, n, sizeof *parts);
    if (!parts) {
        return tl_fail_memory(err, n * sizeof *parts);
    }
    *n_out = 0;
    for (const char *p = text; p;) {
        const char *comma = strchr(p, ',');
        const char *end = comma ? comma : p + strlen(p);
        while (p < end && *p == ' ') {
            p++;
        }
        while (end > p && end[-1] == ' ') {
            end--;
        }
        if (p == end) {
            return tl_fail(err, TL_INVALID, "series key \"%s\": an empty column name", text);
        }
        parts[*n_out] = tl_arena_strndup(arena, p, (size_t)(end - p));
        if (!parts[(*n_out)++]) {
            return tl_fail_memory(err, (size_t)(end - p));
        }
        p = comma ? comma + 1 : NULL;
    }
    *out = parts;
    return TL_OK;
}

/* "name=value" texts as properties; names stay as given. */
static tl_status split_properties(const char *const *texts, size_t n, tl_arena *arena, tl_property **out,
                                  tl_error *err) {
    tl_property *properties = tl_arena_array(arena, n, sizeof *properties);
    if (!properties) {
        return tl_fail_memory(err, n * sizeof *properties);
    }
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(texts[i], '=');
        size_t len = equals ? (size_t)(equals - texts[i]) : strlen(texts[i]);
        if (len == 0) {
            return tl_fail(err, TL_INVALID, "\"%s\" is not of the form name=value", texts[i]);
        }
        properties[i].key = tl_arena_strndup(arena, texts[i], len);
        properties[i].value = equals ? equals + 1 : NULL;
        if (!properties[i].key) {
            return tl_fail_memory(err, len);
        }
    }
    *out = properties;
    return TL_OK;
}

static tl_status create(tl_lake *lake, const char *ns, const char *name, const struct ArrowSchema *arrow,
                        const tl_table_spec *spec, tl_arena *arena, tl_error *err) {
    tl_create_options options = {
        .time_column = spec->time_column,
        .ingest_column = spec->time_column && !spec->no_ingest_time ? "_ingest_ts" : NULL,
        .chunk = spec->chunk,
        .dedup = spec->no_dedup ? 0 : -1,
        .retention = spec->retention,
        .n_properties = (int32_t)count_texts(spec->properties),
    };
    if (spec->series_key && *spec->series_key) {
        const char **key;
        TL_TRY(split_key(spec->series_key, arena, &key, &options.n_series_key, err));
        options.series_key = key;
    }
    tl_property *properties;
    TL_TRY(split_properties(spec->properties, (size_t)options.n_properties, arena, &properties, err));
    for (int32_t i = 0; i < options.n_properties; i++) {
        if (!properties[i].value) {
            return tl_fail(err, TL_INVALID, "\"%s\" is not of the form name=value", spec->properties[i]);
        }
    }
    options.properties = properties;
    tl_schema schema;
    TL_TRY(tl_schema_from_arrow(arrow, options.time_column, options.ingest_column, arena, &schema, err));
    options.schema = &schema;
    tl_table *table = NULL;
    TL_TRY(tl_table_create(lake->store, ns, name, &options, &table, err));
    tl_lake_remember(lake, table);
    tl_table_release(table);
    return TL_OK;
}

tl_status tl_create(tl_lake *lake, const char *table, const struct ArrowSchema *schema, const tl_table_spec *spec,
                    tl_error *err) {
    static const tl_table_spec plain = {0};
    char ns[256], name[256];
    TL_TRY(tl_table_name_parse(table, "default", ns, name, err));
    spec = spec ? spec : &plain;
    if (!spec->time_column && (spec->series_key || spec->chunk || spec->retention)) {
        return tl_fail(err, TL_INVALID,
                       "table %s: a series key, chunk or retention needs a time column: name one (time_column)", table);
    }
    tl_arena arena = {0};
    tl_status status = create(lake, ns, name, schema, spec, &arena, err);
    tl_arena_free(&arena);
    return status;
}

/* ---- the rest ---- */

tl_status tl_schema_of(tl_lake *lake, const char *name, struct ArrowSchema *out, tl_error *err) {
    out->release = NULL;
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    tl_status status = tl_iceberg_arrow_schema(tl_metadata_schema(&table->metadata), out, err);
    tl_table_release(table);
    return status;
}

tl_status tl_tables(tl_lake *lake, char ***names, size_t *n, tl_error *err) {
    return tl_table_names(lake->store, names, n, err);
}

void tl_names_free(char **names, size_t n) {
    for (size_t i = 0; names && i < n; i++) {
        tl_free(names[i]);
    }
    tl_free((void *)names);
}

void tl_text_free(char *text) {
    tl_free(text);
}

/* Remembers the new version and reports its number. */
static tl_status changed(tl_lake *lake, tl_table *base, tl_table *newer, tl_status status, int64_t *version) {
    if (status == TL_OK && newer) {
        tl_lake_remember(lake, newer);
    }
    if (version) {
        *version = newer ? newer->version : base->version;
    }
    tl_table_release(newer);
    tl_table_release(base);
    return status;
}

/* Settings are checked and made canonical; other names pass as they are. */
static tl_status check_changes(tl_property *changes, size_t n, tl_arena *arena, tl_error *err) {
    for (size_t i = 0; i < n; i++) {
        bool ours = strncmp(changes[i].key, "timelake.", 9) == 0;
        if (!ours && strchr(changes[i].key, '.') != NULL) {
            continue; /* a table property such as write.parquet.compression-codec */
        }
        const tl_setting *setting;
        char *canonical = NULL;
        TL_TRY(tl_setting_check(changes[i].key, changes[i].value, TL_LEVEL_TABLE, &setting, &canonical, err));
        changes[i].key = tl_arena_format(arena, "timelake.%s", setting->name);
        if (canonical) {
            changes[i].value = tl_arena_strdup(arena, canonical);
        }
        bool ok = changes[i].key && (!canonical || changes[i].value);
        tl_free(canonical);
        if (!ok) {
            return tl_fail_memory(err, 64);
        }
    }
    return TL_OK;
}

/* Policy upsert deletes the older copies that are there, in the same commit. */
static bool switches_on(const tl_property *changes, size_t n) {
    bool on = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(changes[i].key, "timelake.write-policy") == 0) {
            on = changes[i].value && strcmp(changes[i].value, "upsert") == 0;
        }
    }
    return on;
}

static tl_status switch_on(tl_lake *lake, tl_table *table, const tl_property *changes, int32_t n, tl_table **newer,
                           tl_error *err) {
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_status status = tl_upsert_switch_on(table, changes, n, pool, newer, err);
    tl_lake_pool_give(lake, pool);
    return status;
}

tl_status tl_alter(tl_lake *lake, const char *name, const char *const *changes, size_t n, int64_t *version,
                   tl_error *err) {
    tl_arena arena = {0};
    tl_property *properties = NULL;
    tl_table *table = NULL, *newer = NULL;
    tl_status status = n == 0 || n > INT32_MAX ? tl_fail(err, TL_INVALID, "no setting was named")
                                               : split_properties(changes, n, &arena, &properties, err);
    if (status == TL_OK) {
        status = check_changes(properties, n, &arena, err);
    }
    if (status == TL_OK) {
        status = tl_lake_table(lake, name, &table, err);
    }
    if (status == TL_OK) {
        status = switches_on(properties, n) ? switch_on(lake, table, properties, (int32_t)n, &newer, err)
                                            : tl_commit_properties(table, properties, (int32_t)n, &newer, err);
        status = changed(lake, table, newer, status, version);
    }
    tl_arena_free(&arena);
    return status;
}

tl_status tl_rollback(tl_lake *lake, const char *name, int64_t snapshot_id, int64_t *version, tl_error *err) {
    tl_table *table = NULL, *newer = NULL;
    TL_TRY(tl_lake_table(lake, name, &table, err));
    tl_status status = tl_commit_rollback(table, snapshot_id, &newer, err);
    return changed(lake, table, newer, status, version);
}

tl_status tl_drop(tl_lake *lake, const char *table, tl_error *err) {
    char ns[256], name[256];
    TL_TRY(tl_table_name_parse(table, "default", ns, name, err));
    char *full = tl_format("%s.%s", ns, name);
    if (!full) {
        return tl_fail_memory(err, sizeof ns);
    }
    tl_lake_forget(lake, full);
    tl_free(full);
    return tl_table_drop(lake->store, ns, name, err);
}

tl_status tl_index(tl_lake *lake, size_t *n, tl_error *err) {
    size_t found = 0;
    TL_TRY(tl_table_index_write(lake->store, &found, err));
    if (n) {
        *n = found;
    }
    return TL_OK;
}
