/*
 * The schema as Arrow sees it. Comes in: the checked schema tree. Goes out: a tree of nodes with levels and Arrow
 * types, and ArrowSchema structures made from it.
 *
 * Lists and maps in all layouts that were ever written: "Nested Types" in LogicalTypes.md of the format.
 */
#include <stdio.h>
#include <string.h>

#include "parquet/reader_internal.h"

typedef struct builder {
    const tl_pq_schema_element *schema;
    int32_t pos;  /* the next element, depth first */
    int32_t leaf; /* the next leaf */
    bool int96_micros;
    int16_t *leaf_anc;
    tl_arena *arena;
    tl_error *err;
} builder;

/* Levels of the ancestors. */
typedef struct levels {
    int16_t def, rep, anc;
} levels;

static tl_status build_content(builder *b, levels l, bool nullable, tl_pq_node *out);
static tl_status build_field(builder *b, levels l, tl_pq_node *out);

/* ---- leaves ---- */

static void set_format(tl_pq_node *n, const char *text) {
    (void)snprintf(n->format, sizeof n->format, "%s", text);
}

static tl_status decimal_type(const tl_pq_schema_element *e, tl_pq_node *n, tl_error *err) {
    if (e->precision < 1 || e->precision > 76 || e->scale < 0 || e->scale > e->precision) {
        return tl_fail(err, TL_UNSUPPORTED, "column \"%s\": decimal(%d,%d) is not supported", e->name, e->precision,
                       e->scale);
    }
    bool wide = e->precision > 38;
    n->out = TL_PQ_OUT_DECIMAL;
    n->out_width = wide ? 32 : 16;
    (void)snprintf(n->format, sizeof n->format, wide ? "d:%d,%d,256" : "d:%d,%d", e->precision, e->scale);
    return TL_OK;
}

static void int32_type(const tl_pq_schema_element *e, tl_pq_node *n) {
    set_format(n, "i");
    if (e->logical == TL_PQ_LOGICAL_DATE) {
        set_format(n, "tdD");
    } else if (e->logical == TL_PQ_LOGICAL_TIME && e->unit == TL_PQ_MILLIS) {
        set_format(n, "ttm");
    } else if (e->logical == TL_PQ_LOGICAL_INTEGER && e->bit_width <= 32) {
        const char *is_signed = e->bit_width == 8 ? "c" : e->bit_width == 16 ? "s" : "i";
        const char *is_unsigned = e->bit_width == 8 ? "C" : e->bit_width == 16 ? "S" : "I";
        set_format(n, e->is_signed ? is_signed : is_unsigned);
        if (e->bit_width == 8 || e->bit_width == 16) {
            n->out = TL_PQ_OUT_NARROW;
            n->out_width = e->bit_width / 8;
        }
    }
}

static void int64_type(const tl_pq_schema_element *e, tl_pq_node *n) {
    static const char *const units[] = {"m", "u", "n"};
    if (e->logical == TL_PQ_LOGICAL_TIMESTAMP) {
        (void)snprintf(n->format, sizeof n->format, "ts%s:%s", units[e->unit], e->utc ? "UTC" : "");
    } else if (e->logical == TL_PQ_LOGICAL_TIME && e->unit != TL_PQ_MILLIS) {
        set_format(n, e->unit == TL_PQ_MICROS ? "ttu" : "ttn");
    } else {
        set_format(n, e->logical == TL_PQ_LOGICAL_INTEGER && !e->is_signed ? "L" : "l");
    }
}

