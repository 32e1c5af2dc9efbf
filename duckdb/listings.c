/* timelake_snapshots(path) and timelake_files(path): what a table consists of, as rows. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "duckdb/bounds.h"
#include "duckdb/extension_internal.h"

/* ---- table functions over cells ---- */

tl_ext_cell *tl_ext_rows_add(tl_ext_rows *rows) {
    if (rows->n == rows->cap) {
        int64_t cap = rows->cap ? rows->cap * 2 : 64;
        size_t size;
        if (!tl_size_mul((size_t)cap, (size_t)rows->n_columns, &size)) {
            return NULL;
        }
        tl_ext_cell *grown = tl_realloc_array(rows->cells, size, sizeof *grown);
        if (!grown) {
            return NULL;
        }
        rows->cells = grown;
        rows->cap = cap;
    }
    tl_ext_cell *row = rows->cells + rows->n++ * rows->n_columns;
    memset(row, 0, (size_t)rows->n_columns * sizeof *row);
    return row;
}

static void rows_free(void *data) {
    tl_ext_rows *rows = data;
    tl_free(rows->cells);
    tl_arena_free(&rows->arena);
    tl_free(rows);
}

char *tl_ext_parameter(duckdb_bind_info info, const char *name) {
    duckdb_value value = name ? duckdb_bind_get_named_parameter(info, name) : duckdb_bind_get_parameter(info, 0);
    if (!value) {
        return tl_strdup("");
    }
    char *text = duckdb_is_null_value(value) ? NULL : duckdb_get_varchar(value);
    char *copy = tl_strdup(text ? text : "");
    duckdb_free(text);
    duckdb_destroy_value(&value);
    return copy;
}

static void bind_listing(duckdb_bind_info info) {
    const tl_ext_listing *listing = duckdb_bind_get_extra_info(info);
    tl_error err = {{0}};
    tl_ext_rows *rows = tl_calloc(1, sizeof *rows);
    tl_status status = rows ? TL_OK : tl_fail_memory(&err, sizeof *rows);
    if (rows) {
        rows->columns = listing->columns;
        rows->n_columns = listing->n_columns;
        status = listing->fill(info, rows, &err);
    }
    if (status != TL_OK) {
        tl_host_message m = tl_host_message_of(&err);
        duckdb_bind_set_error(info, m.text);
        if (rows) {
            rows_free(rows);
        }
        return;
    }
    for (int32_t i = 0; i < listing->n_columns; i++) {
        duckdb_logical_type type = duckdb_create_logical_type(listing->columns[i].type);
        duckdb_bind_add_result_column(info, listing->columns[i].name, type);
        duckdb_destroy_logical_type(&type);
    }
    duckdb_bind_set_bind_data(info, rows, rows_free);
    duckdb_bind_set_cardinality(info, (idx_t)rows->n, true);
}

static void init_listing(duckdb_init_info info) {
    int64_t *next = tl_calloc(1, sizeof *next);
    if (!next) {
        duckdb_init_set_error(info, "timelake: out of memory");
        return;
    }
    duckdb_init_set_init_data(info, next, tl_free);
}

static void put_cell(duckdb_vector vector, duckdb_type type, idx_t row, const tl_ext_cell *cell) {
    if (!cell->known || (type == DUCKDB_TYPE_VARCHAR && !cell->text)) {
        duckdb_vector_ensure_validity_writable(vector);
        duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row);
    } else if (type == DUCKDB_TYPE_VARCHAR) {
        duckdb_vector_assign_string_element(vector, row, cell->text);
    } else if (type == DUCKDB_TYPE_BOOLEAN) {
        ((bool *)duckdb_vector_get_data(vector))[row] = cell->number != 0;
    } else {
        ((int64_t *)duckdb_vector_get_data(vector))[row] = cell->number;
    }
}

