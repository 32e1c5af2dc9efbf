/*
 * Manifests in. Comes in: the bytes of an Avro file of any writer (format v1, v2, v3). Goes out: entries with their
 * data files, statistics gathered per column, partition values in the order of the spec, inherited numbers filled in.
 */
#include <stdlib.h>

#include "base/env.h"
#include "iceberg/avro_internal.h"
#include "iceberg/json_internal.h"
#include "iceberg/manifest.h"

static const tl_avro_name entry_names[] = {
    {"status", 0}, {"snapshot_id", 1}, {"sequence_number", 3}, {"file_sequence_number", 4}, {"data_file", 2}};
static const tl_avro_name file_names[] = {{"content", 134},           {"file_path", 100},
                                          {"file_format", 101},       {"partition", 102},
                                          {"record_count", 103},      {"file_size_in_bytes", 104},
                                          {"column_sizes", 108},      {"value_counts", 109},
                                          {"null_value_counts", 110}, {"nan_value_counts", 137},
                                          {"lower_bounds", 125},      {"upper_bounds", 128},
                                          {"key_metadata", 131},      {"split_offsets", 132},
                                          {"equality_ids", 135},      {"sort_order_id", 140},
                                          {"first_row_id", 142},      {"referenced_data_file", 143},
                                          {"content_offset", 144},    {"content_size_in_bytes", 145}};

enum { STAT_SIZE, STAT_VALUES, STAT_NULLS, STAT_NANS, STAT_LOWER, STAT_UPPER };

/* One key and value of one of the six maps. */
typedef struct stat {
    int32_t field_id, what;
    int64_t number;
    tl_bytes bound;
} stat;

typedef struct reader {
    tl_avro_reader avro;
    tl_avro_cursor *c;
    tl_arena *arena;
    const tl_manifest_file *listed;
    tl_manifest *out;
    tl_partition_spec spec; /* of the header; no fields when there is none */
    bool has_spec;
    const tl_avro_node *partition; /* the record of partition values */
    int32_t *slots;                /* partition record's field i goes to value slots[i]; -1 = nowhere */
    int32_t n_slots;               /* values of an entry */
    tl_buf stats;                  /* of the current entry: stat[] */
    tl_error *err;
    int64_t rows_before; /* v3: rows of the files so far that take their row ids from the manifest */
} reader;

static tl_status corrupt(reader *r, const char *what) {
    return tl_fail(r->err, TL_CORRUPT, "manifest%s%s: %s", r->listed ? " " : "", r->listed ? r->listed->path : "",
                   what);
}

static tl_status keep_bytes(reader *r, tl_bytes in, tl_bytes *out) {
    char *copy = tl_arena_strndup(r->arena, (const char *)in.data, in.len);
    *out = (tl_bytes){(const uint8_t *)copy, in.len};
    return copy ? TL_OK : tl_fail_memory(r->err, in.len);
}

static tl_status keep_text(reader *r, tl_bytes in, const char **out) {
    tl_bytes copy;
    if (in.len && memchr(in.data, 0, in.len)) {
        return corrupt(r, "a text holds a NUL character");
    }
    TL_TRY(keep_bytes(r, in, &copy));
    *out = (const char *)copy.data;
    return TL_OK;
}

static tl_status take_int(reader *r, const tl_avro_node *node, int64_t low, int64_t high, bool *there, int64_t *out) {
    TL_TRY(tl_avro_take_long(r->c, node, there, out));
    if (*there && (*out < low || *out > high)) {
        return corrupt(r, "a number is out of range");
    }
    return TL_OK;
}

static bool equals_any_case(const char *upper, tl_bytes text) {
    if (strlen(upper) != text.len) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != upper[i]) {
            return false;
        }
    }
    return true;
}

/* A text that repeats in every entry is not copied again. */
static tl_status take_format(reader *r, const tl_avro_node *node, const char **out) {
    static const char *const formats[] = {"PARQUET", "AVRO", "ORC", "PUFFIN"};
    tl_bytes text;
    bool there;
    TL_TRY(tl_avro_take_bytes(r->c, node, &there, &text));
    if (!there) {
        return corrupt(r, "a file has no format");
    }
    for (size_t i = 0; i < TL_COUNT(formats); i++) {
        if (equals_any_case(formats[i], text)) {
            *out = formats[i];
            return TL_OK;
        }
    }
    return keep_text(r, text, out);
}

