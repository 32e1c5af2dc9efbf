/*
 * Older copies against a plain model: random files (nulls, NaN, -0.0, several row groups, equal and missing insertion
 * times, foreign files without order), deletes, narrow queries, what is kept in the process, and files that must not be
 * opened at all.
 */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "parquet/writer.h"
#include "read/cache.h"
#include "read/older.h"
#include "read/read_internal.h"
#include "store/memory.h"

#define DAY INT64_C(86400000000)
#define BASE (INT64_C(20000) * DAY)
#define FILES_MOST 12
#define ROWS_MOST 560
#define ROWS_OFTEN 80
#define ROWS_LONG 300
#define NO_INGEST INT64_MIN

static uint64_t dice_state;

static uint64_t dice(uint64_t n) {
    return tl_seeded_next(&dice_state) % n;
}

static void okay(tl_status status, const tl_error *err) {
    if (status != TL_OK) {
        fail_msg("%s: %s", tl_status_name(status), err->message);
    }
}

/* ---- a table ---- */

enum { NAME, CHANNEL, TIME, INGEST, N_FIELDS };
static tl_field fields[N_FIELDS] = {
    {.id = 1, .name = "name", .type = {.id = TL_TYPE_STRING}},
    {.id = 2, .name = "channel", .type = {.id = TL_TYPE_DOUBLE}},
    {.id = 3, .required = true, .name = "time", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    {.id = 4, .name = "_ingest_ts", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
};
static const tl_schema schema = {.n_fields = N_FIELDS, .fields = fields};

static const char *const names[] = {NULL, "", "a", "b", "machine-007"};
#define N_NAMES 5
static double channels[5]; /* [0] = null */
#define N_CHANNELS 5

typedef struct row {
    int name, channel;
    int64_t time, ingest; /* NO_INGEST = null */
    bool deleted;
} row;

typedef struct file {
    row rows[ROWS_MOST];
    int n;
    bool exists;
} file;

typedef struct world {
    tl_store *store;
    tl_table *table;
    tl_live_file live[FILES_MOST];
    file files[FILES_MOST];
    int n;
    tl_arena arena;
} world;

static void open_world(world *w) {
    tl_error err = {{0}};
    *w = (world){0};
    channels[1] = (double)NAN;
    channels[2] = -0.0;
    channels[3] = 0.0;
    channels[4] = 1.5;
    static int worlds; /* memory stores of one name are one store */
    char name[40];
    (void)snprintf(name, sizeof name, "memory://older-%d", worlds++);
    okay(tl_store_open(name, true, tl_env_default(), &w->store, &err), &err);
    const char *key[] = {"name", "channel"};
    const tl_create_options o = {.schema = &schema,
                                 .time_column = "time",
                                 .series_key = key,
                                 .n_series_key = 2,
                                 .ingest_column = "_ingest_ts",
                                 .chunk = "day",
                                 .dedup = 1};
    okay(tl_table_create(w->store, "default", "t", &o, &w->table, &err), &err);
}

static void close_world(world *w) {
    tl_table_release(w->table);
    tl_store_close(w->store);
    tl_arena_free(&w->arena);
    tl_read_forget();
}

/* ---- a Parquet file ---- */

typedef struct shape {
    int group_rows;
    tl_pq_encoding encodings[N_FIELDS];
    bool no_ingest; /* the file lacks the column */
    bool no_stats;  /* its manifest entry has no bounds */
} shape;

static const tl_pq_schema_element elements[1 + N_FIELDS] = {
    {.name = "schema", .n_children = N_FIELDS, .field_id = -1},
    {.name = "name",
     .is_leaf = true,
     .type = TL_PQ_BYTE_ARRAY,
     .repetition = TL_PQ_OPTIONAL,
     .field_id = 1,
     .logical = TL_PQ_LOGICAL_STRING},
    {.name = "channel", .is_leaf = true, .type = TL_PQ_DOUBLE, .repetition = TL_PQ_OPTIONAL, .field_id = 2},
    {.name = "time",
     .is_leaf = true,
     .type = TL_PQ_INT64,
     .repetition = TL_PQ_REQUIRED,
     .field_id = 3,
     .logical = TL_PQ_LOGICAL_TIMESTAMP,
     .unit = TL_PQ_MICROS,
     .utc = true},
    {.name = "_ingest_ts",
     .is_leaf = true,
     .type = TL_PQ_INT64,
     .repetition = TL_PQ_OPTIONAL,
     .field_id = 4,
     .logical = TL_PQ_LOGICAL_TIMESTAMP,
     .unit = TL_PQ_MICROS,
     .utc = true},
};

static void encode(const row *rows, int n, int column, tl_pq_encoding encoding, tl_pq_chunk *out) {
    tl_error err = {{0}};
    tl_pq_leaf leaf = {.element = column + 1, .top = column, .max_def = column == TIME ? 0 : 1};
    tl_pq_column_options o = tl_pq_column_options_of(&elements[column + 1], &leaf);
    o.encoding = encoding;
    o.page_rows = 7;
    uint8_t def[ROWS_MOST];
    tl_bytes texts[ROWS_MOST];
    double doubles[ROWS_MOST];
    int64_t numbers[ROWS_MOST];
    tl_pq_values v = {.n_levels = n, .def = column == TIME ? NULL : def};
    for (int i = 0; i < n; i++) {
        const row *r = &rows[i];
        bool here = column == NAME      ? r->name != 0
                    : column == CHANNEL ? r->channel != 0
                                        : column == TIME || r->ingest != NO_INGEST;
        def[i] = here;
        if (here) {
            texts[v.n_values] = tl_bytes_of(r->name ? names[r->name] : "");
            doubles[v.n_values] = channels[r->channel];
            numbers[v.n_values] = column == TIME ? r->time : r->ingest;
            v.n_values++;
        }
    }
    v.values = column == NAME ? (const void *)texts : column == CHANNEL ? (const void *)doubles : (const void *)numbers;
    tl_pq_column_writer *w;
    okay(tl_pq_column_writer_create(&o, &w, &err), &err);
    okay(tl_pq_column_writer_add(w, &v, &err), &err);
    okay(tl_pq_column_writer_finish(w, out, &err), &err);
    tl_pq_column_writer_free(w);
}

static void write_file(const file *f, const shape *s, tl_buf *out) {
    tl_error err = {{0}};
    tl_pq_schema_element tree[1 + N_FIELDS];
    memcpy(tree, elements, sizeof tree);
    int columns = s->no_ingest ? N_FIELDS - 1 : N_FIELDS;
    tree[0].n_children = columns;
    tl_pq_file_writer *w;
    okay(tl_pq_file_writer_create(&(tl_pq_file_options){.schema = tree, .n_schema = columns + 1}, tl_pq_sink_buf(out),
                                  &w, &err),
         &err);
    for (int from = 0; from < f->n; from += s->group_rows) {
        int n = f->n - from < s->group_rows ? f->n - from : s->group_rows;
        tl_pq_chunk chunks[N_FIELDS];
        for (int c = 0; c < columns; c++) {
            encode(f->rows + from, n, c, s->encodings[c], &chunks[c]);
        }
        okay(tl_pq_file_writer_add_row_group(w, chunks, columns, &err), &err);
        for (int c = 0; c < columns; c++) {
            tl_pq_chunk_free(&chunks[c]);
        }
    }
    okay(tl_pq_file_writer_finish(w, NULL, &err), &err);
    tl_pq_file_writer_free(w);
}

/* ---- its manifest entry ---- */

static tl_bytes keep(tl_arena *arena, const void *data, size_t n) {
    uint8_t *copy = tl_arena_alloc(arena, n + 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    return (tl_bytes){copy, n};
}

static void bounds_of_names(const file *f, tl_arena *arena, tl_column_stats *s) {
    const char *low = NULL, *high = NULL;
    for (int i = 0; i < f->n; i++) {
        const char *name = names[f->rows[i].name];
        s->nulls += name == NULL;
        low = name && (!low || strcmp(name, low) < 0) ? name : low;
        high = name && (!high || strcmp(name, high) > 0) ? name : high;
    }
    if (low) {
        s->lower = keep(arena, low, strlen(low));
        s->upper = keep(arena, high, strlen(high));
    }
}

static void bounds_of_channels(const file *f, tl_arena *arena, tl_column_stats *s) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int i = 0; i < f->n; i++) {
        double v = channels[f->rows[i].channel];
        bool null = f->rows[i].channel == 0;
        s->nulls += null;
        s->nans += !null && isnan(v);
        if (!null && !isnan(v)) {
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
    }
    low = low == 0 ? -0.0 : low;
    high = high == 0 ? 0.0 : high;
    if (low <= high) {
        s->lower = keep(arena, &low, 8);
        s->upper = keep(arena, &high, 8);
    }
}

static void bounds_of_times(const file *f, tl_arena *arena, tl_column_stats *s) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int i = 0; i < f->n; i++) {
        low = f->rows[i].time < low ? f->rows[i].time : low;
        high = f->rows[i].time > high ? f->rows[i].time : high;
    }
    s->lower = keep(arena, &low, 8);
    s->upper = keep(arena, &high, 8);
}

