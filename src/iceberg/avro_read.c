/* Avro container files in: header, blocks, codecs, and the values of one record. See avro_internal.h. */
/* For the variant that takes an allocator; the shared library exports it. */
#define ZSTD_STATIC_LINKING_ONLY
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "iceberg/avro_internal.h"
#include "iceberg/json_internal.h"

static tl_status cut_short(tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "Avro data end inside a value");
}

/* ---- the encoding ---- */

static tl_status read_long(tl_avro_cursor *c, int64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->at == c->end) {
            return cut_short(c->err);
        }
        uint8_t b = *c->at++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return TL_OK;
        }
    }
    return tl_fail(c->err, TL_CORRUPT, "Avro data hold a number of more than ten bytes");
}

static tl_status advance(tl_avro_cursor *c, int64_t n, tl_bytes *out) {
    if (n < 0 || (uint64_t)n > (uint64_t)(c->end - c->at)) {
        return cut_short(c->err);
    }
    if (out) {
        *out = (tl_bytes){c->at, (size_t)n};
    }
    c->at += n;
    return TL_OK;
}

static tl_status spend(tl_avro_cursor *c) {
    if (c->budget == 0) {
        return tl_fail(c->err, TL_CORRUPT, "Avro data claim more values than their bytes can hold");
    }
    c->budget--;
    return TL_OK;
}

static tl_status wrong_type(tl_avro_cursor *c, const char *wanted) {
    return tl_fail(c->err, TL_CORRUPT, "Avro data: a field is not of type %s", wanted);
}

tl_status tl_avro_take_branch(tl_avro_cursor *c, const tl_avro_node **node, bool *there) {
    if ((*node)->kind == TL_AVRO_UNION) {
        int64_t branch = -1;
        TL_TRY(read_long(c, &branch));
        if (branch < 0 || branch >= (*node)->n_parts) {
            return tl_fail(c->err, TL_CORRUPT, "Avro data: a union has no branch %lld", (long long)branch);
        }
        *node = (*node)->parts[branch].node;
    }
    *there = (*node)->kind != TL_AVRO_NULL;
    return spend(c);
}

tl_status tl_avro_take_long(tl_avro_cursor *c, const tl_avro_node *node, bool *there, int64_t *out) {
    TL_TRY(tl_avro_take_branch(c, &node, there));
    if (!*there) {
        return TL_OK;
    }
    if (node->kind != TL_AVRO_INT && node->kind != TL_AVRO_LONG) {
        return wrong_type(c, "int or long");
    }
    TL_TRY(read_long(c, out));
    if (node->kind == TL_AVRO_INT && (*out < INT32_MIN || *out > INT32_MAX)) {
        return tl_fail(c->err, TL_CORRUPT, "Avro data: an int is outside 32 bits");
    }
    return TL_OK;
}

tl_status tl_avro_take_bool(tl_avro_cursor *c, const tl_avro_node *node, bool *there, bool *out) {
    tl_bytes byte = {0};
    TL_TRY(tl_avro_take_branch(c, &node, there));
    if (!*there) {
        return TL_OK;
    }
    if (node->kind != TL_AVRO_BOOLEAN) {
        return wrong_type(c, "boolean");
    }
    TL_TRY(advance(c, 1, &byte));
    *out = byte.data[0] != 0;
    return TL_OK;
}

tl_status tl_avro_take_bytes(tl_avro_cursor *c, const tl_avro_node *node, bool *there, tl_bytes *out) {
    TL_TRY(tl_avro_take_branch(c, &node, there));
    if (!*there) {
        return TL_OK;
    }
    int64_t n = node->size;
    if (node->kind == TL_AVRO_BYTES || node->kind == TL_AVRO_STRING) {
        TL_TRY(read_long(c, &n));
    } else if (node->kind != TL_AVRO_FIXED) {
        return wrong_type(c, "bytes or string");
    }
    return advance(c, n, out);
}

tl_status tl_avro_items_begin(tl_avro_cursor *c, const tl_avro_node *node, tl_avro_items *out) {
    if (node->kind != TL_AVRO_ARRAY) {
        return wrong_type(c, "array");
    }
    *out = (tl_avro_items){.item = node->parts[0].node};
    return TL_OK;
}

/* The next run of an array or map: a count, or a negative count and the run's length in bytes. */
static tl_status next_run(tl_avro_cursor *c, uint64_t *count) {
    int64_t n = 0, bytes = 0;
    TL_TRY(read_long(c, &n));
    if (n < 0) {
        TL_TRY(read_long(c, &bytes));
        *count = 0 - (uint64_t)n;
    } else {
        *count = (uint64_t)n;
    }
    return TL_OK;
}