/* ---- partition values ---- */

static tl_status uuid_value(reader *r, tl_bytes text, tl_bytes *out) {
    uint8_t *uuid = tl_arena_alloc(r->arena, 16);
    if (!uuid) {
        return tl_fail_memory(r->err, 16);
    }
    *out = (tl_bytes){uuid, 16};
    return tl_uuid_parse(text, uuid) ? TL_OK : corrupt(r, "a partition value is not a uuid");
}

/* An Avro value in Iceberg's single-value encoding: little-endian numbers, decimals of minimal length, bytes as they
 * are. */
static tl_status take_partition_value(reader *r, const tl_avro_node *node, tl_bytes *out) {
    bool there;
    int64_t number = 0;
    bool flag;
    tl_bytes raw = {0};
    *out = (tl_bytes){0};
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (!there) {
        return TL_OK;
    }
    switch (node->kind) {
    case TL_AVRO_BOOLEAN: {
        TL_TRY(tl_avro_take_bool(r->c, node, &there, &flag));
        uint8_t byte = flag;
        return keep_bytes(r, (tl_bytes){&byte, 1}, out);
    }
    case TL_AVRO_INT:
    case TL_AVRO_LONG:
        TL_TRY(tl_avro_take_long(r->c, node, &there, &number));
        return keep_bytes(r, (tl_bytes){(const uint8_t *)&number, node->kind == TL_AVRO_INT ? 4 : 8}, out);
    case TL_AVRO_FLOAT:
    case TL_AVRO_DOUBLE: {
        tl_avro_node fixed = {.kind = TL_AVRO_FIXED, .size = node->kind == TL_AVRO_FLOAT ? 4 : 8};
        TL_TRY(tl_avro_take_bytes(r->c, &fixed, &there, &raw));
        return keep_bytes(r, raw, out);
    }
    case TL_AVRO_BYTES:
    case TL_AVRO_FIXED:
    case TL_AVRO_STRING:
        TL_TRY(tl_avro_take_bytes(r->c, node, &there, &raw));
        if (node->is_uuid_text) {
            return uuid_value(r, raw, out);
        }
        return node->is_decimal ? tl_value_decimal(raw, r->arena, out, r->err) : keep_bytes(r, raw, out);
    default: return corrupt(r, "a partition value is neither number nor text nor bytes");
    }
}

static tl_status take_partition(reader *r, const tl_avro_node *node, tl_data_file *file) {
    bool there;
    tl_bytes value;
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (!there || node->kind != TL_AVRO_RECORD || node != r->partition) {
        return corrupt(r, "the partition is not a record");
    }
    /* The values cost memory even where they take no bytes of the file. */
    if (r->c->budget < (uint64_t)r->n_slots) {
        return corrupt(r, "it has more partition values than its bytes can hold");
    }
    r->c->budget -= (uint64_t)r->n_slots;
    file->partition = tl_arena_array(r->arena, (size_t)r->n_slots, sizeof *file->partition);
    if (!file->partition) {
        return tl_fail_memory(r->err, 0);
    }
    file->n_partition = r->n_slots;
    for (int32_t i = 0; i < node->n_parts; i++) {
        TL_TRY(take_partition_value(r, node->parts[i].node, &value));
        if (r->slots[i] >= 0) {
            file->partition[r->slots[i]].value = value;
        }
    }
    return TL_OK;
}

/* ---- statistics ---- */

static tl_status add_stat(reader *r, const stat *s) {
    return tl_buf_add(&r->stats, s, sizeof *s) == TL_OK ? TL_OK : tl_fail_memory(r->err, sizeof *s);
}

