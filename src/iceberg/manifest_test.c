/* Manifests and manifest lists: round trips, other writers' forms, inheritance, summaries, hostile bytes. */
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "iceberg/avro_internal.h"
#include "iceberg/testing_internal.h"

/* ---- random manifests ---- */

static tl_bytes random_bytes(dice *d, tl_arena *a, size_t len) {
    uint8_t *p = tl_arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++) {
        p[i] = (uint8_t)roll(d);
    }
    return (tl_bytes){p, len};
}

/* A value that a partition field of the type can have. */
static tl_bytes random_value(dice *d, tl_arena *a, const tl_type *t) {
    tl_bytes raw;
    switch (t->id) {
    case TL_TYPE_BOOLEAN:
        raw = random_bytes(d, a, 1);
        return raw.data[0] & 1 ? (tl_bytes){(const uint8_t *)"\x01", 1} : (tl_bytes){(const uint8_t *)"\x00", 1};
    case TL_TYPE_INT:
    case TL_TYPE_DATE:
    case TL_TYPE_FLOAT: return random_bytes(d, a, 4);
    case TL_TYPE_UUID: return random_bytes(d, a, 16);
    case TL_TYPE_FIXED: return random_bytes(d, a, (size_t)t->length);
    case TL_TYPE_DECIMAL: {
        tl_bytes out;
        raw = random_bytes(d, a, (size_t)tl_decimal_bytes(t->precision));
        assert_int_equal(tl_value_decimal(raw, a, &out, NULL), TL_OK);
        return out;
    }
    case TL_TYPE_STRING:
    case TL_TYPE_BINARY: return random_bytes(d, a, (size_t)below(d, 9));
    default: return random_bytes(d, a, 8);
    }
}

typedef struct sample {
    tl_arena arena;
    tl_schema schema;
    tl_partition_spec spec;
    tl_type types[4];
    tl_manifest manifest;
} sample;

static void random_spec(dice *d, sample *s) {
    s->spec.spec_id = below(d, 3);
    s->spec.fields = tl_arena_array(&s->arena, 4, sizeof *s->spec.fields);
    for (int32_t i = 0; i < s->schema.n_fields && s->spec.n_fields < 4; i++) {
        const tl_field *f = &s->schema.fields[i];
        if (tl_type_is_nested(f->type.id) || chance(d, 40)) {
            continue;
        }
        tl_partition_field *p = &s->spec.fields[s->spec.n_fields];
        *p = (tl_partition_field){f->id,
                                  1000 + s->spec.n_fields,
                                  tl_arena_format(&s->arena, "%s %d", f->name, i),
                                  (tl_transform)below(d, TL_TRANSFORM_UNKNOWN),
                                  16,
                                  NULL};
        tl_type *t = &s->types[s->spec.n_fields++];
        bool keeps = p->transform == TL_TRANSFORM_IDENTITY || p->transform == TL_TRANSFORM_TRUNCATE ||
                     p->transform == TL_TRANSFORM_VOID;
        *t = keeps ? f->type : (tl_type){.id = p->transform == TL_TRANSFORM_DAY ? TL_TYPE_DATE : TL_TYPE_INT};
    }
}

static void random_file(dice *d, sample *s, tl_data_file *f) {
    tl_arena *a = &s->arena;
    *f = (tl_data_file){.content = s->manifest.content,
                        .path = random_text(d, a),
                        .format = chance(d, 80) ? "PARQUET" : "PUFFIN",
                        .spec_id = s->spec.spec_id,
                        .n_partition = s->spec.n_fields,
                        .record_count = (int64_t)(roll(d) >> 33),
                        .file_size = (int64_t)(roll(d) >> 1),
                        .sort_order_id = chance(d, 50) ? 1 : -1,
                        .content_offset = -1,
                        .content_size = -1};
    f->partition = tl_arena_array(a, 4, sizeof *f->partition);
    for (int32_t i = 0; i < f->n_partition; i++) {
        f->partition[i].value = chance(d, 20) ? (tl_bytes){0} : random_value(d, a, &s->types[i]);
    }
    f->columns = tl_arena_array(a, 40, sizeof *f->columns);
    for (int32_t id = 1; id < 40; id++) {
        if (chance(d, 20)) {
            tl_column_stats *c = &f->columns[f->n_columns++];
            *c = (tl_column_stats){.field_id = id,
                                   .size = (int64_t)(roll(d) >> 1),
                                   .values = chance(d, 80) ? below(d, 99) : -1,
                                   .nulls = chance(d, 80) ? below(d, 99) : -1,
                                   .nans = chance(d, 50) ? below(d, 99) : -1};
            c->lower = chance(d, 80) ? random_bytes(d, a, (size_t)below(d, 20)) : (tl_bytes){0};
            c->upper = chance(d, 80) ? random_bytes(d, a, (size_t)below(d, 20)) : (tl_bytes){0};
        }
    }
    f->n_split_offsets = below(d, 3);
    f->split_offsets = tl_arena_array(a, 3, sizeof *f->split_offsets);
    f->split_offsets[0] = 4;
    f->split_offsets[1] = (int64_t)(roll(d) >> 1);
    if (f->content != TL_CONTENT_DATA) {
        f->content = chance(d, 50) ? TL_CONTENT_POSITION_DELETES : TL_CONTENT_EQUALITY_DELETES;
        f->n_equality_ids = f->content == TL_CONTENT_EQUALITY_DELETES ? 2 : 0;
        f->equality_ids = tl_arena_array(a, 2, sizeof *f->equality_ids);
        f->equality_ids[1] = 7;
        f->referenced_data_file = chance(d, 50) ? random_text(d, a) : NULL;
        f->content_offset = chance(d, 50) ? below(d, 1000) : -1;
        f->content_size = chance(d, 50) ? below(d, 1000) : -1;
    }
}

