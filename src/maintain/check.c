/* The check of a table, part by part; see check.h. */
#include "maintain/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "maintain/check_internal.h"
#include "maintain/orphans.h"

void tl_check_report(tl_checking *c, bool warning, const char *kind, const char *object, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tl_lock_take(&c->lock);
    ++*(warning ? &c->result->warnings : &c->result->findings);
    if (c->options->found) {
        const tl_finding finding = {.kind = kind, .warning = warning, .object = object, .message = text};
        c->options->found(c->options->ctx, &finding);
    }
    tl_lock_give(&c->lock);
}

tl_status tl_check_unreadable(tl_checking *c, tl_status status, const char *kind, const char *object,
                              const tl_error *why, tl_error *err) {
    if (status == TL_NO_MEMORY || status == TL_CANCELLED) {
        return tl_fail(err, status, "%s", why->message);
    }
    if (kind) {
        tl_check_report(c, false, kind, object, "cannot be read: %s", why->message);
    }
    return TL_OK;
}

void tl_check_progress(tl_checking *c, int64_t bytes) {
    tl_lock_take(&c->lock);
    c->done_bytes += bytes;
    if (c->options->progress) {
        c->options->progress(c->options->ctx, c->done_bytes, c->all_bytes);
    }
    tl_lock_give(&c->lock);
}

/* ---- parts ---- */

static tl_status check_file(void *ctx, size_t i, unsigned worker, tl_error *err) {
    (void)worker;
    tl_checking *c = ctx;
    const tl_live_file *live = &c->files.data[i];
    const tl_object *o = tl_objects_find(&c->objects, live->key);
    if (o ? (int64_t)o->size != live->file.file_size : !tl_store_exists(c->t->store, live->key)) {
        return TL_OK; /* was told with the manifests */
    }
    return tl_check_data_file(c, live, err);
}

static tl_status check_orphans(tl_checking *c, tl_error *err) {
    tl_orphans orphans;
    tl_error why = {{0}};
    tl_table *t = tl_table_retain(c->t);
    tl_status status = tl_orphans_find(&t, c->options->grace_us, false, &orphans, &why);
    if (status == TL_OK) {
        for (size_t i = 0; i < orphans.n; i++) {
            tl_check_report(c, true, "orphan", orphans.items[i].key,
                            "%lld bytes that nothing refers to; `timelake maintain --orphans` removes them",
                            (long long)orphans.items[i].size);
        }
        c->result->orphans = (int64_t)orphans.n;
        tl_orphans_free(&orphans);
    } else if (status == TL_UNSUPPORTED) {
        tl_check_report(c, true, "orphan", NULL, "%s", why.message);
    }
    tl_table_release(t);
    /* an unreadable list or manifest was told before */
    return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
}

/* A table of policy upsert shows each key once also to readers that know nothing of older copies. */
static tl_status check_copies(tl_checking *c, tl_error *err) {
    tl_plan *plan = NULL;
    tl_error why = {{0}};
    int64_t copies = 0;
    if (!c->t->contract.upsert || !c->whole) {
        return TL_OK;
    }
    tl_status status = tl_plan_create(c->t, &(tl_plan_options){.pool = c->options->pool}, &plan, &why);
    if (status != TL_OK) { /* what cannot be read was told before */
        return status == TL_NO_MEMORY ? tl_fail_memory(err, 256) : TL_OK;
    }
    for (int64_t i = 0; i < plan->n_scan; i++) {
        copies += plan->scan[i].n_hidden - plan->scan[i].n_deleted;
    }
    tl_plan_release(plan);
    if (copies) {
        tl_check_report(c, false, "duplicate-keys", NULL,
                        "%lld rows have been replaced by later ones and are not deleted, which policy upsert promises",
                        (long long)copies);
    }
    return TL_OK;
}

static tl_status check_parts(tl_checking *c, tl_error *err) {
    TL_TRY(tl_check_snapshots(c, err));
    if (!c->options->no_data) {
        TL_TRY(tl_pool_run(c->options->pool, (size_t)c->files.n_data, check_file, c, err));
        TL_TRY(tl_check_deletes(c, err));
        TL_TRY(check_copies(c, err));
        TL_TRY(tl_check_index(c, err));
    }
    TL_TRY(tl_check_head(c, err));
    return check_orphans(c, err);
}

tl_status tl_check_table(tl_table *t, const tl_check_options *options, tl_check_result *result, tl_error *err) {
    *result = (tl_check_result){.version = t->version};
    tl_checking c = {.t = t, .schema = tl_metadata_schema(&t->metadata), .options = options, .result = result};
    tl_lock_init(&c.lock);
    tl_status status = tl_objects_list(t, false, &c.objects, err);
    if (status == TL_OK) {
        result->objects = (int64_t)c.objects.n;
        status = check_parts(&c, err);
    }
    tl_live_files_free(&c.files);
    tl_objects_free(&c.objects);
    tl_lock_free(&c.lock);
    return status;
}
