/* What policy `upsert` asks of a table; see policy.h. */
#include "table/policy.h"

#include <string.h>

#include "table/settings.h"

static bool is_upsert(const tl_metadata *m) {
    return strcmp(tl_setting_text(m, "write-policy"), "upsert") == 0;
}

static bool wants_vectors(const tl_metadata *m) {
    return strcmp(tl_setting_text(m, "delete-format"), "dv") == 0;
}

tl_status tl_policy_check(const tl_metadata *m, tl_error *err) {
    const char *format = tl_metadata_property(m, "timelake.delete-format");
    if (m->format_version >= 3 && format && !wants_vectors(m)) {
        return tl_fail(err, TL_INVALID,
                       "the table has Iceberg format version 3, in which deletes are deletion vectors: "
                       "timelake.delete-format cannot go back to \"position\"");
    }
    if (!is_upsert(m)) {
        return TL_OK;
    }
    if (!tl_metadata_property(m, "timelake.time-column") || !tl_setting_bool(m, "dedup")) {
        return tl_fail(err, TL_INVALID,
                       "timelake.write-policy upsert needs keys: a table with a time column and dedup, which is on "
                       "by default with a series key");
    }
    return TL_OK;
}

int32_t tl_policy_iceberg_version(const tl_metadata *m) {
    int32_t least = is_upsert(m) && wants_vectors(m) ? 3 : 2;
    return m->format_version > least ? m->format_version : least;
}

bool tl_policy_vectors(const tl_metadata *m) {
    return m->format_version >= 3;
}
