/*
 * The last-value index: reading its Parquet form, merging two sets of newest rows, writing it. See last_values.h.
 */
#include "table/last_values.h"

#include "base/mem.h"
#include "iceberg/parquet_schema.h"
#include "parquet/reader.h"
#include "parquet/writer.h"
#include "table/leaves.h"
#include "table/rows.h"

/* ---- reading ---- */

/* The top-level column of a file with a field id; -1 = none. */
static int32_t top_with_id(const tl_pq_file_meta *meta, int32_t id) {
    int32_t at = 1;
    for (int32_t top = 0; top < meta->schema[0].n_children && at < meta->n_schema; top++) {
        if (meta->schema[at].field_id == id) {
            return top;
        }
        for (int32_t open = 1; open > 0 && at < meta->n_schema; at++) {
            open += meta->schema[at].n_children - 1;
        }
    }
    return -1;
}

/* A column of nulls: what a file that is older than the column holds of it. */
static tl_status null_column(const tl_type *type, int64_t n, tl_arena *arena, tl_column *out, tl_error *err) {
    size_t bits = (size_t)(n + 7) / 8;
    *out = (tl_column){.length = n, .validity = tl_arena_alloc(arena, bits)};
    int64_t *zeroes = tl_arena_array(arena, (size_t)n + 2, 16); /* values of any fixed width up to 16, or offsets */
    out->children = tl_arena_array(arena, (size_t)type->n_fields + 1, sizeof *out->children);
    if (!out->validity || !zeroes || !out->children) {
        return tl_fail_memory(err, ((size_t)n + 2) * 16);
    }
    out->values = out->data = (const uint8_t *)zeroes;
    switch (type->id) {
    case TL_TYPE_BOOLEAN: out->kind = TL_COLUMN_BOOL; return TL_OK;
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY:
        out->kind = TL_COLUMN_BYTES;
        out->offsets64 = zeroes;
        return TL_OK;
    case TL_TYPE_STRUCT:
        out->kind = TL_COLUMN_STRUCT;
        out->n_children = type->n_fields;
        for (int32_t i = 0; i < type->n_fields; i++) {
            TL_TRY(null_column(&type->fields[i].type, n, arena, &out->children[i], err));
        }
        return TL_OK;
    case TL_TYPE_LIST:
        out->kind = TL_COLUMN_LIST;
        out->offsets64 = zeroes;
        out->n_children = 1;
        return null_column(&type->fields[0].type, 0, arena, &out->children[0], err);
    case TL_TYPE_MAP:
        out->kind = TL_COLUMN_LIST;
        out->offsets64 = zeroes;
        out->n_children = 1;
        return null_column(&(tl_type){.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = type->fields}, 0, arena,
                           &out->children[0], err);
    case TL_TYPE_FIXED:
        out->kind = TL_COLUMN_FIXED;
        out->width = type->length;
        out->values = tl_arena_array(arena, (size_t)n, (size_t)type->length);
        return out->values ? TL_OK : tl_fail_memory(err, (size_t)n * (size_t)type->length);
    default:
        out->kind = TL_COLUMN_FIXED;
        out->width = type->id == TL_TYPE_DECIMAL || type->id == TL_TYPE_UUID                            ? 16
                     : type->id == TL_TYPE_INT || type->id == TL_TYPE_FLOAT || type->id == TL_TYPE_DATE ? 4
                                                                                                        : 8;
        return TL_OK;
    }
}

typedef struct index_reading {
    const tl_schema *schema;
    tl_pq_reader *reader;
    int32_t *tops; /* of the file, ascending: what is read */
    int32_t n_tops;
    int32_t *child; /* per schema field: its place among `tops`; -1 = not in the file */
    struct ArrowSchema format;
} index_reading;

/* Which columns of the file are which fields. */
static tl_status match_fields(index_reading *x, tl_arena *arena, tl_error *err) {
    const tl_pq_file_meta *meta = tl_pq_reader_meta(x->reader);
    int32_t n_file = meta->schema[0].n_children;
    int32_t *field_of = tl_arena_array(arena, (size_t)n_file + 1, sizeof *field_of);
    x->tops = tl_arena_array(arena, (size_t)n_file + 1, sizeof *x->tops);
    x->child = tl_arena_array(arena, (size_t)x->schema->n_fields + 1, sizeof *x->child);
    if (!field_of || !x->tops || !x->child) {
        return tl_fail_memory(err, (size_t)n_file * sizeof *field_of);
    }
    for (int32_t f = 0; f < x->schema->n_fields; f++) {
        x->child[f] = -1;
        int32_t top = top_with_id(meta, x->schema->fields[f].id);
        if (top >= 0) {
            field_of[top] = f + 1;
        } else if (x->schema->fields[f].required) {
            return tl_fail(err, TL_CORRUPT, "last-value index: column \"%s\" is missing", x->schema->fields[f].name);
        }
    }
    for (int32_t top = 0; top < n_file; top++) {
        if (field_of[top]) {
            x->child[field_of[top] - 1] = x->n_tops;
            x->tops[x->n_tops++] = top;
        }
    }
    return tl_pq_reader_schema(x->reader, x->tops, x->n_tops, &x->format, err);
}