static void run_listing(duckdb_function_info info, duckdb_data_chunk output) {
    const tl_ext_rows *rows = duckdb_function_get_bind_data(info);
    int64_t *next = duckdb_function_get_init_data(info), n = rows->n - *next;
    n = n > (int64_t)duckdb_vector_size() ? (int64_t)duckdb_vector_size() : n;
    for (int64_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < rows->n_columns; c++) {
            put_cell(duckdb_data_chunk_get_vector(output, (idx_t)c), rows->columns[c].type, (idx_t)i,
                     &rows->cells[(*next + i) * rows->n_columns + c]);
        }
    }
    *next += n;
    duckdb_data_chunk_set_size(output, (idx_t)n);
}

static tl_status add_listing(duckdb_connection connection, const tl_ext_listing *listing, tl_error *err) {
    duckdb_table_function f = duckdb_create_table_function();
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_table_function_set_name(f, listing->name);
    duckdb_table_function_add_parameter(f, text);
    for (const char *const *name = listing->named; name && *name; name++) {
        duckdb_table_function_add_named_parameter(f, *name, text);
    }
    duckdb_destroy_logical_type(&text);
    duckdb_table_function_set_extra_info(f, (void *)(uintptr_t)listing, NULL);
    duckdb_table_function_set_bind(f, bind_listing);
    duckdb_table_function_set_init(f, init_listing);
    duckdb_table_function_set_function(f, run_listing);
    bool good = duckdb_register_table_function(connection, f) == DuckDBSuccess;
    duckdb_destroy_table_function(&f);
    return good ? TL_OK : tl_fail(err, TL_INTERNAL, "DuckDB does not take the function %s", listing->name);
}

/* ---- timelake_snapshots ---- */

static const tl_ext_column snapshot_columns[] = {
    {"snapshot_id", DUCKDB_TYPE_BIGINT},        {"parent_id", DUCKDB_TYPE_BIGINT},
    {"committed_at", DUCKDB_TYPE_TIMESTAMP_TZ}, {"operation", DUCKDB_TYPE_VARCHAR},
    {"is_current", DUCKDB_TYPE_BOOLEAN},        {"added_files", DUCKDB_TYPE_BIGINT},
    {"added_rows", DUCKDB_TYPE_BIGINT},         {"deleted_files", DUCKDB_TYPE_BIGINT},
    {"deleted_rows", DUCKDB_TYPE_BIGINT},       {"total_files", DUCKDB_TYPE_BIGINT},
    {"total_rows", DUCKDB_TYPE_BIGINT},         {"batch_id", DUCKDB_TYPE_VARCHAR}};

/* A number of the summary; those that are left out are 0. */
static tl_ext_cell summary_number(const tl_snapshot *s, const char *key, bool required) {
    const char *text = tl_snapshot_summary(s, key);
    int64_t value = 0;
    bool good = text && tl_parse_i64(tl_bytes_of(text), &value) == TL_PARSE_OK;
    return (tl_ext_cell){.known = good || (!required && !text), .number = value};
}

static tl_status text_cell(tl_ext_rows *rows, const char *text, tl_ext_cell *out, tl_error *err) {
    *out = (tl_ext_cell){.known = text != NULL, .text = text ? tl_arena_strdup(&rows->arena, text) : NULL};
    return !text || out->text ? TL_OK : tl_fail_memory(err, strlen(text));
}

