/*
 * One data file against what its manifest and its footer say: size, rows, counts, bounds, order, keys, partition.
 * Every value of every column is looked at, about 100,000 rows at a time.
 */
#include <string.h>

#include "iceberg/file_stats.h"
#include "maintain/check_internal.h"

enum { CHUNK_ROWS = 122880 };

/* What is said of a column, as columns of one row. */
typedef struct bound_pair {
    const char *whose; /* "manifest", "footer" */
    bool has_lower, has_upper;
    tl_column lower, upper;
} bound_pair;

/* A column of the schema that the file has and whose type has an order. */
typedef struct column_state {
    const tl_field *field;
    int32_t index; /* in the schema */
    const tl_column_stats *listed;
    bound_pair bounds[2];
    int64_t nulls, nans;
    bool told; /* one finding of bounds a column is enough */
} column_state;

typedef struct data_check {
    tl_checking *c;
    const tl_live_file *live;
    tl_open_file f;
    tl_projection projection;
    column_state *columns;
    int32_t n_columns;
    bool sorted; /* claimed: by key, and with dedup without repeats */
    bool unsorted_told, repeated_told, outside_told;
    int32_t partition_column; /* -1 = not partitioned by a time */
    int64_t from_us, to_us;
    tl_rows last; /* the chunk before, for its last row */
    tl_rows now;
    int64_t first_row; /* of `now` in the file */
    tl_arena arena;
} data_check;

static void report(data_check *d, const char *kind, const char *column, const char *text) {
    tl_check_report(d->c, false, kind, d->live->key, "%s%s%s%s", column ? "column \"" : "", column ? column : "",
                    column ? "\": " : "", text);
}

/* ---- what is claimed ---- */

static const tl_column_stats *stats_of(const tl_data_file *f, int32_t id) {
    for (int32_t i = 0; i < f->n_columns; i++) {
        if (f->columns[i].field_id == id) {
            return &f->columns[i];
        }
    }
    return NULL;
}

static tl_status take_bounds(data_check *d, column_state *s, int which, const char *whose, const tl_column_stats *stats,
                             tl_error *err) {
    bound_pair *b = &s->bounds[which];
    b->whose = whose;
    bool fits = true;
    if (stats && stats->lower.data) {
        TL_TRY(tl_check_value_column(&s->field->type, stats->lower, &d->arena, &b->lower, &fits, err));
        b->has_lower = fits;
    }
    if (stats && stats->upper.data && fits) {
        TL_TRY(tl_check_value_column(&s->field->type, stats->upper, &d->arena, &b->upper, &fits, err));
        b->has_upper = fits;
    }
    if (!fits) {
        report(d, "bounds", s->field->name, "a bound is not a value of the column's type");
    }
    return TL_OK;
}

static tl_status take_columns(data_check *d, tl_error *err) {
    const tl_schema *schema = d->c->schema;
    tl_data_file footer = {0};
    d->columns = tl_arena_array(&d->arena, (size_t)schema->n_fields, sizeof *d->columns);
    if (!d->columns) {
        return tl_fail_memory(err, (size_t)schema->n_fields * sizeof *d->columns);
    }
    TL_TRY(tl_file_stats(schema, d->f.meta, &d->arena, &footer, err));
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const tl_field *field = &schema->fields[i];
        if (tl_type_is_nested(field->type.id) || tl_open_file_top(&d->f, field) < 0) {
            continue;
        }
        column_state *s = &d->columns[d->n_columns++];
        *s = (column_state){.field = field, .index = i, .listed = stats_of(&d->live->file, field->id)};
        TL_TRY(take_bounds(d, s, 0, "manifest", s->listed, err));
        TL_TRY(take_bounds(d, s, 1, "footer", stats_of(&footer, field->id), err));
    }
    return TL_OK;
}

/* Does the footer claim the order of the table's keys? */
static bool footer_claims_order(const data_check *d) {
    const tl_contract *contract = &d->c->t->contract;
    if (d->f.meta->n_row_groups == 0) {
        return false;
    }
    const tl_pq_row_group *g = &d->f.meta->row_groups[0];
    if (g->n_sorting != contract->n_series + 1) {
        return false;
    }
    for (int32_t i = 0; i < g->n_sorting; i++) {
        int32_t column = i < contract->n_series ? contract->series[i] : contract->time;
        if (g->sorting[i].descending ||
            g->sorting[i].column != tl_open_file_leaf(&d->f, &d->c->schema->fields[column])) {
            return false;
        }
    }
    return true;
}

