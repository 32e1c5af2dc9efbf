/*
 * One leaf of one row group. Comes in: pieces of a column and runs. Goes out: pages, cut by rows and bytes at row
 * boundaries, with levels encoded as they come, and bounds kept per page.
 */
#include "base/mem.h"
#include "parquet/write_internal.h"

struct tl_pq_column_writer {
    tl_pq_column_options o; /* defaults filled in */
    tl_pq_order order;
    tl_pq_stage stage;
    tl_pq_dictionary dictionary;
    tl_pq_held held;      /* pages that wait for the dictionary to be sorted */
    bool dictionary_full; /* the rest goes to the fall-back, from the next row on */
    tl_pq_chunk_build chunk;
    bool finished;
    /* the page in the making */
    tl_buf def_bytes, rep_bytes, body;
    tl_pq_rle_out def, rep;
    int64_t n_levels, n_values, n_rows;
    size_t value_bytes; /* as if all values were PLAIN */
    tl_pq_bounds bounds;
    /* dictionary indices of byte arrays whose value the page's bounds know: stamps[index] == stamp */
    tl_buf stamps;
    uint32_t stamp;
};

/* Dictionary pages are small however large their values are; this keeps what a reader gets out of one page in bounds.
 */
#define DICTIONARY_BLOW_UP 64

/* A stretch of what was added: levels [level, level + n_levels), values [value, value + n_values). */
typedef struct tl_pq_piece {
    int64_t level, value, n_levels, n_values, n_rows;
} tl_pq_piece;

/* ---- setting up ---- */

tl_pq_column_options tl_pq_column_options_of(const tl_pq_schema_element *e, const tl_pq_leaf *leaf) {
    tl_pq_column_options o = {.type = e->type,
                              .type_length = e->type_length,
                              .max_def = leaf->max_def,
                              .max_rep = leaf->max_rep,
                              .is_signed = true,
                              .codec = TL_PQ_ZSTD,
                              .level = INT32_MIN};
    switch (e->logical) {
    case TL_PQ_LOGICAL_STRING:
    case TL_PQ_LOGICAL_ENUM:
    case TL_PQ_LOGICAL_JSON: o.utf8 = true; break;
    case TL_PQ_LOGICAL_INTEGER: o.is_signed = e->is_signed; break;
    case TL_PQ_LOGICAL_DECIMAL: o.signed_bytes = true; break;
    case TL_PQ_LOGICAL_FLOAT16:
    case TL_PQ_LOGICAL_INTERVAL:
    case TL_PQ_LOGICAL_NULL:
    case TL_PQ_LOGICAL_OTHER: o.no_bounds = true; break;
    default: break;
    }
    return o;
}

static bool encoding_fits(tl_pq_type type, tl_pq_encoding e) {
    bool byte_array = type == TL_PQ_BYTE_ARRAY, integer = type == TL_PQ_INT32 || type == TL_PQ_INT64;
    switch (e) {
    case TL_PQ_PLAIN: return true;
    case TL_PQ_RLE: return type == TL_PQ_BOOLEAN;
    case TL_PQ_RLE_DICTIONARY: return type != TL_PQ_BOOLEAN;
    case TL_PQ_DELTA_BINARY_PACKED: return integer;
    case TL_PQ_DELTA_LENGTH_BYTE_ARRAY: return byte_array;
    case TL_PQ_DELTA_BYTE_ARRAY: return byte_array || type == TL_PQ_FIXED;
    case TL_PQ_BYTE_STREAM_SPLIT: return integer || type == TL_PQ_FLOAT || type == TL_PQ_DOUBLE || type == TL_PQ_FIXED;
    case TL_PQ_PLAIN_DICTIONARY:
    case TL_PQ_BIT_PACKED: return false;
    }
    return false;
}

static int32_t native_width(const tl_pq_column_options *o) {
    switch (o->type) {
    case TL_PQ_BOOLEAN: return 1;
    case TL_PQ_INT32:
    case TL_PQ_FLOAT: return 4;
    case TL_PQ_INT64:
    case TL_PQ_DOUBLE: return 8;
    case TL_PQ_INT96: return 12;
    case TL_PQ_FIXED: return o->type_length;
    case TL_PQ_BYTE_ARRAY: return 0;
    }
    return 0;
}

