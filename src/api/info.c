/* tl_info: what there is to know about a table, as JSON with the keys of spec g.1. */
#include <stdlib.h>
#include <string.h>

#include "api/lake.h"
#include "base/mem.h"
#include "iceberg/json.h"
#include "table/settings.h"
#include "yyjson.h"

enum { MAX_SNAPSHOTS = 50 };

typedef struct partition_sum {
    const tl_data_file *file; /* one that has the partition value */
    int64_t files, rows, bytes;
} partition_sum;

static int by_partition(const void *a, const void *b) {
    const partition_sum *x = a, *y = b;
    tl_bytes p = x->file->n_partition ? x->file->partition[0].value : (tl_bytes){NULL, 0};
    tl_bytes q = y->file->n_partition ? y->file->partition[0].value : (tl_bytes){NULL, 0};
    if (x->file->spec_id != y->file->spec_id) {
        return x->file->spec_id < y->file->spec_id ? 1 : -1;
    }
    if (p.data && q.data && p.len == 4 && q.len == 4) { /* newest first */
        int32_t v = tl_load_i32(p.data), w = tl_load_i32(q.data);
        return v > w ? -1 : v < w;
    }
    return p.data && q.data ? tl_bytes_compare(q, p) : (p.data == NULL) - (q.data == NULL);
}

static void partition_label(const tl_table *t, const tl_data_file *f, char out[32]) {
    const tl_partition_spec *spec = tl_metadata_spec_by_id(&t->metadata, f->spec_id);
    out[0] = '\0';
    if (spec && spec->n_fields == 1 && f->n_partition == 1 && f->partition[0].value.data &&
        f->partition[0].value.len == 4 && spec->fields[0].transform >= TL_TRANSFORM_YEAR &&
        spec->fields[0].transform <= TL_TRANSFORM_HOUR) {
        tl_transform_time_label(spec->fields[0].transform, tl_load_i32(f->partition[0].value.data), out);
    }
}

static bool add_partitions(yyjson_mut_doc *doc, yyjson_mut_val *root, const tl_table *t, const tl_live_files *files) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "partitions");
    partition_sum *sums = tl_alloc_array((size_t)files->n_data, sizeof *sums);
    if (!list || !sums) {
        tl_free(sums);
        return false;
    }
    for (int64_t i = 0; i < files->n_data; i++) {
        const tl_data_file *f = &files->data[i].file;
        sums[i] = (partition_sum){f, 1, f->record_count, f->file_size};
    }
    qsort(sums, (size_t)files->n_data, sizeof *sums, by_partition);
    bool ok = true;
    for (int64_t from = 0, to; from < files->n_data && ok; from = to) {
        partition_sum sum = sums[from];
        for (to = from + 1; to < files->n_data && by_partition(&sums[from], &sums[to]) == 0; to++) {
            sum.files++;
            sum.rows += sums[to].rows;
            sum.bytes += sums[to].bytes;
        }
        char label[32];
        partition_label(t, sum.file, label);
        yyjson_mut_val *p = yyjson_mut_arr_add_obj(doc, list);
        ok = p && yyjson_mut_obj_add_strcpy(doc, p, "partition", label) &&
             yyjson_mut_obj_add_int(doc, p, "files", sum.files) && yyjson_mut_obj_add_int(doc, p, "rows", sum.rows) &&
             yyjson_mut_obj_add_int(doc, p, "bytes", sum.bytes);
    }
    tl_free(sums);
    return ok;
}

static int newest_first(const void *a, const void *b) {
    const tl_snapshot *const *x = a, *const *y = b;
    if ((*x)->sequence_number != (*y)->sequence_number) {
        return (*x)->sequence_number > (*y)->sequence_number ? -1 : 1;
    }
    return (*x)->timestamp_ms > (*y)->timestamp_ms ? -1 : (*x)->timestamp_ms < (*y)->timestamp_ms;
}

/* A counter of a snapshot's summary; 0 where it was left out. */
static int64_t counter(const tl_snapshot *s, const char *key) {
    const char *text = tl_snapshot_summary(s, key);
    return text ? strtoll(text, NULL, 10) : 0;
}

static bool add_snapshots(yyjson_mut_doc *doc, yyjson_mut_val *root, const tl_metadata *m) {
    static const char *const counters[][2] = {
        {"added_records", "added-records"},     {"added_files", "added-data-files"},
        {"deleted_records", "deleted-records"}, {"deleted_files", "deleted-data-files"},
        {"total_records", "total-records"},
    };
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "snapshots");
    const tl_snapshot **sorted = tl_alloc_array((size_t)m->n_snapshots, sizeof *sorted);
    if (!list || !sorted) {
        tl_free((void *)sorted);
        return false;
    }
    for (int32_t i = 0; i < m->n_snapshots; i++) {
        sorted[i] = &m->snapshots[i];
    }
    qsort((void *)sorted, (size_t)m->n_snapshots, sizeof *sorted, newest_first);
    bool ok = true;
    for (int32_t i = 0; i < m->n_snapshots && i < MAX_SNAPSHOTS && ok; i++) {
        const tl_snapshot *s = sorted[i];
        char id[24];
        (void)snprintf(id, sizeof id, "%lld", (long long)s->snapshot_id);
        const char *operation = tl_snapshot_summary(s, "operation");
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(doc, list);
        ok = o && yyjson_mut_obj_add_strcpy(doc, o, "id", id) &&
             yyjson_mut_obj_add_int(doc, o, "timestamp_ms", s->timestamp_ms) &&
             yyjson_mut_obj_add_strcpy(doc, o, "operation", operation ? operation : "");
        for (size_t k = 0; k < TL_COUNT(counters) && ok; k++) {
            ok = yyjson_mut_obj_add_int(doc, o, counters[k][0], counter(s, counters[k][1]));
        }
    }
    tl_free((void *)sorted);
    return ok;
}

