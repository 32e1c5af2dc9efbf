/* Table metadata: forms of all versions, writing, copies, changes, hostile bytes. */
#include <zlib.h>

#include "iceberg/testing_internal.h"

static const char v2_new[] =
    "{\"format-version\":2,\"table-uuid\":\"01a22945-e924-7399-b91b-46094daec514\",\"location\":\"file:///lake/default/"
    "r\","
    "\"last-sequence-number\":0,\"last-updated-ms\":1795988777252,\"last-column-id\":2,\"schemas\":[{\"schema-id\":0,"
    "\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"ts\",\"required\":true,\"type\":\"timestamptz\"},{\"id\":2,"
    "\"name\":"
    "\"v\",\"required\":false,\"type\":\"double\"}]}],\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,"
    "\"fields\":"
    "[{\"source-id\":1,\"field-id\":1000,\"name\":\"ts_day\",\"transform\":\"day\"}]}],\"default-spec-id\":0,"
    "\"last-partition-id\":1000,\"properties\":{\"timelake.time-column\":\"ts\"},\"sort-orders\":[{\"order-id\":1,"
    "\"fields\":"
    "[{\"source-id\":1,\"transform\":\"identity\",\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}],"
    "\"default-sort-order-id\":1,\"refs\":{}}";

static const char v1_old[] =
    "{\"format-version\":1,\"location\":\"/"
    "old\",\"last-updated-ms\":7,\"last-column-id\":1,\"schema\":{\"type\":\"struct\","
    "\"fields\":[{\"id\":1,\"name\":\"d\",\"required\":true,\"type\":\"date\"}]},\"partition-spec\":[{\"source-id\":1,"
    "\"name\":\"d\",\"transform\":\"identity\"},{\"source-id\":1,\"name\":\"m\",\"transform\":\"month\"}],"
    "\"properties\":{},"
    "\"current-snapshot-id\":5,\"snapshots\":[{\"snapshot-id\":5,\"timestamp-ms\":6,\"manifests\":[\"/old/m1.avro\","
    "\"/old/m2.avro\"]}]}";

static const char v3_full[] =
    "{\"format-version\":3,\"table-uuid\":\"u\",\"location\":\"s3://b/"
    "t\",\"last-sequence-number\":4,\"last-updated-ms\":9,"
    "\"last-column-id\":1,\"schemas\":[{\"schema-id\":2,\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\","
    "\"required\":"
    "false,\"type\":\"long\"}],\"identifier-field-ids\":[]}],\"current-schema-id\":2,\"partition-specs\":[{\"spec-id\":"
    "0,"
    "\"fields\":[]}],\"default-spec-id\":0,\"last-partition-id\":999,\"properties\":{},\"current-snapshot-id\":11,"
    "\"snapshot-log\":[{\"snapshot-id\":10,\"timestamp-ms\":8},{\"snapshot-id\":11,\"timestamp-ms\":9}],\"sort-"
    "orders\":"
    "[{\"order-id\":0,\"fields\":[]}],\"default-sort-order-id\":0,\"refs\":{\"main\":{\"snapshot-id\":11,\"type\":"
    "\"branch\"},"
    "\"keep\":{\"snapshot-id\":10,\"type\":\"tag\",\"max-ref-age-ms\":100}},\"snapshots\":[{\"snapshot-id\":10,"
    "\"sequence-number\":3,\"timestamp-ms\":8,\"manifest-list\":\"s3://b/l1\",\"summary\":{\"operation\":\"append\"},"
    "\"schema-id\":2,\"first-row-id\":0,\"added-rows\":5},{\"snapshot-id\":11,\"parent-snapshot-id\":10,\"sequence-"
    "number\":4,"
    "\"timestamp-ms\":9,\"manifest-list\":\"s3://b/l2\",\"summary\":{\"operation\":\"delete\",\"x\":\"\"}}],"
    "\"next-row-id\":5,\"statistics\":[{\"snapshot-id\":10,\"statistics-path\":\"p\"},{\"snapshot-id\":11}],"
    "\"encryption-keys\":[],\"big\":123456789012345678901234567890}";

