/* A store that fails by a script. */
#include "store/faulty.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

enum { RULES_MAX = 16 };

/* A put that comes later than its reply. */
typedef struct late_put {
    struct late_put *next;
    uint64_t at; /* operation count */
    char *key;
    bool if_absent;
    tl_buf data;
} late_put;

typedef struct unsynced {
    struct unsynced *next;
    char *key;
} unsynced;

typedef struct tl_faulty {
    tl_store base;
    tl_store *inner;
    tl_lock lock; /* over everything below */
    tl_fault_rule rules[RULES_MAX];
    size_t n_rules;
    uint64_t count;
    late_put *late;
    unsynced *volatile_keys;
} tl_faulty;

struct tl_object_writer {
    tl_faulty *store;
    char *key;
    tl_put_mode mode;
    tl_buf data;
};

static tl_faulty *self_of(tl_store *s) {
    return (tl_faulty *)s;
}

/* ---- what a power loss takes ---- */

static void forget_volatile(tl_faulty *f, const char *key) {
    for (unsynced **p = &f->volatile_keys; *p;) {
        unsynced *u = *p;
        if (strcmp(u->key, key) == 0) {
            *p = u->next;
            tl_free(u->key);
            tl_free(u);
        } else {
            p = &u->next;
        }
    }
}

static void note_put(tl_faulty *f, const char *key, tl_put_mode mode) {
    tl_lock_take(&f->lock);
    forget_volatile(f, key);
    if (mode != TL_PUT_SYNC) {
        unsynced *u = tl_alloc(sizeof *u);
        char *copy = u ? tl_strdup(key) : NULL;
        if (copy) {
            *u = (unsynced){f->volatile_keys, copy};
            f->volatile_keys = u;
        } else {
            tl_free(u);
        }
    }
    tl_lock_give(&f->lock);
}

void tl_faulty_power_cut(tl_store *faulty) {
    tl_faulty *f = self_of(faulty);
    tl_lock_take(&f->lock);
    while (f->volatile_keys) {
        unsynced *u = f->volatile_keys;
        f->volatile_keys = u->next;
        (void)!tl_store_remove(f->inner, u->key, NULL);
        tl_free(u->key);
        tl_free(u);
    }
    while (f->late) {
        late_put *p = f->late;
        f->late = p->next;
        tl_buf_free(&p->data);
        tl_free(p->key);
        tl_free(p);
    }
    tl_lock_give(&f->lock);
}

/* ---- late puts ---- */

static void deliver_until(tl_faulty *f, uint64_t count) {
    for (;;) {
        tl_lock_take(&f->lock);
        late_put **p = &f->late;
        while (*p && (*p)->at > count) {
            p = &(*p)->next;
        }
        late_put *due = *p;
        if (due) {
            *p = due->next;
        }
        tl_lock_give(&f->lock);
        if (!due) {
            return;
        }
        (void)!f->inner->ops->put(f->inner, due->key, tl_buf_bytes(&due->data), due->if_absent, TL_PUT_SYNC, NULL);
        tl_buf_free(&due->data);
        tl_free(due->key);
        tl_free(due);
    }
}

void tl_faulty_deliver(tl_store *faulty) {
    deliver_until(self_of(faulty), UINT64_MAX);
}

static void put_late(tl_faulty *f, const tl_fault_rule *rule, const char *key, tl_bytes data, bool if_absent) {
    late_put *p = tl_calloc(1, sizeof *p);
    if (!p || !(p->key = tl_strdup(key)) || tl_buf_add(&p->data, data.data, data.len) != TL_OK) {
        if (p) {
            tl_buf_free(&p->data);
            tl_free(p->key);
        }
        tl_free(p);
        return; /* then it never comes, which is a fault as good as another */
    }
    p->if_absent = if_absent;
    tl_lock_take(&f->lock);
    p->at = f->count + rule->late;
    p->next = f->late;
    f->late = p;
    tl_lock_give(&f->lock);
}

/* ---- the script ---- */

void tl_faulty_script(tl_store *faulty, const tl_fault_rule *rules, size_t n) {
    tl_faulty *f = self_of(faulty);
    tl_lock_take(&f->lock);
    f->n_rules = n < RULES_MAX ? n : RULES_MAX;
    for (size_t i = 0; i < f->n_rules; i++) {
        f->rules[i] = rules[i];
        f->rules[i].seen = 0;
    }
    f->count = 0;
    tl_lock_give(&f->lock);
}

uint64_t tl_faulty_count(const tl_store *faulty) {
    return ((const tl_faulty *)faulty)->count;
}

