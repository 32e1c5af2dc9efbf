/*
 * Which files have to be read to find older copies. Comes in: files of one partition. Goes out: groups of files that
 * may share keys with each other; a file in no group shares none with any.
 *
 * By time first: files sorted by their least time fall into pieces between which no time is common. In a piece of a few
 * files every pair is looked at; in a large one another sweep, by the first key column, splits it further. So it costs
 * O(n log n) for any number of files.
 */
#include "read/groups.h"

#include <stdlib.h>
#include <string.h>

#include "read/read_internal.h"

/* Pieces up to this size are looked at pair by pair. */
#define PAIRS_MOST 64

typedef struct piece {
    tl_older_file **files;
    int64_t n;
} piece;

typedef struct grouping {
    const tl_schema *schema;
    const tl_contract *contract;
    const tl_table *table;
    tl_groups *out;
} grouping;

/* ---- what the writer knew ---- */

static bool name_listed(const char *list, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    for (const char *p = list; *p; p += *p == ',') {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, name, n) == 0) {
            return true;
        }
        p += len;
    }
    return false;
}

/* Is every row of the file later than the last row of its series was when it was added? Then no file of an earlier
 * commit has a key of it. Known while the snapshot that added it is kept. */
static bool is_newer(const tl_table *table, const tl_live_file *f) {
    const tl_snapshot *s = tl_metadata_snapshot(&table->metadata, f->snapshot_id);
    if (!s || s->sequence_number != f->sequence_number || f->file_sequence_number != f->sequence_number) {
        return false; /* not kept any more, or the file was moved or rewritten since */
    }
    const char *operation = tl_snapshot_summary(s, "operation"), *newer = tl_snapshot_summary(s, TL_NEWER_FILES);
    return operation && strcmp(operation, "append") == 0 && newer &&
           (strcmp(newer, "all") == 0 || name_listed(newer, f->file.path));
}

/* May the file hold a key twice by itself? Timelake's files are free of that from 0.5 on (spec a.7); tables without an
 * insertion-time column may hold older ones. */
static bool may_repeat_itself(const tl_table *table, const tl_live_file *f) {
    return table->contract.ingest < 0 || f->file.sort_order_id < 0 ||
           f->file.sort_order_id != table->metadata.default_sort_order_id;
}

/* The later of two commits has only newer rows, or both are of one commit that has. */
static bool known_apart(const tl_older_file *a, const tl_older_file *b) {
    int64_t x = a->live->sequence_number, y = b->live->sequence_number;
    return x == y ? a->newer && b->newer : x > y ? a->newer : b->newer;
}

/* ---- one piece ---- */

static tl_status add_group(grouping *g, tl_older_file **files, int64_t n, tl_error *err) {
    tl_groups *out = g->out;
    int64_t needed = 0;
    for (int64_t i = 0; i < n; i++) {
        needed += files[i]->needed;
    }
    if (needed == 0) {
        return TL_OK;
    }
    if (out->n == out->cap) {
        int64_t cap = out->cap ? out->cap * 2 : 16;
        tl_group *items = tl_realloc_array(out->items, (size_t)cap, sizeof *items);
        if (!items) {
            return tl_fail_memory(err, (size_t)cap * sizeof *items);
        }
        out->items = items;
        out->cap = cap;
    }
    tl_group group = {.files = tl_arena_array(&out->arena, (size_t)needed, sizeof *group.files)};
    if (!group.files) {
        return tl_fail_memory(err, (size_t)needed * sizeof *group.files);
    }
    for (int64_t i = 0; i < n; i++) {
        if (files[i]->needed) {
            group.files[group.n++] = files[i];
            group.rows += files[i]->live->file.record_count;
        }
    }
    out->items[out->n++] = group;
    return TL_OK;
}

/* The times of `b` matter to `a`. */
static void widen(tl_older_file *a, const tl_older_file *b) {
    a->from_us = b->min < a->from_us ? b->min : a->from_us;
    a->to_us = b->max > a->to_us ? b->max : a->to_us;
}

static void start_window(const grouping *g, tl_older_file *f) {
    f->newer = is_newer(g->table, f->live);
    f->needed = !f->known && may_repeat_itself(g->table, f->live);
    f->has_window = !f->needed;
    f->from_us = INT64_MAX;
    f->to_us = INT64_MIN;
}

static bool one_row_group(const tl_older_file *f) {
    return f->live->file.n_split_offsets == 1;
}

