/* See copy.h. Bloom filters and key-value pairs of a chunk do not go along. */
#include "parquet/copy.h"

#include <string.h>

#include "base/mem.h"
#include "parquet/reader_internal.h"

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool tl_pq_schema_equal(const tl_pq_schema_element *a, int32_t n_a, const tl_pq_schema_element *b, int32_t n_b) {
    if (n_a != n_b || n_a < 1 || a[0].n_children != b[0].n_children) {
        return false;
    }
    for (int32_t i = 1; i < n_a; i++) {
        const tl_pq_schema_element *x = &a[i], *y = &b[i];
        bool same = same_text(x->name, y->name) && x->is_leaf == y->is_leaf && x->repetition == y->repetition &&
                    x->n_children == y->n_children && x->field_id == y->field_id && x->logical == y->logical;
        if (same && x->is_leaf) {
            same = x->type == y->type && (x->type != TL_PQ_FIXED || x->type_length == y->type_length);
        }
        switch (x->logical) {
        case TL_PQ_LOGICAL_DECIMAL: same = same && x->precision == y->precision && x->scale == y->scale; break;
        case TL_PQ_LOGICAL_TIME:
        case TL_PQ_LOGICAL_TIMESTAMP: same = same && x->unit == y->unit && x->utc == y->utc; break;
        case TL_PQ_LOGICAL_INTEGER: same = same && x->bit_width == y->bit_width && x->is_signed == y->is_signed; break;
        case TL_PQ_LOGICAL_OTHER: same = same && x->other == y->other; break;
        default: break;
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

/* Offsets count from the chunk's first byte; what belongs to the old file alone goes. */
static void make_relative(tl_pq_column_chunk *meta, int64_t start) {
    meta->data_page_offset -= start;
    meta->dictionary_page_offset = 0; /* the writer sets it where data do not come first */
    meta->file_path = NULL;
    meta->offset_index_offset = meta->column_index_offset = 0;
    meta->offset_index_length = meta->column_index_length = 0;
    meta->bloom_filter_offset = 0;
    meta->bloom_filter_length = 0;
    meta->metadata = NULL;
    meta->n_metadata = 0;
    meta->stats.min = meta->stats.max = (tl_bytes){0};
}

static tl_status take_pages(const tl_pq_offset_index *index, int64_t start, int64_t size, tl_pq_chunk *out, bool *has,
                            tl_error *err) {
    tl_pq_page_location *pages = tl_arena_copy(&out->arena, index->pages, (size_t)index->n_pages * sizeof *pages);
    if (!pages) {
        return tl_fail_memory(err, (size_t)index->n_pages * sizeof *pages);
    }
    for (int32_t i = 0; i < index->n_pages; i++) {
        pages[i].offset -= start;
        *has = *has && pages[i].offset >= 0 && pages[i].compressed_size > 0 &&
               pages[i].offset <= size - pages[i].compressed_size;
    }
    out->offset_index = (tl_pq_offset_index){pages, index->n_pages};
    return TL_OK;
}

static tl_status read_chunk(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_chunk *out, bool *has,
                            tl_error *err) {
    const tl_pq_column_chunk *c = &r->meta.row_groups[row_group].columns[leaf];
    tl_pq_offset_index index;
    TL_TRY(tl_pq_reader_offset_index(r, row_group, leaf, &index, has, err));
    int64_t start = c->dictionary_page_offset > 0 ? c->dictionary_page_offset : c->data_page_offset, size;
    *has = *has && index.n_pages > 0 && !c->encrypted && !c->file_path && c->codec != TL_PQ_LZ4 &&
           c->codec != TL_PQ_LZO && start > 0 && c->data_page_offset >= start && c->compressed_size > 0 &&
           tl_i64_add(start, c->compressed_size, &size) && (uint64_t)size <= r->source.size;
    if (!*has) {
        return TL_OK;
    }
    out->meta = *c;
    out->n_rows = r->meta.row_groups[row_group].n_rows;
    out->nan_count = c->stats.has_nan_count ? c->stats.nan_count : 0;
    make_relative(&out->meta, start);
    TL_TRY(take_pages(&index, start, c->compressed_size, out, has, err));
    TL_TRY(tl_pq_reader_column_index(r, row_group, leaf, &out->column_index, &out->has_column_index, err));
    out->has_column_index = out->has_column_index && out->column_index.n_pages == index.n_pages;
    const uint8_t *bytes;
    uint8_t *owned = NULL;
    size_t cap = 0, len = (size_t)c->compressed_size;
    tl_status status = *has ? tl_pq_reader_bytes(r, (uint64_t)start, len, &owned, &cap, &bytes, err) : TL_OK;
    if (status == TL_OK && *has && tl_buf_add(&out->bytes, bytes, len) != TL_OK) {
        status = tl_fail_memory(err, len);
    }
    tl_free(owned);
    return status;
}

tl_status tl_pq_reader_chunk(tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_pq_chunk *out, bool *has,
                             tl_error *err) {
    *out = (tl_pq_chunk){0};
    *has = false;
    tl_status status = read_chunk(r, row_group, leaf, out, has, err);
    if (status != TL_OK || !*has) {
        tl_pq_chunk_free(out);
        *has = false;
    }
    return status;
}
