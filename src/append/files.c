/* See files_internal.h. */
#include "append/files_internal.h"

#include <stdatomic.h>

#include "append/workspace_internal.h"
#include "base/mem.h"
#include "iceberg/file_stats.h"
#include "iceberg/parquet_schema.h"
#include "table/settings.h"

#define BACKLOG_BYTES ((size_t)64 << 20) /* finished row groups that may wait for a slow store, about */

typedef struct tl_open_file {
    tl_stager *s;
    int32_t value;   /* of the partition */
    uint32_t part;   /* its number in the append */
    uint32_t number; /* of files of this partition before this one */
    char *key;
    tl_object_writer *object;
    tl_pq_file_writer *writer;
    tl_buf starts; /* tl_series_start each, by series number */
} tl_open_file;

/* A row group of the wave. */
typedef struct wave_group {
    tl_pq_chunk *chunks;  /* per leaf */
    _Atomic int32_t left; /* columns not yet encoded */
    size_t bytes;
    bool ready;
} wave_group;

/* A partition of the wave. */
typedef struct wave_part {
    uint32_t next, end; /* row groups to write */
    char *key;          /* prepared name of its first file, in the stager's arena */
    tl_open_file *file;
    bool busy;  /* a worker is writing */
    tl_lock io; /* held by that worker */
} wave_part;

typedef struct wave {
    tl_stager *s;
    const tl_sources *sources;
    const tl_sorted *sorted;
    const tl_layout *layout;
    bool more;
    wave_group *groups;
    wave_part *parts;
    size_t backlog; /* under the lock */
} wave;

/* ---- set-up ---- */

/* Sorting columns: series key, then time. All of them are flat, but nested columns before them have several leaves. */
static tl_status sorting_columns(tl_stager *s, const tl_leaves *leaves, tl_error *err) {
    const tl_contract *c = &s->table->contract;
    if (c->time < 0) {
        return TL_OK;
    }
    s->sorting = tl_calloc((size_t)c->n_series + 1, sizeof *s->sorting);
    if (!s->sorting) {
        return tl_fail_memory(err, ((size_t)c->n_series + 1) * sizeof *s->sorting);
    }
    for (int32_t k = 0; k < c->n_series; k++) {
        s->sorting[s->n_sorting++] = (tl_pq_sorting_column){leaves->first_leaf[c->series[k]], false, true};
    }
    s->sorting[s->n_sorting++] = (tl_pq_sorting_column){leaves->first_leaf[c->time], false, true};
    return TL_OK;
}

tl_status tl_stager_init(tl_stager *s, tl_table *table, const tl_encoder *encoder, tl_pool *pool,
                         tl_append_workspace *workspace, tl_error *err) {
    *s = (tl_stager){.table = table, .encoder = encoder, .pool = pool, .workspace = workspace};
    tl_lock_init(&s->lock);
    s->target_bytes = tl_setting_int(&table->metadata, "target-file-size-bytes");
    s->sorted = table->contract.time >= 0;
    s->workers = tl_pool_threads(pool);
    s->scratch = tl_workspace_take(workspace, s->workers);
    if (!s->scratch) {
        return tl_fail_memory(err, s->workers * sizeof *s->scratch);
    }
    return sorting_columns(s, encoder->leaves, err);
}

static void drop_file(tl_stager *s, tl_open_file *f) {
    if (!f) {
        return;
    }
    tl_pq_file_writer_free(f->writer);
    if (f->object) {
        tl_object_writer_abort(s->table->store, f->object);
    }
    tl_buf_free(&f->starts);
    tl_free(f);
}

void tl_stager_free(tl_stager *s, bool remove) {
    drop_file(s, s->carried);
    for (int32_t i = 0; remove && i < s->list.n; i++) {
        tl_remove_quietly(s->table->store, s->list.keys[i]);
    }
    tl_workspace_give(s->workspace, s->scratch, s->workers);
    tl_free(s->sorting);
    tl_free(s->list.files);
    tl_free(s->list.keys);
    tl_free(s->list.order);
    tl_free(s->list.starts);
    tl_free(s->list.n_starts);
    tl_arena_free(&s->arena);
    tl_lock_free(&s->lock);
    *s = (tl_stager){0};
}

