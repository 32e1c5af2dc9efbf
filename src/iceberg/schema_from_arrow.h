/*
 * A new table's schema from an Arrow schema. Comes in: the Arrow schema of the first data or of the caller. Goes out:
 * the table's columns, types and field ids.
 */
#ifndef TL_ICEBERG_SCHEMA_FROM_ARROW_H
#define TL_ICEBERG_SCHEMA_FROM_ARROW_H

#include "iceberg/types.h"

/* Rules (spec e):
 *   int8, int16, int32, uint8, uint16 -> int; uint32, int64 -> long; uint64 is refused
 *   float16, float32 -> float; float64 -> double; bool; string (large, view) -> string; binary -> binary
 *   fixed-size binary -> fixed, or uuid when it carries the extension name arrow.uuid
 *   date -> date; time -> time; timestamp -> timestamp, with any zone timestamptz; units coarser or finer than
 *   microseconds are fine (a value that does not fit is an error when it is appended)
 *   decimals of up to 38 digits -> decimal; lists of any layout -> list; struct; map
 *   dictionaries and run-ends: as their values; null, duration, interval, union are refused
 * Columns keep their order and nullability and get the ids 1..n; then nested fields, each struct's fields, element, or
 * key and value one after the other before what lies within them (spec a.3). `time_column` (NULL = a plain table) must
 * be a timestamp or text, and becomes required; text becomes timestamptz. `ingest_column` (NULL = none) is appended as
 * a required timestamptz; a timestamp column of that name stays where it is and becomes one. Errors: TL_INVALID naming
 * the column, also for names that are empty, not UTF-8, or differ in nothing but ASCII case (SQL could not tell them
 * apart). Everything of `out` lives in `arena`; the Arrow schema is not kept or released. */
tl_status tl_schema_from_arrow(const struct ArrowSchema *arrow, const char *time_column, const char *ingest_column,
                               tl_arena *arena, tl_schema *out, tl_error *err) TL_CHECKED;

/* Gives the ids `first`, `first` + 1 ... to all fields in that order; the next free id. */
int32_t tl_schema_assign_ids(tl_schema *schema, int32_t first);

#endif
