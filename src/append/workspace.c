/* What is kept between appends: see workspace_internal.h. */
#include "append/workspace_internal.h"

#include "base/mem.h"

#define KEEP_BYTES ((size_t)32 << 20) /* of one worker; larger buffers were for something unusual */
#define USES 16                       /* appends that share a choice */
#define ROWS_FACTOR 4                 /* ... while they have about as many rows as the first */

typedef struct choice {
    char *table; /* its uuid; NULL = none */
    int32_t schema_id;
    bool compact;
    int64_t rows;
    int32_t uses;
    int32_t n_tops, n_leaves;
    tl_column_how *how;            /* per top-level column */
    tl_pq_column_options *options; /* per leaf */
} choice;

struct tl_append_workspace {
    tl_encode_scratch *scratch;
    unsigned workers;
    choice last;
};

tl_append_workspace *tl_append_workspace_create(void) {
    return tl_calloc(1, sizeof(tl_append_workspace));
}

static void choice_free(choice *c) {
    tl_free(c->table);
    tl_free(c->how);
    tl_free(c->options);
    *c = (choice){0};
}

static void scratch_free(tl_encode_scratch *scratch, unsigned workers) {
    for (unsigned w = 0; scratch && w < workers; w++) {
        tl_encode_scratch_free(&scratch[w]);
    }
    tl_free(scratch);
}

void tl_append_workspace_free(tl_append_workspace *w) {
    if (w) {
        scratch_free(w->scratch, w->workers);
        choice_free(&w->last);
        tl_free(w);
    }
}

/* ---- buffers ---- */

tl_encode_scratch *tl_workspace_take(tl_append_workspace *w, unsigned workers) {
    if (w && w->scratch && w->workers == workers) {
        tl_encode_scratch *scratch = w->scratch;
        w->scratch = NULL;
        return scratch;
    }
    return tl_calloc(workers, sizeof(tl_encode_scratch));
}

void tl_workspace_give(tl_append_workspace *w, tl_encode_scratch *scratch, unsigned workers) {
    if (!w || !scratch) {
        scratch_free(scratch, workers);
        return;
    }
    for (unsigned i = 0; i < workers; i++) {
        if (tl_encode_scratch_bytes(&scratch[i]) > KEEP_BYTES) {
            tl_encode_scratch_free(&scratch[i]);
        }
    }
    scratch_free(w->scratch, w->workers);
    w->scratch = scratch;
    w->workers = workers;
}

/* ---- encodings ---- */

static bool is_same(const choice *c, const tl_table *table, const tl_encoder *e, bool compact) {
    const tl_leaves *l = e->leaves;
    if (!c->table || !table->metadata.table_uuid || strcmp(c->table, table->metadata.table_uuid) != 0 ||
        c->schema_id != table->metadata.current_schema_id || c->compact != compact || c->n_tops != l->n_tops ||
        c->n_leaves != l->n_leaves) {
        return false;
    }
    for (int32_t i = 0; i < l->n_tops; i++) {
        if (c->how[i] != e->plans[i].how) {
            return false;
        }
    }
    for (int32_t i = 0; i < l->n_leaves; i++) {
        const tl_pq_column_options *was = &c->options[i], *is = &e->options[i];
        if (was->type != is->type || was->codec != is->codec || was->level != is->level ||
            was->page_rows != is->page_rows) {
            return false;
        }
    }
    return true;
}

bool tl_workspace_chosen(tl_append_workspace *w, const tl_table *table, tl_encoder *e, bool compact, int64_t rows) {
    choice *c = w ? &w->last : NULL;
    if (!c || c->uses >= USES || rows > c->rows * ROWS_FACTOR || rows < c->rows / ROWS_FACTOR ||
        !is_same(c, table, e, compact)) {
        return false;
    }
    c->uses++;
    for (int32_t i = 0; i < c->n_leaves; i++) {
        e->options[i].encoding = c->options[i].encoding;
        e->options[i].fallback = c->options[i].fallback;
        e->options[i].sort_dictionary = c->options[i].sort_dictionary;
    }
    return true;
}

void tl_workspace_choose(tl_append_workspace *w, const tl_table *table, const tl_encoder *e, bool compact,
                         int64_t rows) {
    if (!w || !table->metadata.table_uuid) {
        return;
    }
    choice *c = &w->last;
    choice_free(c);
    size_t n_tops = (size_t)e->leaves->n_tops, n_leaves = (size_t)e->leaves->n_leaves;
    *c = (choice){.table = tl_strdup(table->metadata.table_uuid),
                  .schema_id = table->metadata.current_schema_id,
                  .compact = compact,
                  .rows = rows,
                  .uses = 1,
                  .n_tops = e->leaves->n_tops,
                  .n_leaves = e->leaves->n_leaves,
                  .how = tl_alloc_array(n_tops, sizeof *c->how),
                  .options = tl_alloc_array(n_leaves, sizeof *c->options)};
    if (!c->table || !c->how || !c->options) {
        choice_free(c); /* the next append chooses again */
        return;
    }
    for (size_t i = 0; i < n_tops; i++) {
        c->how[i] = e->plans[i].how;
    }
    memcpy(c->options, e->options, n_leaves * sizeof *c->options);
}