/* The columns of one row group as the schema has them. */
static tl_status view_group(index_reading *x, const struct ArrowArray *array, tl_arena *arena, tl_column **out,
                            tl_error *err) {
    tl_column *columns = tl_arena_array(arena, (size_t)x->schema->n_fields, sizeof *columns);
    if (!columns) {
        return tl_fail_memory(err, (size_t)x->schema->n_fields * sizeof *columns);
    }
    for (int32_t f = 0; f < x->schema->n_fields; f++) {
        const tl_field *field = &x->schema->fields[f];
        int32_t c = x->child[f];
        if (c < 0) {
            TL_TRY(null_column(&field->type, array->length, arena, &columns[f], err));
            continue;
        }
        tl_status status =
            tl_column_from_arrow(&field->type, x->format.children[c], array->children[c], arena, &columns[f], err);
        if (status != TL_OK) {
            tl_error_prefix(err, "last-value index: column \"%s\": ", field->name);
            return status;
        }
        if (field->required && columns[f].validity) {
            for (int64_t row = 0; row < columns[f].length; row++) {
                if (tl_column_is_null(&columns[f], row)) {
                    return tl_fail(err, TL_CORRUPT, "last-value index: null in required column \"%s\"", field->name);
                }
            }
        }
    }
    *out = columns;
    return TL_OK;
}

static tl_status read_groups(index_reading *x, tl_rows *out, tl_error *err) {
    const tl_pq_file_meta *meta = tl_pq_reader_meta(x->reader);
    size_t n_groups = (size_t)meta->n_row_groups;
    out->arrays = tl_calloc(n_groups, sizeof *out->arrays);
    const tl_column **sources = tl_arena_array(&out->arena, n_groups + 1, sizeof *sources);
    if (!out->arrays || !sources) {
        return tl_fail_memory(err, n_groups * sizeof *out->arrays);
    }
    int64_t total = 0;
    for (int32_t g = 0; g < meta->n_row_groups; g++) {
        TL_TRY(tl_pq_reader_read(x->reader, g, x->tops, x->n_tops, NULL, 0, &out->arrays[g], err));
        out->n_arrays = g + 1;
        tl_column *columns = NULL;
        TL_TRY(view_group(x, &out->arrays[g], &out->arena, &columns, err));
        sources[g] = columns;
        total += out->arrays[g].length;
    }
    if (total > UINT32_MAX) {
        return tl_fail(err, TL_UNSUPPORTED, "last-value index: more than 2^32 rows");
    }
    out->n_rows = total;
    out->n_columns = x->schema->n_fields;
    if (n_groups == 1) {
        out->columns = tl_arena_copy(&out->arena, sources[0], (size_t)out->n_columns * sizeof *out->columns);
        return out->columns ? TL_OK : tl_fail_memory(err, (size_t)out->n_columns * sizeof *out->columns);
    }
    tl_pick *picks = tl_alloc_array((size_t)total, sizeof *picks);
    if (!picks) {
        return tl_fail_memory(err, (size_t)total * sizeof *picks);
    }
    int64_t at = 0;
    for (uint32_t g = 0; g < n_groups; g++) {
        for (int64_t i = 0; i < out->arrays[g].length; i++) {
            picks[at++] = (tl_pick){g, (uint32_t)i};
        }
    }
    tl_rows joined = {0};
    tl_status status =
        n_groups ? tl_rows_pick(sources, (uint32_t)n_groups, out->n_columns, picks, total, &joined, err) : TL_OK;
    tl_free(picks);
    if (status == TL_OK && n_groups) {
        tl_rows_free(out);
        *out = joined;
    } else if (status == TL_OK) {
        out->columns = tl_arena_array(&out->arena, (size_t)out->n_columns, sizeof *out->columns);
        for (int32_t f = 0; out->columns && f < out->n_columns && status == TL_OK; f++) {
            status = null_column(&x->schema->fields[f].type, 0, &out->arena, &out->columns[f], err);
        }
    }
    return status;
}

