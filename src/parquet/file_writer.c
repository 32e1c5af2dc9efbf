/*
 * A file. Comes in: a schema, then finished column chunks, a row group at a time. Goes out, through the sink in order:
 * the magic, the chunks, the page indexes (all column indexes, then all offset indexes), the footer.
 */
#include "base/mem.h"
#include "parquet/thrift.h"
#include "parquet/write_internal.h"

struct tl_pq_file_writer {
    tl_pq_sink sink;
    tl_pq_file_meta meta; /* its arena owns all that the footer needs */
    tl_pq_leaf *leaves;
    int32_t n_leaves;
    const char ***paths; /* per leaf, in the arena */
    int32_t *path_lengths;
    const tl_pq_sorting_column *sorting;
    int32_t n_sorting;
    bool no_page_index;
    bool ended; /* finished, or a write failed: nothing more goes in */
    int64_t written;
    tl_buf row_groups;                     /* tl_pq_row_group each */
    tl_buf column_indexes, offset_indexes; /* encoded; chunks keep positions in them until finish */
};

static const char magic[4] = {'P', 'A', 'R', '1'};

static tl_status sink_buf_write(void *ctx, const void *data, size_t len, tl_error *err) {
    return tl_buf_add(ctx, data, len) == TL_OK ? TL_OK : tl_fail_memory(err, len);
}

tl_pq_sink tl_pq_sink_buf(tl_buf *buf) {
    return (tl_pq_sink){sink_buf_write, buf};
}

/* ---- setting up ---- */

static tl_status copy_schema(tl_pq_file_writer *w, const tl_pq_file_options *o) {
    tl_arena *arena = &w->meta.arena;
    w->meta.schema = tl_arena_copy(arena, o->schema, (size_t)o->n_schema * sizeof *o->schema);
    w->meta.n_schema = o->n_schema;
    if (!w->meta.schema) {
        return TL_NO_MEMORY;
    }
    for (int32_t i = 0; i < o->n_schema; i++) {
        w->meta.schema[i].name = tl_arena_strdup(arena, o->schema[i].name ? o->schema[i].name : "");
        if (!w->meta.schema[i].name) {
            return TL_NO_MEMORY;
        }
    }
    return TL_OK;
}

static tl_status copy_metadata(tl_pq_file_writer *w, const tl_pq_file_options *o) {
    tl_arena *arena = &w->meta.arena;
    w->meta.metadata = tl_arena_array(arena, (size_t)o->n_metadata, sizeof *o->metadata);
    w->meta.n_metadata = o->n_metadata;
    w->sorting = tl_arena_copy(arena, o->sorting, (size_t)o->n_sorting * sizeof *o->sorting);
    w->n_sorting = o->n_sorting;
    w->meta.created_by = tl_arena_strdup(arena, o->created_by ? o->created_by : "timelake version " TL_BUILD_VERSION);
    if (!w->meta.metadata || !w->sorting || !w->meta.created_by) {
        return TL_NO_MEMORY;
    }
    for (int32_t i = 0; i < o->n_metadata; i++) {
        tl_pq_key_value *pair = &w->meta.metadata[i];
        pair->key = tl_arena_strdup(arena, o->metadata[i].key);
        pair->value = o->metadata[i].value ? tl_arena_strdup(arena, o->metadata[i].value) : NULL;
        if (!pair->key || (o->metadata[i].value && !pair->value)) {
            return TL_NO_MEMORY;
        }
    }
    return TL_OK;
}

