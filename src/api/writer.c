/*
 * Continuous writing. Comes in: batches, whenever. Goes out: commits of many batches, with one batch id each, so that a
 * try whose outcome is not known can be repeated.
 *
 * Rows wait in `filling`; a thread of the writer moves them to `leaving`, commits them and tries again until they are
 * in. The buffer is bounded: both together never hold more than buffer_bytes (one batch may be larger by itself).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "api/lake.h"
#include "append/append.h"
#include "base/mem.h"
#include "nanoarrow/nanoarrow.h"

typedef struct batches {
    struct ArrowArray *items;
    size_t n, cap;
    int64_t rows, bytes;
} batches;

struct tl_writer {
    tl_lake *lake;
    char *table, *batch_id;
    tl_writer_options options;
    struct ArrowSchema schema;
    tl_table *version; /* `align` refers to its schema */
    tl_align *align;
    pthread_mutex_t lock;
    pthread_cond_t wake;  /* for the thread: rows to commit, or the end */
    pthread_cond_t moved; /* for callers: room, or a try is over */
    pthread_t thread;
    batches filling, leaving;
    int64_t oldest_us; /* when the first row of `filling` came */
    int64_t number;    /* of the commit of `leaving` */
    bool flush_now, stop;
    uint64_t tries; /* finished ones */
    tl_writer_state state;
};

static void batches_free(batches *b) {
    for (size_t i = 0; i < b->n; i++) {
        if (b->items[i].release) {
            b->items[i].release(&b->items[i]);
        }
    }
    tl_free(b->items);
    *b = (batches){0};
}

static tl_status batches_add(batches *b, struct ArrowArray *array, int64_t bytes, tl_error *err) {
    struct ArrowArray *items = tl_grow(b->items, &b->cap, b->n + 1, 16, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    b->items = items;
    b->items[b->n++] = *array;
    b->rows += array->length;
    b->bytes += bytes;
    array->release = NULL;
    return TL_OK;
}

/* ---- the rows that leave, as a stream that lends them: a failed try keeps them ---- */

typedef struct lent {
    const tl_writer *writer;
    size_t next;
} lent;

static void lent_array_release(struct ArrowArray *a) {
    a->release = NULL;
}

static int lent_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    return ArrowSchemaDeepCopy(&((lent *)s->private_data)->writer->schema, out);
}

static int lent_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    lent *l = s->private_data;
    if (l->next == l->writer->leaving.n) {
        out->release = NULL;
        return 0;
    }
    *out = l->writer->leaving.items[l->next++];
    out->release = lent_array_release;
    out->private_data = NULL;
    return 0;
}

static const char *lent_error(struct ArrowArrayStream *s) {
    (void)s;
    return NULL;
}

static void lent_release(struct ArrowArrayStream *s) {
    s->release = NULL;
}

/* One try. Called without the lock; `leaving` belongs to the thread. */
static tl_status try_commit(tl_writer *w, tl_append_result *result, tl_error *err) {
    char *id = tl_format("%s-%lld", w->batch_id, (long long)w->number);
    if (!id) {
        return tl_fail_memory(err, strlen(w->batch_id));
    }
    lent l = {w, 0};
    struct ArrowArrayStream rows = {lent_schema, lent_next, lent_error, lent_release, &l};
    tl_append_params params = {.batch_id = id, .no_maintain = w->options.no_maintain, .maintain_beside = 1};
    tl_status status = tl_append(w->lake, w->table, &rows, &params, result, err);
    tl_free(id);
    return status;
}

/* ---- the writer's thread ---- */

static int64_t now_us(const tl_writer *w) {
    return tl_env_monotonic_us(w->lake->store->env);
}

/* Waits on `c` for at most `us` of real time. */
static void wait_for(tl_writer *w, pthread_cond_t *c, int64_t us) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    us = us < 1000 ? 1000 : us;
    t.tv_sec += (time_t)(us / 1000000);
    t.tv_nsec += (long)(us % 1000000) * 1000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(c, &w->lock, &t);
}

/* How long the thread may sleep before `filling` has to go; 0 = now, -1 = nothing to do. The lock is held. */
static int64_t due_in(const tl_writer *w) {
    if (w->filling.rows == 0) {
        return -1;
    }
    if (w->flush_now || w->stop || w->filling.bytes >= w->options.commit_bytes) {
        return 0;
    }
    int64_t left = w->oldest_us + w->options.commit_every_us - now_us(w);
    return left > 0 ? left : 0;
}

