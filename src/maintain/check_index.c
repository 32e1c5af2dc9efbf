/* What stands beside the data: the last-value index against a scan, head and version hint against the metadata. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "maintain/check_internal.h"
#include "table/head.h"
#include "table/last_index.h"

/* ---- the last-value index ---- */

/* The first row in which two sets of newest rows differ; -1 = they are equal. */
static int64_t first_difference(const tl_schema *schema, const tl_rows *a, const tl_rows *b) {
    int64_t n = a->n_rows < b->n_rows ? a->n_rows : b->n_rows;
    for (int64_t row = 0; row < n; row++) {
        for (int32_t i = 0; i < schema->n_fields; i++) {
            if (!tl_check_equal(&schema->fields[i].type, &a->columns[i], row, &b->columns[i], row)) {
                return row;
            }
        }
    }
    return a->n_rows == b->n_rows ? -1 : n;
}

static tl_status compare_with_scan(tl_checking *c, const tl_rows *index, bool warning, const char *note,
                                   tl_error *err) {
    tl_rows rows = {0};
    tl_error why = {{0}};
    tl_status status = tl_latest_by_scan(c->t, c->options->pool, &rows, &why);
    if (status != TL_OK) { /* an unreadable file was told before */
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
    }
    int64_t at = first_difference(c->schema, index, &rows);
    if (at >= 0) {
        tl_check_report(c, warning, "last-value-index", NULL,
                        "the index has %lld series, a scan finds %lld; they differ from row %lld on%s",
                        (long long)index->n_rows, (long long)rows.n_rows, (long long)at, note);
    }
    tl_rows_free(&rows);
    return TL_OK;
}

/* The file that Timelake 0.7.0 would believe though we do not. */
static tl_status check_named_index(tl_checking *c, const char *uri, tl_error *err) {
    tl_buf parquet = {0};
    tl_rows rows = {0};
    tl_error why = {{0}};
    tl_status status = tl_table_get(c->t, uri, &parquet, &why);
    if (status == TL_OK) {
        status = tl_last_values_read(c->schema, tl_buf_bytes(&parquet), &rows, &why);
    }
    if (status != TL_OK) {
        status = tl_check_unreadable(c, status, "last-value-index", uri, &why, err);
    } else {
        status = compare_with_scan(c, &rows, true, "; it is not believed here, but Timelake 0.7.0 does", err);
    }
    tl_rows_free(&rows);
    tl_buf_free(&parquet);
    return status;
}

tl_status tl_check_index(tl_checking *c, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&c->t->metadata);
    if (!current || c->t->contract.time < 0 || !c->whole) {
        return TL_OK;
    }
    const char *uri = tl_snapshot_summary(current, TL_INDEX_KEY);
    if (!uri && !tl_snapshot_summary(current, TL_INDEX_LAYERS_KEY)) {
        return TL_OK; /* none: the newest rows are found by a scan */
    }
    tl_rows rows = {0};
    tl_status status = tl_last_values_load(c->t, current, &rows, NULL);
    if (status == TL_OK) {
        status = compare_with_scan(c, &rows, false, "", err);
    } else if (status == TL_NO_MEMORY) {
        status = tl_fail_memory(err, 256);
    } else if (uri) {
        status = check_named_index(c, uri, err);
    } else {
        tl_check_report(c, true, "last-value-index", NULL, "cannot be read; the newest rows are found by a scan");
        status = TL_OK;
    }
    tl_rows_free(&rows);
    return status;
}

/* ---- head ---- */

static int by_path(const void *a, const void *b) {
    return strcmp(((const tl_live_file *)a)->file.path, ((const tl_live_file *)b)->file.path);
}

static bool same_file(const tl_live_file *a, const tl_live_file *b) {
    return strcmp(a->file.path, b->file.path) == 0 && a->file.file_size == b->file.file_size &&
           a->file.record_count == b->file.record_count && a->sequence_number == b->sequence_number;
}

