/*
 * Pages that wait for their dictionary. Comes in: dictionary-encoded pages of numbers, indices in the order of first
 * sight. Goes out, when the dictionary is complete: the same pages with indices into the values in the order of their
 * upper bits. Such a dictionary compresses far better where readings are spread over their range, and then is worth the
 * wait.
 */
#include "base/mem.h"
#include "parquet/write_internal.h"

#define RADIX_BITS 11
#define RADIX_SIZE (1u << RADIX_BITS)

typedef struct tl_pq_held_page {
    size_t def_at, def_len, rep_at, rep_len; /* in `levels` */
    size_t index_at, n_indices, run_at, n_runs;
    int64_t n_levels, n_values, n_rows;
    tl_pq_bounds bounds; /* of numbers: owns no memory */
} tl_pq_held_page;

void tl_pq_held_free(tl_pq_held *h) {
    tl_buf_free(&h->pages);
    tl_buf_free(&h->levels);
    tl_buf_free(&h->indices);
    tl_buf_free(&h->runs);
}

void tl_pq_held_begin(tl_pq_held *h) {
    h->pages.len = h->levels.len = h->indices.len = h->runs.len = 0;
    h->n_rows = 0;
}

tl_status tl_pq_held_add(tl_pq_held *h, const tl_pq_stage *stage, const tl_pq_page_facts *facts) {
    tl_pq_held_page page = {.def_at = h->levels.len,
                            .def_len = facts->def.len,
                            .rep_at = h->levels.len + facts->def.len,
                            .rep_len = facts->rep.len,
                            .index_at = h->indices.len,
                            .n_indices = stage->indices.len,
                            .run_at = h->runs.len,
                            .n_runs = stage->runs.len,
                            .n_levels = facts->n_levels,
                            .n_values = facts->n_values,
                            .n_rows = facts->n_rows,
                            .bounds = *facts->bounds};
    page.bounds.min_bytes = page.bounds.max_bytes = (tl_buf){0};
    TL_TRY(tl_buf_add(&h->levels, facts->def.data, facts->def.len));
    TL_TRY(tl_buf_add(&h->levels, facts->rep.data, facts->rep.len));
    TL_TRY(tl_buf_add(&h->indices, stage->indices.data, stage->indices.len));
    TL_TRY(tl_buf_add(&h->runs, stage->runs.data, stage->runs.len));
    h->n_rows += facts->n_rows;
    return tl_buf_add(&h->pages, &page, sizeof page);
}

/* ---- sorting the dictionary ---- */

typedef struct entry {
    uint64_t value; /* the bits: ascending among values of one sign, which is all that a codec asks for */
    uint32_t index;
} entry;

/* Sorts by the uppermost 33 bits in which values differ: what differs only below that is as good as equal to a codec.
 * The sorted entries are in the array that is returned. */
static entry *radix_sort(entry *a, entry *b, size_t n) {
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++) {
        differ |= a[i].value ^ a[0].value;
    }
    unsigned end = tl_pq_bits(differ), shift = end > 3 * RADIX_BITS ? end - 3 * RADIX_BITS : 0;
    uint32_t counts[RADIX_SIZE];
    for (; shift < end; shift += RADIX_BITS) {
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < n; i++) {
            counts[(a[i].value >> shift) & (RADIX_SIZE - 1)]++;
        }
        uint32_t sum = 0;
        for (size_t i = 0; i < RADIX_SIZE; i++) {
            uint32_t c = counts[i];
            counts[i] = sum;
            sum += c;
        }
        for (size_t i = 0; i < n; i++) {
            b[counts[(a[i].value >> shift) & (RADIX_SIZE - 1)]++] = a[i];
        }
        entry *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Puts the values in order; places[old index] = new index. */
static tl_status sort_dictionary(tl_pq_dictionary *d, uint32_t *places) {
    size_t n = d->n;
    entry *entries = tl_alloc_array(2 * n, sizeof *entries);
    if (!entries) {
        return TL_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        entries[i].value =
            d->width == 8 ? tl_load_u64(d->values.data + (size_t)i * 8) : tl_load_u32(d->values.data + (size_t)i * 4);
        entries[i].index = i;
    }
    const entry *sorted = radix_sort(entries, entries + n, n);
    for (uint32_t i = 0; i < n; i++) {
        places[sorted[i].index] = i;
        if (d->width == 8) {
            tl_store_u64(d->values.data + (size_t)i * 8, sorted[i].value);
        } else {
            tl_store_u32(d->values.data + (size_t)i * 4, (uint32_t)sorted[i].value);
        }
    }
    tl_free(entries);
    return TL_OK;
}

/* ---- letting the pages go ---- */

static void renumber(tl_pq_held *h, const uint32_t *places) {
    uint32_t *indices = (uint32_t *)(void *)h->indices.data;
    for (size_t i = 0; i < h->indices.len / sizeof *indices; i++) {
        indices[i] = places[indices[i]];
    }
    tl_pq_index_run *runs = (tl_pq_index_run *)(void *)h->runs.data;
    for (size_t i = 0; i < h->runs.len / sizeof *runs; i++) {
        runs[i].index = places[runs[i].index];
    }
}

static tl_status write_page(tl_pq_held *h, const tl_pq_held_page *page, uint32_t dictionary_size, tl_buf *body,
                            tl_pq_chunk_build *chunk, tl_error *err) {
    /* a view: these buffers are not this stage's own */
    tl_pq_stage stage = {.encoding = TL_PQ_RLE_DICTIONARY, .n_values = page->n_values};
    stage.indices = (tl_buf){h->indices.data + page->index_at, page->n_indices, page->n_indices};
    stage.runs = (tl_buf){h->runs.data + page->run_at, page->n_runs, page->n_runs};
    body->len = 0;
    TL_TRY(tl_pq_said(tl_pq_stage_encode(&stage, dictionary_size, body), err));
    const tl_pq_page_facts facts = {.n_levels = page->n_levels,
                                    .n_values = page->n_values,
                                    .n_rows = page->n_rows,
                                    .rep = {h->levels.data + page->rep_at, page->rep_len},
                                    .def = {h->levels.data + page->def_at, page->def_len},
                                    .body = tl_buf_bytes(body),
                                    .encoding = TL_PQ_RLE_DICTIONARY,
                                    .bounds = &page->bounds};
    return tl_pq_chunk_build_page(chunk, &facts, err);
}

tl_status tl_pq_held_release(tl_pq_held *h, tl_pq_dictionary *d, tl_buf *body, tl_pq_chunk_build *chunk,
                             tl_error *err) {
    if (h->pages.len == 0) {
        return TL_OK;
    }
    uint32_t *places = tl_alloc_array(d->n, sizeof *places);
    if (!places) {
        return tl_fail_memory(err, d->n * sizeof *places);
    }
    tl_status status = tl_pq_said(sort_dictionary(d, places), err);
    if (status == TL_OK) {
        renumber(h, places);
    }
    tl_free(places);
    const tl_pq_held_page *pages = (const tl_pq_held_page *)(const void *)h->pages.data;
    for (size_t i = 0; status == TL_OK && i < h->pages.len / sizeof *pages; i++) {
        status = write_page(h, &pages[i], d->n, body, chunk, err);
    }
    tl_pq_held_begin(h);
    body->len = 0; /* empty, as it was */
    return status;
}
