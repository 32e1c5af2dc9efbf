/*
 * time_bucket and date_trunc over UTC, instead of DuckDB's: its buckets count from 2000-01-03, Timelake's from the
 * epoch (spec/table-format.md g.3), and its date_trunc of zoned times costs several times the rest of a query, since it
 * asks a calendar of time zones for what is plain arithmetic here. The command's sessions are UTC, so the results are
 * the same; in the extension they are tl_time_bucket and tl_date_trunc, beside DuckDB's own.
 */
#include <stdio.h>
#include <string.h>

#include "base/civil.h"
#include "duckdb/host.h"

static const int64_t infinite = INT64_MAX; /* DuckDB's 'infinity'; -INT64_MAX is '-infinity' */

static bool is_infinite(int64_t us) {
    return us == infinite || us == -infinite;
}

/* ---- validity of vectors ---- */

/* The inputs' bitmaps; NULL = no nulls. */
typedef struct nulls {
    uint64_t *masks[3];
    bool any;
} nulls;

static nulls nulls_of(duckdb_data_chunk input) {
    nulls n = {{NULL}, false};
    for (idx_t c = 0; c < duckdb_data_chunk_get_column_count(input) && c < 3; c++) {
        n.masks[c] = duckdb_vector_get_validity(duckdb_data_chunk_get_vector(input, c));
        n.any = n.any || n.masks[c];
    }
    return n;
}

/* Makes a row of the result null when one of the inputs is. True = it is. */
static bool null_row(const nulls *n, duckdb_vector output, idx_t row) {
    for (int c = 0; n->any && c < 3; c++) {
        if (n->masks[c] && !duckdb_validity_row_is_valid(n->masks[c], row)) {
            duckdb_vector_ensure_validity_writable(output);
            duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);
            return true;
        }
    }
    return false;
}

static void fail(duckdb_function_info info, const char *what) {
    char text[160];
    (void)snprintf(text, sizeof text, "timelake: %s", what);
    duckdb_scalar_function_set_error(info, text);
}

/* ---- time_bucket(width, time[, origin]) ---- */

/* A width taken apart: exactly one of the two is above 0. */
typedef struct width {
    int64_t us, months;
} width;

static const char *width_of(duckdb_interval interval, width *out) {
    int64_t days_us;
    out->months = interval.months;
    if (!tl_i64_mul(interval.days, TL_US_PER_DAY, &days_us) || !tl_i64_add(days_us, interval.micros, &out->us)) {
        return "time_bucket: the width is too large";
    }
    if (out->months && out->us) {
        return "time_bucket: a width is months and years, or days and less, not both";
    }
    return out->months > 0 || out->us > 0 ? NULL : "time_bucket: the width must be more than zero";
}

static int64_t month_of(int64_t us) {
    tl_civil c = tl_civil_from_days(tl_floor_div(us, TL_US_PER_DAY));
    return (c.year - 1970) * 12 + c.month - 1;
}

static bool month_start(int64_t month, int64_t *out_us) {
    int64_t days, year = tl_floor_div(month, 12);
    return tl_civil_to_days(1970 + year, (int32_t)(month - year * 12) + 1, 1, &days) &&
           tl_i64_mul(days, TL_US_PER_DAY, out_us);
}

/* False when the bucket's start cannot be told in microseconds. */
static bool bucket(width w, int64_t us, int64_t origin, int64_t *out) {
    if (w.months) {
        int64_t first = month_of(origin), step = tl_floor_div(month_of(us) - first, w.months);
        return month_start(first + step * w.months, out);
    }
    int64_t distance, back;
    if (!tl_i64_add(us, origin == INT64_MIN ? 0 : -origin, &distance) || origin == INT64_MIN) {
        return false;
    }
    back = distance - tl_floor_div(distance, w.us) * w.us; /* 0 <= back < width */
    return tl_i64_add(us, -back, out);
}

