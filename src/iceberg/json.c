/* JSON text out, and the helpers around yyjson: its allocations, its errors, typed look-ups with messages. */
#include "iceberg/json.h"

#include "base/utf8.h"
#include "iceberg/json_internal.h"

static tl_status put_escaped(tl_buf *out, uint8_t c) {
    switch (c) {
    case '"': return tl_buf_add_text(out, "\\\"");
    case '\\': return tl_buf_add_text(out, "\\\\");
    case '\n': return tl_buf_add_text(out, "\\n");
    case '\r': return tl_buf_add_text(out, "\\r");
    case '\t': return tl_buf_add_text(out, "\\t");
    default: return tl_buf_printf(out, "\\u%04x", c);
    }
}

static bool must_escape(uint8_t c) {
    return c < 0x20 || c == '"' || c == '\\';
}

/* The top bit of each byte of `x` that is zero. Bytes above a zero one may be marked wrongly, which only costs time. */
static uint64_t zero_bytes(uint64_t x) {
    return (x - 0x0101010101010101u) & ~x & 0x8080808080808080u;
}

/* From `i` on, the first byte that must be escaped; eight at a time. */
static size_t plain_end(tl_bytes text, size_t i) {
    for (; text.len - i >= 8; i += 8) {
        uint64_t v = tl_load_u64(text.data + i);
        uint64_t control = (v - 0x2020202020202020u) & ~v & 0x8080808080808080u;
        if (control | zero_bytes(v ^ 0x2222222222222222u) | zero_bytes(v ^ 0x5c5c5c5c5c5c5c5cu)) {
            break;
        }
    }
    while (i < text.len && !must_escape(text.data[i])) {
        i++;
    }
    return i;
}

/* Copies plain ASCII, which nearly every text in metadata is, in one pass that the compiler can do 32 bytes at a time.
 * False: there is something to escape or to check. `to` has room for `len`. */
static bool copy_plain(uint8_t *restrict to, const uint8_t *restrict from, size_t len) {
    unsigned special = 0;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = from[i];
        to[i] = c;
        special |= (unsigned)(c < 0x20) | (unsigned)(c > 0x7e) | (unsigned)(c == '"') | (unsigned)(c == '\\');
    }
    return !special;
}

static tl_status put_special_string(tl_buf *out, tl_bytes bytes, tl_error *err) {
    if (!tl_utf8_is_valid(bytes)) {
        return tl_fail(err, TL_INVALID, "text \"%.60s\" is not UTF-8", (const char *)bytes.data);
    }
    tl_status status = tl_buf_add_byte(out, '"');
    for (size_t i = 0; status == TL_OK && i < bytes.len;) {
        size_t from = i;
        i = plain_end(bytes, i);
        status = tl_buf_add(out, bytes.data + from, i - from);
        if (status == TL_OK && i < bytes.len) {
            status = put_escaped(out, bytes.data[i++]);
        }
    }
    status = status == TL_OK ? tl_buf_add_byte(out, '"') : status;
    return status == TL_OK ? TL_OK : tl_fail_memory(err, bytes.len);
}

tl_status tl_json_put_string(tl_buf *out, const char *text, tl_error *err) {
    tl_bytes bytes = tl_bytes_of(text);
    if (tl_buf_reserve(out, bytes.len + 2) != TL_OK) {
        return tl_fail_memory(err, bytes.len);
    }
    if (!copy_plain(out->data + out->len + 1, bytes.data, bytes.len)) {
        return put_special_string(out, bytes, err);
    }
    out->data[out->len] = '"';
    out->data[out->len + bytes.len + 1] = '"';
    out->len += bytes.len + 2;
    return TL_OK;
}

tl_status tl_json_put_extra(tl_buf *out, const char *object_json, tl_error *err) {
    size_t len = object_json ? strlen(object_json) : 0;
    if (len <= 2) {
        return TL_OK;
    }
    if (object_json[0] != '{' || object_json[len - 1] != '}') {
        return tl_fail(err, TL_INTERNAL, "extra JSON \"%.60s\" is not an object", object_json);
    }
    tl_status status = tl_buf_add_byte(out, ',');
    status = status == TL_OK ? tl_buf_add(out, object_json + 1, len - 2) : status;
    return status == TL_OK ? TL_OK : tl_fail_memory(err, len);
}

/* ---- reading ---- */

static void *json_malloc(void *ctx, size_t size) {
    (void)ctx;
    return tl_alloc(size);
}

static void *json_realloc(void *ctx, void *p, size_t old_size, size_t size) {
    (void)ctx;
    (void)old_size;
    return tl_realloc(p, size);
}

static void json_free(void *ctx, void *p) {
    (void)ctx;
    tl_free(p);
}

const yyjson_alc tl_json_alc = {json_malloc, json_realloc, json_free, NULL};

tl_status tl_json_read(tl_bytes text, const char *what, yyjson_doc **out, tl_error *err) {
    *out = NULL;
    if (text.len == 0) {
        return tl_fail(err, TL_CORRUPT, "%s is empty", what);
    }
    /* Numbers beyond 64 bits stay as they were written. Without YYJSON_READ_INSITU the text is not written to, so the
     * cast is safe. */
    yyjson_read_err why;
    yyjson_doc *doc =
        yyjson_read_opts((char *)(uintptr_t)text.data, text.len, YYJSON_READ_BIGNUM_AS_RAW, &tl_json_alc, &why);
    if (doc) {
        *out = doc;
        return TL_OK;
    }
    if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return tl_fail_memory(err, text.len);
    }
    return tl_fail(err, TL_CORRUPT, "%s is not JSON: %s at byte %zu", what, why.msg, why.pos);
}

