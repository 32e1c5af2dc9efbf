/* RecordBatch messages of Arrow IPC as arrays: buffers are found, measured against what the arrays need, decompressed.
 */
#include <inttypes.h>
#include <lz4frame.h>
#include <stdatomic.h>
#include <zstd.h>

#include "arrow/ipc_internal.h"
#include "base/mem.h"

static const int64_t MAX_LENGTH = INT64_C(1) << 48; /* rows of an array; no product below wraps */

/* ---- shared memory ---- */

struct tl_ipc_body {
    atomic_int refs;
    uint8_t *data;
    int64_t len;
    uint8_t **more; /* decompressed buffers */
    size_t n_more, cap_more;
};

tl_ipc_body *tl_ipc_body_new(uint8_t *data, int64_t len) {
    tl_ipc_body *b = tl_calloc(1, sizeof *b);
    if (!b) {
        tl_free(data);
        return NULL;
    }
    atomic_init(&b->refs, 1);
    b->data = data;
    b->len = len;
    return b;
}

void tl_ipc_body_drop(tl_ipc_body *b) {
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < b->n_more; i++) {
        tl_free(b->more[i]);
    }
    tl_free(b->more);
    tl_free(b->data);
    tl_free(b);
}

static uint8_t *body_alloc(tl_ipc_body *b, size_t size) {
    if (b->n_more == b->cap_more) {
        size_t cap = b->cap_more ? b->cap_more * 2 : 16;
        uint8_t **grown = tl_realloc_array(b->more, cap, sizeof *grown);
        if (!grown) {
            return NULL;
        }
        b->more = grown;
        b->cap_more = cap;
    }
    uint8_t *p = tl_alloc_aligned(size ? size : 1);
    if (p) {
        b->more[b->n_more++] = p;
    }
    return p;
}

/* ---- arrays that share it ---- */

typedef struct node {
    tl_ipc_body *body;
    struct ArrowArray dictionary;
    struct ArrowArray *children; /* what array->children points to */
    const void *buffers[];
} node;

static void array_release(struct ArrowArray *a) {
    node *n = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release) {
            a->children[i]->release(a->children[i]);
        }
    }
    if (a->dictionary && a->dictionary->release) {
        a->dictionary->release(a->dictionary);
    }
    tl_ipc_body_drop(n->body);
    tl_free(n->children);
    tl_free(a->children);
    tl_free(n);
    a->release = NULL;
}

/* An array with room for buffers and children, which are all empty. */
static tl_status array_new(tl_ipc_body *body, int64_t n_buffers, int64_t n_children, struct ArrowArray *out,
                           tl_error *err) {
    memset(out, 0, sizeof *out);
    node *n = tl_calloc(1, sizeof *n + (size_t)n_buffers * sizeof *n->buffers);
    struct ArrowArray *children = tl_calloc((size_t)n_children, sizeof *children);
    struct ArrowArray **pointers = tl_calloc((size_t)n_children, sizeof *pointers);
    if (!n || !children || !pointers) {
        tl_free(n);
        tl_free(children);
        tl_free(pointers);
        return tl_fail_memory(err, (size_t)n_children * sizeof *children);
    }
    atomic_fetch_add(&body->refs, 1);
    n->body = body;
    n->children = children;
    for (int64_t i = 0; i < n_children; i++) {
        pointers[i] = &children[i];
    }
    *out = (struct ArrowArray){.n_buffers = n_buffers,
                               .n_children = n_children,
                               .buffers = n->buffers,
                               .children = pointers,
                               .release = array_release,
                               .private_data = n};
    return TL_OK;
}

/* The same array once more, over the same memory. */
static tl_status array_share(const struct ArrowArray *a, struct ArrowArray *out, tl_error *err) {
    node *from = a->private_data;
    TL_TRY(array_new(from->body, a->n_buffers, a->n_children, out, err));
    out->length = a->length;
    out->null_count = a->null_count;
    for (int64_t i = 0; i < a->n_buffers; i++) {
        out->buffers[i] = a->buffers[i];
    }
    for (int64_t i = 0; i < a->n_children; i++) {
        TL_TRY(array_share(a->children[i], out->children[i], err));
    }
    if (a->dictionary) {
        out->dictionary = &((node *)out->private_data)->dictionary;
        TL_TRY(array_share(a->dictionary, out->dictionary, err));
    }
    return TL_OK;
}

/* ---- buffers ---- */

enum { CODEC_NONE = -1, CODEC_LZ4, CODEC_ZSTD };

