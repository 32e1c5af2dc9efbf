/* Arrow IPC from a FILE: messages one after the other, in the stream format or inside the file format. */
#include <errno.h>
#include <inttypes.h>

#include "arrow/ipc_internal.h"
#include "arrow/stream.h"
#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"

enum { MAGIC_LEN = 6, TAIL_LEN = 10 /* footer length and magic */ };
static const char MAGIC[] = "ARROW1";
/* Memory for a message that is not known to be in the file is taken in steps, as its bytes arrive. */
static const int64_t STEP = INT64_C(64) << 20;

/* The kinds of messages in Message.fbs. */
enum { MESSAGE_SCHEMA = 1, MESSAGE_DICTIONARY, MESSAGE_BATCH };

typedef struct reader {
    FILE *file;
    bool close, finished;
    uint8_t ahead[8]; /* read to tell the formats apart */
    int64_t n_ahead;
    int64_t left; /* bytes that may still be read; INT64_MAX = unknown, to the end of the file */
    /* The file format, when the file can be searched: its footer says where the messages are. */
    bool has_footer;
    int64_t begin, end;  /* of the file's messages */
    uint64_t next_block; /* dictionaries first, then batches */
    tl_buf footer;
    bool has_schema;
    tl_status failed; /* after the first failure every call gives it again */
    struct ArrowSchema schema;
    tl_arrow_type type;
    tl_ipc_field fields;
    tl_ipc_dictionaries dictionaries;
    tl_buf metadata;
    tl_arena arena;
    tl_error error;
} reader;

/* ---- bytes ---- */

static tl_status read_some(reader *r, uint8_t *out, int64_t want, int64_t *got) {
    want = want < r->left ? want : r->left;
    int64_t first = want < r->n_ahead ? want : r->n_ahead;
    if (first > 0) {
        memcpy(out, r->ahead, (size_t)first);
        memmove(r->ahead, r->ahead + first, sizeof r->ahead - (size_t)first);
        r->n_ahead -= first;
    }
    size_t n = want > first ? fread(out + first, 1, (size_t)(want - first), r->file) : 0;
    *got = first + (int64_t)n;
    r->left -= r->left == INT64_MAX ? 0 : *got;
    if (*got < want && ferror(r->file)) {
        return tl_fail(&r->error, TL_IO, "reading the Arrow input failed: %s", strerror(errno));
    }
    return TL_OK;
}

static tl_status cut_short(reader *r) {
    return tl_fail(&r->error, TL_INVALID, "the Arrow input is cut short: it ends inside a message");
}

/* Exactly `n` bytes of metadata, into r->metadata. */
static tl_status read_metadata(reader *r, int64_t n) {
    r->metadata.len = 0;
    while ((int64_t)r->metadata.len < n) {
        int64_t want = n - (int64_t)r->metadata.len, got;
        want = want < STEP ? want : STEP;
        if (tl_buf_reserve(&r->metadata, (size_t)want) != TL_OK) {
            return tl_fail_memory(&r->error, (size_t)want);
        }
        TL_TRY(read_some(r, r->metadata.data + r->metadata.len, want, &got));
        r->metadata.len += (size_t)got;
        if (got < want) {
            return cut_short(r);
        }
    }
    return TL_OK;
}

/* Exactly `n` bytes of a body, aligned, as a body of one reference. */
static tl_status read_body(reader *r, int64_t n, tl_ipc_body **out) {
    int64_t have = 0, cap = r->left != INT64_MAX || n < STEP ? n : STEP;
    if (n > r->left) {
        return cut_short(r);
    }
    uint8_t *data = tl_alloc_aligned((size_t)cap);
    while (data) {
        int64_t got;
        tl_status status = read_some(r, data + have, cap - have, &got);
        have += got;
        if (status != TL_OK || have < cap) {
            tl_free(data);
            return status != TL_OK ? status : cut_short(r);
        }
        if (have == n) {
            *out = tl_ipc_body_new(data, n);
            return *out ? TL_OK : tl_fail_memory(&r->error, 64);
        }
        cap = cap > n / 2 ? n : 2 * cap;
        uint8_t *more = tl_alloc_aligned((size_t)cap);
        if (more) {
            memcpy(more, data, (size_t)have);
        }
        tl_free(data);
        data = more;
    }
    return tl_fail_memory(&r->error, (size_t)cap);
}