/* Every pair. Files that are `known` both have been compared before. */
static tl_status look_at_pairs(grouping *g, tl_older_file **files, int64_t n, tl_error *err) {
    for (int64_t i = 0; i < n; i++) {
        start_window(g, files[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            tl_older_file *a = files[i], *b = files[j];
            bool settled =
                a->needed && b->needed && (one_row_group(a) || !a->has_window) && (one_row_group(b) || !b->has_window);
            if (settled || (a->known && b->known)) {
                continue;
            }
            if (b->min > a->max) {
                break; /* and so are all behind it */
            }
            bool share = !known_apart(a, b);
            if (share) {
                TL_TRY(tl_files_may_share(g->schema, g->contract, a->live, b->live, &share, err));
            }
            if (share) {
                a->needed = b->needed = true;
                widen(a, b);
                widen(b, a);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) { /* pairs of one-row-group files were passed over once both were needed */
        files[i]->has_window = files[i]->has_window && !one_row_group(files[i]);
    }
    return add_group(g, files, n, err);
}

/* Too many for pairs: all of them, but for newer files that have no later file which may hold their rows again. */
static tl_status take_all(grouping *g, tl_older_file **files, int64_t n, tl_error *err) {
    int64_t last = INT64_MIN; /* sequence number of the last file that is not newer */
    bool any_new = false;
    for (int64_t i = 0; i < n; i++) {
        start_window(g, files[i]);
        any_new = any_new || !files[i]->known;
        if (!files[i]->newer && files[i]->live->sequence_number > last) {
            last = files[i]->live->sequence_number;
        }
    }
    for (int64_t i = 0; any_new && i < n; i++) {
        files[i]->needed = files[i]->needed || !files[i]->newer || files[i]->live->sequence_number <= last;
        files[i]->has_window = false;
    }
    return add_group(g, files, n, err);
}

/* ---- by the first key column ---- */

static int by_least_time(const void *a, const void *b) {
    const tl_older_file *x = *(tl_older_file *const *)a, *y = *(tl_older_file *const *)b;
    if (x->min != y->min) {
        return x->min < y->min ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

typedef struct keyed {
    tl_older_file *file;
    const tl_type *type;
    tl_bytes lower, upper;
} keyed;

static int by_lower(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    int order = 0;
    if (tl_value_compare(x->type, x->lower, y->lower, &order, NULL) != TL_OK) {
        return 0;
    }
    return order;
}

/* False when a file's bounds do not say everything about its keys. */
static bool key_bounds(const grouping *g, const piece *p, keyed *out) {
    const tl_field *field = g->contract->n_series ? &g->schema->fields[g->contract->series[0]] : NULL;
    for (int64_t i = 0; field && i < p->n; i++) {
        out[i] = (keyed){.file = p->files[i], .type = &field->type};
        if (!tl_file_key_bounds(field, p->files[i]->live, &out[i].lower, &out[i].upper)) {
            return false;
        }
    }
    return field != NULL;
}

/* The end of the run of files from `from` on whose keys are linked by overlaps. */
static tl_status linked(const keyed *k, int64_t from, int64_t n, int64_t *out, tl_error *err) {
    tl_bytes upper = k[from].upper;
    int64_t to = from + 1;
    for (; to < n; to++) {
        int apart = 0, longer = 0;
        TL_TRY(tl_value_compare(k[to].type, upper, k[to].lower, &apart, err));
        TL_TRY(tl_value_compare(k[to].type, k[to].upper, upper, &longer, err));
        if (apart < 0) {
            break;
        }
        upper = longer > 0 ? k[to].upper : upper;
    }
    *out = to;
    return TL_OK;
}

static tl_status split_by_key(grouping *g, const piece *p, tl_error *err) {
    keyed *k = tl_alloc_array((size_t)p->n, sizeof *k);
    if (!k) {
        return tl_fail_memory(err, (size_t)p->n * sizeof *k);
    }
    tl_status status = TL_OK;
    if (!key_bounds(g, p, k)) {
        tl_free(k);
        return take_all(g, p->files, p->n, err);
    }
    qsort(k, (size_t)p->n, sizeof *k, by_lower);
    for (int64_t i = 0; i < p->n; i++) {
        p->files[i] = k[i].file;
    }
    for (int64_t from = 0; from < p->n && status == TL_OK;) {
        int64_t to = from + 1;
        status = linked(k, from, p->n, &to, err);
        if (status == TL_OK) {
            qsort(p->files + from, (size_t)(to - from), sizeof *p->files, by_least_time);
            status = to - from <= PAIRS_MOST ? look_at_pairs(g, p->files + from, to - from, err)
                                             : take_all(g, p->files + from, to - from, err);
        }
        from = to;
    }
    tl_free(k);
    return status;
}

/* ---- by time ---- */

static tl_status look_at_piece(grouping *g, const piece *p, tl_error *err) {
    bool all_known = true;
    for (int64_t i = 0; i < p->n; i++) {
        all_known = all_known && p->files[i]->known;
    }
    if (all_known) {
        return TL_OK;
    }
    return p->n <= PAIRS_MOST ? look_at_pairs(g, p->files, p->n, err) : split_by_key(g, p, err);
}

tl_status tl_groups_add(const tl_table *table, const tl_schema *schema, tl_older_file **files, int64_t n,
                        tl_groups *out, tl_error *err) {
    grouping g = {schema, &table->contract, table, out};
    qsort(files, (size_t)n, sizeof *files, by_least_time);
    for (int64_t from = 0; from < n;) {
        int64_t max = files[from]->max, to = from + 1;
        for (; to < n && files[to]->min <= max; to++) {
            max = files[to]->max > max ? files[to]->max : max;
        }
        TL_TRY(look_at_piece(&g, &(piece){files + from, to - from}, err));
        from = to;
    }
    return TL_OK;
}

void tl_groups_free(tl_groups *g) {
    tl_free(g->items);
    tl_arena_free(&g->arena);
    *g = (tl_groups){0};
}
