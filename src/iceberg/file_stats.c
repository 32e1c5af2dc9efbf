/* From a Parquet footer to the statistics of a manifest entry. See file_stats.h. */
#include "iceberg/file_stats.h"

#include <math.h>
#include <stdlib.h>

/* A field of the schema by its id, at any depth. */
typedef struct known_field {
    int32_t id;
    const tl_type *type;
} known_field;

/* One leaf of the file. */
typedef struct leaf_source {
    const tl_pq_file_meta *meta;
    int32_t leaf;
    tl_pq_type physical;
    const tl_type *type;
    bool bounded; /* bounds make sense: not repeated, order as the type's */
    tl_arena *arena;
    tl_error *err;
} leaf_source;

static tl_status collect_fields(const tl_field *fields, int32_t n, tl_buf *out) {
    for (int32_t i = 0; i < n; i++) {
        known_field f = {fields[i].id, &fields[i].type};
        TL_TRY(tl_buf_add(out, &f, sizeof f));
        TL_TRY(collect_fields(fields[i].type.fields, fields[i].type.n_fields, out));
    }
    return TL_OK;
}

static int compare_fields(const void *a, const void *b) {
    int32_t x = ((const known_field *)a)->id, y = ((const known_field *)b)->id;
    return (x > y) - (x < y);
}

static int compare_columns(const void *a, const void *b) {
    int32_t x = ((const tl_column_stats *)a)->field_id, y = ((const tl_column_stats *)b)->field_id;
    return (x > y) - (x < y);
}

/* ---- counts ---- */

/* Adds a count, or makes the sum unknown (-1). */
static void add_count(int64_t *sum, bool known, int64_t v) {
    if (*sum >= 0 && (!known || v < 0 || !tl_i64_add(*sum, v, sum))) {
        *sum = -1;
    }
}

static bool is_float(const tl_type *type) {
    return type->id == TL_TYPE_FLOAT || type->id == TL_TYPE_DOUBLE;
}

static void add_counts(tl_column_stats *s, const tl_pq_column_chunk *c, bool floats) {
    add_count(&s->size, true, c->compressed_size);
    add_count(&s->values, true, c->n_values);
    add_count(&s->nulls, c->stats.has_null_count, c->stats.null_count);
    if (floats) {
        add_count(&s->nans, c->stats.has_nan_count, c->stats.nan_count);
    }
}

/* ---- bounds ---- */

/* Only nulls and NaNs, which have no bounds. */
static bool has_no_values(const tl_pq_column_chunk *c) {
    int64_t without = c->stats.has_null_count ? c->stats.null_count : 0;
    if (c->stats.has_nan_count && !tl_i64_add(without, c->stats.nan_count, &without)) {
        return false;
    }
    return c->n_values == 0 || without == c->n_values;
}

/* Byte arrays may have been cut; a writer that does not say so is not trusted. Other types are whole. */
static bool is_exact(const leaf_source *l, bool has_flag, bool flag) {
    return has_flag ? flag : l->physical != TL_PQ_BYTE_ARRAY;
}

static bool is_nan(const tl_type *type, tl_bytes v) {
    double d = 0;
    float f = 0;
    if (type->id == TL_TYPE_DOUBLE) {
        memcpy(&d, v.data, 8);
    } else if (type->id == TL_TYPE_FLOAT) {
        memcpy(&f, v.data, 4);
    }
    return isnan(d) || isnan(f);
}

/* A bound of one row group in Iceberg's encoding; `*out` without data: there is none that can be used. */
static tl_status get_bound(const leaf_source *l, const tl_pq_column_chunk *c, bool lower, tl_bytes *out) {
    const tl_pq_statistics *s = &c->stats;
    tl_bytes plain = lower ? s->min_value : s->max_value;
    bool exact = lower ? is_exact(l, s->has_min_exact, s->min_exact) : is_exact(l, s->has_max_exact, s->max_exact);
    *out = (tl_bytes){0};
    if (!plain.data || !exact) {
        return TL_OK;
    }
    tl_status status = tl_value_from_parquet_as(l->type, l->physical, plain, l->arena, out, NULL);
    if (status == TL_NO_MEMORY) {
        return tl_fail_memory(l->err, plain.len);
    }
    if (status != TL_OK || is_nan(l->type, *out)) {
        *out = (tl_bytes){0}; /* not of the type: no bound is better than a wrong one */
    }
    return TL_OK;
}

/* -0.0 below and 0.0 above, so that a search for either zero finds the file. */
static tl_status widen_zero(const leaf_source *l, bool lower, tl_bytes *bound) {
    double d = lower ? -0.0 : 0.0;
    float f = lower ? -0.0f : 0.0f;
    double v = 1;
    if (l->type->id == TL_TYPE_DOUBLE) {
        memcpy(&v, bound->data, 8);
    } else if (l->type->id == TL_TYPE_FLOAT) {
        float narrow;
        memcpy(&narrow, bound->data, 4);
        v = (double)narrow;
    }
    if (v != 0) {
        return TL_OK;
    }
    const void *zero = l->type->id == TL_TYPE_DOUBLE ? (const void *)&d : (const void *)&f;
    bound->data = tl_arena_copy(l->arena, zero, bound->len);
    return bound->data ? TL_OK : tl_fail_memory(l->err, bound->len);
}

