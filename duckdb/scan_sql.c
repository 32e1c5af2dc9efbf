/* From a table's plan to the SELECT that DuckDB runs instead; see sql_text.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "duckdb/sql_text.h"
#include "table/last_index.h"

enum { MAX_DEPTH = 64 };

static tl_status type_name(const tl_type *type, int depth, tl_buf *out) {
    if (depth > MAX_DEPTH) {
        return TL_UNSUPPORTED;
    }
    switch (type->id) {
    case TL_TYPE_BOOLEAN: return tl_buf_add_text(out, "BOOLEAN");
    case TL_TYPE_INT: return tl_buf_add_text(out, "INTEGER");
    case TL_TYPE_LONG: return tl_buf_add_text(out, "BIGINT");
    case TL_TYPE_FLOAT: return tl_buf_add_text(out, "FLOAT");
    case TL_TYPE_DOUBLE: return tl_buf_add_text(out, "DOUBLE");
    case TL_TYPE_DECIMAL: return tl_buf_printf(out, "DECIMAL(%d,%d)", type->precision, type->scale);
    case TL_TYPE_DATE: return tl_buf_add_text(out, "DATE");
    case TL_TYPE_TIME: return tl_buf_add_text(out, "TIME");
    case TL_TYPE_TIMESTAMP: return tl_buf_add_text(out, "TIMESTAMP");
    case TL_TYPE_TIMESTAMPTZ: return tl_buf_add_text(out, "TIMESTAMP WITH TIME ZONE");
    case TL_TYPE_STRING: return tl_buf_add_text(out, "VARCHAR");
    case TL_TYPE_UUID: return tl_buf_add_text(out, "UUID");
    case TL_TYPE_FIXED:
    case TL_TYPE_BINARY: return tl_buf_add_text(out, "BLOB");
    case TL_TYPE_LIST: TL_TRY(type_name(&type->fields[0].type, depth + 1, out)); return tl_buf_add_text(out, "[]");
    case TL_TYPE_MAP:
        TL_TRY(tl_buf_add_text(out, "MAP("));
        TL_TRY(type_name(&type->fields[0].type, depth + 1, out));
        TL_TRY(tl_buf_add_text(out, ", "));
        TL_TRY(type_name(&type->fields[1].type, depth + 1, out));
        return tl_buf_add_byte(out, ')');
    case TL_TYPE_STRUCT:
        TL_TRY(tl_buf_add_text(out, "STRUCT("));
        for (int32_t i = 0; i < type->n_fields; i++) {
            TL_TRY(i ? tl_buf_add_text(out, ", ") : TL_OK);
            TL_TRY(tl_duck_quote_name(out, type->fields[i].name));
            TL_TRY(tl_buf_add_byte(out, ' '));
            TL_TRY(type_name(&type->fields[i].type, depth + 1, out));
        }
        return tl_buf_add_byte(out, ')');
    }
    return TL_UNSUPPORTED;
}

tl_status tl_duck_type(const tl_type *type, tl_buf *out) {
    return type_name(type, 0, out);
}

/* The columns that every Parquet scan has besides the file's own: one of ours with such a name goes by its id. */
static bool hides_virtual(const tl_field *f) {
    return strcasecmp(f->name, "file_index") == 0 || strcasecmp(f->name, "file_row_number") == 0 ||
           strcasecmp(f->name, "filename") == 0;
}

static tl_status inner_name(const tl_field *f, tl_buf *out) {
    return hides_virtual(f) ? tl_buf_printf(out, "\"tl_field_%d\"", f->id) : tl_duck_quote_name(out, f->name);
}

tl_status tl_scan_column_name(const tl_field *f, tl_buf *out) {
    return hides_virtual(f) ? tl_buf_printf(out, "tl_field_%d", f->id) : tl_buf_add_text(out, f->name);
}

static tl_status outer_name(const tl_field *f, tl_buf *out) {
    return tl_duck_quote_name(out, f->name);
}

static tl_status out_of_memory(tl_status status, const tl_buf *out, tl_error *err) {
    return status == TL_NO_MEMORY ? tl_fail_memory(err, out->len) : status;
}

static tl_status select_nothing(const tl_schema *schema, tl_buf *out) {
    TL_TRY(tl_buf_add_text(out, "SELECT "));
    for (int32_t i = 0; i < schema->n_fields; i++) {
        TL_TRY(tl_buf_add_text(out, i ? ", CAST(NULL AS " : "CAST(NULL AS "));
        TL_TRY(tl_duck_type(&schema->fields[i].type, out));
        TL_TRY(tl_buf_add_text(out, ") AS "));
        TL_TRY(tl_duck_quote_name(out, schema->fields[i].name));
    }
    return tl_buf_add_text(out, " WHERE false");
}

