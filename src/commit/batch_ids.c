/* Remembered batch ids: reading, catching up, writing, finding. The form is described in the header. */
#include "commit/batch_ids.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "commit/history_internal.h"
#include "commit/sha256_internal.h"

static void hash_of(const char *batch_id, uint8_t out[TL_BATCH_HASH]) {
    uint8_t full[32];
    tl_sha256(tl_bytes_of(batch_id), full);
    memcpy(out, full, TL_BATCH_HASH);
}

void tl_batch_ids_free(tl_batch_ids *ids) {
    tl_free(ids->entries);
    *ids = (tl_batch_ids){0};
}

static tl_status add_hash(tl_batch_ids *ids, int64_t sequence, const uint8_t hash[TL_BATCH_HASH], tl_error *err) {
    tl_batch_entry *entries = tl_grow(ids->entries, &ids->cap, ids->n + 1, 64, sizeof *entries, err);
    if (!entries) {
        return TL_NO_MEMORY;
    }
    ids->entries = entries;
    ids->entries[ids->n].sequence = sequence;
    memcpy(ids->entries[ids->n++].hash, hash, TL_BATCH_HASH);
    return TL_OK;
}

/* ---- base64 ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit_value(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Without padding: the length says it. */
static tl_status encode(tl_bytes in, tl_buf *out) {
    for (size_t i = 0; i < in.len; i += 3) {
        size_t n = in.len - i < 3 ? in.len - i : 3;
        uint32_t v =
            (uint32_t)in.data[i] << 16 | (n > 1 ? (uint32_t)in.data[i + 1] << 8 : 0) | (n > 2 ? in.data[i + 2] : 0);
        char text[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
        TL_TRY(tl_buf_add(out, text, n + 1));
    }
    return TL_OK;
}

/* TL_CORRUPT for anything that `encode` does not write. */
static tl_status decode(const char *text, tl_buf *out) {
    size_t len = strlen(text);
    TL_TRY(tl_buf_reserve(out, len / 4 * 3 + 3));
    for (size_t i = 0; i < len; i += 4) {
        size_t n = len - i < 4 ? len - i : 4;
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            int d = k < n ? digit_value(text[i + k]) : 0;
            if (d < 0 || n == 1) {
                return TL_CORRUPT;
            }
            v = v << 6 | (uint32_t)d;
        }
        uint8_t bytes[3] = {(uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
        TL_TRY(tl_buf_add(out, bytes, n - 1));
    }
    return TL_OK;
}

/* ---- the property ---- */

static bool read_varint(tl_bytes in, size_t *at, int64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 63 && *at < in.len; shift += 7) {
        uint8_t byte = in.data[(*at)++];
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = (int64_t)v;
            return true;
        }
    }
    return false;
}

static tl_status read_entries(tl_bytes in, tl_batch_ids *out, tl_error *err) {
    int64_t sequence = 0, step;
    for (size_t at = 0; at < in.len;) {
        if (!read_varint(in, &at, &step) || in.len - at < TL_BATCH_HASH || !tl_i64_add(sequence, step, &sequence)) {
            return TL_CORRUPT;
        }
        TL_TRY(add_hash(out, sequence, in.data + at, err));
        at += TL_BATCH_HASH;
    }
    return out->n && out->entries[out->n - 1].sequence > out->sequence ? TL_CORRUPT : TL_OK;
}

static tl_status read_property(const tl_metadata *m, tl_batch_ids *out, tl_error *err) {
    const char *text = tl_metadata_property(m, TL_BATCH_IDS_PROPERTY);
    if (!text) {
        return TL_OK;
    }
    out->stored = true;
    const char *second = strncmp(text, "1:", 2) == 0 ? strchr(text + 2, ':') : NULL;
    if (!second || tl_parse_i64((tl_bytes){(const uint8_t *)text + 2, (size_t)(second - text - 2)}, &out->sequence) !=
                       TL_PARSE_OK) {
        out->sequence = 0;
        return TL_OK;
    }
    tl_buf raw = {0};
    tl_status status = decode(second + 1, &raw);
    if (status == TL_OK) {
        status = read_entries(tl_buf_bytes(&raw), out, err);
    }
    tl_buf_free(&raw);
    if (status == TL_CORRUPT) {
        out->n = 0;
        out->sequence = 0;
        return TL_OK;
    }
    return status == TL_OK ? TL_OK : tl_fail_memory(err, strlen(text));
}