/* The names on the way to each leaf: a walk over the tree, depth first, with the open groups on a stack. */
static tl_status make_paths(tl_pq_file_writer *w) {
    enum { DEEPEST = 66 }; /* tl_pq_schema_leaves refuses deeper trees */
    const char *names[DEEPEST];
    int32_t left[DEEPEST] = {0}, depth = 0, leaf = 0;
    w->paths = tl_arena_array(&w->meta.arena, (size_t)w->n_leaves, sizeof *w->paths);
    w->path_lengths = tl_arena_array(&w->meta.arena, (size_t)w->n_leaves, sizeof *w->path_lengths);
    if (!w->paths || !w->path_lengths) {
        return TL_NO_MEMORY;
    }
    left[0] = w->meta.schema[0].n_children;
    for (int32_t i = 1; i < w->meta.n_schema && leaf < w->n_leaves; i++) {
        const tl_pq_schema_element *e = &w->meta.schema[i];
        names[depth] = e->name;
        left[depth]--;
        if (e->is_leaf) {
            const char **path = tl_arena_copy(&w->meta.arena, names, (size_t)(depth + 1) * sizeof *names);
            if (!path) {
                return TL_NO_MEMORY;
            }
            w->paths[leaf] = path;
            w->path_lengths[leaf++] = depth + 1;
        } else if (depth + 1 < DEEPEST) {
            left[++depth] = e->n_children;
        }
        while (depth > 0 && left[depth] == 0) {
            depth--;
        }
    }
    return TL_OK;
}

static tl_status check_file_options(const tl_pq_file_writer *w, tl_error *err) {
    for (int32_t i = 0; i < w->n_sorting; i++) {
        if (w->sorting[i].column < 0 || w->sorting[i].column >= w->n_leaves) {
            return tl_fail(err, TL_INTERNAL, "sorting column %d of a Parquet file of %d columns",
                           (int)w->sorting[i].column, (int)w->n_leaves);
        }
    }
    return w->n_leaves > 0 ? TL_OK : tl_fail(err, TL_INVALID, "a Parquet file needs at least one column");
}

static tl_status set_up(tl_pq_file_writer *w, const tl_pq_file_options *o, tl_error *err) {
    TL_TRY(tl_pq_schema_leaves(o->schema, o->n_schema, &w->leaves, &w->n_leaves, err));
    TL_TRY(tl_pq_said(copy_schema(w, o), err));
    TL_TRY(tl_pq_said(copy_metadata(w, o), err));
    TL_TRY(tl_pq_said(make_paths(w), err));
    TL_TRY(check_file_options(w, err));
    w->meta.version = 1;
    w->meta.column_orders = tl_arena_alloc(&w->meta.arena, (size_t)w->n_leaves);
    w->meta.n_column_orders = w->n_leaves;
    if (!w->meta.column_orders) {
        return tl_fail_memory(err, (size_t)w->n_leaves);
    }
    memset(w->meta.column_orders, 1, (size_t)w->n_leaves);
    return TL_OK;
}

tl_status tl_pq_file_writer_create(const tl_pq_file_options *options, tl_pq_sink sink, tl_pq_file_writer **out,
                                   tl_error *err) {
    tl_pq_file_writer *w = tl_calloc(1, sizeof *w);
    if (!w) {
        return tl_fail_memory(err, sizeof *w);
    }
    w->sink = sink;
    w->no_page_index = options->no_page_index;
    tl_status status = set_up(w, options, err);
    if (status != TL_OK) {
        tl_pq_file_writer_free(w);
        return status;
    }
    *out = w;
    return TL_OK;
}

void tl_pq_file_writer_free(tl_pq_file_writer *w) {
    if (!w) {
        return;
    }
    tl_pq_file_meta_free(&w->meta);
    tl_free(w->leaves);
    tl_buf_free(&w->row_groups);
    tl_buf_free(&w->column_indexes);
    tl_buf_free(&w->offset_indexes);
    tl_free(w);
}

int64_t tl_pq_file_writer_bytes(const tl_pq_file_writer *w) {
    return w->written;
}
int64_t tl_pq_file_writer_rows(const tl_pq_file_writer *w) {
    return w->meta.n_rows;
}

/* ---- row groups ---- */

static tl_status put(tl_pq_file_writer *w, const void *data, size_t len, tl_error *err) {
    tl_status status = w->sink.write(w->sink.ctx, data, len, err);
    if (status != TL_OK) {
        w->ended = true;
        return status;
    }
    w->written += (int64_t)len;
    return TL_OK;
}

static tl_status put_magic_first(tl_pq_file_writer *w, tl_error *err) {
    return w->written == 0 ? put(w, magic, sizeof magic, err) : TL_OK;
}

