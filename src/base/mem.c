/* Memory with replaceable hooks, a fail-at counter for tests, and the arena. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tl_mem_hooks hooks;
static _Atomic uint64_t made;
static _Atomic uint64_t fail_at;

static bool must_fail(void) {
    uint64_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
    if (at == 0) {
        return false;
    }
    return atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1 >= at;
}

void tl_mem_set_hooks(const tl_mem_hooks *h) {
    hooks = h ? *h : (tl_mem_hooks){0};
}

uint64_t tl_mem_fail_at(uint64_t n) {
    atomic_store(&fail_at, n);
    return atomic_exchange(&made, 0);
}

void *tl_alloc(size_t size) {
    if (must_fail()) {
        return NULL;
    }
    size = size ? size : 1;
    return hooks.alloc ? hooks.alloc(hooks.ctx, size) : malloc(size);
}

void *tl_alloc_array(size_t n, size_t size) {
    size_t bytes;
    return tl_size_mul(n, size, &bytes) ? tl_alloc(bytes) : NULL;
}

void *tl_calloc(size_t n, size_t size) {
    size_t bytes;
    if (!tl_size_mul(n, size, &bytes)) {
        return NULL;
    }
    if (!hooks.alloc) {
        return must_fail() ? NULL : calloc(n ? n : 1, size ? size : 1);
    }
    void *p = tl_alloc(bytes);
    if (p) {
        memset(p, 0, bytes);
    }
    return p;
}

void *tl_realloc(void *p, size_t size) {
    if (must_fail()) {
        return NULL;
    }
    size = size ? size : 1;
    return hooks.resize ? hooks.resize(hooks.ctx, p, size) : realloc(p, size);
}

void *tl_realloc_array(void *p, size_t n, size_t size) {
    size_t bytes;
    return tl_size_mul(n, size, &bytes) ? tl_realloc(p, bytes) : NULL;
}

void *tl_grow(void *items, size_t *cap, size_t n, size_t least, size_t size, tl_error *err) {
    if (n <= *cap && items) {
        return items;
    }
    size_t more = *cap <= SIZE_MAX / 2 ? *cap * 2 : n;
    more = more < least ? least : more;
    more = more < n ? n : more;
    void *grown = tl_realloc_array(items, more, size);
    if (!grown) {
        (void)tl_fail_memory(err, more <= SIZE_MAX / (size ? size : 1) ? more * size : SIZE_MAX);
        return NULL;
    }
    *cap = more;
    return grown;
}

void *tl_alloc_aligned(size_t size) {
    if (must_fail()) {
        return NULL;
    }
    if (hooks.alloc) {
        return hooks.alloc(hooks.ctx, size ? size : 1); /* hooks give what alignment they can */
    }
    size_t rounded;
    if (!tl_size_add(size ? size : 1, 63, &rounded)) {
        return NULL;
    }
    return aligned_alloc(64, rounded & ~(size_t)63);
}

void tl_free(void *p) {
    if (!p) {
        return;
    }
    if (hooks.release) {
        hooks.release(hooks.ctx, p);
    } else {
        free(p);
    }
}

char *tl_strndup(const char *text, size_t n) {
    char *copy = tl_alloc(n + 1);
    if (copy) {
        if (n) {
            memcpy(copy, text, n);
        }
        copy[n] = '\0';
    }
    return copy;
}

char *tl_strdup(const char *text) {
    return tl_strndup(text, strlen(text));
}

char *tl_format(const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = n < 0 ? NULL : tl_alloc((size_t)n + 1);
    if (text) {
        (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return text;
}

/* ---- arena ---- */

typedef struct tl_arena_block {
    struct tl_arena_block *next;
    size_t used, size;
    _Alignas(16) uint8_t data[];
} tl_arena_block;

void *tl_arena_alloc(tl_arena *arena, size_t size) {
    size_t need;
    if (!tl_size_add(size, 15, &need)) {
        return NULL;
    }
    need &= ~(size_t)15;
    size_t total;
    if (!tl_size_add(arena->total, need, &total) || (arena->limit && total > arena->limit)) {
        return NULL;
    }
    tl_arena_block *b = arena->head;
    if (!b || b->size - b->used < need) {
        size_t room = b ? b->size * 2 : 1024;
        room = room > (1u << 20) ? (1u << 20) : room;
        room = room < need ? need : room;
        size_t bytes;
        if (!tl_size_add(room, sizeof *b, &bytes) || !(b = tl_alloc(bytes))) {
            return NULL;
        }
        b->next = arena->head;
        b->used = 0;
        b->size = room;
        arena->head = b;
    }
    void *p = b->data + b->used;
    b->used += need;
    arena->total = total;
    memset(p, 0, need);
    return p;
}

void *tl_arena_array(tl_arena *arena, size_t n, size_t size) {
    size_t bytes;
    return tl_size_mul(n, size, &bytes) ? tl_arena_alloc(arena, bytes) : NULL;
}

char *tl_arena_strndup(tl_arena *arena, const char *text, size_t n) {
    size_t bytes;
    char *copy = tl_size_add(n, 1, &bytes) ? tl_arena_alloc(arena, bytes) : NULL;
    if (copy && n) {
        memcpy(copy, text, n);
    }
    return copy;
}

char *tl_arena_strdup(tl_arena *arena, const char *text) {
    return tl_arena_strndup(arena, text, strlen(text));
}

void *tl_arena_copy(tl_arena *arena, const void *data, size_t size) {
    void *copy = tl_arena_alloc(arena, size);
    if (copy && size) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *tl_arena_format(tl_arena *arena, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = n < 0 ? NULL : tl_arena_alloc(arena, (size_t)n + 1);
    if (text) {
        (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return text;
}

void tl_arena_free(tl_arena *arena) {
    for (tl_arena_block *b = arena->head; b;) {
        tl_arena_block *next = b->next;
        tl_free(b);
        b = next;
    }
    arena->head = NULL;
    arena->total = 0;
}