/* ---- one file ---- */

/* <prefix>/data/<time>_<chunk>=<label>/<uuid7>.parquet; plain tables have no folder. */
static char *new_key(tl_stager *s, int32_t value) {
    const tl_table *t = s->table;
    const tl_partition_spec *spec = tl_metadata_spec(&t->metadata);
    char uuid[TL_UUID_TEXT], label[32];
    tl_uuid7(t->store->env, uuid);
    if (t->contract.time < 0 || !spec || spec->n_fields == 0) {
        return tl_arena_format(&s->arena, "%s/data/%s.parquet", t->prefix, uuid);
    }
    tl_transform_time_label(t->contract.chunk, value, label);
    return tl_arena_format(&s->arena, "%s/data/%s=%s/%s.parquet", t->prefix, spec->fields[0].name, label, uuid);
}

static tl_status write_object(void *ctx, const void *data, size_t len, tl_error *err) {
    tl_open_file *f = ctx;
    return tl_object_writer_write(f->s->table->store, f->object, (tl_bytes){data, len}, err);
}

/* Opens the partition's next file; `key` NULL = make one. */
static tl_status open_file(tl_stager *s, int32_t value, uint32_t part, uint32_t number, char *key, tl_open_file **out,
                           tl_error *err) {
    if (!key) {
        tl_lock_take(&s->lock);
        key = new_key(s, value);
        tl_lock_give(&s->lock);
    }
    tl_open_file *f = tl_calloc(1, sizeof *f);
    if (!key || !f) {
        tl_free(f);
        return tl_fail_memory(err, sizeof *f);
    }
    *f = (tl_open_file){.s = s, .value = value, .part = part, .number = number, .key = key};
    tl_status status = tl_store_open_writer(s->table->store, key, TL_PUT_LATER, &f->object, err);
    if (status == TL_OK) {
        tl_pq_file_options options = {.schema = s->encoder->leaves->schema,
                                      .n_schema = s->encoder->leaves->n_schema,
                                      .sorting = s->sorting,
                                      .n_sorting = s->n_sorting};
        status = tl_pq_file_writer_create(&options, (tl_pq_sink){write_object, f}, &f->writer, err);
    }
    if (status != TL_OK) {
        drop_file(s, f);
        return status;
    }
    *out = f;
    return TL_OK;
}

static tl_status grow_list(tl_staged_list *l, tl_error *err) {
    int32_t cap = l->cap ? l->cap * 2 : 16;
    tl_data_file *files = tl_realloc_array(l->files, (size_t)cap, sizeof *files);
    l->files = files ? files : l->files;
    char **keys = tl_realloc_array(l->keys, (size_t)cap, sizeof *keys);
    l->keys = keys ? keys : l->keys;
    uint64_t *order = tl_realloc_array(l->order, (size_t)cap, sizeof *order);
    l->order = order ? order : l->order;
    tl_series_start **starts = tl_realloc_array(l->starts, (size_t)cap, sizeof *starts);
    l->starts = starts ? starts : l->starts;
    int64_t *n_starts = tl_realloc_array(l->n_starts, (size_t)cap, sizeof *n_starts);
    l->n_starts = n_starts ? n_starts : l->n_starts;
    if (!files || !keys || !order || !starts || !n_starts) {
        return tl_fail_memory(err, (size_t)cap * sizeof *files);
    }
    l->cap = cap;
    return TL_OK;
}

/* Bounds ignore null and NaN keys, so a reader would think that two such files share no key: leave those bounds out
 * (spec a.7, i.1). */
static void drop_key_bounds(const tl_stager *s, tl_data_file *file) {
    const tl_contract *c = &s->table->contract;
    const tl_schema *schema = tl_metadata_schema(&s->table->metadata);
    for (int32_t k = 0; k < c->n_series; k++) {
        int32_t id = schema->fields[c->series[k]].id;
        for (int32_t i = 0; i < file->n_columns; i++) {
            tl_column_stats *stats = &file->columns[i];
            if (stats->field_id == id && (stats->nulls > 0 || stats->nans > 0)) {
                stats->lower = stats->upper = (tl_bytes){0};
            }
        }
    }
}