static tl_status check_options(const tl_pq_column_options *o, tl_error *err) {
    if (o->type == TL_PQ_FIXED && o->type_length <= 0) {
        return tl_fail(err, TL_INVALID, "a fixed-length column needs a length, not %d", (int)o->type_length);
    }
    if (o->max_def < 0 || o->max_rep < 0 || o->max_def > 255 || o->max_rep > o->max_def) {
        return tl_fail(err, TL_INVALID,
                       "levels of a column must be 0 to 255, repetition at most definition; got %d, %d", o->max_rep,
                       o->max_def);
    }
    if (!encoding_fits(o->type, o->encoding) || !encoding_fits(o->type, o->fallback) ||
        o->fallback == TL_PQ_RLE_DICTIONARY) {
        return tl_fail(err, TL_INVALID, "encoding %d (fall-back %d) does not fit columns of physical type %d",
                       (int)o->encoding, (int)o->fallback, (int)o->type);
    }
    if (o->page_rows < 0 || o->page_bytes < 0 || o->bounds_bytes < 0 || o->dictionary_max_values < 0 ||
        o->dictionary_max_bytes < 0) {
        return tl_fail(err, TL_INVALID, "a limit of the column writer is negative");
    }
    return TL_OK;
}

static void begin_page(tl_pq_column_writer *w, tl_pq_encoding encoding) {
    tl_pq_stage_begin(&w->stage, encoding);
    w->def_bytes.len = w->rep_bytes.len = w->body.len = 0;
    tl_pq_rle_begin(&w->def, tl_pq_bits((uint64_t)w->o.max_def), &w->def_bytes);
    tl_pq_rle_begin(&w->rep, tl_pq_bits((uint64_t)w->o.max_rep), &w->rep_bytes);
    w->n_levels = w->n_values = w->n_rows = 0;
    w->value_bytes = 0;
    tl_pq_bounds_begin(&w->bounds);
    if (++w->stamp == 0) { /* wrapped around: old stamps would look new */
        w->stamps.len = 0;
        w->stamp = 1;
    }
}

tl_status tl_pq_column_writer_reset(tl_pq_column_writer *w, const tl_pq_column_options *options, tl_error *err) {
    TL_TRY(check_options(options, err));
    w->o = *options;
    tl_pq_column_options *o = &w->o;
    o->dictionary_max_values = o->dictionary_max_values ? o->dictionary_max_values : 131072;
    o->dictionary_max_bytes = o->dictionary_max_bytes ? o->dictionary_max_bytes : 1 << 20;
    o->page_rows = o->page_rows ? o->page_rows : 20000;
    o->page_bytes = o->page_bytes ? o->page_bytes : 1 << 20;
    o->bounds_bytes = o->bounds_bytes ? o->bounds_bytes : 64;
    w->order = tl_pq_order_of(o);
    w->stage.type = o->type;
    w->stage.width = native_width(o);
    w->dictionary_full = false;
    w->finished = false;
    TL_TRY(tl_pq_said(tl_pq_dictionary_begin(&w->dictionary, w->stage.width, (uint32_t)o->dictionary_max_values,
                                             (size_t)o->dictionary_max_bytes),
                      err));
    tl_pq_held_begin(&w->held);
    tl_pq_chunk_build_begin(&w->chunk, o);
    begin_page(w, o->encoding);
    return TL_OK;
}

tl_status tl_pq_column_writer_create(const tl_pq_column_options *options, tl_pq_column_writer **out, tl_error *err) {
    tl_pq_column_writer *w = tl_calloc(1, sizeof *w);
    if (!w) {
        return tl_fail_memory(err, sizeof *w);
    }
    tl_status status = tl_pq_column_writer_reset(w, options, err);
    if (status != TL_OK) {
        tl_pq_column_writer_free(w);
        return status;
    }
    *out = w;
    return TL_OK;
}

void tl_pq_column_writer_free(tl_pq_column_writer *w) {
    if (!w) {
        return;
    }
    tl_pq_stage_free(&w->stage);
    tl_pq_dictionary_free(&w->dictionary);
    tl_pq_held_free(&w->held);
    tl_pq_chunk_build_free(&w->chunk);
    tl_buf_free(&w->def_bytes);
    tl_buf_free(&w->rep_bytes);
    tl_buf_free(&w->body);
    tl_buf_free(&w->stamps);
    tl_pq_bounds_free(&w->bounds);
    tl_free(w);
}

