/* Tests of tables: names, create, load, other writers' metadata names, hints, drop, the contract. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/mem.h"
#include "store/faulty.h"
#include "table/settings.h"
#include "table/table.h"

static tl_field plain_fields[] = {
    {.id = 1, .name = "ts", .type = {.id = TL_TYPE_TIMESTAMPTZ}},
    {.id = 2, .name = "series", .type = {.id = TL_TYPE_STRING}},
    {.id = 3, .name = "v", .type = {.id = TL_TYPE_DOUBLE}},
    {.id = 4, .name = "_ingest_ts", .required = true, .type = {.id = TL_TYPE_TIMESTAMPTZ}},
};
static const tl_schema schema = {.n_fields = 4, .fields = plain_fields};
static const char *const key[] = {"series"};

static tl_create_options time_series(void) {
    return (tl_create_options){.schema = &schema,
                               .time_column = "ts",
                               .series_key = key,
                               .n_series_key = 1,
                               .ingest_column = "_ingest_ts",
                               .dedup = -1};
}

static tl_store *open_memory(void) {
    tl_store *s;
    assert_int_equal(tl_store_open("memory://", false, NULL, &s, NULL), TL_OK);
    return s;
}

static void put(tl_store *s, const char *k, const char *text) {
    assert_int_equal(tl_store_put(s, k, tl_bytes_of(text), TL_PUT_LATER, NULL), TL_OK);
}

static char *get(tl_store *s, const char *k) {
    tl_buf b = {0};
    assert_int_equal(tl_store_get(s, k, &b, NULL), TL_OK);
    char *text = tl_buf_take_text(&b);
    assert_non_null(text);
    return text;
}

static tl_table *create(tl_store *s, const char *name, const tl_create_options *o) {
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_create(s, "default", name, o, &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

static tl_table *load(tl_store *s, const char *name) {
    tl_table *t;
    tl_error err = {{0}};
    if (tl_table_load(s, "default", name, &t, &err) != TL_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

static void names_are_namespace_and_table(void **state) {
    (void)state;
    char ns[256], t[256];
    tl_error err;
    assert_int_equal(tl_table_name_parse("readings", "default", ns, t, NULL), TL_OK);
    assert_string_equal(ns, "default");
    assert_int_equal(tl_table_name_parse("iot-1.Readings_2", "default", ns, t, NULL), TL_OK);
    assert_string_equal(ns, "iot-1");
    assert_string_equal(t, "Readings_2");
    const char *bad[] = {"", ".", "a.", ".b", "a.b.c", "a b", "a/b", "..", "\xc3\xbc", "a\n"};
    for (size_t i = 0; i < TL_COUNT(bad); i++) {
        assert_int_equal(tl_table_name_parse(bad[i], "default", ns, t, &err), TL_INVALID);
    }
    char longest[300];
    memset(longest, 'a', sizeof longest);
    longest[256] = '\0';
    assert_int_equal(tl_table_name_parse(longest, "default", ns, t, NULL), TL_INVALID);
    longest[255] = '\0';
    assert_int_equal(tl_table_name_parse(longest, "default", ns, t, NULL), TL_OK);
}

static void a_created_table_has_layout_and_contract(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_create_options o = time_series();
    const tl_property props[] = {{"owner", "me"}, {"COMPACT_MIN_FILES", "4"}, {"timelake.retention", "48h"}};
    o.properties = props;
    o.n_properties = 3;
    o.chunk = "1h";
    tl_table *made = create(s, "r", &o);
    tl_table *t = load(s, "r");
    assert_int_equal(made->version, 1);
    assert_int_equal(t->version, 1);
    assert_string_equal(t->name, "default.r");
    assert_string_equal(t->location, "memory://lake/default/r");
    assert_string_equal(t->metadata.location, "memory://lake/default/r");
    const tl_contract *c = &t->contract;
    assert_int_equal(c->time, 0);
    assert_int_equal(c->ingest, 3);
    assert_int_equal(c->n_series, 1);
    assert_int_equal(c->series[0], 1);
    assert_true(c->dedup);
    assert_false(c->foreign);
    assert_int_equal(c->chunk, TL_TRANSFORM_HOUR);
    assert_int_equal(c->format_minor, 3);
    const tl_metadata *m = &t->metadata;
    assert_int_equal(m->last_column_id, 4);
    assert_int_equal(m->last_partition_id, 1000);
    assert_string_equal(tl_metadata_spec(m)->fields[0].name, "ts_hour");
    assert_int_equal(tl_metadata_sort_order(m)->n_fields, 2);
    assert_int_equal(tl_metadata_sort_order(m)->fields[0].source_id, 2);
    assert_true(tl_metadata_schema(m)->fields[0].required);
    assert_false(tl_metadata_schema(m)->fields[1].required);
    assert_string_equal(tl_metadata_property(m, "owner"), "me");
    assert_string_equal(tl_metadata_property(m, "timelake.retention"), "2d");
    assert_string_equal(tl_metadata_property(m, "timelake.row-group-rows"), "122880");
    assert_string_equal(tl_metadata_property(m, "timelake.compact-min-files"), "4");
    assert_int_equal(tl_setting_int(m, "compact-min-files"), 4);
    assert_int_equal(tl_table_writable(t, NULL), TL_OK);
    tl_live_files files;
    assert_int_equal(tl_table_files(t, NULL, &files, NULL), TL_OK);
    assert_int_equal(files.n_data, 0);
    tl_live_files_free(&files);
    tl_table *again;
    assert_int_equal(tl_table_create(s, "default", "r", &o, &again, NULL), TL_EXISTS);
    char *text = get(s, "default/r/metadata/version-hint.text");
    assert_string_equal(text, "1");
    tl_free(text);
    text = get(s, "timelake-tables.json");
    assert_string_equal(text, "[\n  \"default.r\"\n]");
    tl_free(text);
    tl_table_release(made);
    tl_table_release(t);
    tl_store_close(s);
}

static void a_plain_table_has_no_partition_and_no_order(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_create_options o = {.schema = &schema, .dedup = -1};
    tl_table_release(create(s, "p", &o));
    tl_table *t = load(s, "p");
    assert_int_equal(t->contract.time, -1);
    assert_false(t->contract.dedup);
    assert_int_equal(t->metadata.last_partition_id, 999);
    assert_int_equal(tl_metadata_spec(&t->metadata)->n_fields, 0);
    assert_null(tl_metadata_sort_order(&t->metadata));
    assert_int_equal(tl_table_writable(t, NULL), TL_OK);
    tl_table_release(t);
    tl_store_close(s);
}

static void assert_refused(tl_store *s, tl_create_options o, const char *part) {
    tl_table *t;
    tl_error err = {{0}};
    assert_int_equal(tl_table_create(s, "default", "bad", &o, &t, &err), TL_INVALID);
    if (!strstr(err.message, part)) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
    assert_int_equal(tl_table_load(s, "default", "bad", &t, &err), TL_NOT_FOUND);
    assert_non_null(strstr(err.message, "default.bad"));
}

static void contradictions_at_create_are_refused(void **state) {
    (void)state;
    tl_store *s = open_memory();
    static const char *const none[] = {"nothing"}, *const twice[] = {"series", "series"}, *const time[] = {"ts"};
    tl_create_options o = time_series();
    o.time_column = "tss";
    assert_refused(s, o, "\"tss\" is not a column");
    o.time_column = "v";
    assert_refused(s, o, "must be a timestamp");
    o = time_series();
    o.series_key = none;
    assert_refused(s, o, "\"nothing\"");
    o.series_key = twice;
    o.n_series_key = 2;
    assert_refused(s, o, "twice");
    o.series_key = time;
    o.n_series_key = 1;
    assert_refused(s, o, "is the time column");
    o = time_series();
    o.chunk = "week";
    assert_refused(s, o, "none of hour,day,month");
    o = time_series();
    o.retention = "soon";
    assert_refused(s, o, "timelake.retention: \"soon\" is not a duration");
    o = time_series();
    o.time_column = NULL;
    assert_refused(s, o, "needs a time column");
    o = time_series();
    tl_property p = {"timelake.retenton", "1d"};
    o.properties = &p;
    o.n_properties = 1;
    assert_refused(s, o, "did you mean \"retention\"?");
    p = (tl_property){"format-version", "9"};
    assert_refused(s, o, "managed by Timelake");
    p = (tl_property){"threads", "4"};
    assert_refused(s, o, "only at: session, call");
    tl_field fields[2] = {plain_fields[0], plain_fields[0]};
    tl_schema same = {.n_fields = 2, .fields = fields};
    o = (tl_create_options){.schema = &same, .dedup = -1};
    assert_refused(s, o, "two columns");
    same.n_fields = 0;
    assert_refused(s, o, "at least one column");
    tl_store_close(s);
}

/* A version of the table under a name of choice, made from v1's text; gzip'd where the name says so. */
static void copy_version(tl_store *s, const char *name) {
    char *text = get(s, "default/r/metadata/v1.metadata.json"), to[200];
    (void)snprintf(to, sizeof to, "default/r/metadata/%s", name);
    if (strstr(name, "gz")) {
        static uint8_t packed[20000];
        z_stream z = {
            .next_in = (Bytef *)text, .avail_in = (uInt)strlen(text), .next_out = packed, .avail_out = sizeof packed};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(tl_store_put(s, to, (tl_bytes){packed, z.total_out}, TL_PUT_LATER, NULL), TL_OK);
        (void)deflateEnd(&z);
    } else {
        put(s, to, text);
    }
    tl_free(text);
}