static void make_sample(dice *d, sample *s) {
    memset(s, 0, sizeof *s);
    s->schema = random_schema(d, &s->arena, below(d, 4));
    random_spec(d, s);
    tl_manifest *m = &s->manifest;
    m->format_version = 2;
    m->content = chance(d, 60) ? TL_CONTENT_DATA : TL_CONTENT_POSITION_DELETES;
    m->schema_id = s->schema.schema_id;
    m->spec_id = s->spec.spec_id;
    m->n_entries = below(d, 6);
    m->entries = tl_arena_array(&s->arena, 6, sizeof *m->entries);
    for (int64_t i = 0; i < m->n_entries; i++) {
        tl_manifest_entry *e = &m->entries[i];
        e->status = (tl_entry_status)below(d, 3);
        bool old = e->status != TL_ENTRY_ADDED;
        e->snapshot_id = old || chance(d, 50) ? (int64_t)(roll(d) >> 1) : -1;
        e->sequence_number = old || chance(d, 50) ? (int64_t)(roll(d) >> 40) : -1;
        e->file_sequence_number = old ? e->sequence_number : -1;
        random_file(d, s, &e->file);
    }
}

static bool bytes_same(tl_bytes a, tl_bytes b) {
    return (a.data == NULL) == (b.data == NULL) && tl_bytes_equal(a, b);
}

static bool text_same(const char *a, const char *b) {
    return (a == NULL) == (b == NULL) && (!a || strcmp(a, b) == 0);
}

static void assert_files_same(const tl_data_file *a, const tl_data_file *b) {
    assert_int_equal(a->content, b->content);
    assert_string_equal(a->path, b->path);
    assert_string_equal(a->format, b->format);
    assert_int_equal(a->spec_id, b->spec_id);
    assert_int_equal(a->record_count, b->record_count);
    assert_int_equal(a->file_size, b->file_size);
    assert_int_equal(a->sort_order_id, b->sort_order_id);
    assert_true(text_same(a->referenced_data_file, b->referenced_data_file));
    assert_int_equal(a->content_offset, b->content_offset);
    assert_int_equal(a->content_size, b->content_size);
    assert_int_equal(a->n_partition, b->n_partition);
    for (int32_t i = 0; i < a->n_partition; i++) {
        assert_true(bytes_same(a->partition[i].value, b->partition[i].value));
    }
    assert_int_equal(a->n_columns, b->n_columns);
    for (int32_t i = 0; i < a->n_columns; i++) {
        const tl_column_stats *x = &a->columns[i], *y = &b->columns[i];
        assert_int_equal(x->field_id, y->field_id);
        assert_int_equal(x->size, y->size);
        assert_int_equal(x->values, y->values);
        assert_int_equal(x->nulls, y->nulls);
        assert_int_equal(x->nans, y->nans);
        assert_true(bytes_same(x->lower, y->lower) && bytes_same(x->upper, y->upper));
    }
    assert_int_equal(a->n_split_offsets, b->n_split_offsets);
    assert_true(a->n_split_offsets == 0 ||
                memcmp(a->split_offsets, b->split_offsets, (size_t)a->n_split_offsets * 8) == 0);
    assert_int_equal(a->n_equality_ids, b->n_equality_ids);
    assert_true(a->n_equality_ids == 0 || memcmp(a->equality_ids, b->equality_ids, (size_t)a->n_equality_ids * 4) == 0);
}

static void assert_manifests_same(const tl_manifest *a, const tl_manifest *b) {
    assert_int_equal(a->content, b->content);
    assert_int_equal(a->schema_id, b->schema_id);
    assert_int_equal(a->spec_id, b->spec_id);
    assert_int_equal(a->n_entries, b->n_entries);
    for (int64_t i = 0; i < a->n_entries; i++) {
        assert_int_equal(a->entries[i].status, b->entries[i].status);
        assert_int_equal(a->entries[i].snapshot_id, b->entries[i].snapshot_id);
        assert_int_equal(a->entries[i].sequence_number, b->entries[i].sequence_number);
        assert_int_equal(a->entries[i].file_sequence_number, b->entries[i].file_sequence_number);
        assert_files_same(&a->entries[i].file, &b->entries[i].file);
    }
}

static void random_manifests_survive_writing_and_reading(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 400; i++) {
        sample s;
        tl_buf out = {0}, again = {0};
        tl_manifest back;
        tl_error err = {{0}};
        make_sample(&d, &s);
        if (tl_manifest_write(&s.manifest, &s.schema, &s.spec, &out, &err) != TL_OK) {
            fail_msg("%s", err.message);
        }
        if (tl_manifest_parse(tl_buf_bytes(&out), NULL, &s.arena, &back, &err) != TL_OK) {
            fail_msg("%s", err.message);
        }
        assert_int_equal(back.format_version, 2);
        assert_manifests_same(&s.manifest, &back);
        assert_int_equal(tl_manifest_write(&back, &s.schema, &s.spec, &again, &err), TL_OK);
        assert_true(tl_bytes_equal(tl_buf_bytes(&out), tl_buf_bytes(&again)));
        tl_buf_free(&out);
        tl_buf_free(&again);
        tl_arena_free(&s.arena);
    }
}

/* ---- codecs ---- */

