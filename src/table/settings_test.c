/* Tests of settings: names, kinds, canonical forms, levels, messages, values in force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "table/settings.h"

static void assert_canonical(const char *name, const char *value, const char *want) {
    const tl_setting *s;
    char *canonical;
    tl_error err = {{0}};
    tl_status status = tl_setting_check(
        name, value, TL_LEVEL_CREATE | TL_LEVEL_TABLE | TL_LEVEL_SESSION | TL_LEVEL_CALL, &s, &canonical, &err);
    if (!want) {
        assert_int_equal(status, TL_INVALID);
        assert_null(canonical);
        return;
    }
    if (status != TL_OK) {
        fail_msg("%s=%s: %s", name, value, err.message);
    }
    assert_string_equal(canonical, want);
    tl_free(canonical);
}

static void names_are_found_in_every_spelling(void **state) {
    (void)state;
    const char *names[] = {"retention", "RETENTION", "timelake.retention", "Timelake.Retention"};
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        assert_string_equal(tl_setting_find(names[i])->name, "retention");
    }
    assert_string_equal(tl_setting_find("timelake.READ_dedup")->name, "read-dedup");
    assert_null(tl_setting_find("timelake."));
    assert_null(tl_setting_find(""));
    assert_null(tl_setting_find("read dedup"));
    assert_null(tl_setting_find("a-name-that-is-much-longer-than-any-setting-could-ever-be-expected-to-be"));
}

static void values_are_checked_and_made_canonical(void **state) {
    (void)state;
    assert_canonical("dedup", "TRUE", "true");
    assert_canonical("dedup", "yes", NULL);
    assert_canonical("compact-min-files", "08", "8");
    assert_canonical("compact-min-files", "1", NULL);
    assert_canonical("compact-min-files", "-8", NULL);
    assert_canonical("compact-min-files", "8.0", NULL);
    assert_canonical("compact-min-files", "99999999999999999999", NULL);
    assert_canonical("memory-limit", "512MiB", "536870912");
    assert_canonical("memory-limit", "1GB", "1000000000");
    assert_canonical("memory-limit", "2 g", "2147483648");
    assert_canonical("memory-limit", "12", NULL);
    assert_canonical("memory-limit", "9999999999 tib", NULL);
    assert_canonical("retention", "2y", "730d");
    assert_canonical("retention", "36h", "36h");
    assert_canonical("retention", "48 hours", "2d");
    assert_canonical("retention", "90m", "90m");
    assert_canonical("retention", "61s", "61s");
    assert_canonical("retention", "1 week", "7d");
    assert_canonical("retention", "1.5h", NULL);
    assert_canonical("retention", "off", NULL);
    assert_canonical("retention", "1h30m", NULL);
    assert_canonical("retention", "300000000000y", NULL);
    assert_canonical("retention", "", NULL);
    assert_canonical("compact-cold-after", "OFF", "off");
    assert_canonical("chunk-interval", "1 Day", "day");
    assert_canonical("chunk-interval", "24h", "day");
    assert_canonical("chunk-interval", "1h", "hour");
    assert_canonical("chunk-interval", "Month", "month");
    assert_canonical("chunk-interval", "mon", NULL);
    assert_canonical("chunk-interval", "hour,day", NULL);
    assert_canonical("series-key", " a , b c ", "a,b c");
    assert_canonical("series-key", "a,,b", NULL);
    assert_canonical("series-key", "", NULL);
    assert_canonical("time-column", "two words", "two words");
    assert_canonical("keep-snapshots-until", "1795989148584", "1795989148584");
    assert_canonical("read-dedup-strategy", "Keys-First", "keys-first");
}

static void assert_message(const char *name, const char *value, unsigned level, const char *want) {
    const tl_setting *s;
    char *canonical;
    tl_error err = {{0}};
    assert_int_equal(tl_setting_check(name, value, level, &s, &canonical, &err), TL_INVALID);
    assert_string_equal(err.message, want);
}

static void refusals_say_why(void **state) {
    (void)state;
    assert_message("nonsense-at-all", "1", TL_LEVEL_TABLE, "unknown setting \"nonsense-at-all\"");
    assert_message("retenton", "1d", TL_LEVEL_TABLE, "unknown setting \"retenton\"; did you mean \"retention\"?");
    assert_message("series_key", "a", TL_LEVEL_TABLE, "setting \"series-key\" is fixed when the table is created");
    assert_message("min-snapshots", "9", TL_LEVEL_SESSION, "setting \"min-snapshots\" can be set only at: table");
    assert_message("threads", "9", TL_LEVEL_TABLE, "setting \"threads\" can be set only at: session, call");
    assert_message("batch-ids", "x", TL_LEVEL_TABLE, "setting \"batch-ids\" is managed by Timelake itself");
    assert_message("max-snapshots", "many", TL_LEVEL_TABLE, "timelake.max-snapshots: \"many\" is not a whole number");
    assert_message("row-group-rows", "0", TL_LEVEL_TABLE, "timelake.row-group-rows: 0 is too small, the least is 1");
    assert_message("encodings", "best", TL_LEVEL_TABLE, "timelake.encodings: \"best\" is none of portable,compact");
}

static void removing_needs_no_value(void **state) {
    (void)state;
    const tl_setting *s;
    char *canonical;
    assert_int_equal(tl_setting_check("retention", NULL, TL_LEVEL_TABLE, &s, &canonical, NULL), TL_OK);
    assert_null(canonical);
    assert_string_equal(s->name, "retention");
    assert_int_equal(tl_setting_check("dedup", NULL, TL_LEVEL_TABLE, &s, &canonical, NULL), TL_INVALID);
}

static void values_in_force_are_property_or_default(void **state) {
    (void)state;
    tl_property props[] = {
        {"timelake.max-snapshots", "7"},        {"timelake.min-snapshots", "bad"}, {"timelake.retention", "3d"},
        {"timelake.compact-cold-after", "off"}, {"timelake.dedup", "true"},        {"timelake.encodings", "odd"},
        {"timelake.auto-maintain", "FALSE"},    {"timelake.row-group-rows", "0"},
    };
    tl_metadata m = {.properties = props, .n_properties = TL_COUNT(props)};
    assert_int_equal(tl_setting_int(&m, "max-snapshots"), 7);
    assert_int_equal(tl_setting_int(&m, "min-snapshots"), 5);
    assert_int_equal(tl_setting_int(&m, "row-group-rows"), 122880);
    assert_int_equal(tl_setting_int(NULL, "memory-limit"), 1073741824);
    assert_int_equal(tl_setting_int(NULL, "keep-snapshots-until"), 0);
    assert_true(tl_setting_duration_us(&m, "retention") == 3 * 86400 * (int64_t)1000000);
    assert_true(tl_setting_duration_us(NULL, "retention") == -1);
    assert_true(tl_setting_duration_us(&m, "compact-cold-after") == -1);
    assert_true(tl_setting_duration_us(NULL, "compact-cold-after") == 3600 * (int64_t)1000000);
    assert_false(tl_setting_bool(&m, "auto-maintain"));
    assert_true(tl_setting_bool(NULL, "auto-maintain"));
    assert_true(tl_setting_bool(&m, "read-dedup"));
    assert_false(tl_setting_bool(NULL, "read-dedup"));
    assert_string_equal(tl_setting_text(&m, "encodings"), "portable");
    assert_null(tl_setting_text(NULL, "retention"));
    assert_null(tl_setting_text(&m, "no-such"));
}

static void every_setting_has_a_sentence_and_a_valid_default(void **state) {
    (void)state;
    size_t n;
    const tl_setting *all = tl_settings_all(&n);
    assert_true(n > 30);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(all[i].description);
        assert_true(len > 10 && all[i].description[len - 1] == '.');
        assert_ptr_equal(tl_setting_find(all[i].name), &all[i]);
        if (all[i].default_value && !strchr(all[i].default_value, ' ')) {
            assert_canonical(all[i].name, all[i].default_value, all[i].default_value);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_every_spelling),
        cmocka_unit_test(values_are_checked_and_made_canonical),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(removing_needs_no_value),
        cmocka_unit_test(values_in_force_are_property_or_default),
        cmocka_unit_test(every_setting_has_a_sentence_and_a_valid_default),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
