/* SQL sessions; see session.h. */
#include "cli/session.h"

#include <string.h>
#include <strings.h>

#include "cli/narrow.h"
#include "cli/split.h"
#include "duckdb/merged.h"
#include "duckdb/scan_args.h"
#include "table/settings.h"

/* A version in use by the statement being run. */
typedef struct pin {
    char *name;
    tl_read_version *version;
} pin;

/* A table of the lake, and what its view was made for. */
typedef struct known_table {
    char *name;        /* "ns.t" */
    const char *table; /* in `name` */
    bool defined;
    int32_t schema_id, last_column_id;
} known_table;

struct tl_session {
    tl_lake *lake;
    tl_duck duck;
    duckdb_client_context context;
    bool defining;
    bool changed; /* names may mean something else by now */
    char name_space[256];
    tl_version_want want;
    tl_versions *versions;
    tl_narrow narrow; /* of the statement being run */
    pin *pins;
    size_t n_pins, cap_pins;
    known_table *tables;
    size_t n_tables;
    tl_error broken;
    tl_lock lock; /* guards `pins` */
};

tl_duck *tl_session_duck(tl_session *s) {
    return &s->duck;
}
bool tl_session_defining(const tl_session *s) {
    return s->defining;
}
const char *tl_session_broken(const tl_session *s) {
    return s->broken.message;
}

/* ---- opening ---- */

static void property_name(const tl_setting *setting, char out[128]) {
    (void)snprintf(out, 128, "timelake.%s", setting->name);
    for (char *p = out; *p; p++) {
        *p = *p == '-' ? '_' : *p;
    }
}

/* Settings that a session may change are options of DuckDB's: SET timelake.read_dedup = false. */
static tl_status add_settings(tl_session *s, tl_error *err) {
    size_t n;
    const tl_setting *all = tl_settings_all(&n);
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (!(all[i].levels & TL_LEVEL_SESSION)) {
            continue;
        }
        char name[128];
        property_name(&all[i], name);
        duckdb_config_option option = duckdb_create_config_option();
        duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
        duckdb_value empty = duckdb_create_varchar("");
        duckdb_config_option_set_name(option, name);
        duckdb_config_option_set_type(option, text);
        duckdb_config_option_set_default_value(option, empty);
        duckdb_config_option_set_default_scope(option, DUCKDB_CONFIG_OPTION_SCOPE_SESSION);
        duckdb_config_option_set_description(option, all[i].description);
        if (duckdb_register_config_option(s->duck.connection, option) != DuckDBSuccess) {
            status = tl_fail(err, TL_INTERNAL, "DuckDB does not take the setting %s", name);
        }
        duckdb_destroy_value(&empty);
        duckdb_destroy_logical_type(&text);
        duckdb_destroy_config_option(&option);
    }
    return status;
}

static tl_status run_with_name(tl_session *s, const char *before, const char *name, const char *behind, tl_error *err) {
    tl_buf sql = {0};
    tl_status status = tl_buf_add_text(&sql, before);
    if (status == TL_OK) {
        status = tl_duck_quote_name(&sql, name);
    }
    if (status == TL_OK) {
        status = tl_buf_add(&sql, behind, strlen(behind) + 1);
    }
    status = status == TL_OK ? tl_duck_run(&s->duck, (const char *)sql.data, err) : tl_fail_memory(err, strlen(name));
    tl_buf_free(&sql);
    return status;
}

static tl_status set_up(tl_session *s, const char *name_space, tl_error *err) {
    duckdb_connection_get_client_context(s->duck.connection, &s->context);
    TL_TRY(add_settings(s, err));
    TL_TRY(tl_session_add_functions(s, err));
    TL_TRY(tl_merged_add(s->duck.connection, s->versions, err));
    TL_TRY(tl_host_add_scan_arguments(s->duck.connection, s->versions, err));
    TL_TRY(tl_host_add_time_functions(s->duck.connection, "", err));
    TL_TRY(tl_duck_run(&s->duck, "ATTACH ':memory:' AS timelake", err));
    TL_TRY(run_with_name(s, "CREATE SCHEMA timelake.", name_space, "", err));
    return run_with_name(s, "USE timelake.", name_space, "", err);
}