/* One entry of a map written as an array of records with the fields key and value. */
static tl_status take_stat(reader *r, const tl_avro_node *item, int32_t what) {
    stat s = {.field_id = -1, .what = what};
    bool there, has_key = false, has_value = false;
    int64_t number = 0;
    TL_TRY(tl_avro_take_branch(r->c, &item, &there));
    if (item->kind != TL_AVRO_RECORD) {
        return corrupt(r, "a column statistic is not a record of key and value");
    }
    for (int32_t i = 0; i < item->n_parts; i++) {
        const tl_avro_part *part = &item->parts[i];
        if (strcmp(part->name, "key") == 0) {
            TL_TRY(take_int(r, part->node, INT32_MIN, INT32_MAX, &has_key, &number));
            s.field_id = has_key ? (int32_t)number : -1;
        } else if (strcmp(part->name, "value") == 0 && what >= STAT_LOWER) {
            TL_TRY(tl_avro_take_bytes(r->c, part->node, &has_value, &s.bound));
            TL_TRY(has_value ? keep_bytes(r, s.bound, &s.bound) : TL_OK);
        } else if (strcmp(part->name, "value") == 0) {
            TL_TRY(tl_avro_take_long(r->c, part->node, &has_value, &s.number));
        } else {
            TL_TRY(tl_avro_skip(r->c, part->node));
        }
    }
    if (!has_key || !has_value || (what < STAT_LOWER && s.number < 0)) {
        return TL_OK; /* a negative count says nothing */
    }
    return add_stat(r, &s);
}

static tl_status take_stats(reader *r, const tl_avro_node *node, int32_t what) {
    bool there, more;
    tl_avro_items items;
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (!there) {
        return TL_OK;
    }
    TL_TRY(tl_avro_items_begin(r->c, node, &items));
    for (;;) {
        TL_TRY(tl_avro_items_next(r->c, &items, &more));
        if (!more) {
            return TL_OK;
        }
        TL_TRY(take_stat(r, items.item, what));
    }
}

static int compare_stats(const void *a, const void *b) {
    const stat *x = a, *y = b;
    if (x->field_id != y->field_id) {
        return x->field_id < y->field_id ? -1 : 1;
    }
    return (x->what > y->what) - (x->what < y->what);
}

static void set_stat(tl_column_stats *c, const stat *s) {
    switch (s->what) {
    case STAT_SIZE: c->size = s->number; break;
    case STAT_VALUES: c->values = s->number; break;
    case STAT_NULLS: c->nulls = s->number; break;
    case STAT_NANS: c->nans = s->number; break;
    case STAT_LOWER: c->lower = s->bound; break;
    default: c->upper = s->bound; break;
    }
}

static tl_status gather_stats(reader *r, tl_data_file *file) {
    stat *list = (stat *)(void *)r->stats.data;
    size_t n = r->stats.len / sizeof *list, columns = 0;
    if (n > 1) {
        qsort(list, n, sizeof *list, compare_stats);
    }
    for (size_t i = 0; i < n; i++) {
        columns += i == 0 || list[i].field_id != list[i - 1].field_id;
    }
    file->columns = tl_arena_array(r->arena, columns, sizeof *file->columns);
    if (!file->columns) {
        return tl_fail_memory(r->err, columns * sizeof *file->columns);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i].field_id != list[i - 1].field_id) {
            file->columns[file->n_columns++] =
                (tl_column_stats){.field_id = list[i].field_id, .size = -1, .values = -1, .nulls = -1, .nans = -1};
        }
        set_stat(&file->columns[file->n_columns - 1], &list[i]);
    }
    r->stats.len = 0;
    return TL_OK;
}

/* ---- a data file ---- */

/* A list of integers; `*out` NULL for null. `is_int`: 32 bits. */
static tl_status take_numbers(reader *r, const tl_avro_node *node, bool is_int, void *out, int32_t *n) {
    bool there, more;
    tl_avro_items items;
    tl_buf list = {0};
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (!there) {
        return TL_OK;
    }
    TL_TRY(tl_avro_items_begin(r->c, node, &items));
    tl_status status;
    for (;;) {
        int64_t number = 0;
        status = tl_avro_items_next(r->c, &items, &more);
        if (status != TL_OK || !more) {
            break;
        }
        status =
            take_int(r, items.item, is_int ? INT32_MIN : INT64_MIN, is_int ? INT32_MAX : INT64_MAX, &there, &number);
        if (status == TL_OK && tl_buf_add(&list, &number, is_int ? 4 : 8) != TL_OK) {
            status = tl_fail_memory(r->err, list.len);
        }
        if (status != TL_OK) {
            break;
        }
    }
    if (status == TL_OK) {
        void *copy = tl_arena_copy(r->arena, list.data, list.len);
        memcpy(out, &copy, sizeof copy);
        *n = (int32_t)(list.len / (is_int ? 4 : 8));
        status = copy ? TL_OK : tl_fail_memory(r->err, list.len);
    }
    tl_buf_free(&list);
    return status;
}

