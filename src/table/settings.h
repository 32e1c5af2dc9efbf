/*
 * The settings of spec f (and ours): names, kinds, defaults, levels, checks and their messages. A setting `name` is the
 * table property `timelake.<name>`; `name_with_underscores` and any case are accepted.
 */
#ifndef TL_TABLE_SETTINGS_H
#define TL_TABLE_SETTINGS_H

#include "iceberg/metadata.h"

typedef enum tl_setting_kind {
    TL_SETTING_BOOL,
    TL_SETTING_COUNT,
    TL_SETTING_BYTES,    /* "1GiB", "512MB", plain bytes */
    TL_SETTING_DURATION, /* "1h", "730d"; stored canonically */
    TL_SETTING_DURATION_OR_OFF,
    TL_SETTING_CHOICE, /* one of `choices`, comma-separated */
    TL_SETTING_COLUMN,
    TL_SETTING_COLUMNS,
    TL_SETTING_EPOCH_MS
} tl_setting_kind;

typedef enum tl_setting_level {
    TL_LEVEL_CREATE = 1,
    TL_LEVEL_TABLE = 2,
    TL_LEVEL_SESSION = 4,
    TL_LEVEL_CALL = 8,
    TL_LEVEL_MANAGED = 16 /* by Timelake itself */
} tl_setting_level;

typedef struct tl_setting {
    const char *name;
    tl_setting_kind kind;
    const char *default_value; /* as shown; NULL = none */
    const char *choices;
    unsigned levels;         /* tl_setting_level bits */
    const char *description; /* one sentence */
} tl_setting;

/* All settings, in the order they are shown. */
const tl_setting *tl_settings_all(size_t *n);
/* By any accepted spelling ("retention", "READ_DEDUP", "timelake.read-dedup"); NULL = unknown. */
const tl_setting *tl_setting_find(const char *name);

/* Checks a value for a level and gives its canonical form (caller frees). Errors as in spec f: `unknown setting "..."`
 * (with the nearest name), "fixed when the table is created", "only at: table", bad value with the property name. */
tl_status tl_setting_check(const char *name, const char *value, unsigned level, const tl_setting **setting,
                           char **canonical, tl_error *err) TL_CHECKED;

/* The value in force in a table: property, else default. The text was checked when it was set; a bad one written by
 * another program gives the default. `m` may be NULL. */
const char *tl_setting_text(const tl_metadata *m, const char *name);
bool tl_setting_bool(const tl_metadata *m, const char *name);
int64_t tl_setting_int(const tl_metadata *m, const char *name);         /* COUNT, BYTES, EPOCH_MS */
int64_t tl_setting_duration_us(const tl_metadata *m, const char *name); /* -1 = off or none */

/* "90m" -> microseconds; spec f's units. False = not a duration. */
bool tl_duration_parse(const char *text, int64_t *out_us);
/* "512MiB", "1GB", "1048576" -> bytes. */
bool tl_bytes_parse(const char *text, int64_t *out);

#endif
