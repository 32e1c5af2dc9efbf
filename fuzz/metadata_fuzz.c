/*
 * Fuzzing of table metadata and of the schemas in them. Comes in: any bytes as a metadata file, gzip'd or not. Must
 * hold: no crash, no hang; what is accepted can be copied, written and read again, and then is written the same.
 *
 * With libFuzzer (cmake -DTL_FUZZ=ON -DTL_SANITIZE=ON, CC=clang): metadata_fuzz CORPUS_DIR
 * Otherwise a replay driver: metadata_fuzz FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iceberg/metadata.h"
#include "iceberg/parquet_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what, const tl_error *err) {
    if (!ok) {
        fprintf(stderr, "%s: %s\n", what, err->message);
        abort();
    }
}

/* The schemas of accepted metadata can be turned into those of files and streams, or are refused. */
static void use_schemas(const tl_metadata *m) {
    for (int32_t i = 0; i < m->n_schemas; i++) {
        tl_arena arena = {0};
        tl_pq_schema_element *elements;
        struct ArrowSchema arrow;
        int32_t n;
        if (tl_iceberg_parquet_schema(&m->schemas[i], &arena, &elements, &n, NULL) == TL_OK &&
            tl_iceberg_arrow_schema(&m->schemas[i], &arrow, NULL) == TL_OK) {
            arrow.release(&arrow);
        }
        tl_arena_free(&arena);
    }
}

static void write_and_read(const tl_metadata *m) {
    tl_metadata copy, back;
    tl_buf first = {0}, second = {0};
    tl_error err = {{0}};
    must(tl_metadata_copy(m, &copy, &err) == TL_OK, "copy", &err);
    must(tl_metadata_write(&copy, &first, &err) == TL_OK, "write", &err);
    must(tl_metadata_parse(tl_buf_bytes(&first), &back, &err) == TL_OK, "read again", &err);
    must(tl_metadata_write(&back, &second, &err) == TL_OK, "write again", &err);
    must(tl_bytes_equal(tl_buf_bytes(&first), tl_buf_bytes(&second)), "written differently", &err);
    tl_metadata_free(&back);
    tl_metadata_free(&copy);
    tl_buf_free(&first);
    tl_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that a read behind the end is seen */
    if (!copy) {
        return 0;
    }
    if (size) {
        memcpy(copy, data, size);
    }
    tl_metadata m;
    if (tl_metadata_parse((tl_bytes){copy, size}, &m, NULL) == TL_OK) {
        use_schemas(&m);
        write_and_read(&m);
        tl_metadata_free(&m);
    }
    free(copy);
    return 0;
}

#include "replay.h"
