/* Streams over arrays in memory. */
#include "arrow/stream.h"

#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"

typedef struct array_stream {
    struct ArrowSchema schema;
    int64_t next, n;
    struct ArrowArray arrays[];
} array_stream;

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    return ArrowSchemaDeepCopy(&((array_stream *)s->private_data)->schema, out);
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    array_stream *a = s->private_data;
    if (a->next == a->n) {
        out->release = NULL;
    } else {
        *out = a->arrays[a->next];
        a->arrays[a->next++].release = NULL;
    }
    return NANOARROW_OK;
}

static const char *last_error(struct ArrowArrayStream *s) {
    (void)s;
    return NULL;
}

static void release_arrays(struct ArrowArray *arrays, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (arrays[i].release) {
            arrays[i].release(&arrays[i]);
        }
    }
}

static void release(struct ArrowArrayStream *s) {
    array_stream *a = s->private_data;
    release_arrays(a->arrays, a->n);
    ArrowSchemaRelease(&a->schema);
    tl_free(a);
    s->release = NULL;
}

tl_status tl_stream_of_arrays(const struct ArrowSchema *schema, struct ArrowArray *arrays, int64_t n,
                              struct ArrowArrayStream *out, tl_error *err) {
    out->release = NULL;
    size_t bytes = 0;
    bool fits = tl_size_mul((size_t)n, sizeof *arrays, &bytes) && tl_size_add(bytes, sizeof(array_stream), &bytes);
    array_stream *a = fits ? tl_alloc(bytes) : NULL;
    if (!a || ArrowSchemaDeepCopy(schema, &a->schema) != NANOARROW_OK) {
        tl_free(a);
        release_arrays(arrays, n);
        return tl_fail_memory(err, bytes);
    }
    a->next = 0;
    a->n = n;
    for (int64_t i = 0; i < n; i++) {
        a->arrays[i] = arrays[i];
        arrays[i].release = NULL;
    }
    *out = (struct ArrowArrayStream){get_schema, get_next, last_error, release, a};
    return TL_OK;
}
