/*
 * How late rows come (spec 12, issue #67): the distribution of insertion time less time, overall and per series.
 * Comes in: a table version. Goes out: quantiles, and for how long after its end a slot of time has to stay open so
 * that the wanted share of its rows is in.
 */
#ifndef TL_READ_ARRIVALS_H
#define TL_READ_ARRIVALS_H

#include "read/read.h"

/* Delays in microseconds: negative where a device's clock is ahead. Quantiles are never less than the true ones and at
 * most 1/32 of their size above; least and greatest are exact. */
typedef struct tl_arrival_sum {
    int64_t rows; /* with a time and an insertion time */
    int64_t least_us, p50_us, p90_us, p99_us, greatest_us;
    int64_t late_rows; /* came more than a slot's length after their time */
    int64_t open_us;   /* after a slot's end until the wanted share of its rows has come; >= 0 */
} tl_arrival_sum;

typedef struct tl_arrival_report {
    tl_arrival_sum all;
    int64_t unknown_rows; /* time or insertion time is null */
    int64_t slot_us;      /* length of a slot; 0 = a calendar month */
    int64_t n_series;
    tl_arrival_sum *series; /* by p99, greatest first, then by series key */
    tl_rows keys;           /* row i: the key columns of series i, in key order */
    tl_schema key_schema;   /* their fields */
    tl_arena key_arena;     /* of key_schema */
} tl_arrival_report;

typedef struct tl_arrival_options {
    tl_plan_options plan; /* snapshot, time and key filters, pool; copies are always counted: each one arrived */
    int64_t slot_us;      /* 0 = the table's partition: hour, day or month */
    double cover;         /* share of rows that open_us covers: 0 < cover <= 1 */
} tl_arrival_options;

/* Reads the key, time and insertion-time columns. TL_INVALID for a table without time or insertion time. Memory grows
 * with series times their different delays, not with rows. Caller frees `out` with tl_arrival_report_free. */
tl_status tl_arrival_report_read(tl_table *table, const tl_arrival_options *options, tl_arrival_report *out,
                                 tl_error *err) TL_CHECKED;
void tl_arrival_report_free(tl_arrival_report *a);

/* ---- the buckets behind the quantiles (arrival_counts.c) ---- */

/* Buckets ascend with the delay; each is at most 1/32 of its delays wide. */
int32_t tl_arrival_bucket(int64_t delay_us);
int64_t tl_arrival_bucket_greatest(int32_t bucket);

/* Counts by (series, measure, bucket). */
typedef struct tl_arrival_count {
    uint64_t key;
    int64_t n; /* 0 = an empty place */
} tl_arrival_count;

typedef struct tl_arrival_counts {
    tl_arrival_count *places; /* open addressing; after tl_arrival_counts_sort a sorted list of `n` */
    size_t n, cap;
} tl_arrival_counts;

enum { TL_ARRIVAL_DELAY, TL_ARRIVAL_OVERDUE };

tl_status tl_arrival_counts_add(tl_arrival_counts *c, int32_t series, int measure, int32_t bucket, int64_t n,
                                tl_error *err) TL_CHECKED;
void tl_arrival_counts_free(tl_arrival_counts *c);
/* Ends the counting. */
void tl_arrival_counts_sort(tl_arrival_counts *c);
/* The counts of one series and measure in a sorted list, buckets ascending. */
const tl_arrival_count *tl_arrival_counts_of(const tl_arrival_counts *c, int32_t series, int measure, size_t *n);
int32_t tl_arrival_count_bucket(const tl_arrival_count *c);
/* The least bucket bound that covers the share `q` of all counts; `n` >= 1. */
int64_t tl_arrival_quantile(const tl_arrival_count *counts, size_t n, double q);

#endif