static tl_metadata parsed(const char *json) {
    tl_metadata m;
    tl_error err = {{0}};
    if (tl_metadata_parse(tl_bytes_of(json), &m, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

static char *written(const tl_metadata *m) {
    tl_buf out = {0};
    tl_error err = {{0}};
    if (tl_metadata_write(m, &out, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return tl_buf_take_text(&out);
}

static void assert_written(const tl_metadata *m, const char *wanted) {
    char *text = written(m);
    assert_string_equal(text, wanted);
    tl_free(text);
}

static void a_new_table_is_written_as_it_was_read(void **state) {
    tl_metadata m = parsed(v2_new);
    assert_int_equal(m.current_snapshot_id, -1);
    assert_null(tl_metadata_current(&m));
    assert_int_equal(tl_metadata_spec(&m)->fields[0].transform, TL_TRANSFORM_DAY);
    assert_true(tl_metadata_sort_order(&m)->fields[0].nulls_first);
    assert_string_equal(tl_metadata_property(&m, "timelake.time-column"), "ts");
    assert_null(tl_metadata_property(&m, "timelake.time"));
    assert_written(&m, v2_new);
    tl_metadata_free(&m);
}

static void v1_forms_become_v2_forms(void **state) {
    tl_metadata m = parsed(v1_old);
    assert_null(m.table_uuid);
    assert_int_equal(m.n_schemas, 1);
    assert_string_equal(tl_metadata_schema(&m)->fields[0].name, "d");
    const tl_partition_spec *spec = tl_metadata_spec(&m);
    assert_int_equal(spec->n_fields, 2);
    assert_int_equal(spec->fields[1].field_id, 1001);
    assert_int_equal(m.last_partition_id, 1001);
    assert_null(tl_metadata_sort_order(&m));
    assert_int_equal(m.n_refs, 1);
    assert_string_equal(m.refs[0].name, "main");
    const tl_snapshot *s = tl_metadata_current(&m);
    assert_null(s->manifest_list);
    assert_int_equal(s->n_manifests, 2);
    assert_string_equal(s->manifests[1], "/old/m2.avro");
    char *text = written(&m);
    tl_metadata back = parsed(text);
    assert_int_equal(back.format_version, 1);
    assert_written(&back, text);
    tl_free(text);
    tl_metadata_free(&back);
    tl_metadata_free(&m);
}

static void unknown_keys_survive_everywhere(void **state) {
    tl_metadata m = parsed(v3_full), copy;
    assert_int_equal(tl_metadata_copy(&m, &copy, NULL), TL_OK);
    tl_metadata_free(&m);
    assert_written(&copy, v3_full);
    tl_metadata_free(&copy);
}

static void gzipped_metadata_is_read_and_bombs_are_not(void **state) {
    tl_buf packed = {0};
    z_stream z = {0};
    size_t len = sizeof v3_full - 1;
    assert_int_equal(tl_buf_reserve(&packed, 2 * len), TL_OK);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)v3_full;
    z.avail_in = (uInt)len;
    z.next_out = packed.data;
    z.avail_out = (uInt)packed.cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed.len = z.total_out;
    deflateEnd(&z);
    tl_metadata m;
    assert_int_equal(tl_metadata_parse(tl_buf_bytes(&packed), &m, NULL), TL_OK);
    assert_written(&m, v3_full);
    tl_metadata_free(&m);
    for (size_t n = 2; n < packed.len; n++) {
        assert_int_equal(tl_metadata_parse((tl_bytes){packed.data, n}, &m, NULL), TL_CORRUPT);
    }
    /* 129 MiB of blanks in 130 kB */
    static char blanks[1 << 20];
    memset(blanks, ' ', sizeof blanks);
    packed.len = 0;
    assert_int_equal(tl_buf_reserve(&packed, 1 << 20), TL_OK);
    memset(&z, 0, sizeof z);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = packed.data;
    z.avail_out = (uInt)packed.cap;
    for (int i = 0; i < 129; i++) {
        z.next_in = (Bytef *)blanks;
        z.avail_in = sizeof blanks;
        assert_int_equal(deflate(&z, i == 128 ? Z_FINISH : Z_NO_FLUSH), i == 128 ? Z_STREAM_END : Z_OK);
    }
    packed.len = z.total_out;
    deflateEnd(&z);
    assert_int_equal(tl_metadata_parse(tl_buf_bytes(&packed), &m, NULL), TL_UNSUPPORTED);
    tl_buf_free(&packed);
}

/* The text with one piece replaced, parsed. */
static tl_status parse_changed(const char *json, const char *from, const char *to, tl_error *err) {
    const char *at = strstr(json, from);
    assert_non_null(at);
    char *text = tl_format("%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
    tl_metadata m;
    tl_status status = tl_metadata_parse(tl_bytes_of(text), &m, err);
    if (status == TL_OK) {
        tl_metadata_free(&m);
    }
    tl_free(text);
    return status;
}

static void errors_name_the_key(void **state) {
    static const struct {
        const char *from, *to;
        tl_status status;
        const char *message;
    } cases[] = {
        {"\"format-version\":3", "\"format-version\":4", TL_UNSUPPORTED,
         "metadata: format version 4 is not one of 1, 2, 3"},
        {"\"format-version\":3", "\"format-version\":0", TL_CORRUPT,
         "metadata: format version 0 is not one of 1, 2, 3"},
        {"\"format-version\":3,", "", TL_CORRUPT, "metadata has no \"format-version\""},
        {"\"table-uuid\":\"u\",", "", TL_CORRUPT, "metadata has no \"table-uuid\""},
        {"\"location\":\"s3://b/t\"", "\"location\":7", TL_CORRUPT, "metadata: \"location\" is not a string"},
        {"\"location\":\"s3://b/t\"", "\"location\":\"a\\u0000b\"", TL_CORRUPT,
         "metadata: \"location\" holds a NUL character"},
        {"\"last-column-id\":1", "\"last-column-id\":3000000000", TL_CORRUPT,
         "metadata: \"last-column-id\" 3000000000 is not a 32-bit integer"},
        {"\"last-updated-ms\":9", "\"last-updated-ms\":9.5", TL_CORRUPT,
         "metadata: \"last-updated-ms\" is not a 64-bit integer"},
        {"\"last-updated-ms\":9", "\"last-updated-ms\":9223372036854775808", TL_CORRUPT,
         "metadata: \"last-updated-ms\" is not a 64-bit integer"},
        {"\"current-schema-id\":2", "\"current-schema-id\":3", TL_CORRUPT,
         "metadata: schema 3, the current one, is not listed"},
        {"\"default-spec-id\":0", "\"default-spec-id\":1", TL_CORRUPT,
         "metadata: partition spec 1, the default one, is not listed"},
        {"\"current-snapshot-id\":11", "\"current-snapshot-id\":10", TL_CORRUPT,
         "metadata: the current snapshot 10 is not that of branch main, 11"},
        {"\"main\":{\"snapshot-id\":11", "\"other\":{\"snapshot-id\":12", TL_OK, ""},
        {"{\"snapshot-id\":11,\"parent", "{\"snapshot-id\":12,\"parent", TL_CORRUPT,
         "metadata: snapshot 11, the current one, is not listed"},
        {"\"timestamp-ms\":8,\"manifest-list\"", "\"manifest-list\"", TL_CORRUPT, "snapshot has no \"timestamp-ms\""},
        {"\"manifest-list\":\"s3://b/l1\",", "", TL_CORRUPT, "snapshot 10 has no \"manifest-list\""},
        {"\"summary\":{\"operation\":\"append\"}", "\"summary\":{\"operation\":1}", TL_CORRUPT,
         "snapshot summary: \"operation\" is not a string"},
        {"\"properties\":{}", "\"properties\":[]", TL_CORRUPT, "\"properties\" is not a JSON object"},
        {"\"snapshots\":[", "\"snapshots\":{},\"was\":[", TL_CORRUPT, "metadata: \"snapshots\" is not a list"},
        {"\"refs\":{", "\"refs\":null,\"was\":{", TL_OK, ""},
        {"\"current-snapshot-id\":11,", "", TL_OK, ""},
        {"\"current-snapshot-id\":11,", "\"current-snapshot-id\":-1,", TL_OK, ""},
    };
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_error err = {{0}};
        assert_int_equal(parse_changed(v3_full, cases[i].from, cases[i].to, &err), cases[i].status);
        assert_string_equal(err.message, cases[i].message);
    }
    tl_metadata m;
    tl_error err;
    assert_int_equal(tl_metadata_parse(tl_bytes_of(""), &m, &err), TL_CORRUPT);
    assert_string_equal(err.message, "metadata is empty");
    assert_int_equal(tl_metadata_parse(tl_bytes_of("[]"), &m, &err), TL_CORRUPT);
    assert_int_equal(tl_metadata_parse(tl_bytes_of("{\"format-version\":2"), &m, &err), TL_CORRUPT);
    assert_int_equal(parse_changed(v2_new, "\"direction\":\"asc\"", "\"direction\":\"up\"", &err), TL_CORRUPT);
    assert_string_equal(err.message, "sort order: \"direction\" is neither asc nor desc");
}

static void properties_are_set_replaced_and_removed(void **state) {
    tl_metadata m = parsed(v2_new);
    assert_int_equal(tl_metadata_set_property(&m, "a", "1", NULL), TL_OK);
    assert_int_equal(tl_metadata_set_property(&m, "b", "2", NULL), TL_OK);
    assert_int_equal(tl_metadata_set_property(&m, "a", "3\n\"", NULL), TL_OK);
    assert_int_equal(tl_metadata_set_property(&m, "timelake.time-column", NULL, NULL), TL_OK);
    assert_int_equal(tl_metadata_set_property(&m, "no such key", NULL, NULL), TL_OK);
    assert_int_equal(m.n_properties, 2);
    char *text = written(&m);
    assert_non_null(strstr(text, "\"properties\":{\"a\":\"3\\n\\\"\",\"b\":\"2\"}"));
    tl_free(text);
    assert_int_equal(tl_metadata_set_property(&m, "bad", "\xc3", NULL), TL_OK);
    tl_buf out = {0};
    tl_error err;
    assert_int_equal(tl_metadata_write(&m, &out, &err), TL_INVALID);
    assert_int_equal(out.len, 0);
    tl_buf_free(&out);
    tl_metadata_free(&m);
}

static tl_snapshot a_snapshot(int64_t id, int64_t sequence, int64_t ms) {
    static tl_property summary[] = {{"operation", "append"}};
    return (tl_snapshot){.snapshot_id = id,
                         .parent_id = -1,
                         .sequence_number = sequence,
                         .timestamp_ms = ms,
                         .manifest_list = "file:///lake/l",
                         .schema_id = 0,
                         .summary = summary,
                         .n_summary = 1};
}

static void a_new_snapshot_becomes_current(void **state) {
    tl_metadata m = parsed(v2_new);
    tl_snapshot s = a_snapshot(100, 1, 50), t = a_snapshot(200, 2, 60);
    t.parent_id = 100;
    assert_int_equal(tl_metadata_add_snapshot(&m, &s, NULL), TL_OK);
    assert_int_equal(tl_metadata_log_previous(&m, "file:///lake/v1", 40, 2, NULL), TL_OK);
    assert_int_equal(tl_metadata_add_snapshot(&m, &t, NULL), TL_OK);
    assert_int_equal(tl_metadata_log_previous(&m, "file:///lake/v2", 50, 2, NULL), TL_OK);
    assert_int_equal(tl_metadata_log_previous(&m, "file:///lake/v3", 60, 2, NULL), TL_OK);
    char *text = written(&m);
    assert_non_null(strstr(text, "\"last-sequence-number\":2,\"last-updated-ms\":60,"));
    assert_non_null(strstr(text,
                           "\"current-snapshot-id\":200,\"snapshot-log\":[{\"snapshot-id\":100,\"timestamp-ms\":50},"
                           "{\"snapshot-id\":200,\"timestamp-ms\":60}],\"metadata-log\":[{\"metadata-file\":"
                           "\"file:///lake/v2\",\"timestamp-ms\":50},{\"metadata-file\":\"file:///lake/v3\","
                           "\"timestamp-ms\":60}]"));
    assert_non_null(
        strstr(text, "\"refs\":{\"main\":{\"snapshot-id\":200,\"type\":\"branch\"}},\"snapshots\":[{\"snapshot-id\":"
                     "100,\"sequence-number\":1,"));
    tl_free(text);
    tl_error err;
    assert_int_equal(tl_metadata_add_snapshot(&m, &t, &err), TL_INVALID); /* the id is taken */
    t = a_snapshot(300, 2, 70);
    assert_int_equal(tl_metadata_add_snapshot(&m, &t, &err), TL_INVALID); /* the number is not new */
    assert_int_equal(m.n_snapshots, 2);
    tl_metadata_free(&m);
    tl_metadata v1 = parsed(v1_old), v3 = parsed(v3_full);
    t = a_snapshot(300, 20, 70);
    assert_int_equal(tl_metadata_add_snapshot(&v1, &t, &err), TL_UNSUPPORTED);
    assert_int_equal(tl_metadata_add_snapshot(&v3, &t, &err), TL_INTERNAL); /* its rows have no ids */
    t.has_rows = true;
    t.first_row_id = 5;
    t.added_rows = 7;
    assert_int_equal(tl_metadata_add_snapshot(&v3, &t, &err), TL_OK);
    assert_int_equal(v3.next_row_id, 12);
    text = written(&v3);
    assert_non_null(strstr(text, "\"schema-id\":0,\"first-row-id\":5,\"added-rows\":7}"));
    assert_non_null(strstr(text, "],\"next-row-id\":12"));
    tl_free(text);
    tl_metadata_free(&v1);
    tl_metadata_free(&v3);
}

static void rollback_keeps_history_and_numbers(void **state) {
    tl_metadata m = parsed(v2_new);
    tl_snapshot s = a_snapshot(100, 1, 50), t = a_snapshot(200, 2, 60);
    assert_int_equal(tl_metadata_add_snapshot(&m, &s, NULL), TL_OK);
    assert_int_equal(tl_metadata_add_snapshot(&m, &t, NULL), TL_OK);
    assert_int_equal(tl_metadata_set_current(&m, 100, 70, NULL), TL_OK);
    assert_int_equal(tl_metadata_set_current(&m, 300, 70, NULL), TL_NOT_FOUND);
    assert_int_equal(m.current_snapshot_id, 100);
    assert_int_equal(m.refs[0].snapshot_id, 100);
    assert_int_equal(m.n_snapshot_log, 3);
    assert_int_equal(m.last_sequence_number, 2);
    assert_int_equal(m.last_updated_ms, 70);
    assert_int_equal(m.n_snapshots, 2);
    tl_metadata_free(&m);
}

static void expired_snapshots_take_their_log_and_statistics_along(void **state) {
    tl_metadata m = parsed(v3_full);
    const int64_t named[] = {10}, both[] = {10, 99};
    tl_error err;
    assert_int_equal(tl_metadata_remove_snapshots(&m, named, 1, &err), TL_INVALID);
    assert_string_equal(err.message, "snapshot 10 cannot be forgotten: tag \"keep\" names it");
    m.n_refs = 1;
    assert_int_equal(tl_metadata_remove_snapshots(&m, both, 2, &err), TL_OK);
    assert_int_equal(m.n_snapshots, 1);
    assert_int_equal(m.n_snapshot_log, 1);
    assert_int_equal(m.snapshot_log[0].snapshot_id, 11);
    assert_non_null(strstr(m.extra_json, "\"statistics\":[{\"snapshot-id\":11}]"));
    assert_int_equal(m.next_row_id, 5);
    tl_metadata_free(&m);
}

/* ---- random metadata ---- */

static void random_history(dice *d, tl_metadata *m, tl_arena *a) {
    int32_t n = below(d, 6);
    m->snapshots = tl_arena_array(a, (size_t)n, sizeof *m->snapshots);
    m->snapshot_log = tl_arena_array(a, (size_t)n, sizeof *m->snapshot_log);
    m->metadata_log = tl_arena_array(a, (size_t)n, sizeof *m->metadata_log);
    m->refs = tl_arena_array(a, (size_t)n + 1, sizeof *m->refs);
    for (int32_t i = 0; i < n; i++) {
        tl_snapshot *s = &m->snapshots[i];
        *s = (tl_snapshot){.snapshot_id = (int64_t)(roll(d) >> 1),
                           .parent_id = chance(d, 50) ? (int64_t)(roll(d) >> 1) : -1,
                           .sequence_number = i + 1,
                           .timestamp_ms = (int64_t)(roll(d) >> 20),
                           .manifest_list = random_text(d, a),
                           .schema_id = chance(d, 50) ? 0 : -1,
                           .n_summary = 1 + below(d, 3)};
        s->summary = tl_arena_array(a, (size_t)s->n_summary, sizeof *s->summary);
        for (int32_t k = 0; k < s->n_summary; k++) {
            s->summary[k] = (tl_property){tl_arena_format(a, "%d%s", k, random_text(d, a)), random_text(d, a)};
        }
        s->extra_json = chance(d, 20) ? "{\"key-id\":3}" : NULL;
        m->snapshot_log[i] = (tl_log_entry){s->timestamp_ms, s->snapshot_id, NULL};
        m->metadata_log[i] = (tl_log_entry){s->timestamp_ms, 0, random_text(d, a)};
        m->refs[i + 1] = (tl_ref){tl_arena_format(a, "%dx%s", i, random_text(d, a)), chance(d, 50) ? "tag" : "branch",
                                  s->snapshot_id, chance(d, 30) ? "{\"min-snapshots-to-keep\":5}" : NULL};
    }
    m->n_snapshots = m->n_snapshot_log = m->n_metadata_log = n;
    m->n_refs = n ? n + 1 : 0;
    m->current_snapshot_id = n ? m->snapshots[below(d, n)].snapshot_id : -1;
    m->refs[0] = (tl_ref){"main", "branch", m->current_snapshot_id, NULL};
}

static tl_metadata random_metadata(dice *d) {
    tl_metadata m = {.format_version = 2, .last_sequence_number = 6, .last_updated_ms = 5, .last_partition_id = 1003};
    tl_arena *a = &m.arena;
    m.table_uuid = random_text(d, a);
    m.location = random_text(d, a);
    m.n_schemas = 1 + below(d, 3);
    m.schemas = tl_arena_array(a, (size_t)m.n_schemas, sizeof *m.schemas);
    for (int32_t i = 0; i < m.n_schemas; i++) {
        m.schemas[i] = random_schema(d, a, i);
    }
    m.current_schema_id = below(d, m.n_schemas);
    m.n_specs = 1;
    m.specs = tl_arena_array(a, 1, sizeof *m.specs);
    m.specs[0].n_fields = below(d, 4);
    m.specs[0].fields = tl_arena_array(a, 4, sizeof *m.specs[0].fields);
    for (int32_t i = 0; i < m.specs[0].n_fields; i++) {
        m.specs[0].fields[i] = (tl_partition_field){.source_id = 1,
                                                    .field_id = 1000 + i,
                                                    .name = random_text(d, a),
                                                    .transform = (tl_transform)below(d, TL_TRANSFORM_UNKNOWN),
                                                    .param = 1 + below(d, 99)};
    }
    m.n_sort_orders = 1;
    m.default_sort_order_id = 1;
    m.sort_orders = tl_arena_array(a, 1, sizeof *m.sort_orders);
    m.sort_orders[0] = (tl_sort_order){1, 1, tl_arena_array(a, 1, sizeof(tl_sort_field))};
    m.sort_orders[0].fields[0] = (tl_sort_field){1, "identity", chance(d, 50), chance(d, 50)};
    m.n_properties = below(d, 5);
    m.properties = tl_arena_array(a, 5, sizeof *m.properties);
    for (int32_t i = 0; i < m.n_properties; i++) {
        m.properties[i] =
            (tl_property){tl_arena_format(a, "%d%s", i, random_text(d, a)), chance(d, 10) ? "" : random_text(d, a)};
    }
    random_history(d, &m, a);
    m.extra_json = chance(d, 30) ? "{\"statistics\":[],\"x\":{\"y\":[1,2.5,null,\"z\"]}}" : NULL;
    return m;
}

static void random_metadata_survive_json_and_copies(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 300; i++) {
        tl_metadata m = random_metadata(&d), copy;
        char *text = written(&m);
        tl_metadata back = parsed(text);
        assert_int_equal(back.n_snapshots, m.n_snapshots);
        assert_int_equal(back.current_snapshot_id, m.current_snapshot_id);
        assert_true(schemas_equal(tl_metadata_schema(&m), tl_metadata_schema(&back)));
        for (int32_t k = 0; k < m.n_properties; k++) {
            assert_string_equal(tl_metadata_property(&back, m.properties[k].key), m.properties[k].value);
        }
        assert_written(&back, text);
        assert_int_equal(tl_metadata_copy(&back, &copy, NULL), TL_OK);
        tl_metadata_free(&back);
        assert_written(&copy, text);
        tl_metadata_free(&copy);
        tl_metadata_free(&m);
        tl_free(text);
    }
}

static void damaged_metadata_never_crash(void **state) {
    dice d = dice_make(__func__);
    for (int i = 0; i < 4000; i++) {
        const char *base = i % 3 == 0 ? v3_full : i % 3 == 1 ? v1_old : v2_new;
        tl_bytes bad = damage(&d, tl_bytes_of(base));
        tl_metadata m;
        tl_error err = {{0}};
        tl_status status = tl_metadata_parse(bad, &m, &err);
        assert_true(status == TL_OK || status == TL_CORRUPT || status == TL_UNSUPPORTED);
        if (status == TL_OK) { /* what was accepted can be written and read again */
            char *text = written(&m);
            tl_metadata back = parsed(text);
            tl_metadata_free(&back);
            tl_free(text);
            tl_metadata_free(&m);
        } else {
            assert_true(err.message[0] != 0);
        }
        tl_free((void *)(uintptr_t)bad.data);
    }
}

static tl_status whole_life(void *ctx, tl_error *err) {
    tl_metadata m, copy;
    tl_buf out = {0};
    tl_snapshot s = a_snapshot(100, 7, 50);
    const int64_t gone[] = {10};
    TL_TRY(tl_metadata_parse(tl_bytes_of(v3_full), &m, err));
    tl_status status = tl_metadata_copy(&m, &copy, err);
    tl_metadata_free(&m);
    TL_TRY(status);
    copy.format_version = 2;
    copy.n_refs = 1;
    status = tl_metadata_set_property(&copy, "k", "v", err);
    status = status == TL_OK ? tl_metadata_add_snapshot(&copy, &s, err) : status;
    status = status == TL_OK ? tl_metadata_log_previous(&copy, "f", 1, 5, err) : status;
    status = status == TL_OK ? tl_metadata_set_current(&copy, 11, 60, err) : status;
    status = status == TL_OK ? tl_metadata_remove_snapshots(&copy, gone, 1, err) : status;
    status = status == TL_OK ? tl_metadata_write(&copy, &out, err) : status;
    tl_buf_free(&out);
    tl_metadata_free(&copy);
    return status;
}

static void failing_allocations_leave_nothing_behind(void **state) {
    every_allocation_fails_once(whole_life, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_table_is_written_as_it_was_read),
        cmocka_unit_test(v1_forms_become_v2_forms),
        cmocka_unit_test(unknown_keys_survive_everywhere),
        cmocka_unit_test(gzipped_metadata_is_read_and_bombs_are_not),
        cmocka_unit_test(errors_name_the_key),
        cmocka_unit_test(properties_are_set_replaced_and_removed),
        cmocka_unit_test(a_new_snapshot_becomes_current),
        cmocka_unit_test(rollback_keeps_history_and_numbers),
        cmocka_unit_test(expired_snapshots_take_their_log_and_statistics_along),
        cmocka_unit_test(random_metadata_survive_json_and_copies),
        cmocka_unit_test(damaged_metadata_never_crash),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