tl_status tl_session_open(tl_lake *lake, const char *name_space, unsigned threads, tl_session **out, tl_error *err) {
    *out = NULL;
    tl_session *s = tl_calloc(1, sizeof *s);
    if (!s) {
        return tl_fail_memory(err, sizeof *s);
    }
    s->lake = lake;
    (void)snprintf(s->name_space, sizeof s->name_space, "%s", name_space);
    tl_lock_init(&s->lock);
    s->versions = tl_versions_create();
    tl_status status = s->versions ? tl_duck_open(threads, &s->duck, err) : tl_fail_memory(err, sizeof *s);
    if (status == TL_OK) {
        status = set_up(s, name_space, err);
    }
    if (status != TL_OK) {
        tl_session_close(s);
        return status;
    }
    *out = s;
    return TL_OK;
}

static void forget_tables(tl_session *s) {
    for (size_t i = 0; i < s->n_tables; i++) {
        tl_free(s->tables[i].name);
    }
    tl_free(s->tables);
    s->tables = NULL;
    s->n_tables = 0;
}

void tl_session_close(tl_session *s) {
    if (!s) {
        return;
    }
    duckdb_destroy_client_context(&s->context);
    tl_duck_close(&s->duck);
    tl_session_forget(s);
    tl_free(s->pins);
    tl_versions_free(s->versions);
    forget_tables(s);
    tl_lock_free(&s->lock);
    tl_free(s);
}

/* ---- settings ---- */

/* "on" and "off" are said as often as true and false. */
static const char *bool_spelling(const tl_setting *setting, const char *value) {
    if (!setting || setting->kind != TL_SETTING_BOOL) {
        return value;
    }
    return strcasecmp(value, "on") == 0 ? "true" : strcasecmp(value, "off") == 0 ? "false" : value;
}

tl_status tl_session_set(tl_session *s, const char *name, const char *value, tl_error *err) {
    /* these two mean the engine's own, in any spelling; the others are ours when we know them */
    bool engine = strcasecmp(name, "threads") == 0 || strcasecmp(name, "memory_limit") == 0 ||
                  strcasecmp(name, "memory-limit") == 0;
    const tl_setting *setting = engine ? NULL : tl_setting_find(name);
    char known[128], *canonical = NULL;
    name = strcasecmp(name, "memory-limit") == 0 ? "memory_limit" : name;
    if (setting || strncasecmp(name, "timelake.", 9) == 0) {
        TL_TRY(tl_setting_check(name, bool_spelling(setting, value), TL_LEVEL_SESSION, &setting, &canonical, err));
        property_name(setting, known);
        name = known;
        value = canonical;
    }
    s->changed = s->changed || (!setting && !engine); /* a zone, a search path */
    tl_buf sql = {0};
    tl_status status = tl_buf_printf(&sql, "SET %s = ", setting ? name : "");
    if (!setting) {
        sql.len = 4; /* "SET " */
        status = tl_duck_quote_name(&sql, name);
        status = status == TL_OK ? tl_buf_add_text(&sql, " = ") : status;
    }
    status = status == TL_OK ? tl_duck_quote_text(&sql, value) : status;
    status = status == TL_OK ? tl_buf_add_byte(&sql, 0) : status;
    status = status == TL_OK ? tl_duck_run(&s->duck, (const char *)sql.data, err) : tl_fail_memory(err, strlen(value));
    tl_buf_free(&sql);
    tl_free(canonical);
    return status;
}

/* The session's own value of a setting, "" = not set; *text is freed with tl_free. */
static tl_status session_value(tl_session *s, const char *setting_name, char **text, tl_error *err) {
    const tl_setting *setting = tl_setting_find(setting_name);
    char name[128];
    property_name(setting, name);
    duckdb_value value = duckdb_client_context_get_config_option(s->context, name, NULL);
    char *raw = value ? duckdb_get_varchar(value) : NULL;
    tl_status status = TL_OK;
    if (raw && *raw) {
        status = tl_setting_check(name, bool_spelling(setting, raw), TL_LEVEL_SESSION, &setting, text, err);
    } else {
        *text = tl_strdup("");
        status = *text ? TL_OK : tl_fail_memory(err, 1);
    }
    duckdb_free(raw);
    duckdb_destroy_value(&value);
    return status;
}

/* ---- versions ---- */

void tl_session_want(tl_session *s, const tl_version_want *want) {
    s->want = *want;
}

