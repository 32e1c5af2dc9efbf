/*
 * The column chunk in the making. Comes in: encoded levels and values of one page after another. Goes out: compressed
 * pages in a row, the dictionary page before them, the page index and the chunk's metadata.
 */
#include <zlib.h>

#include "base/mem.h"
#include "parquet/thrift.h"
#include "parquet/write_internal.h"

void tl_pq_chunk_build_free(tl_pq_chunk_build *c) {
    tl_pq_codec_state_free(&c->codec);
    tl_buf_free(&c->pages);
    tl_buf_free(&c->records);
    tl_buf_free(&c->plain);
    tl_buf_free(&c->header);
    tl_pq_bounds_free(&c->bounds);
    tl_arena_free(&c->arena);
}

void tl_pq_chunk_build_begin(tl_pq_chunk_build *c, const tl_pq_column_options *o) {
    c->o = o;
    c->pages.len = c->records.len = 0;
    tl_pq_bounds_begin(&c->bounds);
    tl_arena_free(&c->arena);
    c->n_levels = c->n_rows = c->n_nulls = c->uncompressed_size = 0;
    memset(c->pages_by_encoding, 0, sizeof c->pages_by_encoding);
}

static tl_status too_large(size_t bytes, tl_error *err) {
    return tl_fail(err, TL_UNSUPPORTED, "a Parquet page of %zu bytes is over the format's 2 GiB; make pages smaller",
                   bytes);
}

/* zlib takes no bytes at a NULL address for a wish to begin anew. */
static int32_t checksum(tl_bytes levels, tl_bytes body) {
    uLong crc = crc32_z(0, NULL, 0);
    crc = levels.len ? crc32_z(crc, levels.data, levels.len) : crc;
    crc = body.len ? crc32_z(crc, body.data, body.len) : crc;
    return (int32_t)(uint32_t)crc;
}

#define HEADER_ROOM ((size_t)128) /* a page header takes less */

/* `head` and `body`, compressed as one, behind `gap` bytes at the end of `to`, whose length stays. */
static tl_status compress_behind(tl_pq_chunk_build *c, size_t gap, tl_bytes head, tl_bytes body, tl_buf *to,
                                 tl_bytes *out, tl_error *err) {
    size_t from = to->len;
    TL_TRY(tl_pq_said(tl_buf_reserve(to, gap), err));
    to->len += gap;
    tl_status status = tl_pq_compress_joined(&c->codec, c->o->codec, c->o->level, head, body, to, err);
    *out = (tl_bytes){to->data + from + gap, to->len - from - gap};
    to->len = from;
    return status;
}

/* The header, `levels` and `body`, which may lie behind them in `to` already. */
static tl_status place_page(tl_pq_chunk_build *c, const tl_pq_page_header *header, tl_bytes levels, tl_bytes body,
                            bool placed, tl_buf *to, tl_error *err) {
    c->header.len = 0;
    TL_TRY(tl_pq_said(tl_pq_write_page_header(header, &c->header), err));
    if (c->header.len > HEADER_ROOM) {
        return tl_fail(err, TL_INTERNAL, "a page header of %zu bytes", c->header.len);
    }
    c->uncompressed_size += (int64_t)c->header.len + header->uncompressed_size;
    if (!placed) {
        TL_TRY(tl_pq_said(tl_buf_reserve(to, c->header.len + levels.len + body.len), err));
    }
    TL_TRY(tl_pq_said(tl_buf_add(to, c->header.data, c->header.len), err));
    TL_TRY(tl_pq_said(tl_buf_add(to, levels.data, levels.len), err));
    if (body.len) {
        memmove(to->data + to->len, body.data, body.len);
    }
    to->len += body.len;
    return TL_OK;
}

/* A page is written: its header, then `levels` as they are, then `head` and `body` compressed as one (or not, when
 * `header` says so; `head` is then empty). `header` comes with everything but sizes and checksum. */
static tl_status put_page(tl_pq_chunk_build *c, tl_pq_page_header *header, tl_bytes levels, tl_bytes head,
                          tl_bytes body, tl_buf *to, tl_error *err) {
    if (levels.len > INT32_MAX / 2 || head.len > INT32_MAX / 2 || body.len > INT32_MAX - levels.len - head.len) {
        return too_large(body.len, err);
    }
    header->uncompressed_size = (int32_t)(levels.len + head.len + body.len);
    bool compress = c->o->codec != TL_PQ_UNCOMPRESSED && (header->type != TL_PQ_DATA_PAGE_V2 || body.len > 0);
    bool placed = false;
    if (compress) {
        tl_bytes packed;
        TL_TRY(compress_behind(c, HEADER_ROOM + levels.len, head, body, to, &packed, err));
        header->is_compressed = placed = header->type != TL_PQ_DATA_PAGE_V2 || packed.len < body.len;
        body = placed ? packed : body;
    }
    if (body.len > INT32_MAX - levels.len) {
        return too_large(body.len, err);
    }
    header->compressed_size = (int32_t)(levels.len + body.len);
    if (c->o->page_crc) {
        header->has_crc = true;
        header->crc = checksum(levels, body);
    }
    return place_page(c, header, levels, body, placed, to, err);
}