tl_status tl_avro_items_next(tl_avro_cursor *c, tl_avro_items *items, bool *more) {
    if (!items->ended && items->left == 0) {
        TL_TRY(next_run(c, &items->left));
        items->ended = items->left == 0;
    }
    *more = !items->ended;
    items->left -= *more ? 1 : 0;
    return spend(c);
}

static tl_status skip_items(tl_avro_cursor *c, const tl_avro_node *node) {
    for (;;) {
        uint64_t count;
        TL_TRY(next_run(c, &count));
        if (count == 0) {
            return TL_OK;
        }
        for (; count; count--) {
            if (node->kind == TL_AVRO_MAP) {
                int64_t key = 0;
                TL_TRY(read_long(c, &key));
                TL_TRY(advance(c, key, NULL));
            }
            TL_TRY(tl_avro_skip(c, node->parts[0].node));
        }
    }
}

tl_status tl_avro_skip(tl_avro_cursor *c, const tl_avro_node *node) {
    bool there;
    int64_t n = 0;
    TL_TRY(tl_avro_take_branch(c, &node, &there));
    switch (node->kind) {
    case TL_AVRO_NULL: return TL_OK;
    case TL_AVRO_BOOLEAN: return advance(c, 1, NULL);
    case TL_AVRO_INT:
    case TL_AVRO_LONG:
    case TL_AVRO_ENUM: return read_long(c, &n);
    case TL_AVRO_FLOAT: return advance(c, 4, NULL);
    case TL_AVRO_DOUBLE: return advance(c, 8, NULL);
    case TL_AVRO_FIXED: return advance(c, node->size, NULL);
    case TL_AVRO_BYTES:
    case TL_AVRO_STRING: TL_TRY(read_long(c, &n)); return advance(c, n, NULL);
    case TL_AVRO_RECORD:
        for (int32_t i = 0; i < node->n_parts; i++) {
            TL_TRY(tl_avro_skip(c, node->parts[i].node));
        }
        return TL_OK;
    case TL_AVRO_ARRAY:
    case TL_AVRO_MAP: return skip_items(c, node);
    case TL_AVRO_UNION: break;
    }
    return tl_fail(c->err, TL_INTERNAL, "Avro schema with a union in a union");
}

/* ---- schema helpers ---- */

tl_status tl_avro_give_ids(tl_avro_node *record, const tl_avro_name *names, size_t n, const char *what, tl_error *err) {
    if (!record || record->kind != TL_AVRO_RECORD) {
        return tl_fail(err, TL_CORRUPT, "%s: the Avro schema is not that of such a file", what);
    }
    for (int32_t i = 0; i < record->n_parts; i++) {
        for (size_t k = 0; record->parts[i].field_id == -1 && k < n; k++) {
            if (strcmp(record->parts[i].name, names[k].name) == 0) {
                record->parts[i].field_id = names[k].field_id;
            }
        }
    }
    return TL_OK;
}

tl_avro_node *tl_avro_not_null(tl_avro_node *node) {
    if (!node || node->kind != TL_AVRO_UNION) {
        return node;
    }
    tl_avro_node *found = NULL;
    for (int32_t i = 0; i < node->n_parts; i++) {
        if (node->parts[i].node->kind != TL_AVRO_NULL) {
            if (found) {
                return NULL;
            }
            found = node->parts[i].node;
        }
    }
    return found;
}

tl_avro_node *tl_avro_field(const tl_avro_node *record, int32_t field_id) {
    for (int32_t i = 0; record && i < record->n_parts; i++) {
        if (record->parts[i].field_id == field_id) {
            return tl_avro_not_null(record->parts[i].node);
        }
    }
    return NULL;
}

/* ---- the container ---- */

