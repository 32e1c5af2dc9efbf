/*
 * Nested columns become leaves (Dremel shredding). Comes in: a canonical column and its part of the schema tree. Goes
 * out: levels and dense values of each leaf.
 *
 * On the way down the tree a list of entries is kept: which row of the current column each stands for (or that it ended
 * in a null or an empty list above), and its levels. Optional elements and structs change levels in place; a list
 * makes a new, longer list of entries; siblings share their parent's.
 */
#include "parquet/shred.h"

#include "base/mem.h"

#define MAX_DEPTH 64
#define ENDED (-1) /* a null or an empty list above: the entry has levels but no row */

/* What all steps share. */
typedef struct tl_shred {
    const tl_pq_schema_element *schema;
    int32_t n_schema;
    int32_t element; /* the next to be visited */
    int32_t leaf;    /* the next leaf's number within the column */
    const tl_pq_convert *converts;
    tl_pq_emit emit;
    void *ctx;
    tl_error *err;
} tl_shred;

/* `rows` NULL = entry i is row first + i. `def` NULL = all have `level`. `rep` NULL = all 0. */
typedef struct tl_entries {
    int64_t n;
    int64_t first;
    const int64_t *rows;
    const uint8_t *def, *rep;
    uint8_t level;   /* definition level of entries that have a row */
    uint8_t max_rep; /* repetition level of the innermost list above */
} tl_entries;

static int64_t row_at(const tl_entries *e, int64_t i) {
    return e->rows ? e->rows[i] : e->first + i;
}
static uint8_t def_at(const tl_entries *e, int64_t i) {
    return e->def ? e->def[i] : e->level;
}

static tl_status no_memory(const tl_shred *s, int64_t n) {
    return tl_fail_memory(s->err, (size_t)n * 8);
}

/* Whether any entry of the column is null. */
static bool has_nulls(const tl_column *c, const tl_entries *e) {
    if (!c->validity) {
        return false;
    }
    if (!e->rows) {
        return tl_bits_count(c->validity, c->validity_offset + e->first, e->n) != e->n;
    }
    for (int64_t i = 0; i < e->n; i++) {
        if (e->rows[i] != ENDED && tl_column_is_null(c, e->rows[i])) {
            return true;
        }
    }
    return false;
}

/* Entries below an optional element: those whose row is null end here, the others gain a level. `rows` and `def` are
 * the memory of the new lists, NULL when the old ones will do. */
typedef struct tl_optional {
    tl_entries entries;
    int64_t *rows;
    uint8_t *def;
} tl_optional;

static void free_optional(tl_optional *o) {
    tl_free(o->rows);
    tl_free(o->def);
}

static tl_status enter_element(tl_shred *s, const tl_pq_schema_element *element, const tl_column *c,
                               const tl_entries *in, tl_optional *out) {
    *out = (tl_optional){.entries = *in};
    bool nulls = has_nulls(c, in);
    if (element->repetition == TL_PQ_REQUIRED) {
        return nulls ? tl_fail(s->err, TL_INVALID, "a null in column \"%s\", which is required", element->name) : TL_OK;
    }
    out->entries.level = (uint8_t)(in->level + 1);
    if (!nulls && !in->def) {
        return TL_OK;
    }
    out->rows = tl_alloc_array((size_t)in->n, sizeof *out->rows);
    out->def = tl_alloc_array((size_t)in->n, 1);
    if (!out->rows || !out->def) {
        free_optional(out);
        return no_memory(s, in->n);
    }
    for (int64_t i = 0; i < in->n; i++) {
        int64_t row = row_at(in, i);
        bool ends = row != ENDED && nulls && tl_column_is_null(c, row);
        out->rows[i] = ends ? ENDED : row;
        out->def[i] = row == ENDED || ends ? def_at(in, i) : out->entries.level;
    }
    out->entries.rows = out->rows;
    out->entries.def = out->def;
    return TL_OK;
}

/* ---- leaves ---- */

/* A 128-bit number as the parts a narrower one keeps; false when it does not fit `bytes` bytes. */
static bool decimal_fits(const uint8_t *value, size_t bytes) {
    uint8_t sign = value[bytes - 1] & 0x80 ? 0xff : 0;
    for (size_t i = bytes; i < 16; i++) {
        if (value[i] != sign) {
            return false;
        }
    }
    return true;
}

