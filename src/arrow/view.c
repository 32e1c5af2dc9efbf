/* Checks arrays of callers before anything follows their offsets. */
#include "arrow/view.h"

#include <inttypes.h>

/* No array has more rows or bytes than this, so sums and products with 16 below never wrap. */
static const int64_t MAX_LENGTH = INT64_C(1) << 56;

static tl_status broken(tl_error *err, const char *what) {
    return tl_fail(err, TL_INVALID, "the Arrow array is broken: %s", what);
}

/* ---- the parts of the check ---- */

/* How many buffers the type has; -1 = as many as the array likes (views: at least 3; null: any). */
static int64_t buffers_of(tl_arrow_id id) {
    switch (id) {
    case TL_ARROW_NULL:
    case TL_ARROW_STRING_VIEW:
    case TL_ARROW_BINARY_VIEW: return -1;
    case TL_ARROW_RUN_END: return 0;
    case TL_ARROW_STRUCT:
    case TL_ARROW_FIXED_LIST: return 1;
    case TL_ARROW_STRING:
    case TL_ARROW_LARGE_STRING:
    case TL_ARROW_BINARY:
    case TL_ARROW_LARGE_BINARY:
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW: return 3;
    default: return 2;
    }
}

static tl_status check_shape(const tl_arrow_type *t, const struct ArrowArray *a, tl_error *err) {
    if (!a || !a->release) {
        return broken(err, "it is missing or released");
    }
    if (a->length < 0 || a->offset < 0 || a->length > MAX_LENGTH || a->offset > MAX_LENGTH) {
        return broken(err, "its length or offset is negative or beyond reason");
    }
    if (a->null_count < -1 || a->null_count > a->length) {
        return broken(err, "its null count is no count of its rows");
    }
    int64_t buffers = buffers_of(t->id);
    bool is_view = t->id == TL_ARROW_STRING_VIEW || t->id == TL_ARROW_BINARY_VIEW;
    if (buffers >= 0 ? a->n_buffers != buffers : is_view ? a->n_buffers < 3 : a->n_buffers < 0) {
        return tl_fail(err, TL_INVALID, "the Arrow array is broken: %" PRId64 " buffers where its type has %s",
                       a->n_buffers, is_view ? "3 or more" : "another number");
    }
    if (a->n_buffers > 0 && !a->buffers && t->id != TL_ARROW_NULL) {
        return broken(err, "it has no buffers");
    }
    int64_t children = t->id == TL_ARROW_DICTIONARY ? 0 : t->n_children;
    if (t->id != TL_ARROW_UNION && (a->n_children != children || (children > 0 && !a->children))) {
        return broken(err, "it has another number of children than its type");
    }
    for (int64_t i = 0; i < children; i++) {
        const struct ArrowArray *c = a->children[i];
        if (!c || !c->release || c->length < 0 || c->offset < 0 || c->length > MAX_LENGTH || c->offset > MAX_LENGTH) {
            return broken(err, "a child is missing, released or has no valid length");
        }
    }
    return TL_OK;
}

static tl_status check_validity(tl_view *v, tl_error *err) {
    const struct ArrowArray *a = v->array;
    if (v->type->id == TL_ARROW_NULL) {
        v->null_count = v->length;
        return TL_OK;
    }
    if (v->type->id == TL_ARROW_RUN_END || v->type->id == TL_ARROW_UNION) {
        return a->null_count > 0 ? broken(err, "a type without validity says it has nulls") : TL_OK;
    }
    const uint8_t *bits = a->buffers[0];
    if (!bits) {
        return a->null_count > 0 ? broken(err, "it has nulls but no validity bitmap") : TL_OK;
    }
    if (v->length == 0) {
        return TL_OK;
    }
    v->null_count = v->length - tl_bits_count(bits, v->first, v->length);
    if (v->null_count > 0) {
        /* Believing either side could make a null of a value, or a value of garbage. */
        if (a->null_count == 0) {
            return broken(err, "its null count is 0 but its validity bitmap has nulls");
        }
        v->validity = (tl_bits){bits, v->first};
    }
    return TL_OK;
}

static inline bool row_matters(const tl_view *v, tl_bits live, int64_t i) {
    return tl_bits_at(v->validity, i) && tl_bits_at(live, i);
}

