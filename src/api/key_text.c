/* Key values given as text: a one-row batch through alignment, so that there is one parser of text. */
#include "api/key_text.h"

#include <string.h>

#include "append/align.h"
#include "nanoarrow/nanoarrow.h"

/* A struct array of one string column with one row. */
static tl_status one_text(const char *name, const char *text, struct ArrowSchema *schema, struct ArrowArray *array,
                          tl_error *err) {
    ArrowSchemaInit(schema);
    struct ArrowStringView view = {text, (int64_t)strlen(text)};
    bool ok = ArrowSchemaSetTypeStruct(schema, 1) == NANOARROW_OK &&
              ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_STRING) == NANOARROW_OK &&
              ArrowSchemaSetName(schema->children[0], name) == NANOARROW_OK &&
              ArrowArrayInitFromSchema(array, schema, NULL) == NANOARROW_OK &&
              ArrowArrayStartAppending(array) == NANOARROW_OK &&
              ArrowArrayAppendString(array->children[0], view) == NANOARROW_OK &&
              ArrowArrayFinishElement(array) == NANOARROW_OK &&
              ArrowArrayFinishBuildingDefault(array, NULL) == NANOARROW_OK;
    return ok ? TL_OK : tl_fail_memory(err, strlen(text));
}

/* Iceberg's bytes of the column's only row. */
static tl_status value_bytes(const tl_type *type, const tl_column *c, tl_arena *arena, tl_bytes *out, tl_error *err) {
    uint8_t one[16];
    tl_bytes raw;
    if (c->kind == TL_COLUMN_BOOL) {
        one[0] = tl_column_bool(c, 0);
        raw = (tl_bytes){one, 1};
    } else if (c->kind == TL_COLUMN_BYTES) {
        raw = tl_column_bytes(c, 0);
    } else if (c->kind == TL_COLUMN_FIXED && type->id == TL_TYPE_DECIMAL && c->width == 16) {
        for (int i = 0; i < 16; i++) {
            one[i] = c->values[15 - i]; /* big-endian */
        }
        raw = (tl_bytes){one, 16};
    } else if (c->kind == TL_COLUMN_FIXED) {
        raw = (tl_bytes){c->values, (size_t)c->width};
    } else {
        return tl_fail(err, TL_UNSUPPORTED, "a nested column cannot be filtered by text");
    }
    *out = (tl_bytes){tl_arena_copy(arena, raw.data, raw.len), raw.len};
    return out->data ? TL_OK : tl_fail_memory(err, raw.len);
}

tl_status tl_key_from_text(const tl_field *field, const char *text, tl_arena *arena, tl_bytes *out, tl_error *err) {
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    tl_field copy = *field;
    const tl_schema one = {.n_fields = 1, .fields = &copy};
    tl_align *align = NULL;
    tl_batch batch = {0};
    tl_status status = one_text(field->name, text, &schema, &array, err);
    if (status == TL_OK) {
        status = tl_align_create(&one, -1, &schema, &align, err);
    }
    if (status == TL_OK) {
        status = tl_align_batch(align, &array, 0, 0, &batch, err);
        if (status == TL_OK) {
            status = value_bytes(&field->type, &batch.columns[0], arena, out, err);
            tl_batch_free(&batch);
        }
    }
    tl_align_free(align);
    if (array.release) {
        array.release(&array);
    }
    if (schema.release) {
        schema.release(&schema);
    }
    return status;
}