/* The manifest entry's file; everything in the stager's arena. Called under the lock. */
static tl_status describe_file(tl_stager *s, const tl_open_file *f, const tl_pq_file_meta *meta, int64_t size,
                               tl_data_file *out, tl_error *err) {
    const tl_metadata *m = &s->table->metadata;
    const tl_partition_spec *spec = tl_metadata_spec(m);
    TL_TRY(tl_file_stats(tl_metadata_schema(m), meta, &s->arena, out, err));
    char *uri = tl_store_uri(s->table->store, f->key);
    out->path = uri ? tl_arena_strdup(&s->arena, uri) : NULL;
    tl_free(uri);
    out->content = TL_CONTENT_DATA;
    out->format = "PARQUET";
    out->spec_id = m->default_spec_id;
    out->file_size = size;
    out->sort_order_id = s->sorted && m->default_sort_order_id > 0 ? m->default_sort_order_id : -1;
    out->content_offset = out->content_size = -1;
    out->n_partition = s->table->contract.time >= 0 && spec ? spec->n_fields : 0;
    out->partition = tl_arena_array(&s->arena, (size_t)out->n_partition, sizeof *out->partition);
    uint8_t *value = tl_arena_copy(&s->arena, &f->value, sizeof f->value);
    if (!out->path || !out->partition || !value) {
        return tl_fail_memory(err, 256);
    }
    if (out->n_partition) {
        out->partition[0].value = (tl_bytes){value, sizeof f->value};
    }
    drop_key_bounds(s, out);
    return TL_OK;
}

/* Ends a file: indexes and footer, and an entry in the list. Takes the file. */
static tl_status finish_file(tl_stager *s, tl_open_file *f, tl_error *err) {
    tl_pq_file_meta meta = {0};
    tl_status status = tl_pq_file_writer_finish(f->writer, &meta, err);
    int64_t size = tl_pq_file_writer_bytes(f->writer);
    tl_lock_take(&s->lock);
    tl_data_file file = {0};
    tl_series_start *starts = NULL;
    if (status == TL_OK) {
        status = describe_file(s, f, &meta, size, &file, err);
    }
    if (status == TL_OK && s->sorted) {
        starts = tl_arena_copy(&s->arena, f->starts.data, f->starts.len);
        status = starts ? TL_OK : tl_fail_memory(err, f->starts.len);
    }
    tl_lock_give(&s->lock);
    tl_pq_file_meta_free(&meta);
    if (status == TL_OK) {
        tl_object_writer *object = f->object;
        f->object = NULL;
        status = tl_object_writer_finish(s->table->store, object, err);
    }
    if (status == TL_OK) {
        tl_lock_take(&s->lock);
        if (s->list.n == s->list.cap) {
            status = grow_list(&s->list, err);
        }
        if (status == TL_OK) {
            s->list.files[s->list.n] = file;
            s->list.starts[s->list.n] = starts;
            s->list.n_starts[s->list.n] = (int64_t)(f->starts.len / sizeof *starts);
            s->list.keys[s->list.n] = f->key;
            s->list.order[s->list.n++] = (uint64_t)f->part << 32 | f->number;
            s->rows += file.record_count;
            s->bytes += size;
        } else {
            tl_remove_quietly(s->table->store, f->key);
        }
        tl_lock_give(&s->lock);
    }
    drop_file(s, f);
    return status;
}

/* ---- writing what is ready ---- */