/* Offsets of strings and lists: from 0 on, never backwards, null rows too (a reader sums them up). */
static tl_status check_offsets(tl_view *v, int64_t child_length, tl_error *err) {
    v->offsets = v->array->buffers[1];
    if (!v->offsets) {
        /* Arrays without rows may come without offsets; nothing asks for offset 0 of an empty view. */
        return v->length == 0 ? TL_OK : broken(err, "it has no offsets");
    }
    int64_t last;
    bool backwards = false;
    if (tl_view_offset_width(v) == 8) {
        v->offsets += v->first * 8;
        for (int64_t i = 0; i < v->length; i++) {
            backwards |= tl_load_i64(v->offsets + i * 8) > tl_load_i64(v->offsets + i * 8 + 8);
        }
    } else {
        v->offsets += v->first * 4;
        for (int64_t i = 0; i < v->length; i++) {
            backwards |= tl_load_i32(v->offsets + i * 4) > tl_load_i32(v->offsets + i * 4 + 4);
        }
    }
    if (v->length == 0) {
        return TL_OK;
    }
    last = tl_view_offset(v, v->length);
    if (backwards || tl_view_offset(v, 0) < 0) {
        return broken(err, "its offsets go backwards");
    }
    return last > child_length ? broken(err, "its offsets go beyond the values") : TL_OK;
}

static tl_status check_bytes(tl_view *v, tl_error *err) {
    TL_TRY(check_offsets(v, MAX_LENGTH, err));
    v->data = v->array->buffers[2];
    if (!v->data && v->length > 0 && tl_view_offset(v, v->length) > 0) {
        return broken(err, "it has text but no buffer for it");
    }
    return TL_OK;
}

/* String and binary views: 12 bytes in place, or 4, a buffer number and an offset. Null rows may hold anything. */
static tl_status check_views(tl_view *v, tl_bits live, tl_error *err) {
    const struct ArrowArray *a = v->array;
    int64_t n_data = a->n_buffers - 3;
    const uint8_t *sizes = a->buffers[a->n_buffers - 1];
    v->values = a->buffers[1];
    if (v->length > 0 && !v->values) {
        return broken(err, "it has no views");
    }
    if (n_data > 0 && !sizes) {
        return broken(err, "it has no sizes of its data buffers");
    }
    v->values = v->values ? v->values + v->first * 16 : NULL;
    for (int64_t i = 0; i < v->length; i++) {
        const uint8_t *view = v->values + i * 16;
        if (!row_matters(v, live, i)) {
            continue;
        }
        int64_t len = tl_load_i32(view);
        if (len < 0) {
            return broken(err, "a view has a negative length");
        }
        if (len <= 12) {
            continue;
        }
        int64_t buffer = tl_load_i32(view + 8), offset = tl_load_i32(view + 12);
        if (buffer < 0 || buffer >= n_data || !a->buffers[2 + buffer]) {
            return broken(err, "a view points to a buffer that is not there");
        }
        int64_t size = tl_load_i64(sizes + buffer * 8);
        if (offset < 0 || size < 0 || offset + len > size) {
            return broken(err, "a view points beyond its buffer");
        }
    }
    return TL_OK;
}

/* List views: any order, overlaps allowed, each inside the child. */
static tl_status check_list_views(tl_view *v, tl_bits live, tl_error *err) {
    int width = tl_view_offset_width(v);
    const uint8_t *offsets = v->array->buffers[1], *sizes = v->array->buffers[2];
    if (v->length > 0 && (!offsets || !sizes)) {
        return broken(err, "it has no offsets or sizes");
    }
    v->offsets = offsets ? offsets + v->first * width : NULL;
    v->sizes = sizes ? sizes + v->first * width : NULL;
    int64_t child = v->array->children[0]->length;
    for (int64_t i = 0; i < v->length; i++) {
        int64_t from = tl_view_offset(v, i), size = tl_view_size(v, i);
        if (row_matters(v, live, i) && (from < 0 || size < 0 || from > child || size > child - from)) {
            return broken(err, "a list goes beyond the values");
        }
    }
    return TL_OK;
}