tl_status tl_nothing_sql(const tl_schema *schema, tl_buf *out, tl_error *err) {
    return out_of_memory(select_nothing(schema, out), out, err);
}

/* One SELECT being written. */
typedef struct scan_text {
    const tl_plan *plan;
    const tl_schema *schema;
    int64_t handle;
    const bool *wanted;
    tl_buf *out;
} scan_text;

static bool is_wanted(const scan_text *s, int64_t file) {
    return !s->wanted || s->wanted[file];
}

static tl_status add_path(const tl_table *table, const char *key, tl_status (*add)(tl_buf *, const char *), tl_buf *out,
                          tl_error *err) {
    char *path = tl_store_local_path(table->store, key);
    if (!path) {
        return tl_fail(err, TL_UNSUPPORTED, "table %s: sql reads lakes on a disk only", table->name);
    }
    tl_status status = add(out, path);
    tl_free(path);
    return status == TL_OK ? TL_OK : tl_fail_memory(err, out->len);
}

static tl_status path_of(const tl_table *table, const char *key, tl_buf *out, tl_error *err) {
    return add_path(table, key, tl_duck_quote_path, out, err);
}

tl_status tl_scan_path(const tl_table *table, const char *key, tl_buf *out, tl_error *err) {
    return add_path(table, key, tl_duck_path, out, err);
}

/* All of them are listed. */
static bool is_run(const scan_text *s, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        if (!is_wanted(s, i)) {
            return false;
        }
    }
    return true;
}

static tl_status files_of(const scan_text *s, int64_t from, int64_t to, tl_error *err) {
    bool any = false;
    if (is_run(s, from, to)) {
        return tl_buf_printf(s->out, "tl_files(%lld, %lld, %lld)", (long long)s->handle, (long long)from,
                             (long long)to);
    }
    TL_TRY(tl_buf_add_byte(s->out, '['));
    for (int64_t i = from; i < to; i++) {
        if (is_wanted(s, i)) {
            TL_TRY(any ? tl_buf_add_byte(s->out, ',') : TL_OK);
            TL_TRY(path_of(s->plan->table, s->plan->scan[i].file->key, s->out, err));
            any = true;
        }
    }
    return tl_buf_add_byte(s->out, ']');
}

/* schema = MAP {id: {name, type, default_value}}: columns are found by field id, whatever a file calls them. */
static tl_status columns_of(const tl_schema *schema, tl_buf *out) {
    tl_buf part = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < schema->n_fields; i++) {
        const tl_field *f = &schema->fields[i];
        part.len = 0;
        status = tl_buf_printf(out, "%s%d: {name: ", i ? ", " : "", f->id);
        if (status == TL_OK) {
            status = tl_scan_column_name(f, &part);
        }
        if (status == TL_OK) {
            status = tl_buf_add_byte(&part, 0);
        }
        if (status == TL_OK) {
            status = tl_duck_quote_text(out, (const char *)part.data);
            part.len = 0;
        }
        if (status == TL_OK) {
            status = tl_duck_type(&f->type, &part);
        }
        if (status == TL_OK) {
            status = tl_buf_add_byte(&part, 0);
        }
        if (status == TL_OK) {
            status = tl_buf_add_text(out, ", type: ");
        }
        if (status == TL_OK) {
            status = tl_duck_quote_text(out, (const char *)part.data);
        }
        if (status == TL_OK) {
            status = tl_buf_add_text(out, ", default_value: NULL}");
        }
    }
    tl_buf_free(&part);
    return status;
}

static tl_status columns_by_id(const tl_schema *schema, tl_buf *out) {
    for (int32_t i = 0; i < schema->n_fields; i++) {
        TL_TRY(i ? tl_buf_add_text(out, ", ") : TL_OK);
        TL_TRY(inner_name(&schema->fields[i], out));
        if (hides_virtual(&schema->fields[i])) {
            TL_TRY(tl_buf_add_text(out, " AS "));
            TL_TRY(tl_duck_quote_name(out, schema->fields[i].name));
        }
    }
    return TL_OK;
}

static int64_t hidden_in(const scan_text *s, int64_t from, int64_t to) {
    int64_t hidden = 0;
    for (int64_t i = from; i < to; i++) {
        hidden += is_wanted(s, i) ? s->plan->scan[i].n_hidden : 0;
    }
    return hidden;
}