static void take_claims(data_check *d) {
    const tl_metadata *m = &d->c->t->metadata;
    const tl_contract *contract = &d->c->t->contract;
    const tl_partition_spec *spec = tl_metadata_spec_by_id(m, d->live->file.spec_id);
    bool listed = d->live->file.sort_order_id > 0 && d->live->file.sort_order_id == m->default_sort_order_id;
    d->sorted = contract->time >= 0 && (listed || footer_claims_order(d));
    d->partition_column = -1;
    const tl_data_file *f = &d->live->file;
    if (!spec || spec->n_fields != 1 || f->n_partition != 1 || !f->partition[0].value.data ||
        f->partition[0].value.len != 4) {
        return;
    }
    for (int32_t i = 0; i < d->c->schema->n_fields; i++) {
        const tl_field *field = &d->c->schema->fields[i];
        if (field->id != spec->fields[0].source_id ||
            (field->type.id != TL_TYPE_TIMESTAMP && field->type.id != TL_TYPE_TIMESTAMPTZ)) {
            continue;
        }
        int32_t v = tl_load_i32(f->partition[0].value.data);
        if (tl_transform_time_start(spec->fields[0].transform, v, &d->from_us)) {
            bool ends = v < INT32_MAX && tl_transform_time_start(spec->fields[0].transform, v + 1, &d->to_us);
            d->to_us = ends ? d->to_us : INT64_MAX;
            d->partition_column = i;
        }
    }
}

/* ---- what is there ---- */

static void check_bounds(data_check *d, column_state *s, const tl_column *column, int64_t row) {
    for (int b = 0; b < 2; b++) {
        bound_pair *pair = &s->bounds[b];
        bool below = pair->has_lower && tl_check_compare(&s->field->type, column, row, &pair->lower, 0) < 0;
        bool above = pair->has_upper && tl_check_compare(&s->field->type, column, row, &pair->upper, 0) > 0;
        if ((below || above) && !s->told) {
            s->told = true;
            tl_check_report(d->c, false, "bounds", d->live->key,
                            "column \"%.200s\": row %lld is %s the %s bound that the %s has", s->field->name,
                            (long long)(d->first_row + row), below ? "below" : "above", below ? "lower" : "upper",
                            pair->whose);
        }
    }
}

static void check_column(data_check *d, column_state *s) {
    const tl_column *column = &d->now.columns[s->index];
    for (int64_t row = 0; row < d->now.n_rows; row++) {
        if (tl_column_is_null(column, row)) {
            s->nulls++;
        } else if (tl_check_is_nan(&s->field->type, column, row)) {
            s->nans++; /* bounds leave NaN out */
        } else if (!s->told) {
            check_bounds(d, s, column, row);
        }
    }
}

static void check_partition(data_check *d) {
    const tl_column *time = &d->now.columns[d->partition_column];
    for (int64_t row = 0; row < d->now.n_rows && !d->outside_told; row++) {
        int64_t us = tl_column_is_null(time, row) ? d->from_us : tl_load_i64(time->values + row * 8);
        if (us < d->from_us || us >= d->to_us) {
            d->outside_told = true;
            tl_check_report(d->c, false, "partition", d->live->key,
                            "row %lld has a time outside of the file's partition", (long long)(d->first_row + row));
        }
    }
}

