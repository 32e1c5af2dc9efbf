/*
 * Gathering a page of one flat column: dense values and definition levels for the column writer. The loops are kept
 * apart by width and by presence of nulls; rows of one source come in long stretches, so each stretch runs with the
 * source's pointers in registers.
 */
#include "append/encode_internal.h"

size_t tl_gather_width(const tl_column *column, const tl_gather_type *type) {
    if (column->kind == TL_COLUMN_BOOL) {
        return 1;
    }
    if (column->kind == TL_COLUMN_BYTES) {
        return sizeof(tl_bytes);
    }
    switch (type->convert) {
    case TL_PQ_CONVERT_DECIMAL_INT32: return 4;
    case TL_PQ_CONVERT_DECIMAL_INT64: return 8;
    case TL_PQ_CONVERT_DECIMAL_FIXED: return (size_t)type->type_length;
    case TL_PQ_CONVERT_NONE: break;
    }
    return (size_t)column->width;
}

void tl_gather_decimal(const tl_gather_type *type, const uint8_t *in, uint8_t *out) {
    if (type->convert == TL_PQ_CONVERT_DECIMAL_INT32) {
        memcpy(out, in, 4);
    } else if (type->convert == TL_PQ_CONVERT_DECIMAL_INT64) {
        memcpy(out, in, 8);
    } else {
        for (int32_t i = 0; i < type->type_length; i++) { /* big-endian; the low bytes hold the value */
            out[i] = in[type->type_length - 1 - i];
        }
    }
}

/* A stretch: rows of the set from position `i` on that lie in one source. */
typedef struct stretch {
    const tl_column *column;
    const uint32_t *rows; /* NULL = consecutive, from `first` */
    uint32_t base;        /* of the source */
    uint32_t first;
    uint32_t n;     /* at most */
    uint32_t limit; /* rows in the source */
} stretch;

/* Row `i` of a stretch within its source. */
static inline uint32_t at(const stretch *s, uint32_t i) {
    return (s->rows ? s->rows[i] : s->first + i) - s->base;
}

/* How many rows of the stretch are in its source; they need not be consecutive. */
static uint32_t stretch_end(const stretch *s) {
    if (!s->rows) {
        uint32_t left = s->base + s->limit - s->first;
        return left < s->n ? left : s->n;
    }
    uint32_t from = 0, few = s->n < 16 ? s->n : 16;
    while (from < few && s->rows[from] - s->base < s->limit) {
        from++;
    }
    if (from < few) {
        return from;
    }
    while (from < s->n) { /* blocks without a branch a row; then the row in the block that is outside */
        uint32_t n = s->n - from < 256 ? s->n - from : 256, outside = 0;
        for (uint32_t i = 0; i < n; i++) {
            outside |= (uint32_t)(s->rows[from + i] - s->base >= s->limit);
        }
        if (outside) {
            break;
        }
        from += n;
    }
    while (from < s->n && s->rows[from] - s->base < s->limit) {
        from++;
    }
    return from;
}

/* Rows in random order miss the cache and the page tables; asking early lets many misses overlap. */
#define AHEAD 32
#define GATHER(type_, n_)                                                                                              \
    do {                                                                                                               \
        const uint8_t *from_ = s->column->values;                                                                      \
        type_ *to_ = (type_ *)(void *)out;                                                                             \
        uint32_t i = 0;                                                                                                \
        for (; i + AHEAD < (n_); i++) {                                                                                \
            __builtin_prefetch(from_ + (size_t)(s->rows[i + AHEAD] - s->base) * sizeof(type_));                        \
            memcpy(&to_[i], from_ + (size_t)(s->rows[i] - s->base) * sizeof(type_), sizeof(type_));                    \
        }                                                                                                              \
        for (; i < (n_); i++) {                                                                                        \
            memcpy(&to_[i], from_ + (size_t)(s->rows[i] - s->base) * sizeof(type_), sizeof(type_));                    \
        }                                                                                                              \
    } while (0)

static void all_bytes(const stretch *s, tl_bytes *out) {
    const tl_column *c = s->column;
    if (c->offsets32) {
        for (uint32_t i = 0; i < s->n; i++) {
            uint32_t row = at(s, i);
            int32_t from = c->offsets32[row];
            out[i] = (tl_bytes){c->data + from, (size_t)(c->offsets32[row + 1] - from)};
        }
    } else {
        for (uint32_t i = 0; i < s->n; i++) {
            out[i] = tl_column_bytes(c, at(s, i));
        }
    }
}