static tl_status check_dictionary(tl_view *v, tl_bits live, tl_error *err) {
    const struct ArrowArray *d = v->array->dictionary;
    if (!d || !d->release || d->length < 0 || d->length > MAX_LENGTH) {
        return broken(err, "its dictionary is missing or released");
    }
    v->values = v->array->buffers[1];
    if (v->length > 0 && !v->values) {
        return broken(err, "it has no indices");
    }
    v->values = v->values ? v->values + v->first * v->type->width : NULL;
    for (int64_t i = 0; i < v->length; i++) {
        int64_t index = tl_view_index(v, i);
        if ((index < 0 || index >= d->length) && row_matters(v, live, i)) {
            return broken(err, "a dictionary index is out of range");
        }
    }
    return TL_OK;
}

static int64_t run_end(const tl_view *v, int64_t run) {
    const struct ArrowArray *ends = v->array->children[0];
    const uint8_t *p = ends->buffers[1];
    int64_t at = ends->offset + run;
    switch (v->type->children[0].id) {
    case TL_ARROW_INT16: {
        int16_t end;
        memcpy(&end, p + at * 2, 2);
        return end;
    }
    case TL_ARROW_INT32: return tl_load_i32(p + at * 4);
    default: return tl_load_i64(p + at * 8);
    }
}

static tl_status check_runs(tl_view *v, tl_error *err) {
    const struct ArrowArray *ends = v->array->children[0], *values = v->array->children[1];
    TL_TRY(check_shape(&v->type->children[0], ends, err));
    if (ends->null_count > 0 || (ends->length > 0 && !ends->buffers[1])) {
        return broken(err, "its run ends are missing or null");
    }
    if (values->length < ends->length) {
        return broken(err, "it has more runs than values");
    }
    int64_t before = 0, need = v->array->offset + v->array->length;
    for (int64_t run = 0; run < ends->length; run++) {
        int64_t end = run_end(v, run);
        if (end <= before) {
            return broken(err, "its run ends do not go forward");
        }
        before = end;
    }
    return before < need ? broken(err, "its runs end before its rows do") : TL_OK;
}

static tl_status check_children(const tl_view *v, tl_error *err) {
    const struct ArrowArray *a = v->array;
    int64_t need = a->offset + a->length;
    if (v->type->id == TL_ARROW_FIXED_LIST && (!tl_i64_mul(need, v->type->list_size, &need) || need > MAX_LENGTH)) {
        return broken(err, "its lists have more values than can be");
    }
    for (int64_t i = 0; i < v->type->n_children; i++) {
        if (a->children[i]->length < need) {
            return broken(err, "a child has fewer rows than it needs");
        }
    }
    return TL_OK;
}

/* ---- open ---- */

static tl_status open_fixed(tl_view *v, tl_error *err) {
    const uint8_t *values = v->array->buffers[1];
    if (!values && v->length > 0 && v->type->width > 0) {
        return broken(err, "it has no values");
    }
    if (!values) {
        return TL_OK;
    }
    int64_t at;
    if (!tl_i64_mul(v->first, v->type->width, &at)) {
        return broken(err, "its offset is beyond reason");
    }
    v->values = values + at;
    return TL_OK;
}

tl_status tl_view_open(const tl_arrow_type *type, const struct ArrowArray *array, int64_t from, int64_t n, tl_bits live,
                       tl_view *out, tl_error *err) {
    TL_TRY(check_shape(type, array, err));
    if (from < 0 || n < 0 || from > array->length || n > array->length - from) {
        return broken(err, "it has fewer rows than it needs");
    }
    *out = (tl_view){.type = type, .array = array, .first = array->offset + from, .length = n};
    TL_TRY(check_validity(out, err));
    switch (type->id) {
    case TL_ARROW_NULL:
    case TL_ARROW_UNION: return TL_OK;
    case TL_ARROW_BOOL:
        if (n > 0 && !array->buffers[1]) {
            return broken(err, "it has no values");
        }
        out->value_bits = (tl_bits){array->buffers[1], out->first};
        return TL_OK;
    case TL_ARROW_STRING:
    case TL_ARROW_LARGE_STRING:
    case TL_ARROW_BINARY:
    case TL_ARROW_LARGE_BINARY: return check_bytes(out, err);
    case TL_ARROW_STRING_VIEW:
    case TL_ARROW_BINARY_VIEW: return check_views(out, live, err);
    case TL_ARROW_LIST:
    case TL_ARROW_LARGE_LIST:
    case TL_ARROW_MAP: return check_offsets(out, array->children[0]->length, err);
    case TL_ARROW_LIST_VIEW:
    case TL_ARROW_LARGE_LIST_VIEW: return check_list_views(out, live, err);
    case TL_ARROW_FIXED_LIST:
    case TL_ARROW_STRUCT: return check_children(out, err);
    case TL_ARROW_DICTIONARY: return check_dictionary(out, live, err);
    case TL_ARROW_RUN_END: return check_runs(out, err);
    default: return open_fixed(out, err);
    }
}

