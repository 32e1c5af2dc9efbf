/* The table of settings, their checks, and the values in force. */
#include "table/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "table/series_bucket.h"

#define CREATE TL_LEVEL_CREATE
#define TABLE TL_LEVEL_TABLE
#define SESSION TL_LEVEL_SESSION
#define CALL TL_LEVEL_CALL

/* Spec f. Where the text says "Timelake 0.7.0", the setting is kept for tables that both use and has no effect here. */
static const tl_setting settings[] = {
    {"time-column", TL_SETTING_COLUMN, NULL, NULL, CREATE,
     "Column of the readings' times; without one the table is plain."},
    {"series-key", TL_SETTING_COLUMNS, NULL, NULL, CREATE, "Columns that name the series, separated by commas."},
    {"chunk-interval", TL_SETTING_CHOICE, "day", "hour,day,month", CREATE, "Span of time that is one partition (UTC)."},
    {"dedup", TL_SETTING_BOOL, "true with a series key", NULL, CREATE,
     "Readers see the last write of each (series, time)."},
    {"ingest-time-column", TL_SETTING_COLUMN, "_ingest_ts", NULL, CREATE,
     "Column of the insertion time, by which the last write is told."},
    {"write-policy", TL_SETTING_CHOICE, "append", "append,upsert", CREATE | TABLE,
     "upsert: an append deletes the rows that it replaces, so that every engine sees one row per key."},
    {"delete-format", TL_SETTING_CHOICE, "position", "position,dv", CREATE | TABLE,
     "With write-policy upsert: position delete files, or deletion vectors (Iceberg v3)."},
    {"max-delete-files", TL_SETTING_COUNT, "64", NULL, TABLE,
     "With write-policy upsert: a partition with more live delete files than this is compacted early."},
    {"retention", TL_SETTING_DURATION, NULL, NULL, CREATE | TABLE,
     "Maintenance drops partitions that end this long before the newest row."},
    {"auto-maintain", TL_SETTING_BOOL, "true", NULL, TABLE | CALL,
     "Appends do small maintenance themselves: small files are merged, old snapshots expire."},
    {"compact-min-files", TL_SETTING_COUNT, "8", NULL, TABLE,
     "Neighbouring files of one size class that an append merges."},
    {"compact-cold-after", TL_SETTING_DURATION_OR_OFF, "1h", NULL, TABLE | CALL,
     "A partition that ended this long before the newest row is merged whole."},
    {"compact-late-percent", TL_SETTING_COUNT, "25", NULL, TABLE,
     "What came late to a merged partition is merged into it once it is this share of its bytes."},
    {"read-dedup", TL_SETTING_BOOL, "as dedup", NULL, TABLE | SESSION, "Hide older copies of a key when reading."},
    {"read-dedup-strategy", TL_SETTING_CHOICE, "auto", "auto,keys-first,merge", TABLE | SESSION,
     "How older copies are left out when reading: by their keys (auto, keys-first), or by merging files."},
    {"note-reads", TL_SETTING_BOOL, "true", NULL, TABLE,
     "Readers note which partitions they read, so that maintenance takes those first."},
    {"filter-pushdown", TL_SETTING_CHOICE, "auto", "auto,true,false", TABLE | SESSION,
     "Timelake 0.7.0: filters inside the Parquet reader."},
    {"time-weighted-mean", TL_SETTING_CHOICE, "auto", "auto,segments,merge", TABLE | SESSION,
     "Timelake 0.7.0: how time-weighted means are computed."},
    {"newest-first", TL_SETTING_BOOL, "true", NULL, TABLE | SESSION,
     "Timelake 0.7.0: queries for the newest rows begin with the newest partitions."},
    {"in-list-pruning", TL_SETTING_BOOL, "true", NULL, TABLE | SESSION, "Timelake 0.7.0: long IN lists skip files."},
    {"target-file-size-bytes", TL_SETTING_BYTES, "268435456", NULL, TABLE,
     "A data file is closed when it reaches this size."},
    {"row-group-rows", TL_SETTING_COUNT, "122880", NULL, TABLE, "Rows of a Parquet row group, about."},
    {"data-page-rows", TL_SETTING_COUNT, "61440", NULL, TABLE, "Rows of a Parquet page, at most."},
    {"encodings", TL_SETTING_CHOICE, "portable", "portable,compact", TABLE | CALL,
     "compact: also encodings that Spark with Iceberg 1.10 cannot read."},
    {"memory-limit", TL_SETTING_BYTES, "1073741824", NULL, TABLE | SESSION | CALL,
     "Memory of an append; beyond it, sorted groups go to temporary files."},
    {"threads", TL_SETTING_COUNT, "one per core", NULL, SESSION | CALL, "Threads that encode columns."},
    {"durability", TL_SETTING_CHOICE, "full", "full,none", TABLE | SESSION | CALL,
     "full: a commit is on the disk when it returns. none: for tests and bulk loads."},
    {"keep-batch-ids", TL_SETTING_COUNT, "10000", NULL, TABLE,
     "Newest batch ids that are remembered beyond the expiry of their snapshots."},
    {"touched-series-buckets", TL_SETTING_COUNT, "0", NULL, TABLE,
     "More than 0, up to 256: commits also tell the times that they touched per bucket of series."},
    {"commit-attempts", TL_SETTING_COUNT, "100", NULL, TABLE, "Lost races after which a commit gives up."},
    {"snapshot-retention", TL_SETTING_DURATION, "1h", NULL, TABLE, "Older snapshots expire."},
    {"min-snapshots", TL_SETTING_COUNT, "5", NULL, TABLE, "Newest snapshots that never expire."},
    {"max-snapshots", TL_SETTING_COUNT, "100", NULL, TABLE, "Snapshots beyond this number expire."},
    {"keep-snapshots-until", TL_SETTING_EPOCH_MS, NULL, NULL, TABLE,
     "No snapshot expires before this time (milliseconds since 1970)."},
    {"head-format", TL_SETTING_CHOICE, "arrow", "arrow,none", TABLE,
     "Form of the object from which readers open the table in one request; written while the table has few files."},
    {"head-inline-bytes", TL_SETTING_BYTES, "1048576", NULL, TABLE,
     "Timelake 0.7.0: bytes of last values and file footers inside the head."},
    {"rollup-routing", TL_SETTING_BOOL, "true", NULL, TABLE | SESSION, "Timelake 0.7.0: answer queries from rollups."},
    {"rollup-refresh-interval", TL_SETTING_DURATION_OR_OFF, "1m", NULL, TABLE,
     "Timelake 0.7.0: refresh rollups this often."},
    {"version-check-interval", TL_SETTING_DURATION, "1s", NULL, TABLE | SESSION,
     "Timelake 0.7.0: how long a version is used without looking for a newer one."},
    {"format-version", TL_SETTING_CHOICE, NULL, NULL, TL_LEVEL_MANAGED, "Version of the table format."},
    {"batch-ids", TL_SETTING_CHOICE, NULL, NULL, TL_LEVEL_MANAGED, "Remembered batch ids, hashed."},
    {"rollups", TL_SETTING_COLUMNS, NULL, NULL, TL_LEVEL_MANAGED, "Rollups of this table."},
    {"rollup-source", TL_SETTING_CHOICE, NULL, NULL, TL_LEVEL_MANAGED, "The table that this rollup is made from."},
    {"rollup-bucket", TL_SETTING_DURATION, NULL, NULL, TL_LEVEL_MANAGED, "Width of this rollup's buckets."},
    {"rollup-aggregates", TL_SETTING_CHOICE, NULL, NULL, TL_LEVEL_MANAGED, "Aggregates of this rollup."},
};