/* Puts file number i; `sorted` = it claims to be in order and free of copies of its own. */
static void put_file(world *w, int i, const shape *s, bool sorted, int64_t sequence, int32_t day) {
    tl_error err = {{0}};
    file *f = &w->files[i];
    tl_buf bytes = {0};
    write_file(f, s, &bytes);
    tl_live_file *l = &w->live[i];
    *l = (tl_live_file){.sequence_number = sequence, .file_sequence_number = sequence, .snapshot_id = 1000 + sequence};
    l->key = tl_arena_format(&w->arena, "default/t/data/f%02d-%llu.parquet", i, (unsigned long long)dice(UINT64_MAX));
    l->file.path = tl_arena_format(&w->arena, "%s/%s", w->store->root_uri, l->key);
    l->file.format = "PARQUET";
    l->file.spec_id = w->table->metadata.default_spec_id;
    l->file.partition = tl_arena_array(&w->arena, 1, sizeof *l->file.partition);
    l->file.partition[0].value = keep(&w->arena, &day, 4);
    l->file.n_partition = 1;
    l->file.record_count = f->n;
    l->file.file_size = (int64_t)bytes.len;
    l->file.sort_order_id = sorted ? w->table->metadata.default_sort_order_id : -1;
    l->file.n_split_offsets = dice(2) ? (f->n + s->group_rows - 1) / s->group_rows : 0;
    l->file.content_offset = l->file.content_size = -1;
    if (!s->no_stats) {
        tl_column_stats *stats = tl_arena_array(&w->arena, 3, sizeof *stats);
        for (int c = 0; c < 3; c++) {
            stats[c] = (tl_column_stats){.field_id = c + 1, .size = -1, .values = f->n, .nans = c == CHANNEL ? 0 : -1};
        }
        bounds_of_names(f, &w->arena, &stats[NAME]);
        bounds_of_channels(f, &w->arena, &stats[CHANNEL]);
        bounds_of_times(f, &w->arena, &stats[TIME]);
        l->file.columns = stats;
        l->file.n_columns = 3;
    }
    okay(tl_store_put(w->store, l->key, tl_buf_bytes(&bytes), TL_PUT_LATER, &err), &err);
    f->exists = true;
    tl_buf_free(&bytes);
}

