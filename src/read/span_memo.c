/* Remembered key columns; see span_memo.h. */
#include "read/span_memo.h"

#include "base/mem.h"
#include "read/cache.h"

typedef struct kept {
    tl_memo memo;
    tl_spans spans;
} kept;

static void kept_free(tl_memo *m) {
    kept *k = (kept *)m;
    tl_spans_free(&k->spans);
    tl_free(k);
}

static tl_status read_file(tl_table *table, const tl_schema *schema, const tl_live_file *live, tl_key_scratch *scratch,
                           kept *k, tl_error *err) {
    tl_open_file f;
    TL_TRY(tl_open_file_with(table, live, scratch, &f, err));
    tl_status status =
        tl_keys_spans(table, schema, &(tl_key_request){.steps = true, .scratch = scratch}, &f, 0, &k->spans, err);
    tl_open_file_close(&f);
    k->memo.bytes = sizeof *k + (size_t)k->spans.cap * sizeof(tl_span);
    for (int64_t i = 0; i < k->spans.n; i++) {
        const tl_span *span = &k->spans.items[i];
        size_t row = (span->times ? 8U : 0U) + (span->rows ? 4U : 0U) + (span->ingests ? 8U : 0U);
        k->memo.bytes += span->key_len + (size_t)span->n_steps * sizeof *span->steps + (size_t)span->n * row;
    }
    return status;
}

static tl_status make(tl_table *table, const tl_schema *schema, const tl_live_file *live, tl_key_scratch *scratch,
                      kept **out, tl_error *err) {
    kept *k = tl_calloc(1, sizeof *k);
    if (!k) {
        return tl_fail_memory(err, sizeof *k);
    }
    k->memo.references = 1;
    k->memo.free = kept_free;
    tl_status status = read_file(table, schema, live, scratch, k, err);
    if (status != TL_OK) {
        kept_free(&k->memo);
        return status;
    }
    *out = k;
    return TL_OK;
}

/* Copies: numbers are written into them. */
static tl_status copy_spans(const kept *k, const tl_series_set *among, int32_t file, tl_spans *out, tl_error *err) {
    size_t n = (size_t)k->spans.n;
    *out = (tl_spans){.items = tl_alloc_array(n, sizeof *out->items), .cap = k->spans.n};
    if (!out->items) {
        *out = (tl_spans){0};
        return tl_fail_memory(err, n * sizeof *out->items);
    }
    for (size_t i = 0; i < n; i++) {
        const tl_span *span = &k->spans.items[i];
        if (!among || tl_series_find(among, (tl_bytes){span->key, span->key_len}) >= 0) {
            out->items[out->n] = *span;
            out->items[out->n++].file = file;
        }
    }
    return TL_OK;
}

tl_status tl_span_memo_take(tl_table *table, const tl_schema *schema, const tl_live_file *live,
                            const tl_series_set *among, tl_key_scratch *scratch, int32_t file, tl_spans *out,
                            tl_memo **memo, tl_error *err) {
    tl_file_id t = tl_older_table_id(table, schema), id = tl_older_file_id(live);
    uint64_t a = id.a ^ t.a, b = id.b ^ t.b ^ 0x7370616e; /* "span" */
    kept *k = (kept *)tl_memo_find(a, b);
    *memo = NULL;
    if (!k) {
        TL_TRY(make(table, schema, live, scratch, &k, err));
        tl_memo_keep(&k->memo, a, b);
    }
    tl_status status = copy_spans(k, among, file, out, err);
    if (status == TL_OK) {
        *memo = &k->memo;
    } else {
        tl_memo_release(&k->memo);
    }
    return status;
}
