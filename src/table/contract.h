/*
 * What a table promises about its rows: time column, series key, partition, dedup, insertion time. Read from the
 * metadata's properties (`timelake.*`), checked against its schema. Tables of other writers have an empty contract.
 */
#ifndef TL_TABLE_CONTRACT_H
#define TL_TABLE_CONTRACT_H

#include "iceberg/metadata.h"

typedef struct tl_contract {
    int32_t time;    /* index of the time column in the schema; -1 = a plain table */
    int32_t ingest;  /* index of the insertion-time column; -1 = none */
    int32_t *series; /* indices of the series key columns, in key order */
    int32_t n_series;
    bool dedup;                         /* readers see the last write of each (series, time) */
    bool upsert;                        /* write-policy upsert: an append deletes the rows that it replaces */
    tl_transform chunk;                 /* HOUR, DAY or MONTH of the time column; VOID for a plain table */
    int32_t format_major, format_minor; /* timelake.format-version; 0.1 when absent */
    bool foreign;                       /* no timelake.* property at all */
    tl_arena arena;
} tl_contract;

/* Errors: TL_CORRUPT when a property names a column that is not there or has the wrong type, TL_UNSUPPORTED ("format
 * 0.4.0 ... upgrade timelake") for tables newer than is read here (spec a.6). */
tl_status tl_contract_read(const tl_metadata *m, tl_contract *out, tl_error *err) TL_CHECKED;
void tl_contract_free(tl_contract *c);

#endif