/* Counts the operation and gives the rule that strikes; fault NONE when none does. */
static tl_fault_rule next(tl_faulty *f, tl_fault_op op, const char *key) {
    tl_fault_rule strikes = {0};
    tl_lock_take(&f->lock);
    uint64_t count = ++f->count;
    for (size_t i = 0; i < f->n_rules; i++) {
        tl_fault_rule *r = &f->rules[i];
        if (!(r->ops & (unsigned)op) || (r->key_part && !strstr(key, r->key_part))) {
            continue;
        }
        r->seen++;
        uint64_t times = r->times ? r->times : 1;
        if (r->nth == 0 || (r->seen >= r->nth && r->seen - r->nth < times)) {
            strikes = *r;
            break;
        }
    }
    tl_lock_give(&f->lock);
    if (strikes.before) {
        strikes.before(strikes.ctx, key);
    }
    deliver_until(f, count);
    return strikes;
}

/* The status of a fault that keeps the operation from happening. */
static tl_status refuse(const tl_fault_rule *rule, const char *key, tl_status lost, tl_error *err) {
    switch (rule->fault) {
    case TL_FAULT_NO_SPACE: return tl_fail(err, TL_IO, "%s: no space left on device (injected)", key);
    case TL_FAULT_IO: return tl_fail(err, TL_IO, "%s: input/output error (injected)", key);
    case TL_FAULT_NO_MEMORY: return tl_fail(err, TL_NO_MEMORY, "%s: out of memory (injected)", key);
    case TL_FAULT_EXISTS:
        return tl_fail(err, lost == TL_UNKNOWN ? TL_EXISTS : TL_IO, "%s: is there already (injected)", key);
    case TL_FAULT_NONE:
    case TL_FAULT_LOST_AFTER:
    case TL_FAULT_LOST_BEFORE:
    case TL_FAULT_LATE:
    case TL_FAULT_TORN: break;
    }
    return tl_fail(err, lost, "%s: the reply was lost (injected)", key);
}

static tl_status put_bytes(tl_faulty *f, tl_fault_op op, const char *key, tl_bytes data, bool if_absent,
                           tl_put_mode mode, tl_error *err) {
    tl_fault_rule rule = next(f, op, key);
    tl_status lost = if_absent ? TL_UNKNOWN : TL_IO;
    if (rule.fault == TL_FAULT_TORN) {
        data.len /= 2;
    } else if (rule.fault == TL_FAULT_LATE) {
        put_late(f, &rule, key, data, if_absent);
        return refuse(&rule, key, lost, err);
    } else if (rule.fault != TL_FAULT_NONE && rule.fault != TL_FAULT_LOST_AFTER) {
        return refuse(&rule, key, lost, err);
    }
    tl_status status = f->inner->ops->put(f->inner, key, data, if_absent, mode, err);
    if (status == TL_OK) {
        note_put(f, key, mode);
    }
    return rule.fault == TL_FAULT_NONE ? status : refuse(&rule, key, lost, err);
}

static tl_status faulty_put(tl_store *self, const char *key, tl_bytes data, bool if_absent, tl_put_mode mode,
                            tl_error *err) {
    return put_bytes(self_of(self), if_absent ? TL_OP_PUT_IF_ABSENT : TL_OP_PUT, key, data, if_absent, mode, err);
}

static tl_status faulty_get(tl_store *self, const char *key, uint64_t offset, uint64_t len, tl_buf *out,
                            tl_error *err) {
    tl_faulty *f = self_of(self);
    tl_fault_rule rule = next(f, TL_OP_GET, key);
    if (rule.fault != TL_FAULT_NONE && rule.fault != TL_FAULT_TORN) {
        return refuse(&rule, key, TL_IO, err);
    }
    size_t before = out->len;
    tl_status status = f->inner->ops->get(f->inner, key, offset, len, out, err);
    if (status == TL_OK && rule.fault == TL_FAULT_TORN) {
        out->len = before + (out->len - before) / 2;
    }
    return status;
}

static tl_status faulty_size(tl_store *self, const char *key, uint64_t *size, tl_error *err) {
    tl_faulty *f = self_of(self);
    tl_fault_rule rule = next(f, TL_OP_SIZE, key);
    return rule.fault == TL_FAULT_NONE ? f->inner->ops->size(f->inner, key, size, err) : refuse(&rule, key, TL_IO, err);
}

/* ---- writers: collected, then put at once, which is what a reader sees of any writer ---- */

static void faulty_abort(tl_object_writer *w) {
    tl_buf_free(&w->data);
    tl_free(w->key);
    tl_free(w);
}

static tl_status faulty_open_writer(tl_store *self, const char *key, tl_put_mode mode, tl_object_writer **out,
                                    tl_error *err) {
    tl_faulty *f = self_of(self);
    tl_fault_rule rule = next(f, TL_OP_WRITER_OPEN, key);
    if (rule.fault != TL_FAULT_NONE) {
        return refuse(&rule, key, TL_IO, err);
    }
    tl_object_writer *w = tl_calloc(1, sizeof *w);
    if (!w || !(w->key = tl_strdup(key))) {
        tl_free(w);
        return tl_fail_memory(err, sizeof *w);
    }
    w->store = f;
    w->mode = mode;
    *out = w;
    return TL_OK;
}

