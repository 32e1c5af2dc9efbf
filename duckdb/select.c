/*
 * tl_sql, tl_latest_sql: from a path and options to the SELECT that reads the table; DuckDB calls them whenever it
 * binds query(tl_sql(...)), so that each query sees the newest commit. tl_live: the bit test that the SELECT ends in.
 */
#include <string.h>

#include "base/num.h"
#include "duckdb/extension_internal.h"
#include "duckdb/live.h"
#include "duckdb/merged.h"
#include "duckdb/scan_args.h"
#include "table/settings.h"

/* ---- requests ---- */

static tl_status parse_dedup(const char *text, int *out, tl_error *err) {
    bool on;
    *out = -1;
    if (!*text) {
        return TL_OK;
    }
    if (tl_parse_bool(tl_bytes_of(text), &on) != TL_PARSE_OK) {
        return tl_fail(err, TL_INVALID, "dedup is on or off, not \"%s\"", text);
    }
    *out = on;
    return TL_OK;
}

static tl_status parse_strategy(const char *text, tl_strategy *out, tl_error *err) {
    const tl_setting *setting;
    char *canonical = NULL;
    *out = TL_STRATEGY_OF_TABLE;
    if (!*text) {
        return TL_OK;
    }
    tl_status status = tl_setting_check("read-dedup-strategy", text, TL_LEVEL_SESSION, &setting, &canonical, err);
    if (status == TL_OK) {
        *out = tl_strategy_of(canonical);
    }
    tl_free(canonical);
    return status;
}

static tl_status parse_time(const char *name, const char *text, int64_t *us, tl_error *err) {
    bool zoned;
    return tl_parse_timestamp(tl_bytes_of(text), us, &zoned) == TL_PARSE_OK
               ? TL_OK
               : tl_fail(err, TL_INVALID,
                         "%s: \"%s\" is no time: write 2026-01-31 10:30:00 (UTC) or with a zone's offset", name, text);
}

static tl_status parse_want(const tl_ext_texts *t, tl_version_want *out, tl_error *err) {
    *out = (tl_version_want){0};
    if (*t->snapshot && *t->as_of) {
        return tl_fail(err, TL_INVALID, "give snapshot or as_of, not both");
    }
    if (*t->snapshot &&
        (tl_parse_i64(tl_bytes_of(t->snapshot), &out->snapshot_id) != TL_PARSE_OK || out->snapshot_id <= 0)) {
        return tl_fail(err, TL_INVALID, "\"%s\" is no snapshot id: timelake_snapshots(path) lists them", t->snapshot);
    }
    out->has_as_of = *t->as_of != 0;
    out->has_time = *t->time_from || *t->time_to;
    out->from_us = out->has_time ? INT64_MIN : 0;
    out->to_us = out->has_time ? INT64_MAX : 0;
    TL_TRY(*t->as_of ? parse_time("as_of", t->as_of, &out->as_of_us, err) : TL_OK);
    TL_TRY(*t->time_from ? parse_time("time_from", t->time_from, &out->from_us, err) : TL_OK);
    TL_TRY(*t->time_to ? parse_time("time_to", t->time_to, &out->to_us, err) : TL_OK);
    TL_TRY(parse_strategy(t->strategy, &out->strategy, err));
    return parse_dedup(t->dedup, &out->dedup, err);
}

tl_status tl_ext_request_of(const tl_ext_texts *texts, tl_ext_request *out, tl_error *err) {
    *out = (tl_ext_request){0};
    TL_TRY(parse_want(texts, &out->want, err));
    return tl_place_find(texts->path, &out->place, err);
}

/* ---- the SELECT ---- */

static tl_status latest_select(const tl_ext_request *r, tl_buf *out, tl_error *err) {
    tl_table *table = NULL;
    tl_read_version *version = NULL;
    TL_TRY(tl_lake_table(r->place.lake, r->place.name, &table, err));
    tl_status status = tl_latest_index_sql(table, out, err);
    if (status == TL_NOT_FOUND) {
        status = tl_versions_get(tl_ext_versions(), r->place.lake, r->place.name, &r->want, &version, err);
        if (status == TL_OK) {
            status = tl_latest_rows_sql(table, (const char *)version->sql.data, out, err);
        }
        tl_version_release(version);
    }
    if (status == TL_OK && tl_buf_add_byte(out, 0) != TL_OK) {
        status = tl_fail_memory(err, out->len);
    }
    tl_table_release(table);
    return status;
}

