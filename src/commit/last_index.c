/* The last-value index of the next snapshot: extended by an append, or given anew. The rules are in table/last_index.h.
 */
#include "table/last_index.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"

typedef struct extending {
    tl_table *base;
    const tl_rows *newest;
    int64_t snapshot_id;
    tl_key_list *keys;
    tl_arena *arena;
} extending;

/* Joins the newest rows with the layers from `keep` on. `*rows` = the result: `newest` itself, or `*own`. */
static tl_status merge_layers(const extending *x, const tl_index_layers *layers, int32_t keep, tl_rows *own,
                              const tl_rows **rows, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&x->base->metadata);
    *rows = x->newest;
    for (int32_t i = layers->n; i-- > keep;) {
        tl_rows below, joined;
        TL_TRY(tl_index_layer_read(x->base, &layers->items[i], &below, err));
        tl_status status = tl_last_values_merge(schema, &x->base->contract, &below, *rows, &joined, err);
        tl_rows_free(&below);
        TL_TRY(status);
        tl_rows_free(own);
        *own = joined;
        *rows = own;
    }
    return TL_OK;
}

static tl_status put_layer(const extending *x, const tl_rows *rows, char name[128], const char **uri, tl_error *err) {
    char uuid[TL_UUID_TEXT];
    tl_uuid4(x->base->store->env, uuid);
    (void)snprintf(name, 128, "lvi-%lld-%s.parquet", (long long)x->snapshot_id, uuid);
    tl_buf parquet = {0};
    tl_status status =
        tl_last_values_write(tl_metadata_schema(&x->base->metadata), &x->base->contract, rows, &parquet, err);
    if (status == TL_OK) {
        status = tl_commit_put_object(x->base, name, tl_buf_bytes(&parquet), x->keys, x->arena, uri, err);
    }
    tl_buf_free(&parquet);
    return status;
}

/* "<name>:<rows>,..." of the kept layers and the new one. */
static const char *print_layers(tl_arena *arena, const tl_index_layers *layers, int32_t keep, const char *name,
                                int64_t rows) {
    tl_buf text = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < keep; i++) {
        status = tl_buf_printf(&text, "%s:%lld,", layers->items[i].name, (long long)layers->items[i].rows);
    }
    status = status == TL_OK ? tl_buf_printf(&text, "%s:%lld", name, (long long)rows) : status;
    const char *list = status == TL_OK ? tl_arena_strndup(arena, (const char *)text.data, text.len) : NULL;
    tl_buf_free(&text);
    return list;
}

static tl_status put_on_top(const extending *x, const tl_index_layers *layers, int32_t keep, tl_property out[2],
                            tl_error *err) {
    tl_rows own = {0};
    const tl_rows *rows = NULL;
    char name[128];
    const char *uri = NULL;
    tl_status status = merge_layers(x, layers, keep, &own, &rows, err);
    int64_t n_rows = status == TL_OK ? rows->n_rows : 0;
    if (status == TL_OK) {
        status = put_layer(x, rows, name, &uri, err);
    }
    tl_rows_free(&own);
    TL_TRY(status);
    const char *list = print_layers(x->arena, layers, keep, name, n_rows);
    if (!list) {
        return tl_fail_memory(err, 256);
    }
    out[0].value = list;
    out[1].value = keep == 0 ? uri : NULL;
    return TL_OK;
}

/* Timelake 0.7.0 does not tell the rows of its index: a bound from the size decides whether it is merged. */
static int64_t rows_at_most(const extending *x, const tl_index_layer *layer) {
    uint64_t size = 0;
    if (layer->rows >= 0 || tl_store_size(x->base->store, layer->key, &size, NULL) != TL_OK) {
        return layer->rows;
    }
    return size / 16 < INT64_MAX ? (int64_t)(size / 16) : INT64_MAX;
}

/* A layer that stays must be there (another program may have cleaned it away), and its rows known. */
static tl_status keep_layer(const extending *x, tl_index_layer *layer, tl_error *err) {
    uint64_t size;
    if (layer->rows >= 0) {
        return tl_store_size(x->base->store, layer->key, &size, err);
    }
    tl_rows rows;
    TL_TRY(tl_index_layer_read(x->base, layer, &rows, err));
    layer->rows = rows.n_rows;
    tl_rows_free(&rows);
    return TL_OK;
}

static tl_status extend(const extending *x, tl_index_layers *layers, tl_property out[2], tl_error *err) {
    tl_index_layer sized[TL_INDEX_LAYERS_MAX];
    for (int32_t i = 0; i < layers->n; i++) {
        sized[i] = layers->items[i];
        sized[i].rows = rows_at_most(x, &sized[i]);
    }
    tl_index_layers guess = {.items = sized, .n = layers->n};
    int32_t keep = tl_index_layers_keep(&guess, x->newest->n_rows, x->newest->n_columns);
    for (int32_t i = 0; i < keep; i++) {
        TL_TRY(keep_layer(x, &layers->items[i], err));
    }
    return put_on_top(x, layers, keep, out, err);
}

