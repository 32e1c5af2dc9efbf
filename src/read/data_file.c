/* Opening a data file: source, footer, and which column is which field. */
#include <string.h>

#include "iceberg/name_mapping.h"
#include "read/read_internal.h"

static tl_status read_at(void *ctx, uint64_t offset, size_t len, void *out, tl_error *err) {
    return tl_object_reader_read(ctx, offset, len, out, err);
}

tl_status tl_open_file_failed(const tl_open_file *f, tl_status status, tl_error *err) {
    tl_error_prefix(err, "data file %s: ", f->live->file.path);
    return status;
}

/* The first schema element of each top-level column, and whether there are field ids. */
static tl_status find_tops(tl_open_file *f, tl_error *err) {
    const tl_pq_file_meta *m = f->meta;
    f->n_tops = m->schema[0].n_children;
    f->tops = tl_alloc_array((size_t)f->n_tops, sizeof *f->tops);
    f->top_ids = tl_alloc_array((size_t)f->n_tops, sizeof *f->top_ids);
    if (!f->tops || !f->top_ids) {
        return tl_fail_memory(err, (size_t)f->n_tops * sizeof *f->tops);
    }
    int32_t e = 1;
    for (int32_t t = 0; t < f->n_tops; t++) {
        f->tops[t] = e;
        f->top_ids[t] = m->schema[e].field_id;
        f->has_ids = f->has_ids || m->schema[e].field_id >= 0;
        for (int64_t open = 1; open > 0; e++) {
            if (e >= m->n_schema) {
                return tl_fail(err, TL_CORRUPT, "the schema tree does not add up");
            }
            open += (int64_t)m->schema[e].n_children - 1;
        }
    }
    return TL_OK;
}

/* Files that were not written for the table carry no ids; its name mapping has them, else names decide. */
static tl_status map_names(tl_table *table, tl_open_file *f, tl_error *err) {
    const char **names = tl_alloc_array((size_t)f->n_tops, sizeof *names);
    if (!names) {
        return tl_fail_memory(err, (size_t)f->n_tops * sizeof *names);
    }
    for (int32_t t = 0; t < f->n_tops; t++) {
        names[t] = f->meta->schema[f->tops[t]].name;
    }
    tl_status status = tl_name_mapping_ids(&table->metadata, names, f->n_tops, f->top_ids, err);
    tl_free((void *)(uintptr_t)names);
    return status;
}

/* How much to read at the end of a file: the footer is about as long as it has column chunks. One read less is worth
 * more than some bytes too many. */
static size_t tail_of(const tl_data_file *f) {
    size_t groups = f->n_split_offsets > 0 ? (size_t)f->n_split_offsets : 1;
    size_t tail = 512 + 192 * groups * (size_t)(f->n_columns > 0 ? f->n_columns : 16);
    return tail < ((size_t)64 << 10) ? tail : (size_t)64 << 10;
}

static tl_status open_parquet(tl_table *table, tl_open_file *f, uint64_t size, tl_key_scratch *scratch, tl_error *err) {
    if (size != (uint64_t)f->live->file.file_size) {
        return tl_fail(err, TL_CORRUPT, "it has %llu bytes, the table's metadata say %lld: cut short or changed",
                       (unsigned long long)size, (long long)f->live->file.file_size);
    }
    tl_pq_source source = {read_at, f->object, size, NULL};
    tl_pq_read_options options = {.tail = tail_of(&f->live->file), .codec = scratch ? &scratch->codec : NULL};
    TL_TRY(tl_pq_reader_open(source, &options, &f->parquet, err));
    f->meta = tl_pq_reader_meta(f->parquet);
    f->leaves = tl_pq_reader_leaves(f->parquet, &f->n_leaves);
    if (f->meta->n_rows != f->live->file.record_count) {
        return tl_fail(err, TL_CORRUPT, "it has %lld rows, the table's metadata say %lld", (long long)f->meta->n_rows,
                       (long long)f->live->file.record_count);
    }
    TL_TRY(find_tops(f, err));
    return f->has_ids ? TL_OK : map_names(table, f, err);
}

tl_status tl_open_file_open(tl_table *table, const tl_live_file *live, tl_open_file *out, tl_error *err) {
    return tl_open_file_with(table, live, NULL, out, err);
}

tl_status tl_open_file_with(tl_table *table, const tl_live_file *live, tl_key_scratch *scratch, tl_open_file *out,
                            tl_error *err) {
    *out = (tl_open_file){.live = live};
    if (strcmp(live->file.format, "PARQUET") != 0 && strcmp(live->file.format, "parquet") != 0) {
        return tl_open_file_failed(
            out, tl_fail(err, TL_UNSUPPORTED, "its format is %s, only Parquet is read", live->file.format), err);
    }
    uint64_t size = 0;
    tl_status status = tl_object_reader_open(table->store, live->key, &out->object, &size, err);
    if (status == TL_OK) {
        status = open_parquet(table, out, size, scratch, err);
    }
    if (status != TL_OK) {
        (void)tl_open_file_failed(out, status, err);
        tl_open_file_close(out);
    }
    return status;
}

void tl_open_file_close(tl_open_file *f) {
    tl_pq_reader_free(f->parquet);
    tl_object_reader_close(f->object);
    tl_free(f->tops);
    tl_free(f->top_ids);
    *f = (tl_open_file){0};
}

int32_t tl_open_file_top(const tl_open_file *f, const tl_field *field) {
    for (int32_t t = 0; t < f->n_tops; t++) {
        if (f->top_ids[t] >= 0 ? f->top_ids[t] == field->id
                               : !f->has_ids && strcmp(f->meta->schema[f->tops[t]].name, field->name) == 0) {
            return t;
        }
    }
    return -1;
}

int32_t tl_open_file_leaf(const tl_open_file *f, const tl_field *field) {
    int32_t top = tl_open_file_top(f, field);
    for (int32_t i = 0; top >= 0 && i < f->n_leaves; i++) {
        if (f->leaves[i].top == top) {
            return f->leaves[i].element == f->tops[top] && f->leaves[i].max_rep == 0 ? i : -1;
        }
    }
    return -1;
}

/* ---- names for a reader that cannot find columns without ids ---- */

static tl_status names_in(tl_plan *plan, tl_plan_file *file, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&plan->table->metadata);
    tl_open_file f;
    TL_TRY(tl_open_file_open(plan->table, file->file, &f, err));
    tl_status status = TL_OK;
    if (!f.has_ids) {
        const char **names = tl_arena_array(&plan->arena, (size_t)schema->n_fields, sizeof *names);
        status = names ? TL_OK : tl_fail_memory(err, (size_t)schema->n_fields * sizeof *names);
        for (int32_t i = 0; status == TL_OK && i < schema->n_fields; i++) {
            int32_t top = tl_open_file_top(&f, &schema->fields[i]);
            names[i] = top < 0 ? NULL : tl_arena_strdup(&plan->arena, f.meta->schema[f.tops[top]].name);
            status = top < 0 || names[i] ? TL_OK : tl_fail_memory(err, 64);
        }
        file->names = names;
    }
    tl_open_file_close(&f);
    return status;
}

tl_status tl_plan_find_names(tl_plan *plan, tl_error *err) {
    bool added = plan->table->contract.foreign || tl_metadata_property(&plan->table->metadata, TL_NAME_MAPPING);
    for (int64_t i = 0; added && i < plan->n_scan; i++) {
        TL_TRY(names_in(plan, &plan->scan[i], err));
    }
    return TL_OK;
}