static tl_status add_bound(const tl_field *time, const char *word, const char *op, int64_t us, tl_buf *out) {
    bool utc = time->type.id == TL_TYPE_TIMESTAMPTZ;
    char text[TL_NUM_TEXT];
    (void)tl_print_timestamp(us, 1000000, utc, text);
    TL_TRY(tl_buf_printf(out, " %s ", word));
    TL_TRY(tl_duck_quote_name(out, time->name));
    return tl_buf_printf(out, " %s %s '%s'", op, utc ? "TIMESTAMP WITH TIME ZONE" : "TIMESTAMP", text);
}

/* The rows of [from_us, to_us) among those of the version, which may have others. */
static tl_status times_select(const tl_read_version *version, const tl_version_want *want, tl_buf *out, tl_error *err) {
    const tl_table *table = version->plan->table;
    int32_t column = table->contract.time;
    const tl_schema *newest = tl_metadata_schema(&table->metadata);
    const tl_field *time = column < 0 ? NULL : tl_schema_field_by_id(version->schema, newest->fields[column].id);
    if (!time) {
        return tl_fail(err, TL_INVALID, "table %s has no time column: no time_from or time_to here", table->name);
    }
    tl_status status = tl_buf_add_text(out, "SELECT * FROM (");
    status = status == TL_OK ? tl_buf_add(out, version->sql.data, version->sql.len - 1) : status;
    status = status == TL_OK ? tl_buf_add_byte(out, ')') : status;
    if (status == TL_OK && want->from_us != INT64_MIN) {
        status = add_bound(time, "WHERE", ">=", want->from_us, out);
    }
    if (status == TL_OK && want->to_us != INT64_MAX) {
        status = add_bound(time, want->from_us != INT64_MIN ? "AND" : "WHERE", "<", want->to_us, out);
    }
    status = status == TL_OK ? tl_buf_add_byte(out, 0) : status;
    return status == TL_OK ? TL_OK : tl_fail_memory(err, out->len);
}

static tl_status rows_select(const tl_ext_request *r, tl_buf *out, tl_error *err) {
    tl_read_version *version = NULL;
    TL_TRY(tl_versions_get(tl_ext_versions(), r->place.lake, r->place.name, &r->want, &version, err));
    tl_status status;
    if (r->want.has_time) {
        status = times_select(version, &r->want, out, err);
    } else {
        status = tl_buf_add(out, version->sql.data, version->sql.len);
        status = status == TL_OK ? TL_OK : tl_fail_memory(err, out->len);
    }
    tl_version_release(version);
    return status;
}

tl_status tl_ext_select(const tl_ext_texts *texts, bool latest, tl_buf *out, tl_error *err) {
    tl_ext_request r;
    TL_TRY(tl_ext_request_of(texts, &r, err));
    tl_status status;
    if (latest && (r.want.snapshot_id || r.want.has_as_of || r.want.has_time)) {
        status =
            tl_fail(err, TL_INVALID,
                    "the newest rows are those of the newest snapshot: no snapshot, as_of, time_from or time_to here");
    } else {
        status = latest ? latest_select(&r, out, err) : rows_select(&r, out, err);
    }
    tl_free(r.place.name);
    return status;
}

/* ---- as functions of DuckDB's ---- */

/* NULL = not given. */
static bool is_given(duckdb_vector vector, idx_t row) {
    uint64_t *valid = duckdb_vector_get_validity(vector);
    return !valid || duckdb_validity_row_is_valid(valid, row);
}

char *tl_ext_text_at(duckdb_vector vector, idx_t row) {
    duckdb_string_t value = ((duckdb_string_t *)duckdb_vector_get_data(vector))[row];
    return tl_strndup(duckdb_string_t_data(&value), duckdb_string_t_length(value));
}

