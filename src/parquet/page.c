/*
 * The pages of a column chunk. Comes in: file bytes at the cursor's place. Goes out: decompressed pages, their slots
 * and levels in a vector, the chunk's dictionary in the cursor.
 */
#include <string.h>
#include <zlib.h>

#include "parquet/reader_internal.h"

/* `len` bytes at file offset `at`; loads as far as the cursor will need when they are not at hand. */
static tl_status window_bytes(tl_pq_cursor *c, uint64_t at, size_t len, const uint8_t **out, tl_error *err) {
    if (at < c->window_at || at - c->window_at > c->window_len || len > c->window_len - (at - c->window_at)) {
        if (at > c->end || len > c->end - at) {
            return tl_fail(err, TL_CORRUPT, "a page reaches beyond the column chunk");
        }
        uint64_t to = at + len > c->want_end ? at + len : c->want_end;
        c->window_len = 0;
        TL_TRY(tl_pq_reader_bytes(c->r, at, (size_t)(to - at), &c->owned, &c->owned_cap, &c->window, err));
        c->window_at = at;
        c->window_len = (size_t)(to - at);
    }
    *out = c->window + (at - c->window_at);
    return TL_OK;
}

tl_status tl_pq_page_peek(tl_pq_cursor *c, tl_pq_page_header *out, size_t *used, tl_error *err) {
    const uint8_t *p;
    if (c->at >= c->end) {
        return tl_fail(err, TL_CORRUPT, "the pages end before the values do");
    }
    TL_TRY(window_bytes(c, c->at, 1, &p, err));
    size_t have = c->window_len - (size_t)(c->at - c->window_at);
    tl_status status = tl_pq_read_page_header((tl_bytes){p, have}, out, used, err);
    if (status == TL_CORRUPT && c->at + have < c->end) { /* the window may have cut it */
        have = (size_t)(c->end - c->at);
        TL_TRY(window_bytes(c, c->at, have, &p, err));
        status = tl_pq_read_page_header((tl_bytes){p, have}, out, used, err);
    }
    return status;
}

void tl_pq_page_pass(tl_pq_cursor *c, const tl_pq_page_header *header, size_t used) {
    c->at += used + (uint64_t)header->compressed_size;
    c->values_left -= header->n_values;
    if (c->index.n_pages) {
        c->page_no++;
    }
}

static tl_status check_crc(const tl_pq_page_header *h, const uint8_t *body, tl_error *err) {
    uint32_t crc = (uint32_t)crc32(0, body, (uInt)h->compressed_size);
    return crc == (uint32_t)h->crc ? TL_OK
                                   : tl_fail(err, TL_CORRUPT, "a page's checksum is %08x, its header says %08x",
                                             (unsigned)crc, (unsigned)h->crc);
}

static tl_status grow_scratch(uint8_t **buffer, size_t *cap, size_t len, size_t limit, tl_error *err) {
    if (len <= *cap && *buffer) {
        return TL_OK;
    }
    if (len > limit) {
        return tl_fail(err, TL_NO_MEMORY, "a page of %zu bytes is larger than the memory limit", len);
    }
    tl_free(*buffer);
    *cap = 0;
    *buffer = tl_alloc_aligned(len + TL_PQ_SLACK);
    if (!*buffer) {
        return tl_fail_memory(err, len);
    }
    *cap = len;
    return TL_OK;
}

/* `in` decompressed into the reader's page buffer. */
static tl_status page_decompress(tl_pq_cursor *c, tl_bytes in, size_t len, tl_bytes *out, tl_error *err) {
    tl_pq_reader *r = c->r;
    TL_TRY(grow_scratch(&r->page, &r->page_cap, len, r->budget.limit, err));
    TL_TRY(tl_pq_decompress(r->options.codec ? r->options.codec : &r->codec, c->chunk->codec, in, r->page, len, err));
    *out = (tl_bytes){r->page, len};
    return TL_OK;
}