static void the_newest_version_is_found_whatever_the_hint_says(void **state) {
    (void)state;
    const char *hints[] = {
        "1", "3", "7", "9", "10", "99", "0", "-1", "", "garbage", "1e1", "7\n", "99999999999999999999", NULL};
    for (size_t i = 0; i < TL_COUNT(hints); i++) {
        tl_store *s = open_memory();
        tl_create_options o = time_series();
        tl_table *first = create(s, "r", &o);
        for (int v = 2; v <= 10; v++) {
            char name[40];
            (void)snprintf(name, sizeof name, "v%d.metadata.json", v);
            copy_version(s, name);
        }
        put(s, "default/r/metadata/v99x.metadata.json", "x");
        put(s, "default/r/metadata/v098.metadata.json", "x");
        put(s, "default/r/metadata/v98.metadata.jsonx", "x");
        put(s, "default/r/metadata/v97.metadata.json/x", "x");
        for (int v = 1; v <= 4; v++) { /* cleaned away, as expiry does */
            char name[60];
            (void)snprintf(name, sizeof name, "default/r/metadata/v%d.metadata.json", v);
            assert_int_equal(tl_store_remove(s, name, NULL), TL_OK);
        }
        if (hints[i]) {
            put(s, "default/r/metadata/version-hint.text", hints[i]);
        } else {
            assert_int_equal(tl_store_remove(s, "default/r/metadata/version-hint.text", NULL), TL_OK);
        }
        tl_table *t = load(s, "r"), *newer;
        assert_int_equal(t->version, 10);
        assert_int_equal(tl_table_refresh(first, &newer, NULL), TL_OK);
        assert_int_equal(newer->version, 10);
        tl_table_release(newer);
        assert_int_equal(tl_table_refresh(t, &newer, NULL), TL_OK);
        assert_ptr_equal(newer, t);
        tl_table_release(newer);
        tl_table_release(t);
        tl_table_release(first);
        tl_store_close(s);
    }
}

