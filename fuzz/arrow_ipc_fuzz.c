/* Fuzzes the Arrow IPC reader: any bytes as a stream or file. Every batch is opened column by column, as a consumer
 * would. */
#include <stdint.h>

#include "arrow/stream.h"
#include "arrow/view.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const tl_arrow_type *t, const struct ArrowArray *a, volatile uint64_t *sum) {
    tl_view v;
    tl_error err;
    if (tl_view_open(t, a, 0, a->length, (tl_bits){0}, &v, &err) != TL_OK) {
        return;
    }
    for (int64_t i = 0; i < v.length && i < 4096; i++) {
        if (!tl_bits_at(v.validity, i)) {
            continue;
        }
        if (t->id >= TL_ARROW_STRING && t->id <= TL_ARROW_FIXED_BINARY) {
            tl_bytes b = tl_view_bytes(&v, i);
            *sum += b.len ? b.data[0] + b.data[b.len - 1] : 0u;
        } else if (t->width > 0 && t->id != TL_ARROW_DICTIONARY && v.values) {
            *sum += v.values[i * t->width + t->width - 1];
        }
    }
    if (t->id == TL_ARROW_DICTIONARY) {
        look(&t->children[0], a->dictionary, sum);
        return;
    }
    for (int64_t k = 0; k < t->n_children; k++) {
        look(&t->children[k], a->children[k], sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    FILE *f = fmemopen((void *)(uintptr_t)data, size, "rb");
    struct ArrowArrayStream stream;
    struct ArrowSchema s;
    tl_error err;
    if (!f || tl_ipc_read(f, true, &stream, &err) != TL_OK) {
        return 0;
    }
    if (tl_stream_schema(&stream, &s, &err) == TL_OK) {
        tl_arena arena = {0};
        tl_arrow_type type;
        volatile uint64_t sum = 0;
        struct ArrowArray a;
        bool known = tl_arrow_type_import(&s, &arena, &type, &err) == TL_OK;
        for (int n = 0; n < 16 && tl_stream_next(&stream, &a, &err) == TL_OK && a.release; n++) {
            if (known) {
                look(&type, &a, &sum);
            }
            a.release(&a);
        }
        tl_arena_free(&arena);
        s.release(&s);
    }
    stream.release(&stream);
    return 0;
}

#include "replay.h"
