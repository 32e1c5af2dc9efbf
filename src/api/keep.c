/* Streams that keep their lake open until they are released. */
#include "api/keep.h"

#include "base/mem.h"

typedef struct kept {
    tl_lake *lake;
    struct ArrowArrayStream inner;
} kept;

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    kept *k = s->private_data;
    return k->inner.get_schema(&k->inner, out);
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    kept *k = s->private_data;
    return k->inner.get_next(&k->inner, out);
}

static const char *last_error(struct ArrowArrayStream *s) {
    kept *k = s->private_data;
    return k->inner.get_last_error(&k->inner);
}

static void release(struct ArrowArrayStream *s) {
    kept *k = s->private_data;
    k->inner.release(&k->inner);
    tl_lake_release(k->lake);
    tl_free(k);
    s->release = NULL;
}

tl_status tl_lake_keep(tl_lake *lake, struct ArrowArrayStream *stream, tl_error *err) {
    kept *k = tl_alloc(sizeof *k);
    if (!k) {
        stream->release(stream);
        return tl_fail_memory(err, sizeof *k);
    }
    *k = (kept){tl_lake_retain(lake), *stream};
    *stream = (struct ArrowArrayStream){get_schema, get_next, last_error, release, k};
    return TL_OK;
}