static tl_status select_for_row(duckdb_data_chunk input, idx_t row, bool latest, tl_buf *out, tl_error *err) {
    char *t[7] = {NULL};
    idx_t given = duckdb_data_chunk_get_column_count(input);
    tl_status status = TL_OK;
    for (idx_t i = 0; i < TL_COUNT(t) && status == TL_OK; i++) {
        duckdb_vector vector = i < given ? duckdb_data_chunk_get_vector(input, i) : NULL;
        t[i] = vector && is_given(vector, row) ? tl_ext_text_at(vector, row) : tl_strdup("");
        status = t[i] ? TL_OK : tl_fail_memory(err, 64);
    }
    if (status == TL_OK) {
        status = tl_ext_select(&(tl_ext_texts){t[0], t[1], t[2], t[3], t[4], t[5], t[6]}, latest, out, err);
    }
    for (size_t i = 0; i < TL_COUNT(t); i++) {
        tl_free(t[i]);
    }
    return status;
}

static void select_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    bool latest = duckdb_scalar_function_get_extra_info(info) != NULL;
    tl_buf text = {0};
    for (idx_t i = 0; i < duckdb_data_chunk_get_size(input); i++) {
        tl_error err = {{0}};
        if (!is_given(duckdb_data_chunk_get_vector(input, 0), i)) {
            duckdb_vector_ensure_validity_writable(output);
            duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), i);
            continue;
        }
        text.len = 0;
        if (select_for_row(input, i, latest, &text, &err) != TL_OK) {
            tl_host_message m = tl_host_message_of(&err);
            duckdb_scalar_function_set_error(info, m.text);
            break;
        }
        duckdb_vector_assign_string_element_len(output, i, (const char *)text.data, text.len - 1);
    }
    tl_buf_free(&text);
}

/* Where the rows of one handle end: always at `n`, except where somebody plays. */
static idx_t handle_end(const int64_t *handles, idx_t from, idx_t n) {
    idx_t to = from + 1;
    if (tl_live_all_equal(handles + from, n - from)) {
        return n;
    }
    while (to < n && handles[to] == handles[from]) {
        to++;
    }
    return to;
}

/* DuckDB calls it from all of its threads, on what is left after its own filters. */
static void live_function(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    const int64_t *handles = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
    const uint64_t *files = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 1));
    const int64_t *rows = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 2));
    bool *out = duckdb_vector_get_data(output);
    idx_t n = duckdb_data_chunk_get_size(input);
    for (idx_t from = 0, to; from < n; from = to) {
        to = handle_end(handles, from, n);
        tl_error err;
        err.message[0] = 0;
        tl_read_version *version = NULL;
        if (tl_versions_find(tl_ext_versions(), handles[from], &version, &err) != TL_OK) {
            tl_host_message m = tl_host_message_of(&err);
            duckdb_scalar_function_set_error(info, m.text);
            return;
        }
        bool fits = tl_live_rows(version->plan, files + from, rows + from, to - from, out + from);
        if (fits) {
            tl_version_mark(version, files[from]);
            tl_version_mark(version, files[to - 1]);
        }
        tl_version_release(version);
        if (!fits) {
            duckdb_scalar_function_set_error(info, TL_LIVE_MISFIT);
            return;
        }
    }
}

tl_status tl_ext_add_select(duckdb_connection connection, tl_error *err) {
    static const duckdb_type texts[] = {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR,
                                        DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR,
                                        DUCKDB_TYPE_VARCHAR};
    static const duckdb_type live[] = {DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_UBIGINT, DUCKDB_TYPE_BIGINT};
    static char latest;                       /* its address says so */
    static const int arguments[] = {4, 5, 7}; /* views of users have four texts */
    duckdb_scalar_function selects[TL_COUNT(arguments)];
    for (size_t i = 0; i < TL_COUNT(arguments); i++) {
        selects[i] = tl_host_function("tl_sql", texts, arguments[i], DUCKDB_TYPE_VARCHAR, select_function, NULL);
        duckdb_scalar_function_set_special_handling(selects[i]); /* of NULL */
    }
    TL_TRY(tl_host_register(connection, "tl_sql", selects, TL_COUNT(selects), err));
    TL_TRY(tl_merged_add(connection, tl_ext_versions(), err));
    duckdb_scalar_function f =
        tl_host_function("tl_latest_sql", texts, 1, DUCKDB_TYPE_VARCHAR, select_function, &latest);
    TL_TRY(tl_host_register(connection, "tl_latest_sql", &f, 1, err));
    TL_TRY(tl_host_add_scan_arguments(connection, tl_ext_versions(), err));
    f = tl_host_function("tl_live", live, 3, DUCKDB_TYPE_BOOLEAN, live_function, NULL);
    return tl_host_register(connection, "tl_live", &f, 1, err);
}