static void names_of_other_writers_are_read_and_not_written(void **state) {
    (void)state;
    const struct {
        const char *name;
        int64_t version;
        bool writable;
    } cases[] = {
        {"v2.gz.metadata.json", 2, false},
        {"v2.metadata.json.gz", 2, false},
        {"00005-1f6e6ab2-5d3f-4f5e-9b7e-0e1c6f6b9f00.metadata.json", 5, false},
        {"00000-abc.gz.metadata.json", 0, false},
        {"v12.metadata.json", 12, true},
    };
    for (size_t i = 0; i < TL_COUNT(cases); i++) {
        tl_store *s = open_memory();
        tl_create_options o = time_series();
        tl_table_release(create(s, "r", &o));
        copy_version(s, cases[i].name);
        if (cases[i].version != 2) { /* else v1 is still the start of the walk */
            assert_int_equal(tl_store_remove(s, "default/r/metadata/v1.metadata.json", NULL), TL_OK);
            assert_int_equal(tl_store_remove(s, "default/r/metadata/version-hint.text", NULL), TL_OK);
        }
        tl_table *t = load(s, "r");
        assert_int_equal(t->version, cases[i].version);
        assert_int_equal(tl_table_writable(t, NULL), cases[i].writable ? TL_OK : TL_UNSUPPORTED);
        tl_table_release(t);
        char **names;
        size_t n;
        assert_int_equal(tl_table_names(s, &names, &n, NULL), TL_OK);
        assert_int_equal(n, 1);
        tl_free(names[0]);
        tl_free(names);
        tl_store_close(s);
    }
}