/* `dates`: values are days. */
static void buckets(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output, bool dates) {
    idx_t n = duckdb_data_chunk_get_size(input);
    bool has_origin = duckdb_data_chunk_get_column_count(input) > 2;
    const duckdb_interval *widths = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
    const void *times = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 1));
    const void *origins = has_origin ? duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 2)) : NULL;
    void *results = duckdb_vector_get_data(output);
    duckdb_interval last = {0};
    width w = {0};
    bool known = false;
    nulls missing = nulls_of(input);
    for (idx_t i = 0; i < n; i++) {
        if (null_row(&missing, output, i)) {
            continue;
        }
        if (!known || memcmp(&last, &widths[i], sizeof last) != 0) {
            last = widths[i];
            const char *why = width_of(last, &w);
            if (why) {
                fail(info, why);
                return;
            }
            known = true;
        }
        int64_t us = dates ? ((const int32_t *)times)[i] : ((const int64_t *)times)[i];
        int64_t origin = !origins ? 0 : dates ? ((const int32_t *)origins)[i] : ((const int64_t *)origins)[i];
        if (dates ? us == INT32_MAX || us == -INT32_MAX : is_infinite(us)) {
            if (dates) {
                ((int32_t *)results)[i] = (int32_t)us;
            } else {
                ((int64_t *)results)[i] = us;
            }
            continue;
        }
        int64_t start;
        us = dates ? us * TL_US_PER_DAY : us;
        origin = dates ? origin * TL_US_PER_DAY : origin;
        if (!bucket(w, us, origin, &start)) {
            fail(info, "time_bucket: the bucket begins before what a timestamp can hold");
            return;
        }
        if (dates) {
            ((int32_t *)results)[i] = (int32_t)tl_floor_div(start, TL_US_PER_DAY);
        } else {
            ((int64_t *)results)[i] = start;
        }
    }
}

static void bucket_times(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    buckets(info, input, output, false);
}

static void bucket_dates(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    buckets(info, input, output, true);
}

/* ---- date_trunc(part, time) ---- */

typedef enum part { PART_NONE, PART_SPAN, PART_WEEK, PART_MONTHS, PART_ISO_YEAR } part;

typedef struct part_name {
    const char *names; /* parted by blanks; DuckDB's spellings */
    part part;
    int64_t size; /* microseconds, or months */
} part_name;

static const part_name part_names[] = {
    {" microseconds microsecond us usec usecs usecond useconds ", PART_SPAN, 1},
    {" milliseconds millisecond ms msec msecs ", PART_SPAN, 1000},
    {" second sec seconds secs s epoch ", PART_SPAN, 1000000},
    {" minute min minutes mins m ", PART_SPAN, 60000000},
    {" hour hr hours hrs h ", PART_SPAN, 3600000000},
    {" day days d dayofmonth dow dayofweek weekday isodow doy dayofyear julian ", PART_SPAN, 86400000000},
    {" week weeks w weekofyear yearweek ", PART_WEEK, 0},
    {" month mon months mons ", PART_MONTHS, 1},
    {" quarter quarters ", PART_MONTHS, 3},
    {" year yr y years yrs ", PART_MONTHS, 12},
    {" decade dec decades decs ", PART_MONTHS, 120},
    {" century cent centuries c ", PART_MONTHS, 1200},
    {" millennium mil millenniums millennia millenium mils ", PART_MONTHS, 12000},
    {" isoyear ", PART_ISO_YEAR, 0},
};

static const part_name *find_part(const char *text, size_t len) {
    char word[32] = " ";
    if (len == 0 || len > sizeof word - 3) {
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        word[i + 1] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
        if (word[i + 1] == ' ') {
            return NULL;
        }
    }
    word[len + 1] = ' ';
    word[len + 2] = 0;
    for (size_t i = 0; i < TL_COUNT(part_names); i++) {
        if (strstr(part_names[i].names, word)) {
            return &part_names[i];
        }
    }
    return NULL;
}

/* 1970-01-01 was a Thursday: Mondays are the days 4 + 7 k. */
static int64_t monday(int64_t day) {
    return tl_floor_div(day - 4, 7) * 7 + 4;
}

static bool truncate_time(const part_name *p, int64_t us, int64_t *out) {
    int64_t day = tl_floor_div(us, TL_US_PER_DAY), first;
    switch (p->part) {
    case PART_SPAN: return tl_i64_mul(tl_floor_div(us, p->size), p->size, out);
    case PART_WEEK: return tl_i64_mul(monday(day), TL_US_PER_DAY, out);
    case PART_MONTHS: /* from the year 0 on, so that decades and centuries are the digits of the year */
        return month_start(tl_floor_div(month_of(us) + 1970 * 12, p->size) * p->size - 1970 * 12, out);
    default: /* the Monday of the week of January 4th, in the year of this week's Thursday */
        return tl_civil_to_days(tl_civil_from_days(monday(day) + 3).year, 1, 4, &first) &&
               tl_i64_mul(monday(first), TL_US_PER_DAY, out);
    }
}