const tl_setting *tl_settings_all(size_t *n) {
    *n = TL_COUNT(settings);
    return settings;
}

/* ---- names ---- */

enum { NAME_MAX_LENGTH = 64 };

/* Lower case, '-' between words, without "timelake."; false when too long to be one. */
static bool plain_name(const char *name, char out[NAME_MAX_LENGTH]) {
    size_t n = 0;
    for (; name[n]; n++) {
        if (n + 1 >= NAME_MAX_LENGTH) {
            return false;
        }
        char c = name[n];
        out[n] = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    out[n] = '\0';
    if (strncmp(out, "timelake.", 9) == 0) {
        memmove(out, out + 9, n - 9 + 1);
    }
    return true;
}

const tl_setting *tl_setting_find(const char *name) {
    char plain[NAME_MAX_LENGTH];
    if (!name || !plain_name(name, plain)) {
        return NULL;
    }
    for (size_t i = 0; i < TL_COUNT(settings); i++) {
        if (strcmp(settings[i].name, plain) == 0) {
            return &settings[i];
        }
    }
    return NULL;
}

/* Changes of one letter that make `b` of `a`, for texts below NAME_MAX_LENGTH. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[NAME_MAX_LENGTH + 1], na = strlen(a), nb = strlen(b);
    for (size_t j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = least < change ? least : change;
        }
    }
    return row[nb];
}

static const char *nearest_name(const char *name) {
    char plain[NAME_MAX_LENGTH];
    const char *best = NULL;
    size_t least = 4;
    for (size_t i = 0; plain_name(name, plain) && i < TL_COUNT(settings); i++) {
        size_t d = edit_distance(plain, settings[i].name);
        if (d < least && !(settings[i].levels & TL_LEVEL_MANAGED)) {
            least = d;
            best = settings[i].name;
        }
    }
    return best;
}

/* ---- kinds ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* "12 unit" -> 12 and the unit in lower case; false for anything else. */
static bool number_and_unit(const char *text, int64_t *number, char unit[16]) {
    while (is_blank(*text)) {
        text++;
    }
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || tl_parse_i64((tl_bytes){(const uint8_t *)text, digits}, number) != TL_PARSE_OK) {
        return false;
    }
    text += digits;
    while (is_blank(*text)) {
        text++;
    }
    size_t n = strlen(text);
    while (n && is_blank(text[n - 1])) {
        n--;
    }
    if (n >= 16) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        unit[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
    }
    unit[n] = '\0';
    return true;
}