static void broken_metadata_is_an_error_not_an_older_version(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_create_options o = time_series();
    tl_table_release(create(s, "r", &o));
    put(s, "default/r/metadata/v2.metadata.json", "{\"format-version\":2,");
    tl_table *t;
    tl_error err;
    assert_int_equal(tl_table_load(s, "default", "r", &t, &err), TL_CORRUPT);
    assert_non_null(strstr(err.message, "table default.r: default/r/metadata/v2.metadata.json: "));
    tl_store_close(s);
}

static void an_error_of_the_store_is_not_an_older_version(void **state) {
    (void)state;
    tl_store *s;
    assert_int_equal(tl_faulty_open(open_memory(), &s, NULL), TL_OK);
    tl_create_options o = time_series();
    tl_table *first = create(s, "r", &o), *t;
    copy_version(s, "v2.metadata.json");
    tl_fault_rule rule = {.ops = TL_OP_SIZE, .key_part = "v2.", .fault = TL_FAULT_IO};
    tl_faulty_script(s, &rule, 1);
    assert_int_equal(tl_table_load(s, "default", "r", &t, NULL), TL_IO);
    assert_int_equal(tl_table_refresh(first, &t, NULL), TL_IO);
    tl_table_release(first);
    tl_store_close(s);
}

static void every_store_fault_while_creating_leaves_a_table_or_none(void **state) {
    (void)state;
    const tl_fault faults[] = {TL_FAULT_LOST_AFTER, TL_FAULT_LOST_BEFORE, TL_FAULT_LATE,
                               TL_FAULT_NO_SPACE,   TL_FAULT_IO,          TL_FAULT_NO_MEMORY};
    for (size_t f = 0; f < TL_COUNT(faults); f++) {
        for (uint64_t n = 1;; n++) {
            tl_store *s;
            assert_int_equal(tl_faulty_open(open_memory(), &s, NULL), TL_OK);
            tl_fault_rule rule = {.ops = TL_OP_ANY, .nth = n, .fault = faults[f], .late = 1};
            tl_faulty_script(s, &rule, 1);
            tl_create_options o = time_series();
            tl_table *t = NULL, *back;
            tl_status status = tl_table_create(s, "default", "r", &o, &t, NULL);
            bool struck = tl_faulty_count(s) >= n;
            tl_faulty_script(s, NULL, 0);
            tl_faulty_deliver(s);
            tl_status there = tl_table_load(s, "default", "r", &back, NULL);
            assert_true(status != TL_UNKNOWN);
            assert_int_equal(there, status == TL_OK ? TL_OK : TL_NOT_FOUND);
            tl_table_release(there == TL_OK ? back : NULL);
            tl_table_release(t);
            tl_store_close(s);
            if (!struck) {
                break;
            }
        }
    }
}

