/*
 * The object metadata/timelake-older. Form, little-endian:
 *   "TLOLDER1", a hash that tells builds with other hash functions apart, the table's id (16 bytes), the table's last
 *   sequence number, the number of files in it, the number of partitions (8 bytes each);
 *   per partition: its hash, its number of files, and per file its id (16), rows (8), how many are superseded (8), and
 *   the rows: nothing, gaps as varints where few are, else the bitmap;
 *   at the end 16 bytes of hash over all that.
 */
#include "read/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "commit/deletes.h"
#include "read/read_internal.h"

#define MAGIC "TLOLDER1"
#define HEAD_BYTES 56
#define TAIL_BYTES 16
#define BYTES_MOST ((uint64_t)64 << 20)
/* Written anew after so many commits at least, and once the number of files has changed by a sixteenth: what it costs
 * stays in proportion to what is added. */
#define EVERY_COMMITS 16
#define EVERY_SHARE 16

static uint64_t build_mark(void) {
    return tl_hash_bytes(MAGIC "timelake", 16, 1);
}

static tl_file_id check_of(tl_bytes b) {
    return (tl_file_id){tl_hash_bytes(b.data, b.len, 11), tl_hash_bytes(b.data, b.len, 12)};
}

/* ---- out ---- */

static tl_status add_u64(tl_buf *out, uint64_t v) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(v >> (8 * i));
    }
    return tl_buf_add(out, bytes, 8);
}

/* A gap takes a byte or two: up to a row in 16 that is shorter than bits. */
static bool as_gaps(int64_t n_rows, int64_t n_set) {
    return n_set < n_rows / 16;
}

static tl_status add_gaps(tl_buf *out, const tl_bitmap *b) {
    int64_t last = -1;
    for (int64_t at = 0; at < b->n_rows; at += 64) {
        uint64_t word = tl_load_u64(b->bits + (at >> 3));
        for (; word; word &= word - 1) {
            int64_t row = at + __builtin_ctzll(word);
            uint64_t gap = (uint64_t)(row - last - 1);
            uint8_t bytes[10];
            size_t n = 0;
            for (; gap >= 0x80; gap >>= 7) {
                bytes[n++] = (uint8_t)(gap | 0x80);
            }
            bytes[n++] = (uint8_t)gap;
            TL_TRY(tl_buf_add(out, bytes, n));
            last = row;
        }
    }
    return TL_OK;
}

static tl_status add_file(tl_buf *out, const tl_known_file *f) {
    const tl_bitmap *b = f->older;
    TL_TRY(add_u64(out, f->id.a));
    TL_TRY(add_u64(out, f->id.b));
    TL_TRY(add_u64(out, b ? (uint64_t)b->n_rows : 0));
    TL_TRY(add_u64(out, b ? (uint64_t)b->n_set : 0));
    if (!b) {
        return TL_OK;
    }
    return as_gaps(b->n_rows, b->n_set) ? add_gaps(out, b) : tl_buf_add(out, b->bits, (size_t)(b->n_rows + 7) / 8);
}

