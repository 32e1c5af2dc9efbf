/*
 * The reader: opening a file, bytes on demand, whole reads, page indexes. Comes in: a source. Goes out: metadata and
 * struct arrays.
 */
#include "parquet/reader.h"

#include <stdio.h>
#include <string.h>

#include "parquet/reader_internal.h"

#define TAIL_DEFAULT ((size_t)64 << 10)
#define LIMIT_LEAST ((uint64_t)4 << 30)
#define LIMIT_TIMES 256

static tl_status bytes_read_at(void *ctx, uint64_t offset, size_t len, void *out, tl_error *err) {
    const tl_bytes *b = ctx;
    if (offset > b->len || len > b->len - offset) {
        return tl_fail(err, TL_INVALID, "bytes behind the end asked for");
    }
    if (len) {
        memcpy(out, b->data + offset, len);
    }
    return TL_OK;
}

tl_pq_source tl_pq_source_bytes(const tl_bytes *bytes) {
    return (tl_pq_source){.read_at = bytes_read_at,
                          .ctx = (void *)(uintptr_t)bytes, /* only read from */
                          .size = bytes->len,
                          .mapped = bytes->data};
}

tl_status tl_pq_reader_bytes(tl_pq_reader *r, uint64_t offset, size_t len, uint8_t **owned, size_t *owned_cap,
                             const uint8_t **out, tl_error *err) {
    if (offset > r->source.size || len > r->source.size - offset) {
        return tl_fail(err, TL_CORRUPT, "bytes behind the end of the file asked for");
    }
    if (r->source.mapped) {
        *out = r->source.mapped + offset;
        return TL_OK;
    }
    if (len > *owned_cap || !*owned) {
        tl_free(*owned);
        *owned_cap = 0;
        *owned = tl_alloc(len);
        if (!*owned) {
            return tl_fail_memory(err, len);
        }
        *owned_cap = len;
    }
    *out = *owned;
    return r->source.read_at(r->source.ctx, offset, len, *owned, err);
}

void tl_pq_name_column(const tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_error *err) {
    char path[256];
    size_t at = 0;
    const tl_pq_column_chunk *c = &r->meta.row_groups[row_group].columns[leaf];
    path[0] = '\0';
    for (int32_t i = 0; i < c->n_path && at < sizeof path; i++) {
        at += (size_t)snprintf(path + at, sizeof path - at, "%s%s", i ? "." : "", c->path[i]);
    }
    tl_error_prefix(err, "column \"%s\", row group %d: ", path, row_group);
}

/* ---- opening ---- */

static tl_status check_tail(const uint8_t *end, uint64_t file_size, uint32_t *footer_len, tl_error *err) {
    if (memcmp(end - 4, "PARE", 4) == 0) {
        return tl_fail(err, TL_UNSUPPORTED, "the footer is encrypted; Parquet encryption is not supported");
    }
    if (memcmp(end - 4, "PAR1", 4) != 0) {
        return tl_fail(err, TL_CORRUPT, "not a Parquet file (it does not end in PAR1)");
    }
    *footer_len = tl_load_u32(end - 8);
    if (*footer_len > file_size - 12) {
        return tl_fail(err, TL_CORRUPT, "the footer is longer than the file");
    }
    return TL_OK;
}

static tl_status read_footer(tl_pq_reader *r, tl_error *err) {
    uint64_t size = r->source.size;
    uint8_t *owned = NULL;
    size_t cap = 0;
    const uint8_t *tail = NULL;
    uint32_t footer_len = 0;
    tl_status status = TL_OK;
    if (size < 12) {
        return tl_fail(err, TL_CORRUPT, "not a Parquet file (only %llu bytes)", (unsigned long long)size);
    }
    size_t have = r->options.tail < 8 ? 8 : r->options.tail;
    have = have > size ? (size_t)size : have;
    if (r->options.footer && r->options.footer_len >= 8 && r->options.footer_len <= size) {
        tail = r->options.footer;
        have = r->options.footer_len;
    } else {
        status = tl_pq_reader_bytes(r, size - have, have, &owned, &cap, &tail, err);
    }
    if (status == TL_OK) {
        status = check_tail(tail + have, size, &footer_len, err);
    }
    if (status == TL_OK && (size_t)footer_len + 8 > have) {
        have = (size_t)footer_len + 8;
        status = tl_pq_reader_bytes(r, size - have, have, &owned, &cap, &tail, err);
    }
    if (status == TL_OK) {
        status = tl_pq_read_file_meta((tl_bytes){tail + have - 8 - footer_len, footer_len}, &r->meta, err);
    }
    tl_free(owned);
    return status;
}

