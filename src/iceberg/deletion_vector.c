/*
 * Deletion vectors: the blob "deletion-vector-v1" of a Puffin file (Iceberg spec v3). Comes in: the blob's bytes. Goes
 * out: the deleted row positions, ascending. The blob is: length of the rest but the checksum (4 bytes, big-endian),
 * magic, a 64-bit Roaring bitmap in the portable format, CRC-32 of magic and bitmap (4 bytes, big-endian).
 */
#include <zlib.h>

#include "iceberg/manifest.h"

/* 1 GiB of positions; one file never has so many rows deleted before it is rewritten. */
#define MAX_POSITIONS ((int64_t)1 << 27)
#define ARRAY_MAX 4096

enum { COOKIE_WITHOUT_RUNS = 12346, COOKIE_WITH_RUNS = 12347 };

/* The walk over the bitmap is done twice: once to check and count, once to write down. */
typedef struct walk {
    const uint8_t *at, *end;
    uint64_t *out; /* NULL: count only */
    int64_t n;
    int64_t last; /* the last position seen; -1 = none */
    tl_error *err;
} walk;

static tl_status corrupt(walk *w, const char *what) {
    return tl_fail(w->err, TL_CORRUPT, "deletion vector: %s", what);
}

static uint32_t load_u16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t load_big_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static tl_status take(walk *w, size_t n, const uint8_t **out) {
    if ((size_t)(w->end - w->at) < n) {
        return corrupt(w, "it ends early");
    }
    *out = w->at;
    w->at += n;
    return TL_OK;
}

static tl_status put(walk *w, uint64_t base, uint32_t low) {
    int64_t position = (int64_t)(base | low);
    if (position <= w->last) {
        return corrupt(w, "positions are not ascending");
    }
    w->last = position;
    if (w->out) {
        w->out[w->n] = (uint64_t)position;
    } else if (w->n == MAX_POSITIONS) {
        return tl_fail(w->err, TL_UNSUPPORTED, "deletion vector of more than %lld positions", (long long)MAX_POSITIONS);
    }
    w->n++;
    return TL_OK;
}

static tl_status walk_array(walk *w, uint64_t base, uint32_t cardinality) {
    const uint8_t *p = NULL;
    TL_TRY(take(w, (size_t)cardinality * 2, &p));
    for (uint32_t i = 0; i < cardinality; i++) {
        TL_TRY(put(w, base, load_u16(p + 2 * i)));
    }
    return TL_OK;
}

static tl_status walk_bitset(walk *w, uint64_t base, uint32_t cardinality) {
    const uint8_t *p = NULL;
    int64_t before = w->n;
    TL_TRY(take(w, 8192, &p));
    for (uint32_t word = 0; word < 1024; word++) {
        for (uint64_t bits = tl_load_u64(p + 8 * word); bits; bits &= bits - 1) {
            TL_TRY(put(w, base, word * 64 + (uint32_t)__builtin_ctzll(bits)));
        }
    }
    return w->n - before == cardinality ? TL_OK : corrupt(w, "a count of positions is wrong");
}

static tl_status walk_runs(walk *w, uint64_t base, uint32_t cardinality) {
    const uint8_t *p = NULL;
    int64_t before = w->n;
    TL_TRY(take(w, 2, &p));
    uint32_t runs = load_u16(p);
    TL_TRY(take(w, (size_t)runs * 4, &p));
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t start = load_u16(p + 4 * i), more = load_u16(p + 4 * i + 2);
        if (start + more > 0xffff) {
            return corrupt(w, "a run leaves its container");
        }
        for (uint32_t v = start; v <= start + more; v++) {
            TL_TRY(put(w, base, v));
        }
    }
    return w->n - before == cardinality ? TL_OK : corrupt(w, "a count of positions is wrong");
}