/* ---- random files ---- */

static int compare_rows(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->name != y->name) {
        return x->name - y->name;
    }
    if (x->channel != y->channel) {
        return x->channel - y->channel;
    }
    return x->time < y->time ? -1 : x->time > y->time;
}

static bool same_key(const row *x, const row *y) {
    return x->name == y->name && x->channel == y->channel && x->time == y->time;
}

static void make_file(world *w, int i, int64_t sequence) {
    file *f = &w->files[i];
    int n = (int)dice(dice(4) ? 12 : ROWS_OFTEN), some_names = 1 + (int)dice(dice(3) ? N_NAMES : 2),
        times = dice(2) ? 20 : 400;
    int reported[N_NAMES] = {0}, stride = 1 + (int)dice(3);
    int first = dice(3) ? 0 : (int)dice(300), ingest_kind = (int)dice(4);
    bool foreign = dice(4) == 0, deletes = dice(6) == 0, even = dice(3) == 0;
    if (dice(14) == 0) { /* series that alternate over a long time are told apart otherwise */
        n = ROWS_LONG + (int)dice(ROWS_MOST - ROWS_LONG);
        foreign = dice(3) > 0;
        even = dice(3) > 0;
    }
    int32_t day = (int32_t)dice(2);
    *f = (file){0};
    if (i > 0 && dice(5) == 0) { /* the same rows again */
        *f = w->files[i - 1];
        tl_bytes partition = w->live[i - 1].file.partition[0].value;
        day = tl_load_i32(partition.data) - 20000;
        foreign = w->live[i - 1].file.sort_order_id < 0;
    } else {
        for (int r = 0; r <= n && r < ROWS_MOST; r++) {
            row *x = &f->rows[f->n++];
            *x = (row){.name = (int)dice((uint64_t)some_names), .channel = dice(2) ? 4 : (int)dice(N_CHANNELS)};
            int64_t at = (int64_t)dice((uint64_t)times);
            if (even) { /* every so often, but for a few */
                x->channel = dice(20) ? 4 : x->channel;
                at = dice(15) ? (int64_t)reported[x->name]++ * stride : at;
            }
            x->time = BASE + day * DAY + (first + at) * 1000;
        }
    }
    for (int r = 0; r < f->n; r++) {
        row *x = &f->rows[r];
        x->ingest = ingest_kind == 0 ? 5000 : ingest_kind == 1 ? sequence * 10 : (int64_t)dice(4) + 5000;
        x->ingest = ingest_kind == 2 && dice(4) == 0 ? NO_INGEST : x->ingest;
        x->deleted = deletes && dice(4) == 0;
    }
    shape s = {.group_rows = dice(2) ? ROWS_MOST : 1 + (int)dice(n > ROWS_OFTEN ? 400 : 20),
               .no_stats = dice(8) == 0,
               .no_ingest = dice(8) == 0};
    for (int c = 0; c < N_FIELDS; c++) {
        s.encodings[c] = dice(2)                    ? TL_PQ_PLAIN
                         : c == TIME || c == INGEST ? TL_PQ_DELTA_BINARY_PACKED
                                                    : TL_PQ_RLE_DICTIONARY;
    }
    for (int r = 0; r < f->n && s.no_ingest; r++) {
        f->rows[r].ingest = NO_INGEST;
    }
    if (!foreign) {
        qsort(f->rows, (size_t)f->n, sizeof *f->rows, compare_rows);
        int kept = 0;
        for (int r = 0; r < f->n; r++) {
            if (kept == 0 || !same_key(&f->rows[kept - 1], &f->rows[r])) {
                f->rows[kept++] = f->rows[r];
            }
        }
        f->n = kept;
    }
    put_file(w, i, &s, !foreign, sequence, day + 20000);
}

