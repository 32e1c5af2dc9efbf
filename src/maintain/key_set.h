/*
 * Sets of store keys. Comes in: keys in any order, with repeats. Goes out, once sealed: each once, sorted, and whether
 * a key is among them. Zeroed = empty.
 */
#ifndef TL_MAINTAIN_KEY_SET_H
#define TL_MAINTAIN_KEY_SET_H

#include "base/mem.h"

typedef struct tl_key_set {
    const char **items; /* in the arena */
    size_t n, cap;
    tl_arena arena;
} tl_key_set;

/* The key is copied. After it the set is no longer sealed. */
tl_status tl_key_set_add(tl_key_set *s, const char *key, tl_error *err) TL_CHECKED;
void tl_key_set_seal(tl_key_set *s);
bool tl_key_set_has(const tl_key_set *s, const char *key); /* of a sealed set */
void tl_key_set_free(tl_key_set *s);

#endif