static tl_pq_content content_of(tl_pq_type type, tl_pq_encoding encoding) {
    bool numbers = type == TL_PQ_INT32 || type == TL_PQ_INT64 || type == TL_PQ_FLOAT || type == TL_PQ_DOUBLE;
    if (numbers && (encoding == TL_PQ_PLAIN || encoding == TL_PQ_BYTE_STREAM_SPLIT)) {
        return TL_PQ_CONTENT_NUMBERS;
    }
    /* indices of texts are few and repeat in patterns: those are for zstd to find */
    bool packed = encoding == TL_PQ_DELTA_BINARY_PACKED || (numbers && encoding == TL_PQ_RLE_DICTIONARY);
    return packed ? TL_PQ_CONTENT_PACKED : TL_PQ_CONTENT_ANY;
}

#define JOIN_MOST ((size_t)4 << 20)

/* Version 1: levels behind their lengths and values are compressed as one. */
static tl_status put_page_v1(tl_pq_chunk_build *c, const tl_pq_page_facts *p, tl_error *err) {
    tl_pq_page_header header = {.type = TL_PQ_DATA_PAGE,
                                .n_values = (int32_t)p->n_levels,
                                .encoding = p->encoding,
                                .def_encoding = TL_PQ_RLE,
                                .rep_encoding = TL_PQ_RLE};
    if (c->o->max_rep == 0 && c->o->max_def == 0) {
        return put_page(c, &header, (tl_bytes){0}, (tl_bytes){0}, p->body, &c->pages, err);
    }
    /* joined with the values in memory only where that is cheap, or the codec cannot do otherwise */
    bool apart = c->o->codec == TL_PQ_ZSTD && p->body.len >= JOIN_MOST;
    c->plain.len = 0;
    TL_TRY(tl_pq_said(tl_buf_reserve(&c->plain, p->rep.len + p->def.len + (apart ? 0 : p->body.len) + 8), err));
    const tl_bytes levels[2] = {p->rep, p->def};
    const int16_t max[2] = {c->o->max_rep, c->o->max_def};
    for (int i = 0; i < 2; i++) {
        if (max[i] > 0) {
            uint32_t len = (uint32_t)levels[i].len;
            TL_TRY(tl_pq_said(tl_buf_add(&c->plain, &len, 4), err));
            TL_TRY(tl_pq_said(tl_buf_add(&c->plain, levels[i].data, levels[i].len), err));
        }
    }
    if (apart) {
        return put_page(c, &header, (tl_bytes){0}, tl_buf_bytes(&c->plain), p->body, &c->pages, err);
    }
    TL_TRY(tl_pq_said(tl_buf_add(&c->plain, p->body.data, p->body.len), err));
    return put_page(c, &header, (tl_bytes){0}, (tl_bytes){0}, tl_buf_bytes(&c->plain), &c->pages, err);
}

/* Version 2: levels stand uncompressed before the values. */
static tl_status put_page_v2(tl_pq_chunk_build *c, const tl_pq_page_facts *p, tl_error *err) {
    tl_pq_page_header header = {.type = TL_PQ_DATA_PAGE_V2,
                                .n_values = (int32_t)p->n_levels,
                                .n_nulls = (int32_t)(p->n_levels - p->n_values),
                                .n_rows = (int32_t)p->n_rows,
                                .encoding = p->encoding,
                                .def_length = (int32_t)p->def.len,
                                .rep_length = (int32_t)p->rep.len};
    c->plain.len = 0;
    TL_TRY(tl_pq_said(tl_buf_add(&c->plain, p->rep.data, p->rep.len), err));
    TL_TRY(tl_pq_said(tl_buf_add(&c->plain, p->def.data, p->def.len), err));
    return put_page(c, &header, tl_buf_bytes(&c->plain), (tl_bytes){0}, p->body, &c->pages, err);
}