/* Takes what a try came to into the state. The lock is held. */
static void note(tl_writer *w, tl_status status, const tl_error *err) {
    w->tries++;
    w->state.last_status = status;
    w->state.last_error = *err;
    if (status == TL_OK) {
        w->state.rows_durable += w->leaving.rows;
        w->state.commits++;
        w->state.failures = 0;
        batches_free(&w->leaving);
    } else {
        w->state.failures++;
    }
    (void)pthread_cond_broadcast(&w->moved);
}

static void *thread_main(void *arg) {
    tl_writer *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (w->leaving.n == 0) {
            int64_t wait = due_in(w);
            if (wait != 0) {
                if (w->stop) {
                    break;
                }
                wait_for(w, &w->wake, wait < 0 ? 3600000000 : wait);
                continue;
            }
            w->leaving = w->filling;
            w->filling = (batches){0};
            w->flush_now = false;
            w->number++;
        } else if (w->state.failures > 0) { /* tried before: pause, longer each time; a flush or the end wakes it */
            if (w->stop) {
                break;
            }
            if (!w->flush_now) {
                int64_t pause = 100000ll << (w->state.failures > 8 ? 8 : w->state.failures);
                wait_for(w, &w->wake, pause);
            }
            w->flush_now = false;
        }
        pthread_mutex_unlock(&w->lock);
        tl_append_result result = {0};
        tl_error err = {{0}};
        tl_status status = try_commit(w, &result, &err);
        if (w->options.on_commit) {
            w->options.on_commit(w->options.ctx, status, &result, err.message);
        }
        pthread_mutex_lock(&w->lock);
        note(w, status, &err);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- the calls ---- */

static void writer_free(tl_writer *w) {
    if (w->schema.release) {
        w->schema.release(&w->schema);
    }
    batches_free(&w->filling);
    batches_free(&w->leaving);
    tl_align_free(w->align);
    tl_table_release(w->version);
    tl_free(w->table);
    tl_free(w->batch_id);
    tl_lake_release(w->lake);
    tl_free(w);
}

static tl_status prepare(tl_writer *w, const char *table, const struct ArrowSchema *schema, tl_error *err) {
    char uuid[TL_UUID_TEXT];
    tl_uuid4(w->lake->store->env, uuid);
    w->table = tl_strdup(table);
    w->batch_id = tl_strdup(w->options.batch_id ? w->options.batch_id : uuid);
    if (!w->table || !w->batch_id || ArrowSchemaDeepCopy(schema, &w->schema) != NANOARROW_OK) {
        return tl_fail_memory(err, 256);
    }
    TL_TRY(tl_lake_table(w->lake, table, &w->version, err));
    return tl_align_create(tl_metadata_schema(&w->version->metadata), w->version->contract.ingest, schema, &w->align,
                           err);
}

tl_status tl_writer_open(tl_lake *lake, const char *table, const struct ArrowSchema *schema,
                         const tl_writer_options *options, tl_writer **out, tl_error *err) {
    *out = NULL;
    tl_writer *w = tl_calloc(1, sizeof *w);
    if (!w) {
        return tl_fail_memory(err, sizeof *w);
    }
    w->lake = tl_lake_retain(lake);
    w->options = options ? *options : (tl_writer_options){0};
    tl_writer_options *o = &w->options;
    o->commit_every_us = o->commit_every_us > 0 ? o->commit_every_us : 60000000;
    o->commit_bytes = o->commit_bytes > 0 ? o->commit_bytes : 128000000;
    o->buffer_bytes = o->buffer_bytes > 0 ? o->buffer_bytes : 4 * o->commit_bytes;
    tl_status status = prepare(w, table, schema, err);
    if (status != TL_OK) {
        writer_free(w);
        return status;
    }
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->wake, &attr);
    (void)pthread_cond_init(&w->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (pthread_create(&w->thread, NULL, thread_main, w) != 0) {
        writer_free(w);
        return tl_fail(err, TL_IO, "no thread could be started: %s", strerror(errno));
    }
    *out = w;
    return TL_OK;
}

/* What an array costs, its structures included: small batches are mostly those. Depth: that of the schema. */
static int64_t view_bytes(const struct ArrowArrayView *v) {
    enum { PART = 640 }; /* the structures, and the least that an allocator gives for buffers */
    int64_t bytes = PART;
    for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; i++) {
        bytes += v->buffer_views[i].size_bytes > 0 ? v->buffer_views[i].size_bytes : 0;
    }
    for (int64_t i = 0; i < v->n_variadic_buffers; i++) {
        bytes += v->variadic_buffer_sizes[i];
    }
    for (int64_t i = 0; i < v->n_children; i++) {
        bytes += view_bytes(v->children[i]);
    }
    return bytes + (v->dictionary ? view_bytes(v->dictionary) : 0);
}

