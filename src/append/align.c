/* Plans from schemas, batches from plans. */
#include "append/align.h"

#include <stdlib.h>
#include <string.h>

#include "append/align_internal.h"

/* ---- plans ---- */

typedef struct named {
    const char *name;
    int64_t place;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->place > y->place) - (x->place < y->place);
}

static const char *join(tl_arena *arena, const char *path, const char *name) {
    return *path ? tl_arena_format(arena, "%s.%s", path, name) : tl_arena_strdup(arena, name);
}

static tl_status plan_type(tl_align *a, const tl_arrow_type *from, const tl_type *to, const char *path, bool required,
                           int depth, tl_plan *out, tl_error *err);

static tl_status refuse(const tl_arrow_type *from, const tl_type *to, const char *path, tl_error *err) {
    char source[256];
    tl_buf target = {0};
    tl_arrow_type_print(from, source, sizeof source);
    tl_status s = tl_type_print(to, &target);
    if (s == TL_OK) {
        s = tl_fail(err, TL_INVALID, "column \"%s\": %s does not convert to %.*s", path, source,
                    (int)(target.len > 250 ? 250 : target.len), (const char *)target.data);
    }
    tl_buf_free(&target);
    return s;
}

/* The children of a struct in the order of their names; twice the same name is an error. */
static tl_status sort_names(tl_align *a, const tl_arrow_type *from, const char *path, named **out, tl_error *err) {
    named *names = tl_arena_array(&a->arena, (size_t)from->n_children, sizeof *names);
    if (!names) {
        return tl_fail_memory(err, (size_t)from->n_children * sizeof *names);
    }
    for (int64_t i = 0; i < from->n_children; i++) {
        names[i] = (named){from->children[i].name, i};
    }
    qsort(names, (size_t)from->n_children, sizeof *names, by_name);
    for (int64_t i = 1; i < from->n_children; i++) {
        if (strcmp(names[i].name, names[i - 1].name) == 0) {
            return tl_fail(err, TL_INVALID, "column \"%s%s%s\" is in the input twice", path, *path ? "." : "",
                           names[i].name);
        }
    }
    *out = names;
    return TL_OK;
}