tl_status tl_json_object(yyjson_val *val, const char *what, tl_error *err) {
    return yyjson_is_obj(val) ? TL_OK : tl_fail(err, TL_CORRUPT, "%s is not a JSON object", what);
}

yyjson_val *tl_json_get(yyjson_val *obj, const char *key) {
    yyjson_val *val = yyjson_obj_get(obj, key);
    return yyjson_is_null(val) ? NULL : val;
}

static tl_status missing(const char *what, const char *key, tl_error *err) {
    return tl_fail(err, TL_CORRUPT, "%s has no \"%s\"", what, key);
}

tl_status tl_json_i64(yyjson_val *obj, const char *what, const char *key, const int64_t *otherwise, int64_t *out,
                      tl_error *err) {
    yyjson_val *val = tl_json_get(obj, key);
    if (!val && otherwise) {
        *out = *otherwise;
        return TL_OK;
    }
    if (!val) {
        return missing(what, key, err);
    }
    if (yyjson_is_sint(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) <= INT64_MAX)) {
        *out = yyjson_get_sint(val);
        return TL_OK;
    }
    return tl_fail(err, TL_CORRUPT, "%s: \"%s\" is not a 64-bit integer", what, key);
}

tl_status tl_json_i32(yyjson_val *obj, const char *what, const char *key, const int32_t *otherwise, int32_t *out,
                      tl_error *err) {
    int64_t v = 0, other = otherwise ? *otherwise : 0;
    TL_TRY(tl_json_i64(obj, what, key, otherwise ? &other : NULL, &v, err));
    if (v < INT32_MIN || v > INT32_MAX) {
        return tl_fail(err, TL_CORRUPT, "%s: \"%s\" %lld is not a 32-bit integer", what, key, (long long)v);
    }
    *out = (int32_t)v;
    return TL_OK;
}

tl_status tl_json_text_of(yyjson_val *val, const char *what, const char *key, tl_arena *arena, const char **out,
                          tl_error *err) {
    size_t len = yyjson_get_len(val);
    if (!yyjson_is_str(val)) {
        return tl_fail(err, TL_CORRUPT, "%s: \"%s\" is not a string", what, key);
    }
    if (memchr(yyjson_get_str(val), 0, len)) {
        return tl_fail(err, TL_CORRUPT, "%s: \"%s\" holds a NUL character", what, key);
    }
    *out = tl_arena_strndup(arena, yyjson_get_str(val), len);
    return *out ? TL_OK : tl_fail_memory(err, len);
}

tl_status tl_json_text(yyjson_val *obj, const char *what, const char *key, bool required, tl_arena *arena,
                       const char **out, tl_error *err) {
    yyjson_val *val = tl_json_get(obj, key);
    *out = NULL;
    if (!val) {
        return required ? missing(what, key, err) : TL_OK;
    }
    return tl_json_text_of(val, what, key, arena, out, err);
}

tl_status tl_json_array(yyjson_val *obj, const char *what, const char *key, bool required, yyjson_val **out, int32_t *n,
                        tl_error *err) {
    yyjson_val *val = tl_json_get(obj, key);
    *out = NULL;
    *n = 0;
    if (!val) {
        return required ? missing(what, key, err) : TL_OK;
    }
    if (!yyjson_is_arr(val)) {
        return tl_fail(err, TL_CORRUPT, "%s: \"%s\" is not a list", what, key);
    }
    if (yyjson_arr_size(val) > INT32_MAX) {
        return tl_fail(err, TL_CORRUPT, "%s: \"%s\" has too many entries", what, key);
    }
    *out = val;
    *n = (int32_t)yyjson_arr_size(val);
    return TL_OK;
}

static bool is_known(const char *key, const char *const *known, size_t n_known) {
    for (size_t i = 0; i < n_known; i++) {
        if (strcmp(key, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static tl_status put_member(yyjson_val *key, yyjson_val *val, tl_buf *out, tl_error *err) {
    size_t len;
    yyjson_write_err why;
    char *text = yyjson_val_write_opts(val, YYJSON_WRITE_NOFLAG, &tl_json_alc, &len, &why);
    if (!text) {
        return why.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION
                   ? tl_fail_memory(err, 0)
                   : tl_fail(err, TL_CORRUPT, "\"%.60s\" cannot be kept: %s", yyjson_get_str(key), why.msg);
    }
    tl_status status = out->len ? tl_buf_add_byte(out, ',') : tl_buf_add_byte(out, '{');
    status = status == TL_OK ? tl_json_put_string(out, yyjson_get_str(key), err) : status;
    status = status == TL_OK ? tl_buf_add_byte(out, ':') : status;
    status = status == TL_OK ? tl_buf_add(out, text, len) : status;
    tl_free(text);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, len) : status;
}

tl_status tl_json_extra(yyjson_val *obj, const char *const *known, size_t n_known, tl_arena *arena, const char **out,
                        tl_error *err) {
    tl_buf buf = {0};
    tl_status status = TL_OK;
    size_t i, max;
    yyjson_val *key, *val;
    *out = NULL;
    yyjson_obj_foreach(obj, i, max, key, val) {
        const char *name = yyjson_get_str(key);
        if (memchr(name, 0, yyjson_get_len(key)) || is_known(name, known, n_known)) {
            continue;
        }
        status = put_member(key, val, &buf, err);
        if (status != TL_OK) {
            break;
        }
    }
    if (status == TL_OK && buf.len) {
        char *text = tl_buf_add_byte(&buf, '}') == TL_OK ? tl_arena_strndup(arena, (char *)buf.data, buf.len) : NULL;
        *out = text;
        status = text ? TL_OK : tl_fail_memory(err, buf.len);
    }
    tl_buf_free(&buf);
    return status;
}