/* The whole body of a v1 page. */
static tl_status body_v1(tl_pq_cursor *c, const tl_pq_page_header *h, const uint8_t *body, tl_bytes *out,
                         tl_error *err) {
    tl_bytes in = {body, (size_t)h->compressed_size};
    size_t len = (size_t)h->uncompressed_size;
    if (c->chunk->codec == TL_PQ_UNCOMPRESSED) {
        *out = in;
        return in.len == len ? TL_OK : tl_fail(err, TL_CORRUPT, "an uncompressed page has two different lengths");
    }
    if (len == 0) {
        *out = (tl_bytes){body, 0};
        return TL_OK;
    }
    return page_decompress(c, in, len, out, err);
}

static tl_status cut_levels(tl_bytes *rest, tl_pq_encoding encoding, int16_t max, int64_t n, tl_bytes *out,
                            tl_error *err) {
    *out = (tl_bytes){rest->data, 0};
    if (max == 0) {
        return TL_OK;
    }
    size_t len, head = 0;
    if (encoding == TL_PQ_BIT_PACKED) {
        len = ((size_t)n * tl_pq_level_width(max) + 7) / 8;
    } else if (encoding != TL_PQ_RLE) {
        return tl_fail(err, TL_UNSUPPORTED, "levels in encoding number %d are not known", (int)encoding);
    } else if (rest->len < 4) {
        return tl_fail(err, TL_CORRUPT, "levels end too early");
    } else {
        len = tl_load_u32(rest->data);
        head = 4;
    }
    if (len > rest->len - head) {
        return tl_fail(err, TL_CORRUPT, "levels are longer than their page");
    }
    *out = (tl_bytes){rest->data + head, len};
    *rest = (tl_bytes){rest->data + head + len, rest->len - head - len};
    return TL_OK;
}

static tl_status open_v1(tl_pq_cursor *c, const uint8_t *body, tl_pq_page *out, tl_error *err) {
    const tl_pq_page_header *h = &out->header;
    TL_TRY(body_v1(c, h, body, &out->values, err));
    TL_TRY(cut_levels(&out->values, h->rep_encoding, c->max_rep, h->n_values, &out->rep, err));
    return cut_levels(&out->values, h->def_encoding, c->max_def, h->n_values, &out->def, err);
}

/* In v2 the levels stand uncompressed before the values. */
static tl_status open_v2(tl_pq_cursor *c, const uint8_t *body, tl_pq_page *out, tl_error *err) {
    tl_pq_page_header *h = &out->header;
    size_t rep = (size_t)h->rep_length, def = (size_t)h->def_length;
    size_t in_len = (size_t)h->compressed_size, out_len = (size_t)h->uncompressed_size;
    if (rep + def > in_len || rep + def > out_len) {
        return tl_fail(err, TL_CORRUPT, "levels are longer than their page");
    }
    out->rep = (tl_bytes){body, rep};
    out->def = (tl_bytes){body + rep, def};
    h->rep_encoding = h->def_encoding = TL_PQ_RLE;
    tl_bytes in = {body + rep + def, in_len - rep - def};
    out_len -= rep + def;
    if (c->chunk->codec == TL_PQ_UNCOMPRESSED || !h->is_compressed) {
        out->values = in;
        return in.len == out_len ? TL_OK : tl_fail(err, TL_CORRUPT, "an uncompressed page has two different lengths");
    }
    if (out_len == 0) {
        out->values = (tl_bytes){in.data, 0};
        return TL_OK;
    }
    return page_decompress(c, in, out_len, &out->values, err);
}

