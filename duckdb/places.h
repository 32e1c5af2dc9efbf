/*
 * What users of the extension call a table. Comes in: a text. Goes out: an open lake and a table's name in it.
 *
 *     /data/lake/default/readings       the table's folder (its location), also as file:///...
 *     /data/lake/readings               a lake's folder and a table's name in it
 *     /data/lake/iot.readings
 *
 * Lakes are opened once in a process and stay open. For many threads at once.
 */
#ifndef TL_DUCKDB_PLACES_H
#define TL_DUCKDB_PLACES_H

#include "duckdb/versions.h"

typedef struct tl_place {
    tl_lake *lake; /* borrowed */
    char *name;    /* "ns.t"; freed with tl_free */
} tl_place;

/* TL_NOT_FOUND when there is neither such a table nor such a lake. */
tl_status tl_place_find(const char *text, tl_place *out, tl_error *err) TL_CHECKED;

/* An open lake by its folder. Borrowed. */
tl_status tl_place_lake(const char *folder, tl_lake **out, tl_error *err) TL_CHECKED;

/* Removes "file://" from the front and slashes from the end; caller frees. */
char *tl_place_path(const char *text);

#endif