tl_status tl_last_values_read(const tl_schema *schema, tl_bytes parquet, tl_rows *out, tl_error *err) {
    *out = (tl_rows){0};
    index_reading x = {.schema = schema};
    TL_TRY(tl_pq_reader_open(tl_pq_source_bytes(&parquet), NULL, &x.reader, err));
    tl_arena arena = {0};
    tl_status status = match_fields(&x, &arena, err);
    if (status == TL_OK) {
        status = read_groups(&x, out, err);
    }
    if (x.format.release) {
        x.format.release(&x.format);
    }
    tl_arena_free(&arena);
    tl_pq_reader_free(x.reader);
    if (status != TL_OK) {
        tl_rows_free(out);
    }
    return status;
}

/* ---- merging ---- */

static int compare_keys(const tl_schema *schema, const tl_contract *c, const tl_rows *a, int64_t i, const tl_rows *b,
                        int64_t j) {
    for (int32_t k = 0; k < c->n_series; k++) {
        int32_t f = c->series[k];
        int order = tl_column_compare(&schema->fields[f].type, &a->columns[f], i, &b->columns[f], j);
        if (order) {
            return order;
        }
    }
    return 0;
}

/* Is row j of b at least as new as row i of a, by (time, insertion time)? */
static bool not_older(const tl_schema *schema, const tl_contract *c, const tl_rows *a, int64_t i, const tl_rows *b,
                      int64_t j) {
    int32_t by[2] = {c->time, c->ingest};
    for (int k = 0; k < 2; k++) {
        if (by[k] >= 0) {
            int order = tl_column_compare(&schema->fields[by[k]].type, &b->columns[by[k]], j, &a->columns[by[k]], i);
            if (order) {
                return order > 0;
            }
        }
    }
    return true;
}

static bool ascending(const tl_schema *schema, const tl_contract *c, const tl_rows *rows, int64_t i) {
    return i == 0 || compare_keys(schema, c, rows, i - 1, rows, i) < 0;
}

static tl_status merge_picks(const tl_schema *schema, const tl_contract *c, const tl_rows *a, const tl_rows *b,
                             tl_pick *picks, int64_t *n, tl_error *err) {
    int64_t i = 0, j = 0, n_a = a ? a->n_rows : 0, n_b = b ? b->n_rows : 0;
    uint32_t source_b = a ? 1 : 0;
    *n = 0;
    while (i < n_a || j < n_b) {
        if ((i < n_a && !ascending(schema, c, a, i)) || (j < n_b && !ascending(schema, c, b, j))) {
            return tl_fail(err, TL_CORRUPT, "last-value index: its rows are not in the order of the series key");
        }
        int order = i == n_a ? 1 : j == n_b ? -1 : compare_keys(schema, c, a, i, b, j);
        if (order < 0) {
            picks[(*n)++] = (tl_pick){0, (uint32_t)i++};
        } else if (order > 0) {
            picks[(*n)++] = (tl_pick){source_b, (uint32_t)j++};
        } else {
            bool newer = not_older(schema, c, a, i, b, j);
            picks[(*n)++] = newer ? (tl_pick){source_b, (uint32_t)j} : (tl_pick){0, (uint32_t)i};
            i++;
            j++;
        }
    }
    return TL_OK;
}

tl_status tl_last_values_merge(const tl_schema *schema, const tl_contract *contract, const tl_rows *a, const tl_rows *b,
                               tl_rows *out, tl_error *err) {
    *out = (tl_rows){0};
    a = a && a->n_columns ? a : NULL; /* rows without columns: none */
    b = b && b->n_columns ? b : NULL;
    int64_t most = (a ? a->n_rows : 0) + (b ? b->n_rows : 0);
    if (most > UINT32_MAX) {
        return tl_fail(err, TL_UNSUPPORTED, "last-value index: more than 2^32 rows");
    }
    if (!a && !b) {
        return TL_OK;
    }
    tl_pick *picks = tl_alloc_array((size_t)most, sizeof *picks);
    if (!picks) {
        return tl_fail_memory(err, (size_t)most * sizeof *picks);
    }
    int64_t n = 0;
    tl_status status = merge_picks(schema, contract, a, b, picks, &n, err);
    if (status == TL_OK) {
        const tl_column *sources[2];
        uint32_t n_sources = 0;
        if (a) {
            sources[n_sources++] = a->columns;
        }
        if (b) {
            sources[n_sources++] = b->columns;
        }
        status = tl_rows_pick(sources, n_sources, schema->n_fields, picks, n, out, err);
    }
    tl_free(picks);
    return status;
}

/* ---- writing ---- */

#define GROUP_ROWS ((int64_t)1 << 20)
#define SLICE_ROWS ((int64_t)20000)

typedef struct index_writing {
    const tl_rows *rows;
    tl_leaves leaves;
    tl_pq_column_writer **writers; /* per leaf, kept between row groups */
    tl_pq_chunk *chunks;
    int32_t n_chunks; /* finished, not yet in the file */
    int32_t first;    /* leaf of the column at hand */
} index_writing;

