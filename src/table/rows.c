/* Rows as values of their own: gathering, freeing. See rows.h. */
#include "table/rows.h"

#define MAX_DEPTH 64

void tl_rows_free(tl_rows *rows) {
    for (int32_t i = 0; i < rows->n_arrays; i++) {
        if (rows->arrays[i].release) {
            rows->arrays[i].release(&rows->arrays[i]);
        }
    }
    tl_free(rows->arrays);
    tl_arena_free(&rows->arena);
    *rows = (tl_rows){0};
}

/* What one level of the gathering works on: the column of each source, and which rows. */
typedef struct gathering {
    const tl_column *const *sources; /* one pointer per source */
    uint32_t n_sources;
    const tl_pick *picks;
    int64_t n;
    tl_arena *arena;
    tl_error *err;
} gathering;

static tl_status gather(const gathering *g, int depth, tl_column *out);

static tl_status gather_validity(const gathering *g, tl_column *out) {
    bool any = false;
    for (int64_t i = 0; i < g->n && !any; i++) {
        any = tl_column_is_null(g->sources[g->picks[i].source], g->picks[i].row);
    }
    if (!any) {
        return TL_OK;
    }
    uint8_t *bits = tl_arena_alloc(g->arena, (size_t)(g->n + 7) / 8);
    if (!bits) {
        return tl_fail_memory(g->err, (size_t)(g->n + 7) / 8);
    }
    for (int64_t i = 0; i < g->n; i++) {
        if (!tl_column_is_null(g->sources[g->picks[i].source], g->picks[i].row)) {
            tl_bit_set(bits, i);
        }
    }
    out->validity = bits;
    return TL_OK;
}

static tl_status gather_bits(const gathering *g, tl_column *out) {
    uint8_t *bits = tl_arena_alloc(g->arena, (size_t)(g->n + 7) / 8);
    if (!bits) {
        return tl_fail_memory(g->err, (size_t)(g->n + 7) / 8);
    }
    for (int64_t i = 0; i < g->n; i++) {
        const tl_column *c = g->sources[g->picks[i].source];
        if (!tl_column_is_null(c, g->picks[i].row) && tl_column_bool(c, g->picks[i].row)) {
            tl_bit_set(bits, i);
        }
    }
    out->values = bits;
    return TL_OK;
}

/* `width` is a constant where it is called, so that a value is a load and a store. */
static inline __attribute__((always_inline)) void copy_fixed(const gathering *g, uint8_t *values, size_t width) {
    for (int64_t i = 0; i < g->n; i++) {
        const tl_column *c = g->sources[g->picks[i].source];
        if (!tl_column_is_null(c, g->picks[i].row)) {
            memcpy(values + (size_t)i * width, c->values + (size_t)g->picks[i].row * width, width);
        }
    }
}

static tl_status gather_fixed(const gathering *g, tl_column *out) {
    size_t width = (size_t)out->width;
    uint8_t *values = tl_arena_array(g->arena, (size_t)g->n, width);
    if (!values) {
        return tl_fail_memory(g->err, (size_t)g->n * width);
    }
    switch (width) {
    case 4: copy_fixed(g, values, 4); break;
    case 8: copy_fixed(g, values, 8); break;
    case 16: copy_fixed(g, values, 16); break;
    default: copy_fixed(g, values, width); break;
    }
    out->values = values;
    return TL_OK;
}

/* Offsets of the picked rows of a BYTES or LIST column; null rows are empty. */
static tl_status gather_offsets(const gathering *g, tl_column *out, int64_t *total) {
    int64_t *offsets = tl_arena_array(g->arena, (size_t)g->n + 1, sizeof *offsets);
    if (!offsets) {
        return tl_fail_memory(g->err, ((size_t)g->n + 1) * sizeof *offsets);
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const tl_column *c = g->sources[g->picks[i].source];
        int64_t row = g->picks[i].row;
        sum += tl_column_is_null(c, row) ? 0 : tl_column_offset(c, row + 1) - tl_column_offset(c, row);
        offsets[i + 1] = sum;
    }
    out->offsets64 = offsets;
    *total = sum;
    return TL_OK;
}

static tl_status gather_bytes(const gathering *g, tl_column *out) {
    int64_t total;
    TL_TRY(gather_offsets(g, out, &total));
    uint8_t *data = tl_arena_alloc(g->arena, (size_t)total);
    if (!data) {
        return tl_fail_memory(g->err, (size_t)total);
    }
    for (int64_t i = 0; i < g->n; i++) {
        size_t len = (size_t)(out->offsets64[i + 1] - out->offsets64[i]);
        if (len) {
            const tl_column *c = g->sources[g->picks[i].source];
            const uint8_t *from = c->data + tl_column_offset(c, g->picks[i].row);
            uint8_t *to = data + out->offsets64[i];
            if (len >= 8 && len <= 16) { /* names of machines: two words that overlap */
                uint64_t first = tl_load_u64(from), last = tl_load_u64(from + len - 8);
                tl_store_u64(to, first);
                tl_store_u64(to + len - 8, last);
            } else {
                memcpy(to, from, len);
            }
        }
    }
    out->data = data;
    return TL_OK;
}