size_t tl_pq_column_writer_held(const tl_pq_column_writer *w) {
    const tl_pq_stage *s = &w->stage;
    const tl_pq_dictionary *d = &w->dictionary;
    const tl_pq_held *h = &w->held;
    const tl_pq_chunk_build *c = &w->chunk;
    size_t stage = s->raw.cap + s->lengths.cap + s->prefixes.cap + s->previous.cap + s->indices.cap + s->runs.cap;
    size_t dictionary = d->values.cap + d->offsets.cap + (d->slots ? (d->mask + 1) * sizeof(uint64_t) : 0) +
                        (d->cells ? (d->cell_mask + 1) * sizeof(uint32_t) : 0);
    size_t held = h->pages.cap + h->levels.cap + h->indices.cap + h->runs.cap;
    size_t chunk = c->pages.cap + c->records.cap + c->plain.cap + c->header.cap + tl_pq_codec_state_held(&c->codec);
    return stage + dictionary + held + chunk + w->def_bytes.cap + w->rep_bytes.cap + w->body.cap + w->stamps.cap;
}

/* ---- pages ---- */

static bool sorts_dictionary(const tl_pq_column_writer *w) {
    return w->o.sort_dictionary && (w->stage.width == 4 || w->stage.width == 8) && w->o.type != TL_PQ_FIXED;
}

static tl_status close_page(tl_pq_column_writer *w, tl_error *err) {
    if (w->n_levels == 0) {
        return TL_OK;
    }
    TL_TRY(tl_pq_said(tl_pq_rle_end(&w->def), err));
    TL_TRY(tl_pq_said(tl_pq_rle_end(&w->rep), err));
    tl_pq_encoding encoding = w->stage.encoding;
    tl_bytes body = {0};
    bool hold = encoding == TL_PQ_RLE_DICTIONARY && w->dictionary.n > 0 && sorts_dictionary(w);
    if (encoding == TL_PQ_RLE_DICTIONARY && w->dictionary.n == 0) {
        encoding = TL_PQ_PLAIN; /* nulls alone, and there may never be a dictionary page */
    } else if (!hold && !tl_pq_stage_plain(&w->stage, &body)) {
        TL_TRY(tl_pq_said(tl_pq_stage_encode(&w->stage, w->dictionary.n, &w->body), err));
        body = tl_buf_bytes(&w->body);
    }
    const tl_pq_page_facts facts = {.n_levels = w->n_levels,
                                    .n_values = w->n_values,
                                    .n_rows = w->n_rows,
                                    .rep = tl_buf_bytes(&w->rep_bytes),
                                    .def = tl_buf_bytes(&w->def_bytes),
                                    .body = body,
                                    .encoding = encoding,
                                    .bounds = &w->bounds};
    TL_TRY(hold ? tl_pq_said(tl_pq_held_add(&w->held, &w->stage, &facts), err)
                : tl_pq_chunk_build_page(&w->chunk, &facts, err));
    begin_page(w, w->stage.encoding);
    return TL_OK;
}

/* After a dictionary overflow: the page so far keeps its indices, later ones use the fall-back. Between rows only. */
static tl_status fall_back(tl_pq_column_writer *w, tl_error *err) {
    TL_TRY(close_page(w, err));
    TL_TRY(tl_pq_held_release(&w->held, &w->dictionary, &w->body, &w->chunk, err));
    w->stage.encoding = w->o.fallback;
    w->dictionary_full = false;
    return TL_OK;
}

static bool uses_dictionary(const tl_pq_column_writer *w) {
    return w->stage.encoding == TL_PQ_RLE_DICTIONARY;
}

static size_t byte_limit(const tl_pq_column_writer *w) {
    return (size_t)w->o.page_bytes * (uses_dictionary(w) ? DICTIONARY_BLOW_UP : 1);
}

static bool page_is_full(const tl_pq_column_writer *w) {
    return w->n_rows >= w->o.page_rows || w->value_bytes >= byte_limit(w);
}

static size_t value_size(const tl_pq_column_writer *w, const void *values, int64_t i) {
    return w->stage.width ? (size_t)w->stage.width : ((const tl_bytes *)values)[i].len + 4;
}

/* ---- cutting ---- */

static int64_t count_present(const uint8_t *def, int64_t n, int16_t max_def) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        count += def[i] == max_def;
    }
    return count;
}

/* How many levels come before value number `n` (0-based) of the levels. */
static int64_t levels_before_value(const uint8_t *def, int64_t n_levels, int16_t max_def, int64_t n) {
    for (int64_t i = 0; i < n_levels; i++) {
        if (def[i] == max_def && n-- == 0) {
            return i;
        }
    }
    return n_levels;
}