static void truncate_times(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    idx_t n = duckdb_data_chunk_get_size(input);
    const duckdb_string_t *parts = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
    const int64_t *times = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 1));
    int64_t *results = duckdb_vector_get_data(output);
    duckdb_string_t last;
    const part_name *p = NULL;
    memset(&last, 0, sizeof last);
    nulls missing = nulls_of(input);
    for (idx_t i = 0; i < n; i++) {
        if (null_row(&missing, output, i)) {
            continue;
        }
        if (!p || memcmp(&last, &parts[i], sizeof last) != 0) {
            last = parts[i];
            duckdb_string_t text = parts[i];
            p = find_part(duckdb_string_t_data(&text), duckdb_string_t_length(text));
            if (!p) {
                fail(info, "date_trunc: there is no such part of a time");
                return;
            }
        }
        if (is_infinite(times[i])) {
            results[i] = times[i];
        } else if (!truncate_time(p, times[i], &results[i])) {
            fail(info, "date_trunc: the result is before what a timestamp can hold");
            return;
        }
    }
}

#ifndef TL_DUCKDB_EXTENSION
/* In a session with another zone, days begin elsewhere: rather no answer than one in UTC. (The extension's functions
 * have names of their own, which promise UTC whatever the zone is.) */
static void truncate_bind(duckdb_bind_info info) {
    duckdb_client_context context = NULL;
    duckdb_scalar_function_get_client_context(info, &context);
    duckdb_value value = duckdb_client_context_get_config_option(context, "TimeZone", NULL);
    char *zone = value ? duckdb_get_varchar(value) : NULL;
    if (zone && strcmp(zone, "UTC") != 0 && strcmp(zone, "Etc/UTC") != 0) {
        duckdb_scalar_function_bind_set_error(
            info, "timelake: date_trunc works in UTC: write date_trunc(part, time AT TIME ZONE 'zone')");
    }
    duckdb_free(zone);
    duckdb_destroy_value(&value);
    duckdb_destroy_client_context(&context);
}

#endif

/* The overloads of one function. */
typedef struct overloads {
    duckdb_scalar_function functions[8];
    size_t n;
} overloads;

static void add_overload(overloads *o, const char *name, const duckdb_type *types, int n,
                         duckdb_scalar_function_t function) {
    duckdb_scalar_function f = tl_host_function(name, types, n, types[1], function, NULL);
#ifndef TL_DUCKDB_EXTENSION
    if (function == truncate_times) {
        duckdb_scalar_function_set_bind(f, truncate_bind);
    }
#endif
    o->functions[o->n++] = f;
}

static tl_status add_buckets(duckdb_connection connection, const char *name, tl_error *err) {
    static const duckdb_type kinds[] = {DUCKDB_TYPE_TIMESTAMP, DUCKDB_TYPE_TIMESTAMP_TZ, DUCKDB_TYPE_DATE};
    overloads o = {.n = 0};
    for (size_t i = 0; i < TL_COUNT(kinds); i++) {
        const duckdb_type types[] = {DUCKDB_TYPE_INTERVAL, kinds[i], kinds[i]};
        duckdb_scalar_function_t function = kinds[i] == DUCKDB_TYPE_DATE ? bucket_dates : bucket_times;
        add_overload(&o, name, types, 2, function);
        add_overload(&o, name, types, 3, function);
    }
    return tl_host_register(connection, name, o.functions, o.n, err);
}

static tl_status add_truncs(duckdb_connection connection, const char *name, tl_error *err) {
    static const duckdb_type zoned[] = {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_TIMESTAMP_TZ};
    overloads o = {.n = 0};
    add_overload(&o, name, zoned, 2, truncate_times);
#ifdef TL_DUCKDB_EXTENSION /* the command's is beside DuckDB's own, which is good at these */
    static const duckdb_type naive[] = {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_TIMESTAMP};
    add_overload(&o, name, naive, 2, truncate_times);
#endif
    return tl_host_register(connection, name, o.functions, o.n, err);
}

tl_status tl_host_add_time_functions(duckdb_connection connection, const char *prefix, tl_error *err) {
    char bucket_name[64], trunc_name[64], other_name[64];
    (void)snprintf(bucket_name, sizeof bucket_name, "%stime_bucket", prefix);
    (void)snprintf(trunc_name, sizeof trunc_name, "%sdate_trunc", prefix);
    (void)snprintf(other_name, sizeof other_name, "%sdatetrunc", prefix);
    TL_TRY(add_buckets(connection, bucket_name, err));
    TL_TRY(add_truncs(connection, trunc_name, err));
    return add_truncs(connection, other_name, err);
}
