/* Row selection: a bitmap per row group, then ranges. */
#include "read/selection.h"

#include <string.h>

#include "base/hash.h"

void tl_selection_free(tl_selection *s) {
    tl_free(s->ranges);
    tl_free(s->bits);
    *s = (tl_selection){0};
}

static tl_status add_range(tl_selection *s, int64_t first, int64_t count, tl_error *err) {
    if (s->n == s->cap) {
        int32_t cap = s->cap ? s->cap * 2 : 16;
        tl_pq_row_range *ranges = cap > 0 ? tl_realloc_array(s->ranges, (size_t)cap, sizeof *ranges) : NULL;
        if (!ranges) {
            return tl_fail_memory(err, (size_t)s->cap * 2 * sizeof *ranges);
        }
        s->ranges = ranges;
        s->cap = cap;
    }
    s->ranges[s->n++] = (tl_pq_row_range){first, count};
    s->rows += count;
    return TL_OK;
}

static void clear_rows(uint8_t *bits, int64_t from, int64_t to) {
    for (; from < to && (from & 7); from++) {
        tl_bit_clear(bits, from);
    }
    if (to - from >= 8) {
        memset(bits + (from >> 3), 0, (size_t)(to - from) >> 3);
        from += (to - from) & ~(int64_t)7;
    }
    for (; from < to; from++) {
        tl_bit_clear(bits, from);
    }
}

static tl_status filter_times(tl_table *table, const tl_schema *schema, tl_open_file *f, int32_t g, int64_t n,
                              const tl_plan_options *options, uint8_t *bits, tl_error *err) {
    const tl_field *field = &schema->fields[table->contract.time];
    int32_t leaf = tl_open_file_leaf(f, field);
    if (leaf < 0 || f->meta->schema[f->leaves[leaf].element].type != TL_PQ_INT64) {
        return tl_fail(err, TL_CORRUPT, "it has no time column \"%s\"", field->name);
    }
    int64_t *times = tl_alloc_array((size_t)n, sizeof *times), n_nulls = 0;
    uint8_t *validity = tl_calloc((size_t)(n + 7) / 8, 1);
    tl_status status = times && validity ? tl_pq_reader_int64(f->parquet, g, leaf, times, validity, &n_nulls, err)
                                         : tl_fail_memory(err, (size_t)n * sizeof *times);
    for (int64_t i = 0; status == TL_OK && i < n; i++) {
        if (times[i] < options->from_us || times[i] >= options->to_us || (n_nulls && !tl_bit(validity, i))) {
            tl_bit_clear(bits, i);
        }
    }
    tl_free(times);
    tl_free(validity);
    return status;
}

/* What is asked of the values of a key column: to be one of them, or of a share of the series. */
typedef struct key_test {
    tl_bytes wanted; /* its piece; data NULL = the share decides */
    uint32_t share, shares;
} key_test;

static bool passes(const key_test *t, tl_bytes piece) {
    return t->wanted.data ? tl_bytes_equal(piece, t->wanted)
                          : tl_hash_bytes(piece.data, piece.len, 0) % t->shares == t->share;
}

static tl_status filter_key(const tl_field *field, tl_open_file *f, int32_t g, int64_t n, const key_test *test,
                            uint8_t *bits, tl_error *err) {
    int32_t leaf = tl_open_file_leaf(f, field);
    tl_buf piece = {0};
    tl_pq_runs runs = {0};
    tl_status status = TL_OK;
    if (leaf < 0) { /* the file is older than the column: null in all rows */
        status = tl_key_piece_of_value(&field->type, (tl_bytes){NULL, 0}, &piece, err);
        if (status == TL_OK && !passes(test, tl_buf_bytes(&piece))) {
            clear_rows(bits, 0, n);
        }
        tl_buf_free(&piece);
        return status;
    }
    const tl_pq_schema_element *e = &f->meta->schema[f->leaves[leaf].element];
    status = tl_pq_reader_runs(f->parquet, g, leaf, &runs, err);
    for (int64_t i = 0; status == TL_OK && i < runs.n_runs; i++) {
        tl_bytes value = runs.is_null[i] ? (tl_bytes){NULL, 0} : runs.values[i];
        if (!runs.is_null[i] && !value.data) {
            value.data = (const uint8_t *)"";
        }
        piece.len = 0;
        status = tl_key_piece(&field->type, e, value, &piece, err);
        if (status == TL_OK && !passes(test, tl_buf_bytes(&piece))) {
            clear_rows(bits, runs.starts[i], runs.starts[i + 1]);
        }
    }
    tl_pq_runs_free(&runs);
    tl_buf_free(&piece);
    return status;
}

static tl_status to_ranges(tl_selection *s, int64_t n, tl_error *err) {
    int64_t from = -1; /* of the open range */
    for (int64_t i = 0; i < n;) {
        uint8_t byte = s->bits[i >> 3];
        if (!(i & 7) && i + 8 <= n && (byte == 0xff || byte == 0)) { /* whole bytes at once */
            if (byte && from < 0) {
                from = i;
            } else if (!byte && from >= 0) {
                TL_TRY(add_range(s, from, i - from, err));
                from = -1;
            }
            i += 8;
            continue;
        }
        bool set = tl_bit(s->bits, i);
        if (set && from < 0) {
            from = i;
        } else if (!set && from >= 0) {
            TL_TRY(add_range(s, from, i - from, err));
            from = -1;
        }
        i++;
    }
    return from >= 0 ? add_range(s, from, n - from, err) : TL_OK;
}

/* All rows but the hidden ones. */
static tl_status start_bits(tl_selection *s, const tl_plan_file *plan_file, int64_t first_row, int64_t n,
                            tl_error *err) {
    size_t bytes = (size_t)(n + 7) / 8;
    if (bytes > s->cap_bits) {
        uint8_t *bits = tl_realloc(s->bits, bytes);
        if (!bits) {
            return tl_fail_memory(err, bytes);
        }
        s->bits = bits;
        s->cap_bits = bytes;
    }
    memset(s->bits, 0xff, bytes);
    for (int64_t i = 0; plan_file->hidden && i < n; i++) {
        if (tl_bit(plan_file->hidden, first_row + i)) {
            tl_bit_clear(s->bits, i);
        }
    }
    return TL_OK;
}

tl_status tl_selection_make(tl_table *table, const tl_schema *schema, tl_open_file *f, const tl_plan_file *plan_file,
                            int32_t row_group, int64_t first_row, const tl_plan_options *options, const tl_bytes *only,
                            tl_selection *out, tl_error *err) {
    int64_t n = f->meta->row_groups[row_group].n_rows;
    out->n = 0;
    out->rows = 0;
    TL_TRY(start_bits(out, plan_file, first_row, n, err));
    if (options->has_time && table->contract.time >= 0) {
        TL_TRY(filter_times(table, schema, f, row_group, n, options, out->bits, err));
    }
    bool share = options->shares > 1;
    for (int32_t c = 0; (only || share) && c < table->contract.n_series; c++) {
        const key_test test = {only ? only[c] : (tl_bytes){NULL, 0}, options->share, options->shares};
        if (test.wanted.data || (share && c == 0)) {
            TL_TRY(filter_key(&schema->fields[table->contract.series[c]], f, row_group, n, &test, out->bits, err));
        }
    }
    return to_ranges(out, n, err);
}