/* Notes the series of a row group that the file did not have yet. Series come in key order, so only the last can. */
static tl_status note_starts(const wave *w, tl_open_file *f, const tl_row_group_plan *plan, tl_error *err) {
    const tl_sorted *sorted = w->sorted;
    for (uint32_t i = plan->span_from; sorted->spans && i < plan->span_from + plan->n_spans; i++) {
        const tl_span *span = &sorted->spans[i];
        uint32_t from = span->from > plan->from ? span->from : plan->from;
        tl_series_start start = {span->series, sorted->times[from]};
        const tl_series_start *known = (const tl_series_start *)(const void *)f->starts.data;
        size_t n = f->starts.len / sizeof *known;
        bool there = n > 0 && known[n - 1].series == start.series;
        if (!there && tl_buf_add(&f->starts, &start, sizeof start) != TL_OK) {
            return tl_fail_memory(err, f->starts.len);
        }
    }
    return TL_OK;
}

static tl_status write_group(wave *w, wave_part *p, uint32_t g, uint32_t part, tl_error *err) {
    tl_stager *s = w->s;
    wave_group *group = &w->groups[g];
    if (!p->file) {
        TL_TRY(open_file(s, w->sorted->parts[part].value, s->parts_done + part, 0, p->key, &p->file, err));
    } else if (tl_pq_file_writer_bytes(p->file->writer) >= s->target_bytes) {
        tl_open_file *full = p->file;
        uint32_t number = full->number + 1;
        p->file = NULL;
        TL_TRY(finish_file(s, full, err));
        TL_TRY(open_file(s, w->sorted->parts[part].value, s->parts_done + part, number, NULL, &p->file, err));
    }
    TL_TRY(note_starts(w, p->file, &w->layout->groups[g], err));
    int32_t n_leaves = s->encoder->leaves->n_leaves;
    TL_TRY(tl_pq_file_writer_add_row_group(p->file->writer, group->chunks, n_leaves, err));
    for (int32_t i = 0; i < n_leaves; i++) {
        tl_pq_chunk_free(&group->chunks[i]);
    }
    tl_free(group->chunks);
    group->chunks = NULL;
    return TL_OK;
}

/* Writes the partition's row groups that are ready, in order; with the last one the file is done. */
static tl_status write_ready(wave *w, uint32_t part, tl_error *err) {
    tl_stager *s = w->s;
    wave_part *p = &w->parts[part];
    tl_lock_take(&p->io);
    tl_status status = TL_OK;
    for (;;) {
        tl_lock_take(&s->lock);
        bool go = status == TL_OK && p->next < p->end && w->groups[p->next].ready;
        if (!go) {
            p->busy = false;
            tl_lock_give(&s->lock);
            break;
        }
        uint32_t g = p->next++;
        w->backlog -= w->groups[g].bytes;
        tl_lock_give(&s->lock);
        status = write_group(w, p, g, part, err);
    }
    bool last = part + 1 == w->sorted->n_parts;
    if (status == TL_OK && p->next == p->end && p->file && !(last && w->more)) {
        tl_open_file *f = p->file;
        p->file = NULL;
        status = finish_file(s, f, err);
    }
    tl_lock_give(&p->io);
    return status;
}

/* All columns of row group `g` are encoded. */
static tl_status complete_group(wave *w, uint32_t g, tl_error *err) {
    tl_stager *s = w->s;
    uint32_t part = w->layout->groups[g].part;
    wave_part *p = &w->parts[part];
    size_t bytes = 0;
    for (int32_t i = 0; i < s->encoder->leaves->n_leaves; i++) {
        bytes += w->groups[g].chunks[i].bytes.len;
    }
    tl_lock_take(&s->lock);
    w->groups[g].bytes = bytes;
    w->groups[g].ready = true;
    w->backlog += bytes;
    bool mine = !p->busy && p->next == g;
    p->busy |= mine;
    bool wait = !mine && w->backlog > BACKLOG_BYTES && p->busy;
    tl_lock_give(&s->lock);
    if (mine) {
        return write_ready(w, part, err);
    }
    if (wait) { /* the store is slower than the encoders: let the one who writes catch up */
        tl_lock_take(&p->io);
        tl_lock_give(&p->io);
    }
    return TL_OK;
}

