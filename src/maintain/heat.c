/* Heat: counted, noted, read back; see heat.h. */
#include "maintain/heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "table/settings.h"

enum { NOTE_EVERY_US = 60000000, OBJECT_MAX = 1 << 20, LINES_MAX = 2 * TL_HEAT_PARTITIONS };

static const char FIRST_LINE[] = "timelake-heat 1\n";

void tl_heat_free(tl_heat *h) {
    tl_free(h->partitions);
    tl_free(h->values);
    *h = (tl_heat){0};
}

/* The first entry that is not below `partition`. */
static int64_t place_of(const tl_heat *h, int32_t partition) {
    int64_t from = 0, to = h->n;
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if (h->partitions[middle] < partition) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

double tl_heat_of(const tl_heat *h, int32_t partition) {
    int64_t at = place_of(h, partition);
    return at < h->n && h->partitions[at] == partition ? h->values[at] : 0;
}

static tl_status heat_grow(tl_heat *h, tl_error *err) {
    if (h->n < h->cap) {
        return TL_OK;
    }
    int64_t cap = h->cap ? h->cap * 2 : 32;
    int32_t *partitions = tl_realloc_array(h->partitions, (size_t)cap, sizeof *partitions);
    h->partitions = partitions ? partitions : h->partitions;
    double *values = partitions ? tl_realloc_array(h->values, (size_t)cap, sizeof *values) : NULL;
    h->values = values ? values : h->values;
    if (!values) {
        return tl_fail_memory(err, (size_t)cap * sizeof *values);
    }
    h->cap = cap;
    return TL_OK;
}

static tl_status heat_add(tl_heat *h, int32_t partition, double value, tl_error *err) {
    int64_t at = place_of(h, partition);
    if (at < h->n && h->partitions[at] == partition) {
        h->values[at] += value;
        return TL_OK;
    }
    TL_TRY(heat_grow(h, err));
    memmove(h->partitions + at + 1, h->partitions + at, (size_t)(h->n - at) * sizeof *h->partitions);
    memmove(h->values + at + 1, h->values + at, (size_t)(h->n - at) * sizeof *h->values);
    h->partitions[at] = partition;
    h->values[at] = value;
    h->n++;
    return TL_OK;
}

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

tl_status tl_heat_add_plan(tl_heat *h, const tl_plan *plan, const uint8_t *flags, tl_error *err) {
    const tl_contract *c = &plan->table->contract;
    if (c->foreign || c->time < 0 || c->chunk == TL_TRANSFORM_VOID || plan->n_scan == 0) {
        return TL_OK;
    }
    int32_t *read = tl_alloc_array((size_t)plan->n_scan, sizeof *read);
    if (!read) {
        return tl_fail_memory(err, (size_t)plan->n_scan * sizeof *read);
    }
    size_t n = 0;
    for (int64_t i = 0; i < plan->n_scan; i++) {
        const tl_data_file *f = &plan->scan[i].file->file;
        if ((!flags || flags[i]) && f->n_partition == 1 && f->partition[0].value.data &&
            f->partition[0].value.len == 4) {
            int32_t partition = tl_load_i32(f->partition[0].value.data);
            if (n == 0 || read[n - 1] != partition) {
                read[n++] = partition;
            }
        }
    }
    if (n) {
        qsort(read, n, sizeof *read, ascending);
    }
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (i == 0 || read[i] != read[i - 1]) {
            status = heat_add(h, read[i], 1, err);
        }
    }
    tl_free(read);
    return status;
}

/* ---- the object ---- */

static bool take_line(tl_bytes *text, tl_bytes *line) {
    const uint8_t *end = text->len ? memchr(text->data, '\n', text->len) : NULL;
    if (!end) {
        return false;
    }
    *line = (tl_bytes){text->data, (size_t)(end - text->data)};
    text->data = end + 1;
    text->len -= line->len + 1;
    return true;
}

static bool take_entry(tl_bytes line, int32_t *partition, double *value) {
    const uint8_t *blank = line.len ? memchr(line.data, ' ', line.len) : NULL;
    if (!blank) {
        return false;
    }
    size_t len = (size_t)(blank - line.data);
    int64_t n;
    if (tl_parse_i64((tl_bytes){line.data, len}, &n) != TL_PARSE_OK || n < INT32_MIN || n > INT32_MAX ||
        tl_parse_double((tl_bytes){blank + 1, line.len - len - 1}, value) != TL_PARSE_OK) {
        return false;
    }
    *partition = (int32_t)n;
    return *value > 0 && *value < 1e15;
}

static tl_status parse(tl_bytes text, int64_t now_us, tl_heat *out, tl_error *err) {
    tl_bytes line;
    int64_t written;
    size_t first = strlen(FIRST_LINE);
    if (text.len < first || memcmp(text.data, FIRST_LINE, first) != 0) {
        return TL_OK;
    }
    text.data += first;
    text.len -= first;
    if (!take_line(&text, &line) || tl_parse_i64(line, &written) != TL_PARSE_OK) {
        return TL_OK;
    }
    double age = now_us > written ? (double)now_us - (double)written : 0;
    double fade = exp2(-age / (double)TL_HEAT_HALF_LIFE_US);
    for (int n = 0; n < LINES_MAX && take_line(&text, &line); n++) {
        int32_t partition;
        double value;
        if (take_entry(line, &partition, &value) && value * fade > 1e-3) {
            TL_TRY(heat_add(out, partition, value * fade, err));
        }
    }
    return TL_OK;
}