static tl_status add_all(tl_known_part *const *parts, int64_t n, tl_file_id table, int64_t sequence, tl_buf *out) {
    uint64_t files = 0;
    for (int64_t i = 0; i < n; i++) {
        files += (uint64_t)parts[i]->n;
    }
    TL_TRY(tl_buf_add(out, MAGIC, 8));
    const uint64_t head[] = {build_mark(), table.a, table.b, (uint64_t)sequence, files, (uint64_t)n};
    for (size_t i = 0; i < TL_COUNT(head); i++) {
        TL_TRY(add_u64(out, head[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        TL_TRY(add_u64(out, parts[i]->partition));
        TL_TRY(add_u64(out, (uint64_t)parts[i]->n));
        for (int64_t k = 0; k < parts[i]->n; k++) {
            TL_TRY(add_file(out, &parts[i]->files[k]));
        }
    }
    tl_file_id check = check_of(tl_buf_bytes(out));
    TL_TRY(add_u64(out, check.a));
    return add_u64(out, check.b);
}

tl_status tl_older_print(tl_known_part *const *parts, int64_t n, tl_file_id table, int64_t sequence, tl_buf *out,
                         tl_error *err) {
    return add_all(parts, n, table, sequence, out) == TL_OK ? TL_OK : tl_fail_memory(err, out->len);
}

/* ---- in ---- */

typedef struct input {
    const uint8_t *p, *end;
    bool good;
} input;

static uint64_t take_u64(input *in) {
    if (!in->good || in->end - in->p < 8) {
        in->good = false;
        return 0;
    }
    uint64_t v = tl_load_u64(in->p);
    in->p += 8;
    return v;
}

static bool take_gap(input *in, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; shift < 63 && in->p < in->end; shift += 7) {
        uint8_t byte = *in->p++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return true;
        }
    }
    return false;
}

static bool take_rows(input *in, tl_bitmap *b, uint64_t n_set) {
    size_t bytes = (size_t)(b->n_rows + 7) / 8;
    if (!as_gaps(b->n_rows, (int64_t)n_set)) {
        if ((size_t)(in->end - in->p) < bytes) {
            return false;
        }
        memcpy(b->bits, in->p, bytes);
        in->p += bytes;
    } else {
        uint64_t row = 0, gap;
        for (uint64_t i = 0; i < n_set; i++, row++) {
            if (!take_gap(in, &gap) || gap >= (uint64_t)b->n_rows - row) {
                return false;
            }
            row += gap;
            tl_bit_set(b->bits, (int64_t)row);
        }
    }
    b->n_set = tl_bits_count(b->bits, 0, b->n_rows);
    return (uint64_t)b->n_set == n_set && (b->n_rows % 8 == 0 || b->bits[bytes - 1] >> (b->n_rows % 8) == 0);
}

static void take_file(input *in, tl_known_file *f) {
    f->id.a = take_u64(in);
    f->id.b = take_u64(in);
    uint64_t rows = take_u64(in), n_set = take_u64(in);
    if (!in->good || n_set == 0) {
        in->good = in->good && rows == 0;
        return;
    }
    /* A row takes an eighth of a byte at least, in bitmaps; gaps stand for 16 rows a byte on average and more. */
    if (n_set > rows || rows > BYTES_MOST * 8 || !(f->older = tl_bitmap_create((int64_t)rows))) {
        in->good = false;
        return;
    }
    in->good = take_rows(in, f->older, n_set);
}

static tl_known_part *take_part(input *in, tl_file_id table) {
    uint64_t partition = take_u64(in), n = take_u64(in);
    if (!in->good || n > (uint64_t)(in->end - in->p) / 32) {
        return NULL;
    }
    tl_known_part *p = tl_known_part_create(table, partition, (int64_t)n);
    for (uint64_t i = 0; p && i < n && in->good; i++) {
        take_file(in, &p->files[i]);
    }
    if (p && !in->good) {
        tl_known_part_release(p);
        return NULL;
    }
    if (p) {
        tl_known_part_seal(p);
    }
    return p;
}

bool tl_older_parse(tl_bytes bytes, tl_file_id table, void (*take)(void *ctx, tl_known_part *part), void *ctx) {
    if (bytes.len < HEAD_BYTES + TAIL_BYTES || memcmp(bytes.data, MAGIC, 8) != 0) {
        return false;
    }
    tl_file_id check = check_of((tl_bytes){bytes.data, bytes.len - TAIL_BYTES});
    input tail = {bytes.data + bytes.len - TAIL_BYTES, bytes.data + bytes.len, true};
    input in = {bytes.data + 8, tail.p, true};
    bool whole = take_u64(&tail) == check.a && take_u64(&tail) == check.b;
    if (!whole || take_u64(&in) != build_mark() || take_u64(&in) != table.a || take_u64(&in) != table.b) {
        return false;
    }
    (void)take_u64(&in);
    (void)take_u64(&in);
    uint64_t n = take_u64(&in);
    if (n > bytes.len / 16) {
        return false;
    }
    tl_known_part **parts = tl_alloc_array((size_t)n, sizeof(tl_known_part *));
    uint64_t found = 0;
    while (parts && found < n && (parts[found] = take_part(&in, table))) {
        found++;
    }
    bool good = parts && found == n && in.p == in.end;
    for (uint64_t i = 0; i < found; i++) {
        if (good) {
            take(ctx, parts[i]);
        } else {
            tl_known_part_release(parts[i]);
        }
    }
    tl_free(parts);
    return good;
}

/* ---- beside the table ---- */

static char *key_of(const tl_table *t) {
    return tl_format("%s/metadata/" TL_OLDER_NAME, t->prefix);
}

static void to_cache(void *ctx, tl_known_part *part) {
    (void)ctx;
    tl_known_part *have = tl_older_cache_get(part->table, part->partition);
    if (!have || have->n < part->n) {
        tl_older_cache_put(part);
    }
    tl_known_part_release(have);
    tl_known_part_release(part);
}

void tl_older_load(const tl_table *table, tl_file_id id) {
    char *key = key_of(table);
    tl_buf bytes = {0};
    if (key && tl_store_get(table->store, key, &bytes, NULL) == TL_OK) {
        (void)tl_older_parse(tl_buf_bytes(&bytes), id, to_cache, NULL);
    }
    tl_buf_free(&bytes);
    tl_free(key);
}

/* Data files of the table, by its summary; -1 = not said. */
static int64_t count_files(const tl_table *t) {
    const char *text = tl_snapshot_summary(tl_metadata_current(&t->metadata), "total-data-files");
    int64_t n = -1;
    return text && tl_parse_i64(tl_bytes_of(text), &n) == TL_PARSE_OK ? n : -1;
}

/* Has so much been added since the object was written that it is worth writing again? */
static bool is_due(const tl_table *t, const char *key, tl_file_id id) {
    tl_buf head = {0};
    int64_t since = t->metadata.last_sequence_number, files = 0;
    if (tl_store_get_range(t->store, key, 0, HEAD_BYTES, &head, NULL) == TL_OK && memcmp(head.data, MAGIC, 8) == 0) {
        input in = {head.data + 8, head.data + head.len, true};
        bool ours = take_u64(&in) == build_mark() && take_u64(&in) == id.a && take_u64(&in) == id.b;
        uint64_t at = take_u64(&in), n = take_u64(&in);
        if (ours && at <= (uint64_t)since && n < (uint64_t)INT64_MAX) {
            since -= (int64_t)at;
            files = (int64_t)n;
        }
    }
    tl_buf_free(&head);
    int64_t now = count_files(t), changed = now < 0 ? since : now > files ? now - files : files - now;
    return since >= EVERY_COMMITS && (changed >= files / EVERY_SHARE || since >= files);
}

typedef struct live_ids {
    tl_file_id *items;
    int64_t n;
} live_ids;

static int by_id(const void *a, const void *b) {
    const tl_file_id *x = a, *y = b;
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

/* Only partitions whose files are all in the table are of use to others. */
static bool is_live(const live_ids *live, const tl_known_part *p) {
    for (int64_t i = 0; i < p->n; i++) {
        if (!bsearch(&p->files[i].id, live->items, (size_t)live->n, sizeof *live->items, by_id)) {
            return false;
        }
    }
    return true;
}

static tl_status print_live(const tl_plan *plan, tl_file_id id, tl_buf *out) {
    int64_t n = plan->files.n_data, n_parts = 0, kept = 0;
    live_ids live = {tl_alloc_array((size_t)n, sizeof *live.items), n};
    tl_known_part **parts = NULL;
    tl_status status = live.items ? tl_older_cache_list(id, &parts, &n_parts) : TL_NO_MEMORY;
    if (status == TL_OK && n > 0) {
        for (int64_t i = 0; i < n; i++) {
            live.items[i] = tl_older_file_id(&plan->files.data[i]);
        }
        qsort(live.items, (size_t)n, sizeof *live.items, by_id);
    }
    for (int64_t i = 0; i < n_parts; i++) {
        if (status == TL_OK && is_live(&live, parts[i])) {
            tl_known_part *p = parts[kept];
            parts[kept++] = parts[i];
            parts[i] = p;
        }
    }
    if (status == TL_OK) {
        status = tl_older_print(parts, kept, id, plan->table->metadata.last_sequence_number, out, NULL);
    }
    for (int64_t i = 0; i < n_parts; i++) {
        tl_known_part_release(parts[i]);
    }
    tl_free(parts);
    tl_free(live.items);
    return status;
}

void tl_older_publish(tl_table *t, tl_pool *pool) {
    const tl_snapshot *s = tl_metadata_current(&t->metadata);
    if (!s || t->contract.time < 0 || !t->contract.dedup || t->metadata.last_sequence_number < EVERY_COMMITS ||
        tl_snapshot_has_one_copy(s)) { /* then nobody looks for any */
        return;
    }
    tl_file_id id = tl_older_table_id(t, tl_plan_schema(t, NULL));
    char *key = key_of(t);
    if (key && is_due(t, key, id)) {
        tl_plan *plan = NULL;
        tl_buf bytes = {0};
        if (tl_plan_create(t, &(tl_plan_options){.cheap = true, .pool = pool}, &plan, NULL) == TL_OK &&
            print_live(plan, id, &bytes) == TL_OK && bytes.len <= BYTES_MOST) {
            (void)!tl_store_put(t->store, key, tl_buf_bytes(&bytes), TL_PUT_LATER, NULL);
        }
        tl_buf_free(&bytes);
        tl_plan_release(plan);
    }
    tl_free(key);
}