static tl_status check_meta(const tl_pq_reader *r, tl_error *err) {
    if (r->meta.encrypted) {
        return tl_fail(err, TL_UNSUPPORTED, "Parquet encryption is not supported");
    }
    int64_t rows = 0;
    for (int32_t g = 0; g < r->meta.n_row_groups; g++) {
        const tl_pq_row_group *rg = &r->meta.row_groups[g];
        if (rg->n_columns != r->n_leaves) {
            return tl_fail(err, TL_CORRUPT, "row group %d has %d column chunks, the schema %d columns", g,
                           rg->n_columns, r->n_leaves);
        }
        if (!tl_i64_add(rows, rg->n_rows, &rows)) {
            return tl_fail(err, TL_CORRUPT, "the row groups have too many rows");
        }
    }
    return TL_OK;
}

static tl_status open_reader(tl_pq_reader *r, tl_error *err) {
    TL_TRY(read_footer(r, err));
    TL_TRY(tl_pq_schema_leaves(r->meta.schema, r->meta.n_schema, &r->leaves, &r->n_leaves, err));
    TL_TRY(check_meta(r, err));
    return tl_pq_nodes_build(&r->meta, r->n_leaves, r->options.int96_micros, &r->arena, &r->tops, &r->n_tops,
                             &r->leaf_anc, err);
}

/* A few bytes can stand for any number of equal values: what a file may ask for grows with what it holds. */
static size_t default_limit(uint64_t file_size) {
    uint64_t limit = file_size > UINT64_MAX / LIMIT_TIMES ? UINT64_MAX : file_size * LIMIT_TIMES;
    limit = limit < LIMIT_LEAST ? LIMIT_LEAST : limit;
    return limit > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)limit;
}

tl_status tl_pq_reader_open(tl_pq_source source, const tl_pq_read_options *options, tl_pq_reader **out, tl_error *err) {
    *out = NULL;
    tl_pq_reader *r = tl_calloc(1, sizeof *r);
    if (!r) {
        return tl_fail_memory(err, sizeof *r);
    }
    r->source = source;
    r->options = options ? *options : (tl_pq_read_options){0};
    r->options.tail = r->options.tail ? r->options.tail : TAIL_DEFAULT;
    r->budget.limit = r->options.memory_limit ? r->options.memory_limit : default_limit(source.size);
    tl_status status = open_reader(r, err);
    r->options.footer = NULL; /* the caller's, and not needed any more */
    if (status != TL_OK) {
        tl_pq_reader_free(r);
        return status;
    }
    *out = r;
    return TL_OK;
}

void tl_pq_reader_free(tl_pq_reader *r) {
    if (!r) {
        return;
    }
    tl_pq_file_meta_free(&r->meta);
    tl_free(r->leaves);
    tl_free(r->offset_indexes);
    tl_arena_free(&r->arena);
    tl_pq_codec_state_free(&r->codec);
    tl_pq_scratch_free(&r->scratch);
    tl_free(r->page);
    tl_free(r->levels);
    tl_free(r);
}

const tl_pq_file_meta *tl_pq_reader_meta(const tl_pq_reader *r) {
    return &r->meta;
}

const tl_pq_leaf *tl_pq_reader_leaves(const tl_pq_reader *r, int32_t *n) {
    *n = r->n_leaves;
    return r->leaves;
}

tl_status tl_pq_check_row_group(const tl_pq_reader *r, int32_t row_group, tl_error *err) {
    return row_group >= 0 && row_group < r->meta.n_row_groups
               ? TL_OK
               : tl_fail(err, TL_INVALID, "row group %d of a file with %d asked for", row_group, r->meta.n_row_groups);
}

/* ---- reading ---- */

static tl_status check_ranges(const tl_pq_row_range *ranges, int32_t n_ranges, int64_t n_rows, tl_error *err) {
    int64_t row = 0;
    for (int32_t i = 0; i < n_ranges; i++) {
        if (ranges[i].first < row || ranges[i].count < 0 || ranges[i].first > n_rows ||
            ranges[i].count > n_rows - ranges[i].first) {
            return tl_fail(err, TL_INVALID, "row ranges must be ascending, disjoint and inside the row group");
        }
        row = ranges[i].first + ranges[i].count;
    }
    return TL_OK;
}