static void pack(tl_avro_codec codec, tl_bytes in, tl_buf *out) {
    size_t room = 2 * in.len + 1000, n = room;
    assert_int_equal(tl_buf_reserve(out, room), TL_OK);
    if (codec == TL_AVRO_CODEC_DEFLATE) {
        z_stream z = {0};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (Bytef *)(uintptr_t)in.data;
        z.avail_in = (uInt)in.len;
        z.next_out = out->data;
        z.avail_out = (uInt)room;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        n = z.total_out;
        deflateEnd(&z);
    } else if (codec == TL_AVRO_CODEC_SNAPPY) {
        assert_int_equal(snappy_compress((const char *)in.data, in.len, (char *)out->data, &n), SNAPPY_OK);
        uint32_t sum = (uint32_t)crc32(0, in.data, (uInt)in.len);
        for (int i = 0; i < 4; i++) {
            out->data[n++] = (uint8_t)(sum >> (24 - 8 * i));
        }
    } else if (codec == TL_AVRO_CODEC_ZSTD) {
        n = ZSTD_compress(out->data, room, in.data, in.len, 3);
    } else {
        memcpy(out->data, in.data, in.len);
        n = in.len;
    }
    out->len = n;
}

/* The same file with another codec and, for tests of damage, another block. */
static tl_buf repack(tl_bytes avro, tl_avro_codec codec, const char *name, tl_buf *block) {
    tl_avro_reader r;
    bool more;
    tl_buf out = {0}, packed = {0};
    tl_avro_header_entry header[16];
    uint8_t sync[16];
    assert_int_equal(tl_avro_open(avro, "test", &r, NULL), TL_OK);
    assert_true(r.n_header < 16);
    for (int32_t i = 0; i < r.n_header; i++) {
        header[i] = r.header[i];
        if (strcmp(header[i].key, "avro.codec") == 0) {
            header[i].value = tl_bytes_of(name);
        }
    }
    assert_int_equal(tl_avro_next(&r, &more, NULL), TL_OK);
    assert_true(more);
    tl_bytes plain = {r.cursor.at, (size_t)(r.cursor.end - r.cursor.at)};
    pack(codec, plain, &packed);
    assert_int_equal(tl_avro_put_header(&out, header, (size_t)r.n_header, sync), TL_OK);
    assert_int_equal(tl_avro_put_block(&out, r.left + 1, tl_buf_bytes(block ? block : &packed), sync), TL_OK);
    tl_avro_close(&r);
    tl_buf_free(&packed);
    return out;
}

static sample full_sample(dice *d) {
    sample s;
    do {
        make_sample(d, &s);
        if (s.manifest.n_entries > 1 && s.spec.n_fields > 0) {
            return s;
        }
        tl_arena_free(&s.arena);
    } while (true);
}

static void all_codecs_are_read(void **state) {
    static const char *const names[] = {"null", "deflate", "snappy", "zstandard"};
    dice d = dice_make(__func__);
    sample s = full_sample(&d);
    tl_buf out = {0};
    assert_int_equal(tl_manifest_write(&s.manifest, &s.schema, &s.spec, &out, NULL), TL_OK);
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        tl_manifest back;
        tl_buf file = repack(tl_buf_bytes(&out), (tl_avro_codec)i, names[i], NULL);
        assert_int_equal(tl_manifest_parse(tl_buf_bytes(&file), NULL, &s.arena, &back, NULL), TL_OK);
        assert_manifests_same(&s.manifest, &back);
        for (int k = 0; k < 300; k++) {
            tl_bytes bad = damage(&d, tl_buf_bytes(&file));
            tl_arena a = {0};
            tl_status status = tl_manifest_parse(bad, NULL, &a, &back, NULL);
            assert_true(status == TL_OK || status == TL_CORRUPT || status == TL_UNSUPPORTED);
            tl_arena_free(&a);
            tl_free((void *)(uintptr_t)bad.data);
        }
        tl_buf_free(&file);
    }
    tl_buf strange = repack(tl_buf_bytes(&out), TL_AVRO_CODEC_NULL, "bzip2", NULL);
    tl_manifest back;
    tl_error err;
    assert_int_equal(tl_manifest_parse(tl_buf_bytes(&strange), NULL, &s.arena, &back, &err), TL_UNSUPPORTED);
    assert_string_equal(err.message, "manifest: the Avro codec \"bzip2\" is not read here");
    tl_buf_free(&strange);
    tl_buf_free(&out);
    tl_arena_free(&s.arena);
}

static void compressed_bombs_are_refused(void **state) {
    static const char *const names[] = {"null", "deflate", "snappy", "zstandard"};
    dice d = dice_make(__func__);
    sample s = full_sample(&d);
    tl_buf out = {0}, bomb = {0};
    size_t len = TL_AVRO_MAX_BLOCK + 1;
    uint8_t *zeroes = tl_calloc(1, len);
    assert_int_equal(tl_manifest_write(&s.manifest, &s.schema, &s.spec, &out, NULL), TL_OK);
    for (size_t i = 1; i < TL_COUNT(names); i++) {
        pack((tl_avro_codec)i, (tl_bytes){zeroes, len}, &bomb);
        tl_buf file = repack(tl_buf_bytes(&out), TL_AVRO_CODEC_NULL, names[i], &bomb);
        tl_manifest back;
        assert_int_equal(tl_manifest_parse(tl_buf_bytes(&file), NULL, &s.arena, &back, NULL), TL_UNSUPPORTED);
        tl_buf_free(&file);
        tl_buf_free(&bomb);
    }
    tl_free(zeroes);
    tl_buf_free(&out);
    tl_arena_free(&s.arena);
}

/* ---- other writers' forms ---- */