static tl_status read_header_map(tl_avro_reader *r, tl_avro_cursor *c) {
    for (;;) {
        uint64_t count;
        int64_t n = 0;
        tl_bytes key = {0}, value = {0};
        TL_TRY(next_run(c, &count));
        if (count == 0) {
            return TL_OK;
        }
        if (count > (uint64_t)(c->end - c->at) / 2 || count > 10000) {
            return cut_short(c->err);
        }
        size_t total = (size_t)r->n_header + (size_t)count;
        tl_avro_header_entry *list = tl_arena_array(&r->arena, total, sizeof *list);
        if (!list) {
            return tl_fail_memory(c->err, total);
        }
        if (r->n_header) {
            memcpy(list, r->header, (size_t)r->n_header * sizeof *list);
        }
        r->header = list;
        for (; count; count--) {
            TL_TRY(read_long(c, &n));
            TL_TRY(advance(c, n, &key));
            TL_TRY(read_long(c, &n));
            TL_TRY(advance(c, n, &value));
            TL_TRY(spend(c));
            const char *name = tl_arena_strndup(&r->arena, (const char *)key.data, key.len);
            if (!name) {
                return tl_fail_memory(c->err, key.len);
            }
            r->header[r->n_header++] = (tl_avro_header_entry){name, value};
        }
    }
}

static tl_status read_codec(tl_avro_reader *r, const char *what, tl_error *err) {
    static const char *const names[] = {"null", "deflate", "snappy", "zstandard"};
    tl_bytes codec = tl_avro_header(r, "avro.codec");
    if (!codec.data || codec.len == 0) {
        return TL_OK;
    }
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        if (tl_bytes_equal(codec, tl_bytes_of(names[i]))) {
            r->codec = (tl_avro_codec)i;
            return TL_OK;
        }
    }
    return tl_fail(err, TL_UNSUPPORTED, "%s: the Avro codec \"%.*s\" is not read here", what,
                   codec.len > 40 ? 40 : (int)codec.len, (const char *)codec.data);
}

static tl_status open_all(tl_avro_reader *r, const char *what, tl_error *err) {
    static const uint8_t magic[4] = {'O', 'b', 'j', 1};
    if (r->file.len < 4 || memcmp(r->file.data, magic, 4) != 0) {
        return tl_fail(err, TL_CORRUPT, "%s is not an Avro file", what);
    }
    tl_avro_cursor c = {r->file.data + 4, r->file.data + r->file.len, 10000, err};
    tl_bytes sync = {0};
    TL_TRY(read_header_map(r, &c));
    TL_TRY(advance(&c, 16, &sync));
    memcpy(r->sync, sync.data, 16);
    r->at = (size_t)(c.at - r->file.data);
    TL_TRY(read_codec(r, what, err));
    tl_bytes schema = tl_avro_header(r, "avro.schema");
    if (!schema.data) {
        return tl_fail(err, TL_CORRUPT, "%s: the Avro file has no schema", what);
    }
    return tl_avro_schema_parse(schema, what, &r->arena, &r->schema, err);
}

tl_status tl_avro_open(tl_bytes file, const char *what, tl_avro_reader *out, tl_error *err) {
    *out = (tl_avro_reader){.file = file};
    tl_status status = open_all(out, what, err);
    if (status != TL_OK) {
        tl_avro_close(out);
    }
    return status;
}

void tl_avro_close(tl_avro_reader *r) {
    tl_buf_free(&r->block);
    tl_arena_free(&r->arena);
    *r = (tl_avro_reader){0};
}

tl_bytes tl_avro_header(const tl_avro_reader *r, const char *key) {
    for (int32_t i = 0; i < r->n_header; i++) {
        if (strcmp(r->header[i].key, key) == 0) {
            return r->header[i].value;
        }
    }
    return (tl_bytes){0};
}

static tl_status too_large(tl_error *err) {
    return tl_fail(err, TL_UNSUPPORTED, "Avro block of more than %zu bytes", TL_AVRO_MAX_BLOCK);
}

static tl_status unsnap(tl_bytes in, tl_buf *out, tl_error *err) {
    size_t n;
    if (in.len < 4 || snappy_uncompressed_length((const char *)in.data, in.len - 4, &n) != SNAPPY_OK) {
        return tl_fail(err, TL_CORRUPT, "Avro block: damaged snappy data");
    }
    /* Snappy copies at most 64 bytes for 2 bytes of input. */
    if (n > TL_AVRO_MAX_BLOCK) {
        return too_large(err);
    }
    if (n / 64 > in.len) {
        return tl_fail(err, TL_CORRUPT, "Avro block: damaged snappy data");
    }
    if (tl_buf_reserve(out, n + 1) != TL_OK) {
        return tl_fail_memory(err, n);
    }
    if (snappy_uncompress((const char *)in.data, in.len - 4, (char *)out->data, &n) != SNAPPY_OK) {
        return tl_fail(err, TL_CORRUPT, "Avro block: damaged snappy data");
    }
    out->len = n;
    const uint8_t *sum = in.data + in.len - 4;
    uint32_t wanted = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 | sum[3];
    if (crc32(0, out->data, (uInt)n) != wanted) {
        return tl_fail(err, TL_CORRUPT, "Avro block: the checksum is wrong");
    }
    return TL_OK;
}