/* ---- catching up with the history ---- */

static void drop_between(tl_batch_ids *ids, int64_t above, int64_t below) {
    size_t kept = 0;
    for (size_t i = 0; i < ids->n; i++) {
        if (!(ids->entries[i].sequence > above && ids->entries[i].sequence < below)) {
            ids->entries[kept++] = ids->entries[i];
        }
    }
    ids->n = kept;
}

static void cut_above(tl_batch_ids *ids, int64_t sequence) {
    drop_between(ids, sequence, INT64_MAX);
    ids->sequence = ids->sequence < sequence ? ids->sequence : sequence;
}

static void reverse(tl_batch_entry *entries, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        tl_batch_entry e = entries[i];
        entries[i] = entries[n - 1 - i];
        entries[n - 1 - i] = e;
    }
}

/* Does the way back from the current snapshot pass through the one that was current when the ids were written? */
static bool leads_to(const tl_metadata *m, const tl_snapshot *s, int64_t sequence) {
    for (int32_t steps = 0; s && s->sequence_number > sequence && steps <= m->n_snapshots; steps++) {
        const tl_snapshot *parent = tl_history_parent(m, s);
        if (!parent && s->parent_id != -1) {
            return true; /* expired meanwhile: nothing speaks against it */
        }
        s = parent;
    }
    return s && s->sequence_number == sequence;
}

/* Somebody rolled back, perhaps to a branch that was abandoned before: only what lies before the retained ancestry is
 * taken from the property, the rest is read from the ancestry again. */
static void start_over(const tl_metadata *m, tl_batch_ids *ids) {
    const tl_snapshot *s = tl_metadata_current(m), *parent = NULL;
    for (int32_t steps = 0; steps <= m->n_snapshots && (parent = tl_history_parent(m, s)) != NULL; steps++) {
        s = parent;
    }
    cut_above(ids, s->sequence_number - 1);
    ids->sequence = s->sequence_number - 1;
}

/* From the current snapshot back to what is known: ids of others come in, those of abandoned snapshots go. */
static tl_status catch_up(const tl_metadata *m, tl_batch_ids *ids, tl_error *err) {
    const tl_snapshot *current = tl_metadata_current(m), *s = current;
    if (!current) {
        cut_above(ids, 0);
        return TL_OK;
    }
    if (!leads_to(m, current, ids->sequence)) {
        start_over(m, ids);
    }
    tl_batch_ids walked = {0};
    tl_status status = TL_OK;
    for (int32_t steps = 0; status == TL_OK && s && s->sequence_number > ids->sequence && steps <= m->n_snapshots;
         steps++) {
        const char *id = tl_snapshot_summary(s, TL_BATCH_ID_SUMMARY);
        const tl_snapshot *parent = tl_history_parent(m, s);
        uint8_t hash[TL_BATCH_HASH];
        if (id) {
            hash_of(id, hash);
            status = add_hash(&walked, s->sequence_number, hash, err);
        }
        if (parent || s->parent_id == -1) {
            drop_between(ids, parent ? parent->sequence_number : -1, s->sequence_number);
        }
        s = parent;
    }
    reverse(walked.entries, walked.n);
    for (size_t i = 0; status == TL_OK && i < walked.n; i++) {
        status = add_hash(ids, walked.entries[i].sequence, walked.entries[i].hash, err);
    }
    tl_batch_ids_free(&walked);
    ids->sequence = current->sequence_number;
    return status;
}