tl_status tl_commit_extend_index(tl_table *base, const tl_rows *newest, int64_t snapshot_id, bool base_empty,
                                 tl_key_list *keys, tl_arena *arena, tl_property out[2], tl_error *err) {
    out[0] = (tl_property){TL_INDEX_LAYERS_KEY, NULL};
    out[1] = (tl_property){TL_INDEX_KEY, NULL};
    const tl_snapshot *current = tl_metadata_current(&base->metadata);
    if (base->contract.time < 0 || newest->n_rows == 0 ||
        newest->n_columns != tl_metadata_schema(&base->metadata)->n_fields) {
        return TL_OK;
    }
    tl_index_layers layers = {0};
    if (current && !base_empty) {
        tl_status found = tl_index_layers_find(base, current, &layers, err);
        if (found != TL_OK) {
            return found == TL_NO_MEMORY ? found : TL_OK;
        }
    }
    extending x = {base, newest, snapshot_id, keys, arena};
    tl_error why = {{0}};
    tl_status status = extend(&x, &layers, out, &why);
    tl_index_layers_free(&layers);
    if (status == TL_NOT_FOUND || status == TL_CORRUPT || status == TL_UNSUPPORTED || status == TL_IO ||
        status == TL_INVALID) {
        return TL_OK; /* the commit does not depend on its index */
    }
    return status == TL_OK ? TL_OK : tl_fail(err, status, "%s", why.message);
}

/* ---- given anew ---- */

typedef struct giving {
    tl_table *base;
    const tl_rows *newest;
    int64_t snapshot_id;
    tl_key_list keys;
    tl_arena arena;
} giving;

/* The snapshot with the same files and the new index, up to the put that decides. */
static tl_status prepare(giving *g, tl_next *next, tl_error *err) {
    const tl_metadata *m = &g->base->metadata;
    int64_t sequence = m->last_sequence_number + 1, n = 0;
    tl_manifest_file *list = NULL;
    TL_TRY(tl_commit_carry_manifests(g->base, g->snapshot_id, sequence, &g->keys, &g->arena, &list, &n, err));
    tl_snapshot s = {.snapshot_id = g->snapshot_id,
                     .parent_id = m->current_snapshot_id,
                     .sequence_number = sequence,
                     .schema_id = m->current_schema_id};
    tl_property extra[2] = {{TL_INDEX_LAYERS_KEY, NULL}, {TL_INDEX_KEY, NULL}};
    extending x = {g->base, g->newest, g->snapshot_id, &g->keys, &g->arena};
    tl_index_layers none = {0};
    TL_TRY(put_on_top(&x, &none, 0, extra, err));
    tl_commit_change change = {.operation = "replace", .extra = extra, .n_extra = 2};
    TL_TRY(tl_commit_summary(g->base, &change, list, n, &g->arena, &s.summary, &s.n_summary, err));
    TL_TRY(tl_commit_put_snapshot_list(g->base, list, n, &s, &g->keys, &g->arena, err));
    TL_TRY(tl_commit_next(g->base, next, err));
    s.timestamp_ms = next->now_ms;
    tl_status status = tl_metadata_add_snapshot(&next->metadata, &s, err);
    if (status == TL_OK) {
        status = tl_store_sync(g->base->store, (const char *const *)g->keys.items, g->keys.n, err);
    }
    if (status != TL_OK) {
        tl_metadata_free(&next->metadata);
    }
    return status;
}

static tl_status moved_on(const tl_table *base, tl_error *err) {
    return tl_fail(err, TL_CONFLICT, "table %s: another commit came first; its last-value index was not written",
                   base->name);
}

static tl_status give(giving *g, tl_table **out, tl_error *err) {
    tl_table *newest;
    TL_TRY(tl_table_refresh(g->base, &newest, err));
    bool same = newest->version == g->base->version;
    tl_table_release(newest);
    if (!same) {
        return moved_on(g->base, err);
    }
    TL_TRY(tl_table_writable(g->base, err));
    tl_next next;
    TL_TRY(prepare(g, &next, err));
    tl_status status = tl_commit_put_version(g->base, &next, g->snapshot_id, false, out, err);
    return status == TL_EXISTS ? moved_on(g->base, err) : status;
}

tl_status tl_commit_last_values(tl_table *base, const tl_rows *newest, tl_table **out, tl_error *err) {
    *out = NULL;
    if (base->contract.time < 0 || !tl_metadata_current(&base->metadata) || newest->n_rows == 0 ||
        newest->n_columns != tl_metadata_schema(&base->metadata)->n_fields) {
        return tl_fail(err, TL_INVALID, "table %s has no rows by time, or the newest rows given are not of its schema",
                       base->name);
    }
    giving g = {.base = base, .newest = newest, .snapshot_id = tl_commit_new_snapshot_id(base)};
    tl_status status = give(&g, out, err);
    if (status == TL_OK) {
        tl_commit_publish(*out);
    } else if (status != TL_UNKNOWN) {
        tl_key_list_remove_objects(base->store, &g.keys);
    }
    tl_key_list_free(&g.keys);
    tl_arena_free(&g.arena);
    return status;
}
