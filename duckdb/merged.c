/* tl_merged; see merged.h. */
#include "duckdb/merged.h"

#include <string.h>

#include "base/mem.h"
#include "duckdb/vectors.h"

/* One run of the function. Its threads keep it and, through it, the version: no file of the snapshot is let go by us
 * before the last of them has ended. */
typedef struct run {
    tl_read_version *version;
    tl_scan_parts parts;
    int32_t *columns; /* that are read, in the snapshot's schema */
    int32_t n_columns;
    int32_t *sources; /* of each vector that DuckDB wants: in `columns`; -1 = none, only rows are counted */
    idx_t n_sources;
    _Atomic int64_t next; /* part */
    _Atomic int references;
} run;

/* What one thread of a run is at. */
typedef struct worker {
    run *run;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t at; /* next row of the batch */
} worker;

/* ---- binding ---- */

static void bound_free(void *version) {
    tl_version_release(version);
}

static tl_status add_columns(duckdb_bind_info info, const tl_schema *schema, tl_error *err) {
    for (int32_t i = 0; i < schema->n_fields; i++) {
        duckdb_logical_type type = tl_vector_type(&schema->fields[i].type);
        if (!type) {
            return tl_fail(err, TL_UNSUPPORTED, "column \"%s\" is of a type that DuckDB does not take",
                           schema->fields[i].name);
        }
        duckdb_bind_add_result_column(info, schema->fields[i].name, type);
        duckdb_destroy_logical_type(&type);
    }
    return TL_OK;
}

static void bind_merged(duckdb_bind_info info) {
    tl_error err = {{0}};
    tl_read_version *version = NULL;
    duckdb_value value = duckdb_bind_get_parameter(info, 0);
    int64_t handle = value && !duckdb_is_null_value(value) ? duckdb_get_int64(value) : -1;
    duckdb_destroy_value(&value);
    tl_status status = tl_versions_find(duckdb_bind_get_extra_info(info), handle, &version, &err);
    if (status == TL_OK && !version->merge.merge) {
        status = tl_fail(&err, TL_INVALID, "tl_merged is for the statements that tl_sql makes");
    }
    if (status == TL_OK) {
        status = add_columns(info, version->schema, &err);
    }
    if (status != TL_OK) {
        tl_host_message m = tl_host_message_of(&err);
        duckdb_bind_set_error(info, m.text);
        tl_version_release(version);
        return;
    }
    duckdb_bind_set_cardinality(info, (idx_t)(version->plan->rows - version->plan->hidden_rows), false);
    duckdb_bind_set_bind_data(info, version, bound_free);
}

/* ---- beginning ---- */

static void run_release(void *data) {
    run *r = data;
    if (r && --r->references == 0) {
        tl_scan_parts_free(&r->parts);
        tl_version_release(r->version);
        tl_free(r->columns);
        tl_free(r->sources);
        tl_free(r);
    }
}

/* Columns that are wanted twice are read once; where none is, the time is, for the number of rows. */
static tl_status choose_columns(duckdb_init_info info, run *r, tl_error *err) {
    const tl_schema *schema = r->version->schema;
    r->n_sources = duckdb_init_get_column_count(info);
    size_t room = (size_t)r->n_sources + 1;
    r->columns = tl_alloc_array(room, sizeof *r->columns);
    r->sources = tl_alloc_array(room, sizeof *r->sources);
    if (!r->columns || !r->sources) {
        return tl_fail_memory(err, room * sizeof *r->columns);
    }
    for (idx_t i = 0; i < r->n_sources; i++) {
        idx_t column = duckdb_init_get_column_index(info, i);
        r->sources[i] = -1;
        if (column >= (idx_t)schema->n_fields) {
            continue;
        }
        int32_t k = 0;
        while (k < r->n_columns && r->columns[k] != (int32_t)column) {
            k++;
        }
        r->columns[k] = (int32_t)column;
        r->n_columns += k == r->n_columns;
        r->sources[i] = k;
    }
    if (r->n_columns == 0) {
        r->columns[r->n_columns++] = r->version->plan->table->contract.time;
    }
    return TL_OK;
}

static void init_run(duckdb_init_info info) {
    tl_error err = {{0}};
    run *r = tl_calloc(1, sizeof *r);
    tl_status status = r ? TL_OK : tl_fail_memory(&err, sizeof *r);
    if (status == TL_OK) {
        r->references = 1;
        r->version = duckdb_init_get_bind_data(info);
        r->version->references++;
        status = choose_columns(info, r, &err);
    }
    if (status == TL_OK) {
        status = tl_scan_parts_make(r->version->plan, &r->version->merge, &r->parts, &err);
    }
    if (status != TL_OK) {
        tl_host_message m = tl_host_message_of(&err);
        duckdb_init_set_error(info, m.text);
        run_release(r);
        return;
    }
    duckdb_init_set_max_threads(info, r->parts.n > 1 ? (idx_t)r->parts.n : 1);
    duckdb_init_set_init_data(info, r, run_release);
}

