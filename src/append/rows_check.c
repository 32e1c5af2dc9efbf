/*
 * What a row needs besides values that fit its columns: a time, one that its partition can hold, and no value longer
 * than a page. Comes in: an aligned batch. Goes out: the first row that cannot be stored, in words.
 */
#include "append/append.h"
#include "append/rows_check_internal.h"
#include "base/num.h"

#define VALUE_BYTES_MOST ((int64_t)INT32_MAX - ((int64_t)1 << 24) - 4) /* a Parquet page holds no longer value */

/* Texts and blobs that no page could hold; only 64-bit offsets can make them. */
static tl_status check_lengths(const tl_column *c, const char *name, int64_t first_row, tl_error *err) {
    if (c->kind == TL_COLUMN_BYTES && c->offsets64) {
        for (int64_t i = 0; i < c->length; i++) {
            int64_t len = c->offsets64[i + 1] - c->offsets64[i];
            if (len > VALUE_BYTES_MOST && !tl_column_is_null(c, i)) {
                return tl_fail(err, TL_INVALID,
                               "column \"%s\", row %lld: a value of %lld bytes is too long (at most %lld)", name,
                               (long long)(first_row + i + 1), (long long)len, (long long)VALUE_BYTES_MOST);
            }
        }
    }
    return TL_OK;
}

tl_status tl_rows_check(const tl_table *table, const tl_batch *b, int64_t first_row, tl_error *err) {
    const tl_schema *schema = tl_metadata_schema(&table->metadata);
    for (int32_t i = 0; i < b->n_columns; i++) {
        TL_TRY(check_lengths(&b->columns[i], schema->fields[i].name, first_row, err));
    }
    if (table->contract.time < 0) {
        return TL_OK;
    }
    const tl_column *time = &b->columns[table->contract.time];
    for (int64_t i = 0; time->validity && i < b->n_rows; i++) {
        if (tl_column_is_null(time, i)) {
            return tl_fail(err, TL_INVALID, "column \"%s\", row %lld: null; every row needs a time",
                           schema->fields[table->contract.time].name, (long long)(first_row + i + 1));
        }
    }
    return TL_OK;
}

tl_status tl_rows_fail_time(const tl_table *table, const tl_batch *b, int64_t row, int64_t first_row, tl_error *err) {
    const tl_contract *c = &table->contract;
    const tl_field *field = &tl_metadata_schema(&table->metadata)->fields[c->time];
    int64_t us = tl_load_i64(b->columns[c->time].values + row * 8);
    char text[TL_NUM_TEXT];
    (void)tl_print_timestamp(us, 1000000, field->type.id == TL_TYPE_TIMESTAMPTZ, text);
    const char *chunk = c->chunk == TL_TRANSFORM_HOUR ? "hour" : c->chunk == TL_TRANSFORM_MONTH ? "month" : "day";
    return tl_fail(err, TL_INVALID, "column \"%s\", row %lld: %s (%lld us) is outside what %s partitions can hold",
                   field->name, (long long)(first_row + row + 1), text, (long long)us, chunk);
}

tl_status tl_append_check(const tl_table *table, const tl_batch *b, int64_t first_row, tl_error *err) {
    TL_TRY(tl_rows_check(table, b, first_row, err));
    const tl_partition_spec *spec = tl_metadata_spec(&table->metadata);
    if (table->contract.time < 0 || !spec || spec->n_fields == 0) {
        return TL_OK;
    }
    const uint8_t *times = b->columns[table->contract.time].values;
    for (int64_t i = 0; i < b->n_rows; i++) {
        int32_t partition;
        if (!tl_transform_time(table->contract.chunk, tl_load_i64(times + i * 8), &partition)) {
            return tl_rows_fail_time(table, b, i, first_row, err);
        }
    }
    return TL_OK;
}