static tl_status find_version(tl_session *s, const char *name, tl_read_version **out, tl_error *err) {
    char *dedup = NULL, *strategy = NULL;
    tl_version_want want = s->want;
    const tl_narrow *n = &s->narrow;
    bool narrow = n->table && strcmp(n->table, name) == 0;
    TL_TRY(session_value(s, "read-dedup", &dedup, err));
    want.dedup = *dedup ? strcmp(dedup, "true") == 0 : -1;
    tl_free(dedup);
    TL_TRY(session_value(s, "read-dedup-strategy", &strategy, err));
    want.strategy = tl_strategy_of(strategy);
    tl_free(strategy);
    if (narrow && n->kind == TL_SHAPE_NEWEST) {
        return tl_versions_newest(s->versions, s->lake, name, &want, n->limit, out, err);
    }
    if (narrow && n->kind == TL_SHAPE_WHERE) {
        want.has_time = n->has_time;
        want.from_us = n->from_us;
        want.to_us = n->to_us;
        want.keys = n->keys;
        want.n_keys = n->n_keys;
    }
    return tl_versions_get(s->versions, s->lake, name, &want, out, err);
}

/* Room for one more. The lock is held. */
static tl_status grow_pins(tl_session *s, tl_error *err) {
    if (s->n_pins == s->cap_pins) {
        pin *grown = tl_realloc_array(s->pins, s->cap_pins + 8, sizeof *grown);
        if (!grown) {
            return tl_fail_memory(err, (s->cap_pins + 8) * sizeof *grown);
        }
        s->pins = grown;
        s->cap_pins += 8;
    }
    return TL_OK;
}

tl_status tl_session_version(tl_session *s, const char *full_name, tl_read_version **out, tl_error *err) {
    tl_lock_take(&s->lock);
    size_t i = 0;
    while (i < s->n_pins && strcmp(s->pins[i].name, full_name) != 0) {
        i++;
    }
    tl_status status = i == s->n_pins ? grow_pins(s, err) : TL_OK;
    if (status == TL_OK && i == s->n_pins) {
        pin made = {.name = tl_strdup(full_name)};
        status = made.name ? find_version(s, full_name, &made.version, err) : tl_fail_memory(err, strlen(full_name));
        if (status == TL_OK) {
            s->pins[s->n_pins++] = made;
        } else {
            tl_free(made.name);
        }
    }
    *out = status == TL_OK ? s->pins[i].version : NULL;
    tl_lock_give(&s->lock);
    return status;
}

tl_read_version *tl_session_version_of(tl_session *s, int64_t handle) {
    tl_read_version *version = NULL;
    tl_lock_take(&s->lock);
    for (size_t i = 0; !version && i < s->n_pins; i++) {
        if (s->pins[i].version->handle == handle) {
            version = s->pins[i].version;
            version->references++;
        }
    }
    tl_lock_give(&s->lock);
    return version;
}

void tl_session_forget(tl_session *s) {
    tl_lock_take(&s->lock);
    for (size_t i = 0; i < s->n_pins; i++) {
        tl_version_release(s->pins[i].version);
        tl_free(s->pins[i].name);
    }
    s->n_pins = 0;
    tl_narrow_clear(&s->narrow);
    tl_lock_give(&s->lock);
}

/* The newest rows by the last-value index; `*done` stays false when there is none to be trusted. */
static tl_status select_latest(tl_session *s, const char *full_name, tl_buf *out, bool *done, tl_error *err) {
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(s->lake, full_name, &table, err));
    tl_status status = tl_latest_index_sql(table, out, err);
    tl_table_release(table);
    *done = status == TL_OK;
    return status == TL_NOT_FOUND ? TL_OK : status;
}

tl_status tl_session_select(tl_session *s, const char *full_name, tl_buf *out, tl_error *err) {
    tl_read_version *version;
    bool done = false;
    if (s->narrow.kind == TL_SHAPE_LATEST && strcmp(s->narrow.table, full_name) == 0 && !s->want.snapshot_id &&
        !s->want.has_as_of) {
        TL_TRY(select_latest(s, full_name, out, &done, err));
    }
    if (done) {
        return TL_OK;
    }
    TL_TRY(tl_session_version(s, full_name, &version, err));
    tl_status status = tl_buf_add(out, version->sql.data, version->sql.len - 1);
    return status == TL_OK ? TL_OK : tl_fail_memory(err, version->sql.len);
}

tl_status tl_session_columns(tl_session *s, const char *full_name, tl_buf *out, tl_error *err) {
    tl_table *table = NULL;
    const tl_snapshot *snapshot = NULL;
    TL_TRY(tl_lake_table(s->lake, full_name, &table, err));
    tl_status status = tl_version_snapshot(table, &s->want, &snapshot, err);
    if (status == TL_OK) {
        status = tl_nothing_sql(tl_version_schema(table, &s->want, snapshot), out, err);
    }
    tl_table_release(table);
    return status;
}