typedef struct loader {
    tl_flat *flat;
    tl_ipc_body *body;
    const tl_ipc_dictionaries *dictionaries;
    tl_flat_vector nodes, buffers, variadic;
    uint64_t next_node, next_buffer, next_variadic;
    int64_t codec;
    tl_error *err;
} loader;

static tl_status broken(const loader *l, const char *what) {
    return tl_fail(l->err, TL_INVALID, "the Arrow IPC batch is broken: %s", what);
}

static bool unpack_lz4(const uint8_t *in, size_t n, uint8_t *out, size_t want) {
    LZ4F_dctx *ctx;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION))) {
        return false;
    }
    size_t got = want, used = n, rest = LZ4F_decompress(ctx, out, &got, in, &used, NULL);
    (void)LZ4F_freeDecompressionContext(ctx);
    return rest == 0 && got == want;
}

/* A compressed buffer: its length as int64, -1 for bytes that are not compressed after all. */
static tl_status unpack(loader *l, tl_bytes in, tl_bytes *out) {
    if (in.len < 8) {
        return in.len ? broken(l, "a compressed buffer is too short") : TL_OK;
    }
    int64_t want = tl_load_i64(in.data);
    const uint8_t *data = in.data + 8;
    size_t n = in.len - 8;
    if (want == -1) {
        *out = (tl_bytes){data, n};
        return TL_OK;
    }
    /* No more than the format can unpack to: a block of 128 KiB needs 3 bytes in zstd, and lz4 is at best 1 in 255. */
    int64_t most =
        (int64_t)n < MAX_LENGTH >> 17 ? (int64_t)(n + 8) * (l->codec == CODEC_ZSTD ? 1 << 16 : 256) : MAX_LENGTH;
    if (want < 0 || want > most) {
        return broken(l, "a compressed buffer has no valid length");
    }
    uint8_t *p = body_alloc(l->body, (size_t)want);
    if (!p) {
        return tl_fail_memory(l->err, (size_t)want);
    }
    bool good = l->codec == CODEC_ZSTD ? ZSTD_decompress(p, (size_t)want, data, n) == (size_t)want
                                       : unpack_lz4(data, n, p, (size_t)want);
    *out = (tl_bytes){p, (size_t)want};
    return good ? TL_OK : broken(l, "a compressed buffer does not unpack");
}

static tl_status next_buffer(loader *l, tl_bytes *out) {
    *out = (tl_bytes){NULL, 0};
    if (l->next_buffer >= l->buffers.n) {
        return broken(l, "it has fewer buffers than its columns need");
    }
    const uint8_t *p = l->flat->data + l->buffers.at + 16 * l->next_buffer++;
    int64_t at = tl_load_i64(p), len = tl_load_i64(p + 8);
    if (at < 0 || len < 0 || at > l->body->len || len > l->body->len - at) {
        return broken(l, "a buffer lies outside of its message");
    }
    tl_bytes b = {l->body->data + at, (size_t)len};
    if (l->codec != CODEC_NONE) {
        return unpack(l, b, out);
    }
    *out = b;
    return TL_OK;
}

/* A buffer of at least `need` bytes; NULL when nothing is needed and nothing is there. */
static tl_status take(loader *l, int64_t need, const void **out, tl_bytes *whole) {
    tl_bytes b;
    TL_TRY(next_buffer(l, &b));
    if ((int64_t)b.len < need) {
        return broken(l, "a buffer is shorter than its rows need");
    }
    *out = b.len ? b.data : NULL;
    if (whole) {
        *whole = b;
    }
    return TL_OK;
}

static tl_status take_validity(loader *l, struct ArrowArray *a) {
    tl_bytes b;
    TL_TRY(take(l, 0, &a->buffers[0], &b));
    if (a->buffers[0] && a->null_count == 0) {
        a->buffers[0] = NULL; /* writers may leave it out or not; the count says all there is to say */
    }
    if (a->buffers[0] && (int64_t)b.len < (a->length + 7) / 8) {
        return broken(l, "a validity bitmap is shorter than its rows need");
    }
    if (!a->buffers[0] && a->null_count < 0) {
        a->null_count = 0; /* some writers leave it unknown */
    }
    return a->null_count > 0 && !a->buffers[0] ? broken(l, "it has nulls but no validity bitmap") : TL_OK;
}

/* Offsets, of which the last must lie within `limit` (bytes of text, -1 = a child that is checked by its reader). */
static tl_status take_offsets(loader *l, struct ArrowArray *a, int64_t width) {
    tl_bytes b;
    int64_t need = a->length > 0 ? (a->length + 1) * width : 0;
    return take(l, need, &a->buffers[1], &b);
}

