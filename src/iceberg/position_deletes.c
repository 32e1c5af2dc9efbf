/* Position delete files: small, so that hundreds of them cost little; see deletes.h. */
#include "iceberg/deletes.h"

#include "parquet/writer.h"

tl_status tl_delete_target(const tl_data_file *deletes, tl_arena *arena, const char **out, tl_error *err) {
    *out = deletes->referenced_data_file;
    if (*out || deletes->content != TL_CONTENT_POSITION_DELETES) {
        return TL_OK;
    }
    for (int32_t i = 0; i < deletes->n_columns; i++) {
        const tl_column_stats *c = &deletes->columns[i];
        if (c->field_id == TL_FIELD_DELETE_PATH && c->lower.data && c->upper.data &&
            tl_bytes_equal(c->lower, c->upper)) {
            *out = tl_arena_strndup(arena, (const char *)c->lower.data, c->lower.len);
            return *out ? TL_OK : tl_fail_memory(err, c->lower.len);
        }
    }
    return TL_OK;
}

enum { PIECE = 4096 };

static const tl_pq_schema_element schema[] = {
    {.name = "table", .n_children = 2, .field_id = -1},
    {.name = "file_path",
     .is_leaf = true,
     .type = TL_PQ_BYTE_ARRAY,
     .repetition = TL_PQ_REQUIRED,
     .field_id = TL_FIELD_DELETE_PATH,
     .logical = TL_PQ_LOGICAL_STRING},
    {.name = "pos",
     .is_leaf = true,
     .type = TL_PQ_INT64,
     .repetition = TL_PQ_REQUIRED,
     .field_id = TL_FIELD_DELETE_POS},
};

static tl_status add_positions(tl_pq_column_writer *w, const tl_row_bits *rows, tl_error *err) {
    int64_t piece[PIECE];
    int64_t n = 0;
    for (int64_t row = 0; row < rows->n_rows; row++) {
        if (rows->bits[row / 8] == 0) { /* few rows of many are deleted */
            row |= 7;
            continue;
        }
        if (!tl_bit(rows->bits, row)) {
            continue;
        }
        piece[n++] = row;
        if (n == PIECE) {
            TL_TRY(tl_pq_column_writer_add(w, &(tl_pq_values){n, n, NULL, NULL, piece}, err));
            n = 0;
        }
    }
    return n ? tl_pq_column_writer_add(w, &(tl_pq_values){n, n, NULL, NULL, piece}, err) : TL_OK;
}

/* The path is written once, in the dictionary: its bounds are in the manifest, where readers look first. */
static tl_status encode(const char *path, const tl_row_bits *rows, const tl_pq_leaf *leaves, tl_pq_chunk chunks[2],
                        tl_error *err) {
    tl_pq_column_options paths = tl_pq_column_options_of(&schema[1], &leaves[0]);
    tl_pq_column_options positions = tl_pq_column_options_of(&schema[2], &leaves[1]);
    paths.encoding = TL_PQ_RLE_DICTIONARY;
    paths.no_bounds = true;
    paths.codec = positions.codec = TL_PQ_UNCOMPRESSED; /* nothing to gain, and a codec to be set up for each file */
    positions.encoding = TL_PQ_DELTA_BINARY_PACKED;
    tl_bytes value = tl_bytes_of(path);
    tl_pq_column_writer *w = NULL;
    TL_TRY(tl_pq_column_writer_create(&paths, &w, err));
    tl_status status = tl_pq_column_writer_add_run(w, &value, rows->n_set, err);
    if (status == TL_OK) {
        status = tl_pq_column_writer_finish(w, &chunks[0], err);
    }
    if (status == TL_OK) {
        status = tl_pq_column_writer_reset(w, &positions, err);
    }
    if (status == TL_OK) {
        status = add_positions(w, rows, err);
    }
    if (status == TL_OK) {
        status = tl_pq_column_writer_finish(w, &chunks[1], err);
    }
    tl_pq_column_writer_free(w);
    return status;
}

tl_status tl_position_deletes_write(const char *path, const tl_row_bits *rows, tl_buf *out, tl_error *err) {
    tl_pq_leaf *leaves = NULL;
    int32_t n_leaves;
    TL_TRY(tl_pq_schema_leaves(schema, TL_COUNT(schema), &leaves, &n_leaves, err));
    tl_pq_chunk chunks[2] = {{.n_rows = 0}, {.n_rows = 0}};
    tl_pq_file_writer *w = NULL;
    tl_status status = encode(path, rows, leaves, chunks, err);
    if (status == TL_OK) {
        tl_pq_file_options options = {.schema = schema, .n_schema = TL_COUNT(schema), .no_page_index = true};
        status = tl_pq_file_writer_create(&options, tl_pq_sink_buf(out), &w, err);
    }
    if (status == TL_OK) {
        status = tl_pq_file_writer_add_row_group(w, chunks, 2, err);
    }
    if (status == TL_OK) {
        status = tl_pq_file_writer_finish(w, NULL, err);
    }
    tl_pq_file_writer_free(w);
    tl_pq_chunk_free(&chunks[0]);
    tl_pq_chunk_free(&chunks[1]);
    tl_free(leaves);
    return status;
}
