/*
 * Which files of an append are newer than everything before it, as text in the snapshot's summary
 * (`timelake.newer-files`): such a file supersedes no row of an older file, so a reader need not look for older copies
 * because of it. Comes in: the staged files and the last-value index of the version they go on top of. Goes out: "all",
 * or names of files. A file that is not named may supersede rows; that is what a reader must assume.
 */
#include <string.h>

#include "base/mem.h"
#include "commit/commit_internal.h"
#include "table/last_index.h"

#define INDEX_ROWS_MOST 65536 /* a larger index is not read for this: an append must not cost what the table holds */
#define INDEX_ROWS_LEAST 2048 /* ... one of this size always is, in between up to 16 times the rows appended */
#define NAMES_MOST 64

/* newer[i] holds against every layer: a newer layer may have an older row than the one below it. */
static tl_status compare_layers(tl_table *base, const tl_staged *staged, const tl_index_layers *layers, bool *newer,
                                bool *known, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&base->metadata);
    int64_t rows = 0, most = staged->rows < INDEX_ROWS_MOST / 16 ? staged->rows * 16 : INDEX_ROWS_MOST;
    most = most < INDEX_ROWS_LEAST ? INDEX_ROWS_LEAST : most;
    for (int32_t i = 0; i < layers->n && *known; i++) {
        rows += layers->items[i].rows;
        *known = layers->items[i].rows >= 0 && rows <= most;
    }
    for (int32_t i = 0; i < layers->n && *known; i++) {
        tl_rows index;
        tl_status status = tl_index_layer_read(base, &layers->items[i], &index, NULL);
        *known = status == TL_OK;
        if (!*known) {
            return status == TL_NO_MEMORY ? tl_fail_memory(err, 0) : TL_OK;
        }
        bool *against = tl_alloc_array((size_t)staged->n_files, sizeof *against);
        status = against ? tl_staged_newer(schema, &base->contract, staged, &index, against, err)
                         : tl_fail_memory(err, (size_t)staged->n_files);
        for (int32_t f = 0; status == TL_OK && f < staged->n_files; f++) {
            newer[f] &= against[f];
        }
        tl_free(against);
        tl_rows_free(&index);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status print_names(const tl_staged *staged, const bool *newer, tl_arena *arena, const char **out,
                             tl_error *err) {
    int32_t n = 0;
    tl_buf text = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < staged->n_files && status == TL_OK; i++) {
        if (newer[i] && n++ < NAMES_MOST) {
            const char *slash = strrchr(staged->keys[i], '/');
            status = tl_buf_printf(&text, "%s%s", n > 1 ? "," : "", slash ? slash + 1 : staged->keys[i]);
        }
    }
    *out = NULL;
    if (status == TL_OK && n > 0) {
        *out = n == staged->n_files ? "all" : tl_arena_strndup(arena, (const char *)text.data, text.len);
        status = *out ? TL_OK : TL_NO_MEMORY;
    }
    tl_buf_free(&text);
    return status == TL_OK ? TL_OK : tl_fail_memory(err, 4096);
}

tl_status tl_commit_newer_files(const tl_staged *staged, const bool *newer, tl_arena *arena, const char **out,
                                tl_error *err) {
    *out = NULL;
    return staged->n_files ? print_names(staged, newer, arena, out, err) : TL_OK;
}

tl_status tl_commit_newer(tl_table *base, const tl_staged *staged, bool base_empty, bool *newer, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&base->metadata);
    bool known = base->contract.time >= 0 && staged->starts;
    for (int32_t i = 0; i < staged->n_files; i++) {
        newer[i] = known;
    }
    if (!known) {
        return TL_OK;
    }
    tl_status status = TL_OK;
    if (current && !base_empty) {
        tl_index_layers layers = {0};
        status = tl_index_layers_find(base, current, &layers, NULL);
        known = status == TL_OK;
        status = status == TL_NO_MEMORY ? tl_fail_memory(err, 0) : TL_OK;
        if (known) {
            status = compare_layers(base, staged, &layers, newer, &known, err);
        }
        tl_index_layers_free(&layers);
    }
    for (int32_t i = 0; i < staged->n_files && !known; i++) {
        newer[i] = false;
    }
    return status;
}