static const uint8_t *levels_at(const uint8_t *levels, int64_t at) {
    return levels ? levels + at : NULL;
}

static tl_status too_long(int64_t value, size_t len, tl_error *err) {
    return tl_fail(err, TL_INVALID, "value %lld of this piece is %zu bytes long: Parquet values end at 2^31-1 bytes",
                   (long long)value, len);
}

/* Flat columns: every level is a row. The piece ends where the page is full. */
static tl_status cut_flat(const tl_pq_column_writer *w, const tl_pq_values *v, tl_pq_piece *p, tl_error *err) {
    int64_t n = v->n_levels - p->level, room = w->o.page_rows - w->n_rows;
    n = n < room ? n : room;
    size_t bytes_left = byte_limit(w) - w->value_bytes;
    if (w->stage.width) {
        int64_t fit = (int64_t)(bytes_left / (size_t)w->stage.width) + (bytes_left % (size_t)w->stage.width != 0);
        n = n < fit ? n : fit;
    }
    const uint8_t *def = levels_at(v->def, p->level);
    int64_t n_values = def ? count_present(def, n, w->o.max_def) : n;
    n_values = n_values < v->n_values - p->value ? n_values : v->n_values - p->value;
    if (w->stage.width == 0) {
        const tl_bytes *values = (const tl_bytes *)v->values + p->value;
        size_t bytes = 0;
        for (int64_t i = 0; i < n_values; i++) {
            if (values[i].len > INT32_MAX) {
                return too_long(p->value + i, values[i].len, err);
            }
            bytes += values[i].len + 4;
            if (bytes >= bytes_left && i + 1 < n_values) {
                n = def ? levels_before_value(def, n, w->o.max_def, i + 1) : i + 1;
                n_values = i + 1;
                break;
            }
        }
    }
    p->n_levels = p->n_rows = n;
    p->n_values = n_values;
    return TL_OK;
}

/* Nested columns: the piece ends before a row that finds the page full, or with what was added. */
static tl_status cut_nested(const tl_pq_column_writer *w, const tl_pq_values *v, tl_pq_piece *p, tl_error *err) {
    size_t bytes = w->value_bytes, limit = byte_limit(w);
    int64_t i = p->level, value = p->value, rows = 0;
    for (; i < v->n_levels; i++) {
        if (v->rep[i] == 0) {
            if (i > p->level && (w->n_rows + rows >= w->o.page_rows || bytes >= limit)) {
                break;
            }
            rows++;
        }
        if (!v->def || v->def[i] == w->o.max_def) {
            size_t size = value < v->n_values ? value_size(w, v->values, value) : 0;
            if (w->stage.width == 0 && size > (size_t)INT32_MAX + 4) {
                return too_long(value, size - 4, err);
            }
            bytes += size;
            value++;
        }
    }
    p->n_levels = i - p->level;
    p->n_rows = rows;
    p->n_values = (value < v->n_values ? value : v->n_values) - p->value;
    return TL_OK;
}

/* Shortens a nested piece to `n_levels` levels. */
static void shorten(const tl_pq_column_writer *w, const tl_pq_values *v, tl_pq_piece *p, int64_t n_levels) {
    p->n_levels = n_levels;
    p->n_rows = 0;
    for (int64_t i = 0; i < n_levels; i++) {
        p->n_rows += v->rep[p->level + i] == 0;
    }
    p->n_values = v->def ? count_present(v->def + p->level, n_levels, w->o.max_def) : n_levels;
}

/* ---- the dictionary ---- */

static tl_status dictionary_failed(tl_status status, tl_error *err) {
    if (status == TL_UNSUPPORTED) {
        return tl_fail(err, status,
                       "one row's values fill more than 2 GiB: a Parquet dictionary page cannot hold them");
    }
    return tl_pq_said(status, err);
}

static tl_status map_indices(tl_pq_column_writer *w, const uint8_t *values, int64_t n, bool beyond, int64_t *mapped,
                             tl_error *err) {
    tl_buf *to = &w->stage.indices;
    size_t done = 0;
    TL_TRY(tl_pq_said(tl_buf_reserve(to, (size_t)n * 4), err));
    uint32_t *indices = (uint32_t *)(void *)(to->data + to->len);
    if (n > 0) {
        TL_TRY(dictionary_failed(tl_pq_dictionary_map(&w->dictionary, values, (size_t)n, beyond, indices, &done), err));
    }
    *mapped = (int64_t)done;
    return TL_OK;
}

