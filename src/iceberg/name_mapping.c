/* See name_mapping.h. The form: [{"names": ["v", "value"], "field-id": 4, "fields": [...]}, ...]. */
#include "iceberg/name_mapping.h"

#include <string.h>

#include "iceberg/json_internal.h"

/* One entry of the mapping: gives its id to all columns that go by one of its names. */
static tl_status apply_entry(yyjson_val *entry, const char *const *columns, int32_t n, int32_t *ids, tl_error *err) {
    static const int32_t without = -1;
    int32_t id;
    TL_TRY(tl_json_object(entry, TL_NAME_MAPPING, err));
    TL_TRY(tl_json_i32(entry, TL_NAME_MAPPING, "field-id", &without, &id, err));
    yyjson_val *names = tl_json_get(entry, "names"), *name;
    size_t i, count;
    yyjson_arr_foreach(names, i, count, name) {
        const char *text = yyjson_get_str(name);
        for (int32_t c = 0; text && c < n; c++) {
            if (strcmp(text, columns[c]) == 0) {
                ids[c] = id;
            }
        }
    }
    return TL_OK;
}

tl_status tl_name_mapping_ids(const tl_metadata *m, const char *const *names, int32_t n, int32_t *ids, tl_error *err) {
    for (int32_t i = 0; i < n; i++) {
        ids[i] = -1;
    }
    const char *text = tl_metadata_property(m, TL_NAME_MAPPING);
    if (!text) {
        return TL_OK;
    }
    yyjson_doc *doc;
    TL_TRY(tl_json_read(tl_bytes_of(text), TL_NAME_MAPPING, &doc, err));
    yyjson_val *root = yyjson_doc_get_root(doc), *entry;
    tl_status status = yyjson_is_arr(root) ? TL_OK : tl_fail(err, TL_CORRUPT, TL_NAME_MAPPING " is no list");
    size_t i, count;
    yyjson_arr_foreach(root, i, count, entry) {
        status = status == TL_OK ? apply_entry(entry, names, n, ids, err) : status;
    }
    yyjson_doc_free(doc);
    return status;
}