static tl_status take_nothing_but_null(reader *r, const tl_avro_node *node) {
    bool there;
    tl_bytes key;
    TL_TRY(tl_avro_take_bytes(r->c, node, &there, &key));
    return there ? tl_fail(r->err, TL_UNSUPPORTED,
                           "manifest: a file is encrypted (key_metadata); such tables are not read")
                 : TL_OK;
}

static tl_status take_size(reader *r, const tl_avro_node *node, int64_t *out) {
    bool there;
    TL_TRY(take_int(r, node, 0, INT64_MAX, &there, out));
    return there ? TL_OK : corrupt(r, "a file has no size or row count");
}

static tl_status take_optional(reader *r, const tl_avro_node *node, int64_t *out) {
    bool there;
    int64_t v = 0;
    TL_TRY(tl_avro_take_long(r->c, node, &there, &v));
    *out = there ? v : -1;
    return TL_OK;
}

static tl_status take_text(reader *r, const tl_avro_node *node, const char **out) {
    bool there;
    tl_bytes text;
    TL_TRY(tl_avro_take_bytes(r->c, node, &there, &text));
    return there ? keep_text(r, text, out) : TL_OK;
}

static tl_status take_small(reader *r, const tl_avro_node *node, int32_t low, int32_t high, int32_t *out) {
    bool there;
    int64_t v = 0;
    TL_TRY(take_int(r, node, low, high, &there, &v));
    *out = there ? (int32_t)v : *out;
    return TL_OK;
}

static tl_status take_first_row(reader *r, const tl_avro_node *node, tl_data_file *f) {
    int64_t v = -1;
    TL_TRY(take_optional(r, node, &v));
    f->has_first_row_id = v >= 0;
    f->first_row_id = v >= 0 ? v : 0;
    return TL_OK;
}

static tl_status take_file_field(reader *r, int32_t field_id, const tl_avro_node *node, tl_data_file *f) {
    int32_t content = 0;
    switch (field_id) {
    case 134:
        TL_TRY(take_small(r, node, 0, 2, &content));
        f->content = (tl_content)content;
        return TL_OK;
    case 100: return take_text(r, node, &f->path);
    case 101: return take_format(r, node, &f->format);
    case 102: return take_partition(r, node, f);
    case 103: return take_size(r, node, &f->record_count);
    case 104: return take_size(r, node, &f->file_size);
    case 108: return take_stats(r, node, STAT_SIZE);
    case 109: return take_stats(r, node, STAT_VALUES);
    case 110: return take_stats(r, node, STAT_NULLS);
    case 137: return take_stats(r, node, STAT_NANS);
    case 125: return take_stats(r, node, STAT_LOWER);
    case 128: return take_stats(r, node, STAT_UPPER);
    case 131: return take_nothing_but_null(r, node);
    case 132: return take_numbers(r, node, false, &f->split_offsets, &f->n_split_offsets);
    case 135: return take_numbers(r, node, true, &f->equality_ids, &f->n_equality_ids);
    case 140: return take_small(r, node, INT32_MIN, INT32_MAX, &f->sort_order_id);
    case 142: return take_first_row(r, node, f);
    case 143: return take_text(r, node, &f->referenced_data_file);
    case 144: return take_optional(r, node, &f->content_offset);
    case 145: return take_optional(r, node, &f->content_size);
    default: return tl_avro_skip(r->c, node);
    }
}

static tl_status take_file(reader *r, const tl_avro_node *node, tl_data_file *f) {
    bool there;
    TL_TRY(tl_avro_take_branch(r->c, &node, &there));
    if (node->kind != TL_AVRO_RECORD) {
        return corrupt(r, "an entry has no data file");
    }
    f->spec_id = r->out->spec_id;
    f->sort_order_id = -1;
    f->content_offset = f->content_size = -1;
    f->record_count = f->file_size = -1;
    for (int32_t i = 0; i < node->n_parts; i++) {
        TL_TRY(take_file_field(r, node->parts[i].field_id, node->parts[i].node, f));
    }
    if (!f->path || !f->format || f->record_count < 0 || f->file_size < 0) {
        return corrupt(r, "a file lacks its path, format, row count or size");
    }
    if ((f->content == TL_CONTENT_DATA) != (r->out->content == TL_CONTENT_DATA)) {
        return corrupt(r, "data files and delete files are mixed");
    }
    return gather_stats(r, f);
}