/* ---- the model ---- */

static bool is_later(const world *w, int i, int r, int j, int s) {
    const row *x = &w->files[i].rows[r], *y = &w->files[j].rows[s];
    if (x->ingest != y->ingest) {
        return x->ingest > y->ingest;
    }
    return i != j ? i > j : r > s; /* files stand in (sequence number, path) order */
}

static bool model_hidden(const world *w, int i, int r) {
    const row *x = &w->files[i].rows[r];
    bool hidden = x->deleted;
    for (int j = 0; j < w->n && !hidden; j++) {
        for (int s = 0; s < w->files[j].n && !hidden; s++) {
            const row *y = &w->files[j].rows[s];
            hidden = !y->deleted && same_key(x, y) && is_later(w, j, s, i, r);
        }
    }
    return hidden;
}

/* ---- a plan of the world's files ---- */

static tl_plan *make_plan(world *w, const tl_plan_options *options) {
    tl_error err = {{0}};
    tl_plan *p = tl_calloc(1, sizeof *p);
    p->table = tl_table_retain(w->table);
    p->references = 1;
    p->files.n_data = w->n;
    p->files.data = tl_arena_array(&p->files.arena, (size_t)w->n, sizeof *p->files.data);
    p->scan = tl_arena_array(&p->arena, (size_t)w->n, sizeof *p->scan);
    memcpy(p->files.data, w->live, (size_t)w->n * sizeof *w->live);
    for (int i = w->n; i-- > 0;) {
        bool wanted;
        okay(tl_file_may_match(w->table, &schema, &p->files.data[i], options, &wanted, &err), &err);
        if (!wanted) {
            continue;
        }
        tl_plan_file *s = &p->scan[p->n_scan++];
        *s = (tl_plan_file){.file = &p->files.data[i]};
        for (int r = 0; r < w->files[i].n; r++) {
            if (w->files[i].rows[r].deleted) {
                okay(tl_plan_hide(s, r, &err), &err);
            }
        }
    }
    return p;
}

