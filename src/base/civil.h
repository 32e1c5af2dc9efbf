/*
 * Days since 1970-01-01 and calendar dates (proleptic Gregorian), for every int64 day. Header-only and pure.
 * Method: 400-year eras of 146,097 days that begin on March 1st, so that the leap day is the last day of a year.
 */
#ifndef TL_BASE_CIVIL_H
#define TL_BASE_CIVIL_H

#include "base/base.h"

typedef struct tl_civil {
    int64_t year; /* 0 = 1 BC */
    int32_t month, day;
} tl_civil;

enum { TL_ERA_DAYS = 146097, TL_ERA_SHIFT = 719468 /* days from 0000-03-01 to 1970-01-01 */ };

#define TL_US_PER_SECOND INT64_C(1000000)
#define TL_US_PER_DAY INT64_C(86400000000)

static inline bool tl_civil_is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline int32_t tl_civil_month_days(int64_t year, int32_t month) {
    if (month == 2) {
        return tl_civil_is_leap(year) ? 29 : 28;
    }
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static inline tl_civil tl_civil_from_days(int64_t days) {
    int64_t era = tl_floor_div(days, TL_ERA_DAYS);
    int64_t in_era = days % TL_ERA_DAYS; /* not by era * TL_ERA_DAYS, which may wrap */
    int64_t rest = (in_era < 0 ? in_era + TL_ERA_DAYS : in_era) + TL_ERA_SHIFT;
    era += rest / TL_ERA_DAYS;
    int64_t doe = rest % TL_ERA_DAYS;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153; /* months since March */
    tl_civil c;
    c.day = (int32_t)(doy - (153 * mp + 2) / 5 + 1);
    c.month = (int32_t)(mp < 10 ? mp + 3 : mp - 9);
    c.year = yoe + era * 400 + (c.month <= 2);
    return c;
}

/* False when there is no such date (month, day) or its day number does not fit int64. */
static inline bool tl_civil_to_days(int64_t year, int32_t month, int32_t day, int64_t *out) {
    if (month < 1 || month > 12 || day < 1 || day > tl_civil_month_days(year, month)) {
        return false;
    }
    int64_t y;
    if (!tl_i64_add(year, month <= 2 ? -1 : 0, &y)) {
        return false;
    }
    int64_t era = tl_floor_div(y, 400);
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    /* Five eras are taken off before the multiplication, so that it only wraps when the sum does not fit either. */
    int64_t shift = era >= 0 ? 5 : 0, base;
    return tl_i64_mul(era - shift, TL_ERA_DAYS, &base) &&
           tl_i64_add(base, shift * TL_ERA_DAYS - TL_ERA_SHIFT + doe, out);
}

#endif