static bool convert_decimal(const uint8_t *value, size_t width, bool big_endian, uint8_t *out) {
    if (width > 16) { /* wider than the number: filled with its sign */
        size_t more = width - 16;
        memset(out, value[15] & 0x80 ? 0xff : 0, more);
        out += more;
        width = 16;
    } else if (!decimal_fits(value, width)) {
        return false;
    }
    for (size_t i = 0; i < width; i++) {
        out[big_endian ? width - 1 - i : i] = value[i];
    }
    return true;
}

/* Bytes a value of the leaf has, as the column writer takes it. */
static size_t leaf_width(const tl_pq_schema_element *e) {
    switch (e->type) {
    case TL_PQ_BOOLEAN: return 1;
    case TL_PQ_INT32:
    case TL_PQ_FLOAT: return 4;
    case TL_PQ_INT64:
    case TL_PQ_DOUBLE: return 8;
    case TL_PQ_INT96: return 12;
    case TL_PQ_FIXED: return (size_t)e->type_length;
    case TL_PQ_BYTE_ARRAY: return sizeof(tl_bytes);
    }
    return 0;
}

static bool column_fits_leaf(const tl_column *c, const tl_pq_schema_element *e, tl_pq_convert convert) {
    if (convert != TL_PQ_CONVERT_NONE) {
        bool target = convert == TL_PQ_CONVERT_DECIMAL_INT32   ? e->type == TL_PQ_INT32
                      : convert == TL_PQ_CONVERT_DECIMAL_INT64 ? e->type == TL_PQ_INT64
                                                               : e->type == TL_PQ_FIXED && e->type_length > 0;
        return target && c->kind == TL_COLUMN_FIXED && c->width == 16;
    }
    switch (e->type) {
    case TL_PQ_BOOLEAN: return c->kind == TL_COLUMN_BOOL;
    case TL_PQ_BYTE_ARRAY: return c->kind == TL_COLUMN_BYTES;
    default: return c->kind == TL_COLUMN_FIXED && c->width > 0 && (size_t)c->width == leaf_width(e);
    }
}

/* Values without conversion of one width, known to the compiler where it matters. */
#define GATHER(width)                                                                                                  \
    for (int64_t i = 0; i < e->n; i++) {                                                                               \
        int64_t row_ = row_at(e, i);                                                                                   \
        if (row_ != ENDED) {                                                                                           \
            memcpy(out + n++ * (width), c->values + (size_t)row_ * (width), (width));                                  \
        }                                                                                                              \
    }

static size_t gather_fixed(const tl_column *c, const tl_entries *e, size_t width, uint8_t *out) {
    size_t n = 0;
    if (width == 8) {
        GATHER((size_t)8)
    } else if (width == 4) {
        GATHER((size_t)4)
    } else {
        GATHER(width)
    }
    return n;
}

static size_t gather_bytes(const tl_column *c, const tl_entries *e, tl_bytes *out) {
    size_t n = 0;
    for (int64_t i = 0; i < e->n; i++) {
        int64_t row = row_at(e, i);
        if (row != ENDED) {
            out[n++] = tl_column_bytes(c, row);
        }
    }
    return n;
}

static size_t gather_bools(const tl_column *c, const tl_entries *e, uint8_t *out) {
    size_t n = 0;
    for (int64_t i = 0; i < e->n; i++) {
        int64_t row = row_at(e, i);
        if (row != ENDED) {
            out[n++] = tl_column_bool(c, row);
        }
    }
    return n;
}

static tl_status gather_decimals(tl_shred *s, const tl_column *c, const tl_pq_schema_element *element,
                                 const tl_entries *e, bool big_endian, uint8_t *out, size_t *n_out) {
    size_t n = 0, width = leaf_width(element);
    for (int64_t i = 0; i < e->n; i++) {
        int64_t row = row_at(e, i);
        if (row != ENDED && !convert_decimal(c->values + (size_t)row * 16, width, big_endian, out + n++ * width)) {
            return tl_fail(s->err, TL_INVALID, "column \"%s\": a decimal does not fit its %d digits", element->name,
                           (int)element->precision);
        }
    }
    *n_out = n;
    return TL_OK;
}