static bool row_wanted(const row *x, const tl_plan_options *o) {
    if (o->has_time && (x->time < o->from_us || x->time >= o->to_us)) {
        return false;
    }
    for (int k = 0; k < o->n_keys; k++) {
        const char *name = names[x->name];
        tl_bytes v = o->keys[k].value;
        if (!v.data != !name || (name && !tl_bytes_equal(v, tl_bytes_of(name)))) {
            return false;
        }
    }
    return true;
}

static void check_plan(const world *w, const tl_plan *p, const tl_plan_options *o, const char *what) {
    for (int64_t k = 0; k < p->n_scan; k++) {
        int i = (int)(p->scan[k].file - p->files.data), set = 0;
        for (int r = 0; r < w->files[i].n; r++) {
            bool hidden = p->scan[k].hidden && tl_bit(p->scan[k].hidden, r);
            set += hidden;
            if (row_wanted(&w->files[i].rows[r], o) && hidden != model_hidden(w, i, r)) {
                fail_msg("%s: file %d, row %d is %s", what, i, r, hidden ? "hidden" : "seen");
            }
        }
        assert_int_equal(set, p->scan[k].n_hidden);
    }
}

static void check_cached(world *w, const tl_plan_options *o, const char *what) {
    tl_error err = {{0}};
    tl_plan *p = make_plan(w, o);
    okay(tl_plan_hide_older(p, &schema, o, &err), &err);
    check_plan(w, p, o, what);
    tl_plan_release(p);
}

static void check_all(world *w, tl_pool *pool) {
    tl_error err = {{0}};
    const tl_plan_options all = {.pool = pool};
    tl_plan *p = make_plan(w, &all);
    okay(tl_plan_hide_older_of(p, &schema, pool, &err), &err);
    check_plan(w, p, &all, "not cached");
    tl_plan_release(p);
    int name = (int)dice(N_NAMES);
    tl_key_filter key = {NAME, names[name] ? tl_bytes_of(names[name]) : (tl_bytes){NULL, 0}};
    int64_t from = BASE + (int64_t)dice(2) * DAY + (int64_t)dice(300) * 1000;
    const tl_plan_options by_key = {.keys = &key, .n_keys = 1, .pool = pool};
    const tl_plan_options by_time = {.has_time = true, .from_us = from, .to_us = from + (int64_t)dice(100) * 1000};
    check_cached(w, &by_key, "one series, nothing known");
    check_cached(w, &by_time, "a window, nothing known");
    check_cached(w, &all, "all");
    check_cached(w, &all, "all, known");
    check_cached(w, &by_key, "one series, known");
    check_cached(w, &by_time, "a window, known");
}

static void hidden_rows_are_those_of_a_plain_model(void **state) {
    (void)state;
    const char *text = getenv("TL_SEED"), *more = getenv("TL_CASES");
    dice_state = text ? strtoull(text, NULL, 10) : 20261130;
    print_message("seed %llu\n", (unsigned long long)dice_state);
    tl_error err = {{0}};
    tl_pool *pool = NULL;
    okay(tl_pool_create(3, &pool, &err), &err);
    int cases = more ? atoi(more) : 150;
    for (int k = 0; k < cases; k++) {
        uint64_t seed = dice_state;
        world w;
        open_world(&w);
        if (dice(2)) {
            tl_older_set_limits(1 + (int64_t)dice(100), 1 + (int64_t)dice(60));
        }
        int n = 1 + (int)dice(FILES_MOST - 1);
        for (int i = 0; i < n; i++) {
            make_file(&w, i, 1 + i / 2);
            w.n = i + 1;
            if (dice(4) == 0) { /* known up to here, then more files come */
                check_cached(&w, &(tl_plan_options){0}, "step by step");
            }
        }
        check_all(&w, dice(2) ? pool : NULL);
        if (w.n > 1) { /* a file is gone (rollback, compaction, retention) */
            w.n--;
            check_cached(&w, &(tl_plan_options){0}, "a file less");
        }
        close_world(&w);
        tl_older_set_limits(0, 0);
        if (k % 50 == 49) {
            print_message("%d cases, now at seed %llu\n", k + 1, (unsigned long long)seed);
        }
    }
    tl_pool_free(pool);
}