/* A v1 manifest: no field ids, no content, unions the other way round, fields of its own, lists for maps. */
static const char v1_schema[] =
    "{\"type\":\"record\",\"name\":\"manifest_entry\",\"namespace\":\"x.y\",\"fields\":[{\"name\":\"status\",\"type\":"
    "\"int\"},"
    "{\"name\":\"snapshot_id\",\"type\":[\"long\",\"null\"]},{\"name\":\"data_file\",\"type\":{\"type\":\"record\","
    "\"name\":\"r2\","
    "\"fields\":[{\"name\":\"file_path\",\"type\":\"string\"},{\"name\":\"file_format\",\"type\":\"string\"},"
    "{\"name\":\"partition\",\"type\":{\"type\":\"record\",\"name\":\"r102\",\"fields\":[{\"name\":\"b\",\"type\":["
    "\"null\","
    "\"string\"]},{\"name\":\"d\",\"type\":[\"null\",{\"type\":\"int\",\"logicalType\":\"date\"}]}]}},"
    "{\"name\":\"record_count\",\"type\":\"long\"},{\"name\":\"file_size_in_bytes\",\"type\":\"long\"},"
    "{\"name\":\"block_size_in_bytes\",\"type\":\"long\"},{\"name\":\"own\",\"type\":{\"type\":\"map\",\"values\":"
    "{\"type\":\"fixed\",\"name\":\"f3\",\"size\":3}}},{\"name\":\"value_counts\",\"type\":[\"null\",{\"type\":"
    "\"array\","
    "\"items\":{\"type\":\"record\",\"name\":\"kv\",\"fields\":[{\"name\":\"key\",\"type\":\"int\"},{\"name\":"
    "\"value\","
    "\"type\":\"long\"}]}}]},{\"name\":\"null_value_counts\",\"type\":[\"null\",{\"type\":\"array\",\"items\":\"x.y."
    "kv\"}]}]}}]}";

static tl_buf v1_manifest(void) {
    const tl_avro_header_entry header[] = {
        {"avro.schema", tl_bytes_of(v1_schema)},
        {"partition-spec", tl_bytes_of("[{\"name\":\"d\",\"transform\":\"identity\",\"source-id\":1},"
                                       "{\"name\":\"gone\",\"transform\":\"void\",\"source-id\":3},"
                                       "{\"name\":\"b\",\"transform\":\"identity\",\"source-id\":2}]")},
    };
    tl_buf out = {0}, r = {0};
    uint8_t sync[16];
    assert_int_equal(tl_avro_put_long(&r, 1) | tl_avro_put_long(&r, 0) | tl_avro_put_long(&r, 77),
                     0); /* branch 0 = long */
    assert_int_equal(tl_avro_put_text(&r, "/old/a.parquet") | tl_avro_put_text(&r, "parquet"), 0);
    assert_int_equal(tl_avro_put_branch(&r, true) | tl_avro_put_text(&r, "bee") | tl_avro_put_branch(&r, true) |
                         tl_avro_put_long(&r, -3),
                     0);
    assert_int_equal(tl_avro_put_long(&r, 10) | tl_avro_put_long(&r, 1000) | tl_avro_put_long(&r, 64), 0);
    /* the map in runs of the form with a byte count */
    assert_int_equal(tl_avro_put_long(&r, -1) | tl_avro_put_long(&r, 5) | tl_avro_put_text(&r, "k") |
                         tl_buf_add(&r, "abc", 3) | tl_avro_put_long(&r, 0),
                     0);
    assert_int_equal(
        tl_avro_put_branch(&r, true) | tl_avro_put_long(&r, 2) | tl_avro_put_long(&r, 9) | tl_avro_put_long(&r, 90), 0);
    assert_int_equal(tl_avro_put_long(&r, 4) | tl_avro_put_long(&r, 40) | tl_avro_put_long(&r, 0), 0);
    assert_int_equal(tl_avro_put_branch(&r, true) | tl_avro_put_long(&r, 1) | tl_avro_put_long(&r, 4) |
                         tl_avro_put_long(&r, 1) | tl_avro_put_long(&r, 0),
                     0);
    assert_int_equal(tl_avro_put_header(&out, header, TL_COUNT(header), sync), TL_OK);
    assert_int_equal(tl_avro_put_block(&out, 1, tl_buf_bytes(&r), sync), TL_OK);
    assert_int_equal(tl_avro_put_block(&out, 1, tl_buf_bytes(&r), sync), TL_OK);
    tl_buf_free(&r);
    return out;
}

