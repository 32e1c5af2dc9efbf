/*
 * What the parts of the reader share: the reader itself, the Arrow types of the schema as a tree, the pages of a
 * column chunk, and cursors that walk through them.
 */
#ifndef TL_PARQUET_READER_INTERNAL_H
#define TL_PARQUET_READER_INTERNAL_H

#include "parquet/decode_internal.h"
#include "parquet/reader.h"
#include "parquet/thrift.h"

/* ---- the schema as Arrow sees it (arrow_schema.c) ---- */

typedef enum tl_pq_node_kind { TL_PQ_NODE_LEAF, TL_PQ_NODE_STRUCT, TL_PQ_NODE_LIST, TL_PQ_NODE_MAP } tl_pq_node_kind;

/* How the physical values of a leaf become Arrow's (convert.c). */
typedef enum tl_pq_out {
    TL_PQ_OUT_SAME,      /* the same bytes */
    TL_PQ_OUT_BITS,      /* booleans */
    TL_PQ_OUT_NARROW,    /* INT32 -> 8 or 16 bits (out_width) */
    TL_PQ_OUT_DECIMAL,   /* any physical type -> 16 or 32 bytes (out_width) little-endian */
    TL_PQ_OUT_TIMESTAMP, /* INT96 -> int64 */
    TL_PQ_OUT_NULL
} tl_pq_out;

typedef struct tl_pq_node {
    tl_pq_node_kind kind;
    const char *name;
    int32_t element; /* schema element that names the node and carries its field id */
    bool nullable;
    int16_t def;      /* definition level at which the node is not null */
    int16_t rep;      /* LIST, MAP: the repetition level of their elements; else of the ancestors */
    int16_t anc_def;  /* definition level of the innermost repeated ancestor: below it there is no slot */
    int16_t elem_def; /* LIST, MAP: definition level at which there is an element */
    int32_t first_leaf, n_leaves;
    char format[32]; /* LEAF: Arrow's format string */
    tl_pq_out out;
    int32_t out_width;
    bool int96_micros;
    int32_t n_children;
    struct tl_pq_node *children;
} tl_pq_node;

/* The children of the root, and per leaf the definition level of its innermost repeated ancestor, all in `arena`. The
 * tree has passed tl_pq_schema_leaves. Errors: TL_CORRUPT, TL_UNSUPPORTED for what Arrow cannot express. */
tl_status tl_pq_nodes_build(const tl_pq_file_meta *meta, int32_t n_leaves, bool int96_micros, tl_arena *arena,
                            tl_pq_node **out, int32_t *n_out, int16_t **leaf_anc, tl_error *err) TL_CHECKED;

/* ---- the reader ---- */

struct tl_pq_reader {
    tl_pq_source source;
    tl_pq_read_options options;
    tl_pq_file_meta meta;
    tl_pq_leaf *leaves;
    int32_t n_leaves;
    int16_t *leaf_anc; /* per leaf the definition level of the innermost repeated ancestor (or of itself) */
    tl_pq_node *tops;
    int32_t n_tops;
    tl_pq_offset_index *offset_indexes; /* per chunk, those read so far */
    tl_arena arena;
    tl_pq_budget budget;
    tl_pq_codec_state codec;
    tl_pq_scratch scratch;
    uint8_t *page; /* the page that was decompressed last */
    size_t page_cap;
    uint8_t *levels;
    size_t levels_cap;
};

/* Bytes [offset, offset + len) of the file: in the mapping, or read into *owned (grown as needed, caller frees). */
tl_status tl_pq_reader_bytes(tl_pq_reader *r, uint64_t offset, size_t len, uint8_t **owned, size_t *owned_cap,
                             const uint8_t **out, tl_error *err) TL_CHECKED;
tl_status tl_pq_check_row_group(const tl_pq_reader *r, int32_t row_group, tl_error *err) TL_CHECKED;
/* A column that is read as keys: it exists and does not repeat (runs.c). */
tl_status tl_pq_check_flat(const tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_error *err) TL_CHECKED;
/* Puts 'column "a.b", row group 3: ' before a message. */
void tl_pq_name_column(const tl_pq_reader *r, int32_t row_group, int32_t leaf, tl_error *err);

/* ---- pages and cursors (page.c, cursor.c) ---- */

typedef struct tl_pq_page {
    tl_pq_page_header header;
    tl_bytes rep, def, values; /* valid until the next page of the same reader */
    int64_t n_values;          /* level entries */
} tl_pq_page;