static tl_status gather(tl_shred *s, const tl_column *c, const tl_pq_schema_element *element, const tl_entries *e,
                        tl_pq_convert convert, uint8_t *out, size_t *n) {
    if (convert != TL_PQ_CONVERT_NONE) {
        return gather_decimals(s, c, element, e, convert == TL_PQ_CONVERT_DECIMAL_FIXED, out, n);
    }
    *n = c->kind == TL_COLUMN_BOOL    ? gather_bools(c, e, out)
         : c->kind == TL_COLUMN_BYTES ? gather_bytes(c, e, (tl_bytes *)(void *)out)
                                      : gather_fixed(c, e, (size_t)c->width, out);
    return TL_OK;
}

static tl_status shred_leaf(tl_shred *s, const tl_pq_schema_element *element, const tl_column *c, const tl_entries *e) {
    tl_pq_convert convert = s->converts ? s->converts[s->leaf] : TL_PQ_CONVERT_NONE;
    if (!column_fits_leaf(c, element, convert)) {
        return tl_fail(s->err, TL_INTERNAL, "column \"%s\" is not laid out as its Parquet type %d needs", element->name,
                       (int)element->type);
    }
    tl_pq_values values = {.n_levels = e->n, .def = e->def, .rep = e->rep};
    int32_t leaf = s->leaf++;
    if (c->kind == TL_COLUMN_FIXED && convert == TL_PQ_CONVERT_NONE && !e->rows) { /* as it lies there */
        values.n_values = e->n;
        values.values = e->n ? c->values + (size_t)e->first * (size_t)c->width : NULL;
        return s->emit(s->ctx, leaf, &values, s->err);
    }
    uint8_t *scratch = tl_alloc_array((size_t)e->n, leaf_width(element));
    if (!scratch) {
        return no_memory(s, e->n);
    }
    size_t n = 0;
    tl_status status = gather(s, c, element, e, convert, scratch, &n);
    if (status == TL_OK) {
        values.n_values = (int64_t)n;
        values.values = scratch;
        status = s->emit(s->ctx, leaf, &values, s->err);
    }
    tl_free(scratch);
    return status;
}

/* ---- groups ---- */

static tl_status shred_element(tl_shred *s, const tl_column *c, const tl_entries *in, int depth);

static tl_status shred_fields(tl_shred *s, const tl_pq_schema_element *group, const tl_column *c, const tl_entries *e,
                              int depth) {
    if (c->kind != TL_COLUMN_STRUCT || c->n_children != group->n_children) {
        return tl_fail(s->err, TL_INTERNAL, "column \"%s\" has not the %d fields of its Parquet group", group->name,
                       (int)group->n_children);
    }
    for (int64_t i = 0; i < c->n_children; i++) {
        TL_TRY(shred_element(s, &c->children[i], e, depth + 1));
    }
    return TL_OK;
}

static int64_t list_length(const tl_column *c, int64_t row) {
    return tl_column_offset(c, row + 1) - tl_column_offset(c, row);
}

/* How many entries the lists' elements make: one each, and one for a list that is empty or not there. */
static bool count_elements(const tl_column *c, const tl_entries *e, int64_t *out) {
    int64_t n = 0;
    for (int64_t i = 0; i < e->n; i++) {
        int64_t row = row_at(e, i), length = row == ENDED ? 0 : list_length(c, row);
        if (length < 0 || !tl_i64_add(n, length ? length : 1, &n)) {
            return false;
        }
    }
    *out = n;
    return true;
}

static void expand_lists(const tl_column *c, const tl_entries *e, uint8_t inner_level, uint8_t rep_level, int64_t *rows,
                         uint8_t *def, uint8_t *rep) {
    int64_t n = 0;
    for (int64_t i = 0; i < e->n; i++) {
        int64_t row = row_at(e, i), length = row == ENDED ? 0 : list_length(c, row);
        uint8_t outer_rep = e->rep ? e->rep[i] : 0;
        if (length == 0) {
            rows[n] = ENDED;
            def[n] = def_at(e, i);
            rep[n++] = outer_rep;
            continue;
        }
        int64_t from = tl_column_offset(c, row);
        for (int64_t k = 0; k < length; k++) {
            rows[n] = from + k;
            def[n] = inner_level;
            rep[n++] = k ? rep_level : outer_rep;
        }
    }
}

