/* The cache of older copies: a table of partitions, and a list of them by last use. */
#include "read/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/memo.h"
#include "read/read.h"

#define SLOTS 1024
#define BYTES_MOST ((size_t)64 << 20)

/* ---- who is who ---- */

static tl_file_id id_of_text(const char *text, tl_file_id seed) {
    size_t n = strlen(text);
    return (tl_file_id){tl_hash_bytes(text, n, seed.a), tl_hash_bytes(text, n, ~seed.b)};
}

static tl_file_id id_of_number(uint64_t v, tl_file_id seed) {
    return (tl_file_id){tl_hash_u64(v ^ seed.a), tl_hash_u64(~v ^ seed.b)};
}

tl_file_id tl_older_file_id(const tl_live_file *f) {
    tl_file_id id = id_of_text(f->file.path, (tl_file_id){1, 2});
    id = id_of_number((uint64_t)f->file.file_size, id);
    id = id_of_number((uint64_t)f->file.record_count, id);
    return id_of_number((uint64_t)f->sequence_number, id);
}

tl_file_id tl_older_table_id(const tl_table *table, const tl_schema *schema) {
    const tl_contract *c = &table->contract;
    /* Not by its place: a table that was moved or copied has the same files, by the same paths in its metadata. */
    const char *uuid = table->metadata.table_uuid;
    tl_file_id id = id_of_text(uuid ? uuid : table->location, (tl_file_id){3, 4});
    id = id_of_number((uint64_t)schema->fields[c->time].id, id);
    id = id_of_number(c->ingest >= 0 ? (uint64_t)schema->fields[c->ingest].id : UINT64_MAX, id);
    for (int32_t i = 0; i < c->n_series; i++) {
        id = id_of_number((uint64_t)schema->fields[c->series[i]].id, id);
        id = id_of_number((uint64_t)schema->fields[c->series[i]].type.id, id);
    }
    return id;
}

/* ---- partitions ---- */

tl_known_part *tl_known_part_create(tl_file_id table, uint64_t partition, int64_t n) {
    size_t files, bytes;
    if (!tl_size_mul((size_t)n, sizeof(tl_known_file), &files) || !tl_size_add(files, sizeof(tl_known_part), &bytes)) {
        return NULL;
    }
    tl_known_part *p = tl_calloc(1, bytes);
    if (p) {
        p->references = 1;
        p->table = table;
        p->partition = partition;
        p->n = n;
        p->bytes = bytes;
    }
    return p;
}

static int compare_ids(tl_file_id x, tl_file_id y) {
    return x.a != y.a ? (x.a < y.a ? -1 : 1) : x.b < y.b ? -1 : x.b > y.b;
}

static int by_id(const void *a, const void *b) {
    return compare_ids(((const tl_known_file *)a)->id, ((const tl_known_file *)b)->id);
}

void tl_known_part_seal(tl_known_part *p) {
    p->sum = (tl_file_id){0, 0};
    for (int64_t i = 0; i < p->n; i++) {
        p->sum.a += p->files[i].id.a;
        p->sum.b += p->files[i].id.b;
        p->bytes += tl_bitmap_bytes(p->files[i].older);
    }
    qsort(p->files, (size_t)p->n, sizeof *p->files, by_id);
}

tl_known_part *tl_known_part_retain(tl_known_part *p) {
    p->references++;
    return p;
}

void tl_known_part_release(tl_known_part *p) {
    if (!p || --p->references > 0) {
        return;
    }
    for (int64_t i = 0; i < p->n; i++) {
        tl_bitmap_release(p->files[i].older);
    }
    tl_free(p);
}

