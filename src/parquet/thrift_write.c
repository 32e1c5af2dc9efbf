/*
 * The thrift compact form of the Parquet structures, writing. Comes in: the structures of format.h. Goes out: bytes
 * appended to a buffer. Field numbers are those of parquet.thrift (parquet-format 2.11).
 */
#include "parquet/thrift.h"

#include "parquet/write_internal.h"

typedef enum tl_thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_BYTE = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
} tl_thrift_type;

/* One struct in the making. The first failure sticks, so that the writers below read as lists of fields. */
typedef struct tl_thrift_out {
    tl_buf *buf;
    int16_t last_field;
    tl_status status;
} tl_thrift_out;

static void put_byte(tl_thrift_out *t, uint8_t byte) {
    if (t->status == TL_OK) {
        t->status = tl_buf_add_byte(t->buf, byte);
    }
}

static void put_varint(tl_thrift_out *t, uint64_t v) {
    if (t->status == TL_OK) {
        t->status = tl_pq_put_varint(t->buf, v);
    }
}

static void put_int(tl_thrift_out *t, int64_t v) {
    put_varint(t, tl_pq_zigzag(v));
}

static void put_binary(tl_thrift_out *t, const void *data, size_t len) {
    put_varint(t, len);
    if (t->status == TL_OK) {
        t->status = tl_buf_add(t->buf, data, len);
    }
}

static void put_text(tl_thrift_out *t, const char *text) {
    put_binary(t, text, strlen(text));
}

/* Fields come in ascending order and at most 15 apart in every structure here, so the short header always fits. */
static void field(tl_thrift_out *t, int16_t id, tl_thrift_type type) {
    put_byte(t, (uint8_t)((unsigned)(id - t->last_field) << 4 | (unsigned)type));
    t->last_field = id;
}