static tl_status emit(void *ctx, int32_t leaf, const tl_pq_values *values, tl_error *err) {
    index_writing *x = ctx;
    return tl_pq_column_writer_add(x->writers[x->first + leaf], values, err);
}

static tl_status write_group(index_writing *x, tl_pq_file_writer *file, int64_t from, int64_t n, tl_error *err) {
    const tl_leaves *l = &x->leaves;
    for (int32_t i = 0; i < l->n_leaves; i++) {
        if (x->writers[i]) {
            TL_TRY(tl_pq_column_writer_reset(x->writers[i], &l->options[i], err));
        } else {
            TL_TRY(tl_pq_column_writer_create(&l->options[i], &x->writers[i], err));
        }
    }
    x->n_chunks = 0;
    for (int32_t top = 0; top < l->n_tops; top++) {
        x->first = l->first_leaf[top];
        for (int64_t at = 0; at < n; at += SLICE_ROWS) {
            int64_t step = n - at < SLICE_ROWS ? n - at : SLICE_ROWS;
            TL_TRY(tl_pq_shred(&x->rows->columns[top], l->schema, l->n_schema, l->element[top], l->converts + x->first,
                               NULL, from + at, step, emit, x, err));
        }
        for (int32_t i = x->first; i < l->first_leaf[top + 1]; i++) {
            TL_TRY(tl_pq_column_writer_finish(x->writers[i], &x->chunks[i], err));
            x->n_chunks = i + 1;
        }
    }
    return tl_pq_file_writer_add_row_group(file, x->chunks, l->n_leaves, err);
}

/* Dictionaries for all but times and booleans, like spec b.2; readers do not depend on it. */
static void choose_encodings(const tl_schema *schema, tl_leaves *l) {
    for (int32_t i = 0; i < l->n_leaves; i++) {
        tl_type_id id = schema->fields[l->leaves[i].top].type.id;
        bool time = id == TL_TYPE_TIMESTAMP || id == TL_TYPE_TIMESTAMPTZ;
        l->options[i].encoding = l->options[i].type == TL_PQ_BOOLEAN ? TL_PQ_PLAIN
                                 : time                              ? TL_PQ_DELTA_BINARY_PACKED
                                                                     : TL_PQ_RLE_DICTIONARY;
        l->options[i].codec = TL_PQ_ZSTD;
    }
}

static tl_status write_file(index_writing *x, tl_buf *out, tl_error *err) {
    tl_pq_file_options options = {.schema = x->leaves.schema, .n_schema = x->leaves.n_schema};
    tl_pq_file_writer *file = NULL;
    TL_TRY(tl_pq_file_writer_create(&options, tl_pq_sink_buf(out), &file, err));
    tl_status status = TL_OK;
    for (int64_t from = 0; from < x->rows->n_rows && status == TL_OK; from += GROUP_ROWS) {
        int64_t n = x->rows->n_rows - from < GROUP_ROWS ? x->rows->n_rows - from : GROUP_ROWS;
        status = write_group(x, file, from, n, err);
    }
    if (status == TL_OK) {
        status = tl_pq_file_writer_finish(file, NULL, err);
    }
    tl_pq_file_writer_free(file);
    return status;
}

tl_status tl_last_values_write(const tl_schema *schema, const tl_contract *contract, const tl_rows *rows, tl_buf *out,
                               tl_error *err) {
    (void)contract;
    index_writing x = {.rows = rows};
    tl_arena arena = {0};
    tl_pq_schema_element *elements = NULL;
    int32_t n_elements = 0;
    tl_status status = tl_iceberg_parquet_schema(schema, &arena, &elements, &n_elements, err);
    if (status == TL_OK) {
        status = tl_leaves_make(elements, n_elements, &x.leaves, err);
    }
    if (status == TL_OK) {
        x.writers = tl_calloc((size_t)x.leaves.n_leaves, sizeof *x.writers);
        x.chunks = tl_calloc((size_t)x.leaves.n_leaves, sizeof *x.chunks);
        status = x.writers && x.chunks ? TL_OK : tl_fail_memory(err, (size_t)x.leaves.n_leaves * sizeof *x.chunks);
    }
    if (status == TL_OK) {
        choose_encodings(schema, &x.leaves);
        status = write_file(&x, out, err);
    }
    for (int32_t i = 0; x.chunks && i < x.leaves.n_leaves; i++) {
        if (i < x.n_chunks) {
            tl_pq_chunk_free(&x.chunks[i]);
        }
    }
    for (int32_t i = 0; x.writers && i < x.leaves.n_leaves; i++) {
        tl_pq_column_writer_free(x.writers[i]);
    }
    tl_free(x.writers);
    tl_free(x.chunks);
    tl_leaves_free(&x.leaves);
    tl_arena_free(&arena);
    return status;
}
