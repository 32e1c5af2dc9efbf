/*
 * Where a snapshot keeps its last-value index, and how the next snapshot's index is made from it at a cost that depends
 * on what changed. Comes in: a snapshot. Goes out: layers, or that there is no index to be trusted.
 *
 * Layers. Timelake 0.7.0 rewrites the whole index with every append; with a million series that takes seconds. Here an
 * index is a few Parquet files in metadata/, each in the form of spec b.2, oldest first, each newer one overruling the
 * older: usually one; a big one and small ones on top when there are many series. Two summary keys say which:
 *   timelake.last-value-layers  "<name>:<rows>,...", oldest first, always written here;
 *   timelake.last-value-index   the URI, only when there is just one layer: this is what Timelake 0.7.0 reads. It finds
 *                               no index while there are several, and then scans; it never finds a wrong one.
 * An append merges its newest rows with the layers that are at most four times as large (or small), so there are few
 * layers, a row is rewritten a few times over the life of the table, and there is one layer while series x columns
 * stay below TL_INDEX_SMALL_CELLS or while an append touches a quarter of the series.
 *
 * Trust. An index is named lvi-<snapshot id>-<uuid>.parquet after the snapshot it was made for. It is believed for
 * another snapshot only if every snapshot between the two is a `replace` (the same rows in other files): a key that
 * somebody copied to an append is not. An index that Timelake 0.7.0 made of a table with retention is not believed:
 * it lacks series whose newest row is old but still there.
 */
#ifndef TL_TABLE_LAST_INDEX_H
#define TL_TABLE_LAST_INDEX_H

#include "table/last_values.h"

#define TL_INDEX_KEY "timelake.last-value-index"
#define TL_INDEX_LAYERS_KEY "timelake.last-value-layers"
#define TL_INDEX_SMALL_CELLS 131072
#define TL_INDEX_LAYERS_MAX 32

typedef struct tl_index_layer {
    char *key;    /* in the store */
    char *name;   /* file name in metadata/ */
    int64_t rows; /* -1 = not known (Timelake 0.7.0's) */
} tl_index_layer;

typedef struct tl_index_layers {
    tl_index_layer *items; /* oldest first; none = the snapshot has no rows */
    int32_t n;
    tl_arena arena;
} tl_index_layers;

/* The layers of a snapshot's index. TL_NOT_FOUND: there is none, or none that can be trusted. Reads no object. */
tl_status tl_index_layers_find(tl_table *t, const tl_snapshot *snapshot, tl_index_layers *out,
                               tl_error *err) TL_CHECKED;
void tl_index_layers_free(tl_index_layers *layers);

/* The rows of one layer. */
tl_status tl_index_layer_read(tl_table *t, const tl_index_layer *layer, tl_rows *out, tl_error *err) TL_CHECKED;

/* What an append does with the layers below it: merged are those from `keep` on. `keep` = 0 gives a single layer. */
int32_t tl_index_layers_keep(const tl_index_layers *layers, int64_t new_rows, int32_t n_columns);

#endif