/* Child `k` of every source, as a list of pointers. */
static const tl_column **children_of(const gathering *g, int64_t k) {
    const tl_column **list = tl_arena_array(g->arena, g->n_sources, sizeof *list);
    for (uint32_t i = 0; list && i < g->n_sources; i++) {
        list[i] = g->sources[i] && k < g->sources[i]->n_children ? &g->sources[i]->children[k] : NULL;
    }
    return list;
}

static tl_status gather_child(const gathering *g, int64_t k, const tl_pick *picks, int64_t n, int depth,
                              tl_column *out) {
    gathering child = *g;
    child.sources = children_of(g, k);
    if (!child.sources) {
        return tl_fail_memory(g->err, g->n_sources * sizeof *child.sources);
    }
    child.picks = picks;
    child.n = n;
    return gather(&child, depth + 1, out);
}

static tl_status gather_list(const gathering *g, int depth, tl_column *out) {
    int64_t total;
    TL_TRY(gather_offsets(g, out, &total));
    tl_pick *picks = tl_alloc_array((size_t)total, sizeof *picks);
    if (!picks) {
        return tl_fail_memory(g->err, (size_t)total * sizeof *picks);
    }
    int64_t at = 0;
    for (int64_t i = 0; i < g->n; i++) {
        int64_t len = out->offsets64[i + 1] - out->offsets64[i];
        int64_t from = len ? tl_column_offset(g->sources[g->picks[i].source], g->picks[i].row) : 0;
        if (from + len > UINT32_MAX) {
            tl_free(picks);
            return tl_fail(g->err, TL_UNSUPPORTED, "a batch holds more than 2^32 list elements; send smaller batches");
        }
        for (int64_t k = 0; k < len; k++) {
            picks[at++] = (tl_pick){g->picks[i].source, (uint32_t)(from + k)};
        }
    }
    tl_status status = gather_child(g, 0, picks, total, depth, &out->children[0]);
    tl_free(picks);
    return status;
}

static tl_status gather(const gathering *g, int depth, tl_column *out) {
    *out = (tl_column){.length = g->n};
    const tl_column *shape = NULL; /* any source has the same kind and width */
    for (uint32_t i = 0; i < g->n_sources && !shape; i++) {
        shape = g->sources[i];
    }
    if (!shape || depth > MAX_DEPTH) {
        return tl_fail(g->err, TL_UNSUPPORTED, "columns nested deeper than %d cannot be gathered", MAX_DEPTH);
    }
    out->kind = shape->kind;
    out->width = shape->width;
    out->n_children = shape->n_children;
    if (shape->n_children) {
        out->children = tl_arena_array(g->arena, (size_t)shape->n_children, sizeof *out->children);
        if (!out->children) {
            return tl_fail_memory(g->err, (size_t)shape->n_children * sizeof *out->children);
        }
    }
    TL_TRY(gather_validity(g, out));
    switch (out->kind) {
    case TL_COLUMN_BOOL: return gather_bits(g, out);
    case TL_COLUMN_FIXED: return gather_fixed(g, out);
    case TL_COLUMN_BYTES: return gather_bytes(g, out);
    case TL_COLUMN_LIST: return gather_list(g, depth, out);
    case TL_COLUMN_STRUCT:
        for (int64_t k = 0; k < out->n_children; k++) {
            TL_TRY(gather_child(g, k, g->picks, g->n, depth, &out->children[k]));
        }
        return TL_OK;
    }
    return TL_OK;
}

tl_status tl_column_pick(const tl_column *const *sources, uint32_t n_sources, int32_t column, const tl_pick *picks,
                         int64_t n, tl_arena *arena, tl_column *out, tl_error *err) {
    const tl_column **list = tl_arena_array(arena, n_sources, sizeof *list);
    if (!list) {
        return tl_fail_memory(err, n_sources * sizeof *list);
    }
    for (uint32_t i = 0; i < n_sources; i++) {
        list[i] = &sources[i][column];
    }
    gathering g = {list, n_sources, picks, n, arena, err};
    return gather(&g, 0, out);
}

tl_status tl_rows_pick(const tl_column *const *sources, uint32_t n_sources, int32_t n_columns, const tl_pick *picks,
                       int64_t n, tl_rows *out, tl_error *err) {
    *out = (tl_rows){.n_rows = n, .n_columns = n_columns};
    out->columns = tl_arena_array(&out->arena, (size_t)n_columns, sizeof *out->columns);
    tl_status status = out->columns ? TL_OK : tl_fail_memory(err, (size_t)n_columns * sizeof *out->columns);
    for (int32_t c = 0; c < n_columns && status == TL_OK; c++) {
        status = tl_column_pick(sources, n_sources, c, picks, n, &out->arena, &out->columns[c], err);
    }
    if (status != TL_OK) {
        tl_rows_free(out);
    }
    return status;
}