static tl_status faulty_write(tl_object_writer *w, tl_bytes data, tl_error *err) {
    tl_fault_rule rule = next(w->store, TL_OP_WRITER_WRITE, w->key);
    if (rule.fault != TL_FAULT_NONE) {
        return refuse(&rule, w->key, TL_IO, err);
    }
    return tl_buf_add(&w->data, data.data, data.len) == TL_OK ? TL_OK : tl_fail_memory(err, data.len);
}

static tl_status faulty_finish(tl_object_writer *w, tl_error *err) {
    tl_status status = put_bytes(w->store, TL_OP_WRITER_FINISH, w->key, tl_buf_bytes(&w->data), false, w->mode, err);
    faulty_abort(w);
    return status;
}

/* ---- the rest ---- */

static tl_status faulty_list(tl_store *self, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                             tl_error *err) {
    tl_faulty *f = self_of(self);
    tl_fault_rule rule = next(f, TL_OP_LIST, prefix);
    return rule.fault == TL_FAULT_NONE ? f->inner->ops->list(f->inner, prefix, recursive, visit, ctx, err)
                                       : refuse(&rule, prefix, TL_IO, err);
}

static tl_status faulty_remove(tl_store *self, const char *key, tl_error *err) {
    tl_faulty *f = self_of(self);
    tl_fault_rule rule = next(f, TL_OP_REMOVE, key);
    if (rule.fault != TL_FAULT_NONE && rule.fault != TL_FAULT_LOST_AFTER) {
        return refuse(&rule, key, TL_IO, err);
    }
    tl_status status = f->inner->ops->remove(f->inner, key, err);
    tl_lock_take(&f->lock);
    forget_volatile(f, key);
    tl_lock_give(&f->lock);
    return rule.fault == TL_FAULT_NONE ? status : refuse(&rule, key, TL_IO, err);
}

static tl_status faulty_sync(tl_store *self, const char *const *keys, size_t n, tl_error *err) {
    tl_faulty *f = self_of(self);
    tl_fault_rule rule = next(f, TL_OP_SYNC, keys[0]);
    if (rule.fault != TL_FAULT_NONE && rule.fault != TL_FAULT_LOST_AFTER) {
        return refuse(&rule, keys[0], TL_IO, err);
    }
    TL_TRY(f->inner->ops->sync(f->inner, keys, n, err));
    tl_lock_take(&f->lock);
    for (size_t i = 0; i < n; i++) {
        forget_volatile(f, keys[i]);
    }
    tl_lock_give(&f->lock);
    return rule.fault == TL_FAULT_NONE ? TL_OK : refuse(&rule, keys[0], TL_IO, err);
}

static void faulty_close(tl_store *self) {
    tl_faulty *f = self_of(self);
    while (f->volatile_keys) {
        unsynced *u = f->volatile_keys;
        f->volatile_keys = u->next;
        tl_free(u->key);
        tl_free(u);
    }
    tl_faulty_power_cut(self); /* nothing volatile any more: only drops late puts */
    tl_store_close(f->inner);
    tl_lock_free(&f->lock);
    tl_free(f->base.root_uri);
    tl_free(f->base.root_alias);
    tl_free(f);
}

static const tl_store_ops faulty_ops = {
    .scheme = "faulty",
    .get = faulty_get,
    .size = faulty_size,
    .put = faulty_put,
    .open_writer = faulty_open_writer,
    .writer_write = faulty_write,
    .writer_finish = faulty_finish,
    .writer_abort = faulty_abort,
    .list = faulty_list,
    .remove = faulty_remove,
    .sync = faulty_sync,
    .close = faulty_close,
};

tl_status tl_faulty_open(tl_store *inner, tl_store **out, tl_error *err) {
    *out = NULL;
    tl_faulty *f = tl_calloc(1, sizeof *f);
    if (!f) {
        return tl_fail_memory(err, sizeof *f);
    }
    f->base = (tl_store){.ops = &faulty_ops,
                         .env = inner->env,
                         .root_uri = tl_strdup(inner->root_uri),
                         .root_alias = inner->root_alias ? tl_strdup(inner->root_alias) : NULL};
    if (!f->base.root_uri || (inner->root_alias && !f->base.root_alias)) {
        tl_free(f->base.root_uri);
        tl_free(f->base.root_alias);
        tl_free(f);
        return tl_fail_memory(err, strlen(inner->root_uri));
    }
    f->inner = inner;
    tl_lock_init(&f->lock);
    *out = &f->base;
    return TL_OK;
}