tl_status tl_pq_chunk_build_page(tl_pq_chunk_build *c, const tl_pq_page_facts *p, tl_error *err) {
    if (p->n_levels > INT32_MAX || p->rep.len > INT32_MAX / 4 || p->def.len > INT32_MAX / 4) {
        return tl_fail(err, TL_UNSUPPORTED, "one row has more than 2^31 nested values: a Parquet page cannot hold it");
    }
    tl_pq_page_record record = {.offset = c->pages.len,
                                .first_row = c->n_rows,
                                .n_nulls = p->n_levels - p->n_values,
                                .is_null = p->n_values == 0};
    c->codec.content = content_of(c->o->type, p->encoding);
    TL_TRY(c->o->page_v2 ? put_page_v2(c, p, err) : put_page_v1(c, p, err));
    record.size = (int32_t)(c->pages.len - record.offset);
    tl_pq_stored_bounds bounds;
    TL_TRY(tl_pq_said(tl_pq_bounds_store(p->bounds, c->o, &c->arena, &bounds), err));
    record.min = bounds.min;
    record.max = bounds.max;
    TL_TRY(tl_pq_said(tl_pq_bounds_merge(&c->bounds, tl_pq_order_of(c->o), p->bounds), err));
    TL_TRY(tl_pq_said(tl_buf_add(&c->records, &record, sizeof record), err));
    c->n_levels += p->n_levels;
    c->n_rows += p->n_rows;
    c->n_nulls += record.n_nulls;
    c->pages_by_encoding[p->encoding]++;
    return TL_OK;
}

/* ---- the end ---- */

static const tl_pq_page_record *record_at(const tl_pq_chunk_build *c, size_t i) {
    return (const tl_pq_page_record *)(const void *)c->records.data + i;
}

static tl_status make_offset_index(tl_pq_chunk_build *c, size_t n, size_t shift, tl_pq_offset_index *out) {
    out->pages = tl_arena_array(&c->arena, n, sizeof *out->pages);
    if (!out->pages) {
        return TL_NO_MEMORY;
    }
    out->n_pages = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        const tl_pq_page_record *r = record_at(c, i);
        out->pages[i] = (tl_pq_page_location){(int64_t)(r->offset + shift), r->size, r->first_row};
    }
    return TL_OK;
}

/* 1 when bounds never fall from page to page, 2 when they never rise, 0 otherwise; pages of nulls do not count. */
static int32_t boundary_order(const tl_pq_chunk_build *c, size_t n) {
    tl_pq_order order = tl_pq_order_of(c->o);
    bool ascending = true, descending = true;
    const tl_pq_page_record *before = NULL;
    for (size_t i = 0; i < n && (ascending || descending); i++) {
        const tl_pq_page_record *r = record_at(c, i);
        if (r->is_null) {
            continue;
        }
        if (before) {
            int min = tl_pq_order_compare_plain(order, c->o->type, before->min, r->min);
            int max = tl_pq_order_compare_plain(order, c->o->type, before->max, r->max);
            ascending = ascending && min <= 0 && max <= 0;
            descending = descending && min >= 0 && max >= 0;
        }
        before = r;
    }
    return ascending ? 1 : descending ? 2 : 0;
}

/* Readers take a page's bounds for granted, so one page without them means no column index at all. */
static tl_status make_column_index(tl_pq_chunk_build *c, size_t n, tl_pq_column_index *out, bool *has) {
    for (size_t i = 0; i < n; i++) {
        const tl_pq_page_record *r = record_at(c, i);
        if (!r->is_null && (!r->min.data || !r->max.data)) {
            *has = false;
            return TL_OK;
        }
    }
    *has = true;
    out->null_pages = tl_arena_array(&c->arena, n, sizeof *out->null_pages);
    out->min_values = tl_arena_array(&c->arena, n, sizeof *out->min_values);
    out->max_values = tl_arena_array(&c->arena, n, sizeof *out->max_values);
    out->null_counts = tl_arena_array(&c->arena, n, sizeof *out->null_counts);
    if (!out->null_pages || !out->min_values || !out->max_values || !out->null_counts) {
        return TL_NO_MEMORY;
    }
    out->n_pages = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        const tl_pq_page_record *r = record_at(c, i);
        out->null_pages[i] = r->is_null;
        out->min_values[i] = r->min;
        out->max_values[i] = r->max;
        out->null_counts[i] = r->n_nulls;
    }
    out->boundary_order = boundary_order(c, n);
    return TL_OK;
}

static tl_status make_statistics(tl_pq_chunk_build *c, tl_pq_statistics *out) {
    tl_pq_stored_bounds bounds;
    TL_TRY(tl_pq_bounds_store(&c->bounds, c->o, &c->arena, &bounds));
    out->has_null_count = true;
    out->null_count = c->n_nulls;
    /* NaN is outside the bounds: only with its count do they speak for all values. */
    out->has_nan_count = (c->o->type == TL_PQ_FLOAT || c->o->type == TL_PQ_DOUBLE) && !c->o->no_bounds;
    out->nan_count = out->has_nan_count ? c->bounds.nan_count : 0;
    out->min_value = bounds.min;
    out->max_value = bounds.max;
    out->has_min_exact = bounds.min.data != NULL;
    out->has_max_exact = bounds.max.data != NULL;
    out->min_exact = bounds.min_exact;
    out->max_exact = bounds.max_exact;
    return TL_OK;
}