static const named *find_name(const named *names, int64_t n, const char *name) {
    named key = {name, 0};
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (by_name(&names[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && strcmp(names[low].name, name) == 0 ? &names[low] : NULL;
}

static bool has_field(const tl_field *fields, int32_t n, const char *name) {
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* One plan per field of the target, matched by name. `filled` = the field that may be missing though required. */
static tl_status plan_fields(tl_align *a, const tl_arrow_type *from, const tl_field *fields, int32_t n,
                             const char *path, int32_t filled, int depth, tl_plan **out, tl_error *err) {
    named *names = NULL;
    TL_TRY(sort_names(a, from, path, &names, err));
    tl_plan *plans = tl_arena_array(&a->arena, (size_t)n, sizeof *plans);
    if (!plans) {
        return tl_fail_memory(err, (size_t)n * sizeof *plans);
    }
    int64_t found = 0;
    for (int32_t i = 0; i < n; i++) {
        const char *name = join(&a->arena, path, fields[i].name);
        if (!name) {
            return tl_fail_memory(err, strlen(path) + strlen(fields[i].name) + 2);
        }
        const named *source = find_name(names, from->n_children, fields[i].name);
        if (!source) {
            if (fields[i].required && i != filled) {
                return tl_fail(err, TL_INVALID, "required column \"%s\" is missing", name);
            }
            plans[i] = (tl_plan){.step = TL_STEP_MISSING, .to = &fields[i].type, .path = name, .source = -1};
            continue;
        }
        found++;
        TL_TRY(plan_type(a, &from->children[source->place], &fields[i].type, name, fields[i].required && i != filled,
                         depth, &plans[i], err));
        plans[i].source = source->place;
    }
    for (int64_t i = 0; found < from->n_children && i < from->n_children; i++) {
        if (!has_field(fields, n, from->children[i].name)) {
            return tl_fail(err, TL_INVALID, "column \"%s%s%s\" is not in the table schema", path, *path ? "." : "",
                           from->children[i].name);
        }
    }
    *out = plans;
    return TL_OK;
}

static tl_status one_plan(tl_align *a, tl_plan *out, tl_error *err) {
    out->n_children = 1;
    out->children = tl_arena_array(&a->arena, 1, sizeof *out->children);
    return out->children ? TL_OK : tl_fail_memory(err, sizeof *out->children);
}

/* Entries of an Arrow map: key and value by place, whatever their names are. */
static tl_status plan_entries(tl_align *a, const tl_arrow_type *entries, const tl_type *map, const char *path,
                              int depth, tl_plan *out, tl_error *err) {
    tl_type *type = tl_arena_array(&a->arena, 1, sizeof *type);
    tl_plan *plans = tl_arena_array(&a->arena, 2, sizeof *plans);
    if (!type || !plans) {
        return tl_fail_memory(err, sizeof *type + 2 * sizeof *plans);
    }
    *type = (tl_type){.id = TL_TYPE_STRUCT, .n_fields = 2, .fields = map->fields};
    *out =
        (tl_plan){.step = TL_STEP_STRUCT, .from = entries, .to = type, .path = path, .required = true, .n_children = 2};
    out->children = plans;
    for (int32_t i = 0; i < 2; i++) {
        const char *name = join(&a->arena, path, map->fields[i].name);
        if (!name) {
            return tl_fail_memory(err, strlen(path) + 8);
        }
        TL_TRY(plan_type(a, &entries->children[i], &map->fields[i].type, name, i == 0 || map->fields[i].required,
                         depth + 2, &plans[i], err));
        plans[i].source = i;
    }
    return TL_OK;
}

static tl_status plan_list(tl_align *a, const tl_arrow_type *from, const tl_type *to, const char *path, int depth,
                           tl_plan *out, tl_error *err) {
    out->step = from->id == TL_ARROW_FIXED_LIST                                          ? TL_STEP_FIXED_LIST
                : from->id == TL_ARROW_LIST_VIEW || from->id == TL_ARROW_LARGE_LIST_VIEW ? TL_STEP_LIST_VIEW
                                                                                         : TL_STEP_LIST;
    TL_TRY(one_plan(a, out, err));
    if (to->id == TL_TYPE_MAP) {
        return plan_entries(a, &from->children[0], to, path, depth, out->children, err);
    }
    const char *name = join(&a->arena, path, to->fields[0].name);
    return name ? plan_type(a, &from->children[0], &to->fields[0].type, name, to->fields[0].required, depth + 1,
                            out->children, err)
                : tl_fail_memory(err, strlen(path) + 16);
}

static tl_leaf leaf_of(tl_arrow_id from, tl_type_id to) {
    if (from >= TL_ARROW_STRING && from <= TL_ARROW_FIXED_BINARY) {
        bool as_is = to == TL_TYPE_STRING || to == TL_TYPE_BINARY || to == TL_TYPE_FIXED;
        return as_is || from >= TL_ARROW_BINARY ? tl_align_bytes : tl_align_text;
    }
    if (to == TL_TYPE_STRING) {
        return tl_align_print;
    }
    return from <= TL_ARROW_UINT64       ? tl_align_int
           : from <= TL_ARROW_FLOAT64    ? tl_align_real
           : from <= TL_ARROW_DECIMAL256 ? tl_align_decimal
                                         : tl_align_time;
}

static tl_status plan_type(tl_align *a, const tl_arrow_type *from, const tl_type *to, const char *path, bool required,
                           int depth, tl_plan *out, tl_error *err) {
    *out = (tl_plan){.from = from, .to = to, .path = path, .required = required, .source = -1};
    if (depth > TL_ARROW_MAX_DEPTH) {
        return tl_fail(err, TL_INVALID, "column \"%.100s\" is nested deeper than %d levels", path, TL_ARROW_MAX_DEPTH);
    }
    if (from->id == TL_ARROW_DICTIONARY || from->id == TL_ARROW_RUN_END) {
        bool runs = from->id == TL_ARROW_RUN_END;
        out->step = runs ? TL_STEP_RUNS : TL_STEP_DICTIONARY;
        TL_TRY(one_plan(a, out, err));
        return plan_type(a, &from->children[runs ? 1 : 0], to, path, false, depth + 1, out->children, err);
    }
    if (tl_rule(from, to) == TL_FIT_REFUSED) {
        return refuse(from, to, path, err);
    }
    if (from->id == TL_ARROW_NULL) {
        out->step = TL_STEP_MISSING;
        return TL_OK;
    }
    if (to->id == TL_TYPE_STRUCT) {
        out->step = TL_STEP_STRUCT;
        out->n_children = to->n_fields;
        return plan_fields(a, from, to->fields, to->n_fields, path, -1, depth + 1, &out->children, err);
    }
    if (to->id == TL_TYPE_LIST || to->id == TL_TYPE_MAP) {
        return plan_list(a, from, to, path, depth, out, err);
    }
    out->step = TL_STEP_LEAF;
    out->leaf = leaf_of(from->id, to->id);
    return TL_OK;
}

tl_status tl_align_create(const tl_schema *schema, int32_t ingest, const struct ArrowSchema *input, tl_align **out,
                          tl_error *err) {
    *out = NULL;
    tl_align *a = tl_calloc(1, sizeof *a);
    if (!a) {
        return tl_fail_memory(err, sizeof *a);
    }
    a->schema = schema;
    a->ingest = ingest;
    tl_status s = tl_arrow_type_import(input, &a->arena, &a->input, err);
    if (s == TL_OK && a->input.id != TL_ARROW_STRUCT) {
        s = tl_fail(err, TL_INVALID, "the input is not a table: its Arrow schema is not a struct of columns");
    }
    if (s == TL_OK) {
        s = plan_fields(a, &a->input, schema->fields, schema->n_fields, "", ingest, 1, &a->plans, err);
    }
    if (s != TL_OK) {
        tl_align_free(a);
        return s;
    }
    *out = a;
    return TL_OK;
}

void tl_align_free(tl_align *a) {
    if (a) {
        tl_arena_free(&a->arena);
        tl_free(a);
    }
}

/* ---- batches ---- */

/* The insertion time: the stamp where the input has none. */
static tl_status stamp(tl_job *job, int64_t stamp_us, int64_t n, tl_column *c, tl_error *err) {
    if (n == 0 || (c->validity && tl_bits_count(c->validity, c->validity_offset, n) == n)) {
        c->validity = NULL;
    }
    if (!c->validity) {
        return TL_OK;
    }
    int64_t *values = NULL;
    TL_TRY(tl_job_alloc(job, n, 8, &values, err));
    for (int64_t i = 0; i < n; i++) {
        values[i] = tl_column_is_null(c, i) ? stamp_us : tl_load_i64(c->values + i * 8);
    }
    c->values = (const uint8_t *)values;
    c->validity = NULL;
    c->validity_offset = 0;
    return TL_OK;
}

static size_t column_bytes(const tl_column *c, const uint8_t *zeros) {
    size_t n = (size_t)c->length, bytes = c->validity && c->validity != zeros ? n / 8 : 0;
    if (n > 0 && c->values != zeros) {
        bytes += c->kind == TL_COLUMN_BOOL ? n / 8 : c->kind == TL_COLUMN_FIXED ? n * (size_t)c->width : 0;
        bytes += c->offsets32 ? n * 4 : c->offsets64 ? n * 8 : 0;
        if (c->kind == TL_COLUMN_BYTES) {
            bytes += (size_t)(tl_column_offset(c, c->length) - tl_column_offset(c, 0));
        }
    }
    for (int64_t i = 0; i < c->n_children; i++) {
        bytes += column_bytes(&c->children[i], zeros);
    }
    return bytes;
}

static tl_status align_columns(tl_align *a, struct ArrowArray *input, int64_t first_row, int64_t stamp_us,
                               tl_batch *out, tl_error *err) {
    tl_view v;
    TL_TRY(tl_view_open(&a->input, input, 0, input->length, (tl_bits){NULL, 0}, &v, err));
    if (v.null_count > 0) {
        return tl_fail(err, TL_INVALID, "the input has rows that are null as a whole");
    }
    out->n_rows = v.length;
    out->n_columns = a->schema->n_fields;
    out->columns = tl_arena_array(&out->arena, (size_t)out->n_columns, sizeof *out->columns);
    if (!out->columns) {
        return tl_fail_memory(err, (size_t)out->n_columns * sizeof *out->columns);
    }
    tl_job job = {.batch = out};
    tl_frame root = {.kind = TL_FRAME_ROOT, .base = first_row};
    for (int32_t i = 0; i < out->n_columns; i++) {
        const tl_plan *p = &a->plans[i];
        const struct ArrowArray *child = p->source >= 0 ? input->children[p->source] : NULL;
        TL_TRY(tl_align_node(&job, p, child, v.first, v.length, (tl_bits){NULL, 0}, &root, &out->columns[i], err));
        if (i == a->ingest) {
            TL_TRY(stamp(&job, stamp_us, v.length, &out->columns[i], err));
        }
    }
    for (int32_t i = 0; i < out->n_columns; i++) {
        out->bytes += column_bytes(&out->columns[i], job.zeros);
    }
    return TL_OK;
}

tl_status tl_align_batch(tl_align *a, struct ArrowArray *input, int64_t first_row, int64_t stamp_us, tl_batch *out,
                         tl_error *err) {
    *out = (tl_batch){0};
    out->input = *input;
    input->release = NULL;
    tl_status s = align_columns(a, &out->input, first_row, stamp_us, out, err);
    if (s != TL_OK) {
        tl_batch_free(out);
    }
    return s;
}

void tl_batch_free(tl_batch *b) {
    if (b->input.release) {
        b->input.release(&b->input);
    }
    for (int32_t i = 0; i < b->n_buffers; i++) {
        tl_free(b->buffers[i]);
    }
    tl_free(b->buffers);
    tl_arena_free(&b->arena);
    *b = (tl_batch){0};
}