/* All n rows of a stretch without nulls. */
static void gather_all(const stretch *s, const tl_gather_type *type, size_t width, uint8_t *out) {
    const tl_column *c = s->column;
    if (c->kind == TL_COLUMN_BYTES) {
        all_bytes(s, (tl_bytes *)(void *)out);
    } else if (c->kind == TL_COLUMN_BOOL) {
        for (uint32_t i = 0; i < s->n; i++) {
            out[i] = tl_column_bool(c, at(s, i));
        }
    } else if (type->convert != TL_PQ_CONVERT_NONE) {
        for (uint32_t i = 0; i < s->n; i++) {
            tl_gather_decimal(type, c->values + (size_t)at(s, i) * 16, out + i * width);
        }
    } else if (!s->rows) {
        memcpy(out, c->values + (size_t)(s->first - s->base) * width, s->n * width);
    } else if (width == 8) {
        GATHER(uint64_t, s->n);
    } else if (width == 4) {
        GATHER(uint32_t, s->n);
    } else {
        for (uint32_t i = 0; i < s->n; i++) {
            memcpy(out + i * width, c->values + (size_t)at(s, i) * width, width);
        }
    }
}

static void one_value(const tl_column *c, const tl_gather_type *type, size_t width, uint32_t row, uint8_t *out) {
    if (c->kind == TL_COLUMN_BYTES) {
        tl_bytes v = tl_column_bytes(c, row);
        memcpy(out, &v, sizeof v);
    } else if (c->kind == TL_COLUMN_BOOL) {
        *out = tl_column_bool(c, row);
    } else if (type->convert != TL_PQ_CONVERT_NONE) {
        tl_gather_decimal(type, c->values + (size_t)row * 16, out);
    } else {
        memcpy(out, c->values + (size_t)row * width, width);
    }
}

/* Rows of a stretch with nulls: present values only, a level for each row. Returns the number of values. */
static uint32_t gather_present(const stretch *s, const tl_gather_type *type, size_t width, uint8_t *out, uint8_t *def) {
    const tl_column *c = s->column;
    uint32_t n = 0;
    if (c->kind == TL_COLUMN_FIXED && type->convert == TL_PQ_CONVERT_NONE && (width == 8 || width == 4)) {
        for (uint32_t i = 0; i < s->n; i++) { /* the value under a null is written too, and then written over */
            uint32_t row = at(s, i);
            bool present = tl_bit(c->validity, c->validity_offset + row);
            if (width == 8) {
                memcpy(out + (size_t)n * 8, c->values + (size_t)row * 8, 8);
            } else {
                memcpy(out + (size_t)n * 4, c->values + (size_t)row * 4, 4);
            }
            def[i] = present;
            n += present;
        }
        return n;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t row = at(s, i);
        def[i] = tl_bit(c->validity, c->validity_offset + row);
        if (def[i]) {
            one_value(c, type, width, row, out + n++ * width);
        }
    }
    return n;
}

/* True when the rows are consecutive, so that their values may be used where they are. */
static bool consecutive(const uint32_t *rows, uint32_t n) {
    uint32_t different = 0;
    if (rows[n - 1] - rows[0] != n - 1) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        different |= rows[i] ^ (rows[0] + i);
    }
    return different == 0;
}

/* Values may be used in place only where they stand as their type wants. */
static bool aligned(const uint8_t *values, size_t width) {
    return width == 8 ? ((uintptr_t)values & 7) == 0 : width != 4 || ((uintptr_t)values & 3) == 0;
}

static stretch stretch_from(const tl_row_set *set, int32_t column, uint32_t position, uint32_t n, int32_t *near) {
    stretch s = {.n = n};
    if (set->rows) {
        s.rows = set->rows + position;
        s.first = s.rows[0];
    } else {
        s.first = set->first + position;
    }
    *near = tl_sources_find(&set->sources, s.first, *near);
    const tl_source *source = &set->sources.list[*near];
    s.column = &source->columns[column];
    s.base = source->base;
    s.limit = source->n_rows;
    s.n = stretch_end(&s);
    return s;
}

/* ---- rows that jump between sources: input in no order, in several batches ---- */

#define SCATTER 512 /* rows at a time: their sources, then their values */

/* The source of a row. Batches are mostly of one size, so a guess by proportion is right or next to right. */
static inline int32_t guess_source(const tl_sources *s, uint64_t per_row, uint32_t row) {
    const tl_source *list = s->list;
    int32_t i = (int32_t)((row * per_row) >> 32);
    i = i < s->n ? i : s->n - 1;
    if (row - list[i].base < list[i].n_rows) {
        return i;
    }
    int32_t beside = row < list[i].base ? i - 1 : i + 1;
    if (beside >= 0 && beside < s->n && row - list[beside].base < list[beside].n_rows) {
        return beside;
    }
    return tl_sources_find(s, row, i);
}