/* ---- views ---- */

/* The lake's tables now; what is known of their views stays. */
static tl_status list_tables(tl_session *s, tl_error *err) {
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tables(s->lake, &names, &n, err));
    known_table *tables = tl_calloc(n + 1, sizeof *tables);
    tl_status status = tables ? TL_OK : tl_fail_memory(err, n * sizeof *tables);
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        known_table *t = &tables[i];
        t->name = tl_strdup(names[i]);
        if (!t->name) {
            status = tl_fail_memory(err, strlen(names[i]));
            break;
        }
        t->table = strchr(t->name, '.') ? strchr(t->name, '.') + 1 : t->name;
        for (size_t k = 0; k < s->n_tables; k++) {
            if (strcmp(s->tables[k].name, t->name) == 0) {
                t->defined = s->tables[k].defined;
                t->schema_id = s->tables[k].schema_id;
                t->last_column_id = s->tables[k].last_column_id;
            }
        }
    }
    tl_names_free(names, n);
    if (tables) {
        forget_tables(s);
        s->tables = tables;
        s->n_tables = status == TL_OK ? n : 0;
    }
    return status;
}

/* Two names that differ in the case of letters only are one to DuckDB. */
static tl_status check_case(const tl_session *s, const known_table *t, tl_error *err) {
    for (size_t i = 0; i < s->n_tables; i++) {
        if (&s->tables[i] != t && strcasecmp(s->tables[i].name, t->name) == 0) {
            return tl_fail(err, TL_INVALID,
                           "tables %s and %s differ in the case of letters only: sql cannot tell them apart", t->name,
                           s->tables[i].name);
        }
    }
    return TL_OK;
}

static tl_status view_sql(const known_table *t, const char *name_space, tl_buf *sql) {
    TL_TRY(tl_buf_add_text(sql, "CREATE SCHEMA IF NOT EXISTS timelake."));
    TL_TRY(tl_duck_quote_name(sql, name_space));
    TL_TRY(tl_buf_add_text(sql, "; CREATE OR REPLACE VIEW timelake."));
    TL_TRY(tl_duck_quote_name(sql, name_space));
    TL_TRY(tl_buf_add_byte(sql, '.'));
    TL_TRY(tl_duck_quote_name(sql, t->table));
    TL_TRY(tl_buf_add_text(sql, " AS FROM query(tl_sql("));
    TL_TRY(tl_duck_quote_text(sql, t->name));
    return tl_buf_add(sql, "))", 3);
}

static tl_status define(tl_session *s, known_table *t, tl_error *err) {
    tl_table *table = NULL;
    TL_TRY(check_case(s, t, err));
    TL_TRY(tl_lake_table(s->lake, t->name, &table, err));
    const tl_metadata *m = &table->metadata;
    tl_status status = TL_OK;
    if (!t->defined || t->schema_id != m->current_schema_id || t->last_column_id != m->last_column_id) {
        char name_space[256];
        (void)snprintf(name_space, sizeof name_space, "%.*s", (int)(t->table - t->name - 1), t->name);
        tl_buf sql = {0};
        status = view_sql(t, name_space, &sql) == TL_OK ? TL_OK : tl_fail_memory(err, strlen(t->name));
        s->defining = true;
        status = status == TL_OK ? tl_duck_run(&s->duck, (const char *)sql.data, err) : status;
        s->defining = false;
        tl_buf_free(&sql);
        t->defined = status == TL_OK;
        t->schema_id = m->current_schema_id;
        t->last_column_id = m->last_column_id;
    }
    tl_table_release(table);
    return status;
}

/* Statements that look at the catalog may see every table. */
static bool wants_all(tl_bytes statement) {
    static const char *const words[] = {"information_schema",
                                        "show",
                                        "describe",
                                        "tables",
                                        "pg_catalog",
                                        "sqlite_master",
                                        "duckdb_tables",
                                        "duckdb_views",
                                        "duckdb_columns",
                                        "duckdb_schemas",
                                        "pragma",
                                        "pg_tables",
                                        "pg_views"};
    for (size_t i = 0; i < TL_COUNT(words); i++) {
        if (tl_sql_has_word(statement, words[i])) {
            return true;
        }
    }
    return false;
}