/* Exactly `n` bytes at `at` of a file, into `out`. */
static tl_status read_at(reader *r, int64_t at, int64_t n, tl_buf *out) {
    out->len = 0;
    if (tl_buf_reserve(out, (size_t)n) != TL_OK) {
        return tl_fail_memory(&r->error, (size_t)n);
    }
    if (fseeko(r->file, (off_t)at, SEEK_SET) != 0 || fread(out->data, 1, (size_t)n, r->file) != (size_t)n) {
        return tl_fail(&r->error, TL_IO, "reading the Arrow file failed");
    }
    out->len = (size_t)n;
    return TL_OK;
}

/* ---- messages ---- */

typedef struct message {
    tl_flat flat;
    int64_t kind, body_length;
    tl_flat_table header;
} message;

/* The metadata of the next message; kind 0 = the end. */
static tl_status next_message(reader *r, message *m) {
    uint8_t number[4];
    int64_t got;
    *m = (message){0};
    TL_TRY(read_some(r, number, 4, &got));
    if (got == 0) {
        return TL_OK;
    }
    if (got == 4 && tl_load_u32(number) == UINT32_MAX) { /* the mark before the length, since 0.15 */
        TL_TRY(read_some(r, number, 4, &got));
    }
    if (got < 4) {
        return cut_short(r);
    }
    int64_t len = tl_load_i32(number);
    if (len == 0) {
        return TL_OK;
    }
    if (len < 8 || len > r->left) {
        return tl_fail(&r->error, TL_INVALID, "the input is no Arrow IPC data: a message has no valid length");
    }
    TL_TRY(read_metadata(r, len));
    m->flat = (tl_flat){.data = r->metadata.data, .len = r->metadata.len};
    tl_flat_table root = tl_flat_root(&m->flat);
    m->kind = tl_flat_int(root, 1, 1, 0);
    m->header = tl_flat_child(root, 2);
    m->body_length = tl_flat_int(root, 3, 8, 0);
    if (m->flat.bad || m->kind == 0 || m->body_length < 0) {
        return tl_fail(&r->error, TL_INVALID, "the input is no Arrow IPC data: a message is broken");
    }
    return TL_OK;
}

static tl_status read_schema(reader *r) {
    message m = {0};
    if (r->has_schema) {
        return TL_OK;
    }
    if (r->has_footer) {
        m.flat = (tl_flat){.data = r->footer.data, .len = r->footer.len};
        m.header = tl_flat_child(tl_flat_root(&m.flat), 1);
    } else {
        TL_TRY(next_message(r, &m));
        if (m.kind != MESSAGE_SCHEMA) {
            return tl_fail(&r->error, TL_INVALID, "the input is no Arrow IPC data: it does not begin with a schema");
        }
    }
    TL_TRY(tl_ipc_schema(m.header, &r->arena, &r->schema, &r->fields, &r->error));
    TL_TRY(tl_arrow_type_import(&r->schema, &r->arena, &r->type, &r->error));
    r->has_schema = true;
    return TL_OK;
}

/* The field whose dictionary this is, and the type of its values. */
static bool find_dictionary(const tl_arrow_type *t, const tl_ipc_field *f, int64_t id, const tl_arrow_type **type,
                            const tl_ipc_field **field) {
    if (f->has_dictionary) {
        if (f->dictionary == id) {
            *type = &t->children[0];
            *field = f;
            return true;
        }
        t = &t->children[0];
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        if (find_dictionary(&t->children[i], &f->children[i], id, type, field)) {
            return true;
        }
    }
    return false;
}