tl_status tl_pq_reader_read(tl_pq_reader *r, int32_t row_group, const int32_t *tops, int32_t n_tops,
                            const tl_pq_row_range *ranges, int32_t n_ranges, struct ArrowArray *out, tl_error *err) {
    TL_TRY(tl_pq_check_row_group(r, row_group, err));
    tl_pq_row_range all = {0, r->meta.row_groups[row_group].n_rows};
    if (!ranges) {
        ranges = &all;
        n_ranges = 1;
    }
    TL_TRY(check_ranges(ranges, n_ranges, all.count, err));
    bool whole = n_ranges == 1 && ranges[0].count == all.count;
    int32_t *picked, n;
    TL_TRY(tl_pq_pick_tops(r, tops, n_tops, &picked, &n, err));
    tl_pq_batcher b;
    tl_status status = tl_pq_batcher_open(r, row_group, picked, n, !whole, &b, err);
    if (status == TL_OK) {
        status = tl_pq_batcher_read(&b, ranges, n_ranges, out, err);
        tl_pq_batcher_close(&b);
    }
    tl_free(picked);
    return status;
}

/* ---- page indexes ---- */

static tl_status index_bytes(tl_pq_reader *r, int64_t offset, int32_t length, uint8_t **owned, tl_bytes *out,
                             tl_error *err) {
    size_t cap = 0;
    if (offset < 0 || length < 0) {
        return tl_fail(err, TL_CORRUPT, "the page index lies outside the file");
    }
    out->len = (size_t)length;
    return tl_pq_reader_bytes(r, (uint64_t)offset, out->len, owned, &cap, &out->data, err);
}

static tl_status check_chunk(const tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_error *err) {
    TL_TRY(tl_pq_check_row_group(r, row_group, err));
    return leaf >= 0 && leaf < r->n_leaves
               ? TL_OK
               : tl_fail(err, TL_INVALID, "column %d of a file with %d asked for", leaf, r->n_leaves);
}

/* Where an offset index is kept once it has been read. */
static tl_status kept_index(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_offset_index **out, tl_error *err) {
    size_t n = (size_t)r->meta.n_row_groups * (size_t)r->n_leaves;
    if (!r->offset_indexes && !(r->offset_indexes = tl_calloc(n, sizeof *r->offset_indexes))) {
        return tl_fail_memory(err, n * sizeof *r->offset_indexes);
    }
    *out = &r->offset_indexes[(size_t)row_group * (size_t)r->n_leaves + (size_t)leaf];
    return TL_OK;
}

tl_status tl_pq_reader_offset_index(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_offset_index *out,
                                    bool *has, tl_error *err) {
    *has = false;
    *out = (tl_pq_offset_index){0};
    TL_TRY(check_chunk(r, row_group, leaf, err));
    const tl_pq_column_chunk *c = &r->meta.row_groups[row_group].columns[leaf];
    if (c->offset_index_offset == 0 || c->offset_index_length == 0) {
        return TL_OK;
    }
    tl_pq_offset_index *kept = NULL;
    TL_TRY(kept_index(r, row_group, leaf, &kept, err));
    if (kept->pages) {
        *out = *kept;
        *has = true;
        return TL_OK;
    }
    uint8_t *owned = NULL;
    tl_bytes bytes;
    tl_status status = index_bytes(r, c->offset_index_offset, c->offset_index_length, &owned, &bytes, err);
    if (status == TL_OK) {
        status = tl_pq_read_offset_index(bytes, &r->arena, out, err);
    }
    tl_free(owned);
    *has = status == TL_OK;
    *kept = *out;
    return status;
}

tl_status tl_pq_reader_column_index(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_column_index *out,
                                    bool *has, tl_error *err) {
    *has = false;
    *out = (tl_pq_column_index){0};
    TL_TRY(check_chunk(r, row_group, leaf, err));
    const tl_pq_column_chunk *c = &r->meta.row_groups[row_group].columns[leaf];
    if (c->column_index_offset == 0 || c->column_index_length == 0) {
        return TL_OK;
    }
    uint8_t *owned = NULL;
    tl_bytes bytes;
    tl_status status = index_bytes(r, c->column_index_offset, c->column_index_length, &owned, &bytes, err);
    if (status == TL_OK) {
        status = tl_pq_read_column_index(bytes, &r->arena, out, err);
    }
    tl_free(owned);
    *has = status == TL_OK;
    return status;
}
