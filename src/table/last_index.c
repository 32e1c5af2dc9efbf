/* The layers of a last-value index: found, believed or not, read. The rules are in the header. */
#include "table/last_index.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"

void tl_index_layers_free(tl_index_layers *layers) {
    tl_arena_free(&layers->arena);
    *layers = (tl_index_layers){0};
}

/* "lvi-<snapshot id>-<uuid>.parquet" -> the id. */
static bool name_snapshot(const char *name, int64_t *id) {
    if (strncmp(name, "lvi-", 4) != 0) {
        return false;
    }
    size_t n = strspn(name + 4, "0123456789");
    return name[4 + n] == '-' && tl_parse_i64((tl_bytes){(const uint8_t *)name + 4, n}, id) == TL_PARSE_OK;
}

/* Does an index made for snapshot `id` hold for `s`? */
static bool holds_for(const tl_metadata *m, const tl_snapshot *s, int64_t id) {
    for (int32_t steps = 0; s && steps <= m->n_snapshots; steps++) {
        if (s->snapshot_id == id) {
            return true;
        }
        const char *operation = tl_snapshot_summary(s, "operation");
        if (!operation || strcmp(operation, "replace") != 0) {
            return false;
        }
        if (s->parent_id == id) {
            return true; /* also when the parent has expired */
        }
        s = s->parent_id == -1 ? NULL : tl_metadata_snapshot(m, s->parent_id);
    }
    return false;
}

static tl_status none(tl_error *err) {
    return tl_fail(err, TL_NOT_FOUND, "no last-value index that can be trusted");
}

static tl_status add_layer(tl_table *t, const char *name, size_t len, int64_t rows, tl_index_layers *out,
                           tl_error *err) {
    if (out->n == TL_INDEX_LAYERS_MAX || len == 0 || memchr(name, '/', len)) {
        return none(err);
    }
    tl_index_layer *layer = &out->items[out->n++];
    layer->rows = rows;
    layer->name = tl_arena_strndup(&out->arena, name, len);
    layer->key = layer->name ? tl_arena_format(&out->arena, "%s/metadata/%s", t->prefix, layer->name) : NULL;
    return layer->key ? TL_OK : tl_fail_memory(err, len);
}

/* "<name>:<rows>,..." */
static tl_status parse_layers(tl_table *t, const char *text, tl_index_layers *out, tl_error *err) {
    while (*text) {
        size_t len = strcspn(text, ":,");
        size_t digits = text[len] == ':' ? strspn(text + len + 1, "0123456789") : 0;
        int64_t rows;
        const char *end = text + len + 1 + digits;
        if (digits == 0 || (*end != ',' && *end != '\0') ||
            tl_parse_i64((tl_bytes){(const uint8_t *)text + len + 1, digits}, &rows) != TL_PARSE_OK) {
            return none(err);
        }
        TL_TRY(add_layer(t, text, len, rows, out, err));
        text = *end ? end + 1 : end;
    }
    return TL_OK;
}

/* The one file that Timelake 0.7.0 names. */
static tl_status parse_uri(tl_table *t, const char *uri, tl_index_layers *out, tl_error *err) {
    char *key;
    tl_status status = tl_table_key(t, uri, &key, err);
    if (status != TL_OK) {
        return status == TL_NO_MEMORY ? status : none(err);
    }
    const char *slash = strrchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    status = add_layer(t, name, strlen(name), -1, out, err);
    if (status == TL_OK) {
        out->items[0].key = tl_arena_strdup(&out->arena, key);
        status = out->items[0].key ? TL_OK : tl_fail_memory(err, strlen(key));
    }
    tl_free(key);
    return status;
}