static tl_status add_snapshot(const tl_metadata *m, const tl_snapshot *s, tl_ext_rows *rows, tl_error *err) {
    tl_ext_cell *c = tl_ext_rows_add(rows);
    if (!c) {
        return tl_fail_memory(err, sizeof *c);
    }
    c[0] = tl_ext_number(s->snapshot_id);
    c[1] = s->parent_id == -1 ? (tl_ext_cell){0} : tl_ext_number(s->parent_id);
    int64_t us;
    c[2] = tl_i64_mul(s->timestamp_ms, 1000, &us) ? tl_ext_number(us) : (tl_ext_cell){0};
    TL_TRY(text_cell(rows, tl_snapshot_summary(s, "operation"), &c[3], err));
    c[4] = tl_ext_number(s->snapshot_id == m->current_snapshot_id);
    static const char *const numbers[] = {"added-data-files", "added-records",    "deleted-data-files",
                                          "deleted-records",  "total-data-files", "total-records"};
    for (size_t i = 0; i < TL_COUNT(numbers); i++) {
        c[5 + i] = summary_number(s, numbers[i], i >= 4);
    }
    return text_cell(rows, tl_snapshot_summary(s, "timelake.batch-id"), &c[11], err);
}

static int newest_first(const void *a, const void *b) {
    const tl_snapshot *x = *(const tl_snapshot *const *)a, *y = *(const tl_snapshot *const *)b;
    if (x->sequence_number != y->sequence_number) {
        return x->sequence_number > y->sequence_number ? -1 : 1;
    }
    return x->timestamp_ms > y->timestamp_ms ? -1 : x->timestamp_ms < y->timestamp_ms;
}

static tl_status list_snapshots(const tl_metadata *m, tl_ext_rows *rows, tl_error *err) {
    const tl_snapshot **order = tl_alloc_array((size_t)m->n_snapshots, sizeof *order);
    if (!order) {
        return tl_fail_memory(err, (size_t)m->n_snapshots * sizeof *order);
    }
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        order[i] = &m->snapshots[i];
    }
    qsort(order, (size_t)m->n_snapshots, sizeof *order, newest_first);
    tl_status status = TL_OK;
    for (int32_t i = 0; i < m->n_snapshots && status == TL_OK; i++) {
        status = add_snapshot(m, order[i], rows, err);
    }
    tl_free(order);
    return status;
}

static tl_status fill_snapshots(duckdb_bind_info info, tl_ext_rows *rows, tl_error *err) {
    char *path = tl_ext_parameter(info, NULL);
    tl_place place = {0};
    tl_table *table = NULL;
    tl_status status = path ? tl_place_find(path, &place, err) : tl_fail_memory(err, 64);
    if (status == TL_OK) {
        status = tl_lake_table(place.lake, place.name, &table, err);
    }
    if (status == TL_OK) {
        status = list_snapshots(&table->metadata, rows, err);
    }
    tl_table_release(table);
    tl_free(place.name);
    tl_free(path);
    return status;
}

/* ---- timelake_files ---- */

static const tl_ext_column file_columns[] = {
    {"path", DUCKDB_TYPE_VARCHAR},          {"partition", DUCKDB_TYPE_VARCHAR},
    {"rows", DUCKDB_TYPE_BIGINT},           {"hidden_rows", DUCKDB_TYPE_BIGINT},
    {"bytes", DUCKDB_TYPE_BIGINT},          {"min_time", DUCKDB_TYPE_TIMESTAMP_TZ},
    {"max_time", DUCKDB_TYPE_TIMESTAMP_TZ}, {"snapshot_id", DUCKDB_TYPE_BIGINT},
    {"sequence_number", DUCKDB_TYPE_BIGINT}};

static tl_status partition_cell(const tl_table *table, const tl_data_file *f, tl_ext_rows *rows, tl_ext_cell *out,
                                tl_error *err) {
    const tl_partition_spec *spec = tl_metadata_spec_by_id(&table->metadata, f->spec_id);
    char label[32];
    *out = (tl_ext_cell){0};
    if (!spec || spec->n_fields != 1 || f->n_partition != 1 || !f->partition[0].value.data ||
        f->partition[0].value.len != 4 || spec->fields[0].transform < TL_TRANSFORM_YEAR ||
        spec->fields[0].transform > TL_TRANSFORM_HOUR) {
        return TL_OK;
    }
    tl_transform_time_label(spec->fields[0].transform, tl_load_i32(f->partition[0].value.data), label);
    return text_cell(rows, label, out, err);
}