static tl_status take_text(loader *l, struct ArrowArray *a, int64_t width) {
    tl_bytes data;
    TL_TRY(take_offsets(l, a, width));
    TL_TRY(take(l, 0, &a->buffers[2], &data));
    if (a->length == 0) {
        return TL_OK;
    }
    const uint8_t *last = (const uint8_t *)a->buffers[1] + a->length * width;
    int64_t end = width == 8 ? tl_load_i64(last) : tl_load_i32(last);
    if (end < 0 || end > (int64_t)data.len) {
        return broken(l, "text goes beyond its buffer");
    }
    /* An empty buffer is no reason for a reader to see none. */
    a->buffers[2] = data.data ? data.data : l->body->data;
    return TL_OK;
}

/* Views: the data buffers, and their sizes as the C data interface wants them. `a` has 3 + n buffers. */
static tl_status take_views(loader *l, struct ArrowArray *a) {
    int64_t n = a->n_buffers - 3;
    TL_TRY(take(l, a->length * 16, &a->buffers[1], NULL));
    uint8_t *sizes = body_alloc(l->body, (size_t)n * 8);
    if (!sizes) {
        return tl_fail_memory(l->err, (size_t)n * 8);
    }
    for (int64_t i = 0; i < n; i++) {
        tl_bytes data;
        TL_TRY(take(l, 0, &a->buffers[2 + i], &data));
        tl_store_u64(sizes + 8 * i, data.len);
    }
    a->buffers[a->n_buffers - 1] = sizes;
    return TL_OK;
}

/* ---- arrays ---- */

static tl_status share_dictionary(loader *l, const tl_ipc_field *field, struct ArrowArray *a) {
    for (size_t i = 0; i < l->dictionaries->n; i++) {
        if (l->dictionaries->items[i].id == field->dictionary) {
            a->dictionary = &((node *)a->private_data)->dictionary;
            return array_share(&l->dictionaries->items[i].values, a->dictionary, l->err);
        }
    }
    return broken(l, "it uses a dictionary that has not come");
}

static int64_t count_buffers(const tl_arrow_type *t, int64_t variadic) {
    switch (t->id) {
    case TL_ARROW_NULL:
    case TL_ARROW_RUN_END: return 0;
    case TL_ARROW_STRUCT:
    case TL_ARROW_FIXED_LIST: return 1;
    case TL_ARROW_STRING:
    case TL_ARROW_LARGE_STRING:
    case TL_ARROW_BINARY:
    case TL_ARROW_LARGE_BINARY:
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW: return 3;
    case TL_ARROW_STRING_VIEW:
    case TL_ARROW_BINARY_VIEW: return 3 + variadic;
    default: return 2;
    }
}

static tl_status take_buffers(loader *l, const tl_arrow_type *t, struct ArrowArray *a) {
    int64_t need;
    if (a->n_buffers == 0) {
        return TL_OK;
    }
    TL_TRY(take_validity(l, a));
    switch (t->id) {
    case TL_ARROW_STRUCT:
    case TL_ARROW_FIXED_LIST: return TL_OK;
    case TL_ARROW_BOOL: return take(l, (a->length + 7) / 8, &a->buffers[1], NULL);
    case TL_ARROW_STRING:
    case TL_ARROW_BINARY: return take_text(l, a, 4);
    case TL_ARROW_LARGE_STRING:
    case TL_ARROW_LARGE_BINARY: return take_text(l, a, 8);
    case TL_ARROW_LIST:
    case TL_ARROW_MAP: return take_offsets(l, a, 4);
    case TL_ARROW_LARGE_LIST: return take_offsets(l, a, 8);
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW:
        need = a->length * (t->id == TL_ARROW_LIST_VIEW ? 4 : 8);
        TL_TRY(take(l, need, &a->buffers[1], NULL));
        return take(l, need, &a->buffers[2], NULL);
    case TL_ARROW_STRING_VIEW:
    case TL_ARROW_BINARY_VIEW: return take_views(l, a);
    default:
        if (!tl_i64_mul(a->length, t->width, &need)) {
            return broken(l, "it has more values than can be");
        }
        return take(l, need, &a->buffers[1], NULL);
    }
}

