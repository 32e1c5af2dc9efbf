/*
 * What a look at a table told of the next appends. Comes in: the version after one append more. Goes out: true when
 * inline compaction can have nothing to do there, by the snapshot's summary alone; a look reads all manifests.
 *
 * A look that finds nothing says how many files must come before a run of small ones is long enough, wherever they
 * come, and from which time on the next partition is cold. Anything but one append into partitions that are not cold
 * (another version between, deletes, backfill) asks for a look.
 */
#include <string.h>

#include "base/num.h"
#include "commit/touched.h"
#include "maintain/compact_internal.h"

/* Does the append touch partitions that are not cold alone, and leave them so? */
static bool stays_hot(const tl_snapshot *s, int64_t now_us, tl_compact_outlook *o) {
    const char *text = tl_snapshot_summary(s, TL_TOUCHED_SUMMARY);
    tl_arena arena = {0};
    tl_touched_range *ranges = NULL;
    int32_t n = 0;
    bool good = text && tl_touched_parse(text, &arena, &ranges, &n, NULL) == TL_OK;
    for (int32_t i = 0; good && i < n; i++) {
        good = ranges[i].first >= o->hot_from;
        o->newest_us = ranges[i].max_us > o->newest_us ? ranges[i].max_us : o->newest_us;
    }
    tl_arena_free(&arena);
    return good && (o->newest_us < o->cold_us || now_us < o->cold_us);
}

bool tl_compact_outlook_holds(const tl_table *t, int64_t now_us, tl_compact_outlook *o) {
    const tl_metadata *m = &t->metadata;
    const tl_snapshot *s = tl_metadata_current(m);
    tl_compact_outlook next = *o;
    *o = (tl_compact_outlook){0};
    if (next.version <= 0 || !s || !m->table_uuid || strcmp(m->table_uuid, next.table) != 0 ||
        t->version != next.version + 1 || s->parent_id != next.snapshot_id) {
        return false;
    }
    const char *operation = tl_snapshot_summary(s, "operation"), *added = tl_snapshot_summary(s, "added-data-files");
    int64_t files;
    if (!operation || strcmp(operation, "append") != 0 || !added ||
        tl_parse_i64(tl_bytes_of(added), &files) != TL_PARSE_OK || files < 0 || files >= next.files_left ||
        tl_snapshot_summary(s, "added-delete-files") || (next.cold_on && !stays_hot(s, now_us, &next))) {
        return false;
    }
    next.version = t->version;
    next.snapshot_id = s->snapshot_id;
    next.files_left -= files;
    *o = next;
    return true;
}

void tl_compact_outlook_note(const tl_table *t, const tl_compact_outlook *seen, tl_compact_outlook *o) {
    const tl_snapshot *s = tl_metadata_current(&t->metadata);
    const char *uuid = t->metadata.table_uuid;
    *o = (tl_compact_outlook){0};
    if (s && uuid && strlen(uuid) < sizeof o->table) {
        *o = *seen;
        o->version = t->version;
        o->snapshot_id = s->snapshot_id;
        memcpy(o->table, uuid, strlen(uuid) + 1);
    }
}