const tl_known_file *tl_known_part_find(const tl_known_part *p, tl_file_id id) {
    int64_t lo = 0, hi = p->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int order = compare_ids(p->files[mid].id, id);
        if (order == 0) {
            return &p->files[mid];
        }
        if (order < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

/* ---- the cache ---- */

typedef struct node {
    struct node *next;          /* of the slot */
    struct node *newer, *older; /* by last use */
    tl_known_part *part;
} node;

static tl_lock lock = TL_LOCK_READY;
static node *slots[SLOTS];
static node *newest, *oldest;
static size_t bytes_held;

static node **slot_of(tl_file_id table, uint64_t partition) {
    return &slots[tl_hash_u64(table.a ^ partition) % SLOTS];
}

static node *find(tl_file_id table, uint64_t partition) {
    node *n = *slot_of(table, partition);
    while (n && (n->part->partition != partition || n->part->table.a != table.a || n->part->table.b != table.b)) {
        n = n->next;
    }
    return n;
}

static void unlink_use(node *n) {
    *(n->newer ? &n->newer->older : &newest) = n->older;
    *(n->older ? &n->older->newer : &oldest) = n->newer;
}

static void link_newest(node *n) {
    n->newer = NULL;
    n->older = newest;
    *(newest ? &newest->newer : &oldest) = n;
    newest = n;
}

tl_known_part *tl_older_cache_get(tl_file_id table, uint64_t partition) {
    tl_lock_take(&lock);
    node *n = find(table, partition);
    tl_known_part *p = n ? tl_known_part_retain(n->part) : NULL;
    if (n) {
        unlink_use(n);
        link_newest(n);
    }
    tl_lock_give(&lock);
    return p;
}

/* Out of slot and list; freed by the caller, without the lock. */
static void take_out(node *n) {
    node **at = slot_of(n->part->table, n->part->partition);
    while (*at != n) {
        at = &(*at)->next;
    }
    *at = n->next;
    unlink_use(n);
    bytes_held -= n->part->bytes;
}

void tl_older_cache_put(tl_known_part *p) {
    node *fresh = tl_alloc(sizeof *fresh), *gone = NULL;
    if (!fresh || p->bytes > BYTES_MOST) {
        tl_free(fresh);
        return;
    }
    fresh->part = tl_known_part_retain(p);
    tl_lock_take(&lock);
    node *same = find(p->table, p->partition);
    if (same) {
        take_out(same);
        same->next = gone;
        gone = same;
    }
    node **slot = slot_of(p->table, p->partition);
    fresh->next = *slot;
    *slot = fresh;
    link_newest(fresh);
    bytes_held += p->bytes;
    while (bytes_held > BYTES_MOST) {
        node *last = oldest;
        take_out(last);
        last->next = gone;
        gone = last;
    }
    tl_lock_give(&lock);
    while (gone) {
        node *next = gone->next;
        tl_known_part_release(gone->part);
        tl_free(gone);
        gone = next;
    }
}

tl_status tl_older_cache_list(tl_file_id table, tl_known_part ***out, int64_t *n) {
    int64_t cap = 0;
    *out = NULL;
    *n = 0;
    tl_lock_take(&lock);
    for (const node *at = newest; at; at = at->older) {
        cap += at->part->table.a == table.a && at->part->table.b == table.b && at->part->n > 0;
    }
    *out = tl_alloc_array((size_t)cap, sizeof(tl_known_part *));
    for (const node *at = *out ? newest : NULL; at; at = at->older) {
        if (at->part->table.a == table.a && at->part->table.b == table.b && at->part->n > 0) {
            (*out)[(*n)++] = tl_known_part_retain(at->part);
        }
    }
    tl_lock_give(&lock);
    return *out ? TL_OK : TL_NO_MEMORY;
}

/* Remembered as a partition without files. */
bool tl_older_cache_first(tl_file_id table) {
    tl_known_part *asked = tl_older_cache_get(table, UINT64_MAX);
    bool first = asked == NULL;
    if (first && (asked = tl_known_part_create(table, UINT64_MAX, 0))) {
        tl_older_cache_put(asked);
    }
    tl_known_part_release(asked);
    return first;
}

void tl_read_forget(void) {
    tl_memo_forget();
    tl_lock_take(&lock);
    node *all = newest;
    newest = oldest = NULL;
    bytes_held = 0;
    memset(slots, 0, sizeof slots);
    tl_lock_give(&lock);
    while (all) {
        node *next = all->older;
        tl_known_part_release(all->part);
        tl_free(all);
        all = next;
    }
}