tl_status tl_session_prepare(tl_session *s, tl_bytes statement, tl_error *err) {
    s->broken.message[0] = 0;
    tl_session_forget(s);
    TL_TRY(list_tables(s, err));
    bool all = wants_all(statement);
    for (size_t i = 0; i < s->n_tables; i++) {
        known_table *t = &s->tables[i];
        tl_error why = {{0}};
        if ((all || tl_sql_has_word(statement, t->table)) && define(s, t, &why) != TL_OK && !s->broken.message[0]) {
            s->broken = why;
        }
    }
    return TL_OK;
}

/* ---- less than whole tables ---- */

/* The table that a statement names: in the catalog of the lake, or by its namespace; NULL = none of ours. */
static const known_table *named(const tl_session *s, const tl_shape *shape) {
    const char *ns = shape->n_table > 1 ? shape->table[shape->n_table - 2].text : s->name_space;
    const char *table = shape->table[shape->n_table - 1].text;
    static const char *const catalogs[] = {"timelake", "memory", "system", "temp"};
    for (size_t i = 0; i < TL_COUNT(catalogs); i++) {
        if (shape->n_table == 2 && strcasecmp(ns, catalogs[i]) == 0) {
            return NULL; /* DuckDB may take it for a catalog */
        }
    }
    if (shape->n_table == 3 && strcasecmp(shape->table[0].text, catalogs[0]) != 0) {
        return NULL;
    }
    const known_table *found = NULL;
    for (size_t i = 0; i < s->n_tables; i++) {
        const known_table *t = &s->tables[i];
        size_t len = (size_t)(t->table - t->name) - 1;
        if (strlen(ns) == len && strncasecmp(t->name, ns, len) == 0 && strcasecmp(t->table, table) == 0) {
            if (found) {
                return NULL;
            }
            found = t;
        }
    }
    return found && found->defined ? found : NULL;
}

/* Statements after which a name may mean another thing: all but those that only read, and settings that are no paths.
 */
static bool may_change_names(tl_bytes statement) {
    static const char *const harmless[] = {"select",   "from",      "with", "values", "explain",
                                           "describe", "summarize", "show", "pivot",  "unpivot"};
    char word[2][24];
    tl_sql_word(statement, 0, word[0], sizeof word[0]);
    tl_sql_word(statement, 1, word[1], sizeof word[1]);
    for (size_t i = 0; i < TL_COUNT(harmless); i++) {
        if (strcmp(word[0], harmless[i]) == 0) {
            return false;
        }
    }
    return strcmp(word[0], "set") != 0 || (strcmp(word[1], "threads") != 0 && strcmp(word[1], "timelake") != 0);
}

static tl_status count_text(tl_session *s, const tl_shape *shape, tl_buf *instead, tl_error *err) {
    tl_read_version *version;
    TL_TRY(tl_session_version(s, s->narrow.table, &version, err));
    if (version->merge.merge) {
        return TL_OK; /* nobody has counted */
    }
    tl_status status = tl_buf_printf(instead, "SELECT CAST(%lld AS BIGINT) AS ",
                                     (long long)(version->plan->rows - version->plan->hidden_rows));
    if (status == TL_OK) {
        status = tl_duck_quote_name(instead, *shape->alias.text ? shape->alias.text : "count_star()");
    }
    if (status == TL_OK) {
        status = tl_buf_add_byte(instead, 0);
    }
    return status == TL_OK ? TL_OK : tl_fail_memory(err, instead->len);
}

tl_status tl_session_narrow(tl_session *s, tl_bytes statement, tl_buf *instead, tl_error *err) {
    tl_shape shape;
    s->changed = s->changed || may_change_names(statement);
    tl_shape_of(statement, &shape);
    const known_table *t = s->changed || shape.kind == TL_SHAPE_OTHER ? NULL : named(s, &shape);
    if (!t) {
        return TL_OK;
    }
    tl_table *table = NULL;
    TL_TRY(tl_lake_table(s->lake, t->name, &table, err));
    tl_narrow_clear(&s->narrow);
    bool older = s->want.snapshot_id || s->want.has_as_of; /* perhaps with other columns */
    tl_status status = older && shape.kind != TL_SHAPE_COUNT ? TL_OK : tl_narrow_of(&shape, table, &s->narrow, err);
    tl_table_release(table);
    return status == TL_OK && s->narrow.kind == TL_SHAPE_COUNT ? count_text(s, &shape, instead, err) : status;
}
