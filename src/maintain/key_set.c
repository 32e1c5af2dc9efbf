/* Sets of store keys; see key_set.h. */
#include "maintain/key_set.h"

#include <stdlib.h>
#include <string.h>

void tl_key_set_free(tl_key_set *s) {
    tl_free((void *)s->items);
    tl_arena_free(&s->arena);
    *s = (tl_key_set){0};
}

tl_status tl_key_set_add(tl_key_set *s, const char *key, tl_error *err) {
    const char **items = tl_grow((void *)s->items, &s->cap, s->n + 1, 64, sizeof *items, err);
    if (!items) {
        return TL_NO_MEMORY;
    }
    s->items = items;
    s->items[s->n] = tl_arena_strdup(&s->arena, key);
    if (!s->items[s->n]) {
        return tl_fail_memory(err, strlen(key));
    }
    s->n++;
    return TL_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tl_key_set_seal(tl_key_set *s) {
    if (s->n == 0) {
        return;
    }
    qsort((void *)s->items, s->n, sizeof *s->items, by_text);
    size_t kept = 1;
    for (size_t i = 1; i < s->n; i++) {
        if (strcmp(s->items[i], s->items[kept - 1]) != 0) {
            s->items[kept++] = s->items[i];
        }
    }
    s->n = kept;
}

bool tl_key_set_has(const tl_key_set *s, const char *key) {
    return s->n && bsearch(&key, (const void *)s->items, s->n, sizeof *s->items, by_text) != NULL;
}