/* Where the files of the list stand in the plan: file_index, or a jump for each gap before it. */
static tl_status place_of(const scan_text *s, int64_t from, int64_t to) {
    int64_t listed = 0;
    bool open = false;
    if (is_run(s, from, to)) {
        return from ? tl_buf_printf(s->out, "CAST(file_index + %lld AS UBIGINT)", (long long)from)
                    : tl_buf_add_text(s->out, "file_index");
    }
    TL_TRY(tl_buf_add_text(s->out, "CAST(CASE"));
    for (int64_t i = to; i-- > from;) {
        listed += is_wanted(s, i);
    }
    for (int64_t i = to, k = listed; i-- > from;) {
        k -= is_wanted(s, i);
        bool begins = is_wanted(s, i) && (i == from || !is_wanted(s, i - 1));
        if (begins) {
            TL_TRY(tl_buf_printf(s->out, " WHEN file_index >= %lld THEN file_index + %lld", (long long)k,
                                 (long long)(i - k)));
            open = true;
        }
    }
    return tl_buf_add_text(s->out, open ? " END AS UBIGINT)" : " WHEN false THEN 0 END AS UBIGINT)");
}

/* Files `from` to `to` of the plan, whose columns carry field ids. */
static tl_status select_by_id(const scan_text *s, int64_t from, int64_t to, tl_error *err) {
    while (to > from + 1 && !is_wanted(s, to - 1)) {
        to--;
    }
    TL_TRY(tl_buf_add_text(s->out, "SELECT "));
    TL_TRY(columns_by_id(s->schema, s->out));
    TL_TRY(tl_buf_add_text(s->out, " FROM read_parquet("));
    TL_TRY(files_of(s, from, to, err));
    TL_TRY(tl_buf_printf(s->out, ", hive_partitioning=false, schema=tl_columns(%lld))", (long long)s->handle));
    if (hidden_in(s, from, to) == 0) {
        return TL_OK;
    }
    TL_TRY(tl_buf_printf(s->out, " WHERE tl_live(%lld, ", (long long)s->handle));
    TL_TRY(place_of(s, from, to));
    return tl_buf_add_text(s->out, ", file_row_number)");
}

/* One file without field ids: by the names that the plan found for it. */
static tl_status select_by_name(const scan_text *s, int64_t file, tl_error *err) {
    tl_buf *out = s->out;
    TL_TRY(tl_buf_add_text(out, "SELECT "));
    for (int32_t i = 0; i < s->schema->n_fields; i++) {
        const char *name = s->plan->scan[file].names[i];
        TL_TRY(tl_buf_add_text(out, i ? ", CAST(" : "CAST("));
        TL_TRY(name ? tl_duck_quote_name(out, name) : tl_buf_add_text(out, "NULL"));
        TL_TRY(tl_buf_add_text(out, " AS "));
        TL_TRY(tl_duck_type(&s->schema->fields[i].type, out));
        TL_TRY(tl_buf_add_text(out, ") AS "));
        TL_TRY(tl_duck_quote_name(out, s->schema->fields[i].name));
    }
    TL_TRY(tl_buf_add_text(out, " FROM read_parquet("));
    TL_TRY(files_of(s, file, file + 1, err));
    TL_TRY(tl_buf_add_text(out, ", hive_partitioning=false)"));
    return s->plan->scan[file].n_hidden > 0
               ? tl_buf_printf(out, " WHERE tl_live(%lld, CAST(%lld AS UBIGINT), file_row_number)",
                               (long long)s->handle, (long long)file)
               : TL_OK;
}

/* Runs of files of one kind, usually a single one. */
static tl_status select_files(const scan_text *s, tl_error *err) {
    TL_TRY(tl_scan_nested_check(s->plan->table, s->schema, err));
    bool any = false;
    for (int64_t from = 0, to; from < s->plan->n_scan; from = to) {
        to = from + 1;
        if (!is_wanted(s, from)) {
            continue;
        }
        TL_TRY(any ? tl_buf_add_text(s->out, " UNION ALL ") : TL_OK);
        any = true;
        if (s->plan->scan[from].names) {
            TL_TRY(select_by_name(s, from, err));
            continue;
        }
        while (to < s->plan->n_scan && (!is_wanted(s, to) || !s->plan->scan[to].names)) {
            to++;
        }
        TL_TRY(select_by_id(s, from, to, err));
    }
    return any ? TL_OK : select_nothing(s->schema, s->out);
}

