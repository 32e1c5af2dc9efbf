/*
 * Inside the Arrow IPC reader: flatbuffers read with every offset checked, schemas, record batches.
 * Ours and not nanoarrow's, whose reader knows no views, no runs, and no compressed dictionaries.
 * Spec: Arrow columnar format, "Serialization and IPC"; Message.fbs, Schema.fbs; flatbuffers internals.
 */
#ifndef TL_ARROW_IPC_INTERNAL_H
#define TL_ARROW_IPC_INTERNAL_H

#include "arrow/type.h"
#include "base/buf.h"

/* ---- flatbuffers ---- */

/* A message's metadata. `bad` is set by any offset that leads out of it, and everything read after is 0. */
typedef struct tl_flat {
    const uint8_t *data;
    uint64_t len;
    bool bad;
} tl_flat;

typedef struct tl_flat_table {
    tl_flat *flat; /* NULL = the table is absent: every field has its default */
    uint64_t at, vtable;
    uint32_t vtable_size, size;
} tl_flat_table;

typedef struct tl_flat_vector {
    uint64_t at; /* of element 0 */
    uint64_t n;
} tl_flat_vector;

tl_flat_table tl_flat_root(tl_flat *flat);
int64_t tl_flat_int(tl_flat_table t, int field, int width, int64_t otherwise); /* width 1 (unsigned), 2, 4 or 8 bytes */
tl_flat_table tl_flat_child(tl_flat_table t, int field);
tl_flat_vector tl_flat_list(tl_flat_table t, int field, uint64_t element_size);
tl_flat_table tl_flat_at(tl_flat *flat, tl_flat_vector v, uint64_t i); /* element of a vector of tables */
tl_bytes tl_flat_text(tl_flat_table t, int field);

/* ---- schemas ---- */

/* What a schema says beyond tl_arrow_type: which dictionary a field's values are in. Same shape as the type tree, but
 * for dictionaries, whose values' children hang directly under the field. */
typedef struct tl_ipc_field {
    bool has_dictionary;
    int64_t dictionary;
    int64_t n_children;
    struct tl_ipc_field *children;
} tl_ipc_field;

/* A Schema table as an ArrowSchema (caller releases) and its fields, in `arena`. */
tl_status tl_ipc_schema(tl_flat_table schema, tl_arena *arena, struct ArrowSchema *out, tl_ipc_field *fields,
                        tl_error *err) TL_CHECKED;

/* ---- batches ---- */

/* Memory shared by the arrays of one message. */
typedef struct tl_ipc_body tl_ipc_body;

/* Takes `data` (tl_alloc_aligned, tl_free), also on failure. One reference is the caller's. */
tl_ipc_body *tl_ipc_body_new(uint8_t *data, int64_t len);
void tl_ipc_body_drop(tl_ipc_body *body);

typedef struct tl_ipc_dictionary {
    int64_t id;
    struct ArrowArray values;
} tl_ipc_dictionary;

typedef struct tl_ipc_dictionaries {
    tl_ipc_dictionary *items;
    size_t n, cap;
} tl_ipc_dictionaries;

/* A RecordBatch table as an array of `type`: a struct of all columns, or, with `is_dictionary`, the one column of a
 * dictionary's values. Buffers are those of the body, or decompressed ones that it then owns. */
tl_status tl_ipc_batch(tl_flat_table batch, tl_ipc_body *body, const tl_arrow_type *type, const tl_ipc_field *field,
                       bool is_dictionary, const tl_ipc_dictionaries *dictionaries, struct ArrowArray *out,
                       tl_error *err) TL_CHECKED;

/* The values of `a` and then those of `b`, both from tl_ipc_batch: what a dictionary is after a delta. Fixed-width,
 * text and bytes; TL_UNSUPPORTED for others. `a` and `b` stay as they are. */
tl_status tl_ipc_join(const tl_arrow_type *type, const struct ArrowArray *a, const struct ArrowArray *b,
                      struct ArrowArray *out, tl_error *err) TL_CHECKED;

#endif