/* Up to SCATTER rows from any sources. Returns the number of values; `def` gets a level for each row. */
static uint32_t gather_scattered(const tl_row_set *set, int32_t column, const tl_gather_type *type,
                                 const uint32_t *rows, uint32_t n, uint8_t *out, uint8_t *def) {
    const tl_column *columns[SCATTER];
    uint32_t local[SCATTER], n_values = 0;
    uint64_t per_row = set->sources.n_rows ? ((uint64_t)set->sources.n << 32) / set->sources.n_rows : 0;
    for (uint32_t i = 0; i < n; i++) {
        const tl_source *source = &set->sources.list[guess_source(&set->sources, per_row, rows[i])];
        columns[i] = &source->columns[column];
        local[i] = rows[i] - source->base;
        if (columns[i]->kind == TL_COLUMN_FIXED) {
            __builtin_prefetch(columns[i]->values + (size_t)local[i] * (size_t)columns[i]->width);
        } else if (columns[i]->kind == TL_COLUMN_BYTES && columns[i]->offsets32) {
            __builtin_prefetch(&columns[i]->offsets32[local[i]]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const tl_column *c = columns[i];
        size_t width = tl_gather_width(c, type);
        def[i] = !c->validity || tl_bit(c->validity, c->validity_offset + local[i]);
        if (!def[i]) {
            continue;
        }
        if (width == 8 && c->kind == TL_COLUMN_FIXED && type->convert == TL_PQ_CONVERT_NONE) {
            memcpy(out + (size_t)n_values * 8, c->values + (size_t)local[i] * 8, 8);
        } else {
            one_value(c, type, width, local[i], out + n_values * width);
        }
        n_values++;
    }
    return n_values;
}

/* Do rows stand in runs, as when sorted files are merged and late rows are few among the others? */
static bool in_runs(const uint32_t *rows, uint32_t n) {
    uint32_t breaks = 0;
    for (uint32_t i = 1; i < n; i++) {
        breaks += rows[i] != rows[i - 1] + 1;
    }
    return breaks < n / 4;
}

/* The same for rows in runs: a source is looked for once a run, and the run is copied as a whole. */
static uint32_t gather_in_runs(const tl_row_set *set, int32_t column, const tl_gather_type *type, const uint32_t *rows,
                               uint32_t n, size_t width, uint8_t *out, uint8_t *def) {
    uint64_t per_row = set->sources.n_rows ? ((uint64_t)set->sources.n << 32) / set->sources.n_rows : 0;
    uint32_t n_values = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        const tl_source *source = &set->sources.list[guess_source(&set->sources, per_row, rows[from])];
        uint32_t end = source->base + source->n_rows;
        for (to = from + 1; to < n && rows[to] == rows[to - 1] + 1 && rows[to] != end;) {
            to++;
        }
        stretch s = {&source->columns[column], NULL, source->base, rows[from], to - from, source->n_rows};
        if (s.column->validity) {
            n_values += gather_present(&s, type, width, out + n_values * width, def + from);
        } else {
            gather_all(&s, type, width, out + n_values * width);
            memset(def + from, 1, s.n);
            n_values += s.n;
        }
    }
    return n_values;
}

void tl_gather_flat(const tl_row_set *set, int32_t column, const tl_gather_type *type, uint32_t at_row, uint32_t n,
                    uint8_t *values, uint8_t *def, tl_pq_values *out) {
    int32_t near = 0;
    uint32_t done = 0, n_values = 0;
    bool levels = false;
    while (done < n) {
        stretch s = stretch_from(set, column, at_row + done, n - done, &near);
        if (s.rows && s.n < 16 && s.n < n - done) {
            if (!levels) {
                memset(def, 1, done);
                levels = true;
            }
            uint32_t rows = n - done < SCATTER ? n - done : SCATTER;
            size_t width = tl_gather_width(s.column, type);
            uint8_t *to = values + n_values * width;
            n_values += in_runs(s.rows, rows) ? gather_in_runs(set, column, type, s.rows, rows, width, to, def + done)
                                              : gather_scattered(set, column, type, s.rows, rows, to, def + done);
            done += rows;
            continue;
        }
        if (s.rows && consecutive(s.rows, s.n)) {
            s.rows = NULL;
        }
        const tl_column *c = s.column;
        size_t width = tl_gather_width(c, type);
        if (!c->validity) {
            const uint8_t *in_place =
                c->kind == TL_COLUMN_FIXED ? c->values + (size_t)(s.first - s.base) * width : NULL;
            if (s.n == n && !s.rows && in_place && type->convert == TL_PQ_CONVERT_NONE && aligned(in_place, width)) {
                *out = (tl_pq_values){n, n, NULL, NULL, in_place};
                return;
            }
            gather_all(&s, type, width, values + n_values * width);
            if (levels) {
                memset(def + done, 1, s.n);
            }
            n_values += s.n;
        } else {
            if (!levels) {
                memset(def, 1, done);
                levels = true;
            }
            n_values += gather_present(&s, type, width, values + n_values * width, def + done);
        }
        done += s.n;
    }
    *out = (tl_pq_values){n, n_values, n_values < n ? def : NULL, NULL, values};
}