tl_status tl_scan_some_sql(const tl_plan *plan, const tl_schema *schema, int64_t handle, const bool *wanted,
                           tl_buf *out, tl_error *err) {
    scan_text s = {plan, schema, handle, wanted, out};
    return out_of_memory(select_files(&s, err), out, err);
}

tl_status tl_scan_sql(const tl_plan *plan, const tl_schema *schema, int64_t handle, tl_buf *out, tl_error *err) {
    return tl_scan_some_sql(plan, schema, handle, NULL, out, err);
}

/* ---- newest rows ---- */

/* QUALIFY: one row a series. DuckDB takes 0.0 and -0.0 for one value, a series key does not: the text tells them apart.
 * `inner`: over a Parquet scan, where columns may go by their ids. */
static tl_status newest_of_series(const tl_table *table, bool inner, tl_buf *out) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    const tl_contract *c = &table->contract;
    tl_status (*name)(const tl_field *, tl_buf *) = inner ? inner_name : outer_name;
    TL_TRY(tl_buf_add_text(out, " QUALIFY row_number() OVER ("));
    for (int32_t i = 0; i < c->n_series; i++) {
        const tl_field *f = &schema->fields[c->series[i]];
        TL_TRY(tl_buf_add_text(out, i ? ", " : "PARTITION BY "));
        TL_TRY(name(f, out));
        if (f->type.id == TL_TYPE_FLOAT || f->type.id == TL_TYPE_DOUBLE) {
            TL_TRY(tl_buf_add_text(out, ", CAST("));
            TL_TRY(name(f, out));
            TL_TRY(tl_buf_add_text(out, " AS VARCHAR)"));
        }
    }
    TL_TRY(tl_buf_add_text(out, c->n_series ? " ORDER BY " : "ORDER BY "));
    TL_TRY(name(&schema->fields[c->time], out));
    TL_TRY(tl_buf_add_text(out, " DESC NULLS LAST"));
    if (c->ingest >= 0) {
        TL_TRY(tl_buf_add_text(out, ", "));
        TL_TRY(name(&schema->fields[c->ingest], out));
        TL_TRY(tl_buf_add_text(out, " DESC NULLS LAST"));
    }
    return tl_buf_add_text(out, inner ? ", file_index DESC) = 1" : ") = 1");
}

static tl_status index_select(tl_table *table, const tl_index_layers *layers, tl_buf *out, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    if (layers->n == 0) {
        return select_nothing(schema, out);
    }
    TL_TRY(tl_buf_add_text(out, "SELECT "));
    TL_TRY(columns_by_id(schema, out));
    TL_TRY(tl_buf_add_text(out, " FROM read_parquet(["));
    for (int32_t i = 0; i < layers->n; i++) {
        if (!tl_store_exists(table->store, layers->items[i].key)) {
            return tl_fail(err, TL_NOT_FOUND, "%s: the last-value index is gone", layers->items[i].key);
        }
        TL_TRY(i ? tl_buf_add_byte(out, ',') : TL_OK);
        TL_TRY(path_of(table, layers->items[i].key, out, err));
    }
    TL_TRY(tl_buf_add_text(out, "], hive_partitioning=false, schema=MAP{"));
    TL_TRY(columns_of(schema, out));
    TL_TRY(tl_buf_add_text(out, "})"));
    return layers->n > 1 ? newest_of_series(table, true, out) : TL_OK;
}

tl_status tl_latest_index_sql(tl_table *table, tl_buf *out, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&table->metadata);
    if (!current || table->contract.time < 0) {
        return tl_fail(err, TL_NOT_FOUND, "table %s has no last-value index", table->name);
    }
    tl_index_layers layers;
    TL_TRY(tl_index_layers_find(table, current, &layers, err));
    size_t begin = out->len;
    tl_status status = out_of_memory(index_select(table, &layers, out, err), out, err);
    tl_index_layers_free(&layers);
    if (status != TL_OK) {
        out->len = begin;
    }
    return status;
}

tl_status tl_latest_rows_sql(const tl_table *table, const char *rows, tl_buf *out, tl_error *err) {
    if (table->contract.time < 0) {
        return tl_fail(err, TL_INVALID, "table %s has no time column, so it has no newest rows", table->name);
    }
    tl_status status = tl_buf_add_text(out, "SELECT * FROM (");
    status = status == TL_OK ? tl_buf_add_text(out, rows) : status;
    status = status == TL_OK ? tl_buf_add_byte(out, ')') : status;
    status = status == TL_OK ? newest_of_series(table, false, out) : status;
    return out_of_memory(status, out, err);
}