static tl_status add_file(const tl_read_version *v, const tl_plan_file *f, tl_ext_rows *rows, tl_error *err) {
    const tl_table *table = v->plan->table;
    tl_ext_cell *c = tl_ext_rows_add(rows);
    if (!c) {
        return tl_fail_memory(err, sizeof *c);
    }
    char *path = tl_store_local_path(table->store, f->file->key);
    tl_status status = text_cell(rows, path ? path : f->file->file.path, &c[0], err);
    tl_free(path);
    TL_TRY(status);
    TL_TRY(partition_cell(table, &f->file->file, rows, &c[1], err));
    c[2] = tl_ext_number(f->file->file.record_count);
    c[3] = tl_ext_number(f->n_hidden);
    c[4] = tl_ext_number(f->file->file.file_size);
    int64_t min, max;
    if (tl_bounds_time(v->schema, &table->contract, f->file, &min, &max)) {
        c[5] = tl_ext_number(min);
        c[6] = tl_ext_number(max);
    }
    c[7] = tl_ext_number(f->file->snapshot_id);
    c[8] = tl_ext_number(f->file->sequence_number);
    return TL_OK;
}

static tl_status fill_files(duckdb_bind_info info, tl_ext_rows *rows, tl_error *err) {
    static const char *const names[] = {NULL, "snapshot", "as_of", "dedup"};
    char *texts[TL_COUNT(names)] = {NULL};
    tl_ext_request r = {0};
    tl_read_version *version = NULL;
    tl_status status = TL_OK;
    for (size_t i = 0; i < TL_COUNT(names) && status == TL_OK; i++) {
        texts[i] = tl_ext_parameter(info, names[i]);
        status = texts[i] ? TL_OK : tl_fail_memory(err, 64);
    }
    if (status == TL_OK) {
        status =
            tl_ext_request_of(&(tl_ext_texts){texts[0], texts[1], texts[2], texts[3], "keys-first", "", ""}, &r, err);
    }
    if (status == TL_OK) {
        status = tl_versions_get(tl_ext_versions(), r.place.lake, r.place.name, &r.want, &version, err);
    }
    for (int64_t i = 0; status == TL_OK && i < version->plan->n_scan; i++) {
        status = add_file(version, &version->plan->scan[i], rows, err);
    }
    tl_version_release(version);
    tl_free(r.place.name);
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        tl_free(texts[i]);
    }
    return status;
}

/* ---- timelake, timelake_latest: where LOAD could make no macro of that name ---- */

static tl_status fill_advice(duckdb_bind_info info, tl_ext_rows *rows, tl_error *err) {
    (void)info;
    (void)rows;
    return tl_fail(
        err, TL_UNSUPPORTED,
        "LOAD makes timelake(path) in databases in memory only, and leaves database files as they are: write "
        "FROM 'timelake:path', or run SELECT timelake_macros() and what it gives");
}

static const char *const version_names[] = {"snapshot", "as_of", "dedup", NULL};
static const char *const table_names[] = {"snapshot", "as_of", "dedup", "strategy", "time_from", "time_to", NULL};
static const tl_ext_column no_columns[] = {{"nothing", DUCKDB_TYPE_BOOLEAN}};
static const tl_ext_listing listings[] = {
    {"timelake_snapshots", snapshot_columns, TL_COUNT(snapshot_columns), NULL, fill_snapshots},
    {"timelake_files", file_columns, TL_COUNT(file_columns), version_names, fill_files},
    {"timelake", no_columns, 1, table_names, fill_advice},
    {"timelake_latest", no_columns, 1, NULL, fill_advice},
};

tl_status tl_ext_add_listings(duckdb_connection connection, tl_error *err) {
    for (size_t i = 0; i < TL_COUNT(listings); i++) {
        TL_TRY(add_listing(connection, &listings[i], err));
    }
    return TL_OK;
}
