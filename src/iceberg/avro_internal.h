/*
 * Avro object container files, as far as Iceberg's manifests need them.
 *
 * Reading: bytes in; out comes the file's header, its schema as a tree, and record after record a cursor from which the
 * caller takes values by the writer's schema. Fields are matched by Iceberg's `field-id`; where a writer left ids out,
 * by name through a table that the caller gives. Nothing is trusted: sizes are checked against the bytes that are
 * there, depth and the number of values looked at are bounded.
 *
 * Writing: the binary encoding into a buffer, and the container around it (codec null).
 */
#ifndef TL_ICEBERG_AVRO_INTERNAL_H
#define TL_ICEBERG_AVRO_INTERNAL_H

#include "base/buf.h"
#include "base/mem.h"

/* A schema nested deeper is refused. */
#define TL_AVRO_MAX_DEPTH 32
/* A block that is larger after decompression is refused, and so are blocks that come to more together. */
#define TL_AVRO_MAX_BLOCK ((size_t)64 << 20)
#define TL_AVRO_MAX_TOTAL ((size_t)256 << 20)

typedef enum tl_avro_kind {
    TL_AVRO_NULL,
    TL_AVRO_BOOLEAN,
    TL_AVRO_INT,
    TL_AVRO_LONG,
    TL_AVRO_FLOAT,
    TL_AVRO_DOUBLE,
    TL_AVRO_BYTES,
    TL_AVRO_STRING,
    TL_AVRO_FIXED, /* size */
    TL_AVRO_ENUM,  /* read as its index */
    TL_AVRO_RECORD,
    TL_AVRO_ARRAY, /* parts[0].node */
    TL_AVRO_MAP,   /* parts[0].node */
    TL_AVRO_UNION
} tl_avro_kind;

typedef struct tl_avro_node tl_avro_node;

typedef struct tl_avro_part {
    const char *name; /* records */
    int32_t field_id; /* records: -1 = none */
    tl_avro_node *node;
} tl_avro_part;

struct tl_avro_node {
    tl_avro_kind kind;
    bool is_decimal;   /* bytes or fixed of logical type decimal */
    bool is_uuid_text; /* string of logical type uuid */
    int32_t size;      /* FIXED */
    int32_t n_parts;   /* RECORD, UNION: any number; ARRAY, MAP: 1 */
    tl_avro_part *parts;
};

typedef struct tl_avro_header_entry {
    const char *key;
    tl_bytes value;
} tl_avro_header_entry;

typedef enum tl_avro_codec {
    TL_AVRO_CODEC_NULL,
    TL_AVRO_CODEC_DEFLATE,
    TL_AVRO_CODEC_SNAPPY,
    TL_AVRO_CODEC_ZSTD
} tl_avro_codec;

/* Where the next value is taken from. */
typedef struct tl_avro_cursor {
    const uint8_t *at, *end;
    uint64_t budget; /* values that may still be looked at: stops schemas whose values take no bytes */
    tl_error *err;
} tl_avro_cursor;

typedef struct tl_avro_reader {
    tl_bytes file;
    size_t at; /* the next block */
    uint8_t sync[16];
    tl_avro_codec codec;
    tl_avro_header_entry *header;
    int32_t n_header;
    tl_avro_node *schema;
    tl_arena arena; /* header and schema */
    tl_buf block;   /* the current block, decompressed */
    size_t total;   /* bytes of all blocks so far, decompressed */
    int64_t left;   /* records left in the current block */
    tl_avro_cursor cursor;
} tl_avro_reader;

/* `file` must outlive the reader. `what` begins the messages ("manifest"). On failure nothing is left to free. */
tl_status tl_avro_open(tl_bytes file, const char *what, tl_avro_reader *out, tl_error *err) TL_CHECKED;
void tl_avro_close(tl_avro_reader *r);
/* The value of a header key; data NULL when it is not there. */
tl_bytes tl_avro_header(const tl_avro_reader *r, const char *key);
/* The next record: `*more` false at the end. The caller takes or skips exactly one value of `schema` from r->cursor. */
tl_status tl_avro_next(tl_avro_reader *r, bool *more, tl_error *err) TL_CHECKED;

/* ---- taking values; each looks through a union first. `*there` false: the null branch ---- */
tl_status tl_avro_skip(tl_avro_cursor *c, const tl_avro_node *node) TL_CHECKED;
tl_status tl_avro_take_branch(tl_avro_cursor *c, const tl_avro_node **node, bool *there) TL_CHECKED;
tl_status tl_avro_take_long(tl_avro_cursor *c, const tl_avro_node *node, bool *there, int64_t *out) TL_CHECKED;
tl_status tl_avro_take_bool(tl_avro_cursor *c, const tl_avro_node *node, bool *there, bool *out) TL_CHECKED;
/* bytes, string and fixed; a view of the block */
tl_status tl_avro_take_bytes(tl_avro_cursor *c, const tl_avro_node *node, bool *there, tl_bytes *out) TL_CHECKED;

/* Arrays: begin, then next until *more is false. `node` is the array's own node (after take_branch). */
typedef struct tl_avro_items {
    const tl_avro_node *item;
    uint64_t left; /* in the current run */
    bool ended;
} tl_avro_items;
tl_status tl_avro_items_begin(tl_avro_cursor *c, const tl_avro_node *node, tl_avro_items *out) TL_CHECKED;
tl_status tl_avro_items_next(tl_avro_cursor *c, tl_avro_items *items, bool *more) TL_CHECKED;

/* A field name and the id it has in Iceberg, for writers without field-id properties. */
typedef struct tl_avro_name {
    const char *name;
    int32_t field_id;
} tl_avro_name;
/* Gives ids to the fields of `record` that have none. A node that is not a record is TL_CORRUPT. */
tl_status tl_avro_give_ids(tl_avro_node *record, const tl_avro_name *names, size_t n, const char *what,
                           tl_error *err) TL_CHECKED;
/* The node of a field, with a union of null and one other type looked through; NULL when there is none. */
tl_avro_node *tl_avro_field(const tl_avro_node *record, int32_t field_id);
tl_avro_node *tl_avro_not_null(tl_avro_node *node);

/* Parses a schema's JSON (avro_schema.c). */
tl_status tl_avro_schema_parse(tl_bytes json, const char *what, tl_arena *arena, tl_avro_node **out,
                               tl_error *err) TL_CHECKED;

/* ---- writing (avro_write.c) ---- */
tl_status tl_avro_put_long(tl_buf *out, int64_t v) TL_CHECKED; /* int and long, zigzag */
tl_status tl_avro_put_bytes(tl_buf *out, tl_bytes v) TL_CHECKED;
tl_status tl_avro_put_text(tl_buf *out, const char *v) TL_CHECKED;
/* Union ["null", X]: the branch number, 0 or 1. */
tl_status tl_avro_put_branch(tl_buf *out, bool there) TL_CHECKED;

/* Header; then blocks of records; a file without records has no block. The sync marker follows from the contents, so
 * that equal contents give equal bytes. */
tl_status tl_avro_put_header(tl_buf *out, const tl_avro_header_entry *entries, size_t n, uint8_t sync[16]) TL_CHECKED;
tl_status tl_avro_put_block(tl_buf *out, int64_t n_records, tl_bytes records, const uint8_t sync[16]) TL_CHECKED;

#endif