static tl_status leaf_type(builder *b, const tl_pq_schema_element *e, tl_pq_node *n) {
    n->out = TL_PQ_OUT_SAME;
    if (e->logical == TL_PQ_LOGICAL_NULL) {
        n->out = TL_PQ_OUT_NULL;
        set_format(n, "n");
        return TL_OK;
    }
    bool can_be_decimal =
        e->type == TL_PQ_INT32 || e->type == TL_PQ_INT64 || e->type == TL_PQ_BYTE_ARRAY || e->type == TL_PQ_FIXED;
    if (e->logical == TL_PQ_LOGICAL_DECIMAL && can_be_decimal) {
        return decimal_type(e, n, b->err);
    }
    switch (e->type) {
    case TL_PQ_BOOLEAN:
        n->out = TL_PQ_OUT_BITS;
        set_format(n, "b");
        break;
    case TL_PQ_INT32: int32_type(e, n); break;
    case TL_PQ_INT64: int64_type(e, n); break;
    case TL_PQ_INT96:
        n->out = TL_PQ_OUT_TIMESTAMP;
        n->int96_micros = b->int96_micros;
        set_format(n, b->int96_micros ? "tsu:" : "tsn:");
        break;
    case TL_PQ_FLOAT: set_format(n, "f"); break;
    case TL_PQ_DOUBLE: set_format(n, "g"); break;
    case TL_PQ_BYTE_ARRAY:
        set_format(n, e->logical == TL_PQ_LOGICAL_STRING || e->logical == TL_PQ_LOGICAL_JSON ? "u" : "z");
        break;
    case TL_PQ_FIXED:
        (void)snprintf(n->format, sizeof n->format, "w:%d", e->type_length);
        if (e->logical == TL_PQ_LOGICAL_FLOAT16 && e->type_length == 2) {
            set_format(n, "e");
        }
        break;
    }
    return TL_OK;
}

static tl_status build_leaf(builder *b, levels l, tl_pq_node *n) {
    const tl_pq_schema_element *e = &b->schema[b->pos++];
    n->kind = TL_PQ_NODE_LEAF;
    n->first_leaf = b->leaf;
    n->n_leaves = 1;
    b->leaf_anc[b->leaf++] = l.anc;
    return leaf_type(b, e, n);
}

/* ---- groups ---- */

static tl_status make_children(builder *b, tl_pq_node *n, int32_t count) {
    n->children = tl_arena_array(b->arena, (size_t)count, sizeof *n->children);
    n->n_children = count;
    return n->children ? TL_OK : tl_fail_memory(b->err, (size_t)count * sizeof *n->children);
}

static tl_status build_struct(builder *b, levels l, tl_pq_node *n) {
    int32_t count = b->schema[b->pos++].n_children;
    n->kind = TL_PQ_NODE_STRUCT;
    n->first_leaf = b->leaf;
    TL_TRY(make_children(b, n, count));
    for (int32_t i = 0; i < count; i++) {
        TL_TRY(build_field(b, l, &n->children[i]));
    }
    n->n_leaves = b->leaf - n->first_leaf;
    return TL_OK;
}

/* Levels inside a repeated field below `l`. */
static levels inside(levels l) {
    int16_t def = (int16_t)(l.def + 1);
    return (levels){.def = def, .rep = (int16_t)(l.rep + 1), .anc = def};
}

static void become_list(builder *b, levels l, tl_pq_node *n, tl_pq_node_kind kind) {
    n->kind = kind;
    n->rep = (int16_t)(l.rep + 1);
    n->elem_def = (int16_t)(l.def + 1);
    n->first_leaf = b->leaf;
}

/* Is the repeated field of a LIST the element itself (two-level layouts), not a wrapper around it? */
static bool repeated_is_element(const tl_pq_schema_element *list, const tl_pq_schema_element *repeated) {
    if (repeated->is_leaf || repeated->n_children != 1) {
        return true;
    }
    if (repeated->logical == TL_PQ_LOGICAL_LIST || repeated->logical == TL_PQ_LOGICAL_MAP ||
        repeated->logical == TL_PQ_LOGICAL_MAP_KEY_VALUE || repeated[1].repetition == TL_PQ_REPEATED) {
        return true;
    }
    size_t n = strlen(list->name);
    return strcmp(repeated->name, "array") == 0 ||
           (strncmp(repeated->name, list->name, n) == 0 && strcmp(repeated->name + n, "_tuple") == 0);
}