/* The least lower or greatest upper bound of all row groups. */
static tl_status join_bounds(const leaf_source *l, bool lower, tl_bytes *out) {
    tl_bytes best = {0}, bound;
    for (int32_t g = 0; g < l->meta->n_row_groups; g++) {
        const tl_pq_column_chunk *c = &l->meta->row_groups[g].columns[l->leaf];
        int order = 0;
        if (has_no_values(c)) {
            continue;
        }
        TL_TRY(get_bound(l, c, lower, &bound));
        if (!bound.data) {
            return TL_OK;
        }
        if (best.data) {
            TL_TRY(tl_value_compare(l->type, bound, best, &order, l->err));
        }
        best = !best.data || (lower ? order < 0 : order > 0) ? bound : best;
    }
    if (best.data) {
        TL_TRY(widen_zero(l, lower, &best));
    }
    *out = best;
    return TL_OK;
}

/* ---- leaves ---- */

static tl_status leaf_stats(const leaf_source *l, int32_t field_id, tl_column_stats *out) {
    *out = (tl_column_stats){.field_id = field_id, .nans = is_float(l->type) ? 0 : -1};
    for (int32_t g = 0; g < l->meta->n_row_groups; g++) {
        add_counts(out, &l->meta->row_groups[g].columns[l->leaf], is_float(l->type));
    }
    if (!l->bounded) {
        return TL_OK;
    }
    TL_TRY(join_bounds(l, true, &out->lower));
    return join_bounds(l, false, &out->upper);
}

static tl_status check_footer(const tl_pq_file_meta *meta, int32_t n_leaves, tl_error *err) {
    for (int32_t g = 0; g < meta->n_row_groups; g++) {
        const tl_pq_row_group *rg = &meta->row_groups[g];
        if (rg->n_columns != n_leaves) {
            return tl_fail(err, TL_CORRUPT, "Parquet footer: row group %d has %d columns, the schema %d", g,
                           rg->n_columns, n_leaves);
        }
    }
    return TL_OK;
}

typedef struct job {
    const tl_pq_file_meta *meta;
    tl_pq_leaf *leaves;
    int32_t n_leaves;
    tl_buf known; /* known_field[], by id */
    tl_arena *arena;
    tl_error *err;
} job;

static const tl_type *find_type(const job *j, int32_t id) {
    known_field wanted = {id, NULL};
    size_t n = j->known.len / sizeof wanted;
    const known_field *f = n ? bsearch(&wanted, j->known.data, n, sizeof wanted, compare_fields) : NULL;
    return f && !tl_type_is_nested(f->type->id) ? f->type : NULL;
}

static tl_status all_leaves(job *j, tl_data_file *out) {
    tl_column_stats *columns = tl_arena_array(j->arena, (size_t)j->n_leaves, sizeof *columns);
    int32_t n = 0;
    if (!columns) {
        return tl_fail_memory(j->err, (size_t)j->n_leaves * sizeof *columns);
    }
    for (int32_t i = 0; i < j->n_leaves; i++) {
        const tl_pq_schema_element *e = &j->meta->schema[j->leaves[i].element];
        leaf_source l = {.meta = j->meta, .leaf = i, .physical = e->type, .arena = j->arena, .err = j->err};
        l.type = e->field_id < 0 ? NULL : find_type(j, e->field_id);
        l.bounded = j->leaves[i].max_rep == 0 && i < j->meta->n_column_orders && j->meta->column_orders[i] == 1;
        if (l.type) {
            TL_TRY(leaf_stats(&l, e->field_id, &columns[n++]));
        }
    }
    if (n > 1) {
        qsort(columns, (size_t)n, sizeof *columns, compare_columns);
    }
    out->columns = columns;
    out->n_columns = n;
    return TL_OK;
}

static tl_status split_offsets(const job *j, tl_data_file *out) {
    const tl_pq_file_meta *m = j->meta;
    out->split_offsets = tl_arena_array(j->arena, (size_t)m->n_row_groups, sizeof *out->split_offsets);
    if (!out->split_offsets) {
        return tl_fail_memory(j->err, 0);
    }
    out->n_split_offsets = m->n_row_groups;
    for (int32_t g = 0; g < m->n_row_groups; g++) {
        const tl_pq_row_group *rg = &m->row_groups[g];
        int64_t at = rg->file_offset;
        if (at <= 0 && rg->n_columns) {
            const tl_pq_column_chunk *c = &rg->columns[0];
            bool dictionary_first = c->dictionary_page_offset > 0 && c->dictionary_page_offset < c->data_page_offset;
            at = dictionary_first ? c->dictionary_page_offset : c->data_page_offset;
        }
        out->split_offsets[g] = at;
    }
    return TL_OK;
}

tl_status tl_file_stats(const tl_schema *schema, const tl_pq_file_meta *meta, tl_arena *arena, tl_data_file *out,
                        tl_error *err) {
    job j = {.meta = meta, .arena = arena, .err = err};
    TL_TRY(tl_pq_schema_leaves(meta->schema, meta->n_schema, &j.leaves, &j.n_leaves, err));
    tl_status status = check_footer(meta, j.n_leaves, err);
    if (status == TL_OK && collect_fields(schema->fields, schema->n_fields, &j.known) != TL_OK) {
        status = tl_fail_memory(err, j.known.len);
    }
    if (j.known.len) {
        qsort(j.known.data, j.known.len / sizeof(known_field), sizeof(known_field), compare_fields);
    }
    status = status == TL_OK ? all_leaves(&j, out) : status;
    status = status == TL_OK ? split_offsets(&j, out) : status;
    out->record_count = meta->n_rows;
    tl_buf_free(&j.known);
    tl_free(j.leaves);
    return status;
}