static tl_status unzstd_with(ZSTD_DStream *z, tl_bytes in, tl_buf *out, tl_error *err) {
    ZSTD_inBuffer src = {in.data, in.len, 0};
    size_t left = 1;
    while (left != 0 || src.pos < src.size) {
        if (out->cap == out->len && tl_buf_reserve(out, out->len ? out->len : 65536) != TL_OK) {
            return tl_fail_memory(err, out->len);
        }
        ZSTD_outBuffer dst = {out->data, out->cap, out->len};
        size_t before = src.pos;
        left = ZSTD_decompressStream(z, &dst, &src);
        bool moved = dst.pos > out->len || src.pos > before;
        out->len = dst.pos;
        if (ZSTD_isError(left) || (!moved && left != 0)) {
            return tl_fail(err, TL_CORRUPT, "Avro block: damaged zstd data");
        }
        if (out->len > TL_AVRO_MAX_BLOCK) {
            return too_large(err);
        }
    }
    return TL_OK;
}

static void *zstd_alloc(void *ctx, size_t size) {
    (void)ctx;
    return tl_alloc(size);
}

static void zstd_free(void *ctx, void *p) {
    (void)ctx;
    tl_free(p);
}

static tl_status unzstd(tl_bytes in, tl_buf *out, tl_error *err) {
    ZSTD_DStream *z = ZSTD_createDStream_advanced((ZSTD_customMem){zstd_alloc, zstd_free, NULL});
    if (!z) {
        return tl_fail_memory(err, 0);
    }
    tl_status status = unzstd_with(z, in, out, err);
    ZSTD_freeDStream(z);
    return status;
}

static tl_status decompress(tl_avro_reader *r, tl_bytes in, tl_error *err) {
    r->block.len = 0;
    switch (r->codec) {
    case TL_AVRO_CODEC_DEFLATE: return tl_inflate(TL_INFLATE_RAW, in, TL_AVRO_MAX_BLOCK, "Avro block", &r->block, err);
    case TL_AVRO_CODEC_SNAPPY: return unsnap(in, &r->block, err);
    case TL_AVRO_CODEC_ZSTD: return unzstd(in, &r->block, err);
    case TL_AVRO_CODEC_NULL: break;
    }
    return TL_OK;
}

static tl_status next_block(tl_avro_reader *r, tl_error *err) {
    tl_avro_cursor c = {r->file.data + r->at, r->file.data + r->file.len, 0, err};
    int64_t n = 0;
    tl_bytes data = {0}, sync = {0};
    TL_TRY(read_long(&c, &r->left));
    TL_TRY(read_long(&c, &n));
    TL_TRY(advance(&c, n, &data));
    TL_TRY(advance(&c, 16, &sync));
    if (r->left < 0 || memcmp(sync.data, r->sync, 16) != 0) {
        return tl_fail(err, TL_CORRUPT, "Avro block: the marker behind it is wrong");
    }
    r->at = (size_t)(c.at - r->file.data);
    if (r->codec != TL_AVRO_CODEC_NULL) {
        TL_TRY(decompress(r, data, err));
        data = tl_buf_bytes(&r->block);
    }
    r->total += data.len;
    if (r->total > TL_AVRO_MAX_TOTAL) {
        return tl_fail(err, TL_UNSUPPORTED, "Avro file of more than %zu bytes", TL_AVRO_MAX_TOTAL);
    }
    /* A map's entry is four values (the item, its record, key, value) and at least two bytes; nothing is denser. */
    uint64_t budget = 4 * (uint64_t)data.len + 1024;
    r->cursor = (tl_avro_cursor){data.data, data.data ? data.data + data.len : NULL, budget, err};
    return TL_OK;
}

tl_status tl_avro_next(tl_avro_reader *r, bool *more, tl_error *err) {
    while (r->left == 0) {
        if (r->cursor.at != r->cursor.end) {
            return tl_fail(err, TL_CORRUPT, "Avro block: bytes behind the last record");
        }
        if (r->at == r->file.len) {
            *more = false;
            return TL_OK;
        }
        TL_TRY(next_block(r, err));
    }
    r->left--;
    r->cursor.err = err;
    *more = true;
    return spend(&r->cursor);
}