static tl_status encode_task(void *ctx, size_t i, unsigned worker, tl_error *err) {
    wave *w = ctx;
    tl_stager *s = w->s;
    const tl_leaves *leaves = s->encoder->leaves;
    size_t n_columns = (size_t)leaves->n_tops;
    uint32_t g = (uint32_t)(i / n_columns);
    int32_t column = (int32_t)(i % n_columns);
    const tl_row_group_plan *plan = &w->layout->groups[g];
    wave_group *group = &w->groups[g];
    tl_lock_take(&s->lock);
    if (!group->chunks) {
        group->chunks = tl_calloc((size_t)leaves->n_leaves, sizeof *group->chunks);
    }
    tl_pq_chunk *chunks = group->chunks;
    tl_lock_give(&s->lock);
    if (!chunks) {
        return tl_fail_memory(err, (size_t)leaves->n_leaves * sizeof *chunks);
    }
    tl_row_set set = {
        .sources = *w->sources,
        .rows = w->sorted->rows ? w->sorted->rows + plan->from : NULL,
        .first = plan->from,
        .times = w->sorted->times ? w->sorted->times + plan->from : NULL,
        .n = plan->n,
        .spans = w->sorted->spans ? w->sorted->spans + plan->span_from : NULL,
        .n_spans = plan->n_spans,
        .from = plan->from,
    };
    TL_TRY(tl_encode_column(s->encoder, column, &set, &s->scratch[worker], chunks + leaves->first_leaf[column], err));
    return atomic_fetch_sub(&group->left, 1) == 1 ? complete_group(w, g, err) : TL_OK;
}

/* ---- a wave ---- */

static tl_status begin_wave(wave *w, tl_error *err) {
    tl_stager *s = w->s;
    w->groups = tl_calloc(w->layout->n, sizeof *w->groups);
    w->parts = tl_calloc(w->sorted->n_parts, sizeof *w->parts);
    if (!w->groups || !w->parts) {
        return tl_fail_memory(err, w->layout->n * sizeof *w->groups);
    }
    for (uint32_t p = 0, g = 0; p < w->sorted->n_parts; p++) {
        wave_part *part = &w->parts[p];
        tl_lock_init(&part->io);
        part->next = g;
        for (; g < w->layout->n && w->layout->groups[g].part == p; g++) {
            atomic_init(&w->groups[g].left, s->encoder->leaves->n_tops);
        }
        part->end = g;
    }
    for (uint32_t p = 0; p < w->sorted->n_parts; p++) {
        int32_t value = w->sorted->parts[p].value;
        if (p == 0 && s->carried && s->carried->value == value) {
            w->parts[p].file = s->carried;
            s->carried = NULL;
            continue;
        }
        /* names are given out in order, whichever thread opens the file */
        w->parts[p].key = new_key(s, value);
        if (!w->parts[p].key) {
            return tl_fail_memory(err, 256);
        }
    }
    return TL_OK;
}

static void end_wave(wave *w) {
    tl_stager *s = w->s;
    for (uint32_t g = 0; w->groups && g < w->layout->n; g++) {
        for (int32_t i = 0; w->groups[g].chunks && i < s->encoder->leaves->n_leaves; i++) {
            tl_pq_chunk_free(&w->groups[g].chunks[i]);
        }
        tl_free(w->groups[g].chunks);
    }
    for (uint32_t p = 0; w->parts && p < w->sorted->n_parts; p++) {
        drop_file(s, w->parts[p].file);
        tl_lock_free(&w->parts[p].io);
    }
    tl_free(w->groups);
    tl_free(w->parts);
}

tl_status tl_stager_wave(tl_stager *s, const tl_sources *sources, const tl_sorted *sorted, const tl_layout *layout,
                         bool more, tl_error *err) {
    wave w = {.s = s, .sources = sources, .sorted = sorted, .layout = layout, .more = more};
    if (s->carried && (sorted->n_parts == 0 || s->carried->value != sorted->parts[0].value)) {
        tl_open_file *f = s->carried; /* its partition has ended after all */
        s->carried = NULL;
        TL_TRY(finish_file(s, f, err));
    }
    uint32_t continued = s->carried ? 1 : 0;
    s->parts_done -= continued;
    tl_status status = begin_wave(&w, err);
    if (status == TL_OK) {
        size_t tasks = (size_t)layout->n * (size_t)s->encoder->leaves->n_tops;
        status = tl_pool_run(s->pool, tasks, encode_task, &w, err);
    }
    if (status == TL_OK && more && sorted->n_parts) {
        s->carried = w.parts[sorted->n_parts - 1].file;
        w.parts[sorted->n_parts - 1].file = NULL;
    }
    s->parts_done += sorted->n_parts;
    end_wave(&w);
    return status;
}

