/* Retention: what is past it, and its commit; see retention.h. */
#include "maintain/retention.h"

#include <string.h>

#include "base/mem.h"
#include "commit/commit.h"
#include "table/settings.h"

enum { ATTEMPTS = 20 };

/* The times that a file's partition stands for, [from, to). */
static bool partition_span(const tl_table *t, const tl_data_file *f, int64_t *from, int64_t *to) {
    const tl_partition_spec *spec = tl_metadata_spec_by_id(&t->metadata, f->spec_id);
    const tl_schema *schema = tl_metadata_schema(&t->metadata);
    if (t->contract.time < 0 || !spec || spec->n_fields != 1 || f->n_partition != 1 || !f->partition[0].value.data ||
        f->partition[0].value.len != 4 || spec->fields[0].source_id != schema->fields[t->contract.time].id) {
        return false;
    }
    int32_t v = tl_load_i32(f->partition[0].value.data);
    return v < INT32_MAX && tl_transform_time_start(spec->fields[0].transform, v, from) &&
           tl_transform_time_start(spec->fields[0].transform, v + 1, to);
}

/* The greatest time in a file, as its bounds say, or INT64_MAX. */
static int64_t newest_time(const tl_table *t, const tl_data_file *f) {
    const tl_field *field = &tl_metadata_schema(&t->metadata)->fields[t->contract.time];
    int64_t us;
    for (int32_t i = 0; i < f->n_columns; i++) {
        if (f->columns[i].field_id == field->id && f->columns[i].upper.data &&
            tl_value_int64(&field->type, f->columns[i].upper, &us)) {
            return us;
        }
    }
    return INT64_MAX;
}

int64_t tl_retention_cut(const tl_table *t, const tl_live_files *files, int64_t retention_us, int64_t now_us) {
    int64_t newest = INT64_MIN, cut, from, to;
    for (int64_t i = 0; i < files->n_data; i++) {
        const tl_data_file *f = &files->data[i].file;
        if (!partition_span(t, f, &from, &to)) {
            return INT64_MIN; /* a file that may hold any time: nothing can be dropped without knowing it */
        }
        if (from <= now_us) {
            int64_t us = newest_time(t, f);
            us = us < to ? us : to - 1;
            us = us < now_us ? us : now_us;
            newest = us > newest ? us : newest;
        }
    }
    if (newest == INT64_MIN || !tl_i64_add(newest, -retention_us, &cut)) {
        return INT64_MIN;
    }
    /* The first kept partition begins where the dropped ones end. Several specs: the earliest beginning counts. */
    int64_t end = INT64_MAX, last = INT64_MIN;
    for (int64_t i = 0; i < files->n_data; i++) {
        (void)partition_span(t, &files->data[i].file, &from, &to);
        if (to > cut && from < end) {
            end = from;
        }
    }
    for (int64_t i = 0; i < files->n_data; i++) {
        (void)partition_span(t, &files->data[i].file, &from, &to);
        if (to <= cut && to <= end && to > last) {
            last = to;
        }
    }
    return last;
}

/* ---- the commit ---- */

typedef struct dropping {
    tl_table *t;
    tl_live_files files;
    int64_t *removed;
    int64_t n_removed, cut_us;
    tl_retention_result result;
} dropping;

static void dropping_free(dropping *d) {
    tl_live_files_free(&d->files);
    tl_free(d->removed);
    tl_table_release(d->t);
    *d = (dropping){0};
}

static tl_status choose(dropping *d, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(&d->t->metadata);
    int64_t retention = tl_setting_duration_us(&d->t->metadata, "retention"), from, to;
    d->cut_us = INT64_MIN;
    if (retention < 0 || d->t->contract.time < 0 || !current) {
        return TL_OK;
    }
    TL_TRY(tl_table_files(d->t, current, &d->files, err));
    d->cut_us = tl_retention_cut(d->t, &d->files, retention, tl_env_now_us(d->t->store->env));
    d->removed = tl_alloc_array((size_t)d->files.n_data, sizeof *d->removed);
    int64_t *ends = tl_alloc_array((size_t)d->files.n_data, sizeof *ends);
    tl_status status = d->removed && ends ? TL_OK : tl_fail_memory(err, (size_t)d->files.n_data * sizeof *ends);
    for (int64_t i = 0; status == TL_OK && i < d->files.n_data && d->cut_us > INT64_MIN; i++) {
        const tl_data_file *f = &d->files.data[i].file;
        if (!partition_span(d->t, f, &from, &to) || to > d->cut_us) {
            continue;
        }
        bool known = false;
        for (int64_t k = d->result.partitions; k-- > 0 && !known;) { /* files of a partition stand near each other */
            known = ends[k] == to;
        }
        if (!known) {
            ends[d->result.partitions++] = to;
        }
        d->removed[d->n_removed++] = i;
        d->result.files++;
        d->result.rows += f->record_count;
        d->result.bytes += f->file_size;
    }
    tl_free(ends);
    return status;
}

static tl_status attempt(tl_table *base, bool dry_run, tl_retention_result *result, tl_table **out, tl_error *err) {
    dropping d = {0};
    TL_TRY(tl_table_refresh(base, &d.t, err));
    tl_status status = choose(&d, err);
    if (status == TL_OK && (d.n_removed == 0 || dry_run)) {
        *out = tl_table_retain(d.t);
    } else if (status == TL_OK) {
        const tl_replace_options options = {
            .planned = &d.files, .removed = d.removed, .n_removed = d.n_removed, .cut = true, .cut_us = d.cut_us};
        tl_commit_result committed;
        status = tl_commit_replace(d.t, NULL, &options, &committed, out, err);
    }
    if (status == TL_OK) {
        *result = d.result;
    }
    dropping_free(&d);
    return status;
}

tl_status tl_retention_apply(tl_table *base, bool dry_run, tl_retention_result *result, tl_table **out, tl_error *err) {
    *result = (tl_retention_result){0};
    *out = NULL;
    const tl_env *env = base->store->env;
    for (int n = 1;; n++) {
        tl_status status = attempt(base, dry_run, result, out, err);
        if (status != TL_CONFLICT || n >= ATTEMPTS) {
            return status;
        }
        env->sleep_us(env->ctx, 1000 + (int64_t)tl_env_random_below(env, (uint64_t)n * 5000));
    }
}
