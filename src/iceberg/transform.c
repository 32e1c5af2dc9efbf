/*
 * Partition transforms: their names, the time transforms and the calendar behind them. Comes in: microseconds since
 * 1970 UTC. Goes out: partition values, their first instants and their labels. No libc time zone is involved, so no
 * environment variable can change a partition.
 */
#include <stdio.h>

#include "iceberg/types.h"

#define US_PER_HOUR 3600000000LL
#define US_PER_DAY 86400000000LL

/* Years are counted from March, so that the leap day is the last of its year; 400 of them have 146097 days. */
int64_t tl_civil_to_days(int64_t year, int32_t month, int32_t day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = tl_floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t month_from_march = (month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

void tl_civil_from_days(int64_t days, int64_t *year, int32_t *month, int32_t *day) {
    int64_t shifted = days + 719468;
    int64_t era = tl_floor_div(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = (int32_t)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (int32_t)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

bool tl_transform_time(tl_transform transform, int64_t us, int32_t *out) {
    int64_t v, year;
    int32_t month, day;
    switch (transform) {
    case TL_TRANSFORM_HOUR: v = tl_floor_div(us, US_PER_HOUR); break;
    case TL_TRANSFORM_DAY: v = tl_floor_div(us, US_PER_DAY); break;
    case TL_TRANSFORM_MONTH:
        tl_civil_from_days(tl_floor_div(us, US_PER_DAY), &year, &month, &day);
        v = (year - 1970) * 12 + month - 1;
        break;
    case TL_TRANSFORM_YEAR:
        tl_civil_from_days(tl_floor_div(us, US_PER_DAY), &year, &month, &day);
        v = year - 1970;
        break;
    default: return false;
    }
    if (v < INT32_MIN || v > INT32_MAX) {
        return false;
    }
    *out = (int32_t)v;
    return true;
}

bool tl_transform_time_start(tl_transform transform, int32_t v, int64_t *out_us) {
    int64_t months;
    switch (transform) {
    case TL_TRANSFORM_HOUR: return tl_i64_mul(v, US_PER_HOUR, out_us);
    case TL_TRANSFORM_DAY: return tl_i64_mul(v, US_PER_DAY, out_us);
    case TL_TRANSFORM_MONTH: months = v; break;
    case TL_TRANSFORM_YEAR: months = (int64_t)v * 12; break;
    default: return false;
    }
    int64_t year = tl_floor_div(months, 12);
    int32_t month = (int32_t)(months - year * 12) + 1;
    return tl_i64_mul(tl_civil_to_days(1970 + year, month, 1), US_PER_DAY, out_us);
}

void tl_transform_time_label(tl_transform transform, int32_t v, char out[32]) {
    int64_t days = 0, year = -1;
    int32_t month = 0, day = 0, hour = 0;
    switch (transform) {
    case TL_TRANSFORM_HOUR:
        days = tl_floor_div(v, 24);
        hour = (int32_t)(v - days * 24);
        tl_civil_from_days(days, &year, &month, &day);
        break;
    case TL_TRANSFORM_DAY: tl_civil_from_days(v, &year, &month, &day); break;
    case TL_TRANSFORM_MONTH:
        year = 1970 + tl_floor_div(v, 12);
        month = (int32_t)(v - (year - 1970) * 12) + 1;
        break;
    case TL_TRANSFORM_YEAR: year = 1970 + (int64_t)v; break;
    default: break;
    }
    int y = (int)year;
    if (year < 0 || year > 9999) {
        (void)snprintf(out, 32, "%d", v);
    } else if (transform == TL_TRANSFORM_HOUR) {
        (void)snprintf(out, 32, "%04d-%02d-%02d-%02d", y, month, day, hour);
    } else if (transform == TL_TRANSFORM_DAY) {
        (void)snprintf(out, 32, "%04d-%02d-%02d", y, month, day);
    } else if (transform == TL_TRANSFORM_MONTH) {
        (void)snprintf(out, 32, "%04d-%02d", y, month);
    } else {
        (void)snprintf(out, 32, "%04d", y);
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