static tl_status find_layers(tl_table *t, const tl_snapshot *s, tl_index_layers *out, tl_error *err) {
    const char *layers = tl_snapshot_summary(s, TL_INDEX_LAYERS_KEY), *uri = tl_snapshot_summary(s, TL_INDEX_KEY);
    out->items = tl_arena_array(&out->arena, TL_INDEX_LAYERS_MAX, sizeof *out->items);
    if (!out->items) {
        return tl_fail_memory(err, TL_INDEX_LAYERS_MAX);
    }
    if (!layers && !uri) {
        return none(err);
    }
    TL_TRY(layers ? parse_layers(t, layers, out, err) : parse_uri(t, uri, out, err));
    int64_t id;
    if (out->n == 0 || !name_snapshot(out->items[out->n - 1].name, &id) || !holds_for(&t->metadata, s, id)) {
        return none(err);
    }
    const tl_snapshot *made = tl_metadata_snapshot(&t->metadata, id);
    bool ours = layers || (made && tl_snapshot_summary(made, TL_INDEX_LAYERS_KEY));
    return ours || !tl_metadata_property(&t->metadata, "timelake.retention") ? TL_OK : none(err);
}

tl_status tl_index_layers_find(tl_table *t, const tl_snapshot *snapshot, tl_index_layers *out, tl_error *err) {
    *out = (tl_index_layers){0};
    tl_status status = t->contract.time < 0 ? none(err) : find_layers(t, snapshot, out, err);
    if (status != TL_OK) {
        tl_index_layers_free(out);
    }
    return status;
}

tl_status tl_index_layer_read(tl_table *t, const tl_index_layer *layer, tl_rows *out, tl_error *err) {
    *out = (tl_rows){0};
    tl_buf parquet = {0};
    tl_status status = tl_store_get(t->store, layer->key, &parquet, err);
    if (status == TL_OK) {
        status = tl_last_values_read(tl_metadata_schema(&t->metadata), tl_buf_bytes(&parquet), out, err);
        if (status != TL_OK && status != TL_NO_MEMORY) {
            tl_error_prefix(err, "%s: ", layer->key);
        }
    }
    if (status == TL_OK && layer->rows >= 0 && out->n_rows != layer->rows) {
        tl_rows_free(out);
        status = tl_fail(err, TL_CORRUPT, "%s: has not the number of rows that the snapshot says", layer->key);
    }
    tl_buf_free(&parquet);
    return status;
}

int32_t tl_index_layers_keep(const tl_index_layers *layers, int64_t new_rows, int32_t n_columns) {
    int64_t small = TL_INDEX_SMALL_CELLS / (n_columns > 0 ? n_columns : 1), rows = new_rows;
    int32_t keep = layers->n;
    while (keep > 0) {
        int64_t below = layers->items[keep - 1].rows;
        int64_t limit = rows > INT64_MAX / 4 ? INT64_MAX : 4 * rows;
        if (keep < TL_INDEX_LAYERS_MAX - 1 && below > (limit > small ? limit : small)) {
            break;
        }
        rows = below > INT64_MAX - rows ? INT64_MAX : rows + (below > 0 ? below : 0);
        keep--;
    }
    return keep;
}

/* ---- reading the whole ---- */

static tl_status merge_below(tl_table *t, const tl_index_layer *layer, tl_rows *rows, tl_error *err) {
    tl_rows below, joined;
    TL_TRY(tl_index_layer_read(t, layer, &below, err));
    tl_status status = tl_last_values_merge(tl_metadata_schema(&t->metadata), &t->contract, &below, rows, &joined, err);
    tl_rows_free(&below);
    if (status == TL_OK) {
        tl_rows_free(rows);
        *rows = joined;
    }
    return status;
}

tl_status tl_last_values_load(tl_table *table, const tl_snapshot *snapshot, tl_rows *out, tl_error *err) {
    *out = (tl_rows){0};
    tl_index_layers layers;
    TL_TRY(tl_index_layers_find(table, snapshot, &layers, err));
    tl_status status = tl_index_layer_read(table, &layers.items[layers.n - 1], out, err);
    for (int32_t i = layers.n - 1; status == TL_OK && i-- > 0;) {
        status = merge_below(table, &layers.items[i], out, err);
    }
    if (status != TL_OK) {
        tl_rows_free(out);
        status = status == TL_NO_MEMORY ? status : TL_NOT_FOUND; /* the rows are in the data files */
    }
    tl_index_layers_free(&layers);
    return status;
}