static tl_status compare_files(tl_checking *c, tl_head *head, const char *key, tl_error *err) {
    if (!c->whole) {
        return TL_OK;
    }
    size_t n = (size_t)c->files.n_data;
    bool same = head->n_files == c->files.n_data;
    tl_live_file *sorted = tl_alloc_array(n, sizeof *sorted);
    if (!sorted) {
        return tl_fail_memory(err, n * sizeof *sorted);
    }
    if (same && n) {
        memcpy(sorted, c->files.data, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_path);
        qsort(head->files, n, sizeof *head->files, by_path);
        for (size_t i = 0; i < n && same; i++) {
            same = same_file(&sorted[i], &head->files[i]);
        }
    }
    tl_free(sorted);
    if (!same) {
        tl_check_report(c, false, "head", key, "its list of files is not that of the table's version %lld",
                        (long long)c->t->version);
    }
    return TL_OK;
}

static tl_status compare_metadata(tl_checking *c, const tl_head *head, const char *key, tl_error *err) {
    tl_buf json = {0};
    tl_status status = tl_store_get(c->t->store, c->t->metadata_key, &json, NULL);
    if (status == TL_OK && !tl_bytes_equal(tl_buf_bytes(&json), head->metadata)) {
        tl_metadata m = {0};
        bool same = tl_metadata_parse(head->metadata, &m, NULL) == TL_OK &&
                    m.current_snapshot_id == c->t->metadata.current_snapshot_id &&
                    m.last_updated_ms == c->t->metadata.last_updated_ms &&
                    m.n_snapshots == c->t->metadata.n_snapshots && m.n_properties == c->t->metadata.n_properties;
        tl_metadata_free(&m);
        if (!same) {
            tl_check_report(c, false, "head", key, "its metadata are not those of version %lld",
                            (long long)c->t->version);
        }
    }
    tl_buf_free(&json);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
}

static tl_status check_head_object(tl_checking *c, const char *key, tl_error *err) {
    tl_buf bytes = {0};
    tl_head head = {0};
    if (tl_store_get(c->t->store, key, &bytes, NULL) != TL_OK) {
        return TL_OK; /* a cache that is not there */
    }
    tl_error why = {{0}};
    tl_status status = tl_head_read(tl_buf_bytes(&bytes), &head, &why);
    if (status == TL_CORRUPT) {
        tl_check_report(c, true, "head", key, "is garbage: %.400s", why.message);
    } else if (status == TL_OK && head.version > c->t->version) {
        tl_table *newest = NULL; /* perhaps somebody was faster */
        if (tl_table_refresh(c->t, &newest, NULL) == TL_OK && newest->version < head.version) {
            tl_check_report(c, false, "head", key, "is of version %lld, the table only at %lld",
                            (long long)head.version, (long long)newest->version);
        }
        tl_table_release(newest);
    } else if (status == TL_OK && head.version == c->t->version) {
        status = compare_metadata(c, &head, key, err);
        status = status == TL_OK ? compare_files(c, &head, key, err) : status;
    }
    tl_head_free(&head);
    tl_buf_free(&bytes);
    return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
}

static void check_hint(tl_checking *c, const char *key) {
    tl_buf text = {0};
    int64_t version;
    if (tl_store_get(c->t->store, key, &text, NULL) == TL_OK) {
        if (tl_parse_i64(tl_buf_bytes(&text), &version) != TL_PARSE_OK) {
            tl_check_report(c, true, "version-hint", key, "is not a number");
        } else if (version > c->t->version) {
            tl_table *newest = NULL;
            if (tl_table_refresh(c->t, &newest, NULL) == TL_OK && version > newest->version) {
                tl_check_report(c, true, "version-hint", key, "names version %lld, the newest is %lld",
                                (long long)version, (long long)newest->version);
            }
            tl_table_release(newest);
        }
    }
    tl_buf_free(&text);
}

tl_status tl_check_head(tl_checking *c, tl_error *err) {
    char *head = tl_format("%s/metadata/timelake-head", c->t->prefix);
    char *hint = tl_format("%s/metadata/version-hint.text", c->t->prefix);
    tl_status status = head && hint ? check_head_object(c, head, err) : tl_fail_memory(err, 256);
    if (status == TL_OK && !c->t->contract.foreign) {
        check_hint(c, hint);
    }
    tl_free(head);
    tl_free(hint);
    return status;
}