static tl_status take_dictionary(tl_pq_cursor *c, const tl_pq_page_header *h, const uint8_t *body, tl_error *err) {
    tl_bytes values;
    tl_pq_vector *d = &c->dict;
    if (c->has_dict) {
        return tl_fail(err, TL_CORRUPT, "a column chunk has two dictionaries");
    }
    if (h->encoding != TL_PQ_PLAIN && h->encoding != TL_PQ_PLAIN_DICTIONARY) {
        return tl_fail(err, TL_UNSUPPORTED, "a dictionary in encoding number %d is not known", (int)h->encoding);
    }
    TL_TRY(body_v1(c, h, body, &values, err));
    tl_pq_cursor_vector(c, d);
    d->keep_levels = false;
    size_t least = c->dict.type == TL_PQ_BYTE_ARRAY ? 4 : (size_t)d->width;
    if (d->type != TL_PQ_BOOLEAN && (uint64_t)h->n_values * least > values.len) {
        return tl_fail(err, TL_CORRUPT, "the dictionary page is too short for its %d values", h->n_values);
    }
    TL_TRY(tl_pq_vector_reserve(d, h->n_values, err));
    TL_TRY(tl_pq_decode_plain(values, h->n_values, d, err));
    if (d->type == TL_PQ_BYTE_ARRAY) {
        TL_TRY(tl_pq_vector_reserve_data(d, 0, err));
    }
    d->n = h->n_values;
    c->has_dict = true;
    return TL_OK;
}

/* Moves over the page and gives its body; dictionary pages are taken in. */
static tl_status enter_page(tl_pq_cursor *c, const tl_pq_page_header *h, size_t used, const uint8_t **body,
                            tl_error *err) {
    TL_TRY(window_bytes(c, c->at + used, (size_t)h->compressed_size, body, err));
    c->at += used + (uint64_t)h->compressed_size;
    if (h->has_crc && c->r->options.check_crc) {
        TL_TRY(check_crc(h, *body, err));
    }
    return h->type == TL_PQ_DICTIONARY_PAGE ? take_dictionary(c, h, *body, err) : TL_OK;
}

static bool is_data(const tl_pq_page_header *h) {
    return h->type == TL_PQ_DATA_PAGE || h->type == TL_PQ_DATA_PAGE_V2;
}

tl_status tl_pq_page_dictionary(tl_pq_cursor *c, tl_error *err) {
    tl_pq_page_header h;
    const uint8_t *body = NULL;
    size_t used;
    for (;;) {
        if (c->at >= c->end) {
            return TL_OK;
        }
        TL_TRY(tl_pq_page_peek(c, &h, &used, err));
        if (is_data(&h)) {
            return TL_OK;
        }
        TL_TRY(enter_page(c, &h, used, &body, err));
    }
}

tl_status tl_pq_page_next(tl_pq_cursor *c, tl_pq_page *out, tl_error *err) {
    const uint8_t *body = NULL;
    size_t used;
    *out = (tl_pq_page){0};
    c->page_rows_known = false;
    if (c->index.n_pages) {
        if (c->page_no >= c->index.n_pages) {
            return tl_fail(err, TL_CORRUPT, "the pages end before the rows do");
        }
        const tl_pq_page_location *p = &c->index.pages[c->page_no];
        c->at = (uint64_t)p->offset;
        uint64_t page_end = c->at + (uint64_t)p->compressed_size;
        c->want_end = c->want_end < page_end ? page_end : c->want_end;
        c->page_rows_known = true;
        c->page_rows = (c->page_no + 1 < c->index.n_pages ? p[1].first_row : c->n_rows) - p->first_row;
        c->page_no++;
    }
    do {
        TL_TRY(tl_pq_page_peek(c, &out->header, &used, err));
        TL_TRY(enter_page(c, &out->header, used, &body, err));
    } while (!is_data(&out->header));
    out->n_values = out->header.n_values;
    if (out->n_values > c->values_left) {
        return tl_fail(err, TL_CORRUPT, "the pages hold more values than the column chunk should");
    }
    c->values_left -= out->n_values;
    bool v2 = out->header.type == TL_PQ_DATA_PAGE_V2;
    return v2 ? open_v2(c, body, out, err) : open_v1(c, body, out, err);
}

bool tl_pq_page_indexed(const tl_pq_page *page) {
    return page->header.encoding == TL_PQ_RLE_DICTIONARY || page->header.encoding == TL_PQ_PLAIN_DICTIONARY;
}

/* ---- decoding ---- */