tl_status tl_batch_ids_read(const tl_metadata *m, tl_batch_ids *out, tl_error *err) {
    *out = (tl_batch_ids){0};
    tl_status status = read_property(m, out, err);
    if (status == TL_OK) {
        status = catch_up(m, out, err);
    }
    if (status != TL_OK) {
        tl_batch_ids_free(out);
    }
    return status;
}

tl_status tl_batch_ids_add(tl_batch_ids *ids, const char *batch_id, int64_t sequence, tl_error *err) {
    uint8_t hash[TL_BATCH_HASH];
    if (batch_id) {
        hash_of(batch_id, hash);
        TL_TRY(add_hash(ids, sequence, hash, err));
    }
    ids->sequence = sequence;
    return TL_OK;
}

static tl_status pack(const tl_batch_ids *ids, size_t from, tl_buf *raw) {
    int64_t before = 0;
    for (size_t i = from; i < ids->n; i++) {
        uint64_t step = (uint64_t)(ids->entries[i].sequence - before);
        before = ids->entries[i].sequence;
        for (; step >= 0x80; step >>= 7) {
            TL_TRY(tl_buf_add_byte(raw, (uint8_t)(step | 0x80)));
        }
        TL_TRY(tl_buf_add_byte(raw, (uint8_t)step));
        TL_TRY(tl_buf_add(raw, ids->entries[i].hash, TL_BATCH_HASH));
    }
    return TL_OK;
}

tl_status tl_batch_ids_store(const tl_batch_ids *ids, int64_t keep, tl_metadata *m, tl_error *err) {
    if (keep <= 0 || ids->n == 0) {
        return tl_metadata_set_property(m, TL_BATCH_IDS_PROPERTY, NULL, err);
    }
    tl_buf raw = {0}, text = {0};
    tl_status status = pack(ids, ids->n > (uint64_t)keep ? ids->n - (size_t)keep : 0, &raw);
    status = status == TL_OK ? tl_buf_printf(&text, "1:%lld:", (long long)ids->sequence) : status;
    status = status == TL_OK ? encode(tl_buf_bytes(&raw), &text) : status;
    status = status == TL_OK ? tl_buf_add_byte(&text, 0) : status;
    status = status == TL_OK ? tl_metadata_set_property(m, TL_BATCH_IDS_PROPERTY, (const char *)text.data, err)
                             : tl_fail_memory(err, raw.len);
    tl_buf_free(&raw);
    tl_buf_free(&text);
    return status;
}

/* ---- finding ---- */

static bool in_history(const tl_metadata *m, const char *batch_id) {
    bool listed = false;
    for (int32_t i = 0; i < m->n_snapshots && !listed; i++) {
        const char *id = tl_snapshot_summary(&m->snapshots[i], TL_BATCH_ID_SUMMARY);
        listed = id && strcmp(id, batch_id) == 0;
    }
    if (!listed) {
        return false; /* the usual case, without a walk */
    }
    const tl_snapshot *s = tl_metadata_current(m);
    for (int32_t steps = 0; s && steps <= m->n_snapshots; steps++) {
        const char *id = tl_snapshot_summary(s, TL_BATCH_ID_SUMMARY);
        if (id && strcmp(id, batch_id) == 0) {
            return true;
        }
        s = tl_history_parent(m, s);
    }
    return false;
}

tl_status tl_batch_ids_find(const tl_metadata *m, const char *batch_id, bool *found, tl_error *err) {
    *found = in_history(m, batch_id);
    if (*found || !tl_metadata_property(m, TL_BATCH_IDS_PROPERTY)) {
        return TL_OK;
    }
    tl_batch_ids ids;
    TL_TRY(tl_batch_ids_read(m, &ids, err));
    uint8_t hash[TL_BATCH_HASH];
    hash_of(batch_id, hash);
    for (size_t i = 0; i < ids.n && !*found; i++) {
        *found = memcmp(ids.entries[i].hash, hash, TL_BATCH_HASH) == 0;
    }
    tl_batch_ids_free(&ids);
    return TL_OK;
}