/* Sensors that report every so often, each file in steps of its own, with gaps and late rows: rows of up to two series,
 * one insertion time. */
static void make_even_file(world *w, int i, int64_t sequence) {
    file *f = &w->files[i];
    *f = (file){0};
    int64_t ingest = dice(3) ? sequence * 10 : 50;
    int n_series = 1 + (int)dice(2), rows = 20 + (int)dice(120);
    for (int k = 0; k < n_series; k++) {
        int64_t at = (int64_t)dice(200), stride = 1 + (int64_t)dice(4);
        for (int r = 0; r < rows && f->n < ROWS_MOST; r++) {
            f->rows[f->n++] = (row){.name = 2 + k, .channel = 4, .time = BASE + at * 1000, .ingest = ingest};
            at += dice(25) ? stride : 1 + (int64_t)dice(60);
        }
    }
    shape s = {.group_rows = dice(3) ? ROWS_MOST : 90, .encodings = {[TIME] = TL_PQ_DELTA_BINARY_PACKED}};
    put_file(w, i, &s, true, sequence, 20000);
}

static void steps_of_any_length_meet(void **state) {
    (void)state;
    dice_state = 5;
    for (int k = 0; k < 120; k++) {
        world w;
        open_world(&w);
        for (int i = 0; i < 2 + (int)dice(8); i++) {
            make_even_file(&w, i, i + 1);
            w.n = i + 1;
        }
        check_all(&w, NULL);
        close_world(&w);
    }
}

/* ---- files that are not opened ---- */

/* A sorted file of n rows of series "a", from `first` on; the object is removed when `gone`. */
static void simple_file(world *w, int i, int64_t sequence, int first, int n, bool gone) {
    tl_error err = {{0}};
    file *f = &w->files[i];
    *f = (file){.n = n};
    for (int r = 0; r < n; r++) {
        f->rows[r] = (row){.name = 2, .channel = 4, .time = BASE + (first + r) * 1000, .ingest = sequence};
    }
    put_file(w, i, &(shape){.group_rows = ROWS_MOST}, true, sequence, 20000);
    w->n = i + 1;
    if (gone) {
        okay(tl_store_remove(w->store, w->live[i].key, &err), &err);
    }
}

static void files_that_do_not_overlap_are_not_opened(void **state) {
    (void)state;
    world w;
    open_world(&w);
    for (int i = 0; i < 5; i++) {
        simple_file(&w, i, i + 1, i * 10, 10, true);
    }
    check_cached(&w, &(tl_plan_options){0}, "disjoint");
    close_world(&w);
}

static void expect_failure(world *w, tl_status status, const char *named) {
    tl_error err = {{0}};
    tl_plan *p = make_plan(w, &(tl_plan_options){0});
    assert_int_equal(tl_plan_hide_older(p, &schema, &(tl_plan_options){0}, &err), status);
    if (!strstr(err.message, named)) {
        fail_msg("%s is not in: %s", named, err.message);
    }
    tl_plan_release(p);
}

static void a_missing_file_is_an_error_that_names_it(void **state) {
    (void)state;
    world w;
    open_world(&w);
    simple_file(&w, 0, 1, 0, 10, false);
    simple_file(&w, 1, 2, 5, 10, true);
    expect_failure(&w, TL_NOT_FOUND, w.live[1].file.path);
    close_world(&w);
}

static void a_file_cut_short_is_an_error_that_names_it(void **state) {
    (void)state;
    tl_error err = {{0}};
    world w;
    open_world(&w);
    simple_file(&w, 0, 1, 0, 10, false);
    simple_file(&w, 1, 2, 5, 10, false);
    tl_buf bytes = {0};
    okay(tl_store_get(w.store, w.live[1].key, &bytes, &err), &err);
    bytes.len -= 9;
    okay(tl_store_put(w.store, w.live[1].key, tl_buf_bytes(&bytes), TL_PUT_LATER, &err), &err);
    expect_failure(&w, TL_CORRUPT, w.live[1].file.path);
    w.live[1].file.file_size -= 9; /* even when the manifest believes it */
    expect_failure(&w, TL_CORRUPT, w.live[1].file.path);
    tl_buf_free(&bytes);
    close_world(&w);
}