static bool add_schema(yyjson_mut_doc *doc, yyjson_mut_val *root, const tl_schema *schema) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "schema");
    bool ok = list != NULL;
    for (int32_t i = 0; i < schema->n_fields && ok; i++) {
        const tl_field *f = &schema->fields[i];
        tl_buf type = {0};
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(doc, list);
        ok = o && tl_type_print(&f->type, &type) == TL_OK && yyjson_mut_obj_add_int(doc, o, "id", f->id) &&
             yyjson_mut_obj_add_strcpy(doc, o, "name", f->name) &&
             yyjson_mut_obj_add_strncpy(doc, o, "type", (const char *)type.data, type.len) &&
             yyjson_mut_obj_add_bool(doc, o, "required", f->required);
        tl_buf_free(&type);
    }
    return ok;
}

static bool add_text(yyjson_mut_doc *doc, yyjson_mut_val *o, const char *key, const char *text) {
    return text ? yyjson_mut_obj_add_strcpy(doc, o, key, text) : yyjson_mut_obj_add_null(doc, o, key);
}

static const char *column_name(const tl_table *t, int32_t column) {
    return column < 0 ? NULL : tl_metadata_schema(&t->metadata)->fields[column].name;
}

static bool add_contract(yyjson_mut_doc *doc, yyjson_mut_val *root, const tl_table *t) {
    const tl_contract *c = &t->contract;
    static const char *const chunks[] = {
        [TL_TRANSFORM_HOUR] = "hour", [TL_TRANSFORM_DAY] = "day", [TL_TRANSFORM_MONTH] = "month"};
    char version[8];
    (void)snprintf(version, sizeof version, "V%d", t->metadata.format_version);
    bool ok = yyjson_mut_obj_add_strcpy(doc, root, "name", t->name) &&
              yyjson_mut_obj_add_int(doc, root, "version", t->version) &&
              yyjson_mut_obj_add_strcpy(doc, root, "location", t->location) &&
              yyjson_mut_obj_add_strcpy(doc, root, "format_version", version) &&
              add_text(doc, root, "time_column", column_name(t, c->time));
    yyjson_mut_val *key = yyjson_mut_obj_add_arr(doc, root, "series_key");
    ok = ok && key;
    for (int32_t i = 0; i < c->n_series && ok; i++) {
        ok = yyjson_mut_arr_add_strcpy(doc, key, column_name(t, c->series[i]));
    }
    int64_t retention_us = tl_setting_duration_us(&t->metadata, "retention");
    ok = ok && add_text(doc, root, "chunk", c->time < 0 || c->chunk > TL_TRANSFORM_HOUR ? NULL : chunks[c->chunk]) &&
         yyjson_mut_obj_add_bool(doc, root, "dedup", c->dedup) &&
         add_text(doc, root, "ingest_time_column", column_name(t, c->ingest));
    if (ok && retention_us > 0) {
        return yyjson_mut_obj_add_real(doc, root, "retention_days", (double)retention_us / 86400e6);
    }
    return ok && yyjson_mut_obj_add_null(doc, root, "retention_days");
}

static bool add_data(yyjson_mut_doc *doc, yyjson_mut_val *root, const tl_table *t, const tl_live_files *files) {
    const tl_snapshot *current = tl_metadata_current(&t->metadata);
    int64_t rows = 0, bytes = 0;
    for (int64_t i = 0; i < files->n_data; i++) {
        rows += files->data[i].file.record_count;
        bytes += files->data[i].file.file_size;
    }
    bool ok = yyjson_mut_obj_add_int(doc, root, "rows", rows) &&
              yyjson_mut_obj_add_int(doc, root, "files", files->n_data) &&
              yyjson_mut_obj_add_int(doc, root, "bytes", bytes) &&
              yyjson_mut_obj_add_int(doc, root, "delete_files", files->n_deletes) &&
              yyjson_mut_obj_add_int(doc, root, "manifests", files->n_manifests) &&
              yyjson_mut_obj_add_int(doc, root, "snapshot_count", t->metadata.n_snapshots);
    ok = ok && (current ? yyjson_mut_obj_add_int(doc, root, "last_commit_ms", current->timestamp_ms)
                        : yyjson_mut_obj_add_null(doc, root, "last_commit_ms"));
    const char *index = current ? tl_snapshot_summary(current, "timelake.last-value-index") : NULL;
    return ok && add_text(doc, root, "last_value_index", index);
}

tl_status tl_info(tl_lake *lake, const char *name, char **json, tl_error *err) {
    *json = NULL;
    tl_table *t = NULL;
    TL_TRY(tl_lake_table(lake, name, &t, err));
    tl_live_files files = {0};
    tl_status status = tl_table_files(t, tl_metadata_current(&t->metadata), &files, err);
    if (status == TL_OK) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(&tl_json_alc);
        yyjson_mut_val *root = doc ? yyjson_mut_obj(doc) : NULL;
        if (root) {
            yyjson_mut_doc_set_root(doc, root);
            bool ok = add_contract(doc, root, t) && add_schema(doc, root, tl_metadata_schema(&t->metadata)) &&
                      add_data(doc, root, t, &files) && add_partitions(doc, root, t, &files) &&
                      add_snapshots(doc, root, &t->metadata);
            *json = ok ? yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &tl_json_alc, NULL, NULL) : NULL;
        }
        yyjson_mut_doc_free(doc);
        status = *json ? TL_OK : tl_fail_memory(err, 4096);
    }
    tl_live_files_free(&files);
    tl_table_release(t);
    return status;
}