static void v1_manifests_without_field_ids_are_read(void **state) {
    tl_buf file = v1_manifest();
    tl_arena a = {0};
    tl_manifest m;
    tl_manifest_file listed = {.path = "p", .spec_id = 4, .added_snapshot_id = 5};
    tl_error err = {{0}};
    if (tl_manifest_parse(tl_buf_bytes(&file), &listed, &a, &m, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(m.format_version, 1);
    assert_int_equal(m.n_entries, 2);
    assert_int_equal(m.spec_id, 4);
    const tl_manifest_entry *e = &m.entries[1];
    assert_int_equal(e->snapshot_id, 77);
    assert_int_equal(e->sequence_number, 0);
    assert_string_equal(e->file.format, "PARQUET");
    assert_int_equal(e->file.n_partition, 3);
    const int32_t day = -3;
    assert_true(tl_bytes_equal(e->file.partition[0].value, (tl_bytes){(const uint8_t *)&day, 4}));
    assert_null(e->file.partition[1].value.data);
    assert_true(tl_bytes_equal(e->file.partition[2].value, tl_bytes_of("bee")));
    assert_int_equal(e->file.n_columns, 2);
    assert_int_equal(e->file.columns[0].field_id, 4);
    assert_int_equal(e->file.columns[0].values, 40);
    assert_int_equal(e->file.columns[0].nulls, 1);
    assert_int_equal(e->file.columns[0].nans, -1);
    assert_int_equal(e->file.columns[1].values, 90);
    assert_int_equal(e->file.columns[1].nulls, -1);
    tl_buf_free(&file);
    tl_arena_free(&a);
}

static void damaged_v1_manifests_never_crash(void **state) {
    dice d = dice_make(__func__);
    tl_buf file = v1_manifest();
    for (int i = 0; i < 4000; i++) {
        tl_bytes bad = damage(&d, tl_buf_bytes(&file));
        tl_arena a = {0};
        tl_manifest m;
        tl_error err = {{0}};
        tl_status status = tl_manifest_parse(bad, NULL, &a, &m, &err);
        assert_true(status == TL_OK || ((status == TL_CORRUPT || status == TL_UNSUPPORTED) && err.message[0]));
        assert_true(a.total < 4000000);
        tl_arena_free(&a);
        tl_free((void *)(uintptr_t)bad.data);
    }
    tl_buf_free(&file);
}

/* A file of that schema with one block of `n` records in `data`. */
static tl_status parse_hostile(const char *schema, int64_t n, tl_bytes data, tl_error *err) {
    const tl_avro_header_entry header[] = {{"avro.schema", tl_bytes_of(schema)}, {"format-version", tl_bytes_of("2")}};
    tl_buf out = {0};
    tl_arena a = {0};
    tl_manifest m;
    uint8_t sync[16];
    assert_int_equal(tl_avro_put_header(&out, header, TL_COUNT(header), sync), TL_OK);
    assert_int_equal(tl_avro_put_block(&out, n, data, sync), TL_OK);
    tl_status status = tl_manifest_parse(tl_buf_bytes(&out), NULL, &a, &m, err);
    tl_buf_free(&out);
    tl_arena_free(&a);
    return status;
}

#define ENTRY(fields)                                                                                                  \
    "{\"type\":\"record\",\"name\":\"e\",\"fields\":[" fields                                                          \
    "{\"name\":\"data_file\",\"type\":{\"type\":\"record\",\"name\":\"r2\","                                           \
    "\"fields\":[{\"name\":\"partition\",\"type\":{\"type\":\"record\",\"name\":\"r102\",\"fields\":[]}}]}}]}"

static void values_without_bytes_do_not_run_for_ever(void **state) {
    tl_error err;
    tl_buf nothing = {0};
    /* 2^62 records of no bytes */
    assert_int_equal(parse_hostile(ENTRY(""), INT64_MAX / 2, (tl_bytes){0}, &err), TL_CORRUPT);
    /* an array of 2^60 nulls */
    assert_int_equal(tl_avro_put_long(&nothing, (int64_t)1 << 60), TL_OK);
    assert_int_equal(parse_hostile(ENTRY("{\"name\":\"x\",\"type\":{\"type\":\"array\",\"items\":\"null\"}},"), 1,
                                   tl_buf_bytes(&nothing), &err),
                     TL_CORRUPT);
    assert_string_equal(err.message, "Avro data claim more values than their bytes can hold");
    /* each record holds the one before twice: 2^28 values of no bytes */
    tl_buf schema = {0};
    assert_int_equal(tl_buf_add_text(&schema,
                                     "{\"type\":\"record\",\"name\":\"e\",\"fields\":["
                                     "{\"name\":\"r0\",\"type\":{\"type\":\"record\",\"name\":\"r0\",\"fields\":[]}}"),
                     TL_OK);
    for (int i = 1; i < 29; i++) {
        assert_int_equal(tl_buf_printf(&schema,
                                       ",{\"name\":\"r%d\",\"type\":{\"type\":\"record\",\"name\":\"r%d\",\"fields\":["
                                       "{\"name\":\"a\",\"type\":\"r%d\"},{\"name\":\"b\",\"type\":\"r%d\"}]}}",
                                       i, i, i - 1, i - 1),
                         TL_OK);
    }
    assert_int_equal(
        tl_buf_add_text(&schema, ",{\"name\":\"data_file\",\"type\":{\"type\":\"record\",\"name\":\"f\",\"fields\":["
                                 "{\"name\":\"partition\",\"type\":\"r0\"}]}}]}"),
        TL_OK);
    assert_int_equal(tl_buf_add_byte(&schema, 0), TL_OK);
    assert_int_equal(parse_hostile((const char *)schema.data, 1, (tl_bytes){0}, &err), TL_CORRUPT);
    assert_string_equal(err.message, "Avro data claim more values than their bytes can hold");
    tl_buf_free(&schema);
    tl_buf_free(&nothing);
}

static void strange_schemas_are_refused(void **state) {
    static const char *const schemas[] = {
        "\"int\"",
        "{}",
        "[]",
        "{\"type\":\"record\"}",
        "{\"type\":\"record\",\"name\":\"x\",\"fields\":[]}",
        "{\"type\":\"record\",\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"x\"}]}",
        "{\"type\":\"record\",\"name\":\"x\",\"fields\":[{\"name\":\"data_file\",\"type\":\"int\"}]}",
        "{\"type\":\"record\",\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":[\"null\",[\"null\"]]}]}",
        "{\"type\":\"record\",\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"size\":-1}}]}",
        "{\"type\":{\"type\":{\"type\":{\"type\":\"unknown\"}}}}",
        "not json",
        ""};
    for (size_t i = 0; i < TL_COUNT(schemas); i++) {
        tl_error err = {{0}};
        assert_int_equal(parse_hostile(schemas[i], 0, (tl_bytes){0}, &err), TL_CORRUPT);
        assert_true(err.message[0] != 0);
    }
    tl_buf deep = {0};
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(tl_buf_add_text(&deep, "{\"type\":\"array\",\"items\":"), TL_OK);
    }
    assert_int_equal(tl_buf_add_text(&deep, "\"int\""), TL_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(tl_buf_add_byte(&deep, '}'), TL_OK);
    }
    assert_int_equal(tl_buf_add_byte(&deep, 0), TL_OK);
    tl_error err;
    assert_int_equal(parse_hostile((const char *)deep.data, 0, (tl_bytes){0}, &err), TL_CORRUPT);
    assert_string_equal(err.message, "manifest: the Avro schema is nested too deep");
    tl_buf_free(&deep);
}

/* ---- inheritance and checks ---- */

static const tl_field two_fields[] = {{.id = 1, .name = "ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
                                      {.id = 2, .name = "v", .type = {.id = TL_TYPE_DOUBLE}}};
static const tl_schema two_columns = {.n_fields = 2, .fields = (tl_field *)(uintptr_t)two_fields};
static tl_partition_field day_field[] = {
    {.source_id = 1, .field_id = 1000, .name = "ts_day", .transform = TL_TRANSFORM_DAY, .text = "day"}};
static const tl_partition_spec by_day = {.spec_id = 0, .n_fields = 1, .fields = day_field};

static tl_manifest_entry simple_entry(tl_entry_status status, const char *path, tl_partition_value *day, int64_t rows) {
    return (tl_manifest_entry){.status = status,
                               .snapshot_id = -1,
                               .sequence_number = -1,
                               .file_sequence_number = -1,
                               .file = {.path = path,
                                        .format = "PARQUET",
                                        .partition = day,
                                        .n_partition = 1,
                                        .record_count = rows,
                                        .file_size = 10,
                                        .sort_order_id = 1,
                                        .content_offset = -1,
                                        .content_size = -1}};
}

static void null_numbers_come_from_the_list(void **state) {
    const int32_t value = 20454;
    tl_partition_value day = {{(const uint8_t *)&value, 4}};
    tl_manifest_entry entries[] = {simple_entry(TL_ENTRY_ADDED, "a", &day, 1),
                                   simple_entry(TL_ENTRY_EXISTING, "b", &day, 2)};
    entries[1].snapshot_id = 3;
    entries[1].sequence_number = 4;
    entries[1].file_sequence_number = 5;
    tl_manifest m = {.content = TL_CONTENT_DATA, .entries = entries, .n_entries = 2}, back;
    tl_manifest_file listed = {.path = "m", .sequence_number = 9, .added_snapshot_id = 8};
    tl_buf out = {0};
    tl_arena a = {0};
    tl_error err;
    assert_int_equal(tl_manifest_write(&m, &two_columns, &by_day, &out, &err), TL_OK);
    assert_int_equal(tl_manifest_parse(tl_buf_bytes(&out), &listed, &a, &back, &err), TL_OK);
    assert_int_equal(back.entries[0].snapshot_id, 8);
    assert_int_equal(back.entries[0].sequence_number, 9);
    assert_int_equal(back.entries[0].file_sequence_number, 9);
    assert_int_equal(back.entries[1].snapshot_id, 3);
    assert_int_equal(back.entries[1].sequence_number, 4);
    assert_int_equal(back.entries[1].file_sequence_number, 5);
    listed.content = TL_CONTENT_POSITION_DELETES; /* a list that calls data deletes, or the other way round */
    assert_int_equal(tl_manifest_parse(tl_buf_bytes(&out), &listed, &a, &back, &err), TL_CORRUPT);
    assert_string_equal(err.message, "manifest m: its content is not what the manifest list says");
    tl_buf_free(&out);
    tl_arena_free(&a);
}

static void entries_that_make_no_sense_are_not_written(void **state) {
    const int32_t value = 1;
    const int64_t wide = 1;
    tl_partition_value day = {{(const uint8_t *)&value, 4}}, bad_day = {{(const uint8_t *)&wide, 8}};
    tl_manifest_entry e[1];
    tl_manifest m = {.content = TL_CONTENT_DATA, .entries = e, .n_entries = 1};
    tl_buf out = {0};
    tl_error err;
    e[0] = simple_entry(TL_ENTRY_DELETED, "a", &day, 1);
    assert_int_equal(tl_manifest_write(&m, &two_columns, &by_day, &out, &err), TL_INVALID);
    e[0] = simple_entry(TL_ENTRY_ADDED, "a", &bad_day, 1);
    assert_int_equal(tl_manifest_write(&m, &two_columns, &by_day, &out, &err), TL_INVALID);
    assert_string_equal(err.message, "manifest entry a: a partition value is not of its field's type");
    e[0] = simple_entry(TL_ENTRY_ADDED, "a", &day, 1);
    e[0].file.n_partition = 0;
    assert_int_equal(tl_manifest_write(&m, &two_columns, &by_day, &out, &err), TL_INVALID);
    e[0] = simple_entry(TL_ENTRY_ADDED, "a", &day, 1);
    e[0].file.content = TL_CONTENT_POSITION_DELETES;
    assert_int_equal(tl_manifest_write(&m, &two_columns, &by_day, &out, &err), TL_INVALID);
    tl_partition_field zorder[] = {
        {.source_id = 1, .field_id = 1000, .name = "z", .transform = TL_TRANSFORM_UNKNOWN, .text = "zorder"}};
    tl_partition_spec unknown = {.n_fields = 1, .fields = zorder};
    e[0] = simple_entry(TL_ENTRY_ADDED, "a", &day, 1);
    assert_int_equal(tl_manifest_write(&m, &two_columns, &unknown, &out, &err), TL_UNSUPPORTED);
    assert_string_equal(err.message, "partition field \"z\": transform zorder is not written here");
    assert_int_equal(out.len, 0);
    tl_buf_free(&out);
}

static void the_lists_entry_counts_and_bounds(void **state) {
    const int32_t days[] = {5, -7, 3};
    tl_partition_value values[] = {
        {{(const uint8_t *)&days[0], 4}}, {{(const uint8_t *)&days[1], 4}}, {{(const uint8_t *)&days[2], 4}}, {{0}}};
    tl_manifest_entry e[] = {
        simple_entry(TL_ENTRY_ADDED, "a", &values[0], 10), simple_entry(TL_ENTRY_ADDED, "b", &values[1], 20),
        simple_entry(TL_ENTRY_EXISTING, "c", &values[2], 5), simple_entry(TL_ENTRY_DELETED, "d", &values[3], 7)};
    for (int i = 2; i < 4; i++) {
        e[i].snapshot_id = 1;
        e[i].sequence_number = e[i].file_sequence_number = 6 - 2 * i; /* 2 and 0 */
    }
    tl_manifest m = {.content = TL_CONTENT_DATA, .entries = e, .n_entries = 4};
    tl_arena a = {0};
    tl_manifest_file f;
    assert_int_equal(tl_manifest_describe(&m, &two_columns, &by_day, "file:///m.avro", 1234, 77, 9, &a, &f, NULL),
                     TL_OK);
    assert_int_equal(f.added_files, 2);
    assert_int_equal(f.existing_files, 1);
    assert_int_equal(f.deleted_files, 1);
    assert_int_equal(f.added_rows, 30);
    assert_int_equal(f.existing_rows, 5);
    assert_int_equal(f.deleted_rows, 7);
    assert_int_equal(f.sequence_number, 9);
    assert_int_equal(f.min_sequence_number, 2); /* the deleted entry does not count */
    assert_int_equal(f.n_partitions, 1);
    assert_true(f.partitions[0].contains_null && f.partitions[0].has_contains_nan && !f.partitions[0].contains_nan);
    assert_memory_equal(f.partitions[0].lower.data, &days[1], 4);
    assert_memory_equal(f.partitions[0].upper.data, &days[0], 4);
    tl_arena_free(&a);
}

/* ---- lists ---- */

static tl_manifest_file *random_list(dice *d, tl_arena *a, int64_t *n) {
    *n = below(d, 8);
    tl_manifest_file *list = tl_arena_array(a, 8, sizeof *list);
    for (int64_t i = 0; i < *n; i++) {
        list[i] = (tl_manifest_file){.path = random_text(d, a),
                                     .length = (int64_t)(roll(d) >> 1),
                                     .spec_id = below(d, 3),
                                     .content = chance(d, 50) ? TL_CONTENT_DATA : TL_CONTENT_POSITION_DELETES,
                                     .sequence_number = (int64_t)(roll(d) >> 1),
                                     .min_sequence_number = below(d, 100),
                                     .added_snapshot_id = (int64_t)(roll(d) >> 1),
                                     .added_files = below(d, 9),
                                     .existing_files = below(d, 9),
                                     .deleted_files = below(d, 9),
                                     .added_rows = (int64_t)(roll(d) >> 1),
                                     .existing_rows = below(d, 9),
                                     .deleted_rows = below(d, 9),
                                     .n_partitions = below(d, 3)};
        list[i].partitions = tl_arena_array(a, 3, sizeof *list[i].partitions);
        for (int32_t k = 0; k < list[i].n_partitions; k++) {
            tl_partition_summary *s = &list[i].partitions[k];
            *s = (tl_partition_summary){.contains_null = chance(d, 50), .has_contains_nan = chance(d, 50)};
            s->contains_nan = s->has_contains_nan && chance(d, 50);
            s->lower = chance(d, 70) ? random_bytes(d, a, (size_t)below(d, 9)) : (tl_bytes){0};
            s->upper = chance(d, 70) ? random_bytes(d, a, (size_t)below(d, 9)) : (tl_bytes){0};
        }
    }
    return list;
}

static void assert_lists_same(const tl_manifest_file *x, const tl_manifest_file *y) {
    assert_string_equal(x->path, y->path);
    assert_int_equal(x->length, y->length);
    assert_int_equal(x->spec_id, y->spec_id);
    assert_int_equal(x->content, y->content);
    assert_int_equal(x->sequence_number, y->sequence_number);
    assert_int_equal(x->min_sequence_number, y->min_sequence_number);
    assert_int_equal(x->added_snapshot_id, y->added_snapshot_id);
    assert_int_equal(x->added_files, y->added_files);
    assert_int_equal(x->existing_files, y->existing_files);
    assert_int_equal(x->deleted_files, y->deleted_files);
    assert_int_equal(x->added_rows, y->added_rows);
    assert_int_equal(x->existing_rows, y->existing_rows);
    assert_int_equal(x->deleted_rows, y->deleted_rows);
    assert_int_equal(x->n_partitions, y->n_partitions);
    for (int32_t k = 0; k < x->n_partitions; k++) {
        const tl_partition_summary *s = &x->partitions[k], *t = &y->partitions[k];
        assert_true(s->contains_null == t->contains_null && s->has_contains_nan == t->has_contains_nan &&
                    s->contains_nan == t->contains_nan);
        assert_true(bytes_same(s->lower, t->lower) && bytes_same(s->upper, t->upper));
    }
}

static void random_lists_survive_writing_reading_and_damage(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 400; i++) {
        tl_arena a = {0};
        int64_t n, n_back;
        tl_manifest_file *list = random_list(&d, &a, &n), *back;
        tl_buf out = {0};
        assert_int_equal(tl_manifest_list_write(list, n, 5, i % 2 ? -1 : 4, 9, &out, NULL), TL_OK);
        assert_int_equal(tl_manifest_list_parse(tl_buf_bytes(&out), &a, &back, &n_back, NULL), TL_OK);
        assert_int_equal(n, n_back);
        for (int64_t k = 0; k < n; k++) {
            assert_lists_same(&list[k], &back[k]);
        }
        for (int k = 0; k < 10; k++) {
            tl_bytes bad = damage(&d, tl_buf_bytes(&out));
            tl_arena b = {0};
            tl_status status = tl_manifest_list_parse(bad, &b, &back, &n_back, NULL);
            assert_true(status == TL_OK || status == TL_CORRUPT || status == TL_UNSUPPORTED);
            tl_arena_free(&b);
            tl_free((void *)(uintptr_t)bad.data);
        }
        tl_buf_free(&out);
        tl_arena_free(&a);
    }
}

static void counts_that_are_not_known_are_not_written(void **state) {
    tl_manifest_file f = {.path = "m", .added_files = -1};
    tl_buf out = {0};
    tl_error err;
    assert_int_equal(tl_manifest_list_write(&f, 1, 5, -1, 9, &out, &err), TL_UNSUPPORTED);
    assert_string_equal(err.message, "manifest m: its counts are not in the list that it comes from");
    tl_buf_free(&out);
}

static void a_v1_list_has_unknown_counts(void **state) {
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"manifest_file\",\"fields\":[{\"name\":\"manifest_path\",\"type\":"
        "\"string\",\"field-id\":500},{\"name\":\"manifest_length\",\"type\":\"long\",\"field-id\":501},"
        "{\"name\":\"partition_spec_id\",\"type\":\"int\",\"field-id\":502},{\"name\":\"added_data_files_count\","
        "\"type\":[\"null\",\"int\"]}]}";
    const tl_avro_header_entry header[] = {{"avro.schema", tl_bytes_of(schema)}};
    tl_buf out = {0}, r = {0};
    uint8_t sync[16];
    assert_int_equal(tl_avro_put_text(&r, "/m") | tl_avro_put_long(&r, 9) | tl_avro_put_long(&r, 0) |
                         tl_avro_put_branch(&r, true) | tl_avro_put_long(&r, 3),
                     0);
    assert_int_equal(tl_avro_put_header(&out, header, 1, sync), TL_OK);
    assert_int_equal(tl_avro_put_block(&out, 1, tl_buf_bytes(&r), sync), TL_OK);
    tl_arena a = {0};
    tl_manifest_file *f;
    int64_t n;
    assert_int_equal(tl_manifest_list_parse(tl_buf_bytes(&out), &a, &f, &n, NULL), TL_OK);
    assert_int_equal(n, 1);
    assert_int_equal(f->content, TL_CONTENT_DATA);
    assert_int_equal(f->sequence_number, 0);
    assert_int_equal(f->added_files, 3);
    assert_int_equal(f->existing_files, -1);
    assert_int_equal(f->added_rows, -1);
    assert_int_equal(f->n_partitions, 0);
    tl_buf_free(&out);
    tl_buf_free(&r);
    tl_arena_free(&a);
}

/* ---- failing allocations ---- */

static tl_status whole_life(void *ctx, tl_error *err) {
    sample *s = ctx;
    tl_arena a = {0};
    tl_buf out = {0}, list = {0};
    tl_manifest back;
    tl_manifest_file f, *files;
    int64_t n;
    tl_status status = tl_manifest_write(&s->manifest, &s->schema, &s->spec, &out, err);
    status = status == TL_OK ? tl_manifest_parse(tl_buf_bytes(&out), NULL, &a, &back, err) : status;
    status = status == TL_OK ? tl_manifest_describe(&back, &s->schema, &s->spec, "p", 1, 2, 3, &a, &f, err) : status;
    status = status == TL_OK ? tl_manifest_list_write(&f, 1, 2, -1, 3, &list, err) : status;
    status = status == TL_OK ? tl_manifest_list_parse(tl_buf_bytes(&list), &a, &files, &n, err) : status;
    tl_buf_free(&out);
    tl_buf_free(&list);
    tl_arena_free(&a);
    return status;
}

static tl_status read_only(void *ctx, tl_error *err) {
    tl_arena a = {0};
    tl_manifest back;
    tl_status status = tl_manifest_parse(tl_buf_bytes(ctx), NULL, &a, &back, err);
    tl_arena_free(&a);
    return status;
}

static void failing_allocations_leave_nothing_behind(void **state) {
    static const char *const names[] = {"null", "deflate", "snappy", "zstandard"};
    dice d = dice_make(__func__);
    sample s = full_sample(&d);
    every_allocation_fails_once(whole_life, &s);
    tl_buf out = {0};
    assert_int_equal(tl_manifest_write(&s.manifest, &s.schema, &s.spec, &out, NULL), TL_OK);
    for (size_t i = 1; i < TL_COUNT(names); i++) {
        tl_buf file = repack(tl_buf_bytes(&out), (tl_avro_codec)i, names[i], NULL);
        every_allocation_fails_once(read_only, &file);
        tl_buf_free(&file);
    }
    tl_buf_free(&out);
    tl_arena_free(&s.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_manifests_survive_writing_and_reading),
        cmocka_unit_test(all_codecs_are_read),
        cmocka_unit_test(compressed_bombs_are_refused),
        cmocka_unit_test(v1_manifests_without_field_ids_are_read),
        cmocka_unit_test(damaged_v1_manifests_never_crash),
        cmocka_unit_test(values_without_bytes_do_not_run_for_ever),
        cmocka_unit_test(strange_schemas_are_refused),
        cmocka_unit_test(null_numbers_come_from_the_list),
        cmocka_unit_test(entries_that_make_no_sense_are_not_written),
        cmocka_unit_test(the_lists_entry_counts_and_bounds),
        cmocka_unit_test(random_lists_survive_writing_reading_and_damage),
        cmocka_unit_test(counts_that_are_not_known_are_not_written),
        cmocka_unit_test(a_v1_list_has_unknown_counts),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
