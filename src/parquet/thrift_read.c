/*
 * Reading the Parquet structures. Comes in: bytes of a footer, a page header or an index, hostile until checked. Goes
 * out: the structures of format.h, in an arena.
 */
#include "parquet/thrift.h"
#include "parquet/thrift_in_internal.h"

/* ---- schema ---- */

static void read_decimal(tl_thrift_in *in, tl_pq_schema_element *e) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_i32(in, &f, &e->scale); break;
        case 2: tl_thrift_field_i32(in, &f, &e->precision); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_unit(tl_thrift_in *in, tl_pq_schema_element *e) {
    tl_thrift_field f = {0};
    bool seen = false;
    while (tl_thrift_next_field(in, &f)) {
        if (f.id >= 1 && f.id <= 3) {
            e->unit = (tl_pq_unit)(f.id - 1);
            seen = true;
        }
        tl_thrift_skip_field(in, &f);
    }
    if (!seen) {
        tl_thrift_bad(in, "a time unit is not known");
    }
}

static void read_time(tl_thrift_in *in, tl_pq_schema_element *e) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        if (f.id == 1) {
            tl_thrift_field_bool(in, &f, &e->utc);
        } else if (f.id == 2 && f.wire == TL_WIRE_STRUCT) {
            read_unit(in, e);
        } else {
            tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_integer(tl_thrift_in *in, tl_pq_schema_element *e) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_i32(in, &f, &e->bit_width); break;
        case 2: tl_thrift_field_bool(in, &f, &e->is_signed); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

static tl_pq_logical logical_of_field(int32_t id) {
    switch (id) {
    case 1: return TL_PQ_LOGICAL_STRING;
    case 2: return TL_PQ_LOGICAL_MAP;
    case 3: return TL_PQ_LOGICAL_LIST;
    case 4: return TL_PQ_LOGICAL_ENUM;
    case 5: return TL_PQ_LOGICAL_DECIMAL;
    case 6: return TL_PQ_LOGICAL_DATE;
    case 7: return TL_PQ_LOGICAL_TIME;
    case 8: return TL_PQ_LOGICAL_TIMESTAMP;
    case 10: return TL_PQ_LOGICAL_INTEGER;
    case 11: return TL_PQ_LOGICAL_NULL;
    case 12: return TL_PQ_LOGICAL_JSON;
    case 13: return TL_PQ_LOGICAL_BSON;
    case 14: return TL_PQ_LOGICAL_UUID;
    case 15: return TL_PQ_LOGICAL_FLOAT16;
    default: return TL_PQ_LOGICAL_OTHER;
    }
}

static void read_logical(tl_thrift_in *in, tl_pq_schema_element *e) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        if (f.wire != TL_WIRE_STRUCT) {
            tl_thrift_skip_field(in, &f);
            continue;
        }
        e->logical = logical_of_field(f.id);
        switch (e->logical) {
        case TL_PQ_LOGICAL_DECIMAL: read_decimal(in, e); break;
        case TL_PQ_LOGICAL_TIME:
        case TL_PQ_LOGICAL_TIMESTAMP: read_time(in, e); break;
        case TL_PQ_LOGICAL_INTEGER: read_integer(in, e); break;
        case TL_PQ_LOGICAL_OTHER:
            e->other = f.id;
            tl_thrift_skip_field(in, &f);
            break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

/* The legacy converted type says what a logical type would; times of it are instants (LogicalTypes.md of the format).
 */
static void apply_converted(tl_pq_schema_element *e, int32_t converted) {
    static const tl_pq_logical plain[] = {TL_PQ_LOGICAL_STRING,    TL_PQ_LOGICAL_MAP,      TL_PQ_LOGICAL_MAP_KEY_VALUE,
                                          TL_PQ_LOGICAL_LIST,      TL_PQ_LOGICAL_ENUM,     TL_PQ_LOGICAL_DECIMAL,
                                          TL_PQ_LOGICAL_DATE,      TL_PQ_LOGICAL_TIME,     TL_PQ_LOGICAL_TIME,
                                          TL_PQ_LOGICAL_TIMESTAMP, TL_PQ_LOGICAL_TIMESTAMP};
    if (converted < 0 || converted > 21) {
        return;
    }
    if (converted <= 10) {
        e->logical = plain[converted];
        e->utc = converted >= 7;
        e->unit = converted == 7 || converted == 9 ? TL_PQ_MILLIS : TL_PQ_MICROS;
    } else if (converted <= 18) {
        e->logical = TL_PQ_LOGICAL_INTEGER;
        e->is_signed = converted >= 15;
        e->bit_width = 8 << ((converted - 11) & 3);
    } else {
        e->logical = converted == 19   ? TL_PQ_LOGICAL_JSON
                     : converted == 20 ? TL_PQ_LOGICAL_BSON
                                       : TL_PQ_LOGICAL_INTERVAL;
    }
}

static void read_schema_element(tl_thrift_in *in, tl_pq_schema_element *e) {
    tl_thrift_field f = {0};
    int32_t converted = -1, number = 0;
    e->field_id = -1;
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1:
            if (tl_thrift_field_i32(in, &f, &number)) {
                e->type = (tl_pq_type)number;
                e->is_leaf = true;
                if (number < TL_PQ_BOOLEAN || number > TL_PQ_FIXED) {
                    tl_thrift_bad(in, "a column has an unknown physical type");
                }
            }
            break;
        case 2: tl_thrift_field_i32(in, &f, &e->type_length); break;
        case 3:
            if (tl_thrift_field_i32(in, &f, &number)) {
                e->repetition = (tl_pq_repetition)number;
                if (number < TL_PQ_REQUIRED || number > TL_PQ_REPEATED) {
                    tl_thrift_bad(in, "a column has an unknown repetition");
                }
            }
            break;
        case 4: tl_thrift_field_text(in, &f, &e->name); break;
        case 5: tl_thrift_field_i32(in, &f, &e->n_children); break;
        case 6: tl_thrift_field_i32(in, &f, &converted); break;
        case 7: tl_thrift_field_i32(in, &f, &e->scale); break;
        case 8: tl_thrift_field_i32(in, &f, &e->precision); break;
        case 9: tl_thrift_field_i32(in, &f, &e->field_id); break;
        case 10:
            if (f.wire == TL_WIRE_STRUCT) {
                read_logical(in, e);
                break;
            }
            tl_thrift_skip_field(in, &f);
            break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
    if (e->logical == TL_PQ_LOGICAL_NONE) {
        apply_converted(e, converted);
    }
    if (in->status == TL_OK && !e->name) {
        tl_thrift_bad(in, "a schema element has no name");
    }
}

/* ---- column chunks ---- */

static void read_statistics(tl_thrift_in *in, tl_pq_statistics *s) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_bytes(in, &f, &s->max); break;
        case 2: tl_thrift_field_bytes(in, &f, &s->min); break;
        case 3: s->has_null_count |= tl_thrift_field_i64(in, &f, &s->null_count); break;
        case 4: s->has_distinct_count |= tl_thrift_field_i64(in, &f, &s->distinct_count); break;
        case 5: tl_thrift_field_bytes(in, &f, &s->max_value); break;
        case 6: tl_thrift_field_bytes(in, &f, &s->min_value); break;
        case 7: s->has_max_exact |= tl_thrift_field_bool(in, &f, &s->max_exact); break;
        case 8: s->has_min_exact |= tl_thrift_field_bool(in, &f, &s->min_exact); break;
        case 9: s->has_nan_count |= tl_thrift_field_i64(in, &f, &s->nan_count); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_key_value(tl_thrift_in *in, tl_pq_key_value *kv) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_text(in, &f, &kv->key); break;
        case 2: tl_thrift_field_text(in, &f, &kv->value); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
    if (!kv->key) {
        kv->key = "";
    }
}

static tl_pq_key_value *read_key_values(tl_thrift_in *in, const tl_thrift_field *f, int32_t *n) {
    tl_pq_key_value *kv = tl_thrift_field_list(in, f, TL_WIRE_STRUCT, 3, sizeof *kv, n);
    for (int32_t i = 0; i < *n && in->status == TL_OK; i++) {
        read_key_value(in, &kv[i]);
    }
    return kv;
}

static void read_encoding_stats(tl_thrift_in *in, const tl_thrift_field *field, tl_pq_column_chunk *c) {
    c->encoding_stats =
        tl_thrift_field_list(in, field, TL_WIRE_STRUCT, 7, sizeof *c->encoding_stats, &c->n_encoding_stats);
    for (int32_t i = 0; i < c->n_encoding_stats && in->status == TL_OK; i++) {
        tl_pq_page_encoding_stats *s = &c->encoding_stats[i];
        tl_thrift_field f = {0};
        while (tl_thrift_next_field(in, &f)) {
            switch (f.id) {
            case 1: TL_THRIFT_ENUM(in, &f, &s->page_type, tl_pq_page_type); break;
            case 2: TL_THRIFT_ENUM(in, &f, &s->encoding, tl_pq_encoding); break;
            case 3: tl_thrift_field_i32(in, &f, &s->count); break;
            default: tl_thrift_skip_field(in, &f);
            }
        }
    }
}

static void read_path_and_encodings(tl_thrift_in *in, const tl_thrift_field *f, tl_pq_column_chunk *c) {
    if (f->id == 2) {
        c->encodings = tl_thrift_field_list(in, f, TL_WIRE_I32, 1, sizeof *c->encodings, &c->n_encodings);
        for (int32_t i = 0; i < c->n_encodings && in->status == TL_OK; i++) {
            c->encodings[i] = (tl_pq_encoding)tl_thrift_read_i32(in);
        }
    } else {
        c->path = tl_thrift_field_list(in, f, TL_WIRE_BINARY, 1, sizeof *c->path, &c->n_path);
        for (int32_t i = 0; i < c->n_path && in->status == TL_OK; i++) {
            c->path[i] = tl_thrift_read_text(in);
        }
    }
}

static void read_column_meta(tl_thrift_in *in, tl_pq_column_chunk *c) {
    tl_thrift_field f = {0};
    uint32_t seen = 0;
    c->has_meta = true;
    while (tl_thrift_next_field(in, &f)) {
        seen |= f.id >= 1 && f.id <= 31 ? 1u << f.id : 0;
        switch (f.id) {
        case 1: TL_THRIFT_ENUM(in, &f, &c->type, tl_pq_type); break;
        case 2:
        case 3: read_path_and_encodings(in, &f, c); break;
        case 4: TL_THRIFT_ENUM(in, &f, &c->codec, tl_pq_codec); break;
        case 5: tl_thrift_field_i64(in, &f, &c->n_values); break;
        case 6: tl_thrift_field_i64(in, &f, &c->uncompressed_size); break;
        case 7: tl_thrift_field_i64(in, &f, &c->compressed_size); break;
        case 8: c->metadata = read_key_values(in, &f, &c->n_metadata); break;
        case 9: tl_thrift_field_i64(in, &f, &c->data_page_offset); break;
        case 11: tl_thrift_field_i64(in, &f, &c->dictionary_page_offset); break;
        case 12:
            if (f.wire == TL_WIRE_STRUCT) {
                read_statistics(in, &c->stats);
                break;
            }
            tl_thrift_skip_field(in, &f);
            break;
        case 13: read_encoding_stats(in, &f, c); break;
        case 14: tl_thrift_field_i64(in, &f, &c->bloom_filter_offset); break;
        case 15: tl_thrift_field_i32(in, &f, &c->bloom_filter_length); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
    const uint32_t need = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 9;
    if (in->status == TL_OK && (seen & need) != need) {
        tl_thrift_bad(in, "a column chunk lacks its type, codec, count, size or offset");
    }
}

static void read_column_chunk(tl_thrift_in *in, tl_pq_column_chunk *c) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_text(in, &f, &c->file_path); break;
        case 3:
            if (f.wire == TL_WIRE_STRUCT) {
                read_column_meta(in, c);
                break;
            }
            tl_thrift_skip_field(in, &f);
            break;
        case 4: tl_thrift_field_i64(in, &f, &c->offset_index_offset); break;
        case 5: tl_thrift_field_i32(in, &f, &c->offset_index_length); break;
        case 6: tl_thrift_field_i64(in, &f, &c->column_index_offset); break;
        case 7: tl_thrift_field_i32(in, &f, &c->column_index_length); break;
        case 8:
        case 9:
            c->encrypted = true;
            tl_thrift_skip_field(in, &f);
            break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_sorting(tl_thrift_in *in, const tl_thrift_field *field, tl_pq_row_group *g) {
    g->sorting = tl_thrift_field_list(in, field, TL_WIRE_STRUCT, 3, sizeof *g->sorting, &g->n_sorting);
    for (int32_t i = 0; i < g->n_sorting && in->status == TL_OK; i++) {
        tl_thrift_field f = {0};
        while (tl_thrift_next_field(in, &f)) {
            switch (f.id) {
            case 1: tl_thrift_field_i32(in, &f, &g->sorting[i].column); break;
            case 2: tl_thrift_field_bool(in, &f, &g->sorting[i].descending); break;
            case 3: tl_thrift_field_bool(in, &f, &g->sorting[i].nulls_first); break;
            default: tl_thrift_skip_field(in, &f);
            }
        }
    }
}

static void read_row_group(tl_thrift_in *in, tl_pq_row_group *g) {
    tl_thrift_field f = {0};
    g->ordinal = -1;
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1:
            g->columns = tl_thrift_field_list(in, &f, TL_WIRE_STRUCT, 3, sizeof *g->columns, &g->n_columns);
            for (int32_t i = 0; i < g->n_columns && in->status == TL_OK; i++) {
                read_column_chunk(in, &g->columns[i]);
            }
            break;
        case 2: tl_thrift_field_i64(in, &f, &g->total_byte_size); break;
        case 3: tl_thrift_field_i64(in, &f, &g->n_rows); break;
        case 4: read_sorting(in, &f, g); break;
        case 5: tl_thrift_field_i64(in, &f, &g->file_offset); break;
        case 6: tl_thrift_field_i64(in, &f, &g->total_compressed_size); break;
        case 7: tl_thrift_field_i32(in, &f, &g->ordinal); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
    if (in->status == TL_OK && g->n_rows < 0) {
        tl_thrift_bad(in, "a row group has a negative number of rows");
    }
}

/* ---- the footer ---- */

static void read_column_orders(tl_thrift_in *in, const tl_thrift_field *field, tl_pq_file_meta *m) {
    m->column_orders =
        tl_thrift_field_list(in, field, TL_WIRE_STRUCT, 1, sizeof *m->column_orders, &m->n_column_orders);
    for (int32_t i = 0; i < m->n_column_orders && in->status == TL_OK; i++) {
        tl_thrift_field f = {0};
        while (tl_thrift_next_field(in, &f)) {
            m->column_orders[i] = f.id > 0 && f.id < 256 ? (uint8_t)f.id : 0;
            tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_footer_field(tl_thrift_in *in, const tl_thrift_field *f, tl_pq_file_meta *m) {
    switch (f->id) {
    case 1: tl_thrift_field_i32(in, f, &m->version); break;
    case 2:
        m->schema = tl_thrift_field_list(in, f, TL_WIRE_STRUCT, 3, sizeof *m->schema, &m->n_schema);
        for (int32_t i = 0; i < m->n_schema && in->status == TL_OK; i++) {
            read_schema_element(in, &m->schema[i]);
        }
        break;
    case 3: tl_thrift_field_i64(in, f, &m->n_rows); break;
    case 4:
        m->row_groups = tl_thrift_field_list(in, f, TL_WIRE_STRUCT, 3, sizeof *m->row_groups, &m->n_row_groups);
        for (int32_t i = 0; i < m->n_row_groups && in->status == TL_OK; i++) {
            read_row_group(in, &m->row_groups[i]);
        }
        break;
    case 5: m->metadata = read_key_values(in, f, &m->n_metadata); break;
    case 6: tl_thrift_field_text(in, f, &m->created_by); break;
    case 7: read_column_orders(in, f, m); break;
    case 8:
        m->encrypted = true;
        tl_thrift_skip_field(in, f);
        break;
    default: tl_thrift_skip_field(in, f);
    }
}

tl_status tl_pq_read_file_meta(tl_bytes in, tl_pq_file_meta *out, tl_error *err) {
    *out = (tl_pq_file_meta){0};
    if (in.len == 0) {
        return tl_fail(err, TL_CORRUPT, "footer: is empty");
    }
    /* The structures are larger than their bytes, in honest footers up to about eight times. */
    size_t limit;
    if (!tl_size_mul(in.len, 24, &limit) || !tl_size_add(limit, 1u << 20, &limit)) {
        return tl_fail(err, TL_CORRUPT, "footer: is too large");
    }
    out->arena.limit = limit;
    tl_thrift_in t = {.p = in.data, .end = in.data + in.len, .arena = &out->arena, .what = "footer", .err = err};
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(&t, &f)) {
        read_footer_field(&t, &f, out);
    }
    if (t.status == TL_OK && out->n_schema < 1) {
        tl_thrift_bad(&t, "has no schema");
    }
    if (t.status != TL_OK) {
        tl_pq_file_meta_free(out);
    }
    return t.status;
}

/* ---- page headers ---- */

static void read_data_page(tl_thrift_in *in, tl_pq_page_header *h) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_i32(in, &f, &h->n_values); break;
        case 2: TL_THRIFT_ENUM(in, &f, &h->encoding, tl_pq_encoding); break;
        case 3: TL_THRIFT_ENUM(in, &f, &h->def_encoding, tl_pq_encoding); break;
        case 4: TL_THRIFT_ENUM(in, &f, &h->rep_encoding, tl_pq_encoding); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_data_page_v2(tl_thrift_in *in, tl_pq_page_header *h) {
    tl_thrift_field f = {0};
    h->is_compressed = true;
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_i32(in, &f, &h->n_values); break;
        case 2: tl_thrift_field_i32(in, &f, &h->n_nulls); break;
        case 3: tl_thrift_field_i32(in, &f, &h->n_rows); break;
        case 4: TL_THRIFT_ENUM(in, &f, &h->encoding, tl_pq_encoding); break;
        case 5: tl_thrift_field_i32(in, &f, &h->def_length); break;
        case 6: tl_thrift_field_i32(in, &f, &h->rep_length); break;
        case 7: tl_thrift_field_bool(in, &f, &h->is_compressed); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

static void read_dictionary_page(tl_thrift_in *in, tl_pq_page_header *h) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_i32(in, &f, &h->n_values); break;
        case 2: TL_THRIFT_ENUM(in, &f, &h->encoding, tl_pq_encoding); break;
        case 3: tl_thrift_field_bool(in, &f, &h->is_sorted); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

/* Which of the three sub-headers stands for the page's type; an index page needs none. */
static bool header_complete(const tl_pq_page_header *h, uint32_t seen) {
    const uint32_t sizes = 1u << 1 | 1u << 2 | 1u << 3;
    uint32_t sub = h->type == TL_PQ_DATA_PAGE         ? 1u << 5
                   : h->type == TL_PQ_DICTIONARY_PAGE ? 1u << 7
                   : h->type == TL_PQ_DATA_PAGE_V2    ? 1u << 8
                                                      : 0;
    return (seen & sizes) == sizes && (seen & sub) == sub;
}

tl_status tl_pq_read_page_header(tl_bytes in, tl_pq_page_header *out, size_t *used, tl_error *err) {
    *out = (tl_pq_page_header){0};
    if (in.len == 0) {
        return tl_fail(err, TL_CORRUPT, "page header: is missing");
    }
    tl_thrift_in t = {.p = in.data, .end = in.data + in.len, .what = "page header", .err = err};
    tl_thrift_field f = {0};
    uint32_t seen = 0;
    while (tl_thrift_next_field(&t, &f)) {
        bool sub = f.wire == TL_WIRE_STRUCT;
        seen |= f.id >= 1 && f.id <= 31 ? 1u << f.id : 0;
        switch (f.id) {
        case 1: TL_THRIFT_ENUM(&t, &f, &out->type, tl_pq_page_type); break;
        case 2: tl_thrift_field_i32(&t, &f, &out->uncompressed_size); break;
        case 3: tl_thrift_field_i32(&t, &f, &out->compressed_size); break;
        case 4: out->has_crc = tl_thrift_field_i32(&t, &f, &out->crc); break;
        default:
            if (f.id == 5 && sub) {
                read_data_page(&t, out);
            } else if (f.id == 7 && sub) {
                read_dictionary_page(&t, out);
            } else if (f.id == 8 && sub) {
                read_data_page_v2(&t, out);
            } else {
                tl_thrift_skip_field(&t, &f);
            }
        }
    }
    if (t.status == TL_OK && !header_complete(out, seen)) {
        tl_thrift_bad(&t, "lacks a field that its page type needs");
    }
    if (t.status == TL_OK && (out->uncompressed_size < 0 || out->compressed_size < 0 || out->n_values < 0 ||
                              out->def_length < 0 || out->rep_length < 0 || out->n_nulls < 0 || out->n_rows < 0)) {
        tl_thrift_bad(&t, "holds a negative size or count");
    }
    if (used) {
        *used = (size_t)(t.p - in.data);
    }
    return t.status;
}

/* ---- page indexes ---- */

static void read_page_location(tl_thrift_in *in, tl_pq_page_location *p) {
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(in, &f)) {
        switch (f.id) {
        case 1: tl_thrift_field_i64(in, &f, &p->offset); break;
        case 2: tl_thrift_field_i32(in, &f, &p->compressed_size); break;
        case 3: tl_thrift_field_i64(in, &f, &p->first_row); break;
        default: tl_thrift_skip_field(in, &f);
        }
    }
}

tl_status tl_pq_read_offset_index(tl_bytes in, tl_arena *arena, tl_pq_offset_index *out, tl_error *err) {
    *out = (tl_pq_offset_index){0};
    tl_thrift_in t = {.p = in.data, .end = in.data + in.len, .arena = arena, .what = "offset index", .err = err};
    tl_thrift_field f = {0};
    while (tl_thrift_next_field(&t, &f)) {
        if (f.id == 1) {
            out->pages = tl_thrift_field_list(&t, &f, TL_WIRE_STRUCT, 3, sizeof *out->pages, &out->n_pages);
            for (int32_t i = 0; i < out->n_pages && t.status == TL_OK; i++) {
                read_page_location(&t, &out->pages[i]);
            }
        } else {
            tl_thrift_skip_field(&t, &f);
        }
    }
    return t.status;
}

static void read_bounds(tl_thrift_in *in, const tl_thrift_field *f, tl_bytes **out, int32_t *n) {
    *out = tl_thrift_field_list(in, f, TL_WIRE_BINARY, 1, sizeof **out, n);
    for (int32_t i = 0; i < *n && in->status == TL_OK; i++) {
        (*out)[i] = tl_thrift_read_bytes(in);
    }
}

tl_status tl_pq_read_column_index(tl_bytes in, tl_arena *arena, tl_pq_column_index *out, tl_error *err) {
    *out = (tl_pq_column_index){0};
    tl_thrift_in t = {.p = in.data, .end = in.data + in.len, .arena = arena, .what = "column index", .err = err};
    tl_thrift_field f = {0};
    int32_t n_min = 0, n_max = 0, n_nulls = -1;
    while (tl_thrift_next_field(&t, &f)) {
        switch (f.id) {
        case 1:
            out->null_pages = tl_thrift_field_list(&t, &f, TL_WIRE_TRUE, 1, sizeof *out->null_pages, &out->n_pages);
            for (int32_t i = 0; i < out->n_pages && t.status == TL_OK; i++) {
                out->null_pages[i] = tl_thrift_read_byte(&t) == TL_WIRE_TRUE;
            }
            break;
        case 2: read_bounds(&t, &f, &out->min_values, &n_min); break;
        case 3: read_bounds(&t, &f, &out->max_values, &n_max); break;
        case 4: tl_thrift_field_i32(&t, &f, &out->boundary_order); break;
        case 5:
            out->null_counts = tl_thrift_field_list(&t, &f, TL_WIRE_I64, 1, sizeof *out->null_counts, &n_nulls);
            for (int32_t i = 0; i < n_nulls && t.status == TL_OK; i++) {
                out->null_counts[i] = tl_thrift_read_i64(&t);
            }
            break;
        default: tl_thrift_skip_field(&t, &f);
        }
    }
    if (t.status == TL_OK &&
        (n_min != out->n_pages || n_max != out->n_pages || (out->null_counts && n_nulls != out->n_pages))) {
        tl_thrift_bad(&t, "its lists differ in length");
    }
    return t.status;
}
