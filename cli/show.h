/*
 * Arrow values as text, for tables, CSV and JSON. Comes in: trusted arrays (of DuckDB's or of our own making). Goes
 * out: text, the same in every locale and time zone: times are ISO 8601 with "Z" where they are UTC.
 */
#ifndef TL_CLI_SHOW_H
#define TL_CLI_SHOW_H

#include <nanoarrow/nanoarrow.h>

#include "cli/cli.h"

typedef enum tl_show_style {
    TL_SHOW_PLAIN, /* as it stands; nested values as JSON */
    TL_SHOW_JSON   /* a JSON value */
} tl_show_style;

/* A type, prepared for showing. Lives in an arena; strings too. */
typedef struct tl_shown {
    const char *name;
    enum ArrowType type;
    int64_t per_second; /* times and durations */
    bool utc;
    int32_t scale, bits; /* decimals */
    bool uuid;
    int64_t n;
    struct tl_shown *children;
    struct tl_shown *dictionary;
} tl_shown;

tl_status tl_show_prepare(const struct ArrowSchema *schema, tl_arena *arena, tl_shown *out, tl_error *err) TL_CHECKED;

/* Whether numbers of this type stand at the right of a table's column. */
bool tl_show_is_number(const tl_shown *s);

/* Appends row `row` of the view. A null is nothing (PLAIN) or null (JSON); ask ArrowArrayViewIsNull before. */
tl_status tl_show(const tl_shown *s, const struct ArrowArrayView *v, int64_t row, tl_show_style style, tl_buf *out,
                  tl_error *err) TL_CHECKED;

/* A JSON string of a text; bad UTF-8 comes out as U+FFFD. */
tl_status tl_show_json_text(tl_bytes text, tl_buf *out) TL_CHECKED;

#endif