typedef struct unit_size {
    const char *name;
    int64_t size;
} unit_size;

static bool times_unit(int64_t number, const char *unit, const unit_size *units, size_t n, int64_t *out) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(units[i].name, unit) == 0) {
            return tl_i64_mul(number, units[i].size, out);
        }
    }
    return false;
}

bool tl_duration_parse(const char *text, int64_t *out_us) {
    const int64_t s = 1000000, m = 60 * s, h = 60 * m, d = 24 * h;
    const unit_size units[] = {
        {"s", s},       {"sec", s},        {"second", s},      {"seconds", s}, {"m", m},        {"min", m},
        {"minute", m},  {"minutes", m},    {"h", h},           {"hr", h},      {"hour", h},     {"hours", h},
        {"d", d},       {"day", d},        {"days", d},        {"w", 7 * d},   {"week", 7 * d}, {"weeks", 7 * d},
        {"y", 365 * d}, {"year", 365 * d}, {"years", 365 * d},
    };
    int64_t number;
    char unit[16];
    return text && number_and_unit(text, &number, unit) && times_unit(number, unit, units, TL_COUNT(units), out_us);
}

bool tl_bytes_parse(const char *text, int64_t *out) {
    static const unit_size units[] = {
        {"", 1},          {"b", 1},           {"kb", 1000},
        {"mb", 1000000},  {"gb", 1000000000}, {"tb", 1000000000000},
        {"k", 1 << 10},   {"m", 1 << 20},     {"g", 1 << 30},
        {"t", 1LL << 40}, {"kib", 1 << 10},   {"mib", 1 << 20},
        {"gib", 1 << 30}, {"tib", 1LL << 40},
    };
    int64_t number;
    char unit[16];
    return text && number_and_unit(text, &number, unit) && times_unit(number, unit, units, TL_COUNT(units), out);
}

/* The largest unit that divides: "90m", "48h" becomes "2d". */
static char *print_duration(int64_t us) {
    const int64_t s = 1000000;
    const int64_t sizes[] = {86400 * s, 3600 * s, 60 * s};
    for (size_t i = 0; us && i < TL_COUNT(sizes); i++) {
        if (us % sizes[i] == 0) {
            return tl_format("%lld%c", (long long)(us / sizes[i]), "dhm"[i]);
        }
    }
    return tl_format("%llds", (long long)(us / s));
}

static bool parse_count(const char *text, int64_t *out) {
    size_t n = strlen(text);
    return n && strspn(text, "0123456789") == n && tl_parse_i64(tl_bytes_of(text), out) == TL_PARSE_OK;
}

static bool same_text(const char *a, const char *b, size_t n) {
    return strlen(a) == n && strncasecmp(a, b, n) == 0;
}

/* The member of "a,b,c" that is `value` in any case, by position; NULL = none. */
static const char *choice_of(const char *choices, const char *value, size_t *len) {
    for (const char *p = choices; p;) {
        *len = strcspn(p, ",");
        if (same_text(value, p, *len)) {
            return p;
        }
        p = p[*len] ? p + *len + 1 : NULL;
    }
    return NULL;
}

static const char *chunk_alias(const char *value) {
    static const char *const aliases[][2] = {
        {"1h", "hour"},   {"1 hour", "hour"}, {"hourly", "hour"},   {"1d", "day"},        {"24h", "day"},
        {"1 day", "day"}, {"daily", "day"},   {"1 month", "month"}, {"monthly", "month"},
    };
    for (size_t i = 0; i < TL_COUNT(aliases); i++) {
        if (strcasecmp(value, aliases[i][0]) == 0) {
            return aliases[i][1];
        }
    }
    return value;
}