tl_status tl_heat_load(tl_store *store, const char *prefix, int64_t now_us, tl_heat *out, tl_error *err) {
    *out = (tl_heat){0};
    char *key = tl_format("%s/metadata/" TL_HEAT_NAME, prefix);
    if (!key) {
        return tl_fail_memory(err, strlen(prefix));
    }
    tl_buf text = {0};
    uint64_t size;
    tl_status status = TL_OK;
    if (tl_store_size(store, key, &size, NULL) == TL_OK && size <= OBJECT_MAX &&
        tl_store_get(store, key, &text, NULL) == TL_OK) {
        status = parse(tl_buf_bytes(&text), now_us, out, err);
    }
    if (status != TL_OK) {
        tl_heat_free(out);
    }
    tl_buf_free(&text);
    tl_free(key);
    return status;
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

/* The value that the hottest TL_HEAT_PARTITIONS have at the least. */
static double least_kept(const tl_heat *h) {
    if (h->n <= TL_HEAT_PARTITIONS) {
        return 0;
    }
    double *sorted = tl_alloc_array((size_t)h->n, sizeof *sorted), least = 0;
    if (sorted) {
        memcpy(sorted, h->values, (size_t)h->n * sizeof *sorted);
        qsort(sorted, (size_t)h->n, sizeof *sorted, descending);
        least = sorted[TL_HEAT_PARTITIONS - 1];
    }
    tl_free(sorted);
    return least;
}

static tl_status print(const tl_heat *h, int64_t now_us, tl_buf *out) {
    TL_TRY(tl_buf_printf(out, "%s%lld\n", FIRST_LINE, (long long)now_us));
    double least = least_kept(h);
    int64_t kept = 0;
    for (int64_t i = 0; i < h->n && kept < TL_HEAT_PARTITIONS; i++) {
        if (h->values[i] >= least) {
            char value[TL_NUM_TEXT];
            (void)tl_print_float((float)h->values[i], value);
            TL_TRY(tl_buf_printf(out, "%d %s\n", (int)h->partitions[i], value));
            kept++;
        }
    }
    return TL_OK;
}

void tl_heat_store(tl_store *store, const char *prefix, int64_t now_us, const tl_heat *counts) {
    tl_heat all;
    if (counts->n == 0 || tl_heat_load(store, prefix, now_us, &all, NULL) != TL_OK) {
        return;
    }
    tl_status status = TL_OK;
    for (int64_t i = 0; i < counts->n && status == TL_OK; i++) {
        status = heat_add(&all, counts->partitions[i], counts->values[i], NULL);
    }
    tl_buf text = {0};
    char *key = status == TL_OK ? tl_format("%s/metadata/" TL_HEAT_NAME, prefix) : NULL;
    if (key && print(&all, now_us, &text) == TL_OK) {
        (void)!tl_store_put(store, key, tl_buf_bytes(&text), TL_PUT_LATER, NULL);
    }
    tl_free(key);
    tl_buf_free(&text);
    tl_heat_free(&all);
}

/* ---- counts of one process ---- */

typedef struct tl_table_reads {
    char *prefix;
    tl_heat counts;
} tl_table_reads;

void tl_reads_init(tl_reads *r) {
    *r = (tl_reads){0};
    tl_lock_init(&r->lock);
}

/* The table's counts, made when missing. The lock is held. NULL when memory ends. */
static tl_heat *counts_of(tl_reads *r, const char *prefix) {
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->tables[i].prefix, prefix) == 0) {
            return &r->tables[i].counts;
        }
    }
    tl_table_reads *tables = tl_grow(r->tables, &r->cap, r->n + 1, 8, sizeof *tables, NULL);
    if (!tables) {
        return NULL;
    }
    r->tables = tables;
    char *copy = tl_strdup(prefix);
    if (!copy) {
        return NULL;
    }
    r->tables[r->n] = (tl_table_reads){.prefix = copy};
    return &r->tables[r->n++].counts;
}

/* Takes the counts out, so that noting them needs no lock. */
static void note_all(tl_table_reads *tables, size_t n, tl_store *store) {
    for (size_t i = 0; i < n; i++) {
        tl_heat_store(store, tables[i].prefix, tl_env_now_us(store->env), &tables[i].counts);
        tl_heat_free(&tables[i].counts);
        tl_free(tables[i].prefix);
    }
    tl_free(tables);
}

void tl_reads_add(tl_reads *r, const tl_plan *plan, const uint8_t *read) {
    tl_store *store = plan->table->store;
    if (!tl_setting_bool(&plan->table->metadata, "note-reads")) {
        return;
    }
    int64_t now = tl_env_monotonic_us(store->env);
    tl_table_reads *due = NULL;
    size_t n_due = 0;
    tl_lock_take(&r->lock);
    tl_heat *counts = counts_of(r, plan->table->prefix);
    if (counts) {
        (void)!tl_heat_add_plan(counts, plan, read, NULL);
    }
    if (r->noted_us == 0) {
        r->noted_us = now;
    } else if (now - r->noted_us > NOTE_EVERY_US) {
        r->noted_us = now;
        due = r->tables;
        n_due = r->n;
        r->tables = NULL;
        r->n = r->cap = 0;
    }
    tl_lock_give(&r->lock);
    note_all(due, n_due, store);
}

void tl_reads_end(tl_reads *r, tl_store *store) {
    note_all(r->tables, r->n, store);
    tl_lock_free(&r->lock);
    *r = (tl_reads){0};
}
