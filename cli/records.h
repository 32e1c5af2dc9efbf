/*
 * Text that arrives in pieces, cut into records: lines of NDJSON; records of CSV, whose quoted fields may hold line
 * breaks. Comes in: bytes, cut anywhere. Goes out: whole records that stand one behind the other in memory, each with
 * the line in which it begins. Nothing is judged here but where a record ends: a bad record stays one record.
 */
#ifndef TL_CLI_RECORDS_H
#define TL_CLI_RECORDS_H

#include "cli/cli.h"

/* A line may be so long; and a record of CSV with line breaks in it: a quote that is not closed by then is taken for a
 * mistake in the line in which the record begins. */
#define TL_LINE_MOST ((size_t)16 << 20)
#define TL_QUOTED_MOST ((size_t)1 << 20)

typedef enum tl_record_kind {
    TL_RECORD_WHOLE,
    TL_RECORD_OPEN, /* the first line of a record with a quote that does not end: must not be read with what follows */
    TL_RECORD_TOO_LONG /* the beginning of a line that is longer than TL_LINE_MOST */
} tl_record_kind;

typedef struct tl_record {
    size_t at, len; /* in `bytes`, with the line break */
    int64_t line;
    tl_record_kind kind;
} tl_record;

typedef struct tl_records {
    bool csv;
    char delimiter;
    tl_buf bytes; /* the header, then the records, then the one that has begun */
    size_t head;  /* bytes of the header line, of CSV; 0 = not there yet */
    tl_record *items;
    size_t n, cap;
    size_t begin, scanned; /* of the record that has begun; how far it was looked at */
    int64_t line, at_line; /* in which it begins; being looked at */
    int state;
    bool skipping; /* what is left of a line that is too long */
} tl_records;

/* Zeroed except for csv and delimiter = ready. */
void tl_records_free(tl_records *r);

/* Takes bytes. */
tl_status tl_records_add(tl_records *r, const void *data, size_t len, tl_error *err) TL_CHECKED;
/* There is no more. A quote that is open then is a mistake; the last line without a line break is a record too when it
 * is `whole`, else it stays what has begun. */
tl_status tl_records_end(tl_records *r, bool whole, tl_error *err) TL_CHECKED;

/* The record's text, without its line break. */
tl_bytes tl_record_text(const tl_records *r, const tl_record *record);
/* What has begun and did not end. */
tl_bytes tl_records_begun(const tl_records *r);

/* Lets go of the records; header and what has begun stay. */
void tl_records_clear(tl_records *r);

#endif