static tl_status build_list(builder *b, levels l, tl_pq_node *n) {
    const tl_pq_schema_element *list = &b->schema[b->pos], *repeated = list + 1;
    if (list->n_children != 1 || repeated->repetition != TL_PQ_REPEATED) {
        return tl_fail(b->err, TL_UNSUPPORTED, "column \"%s\": a LIST group must have one repeated child", list->name);
    }
    b->pos++;
    become_list(b, l, n, TL_PQ_NODE_LIST);
    TL_TRY(make_children(b, n, 1));
    if (repeated_is_element(list, repeated)) {
        TL_TRY(build_content(b, inside(l), false, &n->children[0]));
    } else {
        b->pos++;
        TL_TRY(build_field(b, inside(l), &n->children[0]));
    }
    n->n_leaves = b->leaf - n->first_leaf;
    return TL_OK;
}

static tl_status build_map(builder *b, levels l, tl_pq_node *n) {
    const tl_pq_schema_element *map = &b->schema[b->pos], *entries = map + 1;
    if (map->n_children != 1 || entries->repetition != TL_PQ_REPEATED || entries->is_leaf || entries->n_children > 2) {
        return tl_fail(b->err, TL_UNSUPPORTED,
                       "column \"%s\": a MAP group must have one repeated group of a key and a value", map->name);
    }
    if (entries->n_children == 1) { /* a set */
        return build_list(b, l, n);
    }
    b->pos++;
    become_list(b, l, n, TL_PQ_NODE_MAP);
    TL_TRY(make_children(b, n, 1));
    tl_pq_node *pair = &n->children[0];
    levels in = inside(l);
    *pair = (tl_pq_node){.name = entries->name, .element = b->pos, .def = in.def, .rep = in.rep, .anc_def = in.anc};
    TL_TRY(build_struct(b, in, pair));
    pair->children[0].nullable = false; /* Arrow's rule; old files say "optional" and mean it as little */
    n->n_leaves = b->leaf - n->first_leaf;
    return TL_OK;
}

/* The element at `pos` whose own optional or repeated level is in `l` already. */
static tl_status build_content(builder *b, levels l, bool nullable, tl_pq_node *out) {
    const tl_pq_schema_element *e = &b->schema[b->pos];
    *out = (tl_pq_node){
        .name = e->name, .element = b->pos, .nullable = nullable, .def = l.def, .rep = l.rep, .anc_def = l.anc};
    if (e->is_leaf) {
        return build_leaf(b, l, out);
    }
    switch (e->logical) {
    case TL_PQ_LOGICAL_LIST: return build_list(b, l, out);
    case TL_PQ_LOGICAL_MAP:
    case TL_PQ_LOGICAL_MAP_KEY_VALUE: return build_map(b, l, out);
    default: return build_struct(b, l, out);
    }
}

/* The element at `pos`; repeated without an annotation it is a list of required elements. */
static tl_status build_field(builder *b, levels l, tl_pq_node *out) {
    const tl_pq_schema_element *e = &b->schema[b->pos];
    if (e->repetition != TL_PQ_REPEATED) {
        bool nullable = e->repetition == TL_PQ_OPTIONAL;
        l.def = (int16_t)(l.def + nullable);
        return build_content(b, l, nullable, out);
    }
    *out = (tl_pq_node){.name = e->name, .element = b->pos, .def = l.def, .anc_def = l.anc};
    become_list(b, l, out, TL_PQ_NODE_LIST);
    TL_TRY(make_children(b, out, 1));
    TL_TRY(build_content(b, inside(l), false, &out->children[0]));
    out->n_leaves = b->leaf - out->first_leaf;
    return TL_OK;
}

tl_status tl_pq_nodes_build(const tl_pq_file_meta *meta, int32_t n_leaves, bool int96_micros, tl_arena *arena,
                            tl_pq_node **out, int32_t *n_out, int16_t **leaf_anc, tl_error *err) {
    int32_t n = meta->schema[0].n_children;
    size_t bytes = (size_t)n * sizeof(tl_pq_node);
    *out = tl_arena_array(arena, (size_t)n, sizeof **out);
    *leaf_anc = tl_arena_array(arena, (size_t)n_leaves, sizeof **leaf_anc);
    *n_out = n;
    if (!*out || !*leaf_anc) {
        return tl_fail_memory(err, bytes);
    }
    builder b = {.schema = meta->schema,
                 .pos = 1,
                 .int96_micros = int96_micros,
                 .leaf_anc = *leaf_anc,
                 .arena = arena,
                 .err = err};
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(build_field(&b, (levels){0}, &(*out)[i]));
    }
    return TL_OK;
}