static tl_status check_chunks(const tl_pq_file_writer *w, const tl_pq_chunk *chunks, int32_t n, tl_error *err) {
    if (w->ended) {
        return tl_fail(err, TL_INTERNAL, "the Parquet file has ended: no row group can follow");
    }
    if (n != w->n_leaves) {
        return tl_fail(err, TL_INTERNAL, "a row group of %d columns for a Parquet file of %d", (int)n,
                       (int)w->n_leaves);
    }
    for (int32_t i = 0; i < n; i++) {
        const tl_pq_schema_element *e = &w->meta.schema[w->leaves[i].element];
        if (chunks[i].n_rows != chunks[0].n_rows || chunks[i].meta.type != e->type) {
            return tl_fail(err, TL_INTERNAL, "column \"%s\" has %lld rows of type %d; %lld of type %d belong there",
                           e->name, (long long)chunks[i].n_rows, (int)chunks[i].meta.type, (long long)chunks[0].n_rows,
                           (int)e->type);
        }
    }
    return TL_OK;
}

static tl_status copy_bytes(tl_arena *arena, tl_bytes *b) {
    if (b->data) {
        b->data = tl_arena_copy(arena, b->data, b->len);
        return b->data ? TL_OK : TL_NO_MEMORY;
    }
    return TL_OK;
}

/* The chunk's metadata moves into the file's arena and gets its place in the file. */
static tl_status take_meta(tl_pq_file_writer *w, int32_t leaf, const tl_pq_chunk *chunk, tl_pq_column_chunk *out) {
    tl_arena *arena = &w->meta.arena;
    *out = chunk->meta;
    out->path = w->paths[leaf];
    out->n_path = w->path_lengths[leaf];
    out->encodings = tl_arena_copy(arena, out->encodings, (size_t)out->n_encodings * sizeof *out->encodings);
    out->encoding_stats =
        tl_arena_copy(arena, out->encoding_stats, (size_t)out->n_encoding_stats * sizeof *out->encoding_stats);
    if (!out->encodings || !out->encoding_stats) {
        return TL_NO_MEMORY;
    }
    TL_TRY(copy_bytes(arena, &out->stats.min_value));
    TL_TRY(copy_bytes(arena, &out->stats.max_value));
    if (out->data_page_offset > 0) { /* the chunk begins with a dictionary page */
        out->dictionary_page_offset = w->written;
    }
    out->data_page_offset += w->written;
    return TL_OK;
}

/* Encodes the chunk's indexes; offsets are positions in the buffers until finish knows where those go. */
static tl_status take_indexes(tl_pq_file_writer *w, tl_pq_chunk *chunk, tl_pq_column_chunk *out) {
    if (w->no_page_index) {
        return TL_OK;
    }
    for (int32_t i = 0; i < chunk->offset_index.n_pages; i++) {
        chunk->offset_index.pages[i].offset += w->written;
    }
    size_t from = w->offset_indexes.len;
    TL_TRY(tl_pq_write_offset_index(&chunk->offset_index, &w->offset_indexes));
    out->offset_index_offset = (int64_t)from;
    out->offset_index_length = (int32_t)(w->offset_indexes.len - from);
    if (chunk->has_column_index) {
        from = w->column_indexes.len;
        TL_TRY(tl_pq_write_column_index(&chunk->column_index, &w->column_indexes));
        out->column_index_offset = (int64_t)from;
        out->column_index_length = (int32_t)(w->column_indexes.len - from);
    }
    return TL_OK;
}

static tl_status add_chunks(tl_pq_file_writer *w, tl_pq_chunk *chunks, tl_pq_row_group *g, tl_error *err) {
    for (int32_t i = 0; i < g->n_columns; i++) {
        tl_pq_column_chunk *meta = &g->columns[i];
        TL_TRY(tl_pq_said(take_meta(w, i, &chunks[i], meta), err));
        TL_TRY(tl_pq_said(take_indexes(w, &chunks[i], meta), err));
        TL_TRY(put(w, chunks[i].bytes.data, chunks[i].bytes.len, err));
        g->total_byte_size += meta->uncompressed_size;
        g->total_compressed_size += meta->compressed_size;
        tl_pq_chunk_free(&chunks[i]);
    }
    return TL_OK;
}