/* The table with a snapshot that says which files of it are newer than all before. */
static void say_newer(world *w, int64_t sequence, const char *operation, const char *newer) {
    tl_error err = {{0}};
    tl_metadata m;
    okay(tl_metadata_copy(&w->table->metadata, &m, &err), &err);
    tl_property summary[] = {{"operation", operation}, {"timelake.newer-files", newer}};
    const tl_snapshot s = {.snapshot_id = 1000 + sequence,
                           .parent_id = -1,
                           .sequence_number = sequence,
                           .timestamp_ms = 1,
                           .manifest_list = "memory://older/default/t/metadata/none.avro",
                           .schema_id = 0,
                           .summary = summary,
                           .n_summary = newer ? 2 : 1};
    okay(tl_metadata_add_snapshot(&m, &s, &err), &err);
    tl_table *next = NULL;
    okay(tl_table_of(w->store, "default", "t", w->table->version + 1, "default/t/metadata/v9.metadata.json", &m, &next,
                     &err),
         &err);
    tl_table_release(w->table);
    w->table = next;
}

/* Two files that overlap by their bounds; only the second's mark can keep them from being opened. */
static void mark_case(const char *operation, const char *newer, bool rewritten, bool opened) {
    tl_error err = {{0}};
    world w;
    open_world(&w);
    simple_file(&w, 0, 1, 0, 10, true);
    simple_file(&w, 1, 2, 5, 10, true);
    const char *slash = strrchr(w.live[1].key, '/') + 1;
    char list[200];
    (void)snprintf(list, sizeof list, "other.parquet,%s", slash);
    if (newer) {
        say_newer(&w, 2, operation, strcmp(newer, "name") == 0 ? list : newer);
    }
    w.live[1].file_sequence_number += rewritten;
    tl_plan *p = make_plan(&w, &(tl_plan_options){0});
    assert_int_equal(tl_plan_hide_older(p, &schema, &(tl_plan_options){0}, &err), opened ? TL_NOT_FOUND : TL_OK);
    tl_plan_release(p);
    close_world(&w);
}

static void a_file_newer_than_all_before_is_not_compared_with_them(void **state) {
    (void)state;
    mark_case("append", "all", false, false);
    mark_case("append", "name", false, false);
}

static void marks_that_do_not_hold_are_not_believed(void **state) {
    (void)state;
    mark_case("append", "other.parquet", false, true); /* not this file */
    mark_case("replace", "all", false, true);          /* copied by another writer to a commit of another kind */
    mark_case(NULL, NULL, false, true);                /* the snapshot has expired */
    mark_case("append", "all", true, true);            /* the file was rewritten since */
}

static void a_later_file_is_compared_with_newer_ones(void **state) {
    (void)state;
    world w;
    open_world(&w);
    simple_file(&w, 0, 1, 0, 10, false);
    simple_file(&w, 1, 2, 10, 10, false);
    simple_file(&w, 2, 3, 15, 10, false);
    say_newer(&w, 2, "append", "all");
    check_cached(&w, &(tl_plan_options){0}, "late");
    close_world(&w);
}

static void a_cheap_plan_does_not_read_what_the_table_holds(void **state) {
    (void)state;
    const tl_plan_options cheap = {.cheap = true};
    tl_error err = {{0}};
    world w;
    open_world(&w);
    simple_file(&w, 0, 1, 0, 10, false);
    simple_file(&w, 1, 2, 5, 10, false);
    check_cached(&w, &cheap, "few rows"); /* both are known now */
    simple_file(&w, 2, 3, 8, 10, false);
    check_cached(&w, &cheap, "few rows more");
    simple_file(&w, 3, 4, 9, 10, true);
    w.live[3].file.record_count = INT64_C(5) << 20; /* an import */
    tl_plan *p = make_plan(&w, &cheap);
    assert_int_equal(tl_plan_hide_older(p, &schema, &cheap, &err), TL_UNSUPPORTED);
    tl_plan_release(p);
    close_world(&w);
}

/* ---- many files ---- */