/* ---- ArrowSchema ---- */

/* One allocation a schema owns: its children, their pointers and its texts. */
typedef struct schema_block {
    struct ArrowSchema *children;
    struct ArrowSchema **pointers;
} schema_block;

static void schema_release(struct ArrowSchema *s) {
    schema_block *block = s->private_data;
    for (int64_t i = 0; i < s->n_children; i++) {
        if (block->children[i].release) {
            block->children[i].release(&block->children[i]);
        }
    }
    tl_free(block);
    s->release = NULL;
}

/* PARQUET:field_id as Arrow's metadata: the number of pairs, then each text behind its length. */
static size_t put_field_id(int32_t id, uint8_t out[64]) {
    static const char key[] = "PARQUET:field_id";
    char text[16];
    int n = snprintf(text, sizeof text, "%d", id);
    uint32_t key_len = sizeof key - 1;
    tl_store_u32(out, 1);
    tl_store_u32(out + 4, key_len);
    memcpy(out + 8, key, key_len);
    tl_store_u32(out + 8 + key_len, (uint32_t)n);
    memcpy(out + 12 + key_len, text, (size_t)n);
    return 12 + key_len + (size_t)n;
}

static tl_status schema_make(const char *name, const char *format, int32_t field_id, int64_t flags, int64_t n_children,
                             struct ArrowSchema *out, tl_error *err) {
    uint8_t meta[64];
    size_t meta_len = field_id >= 0 ? put_field_id(field_id, meta) : 0;
    size_t n = (size_t)n_children, name_len = strlen(name) + 1, format_len = strlen(format) + 1;
    size_t size =
        sizeof(schema_block) + n * (sizeof(struct ArrowSchema) + sizeof(void *)) + name_len + format_len + meta_len;
    schema_block *block = tl_calloc(1, size);
    if (!block) {
        return tl_fail_memory(err, size);
    }
    block->children = (struct ArrowSchema *)(block + 1);
    block->pointers = (struct ArrowSchema **)(block->children + n);
    char *text = (char *)(block->pointers + n);
    memcpy(text, name, name_len);
    memcpy(text + name_len, format, format_len);
    if (meta_len) {
        memcpy(text + name_len + format_len, meta, meta_len);
    }
    for (size_t i = 0; i < n; i++) {
        block->pointers[i] = &block->children[i];
    }
    *out = (struct ArrowSchema){.format = text + name_len,
                                .name = text,
                                .metadata = meta_len ? text + name_len + format_len : NULL,
                                .flags = flags,
                                .n_children = n_children,
                                .children = n ? block->pointers : NULL,
                                .release = schema_release,
                                .private_data = block};
    return TL_OK;
}

static tl_status node_schema(const tl_pq_node *n, const tl_pq_schema_element *schema, struct ArrowSchema *out,
                             tl_error *err) {
    const char *format = n->kind == TL_PQ_NODE_LEAF     ? n->format
                         : n->kind == TL_PQ_NODE_STRUCT ? "+s"
                         : n->kind == TL_PQ_NODE_LIST   ? "+l"
                                                        : "+m";
    TL_TRY(schema_make(n->name, format, schema[n->element].field_id, n->nullable ? ARROW_FLAG_NULLABLE : 0,
                       n->n_children, out, err));
    for (int32_t i = 0; i < n->n_children; i++) {
        tl_status status = node_schema(&n->children[i], schema, out->children[i], err);
        if (status != TL_OK) {
            out->release(out);
            return status;
        }
    }
    return TL_OK;
}

tl_status tl_pq_reader_schema(const tl_pq_reader *r, const int32_t *tops, int32_t n_tops, struct ArrowSchema *out,
                              tl_error *err) {
    int32_t *picked, n;
    TL_TRY(tl_pq_pick_tops(r, tops, n_tops, &picked, &n, err));
    tl_status status = schema_make("", "+s", -1, 0, n, out, err);
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        status = node_schema(&r->tops[picked[i]], r->meta.schema, out->children[i], err);
        if (status != TL_OK) {
            out->release(out);
        }
    }
    tl_free(picked);
    return status;
}
