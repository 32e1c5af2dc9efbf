/* The contract of a table, read from its properties and checked against its schema and partition spec. */
#include "table/contract.h"

#include <string.h>

#include "base/num.h"
#include "table/settings.h"

enum { KNOWN_MAJOR = 0, KNOWN_MINOR = 4 };

static const char *next_number(const char *p, int32_t *out) {
    size_t digits = strspn(p, "0123456789");
    int64_t v;
    if (digits == 0 || tl_parse_i64((tl_bytes){(const uint8_t *)p, digits}, &v) != TL_PARSE_OK || v > INT32_MAX) {
        return NULL;
    }
    *out = (int32_t)v;
    return p + digits;
}

/* "0.3.0"; a bare "2" is 0.2.0; absent is 0.1.0 (spec a.6). */
static tl_status read_version(const tl_metadata *m, tl_contract *c, tl_error *err) {
    const char *text = tl_metadata_property(m, "timelake.format-version");
    c->format_major = 0;
    c->format_minor = 1;
    if (!text) {
        return TL_OK;
    }
    int32_t numbers[3] = {0};
    int n = 0;
    const char *p = text;
    for (; p && n < 3; p = *p == '.' && n < 3 ? p + 1 : NULL) {
        p = next_number(p, &numbers[n]);
        if (!p) {
            break;
        }
        n++;
        if (!*p) {
            break;
        }
    }
    if (!p || *p || n == 0 || n == 2) {
        return tl_fail(err, TL_CORRUPT, "property timelake.format-version is \"%.100s\", which is no version", text);
    }
    c->format_major = n == 1 ? 0 : numbers[0];
    c->format_minor = n == 1 ? numbers[0] : numbers[1];
    if (c->format_major > KNOWN_MAJOR || (c->format_major == KNOWN_MAJOR && c->format_minor > KNOWN_MINOR)) {
        return tl_fail(err, TL_UNSUPPORTED,
                       "the table has format version %.100s, this program knows up to %d.%d.x: upgrade timelake", text,
                       KNOWN_MAJOR, KNOWN_MINOR);
    }
    return TL_OK;
}

static tl_status column_of(const tl_schema *schema, const char *property, const char *name, int32_t *out,
                           tl_error *err) {
    *out = tl_schema_index(schema, name);
    return *out >= 0 ? TL_OK
                     : tl_fail(err, TL_CORRUPT, "property %s names the column \"%.200s\", which is not in the schema",
                               property, name);
}

static bool is_timestamp(const tl_schema *schema, int32_t column) {
    tl_type_id id = schema->fields[column].type.id;
    return id == TL_TYPE_TIMESTAMP || id == TL_TYPE_TIMESTAMPTZ;
}

/* "a,b" -> indices. */
static tl_status read_series(const tl_schema *schema, const char *text, tl_contract *c, tl_error *err) {
    size_t n = 1;
    for (const char *p = text; *p; p++) {
        n += *p == ',';
    }
    c->series = tl_arena_array(&c->arena, n, sizeof *c->series);
    if (!c->series) {
        return tl_fail_memory(err, n * sizeof *c->series);
    }
    for (const char *p = text; p;) {
        size_t len = strcspn(p, ",");
        char *name = tl_arena_strndup(&c->arena, p, len);
        if (!name) {
            return tl_fail_memory(err, len);
        }
        int32_t column;
        TL_TRY(column_of(schema, "timelake.series-key", name, &column, err));
        if (tl_type_is_nested(schema->fields[column].type.id)) {
            return tl_fail(err, TL_CORRUPT, "series key column \"%.200s\" is nested", name);
        }
        c->series[c->n_series++] = column;
        p = p[len] ? p + len + 1 : NULL;
    }
    return TL_OK;
}

/* The partition spec is what files are written by; a property that says something else is not believed. */
static tl_transform read_chunk(const tl_metadata *m, const tl_schema *schema, int32_t time) {
    const tl_partition_spec *spec = tl_metadata_spec(m);
    if (!spec || spec->n_fields != 1 || spec->fields[0].source_id != schema->fields[time].id) {
        return TL_TRANSFORM_VOID;
    }
    tl_transform t = spec->fields[0].transform;
    return t == TL_TRANSFORM_HOUR || t == TL_TRANSFORM_DAY || t == TL_TRANSFORM_MONTH ? t : TL_TRANSFORM_VOID;
}

static bool any_property(const tl_metadata *m) {
    for (int32_t i = 0; i < m->n_properties; i++) {
        if (strncmp(m->properties[i].key, "timelake.", 9) == 0) {
            return true;
        }
    }
    return false;
}

static tl_status read_columns(const tl_metadata *m, tl_contract *c, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(m);
    const char *time = tl_metadata_property(m, "timelake.time-column");
    const char *series = tl_metadata_property(m, "timelake.series-key");
    const char *ingest = tl_metadata_property(m, "timelake.ingest-time-column");
    const char *dedup = tl_metadata_property(m, "timelake.dedup");
    if (!time) {
        return TL_OK;
    }
    TL_TRY(column_of(schema, "timelake.time-column", time, &c->time, err));
    if (!is_timestamp(schema, c->time)) {
        return tl_fail(err, TL_CORRUPT, "time column \"%.200s\" is not a timestamp", time);
    }
    if (series && *series) {
        TL_TRY(read_series(schema, series, c, err));
    }
    if (ingest && *ingest) {
        TL_TRY(column_of(schema, "timelake.ingest-time-column", ingest, &c->ingest, err));
        if (!is_timestamp(schema, c->ingest)) {
            return tl_fail(err, TL_CORRUPT, "insertion time column \"%.200s\" is not a timestamp", ingest);
        }
    }
    c->dedup = dedup ? strcmp(dedup, "true") == 0 : c->n_series > 0;
    c->chunk = read_chunk(m, schema, c->time);
    c->upsert = c->dedup && strcmp(tl_setting_text(m, "write-policy"), "upsert") == 0;
    return TL_OK;
}

tl_status tl_contract_read(const tl_metadata *m, tl_contract *out, tl_error *err) {
    *out = (tl_contract){.time = -1, .ingest = -1, .chunk = TL_TRANSFORM_VOID, .foreign = !any_property(m)};
    tl_status status = read_version(m, out, err);
    if (status == TL_OK) {
        status = read_columns(m, out, err);
    }
    if (status != TL_OK) {
        tl_contract_free(out);
    }
    return status;
}

void tl_contract_free(tl_contract *c) {
    tl_arena_free(&c->arena);
    *c = (tl_contract){.time = -1, .ingest = -1, .chunk = TL_TRANSFORM_VOID};
}
