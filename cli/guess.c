/* Guessing types; see guess.h. */
#include "cli/guess.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "base/num.h"

static bool same_letters(tl_bytes text, const char *word) {
    size_t i = 0;
    for (; i < text.len && word[i]; i++) {
        if ((text.data[i] | 0x20) != word[i]) {
            return false;
        }
    }
    return i == text.len && !word[i];
}

/* A number whose digits say nothing more than its value: no zeros in front. */
static unsigned guess_number(tl_bytes text, unsigned among) {
    size_t i = text.data[0] == '-' || text.data[0] == '+';
    if (i + 1 < text.len && text.data[i] == '0' && text.data[i + 1] >= '0' && text.data[i + 1] <= '9') {
        return 0;
    }
    bool integer = i < text.len;
    for (; i < text.len; i++) {
        integer = integer && text.data[i] >= '0' && text.data[i] <= '9';
    }
    int64_t n;
    double d;
    if (integer && tl_parse_i64(text, &n) != TL_PARSE_OK) {
        return 0; /* too long for any number without loss */
    }
    if ((among & TL_GUESS_DOUBLE) && !integer && tl_parse_double(text, &d) != TL_PARSE_OK) {
        return 0;
    }
    return integer ? TL_GUESS_LONG | TL_GUESS_DOUBLE : TL_GUESS_DOUBLE;
}

static unsigned guess_time(tl_bytes text) {
    int64_t us;
    int32_t days;
    bool zoned;
    if (text.len >= 8 && text.data[2] == ':') {
        return tl_parse_time(text, &us) == TL_PARSE_OK ? TL_GUESS_TIME : 0;
    }
    if (text.len < 8 || !memchr(text.data + 1, '-', text.len - 1) ||
        tl_parse_timestamp(text, &us, &zoned) != TL_PARSE_OK) {
        return 0;
    }
    if (zoned) {
        return TL_GUESS_TIMESTAMPTZ;
    }
    unsigned date = text.len == 10 && tl_parse_date(text, &days) == TL_PARSE_OK ? TL_GUESS_DATE : 0;
    return date | TL_GUESS_TIMESTAMP | TL_GUESS_TIMESTAMPTZ;
}

unsigned tl_guess_text(tl_bytes text, unsigned among) {
    unsigned is = 0;
    if (text.len == 0 || !among) {
        return 0;
    }
    if (among & (TL_GUESS_LONG | TL_GUESS_DOUBLE)) {
        is |= guess_number(text, among);
    }
    if ((among & TL_GUESS_BOOL) && (same_letters(text, "true") || same_letters(text, "false"))) {
        is |= TL_GUESS_BOOL;
    }
    if (among & (TL_GUESS_TIME | TL_GUESS_DATE | TL_GUESS_TIMESTAMP | TL_GUESS_TIMESTAMPTZ)) {
        is |= guess_time(text);
    }
    return is & among;
}

void tl_guess_free(tl_guess *g) {
    for (int32_t i = 0; i < g->n; i++) {
        tl_free(g->columns[i].name);
    }
    tl_free(g->columns);
    *g = (tl_guess){0};
}

tl_guess_column *tl_guess_find(tl_guess *g, tl_bytes name, int32_t hint) {
    for (int32_t k = 0; k < g->n; k++) {
        int32_t i = (hint + k) % g->n;
        if (tl_bytes_equal(tl_bytes_of(g->columns[i].name), name)) {
            return &g->columns[i];
        }
    }
    if (g->n == g->cap) {
        int32_t cap = g->cap ? g->cap * 2 : 16;
        tl_guess_column *grown = tl_realloc_array(g->columns, (size_t)cap, sizeof *grown);
        if (!grown) {
            return NULL;
        }
        g->columns = grown;
        g->cap = cap;
    }
    char *copy = tl_strndup((const char *)name.data, name.len);
    if (!copy) {
        return NULL;
    }
    g->columns[g->n] = (tl_guess_column){copy, TL_GUESS_ALL, false};
    return &g->columns[g->n++];
}

/* One batch of text; its columns are those of `names`. */
static tl_status guess_batch(tl_guess *g, const struct ArrowSchema *names, const struct ArrowArray *batch,
                             tl_error *err) {
    for (int64_t i = 0; i < batch->n_children; i++) {
        tl_guess_column *c = tl_guess_find(g, tl_bytes_of(names->children[i]->name), (int32_t)i);
        if (!c) {
            return tl_fail_memory(err, sizeof *c);
        }
        const struct ArrowArray *a = batch->children[i];
        const uint8_t *validity = a->buffers[0], *data = a->buffers[2];
        const int32_t *offsets = a->buffers[1];
        for (int64_t row = 0; row < a->length; row++) {
            if (validity && !tl_bit(validity, row)) {
                continue;
            }
            c->seen = true;
            c->possible =
                tl_guess_text((tl_bytes){data + offsets[row], (size_t)(offsets[row + 1] - offsets[row])}, c->possible);
        }
    }
    return TL_OK;
}