/* The repeated group of a list (one child: the element) or of a map (key and value are its fields). */
static tl_status shred_elements(tl_shred *s, const tl_pq_schema_element *outer, const tl_column *c, const tl_entries *e,
                                int depth) {
    const tl_pq_schema_element *repeated = &s->schema[s->element++];
    const tl_column *child = &c->children[0];
    if (outer->logical == TL_PQ_LOGICAL_MAP) {
        if (child->kind == TL_COLUMN_STRUCT && has_nulls(child, e)) {
            return tl_fail(s->err, TL_INVALID, "column \"%s\": a map has an entry that is null", outer->name);
        }
        return shred_fields(s, repeated, child, e, depth + 1);
    }
    return shred_element(s, child, e, depth + 1);
}

static tl_status check_list(const tl_shred *s, const tl_pq_schema_element *group, const tl_column *c) {
    bool map = group->logical == TL_PQ_LOGICAL_MAP;
    bool shaped = c->kind == TL_COLUMN_LIST && c->n_children == 1 && group->n_children == 1 &&
                  s->element < s->n_schema && !s->schema[s->element].is_leaf &&
                  s->schema[s->element].repetition == TL_PQ_REPEATED &&
                  s->schema[s->element].n_children == (map ? 2 : 1);
    return shaped ? TL_OK
                  : tl_fail(s->err, TL_INTERNAL, "column \"%s\" or its Parquet group is not a three-level list",
                            group->name);
}

static tl_status shred_list(tl_shred *s, const tl_pq_schema_element *group, const tl_column *c, const tl_entries *e,
                            int depth) {
    TL_TRY(check_list(s, group, c));
    int64_t n;
    if (!count_elements(c, e, &n)) {
        return tl_fail(s->err, TL_INVALID, "column \"%s\": list offsets fall or are too many", group->name);
    }
    int64_t *rows = tl_alloc_array((size_t)n, sizeof *rows);
    uint8_t *def = tl_alloc_array((size_t)n, 1), *rep = tl_alloc_array((size_t)n, 1);
    tl_status status;
    if (rows && def && rep) {
        tl_entries inner = {.n = n,
                            .rows = rows,
                            .def = def,
                            .rep = rep,
                            .level = (uint8_t)(e->level + 1),
                            .max_rep = (uint8_t)(e->max_rep + 1)};
        expand_lists(c, e, inner.level, inner.max_rep, rows, def, rep);
        status = shred_elements(s, group, c, &inner, depth);
    } else {
        status = no_memory(s, n);
    }
    tl_free(rows);
    tl_free(def);
    tl_free(rep);
    return status;
}

static tl_status shred_element(tl_shred *s, const tl_column *c, const tl_entries *in, int depth) {
    if (s->element >= s->n_schema || depth >= MAX_DEPTH) {
        return tl_fail(s->err, TL_INTERNAL, "a column has more fields, or is nested deeper, than its Parquet schema");
    }
    const tl_pq_schema_element *element = &s->schema[s->element++];
    if (element->repetition == TL_PQ_REPEATED) {
        return tl_fail(s->err, TL_INTERNAL, "column \"%s\": repeated outside of a list or map", element->name);
    }
    tl_optional below;
    TL_TRY(enter_element(s, element, c, in, &below));
    tl_status status;
    if (element->is_leaf) {
        status = shred_leaf(s, element, c, &below.entries);
    } else if (element->logical == TL_PQ_LOGICAL_LIST || element->logical == TL_PQ_LOGICAL_MAP) {
        status = shred_list(s, element, c, &below.entries, depth);
    } else {
        status = shred_fields(s, element, c, &below.entries, depth);
    }
    free_optional(&below);
    return status;
}

tl_status tl_pq_shred(const tl_column *column, const tl_pq_schema_element *schema, int32_t n_schema, int32_t element,
                      const tl_pq_convert *converts, const int64_t *rows, int64_t from, int64_t n, tl_pq_emit emit,
                      void *ctx, tl_error *err) {
    tl_shred s = {.schema = schema,
                  .n_schema = n_schema,
                  .element = element,
                  .converts = converts,
                  .emit = emit,
                  .ctx = ctx,
                  .err = err};
    tl_entries all = {.n = n, .first = rows ? 0 : from, .rows = rows ? rows + from : NULL};
    return shred_element(&s, column, &all, 0);
}
