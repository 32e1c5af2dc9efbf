/*
 * FROM 'timelake:path' and FROM 'timelake:path?dedup=off&as_of=...': DuckDB asks for a table that it does not know,
 * and is told to read query(SELECT) instead, at every bind. Options are snapshot, as_of, dedup, strategy,
 * time_from, time_to and latest.
 */
#include <string.h>

#include "base/num.h"
#include "duckdb/extension_internal.h"

static const char prefix[] = "timelake:";

typedef struct options {
    char *snapshot, *as_of, *dedup, *strategy, *time_from, *time_to, *latest;
} options;

static char **option_by_name(options *o, const char *name, size_t len) {
    const struct {
        const char *name;
        char **text;
    } all[] = {{"snapshot", &o->snapshot}, {"as_of", &o->as_of},         {"dedup", &o->dedup},
               {"strategy", &o->strategy}, {"time_from", &o->time_from}, {"time_to", &o->time_to},
               {"latest", &o->latest}};
    for (size_t i = 0; i < TL_COUNT(all); i++) {
        if (strlen(all[i].name) == len && memcmp(all[i].name, name, len) == 0) {
            return all[i].text;
        }
    }
    return NULL;
}

/* "dedup=off&latest=on", taken apart in place. */
static tl_status parse_options(char *text, options *out, tl_error *err) {
    while (*text) {
        char *end = text + strcspn(text, "&"), *next = *end ? end + 1 : end, *equals = strchr(text, '=');
        *end = 0;
        char **option = equals && equals < end ? option_by_name(out, text, (size_t)(equals - text)) : NULL;
        if (!option) {
            return tl_fail(err, TL_INVALID,
                           "\"%s\" is no option: there are snapshot=, as_of=, dedup=, strategy=, time_from=, time_to= "
                           "and latest=",
                           text);
        }
        *option = equals + 1;
        text = next;
    }
    return TL_OK;
}

static tl_status select_of(char *path, tl_buf *out, tl_error *err) {
    static char none[] = "";
    options o = {none, none, none, none, none, none, none};
    char *mark = strrchr(path, '?');
    bool latest = false;
    if (mark && strchr(mark, '=')) {
        *mark = 0;
        TL_TRY(parse_options(mark + 1, &o, err));
    }
    if (*o.latest && tl_parse_bool(tl_bytes_of(o.latest), &latest) != TL_PARSE_OK) {
        return tl_fail(err, TL_INVALID, "latest is on or off, not \"%s\"", o.latest);
    }
    return tl_ext_select(&(tl_ext_texts){path, o.snapshot, o.as_of, o.dedup, o.strategy, o.time_from, o.time_to},
                         latest, out, err);
}

static void replace(duckdb_replacement_scan_info info, const char *table_name, void *data) {
    (void)data;
    if (strncmp(table_name, prefix, sizeof prefix - 1) != 0) {
        return;
    }
    tl_error err = {{0}};
    tl_buf text = {0};
    char *path = tl_strdup(table_name + sizeof prefix - 1);
    tl_status status = path ? select_of(path, &text, &err) : tl_fail_memory(&err, strlen(table_name));
    tl_free(path);
    if (status == TL_OK) {
        duckdb_value value = duckdb_create_varchar((const char *)text.data);
        duckdb_replacement_scan_set_function_name(info, "query");
        duckdb_replacement_scan_add_parameter(info, value);
        duckdb_destroy_value(&value);
    } else {
        tl_host_message m = tl_host_message_of(&err);
        duckdb_replacement_scan_set_error(info, m.text);
    }
    tl_buf_free(&text);
}

void tl_ext_add_replacement(duckdb_database database) {
    duckdb_add_replacement_scan(database, replace, NULL, NULL);
}
