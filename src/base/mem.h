/*
 * Memory: every allocation of the library goes through here, so that tests can count them and let the n-th one fail.
 * Comes in: sizes, checked for overflow. Goes out: memory that tl_free gives back, or NULL.
 */
#ifndef TL_BASE_MEM_H
#define TL_BASE_MEM_H

#include "base/base.h"

void *tl_alloc(size_t size);                 /* uninitialised; size 0 gives a valid pointer */
void *tl_calloc(size_t n, size_t size);      /* zeroed; NULL when n * size wraps */
void *tl_alloc_array(size_t n, size_t size); /* uninitialised; NULL when n * size wraps */
void *tl_realloc(void *p, size_t size);      /* NULL leaves `p` as it was */
void *tl_realloc_array(void *p, size_t n, size_t size);
void *tl_alloc_aligned(size_t size); /* 64-byte aligned; give back with tl_free */
void tl_free(void *p);               /* NULL is fine */
char *tl_strdup(const char *text);
char *tl_strndup(const char *text, size_t n);

/* An array that grows as it is filled: room for `n` elements of `size` bytes, where `*cap` have room now (0 and NULL at
 * the start). Gives the array, moved or not, and its new `*cap` (doubled, at least `least`); NULL, with the error, when
 * memory ends: `items` and `*cap` stay. */
void *tl_grow(void *items, size_t *cap, size_t n, size_t least, size_t size, tl_error *err);

/* A sprintf into memory of its own; NULL when memory ends. */
char *tl_format(const char *fmt, ...) TL_PRINTF(1, 2);

/* The hooks behind the calls above; NULL functions restore malloc, realloc and free. Not thread-safe: set before use.
 * For tests (n-th allocation fails) and for hosts with an allocator of their own. */
typedef struct tl_mem_hooks {
    void *(*alloc)(void *ctx, size_t size);
    void *(*resize)(void *ctx, void *p, size_t size);
    void (*release)(void *ctx, void *p);
    void *ctx;
} tl_mem_hooks;
void tl_mem_set_hooks(const tl_mem_hooks *hooks);

/* Test aid: from now on the n-th allocation (1 = the next) and all after it fail; 0 turns it off.
 * Returns how many allocations were made since the last call. */
uint64_t tl_mem_fail_at(uint64_t n);

/* A bump allocator: many small pieces that live and die together (metadata trees). Zeroed = empty. */
typedef struct tl_arena {
    struct tl_arena_block *head;
    size_t total; /* bytes handed out */
    size_t limit; /* 0 = none; over it allocations give NULL */
} tl_arena;

void *tl_arena_alloc(tl_arena *arena, size_t size);           /* zeroed, 16-byte aligned; NULL when memory ends */
void *tl_arena_array(tl_arena *arena, size_t n, size_t size); /* zeroed; NULL when n * size wraps */
char *tl_arena_strdup(tl_arena *arena, const char *text);
char *tl_arena_strndup(tl_arena *arena, const char *text, size_t n);
void *tl_arena_copy(tl_arena *arena, const void *data, size_t size);
char *tl_arena_format(tl_arena *arena, const char *fmt, ...) TL_PRINTF(2, 3);
void tl_arena_free(tl_arena *arena); /* frees every piece; the arena is empty and usable again */

#endif