/* Order of the keys of two rows: series, then time. */
static int compare_keys(const data_check *d, const tl_rows *a, int64_t row_a, const tl_rows *b, int64_t row_b) {
    const tl_contract *contract = &d->c->t->contract;
    for (int32_t i = 0; i <= contract->n_series; i++) {
        int32_t column = i < contract->n_series ? contract->series[i] : contract->time;
        int order = tl_column_compare(&d->c->schema->fields[column].type, &a->columns[column], row_a,
                                      &b->columns[column], row_b);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static void check_order(data_check *d) {
    for (int64_t row = 0; row < d->now.n_rows; row++) {
        const tl_rows *before = row > 0 ? &d->now : &d->last;
        if (before->n_rows == 0) {
            continue;
        }
        int order = compare_keys(d, before, row > 0 ? row - 1 : before->n_rows - 1, &d->now, row);
        if (order > 0 && !d->unsorted_told) {
            d->unsorted_told = true;
            tl_check_report(d->c, false, "unsorted", d->live->key, "row %lld stands before row %lld by (series, time)",
                            (long long)(d->first_row + row), (long long)(d->first_row + row - 1));
        }
        if (order == 0 && d->c->t->contract.dedup && !d->repeated_told) {
            d->repeated_told = true;
            tl_check_report(d->c, false, "duplicate-keys", d->live->key, "rows %lld and %lld have the same key",
                            (long long)(d->first_row + row - 1), (long long)(d->first_row + row));
        }
    }
}

/* ---- counts ---- */

static void check_count(data_check *d, const column_state *s, const char *kind, int64_t said, int64_t is) {
    if (said >= 0 && said != is) {
        tl_check_report(d->c, false, kind, d->live->key, "column \"%.200s\": the manifest says %lld, the file has %lld",
                        s->field->name, (long long)said, (long long)is);
    }
}

static void check_counts(data_check *d) {
    for (int32_t i = 0; i < d->n_columns; i++) {
        const column_state *s = &d->columns[i];
        if (s->listed) {
            check_count(d, s, "value-count", s->listed->values, d->live->file.record_count);
            check_count(d, s, "null-count", s->listed->nulls, s->nulls);
            check_count(d, s, "nan-count", s->listed->nans, s->nans);
        }
        if (s->field->required && s->nulls) {
            report(d, "null-count", s->field->name, "is required and holds nulls");
        }
    }
}

/* ---- the file ---- */

static tl_status check_chunk(data_check *d, int32_t group, tl_pq_row_range range, tl_error *err) {
    struct ArrowArray array = {0};
    TL_TRY(tl_rows_read(&d->f, group, &range, 1, &d->projection, &array, err));
    TL_TRY(tl_rows_from_arrow(&d->projection.schema, &d->projection.arrow, &array, &d->now, err));
    for (int32_t i = 0; i < d->n_columns; i++) {
        check_column(d, &d->columns[i]);
    }
    if (d->partition_column >= 0) {
        check_partition(d);
    }
    if (d->sorted) {
        check_order(d);
    }
    d->first_row += d->now.n_rows;
    tl_rows_free(&d->last);
    d->last = d->now;
    d->now = (tl_rows){0};
    return TL_OK;
}

static tl_status check_rows(data_check *d, tl_error *err) {
    int64_t told = 0;
    for (int32_t g = 0; g < d->f.meta->n_row_groups; g++) {
        int64_t rows = d->f.meta->row_groups[g].n_rows;
        for (int64_t at = 0; at < rows; at += CHUNK_ROWS) {
            int64_t n = rows - at < CHUNK_ROWS ? rows - at : CHUNK_ROWS;
            TL_TRY(check_chunk(d, g, (tl_pq_row_range){at, n}, err));
            int64_t part =
                (int64_t)((double)d->live->file.file_size * (double)d->first_row / (double)d->f.meta->n_rows);
            tl_check_progress(d->c, part - told);
            told = part;
        }
    }
    tl_check_progress(d->c, d->live->file.file_size - told);
    check_counts(d);
    return TL_OK;
}

static tl_status check_opened(data_check *d, tl_error *err) {
    TL_TRY(take_columns(d, err));
    take_claims(d);
    TL_TRY(tl_projection_make(d->c->schema, NULL, 0, &d->projection, err));
    return check_rows(d, err);
}

/* What opening said, as a kind of finding. */
static const char *kind_of(const tl_checking *c, const tl_live_file *live, tl_status status) {
    const tl_object *o = tl_objects_find(&c->objects, live->key);
    if (status == TL_NOT_FOUND) {
        return "missing-file";
    }
    return o && (int64_t)o->size != live->file.file_size ? "file-size" : "unreadable-file";
}

tl_status tl_check_data_file(tl_checking *c, const tl_live_file *live, tl_error *err) {
    tl_error why = {{0}};
    data_check d = {.c = c, .live = live};
    tl_status status = tl_open_file_open(c->t, live, &d.f, &why);
    if (status == TL_NOT_FOUND && tl_check_expired(c, tl_metadata_current(&c->t->metadata))) {
        return TL_OK;
    }
    if (status != TL_OK) {
        return tl_check_unreadable(c, status, kind_of(c, live, status), live->key, &why, err);
    }
    status = check_opened(&d, &why);
    tl_rows_free(&d.last);
    tl_rows_free(&d.now);
    tl_projection_free(&d.projection);
    tl_open_file_close(&d.f);
    tl_arena_free(&d.arena);
    return status == TL_OK ? TL_OK : tl_check_unreadable(c, status, "unreadable-file", live->key, &why, err);
}