/* ---- entries ---- */

/* v3: files without a row id of their own are numbered in order from the manifest's (Iceberg spec, row lineage). */
static void inherit_row_id(reader *r, tl_manifest_entry *e) {
    tl_data_file *f = &e->file;
    if (!r->listed->has_first_row_id || f->content != TL_CONTENT_DATA || e->status == TL_ENTRY_DELETED ||
        f->has_first_row_id) {
        return;
    }
    int64_t id;
    f->has_first_row_id = tl_i64_add(r->listed->first_row_id, r->rows_before, &id) &&
                          tl_i64_add(r->rows_before, f->record_count, &r->rows_before);
    f->first_row_id = f->has_first_row_id ? id : 0;
}

/* Null numbers come from the list (Iceberg spec, sequence number inheritance). */
static tl_status inherit(reader *r, tl_manifest_entry *e) {
    if (r->out->format_version == 1) {
        e->sequence_number = e->file_sequence_number = 0;
    }
    if (!r->listed) {
        return TL_OK;
    }
    inherit_row_id(r, e);
    bool may = e->status == TL_ENTRY_ADDED || r->listed->sequence_number == 0;
    e->snapshot_id = e->snapshot_id == -1 ? r->listed->added_snapshot_id : e->snapshot_id;
    e->sequence_number = e->sequence_number == -1 && may ? r->listed->sequence_number : e->sequence_number;
    e->file_sequence_number =
        e->file_sequence_number == -1 && may ? r->listed->sequence_number : e->file_sequence_number;
    return e->sequence_number == -1 ? corrupt(r, "an entry that is not new has no sequence number") : TL_OK;
}

static tl_status take_entry(reader *r, tl_manifest_entry *e) {
    const tl_avro_node *node = r->avro.schema;
    bool has_file = false;
    int32_t status = -1;
    *e = (tl_manifest_entry){.snapshot_id = -1, .sequence_number = -1, .file_sequence_number = -1};
    for (int32_t i = 0; i < node->n_parts; i++) {
        const tl_avro_node *part = node->parts[i].node;
        switch (node->parts[i].field_id) {
        case 0: TL_TRY(take_small(r, part, 0, 2, &status)); break;
        case 1: TL_TRY(take_optional(r, part, &e->snapshot_id)); break;
        case 3: TL_TRY(take_optional(r, part, &e->sequence_number)); break;
        case 4: TL_TRY(take_optional(r, part, &e->file_sequence_number)); break;
        case 2:
            TL_TRY(take_file(r, part, &e->file));
            has_file = true;
            break;
        default: TL_TRY(tl_avro_skip(r->c, part)); break;
        }
    }
    if (status < 0 || !has_file) {
        return corrupt(r, "an entry has no status or no file");
    }
    e->status = (tl_entry_status)status;
    return inherit(r, e);
}

static tl_status take_entries(reader *r) {
    tl_buf entries = {0};
    tl_status status;
    for (;;) {
        bool more;
        tl_manifest_entry e;
        status = tl_avro_next(&r->avro, &more, r->err);
        if (status != TL_OK || !more) {
            break;
        }
        status = take_entry(r, &e);
        if (status == TL_OK && tl_buf_add(&entries, &e, sizeof e) != TL_OK) {
            status = tl_fail_memory(r->err, entries.len);
        }
        if (status != TL_OK) {
            break;
        }
    }
    if (status == TL_OK) {
        r->out->n_entries = (int64_t)(entries.len / sizeof *r->out->entries);
        r->out->entries = tl_arena_copy(r->arena, entries.data, entries.len);
        status = r->out->entries ? TL_OK : tl_fail_memory(r->err, entries.len);
    }
    tl_buf_free(&entries);
    return status;
}

/* ---- the header ---- */

/* A decimal number in the header; `otherwise` when the key is not there. */
static tl_status header_number(reader *r, const char *key, int32_t otherwise, int32_t *out) {
    tl_bytes text = tl_avro_header(&r->avro, key);
    int64_t v = 0;
    if (!text.data) {
        *out = otherwise;
        return TL_OK;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i == 9) {
            return tl_fail(r->err, TL_CORRUPT, "manifest: the header's \"%s\" is not a number", key);
        }
        v = v * 10 + (text.data[i] - '0');
    }
    *out = (int32_t)v;
    return TL_OK;
}