static const uint8_t *values_at(const tl_pq_column_writer *w, const tl_pq_values *v, int64_t value) {
    size_t size = w->stage.width ? (size_t)w->stage.width : sizeof(tl_bytes);
    return v->values ? (const uint8_t *)v->values + (size_t)value * size : NULL;
}

/* Maps the piece's values. When the dictionary is full the piece is shortened to the rows before the value that did
 * not go in; a row that began earlier is finished beyond the limits, since rows are never split over pages. */
static tl_status map_piece(tl_pq_column_writer *w, const tl_pq_values *v, tl_pq_piece *p, tl_error *err) {
    int64_t mapped;
    const uint8_t *values = values_at(w, v, p->value);
    TL_TRY(map_indices(w, values, p->n_values, false, &mapped, err));
    if (mapped == p->n_values) {
        return TL_OK;
    }
    w->dictionary_full = true;
    const uint8_t *def = levels_at(v->def, p->level);
    int64_t at = def ? levels_before_value(def, p->n_levels, w->o.max_def, mapped) : mapped;
    if (w->o.max_rep == 0) {
        p->n_levels = p->n_rows = at;
        p->n_values = mapped;
        return TL_OK;
    }
    const uint8_t *rep = v->rep + p->level;
    int64_t row = at;
    while (row > 0 && rep[row] != 0) {
        row--;
    }
    if (rep[row] == 0) {
        shorten(w, v, p, row);
        return TL_OK;
    }
    for (row = at; row < p->n_levels && rep[row] != 0;) {
        row++;
    }
    shorten(w, v, p, row);
    return map_indices(w, values, p->n_values, true, &mapped, err);
}

/* Bounds of byte arrays from the dictionary's values: each counts once a page. */
static tl_status bound_indices(tl_pq_column_writer *w, const uint32_t *indices, int64_t n) {
    size_t need = (size_t)w->dictionary.n * 4;
    if (w->stamps.len < need) {
        TL_TRY(tl_buf_reserve(&w->stamps, need - w->stamps.len));
        memset(w->stamps.data + w->stamps.len, 0, need - w->stamps.len);
        w->stamps.len = need;
    }
    uint32_t *stamps = (uint32_t *)(void *)w->stamps.data;
    bool fixed = w->stage.width != 0;
    for (int64_t i = 0; i < n; i++) {
        if (stamps[indices[i]] != w->stamp) {
            stamps[indices[i]] = w->stamp;
            tl_bytes value = tl_pq_dictionary_value(&w->dictionary, indices[i]);
            TL_TRY(tl_pq_bounds_add(&w->bounds, &w->o, fixed ? (const void *)value.data : &value, 1));
        }
    }
    return TL_OK;
}

/* ---- adding ---- */

static tl_status add_levels(tl_pq_column_writer *w, const tl_pq_values *v, const tl_pq_piece *p) {
    if (w->o.max_def > 0) {
        TL_TRY(v->def ? tl_pq_rle_add_u8(&w->def, v->def + p->level, (size_t)p->n_levels)
                      : tl_pq_rle_add_run(&w->def, (uint32_t)w->o.max_def, (uint64_t)p->n_levels));
    }
    if (w->o.max_rep > 0) {
        TL_TRY(tl_pq_rle_add_u8(&w->rep, v->rep + p->level, (size_t)p->n_levels));
    }
    return TL_OK;
}

static bool has_byte_order(const tl_pq_column_writer *w) {
    return w->order == TL_PQ_ORDER_BYTES || w->order == TL_PQ_ORDER_SIGNED_BYTES;
}

/* The values of a piece go to the page; indices were made before. */
static tl_status add_values(tl_pq_column_writer *w, const tl_pq_values *v, const tl_pq_piece *p, bool fills_page) {
    const uint8_t *values = values_at(w, v, p->value);
    size_t n = (size_t)p->n_values;
    if (uses_dictionary(w)) {
        const uint32_t *indices = (const uint32_t *)(const void *)(w->stage.indices.data + w->stage.indices.len);
        w->stage.indices.len += n * 4;
        return has_byte_order(w) ? bound_indices(w, indices, p->n_values)
                                 : tl_pq_bounds_add(&w->bounds, &w->o, values, n);
    }
    TL_TRY(tl_pq_bounds_add(&w->bounds, &w->o, values, n));
    bool copies_anyway = w->stage.width == 0 || w->stage.encoding == TL_PQ_DELTA_BYTE_ARRAY;
    if (fills_page && w->n_values == 0 && !copies_anyway && n > 0) {
        w->stage.direct = values;
        w->stage.n_values = p->n_values;
        return TL_OK;
    }
    return tl_pq_stage_add(&w->stage, values, n);
}