/* ---- row groups that are encoded already ---- */

tl_status tl_stager_add_group(tl_stager *s, int32_t value, tl_pq_chunk *chunks, tl_error *err) {
    tl_open_file *f = s->carried;
    uint32_t number = f ? f->number : 0;
    if (f && tl_pq_file_writer_bytes(f->writer) >= s->target_bytes) {
        s->carried = NULL;
        TL_TRY(finish_file(s, f, err));
        number++;
    }
    if (!s->carried) {
        TL_TRY(open_file(s, value, 0, number, NULL, &s->carried, err));
    }
    return tl_pq_file_writer_add_row_group(s->carried->writer, chunks, s->encoder->leaves->n_leaves, err);
}

/* ---- the end ---- */

/* Moves entry `from` of the list to `to`. */
static void move_entry(tl_staged_list *l, int32_t from, int32_t to) {
    tl_data_file file = l->files[from];
    char *key = l->keys[from];
    uint64_t order = l->order[from];
    tl_series_start *starts = l->starts[from];
    int64_t n_starts = l->n_starts[from];
    size_t n = (size_t)(from - to);
    memmove(&l->files[to + 1], &l->files[to], n * sizeof *l->files);
    memmove(&l->keys[to + 1], &l->keys[to], n * sizeof *l->keys);
    memmove(&l->order[to + 1], &l->order[to], n * sizeof *l->order);
    memmove(&l->starts[to + 1], &l->starts[to], n * sizeof *l->starts);
    memmove(&l->n_starts[to + 1], &l->n_starts[to], n * sizeof *l->n_starts);
    l->files[to] = file;
    l->keys[to] = key;
    l->order[to] = order;
    l->starts[to] = starts;
    l->n_starts[to] = n_starts;
}

/* Nearly sorted already: files are finished about in order. */
static void sort_list(tl_staged_list *l) {
    for (int32_t i = 1; i < l->n; i++) {
        int32_t to = i;
        while (to > 0 && l->order[to - 1] > l->order[i]) {
            to--;
        }
        if (to < i) {
            move_entry(l, i, to);
        }
    }
}

tl_status tl_stager_take(tl_stager *s, const uint32_t *ranks, tl_staged *out, tl_error *err) {
    if (s->carried) {
        tl_open_file *f = s->carried;
        s->carried = NULL;
        TL_TRY(finish_file(s, f, err));
    }
    sort_list(&s->list);
    size_t n = (size_t)s->list.n;
    tl_data_file *files = tl_arena_copy(&s->arena, s->list.files, n * sizeof *files);
    char **keys = tl_arena_copy(&s->arena, s->list.keys, n * sizeof *keys);
    tl_series_start **starts = tl_arena_copy(&s->arena, s->list.starts, n * sizeof *starts);
    int64_t *n_starts = tl_arena_copy(&s->arena, s->list.n_starts, n * sizeof *n_starts);
    if (!files || !keys || !starts || !n_starts) {
        return tl_fail_memory(err, n * sizeof *files);
    }
    for (size_t i = 0; ranks && i < n; i++) {
        for (int64_t k = 0; k < n_starts[i]; k++) {
            starts[i][k].series = ranks[starts[i][k].series];
        }
    }
    *out = (tl_staged){.files = files,
                       .keys = keys,
                       .n_files = s->list.n,
                       .rows = s->rows,
                       .bytes = s->bytes,
                       .starts = ranks ? starts : NULL,
                       .n_starts = ranks ? n_starts : NULL,
                       .arena = s->arena};
    s->arena = (tl_arena){0};
    s->list.n = 0;
    return TL_OK;
}