/* The encodings used, and how many pages each has. */
static tl_status make_encodings(tl_pq_chunk_build *c, bool has_dictionary, tl_pq_column_chunk *out) {
    enum { KINDS = TL_PQ_BYTE_STREAM_SPLIT + 1 };
    out->encodings = tl_arena_array(&c->arena, KINDS, sizeof *out->encodings);
    out->encoding_stats = tl_arena_array(&c->arena, KINDS + 1, sizeof *out->encoding_stats);
    if (!out->encodings || !out->encoding_stats) {
        return TL_NO_MEMORY;
    }
    bool levels = c->o->max_def > 0 || c->o->max_rep > 0;
    if (has_dictionary) {
        out->encoding_stats[out->n_encoding_stats++] =
            (tl_pq_page_encoding_stats){TL_PQ_DICTIONARY_PAGE, TL_PQ_PLAIN, 1};
    }
    for (int e = 0; e < KINDS; e++) {
        int32_t pages = c->pages_by_encoding[e];
        if (pages || (e == TL_PQ_PLAIN && has_dictionary) || (e == TL_PQ_RLE && levels)) {
            out->encodings[out->n_encodings++] = (tl_pq_encoding)e;
        }
        if (pages) {
            out->encoding_stats[out->n_encoding_stats++] = (tl_pq_page_encoding_stats){
                c->o->page_v2 ? TL_PQ_DATA_PAGE_V2 : TL_PQ_DATA_PAGE, (tl_pq_encoding)e, pages};
        }
    }
    return TL_OK;
}

/* The bytes of the chunk: the dictionary page, known only now, goes to the front. */
static tl_status join_pages(tl_pq_chunk_build *c, const tl_pq_dictionary *dictionary, tl_buf *out, size_t *shift,
                            tl_error *err) {
    if (!dictionary) {
        *out = c->pages;
        c->pages = (tl_buf){0};
        *shift = 0;
        return TL_OK;
    }
    tl_pq_page_header header = {
        .type = TL_PQ_DICTIONARY_PAGE, .n_values = (int32_t)dictionary->n, .encoding = TL_PQ_PLAIN};
    c->codec.content = content_of(c->o->type, TL_PQ_RLE_DICTIONARY);
    TL_TRY(put_page(c, &header, (tl_bytes){0}, (tl_bytes){0}, tl_buf_bytes(&dictionary->values), out, err));
    *shift = out->len;
    return tl_pq_said(tl_buf_add(out, c->pages.data, c->pages.len), err);
}

static tl_status fill_chunk(tl_pq_chunk_build *c, const tl_pq_dictionary *dictionary, tl_pq_chunk *out, tl_error *err) {
    size_t n = c->records.len / sizeof(tl_pq_page_record), shift;
    TL_TRY(join_pages(c, dictionary, &out->bytes, &shift, err));
    TL_TRY(tl_pq_said(make_offset_index(c, n, shift, &out->offset_index), err));
    TL_TRY(tl_pq_said(make_column_index(c, n, &out->column_index, &out->has_column_index), err));
    TL_TRY(tl_pq_said(make_statistics(c, &out->meta.stats), err));
    TL_TRY(tl_pq_said(make_encodings(c, dictionary != NULL, &out->meta), err));
    out->n_rows = c->n_rows;
    out->nan_count = c->bounds.nan_count;
    out->meta.has_meta = true;
    out->meta.type = c->o->type;
    out->meta.codec = c->o->codec;
    out->meta.n_values = c->n_levels;
    out->meta.uncompressed_size = c->uncompressed_size;
    out->meta.compressed_size = (int64_t)out->bytes.len;
    out->meta.data_page_offset = (int64_t)shift;
    out->arena = c->arena;
    c->arena = (tl_arena){0};
    return TL_OK;
}

tl_status tl_pq_chunk_build_finish(tl_pq_chunk_build *c, const tl_pq_dictionary *dictionary, tl_pq_chunk *out,
                                   tl_error *err) {
    *out = (tl_pq_chunk){0};
    if (c->pages_by_encoding[TL_PQ_RLE_DICTIONARY] == 0) {
        dictionary = NULL; /* no page points into it */
    }
    tl_status status = fill_chunk(c, dictionary, out, err);
    if (status != TL_OK) {
        tl_pq_chunk_free(out);
    }
    return status;
}

void tl_pq_chunk_free(tl_pq_chunk *chunk) {
    tl_buf_free(&chunk->bytes);
    tl_arena_free(&chunk->arena);
    *chunk = (tl_pq_chunk){0};
}
