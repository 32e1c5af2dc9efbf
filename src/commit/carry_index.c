/* The last-value index of a snapshot whose rows are those of its parent, or fewer. Comes in: the parent. Goes out: the
 * summary keys of the index. The rules are in table/last_index.h. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"
#include "table/last_index.h"
#include "table/rows.h"

#define CARRIED_MOST ((uint64_t)8 << 20) /* bytes of a layer that is copied for the sake of its name */

static void no_index(tl_property out[2]) {
    out[0] = (tl_property){TL_INDEX_LAYERS_KEY, NULL};
    out[1] = (tl_property){TL_INDEX_KEY, NULL};
}

/* Was the index made for the base's current snapshot itself? Then a `replace` on top of it may name it as it is; after
 * more of them it would be believed only while all of them are kept. */
static bool is_own(const tl_table *base, const tl_index_layers *layers) {
    char own[64];
    (void)snprintf(own, sizeof own, "lvi-%lld-", (long long)base->metadata.current_snapshot_id);
    return strncmp(layers->items[layers->n - 1].name, own, strlen(own)) == 0;
}

static tl_status put_bytes(tl_table *base, tl_bytes parquet, int64_t snapshot_id, tl_key_list *keys, tl_arena *arena,
                           char name[128], const char **uri, tl_error *err) {
    char uuid[TL_UUID_TEXT];
    tl_uuid4(base->store->env, uuid);
    (void)snprintf(name, 128, "lvi-%lld-%s.parquet", (long long)snapshot_id, uuid);
    return tl_commit_put_object(base, name, parquet, keys, arena, uri, err);
}

/* The newest layer under the new snapshot's name, the others as they are. */
static tl_status rename_newest(tl_table *base, const tl_index_layers *layers, int64_t snapshot_id, tl_key_list *keys,
                               tl_arena *arena, tl_property out[2], tl_error *err) {
    const tl_index_layer *newest = &layers->items[layers->n - 1];
    uint64_t size = 0;
    if (newest->rows < 0 || tl_store_size(base->store, newest->key, &size, NULL) != TL_OK || size > CARRIED_MOST) {
        return TL_NOT_FOUND;
    }
    char name[128];
    const char *uri = NULL;
    tl_buf parquet = {0}, text = {0};
    tl_status status = tl_store_get(base->store, newest->key, &parquet, NULL) == TL_OK ? TL_OK : TL_NOT_FOUND;
    if (status == TL_OK) {
        status = put_bytes(base, tl_buf_bytes(&parquet), snapshot_id, keys, arena, name, &uri, err);
    }
    for (int32_t i = 0; status == TL_OK && i < layers->n; i++) {
        const char *one = i + 1 < layers->n ? layers->items[i].name : name;
        if (tl_buf_printf(&text, "%s%s:%lld", i ? "," : "", one, (long long)layers->items[i].rows) != TL_OK) {
            status = tl_fail_memory(err, 256);
        }
    }
    if (status == TL_OK) {
        out[0].value = tl_arena_strndup(arena, (const char *)text.data, text.len);
        out[1].value = layers->n == 1 ? uri : NULL;
        status = out[0].value ? TL_OK : tl_fail_memory(err, text.len);
    }
    tl_buf_free(&parquet);
    tl_buf_free(&text);
    return status;
}

tl_status tl_commit_carry_index(tl_table *base, int64_t snapshot_id, tl_key_list *keys, tl_arena *arena,
                                tl_property out[2], tl_error *err) {
    no_index(out);
    const tl_snapshot *current = tl_metadata_current(&base->metadata);
    tl_index_layers layers;
    tl_status status = current ? tl_index_layers_find(base, current, &layers, NULL) : TL_NOT_FOUND;
    if (status != TL_OK) {
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 0) : TL_OK;
    }
    status = is_own(base, &layers) ? TL_NOT_FOUND : rename_newest(base, &layers, snapshot_id, keys, arena, out, err);
    tl_index_layers_free(&layers);
    if (status == TL_NOT_FOUND) { /* by reference */
        out[0].value = tl_snapshot_summary(current, TL_INDEX_LAYERS_KEY);
        out[1].value = tl_snapshot_summary(current, TL_INDEX_KEY);
        return TL_OK;
    }
    return status;
}

/* ---- fewer rows ---- */

static tl_status pick_since(tl_table *base, const tl_rows *all, int64_t cut_us, tl_rows *out, tl_error *err) {
    tl_pick *picks = tl_alloc_array((size_t)all->n_rows, sizeof *picks);
    if (!picks) {
        return tl_fail_memory(err, (size_t)all->n_rows * sizeof *picks);
    }
    const tl_column *time = &all->columns[base->contract.time];
    int64_t n = 0;
    for (int64_t i = 0; i < all->n_rows; i++) {
        if (tl_load_i64(time->values + i * 8) >= cut_us) {
            picks[n++] = (tl_pick){0, (uint32_t)i};
        }
    }
    const tl_column *const sources[1] = {all->columns};
    tl_status status = tl_rows_pick(sources, 1, all->n_columns, picks, n, out, err);
    tl_free(picks);
    return status;
}

tl_status tl_commit_cut_index(tl_table *base, int64_t cut_us, int64_t snapshot_id, tl_key_list *keys, tl_arena *arena,
                              tl_property out[2], tl_error *err) {
    no_index(out);
    const tl_snapshot *current = tl_metadata_current(&base->metadata);
    tl_rows all = {0}, kept = {0};
    tl_buf parquet = {0};
    tl_status status =
        current && base->contract.time >= 0 ? tl_last_values_load(base, current, &all, NULL) : TL_NOT_FOUND;
    if (status != TL_OK) {
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 0) : TL_OK;
    }
    char name[128];
    const char *uri = NULL;
    status = pick_since(base, &all, cut_us, &kept, err);
    if (status == TL_OK && kept.n_rows > 0) {
        status = tl_last_values_write(tl_metadata_schema(&base->metadata), &base->contract, &kept, &parquet, err);
        if (status == TL_OK) {
            status = put_bytes(base, tl_buf_bytes(&parquet), snapshot_id, keys, arena, name, &uri, err);
        }
        if (status == TL_OK) {
            out[0].value = tl_arena_format(arena, "%s:%lld", name, (long long)kept.n_rows);
            out[1].value = uri;
            status = out[0].value ? TL_OK : tl_fail_memory(err, 256);
        }
    }
    tl_buf_free(&parquet);
    tl_rows_free(&kept);
    tl_rows_free(&all);
    return status;
}