static tl_status guess_text_file(const char *path, const tl_input_options *options, tl_guess *g, tl_error *err) {
    tl_input *in = NULL;
    TL_TRY(tl_input_open(path, options, &in, err));
    struct ArrowSchema names = {0};
    tl_status status = tl_input_schema(in, &names, err);
    for (int64_t i = 0; status == TL_OK && i < names.n_children; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (strcmp(names.children[i]->name, names.children[k]->name) == 0) {
                status =
                    tl_fail(err, TL_INVALID, "%s, line 1: column \"%s\" stands twice", path, names.children[i]->name);
                break;
            }
        }
        if (status == TL_OK && !tl_guess_find(g, tl_bytes_of(names.children[i]->name), (int32_t)i)) {
            status = tl_fail_memory(err, sizeof *g);
        }
    }
    while (status == TL_OK) {
        struct ArrowArray batch = {0};
        status = tl_input_next(in, 0, &batch, err);
        if (!batch.release) {
            break;
        }
        if (status == TL_OK) {
            status = guess_batch(g, &names, &batch, err);
        }
        batch.release(&batch);
    }
    if (names.release) {
        names.release(&names);
    }
    tl_input_close(in);
    return status;
}

static int set_type(struct ArrowSchema *field, const tl_guess_column *c, bool is_time) {
    unsigned p = c->seen ? c->possible : 0;
    if (is_time && (p & TL_GUESS_DATE)) {
        p = TL_GUESS_TIMESTAMP; /* midnights */
    }
    if (p & TL_GUESS_LONG) {
        return ArrowSchemaSetType(field, NANOARROW_TYPE_INT64);
    }
    if (p & TL_GUESS_DOUBLE) {
        return ArrowSchemaSetType(field, NANOARROW_TYPE_DOUBLE);
    }
    if (p & TL_GUESS_BOOL) {
        return ArrowSchemaSetType(field, NANOARROW_TYPE_BOOL);
    }
    if (p & TL_GUESS_TIME) {
        return ArrowSchemaSetTypeDateTime(field, NANOARROW_TYPE_TIME64, NANOARROW_TIME_UNIT_MICRO, NULL);
    }
    if (p & TL_GUESS_DATE) {
        return ArrowSchemaSetType(field, NANOARROW_TYPE_DATE32);
    }
    if (p & (TL_GUESS_TIMESTAMP | TL_GUESS_TIMESTAMPTZ)) {
        return ArrowSchemaSetTypeDateTime(field, NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO,
                                          p & TL_GUESS_TIMESTAMP ? NULL : "UTC");
    }
    return ArrowSchemaSetType(field, NANOARROW_TYPE_STRING);
}

static tl_status to_schema(const tl_guess *g, const char *time_column, struct ArrowSchema *out, tl_error *err) {
    ArrowSchemaInit(out);
    int code = ArrowSchemaSetTypeStruct(out, g->n);
    for (int32_t i = 0; code == NANOARROW_OK && i < g->n; i++) {
        const tl_guess_column *c = &g->columns[i];
        code = set_type(out->children[i], c, time_column && strcmp(time_column, c->name) == 0);
        if (code == NANOARROW_OK) {
            code = ArrowSchemaSetName(out->children[i], c->name);
        }
    }
    if (code != NANOARROW_OK) {
        if (out->release) {
            out->release(out);
        }
        return tl_fail_memory(err, sizeof *out);
    }
    return TL_OK;
}

tl_status tl_guess_schema(const tl_paths *paths, const tl_input_options *options, const char *time_column,
                          struct ArrowSchema *out, tl_error *err) {
    *out = (struct ArrowSchema){0};
    tl_guess g = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < paths->n; i++) {
        tl_file_format format = options->format ? options->format : tl_file_format_of(paths->paths[i]);
        if (format == TL_FORMAT_CSV || format == TL_FORMAT_TSV) {
            status = guess_text_file(paths->paths[i], options, &g, err);
        } else if (format == TL_FORMAT_NDJSON) {
            status = tl_guess_json(paths->paths[i], &g, err);
        } else {
            tl_input *in = NULL;
            status = tl_input_open(paths->paths[i], options, &in, err);
            if (status == TL_OK) {
                status = tl_input_schema(in, out, err);
            }
            tl_input_close(in);
            tl_guess_free(&g);
            return status;
        }
    }
    if (status == TL_OK && g.n == 0) {
        status = tl_fail(err, TL_INVALID, "%s: there is no row to guess the columns from", paths->paths[0]);
    }
    if (status == TL_OK) {
        status = to_schema(&g, time_column, out, err);
    }
    tl_guess_free(&g);
    return status;
}