/* ---- reading ---- */

tl_bytes tl_view_bytes(const tl_view *v, int64_t i) {
    switch (v->type->id) {
    case TL_ARROW_FIXED_BINARY:
        return (tl_bytes){v->values ? v->values + i * v->type->width : NULL, (size_t)v->type->width};
    case TL_ARROW_STRING_VIEW:
    case TL_ARROW_BINARY_VIEW: {
        const uint8_t *view = v->values + i * 16;
        int32_t len = tl_load_i32(view);
        const uint8_t *data = view + 4;
        if (len > 12) {
            data = (const uint8_t *)v->array->buffers[2 + tl_load_i32(view + 8)] + tl_load_i32(view + 12);
        }
        return (tl_bytes){data, (size_t)len};
    }
    default: {
        int64_t from = tl_view_offset(v, i), to = tl_view_offset(v, i + 1);
        return (tl_bytes){v->data ? v->data + from : NULL, (size_t)(to - from)};
    }
    }
}

static int64_t load_int(const uint8_t *p, tl_arrow_id id, int64_t i) {
    int16_t s;
    uint16_t u;
    switch (id) {
    case TL_ARROW_INT8: return (int8_t)p[i];
    case TL_ARROW_UINT8: return p[i];
    case TL_ARROW_INT16: memcpy(&s, p + i * 2, 2); return s;
    case TL_ARROW_UINT16: memcpy(&u, p + i * 2, 2); return u;
    case TL_ARROW_INT32: return tl_load_i32(p + i * 4);
    case TL_ARROW_UINT32: return tl_load_u32(p + i * 4);
    default: return tl_load_i64(p + i * 8);
    }
}

int64_t tl_view_int(const tl_view *v, int64_t i) {
    return load_int(v->values, v->type->id, i);
}

int64_t tl_view_index(const tl_view *v, int64_t i) {
    return load_int(v->values, v->type->index, i);
}

void tl_runs_start(const tl_view *v, tl_runs *out) {
    *out = (tl_runs){.view = v};
    int64_t low = 0, high = v->array->children[0]->length; /* the first run that ends behind row 0 */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (run_end(v, middle) <= v->first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    out->run = low - 1;
}

bool tl_runs_next(tl_runs *r) {
    const tl_view *v = r->view;
    r->row += r->count;
    if (r->row >= v->length) {
        return false;
    }
    r->run++;
    int64_t end = run_end(v, r->run) - v->first;
    r->count = (end < v->length ? end : v->length) - r->row;
    return true;
}

/* Eight bits from bit `at`; never touches the byte after the last bit that is asked for (`left` bits). */
static uint8_t eight_bits(const uint8_t *bits, int64_t at, int64_t left) {
    int shift = (int)(at & 7);
    unsigned v = (unsigned)bits[at >> 3] >> shift;
    if (shift && left > 8 - shift) {
        v |= (unsigned)bits[(at >> 3) + 1] << (8 - shift);
    }
    return (uint8_t)v;
}

void tl_bits_and(tl_bits a, tl_bits b, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i += 8) {
        int64_t left = n - i;
        unsigned x = a.data ? eight_bits(a.data, a.offset + i, left) : 0xff;
        unsigned y = b.data ? eight_bits(b.data, b.offset + i, left) : 0xff;
        unsigned mask = left >= 8 ? 0xff : (1u << left) - 1;
        out[i >> 3] = (uint8_t)(x & y & mask);
    }
}
