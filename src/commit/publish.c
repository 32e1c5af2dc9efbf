/*
 * After a commit: the version hint and the head. Both are only caches, so whatever fails here is ignored, and neither
 * is synced: a power loss leaves an old or an empty one, which readers see through. The hint follows every commit,
 * since some readers (DuckDB) have nothing else; a head costs as much as the commit, so at most one a second is
 * written.
 */
#include "base/mem.h"
#include "base/num.h"
#include "commit/commit_internal.h"
#include "table/head.h"
#include "table/settings.h"

static void put_hint(tl_table *t) {
    char *key = tl_format("%s/metadata/version-hint.text", t->prefix);
    char text[TL_NUM_TEXT];
    (void)tl_print_i64(t->version, text);
    if (key) {
        (void)!tl_store_put(t->store, key, tl_bytes_of(text), TL_PUT_LATER, NULL);
    }
    tl_free(key);
}

/* Files of the current snapshot by its own count; -1 = it does not say. */
static int64_t live_files(const tl_table *t) {
    const tl_snapshot *s = tl_metadata_current(&t->metadata);
    const char *text = s ? tl_snapshot_summary(s, "total-data-files") : "0";
    int64_t n;
    return text && tl_parse_i64(tl_bytes_of(text), &n) == TL_PARSE_OK ? n : -1;
}

/* A property that names a codec of Timelake 0.7.0's that is not written here counts as none. */
static bool wants_head(const tl_table *t) {
    const char *format = tl_metadata_property(&t->metadata, "timelake.head-format");
    int64_t n = live_files(t);
    return !t->contract.foreign && (!format || strcmp(format, "arrow") == 0) && n >= 0 && n <= TL_HEAD_FILES;
}

static bool make_head(tl_table *t, tl_buf *out) {
    tl_live_files files;
    if (tl_table_files(t, NULL, &files, NULL) != TL_OK) {
        return false;
    }
    bool made = tl_head_write(t, &files, out, NULL) == TL_OK;
    tl_live_files_free(&files);
    return made;
}

/* A head that is younger than ours, of a writer that was faster, stays. */
static bool is_newer(tl_table *t, const char *key) {
    tl_buf first = {0};
    int64_t version = 0;
    bool newer = tl_store_get_range(t->store, key, 0, 14, &first, NULL) == TL_OK &&
                 tl_head_version(tl_buf_bytes(&first), &version) && version > t->version;
    tl_buf_free(&first);
    return newer;
}

enum { HEAD_EVERY_US = 1000000 };

static void put_head(tl_table *t) {
    int64_t now = tl_env_monotonic_us(t->store->env);
    if (t->head_us && now - t->head_us < HEAD_EVERY_US) {
        return;
    }
    t->head_us = now;
    char *key = tl_format("%s/metadata/timelake-head", t->prefix);
    tl_buf head = {0};
    if (key && wants_head(t) && make_head(t, &head)) {
        if (!is_newer(t, key)) {
            (void)!tl_store_put(t->store, key, tl_buf_bytes(&head), TL_PUT_LATER, NULL);
        }
    } else if (key && !is_newer(t, key)) {
        (void)!tl_store_remove(t->store, key, NULL); /* an old one would only be read in vain */
    }
    tl_buf_free(&head);
    tl_free(key);
}

void tl_commit_publish(tl_table *t) {
    put_hint(t);
    put_head(t);
}