static tl_status add_failed(tl_status status, tl_error *err) {
    if (status == TL_UNSUPPORTED) {
        return tl_fail(err, status, "one row's values fill more than 2 GiB: a Parquet page cannot hold them");
    }
    return tl_pq_said(status, err);
}

static tl_status add_piece(tl_pq_column_writer *w, const tl_pq_values *v, const tl_pq_piece *p, tl_error *err) {
    size_t bytes = 0;
    if (p->n_values > 0) {
        bytes = tl_pq_stage_measure(&w->stage, values_at(w, v, p->value), (size_t)p->n_values);
    }
    TL_TRY(tl_pq_said(add_levels(w, v, p), err));
    w->n_levels += p->n_levels;
    w->n_rows += p->n_rows;
    w->value_bytes += bytes;
    bool full = w->o.max_rep == 0 && page_is_full(w);
    TL_TRY(add_failed(add_values(w, v, p, full), err));
    w->n_values += p->n_values;
    return full ? close_page(w, err) : TL_OK;
}

static tl_status check_values(const tl_pq_column_writer *w, const tl_pq_values *v, tl_error *err) {
    if (w->finished) {
        return tl_fail(err, TL_INTERNAL, "the column chunk is finished: reset the writer before more values");
    }
    if (v->n_levels < 0 || v->n_values < 0 || (w->o.max_rep > 0 && v->n_levels > 0 && !v->rep) ||
        (v->n_values > 0 && !v->values)) {
        return tl_fail(err, TL_INTERNAL, "a piece of a column lacks its levels or its values");
    }
    int64_t present = v->def && w->o.max_def > 0 ? count_present(v->def, v->n_levels, w->o.max_def) : v->n_levels;
    if (present != v->n_values) {
        return tl_fail(err, TL_INTERNAL, "a piece of a column has %lld values where its levels say %lld",
                       (long long)v->n_values, (long long)present);
    }
    if (w->o.max_rep > 0 && v->n_levels > 0 && w->n_levels == 0 && v->rep[0] != 0) {
        return tl_fail(err, TL_INTERNAL, "a column chunk begins in the middle of a row");
    }
    return TL_OK;
}

tl_status tl_pq_column_writer_add(tl_pq_column_writer *w, const tl_pq_values *values, tl_error *err) {
    tl_pq_values v = *values;
    TL_TRY(check_values(w, &v, err));
    if (w->o.max_def == 0) {
        v.def = NULL;
    }
    for (tl_pq_piece p = {0}; p.level < v.n_levels;) {
        if (w->o.max_rep == 0) {
            TL_TRY(cut_flat(w, &v, &p, err));
        } else {
            bool row_begins = v.rep[p.level] == 0;
            if (row_begins && w->dictionary_full) {
                TL_TRY(fall_back(w, err));
            } else if (row_begins && page_is_full(w)) {
                TL_TRY(close_page(w, err));
            }
            TL_TRY(cut_nested(w, &v, &p, err));
        }
        if (uses_dictionary(w)) {
            TL_TRY(map_piece(w, &v, &p, err));
        }
        TL_TRY(add_piece(w, &v, &p, err));
        if (w->o.max_rep == 0 && w->dictionary_full) {
            TL_TRY(fall_back(w, err));
        }
        p.level += p.n_levels;
        p.value += p.n_values;
    }
    return TL_OK;
}

/* ---- runs ---- */

