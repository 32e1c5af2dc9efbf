/* Flatbuffers, read from bytes that may be anything. */
#include "arrow/ipc_internal.h"

/* `size` bytes at `at`, or NULL and bad. */
static const uint8_t *look(tl_flat *f, uint64_t at, uint64_t size) {
    if (f->bad || at > f->len || size > f->len - at) {
        f->bad = true;
        return NULL;
    }
    return f->data + at;
}

static uint16_t load_u16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

static const tl_flat_table ABSENT = {NULL, 0, 0, 0, 0};

static tl_flat_table table_at(tl_flat *f, uint64_t at) {
    const uint8_t *p = look(f, at, 4);
    if (!p) {
        return ABSENT;
    }
    int64_t vtable = (int64_t)at - tl_load_i32(p); /* the table says where its vtable is, mostly before it */
    const uint8_t *v = vtable >= 0 ? look(f, (uint64_t)vtable, 4) : NULL;
    if (!v) {
        f->bad = true;
        return ABSENT;
    }
    tl_flat_table t = {f, at, (uint64_t)vtable, load_u16(v), load_u16(v + 2)};
    if (t.vtable_size < 4 || t.size < 4 || !look(f, t.vtable, t.vtable_size) || !look(f, at, t.size)) {
        f->bad = true;
        return ABSENT;
    }
    return t;
}

tl_flat_table tl_flat_root(tl_flat *f) {
    const uint8_t *p = look(f, 0, 4);
    return p ? table_at(f, tl_load_u32(p)) : ABSENT;
}

/* Where a field of `size` bytes is; 0 = absent. */
static uint64_t place(tl_flat_table t, int field, uint32_t size) {
    uint32_t slot = 4 + 2 * (uint32_t)field;
    if (!t.flat || t.flat->bad || slot + 2 > t.vtable_size) {
        return 0;
    }
    uint32_t offset = load_u16(t.flat->data + t.vtable + slot);
    if (offset == 0) {
        return 0;
    }
    if (offset < 4 || offset + size > t.size) {
        t.flat->bad = true;
        return 0;
    }
    return t.at + offset;
}

int64_t tl_flat_int(tl_flat_table t, int field, int width, int64_t otherwise) {
    uint64_t at = place(t, field, (uint32_t)width);
    if (!at) {
        return otherwise;
    }
    const uint8_t *p = t.flat->data + at;
    switch (width) {
    case 1: return *p;
    case 2: return (int16_t)load_u16(p);
    case 4: return tl_load_i32(p);
    default: return tl_load_i64(p);
    }
}

/* Where the offset in a field leads; 0 = absent. */
static uint64_t follow(tl_flat *f, uint64_t at) {
    const uint8_t *p = look(f, at, 4);
    return p ? at + tl_load_u32(p) : 0;
}

tl_flat_table tl_flat_child(tl_flat_table t, int field) {
    uint64_t at = place(t, field, 4);
    return at ? table_at(t.flat, follow(t.flat, at)) : ABSENT;
}

tl_flat_vector tl_flat_list(tl_flat_table t, int field, uint64_t element_size) {
    uint64_t at = place(t, field, 4);
    at = at ? follow(t.flat, at) : 0;
    const uint8_t *p = at ? look(t.flat, at, 4) : NULL;
    if (!p) {
        return (tl_flat_vector){0, 0};
    }
    uint64_t n = tl_load_u32(p);
    return look(t.flat, at + 4, n * element_size) ? (tl_flat_vector){at + 4, n} : (tl_flat_vector){0, 0};
}

tl_flat_table tl_flat_at(tl_flat *f, tl_flat_vector v, uint64_t i) {
    if (i >= v.n) {
        f->bad = true;
        return ABSENT;
    }
    return table_at(f, follow(f, v.at + 4 * i));
}

tl_bytes tl_flat_text(tl_flat_table t, int field) {
    tl_flat_vector v = tl_flat_list(t, field, 1);
    return v.n ? (tl_bytes){t.flat->data + v.at, (size_t)v.n} : (tl_bytes){NULL, 0};
}