/* One leaf of one row group, from its first row on. */
typedef struct tl_pq_cursor {
    tl_pq_reader *r;
    int32_t row_group, leaf;
    const tl_pq_column_chunk *chunk;
    int16_t max_def, max_rep;
    bool flat_optional;    /* levels become validity bits at once */
    int64_t n_rows;        /* of the row group */
    int64_t row;           /* the next row to be handed out */
    int64_t values_left;   /* level entries of pages not yet fetched */
    uint64_t at;           /* file offset of the next page header */
    uint64_t end;          /* of the chunk */
    uint64_t want_end;     /* as far as bytes will be needed */
    const uint8_t *window; /* file bytes [window_at, window_at + window_len) */
    uint64_t window_at;
    size_t window_len;
    uint8_t *owned;
    size_t owned_cap;
    tl_pq_vector dict;
    bool has_dict;
    tl_pq_vector page;    /* a page decoded but not handed out wholly */
    tl_pq_vector indices; /* the same for texts by dictionary: their indices, see tl_pq_vector_append */
    bool indexed;         /* the current page is `indices` */
    int64_t page_slot, page_level;
    tl_pq_offset_index index; /* n_pages 0 = none, or not asked for */
    int32_t page_no;          /* of the next page, by the index */
    bool page_rows_known;     /* the page last fetched must hold page_rows rows (the index says so) */
    int64_t page_rows;
} tl_pq_cursor;

/* `use_index`: rows will be skipped, so look at the offset index when the file has one. */
tl_status tl_pq_cursor_open(tl_pq_reader *r, int32_t row_group, int32_t leaf, bool use_index, tl_pq_cursor *out,
                            tl_error *err) TL_CHECKED;
void tl_pq_cursor_close(tl_pq_cursor *c);
/* An empty vector of the cursor's type; external buffers may be set afterwards. */
void tl_pq_cursor_vector(const tl_pq_cursor *c, tl_pq_vector *out);
/* A sensible `hint` for `rows` rows: what the file claims, within what its bytes can hold. */
int64_t tl_pq_cursor_hint(const tl_pq_cursor *c, int64_t rows);
tl_status tl_pq_cursor_skip(tl_pq_cursor *c, int64_t rows, tl_error *err) TL_CHECKED;
/* Appends the next `rows` rows. */
tl_status tl_pq_cursor_read(tl_pq_cursor *c, int64_t rows, tl_pq_vector *out, tl_error *err) TL_CHECKED;

/* The next data page, decompressed but not decoded; dictionary pages are taken in on the way. TL_CORRUPT when values
 * are missing. */
tl_status tl_pq_page_next(tl_pq_cursor *c, tl_pq_page *out, tl_error *err) TL_CHECKED;
bool tl_pq_page_indexed(const tl_pq_page *page); /* values by dictionary */
/* Appends a page's slots (and levels) to `v`. */
tl_status tl_pq_page_decode(tl_pq_cursor *c, const tl_pq_page *page, tl_pq_vector *v, tl_error *err) TL_CHECKED;
/* The header at the cursor's place without moving on; *is_data false = a page that holds no rows. */
tl_status tl_pq_page_peek(tl_pq_cursor *c, tl_pq_page_header *out, size_t *used, tl_error *err) TL_CHECKED;
/* Moves over a data page that was peeked at. */
void tl_pq_page_pass(tl_pq_cursor *c, const tl_pq_page_header *header, size_t used);
/* Reads dictionary pages, if any, up to the first data page. */
tl_status tl_pq_page_dictionary(tl_pq_cursor *c, tl_error *err) TL_CHECKED;

/* ---- arrays (assemble.c, convert.c) ---- */

/* An array whose release frees `buffers` (taken, NULL allowed) and releases its children; n_children are zeroed and
 * ready to be filled. On failure the buffers stay the caller's. */
tl_status tl_pq_array_make(int64_t length, int64_t null_count, int64_t n_buffers, void *const buffers[3],
                           int64_t n_children, struct ArrowArray *out, tl_error *err) TL_CHECKED;

/* The array of a leaf; takes over the vector's buffers. */
tl_status tl_pq_convert_leaf(const tl_pq_node *node, tl_pq_vector *v, struct ArrowArray *out, tl_error *err) TL_CHECKED;

/* The array of a node over `rows` rows; `vectors` are those of the leaves from `first_leaf` on and lose their buffers.
 */
tl_status tl_pq_assemble(const tl_pq_node *node, tl_pq_vector *vectors, int32_t first_leaf, int64_t rows,
                         struct ArrowArray *out, tl_error *err) TL_CHECKED;

/* ---- batches (batch.c): the cursors of some columns of a row group side by side ---- */

typedef struct tl_pq_batcher {
    tl_pq_reader *r;
    int32_t row_group;
    const int32_t *tops; /* the caller's */
    int32_t n_tops;
    tl_pq_cursor *cursors;
    int32_t n_cursors;
    int64_t row;
} tl_pq_batcher;

tl_status tl_pq_batcher_open(tl_pq_reader *r, int32_t row_group, const int32_t *tops, int32_t n_tops, bool use_index,
                             tl_pq_batcher *out, tl_error *err) TL_CHECKED;
void tl_pq_batcher_close(tl_pq_batcher *b);
/* The rows of the ranges as one struct array. */
tl_status tl_pq_batcher_read(tl_pq_batcher *b, const tl_pq_row_range *ranges, int32_t n_ranges, struct ArrowArray *out,
                             tl_error *err) TL_CHECKED;
/* tops NULL -> all; checks the numbers. Caller frees *out. */
tl_status tl_pq_pick_tops(const tl_pq_reader *r, const int32_t *tops, int32_t n_tops, int32_t **out, int32_t *n_out,
                          tl_error *err) TL_CHECKED;

#endif