/* "a, b" -> "a,b"; NULL with *bad set for empty names. */
static char *trim_columns(const char *value, bool *bad) {
    char *out = tl_alloc(strlen(value) + 1);
    size_t n = 0;
    *bad = false;
    for (const char *p = value; out && p;) {
        size_t len = strcspn(p, ",");
        const char *next = p[len] ? p + len + 1 : NULL;
        while (len && is_blank(*p)) {
            p++;
            len--;
        }
        while (len && is_blank(p[len - 1])) {
            len--;
        }
        if (len == 0) {
            *bad = true;
            tl_free(out);
            return NULL;
        }
        if (n) {
            out[n++] = ',';
        }
        memcpy(out + n, p, len);
        n += len;
        p = next;
    }
    if (out) {
        out[n] = '\0';
    }
    return out;
}

static tl_status bad_value(const tl_setting *s, const char *value, const char *want, tl_error *err) {
    return tl_fail(err, TL_INVALID, "timelake.%s: \"%.200s\" is not %s", s->name, value, want);
}

static tl_status canonical_form(const tl_setting *s, const char *value, char **out, tl_error *err) {
    int64_t number = 0;
    size_t len = 0;
    const char *choice;
    bool bad = false;
    switch (s->kind) {
    case TL_SETTING_BOOL:
        if (strcasecmp(value, "true") != 0 && strcasecmp(value, "false") != 0) {
            return bad_value(s, value, "true or false", err);
        }
        *out = tl_strdup(strcasecmp(value, "true") == 0 ? "true" : "false");
        break;
    case TL_SETTING_COUNT:
    case TL_SETTING_EPOCH_MS:
        if (!parse_count(value, &number)) {
            return bad_value(s, value,
                             s->kind == TL_SETTING_COUNT ? "a whole number" : "a time in milliseconds since 1970", err);
        }
        *out = tl_format("%lld", (long long)number);
        break;
    case TL_SETTING_BYTES:
        if (!tl_bytes_parse(value, &number)) {
            return bad_value(s, value, "a number of bytes such as 1048576, 512MB or 1GiB", err);
        }
        *out = tl_format("%lld", (long long)number);
        break;
    case TL_SETTING_DURATION:
    case TL_SETTING_DURATION_OR_OFF:
        if (s->kind == TL_SETTING_DURATION_OR_OFF && strcasecmp(value, "off") == 0) {
            *out = tl_strdup("off");
        } else if (!tl_duration_parse(value, &number)) {
            return bad_value(s, value, "a duration such as 90m, 36h or 730d", err);
        } else {
            *out = print_duration(number);
        }
        break;
    case TL_SETTING_CHOICE:
        choice = choice_of(s->choices, strcmp(s->name, "chunk-interval") == 0 ? chunk_alias(value) : value, &len);
        if (!choice) {
            return tl_fail(err, TL_INVALID, "timelake.%s: \"%.200s\" is none of %s", s->name, value, s->choices);
        }
        *out = tl_strndup(choice, len);
        break;
    case TL_SETTING_COLUMN:
        if (!*value) {
            return bad_value(s, value, "a column name", err);
        }
        *out = tl_strdup(value);
        break;
    case TL_SETTING_COLUMNS:
        *out = trim_columns(value, &bad);
        if (bad) {
            return bad_value(s, value, "a list of column names", err);
        }
        break;
    }
    return *out ? TL_OK : tl_fail_memory(err, strlen(value));
}

/* Values of the right kind that would stop a table from working. */
static tl_status check_limits(const tl_setting *s, const char *canonical, tl_error *err) {
    static const struct {
        const char *name;
        int64_t least;
    } least[] = {
        {"row-group-rows", 1}, {"data-page-rows", 1},  {"target-file-size-bytes", 1},
        {"min-snapshots", 1},  {"max-snapshots", 1},   {"compact-min-files", 2},
        {"threads", 1},        {"commit-attempts", 1}, {"memory-limit", 1 << 20},
    };
    for (size_t i = 0; i < TL_COUNT(least); i++) {
        int64_t v;
        if (strcmp(least[i].name, s->name) == 0 && parse_count(canonical, &v) && v < least[i].least) {
            return tl_fail(err, TL_INVALID, "timelake.%s: %s is too small, the least is %lld", s->name, canonical,
                           (long long)least[i].least);
        }
    }
    int64_t buckets;
    if (strcmp(s->name, "touched-series-buckets") == 0 && parse_count(canonical, &buckets) &&
        buckets > TL_SERIES_BUCKETS_MAX) {
        return tl_fail(err, TL_INVALID, "timelake.%s: %s is too large, the most is %d", s->name, canonical,
                       TL_SERIES_BUCKETS_MAX);
    }
    return TL_OK;
}