static tl_status read_dictionary(reader *r, message *m, tl_ipc_body *body) {
    int64_t id = tl_flat_int(m->header, 0, 8, 0);
    const tl_arrow_type *type;
    const tl_ipc_field *field;
    tl_ipc_dictionaries *all = &r->dictionaries;
    if (!find_dictionary(&r->type, &r->fields, id, &type, &field)) {
        return tl_fail(&r->error, TL_INVALID, "the Arrow IPC input has a dictionary that no column uses");
    }
    struct ArrowArray values;
    TL_TRY(tl_ipc_batch(tl_flat_child(m->header, 1), body, type, field, true, all, &values, &r->error));
    size_t at = 0;
    while (at < all->n && all->items[at].id != id) {
        at++;
    }
    if (at < all->n && tl_flat_int(m->header, 2, 1, 0)) { /* a delta: more values behind those that are there */
        struct ArrowArray joined;
        tl_status status = tl_ipc_join(type, &all->items[at].values, &values, &joined, &r->error);
        values.release(&values);
        if (status != TL_OK) {
            return status;
        }
        values = joined;
    }
    if (at == all->cap) {
        size_t cap = all->cap ? 2 * all->cap : 8;
        tl_ipc_dictionary *grown = tl_realloc_array(all->items, cap, sizeof *grown);
        if (!grown) {
            values.release(&values);
            return tl_fail_memory(&r->error, cap * sizeof *grown);
        }
        all->items = grown;
        all->cap = cap;
    }
    if (at < all->n) { /* a new dictionary in place of the old; batches read before keep theirs */
        all->items[at].values.release(&all->items[at].values);
    } else {
        all->n++;
    }
    all->items[at] = (tl_ipc_dictionary){id, values};
    return TL_OK;
}

/* In a file with a footer: goes to the next message it lists. `more` false = there is none. */
static tl_status next_block(reader *r, bool *more) {
    *more = true;
    if (!r->has_footer) {
        return TL_OK;
    }
    enum { BLOCK = 24 }; /* offset int64, metadata length int32, 4 bytes of nothing, body length int64 */
    tl_flat flat = {.data = r->footer.data, .len = r->footer.len};
    tl_flat_table root = tl_flat_root(&flat);
    tl_flat_vector dictionaries = tl_flat_list(root, 2, BLOCK), batches = tl_flat_list(root, 3, BLOCK);
    uint64_t i = r->next_block++;
    if (flat.bad || i >= dictionaries.n + batches.n) {
        *more = false;
        return flat.bad ? tl_fail(&r->error, TL_INVALID, "the footer of the Arrow file is broken") : TL_OK;
    }
    const uint8_t *p =
        flat.data + (i < dictionaries.n ? dictionaries.at + BLOCK * i : batches.at + BLOCK * (i - dictionaries.n));
    int64_t at = tl_load_i64(p), metadata = tl_load_i32(p + 8), body = tl_load_i64(p + 16), size = r->end - r->begin;
    if (at < 0 || metadata < 8 || body < 0 || at > size || metadata > size - at || body > size - at - metadata) {
        return tl_fail(&r->error, TL_INVALID, "the footer of the Arrow file is broken");
    }
    if (fseeko(r->file, (off_t)(r->begin + at), SEEK_SET) != 0) {
        return tl_fail(&r->error, TL_IO, "searching the Arrow file failed: %s", strerror(errno));
    }
    r->left = metadata + body;
    return TL_OK;
}

/* The next batch; dictionaries on the way are kept. `out` released = the end. */
static tl_status read_batch(reader *r, struct ArrowArray *out) {
    while (!r->finished) {
        message m = {0};
        bool more = true;
        TL_TRY(next_block(r, &more));
        if (more) {
            TL_TRY(next_message(r, &m));
        }
        if (m.kind == 0) {
            r->finished = true;
            break;
        }
        if (m.kind != MESSAGE_DICTIONARY && m.kind != MESSAGE_BATCH) {
            return tl_fail(&r->error, TL_UNSUPPORTED,
                           "the Arrow IPC input has a message of kind %" PRId64 ", which is not read", m.kind);
        }
        tl_ipc_body *body;
        TL_TRY(read_body(r, m.body_length, &body));
        tl_status status = m.kind == MESSAGE_DICTIONARY ? read_dictionary(r, &m, body)
                                                        : tl_ipc_batch(m.header, body, &r->type, &r->fields, false,
                                                                       &r->dictionaries, out, &r->error);
        tl_ipc_body_drop(body);
        if (status != TL_OK || m.kind == MESSAGE_BATCH) {
            return status;
        }
    }
    return TL_OK;
}

/* ---- the stream ---- */

