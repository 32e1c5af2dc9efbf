/*
 * Partition transforms: their names and the time transforms. Comes in: microseconds since 1970 UTC. Goes out:
 * partition values, their first instants and their labels. No libc time zone is involved, so no
 * environment variable can change a partition.
 */
#include <stdio.h>

#include "base/civil.h"
#include "iceberg/types.h"

#define US_PER_HOUR 3600000000LL

bool tl_transform_time(tl_transform transform, int64_t us, int32_t *out) {
    int64_t v;
    tl_civil date;
    switch (transform) {
    case TL_TRANSFORM_HOUR: v = tl_floor_div(us, US_PER_HOUR); break;
    case TL_TRANSFORM_DAY: v = tl_floor_div(us, TL_US_PER_DAY); break;
    case TL_TRANSFORM_MONTH:
        date = tl_civil_from_days(tl_floor_div(us, TL_US_PER_DAY));
        v = (date.year - 1970) * 12 + date.month - 1;
        break;
    case TL_TRANSFORM_YEAR: v = tl_civil_from_days(tl_floor_div(us, TL_US_PER_DAY)).year - 1970; break;
    default: return false;
    }
    if (v < INT32_MIN || v > INT32_MAX) {
        return false;
    }
    *out = (int32_t)v;
    return true;
}

bool tl_transform_time_start(tl_transform transform, int32_t v, int64_t *out_us) {
    int64_t months, days;
    switch (transform) {
    case TL_TRANSFORM_HOUR: return tl_i64_mul(v, US_PER_HOUR, out_us);
    case TL_TRANSFORM_DAY: return tl_i64_mul(v, TL_US_PER_DAY, out_us);
    case TL_TRANSFORM_MONTH: months = v; break;
    case TL_TRANSFORM_YEAR: months = (int64_t)v * 12; break;
    default: return false;
    }
    int64_t year = tl_floor_div(months, 12);
    int32_t month = (int32_t)(months - year * 12) + 1;
    return tl_civil_to_days(1970 + year, month, 1, &days) && tl_i64_mul(days, TL_US_PER_DAY, out_us);
}

void tl_transform_time_label(tl_transform transform, int32_t v, char out[32]) {
    tl_civil date = {.year = -1};
    int32_t hour = 0;
    switch (transform) {
    case TL_TRANSFORM_HOUR:
        date = tl_civil_from_days(tl_floor_div(v, 24));
        hour = (int32_t)(v - tl_floor_div(v, 24) * 24);
        break;
    case TL_TRANSFORM_DAY: date = tl_civil_from_days(v); break;
    case TL_TRANSFORM_MONTH:
        date.year = 1970 + tl_floor_div(v, 12);
        date.month = (int32_t)(v - tl_floor_div(v, 12) * 12) + 1;
        break;
    case TL_TRANSFORM_YEAR: date.year = 1970 + (int64_t)v; break;
    default: break;
    }
    int year = (int)date.year;
    if (date.year < 0 || date.year > 9999) {
        (void)snprintf(out, 32, "%d", v);
    } else if (transform == TL_TRANSFORM_HOUR) {
        (void)snprintf(out, 32, "%04d-%02d-%02d-%02d", year, date.month, date.day, hour);
    } else if (transform == TL_TRANSFORM_DAY) {
        (void)snprintf(out, 32, "%04d-%02d-%02d", year, date.month, date.day);
    } else if (transform == TL_TRANSFORM_MONTH) {
        (void)snprintf(out, 32, "%04d-%02d", year, date.month);
    } else {
        (void)snprintf(out, 32, "%04d", year);
    }
}

static const struct {
    tl_transform transform;
    const char *name;
    bool has_param;
} names[] = {
    {TL_TRANSFORM_IDENTITY, "identity", false}, {TL_TRANSFORM_YEAR, "year", false},
    {TL_TRANSFORM_MONTH, "month", false},       {TL_TRANSFORM_DAY, "day", false},
    {TL_TRANSFORM_HOUR, "hour", false},         {TL_TRANSFORM_BUCKET, "bucket", true},
    {TL_TRANSFORM_TRUNCATE, "truncate", true},  {TL_TRANSFORM_VOID, "void", false},
};

tl_status tl_transform_print(tl_transform transform, int32_t param, tl_buf *out) {
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        if (names[i].transform == transform) {
            return names[i].has_param ? tl_buf_printf(out, "%s[%d]", names[i].name, param)
                                      : tl_buf_add_text(out, names[i].name);
        }
    }
    return TL_INVALID;
}

/* "name[n]" with 1 to 9 digits. */
static bool parse_param(tl_bytes text, size_t name_len, int32_t *param) {
    if (text.len < name_len + 3 || text.len > name_len + 11 || text.data[name_len] != '[' ||
        text.data[text.len - 1] != ']') {
        return false;
    }
    int32_t v = 0;
    for (size_t i = name_len + 1; i < text.len - 1; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        v = v * 10 + (text.data[i] - '0');
    }
    *param = v;
    return v > 0;
}

tl_transform tl_transform_parse(tl_bytes text, int32_t *param) {
    *param = 0;
    for (size_t i = 0; i < TL_COUNT(names); i++) {
        size_t n = strlen(names[i].name);
        if (text.len < n || memcmp(text.data, names[i].name, n) != 0) {
            continue;
        }
        if (names[i].has_param ? parse_param(text, n, param) : text.len == n) {
            return names[i].transform;
        }
    }
    return TL_TRANSFORM_UNKNOWN;
}
