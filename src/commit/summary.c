/* The snapshot summary: operation, extra keys, what was added, the totals (spec a.5). */
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "commit/commit_internal.h"

typedef struct totals {
    int64_t files, rows, bytes, delete_files, position_deletes, equality_deletes;
} totals;

static bool read_total(const tl_snapshot *s, const char *key, int64_t *out) {
    const char *text = tl_snapshot_summary(s, key);
    return text && tl_parse_i64(tl_bytes_of(text), out) == TL_PARSE_OK && *out >= 0;
}

/* Counted from the manifests, for bases whose writers left the totals out. */
static tl_status count_files(tl_table *base, const tl_snapshot *s, totals *out, tl_error *err) {
    tl_live_files files;
    TL_TRY(tl_table_files(base, s, &files, err));
    *out = (totals){.files = files.n_data, .delete_files = files.n_deletes};
    for (int64_t i = 0; i < files.n_data; i++) {
        out->rows += files.data[i].file.record_count;
        out->bytes += files.data[i].file.file_size;
    }
    for (int64_t i = 0; i < files.n_deletes; i++) {
        const tl_data_file *f = &files.deletes[i].file;
        *(f->content == TL_CONTENT_EQUALITY_DELETES ? &out->equality_deletes : &out->position_deletes) +=
            f->record_count;
    }
    tl_live_files_free(&files);
    return TL_OK;
}

/* What the manifest list says of files and rows must agree with totals that are carried on; -1 = it does not say. */
static void listed(const tl_manifest_file *list, int64_t n, int64_t *files, int64_t *rows) {
    *files = *rows = 0;
    for (int64_t i = 0; i < n; i++) {
        if (list[i].content != TL_CONTENT_DATA) {
            continue;
        }
        if (list[i].added_files < 0 || list[i].existing_files < 0 || list[i].added_rows < 0 ||
            list[i].existing_rows < 0) {
            *files = *rows = -1;
            return;
        }
        *files += (int64_t)list[i].added_files + list[i].existing_files;
        *rows += list[i].added_rows + list[i].existing_rows;
    }
}

static tl_status base_totals(tl_table *base, const tl_commit_change *change, const tl_manifest_file *carried, int64_t n,
                             totals *out, tl_error *err) {
    *out = (totals){0};
    const tl_snapshot *s = tl_metadata_current(&base->metadata);
    if (!s) {
        return TL_OK;
    }
    int64_t files, rows;
    listed(carried, n, &files, &rows);
    bool told = read_total(s, "total-data-files", &out->files) && read_total(s, "total-records", &out->rows) &&
                read_total(s, "total-files-size", &out->bytes) &&
                (files < 0 || (files == out->files && rows == out->rows));
    bool deletes = read_total(s, "total-delete-files", &out->delete_files);
    deletes = read_total(s, "total-position-deletes", &out->position_deletes) && deletes;
    deletes = read_total(s, "total-equality-deletes", &out->equality_deletes) && deletes;
    bool none = change->removed_delete_files == 0; /* else their manifests are not among those carried */
    for (int64_t i = 0; i < n; i++) {
        none = none && carried[i].content == TL_CONTENT_DATA;
    }
    if (none) {
        out->delete_files = out->position_deletes = out->equality_deletes = 0;
    }
    return told && (deletes || none) ? TL_OK : count_files(base, s, out, err);
}

typedef struct writing {
    tl_arena *arena;
    tl_property *list;
    int32_t n;
    bool ok;
} writing;

static void add(writing *w, const char *key, const char *value) {
    const char *k = tl_arena_strdup(w->arena, key), *v = tl_arena_strdup(w->arena, value);
    w->ok = w->ok && k && v;
    w->list[w->n++] = (tl_property){k, v};
}

static void add_number(writing *w, const char *key, int64_t value, bool always) {
    char text[TL_NUM_TEXT];
    if (value != 0 || always) {
        (void)tl_print_i64(value, text);
        add(w, key, text);
    }
}

/* Compaction and retention make no copies. */
static bool keeps_one_copy(const tl_table *base, const tl_commit_change *change) {
    const tl_snapshot *s = tl_metadata_current(&base->metadata);
    bool same_rows = strcmp(change->operation, "replace") == 0 || strcmp(change->operation, "delete") == 0;
    return s && same_rows && tl_snapshot_has_one_copy(s);
}

tl_status tl_commit_summary(tl_table *base, const tl_commit_change *change, const tl_manifest_file *carried,
                            int64_t n_carried, tl_arena *arena, tl_property **out, int32_t *n, tl_error *err) {
    totals t;
    TL_TRY(base_totals(base, change, carried, n_carried, &t, err));
    writing w = {arena, tl_arena_array(arena, (size_t)change->n_extra + 28, sizeof **out), 0, true};
    if (!w.list) {
        return tl_fail_memory(err, 24 * sizeof **out);
    }
    add(&w, "operation", change->operation);
    for (int32_t i = 0; i < change->n_extra; i++) {
        if (change->extra[i].value) {
            add(&w, change->extra[i].key, change->extra[i].value);
        }
    }
    if (change->one_copy || keeps_one_copy(base, change)) {
        add(&w, TL_ONE_COPY_SUMMARY, "true");
    }
    add_number(&w, "added-data-files", change->added_files, false);
    add_number(&w, "added-records", change->added_rows, false);
    add_number(&w, "added-files-size", change->added_bytes, false);
    add_number(&w, "deleted-data-files", change->deleted_files, false);
    add_number(&w, "deleted-records", change->deleted_rows, false);
    add_number(&w, "removed-files-size", change->deleted_bytes, false);
    add_number(&w, "added-delete-files", change->added_delete_files, false);
    add_number(&w, "added-position-delete-files", change->added_delete_files - change->added_vectors, false);
    add_number(&w, "added-dvs", change->added_vectors, false);
    add_number(&w, "added-position-deletes", change->added_position_deletes, false);
    add_number(&w, "removed-delete-files", change->removed_delete_files, false);
    add_number(&w, "removed-position-delete-files", change->removed_delete_files - change->removed_vectors, false);
    add_number(&w, "removed-dvs", change->removed_vectors, false);
    add_number(&w, "removed-position-deletes", change->removed_position_deletes, false);
    add_number(&w, "total-data-files", t.files + change->added_files - change->deleted_files, true);
    add_number(&w, "total-records", t.rows + change->added_rows - change->deleted_rows, true);
    add_number(&w, "total-files-size", t.bytes + change->added_bytes - change->deleted_bytes, true);
    add_number(&w, "total-delete-files", t.delete_files + change->added_delete_files - change->removed_delete_files,
               true);
    add_number(&w, "total-position-deletes",
               t.position_deletes + change->added_position_deletes - change->removed_position_deletes, true);
    add_number(&w, "total-equality-deletes", t.equality_deletes, true);
    *out = w.list;
    *n = w.n;
    return w.ok ? TL_OK : tl_fail_memory(err, 24 * sizeof **out);
}
