/*
 * Slabs: a group of files with millions of series, cut at values of the first key column. Comes in: the bounds of the
 * files' row groups. Goes out: ranges of keys; row groups of sorted files are in one of them, or two.
 */
#include "read/slabs.h"

#include <stdlib.h>
#include <string.h>

/* Row groups may be read more than once, but not so often that all rows together come to more than this much of once.
 */
#define READ_AGAIN_PERCENT 50
/* Rows of a slab that are read again for the next one, at most. */
#define REACHING_PART 4

/* Bounds of a row group. */
typedef struct part {
    const tl_type *type;
    tl_key_range bounds; /* both ends are among its values; no data = not known */
    int64_t rows;
} part;

typedef struct parts {
    part *items;
    int64_t n, rows;
    size_t cap;
} parts;

static int order_of(const tl_type *type, tl_bytes a, tl_bytes b) {
    int order = 0;
    return tl_value_compare(type, a, b, &order, NULL) == TL_OK ? order : 0;
}

static int by_least_key(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (!x->bounds.from.data || !y->bounds.from.data) {
        return (x->bounds.from.data != NULL) - (y->bounds.from.data != NULL);
    }
    return order_of(x->type, x->bounds.from, y->bounds.from);
}

static tl_status keep_bytes(tl_arena *arena, tl_bytes *b, tl_error *err) {
    if (b->data) {
        b->data = tl_arena_copy(arena, b->data, b->len);
        return b->data ? TL_OK : tl_fail_memory(err, b->len);
    }
    return TL_OK;
}

static tl_status add_file(const tl_open_file *f, const tl_field *field, parts *p, tl_arena *arena, tl_error *err) {
    int32_t leaf = tl_open_file_leaf(f, field);
    for (int32_t g = 0; g < f->meta->n_row_groups; g++) {
        part *items = tl_grow(p->items, &p->cap, (size_t)p->n + 1, 64, sizeof *items, err);
        if (!items) {
            return TL_NO_MEMORY;
        }
        p->items = items;
        part *one = &p->items[p->n++];
        *one = (part){.type = &field->type, .rows = f->meta->row_groups[g].n_rows};
        tl_group_key_bounds(f, g, leaf, &one->bounds);
        TL_TRY(keep_bytes(arena, &one->bounds.from, err));
        TL_TRY(keep_bytes(arena, &one->bounds.to, err));
        p->rows += one->rows;
    }
    return TL_OK;
}

static tl_status gather(tl_table *table, const tl_field *field, const tl_group *group, tl_key_scratch *scratch,
                        parts *p, tl_arena *arena, tl_error *err) {
    for (int64_t i = 0; i < group->n; i++) {
        tl_open_file f;
        TL_TRY(tl_open_file_with(table, group->files[i]->live, scratch, &f, err));
        tl_status status = add_file(&f, field, p, arena, err);
        tl_open_file_close(&f);
        TL_TRY(status);
    }
    return TL_OK;
}

/* Rows of the parts before `i` that reach to its least key: they would be in both slabs. `open` are those that may. */
static int64_t reaching(const parts *p, int64_t i, int64_t *open, int64_t *n_open) {
    int64_t rows = 0, kept = 0;
    for (int64_t k = 0; k < *n_open; k++) {
        const part *one = &p->items[open[k]];
        if (!one->bounds.to.data || order_of(one->type, one->bounds.to, p->items[i].bounds.from) >= 0) {
            rows += one->rows;
            open[kept++] = open[k];
        }
    }
    *n_open = kept;
    return rows;
}

/* A new slab begins where so many rows have begun in the one before, and where few row groups are cut in two. */
static tl_status cut(const parts *p, int64_t rows, tl_slabs *out, tl_error *err) {
    int64_t begun = 0, n_open = 0, *open = tl_alloc_array((size_t)p->n, sizeof *open);
    if (!open) {
        return tl_fail_memory(err, (size_t)p->n * sizeof *open);
    }
    out->n = 1;
    for (int64_t i = 0; i < p->n; i++) {
        const part *one = &p->items[i];
        tl_key_range *last = &out->items[out->n - 1];
        bool new_key = one->bounds.from.data && i > 0 && by_least_key(one - 1, one) < 0;
        if (begun >= rows && new_key && reaching(p, i, open, &n_open) <= begun / REACHING_PART) {
            last->to = one->bounds.from;
            out->items[out->n++] = (tl_key_range){.from = one->bounds.from};
            begun = 0;
        }
        open[n_open++] = i;
        begun += one->rows;
    }
    tl_free(open);
    return TL_OK;
}

/* Rows that will be read in all. */
static int64_t rows_read(const parts *p, const tl_slabs *s) {
    int64_t rows = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const part *one = &p->items[i];
        for (int64_t k = 0; k < s->n; k++) {
            tl_bytes from = s->items[k].from, to = s->items[k].to;
            bool below = to.data && one->bounds.from.data && order_of(one->type, to, one->bounds.from) <= 0;
            bool above = from.data && one->bounds.to.data && order_of(one->type, one->bounds.to, from) < 0;
            rows += below || above ? 0 : one->rows;
        }
    }
    return rows;
}

/* Files of one row group each are not worth being opened for this: where keys tell them apart they are in groups of
 * their own. */
static bool may_be_cut(const tl_group *group) {
    bool several = false;
    for (int64_t i = 0; i < group->n && !several; i++) {
        several = group->files[i]->live->file.n_split_offsets != 1;
    }
    return several;
}

tl_status tl_slabs_cut(tl_table *table, const tl_schema *schema, const tl_group *group, int64_t rows,
                       tl_key_scratch *scratch, tl_slabs *out, tl_error *err) {
    *out = (tl_slabs){0};
    const tl_field *field = table->contract.n_series ? &schema->fields[table->contract.series[0]] : NULL;
    bool ordered = field && (field->type.id == TL_TYPE_STRING || field->type.id == TL_TYPE_BINARY);
    parts p = {0};
    tl_status status = TL_OK;
    if (ordered && group->rows / 2 > rows && may_be_cut(group)) {
        status = gather(table, field, group, scratch, &p, &out->arena, err);
    }
    out->items = status == TL_OK ? tl_arena_array(&out->arena, (size_t)p.n + 1, sizeof *out->items) : NULL;
    if (!out->items) {
        status = status == TL_OK ? tl_fail_memory(err, (size_t)p.n * sizeof *out->items) : status;
        tl_free(p.items);
        tl_slabs_free(out);
        return status;
    }
    if (p.n) {
        qsort(p.items, (size_t)p.n, sizeof *p.items, by_least_key);
    }
    status = cut(&p, rows, out, err);
    if (status == TL_OK && out->n > 1 && rows_read(&p, out) > p.rows / 100 * (100 + READ_AGAIN_PERCENT)) {
        out->items[0] = (tl_key_range){0};
        out->n = 1;
    }
    tl_free(p.items);
    if (status != TL_OK) {
        tl_slabs_free(out);
    }
    return status;
}

void tl_slabs_free(tl_slabs *s) {
    tl_arena_free(&s->arena);
    *s = (tl_slabs){0};
}