static void thousands_of_files_of_a_partition_are_told_apart(void **state) {
    (void)state;
    tl_error err = {{0}};
    world w;
    open_world(&w);
    simple_file(&w, 0, 1, 0, 10, true);
    enum { MANY = 3000 };
    tl_plan *p = tl_calloc(1, sizeof *p);
    p->table = tl_table_retain(w.table);
    p->references = 1;
    p->files.n_data = MANY;
    p->files.data = tl_arena_array(&p->files.arena, MANY, sizeof *p->files.data);
    p->scan = tl_arena_array(&p->arena, MANY, sizeof *p->scan);
    for (int i = 0; i < MANY; i++) { /* all of one time, each of a series of its own */
        tl_live_file *l = &p->files.data[i];
        *l = w.live[0];
        tl_column_stats *stats = tl_arena_array(&p->arena, 3, sizeof *stats);
        memcpy(stats, w.live[0].file.columns, 3 * sizeof *stats);
        char name[16];
        (void)snprintf(name, sizeof name, "s%05d", i * 7 % MANY);
        stats[NAME].lower = stats[NAME].upper = keep(&p->arena, name, 6);
        l->file.columns = stats;
        p->scan[p->n_scan++] = (tl_plan_file){.file = l};
    }
    okay(tl_plan_hide_older(p, &schema, &(tl_plan_options){0}, &err), &err);
    tl_plan_release(p);
    close_world(&w);
}

/* ---- memory ---- */

static void any_allocation_may_fail(void **state) {
    (void)state;
    dice_state = 7;
    world w;
    open_world(&w);
    for (int i = 0; i < 4; i++) {
        make_file(&w, i, i + 1);
        w.n = i + 1;
    }
    tl_plan_options o = {0};
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        tl_read_forget();
        tl_plan *p = make_plan(&w, &o);
        tl_error err = {{0}};
        (void)tl_mem_fail_at(n);
        tl_status status = tl_plan_hide_older(p, &schema, &o, &err);
        done = tl_mem_fail_at(0) < n;
        assert_true(status == TL_OK || status == TL_NO_MEMORY);
        if (status == TL_OK) {
            check_plan(&w, p, &o, "after a failed allocation");
        }
        tl_plan_release(p);
    }
    close_world(&w);
}

/* ---- the cache ---- */

static void the_cache_is_bounded_and_forgets_the_oldest(void **state) {
    (void)state;
    tl_read_forget();
    enum { PARTS = 24 };
    for (uint64_t i = 0; i < PARTS; i++) { /* 8 MB each: 64 MB are kept */
        tl_known_part *p = tl_known_part_create((tl_file_id){1, 2}, i, 1);
        p->files[0] = (tl_known_file){{i, i}, tl_bitmap_create((int64_t)8 << 23)};
        tl_known_part_seal(p);
        tl_older_cache_put(p);
        tl_known_part_release(p);
    }
    int found = 0;
    for (uint64_t i = 0; i < PARTS; i++) {
        tl_known_part *p = tl_older_cache_get((tl_file_id){1, 2}, i);
        found += p != NULL;
        assert_true(!p ||
                    (tl_known_part_find(p, (tl_file_id){i, i}) && !tl_known_part_find(p, (tl_file_id){i, i + 1})));
        assert_true(!p || i >= PARTS - 8);
        tl_known_part_release(p);
    }
    assert_int_equal(found, 7); /* the eighth would take some bytes more than there are */
    assert_null(tl_older_cache_get((tl_file_id){1, 3}, PARTS - 1));
    tl_read_forget();
    assert_null(tl_older_cache_get((tl_file_id){1, 2}, PARTS - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_rows_are_those_of_a_plain_model),
        cmocka_unit_test(steps_of_any_length_meet),
        cmocka_unit_test(files_that_do_not_overlap_are_not_opened),
        cmocka_unit_test(a_missing_file_is_an_error_that_names_it),
        cmocka_unit_test(a_file_cut_short_is_an_error_that_names_it),
        cmocka_unit_test(a_file_newer_than_all_before_is_not_compared_with_them),
        cmocka_unit_test(marks_that_do_not_hold_are_not_believed),
        cmocka_unit_test(a_later_file_is_compared_with_newer_ones),
        cmocka_unit_test(a_cheap_plan_does_not_read_what_the_table_holds),
        cmocka_unit_test(thousands_of_files_of_a_partition_are_told_apart),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(the_cache_is_bounded_and_forgets_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
