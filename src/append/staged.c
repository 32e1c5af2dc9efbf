/* Staged files: freeing the value, and deleting the files when their commit did not happen. */
#include "append/files_internal.h"
#include "base/mem.h"

void tl_staged_free(tl_staged *s) {
    tl_rows_free(&s->newest);
    tl_arena_free(&s->arena);
    *s = (tl_staged){0};
}

void tl_staged_discard(tl_store *store, tl_staged *s) {
    for (int32_t i = 0; i < s->n_files; i++) {
        tl_remove_quietly(store, s->keys[i]);
    }
    s->n_files = 0;
}
