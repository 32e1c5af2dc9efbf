/* What the files of the extension share. */
#ifndef TL_DUCKDB_EXTENSION_INTERNAL_H
#define TL_DUCKDB_EXTENSION_INTERNAL_H

#include "duckdb/host.h"
#include "duckdb/places.h"

/* All versions in use by this process. Made when the extension is first loaded, never freed. */
tl_versions *tl_ext_versions(void);

/* What users write to name a table and which of its versions; "" = not given. */
typedef struct tl_ext_texts {
    const char *path, *snapshot, *as_of, *dedup, *strategy;
    const char *time_from, *time_to; /* rows whose time is not before the one, and before the other */
} tl_ext_texts;

/* The same, understood. Caller frees place.name. */
typedef struct tl_ext_request {
    tl_place place;
    tl_version_want want;
} tl_ext_request;
tl_status tl_ext_request_of(const tl_ext_texts *texts, tl_ext_request *out, tl_error *err) TL_CHECKED;

/* The SELECT for a request, NUL-terminated; `latest`: the newest rows of each series. */
tl_status tl_ext_select(const tl_ext_texts *texts, bool latest, tl_buf *out, tl_error *err) TL_CHECKED;

/* select.c, listings.c, mount.c: the functions that LOAD adds. */
tl_status tl_ext_add_select(duckdb_connection connection, tl_error *err) TL_CHECKED;
tl_status tl_ext_add_listings(duckdb_connection connection, tl_error *err) TL_CHECKED;
tl_status tl_ext_add_mount(duckdb_connection connection, tl_error *err) TL_CHECKED;
/* replacement.c: FROM 'timelake:path?options'. */
void tl_ext_add_replacement(duckdb_database database);

/* The statements that make timelake(path, ...) and timelake_latest(path). `kind`: "" or "TEMP ". */
#define TL_EXT_MACROS(kind)                                                                                            \
    "CREATE OR REPLACE " kind "MACRO timelake(path, snapshot := NULL, as_of := NULL, dedup := NULL, "                  \
    "strategy := NULL, time_from := NULL, time_to := NULL) AS TABLE FROM query(tl_sql(path, "                          \
    "CAST(snapshot AS VARCHAR), CAST(as_of AS VARCHAR), CAST(dedup AS VARCHAR), CAST(strategy AS VARCHAR), "           \
    "CAST(time_from AS VARCHAR), CAST(time_to AS VARCHAR)));\n"                                                        \
    "CREATE OR REPLACE " kind "MACRO timelake_latest(path) AS TABLE FROM query(tl_latest_sql(path));\n"

/* Text of a VARCHAR vector's row; caller frees with tl_free, NULL = out of memory. */
char *tl_ext_text_at(duckdb_vector vector, idx_t row);

/* ---- table functions whose rows are known when they are bound (listings.c) ---- */

typedef struct tl_ext_column {
    const char *name;
    duckdb_type type; /* BIGINT, VARCHAR, BOOLEAN or TIMESTAMP_TZ */
} tl_ext_column;

typedef struct tl_ext_cell {
    bool known;       /* false = null */
    int64_t number;   /* also of a boolean and a time */
    const char *text; /* in the arena of the rows */
} tl_ext_cell;

typedef struct tl_ext_rows {
    const tl_ext_column *columns;
    int32_t n_columns;
    tl_ext_cell *cells;
    int64_t n, cap;
    tl_arena arena;
} tl_ext_rows;

/* A row more, all null; NULL when memory ends. */
tl_ext_cell *tl_ext_rows_add(tl_ext_rows *rows);
static inline tl_ext_cell tl_ext_number(int64_t v) {
    return (tl_ext_cell){.known = true, .number = v};
}

typedef tl_status (*tl_ext_fill)(duckdb_bind_info info, tl_ext_rows *rows, tl_error *err);

/* A table function of one VARCHAR parameter and named ones (names, ended by NULL), which take any value. */
typedef struct tl_ext_listing {
    const char *name;
    const tl_ext_column *columns;
    int32_t n_columns;
    const char *const *named;
    tl_ext_fill fill;
} tl_ext_listing;

/* Parameter 0 (name NULL), or a named one, as text; "" when it was not given. Caller frees with tl_free; NULL = out of
 * memory. */
char *tl_ext_parameter(duckdb_bind_info info, const char *name);

#endif