static tl_status load(loader *l, const tl_arrow_type *t, const tl_ipc_field *field, struct ArrowArray *out) {
    if (l->next_node >= l->nodes.n) {
        return broken(l, "it has fewer columns than its schema");
    }
    const uint8_t *p = l->flat->data + l->nodes.at + 16 * l->next_node++;
    int64_t length = tl_load_i64(p), nulls = tl_load_i64(p + 8), variadic = 0;
    if (length < 0 || length > MAX_LENGTH || nulls < -1 || nulls > length) {
        return broken(l, "a column has no valid length or null count");
    }
    if (t->id == TL_ARROW_STRING_VIEW || t->id == TL_ARROW_BINARY_VIEW) {
        if (l->next_variadic >= l->variadic.n) {
            return broken(l, "it does not say how many buffers its views have");
        }
        variadic = tl_load_i64(l->flat->data + l->variadic.at + 8 * l->next_variadic++);
        if (variadic < 0 || variadic > (int64_t)l->buffers.n) {
            return broken(l, "it has fewer buffers than its views need");
        }
    }
    int64_t children = t->id == TL_ARROW_DICTIONARY ? 0 : t->n_children;
    TL_TRY(array_new(l->body, count_buffers(t, variadic), children, out, l->err));
    out->length = length;
    out->null_count = t->id == TL_ARROW_RUN_END ? 0 : t->id == TL_ARROW_NULL ? length : nulls;
    TL_TRY(take_buffers(l, t, out));
    if (t->id == TL_ARROW_DICTIONARY) {
        return share_dictionary(l, field, out);
    }
    for (int64_t i = 0; i < children; i++) {
        TL_TRY(load(l, &t->children[i], &field->children[i], out->children[i]));
    }
    return TL_OK;
}

/* ---- the batch ---- */

static tl_status find_codec(loader *l, tl_flat_table batch) {
    tl_flat_table compression = tl_flat_child(batch, 3);
    l->codec = compression.flat ? tl_flat_int(compression, 0, 1, 0) : CODEC_NONE;
    if (l->codec > CODEC_ZSTD || (compression.flat && tl_flat_int(compression, 1, 1, 0) != 0)) {
        return tl_fail(l->err, TL_UNSUPPORTED, "the Arrow IPC batch is compressed in a way that is not read");
    }
    return TL_OK;
}

tl_status tl_ipc_batch(tl_flat_table batch, tl_ipc_body *body, const tl_arrow_type *type, const tl_ipc_field *field,
                       bool is_dictionary, const tl_ipc_dictionaries *dictionaries, struct ArrowArray *out,
                       tl_error *err) {
    out->release = NULL;
    if (!batch.flat) {
        return tl_fail(err, TL_INVALID, "the Arrow IPC batch is broken: it is not there");
    }
    loader l = {.flat = batch.flat, .body = body, .dictionaries = dictionaries, .err = err};
    l.nodes = tl_flat_list(batch, 1, 16);
    l.buffers = tl_flat_list(batch, 2, 16);
    l.variadic = tl_flat_list(batch, 4, 8);
    int64_t length = tl_flat_int(batch, 0, 8, 0);
    TL_TRY(find_codec(&l, batch));
    if (batch.flat->bad || length < 0 || length > MAX_LENGTH) {
        return broken(&l, "an offset leads out of the message");
    }
    tl_status status;
    if (is_dictionary) {
        status = load(&l, type, field, out);
    } else {
        status = array_new(body, 1, type->n_children, out, err);
        if (status == TL_OK) {
            out->length = length;
        }
        for (int64_t i = 0; status == TL_OK && i < type->n_children; i++) {
            status = load(&l, &type->children[i], &field->children[i], out->children[i]);
        }
    }
    if (status != TL_OK && out->release) {
        out->release(out);
    }
    return status;
}

/* ---- dictionaries in parts ---- */

/* One value after the other of `a` and `b` into bitmaps or bytes of `out`, all with offset 0. */
static void join_bits(const uint8_t *a, int64_t na, const uint8_t *b, int64_t nb, uint8_t *out) {
    memset(out, 0, (size_t)(na + nb + 7) / 8);
    for (int64_t i = 0; i < na + nb; i++) {
        const uint8_t *from = i < na ? a : b; /* NULL = all set */
        if (!from || tl_bit(from, i < na ? i : i - na)) {
            tl_bit_set(out, i);
        }
    }
}

static int64_t text_offset(const struct ArrowArray *a, int64_t width, int64_t i) {
    const uint8_t *p = a->buffers[1];
    return a->length == 0 ? 0 : width == 8 ? tl_load_i64(p + 8 * i) : tl_load_i32(p + 4 * i);
}