static void tables_are_listed_and_dropped(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_create_options o = time_series();
    tl_table_release(create(s, "b", &o));
    tl_table_release(create(s, "a", &o));
    tl_table *t;
    assert_int_equal(tl_table_create(s, "iot", "a", &o, &t, NULL), TL_OK);
    tl_table_release(t);
    put(s, "iot/a/data/ts_day=1/f.parquet", "x");
    put(s, "no table/x/metadata/version-hint.text", "1");
    put(s, "iot/none/data/f", "1");
    put(s, "file", "1");
    char **names;
    size_t n;
    assert_int_equal(tl_table_names(s, &names, &n, NULL), TL_OK);
    assert_int_equal(n, 3);
    assert_string_equal(names[0], "default.a");
    assert_string_equal(names[1], "default.b");
    assert_string_equal(names[2], "iot.a");
    for (size_t i = 0; i < n; i++) {
        tl_free(names[i]);
    }
    tl_free(names);
    assert_int_equal(tl_table_drop(s, "iot", "a", NULL), TL_OK);
    assert_int_equal(tl_table_drop(s, "iot", "a", NULL), TL_OK);
    assert_false(tl_store_exists(s, "iot/a/data/ts_day=1/f.parquet"));
    assert_false(tl_store_exists(s, "iot/a/metadata/v1.metadata.json"));
    assert_int_equal(tl_table_load(s, "iot", "a", &t, NULL), TL_NOT_FOUND);
    char *text = get(s, "timelake-tables.json");
    assert_string_equal(text, "[\n  \"default.a\",\n  \"default.b\"\n]");
    tl_free(text);
    tl_store_close(s);
}

static void a_drop_that_stopped_can_be_repeated(void **state) {
    (void)state;
    for (uint64_t at = 1; at < 8; at++) {
        tl_store *s;
        assert_int_equal(tl_faulty_open(open_memory(), &s, NULL), TL_OK);
        tl_create_options o = time_series();
        tl_table_release(create(s, "r", &o));
        put(s, "default/r/data/a", "x");
        put(s, "default/r/metadata/snap-1.avro", "x");
        tl_fault_rule rule = {.ops = TL_OP_REMOVE, .nth = at, .fault = TL_FAULT_IO};
        tl_faulty_script(s, &rule, 1);
        tl_status status = tl_table_drop(s, "default", "r", NULL);
        assert_int_equal(status, at <= 4 ? TL_IO : TL_OK);
        char **names;
        size_t n;
        assert_int_equal(tl_table_names(s, &names, &n, NULL), TL_OK);
        assert_int_equal(n, at <= 3); /* the fourth is the hint */
        if (n) {
            tl_free(names[0]);
        }
        tl_free(names);
        assert_int_equal(tl_table_drop(s, "default", "r", NULL), TL_OK);
        tl_table *t;
        assert_int_equal(tl_table_load(s, "default", "r", &t, NULL), TL_NOT_FOUND);
        tl_store_close(s);
    }
}

static void a_table_made_anew_is_noticed(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_create_options o = time_series();
    tl_table *t = create(s, "r", &o), *newer;
    assert_int_equal(tl_table_drop(s, "default", "r", NULL), TL_OK);
    assert_int_equal(tl_table_refresh(t, &newer, NULL), TL_NOT_FOUND);
    tl_table_release(t);
    tl_store_close(s);
}

static void a_moved_table_finds_its_files(void **state) {
    (void)state;
    tl_store *s = open_memory();
    tl_create_options o = time_series();
    tl_table_release(create(s, "r", &o));
    char *text = get(s, "default/r/metadata/v1.metadata.json"), *k;
    put(s, "iot/moved/metadata/v1.metadata.json", text);
    tl_free(text);
    tl_table *t;
    assert_int_equal(tl_table_load(s, "iot", "moved", &t, NULL), TL_OK);
    assert_string_equal(t->location, "memory://lake/iot/moved");
    assert_int_equal(tl_table_key(t, "memory://lake/default/r/data/x", &k, NULL), TL_OK);
    assert_string_equal(k, "iot/moved/data/x");
    tl_free(k);
    assert_int_equal(tl_table_key(t, "memory://lake/default/other/data/x", &k, NULL), TL_OK);
    assert_string_equal(k, "default/other/data/x");
    tl_free(k);
    assert_int_equal(tl_table_key(t, "memory://lake/default/r/../../../x", &k, NULL), TL_INVALID);
    tl_table_release(t);
    tl_store_close(s);
}

