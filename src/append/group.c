/* The batches of a group, their row numbers and their memory. */
#include "append/group_internal.h"

tl_status tl_group_add(tl_group *g, tl_batch *batch, uint32_t *buckets, tl_error *err) {
    if (g->n_batches == g->cap) {
        int32_t cap = g->cap ? g->cap * 2 : 16;
        tl_batch *batches = tl_realloc_array(g->batches, (size_t)cap, sizeof *batches);
        g->batches = batches ? batches : g->batches;
        uint32_t **numbers = tl_realloc_array(g->buckets, (size_t)cap, sizeof *numbers);
        g->buckets = numbers ? numbers : g->buckets;
        tl_source *sources = tl_realloc_array(g->sources, (size_t)cap, sizeof *sources);
        g->sources = sources ? sources : g->sources;
        if (!batches || !numbers || !sources) {
            return tl_fail_memory(err, (size_t)cap * sizeof *batches);
        }
        g->cap = cap;
    }
    int32_t at = g->n_batches++;
    g->batches[at] = *batch;
    *batch = (tl_batch){0};
    g->buckets[at] = buckets;
    g->sources[at] = (tl_source){g->batches[at].columns, (uint32_t)g->n_rows, (uint32_t)g->batches[at].n_rows};
    g->n_rows += g->batches[at].n_rows;
    g->bytes += g->batches[at].bytes + (buckets ? (size_t)g->batches[at].n_rows * sizeof *buckets : 0);
    return TL_OK;
}

void tl_group_reset(tl_group *g) {
    for (int32_t i = 0; i < g->n_batches; i++) {
        tl_batch_free(&g->batches[i]);
        tl_free(g->buckets[i]);
    }
    tl_free(g->batches);
    tl_free(g->buckets);
    tl_free(g->sources);
    *g = (tl_group){0};
}