tl_status tl_pq_file_writer_add_row_group(tl_pq_file_writer *w, tl_pq_chunk *chunks, int32_t n_chunks, tl_error *err) {
    TL_TRY(check_chunks(w, chunks, n_chunks, err));
    if (chunks[0].n_rows == 0) {
        for (int32_t i = 0; i < n_chunks; i++) {
            tl_pq_chunk_free(&chunks[i]);
        }
        return TL_OK; /* no reader needs an empty row group, and some stumble over it */
    }
    TL_TRY(put_magic_first(w, err));
    tl_pq_row_group g = {.n_columns = n_chunks,
                         .n_rows = chunks[0].n_rows,
                         .file_offset = w->written,
                         .ordinal = w->meta.n_row_groups,
                         .sorting = (tl_pq_sorting_column *)(uintptr_t)w->sorting,
                         .n_sorting = w->n_sorting};
    g.columns = tl_arena_array(&w->meta.arena, (size_t)n_chunks, sizeof *g.columns);
    tl_status status = g.columns ? add_chunks(w, chunks, &g, err) : tl_fail_memory(err, 0);
    if (status == TL_OK) {
        status = tl_pq_said(tl_buf_add(&w->row_groups, &g, sizeof g), err);
    }
    if (status != TL_OK) {
        w->ended = true;
        return status;
    }
    w->meta.n_row_groups++;
    w->meta.n_rows += g.n_rows;
    return TL_OK;
}

/* ---- the end ---- */

static tl_status put_indexes(tl_pq_file_writer *w, tl_error *err) {
    int64_t columns_at = w->written;
    TL_TRY(put(w, w->column_indexes.data, w->column_indexes.len, err));
    int64_t offsets_at = w->written;
    TL_TRY(put(w, w->offset_indexes.data, w->offset_indexes.len, err));
    for (int32_t g = 0; g < w->meta.n_row_groups; g++) {
        for (int32_t c = 0; c < w->meta.row_groups[g].n_columns; c++) {
            tl_pq_column_chunk *meta = &w->meta.row_groups[g].columns[c];
            meta->column_index_offset += meta->column_index_length ? columns_at : 0;
            meta->offset_index_offset += meta->offset_index_length ? offsets_at : 0;
        }
    }
    return TL_OK;
}

static tl_status put_footer(tl_pq_file_writer *w, tl_error *err) {
    tl_buf footer = {0};
    tl_status status = tl_pq_said(tl_pq_write_file_meta(&w->meta, &footer), err);
    if (status == TL_OK && footer.len > INT32_MAX) {
        status =
            tl_fail(err, TL_UNSUPPORTED, "the Parquet footer would be %zu bytes; write fewer row groups", footer.len);
    }
    if (status == TL_OK) {
        uint32_t len = (uint32_t)footer.len;
        status = tl_pq_said(tl_buf_add(&footer, &len, sizeof len), err);
    }
    if (status == TL_OK) {
        status = tl_pq_said(tl_buf_add(&footer, magic, sizeof magic), err);
    }
    if (status == TL_OK) {
        status = put(w, footer.data, footer.len, err);
    }
    tl_buf_free(&footer);
    return status;
}

tl_status tl_pq_file_writer_finish(tl_pq_file_writer *w, tl_pq_file_meta *out, tl_error *err) {
    if (w->ended) {
        return tl_fail(err, TL_INTERNAL, "the Parquet file has ended already, or a write failed");
    }
    TL_TRY(put_magic_first(w, err));
    w->ended = true;
    w->meta.row_groups = tl_arena_copy(&w->meta.arena, w->row_groups.data, w->row_groups.len);
    if (!w->meta.row_groups) {
        return tl_fail_memory(err, w->row_groups.len);
    }
    TL_TRY(put_indexes(w, err));
    TL_TRY(put_footer(w, err));
    if (out) {
        *out = w->meta;
        w->meta = (tl_pq_file_meta){0};
    }
    return TL_OK;
}