static void assert_contract(const char *property, const char *value, tl_status want) {
    tl_store *s = open_memory();
    tl_create_options o = time_series();
    tl_table *t = create(s, "r", &o);
    tl_contract c;
    assert_int_equal(tl_metadata_set_property(&t->metadata, property, value, NULL), TL_OK);
    tl_error err = {{0}};
    tl_status status = tl_contract_read(&t->metadata, &c, &err);
    if (status != want) {
        fail_msg("%s=%s: %d %s", property, value ? value : "(none)", status, err.message);
    }
    tl_contract_free(&c);
    tl_table_release(t);
    tl_store_close(s);
}

static void the_contract_is_checked_against_schema_and_version(void **state) {
    (void)state;
    assert_contract("timelake.time-column", "nothing", TL_CORRUPT);
    assert_contract("timelake.time-column", "v", TL_CORRUPT);
    assert_contract("timelake.series-key", "series,nothing", TL_CORRUPT);
    assert_contract("timelake.series-key", "", TL_OK);
    assert_contract("timelake.ingest-time-column", "v", TL_CORRUPT);
    assert_contract("timelake.ingest-time-column", NULL, TL_OK);
    assert_contract("timelake.format-version", "0.3.9", TL_OK);
    assert_contract("timelake.format-version", "2", TL_OK);
    assert_contract("timelake.format-version", NULL, TL_OK);
    assert_contract("timelake.format-version", "0.4.0", TL_OK);
    assert_contract("timelake.format-version", "0.5.0", TL_UNSUPPORTED);
    assert_contract("timelake.format-version", "1.0.0", TL_UNSUPPORTED);
    assert_contract("timelake.format-version", "5", TL_UNSUPPORTED);
    assert_contract("timelake.format-version", "0.3", TL_CORRUPT);
    assert_contract("timelake.format-version", "new", TL_CORRUPT);
    assert_contract("timelake.format-version", "", TL_CORRUPT);
    assert_contract("timelake.format-version", "0.3.0.1", TL_CORRUPT);
    assert_contract("timelake.format-version", "0.99999999999.0", TL_CORRUPT);
}

static void no_failed_allocation_leaks_or_crashes(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        tl_store *s = open_memory();
        tl_create_options o = time_series();
        tl_table *t = NULL, *l = NULL, *r = NULL;
        (void)tl_mem_fail_at(n);
        tl_status made = tl_table_create(s, "default", "r", &o, &t, NULL);
        tl_status loaded = made == TL_OK ? tl_table_load(s, "default", "r", &l, NULL) : TL_NO_MEMORY;
        tl_status fresh = loaded == TL_OK ? tl_table_refresh(l, &r, NULL) : TL_NO_MEMORY;
        uint64_t count = tl_mem_fail_at(0);
        assert_true(made == TL_OK || made == TL_NO_MEMORY);
        assert_true(loaded == TL_OK || loaded == TL_NO_MEMORY);
        assert_true(fresh == TL_OK || fresh == TL_NO_MEMORY);
        tl_table_release(t);
        tl_table_release(l);
        tl_table_release(r);
        tl_store_close(s);
        if (count < n) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_namespace_and_table),
        cmocka_unit_test(a_created_table_has_layout_and_contract),
        cmocka_unit_test(a_plain_table_has_no_partition_and_no_order),
        cmocka_unit_test(contradictions_at_create_are_refused),
        cmocka_unit_test(the_newest_version_is_found_whatever_the_hint_says),
        cmocka_unit_test(names_of_other_writers_are_read_and_not_written),
        cmocka_unit_test(broken_metadata_is_an_error_not_an_older_version),
        cmocka_unit_test(an_error_of_the_store_is_not_an_older_version),
        cmocka_unit_test(every_store_fault_while_creating_leaves_a_table_or_none),
        cmocka_unit_test(tables_are_listed_and_dropped),
        cmocka_unit_test(a_drop_that_stopped_can_be_repeated),
        cmocka_unit_test(a_table_made_anew_is_noticed),
        cmocka_unit_test(a_moved_table_finds_its_files),
        cmocka_unit_test(the_contract_is_checked_against_schema_and_version),
        cmocka_unit_test(no_failed_allocation_leaks_or_crashes),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