static void field_bool(tl_thrift_out *t, int16_t id, bool v) {
    field(t, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

static void field_i32(tl_thrift_out *t, int16_t id, int32_t v) {
    field(t, id, THRIFT_I32);
    put_int(t, v);
}

static void field_i64(tl_thrift_out *t, int16_t id, int64_t v) {
    field(t, id, THRIFT_I64);
    put_int(t, v);
}

static void field_binary(tl_thrift_out *t, int16_t id, tl_bytes v) {
    field(t, id, THRIFT_BINARY);
    put_binary(t, v.data, v.len);
}

static void field_text(tl_thrift_out *t, int16_t id, const char *v) {
    field_binary(t, id, tl_bytes_of(v));
}

static void field_list(tl_thrift_out *t, int16_t id, tl_thrift_type element, int64_t n) {
    field(t, id, THRIFT_LIST);
    if (n < 15) {
        put_byte(t, (uint8_t)((unsigned)n << 4 | (unsigned)element));
    } else {
        put_byte(t, (uint8_t)(0xf0u | (unsigned)element));
        put_varint(t, (uint64_t)n);
    }
}

/* A struct inside a struct: field numbers start anew, and go on where they were after struct_end. */
static int16_t struct_begin(tl_thrift_out *t) {
    int16_t outer = t->last_field;
    t->last_field = 0;
    return outer;
}

static void struct_end(tl_thrift_out *t, int16_t outer) {
    put_byte(t, 0);
    t->last_field = outer;
}

static int16_t field_struct(tl_thrift_out *t, int16_t id) {
    field(t, id, THRIFT_STRUCT);
    return struct_begin(t);
}

static void field_empty_struct(tl_thrift_out *t, int16_t id) {
    struct_end(t, field_struct(t, id));
}

/* ---- schema ---- */

/* The legacy annotation that goes with a logical type, or -1. Local times carry the UTC ones too: the format asks for
 * it (LogicalTypes.md), so that old readers see a time at all. */
static int32_t converted_type(const tl_pq_schema_element *e) {
    switch (e->logical) {
    case TL_PQ_LOGICAL_STRING: return 0;
    case TL_PQ_LOGICAL_MAP: return 1;
    case TL_PQ_LOGICAL_MAP_KEY_VALUE: return 2;
    case TL_PQ_LOGICAL_LIST: return 3;
    case TL_PQ_LOGICAL_ENUM: return 4;
    case TL_PQ_LOGICAL_DECIMAL: return 5;
    case TL_PQ_LOGICAL_DATE: return 6;
    case TL_PQ_LOGICAL_TIME: return e->unit == TL_PQ_MILLIS ? 7 : e->unit == TL_PQ_MICROS ? 8 : -1;
    case TL_PQ_LOGICAL_TIMESTAMP: return e->unit == TL_PQ_MILLIS ? 9 : e->unit == TL_PQ_MICROS ? 10 : -1;
    case TL_PQ_LOGICAL_INTEGER: {
        int32_t size = e->bit_width == 8 ? 0 : e->bit_width == 16 ? 1 : e->bit_width == 32 ? 2 : 3;
        return (e->is_signed ? 15 : 11) + size;
    }
    case TL_PQ_LOGICAL_JSON: return 19;
    case TL_PQ_LOGICAL_BSON: return 20;
    case TL_PQ_LOGICAL_INTERVAL: return 21;
    case TL_PQ_LOGICAL_NONE:
    case TL_PQ_LOGICAL_UUID:
    case TL_PQ_LOGICAL_FLOAT16:
    case TL_PQ_LOGICAL_NULL:
    case TL_PQ_LOGICAL_OTHER: return -1;
    }
    return -1;
}

/* TIME and TIMESTAMP: isAdjustedToUTC and the unit, a union of empty structs. */
static void put_time_type(tl_thrift_out *t, int16_t id, const tl_pq_schema_element *e) {
    int16_t outer = field_struct(t, id);
    field_bool(t, 1, e->utc);
    int16_t unit = field_struct(t, 2);
    field_empty_struct(t, (int16_t)(e->unit == TL_PQ_MILLIS ? 1 : e->unit == TL_PQ_MICROS ? 2 : 3));
    struct_end(t, unit);
    struct_end(t, outer);
}

/* The arm of the LogicalType union that is an empty struct, or 0. */
static int16_t empty_logical_arm(tl_pq_logical logical) {
    switch (logical) {
    case TL_PQ_LOGICAL_STRING: return 1;
    case TL_PQ_LOGICAL_MAP: return 2;
    case TL_PQ_LOGICAL_LIST: return 3;
    case TL_PQ_LOGICAL_ENUM: return 4;
    case TL_PQ_LOGICAL_DATE: return 6;
    case TL_PQ_LOGICAL_NULL: return 11;
    case TL_PQ_LOGICAL_JSON: return 12;
    case TL_PQ_LOGICAL_BSON: return 13;
    case TL_PQ_LOGICAL_UUID: return 14;
    case TL_PQ_LOGICAL_FLOAT16: return 15;
    default: return 0;
    }
}

static bool has_logical_type(const tl_pq_schema_element *e) {
    return empty_logical_arm(e->logical) != 0 || e->logical == TL_PQ_LOGICAL_DECIMAL ||
           e->logical == TL_PQ_LOGICAL_TIME || e->logical == TL_PQ_LOGICAL_TIMESTAMP ||
           e->logical == TL_PQ_LOGICAL_INTEGER;
}

static void put_logical_type(tl_thrift_out *t, const tl_pq_schema_element *e) {
    int16_t outer = field_struct(t, 10), arm;
    switch (e->logical) {
    case TL_PQ_LOGICAL_DECIMAL:
        arm = field_struct(t, 5);
        field_i32(t, 1, e->scale);
        field_i32(t, 2, e->precision);
        struct_end(t, arm);
        break;
    case TL_PQ_LOGICAL_TIME: put_time_type(t, 7, e); break;
    case TL_PQ_LOGICAL_TIMESTAMP: put_time_type(t, 8, e); break;
    case TL_PQ_LOGICAL_INTEGER:
        arm = field_struct(t, 10);
        field(t, 1, THRIFT_BYTE);
        put_byte(t, (uint8_t)e->bit_width);
        field_bool(t, 2, e->is_signed);
        struct_end(t, arm);
        break;
    default: field_empty_struct(t, empty_logical_arm(e->logical)); break;
    }
    struct_end(t, outer);
}

static void put_schema_element(tl_thrift_out *t, const tl_pq_schema_element *e, bool is_root) {
    int16_t outer = struct_begin(t);
    if (e->is_leaf) {
        field_i32(t, 1, (int32_t)e->type);
        if (e->type == TL_PQ_FIXED) {
            field_i32(t, 2, e->type_length);
        }
    }
    if (!is_root) {
        field_i32(t, 3, (int32_t)e->repetition);
    }
    field_text(t, 4, e->name ? e->name : "");
    if (!e->is_leaf) {
        field_i32(t, 5, e->n_children);
    }
    int32_t converted = converted_type(e);
    if (converted >= 0) {
        field_i32(t, 6, converted);
    }
    if (e->logical == TL_PQ_LOGICAL_DECIMAL) {
        field_i32(t, 7, e->scale);
        field_i32(t, 8, e->precision);
    }
    if (e->field_id >= 0) {
        field_i32(t, 9, e->field_id);
    }
    if (has_logical_type(e)) {
        put_logical_type(t, e);
    }
    struct_end(t, outer);
}

/* ---- columns and row groups ---- */

static void put_statistics(tl_thrift_out *t, int16_t id, const tl_pq_statistics *s) {
    if (!s->has_null_count && !s->has_distinct_count && !s->has_nan_count && !s->min_value.data && !s->max_value.data &&
        !s->min.data && !s->max.data) {
        return;
    }
    int16_t outer = field_struct(t, id);
    if (s->max.data) {
        field_binary(t, 1, s->max);
    }
    if (s->min.data) {
        field_binary(t, 2, s->min);
    }
    if (s->has_null_count) {
        field_i64(t, 3, s->null_count);
    }
    if (s->has_distinct_count) {
        field_i64(t, 4, s->distinct_count);
    }
    if (s->max_value.data) {
        field_binary(t, 5, s->max_value);
    }
    if (s->min_value.data) {
        field_binary(t, 6, s->min_value);
    }
    if (s->has_max_exact) {
        field_bool(t, 7, s->max_exact);
    }
    if (s->has_min_exact) {
        field_bool(t, 8, s->min_exact);
    }
    if (s->has_nan_count) {
        field_i64(t, 9, s->nan_count);
    }
    struct_end(t, outer);
}

static void put_key_values(tl_thrift_out *t, int16_t id, const tl_pq_key_value *pairs, int32_t n) {
    if (n == 0) {
        return;
    }
    field_list(t, id, THRIFT_STRUCT, n);
    for (int32_t i = 0; i < n; i++) {
        int16_t outer = struct_begin(t);
        field_text(t, 1, pairs[i].key);
        if (pairs[i].value) {
            field_text(t, 2, pairs[i].value);
        }
        struct_end(t, outer);
    }
}

static void put_encoding_stats(tl_thrift_out *t, const tl_pq_column_chunk *c) {
    if (c->n_encoding_stats == 0) {
        return;
    }
    field_list(t, 13, THRIFT_STRUCT, c->n_encoding_stats);
    for (int32_t i = 0; i < c->n_encoding_stats; i++) {
        int16_t outer = struct_begin(t);
        field_i32(t, 1, (int32_t)c->encoding_stats[i].page_type);
        field_i32(t, 2, (int32_t)c->encoding_stats[i].encoding);
        field_i32(t, 3, c->encoding_stats[i].count);
        struct_end(t, outer);
    }
}

static void put_column_meta(tl_thrift_out *t, const tl_pq_column_chunk *c) {
    int16_t outer = field_struct(t, 3);
    field_i32(t, 1, (int32_t)c->type);
    field_list(t, 2, THRIFT_I32, c->n_encodings);
    for (int32_t i = 0; i < c->n_encodings; i++) {
        put_int(t, (int32_t)c->encodings[i]);
    }
    field_list(t, 3, THRIFT_BINARY, c->n_path);
    for (int32_t i = 0; i < c->n_path; i++) {
        put_text(t, c->path[i]);
    }
    field_i32(t, 4, (int32_t)c->codec);
    field_i64(t, 5, c->n_values);
    field_i64(t, 6, c->uncompressed_size);
    field_i64(t, 7, c->compressed_size);
    put_key_values(t, 8, c->metadata, c->n_metadata);
    field_i64(t, 9, c->data_page_offset);
    if (c->dictionary_page_offset > 0) {
        field_i64(t, 11, c->dictionary_page_offset);
    }
    put_statistics(t, 12, &c->stats);
    put_encoding_stats(t, c);
    if (c->bloom_filter_offset > 0) {
        field_i64(t, 14, c->bloom_filter_offset);
        if (c->bloom_filter_length > 0) {
            field_i32(t, 15, c->bloom_filter_length);
        }
    }
    struct_end(t, outer);
}

static void put_column_chunk(tl_thrift_out *t, const tl_pq_column_chunk *c) {
    int16_t outer = struct_begin(t);
    field_i64(t, 2, 0); /* file_offset: required, deprecated, "should be 0" */
    put_column_meta(t, c);
    if (c->offset_index_offset > 0) {
        field_i64(t, 4, c->offset_index_offset);
        field_i32(t, 5, c->offset_index_length);
    }
    if (c->column_index_offset > 0) {
        field_i64(t, 6, c->column_index_offset);
        field_i32(t, 7, c->column_index_length);
    }
    struct_end(t, outer);
}

static void put_row_group(tl_thrift_out *t, const tl_pq_row_group *g) {
    int16_t outer = struct_begin(t);
    field_list(t, 1, THRIFT_STRUCT, g->n_columns);
    for (int32_t i = 0; i < g->n_columns; i++) {
        put_column_chunk(t, &g->columns[i]);
    }
    field_i64(t, 2, g->total_byte_size);
    field_i64(t, 3, g->n_rows);
    if (g->n_sorting > 0) {
        field_list(t, 4, THRIFT_STRUCT, g->n_sorting);
        for (int32_t i = 0; i < g->n_sorting; i++) {
            int16_t inner = struct_begin(t);
            field_i32(t, 1, g->sorting[i].column);
            field_bool(t, 2, g->sorting[i].descending);
            field_bool(t, 3, g->sorting[i].nulls_first);
            struct_end(t, inner);
        }
    }
    if (g->file_offset > 0) {
        field_i64(t, 5, g->file_offset);
    }
    if (g->total_compressed_size > 0) {
        field_i64(t, 6, g->total_compressed_size);
    }
    if (g->ordinal >= 0 && g->ordinal <= INT16_MAX) {
        field(t, 7, THRIFT_I16);
        put_int(t, g->ordinal);
    }
    struct_end(t, outer);
}

tl_status tl_pq_write_file_meta(const tl_pq_file_meta *meta, tl_buf *out) {
    tl_thrift_out t = {.buf = out};
    field_i32(&t, 1, meta->version);
    field_list(&t, 2, THRIFT_STRUCT, meta->n_schema);
    for (int32_t i = 0; i < meta->n_schema; i++) {
        put_schema_element(&t, &meta->schema[i], i == 0);
    }
    field_i64(&t, 3, meta->n_rows);
    field_list(&t, 4, THRIFT_STRUCT, meta->n_row_groups);
    for (int32_t i = 0; i < meta->n_row_groups; i++) {
        put_row_group(&t, &meta->row_groups[i]);
    }
    put_key_values(&t, 5, meta->metadata, meta->n_metadata);
    if (meta->created_by) {
        field_text(&t, 6, meta->created_by);
    }
    if (meta->n_column_orders > 0) {
        field_list(&t, 7, THRIFT_STRUCT, meta->n_column_orders);
        for (int32_t i = 0; i < meta->n_column_orders; i++) {
            int16_t outer = struct_begin(&t);
            field_empty_struct(&t, meta->column_orders[i] ? meta->column_orders[i] : 1);
            struct_end(&t, outer);
        }
    }
    put_byte(&t, 0);
    return t.status;
}

/* ---- pages and indexes ---- */

static void put_data_page_header(tl_thrift_out *t, const tl_pq_page_header *h) {
    int16_t outer = field_struct(t, 5);
    field_i32(t, 1, h->n_values);
    field_i32(t, 2, (int32_t)h->encoding);
    field_i32(t, 3, (int32_t)h->def_encoding);
    field_i32(t, 4, (int32_t)h->rep_encoding);
    struct_end(t, outer);
}

static void put_dictionary_page_header(tl_thrift_out *t, const tl_pq_page_header *h) {
    int16_t outer = field_struct(t, 7);
    field_i32(t, 1, h->n_values);
    field_i32(t, 2, (int32_t)h->encoding);
    field_bool(t, 3, h->is_sorted);
    struct_end(t, outer);
}

static void put_data_page_header_v2(tl_thrift_out *t, const tl_pq_page_header *h) {
    int16_t outer = field_struct(t, 8);
    field_i32(t, 1, h->n_values);
    field_i32(t, 2, h->n_nulls);
    field_i32(t, 3, h->n_rows);
    field_i32(t, 4, (int32_t)h->encoding);
    field_i32(t, 5, h->def_length);
    field_i32(t, 6, h->rep_length);
    field_bool(t, 7, h->is_compressed);
    struct_end(t, outer);
}

tl_status tl_pq_write_page_header(const tl_pq_page_header *header, tl_buf *out) {
    tl_thrift_out t = {.buf = out};
    field_i32(&t, 1, (int32_t)header->type);
    field_i32(&t, 2, header->uncompressed_size);
    field_i32(&t, 3, header->compressed_size);
    if (header->has_crc) {
        field_i32(&t, 4, header->crc);
    }
    switch (header->type) {
    case TL_PQ_DATA_PAGE: put_data_page_header(&t, header); break;
    case TL_PQ_DICTIONARY_PAGE: put_dictionary_page_header(&t, header); break;
    case TL_PQ_DATA_PAGE_V2: put_data_page_header_v2(&t, header); break;
    case TL_PQ_INDEX_PAGE: return TL_UNSUPPORTED;
    }
    put_byte(&t, 0);
    return t.status;
}

tl_status tl_pq_write_offset_index(const tl_pq_offset_index *index, tl_buf *out) {
    tl_thrift_out t = {.buf = out};
    field_list(&t, 1, THRIFT_STRUCT, index->n_pages);
    for (int32_t i = 0; i < index->n_pages; i++) {
        int16_t outer = struct_begin(&t);
        field_i64(&t, 1, index->pages[i].offset);
        field_i32(&t, 2, index->pages[i].compressed_size);
        field_i64(&t, 3, index->pages[i].first_row);
        struct_end(&t, outer);
    }
    put_byte(&t, 0);
    return t.status;
}

tl_status tl_pq_write_column_index(const tl_pq_column_index *index, tl_buf *out) {
    tl_thrift_out t = {.buf = out};
    field_list(&t, 1, THRIFT_TRUE, index->n_pages);
    for (int32_t i = 0; i < index->n_pages; i++) {
        put_byte(&t, index->null_pages[i] ? THRIFT_TRUE : THRIFT_FALSE);
    }
    field_list(&t, 2, THRIFT_BINARY, index->n_pages);
    for (int32_t i = 0; i < index->n_pages; i++) {
        put_binary(&t, index->min_values[i].data, index->min_values[i].len);
    }
    field_list(&t, 3, THRIFT_BINARY, index->n_pages);
    for (int32_t i = 0; i < index->n_pages; i++) {
        put_binary(&t, index->max_values[i].data, index->max_values[i].len);
    }
    field_i32(&t, 4, index->boundary_order);
    if (index->null_counts) {
        field_list(&t, 5, THRIFT_I64, index->n_pages);
        for (int32_t i = 0; i < index->n_pages; i++) {
            put_int(&t, index->null_counts[i]);
        }
    }
    put_byte(&t, 0);
    return t.status;
}