static void worker_rest(worker *w) {
    if (w->batch.release) {
        w->batch.release(&w->batch);
    }
    if (w->stream.release) {
        w->stream.release(&w->stream);
    }
}

static void worker_free(void *data) {
    worker *w = data;
    worker_rest(w);
    run_release(w->run);
    tl_free(w);
}

/* DuckDB gives a thread's beginning no way to the run; the run comes with the first call. */
static void init_worker(duckdb_init_info info) {
    worker *w = tl_calloc(1, sizeof *w);
    if (w) {
        duckdb_init_set_init_data(info, w, worker_free);
    } else {
        duckdb_init_set_error(info, "timelake: out of memory");
    }
}

/* ---- rows ---- */

static tl_status open_part(worker *w, int64_t number, tl_error *err) {
    run *r = w->run;
    const tl_scan_part *part = &r->parts.items[number];
    for (int64_t i = 0; i < part->n_files; i++) {
        tl_version_mark(r->version, (uint64_t)part->files[i]);
    }
    return tl_scan_open_part(r->version->plan, &r->version->merge, part, r->columns, r->n_columns, &w->stream, err);
}

/* Makes the batch one with rows left; without `release` there are no more. */
static tl_status next_batch(worker *w, tl_error *err) {
    while (!w->batch.release || w->at == w->batch.length) {
        if (w->batch.release) {
            w->batch.release(&w->batch);
        }
        w->at = 0;
        if (!w->stream.release) {
            int64_t number = w->run->next++;
            if (number >= w->run->parts.n) {
                return TL_OK;
            }
            TL_TRY(open_part(w, number, err));
        }
        if (w->stream.get_next(&w->stream, &w->batch) != 0) {
            w->batch.release = NULL;
            return tl_fail(err, TL_IO, "%s", w->stream.get_last_error(&w->stream));
        }
        if (!w->batch.release) {
            w->stream.release(&w->stream);
        }
    }
    return TL_OK;
}

/* A vector that nobody looks into: row numbers, or nothing at all. */
static void put_nothing(duckdb_vector out, idx_t n) {
    duckdb_logical_type type = duckdb_vector_get_column_type(out);
    size_t width = duckdb_get_type_id(type) == DUCKDB_TYPE_BIGINT ? sizeof(int64_t) : 1;
    duckdb_destroy_logical_type(&type);
    memset(duckdb_vector_get_data(out), 0, n * width);
}

static tl_status put_rows(worker *w, duckdb_data_chunk output, tl_error *err) {
    const run *r = w->run;
    if (!w->batch.release) {
        duckdb_data_chunk_set_size(output, 0);
        return TL_OK;
    }
    int64_t n = w->batch.length - w->at, most = (int64_t)duckdb_vector_size();
    n = n > most ? most : n;
    for (idx_t i = 0; i < r->n_sources; i++) {
        duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
        if (r->sources[i] < 0) {
            put_nothing(vector, (idx_t)n);
            continue;
        }
        const tl_field *field = &r->version->schema->fields[r->columns[r->sources[i]]];
        TL_TRY(tl_vector_put(&field->type, w->batch.children[r->sources[i]], w->batch.offset + w->at, n, vector, err));
    }
    w->at += n;
    duckdb_data_chunk_set_size(output, (idx_t)n);
    return TL_OK;
}

static void run_merged(duckdb_function_info info, duckdb_data_chunk output) {
    worker *w = duckdb_function_get_local_init_data(info);
    tl_error err = {{0}};
    if (!w->run) {
        w->run = duckdb_function_get_init_data(info);
        w->run->references++;
    }
    tl_status status = next_batch(w, &err);
    status = status == TL_OK ? put_rows(w, output, &err) : status;
    if (status != TL_OK) {
        tl_host_message m = tl_host_message_of(&err);
        worker_rest(w);
        duckdb_function_set_error(info, m.text);
    }
}

tl_status tl_merged_add(duckdb_connection connection, tl_versions *versions, tl_error *err) {
    duckdb_table_function f = duckdb_create_table_function();
    duckdb_logical_type handle = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
    duckdb_table_function_set_name(f, "tl_merged");
    duckdb_table_function_add_parameter(f, handle);
    duckdb_destroy_logical_type(&handle);
    duckdb_table_function_set_extra_info(f, versions, NULL);
    duckdb_table_function_set_bind(f, bind_merged);
    duckdb_table_function_set_init(f, init_run);
    duckdb_table_function_set_local_init(f, init_worker);
    duckdb_table_function_set_function(f, run_merged);
    duckdb_table_function_supports_projection_pushdown(f, true);
    bool good = duckdb_register_table_function(connection, f) == DuckDBSuccess;
    duckdb_destroy_table_function(&f);
    return good ? TL_OK : tl_fail(err, TL_INTERNAL, "DuckDB does not take the function tl_merged");
}