static void reader_free(reader *r) {
    for (size_t i = 0; i < r->dictionaries.n; i++) {
        r->dictionaries.items[i].values.release(&r->dictionaries.items[i].values);
    }
    tl_free(r->dictionaries.items);
    if (r->schema.release) {
        r->schema.release(&r->schema);
    }
    tl_buf_free(&r->metadata);
    tl_buf_free(&r->footer);
    tl_arena_free(&r->arena);
    if (r->close && r->file) {
        (void)fclose(r->file);
    }
    tl_free(r);
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    reader *r = s->private_data;
    out->release = NULL;
    r->failed = r->failed == TL_OK ? read_schema(r) : r->failed;
    tl_status status = r->failed;
    if (status == TL_OK && ArrowSchemaDeepCopy(&r->schema, out) != NANOARROW_OK) {
        status = tl_fail_memory(&r->error, sizeof *out);
    }
    return tl_status_errno(status);
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    reader *r = s->private_data;
    out->release = NULL;
    r->failed = r->failed == TL_OK ? read_schema(r) : r->failed;
    r->failed = r->failed == TL_OK ? read_batch(r, out) : r->failed;
    return tl_status_errno(r->failed);
}

static const char *last_error(struct ArrowArrayStream *s) {
    return ((reader *)s->private_data)->error.message;
}

static void release(struct ArrowArrayStream *s) {
    reader_free(s->private_data);
    s->release = NULL;
}

/* The file format ends with a footer, its length and the magic. Only a file that can be searched tells; from a pipe the
 * messages are read as they come, up to the end-of-stream mark. `r->file` is behind the magic and its padding. */
static tl_status find_footer(reader *r) {
    off_t here = ftello(r->file);
    if (here < 8 || fseeko(r->file, 0, SEEK_END) != 0) {
        return TL_OK;
    }
    off_t end = ftello(r->file);
    if (end >= here + TAIL_LEN) {
        TL_TRY(read_at(r, end - TAIL_LEN, TAIL_LEN, &r->footer));
    }
    bool whole = r->footer.len == TAIL_LEN && memcmp(r->footer.data + 4, MAGIC, MAGIC_LEN) == 0;
    int64_t footer = whole ? tl_load_i32(r->footer.data) : -1;
    if (footer < 8 || footer > end - here - TAIL_LEN) {
        return tl_fail(&r->error, TL_INVALID, "the Arrow file is cut short: it has no footer");
    }
    r->begin = here - 8;
    r->end = end - TAIL_LEN - footer;
    r->has_footer = true;
    return read_at(r, r->end, footer, &r->footer);
}

static tl_status start(reader *r) {
    r->n_ahead = (int64_t)fread(r->ahead, 1, sizeof r->ahead, r->file);
    if (r->n_ahead < (int64_t)sizeof r->ahead && ferror(r->file)) {
        return tl_fail(&r->error, TL_IO, "reading the Arrow input failed: %s", strerror(errno));
    }
    if (r->n_ahead == 0) {
        return tl_fail(&r->error, TL_INVALID, "the Arrow input is empty");
    }
    if (r->n_ahead == (int64_t)sizeof r->ahead && memcmp(r->ahead, MAGIC, MAGIC_LEN) == 0) {
        r->n_ahead = 0;
        return find_footer(r);
    }
    /* A stream begins with a continuation mark, or in old versions with a small length. */
    uint32_t first = tl_load_u32(r->ahead);
    if (r->n_ahead < 4 || (first != UINT32_MAX && first > (1u << 28))) {
        return tl_fail(&r->error, TL_INVALID, "the input is no Arrow IPC stream or file");
    }
    return TL_OK;
}

tl_status tl_ipc_read(FILE *file, bool close, struct ArrowArrayStream *out, tl_error *err) {
    out->release = NULL;
    reader *r = tl_calloc(1, sizeof *r);
    if (!r) {
        if (close) {
            (void)fclose(file);
        }
        return tl_fail_memory(err, sizeof *r);
    }
    r->file = file;
    r->close = close;
    r->left = INT64_MAX;
    tl_status status = start(r);
    if (status != TL_OK) {
        status = tl_fail(err, status, "%s", r->error.message);
        reader_free(r);
        return status;
    }
    *out = (struct ArrowArrayStream){get_schema, get_next, last_error, release, r};
    return TL_OK;
}