/* ---- levels ---- */

static tl_status check_level(const tl_setting *s, unsigned level, tl_error *err) {
    if (s->levels & level) {
        return TL_OK;
    }
    if (s->levels & TL_LEVEL_MANAGED) {
        return tl_fail(err, TL_INVALID, "setting \"%s\" is managed by Timelake itself", s->name);
    }
    if (s->levels == TL_LEVEL_CREATE) {
        return tl_fail(err, TL_INVALID, "setting \"%s\" is fixed when the table is created", s->name);
    }
    static const char *const names[] = {"create", "table", "session", "call"};
    char list[64] = "";
    for (unsigned i = 0; i < TL_COUNT(names); i++) {
        if (s->levels & (1u << i)) {
            size_t n = strlen(list);
            (void)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", names[i]);
        }
    }
    return tl_fail(err, TL_INVALID, "setting \"%s\" can be set only at: %s", s->name, list);
}

tl_status tl_setting_check(const char *name, const char *value, unsigned level, const tl_setting **setting,
                           char **canonical, tl_error *err) {
    *canonical = NULL;
    const tl_setting *s = tl_setting_find(name);
    *setting = s;
    if (!s) {
        const char *near = nearest_name(name);
        return tl_fail(err, TL_INVALID, "unknown setting \"%.100s\"%s%s%s", name, near ? "; did you mean \"" : "",
                       near ? near : "", near ? "\"?" : "");
    }
    TL_TRY(check_level(s, level, err));
    if (!value) {
        return TL_OK; /* to be removed */
    }
    TL_TRY(canonical_form(s, value, canonical, err));
    tl_status status = check_limits(s, *canonical, err);
    if (status != TL_OK) {
        tl_free(*canonical);
        *canonical = NULL;
    }
    return status;
}

/* ---- values in force ---- */

static const char *property_of(const tl_metadata *m, const char *name) {
    char key[NAME_MAX_LENGTH + 10];
    (void)snprintf(key, sizeof key, "timelake.%s", name);
    return m ? tl_metadata_property(m, key) : NULL;
}

const char *tl_setting_text(const tl_metadata *m, const char *name) {
    const tl_setting *s = tl_setting_find(name);
    if (!s) {
        return NULL;
    }
    const char *value = property_of(m, s->name);
    if (strcmp(s->name, "read-dedup") == 0 &&
        (!value || (strcasecmp(value, "true") != 0 && strcasecmp(value, "false") != 0))) {
        return tl_setting_text(m, "dedup");
    }
    if (strcmp(s->name, "dedup") == 0 && !value) {
        return m && property_of(m, "series-key") ? "true" : "false";
    }
    size_t len;
    if (value && s->kind == TL_SETTING_CHOICE && s->choices && !choice_of(s->choices, value, &len)) {
        value = NULL; /* another program's: not one of ours */
    }
    return value ? value : s->default_value;
}

bool tl_setting_bool(const tl_metadata *m, const char *name) {
    const char *text = tl_setting_text(m, name);
    if (text && (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)) {
        return strcasecmp(text, "true") == 0;
    }
    const tl_setting *s = tl_setting_find(name);
    return s && s->default_value && strcmp(s->default_value, "true") == 0;
}

int64_t tl_setting_int(const tl_metadata *m, const char *name) {
    const tl_setting *s = tl_setting_find(name);
    const char *texts[] = {s ? property_of(m, s->name) : NULL, s ? s->default_value : NULL};
    for (size_t i = 0; i < TL_COUNT(texts); i++) {
        int64_t v;
        if (texts[i] && tl_bytes_parse(texts[i], &v) && (i || check_limits(s, texts[i], NULL) == TL_OK)) {
            return v;
        }
    }
    return 0;
}

int64_t tl_setting_duration_us(const tl_metadata *m, const char *name) {
    const tl_setting *s = tl_setting_find(name);
    const char *texts[] = {s ? property_of(m, s->name) : NULL, s ? s->default_value : NULL};
    for (size_t i = 0; i < TL_COUNT(texts); i++) {
        int64_t v;
        if (texts[i] && strcasecmp(texts[i], "off") == 0) {
            return -1;
        }
        if (texts[i] && tl_duration_parse(texts[i], &v)) {
            return v;
        }
    }
    return -1;
}
