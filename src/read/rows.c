/* Rows of data files in the table's own types. */
#include "read/rows.h"

#include <stdlib.h>
#include <string.h>

#include "append/align.h"
#include "iceberg/parquet_schema.h"

tl_status tl_projection_make(const tl_schema *schema, const int32_t *columns, int32_t n_columns, tl_projection *out,
                             tl_error *err) {
    *out = (tl_projection){0};
    int32_t n = columns ? n_columns : schema->n_fields;
    out->schema.schema_id = schema->schema_id;
    out->schema.fields = tl_calloc((size_t)n, sizeof *out->schema.fields);
    if (!out->schema.fields) {
        return tl_fail_memory(err, (size_t)n * sizeof *out->schema.fields);
    }
    for (int32_t i = 0; i < n; i++) {
        out->schema.fields[i] = schema->fields[columns ? columns[i] : i];
    }
    out->schema.n_fields = n;
    tl_status status = tl_iceberg_arrow_schema(&out->schema, &out->arrow, err);
    if (status != TL_OK) {
        tl_projection_free(out);
    }
    return status;
}

void tl_projection_free(tl_projection *p) {
    if (p->arrow.release) {
        p->arrow.release(&p->arrow);
    }
    tl_free(p->schema.fields);
    *p = (tl_projection){0};
}

/* The columns of the projection that the file has, in file order. */
typedef struct file_columns {
    int32_t *tops;   /* ascending */
    int32_t *fields; /* projection column of each */
    int32_t n;
} file_columns;

static tl_status find_columns(const tl_open_file *f, const tl_projection *p, file_columns *out, tl_error *err) {
    size_t n = (size_t)p->schema.n_fields;
    *out = (file_columns){tl_alloc_array(n, sizeof(int32_t)), tl_alloc_array(n, sizeof(int32_t)), 0};
    if (!out->tops || !out->fields) {
        return tl_fail_memory(err, n * 2 * sizeof(int32_t));
    }
    for (int32_t i = 0; i < p->schema.n_fields; i++) {
        int32_t top = tl_open_file_top(f, &p->schema.fields[i]);
        if (top < 0) {
            continue;
        }
        int32_t at = out->n++;
        for (; at > 0 && out->tops[at - 1] > top; at--) {
            out->tops[at] = out->tops[at - 1];
            out->fields[at] = out->fields[at - 1];
        }
        out->tops[at] = top;
        out->fields[at] = i;
    }
    return TL_OK;
}

/* Same types all the way down (names do not matter: columns were found by id). */
static bool same_shape(const struct ArrowSchema *a, const struct ArrowSchema *b) {
    if (strcmp(a->format, b->format) != 0 || a->n_children != b->n_children) {
        return false;
    }
    for (int64_t i = 0; i < a->n_children; i++) {
        if (!same_shape(a->children[i], b->children[i])) {
            return false;
        }
    }
    return true;
}

/* Children come in file order; they go out in the projection's. */
static tl_status reorder(struct ArrowArray *array, const file_columns *c, tl_error *err) {
    struct ArrowArray **old = tl_alloc_array((size_t)c->n, sizeof(struct ArrowArray *));
    if (!old) {
        return tl_fail_memory(err, (size_t)c->n * sizeof(struct ArrowArray *));
    }
    memcpy((void *)old, (const void *)array->children, (size_t)c->n * sizeof(struct ArrowArray *));
    for (int32_t i = 0; i < c->n; i++) {
        array->children[c->fields[i]] = old[i];
    }
    tl_free((void *)old);
    return TL_OK;
}

/* Through alignment: widened types, missing columns. */
static tl_status convert(const tl_projection *p, const file_columns *c, struct ArrowSchema *file_schema,
                         struct ArrowArray *in, struct ArrowArray *out, tl_error *err) {
    for (int32_t i = 0; i < c->n; i++) {
        /* By the table's names: the file's may be older. They are lent; the schema is the reader's own and is released
         * as one block, without a look at names. */
        file_schema->children[i]->name = p->schema.fields[c->fields[i]].name;
    }
    tl_align *align = NULL;
    tl_batch batch = {0};
    tl_status status = tl_align_create(&p->schema, -1, file_schema, &align, err);
    if (status == TL_OK) {
        status = tl_align_batch(align, in, 0, 0, &batch, err);
        if (status == TL_OK) {
            tl_rows rows = {.n_rows = batch.n_rows, .n_columns = batch.n_columns, .columns = batch.columns};
            status = tl_rows_to_arrow(&p->schema, &rows, out, err);
        }
        tl_batch_free(&batch);
    }
    tl_align_free(align);
    return status;
}

tl_status tl_rows_read(tl_open_file *f, int32_t row_group, const tl_pq_row_range *ranges, int32_t n_ranges,
                       const tl_projection *projection, struct ArrowArray *out, tl_error *err) {
    file_columns columns = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    tl_status status = find_columns(f, projection, &columns, err);
    if (status == TL_OK) {
        status = tl_pq_reader_schema(f->parquet, columns.tops, columns.n, &schema, err);
    }
    if (status == TL_OK) {
        status = tl_pq_reader_read(f->parquet, row_group, columns.tops, columns.n, ranges, n_ranges, &array, err);
    }
    if (status == TL_OK) {
        bool same = columns.n == projection->schema.n_fields;
        for (int32_t i = 0; i < columns.n && status == TL_OK; i++) {
            const tl_field *field = &projection->schema.fields[columns.fields[i]];
            tl_nested nested = tl_nested_compare(&field->type, schema.children[i]);
            if (nested == TL_NESTED_RENAMED) {
                status = tl_fail(err, TL_UNSUPPORTED,
                                 "a field inside of column \"%s\" was renamed or replaced since it was written",
                                 field->name);
            }
            same = same && nested == TL_NESTED_SAME &&
                   same_shape(schema.children[i], projection->arrow.children[columns.fields[i]]);
        }
        if (status != TL_OK) {
            /* nothing is handed out */
        } else if (!same) {
            status = convert(projection, &columns, &schema, &array, out, err);
        } else if ((status = reorder(&array, &columns, err)) == TL_OK) {
            *out = array;
            array.release = NULL;
        }
    }
    if (array.release) {
        array.release(&array);
    }
    if (schema.release) {
        schema.release(&schema);
    }
    tl_free(columns.tops);
    tl_free(columns.fields);
    return status == TL_OK ? TL_OK : tl_open_file_failed(f, status, err);
}