/* `n` rows of one value (or null) that fit the page. */
static tl_status add_run_piece(tl_pq_column_writer *w, const void *value, const uint32_t *index, int64_t n,
                               tl_error *err) {
    if (w->o.max_def > 0) {
        uint32_t level = (uint32_t)(value ? w->o.max_def : w->o.max_def - 1);
        TL_TRY(tl_pq_said(tl_pq_rle_add_run(&w->def, level, (uint64_t)n), err));
    }
    w->n_levels += n;
    w->n_rows += n;
    if (value) {
        w->n_values += n;
        w->value_bytes += (size_t)n * value_size(w, value, 0);
        if (index && has_byte_order(w)) {
            TL_TRY(tl_pq_said(bound_indices(w, index, 1), err));
        } else {
            TL_TRY(tl_pq_said(tl_pq_bounds_add(&w->bounds, &w->o, value, 1), err));
            bool nan = w->order == TL_PQ_ORDER_FLOAT && tl_pq_bounds_is_nan(w->o.type, value);
            w->bounds.nan_count += nan ? n - 1 : 0;
        }
        TL_TRY(add_failed(index ? tl_pq_stage_add_index_run(&w->stage, *index, (uint64_t)n)
                                : tl_pq_stage_add_repeated(&w->stage, value, (size_t)n),
                          err));
    }
    return page_is_full(w) ? close_page(w, err) : TL_OK;
}

static tl_status check_run(const tl_pq_column_writer *w, const void *value, int64_t count, tl_error *err) {
    if (w->finished) {
        return tl_fail(err, TL_INTERNAL, "the column chunk is finished: reset the writer before more values");
    }
    if (w->o.max_rep > 0 || count < 0 || (!value && w->o.max_def == 0)) {
        return tl_fail(err, TL_INTERNAL, "runs are for flat columns, and runs of nulls for optional ones");
    }
    if (value && w->stage.width == 0 && ((const tl_bytes *)value)->len > INT32_MAX) {
        return tl_fail(err, TL_INVALID, "a value is %zu bytes long: Parquet values end at 2^31-1 bytes",
                       ((const tl_bytes *)value)->len);
    }
    return TL_OK;
}

tl_status tl_pq_column_writer_add_run(tl_pq_column_writer *w, const void *value, int64_t count, tl_error *err) {
    TL_TRY(check_run(w, value, count, err));
    bool known = false;
    uint32_t index = 0;
    while (count > 0) {
        if (value && uses_dictionary(w) && !known) {
            size_t mapped;
            TL_TRY(dictionary_failed(tl_pq_dictionary_map(&w->dictionary, value, 1, false, &index, &mapped), err));
            known = mapped == 1;
            if (!known) {
                TL_TRY(fall_back(w, err));
            }
        }
        int64_t room = w->o.page_rows - w->n_rows, n = count < room ? count : room;
        if (value) {
            size_t size = value_size(w, value, 0), left = byte_limit(w) - w->value_bytes;
            int64_t fit = (int64_t)(left / size) + (left % size != 0);
            n = n < fit ? n : fit;
        }
        TL_TRY(add_run_piece(w, value, uses_dictionary(w) ? &index : NULL, n, err));
        count -= n;
    }
    return TL_OK;
}

/* ---- the end ---- */

int64_t tl_pq_column_writer_rows(const tl_pq_column_writer *w) {
    return w->chunk.n_rows + w->held.n_rows + w->n_rows;
}

size_t tl_pq_column_writer_bytes(const tl_pq_column_writer *w) {
    bool dictionary = w->o.encoding == TL_PQ_RLE_DICTIONARY;
    return w->chunk.pages.len + w->held.indices.len / 2 + w->def_bytes.len + w->rep_bytes.len +
           (dictionary ? w->dictionary.values.len : 0) + tl_pq_stage_estimate(&w->stage, w->dictionary.n);
}

/* Buffers of unusually large values are not kept. */
static void drop_large(tl_pq_column_writer *w) {
    tl_buf *const buffers[] = {&w->stage.raw, &w->stage.previous, &w->body, &w->chunk.plain};
    for (size_t i = 0; i < TL_COUNT(buffers); i++) {
        if (buffers[i]->cap > (size_t)64 << 20) {
            tl_buf_free(buffers[i]);
        }
    }
}

tl_status tl_pq_column_writer_finish(tl_pq_column_writer *w, tl_pq_chunk *out, tl_error *err) {
    *out = (tl_pq_chunk){0};
    if (w->finished) {
        return tl_fail(err, TL_INTERNAL, "the column chunk is finished already");
    }
    TL_TRY(close_page(w, err));
    TL_TRY(tl_pq_held_release(&w->held, &w->dictionary, &w->body, &w->chunk, err));
    w->finished = true;
    TL_TRY(tl_pq_chunk_build_finish(&w->chunk, &w->dictionary, out, err));
    drop_large(w);
    return TL_OK;
}