/* One 32-bit bitmap of the portable format; `high` are the upper 32 bits of its positions. */
static tl_status walk_bitmap(walk *w, uint32_t high) {
    const uint8_t *p = NULL, *has_runs = NULL, *keys = NULL;
    TL_TRY(take(w, 4, &p));
    uint32_t cookie = tl_load_u32(p), n;
    if ((cookie & 0xffff) == COOKIE_WITH_RUNS) {
        n = (cookie >> 16) + 1;
        TL_TRY(take(w, (n + 7) / 8, &has_runs));
    } else if (cookie == COOKIE_WITHOUT_RUNS) {
        TL_TRY(take(w, 4, &p));
        n = tl_load_u32(p);
    } else {
        return corrupt(w, "it is not a Roaring bitmap");
    }
    if (n > 65536) {
        return corrupt(w, "a bitmap has too many containers");
    }
    TL_TRY(take(w, (size_t)n * 4, &keys));
    if (!has_runs || n >= 4) {
        TL_TRY(take(w, (size_t)n * 4, &p)); /* offsets: the containers follow each other anyway */
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t base = (uint64_t)high << 32 | (uint64_t)load_u16(keys + 4 * i) << 16;
        uint32_t cardinality = load_u16(keys + 4 * i + 2) + 1;
        if (has_runs && (has_runs[i / 8] >> (i % 8) & 1)) {
            TL_TRY(walk_runs(w, base, cardinality));
        } else if (cardinality <= ARRAY_MAX) {
            TL_TRY(walk_array(w, base, cardinality));
        } else {
            TL_TRY(walk_bitset(w, base, cardinality));
        }
    }
    return TL_OK;
}

static tl_status walk_all(walk *w) {
    const uint8_t *p = NULL;
    TL_TRY(take(w, 8, &p));
    uint64_t bitmaps = tl_load_u64(p);
    /* Each takes its key and a cookie at least. */
    if (bitmaps > (uint64_t)(w->end - w->at) / 8) {
        return corrupt(w, "it claims more bitmaps than its bytes can hold");
    }
    for (; bitmaps; bitmaps--) {
        TL_TRY(take(w, 4, &p));
        uint32_t high = tl_load_u32(p);
        if (high > INT32_MAX) {
            return corrupt(w, "a position is beyond 63 bits");
        }
        TL_TRY(walk_bitmap(w, high));
    }
    return w->at == w->end ? TL_OK : corrupt(w, "bytes follow the bitmap");
}

static tl_status check_frame(walk *w, tl_bytes blob) {
    static const uint8_t magic[4] = {0xd1, 0xd3, 0x39, 0x64};
    if (blob.len < 20 || blob.len > UINT32_MAX) {
        return corrupt(w, "it is too short or too long");
    }
    if (load_big_u32(blob.data) != blob.len - 8) {
        return corrupt(w, "its length is not the one it states");
    }
    if (memcmp(blob.data + 4, magic, 4) != 0) {
        return corrupt(w, "the magic number is wrong");
    }
    if (crc32(0, blob.data + 4, (uInt)(blob.len - 8)) != load_big_u32(blob.data + blob.len - 4)) {
        return corrupt(w, "the checksum is wrong");
    }
    return TL_OK;
}

tl_status tl_deletion_vector_parse(tl_bytes blob, tl_arena *arena, uint64_t **positions, int64_t *n, tl_error *err) {
    walk w = {.last = -1, .err = err};
    *positions = NULL;
    *n = 0;
    TL_TRY(check_frame(&w, blob));
    w.at = blob.data + 8;
    w.end = blob.data + blob.len - 4;
    TL_TRY(walk_all(&w));
    walk again = {.at = blob.data + 8, .end = w.end, .last = -1, .err = err};
    again.out = tl_arena_array(arena, (size_t)w.n, sizeof *again.out);
    if (!again.out) {
        return tl_fail_memory(err, (size_t)w.n * sizeof *again.out);
    }
    TL_TRY(walk_all(&again));
    *positions = again.out;
    *n = again.n;
    return TL_OK;
}