/* Validity of the slots that `n` definition levels make. */
static tl_status mark_slots(const uint8_t *def, int64_t n, tl_pq_vector *v, int64_t *slots, int64_t *present,
                            tl_error *err) {
    int64_t s = 0, p = 0;
    for (int64_t i = 0; i < n; i++) {
        s += def[i] >= v->anc_def;
        p += def[i] == v->max_def;
    }
    *slots = s;
    *present = p;
    TL_TRY(tl_pq_vector_reserve(v, s, err));
    if (s == p) {
        if (v->has_validity) {
            tl_pq_bits_fill(v->validity, v->n, s, true);
        }
        return TL_OK;
    }
    TL_TRY(tl_pq_vector_need_validity(v, err));
    tl_pq_bits_fill(v->validity, v->n, s, false);
    for (int64_t i = 0, at = v->n; i < n; i++) {
        if (def[i] == v->max_def) {
            tl_bit_set(v->validity, at);
        }
        at += def[i] >= v->anc_def;
    }
    return TL_OK;
}

static tl_status decode_levels(tl_pq_cursor *c, const tl_pq_page *page, tl_pq_vector *v, int64_t *slots,
                               int64_t *present, tl_error *err) {
    const tl_pq_page_header *h = &page->header;
    int64_t n = page->n_values;
    *slots = *present = n;
    if (v->keep_levels) {
        TL_TRY(tl_pq_vector_reserve_levels(v, n, err));
    }
    if (c->max_rep > 0) {
        TL_TRY(tl_pq_decode_levels(page->rep, h->rep_encoding, c->max_rep, n, v->rep + v->n_levels, err));
    }
    if (c->max_def == 0) {
        TL_TRY(tl_pq_vector_reserve(v, n, err));
    } else if (c->flat_optional && h->def_encoding == TL_PQ_RLE) {
        TL_TRY(tl_pq_vector_reserve(v, n, err));
        TL_TRY(tl_pq_decode_validity(page->def, n, v, present, err));
    } else {
        if (!v->keep_levels) {
            TL_TRY(grow_scratch(&c->r->levels, &c->r->levels_cap, (size_t)n, c->r->budget.limit, err));
        }
        uint8_t *def = v->keep_levels ? v->def + v->n_levels : c->r->levels;
        TL_TRY(tl_pq_decode_levels(page->def, h->def_encoding, c->max_def, n, def, err));
        TL_TRY(mark_slots(def, n, v, slots, present, err));
    }
    v->n_levels += v->keep_levels ? n : 0;
    return TL_OK;
}

/* Encodings that write every value out cannot hold more values than bytes: refused before memory is asked for. */
static tl_status check_claim(const tl_pq_cursor *c, const tl_pq_page *page, const tl_pq_vector *v, tl_error *err) {
    if (c->max_def > 0) {
        return TL_OK;
    }
    size_t width = v->type == TL_PQ_BYTE_ARRAY ? 4 : (size_t)v->width;
    bool whole = page->header.encoding == TL_PQ_PLAIN || page->header.encoding == TL_PQ_BYTE_STREAM_SPLIT;
    uint64_t room = v->type == TL_PQ_BOOLEAN ? (uint64_t)page->values.len * 8 : page->values.len;
    return whole && (uint64_t)page->n_values * width > room ? tl_fail(err, TL_CORRUPT, "values end too early") : TL_OK;
}

tl_status tl_pq_page_decode(tl_pq_cursor *c, const tl_pq_page *page, tl_pq_vector *v, tl_error *err) {
    int64_t slots, present;
    TL_TRY(check_claim(c, page, v, err));
    TL_TRY(decode_levels(c, page, v, &slots, &present, err));
    TL_TRY(tl_pq_decode_values(page->header.encoding, page->values, present, c->has_dict ? &c->dict : NULL, v,
                               &c->r->scratch, err));
    tl_pq_vector_spread(v, present, slots);
    v->n += slots;
    v->n_nulls += slots - present;
    return TL_OK;
}
