/* See copy.h: the stager of an append without its encoders. */
#include "append/copy.h"

#include "append/files_internal.h"
#include "base/mem.h"
#include "iceberg/parquet_schema.h"

struct tl_file_copier {
    int32_t partition;
    tl_arena arena; /* schema elements */
    tl_leaves leaves;
    tl_encoder encoder;
    tl_stager stager;
};

static tl_status make(tl_file_copier *c, tl_table *table, tl_error *err) {
    tl_pq_schema_element *elements;
    int32_t n;
    TL_TRY(tl_iceberg_parquet_schema(tl_metadata_schema(&table->metadata), &c->arena, &elements, &n, err));
    TL_TRY(tl_leaves_make(elements, n, &c->leaves, err));
    c->encoder.leaves = &c->leaves;
    return tl_stager_init(&c->stager, table, &c->encoder, NULL, NULL, err);
}

tl_status tl_file_copier_create(tl_table *table, int32_t partition, tl_file_copier **out, tl_error *err) {
    *out = NULL;
    tl_file_copier *c = tl_calloc(1, sizeof *c);
    if (!c) {
        return tl_fail_memory(err, sizeof *c);
    }
    c->partition = partition;
    tl_status status = make(c, table, err);
    if (status != TL_OK) {
        tl_file_copier_free(c);
        return status;
    }
    *out = c;
    return TL_OK;
}

void tl_file_copier_free(tl_file_copier *c) {
    if (c) {
        tl_stager_free(&c->stager, true);
        tl_leaves_free(&c->leaves);
        tl_arena_free(&c->arena);
        tl_free(c);
    }
}

const tl_pq_schema_element *tl_file_copier_schema(const tl_file_copier *c, int32_t *n) {
    *n = c->leaves.n_schema;
    return c->leaves.schema;
}

tl_status tl_file_copier_add(tl_file_copier *c, tl_pq_chunk *chunks, tl_error *err) {
    return tl_stager_add_group(&c->stager, c->partition, chunks, err);
}

tl_status tl_file_copier_finish(tl_file_copier *c, tl_staged *out, tl_error *err) {
    return tl_stager_take(&c->stager, NULL, out, err);
}
