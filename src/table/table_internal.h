/* What the files of the table room share: names of metadata objects and the search for the newest. */
#ifndef TL_TABLE_INTERNAL_H
#define TL_TABLE_INTERNAL_H

#include "table/table.h"

typedef enum tl_metadata_name {
    TL_NAME_NONE,
    TL_NAME_VERSION,    /* v7.metadata.json */
    TL_NAME_VERSION_GZ, /* v7.gz.metadata.json, v7.metadata.json.gz */
    TL_NAME_CATALOG     /* 00007-<uuid>.metadata.json, also .gz.metadata.json: which one counts, a catalog knows */
} tl_metadata_name;

/* What kind of metadata object the file name is, and its number. */
tl_metadata_name tl_metadata_name_parse(const char *file_name, int64_t *version);

/* Key and number of the table's newest metadata object. TL_NOT_FOUND when there is none. Caller frees the key. */
tl_status tl_version_newest(tl_store *store, const char *prefix, int64_t *version, char **key, tl_error *err);
/* The one that follows `version`, if it is there: then key and true. */
tl_status tl_version_next(tl_store *store, const char *prefix, int64_t version, char **key, bool *found, tl_error *err);

#define TL_VERSION_HINT "metadata/version-hint.text"

#endif