static tl_status read_spec(reader *r) {
    tl_bytes text = tl_avro_header(&r->avro, "partition-spec");
    yyjson_doc *doc;
    if (!text.data || text.len == 0) {
        return TL_OK;
    }
    TL_TRY(tl_json_read(text, "manifest: the partition spec", &doc, r->err));
    yyjson_val *fields = yyjson_doc_get_root(doc);
    if (yyjson_is_obj(fields)) {
        fields = yyjson_obj_get(fields, "fields"); /* some writers put the whole spec there */
    }
    tl_status status = tl_spec_fields_from_json(fields, r->arena, &r->spec, r->err);
    yyjson_doc_free(doc);
    r->has_spec = status == TL_OK;
    return status;
}

static tl_status read_header(reader *r) {
    tl_bytes content = tl_avro_header(&r->avro, "content");
    TL_TRY(header_number(r, "format-version", 1, &r->out->format_version));
    TL_TRY(header_number(r, "schema-id", -1, &r->out->schema_id));
    TL_TRY(header_number(r, "partition-spec-id", r->listed ? r->listed->spec_id : 0, &r->out->spec_id));
    if (r->out->format_version < 1 || r->out->format_version > 3) {
        return tl_fail(r->err, TL_UNSUPPORTED, "manifest: format version %d is not one of 1, 2, 3",
                       r->out->format_version);
    }
    bool deletes = tl_bytes_equal(content, tl_bytes_of("deletes"));
    if (content.data && !deletes && !tl_bytes_equal(content, tl_bytes_of("data"))) {
        return corrupt(r, "its content is neither \"data\" nor \"deletes\"");
    }
    r->out->content = deletes ? TL_CONTENT_POSITION_DELETES : TL_CONTENT_DATA;
    if (r->listed && (r->listed->content != TL_CONTENT_DATA) != deletes) {
        return corrupt(r, "its content is not what the manifest list says");
    }
    return read_spec(r);
}

/* Which value of an entry each field of the partition record is. Without a spec in the header: in order. */
static tl_status map_partition(reader *r) {
    const tl_avro_node *record = r->partition;
    r->n_slots = r->has_spec ? r->spec.n_fields : record->n_parts;
    r->slots = tl_arena_array(r->arena, (size_t)record->n_parts, sizeof *r->slots);
    if (!r->slots) {
        return tl_fail_memory(r->err, 0);
    }
    for (int32_t i = 0; i < record->n_parts; i++) {
        r->slots[i] = r->has_spec ? -1 : i;
        for (int32_t k = 0; k < r->spec.n_fields; k++) {
            const tl_partition_field *f = &r->spec.fields[k];
            const tl_avro_part *part = &record->parts[i];
            if (part->field_id == -1 ? strcmp(part->name, f->name) == 0 : part->field_id == f->field_id) {
                r->slots[i] = k;
            }
        }
    }
    return TL_OK;
}

static tl_status read_schema(reader *r) {
    tl_avro_node *entry = r->avro.schema;
    TL_TRY(tl_avro_give_ids(entry, entry_names, TL_COUNT(entry_names), "manifest", r->err));
    tl_avro_node *file = tl_avro_field(entry, 2);
    TL_TRY(tl_avro_give_ids(file, file_names, TL_COUNT(file_names), "manifest", r->err));
    r->partition = tl_avro_field(file, 102);
    if (!r->partition || r->partition->kind != TL_AVRO_RECORD) {
        return corrupt(r, "its Avro schema has no partition record");
    }
    return map_partition(r);
}

tl_status tl_manifest_parse(tl_bytes avro, const tl_manifest_file *listed, tl_arena *arena, tl_manifest *out,
                            tl_error *err) {
    reader r = {.arena = arena, .listed = listed, .out = out, .err = err};
    *out = (tl_manifest){0};
    TL_TRY(tl_avro_open(avro, "manifest", &r.avro, err));
    r.c = &r.avro.cursor;
    tl_status status = read_header(&r);
    status = status == TL_OK ? read_schema(&r) : status;
    status = status == TL_OK ? take_entries(&r) : status;
    tl_buf_free(&r.stats);
    tl_avro_close(&r.avro);
    if (status != TL_OK) {
        *out = (tl_manifest){0};
    }
    return status;
}