/* Of a batch that aligning has found to be sound. 0 = not known. */
static int64_t bytes_of(const tl_writer *w, const struct ArrowArray *batch) {
    struct ArrowArrayView view;
    bool known = ArrowArrayViewInitFromSchema(&view, &w->schema, NULL) == NANOARROW_OK &&
                 ArrowArrayViewSetArray(&view, batch, NULL) == NANOARROW_OK;
    int64_t bytes = known ? view_bytes(&view) : 0;
    ArrowArrayViewReset(&view);
    return bytes;
}

/* A trial alignment on a lent copy: says now whether every row can be stored, and how much memory the batch holds. */
static tl_status check_batch(tl_writer *w, const struct ArrowArray *batch, int64_t *bytes, tl_error *err) {
    struct ArrowArray copy = *batch;
    copy.release = lent_array_release;
    tl_batch aligned = {0};
    TL_TRY(tl_align_batch(w->align, &copy, w->state.rows_taken, 0, &aligned, err));
    tl_status status = tl_append_check(w->version, &aligned, w->state.rows_taken, err);
    *bytes = bytes_of(w, batch); /* the input is what is kept, text perhaps where the table has numbers */
    *bytes = *bytes > (int64_t)aligned.bytes ? *bytes : (int64_t)aligned.bytes;
    tl_batch_free(&aligned);
    return status;
}

static tl_status put(tl_writer *w, struct ArrowArray *batch, tl_error *err) {
    int64_t bytes = 0;
    TL_TRY(check_batch(w, batch, &bytes, err));
    while (w->filling.bytes + w->leaving.bytes + bytes > w->options.buffer_bytes &&
           w->filling.rows + w->leaving.rows > 0) {
        if (w->options.fail_when_full) {
            return tl_fail(err, TL_FULL, "the writer's buffer is full: %lld bytes wait for their commit",
                           (long long)(w->filling.bytes + w->leaving.bytes));
        }
        w->flush_now = w->leaving.n == 0;
        (void)pthread_cond_signal(&w->wake);
        (void)pthread_cond_wait(&w->moved, &w->lock);
    }
    if (w->filling.rows == 0) {
        w->oldest_us = now_us(w);
    }
    int64_t rows = batch->length;
    TL_TRY(batches_add(&w->filling, batch, bytes, err));
    w->state.rows_taken += rows;
    (void)pthread_cond_signal(&w->wake);
    return TL_OK;
}

tl_status tl_writer_write(tl_writer *w, struct ArrowArray *batch, tl_error *err) {
    pthread_mutex_lock(&w->lock);
    tl_status status = batch->length > 0 ? put(w, batch, err) : TL_OK;
    pthread_mutex_unlock(&w->lock);
    if (status != TL_FULL && batch->release) {
        batch->release(batch);
    }
    return status;
}

/* Whether the same rows may go in at a later try: the disk has room again, the race is won. */
static bool may_help(tl_status status) {
    return status == TL_IO || status == TL_CONFLICT || status == TL_UNKNOWN || status == TL_NO_MEMORY;
}

/* Waits until the rows taken so far are durable, a try failed and time is up, or the try cannot be helped. Locked. */
static tl_status flush(tl_writer *w, int64_t patience_us, tl_error *err) {
    int64_t goal = w->state.rows_taken, until = now_us(w) + patience_us;
    uint64_t seen = w->tries;
    w->flush_now = true;
    (void)pthread_cond_signal(&w->wake);
    while (w->state.rows_durable < goal) {
        (void)pthread_cond_wait(&w->moved, &w->lock);
        if (w->tries == seen) {
            continue;
        }
        seen = w->tries;
        if (w->state.failures > 0 && (now_us(w) >= until || !may_help(w->state.last_status))) {
            if (err) {
                *err = w->state.last_error;
            }
            return w->state.last_status;
        }
        w->flush_now = w->state.failures == 0; /* what is still filling goes next; a failed try has its pause */
        (void)pthread_cond_signal(&w->wake);
    }
    return TL_OK;
}

tl_status tl_writer_flush(tl_writer *w, int64_t patience_us, tl_writer_state *state, tl_error *err) {
    pthread_mutex_lock(&w->lock);
    tl_status status = flush(w, patience_us, err);
    if (state) {
        *state = w->state;
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

tl_status tl_writer_close(tl_writer *w, int64_t patience_us, tl_writer_state *state, tl_error *err) {
    if (!w) {
        return TL_OK;
    }
    tl_status status = tl_writer_flush(w, patience_us, state, err);
    pthread_mutex_lock(&w->lock);
    if (status != TL_OK) {
        batches_free(&w->filling); /* they are reported as not durable; only the try under way is waited for */
    }
    w->stop = true;
    (void)pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_cond_destroy(&w->moved);
    (void)pthread_mutex_destroy(&w->lock);
    writer_free(w);
    return status;
}