static tl_status join_text(tl_ipc_body *body, const struct ArrowArray *a, const struct ArrowArray *b, int64_t width,
                           struct ArrowArray *out, tl_error *err) {
    const struct ArrowArray *parts[2] = {a, b};
    int64_t total = 0, at = 0, row = 0;
    for (int k = 0; k < 2; k++) {
        int64_t first = text_offset(parts[k], width, 0), last = text_offset(parts[k], width, parts[k]->length);
        if (first < 0 || first > last || !tl_i64_add(total, last - first, &total)) {
            return tl_fail(err, TL_INVALID, "the Arrow IPC dictionary is broken: its offsets go backwards");
        }
    }
    if (width == 4 && total > INT32_MAX) {
        return tl_fail(err, TL_UNSUPPORTED, "an Arrow IPC dictionary in parts has more than 2 GiB of text");
    }
    uint8_t *offsets = body_alloc(body, (size_t)(out->length + 1) * (size_t)width),
            *data = body_alloc(body, (size_t)total);
    if (!offsets || !data) {
        return tl_fail_memory(err, (size_t)total);
    }
    for (int k = 0; k < 2; k++) {
        int64_t n = parts[k]->length, first = text_offset(parts[k], width, 0), last = text_offset(parts[k], width, n);
        for (int64_t i = 0; i < n + k; i++, row++) { /* the one after the last comes with the second part */
            /* unsigned: offsets in between are not checked here, and may be anything */
            uint64_t o = (uint64_t)at + (uint64_t)(i < n ? text_offset(parts[k], width, i) : last) - (uint64_t)first;
            memcpy(offsets + row * width, &o, (size_t)width);
        }
        if (last > first) {
            memcpy(data + at, (const uint8_t *)parts[k]->buffers[2] + first, (size_t)(last - first));
        }
        at += last - first;
    }
    out->buffers[1] = offsets;
    out->buffers[2] = data;
    return TL_OK;
}

static tl_status join_fixed(tl_ipc_body *body, const struct ArrowArray *a, const struct ArrowArray *b, size_t width,
                            struct ArrowArray *out, tl_error *err) {
    uint8_t *values = body_alloc(body, (size_t)out->length * width);
    if (!values) {
        return tl_fail_memory(err, (size_t)out->length * width);
    }
    size_t first = (size_t)a->length * width, second = (size_t)b->length * width;
    if (first) {
        memcpy(values, a->buffers[1], first);
    }
    if (second) {
        memcpy(values + first, b->buffers[1], second);
    }
    out->buffers[1] = values;
    return TL_OK;
}

static tl_status join(const tl_arrow_type *type, tl_ipc_body *body, const struct ArrowArray *a,
                      const struct ArrowArray *b, struct ArrowArray *out, tl_error *err) {
    bool text = type->id == TL_ARROW_STRING || type->id == TL_ARROW_BINARY;
    bool large = type->id == TL_ARROW_LARGE_STRING || type->id == TL_ARROW_LARGE_BINARY;
    bool fixed = type->width > 0 && type->id != TL_ARROW_DICTIONARY;
    if (!text && !large && !fixed) {
        char name[64];
        tl_arrow_type_print(type, name, sizeof name);
        return tl_fail(err, TL_UNSUPPORTED, "Arrow IPC dictionaries of %s in parts (deltas) are not read", name);
    }
    out->length = a->length + b->length;
    out->null_count = -1;
    if (a->buffers[0] || b->buffers[0]) {
        uint8_t *bits = body_alloc(body, (size_t)(out->length + 7) / 8);
        if (!bits) {
            return tl_fail_memory(err, (size_t)out->length / 8);
        }
        join_bits(a->buffers[0], a->length, b->buffers[0], b->length, bits);
        out->buffers[0] = bits;
    }
    return fixed ? join_fixed(body, a, b, (size_t)type->width, out, err)
                 : join_text(body, a, b, large ? 8 : 4, out, err);
}

tl_status tl_ipc_join(const tl_arrow_type *type, const struct ArrowArray *a, const struct ArrowArray *b,
                      struct ArrowArray *out, tl_error *err) {
    out->release = NULL;
    tl_ipc_body *body = tl_ipc_body_new(NULL, 0);
    if (!body) {
        return tl_fail_memory(err, sizeof *body);
    }
    tl_status status = array_new(body, a->n_buffers, 0, out, err);
    status = status == TL_OK ? join(type, body, a, b, out, err) : status;
    if (status != TL_OK && out->release) {
        out->release(out);
    }
    tl_ipc_body_drop(body);
    return status;
}
