/*
 * Fields inside of columns. Top-level columns are found by field id; what is inside of them is then matched by name, so
 * here it is made sure that names and ids say the same. Comes in: a column's type in the table, and the file's Arrow
 * schema of it. Goes out: whether they are alike field by field, alike but in another order, or contradict each other.
 */
#include <stdlib.h>
#include <string.h>

#include "nanoarrow/nanoarrow.h"
#include "read/read_internal.h"

enum { MAX_DEPTH = 64 };

/* -1 = the file gives none. */
static int32_t field_id(const struct ArrowSchema *s) {
    struct ArrowStringView value = {NULL, 0};
    char text[16];
    if (!s->metadata || ArrowMetadataGetValue(s->metadata, ArrowCharView("PARQUET:field_id"), &value) != NANOARROW_OK ||
        !value.data || value.size_bytes <= 0 || value.size_bytes >= (int64_t)sizeof text) {
        return -1;
    }
    memcpy(text, value.data, (size_t)value.size_bytes);
    text[value.size_bytes] = '\0';
    return (int32_t)strtol(text, NULL, 10);
}

static tl_nested compare(const tl_type *type, const struct ArrowSchema *file, int depth);

static tl_nested worse(tl_nested a, tl_nested b) {
    return a > b ? a : b;
}

static tl_nested compare_struct(const tl_type *type, const struct ArrowSchema *file, int depth) {
    tl_nested all = file->n_children == type->n_fields ? TL_NESTED_SAME : TL_NESTED_OTHER_ORDER;
    for (int64_t i = 0; i < file->n_children; i++) {
        const struct ArrowSchema *child = file->children[i];
        int32_t id = field_id(child), by_id = -1, by_name = -1;
        for (int32_t k = 0; k < type->n_fields; k++) {
            by_id = id >= 0 && type->fields[k].id == id ? k : by_id;
            by_name = strcmp(type->fields[k].name, child->name) == 0 ? k : by_name;
        }
        if (id >= 0 && by_id != by_name) {
            return TL_NESTED_RENAMED;
        }
        all = by_name == i ? all : worse(all, TL_NESTED_OTHER_ORDER);
        if (by_name >= 0) {
            all = worse(all, compare(&type->fields[by_name].type, child, depth + 1));
        }
    }
    return all;
}

static tl_nested compare(const tl_type *type, const struct ArrowSchema *file, int depth) {
    if (depth > MAX_DEPTH) {
        return TL_NESTED_RENAMED;
    }
    if (type->id == TL_TYPE_STRUCT && strcmp(file->format, "+s") == 0) {
        return compare_struct(type, file, depth);
    }
    if (type->id == TL_TYPE_LIST && strcmp(file->format, "+l") == 0 && file->n_children == 1) {
        return compare(&type->fields[0].type, file->children[0], depth + 1);
    }
    if (type->id == TL_TYPE_MAP && strcmp(file->format, "+m") == 0 && file->n_children == 1 &&
        file->children[0]->n_children == 2) {
        return worse(compare(&type->fields[0].type, file->children[0]->children[0], depth + 1),
                     compare(&type->fields[1].type, file->children[0]->children[1], depth + 1));
    }
    return TL_NESTED_SAME; /* no names inside; whether the types fit is for others to say */
}

tl_nested tl_nested_compare(const tl_type *type, const struct ArrowSchema *file) {
    return compare(type, file, 0);
}
